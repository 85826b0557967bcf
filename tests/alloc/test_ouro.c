/* SPDX-License-Identifier: Apache-2.0 */
/* What the suite for all allocators does not ask of the ouro family: pages that are parts of chunks, queues that are
 * full, chunks that go back.  On the CPU with QUARRY_TEST_SEEDS seeds for each case (default 60). */
#include "alloc/ouro_kernels.h"
#include "alloc/promises.h"

#define SEEDS 60u

static const uint64_t queues[] = {0, 1, 4, 32}; /* slots of a queue of pages; 0: as many as are standard */

/* Options and schedules by a seed; 0: by no schedule. */
static void choose(uint64_t seed)
{
    plain_options();
    set_option("queue_slots", queues[seed % 4]);
    base_target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 3) : 0;
}

static void sizes_of(uint32_t chunk_bytes, uint32_t least)
{
    struct quarry_classes c = quarry_classes_make(chunk_bytes, least);
    assert_int_equal(quarry_class_bytes(&c, c.whole), chunk_bytes);
    assert_int_equal(quarry_class_pages(&c, c.whole), 1);
    assert_true(c.whole == 0 || quarry_class_bytes(&c, 0) == least);
    for (uint32_t bytes = 1; bytes <= chunk_bytes; bytes++) {
        uint32_t k = quarry_class_of(&c, bytes), size = quarry_class_bytes(&c, k);
        if (size < bytes || (k > 0 && quarry_class_bytes(&c, k - 1) >= bytes))
            fail_msg("%u bytes in chunks of %u: class %u", bytes, chunk_bytes, k);
        if (k < c.whole && (quarry_class_pages(&c, k) < 2 || quarry_class_pages(&c, k) != chunk_bytes / size))
            fail_msg("class %u of chunks of %u has %u pages", k, chunk_bytes, quarry_class_pages(&c, k));
        if (quarry_class_page(&c, k, bytes - 1) != (bytes - 1) / size)
            fail_msg("byte %u of a chunk of %u, class %u", bytes - 1, chunk_bytes, k);
    }
}

static void each_size_has_the_smallest_class_that_holds_it(void **state)
{
    static const uint32_t least[] = {16, 32, 128, 2048};
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t n = 1; n < 70; n++)
            sizes_of(least[i] * n, least[i]);
    sizes_of(8192, 16);
    sizes_of((1u << 20) - 16, 2048);
}

/* The paper's: ten sizes, 512 to 1 pages a chunk. */
static void default_sizes(void)
{
    choose(0);
    begin(3, 0, 1, 0);
    assert_int_equal(f.about.page_bytes, 8192);
    for (uint64_t bytes = 16, pages = 512; pages >= 1; bytes *= 2, pages /= 2)
        expect_equal(slots(bytes), 3 * pages);
    expect_equal(slots(8193), 1); /* a block of two chunks begins at each other one */
    expect_equal(slots(3 * 8192), 1);
    expect_equal(f.about.max_block_bytes, 3 * 8192);
    end();
}

/* With more pages than an index can name the smallest ones are larger. */
static void large_heaps(enum quarry_ouro_payload payload)
{
    struct quarry_ouro h;
    struct quarry_layout l = {0};
    static const struct {
        uint64_t pages, page_bytes;
        uint32_t least, chunk;
    } cases[] = {{8388607, 8192, 16, 512},  {8388608, 8192, 32, 256},  {16777215, 8192, 32, 256},
                 {20000000, 8192, 64, 128}, {67108863, 8192, 128, 64}, {1000, 1u << 20, 2048, 512}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l.base = (unsigned char *)(uintptr_t)QUARRY_PAGE_ALIGN; /* nobody looks there */
        l.bytes = UINT64_MAX;
        l.pages = cases[i].pages;
        l.page_bytes = cases[i].page_bytes;
        l.page_align = QUARRY_PAGE_ALIGN;
        l.option[QUARRY_OPTION_ouro_queue_slots] = 0;
        assert_int_equal(quarry_ouro_layout(QUARRY_OURO_STANDARD, payload, &h, &l), QUARRY_LAYOUT_OK);
        assert_int_equal(quarry_class_bytes(&h.sizes, 0), cases[i].least);
        assert_int_equal(quarry_class_pages(&h.sizes, 0), cases[i].chunk);
        assert_true(cases[i].pages << h.table.page_bits < QUARRY_NO_INDEX);
        /* All that is not chunks: 1/16 and some 3 % more of small chunks' structures; queues of chunks need no 1/16. */
        assert_true(l.used_bytes <
                    l.pages * l.page_bytes / 1000 * (payload == QUARRY_OURO_PAGES ? 1110 : 1025));
    }
    l.pages = QUARRY_CHUNKS_MOST;
    l.page_bytes = 8192;
    assert_int_equal(quarry_ouro_layout(QUARRY_OURO_STANDARD, payload, &h, &l), QUARRY_LAYOUT_PAGES);
}

static void chunks_are_divided_as_in_the_paper(void **state)
{
    (void)state;
    for_each_proof(default_sizes);
    large_heaps(QUARRY_OURO_PAGES);
    large_heaps(QUARRY_OURO_CHUNKS);
}

/* As many pages of 16 bytes as threads, each of which holds at most one. */
static void churns(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t each = 2u << seed % 3, threads = 2 + (uint32_t)(seed / 4 * 7 % 95);
        uint32_t chunks = (threads + each - 1) / each;
        choose(seed);
        begin(chunks, 16 * each, threads, seed);
        f.device.bytes = 16;
        f.device.turns = seed ? 4 : 200;
        f.device.hold = (uint32_t)(seed % 4) * 3;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_equal(slots(16), chunks * each);
        expect_equal(run(&promise_malloc, threads).nulls, 0);
        expect_equal(slots(16), chunks * each - threads);
        run(&promise_verify, threads);
        run(&promise_free, threads);
        end();
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t threads = capped(test_on_cuda(&base_target) ? 1u << 17 : 1u << 9);
        plain_options();
        set_option("queue_slots", queues[i]);
        begin(threads / 8, 128, threads, 0);
        f.device.bytes = 16;
        f.device.turns = 20;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        end();
    }
}

static void null_never_comes_while_a_small_page_is_free(void **state)
{
    (void)state;
    for_each_proof(churns);
}

/* More ask than there is: as many get a page as there are. */
static void fills(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 5; seed++) {
        uint32_t each = 2u << seed % 5, chunks = 1 + (uint32_t)(seed / 5 % 9), more = (uint32_t)(seed % 70);
        uint32_t pages = each * chunks, threads = pages + more;
        choose(seed);
        begin(chunks, 16 * each, threads, seed);
        f.device.bytes = 9;
        for (uint32_t again = 0; again < 3; again++) {
            expect_equal(run(&promise_malloc, threads).nulls, more);
            expect_equal(slots(16), 0);
            run(&promise_verify, threads);
            f.device.turns = 2 + again;
            run(&promise_thin, threads);
            uint32_t nulls = run(&promise_malloc, threads).nulls;
            expect_equal(nulls, more);
            run(&promise_free, threads);
            expect_equal(slots(16), pages);
        }
        end();
    }
}

static void a_heap_of_small_pages_fills_to_its_last(void **state)
{
    (void)state;
    for_each_proof(fills);
}

/* With queues of one page all pages but one are parked when all were freed, by whomever: so all chunks but one are
 * whole, and serve another size.  Queues in segments are emptied before a NULL: so all chunks are. */
static void goes_back(void)
{
    int segments = strncmp(f.allocator, "ouro-p-v", 8) == 0;
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t each = 2u << seed % 4, chunks = 2 + (uint32_t)(seed / 4 % 9), pages = each * chunks;
        choose(seed);
        set_option("queue_slots", 1);
        begin(chunks, 16 * each, pages, seed);
        for (uint32_t again = 0; again < 2; again++) {
            f.device.bytes = 16;
            expect_equal(run(&promise_malloc, pages).nulls, 0);
            run(&promise_verify, pages);
            run(&promise_free, pages);
            uint32_t stay = strcmp(f.allocator, "ouro-p-s") == 0; /* the chunk whose page is in the queue */
            expect(slots(16 * each) <= chunks && (segments || slots(16 * each) == chunks - stay));
            f.device.bytes = 16 * each;
            expect_equal(run(&promise_malloc, chunks).nulls, stay);
            run(&promise_verify, chunks);
            run(&promise_free, chunks);
            expect_equal(slots(16), pages);
        }
        end();
    }
}

static void a_chunk_that_is_parked_whole_serves_other_sizes(void **state)
{
    (void)state;
    for_each_proof(goes_back);
}

/* Free pages lie in segments, and chunks are segments.  All of it comes back when as many warps as there are chunks ask
 * for one each, of one lane: also while others have pages in their hands. */
static void goes_back_to_many(void)
{
    int segments = strncmp(f.allocator, "ouro-p-v", 8) == 0 || f.can.reuses_space;
    for (uint64_t seed = 0; segments && seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t each = 2u << seed % 4, used = 1 + (uint32_t)(seed / 4 % 6), chunks = used + 1 + seed % 3;
        uint32_t pages = each * used, lanes = SIMT_LANES * chunks;
        choose(seed);
        f.block_threads = lanes;
        begin(chunks, 16 * each, pages > lanes ? pages : lanes, seed);
        for (uint32_t again = 0; again < 3; again++) {
            f.device.lanes = again == 2 ? 1 : SIMT_ALL_LANES;
            f.device.bytes = 16;
            expect_equal(run(&promise_malloc, again == 2 ? lanes : pages).nulls, 0);
            run(&promise_free, again == 2 ? lanes : pages);
            f.device.lanes = 1;
            f.device.bytes = 16 * each;
            expect_equal(run(&promise_malloc, lanes).nulls, 0);
            run(&promise_verify, lanes);
            run(&promise_free, lanes);
        }
        end();
    }
}

static void what_lies_in_segments_comes_back_to_many(void **state)
{
    (void)state;
    for_each_proof(goes_back_to_many);
}

/* Each thread its own program, with all sizes at once, on heaps that are too small for them. */
static void plays(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 5; seed++) {
        uint32_t threads = seed % 2 ? 33 : 64;
        choose(seed);
        begin(3 + seed % 20, 256, threads, seed);
        run_programs(threads, 1 + (uint32_t)(seed % PROMISE_HELD), (uint32_t)(seed % 3),
                     seed % 5 == 0 ? 16 : 256, seed);
        if (f.can.reuses_space) {
            f.device.bytes = f.about.page_bytes;
            expect_equal(run(&promise_malloc, threads).nulls,
                         threads > f.about.pages ? threads - f.about.pages : 0);
            run(&promise_free, threads);
            expect_empty();
        }
        end();
    }
}

static void sizes_may_be_mixed_in_a_heap_that_is_too_small(void **state)
{
    (void)state;
    for_each_proof(plays);
}

/* As many chunks as threads, each of which holds at most one block of any size: so one chunk at least has none. */
static void moves(void)
{
    for (uint64_t seed = 0; f.can.reuses_space && seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t threads = 2 + (uint32_t)(seed / 3 * 5 % 40);
        choose(seed);
        begin(threads, 32u << seed % 5, threads, seed);
        f.device.bytes = f.about.page_bytes;
        f.device.program = (uint32_t)seed;
        f.device.turns = seed ? 12 : 400;
        expect_equal(run(&promise_play, threads).nulls, 0);
        expect_empty();
        end();
    }
}

static void null_never_comes_while_a_chunk_is_free(void **state)
{
    (void)state;
    for_each_proof(moves);
}

/* Sizes are mixed, and the heap has half of what all threads want.  On a GPU 1,048,576 threads, a hundred times. */
static void fills_again(void)
{
    int cuda = test_on_cuda(&base_target);
    uint32_t threads = capped(cuda ? 1u << 20 : 1u << 11), turns = cuda ? 100 : 10;
    for (uint64_t seed = 0; seed <= (cuda ? 0 : 2 + seeds(SEEDS) / 20); seed++) {
        uint32_t ask = seed ? 256 + (uint32_t)(seed % 7) : threads;
        plain_options();
        begin(ask / 16, 0, ask, seed);
        f.device.bytes = f.about.page_bytes;
        for (uint32_t turn = 0; turn < (seed ? 3 : turns); turn++) {
            f.device.program = (uint32_t)seed * 1000 + turn;
            uint32_t nulls = run(&promise_mixed, ask).nulls;
            expect(nulls > 0 &&
                   nulls < (seed ? ask : ask - ask / 8)); /* few chunks may all be whole blocks */
            expect_equal(slots(f.about.page_bytes), 0);
            run(&promise_verify, ask);
            run(&promise_free, ask);
            if (turn % 10 == 9 || seed)
                expect_equal(statistics().live_blocks, 0);
        }
        end();
    }
}

static void a_heap_of_mixed_sizes_fills_again_and_again(void **state)
{
    (void)state;
    for_each_proof(fills_again);
}

/* ---- blocks of several chunks ---- */

#define WINDOW 8u /* chunks of the largest block */

/* Chunks of 64 bytes, and blocks of up to eight of them. */
static void begin_runs(uint64_t seed, uint32_t chunks, uint32_t threads)
{
    choose(seed);
    set_option("largest", 64 * WINDOW);
    begin(chunks, 64, threads, seed);
    assert_int_equal(f.about.max_block_bytes, 64 * WINDOW);
}

/* As many are had as there are windows with room for one, whatever their size.  Then others, of what came back. */
static void fills_with_runs(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 3; seed++) {
        uint32_t windows = 1 + (uint32_t)(seed * 7 % 13),
                 chunks = WINDOW * windows + (uint32_t)(seed % WINDOW);
        uint32_t threads = chunks + 9;
        begin_runs(seed, chunks, threads);
        for (uint32_t again = 0; again < 4; again++) {
            uint32_t n = 2 + (uint32_t)((seed / 3 + 3 * again) % (WINDOW - 1)), log = n > 4   ? 8
                                                                                      : n > 2 ? 4
                                                                                              : 2;
            uint32_t room = chunks / log + (chunks % log >= n);
            f.device.bytes = 64 * n - seed % 64;
            expect_equal(slots(f.device.bytes), room);
            expect_equal(run(&promise_malloc, threads).nulls, threads - room);
            expect_equal(slots(f.device.bytes), 0);
            expect_equal(slots(64), chunks - n * room);
            run(&promise_verify, threads);
            f.device.bytes = 64;
            expect_equal(run(&promise_malloc, threads).nulls, threads - room - (chunks - n * room));
            run(&promise_verify, threads);
            expect_equal(slots(64), 0);
            run(&promise_free, threads);
            expect_equal(slots(64), chunks);
        }
        end();
    }
}

static void a_heap_of_runs_fills_to_its_last(void **state)
{
    (void)state;
    for_each_proof(fills_with_runs);
}

/* As many windows as threads, each of which has at most one block, which is in one window. */
static void churns_runs(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        int few = (int)(seed % 2); /* that move often: a look is at one field after the other */
        uint32_t threads = 2 + (uint32_t)(seed / 3 * 5 % (few ? 5 : 40));
        begin_runs(seed, WINDOW * threads, threads);
        f.device.program = (uint32_t)seed;
        f.device.turns = !seed ? 100 : few ? 40 : 8;
        f.device.bytes = f.about.max_block_bytes;
        if (f.can.reuses_space && seed % 4 != 1) { /* of any size */
            expect_equal(run(&promise_play, threads).nulls, 0);
        } else {
            f.device.bytes -= 64 * (seed % (WINDOW - 1));
            expect_equal(run(&promise_churn, threads).nulls, 0);
        }
        expect_empty();
        end();
    }
}

static void null_never_comes_while_a_run_is_free(void **state)
{
    (void)state;
    for_each_proof(churns_runs);
}

/* As many windows as threads, each of which has at most one block, which lies in one window: so one window is free at
 * every instant.  But no look sees all of them at once, as each is a field of the map, or several; or they are two
 * chunks, and some of these have pages and are late.  Each thread is the only one of its warp: so all ask by
 * themselves. */
static void moves_windows(void)
{
    static const uint32_t windows[] = {2, 32, 33, 128};
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 20; seed++) {
        uint32_t n = windows[seed % 4], threads = 2 + (uint32_t)(seed / 12 % 3);
        uint32_t chunk = n == 2 && f.can.reuses_space ? 32 : 16;
        choose(seed);
        set_option("largest", (uint64_t)chunk * n);
        f.block_threads = SIMT_LANES * threads;
        begin((uint64_t)(n == 33 ? 64 : n) * threads, chunk, SIMT_LANES * threads, seed);
        f.device.lanes = 1;
        f.device.bytes = (uint64_t)chunk * n;
        f.device.program = (uint32_t)seed;
        f.device.turns = seed ? 30 : 2000;
        expect_equal(run(&ouro_move, SIMT_LANES * threads).nulls, 0);
        expect_empty();
        end();
    }
}

static void null_never_comes_while_a_window_is_free(void **state)
{
    (void)state;
    for_each_proof(moves_windows);
}

/* Warps of one lane free all pages at the same time.  Who makes a chunk whole may find that another one has counted its
 * page and not signalled it yet: then the chunk is late, and stays so if nobody frees after that.  It serves a run. */
static void gathers_late_chunks(void)
{
    for (uint64_t seed = 0; f.can.reuses_space && seed <= seeds(SEEDS) * 20; seed++) {
        uint32_t windows = 1 + (uint32_t)(seed / 3 % 3), chunks = 2 * windows, pages = 2 * chunks;
        choose(seed);
        set_option("largest", 64);
        f.block_threads = SIMT_LANES * pages;
        begin(chunks, 32, SIMT_LANES * pages, seed);
        f.device.lanes = 1;
        f.device.bytes = 16;
        expect_equal(run(&promise_malloc, SIMT_LANES * pages).nulls, 0);
        run(&promise_free, SIMT_LANES * pages);
        f.device.bytes = 64;
        expect_equal(run(&promise_malloc, SIMT_LANES * windows).nulls, 0);
        run(&promise_free, SIMT_LANES * windows);
        expect_empty();
        end();
    }
}

static void a_run_is_made_of_late_chunks(void **state)
{
    (void)state;
    for_each_proof(gathers_late_chunks);
}

/* Sizes from a page to eight chunks, in heaps that are too small for them. */
static void plays_with_runs(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 5; seed++) {
        uint32_t threads = seed % 2 ? 33 : 64;
        begin_runs(seed, 20 + (uint32_t)(seed % 100), threads);
        run_programs(threads, 1 + (uint32_t)(seed % PROMISE_HELD), (uint32_t)(seed % 3), 64 * WINDOW, seed);
        if (f.can.reuses_space) {
            f.device.bytes = f.about.max_block_bytes;
            expect_equal(run(&promise_malloc, threads).nulls, threads - f.about.pages / WINDOW);
            run(&promise_free, threads);
            expect_empty();
        }
        end();
    }
}

static void runs_and_pages_may_be_mixed_in_a_heap_that_is_too_small(void **state)
{
    (void)state;
    for_each_proof(plays_with_runs);
}

/* A run of several fields: up to 128 chunks. */
static void long_runs(void)
{
    static const uint32_t lengths[] = {128, 100, 65, 64, 33, 32, 17};
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint32_t n = lengths[seed % 7], window = n > 64 ? 128 : n > 32 ? 64 : 32, threads = 4;
        choose(seed);
        set_option("largest", 16 * 128);
        begin(4 * 128, 16, threads * window, seed);
        f.device.bytes = 16 * n;
        f.device.turns = 5;
        expect_equal(slots(16 * n), 4 * 128 / window);
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_equal(slots(16 * n), 4 * 128 / window);
        expect_equal(run(&promise_malloc, threads * window).nulls, threads * window - 4 * 128 / window);
        run(&promise_verify, threads * window);
        run(&promise_free, threads * window);
        expect_equal(slots(16), 4 * 128);
        end();
        begin(2 * 128 + (uint32_t)(seed % 100), 16, 16, seed);
        run_programs(16, 2, 0, 16 * 128, seed);
        end();
    }
}

static void a_run_may_have_several_fields(void **state)
{
    (void)state;
    for_each_proof(long_runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size_has_the_smallest_class_that_holds_it),
        cmocka_unit_test(chunks_are_divided_as_in_the_paper),
        cmocka_unit_test(null_never_comes_while_a_small_page_is_free),
        cmocka_unit_test(a_heap_of_small_pages_fills_to_its_last),
        cmocka_unit_test(a_chunk_that_is_parked_whole_serves_other_sizes),
        cmocka_unit_test(what_lies_in_segments_comes_back_to_many),
        cmocka_unit_test(sizes_may_be_mixed_in_a_heap_that_is_too_small),
        cmocka_unit_test(null_never_comes_while_a_chunk_is_free),
        cmocka_unit_test(a_heap_of_mixed_sizes_fills_again_and_again),
        cmocka_unit_test(a_heap_of_runs_fills_to_its_last),
        cmocka_unit_test(null_never_comes_while_a_run_is_free),
        cmocka_unit_test(null_never_comes_while_a_window_is_free),
        cmocka_unit_test(a_run_is_made_of_late_chunks),
        cmocka_unit_test(runs_and_pages_may_be_mixed_in_a_heap_that_is_too_small),
        cmocka_unit_test(a_run_may_have_several_fields),
    };
    base_target = test_target();
    if (!getenv("QUARRY_TEST_ALLOCATOR"))
        setenv("QUARRY_TEST_ALLOCATOR", "ouro-p-s,ouro-p-va,ouro-p-vl,ouro-c-s,ouro-c-va,ouro-c-vl", 1);
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("ouro", tests, NULL, NULL) != 0;
}
