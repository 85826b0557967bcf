/* SPDX-License-Identifier: Apache-2.0 */
/* slabs: chunks of slots of one size, which hints lead to.  One allocator, `quarry`.
 *
 * The pool is cut into chunks.  A chunk that is in use is bound to a size class, and has slots of that size; when none
 * is live it can be bound to another one.  A larger block is a row of chunks.  The pool's map, who may change what, and
 * the orders: alloc/slabs/slabs_map.h.  Why NULL is only returned from a full heap: alloc/slabs/slabs_sweep.h.
 *
 *   malloc  of a class, for lanes that come together:
 *           1. A hint: a word that had free slots when this warp, or who had its number before, last saw it.  One
 *              compare-exchange takes as many as are wanted.
 *           2. A cursor: one add, for slots of a chunk that nobody has used yet since it was bound.
 *           3. The cursor has none left: one group looks at a few kinds, binds a free chunk, and fills it.  From here
 *              on all lanes of the warp look for one class after the other.
 *           4. There seems to be no free chunk: look at chunks of the class, and take slots that were freed; then
 *              close one of another class without a live slot.
 *           5. Sweep with all others that get here.  It finds what fits, closes chunks without a live slot, takes from
 *              cursors what they have left, or proves that there is nothing.
 *   free    Clear the slot's bit.  Lanes whose slots are in one word do it together; from 8 on, or if slots are large,
 *           the word becomes the hint of this warp.  Nobody counts, and nobody looks whether the chunk is empty now.
 *   large   Find a row of free chunks, and claim each; else sweep.
 *
 * docs/reference/alloc/slabs.md has the drawing, and what else was considered. */
#ifndef QUARRY_ALLOC_SLABS_H
#define QUARRY_ALLOC_SLABS_H

#include "quarry/alloc/alloc.h"
#include "quarry/alloc/slabs/slabs_map.h"
#include "quarry/alloc/slabs/slabs_sweep.h"
#include "quarry/alloc/slabs/slabs_census.h"

#define QUARRY_SLABS_HINT 8u      /* slots of a word that are freed together, for it to become a hint */
#define QUARRY_SLABS_BLIND 8u     /* units of a slot from which fewer are a hint, too */
#define QUARRY_SLABS_SAMPLES 4u   /* looks at kinds, each of as many as lanes look, for a free chunk; */
#define QUARRY_SLABS_WALKS 4u     /* and for chunks of the class; */
#define QUARRY_SLABS_LOOKS 8u     /* and for chunks for single large blocks */
#define QUARRY_SLABS_PATIENCE 32u /* backoffs until somebody else has filled a cursor, at most */
#define QUARRY_SLABS_TIDY 32u     /* chunks that are closed together, at least, for large blocks */
#define QUARRY_SLABS_FILLS 12u    /* tries to fill a cursor, the more the wider; */
#define QUARRY_SLABS_TRIES 4u     /* and rows of free chunks that others take at the same time */

#define QUARRY_SLABS_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES)

/* ---- slots ---- */

/* Hands out slots of a word, or of a cursor, to lanes that need one, lower lanes lower ones.
 *   first, bits, n   of lane `giver`: the place of the word's first slot and the bits that were taken; or the first
 *                    place of n in a row, and 0
 *   place            the caller's, or QUARRY_SLABS_NONE
 * Returns the caller's place.  Scope: group. */
SIMT_FN uint64_t quarry_slabs_deal(uint32_t group, uint32_t giver, uint64_t first, uint32_t bits, uint32_t n,
                                   uint64_t place)
{
    uint32_t needs = simt_ballot(group, place == QUARRY_SLABS_NONE), k = simt_rank(needs);
    first = simt_shuffle_u64(group, first, giver);
    bits = simt_shuffle_u32(group, bits, giver);
    n = simt_shuffle_u32(group, n, giver);
    if (place != QUARRY_SLABS_NONE)
        return place;
    if (bits != 0)
        return k < simt_popc_u32(bits) ? first + quarry_kth_of_run_u32(bits, k + 1u) : place;
    return k < n ? first + k : place;
}

/* Adds to a cursor for all lanes of the group that need a slot.
 *   index   of the cursor, as the group's first lane has it */
SIMT_FN uint64_t quarry_slabs_draw(const struct quarry_slabs *h, uint32_t group, uint32_t index,
                                   uint32_t class_, uint64_t place)
{
    uint32_t needs = simt_popc_u32(simt_ballot(group, place == QUARRY_SLABS_NONE)), got = 0;
    uint64_t first = 0;
    if (simt_rank(group) == 0)
        first = quarry_slabs_add(&h->cursor[index], quarry_slabs_slots(h, class_), needs, &got);
    return quarry_slabs_deal(group, simt_ctz_u32(group), first, 0, got, place);
}

/* Leaves a hint for the class: a word, and what it holds. */
SIMT_FN void quarry_slabs_leave(const struct quarry_slabs *h, uint32_t class_, uint64_t first, uint64_t seen)
{
    uint64_t *hint = quarry_slabs_hint(h, class_);
    simt_store_u64(&hint[0], first, relaxed);
    simt_store_u64(&hint[1], seen, relaxed);
}

/* Steps 1 and 2.  Returns the caller's place or QUARRY_SLABS_NONE. */
SIMT_FN uint64_t quarry_slabs_new(const struct quarry_slabs *h, uint32_t group, uint32_t class_)
{
    uint32_t bits = 0, spread = 0;
    uint64_t first = 0, place;
    if (simt_rank(group) == 0) {
        spread = simt_load_u32(&h->spread[class_], relaxed);
        uint64_t *hint = quarry_slabs_hint(h, class_);
        uint64_t seen = simt_load_u64(&hint[1], relaxed);
        first = simt_load_u64(&hint[0], relaxed); /* perhaps not of the same word: then the exchange fails */
        if (quarry_slabs_is_of(seen, class_)) {
            bits = quarry_slabs_take(quarry_slabs_word(h, first), &seen, class_, simt_popc_u32(group));
            simt_store_u64(&hint[1], quarry_slabs_is_of(seen, class_) && (uint32_t)seen != ~0u ? seen : 0,
                           relaxed);
        }
    }
    place = quarry_slabs_deal(group, simt_ctz_u32(group), first, bits, 0, QUARRY_SLABS_NONE);
    if (simt_any(group, place == QUARRY_SLABS_NONE) && !simt_any(group, spread & QUARRY_SLABS_BARREN))
        place = quarry_slabs_draw(h, group, quarry_slabs_own_cursor(h, class_, spread, 0), class_, place);
    return place;
}

/* Does a chunk of another class seem to have no live slot?  Looks at two of its words. */
SIMT_FN int quarry_slabs_seems_vacant(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind,
                                      uint32_t class_)
{
    uint32_t other = quarry_slabs_kind_class(kind), last;
    if (quarry_slabs_state(kind) != QUARRY_SLABS_IS_BOUND || other == class_)
        return 0;
    uint32_t slots = quarry_slabs_slots(h, other);
    const uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    last = quarry_slabs_words(slots) - 1u;
    return (((uint32_t)simt_load_u64(&word[0], relaxed) & ~quarry_slabs_from(0, slots)) |
            ((uint32_t)simt_load_u64(&word[last], relaxed) & ~quarry_slabs_from(last, slots))) == 0;
}

/* Does a lane of the group need a place? */
SIMT_FN int quarry_slabs_still(const struct quarry_slabs_need *need)
{
    return simt_any(need->group, need->place == QUARRY_SLABS_NONE);
}

/* Step 3, its first part: the group is to fill the warp's cursor, which nobody else does then; or waits a while for who
 * does that, and takes from it.  Who needs half of a chunk's slots takes one without a cursor.  Sets need->cursor to
 * the one to fill, or to QUARRY_NO_PAGE.  Returns whether the group is to get a chunk. */
SIMT_NOINLINE_FN int quarry_slabs_ask(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_;
    uint32_t leader = simt_ctz_u32(group), slots = quarry_slabs_slots(h, class_), index = 0;
    int fills = 0, seen = 1;
    need->cursor = QUARRY_NO_PAGE;
    if (2u * simt_popc_u32(simt_ballot(group, need->place == QUARRY_SLABS_NONE)) >= slots)
        return 1;
    if (simt_rank(group) == 0) {
        index = quarry_slabs_own_cursor(h, class_, simt_load_u32(&h->spread[class_], relaxed), need->tries);
        uint64_t *cursor = &h->cursor[index];
        uint64_t now = simt_or_u64(cursor, QUARRY_SLABS_BUSY, relaxed), life = now >> QUARRY_SLABS_LIFE;
        fills = !(now & QUARRY_SLABS_BUSY);
        SIMT_ROLLED
        for (uint32_t i = 0; !fills && i < QUARRY_SLABS_PATIENCE && (now & QUARRY_SLABS_BUSY); i++) {
            SIMT_ROLLED
            for (uint32_t k = 0; k < 1u << (i < 4u ? i : 4u); k++)
                simt_backoff(); /* what those read who wait, who fills writes */
            now = simt_load_u64(cursor, relaxed);
        }
        if (!fills && !(now & QUARRY_SLABS_BUSY) && (now | QUARRY_SLABS_BUSY) >> QUARRY_SLABS_LIFE == life)
            seen = 0;                                  /* it was not filled: there was no chunk for it */
        if (fills && quarry_slabs_next(now) < slots) { /* somebody has been faster */
            (void)simt_and_u64(cursor, ~QUARRY_SLABS_BUSY, relaxed);
            fills = 0;
        }
        need->asked = quarry_slabs_next(now);
    }
    index = simt_shuffle_u32(group, index, leader);
    need->seen = simt_all(group, seen);
    if (simt_any(group, fills)) {
        need->cursor = index;
        return 1;
    }
    if (need->seen)
        need->place = quarry_slabs_draw(h, group, index, class_, need->place);
    return 0;
}

/* Looks for a free chunk at random, and claims it; with need->closes also for one of another class without a live slot.
 * Sets need->page to it, or to QUARRY_NO_PAGE. */
SIMT_NOINLINE_FN void quarry_slabs_sample(struct quarry_slabs_need *need)
{
    const uint32_t group = need->group;
    struct quarry_random r = quarry_random_start();
    SIMT_ROLLED
    for (uint32_t look = 0; look < QUARRY_SLABS_SAMPLES; look++) {
        const struct quarry_slabs *h = need->slabs;
        uint32_t count = h->pages.count, leader = simt_ctz_u32(group);
        uint32_t i = simt_shuffle_u32(group, quarry_random_below(&r, count), leader) + simt_rank(group);
        i -= i >= count ? count : 0;
        uint64_t kind = i < count ? quarry_slabs_kind(h, i) : (uint64_t)QUARRY_SLABS_IS_LARGE;
        uint32_t spare = simt_ballot(group, quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE);
        if (spare == 0 && need->closes) {
            uint32_t vacant = simt_ballot(group, quarry_slabs_seems_vacant(h, i, kind, need->class_));
            uint32_t lane = vacant ? simt_ctz_u32(vacant) : leader;
            uint32_t chunk = simt_shuffle_u32(group, i, lane);
            kind = simt_shuffle_u64(group, kind, lane);
            if (vacant && quarry_slabs_close(h, group, chunk, kind)) {
                kind = quarry_slabs_kind(h, chunk);
                spare = 1u << lane;
            }
        }
        if (spare == 0)
            continue;
        need->dense = quarry_divide_u32(SIMT_LANES * simt_popc_u32(spare), simt_popc_u32(group));
        uint32_t lane = simt_ctz_u32(spare);
        int mine = simt_lane() == lane && quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE;
        if (simt_any(group, mine && quarry_slabs_hold(h, i, kind, need->class_))) {
            need->page = simt_shuffle_u32(group, i, lane);
            return;
        }
    }
    need->page = QUARRY_NO_PAGE;
}

/* Has chunk need->page, which the group holds, serve it.  Then the cursor has it that the group is to fill; without
 * one, whoever looks for slots.  If there is no chunk, the cursor goes back empty. */
SIMT_NOINLINE_FN void quarry_slabs_fill(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_, chunk = need->page, index = need->cursor;
    const int alone = index == QUARRY_NO_PAGE;
    if (chunk == QUARRY_NO_PAGE) {
        if (simt_rank(group) == 0) {
            quarry_slabs_adapt(h, class_, 0, 0, 1);
            if (!alone)
                (void)simt_and_u64(&h->cursor[index], ~QUARRY_SLABS_BUSY, relaxed);
        }
        need->seen = 0;
        return;
    }
    uint32_t needs = simt_popc_u32(simt_ballot(group, need->place == QUARRY_SLABS_NONE));
    uint32_t slots = quarry_slabs_slots(h, class_), got = needs < slots ? needs : slots;
    quarry_slabs_bind(h, group, chunk, class_, alone ? got : slots);
    if (simt_rank(group) == 0) {
        if (!alone) {
            uint64_t *cursor = &h->cursor[index], now = simt_load_u64(cursor, relaxed);
            uint64_t life = (now & ~QUARRY_SLABS_BUSY) >> QUARRY_SLABS_LIFE;
            uint64_t full = ((life + 1u) << QUARRY_SLABS_LIFE & ~QUARRY_SLABS_BUSY) |
                            (uint64_t)chunk << QUARRY_SLABS_CHUNK | got;
            simt_store_u64(cursor, full, release); /* pairs with adds; only then the chunk moves no more */
            quarry_slabs_adapt(h, class_, need->dense, quarry_slabs_next(now) - need->asked, slots);
        }
        quarry_slabs_let_go(h, chunk, QUARRY_SLABS_IS_BOUND, class_,
                            alone ? 0 : index - class_ * h->cursors + 1u);
        if (alone && slots - got >= QUARRY_SLABS_HINT) {
            uint32_t word = got / QUARRY_SLABS_BITS;
            uint32_t taken = ~quarry_slabs_from(word, got) | quarry_slabs_from(word, slots);
            quarry_slabs_leave(h, class_, quarry_slabs_place(chunk, word * QUARRY_SLABS_BITS),
                               quarry_slabs_change(0, class_, taken));
        }
    }
    need->place =
        quarry_slabs_deal(group, simt_ctz_u32(group), quarry_slabs_place(chunk, 0), 0, got, need->place);
}

/* Takes slots of chunk need->page, of the class, from its word number need->start on, for lanes that need one. */
SIMT_NOINLINE_FN void quarry_slabs_take_from(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t chunk = need->page, start = need->start;
    const uint32_t group = need->group, class_ = need->class_;
    uint32_t words = quarry_slabs_words(quarry_slabs_slots(h, class_)), width = simt_popc_u32(group);
    uint32_t needs = simt_ballot(group, need->place == QUARRY_SLABS_NONE);
    SIMT_ROLLED
    for (uint32_t base = 0; base < words && needs; base += width) {
        uint32_t i = base + simt_rank(group) + start, asked = simt_popc_u32(needs);
        i -= i >= words ? words : 0;
        uint64_t first = quarry_slabs_place(chunk, i * QUARRY_SLABS_BITS), seen = 0;
        uint64_t *word = quarry_slabs_word(h, first);
        if (base + simt_rank(group) < words)
            seen = simt_load_u64(word, relaxed);
        uint32_t clear = quarry_slabs_is_of(seen, class_) ? simt_popc_u32(~(uint32_t)seen) : 0;
        uint32_t to = quarry_scan_add_u32(group, clear), from = to - clear, bits = 0;
        if (clear && from < asked)
            bits = quarry_slabs_take(word, &seen, class_, (to < asked ? to : asked) - from);
        if (bits && simt_popc_u32(~(uint32_t)seen) >= QUARRY_SLABS_HINT)
            quarry_slabs_leave(h, class_, first, seen);
        SIMT_ROLLED
        for (uint32_t givers = simt_ballot(group, bits); givers; givers &= givers - 1u)
            need->place = quarry_slabs_deal(group, simt_ctz_u32(givers), first, bits, 0, need->place);
        needs = simt_ballot(group, need->place == QUARRY_SLABS_NONE);
    }
}

/* Looks at kinds at random.  Sets need->page to a chunk of the class, and need->start to one of its words.
 * Returns 0 if there is none among all that may be looked at. */
SIMT_NOINLINE_FN int quarry_slabs_look_round(struct quarry_slabs_need *need)
{
    const uint32_t group = need->group, leader = simt_ctz_u32(group);
    SIMT_ROLLED
    while (need->ours == 0 && need->looks < QUARRY_SLABS_WALKS) {
        const struct quarry_slabs *h = need->slabs;
        struct quarry_random r = quarry_random_start();
        uint32_t count = h->pages.count, words = quarry_slabs_words(quarry_slabs_slots(h, need->class_));
        uint32_t i = simt_shuffle_u32(group, quarry_random_below(&r, count), leader) + simt_rank(group);
        need->start = simt_shuffle_u32(group, quarry_random_below(&r, words), leader);
        i -= i >= count ? count : 0;
        need->own = i;
        need->ours =
            simt_ballot(group, i < count && quarry_slabs_is_bound(quarry_slabs_kind(h, i), need->class_));
        need->looks++;
    }
    if (need->ours == 0)
        return 0;
    need->page = simt_shuffle_u32(group, need->own, simt_ctz_u32(need->ours));
    need->ours &= need->ours - 1u;
    return 1;
}

/* Step 4: takes slots of chunks of the class that are found at random. */
SIMT_FN void quarry_slabs_walk(struct quarry_slabs_need *need)
{
    need->looks = need->ours = 0;
    SIMT_ROLLED
    while (quarry_slabs_still(need) && quarry_slabs_look_round(need))
        quarry_slabs_take_from(need);
}

/* Step 5: closes what a sweep has found, if no slot of it is live, as it seemed; for large blocks also some behind it,
 * so that not each of them sweeps.  Not chunks of the class. */
SIMT_NOINLINE_FN void quarry_slabs_tidy(const struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_, chunks = need->chunks, page = need->page;
    uint32_t most = chunks && chunks < QUARRY_SLABS_TIDY ? QUARRY_SLABS_TIDY : chunks + !chunks;
    int vacant = 1;
    SIMT_ROLLED
    for (uint32_t i = page; vacant && i < h->pages.count && i - page < most; i++) {
        uint64_t kind = simt_shuffle_u64(group, quarry_slabs_kind(h, i), simt_ctz_u32(group));
        if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND && !quarry_slabs_is_bound(kind, class_))
            vacant = quarry_slabs_close(h, group, i, kind);
    }
}

/* The same, for a class: uses what a sweep has found, if it is still there.  Returns QUARRY_SLABS_IS_BOUND if slots are
 * to be taken from chunk need->page; QUARRY_SLABS_IS_FREE if the group holds it, and is to fill it. */
SIMT_NOINLINE_FN enum quarry_slabs_state quarry_slabs_visit(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_, page = need->page;
    need->cursor = QUARRY_NO_PAGE;
    if (page >= h->pages.count) {
        need->place = quarry_slabs_draw(h, group, page - h->pages.count, class_, need->place);
        return QUARRY_SLABS_IS_MOVING;
    }
    uint64_t kind = simt_shuffle_u64(group, quarry_slabs_kind(h, page), simt_ctz_u32(group));
    if (quarry_slabs_is_bound(kind, class_))
        return QUARRY_SLABS_IS_BOUND;
    int held = 0;
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE && simt_rank(group) == 0)
        held = quarry_slabs_hold(h, page, kind, class_);
    return simt_any(group, held) ? QUARRY_SLABS_IS_FREE : QUARRY_SLABS_IS_MOVING;
}

/* ---- large blocks ---- */

/* A row of so many free chunks, from chunk `from` on; or QUARRY_NO_PAGE.  Scope: group. */
SIMT_FN uint32_t quarry_slabs_find_row(const struct quarry_slabs *h, uint32_t group, uint32_t from,
                                       uint32_t chunks)
{
    uint32_t width = simt_popc_u32(group), to = h->pages.count, run = 0;
    SIMT_ROLLED
    for (uint32_t base = from; base < to; base += width) {
        uint32_t i = base + simt_rank(group);
        int spare = i < to && quarry_slabs_state(quarry_slabs_kind(h, i)) == QUARRY_SLABS_IS_FREE;
        uint32_t free_ = simt_ballot(group, spare);
        if (free_ == 0) {
            run = 0;
            continue;
        }
        SIMT_ROLLED
        for (uint32_t k = 0; k < width; k++) {
            run = free_ >> quarry_lane_of_rank(group, k) & 1u ? run + 1u : 0;
            if (run == chunks)
                return base + k + 1u - chunks;
        }
    }
    return QUARRY_NO_PAGE;
}

/* Takes a row of chunks, all or none.  Returns whether it did.  Scope: group.  Order: sync before they are used. */
SIMT_FN int quarry_slabs_claim(const struct quarry_slabs *h, uint32_t group, uint32_t first, uint32_t chunks)
{
    uint32_t width = simt_popc_u32(group), i = simt_rank(group);
    int fine = 1;
    SIMT_ROLLED
    while (fine && i < chunks) {
        uint64_t kind = quarry_slabs_kind(h, first + i);
        fine = quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE && quarry_slabs_hold(h, first + i, kind, 0);
        i += fine ? width : 0;
    }
    int all = simt_all(group, fine);
    SIMT_ROLLED
    for (uint32_t k = simt_rank(group); k < i && k < chunks; k += width)
        quarry_slabs_let_go(h, first + k, all ? QUARRY_SLABS_IS_LARGE : QUARRY_SLABS_IS_FREE, 0,
                            all && k == 0 ? chunks : 0);
    return all;
}

/* Single chunks for all lanes of the group that find some, looking at a part of the heap, from need->page on, around.
 * Order: sync before they are used. */
SIMT_NOINLINE_FN void quarry_slabs_new_chunks(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, count = h->pages.count, from = need->page;
    uint64_t place = need->place;
    uint32_t needs = simt_ballot(group, place == QUARRY_SLABS_NONE), width = simt_popc_u32(group);
    SIMT_ROLLED
    for (uint32_t base = 0; base < count && base < QUARRY_SLABS_LOOKS * width && needs; base += width) {
        uint32_t i = base + simt_rank(group) + from;
        i -= i >= count ? count : 0;
        uint64_t kind =
            base + simt_rank(group) < count ? quarry_slabs_kind(h, i) : (uint64_t)QUARRY_SLABS_IS_LARGE;
        uint32_t spare = simt_ballot(group, quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE);
        int held = quarry_share_gives(spare, needs) && quarry_slabs_hold(h, i, kind, 0);
        if (held)
            quarry_slabs_let_go(h, i, QUARRY_SLABS_IS_LARGE, 0, 1u);
        uint32_t has = simt_ballot(group, held), got = quarry_share_u32(group, has, needs, i);
        place = quarry_share_takes(has, needs) ? quarry_slabs_place(got, 0) : place;
        needs = simt_ballot(group, place == QUARRY_SLABS_NONE);
    }
    need->place = place;
}

/* Rows of several chunks for lanes that need one, as far as some seem free; looked for from need->page on, around. */
SIMT_NOINLINE_FN void quarry_slabs_new_long_rows(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, chunks = need->chunks;
    uint32_t from = need->page, tries = 0;
    uint64_t place = need->place;
    SIMT_ROLLED
    while (tries < QUARRY_SLABS_TRIES && simt_any(group, place == QUARRY_SLABS_NONE)) {
        uint32_t page = quarry_slabs_find_row(h, group, from, chunks);
        if (page == QUARRY_NO_PAGE && from == 0)
            break;
        from = page == QUARRY_NO_PAGE ? 0 : page + chunks;
        if (page != QUARRY_NO_PAGE && quarry_slabs_claim(h, group, page, chunks)) {
            place = quarry_slabs_deal(group, simt_ctz_u32(group), quarry_slabs_place(page, 0), 0, 1u, place);
            tries = 0;
        } else if (page != QUARRY_NO_PAGE) {
            tries++;
        }
    }
    need->place = place;
}

/* Rows of as many chunks as are needed, likewise. */
SIMT_FN void quarry_slabs_new_rows(struct quarry_slabs_need *need)
{
    if (need->chunks == 1u)
        quarry_slabs_new_chunks(need);
    else
        quarry_slabs_new_long_rows(need);
}

/* ---- malloc and free ---- */

/* What most mallocs don't need is out of line: with all that is inlined a kernel has some thousand instructions more
 * for each call.  In the switch over all allocators the whole malloc is.  What these get is the pool's copy of the
 * heap's struct: if the address of the handle's went out, a kernel would copy its handle into local memory at every
 * malloc. */
#ifdef QUARRY_ALLOCATOR
#define QUARRY_SLABS_MORE_FN SIMT_NOINLINE_FN
#define QUARRY_SLABS_TAKE_FN SIMT_FN
#define QUARRY_SLABS_OF(h) (h)
#else
#define QUARRY_SLABS_MORE_FN SIMT_FN
#define QUARRY_SLABS_TAKE_FN SIMT_NOINLINE_FN
#define QUARRY_SLABS_OF(h) quarry_slabs_copy(h, simt_sm())
#endif

/* Steps 3 to 5 for a class, or a large block: of all lanes, those look for themselves whose place is none. */
SIMT_FN void quarry_slabs_look_for(struct quarry_slabs_need *need)
{
    need->closes = 0;
    if (need->chunks == 0) {
        uint32_t spread = simt_load_u32(&need->slabs->spread[need->class_], relaxed);
        if (simt_any(need->group, spread & QUARRY_SLABS_BARREN))
            quarry_slabs_walk(need);
        SIMT_ROLLED
        for (need->tries = 0; need->tries < QUARRY_SLABS_FILLS && quarry_slabs_still(need); need->tries++) {
            need->seen = 1;
            if (quarry_slabs_ask(need)) {
                quarry_slabs_sample(need);
                quarry_slabs_fill(need);
            }
            if (need->seen)
                continue;
            if (need->closes)
                break;
            quarry_slabs_walk(need);
            need->closes = 1;
        }
    } else {
        /* Rows at a multiple of their length, so that those of one length leave no gaps. */
        struct quarry_random r = quarry_random_start();
        uint32_t page = quarry_random_below(&r, need->slabs->pages.count / need->chunks) * need->chunks;
        need->page = simt_shuffle_u32(need->group, page, simt_ctz_u32(need->group));
        quarry_slabs_new_rows(need);
    }
    need->start = 0;
    SIMT_ROLLED
    while (quarry_slabs_still(need)) {
        quarry_slabs_search(need);
        if (need->page == QUARRY_NO_PAGE)
            break;
        quarry_slabs_tidy(need);
        if (need->chunks) {
            quarry_slabs_new_rows(need);
            continue;
        }
        enum quarry_slabs_state state = quarry_slabs_visit(need);
        if (state == QUARRY_SLABS_IS_FREE)
            quarry_slabs_fill(need);
        else if (state == QUARRY_SLABS_IS_BOUND)
            quarry_slabs_take_from(need);
    }
}

/* The same for all lanes of the warp that ask this heap: the calls of one class after the other, and all lanes look.
 * Returns the caller's place. */
QUARRY_SLABS_MORE_FN uint64_t quarry_slabs_more_of(const struct quarry_slabs *h, uint32_t all,
                                                   uint32_t class_, uint32_t chunks, uint64_t place)
{
    struct quarry_slabs_need need;
    need.slabs = h;
    need.group = all;
    need.its_class = class_;
    need.its_chunks = chunks;
    need.its_place = place;
    need.asked = 0;
    need.dense = 0;
    need.left = simt_ballot(all, place == QUARRY_SLABS_NONE);
    SIMT_ROLLED
    while (need.left) {
        need.class_ = simt_shuffle_u32(need.group, need.its_class, simt_ctz_u32(need.left));
        need.chunks = simt_shuffle_u32(need.group, need.its_chunks, simt_ctz_u32(need.left));
        int ours = need.class_ == need.its_class && need.chunks == need.its_chunks;
        need.left &= ~simt_ballot(need.group, ours);
        need.place = ours ? need.its_place : 0;
        quarry_slabs_look_for(&need);
        if (need.class_ == need.its_class && need.chunks == need.its_chunks)
            need.its_place = need.place;
    }
    return need.its_place;
}

/* A block, or NULL. */
QUARRY_SLABS_TAKE_FN void *quarry_slabs_take_block(const struct quarry_slabs *h, uint64_t bytes)
{
    uint32_t class_ = quarry_slabs_class(h, bytes), chunks = 0;
    uint64_t place = QUARRY_SLABS_NONE;
    if (class_ >= h->classes) {
        class_ = h->classes;
        chunks = quarry_page_count(&h->pages, bytes);
    }
    uint32_t all = quarry_group(h->kinds, QUARRY_SITE_SLABS_MALLOC);
    uint32_t group = simt_match_u32(all, class_ + chunks);
    if (chunks == 0)
        place = quarry_slabs_new(h, group, class_);
    if (simt_any(all, place == QUARRY_SLABS_NONE))
        place = quarry_slabs_more_of(quarry_slabs_copy(h, simt_sm()), all, class_, chunks, place);
    simt_sync(all); /* what one acquired, each has */
    if (place == QUARRY_SLABS_NONE)
        return SIMT_NULL;
    return (unsigned char *)quarry_page_address(&h->pages, (uint32_t)(place >> 16)) +
           ((uint64_t)((uint32_t)place & 0xffffu) * quarry_slabs_units(h, class_) << h->unit_log);
}

/* Progress: steps 1 to 4 wait for nobody, but for a bounded time for who fills a cursor; on a heap that seems full, as
 * quarry_sweep_search. */
SIMT_FN void *quarry_slabs_malloc(const struct quarry_slabs *h, struct quarry_context *context,
                                  uint64_t bytes)
{
    quarry_step(context);
    return quarry_slabs_take_block(QUARRY_SLABS_OF(h), bytes);
}

/* Frees a large block, by any address in it. */
SIMT_FN void quarry_slabs_free_row(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind)
{
    uint32_t first = quarry_slabs_head(h, chunk, &kind), chunks = quarry_slabs_more(kind);
    /* Order: what the caller did, before the chunks are free.  Of two who free the block one does it. */
    int live = chunks != 0 && chunks <= h->pages.count - first && quarry_slabs_hold(h, first, kind, 0);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    SIMT_ROLLED
    for (uint32_t i = chunks; i > 0; i--)
        quarry_slabs_let_go(h, first + i - 1u, QUARRY_SLABS_IS_FREE, 0, 0);
}

/* Progress: lanes of a warp that free slots of a word together wait for each other, and for nobody else. */
SIMT_FN void quarry_slabs_free(const struct quarry_slabs *h, void *block)
{
    struct quarry_slabs_where w = quarry_slabs_locate(h, block);
    if (w.page != QUARRY_NO_PAGE && quarry_slabs_state(w.kind) == QUARRY_SLABS_IS_LARGE) {
        quarry_slabs_free_row(h, w.page, w.kind);
        return;
    }
    QUARRY_ASSERT_LIVE(quarry_slabs_is_live(h, &w));
    if (!w.is_slot)
        return;
    uint64_t first = quarry_slabs_place(w.page, w.slot / QUARRY_SLABS_BITS * QUARRY_SLABS_BITS);
    uint64_t *word = quarry_slabs_word(h, first);
    uint32_t group = quarry_group(word, QUARRY_SITE_SLABS_FREE);
    uint64_t bits = simt_reduce_or_u32(group, 1u << w.slot % QUARRY_SLABS_BITS);
    QUARRY_ASSERT_LIVE(simt_popc_u64(bits) == simt_popc_u32(group)); /* each lane another slot */
    simt_sync(group); /* what each did, before the first lane's release */
    if (simt_rank(group) == 0) {
        if (simt_popc_u64(bits) < QUARRY_SLABS_HINT) {
            (void)simt_and_u64(word, ~bits, release); /* pairs with takes */
            uint32_t class_ = quarry_slabs_kind_class(w.kind);
            if (quarry_slabs_units(h, class_) >= QUARRY_SLABS_BLIND)
                quarry_slabs_leave(h, class_, first, quarry_slabs_change(0, class_, (uint32_t)~bits));
        } else {
            uint64_t now = simt_and_u64(word, ~bits, release) & ~bits;
            quarry_slabs_leave(h, quarry_slabs_kind_class(w.kind), first, now);
        }
    }
    simt_sync(group); /* none goes on whose slot still looks taken */
}

#define quarry_slabs_settle QUARRY_NOTHING_TO_SETTLE

/* Makes two blocks of the caller's row of chunks: the second begins with chunk `at`. */
SIMT_FN void quarry_slabs_cut(const struct quarry_slabs *h, uint32_t first, uint32_t at, uint32_t end)
{
    quarry_slabs_let_go(h, at, QUARRY_SLABS_IS_LARGE, 0, end - at);
    quarry_slabs_let_go(h, first, QUARRY_SLABS_IS_LARGE, 0, at - first);
}

/* The trim of alloc.h: chunks before the user's become a block of their own, and are freed; likewise those behind.  A
 * slot stays as it is. */
SIMT_FN void quarry_slabs_trim(const struct quarry_slabs *h, void *block, void *user, uint64_t bytes)
{
    uint32_t row = quarry_page_index(&h->pages, block), first = quarry_page_index(&h->pages, user);
    uint64_t kind = quarry_slabs_kind(h, row);
    uint32_t last = quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1u);
    uint32_t end = row + quarry_slabs_more(kind);
    if (quarry_slabs_state(kind) != QUARRY_SLABS_IS_LARGE)
        return;
    if (first > row) {
        quarry_slabs_cut(h, row, first, end);
        quarry_slabs_free_row(h, row, quarry_slabs_kind(h, row));
    }
    if (last + 1u < end) {
        quarry_slabs_cut(h, first, last + 1u, end);
        quarry_slabs_free_row(h, last + 1u, quarry_slabs_kind(h, last + 1u));
    }
}

#if SIMT_HAS_HOST
#define QUARRY_SLABS_MOST_BYTES (1u << 18) /* of a chunk, unless the user says so */
#define QUARRY_SLABS_PAGE_BYTES (1u << 16) /* the same where only the number of chunks is known */
#define QUARRY_SLABS_LEAST_BYTES (1u << 10)
#define QUARRY_SLABS_DEBUG_UNIT 128u /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_SLABS_COPIES 128u     /* of the heap's struct, at most: a multiprocessor's warps read one */
#define QUARRY_SLABS_CURSORS 512u    /* of a class, at most; and at most one for 64 chunks */
#define QUARRY_SLABS_HINTS 8192u     /* rows of hints, at most; and in all at most a 512th of the heap */

/* The classes of chunks of h->units units: no slot has more than half of them. */
SIMT_HOST_FN void quarry_slabs_set_classes(struct quarry_slabs *h)
{
    uint32_t each = 1u << QUARRY_SLABS_STEPS;
    h->steps = each;
    for (h->stepped = each; 64u * h->stepped < h->units; h->stepped *= 2u)
        h->steps += each;
    h->by = h->steps + (h->units > h->stepped ? h->units / (h->stepped + 1u) : 1u);
    h->classes = h->by - 1u;
    while (h->classes > 0 && h->classes <= h->steps && 2u * QUARRY_SLABS_STEPPED(h->classes - 1u) > h->units)
        h->classes--;
}

/* The chunk for a pool of so many bytes: 2048 chunks or a few less, if that leaves 4 KiB for each, and at least 64. */
SIMT_HOST_FN uint64_t quarry_slabs_chunk_bytes(uint64_t pool)
{
    uint64_t bytes = QUARRY_SLABS_MOST_BYTES;
    while (bytes > 4u * QUARRY_SLABS_LEAST_BYTES && bytes > (pool + pool / 8u) / 2048u)
        bytes /= 2u;
    while (bytes > QUARRY_SLABS_LEAST_BYTES && bytes > pool / 64u)
        bytes /= 2u;
    return bytes;
}

/* The greatest power of two up to x and `most`; 1 if x is 0. */
SIMT_HOST_FN uint32_t quarry_slabs_power(uint64_t x, uint32_t most)
{
    uint32_t power = 1;
    while (power < most && 2u * (uint64_t)power <= x)
        power *= 2u;
    return power;
}

SIMT_STATIC_ASSERT(sizeof(struct quarry_slabs) <= QUARRY_SLABS_COPY, "a copy has room");

SIMT_HOST_FN void quarry_slabs_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_slabs *h = (struct quarry_slabs *)heap;
    uint64_t row = 2u * sizeof *h->hint * QUARRY_SLABS_COLUMNS;
    h->cursors = quarry_slabs_power(l->pages / 64u, QUARRY_SLABS_CURSORS);
    h->hints = quarry_slabs_power(l->pages * l->page_bytes / 512u / row, QUARRY_SLABS_HINTS);
    uint64_t cursors = (uint64_t)h->classes * h->cursors;
    h->parts = quarry_layout_parts(l->pages + cursors, QUARRY_SLABS_PART, QUARRY_SLABS_PART);
    h->copies = quarry_slabs_power(l->pages / 16u, QUARRY_SLABS_COPIES);
    h->self = (unsigned char *)quarry_layout_section(l, "self", h->copies * QUARRY_SLABS_COPY,
                                                     QUARRY_SECTION_ALIGN);
    h->sweep =
        (struct quarry_sweep *)quarry_layout_section(l, "sweep", sizeof *h->sweep, QUARRY_SECTION_ALIGN);
    h->kinds =
        (uint64_t *)quarry_layout_section(l, "kinds", l->pages * sizeof *h->kinds, QUARRY_SECTION_ALIGN);
    h->cursor =
        (uint64_t *)quarry_layout_section(l, "cursors", cursors * sizeof *h->cursor, QUARRY_SECTION_ALIGN);
    h->spread =
        (uint32_t *)quarry_layout_section(l, "spread", h->classes * sizeof *h->spread, QUARRY_SECTION_ALIGN);
    h->hint = (uint64_t *)quarry_layout_section(l, "hints", h->hints * row, QUARRY_SECTION_ALIGN);
    h->words = (uint64_t *)quarry_layout_section(l, "words", l->pages * h->stride * sizeof *h->words,
                                                 QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_slabs_layout(struct quarry_slabs *h, struct quarry_layout *l)
{
    uint64_t standard = l->pages ? QUARRY_SLABS_PAGE_BYTES : quarry_slabs_chunk_bytes(l->bytes);
    uint32_t unit;
    enum quarry_layout_result result = quarry_layout_unit(l, standard, QUARRY_SLABS_DEBUG_UNIT, &unit);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    h->unit_log = 0;
    while (1u << h->unit_log < unit)
        h->unit_log++;
    h->units = (uint32_t)(quarry_round_up(l->page_bytes, unit) >> h->unit_log);
    h->stride = QUARRY_SLABS_WORDS(h->units);
    quarry_slabs_set_classes(h);
    uint32_t most = UINT32_MAX / h->stride; /* words have numbers of 32 bits */
    result = quarry_layout_fit_units(l, quarry_slabs_sections, h,
                                     most < QUARRY_SLABS_MOST ? most : QUARRY_SLABS_MOST, unit);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->max_block = l->pages * h->pages.page_bytes;
    l->free_reach = l->max_block; /* a free finds the block by any address in it */
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
