#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures how long the commands of the README take on this machine, and what one more allocator costs.  Prints tables in Markdown.
#
#   scripts/times.sh [STAGE...]    all but ci unless some are named, always in this order:
#
#   demo      ./demo in a fresh clone of the commit that is checked out
#   check     ./check after it
#   variant   the same build and its share of the short tests with a variant of scatter added to list.def
#   family    the same with a copy of scatter's family
#   ci        .ci/run in a fresh clone
#
# Wall times mean something when nothing else runs; CPU-seconds are always told beside them.  After a stage that fails, which
# its row says, the others are still measured, and it exits 1 in the end.  Everything is built in a temporary folder, without
# ccache.  TMPDIR says where; 4 GB are enough.  CMAKE_FLAGS and CTEST_FLAGS mean what they mean to make:
# CMAKE_FLAGS=-DQUARRY_CUDA=OFF measures without nvcc.
set -euo pipefail
cd "$(dirname "$0")/.."

stages=" ${*:-demo check variant family} "
source=$PWD
failed=0
commit=$(git rev-parse HEAD) # who works on meanwhile does not change what is measured
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/local/cuda/bin
export CCACHE_DISABLE=1

wanted() {
    [[ $stages == *" $1 "* ]]
}

# A wrapper around a compiler, which writes a line for each call that makes a file in this folder, as builds do and tests do
# not, into the file that STEPS names: CPU-seconds, the compiler, what it made.
mkdir "$work/bin"
printf '#!%s -IS\n' "$(python3 -c 'import sys; print(sys.executable)')" >"$work/bin/step" # itself: what finds it may take longer than it
cat >>"$work/bin/step" <<'END'
import os, resource, subprocess, sys

command = sys.argv[1:]
status = subprocess.call(command)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
made = os.path.abspath(command[command.index("-o") + 1]) if "-o" in command[:-1] else ""
work = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if made.startswith(work + "/") and "STEPS" in os.environ:
    with open(os.environ["STEPS"], "a") as file:
        file.write("%.2f %s %s\n" % (used.ru_utime + used.ru_stime, os.path.basename(command[0]), made))
sys.exit(status)
END
chmod +x "$work/bin/step"
export CMAKE_C_COMPILER_LAUNCHER=$work/bin/step
if nvcc=$(command -v nvcc); then
    printf '#!/bin/sh\nexec %q/bin/step %q "$@"\n' "$work" "$nvcc" >"$work/bin/nvcc"
    chmod +x "$work/bin/nvcc"
    PATH=$work/bin:$PATH
fi

# clone FOLDER: the commit that is checked out, in a folder of its own.
clone() {
    git clone -q "$source" "$work/$1"
    git -C "$work/$1" checkout -q --detach "$commit"
}

# timed NAME COMMAND...: runs it in the current folder and adds its row to the table; whether it succeeded.
timed() {
    local name=$1 note='' TIMEFORMAT='%R %U %S' from
    shift
    export STEPS=$work/steps.$name
    : >"$STEPS"
    from=$SECONDS
    echo "times.sh: $name" >&2
    { time "$@" >"$work/log.$name" 2>&1; } 2>"$work/time" || {
        tail -n 30 "$work/log.$name" >&2
        echo "times.sh: $name failed after $((SECONDS - from)) s" >&2
        note=' (failed)'
        failed=1
    }
    awk -v name="$name$note" -v calls="$(awk '$2 == "nvcc"' "$STEPS" | wc -l)" \
        '{ printf "| %s | %.0f | %.0f | %d |\n", name, $1, $2 + $3, calls }' "$work/time" >>"$work/table"
    [ -z "$note" ]
}

# sum FILE...: CPU-seconds of the steps in those that are there.
sum() {
    { cat "$@" 2>/dev/null || true; } | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# slowest FILE...: the ten slowest steps.
slowest() {
    printf '\n| CPU-seconds | slowest steps of the build |\n| ---: | --- |\n'
    cat "$@" | sort -rn | sed -E "s#$work/[a-z]+/build[-a-z]*/##" | awk 'NR <= 10 { printf "| %.1f | %s: `%s` |\n", $1, $2, $3 }'
}

# more NAME: builds what is in folder NAME, whole; tells what it takes more than the clone of demo and check, and what
# the short tests of allocator `twin` take: its own, and its share of those that go through several allocators.
more() {
    local TIMEFORMAT='%U %S' build tests file=build/tests/CTestTestfile.cmake list='QUARRY_TEST_ALLOCATOR=[a-z0-9_,]*,twin,[a-z0-9_,]*'
    cd "$work/$1"
    timed "$1, build" make TESTS=-DQUARRY_TESTS=ON || return 0
    build=$(($(sum "$work/steps.$1, build") - $(sum "$work"/steps.{demo,check,rest})))
    tests='[._]twin(\.|$)'$(sed -nE "/$list/s/^set_tests_properties\(\[=\[([^]]*).*/|^\1$/p" "$file" | tr -d '\n')
    sed -i -E "s/$list/QUARRY_TEST_ALLOCATOR=twin/" "$file"
    { time ctest --test-dir build -L short -R "$tests" --output-on-failure --no-tests=error >"$work/log.$1" 2>&1; } 2>"$work/time" ||
        { cat "$work/log.$1" >&2; failed=1; }
    tests=$(awk '{ printf "%.0f", $1 + $2 }' "$work/time")
    echo "| one more $1 | $build | $tests |" >>"$work/more"
    cd "$source"
}

# tables: what was measured, also if something failed.
tables() {
    cd "$source"
    printf 'Commit %s, %s, %d cores%s.\n' "${commit:0:12}" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
        "$(command -v nvcc >/dev/null && nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/, nvcc \1/p' || echo ', no nvcc')"
    printf '\n| command | seconds | CPU-seconds | calls of nvcc |\n| --- | ---: | ---: | ---: |\n'
    cat "$work/table" 2>/dev/null || true
    if [ -s "$work/more" ]; then
        printf '\n| | CPU-seconds of build | CPU-seconds of short tests |\n| --- | ---: | ---: |\n'
        cat "$work/more"
    fi
    [ ! -s "$work/steps.demo" ] || slowest "$work/steps.demo"
    for stage in check rest; do
        [ ! -s "$work/steps.$stage" ] || slowest "$work/steps.$stage"
    done
    if [ -s "$work/tree/build/Testing/Temporary/CTestCostData.txt" ]; then
        printf '\n| seconds | slowest short tests |\n| ---: | --- |\n'
        sed '/^---/,$d' "$work/tree/build/Testing/Temporary/CTestCostData.txt" | sort -k 3 -rn |
            awk 'NR <= 10 { printf "| %.1f | `%s` |\n", $3, $1 }'
    fi
}

# What is left behind: the tables, and no folder.
finish() {
    local status=$?
    tables
    rm -rf "$work"
    exit "$((status ? status : failed))"
}
trap finish EXIT

# A function: a shell reads a script while it runs it, and somebody may edit this one meanwhile.
measure() {
    if wanted demo || wanted check || wanted variant || wanted family; then
        clone tree
        cd "$work/tree"
        timed demo ./demo || true
        # The builds of variant and family are compared with a whole build; the tests need not run for that.
        if wanted check; then
            timed check ./check || true
        elif wanted variant || wanted family; then
            timed rest make TESTS=-DQUARRY_TESTS=ON || true
        fi
        cd "$source"
    fi
    local list=include/quarry/alloc/list.def alloc
    if wanted variant; then
        clone variant
        sed -i -E 's/^QUARRY_ALLOCATOR_ENTRY\(scatter, "scatter", (.*)$/&\nQUARRY_ALLOCATOR_ENTRY(twin, "twin", \1/' "$work/variant/$list"
        more variant
    fi
    if wanted family; then
        clone family
        alloc=$work/family/include/quarry/alloc
        mkdir "$alloc/twin"
        for file in scatter.h scatter/scatter_page.h; do
            sed 's/scatter/twin/g; s/SCATTER/TWIN/g; s/SITE_TWIN/SITE_SCATTER/g' "$alloc/$file" >"$alloc/${file//scatter/twin}"
        done
        sed -i -E 's/^#include "quarry\/alloc\/scatter\.h"$/&\n#include "quarry\/alloc\/twin.h"/
            s/^QUARRY_FAMILY_ENTRY\(scatter(.*)$/&\nQUARRY_FAMILY_ENTRY(twin\1/
            s/^QUARRY_ALLOCATOR_ENTRY\(scatter, "scatter", scatter(.*)$/&\nQUARRY_ALLOCATOR_ENTRY(twin, "twin", twin\1/' "$work/family/$list"
        sed -i '/^QUARRY_ALLOCATOR_ENTRY(twin/s/SCATTER/TWIN/g' "$work/family/$list"
        more family
    fi
    if wanted ci; then
        clone ci
        cd "$work/ci"
        timed ci .ci/run || true
        cd "$source"
    fi
}
measure
