/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/promise_kernels.h"

SIMT_FN int promise_takes_part(const struct promise_case *a)
{
    return simt_thread() < a->threads && (a->lanes >> simt_lane() & 1u);
}

SIMT_FN uint64_t promise_page(const struct promise_case *a, const void *block)
{
    return (uint64_t)((const unsigned char *)block - a->pool) / a->page_bytes;
}

SIMT_FN uint32_t promise_word(uint32_t owner, uint64_t i)
{
    return owner * 2654435761u ^ (uint32_t)i;
}

/* Claims a new block for the calling thread and fills it with plain stores. */
SIMT_FN void promise_own(const struct promise_case *a, void *block)
{
    uint32_t me = simt_thread() + 1;
    uint64_t offset = (uint64_t)((unsigned char *)block - a->pool);
    if ((uintptr_t)block % 16)
        simt_add_u32(&a->result->misaligned, 1, relaxed);
    if (offset + a->bytes > a->pool_bytes) {
        simt_add_u32(&a->result->outside, 1, relaxed);
        return;
    }
    if (simt_exchange_u32(&a->owner[promise_page(a, block)], me, relaxed) != 0)
        simt_add_u32(&a->result->overlaps, 1, relaxed);
    for (uint64_t i = 0; i < a->bytes / 4; i++)
        ((uint32_t *)block)[i] = promise_word(me, i);
}

/* Checks that `owner` still owns the block and what it wrote. */
SIMT_FN void promise_check(const struct promise_case *a, const void *block, uint32_t owner)
{
    uint32_t torn = 0;
    if (simt_load_u32(&a->owner[promise_page(a, block)], relaxed) != owner)
        simt_add_u32(&a->result->overlaps, 1, relaxed);
    for (uint64_t i = 0; i < a->bytes / 4; i++)
        torn |= ((const uint32_t *)block)[i] ^ promise_word(owner, i);
    if (torn)
        simt_add_u32(&a->result->torn, 1, relaxed);
}

SIMT_FN void promise_release(const struct promise_case *a, void *block)
{
    simt_store_u32(&a->owner[promise_page(a, block)], 0, relaxed);
    quarry_free(a->heap, block);
}

SIMT_KERNEL(promise_malloc, struct promise_case, a)
{
    if (!promise_takes_part(&a))
        return;
    void *block = quarry_malloc(a.heap, a.bytes);
    a.block[simt_thread()] = block;
    if (block)
        promise_own(&a, block);
    else
        simt_add_u32(&a.result->nulls, 1, relaxed);
}

SIMT_KERNEL(promise_verify, struct promise_case, a)
{
    if (promise_takes_part(&a) && a.block[simt_thread()])
        promise_check(&a, a.block[simt_thread()], simt_thread() + 1);
}

SIMT_KERNEL(promise_free, struct promise_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    void **block = &a.block[a.threads - 1 - simt_thread()];
    if (*block)
        promise_release(&a, *block);
    *block = SIMT_NULL;
}

SIMT_KERNEL(promise_thin, struct promise_case, a)
{
    if (!promise_takes_part(&a))
        return;
    void **block = &a.block[simt_thread()];
    if (*block && promise_page(&a, *block) % a.turns == 0) {
        promise_release(&a, *block);
        *block = SIMT_NULL;
    }
}

SIMT_KERNEL(promise_churn, struct promise_case, a)
{
    if (!promise_takes_part(&a))
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        void *block = quarry_malloc(a.heap, a.bytes);
        if (!block) {
            simt_add_u32(&a.result->nulls, 1, relaxed);
            continue;
        }
        promise_own(&a, block);
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.result->nulls, relaxed);
        promise_check(&a, block, simt_thread() + 1);
        promise_release(&a, block);
    }
}

/* block[pair] passes blocks from the even thread to the odd one. */
SIMT_KERNEL(promise_handover, struct promise_case, a)
{
    uint32_t pair = simt_thread() / 2;
    uint64_t *slot = (uint64_t *)&a.block[pair];
    if (simt_thread() >= a.threads)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        if (simt_thread() % 2 == 0) {
            void *block = quarry_malloc(a.heap, a.bytes);
            if (block)
                promise_own(&a, block);
            else
                simt_add_u32(&a.result->nulls, 1, relaxed);
            while (simt_load_u64(slot, relaxed) != 0)
                simt_backoff();
            simt_store_u64(slot, block ? (uint64_t)(uintptr_t)block : 1u, release);
        } else {
            uint64_t got;
            while ((got = simt_load_u64(slot, acquire)) == 0) /* pairs with the store above */
                simt_backoff();
            if (got != 1) {
                promise_check(&a, (void *)(uintptr_t)got, simt_thread());
                promise_release(&a, (void *)(uintptr_t)got);
            }
            simt_store_u64(slot, 0, relaxed);
        }
    }
}

/* nulls counts mallocs that should have been NULL, and were; torn the rest. */
SIMT_KERNEL(promise_strange, struct promise_case, a)
{
    if (!promise_takes_part(&a))
        return;
    uint32_t kind = simt_lane() % 4;
    uint64_t bytes = kind == 0 ? 0 : kind == 1 ? a.page_bytes + 1 : kind == 2 ? ~(uint64_t)0 : a.page_bytes;
    void *block = quarry_malloc(a.heap, bytes);
    quarry_free(a.heap, SIMT_NULL);
    if (kind < 3)
        simt_add_u32(block ? &a.result->torn : &a.result->nulls, 1, relaxed);
    else if (!block)
        simt_add_u32(&a.result->torn, 1, relaxed);
    else
        quarry_free(a.heap, block);
}
