/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own kernels on heaps, and the head of every heap's pool, which they share with the host.
 *
 *     pool, rounded up to 256                +256
 *     | counters | census | unused          | quarry_policy | quarry_debug | quarry_tally | sections ...
 *     40 bytes   48       168               structs, if any; each in a multiple of 256      the allocator's
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
    HEAP_DEBUG_TAGS,  /* no walk: what the tags of the records say, into debug->text */
    HEAP_DEBUG_CHECK  /* as COUNT; notes what was written where nobody may write, and mends it */
};

struct heap_debug {
    struct quarry_handle heap;
    unsigned char *places; /* where blocks begin, quarry_layout's */
    uint64_t unit;
    uint64_t units;
    const uint32_t *launch; /* for HEAP_DEBUG_START */
    uint32_t task;          /* enum heap_debug_task */
};

/* A live block, as the list of them has it. */
struct heap_block {
    uint64_t address;
    uint64_t bytes;
    struct quarry_debug_who by;
    char tag[QUARRY_DEBUG_TAG_BYTES];
};

struct heap_each {
    struct quarry_handle heap;
    unsigned char *places;
    uint64_t unit;
    uint64_t first, end;      /* units to look at */
    struct heap_block *block; /* receives what lives there: room for a block of each */
    uint64_t *count;          /* of those; 0 at the launch */
};

struct launch_number {
    uint32_t *at;
    uint32_t number;
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

/* Lists the live blocks of an idle heap that begin in some units, in any order.  Any grid. */
SIMT_KERNEL_DECLARE(quarry_heap_each_kernel);

/* Says that from now on a launch of this number runs. */
SIMT_KERNEL_DECLARE(quarry_launch_number_kernel);
#endif

#endif
