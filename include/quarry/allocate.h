/* SPDX-License-Identifier: Apache-2.0 */
/* quarry_malloc, quarry_malloc_with and quarry_free: the allocator's, with what policies, debug mode and a
 * recording do around them. */
#ifndef QUARRY_ALLOCATE_H
#define QUARRY_ALLOCATE_H

#include "quarry/core/context.h"
#include "quarry/dispatch.h"
#include "quarry/fixed.h"
#include "quarry/handle.h"
#include "quarry/policy.h"
#include "quarry/simt/simt.h"

#ifdef QUARRY_TRACE
#include "quarry/log.h"
#define QUARRY_LOG(heap, block, bytes) (simt_note_block(block, bytes), quarry_log_note(heap, block, bytes))
#else
#define QUARRY_LOG(heap, block, bytes) simt_note_block(block, bytes)
#endif

/* A context for quarry_malloc_with, without a past. */
SIMT_FN struct quarry_context quarry_context_start(void)
{
    return quarry_context_make(1);
}

/* As quarry_malloc_with, but a recording does not note it. */
SIMT_FN void *quarry_malloc_unnoted(struct quarry_handle heap, struct quarry_context *context, size_t bytes)
{
    struct quarry_request request;
    const int composed = QUARRY_IS_COMPOSED(heap);
    const int fits = bytes - 1 < heap.max_block;
    void *block = SIMT_NULL;
    uint64_t ask = bytes; /* of the allocator */
    if (!quarry_fits_or_tell(&heap))
        return SIMT_NULL;
    if (composed && fits) {
        int asks = quarry_request_begin(heap.policy, &request, bytes);
        ask = request.ask;
        if (!asks)
            goto asked;
    }
    if (fits) {
        /* A jump, and no loop.  What does not change in a loop the compiler computes before it, and keeps in registers.
         * Of the switch that would be a little of every allocator.  This is entered at two places, so it is no loop. */
    again:
        block = quarry_dispatch_malloc(&heap, context, ask);
        if (composed) {
        asked:
            if (quarry_request_go_on(heap.policy, &request, block)) {
                ask = request.ask;
                goto again;
            }
            block = request.block;
            if (block && QUARRY_DEBUG_OF(heap))
                block = quarry_debug_malloc(QUARRY_DEBUG_OF(heap), block, bytes);
        }
    }
    if (!block && bytes != 0 && heap.counters)
        quarry_null_count(fits ? &heap.counters->failed : &heap.counters->refused, &heap.counters->last_bytes,
                          bytes);
    return block;
}

/* As quarry_malloc, with a memory: what it notes in *context makes the calling thread's next malloc from the same
 * heap faster, or lets its blocks lie closer together.  Most allocators note nothing.
 *   context   the calling thread's own, in a local variable; from quarry_context_start, and from then on used
 *             with one heap only */
SIMT_FN void *quarry_malloc_with(struct quarry_handle heap, struct quarry_context *context, size_t bytes)
{
    void *block = quarry_malloc_unnoted(heap, context, bytes);
    if (bytes != 0)
        QUARRY_LOG(&heap, block, bytes); /* after the allocator's malloc: log.h has the argument */
    return block;
}

/* Allocates.
 *   bytes   0 gives NULL
 * Returns a block of at least `bytes` bytes, 16-byte aligned, content unspecified, disjoint from all live
 * blocks, usable by any thread of any kernel until freed.  NULL means one of
 *   - the heap is full.  It stays usable.  Its out-of-memory policy may do something else first
 *   - the size is over the heap's max_block_bytes
 *   - the kernel is compiled for other heaps (fixed.h)
 *   - the handle is all zero
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
 *           happens-before this call.  NULL is a no-op.  With a handle of zeros, or of a heap that the kernel is
 *           not compiled for, every free is a no-op.  Any other address is a mistake.  Debug builds assert it.
 *           Other builds leave it alone if the allocator sees it.  At worst another block is freed, but nothing
 *           outside the heap's pool is written.  (Not so with allocator cuda.)
 * Scope, threads: as quarry_malloc.  Never waits.
 * Order: what was written to the block before happens-before its reuse. */
SIMT_FN void quarry_free(struct quarry_handle heap, void *block)
{
    if (!block || !quarry_fits_or_tell(&heap))
        return;
    QUARRY_LOG(&heap, block, 0); /* before the allocator's free */
    if (QUARRY_IS_COMPOSED(heap)) {
        block = quarry_policy_release(heap.policy, block);
        if (!block)
            return;
        if (QUARRY_DEBUG_OF(heap))
            quarry_debug_poison(QUARRY_DEBUG_OF(heap), block);
    }
    quarry_dispatch_free(&heap, block);
}

#endif
