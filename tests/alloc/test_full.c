/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps that infer how full they are (docs/design/full-heap.md): how many probes follow from the share, which
 * shares are refused, and how often the inference is wrong in either direction.  And of heaps that prove it,
 * how much is read for many NULLs at once.
 *
 * What such heaps promise besides is tested where the promises are: many_may_fail_at_once and
 * no_option_changes_a_promise.  An allocator that says that it proves all the same is left out.
 */
#include "alloc/promises.h"

#include <math.h>

#define LARGE_PAGES 16384u
#define ASKING 64u
#define TRIALS 20u
#define FAILING 2048u /* threads, as many as run at once */
#define FEW_PAGES 1024u
#define SHARE_SEEDS 1u
#define READS 16u /* of each page, by all who fail together: it took up to 7.4 */

/* ---- options ---- */

/* S_L = 5.411 (1 - L) / L pages, over the pages that a probe sees, rounded up.  By hand:
 * 1076.789, 535.689, 48.699, 5.411, 0.00541; over 32: 33.65, 16.74, 1.52, 0.17; over 64: 16.82, 8.37, 0.76.
 */
static void probes(void)
{
    static const struct {
        double low_free;
        uint32_t pages, words_32, words_64;
    } rows[] = {
        {0, 1077, 34, 17}, {0.005, 1077, 34, 17}, {0.01, 536, 17, 9},
        {0.1, 49, 2, 1},   {0.5, 6, 1, 1},        {0.999, 1, 1, 1},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        struct quarry_heap_description about;
        quarry_heap *heap;
        options.target = base_target;
        options.allocator = f.allocator;
        struct test_set set = {0};
        test_set(&set, f.allocator, "word_bits", f.word_bits);
        options.set = set.pairs;
        options.set_count = set.count;
        options.full = QUARRY_FULL_INFERRED;
        options.low_free = rows[i].low_free;
        options.pages = 100;
        assert_ok(quarry_heap_create(&heap, &options));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_ok(quarry_heap_destroy(heap));
        f.about = about;
        f.low_free = rows[i].low_free;
        if (about.full == QUARRY_FULL_PROVEN)
            continue;
        uint32_t bits = described_bits(&about);
        expect_equal(described(&about, "probes"), bits == 32   ? rows[i].words_32
                                                  : bits == 64 ? rows[i].words_64
                                                               : rows[i].pages);
        expect_equal(about.full, QUARRY_FULL_INFERRED);
        expect(about.low_free == (i ? rows[i].low_free : 0.005));
    }
}

static void probes_follow_from_the_share(void **state)
{
    (void)state;
    for_each_allocator(probes);
}

static void expect_refused(struct quarry_heap_options *options, enum quarry_status status, const char *word,
                           const char *other)
{
    quarry_heap *heap;
    f.low_free = options->low_free;
    expect_equal(quarry_heap_create(&heap, options), status);
    expect(!heap);
    const char *detail = quarry_error_detail();
    if (!strstr(detail, word) || !strstr(detail, other))
        fail_msg("%s: \"%s\" does not say %s and %s", naming(), detail, word, other);
}

static void refused(void)
{
    static const double wrong[] = {-0.1, -1e300, 1, 1.5, NAN, INFINITY, -INFINITY};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    options.target = base_target;
    options.allocator = f.allocator;
    options.pages = 100;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int full = QUARRY_FULL_PROVEN; full <= QUARRY_FULL_INFERRED; full++) {
            options.full = (enum quarry_full)full;
            options.low_free = wrong[i];
            expect_refused(&options, QUARRY_ERROR_ARGUMENT, "low_free", "between 0 and 1");
        }
    options.full = QUARRY_FULL_INFERRED;
    f.low_free = 0.5;
    const int infers = describe_default().full == QUARRY_FULL_INFERRED;
    if (infers) {
        options.low_free = 1e-9;
        expect_refused(&options, QUARRY_ERROR_ARGUMENT, "low_free", "probes");
        options.low_free = 5e-324;
        expect_refused(&options, QUARRY_ERROR_ARGUMENT, "low_free", "probes");
    }
    options.low_free = 0.1;
    if (infers) {
        const struct quarry_option five = {"probes", 5};
        options.set = &five;
        options.set_count = 1;
        expect_refused(&options, QUARRY_ERROR_ARGUMENT, "probes", "low_free");
        options.set_count = 0;
    }
    options.full = QUARRY_FULL_PROVEN;
    expect_refused(&options, QUARRY_ERROR_COMBINATION, "low_free", "INFERRED");
    options.low_free = 0;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_destroy(heap));
}

static void wrong_shares_are_refused(void **state)
{
    (void)state;
    for_each_allocator(refused);
}

/* ---- error rates ---- */

/* Fills the heap to its last page, for all that it infers: with more threads than pages, over and over. */
static void fill_up(uint32_t pages, uint32_t threads, uint64_t seed)
{
    uint32_t tries = 0;
    begin(pages, 16, threads + ASKING, seed);
    do {
        run(&promise_malloc, threads);
        expect(++tries < 10000);
        f.target.seed += seed != 0; /* the same one would draw the same pages again */
    } while (slots(16));
}

/* Of a full heap's pages `spare`, chosen at random, come free.  Then ASKING threads ask, each once and
 * without a past, in each of TRIALS trials, and give back what they got.  Returns the number of NULLs. */
static uint32_t nulls_with(uint32_t spare, double low_free)
{
    uint32_t threads = LARGE_PAGES + LARGE_PAGES / 4, chosen = 0, nulls = 0;
    uint64_t noise = 1, bytes = sizeof(void *) * threads;
    void **all = malloc(bytes), **kept = malloc(bytes);
    assert_true(all && kept);
    f.low_free = low_free;
    fill_up(LARGE_PAGES, threads, test_on_cuda(&base_target) ? 0 : 1);
    assert_ok(quarry_memory_copy(&f.target, all, f.device.block, bytes));
    memcpy(kept, all, bytes);
    while (chosen < spare) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)((noise >> 33) % threads);
        chosen += kept[i] != NULL;
        kept[i] = NULL;
    }
    for (uint32_t i = 0; i < threads; i++)
        if (kept[i])
            all[i] = NULL;
    assert_ok(quarry_memory_copy(&f.target, f.device.block, all, bytes));
    run(&promise_free, threads);
    expect_equal(slots(16), spare);
    struct promise_case rest = f.device;
    f.device.block += threads;
    f.device.first = threads;
    f.device.kept = PROMISE_CONTEXT;
    for (uint32_t trial = 1; trial <= TRIALS; trial++) {
        f.target.seed = test_on_cuda(&base_target) ? 0 : trial;
        nulls += run(&promise_malloc, ASKING).nulls;
        run(&promise_free, ASKING);
        expect_equal(slots(16), spare);
    }
    f.device = rest;
    assert_ok(quarry_memory_copy(&f.target, f.device.block, kept, bytes));
    run(&promise_verify, threads);
    run(&promise_free, threads);
    expect_empty();
    end();
    free(all);
    free(kept);
    return nulls;
}

/* More than a binomial variable of n trials of probability p exceeds once in 10^9: six standard deviations,
 * and a few for the small ones.  On the CPU all is seeded, so that the answer is always the same. */
static double bound(double n, double p)
{
    return n * p + 6 * sqrt(n * p * (1 - p)) + 4;
}

#define ASKED ((double)ASKING * TRIALS)

/* Were L or more free, a NULL would have a probability of at most 1 %. */
static void just_enough(void)
{
    f.low_free = 0.1;
    if (describe_default().full == QUARRY_FULL_PROVEN)
        return;
    uint32_t nulls = nulls_with(LARGE_PAGES / 10 + ASKING, 0.1); /* at least L whoever took one */
    expect(nulls <= bound(ASKED, 0.01));
}

/* With five times L: 0.55^49 for single pages, 0.55^64 for words. */
static void plenty(void)
{
    f.low_free = 0.1;
    if (describe_default().full == QUARRY_FULL_PROVEN)
        return;
    expect_equal(nulls_with(LARGE_PAGES / 2, 0.1), 0);
}

/* One page in all.  Who reads n words or pages in vain or not finds it with a probability of at most n times
 * the pages of each times the share. */
static void hardly_any(void)
{
    const uint32_t spare = 1;
    f.low_free = 0.5;
    struct quarry_heap_description about = describe_default();
    if (about.full == QUARRY_FULL_PROVEN)
        return;
    uint32_t bits = described_bits(&about);
    double each = bits ? bits : 1;
    uint32_t nulls = nulls_with(spare, 0.5);
    expect(ASKED - nulls <= bound(ASKED, (double)described(&about, "probes") * each * spare / LARGE_PAGES));
}

/* A word that another lane has locked, or a page that was lost to another malloc, says nothing about how full
 * the heap is.  Here 3/4 of the pages stay free, but everybody wants the same few words. */
static void contended(void)
{
    uint32_t nulls = 0, asking = 32, heaps = test_on_cuda(&base_target) ? 20 : 100;
    f.low_free = 0.5;
    if (describe_default().full == QUARRY_FULL_PROVEN)
        return;
    for (uint32_t i = 1; i <= heaps; i++) {
        begin(128, 16, asking, test_on_cuda(&base_target) ? 0 : i);
        nulls += run(&promise_malloc, asking).nulls;
        run(&promise_free, asking);
        expect_empty();
        end();
    }
    expect(nulls <= bound(heaps * asking, 0.01));
}

static void contention_is_not_taken_for_fullness(void **state)
{
    (void)state;
    for_each_allocator(contended);
}

static void with_the_share_free_null_is_rarer_than_1_in_100(void **state)
{
    (void)state;
    for_each_allocator(just_enough);
}

static void with_plenty_free_null_never_comes(void **state)
{
    (void)state;
    for_each_allocator(plenty);
}

static void with_hardly_any_free_most_get_null(void **state)
{
    (void)state;
    for_each_allocator(hardly_any);
}

/* ---- many NULLs ---- */

/* Steps of the deterministic scheduler in which FAILING threads learn together that a heap is full. */
static uint64_t steps_to_fail(uint32_t pages, uint64_t seed)
{
    uint64_t steps;
    begin(pages, 16, pages > FAILING ? pages : FAILING, 0);
    expect_equal(run(&promise_malloc, pages).nulls, 0);
    assert_ok(quarry_memory_fill(&f.target, f.device.box, 0, sizeof steps));
    f.target.seed = seed;
    expect_equal(run(&promise_clock, FAILING).nulls, FAILING);
    f.target.seed = 0;
    assert_ok(quarry_memory_copy(&f.target, &steps, f.device.box, sizeof steps));
    run(&promise_free, pages);
    expect_empty();
    end();
    return steps;
}

/* A sweep for each warp would read each page more of a large heap 2 * 64 times.  A tree has only some more levels. */
static void shared_proofs(void)
{
    f.probes = 1; /* in either heap */
    for (uint64_t seed = 1; seed <= SHARE_SEEDS && seed <= seeds(SHARE_SEEDS); seed++) {
        uint64_t few = steps_to_fail(FEW_PAGES, seed), many = steps_to_fail(LARGE_PAGES, seed);
        expect(many <= few + READS * LARGE_PAGES || many <= 2 * few);
    }
}

static void those_that_fail_together_share_the_proof(void **state)
{
    (void)state;
    for_each_allocator(shared_proofs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_follow_from_the_share),
        cmocka_unit_test(wrong_shares_are_refused),
        cmocka_unit_test(with_the_share_free_null_is_rarer_than_1_in_100),
        cmocka_unit_test(with_plenty_free_null_never_comes),
        cmocka_unit_test(contention_is_not_taken_for_fullness),
        cmocka_unit_test(with_hardly_any_free_most_get_null),
        cmocka_unit_test(those_that_fail_together_share_the_proof),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("full", tests, NULL, NULL) != 0;
}
