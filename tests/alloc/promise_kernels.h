/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use a heap and judge what they get.  They know no allocator. */
#ifndef QUARRY_TESTS_PROMISE_KERNELS_H
#define QUARRY_TESTS_PROMISE_KERNELS_H

#include "quarry/device.h"

struct promise_result {
    uint32_t nulls;    /* mallocs that returned NULL */
    uint32_t overlaps; /* blocks whose page somebody else owned */
    uint32_t torn;     /* blocks whose content another thread changed */
    uint32_t misaligned;
    uint32_t outside; /* blocks outside the pool */
};

struct promise_case {
    struct quarry_handle heap;
    struct promise_result *result;
    void **block;    /* one for each thread */
    uint32_t *owner; /* one for each page_bytes of the pool: 0, or 1 + thread */
    unsigned char *pool;
    uint64_t pool_bytes;
    uint64_t page_bytes;
    uint64_t bytes;   /* request */
    uint32_t threads; /* the rest does nothing */
    uint32_t lanes;   /* mask of the lanes that take part */
    uint32_t turns;
    uint32_t hold; /* churn: atomics done while a block is held */
};

SIMT_KERNEL_DECLARE(promise_malloc);   /* block[t] = malloc; writes and claims it */
SIMT_KERNEL_DECLARE(promise_verify);   /* every block still holds what its owner wrote */
SIMT_KERNEL_DECLARE(promise_free);     /* thread t frees block[threads - 1 - t] */
SIMT_KERNEL_DECLARE(promise_thin);     /* frees those blocks whose page's number is a multiple of turns */
SIMT_KERNEL_DECLARE(promise_churn);    /* malloc, own, check, free, over and over */
SIMT_KERNEL_DECLARE(promise_handover); /* odd threads free what even threads allocate, at the same time */
SIMT_KERNEL_DECLARE(promise_strange);  /* size 0, too large, free(NULL), divergent sizes */

#endif
