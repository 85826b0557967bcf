/* SPDX-License-Identifier: Apache-2.0 */
/* How segments of core/segments.h go, and the links of a list: walks over it, its end, and its beginning. */
#ifndef QUARRY_CORE_SEGMENTS_LIST_H
#define QUARRY_CORE_SEGMENTS_LIST_H

#include "quarry/core/segments_shape.h"

/* A chunk that was a segment goes to the store. */
SIMT_FN void quarry_segments_return(const struct quarry_segments *q, uint32_t chunk)
{
    quarry_chunks_begin(&q->store);
    /* release: pairs with the acquire in quarry_segments_any; the transit was begun before */
    (void)simt_sub_u32(q->segments, 1, release);
    quarry_chunks_return(&q->store, chunk);
}

/* One who holds a chunk lets go of it: the segment itself, when it is retired, or a reader.  The last one returns it.
 * Never waits. */
SIMT_FN void quarry_segments_let_go(const struct quarry_segments *q, uint32_t chunk)
{
    /* release, then acquire: who returns the chunk has all reads of others behind it.  What took the segment out of its
     * queue is before what is done by who adds to `readers` later: quarry_segments_peek. */
    if (simt_sub_u32(&q->readers[chunk], 1, release) == QUARRY_SEGMENTS_HELD + 1u &&
        simt_cas_u32(&q->readers[chunk], QUARRY_SEGMENTS_HELD, 0, acquire) == QUARRY_SEGMENTS_HELD)
        quarry_segments_return(q, chunk);
}

/* A segment is out of its queue: nobody finds it by its hint any more, or in the array. */
SIMT_FN void quarry_segments_forget(const struct quarry_segments *q, uint32_t queue, uint32_t number,
                                    uint32_t chunk)
{
    uint32_t next = quarry_segments_after(q, number, q->entries);
    /* relaxed: what lets go releases it.  A list's entry may be another's by now. */
    (void)simt_cas_u64(quarry_segments_entry(q, queue, number), quarry_segments_pair(number, chunk),
                       quarry_segments_pair(next, QUARRY_NO_INDEX), relaxed);
}

/* And its chunk goes to the store when nobody looks at it any more.
 *   peeks   here and in what calls this: a constant.  0: nobody ever calls quarry_segments_peek on these queues */
SIMT_FN void quarry_segments_retire(const struct quarry_segments *q, uint32_t queue, uint32_t number,
                                    uint32_t chunk, int peeks)
{
    quarry_segments_forget(q, queue, number, chunk);
    if (peeks)
        quarry_segments_let_go(q, chunk);
    else
        quarry_segments_return(q, chunk);
}

/* The same, where nobody looks, for one segment of each lane of a group, reconverged and synced. */
SIMT_FN void quarry_segments_retire_all(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                        uint32_t number, uint32_t chunk)
{
    quarry_segments_forget(q, queue, number, chunk);
    if (simt_rank(group) == 0) {
        quarry_chunks_begin(&q->store);
        /* release: pairs with the acquire in quarry_segments_any; the transit was begun before */
        (void)simt_sub_u32(q->segments, simt_popc_u32(group), release);
    }
    quarry_chunks_give_begun(&q->store, group, chunk);
}

/* The link of a segment, to segment `number`.
 *   to   its chunk, or QUARRY_SEGMENTS_OPEN, or QUARRY_SEGMENTS_CLOSED */
SIMT_FN uint64_t quarry_segments_link(uint32_t queue, uint32_t number, uint32_t to)
{
    return ((uint64_t)(queue + 1u) << QUARRY_SEGMENTS_NUMBER_BITS | number) << QUARRY_SEGMENTS_TO_BITS | to;
}

/* Goes on from a segment to the next one.
 *   pair   in, out: number and chunk
 *   link   out: as it was read
 * Returns whether it did: not if the link is open or closed, or if it is another segment's by now. */
SIMT_FN int quarry_segments_walk(const struct quarry_segments *q, uint32_t queue, uint64_t *pair,
                                 uint64_t *link)
{
    uint32_t number = quarry_segments_next(q, (uint32_t)(*pair >> 32)), to;
    /* acquire: pairs with the release in quarry_segments_append */
    *link = simt_load_u64(&q->link[(uint32_t)*pair], acquire);
    to = (uint32_t)*link & QUARRY_SEGMENTS_OPEN;
    if ((*link ^ quarry_segments_link(queue, number, to)) != 0 || to >= QUARRY_SEGMENTS_CLOSED)
        return 0;
    *pair = quarry_segments_pair(number, to);
    return 1;
}

/* The calling lane makes a chunk, whose slots are empty, the next segment of a list.  Lock-free.
 * Returns its number. */
SIMT_FN uint32_t quarry_segments_append(const struct quarry_segments *q, uint32_t queue, uint32_t chunk)
{
    /* acquire, here and of head: who made that segment may have written its link more than once, and all of that comes
     * before the compare-exchange below. */
    uint64_t pair = simt_load_u64(&q->ends[queue].last, acquire), link;
    for (;;) {
        uint32_t number = (uint32_t)(pair >> 32);
        if ((uint32_t)pair == QUARRY_NO_INDEX) { /* the list is empty */
            uint64_t mine = quarry_segments_pair(number, chunk);
            simt_store_u64(&q->link[chunk],
                           quarry_segments_link(queue, quarry_segments_next(q, number), QUARRY_SEGMENTS_OPEN),
                           relaxed);
            /* release: pairs with the acquires of who reads it */
            if (simt_cas_u64(&q->ends[queue].head, pair, mine, release) == pair) {
                /* release: pairs with the acquire of who begins at the last segment */
                simt_store_u64(&q->ends[queue].last, mine, release);
                return number;
            }
        } else {
            while (quarry_segments_walk(q, queue, &pair, &link))
                ;
            number = quarry_segments_next(q, (uint32_t)(pair >> 32));
            uint64_t open = quarry_segments_link(queue, number, QUARRY_SEGMENTS_OPEN);
            if (link == open) {
                simt_store_u64(
                    &q->link[chunk],
                    quarry_segments_link(queue, quarry_segments_next(q, number), QUARRY_SEGMENTS_OPEN),
                    relaxed);
                /* release: pairs with the acquires of who reads it */
                if (simt_cas_u64(&q->link[(uint32_t)pair], open, quarry_segments_link(queue, number, chunk),
                                 release) == open) {
                    simt_store_u64(&q->ends[queue].last, quarry_segments_pair(number, chunk), release);
                    return number;
                }
                continue;
            }
        }
        /* acquire: pairs with the release of quarry_segments_leave, which moves the head */
        pair = simt_load_u64(&q->ends[queue].head, acquire);
    }
}

/* What comes after the last of the segments at a list's beginning that are finished.
 *   last    that one
 *   after   out: number and chunk; QUARRY_NO_INDEX: none, and nobody will link to a segment that goes
 * Returns whether it can be told: not if it was linked, or has gone, meanwhile. */
SIMT_FN int quarry_segments_behind(const struct quarry_segments *q, uint32_t queue, uint64_t last,
                                   uint64_t *after)
{
    uint32_t chunk = (uint32_t)last, number = quarry_segments_next(q, (uint32_t)(last >> 32));
    uint64_t closed = quarry_segments_link(queue, number, QUARRY_SEGMENTS_CLOSED), link;
    *after = last;
    if (quarry_segments_walk(q, queue, after, &link))
        return 1;
    uint64_t open = quarry_segments_link(queue, number, QUARRY_SEGMENTS_OPEN);
    if (link == open) /* nobody links to a segment that goes; release: for who returns the chunk */
        link = simt_cas_u64(&q->link[chunk], open, closed, release) == open ? closed : 0;
    *after = quarry_segments_pair(number, QUARRY_NO_INDEX);
    return link == closed;
}

/* A segment of a list has been finished.  All that are so at the beginning go to the store, in their order: as many at
 * once as the group has lanes, or, where others look, one by one.  Scope: group, reconverged. */
SIMT_FN void quarry_segments_leave(const struct quarry_segments *q, uint32_t queue, uint32_t group, int peeks)
{
    for (;;) {
        uint32_t rank = simt_rank(group), done = 0, moved = 0;
        uint64_t head = 0;
        /* acq_rel, and an addition, here and of its count: either who finishes a segment sees that it is the first, or
         * who makes it the first sees that it is finished. */
        if (rank == 0)
            head = simt_add_u64(&q->ends[queue].head, 0, acq_rel);
        head = simt_shuffle_u64(group, head, simt_ctz_u32(group));
        uint32_t chunk = (uint32_t)head, number = (uint32_t)(head >> 32);
        if (!peeks)
            number = quarry_segments_after(q, number, rank);
        if (chunk == QUARRY_NO_INDEX)
            return;
        if (rank == 0) {
            done = simt_add_u32(&q->taken[chunk], 0, acq_rel) == q->size;
        } else if (peeks) { /* few are full at once: one at a time, with fewer registers */
            chunk = QUARRY_NO_INDEX;
        } else {
            /* acquire: pairs with the release of who found it; it is there as long as the head stays */
            uint64_t pair = simt_load_u64(quarry_segments_entry(q, queue, number), acquire);
            chunk = (uint32_t)(pair >> 32) == number ? (uint32_t)pair : QUARRY_NO_INDEX;
            if (chunk != QUARRY_NO_INDEX) /* acquire: who returns it has all reads of its slots behind it */
                done = simt_load_u32(&q->taken[chunk], acquire) == q->size;
        }
        uint32_t stay = simt_ballot(group, !done);
        uint32_t go =
            stay ? group & ((stay & (0u - stay)) - 1u) : group; /* those before the first that stays */
        if (go == 0)
            return;
        uint32_t last = 31u - simt_clz_u32(go); /* this lane moves the head */
        uint32_t after = simt_shuffle_u32(group, chunk, stay ? simt_ctz_u32(stay) : last);
        simt_sync(group); /* what the others have acquired is before what the new head releases */
        if (simt_lane() == last) {
            uint64_t then = quarry_segments_pair(quarry_segments_next(q, number), after);
            if ((!peeks && stay && after != QUARRY_NO_INDEX) ||
                quarry_segments_behind(q, queue, quarry_segments_pair(number, chunk), &then))
                moved = simt_cas_u64(&q->ends[queue].head, head, then, acq_rel) == head;
        }
        if (!simt_shuffle_u32(group, moved, last))
            continue;
        simt_sync(group); /* what that has acquired all know */
        if (peeks && rank == 0)
            quarry_segments_retire(q, queue, number, chunk, peeks);
        else if (!peeks && (go >> simt_lane() & 1u))
            quarry_segments_retire_all(q, queue, go, number, chunk);
        simt_sync(group);
    }
}

#endif
