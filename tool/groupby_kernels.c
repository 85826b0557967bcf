/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry groupby`.  Compiled for the CPU and for CUDA; groupby_kernels.h has the method.
 *
 * Appending to a bucket.  The tail names the page that takes rows.  Lanes of a warp that append to one
 * page draw tickets from its count together.  A ticket below the capacity is a place in the page.  The
 * one lane that draws the ticket equal to the capacity makes the next page, alone: that number comes up
 * once, since the count only grows.  Lanes with larger tickets wait until the tail has moved on; none
 * draws twice from a page, so the count can't run over.  The first page is made by the lane whose
 * compare-exchange turns the tail from EMPTY to CREATING.
 *
 * Progress.  All lanes of a warp go round one loop together, and each round ends with the lanes that owe
 * a page making it.  So a lane never waits for a lane of its own warp, and a waiting warp waits only for
 * lanes that are making a page.  A heap without room turns the tail to FAILED, which ends the wait too.
 *
 * Order.  A new page's head, its first row and the bucket's own fields are written before the tail is
 * stored with release; who reads or writes them has loaded that tail, or a later one, with acquire.
 * Makers of a bucket's pages follow one another in that way, so what only they change is plain memory.
 * The rest is read by the next kernel.
 *
 * Masks.  The lanes of a warp enter and leave every loop here together, so the mask of most collectives
 * is SIMT_ALL_LANES; blocks are whole warps. */
#include "groupby_device.h"
#include "groupby_sort.h"

#define NO_BUCKET ((struct groupby_bucket *)SIMT_NULL)
#define MAX_BACKOFFS 32u /* between two looks at a tail; many warps may wait for one bucket's next page */

/* Whether the run has failed.  All lanes call, and get the same answer. */
SIMT_FN int has_failed(const struct groupby_job *job)
{
    return simt_any(SIMT_ALL_LANES, simt_load_u32(&job->state->failed, relaxed) != 0);
}

SIMT_FN uint32_t listed_row(const struct groupby_job *job, uint64_t i)
{
    return job->list ? job->list[i] : (uint32_t)i;
}

SIMT_KERNEL(groupby_hash, struct groupby_job, a)
{
    for (uint64_t i = simt_thread(); i < a.rows; i += simt_threads()) {
        uint32_t row = listed_row(&a, i);
        if (a.integers)
            a.hashes[row] = (uint64_t)a.integers[row] << (GROUPBY_HASH_BITS - GROUPBY_INTEGER_BITS);
        else
            a.hashes[row] = key_hash(&a.keys, row, a.seeds) & a.hash_mask;
    }
}

/* ---- appending ---- */

SIMT_FN void put(struct groupby_bucket *bucket, uint32_t *slot, uint32_t row, uint64_t hash)
{
    *slot = row;
    if (hash != bucket->hash && !simt_load_u32(&bucket->mixed, relaxed))
        simt_store_u32(&bucket->mixed, 1, relaxed);
}

/* Makes the page after `full` (0: the first) with one row in it and moves the tail there.
 *   creators  all lanes that call, and call together
 *   used      bits of the hash that lead to the bucket */
SIMT_FN void create_page(const struct groupby_job *job, uint32_t creators, struct groupby_bucket *bucket,
                         uint64_t full, uint32_t row, uint64_t hash, uint32_t used)
{
    struct groupby_page *page = (struct groupby_page *)quarry_malloc(job->heap, job->page_bytes);
    if (page) {
        page->count = 1;
        page->bucket = (uint32_t)(bucket - job->children);
        page->previous = full;
        if (!full) {
            bucket->hash = hash;
            bucket->first_row = row;
            bucket->used = used;
        }
        put(bucket, page_rows(page), row, hash);
        bucket->pages++;
        /* pairs with the acquire load in append */
        simt_store_u64(&bucket->tail, (uint64_t)(uintptr_t)page, release);
    } else {
        simt_store_u32(&job->state->failed, 1, relaxed);
        simt_store_u64(&bucket->tail, GROUPBY_FAILED, relaxed);
    }
    uint32_t made = simt_ballot(creators, page != SIMT_NULL);
    uint32_t entry = take(creators, &job->state->pages, page != SIMT_NULL);
    if (!page)
        return;
    job->child_directory[entry] = (uint64_t)(uintptr_t)page;
    if (simt_rank(made) == 0) {
        uint64_t pages = simt_popc_u32(made);
        uint64_t live = simt_add_u64(&job->state->live, pages, relaxed) + pages;
        if (live > simt_load_u64(&job->state->peak, relaxed))
            simt_max_u64(&job->state->peak, live, relaxed);
    }
}

/* Appends a row for each lane; all lanes of the warp call.
 *   bucket  of job->children; NULL: this lane has no row
 * Returns when every lane's row is in its bucket, or its bucket has failed. */
SIMT_FN void append(const struct groupby_job *job, struct groupby_bucket *bucket, uint32_t row, uint64_t hash,
                    uint32_t used)
{
    uint64_t full = 0; /* the page that this lane found without room */
    uint32_t backoffs = 1;
    int pending = bucket != NO_BUCKET;
    while (simt_any(SIMT_ALL_LANES, pending)) {
        uint64_t tail = GROUPBY_CREATING;
        if (pending)
            tail = simt_load_u64(&bucket->tail, acquire); /* pairs with the release store in create_page */
        if (tail == GROUPBY_FAILED)
            pending = 0;
        int ready = pending && (tail == GROUPBY_EMPTY || (tail > GROUPBY_FAILED && tail != full));
        int creates = 0;
        uint32_t readies = simt_ballot(SIMT_ALL_LANES, ready);
        if (ready) {
            /* Buckets and pages are different memory, so one address tells which lanes belong together. */
            uint64_t shared = tail == GROUPBY_EMPTY ? (uint64_t)(uintptr_t)bucket : tail;
            uint32_t peers = simt_match_u64(readies, shared);
            uint32_t rank = simt_rank(peers);
            if (tail == GROUPBY_EMPTY) {
                if (rank == 0)
                    creates = simt_cas_u64(&bucket->tail, GROUPBY_EMPTY, GROUPBY_CREATING, relaxed) ==
                              GROUPBY_EMPTY;
            } else {
                struct groupby_page *page = page_at(tail);
                uint32_t ticket = 0;
                if (rank == 0)
                    ticket = simt_add_u32(&page->count, simt_popc_u32(peers), relaxed);
                ticket = simt_shuffle_u32(peers, ticket, simt_ctz_u32(peers)) + rank;
                if (ticket < job->capacity) {
                    put(bucket, page_rows(page) + ticket, row, hash);
                    pending = 0;
                } else {
                    full = tail;
                    creates = ticket == job->capacity;
                }
            }
        }
        uint32_t creators = simt_ballot(SIMT_ALL_LANES, creates);
        if (creates) {
            create_page(job, creators, bucket, full, row, hash, used);
            pending = 0;
        }
        if (readies) {
            backoffs = 1;
            continue;
        }
        for (uint32_t i = 0; i < backoffs; i++)
            simt_backoff();
        if (backoffs < MAX_BACKOFFS)
            backoffs *= 2;
    }
}

SIMT_KERNEL(groupby_scatter_rows, struct groupby_job, a)
{
    uint32_t lane = simt_lane();
    for (uint64_t i = simt_thread() - lane; i < a.rows && !has_failed(&a); i += simt_threads()) {
        struct groupby_bucket *bucket = NO_BUCKET;
        uint32_t row = 0;
        uint64_t hash = 0;
        if (i + lane < a.rows) {
            row = listed_row(&a, i + lane);
            hash = a.hashes[row];
            bucket = a.children + (hash >> (GROUPBY_HASH_BITS - GROUPBY_PASS_BITS));
        }
        append(&a, bucket, row, hash, GROUPBY_PASS_BITS);
    }
}

SIMT_KERNEL(groupby_scatter_pages, struct groupby_job, a)
{
    uint32_t lane = simt_lane();
    uint32_t warps = simt_threads() / SIMT_LANES;
    for (uint64_t p = simt_thread() / SIMT_LANES; p < a.directory_pages && !has_failed(&a); p += warps) {
        struct groupby_page *page = page_at(a.directory[p]);
        if (!page)
            continue;
        const struct groupby_bucket *parent = a.table + page->bucket;
        uint32_t count = filled(&a, page);
        uint32_t used = parent->used + parent->child_bits;
        for (uint32_t i = 0; i < count; i += SIMT_LANES) {
            struct groupby_bucket *bucket = NO_BUCKET;
            uint32_t row = 0;
            uint64_t hash = 0;
            if (i + lane < count) {
                row = page_rows(page)[i + lane];
                hash = a.hashes[row];
                uint64_t child = hash << parent->used >> (GROUPBY_HASH_BITS - parent->child_bits);
                bucket = a.children + parent->child + child;
            }
            append(&a, bucket, row, hash, used);
        }
        /* Every lane's reads of the page come before its free.  After a failure the page stays: the heap
         * is given up as a whole. */
        simt_sync(SIMT_ALL_LANES);
        if (lane == 0) {
            simt_sub_u64(&a.state->live, 1, relaxed);
            quarry_free(a.heap, page);
        }
    }
}

/* ---- deciding ---- */

#ifndef NDEBUG
/* The chain that the tail ends has as many pages as the bucket counts. */
SIMT_FN int chain_is_whole(const struct groupby_bucket *bucket)
{
    uint32_t pages = 0;
    for (uint64_t at = bucket->tail; at; at = page_at(at)->previous)
        pages++;
    return pages == bucket->pages;
}
#endif

/* Two to four times as many children as pages (but no more than one pass may have): of an ordinary
 * bucket's rows each child gets at most half a page, and hardly any needs a second split.  bits is at
 * most ceil(log2 pages) + 1, so a bucket of p pages has at most 4 (p - 1) children. */
SIMT_FN uint32_t split_bits(const struct groupby_job *job, const struct groupby_bucket *bucket)
{
    if (job->integers)
        return GROUPBY_PASS_BITS;
    uint32_t bits = highest(bucket->pages - 1) + 2;
    uint32_t left = GROUPBY_HASH_BITS - bucket->used;
    bits = bits < GROUPBY_PASS_BITS ? bits : GROUPBY_PASS_BITS;
    return bits < left ? bits : left;
}

SIMT_KERNEL(groupby_decide, struct groupby_job, a)
{
    uint32_t all_bits = a.integers ? GROUPBY_INTEGER_BITS : GROUPBY_HASH_BITS;
    for (uint64_t i = simt_thread() - simt_lane(); i < a.buckets; i += simt_threads()) {
        uint32_t number = (uint32_t)i + simt_lane();
        struct groupby_bucket *bucket = number < a.buckets ? a.table + number : NO_BUCKET;
        if (bucket && bucket->tail == GROUPBY_EMPTY)
            bucket = NO_BUCKET;
        int splits =
            bucket && ((bucket->mixed && bucket->pages > 1) || (a.integers && bucket->used < all_bits));
        int uniform = bucket && !splits && !bucket->mixed;
        uint32_t group = take(SIMT_ALL_LANES, &a.state->groups, uniform);
        if (!bucket)
            continue;
        simt_assert(chain_is_whole(bucket));
        if (uniform) {
            bucket->group = group;
            a.group_rows[group] = bucket->first_row;
        } else if (splits && bucket->used == all_bits) {
            simt_store_u32(&a.state->broken, 1, relaxed);
        } else if (splits) {
            uint32_t bits = split_bits(&a, bucket);
            uint64_t full_pages = bucket->pages - 1;
            bucket->child_bits = bits;
            bucket->child = simt_add_u32(&a.state->children, 1u << bits, relaxed);
            simt_add_u64(&a.state->split_rows, full_pages * a.capacity + filled(&a, page_at(bucket->tail)),
                         relaxed);
        }
    }
}

/* ---- resolving ---- */

/* Enters each lane's row into a group of which `stands` is a row, or lists it if its key is another.  All
 * lanes of the warp call; they may be of different groups.
 *   present  the lanes that have a row */
SIMT_FN void enter(const struct groupby_job *job, uint32_t present, uint32_t row, uint32_t group,
                   uint32_t stands)
{
    int here = (int)(present >> simt_lane() & 1u);
    int same = here && (row == stands || job->integers || key_same(&job->keys, row, &job->keys, stands));
    uint32_t members = simt_ballot(SIMT_ALL_LANES, same);
    if (same) {
        uint32_t peers = simt_match_u32(members, group);
        if (simt_rank(peers) == 0)
            simt_add_u32(&job->group_counts[group], simt_popc_u32(peers), relaxed);
        if (simt_rank(members) == 0)
            simt_add_u64(&job->state->counted, simt_popc_u32(members), relaxed);
        if (job->group_of_row)
            job->group_of_row[row] = group;
    }
    if (members != present) {
        uint32_t entry = take(SIMT_ALL_LANES, &job->state->collided, here && !same);
        if (here && !same)
            job->collided[entry] = row;
    }
}

/* A page whose bucket has one hash: one group, unless keys collide. */
SIMT_FN void resolve_uniform(const struct groupby_job *job, const struct groupby_bucket *bucket,
                             struct groupby_page *page)
{
    uint32_t count = filled(job, page);
    for (uint32_t i = 0; i < count; i += SIMT_LANES) {
        uint32_t row = i + simt_lane() < count ? page_rows(page)[i + simt_lane()] : 0;
        enter(job, first_lanes(count - i), row, bucket->group, bucket->first_row);
    }
}

/* A page that is a whole bucket of several hashes: the rows are sorted where they lie, and each run of one
 * hash is a group.  A run may go on from one step of 32 rows to the next, which then begins with the
 * group of the last. */
SIMT_FN void resolve_mixed(const struct groupby_job *job, struct groupby_page *page)
{
    uint32_t count = filled(job, page);
    uint32_t *rows = page_rows(page);
    uint32_t lane = simt_lane();
    uint32_t last_group = 0;  /* of the last row of the step before */
    uint32_t last_stands = 0; /* the row that stands for it */
    sort_rows(job, rows, count);
    for (uint32_t i = 0; i < count; i += SIMT_LANES) {
        uint32_t present = first_lanes(count - i);
        uint32_t at = i + lane;
        uint32_t row = at < count ? rows[at] : 0;
        int begins = at < count && (at == 0 || job->hashes[row] != job->hashes[rows[at - 1]]);
        uint32_t number = take(SIMT_ALL_LANES, &job->state->groups, begins);
        uint32_t heads = simt_ballot(SIMT_ALL_LANES, begins);
        uint32_t mine = heads & (simt_lanes_below() | 1u << lane);
        uint32_t head = mine ? highest(mine) : lane;
        /* take() numbers the heads from the lowest lane on; a lane that is none has its head's number plus
         * one. */
        uint32_t group = begins ? number : number - 1;
        uint32_t stands = simt_shuffle_u32(SIMT_ALL_LANES, row, head);
        if (begins)
            job->group_rows[group] = row;
        if (!mine) {
            group = last_group;
            stands = last_stands;
        }
        enter(job, present, row, group, stands);
        if (count - i > SIMT_LANES) {
            last_group = simt_shuffle_u32(SIMT_ALL_LANES, group, SIMT_LANES - 1);
            last_stands = simt_shuffle_u32(SIMT_ALL_LANES, stands, SIMT_LANES - 1);
        }
    }
}

SIMT_KERNEL(groupby_resolve, struct groupby_job, a)
{
    uint32_t warps = simt_threads() / SIMT_LANES;
    for (uint64_t p = simt_thread() / SIMT_LANES; p < a.directory_pages; p += warps) {
        struct groupby_page *page = page_at(a.directory[p]);
        const struct groupby_bucket *bucket = a.table + page->bucket;
        if (bucket->child_bits)
            continue;
        if (bucket->mixed)
            resolve_mixed(&a, page);
        else
            resolve_uniform(&a, bucket, page);
        /* Every lane's use of the page comes before its free; the next pass must not look at it. */
        simt_sync(SIMT_ALL_LANES);
        if (simt_lane() == 0) {
            a.directory[p] = 0;
            simt_sub_u64(&a.state->live, 1, relaxed);
            quarry_free(a.heap, page);
        }
    }
}
