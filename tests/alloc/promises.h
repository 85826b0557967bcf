/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of all allocators share: a heap with everything that promise_kernels.c needs to judge it,
 * and the loop over alloc/list.def.  From the environment comes what chosen.h says, and
 * QUARRY_TEST_DISTRIBUTION: with "warp" all heaps have QUARRY_DISTRIBUTION_WARP. */
#ifndef QUARRY_TESTS_PROMISES_H
#define QUARRY_TESTS_PROMISES_H

#include "alloc/promise_kernels.h"

#include "chosen.h"

struct fixture {
    const char *allocator;
    struct quarry_allocator_info can; /* what the allocator's line declares, and the suite obeys */
    int counted;                      /* can.counts_slots */
    int fixed;            /* a block is a page: else smaller ones than a page are to be tested, too */
    int several;          /* a block may have several pages: larger ones, too */
    uint32_t word_bits;   /* 0: standard, as in the next two */
    uint32_t probes;      /* 0: default */
    uint32_t probe_lanes; /* 0: default */
    double low_free;      /* 0: FULL_PROVEN */
    int debug;
    int statistics;
    struct test_set set; /* what else is to be set */
    uint64_t alignment;  /* 0: 16 */
    enum quarry_distribution distribution;
    uint32_t block_threads; /* of a launch; 0: what suits its size */
    const char *note;       /* for naming() */
    struct quarry_target target;
    quarry_heap *heap;
    struct quarry_heap_description about;
    struct promise_case device; /* argument of all kernels */
    int no_grains;              /* for heaps so large that only the kernels that need none are run */
    uint64_t grains;
    uint64_t empty_slots; /* slots(1) of the empty heap, unless fixed */
    uint64_t blocks;      /* mallocs that succeeded */
};

extern struct fixture f;

/* Says which allocator, options and seed: every failure does. */
const char *naming(void);

#define expect(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail_msg("%s: %s", naming(), #condition);                                                        \
    } while (0)
#define expect_equal(a, b)                                                                                   \
    do {                                                                                                     \
        unsigned long long expect_a = (a), expect_b = (b);                                                   \
        if (expect_a != expect_b)                                                                            \
            fail_msg("%s: %s is %llu, expected %s = %llu", naming(), #a, expect_a, #b, expect_b);            \
    } while (0)

/* The fixture's allocator, target and options.  Points into memory that the next call uses again. */
struct quarry_heap_options options_of_fixture(void);

/* A heap of the fixture's allocator and options, for up to so many threads.  end() checks and destroys it:
 * everything that was allocated and freed was so in an order that memory knows of. */
void begin(uint64_t pages, uint64_t page_bytes, uint32_t most_threads, uint64_t seed);
void end(void);

/* Runs a kernel with so many threads.  No block may be shared, torn, misaligned or outside the pool. */
struct promise_result run(const struct simt_kernel *kernel, uint32_t threads);

/* As run, but ends after the launch: `result` of the target receives what to judge. */
void start(const struct simt_kernel *kernel, const struct quarry_target *target, uint32_t threads,
           const struct promise_case *argument);
/* Fetches and judges it. */
struct promise_result judge(void);

/* Runs a kernel in so many blocks of a warp, which wait for each other: on f.target, in its schedule.
 *   wrong   what the kernel counts there
 * Returns that. */
uint32_t run_blocks(const struct simt_kernel *kernel, uint32_t blocks, const void *argument,
                    const uint32_t *wrong);

/* On the heap that has begun each thread runs a program of its own, which `seed` tells.
 *   held    blocks that a thread has at a time, at most
 *   boxes   in which threads leave blocks to others
 *   bytes   of a block, at most; cut to the heap's largest
 * Nothing lives afterwards.  Returns how many mallocs were NULL. */
uint32_t run_programs(uint32_t threads, uint32_t held, uint32_t boxes, uint64_t bytes, uint64_t seed);

uint64_t largest_page(void); /* bytes, with the fixture's policies */
struct quarry_statistics statistics(void);
uint64_t slots(uint64_t bytes); /* as the host and kernels count them, who must agree */
void expect_empty(void);        /* nothing lives, and everything is free: the slots are those of a new heap */

/* Sets an option of the allocator for the heaps that begin() makes; 0: standard again. */
void set_option(const char *name, uint64_t value);

/* Forgets all options but allocator, word_bits and policies, and base_target.bug_depth.  The loops below begin with it,
 * so a test leaves nothing to those after it, whether it fails or not. */
void plain_options(void);

/* Runs the test for each allocator of alloc/list.def, or the one that is asked for, and each width of its
 * words; a kernel with direct calls has only the allocator that it was compiled for. */
void for_each_allocator(void (*test)(void));

/* The same for those that prove that a heap is full. */
void for_each_proof(void (*test)(void));

/* As for_each_allocator, and also for allocators whose blocks nobody counts: without f.counted begin() gives no
 * pages, and expect_empty() knows nothing. */
void for_every_allocator(void (*test)(void));

/* A heap with the fixture's options and two pages. */
struct quarry_heap_description describe_default(void);

#endif
