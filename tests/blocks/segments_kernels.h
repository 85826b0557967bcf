/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that take numbers out of queues in segments and put them back, while others use the same chunks. */
#ifndef QUARRY_TESTS_SEGMENTS_KERNELS_H
#define QUARRY_TESTS_SEGMENTS_KERNELS_H

#include "quarry/core/segments.h"
#include "quarry/simt/kernel.h"

#define SEGMENTS_QUEUES 2u

enum segments_count {
    SEGMENTS_WRONG, /* numbers that two lanes had at once, or that never were; chunks that others wrote to */
    SEGMENTS_TAKEN, /* how often a number was taken */
    SEGMENTS_NONE,  /* takes in vain */
    SEGMENTS_FULL,  /* puts in vain */
    SEGMENTS_USED,  /* chunks that lanes had */
    SEGMENTS_SEEN,  /* numbers that lanes saw without taking them */
    SEGMENTS_COUNTS
};

struct segments_case {
    struct quarry_segments queues; /* SEGMENTS_QUEUES */
    uint32_t *holder;              /* of number i: 0 or 1; atomic */
    uint32_t *visits;              /* how often number i was had; no atomic */
    uint32_t *kept;                /* of each thread: the number that it has in the end */
    uint32_t *counts;              /* SEGMENTS_COUNTS */
    uint32_t numbers;              /* of each queue, at first with as many threads */
    uint32_t threads;
    uint32_t rounds;
    uint32_t hold;   /* atomics while a lane has something */
    uint32_t shuts;  /* every so many-th round a lane uses up slots; 0: never */
    uint32_t chunks; /* every so many-th round a lane uses a chunk; 0: never */
    uint32_t proves; /* segments_proof, and not segments_rounds */
    uint32_t draws;  /* segments_draws runs, with so many lanes of each block */
    uint32_t stalls; /* segments_stall runs */
    uint32_t gap;    /* segments_gap runs */
    uint32_t peeks;  /* every so many-th round a lane looks at a position; 0: never */
};

SIMT_KERNEL_DECLARE(segments_start);
SIMT_KERNEL_DECLARE(segments_rounds);
/* Block 0 puts a number and takes it, so the only chunk comes and goes as a segment.  Block 1 looks for a proof that no
 * chunk is left, and there is no segment: there is one or the other. */
SIMT_KERNEL_DECLARE(segments_proof);
SIMT_KERNEL_DECLARE(segments_draws); /* each block draws a number for a segment, which it retires at once */
SIMT_KERNEL_DECLARE(segments_empty); /* one warp: all that is in the queues */
SIMT_KERNEL_DECLARE(segments_stall); /* one lane looks at a segment while `rounds` of them are retired */
/* One lane puts a number while another one, which has a segment in its hands, stands still: it gives up, and not only
 * when it has made segments of all chunks. */
SIMT_KERNEL_DECLARE(segments_gap);

#endif
