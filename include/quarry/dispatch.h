/* SPDX-License-Identifier: Apache-2.0 */
/* From a heap to its allocator: the only switch over all of alloc/list.def in device code.
 *
 * Each operation of the contract (alloc/alloc.h) has one function here, whose switch has one case for each
 * line of the list.  In malloc and free lines can have one case together (column code).  With QUARRY_ALLOCATOR
 * defined, which is an identifier of that list, the switch is over a constant: the compiler keeps one case, and
 * the call is direct.  Callers have asked quarry_fits (fixed.h).  A handle of zeros is of no allocator.
 *
 * Room: includes allocators and handle.h; debug mode, policies and the public calls stand above it. */
#ifndef QUARRY_DISPATCH_H
#define QUARRY_DISPATCH_H

#include "quarry/fixed.h"
#include "quarry/handle.h"
#include "quarry/simt/simt.h"

/* The number of a heap's allocator. */
#ifdef QUARRY_ALLOCATOR
#define QUARRY_NUMBER_OF(heap) QUARRY_FIXED_ALLOCATOR
#else
#define QUARRY_NUMBER_OF(heap) ((heap)->allocator)
#endif

/* The family's struct in a heap. */
#define QUARRY_AS(heap, family) &(heap)->as.family

#ifdef QUARRY_OUT_OF_LINE
/* Callers have the switch, and each allocator's malloc and free is a function that they call: ptxas takes more
 * than twice as long for one function with all. */
#define QUARRY_DISPATCH_FN SIMT_NOINLINE_FN
#define QUARRY_MALLOC_OF(id, ...) quarry_malloc_of_##id(heap, context, bytes)
#define QUARRY_FREE_OF(id, ...) quarry_free_of_##id(heap, block)
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, code, ...)                                       \
    code(                                                                                                    \
        SIMT_NOINLINE_FN void *quarry_malloc_of_##id(const struct quarry_handle *heap,                       \
                                                     struct quarry_context *context, uint64_t bytes) {       \
            return quarry_##family##_malloc(constants QUARRY_AS(heap, family), context, bytes);              \
        } SIMT_NOINLINE_FN void quarry_free_of_##id(const struct quarry_handle *heap, void *block) {         \
            quarry_##family##_free(constants QUARRY_AS(heap, family), block);                                \
        })
#include "quarry/alloc/list.def"
#else
#define QUARRY_DISPATCH_FN SIMT_FN
#define QUARRY_MALLOC_OF(id, family, ...)                                                                    \
    quarry_##family##_malloc(__VA_ARGS__ QUARRY_AS(heap, family), context, bytes)
#define QUARRY_FREE_OF(id, family, ...) quarry_##family##_free(__VA_ARGS__ QUARRY_AS(heap, family), block)
#endif

/* The allocator's malloc. */
SIMT_FN void *quarry_dispatch_malloc(const struct quarry_handle *heap, struct quarry_context *context,
                                     uint64_t bytes)
{
    switch (QUARRY_NUMBER_OF(heap)) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, code, ...)                                       \
    case QUARRY_NUMBER_##id:                                                                                 \
        code(return QUARRY_MALLOC_OF(id, family, constants);)
#include "quarry/alloc/list.def"
    default:
        return SIMT_NULL;
    }
}

/* The allocator's free. */
SIMT_FN void quarry_dispatch_free(const struct quarry_handle *heap, void *block)
{
    switch (QUARRY_NUMBER_OF(heap)) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, code, ...)                                       \
    case QUARRY_NUMBER_##id:                                                                                 \
        code(QUARRY_FREE_OF(id, family, constants); break;)
#include "quarry/alloc/list.def"
    default:
        break;
    }
}

/* The allocator's trim: of a block only the pages that have some of the user's bytes stay.  No switch: most of
 * its cases would be alike, and empty. */
SIMT_NOINLINE_FN void quarry_dispatch_trim(const struct quarry_handle *heap, void *block, void *user,
                                           uint64_t bytes)
{
    (void)heap; /* where there is nothing to trim */
    (void)block;
    (void)user;
    (void)bytes;
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    if (QUARRY_NUMBER_OF(heap) == QUARRY_NUMBER_##id)                                                        \
        quarry_##family##_trim(constants QUARRY_AS(heap, family), block, user, bytes);
#include "quarry/alloc/list.def"
}

/* What the allocator's find says of an address. */
QUARRY_DISPATCH_FN enum quarry_place quarry_dispatch_find(const struct quarry_handle *heap,
                                                          const void *address, struct quarry_span *span)
{
    switch (QUARRY_NUMBER_OF(heap)) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    case QUARRY_NUMBER_##id:                                                                                 \
        return quarry_##family##_find(constants QUARRY_AS(heap, family), address, span);
#include "quarry/alloc/list.def"
    default:
        return QUARRY_PLACE_FOREIGN;
    }
}

/* The allocator's census. */
SIMT_NOINLINE_FN void quarry_dispatch_census(const struct quarry_handle *heap, uint64_t bytes,
                                             const struct quarry_census_share *share,
                                             struct quarry_census *sum)
{
    switch (QUARRY_NUMBER_OF(heap)) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    case QUARRY_NUMBER_##id:                                                                                 \
        quarry_##family##_census(constants QUARRY_AS(heap, family), bytes, share, sum);                      \
        break;
#include "quarry/alloc/list.def"
    default:
        break;
    }
}

/* The allocator's settle: thread `thread` of `threads` finishes its share of what frees have put off.  No
 * switch: most of its cases would be alike, and empty. */
SIMT_FN void quarry_dispatch_settle(const struct quarry_handle *heap, uint64_t thread, uint64_t threads)
{
    (void)heap; /* where there is nothing to settle */
    (void)thread;
    (void)threads;
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    if (QUARRY_NUMBER_OF(heap) == QUARRY_NUMBER_##id)                                                        \
        quarry_##family##_settle(constants QUARRY_AS(heap, family), thread, threads);
#include "quarry/alloc/list.def"
}

/* The allocator's init: thread `thread` of `threads` makes its share of an empty heap. */
SIMT_FN void quarry_dispatch_init(const struct quarry_handle *heap, uint64_t thread, uint64_t threads)
{
    switch (QUARRY_NUMBER_OF(heap)) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    case QUARRY_NUMBER_##id:                                                                                 \
        quarry_##family##_init(constants QUARRY_AS(heap, family), thread, threads);                          \
        break;
#include "quarry/alloc/list.def"
    default:
        break;
    }
}

#endif
