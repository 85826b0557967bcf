/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/promise_kernels.h"

SIMT_FN int promise_takes_part(const struct promise_case *a)
{
    return simt_thread() < a->threads && (a->lanes >> simt_lane() & 1u);
}

/* The calling thread, as an owner. */
SIMT_FN uint32_t promise_me(const struct promise_case *a)
{
    return a->first + simt_thread() + 1;
}

/* Where a block begins. */
SIMT_FN struct promise_grain *promise_grain_of(const struct promise_case *a, const void *block)
{
    return &a->grain[(uint64_t)((const unsigned char *)block - a->pool) / PROMISE_GRAIN];
}

/* How many grains a block of `bytes` has. */
SIMT_FN uint64_t promise_grains(uint64_t bytes)
{
    return (bytes + PROMISE_GRAIN - 1) / PROMISE_GRAIN;
}

SIMT_FN uint32_t promise_word(uint32_t owner, uint64_t i)
{
    return owner * 2654435761u ^ (uint32_t)i;
}

/* Fills a block with plain stores: to its last byte, and not beyond. */
SIMT_FN void promise_write(void *block, uint64_t bytes, uint32_t owner)
{
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)block)[i] = promise_word(owner, i);
    for (uint64_t i = bytes / 4 * 4; i < bytes; i++)
        ((unsigned char *)block)[i] = (unsigned char)promise_word(owner, i);
}

/* Claims a new block for the calling thread and fills it.  Returns it, or NULL if it may not be touched. */
SIMT_FN void *promise_own(const struct promise_case *a, void *block, uint64_t bytes)
{
    uint64_t offset = (uint64_t)((unsigned char *)block - a->pool);
    simt_add_u32(&a->result->blocks, 1, relaxed);
    if ((uintptr_t)block % a->alignment)
        simt_add_u32(&a->result->misaligned, 1, relaxed);
    if (offset > a->pool_bytes || offset + bytes > a->pool_bytes) {
        simt_add_u32(&a->result->outside, 1, relaxed);
        return SIMT_NULL;
    }
    struct promise_grain *grain = promise_grain_of(a, block);
    uint32_t taken = 0;
    for (uint64_t i = 0; i < promise_grains(bytes); i++)
        taken |= simt_exchange_u32(&grain[i].owner, promise_me(a), relaxed);
    if (taken)
        simt_add_u32(&a->result->overlaps, 1, relaxed);
    grain->visits++;
    grain->bytes = (uint32_t)bytes;
    promise_write(block, bytes, promise_me(a));
    return block;
}

/* Is the block other than promise_write left it? */
SIMT_FN int promise_is_torn(const void *block, uint64_t bytes, uint32_t owner)
{
    uint32_t torn = 0;
    for (uint64_t i = 0; i < bytes / 4; i++)
        torn |= ((const uint32_t *)block)[i] ^ promise_word(owner, i);
    for (uint64_t i = bytes / 4 * 4; i < bytes; i++)
        torn |= ((const unsigned char *)block)[i] ^ (promise_word(owner, i) & 0xffu);
    return torn != 0;
}

/* Checks that `owner` still owns the block and what it wrote. */
SIMT_FN void promise_check(const struct promise_case *a, const void *block, uint32_t owner)
{
    struct promise_grain *grain = promise_grain_of(a, block);
    uint32_t lost = 0;
    for (uint64_t i = 0; i < promise_grains(grain->bytes); i++)
        lost |= simt_load_u32(&grain[i].owner, relaxed) ^ owner;
    if (lost)
        simt_add_u32(&a->result->overlaps, 1, relaxed);
    if (promise_is_torn(block, grain->bytes, owner))
        simt_add_u32(&a->result->torn, 1, relaxed);
}

SIMT_FN void promise_release(const struct promise_case *a, void *block)
{
    struct promise_grain *grain = promise_grain_of(a, block);
    for (uint64_t i = promise_grains(grain->bytes); i > 0; i--)
        simt_store_u32(&grain[i - 1].owner, 0, relaxed);
    quarry_free(a->heap, block);
}

/* Makes another thread's block the caller's. */
SIMT_FN void promise_take_over(const struct promise_case *a, void *block)
{
    struct promise_grain *grain = promise_grain_of(a, block);
    promise_check(a, block, simt_load_u32(&grain->owner, relaxed));
    for (uint64_t i = 0; i < promise_grains(grain->bytes); i++)
        simt_store_u32(&grain[i].owner, promise_me(a), relaxed);
    promise_write(block, grain->bytes, promise_me(a));
}

/* A block of the calling thread's, or NULL. */
SIMT_FN void *promise_get(const struct promise_case *a, struct quarry_context *context, uint32_t turn,
                          uint64_t bytes)
{
    void *block = a->kept == PROMISE_CONTEXT || (a->kept == PROMISE_BOTH && turn % 2)
                      ? quarry_malloc_with(a->heap, context, bytes)
                      : quarry_malloc(a->heap, bytes);
    if (block)
        return promise_own(a, block, bytes);
    simt_add_u32(&a->result->nulls, 1, relaxed);
    return SIMT_NULL;
}

SIMT_KERNEL(promise_malloc, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    if (promise_takes_part(&a) && !a.block[simt_thread()])
        a.block[simt_thread()] = promise_get(&a, &context, 0, a.bytes);
}

SIMT_KERNEL(promise_mixed, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    struct quarry_random r;
    r.step = simt_thread() * 2 + 1;
    r.state = quarry_mix_u32(a.program ^ simt_thread());
    uint32_t powers = 31u - simt_clz_u32((uint32_t)a.bytes / 8u);
    uint32_t most = (uint32_t)a.bytes >> quarry_random_below(&r, powers);
    if (promise_takes_part(&a) && !a.block[simt_thread()])
        a.block[simt_thread()] = promise_get(&a, &context, 0, 1 + quarry_random_below(&r, most));
}

SIMT_KERNEL(promise_verify, struct promise_case, a)
{
    uint32_t owner = (simt_thread() + a.threads - a.shift) % a.threads + 1;
    if (promise_takes_part(&a) && a.block[simt_thread()])
        promise_check(&a, a.block[simt_thread()], a.first + owner);
}

SIMT_KERNEL(promise_adopt, struct promise_case, a)
{
    if (!promise_takes_part(&a))
        return;
    void *block = a.block[(simt_thread() + a.shift) % a.threads];
    if (block)
        promise_take_over(&a, block);
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
    if (!promise_takes_part(&a) || !a.block[simt_thread()])
        return;
    void **block = &a.block[simt_thread()];
    uint64_t page = (uint64_t)((const unsigned char *)*block - a.pool) / a.stride;
    if (page % a.turns == 0) {
        promise_release(&a, *block);
        *block = SIMT_NULL;
    }
}

SIMT_KERNEL(promise_sieve, struct promise_case, a)
{
    if (!promise_takes_part(&a))
        return;
    void **block = &a.block[simt_thread()];
    if (*block && simt_thread() % a.turns != 0) {
        promise_release(&a, *block);
        *block = SIMT_NULL;
    }
}

SIMT_KERNEL(promise_turn, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    void **block = &a.block[simt_thread()];
    if (!promise_takes_part(&a))
        return;
    if (*block) {
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.result->nulls, relaxed);
        promise_check(&a, *block, promise_me(&a));
        promise_release(&a, *block);
        *block = SIMT_NULL;
    } else {
        *block = promise_get(&a, &context, 0, a.bytes);
    }
}

SIMT_KERNEL(promise_churn, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    if (!promise_takes_part(&a))
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        void *block = promise_get(&a, &context, turn, a.bytes);
        if (!block)
            continue;
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.result->nulls, relaxed);
        promise_check(&a, block, promise_me(&a));
        promise_release(&a, block);
    }
    if (a.keeps)
        a.block[simt_thread()] = promise_get(&a, &context, a.turns, a.bytes);
}

/* Puts a block (or NULL) into a box and takes what was there over: each is in one place at every instant. */
SIMT_FN void *promise_exchange(const struct promise_case *a, uint32_t box, void *block)
{
    /* acq_rel: pairs with itself */
    void *got = (void *)(uintptr_t)simt_exchange_u64(&a->box[box], (uint64_t)(uintptr_t)block, acq_rel);
    if (got)
        promise_take_over(a, got);
    return got;
}

/* Who has a block frees it and asks for another one, so many times; who has none asks once.  Who gets NULL stops. */
SIMT_KERNEL(promise_renew, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    void **block = &a.block[simt_thread()];
    if (!promise_takes_part(&a))
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        int had = *block != SIMT_NULL;
        if (had) {
            for (uint32_t i = 0; i < a.hold; i++)
                (void)simt_load_u32(&a.result->nulls, relaxed);
            promise_check(&a, *block, promise_me(&a));
            promise_release(&a, *block);
        }
        *block = promise_get(&a, &context, turn, a.bytes);
        if (!had || !*block)
            return;
    }
}

/* Thread 0 asks for a block once.  Other warps take and free smaller ones until it has its answer, or for so many
 * turns. */
SIMT_KERNEL(promise_beside, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    if (simt_thread() == 0) {
        void *block = promise_get(&a, &context, 0, a.bytes);
        simt_store_u32(&a.result->answered, 1, relaxed);
        if (block)
            promise_release(&a, block);
    }
    if (simt_thread() < SIMT_LANES || !promise_takes_part(&a))
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        void *block = promise_get(&a, &context, turn, a.count);
        if (block)
            promise_release(&a, block);
        if (simt_load_u32(&a.result->answered, relaxed))
            return;
    }
    simt_add_u32(&a.result->late, 1, relaxed);
}

SIMT_KERNEL(promise_play, struct promise_case, a)
{
    struct quarry_context context = quarry_context_start();
    void *held[PROMISE_HELD] = {SIMT_NULL, SIMT_NULL, SIMT_NULL, SIMT_NULL};
    struct quarry_random r;
    r.step = simt_thread() * 2 + 1;
    r.state = quarry_mix_u32(a.program ^ simt_thread());
    if (!promise_takes_part(&a))
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        void **mine = &held[quarry_random_below(&r, a.held)];
        if (!*mine) {
            *mine = promise_get(&a, &context, turn, 1 + quarry_random_below(&r, (uint32_t)a.bytes));
            continue;
        }
        promise_check(&a, *mine, promise_me(&a));
        if (a.boxes && quarry_random_below(&r, 2)) {
            *mine = promise_exchange(&a, quarry_random_below(&r, a.boxes), *mine);
        } else {
            promise_release(&a, *mine);
            *mine = SIMT_NULL;
        }
    }
    if (a.keeps) {
        a.block[simt_thread()] = held[0];
        held[0] = SIMT_NULL;
    }
    for (uint32_t i = 0; i < a.held + a.boxes; i++) {
        void *block = i < a.held ? held[i] : promise_exchange(&a, i - a.held, SIMT_NULL);
        if (block)
            promise_release(&a, block);
    }
}

SIMT_KERNEL(promise_stride_malloc, struct promise_case, a)
{
    for (uint32_t i = simt_thread(); simt_thread() < a.threads && i < a.count; i += a.threads) {
        a.block[i] = quarry_malloc(a.heap, a.bytes);
        if (!a.block[i])
            simt_add_u32(&a.result->nulls, 1, relaxed);
        else if ((uintptr_t)a.block[i] % a.alignment)
            simt_add_u32(&a.result->misaligned, 1, relaxed);
        else
            promise_write(a.block[i], a.bytes, i + 1);
    }
}

SIMT_KERNEL(promise_stride_verify, struct promise_case, a)
{
    for (uint32_t i = simt_thread(); simt_thread() < a.threads && i < a.count; i += a.threads)
        if (a.block[i] && promise_is_torn(a.block[i], a.bytes, i + 1))
            simt_add_u32(&a.result->torn, 1, relaxed);
}

SIMT_KERNEL(promise_stride_free, struct promise_case, a)
{
    for (uint32_t i = simt_thread(); simt_thread() < a.threads && i < a.count; i += a.threads)
        quarry_free(a.heap, a.block[i]);
}

/* block[pair] passes blocks from the even thread to the odd one. */
SIMT_KERNEL(promise_handover, struct promise_case, a)
{
    uint32_t pair = simt_thread() / 2;
    uint64_t *slot = (uint64_t *)&a.block[pair];
    struct quarry_context context = quarry_context_start();
    if (simt_thread() >= a.threads)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        if (simt_thread() % 2 == 0) {
            void *block = promise_get(&a, &context, turn, a.bytes);
            while (simt_load_u64(slot, relaxed) != 0)
                simt_backoff();
            simt_store_u64(slot, block ? (uint64_t)(uintptr_t)block : 1u, release);
        } else {
            uint64_t got;
            while ((got = simt_load_u64(slot, acquire)) == 0) /* pairs with the store above */
                simt_backoff();
            if (got != 1) {
                promise_check(&a, (void *)(uintptr_t)got, promise_me(&a) - 1);
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
    uint64_t bytes = kind == 0   ? 0
                     : kind == 1 ? a.heap.max_block + 1
                     : kind == 2 ? ~(uint64_t)0
                                 : a.page_bytes;
    void *block = quarry_malloc(a.heap, bytes);
    quarry_free(a.heap, SIMT_NULL);
    if (kind < 3)
        simt_add_u32(block ? &a.result->torn : &a.result->nulls, 1, relaxed);
    else if (!block)
        simt_add_u32(&a.result->torn, 1, relaxed);
    else
        quarry_free(a.heap, block);
}

SIMT_KERNEL(promise_two_malloc, struct promise_two, a)
{
    uint32_t t = simt_thread(), side = t % 2;
    void *block;
    if (t >= a.threads)
        return;
    if (a.select)
        block = quarry_malloc(a.heap[side], a.bytes[side]);
    else if (side)
        block = quarry_malloc(a.heap[1], a.bytes[1]);
    else
        block = quarry_malloc(a.heap[0], a.bytes[0]);
    a.block[t] = (uint32_t *)block;
    if (!block)
        simt_add_u32(&a.nulls[side], 1, relaxed);
    else if ((uint64_t)((unsigned char *)block - a.pool[side]) + a.bytes[side] > a.pool_bytes[side])
        simt_add_u32(a.wrong, 1, relaxed);
    else
        *a.block[t] = t;
}

SIMT_KERNEL(promise_two_free, struct promise_two, a)
{
    uint32_t t = simt_thread();
    if (t >= a.threads || !a.block[t])
        return;
    if (*a.block[t] != t)
        simt_add_u32(a.wrong, 1, relaxed);
    quarry_free(a.heap[t % 2], a.block[t]);
}

SIMT_KERNEL(promise_slots, struct promise_slots, a)
{
    uint32_t t = simt_thread();
    if (a.lanes[t / SIMT_LANES] >> simt_lane() & 1u)
        a.slots[t] = quarry_available_slots(a.heap, a.bytes);
}

SIMT_KERNEL(promise_clock, struct promise_case, a)
{
    uint64_t begin = simt_clock();
    if (!promise_takes_part(&a))
        return;
    if (!quarry_malloc(a.heap, a.bytes))
        simt_add_u32(&a.result->nulls, 1, relaxed);
    simt_max_u64(&a.box[0], simt_clock() - begin, relaxed);
}
