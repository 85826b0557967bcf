/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of C's allocation functions, on the device, and how much room there is.  Included by device.h.
 *
 * Scope, threads: as quarry_malloc and quarry_free.  Each counts what it can't give as quarry_malloc does:
 * `failed` for want of space, `refused` for what this heap can never give.
 *
 * An aligned block.  The allocator's blocks have an alignment of their own, handle.alignment: the power of
 * two that divides where the first begins and the distance from one to the next, at most 4096 or what the
 * heap's policy is.  For more, the block is larger than asked for and what the user gets begins inside it.  Then
 *
 *   the allocator   takes back the pages that the user's bytes don't touch (trim), and its free knows the
 *                   block by an address in its first page: handle.free_reach
 *   pieces          of a warp's block have a header that says where it begins: that moves along
 *   debug mode      finds the block that has the address */
#ifndef QUARRY_STANDARD_H
#define QUARRY_STANDARD_H

#include "quarry/allocate.h"
#include "quarry/core/layout.h"
#include "quarry/core/share.h"
#include "quarry/debug.h"
#include "quarry/dispatch.h"
#include "quarry/fixed.h"
#include "quarry/handle.h"
#include "quarry/policy.h"
#include "quarry/simt/simt.h"

/* Of a new block the user gets `bytes` bytes from the next multiple of `alignment` on.  They lie in it.  A
 * recording notes them before others can have what is trimmed off.  Returns their address. */
SIMT_FN void *quarry_block_align(struct quarry_handle heap, void *block, size_t alignment, size_t bytes)
{
    uint64_t gap = (0 - (uint64_t)(uintptr_t)block) & (alignment - 1);
    const int trims = !heap.debug && QUARRY_DISTRIBUTION_OF(heap) != QUARRY_DISTRIBUTION_NUMBER_warp;
    void *user;
    if (trims)
        user = (unsigned char *)block + gap;
    else if (heap.debug)
        user = quarry_debug_align(heap.debug, block, alignment, bytes);
    else
        user = quarry_pieces_move(block, gap);
    QUARRY_LOG(&heap, user, bytes);
    if (!trims)
        return user;
    struct quarry_span whole = {(unsigned char *)SIMT_NULL, 0};
    const int counts = QUARRY_IS_COMPOSED(heap) && QUARRY_TALLY_OF(heap.policy) != SIMT_NULL;
    if (counts)
        quarry_dispatch_find(&heap, block, &whole);
    quarry_dispatch_trim(&heap, block, user, bytes);
    if (counts)
        quarry_tally_trim(heap.policy, user, whole.bytes);
    return user;
}

/* As quarry_malloc, at a multiple of `alignment`.
 *   alignment  a power of two, in bytes; else NULL
 *   bytes      any number; need not be a multiple of alignment
 * Freed by quarry_free.
 *
 * With an alignment up to handle.alignment, which is at least 16, it gives every size that quarry_malloc gives, and
 * costs the same.  With more, the heap needs room for one block of bytes + alignment - handle.alignment, at most
 * max_block_bytes.  Whole pages of it that the user's bytes don't need are free again at once.  An allocator that
 * knows blocks by their first address only (handle.free_reach is 0; its page says so) gives NULL then, which counts
 * as refused. */
SIMT_FN void *quarry_aligned_alloc(struct quarry_handle heap, size_t alignment, size_t bytes)
{
    uint64_t more = alignment > heap.alignment ? alignment - heap.alignment : 0;
    int possible =
        alignment != 0 && (alignment & (alignment - 1)) == 0 && (more == 0 || heap.free_reach != 0);
    struct quarry_context context = quarry_context_make(0);
    size_t request = bytes;
    if (bytes != 0 && bytes <= heap.max_block) /* else NULL anyway */
        request = possible ? bytes + more : ~(size_t)0;
    void *block = quarry_malloc_unnoted(heap, &context, request);
    if (block && more != 0)
        return quarry_block_align(heap, block, alignment, bytes);
    if (bytes != 0)
        QUARRY_LOG(&heap, block, bytes);
    return block;
}

/* As quarry_malloc of count * size bytes, all 0.  A product that does not fit 64 bits is refused. */
SIMT_FN void *quarry_calloc(struct quarry_handle heap, size_t count, size_t size)
{
    size_t bytes = simt_mulhi_u64(count, size) ? ~(size_t)0 : count * size;
    void *block = quarry_malloc(heap, bytes);
    if (block)
        quarry_debug_fill((unsigned char *)block, bytes, 0);
    return block;
}

/* How many bytes from `block` on are the owner's.
 *   block  as for quarry_free
 * Returns at least the size that was asked for, and exactly that in debug mode; 0 for NULL, and from an
 * allocator that can't tell (its page says so). */
SIMT_FN size_t quarry_usable_size(struct quarry_handle heap, const void *block)
{
    struct quarry_span span;
    size_t bytes = 0;
    if (!block || !quarry_fits_or_tell(&heap))
        return 0;
    if (heap.debug)
        bytes = quarry_debug_usable(heap.debug, block);
    else if (QUARRY_DISTRIBUTION_OF(heap) == QUARRY_DISTRIBUTION_NUMBER_warp)
        bytes = quarry_pieces_room(block);
    else if (quarry_dispatch_find(&heap, block, &span) == QUARRY_PLACE_LIVE)
        bytes = span.bytes - (size_t)((const unsigned char *)block - span.begin);
    simt_note_usable(block, bytes);
    return bytes;
}

/* Copies between blocks, which are aligned to 16. */
SIMT_FN void quarry_block_copy(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    uint64_t i = 0;
    for (; i + sizeof(simt_raw) <= bytes; i += sizeof(simt_raw))
        *(simt_raw *)(void *)(to + i) = *(const simt_raw *)(const void *)(from + i);
    for (; i < bytes; i++)
        to[i] = from[i];
}

/* Changes the size of a block.
 *   block  as for quarry_free; NULL: as quarry_malloc(heap, bytes)
 *   bytes  0: as quarry_free(heap, block), and NULL
 * Returns `block` itself if quarry_usable_size of it is `bytes` or more.  Else it returns another block, aligned to
 * 16, with the content of `block`, which is free then.  NULL: there was no other, and `block` lives on unchanged.
 * An allocator whose quarry_usable_size is 0 changes no size: NULL for bytes other than 0. */
SIMT_FN void *quarry_realloc(struct quarry_handle heap, void *block, size_t bytes)
{
    if (!block)
        return quarry_malloc(heap, bytes);
    if (bytes == 0) {
        quarry_free(heap, block);
        return SIMT_NULL;
    }
    uint64_t usable = quarry_usable_size(heap, block);
    if (usable == 0) {
        if (heap.debug)
            quarry_free(heap, block); /* is no live block: recorded, nothing is freed */
        return SIMT_NULL;
    }
    if (bytes <= usable) {
        if (heap.debug)
            quarry_debug_shrink(heap.debug, block, bytes);
        return block;
    }
    void *moved = quarry_malloc(heap, bytes);
    if (moved) {
        quarry_block_copy((unsigned char *)moved, (const unsigned char *)block, usable);
        quarry_free(heap, block);
    }
    return moved;
}

/* How many more blocks of `bytes` bytes fit into the heap, each asked for by itself.
 * Returns what quarry_heap_slots says of an idle heap; 0 for 0 bytes and for more than any block has;
 * QUARRY_SLOTS_UNKNOWN from an allocator that counts none (quarry_allocator_info.counts_slots is 0).
 * Scope: a lane.  Lanes of a warp that ask together, of one heap for one size, share the work: it is the
 * whole map of the heap that is read. Threads: may run at the same time as any malloc and free.  If none
 * does, and those before happen-before this call, the answer is exact; but an allocator that puts off the
 * work of frees (quarry_allocator_info.defers_frees) may not yet count what was freed.  Otherwise each page
 * is counted as it was at some instant during the call: it may be a number that was right at no instant, and
 * promises nobody a block. Progress: waits for nobody but the lanes that it shares the work with. Source:
 * Eckert, mallocMC, section 4.3.5. */
SIMT_FN uint64_t quarry_available_slots(struct quarry_handle heap, size_t bytes)
{
    /* nvcc 13.0 gives `heap`, if its address goes out, the place of `sum`. */
    const struct quarry_handle copy = heap;
    struct quarry_census sum = {0, 0, 0, 0, 0, 0, 0};
    struct quarry_census_share share;
    if (bytes - 1 >= heap.max_block || !quarry_fits_or_tell(&copy))
        return 0;
    share.group = simt_match_u64(quarry_group(heap.counters, QUARRY_SITE_SLOTS), bytes);
    share.idle = 0;
    share.thread = simt_rank(share.group);
    share.threads = simt_popc_u32(share.group);
    simt_sync(share.group); /* what each of them has freed, all see */
    quarry_dispatch_census(&copy, heap.policy ? quarry_request_alone(heap.policy, bytes) : bytes, &share,
                           &sum);
    return simt_reduce_add_u64(share.group, sum.slots);
}

#endif
