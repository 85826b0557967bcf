/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that goes from blocks of one size to blocks of another while a kernel runs. */
#ifndef QUARRY_TESTS_HANDED_KERNELS_H
#define QUARRY_TESTS_HANDED_KERNELS_H

#include "quarry/device.h"

struct handed_case {
    struct quarry_handle heap;
    void **block;
    uint32_t *wrong;
    uint64_t bytes;   /* of small blocks */
    uint64_t large;   /* of large ones */
    uint64_t least;   /* counted: slots that are free at first */
    uint32_t threads; /* counted: of each warp, that free a block each; handed: that want small blocks */
    uint32_t greedy;  /* handed: threads that want large ones */
    uint32_t turns;   /* counted: how often the first warp counts; handed: how often a thread has a block */
};

/* Threads of blocks 0 and 2 have large blocks, of block 1 small ones.  All wait until they get one. */
SIMT_KERNEL_DECLARE(handed_turns);

/* ualloc: block 0 counts, the others free.  Never are less slots counted than were free before. */
SIMT_KERNEL_DECLARE(handed_counted);

#endif
