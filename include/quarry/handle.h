/* SPDX-License-Identifier: Apache-2.0 */
/* A heap, as kernels see it. */
#ifndef QUARRY_HANDLE_H
#define QUARRY_HANDLE_H

#include "quarry/alloc/list.def"
#include "quarry/simt/simt.h"

/* An event of a recorded heap (log.h). */
struct quarry_log_event {
    uint64_t block; /* its address; 0: a malloc that returned NULL */
    uint64_t bytes; /* that a malloc was asked for; 0: a free */
    uint32_t thread;
    uint32_t reserved;
};

struct quarry_log {
    uint64_t tickets; /* drawn since the host emptied the log.  More than `room`: the rest are lost events */
    uint64_t room;    /* of events */
    struct quarry_log_event *events;
};

#define QUARRY_KERNEL_LOGS (1u << 31) /* of struct simt_kernel's fixed: compiled with QUARRY_TRACE */

/* What mallocs that returned NULL leave in the pool.  Zeroed at creation and reset. */
struct quarry_counters {
    uint64_t failed;        /* for want of space */
    uint64_t refused;       /* larger than any block */
    uint64_t last_bytes;    /* size of the last of either */
    uint32_t misfit;        /* not 0: a kernel that is compiled for other heaps called; its code (fixed.h) */
    struct quarry_log *log; /* NULL: the heap is not recorded */
};

/* By the identifiers that QUARRY_ALLOCATOR may be; 0 is that of no heap. */
enum quarry_allocator_number {
    QUARRY_NUMBER_NOTHING,
#define QUARRY_ALLOCATOR_ENTRY(id, ...) QUARRY_NUMBER_##id,
#include "quarry/alloc/list.def"
    QUARRY_NUMBERS_END,
    QUARRY_ALLOCATOR_NUMBERS = QUARRY_NUMBERS_END - 1 /* from 1 on */
};

/* quarry.h's enum quarry_distribution, by the words that QUARRY_DISTRIBUTION may be (policy.h). */
enum quarry_distribution_number { QUARRY_DISTRIBUTION_NUMBER_none, QUARRY_DISTRIBUTION_NUMBER_warp };

/* quarry.h's enum quarry_oom, by the words that QUARRY_OOM may be. */
enum quarry_oom_number {
    QUARRY_OOM_NUMBER_null,
    QUARRY_OOM_NUMBER_wait,
    QUARRY_OOM_NUMBER_trap,
    QUARRY_OOM_NUMBER_hook
};

struct quarry_debug;  /* debug.h */
struct quarry_policy; /* policy.h */

/* A heap, as kernels take it: by value.  From quarry_heap_handle(); no user part.  All zero: no heap, from
 * which a malloc gives NULL, and for which a free does nothing.
 *
 * The order of the fields is for speed.  On a GPU a kernel's arguments lie in the constant bank, whose cache
 * fetches 64 bytes at once.  A malloc without policies reads `policy`, `allocator`, `code` and `max_block`.
 * They stand last, beside the allocator's own fields, which it reads too. */
struct quarry_handle {
    struct quarry_counters *counters;
    struct quarry_debug *debug; /* NULL unless the heap is in debug mode; policy is not NULL then */
    uint64_t free_reach;        /* layout.h: a free takes an address less than so many bytes inside a block */
    uint32_t alignment;         /* of every block, in bytes: a power of two, at least 16 */
    uint32_t shrink;            /* the alignment that is the heap's policy: requests are rounded up to it */
    uint32_t distribution;      /* enum quarry_distribution_number */
    uint32_t oom;               /* enum quarry_oom_number */
    struct quarry_policy *policy; /* NULL: malloc and free are the allocator's and nothing more */
    uint32_t allocator;           /* enum quarry_allocator_number */
    uint32_t code;                /* fixed.h: what the heap is, for kernels that are compiled for some */
    uint64_t max_block;           /* bytes */
    union {
#define QUARRY_FAMILY_ENTRY(family) struct quarry_##family family;
#include "quarry/alloc/list.def"
    } as;
};

#endif
