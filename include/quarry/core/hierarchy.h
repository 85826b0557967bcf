/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchical bitmaps: a set of numbers in which any number can be found in a few reads.  (M. Springer, H. Masuhara,
 * "DynaSOAr", ECOOP 2019.)
 *
 *     word 0                          level 2: bit b is set if word 1 + b is not 0
 *     words 1 .. 64                   level 1: bit b of word w is set if word 64 w + 1 + b is not 0
 *     words leaves .. words - 1       level 0: bit b of word leaves + i is number 64 i + b
 *
 * The words of 64 bits are a tree in which word w has 64 children from 64 w + 1 on.  Up to 64 numbers are one word.
 * Words that have no number below them are 0 for ever.
 *
 * Why all bits are right in the end.  A number is put in or taken out by a *toggle*, an XOR of its bit.  Who changes a
 * word from 0 to not 0, or back, toggles the word's bit in the word above, and so on up.  In a word's modification
 * order these changes take turns, so their number says whether the word is 0.  XORs commute, so it does not matter in
 * which order they arrive above.  When all have, each bit is right.  Nobody waits for anybody.
 *
 * Until then a bit can be wrong in either way, and a search that follows it finds nothing below, or misses what is
 * there.  So the bits are hints, and what a number means is decided elsewhere.  One thing is not a hint: who takes a
 * number out by quarry_hierarchy_claim has taken it alone, if numbers are only put in by those to whom they belong.
 *
 * Compile-time switches, for comparisons.  All code that uses a heap has the same.
 *
 *     QUARRY_HIERARCHY_ROTATION   where a search begins in each word: QUARRY_ROTATION_HASHED, as said at
 *                                 quarry_hierarchy_find; _ORIGINAL, as in the paper; _NONE, at bit 0
 *     QUARRY_HIERARCHY_FLAT       1: there is level 0 only, and who looks reads one word after the other
 *
 * Order.  Toggles and searches are relaxed.  What quarry_hierarchy_put releases, the claim of that number acquires:
 * both change the same word of level 0, and all changes between them are read-modify-writes. */
#ifndef QUARRY_CORE_HIERARCHY_H
#define QUARRY_CORE_HIERARCHY_H

#include "quarry/simt/simt.h"

#define QUARRY_ROTATION_NONE 0
#define QUARRY_ROTATION_ORIGINAL 1
#define QUARRY_ROTATION_HASHED 2
#ifndef QUARRY_HIERARCHY_ROTATION
#define QUARRY_HIERARCHY_ROTATION QUARRY_ROTATION_HASHED
#endif
#ifndef QUARRY_HIERARCHY_FLAT
#define QUARRY_HIERARCHY_FLAT 0
#endif

#define QUARRY_HIERARCHY_BITS 64u /* of a word */
#define QUARRY_HIERARCHY_MOST 0x40000000u
#define QUARRY_NO_NUMBER 0xffffffffu

/* The shape of bitmaps for numbers 0 .. count - 1.  The words of each are elsewhere. */
struct quarry_hierarchy {
    uint32_t count;  /* 1 to QUARRY_HIERARCHY_MOST */
    uint32_t leaves; /* the first word of level 0 */
    uint32_t words;
    uint32_t shift; /* of a number, to have its bit in word 0 */
};

#if SIMT_HAS_HOST
SIMT_HOST_FN struct quarry_hierarchy quarry_hierarchy_make(uint32_t count)
{
    struct quarry_hierarchy h = {count, 0, 0, 0};
    uint32_t words = (count - 1u) / QUARRY_HIERARCHY_BITS + 1u;
    for (uint64_t room = 1; room < words && !QUARRY_HIERARCHY_FLAT; room *= QUARRY_HIERARCHY_BITS) {
        h.leaves = h.leaves * QUARRY_HIERARCHY_BITS + 1u;
        h.shift += 6;
    }
    h.words = h.leaves + words;
    return h;
}
#endif

/* What a word has when all numbers are in.
 *   w   below h->words */
SIMT_FN uint64_t quarry_hierarchy_full(const struct quarry_hierarchy *h, uint32_t w)
{
    uint64_t first = w, width = 1; /* the first word of level 0 below it; numbers that a bit stands for */
    while (first < h->leaves) {
        first = first * QUARRY_HIERARCHY_BITS + 1u;
        width *= QUARRY_HIERARCHY_BITS;
    }
    uint64_t number = (first - h->leaves) * QUARRY_HIERARCHY_BITS;
    uint64_t bits = number < h->count ? (h->count - number - 1u) / width + 1u : 0;
    return bits == 0 ? 0 : ~(uint64_t)0 >> (bits < QUARRY_HIERARCHY_BITS ? QUARRY_HIERARCHY_BITS - bits : 0);
}

/* Thread `thread` of `threads` writes its share of a bitmap with all numbers in it, or none. */
SIMT_FN void quarry_hierarchy_init(const struct quarry_hierarchy *h, uint64_t *words, int full,
                                   uint64_t thread, uint64_t threads)
{
    for (uint64_t w = thread; w < h->words; w += threads)
        words[w] = full ? quarry_hierarchy_full(h, (uint32_t)w) : 0;
}

/* The first set bit of a word from bit `turn` (0 .. 63) on, around.  The word is not 0. */
SIMT_FN uint32_t quarry_hierarchy_bit(uint64_t word, uint32_t turn)
{
    uint64_t turned = word >> turn | word << (-turn & 63u);
    return (simt_ctz_u64(turned) + turn) & 63u;
}

/* Where a search begins in a word: 0 .. 63. */
SIMT_FN uint32_t quarry_hierarchy_turn(uint32_t hash)
{
    if (QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_HASHED)
        return hash & 63u;
    return QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_ORIGINAL ? (simt_block() + simt_warp()) & 63u : 0;
}

/* Reads the words of level 0 from w on, around. */
SIMT_FN uint32_t quarry_hierarchy_scan(const struct quarry_hierarchy *h, const uint64_t *words, uint32_t w,
                                       uint32_t turn)
{
    SIMT_ROLLED
    for (uint32_t i = 0; i < h->words; i++, w = w + 1u == h->words ? 0 : w + 1u) {
        uint64_t word = simt_load_u64(&words[w], relaxed);
        if (word != 0)
            return w * QUARRY_HIERARCHY_BITS + quarry_hierarchy_bit(word, turn);
    }
    return QUARRY_NO_NUMBER;
}

/* What a search reads first: the uppermost word, and the one of level 0 near which it looks.  Read at once, so that a
 * lane that looks into several bitmaps waits once. */
struct quarry_hierarchy_hint {
    uint64_t top, near;
};

/*   hash   any number */
SIMT_FN struct quarry_hierarchy_hint quarry_hierarchy_peek(const struct quarry_hierarchy *h,
                                                           const uint64_t *words, uint32_t hash)
{
    struct quarry_hierarchy_hint hint = {0, 0};
    uint32_t number = simt_mulhi_u32(hash, h->count), w = h->leaves + number / QUARRY_HIERARCHY_BITS;
    if (QUARRY_HIERARCHY_FLAT)
        return hint;
    hint.top = simt_load_u64(&words[0], relaxed);
    if (QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_HASHED)
        hint.near = simt_load_u64(&words[w], relaxed);
    return hint;
}

/* Finds a number that seems to be in: near one that the hash chooses among all, each as likely.  So lanes with other
 * hashes find other numbers, also in words of few bits, as word 0 mostly is.  (In the paper six bits of one number are
 * where to begin in each word: of a word of four bits 61 of 64 such beginnings lead to the first.)
 *   hash   any number
 *   hint   of quarry_hierarchy_peek with that hash
 *   seen   receives the word of level 0 that has it
 * Returns QUARRY_NO_NUMBER if there seems to be none on that way. */
SIMT_FN uint32_t quarry_hierarchy_find_by(const struct quarry_hierarchy *h, const uint64_t *words,
                                          uint32_t hash, struct quarry_hierarchy_hint hint, uint64_t *seen)
{
    uint32_t number = simt_mulhi_u32(hash, h->count), w = h->leaves + number / QUARRY_HIERARCHY_BITS;
    if (QUARRY_HIERARCHY_FLAT)
        return quarry_hierarchy_scan(
            h, words, QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_HASHED ? w : 0,
            QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_HASHED ? number & 63u : quarry_hierarchy_turn(hash));
    uint64_t word = hint.top;
    uint32_t shift = 0;
    if (QUARRY_HIERARCHY_ROTATION != QUARRY_ROTATION_HASHED)
        number = quarry_hierarchy_turn(hash) * 0x41041041u; /* the same six bits on each level */
    if (word != 0 && hint.near != 0) {
        word = hint.near;
    } else {
        shift = h->shift;
        w = 0;
    }
    SIMT_ROLLED
    for (; word != 0; shift -= 6) {
        uint32_t bit = quarry_hierarchy_bit(word, number >> shift & 63u);
        *seen = word;
        if (w >= h->leaves)
            return (w - h->leaves) * QUARRY_HIERARCHY_BITS + bit;
        w = w * QUARRY_HIERARCHY_BITS + 1u + bit;
        word = simt_load_u64(&words[w], relaxed);
    }
    return QUARRY_NO_NUMBER;
}

SIMT_FN uint32_t quarry_hierarchy_find(const struct quarry_hierarchy *h, const uint64_t *words, uint32_t hash)
{
    uint64_t word;
    return quarry_hierarchy_find_by(h, words, hash, quarry_hierarchy_peek(h, words, hash), &word);
}

/* A number's bit in its word of level 0. */
SIMT_FN uint64_t quarry_hierarchy_own(uint32_t number)
{
    return (uint64_t)1 << number % QUARRY_HIERARCHY_BITS;
}

/* Does no number seem to be in? */
SIMT_FN int quarry_hierarchy_is_empty(const struct quarry_hierarchy *h, const uint64_t *words)
{
    return QUARRY_HIERARCHY_FLAT ? quarry_hierarchy_scan(h, words, 0, 0) == QUARRY_NO_NUMBER
                                 : simt_load_u64(&words[0], relaxed) == 0;
}

/* Does the number seem to be in? */
SIMT_FN int quarry_hierarchy_has(const struct quarry_hierarchy *h, const uint64_t *words, uint32_t number)
{
    uint64_t word = simt_load_u64(&words[h->leaves + number / QUARRY_HIERARCHY_BITS], relaxed);
    return (word & quarry_hierarchy_own(number)) != 0;
}

/* A number of the same word of level 0 that seems to be in, the first from that one on, around; or QUARRY_NO_NUMBER. */
SIMT_FN uint32_t quarry_hierarchy_beside(const struct quarry_hierarchy *h, const uint64_t *words,
                                         uint32_t number)
{
    uint64_t word = simt_load_u64(&words[h->leaves + number / QUARRY_HIERARCHY_BITS], relaxed);
    if (word == 0)
        return QUARRY_NO_NUMBER;
    return number / QUARRY_HIERARCHY_BITS * QUARRY_HIERARCHY_BITS +
           quarry_hierarchy_bit(word, number % QUARRY_HIERARCHY_BITS);
}

/* The smallest number from `number` on that is in, or QUARRY_NO_NUMBER.  Exact while nobody changes the bitmap. */
SIMT_FN uint32_t quarry_hierarchy_next(const struct quarry_hierarchy *h, const uint64_t *words,
                                       uint32_t number)
{
    uint32_t w = h->leaves + number / QUARRY_HIERARCHY_BITS, from = number % QUARRY_HIERARCHY_BITS;
    if (number >= h->count)
        return QUARRY_NO_NUMBER;
    for (;;) {
        uint64_t word = from < QUARRY_HIERARCHY_BITS ? simt_load_u64(&words[w], relaxed) >> from : 0;
        if (word != 0) {
            uint32_t bit = from + simt_ctz_u64(word);
            if (w >= h->leaves)
                return (w - h->leaves) * QUARRY_HIERARCHY_BITS + bit;
            w = w * QUARRY_HIERARCHY_BITS + 1u + bit;
            from = 0;
        } else if (QUARRY_HIERARCHY_FLAT ? w + 1u == h->words : w == 0) {
            return QUARRY_NO_NUMBER;
        } else if (QUARRY_HIERARCHY_FLAT) {
            from = 0;
            w++;
        } else {
            from = (w - 1u) % QUARRY_HIERARCHY_BITS + 1u;
            w = (w - 1u) / QUARRY_HIERARCHY_BITS;
        }
    }
}

/* Carries a change of word w up: it was `before` and is `after`. */
SIMT_FN void quarry_hierarchy_carry(uint64_t *words, uint32_t w, uint64_t before, uint64_t after)
{
    SIMT_ROLLED
    while (w != 0 && !QUARRY_HIERARCHY_FLAT && (before == 0) != (after == 0)) {
        uint64_t bit = (uint64_t)1 << (w - 1u) % QUARRY_HIERARCHY_BITS;
        w = (w - 1u) / QUARRY_HIERARCHY_BITS;
        before = simt_xor_u64(&words[w], bit, relaxed);
        after = before ^ bit;
    }
}

/* Of numbers that are bits of one word of level 0: puts in those that are out, and takes out those that are in.  It is
 * as if each were toggled, one after the other: what they would carry up in between cancels out.
 *   number   any of that word
 *   bits     the numbers
 * Returns what the word was before: then quarry_hierarchy_flipped carries it up.  Between the two a lane may do what it
 * need not wait for. */
SIMT_FN uint64_t quarry_hierarchy_flip(const struct quarry_hierarchy *h, uint64_t *words, uint32_t number,
                                       uint64_t bits)
{
    return simt_xor_u64(&words[h->leaves + number / QUARRY_HIERARCHY_BITS], bits, relaxed);
}

SIMT_FN void quarry_hierarchy_flipped(const struct quarry_hierarchy *h, uint64_t *words, uint32_t number,
                                      uint64_t bits, uint64_t before)
{
    quarry_hierarchy_carry(words, h->leaves + number / QUARRY_HIERARCHY_BITS, before, before ^ bits);
}

/* Puts a number in that is out, or takes out one that is in. */
SIMT_FN void quarry_hierarchy_toggle(const struct quarry_hierarchy *h, uint64_t *words, uint32_t number)
{
    uint64_t bit = quarry_hierarchy_own(number);
    quarry_hierarchy_flipped(h, words, number, bit, quarry_hierarchy_flip(h, words, number, bit));
}

/* Puts numbers in that are out and the caller's own, by one atomic.
 *   number   any of a word of level 0
 *   bits     the numbers, as bits of that word
 * Order: releases; pairs with quarry_hierarchy_claim. */
SIMT_FN void quarry_hierarchy_put_some(const struct quarry_hierarchy *h, uint64_t *words, uint32_t number,
                                       uint64_t bits)
{
    uint32_t w = h->leaves + number / QUARRY_HIERARCHY_BITS;
    uint64_t before = simt_xor_u64(&words[w], bits, release);
    simt_assert(!(before & bits));
    quarry_hierarchy_carry(words, w, before, before ^ bits);
}

/* Puts a number in that is out and the caller's own. */
SIMT_FN void quarry_hierarchy_put(const struct quarry_hierarchy *h, uint64_t *words, uint32_t number)
{
    quarry_hierarchy_put_some(h, words, number, quarry_hierarchy_own(number));
}

/* Takes numbers out, those of them that are in, by one atomic.
 *   number   any of a word of level 0
 *   bits     the numbers, as bits of that word
 * Returns which were in: they are the caller's own.  Order: acquires what happened before they were put in. */
SIMT_FN uint64_t quarry_hierarchy_claim_some(const struct quarry_hierarchy *h, uint64_t *words,
                                             uint32_t number, uint64_t bits)
{
    uint32_t w = h->leaves + number / QUARRY_HIERARCHY_BITS;
    uint64_t before = simt_and_u64(&words[w], ~bits, acquire);
    quarry_hierarchy_carry(words, w, before, before & ~bits);
    return before & bits;
}

/* Takes a number out, if it is in.  Returns whether it was. */
SIMT_FN int quarry_hierarchy_claim(const struct quarry_hierarchy *h, uint64_t *words, uint32_t number)
{
    return quarry_hierarchy_claim_some(h, words, number, quarry_hierarchy_own(number)) != 0;
}

/* How many bits of a word of an idle bitmap contradict the words below it, or stand for nothing. */
SIMT_FN uint32_t quarry_hierarchy_faults(const struct quarry_hierarchy *h, const uint64_t *words, uint32_t w)
{
    uint64_t word = simt_load_u64(&words[w], relaxed), right = 0, full = quarry_hierarchy_full(h, w);
    if (w >= h->leaves)
        return simt_popc_u64(word & ~full);
    for (uint64_t rest = full; rest; rest &= rest - 1u) {
        uint32_t bit = simt_ctz_u64(rest);
        right |= (uint64_t)(simt_load_u64(&words[w * QUARRY_HIERARCHY_BITS + 1u + bit], relaxed) != 0) << bit;
    }
    return simt_popc_u64(word ^ right);
}

#endif
