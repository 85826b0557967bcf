/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that take and free blocks of any alignment, and judge what they get. */
#ifndef QUARRY_TESTS_ALIGNED_KERNELS_H
#define QUARRY_TESTS_ALIGNED_KERNELS_H

#include "quarry/device.h"

#define ALIGNED_MOST_LOG2 12u
#define ALIGNED_HELD 3u /* blocks that a thread has at most */

enum aligned_fault {
    ALIGNED_NULL,  /* NULL though there is room */
    ALIGNED_GIVEN, /* a block though there can be none */
    ALIGNED_CROOKED,
    ALIGNED_SHORT, /* usable_size */
    ALIGNED_TORN,  /* content changed by others */
    ALIGNED_MOVED, /* a block that need not grow */
    ALIGNED_FAULTS
};

/* Count of a fault, and one request that it came with. */
struct aligned_record {
    uint64_t count;
    uint64_t alignment;
    uint64_t bytes;
};

struct aligned_own {
    unsigned char *block; /* NULL: none */
    uint64_t bytes;
};

struct aligned_case {
    struct quarry_handle heap;
    struct aligned_record *fault; /* ALIGNED_FAULTS */
    struct aligned_own *own;      /* ALIGNED_HELD for each thread; of aligned_fill: `count` */
    uint64_t alignment, bytes;    /* of aligned_take and aligned_fill */
    uint64_t most;                /* bytes of a request of aligned_play */
    uint32_t sized;               /* usable_size answers */
    uint32_t reaches;             /* any alignment can be had */
    uint32_t keeps;               /* what was freed keeps its size, so there may be no pages together */
    uint32_t threads;             /* that take part */
    uint32_t turns;
    uint32_t program; /* number of the random program */
    uint32_t count;   /* of aligned_fill: blocks at most */
    uint64_t page_bytes;
};

/* One thread, on an empty heap: every alignment up to 4096 with sizes from 1 to the largest. */
SIMT_KERNEL_DECLARE(aligned_each);
/* One thread, on an empty heap: a block of any size keeps its place when it is to have as many bytes, or fewer. */
SIMT_KERNEL_DECLARE(aligned_shrink);
/* One thread takes one block, own[0]. */
SIMT_KERNEL_DECLARE(aligned_take);
/* One thread takes blocks until there are none, first such that are aligned, and then of a page. */
SIMT_KERNEL_DECLARE(aligned_fill);
/* Each thread takes and frees blocks; what it has in the end stays.  NULL is right at any time. */
SIMT_KERNEL_DECLARE(aligned_play);
/* Each thread checks and frees what another has. */
SIMT_KERNEL_DECLARE(aligned_give);

#endif
