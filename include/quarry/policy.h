/* SPDX-License-Identifier: Apache-2.0 */
/* What a malloc and a free of a heap do beside the allocator's, by the heap's policies.
 * docs/reference/policies.md is for users.
 *
 * device.h calls the allocator in one place only; a heap that is not all defaults takes two steps around it:
 *
 *     asks = quarry_request_begin(...)           or another lane asks for this one
 *     do  block = asks ? allocator's malloc : NULL
 *     while (quarry_request_go_on(...))          the user's block, or another try
 *
 * Policies are the heap's own, read from the pool by functions that are not inlined.  Or they are fixed when
 * the kernel is compiled, by any of
 *
 *     QUARRY_ALIGNMENT       a number; 16 unless defined
 *     QUARRY_DISTRIBUTION    none or warp; none unless defined
 *     QUARRY_OOM             null, wait, trap or hook; null unless defined
 *
 * and then every heap passed in must have these, all of them, and not be in debug mode (fixed.h says what
 * happens else).  That is inlined, and leaves nothing where nothing is to be done.
 *
 * QUARRY_OOM_HOOK, if defined, names the function that a malloc calls for want of space, if the heap's policy
 * is QUARRY_OOM_CALL.  It must be declared before device.h is included (handle.h has the struct); a kernel
 * compiled without it returns NULL there.
 *
 *     SIMT_FN int hook(struct quarry_handle heap, size_t bytes, uint32_t tries);
 *
 *     bytes    that the malloc could not get
 *     tries    how often it has tried, 1 and more
 *     result   whether it is to try again
 *
 * The lanes that failed call it, divergent, while other mallocs and frees run.  It may free blocks of the
 * heap, but not allocate from it. */
#ifndef QUARRY_POLICY_H
#define QUARRY_POLICY_H

#include "quarry/core/pieces.h"
#include "quarry/core/share.h"
#include "quarry/debug.h"
#include "quarry/fixed.h"
#include "quarry/handle.h"
#include "quarry/simt/simt.h"

/* What mallocs that trap leave to the host, in memory of the host's: all that is left of a CUDA context. */
struct quarry_trap {
    uint64_t count; /* of those that came so far: at least one */
    uint64_t bytes; /* that one of them asked for */
};

/* What a heap that is not all defaults has in its pool.  Nothing changes. */
struct quarry_policy {
    struct quarry_handle heap; /* a copy, so that an address is all that malloc and free pass on */
    uint32_t combined;         /* bytes of a combined block, at most; below 2^32 */
    uint32_t oom_tries;        /* wait: how often a malloc tries again */
    struct quarry_trap *trap;  /* trap: its record */
    unsigned char *places;     /* where blocks lie */
    uint64_t places_bytes;
};

/* A malloc under way. */
struct quarry_request {
    uint64_t bytes; /* that the user asked for */
    uint64_t ask;   /* for so many the allocator is to be asked, unless another lane asks */
    void *block;    /* the user's, or NULL; when the request is done */
    uint32_t tries; /* in vain */
    struct quarry_pieces pieces;
};

/* Counts a NULL, once for all lanes that fail together with the same heap. */
SIMT_FN void quarry_null_count(uint64_t *counter, uint64_t *last_bytes, uint64_t bytes)
{
    uint32_t group = quarry_group(counter, QUARRY_SITE_NULL_COUNT);
    if (simt_rank(group) == 0) {
        simt_add_u64(counter, simt_popc_u32(group), relaxed);
        simt_store_u64(last_bytes, bytes, relaxed);
    }
}

/* ---- the heap's policies, or those that the kernel is compiled for ---- */

#ifdef QUARRY_FIXED_POLICIES
#define QUARRY_POLICY_FN SIMT_FN
#define QUARRY_ALIGNMENT_OF(handle) QUARRY_ALIGNMENT
#define QUARRY_DISTRIBUTION_OF(handle) QUARRY_FIXED_DISTRIBUTION
#define QUARRY_OOM_OF(handle) QUARRY_FIXED_OOM
#define QUARRY_DEBUG_OF(handle) ((struct quarry_debug *)SIMT_NULL)
#define QUARRY_IS_COMPOSED(handle)                                                                           \
    (QUARRY_ALIGNMENT > 16 || QUARRY_FIXED_DISTRIBUTION != QUARRY_DISTRIBUTION_NUMBER_none ||                \
     QUARRY_FIXED_OOM != QUARRY_OOM_NUMBER_null)
#else
#define QUARRY_POLICY_FN SIMT_NOINLINE_FN
#define QUARRY_ALIGNMENT_OF(handle) ((handle).shrink)
#define QUARRY_DISTRIBUTION_OF(handle) ((handle).distribution)
#define QUARRY_OOM_OF(handle) ((handle).oom)
#define QUARRY_DEBUG_OF(handle) ((handle).debug)
#define QUARRY_IS_COMPOSED(handle)                                                                           \
    ((handle).policy != SIMT_NULL) /* is there anything to do but the allocator's? */
#endif

/* ---- malloc ---- */

/* Bytes to ask the allocator for, if a request is not combined. */
SIMT_FN uint64_t quarry_request_alone(const struct quarry_policy *p, uint64_t bytes)
{
    (void)p;
    if (QUARRY_DEBUG_OF(p->heap))
        return bytes + QUARRY_DEBUG_OVERHEAD;
    if (QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        return quarry_pieces_alone(bytes, QUARRY_ALIGNMENT_OF(p->heap));
    return quarry_pieces_round_up(bytes, QUARRY_ALIGNMENT_OF(p->heap));
}

/* Begins the caller's request.
 *   bytes  1 .. max_block
 * Returns whether the caller is to ask the allocator, for request->ask bytes; else another lane asks. */
QUARRY_POLICY_FN int quarry_request_begin(const struct quarry_policy *p, struct quarry_request *request,
                                          uint64_t bytes)
{
    request->bytes = bytes;
    request->tries = 0;
    request->pieces.lanes = 0;
    if (QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        request->pieces = quarry_pieces_collect(p, bytes, QUARRY_ALIGNMENT_OF(p->heap), p->combined);
    request->ask = request->pieces.lanes ? request->pieces.total : quarry_request_alone(p, bytes);
    return !request->pieces.lanes || simt_lane() == request->pieces.leader;
}

/* Nothing was to be had.  Returns whether to try again. */
SIMT_FN int quarry_request_insists(const struct quarry_policy *p, struct quarry_request *request)
{
    uint32_t tries = ++request->tries;
    switch (QUARRY_OOM_OF(p->heap)) {
    case QUARRY_OOM_NUMBER_wait:
        /* No deadlock if nobody frees, for it ends: a look at the clock says so to the CPU backend. */
        (void)simt_clock();
        simt_backoff();
        return tries <= p->oom_tries;
    case QUARRY_OOM_NUMBER_trap:
        simt_store_u64(&p->trap->bytes, request->bytes, relaxed);
        simt_add_u64(&p->trap->count, 1, relaxed);
        simt_trap("the heap is full, and its mallocs are to trap then");
        return 0;
    case QUARRY_OOM_NUMBER_hook:
#ifdef QUARRY_OOM_HOOK
        return QUARRY_OOM_HOOK(p->heap, request->bytes, tries);
#else
        return 0;
#endif
    default:
        (void)p;
        (void)tries;
        return 0;
    }
}

/* Goes on with what the allocator returned.
 *   block  that, or NULL
 * Returns whether the allocator is to be asked again, for request->ask bytes: for the piece alone, if the
 * combined block was not to be had, or because the heap's policy is to insist.  Otherwise the request is
 * done. */
QUARRY_POLICY_FN int quarry_request_go_on(const struct quarry_policy *p, struct quarry_request *request,
                                          void *block)
{
    if (request->pieces.lanes) {
        request->block = quarry_pieces_deal(&request->pieces, block);
        request->pieces.lanes = 0;
        request->ask = quarry_request_alone(p, request->bytes);
        return !request->block;
    }
    if (!block && quarry_request_insists(p, request))
        return 1;
    if (block && QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        block = quarry_pieces_single(block, request->bytes, QUARRY_ALIGNMENT_OF(p->heap));
    request->block = block;
    return 0;
}

/* ---- free ---- */

/* Gives a piece back.  Returns the block that the allocator is to free, or NULL: others live in it. */
QUARRY_POLICY_FN void *quarry_policy_release(const struct quarry_policy *p, void *piece)
{
    return quarry_pieces_release(piece, p->places, p->places_bytes);
}

#endif
