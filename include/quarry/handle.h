/* SPDX-License-Identifier: Apache-2.0 */
/* A heap, as kernels see it. */
#ifndef QUARRY_HANDLE_H
#define QUARRY_HANDLE_H

#include "quarry/alloc/list.def"
#include "quarry/simt/simt.h"

/* What mallocs that returned NULL leave in the pool.  Zeroed at creation and reset. */
struct quarry_counters {
    uint64_t failed;     /* for want of space */
    uint64_t refused;    /* larger than any block */
    uint64_t last_bytes; /* size of the last of either */
};

enum quarry_allocator_number {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary) QUARRY_NUMBER_##id,
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
    QUARRY_ALLOCATOR_NUMBERS
};

struct quarry_debug; /* debug.h */

/* A heap, as kernels take it: by value.  From quarry_heap_handle(); no user part. */
struct quarry_handle {
    uint32_t allocator;  /* enum quarry_allocator_number */
    uint32_t alignment;  /* of every block, in bytes: a power of two, 16 to 256 */
    uint64_t free_reach; /* layout.h: a free takes an address less than so many bytes inside a block */
    uint64_t max_block;  /* bytes */
    struct quarry_counters *counters;
    struct quarry_debug *debug; /* NULL unless the heap is in debug mode */
    union {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary) struct quarry_##id id;
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
    } as;
};

#endif
