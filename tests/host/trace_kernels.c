/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_kernels.h"

/* Puts the block, or NULL, into a slot and frees what was there. */
SIMT_FN void trace_put(const struct trace_case *a, uint32_t slot, const void *block)
{
    uint64_t before = simt_exchange_u64(&a->slots[slot % a->slot_count], (uint64_t)(uintptr_t)block, acq_rel);
    quarry_free(a->heap, (void *)(uintptr_t)before);
}

SIMT_KERNEL(trace_work, struct trace_case, a)
{
    uint32_t i = simt_thread();
    if (i >= a.threads)
        return;
    if (a.task == TRACE_EMPTY) {
        for (; i < a.slot_count; i += a.threads)
            trace_put(&a, i, SIMT_NULL);
        return;
    }
    for (uint32_t turn = 0; turn < TRACE_TURNS; turn++) {
        uint64_t alignment = a.task == TRACE_ALIGN ? (uint64_t)32 << i : 16;
        trace_put(&a, i * 5u + turn * 11u,
                  quarry_aligned_alloc(a.heap, alignment, trace_size(a.most, i, turn)));
    }
}

SIMT_KERNEL(trace_note, struct trace_note, a)
{
    quarry_log_note(&a.heap, (const void *)(uintptr_t)(simt_thread() + 16u), simt_thread() + 1u);
}
