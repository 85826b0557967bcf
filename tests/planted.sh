# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into copies of the device headers, and of the kernels of the blocks' tests, one at a time.  A script of
# plants sources this with
#
#   CC LIBRARY-FLAGS    the compiler, and what links a program of tests with the library
#
# and sets
#
#   build TEST      a function that makes $scratch/test of the copy: by `compile` and `link`
#   failed_seed     a sed program that prints the seed of a line of a test's output, and nothing of other lines
#   kernel_flags    more flags for the compiler, if it wants some
#   tests           the tests whose bugs are planted, with commas, if not all are
set -u
cc=$1
flags=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kernel_flags=()
failed_seed=
tests=
failures=0
planted=0

# fresh: a copy without a bug.
fresh() {
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy/include/quarry" "$scratch/copy/tests"
    cp -r include/quarry/core "$scratch/copy/include/quarry/"
    cp -r tests/blocks "$scratch/copy/tests/"
}

# compile FILE: an object of tests/FILE.c, or of its copy, with the copied headers.
compile() {
    local source=tests/$1.c
    [ -e "$scratch/copy/$source" ] && source=$scratch/copy/$source
    # shellcheck disable=SC2086 # words
    "$cc" -std=c11 -D_GNU_SOURCE -O1 "${kernel_flags[@]}" -I"$scratch/copy/include" -Iinclude -I"$scratch/copy/tests" \
        -Itests $flags -c "$source" -o "$scratch/$(basename "$1").o" 2>"$scratch/log"
}

# compile_once FILE: the same of a host's part, which no bug changes.
compile_once() {
    [ -e "$scratch/$(basename "$1").o" ] || compile "$1"
}

# link NAME...: the test, of these objects.
link() {
    # shellcheck disable=SC2086 # words
    "$cc" "${@/#/$scratch/}" $flags -o "$scratch/test" 2>"$scratch/log"
}

# run SEEDS: the test's exit code.  What comes after its first failure goes on in what is broken, and may not end.
run() {
    local pid
    : >"$scratch/out" # what the run before has left tells nothing about this one
    QUARRY_TEST_BACKEND=cpu QUARRY_TEST_SEEDS=$1 timeout 300 "$scratch/test" >"$scratch/out" 2>&1 &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        grep -q '^\[  FAILED  \]' "$scratch/out" && kill "$pid" 2>/dev/null
        sleep 0.1
    done
    wait "$pid"
}

# sound TEST SEEDS: the test finds nothing in a copy without a bug.
sound() {
    fresh
    if ! build "$1" || ! run "$2"; then
        echo "FAILED: $1 without a bug"
        head "$scratch/log" "$scratch/out"
        failures=$((failures + 1))
    fi
}

# plant TEST SEEDS FILE WHAT SED-PROGRAM: the change is there, compiles, and the test fails within SEEDS seeds.  Seed 0 is
# the run without one.  FILE may be a pattern: the files of one block.
plant() {
    local files seed
    [[ -z $tests || ,$tests, == *,$1,* ]] || return 0
    planted=$((planted + 1))
    fresh
    mapfile -t files < <(find "$scratch/copy" -name "$3")
    cat "${files[@]}" >"$scratch/before"
    sed -i -E "$5" "${files[@]}"
    if cat "${files[@]}" | cmp -s - "$scratch/before"; then
        echo "FAILED: $3: $4: the change applies nowhere"
    elif ! build "$1"; then
        echo "FAILED: $3: $4: does not compile"
        head -5 "$scratch/log"
    elif run "$2"; then
        echo "FAILED: $3: $4: not found within $2 seeds"
    else
        seed=$(sed -nE "$failed_seed" "$scratch/out" | sort -n | head -1)
        [ -n "$seed" ] && echo "$3: $4: seed $seed" && return
        echo "FAILED: $3: $4: the test failed in another way"
        tail -5 "$scratch/out"
    fi
    failures=$((failures + 1))
}

# finish: the exit code of all.
finish() {
    echo "$planted bugs, $failures failures"
    [ "$failures" -eq 0 ]
    exit
}
