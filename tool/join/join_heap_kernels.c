/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry join` whose matches go to pages from the heap.  Compiled for the CPU and for CUDA,
 * once for each allocator; join_kernels.h has the method.
 *
 * Order.  A thread's pages and its entries in counts and heads are its own while the probe runs, and the next
 * kernel reads them: no atomic is needed to find all pages.  (One list of all, pushed with a
 * compare-exchange, would have every thread contend for one word.)
 *
 * Togetherness.  The lanes of a warp go from match to match in step: each looks for its next one, they vote
 * whether any has found one, and those that have and need a page ask for it at one place, so that a
 * collaborative allocator gets whole warps.  A lane without a match asks for nothing.
 *
 * Masks.  The lanes of a warp enter and leave every loop with a collective together. */
#include "join/join_probe.h"
#include "recorded.h"

/* Where a thread writes. */
struct sink {
    uint64_t *page; /* the current one; NULL: none yet */
    uint32_t used;  /* matches in it; the capacity if there is none */
    uint64_t count; /* of the thread */
};

/* Gives the calling thread an empty page.  Returns 0 if the heap has none. */
SIMT_FN int next_page(const struct join_job *job, struct sink *sink)
{
    uint64_t *page = (uint64_t *)SIMT_NULL;
    /* A malloc that fails has swept the heap; others need not do so again. */
    if (!simt_load_u32(&job->state->failed, relaxed))
        page = (uint64_t *)recorded_malloc(job->heap, job->page_bytes);
    if (!page) {
        simt_store_u32(&job->state->failed, 1, relaxed);
        return 0;
    }
    page[0] = (uint64_t)(uintptr_t)sink->page;
    sink->page = page;
    sink->used = 0;
    return 1;
}

EACH_KERNEL(join_collect, struct join_job, a)
{
    struct join_hash_table *table = (struct join_hash_table *)simt_shared();
    struct sink sink;
    sink.page = (uint64_t *)SIMT_NULL;
    sink.used = a.capacity;
    sink.count = 0;
    for (uint64_t i = simt_block(); i < a.item_count; i += simt_blocks()) {
        const struct join_item item = a.items[i];
        uint32_t tuples = item.probe_end - item.probe_begin;
        uint64_t ahead = probe_tuple(&a, &item, simt_block_thread());
        build_table(&a, &item, table);
        for (uint32_t j = simt_block_thread(); j - simt_lane() < tuples; j += JOIN_BLOCK) {
            uint64_t probe = ahead;
            uint32_t entry = j < tuples ? *chain_of(table, probe) : 0;
            ahead = probe_tuple(&a, &item, j + JOIN_BLOCK);
            for (;;) {
                entry = next_match(&a, table, entry, probe);
                if (!simt_any(SIMT_ALL_LANES, entry != 0))
                    break;
                if (entry && sink.used == a.capacity && !next_page(&a, &sink))
                    entry = 0;
                if (entry) {
                    sink.page[1 + sink.used++] = match_of(&a, table->tuples[entry - 1], probe);
                    sink.count++;
                    entry = table->next[entry - 1];
                }
            }
        }
    }
    a.counts[simt_thread()] = sink.count;
    a.heads[simt_thread()] = (uint64_t)(uintptr_t)sink.page;
    uint64_t matches = simt_reduce_add_u64(SIMT_ALL_LANES, sink.count);
    uint64_t pages = simt_reduce_add_u64(SIMT_ALL_LANES, (sink.count + a.capacity - 1) / a.capacity);
    if (simt_lane() == 0 && matches) {
        simt_add_u64(&a.state->matches, matches, relaxed);
        simt_add_u64(&a.state->pages, pages, relaxed);
    }
}

/* Each lane follows the pages of one thread, from the last to the first, and all lanes copy each of the
 * warp's 32 pages together.  All pages but a thread's last are full. */
EACH_KERNEL(join_gather, struct join_job, a)
{
    uint32_t lane = simt_lane();
    for (uint64_t i = simt_thread(); i - lane < a.threads; i += simt_threads()) {
        uint64_t page = 0;
        uint64_t end = 0; /* where the matches of this page and those before it end */
        uint32_t count = 0;
        if (i < a.threads) {
            page = a.heads[i];
            end = a.counts[i + 1];
            if (page)
                count = (uint32_t)((end - a.counts[i] - 1) % a.capacity) + 1;
        }
        while (simt_any(SIMT_ALL_LANES, page != 0)) {
            for (uint32_t k = 0; a.matches && k < SIMT_LANES; k++) {
                uint32_t have = simt_shuffle_u32(SIMT_ALL_LANES, count, k);
                if (!have)
                    continue;
                const uint64_t *from = (const uint64_t *)(uintptr_t)simt_shuffle_u64(SIMT_ALL_LANES, page, k);
                uint64_t to = simt_shuffle_u64(SIMT_ALL_LANES, end, k) - have;
                for (uint32_t j = lane; j < have; j += SIMT_LANES)
                    a.matches[to + j] = from[1 + j];
            }
            /* Every lane's reads of a page come before its free. */
            simt_sync(SIMT_ALL_LANES);
            if (page) {
                uint64_t previous = *(const uint64_t *)(uintptr_t)page;
                recorded_free(a.heap, (void *)(uintptr_t)page);
                page = previous;
                end -= count;
                count = page ? a.capacity : 0;
            }
        }
    }
}

#if SIMT_C_VIEW
const struct join_heap_kernels EACH_NAME(join_heap_kernels) = {
    &EACH_NAME(join_collect),
    &EACH_NAME(join_gather),
};
#endif
