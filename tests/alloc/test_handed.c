/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that goes from blocks of one size to blocks of another while a kernel runs, and who counts it meanwhile.  Most of
 * what could be wrong only mode weak shows.  On the CPU with QUARRY_TEST_SEEDS seeds for each case (default 20). */
#include "alloc/handed_kernels.h"
#include "alloc/promises.h"

#define SEEDS 20u
#define PAGE 2048u /* bytes of a page of ualloc: a chunk of four, of which three are bins */

static int is_ualloc(void)
{
    return strcmp(f.allocator, "ualloc") == 0;
}

static void start_heap(uint64_t pages, uint64_t page_bytes, uint64_t seed, struct handed_case *a)
{
    plain_options();
    if (is_ualloc())
        set_option("arenas", 1 + seed / 2 % 2);
    begin(pages, page_bytes, 256, 0);
    memset(a, 0, sizeof *a);
    a->heap = f.device.heap;
    a->block = f.device.block;
    a->bytes = is_ualloc() ? 128u >> seed / 5 % 2 : 16;
    a->wrong = test_memory(&f.target, sizeof *a->wrong);
}

static void launch(const struct simt_kernel *kernel, struct handed_case *a, uint32_t blocks, uint64_t seed)
{
    f.target.seed = seed;
    f.target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 3) : 0;
    expect_equal(run_blocks(kernel, blocks, a, a->wrong), 0);
    f.target = base_target;
    test_memory_free(&f.target, a->wrong, 0);
    expect_empty();
    end();
}

/* One to three pages, of which two kinds of lanes can't both have enough: of small blocks and of large ones; or, with
 * ualloc, of two sizes that bins have.  Then a bin may go while units of its blocks are still on their way. */
static void turns(void)
{
    /* Queues in segments are emptied before a NULL. */
    int reuses = f.can.reuses_space || strncmp(f.allocator, "ouro-p-v", 8) == 0;
    for (uint64_t seed = 1; reuses && seed <= seeds(SEEDS) * 5; seed++) {
        struct handed_case a;
        uint64_t page_bytes = is_ualloc() ? PAGE : 32u << seed / 7 % 3;
        start_heap(1 + seed / 3 % 3, page_bytes, seed, &a);
        int both_small = is_ualloc() && seed % 8 > 3;
        a.large = both_small ? 192 - a.bytes : page_bytes;
        a.greedy = both_small ? 4 + (uint32_t)(seed / 2 % 9) : 1 + (uint32_t)(seed / 2 % 3);
        a.threads = 1 + (uint32_t)(seed / 3 % 12);
        a.turns = 1 + (uint32_t)(seed % 4);
        launch(&handed_turns, &a, 2 + (uint32_t)(seed / 2 % 2), seed);
    }
}

static void who_has_a_page_next_knows_what_was_done_to_it(void **state)
{
    (void)state;
    for_each_proof(turns);
}

/* Bins of which one block is live: freeing that retires them, and their chunk. */
static void counted(void)
{
    for (uint64_t seed = 1; is_ualloc() && seed <= seeds(SEEDS) * 5; seed++) {
        static void *block[256], *last[6];
        struct handed_case a;
        uint32_t bins = 3u << seed % 2, warps = seed / 2 % 3 ? 1 : bins;
        start_heap(bins / 3, PAGE, seed, &a);
        uint32_t all = (uint32_t)slots(a.bytes), each = all / bins;
        f.device.bytes = a.bytes;
        expect_equal(run(&promise_malloc, all).nulls, 0);
        assert_ok(quarry_memory_copy(&f.target, block, a.block, sizeof *block * all));
        for (uint32_t i = 0; i < all; i += each) {
            last[i / each] = block[i];
            block[i] = NULL;
        }
        assert_ok(quarry_memory_copy(&f.target, a.block, block, sizeof *block * all));
        run(&promise_free, all);
        assert_ok(quarry_memory_copy(&f.target, a.block, last, sizeof *last * bins));
        a.least = slots(a.bytes);
        a.threads = bins / warps;
        a.turns = 20;
        launch(&handed_counted, &a, 1 + warps, seed);
    }
}

static void a_count_misses_nothing_that_retires(void **state)
{
    (void)state;
    for_each_proof(counted);
}

/* A chunk of three bins, of which the first has a few live blocks.  They are freed, and who counts the last of them does
 * so for others, too.  These have not signalled theirs.  But the other bins have as many to spare as it has blocks: so it
 * goes, and the next who has its memory must know what they have done to it. */
static void emptied(void)
{
    for (uint64_t seed = 1; is_ualloc() && seed <= seeds(SEEDS) * 5; seed++) {
        static void *block[96], *last[96];
        struct handed_case a;
        uint32_t frees = 2 + (uint32_t)(seed % 5);
        start_heap(1, PAGE, seed, &a);
        a.bytes = f.device.bytes = 16;
        a.large = 128;
        a.turns = 4; /* a bin has so many of these */
        a.taken = a.block + 128;
        a.ready = test_memory(&f.target, sizeof *a.ready);
        uint32_t all = (uint32_t)slots(a.bytes), each = all / 3;
        assert_in_range(all, 1, 96);
        expect_equal(run(&promise_malloc, all).nulls, 0);
        assert_ok(quarry_memory_copy(&f.target, block, a.block, sizeof *block * all));
        memset(last, 0, sizeof last);
        for (uint32_t i = 0; i < frees; i++) { /* the first are in the bin's own page, and not in its tail */
            last[i] = block[i];
            block[i] = NULL;
        }
        for (uint32_t i = 1; i < 3; i++) {
            last[i * each] = block[i * each];
            block[i * each] = NULL;
        }
        assert_ok(quarry_memory_copy(&f.target, a.block, block, sizeof *block * all));
        run(&promise_free, all);
        assert_ok(quarry_memory_copy(&f.target, a.block, last, sizeof *last * all));
        f.target.seed = seed;
        expect_equal(run_blocks(&handed_emptied, frees, &a, a.wrong), 0);
        f.target = base_target;
        memset(last, 0, sizeof *last * frees);
        assert_ok(quarry_memory_copy(&f.target, last + 2 * each + 1, a.taken, sizeof *last * a.turns));
        assert_ok(quarry_memory_copy(&f.target, a.block, last, sizeof *last * all));
        run(&promise_free, all);
        test_memory_free(&f.target, a.ready, 0);
        test_memory_free(&f.target, a.wrong, 0);
        expect_empty();
        end();
    }
}

static void who_has_a_bin_next_knows_what_was_done_to_its_blocks(void **state)
{
    (void)state;
    for_each_proof(emptied);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_a_page_next_knows_what_was_done_to_it),
        cmocka_unit_test(a_count_misses_nothing_that_retires),
        cmocka_unit_test(who_has_a_bin_next_knows_what_was_done_to_its_blocks),
    };
    base_target = test_target();
    if (!getenv("QUARRY_TEST_ALLOCATOR"))
        setenv("QUARRY_TEST_ALLOCATOR", "ualloc,ouro-p-va,ouro-p-vl,ouro-c-s,ouro-c-va,ouro-c-vl", 1);
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("handed", tests, NULL, NULL) != 0;
}
