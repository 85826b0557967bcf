/* SPDX-License-Identifier: Apache-2.0 */
/* How lanes take slots of a word and of a cursor of alloc/slabs/slabs_map.h: a malloc's cheap steps, and what all its
 * steps are made of. */
#ifndef QUARRY_ALLOC_SLABS_SLOTS_H
#define QUARRY_ALLOC_SLABS_SLOTS_H

#include "quarry/alloc/slabs/slabs_map.h"

#define QUARRY_SLABS_NUMBERS ((uint32_t)1 << 31) /* what a cursor gave are numbers of its trail */
#define QUARRY_SLABS_CALM 256u /* numbers: of so many one ends the trail, if the heap is not new */
#define QUARRY_SLABS_HINT 8u   /* free slots of a word from which it is worth a hint */
#define QUARRY_SLABS_BURST                                                                                   \
    8u /* of a class's cursors one in so many can be a warp's own; all are for bursts */

/* ---- words ---- */

/* The lowest n of the bits; all if there are fewer.
 *   n   1 to 32 */
SIMT_FN uint32_t quarry_slabs_lowest(uint32_t bits, uint32_t n)
{
    if (bits == 0 || n >= simt_popc_u32(bits))
        return bits;
    return bits & ((2u << quarry_kth_of_run_u32(bits, n)) - 1u);
}

/* Takes up to n slots of a word.
 *   seen   what it held; then what it holds, as far as is known
 *   n      1 to 32
 * Returns their bits, or 0: it has none, or is of another class.  Waits for nobody: a try in vain is another's
 * success. */
SIMT_FN uint32_t quarry_slabs_take(uint64_t *word, uint64_t *seen, uint32_t class_, uint32_t n)
{
    SIMT_ROLLED
    while (quarry_slabs_is_of(*seen, class_) && (uint32_t)*seen != ~0u) {
        uint32_t bits = quarry_slabs_lowest(~(uint32_t)*seen, n);
        uint64_t after = *seen | bits | QUARRY_SLABS_TOUCHED;
        uint64_t now = simt_cas_u64(word, *seen, after, acquire); /* pairs with frees */
        if (now == *seen) {
            *seen = after;
            return bits;
        }
        *seen = now;
    }
    return 0;
}

/* Sets bits of a word that a hint leads to.  Others' ORs into the word don't disturb that, as they would a
 * compare-exchange.
 *   wants   bits; to set one that is taken changes nothing
 *   *clear  out: bits that are clear still, as far as is known; 0 if the word is of another class
 * Returns those of `wants` that were clear: their slots are the caller's. */
SIMT_FN uint32_t quarry_slabs_or_once(uint64_t *word, uint32_t wants, uint32_t class_, uint32_t *clear)
{
    uint64_t now = simt_or_u64(word, wants | QUARRY_SLABS_TOUCHED, acquire); /* pairs with frees */
    uint32_t fresh = wants & ~(uint32_t)now;
    *clear = ~((uint32_t)now | wants);
    if (quarry_slabs_is_of(now, class_))
        return fresh;
    if (fresh)
        (void)simt_and_u64(word, ~(uint64_t)fresh, relaxed);
    *clear = 0;
    return 0;
}

/* Takes up to n slots of such a word.  If fewer seem clear than are wanted, its first try is also for bits above those.
 * They may be clear as well.
 *   *clear  in: bits that seem clear, not 0; out: as of quarry_slabs_or_once
 *   n       1 to 32
 * Returns their bits, all of one class: who has a slot keeps its chunk from being closed.  Waits for nobody: each try
 * in vain is another's success. */
SIMT_FN uint32_t quarry_slabs_or(uint64_t *word, uint32_t *clear, uint32_t class_, uint32_t n)
{
    uint32_t wants = quarry_slabs_lowest(*clear, n), more = n - simt_popc_u32(wants);
    wants |= (uint32_t)((((uint64_t)1 << more) - 1u) << (32u - simt_clz_u32(wants)));
    uint32_t got = quarry_slabs_or_once(word, wants, class_, clear);
    n -= simt_popc_u32(got);
    SIMT_ROLLED
    while (*clear && n) { /* few come here; a loop around the first try would cost all of them */
        /* Others have lost slots of this word, too.  If all tried the lowest ones next, most would lose again. */
        uint32_t high = *clear & ~0u << (simt_thread() * 0x9e3779b9u >> 27);
        wants = quarry_slabs_lowest(simt_popc_u32(high) < n ? *clear : high, n);
        uint32_t fresh = quarry_slabs_or_once(word, wants, class_, clear);
        got |= fresh;
        n -= simt_popc_u32(fresh);
    }
    return got;
}

/* A word's number in hints: its chunk, and its number there, of h->word_log bits. */
SIMT_FN uint32_t quarry_slabs_id(const struct quarry_slabs *h, uint64_t place)
{
    return (uint32_t)(place >> 16) << h->word_log | ((uint32_t)place & 0xffffu) / QUARRY_SLABS_BITS;
}

/* The place of that word's first slot. */
SIMT_FN uint64_t quarry_slabs_first(const struct quarry_slabs *h, uint32_t id)
{
    return quarry_slabs_place(id >> h->word_log, (id & ((1u << h->word_log) - 1u)) * QUARRY_SLABS_BITS);
}

/* That word. */
SIMT_FN uint64_t *quarry_slabs_hinted(const struct quarry_slabs *h, uint32_t id)
{
    return &h->words[(uint64_t)(id >> h->word_log) * h->stride + (id & ((1u << h->word_log) - 1u))];
}

/* A word and bits of it that seem clear: the hint of warp `warp` for the class.  Hints of a warp for 16 classes are a
 * row: so a warp that wants many classes looks at few lines.  Warps beyond the last row begin anew, each time a place
 * farther: so with one class all hints serve.  Each 16 classes begin elsewhere, at least 7/256 of all hints from any
 * others.  So warps share hints only if they are many. */
SIMT_FN uint64_t *quarry_slabs_hint(const struct quarry_slabs *h, uint32_t class_, uint32_t warp)
{
    uint32_t apart = 157u * (h->hints / 256u); /* 157: odd, and 256 times the golden ratio */
    uint32_t place = (class_ + (warp >> h->hint_log)) % QUARRY_SLABS_HINT_ROW;
    place += warp * QUARRY_SLABS_HINT_ROW + class_ / QUARRY_SLABS_HINT_ROW * apart;
    return &h->hint[place & (h->hints - 1u)];
}

/* Of a warp that frees slots of several words of a class that is barren: a hint for each, which are a row, as all lanes
 * of the warp look there together.  Each class begins elsewhere, far from those above of most classes.  That above is
 * also the last word's, and where the row begins depends on it: so hints of several frees remain.
 *   first    the id of that word
 *   number   0 to 30; 31: that above */
SIMT_FN uint64_t *quarry_slabs_hint_of(const struct quarry_slabs *h, uint32_t class_, uint32_t first,
                                       uint32_t number)
{
    uint32_t warp = simt_thread() / SIMT_LANES, begin = first * 0x9e3779b9u >> 27;
    uint32_t place = warp * SIMT_LANES + (begin + number) % SIMT_LANES;
    place += (157u * class_ + 128u) % 256u * (h->hints / 256u);
    return number + 1u < SIMT_LANES ? &h->hint[place & (h->hints - 1u)] : quarry_slabs_hint(h, class_, warp);
}

/* How many cursors of a class can be a warp's own.  If all could, and warps asked for many sizes, each class would have
 * many chunks that are half used. */
SIMT_FN uint32_t quarry_slabs_few(const struct quarry_slabs *h)
{
    return h->cursors >= QUARRY_SLABS_BURST ? h->cursors / QUARRY_SLABS_BURST : 1u;
}

/* And which cursor.
 *   used   of how many: a power of two */
SIMT_FN uint32_t quarry_slabs_own_cursor(const struct quarry_slabs *h, uint32_t class_, uint32_t used)
{
    uint32_t i = simt_thread() / SIMT_LANES & (used - 1u);
    return quarry_slabs_cursor(h, class_, i);
}

/* Tells how it goes with a class.  Others may at the same time: it only matters for speed and room.  A class for
 * which no free chunk was found is barren: it walks first.  If many ask for more while a cursor is filled, and many
 * chunks are free or seem to have no live slot, the class uses more cursors from now on; if few are, fewer.
 *   asked   lanes, in vain, while a cursor was filled
 *   dense   of 32 chunks that were looked at, so many were that */
SIMT_FN void quarry_slabs_adapt(const struct quarry_slabs *h, uint32_t class_, uint32_t dense, uint32_t asked,
                                uint32_t slots)
{
    uint32_t spread = simt_load_u32(&h->spread[class_], relaxed);
    uint32_t more = quarry_slabs_used(spread);
    if (dense >= 16u && 8u * asked >= slots && more < quarry_slabs_few(h))
        more *= 2u;
    if (dense < 4u && more > h->trails) /* no fewer: who fills another than its own cursor meets no trail */
        more /= 2u;
    more = (more - 1u) | (dense == 0 ? QUARRY_SLABS_BARREN : 0u);
    more |=
        spread & ~QUARRY_SLABS_BARREN & ~QUARRY_SLABS_USED; /* nobody takes back what the class has reached */
    if (dense)
        more &= ~QUARRY_SLABS_LARGERS;
    if (more != spread)
        (void)simt_cas_u32(&h->spread[class_], spread, more, relaxed);
}

/* Takes up to n slots of a cursor.  If it has a trail, those that are missing are numbers there: whoever may meet one
 * goes on with quarry_slabs_follow, as nobody else has these.
 * Returns the place of the first; *got: how many; *asked: its `next` before, and QUARRY_SLABS_NUMBERS if it has a
 * trail. */
SIMT_FN uint64_t quarry_slabs_add(uint64_t *cursor, uint32_t slots, uint32_t n, uint32_t *got,
                                  uint32_t *asked)
{
    uint64_t now = simt_add_u64(cursor, n, acquire); /* pairs with the store that filled it */
    uint32_t next = quarry_slabs_next(now), left = next < slots ? slots - next : 0;
    *got = left < n ? left : n;
    *asked = quarry_slabs_is_trail(now) ? next | QUARRY_SLABS_NUMBERS : next;
    /* Nobody fills it, and many have asked: none of these adds again before it is set back. */
    if (next >= QUARRY_SLABS_FAR) {
        uint64_t seen = simt_load_u64(cursor, relaxed), far = ~seen;
        while (seen != far && quarry_slabs_next(seen) >= QUARRY_SLABS_FAR) {
            far = seen;
            seen = simt_cas_u64(cursor, far, far - quarry_slabs_next(far) + QUARRY_SLABS_PAST, relaxed);
        }
    }
    return quarry_slabs_place(quarry_slabs_chunk(now), next);
}

/* ---- lanes that come together ---- */

/* Hands out slots of a word, or of a cursor, to lanes that need one, lower lanes lower ones.
 *   group            lanes of `all` that share a giver; other lanes of `all` have others
 *   first, bits, n   of lane `giver`: the place of the word's first slot and the bits that were taken; or the first
 *                    place of n in a row, and 0
 *   place            the caller's, or QUARRY_SLABS_NONE
 * Returns the caller's place.  Scope: all lanes of `all`, reconverged: so groups take their steps side by side, which
 * they would one after the other if each talked for itself. */
SIMT_FN uint64_t quarry_slabs_deal(uint32_t all, uint32_t group, uint32_t giver, uint64_t first,
                                   uint32_t bits, uint32_t n, uint64_t place)
{
    uint32_t needs = simt_ballot(all, place == QUARRY_SLABS_NONE) & group, k = simt_rank(needs);
    first = simt_shuffle_u64(all, first, giver);
    bits = simt_shuffle_u32(all, bits, giver);
    n = simt_shuffle_u32(all, n, giver);
    if (place != QUARRY_SLABS_NONE)
        return place;
    if (bits != 0)
        return k < simt_popc_u32(bits) ? first + quarry_kth_of_run_u32(bits, k + 1u) : place;
    return k < n ? first + k : place;
}

/* Of words that lanes of a group have seen, those that have most: so blocks of a warp lie in few words, and frees of
 * these take few steps.
 *   clear   free slots of the caller's word
 *   asked   slots that are wanted
 * Returns `clear`, or 0 if others have enough.  Scope: group. */
SIMT_FN uint32_t quarry_slabs_richest(uint32_t group, uint32_t clear, uint32_t asked)
{
    SIMT_ROLLED
    for (uint32_t least = 16; least > 1u; least -= (least + 2u) / 3u) {
        uint32_t rich = clear >= least ? clear : 0;
        if (simt_reduce_add_u32(group, rich) >= asked)
            return rich;
    }
    return clear;
}

/* The same of as many words as there are lanes in the group, each of which has one.
 *   wants      lanes that need a slot; of these the ranks from `from` on, below `to`, are the caller's word's.  These
 *              two are sums over all lanes of lower rank
 *   id, bits   of the caller's word; fewer than it was to give, if others were faster
 * Returns the caller's place, if it wants one, or QUARRY_SLABS_NONE. */
SIMT_FN uint64_t quarry_slabs_deal_words(const struct quarry_slabs *h, uint32_t group, uint32_t wants,
                                         uint32_t from, uint32_t to, uint32_t id, uint32_t bits)
{
    uint32_t k = simt_rank(wants), giver = quarry_lane_of_rank(group, quarry_scan_find_u32(group, to, k));
    bits = simt_shuffle_u32(group, bits, giver);
    id = simt_shuffle_u32(group, id, giver);
    k -= simt_shuffle_u32(group, from, giver);
    return wants >> simt_lane() & 1u && k < simt_popc_u32(bits)
               ? quarry_slabs_first(h, id) + quarry_kth_set_u32(bits, k + 1u)
               : QUARRY_SLABS_NONE;
}

/* Adds to a cursor for all lanes of each group that need a slot.
 *   index    of the cursor, or QUARRY_NO_PAGE: none; as the group's first lane has it
 *   *asked   as quarry_slabs_add, of the lane that adds */
SIMT_FN uint64_t quarry_slabs_draw(const struct quarry_slabs *h, uint32_t all, uint32_t group, uint32_t index,
                                   uint32_t class_, uint64_t place, uint32_t *asked)
{
    uint32_t needs = simt_popc_u32(simt_ballot(all, place == QUARRY_SLABS_NONE) & group), got = 0;
    uint64_t first = 0;
    if (simt_rank(group) == 0 && needs && index != QUARRY_NO_PAGE)
        first = quarry_slabs_add(&h->cursor[index], quarry_slabs_slots(h, class_), needs, &got, asked);
    return quarry_slabs_deal(all, group, simt_ctz_u32(group), first, 0, got, place);
}

/* Step 2 of lanes whose cursors have trails: they have added, and this takes the slots that their numbers lead to.
 * All classes of a warp at the same time.  Like quarry_slabs_refill it gets what it needs by value.
 *   kinds, map, span, stride, trails   of the heap: h->kinds and h->words, from h->bound on, ...
 *   class_, slots, cursor   the caller's class, slots of a chunk of it, and the number of its cursor in the class
 *   at      the caller's number, or 0: it has none
 * Returns the caller's place, its chunk counted from h->bound on, or QUARRY_SLABS_NONE.  Scope: `all`. */
SIMT_NOINLINE_FN uint64_t quarry_slabs_follow(uint64_t *kinds, uint64_t *map, uint32_t span, uint32_t stride,
                                              uint32_t trails, uint32_t all, uint32_t class_, uint32_t slots,
                                              uint32_t cursor, uint32_t at)
{
    struct quarry_slabs_step step = {QUARRY_NO_PAGE, 0, 0};
    uint64_t kind = QUARRY_SLABS_FRESH;
    if (at)
        step = quarry_slabs_step_of(span, trails, class_, slots, cursor, at);
    uint32_t group = simt_match_u32(all, step.chunk), k = simt_rank(group);
    if (k == 0 && step.chunk != QUARRY_NO_PAGE) {
        /* Order: acquires the kind, for the caller's free, which loads it from its cache. */
        uint64_t bound = quarry_slabs_next_kind(0, QUARRY_SLABS_IS_BOUND, class_, step.more);
        kind = simt_cas_u64(&kinds[step.chunk], QUARRY_SLABS_FRESH, bound, acquire);
        kind = kind == QUARRY_SLABS_FRESH ? bound : kind;
    }
    kind = simt_shuffle_u64(all, kind, simt_ctz_u32(group));
    const int ours = step.chunk != QUARRY_NO_PAGE && quarry_slabs_is_step(kind, class_, step.more);
    k = simt_rank(simt_ballot(all, ours) & group); /* two classes' numbers may lead to one chunk */
    if (ours &&
        (k == 0 || step.slot % QUARRY_SLABS_BITS == 0)) /* lanes that share a chunk have slots in a row */
        (void)simt_or_u64(&map[(uint64_t)step.chunk * stride + step.slot / QUARRY_SLABS_BITS],
                          quarry_slabs_of(class_, 0), relaxed);
    simt_sync(all); /* what the first acquired, each has; and none frees a slot whose word has no class */
    return ours ? quarry_slabs_place(step.chunk, step.slot) : QUARRY_SLABS_NONE;
}

/* The same, of lanes that want blocks of classes.  If numbers lead to nothing, the trail ends.  So it does now and then
 * if the warp has had blocks of the class before: trails are for the first mallocs of a heap, and cost others a step.
 * But where a chunk has few slots that step is cheaper than to fill the cursor so often.
 *   spread   of the caller's class, as it was for the add
 *   asked    of a group's first lane: as quarry_slabs_add, or 0
 *   first    of that lane: what the hint of the class named, or 0
 *   block    what the caller has, or NULL */
SIMT_FN uint64_t quarry_slabs_follow_class(const struct quarry_slabs *h, uint32_t all, uint32_t group,
                                           uint32_t class_, uint32_t spread, uint32_t asked, uint32_t first,
                                           const void *block)
{
    uint32_t cursor = simt_thread() / SIMT_LANES & (quarry_slabs_used(spread) - 1u), at;
    uint32_t needs = simt_ballot(all, !block) & group;
    cursor = simt_shuffle_u32(all, cursor, simt_ctz_u32(group)); /* the one that was added to */
    asked = simt_shuffle_u32(all, asked, simt_ctz_u32(group));
    class_ =
        simt_shuffle_u32(all, class_, simt_ctz_u32(group)); /* else the compiler keeps what it knows of it */
    const uint32_t slots = quarry_slabs_slots(h, class_);
    at = asked & QUARRY_SLABS_NEXT;
    at = at < slots ? slots : at; /* those before that were of the cursor's chunk */
    uint32_t to = (at + simt_popc_u32(needs)) / QUARRY_SLABS_CALM;
    const int ends = first && slots >= 4u * QUARRY_SLABS_CALM && (asked & QUARRY_SLABS_NUMBERS) &&
                     to != at / QUARRY_SLABS_CALM;
    at = !block && (asked & QUARRY_SLABS_NUMBERS) ? at + simt_rank(needs) : 0;
    uint64_t place =
        quarry_slabs_follow(h->kinds + h->bound, h->words + (uint64_t)h->bound * h->stride,
                            h->pages.count - h->bound, h->stride, h->trails, all, class_, slots, cursor, at);
    needs = simt_ballot(all, at && (ends || place == QUARRY_SLABS_NONE)) & group;
    if ((needs >> simt_lane() & 1u) && simt_rank(needs) == 0)
        quarry_slabs_end_trail(quarry_slabs_copy(h, simt_sm()), quarry_slabs_cursor(h, class_, cursor));
    simt_sync(all);
    return place == QUARRY_SLABS_NONE ? place : place + quarry_slabs_place(h->bound, 0);
}

/* Leaves a hint for the class: a word, by its number, and bits of it that seem clear. */
SIMT_FN void quarry_slabs_leave(const struct quarry_slabs *h, uint32_t class_, uint32_t id, uint32_t clear)
{
    simt_store_u64(quarry_slabs_hint(h, class_, simt_thread() / SIMT_LANES), (uint64_t)id << 32 | clear,
                   relaxed);
}

/* Do the first and the last word of a chunk of the class seem to have no live slot? */
SIMT_FN int quarry_slabs_seems_empty(const struct quarry_slabs *h, uint32_t chunk, uint32_t class_)
{
    uint32_t slots = quarry_slabs_slots(h, class_), last = quarry_slabs_words(slots) - 1u;
    const uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    return (((uint32_t)simt_load_u64(&word[0], relaxed) & ~quarry_slabs_from(0, slots)) |
            ((uint32_t)simt_load_u64(&word[last], relaxed) & ~quarry_slabs_from(last, slots))) == 0;
}

/* And up to 8 words between?  Two words are too few for a chunk of many: one with a few small blocks would often seem
 * vacant. */
SIMT_FN int quarry_slabs_seems_sparse(const struct quarry_slabs *h, uint32_t chunk, uint32_t class_)
{
    uint32_t words = quarry_slabs_words(quarry_slabs_slots(h, class_)), taken = 0;
    const uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    SIMT_ROLLED
    for (uint32_t i = 0; i + 1u < words; i += words / 8u + 1u)
        taken |= (uint32_t)simt_load_u64(&word[i], relaxed);
    return taken == 0;
}

/* Does a chunk of another class seem to have no live slot? */
SIMT_FN int quarry_slabs_seems_vacant(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind,
                                      uint32_t class_)
{
    uint32_t other = quarry_slabs_kind_class(kind);
    return quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND && other != class_ &&
           quarry_slabs_seems_empty(h, chunk, other);
}

/* Is a chunk bound to the class, and has a live slot, as it seems?  Its kind is read last: one that is being closed
 * has full words, too.  If somebody took a slot of its other words for a smaller block, it would have to stay. */
SIMT_FN int quarry_slabs_seems_used(const struct quarry_slabs *h, uint32_t chunk, uint32_t class_)
{
    int empty = quarry_slabs_seems_empty(h, chunk, class_);
    return quarry_slabs_is_bound(quarry_slabs_kind(h, chunk), class_) && !empty;
}

/* Makes a chunk known, which is or was of the class: a hint, which nobody waits for.
 *   random   which one is forgotten for it */
SIMT_FN void quarry_slabs_tell(const struct quarry_slabs *h, uint32_t class_, uint32_t chunk, uint32_t random)
{
    simt_store_u32(&h->known[class_ * h->knows + (random & (h->knows - 1u))], chunk, relaxed);
}

#endif
