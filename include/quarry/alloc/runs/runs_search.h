/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of a bitmap of runs: finds the last run of free pages, or proves that there is none.  Why that is a proof:
 * alloc/runs/runs_map.h, "Full heap". */
#ifndef QUARRY_ALLOC_RUNS_SEARCH_H
#define QUARRY_ALLOC_RUNS_SEARCH_H

#include "quarry/core/random.h"
#include "quarry/alloc/runs/runs_map.h"
#include "quarry/core/sweep.h"

/* What a lane of a sweep looks for. */
struct quarry_runs_need {
    const struct quarry_runs *map;
    uint32_t pages;
};

/* A sweep's part.  Its number: the claims begun in its counters; 0 for the words. */
SIMT_FN uint64_t quarry_runs_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                        uint32_t kind, uint32_t part, uint32_t size, uint32_t *page,
                                        int *dirty)
{
    const struct quarry_runs_need *need = (const struct quarry_runs_need *)heap;
    const struct quarry_runs *h = need->map;
    struct quarry_sweep_items of = quarry_sweep_cut(h->word_count, part, h->parts);
    uint32_t from = of.first;
    (void)r;
    if (kind != QUARRY_FLIGHTS_SPACE)
        return quarry_flights_begun(h->flights, group, part, h->parts, kind);
    while (from < of.end) {
        uint32_t mine = simt_reduce_min_u32(group, *page == QUARRY_NO_PAGE ? need->pages : QUARRY_NO_PAGE);
        uint32_t wanted = !*dirty && size < mine ? size : mine;
        uint32_t first =
            wanted == QUARRY_NO_PAGE ? QUARRY_NO_PAGE : quarry_runs_find_run(h, group, from, of.end, wanted);
        if (first == QUARRY_NO_PAGE)
            break;
        *dirty = 1;
        if (wanted < mine)
            continue; /* too short for the group, but others may want it */
        uint32_t takers = simt_ballot(group, *page == QUARRY_NO_PAGE && need->pages == mine);
        if (quarry_runs_claim(h, group, first, mine) && simt_lane() == simt_ctz_u32(takers))
            *page = first;
        from = first / QUARRY_RUNS_BITS > from ? first / QUARRY_RUNS_BITS : from;
    }
    return 0;
}

/* For the lanes of the group whose walk ended in vain: `page` is QUARRY_NO_PAGE.  Returns the first page of a
 * run of `pages` pages, or QUARRY_NO_PAGE, if at some instant there was none or that is to be inferred.
 * Scope: group; reconverged at return. */
SIMT_FN uint32_t quarry_runs_search(const struct quarry_runs *h, struct quarry_random *r, uint32_t group,
                                    uint32_t page, uint32_t pages)
{
    struct quarry_runs_need need;
    struct quarry_sweep_plan plan;
    if (h->parts == 0)
        return page;
    need.map = h;
    need.pages = pages;
    plan.sweep = h->sweep;
    plan.heap = &need;
    plan.sweep_part = quarry_runs_sweep_part;
    plan.parts = h->parts;
    plan.kinds = QUARRY_FLIGHTS_PASSES;
    plan.size = pages;
    plan.news = SIMT_NULL;
    plan.in_order = 0;
    return quarry_sweep_search(&plan, r, group, page);
}

#endif
