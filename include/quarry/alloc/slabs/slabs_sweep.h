/* SPDX-License-Identifier: Apache-2.0 */
/* The proof of alloc/slabs.h that nothing fits, and what it finds instead.
 *
 * A malloc of a class fits into a chunk that is free, into a slot of its class, and into a chunk of any class without a
 * live slot.  A large block fits into a row of chunks that are free or have no live slot.
 *
 * A turn of core/sweep.h has two passes, and each reads everything: kinds, words and cursors.  Neither may see what
 * fits; nor, for a class, a chunk that moves, nor a cursor of the class that has slots left, nor one of another class
 * that has, and whose chunk has no live slot.  And both must read the same versions, and cursors that are as far: the
 * sum of a number that is made of each must be the same.  (Different versions have the same sum once in 2^64.)
 * Then nothing fitted between the passes:
 *   A slot that the second pass saw taken was taken then.  Else somebody has taken it since, and its word's version
 *   has changed since the first pass read it.  So a word without a clear bit had none then, and a chunk with a live
 *   slot had one.
 *   A chunk that neither pass saw moving, and whose kind has one version in both, did not move between them.
 *   A cursor that both saw empty, in one life, had nothing between them: it gets slots only in a new life.
 *   A cursor that both saw equally far, in one life, gave nothing between them: so a slot that it had given before, and
 *   that the second pass saw taken, was live between them, and its chunk was not empty.
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

/* What a lane saw of a chunk. */
enum {
    QUARRY_SLABS_SAW_VACANT = 1, /* it is free, or moves, or has no live slot */
    QUARRY_SLABS_SAW_MOVING = 2,
    QUARRY_SLABS_SAW_TURNS = 4, /* it has a clear bit, and the class that the turn is about; */
    QUARRY_SLABS_SAW_OURS = 8   /* the same of the class that the group looks for */
};

/* Looks at a chunk.
 *   size      that the turn is about
 *   *number   added to: of the turn's class, all words; else those up to the first that has a live slot.  So it is the
 *             same, whoever reads.
 * Returns what the caller saw.  It may be wrong in a moment. */
SIMT_FN uint32_t quarry_slabs_look(const struct quarry_slabs_need *need, uint32_t chunk, uint32_t size,
                                   uint64_t *number)
{
    const struct quarry_slabs *h = need->slabs;
    uint64_t kind = quarry_slabs_kind(h, chunk);
    uint32_t class_ = quarry_slabs_kind_class(kind), live = 0, clear = 0;
    const int turns = (QUARRY_SWEEP_CLASS | class_) == size, ours = class_ == need->class_;
    *number += quarry_slabs_number(~chunk, (uint32_t)(kind >> 34));
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE)
        return QUARRY_SLABS_SAW_VACANT;
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_MOVING)
        return QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_MOVING;
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_LARGE)
        return 0;
    const uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    uint32_t slots = quarry_slabs_slots(h, class_);
    SIMT_ROLLED
    for (uint32_t first = 0; first < slots && (turns || ours || !live); first += QUARRY_SLABS_BITS, word++) {
        uint64_t seen = simt_load_u64(word, relaxed);
        if (turns || !live)
            *number += quarry_slabs_number((uint32_t)(word - h->words), (uint32_t)(seen >> 32));
        live |= (uint32_t)seen & ~quarry_slabs_from(0, slots - first);
        clear |= ~(uint32_t)seen;
    }
    return (live ? 0u : QUARRY_SLABS_SAW_VACANT) | (turns && clear ? QUARRY_SLABS_SAW_TURNS : 0u) |
           (ours && clear ? QUARRY_SLABS_SAW_OURS : 0u);
}

/* Has a cursor's chunk a live slot, among those that the cursor has handed out?  Else a sweep may take the chunk.
 *   number   added to: of the words up to the first that has one */
SIMT_FN int quarry_slabs_is_used(const struct quarry_slabs *h, uint32_t class_, uint64_t cursor,
                                 uint64_t *number)
{
    uint32_t chunk = quarry_slabs_chunk(cursor), next = quarry_slabs_next(cursor);
    SIMT_ROLLED
    for (uint32_t i = 0; i < quarry_slabs_words(next); i++) {
        uint64_t seen =
            simt_load_u64(quarry_slabs_word(h, quarry_slabs_place(chunk, i * QUARRY_SLABS_BITS)), relaxed);
        *number += quarry_slabs_number(chunk * h->stride + i, (uint32_t)(seen >> 32));
        if (quarry_slabs_is_of(seen, class_) && ((uint32_t)seen & ~quarry_slabs_from(i, next)) != 0)
            return 1;
    }
    return 0;
}

/* Cursors of a part: one of the own class is what is looked for.  What another class's has left becomes free, if the
 * chunk has no live slot: then it can be closed. */
SIMT_FN void quarry_slabs_sweep_cursors(const struct quarry_slabs_need *need, uint32_t group, uint32_t from,
                                        uint32_t to, uint32_t size, uint32_t *page, int *dirty,
                                        uint64_t *number)
{
    const struct quarry_slabs *h = need->slabs;
    SIMT_ROLLED
    for (uint32_t base = from; base < to; base += simt_popc_u32(group)) {
        uint32_t i = base + simt_rank(group), class_ = i / h->cursors;
        int rest = 0, fits = 0; /* it has some left; for the turn */
        if (i < to) {
            uint64_t now = simt_load_u64(&h->cursor[i], relaxed);
            uint32_t next = quarry_slabs_next(now), slots = quarry_slabs_slots(h, class_);
            rest = next < slots;
            /* Its life, and how far it is: up to 2^16 slots. */
            *number += quarry_slabs_number(~(h->pages.count + i), (uint32_t)(now >> QUARRY_SLABS_LIFE) << 20 |
                                                                      (rest ? next : slots));
            fits = rest &&
                   ((QUARRY_SWEEP_CLASS | class_) == size || !quarry_slabs_is_used(h, class_, now, number));
        }
        uint32_t own = simt_ballot(group, rest && class_ == need->class_);
        *dirty |= simt_any(group, fits);
        if (own)
            *page = h->pages.count + simt_shuffle_u32(group, i, simt_ctz_u32(own));
        if (fits && class_ != need->class_ && (QUARRY_SWEEP_CLASS | class_) != size)
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
    uint32_t chunks = h->pages.count, width = simt_popc_u32(group), run = 0;
    struct quarry_sweep_items of = quarry_sweep_cut(chunks + h->classes * h->cursors, part, h->parts);
    uint32_t to = of.end < chunks ? of.end : chunks;
    uint64_t number = 0;
    (void)r;
    (void)pass;
    if (of.end > chunks)
        quarry_slabs_sweep_cursors(need, group, of.first > chunks ? of.first - chunks : 0, of.end - chunks,
                                   size, page, dirty, &number);
    if (!(size & QUARRY_SWEEP_CLASS)) /* a row that begins here may go on */
        to = chunks - to < size ? chunks : to + size - 1u;
    SIMT_ROLLED
    for (uint32_t base = of.first; base < to && *page == QUARRY_NO_PAGE; base += width) {
        uint32_t i = base + simt_rank(group), saw = 0;
        if (i < to)
            saw = quarry_slabs_look(need, i, size, &number);
        if (size & QUARRY_SWEEP_CLASS)
            *dirty |= simt_any(group, saw & (QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_TURNS));
        uint32_t own = simt_ballot(group, need->chunks == 0 && !(saw & QUARRY_SLABS_SAW_MOVING) &&
                                              (saw & (QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_OURS)));
        if (own)
            *page = simt_shuffle_u32(group, i, simt_ctz_u32(own));
        uint32_t vacant = simt_ballot(group, saw & QUARRY_SLABS_SAW_VACANT);
        SIMT_ROLLED
        for (uint32_t k = 0; k < width && !(size & QUARRY_SWEEP_CLASS); k++) {
            run = vacant >> quarry_lane_of_rank(group, k) & 1u ? run + 1u : 0;
            *dirty |= run >= size;
            if (need->chunks && run == need->chunks)
                *page = base + k + 1u - run;
        }
    }
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
