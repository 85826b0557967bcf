/* SPDX-License-Identifier: Apache-2.0 */
/* What `quarry bench` measures: the tests of tests.h on heaps that exist.  Each cell is verified, untimed,
 * before it is timed. */
#ifndef QUARRY_BENCH_WORKLOAD_H
#define QUARRY_BENCH_WORKLOAD_H

#include "tests.h"
#include "timing.h"

struct bench_cell;

struct workload {
    struct timing timing;
    struct quarry_target target;
    uint32_t max_threads;
    /* on the target, max_threads each */
    void **pointers;
    void **others;
    void *scratch; /* a bench_tally and the bump counter */
    /* Queues an exclusive prefix sum in place of `count` values on the target; only ACTION_PREFIX_SUM wants
     * it. */
    enum quarry_status (*scan)(void *context, uint64_t *values, uint64_t count);
    void *scan_context;
};

struct workload_floor {
    struct statistics empty;
    struct statistics store;
    struct statistics bump;
};

/* What each thread of a cell does, and how many there are. */
struct workload_shape {
    uint64_t bytes; /* of a block, at most 2^40 */
    uint64_t least; /* not 0: each thread's block has from so many to that many bytes, by its number */
    int octaves;    /* of these every power of two as often, and `bytes` below 2^32; else uniform */
    uint32_t threads;
    uint32_t lanes;     /* of each warp that allocate, 1 .. 32 */
    uint32_t alignment; /* that every block must have, in bytes */
    int full;           /* the heap is: the mallocs fail (nearly all, if that is inferred) */
};

/* How many threads work. */
uint64_t workload_blocks(uint64_t threads, uint32_t lanes);

/* One timed step of a test, or one number of rounds.  What it does not measure is 0. */
struct workload_op {
    const char *name;
    enum bench_action action;
    struct statistics time; /* n 0: not timed */
    double tas;             /* probes of a thread */
    double was;             /* the most of a warp's threads, mean over warps */
    double cycles;          /* mean over calls */
    uint64_t blocks;        /* live */
    uint64_t asked_bytes;   /* that the live blocks were asked for, or that the kernel writes */
    uint64_t range_bytes;
    uint32_t rounds;
    uint32_t registers;
    uint32_t local_bytes;
};

struct workload_cell {
    int verified;
    int counted;     /* live blocks of the heap are, and were checked */
    char fault[160]; /* of a cell that is not verified, one clause */
    uint64_t nulls;  /* of the verified run */
    int direct;      /* measured with kernels of the allocator's own, and not with those of all */
    unsigned count;  /* of ops */
    struct workload_op ops[BENCH_MAX_OPS];
};

/* Fills *workload but for `scan`; on an error nothing is left behind.
 *   max_threads  at least 1: the most that a cell or a floor will ask for */
enum quarry_status workload_open(struct workload *workload, const struct quarry_target *target,
                                 uint32_t max_threads, const struct timing_rule *rule);
void workload_close(struct workload *workload);

/* Times the kernels that any allocator's time is compared with, with the grid of its cells. */
enum quarry_status workload_floor(struct workload *workload, uint32_t threads, uint64_t bytes,
                                  struct workload_floor *floor);

/* Brings a heap into a state in which about free_share (0 to 1) of its slots for `bytes` are free,
 * scattered at random: fills it but for a 32nd of these and frees blocks chosen by a hash.  Filling only
 * as far as needed would leave allocators that work in order one long free run instead; filling to the last
 * slot would take those that search at random long.
 * A timed malloc and free bring back that state, so once for many cells will do.
 *   progress  called now and then with 0..1; may be NULL
 * Returns MEMORY if there is no room beside the heap for the pointers.  Sets *gave_up if the heap took
 * longer than budget_s to fill: the heap's state is then unspecified. */
enum quarry_status workload_fill(const struct quarry_target *target, quarry_heap *heap, uint64_t bytes,
                                 double free_share, double budget_s, void (*progress)(double share),
                                 int *gave_up);

/* The argument of a cell's kernels; heap may be NULL for those that don't use it. */
void workload_argument(const struct workload *workload, const quarry_heap *heap,
                       const struct workload_shape *shape, struct bench_cell *cell);

/* Verifies and measures one cell.  The heap is idle and has slots for the blocks, or none if shape->full;
 * afterwards it is as before, unless the cell is not verified or workload_resets(test). A fault of the
 * allocator is no error: it is in *cell. test  of any kind but BENCH_INIT's creation of heaps, of which this
 * does the steps */
enum quarry_status workload_measure(struct workload *workload, quarry_heap *heap,
                                    const struct bench_test *test, const struct workload_shape *shape,
                                    struct workload_cell *cell);

/* Whether the test begins with an empty heap whatever there was, and leaves something else. */
int workload_resets(const struct bench_test *test);

/* Counts probes and cycles of the mallocs and frees of a cell that is verified, in several runs that are not
 * timed. */
enum quarry_status workload_count(struct workload *workload, quarry_heap *heap,
                                  const struct workload_shape *shape, struct workload_cell *cell);

#endif
