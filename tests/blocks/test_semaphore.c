/* SPDX-License-Identifier: Apache-2.0 */
/* The bulk semaphore: no unit is lost or made, nobody waits in vain, and a refusal is exact. */
#include "blocks/semaphore_kernels.h"
#include "blocks/seeds.h"

static struct quarry_target target;

/* What a run left. */
struct semaphore_after {
    uint32_t counts[SEMAPHORE_COUNTS];
    uint32_t batches; /* that were made */
};

/* Runs a case on fresh memory and looks at the semaphore afterwards. */
static struct semaphore_after run_kernel(const struct simt_kernel *kernel, struct semaphore_case c,
                                         uint32_t blocks, uint32_t threads)
{
    struct quarry_target plain = test_plain(target);
    struct semaphore_after after;
    uint32_t units = c.initial + c.batches * c.batch, tried;
    uint64_t bytes = units * sizeof *c.unit, free;
    struct quarry_semaphore semaphore;
    c.semaphore = test_memory(&plain, sizeof semaphore);
    c.unit = test_memory(&plain, bytes);
    c.holders = test_memory(&plain, bytes);
    c.made = test_memory(&plain, sizeof *c.made);
    c.counts = test_memory(&plain, sizeof after.counts);
    test_run(&semaphore_start, &plain, 1, 32, 0, &c);
    test_run(kernel, &target, blocks, threads, 0, &c);
    assert_ok(quarry_memory_copy(&plain, after.counts, c.counts, sizeof after.counts));
    assert_ok(quarry_memory_copy(&plain, &semaphore, c.semaphore, sizeof semaphore));
    assert_ok(quarry_memory_copy(&plain, &tried, c.made, sizeof tried));
    after.batches = tried < c.batches ? tried : c.batches;
    after.batches -= c.fails ? after.batches / c.fails : 0;
    if (after.counts[SEMAPHORE_WRONG])
        fail_msg("seed %llu: %u units with two holders or none", (unsigned long long)target.seed,
                 after.counts[SEMAPHORE_WRONG]);
    free = c.initial + (uint64_t)after.batches * c.batch - (c.keep ? after.counts[SEMAPHORE_GOT] : 0);
    if (semaphore.balance != free * QUARRY_SEMAPHORE_UNIT ||
        quarry_semaphore_there(semaphore.units) != (int64_t)free)
        fail_msg(
            "seed %llu: %llu units are free, and the semaphore says %lld free, %lld expected, %lld there",
            (unsigned long long)target.seed, (unsigned long long)free,
            (long long)quarry_semaphore_free(semaphore.balance),
            (long long)quarry_semaphore_expected(semaphore.balance),
            (long long)quarry_semaphore_there(semaphore.units));
    test_memory_free(&plain, c.semaphore, sizeof semaphore);
    test_memory_free(&plain, c.unit, bytes);
    test_memory_free(&plain, c.holders, bytes);
    test_memory_free(&plain, c.made, sizeof *c.made);
    test_memory_free(&plain, c.counts, sizeof after.counts);
    return after;
}

static struct semaphore_after run(struct semaphore_case c, uint32_t blocks, uint32_t threads)
{
    return run_kernel(&semaphore_rounds, c, blocks, threads);
}

static uint32_t mixed(uint64_t seed, uint32_t what, uint32_t n)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + what * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebu;
    return (uint32_t)((x >> 33) % n);
}

static uint32_t some_threads(uint64_t seed)
{
    return 2 + mixed(seed, 1, 7);
}

/* A few units, and a few batches more. */
static struct semaphore_case some_case(uint64_t seed)
{
    struct semaphore_case c = {0};
    c.batch = 1 + mixed(seed, 2, 4);
    c.batches = mixed(seed, 3, 5);
    c.initial = mixed(seed, 4, 3) + (c.batches == 0);
    c.n = 1 + mixed(seed, 5, 3);
    c.rounds = 1;
    return c;
}

static void everyone(uint64_t seed)
{
    struct semaphore_case c = some_case(seed);
    c.keep = 1;
    struct semaphore_after after = run(c, 1, some_threads(seed));
    uint32_t there = c.initial + c.batches * c.batch, asked = some_threads(seed) * c.n;
    assert_int_equal(after.counts[SEMAPHORE_GOT], asked < there ? asked : there);
    assert_int_equal(after.counts[SEMAPHORE_REFUSED], asked - after.counts[SEMAPHORE_GOT]);
    if (after.batches) /* without the last batch somebody would lack units */
        assert_true(c.initial + (after.batches - 1) * c.batch < asked);
}

static void who_asks_gets_all_there_is(void **state)
{
    (void)state;
    test_for_seeds(&target, everyone, 2000);
}

static void churn(uint64_t seed)
{
    struct semaphore_case c = some_case(seed);
    c.rounds = 1 + mixed(seed, 6, 4);
    c.keep = mixed(seed, 7, 2);
    c.tries = mixed(seed, 8, 4);
    c.fails = mixed(seed, 9, 2) * (2 + mixed(seed, 10, 3));
    struct semaphore_after after = run(c, 1, some_threads(seed));
    if (!c.fails &&
        some_threads(seed) * c.n <= c.initial + c.batches * c.batch) /* enough for all at any time */
        assert_int_equal(after.counts[SEMAPHORE_REFUSED], 0);
}

static void no_unit_is_lost_or_made(void **state)
{
    (void)state;
    test_for_seeds(&target, churn, 4000);
}

static void a_promise_has_a_limit(void **state)
{
    struct semaphore_case c = {0};
    (void)state;
    c.batch = 1;
    c.batches = 1; /* none of them made */
    (void)run_kernel(&semaphore_promises, c, 1, 1);
}

static void a_batch_may_be_more_than_was_promised(void **state)
{
    struct semaphore_case c = {0};
    (void)state;
    c.batch = 2;
    c.batches = 3;
    c.keep = 1;
    (void)run_kernel(&semaphore_parts, c, 1, 1);
}

static void several_try(uint64_t seed)
{
    struct semaphore_case c = {0};
    c.n = 1 + mixed(seed, 1, 2);
    c.batch = c.n; /* the first thread's signal is a batch */
    c.batches = 1;
    c.initial = c.n * mixed(seed, 2, 2);
    c.keep = 1;
    struct semaphore_after after = run_kernel(&semaphore_tries, c, 1, 3 + mixed(seed, 3, 3));
    assert_int_equal(after.counts[SEMAPHORE_GOT], c.initial + c.batch);
}

static void units_that_are_free_are_got_by_a_try(void **state)
{
    (void)state;
    test_for_seeds(&target, several_try, 2000);
}

static void passing(uint64_t seed)
{
    struct semaphore_case c = {0};
    c.n = 1 + mixed(seed, 1, 2);
    c.rounds = 1 + mixed(seed, 2, 4);
    c.batch = 1;
    (void)run_kernel(&semaphore_passes, c, 1, 2);
}

static void the_balance_never_says_too_little(void **state)
{
    (void)state;
    test_for_seeds(&target, passing, 1000);
}

static void lock(uint64_t seed)
{
    struct semaphore_case c = {0};
    uint32_t threads = 2 + mixed(seed, 1, 4);
    c.initial = 1;
    c.rounds = 1 + mixed(seed, 2, 3);
    c.tries = mixed(seed, 3, 4);
    struct semaphore_after after = run_kernel(&semaphore_lock, c, 1, threads);
    assert_int_equal(after.counts[SEMAPHORE_GOT], threads * c.rounds);
}

static void what_a_holder_did_is_seen_by_the_next(void **state)
{
    (void)state;
    test_for_seeds(&target, lock, 1000);
}

static void guards(uint64_t seed)
{
    struct semaphore_case c = {0};
    c.initial = some_threads(seed) + mixed(seed, 4, 16);
    c.rounds = 1 + mixed(seed, 6, 4);
    c.tries = mixed(seed, 8, 2);
    (void)run_kernel(&semaphore_guards, c, 1, some_threads(seed));
}

static void what_holders_did_is_seen_by_who_has_all(void **state)
{
    (void)state;
    test_for_seeds(&target, guards, 2000);
}

static void tries_of_sizes(uint64_t seed)
{
    struct semaphore_case c = {0};
    c.initial = 1 + mixed(seed, 4, 16);
    c.keep = 1;
    (void)run_kernel(&semaphore_tries_of_sizes, c, 1, some_threads(seed));
}

static void a_try_of_any_size_gets_what_is_free(void **state)
{
    (void)state;
    test_for_seeds(&target, tries_of_sizes, 4000);
}

static void reserved(uint64_t seed)
{
    struct semaphore_case c = {0};
    (void)seed;
    c.initial = 1;
    c.keep = 1;
    (void)run_kernel(&semaphore_leaves, c, 1, 1);
}

static void a_try_leaves_what_is_reserved(void **state)
{
    (void)state;
    test_for_seeds(&target, reserved, 2);
}

static void many_lanes_share_few_units(void **state)
{
    struct semaphore_case c = {0};
    (void)state;
    c.initial = 40;
    c.batch = 32;
    c.batches = 4;
    c.n = 32; /* two groups of 32 do not starve each other over 40 units */
    c.rounds = 8;
    (void)run(c, 4, 64);
    c.n = 1;
    c.batches = 100;
    c.keep = 1;
    c.rounds = 2;
    (void)run(c, test_on_cuda(&target) ? 64 : 8, 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(who_asks_gets_all_there_is, &target),
        test_with_seeds(no_unit_is_lost_or_made, &target),
        cmocka_unit_test(a_promise_has_a_limit),
        cmocka_unit_test(a_batch_may_be_more_than_was_promised),
        test_with_seeds(units_that_are_free_are_got_by_a_try, &target),
        test_with_seeds(the_balance_never_says_too_little, &target),
        test_with_seeds(what_a_holder_did_is_seen_by_the_next, &target),
        test_with_seeds(what_holders_did_is_seen_by_who_has_all, &target),
        test_with_seeds(a_try_of_any_size_gets_what_is_free, &target),
        test_with_seeds(a_try_leaves_what_is_reserved, &target),
        cmocka_unit_test(many_lanes_share_few_units),
    };
    target = test_target();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
