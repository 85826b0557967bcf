/* SPDX-License-Identifier: Apache-2.0 */
/* crw: clustered random walk over a bitmap.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025, section 4.2, Algorithm 5: a thread remembers the last page that it got and first looks in
 * the word of the page after that one; only if nothing is free there does it walk at random, as rw-bm does.
 * So pages in use cluster, and so do free ones.
 *
 *     pool   | sweep | bitmap | lockmap | last[0] last[1] ... last[entries - 1] | page 0 | page 1 | ...
 *     last   32 bits: page that a thread with this number, modulo entries, got last; at first QUARRY_NO_PAGE
 *
 * What a thread remembers is in the context that it keeps in its registers (quarry_malloc_with), as in the
 * paper; for plain quarry_malloc it is in the table, where threads of other blocks and of later kernels go on
 * with it.  An entry is a hint, read and written relaxed: any page number in it is right, if not always good.
 *
 * The bitmap, its locks and the order of both: core/bitmap.h.  What the printed algorithm leaves out:
 * - The lock is released, on every path; the free page is the first set bit of the word's complement.
 * - Line 2 divides by 32; here by the width of the word, with masks as wide.
 * - A thread that has no last page, or the heap's very last, walks at once. */
#ifndef QUARRY_ALLOC_CRW_H
#define QUARRY_ALLOC_CRW_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/bitmap.h"

#define QUARRY_CRW_MIN_ENTRIES 32u
#define QUARRY_CRW_MAX_ENTRIES (1u << 18) /* about the threads that a large GPU runs at once */

struct quarry_crw {
    struct quarry_bitmap map;
    uint32_t *last;
    uint32_t entries; /* a power of two */
};

SIMT_FN void quarry_crw_init(const struct quarry_crw *h, uint64_t thread, uint64_t threads)
{
    quarry_bitmap_init(&h->map, thread, threads);
    for (uint64_t i = thread; i < h->entries; i += threads)
        h->last[i] = QUARRY_NO_PAGE;
}

/* Takes a page from the word of the page after `last`.  Returns QUARRY_NO_PAGE if there is none. */
SIMT_FN uint32_t quarry_crw_near(const struct quarry_crw *h, uint32_t last, struct quarry_context *context)
{
    uint32_t word = (last + 1) >> h->map.word_shift;
    int locked;
    if (last == QUARRY_NO_PAGE || word >= h->map.word_count)
        return QUARRY_NO_PAGE;
    quarry_step(context);
    return quarry_bitmap_take(&h->map, word, 1, &locked);
}

/* Progress: as rw-bm. */
SIMT_FN void *quarry_crw_malloc(const struct quarry_crw *h, struct quarry_context *context, uint64_t bytes)
{
    uint32_t *shared = &h->last[simt_thread() & (h->entries - 1)];
    uint32_t last = context->kept ? context->last_page : simt_load_u32(shared, relaxed);
    uint32_t page = quarry_crw_near(h, last, context);
    (void)bytes;
    if (page == QUARRY_NO_PAGE) {
        struct quarry_random r = quarry_random_start();
        page = quarry_bitmap_walk(&h->map, &r, context, last == QUARRY_NO_PAGE);
        if (page == QUARRY_NO_PAGE)
            page =
                quarry_bitmap_search(&h->map, &r, quarry_group(h->map.sweep, QUARRY_SITE_CRW_MALLOC), page);
        if (page == QUARRY_NO_PAGE)
            return SIMT_NULL;
    }
    if (context->kept)
        context->last_page = page;
    else
        simt_store_u32(shared, page, relaxed);
    return quarry_page_address(&h->map.pages, page);
}

SIMT_FN void quarry_crw_free(const struct quarry_crw *h, void *block)
{
    quarry_bitmap_free(&h->map, block);
}

SIMT_FN enum quarry_place quarry_crw_find(const struct quarry_crw *h, const void *address,
                                          struct quarry_span *span)
{
    return quarry_bitmap_find(&h->map, address, span);
}

SIMT_FN void quarry_crw_census(const struct quarry_crw *h, uint64_t bytes, const struct quarry_walk *walk,
                               struct quarry_census *sum)
{
    quarry_bitmap_census(&h->map, bytes, walk, sum);
    for (uint64_t i = walk->thread; i < h->entries; i += walk->threads)
        sum->faults += walk->idle && h->last[i] >= h->map.pages.count && h->last[i] != QUARRY_NO_PAGE;
}

#if SIMT_HAS_HOST
/* One entry for 32 pages, rounded down to a power of two. */
SIMT_HOST_FN uint32_t quarry_crw_entries(uint64_t pages)
{
    uint32_t entries = QUARRY_CRW_MIN_ENTRIES;
    while (entries < QUARRY_CRW_MAX_ENTRIES && (uint64_t)entries * 2 * 32 <= pages)
        entries *= 2;
    return entries;
}

SIMT_HOST_FN uint64_t quarry_crw_map_bytes(uint64_t pages)
{
    return quarry_round_up(quarry_bitmap_bytes(pages), QUARRY_SECTION_ALIGN) +
           quarry_crw_entries(pages) * sizeof(uint32_t);
}

SIMT_HOST_FN enum quarry_layout_result quarry_crw_layout(struct quarry_crw *h, struct quarry_layout *l)
{
    l->probe_lanes = 0;
    enum quarry_layout_result result =
        quarry_bitmap_layout(&h->map, l, QUARRY_BITMAP_PROBES, quarry_crw_map_bytes);
    if (result == QUARRY_LAYOUT_OK) {
        h->last = (uint32_t *)(void *)quarry_bitmap_own(l);
        h->entries = quarry_crw_entries(l->pages);
    }
    return result;
}
#endif

#endif

#ifdef QUARRY_ALLOCATOR_ENTRY
QUARRY_ALLOCATOR_ENTRY(crw, "crw", "clustered random walk over a bitmap (Pham et al., Algorithm 5)")
#endif
