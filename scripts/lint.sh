#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the project's C sources as a configured build folder compiles them, shellcheck over its scripts.
#   lint.sh BUILD-FOLDER [CLANG-TIDY]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
tidy=${2:-clang-tidy}

# clang-tidy looks at a source once for each command of the build that compiles it, which are thirty for some.  Here the
# sources have one command each: one without QUARRY_ALLOCATOR if there is one, which compiles the code of all allocators.
# Sources that the build writes are left out: they include those that are read.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
awk -v written="\"file\": \"$(realpath "$build")/" '
    /^\{/ { entry = ""; direct = 0 }
    { entry = entry $0 "\n" }
    /"command":/ { direct = /-DQUARRY_ALLOCATOR=/ }
    /"file":/ { file = $0; sub(/,$/, "", file); if (index(file, written)) file = "" }
    /^\}/ && file != "" {
        if (!(file in chosen)) order[n++] = file
        if (!(file in chosen) || (!direct && was_direct[file])) { chosen[file] = entry; was_direct[file] = direct }
    }
    END {
        print "["
        for (i = 0; i < n; i++) { sub(/,?\n$/, "", chosen[order[i]]); print chosen[order[i]] (i < n - 1 ? "," : "") }
        print "]"
    }' "$build/compile_commands.json" >"$database/compile_commands.json"

# What it found, and nothing where it found nothing.  The analyser follows so many states of a function and what it calls,
# instead of 225,000: of kernels fewer, for it never gets through the device code of allocators, which took it most of the time.
# The host's side of tests goes without: they run under the address sanitizer.
look() {
    local found states=75000 checks=
    case $1 in
    *kernels.c | */overhead_*.c | */tests/linked/dispatch.c) states=25000 ;;
    */tests/*) checks="-clang-analyzer-*" ;;
    esac
    if ! found=$("$tidy" -p "$database" --quiet --checks="$checks" --extra-arg=-Xclang --extra-arg=-analyzer-config \
        --extra-arg=-Xclang --extra-arg=max-nodes=$states "$1" 2>&1); then
        printf '%s\n' "$found" | grep -vE '^[0-9]+ warnings? generated|^Suppressed|^Use -header-filter'
        return 1
    fi
}
export -f look
export database tidy

# shellcheck disable=SC2016 # for the inner shell
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$database/compile_commands.json" |
    xargs -P "${JOBS:-$(nproc)}" -I '{}' bash -c 'look "$1"' look '{}'

if command -v shellcheck >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- demo check .ci/run '*.sh' | xargs shellcheck
else
    echo 'lint: shellcheck is not installed; scripts were not checked' >&2
fi
