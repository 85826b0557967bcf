/* SPDX-License-Identifier: Apache-2.0 */
/* The proof of alloc/slabs.h that nothing fits, and what it finds instead.
 *
 * A malloc of a class fits into a chunk that is free, into a slot of its class, and into a chunk of any class without a
 * live slot.  A large block fits into a row of chunks that are free or have no live slot.
 *
 * A turn of core/sweep.h has two passes, and each reads everything: kinds, words and cursors.  Neither may see what
 * fits; nor, for a class, a chunk that moves, nor, of any class, a cursor that has slots left.  And both must read the
 * same versions, as the sum of a number that is made of each.  (Different versions have the same sum once in 2^64.)
 * Then nothing fitted between the passes:
 *   A slot that the second pass saw taken was taken then.  Else somebody has taken it since, and its word's version
 *   has changed since the first pass read it.  So a word without a clear bit had none then, and a chunk with a live
 *   slot had one.
 *   A chunk that neither pass saw moving, and whose kind has one version in both, did not move between them.
 *   A cursor that both saw empty, in one life, had nothing between them: it gets slots only in a new life.
 *   So whatever there was between the passes was in one of the words, and no chunk was on its way.
 *
 * Order.  Kinds are stored with release, words and cursors that make a chunk closed or retired are changed with
 * release, and a pass ends with a fence.  So if the first pass sees a step of somebody's change, the second sees the
 * steps before it: the chunk that moves.  One case stays open, as with rw (docs/design/full-heap.md): of a thread that
 * frees a slot and then takes another, a sweep might see the take and not yet the free. */
#ifndef QUARRY_ALLOC_SLABS_SWEEP_H
#define QUARRY_ALLOC_SLABS_SWEEP_H

#include "quarry/alloc/slabs/slabs_map.h"

#define QUARRY_SLABS_PART 256u /* items of a sweep's part: chunks, then cursors */

/* What the lanes of a group look for, all the same. */
struct quarry_slabs_need {
    const struct quarry_slabs *slabs;
    uint32_t class_; /* or, for a large block, h->classes: none */
    uint32_t chunks; /* of a large block */
};

/* Has a chunk that was seen bound, to the class, a clear bit?  As quarry_slabs_is_empty; all words are read. */
SIMT_FN int quarry_slabs_has_slot(const struct quarry_slabs *h, uint32_t group, uint32_t chunk,
                                  uint32_t class_, uint64_t *number)
{
    uint32_t words = quarry_slabs_words(quarry_slabs_slots(h, class_));
    const uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    int clear = 0;
    SIMT_ROLLED
    for (uint32_t i = simt_rank(group); i < words; i += simt_popc_u32(group)) {
        uint64_t seen = simt_load_u64(&word[i], relaxed);
        *number += quarry_slabs_number(chunk * h->stride + i, (uint32_t)(seen >> 32));
        clear |= (uint32_t)seen != ~0u;
    }
    return simt_any(group, clear);
}

/* Cursors of a part: what other classes' have left becomes free, and one of the own class is what is looked for. */
SIMT_FN void quarry_slabs_sweep_cursors(const struct quarry_slabs_need *need, uint32_t group, uint32_t from,
                                        uint32_t to, uint32_t size, uint32_t *page, int *dirty,
                                        uint64_t *number)
{
    const struct quarry_slabs *h = need->slabs;
    SIMT_ROLLED
    for (uint32_t base = from; base < to; base += simt_popc_u32(group)) {
        uint32_t i = base + simt_rank(group), rest = 0, class_ = i / h->cursors;
        if (i < to) {
            uint64_t now = simt_load_u64(&h->cursor[i], relaxed);
            *number +=
                quarry_slabs_number(~(h->pages.count + i), (uint32_t)(now >> QUARRY_SLABS_LIFE) & 0xfffu);
            rest = quarry_slabs_next(now) < quarry_slabs_slots(h, class_);
        }
        uint32_t own = simt_ballot(group, rest && class_ == need->class_);
        *dirty |= simt_any(group, rest);
        if (own)
            *page = h->pages.count + simt_shuffle_u32(group, i, simt_ctz_u32(own));
        if (rest && class_ != need->class_ && (QUARRY_SWEEP_CLASS | class_) != size)
            quarry_slabs_retire(h, i);
    }
    simt_sync(group);
}

/* A sweep's part: its `page` is a chunk, or the first of a row, or h->pages.count + a cursor's number, that seems to
 * have what the group needs.  Nothing is taken here. */
SIMT_FN uint64_t quarry_slabs_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                         uint32_t pass, uint32_t part, uint32_t size, uint32_t *page,
                                         int *dirty)
{
    const struct quarry_slabs_need *need = (const struct quarry_slabs_need *)heap;
    const struct quarry_slabs *h = need->slabs;
    uint32_t chunks = h->pages.count, items = chunks + h->classes * h->cursors, run = 0;
    struct quarry_sweep_items of = quarry_sweep_cut(items, part, h->parts);
    uint32_t from = of.first, to = of.end;
    uint32_t width = simt_popc_u32(group), turn = size & ~QUARRY_SWEEP_CLASS;
    int large = !(size & QUARRY_SWEEP_CLASS), class_ = need->chunks == 0;
    uint64_t number = 0, mine = 0;
    (void)r;
    (void)pass;
    SIMT_ROLLED
    for (uint32_t i = from; *page == QUARRY_NO_PAGE && i < chunks && (i < to || run); i++) {
        if ((i - from) % width == 0)
            mine = i + simt_rank(group) < chunks ? quarry_slabs_kind(h, i + simt_rank(group)) : 0;
        uint64_t kind = simt_shuffle_u64(group, mine, quarry_lane_of_rank(group, (i - from) % width));
        enum quarry_slabs_state state = quarry_slabs_state(kind);
        uint32_t its = quarry_slabs_kind_class(kind);
        int vacant = state == QUARRY_SLABS_IS_FREE || state == QUARRY_SLABS_IS_MOVING;
        int fits = vacant, own = 0; /* the turn; the group */
        if (simt_rank(group) == 0)
            number += quarry_slabs_number(~i, (uint32_t)(kind >> 34));
        if (state == QUARRY_SLABS_IS_BOUND && !large && its == turn) {
            fits = quarry_slabs_has_slot(h, group, i, its, &number);
        } else if (state == QUARRY_SLABS_IS_BOUND) { /* the number is the turn's, whoever reads */
            uint64_t unused = 0;
            fits = vacant = quarry_slabs_is_empty(h, group, i, kind, &number);
            if (large && vacant)
                (void)quarry_slabs_close(h, group, i, kind);
            else if (its == need->class_)
                own = quarry_slabs_has_slot(h, group, i, its, &unused);
        }
        run = large && vacant ? run + 1u : 0;
        *dirty |= large ? run >= turn : fits;
        own |= fits && state != QUARRY_SLABS_IS_MOVING && (vacant || its == need->class_);
        if (class_ ? own : run != 0 && run >= need->chunks)
            *page = class_ ? i : i + 1u - run;
        run = run < turn ? run : 0;
    }
    if (*page == QUARRY_NO_PAGE && to > chunks)
        quarry_slabs_sweep_cursors(need, group, from > chunks ? from - chunks : 0, to - chunks, size, page,
                                   dirty, &number);
    *dirty |= *page != QUARRY_NO_PAGE; /* also if the turn is about something else: the rest was not read */
    simt_fence(acq_rel);               /* what was read, before what the next pass reads */
    return number;
}

/* Looks for what a group needs.
 *   class_   the same of all lanes, or h->classes for a large block
 *   chunks   of that block; else 0
 * Returns a page of quarry_slabs_sweep_part to all of them; or QUARRY_NO_PAGE: then at some instant during the call
 * nothing fitted.  Scope: group, reconverged.  Progress: as quarry_sweep_search. */
SIMT_FN uint32_t quarry_slabs_search(const struct quarry_slabs *h, uint32_t group, uint32_t class_,
                                     uint32_t chunks)
{
    struct quarry_slabs_need need;
    struct quarry_sweep_plan plan;
    struct quarry_random unused = {0, 0};
    need.slabs = h;
    need.class_ = class_;
    need.chunks = chunks;
    plan.sweep = h->sweep;
    plan.heap = &need;
    plan.sweep_part = quarry_slabs_sweep_part;
    plan.parts = h->parts;
    plan.kinds = 2;
    plan.size = chunks ? chunks : QUARRY_SWEEP_CLASS | class_;
    plan.in_order = 0;
    return quarry_sweep_search(&plan, &unused, group, QUARRY_NO_PAGE);
}

#endif
