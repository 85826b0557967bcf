/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry-blocks` (blocks.c), and what they take. */
#ifndef QUARRY_BENCH_BLOCKS_KERNELS_H
#define QUARRY_BENCH_BLOCKS_KERNELS_H

#include "quarry/core/list.h"
#include "quarry/core/mutex.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/srcu.h"
#include "quarry/simt/kernel.h"

struct blocks_element {
    struct quarry_link link;
    struct quarry_srcu_callback callback;
    uint32_t tag;
};

/* Each has a line of its own. */
struct blocks_word {
    uint64_t word;
    uint64_t unused[15];
};

enum blocks_words {
    BLOCKS_UNITS,     /* a bump counter, the paper's semaphore, or a counting one */
    BLOCKS_MADE,      /* units that came in batches */
    BLOCKS_REMOVED,   /* elements */
    BLOCKS_CALLBACKS, /* that were run */
    BLOCKS_WORDS
};

/* Threads below `threads` work. */
struct blocks_case {
    struct quarry_semaphore *semaphore;
    struct blocks_word *words; /* BLOCKS_WORDS */
    struct quarry_srcu *srcu;
    struct quarry_mutex *mutex;      /* of those who change the list */
    struct quarry_link *list;        /* of all elements, in the order of their tags */
    struct blocks_element *elements; /* element_count; tags are multiples of threads / element_count */
    uint32_t *out;                   /* of each thread */
    uint32_t threads;
    uint32_t element_count;
    uint32_t units; /* at the start */
    uint32_t batch;
    uint32_t rounds;
};

/* The paper's bulk semaphore in one word: algorithms 1 and 2 with I read as N, and what `blocks_paper` says. */
#define BLOCKS_PAPER_R 1u
#define BLOCKS_PAPER_E ((uint64_t)1 << 20)
#define BLOCKS_PAPER_C ((uint64_t)1 << 40)

SIMT_KERNEL_DECLARE(blocks_start);

/* Figure 5: one unit a thread; `_warp`: the first lane gets them for all. */
SIMT_KERNEL_DECLARE(blocks_bulk);
SIMT_KERNEL_DECLARE(blocks_bulk_warp);
SIMT_KERNEL_DECLARE(blocks_paper);
SIMT_KERNEL_DECLARE(blocks_paper_warp);
SIMT_KERNEL_DECLARE(blocks_counting);
SIMT_KERNEL_DECLARE(blocks_bump);
SIMT_KERNEL_DECLARE(blocks_bump_warp);

/* A semaphore that is never empty; blocks_bump_warp is the floor. */
SIMT_KERNEL_DECLARE(blocks_ask);
SIMT_KERNEL_DECLARE(blocks_ask_warp);
SIMT_KERNEL_DECLARE(blocks_ask_relaxed_warp);
SIMT_KERNEL_DECLARE(blocks_try_warp);

/* Units taken and given back, `rounds` times; read sections beside them. */
SIMT_KERNEL_DECLARE(blocks_pair_bump_warp); /* the floor: an addition and a subtraction */
SIMT_KERNEL_DECLARE(blocks_pair_warp);
SIMT_KERNEL_DECLARE(blocks_section_warp);

/* Figure 6. */
SIMT_KERNEL_DECLARE(blocks_remove_classical);
SIMT_KERNEL_DECLARE(blocks_remove_delegating);

#endif
