/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that free blocks and take others all the time, in a heap of `quarry` with .3 to .98 of its bytes live.  Each
 * block is stamped, and looked at before it is freed; in the end everything is free.
 *
 * The threads count the bytes of their blocks and of mallocs under way themselves, and don't ask for what would be more
 * than the level.  When is NULL false?  If at each instant of the call something fitted; and what a malloc under way
 * holds counts as its block (docs/design/full-heap.md).  Three cases can be judged:
 *   One size, in a heap that had no other since it was made or reset.  At each instant others have or ask for fewer
 *       blocks than there are slots.  So each NULL is false.
 *   Many sizes, and no more blocks than chunks.  Others have or ask for fewer blocks than there are chunks, so one
 *       chunk is without any.  Each NULL is false.
 *   Many sizes, and many blocks to a chunk.  Live blocks may lie in all chunks, so NULL may be right.  But in a launch
 *       in which nobody frees, what is free at its end was so all the time.  So a NULL is false if that would have
 *       served it.  (Or others had it by mistake meanwhile, and gave it back: no run has shown that.)
 *
 * The soak is a mixture of all of it, for as long as is wanted:
 *     QUARRY_TEST_ONLY=soak QUARRY_TEST_SECONDS=3600 QUARRY_TEST_SEED=7 test_churn
 * A heap that is filled and freed as often as is wanted, by any allocator:
 *     QUARRY_TEST_ONLY=a_full_* QUARRY_TEST_TIMES=100 QUARRY_TEST_ALLOCATOR=ouro-p-va,ualloc,tbuddy test_churn
 * with QUARRY_TEST_MIB=2048 if its pool is to have so many MiB.  QUARRY_TEST_TIMES prints what each time took, too, and
 * what each launch of a soak took.
 * QUARRY_TEST_SEEDS: schedules of the CPU, as elsewhere (default 60). */
#include "alloc/churn_kernels.h"
#include "alloc/promises.h"

#include <time.h>

#define SEEDS 60u
#define SECONDS 2u
#define LEVELS 4u
#define TIMES 3u

static const double levels[LEVELS] = {.3, .6, .9, .98};

/* ---- a heap, and threads that know their blocks ---- */

static struct churn_case c;
static uint64_t rows;       /* of c.block that there are: for c.threads */
static uint64_t own_blocks; /* that the threads have, as they count them */

static void open_heap(uint64_t pool_bytes, uint64_t pages, uint64_t page_bytes)
{
    f.target = base_target;
    struct quarry_heap_options options = options_of_fixture();
    options.pool_bytes = pool_bytes;
    options.pages = pages;
    options.page_bytes = page_bytes;
    assert_ok(quarry_heap_create(&f.heap, &options));
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    f.empty_slots = slots(1);
    memset(&c, 0, sizeof c);
    c.heap = quarry_heap_handle(f.heap);
    c.pool = f.about.pool_base;
    c.pool_bytes = f.about.pool_bytes;
    c.result = test_memory(&f.target, sizeof *c.result);
    c.live = test_memory(&f.target, sizeof *c.live);
    rows = own_blocks = 0;
}

static void close_heap(void)
{
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    assert_ok(quarry_heap_destroy(f.heap));
    test_memory_free(&f.target, c.result, 0);
    test_memory_free(&f.target, c.live, 0);
    if (rows)
        test_memory_free(&f.target, c.block, 0);
}

static uint64_t live(void)
{
    uint64_t bytes;
    assert_ok(quarry_memory_copy(&f.target, &bytes, c.live, sizeof bytes));
    return bytes;
}

/* So many threads, with room for so many blocks at least. */
static void populate(uint32_t threads, uint64_t blocks)
{
    uint64_t held = blocks / threads + 1;
    if (threads != c.threads || held > rows) {
        if (rows)
            test_memory_free(&f.target, c.block, 0);
        c.block = test_memory(&f.target, held * threads * sizeof *c.block);
        rows = held;
    }
    c.threads = threads;
    c.held = (uint32_t)held;
    c.shift = 0;
}

static struct churn_result launch(const struct simt_kernel *kernel)
{
    struct churn_result result = {.least = UINT32_MAX};
    uint32_t block = c.threads < 256 ? 64 : 256;
    struct quarry_grid grid = {(c.threads + block - 1) / block, block, 0};
    assert_ok(quarry_memory_copy(&f.target, c.result, &result, sizeof result));
    c.program = c.program * 747796405u + 2891336453u;
    if (quarry_launch(kernel, &f.target, grid, &c) != QUARRY_OK || quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    c.stamp += c.turns * c.threads;
    assert_ok(quarry_memory_copy(&f.target, &result, c.result, sizeof result));
    expect_equal(result.torn, 0);
    expect_equal(result.strange, 0);
    own_blocks += result.taken - result.freed;
    expect_equal(statistics().live_blocks, own_blocks);
    return result;
}

/* All ask for blocks until there is no room, or the level is reached. */
static struct churn_result fill(void)
{
    c.takes = 1;
    c.frees = 0;
    c.turns = c.held;
    return launch(&churn_play);
}

/* The same, again and again, until there are so many blocks: who asks while others ask for too much does not ask for a
 * block, though there may be some left.  Returns how many got NULL. */
static uint64_t fill_up(uint64_t blocks)
{
    uint64_t nulls = 0, seed = f.target.seed;
    for (uint32_t tries = 0; own_blocks < blocks; tries++) {
        expect(tries < 1000);
        nulls += fill().nulls;
        f.target.seed += seed ? 1000 : 0; /* another schedule */
    }
    f.target.seed = seed;
    return nulls;
}

/* Each thread frees so many of its blocks, and takes others instead.  They were others' if c.shift has changed. */
static struct churn_result churn(uint32_t turns)
{
    c.takes = c.frees = 1;
    c.turns = turns;
    return launch(&churn_play);
}

/* Of CHURN_SHARES blocks so many stay, and others are freed. */
static void thin(uint32_t keeps)
{
    c.takes = 0;
    c.frees = 1;
    c.keeps = keeps;
    c.turns = c.held;
    launch(&churn_play);
    c.keeps = 0;
}

/* Everything is freed: nothing is lost. */
static void drain(void)
{
    thin(0);
    expect_equal(live(), 0);
    expect_equal(own_blocks, 0);
    expect_empty();
}

static void choose_sizes(uint32_t least, uint32_t most, double whole)
{
    c.least = least;
    c.most = most;
    c.whole = (uint32_t)(whole * CHURN_SHARES + .5);
}

/* ---- NULL ---- */

/* One size, at a level: all slots, if that is less.  Each NULL is false. */
static void one_size(uint32_t bytes, double level, uint32_t threads, uint32_t turns)
{
    uint64_t fits = slots(bytes), most = (uint64_t)(level * (double)f.about.pool_bytes) / bytes;
    most = most < fits ? most : fits;
    choose_sizes(bytes, bytes, 0);
    populate(threads, most + threads);
    c.limit = most * bytes;
    for (uint32_t again = 0; again < 3; again++) {
        expect_equal(fill_up(most), 0);
        expect_equal(live(), c.limit);
        if (again == 2)
            break;
        c.shift += 77;
        expect_equal(churn(turns).nulls, 0);
    }
    launch(&churn_verify);
    drain();
}

static void one_size_at_all_levels(uint64_t pool_bytes, uint32_t threads, uint32_t turns)
{
    static const uint32_t sizes[] = {16, 64, 1000, 1024, 4096, 8192};
    plain_options();
    open_heap(pool_bytes, 0, 0);
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint32_t l = 0; l < LEVELS; l++) {
            assert_ok(quarry_heap_reset(f.heap));
            one_size(sizes[s], levels[l], threads, turns);
        }
    close_heap();
}

/* A heap of so few slots that each is fought for, in schedules of the CPU. */
static void one_size_by_seeds(void)
{
    static const uint32_t sizes[] = {16, 48, 100, 500};
    for (uint64_t seed = 1; seed <= seeds(SEEDS); seed++) {
        plain_options();
        open_heap(0, 1 + seed % 3, 1024);
        f.target.seed = seed;
        f.target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 3) : 0;
        one_size(sizes[seed % 4], levels[seed / 4 % LEVELS], 40, 3);
        close_heap();
    }
}

static void one_sizes(void)
{
    int cuda = test_on_cuda(&base_target);
    one_size_at_all_levels(1u << 20, capped(256), 20);
    if (cuda)
        one_size_at_all_levels(1u << 29, capped(1u << 17), 20);
    one_size_by_seeds();
}

static void null_never_comes_of_one_size_at_any_level(void **state)
{
    (void)state;
    for_each_proof(one_sizes);
}

/* Sizes from 4 bytes to a chunk, and as many blocks as chunks.  Each NULL is false. */
static void few_blocks(uint32_t chunk_bytes, uint32_t chunks, uint32_t threads, double level, uint64_t seed)
{
    double mixed = .12; /* of a chunk: the mean of sizes of which each power of two comes as often */
    plain_options();
    open_heap(0, chunks, chunk_bytes);
    f.target.seed = seed;
    f.target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 3) : 0;
    choose_sizes(4, chunk_bytes, (level - mixed) / (1 - mixed));
    populate(threads, chunks - 1); /* no more than chunks: of each thread as many */
    expect_equal((uint64_t)c.held * threads, chunks);
    c.limit = UINT64_MAX;
    for (uint32_t again = 0; again < 4; again++) {
        expect_equal(fill().nulls, 0);
        expect_equal(own_blocks, chunks);
        if (chunks >= 1024)
            expect((double)live() > (level - .1) * chunks * chunk_bytes);
        c.shift += 77;
        expect_equal(churn(seed ? 4 : 20).nulls, 0);
    }
    launch(&churn_verify);
    drain();
    close_heap();
}

static void few_blocks_at_all_levels(void)
{
    uint32_t threads = capped(test_on_cuda(&base_target) ? 1u << 17 : 256);
    for (uint32_t l = 0; l < LEVELS; l++)
        few_blocks(8192, test_on_cuda(&base_target) ? threads : 4 * threads, threads, levels[l], 0);
    for (uint64_t seed = 1; seed <= seeds(SEEDS); seed++)
        few_blocks(1024, 40, seed % 2 ? 40 : 20, levels[seed / 2 % LEVELS], seed);
}

static void null_never_comes_of_many_sizes_while_a_chunk_is_empty(void **state)
{
    (void)state;
    for_each_proof(few_blocks_at_all_levels);
}

/* Sizes from 4 to 8192 bytes, many to a chunk.  A NULL of a launch without frees is false if that would fit in the end.
 * At .3 none comes at all. */
static void many_blocks(uint64_t pool_bytes, double level, uint32_t threads, uint32_t turns, uint32_t times)
{
    uint32_t nulls = 0;
    plain_options();
    open_heap(pool_bytes, 0, 0);
    choose_sizes(4, 8192, 0);
    populate(threads, pool_bytes / 600);
    c.limit = (uint64_t)(level * (double)f.about.pool_bytes);
    for (uint32_t again = 0; again < times; again++) {
        struct churn_result filled = fill();
        if (filled.nulls)
            expect_equal(slots(filled.least), 0);
        c.shift += 77;
        nulls += filled.nulls + churn(turns).nulls;
    }
    launch(&churn_verify);
    print_message("4 to 8192 bytes, %.2f of %llu MiB: %.3f live, %u NULL\n", level,
                  (unsigned long long)(pool_bytes >> 20), (double)live() / (double)f.about.pool_bytes, nulls);
    expect(level > .5 || (nulls == 0 && live() > c.limit / 10 * 9));
    drain();
    close_heap();
}

static void many_blocks_at_all_levels(void)
{
    for (uint32_t l = 0; l < LEVELS; l++) {
        many_blocks(1u << 24, levels[l], capped(256), 20, 2);
        if (test_on_cuda(&base_target))
            many_blocks(1u << 30, levels[l], capped(1u << 17), 20, 4);
    }
}

static void null_of_many_sizes_means_that_nothing_is_left(void **state)
{
    (void)state;
    for_each_proof(many_blocks_at_all_levels);
}

/* ---- other sizes ---- */

/* Everything is taken in one size after the other, with nothing but frees between them. */
static void all_sizes_in_turn(void)
{
    static const uint32_t sizes[] = {16, 1000, 4096, 20, 8192, 64, 16000, 1024, 5000, 16};
    uint64_t pool_bytes = test_on_cuda(&base_target) ? 1u << 28 : 1u << 20;
    uint32_t threads = test_on_cuda(&base_target) ? capped(1u << 17) : capped(256);
    plain_options();
    open_heap(pool_bytes, 0, 0);
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t fits = slots(sizes[s]);
        choose_sizes(sizes[s], sizes[s], 0);
        populate(threads, fits + threads);
        c.limit = fits * sizes[s];
        (void)fill_up(fits);
        expect_equal(own_blocks, fits);
        launch(&churn_verify);
        drain();
    }
    close_heap();
}

static void what_is_freed_serves_each_other_size(void **state)
{
    (void)state;
    for_each_proof(all_sizes_in_turn);
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Blocks of 4 to 8192 bytes are taken until there are none, and all freed, again and again.  Nothing is lost by that. */
static void fill_again_and_again(void)
{
    const char *text = getenv("QUARRY_TEST_TIMES"), *mib = getenv("QUARRY_TEST_MIB");
    int cuda = test_on_cuda(&base_target);
    uint64_t pool_bytes = mib ? strtoull(mib, NULL, 10) << 20 : cuda ? 1u << 30 : 1u << 22, blocks = 0;
    uint32_t threads = capped(cuda ? 1u << 20 : 256), times = text ? (uint32_t)atoi(text) : TIMES;
    double least = 1;
    plain_options();
    open_heap(pool_bytes, 0, 0);
    choose_sizes(4, 8192, 0);
    populate(threads, pool_bytes / 256);
    c.limit = UINT64_MAX;
    for (uint32_t again = 0; again < times; again++) {
        c.shift += 77;
        double start = now();
        struct churn_result filled = fill();
        double full = now();
        double share = (double)live() / (double)f.about.pool_bytes;
        expect(filled.nulls > 0);
        expect_equal(slots(filled.least), 0);
        least = share < least ? share : least;
        blocks += filled.taken;
        if (again % 10 == 0)
            launch(&churn_verify);
        drain();
        if (text) {
            print_message(
                "%s, %llu MiB, time %u: filled in %.1f ms by %llu blocks, %u NULL; freed after %.1f ms\n",
                f.about.allocator, (unsigned long long)(pool_bytes >> 20), again, full - start,
                (unsigned long long)filled.taken, filled.nulls, now() - full);
            (void)fflush(stdout);
        }
    }
    print_message("%s: filled %u times by %u threads, to %.3f and more; %llu blocks\n", f.about.allocator,
                  times, threads, least, (unsigned long long)blocks);
    close_heap();
}

static void a_full_heap_is_freed_and_filled_again(void **state)
{
    (void)state;
    for_each_proof(fill_again_and_again);
}

/* ---- soak ---- */

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % below);
}

/* Of blocks that threads have for a while some are freed and others are taken, of sizes and up to levels that change.
 * Now and then most of them are freed, so that chunks have few blocks or none, or all. */
static void soak_for(double seconds, uint64_t seed)
{
    int tells = getenv("QUARRY_TEST_TIMES") != NULL;
    static const struct {
        uint32_t least, most;
        double whole;
    } sizes[] = {{4, 8192, 0},    {4, 64, 0},  {16, 16, 0},   {4, 1024, 0},     {1000, 1000, 0},
                 {8192, 8192, 0}, {48, 48, 0}, {4, 8192, .5}, {4, 100000, .02}, {300000, 300000, 0}};
    int cuda = test_on_cuda(&base_target);
    uint64_t pool_bytes = cuda ? 1u << 30 : 1u << 22, random = seed, launches = 0, taken = 0, nulls = 0,
             drains = 0;
    uint32_t threads = capped(cuda ? 1u << 17 : 256), all = sizeof sizes / sizeof *sizes;
    time_t start = time(NULL);
    plain_options();
    open_heap(pool_bytes, 0, 0);
    populate(threads, pool_bytes / 256);
    do {
        uint32_t i = draw(&random, all);
        choose_sizes(sizes[i].least, sizes[i].most, sizes[i].whole);
        c.limit = (uint64_t)(levels[draw(&random, 2 * LEVELS) % 5 % LEVELS] * (double)f.about.pool_bytes);
        c.shift = draw(&random, threads);
        c.program = draw(&random, 1u << 30);
        int churns = draw(&random, 4) != 0;
        if (tells) {
            print_message("launch %llu: %s of %u to %u bytes, to %.2f of the heap, %.3f live ...",
                          (unsigned long long)launches, churns ? "churn" : "fill", c.least, c.most,
                          (double)c.limit / (double)f.about.pool_bytes,
                          (double)live() / (double)f.about.pool_bytes);
            (void)fflush(stdout);
        }
        double begin = now();
        struct churn_result sum = churns ? churn(c.held / 2 + 1) : fill();
        if (tells)
            print_message(" %.1f ms, %llu taken, %u NULL\n", now() - begin, (unsigned long long)sum.taken,
                          sum.nulls);
        taken += sum.taken;
        nulls += sum.nulls;
        if (!c.frees && sum.nulls)
            expect(sum.least > f.about.page_bytes || slots(sum.least) == 0);
        if (draw(&random, 4) == 0)
            launch(&churn_verify);
        if (draw(&random, 3) == 0)
            thin(1u << draw(&random, 6));
        if (draw(&random, 8) == 0) {
            drain();
            drains++;
        }
        launches++;
    } while (difftime(time(NULL), start) < seconds);
    drain();
    print_message("soak of %.0f s, seed %llu: %llu launches, %llu blocks of %u threads, %llu NULL, all freed "
                  "%llu times\n",
                  seconds, (unsigned long long)seed, (unsigned long long)launches, (unsigned long long)taken,
                  threads, (unsigned long long)nulls, (unsigned long long)drains + 1);
    close_heap();
}

static void soaks(void)
{
    const char *seconds = getenv("QUARRY_TEST_SECONDS"), *seed = getenv("QUARRY_TEST_SEED");
    soak_for(seconds ? atof(seconds) : SECONDS, seed ? strtoull(seed, NULL, 10) : 1);
}

static void soak(void **state)
{
    (void)state;
    for_each_proof(soaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_never_comes_of_one_size_at_any_level),
        cmocka_unit_test(null_never_comes_of_many_sizes_while_a_chunk_is_empty),
        cmocka_unit_test(null_of_many_sizes_means_that_nothing_is_left),
        cmocka_unit_test(what_is_freed_serves_each_other_size),
        cmocka_unit_test(a_full_heap_is_freed_and_filled_again),
        cmocka_unit_test(soak),
    };
    base_target = test_target();
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    if (!getenv("QUARRY_TEST_ALLOCATOR"))
        setenv("QUARRY_TEST_ALLOCATOR", "quarry", 1);
    return cmocka_run_group_tests_name("churn", tests, NULL, NULL) != 0;
}
