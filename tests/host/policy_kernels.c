/* SPDX-License-Identifier: Apache-2.0 */
#include "quarry/handle.h"

SIMT_FN int policy_hook(struct quarry_handle heap, size_t bytes, uint32_t tries);
#define QUARRY_OOM_HOOK policy_hook
#include "policy_kernels.h"

/* What the hook knows; on either backend. */
#if SIMT_CUDA
static __device__ struct policy_test policy_of;
#else
static struct policy_test policy_of;
#endif

SIMT_FN int policy_hook(struct quarry_handle heap, size_t bytes, uint32_t tries)
{
    uint32_t call = simt_add_u32(policy_of.called, 1, relaxed);
    if (bytes != policy_of.bytes || heap.counters != policy_of.heap.counters || tries < 1 ||
        tries > policy_of.give_up)
        simt_add_u32(policy_of.wrong, 1, relaxed);
    if (call < policy_of.count)
        quarry_free(heap, policy_of.blocks[call]);
    return tries < policy_of.give_up;
}

SIMT_KERNEL(policy_store, struct policy_test, a)
{
    if (simt_thread() == 0)
        policy_of = a;
}

SIMT_KERNEL(policy_malloc, struct policy_test, a)
{
    if (simt_thread() >= a.count)
        return;
    a.blocks[simt_thread()] = quarry_malloc(a.heap, a.bytes);
    if (!a.blocks[simt_thread()])
        simt_add_u32(a.nulls, 1, relaxed);
}

SIMT_KERNEL(policy_insist, struct policy_test, a)
{
    if (simt_thread() >= a.count)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        a.blocks[simt_thread()] = quarry_malloc(a.heap, a.bytes);
        if (!a.blocks[simt_thread()])
            simt_add_u32(a.nulls, 1, relaxed);
    }
}

SIMT_KERNEL(policy_tally, struct policy_test, a)
{
    if (simt_thread() == 0)
        quarry_tally_request((struct quarry_tally *)(void *)a.blocks, a.bytes, 1);
}

SIMT_KERNEL(policy_exchange, struct policy_test, a)
{
    uint32_t thread = simt_thread();
    if (thread >= a.count)
        return;
    if (thread % 2 == 0) {
        while (simt_load_u32(a.arrived, relaxed) < a.count / 2)
            simt_backoff();
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(a.nulls, relaxed);
        quarry_free(a.heap, a.blocks[thread]);
    } else {
        simt_add_u32(a.arrived, 1, relaxed);
        void *block = quarry_malloc(a.heap, a.bytes);
        if (!block)
            simt_add_u32(a.nulls, 1, relaxed);
        quarry_free(a.heap, block);
    }
}
