/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/queue_kernels.h"

SIMT_KERNEL(queue_start, struct queue_case, a)
{
    quarry_index_queue_init(&a.queue, a.ticket, simt_thread(), simt_threads());
    simt_block_barrier();
    if (simt_thread() != 0)
        return;
    for (uint32_t i = 0; i < a.numbers; i++)
        quarry_index_queue_put(&a.queue, quarry_index_queue_back(&a.queue, 1), i);
    quarry_index_queue_add(&a.queue, a.numbers);
}

/* The caller has a number, for a while. */
SIMT_FN void have(const struct queue_case *a, uint32_t number)
{
    if (number >= a->numbers || simt_exchange_u32(&a->holder[number], 1, relaxed) != 0) {
        (void)simt_add_u32(&a->counts[QUEUE_WRONG], 1, relaxed);
        return;
    }
    a->visits[number]++;
    (void)simt_add_u32(&a->counts[QUEUE_TAKEN], 1, relaxed);
    for (uint32_t i = 0; i < a->hold; i++)
        (void)simt_load_u32(&a->holder[number], relaxed);
    simt_store_u32(&a->holder[number], 0, relaxed);
}

/* One out of the middle: whatever lies in a slot. */
SIMT_FN uint32_t remove_any(const struct queue_case *a)
{
    for (uint32_t at = 0; at <= a->queue.mask; at++) {
        uint32_t number = simt_load_u32(&a->queue.slot[at], relaxed);
        if (number != QUARRY_NO_INDEX && quarry_index_queue_remove(&a->queue, at, number))
            return number;
    }
    return QUARRY_NO_INDEX;
}

SIMT_KERNEL(queue_rounds, struct queue_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t number = QUARRY_NO_INDEX;
        if (a.removes && (simt_thread() + round) % a.removes == 0)
            number = remove_any(&a);
        else if (quarry_index_queue_claim(&a.queue, 1))
            number = quarry_index_queue_take(&a.queue, quarry_index_queue_front(&a.queue, 1));
        if (number == QUARRY_NO_INDEX) {
            (void)simt_add_u32(&a.counts[QUEUE_NONE], 1, relaxed);
            simt_backoff();
            continue;
        }
        have(&a, number);
        quarry_index_queue_put(&a.queue, quarry_index_queue_back(&a.queue, 1), number);
        quarry_index_queue_add(&a.queue, 1);
    }
}

/* The number in the slot of the next ticket goes to the end. */
SIMT_FN void have_next(const struct queue_case *a)
{
    uint32_t ticket = quarry_index_queue_front(&a->queue, 1);
    uint32_t number = quarry_index_queue_take_try(&a->queue, ticket & a->queue.mask, 1);
    have(a, number);
    if (number < a->numbers)
        quarry_index_queue_put(&a->queue, quarry_index_queue_back(&a->queue, 1), number);
}

/* `hold` tickets of puts are not used.  All numbers move behind them, and then who takes finds nothing in its slot. */
SIMT_KERNEL(queue_drifts, struct queue_case, a)
{
    uint32_t slots = a.queue.mask + 1u, wrong = 0;
    if (simt_thread() != 0)
        return;
    a.queue.ends->count = a.ticket;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t hold = a.hold % slots, near = slots / 64u, old, late, far;
        far = hold > near && slots - hold + 1u >= near;
        (void)quarry_index_queue_back(&a.queue, a.hold);
        for (uint32_t i = 0; i < a.numbers; i++)
            have_next(&a);
        old = quarry_index_queue_front(&a.queue, 0);
        late = quarry_index_queue_front(&a.queue, hold != 0);
        wrong += (uint32_t)quarry_index_queue_align(&a.queue, late) != far;
        if (!far)
            (void)quarry_index_queue_front(&a.queue, hold - (hold != 0)); /* near ones: nobody moved it */
        wrong += quarry_index_queue_front(&a.queue, 0) != old + hold;
        wrong += far && !quarry_index_queue_align(&a.queue, late); /* once, and others know */
        for (uint32_t i = 0; i < a.numbers; i++)
            have_next(&a);
    }
    (void)simt_add_u32(&a.counts[QUEUE_WRONG], wrong, relaxed);
}

SIMT_KERNEL(store_start, struct queue_case, a)
{
    quarry_chunks_init(&a.store, simt_thread(), simt_threads());
}

/* Each lane holds at most one chunk. */
SIMT_KERNEL(store_rounds, struct queue_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t group = simt_active();
        uint64_t seen;
        uint32_t chunk = quarry_chunks_take(&a.store, group, group, 0, SIMT_NULL, &seen);
        if (chunk == QUARRY_NO_INDEX) {
            (void)simt_add_u32(&a.counts[QUEUE_NONE], 1, relaxed);
            continue;
        }
        have(&a, chunk);
        if ((simt_thread() + round) % 3 == 0) {
            quarry_chunks_begin(&a.store);
            quarry_chunks_return(&a.store, chunk);
        } else {
            group = simt_active();
            simt_sync(group);
            quarry_chunks_give(&a.store, group, chunk);
        }
    }
}
