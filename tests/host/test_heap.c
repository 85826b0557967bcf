/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps at work: statistics, slots and reset give the numbers that are known beforehand (heap_test.h), on a
 * caller's stream too. */
#include "heap_test.h"
#include "heap_test_cuda.h"

static void several_heaps_live_side_by_side(void **state)
{
    enum { HEAPS = 8 };
    quarry_heap *heaps[HEAPS];
    struct work works[HEAPS];
    struct quarry_statistics statistics;
    (void)state;
    for (uint32_t i = 0; i < HEAPS; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_allocator_info info;
        assert_ok(quarry_allocator_describe((int)i % quarry_allocator_count(), &info));
        options.allocator = info.counts_slots ? info.name : NULL;
        options.page_bytes = 64 + 64 * i;
        options.pages = 100 * (i + 1);
        heaps[i] = create(&options);
        works[i] = work_create(heaps[i], THREADS, options.page_bytes);
        works[i].argument.mark = i << 16;
    }
    for (uint32_t i = 0; i < HEAPS; i++)
        work_run(&works[i], &heap_test_malloc);
    for (uint32_t i = 0; i < HEAPS; i++) {
        assert_int_equal(100 * (i + 1), work_fetch(&works[i]));
        work_verify(&works[i]);
        assert_ok(quarry_heap_statistics(heaps[i], &statistics));
        assert_int_equal(100 * (i + 1), statistics.live_blocks);
    }
    for (uint32_t i = 0; i < HEAPS; i += 2)
        assert_ok(quarry_heap_reset(heaps[i]));
    for (uint32_t i = 0; i < HEAPS; i++) {
        assert_ok(quarry_heap_statistics(heaps[i], &statistics));
        assert_int_equal(i % 2 ? 100 * (i + 1) : 0, statistics.live_blocks);
        work_destroy(&works[i]);
        assert_ok(quarry_heap_destroy(heaps[i]));
    }
}

static void statistics_follow_what_lives(void **state)
{
    struct quarry_heap_description description;
    struct quarry_statistics s;
    quarry_heap *heap = create_pages(PAGES);
    struct work work = work_create(heap, THREADS, 200);
    (void)state;
    assert_ok(quarry_heap_describe(heap, &description));
    memset(&s, 0xff, sizeof s);
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(0, s.live_blocks);
    assert_int_equal(0, s.live_bytes);
    assert_int_equal(PAGES * 256, s.capacity_bytes);
    assert_int_equal(description.max_block_bytes, s.largest_free_bytes);
    assert_int_equal(0, s.failed_mallocs);
    assert_int_equal(0, s.refused_mallocs);
    assert_int_equal(0, s.last_failed_bytes);
    assert_true(s.utilisation == 0.0);

    work_run(&work, &heap_test_malloc);
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(PAGES, s.live_blocks);
    assert_int_equal(PAGES * 256, s.live_bytes);
    assert_int_equal(PAGES * 256, s.capacity_bytes);
    assert_int_equal(0, s.largest_free_bytes);
    assert_int_equal(THREADS - PAGES, s.failed_mallocs);
    assert_int_equal(0, s.refused_mallocs);
    assert_int_equal(200, s.last_failed_bytes);
    assert_true(s.utilisation == (double)(PAGES * 256) / (double)description.pool_bytes);

    uint32_t freed = 0;
    assert_int_equal(PAGES, work_fetch(&work));
    for (uint32_t t = 0; t < THREADS; t += 2)
        freed += work.host_blocks[t] != NULL;
    work.argument.every = 2;
    work_run(&work, &heap_test_free);
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(PAGES - freed, s.live_blocks);
    assert_int_equal((PAGES - freed) * 256, s.live_bytes);
    assert_int_equal(PAGES * 256, s.capacity_bytes);
    assert_true(s.largest_free_bytes >= 256);
    assert_int_equal(THREADS - PAGES, s.failed_mallocs);
    assert_ok(quarry_heap_check(heap));
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

/* One free page among many live ones is found wherever it is. */
static void single_free_page_is_counted(void **state)
{
    struct quarry_heap_description description;
    struct quarry_statistics s;
    uint64_t slots = 0;
    quarry_heap *heap = create_pages(PAGES);
    struct work work = work_create(heap, PAGES, 256);
    (void)state;
    assert_ok(quarry_heap_describe(heap, &description));
    work_run(&work, &heap_test_malloc);
    assert_int_equal(PAGES, work_fetch(&work));
    unsigned char **blocks = work.argument.blocks;
    for (uint32_t i = 0; i < 40; i++) {
        work.argument.blocks = blocks + i;
        work.argument.count = 1;
        work_run(&work, &heap_test_free);
        assert_ok(quarry_heap_statistics(heap, &s));
        assert_int_equal(PAGES - 1, s.live_blocks);
        assert_int_equal(256, s.largest_free_bytes);
        assert_ok(quarry_heap_slots(heap, 256, &slots));
        assert_int_equal(1, slots);
        work_run(&work, &heap_test_malloc);
        assert_ok(quarry_heap_slots(heap, 256, &slots));
        assert_int_equal(0, slots);
    }
    work.argument.blocks = blocks;
    work.argument.count = PAGES;
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

static void refused_and_empty_requests(void **state)
{
    struct quarry_heap_description description;
    struct quarry_statistics s;
    quarry_heap *heap = create_pages(PAGES);
    (void)state;
    assert_ok(quarry_heap_describe(heap, &description));
    assert_true(description.max_block_bytes >= description.page_bytes);
    struct work work = work_create(heap, THREADS, description.max_block_bytes + 1);
    work_run(&work, &heap_test_malloc);
    assert_int_equal(0, work_fetch(&work));
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(THREADS, s.refused_mallocs);
    assert_int_equal(0, s.failed_mallocs);
    assert_int_equal(description.max_block_bytes + 1, s.last_failed_bytes);

    work.argument.bytes = 0; /* NULL is what was asked for: nothing failed */
    work_run(&work, &heap_test_malloc);
    assert_int_equal(0, work_fetch(&work));
    work_run(&work, &heap_test_free); /* of NULLs */
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(THREADS, s.refused_mallocs);
    assert_int_equal(0, s.failed_mallocs);
    assert_int_equal(0, s.live_blocks);

    assert_ok(quarry_heap_reset(heap));
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(0, s.refused_mallocs);
    assert_int_equal(0, s.last_failed_bytes);
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

static void reset_frees_everything(void **state)
{
    struct quarry_statistics s;
    quarry_heap *heap = create_pages(PAGES);
    struct work work = work_create(heap, THREADS, 256);
    (void)state;
    for (int round = 0; round < 3; round++) {
        work_run(&work, &heap_test_malloc);
        assert_int_equal(PAGES, work_fetch(&work));
        assert_ok(quarry_heap_reset(heap));
        assert_ok(quarry_heap_statistics(heap, &s));
        assert_int_equal(0, s.live_blocks);
        assert_int_equal(0, s.failed_mallocs);
        assert_int_equal(0, s.last_failed_bytes);
        assert_ok(quarry_heap_check(heap));
    }
    work_destroy(&work);
    fill_and_empty(heap);
    assert_ok(quarry_heap_destroy(heap));
}

static void slots_say_how_many_more_fit(void **state)
{
    struct quarry_heap_description description;
    quarry_heap *heap = create_pages(PAGES);
    struct work work = work_create(heap, 300, 256);
    uint64_t slots = 77;
    (void)state;
    assert_ok(quarry_heap_describe(heap, &description));
    assert_ok(quarry_heap_slots(heap, 0, &slots));
    assert_int_equal(0, slots);
    slots = 77;
    assert_ok(quarry_heap_slots(heap, description.max_block_bytes + 1, &slots));
    assert_int_equal(0, slots);
    slots = 77;
    assert_ok(quarry_heap_slots(heap, UINT64_MAX, &slots));
    assert_int_equal(0, slots);
    assert_ok(quarry_heap_slots(heap, 256, &slots));
    assert_int_equal(PAGES, slots);
    work_run(&work, &heap_test_malloc);
    assert_ok(quarry_heap_slots(heap, 256, &slots));
    assert_int_equal(PAGES - 300, slots);
    assert_ok(quarry_heap_slots(heap, 256, &slots)); /* asking changes nothing */
    assert_int_equal(PAGES - 300, slots);
    struct work rest = work_create(heap, THREADS, 256);
    work_run(&rest, &heap_test_malloc);
    assert_int_equal(PAGES - 300, work_fetch(&rest));
    assert_ok(quarry_heap_slots(heap, 256, &slots));
    assert_int_equal(0, slots);
    work_destroy(&rest);
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

static void word_bits_and_pages_are_described(void **state)
{
    static const uint32_t words[] = {32, 64};
    struct quarry_heap_description description;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct quarry_heap_options options = the_options();
        const struct quarry_option bits = {"word_bits", words[i]};
        options.allocator = "corw";
        options.pool_bytes = MIB;
        options.set = &bits;
        options.set_count = 1;
        quarry_heap *heap = create(&options);
        assert_ok(quarry_heap_describe(heap, &description));
        assert_int_equal(words[i], described(&description, "word_bits"));
        assert_true(description.pages > 0 && description.pages < 4096);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* In words, and what lies where. */
static uint32_t describe(const quarry_heap *heap, char *text, struct quarry_heap_section *map)
{
    assert_ok(quarry_heap_info(heap, text, QUARRY_INFO_TEXT_BYTES));
    return quarry_heap_map(heap, map, QUARRY_HEAP_SECTIONS);
}

static void draft_says_what_the_heap_would_be(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        char wanted[QUARRY_INFO_TEXT_BYTES], text[QUARRY_INFO_TEXT_BYTES];
        struct quarry_heap_section wanted_map[QUARRY_HEAP_SECTIONS], map[QUARRY_HEAP_SECTIONS];
        struct quarry_heap_options options = the_options();
        quarry_heap *heap;
        options.allocator = info.name;
        options.pool_bytes = 1 << 20;
        options.debug = info.counts_slots;
        quarry_heap *real = create(&options);
        const uint32_t count = describe(real, wanted, wanted_map);
        assert_ok(quarry_heap_destroy(real));
        assert_ok(quarry_heap_draft(&heap, &options));
        assert_int_equal(count, describe(heap, text, map));
        assert_string_equal(wanted, text);
        for (uint32_t k = 0; k < count; k++) {
            assert_string_equal(wanted_map[k].name, map[k].name);
            assert_int_equal(wanted_map[k].offset, map[k].offset);
            assert_int_equal(wanted_map[k].bytes, map[k].bytes);
        }
        assert_ok(quarry_heap_destroy(heap));
    }
}

static int visit_none(const struct quarry_block *block, void *user)
{
    (void)block;
    (void)user;
    return 0;
}

static void draft_is_no_heap(void **state)
{
    struct quarry_totals totals;
    struct quarry_heap_options options = the_options();
    struct quarry_statistics statistics;
    const struct quarry_handle none = {0};
    char text[16];
    uint64_t slots;
    quarry_heap *heap;
    (void)state;
    options.debug = 1;
    options.statistics = 1;
    options.pool_bytes = UINT64_C(1) << 46; /* more than any machine has */
    assert_ok(quarry_heap_draft(&heap, &options));
    const struct quarry_handle handle = quarry_heap_handle(heap);
    assert_memory_equal(&none, &handle, sizeof none);
    const enum quarry_status refused[] = {quarry_heap_statistics(heap, &statistics),
                                          quarry_heap_slots(heap, 16, &slots),
                                          quarry_heap_slots(heap, 0, &slots),
                                          quarry_heap_totals(heap, &totals),
                                          quarry_heap_each(heap, visit_none, NULL),
                                          quarry_heap_check(heap),
                                          quarry_heap_reset(heap),
                                          quarry_heap_debug_report(heap, text, sizeof text)};
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(QUARRY_ERROR_COMBINATION, refused[i]);
    assert_non_null(strstr(quarry_error_detail(), "no memory"));
    assert_ok(quarry_heap_destroy(heap));
    options.page_bytes = 24;
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_draft(&heap, &options));
    assert_null(heap);
}

static void large_heap_counts_with_every_worker(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_heap_description description;
    struct quarry_statistics s;
    uint64_t slots = 0;
    (void)state;
    options.pool_bytes = 64 * MIB;
    options.page_bytes = 1024;
    quarry_heap *heap = create(&options);
    struct work work = work_create(heap, THREADS, 1024);
    assert_ok(quarry_heap_describe(heap, &description));
    work_run(&work, &heap_test_malloc);
    assert_int_equal(THREADS, work_fetch(&work));
    assert_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(THREADS, s.live_blocks);
    assert_int_equal(THREADS * 1024, s.live_bytes);
    assert_int_equal(description.pages * 1024, s.capacity_bytes);
    assert_ok(quarry_heap_slots(heap, 1, &slots));
    assert_int_equal(description.pages - THREADS, slots);
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

static void deterministic_targets_have_heaps_too(void **state)
{
    struct quarry_heap_options options = the_options();
    (void)state;
    if (test_on_cuda(&base_target))
        skip();
    for (uint64_t seed = 1; seed <= 3; seed++) {
        options.pages = 100;
        options.target.seed = seed;
        quarry_heap *heap = create(&options);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
    }
}

static void heaps_work_on_a_callers_stream(void **state)
{
    static const enum quarry_pool pools[] = {QUARRY_POOL_DEVICE, QUARRY_POOL_STREAM};
    (void)state;
    if (!test_on_cuda(&base_target))
        skip();
    void *stream = heap_test_stream_create();
    assert_non_null(stream);
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description description;
        quarry_heap *heap = NULL;
        options.target.stream = stream;
        options.pool = pools[i];
        options.pages = PAGES;
        if (quarry_heap_create(&heap, &options) == QUARRY_ERROR_COMBINATION)
            continue;
        assert_ok(quarry_heap_describe(heap, &description));
        assert_ptr_equal(stream, description.target.stream);
        fill_and_empty(heap);
        assert_ok(quarry_heap_reset(heap));
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
    }
    heap_test_stream_destroy(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_heaps_live_side_by_side),
        cmocka_unit_test(statistics_follow_what_lives),
        cmocka_unit_test(single_free_page_is_counted),
        cmocka_unit_test(refused_and_empty_requests),
        cmocka_unit_test(reset_frees_everything),
        cmocka_unit_test(slots_say_how_many_more_fit),
        cmocka_unit_test(word_bits_and_pages_are_described),
        cmocka_unit_test(draft_says_what_the_heap_would_be),
        cmocka_unit_test(draft_is_no_heap),
        cmocka_unit_test(large_heap_counts_with_every_worker),
        cmocka_unit_test(deterministic_targets_have_heaps_too),
        cmocka_unit_test(heaps_work_on_a_callers_stream),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL) != 0;
}
