/* SPDX-License-Identifier: Apache-2.0 */
/* tbuddy: blocks of 1, 2, 4, ... pages.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.1.  The
 * algorithm, its order and why NULL is exact: core/buddy.h.
 *
 *     pool    | units[0] ... units[top] | tree[0] ... tree[words - 1] | page 0 | page 1 | ...
 *     units   a bulk semaphore for each order
 *     tree    64 bits for each inner node of every fourth height: the states of the four heights below it, and a lock
 *
 * A request is rounded up to a power of two pages.  A block of order n begins at a multiple of its size behind the
 * first page. */
#ifndef QUARRY_ALLOC_TBUDDY_H
#define QUARRY_ALLOC_TBUDDY_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/buddy.h"
#include "quarry/core/pages.h"

#define QUARRY_TBUDDY_CAN                                                                                    \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES | QUARRY_HAS_DOUBLING_SIZES)
#define QUARRY_TBUDDY_PAGE_BYTES 4096u /* by default; the paper's */
#define QUARRY_TBUDDY_MAX_PAGES (1u << 31)

struct quarry_tbuddy {
    struct quarry_buddy buddy;
    struct quarry_pages pages;
};

SIMT_FN void quarry_tbuddy_init(const struct quarry_tbuddy *h, uint64_t thread, uint64_t threads)
{
    quarry_buddy_init(&h->buddy, thread, threads);
}

/* Progress: as quarry_buddy_take. */
SIMT_FN void *quarry_tbuddy_malloc(const struct quarry_tbuddy *h, struct quarry_context *context,
                                   uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t order = quarry_page_order(&h->pages, bytes);
    uint32_t group = quarry_group(&h->buddy.units[order], QUARRY_SITE_TBUDDY_MALLOC);
    uint32_t page = quarry_buddy_take(&h->buddy, &r, group, order);
    quarry_step(context);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->pages, page);
}

/* Progress: as quarry_buddy_give_together. */
SIMT_FN void quarry_tbuddy_free(const struct quarry_tbuddy *h, void *block)
{
    uint32_t group = quarry_group(h->buddy.word, QUARRY_SITE_TBUDDY_FREE);
    int live = quarry_buddy_give_together(&h->buddy, group, quarry_page_index(&h->pages, block));
    QUARRY_ASSERT_LIVE(live);
    (void)live;
}

/* Progress: as quarry_buddy_keep. */
SIMT_FN void quarry_tbuddy_trim(const struct quarry_tbuddy *h, void *block, void *user, uint64_t bytes)
{
    (void)block;
    quarry_buddy_keep(&h->buddy, quarry_page_index(&h->pages, user),
                      quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1u));
}

SIMT_FN enum quarry_place quarry_tbuddy_find(const struct quarry_tbuddy *h, const void *address,
                                             struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span), order;
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (quarry_buddy_find(&h->buddy, page, &order) != QUARRY_BUDDY_TAKEN)
        return QUARRY_PLACE_FREE;
    span->begin = (unsigned char *)quarry_page_address(&h->pages, page >> order << order);
    span->bytes = h->pages.page_bytes << order;
    return QUARRY_PLACE_LIVE;
}

/* Counts what a node of that height is. */
SIMT_FN void quarry_tbuddy_count(const struct quarry_tbuddy *h, uint32_t state, uint32_t height,
                                 uint64_t bytes, struct quarry_census *sum)
{
    uint64_t size = h->pages.page_bytes << height;
    if (state == QUARRY_BUDDY_TAKEN) {
        sum->live_blocks++;
        sum->live_bytes += size;
    }
    if (state != QUARRY_BUDDY_AVAILABLE)
        return;
    sum->free_bytes += size;
    sum->largest_free = size > sum->largest_free ? size : sum->largest_free;
    sum->odds += quarry_census_key(height);
    if (bytes <= size)
        sum->slots += (uint64_t)1 << (height - quarry_page_order(&h->pages, bytes));
}

SIMT_FN void quarry_tbuddy_census(const struct quarry_tbuddy *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    const struct quarry_buddy *b = &h->buddy;
    if (!share->idle) {
        sum->slots += quarry_buddy_slots(b, quarry_page_order(&h->pages, bytes), share->group);
        return;
    }
    for (uint64_t i = share->thread; i < b->words; i += share->threads) {
        uint32_t w = (uint32_t)i, group = quarry_buddy_group(b, w);
        uint64_t word = simt_load_u64(&b->word[w], relaxed);
        for (uint32_t node = 2; node < 2 * QUARRY_BUDDY_WAYS; node++)
            quarry_tbuddy_count(h, quarry_buddy_state(word, node), quarry_buddy_height(group, node), bytes,
                                sum);
        sum->faults += quarry_buddy_is_wrong(b, w, word) != 0;
    }
    for (uint64_t k = share->thread; k <= b->top; k += share->threads) {
        sum->odds -= (uint64_t)quarry_semaphore_there(simt_load_u64(&b->units[k].units, relaxed)) *
                     quarry_census_key((uint32_t)k);
        sum->faults += !quarry_semaphore_is_idle(&b->units[k]);
    }
}

#define quarry_tbuddy_settle QUARRY_NOTHING_TO_SETTLE

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_tbuddy_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_tbuddy *h = (struct quarry_tbuddy *)heap;
    struct quarry_buddy *b = &h->buddy;
    quarry_buddy_size(b, (uint32_t)l->pages);
    b->units = (struct quarry_semaphore *)quarry_layout_section(l, "units", (b->top + 1u) * sizeof *b->units,
                                                                QUARRY_SECTION_ALIGN);
    b->word = (uint64_t *)quarry_layout_section(l, "tree", sizeof *b->word * b->words, QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_tbuddy_layout(struct quarry_tbuddy *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_TBUDDY_PAGE_BYTES);
    if (result == QUARRY_LAYOUT_OK)
        result = quarry_layout_fit_most(l, quarry_tbuddy_sections, h, QUARRY_TBUDDY_MAX_PAGES);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->max_block = l->page_bytes << h->buddy.top;
    l->free_reach = l->max_block; /* a free walks up from any page of its block */
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
