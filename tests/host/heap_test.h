/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of heaps share.
 *
 * What allocators promise is tests/alloc's.  Here they only have to fill a heap exactly: a kernel
 * with more threads than pages, each thread asking for one page, gets every page once and counts the
 * rest as failed.  From that every number that the host reports is known beforehand. */
#ifndef QUARRY_TESTS_HEAP_TEST_H
#define QUARRY_TESTS_HEAP_TEST_H

#include "heap_test_kernels.h"

#include "common.h"

#define MIB ((uint64_t)1 << 20)
#define PAGES 1000u
#define THREADS 1300u /* more than PAGES, and not a whole number of warps */

extern struct quarry_target base_target; /* of the environment: each main sets it first */

struct quarry_heap_options the_options(void); /* of corw; all others are the defaults */
quarry_heap *create(const struct quarry_heap_options *options);
quarry_heap *create_pages(uint64_t pages);

void expect_at(enum quarry_status expected, enum quarry_status got, const char *call, const char *file,
               int line);
#define expect(expected, call) expect_at(expected, call, #call, __FILE__, __LINE__)

/* The detail says `text`, and is one sentence to read: no line break, no final stop. */
void expect_detail_at(const char *text, const char *file, int line);
#define expect_detail(text) expect_detail_at(text, __FILE__, __LINE__)

/* ---- kernels on a heap ---- */

struct work {
    quarry_heap *heap;
    struct quarry_target target;
    struct heap_test argument;
    unsigned char **host_blocks; /* what work_fetch() copied */
};

struct work work_create(quarry_heap *heap, uint32_t count, uint64_t bytes);
void work_destroy(struct work *work);
void work_run(struct work *work, const struct simt_kernel *kernel);
uint32_t work_fetch(struct work *work); /* the blocks' addresses; returns how many are not NULL */
void work_verify(struct work *work);    /* every block still has its thread's number */

/* Fills the heap with blocks of a page, verifies, frees: every page once, inside the pool. */
void fill_and_empty(quarry_heap *heap);

#endif
