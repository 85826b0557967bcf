#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The order of the rooms (docs/DESIGN.md): includes point down only, platform conditions live in the platform
# rooms, device headers use no libc, each allocator of list.def has its page, and links between pages lead to files.  The
# page of the API names each function of the host's side.  include/ has headers only.  Prose in pages and lines of code are at most 120 columns
# wide, and docs/README.md names each page.
#
#   includes.sh          checks this repository, then plants one violation of each rule in a copy of it and
#                        requires that each is found
#   includes.sh --look   only checks
set -eu
cd "$(dirname "$0")/../.."

# Rooms, first match counts: path (regular expression), what it may include, and why.  An include is written
# as the path of the file in the repository, or as <name> where it is none of ours.
rooms() {
    cat <<'END'
include/quarry/simt/types\.h	<std(def|int)\.h>	the platform's types build on nothing
include/quarry/simt/.*	include/quarry/simt/.*	the platform builds on nothing but itself
include/quarry/core/.*	include/quarry/(simt|core)/.*	building blocks know no allocator
include/quarry/alloc/alloc\.h	include/quarry/(simt|core)/.*	the contract knows no allocator
include/quarry/alloc/list\.def	include/quarry/alloc/[^/]*\.h	the list includes families only
include/quarry/alloc/.*	include/quarry/((simt|core)/.*|alloc/alloc\.h|alloc/FAMILY/.*)	no family includes another
include/quarry/handle\.h	include/quarry/((simt|core)/.*|alloc/list\.def)	a heap's handle knows no calls
include/quarry/(fixed|log)\.h	include/quarry/((simt|core)/.*|handle\.h)	what a kernel is compiled for is below the switch
include/quarry/dispatch\.h	include/quarry/((simt|core)/.*|alloc/list\.def|(handle|fixed)\.h)	the switch is below policies and debug mode
include/quarry/debug\.h	include/quarry/((simt|core)/.*|(handle|fixed|dispatch)\.h)	debug mode is below policies
include/quarry/policy\.h	include/quarry/((simt|core)/.*|(handle|fixed|dispatch|debug)\.h)	policies are below malloc and free
include/quarry/allocate\.h	include/quarry/((simt|core)/.*|(handle|fixed|dispatch|debug|policy|log)\.h)	malloc and free are below what is made of them
include/quarry/standard\.h	include/quarry/((simt|core)/.*|(handle|fixed|dispatch|debug|policy|allocate)\.h)	kernels see no host
include/quarry/tag\.h	include/quarry/(simt/.*|(handle|debug|policy|allocate|standard)\.h)	tags are given to what malloc returns
include/quarry/device\.h	include/quarry/((simt|core)/.*|(handle|allocate|standard|tag)\.h)	kernels see no host
include/quarry/override\.h	include/quarry/(quarry|device)\.h|<.*>	it is for one compiler, and for host code too
include/quarry/quarry\.hpp	include/quarry/(quarry|device)\.h|<.*>	it is a layer over these two
include/quarry/object\.hpp	include/quarry/(quarry\.hpp|object\.h)|<.*>	it is a layer over these two
include/quarry/trace\.h	include/quarry/quarry\.h|<.*>	the host's side is usable without device code
include/quarry/quarry\.h	include/quarry/simt/(kernel|types)\.h|<.*>	the host's side is usable without device code
include/quarry/.*	include/quarry/.*	public headers see no source folder
src/device/pool_kernels.*	include/quarry/simt/.*|src/device/pool_kernels\.h	a pool knows nothing of malloc
src/device/.*	(include/quarry|src/device)/.*	kernels are device code
src/cpu/(executor|fiber|weak).*	src/cpu/(executor|fiber|weak).*\.h|include/quarry/simt/.*|<.*>	the executor knows no heaps
src/cpu/.*	(include/quarry|src/cpu|src/host)/.*|<[^c].*>|<c[^u].*>	one backend knows no other
src/cuda/.*	(include/quarry|src/cuda|src/host)/.*|<.*>	one backend knows no other
src/host/pool\..*	include/quarry/(core/layout|quarry)\.h|src/host/(backend|fail|machine|pool)\.h|src/device/pool_kernels\.h|<[^c].*>	a pool knows nothing of malloc
src/host/.*	(include/quarry|src/host|src/device)/.*|<[^c].*>|<c[^u].*>	the host's side reaches backends through their table
bench/.*	(include/quarry|bench)/.*|<.*>	workloads use the library from outside
tool/bench/.*	(include/quarry|bench|tool/bench)/.*|tool/[^/]*|<.*>	a folder of the tool includes its own files and what stands beside the folders
tool/groupby/.*	(include/quarry|bench|tool/groupby)/.*|tool/[^/]*|<.*>	a folder of the tool includes its own files and what stands beside the folders
tool/join/.*	(include/quarry|bench|tool/join)/.*|tool/[^/]*|<.*>	a folder of the tool includes its own files and what stands beside the folders
tool/model/.*	(include/quarry|bench|tool/model)/.*|tool/[^/]*|<.*>	a folder of the tool includes its own files and what stands beside the folders
tool/trace/.*	(include/quarry|bench|tool/trace)/.*|tool/[^/]*|<.*>	a folder of the tool includes its own files and what stands beside the folders
tool/[^/]*	(include/quarry|bench)/.*|tool/[^/]*|<.*>	what the folders of the tool share knows none of them, and uses the library from outside
examples/.*	include/quarry/((quarry|object)\.hpp|(quarry|device|object|trace|core/(list|mutex|semaphore|srcu))\.h)|examples/(objects|particles)/.*|<.*>	examples use what users use
END
}

platform='SIMT_CUDA|__CUDACC__|__CUDACC_RTC__|__CUDA_ARCH__'
platform_rooms='^((include/quarry/simt|src/cuda|src/cpu)/|include/quarry/override\.h$)'

# ours "FOLDER..." TEST...: the files there that pass find's tests, but for those of build folders, whatever these are called.
ours() {
    folders=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    find $folders -mindepth 1 \( -name .git -o -type d -exec test -e '{}/CMakeCache.txt' \; \) -prune -o -type f \( "$@" \) -print |
        sed 's/^\.\///' | sort
}

# All violations in the tree of folder $1, one a line.
violations() {
    (
        cd "$1"
        ours 'include src tool bench examples' -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.def' >"$scratch/files"
        ours . -name '*.md' >"$scratch/pages"
        rooms >"$scratch/rooms"
        xargs grep -EHn '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' <"$scratch/files" >"$scratch/includes" || true
        awk -v rooms="$scratch/rooms" -v files="$scratch/files" '
            BEGIN {
                FS = "\t"
                while ((getline <rooms) > 0) { n++; path[n] = "^(" $1 ")$"; may[n] = "^(" $2 ")$"; why[n] = $3 }
                while ((getline <files) > 0) ours[$1] = 1
            }
            {
                file = $0; sub(/:.*/, "", file)
                folder = file; sub(/[^\/]*$/, "", folder)
                name = $0; sub(/^[^"<]*["<]/, "", name); sub(/[">].*/, "", name)
                target = "<" name ">"
                n_folders = split(folder " include/ src/ tool/ bench/", folders, " ")
                for (i = n_folders; i > 0; i--) if (folders[i] name in ours) target = folders[i] name
                for (i = 1; i <= n && file !~ path[i]; i++) {}
                allowed = may[i]
                family = file; sub(/^include\/quarry\/alloc\//, "", family); sub(/(\/.*|\.h)$/, "", family)
                sub(/FAMILY/, family, allowed)
                if (i > n) print file ": belongs to no room"
                else if (target !~ allowed) print file ": includes " target ", but " why[i]
            }' "$scratch/includes"
        grep -Ev "$platform_rooms" "$scratch/files" |
            xargs grep -EHn "^[[:space:]]*#[[:space:]]*(el)?if.*($platform)" |
            sed -E 's/:([0-9]+):.*/:\1: a condition on the platform outside the platform rooms/' || true
        grep -rEHn 'quarry_(heap|malloc|free|handle)\b|quarry/alloc/' include/quarry/simt include/quarry/core |
            grep -Ev ':[0-9]+: *(/\*|\*|//)' |
            sed -E 's/:([0-9]+):.*/:\1: names a heap or an allocator, but lower rooms know none/' || true
        sed -nE 's/^QUARRY_FAMILY_ENTRY\((.*)\)/\1/p' include/quarry/alloc/list.def |
            while read -r family; do
                [ -s "docs/reference/alloc/$family.md" ] || echo "docs/reference/alloc/$family.md: no page for this family"
            done
        for header in include/quarry/quarry.h include/quarry/trace.h include/quarry/object.h; do
            sed -nE 's/^[a-z].*[ *](quarry_[a-z_]+)\(.*/\1/p' "$header" | while read -r function; do
                grep -q "\`$function\`" docs/reference/api.md || echo "$header: docs/reference/api.md lacks $function"
            done
        done
        # Links of Markdown within the repository: [text](path), path relative to the page, without a scheme.
        while read -r page; do
            grep -oE '\]\([^)#: ]+' "$page" | sed 's/^](//' | while read -r link; do
                [ -e "$(dirname "$page")/$link" ] || echo "$page: links to $link, which is not there"
            done
        done <"$scratch/pages"
        grep '^docs/' "$scratch/pages" | grep -vx docs/README.md | while read -r page; do
            grep -qF "](${page#docs/})" docs/README.md || echo "$page: is not among all pages, docs/README.md"
        done
        # Prose: no table, no code, and no line with a link, which may not be broken.
        # shellcheck disable=SC2016 # awk's
        LC_ALL=C xargs awk <"$scratch/pages" '
            FNR == 1 { code = 0 }
            /^ *```/ { code = !code }
            { line = $0; gsub(/[\200-\277]/, "", line) } # bytes of one character count once
            !code && length(line) > 120 && line !~ /^(    | *\|)/ && line !~ /\]\(/ {
                print FILENAME ":" FNR ": prose of " length(line) " columns"
            }'
        # clang-format breaks code, and leaves comments alone.
        grep -v '\.def$' "$scratch/files" | LC_ALL=C xargs awk 'length > 120 { print FILENAME ":" FNR ": " length " columns" }'
        find include -type f ! -name '*.h' ! -name '*.hpp' ! -name '*.def' | sed 's/$/: is no header, but would be installed/'
        for header in include/quarry/alloc/*.h; do
            name=${header##*/}
            name=${name%.h}
            [ "$name" = alloc ] ||
                grep -q "\"quarry/alloc/$name\.h\"" include/quarry/alloc/list.def tests/alloc/extra.def ||
                echo "$header: is not in list.def"
        done
    )
}

# What a copy has of the repository.
parts="include src tool bench examples docs $(ls ./*.md LICENSE)"

# plant FILE TEXT: has TEXT appended to FILE of a copy, where just this must be found.  A copy has one plant in a file, so
# that each is found by itself.
plant() {
    printf '%s\t%s\n' "$1" "$2" >>"$scratch/plants"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

violations . >"$scratch/violations"
if [ -s "$scratch/violations" ]; then
    cat "$scratch/violations"
    exit 1
fi
[ "${1:-}" != --look ] || exit 0

plant include/quarry/simt/types.h '#include <stdlib.h>'
plant include/quarry/simt/cpu.h '#include "quarry/alloc/alloc.h"'
plant include/quarry/simt/cuda.h '#include <stdio.h>'
plant include/quarry/core/planted.h '#include "quarry/alloc/alloc.h"'
plant include/quarry/core/list.h '#include <string.h>'
plant include/quarry/core/list.h.orig 'left by a merge'
plant include/quarry/core/mutex.h 'void f(struct quarry_handle *h);'
plant include/quarry/alloc/alloc.h '#include "quarry/alloc/rw.h"'
plant include/quarry/alloc/walk.h '#include "quarry/alloc/rw.h"'
plant include/quarry/alloc/ring.h '#include "quarry/alloc/scatter/scatter_page.h"'
plant include/quarry/alloc/walk/bitmap.h '#include "quarry/alloc/runs/runs_map.h"'
plant include/quarry/fixed.h '#include "quarry/dispatch.h"'
plant include/quarry/dispatch.h '#include "quarry/policy.h"'
plant include/quarry/policy.h '#include "quarry/allocate.h"'
plant include/quarry/alloc/scatter.h '#include "quarry/quarry.h"'
plant include/quarry/alloc/runs.h '# include <stdint.h>'
plant include/quarry/alloc/cuda.h '#if SIMT_CUDA'
plant include/quarry/alloc/list.def '#include "quarry/device.h"'
plant include/quarry/alloc/planted.h '#include "quarry/alloc/alloc.h"'
plant include/quarry/device.h '#include "quarry/quarry.h"'
plant include/quarry/debug.h '#include "quarry/quarry.h"'
plant include/quarry/trace.h '#include "quarry/device.h"'
plant include/quarry/quarry.hpp '#include "quarry/allocate.h"'
plant include/quarry/object.hpp '#include "quarry/allocate.h"'
plant include/quarry/handle.h '#include "quarry/device.h"'
plant include/quarry/device.h '#ifdef __CUDA_ARCH__'
plant include/quarry/quarry.h '#include "quarry/device.h"'
plant src/device/heap_kernels.c '#include <stdio.h>'
plant src/device/heap_kernels.c '#include "host/internal.h"'
plant src/device/pool_kernels.c '#if defined(__CUDACC__)'
plant src/cpu/executor.c '#include "quarry/device.h"'
plant src/cpu/backend.c '#include <cuda_runtime_api.h>'
plant src/host/heap.c '#include "cpu/executor.h"'
plant src/host/pool.c '#include "host/internal.h"'
plant src/host/pool.h '#include "quarry/device.h"'
plant src/device/pool_kernels.c '#include "device/heap_kernels.h"'
plant src/host/heap.c '#include <cuda_runtime_api.h>'
plant src/host/trace.c '#elif __CUDACC__'
plant tool/main.c '#include "host/internal.h"'
plant tool/rows.c '#include "join/join_tables.h"'
plant tool/join/join.c '#include "groupby/groupby_table.h"'
plant tool/trace/replay.c '#include "bench/bench.h"'
plant tool/planted/planted.c '#include "tool.h"'
plant bench/planted.c '#include "tool.h"'
plant examples/hello.c '#include "quarry/alloc/walk.h"'
plant examples/hello.c '#include "quarry/core/random.h"'
plant examples/cpp/stacks.cpp '#if SIMT_CUDA'
plant include/quarry/quarry.h 'enum quarry_status quarry_heap_planted(quarry_heap *heap);'
plant src/host/pool.h "/* $(printf 'much too wide%.0s ' 1 2 3 4 5 6 7 8 9) */"
plant README.md 'see [there](docs/nowhere.md) or [here](https://example.org/x)'
plant README.md "$(printf 'much too wide%.0s ' 1 2 3 4 5 6 7 8 9)"
plant docs/planted.md 'a page that no other names'
plant docs/DESIGN.md 'see [there](docs/DESIGN.md#words)'

# Whatever is wrong in a build folder is none of ours.
ignored='out examples/made docs/html'

# The first plant of each file in one copy, the second ones in another, and so on.
round=1
while awk -F '\t' -v round=$round '++n[$1] == round' "$scratch/plants" >"$scratch/round" && [ -s "$scratch/round" ]; do
    rm -rf "$scratch/tree"
    mkdir "$scratch/tree"
    # shellcheck disable=SC2086 # a list of words
    cp -r $parts "$scratch/tree/"
    mkdir -p "$scratch/tree/tests/alloc"
    cp tests/alloc/extra.def "$scratch/tree/tests/alloc/"
    while IFS='	' read -r file text; do
        mkdir -p "$(dirname "$scratch/tree/$file")"
        printf '%s\n' "$text" >>"$scratch/tree/$file"
    done <"$scratch/round"
    [ $round -gt 1 ] || rm "$scratch/tree/docs/reference/alloc/rw.md"
    for folder in $ignored; do
        mkdir "$scratch/tree/$folder"
        : >"$scratch/tree/$folder/CMakeCache.txt"
        echo 'see [there](docs/nowhere.md)' >"$scratch/tree/$folder/page.md"
        echo '#include "quarry/alloc/walk.h"' >"$scratch/tree/$folder/planted.c"
    done
    violations "$scratch/tree" >"$scratch/found"
    if grep -E "^($(echo "$ignored" | tr " " "|"))/" "$scratch/found"; then
        echo 'includes.sh: looks into a build folder'
        failed=1
    fi
    [ $round -gt 1 ] || printf 'docs/reference/alloc/rw.md\tits absence\n' >>"$scratch/round"
    while IFS='	' read -r file text; do
        if ! grep -q "^$file:" "$scratch/found"; then
            echo "includes.sh: planted '$text' in $file, and it was not found"
            failed=1
        fi
    done <"$scratch/round"
    round=$((round + 1))
done
[ "$failed" -eq 0 ] &&
    echo "the order of the rooms holds; all $(($(wc -l <"$scratch/plants") + 1)) planted violations were found"
exit "$failed"
