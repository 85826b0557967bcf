/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of test_fixed.c, which are compiled for some heaps by the macros of that test. */
#ifndef QUARRY_TESTS_FIXED_KERNELS_H
#define QUARRY_TESTS_FIXED_KERNELS_H

#include "quarry/device.h"

/* Calls of fixed_calls that give something. */
enum fixed_call {
    FIXED_MALLOC,
    FIXED_MALLOC_WITH,
    FIXED_ALIGNED_16,
    FIXED_CALLOC,
    FIXED_REALLOC,
    FIXED_SLOTS,
    FIXED_USABLE,
    FIXED_MUST, /* a heap that fits gives those before, none that does not gives those behind either */
    FIXED_ALIGNED_4096 = FIXED_MUST,
    FIXED_MOVED,
    FIXED_CALLS
};

struct fixed_test {
    struct quarry_handle heap;
    void *block;   /* live, or anything but NULL if the heap does not fit */
    uint64_t *got; /* FIXED_CALLS; counts of answers that are not NULL and not 0 */
};

/* The same with the handle in memory, where a launch does not see it. */
struct fixed_hidden {
    const struct fixed_test *test;
};

/* Two heaps, behind something else. */
struct fixed_pair {
    uint32_t number;
    struct quarry_handle first, second;
};

#if SIMT_HAS_HOST
/* Makes each call, and frees what it gets; frees the block. */
SIMT_KERNEL_DECLARE(fixed_calls);
SIMT_KERNEL_DECLARE(fixed_hidden_calls);
SIMT_KERNEL_DECLARE(fixed_pair_calls);  /* does nothing */
SIMT_KERNEL_DECLARE(fixed_hidden_free); /* frees the block, and calls nothing else */
#endif

#endif
