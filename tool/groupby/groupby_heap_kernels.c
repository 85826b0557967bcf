/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry groupby` that allocate and free pages.  Compiled for the CPU and for CUDA, once for
 * each allocator; groupby_kernels.h has the method.
 *
 * Appending to a bucket.  A chain's tail names the page that takes rows.  Lanes of a warp that append to one
 * page draw tickets from its count together.  A ticket below the capacity is a place in the page.  The
 * one lane that draws the ticket equal to the capacity makes the next page, alone: that number comes up
 * once, since the count only grows.  Lanes with larger tickets wait until the tail has moved on, or go to
 * another stripe; none draws twice from a page, so the count can't run over.  The first page is made by the
 * lane whose compare-exchange turns the tail from EMPTY to CREATING.
 *
 * Progress.  All lanes of a warp go round one loop together, and each round ends with the lanes that owe
 * a page making it.  So a lane never waits for a lane of its own warp, and a waiting warp waits only for
 * lanes that are making a page.  A heap without room turns the tail to FAILED, which ends the wait too.
 *
 * Order.  A new page's head, its first row and the bucket's own fields are written before the tail is
 * stored with release; who reads them has loaded that tail, or a later one, with acquire.  Who comes to
 * another stripe first has loaded, with acquire, a level that was stored with release by one who had loaded
 * such a tail.  The rest is read by the next kernel.
 *
 * Masks.  The lanes of a warp enter and leave every loop here together, so the mask of most collectives
 * is SIMT_ALL_LANES; blocks are whole warps. */
#include "groupby/groupby_device.h"
#include "groupby/groupby_sort.h"
#include "recorded.h"

#define NO_ENTRY UINT32_MAX
#define MAX_BACKOFFS 8u /* between two looks at a tail; many warps may wait for one chain's next page */

/* ---- what the host reads ---- */

/* Of the pages that a warp or a lane has done with. */
struct tally {
    uint64_t counted; /* rows */
    uint64_t freed;
};

/* All lanes of the warp call.  Few atomics: each word is one for all. */
SIMT_FN void tell(const struct groupby_job *job, struct tally tally)
{
    uint64_t counted = simt_reduce_add_u64(SIMT_ALL_LANES, tally.counted);
    uint64_t freed = simt_reduce_add_u64(SIMT_ALL_LANES, tally.freed);
    if (simt_lane() == 0 && freed) {
        simt_add_u64(&job->state->counted, counted, relaxed);
        simt_add_u64(&job->state->freed, freed, relaxed);
    }
}

/* ---- appending ---- */

/* A row on its way to a bucket, one for each lane. */
struct item {
    uint32_t row;
    uint32_t entry; /* the bucket's first, in job->children; NO_ENTRY: this lane has no row */
};

SIMT_FN void put(const struct groupby_job *job, struct item item, uint32_t *slot)
{
    struct groupby_bucket *bucket = job->children + item.entry;
    *slot = item.row;
    if (!job->integers && job->hashes[item.row] != job->hashes[bucket->first_row] &&
        !simt_load_u32(&bucket->mixed, relaxed))
        simt_store_u32(&bucket->mixed, 1, relaxed);
}

/* Out of line, so that its registers are spilled only around the call. */
SIMT_NOINLINE_FN struct groupby_page *new_page(const struct quarry_handle *heap, uint64_t bytes)
{
    return (struct groupby_page *)recorded_malloc(*heap, bytes);
}

/* Makes the page after `full` (0: the first) of a chain with one row in it and moves the tail there.
 *   creators  all lanes that call, and call together
 *   used      bits of the hash that lead to the bucket */
SIMT_FN void create_page(const struct groupby_job *job, uint32_t creators, struct item item, uint64_t *tail,
                         uint64_t full, uint32_t used)
{
    struct groupby_page *page = (struct groupby_page *)SIMT_NULL;
    struct groupby_bucket *bucket = job->children + item.entry;
    /* A malloc that fails has swept the heap; others need not do so again. */
    if (!simt_load_u32(&job->state->failed, relaxed))
        page = new_page(&job->heap, job->page_bytes);
    if (page) {
        page->count = 1;
        page->bucket = item.entry;
        page->previous = full;
        if (!full && tail == &bucket->tail) {
            bucket->first_row = item.row;
            bucket->used = (uint8_t)used;
        }
        put(job, item, page_rows(page));
        /* pairs with the acquire load in append */
        simt_store_u64(tail, (uint64_t)(uintptr_t)page, release);
        if (full)
            simt_add_u32(&bucket->full, 1, relaxed);
    } else {
        simt_store_u32(&job->state->failed, 1, relaxed);
        simt_store_u64(tail, GROUPBY_FAILED, relaxed);
    }
    uint32_t entry = take(creators, &job->state->pages, page != SIMT_NULL);
    if (page)
        job->child_directory[entry] = (uint64_t)(uintptr_t)page;
}

/* Doubles the stripes of the buckets of lanes that wait for a page, where that is allowed.
 *   waiting      all lanes that call
 *   level        that the lane has seen */
SIMT_FN void widen(uint32_t waiting, struct groupby_bucket *bucket, uint32_t level, uint32_t stripe_bits)
{
    uint32_t peers = simt_match_u64(waiting, (uint64_t)(uintptr_t)bucket);
    if (simt_rank(peers) == 0 && level < stripe_bits &&
        GROUPBY_STRIPE_PAGES << (level + 1) <= simt_load_u32(&bucket->full, relaxed))
        simt_max_u32(&bucket->level, level + 1, release); /* pairs with the acquire load in append */
}

/* Appends a row for each lane; all lanes of the warp call.
 *   used         bits of the hash that lead to the buckets
 *   stripe_bits  each bucket has 2^stripe_bits entries
 * Returns when every lane's row is in its bucket, or its chain has failed. */
SIMT_FN void append(const struct groupby_job *job, struct item item, uint32_t used, uint32_t stripe_bits)
{
    const uint32_t warp = simt_thread() / SIMT_LANES;
    struct groupby_bucket *bucket = job->children + item.entry;
    uint64_t full = 0; /* the page that this lane found without room */
    uint32_t backoffs = 1;
    int pending = item.entry != NO_ENTRY;
    while (simt_any(SIMT_ALL_LANES, pending)) {
        uint64_t *chain = (uint64_t *)SIMT_NULL;
        uint64_t tail = GROUPBY_FAILED;
        uint32_t level = 0;
        if (pending) {
            if (stripe_bits)
                level = simt_load_u32(&bucket->level, acquire); /* pairs with the release in widen */
            chain = &bucket[warp & ((1u << level) - 1u)].tail;
            tail = simt_load_u64(chain, acquire); /* pairs with the release store in create_page */
        }
        pending = tail != GROUPBY_FAILED;
        int ready = pending && tail != GROUPBY_CREATING && (tail == GROUPBY_EMPTY || tail != full);
        int creates = 0;
        uint32_t readies = simt_ballot(SIMT_ALL_LANES, ready);
        int waits = pending && tail != GROUPBY_CREATING && !ready; /* the page is still the full one */
        uint32_t waiting = simt_ballot(SIMT_ALL_LANES, waits);
        if (ready) {
            /* Chains and pages are different memory, so one address tells which lanes belong together. */
            uint64_t shared = tail == GROUPBY_EMPTY ? (uint64_t)(uintptr_t)chain : tail;
            uint32_t peers = simt_match_u64(readies, shared);
            uint32_t rank = simt_rank(peers);
            if (tail == GROUPBY_EMPTY) {
                if (rank == 0)
                    creates = simt_cas_u64(chain, GROUPBY_EMPTY, GROUPBY_CREATING, relaxed) == GROUPBY_EMPTY;
            } else {
                struct groupby_page *page = page_at(tail);
                uint32_t ticket = 0;
                if (rank == 0)
                    ticket = simt_add_u32(&page->count, simt_popc_u32(peers), relaxed);
                ticket = simt_shuffle_u32(peers, ticket, simt_ctz_u32(peers)) + rank;
                if (ticket < job->capacity) {
                    put(job, item, page_rows(page) + ticket);
                    pending = 0;
                } else {
                    full = tail;
                    creates = ticket == job->capacity;
                }
            }
        }
        uint32_t creators = simt_ballot(SIMT_ALL_LANES, creates);
        if (creates) {
            create_page(job, creators, item, chain, tail, used);
            pending = 0;
        }
        if (waits)
            widen(waiting, bucket, level, stripe_bits);
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

/* ---- scattering ---- */

SIMT_FN uint64_t hash_of(const struct groupby_job *job, uint32_t row)
{
    return job->integers ? (uint64_t)job->integers[row] << (GROUPBY_HASH_BITS - GROUPBY_INTEGER_BITS)
                         : job->hashes[row];
}

/* Row i of the round; behind the last, none. */
SIMT_FN struct item row_item(const struct groupby_job *job, uint64_t i)
{
    struct item item = {0, NO_ENTRY};
    if (i < job->rows) {
        item.row = listed_row(job, i);
        item.entry = (uint32_t)(hash_of(job, item.row) >> (GROUPBY_HASH_BITS - GROUPBY_PASS_BITS))
                     << job->first_stripe_bits;
    }
    return item;
}

EACH_KERNEL_RESIDENT(groupby_scatter_rows, struct groupby_job, a, 256, 4)
{
    struct item ahead = row_item(&a, simt_thread());
    for (uint64_t i = simt_thread() - simt_lane(); i < a.rows; i += simt_threads()) {
        struct item item = ahead;
        ahead = row_item(&a, i + simt_lane() + simt_threads());
        append(&a, item, GROUPBY_PASS_BITS, a.first_stripe_bits);
    }
}

/* Row i of a page of `count`; behind the last, none. */
SIMT_FN struct item page_item(const struct groupby_job *job, const struct groupby_bucket *parent,
                              struct groupby_page *page, uint32_t i, uint32_t count)
{
    struct item item = {0, NO_ENTRY};
    if (i < count) {
        item.row = page_rows(page)[i];
        uint64_t child = hash_of(job, item.row) << parent->used >> (GROUPBY_HASH_BITS - parent->child_bits);
        item.entry = parent->leads_to + ((uint32_t)child << parent->child_stripe_bits);
    }
    return item;
}

EACH_KERNEL_RESIDENT(groupby_scatter_pages, struct groupby_job, a, 256, 4)
{
    uint32_t lane = simt_lane();
    uint32_t warps = simt_threads() / SIMT_LANES;
    struct tally tally = {0, 0}; /* in lane 0 */
    for (uint64_t p = simt_thread() / SIMT_LANES; p < a.directory_pages; p += warps) {
        struct groupby_page *page = page_at(a.directory[p]);
        if (!page)
            continue;
        const struct groupby_bucket parent = a.table[page->bucket];
        uint32_t count = filled(&a, page);
        struct item ahead = page_item(&a, &parent, page, lane, count);
        for (uint32_t i = 0; i < count; i += SIMT_LANES) {
            struct item item = ahead;
            ahead = page_item(&a, &parent, page, i + lane + SIMT_LANES, count);
            append(&a, item, (uint32_t)parent.used + parent.child_bits, parent.child_stripe_bits);
        }
        /* Every lane's reads of the page come before its free.  After a failure too: the heap is given up
         * as a whole. */
        simt_sync(SIMT_ALL_LANES);
        if (lane == 0) {
            recorded_free(a.heap, page);
            tally.freed++;
        }
    }
    tell(&a, tally);
}

/* ---- resolving ---- */

/* Enters each lane's row into a group of which `stands` is a row, or lists it if its key is another.  All
 * lanes of the warp call; they may be of different groups.
 *   present  the lanes that have a row
 * Returns how many were entered. */
SIMT_FN uint32_t enter(const struct groupby_job *job, uint32_t present, uint32_t row, uint32_t group,
                       uint32_t stands)
{
    int here = (int)(present >> simt_lane() & 1u);
    int same = here && (row == stands || key_same(&job->keys, row, &job->keys, stands));
    uint32_t members = simt_ballot(SIMT_ALL_LANES, same);
    if (same) {
        uint32_t peers = simt_match_u32(members, group);
        if (simt_rank(peers) == 0)
            simt_add_u32(&job->group_counts[group], simt_popc_u32(peers), relaxed);
        if (job->group_of_row)
            job->group_of_row[row] = group;
    }
    if (members != present) {
        uint32_t entry = take(SIMT_ALL_LANES, &job->state->collided, here && !same);
        if (here && !same)
            job->collided[entry] = row;
    }
    return simt_popc_u32(members);
}

/* A page whose bucket has one hash: one group, unless keys collide.  Returns the rows entered. */
SIMT_FN uint32_t resolve_uniform(const struct groupby_job *job, const struct groupby_bucket *bucket,
                                 struct groupby_page *page)
{
    uint32_t count = filled(job, page);
    uint32_t entered = 0;
    for (uint32_t i = 0; i < count; i += SIMT_LANES) {
        uint32_t row = i + simt_lane() < count ? page_rows(page)[i + simt_lane()] : 0;
        entered += enter(job, first_lanes(count - i), row, bucket->leads_to, bucket->first_row);
    }
    return entered;
}

/* A page that is a whole bucket of several hashes: the rows are sorted where they lie, and each run of one
 * hash is a group.  A run may go on from one step of 32 rows to the next, which then begins with the
 * group of the last.  Returns the rows entered. */
SIMT_FN uint32_t resolve_mixed(const struct groupby_job *job, struct groupby_page *page)
{
    uint32_t count = filled(job, page);
    uint32_t *rows = page_rows(page);
    uint32_t lane = simt_lane();
    uint32_t last_group = 0;  /* of the last row of the step before */
    uint32_t last_stands = 0; /* the row that stands for it */
    uint32_t entered = 0;
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
        entered += enter(job, present, row, group, stands);
        if (count - i > SIMT_LANES) {
            last_group = simt_shuffle_u32(SIMT_ALL_LANES, group, SIMT_LANES - 1);
            last_stands = simt_shuffle_u32(SIMT_ALL_LANES, stands, SIMT_LANES - 1);
        }
    }
    return entered;
}

EACH_KERNEL(groupby_resolve, struct groupby_job, a)
{
    uint32_t warps = simt_threads() / SIMT_LANES;
    struct tally tally = {0, 0}; /* in lane 0 */
    for (uint64_t p = simt_thread() / SIMT_LANES; p < a.directory_pages; p += warps) {
        struct groupby_page *page = page_at(a.directory[p]);
        const struct groupby_bucket *bucket = a.table + page->bucket;
        if (bucket->child_bits)
            continue;
        uint32_t entered = bucket->mixed ? resolve_mixed(&a, page) : resolve_uniform(&a, bucket, page);
        /* Every lane's use of the page comes before its free; the next pass must not look at it. */
        simt_sync(SIMT_ALL_LANES);
        if (simt_lane() == 0) {
            a.directory[p] = 0;
            recorded_free(a.heap, page);
            tally.counted += entered;
            tally.freed++;
        }
    }
    tell(&a, tally);
}

/* All pages are of finished groups, and most hold few rows: a lane takes a page. */
EACH_KERNEL(groupby_count, struct groupby_job, a)
{
    struct tally tally = {0, 0};
    for (uint64_t p = simt_thread(); p < a.directory_pages; p += simt_threads()) {
        struct groupby_page *page = page_at(a.directory[p]);
        uint32_t group = a.table[page->bucket].leads_to;
        uint32_t rows = filled(&a, page);
        simt_add_u32(&a.group_counts[group], rows, relaxed);
        for (uint32_t i = 0; a.group_of_row && i < rows; i++)
            a.group_of_row[page_rows(page)[i]] = group;
        recorded_free(a.heap, page);
        tally.counted += rows;
        tally.freed++;
    }
    tell(&a, tally);
}

#if SIMT_C_VIEW
const struct groupby_heap_kernels EACH_NAME(groupby_heap_kernels) = {
    &EACH_NAME(groupby_scatter_rows),
    &EACH_NAME(groupby_scatter_pages),
    &EACH_NAME(groupby_resolve),
    &EACH_NAME(groupby_count),
};
#endif
