/* SPDX-License-Identifier: Apache-2.0 */
/* corw: collaborative random walk over a bitmap.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025, section 4.1, Algorithms 3 and 4: each lane of a warp locks and reads a random word of the
 * bitmap, and the free pages that they see go to those lanes that need one, by shuffles.  A lane whose
 * word another has locked gives nothing but still receives.
 *
 * The bitmap, its locks and the order of both: core/bitmap.h.  What the printed algorithm leaves out:
 * - The word is written back, and the lock released, on every path.
 * - Line 10 marks the page that a lane offers before it is known whether anybody takes it; here a bit is
 *   marked only if its page found a taker.
 * - Lines 7, 8 and 16 compare with 32 ones; here masks are as wide as the word.
 * - No lane returns before the pages that it received are marked: it might free one at once, and the mark
 *   that came after would lose the page for ever.
 *
 * With `probe_lanes` below 32 only so many lanes of the group lock and read in the first round, twice as many
 * in each that follows; the others receive.  One lock costs one returned atomic, and on a heap with free
 * space two words have a page for each lane of a warp.  32 is the paper's; the default is what was fastest:
 * docs/alloc/corw.md. */
#ifndef QUARRY_ALLOC_CORW_H
#define QUARRY_ALLOC_CORW_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/bitmap.h"

#define QUARRY_CORW_PROBE_LANES 16u
#define QUARRY_CORW_PROBES 1024u /* words that a group reads in vain; at 0.5 % free 1 in 7 has a page */

struct quarry_corw {
    struct quarry_bitmap map;
    uint32_t probe_lanes; /* 1 .. 32, in the first round */
};

SIMT_FN void quarry_corw_init(const struct quarry_corw *h, uint64_t thread, uint64_t threads)
{
    quarry_bitmap_init(&h->map, thread, threads);
}

/* Progress: the walk waits for nobody: a locked word is passed over.  On a heap that seems full, as
 * quarry_sweep_search; its third pass waits for holders of locks, who wait for nobody. */
SIMT_FN void *quarry_corw_malloc(const struct quarry_corw *h, struct quarry_context *context, uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t group = quarry_group(h->map.sweep, QUARRY_SITE_CORW_MALLOC);
    uint32_t needs = group;
    uint32_t page = QUARRY_NO_PAGE;
    uint32_t probing = simt_popc_u32(group);
    probing = probing < h->probe_lanes ? probing : h->probe_lanes;
    int first = 1;
    (void)bytes;
    for (uint32_t vain = 0; needs && vain < h->map.probes; first = 0) {
        uint32_t before = needs;
        uint32_t word = quarry_random_below(&r, h->map.word_count);
        int mine = simt_rank(group) < probing;
        int full = mine && !quarry_bitmap_is_worth(&h->map, word, first);
        int held = mine && !full && quarry_bitmap_lock(&h->map, word);
        quarry_step(context);
        needs = quarry_bitmap_deal(&h->map, group, needs, held, word, &page);
        if (needs != before)
            vain = 0;
        else
            vain += h->map.chunks ? probing : quarry_bitmap_count_read(group, held || full);
        probing = 2 * probing < simt_popc_u32(group) ? 2 * probing : simt_popc_u32(group);
    }
    simt_sync(group); /* marks before what receivers do; acquires for them */
    if (needs)
        page = quarry_bitmap_search(&h->map, &r, group, page);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->map.pages, page);
}

SIMT_FN void quarry_corw_free(const struct quarry_corw *h, void *block)
{
    quarry_bitmap_free(&h->map, block);
}

SIMT_FN enum quarry_place quarry_corw_find(const struct quarry_corw *h, const void *address,
                                           struct quarry_span *span)
{
    return quarry_bitmap_find(&h->map, address, span);
}

SIMT_FN void quarry_corw_census(const struct quarry_corw *h, uint64_t bytes, const struct quarry_walk *walk,
                                struct quarry_census *sum)
{
    quarry_bitmap_census(&h->map, bytes, walk, sum);
}

#if SIMT_HAS_HOST
SIMT_HOST_FN enum quarry_layout_result quarry_corw_layout(struct quarry_corw *h, struct quarry_layout *l)
{
    if (!l->probe_lanes)
        l->probe_lanes = QUARRY_CORW_PROBE_LANES;
    h->probe_lanes = l->probe_lanes;
    return quarry_bitmap_layout(&h->map, l, QUARRY_CORW_PROBES, quarry_bitmap_bytes);
}
#endif

#endif

#ifdef QUARRY_ALLOCATOR_ENTRY
QUARRY_ALLOCATOR_ENTRY(corw, "corw", "collaborative random walk over a bitmap (Pham et al., Algorithm 3)")
#endif
