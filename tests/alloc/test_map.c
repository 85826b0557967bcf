/* SPDX-License-Identifier: Apache-2.0 */
/* What lies where in a pool: every allocator names its sections, they lie in the pool and apart, and neither
 * the library nor the allocator writes anywhere else. */
#include "alloc/promise_kernels.h"

#include "chosen.h"

#include <sys/mman.h>

#define UNTOUCHED 0xc3
#define THREADS 256u
#define CASES 6u

static const struct {
    uint64_t pages, page_bytes, alignment;
    int debug;
} cases[CASES] = {{1, 16, 0, 0},    {100, 64, 0, 0},     {5001, 64, 0, 1},
                  {33, 4096, 0, 1}, {70, 4096, 4096, 0}, {40000, 16, 0, 0}};

static struct quarry_heap_section map[QUARRY_HEAP_SECTIONS];

/* A heap of the n-th case in a buffer; NULL if the allocator can't. */
static quarry_heap *create(const struct quarry_allocator_info *info, uint32_t n, unsigned char *memory,
                           uint64_t bytes)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = NULL;
    options.target = base_target;
    options.allocator = info->name;
    options.pool = QUARRY_POOL_BUFFER;
    options.buffer = memory;
    options.pool_bytes = bytes;
    options.pages = cases[n].pages;
    options.page_bytes = cases[n].page_bytes;
    options.alignment = cases[n].alignment;
    options.debug = cases[n].debug;
    if (!info->counts_slots || cases[n].alignment > info->max_alignment)
        return NULL;
    assert_ok(quarry_heap_create(&heap, &options));
    return heap;
}

static void for_each_heap(void (*test)(quarry_heap *heap, const char *what, const unsigned char *memory,
                                       uint64_t bytes))
{
    const uint64_t bytes = 8u << 20;
    unsigned char *memory = test_memory(&base_target, bytes);
    for (int i = 0; i < quarry_allocator_count(); i++)
        for (uint32_t n = 0; n < CASES; n++) {
            struct quarry_allocator_info info;
            char what[128];
            assert_ok(quarry_allocator_describe(i, &info));
            assert_ok(quarry_memory_fill(&base_target, memory, UNTOUCHED, bytes));
            quarry_heap *heap = create(&info, n, memory + 16, bytes - 32);
            if (!heap)
                continue;
            snprintf(what, sizeof what, "%s, case %u", info.name, n);
            test(heap, what, memory, bytes);
        }
    test_memory_free(&base_target, memory, bytes);
}

static void judge_map(quarry_heap *heap, const char *what, const unsigned char *memory, uint64_t bytes)
{
    struct quarry_heap_description about;
    uint64_t end = 0, pages = 0;
    uint32_t count = quarry_heap_map(heap, map, QUARRY_HEAP_SECTIONS);
    (void)memory;
    (void)bytes;
    assert_ok(quarry_heap_describe(heap, &about));
    if (count < 2 || count > QUARRY_HEAP_SECTIONS)
        fail_msg("%s: %u sections", what, count);
    assert_string_equal("head", map[0].name);
    assert_int_equal(map[0].offset + map[0].bytes, map[1].offset); /* it ends where the sections begin */
    for (uint32_t i = 0; i < count; i++) {
        if (map[i].offset < end || map[i].bytes == 0 || map[i].bytes > about.pool_bytes ||
            map[i].offset > about.pool_bytes - map[i].bytes)
            fail_msg("%s: section %s lies wrong", what, map[i].name);
        end = map[i].offset + map[i].bytes;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(map[i].name, map[j].name) == 0)
                fail_msg("%s: two sections %s", what, map[i].name);
        if (strcmp(map[i].name, "pages") == 0)
            pages = map[i].bytes;
    }
    if (pages < about.pages * about.page_bytes)
        fail_msg("%s: %llu bytes of pages", what, (unsigned long long)pages);
    assert_int_equal(count, quarry_heap_map(heap, NULL, 0));
    memset(map, 0, sizeof map);
    assert_int_equal(count, quarry_heap_map(heap, map, 1));
    assert_string_equal("head", map[0].name);
    assert_null(map[1].name);
    assert_ok(quarry_heap_destroy(heap));
}

static void sections_lie_in_the_pool_and_apart(void **state)
{
    (void)state;
    for_each_heap(judge_map);
    assert_int_equal(0, quarry_heap_map(NULL, map, QUARRY_HEAP_SECTIONS));
}

/* Allocators of the tests that break a promise may break this one. */
static int is_sound(const char *what)
{
    return strncmp(what, "plain-lazy", 10) == 0 ||
           (strncmp(what, "plain-", 6) != 0 && strncmp(what, "first-fit-", 10) != 0);
}

static void use(quarry_heap *heap, uint32_t blocks)
{
    struct quarry_heap_description about;
    struct quarry_statistics statistics;
    struct promise_case argument;
    assert_ok(quarry_heap_describe(heap, &about));
    memset(&argument, 0, sizeof argument);
    argument.heap = quarry_heap_handle(heap);
    argument.result = test_memory(&base_target, sizeof *argument.result);
    argument.block = test_memory(&base_target, sizeof(void *) * blocks);
    argument.bytes = about.page_bytes;
    argument.alignment = about.alignment;
    argument.threads = THREADS;
    argument.count = blocks;
    test_run(&promise_stride_malloc, &base_target, 4, THREADS / 4, 0, &argument);
    test_run(&promise_stride_free, &base_target, 4, THREADS / 4, 0, &argument);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_ok(quarry_heap_check(heap));
    assert_ok(quarry_heap_reset(heap));
    test_memory_free(&base_target, argument.block, sizeof(void *) * blocks);
    test_memory_free(&base_target, argument.result, sizeof *argument.result);
}

static void judge_gaps(quarry_heap *heap, const char *what, const unsigned char *memory, uint64_t bytes)
{
    unsigned char *copy = malloc(bytes);
    struct quarry_heap_description about;
    uint32_t count = quarry_heap_map(heap, map, QUARRY_HEAP_SECTIONS);
    assert_non_null(copy);
    assert_ok(quarry_heap_describe(heap, &about));
    if (is_sound(what))
        use(heap, (uint32_t)(about.pages < 2 * THREADS ? about.pages + 3 : 2 * THREADS));
    assert_ok(quarry_memory_copy(&base_target, copy, memory, bytes));
    assert_ok(quarry_heap_destroy(heap));
    for (uint32_t i = 0; i < count; i++)
        memset(copy + ((const unsigned char *)about.pool_base - memory) + map[i].offset, UNTOUCHED,
               map[i].bytes);
    if (copy[0] != UNTOUCHED || memcmp(copy, copy + 1, bytes - 1) != 0) { /* quicker than byte by byte */
        uint64_t i = 0;
        while (copy[i] == UNTOUCHED)
            i++;
        fail_msg("%s: byte %llu was written, which is in no section", what, (unsigned long long)i);
    }
    free(copy);
}

static void nothing_is_written_outside_of_sections(void **state)
{
    (void)state;
    for_each_heap(judge_gaps);
}

/* A heap whose last section ends where the buffer ends, at `end`; NULL if none does. */
static quarry_heap *create_before(struct quarry_heap_options options, unsigned char *end, uint64_t most)
{
    for (uint64_t bytes = options.pages * options.page_bytes; bytes <= most; bytes += 16) {
        struct quarry_heap_description about;
        quarry_heap *heap = NULL;
        options.pool_bytes = bytes;
        options.buffer = end - bytes;
        if (quarry_heap_create(&heap, &options) != QUARRY_OK)
            continue;
        assert_ok(quarry_heap_describe(heap, &about));
        uint32_t last = quarry_heap_map(heap, map, QUARRY_HEAP_SECTIONS) - 1;
        if ((unsigned char *)about.pool_base + map[last].offset + map[last].bytes == end)
            return heap;
        assert_ok(quarry_heap_destroy(heap));
    }
    return NULL;
}

/* Behind the pool is memory that ends the test. */
static void nothing_is_read_behind_the_pool(void **state)
{
    const uint64_t most = 1u << 18;
    unsigned char *memory;
    (void)state;
    if (test_on_cuda(&base_target))
        skip();
    memory = mmap(NULL, 2 * most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(0, mprotect(memory + most, most, PROT_NONE));
    for (int i = 0; i < quarry_allocator_count(); i++)
        for (int debug = 0; debug < 2; debug++) {
            struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
            struct quarry_allocator_info info;
            quarry_heap *heap;
            assert_ok(quarry_allocator_describe(i, &info));
            if (!info.holds_pages || !is_sound(info.name))
                continue;
            options.target = base_target;
            options.allocator = info.name;
            options.pool = QUARRY_POOL_BUFFER;
            options.pages = 64; /* of 256 bytes, or 320 in debug mode: they end at a multiple of 4096 */
            options.page_bytes = 256;
            options.debug = debug;
            heap = create_before(options, memory + most, most);
            if (!heap)
                fail_msg("%s, debug %d: no pool ends with its last section", info.name, debug);
            use(heap, 64);
            assert_ok(quarry_heap_destroy(heap));
        }
    assert_int_equal(0, munmap(memory, 2 * most));
}

/* More sections than a layout can name, and sections that no pool can hold. */
static void sections_that_do_not_fit_are_refused(void **state)
{
    struct quarry_layout layout;
    (void)state;
    memset(&layout, 0, sizeof layout);
    for (uint32_t i = 0; i < QUARRY_MAX_SECTIONS; i++)
        quarry_layout_section(&layout, "some", 10, 16);
    assert_int_equal(QUARRY_MAX_SECTIONS, layout.section_count);
    assert_int_equal((QUARRY_MAX_SECTIONS - 1) * 16 + 10, layout.used_bytes);
    quarry_layout_section(&layout, "one more", 10, 16);
    assert_int_equal(UINT64_MAX, layout.used_bytes);
    for (uint64_t bytes = UINT64_MAX; bytes >= UINT64_MAX - 300; bytes -= 100) {
        memset(&layout, 0, sizeof layout);
        quarry_layout_section(&layout, "first", 300, 256);
        quarry_layout_section(&layout, "large", bytes, 256);
        quarry_layout_section(&layout, "behind it", 1, 256);
        assert_int_equal(UINT64_MAX, layout.used_bytes);
    }
}

/* So many pages in a pool that is as large as can be; 0: as many as fit. */
static struct quarry_layout layout_of(uint64_t pages, uint64_t page_bytes)
{
    struct quarry_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.page_align = QUARRY_SECTION_ALIGN;
    layout.page_bytes = page_bytes;
    layout.bytes = UINT64_MAX;
    layout.pages = pages;
    return layout;
}

static void there_are_as_many_pages_as_numbers(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        const enum quarry_layout_result result = more ? QUARRY_LAYOUT_PAGES : QUARRY_LAYOUT_OK;
        struct quarry_layout layout = layout_of(QUARRY_MAX_PAGES + (uint64_t)more, 16), other = layout;
        struct quarry_rw rw;
        struct quarry_cuda cuda;
        assert_int_equal(result, quarry_rw_layout(&rw, &layout));
        assert_int_equal(result, quarry_cuda_layout(&cuda, &other));
    }
}

static void a_tree_has_no_more_pages_than_it_can_name(void **state)
{
    (void)state;
    for (uint64_t more = 0; more < 3; more++) {
        struct quarry_layout layout = layout_of(more ? QUARRY_TBUDDY_MAX_PAGES + more - 1 : 0, 16);
        struct quarry_tbuddy tbuddy;
        assert_int_equal(more < 2 ? QUARRY_LAYOUT_OK : QUARRY_LAYOUT_PAGES,
                         quarry_tbuddy_layout(&tbuddy, &layout));
        assert_int_equal(layout.pages, QUARRY_TBUDDY_MAX_PAGES + (more == 2));
    }
}

/* A sweep speaks of numbers of pages, and of classes of cells, which have a bit more. */
static void a_scatter_block_is_no_larger_than_a_sweep_can_say(void **state)
{
    struct quarry_scatter scatter;
    (void)state;
    for (uint64_t pages = QUARRY_SWEEP_CLASS - 1; pages <= (uint64_t)QUARRY_SWEEP_CLASS + 1; pages++) {
        struct quarry_layout layout = layout_of(pages, 4096);
        layout.option[QUARRY_OPTION_scatter_access_blocks] = 1;
        assert_int_equal(QUARRY_LAYOUT_OK, quarry_scatter_layout(&scatter, &layout));
        assert_int_equal(QUARRY_SWEEP_CLASS - 1, scatter.block_pages);
        assert_int_equal(layout.max_block, (uint64_t)scatter.block_pages * 4096);
    }
}

/* A heap of 64 pages, of which one thread takes `count` blocks. */
static quarry_heap *take(const struct quarry_allocator_info *info, int largest, uint32_t count,
                         struct promise_result *result)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_heap_description about;
    struct promise_case argument;
    quarry_heap *heap;
    options.target = base_target;
    options.allocator = info->name;
    options.pages = 64;
    options.page_bytes = 64;
    options.statistics = largest;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    memset(&argument, 0, sizeof argument);
    argument.heap = quarry_heap_handle(heap);
    argument.result = test_memory(&base_target, sizeof *argument.result);
    argument.block = test_memory(&base_target, sizeof(void *) * count);
    argument.bytes = largest ? about.max_block_bytes : 64;
    argument.alignment = 16;
    argument.threads = 1;
    argument.count = count;
    test_run(&promise_stride_malloc, &base_target, 1, SIMT_LANES, 0, &argument);
    assert_ok(quarry_memory_copy(&base_target, result, argument.result, sizeof *result));
    assert_ok(quarry_heap_check(heap));
    test_memory_free(&base_target, argument.block, 0);
    test_memory_free(&base_target, argument.result, 0);
    return heap;
}

/* Of whole words, one after the other: behind the last page there is none.  And of the largest block all is known. */
static void the_heap_ends_with_its_last_page(void **state)
{
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        struct quarry_heap_description about;
        struct quarry_statistics statistics;
        struct quarry_totals totals;
        struct promise_result result;
        assert_ok(quarry_allocator_describe(i, &info));
        if (!info.holds_pages || !is_sound(info.name))
            continue;
        quarry_heap *heap = take(&info, 0, 65, &result);
        assert_ok(quarry_heap_statistics(heap, &statistics));
        if (result.nulls != 1 || statistics.live_blocks != 64)
            fail_msg("%s: of 65 blocks for 64 pages %u could not be had, and %llu live", info.name,
                     result.nulls, (unsigned long long)statistics.live_blocks);
        assert_ok(quarry_heap_destroy(heap));

        heap = take(&info, 1, 1, &result);
        assert_ok(quarry_heap_describe(heap, &about));
        assert_ok(quarry_heap_totals(heap, &totals));
        if (result.nulls != 0 || totals.live_bytes != about.max_block_bytes)
            fail_msg("%s: the block of %llu bytes has %llu", info.name,
                     (unsigned long long)about.max_block_bytes, (unsigned long long)totals.live_bytes);
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* Heaps that infer how full they are have no sweep, and others have one. */
static void heaps_that_infer_do_not_sweep(void **state)
{
    static const char *const names[] = {"rw", "rw-bm", "crw", "corw", "rw-malloc"};
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        struct quarry_handle handle;
        quarry_heap *heap;
        options.target = base_target;
        options.allocator = names[i / 2];
        options.pages = 5000;
        options.full = i % 2 ? QUARRY_FULL_INFERRED : QUARRY_FULL_PROVEN;
        options.low_free = i % 2 ? 0.01 : 0;
        assert_ok(quarry_heap_create(&heap, &options));
        handle = quarry_heap_handle(heap);
        uint32_t parts = i < 2 ? handle.as.rw.parts : i < 8 ? handle.as.walk.map.parts : handle.as.runs.parts;
        assert_int_equal(parts == 0, i % 2);
        if (i == 1) /* 5.411 (1 - L) / L pages, rounded up */
            assert_int_equal(handle.as.rw.probes, 536);
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* An allocator may have a structure for each multiprocessor. */
static void layouts_know_the_multiprocessors(void **state)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_device_info device;
    quarry_heap *heap = NULL;
    (void)state;
    options.target = base_target;
    options.allocator = "null";
    options.pages = 1;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_device_describe(&base_target, &device));
    assert_true(device.multiprocessors > 0);
    assert_int_equal(device.multiprocessors, quarry_heap_handle(heap).as.null.multiprocessors);
    assert_ok(quarry_heap_destroy(heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_lie_in_the_pool_and_apart),
        cmocka_unit_test(nothing_is_written_outside_of_sections),
        cmocka_unit_test(nothing_is_read_behind_the_pool),
        cmocka_unit_test(sections_that_do_not_fit_are_refused),
        cmocka_unit_test(there_are_as_many_pages_as_numbers),
        cmocka_unit_test(a_tree_has_no_more_pages_than_it_can_name),
        cmocka_unit_test(a_scatter_block_is_no_larger_than_a_sweep_can_say),
        cmocka_unit_test(the_heap_ends_with_its_last_page),
        cmocka_unit_test(heaps_that_infer_do_not_sweep),
        cmocka_unit_test(layouts_know_the_multiprocessors),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("map", tests, NULL, NULL) != 0;
}
