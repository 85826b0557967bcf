#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kernel that only mallocs, and one that only frees, have at most as many registers a thread as the allocator's line in
# list.def says, and 64 with the switch over all: so four blocks of 256 threads run at once on a multiprocessor, and five
# with one allocator of at most 48 (docs/design/device-code.md).  Nor have they more than 128 bytes of stack, and 256 with
# the switch: a kernel that has copied its heap's handle there, at every malloc, has 352 more, which once took ten times
# as long as the malloc.
#
# Without `all` the switch has the first allocator of each family only, which nvcc takes half as long for: a copy of the
# handle, or a register too many in what is around the switch, is seen there, too.  With `first` only these are looked at alone.
#
#   registers.sh NVCC [first|all]
set -eu
nvcc=$1
what=${2:-}
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

# look LIMIT STACK NAME FLAG...: prints the registers and the stack of the two kernels, compiled with the flags; fails if
# there are more.
look() {
    limit=$1
    stack=$2
    name=$3
    shift 3
    "$nvcc" -arch=sm_90 -O3 -DNDEBUG -x cu "$@" -Iinclude -Xptxas -v -cubin -o "$work/kernels.cubin" "$work/kernels.c" \
        >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/log" >"$work/used"
    sed -n '/Function properties for _Z[0-9]*only_/{n;s/^ *\([0-9]*\) bytes stack frame.*/\1/p;}' "$work/log" >"$work/stack"
    # shellcheck disable=SC2046 # words
    echo "$name:" $(cat "$work/used") registers, $(cat "$work/stack") bytes of stack
    within "$limit" used && within "$stack" stack
}

# within LIMIT FILE: whether both kernels of the last look have no more of it.
within() {
    [ "$(wc -l <"$work/$2")" -ge 2 ] && [ "$(sort -n "$work/$2" | tail -n 1)" -le "$1" ]
}

failures=0
list=include/quarry/alloc/list.def
budgets() {
    sed -n 's/^QUARRY_ALLOCATOR_ENTRY(\([a-z0-9_]*\),.*, \([0-9]*\), "[^"]*")$/\1 \2/p' "$1"
}
budgets "$list" >"$work/budgets"
[ "$(wc -l <"$work/budgets")" -eq "$(grep -c '^QUARRY_ALLOCATOR_ENTRY(' "$list")" ] ||
    { echo "FAILED: not every line of $list has a budget"; failures=1; }
if [ "$what" != all ]; then # the list without those whose family was there already
    mkdir -p "$work/include/quarry/alloc"
    awk -F', *' '/^QUARRY_ALLOCATOR_ENTRY\(/ { if (seen[$3]++) next; sub(/QUARRY_CODE_OF_NEXT/, "QUARRY_OWN_CODE") } 1' "$list" \
        >"$work/include/quarry/alloc/list.def"
fi
if [ "$what" = first ]; then budgets "$work/include/quarry/alloc/list.def" >"$work/budgets"; fi
while read -r allocator budget; do
    look "$budget" 128 "$allocator" -DQUARRY_ALLOCATOR="$allocator" -DQUARRY_OOM=null -DQUARRY_DISTRIBUTION=none ||
        { echo "FAILED: more than $budget, or 128 bytes"; failures=$((failures + 1)); }
done <"$work/budgets"
look 64 256 'the switch' -I"$work/include" || { echo "FAILED: more than 64, or 256 bytes"; failures=$((failures + 1)); }
if within 20 used || within 20 stack; then
    echo 'FAILED: a limit that is too low was not noticed'
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
