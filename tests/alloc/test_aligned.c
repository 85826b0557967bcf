/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of more alignment than the heap was told, for every allocator: on heaps with and without an alignment
 * of their own, in debug mode, with pieces of a warp's block, and with pages of 16 bytes to 8 KiB.  What heaps with
 * statistics count is compared with what a census finds.
 * QUARRY_TEST_SEEDS: seeds of the deterministic scheduler (default 4). */
#include "alloc/aligned_kernels.h"
#include "alloc/promises.h"

#define SEEDS 4u
#define HEAP_BYTES 131072u
#define LARGE_HEAP_BYTES (4u << 20)
#define MOST_PAGES 4096u
#define THREADS 64u

static struct aligned_case a;

/* What a heap can be, apart from its pages. */
static const struct kind {
    uint64_t alignment;
    enum quarry_distribution distribution;
    int debug;
} kinds[] = {
    {0, QUARRY_DISTRIBUTION_NONE, 0}, {128, QUARRY_DISTRIBUTION_NONE, 0}, {0, QUARRY_DISTRIBUTION_NONE, 1},
    {0, QUARRY_DISTRIBUTION_WARP, 0}, {128, QUARRY_DISTRIBUTION_WARP, 0},
};

static void launch(const struct simt_kernel *kernel, uint32_t threads)
{
    struct quarry_grid grid = {(threads + 31) / 32, 32, 0};
    if (quarry_launch(kernel, &f.target, grid, &a) != QUARRY_OK || quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s, debug %d, pages of %llu bytes: %s", naming(), f.debug,
                 (unsigned long long)f.about.page_bytes, quarry_error_detail());
}

static void begin_aligned(uint64_t page_bytes, uint64_t seed)
{
    uint64_t pages = page_bytes ? HEAP_BYTES / page_bytes : 512;
    if (!page_bytes) { /* of pages of 256 KiB fewer are enough: each byte is written */
        begin(1, 0, THREADS, 0);
        uint64_t most = LARGE_HEAP_BYTES / f.about.page_bytes;
        pages = pages < most ? pages : most;
        end();
    }
    begin(pages < MOST_PAGES ? pages : MOST_PAGES, page_bytes, THREADS, seed);
    memset(&a, 0, sizeof a);
    a.heap = f.device.heap;
    a.reaches = (uint32_t)(f.counted || f.distribution != QUARRY_DISTRIBUTION_NONE);
    a.sized = a.reaches;
    a.keeps = !f.can.reuses_space;
    a.page_bytes = f.about.page_bytes;
    a.threads = THREADS;
    a.count = 2 * MOST_PAGES / ALIGNED_HELD * ALIGNED_HELD;
    a.fault = test_memory(&f.target, sizeof *a.fault * ALIGNED_FAULTS);
    a.own = test_memory(&f.target, sizeof *a.own * a.count);
}

static void expect_no_fault(void)
{
    static const char *const names[] = {"a NULL too many", "no NULL", "an alignment",
                                        "a usable size",   "content", "a block that moved"};
    struct aligned_record fault[ALIGNED_FAULTS];
    assert_ok(quarry_memory_copy(&f.target, fault, a.fault, sizeof fault));
    for (uint32_t i = 0; i < ALIGNED_FAULTS; i++)
        if (fault[i].count)
            fail_msg("%s, debug %d, pages of %llu bytes: %llu times wrong: %s, first of %llu bytes at a "
                     "multiple of %llu",
                     naming(), f.debug, (unsigned long long)f.about.page_bytes,
                     (unsigned long long)fault[i].count, names[i], (unsigned long long)fault[i].bytes,
                     (unsigned long long)fault[i].alignment);
}

/* A heap with statistics has counted what there is: of a block that was trimmed what is left of it. */
static void expect_counted(void)
{
    struct quarry_totals totals;
    if (!f.statistics)
        return;
    const struct quarry_statistics now = statistics();
    assert_ok(quarry_heap_totals(f.heap, &totals));
    expect_equal(totals.live_blocks, now.live_blocks);
    expect_equal(totals.live_bytes, now.live_bytes);
    expect(totals.peak_bytes >= totals.live_bytes && totals.total_bytes >= totals.live_bytes);
}

static void end_aligned(void)
{
    expect_counted();
    expect_no_fault();
    test_memory_free(&f.target, a.fault, 0);
    test_memory_free(&f.target, a.own, 0);
    expect_empty();
    end();
}

/* Runs the test on heaps of all kinds, and with pages of all sizes that the kind allows. */
static void on_all_heaps(void (*test)(uint64_t page_bytes))
{
    static const uint64_t page_bytes[] = {0, 16, 48, 64, 256, 640, 1024, 4096, 8192};
    for (uint32_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        f.alignment = kinds[k].alignment;
        f.distribution = kinds[k].distribution;
        f.debug = kinds[k].debug;
        if ((f.debug && !f.counted) || f.alignment > f.can.max_alignment)
            continue;
        for (uint32_t i = 0; i < sizeof page_bytes / sizeof *page_bytes; i++)
            if (!f.alignment || page_bytes[i] % f.alignment == 0)
                test(page_bytes[i]);
    }
    f.alignment = 0;
    f.distribution = QUARRY_DISTRIBUTION_NONE;
    f.debug = 0;
}

static void each(uint64_t page_bytes)
{
    begin_aligned(page_bytes, 0);
    launch(&aligned_each, 32);
    end_aligned();
}

static void each_on_all_heaps(void)
{
    on_all_heaps(each);
}

static void every_alignment_and_size_that_fits_is_given(void **state)
{
    (void)state;
    for_every_allocator(each_on_all_heaps);
}

static void play(uint64_t page_bytes)
{
    /* Sanitizers are slow: there each size of page has one of the seeds, or the fast mode. */
    const int slow = getenv("QUARRY_TEST_THREADS") && !test_on_cuda(&base_target); /* which has no seeds */
    const uint64_t last = slow ? page_bytes / 16 % 3 : seeds(SEEDS);
    for (uint64_t seed = slow ? last : 0; seed <= last; seed++) {
        f.statistics = f.counted && seed % 2;
        begin_aligned(page_bytes, seed);
        a.most = seed % 3 == 2 ? 5000 : 300;
        a.most = a.most < a.heap.max_block ? a.most : a.heap.max_block;
        a.turns = 12;
        a.program = (uint32_t)seed + 1;
        launch(&aligned_play, THREADS);
        expect_counted();
        if (f.counted && quarry_heap_check(f.heap) != QUARRY_OK)
            fail_msg("%s, debug %d: %s", naming(), f.debug, quarry_error_detail());
        launch(&aligned_give, THREADS);
        end_aligned();
    }
    f.statistics = 0;
}

static void play_on_all_heaps(void)
{
    on_all_heaps(play);
}

static void nobody_writes_to_anothers_aligned_block(void **state)
{
    (void)state;
    for_every_allocator(play_on_all_heaps);
}

static void shrink(uint64_t page_bytes)
{
    begin_aligned(page_bytes, 0);
    launch(&aligned_shrink, 32);
    if (f.debug)
        expect_equal(statistics().failed_mallocs, 0);
    end_aligned();
}

static void shrink_on_all_heaps(void)
{
    on_all_heaps(shrink);
}

static void realloc_to_no_more_than_a_block_has_leaves_it_there(void **state)
{
    (void)state;
    for_each_allocator(shrink_on_all_heaps);
}

/* What an aligned block takes, as docs/reference/policies.md says. */
static void cost(uint64_t page_bytes, uint64_t alignment, uint64_t bytes)
{
    f.statistics = 1;
    begin_aligned(page_bytes, 0);
    if (bytes + alignment - a.heap.alignment > a.heap.max_block) {
        end_aligned();
        return;
    }
    a.alignment = alignment;
    a.bytes = bytes;
    launch(&aligned_take, 32);
    uint64_t page = f.about.page_bytes, live = statistics().live_bytes, cell = 2 * (bytes + alignment);
    uint64_t pages = (bytes + page - 1) / page * page;
    uint64_t most = page_bytes && alignment % page == 0 ? pages : pages + page;
    int divides = (test_is_of(f.allocator, "scatter") || test_is_of(f.allocator, "ouro")) &&
                  bytes + alignment - a.heap.alignment <= page;
    struct quarry_totals totals;
    assert_ok(quarry_heap_totals(f.heap, &totals));
    expect_counted();
    expect_equal(totals.live_blocks, 1);
    expect_equal(totals.total_bytes, live); /* what was trimmed off was nobody's */
    if (f.can.sizes_double) /* of all that was asked for, if the user's bytes lie across the middle of that */
        most = cell > page ? cell : page;
    if (live < bytes || live > (divides ? cell : most))
        fail_msg("%s, pages of %llu bytes: %llu bytes aligned to %llu take %llu", naming(),
                 (unsigned long long)page, (unsigned long long)bytes, (unsigned long long)alignment,
                 (unsigned long long)live);
    a.threads = 1;
    launch(&aligned_give, 32);
    end_aligned();
    f.statistics = 0;
}

/* What is trimmed off serves others: all of the heap can be taken. */
static void fill(uint64_t page_bytes, uint64_t alignment, uint64_t bytes)
{
    begin_aligned(page_bytes, 0);
    a.alignment = alignment;
    a.bytes = bytes;
    launch(&aligned_fill, 32);
    expect_equal(statistics().live_bytes, f.about.pages * f.about.page_bytes);
    a.threads = a.count / ALIGNED_HELD;
    launch(&aligned_give, a.threads);
    end_aligned();
}

static void trimmed(void)
{
    static const uint64_t page_bytes[] = {0, 64, 256, 1024};
    if (f.fixed)
        return;
    for (uint32_t i = 0; i < 4; i++)
        for (uint64_t alignment = 64; alignment <= 4096; alignment *= 4)
            for (uint64_t bytes = 40; bytes <= 10240; bytes *= 16) {
                cost(page_bytes[i], alignment, bytes);
                if (f.several && page_bytes[i] && (alignment >= page_bytes[i] || bytes > page_bytes[i]))
                    fill(page_bytes[i], alignment, bytes);
            }
}

static void what_an_aligned_block_does_not_need_is_free(void **state)
{
    (void)state;
    for_each_allocator(trimmed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alignment_and_size_that_fits_is_given),
        cmocka_unit_test(nobody_writes_to_anothers_aligned_block),
        cmocka_unit_test(realloc_to_no_more_than_a_block_has_leaves_it_there),
        cmocka_unit_test(what_an_aligned_block_does_not_need_is_free),
    };
    base_target = test_target();
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("aligned", tests, NULL, NULL) != 0;
}
