/* SPDX-License-Identifier: Apache-2.0 */
/* ring: pages of one size, and a ring of the numbers of those that are free.
 *
 * Carlchristian Eckert, "Enhancements of the massively parallel memory allocator ScatterAlloc and its
 * adaption to the general interface mallocMC", TU Dresden 2014, section 2.4.4: the HeapBuffer of PIConGPU.  A
 * malloc takes the number at the ring's pop end and moves that on, a free writes its page's number at the
 * push end.
 *
 *     pool    | head | slot[0] ... slot[size - 1] | taken[0] ... taken[n - 1] | page 0 | page 1 | ...
 *     head    spare  63..24 pages that are free and not claimed | 23..0 claims in flight
 *             queue  front, back: tickets of the next malloc and of the next free; its count is not used
 *     slot    32 bits: number of a free page, or QUARRY_NO_INDEX; size: n, rounded up to a power of two
 *     taken   32 bits: 1 while the page is a block
 *
 * The thesis has workers that miss that the ring is empty and corrupt others' memory.  Here a malloc first
 * claims as many pages as it needs from `spare`, one addition for all lanes of the warp that ask; only who
 * has a claim gets a ticket.  A claim for more than there is gives back what it did not get, by a second
 * addition.  Every claim makes that, as it also takes itself out of `in flight`.
 *
 * No page is lost or given twice, and nobody waits for a lane that stands still: core/index_queue.h, whose slots
 * these are.  It asks for two things.  A take needs a claim: a free adds to `spare` when its numbers are in slots,
 * so there are never more claims granted and not yet served than numbers in slots.  A put needs an empty slot: n - 1
 * numbers at most are in as many slots as pages, or more.  The queue's own count would not do, as it does not tell
 * claims in flight: NULL could not be proven.
 *
 * Order.  What the page's last owner did happens-before what the next one does: the queue's release and acquire.
 * `taken` is relaxed: it is written between the two.
 *
 * Full heap.  NULL is returned only after `spare` was read with no page unclaimed and no claim in flight.  At
 * that place in the modification order of this one word every claim has been settled, so the number of free
 * pages is exact, and it is 0.  Frees that happen-before the malloc come before that place, those of other
 * lanes of the group by the simt_sync before the read.  With claims in flight the lane looks again: they are
 * settled by lanes that wait for nobody, and as long as no page is unclaimed nobody makes new ones but with a
 * malloc's first addition. */
#ifndef QUARRY_ALLOC_RING_H
#define QUARRY_ALLOC_RING_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/index_queue.h"
#include "quarry/core/pages.h"
#include "quarry/core/share.h"

#define QUARRY_RING_CAN                                                                                      \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_WHOLE_PAGES | QUARRY_HAS_PAGES)
#define QUARRY_RING_UNIT ((uint64_t)1 << 24) /* of spare: one page */
#define QUARRY_RING_IN_FLIGHT (QUARRY_RING_UNIT - 1u)
#define QUARRY_RING_OVERDRAWN ((uint64_t)1 << 39) /* of spare, in pages: from here on it is below 0 */
#define QUARRY_RING_NOTHING ((uint64_t)1 << 63)   /* of a grant: no page was free */

/* What many threads change at once lies 256 bytes apart: core/semaphore.h says why. */
struct quarry_ring_head {
    uint64_t spare;
    uint64_t unused[31];
    struct quarry_index_queue_ends queue;
};

struct quarry_ring {
    struct quarry_ring_head *head;
    uint32_t *slot;
    uint32_t *taken;
    struct quarry_pages pages;
    uint32_t mask; /* slots - 1 */
};

/* The numbers of pages that are free. */
SIMT_FN struct quarry_index_queue quarry_ring_queue(const struct quarry_ring *h)
{
    struct quarry_index_queue queue = {&h->head->queue, h->slot, h->mask};
    return queue;
}

SIMT_FN void quarry_ring_init(const struct quarry_ring *h, uint64_t thread, uint64_t threads)
{
    uint32_t n = h->pages.count;
    if (thread == 0) {
        h->head->spare = n * QUARRY_RING_UNIT;
        h->head->queue.count = 0;
        h->head->queue.front = 0;
        h->head->queue.back = n;
    }
    for (uint64_t i = thread; i <= h->mask; i += threads)
        h->slot[i] = i < n ? (uint32_t)i : QUARRY_NO_INDEX;
    for (uint64_t i = thread; i < n; i += threads)
        h->taken[i] = 0;
}

/* Pages that are free and unclaimed, by a value of `spare`. */
SIMT_FN uint64_t quarry_ring_spare(uint64_t word)
{
    uint64_t pages = word / QUARRY_RING_UNIT;
    return pages < QUARRY_RING_OVERDRAWN ? pages : 0;
}

/* Claims up to `wanted` pages.
 *   first   without a look at how many there are
 * Returns a grant: 31..0 the first ticket, 37..32 how many, or QUARRY_RING_NOTHING. */
SIMT_FN uint64_t quarry_ring_claim(const struct quarry_ring *h, uint32_t wanted, int first)
{
    struct quarry_ring_head *head = h->head;
    struct quarry_index_queue queue = quarry_ring_queue(h);
    uint64_t pages = wanted, got;
    if (!first) {
        uint64_t word = simt_load_u64(&head->spare, relaxed); /* Full heap: one word tells all */
        got = quarry_ring_spare(word);
        if (got == 0 && (word & QUARRY_RING_IN_FLIGHT) == 0)
            return QUARRY_RING_NOTHING;
        if (got == 0) {
            simt_backoff();
            return 0;
        }
        pages = got < pages ? got : pages;
    }
    got = quarry_ring_spare(simt_add_u64(&head->spare, 1u - pages * QUARRY_RING_UNIT, relaxed));
    got = got < pages ? got : pages;
    uint64_t ticket = got ? quarry_index_queue_front(&queue, (uint32_t)got) : 0;
    (void)simt_add_u64(&head->spare, (pages - got) * QUARRY_RING_UNIT - 1u, relaxed);
    return ticket | got << 32;
}

/* Progress: waits for nobody while there are unclaimed pages; before NULL, for claims in flight. */
SIMT_FN void *quarry_ring_malloc(const struct quarry_ring *h, struct quarry_context *context, uint64_t bytes)
{
    uint32_t group = quarry_group(&h->head->queue.front, QUARRY_SITE_RING_MALLOC);
    struct quarry_index_queue queue = quarry_ring_queue(h);
    uint32_t needs = group, page = QUARRY_NO_PAGE;
    uint64_t grant = 0;
    (void)bytes;
    for (int first = 1; needs && !(grant & QUARRY_RING_NOTHING); first = 0) {
        if (!first)
            simt_sync(group);
        if (simt_rank(group) == 0)
            grant = quarry_ring_claim(h, simt_popc_u32(needs), first);
        grant = simt_shuffle_u64(group, grant, simt_ctz_u32(group));
        quarry_step(context);
        if ((needs >> simt_lane() & 1u) && simt_rank(needs) < (grant >> 32 & 63u))
            page = quarry_index_queue_take(&queue, (uint32_t)grant + simt_rank(needs));
        needs = simt_ballot(group, page == QUARRY_NO_PAGE);
    }
    if (page == QUARRY_NO_PAGE)
        return SIMT_NULL;
    simt_store_u32(&h->taken[page], 1, relaxed); /* Order: written between exchange and compare-exchange */
    return quarry_page_address(&h->pages, page);
}

/* Progress: lanes of a warp that free together wait for each other, and for nobody else. */
SIMT_FN void quarry_ring_free(const struct quarry_ring *h, void *block)
{
    uint32_t group = quarry_group(&h->head->queue.back, QUARRY_SITE_RING_FREE), ticket = 0;
    struct quarry_index_queue queue = quarry_ring_queue(h);
    uint32_t page = quarry_page_index(&h->pages, block);
    int live = page != QUARRY_NO_PAGE && simt_exchange_u32(&h->taken[page], 0, relaxed) != 0;
    uint32_t frees = simt_ballot(group, live);
    QUARRY_ASSERT_LIVE(live); /* a number that comes twice finds no slot in the end */
    if (simt_rank(group) == 0)
        ticket = quarry_index_queue_back(&queue, simt_popc_u32(frees));
    ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group));
    if (live)
        quarry_index_queue_put(&queue, ticket + simt_rank(frees), page);
    simt_sync(group); /* all numbers are in slots */
    if (simt_rank(group) == 0)
        (void)simt_add_u64(&h->head->spare, simt_popc_u32(frees) * QUARRY_RING_UNIT, relaxed);
    simt_sync(group); /* and counted, before any lane asks again */
}

SIMT_FN enum quarry_place quarry_ring_find(const struct quarry_ring *h, const void *address,
                                           struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span);
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    return simt_load_u32(&h->taken[page], relaxed) ? QUARRY_PLACE_LIVE : QUARRY_PLACE_FREE;
}

SIMT_FN void quarry_ring_census(const struct quarry_ring *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint64_t live = 0, spare = 0;
    for (uint64_t i = share->thread; i <= h->mask; i += share->threads) {
        uint32_t page = simt_load_u32(&h->slot[i], relaxed);
        if (page == QUARRY_NO_PAGE)
            continue;
        spare += share->idle;
        sum->faults += page >= h->pages.count || simt_load_u32(&h->taken[page], relaxed);
    }
    for (uint64_t i = share->thread; i < h->pages.count; i += share->threads) {
        uint32_t taken = simt_load_u32(&h->taken[i], relaxed);
        live += taken != 0;
        spare += !share->idle && taken == 0; /* numbers move from slot to slot meanwhile */
        sum->faults += taken > 1;
    }
    quarry_census_pages(sum, bytes, live, spare, h->pages.page_bytes);
    uint64_t spares = simt_load_u64(&h->head->spare, relaxed);
    if (share->thread == 0)
        sum->faults += (spares & QUARRY_RING_IN_FLIGHT) != 0 || spares / QUARRY_RING_UNIT > h->pages.count;
}

#define quarry_ring_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_ring_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_ring_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_ring *h = (struct quarry_ring *)heap;
    uint64_t slots = quarry_round_up_to_power(l->pages);
    h->mask = (uint32_t)(slots - 1);
    h->head = (struct quarry_ring_head *)quarry_layout_section(l, "counters", sizeof *h->head,
                                                               QUARRY_SECTION_ALIGN);
    h->slot = (uint32_t *)quarry_layout_section(l, "slot", slots * sizeof *h->slot, QUARRY_SECTION_ALIGN);
    h->taken = (uint32_t *)quarry_layout_section(l, "taken", l->pages * sizeof *h->taken, sizeof *h->taken);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_ring_layout(struct quarry_ring *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_fit(l, quarry_ring_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
