/* SPDX-License-Identifier: Apache-2.0 */
/* What a malloc and a free of a heap do beside the allocator's, by the heap's policies.  docs/policies.md is
 * for users.
 *
 * device.h calls the allocator in one place only; a heap that is not all defaults takes two steps around it:
 *
 *     ask = quarry_request_begin(...)            bytes to ask for, 0: another lane asks
 *     do  block = allocator's malloc(ask)
 *     while (quarry_request_go_on(...))          the user's block, or another try
 *
 * Policies are the heap's own, read from the pool by functions that are not inlined.  Or they are fixed when
 * the kernel is compiled, by any of
 *
 *     QUARRY_ALIGNMENT       a number; 16 unless defined
 *     QUARRY_DISTRIBUTION    none or warp; none unless defined
 *
 * and then every heap passed in must have these, all of them, and not be in debug mode.  That is inlined, and
 * leaves nothing where nothing is to be done. */
#ifndef QUARRY_POLICY_H
#define QUARRY_POLICY_H

#include "quarry/core/pieces.h"
#include "quarry/core/share.h"
#include "quarry/debug.h"
#include "quarry/handle.h"
#include "quarry/simt/simt.h"

#define QUARRY_POLICY_PASTE_(a, b) a##b
#define QUARRY_POLICY_PASTE(a, b) QUARRY_POLICY_PASTE_(a, b)

/* What a heap that is not all defaults has in its pool.  Nothing changes. */
struct quarry_policy {
    struct quarry_handle heap; /* a copy, so that an address is all that malloc and free pass on */
    uint32_t combined;         /* bytes of a combined block, at most; below 2^32 */
};

/* A malloc under way. */
struct quarry_request {
    uint64_t bytes; /* that the user asked for */
    uint64_t ask;   /* for so many the allocator is to be asked, unless another lane asks */
    void *block;    /* the user's, or NULL; when the request is done */
    struct quarry_pieces pieces;
};

/* Counts a NULL, once for all lanes that fail together with the same heap. */
SIMT_FN void quarry_null_count(uint64_t *counter, uint64_t *last_bytes, uint64_t bytes)
{
    uint32_t group = quarry_group((uintptr_t)counter);
    if (simt_rank(group) == 0) {
        simt_add_u64(counter, simt_popc_u32(group), relaxed);
        simt_store_u64(last_bytes, bytes, relaxed);
    }
}

/* ---- the heap's policies, or those that the kernel is compiled for ---- */

#if defined(QUARRY_ALIGNMENT) || defined(QUARRY_DISTRIBUTION)
#ifndef QUARRY_ALIGNMENT
#define QUARRY_ALIGNMENT 16
#endif
#ifndef QUARRY_DISTRIBUTION
#define QUARRY_DISTRIBUTION none
#endif
#define QUARRY_FIXED_DISTRIBUTION QUARRY_POLICY_PASTE(QUARRY_DISTRIBUTION_NUMBER_, QUARRY_DISTRIBUTION)
#define QUARRY_POLICY_FN SIMT_FN
#define QUARRY_ALIGNMENT_OF(handle) QUARRY_ALIGNMENT
#define QUARRY_DISTRIBUTION_OF(handle) QUARRY_FIXED_DISTRIBUTION
#define QUARRY_DEBUG_OF(handle) ((struct quarry_debug *)SIMT_NULL)
#define QUARRY_IS_COMPOSED(handle)                                                                           \
    (QUARRY_ALIGNMENT > 16 || QUARRY_DISTRIBUTION_OF(handle) != QUARRY_DISTRIBUTION_NUMBER_none)
#define QUARRY_IS_AS_FIXED(handle)                                                                           \
    ((handle).shrink == QUARRY_ALIGNMENT && (handle).distribution == QUARRY_DISTRIBUTION_OF(handle) &&       \
     !(handle).debug)
#else
#define QUARRY_POLICY_FN SIMT_NOINLINE_FN
#define QUARRY_ALIGNMENT_OF(handle) ((handle).shrink)
#define QUARRY_DISTRIBUTION_OF(handle) ((handle).distribution)
#define QUARRY_DEBUG_OF(handle) ((handle).debug)
#define QUARRY_IS_COMPOSED(handle)                                                                           \
    ((handle).policy != SIMT_NULL)   /* is there anything to do but the allocator's? */
#define QUARRY_IS_AS_FIXED(handle) 1 /* are the policies those of the compiler? */
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
    request->pieces.lanes = 0;
    if (QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        request->pieces =
            quarry_pieces_collect((uintptr_t)p, bytes, QUARRY_ALIGNMENT_OF(p->heap), p->combined);
    request->ask = request->pieces.lanes ? request->pieces.total : quarry_request_alone(p, bytes);
    return !request->pieces.lanes || simt_lane() == request->pieces.leader;
}

/* Goes on with what the allocator returned.
 *   block  that, or NULL
 * Returns whether the allocator is to be asked again, for request->ask bytes: for the piece alone, if the
 * combined block was not to be had.  Otherwise the request is done, and counted if it failed. */
QUARRY_POLICY_FN int quarry_request_go_on(const struct quarry_policy *p, struct quarry_request *request,
                                          void *block)
{
    if (request->pieces.lanes) {
        request->block = quarry_pieces_deal(&request->pieces, block);
        request->pieces.lanes = 0;
        request->ask = quarry_request_alone(p, request->bytes);
        return !request->block;
    }
    if (!block)
        quarry_null_count(&p->heap.counters->failed, &p->heap.counters->last_bytes, request->bytes);
    else if (QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        block = quarry_pieces_single(block, request->bytes, QUARRY_ALIGNMENT_OF(p->heap));
    request->block = block;
    return 0;
}

/* ---- free ---- */

/* Gives a piece back.  Returns the block that the allocator is to free, or NULL: others live in it. */
QUARRY_POLICY_FN void *quarry_policy_release(void *piece)
{
    return quarry_pieces_release(piece);
}

#endif
