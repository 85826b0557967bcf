#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quarry.hpp from the installed tree: the example, compiled as docs/guide/cpp.md says, which prints it, and a program that
# looks at what the header promises, once for each way of reporting errors.
#
#   cpp.sh cpu|cuda SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

page=$SOURCE/docs/guide/cpp.md # for block()
for program in g++ pkg-config; do
    command -v "$program" >/dev/null || { echo "skipped: no $program here"; exit 77; }
done
cp "$PREFIX/share/doc/quarry/examples/cpp/stacks.cpp" "$scratch/"
block kernel | head -n -1 >"$scratch/kernel"
grep -FA "$(($(wc -l <"$scratch/kernel") - 1))" "$(head -n 1 "$scratch/kernel")" "$scratch/stacks.cpp" |
    diff - "$scratch/kernel" || fail 'docs/guide/cpp.md prints another kernel than examples/cpp/stacks.cpp'

# example BLOCK: compiled by it, and run if its backend is there.
example() {
    enter "$1"
    sed '1i #define QUARRY_ALLOCATOR quarry' "$scratch/stacks.cpp" >stacks.cpp
    by_page "$1"
    [ "$2" = yes ] || return 0
    ./stacks | grep -x '10240 threads filled a stack, and 0 blocks are left' || fail "$1: another answer"
}
# typed NAME COMPILER...: the program, compiled by that command, with its other source, $values.
typed() {
    local name=$1
    shift
    enter "$name"
    cp "$programs"/typed*.cpp .
    # shellcheck disable=SC2046,SC2086 # words
    "$@" typed.cpp $values $(pkg-config --cflags --libs quarry) -o typed >log 2>&1 || { cat log; fail "$name"; }
}

export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
strict='-Wall -Wextra -Werror -DQUARRY_ALLOCATOR=quarry'
# The host's compiler makes an object of the source without kernels.
# shellcheck disable=SC2046,SC2086 # words
g++ -O1 -std=c++17 $strict $(pkg-config --cflags quarry) -c "$programs/typed_values.cpp" -o "$scratch/values.o"
if [ "$backend" = cpu ]; then
    example gxx yes
    # Errors by exceptions; by the header's own class, which it takes where there are none; by std::expected.
    for way in -std=c++17 '-std=c++17 -fno-exceptions -DQUARRY_TAGS' '-std=c++2b -DQUARRY_EXPECTED'; do
        values=$scratch/values.o
        [[ $way != *c++2b* ]] || values=typed_values.cpp # where it has another class
        # shellcheck disable=SC2086 # words
        typed "$way" g++ $strict $way
        runs ./typed cpu
    done
fi
# With libquarry.so nvcc would have to be told to share the CUDA runtime.
if [ "$WITH_NVCC" = yes ] && [ "$SHARED" = no ]; then
    example nvcc "$has_gpu"
    values="-Xlinker $scratch/values.o"
    typed cuda nvcc -x cu -std=c++17 -O2 -DNDEBUG -arch=native -DQUARRY_ALLOCATOR=quarry
    runs ./typed cuda
fi
