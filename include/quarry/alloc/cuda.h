/* SPDX-License-Identifier: Apache-2.0 */
/* cuda: the platform's own allocator, for comparisons.  On a GPU the device malloc and free of the CUDA
 * toolkit (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"), on the CPU backend the C
 * library's.
 *
 * Nothing is added to either call.  So the heap's pool has nothing of this allocator, its blocks lie
 * elsewhere, and nobody counts them: no slots, no census, no reset, no debug mode, no find.  Its line in
 * list.def says so by QUARRY_HAS_PLATFORM_BLOCKS.  The layout's used_bytes are how much the platform's heap
 * must be able to hold (src/cuda/memory.c sees to it).
 *
 * Order.  What was written to a block before its free happens-before its reuse, says the platform. */
#ifndef QUARRY_ALLOC_CUDA_H
#define QUARRY_ALLOC_CUDA_H

#include "quarry/alloc/alloc.h"

#define QUARRY_CUDA_BLOCK_BYTES 96u /* what the toolkit may add to each block: an estimate */

struct quarry_cuda {
    uint64_t platform_bytes;
};

SIMT_FN void quarry_cuda_init(const struct quarry_cuda *h, uint64_t thread, uint64_t threads)
{
    (void)h;
    (void)thread;
    (void)threads;
}

/* Progress: the platform's. */
SIMT_FN void *quarry_cuda_malloc(const struct quarry_cuda *h, struct quarry_context *context, uint64_t bytes)
{
    (void)h;
    (void)context;
    return simt_malloc(bytes);
}

SIMT_FN void quarry_cuda_free(const struct quarry_cuda *h, void *block)
{
    (void)h;
    simt_free(block);
}

SIMT_FN enum quarry_place quarry_cuda_find(const struct quarry_cuda *h, const void *address,
                                           struct quarry_span *span)
{
    (void)h;
    (void)address;
    (void)span;
    return QUARRY_PLACE_FOREIGN;
}

SIMT_FN void quarry_cuda_census(const struct quarry_cuda *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    (void)h;
    (void)bytes;
    if (share->thread == 0)
        sum->slots = QUARRY_SLOTS_UNKNOWN;
}

#define quarry_cuda_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_cuda_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
/* `pages` blocks of a page should fit; without `pages`, the whole pool is the platform's heap. */
SIMT_HOST_FN enum quarry_layout_result quarry_cuda_layout(struct quarry_cuda *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_DEFAULT_PAGE_BYTES);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->most_pages = QUARRY_MAX_PAGES;
    if (l->pages > QUARRY_MAX_PAGES)
        return QUARRY_LAYOUT_PAGES;
    l->used_bytes = l->pages ? l->pages * (l->page_bytes + QUARRY_CUDA_BLOCK_BYTES) : l->bytes;
    if (l->used_bytes > l->bytes || l->used_bytes < l->page_bytes)
        return QUARRY_LAYOUT_POOL;
    if (!l->pages)
        l->pages = l->used_bytes / l->page_bytes;
    l->max_block = l->used_bytes;
    h->platform_bytes = l->used_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
