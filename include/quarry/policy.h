/* SPDX-License-Identifier: Apache-2.0 */
/* What a malloc and a free of a heap do beside the allocator's, by the heap's policies.
 * docs/reference/policies.md is for users.
 *
 * allocate.h calls the allocator in one place only.  A heap that is not all defaults takes two steps around it:
 *
 *     asks = quarry_request_begin(...)           or another lane asks for this one
 *     do  block = asks ? allocator's malloc : NULL
 *     while (quarry_request_go_on(...))          the user's block, or another try
 *
 * Policies are the heap's own: functions that are not inlined read them from the pool.  Or they are fixed when
 * the kernel is compiled, by any of
 *
 *     QUARRY_ALIGNMENT       a number; 16 unless defined
 *     QUARRY_DISTRIBUTION    none or warp; none unless defined
 *     QUARRY_OOM             null, wait, trap or hook; null unless defined
 *
 * Then every heap passed in must have exactly these policies, and neither be in debug mode nor count; fixed.h says
 * what happens to others.  That is inlined, and leaves nothing where nothing is to be done.
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

/* Requests are counted by their size: class i has those of up to QUARRY_TALLY_LEAST << i bytes, the last one all
 * that are larger. */
#define QUARRY_TALLY_CLASSES 32u
#define QUARRY_TALLY_LEAST 16u

/* What a heap that counts has in its pool.  Blocks and bytes are the allocator's, as find tells them, without what
 * policies and debug mode add.  Counters change by relaxed atomics. */
struct quarry_tally {
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_blocks; /* the most that live_blocks was */
    uint64_t peak_bytes;
    uint64_t total_blocks; /* allocated so far */
    uint64_t total_bytes;
    uint64_t mallocs[QUARRY_TALLY_CLASSES]; /* requests that were served */
    uint64_t failed[QUARRY_TALLY_CLASSES];  /* that were not, for want of space */
};

/* What a heap that is not all defaults has in its pool.  Nothing changes. */
struct quarry_policy {
    struct quarry_handle heap; /* a copy, so that an address is all that malloc and free pass on */
    uint32_t combined;         /* bytes of a combined block, at most; below 2^32 */
    uint32_t oom_tries;        /* wait: how often a malloc tries again */
    struct quarry_trap *trap;  /* trap: its record */
    unsigned char *places;     /* where blocks lie */
    uint64_t places_bytes;
    struct quarry_tally *tally; /* what the heap has done so far, if it counts that; else NULL */
    uint64_t overhead;          /* bytes of each of the allocator's blocks that are not the user's */
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

/* ---- counting ---- */

/* Counts one of the allocator's blocks, which is the caller's, that came from its malloc (`more`), or that goes to
 * its free.  Live blocks are counted after the malloc and before the free, so that the peak is one that was. */
SIMT_NOINLINE_FN void quarry_tally_block(const struct quarry_policy *p, const void *block, int more)
{
    struct quarry_tally *tally = p->tally;
    struct quarry_span span = {(unsigned char *)SIMT_NULL, 0};
    uint64_t bytes, live;
    if (quarry_dispatch_find(&p->heap, block, &span) != QUARRY_PLACE_LIVE)
        return; /* frees of what is no block are for debug mode */
    bytes = span.bytes - p->overhead;
    if (more) {
        simt_add_u64(&tally->total_blocks, 1, relaxed);
        simt_add_u64(&tally->total_bytes, bytes, relaxed);
        live = simt_add_u64(&tally->live_blocks, 1, relaxed) + 1;
        simt_max_u64(&tally->peak_blocks, live, relaxed);
        live = simt_add_u64(&tally->live_bytes, bytes, relaxed) + bytes;
        simt_max_u64(&tally->peak_bytes, live, relaxed);
    } else {
        simt_sub_u64(&tally->live_blocks, 1, relaxed);
        simt_sub_u64(&tally->live_bytes, bytes, relaxed);
    }
}

/* An aligned block of the caller's has given back what its user does not need: it had `bytes` bytes.
 *   user  an address in it */
SIMT_NOINLINE_FN void quarry_tally_trim(const struct quarry_policy *p, const void *user, uint64_t bytes)
{
    struct quarry_span span = {(unsigned char *)SIMT_NULL, 0};
    quarry_dispatch_find(&p->heap, user, &span);
    simt_sub_u64(&p->tally->total_bytes, bytes - span.bytes, relaxed);
    simt_sub_u64(&p->tally->live_bytes, bytes - span.bytes, relaxed);
}

/* Counts a request of `bytes` bytes, at least 1, that got a block or did not. */
SIMT_NOINLINE_FN void quarry_tally_request(struct quarry_tally *tally, uint64_t bytes, int served)
{
    uint32_t i = 0;
    while (i + 1u < QUARRY_TALLY_CLASSES && bytes > (uint64_t)QUARRY_TALLY_LEAST << i)
        i++;
    simt_add_u64(served ? &tally->mallocs[i] : &tally->failed[i], 1, relaxed);
}

/* ---- the heap's policies, or those that the kernel is compiled for ---- */

#ifdef QUARRY_FIXED_POLICIES
#define QUARRY_POLICY_FN SIMT_FN
#define QUARRY_ALIGNMENT_OF(handle) QUARRY_ALIGNMENT
#define QUARRY_DISTRIBUTION_OF(handle) QUARRY_FIXED_DISTRIBUTION
#define QUARRY_OOM_OF(handle) QUARRY_FIXED_OOM
#define QUARRY_DEBUG_OF(handle) ((struct quarry_debug *)SIMT_NULL)
#define QUARRY_TALLY_OF(policy) ((struct quarry_tally *)SIMT_NULL)
#define QUARRY_IS_COMPOSED(handle)                                                                           \
    (QUARRY_ALIGNMENT > 16 || QUARRY_FIXED_DISTRIBUTION != QUARRY_DISTRIBUTION_NUMBER_none ||                \
     QUARRY_FIXED_OOM != QUARRY_OOM_NUMBER_null)
#else
#define QUARRY_POLICY_FN SIMT_NOINLINE_FN
#define QUARRY_ALIGNMENT_OF(handle) ((handle).shrink)
#define QUARRY_DISTRIBUTION_OF(handle) ((handle).distribution)
#define QUARRY_OOM_OF(handle) ((handle).oom)
#define QUARRY_DEBUG_OF(handle) ((handle).debug)
#define QUARRY_TALLY_OF(policy) ((policy)->tally)
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
    if (block && QUARRY_TALLY_OF(p))
        quarry_tally_block(p, block, 1);
    if (request->pieces.lanes) {
        request->block = quarry_pieces_deal(&request->pieces, block);
        request->pieces.lanes = 0;
        request->ask = quarry_request_alone(p, request->bytes);
        if (!request->block)
            return 1;
    } else {
        if (!block && quarry_request_insists(p, request))
            return 1;
        if (block && QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
            block = quarry_pieces_single(block, request->bytes, QUARRY_ALIGNMENT_OF(p->heap));
        request->block = block;
    }
    if (QUARRY_TALLY_OF(p))
        quarry_tally_request(QUARRY_TALLY_OF(p), request->bytes, request->block != SIMT_NULL);
    return 0;
}

/* ---- free ---- */

/* What a free does first.
 *   block  the user's, not NULL
 * Returns the block that the allocator is to free, which is the caller's then; NULL: others live in it, or it is
 * none. */
QUARRY_POLICY_FN void *quarry_policy_release(const struct quarry_policy *p, void *block)
{
    if (QUARRY_DISTRIBUTION_OF(p->heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        block = quarry_pieces_release(block, p->places, p->places_bytes);
    else if (QUARRY_DEBUG_OF(p->heap))
        block = quarry_debug_claim(QUARRY_DEBUG_OF(p->heap), block);
    if (block && QUARRY_TALLY_OF(p))
        quarry_tally_block(p, block, 0);
    return block;
}

#endif
