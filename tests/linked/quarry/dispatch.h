/* SPDX-License-Identifier: Apache-2.0 */
/* Stands before include/quarry/dispatch.h where the tests' kernels are compiled for the CPU: declarations of its
 * functions, which ../dispatch.c compiles once for all tests of a library.  Else every file of kernels has all
 * allocators' code: most of the time that tests take to compile, above all with a sanitizer.
 *
 * The header itself, as users have it, where a file has other code of allocators: for a GPU, with QUARRY_ALLOCATOR,
 * with a count of steps, and with assertions where the build has none, or without where it has them. */
#ifndef QUARRY_TESTS_DISPATCH_H
#define QUARRY_TESTS_DISPATCH_H

#include "quarry/fixed.h"
#include "quarry/handle.h"
#include "quarry/simt/simt.h"

#ifdef NDEBUG
#define QUARRY_TESTS_ASSERTS 0
#else
#define QUARRY_TESTS_ASSERTS 1
#endif

#if SIMT_CUDA || defined(QUARRY_ALLOCATOR) || defined(QUARRY_COUNT_STEPS) ||                                 \
    QUARRY_TESTS_ASSERTS != QUARRY_LINKED_ASSERTS
#include "../../../include/quarry/dispatch.h"
#else
#define QUARRY_DISPATCH_H
void *quarry_dispatch_malloc(const struct quarry_handle *heap, struct quarry_context *context,
                             uint64_t bytes);
void quarry_dispatch_free(const struct quarry_handle *heap, void *block);
void quarry_dispatch_trim(const struct quarry_handle *heap, void *block, void *user, uint64_t bytes);
enum quarry_place quarry_dispatch_find(const struct quarry_handle *heap, const void *address,
                                       struct quarry_span *span);
void quarry_dispatch_census(const struct quarry_handle *heap, uint64_t bytes,
                            const struct quarry_census_share *share, struct quarry_census *sum);
void quarry_dispatch_settle(const struct quarry_handle *heap, uint64_t thread, uint64_t threads);
void quarry_dispatch_init(const struct quarry_handle *heap, uint64_t thread, uint64_t threads);
#endif

#endif
