/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of free pages, as a group of lanes sees them that has read consecutive words of
 * alloc/runs/runs_map.h's bitmap: which runs there are, and which of them go to which lane.  No memory is
 * touched here. */
#ifndef QUARRY_ALLOC_RUNS_VIEW_H
#define QUARRY_ALLOC_RUNS_VIEW_H

#include "quarry/core/pages.h"
#include "quarry/core/share.h"

#define QUARRY_RUNS_BITS 32u /* pages of a word */

/* Bits from .. to - 1 of 32. */
SIMT_FN uint32_t quarry_runs_bits(uint32_t from, uint32_t to)
{
    return from < to ? (uint32_t)(((uint64_t)1 << to) - ((uint64_t)1 << from)) : 0;
}

/* The bits in `word` of a block of `pages` pages from `page` on; 0 if it has none there. */
SIMT_FN uint64_t quarry_runs_part(uint32_t page, uint32_t pages, uint32_t word)
{
    uint32_t first = word * QUARRY_RUNS_BITS, end = page + pages;
    uint32_t from = page > first ? page - first : 0;
    uint32_t to = end > first ? end - first : 0;
    uint64_t last = end > first && to <= QUARRY_RUNS_BITS ? (uint64_t)1 << (to - 1u) << 32 : 0;
    return from < QUARRY_RUNS_BITS
               ? quarry_runs_bits(from, to < QUARRY_RUNS_BITS ? to : QUARRY_RUNS_BITS) | last
               : 0;
}

/* A block's bits in a word where its first page is bit `from`.
 *   ends   the word's end bits from there on; 0: the block goes on in the next word */
SIMT_FN uint64_t quarry_runs_to_end(uint32_t from, uint64_t ends)
{
    uint64_t end = ends & (0 - ends);
    return quarry_runs_bits(from, end ? simt_ctz_u64(end) - 31u : QUARRY_RUNS_BITS) | end;
}

/* ---- what a group sees when its lanes read consecutive words, one each, in the order of their ranks ---- */

/* Bits of x from which on `pages` bits are set. */
SIMT_FN uint32_t quarry_runs_starts(uint32_t x, uint32_t pages)
{
    if (pages > QUARRY_RUNS_BITS)
        return 0;
    for (uint32_t have = 1; have < pages;) {
        uint32_t step = have < pages - have ? have : pages - have;
        x &= x >> step;
        have += step;
    }
    return x;
}

SIMT_FN uint32_t quarry_runs_high(uint32_t x) /* set bits at its upper end */
{
    return x == 0xffffffffu ? QUARRY_RUNS_BITS : simt_clz_u32(~x);
}

SIMT_FN uint32_t quarry_runs_low(uint32_t x) /* and at its lower end */
{
    return x == 0xffffffffu ? QUARRY_RUNS_BITS : simt_ctz_u32(~x);
}

/* What a lane knows of the runs in its word and around it. */
struct quarry_runs_view {
    uint32_t spare;     /* free pages of the word */
    uint32_t before;    /* those in words of lower ranks that touch it from below, if its first is free */
    uint32_t after;     /* those in words of higher ranks, from above, if its last is free */
    uint32_t continues; /* in whose word the run begins that reaches into this one; own lane: none does */
};

SIMT_FN struct quarry_runs_view quarry_runs_look(uint32_t group, uint32_t spare)
{
    struct quarry_runs_view v;
    uint32_t below = group & simt_lanes_below(), above = group & ~below & ~(1u << simt_lane());
    uint32_t holed = simt_ballot(group, spare != 0xffffffffu);
    uint32_t prev = holed & below ? 31u - simt_clz_u32(holed & below) : simt_lane();
    uint32_t next = holed & above ? simt_ctz_u32(holed & above) : simt_lane();
    uint32_t high = simt_shuffle_u32(group, quarry_runs_high(spare), prev);
    uint32_t low = simt_shuffle_u32(group, quarry_runs_low(spare), next);
    v.spare = spare;
    if (holed & below) {
        uint32_t between = below & ~((2u << prev) - 1u);
        v.before = high + QUARRY_RUNS_BITS * simt_popc_u32(between);
        v.continues = high ? prev : between ? simt_ctz_u32(between) : simt_lane();
    } else {
        v.before = QUARRY_RUNS_BITS * simt_popc_u32(below);
        v.continues = below ? simt_ctz_u32(below) : simt_lane();
    }
    v.after = holed & above ? low + QUARRY_RUNS_BITS * simt_popc_u32(above & ((1u << next) - 1u))
                            : QUARRY_RUNS_BITS * simt_popc_u32(above);
    if (!(spare & 1u)) {
        v.before = 0;
        v.continues = simt_lane();
    }
    if (!(spare >> 31))
        v.after = 0;
    return v;
}

/* ---- runs for several lanes at once ---- */

/* The bits in `word` of blocks of `each` pages, one behind the other from page `start` on, `pages` in all. */
SIMT_FN uint64_t quarry_runs_row(uint32_t start, uint32_t pages, uint32_t each, uint32_t word)
{
    uint32_t first = word * QUARRY_RUNS_BITS;
    uint32_t taken = (uint32_t)quarry_runs_part(start, pages, word);
    uint32_t last = start > first ? start - first + each - 1u : each - 1u - (first - start) % each;
    uint32_t ends = last < QUARRY_RUNS_BITS ? 1u << last : 0;
    for (uint32_t step = each; step < QUARRY_RUNS_BITS; step *= 2)
        ends |= ends << step;
    ends &= taken;
    return taken | (uint64_t)ends << 32;
}

/* First pages of disjoint runs of `each` in one word, the lowest first. */
SIMT_FN uint32_t quarry_runs_slots(uint32_t spare, uint32_t each)
{
    uint32_t starts = quarry_runs_starts(spare, each), slots = 0;
    if (each == 1)
        return spare;
    while (starts) {
        uint32_t low = starts & (0u - starts);
        slots |= low;
        starts &= ~(uint32_t)(((uint64_t)low << each) - low);
    }
    return slots;
}

/* The runs that begin in the calling lane's word. */
struct quarry_runs_own {
    uint32_t inner;  /* free pages of runs that end in the word */
    uint32_t start;  /* page; of the one that reaches its end, and */
    uint32_t length; /* how many pages the group sees of that, also in other words; 0: there is none */
};

SIMT_FN struct quarry_runs_own quarry_runs_begin_here(const struct quarry_runs_view *v, uint32_t word)
{
    struct quarry_runs_own own;
    uint32_t high = quarry_runs_high(v->spare);
    own.inner = v->spare & ~quarry_runs_bits(QUARRY_RUNS_BITS - high, QUARRY_RUNS_BITS);
    if (v->before)
        own.inner &= ~quarry_runs_bits(0, quarry_runs_low(v->spare));
    own.start = word * QUARRY_RUNS_BITS + QUARRY_RUNS_BITS - high;
    own.length = high && (high < QUARRY_RUNS_BITS || !v->before) ? high + v->after : 0;
    return own;
}

/* Chooses runs of `each` pages for as many of the lanes `needs` as the group sees runs for, lower lanes lower
 * ones. Returns the caller's first page, or QUARRY_NO_PAGE; *part: what the caller is to set in its word.
 *
 * Whether the first run begins before the group's first word is not known.  So in it blocks begin at
 * multiples of `each`: blocks of one size then pack, wherever walks begin.  (Else a quarter of the heap would
 * be lost in gaps.) */
SIMT_FN uint32_t quarry_runs_deal(uint32_t group, const struct quarry_runs_view *v, uint32_t word,
                                  uint32_t needs, uint32_t each, uint64_t *part)
{
    struct quarry_runs_own own = quarry_runs_begin_here(v, word);
    uint32_t low = quarry_runs_low(v->spare), rank = simt_rank(group), k = simt_rank(needs);
    if (rank == 0 && low && each > 1) {
        uint32_t skip = each - 1u - (word * QUARRY_RUNS_BITS + each - 1u) % each;
        if (low == QUARRY_RUNS_BITS) {
            own.start += skip;
            own.length -= skip < own.length ? skip : own.length;
        } else {
            own.inner &= ~quarry_runs_bits(0, skip < low ? skip : low);
        }
    }
    uint32_t slots = quarry_runs_slots(own.inner, each), inside = simt_popc_u32(slots);
    uint32_t count = inside + own.length / each;
    uint32_t to = quarry_scan_add_u32(group, count), from = to - count; /* numbers of the caller's slots */
    uint32_t asked = simt_popc_u32(needs);
    uint32_t used = from < asked ? (to < asked ? to : asked) - from : 0;
    uint32_t taken = slots;
    if (used < inside)
        taken &= quarry_runs_bits(0, quarry_kth_set_u32(slots, used + 1u));
    uint32_t row = used > inside ? (used - inside) * each : 0;
    *part = taken && each <= QUARRY_RUNS_BITS
                ? (uint32_t)(((uint64_t)taken << each) - taken) | (uint64_t)(taken << (each - 1u)) << 32
                : 0;
    *part |= quarry_runs_row(own.start, row, each, word);
    uint32_t start = simt_shuffle_u32(group, own.start, v->continues);
    row = simt_shuffle_u32(group, row, v->continues);
    if (v->before)
        *part |= quarry_runs_row(start, row, each, word);

    uint32_t owner = quarry_scan_find_u32(group, to, k);
    uint32_t lane = quarry_lane_of_rank(group, owner);
    slots = simt_shuffle_u32(group, slots, lane);
    from = simt_shuffle_u32(group, from, lane);
    to = simt_shuffle_u32(group, to, lane);
    start = simt_shuffle_u32(group, own.start, lane);
    inside = simt_popc_u32(slots);
    if (!(needs >> simt_lane() & 1u) || k >= to)
        return QUARRY_NO_PAGE;
    k -= from;
    return k < inside ? (word - rank + owner) * QUARRY_RUNS_BITS + quarry_kth_set_u32(slots, k + 1u)
                      : start + (k - inside) * each;
}

/* The end bits of `word` for blocks of the lanes `lanes`.
 *   last   of the calling lane: the last page of its block */
SIMT_FN uint64_t quarry_runs_ends(uint32_t group, uint32_t lanes, uint32_t last, uint32_t word)
{
    uint32_t ends = 0;
    for (; lanes; lanes &= lanes - 1u) {
        uint32_t end = simt_shuffle_u32(group, last, simt_ctz_u32(lanes)) - word * QUARRY_RUNS_BITS;
        ends |= end < QUARRY_RUNS_BITS ? 1u << end : 0;
    }
    return (uint64_t)ends << 32;
}

/* As quarry_runs_deal for lanes that need different numbers of pages (0: none): packs blocks into the longest
 * run. */
SIMT_FN uint32_t quarry_runs_pack(uint32_t group, const struct quarry_runs_view *v, uint32_t word,
                                  uint32_t pages, uint64_t *part)
{
    struct quarry_runs_own own = quarry_runs_begin_here(v, word);
    uint32_t rest = own.inner, longest = 0, begins = 0;
    for (; rest; rest &= rest >> 1, longest++)
        begins = rest;
    if (longest > own.length) {
        own.length = longest;
        own.start = word * QUARRY_RUNS_BITS + simt_ctz_u32(begins);
    }
    longest = simt_reduce_max_u32(group, own.length);
    uint32_t holder = simt_ctz_u32(simt_ballot(group, own.length == longest));
    uint32_t start = simt_shuffle_u32(group, own.start, holder);
    uint32_t fits = pages <= longest ? pages : 0;
    uint32_t to = quarry_scan_add_u32(group, fits);
    int served = fits && to <= longest;
    *part = (uint32_t)quarry_runs_part(start, simt_reduce_max_u32(group, served ? to : 0), word) |
            quarry_runs_ends(group, simt_ballot(group, served), start + to - 1u, word);
    return served ? start + to - pages : QUARRY_NO_PAGE;
}

#endif
