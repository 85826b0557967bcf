/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own kernels on heaps, and the head of every heap's pool, which they share with the host.
 *
 *     pool, rounded up to 256                +256
 *     | counters | census | unused          | struct quarry_policy | struct quarry_debug | sections ...
 *     40 bytes   48       168               if any; each in a multiple of 256              the allocator's
 */
#ifndef QUARRY_DEVICE_HEAP_KERNELS_H
#define QUARRY_DEVICE_HEAP_KERNELS_H

#include "quarry/device.h"

#define HEAP_HEADER_BYTES QUARRY_SECTION_ALIGN

struct heap_header {
    struct quarry_counters counters;
    struct quarry_census census; /* result of the census kernel; meaningless at other times */
};
SIMT_STATIC_ASSERT(sizeof(struct heap_header) <= HEAP_HEADER_BYTES,
                   "the header must fit before the sections");

struct heap_init {
    struct quarry_handle heap;
    struct heap_header *header;
    struct quarry_policy policy; /* goes into the pool, if the heap has any */
};

struct heap_settle {
    struct quarry_handle heap;
};

struct heap_census {
    struct quarry_handle heap;
    struct heap_header *header; /* its census is all zero at the launch */
    uint64_t bytes;             /* of the blocks that slots are counted for; 1 to max_block */
};

enum heap_debug_task {
    HEAP_DEBUG_START, /* a heap that was just initialised: no records, every block poisoned */
    HEAP_DEBUG_COUNT, /* what lives, into debug->census */
    HEAP_DEBUG_CHECK  /* the same; notes what was written where nobody may write, and mends it */
};

struct heap_debug {
    struct quarry_handle heap;
    unsigned char *places; /* where blocks begin, quarry_layout's */
    uint64_t unit;
    uint64_t units;
    uint32_t task; /* enum heap_debug_task */
};

#if SIMT_HAS_HOST
/* Makes the heap empty and its counters 0.  Any grid; nothing else may use the heap. */
SIMT_KERNEL_DECLARE(quarry_heap_init_kernel);

/* Finishes what frees of an idle heap have put off.  Any grid. */
SIMT_KERNEL_DECLARE(quarry_heap_settle_kernel);

/* Adds the census of an idle heap to the header's.  Blocks must be whole warps. */
SIMT_KERNEL_DECLARE(quarry_heap_census_kernel);

/* Walks over all blocks of an idle heap in debug mode, whose debug->census is all zero at the launch.  Blocks
 * must be whole warps. */
SIMT_KERNEL_DECLARE(quarry_heap_debug_kernel);
#endif

#endif
