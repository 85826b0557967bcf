/* SPDX-License-Identifier: Apache-2.0 */
/* Steps 3 to 5 of a malloc of alloc/slabs.h, which few take, and large blocks; but step 4 at its cheapest, which is in
 * alloc/slabs/slabs_gather.h.
 *
 * Most are functions that are not inlined.  These get the address of one struct quarry_slabs_need
 * (alloc/slabs/slabs_sweep.h). */
#ifndef QUARRY_ALLOC_SLABS_MORE_H
#define QUARRY_ALLOC_SLABS_MORE_H

#include "quarry/alloc/slabs/slabs_map.h"
#include "quarry/alloc/slabs/slabs_slots.h"
#include "quarry/alloc/slabs/slabs_sweep.h"

#define QUARRY_SLABS_SAMPLES 4u   /* looks at kinds, each of as many as lanes look, for a free chunk; */
#define QUARRY_SLABS_WALKS 8u     /* and, in a row that give nothing, for chunks of the class; */
#define QUARRY_SLABS_LENDERS 256u /* warps whose hints are tried; */
#define QUARRY_SLABS_LOOKS 8u     /* looks at kinds, for chunks for single large blocks */
#define QUARRY_SLABS_PATIENCE 64u /* backoffs until somebody else has filled a cursor, at most */
#define QUARRY_SLABS_TIDY 32u     /* chunks that are closed together, at least, for large blocks */
#define QUARRY_SLABS_WIDEST 10u   /* log of how many cursors more are looked at, at most */
#define QUARRY_SLABS_FILLS 12u    /* tries to fill a cursor, the more the wider; */
#define QUARRY_SLABS_TRIES 4u     /* and rows of free chunks that others take at the same time */

/* ---- a class ---- */

/* Does a lane of the group need a place? */
SIMT_FN int quarry_slabs_still(const struct quarry_slabs_need *need)
{
    return simt_any(need->group, need->place == QUARRY_SLABS_NONE);
}

/* A cursor for the warp to fill, or to wait for: the more slots were asked for of the warp's own one, in vain, the
 * farther apart the warps go.
 *   wider   the warp chooses from 2^wider times as many as the class uses, at least, if there are so many */
SIMT_FN uint32_t quarry_slabs_wide_cursor(const struct quarry_slabs *h, uint32_t class_, uint32_t slots,
                                          uint32_t wider)
{
    uint32_t spread = simt_load_u32(&h->spread[class_], relaxed);
    uint64_t now =
        simt_load_u64(&h->cursor[quarry_slabs_own_cursor(h, class_, quarry_slabs_used(spread))], relaxed);
    uint32_t asked = quarry_slabs_is_trail(now) ? 0 : quarry_slabs_next(now);
    asked -= asked >= QUARRY_SLABS_PAST ? QUARRY_SLABS_PAST : 0;
    SIMT_ROLLED
    while (wider < QUARRY_SLABS_WIDEST && asked >> wider >= 2u * slots)
        wider++;
    uint32_t used = quarry_slabs_used(spread) << wider, most = quarry_slabs_few(h);
    return quarry_slabs_own_cursor(h, class_, used < most ? used : most);
}

/* Before a cursor gets a chunk: the class has used so many.  Order: who fills the cursor stores that with release, and
 * then the chunk's kind: so whoever sees the chunk bound sees this.
 *   index   of the cursor */
SIMT_FN void quarry_slabs_reached(const struct quarry_slabs *h, uint32_t class_, uint32_t index)
{
    uint32_t i = quarry_slabs_cursor_number(h, index);
    if (quarry_slabs_reach(simt_load_u32(&h->spread[class_], relaxed)) <= i)
        (void)simt_or_u32(&h->spread[class_], quarry_slabs_reaches(2u << (31u - simt_clz_u32(i))), relaxed);
}

/* Who has set `busy`, and found the cursor used up, fills it with a chunk that is held.
 *   life   of the cursor, as that has found it: the upper 32 bits do
 *   got    of the chunk's slots the caller takes so many
 * Returns `next` until then: who asked in vain has moved it.  An exchange tells it, so nobody waits for a load. */
SIMT_FN uint32_t quarry_slabs_fill_cursor(uint64_t *cursor, uint32_t chunk, uint32_t life, uint32_t got)
{
    uint64_t full = (uint64_t)((life >> (QUARRY_SLABS_LIFE - 32u)) + 1u) << QUARRY_SLABS_LIFE &
                    ~(QUARRY_SLABS_BUSY | QUARRY_SLABS_TRAIL);
    /* Order: pairs with adds; only then the chunk moves no more. */
    return quarry_slabs_next(
        simt_exchange_u64(cursor, full | (uint64_t)chunk << QUARRY_SLABS_CHUNK | got, release));
}

/* Waits a while for who fills a cursor.  Returns what it holds then. */
SIMT_FN uint64_t quarry_slabs_wait_for(const uint64_t *cursor)
{
    uint64_t now = QUARRY_SLABS_BUSY;
    SIMT_ROLLED
    for (uint32_t i = 0; i < QUARRY_SLABS_PATIENCE && (now & QUARRY_SLABS_BUSY); i++) {
        SIMT_ROLLED
        for (uint32_t k = 0; k < 1u << (i < 2u ? i : 2u); k++)
            simt_backoff(); /* what those read who wait, who fills writes */
        now = simt_load_u64(cursor, relaxed);
    }
    return now;
}

/* Step 3 of a warp that wants several classes: the first lane of each fills its cursor, or waits for who does, all at
 * the same time.  It takes a free chunk that it finds in a few looks.  If it finds none the class is barren, and the
 * steps below go on; if the class is barren already, it does not look.
 *   group   lanes of `all` that want the same class */
SIMT_NOINLINE_FN uint64_t quarry_slabs_fill_each(const struct quarry_slabs *h, uint32_t all, uint32_t group,
                                                 uint32_t class_, uint32_t tries, uint64_t place)
{
    uint32_t needs = simt_popc_u32(simt_ballot(all, place == QUARRY_SLABS_NONE) & group), got = 0;
    uint32_t index = QUARRY_NO_PAGE, chunk = QUARRY_NO_PAGE;
    uint32_t asked;
    int fills = simt_rank(group) == 0 && needs && class_ < h->classes;
    if (fills)
        fills = !(simt_load_u32(&h->spread[class_], relaxed) & QUARRY_SLABS_BARREN);
    if (fills) {
        uint32_t slots = quarry_slabs_slots(h, class_), look = 0;
        index = quarry_slabs_wide_cursor(h, class_, slots, tries);
        uint64_t *cursor = &h->cursor[index], now = simt_or_u64(cursor, QUARRY_SLABS_BUSY, relaxed);
        if (now & QUARRY_SLABS_BUSY) {
            now = quarry_slabs_wait_for(cursor) | QUARRY_SLABS_BUSY;
        } else if (quarry_slabs_next(now) >= slots && !quarry_slabs_is_trail(now)) {
            struct quarry_random r = quarry_random_start();
            SIMT_ROLLED
            while (look < QUARRY_SLABS_SAMPLES && chunk == QUARRY_NO_PAGE) {
                uint32_t i = quarry_random_below(&r, h->pages.count);
                uint64_t kind = quarry_slabs_kind(h, i);
                if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE && quarry_slabs_hold(h, i, kind, class_))
                    chunk = i;
                look++;
            }
        }
        if (chunk != QUARRY_NO_PAGE) {
            got = needs < slots ? needs : slots;
            uint32_t words = quarry_slabs_words(slots);
            uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
            SIMT_ROLLED
            for (uint32_t i = 0; i < words; i++) /* full: who takes slots has them from the cursor */
                simt_store_u64(&word[i], quarry_slabs_of_moving(class_, ~0u), relaxed);
            quarry_slabs_reached(h, class_, index);
            asked =
                quarry_slabs_fill_cursor(cursor, chunk, (uint32_t)(now >> 32), got) - quarry_slabs_next(now);
            quarry_slabs_adapt(h, class_, QUARRY_SLABS_SAMPLES * 8u / look, asked, slots);
            quarry_slabs_let_go(h, chunk, QUARRY_SLABS_IS_BOUND, class_,
                                quarry_slabs_cursor_number(h, index) + 1u);
            quarry_slabs_tell(h, class_, chunk, quarry_mix_u32(chunk));
            index = QUARRY_NO_PAGE;
        } else if (!(now & QUARRY_SLABS_BUSY)) {
            /* It uses as many cursors as before: others may find a free chunk. */
            if (look && !(simt_load_u32(&h->spread[class_], relaxed) & QUARRY_SLABS_BARREN))
                (void)simt_or_u32(&h->spread[class_], QUARRY_SLABS_BARREN, relaxed);
            (void)simt_and_u64(cursor, ~QUARRY_SLABS_BUSY, relaxed);
        }
        if (quarry_slabs_is_trail(now)) /* of others: an add would take numbers that nobody follows */
            index = QUARRY_NO_PAGE;
    }
    place = quarry_slabs_deal(all, group, simt_ctz_u32(group), quarry_slabs_place(chunk, 0), 0, got, place);
    return quarry_slabs_draw(h, all, group, index, class_, place, &asked);
}

/* Which of its cursors a class fills for the caller's warp.  Those who asked for slots of the warp's own one in vain
 * need a chunk each time that they are as many as a chunk has slots: for the own one, another cursor, a third, and so
 * on.
 *   asked   slots of the own cursor that were asked for before, in vain or not
 *   *used   how many cursors the class is to use */
SIMT_FN uint32_t quarry_slabs_cursor_for(const struct quarry_slabs *h, uint32_t slots, uint32_t spread,
                                         uint32_t asked, uint32_t *used)
{
    uint32_t past = asked >= QUARRY_SLABS_PAST ? QUARRY_SLABS_PAST : slots, now = quarry_slabs_used(spread);
    uint32_t more = asked > past ? quarry_divide_u32(asked - past, slots) : 0; /* or one more, or one less */
    more &= quarry_divide_u32(h->cursors, now) - 1u;
    *used = more ? now << (32u - simt_clz_u32(more)) : now;
    return more * now + (simt_thread() / SIMT_LANES & (now - 1u));
}

/* Step 3 of a warp that wants one class, at its cheapest: nobody else fills the cursor, and one of two kinds, or of
 * two others, is that of a free chunk.  Or somebody does: then it waits a while, and takes from it.  Else the steps
 * below go on.  The cursor has no trail: the warp has added to it, or it is one of those behind the class's trails.
 *
 * On a GPU this is seldom in an instruction cache, so it is short, and most is for the first lane alone.  It gets what
 * it needs of the heap's struct by value: behind each access that acquires, that would be fetched anew.  Four accesses
 * wait for one another: the bit `busy`, together with the kinds; the chunk; the cursor, behind the words; and the kind.
 *   cursor, more    the warp's, and 1 + its number in the class
 *   kinds, map, count, stride   of the heap: h->kinds, h->words, h->pages.count, h->stride
 *   spread_at       of the class, which is not barren
 *   raise           bits that it gets, so that the cursor is one of those that the class uses
 *   used            how many cursors the class is to use if many ask for more while this one is filled; 0: as before
 *   wants           lanes that want a slot
 * Returns the caller's place, if it is one of these, or QUARRY_SLABS_NONE.  Scope: `all`. */
SIMT_NOINLINE_FN uint64_t quarry_slabs_refill(uint64_t *cursor, uint64_t *kinds, uint64_t *map,
                                              uint32_t *spread_at, uint32_t count, uint32_t slots,
                                              uint32_t stride, uint32_t class_, uint32_t more, uint32_t raise,
                                              uint32_t used, uint32_t all, uint32_t wants)
{
    const uint32_t leader = simt_ctz_u32(all), needs = simt_popc_u32(wants), k = simt_rank(wants);
    uint32_t chunk = QUARRY_NO_PAGE, got = 0, next = 0, life = 0;
    uint64_t kind = 0, first = 0;
    if (simt_lane() == leader) {
        struct quarry_random r = quarry_random_start();
        uint32_t i = simt_mulhi_u32(r.state, count), other = simt_mulhi_u32(r.state * 0x9e3779b9u, count);
        kind = simt_load_u64(&kinds[i], relaxed);
        uint64_t others = simt_load_u64(&kinds[other], relaxed);
        uint64_t now = simt_or_u64(cursor, QUARRY_SLABS_BUSY, relaxed);
        next = quarry_slabs_next(now);
        life = (uint32_t)(now >> 32);
        if (quarry_slabs_state(kind) != QUARRY_SLABS_IS_FREE) {
            kind = others;
            i = other;
        }
        const int fills = !(now & QUARRY_SLABS_BUSY) && next >= slots;
        if (fills && quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE &&
            quarry_slabs_hold_at(&kinds[i], kind, class_))
            chunk = i;
        if (fills &&
            chunk == QUARRY_NO_PAGE) { /* twice in vain is seldom: else all who wait would look themselves */
            i = simt_mulhi_u32(r.state * 0x85ebca6bu, count);
            other = simt_mulhi_u32(r.state * 0xc2b2ae35u, count);
            kind = simt_load_u64(&kinds[i], relaxed);
            others = simt_load_u64(&kinds[other], relaxed);
            if (quarry_slabs_state(kind) != QUARRY_SLABS_IS_FREE) {
                kind = others;
                i = other;
            }
            if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE &&
                quarry_slabs_hold_at(&kinds[i], kind, class_))
                chunk = i;
        }
        if (chunk == QUARRY_NO_PAGE) {
            if (now & QUARRY_SLABS_BUSY)
                (void)quarry_slabs_wait_for(cursor);
            else
                (void)simt_and_u64(cursor, ~QUARRY_SLABS_BUSY, relaxed);
            if ((now & QUARRY_SLABS_BUSY) || next < slots)
                first = quarry_slabs_add(cursor, slots, needs, &got, &next);
        }
    }
    chunk = simt_shuffle_u32(all, chunk, leader);
    if (chunk != QUARRY_NO_PAGE) {
        uint64_t *word = &map[(uint64_t)chunk * stride];
        simt_sync(all); /* what the leader acquired, each has */
        /* Full, as in fill_each. */
        SIMT_ROLLED
        for (uint32_t i = simt_rank(all); i < quarry_slabs_words(slots); i += simt_popc_u32(all))
            simt_store_u64(&word[i], quarry_slabs_of_moving(class_, ~0u), relaxed);
        simt_sync(all); /* what each has written, before the cursor */
        if (simt_lane() == leader) {
            first = quarry_slabs_place(chunk, 0);
            got = needs < slots ? needs : slots;
            if (raise)
                (void)simt_or_u32(spread_at, raise, relaxed); /* Order: as quarry_slabs_reached. */
            next = quarry_slabs_fill_cursor(cursor, chunk, life, got);
            next -= next >= QUARRY_SLABS_PAST ? QUARRY_SLABS_PAST : slots; /* so many asked in vain */
            kind =
                quarry_slabs_next_kind(kind, QUARRY_SLABS_IS_MOVING, class_, 0); /* nobody has changed it */
            quarry_slabs_let_go_at(&kinds[chunk], kind, QUARRY_SLABS_IS_BOUND, class_, more);
            /* As quarry_slabs_adapt, but that nobody waits for the spread. */
            if (used && 8u * next >= slots)
                (void)simt_or_u32(spread_at, used - 1u, relaxed);
        }
    }
    first = simt_shuffle_u64(all, first, leader);
    got = simt_shuffle_u32(all, got, leader);
    simt_sync(all); /* what the leader acquired, each has */
    return k < got ? first + k : QUARRY_SLABS_NONE;
}

/* The same, of a class. */
SIMT_FN uint64_t quarry_slabs_refill_class(const struct quarry_slabs *h, uint32_t all, uint32_t class_,
                                           uint32_t spread, uint32_t asked, uint32_t wants)
{
    uint32_t used, slots = quarry_slabs_slots(h, class_);
    uint32_t i = quarry_slabs_cursor_for(h, slots, spread, asked, &used);
    i = simt_shuffle_u32(all, i, simt_ctz_u32(all));
    uint32_t few = quarry_slabs_few(h), own = used < few ? used : few;
    uint32_t raise = quarry_slabs_reaches(used) | (own - 1u);
    raise = raise & ~spread ? raise : 0;
    used = used > quarry_slabs_used(spread) || used >= few ? 0 : 2u * used;
    return quarry_slabs_refill(&h->cursor[quarry_slabs_cursor(h, class_, i)], h->kinds, h->words,
                               &h->spread[class_], h->pages.count, slots, h->stride, class_, i + 1u, raise,
                               used, all, wants);
}

/* Step 3, its first part: the group is to fill the warp's cursor, which nobody else does then; or waits a while for who
 * does that, and takes from it.  Who needs half of a chunk's slots takes one without a cursor.  Sets need->cursor to
 * the one to fill, or to QUARRY_NO_PAGE.  Returns whether the group is to get a chunk. */
SIMT_NOINLINE_FN int quarry_slabs_ask(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_;
    uint32_t leader = simt_ctz_u32(group), slots = quarry_slabs_slots(h, class_), index = 0;
    uint32_t asked;
    int fills = 0, seen = 1;
    need->cursor = QUARRY_NO_PAGE;
    if (2u * simt_popc_u32(simt_ballot(group, need->place == QUARRY_SLABS_NONE)) >= slots)
        return 1;
    if (simt_rank(group) == 0) {
        index = quarry_slabs_wide_cursor(h, class_, slots, need->tries);
        uint64_t *cursor = &h->cursor[index];
        uint64_t now = simt_or_u64(cursor, QUARRY_SLABS_BUSY, relaxed), life = now >> QUARRY_SLABS_LIFE;
        fills = !(now & QUARRY_SLABS_BUSY);
        if (!fills)
            now = quarry_slabs_wait_for(cursor);
        if (!fills && !(now & QUARRY_SLABS_BUSY) && (now | QUARRY_SLABS_BUSY) >> QUARRY_SLABS_LIFE == life)
            seen =
                !(simt_load_u32(&h->spread[class_], relaxed) & QUARRY_SLABS_BARREN); /* it was not filled */
        if (fills && (quarry_slabs_next(now) < slots || quarry_slabs_is_trail(now))) {
            /* Somebody has been faster, or it is others' trail. */
            (void)simt_and_u64(cursor, ~QUARRY_SLABS_BUSY, relaxed);
            fills = 0;
        }
        need->held = now;
        if (quarry_slabs_is_trail(now)) /* as fill_each */
            index = QUARRY_NO_PAGE;
    }
    index = simt_shuffle_u32(group, index, leader);
    need->seen = simt_all(group, seen);
    if (simt_any(group, fills)) {
        need->cursor = index;
        return 1;
    }
    if (need->seen)
        need->place = quarry_slabs_draw(h, group, group, index, class_, need->place, &asked);
    return 0;
}

/* Looks for a free chunk at random, and claims it; or for one of another class without a live slot: with need->closes,
 * or if half of those that it sees are.  Sets need->page to it, or to QUARRY_NO_PAGE. */
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
        uint32_t spare = simt_ballot(group, quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE), vacant = 0;
        if (spare == 0)
            vacant = simt_ballot(group, quarry_slabs_seems_vacant(h, i, kind, need->class_));
        if (vacant && (need->closes || 2u * simt_popc_u32(vacant) >= simt_popc_u32(group))) {
            uint32_t lane = simt_ctz_u32(vacant);
            uint32_t chunk = simt_shuffle_u32(group, i, lane);
            kind = simt_shuffle_u64(group, kind, lane);
            if (quarry_slabs_close(h, group, chunk, kind)) {
                kind = quarry_slabs_kind(h, chunk);
                spare = 1u << lane;
            }
        }
        if (spare == 0)
            continue;
        need->dense = quarry_divide_u32(SIMT_LANES * simt_popc_u32(spare | vacant), simt_popc_u32(group));
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
            quarry_slabs_reached(h, class_, index);
            uint32_t then =
                quarry_slabs_fill_cursor(&h->cursor[index], chunk, (uint32_t)(need->held >> 32), got);
            quarry_slabs_adapt(h, class_, need->dense, then - quarry_slabs_next(need->held), slots);
        }
        quarry_slabs_tell(h, class_, chunk, quarry_mix_u32(chunk));
        quarry_slabs_let_go(h, chunk, QUARRY_SLABS_IS_BOUND, class_,
                            alone ? 0 : quarry_slabs_cursor_number(h, index) + 1u);
        if (alone && slots - got >= QUARRY_SLABS_HINT) {
            uint32_t word = got / QUARRY_SLABS_BITS;
            uint32_t taken = ~quarry_slabs_from(word, got) | quarry_slabs_from(word, slots);
            quarry_slabs_leave(h, class_, chunk << h->word_log | word, ~taken);
        }
    }
    need->place = quarry_slabs_deal(group, group, simt_ctz_u32(group), quarry_slabs_place(chunk, 0), 0, got,
                                    need->place);
}

/* Lanes look at a word each, and take slots there for lanes that need one.
 *   id     of the caller's word
 *   look   has the caller one?
 * Returns whether the caller's word has some.  Scope: group, reconverged. */
SIMT_FN int quarry_slabs_take_each(struct quarry_slabs_need *need, uint32_t class_, uint32_t id, int look)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group;
    uint32_t wants = simt_ballot(group, need->place == QUARRY_SLABS_NONE), asked = simt_popc_u32(wants);
    uint32_t bits = 0;
    uint64_t *word = quarry_slabs_hinted(h, id), seen = look ? simt_load_u64(word, relaxed) : 0;
    uint32_t clear = look && quarry_slabs_is_of(seen, class_) ? simt_popc_u32(~(uint32_t)seen) : 0;
    uint32_t rich = quarry_slabs_richest(group, clear, asked);
    uint32_t to = quarry_scan_add_u32(group, rich), from = to - rich;
    if (rich && from < asked)
        bits = quarry_slabs_take(word, &seen, class_, (to < asked ? to : asked) - from);
    if (bits && simt_popc_u32(~(uint32_t)seen) >= QUARRY_SLABS_HINT)
        quarry_slabs_leave(h, class_, id, ~(uint32_t)seen);
    uint64_t place = quarry_slabs_deal_words(h, group, wants, from, to, id, bits);
    need->place = need->place == QUARRY_SLABS_NONE ? place : need->place;
    return clear != 0;
}

/* Takes slots of chunk need->page, of class need->of, for lanes that need one. */
SIMT_NOINLINE_FN void quarry_slabs_take_from(struct quarry_slabs_need *need)
{
    const uint32_t class_ = need->of;
    uint32_t words = quarry_slabs_words(quarry_slabs_slots(need->slabs, class_));
    SIMT_ROLLED
    for (uint32_t base = 0; base < words && quarry_slabs_still(need); base += simt_popc_u32(need->group)) {
        uint32_t i = base + simt_rank(need->group);
        (void)quarry_slabs_take_each(need, class_, (need->page << need->slabs->word_log) + i, i < words);
    }
}

/* Takes slots that other warps' hints for the class lead to, those of the warps beside the caller's. */
SIMT_NOINLINE_FN void quarry_slabs_borrow(struct quarry_slabs_need *need)
{
    SIMT_ROLLED
    for (uint32_t i = 0; i < QUARRY_SLABS_LENDERS && quarry_slabs_still(need);
         i += simt_popc_u32(need->group)) {
        const struct quarry_slabs *h = need->slabs;
        uint32_t warp = simt_shuffle_u32(need->group, simt_thread() / SIMT_LANES, simt_ctz_u32(need->group));
        uint64_t *hint = quarry_slabs_hint(h, need->class_, warp + i + simt_rank(need->group));
        uint64_t seen = simt_load_u64(hint, relaxed);
        int lends = (uint32_t)seen != 0;
        if (simt_any(need->group, lends) &&
            !quarry_slabs_take_each(need, need->class_, (uint32_t)(seen >> 32), lends) && lends)
            simt_store_u64(hint, 0, relaxed); /* for who comes next */
    }
}

/* Step 4: takes slots of chunks of class need->of: the group's, or the larger one that serves it.  Looks at as many
 * kinds as there are lanes, which lie side by side, and at words of all chunks among them that are of the class, each
 * lane at one.  Again while that gives something, and a few times more. */
SIMT_NOINLINE_FN void quarry_slabs_walk(struct quarry_slabs_need *need)
{
    need->looks = 0;
    SIMT_ROLLED
    while (need->looks < QUARRY_SLABS_WALKS && quarry_slabs_still(need)) {
        const struct quarry_slabs *h = need->slabs;
        const uint32_t group = need->group, rank = simt_rank(group), class_ = need->of;
        uint32_t words = quarry_slabs_words(quarry_slabs_slots(h, class_)), count = h->pages.count;
        struct quarry_random r = quarry_random_start();
        uint32_t i = simt_shuffle_u32(group, quarry_random_below(&r, count), simt_ctz_u32(group)) + rank;
        uint32_t word = simt_shuffle_u32(group, quarry_random_below(&r, words), simt_ctz_u32(group));
        i -= i >= count ? count : 0;
        uint64_t kind = i < count ? quarry_slabs_kind(h, i) : (uint64_t)QUARRY_SLABS_IS_LARGE;
        int mine = quarry_slabs_is_bound(kind, class_);
        if (class_ != need->class_) /* as quarry_slabs_recall */
            mine = mine && quarry_slabs_seems_used(h, i, class_);
        /* Not of chunks of its own class: with one class all would tell, and store to a few lines. */
        if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND && !mine)
            quarry_slabs_tell(h, quarry_slabs_kind_class(kind), i, r.state >> 8);
        uint32_t ours = simt_ballot(group, mine);
        need->looks++;
        if (ours == 0)
            continue;
        uint32_t chunks = simt_popc_u32(ours), row = quarry_divide_u32(rank, chunks);
        i = simt_shuffle_u32(group, i, quarry_kth_set_u32(ours, rank - row * chunks + 1u));
        word += row;
        word -= word >= words ? words : 0;
        if (simt_any(group, quarry_slabs_take_each(need, class_, (i << h->word_log) + word, row < words)))
            need->looks = 0;
    }
}

/* Before step 5, if a lane still needs a place: ends all trails, so that no sweep meets one.  It takes long once.
 * Order: who sweeps after that sees what they are then. */
SIMT_NOINLINE_FN void quarry_slabs_end_trails(const struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    uint32_t *ended = &h->spread[h->classes];
    if (!quarry_slabs_still(need) || simt_any(need->group, simt_load_u32(ended, acquire)))
        return;
    SIMT_ROLLED
    for (uint32_t i = simt_rank(need->group); i < h->trails * h->classes; i += simt_popc_u32(need->group))
        quarry_slabs_end_trail(h, i);
    simt_sync(need->group);
    if (simt_rank(need->group) == 0)
        simt_store_u32(ended, 1, release);
    simt_fence(acq_rel); /* also what others have ended just then */
    simt_sync(need->group);
}

/* Step 5: closes what a sweep has found, if no slot of it is live, as it seemed; for large blocks also some behind it,
 * so that not each of them sweeps.  Not chunks whose slots are to be taken. */
SIMT_NOINLINE_FN void quarry_slabs_tidy(const struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_, chunks = need->chunks, page = need->page;
    uint32_t most = chunks && chunks < QUARRY_SLABS_TIDY ? QUARRY_SLABS_TIDY : chunks + !chunks;
    int vacant = 1;
    SIMT_ROLLED
    for (uint32_t i = page; vacant && i < h->pages.count && i - page < most; i++) {
        uint64_t kind = simt_shuffle_u64(group, quarry_slabs_kind(h, i), simt_ctz_u32(group));
        if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND && !quarry_slabs_is_bound(kind, class_) &&
            !quarry_slabs_is_bound(kind, need->of))
            vacant = quarry_slabs_close(h, group, i, kind);
    }
}

/* The same, for a class: uses what a sweep has found, if it is still there.  Returns QUARRY_SLABS_IS_BOUND if slots are
 * to be taken from chunk need->page, which are of class need->of; QUARRY_SLABS_IS_FREE if the group holds it, and is to
 * fill it. */
SIMT_NOINLINE_FN enum quarry_slabs_state quarry_slabs_visit(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    const uint32_t group = need->group, class_ = need->class_, page = need->page;
    need->cursor = QUARRY_NO_PAGE;
    if (page >= h->pages.count) {
        uint32_t index = page - h->pages.count;
        /* It had a chunk, so it has no trail. */
        uint32_t of = index - quarry_slabs_cursor_number(h, index) * h->classes, asked;
        need->place = quarry_slabs_draw(h, group, group, index, of, need->place, &asked);
        return QUARRY_SLABS_IS_MOVING;
    }
    uint64_t kind = simt_shuffle_u64(group, quarry_slabs_kind(h, page), simt_ctz_u32(group));
    if (quarry_slabs_is_bound(kind, class_))
        need->of = class_;
    if (quarry_slabs_is_bound(kind, need->of))
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
            place = quarry_slabs_deal(group, group, simt_ctz_u32(group), quarry_slabs_place(page, 0), 0, 1u,
                                      place);
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

/* Before a group tries what a sweep has found: notes which entry of `found` may have told of it, in need->first, and
 * which lanes need a place, in need->row. */
SIMT_NOINLINE_FN void quarry_slabs_try(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    uint32_t index = need->page - h->pages.count;
    need->first = need->of;
    if (need->page >= h->pages.count)
        need->first = index - quarry_slabs_cursor_number(h, index) * h->classes;
    need->row = simt_ballot(need->group, need->place == QUARRY_SLABS_NONE);
}

/* Tells that slots of a larger class serve the group's, as a sweep has found no others; or, with 0, that none do. */
SIMT_NOINLINE_FN void quarry_slabs_serve(const struct quarry_slabs_need *need, uint32_t larger)
{
    if (simt_rank(need->group) == 0)
        quarry_slabs_tell_larger(need->slabs, need->class_, larger);
}

/* And afterwards: if it gave nothing, nobody else need try it.  If slots of the class need->of were there, these serve
 * from now on, if they are larger; if they are the group's own, no larger ones do. */
SIMT_NOINLINE_FN void quarry_slabs_tried(const struct quarry_slabs_need *need, enum quarry_slabs_state state)
{
    if (simt_ballot(need->group, need->place == QUARRY_SLABS_NONE) != need->row) {
        if (state == QUARRY_SLABS_IS_BOUND)
            quarry_slabs_serve(need, need->of > need->class_ ? need->of : 0);
    } else if (simt_rank(need->group) == 0) {
        (void)simt_cas_u32(&need->slabs->found[need->first], need->page + 1u, 0, relaxed);
    }
}

/* ---- all steps ---- */

/* Steps 3 to 5 for a class, or a large block: of all lanes, those look for themselves whose place is none. */
SIMT_FN void quarry_slabs_look_for(struct quarry_slabs_need *need)
{
    need->closes = need->wide = need->looks = 0;
    need->of = need->class_;
    if (need->chunks == 0) {
        uint32_t spread = simt_load_u32(&need->slabs->spread[need->class_], relaxed);
        uint32_t larger =
            simt_shuffle_u32(need->group, quarry_slabs_larger(spread), simt_ctz_u32(need->group));
        if (larger)
            need->of = larger;
        if (simt_any(need->group, spread & QUARRY_SLABS_BARREN))
            quarry_slabs_walk(need);
        if (larger && quarry_slabs_still(need)) {
            if (need->group == SIMT_ALL_LANES) /* fewer lanes have seen too little */
                quarry_slabs_serve(need, 0);
            need->looks = 0; /* of chunks of its own */
        }
        need->of = need->class_;
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
            if (need->looks == 0)
                quarry_slabs_walk(need);
            quarry_slabs_borrow(need);
            need->closes = 1;
        }
    } else {
        /* Rows at a multiple of their length, so that those of one length leave no gaps. */
        struct quarry_random r = quarry_random_start();
        uint32_t page = quarry_random_below(&r, need->slabs->pages.count / need->chunks) * need->chunks;
        need->page = simt_shuffle_u32(need->group, page, simt_ctz_u32(need->group));
        quarry_slabs_new_rows(need);
    }
    need->wide = need->chunks ? 0 : QUARRY_SLABS_ALL; /* slots of larger classes are the last resort */
    quarry_slabs_end_trails(need);
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
        quarry_slabs_try(need);
        enum quarry_slabs_state state = quarry_slabs_visit(need);
        if (state == QUARRY_SLABS_IS_FREE)
            quarry_slabs_fill(need);
        else if (state == QUARRY_SLABS_IS_BOUND)
            quarry_slabs_take_from(need);
        quarry_slabs_tried(need, state);
    }
}

#endif
