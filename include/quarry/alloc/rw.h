/* SPDX-License-Identifier: Apache-2.0 */
/* rw: random walk over one flag per page.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025, section 3.1, Algorithm 1: a thread draws random page numbers until it finds one whose
 * flag says free and wins the atomic that takes it; a free is one store.
 *
 *     pool   | sweep | used[0] used[1] ... used[n-1] | page 0 | page 1 | ... | page n-1 |
 *     used   32 bits: 0 free; else taken, by the malloc that drew this tag (odd, random)
 *
 * Order.  free: used[p] = 0 with release; malloc: compare-exchange 0 -> tag with acquire.  A malloc's 0
 * can only be the last free's (or init's), so it synchronises with it: what the last owner did
 * happens-before what the next one does.  Two mallocs never both change the same 0.
 *
 * Full heap.  After `probes` draws of a taken page the lanes of the warp that got here together sweep the
 * flags, with everybody else who does (core/sweep.h).  A turn reads all flags twice, one pass after the
 * other.  "Full" means that no pass saw a 0 and both saw the same tags.  Then at the instant between them
 * every page was taken: a page free at that instant would have been freed after the first pass read it and
 * taken again, with a new tag, before the second did.  The passes compare a sum of mixed tags: a page freed
 * and taken again right inside the proof goes unnoticed if it draws the same of 2^31 tags, several if their
 * 32-bit mixes happen to cancel.  The price would be a NULL, never a shared page.  The flag has room for a
 * tag since the paper's is 32 bits wide for one bit of use.
 *
 * In the model's terms: the tags are read relaxed, and all reads of the first pass happen-before all of the
 * second.  If the second reads the tag that the first read, then no free of that page happens-before the
 * second pass: a free that both missed is one that nothing has told them of.  One case is left open.  A
 * thread frees page q and then takes page p; both passes see p taken, and q not yet free, since nothing
 * orders the two for others.  Then there was no instant at which both were taken, and NULL comes all the
 * same.  To forbid that, a take would have to release and a pass to acquire: a fence in each malloc, for a
 * free that is under way for less long than a sweep takes.  Mode weak shows it (test_exact); no GPU has. */
#ifndef QUARRY_ALLOC_RW_H
#define QUARRY_ALLOC_RW_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"
#include "quarry/core/sweep.h"

#define QUARRY_RW_PROBES 1024u /* at 0.5 % free, 99.4 % of the walks end before (1 - L)^S = e^-5.1 */
#define QUARRY_RW_PART 64u     /* flags of a sweep's part for each probe, up to QUARRY_RW_MAX_PART */
#define QUARRY_RW_MAX_PART 16384u
#define QUARRY_RW_BATCH 8u /* flags that a lane has in flight */

#define QUARRY_RW_CAN                                                                                        \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_INFER_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_WHOLE_PAGES |       \
     QUARRY_HAS_PAGES)
#define QUARRY_RW_OPTIONS(ROW)                                                                               \
    ROW(rw, probes, 0, 1, QUARRY_MAX_PROBES,                                                                 \
        "random pages that a malloc looks at in vain before a sweep; 0: 1024, fewer if the heap is small")
enum quarry_rw_option { QUARRY_RW_OPTIONS(QUARRY_OPTION_INDEX) };

struct quarry_rw {
    struct quarry_sweep *sweep;
    uint32_t *used;
    struct quarry_pages pages;
    uint32_t probes;
    uint32_t parts; /* of a sweep; 0: none, give up */
};

SIMT_FN void quarry_rw_init(const struct quarry_rw *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        quarry_sweep_init(h->sweep);
    for (uint64_t p = thread; p < h->pages.count; p += threads)
        h->used[p] = 0;
}

SIMT_FN uint32_t quarry_rw_tag(struct quarry_random *r)
{
    return quarry_random_next(r) | 1u;
}

/* Takes page p if it is free. */
SIMT_FN int quarry_rw_take(const struct quarry_rw *h, struct quarry_random *r, uint32_t p)
{
    return simt_cas_u32(&h->used[p], 0, quarry_rw_tag(r), acquire) == 0; /* pairs with the free's release */
}

/* The walk: a page, or QUARRY_NO_PAGE after h->probes draws. */
SIMT_FN uint32_t quarry_rw_walk(const struct quarry_rw *h, struct quarry_random *r,
                                struct quarry_context *context)
{
    for (uint32_t vain = 0; vain < h->probes;) {
        uint32_t p = quarry_random_below(r, h->pages.count);
        quarry_step(context);
        if (simt_load_u32(&h->used[p], relaxed) != 0)
            vain++;
        else if (quarry_rw_take(h, r, p)) /* else another malloc was faster: that one made progress */
            return p;
    }
    return QUARRY_NO_PAGE;
}

/* A sweep's part; both kinds of pass are alike.  Its number: a sum of mixed tags. */
SIMT_FN uint64_t quarry_rw_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                      uint32_t kind, uint32_t part, uint32_t size, uint32_t *page, int *dirty)
{
    const struct quarry_rw *h = (const struct quarry_rw *)heap;
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t needs = simt_ballot(group, *page == QUARRY_NO_PAGE);
    struct quarry_sweep_items of = quarry_sweep_cut(h->pages.count, part, h->parts);
    uint32_t first = of.first, count = of.end - first;
    uint64_t sum = 0;
    (void)kind;
    (void)size;
    for (uint32_t from = 0; from < count && needs; from += width * QUARRY_RW_BATCH) {
        uint32_t tag[QUARRY_RW_BATCH];
        uint32_t seen = 0; /* batch entries that were 0 */
        for (uint32_t i = 0; i < QUARRY_RW_BATCH; i++) {
            uint32_t at = from + i * width + rank;
            /* Full heap: tags are read relaxed; the passes are ordered by core/sweep.h. */
            tag[i] = at < count ? simt_load_u32(&h->used[first + at], relaxed) : 1u;
        }
        for (uint32_t i = 0; i < QUARRY_RW_BATCH; i++) {
            uint32_t at = from + i * width + rank;
            seen |= (tag[i] == 0 ? 1u : 0u) << i;
            sum += at < count ? quarry_mix_u32(tag[i] ^ at * 2u) : 0; /* one page, two tags: two numbers */
        }
        while (needs && simt_any(group, seen != 0)) {
            uint32_t p = first + from + (seen ? simt_ctz_u32(seen) : 0) * width + rank;
            uint32_t offers = simt_ballot(group, seen != 0);
            int got = quarry_share_gives(offers, needs) && quarry_rw_take(h, r, p);
            uint32_t has = simt_ballot(group, got);
            uint32_t gift = quarry_share_u32(group, has, needs, p);
            if (quarry_share_takes(has, needs))
                *page = gift;
            needs = simt_ballot(group, *page == QUARRY_NO_PAGE);
            seen &= seen - 1u;
            *dirty = 1;
        }
    }
    return sum;
}

/* For the lanes whose walk ended in vain. */
SIMT_FN uint32_t quarry_rw_search(const struct quarry_rw *h, struct quarry_random *r)
{
    struct quarry_sweep_plan plan;
    if (h->parts == 0)
        return QUARRY_NO_PAGE;
    plan.sweep = h->sweep;
    plan.heap = h;
    plan.sweep_part = quarry_rw_sweep_part;
    plan.parts = h->parts;
    plan.kinds = 2;
    plan.size = 1;
    plan.news = SIMT_NULL;
    plan.in_order = 0;
    return quarry_sweep_search(&plan, r, quarry_group(h->sweep, QUARRY_SITE_RW_MALLOC), QUARRY_NO_PAGE);
}

/* Progress: the walk waits for nobody.  On a heap that seems full, as quarry_sweep_search. */
SIMT_FN void *quarry_rw_malloc(const struct quarry_rw *h, struct quarry_context *context, uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = quarry_rw_walk(h, &r, context);
    (void)bytes;
    if (page == QUARRY_NO_PAGE)
        page = quarry_rw_search(h, &r);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->pages, page);
}

SIMT_FN void quarry_rw_free(const struct quarry_rw *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    QUARRY_ASSERT_LIVE(page != QUARRY_NO_PAGE && simt_load_u32(&h->used[page], relaxed) != 0);
    if (page == QUARRY_NO_PAGE)
        return;
    simt_store_u32(&h->used[page], 0, release); /* pairs with quarry_rw_take */
}

SIMT_FN enum quarry_place quarry_rw_find(const struct quarry_rw *h, const void *address,
                                         struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span);
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    return simt_load_u32(&h->used[page], relaxed) != 0 ? QUARRY_PLACE_LIVE : QUARRY_PLACE_FREE;
}

SIMT_FN void quarry_rw_census(const struct quarry_rw *h, uint64_t bytes,
                              const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint64_t live = 0, spare = 0;
    for (uint64_t p = share->thread; p < h->pages.count; p += share->threads) {
        uint32_t used = simt_load_u32(&h->used[p], relaxed);
        live += used != 0;
        spare += used == 0;
        sum->faults += used != 0 && !(used & 1u); /* no malloc draws an even tag */
    }
    quarry_census_pages(sum, bytes, live, spare, h->pages.page_bytes);
    if (share->thread == 0 && (simt_load_u64(&h->sweep->state, relaxed) & 1u))
        sum->faults++;
}

#define quarry_rw_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_rw_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_rw_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_rw *h = (struct quarry_rw *)heap;
    h->sweep =
        (struct quarry_sweep *)quarry_layout_section(l, "sweep", sizeof *h->sweep, QUARRY_SECTION_ALIGN);
    h->used = (uint32_t *)quarry_layout_section(l, "used", l->pages * sizeof *h->used, QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_rw_layout(struct quarry_rw *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_fit(l, quarry_rw_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    uint64_t *probes = &l->option[QUARRY_OPTION_rw_probes];
    result = quarry_layout_probes(l, probes, 1, QUARRY_RW_PROBES, h->pages.count);
    h->probes = (uint32_t)*probes;
    h->parts = l->low_free > 0 ? 0
                               : quarry_layout_parts(h->pages.count, (uint64_t)h->probes * QUARRY_RW_PART,
                                                     QUARRY_RW_MAX_PART);
    return result;
}
#endif

#endif
