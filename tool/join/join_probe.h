/* SPDX-License-Identifier: Apache-2.0 */
/* How the kernels of `quarry join` look for matches: the hash table of an item, in block-shared memory.
 * join_kernels.h has the method.
 *
 * Latency.  A thread loads its next probe tuple before it works on one, and its build tuples all at once
 * (appendix B: many values into registers).
 *
 * Order.  A block's hash table is built between two barriers. */
#ifndef QUARRY_TOOL_JOIN_PROBE_H
#define QUARRY_TOOL_JOIN_PROBE_H

#include "join/join_kernels.h"

SIMT_FN uint32_t tuple_hash(uint64_t tuple)
{
    return (uint32_t)(tuple >> 32);
}

SIMT_FN uint32_t row_of(uint64_t tuple)
{
    return (uint32_t)tuple;
}

/* The chain of a hash.  Its last bits: the first ones are those of the partition. */
SIMT_FN uint32_t *chain_of(struct join_hash_table *table, uint64_t tuple)
{
    return &table->heads[tuple_hash(tuple) % JOIN_HEADS];
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
    if (tuple_hash(build) != tuple_hash(other))
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

#endif
