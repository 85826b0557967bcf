/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of every allocator (docs/DESIGN.md), one test each, for all of alloc/list.def and each width
 * of word.
 *
 *   a block is at least size bytes,           a_block_is_as_large_as_asked_and_aligned_to_16
 *     aligned to 16,
 *     disjoint from every other live block,   live_blocks_are_disjoint
 *                                             blocks_of_all_sizes_are_disjoint
 *     usable by any thread of any kernel      any_thread_of_any_kernel_may_use_a_block
 *   size 0 and too large give NULL,           size_0_and_too_large_give_null_and_harm_nothing
 *     too large is counted
 *   out of memory gives NULL, is counted,     out_of_memory_gives_null_is_counted_and_leaves_a_usable_heap
 *     and leaves a usable heap                a_full_heap_neither_shares_nor_loses_pages
 *     NULL means that nothing was free        null_never_comes_while_a_page_is_free
 *     or is inferred                          many_may_fail_at_once, and test_full.c
 *   any subset of lanes, divergent,           any_subset_of_lanes_may_call
 *     with different sizes                    lanes_may_diverge_and_ask_for_different_sizes
 *     and heaps                               lanes_may_use_different_heaps
 *   free from any thread,                     any_thread_may_free
 *     kernel or stream                        any_kernel_of_any_stream_may_free
 *     free(NULL)                              size_0_and_too_large_give_null_and_harm_nothing
 *   writes before free happen-before reuse    what_was_written_before_free_happens_before_reuse
 *     and in every test: promise_grain.visits is no atomic, so ThreadSanitizer sees it, and end() counts it
 *   a full heap that is freed can be filled   a_heap_fills_to_its_last_page_and_again_after_frees
 *                                             a_heap_that_few_fill_holds_what_they_wrote
 *     with other sizes, if its line says so   freed_space_serves_other_sizes
 *   slots, statistics, check and reset        slots_and_statistics_are_exact_when_idle
 *     are exact when idle                     slots_are_right_for_every_size
 *                                             the_largest_free_block_can_be_had
 *                                             reset_makes_everything_free
 *                                             check_sees_broken_structures
 *   and all of it                             a_context_changes_no_promise
 *     in either call, with every option       no_option_changes_a_promise
 *
 * On the CPU the races run in the deterministic scheduler, with QUARRY_TEST_SEEDS seeds (default 60) on heaps
 * so small that every page is fought for; then in fast mode.  On a GPU with up to a million threads.
 * test_seeds.c has many more seeds. */
#include "alloc/promises.h"
#include "alloc/promises_full.h"
#include "alloc/promises_sizes.h"
#include "host/heap_test_cuda.h"

#include <pthread.h>

#define SEEDS 60u

/* ---- blocks ---- */

static void sizes(void)
{
    const uint64_t page_bytes[] = {16, 32, 48, 112, 256, 4096, 65552, (1u << 20) - 16, largest_page()};
    for (uint32_t p = 0; p < sizeof page_bytes / sizeof *page_bytes; p++)
        for (uint32_t s = 0; s < 6; s++) {
            uint64_t page = page_bytes[p];
            uint64_t asked[] = {1, 3, 15, page / 2 + 1, page - 1, page};
            uint32_t pages = page > 4096 ? 5 : 70;
            begin(pages, page, pages, test_on_cuda(&base_target) || page > 4096 ? 0 : s);
            f.device.bytes = asked[s];
            expect_equal(run(&promise_malloc, pages).nulls, 0);
            run(&promise_verify, pages);
            run(&promise_free, pages);
            end();
        }
}

static void a_block_is_as_large_as_asked_and_aligned_to_16(void **state)
{
    (void)state;
    for_each_allocator(sizes);
}

static void many(void)
{
    const uint32_t on_cpu = seeds(SEEDS) < SEEDS ? 1u << 13 : 1u << 15; /* short runs ask for fewer seeds */
    uint32_t threads = capped(test_on_cuda(&base_target) ? 1u << 20 : on_cpu);
    for (uint64_t seed = 1; seed <= seeds(SEEDS) / 2; seed++) /* as many pages as threads: all fought for */
        fill(64 + seed % 33, 16, 64 + (uint32_t)seed % 33, seed);
    fill(threads + threads / 3, 64, threads, 0);
    fill(threads, 32, threads, 0);
    fill(threads - threads / 64, 256, threads, 0);
}

static void live_blocks_are_disjoint(void **state)
{
    (void)state;
    for_each_allocator(many);
}

static void pass_around(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 20; seed++) {
        uint32_t threads = seed || !test_on_cuda(&base_target) ? 200 : capped(1u << 16);
        begin(threads, 80, threads, seed);
        f.device.bytes = 77;
        run(&promise_malloc, threads);
        f.device.shift = 33;
        run(&promise_adopt, threads); /* another kernel, another warp */
        run(&promise_verify, threads);
        run(&promise_free, threads);
        expect_empty();
        end();
    }
}

static void any_thread_of_any_kernel_may_use_a_block(void **state)
{
    (void)state;
    for_each_allocator(pass_around);
}

/* ---- who calls ---- */

static void sparse(void)
{
    static const uint32_t masks[] = {0x1u, 0x80000000u, 0x00010001u, 0x55555555u, 0xfffffffeu};
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 4; seed++)
        for (uint32_t i = 0; i < sizeof masks / sizeof *masks; i++) {
            begin(70, 16, 160, seed);
            f.device.lanes = masks[i];
            f.device.turns = 3;
            run(&promise_churn, 160);
            run(&promise_malloc, 160);
            run(&promise_verify, 160);
            run(&promise_free, 160);
            expect_empty();
            end();
        }
}

static void any_subset_of_lanes_may_call(void **state)
{
    (void)state;
    for_each_allocator(sparse);
}

/* Every thread its own program, with a page for every block that they may ever hold, and none more. */
static void play(uint32_t threads, uint32_t held, uint32_t boxes, uint32_t kept, uint64_t seed)
{
    begin(threads * held + boxes, 48, threads, seed);
    f.device.kept = kept;
    uint32_t nulls = run_programs(threads, held, boxes, f.device.bytes, seed);
    if (f.low_free == 0 && f.can.reuses_space)
        expect_equal(nulls, 0);
    end();
}

static void divergent(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 4; seed++)
        play(seed % 2 ? 33 : 64, 1 + (uint32_t)seed % PROMISE_HELD, (uint32_t)seed % 3, PROMISE_PLAIN, seed);
    if (test_on_cuda(&base_target))
        play(capped(1u << 16), 3, 100, PROMISE_PLAIN, 0);
}

static void lanes_may_diverge_and_ask_for_different_sizes(void **state)
{
    (void)state;
    for_each_allocator(divergent);
}

static void handover(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 2; seed++) {
        begin(3 * 64, 48, 128, seed); /* a pair holds at most two blocks */
        f.device.turns = seed ? 4 : 100;
        expect_equal(run(&promise_handover, 128).nulls, 0);
        expect_empty();
        end();
    }
}

static void any_thread_may_free(void **state)
{
    (void)state;
    for_each_allocator(handover);
}

struct side {
    struct quarry_target target;
    const struct simt_kernel *kernel;
    struct promise_case device;
    enum quarry_status status;
    char detail[256];
};

static void *launch_side(void *argument)
{
    struct side *side = argument;
    uint32_t threads = side->device.threads;
    struct quarry_grid grid = {(threads + 63) / 64, 64, 0};
    side->status = quarry_launch(side->kernel, &side->target, grid, &side->device);
    if (side->status != QUARRY_OK)
        snprintf(side->detail, sizeof side->detail, "%s", quarry_error_detail());
    return NULL;
}

/* Two kernels at the same time: in two streams of a GPU, from two threads on the CPU. */
static void together(struct side *side)
{
    pthread_t other;
    assert_ok(quarry_memory_fill(&f.target, f.device.result, 0, sizeof(struct promise_result)));
    assert_ok(quarry_target_wait(&f.target));
    assert_int_equal(pthread_create(&other, NULL, launch_side, &side[1]), 0);
    launch_side(&side[0]);
    assert_int_equal(pthread_join(other, NULL), 0);
    for (int i = 0; i < 2; i++) {
        if (side[i].status != QUARRY_OK)
            fail_msg("%s: %s", naming(), side[i].detail);
        assert_ok(quarry_target_wait(&side[i].target));
    }
    expect_equal(judge().nulls, 0);
}

static void cross_streams(void)
{
    uint32_t threads = test_on_cuda(&base_target) ? capped(1u << 15) : 128;
    struct side side[2];
    begin(2 * threads, 32, 2 * threads, 0);
    memset(side, 0, sizeof side);
    for (uint32_t i = 0; i < 2; i++) {
        side[i].target = f.target;
        side[i].target.stream = heap_test_stream_create();
        side[i].device = f.device;
        side[i].device.threads = threads;
        side[i].device.first = i * threads;
        side[i].device.block += i * threads;
        side[i].device.turns = 20;
        side[i].kernel = &promise_churn;
    }
    together(side);
    run(&promise_malloc, threads);
    side[0].kernel = &promise_free; /* what the first set holds, while the second allocates */
    side[1].kernel = &promise_malloc;
    together(side);
    side[0].kernel = &promise_malloc;
    side[1].kernel = &promise_verify;
    together(side);
    expect_equal(slots(32), 0);
    run(&promise_verify, threads);
    side[0].kernel = side[1].kernel = &promise_free;
    together(side);
    expect_empty();
    for (uint32_t i = 0; i < 2; i++)
        if (side[i].target.stream)
            heap_test_stream_destroy(side[i].target.stream);
    end();
}

static void any_kernel_of_any_stream_may_free(void **state)
{
    (void)state;
    for_each_allocator(cross_streams);
}

/* ---- order ---- */

/* A handful of pages that everybody wants: each block's page has had many owners, each of which counted
 * itself there without an atomic. */
static void reuse(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 10; seed++) {
        begin(2 + seed % 5, 64, 512, seed);
        f.device.turns = seed ? 3 : 100;
        run(&promise_churn, seed ? 96 : 512);
        expect_empty();
        end(); /* counts */
    }
    if (test_on_cuda(&base_target)) {
        begin(1000, 64, capped(1u << 14), 0);
        f.device.turns = 10;
        run(&promise_churn, capped(1u << 14));
        end();
    }
}

static void what_was_written_before_free_happens_before_reuse(void **state)
{
    (void)state;
    for_each_allocator(reuse);
}

/* ---- odd requests ---- */

static void strange(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 10; seed++) {
        begin(64, 64, 64, seed);
        expect_equal(run(&promise_strange, 64).nulls, 48);
        expect_equal(statistics().failed_mallocs, 0);
        expect_equal(statistics().refused_mallocs, 32);
        expect(statistics().last_failed_bytes > 64);
        expect_empty();
        expect_equal(run(&promise_malloc, 64).nulls, 0);
        run(&promise_verify, 64);
        run(&promise_free, 64);
        end();
    }
}

static void size_0_and_too_large_give_null_and_harm_nothing(void **state)
{
    (void)state;
    for_each_allocator(strange);
}

/* ---- either call, every option ---- */

static void contexts(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 4; seed++)
        for (uint32_t kept = PROMISE_PLAIN; kept <= PROMISE_BOTH; kept++) {
            play(33, 1 + (uint32_t)seed % PROMISE_HELD, (uint32_t)seed % 2, kept, seed);
            begin(64, 16, 64, seed); /* over many mallocs, without another block */
            f.device.kept = kept;
            f.device.turns = seed ? 4 : 100;
            expect_equal(run(&promise_churn, 64).nulls, 0);
            expect_equal(run(&promise_malloc, 64).nulls, 0);
            run(&promise_free, 64);
            end();
        }
}

static void a_context_changes_no_promise(void **state)
{
    (void)state;
    for_each_allocator(contexts);
}

/* What most depends on options: filling, with NULL for the others, and churn at the edge. */
static void with_options(uint64_t seed)
{
    uint32_t pages = 33 + (uint32_t)seed % 40;
    fill(pages, 32, pages + 20, seed);
    play(40, 1, 1, PROMISE_BOTH, seed);
}

static void options(void)
{
    static const uint32_t probes[] = {1, 2, 7, 300};
    static const double low_free[] = {0.01, 0.1, 0.5, 0.999};
    struct quarry_heap_description about = describe_default();
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 60; seed++) {
        for (uint32_t i = 0; i < sizeof probes / sizeof *probes; i++) {
            f.probes = probes[i];
            with_options(seed);
        }
        plain_options();
        const uint32_t step = getenv("QUARRY_TEST_THREADS") ? SIMT_LANES - 1 : 1; /* sanitizers are slow */
        for (uint32_t lanes = 1; lanes <= SIMT_LANES && described(&about, "probe_lanes"); lanes += step) {
            f.probe_lanes = lanes;
            with_options(seed);
            f.low_free = low_free[lanes % 4];
            with_options(seed);
            f.low_free = 0;
        }
        plain_options();
        for (uint32_t i = 0; i < sizeof low_free / sizeof *low_free; i++) {
            f.low_free = low_free[i];
            with_options(seed);
        }
        plain_options();
    }
}

static void no_option_changes_a_promise(void **state)
{
    (void)state;
    for_each_allocator(options);
}

/* ---- idle ---- */

/* Frees some of the blocks, and knows how many. */
static void count(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 20; seed++) {
        uint32_t pages = 300 + (uint32_t)seed;
        begin(pages, 32, pages, seed);
        for (uint32_t turn = 0; turn < 3; turn++) {
            uint64_t live = turn ? statistics().live_blocks : 0, left = 0;
            expect_equal(run(&promise_malloc, pages).blocks, pages - live);
            f.device.turns = 3 + turn;
            run(&promise_thin, pages);
            void *block[400];
            assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof *block * pages));
            for (uint32_t i = 0; i < pages; i++)
                left += block[i] != NULL;
            expect(left > 0 && left < pages);
            struct quarry_statistics s = statistics();
            expect_equal(s.live_blocks, left);
            expect_equal(s.live_bytes, left * 32);
            expect_equal(s.capacity_bytes, pages * 32);
            expect(s.largest_free_bytes >= 32);
            expect_equal(s.failed_mallocs, 0);
            expect_equal(slots(32), pages - left);
            expect_equal(slots(f.about.max_block_bytes + 1), 0);
            if (!f.fixed)
                continue;
            expect_equal(s.largest_free_bytes, 32);
            expect_equal(slots(1), pages - left);
        }
        run(&promise_free, pages);
        expect_empty();
        end();
    }
}

static void slots_and_statistics_are_exact_when_idle(void **state)
{
    (void)state;
    for_each_allocator(count);
}

static void reset(void)
{
    begin(500, 64, 600, 0);
    for (uint32_t turn = 0; turn < 3; turn++) {
        expect_equal(run(&promise_malloc, 600).nulls, 100);
        run(&promise_verify, 600);
        assert_ok(quarry_heap_reset(f.heap));
        assert_ok(quarry_memory_fill(&f.target, f.device.grain, 0, sizeof(struct promise_grain) * f.grains));
        assert_ok(quarry_memory_fill(&f.target, f.device.block, 0, sizeof(void *) * 600));
        f.blocks = 0;
        expect_empty();
        expect_equal(statistics().failed_mallocs, 0);
        expect_equal(statistics().last_failed_bytes, 0);
    }
    end();
}

static void reset_makes_everything_free(void **state)
{
    (void)state;
    for_each_allocator(reset);
}

/* Overwrites what lies before the first page, in two halves: the first section, then the map. */
static void corrupt(void)
{
    if (f.distribution) /* its policies lie there, which nothing may write */
        return;
    begin(1000, 64, 1000, 0);
    unsigned char *first = (unsigned char *)f.about.pool_base + 256, *map = first + 256;
    unsigned char *pages = (unsigned char *)f.about.pool_base + f.about.pool_bytes - 1000 * 64;
    assert_ok(quarry_heap_check(f.heap));
    assert_ok(quarry_memory_fill(&f.target, first, 0xff, 64));
    expect_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    expect(strlen(quarry_error_detail()) > 0);
    assert_ok(quarry_heap_reset(f.heap));
    assert_ok(quarry_heap_check(f.heap));
    assert_ok(quarry_memory_fill(&f.target, map, 0x24, (uint64_t)(pages - map)));
    expect_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    assert_ok(quarry_heap_reset(f.heap));
    end();
}

static void check_sees_broken_structures(void **state)
{
    (void)state;
    for_each_allocator(corrupt);
}

/* ---- several heaps ---- */

/* Half of `threads` ask each heap; the first has fewer pages than that. */
static void two_heaps(uint64_t seed, uint32_t threads, int select)
{
    const uint32_t half = threads / 2, pages[2] = {half - half / 4, half + 3};
    struct promise_two two;
    uint32_t nulls[3];
    begin(pages[0], 16, threads, seed);
    quarry_heap *heap[2] = {f.heap, NULL};
    struct fixture first = f;
    begin(pages[1], 112, threads, seed);
    heap[1] = f.heap;
    memset(&two, 0, sizeof two);
    for (int i = 0; i < 2; i++) {
        two.heap[i] = quarry_heap_handle(heap[i]);
        two.pool[i] = i ? f.about.pool_base : first.about.pool_base;
        two.pool_bytes[i] = i ? f.about.pool_bytes : first.about.pool_bytes;
        two.bytes[i] = i ? 100 : 16;
    }
    two.block = test_memory(&f.target, sizeof *two.block * threads);
    two.nulls = test_memory(&f.target, sizeof nulls);
    two.wrong = two.nulls + 2;
    two.threads = threads;
    two.select = select;
    for (uint32_t again = 1; again <= 2; again++) {
        test_run(&promise_two_malloc, &f.target, (threads + 63) / 64, 64, 0, &two);
        for (int i = 0; i < 2; i++) {
            struct quarry_statistics s;
            assert_ok(quarry_heap_statistics(heap[i], &s));
            expect_equal(s.live_blocks, i ? half : pages[0]);
            expect_equal(s.failed_mallocs, i ? 0 : again * (half - pages[0]));
        }
        test_run(&promise_two_free, &f.target, (threads + 63) / 64, 64, 0, &two);
    }
    assert_ok(quarry_memory_copy(&f.target, nulls, two.nulls, sizeof nulls));
    expect_equal(nulls[0], 2 * (half - pages[0]));
    expect_equal(nulls[1], 0);
    expect_equal(nulls[2], 0);
    test_memory_free(&f.target, two.block, sizeof *two.block * threads);
    test_memory_free(&f.target, two.nulls, sizeof nulls);
    expect_empty();
    end();
    f = first;
    expect_empty();
    end();
}

static void mixed_heaps(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 3; seed++)
        for (int select = 0; select < 2; select++)
            two_heaps(seed, seed % 2 ? 32 : 96, select);
    if (test_on_cuda(&base_target))
        for (int select = 0; select < 2; select++)
            two_heaps(0, capped(1u << 16), select);
}

static void lanes_may_use_different_heaps(void **state)
{
    (void)state;
    for_each_allocator(mixed_heaps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_as_large_as_asked_and_aligned_to_16),
        cmocka_unit_test(live_blocks_are_disjoint),
        cmocka_unit_test(any_thread_of_any_kernel_may_use_a_block),
        cmocka_unit_test(size_0_and_too_large_give_null_and_harm_nothing),
        cmocka_unit_test(out_of_memory_gives_null_is_counted_and_leaves_a_usable_heap),
        cmocka_unit_test(a_full_heap_neither_shares_nor_loses_pages),
        cmocka_unit_test(null_never_comes_while_a_page_is_free),
        cmocka_unit_test(many_may_fail_at_once),
        cmocka_unit_test(any_subset_of_lanes_may_call),
        cmocka_unit_test(lanes_may_diverge_and_ask_for_different_sizes),
        cmocka_unit_test(lanes_may_use_different_heaps),
        cmocka_unit_test(blocks_of_all_sizes_are_disjoint),
        cmocka_unit_test(slots_are_right_for_every_size),
        cmocka_unit_test(freed_space_serves_other_sizes),
        cmocka_unit_test(the_largest_free_block_can_be_had),
        cmocka_unit_test(any_thread_may_free),
        cmocka_unit_test(any_kernel_of_any_stream_may_free),
        cmocka_unit_test(what_was_written_before_free_happens_before_reuse),
        cmocka_unit_test(a_heap_fills_to_its_last_page_and_again_after_frees),
        cmocka_unit_test(a_heap_that_few_fill_holds_what_they_wrote),
        cmocka_unit_test(slots_and_statistics_are_exact_when_idle),
        cmocka_unit_test(reset_makes_everything_free),
        cmocka_unit_test(check_sees_broken_structures),
        cmocka_unit_test(a_context_changes_no_promise),
        cmocka_unit_test(no_option_changes_a_promise),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("promises", tests, NULL, NULL) != 0;
}
