/* SPDX-License-Identifier: Apache-2.0 */
/* Read-copy-update, the list that it guards, and the collective mutex: no reader stands on memory that was
 * reused, each callback runs once, and one group at a time is in a critical section. */
#include "blocks/srcu_kernels.h"
#include "blocks/seeds.h"

static struct quarry_target target;

struct srcu_after {
    uint32_t counts[SRCU_COUNTS];
    uint64_t plain;
};

static struct srcu_after run(const struct simt_kernel *kernel, struct srcu_case c, uint32_t blocks,
                             uint32_t threads)
{
    struct quarry_target plain = test_plain(target);
    struct srcu_after after;
    uint64_t bytes = (c.element_count + 1) * sizeof *c.element;
    struct quarry_srcu srcu;
    c.element = test_memory(&plain, bytes);
    c.list = test_memory(&plain, sizeof *c.list);
    c.srcu = test_memory(&plain, sizeof *c.srcu);
    c.mutex = test_memory(&plain, sizeof *c.mutex);
    c.counts = test_memory(&plain, sizeof after.counts);
    c.plain = test_memory(&plain, sizeof *c.plain);
    test_run(&srcu_start, &plain, 1, 32, 0, &c);
    test_run(kernel, &target, blocks, threads, 0, &c);
    assert_ok(quarry_memory_copy(&plain, after.counts, c.counts, sizeof after.counts));
    assert_ok(quarry_memory_copy(&plain, &after.plain, c.plain, sizeof after.plain));
    assert_ok(quarry_memory_copy(&plain, &srcu, c.srcu, sizeof srcu));
    if (after.counts[SRCU_WRONG] != 0)
        fail_msg("seed %llu: a reader stood on memory that was reused", (unsigned long long)target.seed);
    assert_int_equal(after.counts[SRCU_REMOVALS], after.counts[SRCU_CALLBACKS]);
    assert_int_equal(srcu.readers & (QUARRY_SRCU_EPOCH - 1), 0);
    assert_int_equal(srcu.queue, 0);
    assert_int_equal(srcu.waiting, 0);
    assert_int_equal(srcu.mutex.held, 0);
    test_memory_free(&plain, c.element, bytes);
    test_memory_free(&plain, c.list, sizeof *c.list);
    test_memory_free(&plain, c.srcu, sizeof *c.srcu);
    test_memory_free(&plain, c.mutex, sizeof *c.mutex);
    test_memory_free(&plain, c.counts, sizeof after.counts);
    test_memory_free(&plain, c.plain, sizeof *c.plain);
    return after;
}

static void removal(uint64_t seed)
{
    static const uint32_t delegates[] = {0, 2, 2, 1};
    struct srcu_case c = {0};
    uint32_t threads = 2 + (uint32_t)(seed % 5);
    c.element_count = 1 + (uint32_t)(seed / 5 % threads);
    c.rounds = 1 + (uint32_t)(seed / 25 % 3);
    c.delegates = delegates[seed / 2 % 4];
    c.again = (uint32_t)(seed / 8 % 2);
    c.epoch = (uint32_t)(seed % 2) * 0xfffe; /* the last but one of 16 bits */
    struct srcu_after after = run(&srcu_rounds, c, 1, threads);
    if (!c.again)
        assert_int_equal(after.counts[SRCU_REMOVALS], c.element_count);
}

static void no_reader_stands_on_reused_memory(void **state)
{
    (void)state;
    test_for_seeds(&target, removal, 50000);
}

static void delegation(uint64_t seed)
{
    struct srcu_case c = {0};
    c.element_count = 2 + (uint32_t)(seed % 5);
    (void)run(&srcu_delegate, c, 1, c.element_count);
}

static void one_waits_for_the_mutex(void **state)
{
    (void)state;
    test_for_seeds(&target, delegation, 500);
}

static void late(uint64_t seed)
{
    struct srcu_case c = {0};
    c.rounds = 3;
    c.epoch = (uint32_t)(seed % 2) * 0xfffe;
    assert_int_equal(run(&srcu_late, c, 1, 2).counts[SRCU_GROUPS], c.rounds);
}

static void a_barrier_does_not_wait_for_later_readers(void **state)
{
    (void)state;
    test_for_seeds(&target, late, 100);
}

static void many_readers_and_writers(void **state)
{
    struct srcu_case c = {0};
    (void)state;
    c.element_count = 64;
    c.rounds = 4;
    for (uint32_t i = 0; i < 6; i++) {
        c.delegates = i / 2;
        c.again = i % 2;
        (void)run(&srcu_rounds, c, test_on_cuda(&target) ? 64 : 4, 64);
    }
}

static void critical(uint64_t seed)
{
    struct srcu_case c = {0};
    uint32_t threads = 2 + (uint32_t)(seed % 40);
    c.rounds = 2;
    struct srcu_after after = run(&mutex_rounds, c, 2, threads);
    assert_int_equal(after.plain, after.counts[SRCU_GROUPS]);
    after = run(&mutex_rounds_block, c, 2, threads);
    assert_int_equal(after.plain, 2u * c.rounds * MUTEX_TURNS);
}

static void one_group_at_a_time(void **state)
{
    (void)state;
    test_for_seeds(&target, critical, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(no_reader_stands_on_reused_memory, &target),
        test_with_seeds(one_waits_for_the_mutex, &target),
        test_with_seeds(a_barrier_does_not_wait_for_later_readers, &target),
        cmocka_unit_test(many_readers_and_writers),
        test_with_seeds(one_group_at_a_time, &target),
    };
    target = test_target();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
