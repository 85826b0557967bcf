/* SPDX-License-Identifier: Apache-2.0 */
/* scatter: pages of chunks of one size each, found by a hash.
 *
 * C. Eckert, "Enhancements of the massively parallel memory allocator ScatterAlloc and its adaption to the
 * general interface mallocMC", TU Dresden 2014, sections 2.4.6 and 4.3.5.  A request hashes to a page.  The
 * first that takes an empty page sets the size of its chunks; later ones take chunks of it if these are large
 * enough and at most `waste` times too large.  A request larger than a page takes consecutive ones.
 *
 *     pool   | head | word of page 0, 1, ... | debug mode: fields | page 0 | page 1 | ... |
 *     word   63    53 52        43 42   32 31             0
 *            | takes | generation | class | low           |     what the thesis calls the page table
 *     class  EMPTY, and low is 0
 *            1 .. 32: so many chunks; low: bit i: chunk i is live
 *            33 .. 1024: so many chunks; low: how many are live or promised; which, is in the fields
 *            MULTI: a block of `low` pages begins here;  INNER: it goes on, `low` pages after its first
 *            BUSY: a malloc makes one of the above of an empty page
 *     fields 32 bits for 32 chunks, at the page's end, the first one last; bits past the last chunk are set
 *     takes  how often a malloc took chunks; generation: how often an empty page became another; modulo 2^n
 *
 * In core/scatter_page.h: a page, its word and its fields.  Here: how pages are found.  The names of the
 * thesis, and what it leaves open: docs/alloc/scatter.md.
 *
 * Search.  Lanes of a warp that want chunks of one class look together at a region: consecutive pages, one
 * for each lane.  Pages with room are dealt to the lanes that need chunks, and one lane takes for all of its
 * page's: one compare-exchange a page.  The first region is the hash's; `probes` more are random; then the
 * sweep reads them all.
 *
 * Full heap.  The lanes sweep the words of all pages, each group for itself, take what fits, and wait for
 * pages that are BUSY.  NULL after two passes, one after the other, that saw nothing that fits, if their sums
 * of mixed words agree: of each page its generation and class, and its takes if it is of a class that fits.
 * Then at the instant between the passes nothing fitted.  For suppose that a page did at some point of its
 * word's modification order from the first pass's read on to the second's.  The second saw that it does not,
 * so it was taken in between, which changes `takes` of a page that fits, or the generation of an empty one.
 * (Modulo 2^11 takes and 2^10 generations of one page during one pass, and mixes that cancel: the price would
 * be a NULL, never a shared chunk.)  Blocks of several pages likewise, with runs of empty pages.  The sweeps
 * are not shared, as core/sweep.h's are, where a verdict must hold for everybody: here it is about a range
 * of classes. */
#ifndef QUARRY_ALLOC_SCATTER_H
#define QUARRY_ALLOC_SCATTER_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/random.h"
#include "quarry/core/scatter_page.h"
#include "quarry/core/share.h"

#define QUARRY_SCATTER_PAGE_BYTES 4096u /* the thesis's defaults, section 4.3.7 */
#define QUARRY_SCATTER_BLOCKS 8u
#define QUARRY_SCATTER_REGION 16u
#define QUARRY_SCATTER_WASTE 2u
#define QUARRY_SCATTER_FACTOR_SIZE 38183u /* ScatterAlloc's hash */
#define QUARRY_SCATTER_FACTOR_SM 17497u
#define QUARRY_SCATTER_FACTOR_WARP 1u
#define QUARRY_SCATTER_FACTOR_PAGES 1u
#define QUARRY_SCATTER_PROBES                                                                                \
    16u /* regions: of a heap with 2 % of the pages free 99 % of the searches end                            \
         */
#define QUARRY_SCATTER_MIN_BLOCK 1024u /* pages of an access block, unless the heap has fewer */
#define QUARRY_SCATTER_BATCH 8u        /* words that a lane of a sweep has in flight */

struct quarry_scatter_head {
    uint32_t lock; /* of the serial search for several pages */
};

struct quarry_scatter {
    struct quarry_scatter_head *head;
    struct quarry_scatter_pages pages;
    uint32_t block_pages; /* of an access block; a multiple of them is in the heap, but for the last */
    uint32_t region;      /* pages */
    uint32_t probes;      /* regions, after the first */
    uint32_t factor_size, factor_sm, factor_warp, factor_pages;
    uint32_t serial; /* search for several pages by one lane of the heap at a time, from the end */
};

/* What a group of lanes looks for, and what the calling lane has got. */
struct quarry_scatter_search {
    struct quarry_scatter_request request;
    unsigned char *block; /* NULL: still needs one */
    uint64_t sum;         /* the caller's part of a pass's */
    int seen;             /* did the pass see something that fits? */
};

SIMT_FN void quarry_scatter_init(const struct quarry_scatter *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        h->head->lock = 0;
    for (uint64_t p = thread; p < h->pages.pages.count; p += threads)
        h->pages.words[p] = 0;
}

/* ---- chunks ---- */

/* Lane `giver` of the group took `got` chunks of `page` by *t; those lanes for which `offset` < got get them,
 * in that order. */
SIMT_FN void quarry_scatter_receive(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                    uint32_t group, uint32_t giver, uint32_t page,
                                    const struct quarry_scatter_taken *t, uint32_t offset, int wants)
{
    struct quarry_scatter_taken given;
    given.count = simt_shuffle_u32(group, t->count, giver);
    given.class_ = simt_shuffle_u32(group, t->class_, giver);
    given.low = simt_shuffle_u32(group, t->low, giver);
    given.marked = simt_shuffle_u32(group, t->marked, giver);
    page = simt_shuffle_u32(group, page, giver);
    if (wants && offset < given.count)
        s->block = quarry_scatter_chunk(&h->pages, page, &given, offset);
}

/* Looks at pages first .. first + count - 1, and takes chunks for those lanes that have none.
 * Returns the lanes that still have none.  Scope: group. */
SIMT_FN uint32_t quarry_scatter_look(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                     uint32_t group, uint32_t first, uint32_t count)
{
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t needs = simt_ballot(group, s->block == SIMT_NULL);
    for (uint32_t from = 0; from < count && needs; from += width) {
        uint32_t page = first + from + rank, room = 0, own = 0, has;
        uint64_t word = 0;
        if (from + rank < count) {
            word = simt_load_u64(&h->pages.words[page], relaxed);
            room = quarry_scatter_room(&s->request, word);
            own = quarry_scatter_is_wasteful(&s->request, word) ? 0 : room;
        }
        /* Chunks that are larger than they need be only where there are no others. */
        has = simt_ballot(group, own != 0);
        has = has ? has : simt_ballot(group, room != 0);
        uint32_t dealt = 0, want = 0, order = simt_rank(needs), wanted = simt_popc_u32(needs);
        for (uint32_t rest = has; rest && dealt < wanted; rest &= rest - 1u) {
            uint32_t giver = simt_ctz_u32(rest), here = simt_shuffle_u32(group, room, giver);
            here = here < wanted - dealt ? here : wanted - dealt;
            want = giver == simt_lane() ? here : want;
            dealt += here;
        }
        struct quarry_scatter_taken t = quarry_scatter_take(&h->pages, &s->request, page, word, want);
        dealt = 0;
        for (uint32_t rest = has; rest && dealt < wanted; rest &= rest - 1u) {
            uint32_t giver = simt_ctz_u32(rest), here = simt_shuffle_u32(group, want, giver);
            int wants = (needs >> simt_lane() & 1u) && order >= dealt && order - dealt < here;
            quarry_scatter_receive(h, s, group, giver, page, &t, order - dealt, wants);
            dealt += here;
        }
        needs = simt_ballot(group, s->block == SIMT_NULL);
    }
    return needs;
}

/* The page at which the hash sends the group. */
SIMT_FN uint32_t quarry_scatter_hash(const struct quarry_scatter *h, const struct quarry_scatter_request *q)
{
    uint32_t blocks = (h->pages.pages.count + h->block_pages - 1) / h->block_pages;
    uint32_t block = simt_sm() % blocks * h->block_pages, length = h->pages.pages.count - block;
    uint32_t warp = simt_thread() / SIMT_LANES;
    uint32_t pages = SIMT_LANES / q->most; /* that a warp needs */
    uint32_t hash = (uint32_t)q->bytes * h->factor_size + simt_sm() * h->factor_sm +
                    warp * (h->factor_warp + pages * h->factor_pages);
    length = length < h->block_pages ? length : h->block_pages;
    return block + hash % length;
}

/* As quarry_scatter_look, at the region that begins with the first lane's `first`, and as many pages more as
 * the group can fill. */
SIMT_FN uint32_t quarry_scatter_look_region(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                            uint32_t group, uint32_t first)
{
    first = simt_shuffle_u32(group, first, simt_ctz_u32(group));
    uint32_t left = h->pages.pages.count - first, count = h->region + simt_popc_u32(group) / s->request.most;
    return quarry_scatter_look(h, s, group, first, left < count ? left : count);
}

/* One pass of the sweep over pages first .. end - 1. */
SIMT_FN uint32_t quarry_scatter_pass(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                     uint32_t group, uint32_t first, uint32_t end)
{
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t needs = simt_ballot(group, s->block == SIMT_NULL);
    for (uint32_t from = first; from < end && needs; from += width * QUARRY_SCATTER_BATCH) {
        uint64_t word[QUARRY_SCATTER_BATCH];
        int fits = 0;
        for (uint32_t i = 0; i < QUARRY_SCATTER_BATCH; i++) {
            uint32_t page = from + i * width + rank;
            word[i] = page < end ? simt_load_u64(&h->pages.words[page], relaxed) : 0;
        }
        for (uint32_t i = 0; i < QUARRY_SCATTER_BATCH; i++) {
            uint32_t page = from + i * width + rank;
            if (page >= end)
                continue;
            word[i] = quarry_scatter_settle(&h->pages, page, word[i]);
            fits |= quarry_scatter_room(&s->request, word[i]) != 0;
            s->sum += quarry_scatter_number(&s->request, page, word[i]);
        }
        if (simt_any(group, fits)) {
            uint32_t count =
                end - from < width * QUARRY_SCATTER_BATCH ? end - from : width * QUARRY_SCATTER_BATCH;
            s->seen = 1;
            needs = quarry_scatter_look(h, s, group, from, count);
        }
    }
    return needs;
}

/* Waits a random time, as long as the search has been in vain. */
SIMT_FN void quarry_scatter_pause(struct quarry_random *r, uint32_t group, uint32_t turn)
{
    uint32_t most = 1u << (turn < 5 ? turn : 5);
    uint32_t times = simt_shuffle_u32(group, quarry_random_below(r, most), simt_ctz_u32(group));
    for (uint32_t i = 0; i <= times; i++)
        simt_backoff();
}

/* Finds chunks for the lanes of the group, which all make the same request. */
SIMT_FN void quarry_scatter_find_chunks(const struct quarry_scatter *h, struct quarry_context *context,
                                        struct quarry_scatter_search *s, uint32_t group)
{
    struct quarry_random r = quarry_random_start();
    uint32_t count = h->pages.pages.count, first, needs;
    uint64_t last = 0;
    int passed = 0;
    quarry_step(context);
    needs = quarry_scatter_look_region(h, s, group, quarry_scatter_hash(h, &s->request));
    for (uint32_t probe = 0; probe < h->probes && needs; probe++) {
        quarry_step(context);
        first = quarry_random_below(&r, count);
        needs = quarry_scatter_look_region(h, s, group, first);
    }
    first = simt_shuffle_u32(group, quarry_random_below(&r, count), simt_ctz_u32(group));
    for (uint32_t turn = 0; needs; turn++) {
        s->sum = 0;
        s->seen = 0;
        needs = quarry_scatter_pass(h, s, group, first, count);
        if (needs)
            needs = quarry_scatter_pass(h, s, group, 0, first);
        uint64_t sum = simt_reduce_add_u64(group, s->sum);
        if (passed && !s->seen && sum == last)
            break;
        passed = !s->seen;
        last = sum;
        simt_sync(group); /* one pass's reads before the next one's */
        if (turn >= 2 && needs)
            quarry_scatter_pause(&r, group, turn - 2);
    }
    simt_sync(group); /* what the lane that took a page acquired, those that got its chunks have */
}

/* ---- several pages ---- */

/* The calling lane takes pages first .. first + n - 1, all or none.  Returns 1 if it has them. */
SIMT_FN int quarry_scatter_take_pages(const struct quarry_scatter *h, uint32_t first, uint32_t n)
{
    uint32_t got = 0;
    while (got < n && quarry_scatter_hold(&h->pages, first + got))
        got++;
    if (got < n) {
        while (got)
            quarry_scatter_let_go(&h->pages, first + --got);
        return 0;
    }
    for (uint32_t i = n; i > 0; i--)
        quarry_scatter_make_multi(&h->pages, first + i - 1, i - 1, n);
    return 1;
}

/* Are pages first .. first + n - 1 empty now? */
SIMT_FN int quarry_scatter_are_empty(const struct quarry_scatter *h, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!quarry_scatter_is_empty(simt_load_u64(&h->pages.words[first + i], relaxed)))
            return 0;
    return 1;
}

/* Sweeps for a run of n empty pages, from the heap's end, and takes it for the lane `taker` of the group.
 * Returns 1 to that lane if it got it, and to each if a run was *seen.  Scope: group. */
SIMT_FN int quarry_scatter_pass_runs(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                     uint32_t group, uint32_t taker, uint32_t n)
{
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group), run = 0;
    for (uint32_t end = h->pages.pages.count; end > 0;) {
        /* The lanes look at the `width` pages before `end`, the first lane at the last of them. */
        uint32_t page = end - 1 - rank, here = width < end ? width : end;
        int empty = 0, last = 0;
        if (rank < here) {
            uint64_t word = simt_load_u64(&h->pages.words[page], relaxed);
            word = quarry_scatter_settle(&h->pages, page, word);
            s->sum += quarry_scatter_number(&s->request, page, word);
            empty = quarry_scatter_is_empty(word);
            last = (page + 1) % h->block_pages == 0; /* of an access block: no run crosses its end */
        }
        uint32_t empties = simt_ballot(group, empty), lasts = simt_ballot(group, last);
        for (uint32_t rest = group, i = 0; i < here; i++, rest &= rest - 1u) {
            uint32_t bit = rest & (0 - rest);
            run = !(empties & bit) ? 0 : lasts & bit ? 1 : run + 1;
            if (run < n)
                continue;
            uint32_t first = end - 1 - i;
            int got = 0;
            s->seen = 1;
            if (simt_lane() == taker)
                got = quarry_scatter_take_pages(h, first, n);
            if (simt_shuffle_u32(group, (uint32_t)got, taker)) {
                if (simt_lane() == taker)
                    s->block = (unsigned char *)quarry_page_address(&h->pages.pages, first);
                return 1;
            }
            run--;
        }
        end -= here;
    }
    return 0;
}

/* Finds n pages for lane `taker` of the group, or proves that there are none. */
SIMT_FN void quarry_scatter_sweep_runs(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                       struct quarry_random *r, uint32_t group, uint32_t taker, uint32_t n)
{
    uint64_t last = 0;
    int passed = 0;
    for (uint32_t turn = 0;; turn++) {
        s->sum = 0;
        s->seen = 0;
        if (quarry_scatter_pass_runs(h, s, group, taker, n))
            return;
        uint64_t sum = simt_reduce_add_u64(group, s->sum);
        if (passed && !s->seen && sum == last)
            return;
        passed = !s->seen;
        last = sum;
        simt_sync(group);
        if (turn >= 2)
            quarry_scatter_pause(r, group, turn - 2);
    }
}

/* Finds n pages for each lane of the group.  Each lane tries runs that begin at random multiples of n before
 * the end of an access block; then the lanes sweep together, for one after the other. */
SIMT_FN void quarry_scatter_find_pages(const struct quarry_scatter *h, struct quarry_context *context,
                                       struct quarry_scatter_search *s, uint32_t group, uint32_t n)
{
    struct quarry_random r = quarry_random_start();
    uint32_t count = h->pages.pages.count, rest;
    for (uint32_t probe = 0; probe < h->probes * h->region && !s->block; probe++) {
        uint32_t page = quarry_random_below(&r, count), end = page / h->block_pages * h->block_pages;
        end = count - end < h->block_pages ? count : end + h->block_pages;
        quarry_step(context);
        uint32_t back = (end - page + n - 1) / n * n; /* from `end` */
        if (back > end || (end - back) / h->block_pages != page / h->block_pages ||
            !quarry_scatter_are_empty(h, end - back, n))
            continue;
        if (quarry_scatter_take_pages(h, end - back, n))
            s->block = (unsigned char *)quarry_page_address(&h->pages.pages, end - back);
    }
    simt_sync(group);
    for (rest = simt_ballot(group, !s->block); rest; rest &= rest - 1u)
        quarry_scatter_sweep_runs(h, s, &r, group, simt_ctz_u32(rest), n);
}

/* The same as the thesis says it: one searches, from the heap's end, and the others wait. */
SIMT_FN void quarry_scatter_find_pages_serially(const struct quarry_scatter *h,
                                                struct quarry_scatter_search *s, uint32_t n)
{
    struct quarry_random r = quarry_random_start();
    while (simt_cas_u32(&h->head->lock, 0, 1, acquire) != 0) /* pairs with the release below */
        simt_backoff();
    quarry_scatter_sweep_runs(h, s, &r, 1u << simt_lane(), simt_lane(), n);
    simt_store_u32(&h->head->lock, 0, release);
}

/* ---- the contract ---- */

/* Progress: chunks: the probes wait for nobody; the sweep waits for mallocs that divide a page, which wait
 * for nobody, and goes on as long as others take and free what fits.  Several pages: likewise; with `serial`
 * it waits for those that search. */
SIMT_FN void *quarry_scatter_malloc(const struct quarry_scatter *h, struct quarry_context *context,
                                    uint64_t bytes)
{
    struct quarry_scatter_search s;
    s.request = quarry_scatter_request(&h->pages, bytes);
    s.block = (unsigned char *)SIMT_NULL;
    uint32_t group = quarry_group((uintptr_t)h->pages.words);
    group = simt_match_u64(group, (uint64_t)s.request.pages << 32 | s.request.most << 16 | s.request.least);
    if (s.request.pages == 1)
        quarry_scatter_find_chunks(h, context, &s, group);
    else if (h->serial)
        quarry_scatter_find_pages_serially(h, &s, s.request.pages);
    else
        quarry_scatter_find_pages(h, context, &s, group, s.request.pages);
    return s.block;
}

SIMT_FN void quarry_scatter_free(const struct quarry_scatter *h, void *block)
{
    quarry_scatter_give_back(&h->pages, block);
}

SIMT_FN enum quarry_place quarry_scatter_find(const struct quarry_scatter *h, const void *address,
                                              struct quarry_span *span)
{
    return quarry_scatter_find_chunk(&h->pages, address, span);
}

/* The run of empty pages that begins at `page` and ends with its access block. */
SIMT_FN uint32_t quarry_scatter_run(const struct quarry_scatter *h, uint32_t page)
{
    uint32_t n = 0, count = h->pages.pages.count;
    do
        n++;
    while (page + n < count && (page + n) % h->block_pages != 0 &&
           quarry_scatter_is_empty(h->pages.words[page + n]));
    return n;
}

SIMT_FN void quarry_scatter_census(const struct quarry_scatter *h, uint64_t bytes, uint64_t thread,
                                   uint64_t threads, struct quarry_census *sum)
{
    struct quarry_scatter_request q = quarry_scatter_request(&h->pages, bytes);
    uint64_t page_bytes = h->pages.pages.page_bytes;
    for (uint64_t p = thread; p < h->pages.pages.count; p += threads) {
        uint32_t page = (uint32_t)p;
        uint64_t word = h->pages.words[page];
        sum->faults += quarry_scatter_faults(&h->pages, page);
        if (!quarry_scatter_is_empty(word)) {
            quarry_scatter_count(&h->pages, word, sum);
        } else {
            sum->free_bytes += page_bytes;
            if (page % h->block_pages == 0 || !quarry_scatter_is_empty(h->pages.words[page - 1])) {
                uint64_t run = quarry_scatter_run(h, page);
                sum->slots += q.pages > 1 ? run / q.pages : 0;
                if (sum->largest_free < run * page_bytes)
                    sum->largest_free = run * page_bytes;
            }
        }
        if (q.pages == 1)
            sum->slots += quarry_scatter_room(&q, word);
    }
    if (thread == 0)
        sum->faults += h->head->lock != 0;
}

#if SIMT_HAS_HOST
/* Words of the pages, and in debug mode their fields, which are not in the pages then. */
SIMT_HOST_FN uint64_t quarry_scatter_map_bytes(uint64_t pages)
{
    return pages * sizeof(uint64_t);
}

SIMT_HOST_FN uint64_t quarry_scatter_debug_map_bytes(uint64_t pages)
{
    return pages * (sizeof(uint64_t) + QUARRY_SCATTER_FIELDS * sizeof(uint32_t));
}

SIMT_HOST_FN uint32_t quarry_scatter_option(uint32_t chosen, uint32_t standard)
{
    return chosen ? chosen : standard;
}

SIMT_HOST_FN enum quarry_layout_result quarry_scatter_layout(struct quarry_scatter *h,
                                                             struct quarry_layout *l)
{
    unsigned char *pages = SIMT_NULL;
    uint32_t unit = l->debug ? QUARRY_SCATTER_DEBUG_UNIT : QUARRY_PAGE_UNIT;
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_SCATTER_PAGE_BYTES);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    uint64_t page_bytes = l->page_bytes;
    l->page_bytes = quarry_round_up(page_bytes, unit);
    int apart = l->debug && l->page_bytes / unit > QUARRY_SCATTER_FLAT;
    result = quarry_layout_pages(l, sizeof *h->head,
                                 apart ? quarry_scatter_debug_map_bytes : quarry_scatter_map_bytes, &pages);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    h->head = (struct quarry_scatter_head *)(void *)l->base;
    h->pages.words = (uint64_t *)(void *)(l->base + QUARRY_SECTION_ALIGN);
    h->pages.pages = quarry_pages_make(pages, l->page_bytes, (uint32_t)l->pages);
    h->pages.page_bytes = (uint32_t)l->page_bytes;
    h->pages.unit = unit;
    h->pages.in_page = !apart;
    h->pages.field_stride = l->page_bytes;
    h->pages.fields = pages + l->page_bytes;
    if (apart) {
        h->pages.field_stride = QUARRY_SCATTER_FIELDS * sizeof(uint32_t);
        h->pages.fields = (unsigned char *)(h->pages.words + l->pages) + h->pages.field_stride;
    }
    h->pages.waste = quarry_scatter_option(l->chunks.waste_factor, QUARRY_SCATTER_WASTE);
    h->pages.reset = !l->chunks.keep_pages;
    h->region = quarry_scatter_option(l->chunks.region_pages, QUARRY_SCATTER_REGION);
    h->factor_size = quarry_scatter_option(l->chunks.hash_size, QUARRY_SCATTER_FACTOR_SIZE);
    h->factor_sm = quarry_scatter_option(l->chunks.hash_sm, QUARRY_SCATTER_FACTOR_SM);
    h->factor_warp = quarry_scatter_option(l->chunks.hash_warp, QUARRY_SCATTER_FACTOR_WARP);
    h->factor_pages = quarry_scatter_option(l->chunks.hash_pages, QUARRY_SCATTER_FACTOR_PAGES);
    h->serial = l->chunks.serial != 0;
    uint64_t blocks = quarry_scatter_option(l->chunks.access_blocks, QUARRY_SCATTER_BLOCKS);
    uint64_t block = (l->pages + blocks - 1) / blocks;
    if (!l->chunks.access_blocks && block < QUARRY_SCATTER_MIN_BLOCK)
        block = QUARRY_SCATTER_MIN_BLOCK;
    h->block_pages = (uint32_t)(block < l->pages ? block : l->pages);
    l->max_block = h->block_pages * l->page_bytes;
    l->unit = unit;
    l->page_bytes = page_bytes;
    l->word_bits = 0;
    l->probe_lanes = 0;
    h->probes = l->probes ? l->probes : QUARRY_SCATTER_PROBES;
    l->probes = l->low_free > 0 ? 0 : h->probes; /* a NULL is always proven */
    return QUARRY_LAYOUT_OK;
}
#endif

#endif

#ifdef QUARRY_ALLOCATOR_ENTRY
QUARRY_ALLOCATOR_ENTRY(scatter, "scatter",
                       "chunks of one size a page, found by a hash (ScatterAlloc; Eckert, mallocMC)")
#endif
