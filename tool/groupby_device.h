/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of `quarry groupby` share: pages, numbering, keys.  For groupby_kernels.c. */
#ifndef QUARRY_TOOL_GROUPBY_DEVICE_H
#define QUARRY_TOOL_GROUPBY_DEVICE_H

#include "groupby_kernels.h"

SIMT_FN struct groupby_page *page_at(uint64_t address)
{
    return (struct groupby_page *)(uintptr_t)address;
}

SIMT_FN uint32_t *page_rows(struct groupby_page *page)
{
    return (uint32_t *)(page + 1);
}

SIMT_FN uint32_t filled(const struct groupby_job *job, const struct groupby_page *page)
{
    return page->count < job->capacity ? page->count : job->capacity;
}

/* The highest set bit of x, as an index; x is not 0. */
SIMT_FN uint32_t highest(uint32_t x)
{
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return simt_popc_u32(x) - 1;
}

/* Numbers for the lanes that want one: consecutive, from a counter.  All lanes of mask call. */
SIMT_FN uint32_t take(uint32_t mask, uint32_t *counter, int wants)
{
    uint32_t takers = simt_ballot(mask, wants);
    if (!takers)
        return 0;
    uint32_t first = 0;
    uint32_t leader = simt_ctz_u32(takers);
    if (simt_lane() == leader)
        first = simt_add_u32(counter, simt_popc_u32(takers), relaxed);
    return simt_shuffle_u32(mask, first, leader) + simt_rank(takers);
}

/* ---- keys ---- */

/* Up to eight key bytes from byte `at` on, the first lowest, zeros after `bytes`, which is not 0.  Two
 * aligned loads instead of eight bytes; the piece after the last one is there, and masked away. */
SIMT_FN uint64_t key_piece(const uint64_t *keys, uint64_t at, uint64_t bytes)
{
    uint32_t shift = (uint32_t)(at % 8 * 8);
    uint64_t piece = keys[at / 8] >> shift;
    if (shift)
        piece |= keys[at / 8 + 1] << (64 - shift);
    return bytes >= 8 ? piece : piece & (((uint64_t)1 << (bytes * 8)) - 1);
}

/* Both halves of the product, folded: each bit depends on all bits of both factors. */
SIMT_FN uint64_t fold(uint64_t a, uint64_t b)
{
    return (a * b) ^ simt_mulhi_u64(a, b);
}

/* The seeds are factors, not only a start: otherwise two keys could collide under every seed, and a
 * round with another seed would not part them. */
SIMT_FN uint64_t hash_row(const struct groupby_job *job, uint32_t row)
{
    uint64_t at = job->offsets[row];
    uint64_t left = job->offsets[row + 1] - at;
    uint64_t hash = fold(left ^ job->seeds[1], job->seeds[0] | 1);
    while (left) {
        uint64_t bytes = left < 8 ? left : 8;
        hash = fold(key_piece(job->keys, at, bytes) ^ job->seeds[0], hash ^ job->seeds[1]);
        at += bytes;
        left -= bytes;
    }
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    return (hash ^ (hash >> 32)) & job->hash_mask;
}

SIMT_FN int same_key(const struct groupby_job *job, uint32_t a, uint32_t b)
{
    if (a == b)
        return 1;
    uint64_t at_a = job->offsets[a];
    uint64_t at_b = job->offsets[b];
    uint64_t left = job->offsets[a + 1] - at_a;
    if (job->offsets[b + 1] - at_b != left)
        return 0;
    while (left) {
        uint64_t bytes = left < 8 ? left : 8;
        if (key_piece(job->keys, at_a, bytes) != key_piece(job->keys, at_b, bytes))
            return 0;
        at_a += bytes;
        at_b += bytes;
        left -= bytes;
    }
    return 1;
}

#endif
