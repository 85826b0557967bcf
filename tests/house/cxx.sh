#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The public headers in C++17, without a warning by any compiler that is there: as they are, and with the macros that
# a kernel may be compiled with.
set -eu
cd "$(dirname "$0")/../.."

for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    for macros in '' '-DQUARRY_OOM=wait -DQUARRY_ALIGNMENT=64' '-DQUARRY_ALLOCATOR=scatter -DQUARRY_DISTRIBUTION=warp -DQUARRY_TRACE' \
        '-DQUARRY_TAGS -DQUARRY_OUT_OF_LINE -DQUARRY_CHECK'; do
        # shellcheck disable=SC2086 # several words
        "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only -Iinclude $macros -x c++ \
            tests/house/headers.cpp
    done
done
