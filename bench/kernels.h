/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry bench`, and what they take. */
#ifndef QUARRY_BENCH_KERNELS_H
#define QUARRY_BENCH_KERNELS_H

#include "each_allocator.h"

/* What bench_check found wrong and the counting kernels counted.  Zeroed by the host before. */
struct bench_tally {
    uint64_t nulls;
    uint64_t misaligned; /* blocks, not counted again as broken */
    uint64_t broken;     /* blocks whose pattern someone else wrote over */
    uint64_t steps;      /* probes of all threads */
    uint64_t warp_steps; /* sum over warps of the most that one of its threads made */
    uint64_t warps;      /* that took part */
    uint64_t cycles[2];  /* clock cycles in malloc, and in free, of all threads */
    uint64_t filled[2];  /* bench_fill: blocks, and the bytes that they were asked for */
};

/* bench_spin: one thread runs for `ticks` of simt_clock(), so that what the host queues after it is
 * there before it ends. */
struct bench_spin {
    uint64_t ticks;
};

/* All others: thread i < threads whose lane is below `lanes` works on pointers[i]. */
struct bench_cell {
    struct quarry_handle heap;
    void **pointers;
    uint64_t bytes;            /* of a block */
    uint64_t least;            /* not 0: a block has from so many to that many bytes */
    uint32_t threads;          /* that take part; the grid may have more */
    uint32_t lanes;            /* of each warp: the others of the threads do nothing */
    uint32_t alignment;        /* bench_check: a power of two */
    uint64_t *counter;         /* bench_bump */
    struct bench_tally *tally; /* bench_check, bench_fill, bench_count_... */
};

/* bench_hold and bench_thin work on held[first .. last), whatever the grid. */
struct bench_hold {
    struct quarry_handle heap;
    void **held;
    uint64_t bytes;
    uint64_t first;
    uint64_t last;
    uint32_t free_share; /* bench_thin: of 2^32 */
};

/* Spreads the bits of a number: multiply, then fold the well-mixed upper half onto the lower. */
SIMT_FN uint64_t bench_mix(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

/* Bytes of block i: uniform by 24 bits of a hash.  a->bytes is at most 2^40. */
SIMT_FN uint64_t bench_size(const struct bench_cell *a, uint64_t i)
{
    return a->least ? a->least + ((bench_mix(~i) >> 40) * (a->bytes - a->least + 1) >> 24) : a->bytes;
}

SIMT_FN int bench_works(const struct bench_cell *a)
{
    return simt_thread() < a->threads && simt_lane() < a->lanes;
}

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(bench_spin);
SIMT_KERNEL_DECLARE(bench_empty); /* floor: nothing */
SIMT_KERNEL_DECLARE(bench_store); /* floor: stores a pointer */
SIMT_KERNEL_DECLARE(bench_bump);  /* floor: one atomic add a warp on one counter */
SIMT_KERNEL_DECLARE(bench_write); /* writes a pattern of its own over every byte of pointers[i] */
SIMT_KERNEL_DECLARE(bench_check); /* reads it back */

/* Each allocator's: heap_kernels.c */
struct bench_heap_kernels {
    const struct simt_kernel *malloc;  /* timed: pointers[i] = a new block */
    const struct simt_kernel *free;    /* timed: frees pointers[i] */
    const struct simt_kernel *at_once; /* timed: pointers[i] = a new block, freed again */
    const struct simt_kernel *fill;    /* allocates until each thread has got NULL once */
    const struct simt_kernel *hold;    /* allocates those of held[] that are NULL */
    const struct simt_kernel *thin;    /* frees free_share / 2^32 of held[], chosen by a hash of the index */
};

/* Each allocator's: count_kernels.c */
struct bench_count_kernels {
    const struct simt_kernel *malloc; /* as bench_heap_kernels.malloc, and counts */
    const struct simt_kernel *free;
};

#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    extern const struct bench_heap_kernels EACH_OF(bench_heap_kernels, id);                                  \
    extern const struct bench_heap_kernels EACH_COMPOSED_OF(bench_heap_kernels, id);                         \
    extern const struct bench_count_kernels EACH_OF(bench_count_kernels, id);                                \
    extern const struct bench_count_kernels EACH_COMPOSED_OF(bench_count_kernels, id);
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
#endif

#endif
