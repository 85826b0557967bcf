/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of allocators take from the environment: which of them, how many seeds and threads.
 *
 *   QUARRY_TEST_ALLOCATOR   test these only, a list with commas; alloc/extra.def's, too, if the program has it
 *   QUARRY_TEST_SEEDS       seeds of the deterministic scheduler; what they mean is up to each test
 *   QUARRY_TEST_THREADS     caps what runs at once: sanitizers are slow */
#ifndef QUARRY_TESTS_CHOSEN_H
#define QUARRY_TESTS_CHOSEN_H

#include "common.h"

extern struct quarry_target base_target; /* without a seed: each main sets it first */

/* Is it one of those asked for, or, if none is, one of alloc/list.def?  Kernels with direct calls have only the
 * allocator that they were compiled for. */
int is_chosen(const char *name);

/* QUARRY_TEST_SEEDS, or so many unless it is set; 0 on a GPU. */
uint64_t seeds(uint64_t unless_set);

/* So many, or QUARRY_TEST_THREADS if that is less. */
uint32_t capped(uint32_t threads);

#endif
