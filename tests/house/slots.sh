#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No call in a kernel passes one place in local memory as two of its arguments: nvcc 13.0 may give two variables that live at
# the same time one place, if one is a struct passed by value, whose address goes out (quarry_available_slots of standard.h
# counted nothing, in some kernels).  Looks at PTX, as the machine code of others can't be run here.
#
#   slots.sh NVCC
set -eu
nvcc=$1
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/kernels.c" <<'END_OF_KERNELS'
#include "quarry/device.h"
struct job { struct quarry_handle heap; uint64_t bytes; uint64_t *counts; void **blocks; };
SIMT_KERNEL(count_twice, struct job, a)
{
    quarry_free(a.heap, a.blocks[simt_thread()]);
    a.counts[simt_thread()] = quarry_available_slots(a.heap, a.bytes);
    a.counts[simt_thread()] += quarry_available_slots(a.heap, 2 * a.bytes);
}
SIMT_KERNEL(standard_calls, struct job, a)
{
    struct quarry_context context = quarry_context_start();
    a.blocks[0] = quarry_malloc_with(a.heap, &context, a.bytes);
    a.blocks[1] = quarry_aligned_alloc(a.heap, 4096, a.bytes);
    a.blocks[2] = quarry_calloc(a.heap, 4, a.bytes);
    a.blocks[3] = quarry_realloc(a.heap, a.blocks[4], a.bytes);
    a.counts[0] = quarry_usable_size(a.heap, a.blocks[5]) + quarry_available_slots(a.heap, a.bytes);
}
END_OF_KERNELS

# shared FILE: prints the calls of the PTX that get one place twice; fails if it sees no call with two places.
shared() {
    awk '
        $1 ~ /^add\.[us]64$/ && $3 ~ /^%SPL?,$/ { place[$2] = $4 }
        $1 ~ /^mov\.[ub]64$/ && $3 ~ /^%SPL?;$/ { place[$2] = "0;" }
        /\.entry|\.func/ { delete place }
        /callseq/ { delete seen; places = 0 }
        $1 == "st.param.b64" && (value = $3) && sub(/;$/, ",", value) && value in place {
            if (place[value] in seen)
                print "one place, " place[value] " twice:"
            seen[place[value]]
            if (++places == 2)
                calls++
        }
        /^\t_Z/ && places >= 2 { print "call of " $1 }
        END { exit !calls }' "$1"
}

"$nvcc" -arch=sm_90 -O3 -DNDEBUG -DQUARRY_OUT_OF_LINE -x cu -Iinclude -ptx -o "$work/kernels.ptx" "$work/kernels.c"
shared "$work/kernels.ptx" >"$work/calls" || { echo 'FAILED: no call was seen that passes two places'; exit 1; }
if grep -A 1 '^one place' "$work/calls"; then
    echo 'FAILED: calls that pass one place as two arguments'
    exit 1
fi
grep -c '^call of' "$work/calls"

# What must not pass is seen.
printf '\tadd.u64 \t%%rd1, %%SP, 24;\n\t{ // callseq 1, 0\n\tst.param.b64 \t[param0+0], %%rd1;\n\tst.param.b64 \t[param1+0], %%rd1;\n\t_Z4call,\n' \
    >"$work/planted.ptx"
shared "$work/planted.ptx" | grep -q '^one place' || { echo 'FAILED: one place twice was not noticed'; exit 1; }
