/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_test.h"

struct quarry_target base_target;

struct quarry_heap_options the_options(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = base_target;
    options.allocator = "corw"; /* a block is a page of 256 bytes unless a test says otherwise */
    return options;
}

void expect_at(enum quarry_status expected, enum quarry_status got, const char *call, const char *file,
               int line)
{
    if (expected != got)
        print_error("%s:%d: %s gave %s (%s), not %s\n", file, line, call, quarry_status_string(got),
                    quarry_error_detail(), quarry_status_string(expected));
    assert_int_equal(expected, got);
}

void expect_detail_at(const char *text, const char *file, int line)
{
    const char *detail = quarry_error_detail();
    if (!strstr(detail, text))
        print_error("%s:%d: \"%s\" is not in the detail \"%s\"\n", file, line, text, detail);
    assert_non_null(strstr(detail, text));
    assert_null(strchr(detail, '\n'));
    assert_true(strlen(detail) > 10);
    assert_true(detail[strlen(detail) - 1] != '.');
}

struct work work_create(quarry_heap *heap, uint32_t count, uint64_t bytes)
{
    struct work work;
    struct quarry_heap_description description;
    memset(&work, 0, sizeof work);
    assert_ok(quarry_heap_describe(heap, &description));
    work.heap = heap;
    work.target = description.target;
    work.argument.heap = quarry_heap_handle(heap);
    work.argument.count = count;
    work.argument.bytes = bytes;
    work.argument.mark = 12345;
    work.argument.every = 1;
    work.host_blocks = calloc(count, sizeof *work.host_blocks);
    assert_non_null(work.host_blocks);
    work.argument.blocks = test_memory(&work.target, count * sizeof(unsigned char *));
    work.argument.faults = test_memory(&work.target, sizeof(uint32_t));
    return work;
}

void work_destroy(struct work *work)
{
    assert_ok(quarry_target_wait(&work->target));
    assert_ok(quarry_memory_destroy(&work->target, QUARRY_POOL_DEVICE, work->argument.blocks));
    assert_ok(quarry_memory_destroy(&work->target, QUARRY_POOL_DEVICE, work->argument.faults));
    free(work->host_blocks);
}

void work_run(struct work *work, const struct simt_kernel *kernel)
{
    assert_ok(quarry_launch(kernel, &work->target, quarry_grid_for(work->argument.count), &work->argument));
}

uint32_t work_fetch(struct work *work)
{
    uint32_t got = 0;
    assert_ok(quarry_memory_copy(&work->target, work->host_blocks, work->argument.blocks,
                                 work->argument.count * sizeof(unsigned char *)));
    for (uint32_t i = 0; i < work->argument.count; i++)
        got += work->host_blocks[i] != NULL;
    return got;
}

void work_verify(struct work *work)
{
    uint32_t faults = 1;
    work_run(work, &heap_test_verify);
    assert_ok(quarry_memory_copy(&work->target, &faults, work->argument.faults, sizeof faults));
    assert_int_equal(0, faults);
}

void fill_and_empty(quarry_heap *heap)
{
    struct quarry_heap_description description;
    struct quarry_statistics statistics;
    assert_ok(quarry_heap_describe(heap, &description));
    uint32_t threads = (uint32_t)description.pages + 300;
    struct work work = work_create(heap, threads, description.page_bytes);
    work_run(&work, &heap_test_malloc);
    assert_int_equal(description.pages, work_fetch(&work));
    work_verify(&work);
    for (uint32_t i = 0; i < threads; i++) {
        if (work.host_blocks[i]) {
            uintptr_t offset = (uintptr_t)work.host_blocks[i] - (uintptr_t)description.pool_base;
            assert_true(offset <= description.pool_bytes - description.page_bytes);
        }
    }
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(description.pages, statistics.live_blocks);
    assert_ok(quarry_heap_check(heap));
    work_run(&work, &heap_test_free);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(0, statistics.live_blocks);
    assert_ok(quarry_heap_check(heap));
    work_destroy(&work);
}

quarry_heap *create(const struct quarry_heap_options *options)
{
    quarry_heap *heap = NULL;
    assert_ok(quarry_heap_create(&heap, options));
    assert_non_null(heap);
    return heap;
}

quarry_heap *create_pages(uint64_t pages)
{
    struct quarry_heap_options options = the_options();
    options.pages = pages;
    return create(&options);
}
