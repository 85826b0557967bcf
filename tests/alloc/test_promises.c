/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of every allocator, one test each, for all of alloc/list.def and each width of word.
 *
 * On the CPU the races run in the deterministic scheduler, with QUARRY_TEST_SEEDS seeds (default 60) on heaps
 * so small that every page is fought for; then in fast mode.  On a GPU with up to a million threads. */
#include "alloc/promise_kernels.h"

#include "common.h"

/* The allocator that the kernels call directly, if they were compiled so. */
#define DIRECT_TEXT_(name) #name
#define DIRECT_TEXT(name) DIRECT_TEXT_(name)
#ifdef QUARRY_ALLOCATOR
#define DIRECT DIRECT_TEXT(QUARRY_ALLOCATOR)
#else
#define DIRECT ""
#endif

struct fixture {
    const char *allocator;
    uint32_t word_bits;
    uint32_t probes; /* 0: default */
    struct quarry_target target;
    quarry_heap *heap;
    struct quarry_heap_description about;
    struct promise_case device;
    uint64_t owners;
    uint32_t most_threads;
};

static struct fixture f;
static struct quarry_target base_target;

static const char *naming(void)
{
    static char text[128];
    snprintf(text, sizeof text, "%s, %u-bit words, seed %llu", f.allocator, f.word_bits,
             (unsigned long long)f.target.seed);
    return text;
}

/* Every failure says which allocator, width and seed. */
#define expect(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail_msg("%s: %s", naming(), #condition);                                                        \
    } while (0)
#define expect_equal(a, b)                                                                                   \
    do {                                                                                                     \
        unsigned long long expect_a = (a), expect_b = (b);                                                   \
        if (expect_a != expect_b)                                                                            \
            fail_msg("%s: %s is %llu, expected %s = %llu", naming(), #a, expect_a, #b, expect_b);            \
    } while (0)

static void begin(uint64_t pages, uint64_t page_bytes, uint32_t most_threads, uint64_t seed)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    f.target = base_target;
    f.target.seed = seed;
    options.target = f.target;
    options.allocator = f.allocator;
    options.word_bits = f.word_bits;
    options.pages = pages;
    options.page_bytes = page_bytes;
    options.probes = f.probes;
    assert_ok(quarry_heap_create(&f.heap, &options));
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    f.owners = f.about.pool_bytes / page_bytes + 1;
    f.most_threads = most_threads;
    f.device.heap = quarry_heap_handle(f.heap);
    f.device.result = test_memory(&f.target, sizeof *f.device.result);
    f.device.block = test_memory(&f.target, sizeof(void *) * most_threads);
    f.device.owner = test_memory(&f.target, sizeof(uint32_t) * f.owners);
    f.device.pool = f.about.pool_base;
    f.device.pool_bytes = f.about.pool_bytes;
    f.device.page_bytes = page_bytes;
    f.device.bytes = page_bytes;
    f.device.lanes = SIMT_ALL_LANES;
    f.device.turns = 1;
    f.device.hold = 0;
}

static void end(void)
{
    assert_ok(quarry_heap_check(f.heap));
    assert_ok(quarry_heap_destroy(f.heap));
    test_memory_free(&f.target, f.device.result, sizeof *f.device.result);
    test_memory_free(&f.target, f.device.block, sizeof(void *) * f.most_threads);
    test_memory_free(&f.target, f.device.owner, sizeof(uint32_t) * f.owners);
}

static struct promise_result run(const struct simt_kernel *kernel, uint32_t threads)
{
    struct promise_result result;
    f.device.threads = threads;
    assert_ok(quarry_memory_fill(&f.target, f.device.result, 0, sizeof result));
    uint32_t block = f.device.lanes == 1 || threads < 64 ? 32 : threads < 256 ? 64 : 256;
    struct quarry_grid grid = {(threads + block - 1) / block, block, 0};
    enum quarry_status status = quarry_launch(kernel, &f.target, grid, &f.device);
    if (status == QUARRY_OK)
        status = quarry_target_wait(&f.target);
    if (status != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    assert_ok(quarry_memory_copy(&f.target, &result, f.device.result, sizeof result));
    expect_equal(result.overlaps, 0);
    expect_equal(result.misaligned, 0);
    expect_equal(result.outside, 0);
    expect_equal(result.torn, 0);
    return result;
}

static struct quarry_statistics statistics(void)
{
    struct quarry_statistics s;
    assert_ok(quarry_heap_statistics(f.heap, &s));
    return s;
}

static uint64_t slots(uint64_t bytes)
{
    uint64_t n;
    assert_ok(quarry_heap_slots(f.heap, bytes, &n));
    return n;
}

/* Is it the allocator of direct calls?  An identifier has underscores where the name has hyphens. */
static int is_direct(const char *name)
{
    const char *direct = DIRECT;
    while (*name && (*name == *direct || (*name == '-' && *direct == '_')))
        name++, direct++;
    return !*name && !*direct;
}

static void for_each_allocator(void (*test)(void))
{
    int tested = 0;
    static const uint32_t widths[] = {32, 64};
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        assert_ok(quarry_allocator_describe(i, &info));
        f.allocator = info.name;
        if (*DIRECT && !is_direct(info.name))
            continue;
        tested = 1;
        for (uint32_t w = 0; w < 2; w++) {
            struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
            quarry_heap *probe;
            struct quarry_heap_description about;
            options.target = base_target;
            options.allocator = info.name;
            options.pages = 1;
            f.word_bits = 0;
            assert_ok(quarry_heap_create(&probe, &options));
            assert_ok(quarry_heap_describe(probe, &about));
            assert_ok(quarry_heap_destroy(probe));
            if (about.word_bits)
                f.word_bits = widths[w];
            else if (w)
                continue;
            test();
        }
    }
    assert_true(tested);
}

static uint64_t seeds(void)
{
    const char *text = getenv("QUARRY_TEST_SEEDS");
    if (test_on_cuda(&base_target))
        return 0;
    return text ? strtoull(text, NULL, 10) : 60;
}

/* ---- filling and emptying ---- */

static void fill(uint64_t pages, uint64_t page_bytes, uint32_t threads, uint64_t seed)
{
    uint64_t fits = pages < threads ? pages : threads;
    begin(pages, page_bytes, threads, seed);
    for (uint32_t again = 0; again < 2; again++) { /* empty again means as good as new */
        expect_equal(slots(page_bytes), pages);
        expect_equal(run(&promise_malloc, threads).nulls, threads - fits);
        expect_equal(statistics().live_blocks, fits);
        expect_equal(statistics().live_bytes, fits * page_bytes);
        expect_equal(statistics().failed_mallocs, (threads - fits) * (again + 1));
        expect_equal(statistics().last_failed_bytes, threads > pages ? page_bytes : 0);
        expect_equal(statistics().largest_free_bytes, pages > fits ? page_bytes : 0);
        expect_equal(slots(1), pages - fits);
        expect_equal(slots(0), 0);
        expect_equal(slots(page_bytes + 1), 0);
        assert_ok(quarry_heap_check(f.heap));
        run(&promise_verify, threads);
        run(&promise_free, threads);
        expect_equal(statistics().live_blocks, 0);
    }
    end();
}

static void fills_to_its_last_page(void)
{
    static const uint64_t pages[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 1024, 1025, 2080};
    for (uint64_t seed = 0; seed <= seeds() / 10; seed++)
        for (uint32_t i = 0; i < sizeof pages / sizeof *pages; i++)
            fill(pages[i], 16u << (i % 5), (uint32_t)pages[i] + 45, seed);
    fill(12000, 48, 12000, 0);
    fill(12000, 256, 16000, 0);
    fill(3, 1u << 20, 8, 0);
    fill(37, (1u << 20) - 16, 64, 0);
}

static void a_heap_fills_to_its_last_page_and_again_after_frees(void **state)
{
    (void)state;
    for_each_allocator(fills_to_its_last_page);
}

/* QUARRY_TEST_THREADS caps what runs at once: sanitizers are slow. */
static uint32_t capped(uint32_t threads)
{
    const char *text = getenv("QUARRY_TEST_THREADS");
    uint32_t most = text ? (uint32_t)strtoul(text, NULL, 10) : threads;
    return threads < most ? threads : most;
}

static void many(void)
{
    uint32_t threads = capped(test_on_cuda(&base_target) ? 1u << 20 : 1u << 15);
    fill(threads + threads / 3, 64, threads, 0);
    fill(threads, 32, threads, 0);
    fill(threads - 1000, 256, threads, 0);
    fill(100, 256, threads, 0); /* nearly everybody fails, at once */
}

static void blocks_of_many_threads_are_disjoint(void **state)
{
    (void)state;
    for_each_allocator(many);
}

/* ---- races ---- */

/* As many pages as threads, each of which holds at most one: at every instant one is free for whoever asks,
 * so not one NULL is right. */
static void churn_without_null(void)
{
    for (uint64_t seed = 0; seed <= seeds(); seed++) {
        uint32_t threads = seed % 3 == 0 ? 64 : seed % 3 == 1 ? 33 : 96;
        begin(threads, 16, threads, seed);
        f.device.turns = seed ? 4 : 200;
        f.device.hold = (uint32_t)(seed % 4) * 3;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_equal(statistics().live_blocks, 0);
        end();
    }
    if (test_on_cuda(&base_target)) {
        uint32_t threads = capped(1u << 17);
        begin(threads, 32, threads, 0);
        f.device.turns = 20;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_equal(statistics().live_blocks, 0);
        end();
    }
}

/* The same where it is hardest.  The heap is full but for one page in 32, so that each word of a bitmap has
 * one, and each of those has its thread, in a warp of its own, most of which hold theirs: nearly always
 * just one page is free, and it moves.  The walk is one step, so that every malloc sweeps. */
static void tight_without_null(void)
{
    static const uint32_t holds[] = {0, 1, 3, 10, 30, 100, 300};
    uint32_t cases = test_on_cuda(&base_target) ? capped(1 << 17) / 1024 : (uint32_t)seeds() * 4 + 20;
    f.probes = 1;
    for (uint32_t i = 1; i <= cases; i++) {
        uint64_t seed = test_on_cuda(&base_target) || i <= 20 ? 0 : i; /* 20 in fast mode */
        uint32_t pages = 64u << (i % 3);
        base_target.resident_blocks = 8;
        begin(pages, 16, pages, i % 2 ? 0 : seed);
        run(&promise_malloc, pages);
        f.device.turns = 32;
        run(&promise_thin, pages);
        uint32_t threads = (uint32_t)slots(16);
        f.target.seed = seed;
        f.device.lanes = 1;
        f.device.turns = seed ? 20 : 200;
        f.device.hold = holds[i % 7];
        expect_equal(run(&promise_churn, threads * 32).nulls, 0);
        f.device.lanes = SIMT_ALL_LANES;
        run(&promise_verify, pages);
        run(&promise_free, pages);
        expect_equal(statistics().live_blocks, 0);
        end();
    }
    f.probes = 0;
    base_target.resident_blocks = 0;
}

static void null_never_comes_while_a_page_is_free(void **state)
{
    (void)state;
    for_each_allocator(churn_without_null);
    for_each_allocator(tight_without_null);
}

/* Far fewer pages than threads: NULLs are right, sharing and losing pages is not. */
static void churn_when_full(void)
{
    for (uint64_t seed = 0; seed <= seeds(); seed++) {
        uint32_t pages = 1 + (uint32_t)seed % 7 * 9;
        begin(pages, 32, 96, seed);
        f.device.turns = seed ? 3 : 200;
        f.device.hold = (uint32_t)(seed % 3) * 4;
        run(&promise_churn, 96);
        expect_equal(statistics().live_blocks, 0);
        expect_equal(slots(32), pages);
        end();
    }
}

static void a_full_heap_neither_shares_nor_loses_pages(void **state)
{
    (void)state;
    for_each_allocator(churn_when_full);
}

static void sparse(void)
{
    static const uint32_t masks[] = {0x1u, 0x80000000u, 0x00010001u, 0x55555555u, 0xfffffffeu};
    for (uint64_t seed = 0; seed <= seeds() / 4; seed++)
        for (uint32_t i = 0; i < sizeof masks / sizeof *masks; i++) {
            begin(70, 16, 160, seed);
            f.device.lanes = masks[i];
            f.device.turns = 3;
            run(&promise_churn, 160);
            run(&promise_malloc, 160);
            run(&promise_verify, 160);
            run(&promise_free, 160);
            expect_equal(statistics().live_blocks, 0);
            end();
        }
}

static void any_subset_of_lanes_may_call(void **state)
{
    (void)state;
    for_each_allocator(sparse);
}

static void handover(void)
{
    for (uint64_t seed = 0; seed <= seeds() / 2; seed++) {
        begin(3 * 64, 48, 128, seed); /* a pair holds at most two blocks */
        f.device.turns = seed ? 4 : 100;
        expect_equal(run(&promise_handover, 128).nulls, 0);
        expect_equal(statistics().live_blocks, 0);
        end();
    }
}

static void any_thread_may_free(void **state)
{
    (void)state;
    for_each_allocator(handover);
}

/* ---- odd requests ---- */

static void strange(void)
{
    for (uint64_t seed = 0; seed <= seeds() / 10; seed++) {
        begin(64, 64, 64, seed);
        expect_equal(run(&promise_strange, 64).nulls, 48);
        expect_equal(statistics().failed_mallocs, 0);
        expect_equal(statistics().refused_mallocs, 32);
        expect(statistics().last_failed_bytes > 64);
        expect_equal(statistics().live_blocks, 0);
        end();
    }
}

static void size_0_and_too_large_give_null_and_harm_nothing(void **state)
{
    (void)state;
    for_each_allocator(strange);
}

static void reset(void)
{
    begin(500, 64, 600, 0);
    run(&promise_malloc, 600);
    assert_ok(quarry_heap_reset(f.heap));
    assert_ok(quarry_memory_fill(&f.target, f.device.owner, 0, sizeof(uint32_t) * f.owners));
    expect_equal(statistics().live_blocks, 0);
    expect_equal(statistics().failed_mallocs, 0);
    expect_equal(statistics().last_failed_bytes, 0);
    expect_equal(run(&promise_malloc, 600).nulls, 100);
    run(&promise_verify, 600);
    run(&promise_free, 600);
    end();
}

static void reset_makes_everything_free(void **state)
{
    (void)state;
    for_each_allocator(reset);
}

/* ---- check ---- */

/* Overwrites what lies before the first page, in two halves: the sweep's state, then the map. */
static void corrupt(void)
{
    begin(1000, 64, 1000, 0);
    unsigned char *sweep = (unsigned char *)f.about.pool_base + 256, *map = sweep + 256;
    unsigned char *pages = (unsigned char *)f.about.pool_base + f.about.pool_bytes - 1000 * 64;
    assert_ok(quarry_heap_check(f.heap));
    assert_ok(quarry_memory_fill(&f.target, sweep, 0xff, 64));
    assert_int_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    expect(strlen(quarry_error_detail()) > 0);
    assert_ok(quarry_heap_reset(f.heap));
    assert_ok(quarry_heap_check(f.heap));
    assert_ok(quarry_memory_fill(&f.target, map, 0x24, (uint64_t)(pages - map)));
    assert_int_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    assert_ok(quarry_heap_reset(f.heap));
    end();
}

static void check_sees_broken_structures(void **state)
{
    (void)state;
    for_each_allocator(corrupt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_fills_to_its_last_page_and_again_after_frees),
        cmocka_unit_test(blocks_of_many_threads_are_disjoint),
        cmocka_unit_test(null_never_comes_while_a_page_is_free),
        cmocka_unit_test(a_full_heap_neither_shares_nor_loses_pages),
        cmocka_unit_test(any_subset_of_lanes_may_call),
        cmocka_unit_test(any_thread_may_free),
        cmocka_unit_test(size_0_and_too_large_give_null_and_harm_nothing),
        cmocka_unit_test(reset_makes_everything_free),
        cmocka_unit_test(check_sees_broken_structures),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("promises", tests, NULL, NULL) != 0;
}
