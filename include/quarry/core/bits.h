/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of a word. */
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

#endif
