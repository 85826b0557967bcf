#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# handles.cpp, compiled as C++17 with all warnings, and run; and what its classes must refuse.
#
#   handles.sh COMPILER LIBRARY-FLAGS
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
strict='-std=c++17 -Wall -Wextra -Wshadow -Wconversion -Werror -DQUARRY_ALLOCATOR=objects -Iinclude -Itests'
# shellcheck disable=SC2086 # words
"$1" $strict tests/objects/handles.cpp $2 -o "$scratch/handles"
"$scratch/handles"
# shellcheck disable=SC2086 # words
"$1" $strict -DQUARRY_EXPECTED -DQUARRY_CHECK -fsyntax-only -include quarry/object.hpp -x c++ /dev/null

# refuses CODE COMPILER: it does not compile that in a kernel.
refuses() {
    sed "s/^    std::uint64_t stamps = 0;/    $1\n&/" tests/objects/handles.cpp >"$scratch/wrong.cpp"
    # shellcheck disable=SC2086 # words
    if "$2" $strict -fsyntax-only "$scratch/wrong.cpp" 2>/dev/null; then
        echo "FAILED: compiled: $1"
        exit 1
    fi
}
refuses 'zoo::animal::create(a.heap);' "$1"   # abstract
refuses 'cat.wing(0) = 1;' "$1"               # a field that it does not have
refuses 'zoo::pegasus other = horse;' "$1"    # what derives from it, or not
