/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/pairs_kernels.h"

/* The first bytes of a block say whose it is, and the last that PAIRS_SHRINK keeps. */
SIMT_FN void pairs_mark(const struct pairs_case *a, void *block)
{
    if (!block)
        return;
    *(uint32_t *)block = simt_thread();
    ((unsigned char *)block)[a->bytes / 2 - 1] = (unsigned char)simt_thread();
}

SIMT_FN void pairs_check(const struct pairs_case *a, const void *block)
{
    if (block && (*(const uint32_t *)block != simt_thread() ||
                  ((const unsigned char *)block)[a->bytes / 2 - 1] != (unsigned char)simt_thread()))
        simt_add_u32(&a->result->torn, 1, relaxed);
}

SIMT_FN void pairs_expect(const struct pairs_case *a, int right)
{
    if (!right)
        simt_add_u32(&a->result->misjudged, 1, relaxed);
}

SIMT_KERNEL(pairs_fill, struct pairs_case, a)
{
    for (uint32_t turn = 0; turn < PAIRS_TURNS; turn++) {
        void *block = quarry_malloc(a.heap, a.bytes);
        pairs_mark(&a, block);
        a.block[simt_thread() * PAIRS_TURNS + turn] = block;
        if (!block)
            simt_add_u32(&a.result->unfilled, 1, relaxed);
    }
}

/* realloc of the block at *own, which is the new one then.  Returns whether there was none. */
SIMT_FN int pairs_realloc(const struct pairs_case *a, void **own, uint64_t bytes)
{
    void *moved = quarry_realloc(a->heap, *own, bytes);
    if (moved)
        *own = moved;
    return !moved;
}

SIMT_KERNEL(pairs_play, struct pairs_case, a)
{
    uint32_t second = quarry_mix_u32(a.program + simt_thread()) >> 16 & 1u;
    struct quarry_context context = quarry_context_start();
    for (uint32_t turn = 0; turn < PAIRS_TURNS; turn++) {
        uint32_t i = simt_thread() * PAIRS_TURNS + turn, call = a.call[second];
        void **own = &a.block[i], *got = SIMT_NULL;
        uint64_t n;
        int null = 0;
        switch (call) {
        case PAIRS_MALLOC:
            null = !(got = quarry_malloc(a.heap, a.bytes));
            break;
        case PAIRS_MALLOC_WITH:
            null = !(got = quarry_malloc_with(a.heap, &context, a.bytes));
            break;
        case PAIRS_REFUSED:
            null = !(got = quarry_malloc(a.heap, a.heap.max_block + 1));
            break;
        case PAIRS_CALLOC:
            null = !(got = quarry_calloc(a.heap, a.bytes / 8, 8));
            if (got && (*(uint32_t *)got != 0 || ((unsigned char *)got)[a.bytes - 1] != 0))
                simt_add_u32(&a.result->torn, 1, relaxed);
            break;
        case PAIRS_ALIGNED:
            null = !(got = quarry_aligned_alloc(a.heap, 64, a.bytes));
            pairs_expect(&a, (uintptr_t)got % 64 == 0);
            break;
        case PAIRS_GROW:
            null = pairs_realloc(&a, own, a.grown);
            break;
        case PAIRS_SHRINK:
            null = pairs_realloc(&a, own, a.bytes / 2);
            pairs_expect(&a, !null || a.heap.debug);
            break;
        case PAIRS_FREE:
            pairs_check(&a, *own);
            quarry_free(a.heap, *own);
            *own = SIMT_NULL;
            break;
        case PAIRS_USABLE:
            n = quarry_usable_size(a.heap, *own);
            pairs_expect(&a, a.heap.debug ? n == a.bytes : n >= a.bytes);
            break;
        default:
            n = quarry_available_slots(a.heap, a.bytes);
            pairs_expect(&a, n <= a.most_slots);
        }
        if (null)
            simt_add_u32(&a.result->nulls, 1, relaxed);
        pairs_mark(&a, got);
        pairs_check(&a, *own);
        a.got[i] = got;
    }
}

SIMT_KERNEL(pairs_clear, struct pairs_case, a)
{
    for (uint32_t turn = 0; turn < PAIRS_TURNS; turn++) {
        uint32_t i = simt_thread() * PAIRS_TURNS + turn;
        pairs_check(&a, a.block[i]);
        pairs_check(&a, a.got[i]);
        quarry_free(a.heap, a.block[i]);
        quarry_free(a.heap, a.got[i]);
        a.block[i] = SIMT_NULL;
        a.got[i] = SIMT_NULL;
    }
}
