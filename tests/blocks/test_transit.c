/* SPDX-License-Identifier: Apache-2.0 */
/* The word of a store of chunks is right about what others have made of chunks, and about numbers in slots: what
 * who reads it relies on. */
#include "blocks/seeds.h"
#include "blocks/transit_kernels.h"

static struct quarry_target target;

static void run(const struct simt_kernel *start, const struct simt_kernel *kernel, uint32_t chunks,
                uint32_t threads, uint32_t alone)
{
    struct transit_case c = {.alone = alone};
    struct quarry_target plain = test_plain(target);
    uint32_t slots = 32, wrong;
    c.store.head = test_memory(&plain, sizeof *c.store.head);
    c.store.returned.ends = &c.store.head->returned;
    c.store.returned.slot = test_memory(&plain, sizeof *c.store.returned.slot * slots);
    c.store.returned.mask = slots - 1;
    c.store.count = chunks;
    c.made = test_memory(&plain, sizeof *c.made);
    c.wrong = test_memory(&plain, sizeof *c.wrong);
    c.over = test_memory(&plain, sizeof *c.over);
    test_run(start, &plain, 1, 32, 0, &c);
    target.workers = test_on_cuda(&target) ? 0 : 2; /* blocks wait for each other */
    test_run(kernel, &target, 2, threads, 0, &c);
    assert_ok(quarry_memory_copy(&plain, &wrong, c.wrong, sizeof wrong));
    assert_int_equal(wrong, 0);
    test_memory_free(&plain, c.store.head, sizeof *c.store.head);
    test_memory_free(&plain, c.store.returned.slot, sizeof *c.store.returned.slot * slots);
    test_memory_free(&plain, c.made, sizeof *c.made);
    test_memory_free(&plain, c.wrong, sizeof *c.wrong);
    test_memory_free(&plain, c.over, sizeof *c.over);
}

static void make(uint64_t seed)
{
    (void)seed;
    run(&transit_start, &transit_make, 1, 1, 0);
}

static void who_finds_nobody_in_transit_finds_what_was_made(void **state)
{
    (void)state;
    test_for_seeds(&target, make, 1000);
}

static void give(uint64_t seed)
{
    uint32_t threads = 2 + (uint32_t)(seed % 7);
    run(&transit_taken, &transit_give, threads, threads, (uint32_t)(seed / 7 % 2));
}

static void chunks_are_counted_when_their_numbers_are_in_slots(void **state)
{
    (void)state;
    test_for_seeds(&target, give, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(who_finds_nobody_in_transit_finds_what_was_made, &target),
        test_with_seeds(chunks_are_counted_when_their_numbers_are_in_slots, &target),
    };
    target = test_target();
    return cmocka_run_group_tests_name("transit", tests, NULL, NULL) != 0;
}
