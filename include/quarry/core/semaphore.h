/* SPDX-License-Identifier: Apache-2.0 */
/* The bulk semaphore: counts units of something that can grow by a batch.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 3.  With a
 * counting semaphore one thread at a time makes a new batch, and all others wait.  Here demand / batch
 * threads make batches at the same time.  docs/reference/blocks.md compares this with the paper's algorithms 1
 * and 2.
 *
 *     units     units that are there, to be taken; below 0 for a moment
 *     balance   63 ............... 30 | 29 ......... 0
 *               units there - reserved | units expected
 *
 * The paper has three counters: C, units that are there; R, units that waiters have reserved; E, units that
 * somebody has promised to make.  Here `units` is C, and `balance` has C - R as one number with a sign, and E.
 *
 *     ask(n)       takes from `units` what is there, up to n, and subtracts n from C - R.  What it did not get it
 *                  has reserved: it is owed.
 *     wait         polls `units` for what the caller is owed.  If more is reserved than there and expected, it
 *                  promises batches, and the caller makes them.
 *     signal(n)    adds n to both.
 *     produced     signal of a promised batch; the maker keeps what it is owed itself.
 *     failed       withdraws the promise and, if nobody else's covers it, what the caller is owed.
 *     try(n)       takes n units only if they are there and nobody has reserved them.
 *
 * All are additions, for in a loop of compare-exchanges one lane wins in each round trip.  Who took more out of
 * `units` than there was, puts it back: until then others find less there, and look again.  A promise too many is
 * withdrawn likewise.  Only `units` gives units, and only `balance` decides who makes a batch and who is
 * refused.  So nothing is decided by a number that is put back afterwards.
 *
 * No unit is lost or made.  A lane has got what a subtraction from `units` found there.  Puts and takes of
 * `units` are one order, in which it is what was signalled less what was got and less what will be put back.
 *
 * Nobody waits in vain.  Let V be what C - R would be if each call were one step.  Takers change `units` first,
 * those who signal change `balance` first, and who gives up a unit that it reserves again adds first.  So
 * balance's number is V or, for a moment, more.  A lane waits while it is owed units.  If V + E is below 0, that
 * is seen in the end, and it promises.  Else all that is reserved is there, or on its way into `units`, or
 * expected from lanes that make batches.  A batch that fails lowers E, and the waiters look at E again.
 *
 * Where batches can't be made, all who wait are to know soon.  A maker gives up what it is owed itself; others are
 * covered by the promises of others.  `failing` tells them to promise only what they are owed, so that all of
 * them try at the same time, and none is covered by a promise that is not its own.  It decides nothing else.
 *
 * Nobody is served first: units go to whoever takes them, also who asks later.  Then what the other is owed is
 * not covered any more, and it promises.
 *
 * `units` also counts how often units have come.  A lane that is owed one and goes on to another semaphore may be
 * covered while it is away.  Then somebody may take away what is there beside, by `try`, and somebody who asks later
 * the lane's.  When it is back nothing is there, as in the other semaphore before, and yet at no instant both had
 * nothing.  So who refuses a lane for what several semaphores have said compares the counts: quarry_semaphore_since.
 *
 * Searches.  Where a refusal costs much, and many are refused, they need not all go the way to it.  Those who see that
 * nothing is there, and have given up what they asked for, come to `search`: of them one at a time asks, and the others
 * wait with nothing in hand.  A search that began after they came, and was refused, is theirs, too.
 *     Why that is exact.  The waiter has reserved nothing and has no claim, so what the search found to be nobody's or
 * others' was that for the waiter, too.  All of the search lies within the waiter's call, for it began later.  "Later"
 * is the order of changes of `searches`: the waiter's first look is a change, with release, and the next search begins
 * by one that acquires.  So what was free before the waiter's call is free for that search, though another lane goes
 * it.  `refused` has the number of the last search that found nothing; numbers only grow, as the end of a search
 * releases and the beginning of the next one acquires.  Who waits has the number of the search that went on when it
 * came, or went on last: only a larger one counts.
 *     Why nobody waits in vain.  Who waits holds nothing, so nobody waits for it.  A search that found something ends,
 * and the next who waits looks for itself, or begins another.  A lane that asked again, and gave that up, waits anew
 * from then on: a search may have been refused what the lane itself had a claim to.  Lanes that ask together are
 * refused together: what the leader could not have they could not either.
 *
 * Order.  An addition of a signal to `units` releases, a subtraction that takes from it acquires.  All changes are
 * read-modify-writes, so each continues the release sequences of all before it: what was done before a signal
 * happens-before what is done after every take that comes later in the order of `units`.  `balance` is relaxed.
 *
 * So who puts units into a structure before it signals them, and takes one out after it got one here, finds one: at
 * every instant there are as many as have been got and not taken out.  It may be another one from one look
 * to the next, so who has seen them all and found none looks again (docs/reference/blocks.md, two stages).
 *
 * A refusal is exact.  `failed` gives up a unit only if, at one place in the modification order of `balance`,
 * more units were reserved than were there and expected; and what balance says is never too little.  A signal that
 * happens-before the refusal has changed `balance` before. */
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
#define QUARRY_SEMAPHORE_CHANGES_BITS 28u
#define QUARRY_SEMAPHORE_CHANGES (1u << QUARRY_SEMAPHORE_CHANGES_BITS) /* are counted: modulo so many */
#define QUARRY_SEMAPHORE_CHANGE ((uint64_t)1 << (64u - QUARRY_SEMAPHORE_CHANGES_BITS)) /* of units */
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_UNITS_MOST <= QUARRY_SEMAPHORE_CHANGE / 4, "units with a sign fit");
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_UNITS_MOST > (uint64_t)80 << 26, "80 GiB of blocks of 16 bytes fit");

/* On an H100 words that are 256 bytes apart change at the same time, and 128 bytes apart not always. */
struct quarry_semaphore {
    uint64_t units; /* 63..36: changes, modulo 2^28; 35..0: units there, with a sign */
    uint64_t unused[15];
    uint64_t searches; /* twice the number of the last search, and 1 while it goes on */
    uint64_t refused;  /* likewise, of the last one that found nothing: with the 1 */
    uint64_t full; /* of core/buddy.h's top order: a hint: who asked for more than was there was refused */
    uint64_t unused_more[13];
    uint64_t balance;
    uint64_t failing; /* not 0: the last batch could not be made */
    uint64_t unused_too[30];
};

/* Units that are there; below 0: that will be put back. */
SIMT_FN int64_t quarry_semaphore_there(uint64_t units)
{
    return (int64_t)(units * QUARRY_SEMAPHORE_CHANGES) >> QUARRY_SEMAPHORE_CHANGES_BITS;
}

/* How often units have come, modulo QUARRY_SEMAPHORE_CHANGES. */
SIMT_FN uint32_t quarry_semaphore_changes(uint64_t units)
{
    return (uint32_t)((units + QUARRY_SEMAPHORE_CHANGE / 2) / QUARRY_SEMAPHORE_CHANGE);
}

/* Units that nobody has reserved; below 0: that are reserved and not there. */
SIMT_FN int64_t quarry_semaphore_free(uint64_t balance)
{
    return (int64_t)balance >> QUARRY_SEMAPHORE_EXPECTED_BITS;
}

/* Units that are expected. */
SIMT_FN int64_t quarry_semaphore_expected(uint64_t balance)
{
    return (int64_t)(balance & (QUARRY_SEMAPHORE_UNIT - 1u));
}

/* Units that are reserved, and neither there nor expected; 0 and less: none. */
SIMT_FN int64_t quarry_semaphore_uncovered(uint64_t balance)
{
    return -(quarry_semaphore_free(balance) + quarry_semaphore_expected(balance));
}

/* Units that are there or expected, and not reserved.  Others may use the semaphore. */
SIMT_FN uint64_t quarry_semaphore_coming(const struct quarry_semaphore *s)
{
    int64_t uncovered = quarry_semaphore_uncovered(simt_load_u64(&s->balance, relaxed));
    return uncovered < 0 ? (uint64_t)-uncovered : 0;
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
    simt_assert(units <= QUARRY_SEMAPHORE_UNITS_MOST);
    s->units = units;
    s->failing = 0;
    s->searches = s->refused = s->full = 0;
    s->balance = units * QUARRY_SEMAPHORE_UNIT;
}

/* Of a semaphore that nobody uses: is nothing reserved or expected, and the same number in both words? */
SIMT_FN int quarry_semaphore_is_idle(const struct quarry_semaphore *s)
{
    return simt_load_u64(&s->balance, relaxed) ==
           (uint64_t)quarry_semaphore_there(simt_load_u64(&s->units, relaxed)) * QUARRY_SEMAPHORE_UNIT;
}

/* Takes up to n units that are there.  The caller has reserved them, or says so afterwards.
 * Returns how many it has now. */
SIMT_FN uint32_t quarry_semaphore_take(struct quarry_semaphore *s, uint32_t n)
{
    /* acquire: pairs with the release in quarry_semaphore_add */
    uint32_t got = quarry_semaphore_part(quarry_semaphore_there(simt_sub_u64(&s->units, n, acquire)), n);
    if (got < n)
        (void)simt_add_u64(&s->units, n - got, relaxed);
    return got;
}

/* Asks for units.
 *   n   1 to QUARRY_SEMAPHORE_ASK_MOST; for all lanes of a group at once, mostly
 * Returns how many the caller has now.  It is owed the others: it must call quarry_semaphore_wait for them.
 * Never waits.  Order: acquire. */
SIMT_FN uint32_t quarry_semaphore_ask(struct quarry_semaphore *s, uint32_t n)
{
    simt_assert(n <= QUARRY_SEMAPHORE_ASK_MOST);
    uint32_t got = quarry_semaphore_take(s, n);
    (void)simt_sub_u64(&s->balance, n * QUARRY_SEMAPHORE_UNIT, relaxed);
    return got;
}

/* Takes n units, or none.  Leaves there what others have reserved before the call.  In the middle of
 * quarry_semaphore_failed it may take what that call's lane is owed.
 *   n   1 and more
 * Returns whether it took them; if not, at some instant during the call less than n were free.
 * Progress: waits for lanes that are in the middle of a call.  Order: acquire. */
SIMT_FN int quarry_semaphore_try(struct quarry_semaphore *s, uint32_t n)
{
    while (quarry_semaphore_free(simt_load_u64(&s->balance, relaxed)) >= (int64_t)n) {
        /* Who sees less in `units` subtracts nothing.  So of those who try one always gets on. */
        if (quarry_semaphore_there(simt_load_u64(&s->units, relaxed)) >= (int64_t)n) {
            /* acquire: pairs with the release in quarry_semaphore_add */
            if (quarry_semaphore_there(simt_sub_u64(&s->units, n, acquire)) >= (int64_t)n) {
                (void)simt_sub_u64(&s->balance, n * QUARRY_SEMAPHORE_UNIT, relaxed);
                return 1;
            }
            (void)simt_add_u64(&s->units, n, relaxed);
        }
        simt_backoff(); /* units are free, and on their way */
    }
    return 0;
}

/* Adds units.
 *   kept       of them, that the caller keeps, as it is owed so many
 *   expected   units that are expected no more */
SIMT_FN void quarry_semaphore_add(struct quarry_semaphore *s, uint32_t n, uint32_t kept, uint32_t expected)
{
    (void)simt_add_u64(&s->balance, n * QUARRY_SEMAPHORE_UNIT - expected, relaxed);
    if (n > kept) /* release: pairs with the acquires of quarry_semaphore_take and quarry_semaphore_try */
        (void)simt_add_u64(&s->units, QUARRY_SEMAPHORE_CHANGE + (n - kept), release);
}

/* Gives units back.
 *   n   1 to 2^31
 * What the caller did before happens-before what is done by whoever gets them.  Never waits. */
SIMT_FN void quarry_semaphore_signal(struct quarry_semaphore *s, uint32_t n)
{
    quarry_semaphore_add(s, n, 0, 0);
}

/* Takes what has come for the caller: to wait without growing, call it in a loop with simt_backoff, and ask for one
 * unit at a time: lanes that hold a part of what they asked for would wait for each other.
 *   owed    that the caller is owed
 * Returns how many it has now. */
SIMT_FN uint32_t quarry_semaphore_collect(struct quarry_semaphore *s, uint32_t owed)
{
    return quarry_semaphore_there(simt_load_u64(&s->units, relaxed)) > 0 ? quarry_semaphore_take(s, owed) : 0;
}

/* As quarry_semaphore_poll.
 *   seen   out: how often units had come, before the caller promised: for quarry_semaphore_since */
SIMT_FN uint32_t quarry_semaphore_look(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch,
                                       uint32_t *seen)
{
    simt_assert(batch - 1u < QUARRY_SEMAPHORE_PROMISE_MOST);
    /* All three are under way at once.  Each may be out of date: changes decide. */
    uint64_t units = simt_load_u64(&s->units, relaxed);
    uint64_t failing = simt_load_u64(&s->failing, relaxed), balance = simt_load_u64(&s->balance, relaxed);
    *seen = quarry_semaphore_changes(units);
    if (quarry_semaphore_there(units) > 0)
        *owed -= quarry_semaphore_take(s, *owed);
    if (*owed == 0)
        return 0;
    /* Where batches fail each waiter promises what it is owed and no more: else all but one would wait for that
     * one, and then for the next. */
    uint32_t unit = failing ? 1 : batch, most = QUARRY_SEMAPHORE_PROMISE_MOST / unit;
    uint32_t need = quarry_semaphore_part(quarry_semaphore_uncovered(balance), *owed);
    if (need == 0 || quarry_semaphore_expected(balance) >= (int64_t)QUARRY_SEMAPHORE_EXPECTED_MOST)
        return 0;
    uint32_t parts = (need + unit - 1u) / unit;
    parts = parts < most ? parts : most;
    balance = simt_add_u64(&s->balance, parts * unit, relaxed);
    need = quarry_semaphore_part(quarry_semaphore_uncovered(balance), *owed);
    uint32_t needed = (need + unit - 1u) / unit;
    needed = needed < parts ? needed : parts;
    if (needed < parts) /* others have promised meanwhile */
        (void)simt_sub_u64(&s->balance, (parts - needed) * unit, relaxed);
    return needed * unit;
}

/* One look of quarry_semaphore_wait: takes what has come for the caller, and promises what nobody makes.
 *   owed, batch   as there
 * Returns how many units it has promised now, mostly 0.  Never waits.  Order: acquire. */
SIMT_FN uint32_t quarry_semaphore_poll(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch)
{
    uint32_t seen;
    return quarry_semaphore_look(s, owed, batch, &seen);
}

/* Waits for what the caller is owed.
 *   owed    in: 1 and more; out: what it still is
 *   batch   units of a batch, 1 to QUARRY_SEMAPHORE_PROMISE_MOST
 * Returns 0: the caller has all it asked for.  Otherwise it has promised so many units, and must call
 * quarry_semaphore_produced or quarry_semaphore_failed until it has promised none; then, if it is still owed
 * units, this again.
 * Progress: waits for lanes that make batches, and for lanes in the middle of a signal.  The caller must not
 * hold anything that these wait for.  Order: acquire. */
SIMT_FN uint32_t quarry_semaphore_wait(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch)
{
    for (;; simt_backoff()) {
        uint32_t promised = quarry_semaphore_poll(s, owed, batch);
        if (promised || *owed == 0)
            return promised;
    }
}

/* A batch is made: its units are where who takes them looks for them.
 *   owed      in, out: what the caller is owed; it keeps that
 *   batch     as above
 *   promised  in: what the caller has promised, not 0; out: what it still has */
SIMT_FN void quarry_semaphore_produced(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch,
                                       uint32_t *promised)
{
    uint32_t kept = *owed < batch ? *owed : batch, part = *promised < batch ? *promised : batch;
    quarry_semaphore_add(s, batch, kept, part);
    *owed -= kept;
    *promised -= part;
    if (simt_load_u64(&s->failing, relaxed))
        simt_store_u64(&s->failing, 0, relaxed);
}

/* A batch can't be made, as quarry_semaphore_failed says, but others go on to promise whole batches.  So all units
 * that will come are expected before who makes them has begun: quarry_buddy_take needs that.  A semaphore has either
 * this or quarry_semaphore_failed.
 *   owed, batch, promised   as quarry_semaphore_failed
 * Returns how many units the caller gives up.  Never waits. */
SIMT_FN uint32_t quarry_semaphore_withdraw(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch,
                                           uint32_t *promised)
{
    uint32_t part = *promised < batch ? *promised : batch;
    /* relaxed: it takes and gives nothing.  All that the caller has reserved is given up at once; what is covered
     * it reserves again.  So C - R is too much in between, and never too little. */
    uint64_t before = simt_add_u64(&s->balance, *owed * QUARRY_SEMAPHORE_UNIT - part, relaxed);
    uint32_t given_up = quarry_semaphore_part(quarry_semaphore_uncovered(before - part), *owed);
    *owed -= given_up;
    *promised -= part;
    if (*owed)
        (void)simt_sub_u64(&s->balance, *owed * QUARRY_SEMAPHORE_UNIT, relaxed);
    return given_up;
}

/* A batch can't be made.
 *   owed, batch, promised   as above; *owed is in the end what others have promised it or brought it
 * Returns how many units the caller gives up: it will not get them.  At one instant during the call none was
 * free, and less were expected than reserved.  Who makes a batch where batches fail has not announced all of it,
 * so more may have been on its way: quarry_semaphore_withdraw.  Never waits. */
SIMT_FN uint32_t quarry_semaphore_failed(struct quarry_semaphore *s, uint32_t *owed, uint32_t batch,
                                         uint32_t *promised)
{
    if (!simt_load_u64(&s->failing, relaxed))
        simt_store_u64(&s->failing, 1, relaxed);
    return quarry_semaphore_withdraw(s, owed, batch, promised);
}

/* Gives up what the caller is owed and what it has promised, though it was not refused: it must ask again.  Others may
 * be covered by that for a moment, so it counts as if units had come.  Never waits. */
SIMT_FN void quarry_semaphore_leave(struct quarry_semaphore *s, uint32_t owed, uint32_t promised)
{
    (void)simt_add_u64(&s->balance, owed * QUARRY_SEMAPHORE_UNIT - promised, relaxed);
    (void)simt_add_u64(&s->units, QUARRY_SEMAPHORE_CHANGE, relaxed);
}

/* The caller has just given up what it was owed, by quarry_semaphore_withdraw.
 *   seen   what quarry_semaphore_look has told when it promised
 * Returns how often units have come since, modulo QUARRY_SEMAPHORE_CHANGES: if not 0 the caller may have missed some.
 * Never waits. */
SIMT_FN uint32_t quarry_semaphore_since(struct quarry_semaphore *s, uint32_t seen)
{
    /* A change, and after what `balance` has said: whoever took what had come changed `units` before `balance`. */
    return (quarry_semaphore_changes(simt_add_u64(&s->units, 0, relaxed)) - seen) % QUARRY_SEMAPHORE_CHANGES;
}

/* ---- searches ---- */

enum quarry_semaphore_said { QUARRY_SEMAPHORE_REFUSED, QUARRY_SEMAPHORE_AGAIN, QUARRY_SEMAPHORE_SEARCH };

/* The caller has seen that nothing is there, and has nothing: it waits for its turn to search, or for a refusal.
 *   *since   0 at first; the number of the last search that began before the caller waited
 * Returns QUARRY_SEMAPHORE_SEARCH: the caller is to search, and to say the result to quarry_semaphore_searched.
 * QUARRY_SEMAPHORE_REFUSED: it is refused.  QUARRY_SEMAPHORE_AGAIN: a search has found something; the caller is to look
 * again.  Progress: waits for who searches. */
SIMT_FN uint32_t quarry_semaphore_search(struct quarry_semaphore *s, uint64_t *since)
{
    uint64_t now = *since ? simt_load_u64(&s->searches, relaxed) : 0;
    if (*since == 0) {
        /* release, and a change: what happened before the caller came is seen by who begins after it. */
        now = simt_add_u64(&s->searches, 0, release);
        *since = now | 1u;
    }
    /* acquire: pairs with the release above, of all who have come before this search begins */
    if (!(now & 1u) && simt_cas_u64(&s->searches, now, now + 3u, acquire) == now)
        return QUARRY_SEMAPHORE_SEARCH;
    for (;; simt_backoff()) {
        if (simt_load_u64(&s->refused, relaxed) > *since) /* nothing but the number counts */
            return QUARRY_SEMAPHORE_REFUSED;
        if (!(simt_load_u64(&s->searches, relaxed) & 1u))
            return QUARRY_SEMAPHORE_AGAIN;
    }
}

/* The caller's search has ended.
 *   refused   it found nothing: it was refused */
SIMT_FN void quarry_semaphore_searched(struct quarry_semaphore *s, int refused)
{
    if (refused) /* nobody has changed the number since the caller did */
        simt_store_u64(&s->refused, simt_load_u64(&s->searches, relaxed), relaxed);
    /* release: pairs with the acquire in quarry_semaphore_search, so numbers of refused searches only grow */
    (void)simt_sub_u64(&s->searches, 1, release);
}

/* ---- units that come without a waiter's promise ----
 *
 * Who has n units that may come to this semaphore announces them before anybody can miss them.  Then it calls
 * quarry_semaphore_add with them as expected, or takes the announcement back. */

/* n more units are expected.  Never waits.  relaxed: fences stand between this and what must come after. */
SIMT_FN void quarry_semaphore_announce(struct quarry_semaphore *s, uint32_t n)
{
    (void)simt_add_u64(&s->balance, n, relaxed);
}

/* n units that were announced don't come.  Never waits.  relaxed, as above. */
SIMT_FN void quarry_semaphore_retract(struct quarry_semaphore *s, uint32_t n)
{
    (void)simt_sub_u64(&s->balance, n, relaxed);
}

#endif
