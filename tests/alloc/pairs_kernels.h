/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in which some lanes of each warp make one call of the device API and the others another. */
#ifndef QUARRY_TESTS_PAIRS_KERNELS_H
#define QUARRY_TESTS_PAIRS_KERNELS_H

#include "quarry/device.h"

#define PAIRS_TURNS 3u /* calls of a thread, each with a block of its own */

enum pairs_call {
    PAIRS_MALLOC,
    PAIRS_MALLOC_WITH,
    PAIRS_REFUSED, /* malloc of more than any block has */
    PAIRS_CALLOC,
    PAIRS_ALIGNED,
    PAIRS_GROW,   /* realloc of the thread's block, to another if blocks have several sizes */
    PAIRS_SHRINK, /* realloc that stays, but in debug mode */
    PAIRS_FREE,
    PAIRS_USABLE,
    PAIRS_SLOTS,
    PAIRS_CALLS
};

/* What was seen. */
struct pairs_result {
    uint32_t nulls; /* requests of other than 0 bytes that got no block */
    uint32_t unfilled;
    uint32_t torn;      /* blocks whose content another thread changed, or that calloc left not 0 */
    uint32_t misjudged; /* answers of usable_size, available_slots and realloc that can't be */
};

struct pairs_case {
    struct quarry_handle heap;
    struct pairs_result *result;
    void **block;        /* PAIRS_TURNS for each thread: what it has before */
    void **got;          /* PAIRS_TURNS for each thread: what the calls gave */
    uint64_t bytes;      /* of each block */
    uint64_t grown;      /* bytes that PAIRS_GROW asks for */
    uint64_t most_slots; /* that the heap can have */
    uint32_t call[2];    /* enum pairs_call */
    uint32_t program;    /* decides which lanes make which call */
};

SIMT_KERNEL_DECLARE(pairs_fill);  /* every thread gets its blocks */
SIMT_KERNEL_DECLARE(pairs_play);  /* the calls */
SIMT_KERNEL_DECLARE(pairs_clear); /* whatever lives is checked and freed */

#endif
