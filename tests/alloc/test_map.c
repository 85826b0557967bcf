/* SPDX-License-Identifier: Apache-2.0 */
/* What lies where in a pool: every allocator names its sections, they lie in the pool and apart, and neither
 * the library nor the allocator writes anywhere else. */
#include "alloc/promise_kernels.h"

#include "chosen.h"

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
    for (uint64_t i = 0; i < bytes; i++)
        if (copy[i] != UNTOUCHED)
            fail_msg("%s: byte %llu was written, which is in no section", what, (unsigned long long)i);
    free(copy);
}

static void nothing_is_written_outside_of_sections(void **state)
{
    (void)state;
    for_each_heap(judge_gaps);
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
        cmocka_unit_test(sections_that_do_not_fit_are_refused),
        cmocka_unit_test(layouts_know_the_multiprocessors),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("map", tests, NULL, NULL) != 0;
}
