/* SPDX-License-Identifier: Apache-2.0 */
/* The proof of alloc/slabs.h that nothing fits, and what it finds instead.
 *
 * A malloc of a class fits into a chunk that is free, into a slot of its class or of a larger one, and into a chunk of
 * any class without a live slot.  A large block fits into a row of chunks that are free or have no live slot.
 *
 * Slots of larger classes are taken last: by who sweeps.  Then others who want the same class take slots of that larger
 * one without a sweep, as they take their own.
 *
 * Turns have sizes: for a class its number, for rows h->classes and the chunks; and, about just one class,
 * QUARRY_SWEEP_CLASS more.  Who finds nothing for a class finds nothing for larger ones, and no chunk for a row.  So
 * one turn tells all who want no less, and the lanes of a warp look for the smallest class first.
 *
 * A turn of core/sweep.h has two passes, and each reads everything: kinds, words and cursors.  (For rows of n chunks it
 * reads each chunk whose number is a multiple of n, and those beside it as far as they are vacant: every row has one.)
 * Neither may see what fits; nor, for a class, a chunk that moves, nor a cursor of the turn's classes that has slots
 * left, nor one of another class that has, and whose chunk has no live slot.  And both must read the same versions of
 * kinds, and cursors that are as far: the sum of a number that is made of each must be the same.  (Different versions
 * have the same sum once in 2^64.)  Of a word that it reads the first pass clears the flag `touched`, which whoever
 * takes a slot sets; the second must find it clear.  One turn is under way at a time, so nobody else clears it.
 * Then nothing fitted between the passes:
 *   A slot that the second pass saw taken was taken then.  Else somebody has taken it since, and has touched its word;
 *   or its chunk was bound anew, and the kind's version has changed.  So a word without a clear bit had none then, and
 *   a chunk with a live slot had one.
 *   A chunk that neither pass saw moving, and whose kind has one version in both, did not move between them.  If it
 *   moves after the second has read its kind, the words that it reads then are touched.
 *   A cursor that both saw empty, in one life, had nothing between them: it gets slots only in a new life.
 *   A cursor that both saw equally far, in one life, gave nothing between them: so a slot that it had given before, and
 *   that the second pass saw taken, was live between them, and its chunk was not empty.
 *   So whatever there was between the passes was in one of the words, and no chunk was on its way.
 * A slot that a malloc under way has taken by a stale hint, and is about to give back, counts as taken, and its chunk
 * as one that has a live slot: a lane that has no block yet holds one at most, of whatever class.
 *
 * Order.  Kinds are stored with release, words and cursors that make a chunk closed or retired are changed with
 * release, and a pass ends with a fence.  So if the first pass sees a step of somebody's change, the second sees the
 * steps before it: the chunk that moves.  One case stays open, as with rw (docs/design/full-heap.md): of a thread that
 * frees a slot and then takes one of another word, a sweep might see the take and not yet the free.  A take only
 * acquires, as a release would cost each malloc a fence.  A program's fence between the two forbids the case. */
#ifndef QUARRY_ALLOC_SLABS_SWEEP_H
#define QUARRY_ALLOC_SLABS_SWEEP_H

#include "quarry/alloc/slabs/slabs_map.h"
#include "quarry/alloc/slabs/slabs_slots.h"

#define QUARRY_SLABS_PART 32u /* items of a part of a sweep: chunks, then rows */
#define QUARRY_SLABS_ROW 8u   /* of so many cursors at most, of one class */
#define QUARRY_SLABS_ROWS(h) ((h)->classes * (((h)->cursors + QUARRY_SLABS_ROW - 1u) / QUARRY_SLABS_ROW))
#define QUARRY_SLABS_ALL 255u /* no fewer than there are classes */

/* What lanes look for, one class after the other, and what they have found: the same of all lanes, but for `place`,
 * `own`, `number`, and what is the caller's.  It is in memory, and each step that few mallocs take is a function that
 * is not inlined and gets its address: so none pays for the registers of another. */
struct quarry_slabs_need {
    const struct quarry_slabs *slabs;
    void *its_block;   /* what the caller has got, or NULL, */
    uint32_t its_size; /* and is to have: a class, or h->classes and the chunks of a large block */
    uint32_t left;     /* lanes whose class had no turn yet */
    uint32_t wide;     /* so many classes above its own serve a block, too: none, or QUARRY_SLABS_ALL */
    uint32_t group;
    uint64_t place;  /* who has a turn: what the caller has got, or QUARRY_SLABS_NONE; others: 0 */
    uint32_t class_; /* or, for a large block, h->classes: none */
    uint32_t chunks; /* of a large block */
    uint32_t size;   /* of a sweep's turn; */
    uint32_t page;   /* where to look; of a sweep: what quarry_slabs_sweep_part has found, */
    uint32_t first;  /* chunk of a row of vacant ones, or how many cursors of a part are done, */
    uint32_t row;    /* its length, or which rows of these are read, a bit for each lane, */
    uint32_t dirty;  /* whether something fits that the turn is about, */
    uint32_t of;     /* the class whose slots are to be taken there, or h->classes: it seems vacant, */
    uint64_t number; /* and the sum of the part's numbers */
    uint32_t cursor; /* the number of what the group is to fill, or QUARRY_NO_PAGE */
    uint32_t dense;  /* of 32 chunks that were looked at so many were free */
    uint64_t held;   /* of the first lane: what that held when it set `busy` */
    uint32_t tries;  /* to fill one: how many there were; */
    uint32_t seen;   /* whether a chunk was free, as far as is known; */
    uint32_t closes; /* and whether also to close chunks of other classes without a live slot */
    uint32_t looks;  /* of a sweep: the number of the pass; of a walk: how many in a row gave nothing */
    uint32_t own;    /* of a sweep: the calling lane's chunk, */
    uint32_t saw;    /* and what it saw there */
};

/* What a lane saw of a chunk. */
enum {
    QUARRY_SLABS_SAW_VACANT = 1, /* it is free, or moves, or has no live slot */
    QUARRY_SLABS_SAW_MOVING = 2,
    QUARRY_SLABS_SAW_TURNS = 4,    /* it has a clear bit, and a class that the turn is about; */
    QUARRY_SLABS_SAW_OURS = 8,     /* the same of a class that serves the group */
    QUARRY_SLABS_SAW_TOUCHED = 16, /* somebody has taken a slot that matters since the first pass */
    QUARRY_SLABS_SAW_WHOLE = 32,   /* nothing yet: all its words are to be read */
    QUARRY_SLABS_SAW_CLASS = 64    /* times its class */
};

/* What lanes saw in words of a chunk. */
enum {
    QUARRY_SLABS_WORD_LIVE = 1,   /* a live slot; */
    QUARRY_SLABS_WORD_HELD = 2,   /* one in a word that nobody has touched since the first pass */
    QUARRY_SLABS_WORD_CLEAR = 4,  /* a clear bit */
    QUARRY_SLABS_WORD_TOUCHED = 8 /* somebody has taken a slot since the first pass */
};

/* Is a turn about slots of the class? */
SIMT_FN int quarry_slabs_is_about(uint32_t size, uint32_t class_)
{
    return class_ >= size || (QUARRY_SWEEP_CLASS | class_) == size;
}

/* Adds the number of a version to the sum of the part. */
SIMT_FN void quarry_slabs_count_version(struct quarry_slabs_need *need, uint32_t thing, uint32_t version)
{
    need->number += quarry_slabs_number(thing, version);
}

/* Clears the flag of a word, and returns what it holds then. */
SIMT_FN uint64_t quarry_slabs_untouch(uint64_t *at, uint64_t seen)
{
    (void)simt_and_u64(at, ~QUARRY_SLABS_TOUCHED, relaxed);
    return seen & ~QUARRY_SLABS_TOUCHED;
}

/* Reads a word that the turn relies on.  The first pass clears its flag, and whoever takes a slot sets it.  So the
 * second pass sees whether somebody has: then the turn is dirty. */
SIMT_FN uint64_t quarry_slabs_read(const struct quarry_slabs_need *need, uint32_t word)
{
    uint64_t *at = &need->slabs->words[word], seen = simt_load_u64(at, relaxed);
    return (seen & QUARRY_SLABS_TOUCHED) && need->looks == 0 ? quarry_slabs_untouch(at, seen) : seen;
}

/* Reads words of a chunk.
 *   word    the first, then the one `step` words behind it, and so on
 *   words   of the chunk, from `word` on
 *   last    bits of the last of these that are slots
 *   step    of a lane
 *   pass    of the turn, as quarry_slabs_read
 *   enough  what the caller wants to know: with all of this it ends
 * Returns what they have. */
SIMT_FN uint32_t quarry_slabs_read_words(uint64_t *word, int32_t words, uint32_t last, uint32_t step,
                                         uint32_t pass, uint32_t enough)
{
    uint32_t saw = 0;
    SIMT_ROLLED
    for (; words > 0 && (saw & enough) != enough; words -= (int32_t)step, word += step) {
        uint64_t seen = simt_load_u64(word, relaxed);
        if ((seen & QUARRY_SLABS_TOUCHED) && pass == 0)
            seen = quarry_slabs_untouch(word, seen);
        if ((uint32_t)seen != ~0u)
            saw |= QUARRY_SLABS_WORD_CLEAR;
        if (seen & QUARRY_SLABS_TOUCHED)
            saw |= QUARRY_SLABS_WORD_TOUCHED;
        if ((uint32_t)seen & (words == 1 ? last : ~0u))
            saw |= seen & QUARRY_SLABS_TOUCHED ? QUARRY_SLABS_WORD_LIVE
                                               : QUARRY_SLABS_WORD_LIVE | QUARRY_SLABS_WORD_HELD;
    }
    return saw;
}

/* What `words`, which quarry_slabs_read_words returned of a chunk of the class, say of the chunk. */
SIMT_FN uint32_t quarry_slabs_saw_words(const struct quarry_slabs_need *need, uint32_t class_, uint32_t words)
{
    uint32_t saw = class_ * QUARRY_SLABS_SAW_CLASS;
    const int turns = quarry_slabs_is_about(need->size, class_);
    if (!(words & QUARRY_SLABS_WORD_LIVE))
        saw |= QUARRY_SLABS_SAW_VACANT;
    if ((words & QUARRY_SLABS_WORD_CLEAR) && class_ - need->class_ <= need->wide)
        saw |= QUARRY_SLABS_SAW_OURS;
    if ((words & QUARRY_SLABS_WORD_CLEAR) && turns)
        saw |= QUARRY_SLABS_SAW_TURNS;
    /* Of a class that the turn is not about it only matters that the chunk has a live slot. */
    if ((words & QUARRY_SLABS_WORD_TOUCHED) && (turns || !(words & QUARRY_SLABS_WORD_HELD)))
        saw |= QUARRY_SLABS_SAW_TOUCHED;
    return saw;
}

/* Looks at a chunk.  Of a class that the turn is about, or that serves the group, all words are to be read; of others
 * those up to the first that has a live slot, which it does.
 *   rows   the turn is about rows: slots serve nobody
 * Returns what the caller saw.  It may be wrong in a moment. */
SIMT_FN uint32_t quarry_slabs_look(struct quarry_slabs_need *need, uint32_t chunk, int rows)
{
    const struct quarry_slabs *h = need->slabs;
    uint64_t kind = quarry_slabs_kind(h, chunk);
    uint32_t class_ = quarry_slabs_kind_class(kind);
    quarry_slabs_count_version(need, ~chunk, (uint32_t)(kind >> 34));
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE)
        return QUARRY_SLABS_SAW_VACANT;
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_MOVING)
        return QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_MOVING;
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_LARGE)
        return 0;
    if (!rows && (quarry_slabs_is_about(need->size, class_) || class_ - need->class_ <= need->wide))
        return QUARRY_SLABS_SAW_WHOLE | class_ * QUARRY_SLABS_SAW_CLASS;
    uint32_t slots = quarry_slabs_slots(h, class_), words = quarry_slabs_words(slots);
    uint32_t last = ~quarry_slabs_from(0, slots - (words - 1u) * QUARRY_SLABS_BITS);
    words = quarry_slabs_read_words(&h->words[(uint64_t)chunk * h->stride], (int32_t)words, last, 1u,
                                    need->looks, QUARRY_SLABS_WORD_LIVE);
    return quarry_slabs_saw_words(need, class_, words);
}

/* Looks at all words of the lanes' chunks, need->own, that are to be read whole, as need->saw says, and sets that anew.
 * Each of these chunks gets as many lanes as there are for it.  A free slot beside a live one is all that matters: then
 * no more words are read.  Scope: group, reconverged. */
SIMT_FN void quarry_slabs_look_whole(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    uint32_t group = need->group, whole = simt_ballot(group, need->saw & QUARRY_SLABS_SAW_WHOLE);
    uint32_t chunks = simt_popc_u32(whole), at = quarry_divide_u32(simt_rank(group), chunks);
    uint32_t owner = quarry_kth_set_u32(whole, simt_rank(group) - at * chunks + 1u);
    uint32_t class_ = simt_shuffle_u32(group, need->saw, owner) / QUARRY_SLABS_SAW_CLASS;
    uint64_t *word = &h->words[simt_shuffle_u32(group, need->own, owner) * h->stride + at];
    uint32_t slots = quarry_slabs_slots(h, class_), words = quarry_slabs_words(slots);
    uint32_t last = ~quarry_slabs_from(0, slots - (words - 1u) * QUARRY_SLABS_BITS);
    uint32_t lanes = quarry_divide_u32(simt_popc_u32(group), chunks); /* or one more */
    words = quarry_slabs_read_words(word, (int32_t)(words - at), last, lanes, need->looks,
                                    QUARRY_SLABS_WORD_CLEAR | QUARRY_SLABS_WORD_HELD);
    words = quarry_share_or_u32(need->group, simt_match_u32(need->group, owner), words);
    whole = simt_ballot(need->group, need->saw & QUARRY_SLABS_SAW_WHOLE);
    words = simt_shuffle_u32(need->group, words, quarry_lane_of_rank(need->group, simt_rank(whole)));
    if (need->saw & QUARRY_SLABS_SAW_WHOLE)
        need->saw = quarry_slabs_saw_words(need, need->saw / QUARRY_SLABS_SAW_CLASS, words);
}

/* Has a cursor's chunk a live slot, among those that the cursor has handed out?  Else a sweep may take the chunk.
 * Reads the words up to the first that has one.  Then bit 31 says whether somebody has taken slots there. */
SIMT_FN uint32_t quarry_slabs_is_used(const struct quarry_slabs_need *need, uint32_t class_, uint64_t cursor)
{
    uint32_t next = quarry_slabs_next(cursor), word = quarry_slabs_chunk(cursor) * need->slabs->stride;
    SIMT_ROLLED
    for (uint32_t first = 0; first < next; first += QUARRY_SLABS_BITS, word++) {
        uint64_t seen = quarry_slabs_read(need, word);
        if (quarry_slabs_is_of(seen, class_) && ((uint32_t)seen & ~quarry_slabs_from(0, next - first)) != 0)
            return 1u | (uint32_t)(seen >> 32) << 31;
    }
    return 0;
}

/* Has the cursor still the chunk that it names, as far as can be seen?  Else the program has freed slots that were yet
 * to be handed out, and the chunk was closed: what seems left is for nobody, and a turn that waited for it would not
 * end.
 *   index   of the cursor, which holds `cursor` */
SIMT_FN int quarry_slabs_has_chunk(const struct quarry_slabs *h, uint32_t index, uint64_t cursor)
{
    uint32_t number = quarry_slabs_cursor_number(h, index), class_ = index - number * h->classes;
    uint64_t kind = quarry_slabs_kind(h, quarry_slabs_chunk(cursor));
    return quarry_slabs_state(kind) == QUARRY_SLABS_IS_MOVING ||
           (quarry_slabs_is_bound(kind, class_) && quarry_slabs_owner(kind) == number);
}

/* Tells others what the caller has seen in its part, for who wants the class: many wait, and each looks at few parts.
 * Order: none.  It is a hint. */
SIMT_FN void quarry_slabs_publish(const struct quarry_slabs_need *need, uint32_t class_, uint32_t page)
{
    simt_store_u32(&need->slabs->found[class_], page + 1u, relaxed);
}

/* Rows `from` to `to`: a row has eight cursors of one class; so rows go as classes do, and then the next eight.  One of
 * a class that serves the group is what is looked for.  What another class's has left becomes free, if the chunk has no
 * live slot: then it can be closed.  Other lanes need not see that yet: the turn is dirty anyway.
 *
 * Rows that a class has never reached are not read.  If a cursor there had slots between two passes, its chunk was
 * bound before the first of them read its kind.  Who bound it had raised the reach before, and the second pass would
 * have read that.  So it would have read this cursor, too; and if the first one had not, the sums would differ. */
SIMT_FN void quarry_slabs_sweep_cursors(struct quarry_slabs_need *need, uint32_t from, uint32_t to)
{
    SIMT_ROLLED
    for (; from < to; from += simt_popc_u32(need->group)) {
        const struct quarry_slabs *h = need->slabs;
        uint32_t row = from + simt_rank(need->group), first = quarry_divide_u32(row, h->classes), reach = 0;
        if (row < to)
            reach = quarry_slabs_reach(simt_load_u32(&h->spread[row - first * h->classes], relaxed));
        need->row = simt_ballot(need->group, reach > first * QUARRY_SLABS_ROW);
        need->first = 0;
        SIMT_ROLLED
        for (; need->first < simt_popc_u32(need->row) * QUARRY_SLABS_ROW;
             need->first += simt_popc_u32(need->group)) {
            uint32_t k = need->first + simt_rank(need->group);
            int rest = 0, fits = 0, vacant = 0; /* it has some left; for the turn; and there are no others */
            uint32_t used = 0, index = 0, class_ = 0;
            h = need->slabs;
            if (k < simt_popc_u32(need->row) * QUARRY_SLABS_ROW && k % QUARRY_SLABS_ROW < h->cursors) {
                row = from +
                      simt_popc_u32(need->group &
                                    ((1u << quarry_kth_set_u32(need->row, k / QUARRY_SLABS_ROW + 1u)) - 1u));
                first = quarry_divide_u32(row, h->classes);
                class_ = row - first * h->classes;
                index = quarry_slabs_cursor(h, class_, first * QUARRY_SLABS_ROW + k % QUARRY_SLABS_ROW);
                uint64_t now = simt_load_u64(&h->cursor[index], relaxed);
                uint32_t next = quarry_slabs_next(now), slots = quarry_slabs_slots(h, class_);
                rest = next < slots;
                /* Its life, and how far it is: up to 2^16 slots. */
                quarry_slabs_count_version(need, ~(h->pages.count + index),
                                           (uint32_t)(now >> QUARRY_SLABS_LIFE) << 20 |
                                               (rest ? next : slots));
                rest = rest && quarry_slabs_has_chunk(h, index, now);
                fits = rest && quarry_slabs_is_about(need->size, class_);
                if (rest && class_ != need->class_)
                    used = quarry_slabs_is_used(need, class_, now);
                vacant = rest && class_ != need->class_ && used == 0;
            }
            int serves = rest && !vacant && class_ - need->class_ <= need->wide;
            uint32_t own = simt_ballot(need->group, serves);
            need->dirty |= simt_any(need->group, fits || vacant || used > 1u);
            if (own && need->page == QUARRY_NO_PAGE) /* the smallest class */
                need->page =
                    need->slabs->pages.count + simt_shuffle_u32(need->group, index, simt_ctz_u32(own));
            if (vacant)
                quarry_slabs_retire(need->slabs, index);
            else if (rest)
                quarry_slabs_publish(need, class_, need->slabs->pages.count + index);
        }
    }
}

/* How many chunks are vacant: chunk i and those before it, or, with `back` 0, those behind it; at most `most`. */
SIMT_FN uint32_t quarry_slabs_run(struct quarry_slabs_need *need, uint32_t i, int back, uint32_t most)
{
    SIMT_ROLLED
    for (uint32_t base = 0; base < most; base += simt_popc_u32(need->group)) {
        uint32_t k = base + simt_rank(need->group), saw = QUARRY_SLABS_SAW_VACANT;
        uint64_t number = need->number;
        if (k < most)
            saw = quarry_slabs_look(need, back ? i - k : i + 1u + k, 1);
        uint32_t ends = simt_ballot(need->group, !(saw & QUARRY_SLABS_SAW_VACANT));
        if (simt_rank(ends)) { /* what is behind the end counts for nobody: other groups don't read it */
            need->number = number;
            saw = 0;
        }
        need->dirty |= saw & QUARRY_SLABS_SAW_TOUCHED; /* of this lane, until the part ends */
        if (ends)
            return base + simt_popc_u32(need->group & ((1u << simt_ctz_u32(ends)) - 1u));
    }
    return most;
}

/* Rows: each has one chunk whose number is a multiple of `size`.  Those of the part are looked at, and what is beside
 * them.  So all parts together read each chunk twice at most, however long the rows are. */
SIMT_FN void quarry_slabs_sweep_rows(struct quarry_slabs_need *need, uint32_t from, uint32_t to,
                                     uint32_t size)
{
    SIMT_ROLLED
    for (uint32_t i = (from + size - 1u) / size * size; i < to && need->page == QUARRY_NO_PAGE; i += size) {
        need->row = 0;
        SIMT_ROLLED
        for (int back = 1; back >= 0 && need->row < size; back--) {
            uint32_t most = back ? i + 1u : need->slabs->pages.count - 1u - i;
            if (most > size - need->row)
                most = size - need->row;
            need->row += quarry_slabs_run(need, i, back, most);
            if (need->row == 0)
                break;
            if (back)
                need->first = i + 1u - need->row;
        }
        need->dirty |= need->row >= size;
        if (need->chunks && need->row >= need->chunks)
            need->page = need->first;
    }
    need->dirty = simt_any(need->group, need->dirty);
}

/* Chunks of a part, for a class. */
SIMT_NOINLINE_FN void quarry_slabs_sweep_chunks(struct quarry_slabs_need *need, uint32_t from, uint32_t to)
{
    SIMT_ROLLED
    for (; from < to && need->page == QUARRY_NO_PAGE; from += simt_popc_u32(need->group)) {
        need->own = from + simt_rank(need->group);
        need->saw = need->own < to ? quarry_slabs_look(need, need->own, 0) : 0;
        if (simt_any(need->group, need->saw & QUARRY_SLABS_SAW_WHOLE))
            quarry_slabs_look_whole(need);
        uint32_t group = need->group, saw = need->saw;
        need->dirty |= simt_any(
            group, saw & (QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_TURNS | QUARRY_SLABS_SAW_TOUCHED));
        int fits = need->chunks == 0 && !(saw & QUARRY_SLABS_SAW_MOVING) &&
                   (saw & (QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_OURS));
        /* The class that is wanted, or a chunk; else the smallest of the larger ones. */
        uint32_t class_ = saw / QUARRY_SLABS_SAW_CLASS;
        if (!(saw & QUARRY_SLABS_SAW_MOVING) &&
            (saw & (QUARRY_SLABS_SAW_VACANT | QUARRY_SLABS_SAW_TURNS | QUARRY_SLABS_SAW_OURS)))
            quarry_slabs_publish(need, saw & QUARRY_SLABS_SAW_VACANT ? need->slabs->classes : class_,
                                 need->own);
        uint32_t more = !fits ? ~0u : saw & QUARRY_SLABS_SAW_VACANT ? 0 : class_ - need->class_;
        uint32_t least = simt_reduce_min_u32(group, more);
        if (least == ~0u)
            continue;
        uint32_t lane = simt_ctz_u32(simt_ballot(group, more == least));
        need->page = simt_shuffle_u32(group, need->own, lane);
        need->of = least ? need->class_ + least : need->slabs->classes;
    }
}

/* A sweep's part: its `page` is a chunk, or the first of a row, or h->pages.count + a cursor's number, that seems to
 * have what the group needs.  Nothing is taken here. */
SIMT_FN uint64_t quarry_slabs_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                         uint32_t pass, uint32_t part, uint32_t size, uint32_t *page,
                                         int *dirty)
{
    struct quarry_slabs_need *need = (struct quarry_slabs_need *)heap;
    (void)r;
    (void)group;
    need->page = *page;
    need->dirty = 0;
    need->number = 0;
    need->size = size;
    need->looks = pass;
    uint32_t chunks = need->slabs->pages.count;
    struct quarry_sweep_items of =
        quarry_sweep_cut(chunks + QUARRY_SLABS_ROWS(need->slabs), part, need->slabs->parts);
    if (of.end > chunks)
        quarry_slabs_sweep_cursors(need, of.first > chunks ? of.first - chunks : 0, of.end - chunks);
    uint32_t to = of.end < chunks ? of.end : chunks;
    if (size > need->slabs->classes && !(size & QUARRY_SWEEP_CLASS))
        quarry_slabs_sweep_rows(need, of.first, to, size - need->slabs->classes);
    else
        quarry_slabs_sweep_chunks(need, of.first, to);
    *page = need->page;
    /* Also if the turn is about something else: the rest was not read. */
    *dirty |= need->dirty || *page != QUARRY_NO_PAGE;
    simt_fence(acq_rel); /* what was read, before what the next pass reads */
    return need->number;
}

/* Is what was found still good for a smaller class, as it seems?  A chunk of the larger one must have a live slot: else
 * it can be closed, and has more for smaller blocks.  (Of a cursor's chunk only the first word tells: in others slots
 * may be set that are not handed out.)  If class_ is h->classes, the chunk must be free, or have no live slot. */
SIMT_FN int quarry_slabs_serves(const struct quarry_slabs *h, uint32_t page, uint32_t class_)
{
    if (page < h->pages.count && class_ < h->classes)
        return quarry_slabs_seems_used(h, page, class_);
    if (page < h->pages.count) {
        uint64_t kind = quarry_slabs_kind(h, page);
        return quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE ||
               quarry_slabs_seems_vacant(h, page, kind, h->classes);
    }
    uint64_t cursor = simt_load_u64(&h->cursor[page - h->pages.count], relaxed);
    uint32_t chunk = quarry_slabs_chunk(cursor);
    uint64_t seen =
        chunk < h->pages.count ? simt_load_u64(&h->words[(uint64_t)chunk * h->stride], relaxed) : 0;
    return quarry_slabs_is_of(seen, class_) &&
           ((uint32_t)seen & ~quarry_slabs_from(0, quarry_slabs_next(cursor))) != 0;
}

/* The sweep's news: what is found of the class that the group needs, or a chunk; else of the smallest larger one.  Who
 * wants large blocks hears nothing. */
SIMT_FN uint32_t quarry_slabs_news(const void *heap, uint32_t group, uint32_t page)
{
    struct quarry_slabs_need *need = (struct quarry_slabs_need *)heap;
    const struct quarry_slabs *h = need->slabs;
    uint32_t least = ~0u, of = h->classes, found = 0;
    if (need->chunks)
        return page;
    SIMT_ROLLED
    for (uint32_t i = need->class_ + simt_rank(group); i <= h->classes; i += simt_popc_u32(group)) {
        uint32_t its = simt_load_u32(&h->found[i], relaxed), more = i < h->classes ? i - need->class_ : 0;
        if (its && more < least && (i == need->class_ || quarry_slabs_serves(h, its - 1u, i))) {
            least = more;
            found = its;
            of = i;
        }
    }
    uint32_t best = simt_reduce_min_u32(group, least);
    if (best == ~0u)
        return page;
    uint32_t lane = simt_ctz_u32(simt_ballot(group, least == best));
    need->of = simt_shuffle_u32(group, of, lane);
    return simt_shuffle_u32(group, found, lane) - 1u;
}

/* Looks for what a group needs.  Sets need->page to a page of quarry_slabs_sweep_part, for all of them; or to
 * QUARRY_NO_PAGE: then at some instant during the call nothing fitted.  Scope: group, reconverged.  Progress: as
 * quarry_sweep_search. */
SIMT_NOINLINE_FN void quarry_slabs_search(struct quarry_slabs_need *need)
{
    const struct quarry_slabs *h = need->slabs;
    struct quarry_sweep_plan plan;
    struct quarry_random unused = {0, 0};
    plan.sweep = h->sweep;
    plan.heap = need;
    plan.sweep_part = quarry_slabs_sweep_part;
    plan.news = quarry_slabs_news;
    plan.parts = h->parts;
    plan.kinds = 2;
    plan.size = need->class_ + need->chunks;
    if (need->chunks == 0 && !need->wide)
        plan.size |= QUARRY_SWEEP_CLASS;
    plan.in_order = 0;
    need->page = quarry_sweep_search(&plan, &unused, need->group, QUARRY_NO_PAGE);
}

#endif
