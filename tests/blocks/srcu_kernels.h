/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that look for elements of a shared list, remove them, and insert them again. */
#ifndef QUARRY_TESTS_SRCU_KERNELS_H
#define QUARRY_TESTS_SRCU_KERNELS_H

#include "quarry/core/list.h"
#include "quarry/core/mutex.h"
#include "quarry/core/srcu.h"
#include "quarry/simt/kernel.h"

struct srcu_element {
    struct quarry_link link;
    struct quarry_srcu_callback callback;
    uint32_t tag;
    uint32_t state; /* enum srcu_state */
    uint32_t
        uses[2]; /* both say how often it was reused; plain, so mode weak tells who reads them meanwhile */
};

enum srcu_state { SRCU_LISTED, SRCU_REMOVED, SRCU_REUSED };

struct srcu_case {
    struct srcu_element *element; /* element_count, with tags 0, 1, ... */
    struct quarry_link *list;
    struct quarry_srcu *srcu;
    struct quarry_mutex *mutex; /* of writers */
    uint32_t *counts;           /* SRCU_COUNTS */
    uint64_t *plain;            /* 1, changed in critical sections only */
    uint32_t element_count;
    uint32_t rounds;
    uint32_t delegates; /* 0: nobody, 1: who removes an odd tag, 2: everybody */
    uint32_t again;     /* removed elements are inserted again */
    uint32_t epoch;     /* of the beginning */
};

enum srcu_count {
    SRCU_WRONG, /* a reader stood on memory that was reused */
    SRCU_REMOVALS,
    SRCU_CALLBACKS,
    SRCU_GROUPS, /* that were in the critical section; of srcu_delegate: who left its callback to another; of srcu_late:
                  * barriers that waited for readers from before only */
    SRCU_COUNTS
};

#define SRCU_PATIENCE 100000u /* looks of a reader that waits for a barrier */
#define MUTEX_TURNS 3u        /* of a block in a critical section */

SIMT_KERNEL_DECLARE(srcu_start); /* one block */
SIMT_KERNEL_DECLARE(srcu_rounds);
SIMT_KERNEL_DECLARE(srcu_delegate);      /* as many elements as threads */
SIMT_KERNEL_DECLARE(srcu_late);          /* two threads: one reads all the time, the other ends epochs */
SIMT_KERNEL_DECLARE(mutex_rounds);       /* any groups of lanes */
SIMT_KERNEL_DECLARE(mutex_rounds_block); /* whole blocks */

#endif
