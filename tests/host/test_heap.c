/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of quarry/quarry.h, one test each or a few, on the backend that the environment variable
 * QUARRY_TEST_BACKEND names (cpu, the default, or cuda; 77 without a usable GPU).
 *
 * What allocators promise is tests/alloc's.  Here they only have to fill a heap exactly: a kernel
 * with more threads than pages, each thread asking for one page, gets every page once and counts the
 * rest as failed.  From that every number that the host reports is known beforehand. */
#include "heap_test_cuda.h"
#include "heap_test_kernels.h"
#include "quarry/quarry.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)
#define PAGES 1000u
#define THREADS 1300u /* more than PAGES, and not a whole number of warps */

/* A sanitizer's runtime takes address space of its own, and does not survive being refused it. */
#if defined(__has_feature)
#define TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

static enum quarry_backend backend = QUARRY_BACKEND_CPU;

static struct quarry_target the_target(void)
{
    struct quarry_target target = {.backend = backend};
    return target;
}

static struct quarry_heap_options the_options(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = the_target();
    return options;
}

static void expect_at(enum quarry_status expected, enum quarry_status got, const char *call, int line)
{
    if (expected != got)
        print_error("%s:%d: %s gave %s (%s), not %s\n", __FILE__, line, call, quarry_status_string(got),
                    quarry_error_detail(), quarry_status_string(expected));
    assert_int_equal(expected, got);
}
#define expect(expected, call) expect_at(expected, call, #call, __LINE__)
#define expect_ok(call) expect(QUARRY_OK, call)

/* The detail says `text`, and is one sentence to read: no line break, no final stop. */
static void expect_detail_at(const char *text, int line)
{
    const char *detail = quarry_error_detail();
    if (!strstr(detail, text))
        print_error("%s:%d: \"%s\" is not in the detail \"%s\"\n", __FILE__, line, text, detail);
    assert_non_null(strstr(detail, text));
    assert_null(strchr(detail, '\n'));
    assert_true(strlen(detail) > 10);
    assert_true(detail[strlen(detail) - 1] != '.');
}
#define expect_detail(text) expect_detail_at(text, __LINE__)

/* ---- kernels on a heap ---- */

struct work {
    quarry_heap *heap;
    struct quarry_target target;
    struct heap_test argument;
    unsigned char **host_blocks; /* what fetch() copied */
};

static struct work work_create(quarry_heap *heap, uint32_t count, uint64_t bytes)
{
    struct work work;
    struct quarry_heap_description description;
    memset(&work, 0, sizeof work);
    expect_ok(quarry_heap_describe(heap, &description));
    work.heap = heap;
    work.target = description.target;
    work.argument.heap = quarry_heap_handle(heap);
    work.argument.count = count;
    work.argument.bytes = bytes;
    work.argument.mark = 12345;
    work.argument.every = 1;
    work.host_blocks = calloc(count, sizeof *work.host_blocks);
    assert_non_null(work.host_blocks);
    expect_ok(quarry_memory_create(&work.target, QUARRY_POOL_DEVICE, count * sizeof(unsigned char *),
                                   (void **)&work.argument.blocks));
    expect_ok(quarry_memory_create(&work.target, QUARRY_POOL_DEVICE, sizeof(uint32_t),
                                   (void **)&work.argument.faults));
    expect_ok(quarry_memory_fill(&work.target, work.argument.blocks, 0, count * sizeof(unsigned char *)));
    expect_ok(quarry_memory_fill(&work.target, work.argument.faults, 0, sizeof(uint32_t)));
    return work;
}

static void work_destroy(struct work *work)
{
    expect_ok(quarry_target_wait(&work->target));
    expect_ok(quarry_memory_destroy(&work->target, QUARRY_POOL_DEVICE, work->argument.blocks));
    expect_ok(quarry_memory_destroy(&work->target, QUARRY_POOL_DEVICE, work->argument.faults));
    free(work->host_blocks);
}

static void work_run(struct work *work, const struct simt_kernel *kernel)
{
    expect_ok(quarry_launch(kernel, &work->target, quarry_grid_for(work->argument.count), &work->argument));
}

/* Fetches the blocks' addresses; returns how many are not NULL. */
static uint32_t work_fetch(struct work *work)
{
    uint32_t got = 0;
    expect_ok(quarry_memory_copy(&work->target, work->host_blocks, work->argument.blocks,
                                 work->argument.count * sizeof(unsigned char *)));
    for (uint32_t i = 0; i < work->argument.count; i++)
        got += work->host_blocks[i] != NULL;
    return got;
}

static void work_verify(struct work *work)
{
    uint32_t faults = 1;
    work_run(work, &heap_test_verify);
    expect_ok(quarry_memory_copy(&work->target, &faults, work->argument.faults, sizeof faults));
    assert_int_equal(0, faults);
}

/* Fills the heap with blocks of a page, verifies, frees: every page once, inside the pool. */
static void fill_and_empty(quarry_heap *heap)
{
    struct quarry_heap_description description;
    struct quarry_statistics statistics;
    expect_ok(quarry_heap_describe(heap, &description));
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
    expect_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(description.pages, statistics.live_blocks);
    expect_ok(quarry_heap_check(heap));
    work_run(&work, &heap_test_free);
    expect_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(0, statistics.live_blocks);
    expect_ok(quarry_heap_check(heap));
    work_destroy(&work);
}

static quarry_heap *create(const struct quarry_heap_options *options)
{
    quarry_heap *heap = NULL;
    expect_ok(quarry_heap_create(&heap, options));
    assert_non_null(heap);
    return heap;
}

static quarry_heap *create_pages(uint64_t pages)
{
    struct quarry_heap_options options = the_options();
    options.pages = pages;
    return create(&options);
}

/* ---- status ---- */

static void version_is_the_headers(void **state)
{
    char text[64];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", QUARRY_VERSION_MAJOR, QUARRY_VERSION_MINOR, QUARRY_VERSION_PATCH);
    assert_string_equal(text, quarry_version());
}

static void every_status_has_its_own_text(void **state)
{
    (void)state;
    for (int i = 0; i < QUARRY_STATUS_COUNT; i++) {
        assert_string_not_equal("unknown status", quarry_status_string((enum quarry_status)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(quarry_status_string((enum quarry_status)j),
                                    quarry_status_string((enum quarry_status)i));
    }
    assert_string_equal("unknown status", quarry_status_string(QUARRY_STATUS_COUNT));
    assert_string_equal("unknown status", quarry_status_string((enum quarry_status) - 1));
}

static void *fail_in_a_thread(void *seen)
{
    snprintf(seen, 64, "[%s]", quarry_error_detail());
    (void)quarry_heap_create(NULL, NULL);
    return (void *)(uintptr_t)(strlen(quarry_error_detail()) > 0);
}

static void detail_belongs_to_the_thread(void **state)
{
    char before[256];
    char seen[64];
    pthread_t thread;
    void *result = NULL;
    (void)state;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_reset(NULL));
    expect_detail("heap is NULL");
    snprintf(before, sizeof before, "%s", quarry_error_detail());
    assert_int_equal(0, pthread_create(&thread, NULL, fail_in_a_thread, seen));
    assert_int_equal(0, pthread_join(thread, &result));
    assert_string_equal("[]", seen);
    assert_non_null(result);
    assert_string_equal(before, quarry_error_detail());
}

/* ---- targets ---- */

static void targets_resolve(void **state)
{
    struct quarry_target target = {.backend = QUARRY_BACKEND_AUTO};
    (void)state;
    expect_ok(quarry_target_resolve(&target));
    assert_int_equal(quarry_device_count(QUARRY_BACKEND_CUDA) > 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU,
                     target.backend);
    assert_int_equal(quarry_device_count(target.backend), quarry_device_count(QUARRY_BACKEND_AUTO));
    assert_int_equal(1, quarry_device_count(QUARRY_BACKEND_CPU));
    assert_int_equal(0, quarry_device_count((enum quarry_backend)77));
    target = the_target();
    expect_ok(quarry_target_resolve(&target));
    assert_int_equal(backend, target.backend);
}

static void wrong_targets_are_refused_and_unchanged(void **state)
{
    struct quarry_target target = the_target();
    int stream = 0;
    (void)state;
    expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(NULL));
    target.backend = (enum quarry_backend)77;
    expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
    expect_detail("backend 77");
    assert_int_equal(77, target.backend);

    target = the_target();
    target.device = -1;
    expect(QUARRY_ERROR_DEVICE, quarry_target_resolve(&target));
    target.backend = QUARRY_BACKEND_AUTO;
    target.device = quarry_device_count(QUARRY_BACKEND_AUTO);
    expect(QUARRY_ERROR_DEVICE, quarry_target_resolve(&target));
    assert_int_equal(QUARRY_BACKEND_AUTO, target.backend);

    target = the_target();
    if (backend == QUARRY_BACKEND_CPU) {
        target.stream = &stream;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("stream");
        target.stream = NULL;
        target.workers = 1000000;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("workers is 1000000");
        target.workers = 0;
        target.resident_blocks = 4097;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("resident_blocks is 4097");
    } else {
        target.seed = 7;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("seed is 7");
    }
}

/* A library without CUDA says BACKEND; one with CUDA, on a machine without a GPU, DEVICE. */
static void cuda_without_a_gpu_is_a_clean_error(void **state)
{
    struct quarry_target target = {.backend = QUARRY_BACKEND_CUDA};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = (quarry_heap *)&target;
    (void)state;
    if (quarry_device_count(QUARRY_BACKEND_CUDA) > 0)
        skip();
    enum quarry_status expected = quarry_target_resolve(&target);
    assert_true(expected == QUARRY_ERROR_BACKEND || expected == QUARRY_ERROR_DEVICE);
    expect_detail(expected == QUARRY_ERROR_DEVICE ? "no usable GPU" : "built without the CUDA backend");
    options.target = target;
    expect(expected, quarry_heap_create(&heap, &options));
    assert_null(heap);
    assert_null(heap_test_left_error());
}

static void device_is_described(void **state)
{
    struct quarry_device_info info;
    struct quarry_target target = the_target();
    (void)state;
    memset(&info, 0xff, sizeof info);
    expect_ok(quarry_device_describe(&target, &info));
    assert_true(strlen(info.name) > 0 && strlen(info.name) < sizeof info.name);
    assert_true(info.total_bytes > 0);
    assert_true(info.available_bytes <= info.total_bytes);
    assert_true(info.heap_bytes <= info.available_bytes);
    assert_true(info.multiprocessors > 0);
    if (backend == QUARRY_BACKEND_CPU) {
        assert_true(info.heap_bytes <= info.total_bytes / 4);
        assert_int_equal(0, info.capability);
    } else {
        assert_true(info.capability >= 75);
        assert_true(info.available_bytes - info.heap_bytes >= 512 * MIB);
    }
    expect(QUARRY_ERROR_ARGUMENT, quarry_device_describe(&target, NULL));
}

/* ---- allocators ---- */

static void allocators_are_listed(void **state)
{
    struct quarry_allocator_info info;
    struct quarry_allocator_info other;
    int has_default = 0;
    (void)state;
    assert_true(quarry_allocator_count() >= 2);
    for (int i = 0; i < quarry_allocator_count(); i++) {
        expect_ok(quarry_allocator_describe(i, &info));
        assert_true(strlen(info.name) > 0 && strlen(info.summary) > 0);
        assert_true(info.min_page_bytes <= 256 && info.max_page_bytes >= 256);
        assert_true(info.alignment >= 16);
        has_default |= strcmp(info.name, "corw") == 0;
        for (int j = 0; j < i; j++) {
            expect_ok(quarry_allocator_describe(j, &other));
            assert_string_not_equal(other.name, info.name);
        }
    }
    assert_true(has_default);
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_describe(-1, &info));
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_describe(quarry_allocator_count(), &info));
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_describe(0, NULL));
}

/* An allocator whose blocks are the platform's has a heap all the same, and says what that can't do. */
static void blocks_of_the_platform_are_not_counted(void **state)
{
    struct quarry_allocator_info info;
    struct quarry_statistics statistics;
    uint64_t slots;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_heap_options options = the_options();
        quarry_heap *heap;
        expect_ok(quarry_allocator_describe(i, &info));
        if (info.counts_slots)
            continue;
        options.allocator = info.name;
        options.pool_bytes = 1 << 20;
        heap = create(&options);
        assert_true(quarry_heap_handle(heap).max_block > 1 << 19);
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_slots(heap, 16, &slots));
        expect_detail(info.name);
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_reset(heap));
        expect_detail("can't be reset");
        expect_ok(quarry_heap_statistics(heap, &statistics));
        assert_int_equal(0, statistics.live_blocks);
        assert_int_equal(0, statistics.capacity_bytes);
        expect_ok(quarry_heap_check(heap));
        expect_ok(quarry_heap_destroy(heap));
        options.debug = 1;
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
        expect_detail("has no debug mode");
        options.debug = 0;
        options.pool = QUARRY_POOL_MANAGED;
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
        expect_detail("QUARRY_POOL_DEVICE");
        options.pool = QUARRY_POOL_DEVICE;
        options.pool_bytes = (uint64_t)1 << 60;
        expect(QUARRY_ERROR_MEMORY, quarry_heap_create(&heap, &options));
        options.pool_bytes = 0;
        options.pages = 10;
        options.page_bytes = 20;
        expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    }
}

/* With a heap on a GPU, and sources that ask for it: tests/package/override.sh. */
static void a_heap_for_device_malloc_needs_sources_that_ask(void **state)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap = create(&options);
    (void)state;
    expect(QUARRY_ERROR_COMBINATION, quarry_override_set(heap));
    expect_detail("override.h");
    expect(QUARRY_ERROR_COMBINATION, quarry_override_clear(heap));
    expect_ok(quarry_heap_destroy(heap));
    expect(QUARRY_ERROR_ARGUMENT, quarry_override_set(NULL));
}

static void unknown_allocator_names_the_known(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_allocator_info info;
    quarry_heap *heap;
    char names[512] = "";
    (void)state;
    options.allocator = "no-such";
    for (int i = 0; i < quarry_allocator_count(); i++) {
        expect_ok(quarry_allocator_describe(i, &info));
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, info.name, sizeof names - strlen(names) - 1);
    }
    expect(QUARRY_ERROR_ALLOCATOR, quarry_heap_create(&heap, &options));
    expect_detail("\"no-such\"");
    expect_detail(names);
}

/* ---- options ---- */

static void no_options_are_all_defaults(void **state)
{
    struct quarry_heap_description description;
    quarry_heap *heap = create(NULL);
    (void)state;
    expect_ok(quarry_heap_describe(heap, &description));
    assert_string_equal("corw", description.allocator);
    assert_int_equal(256, description.page_bytes);
    assert_int_equal(QUARRY_POOL_DEVICE, description.pool);
    assert_true(description.target.backend != QUARRY_BACKEND_AUTO);
    assert_true(description.pool_bytes >= 2 * MIB);
    assert_true(description.pages > description.pool_bytes / 256 * 9 / 10);
    assert_true(description.pages * 256 < description.pool_bytes);
    expect_ok(quarry_heap_check(heap));
    expect_ok(quarry_heap_destroy(heap));
}

static void unsaid_size_is_the_devices(void **state)
{
    struct quarry_device_info info;
    struct quarry_heap_description description;
    struct quarry_heap_options options = the_options();
    (void)state;
    expect_ok(quarry_device_describe(&options.target, &info));
    quarry_heap *heap = create(&options);
    expect_ok(quarry_heap_describe(heap, &description));
    /* What is available may have changed in between. */
    assert_true(description.pool_bytes > info.heap_bytes / 10 * 9);
    assert_true(description.pool_bytes < info.heap_bytes / 10 * 11);
    expect_ok(quarry_heap_destroy(heap));
}

struct wrong_option {
    const char *text; /* in the sentence */
    enum quarry_status status;
    enum quarry_pool pool;
    uint64_t pool_bytes;
    uint64_t page_bytes;
    uint64_t pages;
    uint32_t word_bits;
};

static void wrong_options_are_named(void **state)
{
    static const struct wrong_option wrong[] = {
        {"page_bytes is 8:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 8, 0, 0},
        {"from 16 to 1048576", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 24, 0, 0},
        {"page_bytes is 1048592:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, 0, MIB + 16, 10, 0},
        {"page_bytes is 18446744073709551600:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB,
         UINT64_MAX - 15, 0, 0},
        {"pages is 4294967233:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, 0, 16, (1ull << 32) - 63, 0},
        {"pages is 18446744073709551615:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 0, UINT64_MAX, 0},
        {"word_bits is 16:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 0, 0, 16},
        {"pool 6 does not exist", QUARRY_ERROR_ARGUMENT, (enum quarry_pool)6, MIB, 0, 0, 0},
        {"buffer is NULL", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_BUFFER, MIB, 0, 0, 0},
        {"a pool of 1048576 bytes is too small: 4097 pages of 256 bytes", QUARRY_ERROR_POOL,
         QUARRY_POOL_DEVICE, MIB, 256, 4097, 0},
        {"a pool of 1 bytes is too small: 1 page of ", QUARRY_ERROR_POOL, QUARRY_POOL_DEVICE, 1, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_DEVICE, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_STREAM, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_MANAGED, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_PINNED, 1ull << 60, 0, 0, 0},
        {"device malloc has no", QUARRY_ERROR_MEMORY, QUARRY_POOL_MALLOC, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_DEVICE, 0, MIB, (1ull << 32) - 64, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct quarry_allocator_info info;
        for (int a = 0; a < quarry_allocator_count(); a++) {
            struct quarry_heap_options options = the_options();
            quarry_heap *heap = (quarry_heap *)&options;
            expect_ok(quarry_allocator_describe(a, &info));
            if (!info.counts_slots) /* most options mean nothing to it */
                continue;
            options.allocator = info.name;
            options.pool = wrong[i].pool;
            options.pool_bytes = wrong[i].pool_bytes;
            options.page_bytes = wrong[i].page_bytes;
            options.pages = wrong[i].pages;
            options.word_bits = wrong[i].word_bits;
            expect(wrong[i].status, quarry_heap_create(&heap, &options));
            expect_detail(wrong[i].text);
            assert_null(heap);
            assert_null(heap_test_left_error());
        }
    }
}

static void options_that_exclude_one_another(void **state)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap = NULL;
    (void)state;
    options.pool_bytes = MIB;
    options.buffer = &options;
    expect(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    expect_detail("buffer was given");
}

static void options_struct_may_be_shorter_or_longer(void **state)
{
    struct {
        struct quarry_heap_options options;
        uint64_t later[4];
    } longer;
    struct quarry_heap_description description;
    quarry_heap *heap = NULL;
    (void)state;
    memset(&longer, 0, sizeof longer);
    longer.options = the_options();
    longer.options.pool_bytes = MIB;
    longer.options.page_bytes = 512;
    longer.options.pages = 99; /* beyond what the shorter struct has */
    longer.options.word_bits = 77;

    longer.options.struct_bytes = offsetof(struct quarry_heap_options, pages);
    expect_ok(quarry_heap_create(&heap, &longer.options));
    expect_ok(quarry_heap_describe(heap, &description));
    assert_int_equal(512, description.page_bytes);
    assert_true(description.pages > 1000);
    expect_ok(quarry_heap_destroy(heap));

    longer.options.word_bits = 0;
    longer.options.struct_bytes = sizeof longer;
    expect_ok(quarry_heap_create(&heap, &longer.options));
    expect_ok(quarry_heap_destroy(heap));
    longer.later[3] = 1;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &longer.options));
    expect_detail("newer");
    longer.options.struct_bytes = 0;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &longer.options));
    expect_detail("QUARRY_HEAP_OPTIONS_INIT");
    longer.options.struct_bytes = SIZE_MAX;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &longer.options));
}

static void null_arguments_are_refused(void **state)
{
    quarry_heap *heap = create_pages(10);
    struct quarry_statistics statistics;
    struct quarry_heap_description description;
    uint64_t slots;
    (void)state;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(NULL, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_reset(NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_check(NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_describe(NULL, &description));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_describe(heap, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_statistics(NULL, &statistics));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_statistics(heap, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_slots(NULL, 16, &slots));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_slots(heap, 16, NULL));
    expect_ok(quarry_heap_destroy(NULL));
    expect_ok(quarry_heap_destroy(heap));
}

/* ---- pools ---- */

static void pages_decide_the_pool(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description description;
        quarry_heap *heap;
        char needed[64];
        expect_ok(quarry_allocator_describe(i, &info));
        if (!info.counts_slots)
            continue;
        options.allocator = info.name;
        options.pages = PAGES;
        options.page_bytes = 48;
        heap = create(&options);
        expect_ok(quarry_heap_describe(heap, &description));
        assert_string_equal(info.name, description.allocator);
        assert_int_equal(PAGES, description.pages);
        assert_int_equal(48, description.page_bytes);
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));

        /* Exactly as much is enough, one byte less is not, and the sentence says how much is. */
        options.pool_bytes = description.pool_bytes;
        heap = create(&options);
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));
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
    expect_ok(quarry_heap_describe(heap, &description));
    assert_int_equal(1, description.pages);
    fill_and_empty(heap);
    expect_ok(quarry_heap_destroy(heap));
}

/* Off a multiple of 256, a pool loses what comes before the next, and the sentence knows. */
static void smallest_buffer_depends_on_its_start(void **state)
{
    struct quarry_target target = the_target();
    unsigned char *memory = NULL;
    uint64_t aligned = 0;
    (void)state;
    expect_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, 8192, (void **)&memory));
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
        expect_ok(quarry_heap_destroy(heap));
    }
    expect_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
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
        if (status == QUARRY_ERROR_COMBINATION && backend == QUARRY_BACKEND_CUDA) {
            print_message("pool %d: %s\n", (int)pools[i], quarry_error_detail());
            continue;
        }
        expect_ok(status);
        expect_ok(quarry_heap_describe(heap, &description));
        assert_int_equal(pools[i], description.pool);
        assert_int_equal(3 * MIB / 4, description.pool_bytes);
        fill_and_empty(heap);
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));
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
        expect_ok(quarry_heap_destroy(heap));
    }
}

/* A dirty buffer, also one that starts between two multiples of 256: nothing around it changes. */
static void callers_buffer_is_used_and_left(void **state)
{
    static const uint32_t offsets[] = {0, 16, 240, 256 + 128};
    const uint64_t bytes = 300000;
    const uint64_t whole = bytes + 2048;
    struct quarry_target target = the_target();
    unsigned char *memory = NULL;
    unsigned char *seen = malloc(whole);
    (void)state;
    assert_non_null(seen);
    expect_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, whole, (void **)&memory));
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description description;
        expect_ok(quarry_memory_fill(&target, memory, 0xA5, whole));
        options.pool = QUARRY_POOL_BUFFER;
        options.buffer = memory + offsets[i];
        options.pool_bytes = bytes;
        quarry_heap *heap = create(&options);
        expect_ok(quarry_heap_describe(heap, &description));
        assert_ptr_equal(memory + offsets[i], description.pool_base);
        assert_int_equal(bytes, description.pool_bytes);
        assert_true(description.pages > bytes / 256 * 9 / 10);
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));
        expect_ok(quarry_memory_copy(&target, seen, memory, whole));
        for (uint64_t b = 0; b < whole; b++)
            if (b < offsets[i] || b >= offsets[i] + bytes)
                assert_int_equal(0xA5, seen[b]);
    }
    expect_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
    free(seen);
}

static void wrong_buffers_are_refused(void **state)
{
    struct quarry_target target = the_target();
    struct quarry_heap_options options = the_options();
    unsigned char *memory = NULL;
    quarry_heap *heap = NULL;
    (void)state;
    expect_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, 4096, (void **)&memory));
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
    if (backend == QUARRY_BACKEND_CUDA) {
        options.buffer = memory;
        options.pool_bytes = (uint64_t)1 << 50;
        expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    }
    expect_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
}

/* ---- heaps at work ---- */

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
        expect_ok(quarry_allocator_describe((int)i % quarry_allocator_count(), &info));
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
        expect_ok(quarry_heap_statistics(heaps[i], &statistics));
        assert_int_equal(100 * (i + 1), statistics.live_blocks);
    }
    for (uint32_t i = 0; i < HEAPS; i += 2)
        expect_ok(quarry_heap_reset(heaps[i]));
    for (uint32_t i = 0; i < HEAPS; i++) {
        expect_ok(quarry_heap_statistics(heaps[i], &statistics));
        assert_int_equal(i % 2 ? 100 * (i + 1) : 0, statistics.live_blocks);
        work_destroy(&works[i]);
        expect_ok(quarry_heap_destroy(heaps[i]));
    }
}

static void statistics_follow_what_lives(void **state)
{
    struct quarry_heap_description description;
    struct quarry_statistics s;
    quarry_heap *heap = create_pages(PAGES);
    struct work work = work_create(heap, THREADS, 200);
    (void)state;
    expect_ok(quarry_heap_describe(heap, &description));
    memset(&s, 0xff, sizeof s);
    expect_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(0, s.live_blocks);
    assert_int_equal(0, s.live_bytes);
    assert_int_equal(PAGES * 256, s.capacity_bytes);
    assert_int_equal(description.max_block_bytes, s.largest_free_bytes);
    assert_int_equal(0, s.failed_mallocs);
    assert_int_equal(0, s.refused_mallocs);
    assert_int_equal(0, s.last_failed_bytes);
    assert_true(s.utilisation == 0.0);

    work_run(&work, &heap_test_malloc);
    expect_ok(quarry_heap_statistics(heap, &s));
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
    expect_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(PAGES - freed, s.live_blocks);
    assert_int_equal((PAGES - freed) * 256, s.live_bytes);
    assert_int_equal(PAGES * 256, s.capacity_bytes);
    assert_true(s.largest_free_bytes >= 256);
    assert_int_equal(THREADS - PAGES, s.failed_mallocs);
    expect_ok(quarry_heap_check(heap));
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
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
    expect_ok(quarry_heap_describe(heap, &description));
    work_run(&work, &heap_test_malloc);
    assert_int_equal(PAGES, work_fetch(&work));
    unsigned char **blocks = work.argument.blocks;
    for (uint32_t i = 0; i < 40; i++) {
        work.argument.blocks = blocks + i;
        work.argument.count = 1;
        work_run(&work, &heap_test_free);
        expect_ok(quarry_heap_statistics(heap, &s));
        assert_int_equal(PAGES - 1, s.live_blocks);
        assert_int_equal(256, s.largest_free_bytes);
        expect_ok(quarry_heap_slots(heap, 256, &slots));
        assert_int_equal(1, slots);
        work_run(&work, &heap_test_malloc);
        expect_ok(quarry_heap_slots(heap, 256, &slots));
        assert_int_equal(0, slots);
    }
    work.argument.blocks = blocks;
    work.argument.count = PAGES;
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
}

static void refused_and_empty_requests(void **state)
{
    struct quarry_heap_description description;
    struct quarry_statistics s;
    quarry_heap *heap = create_pages(PAGES);
    (void)state;
    expect_ok(quarry_heap_describe(heap, &description));
    assert_true(description.max_block_bytes >= description.page_bytes);
    struct work work = work_create(heap, THREADS, description.max_block_bytes + 1);
    work_run(&work, &heap_test_malloc);
    assert_int_equal(0, work_fetch(&work));
    expect_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(THREADS, s.refused_mallocs);
    assert_int_equal(0, s.failed_mallocs);
    assert_int_equal(description.max_block_bytes + 1, s.last_failed_bytes);

    work.argument.bytes = 0; /* NULL is what was asked for: nothing failed */
    work_run(&work, &heap_test_malloc);
    assert_int_equal(0, work_fetch(&work));
    work_run(&work, &heap_test_free); /* of NULLs */
    expect_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(THREADS, s.refused_mallocs);
    assert_int_equal(0, s.failed_mallocs);
    assert_int_equal(0, s.live_blocks);

    expect_ok(quarry_heap_reset(heap));
    expect_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(0, s.refused_mallocs);
    assert_int_equal(0, s.last_failed_bytes);
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
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
        expect_ok(quarry_heap_reset(heap));
        expect_ok(quarry_heap_statistics(heap, &s));
        assert_int_equal(0, s.live_blocks);
        assert_int_equal(0, s.failed_mallocs);
        assert_int_equal(0, s.last_failed_bytes);
        expect_ok(quarry_heap_check(heap));
    }
    work_destroy(&work);
    fill_and_empty(heap);
    expect_ok(quarry_heap_destroy(heap));
}

static void slots_say_how_many_more_fit(void **state)
{
    struct quarry_heap_description description;
    quarry_heap *heap = create_pages(PAGES);
    struct work work = work_create(heap, 300, 256);
    uint64_t slots = 77;
    (void)state;
    expect_ok(quarry_heap_describe(heap, &description));
    expect_ok(quarry_heap_slots(heap, 0, &slots));
    assert_int_equal(0, slots);
    slots = 77;
    expect_ok(quarry_heap_slots(heap, description.max_block_bytes + 1, &slots));
    assert_int_equal(0, slots);
    slots = 77;
    expect_ok(quarry_heap_slots(heap, UINT64_MAX, &slots));
    assert_int_equal(0, slots);
    expect_ok(quarry_heap_slots(heap, 256, &slots));
    assert_int_equal(PAGES, slots);
    work_run(&work, &heap_test_malloc);
    expect_ok(quarry_heap_slots(heap, 256, &slots));
    assert_int_equal(PAGES - 300, slots);
    expect_ok(quarry_heap_slots(heap, 256, &slots)); /* asking changes nothing */
    assert_int_equal(PAGES - 300, slots);
    struct work rest = work_create(heap, THREADS, 256);
    work_run(&rest, &heap_test_malloc);
    assert_int_equal(PAGES - 300, work_fetch(&rest));
    expect_ok(quarry_heap_slots(heap, 256, &slots));
    assert_int_equal(0, slots);
    work_destroy(&rest);
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
}

static void word_bits_and_pages_are_described(void **state)
{
    static const uint32_t words[] = {32, 64};
    struct quarry_heap_description description;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct quarry_heap_options options = the_options();
        options.pool_bytes = MIB;
        options.word_bits = words[i];
        quarry_heap *heap = create(&options);
        expect_ok(quarry_heap_describe(heap, &description));
        assert_true(description.word_bits == words[i] || description.word_bits == 0);
        assert_true(description.pages > 0 && description.pages < 4096);
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));
    }
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
    expect_ok(quarry_heap_describe(heap, &description));
    work_run(&work, &heap_test_malloc);
    assert_int_equal(THREADS, work_fetch(&work));
    expect_ok(quarry_heap_statistics(heap, &s));
    assert_int_equal(THREADS, s.live_blocks);
    assert_int_equal(THREADS * 1024, s.live_bytes);
    assert_int_equal(description.pages * 1024, s.capacity_bytes);
    expect_ok(quarry_heap_slots(heap, 1, &slots));
    assert_int_equal(description.pages - THREADS, slots);
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
}

static void deterministic_targets_have_heaps_too(void **state)
{
    struct quarry_heap_options options = the_options();
    (void)state;
    if (backend != QUARRY_BACKEND_CPU)
        skip();
    for (uint64_t seed = 1; seed <= 3; seed++) {
        options.pages = 100;
        options.target.seed = seed;
        quarry_heap *heap = create(&options);
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));
    }
}

/* ---- memory, launching, timing ---- */

static void memory_is_made_copied_filled(void **state)
{
    static const uint64_t sizes[] = {1, 100, 4096, 3 * MIB + 5};
    struct quarry_target target = the_target();
    (void)state;
    for (int pool = QUARRY_POOL_DEVICE; pool < QUARRY_POOL_BUFFER; pool++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t bytes = sizes[i];
            unsigned char *memory = NULL;
            unsigned char *host = malloc(bytes);
            assert_non_null(host);
            enum quarry_status status =
                quarry_memory_create(&target, (enum quarry_pool)pool, bytes, (void **)&memory);
            if (status == QUARRY_ERROR_COMBINATION && backend == QUARRY_BACKEND_CUDA) {
                free(host);
                continue;
            }
            expect_ok(status);
            assert_int_equal(0, (uintptr_t)memory % 256);
            expect_ok(quarry_memory_fill(&target, memory, 0x5A, bytes));
            host[bytes - 1] = 0x77;
            expect_ok(quarry_memory_copy(&target, memory + bytes - 1, host + bytes - 1, 1));
            memset(host, 0, bytes);
            expect_ok(quarry_memory_copy(&target, host, memory, bytes));
            assert_int_equal(0x77, host[bytes - 1]);
            for (uint64_t b = 0; b + 1 < bytes; b++)
                if (host[b] != 0x5A)
                    fail();
            expect_ok(quarry_memory_destroy(&target, (enum quarry_pool)pool, memory));
            free(host);
        }
    }
}

/* Small and large memory alike: what create did not return, and memory whose header was written. */
static void cpu_knows_its_memory_again(void **state)
{
    static const uint64_t sizes[] = {100, 3 * MIB};
    struct quarry_target target = the_target();
    (void)state;
    if (backend != QUARRY_BACKEND_CPU)
        skip();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *memory = NULL;
        uint64_t tag;
        expect_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, sizes[i], (void **)&memory));
        memset(memory, 0, sizes[i]);
        expect(QUARRY_ERROR_ARGUMENT, quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory + 16));
        memcpy(&tag, memory - 256, sizeof tag);
        memset(memory - 256, 0, sizeof tag);
        expect(QUARRY_ERROR_ARGUMENT, quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
        expect_detail("memory before it was written");
        memcpy(memory - 256, &tag, sizeof tag);
        expect_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
    }
}

static void impossible_memory_is_refused(void **state)
{
    struct quarry_target target = the_target();
    struct quarry_device_info info;
    void *memory = &target;
    (void)state;
    expect_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, 0, &memory));
    assert_null(memory);
    expect_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, NULL));
    for (int pool = QUARRY_POOL_DEVICE; pool < QUARRY_POOL_BUFFER; pool++) {
        static const uint64_t sizes[] = {1ull << 50, 1ull << 63, UINT64_MAX};
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            memory = &target;
            enum quarry_status status =
                quarry_memory_create(&target, (enum quarry_pool)pool, sizes[i], &memory);
            if (status != QUARRY_ERROR_COMBINATION)
                expect(QUARRY_ERROR_MEMORY, status);
            expect_detail("");
            assert_null(memory);
            assert_null(heap_test_left_error());
        }
    }
    /* All that there is, of which something is always in use: no mapping may promise it. */
    expect_ok(quarry_device_describe(&target, &info));
    expect(QUARRY_ERROR_MEMORY, quarry_memory_create(&target, QUARRY_POOL_DEVICE, info.total_bytes, &memory));
    assert_null(memory);
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_create(&target, QUARRY_POOL_BUFFER, 100, &memory));
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_create(&target, QUARRY_POOL_MALLOC, 100, &memory));
    expect_detail("device malloc");
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_create(&target, (enum quarry_pool)9, 100, &memory));
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_create(&target, QUARRY_POOL_DEVICE, 100, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_copy(&target, NULL, &target, 1));
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_copy(&target, &memory, NULL, 1));
    expect(QUARRY_ERROR_ARGUMENT, quarry_memory_fill(&target, NULL, 0, 1));
    expect_ok(quarry_memory_copy(&target, NULL, NULL, 0));
    expect_ok(quarry_memory_fill(&target, NULL, 0, 0));
    expect_ok(quarry_target_wait(&target));
}

static void wrong_launches_are_refused(void **state)
{
    static const struct simt_kernel nowhere = {"nowhere", NULL, NULL, sizeof(struct heap_test)};
    struct quarry_target target = the_target();
    struct quarry_grid grid = {1, 32, 0};
    struct heap_test argument;
    (void)state;
    memset(&argument, 0, sizeof argument);
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(NULL, &target, grid, &argument));
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_free, &target, grid, NULL));
    grid.blocks = 0;
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_free, &target, grid, &argument));
    grid.blocks = 1;
    grid.threads = 0;
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_free, &target, grid, &argument));
    grid.threads = 1025;
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_free, &target, grid, &argument));
    expect_detail("1025 threads");
    grid.threads = 256;
    grid.blocks = 1u << 24;
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_free, &target, grid, &argument));
    grid.blocks = 1;
    expect(QUARRY_ERROR_BACKEND, quarry_launch(&nowhere, &target, grid, &argument));
    expect_detail("nowhere");

    struct quarry_kernel_info info;
    expect(QUARRY_ERROR_ARGUMENT, quarry_kernel_describe(NULL, &target, &info));
    expect(QUARRY_ERROR_ARGUMENT, quarry_kernel_describe(&heap_test_free, &target, NULL));
    expect(QUARRY_ERROR_BACKEND, quarry_kernel_describe(&nowhere, &target, &info));
    expect_ok(quarry_kernel_describe(&heap_test_free, &target, &info));
    assert_int_equal(info.registers != 0, target.backend == QUARRY_BACKEND_CUDA);
    assert_null(heap_test_left_error());
}

static void grids_cover_their_threads(void **state)
{
    (void)state;
    assert_int_equal(1, quarry_grid_for(0).blocks);
    assert_int_equal(1, quarry_grid_for(256).blocks);
    assert_int_equal(2, quarry_grid_for(257).blocks);
    assert_int_equal(256, quarry_grid_for(257).threads);
    assert_int_equal((1u << 24) - 1, quarry_grid_for((1ull << 32) - 256).blocks);
    assert_int_equal(UINT32_MAX, quarry_grid_for(UINT64_MAX).blocks);
}

static void blocks_share_memory(void **state)
{
    static const uint32_t sizes[] = {4096, 48 << 10, 64 << 10};
    quarry_heap *heap = create_pages(10);
    struct work work = work_create(heap, 1, 16);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct quarry_grid grid = {7, 96, sizes[i]};
        uint32_t faults = 1;
        work.argument.bytes = sizes[i];
        expect_ok(quarry_launch(&heap_test_shared, &work.target, grid, &work.argument));
        expect_ok(quarry_memory_copy(&work.target, &faults, work.argument.faults, sizeof faults));
        assert_int_equal(0, faults);
    }
    struct quarry_grid excessive = {1, 32, (227u << 10) + 1};
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_shared, &work.target, excessive, &work.argument));
    expect_detail("block-shared");
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
}

static void cpu_reports_broken_kernels(void **state)
{
    quarry_heap *heap = create_pages(10);
    struct work work = work_create(heap, 40, 16);
    (void)state;
    if (backend == QUARRY_BACKEND_CPU) {
        expect(QUARRY_ERROR_ASSERT,
               quarry_launch(&heap_test_assert, &work.target, quarry_grid_for(40), &work.argument));
        assert_non_null(strstr(quarry_error_detail(), "heap_test_kernels.c"));
        expect(QUARRY_ERROR_DEADLOCK,
               quarry_launch(&heap_test_hang, &work.target, quarry_grid_for(40), &work.argument));
        assert_non_null(strstr(quarry_error_detail(), "heap_test_kernels.c"));
        fill_and_empty(heap); /* the heap, and the executor, still work */
    }
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
}

/* Address space of this process, in bytes; 0: unknown. */
static uint64_t address_space(void)
{
    uint64_t pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    if (!stream)
        return 0;
    if (fscanf(stream, "%" SCNu64, &pages) != 1)
        pages = 0;
    fclose(stream);
    return pages * 4096;
}

/* With the address space narrowed, so that the stacks of 64 blocks of 1024 threads find no room. */
static void cpu_without_room_for_stacks_says_so(void **state)
{
    struct quarry_heap_options options = the_options();
    struct rlimit before;
    struct rlimit narrow;
    (void)state;
    if (backend != QUARRY_BACKEND_CPU || TEST_SANITIZED)
        skip();
    options.target.seed = 1;
    options.target.resident_blocks = 64;
    options.pages = 10;
    quarry_heap *heap = create(&options);
    struct work work = work_create(heap, 1, 16);
    struct quarry_grid grid = {64, 1024, 0};
    work.target = options.target;
    assert_int_equal(0, getrlimit(RLIMIT_AS, &before));
    narrow = before;
    narrow.rlim_cur = address_space() + 64 * MIB;
    assert_int_equal(0, setrlimit(RLIMIT_AS, &narrow));
    enum quarry_status status = quarry_launch(&heap_test_malloc, &work.target, grid, &work.argument);
    assert_int_equal(0, setrlimit(RLIMIT_AS, &before));
    expect(QUARRY_ERROR_MEMORY, status);
    expect_detail("no memory for the stacks");
    work_destroy(&work);
    expect_ok(quarry_heap_destroy(heap));
}

static void events_take_time(void **state)
{
    struct quarry_target target = the_target();
    quarry_event *begin = NULL;
    quarry_event *end = NULL;
    double microseconds = -1;
    quarry_heap *heap = create_pages(PAGES);
    (void)state;
    expect_ok(quarry_event_create(&target, &begin));
    expect_ok(quarry_event_create(&target, &end));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(begin, end, &microseconds));
    expect_detail("begin event was never recorded");
    expect_ok(quarry_event_record(begin));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(begin, end, &microseconds));
    expect_detail("end event was never recorded");
    fill_and_empty(heap);
    expect_ok(quarry_event_record(end));
    expect_ok(quarry_event_elapsed(begin, end, &microseconds));
    assert_true(microseconds > 0 && microseconds < 1e9);
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(NULL, end, &microseconds));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(begin, end, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_record(NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_create(&target, NULL));
    target.backend = (enum quarry_backend)77;
    quarry_event *none = end;
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_create(&target, &none));
    assert_null(none);
    expect_ok(quarry_event_destroy(NULL));
    expect_ok(quarry_event_destroy(begin));
    expect_ok(quarry_event_destroy(end));
    expect_ok(quarry_heap_destroy(heap));
}

static void heaps_work_on_a_callers_stream(void **state)
{
    static const enum quarry_pool pools[] = {QUARRY_POOL_DEVICE, QUARRY_POOL_STREAM};
    (void)state;
    if (backend != QUARRY_BACKEND_CUDA)
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
        expect_ok(quarry_heap_describe(heap, &description));
        assert_ptr_equal(stream, description.target.stream);
        fill_and_empty(heap);
        expect_ok(quarry_heap_reset(heap));
        fill_and_empty(heap);
        expect_ok(quarry_heap_destroy(heap));
    }
    heap_test_stream_destroy(stream);
}

static void nothing_stays_behind(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_device_info before;
    struct quarry_device_info after;
    (void)state;
    options.pool_bytes = 256 * MIB;
    expect_ok(quarry_heap_destroy(create(&options)));
    expect_ok(quarry_device_describe(&options.target, &before));
    uint64_t space = address_space();
    for (int i = 0; i < 4; i++)
        expect_ok(quarry_heap_destroy(create(&options)));
    expect_ok(quarry_device_describe(&options.target, &after));
    if (backend == QUARRY_BACKEND_CUDA)
        assert_true(after.available_bytes + 256 * MIB > before.available_bytes);
    else
        assert_true(address_space() < space + 256 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_the_headers),
        cmocka_unit_test(every_status_has_its_own_text),
        cmocka_unit_test(detail_belongs_to_the_thread),
        cmocka_unit_test(targets_resolve),
        cmocka_unit_test(wrong_targets_are_refused_and_unchanged),
        cmocka_unit_test(cuda_without_a_gpu_is_a_clean_error),
        cmocka_unit_test(device_is_described),
        cmocka_unit_test(allocators_are_listed),
        cmocka_unit_test(blocks_of_the_platform_are_not_counted),
        cmocka_unit_test(a_heap_for_device_malloc_needs_sources_that_ask),
        cmocka_unit_test(unknown_allocator_names_the_known),
        cmocka_unit_test(no_options_are_all_defaults),
        cmocka_unit_test(unsaid_size_is_the_devices),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(options_that_exclude_one_another),
        cmocka_unit_test(options_struct_may_be_shorter_or_longer),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(pages_decide_the_pool),
        cmocka_unit_test(smallest_pool_has_one_page),
        cmocka_unit_test(smallest_buffer_depends_on_its_start),
        cmocka_unit_test(every_kind_of_pool_works),
        cmocka_unit_test(host_reads_blocks_of_shared_pools),
        cmocka_unit_test(callers_buffer_is_used_and_left),
        cmocka_unit_test(wrong_buffers_are_refused),
        cmocka_unit_test(several_heaps_live_side_by_side),
        cmocka_unit_test(statistics_follow_what_lives),
        cmocka_unit_test(single_free_page_is_counted),
        cmocka_unit_test(refused_and_empty_requests),
        cmocka_unit_test(reset_frees_everything),
        cmocka_unit_test(slots_say_how_many_more_fit),
        cmocka_unit_test(word_bits_and_pages_are_described),
        cmocka_unit_test(large_heap_counts_with_every_worker),
        cmocka_unit_test(deterministic_targets_have_heaps_too),
        cmocka_unit_test(memory_is_made_copied_filled),
        cmocka_unit_test(cpu_knows_its_memory_again),
        cmocka_unit_test(impossible_memory_is_refused),
        cmocka_unit_test(wrong_launches_are_refused),
        cmocka_unit_test(grids_cover_their_threads),
        cmocka_unit_test(blocks_share_memory),
        cmocka_unit_test(cpu_reports_broken_kernels),
        cmocka_unit_test(cpu_without_room_for_stacks_says_so),
        cmocka_unit_test(events_take_time),
        cmocka_unit_test(heaps_work_on_a_callers_stream),
        cmocka_unit_test(nothing_stays_behind),
    };
    const char *name = getenv("QUARRY_TEST_BACKEND");
    if (name && strcmp(name, "cuda") == 0) {
        backend = QUARRY_BACKEND_CUDA;
        if (quarry_device_count(backend) == 0) {
            puts("no usable GPU: skipped");
            return 77;
        }
    } else if (name && strcmp(name, "cpu") != 0) {
        fprintf(stderr, "QUARRY_TEST_BACKEND is \"%s\": it must be cpu or cuda\n", name);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
