/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of a word; and bits that are counted. */
#ifndef QUARRY_CORE_BITS_H
#define QUARRY_CORE_BITS_H

#include "quarry/simt/simt.h"

/* Index, from 0, of the k-th set bit of x.
 *   k   from 1; at most popcount(x), else the result is 32
 * Halves the range log2(32) times, a population count each.  (Pham et al., Algorithm 4, fks; there
 * positions count from 1 and 0 means that there is none.) */
SIMT_FN uint32_t quarry_kth_set_u32(uint32_t x, uint32_t k)
{
    uint32_t left = 0, width = 16;
    if (simt_popc_u32(x) < k)
        return 32;
    for (; width; width >>= 1) {
        uint32_t below = simt_popc_u32((x >> left) & ((1u << width) - 1u));
        if (below < k) {
            k -= below;
            left += width;
        }
    }
    return left;
}

/* The same, sooner where the first k bits are neighbours.
 *   x   not 0
 *   k   1 to 32 */
SIMT_FN uint32_t quarry_kth_of_run_u32(uint32_t x, uint32_t k)
{
    uint32_t first = simt_ctz_u32(x), run = ~0u >> (32u - k);
    return (~(x >> first) & run) == 0 ? first + k - 1u : quarry_kth_set_u32(x, k);
}

/* Index of the k-th set bit of x, which has as many.
 *   k   from 1 */
SIMT_FN uint32_t quarry_kth_set_u64(uint64_t x, uint32_t k)
{
    uint32_t half = (uint32_t)x, below = simt_popc_u32(half), first = 0;
    if (k > below) {
        half = (uint32_t)(x >> 32);
        k -= below;
        first = 32;
    }
    return first + quarry_kth_set_u32(half, k);
}

/* a / b, in five instructions of a GPU, where a division of 32 bits takes some 17.
 *   a   below 2^21
 *   b   not 0
 * (a + 1/2) / b lies at least 1/2b from any integer, and is computed with an error of at most 2^-22 of
 * itself, which is less. */
SIMT_FN uint32_t quarry_divide_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)simt_divide_f32((float)a + 0.5f, (float)b);
}

/* x modulo d by multiplications, where a division of 32 bits takes a GPU some 16 instructions.  (D. Lemire,
 * O. Kaser, N. Kurz, "Faster remainder by direct computation", 2019: right for all x and d.)
 *   inverse   quarry_inverse_u32(d) */
SIMT_FN uint32_t quarry_modulo_u32(uint32_t x, uint32_t d, uint64_t inverse)
{
    uint64_t part = inverse * x; /* of 2^64 parts of d */
    return (uint32_t)(((part >> 32) * d + ((uint32_t)part * (uint64_t)d >> 32)) >> 32);
}

#if SIMT_HAS_HOST
/* The least power of two that is at least x, which is at most 2^63. */
SIMT_HOST_FN uint64_t quarry_round_up_to_power(uint64_t x)
{
    uint64_t power = 1;
    while (power < x)
        power *= 2;
    return power;
}

/* 2^64 / d, rounded up, modulo 2^64; d is not 0. */
SIMT_HOST_FN uint64_t quarry_inverse_u32(uint32_t d)
{
    return ~(uint64_t)0 / d + 1u;
}
#endif

/* ---- counted bits ----
 *
 * Cells of a page, or blocks of a bin: of each a bit says that somebody has it, and somewhere else is a count of those
 * that are taken, or free.
 *   take   counts first, and then sets as many bits that are clear, by quarry_bits_take
 *   give   clears the bits first, by quarry_bits_give, and then uncounts them
 * So at every instant at most as many bits are set as are counted as taken.  Who has counted one, and has not set its
 * bit, finds a clear one, without waiting: if not at the first look, others have got it meanwhile.  Where the count
 * says that nothing is taken no bit is set, and nobody is about to set one.
 *
 * How one counts is the caller's: by a compare-exchange, where the count tells which bits are clear
 * (alloc/scatter/scatter_page.h), or by an addition (core/bin.h).
 *
 * Order.  A bit goes from owner to owner: clearing it releases, setting it acquires, and all changes of a word are
 * read-modify-writes.  So what was done to a block before it was given happens-before what its next owner does. */

/* Sets bits of a word.
 * Returns those that were clear: they are the caller's.  Order: acquire. */
SIMT_FN uint32_t quarry_bits_take(uint32_t *word, uint32_t bits)
{
    return bits & ~simt_or_u32(word, bits, acquire); /* pairs with the release in quarry_bits_give */
}

/* Clears bits of a word.
 * Returns those that were set: the others were not live.  Order: release. */
SIMT_FN uint32_t quarry_bits_give(uint32_t *word, uint32_t bits)
{
    return bits & simt_and_u32(word, ~bits, release); /* pairs with the acquire in quarry_bits_take */
}

#endif
