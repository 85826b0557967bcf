/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/runs_kernels.h"

SIMT_KERNEL(runs_ask, struct runs_case, a)
{
    struct runs_question *q = a.question + simt_block();
    uint32_t group = SIMT_ALL_LANES >> (SIMT_LANES - q->width), answer, first;
    if (simt_lane() >= q->width)
        return;
    answer = quarry_runs_find_run(&a.heap.as.runs, group, q->from, q->to, q->pages);
    first = simt_shuffle_u32(group, answer, 0);
    if (answer != first)
        simt_add_u32(&q->unlike, 1, relaxed);
    if (simt_lane() == 0)
        q->answer = answer;
}

SIMT_KERNEL(runs_locate, struct runs_case, a)
{
    const struct quarry_pages *pages = &a.heap.as.runs.pages;
    for (uint32_t i = simt_thread(); i < a.pages; i += simt_threads()) {
        struct quarry_span span = {pages->base, 0};
        a.place[i].place =
            (uint32_t)quarry_runs_find(&a.heap.as.runs, pages->base + i * pages->page_bytes, &span);
        a.place[i].begin = (uint64_t)(span.begin - pages->base);
        a.place[i].bytes = span.bytes;
    }
}

SIMT_KERNEL(runs_malloc, struct runs_case, a)
{
    const struct quarry_pages *pages = &a.heap.as.runs.pages;
    uint32_t lane = simt_lane();
    void *block = SIMT_NULL;
    if (a.asked[lane] != 0)
        block = quarry_malloc(a.heap, a.asked[lane] * pages->page_bytes);
    a.first[lane] = block ? quarry_page_index(pages, block) : QUARRY_NO_PAGE;
}

SIMT_KERNEL(runs_count, struct runs_case, a)
{
    struct quarry_census_share share = {SIMT_ALL_LANES, 1, simt_thread(), simt_threads()};
    struct quarry_census sum = {0, 0, 0, 0, 0, 0, 0};
    quarry_runs_census(&a.heap.as.runs, a.bytes, &share, &sum);
    simt_add_u64(&a.sum->live_blocks, sum.live_blocks, relaxed);
    simt_add_u64(&a.sum->live_bytes, sum.live_bytes, relaxed);
    simt_add_u64(&a.sum->free_bytes, sum.free_bytes, relaxed);
    simt_max_u64(&a.sum->largest_free, sum.largest_free, relaxed);
    simt_add_u64(&a.sum->slots, sum.slots, relaxed);
    simt_add_u64(&a.sum->faults, sum.faults, relaxed);
}
