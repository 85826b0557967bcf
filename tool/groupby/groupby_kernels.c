/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry groupby` that leave the heap alone.  Compiled for the CPU and for CUDA;
 * groupby_kernels.h has the method. */
#include "groupby/groupby_device.h"

SIMT_KERNEL(groupby_hash, struct groupby_job, a)
{
    for (uint64_t i = simt_thread(); i < a.rows; i += simt_threads()) {
        uint32_t row = listed_row(&a, i);
        a.hashes[row] = key_hash(&a.keys, row, a.seeds) & a.hash_mask;
    }
}

/* ---- deciding ---- */

#ifndef NDEBUG
/* The chains have as many pages as the bucket counts, all but the last of each are full, and there are not
 * too many. */
SIMT_FN int chains_are_whole(const struct groupby_job *job, const struct groupby_bucket *bucket)
{
    uint32_t full = 0;
    for (uint32_t stripe = 0; stripe < 1u << bucket->level; stripe++) {
        uint64_t at = bucket[stripe].tail;
        while (at && (at = page_at(at)->previous) != 0)
            full += page_at(at)->count >= job->capacity;
    }
    return full == bucket->full && (bucket->level == 0 || GROUPBY_STRIPE_PAGES << bucket->level <= full);
}
#endif

/* Two to four times as many children as full pages (but no more than one pass may have): of an ordinary
 * bucket's rows each child gets at most half a page, and hardly any needs a second split. */
SIMT_FN uint32_t split_bits(const struct groupby_job *job, const struct groupby_bucket *bucket)
{
    if (job->integers)
        return GROUPBY_PASS_BITS;
    uint32_t bits = highest(bucket->full) + 2;
    uint32_t left = GROUPBY_HASH_BITS - bucket->used;
    bits = bits < GROUPBY_PASS_BITS ? bits : GROUPBY_PASS_BITS;
    return bits < left ? bits : left;
}

/* Prepares a bucket that has rows for the next pass.  Returns whether it is finished, as one group. */
SIMT_FN int decide(const struct groupby_job *job, struct groupby_bucket *bucket)
{
    uint32_t all_bits = job->integers ? GROUPBY_INTEGER_BITS : GROUPBY_HASH_BITS;
    int splits = (bucket->mixed && bucket->full) || (job->integers && bucket->used < all_bits);
    simt_assert(chains_are_whole(job, bucket));
    if (!splits)
        return !bucket->mixed;
    if (bucket->used == all_bits) {
        simt_store_u32(&job->state->broken, 1, relaxed);
        return 0;
    }
    uint32_t bits = split_bits(job, bucket);
    uint32_t stripe_bits = groupby_stripe_bits(bucket->full);
    bucket->child_bits = (uint8_t)bits;
    bucket->child_stripe_bits = (uint8_t)stripe_bits;
    bucket->leads_to = simt_add_u32(&job->state->children, 1u << (bits + stripe_bits), relaxed);
    return 0;
}

/* A warp takes DECIDE_STEPS times 32 entries at a time: the counter of groups is one word for all. */
#define DECIDE_STEPS 8u
SIMT_KERNEL(groupby_decide, struct groupby_job, a)
{
    const uint64_t stride = (uint64_t)simt_threads() * DECIDE_STEPS;
    const uint32_t lane = simt_lane();
    if (simt_load_u32(&a.state->failed, relaxed))
        return;
    for (uint64_t i = (uint64_t)(simt_thread() - lane) * DECIDE_STEPS; i < a.entries; i += stride) {
        uint32_t groups[DECIDE_STEPS];
        uint32_t count = 0;
        uint32_t first = 0;
        for (uint32_t step = 0; step < DECIDE_STEPS; step++) {
            uint64_t entry = i + step * SIMT_LANES + lane;
            int has_rows = entry < a.entries && a.table[entry].used; /* a bucket's first entry, then */
            groups[step] = simt_ballot(SIMT_ALL_LANES, has_rows && decide(&a, a.table + entry));
            count += simt_popc_u32(groups[step]);
        }
        if (count && lane == 0)
            first = simt_add_u32(&a.state->groups, count, relaxed);
        first = simt_shuffle_u32(SIMT_ALL_LANES, first, 0);
        for (uint32_t step = 0; step < DECIDE_STEPS; step++) {
            if (groups[step] >> lane & 1u) {
                struct groupby_bucket *bucket = a.table + i + step * SIMT_LANES + lane;
                bucket->leads_to = first + simt_rank(groups[step]);
                a.group_rows[bucket->leads_to] = bucket->first_row;
            }
            first += simt_popc_u32(groups[step]);
        }
    }
}
