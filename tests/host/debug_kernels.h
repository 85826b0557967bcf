/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use a heap in debug mode, well and badly. */
#ifndef QUARRY_TESTS_DEBUG_KERNELS_H
#define QUARRY_TESTS_DEBUG_KERNELS_H

#include "quarry/device.h"

struct debug_case {
    struct quarry_handle heap;
    unsigned char **block;
    uint32_t *faults;
    uint64_t bytes;
    int64_t offset;  /* from a block's begin to the address that is freed or written */
    uint32_t thread; /* the first that does something, with block[slot] */
    uint32_t threads;
    uint32_t slot;
    uint32_t turns;
    uint32_t state, by, freed_by; /* of a header */
};

SIMT_KERNEL_DECLARE(debug_align); /* block[slot + i] = aligned_alloc(offset, bytes), by thread `thread` + i */
SIMT_KERNEL_DECLARE(debug_malloc); /* block[slot + i] = malloc(bytes) by thread + i, for i < threads */
SIMT_KERNEL_DECLARE(debug_free);   /* thread + i frees block[slot + i] + offset */
SIMT_KERNEL_DECLARE(debug_race);   /* all of them free block[slot] */
SIMT_KERNEL_DECLARE(debug_write);  /* inverts the byte at block[slot] + offset */
SIMT_KERNEL_DECLARE(debug_forge);  /* writes a header before block[slot], with its check */
SIMT_KERNEL_DECLARE(debug_mark);   /* writes the thread's number to each byte of block[slot + i] */
/* malloc of any size, use, free, over and over; *faults: blocks that began unfilled or changed meanwhile */
SIMT_KERNEL_DECLARE(debug_churn);

#endif
