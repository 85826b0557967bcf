/* SPDX-License-Identifier: Apache-2.0 */
/* null: an allocator that never has a page.  For tests of what programs do then.
 *
 * It lays out a heap like any other, so that creation succeeds and everything that the host asks has an
 * answer; the heap is full from the beginning. */
#ifndef QUARRY_TESTS_ALLOC_NULL_H
#define QUARRY_TESTS_ALLOC_NULL_H

#include "quarry/alloc/alloc.h"

struct quarry_null {
    uint32_t multiprocessors; /* that the layout was told of */
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

#define quarry_null_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_null_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_null_sections(void *heap, struct quarry_layout *l)
{
    (void)heap;
    (void)quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_null_layout(struct quarry_null *h, struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_fit(l, quarry_null_sections, h);
    h->multiprocessors = l->multiprocessors;
    return result;
}
#endif

#endif
