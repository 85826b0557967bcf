/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that take numbers out of queues and out of a store of chunks, and put them back. */
#ifndef QUARRY_TESTS_QUEUE_KERNELS_H
#define QUARRY_TESTS_QUEUE_KERNELS_H

#include "quarry/core/chunks.h"
#include "quarry/core/index_queue.h"
#include "quarry/simt/kernel.h"

enum queue_count {
    QUEUE_WRONG, /* numbers that two lanes had at once, or that never were */
    QUEUE_TAKEN, /* how often one was had */
    QUEUE_NONE,  /* how often there was none */
    QUEUE_COUNTS
};

struct queue_case {
    struct quarry_index_queue queue;
    struct quarry_chunks store;
    uint32_t *holder; /* of number i: 0 or 1; atomic */
    uint32_t *visits; /* how often number i was had; no atomic */
    uint32_t *counts; /* QUEUE_COUNTS */
    uint32_t numbers;
    uint32_t rounds;
    uint32_t hold;    /* atomics between take and put */
    uint32_t ticket;  /* of both ends at first */
    uint32_t removes; /* every so many-th lane takes out of the middle; 0: none */
};

SIMT_KERNEL_DECLARE(queue_start); /* one block: the queue has all numbers */
SIMT_KERNEL_DECLARE(queue_rounds);
SIMT_KERNEL_DECLARE(queue_drifts); /* one lane */
SIMT_KERNEL_DECLARE(store_start);  /* one block: all chunks are left */
SIMT_KERNEL_DECLARE(store_rounds);

#endif
