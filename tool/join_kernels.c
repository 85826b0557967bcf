/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry join`.  Compiled for the CPU and for CUDA; join_kernels.h has the method.
 *
 * Order.  A thread's pages and its entries in counts and heads are its own while the probe runs, and the next
 * kernel reads them: no atomic is needed to find all pages.  (One list of all, pushed with a
 * compare-exchange, would have every thread contend for one word.)  A block's hash table is built between two
 * barriers.
 *
 * Togetherness.  The lanes of a warp go from match to match in step: each looks for its next one, they vote
 * whether any has found one, and those that have and need a page ask for it at one place, so that a
 * collaborative allocator gets whole warps.  A lane without a match asks for nothing.
 *
 * Latency.  A thread loads its next probe tuple before it works on one, and its build tuples all at once
 * (appendix B: many values into registers).
 *
 * Masks.  The lanes of a warp enter and leave every loop with a collective together. */
#include "join_kernels.h"

#include "quarry/core/random.h"

SIMT_FN uint32_t hash_of(uint64_t tuple)
{
    return (uint32_t)(tuple >> 32);
}

SIMT_FN uint32_t row_of(uint64_t tuple)
{
    return (uint32_t)tuple;
}

/* ---- hash ---- */

SIMT_FN uint32_t hash_row(const struct join_hash *a, uint32_t row)
{
    if (!a->keys.integers)
        return (uint32_t)(key_hash(&a->keys.text, row, a->seeds) >> 32);
    uint64_t number = a->keys.integers[row];
    if (a->one_to_one)
        return quarry_mix_u32((uint32_t)number);
    return quarry_mix_u32((uint32_t)(key_fold(number ^ a->seeds[0], a->seeds[1] | 1) >> 32));
}

SIMT_KERNEL(join_hash, struct join_hash, a)
{
    for (uint64_t row = simt_thread(); row < a.rows; row += simt_threads())
        a.tuples[row] = (uint64_t)(hash_row(&a, (uint32_t)row) & a.hash_mask) << 32 | row;
}

/* ---- plan ---- */

/* The first tuple whose hash is at least `hash`.  The tuples before must have smaller ones, and those from
 * there on none that is. */
SIMT_FN uint32_t first_from(const struct join_side *side, uint64_t hash)
{
    uint32_t low = 0;
    uint32_t high = (uint32_t)side->rows;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (hash_of(side->tuples[middle]) < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first tuple of a partition or a later one. */
SIMT_FN uint32_t first_tuple(const struct join_job *job, const struct join_side *side, uint32_t partition)
{
    return first_from(side, (uint64_t)partition << (JOIN_HASH_BITS - job->partition_bits));
}

SIMT_FN uint32_t pieces(uint32_t tuples, uint32_t most)
{
    return tuples / most + (tuples % most != 0);
}

SIMT_KERNEL(join_bounds, struct join_job, a)
{
    for (uint32_t p = simt_thread(); p <= a.partitions; p += simt_threads()) {
        uint32_t build = first_tuple(&a, &a.build, p);
        uint32_t probe = first_tuple(&a, &a.probe, p);
        uint64_t items = 0;
        if (p < a.partitions)
            items = (uint64_t)pieces(first_tuple(&a, &a.build, p + 1) - build, JOIN_BUILD) *
                    pieces(first_tuple(&a, &a.probe, p + 1) - probe, JOIN_PROBE);
        a.build.starts[p] = build;
        a.probe.starts[p] = probe;
        a.item_starts[p] = items;
    }
}

SIMT_FN uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

SIMT_KERNEL(join_plan, struct join_job, a)
{
    for (uint64_t i = simt_thread(); i < a.item_count; i += simt_threads()) {
        /* The last partition whose items begin at i or before, which has item i. */
        uint32_t low = 0;
        uint32_t high = a.partitions - 1;
        while (low < high) {
            uint32_t middle = high - (high - low) / 2;
            if (a.item_starts[middle] <= i)
                low = middle;
            else
                high = middle - 1;
        }
        uint64_t number = i - a.item_starts[low];
        uint32_t build_pieces = pieces(a.build.starts[low + 1] - a.build.starts[low], JOIN_BUILD);
        struct join_item *item = a.items + i;
        item->build_begin = a.build.starts[low] + (uint32_t)(number % build_pieces) * JOIN_BUILD;
        item->build_end =
            item->build_begin + smaller(a.build.starts[low + 1] - item->build_begin, JOIN_BUILD);
        item->probe_begin = a.probe.starts[low] + (uint32_t)(number / build_pieces) * JOIN_PROBE;
        item->probe_end =
            item->probe_begin + smaller(a.probe.starts[low + 1] - item->probe_begin, JOIN_PROBE);
    }
}

/* ---- probe ---- */

/* The chain of a hash.  Its last bits: the first ones are those of the partition. */
SIMT_FN uint32_t *chain_of(struct join_hash_table *table, uint64_t tuple)
{
    return &table->heads[hash_of(tuple) % JOIN_HEADS];
}

/* Builds the hash table of an item.  All threads of the block call.  A thread's tuples are loaded at once,
 * while the table is being cleared. */
SIMT_FN void build_table(const struct join_job *job, const struct join_item *item,
                         struct join_hash_table *table)
{
    uint64_t tuples[JOIN_BUILD / JOIN_BLOCK];
    const uint32_t count = item->build_end - item->build_begin;
    for (uint32_t k = 0; k < JOIN_BUILD / JOIN_BLOCK; k++) {
        uint32_t i = k * JOIN_BLOCK + simt_block_thread();
        tuples[k] = i < count ? job->build.tuples[item->build_begin + i] : 0;
    }
    simt_block_barrier(); /* nobody reads the table of the item before any more */
    for (uint32_t h = simt_block_thread(); h < JOIN_HEADS; h += JOIN_BLOCK)
        table->heads[h] = 0;
    simt_block_barrier();
    for (uint32_t k = 0; k < JOIN_BUILD / JOIN_BLOCK; k++) {
        uint32_t i = k * JOIN_BLOCK + simt_block_thread();
        if (i < count) {
            table->tuples[i] = tuples[k];
            table->next[i] = simt_exchange_u32(chain_of(table, tuples[k]), i + 1, relaxed);
        }
    }
    simt_block_barrier();
}

/* Probe tuple i of an item; behind its last, no particular value. */
SIMT_FN uint64_t probe_tuple(const struct join_job *job, const struct join_item *item, uint32_t i)
{
    return i < item->probe_end - item->probe_begin ? job->probe.tuples[item->probe_begin + i] : 0;
}

/* Whether a build tuple and one of `side` have the same key. */
SIMT_FN int is_same(const struct join_job *job, uint64_t build, const struct join_side *side, uint64_t other)
{
    if (hash_of(build) != hash_of(other))
        return 0;
    if (job->one_to_one)
        return 1;
    if (job->build.keys.integers)
        return job->build.keys.integers[row_of(build)] == side->keys.integers[row_of(other)];
    return key_same(&job->build.keys.text, row_of(build), &side->keys.text, row_of(other));
}

SIMT_FN int is_match(const struct join_job *job, uint64_t build, uint64_t probe)
{
    return is_same(job, build, &job->probe, probe);
}

/* The first match from `entry` on along its chain; 0: none. */
SIMT_FN uint32_t next_match(const struct join_job *job, const struct join_hash_table *table, uint32_t entry,
                            uint64_t probe)
{
    while (entry && !is_match(job, table->tuples[entry - 1], probe))
        entry = table->next[entry - 1];
    return entry;
}

SIMT_FN uint64_t match_of(const struct join_job *job, uint64_t build, uint64_t probe)
{
    return job->build_is_right ? (uint64_t)row_of(probe) << 32 | row_of(build)
                               : (uint64_t)row_of(build) << 32 | row_of(probe);
}

SIMT_KERNEL(join_count, struct join_job, a)
{
    struct join_hash_table *table = (struct join_hash_table *)simt_shared();
    uint64_t count = 0;
    for (uint64_t i = simt_block(); i < a.item_count; i += simt_blocks()) {
        const struct join_item item = a.items[i];
        uint64_t ahead = probe_tuple(&a, &item, simt_block_thread());
        build_table(&a, &item, table);
        for (uint32_t j = simt_block_thread(); j < item.probe_end - item.probe_begin; j += JOIN_BLOCK) {
            uint64_t probe = ahead;
            ahead = probe_tuple(&a, &item, j + JOIN_BLOCK);
            uint32_t entry = next_match(&a, table, *chain_of(table, probe), probe);
            for (; entry; entry = next_match(&a, table, table->next[entry - 1], probe))
                count++;
        }
    }
    a.counts[simt_thread()] = count;
}

SIMT_KERNEL(join_write, struct join_job, a)
{
    struct join_hash_table *table = (struct join_hash_table *)simt_shared();
    uint64_t at = a.counts[simt_thread()];
    uint64_t end = a.counts[simt_thread() + 1];
    for (uint64_t i = simt_block(); i < a.item_count; i += simt_blocks()) {
        const struct join_item item = a.items[i];
        uint64_t ahead = probe_tuple(&a, &item, simt_block_thread());
        build_table(&a, &item, table);
        for (uint32_t j = simt_block_thread(); j < item.probe_end - item.probe_begin; j += JOIN_BLOCK) {
            uint64_t probe = ahead;
            ahead = probe_tuple(&a, &item, j + JOIN_BLOCK);
            uint32_t entry = next_match(&a, table, *chain_of(table, probe), probe);
            for (; entry; entry = next_match(&a, table, table->next[entry - 1], probe)) {
                if (at < end)
                    a.matches[at] = match_of(&a, table->tuples[entry - 1], probe);
                at++;
            }
        }
    }
    if (at != end)
        simt_store_u32(&a.state->broken, 1, relaxed);
}

/* ---- paged ---- */

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
        page = (uint64_t *)quarry_malloc(job->heap, job->page_bytes);
    if (!page) {
        simt_store_u32(&job->state->failed, 1, relaxed);
        return 0;
    }
    page[0] = (uint64_t)(uintptr_t)sink->page;
    sink->page = page;
    sink->used = 0;
    return 1;
}

SIMT_KERNEL(join_collect, struct join_job, a)
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
SIMT_KERNEL(join_gather, struct join_job, a)
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
                quarry_free(a.heap, (void *)(uintptr_t)page);
                page = previous;
                end -= count;
                count = page ? a.capacity : 0;
            }
        }
    }
}

/* ---- only counting ---- */

SIMT_KERNEL(join_find_strangers, struct join_job, a)
{
    for (uint64_t i = simt_thread(); i <= a.build.rows; i += simt_threads()) {
        int has_both = i > 0 && i < a.build.rows;
        a.strangers[i] = has_both && hash_of(a.build.tuples[i - 1]) == hash_of(a.build.tuples[i]) &&
                         !is_same(&a, a.build.tuples[i - 1], &a.build, a.build.tuples[i]);
    }
}

SIMT_KERNEL(join_tally, struct join_job, a)
{
    uint64_t matches = 0;
    for (uint64_t i = simt_thread(); i < a.probe.rows; i += simt_threads()) {
        uint64_t probe = a.probe.tuples[i];
        uint32_t begin = first_from(&a.build, hash_of(probe));
        uint32_t end = first_from(&a.build, (uint64_t)hash_of(probe) + 1);
        if (begin == end)
            continue;
        if (a.strangers[begin + 1] == a.strangers[end])
            matches += is_match(&a, a.build.tuples[begin], probe) ? end - begin : 0;
        else
            for (uint32_t j = begin; j < end; j++)
                matches += (uint64_t)is_match(&a, a.build.tuples[j], probe);
    }
    matches = simt_reduce_add_u64(SIMT_ALL_LANES, matches);
    if (simt_lane() == 0 && matches)
        simt_add_u64(&a.state->matches, matches, relaxed);
}
