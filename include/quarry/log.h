/* SPDX-License-Identifier: Apache-2.0 */
/* The device's side of a recording: each malloc and free of a recorded heap leaves an event in a log, which
 * the host empties between launches (trace.h).  Included by allocate.h if QUARRY_TRACE is defined; without it
 * malloc and free are what they were, to the instruction.
 *
 * The log is an array in memory of the target.  An event's place in it is its ticket, drawn from one counter:
 *
 *     counters.log ---> tickets | room | events ---> | event 0 | event 1 | - - | event room - 1 |
 *
 * A ticket past the room is an event that is lost; the host sees how many there were.
 *
 * Order.  A malloc draws its ticket after the allocator's malloc, a free before the allocator's free.  So the
 * tickets of events of one block are in the order in which these happened:
 *
 *   malloc, free   The user makes the malloc happen before the free, so one ticket's draw happens before the
 *                  other's.
 *   free, malloc   Every allocator makes what comes before a free happen before what the next owner of its
 *                  memory does after its malloc (the platform's own as the platform promises it): again
 *                  one draw before the other.
 *
 * So of two events of one block, one draw happens before the other.  Both draws change the same word.  That
 * word's modification order has changes in the order in which they happen, also if they are relaxed.  So
 * tickets are drawn relaxed.  If a free drew its ticket after the allocator's free, the block's next owner
 * could draw first.  For events of different blocks, the tickets are one order in which they can have
 * happened.
 *
 * The events themselves are plain memory: the host reads them when the launch has ended. */
#ifndef QUARRY_LOG_H
#define QUARRY_LOG_H

#include "quarry/handle.h"
#include "quarry/simt/simt.h"

/* Notes a malloc or free of the calling lane.
 *   block  malloc: what it returns
 *   bytes  malloc: what it was asked for; 0: this is a free */
SIMT_FN void quarry_log_note(const struct quarry_handle *heap, const void *block, uint64_t bytes)
{
    struct quarry_log *log = heap->counters ? heap->counters->log : (struct quarry_log *)SIMT_NULL;
    uint64_t ticket;
    if (!log)
        return;
    ticket = simt_add_u64(&log->tickets, 1, relaxed); /* Order: above */
    if (ticket < log->room) {
        struct quarry_log_event *event = log->events + ticket;
        event->block = (uint64_t)(uintptr_t)block;
        event->bytes = bytes;
        event->thread = simt_thread();
    }
}

#endif
