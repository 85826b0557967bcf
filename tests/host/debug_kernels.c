/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_kernels.h"

/* Number of the calling thread among those that do something; at least a->threads: it does nothing. */
SIMT_FN uint32_t debug_number(const struct debug_case *a)
{
    return simt_thread() - a->thread;
}

SIMT_KERNEL(debug_malloc, struct debug_case, a)
{
    uint32_t i = debug_number(&a);
    if (i < a.threads)
        a.block[a.slot + i] = (unsigned char *)quarry_malloc(a.heap, a.bytes);
}

SIMT_KERNEL(debug_align, struct debug_case, a)
{
    uint32_t i = debug_number(&a);
    if (i < a.threads)
        a.block[a.slot + i] = (unsigned char *)quarry_aligned_alloc(a.heap, (size_t)a.offset, a.bytes);
}

SIMT_KERNEL(debug_free, struct debug_case, a)
{
    uint32_t i = debug_number(&a);
    if (i < a.threads)
        quarry_free(a.heap, (void *)((uintptr_t)a.block[a.slot + i] + (uintptr_t)a.offset));
}

SIMT_KERNEL(debug_race, struct debug_case, a)
{
    if (debug_number(&a) < a.threads)
        quarry_free(a.heap, a.block[a.slot]);
}

SIMT_KERNEL(debug_write, struct debug_case, a)
{
    unsigned char *byte = (unsigned char *)((uintptr_t)a.block[a.slot] + (uintptr_t)a.offset);
    if (simt_thread() == 0)
        *byte = (unsigned char)~*byte;
}

SIMT_KERNEL(debug_forge, struct debug_case, a)
{
    struct quarry_debug_who by = {a.by, 0}, freed_by = {a.freed_by, 0};
    if (simt_thread() == 0)
        quarry_debug_write(a.block[a.slot] - QUARRY_DEBUG_HEADER_BYTES, a.state, a.bytes, by, freed_by, 0);
}

SIMT_KERNEL(debug_mark, struct debug_case, a)
{
    uint32_t i = debug_number(&a);
    if (i < a.threads && a.block[a.slot + i])
        for (uint64_t b = 0; b < a.bytes; b++)
            a.block[a.slot + i][b] = (unsigned char)i;
}

SIMT_KERNEL(debug_churn, struct debug_case, a)
{
    struct quarry_context context = quarry_context_start();
    if (simt_thread() >= a.threads)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint64_t bytes = 1 + (simt_thread() * 7u + turn * 5u) % a.bytes;
        unsigned char mark = (unsigned char)(simt_thread() + turn);
        uint32_t faults = 0;
        unsigned char *block = (unsigned char *)(turn & 1u ? quarry_malloc(a.heap, bytes)
                                                           : quarry_malloc_with(a.heap, &context, bytes));
        if (!block)
            continue;
        faults += (uintptr_t)block % 16 != 0;
        for (uint64_t b = 0; b < bytes; b++) {
            faults += block[b] != QUARRY_DEBUG_FRESH;
            block[b] = mark;
        }
        simt_fence(acq_rel); /* a place where others may run */
        for (uint64_t b = 0; b < bytes; b++)
            faults += block[b] != mark;
        if (faults)
            simt_add_u32(a.faults, faults, relaxed);
        quarry_free(a.heap, block);
    }
}
