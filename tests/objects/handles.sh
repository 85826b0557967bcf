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

# With QUARRY_EXPECTED errors are values.
cat >"$scratch/expected.cpp" <<'EOF'
#include "objects/zoo.h"
#include "quarry/object.hpp"
namespace zoo {
QUARRY_HANDLES(ZOO)
}
bool none_is_left(const quarry::heap &heap, const simt_kernel &all)
{
    quarry::expected<void> done = quarry::do_all(heap, all, 1);
    quarry::expected<std::uint64_t> count = quarry::count<zoo::cat>(heap);
    quarry::expected<std::vector<float>> lives = quarry::read<zoo::cat, float>(heap, "lives");
    return done && count && *count == 0 && !lives && lives.error().status() == QUARRY_ERROR_ARGUMENT;
}
EOF
# shellcheck disable=SC2086 # words
"$1" $strict -DQUARRY_EXPECTED -DQUARRY_CHECK -fsyntax-only "$scratch/expected.cpp"

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
