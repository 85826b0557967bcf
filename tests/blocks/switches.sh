#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tests of core/hierarchy.h and core/blocks.h pass with each compile-time switch of theirs.
#
#   switches.sh CC LIBRARY-FLAGS
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"

# with FLAG...
with() {
    kernel_flags=("$@")
    fresh
    for test in hierarchy slots; do
        if ! { compile blocks/test_$test && compile blocks/${test}_kernels && link test_$test.o ${test}_kernels.o && run 100; }; then
            echo "FAILED: $test with $*"
            head "$scratch/log" "$scratch/out"
            failures=$((failures + 1))
        fi
    done
}

with -DQUARRY_HIERARCHY_ROTATION=QUARRY_ROTATION_NONE -DQUARRY_BLOCKS_ALONE=1 -DQUARRY_BLOCKS_TRIES=1
with -DQUARRY_HIERARCHY_ROTATION=QUARRY_ROTATION_ORIGINAL -DQUARRY_BLOCKS_HEADERS=1
with -DQUARRY_HIERARCHY_FLAT=1 -DQUARRY_BLOCKS_TRIES=20
with -DQUARRY_HIERARCHY_FLAT=1 -DQUARRY_HIERARCHY_ROTATION=QUARRY_ROTATION_ORIGINAL
[ $failures -eq 0 ]
