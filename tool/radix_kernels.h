/* SPDX-License-Identifier: Apache-2.0 */
/* One pass of a radix sort (least significant digit first): a histogram, a prefix sum by the host, and the
 * reordering.
 *
 * Each warp has a stretch of the words.  Its counts of the digits are a column of
 *
 *     starts        warp 0  warp 1  ...
 *     digit 0       [  .  ][  .  ]
 *     digit 1       [  .  ][  .  ]      in memory: row after row
 *     ...
 *
 * so after the exclusive prefix sum over all of it each entry is where the warp's words of that digit go.
 * A warp moves its words in their order, so a pass keeps the order of words with one digit.  No two lanes
 * write one place, and no atomic reaches device memory, whatever the skew. */
#ifndef QUARRY_TOOL_RADIX_KERNELS_H
#define QUARRY_TOOL_RADIX_KERNELS_H

#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

#define RADIX_BITS 8u /* of a digit, at most */
#define RADIX_BLOCK 256u

struct radix_pass {
    const uint64_t *from;
    uint64_t *to;
    uint64_t count;
    uint64_t stretch; /* words of each warp but the last ones */
    uint64_t *starts; /* 2^bits times `warps` */
    uint32_t warps;
    uint32_t shift; /* the digit is bits shift up to shift + bits of a word */
    uint32_t bits;  /* 1 to RADIX_BITS */
};

#if SIMT_HAS_HOST
/* Blocks of RADIX_BLOCK threads; block-shared memory for 2^bits counts, of 4 and of 8 bytes, for each warp.
 */
SIMT_KERNEL_DECLARE(radix_count); /* starts: how many words of each digit each warp has */
SIMT_KERNEL_DECLARE(radix_move);  /* starts: the prefix sums of that */
#endif

#endif
