#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kernel that only mallocs, and one that only frees, have at most as many registers a thread as the allocator's line in
# list.def says, and 64 with the switch over all: so four blocks of 256 threads run at once on a multiprocessor, and five
# with one allocator of at most 48 (docs/design/device-code.md).
#
#   registers.sh NVCC
set -eu
nvcc=$1
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/kernels.c" <<'END'
#include "quarry/device.h"
struct job { struct quarry_handle heap; uint64_t bytes; void **blocks; };
SIMT_KERNEL(only_malloc, struct job, a)
{
    a.blocks[simt_thread()] = quarry_malloc(a.heap, a.bytes);
}
SIMT_KERNEL(only_free, struct job, a)
{
    quarry_free(a.heap, a.blocks[simt_thread()]);
}
END

# look LIMIT NAME FLAG...: prints the registers of the two kernels, compiled with the flags; fails if there are more.
look() {
    limit=$1
    name=$2
    shift 2
    "$nvcc" -arch=sm_90 -O3 -DNDEBUG -x cu -Iinclude "$@" -Xptxas -v -cubin -o "$work/kernels.cubin" "$work/kernels.c" \
        >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/log" >"$work/used"
    # shellcheck disable=SC2046 # words
    echo "$name:" $(cat "$work/used") registers
    within "$limit"
}

# within LIMIT: whether both kernels of the last look have no more.
within() {
    [ "$(wc -l <"$work/used")" -ge 2 ] && [ "$(sort -n "$work/used" | tail -n 1)" -le "$1" ]
}

failures=0
list=include/quarry/alloc/list.def
sed -n 's/^QUARRY_ALLOCATOR_ENTRY(\([a-z0-9_]*\),.*, \([0-9]*\), "[^"]*")$/\1 \2/p' "$list" >"$work/budgets"
[ "$(wc -l <"$work/budgets")" -eq "$(grep -c '^QUARRY_ALLOCATOR_ENTRY(' "$list")" ] ||
    { echo "FAILED: not every line of $list has a budget"; failures=1; }
while read -r allocator budget; do
    look "$budget" "$allocator" -DQUARRY_ALLOCATOR="$allocator" -DQUARRY_OOM=null -DQUARRY_DISTRIBUTION=none ||
        { echo "FAILED: more than $budget"; failures=$((failures + 1)); }
done <"$work/budgets"
look 64 'the switch' || { echo "FAILED: more than 64"; failures=$((failures + 1)); }
if within 20; then
    echo 'FAILED: a limit that is too low was not noticed'
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
