/* SPDX-License-Identifier: Apache-2.0 */
/* tbuddy: blocks of 1, 2, 4, ... pages.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.1.  The
 * algorithm, its order and why NULL is exact: core/buddy.h.
 *
 *     pool    | units[0] ... units[top] | tree[0] ... tree[2^height - 1] | page 0 | page 1 | ...
 *     units   a bulk semaphore for each order
 *     tree    32 bits for each inner node: the states of its two children, and a lock
 *
 * A request is rounded up to a power of two pages.  A block of order n begins at a multiple of its size behind the
 * first page. */
#ifndef QUARRY_ALLOC_TBUDDY_H
#define QUARRY_ALLOC_TBUDDY_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/buddy.h"
#include "quarry/core/pages.h"

#define QUARRY_TBUDDY_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES)
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

/* The order of blocks that hold so many bytes, 1 to max_block. */
SIMT_FN uint32_t quarry_tbuddy_order(const struct quarry_tbuddy *h, uint64_t bytes)
{
    uint32_t pages = quarry_page_count(&h->pages, bytes);
    return pages == 1 ? 0 : 32u - simt_clz_u32(pages - 1u);
}

/* Progress: as quarry_buddy_take. */
SIMT_FN void *quarry_tbuddy_malloc(const struct quarry_tbuddy *h, struct quarry_context *context,
                                   uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t order = quarry_tbuddy_order(h, bytes);
    uint32_t group = quarry_group(&h->buddy.units[order], QUARRY_SITE_TBUDDY_MALLOC);
    uint32_t page = quarry_buddy_take(&h->buddy, &r, group, order);
    quarry_step(context);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->pages, page);
}

/* Progress: as quarry_buddy_give. */
SIMT_FN void quarry_tbuddy_free(const struct quarry_tbuddy *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    int live = page != QUARRY_NO_PAGE && quarry_buddy_give(&h->buddy, page);
    QUARRY_ASSERT_LIVE(live);
    (void)live;
}

SIMT_FN enum quarry_place quarry_tbuddy_find(const struct quarry_tbuddy *h, const void *address,
                                             struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span), order, state;
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    uint32_t node = quarry_buddy_find(&h->buddy, page, &order, &state);
    if (node == 0 || quarry_buddy_child(state, node) != QUARRY_BUDDY_TAKEN)
        return QUARRY_PLACE_FREE;
    span->begin =
        (unsigned char *)quarry_page_address(&h->pages, quarry_buddy_first_page(&h->buddy, node, order));
    span->bytes = h->pages.page_bytes << order;
    return QUARRY_PLACE_LIVE;
}

/* Counts what node is, at that height. */
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
    if (bytes && bytes <= size)
        sum->slots += (uint64_t)1 << (height - quarry_tbuddy_order(h, bytes));
}

SIMT_FN void quarry_tbuddy_census(const struct quarry_tbuddy *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    const struct quarry_buddy *b = &h->buddy;
    for (uint64_t i = share->thread; i < (uint64_t)1 << b->height; i += share->threads) {
        uint32_t word = simt_load_u32(&b->word[i], relaxed);
        uint32_t height = i == 0 ? b->height : b->height - 1u - (31u - simt_clz_u32((uint32_t)i));
        for (uint32_t child = i == 0; child < 2; child++)
            quarry_tbuddy_count(h, quarry_buddy_child(word, child), height, bytes, sum);
        if (share->idle)
            sum->faults += quarry_buddy_is_wrong(b, (uint32_t)i, word) != 0;
    }
    for (uint64_t i = share->thread; share->idle && i <= b->top; i += share->threads)
        sum->faults += !quarry_semaphore_is_idle(&b->units[i]);
}

#define quarry_tbuddy_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_tbuddy_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_tbuddy_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_tbuddy *h = (struct quarry_tbuddy *)heap;
    struct quarry_buddy *b = &h->buddy;
    b->pages = (uint32_t)l->pages;
    for (b->top = 0; l->pages >> (b->top + 1u); b->top++) {
    }
    b->height = (uint64_t)1 << b->top < l->pages ? b->top + 1u : b->top;
    b->units = (struct quarry_semaphore *)quarry_layout_section(l, "units", (b->top + 1u) * sizeof *b->units,
                                                                QUARRY_SECTION_ALIGN);
    b->word =
        (uint32_t *)quarry_layout_section(l, "tree", sizeof *b->word << b->height, QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_tbuddy_layout(struct quarry_tbuddy *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_TBUDDY_PAGE_BYTES);
    if (l->pages > QUARRY_TBUDDY_MAX_PAGES)
        return QUARRY_LAYOUT_PAGES;
    int given = l->pages != 0;
    if (result == QUARRY_LAYOUT_OK)
        result = quarry_layout_fit(l, quarry_tbuddy_sections, h);
    if (result == QUARRY_LAYOUT_OK && !given && l->pages > QUARRY_TBUDDY_MAX_PAGES) {
        l->pages = QUARRY_TBUDDY_MAX_PAGES;
        result = quarry_layout_fit(l, quarry_tbuddy_sections, h);
    }
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->max_block = l->page_bytes << h->buddy.top;
    l->free_reach = l->max_block; /* a free walks up from any page of its block */
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
