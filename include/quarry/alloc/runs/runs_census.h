/* SPDX-License-Identifier: Apache-2.0 */
/* What a bitmap of runs (alloc/runs/runs_map.h) holds: which block an address is in, and a heap's census. */
#ifndef QUARRY_ALLOC_RUNS_CENSUS_H
#define QUARRY_ALLOC_RUNS_CENSUS_H

#include "quarry/alloc/runs/runs_map.h"

#define QUARRY_RUNS_TAKEN 1u /* the bits of a word's first page */
#define QUARRY_RUNS_BOTH (QUARRY_RUNS_TAKEN | (uint64_t)1 << 32)
#define QUARRY_RUNS_AHEAD 32u /* words of a lane, where a census follows a long run */

/* ---- an idle heap, or any moment's glimpse ---- */

/* Bits 0 and 32: is the page taken, and is it the last of its block?  Of one instant. */
SIMT_FN uint64_t quarry_runs_page(const struct quarry_runs *h, uint32_t page)
{
    return quarry_runs_load(h, page / QUARRY_RUNS_BITS) >> page % QUARRY_RUNS_BITS & QUARRY_RUNS_BOTH;
}

SIMT_FN enum quarry_place quarry_runs_find(const struct quarry_runs *h, const void *address,
                                           struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span);
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (!quarry_runs_page(h, page))
        return QUARRY_PLACE_FREE;
    uint32_t first = page;
    while (first > 0 && quarry_runs_page(h, first - 1u) == QUARRY_RUNS_TAKEN)
        first--;
    while (page + 1u < h->pages.count && quarry_runs_page(h, page) == QUARRY_RUNS_TAKEN)
        page++;
    span->begin = (unsigned char *)quarry_page_address(&h->pages, first);
    span->bytes = (uint64_t)(page + 1u - first) * h->pages.page_bytes;
    return QUARRY_PLACE_LIVE;
}

/* A run of free pages, once. */
SIMT_FN void quarry_runs_count_run(struct quarry_census *sum, uint64_t run, uint32_t each,
                                   uint64_t page_bytes)
{
    sum->slots += run / each;
    if (run * page_bytes > sum->largest_free)
        sum->largest_free = run * page_bytes;
}

/* A word's pages and blocks, and what in it can't be. */
SIMT_FN void quarry_runs_count_word(const struct quarry_runs *h, struct quarry_census *sum, uint32_t word)
{
    uint64_t seen = quarry_runs_load(h, word);
    uint32_t taken = (uint32_t)seen, ends = (uint32_t)(seen >> 32);
    uint32_t past = (uint32_t)quarry_runs_empty(h, word);
    uint32_t lower = taken & ~ends & ~past; /* their blocks go on */
    uint32_t next =
        lower >> 31 ? (uint32_t)quarry_runs_load(h, word + 1u) & ~(uint32_t)quarry_runs_empty(h, word + 1u)
                    : 0;
    sum->live_blocks += simt_popc_u32(ends);
    sum->live_bytes += simt_popc_u32(taken & ~past) * h->pages.page_bytes;
    sum->free_bytes += simt_popc_u32(~taken) * h->pages.page_bytes;
    sum->faults += simt_popc_u32(ends & ~taken) + simt_popc_u32(past & ~taken) + simt_popc_u32(ends & past);
    sum->faults += simt_popc_u32(lower & ~((taken & ~past) >> 1 | next << 31));
}

/* The census of alloc.h. */
SIMT_FN void quarry_runs_census(const struct quarry_runs *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    const uint32_t group = share->group, lane = simt_rank(group), width = simt_popc_u32(group);
    const uint32_t first = simt_ctz_u32(group), last = 31u - simt_clz_u32(group);
    uint32_t warp = (uint32_t)(share->thread / width), warps = (uint32_t)(share->threads / width);
    struct quarry_sweep_items of = quarry_sweep_cut(h->word_count, warp, warps);
    uint32_t from = of.first, to = of.end;
    uint32_t each = quarry_page_count(&h->pages, bytes);
    uint64_t page_bytes = h->pages.page_bytes, open = 0; /* as in quarry_runs_find_run */
    int foreign = from > 0 && !(quarry_runs_load(h, from - 1u) >> 31 & 1u);
    foreign = simt_any(group, foreign); /* lanes may have read different values */
    for (uint64_t i = share->thread; i < QUARRY_FLIGHTS; i += share->threads)
        sum->faults += (uint32_t)simt_load_u64(&h->flights[i], relaxed) != 0;
    if (share->thread == 0 && (simt_load_u64(&h->sweep->state, relaxed) & 1u))
        sum->faults++;
    for (uint32_t i = from + lane; i < to; i += width)
        quarry_runs_count_word(h, sum, i);
    for (uint32_t at = from; at < to || open; at += width) {
        uint32_t some = 0; /* taken pages far ahead, where only the end of what is open is asked for */
        for (uint32_t i = 0; at >= to && i < QUARRY_RUNS_AHEAD; i++)
            some |= (uint32_t)quarry_runs_load(h, at + i * width + lane);
        if (at >= to && !simt_any(group, some != 0)) {
            open += (uint64_t)QUARRY_RUNS_AHEAD * width * QUARRY_RUNS_BITS;
            at += (QUARRY_RUNS_AHEAD - 1u) * width;
            continue;
        }
        struct quarry_runs_view v = quarry_runs_look(group, ~(uint32_t)quarry_runs_load(h, at + lane));
        struct quarry_runs_own own = quarry_runs_begin_here(&v, at + lane);
        uint32_t low = quarry_runs_low(v.spare), high = quarry_runs_high(v.spare);
        uint32_t left = simt_shuffle_u32(group, low + (low == QUARRY_RUNS_BITS ? v.after : 0), first);
        int whole = left == width * QUARRY_RUNS_BITS;
        if (lane == 0) { /* the run at the lower end is counted with what is open */
            if (!foreign && !whole && open + left)
                quarry_runs_count_run(sum, open + left, each, page_bytes);
            own.inner &= ~quarry_runs_bits(0, low);
            own.length = low == QUARRY_RUNS_BITS ? 0 : own.length;
        }
        if (at + lane < to) {
            while (own.inner) {
                uint32_t run = own.inner & ~(own.inner + (own.inner & (0u - own.inner)));
                quarry_runs_count_run(sum, simt_popc_u32(run), each, page_bytes);
                own.inner &= ~run;
            }
            if (own.length && own.length < high + (width - 1u - lane) * QUARRY_RUNS_BITS)
                quarry_runs_count_run(sum, own.length, each, page_bytes);
        }
        uint32_t tail = simt_shuffle_u32(group, high + (high == QUARRY_RUNS_BITS ? v.before : 0), last);
        open = foreign && whole ? 0 : tail + (whole ? open : 0);
        foreign = foreign && whole;
        if ((uint64_t)(at + width) * QUARRY_RUNS_BITS >= (uint64_t)to * QUARRY_RUNS_BITS + open)
            open = 0; /* begins beyond this warp's words */
    }
}

#endif
