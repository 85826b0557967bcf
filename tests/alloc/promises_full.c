/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/promises_full.h"
#include "alloc/promises.h"

#define SEEDS 60u

void fill(uint64_t pages, uint64_t page_bytes, uint32_t threads, uint64_t seed)
{
    uint64_t fits = pages < threads ? pages : threads, failed = 0;
    begin(pages, page_bytes, threads, seed);
    for (uint32_t again = 0; again < 2; again++) { /* empty again means as good as new */
        expect_equal(slots(page_bytes), pages);
        uint32_t nulls = run(&promise_malloc, threads).nulls;
        uint64_t got = threads - nulls;
        if (f.low_free > 0)
            expect(got <= fits);
        else
            expect_equal(got, fits);
        failed += nulls;
        struct quarry_statistics s = statistics();
        expect_equal(s.live_blocks, got);
        expect_equal(s.live_bytes, got * page_bytes);
        expect_equal(s.failed_mallocs, failed);
        expect_equal(s.last_failed_bytes, failed ? page_bytes : 0);
        if (f.fixed || got == pages)
            expect_equal(s.largest_free_bytes, pages > got ? page_bytes : 0);
        else
            expect(s.largest_free_bytes >= page_bytes);
        expect_equal(slots(page_bytes), pages - got);
        if (f.fixed)
            expect_equal(slots(1), pages - got);
        expect_equal(slots(0), 0);
        expect_equal(slots(f.about.max_block_bytes + 1), 0);
        assert_ok(quarry_heap_check(f.heap));
        run(&promise_verify, threads);
        run(&promise_free, threads);
        expect_empty();
    }
    end();
}

static void fills_to_its_last_page(void)
{
    static const uint64_t pages[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 1024, 1025, 2080};
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 20; seed++)
        for (uint32_t i = 0; i < sizeof pages / sizeof *pages; i++)
            fill(pages[i], 16u << (i % 5), (uint32_t)pages[i] + 45, seed);
    const uint32_t many = capped(12000);
    fill(many, 48, many, 0);
    fill(many, 256, many + many / 3, 0);
    fill(3, largest_page(), 8, 0);
    fill(37, (1u << 20) - 16, 64, 0);
}

void a_heap_fills_to_its_last_page_and_again_after_frees(void **state)
{
    (void)state;
    for_each_allocator(fills_to_its_last_page);
}

/* ---- many blocks of few threads ---- */

/* Section 5.4 of Eckert's thesis: workers fill the heap by strides, with sums of the worker and its counter;
 * once it is full all sums are still there, and once everything is freed there are as many slots as at first.
 * Of blocks that nobody counts there are as many as the heap has been made for. */
static void fill_by_strides(uint64_t bytes, uint64_t page_bytes, uint32_t pages, uint32_t workers,
                            uint64_t seed)
{
    uint32_t more = 45, count = pages, nulls = 0;
    f.no_grains = 1;
    if (f.counted) {
        begin(pages, page_bytes, 1, seed);
        count = (uint32_t)slots(bytes) + more;
        nulls = more;
        end();
    }
    begin(pages, page_bytes, count, seed);
    f.device.bytes = bytes;
    f.device.count = count;
    for (uint32_t again = 0; again < 2; again++) {
        expect_equal(run(&promise_stride_malloc, workers).nulls, nulls);
        if (f.counted)
            expect_equal(slots(bytes), 0);
        run(&promise_stride_verify, workers);
        run(&promise_stride_free, workers);
        if (f.counted)
            expect_equal(slots(bytes), count - more);
        expect_empty();
    }
    end();
}

/* Over 4 GiB, on a GPU that has them to spare. */
static void fill_large(void)
{
    struct quarry_device_info device;
    uint64_t pages = 4300, page_bytes = largest_page();
    assert_ok(quarry_device_describe(&base_target, &device));
    if (f.counted && test_on_cuda(&base_target) && capped(~0u) == ~0u &&
        device.available_bytes > 2 * pages * page_bytes)
        fill_by_strides(page_bytes, page_bytes, (uint32_t)pages, 2048, 0);
}

static void strides(void)
{
    static const uint64_t sizes[] = {16, 32, 64, 128, 1000}; /* those of section 5.1.1, and one between */
    uint32_t most = test_on_cuda(&base_target) ? capped(1u << 16) : 1u << 10;
    if (f.distribution) /* several requests may share a slot */
        return;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t page_bytes = (sizes[i] + 15) / 16 * 16;
        fill_by_strides(sizes[i], page_bytes, f.counted ? most : 1u << 10, 96, 0);
        if (!f.fixed && f.counted) /* pages of many blocks */
            fill_by_strides(sizes[i], 4096, most / 16, 96, 0);
        for (uint64_t seed = 1; seed <= seeds(SEEDS) / 20; seed++)
            fill_by_strides(sizes[i], f.fixed ? page_bytes : 4096, f.fixed ? 130 : 3, 96, seed);
    }
    fill_large();
}

void a_heap_that_few_fill_holds_what_they_wrote(void **state)
{
    (void)state;
    for_every_allocator(strides);
}

/* ---- failing ---- */

void fail_at_once(uint32_t pages, uint32_t spare, uint32_t threads, uint64_t seed)
{
    uint32_t taken = pages - spare, tries = 0;
    uint64_t failed = 0;
    begin(pages, 32, pages + threads, seed);
    struct promise_case all = f.device;
    while (taken && statistics().live_blocks < taken) { /* a NULL that was inferred may be wrong */
        failed += run(&promise_malloc, taken).nulls;
        expect(f.low_free > 0 || failed == 0);
        expect(++tries < 10000);
        f.target.seed += seed != 0; /* the same one would draw the same pages again */
    }
    f.device.block += taken;
    f.device.first = taken;
    for (uint32_t again = 0; again < 2; again++) {
        uint32_t least = threads > spare ? threads - spare : 0;
        uint32_t nulls = run(&promise_malloc, threads).nulls;
        if (f.low_free > 0)
            expect(nulls >= least);
        else
            expect_equal(nulls, least);
        failed += nulls;
        struct quarry_statistics s = statistics();
        expect_equal(s.failed_mallocs, failed);
        expect_equal(s.live_blocks, taken + threads - nulls);
        expect_equal(slots(32), spare + nulls - threads);
        run(&promise_verify, threads);
        run(&promise_free, threads);
        expect_equal(slots(32), spare);
    }
    f.device = all;
    if (taken) {
        run(&promise_verify, taken);
        run(&promise_free, taken);
    }
    expect_empty();
    end();
}

static void failures(void)
{
    static const uint32_t spare[] = {0, 1, 2, 3, 31};
    static const double low_free[] = {0, 0.02, 0.2, 0.6};
    for (uint32_t l = 0; l < sizeof low_free / sizeof *low_free; l++)
        for (uint32_t i = 0; i < sizeof spare / sizeof *spare; i++) {
            f.low_free = low_free[l];
            for (uint64_t seed = 0; seed <= seeds(SEEDS) / 30; seed++)
                fail_at_once(100, spare[i], 150, seed);
            fail_at_once(spare[i] + 1, spare[i], 200, 0);
            if (test_on_cuda(&base_target))
                fail_at_once(l ? 1u << 8 : 1u << 12, spare[i], capped(l || i ? 1u << 16 : 1u << 20), 0);
            else if (l == 0)
                fail_at_once(1u << 9, spare[i], capped(1u << 12), 0);
        }
}

void many_may_fail_at_once(void **state)
{
    (void)state;
    for_each_allocator(failures);
}

/* Full; one comes free, and exactly one of those who ask gets it. */
static void stays_usable(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 10; seed++) {
        uint32_t pages = 40 + (uint32_t)seed, threads = pages + 30;
        uint64_t failed = 30;
        begin(pages, 16, threads, seed);
        expect_equal(run(&promise_malloc, threads).nulls, 30);
        for (uint32_t turn = 1; turn <= 3; turn++) {
            f.device.turns = 10 * turn; /* page numbers that are a multiple of it */
            run(&promise_thin, threads);
            uint64_t came_free = slots(16);
            expect(came_free > 0);
            expect_equal(run(&promise_malloc, threads).blocks, came_free);
            failed += 30;
            expect_equal(statistics().failed_mallocs, failed);
            expect_equal(statistics().last_failed_bytes, 16);
            run(&promise_verify, threads);
        }
        run(&promise_free, threads);
        expect_empty();
        end();
    }
}

void out_of_memory_gives_null_is_counted_and_leaves_a_usable_heap(void **state)
{
    (void)state;
    for_each_allocator(stays_usable);
}

/* ---- races ---- */

/* As many pages as threads, each of which holds at most one: at every instant one is free for whoever asks,
 * so not one NULL is right. */
static void churn_without_null(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint32_t threads = seed % 3 == 0 ? 64 : seed % 3 == 1 ? 33 : 96;
        begin(threads, 16, threads, seed);
        f.device.turns = seed ? 4 : 200;
        f.device.hold = (uint32_t)(seed % 4) * 3;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_empty();
        end();
    }
    if (test_on_cuda(&base_target)) {
        uint32_t threads = capped(1u << 17);
        begin(threads, 32, threads, 0);
        f.device.turns = 20;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_empty();
        end();
    }
}

/* The same by priorities: a lane may stand still, in a malloc or a free, while others do all the rest. */
static void churn_by_priority(void)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t threads = 2u << seed % 4;
        f.probes = 1;
        base_target.bug_depth = 2 + (uint32_t)(seed / 4 % 3);
        begin(threads, 16, threads, seed);
        f.device.turns = 10;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_empty();
        end();
    }
}

/* The same where it is hardest.  The heap is full but for one page in 32, so that each word of a bitmap has
 * one, and each of those has its thread, in a warp of its own, most of which hold theirs: nearly always
 * just one page is free, and it moves.  The walk is one step, so that every malloc sweeps. */
static void tight_without_null(void)
{
    static const uint32_t holds[] = {0, 1, 3, 10, 30, 100, 300};
    uint32_t cases = test_on_cuda(&base_target) ? capped(1 << 17) / 1024 : (uint32_t)seeds(SEEDS) * 4 + 20;
    f.probes = 1;
    for (uint32_t i = 1; i <= cases; i++) {
        uint64_t seed = test_on_cuda(&base_target) || i <= 20 ? 0 : i; /* 20 in fast mode */
        uint32_t pages = 64u << (i % 3);
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
        expect_empty();
        end();
    }
}

void null_never_comes_while_a_page_is_free(void **state)
{
    (void)state;
    for_each_proof(churn_without_null);
    for_each_proof(churn_by_priority);
    for_each_proof(tight_without_null);
}

/* Far fewer pages than threads: NULLs are right, sharing and losing pages is not. */
static void churn_when_full(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint32_t pages = 1 + (uint32_t)seed % 7 * 9;
        begin(pages, 32, 96, seed);
        f.device.turns = seed ? 3 : 200;
        f.device.hold = (uint32_t)(seed % 3) * 4;
        run(&promise_churn, 96);
        expect_empty();
        expect_equal(run(&promise_malloc, 96).blocks, pages);
        run(&promise_verify, 96);
        run(&promise_free, 96);
        end();
    }
}

void a_full_heap_neither_shares_nor_loses_pages(void **state)
{
    (void)state;
    for_each_allocator(churn_when_full);
}
