/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use a heap and judge what they get.  They know no allocator. */
#ifndef QUARRY_TESTS_PROMISE_KERNELS_H
#define QUARRY_TESTS_PROMISE_KERNELS_H

#include "quarry/device.h"

#define PROMISE_HELD 4u /* blocks that a thread of promise_play holds, at most */

enum promise_kept {
    PROMISE_PLAIN,   /* quarry_malloc */
    PROMISE_CONTEXT, /* quarry_malloc_with, one context a thread */
    PROMISE_BOTH     /* in turns */
};

struct promise_result {
    uint32_t nulls;    /* mallocs that returned NULL */
    uint32_t blocks;   /* and those that did not */
    uint32_t overlaps; /* blocks with memory that somebody else owned */
    uint32_t torn;     /* blocks whose content another thread changed */
    uint32_t misaligned;
    uint32_t outside;  /* blocks outside the pool */
    uint32_t answered; /* beside: thread 0's malloc has returned */
    uint32_t late;     /* beside: threads that did not see this */
};

/* What is known of PROMISE_GRAIN bytes of the pool; `bytes` and `visits` of the block that begins there. */
#define PROMISE_GRAIN 16u
struct promise_grain {
    uint32_t owner;  /* atomic: 0, or 1 + the thread's number */
    uint32_t bytes;  /* of the request */
    uint32_t visits; /* blocks that ever began here; no atomic: who frees happens-before who comes next */
};

struct promise_case {
    struct quarry_handle heap;
    struct promise_result *result;
    void **block; /* one for each thread */
    struct promise_grain *grain;
    uint64_t *box; /* play: where threads exchange blocks */
    unsigned char *pool;
    uint64_t pool_bytes;
    uint64_t page_bytes;
    uint64_t stride;    /* from one page to the next */
    uint64_t alignment; /* of every block */
    uint64_t bytes;     /* request; play: the largest */
    uint32_t threads;   /* the rest does nothing */
    uint32_t lanes;     /* mask of the lanes that take part */
    uint32_t first;     /* number of the first thread: other launches may run at the same time */
    uint32_t shift;     /* verify, adopt: by how much threads and blocks differ */
    uint32_t turns;
    uint32_t hold;    /* churn, turn: atomics done while a block is held */
    uint32_t keeps;   /* churn: threads end with one more block, block[t]; play: with one that they held */
    uint32_t held;    /* play: blocks that a thread holds at once, 1 to PROMISE_HELD */
    uint32_t boxes;   /* play */
    uint32_t program; /* play: number of the random program */
    uint32_t kept;    /* enum promise_kept; play and churn */
    uint32_t count;   /* stride: blocks of all threads; beside: bytes of the others' blocks */
};

/* Two heaps that lanes of one warp use at once: odd threads the second. */
struct promise_two {
    struct quarry_handle heap[2];
    unsigned char *pool[2];
    uint64_t pool_bytes[2];
    uint64_t bytes[2];
    uint32_t **block; /* one for each thread */
    uint32_t *nulls;  /* 2 */
    uint32_t *wrong;  /* blocks of the other heap, or not one's own any more */
    uint32_t threads;
    int select; /* one call that chooses a heap; else a call for each, in different branches */
};
SIMT_KERNEL_DECLARE(promise_two_malloc);
SIMT_KERNEL_DECLARE(promise_two_free);

/* slots[t] = quarry_available_slots, asked by some lanes of each of three warps together. */
#define PROMISE_SLOTS (3u * SIMT_LANES)
struct promise_slots {
    struct quarry_handle heap;
    uint64_t *slots; /* PROMISE_SLOTS */
    uint64_t bytes;
    uint32_t lanes[PROMISE_SLOTS / SIMT_LANES]; /* masks */
};
SIMT_KERNEL_DECLARE(promise_slots);

SIMT_KERNEL_DECLARE(promise_malloc); /* block[t] = malloc, where it is NULL; writes and claims it */
SIMT_KERNEL_DECLARE(promise_mixed);  /* the same, of up to `bytes`: each power of two as often */
SIMT_KERNEL_DECLARE(promise_verify); /* every block still holds what its owner, block - shift, wrote */
SIMT_KERNEL_DECLARE(promise_adopt);  /* thread t checks block[t + shift], claims it and writes it anew */
SIMT_KERNEL_DECLARE(promise_free);   /* thread t frees block[threads - 1 - t] */
SIMT_KERNEL_DECLARE(
    promise_thin); /* frees those blocks that begin in a page whose number is a multiple of turns */
SIMT_KERNEL_DECLARE(
    promise_sieve); /* frees all blocks but those of threads whose number is a multiple of turns */
/* All ask once, in vain; box[0] becomes what the slowest took, by the clock. */
SIMT_KERNEL_DECLARE(promise_clock);
SIMT_KERNEL_DECLARE(promise_turn);   /* who has a block frees it; who has none takes one, at the same time */
SIMT_KERNEL_DECLARE(promise_churn);  /* malloc, own, check, free, over and over */
SIMT_KERNEL_DECLARE(promise_beside); /* thread 0 asks once, others malloc and free until it has its answer */
SIMT_KERNEL_DECLARE(promise_renew);  /* free and ask again, until NULL; who has nothing asks once */
/* Each thread holds up to `held` blocks of different sizes, takes and frees them in an order of its own, and
 * exchanges some with other threads; in the end nothing lives.  At no time live more than threads * held +
 * boxes blocks, so with as many pages not one malloc of up to a page may fail, if freed space serves other sizes. */
SIMT_KERNEL_DECLARE(promise_play);
/* Thread t works on block[t], block[t + threads] and so on, up to block[count]; grains and `blocks` know
 * nothing of it, so blocks may lie outside the pool. */
SIMT_KERNEL_DECLARE(promise_stride_malloc); /* a new block, filled with what its number makes */
SIMT_KERNEL_DECLARE(promise_stride_verify); /* which it still holds */
SIMT_KERNEL_DECLARE(promise_stride_free);
SIMT_KERNEL_DECLARE(promise_handover); /* odd threads free what even threads allocate, at the same time */
SIMT_KERNEL_DECLARE(promise_strange);  /* size 0, too large, free(NULL), divergent sizes */

#endif
