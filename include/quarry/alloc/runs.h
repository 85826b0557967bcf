/* SPDX-License-Identifier: Apache-2.0 */
/* runs: blocks of any size as runs of pages in a bitmap.  One allocator, rw-malloc.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025, section 4.3, Algorithm 6: the lanes of a warp read consecutive words of the bitmap, from a
 * random one on, as one region, and take runs of free pages for all of them.
 *
 * The bitmap, how it says where blocks end, and the order of all: alloc/runs/runs_map.h.  What is different
 * here:
 *
 * Algorithm 6 visits word by word, run by run, and in each round one lane takes one run.  Here the lanes
 * number the places for blocks in all runs of the region, and the k-th lane that asks gets the k-th, at once.
 * If they ask for different sizes, as many as fit are packed into the longest run.
 *
 * A request that is smaller than a page has a page; pages may be as small as 16 bytes.  Then the requests
 * of a warp lie side by side, in few words that are changed once each: that is the paper's aggregation of
 * small requests, and each block can be freed alone nevertheless.
 *
 * Runs join across words within the region (the paper's data structure K is a few shuffles here), and after
 * a success the walk goes on with the next region: what is left of the warp lies beside it.
 *
 * First come short looks: at a word of the warp's own share of the bitmap, then at others.  They take a row
 * of empty words, or, if every lane needs one page, any free ones.
 *
 * The paper ends at the region's pages.  A larger block, up to the whole heap, is tried at a few random
 * multiples of its size, the whole warp reading and claiming its words; then the sweep looks for it.
 */
#ifndef QUARRY_ALLOC_RUNS_H
#define QUARRY_ALLOC_RUNS_H

#include "quarry/alloc/alloc.h"
#include "quarry/alloc/runs/runs_map.h"
#include "quarry/alloc/runs/runs_census.h"
#include "quarry/alloc/runs/runs_search.h"

#define QUARRY_RUNS_PAGE_BYTES 64u /* the default: docs/reference/alloc/runs.md */
#define QUARRY_RUNS_PROBES 1024u   /* words that a group reads in vain */
#define QUARRY_RUNS_LOOKS 4u       /* short ones in vain; a full place counts for two */
#define QUARRY_RUNS_TRIES 8u       /* places of a large block */

#define QUARRY_RUNS_CAN                                                                                      \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_INFER_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES)
#define QUARRY_RUNS_OPTIONS(ROW)                                                                             \
    ROW(runs, probes, 0, 1, QUARRY_MAX_PROBES,                                                               \
        "random words that a warp reads in vain before a sweep; 0: 1024, fewer if the heap is small")
enum quarry_runs_option { QUARRY_RUNS_OPTIONS(QUARRY_OPTION_INDEX) };

/* The first word of a look anywhere, the same in every lane: all of its words exist if there are so many. */
SIMT_FN uint32_t quarry_runs_region(const struct quarry_runs *map, struct quarry_random *r, uint32_t group)
{
    uint32_t width = simt_popc_u32(group), last = map->word_count > width ? map->word_count - width : 0;
    uint32_t word = simt_shuffle_u32(group, quarry_random_below(r, map->word_count), simt_ctz_u32(group));
    return word < last ? word : last;
}

/* The first word of a malloc's first look: anywhere in the warp's share of the words.  Each warp of the
 * launch has its own, if there are two words for each, so those that begin at once don't begin at the same
 * word.  Warps whose numbers follow one another run at the same time: their shares lie apart, so that they
 * don't change the same cache line either. (Numbers below a power of two are multiplied by an odd one, near
 * the golden ratio of it; the rest stay.) */
SIMT_FN uint32_t quarry_runs_begin_word(const struct quarry_runs *map, struct quarry_random *r,
                                        uint32_t group)
{
    uint32_t warp = simt_thread() / SIMT_LANES, warps = (simt_threads() - 1u) / SIMT_LANES + 1u;
    uint32_t share = 0xffffffffu / warps, spare = simt_clz_u32(warps); /* of 2^32 parts of the words */
    uint32_t power = 0x80000000u >> spare;
    if (warp < power)
        warp = warp * (0x9e3779b9u >> spare >> 1 | 1u) & (power - 1u);
    uint32_t begin = simt_mulhi_u32(warp * share, map->word_count);
    uint32_t end = simt_mulhi_u32(warp * share + share, map->word_count);
    begin += quarry_random_below(r, end - begin);
    return map->word_count > simt_popc_u32(group) ? simt_shuffle_u32(group, begin, simt_ctz_u32(group)) : 0;
}

/* A block of more pages than a look sees, for the group.
 *   *next   where to look first, or QUARRY_NO_PAGE: behind the last such block; changed
 * Returns its first page or QUARRY_NO_PAGE. */
SIMT_FN uint32_t quarry_runs_take_large(const struct quarry_runs *map, struct quarry_random *r,
                                        uint32_t group, struct quarry_context *context, uint32_t pages,
                                        uint32_t *next)
{
    uint32_t leader = simt_ctz_u32(group), end = map->pages.count - pages;
    for (uint32_t i = 0; i < QUARRY_RUNS_TRIES; i++) {
        uint32_t page = quarry_random_below(r, map->pages.count / pages) * pages;
        page = simt_shuffle_u32(group, *next <= end ? *next : page, leader);
        quarry_step(context);
        if (quarry_runs_are_free(map, group, page, pages) && quarry_runs_claim(map, group, page, pages)) {
            *next = page + pages;
            return page;
        }
        *next = QUARRY_NO_PAGE;
    }
    for (uint32_t from = 0; map->parts == 0 && from < map->word_count;) { /* else the sweep does that */
        uint32_t page = quarry_runs_find_run(map, group, from, map->word_count, pages);
        if (page == QUARRY_NO_PAGE || quarry_runs_claim(map, group, page, pages))
            return page;
        from = page / QUARRY_RUNS_BITS;
    }
    return QUARRY_NO_PAGE;
}

/* Are so many pages found by the walk?  A run of twice as many, less one, has a multiple of them in it, and
 * the group sees that. */
SIMT_FN int quarry_runs_is_small(uint32_t group, uint32_t pages)
{
    return pages <= simt_popc_u32(group) * QUARRY_RUNS_BITS / 2u;
}

/* Whatever the first looks leave to do, for lanes of the group whose page is QUARRY_NO_PAGE.
 *   pages   that the calling lane needs
 *   word    where to look first, if there are so many
 * Returns the lane's first page. */
SIMT_FN uint32_t quarry_runs_walk(const struct quarry_runs *map, struct quarry_context *context,
                                  struct quarry_random *r, uint32_t group, uint32_t pages, uint32_t word,
                                  uint32_t page)
{
    uint32_t width = simt_popc_u32(group), next = QUARRY_NO_PAGE;
    int small = quarry_runs_is_small(group, pages), some;
    for (uint32_t vain = 0; vain < map->probes && simt_any(group, small && page == QUARRY_NO_PAGE);) {
        uint32_t before = page, asked = small && page == QUARRY_NO_PAGE ? pages : 0;
        if (word >= map->word_count)
            word = quarry_runs_region(map, r, group);
        quarry_step(context);
        uint32_t got = quarry_runs_take(map, group, word, asked, &some);
        page = asked ? got : page;
        if (simt_any(group, page != before)) {
            vain = 0;
            word += width;
        } else {
            vain += some ? 0 : width; /* what others took in between was free */
            word = map->word_count;
        }
    }
    for (uint32_t large = simt_ballot(group, !small); large; large &= large - 1u) {
        uint32_t lane = simt_ctz_u32(large), wanted = simt_shuffle_u32(group, pages, lane);
        uint32_t got = quarry_runs_take_large(map, r, group, context, wanted, &next);
        page = lane == simt_lane() ? got : page;
    }
    if (simt_any(group, page == QUARRY_NO_PAGE))
        page = quarry_runs_search(map, r, group, page, pages);
    return page;
}

/* The usual malloc: rows of blocks, or single pages.
 *   *word   where to go on; set
 *   *page   the lane's first, or QUARRY_NO_PAGE; set
 * Returns 0 if all lanes have theirs. */
SIMT_FN int quarry_runs_look_first(const struct quarry_runs *map, struct quarry_context *context,
                                   struct quarry_random *r, uint32_t group, uint32_t pages, uint32_t *word,
                                   uint32_t *page)
{
    enum quarry_runs_seen saw = QUARRY_RUNS_SOME;
    int left = 1;
    *page = QUARRY_NO_PAGE;
    *word = quarry_runs_begin_word(map, r, group);
    if (map->ordered || !simt_all(group, quarry_runs_is_small(group, pages)))
        return left;
    for (uint32_t vain = 0; left && saw != QUARRY_RUNS_SPLIT && vain < QUARRY_RUNS_LOOKS;) {
        uint32_t asked = *page == QUARRY_NO_PAGE ? pages : 0;
        quarry_step(context);
        uint32_t got = quarry_runs_take_row(map, group, *word, asked, &saw);
        *page = asked ? got : *page;
        if (simt_any(group, got != QUARRY_NO_PAGE)) {
            *word += simt_popc_u32(group);
        } else if (saw == QUARRY_RUNS_FULL) {
            *word = quarry_runs_region(map, r, group);
            vain += QUARRY_RUNS_LOOKS / 2u;
        } else {
            vain++; /* others were faster: the words now look different */
        }
        left = simt_any(group, *page == QUARRY_NO_PAGE);
    }
    return left;
}

/* Progress: the walk waits for nobody.  On a heap that seems full, as quarry_sweep_search; its first pass
 * waits for claims under way, which wait for nobody. */
SIMT_FN void *quarry_runs_malloc(const struct quarry_runs *map, struct quarry_context *context,
                                 uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t group = quarry_group(map->sweep, QUARRY_SITE_RUNS_MALLOC);
    uint32_t pages = quarry_page_count(&map->pages, bytes), word, page;
    int left;
    if (group == SIMT_ALL_LANES) /* a mask that the compiler knows makes a collective one instruction */
        left = quarry_runs_look_first(map, context, &r, SIMT_ALL_LANES, pages, &word, &page);
    else
        left = quarry_runs_look_first(map, context, &r, group, pages, &word, &page);
    if (left)
        page = quarry_runs_walk(map, context, &r, group, pages, word, page);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&map->pages, page);
}

#define quarry_runs_settle QUARRY_NOTHING_TO_SETTLE

#if SIMT_HAS_HOST
SIMT_HOST_FN enum quarry_layout_result quarry_runs_layout(struct quarry_runs *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_RUNS_PAGE_BYTES);
    if (result == QUARRY_LAYOUT_OK)
        result = quarry_layout_fit(l, quarry_runs_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->max_block = l->pages * l->page_bytes;
    uint64_t *probes = &l->option[QUARRY_OPTION_runs_probes];
    result = quarry_layout_probes(l, probes, QUARRY_RUNS_BITS, QUARRY_RUNS_PROBES, h->word_count);
    h->probes = (uint32_t)*probes;
    h->ordered = (uint32_t)l->watched;
    h->parts = l->low_free > 0 ? 0 : quarry_layout_parts(h->word_count, QUARRY_RUNS_PART, QUARRY_RUNS_PART);
    return result;
}
#endif

#endif
