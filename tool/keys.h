/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a table's rows in target memory: hashing and comparing.  Device code. */
#ifndef QUARRY_TOOL_KEYS_H
#define QUARRY_TOOL_KEYS_H

#include "quarry/simt/simt.h"

struct keys {
    const uint64_t *bytes;   /* in pieces of eight; at least eight more after the last */
    const uint64_t *offsets; /* row r's key: bytes offsets[r] up to offsets[r + 1] */
};

/* Up to eight key bytes from byte `at` on, the first lowest, zeros after `bytes`, which is not 0.  Two
 * aligned loads instead of eight bytes; the piece after the last one is there, and masked away. */
SIMT_FN uint64_t key_piece(const uint64_t *pieces, uint64_t at, uint64_t bytes)
{
    uint32_t shift = (uint32_t)(at % 8 * 8);
    uint64_t piece = pieces[at / 8] >> shift;
    if (shift)
        piece |= pieces[at / 8 + 1] << (64 - shift);
    return bytes >= 8 ? piece : piece & (((uint64_t)1 << (bytes * 8)) - 1);
}

/* Both halves of the product, folded: each bit depends on all bits of both factors. */
SIMT_FN uint64_t key_fold(uint64_t a, uint64_t b)
{
    return (a * b) ^ simt_mulhi_u64(a, b);
}

/* The seeds are factors, not only a start: otherwise two keys could collide under every seed, and a
 * round with another seed would not part them. */
SIMT_FN uint64_t key_hash(const struct keys *keys, uint32_t row, const uint64_t *seeds)
{
    uint64_t at = keys->offsets[row];
    uint64_t left = keys->offsets[row + 1] - at;
    uint64_t hash = key_fold(left ^ seeds[1], seeds[0] | 1);
    while (left) {
        uint64_t bytes = left < 8 ? left : 8;
        hash = key_fold(key_piece(keys->bytes, at, bytes) ^ seeds[0], hash ^ seeds[1]);
        at += bytes;
        left -= bytes;
    }
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    hash = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

/* Whether row a's key is row b's, byte by byte. */
SIMT_FN int key_same(const struct keys *keys_a, uint32_t a, const struct keys *keys_b, uint32_t b)
{
    uint64_t at_a = keys_a->offsets[a];
    uint64_t at_b = keys_b->offsets[b];
    uint64_t left = keys_a->offsets[a + 1] - at_a;
    if (keys_b->offsets[b + 1] - at_b != left)
        return 0;
    while (left) {
        uint64_t bytes = left < 8 ? left : 8;
        if (key_piece(keys_a->bytes, at_a, bytes) != key_piece(keys_b->bytes, at_b, bytes))
            return 0;
        at_a += bytes;
        at_b += bytes;
        left -= bytes;
    }
    return 1;
}

#endif
