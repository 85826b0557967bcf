/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry-overhead` (overhead.c), compiled once for each contestant, and what they take.
 *
 * A source that defines the contestant's QUARRY_ALLOCATOR and policies before it includes this file, and says
 * OVERHEAD_KERNELS(NAME) behind it, has overhead_NAME_malloc and overhead_NAME_free.  With OVERHEAD_BARE
 * defined they call the allocator's own functions, and nothing else of device.h. */
#ifndef QUARRY_BENCH_OVERHEAD_KERNELS_H
#define QUARRY_BENCH_OVERHEAD_KERNELS_H

#include "quarry/device.h"

/* What the kernels count; zeroed by the host.  malloc: 0, free: 1. */
struct overhead_tally {
    uint64_t calls[2];
    uint64_t cycles[2]; /* of simt_clock(), of all calls */
    uint64_t nulls;
};

/* Thread i < threads works on blocks[i]. */
struct overhead_case {
    struct quarry_handle heap;
    void **blocks;
    struct overhead_tally *tally;
    uint64_t bytes; /* of a block */
    uint32_t threads;
};

/* Counts a call of the group's lanes each, once for all.  Scope: group. */
SIMT_FN void overhead_count(const struct overhead_case *a, uint32_t group, uint32_t which, uint64_t cycles)
{
    cycles = simt_reduce_add_u64(group, cycles);
    if (simt_rank(group) == 0) {
        simt_add_u64(&a->tally->calls[which], simt_popc_u32(group), relaxed);
        simt_add_u64(&a->tally->cycles[which], cycles, relaxed);
    }
}

SIMT_FN void overhead_malloc(const struct overhead_case *a)
{
    int works = simt_thread() < a->threads;
    uint32_t group = simt_ballot(SIMT_ALL_LANES, works);
    if (!works)
        return;
    uint64_t begin = simt_clock();
#ifdef OVERHEAD_BARE
    struct quarry_context context = quarry_context_make(0);
    void *block = quarry_dispatch_malloc(&a->heap, &context, a->bytes); /* the allocator's own */
#else
    void *block = quarry_malloc(a->heap, a->bytes);
#endif
    uint64_t cycles = simt_clock() - begin;
    a->blocks[simt_thread()] = block;
    simt_sync(group);
    overhead_count(a, group, 0, cycles);
    if (!block)
        simt_add_u64(&a->tally->nulls, 1, relaxed);
}

SIMT_FN void overhead_free(const struct overhead_case *a)
{
    void *block = simt_thread() < a->threads ? a->blocks[simt_thread()] : SIMT_NULL;
    uint32_t group = simt_ballot(SIMT_ALL_LANES, block != SIMT_NULL);
    if (!block)
        return;
    uint64_t begin = simt_clock();
#ifdef OVERHEAD_BARE
    quarry_dispatch_free(&a->heap, block);
#else
    quarry_free(a->heap, block);
#endif
    uint64_t cycles = simt_clock() - begin;
    simt_sync(group);
    overhead_count(a, group, 1, cycles);
}

#define OVERHEAD_KERNELS(contestant)                                                                         \
    SIMT_KERNEL(overhead_##contestant##_malloc, struct overhead_case, a)                                     \
    {                                                                                                        \
        overhead_malloc(&a);                                                                                 \
    }                                                                                                        \
    SIMT_KERNEL(overhead_##contestant##_free, struct overhead_case, a)                                       \
    {                                                                                                        \
        overhead_free(&a);                                                                                   \
    }

#endif
