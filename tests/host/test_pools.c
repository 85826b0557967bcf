/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a heap lives in: how large it must be, every kind of it, a caller's buffer. */
#include "heap_test.h"

#include <inttypes.h>
#include <sys/mman.h>

static void pages_decide_the_pool(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description description;
        quarry_heap *heap;
        char needed[64];
        assert_ok(quarry_allocator_describe(i, &info));
        if (!info.counts_slots)
            continue;
        options.allocator = info.name;
        options.pages = PAGES;
        options.page_bytes = 48;
        heap = create(&options);
        assert_ok(quarry_heap_describe(heap, &description));
        assert_string_equal(info.name, description.allocator);
        assert_int_equal(PAGES, description.pages);
        assert_int_equal(48, description.page_bytes);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));

        /* Exactly as much is enough, one byte less is not, and the sentence says how much is. */
        options.pool_bytes = description.pool_bytes;
        heap = create(&options);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
        options.pool_bytes--;
        expect(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
        snprintf(needed, sizeof needed, "at least %" PRIu64 " ", description.pool_bytes);
        expect_detail(needed);
    }
}

static void smallest_pool_has_one_page(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_heap_description description;
    quarry_heap *heap = NULL;
    uint64_t needed = 0;
    (void)state;
    options.pool_bytes = 16;
    options.page_bytes = MIB;
    expect(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
    const char *number = strstr(quarry_error_detail(), "at least ");
    assert_non_null(number);
    assert_int_equal(1, sscanf(number, "at least %" SCNu64, &needed));
    options.pool_bytes = needed - 1;
    expect(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
    options.pool_bytes = needed;
    heap = create(&options);
    assert_ok(quarry_heap_describe(heap, &description));
    assert_int_equal(1, description.pages);
    fill_and_empty(heap);
    assert_ok(quarry_heap_destroy(heap));
}

/* The same of each allocator, which chooses its pages itself, some of them by the pool's size: what is told does, and
 * half of it does not.  Of `quarry` a byte less does not. */
static void smallest_pool_of_default_pages_is_told(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++)
        for (uint64_t bytes = 1; bytes <= 2048; bytes *= 2) {
            struct quarry_heap_options options = the_options();
            quarry_heap *heap = NULL;
            uint64_t needed = 0;
            assert_ok(quarry_allocator_describe(i, &info));
            if (!info.counts_slots)
                continue;
            options.allocator = info.name;
            options.pool_bytes = bytes;
            if (quarry_heap_create(&heap, &options) == QUARRY_OK) {
                assert_ok(quarry_heap_destroy(heap));
                continue;
            }
            const char *number = strstr(quarry_error_detail(), "at least ");
            assert_non_null(number);
            assert_int_equal(1, sscanf(number, "at least %" SCNu64, &needed));
            options.pool_bytes = strcmp(info.name, "quarry") == 0 ? needed - 1 : needed / 2;
            if (quarry_heap_create(&heap, &options) != QUARRY_ERROR_POOL)
                fail_msg("%s: %" PRIu64 " bytes do, not %" PRIu64, info.name, options.pool_bytes, needed);
            options.pool_bytes = needed;
            heap = create(&options);
            fill_and_empty(heap);
            assert_ok(quarry_heap_destroy(heap));
        }
}

/* Off a multiple of 256, a pool loses what comes before the next, and the sentence knows. */
static void smallest_buffer_depends_on_its_start(void **state)
{
    struct quarry_target target = base_target;
    unsigned char *memory = NULL;
    uint64_t aligned = 0;
    (void)state;
    assert_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, 8192, (void **)&memory));
    for (uint32_t offset = 0; offset <= 256; offset += 16) {
        struct quarry_heap_options options = the_options();
        quarry_heap *heap = NULL;
        uint64_t needed = 0;
        options.pool = QUARRY_POOL_BUFFER;
        options.buffer = memory + offset;
        options.page_bytes = 16;
        options.pool_bytes = 16;
        expect(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
        const char *number = strstr(quarry_error_detail(), "at least ");
        assert_non_null(number);
        assert_int_equal(1, sscanf(number, "at least %" SCNu64, &needed));
        if (offset == 0)
            aligned = needed;
        assert_int_equal(aligned + (256 - offset) % 256, needed);
        options.pool_bytes = needed - 1;
        expect(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
        options.pool_bytes = needed;
        heap = create(&options);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
    }
    assert_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
}

static void every_kind_of_pool_works(void **state)
{
    static const enum quarry_pool pools[] = {QUARRY_POOL_DEVICE, QUARRY_POOL_STREAM, QUARRY_POOL_MANAGED,
                                             QUARRY_POOL_PINNED, QUARRY_POOL_MALLOC};
    (void)state;
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description description;
        quarry_heap *heap = NULL;
        options.pool = pools[i];
        options.pool_bytes = 3 * MIB / 4;
        enum quarry_status status = quarry_heap_create(&heap, &options);
        if (status == QUARRY_ERROR_COMBINATION && test_on_cuda(&base_target)) {
            print_message("pool %d: %s\n", (int)pools[i], quarry_error_detail());
            continue;
        }
        assert_ok(status);
        assert_ok(quarry_heap_describe(heap, &description));
        assert_int_equal(pools[i], description.pool);
        assert_int_equal(3 * MIB / 4, description.pool_bytes);
        fill_and_empty(heap);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
    }
}

static void host_reads_blocks_of_shared_pools(void **state)
{
    static const enum quarry_pool pools[] = {QUARRY_POOL_MANAGED, QUARRY_POOL_PINNED};
    (void)state;
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        struct quarry_heap_options options = the_options();
        quarry_heap *heap = NULL;
        options.pool = pools[i];
        options.pages = PAGES;
        if (quarry_heap_create(&heap, &options) == QUARRY_ERROR_COMBINATION)
            continue;
        struct work work = work_create(heap, THREADS, 100);
        work_run(&work, &heap_test_malloc);
        assert_int_equal(PAGES, work_fetch(&work));
        for (uint32_t t = 0; t < THREADS; t++)
            if (work.host_blocks[t])
                assert_int_equal(t + work.argument.mark, *(uint32_t *)(void *)work.host_blocks[t]);
        work_destroy(&work);
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* A dirty buffer, also one that starts between two multiples of 256: nothing around it changes. */
static void callers_buffer_is_used_and_left(void **state)
{
    static const uint32_t offsets[] = {0, 16, 240, 256 + 128};
    const uint64_t bytes = 300000;
    const uint64_t whole = bytes + 2048;
    struct quarry_target target = base_target;
    unsigned char *memory = NULL;
    unsigned char *seen = malloc(whole);
    (void)state;
    assert_non_null(seen);
    assert_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, whole, (void **)&memory));
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description description;
        assert_ok(quarry_memory_fill(&target, memory, 0xA5, whole));
        options.pool = QUARRY_POOL_BUFFER;
        options.buffer = memory + offsets[i];
        options.pool_bytes = bytes;
        quarry_heap *heap = create(&options);
        assert_ok(quarry_heap_describe(heap, &description));
        assert_ptr_equal(memory + offsets[i], description.pool_base);
        assert_int_equal(bytes, description.pool_bytes);
        assert_true(description.pages > bytes / 256 * 9 / 10);
        fill_and_empty(heap);
        assert_ok(quarry_heap_destroy(heap));
        assert_ok(quarry_memory_copy(&target, seen, memory, whole));
        for (uint64_t b = 0; b < whole; b++)
            if (b < offsets[i] || b >= offsets[i] + bytes)
                assert_int_equal(0xA5, seen[b]);
    }
    assert_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
    free(seen);
}

/* A program may give its buffer back first. */
static void callers_buffer_may_be_gone_before_its_heap(void **state)
{
    struct quarry_heap_options options = the_options();
    (void)state;
    if (test_on_cuda(&base_target))
        skip();
    options.pool = QUARRY_POOL_BUFFER;
    options.pool_bytes = MIB;
    options.buffer = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(options.buffer != MAP_FAILED);
    quarry_heap *heap = create(&options);
    fill_and_empty(heap);
    assert_int_equal(0, munmap(options.buffer, MIB));
    assert_ok(quarry_heap_destroy(heap));
}

static void wrong_buffers_are_refused(void **state)
{
    struct quarry_target target = base_target;
    struct quarry_heap_options options = the_options();
    unsigned char *memory = NULL;
    quarry_heap *heap = NULL;
    (void)state;
    assert_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, 4096, (void **)&memory));
    options.pool = QUARRY_POOL_BUFFER;
    options.buffer = memory + 8;
    options.pool_bytes = 2048;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    expect_detail("not aligned to 16 bytes");
    options.buffer = memory;
    options.pool_bytes = 0;
    options.pages = 1;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    expect_detail("pool_bytes is 0");
    options.pool_bytes = UINT64_MAX;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    options.pages = 0;
    options.pool_bytes = 300;
    expect(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
    if (test_on_cuda(&base_target)) {
        options.buffer = memory;
        options.pool_bytes = (uint64_t)1 << 50;
        expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    }
    assert_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_decide_the_pool),
        cmocka_unit_test(smallest_pool_has_one_page),
        cmocka_unit_test(smallest_pool_of_default_pages_is_told),
        cmocka_unit_test(smallest_buffer_depends_on_its_start),
        cmocka_unit_test(every_kind_of_pool_works),
        cmocka_unit_test(host_reads_blocks_of_shared_pools),
        cmocka_unit_test(callers_buffer_is_used_and_left),
        cmocka_unit_test(callers_buffer_may_be_gone_before_its_heap),
        cmocka_unit_test(wrong_buffers_are_refused),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("pools", tests, NULL, NULL) != 0;
}
