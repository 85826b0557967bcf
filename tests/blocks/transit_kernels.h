/* SPDX-License-Identifier: Apache-2.0 */
/* What a value of a store's word tells: who made something of the last chunk has done so, and numbers that are counted
 * are in slots. */
#ifndef QUARRY_TESTS_TRANSIT_KERNELS_H
#define QUARRY_TESTS_TRANSIT_KERNELS_H

#include "quarry/core/chunks.h"
#include "quarry/simt/kernel.h"

struct transit_case {
    struct quarry_chunks store;
    uint32_t *made;  /* by who has a chunk for pages; no atomic */
    uint32_t *wrong; /* atomic */
    uint32_t *over;  /* atomic: lanes that have returned their chunks */
    uint32_t alone;  /* each lane returns its chunk by itself */
};

SIMT_KERNEL_DECLARE(transit_start); /* one block: all chunks are left */
SIMT_KERNEL_DECLARE(transit_taken); /* one block: nobody has returned any of them */

/* Of one chunk the first block makes something, for ever.  The second one finds the store empty, and then what was
 * made.  */
SIMT_KERNEL_DECLARE(transit_make);

/* Every lane of the first block returns a chunk.  The second block counts the numbers in slots. */
SIMT_KERNEL_DECLARE(transit_give);

#endif
