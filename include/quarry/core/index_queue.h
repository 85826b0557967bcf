/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of numbers in a ring of slots.
 *
 * M. Winter, D. Mlakar, M. Parger, M. Steinberger, "Ouroboros: Virtualized Queues for Dynamic Memory Management on
 * GPUs", ICS 2020, algorithm 1.
 *
 *     slot    a number, or QUARRY_NO_INDEX: empty.  A ticket t belongs to slot t mod size
 *     count   numbers in slots that nobody has claimed; below 0 for a moment.  Who counts by something else,
 *             such as a bulk semaphore, leaves it alone, or to quarry_index_queue_align
 *     front   ticket of the next take
 *     back    ticket of the next put
 *
 * The paper's queue tests a counter first, and then waits until the ticket's own slot is as it must be.  Here, too,
 * who takes has claimed a number before, and who must put knows that a slot is empty.  But tickets only say where
 * to look first: nobody waits for the one who has the same slot and stands still.  A take that finds its slot
 * empty looks a few times and then at the slots around it, nearest first; a put likewise, or it gives up at once.
 * It goes around again and again, each time twice as far.  For a number may come to a slot that it has just seen empty:
 * of who went on to the end, that would cost a way around the ring.
 * Where puts may be late because their lanes are slow, a take should look behind itself first, as quarry_ouro_take_ring
 * does: to take a number that has a ticket to come leaves an empty slot for that taker, and so on without an end, while
 * the late number stays behind all of them.
 * Puts and takes have as many tickets, so mostly the ticket's own slot is the right one.  Tickets may wrap.
 *
 * No number is lost or had twice: it leaves a slot by an exchange, or by a compare-exchange that names it, and
 * enters by a compare-exchange with QUARRY_NO_INDEX.
 *
 * A take ends.  A claim is granted only when the number is in a slot (quarry_index_queue_add comes after the put), so
 * at every instant there are as many numbers in slots as claims that have not found one.  Who has looked everywhere
 * looks again; each time it was unlucky somebody else has found one.  A put ends likewise, if there are never more
 * numbers than slots.
 *
 * Order.  What was done before a put happens-before what is done after the take of that number: release and
 * acquire of its slot.  `count`, `front` and `back` are relaxed; a claim that happens-after an add finds it. */
#ifndef QUARRY_CORE_INDEX_QUEUE_H
#define QUARRY_CORE_INDEX_QUEUE_H

#include "quarry/simt/simt.h"

#define QUARRY_NO_INDEX 0xffffffffu
#define QUARRY_INDEX_QUEUE_PATIENCE 8u /* looks at the ticket's own slot */

/* What many threads change at once lies 256 bytes apart: core/semaphore.h says why. */
struct quarry_index_queue_ends {
    uint32_t count; /* with a sign */
    uint32_t unused[63];
    uint32_t front;
    uint32_t unused_too[63];
    uint32_t back;
    uint32_t unused_as_well[63];
};

struct quarry_index_queue {
    struct quarry_index_queue_ends *ends;
    uint32_t *slot;
    uint32_t mask; /* slots - 1; their number is a power of two */
};

/* Makes an empty queue.  Thread `thread` of `threads` does its share; nothing else runs.
 *   ticket   the first of either end: any */
SIMT_FN void quarry_index_queue_init(const struct quarry_index_queue *q, uint32_t ticket, uint64_t thread,
                                     uint64_t threads)
{
    if (thread == 0) {
        q->ends->count = 0;
        q->ends->front = ticket;
        q->ends->back = ticket;
    }
    for (uint64_t i = thread; i <= q->mask; i += threads)
        q->slot[i] = QUARRY_NO_INDEX;
}

/* Claims up to n numbers of a queue that is likely to have some.  Returns how many: the caller must take so many.  It
 * draws its tickets afterwards: drawn before, they would leave gaps where it gets less, and others would look far for
 * those numbers.  Never waits. */
SIMT_FN uint32_t quarry_index_queue_claim_likely(const struct quarry_index_queue *q, uint32_t n)
{
    uint32_t *count = &q->ends->count;
    int32_t before = (int32_t)simt_sub_u32(count, n, relaxed);
    uint32_t got = before <= 0 ? 0 : (uint32_t)before < n ? (uint32_t)before : n;
    if (got < n)
        (void)simt_add_u32(count, n - got, relaxed);
    return got;
}

/* The same of a queue that may have none: a look first, so that who fails changes nothing. */
SIMT_FN uint32_t quarry_index_queue_claim(const struct quarry_index_queue *q, uint32_t n)
{
    if ((int32_t)simt_load_u32(&q->ends->count, relaxed) <= 0)
        return 0;
    return quarry_index_queue_claim_likely(q, n);
}

/* Says that n numbers more are in slots, or that so many claims are given back. */
SIMT_FN void quarry_index_queue_add(const struct quarry_index_queue *q, uint32_t n)
{
    (void)simt_add_u32(&q->ends->count, n, relaxed);
}

/* Draws n tickets of takes.  Returns the first. */
SIMT_FN uint32_t quarry_index_queue_front(const struct quarry_index_queue *q, uint32_t n)
{
    return simt_add_u32(&q->ends->front, n, relaxed);
}

/* Draws n tickets of puts.  Returns the first. */
SIMT_FN uint32_t quarry_index_queue_back(const struct quarry_index_queue *q, uint32_t n)
{
    return simt_add_u32(&q->ends->back, n, relaxed);
}

/* How far the n-th look goes, n >= 1, of who goes around again and again, each time twice as far: 0; 0, 1; 0, 1, 2, 3;
 * and so on. */
SIMT_FN uint32_t quarry_index_queue_round(uint32_t n)
{
    return n & ~(0x80000000u >> simt_clz_u32(n));
}

/* The slot of a ticket for who looks for the (vain + 1)-th time: its own, then rounds of t, t + 1, t - 1, t + 2, ... */
SIMT_FN uint32_t quarry_index_queue_at(const struct quarry_index_queue *q, uint32_t ticket, uint32_t vain)
{
    uint32_t step = 0;
    if (vain >= QUARRY_INDEX_QUEUE_PATIENCE)
        step = quarry_index_queue_round(vain - QUARRY_INDEX_QUEUE_PATIENCE + 1u);
    return (ticket + (step & 1u ? step / 2u + 1u : 0u - step / 2u)) & q->mask;
}

/* Waits a little after a look in vain, but not after each when looking around.
 *   patience   as above; else QUARRY_INDEX_QUEUE_PATIENCE */
SIMT_FN void quarry_index_queue_rest(uint32_t vain, uint32_t patience)
{
    if (vain < patience || vain % QUARRY_INDEX_QUEUE_PATIENCE == 0)
        simt_backoff();
}

/* Takes the number in slot `at`, or returns QUARRY_NO_INDEX.
 *   first   it is mostly there: without a look before */
SIMT_FN uint32_t quarry_index_queue_take_try(const struct quarry_index_queue *q, uint32_t at, int first)
{
    if (!first && simt_load_u32(&q->slot[at], relaxed) == QUARRY_NO_INDEX)
        return QUARRY_NO_INDEX;
    /* acquire: pairs with the release in quarry_index_queue_put_try */
    return simt_exchange_u32(&q->slot[at], QUARRY_NO_INDEX, acquire);
}

/* Takes the number of a claim.  Progress: see above; waits for nobody who stands still. */
SIMT_FN uint32_t quarry_index_queue_take(const struct quarry_index_queue *q, uint32_t ticket)
{
    for (uint32_t vain = 0;; vain++) {
        uint32_t index = quarry_index_queue_take_try(q, quarry_index_queue_at(q, ticket, vain), vain == 0);
        if (index != QUARRY_NO_INDEX)
            return index;
        quarry_index_queue_rest(vain, QUARRY_INDEX_QUEUE_PATIENCE);
    }
}

/* Puts a number into slot `at`.  Returns whether that was empty. */
SIMT_FN int quarry_index_queue_put_try(const struct quarry_index_queue *q, uint32_t at, uint32_t index)
{
    /* release: pairs with the acquires of the takes */
    return simt_cas_u32(&q->slot[at], QUARRY_NO_INDEX, index, release) == QUARRY_NO_INDEX;
}

/* The same of who has fenced what the number is for. */
SIMT_FN int quarry_index_queue_put_fenced(const struct quarry_index_queue *q, uint32_t at, uint32_t index)
{
    return simt_cas_u32(&q->slot[at], QUARRY_NO_INDEX, index, fenced) == QUARRY_NO_INDEX;
}

/* Puts a number into a queue that has an empty slot for it. */
SIMT_FN void quarry_index_queue_put(const struct quarry_index_queue *q, uint32_t ticket, uint32_t index)
{
    for (uint32_t vain = 0; !quarry_index_queue_put_try(q, quarry_index_queue_at(q, ticket, vain), index);
         vain++)
        quarry_index_queue_rest(vain, QUARRY_INDEX_QUEUE_PATIENCE);
}

/* What lies in slot `at`, as a hint: it may be gone at once. */
SIMT_FN uint32_t quarry_index_queue_peek(const struct quarry_index_queue *q, uint32_t at)
{
    return simt_load_u32(&q->slot[at], relaxed);
}

/* The ticket of the oldest number: the first one of those that lie together just before `back`.  A guess.
 *   oldest   out
 * Returns whether any was seen.  Never waits. */
SIMT_FN int quarry_index_queue_oldest(const struct quarry_index_queue *q, uint32_t *oldest)
{
    uint32_t newest = simt_load_u32(&q->ends->back, relaxed), skip = 1, some = 0, none = 1;
    while (skip <= q->mask && quarry_index_queue_peek(q, (newest - skip) & q->mask) == QUARRY_NO_INDEX)
        skip *= 2u; /* late ones, or gone */
    newest -= skip;
    if (skip > q->mask)
        return 0;
    while (none <= q->mask && quarry_index_queue_peek(q, (newest - none) & q->mask) != QUARRY_NO_INDEX) {
        some = none;
        none *= 2u;
    }
    while (none - some > 1u) {
        uint32_t middle = some + (none - some) / 2u;
        if (quarry_index_queue_peek(q, (newest - middle) & q->mask) != QUARRY_NO_INDEX)
            some = middle;
        else
            none = middle;
    }
    *oldest = newest - some;
    return 1;
}

/* Do two slots, or the slots of two tickets, lie farther apart than late puts and takes can explain?  That is a 64th of
 * the ring, either way around. */
SIMT_FN int quarry_index_queue_apart(const struct quarry_index_queue *q, uint32_t one, uint32_t other)
{
    uint32_t far = q->mask / 64u;
    return ((one - other) & q->mask) > far && ((other - one) & q->mask) > far;
}

/* Moves `front` on to the oldest number if that is far away, for who has found its number far from its own slot.  Of a
 * queue that may be full, and whose units may be elsewhere, puts and takes draw tickets that they do not use.  So in
 * the end all takes would look for numbers far away.  For numbers that are near nothing is moved: of many who come at
 * once some are always late, and who moved `front` for these would send all after them to the wrong slots.
 * Only one of those who find it so moves it.  `count` is the ticket to which it was moved last, so the queue must be
 * one that counts by something else.
 *   ticket   the caller's
 * Returns whether it was moved, since the caller drew its ticket.  Never waits. */
SIMT_FN int quarry_index_queue_align(const struct quarry_index_queue *q, uint32_t ticket)
{
    uint32_t *aligned = &q->ends->count, *front = &q->ends->front, oldest;
    uint32_t last = simt_load_u32(aligned, relaxed), now = simt_load_u32(front, relaxed);
    if (last - ticket - 1u < now - ticket)
        return 1;
    if (!quarry_index_queue_oldest(q, &oldest))
        return 0;
    now = simt_load_u32(front, relaxed);
    uint32_t ahead = (oldest - now) & q->mask;
    if (!quarry_index_queue_apart(q, oldest, now))
        return 0;
    if (simt_cas_u32(aligned, last, now + ahead, relaxed) == last)
        (void)simt_add_u32(front, ahead, relaxed);
    return 1;
}

/* Takes a number out of the middle.
 *   at   where the caller has seen it put; it may be gone since
 * Returns whether it took it.  Never waits. */
SIMT_FN int quarry_index_queue_remove(const struct quarry_index_queue *q, uint32_t at, uint32_t index)
{
    if (quarry_index_queue_claim(q, 1) == 0)
        return 0;
    /* acquire: pairs with the release in quarry_index_queue_put_try */
    if (simt_cas_u32(&q->slot[at], index, QUARRY_NO_INDEX, acquire) != index) {
        quarry_index_queue_add(q, 1);
        return 0;
    }
    (void)quarry_index_queue_front(q, 1); /* puts and takes have as many tickets */
    return 1;
}

#endif
