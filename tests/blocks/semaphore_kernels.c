/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/semaphore_kernels.h"

#define PASSES 1000u /* over all units, before a lane says that there is none for it */

SIMT_FN uint32_t unit_count(const struct semaphore_case *a)
{
    return a->initial + a->batches * a->batch;
}

SIMT_KERNEL(semaphore_start, struct semaphore_case, a)
{
    if (simt_thread() == 0) {
        quarry_semaphore_init(a.semaphore, a.initial);
        *a.made = 0;
        for (uint32_t i = 0; i < SEMAPHORE_COUNTS; i++)
            a.counts[i] = 0;
    }
    for (uint32_t i = simt_thread(); i < unit_count(&a); i += simt_threads()) {
        a.unit[i] = i < a.initial;
        a.holders[i] = 0;
    }
}

/* Gets n units; nobody makes any. */
SIMT_FN void get(struct quarry_semaphore *s, uint32_t n)
{
    for (uint32_t owed = n - quarry_semaphore_ask(s, n), got; owed; owed -= got) {
        got = quarry_semaphore_collect(s, owed);
        if (!got)
            simt_backoff();
    }
}

/* Asks, and grows the pool as often as it is told to.  Returns how many units the caller may take. */
SIMT_FN uint32_t acquire(const struct semaphore_case *a, uint32_t n)
{
    uint32_t owed = n - quarry_semaphore_ask(a->semaphore, n), refused = 0;
    while (owed) {
        uint32_t promised = quarry_semaphore_wait(a->semaphore, &owed, a->batch);
        while (promised) {
            uint32_t made = simt_add_u32(a->made, 1, relaxed);
            if (made < a->batches && !(a->fails && made % a->fails == a->fails - 1)) {
                uint32_t *first = a->unit + a->initial + made * a->batch;
                for (uint32_t i = 0; i < a->batch; i++)
                    simt_store_u32(&first[i], 1, relaxed);
                quarry_semaphore_produced(a->semaphore, &owed, a->batch, &promised);
            } else {
                refused += quarry_semaphore_failed(a->semaphore, &owed, a->batch, &promised);
            }
        }
    }
    if (refused)
        simt_add_u32(&a->counts[SEMAPHORE_REFUSED], refused, relaxed);
    return n - refused;
}

/* Takes one: the semaphore says that there is one.  Others may move them meanwhile. */
SIMT_FN uint32_t take(const struct semaphore_case *a, uint32_t from)
{
    uint32_t count = unit_count(a);
    for (uint32_t look = 0; look < PASSES * count; look++) {
        uint32_t at = (from + look) % count;
        if (simt_load_u32(&a->unit[at], relaxed) && simt_exchange_u32(&a->unit[at], 0, acquire)) {
            if (simt_add_u32(&a->holders[at], 1, relaxed) != 0)
                simt_add_u32(&a->counts[SEMAPHORE_WRONG], 1, relaxed);
            return at;
        }
    }
    simt_add_u32(&a->counts[SEMAPHORE_WRONG], 1, relaxed);
    return count;
}

SIMT_FN void give(const struct semaphore_case *a, uint32_t at)
{
    simt_sub_u32(&a->holders[at], 1, relaxed);
    simt_store_u32(&a->unit[at], 1, release); /* its next holder finds none */
    quarry_semaphore_signal(a->semaphore, 1);
}

#define MOST 48u /* units that a lane holds */

SIMT_KERNEL(semaphore_rounds, struct semaphore_case, a)
{
    uint32_t held[MOST], have = 0;
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (a.tries && (round + simt_thread()) % a.tries == 0)
            have = quarry_semaphore_try(a.semaphore, a.n) ? a.n : 0;
        else
            have = acquire(&a, a.n);
        for (uint32_t i = 0; i < have; i++)
            held[i] = take(&a, simt_thread() * 7u + round);
        if (round + 1 == a.rounds && a.keep)
            break;
        for (uint32_t i = 0; i < have; i++)
            if (held[i] < unit_count(&a))
                give(&a, held[i]);
    }
    simt_add_u32(&a.counts[SEMAPHORE_GOT], have, relaxed);
}

/* With one unit there, two are asked for and one comes.  What is given back then is reserved, and a try leaves it. */
SIMT_KERNEL(semaphore_leaves, struct semaphore_case, a)
{
    uint32_t owed = 2 - quarry_semaphore_ask(a.semaphore, 2), wrong = owed != 1;
    quarry_semaphore_signal(a.semaphore, 1);
    wrong += quarry_semaphore_try(a.semaphore, 1) != 0;
    wrong += quarry_semaphore_collect(a.semaphore, owed) != 1;
    quarry_semaphore_signal(a.semaphore, 2);
    wrong += quarry_semaphore_try(a.semaphore, 2) != 1;
    simt_add_u32(&a.counts[SEMAPHORE_WRONG], wrong, relaxed);
    simt_add_u32(&a.counts[SEMAPHORE_GOT], 1, relaxed); /* of the one that was there */
}

/* Who is owed more than may be promised at once promises whole batches up to that. */
SIMT_KERNEL(semaphore_promises, struct semaphore_case, a)
{
    uint32_t owed = QUARRY_SEMAPHORE_ASK_MOST - quarry_semaphore_ask(a.semaphore, QUARRY_SEMAPHORE_ASK_MOST);
    uint32_t promised = quarry_semaphore_wait(a.semaphore, &owed, 100);
    uint32_t wrong = promised != QUARRY_SEMAPHORE_PROMISE_MOST / 100 * 100;
    wrong +=
        quarry_semaphore_failed(a.semaphore, &owed, 100, &promised) != QUARRY_SEMAPHORE_ASK_MOST - promised;
    while (promised)
        wrong += quarry_semaphore_failed(a.semaphore, &owed, 100, &promised) != 100;
    simt_add_u32(&a.counts[SEMAPHORE_WRONG], wrong + (owed != 0), relaxed);
}

/* After a batch that failed a waiter promises single units: here 5, for which it makes batches of 2.  The last one is
 * more than it has promised, and more than it is owed. */
SIMT_KERNEL(semaphore_parts, struct semaphore_case, a)
{
    uint32_t owed = 1 - quarry_semaphore_ask(a.semaphore, 1);
    uint32_t promised = quarry_semaphore_wait(a.semaphore, &owed, a.batch);
    uint32_t wrong = quarry_semaphore_failed(a.semaphore, &owed, a.batch, &promised) != 1;
    owed = 5 - quarry_semaphore_ask(a.semaphore, 5);
    promised = quarry_semaphore_wait(a.semaphore, &owed, a.batch);
    for (uint32_t left = 5, made = 0; made < 3; made++) {
        wrong += owed != left || promised != left;
        uint64_t balance = simt_load_u64(&a.semaphore->balance, relaxed);
        wrong += quarry_semaphore_expected(balance) != (int64_t)left;
        simt_add_u32(a.made, 1, relaxed);
        quarry_semaphore_produced(a.semaphore, &owed, a.batch, &promised);
        left -= left < a.batch ? left : a.batch;
    }
    simt_add_u32(&a.counts[SEMAPHORE_WRONG], wrong + (owed != 0) + (promised != 0), relaxed);
    simt_add_u32(&a.counts[SEMAPHORE_GOT], 5, relaxed);
}

/* Thread 0 signals units, and thread 1 takes them.  When it has them nothing is reserved: balance says so at once. */
SIMT_KERNEL(semaphore_passes, struct semaphore_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (simt_thread() == 0) {
            quarry_semaphore_signal(a.semaphore, a.n);
            continue;
        }
        get(a.semaphore, a.n);
        if (quarry_semaphore_free(simt_load_u64(&a.semaphore->balance, relaxed)) < 0)
            simt_add_u32(&a.counts[SEMAPHORE_WRONG], 1, relaxed);
    }
}

/* Thread 0 makes n units, and all try for n: thread 0 gets them, or another does. */
SIMT_KERNEL(semaphore_tries, struct semaphore_case, a)
{
    if (simt_thread() == 0) {
        simt_store_u32(a.made, 1, relaxed);
        quarry_semaphore_signal(a.semaphore, a.n);
    }
    uint32_t got = quarry_semaphore_try(a.semaphore, a.n) ? a.n : 0;
    simt_add_u32(&a.counts[SEMAPHORE_GOT], got, relaxed);
}

/* One unit is a lock: what its holder counts is plain, and the holder before has counted it. */
SIMT_KERNEL(semaphore_lock, struct semaphore_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (a.tries && (round + simt_thread()) % a.tries == 0)
            while (!quarry_semaphore_try(a.semaphore, 1))
                simt_backoff();
        else
            get(a.semaphore, 1);
        a.counts[SEMAPHORE_GOT]++;
        quarry_semaphore_signal(a.semaphore, 1);
    }
}

/* Who has all units reads what the others wrote, and writes what they read. */
SIMT_KERNEL(semaphore_guards, struct semaphore_case, a)
{
    uint32_t self = simt_thread(), n = self == 0 ? a.initial : 1, wrong = 0;
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (!a.tries || !quarry_semaphore_try(a.semaphore, n))
            get(a.semaphore, n);
        if (self == 0) {
            for (uint32_t i = 1; i < simt_threads(); i++)
                wrong += a.unit[i] > a.rounds;
            a.unit[0]++;
        } else {
            wrong += a.unit[0] > 1 + a.rounds;
            a.unit[self] = round;
        }
        quarry_semaphore_signal(a.semaphore, n);
    }
    simt_add_u32(&a.counts[SEMAPHORE_WRONG], wrong, relaxed);
}

/* Nobody gives back.  So who is refused finds less than it tried for, also when all have tried. */
SIMT_KERNEL(semaphore_tries_of_sizes, struct semaphore_case, a)
{
    uint32_t n = 1 + simt_thread() % 3, got = quarry_semaphore_try(a.semaphore, n) ? n : 0;
    simt_add_u32(&a.counts[SEMAPHORE_GOT], got, relaxed);
    simt_block_barrier();
    if (!got && (int64_t)simt_load_u64(&a.semaphore->units, relaxed) >= (int64_t)n)
        simt_add_u32(&a.counts[SEMAPHORE_WRONG], 1, relaxed);
}
