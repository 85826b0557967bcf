/* SPDX-License-Identifier: Apache-2.0 */
/* walk: random walks over a bitmap of pages.  Three allocators, one for each way to walk.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025.  Each locks and reads random words of the bitmap until one has a free page:
 *
 *   rw-bm  ALONE      section 3.3, Algorithm 2: each lane walks for itself.  A locked word is passed over.
 *   crw    CLUSTERED  section 4.2, Algorithm 5: a thread remembers the last page that it got.  It first looks
 *                     in the word of the page after that one, and only then walks as rw-bm does.  So pages in
 *                     use cluster, and so do free ones.
 *   corw   TOGETHER   section 4.1, Algorithms 3 and 4: each lane of a warp locks and reads a random word, and
 *                     the free pages that they see go to the lanes that need one, by shuffles.  A lane whose
 *                     word another has locked gives nothing but still receives.
 *
 *     pool   | sweep | bitmap | lockmap | CLUSTERED: last[0] ... last[entries - 1] | page 0 | page 1 | ...
 *     last   32 bits: the page that a thread with this number, modulo entries, got last; at first
 *            QUARRY_NO_PAGE
 *
 * The bitmap, its locks and the order of both: alloc/walk/bitmap.h.  What the printed algorithms leave out:
 * - The lock is released, and the word written back, on every path.
 * - Algorithms 2 and 5 look for the first set bit of the word; the free page is the first set bit of its
 *   complement.
 * - They compare with 32 ones and divide by 32; here masks and words have 32 or 64 bits.
 * - CLUSTERED: a thread that has no last page, or the heap's very last, walks at once.
 * - TOGETHER: line 10 marks the page that a lane offers before it is known whether anybody takes it; here a
 *   bit is marked only if its page found a taker.  And no lane returns before the pages that it received are
 *   marked: it might free one at once, and the mark that came after would lose the page for ever.
 *
 * CLUSTERED.  What a thread remembers is in the context that it keeps in its registers (quarry_malloc_with),
 * as in the paper.  For plain quarry_malloc it is in the table, where threads of other blocks and of later
 * kernels go on with it.  An entry is a hint, read and written relaxed: any page number in it is right, if
 * not always good.
 *
 * TOGETHER.  With `probe_lanes` below 32 only so many lanes of the group lock and read in the first round,
 * twice as many in each that follows; the others receive.  One lock costs one returned atomic, and on a heap
 * with free space two words have a page for each lane of a warp.  32 is the paper's; the default is what was
 * fastest: docs/reference/alloc/walk.md. */
#ifndef QUARRY_ALLOC_WALK_H
#define QUARRY_ALLOC_WALK_H

#include "quarry/alloc/alloc.h"
#include "quarry/alloc/walk/bitmap.h"

enum quarry_walk_variant { QUARRY_WALK_ALONE, QUARRY_WALK_CLUSTERED, QUARRY_WALK_TOGETHER };

#define QUARRY_WALK_MIN_ENTRIES 32u
#define QUARRY_WALK_MAX_ENTRIES (1u << 18) /* about the threads that a large GPU runs at once */
#define QUARRY_WALK_PROBE_LANES 16u
#define QUARRY_WALK_PROBES 256u        /* words that a lane reads alone; at 0.5 % free 1 in 7 has a page */
#define QUARRY_WALK_GROUP_PROBES 1024u /* TOGETHER: words that a group reads in vain */

#define QUARRY_WALK_CAN                                                                                      \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_INFER_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_WHOLE_PAGES |       \
     QUARRY_HAS_PAGES)
/* Of all; and of TOGETHER. */
#define QUARRY_WALK_OPTIONS(ROW)                                                                             \
    ROW(walk, probes, 0, 1, QUARRY_MAX_PROBES,                                                               \
        "random words that a lane (corw: a warp) reads in vain before a sweep; 0: 256 (corw: 1024), fewer "  \
        "if the heap is small")                                                                              \
    ROW(walk, word_bits, 0, 32, 64, "bits of a word of the bitmap: 32 or 64; 0: the faster")
#define QUARRY_WALK_TOGETHER_OPTIONS(ROW)                                                                    \
    QUARRY_WALK_OPTIONS(ROW)                                                                                 \
    ROW(walk, probe_lanes, QUARRY_WALK_PROBE_LANES, 1, 32, "lanes of a warp that probe in the first round")
enum quarry_walk_option { QUARRY_WALK_TOGETHER_OPTIONS(QUARRY_OPTION_INDEX) };

struct quarry_walk {
    struct quarry_bitmap map;
    uint32_t *last;       /* CLUSTERED */
    uint32_t entries;     /* of it, a power of two; else 0 */
    uint32_t probe_lanes; /* TOGETHER: 1 .. 32, in the first round */
};

SIMT_FN void quarry_walk_init(enum quarry_walk_variant variant, const struct quarry_walk *h, uint64_t thread,
                              uint64_t threads)
{
    quarry_bitmap_init(&h->map, thread, threads);
    for (uint64_t i = thread; variant == QUARRY_WALK_CLUSTERED && i < h->entries; i += threads)
        h->last[i] = QUARRY_NO_PAGE;
}

/* ---- ALONE ---- */

/* The lane's walk and, if that is in vain, the sweep.
 *   first   is the walk's first probe that of the malloc? */
SIMT_FN uint32_t quarry_walk_alone(const struct quarry_walk *h, struct quarry_context *context, int first)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = quarry_bitmap_walk(&h->map, &r, context, first);
    if (page == QUARRY_NO_PAGE)
        page = quarry_bitmap_search(&h->map, &r, quarry_group(h->map.sweep, QUARRY_SITE_WALK_SEARCH), page);
    return page;
}

/* ---- CLUSTERED ---- */

SIMT_STATIC_ASSERT((uint32_t)QUARRY_CONTEXT_START == QUARRY_NO_PAGE, "a new context has no last page");

SIMT_FN uint32_t quarry_walk_last(const struct quarry_context *context)
{
    return (uint32_t)context->own;
}

SIMT_FN void quarry_walk_remember(struct quarry_context *context, uint32_t page)
{
    context->own = page;
}

/* Takes a page from the word of the page after `last`.  Returns QUARRY_NO_PAGE if there is none. */
SIMT_FN uint32_t quarry_walk_near(const struct quarry_walk *h, uint32_t last, struct quarry_context *context)
{
    uint32_t word = (last + 1) >> h->map.word_shift;
    int locked;
    if (last == QUARRY_NO_PAGE || word >= h->map.word_count)
        return QUARRY_NO_PAGE;
    quarry_step(context);
    return quarry_bitmap_take(&h->map, word, 1, &locked);
}

SIMT_FN uint32_t quarry_walk_clustered(const struct quarry_walk *h, struct quarry_context *context)
{
    uint32_t *shared = &h->last[simt_thread() & (h->entries - 1)];
    uint32_t last = context->kept ? quarry_walk_last(context) : simt_load_u32(shared, relaxed);
    uint32_t page = quarry_walk_near(h, last, context);
    if (page == QUARRY_NO_PAGE)
        page = quarry_walk_alone(h, context, last == QUARRY_NO_PAGE);
    if (page == QUARRY_NO_PAGE)
        return page;
    if (context->kept)
        quarry_walk_remember(context, page);
    else
        simt_store_u32(shared, page, relaxed);
    return page;
}

/* ---- TOGETHER ---- */

SIMT_FN uint32_t quarry_walk_together(const struct quarry_walk *h, struct quarry_context *context)
{
    struct quarry_random r = quarry_random_start();
    uint32_t group = quarry_group(h->map.sweep, QUARRY_SITE_WALK_TOGETHER);
    uint32_t needs = group;
    uint32_t page = QUARRY_NO_PAGE;
    uint32_t probing = simt_popc_u32(group);
    probing = probing < h->probe_lanes ? probing : h->probe_lanes;
    int first = 1;
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
            vain += h->map.parts ? probing : quarry_bitmap_count_read(group, held || full);
        probing = 2 * probing < simt_popc_u32(group) ? 2 * probing : simt_popc_u32(group);
    }
    simt_sync(group); /* marks before what receivers do; acquires for them */
    if (needs)
        page = quarry_bitmap_search(&h->map, &r, group, page);
    return page;
}

/* ---- the contract ---- */

/* Progress: the walk waits for nobody: a locked word is passed over.  On a heap that seems full, as
 * quarry_sweep_search; its third pass waits for holders of locks, who wait for nobody. */
SIMT_FN void *quarry_walk_malloc(enum quarry_walk_variant variant, const struct quarry_walk *h,
                                 struct quarry_context *context, uint64_t bytes)
{
    uint32_t page;
    (void)bytes;
    if (variant == QUARRY_WALK_ALONE)
        page = quarry_walk_alone(h, context, 1);
    else if (variant == QUARRY_WALK_CLUSTERED)
        page = quarry_walk_clustered(h, context);
    else
        page = quarry_walk_together(h, context);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->map.pages, page);
}

SIMT_FN void quarry_walk_free(enum quarry_walk_variant variant, const struct quarry_walk *h, void *block)
{
    (void)variant;
    quarry_bitmap_free(&h->map, block);
}

SIMT_FN enum quarry_place quarry_walk_find(enum quarry_walk_variant variant, const struct quarry_walk *h,
                                           const void *address, struct quarry_span *span)
{
    (void)variant;
    return quarry_bitmap_find(&h->map, address, span);
}

SIMT_FN void quarry_walk_census(enum quarry_walk_variant variant, const struct quarry_walk *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    quarry_bitmap_census(&h->map, bytes, share, sum);
    for (uint64_t i = share->thread; variant == QUARRY_WALK_CLUSTERED && i < h->entries; i += share->threads)
        sum->faults += share->idle && h->last[i] >= h->map.pages.count && h->last[i] != QUARRY_NO_PAGE;
}

#define quarry_walk_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_walk_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
/* One entry for 32 pages, rounded down to a power of two. */
SIMT_HOST_FN uint32_t quarry_walk_entries(uint64_t pages)
{
    uint32_t entries = QUARRY_WALK_MIN_ENTRIES;
    while (entries < QUARRY_WALK_MAX_ENTRIES && (uint64_t)entries * 2 * 32 <= pages)
        entries *= 2;
    return entries;
}

/* CLUSTERED has h->entries other than 0 before. */
SIMT_HOST_FN void quarry_walk_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_walk *h = (struct quarry_walk *)heap;
    quarry_bitmap_sections(&h->map, l);
    if (h->entries) {
        h->entries = quarry_walk_entries(l->pages);
        h->last =
            (uint32_t *)quarry_layout_section(l, "last", h->entries * sizeof *h->last, QUARRY_SECTION_ALIGN);
    }
    h->map.pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_walk_layout(enum quarry_walk_variant variant,
                                                          struct quarry_walk *h, struct quarry_layout *l)
{
    uint64_t *probes = &l->option[QUARRY_OPTION_walk_probes];
    uint64_t *bits = &l->option[QUARRY_OPTION_walk_word_bits];
    if (*bits != 0 && *bits != 32 && *bits != 64)
        return quarry_layout_refuse(l, bits, "it must be 32 or 64, or 0 for the faster");
    h->entries = variant == QUARRY_WALK_CLUSTERED ? QUARRY_WALK_MIN_ENTRIES : 0;
    enum quarry_layout_result result = quarry_layout_fit(l, quarry_walk_sections, h);
    if (result == QUARRY_LAYOUT_OK)
        result = quarry_bitmap_layout(&h->map, l, bits, probes,
                                      variant == QUARRY_WALK_TOGETHER ? QUARRY_WALK_GROUP_PROBES
                                                                      : QUARRY_WALK_PROBES);
    if (variant == QUARRY_WALK_TOGETHER)
        h->probe_lanes = (uint32_t)l->option[QUARRY_OPTION_walk_probe_lanes];
    return result;
}
#endif

#endif
