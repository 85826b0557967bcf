/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that goes from blocks of one size to blocks of another while a kernel runs. */
#ifndef QUARRY_TESTS_HANDED_KERNELS_H
#define QUARRY_TESTS_HANDED_KERNELS_H

#include "quarry/device.h"

struct handed_case {
    struct quarry_handle heap;
    void **block;
    void **taken; /* emptied: receives what block 0 gets */
    uint32_t *wrong;
    uint32_t *ready;  /* emptied: 0, and 1 when block 0 is ready */
    uint64_t bytes;   /* of small blocks */
    uint64_t large;   /* of large ones; emptied: that block 0 takes */
    uint64_t least;   /* counted: slots that are free at first */
    uint32_t threads; /* counted: of each warp, that free a block each; turns: that want small blocks */
    uint32_t greedy;  /* turns: threads that want large ones */
    uint32_t turns;   /* counted: how often the first warp counts; else how often a thread has a block */
};

/* Threads of blocks 0 and 2 have large blocks, of block 1 small ones.  All wait until they get one. */
SIMT_KERNEL_DECLARE(handed_turns);

/* ualloc: block 0 counts, the others free.  Never are less slots counted than were free before. */
SIMT_KERNEL_DECLARE(handed_counted);

/* ualloc: each block of threads writes to a block of one bin, and frees it.  Block 0 then takes what it gets, and writes
 * to that.  The others are slow: they signal what somebody else has counted for them only when block 0 is ready. */
SIMT_KERNEL_DECLARE(handed_emptied);

#endif
