/* SPDX-License-Identifier: Apache-2.0 */
/* What the queues of core/segments.h are made of, which also says how it all works. */
#ifndef QUARRY_CORE_SEGMENTS_SHAPE_H
#define QUARRY_CORE_SEGMENTS_SHAPE_H

#include "quarry/core/chunks.h"
#include "quarry/core/index_queue.h"
#include "quarry/simt/simt.h"

#define QUARRY_SEGMENTS_SKIP 0xfffffffeu /* in a slot: no number, look elsewhere */
#define QUARRY_SEGMENTS_PATIENCE 16u
#define QUARRY_SEGMENTS_BEFORE_WRAP 4u /* segments: there a queue begins */
#define QUARRY_SEGMENTS_HINTS 64u      /* entries of a list's directory */
#define QUARRY_SEGMENTS_NUMBER_BITS 30u
#define QUARRY_SEGMENTS_TO_BITS 27u
#define QUARRY_SEGMENTS_OPEN ((1u << QUARRY_SEGMENTS_TO_BITS) - 1u)   /* of a link: no next one yet */
#define QUARRY_SEGMENTS_CLOSED ((1u << QUARRY_SEGMENTS_TO_BITS) - 2u) /* and there will be none */
SIMT_STATIC_ASSERT(QUARRY_CHUNKS_MOST <= QUARRY_SEGMENTS_CLOSED, "a link has room for a chunk");
#define QUARRY_SEGMENTS_HELD ((uint32_t)1 << 31) /* of readers: a segment that is not returned yet */
#define QUARRY_SEGMENTS_ROOM_BIAS ((uint32_t)1 << 31)
#define QUARRY_SEGMENTS_ASKED ((uint64_t)1 << 32) /* of room: one slot was asked for */

/* Of one queue.  What many threads change at once lies 256 bytes apart. */
struct quarry_segments_ends {
    struct quarry_index_queue_ends queue;
    uint64_t room;
    uint64_t unused[31];
    uint32_t tail; /* of the array, as the next three */
    uint32_t unused_too[63];
    uint32_t next, spare, reach;
    uint32_t unused_as_well[61];
    uint64_t head; /* of the list, and of its last segment that was seen */
    uint64_t last;
    uint64_t unused_at_last[30];
};

/* All queues that share a store.  Functions take one by its number. */
struct quarry_segments {
    struct quarry_segments_ends *ends; /* of each queue */
    uint64_t *directory;               /* all of them */
    uint32_t mask;                     /* entries of a queue's - 1 */
    uint32_t list;                     /* lists, 127 of them at most; else arrays */
    uint64_t *link;                    /* of each chunk; of lists */
    uint32_t *taken;                   /* of each chunk */
    uint32_t *readers;                 /* of each chunk; NULL: nobody looks at what he has no position of */
    uint32_t *segments;                /* that are in queues */
    struct quarry_chunks store;
    unsigned char *base; /* of chunk 0; NULL: chunks may not be used, so there is never any room */
    uint64_t stride;     /* bytes from one chunk to the next */
    /* Read, not computed: a kernel would compute each once, and have a register for it all the time. */
    uint32_t shift, size, slots; /* a segment has size = 2^shift slots; mask of a slot's number */
    uint32_t numbers;            /* mask of a segment's number */
    uint32_t start;              /* the first position */
    uint32_t entries;            /* of a queue */
};

#if SIMT_HAS_HOST
/* Fills in what follows from the numbers of slots of a segment, 2^shift, and of entries of each queue. */
SIMT_HOST_FN void quarry_segments_shape(struct quarry_segments *q, uint32_t shift, uint32_t entries)
{
    q->shift = shift;
    q->size = 1u << shift;
    q->slots = q->size - 1u;
    q->numbers = ~0u >> shift;
    q->start = 0u - (QUARRY_SEGMENTS_BEFORE_WRAP << shift);
    q->entries = entries;
    q->mask = entries - 1u;
}
#endif

/* The queue's tickets. */
SIMT_FN struct quarry_index_queue quarry_segments_tickets(const struct quarry_segments *q, uint32_t queue)
{
    struct quarry_index_queue tickets = {&q->ends[queue].queue, SIMT_NULL, 0};
    return tickets;
}

SIMT_FN uint64_t *quarry_segments_entry(const struct quarry_segments *q, uint32_t queue, uint32_t number)
{
    return &q->directory[(uint64_t)queue * q->entries + (number & q->mask)];
}

/* Makes an empty queue.  Thread `thread` of `threads` does its share; nothing else runs. */
SIMT_FN void quarry_segments_init(const struct quarry_segments *q, uint32_t queue, uint64_t thread,
                                  uint64_t threads)
{
    uint32_t ticket = q->start, first = ticket >> q->shift;
    if (thread == 0) {
        q->ends[queue].queue.count = 0;
        q->ends[queue].queue.front = ticket;
        q->ends[queue].queue.back = ticket;
        q->ends[queue].room = (uint64_t)ticket << 32 | QUARRY_SEGMENTS_ROOM_BIAS;
        q->ends[queue].tail = first;
        q->ends[queue].next = first;
        q->ends[queue].reach = first;
        q->ends[queue].spare = q->entries;
        q->ends[queue].head = (uint64_t)first << 32 | QUARRY_NO_INDEX;
        q->ends[queue].last = q->ends[queue].head;
    }
    for (uint64_t i = thread; i <= q->mask; i += threads) { /* of the first numbers, each in its entry */
        uint32_t number = (first + (uint32_t)i) & q->numbers;
        *quarry_segments_entry(q, queue, number) = (uint64_t)number << 32 | QUARRY_NO_INDEX;
    }
}

/* No chunk is a segment, and no queue has one.  Likewise; it comes before the queues. */
SIMT_FN void quarry_segments_init_all(const struct quarry_segments *q, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        *q->segments = 0;
    for (uint64_t i = thread; q->base && i < q->store.count; i += threads) {
        if (q->readers)
            q->readers[i] = 0;
        if (q->list)
            q->link[i] = 0;
    }
}

SIMT_FN uint32_t *quarry_segments_slots(const struct quarry_segments *q, uint32_t chunk)
{
    return (uint32_t *)(void *)(q->base + chunk * q->stride);
}

/* Number and chunk in one word, as in an entry of a directory. */
SIMT_FN uint64_t quarry_segments_pair(uint32_t number, uint32_t chunk)
{
    return (uint64_t)number << 32 | chunk;
}

/* Number of the segment that comes n after another. */
SIMT_FN uint32_t quarry_segments_after(const struct quarry_segments *q, uint32_t number, uint32_t n)
{
    return (number + n) & q->numbers;
}

SIMT_FN uint32_t quarry_segments_next(const struct quarry_segments *q, uint32_t number)
{
    return quarry_segments_after(q, number, 1);
}

#endif
