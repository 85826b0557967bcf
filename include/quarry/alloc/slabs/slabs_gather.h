/* SPDX-License-Identifier: Apache-2.0 */
/* Step 4 of a malloc of alloc/slabs.h at its cheapest: slots that were freed, of classes that are barren.
 *
 * A class that has no slots of its own is served by a larger one, if a sweep has found slots of that
 * (quarry_slabs_serve), or a warp has seen that much of the heap is of it (quarry_slabs_seek).  Lanes that one class
 * serves are as lanes that want it: where the warp's last frees left hints, each lane looks at one of those words.
 * Then each looks at a word of a chunk that is known of it, or of any chunk.  So does a warp that wants one class.  Of
 * a warp that wants several, each class has a lane that looks at chunks that are known of it.  All are tries, in a few
 * steps, that may give nothing: then the steps of alloc/slabs/slabs_more.h go on. */
#ifndef QUARRY_ALLOC_SLABS_GATHER_H
#define QUARRY_ALLOC_SLABS_GATHER_H

#include "quarry/alloc/slabs/slabs_map.h"
#include "quarry/alloc/slabs/slabs_slots.h"

#define QUARRY_SLABS_GATHERS 3u /* looks at two known chunks each; */
#define QUARRY_SLABS_TELLS 4u   /* of so many one also looks at the kind of another chunk */
#define QUARRY_SLABS_GUESSES 2u /* looks at words of the class that serves, one for each lane */
#define QUARRY_SLABS_MANY_LANES                                                                              \
    8u /* of a warp, which look at chunks: so many see that a class has much of the heap */

/* Tells that slots of a larger class serve one; or, with 0, that none do.  No chunk seems to be free, so the larger
 * class is barren, too: then all that a warp frees of it becomes hints. */
SIMT_FN void quarry_slabs_tell_larger(const struct quarry_slabs *h, uint32_t class_, uint32_t larger)
{
    uint32_t *at = &h->spread[class_];
    uint32_t spread = simt_load_u32(at, relaxed), now = spread & ~QUARRY_SLABS_LARGERS;
    if (larger)
        now |= larger << QUARRY_SLABS_LARGER | QUARRY_SLABS_BARREN;
    if (now != spread)
        (void)simt_cas_u32(at, spread, now, relaxed);
    at = &h->spread[larger];
    if (larger && !(simt_load_u32(at, relaxed) & QUARRY_SLABS_BARREN))
        (void)simt_or_u32(at, QUARRY_SLABS_BARREN, relaxed);
}

/* What is known grows old.  So now and then a lane looks at another chunk, and tells of it.  If it is free, the class
 * is no longer barren.
 *   larger   the class that serves this one, or 0.  If one does, it ends when the chunk seems to have no live slot, and
 *            so can be closed, or has a free one of the class itself.  One in eight looks is at a chunk known of that
 *   random   of this call */
SIMT_FN void quarry_slabs_glance(const struct quarry_slabs *h, uint32_t class_, uint32_t larger,
                                 uint32_t random)
{
    uint32_t chunk = simt_mulhi_u32(random * 0x9e3779b9u, h->pages.count), no = 0;
    if (larger && random >> 29 == 0)
        chunk = simt_load_u32(&h->known[class_ * h->knows + (random >> 8 & (h->knows - 1u))], relaxed);
    uint64_t kind = quarry_slabs_kind(h, chunk);
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND) {
        quarry_slabs_tell(h, quarry_slabs_kind_class(kind), chunk, random >> 20);
        if (larger && quarry_slabs_seems_vacant(h, chunk, kind, class_) &&
            quarry_slabs_seems_sparse(h, chunk, quarry_slabs_kind_class(kind)))
            no = QUARRY_SLABS_BARREN | QUARRY_SLABS_LARGERS;
        if (larger && quarry_slabs_is_bound(kind, class_)) {
            uint32_t slot = simt_mulhi_u32(random * 0x85ebca6bu, quarry_slabs_slots(h, class_));
            uint64_t seen = simt_load_u64(quarry_slabs_word(h, quarry_slabs_place(chunk, slot)), relaxed);
            no = (uint32_t)seen == ~0u ? 0 : QUARRY_SLABS_LARGERS;
        }
    } else if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE) {
        no = QUARRY_SLABS_BARREN | QUARRY_SLABS_LARGERS;
    }
    if (no)
        (void)simt_and_u32(&h->spread[class_], ~no, relaxed);
}

/* The first lane of each class that is barren looks at words of two known chunks, all at the same time, and takes slots
 * of the one that has more.  Or its cursor has some.
 *   group   lanes of `all` that want the same class
 * Returns the caller's place. */
SIMT_FN uint64_t quarry_slabs_gather_once(const struct quarry_slabs *h, uint32_t all, uint32_t group,
                                          uint32_t class_, uint64_t place)
{
    uint32_t needs = simt_popc_u32(simt_ballot(all, place == QUARRY_SLABS_NONE) & group), got = 0, bits = 0;
    uint32_t spread = 0;
    uint64_t first = 0;
    if (simt_rank(group) == 0 && needs && class_ < h->classes)
        spread = simt_load_u32(&h->spread[class_], relaxed);
    if (spread & QUARRY_SLABS_BARREN) {
        struct quarry_random r = quarry_random_start();
        uint32_t slots = quarry_slabs_slots(h, class_), x = quarry_mix_u32(r.state), asked;
        uint64_t *cursor = &h->cursor[quarry_slabs_own_cursor(h, class_, quarry_slabs_used(spread))];
        uint64_t now = simt_load_u64(cursor, relaxed);
        const uint32_t *known = &h->known[class_ * h->knows];
        uint32_t one = simt_load_u32(&known[x >> 8 & (h->knows - 1u)], relaxed);
        uint32_t other = simt_load_u32(&known[x >> 16 & (h->knows - 1u)], relaxed);
        uint32_t word = quarry_random_below(&r, quarry_slabs_words(slots));
        if (x % QUARRY_SLABS_TELLS == 0)
            quarry_slabs_glance(h, class_, 0, x);
        if (quarry_slabs_next(now) < slots && !quarry_slabs_is_trail(now)) {
            first = quarry_slabs_add(cursor, slots, needs, &got, &asked);
        } else {
            uint64_t second = quarry_slabs_place(other, word * QUARRY_SLABS_BITS);
            first = quarry_slabs_place(one, word * QUARRY_SLABS_BITS);
            uint64_t seen = simt_load_u64(quarry_slabs_word(h, first), relaxed);
            uint64_t also = simt_load_u64(quarry_slabs_word(h, second), relaxed);
            uint32_t taken = quarry_slabs_is_of(seen, class_) ? simt_popc_u32((uint32_t)seen) : 32u;
            if (quarry_slabs_is_of(also, class_) && simt_popc_u32((uint32_t)also) < taken) {
                first = second;
                seen = also;
            }
            bits = quarry_slabs_take(quarry_slabs_word(h, first), &seen, class_, needs);
        }
    }
    return quarry_slabs_deal(all, group, simt_ctz_u32(group), first, bits, got, place);
}

/* A word of a known chunk of the class, or of any chunk, and its bits that are clear: as a hint. */
SIMT_FN uint64_t quarry_slabs_guess(const struct quarry_slabs *h, uint32_t class_)
{
    struct quarry_random r = quarry_random_start();
    uint32_t x = quarry_mix_u32(r.state), chunk = quarry_random_below(&r, h->pages.count);
    if (x & 1u)
        chunk = simt_load_u32(&h->known[class_ * h->knows + (x >> 8 & (h->knows - 1u))], relaxed);
    uint32_t word = quarry_random_below(&r, quarry_slabs_words(quarry_slabs_slots(h, class_)));
    uint32_t id = quarry_slabs_id(h, quarry_slabs_place(chunk, word * QUARRY_SLABS_BITS));
    uint64_t seen = simt_load_u64(quarry_slabs_hinted(h, id), relaxed);
    return (uint64_t)id << 32 | (quarry_slabs_is_of(seen, class_) ? ~(uint32_t)seen : 0);
}

/* Takes slots of the words that lanes have, for lanes that want one.
 *   id, clear   of the caller's word: bits that seem clear
 *   n           of these so many are to be taken at most, or none
 *   hint        that led there, which gets what is left; or NULL
 * Returns the caller's place, if it wants one, or QUARRY_SLABS_NONE. */
SIMT_FN uint64_t quarry_slabs_take_words(const struct quarry_slabs *h, uint32_t all, uint32_t class_,
                                         uint32_t wants, uint32_t id, uint32_t clear, uint32_t n,
                                         uint64_t *hint)
{
    uint32_t asked = simt_popc_u32(wants), bits = 0;
    uint32_t to = quarry_scan_add_u32(all, n), from = to - n;
    if (n && simt_lane() == 31u - simt_clz_u32(all) && to < asked)
        to = asked; /* its word may have more, as in step 1 */
    if (n && from < asked) {
        bits = quarry_slabs_or(quarry_slabs_hinted(h, id), &clear, class_, (to < asked ? to : asked) - from);
        if (hint)
            simt_store_u64(hint, (uint64_t)id << 32 | clear, relaxed);
    }
    return quarry_slabs_deal_words(h, all, wants, from, to, id, bits);
}

/* Takes slots that the warp's own hints for the class lead to, of which each lane tries one; or each lane guesses.
 *   wants     lanes that want a slot
 *   guesses   whether they do
 *   larger    whether these are for blocks of smaller classes: then none of a chunk that seems to have no live slot.
 *             That can be closed, and has more of theirs
 * Returns the caller's place, if it wants one. */
SIMT_FN uint64_t quarry_slabs_recall(const struct quarry_slabs *h, uint32_t all, uint32_t class_,
                                     uint32_t first, uint32_t wants, int guesses, int larger)
{
    const uint32_t leader = simt_ctz_u32(wants), last = 31u - simt_clz_u32(all);
    first = simt_shuffle_u32(all, first, leader); /* lanes that want other classes know other words */
    uint64_t *hint =
        quarry_slabs_hint_of(h, class_, first, simt_lane() == last ? SIMT_LANES - 1u : simt_rank(all));
    uint64_t seen = guesses ? quarry_slabs_guess(h, class_) : simt_load_u64(hint, relaxed);
    uint32_t id = (uint32_t)(seen >> 32), clear = (uint32_t)seen, chunk = id >> h->word_log;
    uint32_t own = simt_shuffle_u32(all, clear, last);
    uint32_t twice = simt_ballot(all, id == simt_shuffle_u32(all, id, last) && (clear & own) == own);
    if (!guesses && simt_lane() == last && simt_popc_u32(twice) > 1u) /* the row has it, too, and in order */
        clear = 0;
    if (clear && larger && !quarry_slabs_seems_used(h, chunk, class_))
        clear = 0;
    uint32_t asked = simt_popc_u32(wants), n = simt_popc_u32(clear);
    if (guesses)
        n = quarry_slabs_richest(all, n, asked);
    return quarry_slabs_take_words(h, all, class_, wants, id, clear, n, hint);
}

/* Each lane looks at a word of a chunk, any one.  If many of these are of one class, and have free slots, these serve
 * all lanes whose class is barren and not larger; and from now on that class serves theirs.  So nobody has to sweep to
 * learn what most of the heap is.  Of several such classes the smallest does.  None does if a chunk is free, or seems
 * to have no live slot: the steps below find such ones, and these have room for more.
 *   size    as quarry_slabs_more_of
 *   block   what the caller has, or NULL
 * Returns the caller's block.  Scope: `all`. */
SIMT_NOINLINE_FN void *quarry_slabs_seek(const struct quarry_slabs *h, uint32_t all, uint32_t size,
                                         void *block)
{
    struct quarry_random r = quarry_random_start();
    uint32_t chunk = quarry_random_below(&r, h->pages.count), spread = 0, of = h->classes, id = 0, clear = 0;
    uint64_t kind = quarry_slabs_kind(h, chunk);
    int vacant = quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE;
    if (size < h->classes && !block)
        spread = simt_load_u32(&h->spread[size], relaxed);
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND) {
        of = quarry_slabs_kind_class(kind);
        id = chunk << h->word_log | quarry_random_below(&r, quarry_slabs_words(quarry_slabs_slots(h, of)));
        uint64_t seen = simt_load_u64(quarry_slabs_hinted(h, id), relaxed);
        vacant = quarry_slabs_seems_empty(h, chunk, of) && quarry_slabs_seems_sparse(h, chunk, of);
        clear = quarry_slabs_is_of(seen, of) && quarry_slabs_kind(h, chunk) == kind ? ~(uint32_t)seen : 0;
    }
    int wants = !block && (spread & QUARRY_SLABS_BARREN);
    uint32_t least = simt_reduce_min_u32(all, wants ? size : ~0u);
    uint32_t see = simt_popc_u32(simt_match_u32(all, clear ? of : h->classes));
    const int serves = clear && of >= least && see >= QUARRY_SLABS_MANY_LANES;
    const uint32_t class_ = simt_reduce_min_u32(all, serves ? of : ~0u);
    if (simt_any(all, vacant) || class_ == ~0u)
        return block;
    wants = wants && size <= class_;
    uint32_t left = simt_ballot(all, wants), asked = simt_popc_u32(left);
    uint32_t n = quarry_slabs_richest(all, of == class_ ? simt_popc_u32(clear) : 0, asked);
    uint64_t place = quarry_slabs_take_words(h, all, class_, left, id, clear, n, SIMT_NULL);
    uint32_t its = simt_match_u32(all, size) & left;
    if (wants && size != class_ && simt_rank(its) == 0)
        quarry_slabs_tell_larger(h, size, class_);
    if (wants && place != QUARRY_SLABS_NONE)
        block = quarry_slabs_block(h, place, class_);
    simt_sync(all); /* what one acquired, each has */
    return block;
}

/* Step 4 at its cheapest, for classes that a larger one serves, and for a warp that wants one class, which is barren.
 *   size    as quarry_slabs_more_of
 *   spread  of the caller's class; an old one does no harm
 *   first   what the hint of the class names: as quarry_slabs_hint_of; or QUARRY_NO_PAGE: neither is at hand
 *   block   what the caller has, or NULL
 * Returns the caller's block.  Scope: `all`. */
SIMT_NOINLINE_FN void *quarry_slabs_recall_all(const struct quarry_slabs *h, uint32_t all, uint32_t size,
                                               uint32_t spread, uint32_t first, void *block)
{
    const int several = simt_any(all, size != simt_shuffle_u32(all, size, simt_ctz_u32(all)));
    uint32_t of = h->classes, left, tries = 0; /* of: whose slots the caller is to have, if any */
    uint64_t place = block ? 0 : QUARRY_SLABS_NONE;
    if (first == QUARRY_NO_PAGE && size < h->classes)
        spread = simt_load_u32(&h->spread[size], relaxed);
    if (quarry_slabs_larger(spread))
        of = quarry_slabs_larger(spread);
    else if ((spread & QUARRY_SLABS_BARREN) && !several)
        of = size;
    left = simt_ballot(all, !block && of < h->classes);
    if (of != size && left >> simt_lane() & 1u) {
        struct quarry_random r = quarry_random_start();
        uint32_t x = quarry_mix_u32(r.state);
        if (x % (SIMT_LANES * QUARRY_SLABS_TELLS) == 0)
            quarry_slabs_glance(h, size, of, x);
    }
    SIMT_ROLLED
    while (left) { /* one class of slots after the other: most warps need slots of one */
        uint32_t one = simt_shuffle_u32(all, of, simt_ctz_u32(left));
        uint32_t mine = left & simt_ballot(all, of == one);
        const int guesses = tries != 0, larger = simt_any(all, (mine >> simt_lane() & 1u) && of != size);
        uint64_t got; /* a mask that the compiler knows: a third fewer instructions */
        if (all == SIMT_ALL_LANES)
            got = quarry_slabs_recall(h, SIMT_ALL_LANES, one, first, mine, guesses, larger);
        else
            got = quarry_slabs_recall(h, all, one, first, mine, guesses, larger);
        if (mine >> simt_lane() & 1u)
            place = got;
        left &= simt_ballot(all, place == QUARRY_SLABS_NONE);
        if (++tries > QUARRY_SLABS_GUESSES || !(mine & left)) {
            left &= ~mine;
            tries = 0;
        }
    }
    if (!block && place != QUARRY_SLABS_NONE)
        block = quarry_slabs_block(h, place, of);
    simt_sync(all); /* what one acquired, each has */
    return block;
}

/* The same for classes of a warp that wants several. */
SIMT_NOINLINE_FN void *quarry_slabs_gather(const struct quarry_slabs *h, uint32_t all, uint32_t size,
                                           uint32_t looks, void *block)
{
    uint64_t place = block ? 0 : QUARRY_SLABS_NONE;
    uint32_t group = simt_match_u32(all, size);
    SIMT_ROLLED
    for (uint32_t i = 0; i < looks; i++)
        place = quarry_slabs_gather_once(h, all, group, size, place);
    if (!block && place != QUARRY_SLABS_NONE)
        block = quarry_slabs_block(h, place, size);
    simt_sync(all); /* what one acquired, each has */
    return block;
}

#endif
