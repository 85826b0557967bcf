/* SPDX-License-Identifier: Apache-2.0 */
/* A heap with statistics counts what it does.  With all of alloc/list.def and alloc/extra.def, or the ones that
 * QUARRY_TEST_ALLOCATOR names, on the backend that QUARRY_TEST_BACKEND names. */
#include "debug_test.h"

enum kind { PLAIN, WARP, DEBUG, KINDS };

static void begin_counting(uint64_t pages, uint64_t page_bytes, uint64_t seed, enum kind kind)
{
    f.target = base_target;
    f.target.seed = seed;
    struct quarry_heap_options options = the_options(pages, page_bytes);
    options.debug = kind == DEBUG;
    options.distribution = kind == WARP ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
    options.statistics = 1;
    begin_with(&options);
}

static struct quarry_totals totals(void)
{
    struct quarry_totals t;
    struct quarry_statistics s;
    assert_ok(quarry_heap_totals(f.heap, &t));
    assert_ok(quarry_heap_statistics(f.heap, &s));
    expect_equal(t.live_blocks, s.live_blocks); /* what it counted is what a census finds */
    expect_equal(t.live_bytes, s.live_bytes);
    expect_equal(t.refused_mallocs, s.refused_mallocs);
    expect(t.peak_blocks >= t.live_blocks && t.peak_bytes >= t.live_bytes);
    expect(t.total_blocks >= t.peak_blocks && t.total_bytes >= t.peak_bytes);
    uint64_t failed = 0;
    for (uint32_t i = 0; i < QUARRY_SIZE_CLASSES; i++) {
        expect_equal(t.size_class[i].most_bytes,
                     i == QUARRY_SIZE_CLASSES - 1 ? UINT64_MAX : (uint64_t)16 << i);
        failed += t.size_class[i].failed;
    }
    expect_equal(failed, s.failed_mallocs);
    return t;
}

static uint64_t served(const struct quarry_totals *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < QUARRY_SIZE_CLASSES; i++)
        sum += t->size_class[i].mallocs;
    return sum;
}

static void totals_are_exact_here(void)
{
    for (enum kind kind = PLAIN; kind < KINDS; kind++) {
        begin_counting(100, PAGE_BYTES, 0, kind);
        struct quarry_totals t = totals();
        expect_equal(t.total_blocks, 0);
        f.device.bytes = 40;
        run(&debug_malloc, 0, 30, 0);
        t = totals();
        const uint64_t blocks = t.total_blocks, bytes = t.total_bytes; /* of 30 requests */
        expect(kind == WARP ? blocks <= 30 : blocks == 30);
        expect(bytes >= 30 * 40);
        expect_equal(t.live_blocks, blocks);
        expect_equal(t.peak_blocks, blocks);
        expect_equal(t.peak_bytes, bytes);
        expect_equal(t.size_class[2].mallocs, 30); /* up to 64 bytes */
        expect_equal(served(&t), 30);
        f.device.offset = 0;
        run(&debug_free, 0, 30, 0);
        t = totals();
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        expect_equal(t.peak_blocks, blocks);
        expect_equal(t.peak_bytes, bytes);
        f.device.bytes = 16;
        run(&debug_malloc, 0, 1, 0);
        f.device.bytes = f.about.max_block_bytes + 1;
        run(&debug_malloc, 1, 3, 1);
        t = totals();
        expect_equal(t.live_blocks, 1);
        expect_equal(t.peak_blocks, blocks);
        expect_equal(t.total_blocks, blocks + 1);
        expect_equal(t.size_class[0].mallocs, 1); /* up to 16 */
        expect_equal(t.refused_mallocs, 3);
        assert_ok(quarry_heap_reset(f.heap));
        t = totals();
        expect_equal(t.total_blocks + t.peak_bytes + served(&t) + t.refused_mallocs, 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(totals_are_exact)

/* What an aligned block gives back at once is not counted any more. */
static void trimmed_blocks_are_counted_here(void)
{
    for (enum kind kind = PLAIN; kind < KINDS; kind++) {
        begin_counting(200, 64, 0, kind);
        f.device.bytes = 40;
        f.device.offset = 1024;
        run(&debug_align, 0, 3, 0);
        struct quarry_totals t;
        struct quarry_statistics now;
        assert_ok(quarry_heap_totals(f.heap, &t));
        assert_ok(quarry_heap_statistics(f.heap, &now));
        expect_equal(t.live_blocks, now.live_blocks);
        expect_equal(t.live_bytes, now.live_bytes);
        expect_equal(t.total_bytes, now.live_bytes);
        if (kind == PLAIN && f.about.max_block_bytes >= 1064)
            expect(t.live_blocks == 3 && t.live_bytes == (uint64_t)3 * 64);
        f.device.offset = 0;
        run(&debug_free, 0, 3, 0);
        assert_ok(quarry_heap_totals(f.heap, &t));
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(trimmed_blocks_are_counted)

static void failed_mallocs_are_counted_by_size_here(void)
{
    for (enum kind kind = PLAIN; kind < KINDS; kind++) {
        begin_counting(10, PAGE_BYTES, 0, kind);
        const uint64_t most =
            f.about.page_bytes < f.about.max_block_bytes ? f.about.page_bytes : f.about.max_block_bytes;
        f.device.bytes = most;
        run(&debug_malloc, 0, 500, 0);
        struct quarry_totals t = totals();
        uint32_t i = 0;
        while (((uint64_t)16 << i) < most)
            i++;
        expect(t.size_class[i].mallocs > 0);
        expect(t.size_class[i].failed > 0);
        expect_equal(t.size_class[i].mallocs + t.size_class[i].failed, 500);
        f.device.bytes = 1;
        run(&debug_malloc, 0, 500, 500);
        t = totals();
        expect_equal(t.size_class[0].mallocs + t.size_class[0].failed, 500);
        assert_ok(quarry_heap_reset(f.heap));
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(failed_mallocs_are_counted_by_size)

static void totals_are_right_after_any_run_here(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        const enum kind kind = (enum kind)(seed % KINDS);
        begin_counting(seed % 2 ? 20 : 100, 48, seed, kind);
        f.device.turns = 4;
        f.device.bytes = f.several ? 100 : 40;
        if (kind == DEBUG)
            run(&debug_churn, 0, 96, 0);
        else
            run(&debug_malloc, 0, 96, 0);
        totals();
        if (kind != DEBUG) {
            f.device.offset = 0;
            run(&debug_free, 0, 96, 0);
        }
        const struct quarry_totals t = totals();
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        expect(t.peak_blocks > 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(totals_are_right_after_any_run)

/* Several words of a map each, beside claims that are about to fail. */
static void totals_are_right_of_large_blocks_here(void)
{
    if (f.fixed)
        return;
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        begin_counting(600, 16, seed, PLAIN);
        f.device.turns = 3;
        f.device.bytes = 1000;
        run(&debug_churn, 0, 48, 0);
        const struct quarry_totals t = totals();
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        expect(t.peak_bytes > 0 && t.peak_bytes <= f.about.pages * f.about.page_bytes);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(totals_are_right_of_large_blocks)

static void totals_are_an_option(void **state)
{
    struct quarry_totals t;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    char text[QUARRY_INFO_TEXT_BYTES];
    (void)state;
    options.target = base_target;
    options.pages = 10;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_totals(heap, &t));
    assert_non_null(strstr(quarry_error_detail(), "options.statistics"));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_totals(heap, NULL));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_totals(NULL, &t));
    assert_null(quarry_heap_handle(heap).policy); /* kernels do nothing more */
    assert_ok(quarry_heap_info(heap, text, sizeof text));
    assert_non_null(strstr(text, "\nstatistics     off\n"));
    assert_ok(quarry_heap_destroy(heap));
    options.statistics = 1;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_info(heap, text, sizeof text));
    assert_non_null(strstr(text, "\nstatistics     on"));
    assert_ok(quarry_heap_destroy(heap));
    options.allocator = "cuda";
    options.pages = 0;
    options.pool_bytes = 1 << 20;
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    assert_non_null(strstr(quarry_error_detail(), "allocator cuda has no statistics"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_exact),
        cmocka_unit_test(trimmed_blocks_are_counted),
        cmocka_unit_test(failed_mallocs_are_counted_by_size),
        cmocka_unit_test(totals_are_right_after_any_run),
        cmocka_unit_test(totals_are_right_of_large_blocks),
        cmocka_unit_test(totals_are_an_option),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("totals", tests, NULL, NULL) != 0;
}
