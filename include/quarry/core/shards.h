/* SPDX-License-Identifier: Apache-2.0 */
/* A bulk semaphore in shards: each multiprocessor asks and signals at a shard of its own, and touches the words of
 * all only now and then.
 *
 *     all       a bulk semaphore (semaphore.h): decides who makes a batch and who is refused
 *     shard     units    that are there, to be taken at this shard
 *               credit   units that `all.balance` counts as there, although lanes have them
 *     lent      units and credit of all shards together; for a moment more
 *
 * Units move in lots from `all` to a shard that has none, if there are many.  `all.balance` goes on counting them
 * as there, also when they have been taken:
 *
 *     ask(n)      takes n of the shard's units and adds n to its credit.  What is not there it asks of `all`.
 *     signal(n)   takes n of the shard's credit and adds n to its units.  Where credit is short it first adds to
 *                 `all.balance`, and makes credit of that; or it signals to `all`, if that has few units.
 *     recall      takes what a shard has of both.  The units are added to `all.units`, and the credit is
 *                 subtracted from `all.balance`.
 *     wait        borrows: it recalls one shard after the other, until it has what it is owed, or `all` says that
 *                 it must make a batch.
 *
 * Units and credit are taken by the same rule: who took more than there was puts it back.  Until then others find
 * too little, and never too much.
 *
 * No unit is lost or made.  What moves is what a subtraction found, and is added elsewhere afterwards.
 *
 * Nobody makes a batch or is refused who would not be with one word.  A unit or a credit of a shard is one unit
 * that `all.balance` counts.  That is added before the unit or the credit can be taken, and only recall subtracts
 * it, when it has got a credit.  So balance's number is never too little, and that is all that `failed` needs
 * (semaphore.h).
 *
 * Nobody waits in vain.  Balance's number is too much by the credit of the shards.  A lane that is owed units takes
 * it away.  It goes on as long as `lent` is not 0, and `lent` is never less than what the shards have.  New credit
 * is made only where `all` has units, and those go to who is owed them.
 *
 * Order.  Who brings units to a shard, or makes credit, has added to balance, or acquired that, before.  It
 * releases on `credit` and then on `units`.  What takes units or credit acquires.  All changes of a word are
 * read-modify-writes, so each continues the release sequences of all before it.  Therefore:
 *
 *     - What was done before a signal happens-before what is done by whoever gets its units, also when they
 *       have moved: who moves them acquires, and releases.
 *     - Let a signal happen-before a refusal.  It took credit, or made it.  Credit that was made of units is added
 *       after they were taken, so after who brought them released on `credit`.  So in each case balance was added to
 *       before the signal, and the refusal counts that.  If it has been subtracted again, it was credit again:
 *       somebody has got the unit.
 *
 * With one word a refusal also has one instant at which none was free, for a lane's signal and its next ask both
 * change balance.  Here they may be at two shards.  A refusal that knows of the second and not of the first is
 * possible only where nothing tells it of the signal. */
#ifndef QUARRY_CORE_SHARDS_H
#define QUARRY_CORE_SHARDS_H

#include "quarry/core/semaphore.h"
#include "quarry/simt/simt.h"

/* Units that move to a shard at once, at most.  Some tens of warps use up so many, so that `all` is touched by few.
 * A shard that has more of one kind gives them all back when it is short of the other. */
#define QUARRY_SHARDS_LOT 1024u
#define QUARRY_SHARDS_MOST 16384u /* shards */
/* Credit is at most some lots for each shard, and two for each lane in the middle of a call. */
#define QUARRY_SHARDS_CREDIT_MOST ((uint64_t)1 << 31)
#define QUARRY_SHARDS_UNITS_MOST (QUARRY_SEMAPHORE_UNITS_MOST - QUARRY_SHARDS_CREDIT_MOST)
SIMT_STATIC_ASSERT((4u * QUARRY_SHARDS_MOST + 2u * QUARRY_SEMAPHORE_LANES) * QUARRY_SHARDS_LOT <=
                       QUARRY_SHARDS_CREDIT_MOST,
                   "credit fits beside the units");
SIMT_STATIC_ASSERT(QUARRY_SHARDS_UNITS_MOST > (uint64_t)80 << 26, "80 GiB of blocks of 16 bytes fit");

struct quarry_shard {
    uint64_t units;  /* with a sign, as in a semaphore */
    uint64_t credit; /* likewise */
    uint64_t unused[30];
};

/* The shards lie behind it: quarry_shards_bytes. */
struct quarry_shards {
    struct quarry_semaphore all;
    uint64_t lent;
    uint32_t count;
    uint32_t shift; /* a shard gets 2^-shift of what there is: its part, or less */
    uint64_t unused[30];
};

/* Bytes of memory for so many shards, 1 to QUARRY_SHARDS_MOST; aligned to 16. */
SIMT_FN uint64_t quarry_shards_bytes(uint32_t count)
{
    return sizeof(struct quarry_shards) + count * (uint64_t)sizeof(struct quarry_shard);
}

SIMT_FN struct quarry_shard *quarry_shards_at(struct quarry_shards *s, uint32_t at)
{
    return (struct quarry_shard *)(void *)(s + 1) + at;
}

/* The shard of the multiprocessor that runs the caller now. */
SIMT_FN uint32_t quarry_shards_here(const struct quarry_shards *s)
{
    return simt_sm() % s->count;
}

/* Makes a semaphore of `units` units, at most QUARRY_SHARDS_UNITS_MOST, with `count` shards, which have none yet.  One
 * thread calls it, before any other uses the semaphore. */
SIMT_FN void quarry_shards_init(struct quarry_shards *s, uint64_t units, uint32_t count)
{
    simt_assert(units <= QUARRY_SHARDS_UNITS_MOST && count - 1u < QUARRY_SHARDS_MOST);
    quarry_semaphore_init(&s->all, units);
    s->lent = 0;
    s->count = count;
    s->shift = 0;
    while (count > 1u << s->shift)
        s->shift++;
    for (uint32_t i = 0; i < count; i++) {
        quarry_shards_at(s, i)->units = 0;
        quarry_shards_at(s, i)->credit = 0;
    }
}

/* The lot that a shard gets if so many units are in `all`; 0: not even n, for which it is not worth it. */
SIMT_FN uint32_t quarry_shards_lot(const struct quarry_shards *s, int64_t there, uint32_t n)
{
    uint32_t lot = quarry_semaphore_part(there >> s->shift, QUARRY_SHARDS_LOT);
    return lot < n ? 0 : lot;
}

/* Takes back what a shard has, if it has more than `most` units or credits.
 * Returns whether it got anything. */
SIMT_FN int quarry_shards_recall(struct quarry_shards *s, struct quarry_shard *shard, int64_t most)
{
    int64_t units = (int64_t)simt_load_u64(&shard->units, relaxed);
    int64_t credit = (int64_t)simt_load_u64(&shard->credit, relaxed);
    if (units <= most && credit <= most)
        return 0;
    uint32_t got =
        units > 0 ? quarry_semaphore_take(&shard->units, quarry_semaphore_part(units, UINT32_MAX), &units)
                  : 0;
    uint32_t ended =
        credit > 0 ? quarry_semaphore_take(&shard->credit, quarry_semaphore_part(credit, UINT32_MAX), &credit)
                   : 0;
    if (ended)
        (void)simt_sub_u64(&s->all.balance, ended * QUARRY_SEMAPHORE_UNIT, relaxed);
    if (got) /* release: pairs with the acquire in quarry_semaphore_take */
        (void)simt_add_u64(&s->all.units, got, release);
    if (got | ended)
        (void)simt_sub_u64(&s->lent, (uint64_t)got + ended, relaxed);
    return (got | ended) != 0;
}

/* Asks for units.
 *   at   the shard, below the count
 *   n    1 to QUARRY_SEMAPHORE_ASK_MOST; for all lanes of a group at once, mostly
 * Returns how many the caller has now.  It is owed the others: it must call quarry_shards_wait for them.
 * Never waits.  Order: acquire. */
SIMT_FN uint32_t quarry_shards_ask(struct quarry_shards *s, uint32_t at, uint32_t n)
{
    simt_assert(at < s->count && n <= QUARRY_SEMAPHORE_ASK_MOST);
    struct quarry_shard *shard = quarry_shards_at(s, at);
    int64_t there;
    uint32_t got = quarry_semaphore_take(&shard->units, n, &there);
    if (got) /* relaxed: who brought the units has released on this word before */
        (void)simt_add_u64(&shard->credit, got, relaxed);
    if (got == n)
        return n;
    uint32_t missing = n - got, more = quarry_semaphore_take(&s->all.units, missing, &there);
    (void)simt_sub_u64(&s->all.balance, missing * QUARRY_SEMAPHORE_UNIT, relaxed);
    uint32_t lot = quarry_shards_lot(s, there - missing, n);
    lot = lot ? quarry_semaphore_take(&s->all.units, lot, &there) : 0;
    if (lot) {
        /* release: pairs with the acquire in quarry_semaphore_take, by who takes credit of these units later */
        (void)simt_add_u64(&shard->credit, 0, release);
        (void)quarry_shards_recall(s, shard, QUARRY_SHARDS_LOT);
        (void)simt_add_u64(&s->lent, lot, relaxed);
        /* release: pairs with the acquire in quarry_semaphore_take */
        (void)simt_add_u64(&shard->units, lot, release);
    }
    return got + more;
}

/* Gives units back.
 *   at   the shard, below the count
 *   n    1 to 2^31
 * What the caller did before happens-before what is done by whoever gets them.  Never waits. */
SIMT_FN void quarry_shards_signal(struct quarry_shards *s, uint32_t at, uint32_t n)
{
    simt_assert(at < s->count);
    struct quarry_shard *shard = quarry_shards_at(s, at);
    int64_t there;
    uint32_t covered = quarry_semaphore_take(&shard->credit, n, &there), rest = n - covered, lot = 0;
    if (rest) {
        lot = quarry_shards_lot(s, (int64_t)simt_load_u64(&s->all.units, relaxed), n);
        if (lot) {
            (void)simt_add_u64(&s->all.balance, (uint64_t)(rest + lot) * QUARRY_SEMAPHORE_UNIT, relaxed);
            (void)simt_add_u64(&s->lent, rest + lot, relaxed);
            /* release: pairs with the acquire in quarry_semaphore_take */
            (void)simt_add_u64(&shard->credit, lot, release);
            covered = n;
        } else {
            quarry_semaphore_signal(&s->all, rest);
        }
    }
    if (covered) /* release: pairs with the acquire in quarry_semaphore_take */
        (void)simt_add_u64(&shard->units, covered, release);
    if (lot)
        (void)quarry_shards_recall(s, shard, QUARRY_SHARDS_LOT);
}

/* Takes back what one shard has, if any has something.
 *   at   it begins with the next one */
SIMT_FN int quarry_shards_borrow(struct quarry_shards *s, uint32_t at)
{
    for (uint32_t i = 0; i < s->count; i++) {
        at = at + 1u < s->count ? at + 1u : 0;
        if (quarry_shards_recall(s, quarry_shards_at(s, at), 0))
            return 1;
    }
    return 0;
}

/* Takes what has come for the caller, from wherever it is: to wait without growing, call it in a loop with
 * simt_backoff.
 *   at      the caller's shard; it begins with the next one
 *   owed    that the caller is owed
 * Returns how many it has now. */
SIMT_FN uint32_t quarry_shards_collect(struct quarry_shards *s, uint32_t at, uint32_t owed)
{
    uint32_t got = quarry_semaphore_collect(&s->all, owed);
    if (got || simt_load_u64(&s->lent, relaxed) == 0 || !quarry_shards_borrow(s, at))
        return got;
    return quarry_semaphore_collect(&s->all, owed);
}

/* Takes n units, or none: quarry_semaphore_try, with units of all shards.  Where `all` has too few that nobody has
 * reserved, it takes back what shards have: so it is for where that is rare.
 *   at   the caller's shard
 * Progress, order: as there. */
SIMT_FN int quarry_shards_try(struct quarry_shards *s, uint32_t at, uint32_t n)
{
    for (;;) {
        int64_t unreserved = quarry_semaphore_free(simt_load_u64(&s->all.balance, relaxed));
        if (unreserved < (int64_t)n)
            return 0;
        int64_t lent = (int64_t)simt_load_u64(&s->lent, relaxed);
        if (unreserved - lent >= (int64_t)n && quarry_semaphore_take_all(&s->all, n))
            return 1;
        if (lent == 0 || !quarry_shards_borrow(s, at))
            simt_backoff();
    }
}

/* Waits for what the caller is owed: quarry_semaphore_wait, with units of all shards.  What it promises is made or
 * fails at `all`: quarry_semaphore_produced, quarry_semaphore_failed.
 *   at            the caller's shard
 *   owed, batch   as there */
SIMT_FN uint32_t quarry_shards_wait(struct quarry_shards *s, uint32_t at, uint32_t *owed, uint32_t batch)
{
    for (;;) {
        uint32_t promised = quarry_semaphore_poll(&s->all, owed, batch);
        if (promised || *owed == 0)
            return promised;
        if (simt_load_u64(&s->lent, relaxed) == 0 || !quarry_shards_borrow(s, at))
            simt_backoff();
    }
}

#endif
