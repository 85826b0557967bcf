/* SPDX-License-Identifier: Apache-2.0 */
/* Debug mode: each kind of error is found and described, and nothing is found where nothing is wrong; with
 * all of alloc/list.def, or the one of it or of alloc/extra.def that QUARRY_TEST_ALLOCATOR names, and each
 * width of word, on the backend that QUARRY_TEST_BACKEND names.  Clean runs take QUARRY_TEST_SEEDS seeds of
 * the CPU's deterministic scheduler (default 30). */
#include "debug_errors.h"
#include "debug_test.h"

/* ---- nothing is wrong ---- */

/* With blocks of up to `most` pages. */
static void clean(uint64_t pages, uint64_t page_bytes, uint64_t most, uint32_t threads, uint32_t turns,
                  uint64_t seed)
{
    uint32_t faults = 1;
    begin(pages, page_bytes, seed);
    expect_clean();
    f.device.turns = turns;
    f.device.bytes = page_bytes * most;
    run(&debug_churn, 0, threads, 0);
    assert_ok(quarry_memory_copy(&f.target, &faults, f.device.faults, sizeof faults));
    expect_equal(faults, 0);
    expect_clean();
    expect_equal(live(), 0);
    end(QUARRY_OK);
}

static void clean_runs_report_nothing_here(void)
{
    static const uint64_t page_bytes[] = {16, 48, 256};
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++)
        clean(seed % 2 ? 20 : 100, page_bytes[seed % 3], 1, 96, 4, seed);
    const uint32_t share = test_on_cuda(&base_target) ? 1 : 4;       /* fewer run at once on the CPU */
    clean(capped(5000 / share), 80, 1, capped(SLOTS / share), 5, 0); /* more threads than pages */
    clean(3, (1u << 20) - QUARRY_DEBUG_PAGE_BYTES, 1, 64, 1, 0);
    f.full = QUARRY_FULL_INFERRED;
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 5; seed++)
        clean(50, 32, 1, 96, 3, seed);
}
FOR_EACH_ALLOCATOR(clean_runs_report_nothing)

static void null_and_refused_are_no_errors_here(void)
{
    begin(2, PAGE_BYTES, 0);
    place(0, 0);
    release(1, 0, 0);
    f.device.bytes = f.about.max_block_bytes + 1;
    run(&debug_malloc, 0, 10, 0);
    f.device.bytes = 0;
    run(&debug_malloc, 0, 10, 0);
    f.device.bytes = PAGE_BYTES;
    run(&debug_malloc, 0, 10, 0);
    run(&debug_mark, 0, 10, 0);
    expect_report("2 live blocks, 128 bytes\n");
    f.device.offset = 0;
    run(&debug_free, 0, 10, 0);
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(null_and_refused_are_no_errors)

/* ---- blocks of several units ---- */

#define LARGE_BYTES ((uint64_t)3 * PAGE_BYTES)

/* Every byte that a large block had is watched after its free, whoever looks: a check, small blocks that
 * are made of it, or another large one. */
static void freed_parts_of_large_blocks_are_watched_here(void)
{
    enum { SMALL, LARGE, CHECKED, WAYS };
    if (!f.several)
        return;
    for (uint64_t at = 0; at < LARGE_BYTES; at++)
        for (int way = 0; way < WAYS; way++) {
            begin(3, PAGE_BYTES, 0);
            allocate(4, 0, LARGE_BYTES);
            release(6, 0, 0);
            expect_clean();
            overwrite(0, (int64_t)at);
            if (way == CHECKED) {
                expect_corrupt("write after free: 1 time");
                expect_corrupt("write after free: 1 time");
            }
            f.device.bytes = way == LARGE ? LARGE_BYTES : PAGE_BYTES;
            f.device.offset = 0;
            run(&debug_malloc, 0, 3, 0);
            expect_equal(live(), way == LARGE ? 1 : 3);
            run(&debug_free, 0, 3, 0);
            expect_report_begins("write after free: 1 time, first: byte ");
            end(QUARRY_ERROR_CORRUPT);
        }
}
FOR_EACH_ALLOCATOR(freed_parts_of_large_blocks_are_watched)

static void errors_in_large_blocks_are_recorded_here(void)
{
    if (!f.several)
        return;
    begin(6, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, LARGE_BYTES);
    allocate(5, 1, 1);
    expect_equal(live(), 2);
    release(8, 0, (int64_t)LARGE_BYTES - 1);
    overwrite(0, (int64_t)LARGE_BYTES);
    release(6, 0, 0);
    release(9, 0, 0);
    expect_report("double free: 1 time, first: 192 bytes at 0x%" PRIx64
                  " by thread 9 (allocated by thread 4)\n"
                  "free of an interior pointer: 1 time, first: byte 191 of 192 bytes at 0x%" PRIx64
                  " by thread 8 (allocated by thread 4)\n"
                  "write past the end: 1 time, first: byte 192 of 192 bytes at 0x%" PRIx64
                  ", seen at its free by thread 6 (allocated by thread 4)\n1 live block, 1 byte\n",
                  address, address, address);
    release(5, 1, 0);
    assert_ok(quarry_heap_reset(f.heap));
    expect_clean();
    expect_sane(6);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(errors_in_large_blocks_are_recorded)

/* Of all sizes up to that of several pages, so that what is free is divided anew all the time. */
static void clean_runs_of_all_sizes_report_nothing_here(void)
{
    if (f.fixed)
        return;
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint32_t threads = seed || !test_on_cuda(&base_target) ? 96 : capped(5000);
        clean(seed % 2 ? 40 : threads, 48, 1 + seed % 6, threads, seed ? 4 : 50, seed);
    }
}
FOR_EACH_ALLOCATOR(clean_runs_of_all_sizes_report_nothing)

/* ---- leaks ---- */

static void leaks_are_told_at_the_end_here(void)
{
    char expected[256], detail_text[4096];
    begin(50, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, 33);
    end(QUARRY_ERROR_LEAK);
    snprintf(detail_text, sizeof detail_text, "%s", quarry_error_detail());
    leave_out_launches(detail_text);
    snprintf(expected, sizeof expected,
             "1 block of 33 bytes was still live when the heap was destroyed: 33 bytes at 0x%" PRIx64
             ", allocated by thread 4",
             address);
    assert_string_equal(expected, detail_text);

    begin(50, PAGE_BYTES, 0);
    f.device.bytes = 48;
    run(&debug_malloc, 3, 41, 0);
    f.device.offset = 0;
    run(&debug_free, 0, 31, 0);
    expect_report("10 live blocks, 480 bytes\n");
    assert_ok(quarry_heap_check(f.heap));
    end(QUARRY_ERROR_LEAK);
    const char *detail = quarry_error_detail();
    expect(strstr(detail, "10 blocks of 480 bytes were still live") == detail);
    expect(strstr(detail, "48 bytes at 0x") != NULL);
    expect(strstr(detail, "allocated by thread ") != NULL);
    expect(strstr(detail, "; and 6 more") != NULL);
}
FOR_EACH_ALLOCATOR(leaks_are_told_at_the_end)

/* Nobody has asked before: the end looks itself. */
static void errors_are_told_at_the_end_here(void)
{
    begin(3, PAGE_BYTES, 0);
    allocate(4, 0, 20);
    release(6, 0, 0);
    overwrite(0, 3);
    allocate(5, 1, 20); /* CORRUPT comes before LEAK */
    end(QUARRY_ERROR_CORRUPT);
    assert_non_null(strstr(quarry_error_detail(), "write after free: 1 time"));
}
FOR_EACH_ALLOCATOR(errors_are_told_at_the_end)

static void many_leaks_are_counted_here(void)
{
    uint32_t threads = capped(SLOTS);
    char expected[64];
    begin(threads, 16, 0);
    f.device.bytes = 3;
    run(&debug_malloc, 0, threads, 0);
    snprintf(expected, sizeof expected, "%u live blocks, %u bytes\n", threads, 3 * threads);
    expect_report("%s", expected);
    end(QUARRY_ERROR_LEAK);
}
FOR_EACH_ALLOCATOR(many_leaks_are_counted)

/* ---- the host's side ---- */

/* A heap in debug mode has the numbers of one that is not; only its pool is larger. */
static void numbers_are_those_of_a_plain_heap_here(void)
{
    struct quarry_statistics s[2];
    struct quarry_heap_description about[2];
    for (int debug = 0; debug < 2; debug++) {
        f.target = base_target;
        struct quarry_heap_options options = the_options(100, PAGE_BYTES);
        options.debug = debug;
        begin_with(&options);
        f.device.bytes = f.fixed ? 20 : PAGE_BYTES;
        run(&debug_malloc, 0, 30, 0);
        assert_ok(quarry_heap_statistics(f.heap, &s[debug]));
        about[debug] = f.about;
        expect_equal(f.about.debug, debug);
        expect(slots(1) >= 70 && (slots(1) == 70 || !f.fixed));
        expect_equal(slots(PAGE_BYTES), 70);
        expect_equal(slots(f.about.max_block_bytes + 1), 0);
        f.device.offset = 0;
        run(&debug_free, 0, 30, 0);
        end(QUARRY_OK);
    }
    expect_equal(s[1].live_blocks, s[0].live_blocks);
    expect_equal(about[1].page_bytes, about[0].page_bytes);
    if (f.fixed) { /* else units may be larger, and so are blocks, by the room of several pages' overhead */
        expect_equal(s[1].live_bytes, s[0].live_bytes);
        expect_equal(s[1].capacity_bytes, s[0].capacity_bytes);
        expect_equal(s[1].largest_free_bytes, s[0].largest_free_bytes);
        expect_equal(about[1].max_block_bytes, about[0].max_block_bytes);
    } else {
        expect(s[1].live_bytes >= s[0].live_bytes);
        expect(s[1].capacity_bytes >= s[0].capacity_bytes);
        expect(s[1].largest_free_bytes >= s[0].largest_free_bytes);
        expect(about[1].max_block_bytes >= about[0].max_block_bytes);
    }
    expect_equal(about[1].pages, about[0].pages);
    int fewer = !f.fixed && (!f.several || test_is_of(f.allocator, "ouro"));
    if (!fewer) /* sizes, where units are larger, and so less to keep of them */
        expect(about[1].pool_bytes >= about[0].pool_bytes + 100 * QUARRY_DEBUG_PAGE_BYTES);

    f.target = base_target; /* the same pool holds fewer pages */
    struct quarry_heap_options options = the_options(0, PAGE_BYTES);
    options.pool_bytes = 1 << 20;
    begin_with(&options);
    expect(f.about.pages < (1 << 20) / (PAGE_BYTES + QUARRY_DEBUG_PAGE_BYTES));
    expect(f.about.pages > (1 << 20) / (PAGE_BYTES + QUARRY_DEBUG_PAGE_BYTES) * (f.fixed ? 9 : 8) / 10);
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(numbers_are_those_of_a_plain_heap)

static void a_callers_buffer_is_kept_to_here(void)
{
    const uint64_t bytes = 40000;
    unsigned char *host = malloc(bytes + 64);
    assert_non_null(host);
    f.target = base_target;
    unsigned char *buffer = test_memory(&f.target, bytes + 64);
    assert_ok(quarry_memory_fill(&f.target, buffer, 0x5a, bytes + 64));
    struct quarry_heap_options options = the_options(0, PAGE_BYTES);
    options.pool = QUARRY_POOL_BUFFER;
    options.buffer = buffer + 16;
    options.pool_bytes = bytes;
    begin_with(&options);
    expect_sane((uint32_t)f.about.pages);
    expect_clean();
    uint64_t address = allocate(1, 0, 5);
    release(2, 0, 0);
    release(2, 0, 0);
    expect_report("double free: 1 time, first: 5 bytes at 0x%" PRIx64
                  " by thread 2 (allocated by thread 1)\n",
                  address);
    end(QUARRY_ERROR_CORRUPT);
    assert_ok(quarry_memory_copy(&f.target, host, buffer, bytes + 64));
    for (uint32_t i = 0; i < 16; i++)
        expect_equal(host[i], 0x5a);
    for (uint32_t i = 16; i < 64; i++)
        expect_equal(host[bytes + i], 0x5a);
    test_memory_free(&f.target, buffer, bytes + 64);
    free(host);
}
FOR_EACH_ALLOCATOR(a_callers_buffer_is_kept_to)

static void every_kind_of_pool_works_here(void)
{
    for (int pool = QUARRY_POOL_DEVICE; pool < QUARRY_POOL_BUFFER; pool++) {
        f.target = base_target;
        struct quarry_heap_options options = the_options(20, PAGE_BYTES);
        quarry_heap *heap;
        options.pool = (enum quarry_pool)pool;
        enum quarry_status status = quarry_heap_create(&heap, &options);
        if (status == QUARRY_ERROR_COMBINATION && test_on_cuda(&f.target))
            continue;
        assert_ok(status);
        assert_ok(quarry_heap_destroy(heap));
        begin_with(&options);
        uint64_t address = allocate(1, 0, 5);
        overwrite(0, 5);
        release(2, 0, 0);
        expect_report("write past the end: 1 time, first: byte 5 of 5 bytes at 0x%" PRIx64
                      ", seen at its free by thread 2 (allocated by thread 1)\n",
                      address);
        assert_ok(quarry_heap_reset(f.heap));
        expect_sane(20);
        expect_clean();
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(every_kind_of_pool_works)

static void reports_are_cut_to_fit(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 10, 60, 4000};
    char whole[QUARRY_DEBUG_TEXT_BYTES];
    char text[QUARRY_DEBUG_TEXT_BYTES];
    (void)state;
    if (!is_chosen("corw"))
        skip();
    f.allocator = "corw";
    f.word_bits = 0;
    f.full = QUARRY_FULL_PROVEN;
    begin(10, PAGE_BYTES, 0);
    allocate(1, 0, 5);
    overwrite(0, 5);
    allocate(1, 1, 5);
    release(2, 0, 0);
    release(2, 0, 0);
    assert_ok(quarry_heap_debug_report(f.heap, whole, sizeof whole));
    expect(strlen(whole) > 200);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t length = strlen(whole) < sizes[i] ? strlen(whole) : sizes[i] - 1;
        memset(text, '#', sizeof text);
        assert_ok(quarry_heap_debug_report(f.heap, text, sizes[i]));
        if (sizes[i]) {
            assert_int_equal(length, strlen(text));
            assert_memory_equal(whole, text, length);
        }
        for (size_t k = sizes[i]; k < sizeof text; k++)
            assert_int_equal('#', text[k]);
    }
    assert_ok(quarry_heap_debug_report(f.heap, NULL, 0));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_debug_report(f.heap, NULL, 10));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_debug_report(NULL, text, 10));
    end(QUARRY_ERROR_CORRUPT);
}

static void options_are_checked(void **state)
{
    quarry_heap *heap;
    char text[100] = "before";
    (void)state;
    f.allocator = NULL;
    f.word_bits = 0;
    f.full = QUARRY_FULL_PROVEN;
    f.target = base_target;
    struct quarry_heap_options options = the_options(10, 1 << 20);
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    assert_non_null(strstr(quarry_error_detail(), "at most 1048512"));
    assert_null(heap);
    options.page_bytes = (1 << 20) - QUARRY_DEBUG_PAGE_BYTES + 16;
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    static const uint64_t wrong[] = {
        8, 15, 100, (1 << 20) + 16, UINT64_MAX - 15, UINT64_MAX - 31, UINT64_MAX - 47};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.page_bytes = wrong[i];
        assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
        assert_non_null(strstr(quarry_error_detail(), "page_bytes is"));
    }
    options.page_bytes = PAGE_BYTES;
    options.pages = 1;
    assert_ok(quarry_heap_create(&heap, &options));
    struct quarry_heap_description about;
    assert_ok(quarry_heap_describe(heap, &about));
    assert_ok(quarry_heap_destroy(heap));
    options.pool_bytes = about.pool_bytes - 1; /* said exactly */
    assert_int_equal(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
    char needed[64];
    snprintf(needed, sizeof needed, "at least %" PRIu64, about.pool_bytes);
    assert_non_null(strstr(quarry_error_detail(), needed));

    options.pool_bytes = 0;
    options.debug = 0;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_debug_report(heap, text, sizeof text));
    assert_non_null(strstr(quarry_error_detail(), "options.debug"));
    assert_int_equal(0, text[0]);
    assert_ok(quarry_heap_destroy(heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_runs_report_nothing),
        cmocka_unit_test(null_and_refused_are_no_errors),
        cmocka_unit_test(double_free_is_recorded),
        cmocka_unit_test(one_of_racing_frees_wins),
        cmocka_unit_test(foreign_pointers_are_recorded),
        cmocka_unit_test(pointers_from_before_a_reset_are_foreign),
        cmocka_unit_test(interior_pointers_are_recorded),
        cmocka_unit_test(writes_past_the_end_are_recorded),
        cmocka_unit_test(writes_before_the_start_are_recorded),
        cmocka_unit_test(headers_that_were_forged_are_no_blocks),
        cmocka_unit_test(writes_after_free_are_recorded),
        cmocka_unit_test(writes_to_blocks_never_allocated_are_recorded),
        cmocka_unit_test(kinds_are_recorded_side_by_side),
        cmocka_unit_test(freed_parts_of_large_blocks_are_watched),
        cmocka_unit_test(errors_in_large_blocks_are_recorded),
        cmocka_unit_test(clean_runs_of_all_sizes_report_nothing),
        cmocka_unit_test(leaks_are_told_at_the_end),
        cmocka_unit_test(errors_are_told_at_the_end),
        cmocka_unit_test(many_leaks_are_counted),
        cmocka_unit_test(numbers_are_those_of_a_plain_heap),
        cmocka_unit_test(a_callers_buffer_is_kept_to),
        cmocka_unit_test(every_kind_of_pool_works),
        cmocka_unit_test(reports_are_cut_to_fit),
        cmocka_unit_test(options_are_checked),
    };
    base_target = test_target();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
