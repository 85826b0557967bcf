/* SPDX-License-Identifier: Apache-2.0 */
/* Sleepable read-copy-update with delegation: readers never wait, and memory is reused when all of them that
 * could have seen it are gone.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.2.1, after
 * McKenney's SRCU.  docs/reference/blocks.md says where the paper is silent, and what is done here.
 *
 *     readers   63 ...... 48 | 47 .............. 24 | 23 .............. 0
 *               epoch        | readers, odd epochs  | readers, even epochs
 *
 * A reader adds 1 to the count of the epoch that it finds, and subtracts it when it leaves.  A writer takes
 * something out of a structure, so that new readers no longer find it, and puts a callback for it into the
 * queue.  Then it calls a barrier, which
 *
 *     locks the mutex; takes the queue; moves the epoch on by 1;
 *     waits until the count of the old epoch is 0; unlocks;
 *     returns the callbacks that it took, whose time has come.
 *
 * Delegation.  While one barrier waits for readers, and another waits for the mutex, a third would only wait
 * for more readers than it has to.  The one that waits for the mutex will take the queue before it moves the
 * epoch.  So the third leaves its callback to that one and returns.
 *
 * One flip is enough, as the epoch and the counts are one word.  A reader must know the count to add to before
 * it adds.  It guesses by a load, and the addition tells the epoch at that instant.  If the guess was wrong it
 * subtracts and adds again.  So whoever is in a section has been counted for the epoch in which it came, and a
 * count of epoch e has only readers of e: those of e - 2 were gone when the barrier that ended e - 2 returned.
 *
 * Order.  Let a writer take X out before its callback is in the queue that a barrier took.  That happens-before
 * the barrier's flip.  A reader whose addition comes after the flip in the order of `readers` acquires it, so it
 * does not find X.  One whose addition comes before is in the count that the barrier waits for.  Its
 * subtraction releases, and the barrier's load, which reads that or a later change of the word, acquires.  So
 * all it did happens-before the callbacks.
 *
 * No callback is lost.  A writer queues first and then sets `waiting` by an exchange.  If it was 1 already,
 * some barrier has not cleared it yet.  That clears it by an exchange, which comes later in the order of
 * `waiting`, so the writer's callback is in the queue when that barrier takes it, or somebody else has taken
 * it before, and has moved the epoch after that. */
#ifndef QUARRY_CORE_SRCU_H
#define QUARRY_CORE_SRCU_H

#include "quarry/core/mutex.h"
#include "quarry/simt/simt.h"

#define QUARRY_SRCU_COUNT_BITS 24u
#define QUARRY_SRCU_EPOCH_SHIFT (2u * QUARRY_SRCU_COUNT_BITS)
#define QUARRY_SRCU_EPOCH ((uint64_t)1 << QUARRY_SRCU_EPOCH_SHIFT)
SIMT_STATIC_ASSERT(QUARRY_SRCU_COUNT_BITS > 19, "more readers than lanes that any GPU runs at once");

/* A part of what is to be reused.  Its link is used when readers may still stand on the thing itself, so it is
 * none of the links that they follow. */
struct quarry_srcu_callback {
    struct quarry_srcu_callback *next;
};

/* All zeros is a fresh one. */
struct quarry_srcu {
    uint64_t readers;
    uint64_t unused[15]; /* readers have a line of their own */
    uint64_t queue;      /* address of the first callback, or 0 */
    uint32_t waiting;    /* 1: a barrier waits for the mutex, and has not taken the queue */
    struct quarry_mutex mutex;
};

/* One reader of an epoch of that parity. */
SIMT_FN uint64_t quarry_srcu_one(uint32_t parity)
{
    return (uint64_t)1 << (parity * QUARRY_SRCU_COUNT_BITS);
}

SIMT_FN uint32_t quarry_srcu_parity(uint64_t readers)
{
    return (uint32_t)(readers >> QUARRY_SRCU_EPOCH_SHIFT) & 1u;
}

/* Begins a read section, for a group.
 *   group   the caller and lanes of its warp, which all call this; counted once
 * Returns what quarry_srcu_leave wants.  Sections may be nested.
 * Progress: lock-free; a try is in vain only if an epoch ended.  Order: acquire. */
SIMT_FN uint32_t quarry_srcu_enter(struct quarry_srcu *s, uint32_t group)
{
    uint32_t parity = 0;
    if (simt_rank(group) == 0) {
        parity = quarry_srcu_parity(simt_load_u64(&s->readers, relaxed));
        /* acquire: pairs with the flip in quarry_srcu_wait */
        while (quarry_srcu_parity(simt_add_u64(&s->readers, quarry_srcu_one(parity), acquire)) != parity) {
            (void)simt_sub_u64(&s->readers, quarry_srcu_one(parity), relaxed);
            parity ^= 1u;
        }
    }
    simt_sync(group);
    return simt_shuffle_u32(group, parity, simt_ctz_u32(group));
}

/* Ends a read section.
 *   group    as in enter; all call this
 *   section  what quarry_srcu_enter returned */
SIMT_FN void quarry_srcu_leave(struct quarry_srcu *s, uint32_t group, uint32_t section)
{
    simt_sync(group);
    if (simt_rank(group) == 0) /* release: pairs with the load in quarry_srcu_wait */
        (void)simt_sub_u64(&s->readers, quarry_srcu_one(section), release);
}

/* Puts a callback into the queue.  Then the caller calls a barrier, outside of any read section. */
SIMT_FN void quarry_srcu_queue(struct quarry_srcu *s, struct quarry_srcu_callback *callback)
{
    uint64_t first = simt_load_u64(&s->queue, relaxed), before;
    for (;;) {
        callback->next = (struct quarry_srcu_callback *)(uintptr_t)first;
        /* release: pairs with the exchange in quarry_srcu_wait */
        before = simt_cas_u64(&s->queue, first, (uint64_t)(uintptr_t)callback, release);
        if (before == first)
            return;
        first = before;
    }
}

/* The part of a barrier that runs with the mutex held. */
SIMT_FN struct quarry_srcu_callback *quarry_srcu_wait(struct quarry_srcu *s)
{
    uint32_t old;
    /* acquire: pairs with the release in quarry_srcu_queue */
    uint64_t taken = simt_exchange_u64(&s->queue, 0, acquire);
    /* release: pairs with the acquire in quarry_srcu_enter; the taken callbacks stay before it */
    old = quarry_srcu_parity(simt_add_u64(&s->readers, QUARRY_SRCU_EPOCH, release));
    /* acquire: pairs with the release in quarry_srcu_leave */
    while ((simt_load_u64(&s->readers, acquire) >> (old * QUARRY_SRCU_COUNT_BITS) &
            (quarry_srcu_one(1) - 1u)) != 0)
        simt_backoff();
    quarry_mutex_release(&s->mutex);
    return (struct quarry_srcu_callback *)(uintptr_t)taken;
}

/* Waits until all readers are gone who may have seen what the queue's callbacks stand for.
 * Returns the first of the callbacks that the caller must run, or NULL.
 * A lane calls it, outside of any read section.  Progress: waits for readers, and for barriers before it. */
SIMT_FN struct quarry_srcu_callback *quarry_srcu_barrier(struct quarry_srcu *s)
{
    quarry_mutex_acquire(&s->mutex);
    return quarry_srcu_wait(s);
}

/* The same, but where another barrier waits already it returns NULL at once, and that one's caller runs the
 * caller's callbacks.  Of those who call this one waits for readers and one for the mutex, at most. */
SIMT_FN struct quarry_srcu_callback *quarry_srcu_barrier_or_delegate(struct quarry_srcu *s)
{
    /* release: pairs with the exchange below; after the callback is in the queue */
    if (simt_exchange_u32(&s->waiting, 1, release) != 0)
        return SIMT_NULL;
    quarry_mutex_acquire(&s->mutex);
    /* acquire: pairs with the exchange above; before the queue is taken */
    (void)simt_exchange_u32(&s->waiting, 0, acquire);
    return quarry_srcu_wait(s);
}

#endif
