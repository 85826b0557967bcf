/* SPDX-License-Identifier: Apache-2.0 */
/* The buddy tree: no page is had by two, no block is lost, nobody waits in vain, NULL is no answer while a page is free,
 * and what was freed becomes again what it was. */
#include "blocks/buddy_kernels.h"
#include "blocks/seeds.h"

#define MOST_WORDS 64u

static struct quarry_target target;

struct buddy_state {
    uint64_t word[MOST_WORDS];
    struct quarry_semaphore units[QUARRY_BUDDY_ORDERS];
};

static void copy(struct buddy_state *to, const struct quarry_buddy *b)
{
    memset(to, 0, sizeof *to);
    assert_ok(quarry_memory_copy(&target, to->word, b->word, sizeof *b->word * b->words));
    assert_ok(quarry_memory_copy(&target, to->units, b->units, sizeof *b->units * (b->top + 1u)));
}

/* Returns how many takes got nothing. */
static uint32_t run(struct buddy_case c, uint32_t pages, uint32_t blocks, uint32_t threads)
{
    struct quarry_target plain = target;
    static struct buddy_state before, after;
    uint32_t counts[BUDDY_COUNTS];
    plain.seed = 0;
    plain.bug_depth = 0;
    quarry_buddy_size(&c.buddy, pages);
    assert_true(c.buddy.words <= MOST_WORDS);
    c.buddy.word = test_memory(&plain, sizeof *c.buddy.word * c.buddy.words);
    c.buddy.units = test_memory(&plain, sizeof *c.buddy.units * (c.buddy.top + 1u));
    c.holder = test_memory(&plain, sizeof *c.holder * pages);
    c.counts = test_memory(&plain, sizeof counts);
    assert_ok(quarry_memory_fill(&plain, c.buddy.units, 0, sizeof *c.buddy.units * (c.buddy.top + 1u)));
    assert_ok(quarry_memory_fill(&plain, c.holder, 0, sizeof *c.holder * pages));
    assert_ok(quarry_memory_fill(&plain, c.counts, 0, sizeof counts));
    test_run(&buddy_start, &plain, 1, 32, 0, &c);
    copy(&before, &c.buddy);
    test_run(&buddy_rounds, &target, blocks, threads, 0, &c);
    copy(&after, &c.buddy);
    assert_ok(quarry_memory_copy(&plain, counts, c.counts, sizeof counts));
    assert_int_equal(counts[BUDDY_WRONG], 0);
    for (uint32_t i = 0; i < c.buddy.words; i++)
        if (before.word[i] != after.word[i])
            fail_msg("seed %llu: %u pages: word %u is %llx, and was %llx", (unsigned long long)target.seed,
                     pages, i, (unsigned long long)after.word[i], (unsigned long long)before.word[i]);
    for (uint32_t i = 0; i <= c.buddy.top; i++)
        if (before.units[i].units != after.units[i].units ||
            before.units[i].balance != after.units[i].balance)
            fail_msg("seed %llu: %u pages: order %u has %lld units, %lld free, %lld expected; it had %lld",
                     (unsigned long long)target.seed, pages, i, (long long)after.units[i].units,
                     (long long)quarry_semaphore_free(after.units[i].balance),
                     (long long)quarry_semaphore_expected(after.units[i].balance),
                     (long long)before.units[i].units);
    test_memory_free(&plain, c.buddy.word, sizeof *c.buddy.word * c.buddy.words);
    test_memory_free(&plain, c.buddy.units, sizeof *c.buddy.units * (c.buddy.top + 1u));
    test_memory_free(&plain, c.holder, sizeof *c.holder * pages);
    test_memory_free(&plain, c.counts, sizeof counts);
    return counts[BUDDY_REFUSED];
}

static struct buddy_case draw(uint64_t seed)
{
    struct buddy_case c = {0};
    c.rounds = test_on_cuda(&target) ? 200 : 2 + (uint32_t)(seed / 2 % 4);
    c.orders = 1;
    c.hold = (uint32_t)(seed / 3 % 4) * 4;
    c.together = (uint32_t)(seed / 4 % 2);
    return c;
}

/* A page for each thread, and not one more. */
static void pages_for_all(uint64_t seed)
{
    uint32_t blocks = 1 + (uint32_t)(seed / 8 % 3), threads = 1 + (uint32_t)(seed / 5 % 8);
    if (test_on_cuda(&target))
        threads = 32;
    assert_int_equal(run(draw(seed), blocks * threads, blocks, threads), 0);
}

static void null_never_comes_while_a_page_is_free(void **state)
{
    (void)state;
    test_for_seeds(&target, pages_for_all, 6000);
}

/* More blocks than there is room for, of several orders. */
static void tight(uint64_t seed)
{
    static const uint32_t pages[] = {1, 2, 3, 4, 7, 8, 16, 17, 32, 40, 63, 64, 100, 300};
    struct buddy_case c = draw(seed);
    c.orders = 1 + (uint32_t)(seed / 7 % 6);
    c.shrinks = seed % 5 == 4;
    uint32_t count = pages[seed % 14];
    while (count >> (c.orders - 1u) == 0)
        c.orders--;
    (void)run(c, count, 1 + (uint32_t)(seed / 11 % 3),
              1 + (uint32_t)(seed / 5 % (test_on_cuda(&target) ? 32 : 8)));
}

static void all_is_again_what_it_was(void **state)
{
    (void)state;
    test_for_seeds(&target, tight, 6000);
}

/* A warp's frees, of blocks of a page: it takes one block, and all of it comes back. */
static void warps(uint64_t seed)
{
    struct buddy_case c = draw(seed);
    c.together = 1;
    uint32_t refused = run(c, 64 + (uint32_t)(seed % 3) * 16, 2, 32);
    assert_int_equal(refused, 0);
}

static void a_warp_shares_a_block(void **state)
{
    (void)state;
    test_for_seeds(&target, warps, 300);
}

int main(void)
{
    target = test_target();
    const struct CMUnitTest tests[] = {
        test_with_seeds(null_never_comes_while_a_page_is_free, &target),
        test_with_seeds(all_is_again_what_it_was, &target),
        test_with_seeds(a_warp_shares_a_block, &target),
    };
    return cmocka_run_group_tests_name("buddy", tests, NULL, NULL) != 0;
}
