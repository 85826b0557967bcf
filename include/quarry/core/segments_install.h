/* SPDX-License-Identifier: Apache-2.0 */
/* Where a segment of core/segments.h is, and how a chunk becomes one. */
#ifndef QUARRY_CORE_SEGMENTS_INSTALL_H
#define QUARRY_CORE_SEGMENTS_INSTALL_H

#include "quarry/core/segments_list.h"
#include "quarry/core/segments_shape.h"
#include "quarry/core/share.h"

/* ---- where a segment is ---- */

/* Who has not found an entry at once: it is not seen yet, or the list knows more. */
SIMT_FN uint32_t quarry_segments_search(const struct quarry_segments *q, uint32_t queue, uint32_t number)
{
    uint64_t *entry = quarry_segments_entry(q, queue, number), pair, link;
    for (;; simt_backoff()) {
        if (q->list) {
            /* acquire: pairs with the release of quarry_segments_leave, which moves the head */
            pair = simt_load_u64(&q->ends[queue].head, acquire);
            while ((uint32_t)pair != QUARRY_NO_INDEX && (uint32_t)(pair >> 32) != number)
                if (!quarry_segments_walk(q, queue, &pair, &link))
                    break;
        } else {
            pair = simt_load_u64(entry, acquire); /* pairs with the release of quarry_segments_enter */
        }
        if ((uint32_t)pair != QUARRY_NO_INDEX && (uint32_t)(pair >> 32) == number) {
            if (q->list) /* release: what the links have told is told by the entry, too */
                simt_store_u64(entry, pair, release);
            return (uint32_t)pair;
        }
    }
}

/* The chunk of segment `number`, of which the caller has a position. */
SIMT_FN uint32_t quarry_segments_chunk(const struct quarry_segments *q, uint32_t queue, uint32_t number)
{
    /* acquire: pairs with the release in quarry_segments_enter.  Mostly this finds it (Order). */
    uint64_t entry = simt_load_u64(quarry_segments_entry(q, queue, number), acquire);
    if ((uint32_t)(entry >> 32) == number && (uint32_t)entry != QUARRY_NO_INDEX)
        return (uint32_t)entry;
    return quarry_segments_search(q, queue, number);
}

/* ---- segments come ---- */

/* The lowest rank of a group's lanes of which something is not true; none: how many lanes it has. */
SIMT_FN uint32_t quarry_segments_run(uint32_t group, int is)
{
    uint32_t not_ = simt_ballot(group, !is);
    return simt_popc_u32(not_ ? group & ((not_ & (0u - not_)) - 1u) : group);
}

/* The array's next number, for a segment that the caller has ready.
 *   number   out, in the first lane
 * Returns whether there is one: its entry is free.  Scope: group, reconverged.  Lock-free. */
SIMT_FN int quarry_segments_draw(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                 uint32_t *number)
{
    struct quarry_segments_ends *ends = &q->ends[queue];
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), drawn = 0, reach = 0;
    for (;;) {
        if (rank == 0) {
            /* acquire: pairs with the release below; so the segments before in as many entries have been retired */
            drawn = (int32_t)simt_sub_u32(&ends->spare, 1, acquire) > 0;
            if (drawn) /* acq_rel: of all who have drawn so many numbers, one knows that so many are free */
                *number = quarry_segments_after(q, simt_add_u32(&ends->next, 1, acq_rel), 0);
            else
                (void)simt_add_u32(&ends->spare, 1, relaxed);
            reach = simt_load_u32(&ends->reach, relaxed);
        }
        if (simt_shuffle_u32(group, drawn, leader))
            return 1;
        reach = simt_shuffle_u32(group, reach, leader);
        uint32_t its = quarry_segments_after(q, reach, rank);
        /* An entry may be seen as it was long ago: a number before its own says nothing. */
        uint64_t entry = simt_load_u64(quarry_segments_entry(q, queue, its), relaxed);
        int gone = rank < q->entries && (int32_t)(((uint32_t)(entry >> 32) - its) << q->shift) > 0;
        uint32_t n = quarry_segments_run(group, gone);
        if (n == 0)
            return 0;
        simt_sync(group); /* one lane releases what all have seen */
        if (rank == 0 &&  /* acq_rel: so it releases what all before have seen, too */
            simt_cas_u32(&ends->reach, reach, quarry_segments_after(q, reach, n), acq_rel) == reach)
            (void)simt_add_u32(&ends->spare, n, release);
    }
}

/* Makes room of segments that are in the array's entries, from the first one on.
 * Scope: group, reconverged.  Lock-free. */
SIMT_FN void quarry_segments_publish(const struct quarry_segments *q, uint32_t queue, uint32_t group)
{
    struct quarry_segments_ends *ends = &q->ends[queue];
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), width = simt_popc_u32(group), done = 0;
    while (!simt_shuffle_u32(group, done, leader)) {
        /* acq_rel, and an addition: of two who write entries one sees the other's */
        uint32_t tail = rank == 0 ? simt_add_u32(&ends->tail, 0, acq_rel) : 0;
        simt_sync(group); /* what it has acquired all know */
        tail = simt_shuffle_u32(group, tail, leader);
        uint32_t its = quarry_segments_after(q, tail, rank);
        uint64_t entry = simt_load_u64(quarry_segments_entry(q, queue, its), relaxed);
        uint32_t n = quarry_segments_run(group, rank < q->entries && (uint32_t)(entry >> 32) == its &&
                                                    (uint32_t)entry != QUARRY_NO_INDEX);
        done = n == 0;
        if (rank == 0 && n &&
            simt_cas_u32(&ends->tail, tail, quarry_segments_after(q, tail, n), relaxed) == tail) {
            (void)simt_add_u64(&ends->room, (uint64_t)n << q->shift, relaxed);
            done = n < width; /* who writes the next entry does so after it has seen tail, and looks itself */
        }
    }
}

/* Makes a chunk, whose slots are empty, the next segment.  Scope: group, reconverged.  Lock-free.
 * Returns whether it did. */
SIMT_FN int quarry_segments_enter(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                  uint32_t chunk)
{
    uint32_t number = 0;
    if (q->list) {
        if (simt_rank(group) == 0) {
            number = quarry_segments_append(q, queue, chunk);
            /* release: pairs with the acquires in quarry_segments_chunk */
            simt_store_u64(quarry_segments_entry(q, queue, number), quarry_segments_pair(number, chunk),
                           release);
            (void)simt_add_u64(&q->ends[queue].room, (uint64_t)q->size, relaxed);
        }
        return 1;
    }
    if (!quarry_segments_draw(q, queue, group, &number))
        return 0;
    if (simt_rank(group) == 0) /* release: pairs with the acquires in quarry_segments_chunk */
        simt_store_u64(quarry_segments_entry(q, queue, number), quarry_segments_pair(number, chunk), release);
    quarry_segments_publish(q, queue, group);
    return 1;
}

/* Installs a segment.  Scope: group, reconverged.  Never waits but for the group.
 * Returns whether it did: not if there is no chunk, or if the directory is full. */
SIMT_FN int quarry_segments_install(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                    int peeks)
{
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), width = simt_popc_u32(group);
    uint32_t chunk = QUARRY_NO_INDEX, hints = q->list && peeks;
    if (rank == 0)
        chunk = quarry_chunks_try(&q->store);
    simt_sync(group); /* what the chunk was before, all know */
    chunk = simt_shuffle_u32(group, chunk, leader);
    if (chunk == QUARRY_NO_INDEX)
        return 0;
    uint32_t *slot = quarry_segments_slots(q, chunk);
    for (uint32_t i = rank; i < q->size; i += width)
        simt_store_u32(&slot[i], QUARRY_NO_INDEX, relaxed);
    if (rank == 0) {
        simt_store_u32(&q->taken[chunk], 0u - hints, relaxed);
        if (peeks)
            (void)simt_add_u32(&q->readers[chunk], QUARRY_SEGMENTS_HELD + 1u, relaxed);
        (void)simt_add_u32(q->segments, 1, relaxed);
    }
    simt_sync(group); /* all are empty */
    int installed = quarry_segments_enter(q, queue, group, chunk);
    /* release: who retires the segment has its hint behind it, and removes that */
    int finished = rank == 0 && hints && simt_add_u32(&q->taken[chunk], 1, release) + 1u == q->size;
    if (hints && simt_any(group, finished))
        quarry_segments_leave(q, queue, group, peeks);
    if (rank == 0 && installed) {
        quarry_chunks_end(&q->store);
    } else if (rank == 0) {
        if (peeks) /* it has had no entry, so nobody looks at it */
            (void)simt_sub_u32(&q->readers[chunk], QUARRY_SEGMENTS_HELD + 1u, relaxed);
        (void)simt_sub_u32(q->segments, 1, relaxed);
        quarry_chunks_return(&q->store, chunk);
    }
    return installed;
}

/* Are there segments in any queue? */
SIMT_FN int quarry_segments_any(const uint32_t *segments)
{
    return simt_load_u32(segments, acquire) != 0; /* pairs with the release in quarry_segments_retire */
}

/* Slots that nobody has reserved; below 0 for a moment. */
SIMT_FN int32_t quarry_segments_room(uint64_t word)
{
    return (int32_t)((uint32_t)word - QUARRY_SEGMENTS_ROOM_BIAS);
}

#endif
