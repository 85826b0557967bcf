/* SPDX-License-Identifier: Apache-2.0 */
/* The bulk semaphore: counts units of something that can grow by a batch.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 3.  With a
 * counting semaphore one thread at a time makes a new batch, and all others wait.  Here demand / batch
 * threads make batches at the same time.  docs/reference/blocks.md compares this with the paper's algorithms 1
 * and 2.
 *
 *     balance   63 ............... 30 | 29 ......... 0
 *               units free - reserved | units expected
 *     grants    units that came for those who reserved, and were not collected yet
 *
 * The paper has three counters: C, units that are there; R, units that waiters have reserved; E, units that
 * somebody has promised to make.  Here `balance` has C - R as one number with a sign, and E.
 *
 *     ask(n)       subtracts n.  What was there, the caller has.  The rest it has reserved: it is owed.
 *     wait         polls `grants` for what the caller is owed.  If more is reserved than expected, it promises
 *                  batches, and the caller makes them.
 *     signal(n)    adds n.  Of these as many as others have reserved go to `grants`.
 *     produced     signal of a promised batch; the maker keeps what it is owed itself.
 *     failed       withdraws the promise and, if nobody else's covers it, what the caller is owed.
 *     try(n)       takes n units only if they are there and nobody has reserved them.
 *
 * All but try and failed are additions, for in a loop of compare-exchanges one lane wins in each round trip.
 * The result of an addition says all that must be decided.  None to C - R is ever taken back.  A promise may
 * be: an addition to E that was not needed is subtracted again.  Until then others may wait who would promise
 * otherwise, and they look again.
 *
 * No unit is lost or made.  Let D be what is reserved and neither granted nor collected, so D = max(0, -(C -
 * R)).  All lanes together are owed D + grants (with what a signal is about to add to grants).  ask(n) raises
 * D and what the caller is owed by the same.  A signal of n lowers D by min(n, D), and adds just that to
 * grants, but for what the maker keeps, who is owed so much less.  Collecting moves units from grants to the
 * collector.  Taking more out of grants than there is, and putting that back, harms nobody: nothing is decided
 * by grants but who collects.
 *
 * Nobody waits in vain.  A lane waits while it is owed units.  If D > E it promises.  If D <= E all that is
 * reserved is expected: from lanes that make batches.  If D is 0, its units are in grants, or with a signal
 * between its two additions.  A batch that fails lowers E, and the waiters look at E again.
 *
 * Nobody is served first: units in grants go to whoever collects them.
 *
 * Order.  An addition that signals releases, one that takes or collects acquires.  All changes of a word are
 * read-modify-writes, so each continues the release sequences of all before it.  So what was done before a
 * signal happens-before what is done after any ask or try that comes later in the order of `balance`, and after
 * any collect that comes later in the order of `grants`.  Who collects has not acquired a signal that granted
 * nothing and came after its own ask.  So a unit's contents are passed on by an atomic of the unit's own, or
 * by the structure in which it is found.
 *
 * Who puts units into a structure before it signals them, and takes one out after it got one here, finds one: at
 * every instant there are as many as have been granted and not taken out.  It may be another one from one look
 * to the next, so who has seen them all and found none looks again (docs/reference/blocks.md, two stages).
 *
 * A refusal is exact.  `failed` gives up a unit only if, at one place in the modification order of `balance`,
 * more units were reserved than expected, so none was free. */
#ifndef QUARRY_CORE_SEMAPHORE_H
#define QUARRY_CORE_SEMAPHORE_H

#include "quarry/simt/simt.h"

#define QUARRY_SEMAPHORE_EXPECTED_BITS 30u
#define QUARRY_SEMAPHORE_UNIT ((uint64_t)1 << QUARRY_SEMAPHORE_EXPECTED_BITS) /* of balance */
/* Nobody promises when so many units are expected: the rest of the field is for those who promise together. */
#define QUARRY_SEMAPHORE_EXPECTED_MOST (QUARRY_SEMAPHORE_UNIT / 2)
#define QUARRY_SEMAPHORE_PROMISE_MOST 1024u        /* units, of one lane at a time: a batch, or several */
#define QUARRY_SEMAPHORE_LANES ((uint64_t)1 << 19) /* that can wait at once: more than any GPU runs */
#define QUARRY_SEMAPHORE_UNITS_MOST (~(uint64_t)0 / 2 / QUARRY_SEMAPHORE_UNIT)
#define QUARRY_SEMAPHORE_ASK_MOST ((uint32_t)1 << 14) /* units, of one lane at a time */
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_EXPECTED_MOST + QUARRY_SEMAPHORE_LANES * QUARRY_SEMAPHORE_PROMISE_MOST <=
                       QUARRY_SEMAPHORE_UNIT,
                   "promises made together fit the field");
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_LANES *QUARRY_SEMAPHORE_ASK_MOST - 1u <= QUARRY_SEMAPHORE_UNITS_MOST,
                   "what all lanes reserve fits the field");
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_UNITS_MOST > (uint64_t)80 << 26, "80 GiB of blocks of 16 bytes fit");

/* Each word has a line of its own: who collects does not slow down who asks. */
struct quarry_semaphore {
    uint64_t balance;
    uint64_t unused[15];
    uint64_t grants;
    uint64_t unused_too[15];
};

/* Units that are free, or, below 0, reserved. */
SIMT_FN int64_t quarry_semaphore_free(uint64_t balance)
{
    return (int64_t)balance >> QUARRY_SEMAPHORE_EXPECTED_BITS;
}

/* Units that are expected. */
SIMT_FN int64_t quarry_semaphore_expected(uint64_t balance)
{
    return (int64_t)(balance & (QUARRY_SEMAPHORE_UNIT - 1u));
}

/* Units that are reserved and not expected; 0 and less: none. */
SIMT_FN int64_t quarry_semaphore_uncovered(uint64_t balance)
{
    return -(quarry_semaphore_free(balance) + quarry_semaphore_expected(balance));
}

/* The most of x from 0 to n. */
SIMT_FN uint32_t quarry_semaphore_part(int64_t x, uint32_t n)
{
    if (x <= 0)
        return 0;
    return x < (int64_t)n ? (uint32_t)x : n;
}

/* Makes a semaphore of `units` units, at most QUARRY_SEMAPHORE_UNITS_MOST.  One thread calls it, before any
 * other uses the semaphore. */
SIMT_FN void quarry_semaphore_init(struct quarry_semaphore *s, uint64_t units)
{
    s->balance = units * QUARRY_SEMAPHORE_UNIT;
    s->grants = 0;
}

/* Asks for units.
 *   n   1 to QUARRY_SEMAPHORE_ASK_MOST; for all lanes of a group at once, mostly
 * Returns how many the caller has now.  It is owed the others: it must call quarry_semaphore_wait for them.
 * Never waits.  Order: acquire. */
SIMT_FN uint32_t quarry_semaphore_ask(struct quarry_semaphore *s, uint32_t n)
{
    /* acquire: pairs with the release in quarry_semaphore_add */
    uint64_t before = simt_sub_u64(&s->balance, n * QUARRY_SEMAPHORE_UNIT, acquire);
    return quarry_semaphore_part(quarry_semaphore_free(before), n);
}

/* Takes n units, or none.  Does not touch what others have reserved.
 * Returns whether it took them; if not, at some instant during the call less than n were free.
 * Progress: lock-free.  Order: acquire. */
SIMT_FN int quarry_semaphore_try(struct quarry_semaphore *s, uint32_t n)
{
    uint64_t balance = simt_load_u64(&s->balance, relaxed);
    while (quarry_semaphore_free(balance) >= (int64_t)n) {
        /* acquire: pairs with the release in quarry_semaphore_add */
        uint64_t before = simt_cas_u64(&s->balance, balance, balance - n * QUARRY_SEMAPHORE_UNIT, acquire);
        if (before == balance)
            return 1;
        balance = before;
    }
    return 0;
}

/* Adds units, keeps some of them, and grants others what they have reserved.
 *   kept       units expected no more
 *   owed       that the caller is owed
 * Returns how many of these it has now. */
SIMT_FN uint32_t quarry_semaphore_add(struct quarry_semaphore *s, uint32_t n, uint32_t kept, uint32_t owed)
{
    /* release: pairs with the acquires of quarry_semaphore_ask and quarry_semaphore_try */
    uint64_t before = simt_add_u64(&s->balance, n * QUARRY_SEMAPHORE_UNIT - kept, release);
    uint32_t granted = quarry_semaphore_part(-quarry_semaphore_free(before), n);
    uint32_t own = owed < granted ? owed : granted;
    if (granted > own) /* release: pairs with the acquire in quarry_semaphore_collect */
        (void)simt_add_u64(&s->grants, granted - own, release);
    return own;
}

/* Gives units back.
 *   n   1 to 2^31
 * What the caller did before happens-before what is done by whoever gets them.  Never waits. */
SIMT_FN void quarry_semaphore_signal(struct quarry_semaphore *s, uint32_t n)
{
    (void)quarry_semaphore_add(s, n, 0, 0);
}

/* Collects what has come for the caller.
 *   owed   that the caller is owed
 * Returns how many it has now. */
SIMT_FN uint32_t quarry_semaphore_collect(struct quarry_semaphore *s, uint32_t owed)
{
    if ((int64_t)simt_load_u64(&s->grants, relaxed) <= 0)
        return 0;
    /* acquire: pairs with the releases in quarry_semaphore_add */
    uint32_t got = quarry_semaphore_part((int64_t)simt_sub_u64(&s->grants, owed, acquire), owed);
    if (got < owed)
        (void)simt_add_u64(&s->grants, owed - got, relaxed);
    return got;
}

/* Waits for what the caller is owed.
 *   owed    in: 1 and more; out: what it still is
 *   batch   units of a batch, 1 to QUARRY_SEMAPHORE_PROMISE_MOST
 * Returns 0: the caller has all it asked for.  Otherwise it has promised so many batches, and must call
 * quarry_semaphore_produced or quarry_semaphore_failed for each; then, if it is still owed units, this again.
 * Progress: waits for lanes that make batches, and for lanes in the middle of a signal.  The caller must not
 * hold anything that these wait for.  Order: acquire. */
SIMT_FN uint32_t quarry_semaphore_wait(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch)
{
    for (;;) {
        *owed -= quarry_semaphore_collect(s, *owed);
        if (*owed == 0)
            return 0;
        uint64_t balance = simt_load_u64(&s->balance, relaxed);
        uint32_t need = quarry_semaphore_part(quarry_semaphore_uncovered(balance), *owed);
        if (need != 0 && quarry_semaphore_expected(balance) < (int64_t)QUARRY_SEMAPHORE_EXPECTED_MOST) {
            uint32_t most = QUARRY_SEMAPHORE_PROMISE_MOST / batch;
            uint32_t batches = (need + batch - 1u) / batch;
            batches = batches < most ? batches : most;
            balance = simt_add_u64(&s->balance, batches * batch, relaxed);
            need = quarry_semaphore_part(quarry_semaphore_uncovered(balance), *owed);
            uint32_t needed = (need + batch - 1u) / batch;
            needed = needed < batches ? needed : batches;
            if (needed < batches) /* others have promised meanwhile */
                (void)simt_sub_u64(&s->balance, (batches - needed) * batch, relaxed);
            if (needed != 0)
                return needed;
        }
        simt_backoff();
    }
}

/* A batch that the caller promised is made: its units are where who takes them looks for them.
 *   owed    as above: the caller keeps what it is owed
 *   batch   as in the promise */
SIMT_FN void quarry_semaphore_produced(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch)
{
    *owed -= quarry_semaphore_add(s, batch, batch, *owed);
}

/* A batch that the caller promised can't be made.
 *   owed    in: what the caller is owed; out: what it still is, as others have promised it or brought it
 *   batch   as in the promise
 * Returns how many units the caller gives up: it will not get them.  At one instant during the call none was
 * free, and less were expected than reserved.
 * Progress: lock-free. */
SIMT_FN uint32_t quarry_semaphore_failed(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch)
{
    uint64_t balance = simt_load_u64(&s->balance, relaxed);
    for (;;) {
        /* What is uncovered is reserved and not granted: an addition could give up what has come meanwhile. */
        uint32_t given_up = quarry_semaphore_part(quarry_semaphore_uncovered(balance - batch), *owed);
        uint64_t after = balance + given_up * QUARRY_SEMAPHORE_UNIT - batch;
        uint64_t before = simt_cas_u64(&s->balance, balance, after, relaxed);
        if (before == balance) {
            *owed -= given_up;
            return given_up;
        }
        balance = before;
    }
}

#endif
