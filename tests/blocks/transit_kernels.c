/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/transit_kernels.h"

SIMT_KERNEL(transit_start, struct transit_case, a)
{
    quarry_chunks_init(&a.store, simt_thread(), simt_threads());
}

SIMT_KERNEL(transit_taken, struct transit_case, a)
{
    quarry_chunks_init(&a.store, simt_thread(), simt_threads());
    simt_block_barrier();
    if (simt_thread() == 0) {
        a.store.head->word = 0;
        a.store.head->fresh = a.store.count;
    }
}

SIMT_FN uint32_t transit_take(const struct transit_case *a, int deals)
{
    uint32_t group = 1u << simt_lane();
    uint64_t seen;
    return quarry_chunks_take(&a->store, group, group, deals, SIMT_NULL, &seen);
}

SIMT_FN void transit_maker(const struct transit_case *a)
{
    while (transit_take(a, 1) == QUARRY_NO_INDEX)
        simt_backoff();
    simt_backoff(); /* others may look before it is made */
    *a->made = 1;
    quarry_chunks_end(&a->store);
}

SIMT_FN void transit_finder(const struct transit_case *a)
{
    uint32_t chunk;
    while ((chunk = transit_take(a, 0)) != QUARRY_NO_INDEX) {
        quarry_chunks_begin(&a->store);
        quarry_chunks_return(&a->store, chunk);
        simt_backoff();
    }
    if (*a->made != 1)
        (void)simt_add_u32(a->wrong, 1, relaxed);
}

SIMT_KERNEL(transit_make, struct transit_case, a)
{
    if (simt_lane() != 0)
        return;
    if (simt_block() == 0)
        transit_maker(&a);
    else
        transit_finder(&a);
}

/* Reads by changing nothing: so it sees the newest, whatever the memory model. */
SIMT_FN void transit_counter(const struct transit_case *a)
{
    while (simt_load_u32(a->over, relaxed) != a->store.count) {
        uint32_t left = quarry_chunks_left(simt_add_u64(&a->store.head->word, 0, relaxed)), numbers = 0;
        for (uint32_t i = 0; i <= a->store.returned.mask; i++)
            numbers += simt_or_u32(&a->store.returned.slot[i], 0, relaxed) != QUARRY_NO_INDEX;
        if (numbers < left)
            (void)simt_add_u32(a->wrong, 1, relaxed);
        simt_backoff();
    }
}

SIMT_KERNEL(transit_give, struct transit_case, a)
{
    if (simt_block() == 0) {
        if (a.alone) {
            quarry_chunks_begin(&a.store);
            quarry_chunks_return(&a.store, simt_thread());
        } else {
            uint32_t group = simt_active();
            simt_sync(group);
            quarry_chunks_give(&a.store, group, simt_thread());
        }
        (void)simt_add_u32(a.over, 1, relaxed);
    } else if (simt_lane() == 0) {
        transit_counter(&a);
    }
}
