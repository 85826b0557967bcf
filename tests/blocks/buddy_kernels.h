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
    uint32_t *visits; /* of each page: how often its owner has changed */
    uint32_t *counts;
    uint32_t rounds;
    uint32_t least;    /* the order of the smallest block */
    uint32_t orders;   /* blocks have so many orders from there on, by chance */
    uint32_t hold;     /* looks at a word while a block is held, at most */
    uint32_t together; /* lanes of a warp take and give together */
    uint32_t shrinks;  /* a block of more than a page is shrunk to one of its pages */
    uint32_t size;     /* at first all blocks of that order are taken, but for those */
    uint32_t free;     /* of this set, by number */
};

SIMT_KERNEL_DECLARE(buddy_start);
SIMT_KERNEL_DECLARE(buddy_some);
SIMT_KERNEL_DECLARE(buddy_rounds);
SIMT_KERNEL_DECLARE(buddy_counted);
SIMT_KERNEL_DECLARE(buddy_joined);
SIMT_KERNEL_DECLARE(buddy_divided);
SIMT_KERNEL_DECLARE(buddy_early);

#endif
