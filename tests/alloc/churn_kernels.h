/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that free blocks and take others, of many sizes, while the bytes that live stay near a level.  Each block is
 * stamped, and looked at before it is freed. */
#ifndef QUARRY_TESTS_CHURN_KERNELS_H
#define QUARRY_TESTS_CHURN_KERNELS_H

#include "quarry/device.h"

#define CHURN_SHARES 256u

struct churn_block {
    void *address; /* or NULL */
    uint32_t bytes;
    uint32_t stamp;
};

struct churn_result {
    uint64_t taken; /* blocks */
    uint64_t freed;
    uint32_t nulls;
    uint32_t least;   /* bytes that got NULL, the fewest; ~0: none did */
    uint32_t torn;    /* blocks that do not hold what their owner wrote */
    uint32_t strange; /* blocks outside of the heap, or aligned wrong */
};

struct churn_case {
    struct quarry_handle heap;
    struct churn_result *result;
    struct churn_block *block; /* `held` rows of one for each thread */
    uint64_t *live;            /* bytes of all blocks, and of mallocs under way; atomic */
    uint64_t limit; /* what would be more is not asked for: so it is what others have and ask for, too */
    unsigned char *pool;
    uint64_t pool_bytes;
    uint32_t threads;
    uint32_t held;
    uint32_t
        turns; /* blocks that a thread frees, takes, or both: at random; if it only does one, each in turn */
    uint32_t shift; /* thread t has the blocks that thread t + shift had with a shift of 0 */
    uint32_t frees;
    uint32_t takes;
    uint32_t keeps; /* of CHURN_SHARES blocks that would be freed so many stay */
    uint32_t least; /* bytes: from this, at least 1, */
    uint32_t most;  /* to this, each power of two as often; */
    uint32_t whole; /* but of CHURN_SHARES blocks so many have `most` */
    uint32_t program;
    uint32_t stamp; /* of the first; stamp + turns * threads is the next launch's */
};

SIMT_KERNEL_DECLARE(churn_play);

/* Each thread looks at its blocks. */
SIMT_KERNEL_DECLARE(churn_verify);

#endif
