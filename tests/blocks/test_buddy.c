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

static void begin(struct buddy_case *c, uint32_t pages)
{
    struct quarry_target plain = test_plain(target);
    quarry_buddy_size(&c->buddy, pages);
    assert_true(c->buddy.words <= MOST_WORDS);
    c->buddy.word = test_memory(&plain, sizeof *c->buddy.word * c->buddy.words);
    c->buddy.units = test_memory(&plain, sizeof *c->buddy.units * (c->buddy.top + 1u));
    c->holder = test_memory(&plain, sizeof *c->holder * pages);
    c->visits = test_memory(&plain, sizeof *c->visits * pages);
    c->counts = test_memory(&plain, sizeof *c->counts * BUDDY_COUNTS);
}

/* Returns how many takes got nothing. */
static uint32_t end(const struct buddy_case *c)
{
    struct quarry_target plain = test_plain(target);
    uint32_t counts[BUDDY_COUNTS];
    assert_ok(quarry_memory_copy(&plain, counts, c->counts, sizeof counts));
    assert_int_equal(counts[BUDDY_WRONG], 0);
    test_memory_free(&plain, c->buddy.word, sizeof *c->buddy.word * c->buddy.words);
    test_memory_free(&plain, c->buddy.units, sizeof *c->buddy.units * (c->buddy.top + 1u));
    test_memory_free(&plain, c->holder, sizeof *c->holder * c->buddy.pages);
    test_memory_free(&plain, c->visits, sizeof *c->visits * c->buddy.pages);
    test_memory_free(&plain, c->counts, sizeof counts);
    return counts[BUDDY_REFUSED];
}

/* Rounds of takes and gives, after which all is again what it was.  Returns how many takes got nothing. */
static uint32_t run(struct buddy_case c, uint32_t pages, uint32_t blocks, uint32_t threads)
{
    struct quarry_target plain = test_plain(target);
    static struct buddy_state before, after;
    begin(&c, pages);
    test_run(&buddy_start, &plain, 1, 32, 0, &c);
    copy(&before, &c.buddy);
    test_run(&buddy_rounds, &target, blocks, threads, 0, &c);
    copy(&after, &c.buddy);
    for (uint32_t i = 0; i < c.buddy.words; i++)
        if (before.word[i] != after.word[i])
            fail_msg("seed %llu: %u pages: word %u is %llx, and was %llx", (unsigned long long)target.seed,
                     pages, i, (unsigned long long)after.word[i], (unsigned long long)before.word[i]);
    for (uint32_t i = 0; i <= c.buddy.top; i++)
        if (quarry_semaphore_there(before.units[i].units) != quarry_semaphore_there(after.units[i].units) ||
            before.units[i].balance != after.units[i].balance)
            fail_msg("seed %llu: %u pages: order %u has %lld units, %lld free, %lld expected; it had %lld",
                     (unsigned long long)target.seed, pages, i,
                     (long long)quarry_semaphore_there(after.units[i].units),
                     (long long)quarry_semaphore_free(after.units[i].balance),
                     (long long)quarry_semaphore_expected(after.units[i].balance),
                     (long long)quarry_semaphore_there(before.units[i].units));
    return end(&c);
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

/* The same where each page is soon another's: a refusal that missed what has come since needs many takes and gives of
 * others between two steps of one, which priorities make rare. */
static void page_of_four(uint64_t seed)
{
    struct buddy_case c = draw(seed);
    c.hold = 0;
    c.together = 0;
    c.rounds = test_on_cuda(&target) ? 200 : 8;
    target.bug_depth = 0;
    assert_int_equal(run(c, 4, 4, 1), 0);
}

static void null_never_comes_while_pages_change_hands(void **state)
{
    (void)state;
    test_for_seeds(&target, page_of_four, 6000);
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

/* ---- trees of which some is taken for good ---- */

static uint32_t once(struct buddy_case c, const struct simt_kernel *kernel, uint32_t pages, uint32_t blocks,
                     uint32_t threads)
{
    struct quarry_target plain = test_plain(target);
    begin(&c, pages);
    test_run(&buddy_some, &plain, 1, 1, 0, &c);
    test_run(kernel, &target, blocks, threads, 0, &c);
    return end(&c);
}

/* Two blocks that are no buddies: who has the unit of one may find the other one. */
static void words(uint64_t seed)
{
    struct buddy_case c = draw(seed);
    c.size = 5;
    c.free = 5;
    c.least = 3;
    c.together = 1;
    assert_int_equal(once(c, &buddy_rounds, 96, 2, 4), 0);
}

static void lanes_store_words_that_others_have_stored(void **state)
{
    (void)state;
    test_for_seeds(&target, words, 2000);
}

static void joined(uint64_t seed)
{
    struct buddy_case c = draw(seed);
    c.free = 0xfffefffe;
    (void)once(c, &buddy_joined, 32, 2, 2);
}

static void who_goes_on_with_a_block_knows_it(void **state)
{
    (void)state;
    test_for_seeds(&target, joined, 2000);
}

static void counted(uint64_t seed)
{
    struct buddy_case c = draw(seed);
    uint32_t threads = 1u << seed % 5;
    c.free = 0xaaaaaaaa;
    c.rounds = 20;
    (void)once(c, &buddy_counted, 2 * threads, 2, threads);
}

static void a_count_misses_nothing_that_merges(void **state)
{
    (void)state;
    test_for_seeds(&target, counted, 2000);
}

static void divided(uint64_t seed)
{
    struct buddy_case c = draw(seed);
    c.size = 5;
    (void)once(c, &buddy_divided, 33, 3, 1);
}

static void what_is_divided_is_known_before_it_is_signalled(void **state)
{
    (void)state;
    test_for_seeds(&target, divided, 2000);
}

/* A refusal of a search that began before the caller came says nothing about what was freed since. */
static void early(uint64_t seed)
{
    const uint64_t searches = 3; /* the first goes on */
    struct buddy_case c = draw(seed);
    struct quarry_target plain = test_plain(target);
    begin(&c, 1);
    test_run(&buddy_start, &plain, 1, 32, 0, &c);
    assert_ok(quarry_memory_copy(&plain, &c.buddy.units->searches, &searches, sizeof searches));
    test_run(&buddy_early, &target, 2, 1, 0, &c);
    (void)end(&c);
}

static void a_refusal_of_before_is_not_mine(void **state)
{
    (void)state;
    test_for_seeds(&target, early, 300);
}

int main(void)
{
    target = test_target();
    const struct CMUnitTest tests[] = {
        test_with_seeds(null_never_comes_while_a_page_is_free, &target),
        test_with_seeds(all_is_again_what_it_was, &target),
        test_with_seeds(a_warp_shares_a_block, &target),
        test_with_seeds(lanes_store_words_that_others_have_stored, &target),
        test_with_seeds(who_goes_on_with_a_block_knows_it, &target),
        test_with_seeds(a_count_misses_nothing_that_merges, &target),
        test_with_seeds(what_is_divided_is_known_before_it_is_signalled, &target),
        test_with_seeds(a_refusal_of_before_is_not_mine, &target),
        test_with_seeds(null_never_comes_while_pages_change_hands, &target),
    };
    return cmocka_run_group_tests_name("buddy", tests, NULL, NULL) != 0;
}
