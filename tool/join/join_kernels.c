/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry join` that leave the heap alone.  Compiled for the CPU and for CUDA; join_kernels.h
 * has the method. */
#include "join/join_probe.h"

#include "quarry/core/random.h"

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
        if (tuple_hash(side->tuples[middle]) < hash)
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

/* ---- two passes ---- */

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

/* ---- only counting ---- */

SIMT_KERNEL(join_find_strangers, struct join_job, a)
{
    for (uint64_t i = simt_thread(); i <= a.build.rows; i += simt_threads()) {
        int has_both = i > 0 && i < a.build.rows;
        a.strangers[i] = has_both && tuple_hash(a.build.tuples[i - 1]) == tuple_hash(a.build.tuples[i]) &&
                         !is_same(&a, a.build.tuples[i - 1], &a.build, a.build.tuples[i]);
    }
}

SIMT_KERNEL(join_tally, struct join_job, a)
{
    uint64_t matches = 0;
    for (uint64_t i = simt_thread(); i < a.probe.rows; i += simt_threads()) {
        uint64_t probe = a.probe.tuples[i];
        uint32_t begin = first_from(&a.build, tuple_hash(probe));
        uint32_t end = first_from(&a.build, (uint64_t)tuple_hash(probe) + 1);
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
