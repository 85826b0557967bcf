/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner of a block writes into all of it, and looks for later.  Byte i is the same however long the block is. */
#ifndef QUARRY_TESTS_STAMP_H
#define QUARRY_TESTS_STAMP_H

#include "quarry/device.h"

SIMT_FN uint64_t stamp_word(uint32_t owner, uint64_t i)
{
    return ((uint64_t)quarry_mix_u32(owner + 1u) << 32 | quarry_mix_u32(~owner)) + i * 0x9e3779b97f4a7c15u;
}

SIMT_FN unsigned char stamp_byte(uint32_t owner, uint64_t i)
{
    return (unsigned char)(stamp_word(owner, i / 8u) >> 8u * (uint32_t)(i % 8u));
}

/* So many whole words of a block are read and written as such: for speed.  None of one that is aligned wrong. */
SIMT_FN uint64_t stamp_words(const void *block, uint64_t bytes)
{
    return (uintptr_t)block % 8u ? 0 : bytes / 8u;
}

SIMT_FN void stamp_write(void *block, uint64_t bytes, uint32_t owner)
{
    uint64_t words = stamp_words(block, bytes);
    for (uint64_t i = 0; i < words; i++)
        ((uint64_t *)block)[i] = stamp_word(owner, i);
    for (uint64_t i = 8u * words; i < bytes; i++)
        ((unsigned char *)block)[i] = stamp_byte(owner, i);
}

/* Has the block still what its owner wrote, as far as so many bytes? */
SIMT_FN int stamp_is_there(const void *block, uint64_t bytes, uint32_t owner)
{
    uint64_t words = stamp_words(block, bytes), other = 0;
    for (uint64_t i = 0; i < words; i++)
        other |= ((const uint64_t *)block)[i] ^ stamp_word(owner, i);
    for (uint64_t i = 8u * words; i < bytes; i++)
        other |= (uint64_t)(((const unsigned char *)block)[i] ^ stamp_byte(owner, i));
    return other == 0;
}

#endif
