/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of chunks: none is had twice or lost, what is done with one comes before its next use, and nobody finds that
 * there is none while there is one. */
#include "blocks/seeds.h"
#include "blocks/windows_kernels.h"

static struct quarry_target target;

static void run(struct windows_case c, const struct simt_kernel *kernel, uint32_t chunks, uint32_t blocks)
{
    struct quarry_target plain = test_plain(target);
    uint32_t slots = 1, counts[WINDOWS_COUNTS];
    while (slots < chunks)
        slots *= 2;
    c.store.head = test_memory(&plain, sizeof *c.store.head);
    c.store.returned.ends = &c.store.head->returned;
    c.store.returned.slot = test_memory(&plain, sizeof *c.store.returned.slot * slots);
    c.store.returned.mask = slots - 1;
    c.store.count = chunks;
    c.store.map = test_memory(&plain, sizeof *c.store.map * quarry_chunks_fields(chunks));
    c.holder = test_memory(&plain, sizeof *c.holder * chunks);
    c.visits = test_memory(&plain, sizeof *c.visits * chunks);
    c.counts = test_memory(&plain, sizeof *c.counts * WINDOWS_COUNTS);
    test_run(&windows_start, &plain, 1, 32, 0, &c);
    target.workers = test_on_cuda(&target) ? 0 : blocks;
    test_run(kernel, &target, blocks, 32, 0, &c);
    assert_ok(quarry_memory_copy(&plain, counts, c.counts, sizeof counts));
    assert_int_equal(counts[WINDOWS_WRONG], 0);
    assert_int_equal(counts[WINDOWS_NULLS], 0);
    if (kernel == &windows_rounds) { /* all windows are there: each lane has one at once */
        c.rounds = 1;
        c.singles = 0;
        test_run(kernel, &plain, blocks, 32, 0, &c);
        assert_ok(quarry_memory_copy(&plain, counts, c.counts, sizeof counts));
        assert_int_equal(counts[WINDOWS_WRONG], 0);
        assert_int_equal(counts[WINDOWS_NULLS], 0);
    }
    test_memory_free(&plain, c.store.head, sizeof *c.store.head);
    test_memory_free(&plain, c.store.returned.slot, sizeof *c.store.returned.slot * slots);
    test_memory_free(&plain, c.store.map, sizeof *c.store.map * quarry_chunks_fields(chunks));
    test_memory_free(&plain, c.holder, sizeof *c.holder * chunks);
    test_memory_free(&plain, c.visits, sizeof *c.visits * chunks);
    test_memory_free(&plain, c.counts, sizeof *c.counts * WINDOWS_COUNTS);
}

static void move(uint64_t seed)
{
    static const uint32_t windows[] = {32, 2, 64, 8, 32, 128};
    struct windows_case c = {0};
    uint32_t window = windows[seed % 6];
    c.most = window;
    c.lanes = 1 + (uint32_t)(seed / 12 % 3);
    c.singles = (uint32_t)(seed / 36 % 3);
    c.thin = seed % 5 != 0;
    c.rounds = c.thin ? 30 : 8;
    c.program = (uint32_t)seed;
    uint32_t blocks = 2 + (uint32_t)(seed / 108 % 2);
    run(c, &windows_rounds, window * blocks * c.lanes, blocks); /* as many windows as lanes */
}

static void beside(uint64_t seed)
{
    struct windows_case c = {0};
    c.rounds = 8 + (uint32_t)(seed % 3) * 8;
    c.most = 1 + (uint32_t)(seed / 6 % 3) / 2; /* single chunks, or runs of two, too */
    c.program = (uint32_t)seed;
    c.lanes = 1 + (uint32_t)(seed / 18 % 3) / 2;
    run(c, &windows_beside, 1 + c.lanes + (uint32_t)(seed / 3 % 2), 3);
}

static void nobody_finds_that_there_is_no_run_while_there_is_one(void **state)
{
    (void)state;
    test_for_seeds(&target, move, 1000);
}

static void nobody_finds_that_there_is_no_chunk_while_there_is_one(void **state)
{
    (void)state;
    test_for_seeds(&target, beside, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(nobody_finds_that_there_is_no_run_while_there_is_one, &target),
        test_with_seeds(nobody_finds_that_there_is_no_chunk_while_there_is_one, &target),
    };
    target = test_target();
    return cmocka_run_group_tests_name("windows", tests, NULL, NULL) != 0;
}
