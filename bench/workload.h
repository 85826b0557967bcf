/* SPDX-License-Identifier: Apache-2.0 */
/* The workload of `quarry bench`: every thread allocates one block and stores its pointer, a second kernel
 * frees it.  Each cell is verified, untimed, before it is timed. */
#ifndef QUARRY_BENCH_WORKLOAD_H
#define QUARRY_BENCH_WORKLOAD_H

#include "timing.h"

struct workload {
    struct timing timing;
    struct quarry_target target;
    uint32_t max_threads;
    /* on the target */
    void **pointers; /* max_threads */
    void *scratch;   /* a bench_tally and the bump counter */
};

struct workload_floor {
    struct timing_summary empty;
    struct timing_summary store;
    struct timing_summary bump;
};

/* What each thread of a cell does, and how many there are. */
struct workload_shape {
    uint64_t bytes; /* of a block, at most 2^40 */
    uint64_t least; /* not 0: each thread's block has from so many to that many bytes, by its number */
    uint32_t threads;
    uint32_t lanes;     /* of each warp that allocate, 1 .. 32 */
    uint32_t alignment; /* that every block must have, in bytes */
    int full;           /* the heap is: the mallocs fail (nearly all, if that is inferred) */
    int at_once;        /* timed is one kernel, which frees each block at once */
};

/* How many blocks that makes. */
uint64_t workload_blocks(uint64_t threads, uint32_t lanes);

struct workload_cell {
    int verified;
    int counted;                  /* live blocks of the heap are, and were checked */
    char fault[160];              /* of a cell that is not, one clause */
    uint64_t nulls;               /* of the verified run */
    struct timing_summary malloc; /* n 0: not timed, since not verified; at_once: of malloc and free */
    struct timing_summary free;
    /* by workload_count */
    double tas;           /* probes of a thread */
    double was;           /* the most of a warp's threads, mean over warps */
    double malloc_cycles; /* mean over calls */
    double free_cycles;
    /* by workload_fill_up */
    uint64_t blocks;
    uint64_t bytes; /* that they were asked for */
};

/* Fills *workload; on an error nothing is left behind.
 *   max_threads  at least 1: the most that a cell or a floor will ask for */
enum quarry_status workload_open(struct workload *workload, const struct quarry_target *target,
                                 uint32_t max_threads, uint32_t warmups, uint32_t runs, double budget_s);
void workload_close(struct workload *workload);

/* Times the kernels that any allocator's time is compared with, with the grid of its cells. */
enum quarry_status workload_floor(struct workload *workload, uint32_t threads, uint64_t bytes,
                                  struct workload_floor *floor);

/* Brings a heap into a state in which about free_share (0 to 1) of its slots for `bytes` are free,
 * scattered at random: fills it but for a 32nd of these and frees blocks chosen by a hash.  Filling only
 * as far as needed would leave allocators that work in order one long free run instead; filling to the last
 * slot would take those that search at random long.
 * A timed malloc and free bring back that state, so once for many cells will do.
 *   progress  called now and then with 0..1
 * Returns MEMORY if there is no room beside the heap for the pointers.  Sets *gave_up if the heap took
 * longer than budget_s to fill: the heap's state is then unspecified. */
enum quarry_status workload_fill(const struct quarry_target *target, quarry_heap *heap, uint64_t bytes,
                                 double free_share, double budget_s, void (*progress)(double share),
                                 int *gave_up);

/* Verifies and times one cell.  The heap is idle and has a slot for each block, or none if shape->full;
 * afterwards it is as before, unless the cell is not verified.
 * A fault of the allocator is no error: it is in *cell. */
enum quarry_status workload_measure(struct workload *workload, quarry_heap *heap,
                                    const struct workload_shape *shape, struct workload_cell *cell);

/* Resets the heap and lets each thread allocate until it has got NULL once; checks how many blocks live then.
 * The heap, which is not the platform's own, stays full.
 *   shape  its alignment, full and at_once do not matter */
enum quarry_status workload_fill_up(struct workload *workload, quarry_heap *heap,
                                    const struct workload_shape *shape, struct workload_cell *cell);

/* Counts probes and cycles of a cell that is verified, in several runs that are not timed. */
enum quarry_status workload_count(struct workload *workload, quarry_heap *heap,
                                  const struct workload_shape *shape, struct workload_cell *cell);

#endif
