/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUARRY_TESTS_BLOCKS_BUDDY_KERNELS_H
#define QUARRY_TESTS_BLOCKS_BUDDY_KERNELS_H

#include "quarry/core/buddy.h"
#include "quarry/simt/kernel.h"

enum buddy_count {
    BUDDY_WRONG,   /* a page of two, a block out of place, a block that find does not know */
    BUDDY_REFUSED, /* a take that got nothing */
    BUDDY_COUNTS
};

struct buddy_case {
    struct quarry_buddy buddy;
    uint32_t *holder; /* of each page: 0 or the number of a thread, from 1 */
    uint32_t *counts;
    uint32_t rounds;
    uint32_t orders;   /* blocks have orders below that, by chance */
    uint32_t hold;     /* looks at a word while a block is held, at most */
    uint32_t together; /* lanes of a warp take and give together */
    uint32_t shrinks;  /* a block of more than a page is shrunk to one of its pages */
};

SIMT_KERNEL_DECLARE(buddy_start);
SIMT_KERNEL_DECLARE(buddy_rounds);

#endif
