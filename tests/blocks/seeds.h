/* SPDX-License-Identifier: Apache-2.0 */
/* A test's body for many seeds of the deterministic scheduler, half of them by priorities. */
#ifndef QUARRY_TESTS_BLOCKS_SEEDS_H
#define QUARRY_TESTS_BLOCKS_SEEDS_H

#include "common.h"

/* Runs body(seed) for each seed of 1 .. seeds, or of QUARRY_TEST_SEEDS; on a GPU once.  The target has the
 * seed meanwhile. */
static inline void test_for_seeds(struct quarry_target *target, void (*body)(uint64_t), uint64_t seeds)
{
    const char *text = getenv("QUARRY_TEST_SEEDS");
    if (test_on_cuda(target)) {
        body(1);
        return;
    }
    if (text)
        seeds = strtoull(text, NULL, 10);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        target->seed = seed;
        target->bug_depth = seed % 2 ? 3 : 0;
        body(seed);
    }
    target->seed = 0;
    target->bug_depth = 0;
}

/* The target without a seed, for what comes before and after the kernel that a test is about. */
static inline struct quarry_target test_plain(struct quarry_target target)
{
    target.seed = 0;
    target.bug_depth = 0;
    return target;
}

/* After a test: says with which seed it failed.  With QUARRY_TEST_STOP=1 the others then do not run.  *state is the
 * target. */
static inline int test_tell_seed(void **state)
{
    struct quarry_target *target = *state;
    if (target->seed != 0) {
        const char *stop = getenv("QUARRY_TEST_STOP");
        print_error("failed with seed %llu\n", (unsigned long long)target->seed);
        if (stop && strcmp(stop, "1") == 0)
            exit(1);
    }
    target->seed = 0;
    target->bug_depth = 0;
    return 0;
}

#define test_with_seeds(function, target)                                                                    \
    {                                                                                                        \
#function, function, NULL, test_tell_seed, target                                                    \
    }

#endif
