/* SPDX-License-Identifier: Apache-2.0 */
/* scatter beyond the promises: pages of many cells, of which the tests of all allocators have few; how many
 * cells a page has for each size; which pages a request may use; access blocks; and its options.
 *
 * QUARRY_TEST_SEEDS: seeds of the deterministic scheduler for each case (default 60). */
#include "alloc/promises.h"

#define SEEDS 60u
#define PAGE_BYTES 4096u

static void choose(void)
{
    f.allocator = "scatter";
    f.fixed = 0;
    f.word_bits = 0;
    plain_options();
}

/* ---- cells of a page ---- */

/* How many cells of `bytes` (a multiple of 16) a page holds, by counting: fields of 32 bits grow from its
 * end if there are more than 32. */
static uint32_t count_cells(uint64_t page_bytes, uint64_t bytes)
{
    uint32_t n = 0;
    while (n < 1024) {
        uint64_t fields = n + 1 > 32 ? ((n + 1) + 31) / 32 * 4 : 0;
        if ((n + 1) * bytes + fields > page_bytes)
            break;
        n++;
    }
    return n;
}

/* One thread for each cell that there should be, and one more, on an empty page. */
static void fill_page(uint64_t page_bytes, uint64_t bytes)
{
    uint64_t unit = f.alignment ? f.alignment : 16;
    uint32_t cells = count_cells(page_bytes, (bytes + unit - 1) / unit * unit);
    begin(1, page_bytes, cells + 1, 0);
    f.device.bytes = bytes;
    expect_equal(slots(bytes), cells);
    expect_equal(run(&promise_malloc, cells + 1).nulls, 1);
    expect_equal(slots(bytes), 0);
    assert_ok(quarry_heap_check(f.heap));
    run(&promise_verify, cells + 1);
    f.device.turns = 3;
    run(&promise_sieve, cells + 1);
    assert_ok(quarry_heap_check(f.heap));
    uint64_t left = statistics().live_blocks;
    expect_equal(slots(bytes), cells - left);
    expect_equal(run(&promise_malloc, cells + 1).nulls, 1);
    run(&promise_verify, cells + 1);
    run(&promise_free, cells + 1);
    expect_empty();
    end();
}

static void a_page_has_as_many_cells_as_fit(void **state)
{
    static const uint64_t pages[] = {16, 48, 512, 528, 544, 560, 1024, 4096, 4112, 16384, 65536};
    (void)state;
    choose();
    for (uint32_t p = 0; p < sizeof pages / sizeof *pages; p++)
        for (uint64_t bytes = 1; bytes <= pages[p]; bytes += bytes < 160 ? 15 : bytes / 5)
            fill_page(pages[p], bytes);
    for (uint64_t bytes = 16; bytes <= PAGE_BYTES; bytes += 16)
        fill_page(PAGE_BYTES, bytes);
    fill_page(1u << 20, 1024);
    fill_page(1u << 20, 1u << 20);
}

static void an_aligned_page_has_as_many_cells_as_fit(void **state)
{
    static const uint64_t pages[] = {1, 2, 31, 32, 33, 34, 65, 256}; /* times the alignment */
    (void)state;
    choose();
    for (f.alignment = 32; f.alignment <= 4096; f.alignment *= 2)
        for (uint32_t p = 0; p < sizeof pages / sizeof *pages; p++)
            for (uint64_t cells = pages[p]; cells > 0; cells /= 2) {
                fill_page(pages[p] * f.alignment, pages[p] * f.alignment / cells);
                fill_page(pages[p] * f.alignment, pages[p] * f.alignment / cells - 31);
            }
    f.alignment = 0;
}

/* ---- races within pages of many cells ---- */

/* The heap's structures are right, blocks that threads ended with hold what they wrote, and when these are
 * freed it is empty. */
static void end_with_a_block_each(uint32_t threads)
{
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    run(&promise_verify, threads);
    run(&promise_free, threads);
    expect_empty();
    end();
}

/* As many pages as can be occupied at once by that many blocks of these sizes, each in a page of its own. */
static void play(uint32_t threads, uint64_t bytes, uint32_t pages, int enough, uint64_t seed)
{
    begin(pages, PAGE_BYTES, threads, seed);
    uint32_t nulls = run_programs(threads, 3, 2, bytes, seed);
    if (enough)
        expect_equal(nulls, 0);
    end();
}

static void cells_are_neither_shared_nor_lost(void **state)
{
    (void)state;
    choose();
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint32_t threads = seed % 2 ? 64 : 33;
        f.probes = 1 + (uint32_t)seed % 3;
        play(threads, 16, 1, threads * 3 + 2 <= 254, seed);
        play(threads, 112, 1 + (uint32_t)seed % 4, 0, seed);
        play(threads, 500, 1 + (uint32_t)seed % 5, 0, seed);
        play(threads, 2 * PAGE_BYTES, 9, 0, seed);
        f.alignment = 64; /* pages of up to 63 cells */
        play(threads, 16, 1 + (uint32_t)seed % 4, 0, seed);
        play(threads, 2 * PAGE_BYTES, 9, 0, seed);
        f.alignment = 0;
    }
    f.probes = 0;
    if (test_on_cuda(&base_target))
        play(capped(1u << 16), 300, 1u << 16, 0, 0);
}

/* All at once fill one page, or take from one to which others give back, to its last cell: NULL comes for
 * those for whom there is none, and for nobody else. */
static void the_last_cells_are_found_by_whoever_is_entitled(void **state)
{
    static const uint64_t sizes[] = {16, 32, 64, 112, 128, 1000};
    (void)state;
    choose();
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint64_t bytes = sizes[seed % 6];
        uint32_t pages = 1 + (uint32_t)seed % 3,
                 cells = pages * count_cells(PAGE_BYTES, (bytes + 15) / 16 * 16);
        f.probes = 1;
        begin(pages, PAGE_BYTES, cells + 50, seed);
        f.device.bytes = bytes;
        expect_equal(run(&promise_malloc, cells + 50).nulls, 50);
        f.device.turns = 7;
        run(&promise_sieve, cells + 50);
        uint64_t spare = slots(bytes);
        expect_equal(run(&promise_malloc, cells + 50).blocks, spare);
        run(&promise_verify, cells + 50);
        run(&promise_free, cells + 50);
        f.device.first = cells + 50;
        f.device.lanes = 0x11111111u;
        f.device.turns = 5;
        f.device.hold = (uint32_t)seed % 5;
        if (cells >= 32) /* 128 threads, of which 32 take part and hold one each */
            expect_equal(run(&promise_churn, 128).nulls, 0);
        expect_empty();
        end();
    }
    f.probes = 0;
}

/* Few threads, each in a warp of its own, so that the page empties all the time and becomes another while
 * some enter and some leave: of 254 cells and back, or of 254, 32 and 4. */
static void a_page_that_empties_becomes_another(void **state)
{
    (void)state;
    choose();
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t warps = 2 + (uint32_t)seed % 3;
        base_target.bug_depth = seed % 4 ? 2 + (uint32_t)(seed / 4 % 4) : 0;
        f.block_threads = SIMT_LANES;
        begin(1, PAGE_BYTES, warps * SIMT_LANES, seed);
        f.device.lanes = 1;
        f.device.bytes = seed % 2 ? 16 : 1000;
        f.device.program = (uint32_t)seed;
        f.device.turns = 12;
        const struct simt_kernel *kernel = seed % 2 ? &promise_churn : &promise_play;
        uint32_t nulls = run(kernel, warps * SIMT_LANES).nulls;
        if (seed % 2)
            expect_equal(nulls, 0);
        expect_empty();
        end();
    }
    plain_options();
}

/* As before, by some lanes of each warp, of 33 cells in two fields, and in the end each holds one: a bit
 * that a free clears after others have emptied the page and taken it anew would be one of theirs, and the
 * check sees it. */
static void a_free_is_done_with_a_page_before_others_may_empty_it(void **state)
{
    (void)state;
    choose();
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 20; seed++) {
        uint32_t warps = 2 + (uint32_t)seed % 2;
        base_target.bug_depth = seed % 4 ? 2 + (uint32_t)(seed / 4 % 3) : 0;
        f.block_threads = SIMT_LANES;
        begin(1, 544, warps * SIMT_LANES, seed);
        f.device.lanes = (2u << seed % 8) - 1; /* all at once hold 24 */
        f.device.bytes = 16;
        f.device.turns = 1 + (uint32_t)seed % 3;
        f.device.keeps = 1;
        expect_equal(run(&promise_churn, warps * SIMT_LANES).nulls, 0);
        end_with_a_block_each(warps * SIMT_LANES);
    }
    plain_options();
}

/* One page, of 17 cells in its word or of 33 in fields, and a request for the smaller ones may take either:
 * what a malloc meant to take of the page when it was the one says nothing of it when it is the other. */
static void a_malloc_forgets_the_page_that_it_lost(void **state)
{
    (void)state;
    choose();
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 20; seed++) {
        uint32_t warps = 2 + (uint32_t)seed % 3;
        base_target.bug_depth = seed % 4 ? 2 + (uint32_t)(seed / 4 % 3) : 0;
        f.block_threads = SIMT_LANES;
        begin(1, 544, warps * SIMT_LANES, seed);
        f.device.lanes = 1u + (uint32_t)seed % 7;
        f.device.bytes = 32;
        f.device.program = (uint32_t)seed;
        f.device.held = 1;
        f.device.turns = 8;
        f.device.keeps = 1;
        run(&promise_play, warps * SIMT_LANES);
        end_with_a_block_each(warps * SIMT_LANES);
    }
    plain_options();
}

/* Gives the threads these blocks, which must be theirs. */
static void let_have(unsigned char *const block[2 * SIMT_LANES])
{
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof *block * 2 * SIMT_LANES));
}

/* Of 33 cells, in two fields, two are free and the last is being freed: who takes two finds the one before it and
 * that one unmarked, while it is still counted.  Or a block is as large as the page, and a warp, most of whose lanes
 * write fields where it lay, makes it a page of cells as soon as it is free. */
static void what_was_left_is_the_next_owners(void **state)
{
    unsigned char *block[2 * SIMT_LANES];
    (void)state;
    choose();
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 20; seed++) {
        int whole = seed % 2 != 0;
        uint64_t page_bytes = whole ? 2048 : 544;
        base_target.bug_depth = seed % 4 < 2 ? 0 : 2 + (uint32_t)(seed / 4 % 3);
        f.block_threads = SIMT_LANES;
        begin(1, page_bytes, 2 * SIMT_LANES, seed);
        f.device.bytes = whole ? page_bytes : 16;
        run(&promise_malloc, whole ? SIMT_LANES + 1 : 2 * SIMT_LANES);
        assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
        unsigned char *mine[2 * SIMT_LANES] = {NULL}, *given[2 * SIMT_LANES] = {NULL};
        for (uint32_t last = 0; last < 3; last++) {
            uint32_t at = 0;
            for (uint32_t i = 1; i < 2 * SIMT_LANES; i++)
                at = block[i] > block[at] ? i : at;
            (last == 0 ? mine : given)[at] = block[at];
            block[at] = NULL;
        }
        f.device.bytes = 16;
        let_have(given);
        run(&promise_free, 2 * SIMT_LANES);
        let_have(mine);
        f.device.hold = (uint32_t)(seed / 2 % 64);
        run(&promise_turn, 2 * SIMT_LANES);
        run(&promise_verify, 2 * SIMT_LANES);
        run(&promise_free, 2 * SIMT_LANES);
        let_have(block);
        run(&promise_verify, 2 * SIMT_LANES);
        run(&promise_free, 2 * SIMT_LANES);
        expect_empty();
        end();
    }
    plain_options();
}

/* Pages full of what their last owner wrote become ones of eight fields, each written by few lanes of a warp
 * whose others ask for another size. */
static void few_lanes_write_all_fields(void **state)
{
    (void)state;
    choose();
    for (uint32_t threads = 2; threads <= 6; threads += 2) {
        struct promise_two two = {.bytes = {16, 1000}, .threads = threads, .select = 1};
        begin(2, PAGE_BYTES, threads, 0);
        f.device.lanes = 3;
        expect_equal(run(&promise_malloc, 2).nulls, 0);
        run(&promise_free, 2);
        for (int i = 0; i < 2; i++) {
            two.heap[i] = f.device.heap;
            two.pool[i] = f.device.pool;
            two.pool_bytes[i] = f.device.pool_bytes;
        }
        two.block = test_memory(&f.target, sizeof *two.block * threads);
        two.nulls = test_memory(&f.target, sizeof *two.nulls * 2);
        two.wrong = test_memory(&f.target, sizeof *two.wrong);
        test_run(&promise_two_malloc, &f.target, 1, threads, 0, &two);
        if (quarry_heap_check(f.heap) != QUARRY_OK)
            fail_msg("%s: %s", naming(), quarry_error_detail());
        test_run(&promise_two_free, &f.target, 1, threads, 0, &two);
        test_memory_free(&f.target, two.block, 0);
        test_memory_free(&f.target, two.nulls, 0);
        test_memory_free(&f.target, two.wrong, 0);
        expect_empty();
        end();
    }
}

/* The first lane of a warp writes the second field of a page that another divides, and must have done so when
 * the other warp takes its last cell. */
static void a_page_is_not_entered_before_all_have_written_its_fields(void **state)
{
    (void)state;
    choose();
    base_target.bug_depth = 2; /* one seed of 1000 shows it, and hardly any at other depths */
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 40; seed++) {
        f.block_threads = SIMT_LANES;
        set_option("hash_size", 2);
        set_option("hash_sm", 2);
        set_option("hash_warp", 2);
        set_option("hash_pages", 2); /* to page 0 */
        begin(2, 544, 2 * SIMT_LANES, seed);
        f.device.lanes = 1u << 31;
        f.device.bytes = 544;
        expect_equal(run(&promise_malloc, SIMT_LANES).nulls, 0);
        f.device.lanes = (1u << 17) - 1; /* 34 ask for 33 cells */
        f.device.bytes = 16;
        expect_equal(run(&promise_malloc, 2 * SIMT_LANES).nulls, 1);
        f.device.lanes = SIMT_ALL_LANES;
        end_with_a_block_each(2 * SIMT_LANES);
    }
    plain_options();
}

/* As many cells as threads, each of which holds at most one, so that not one NULL is right: what lanes give
 * back together is free when any of them goes on. */
static void what_lanes_free_together_is_free_for_each_of_them(void **state)
{
    static const uint64_t pages[] = {128, 256, 512, 544, 1024}; /* of 8, 16, 32, 33 and 63 cells */
    (void)state;
    choose();
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 10; seed++) {
        uint64_t page_bytes = pages[seed % 5];
        uint32_t threads = count_cells(page_bytes, 16);
        base_target.bug_depth = seed % 4 ? 2 + (uint32_t)(seed / 4 % 3) : 0;
        f.block_threads = SIMT_LANES;
        f.probes = 1;
        begin(1, page_bytes, threads, seed);
        f.device.bytes = 16;
        f.device.turns = 3 + (uint32_t)seed % 3;
        expect_equal(run(&promise_churn, threads).nulls, 0);
        expect_empty();
        end();
    }
    plain_options();
}

/* ---- which pages a request may use ---- */

/* Half of one page's cells of `other` bytes are taken; there is no second page. */
static uint64_t slots_beside(uint64_t other, uint64_t bytes)
{
    begin(1, PAGE_BYTES, 2, 0);
    f.device.bytes = other;
    expect_equal(run(&promise_malloc, 2).nulls, 0);
    uint64_t n = slots(bytes);
    run(&promise_free, 2);
    end();
    return n;
}

static void a_cell_wastes_no_more_than_the_factor_allows(void **state)
{
    (void)state;
    choose();
    expect_equal(slots_beside(1024, 1024), 2);
    expect_equal(slots_beside(1024, 1000), 2);
    expect_equal(slots_beside(1024, 512), 2);
    expect_equal(slots_beside(1024, 497), 2); /* of the multiple of 16 of what was asked */
    expect_equal(slots_beside(1024, 496), 0);
    expect_equal(slots_beside(1024, 16), 0);
    expect_equal(slots_beside(1024, 1040), 0); /* too small */
    expect_equal(slots_beside(32, 16), count_cells(PAGE_BYTES, 32) - 2);
    expect_equal(slots_beside(32, 1), count_cells(PAGE_BYTES, 32) - 2);
    expect_equal(slots_beside(64, 16), 0);
    expect_equal(slots_beside(16, 32), 0);
    set_option("waste_factor", 1);
    expect_equal(slots_beside(1024, 1024), 2);
    expect_equal(slots_beside(1024, 1000), 2);
    expect_equal(slots_beside(1024, 512), 0);
    set_option("waste_factor", 4);
    expect_equal(slots_beside(1024, 256), 2);
    expect_equal(slots_beside(1024, 224), 0);
    set_option("waste_factor", 4096);
    expect_equal(slots_beside(1024, 16), 2);
    plain_options();
}

/* ---- options ---- */

/* Lanes that see both take an empty page, not larger cells than they need. */
static void larger_cells_are_for_want_of_others(void **state)
{
    (void)state;
    choose();
    set_option("hash_size", 2);
    set_option("hash_sm", 2);
    set_option("hash_warp", 2);
    set_option("hash_pages", 2); /* to page 0 */
    begin(2, PAGE_BYTES, 3, 0);
    f.device.bytes = 1024;
    f.device.lanes = 1;
    expect_equal(run(&promise_malloc, 3).nulls, 0);
    f.device.bytes = 512;
    f.device.lanes = 6; /* two lanes see two pages at once */
    expect_equal(run(&promise_malloc, 3).nulls, 0);
    expect_equal(slots(1024), 3);
    f.device.lanes = 7;
    run(&promise_free, 3);
    expect_empty();
    end();
    plain_options();
}

static void a_page_that_is_kept_serves_its_size_only(void **state)
{
    (void)state;
    choose();
    for (int keep = 0; keep < 2; keep++) {
        set_option("keep_pages", keep);
        begin(3, PAGE_BYTES, 8, 0);
        f.device.bytes = 1024;
        expect_equal(run(&promise_malloc, 8).nulls, 0);
        run(&promise_free, 8);
        expect_equal(slots(1024), 12);
        expect_equal(slots(16), keep ? 254 : 3 * 254);
        expect_equal(slots(3 * PAGE_BYTES), keep ? 0 : 1);
        expect_equal(statistics().live_blocks, 0);
        end();
    }
    plain_options();
}

/* Each finds the pages right before those that are taken, in an access block that is not full. */
static void a_serial_search_begins_at_the_end(void **state)
{
    enum { BLOCKS = 7 };
    (void)state;
    choose();
    set_option("serial", 1);
    set_option("access_blocks", 4);
    begin(60, PAGE_BYTES, BLOCKS, 0);
    f.device.bytes = 3 * PAGE_BYTES;
    for (int turn = 0; turn < 2; turn++) {
        unsigned char *block[BLOCKS], *last = (unsigned char *)f.about.pool_base + f.about.pool_bytes;
        last -= (uintptr_t)last % PAGE_BYTES; /* pages begin at multiples of their size */
        expect_equal(run(&promise_malloc, BLOCKS).nulls, 0);
        assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
        for (int i = 0; i < BLOCKS; i++)
            expect(block[i] >= last - BLOCKS * f.device.bytes && block[i] < last);
        run(&promise_free, BLOCKS);
        expect_empty();
    }
    end();
    plain_options();
}

static void no_block_of_pages_crosses_an_access_block(void **state)
{
    (void)state;
    choose();
    set_option("access_blocks", 4);
    for (int serial = 0; serial < 2; serial++) {
        set_option("serial", serial);
        begin(40, PAGE_BYTES, 30, 0);
        expect_equal(f.about.max_block_bytes, 10 * PAGE_BYTES);
        f.device.bytes = 3 * PAGE_BYTES;
        expect_equal(slots(f.device.bytes), 12);
        expect_equal(run(&promise_malloc, 30).blocks, 12);
        expect_equal(slots(PAGE_BYTES), 4);
        run(&promise_verify, 30);
        run(&promise_free, 30);
        expect_empty();
        end();
    }
    plain_options();
}

static void no_scatter_option_changes_a_promise(void **state)
{
    static const uint64_t options[][9] = {
        /* 0: standard */
        {1, 1, 1, 1, 1, 1, 1, 0, 0},           {3, 5, 3, 7, 0, 0, 0, 0, 1},
        {1000, 4096, 4096, 2, 4, 8, 16, 0, 0}, {2, 100, 2, 1u << 31, 0, 1, 2, 0, 1},
        {0, 2, 0, 0, 0, 0, 0, 0, 0},
    };
    static const char *const names[] = {"access_blocks", "region_pages", "waste_factor",
                                        "hash_size",     "hash_sm",      "hash_warp",
                                        "hash_pages",    "keep_pages",   "serial"};
    (void)state;
    choose();
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        for (uint32_t i = 0; i < 9; i++)
            set_option(names[i], options[seed % 5][i]);
        play(33, 300, 6, 0, seed);
        play(33, 3 * PAGE_BYTES, 40, 0, seed);
        play(33, PAGE_BYTES, 33 * 3 + 2, 1, seed);
    }
    plain_options();
}

static void wrong_scatter_options_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        quarry_heap *heap;
        options.target = base_target;
        options.allocator = "scatter";
        const struct quarry_option wrong = {i ? "region_pages" : "waste_factor", 4097};
        options.set = &wrong;
        options.set_count = 1;
        assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_ARGUMENT);
        assert_non_null(strstr(quarry_error_detail(), "4097"));
    }
}

/* ---- access blocks ---- */

/* A heap of several access blocks fills to its last page from one warp, and from one lane. */
static void every_access_block_is_reached(void **state)
{
    (void)state;
    choose();
    for (uint32_t seed = 0; seed <= (seeds(SEEDS) ? 1u : 0u); seed++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t pages = 4 * 1024 + 100, threads = 32;
            begin(pages, 16, threads, seed);
            struct promise_case one = f.device;
            f.device.lanes = i ? 1u : SIMT_ALL_LANES;
            f.device.turns = i ? pages : pages / threads + 1;
            uint64_t got = 0;
            /* What a turn got stays taken: nobody knows it any more. */
            for (uint32_t turn = 0; turn < f.device.turns; turn++) {
                got += run(&promise_malloc, threads).blocks;
                assert_ok(quarry_memory_fill(&f.target, f.device.block, 0, sizeof(void *) * threads));
            }
            expect_equal(got, pages);
            expect_equal(slots(1), 0);
            f.device = one;
            assert_ok(quarry_heap_reset(f.heap));
            end();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_as_many_cells_as_fit),
        cmocka_unit_test(an_aligned_page_has_as_many_cells_as_fit),
        cmocka_unit_test(cells_are_neither_shared_nor_lost),
        cmocka_unit_test(a_page_that_empties_becomes_another),
        cmocka_unit_test(a_free_is_done_with_a_page_before_others_may_empty_it),
        cmocka_unit_test(a_malloc_forgets_the_page_that_it_lost),
        cmocka_unit_test(what_was_left_is_the_next_owners),
        cmocka_unit_test(few_lanes_write_all_fields),
        cmocka_unit_test(a_page_is_not_entered_before_all_have_written_its_fields),
        cmocka_unit_test(what_lanes_free_together_is_free_for_each_of_them),
        cmocka_unit_test(the_last_cells_are_found_by_whoever_is_entitled),
        cmocka_unit_test(a_cell_wastes_no_more_than_the_factor_allows),
        cmocka_unit_test(larger_cells_are_for_want_of_others),
        cmocka_unit_test(every_access_block_is_reached),
        cmocka_unit_test(a_page_that_is_kept_serves_its_size_only),
        cmocka_unit_test(a_serial_search_begins_at_the_end),
        cmocka_unit_test(no_block_of_pages_crosses_an_access_block),
        cmocka_unit_test(no_scatter_option_changes_a_promise),
        cmocka_unit_test(wrong_scatter_options_are_refused),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("scatter", tests, NULL, NULL) != 0;
}
