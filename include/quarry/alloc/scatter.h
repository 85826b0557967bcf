/* SPDX-License-Identifier: Apache-2.0 */
/* scatter: pages of cells of one size each, found by a hash.
 *
 * C. Eckert, "Enhancements of the massively parallel memory allocator ScatterAlloc and its adaption to the
 * general interface mallocMC", TU Dresden 2014, sections 2.4.6 and 4.3.5.  A request hashes to a page.  The
 * first that takes an empty page sets the size of its cells; later ones take cells of it if these are large
 * enough and at most `waste` times too large.  A request larger than a page takes consecutive ones.
 *
 *     pool   | head | word of page 0, 1, ... | debug mode: fields | page 0 | page 1 | ... |
 *     word   63    53 52        43 42   32 31             0
 *            | takes | generation | class | low           |     what the thesis calls the page table
 *     class  EMPTY, and low is 0
 *            1 .. 32: so many cells; low: bit i: cell i is live
 *            33 .. 1024: so many cells; low: how many are live or promised; which, is in the fields
 *            MULTI: a block of `low` pages begins here;  INNER: it goes on, `low` pages after its first
 *            BUSY: a malloc makes one of the above of an empty page
 *     fields 32 bits for 32 cells, at the page's end, the first one last; bits past the last cell are set
 *     takes  how often a malloc took cells; generation: how often an empty page became another; modulo 2^n
 *
 * In alloc/scatter/scatter_page.h: a page, its word and its fields.  Here: how pages are found.  The names of
 * the thesis, and what it leaves open: docs/reference/alloc/scatter.md.
 *
 * Search.  Lanes of a warp that want cells of one class look together at a region: consecutive pages, one
 * for each lane; those of other classes do so at the same time.  Pages with room are dealt to the lanes that
 * need cells, and one lane takes for all of its page's: one compare-exchange a page.  The first region is
 * the hash's; `probes` more are random; then the sweep reads them all.
 *
 * Full heap.  Those that found nothing sweep the words together (core/sweep.h), one access block at a time,
 * take what fits them, and wait for pages that are BUSY.  A turn is about its leader's request: a number of
 * pages, or a range of classes.  It has two passes; both must see nothing that fits, and the sums of mixed
 * words must agree: of each page its generation and class, and its takes if it is of a class that fits.  Then
 * at the instant between the passes nothing fitted.  For suppose that a page did at some point of its word's
 * modification order from the first pass's read on to the second's.  The second saw that it does not, so it
 * was taken in between, which changes `takes` of a page that fits, or the generation of an empty one.
 * (Modulo 2^11 takes and 2^10 generations of one page during one turn, and mixes that cancel: the price would
 * be a NULL, never a shared cell.)  That is of each page by itself: docs/design/full-heap.md says what the
 * order of memory leaves open.  Blocks of several pages likewise, with runs of empty pages: no run
 * crosses the end of an access block, so a pass reads each word once.  A group that sweeps a part of
 * another's turn and has got what it needs leaves the rest unread, and calls the turn dirty. */
#ifndef QUARRY_ALLOC_SCATTER_H
#define QUARRY_ALLOC_SCATTER_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/random.h"
#include "quarry/alloc/scatter/scatter_page.h"
#include "quarry/core/share.h"
#include "quarry/core/sweep.h"

#define QUARRY_SCATTER_PAGE_BYTES 4096u /* the thesis's defaults, section 4.3.7 */
#define QUARRY_SCATTER_BLOCKS 8u
#define QUARRY_SCATTER_REGION 16u
#define QUARRY_SCATTER_WASTE 2u
#define QUARRY_SCATTER_FACTOR_SIZE 38183u /* ScatterAlloc's hash */
#define QUARRY_SCATTER_FACTOR_SM 17497u
#define QUARRY_SCATTER_FACTOR_WARP 1u
#define QUARRY_SCATTER_FACTOR_PAGES 1u
#define QUARRY_SCATTER_PROBES 16u      /* regions: with 2 % of the pages free 99 % of the searches end */
#define QUARRY_SCATTER_MIN_BLOCK 1024u /* pages of an access block, unless the heap has fewer */
#define QUARRY_SCATTER_BATCH 8u        /* words that a lane of a sweep has in flight */

#define QUARRY_SCATTER_MAX_PAGES 4096u
#define QUARRY_SCATTER_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES)
#define QUARRY_SCATTER_OPTIONS(ROW)                                                                          \
    ROW(scatter, probes, QUARRY_SCATTER_PROBES, 1, QUARRY_MAX_PROBES,                                        \
        "random regions that a malloc looks at, after the hash's and before a sweep")                        \
    ROW(scatter, access_blocks, 0, 1, 0xffffffffu,                                                           \
        "access blocks that the heap is divided into; 0: 8, fewer if they had under 1024 pages")             \
    ROW(scatter, region_pages, QUARRY_SCATTER_REGION, 1, QUARRY_SCATTER_MAX_PAGES,                           \
        "pages that are looked at together")                                                                 \
    ROW(scatter, waste_factor, QUARRY_SCATTER_WASTE, 1, QUARRY_SCATTER_MAX_PAGES,                            \
        "a cell may be so many times as large as was asked")                                                 \
    ROW(scatter, hash_size, QUARRY_SCATTER_FACTOR_SIZE, 0, 0xffffffffu, "factor of the hash: of the size")   \
    ROW(scatter, hash_sm, QUARRY_SCATTER_FACTOR_SM, 0, 0xffffffffu,                                          \
        "factor of the hash: of the multiprocessor")                                                         \
    ROW(scatter, hash_warp, QUARRY_SCATTER_FACTOR_WARP, 0, 0xffffffffu, "factor of the hash: of the warp")   \
    ROW(scatter, hash_pages, QUARRY_SCATTER_FACTOR_PAGES, 0, 0xffffffffu,                                    \
        "factor of the hash: of the warp, for each page that it fills")                                      \
    ROW(scatter, keep_pages, 0, 0, 1, "1: a page whose cells are all free keeps their size")                 \
    ROW(scatter, serial, 0, 0, 1, "1: one thread at a time looks for several pages, from the heap's end")
enum quarry_scatter_option { QUARRY_SCATTER_OPTIONS(QUARRY_OPTION_INDEX) };

struct quarry_scatter_head {
    struct quarry_sweep sweep;
    uint32_t lock; /* of the serial search for several pages */
};

struct quarry_scatter {
    struct quarry_scatter_table table; /* first, as a malloc needs it first: see struct quarry_handle */
    struct quarry_scatter_head *head;
    uint32_t blocks;      /* access blocks */
    uint32_t block_pages; /* of each, but for the last, which may have fewer */
    uint32_t region;      /* pages */
    uint32_t probes;      /* regions, after the first */
    uint32_t factor_size, factor_sm, factor_warp, factor_pages;
    uint32_t serial; /* search for several pages by one lane of the heap at a time, from the end */
    uint64_t inverse_blocks, inverse_pages; /* quarry_inverse_u32 of blocks and of block_pages */
};

/* What a group of lanes looks for, and what the calling lane has got. */
struct quarry_scatter_search {
    struct quarry_scatter_request request;
    unsigned char *block; /* NULL: still needs one */
};

SIMT_FN void quarry_scatter_init(const struct quarry_scatter *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0) {
        h->head->lock = 0;
        quarry_sweep_init(&h->head->sweep);
    }
    for (uint64_t p = thread; p < h->table.pages.count; p += threads)
        h->table.words[p] = 0;
}

/* ---- cells ---- */

/* Who takes cells for whom. */
struct quarry_scatter_deal {
    uint32_t want;   /* cells that the calling lane takes of its page */
    uint32_t giver;  /* the lane that takes a cell for the caller, */
    uint32_t offset; /* and its number among those that it takes; past the last: none */
};

/* The lanes that need a cell get, in their order, those of the first page, of the next and so on.
 *   has     lanes of the caller's group whose pages have room
 *   room    cells of the caller's page, more than 0 if it is in `has`
 *   needs   lanes of the caller's group that need a cell
 *   most    cells of an empty page, in the group
 * Scope: all. */
SIMT_FN struct quarry_scatter_deal quarry_scatter_deal_out(uint32_t all, uint32_t has, uint32_t room,
                                                           uint32_t needs, uint32_t most)
{
    uint32_t order = simt_rank(needs), wanted = simt_popc_u32(needs), dealt = 0;
    struct quarry_scatter_deal deal = {0, simt_lane(), ~0u};
    if (simt_any(all, has && most < wanted)) { /* if all pages have the same room, such as empty ones: */
        uint32_t each = simt_shuffle_u32(all, room, has ? simt_ctz_u32(has) : simt_lane());
        int in = (has >> simt_lane() & 1u) != 0;
        if (!simt_any(all, in && room != each)) {
            uint32_t before = simt_rank(has) * each, page = quarry_divide_u32(order, each ? each : 1u);
            if (in && before < wanted)
                deal.want = wanted - before < each ? wanted - before : each;
            if (page < simt_popc_u32(has)) {
                deal.giver = quarry_kth_of_run_u32(has, page + 1u);
                deal.offset = order - page * each;
            }
            return deal;
        }
    }
    do {
        uint32_t lane = has ? simt_ctz_u32(has) : simt_lane();
        uint32_t here = simt_shuffle_u32(all, room, lane);
        here = !has ? 0 : here < wanted - dealt ? here : wanted - dealt;
        deal.want = here && lane == simt_lane() ? here : deal.want;
        if (order - dealt < here) {
            deal.giver = lane;
            deal.offset = order - dealt;
        }
        dealt += here;
        has &= has - 1u;
    } while (simt_any(all, has && dealt < wanted));
    return deal;
}

/* Looks at pages first .. first + count - 1, and takes cells for those lanes that have none.
 *   all     lanes that call together
 *   group   those of them with the caller's request, first and count
 *   left    those of `all` that have none
 * Returns those of `all` that still have none.  Scope: all. */
SIMT_FN uint32_t quarry_scatter_look(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                     uint32_t all, uint32_t group, uint32_t left, uint32_t first,
                                     uint32_t count)
{
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    for (uint32_t from = 0; left && simt_any(all, (left & group) && from < count); from += width) {
        uint32_t page = first + from + rank, needs = left & group, room = 0, has, own;
        uint64_t word = 0;
        if (needs && from + rank < count) {
            word = simt_load_u64(&h->table.words[page], relaxed);
            room = quarry_scatter_room(&s->request, word);
        }
        /* Cells that are larger than they need be only where there are no others. */
        has = simt_ballot(all, room != 0) & group;
        own = simt_ballot(all, room != 0 && !quarry_scatter_is_wasteful(&s->request, word)) & group;
        has = own ? own : has;
        struct quarry_scatter_deal deal = quarry_scatter_deal_out(all, has, room, needs, s->request.most);
        uint64_t next = 0;
        struct quarry_scatter_taken t =
            quarry_scatter_take(&h->table, &s->request, page, word, deal.want, &next);
        /* This syncs, too: what those who took acquired, those who get their cells have. */
        quarry_scatter_divide(&h->table, all, group, page - rank, s->request.most, next);
        t.low = simt_shuffle_u32(all, t.low, deal.giver);
        t.what = simt_shuffle_u32(all, t.what, deal.giver);
        page = simt_shuffle_u32(all, page, deal.giver);
        if ((needs >> simt_lane() & 1u) && deal.offset < quarry_scatter_taken_count(&t))
            s->block = quarry_scatter_cell(&h->table, page, &t, deal.offset);
        left = simt_ballot(all, s->block == SIMT_NULL);
    }
    return left;
}

/* The page at which the hash sends the group.
 *   fills   quarry_scatter_fills of the request */
SIMT_FN uint32_t quarry_scatter_hash(const struct quarry_scatter *h, uint64_t bytes, uint32_t fills)
{
    uint32_t sm = simt_sm(), warp = simt_thread() / SIMT_LANES;
    uint32_t block = quarry_modulo_u32(sm, h->blocks, h->inverse_blocks) * h->block_pages;
    uint32_t hash = (uint32_t)bytes * h->factor_size + sm * h->factor_sm +
                    warp * (h->factor_warp + fills * h->factor_pages);
    uint32_t page = quarry_modulo_u32(hash, h->block_pages, h->inverse_pages);
    uint32_t length = h->table.pages.count - block; /* of the last block: it may be shorter */
    return block + (page < length ? page : page % length);
}

/* As quarry_scatter_look, at the region that begins with the `first` of the group's first lane, and as many
 * pages more as a warp fills; nowhere, if the request is for several pages. */
SIMT_FN uint32_t quarry_scatter_look_region(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                            uint32_t all, uint32_t group, uint32_t left, uint32_t first,
                                            uint32_t fills)
{
    first = simt_shuffle_u32(all, first, simt_ctz_u32(group));
    uint32_t behind = h->table.pages.count - first, count = h->region + fills;
    count = s->request.pages > 1 ? 0 : count < behind ? count : behind;
    return quarry_scatter_look(h, s, all, group, left, first, count);
}

/* ---- several pages ---- */

/* The calling lane takes pages first .. first + n - 1, all or none.  Returns 1 if it has them. */
SIMT_FN int quarry_scatter_take_pages(const struct quarry_scatter *h, uint32_t first, uint32_t n)
{
    uint32_t got = 0;
    while (got < n && quarry_scatter_hold(&h->table, first + got))
        got++;
    if (got < n) {
        while (got)
            quarry_scatter_let_go(&h->table, first + --got);
        return 0;
    }
    SIMT_ROLLED
    for (uint32_t i = n; i > 0; i--)
        quarry_scatter_make_multi(&h->table, first + i - 1, i - 1, n);
    return 1;
}

/* Are pages first .. first + n - 1 empty now? */
SIMT_FN int quarry_scatter_are_empty(const struct quarry_scatter *h, uint32_t first, uint32_t n)
{
    SIMT_ROLLED
    for (uint32_t i = 0; i < n; i++)
        if (!quarry_scatter_is_empty(simt_load_u64(&h->table.words[first + i], relaxed)))
            return 0;
    return 1;
}

/* ---- full heap ---- */

/* What a lane of a sweep looks for. */
struct quarry_scatter_need {
    const struct quarry_scatter *heap;
    struct quarry_scatter_search *search;
};

/* What a turn is about, for core/sweep.h: so many pages, or the classes from `least` to `most`. */
SIMT_FN uint32_t quarry_scatter_sweep_size(const struct quarry_scatter_request *q)
{
    return q->pages > 1 ? q->pages : QUARRY_SWEEP_CLASS | q->most << 16 | q->least;
}

SIMT_FN struct quarry_scatter_request quarry_scatter_swept(uint32_t size)
{
    struct quarry_scatter_request q = {size, 1, 1};
    if (size & QUARRY_SWEEP_CLASS) {
        q.pages = 1;
        q.most = size >> 16 & 0x7ffu;
        q.least = size & 0x7ffu;
    }
    return q;
}

/* The lanes that still need a block when one of them has tried to take its pages from `first` on. */
SIMT_FN uint32_t quarry_scatter_serve(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                      uint32_t group, uint32_t first)
{
    uint32_t needs = simt_ballot(group, s->block == SIMT_NULL);
    if (needs && simt_lane() == simt_ctz_u32(needs) && quarry_scatter_take_pages(h, first, s->request.pages))
        s->block = (unsigned char *)quarry_page_address(&h->table.pages, first);
    return simt_ballot(group, s->block == SIMT_NULL);
}

/* A sweep's part: an access block, from its end.  Its number: see above; of either kind. */
SIMT_FN uint64_t quarry_scatter_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                           uint32_t kind, uint32_t part, uint32_t size, uint32_t *page,
                                           int *dirty)
{
    const struct quarry_scatter_need *need = (const struct quarry_scatter_need *)heap;
    const struct quarry_scatter *h = need->heap;
    struct quarry_scatter_search *s = need->search;
    volatile uint32_t about = size; /* in memory: registers are the kernel's */
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group), pages = s->request.pages;
    uint32_t begin = (h->blocks - 1 - part) * h->block_pages;
    uint32_t end = h->table.pages.count - begin;
    uint32_t run = 0, own = 0; /* empty pages behind the one in hand, and those of them to be tried */
    uint32_t needs = simt_ballot(group, s->block == SIMT_NULL);
    uint64_t sum = 0;
    (void)r;
    (void)kind;
    end = begin + (end < h->block_pages ? end : h->block_pages);
    while (end > begin && needs) {
        uint32_t here = width * QUARRY_SCATTER_BATCH;
        uint64_t word[QUARRY_SCATTER_BATCH];
        int fits = 0, mine = 0;
        here = here < end - begin ? here : end - begin;
        for (uint32_t i = 0; i < QUARRY_SCATTER_BATCH; i++) /* the first lane reads the last page */
            if (i * width + rank < here)
                word[i] = simt_load_u64(&h->table.words[end - 1 - i * width - rank], relaxed);
        SIMT_ROLLED
        for (uint32_t i = 0; i < QUARRY_SCATTER_BATCH; i++) {
            uint32_t at = end - 1 - i * width, empties;
            int empty = 0;
            if (i * width + rank < here) {
                struct quarry_scatter_request turn = quarry_scatter_swept(about);
                uint64_t now = quarry_scatter_await(&h->table, at - rank, word[i]);
                sum += quarry_scatter_number(&turn, at - rank, now);
                empty = quarry_scatter_is_empty(now);
                fits |= turn.pages == 1 && quarry_scatter_room(&turn, now) != 0;
                mine |= pages == 1 && quarry_scatter_room(&s->request, now) != 0;
            }
            empties = simt_ballot(group, empty);
            run = empties ? run : 0;
            own = empties ? own : 0;
            SIMT_ROLLED
            for (uint32_t rest = group, j = 0; empties && j < width && i * width + j < here; j++) {
                uint32_t bit = rest & (0 - rest);
                rest &= ~bit;
                run = empties & bit ? run + 1 : 0;
                own = empties & bit ? own + 1 : 0;
                fits |= run >= quarry_scatter_swept(about).pages;
                if (pages == 1 || own < pages || !needs)
                    continue;
                uint32_t left = quarry_scatter_serve(h, s, group, at - j);
                own = left == needs ? own - 1 : 0;
                needs = left;
            }
        }
        end -= here;
        *dirty |= simt_any(group, fits);
        if (simt_any(group, mine))
            needs = quarry_scatter_look(h, s, group, group, needs, end, here);
    }
    *dirty |= end > begin; /* the number is of a part only */
    *page = s->block ? 0 : QUARRY_NO_PAGE;
    return sum;
}

/* Sweeps for the lanes of the group that have no block yet; all make the same request. */
SIMT_FN void quarry_scatter_sweep(const struct quarry_scatter *h, struct quarry_scatter_search *s,
                                  struct quarry_random *r, uint32_t group)
{
    struct quarry_scatter_need need;
    struct quarry_sweep_plan plan;
    need.heap = h;
    need.search = s;
    plan.sweep = &h->head->sweep;
    plan.heap = &need;
    plan.sweep_part = quarry_scatter_sweep_part;
    plan.parts = h->blocks;
    plan.kinds = 2;
    plan.size = quarry_scatter_sweep_size(&s->request);
    plan.news = SIMT_NULL;
    plan.in_order = h->serial && s->request.pages > 1;
    (void)quarry_sweep_search(&plan, r, group, s->block ? 0 : QUARRY_NO_PAGE);
}

/* ---- finding ---- */

/* Looks at regions for lanes that have no cell yet: `left`, of `all`.
 *   first   of the region to begin with, or QUARRY_NO_PAGE, the same in `all`; the others are random */
SIMT_FN void quarry_scatter_probe_regions(const struct quarry_scatter *h, struct quarry_context *context,
                                          struct quarry_scatter_search *s, struct quarry_random *r,
                                          uint32_t all, uint32_t group, uint32_t left, uint32_t first)
{
    uint32_t fills = quarry_scatter_fills(&s->request), cell = s->request.pages == 1;
    for (uint32_t probe = first == QUARRY_NO_PAGE;
         probe <= h->probes && simt_any(all, cell && (left & group)); probe++) {
        uint32_t page = probe ? quarry_random_below(r, h->table.pages.count) : first;
        if (cell && (left & group))
            quarry_step(context);
        left = quarry_scatter_look_region(h, s, all, group, left, page, fills);
    }
}

/* Each lane tries runs of n pages that begin at random multiples of n before the end of an access block. */
SIMT_FN void quarry_scatter_probe_runs(const struct quarry_scatter *h, struct quarry_context *context,
                                       struct quarry_scatter_search *s, struct quarry_random *r, uint32_t n)
{
    uint32_t count = h->table.pages.count;
    for (uint64_t probe = 0; probe < (uint64_t)h->probes * h->region && !s->block; probe++) {
        uint32_t page = quarry_random_below(r, count), end = page / h->block_pages * h->block_pages;
        end = count - end < h->block_pages ? count : end + h->block_pages;
        quarry_step(context);
        uint32_t back = (end - page + n - 1) / n * n; /* from `end` */
        if (back > end || (end - back) / h->block_pages != page / h->block_pages ||
            !quarry_scatter_are_empty(h, end - back, n))
            continue;
        if (quarry_scatter_take_pages(h, end - back, n))
            s->block = (unsigned char *)quarry_page_address(&h->table.pages, end - back);
    }
}

/* Whatever is left to do: probes, then the lanes of a group sweep together.  With `serial` one lane of the
 * heap sweeps at a time for several pages, from the heap's end, as the thesis says. */
SIMT_FN void quarry_scatter_go_on(const struct quarry_scatter *h, struct quarry_context *context,
                                  struct quarry_scatter_search *s, uint32_t all, uint32_t group,
                                  uint32_t left, uint32_t first)
{
    struct quarry_random r = quarry_random_start();
    int several = s->request.pages > 1;
    quarry_scatter_probe_regions(h, context, s, &r, all, group, left, first);
    if (several && !h->serial)
        quarry_scatter_probe_runs(h, context, s, &r, s->request.pages);
    if (several && h->serial) {
        group = 1u << simt_lane();
        while (simt_cas_u32(&h->head->lock, 0, 1, relaxed) != 0) /* guards no memory */
            simt_backoff();
    }
    if (simt_any(group, !s->block))
        quarry_scatter_sweep(h, s, &r, group);
    if (several && h->serial)
        simt_store_u32(&h->head->lock, 0, relaxed);
}

/* ---- the contract ---- */

/* Progress: cells: the probes wait for nobody; the sweep waits for mallocs that divide a page or sweep,
 * which wait for nobody, and goes on as long as others take and free what fits.  Several pages: likewise;
 * with `serial` it waits for those that search. */
SIMT_FN void *quarry_scatter_malloc(const struct quarry_scatter *h, struct quarry_context *context,
                                    uint64_t bytes)
{
    struct quarry_scatter_search s;
    s.request = quarry_scatter_ask(&h->table, bytes);
    s.block = (unsigned char *)SIMT_NULL;
    uint32_t all = quarry_group(h->table.words, QUARRY_SITE_SCATTER_MALLOC), left = all, group;
    uint32_t fills = quarry_scatter_fills(&s.request), first = quarry_scatter_hash(h, bytes, fills);
    if (all == SIMT_ALL_LANES) { /* a mask that the compiler knows makes a collective one instruction */
        group = simt_match_u32(SIMT_ALL_LANES, quarry_scatter_sweep_size(&s.request));
        if (s.request.pages == 1)
            quarry_step(context);
        left = quarry_scatter_look_region(h, &s, SIMT_ALL_LANES, group, left, first, fills);
        first = QUARRY_NO_PAGE;
    } else {
        group = simt_match_u32(all, quarry_scatter_sweep_size(&s.request));
    }
    if (left)
        quarry_scatter_go_on(h, context, &s, all, group, left, first);
    return s.block;
}

SIMT_FN void quarry_scatter_free(const struct quarry_scatter *h, void *block)
{
    quarry_scatter_give_back(&h->table, block);
}

SIMT_FN void quarry_scatter_trim(const struct quarry_scatter *h, void *block, void *user, uint64_t bytes)
{
    quarry_scatter_keep(&h->table, block, user, bytes);
}

SIMT_FN enum quarry_place quarry_scatter_find(const struct quarry_scatter *h, const void *address,
                                              struct quarry_span *span)
{
    return quarry_scatter_find_cell(&h->table, address, span);
}

/* The run of empty pages that begins at `page` and ends with its access block. */
SIMT_FN uint32_t quarry_scatter_run(const struct quarry_scatter *h, uint32_t page)
{
    uint32_t n = 0, count = h->table.pages.count;
    do
        n++;
    while (page + n < count && (page + n) % h->block_pages != 0 &&
           quarry_scatter_is_empty(simt_load_u64(&h->table.words[page + n], relaxed)));
    return n;
}

SIMT_FN void quarry_scatter_census(const struct quarry_scatter *h, uint64_t bytes,
                                   const struct quarry_census_share *share, struct quarry_census *sum)
{
    struct quarry_scatter_request q = quarry_scatter_ask(&h->table, bytes);
    uint64_t page_bytes = h->table.pages.page_bytes;
    for (uint64_t p = share->thread; p < h->table.pages.count; p += share->threads) {
        uint32_t page = (uint32_t)p;
        uint64_t word = simt_load_u64(&h->table.words[page], relaxed);
        if (share->idle)
            sum->faults += quarry_scatter_faults(&h->table, page);
        if (!quarry_scatter_is_empty(word)) {
            quarry_scatter_count(&h->table, word, sum);
        } else {
            sum->free_bytes += page_bytes;
            if (page % h->block_pages == 0 ||
                !quarry_scatter_is_empty(simt_load_u64(&h->table.words[page - 1], relaxed))) {
                uint64_t run = quarry_scatter_run(h, page);
                sum->slots += q.pages > 1 ? run / q.pages : 0;
                if (sum->largest_free < run * page_bytes)
                    sum->largest_free = run * page_bytes;
            }
        }
        if (q.pages == 1)
            sum->slots += quarry_scatter_room(&q, word);
    }
    if (share->idle && share->thread == 0)
        sum->faults += (h->head->lock != 0) + (uint32_t)(h->head->sweep.state & 1u);
}

#define quarry_scatter_settle QUARRY_NOTHING_TO_SETTLE

#if SIMT_HAS_HOST
/* Fields that are not in the pages have a section: h->table.in_page is decided before. */
SIMT_HOST_FN void quarry_scatter_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_scatter *h = (struct quarry_scatter *)heap;
    h->head = (struct quarry_scatter_head *)quarry_layout_section(l, "sweep", sizeof *h->head,
                                                                  QUARRY_SECTION_ALIGN);
    h->table.words = (uint64_t *)quarry_layout_section(l, "words", l->pages * sizeof *h->table.words,
                                                       QUARRY_SECTION_ALIGN);
    h->table.field_stride = l->page_bytes;
    if (!h->table.in_page) {
        h->table.field_stride = QUARRY_SCATTER_FIELDS * sizeof(uint32_t);
        h->table.fields = (unsigned char *)quarry_layout_section(
            l, "fields", l->pages * h->table.field_stride, sizeof(uint64_t));
    }
    h->table.pages = quarry_layout_pages(l);
    if (h->table.in_page)
        h->table.fields = h->table.pages.base;
    h->table.fields = (unsigned char *)((uintptr_t)h->table.fields + h->table.field_stride);
}

SIMT_HOST_FN enum quarry_layout_result quarry_scatter_layout(struct quarry_scatter *h,
                                                             struct quarry_layout *l)
{
    uint32_t unit = l->alignment > QUARRY_PAGE_UNIT ? (uint32_t)l->alignment : QUARRY_PAGE_UNIT;
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_SCATTER_PAGE_BYTES);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    uint64_t page_bytes = l->page_bytes;
    if (page_bytes % unit != 0)
        return QUARRY_LAYOUT_ALIGNMENT;
    unit = l->debug ? QUARRY_SCATTER_DEBUG_UNIT : unit;
    l->page_bytes = quarry_round_up(page_bytes, unit);
    h->table.in_page = !(l->debug && l->page_bytes / unit > QUARRY_SCATTER_FLAT);
    result = quarry_layout_fit(l, quarry_scatter_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    h->table.page_bytes = (uint32_t)l->page_bytes;
    h->table.unit = unit;
    uint64_t *option = l->option;
    h->table.waste = (uint32_t)option[QUARRY_OPTION_scatter_waste_factor];
    h->table.reset = !option[QUARRY_OPTION_scatter_keep_pages];
    h->region = (uint32_t)option[QUARRY_OPTION_scatter_region_pages];
    h->factor_size = (uint32_t)option[QUARRY_OPTION_scatter_hash_size];
    h->factor_sm = (uint32_t)option[QUARRY_OPTION_scatter_hash_sm];
    h->factor_warp = (uint32_t)option[QUARRY_OPTION_scatter_hash_warp];
    h->factor_pages = (uint32_t)option[QUARRY_OPTION_scatter_hash_pages];
    h->serial = option[QUARRY_OPTION_scatter_serial] != 0;
    h->probes = (uint32_t)option[QUARRY_OPTION_scatter_probes];
    uint64_t *blocks = &option[QUARRY_OPTION_scatter_access_blocks];
    uint64_t block = (l->pages + (*blocks ? *blocks : QUARRY_SCATTER_BLOCKS) - 1) /
                     (*blocks ? *blocks : QUARRY_SCATTER_BLOCKS);
    if (!*blocks && block < QUARRY_SCATTER_MIN_BLOCK)
        block = QUARRY_SCATTER_MIN_BLOCK;
    block = block < l->pages ? block : l->pages;
    h->block_pages = (uint32_t)(block < QUARRY_SWEEP_CLASS ? block : QUARRY_SWEEP_CLASS - 1u);
    h->blocks = (uint32_t)(l->pages - 1) / h->block_pages + 1u;
    h->inverse_blocks = quarry_inverse_u32(h->blocks);
    h->inverse_pages = quarry_inverse_u32(h->block_pages);
    *blocks = h->blocks;
    l->max_block = h->block_pages * l->page_bytes;
    l->unit = unit;
    l->page_bytes = page_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
