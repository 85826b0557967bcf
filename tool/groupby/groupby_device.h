/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of `quarry groupby` share: pages, numbering.  For groupby_kernels.c and
 * groupby_heap_kernels.c. */
#ifndef QUARRY_TOOL_GROUPBY_DEVICE_H
#define QUARRY_TOOL_GROUPBY_DEVICE_H

#include "groupby/groupby_kernels.h"

SIMT_FN struct groupby_page *page_at(uint64_t address)
{
    return (struct groupby_page *)(uintptr_t)address;
}

SIMT_FN uint32_t *page_rows(struct groupby_page *page)
{
    return (uint32_t *)(page + 1);
}

SIMT_FN uint32_t filled(const struct groupby_job *job, const struct groupby_page *page)
{
    return page->count < job->capacity ? page->count : job->capacity;
}

SIMT_FN uint32_t listed_row(const struct groupby_job *job, uint64_t i)
{
    return job->list ? job->list[i] : (uint32_t)i;
}

/* The lanes of a warp that have a row where `left` rows remain. */
SIMT_FN uint32_t first_lanes(uint64_t left)
{
    return left < SIMT_LANES ? (1u << left) - 1u : SIMT_ALL_LANES;
}

/* Numbers for the lanes that want one: consecutive, from a counter.  All lanes of mask call. */
SIMT_FN uint32_t take(uint32_t mask, uint32_t *counter, int wants)
{
    uint32_t takers = simt_ballot(mask, wants);
    if (!takers)
        return 0;
    uint32_t first = 0;
    uint32_t leader = simt_ctz_u32(takers);
    if (simt_lane() == leader)
        first = simt_add_u32(counter, simt_popc_u32(takers), relaxed);
    return simt_shuffle_u32(mask, first, leader) + simt_rank(takers);
}

#endif
