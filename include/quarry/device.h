/* SPDX-License-Identifier: Apache-2.0 */
/* Quarry: dynamic memory for massively parallel programs.  What a kernel includes.
 *
 *     SIMT_KERNEL(work, struct work, a)       // or a plain CUDA __global__ function
 *     {
 *         int *p = (int *)quarry_malloc(a.heap, 40);
 *         if (p) { ...; quarry_free(a.heap, p); }
 *     }
 *
 * With QUARRY_ALLOCATOR defined before (say -DQUARRY_ALLOCATOR=corw, or rw_bm for rw-bm: the identifier) the
 * calls go straight to that allocator, which costs the fewest registers; every heap passed in must then be of
 * it.  Without it one switch, uniform in a kernel, picks the heap's own.  QUARRY_ALIGNMENT,
 * QUARRY_DISTRIBUTION and QUARRY_OOM fix the heap's policies likewise (policy.h).  With QUARRY_OUT_OF_LINE
 * defined the allocators' code is in each kernel once, however many calls it has: quicker to compile, slower
 * to run.  With QUARRY_TRACE each malloc and free of a recorded heap is logged (docs/traces.md).
 *
 * Debug builds (without NDEBUG) assert what is said here of arguments.  A heap in debug mode records what
 * goes against it, in every build (docs/debugging.md). */
#ifndef QUARRY_DEVICE_H
#define QUARRY_DEVICE_H

#include "quarry/alloc/list.def"
#include "quarry/core/share.h"
#include "quarry/handle.h"
#include "quarry/policy.h"
#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

#define QUARRY_DEVICE_PASTE_(a, b, c) a##b##c
#define QUARRY_DEVICE_PASTE(a, b, c) QUARRY_DEVICE_PASTE_(a, b, c)

/* A context for quarry_malloc_with, without a past. */
SIMT_FN struct quarry_context quarry_context_start(void)
{
    return quarry_context_make(1);
}

#ifdef QUARRY_TRACE
#include "quarry/log.h"
#define QUARRY_LOG(heap, block, bytes) quarry_log_note(heap, block, bytes)
#else
#define QUARRY_LOG(heap, block, bytes) ((void)0)
#endif

#ifdef QUARRY_OUT_OF_LINE
#define QUARRY_CALL_FN SIMT_NOINLINE_FN
#else
#define QUARRY_CALL_FN SIMT_FN
#endif

/* The allocator's malloc. */
QUARRY_CALL_FN void *quarry_allocate(const struct quarry_handle *heap, struct quarry_context *context,
                                     uint64_t bytes)
{
#ifdef QUARRY_ALLOCATOR
    simt_assert(heap->allocator == QUARRY_DEVICE_PASTE(QUARRY_NUMBER_, QUARRY_ALLOCATOR, ));
    return QUARRY_DEVICE_PASTE(quarry_, QUARRY_ALLOCATOR, _malloc)(&heap->as.QUARRY_ALLOCATOR, context,
                                                                   bytes);
#else
    switch (heap->allocator) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    case QUARRY_NUMBER_##id:                                                                                 \
        return quarry_##id##_malloc(&heap->as.id, context, bytes);
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
    default:
        return SIMT_NULL;
    }
#endif
}

/* The allocator's free. */
QUARRY_CALL_FN void quarry_release(const struct quarry_handle *heap, void *block)
{
#ifdef QUARRY_ALLOCATOR
    simt_assert(heap->allocator == QUARRY_DEVICE_PASTE(QUARRY_NUMBER_, QUARRY_ALLOCATOR, ));
    QUARRY_DEVICE_PASTE(quarry_, QUARRY_ALLOCATOR, _free)(&heap->as.QUARRY_ALLOCATOR, block);
#else
    switch (heap->allocator) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    case QUARRY_NUMBER_##id:                                                                                 \
        quarry_##id##_free(&heap->as.id, block);                                                             \
        break;
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
    default:
        break;
    }
#endif
}

/* As quarry_malloc, and remembers in *context what makes the calling thread's next malloc from the same heap
 * faster, or its blocks lie closer together; with most allocators, nothing.
 *   context   the calling thread's own, in a local variable; from quarry_context_start, and from then on used
 *             with one heap only */
SIMT_FN void *quarry_malloc_with(struct quarry_handle heap, struct quarry_context *context, size_t bytes)
{
    struct quarry_request request;
    const int composed = QUARRY_IS_COMPOSED(heap);
    const int fits = bytes - 1 < heap.max_block;
    void *block = SIMT_NULL;
    int asks = 1;
    simt_assert(QUARRY_IS_AS_FIXED(heap));
    if (fits && composed)
        asks = quarry_request_begin(heap.policy, &request, bytes);
    while (fits) {
        block = SIMT_NULL;
        if (asks)
            block = quarry_allocate(&heap, context, composed ? request.ask : bytes);
        if (!composed)
            break;
        if (block && QUARRY_DEBUG_OF(heap)) {
            block = quarry_debug_malloc(QUARRY_DEBUG_OF(heap), block, bytes);
            QUARRY_LOG(&heap, block, bytes);
            return block;
        }
        if (!quarry_request_go_on(heap.policy, &request, block)) {
            block = request.block;
            break;
        }
        asks = 1;
    }
    if (!block && bytes != 0)
        quarry_null_count(fits ? &heap.counters->failed : &heap.counters->refused, &heap.counters->last_bytes,
                          bytes);
    if (bytes != 0)
        QUARRY_LOG(&heap, block, bytes); /* after the allocator's malloc: log.h has the argument */
    return block;
}

/* Allocates.
 *   bytes   0 gives NULL
 * Returns a block of at least `bytes` bytes, 16-byte aligned, content unspecified, disjoint from all live
 * blocks, usable by any thread of any kernel until freed; or NULL: the heap is full (and stays usable;
 * its out-of-memory policy may do something else first), or the size is over the heap's max_block_bytes.
 * Scope: a lane; any subset of a warp's lanes may call, divergent, with different sizes and heaps.
 * Threads: may run at the same time as any other malloc and free of any heap.
 * Progress and order: see the allocator's header. */
SIMT_FN void *quarry_malloc(struct quarry_handle heap, size_t bytes)
{
    struct quarry_context context = quarry_context_make(0);
    return quarry_malloc_with(heap, &context, bytes);
}

/* Frees.
 *   block   live, from quarry_malloc of this heap, by any thread of any kernel whose malloc
 *           happens-before this call; NULL is a no-op
 * Scope, threads: as quarry_malloc.  Never waits.
 * Order: what was written to the block before happens-before its reuse. */
SIMT_FN void quarry_free(struct quarry_handle heap, void *block)
{
    if (!block)
        return;
    simt_assert(QUARRY_IS_AS_FIXED(heap));
    QUARRY_LOG(&heap, block, 0); /* before the allocator's free */
    if (QUARRY_IS_COMPOSED(heap)) {
        if (QUARRY_DISTRIBUTION_OF(heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
            block = quarry_policy_release(block);
        else if (QUARRY_DEBUG_OF(heap))
            block = quarry_debug_claim(QUARRY_DEBUG_OF(heap), block);
        if (!block)
            return;
        if (QUARRY_DEBUG_OF(heap))
            quarry_debug_poison(QUARRY_DEBUG_OF(heap), block);
    }
    quarry_release(&heap, block);
}

#include "quarry/standard.h" /* quarry_aligned_alloc, _calloc, _realloc, _usable_size, _available_slots */

#endif
