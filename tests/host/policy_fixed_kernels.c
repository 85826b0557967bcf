/* SPDX-License-Identifier: Apache-2.0 */
#undef QUARRY_ALLOCATOR
#define QUARRY_ALLOCATOR corw
#define QUARRY_ALIGNMENT 64
#include "policy_kernels.h"

SIMT_KERNEL(policy_fixed_malloc, struct policy_test, a)
{
    if (simt_thread() >= a.count)
        return;
    a.blocks[simt_thread()] = quarry_malloc(a.heap, a.bytes);
    if (!a.blocks[simt_thread()])
        simt_add_u32(a.nulls, 1, relaxed);
}
