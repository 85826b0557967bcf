/* SPDX-License-Identifier: Apache-2.0 */
/* null: an allocator that never has a page.  For tests of what programs do then.
 *
 * It lays out a heap like any other, so that creation succeeds and everything that the host asks has an
 * answer; the heap is full from the beginning. */
#ifndef QUARRY_TESTS_ALLOC_NULL_H
#define QUARRY_TESTS_ALLOC_NULL_H

#include "quarry/alloc/alloc.h"

struct quarry_null {
    uint64_t pages; /* that it claims to have */
};

SIMT_FN void quarry_null_init(const struct quarry_null *h, uint64_t thread, uint64_t threads)
{
    (void)h;
    (void)thread;
    (void)threads;
}

SIMT_FN void *quarry_null_malloc(const struct quarry_null *h, struct quarry_context *context, uint64_t bytes)
{
    (void)h;
    (void)context;
    (void)bytes;
    return SIMT_NULL;
}

SIMT_FN void quarry_null_free(const struct quarry_null *h, void *block)
{
    (void)h;
    (void)block;
}

SIMT_FN enum quarry_place quarry_null_find(const struct quarry_null *h, const void *address,
                                           struct quarry_span *span)
{
    (void)h;
    (void)address;
    (void)span;
    return QUARRY_PLACE_FOREIGN;
}

SIMT_FN void quarry_null_census(const struct quarry_null *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    (void)h;
    (void)bytes;
    (void)share;
    (void)sum;
}

#if SIMT_HAS_HOST
SIMT_HOST_FN enum quarry_layout_result quarry_null_layout(struct quarry_null *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_DEFAULT_PAGE_BYTES);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    if (l->pages > QUARRY_MAX_PAGES)
        return QUARRY_LAYOUT_PAGES;
    uint64_t fit = l->bytes / l->page_bytes;
    if (l->pages == 0)
        l->pages = fit < QUARRY_MAX_PAGES ? fit : QUARRY_MAX_PAGES;
    if (l->pages == 0 || l->pages > fit)
        return QUARRY_LAYOUT_POOL;
    h->pages = l->pages;
    l->used_bytes = l->pages * l->page_bytes;
    l->max_block = l->page_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
