/* SPDX-License-Identifier: Apache-2.0 */
/* rw-bm: random walk over a bitmap.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025, section 3.3, Algorithm 2: each lane for itself locks and reads random words of the bitmap
 * until one has a free page.  A locked word is passed over.
 *
 * The bitmap, its locks and the order of both: core/bitmap.h.  What the printed algorithm leaves out:
 * - The lock is released, on every path (there it is never).
 * - Line 5 looks for the first set bit of the word; the free page is the first set bit of its complement.
 * - Line 4 compares with 32 ones; here masks are as wide as the word. */
#ifndef QUARRY_ALLOC_RW_BM_H
#define QUARRY_ALLOC_RW_BM_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/bitmap.h"

struct quarry_rw_bm {
    struct quarry_bitmap map;
};

SIMT_FN void quarry_rw_bm_init(const struct quarry_rw_bm *h, uint64_t thread, uint64_t threads)
{
    quarry_bitmap_init(&h->map, thread, threads);
}

/* Progress: the walk waits for nobody.  On a heap that seems full, as quarry_sweep_search; its third pass
 * waits for holders of locks, who wait for nobody. */
SIMT_FN void *quarry_rw_bm_malloc(const struct quarry_rw_bm *h, struct quarry_context *context,
                                  uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = quarry_bitmap_walk(&h->map, &r, context, 1);
    (void)bytes;
    if (page == QUARRY_NO_PAGE)
        page = quarry_bitmap_search(&h->map, &r, quarry_group(h->map.sweep, QUARRY_SITE_RW_BM_MALLOC), page);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->map.pages, page);
}

SIMT_FN void quarry_rw_bm_free(const struct quarry_rw_bm *h, void *block)
{
    quarry_bitmap_free(&h->map, block);
}

SIMT_FN enum quarry_place quarry_rw_bm_find(const struct quarry_rw_bm *h, const void *address,
                                            struct quarry_span *span)
{
    return quarry_bitmap_find(&h->map, address, span);
}

SIMT_FN void quarry_rw_bm_census(const struct quarry_rw_bm *h, uint64_t bytes, const struct quarry_walk *walk,
                                 struct quarry_census *sum)
{
    quarry_bitmap_census(&h->map, bytes, walk, sum);
}

#if SIMT_HAS_HOST
SIMT_HOST_FN enum quarry_layout_result quarry_rw_bm_layout(struct quarry_rw_bm *h, struct quarry_layout *l)
{
    l->probe_lanes = 0;
    return quarry_bitmap_layout(&h->map, l, QUARRY_BITMAP_PROBES, quarry_bitmap_bytes);
}
#endif

#endif

#ifdef QUARRY_ALLOCATOR_ENTRY
QUARRY_ALLOCATOR_ENTRY(rw_bm, "rw-bm", "random walk over a bitmap (Pham et al., Algorithm 2)")
#endif
