/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry join`, and the structures that they share with the host: the radix hash join of Pham
 * et al., section 6.1 and appendix B.
 *
 *     hash        a tuple for each row of both tables: 32 bits of hash, 32 bits of row number
 *     partition   both tables' tuples are sorted by the first bits of the hash (work_sort)
 *     plan        cuts the pairs of partitions with one number into items for blocks
 *     probe       a block builds a hash table of the item's build tuples in block-shared memory; each thread
 *                 takes probe tuples and looks for their matches there
 *
 *     build tuples   |  partition 0  |   partition 1    |p.2|  ...      an item: at most JOIN_BUILD build
 *                    +---------------+---------+--------+---+- - -      tuples and JOIN_PROBE probe tuples
 *     probe tuples   |   partition 0     | p. 1  | partition 2 | ...    of one partition
 *
 * A partition with more is several items, each piece of one side with each of the other: a key that makes up
 * most of a table is shared out among many blocks, and no partition is too large for block-shared memory.
 *
 * Where a match goes (row numbers, the left one in the upper half):
 *
 *   paged       The thread writes it to its current page and asks the heap for another when that is full; a
 *               page points to the thread's page before.  Nothing is counted beforehand.
 *
 *                   heads[thread]     +----------+-------+- - -+-------+      +----------+- - -
 *                   [   ---]--------> | previous | match |     | match | ---> | 0        |
 *                                     +----------+-------+- - -+-------+      +----------+- - -
 *
 *   two-pass    A first probe counts each thread's matches; a prefix sum of the counts says where each thread
 *               writes in one array; a second probe of the same items by the same threads writes.
 *
 * Either way a thread's matches are counts[thread], and the pages are copied to one array, if it is wanted,
 * at the same prefix sums.
 *
 * How many matches there are is told without going from one to the next, where it matters whether they have
 * room: the build tuples are sorted by the whole hash, and each probe tuple adds the length of its run of
 * equal hashes if the keys in that are equal too; else it looks at each.
 *
 * Each hash that matches is verified by comparing the keys, unless it is one-to-one: keys that are numbers
 * below 2^32. */
#ifndef QUARRY_TOOL_JOIN_KERNELS_H
#define QUARRY_TOOL_JOIN_KERNELS_H

#include "each_allocator.h"
#include "keys.h"

#define JOIN_HASH_BITS 32u
#define JOIN_BLOCK 256u
#define JOIN_BUILD 2048u /* tuples of one hash table */
#define JOIN_HEADS 2048u /* its chains; a power of two */
#define JOIN_PROBE 4096u /* probe tuples of one item */

/* The keys of a table. */
struct join_keys {
    struct keys text;
    const uint64_t *integers; /* NULL: the keys are text */
};

/* Argument of join_hash. */
struct join_hash {
    struct join_keys keys;
    uint64_t *tuples;
    uint64_t rows;
    uint64_t seeds[2];
    uint32_t hash_mask;
    int one_to_one; /* the hash of an integer: all keys are below 2^32 */
};

struct join_side {
    struct join_keys keys;
    const uint64_t *tuples; /* (hash << 32 | row), ordered by partition */
    uint64_t rows;
    uint32_t *starts; /* partition p has tuples starts[p] up to starts[p + 1] */
};

struct join_item {
    uint32_t build_begin;
    uint32_t build_end;
    uint32_t probe_begin;
    uint32_t probe_end;
};

/* Block-shared memory of the probes: chains of build tuples; numbers are from 1, 0 ends a chain. */
struct join_hash_table {
    uint64_t tuples[JOIN_BUILD];
    uint32_t next[JOIN_BUILD];
    uint32_t heads[JOIN_HEADS];
};

/* What kernels count.  Zeroed by the host before a probe. */
struct join_state {
    uint64_t matches;
    uint64_t pages;  /* that hold them */
    uint32_t failed; /* the heap gave no page: not all matches were found */
    uint32_t broken; /* what can't happen has: the second probe found another number of matches */
};

/* The argument of the other kernels. */
struct join_job {
    struct quarry_handle heap;
    uint64_t page_bytes;
    uint32_t capacity; /* matches of a page */
    uint32_t partition_bits;
    uint32_t partitions; /* 2^partition_bits */
    int build_is_right;
    int one_to_one; /* equal hashes are equal keys */
    struct join_side build;
    struct join_side probe;
    uint64_t *item_starts; /* partition p has items item_starts[p] up to item_starts[p + 1] */
    struct join_item *items;
    uint64_t item_count;
    uint64_t *counts;    /* of each thread that probes, and one more, 0: matches; then their prefix sums */
    uint64_t *heads;     /* of each thread: address of its last page; 0: none */
    uint64_t *matches;   /* NULL: join_gather only frees the pages */
    uint64_t *strangers; /* of each build tuple, and one more: 1 if the one before has its hash but not its
                            key; then their prefix sums */
    uint32_t threads;    /* that probe */
    struct join_state *state;
};

#if SIMT_HAS_HOST
/* A probe's blocks have JOIN_BLOCK threads and block-shared memory for a join_hash_table. */
SIMT_KERNEL_DECLARE(join_hash);   /* lanes over rows; takes a struct join_hash */
SIMT_KERNEL_DECLARE(join_bounds); /* lanes over partitions: starts, and item_starts as numbers of items */
SIMT_KERNEL_DECLARE(join_plan);   /* lanes over items; item_starts are prefix sums */
SIMT_KERNEL_DECLARE(join_count);  /* two-pass, first probe: counts */
SIMT_KERNEL_DECLARE(join_write);  /* two-pass, second probe: matches; counts are prefix sums */
SIMT_KERNEL_DECLARE(join_find_strangers); /* lanes over build tuples, sorted by hash: strangers */
SIMT_KERNEL_DECLARE(join_tally); /* lanes over probe tuples: state.matches; strangers are prefix sums */

/* Each allocator's: join_heap_kernels.c */
struct join_heap_kernels {
    const struct simt_kernel *collect; /* paged probe: counts, heads, state */
    const struct simt_kernel
        *gather; /* warps over heads: copies to matches, frees pages; counts are prefix sums */
};

#define QUARRY_ALLOCATOR_ENTRY(id, ...) extern const struct join_heap_kernels EACH_OF(join_heap_kernels, id);
#include "quarry/alloc/list.def"
extern const struct join_heap_kernels EACH_ANY(join_heap_kernels); /* for recorded and composed heaps, too */
#endif

#endif
