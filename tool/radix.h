/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts 64-bit words on a target: the host's side of radix_kernels.h. */
#ifndef QUARRY_TOOL_RADIX_H
#define QUARRY_TOOL_RADIX_H

#include "work.h"

/* Bytes of target memory that radix_sort needs besides the words, for at most `count` of them. */
uint64_t radix_scratch_bytes(uint64_t count);

/* Sorts words by some of their bits; words with the same bits keep their order.  Queued.
 *   words    `count` of them; then receives where the result is
 *   other    room for as many; then receives where that is
 *   shift    the lowest of the bits
 *   bits     how many; 0 does nothing
 *   scratch  radix_scratch_bytes
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
int radix_sort(struct work *work, uint64_t **words, uint64_t **other, uint64_t count, uint32_t shift,
               uint32_t bits, void *scratch);

#endif
