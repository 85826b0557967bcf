/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: every malloc and free of a recorded heap is in the file once, in an order that can have been,
 * for every allocator, with policies, in debug mode; what is lost or does not fit is counted. */
#include "common.h"
#include "trace_kernels.h"

#include "quarry/trace.h"

#include <dirent.h>
#include <unistd.h>

#ifdef QUARRY_ALLOCATOR
#define FIXED_TEXT_(name) #name
#define FIXED_TEXT(name) FIXED_TEXT_(name)
#define FIXED FIXED_TEXT(QUARRY_ALLOCATOR)
#else
#define FIXED NULL
#endif

#define SLOTS 512u
#define THREADS 1000u
#define SEEDS 20u

static struct quarry_target target;
static struct trace_case device;
static char folder[] = "/tmp/quarry_trace_XXXXXX";
static char path[64];

static quarry_heap *create(struct quarry_heap_options options)
{
    quarry_heap *heap;
    options.target = target;
    if (!options.allocator)
        options.allocator = FIXED;
    if (!options.pool_bytes)
        options.pool_bytes = 1 << 20;
    assert_ok(quarry_heap_create(&heap, &options));
    device.heap = quarry_heap_handle(heap);
    device.slot_count = SLOTS;
    device.threads = THREADS;
    device.most = 200;
    return heap;
}

static struct quarry_heap_options defaults(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.allocator = "corw"; /* a block is a page, and test_trace_fixed is compiled for it */
    return options;
}

static void launch(enum trace_task task)
{
    device.task = (uint32_t)task;
    assert_ok(quarry_launch(&trace_work, &target, quarry_grid_for(THREADS), &device));
}

/* Mallocs with and without a block of each thread are those of TRACE_SWAP, in its order. */
static void check_swaps(const struct quarry_trace_file *file, uint32_t launch_number)
{
    static uint32_t turns[THREADS];
    memset(turns, 0, sizeof turns);
    for (uint64_t i = 0; i < file->header.events; i++) {
        const struct quarry_trace_event *event = &file->events[i];
        if (event->launch != launch_number || event->kind == QUARRY_TRACE_FREE)
            continue;
        assert_true(event->thread < THREADS);
        assert_int_equal(event->bytes, trace_size(device.most, event->thread, turns[event->thread]++));
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(turns[i], TRACE_TURNS);
}

/* Records two launches of TRACE_SWAP and one that frees the rest. */
static void record_swaps(struct quarry_heap_options options)
{
    struct quarry_trace_header header;
    struct quarry_trace_file file;
    struct quarry_heap_description about;
    struct quarry_statistics statistics;
    quarry_trace *trace;
    quarry_heap *heap = create(options);
    assert_ok(quarry_heap_describe(heap, &about));
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    launch(TRACE_SWAP);
    assert_ok(quarry_trace_drain(trace));
    assert_ok(quarry_trace_drain(trace)); /* of nothing: no launch */
    launch(TRACE_SWAP);
    assert_ok(quarry_trace_drain(trace));
    launch(TRACE_EMPTY);
    assert_ok(quarry_trace_end(trace, &header));
    launch(TRACE_SWAP); /* not recorded any more */
    launch(TRACE_EMPTY);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_ok(quarry_trace_read(&file, path));
    assert_memory_equal(&file.header, &header, sizeof header);
    assert_int_equal(header.lost, 0);
    assert_int_equal(header.unmatched, 0);
    assert_int_equal(header.launches, 3);
    assert_int_equal(header.blocks + header.failed, (uint64_t)2 * THREADS * TRACE_TURNS);
    assert_int_equal(header.events, 2 * header.blocks + header.failed);
    assert_string_equal(header.allocator, about.allocator);
    assert_int_equal(header.pool_bytes, about.pool_bytes);
    assert_int_equal(header.page_bytes, about.page_bytes);
    assert_int_equal(header.backend, target.backend);
    if (about.max_block_bytes >= device.most && !options.pages)
        assert_int_equal(header.failed, 0);
    check_swaps(&file, 0);
    check_swaps(&file, 1);
    quarry_trace_free(&file);
    assert_ok(quarry_heap_destroy(heap));
}

static void every_malloc_and_free_is_recorded_once(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        struct quarry_heap_options options = defaults();
        if (getenv("QUARRY_TEST_THREADS") && i % 3 != 0) /* sanitizers are slow */
            continue;
        options.allocator = info.name;
        if (FIXED)
            i = 1 << 20;
        options.allocator = FIXED ? FIXED : info.name;
        options.pool_bytes =
            8 << 20; /* also if the smallest block has 4096 bytes; device malloc has so much */
        const uint64_t few = getenv("QUARRY_TEST_THREADS") ? 2 : SEEDS;
        const uint64_t seeds = target.backend == QUARRY_BACKEND_CPU ? few : 0;
        record_swaps(options);
        for (target.seed = 1; target.seed < seeds; target.seed += 9)
            record_swaps(options);
        target.seed = 0;
    }
}

static void policies_and_debug_mode_are_recorded(void **state)
{
    struct quarry_heap_options options = defaults();
    (void)state;
    options.distribution = QUARRY_DISTRIBUTION_WARP;
    record_swaps(options);
    options = defaults();
    options.debug = 1;
    record_swaps(options);
    options = defaults();
    options.alignment = 256;
    record_swaps(options);
}

static void mallocs_that_fail_are_recorded(void **state)
{
    struct quarry_heap_options options = defaults();
    struct quarry_trace_header header;
    struct quarry_statistics statistics;
    quarry_trace *trace;
    (void)state;
    options.pages = 60;
    quarry_heap *heap = create(options);
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    device.most = 512; /* larger than a page: refused */
    launch(TRACE_SWAP);
    assert_ok(quarry_trace_end(trace, &header));
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_true(statistics.failed_mallocs > 0 && statistics.refused_mallocs > 0);
    assert_int_equal(header.failed, statistics.failed_mallocs + statistics.refused_mallocs);
    assert_int_equal(header.unmatched, 0);
    launch(TRACE_EMPTY);
    assert_ok(quarry_heap_destroy(heap));
}

static void frees_of_aligned_blocks_find_their_malloc(void **state)
{
    struct quarry_heap_options options = defaults();
    struct quarry_trace_header header;
    quarry_trace *trace;
    (void)state;
    options.page_bytes = 1296; /* pages begin at multiples of 16 only, so that blocks begin behind that */
    quarry_heap *heap = create(options);
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    device.threads = 6;
    launch(TRACE_ALIGN);
    launch(TRACE_EMPTY);
    assert_ok(quarry_trace_end(trace, &header));
    assert_int_equal(header.blocks, 6 * TRACE_TURNS);
    assert_int_equal(header.events, 2 * header.blocks);
    assert_int_equal(header.unmatched, 0);
    assert_ok(quarry_heap_destroy(heap));
}

static void lost_events_are_counted(void **state)
{
    struct quarry_trace_header header;
    struct quarry_trace_file file;
    quarry_trace *trace;
    quarry_heap *heap = create(defaults());
    (void)state;
    assert_ok(quarry_trace_begin(&trace, heap, path, 100));
    launch(TRACE_SWAP);
    launch(TRACE_EMPTY);
    assert_ok(quarry_trace_end(trace, &header));
    assert_int_equal(header.lost, 2 * THREADS * TRACE_TURNS - 100);
    assert_true(header.events <= 100);
    assert_ok(quarry_trace_read(&file, path)); /* what is there fits together */
    assert_int_equal(file.header.lost, header.lost);
    quarry_trace_free(&file);
    assert_ok(quarry_heap_destroy(heap));
}

/* As many threads as there is room for, one fewer and one more, each with one event. */
static void a_log_is_filled_to_its_last_event_and_no_further(void **state)
{
    enum { ROOM = 64 };
    struct memory {
        struct quarry_counters counters;
        struct quarry_log log;
        struct quarry_log_event events[ROOM + 1];
    } *memory = (struct memory *)test_memory(&target, sizeof *memory), found;
    struct quarry_log_event untouched;
    (void)state;
    memset(&untouched, 0xc3, sizeof untouched);
    for (uint32_t threads = ROOM - 1; threads <= ROOM + 1; threads++) {
        struct trace_note note = {0};
        struct memory empty = {0};
        uint64_t blocks = 0;
        note.heap.counters = &memory->counters;
        empty.counters.log = &memory->log;
        empty.log.room = ROOM;
        empty.log.events = memory->events;
        memset(empty.events, 0xc3, sizeof empty.events);
        assert_ok(quarry_memory_copy(&target, memory, &empty, sizeof empty));
        test_run(&trace_note, &target, 1, threads, 0, &note);
        assert_ok(quarry_memory_copy(&target, &found, memory, sizeof found));
        assert_int_equal(found.log.tickets, threads);
        for (uint32_t i = 0; i < ROOM && i < threads; i++) {
            const struct quarry_log_event *event = &found.events[i];
            assert_int_equal(event->block, event->thread + 16);
            assert_int_equal(event->bytes, event->thread + 1);
            blocks += event->block;
        }
        if (threads <= ROOM) /* each thread's once */
            assert_int_equal(blocks, threads * 16 + threads * (threads - 1) / 2);
        for (uint32_t i = threads; i <= ROOM; i++)
            assert_memory_equal(&found.events[i], &untouched, sizeof untouched);
        assert_memory_equal(&found.events[ROOM], &untouched, sizeof untouched);
    }
    test_memory_free(&target, memory, sizeof *memory);
}

static void frees_without_a_malloc_are_counted(void **state)
{
    struct quarry_trace_header header;
    quarry_trace *trace;
    quarry_heap *heap = create(defaults());
    (void)state;
    launch(TRACE_SWAP);
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    launch(TRACE_EMPTY);
    assert_ok(quarry_trace_end(trace, &header));
    assert_int_equal(header.events, 0);
    assert_true(header.unmatched > 0 && header.unmatched <= SLOTS);
    assert_ok(quarry_heap_destroy(heap));
}

/* Kernels that log nothing are told from those that allocate nothing. */
static void recording_of_kernels_without_a_log_is_told(void **state)
{
    struct quarry_trace_header header;
    quarry_trace *trace;
    quarry_heap *heap = create(defaults());
    (void)state;
    unlink(path);
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    assert_ok(quarry_launch(&trace_silent, &target, quarry_grid_for(THREADS), &device));
    assert_int_equal(quarry_trace_end(trace, &header), QUARRY_ERROR_COMBINATION);
    assert_non_null(strstr(quarry_error_detail(), "kernel trace_silent, "));
    assert_int_equal(access(path, F_OK), -1);

    assert_ok(quarry_trace_begin(&trace, heap, path, 0)); /* another of the program's logs */
    assert_ok(quarry_launch(&trace_silent, &target, quarry_grid_for(THREADS), &device));
    launch(TRACE_SWAP);
    assert_ok(quarry_trace_end(trace, &header));
    assert_true(header.events > 0);
    launch(TRACE_EMPTY);

    quarry_heap *other = create(defaults()); /* it got another heap */
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    assert_ok(quarry_launch(&trace_silent, &target, quarry_grid_for(THREADS), &device));
    assert_ok(quarry_trace_end(trace, &header));
    assert_int_equal(header.events, 0);
    device.heap = quarry_heap_handle(heap); /* it logs, and there is nothing to log */
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    launch(TRACE_EMPTY);
    assert_ok(quarry_trace_end(trace, &header));
    assert_int_equal(header.events, 0);
    assert_ok(quarry_heap_destroy(other));
    assert_ok(quarry_heap_destroy(heap));
    unlink(path);
}

static unsigned files(void)
{
    unsigned count = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    while (readdir(open))
        count++;
    closedir(open);
    return count - 2; /* . and .. */
}

static void misuse_is_refused_and_leaves_no_file(void **state)
{
    quarry_heap *heap = create(defaults());
    quarry_trace *trace, *other;
    (void)state;
    unlink(path);
    assert_int_equal(quarry_trace_begin(NULL, heap, path, 0), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_trace_begin(&trace, NULL, path, 0), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_trace_begin(&trace, heap, NULL, 0), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_trace_begin(&trace, heap, "/nowhere/at/all", 0), QUARRY_ERROR_FILE);
    assert_null(trace);
    assert_int_equal(quarry_trace_begin(&trace, heap, "/dev/null", 0), QUARRY_ERROR_FILE);
    assert_int_equal(quarry_trace_begin(&trace, heap, path, UINT64_MAX), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(files(), 0);
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    assert_int_equal(quarry_trace_begin(&other, heap, path, 0), QUARRY_ERROR_COMBINATION);
    assert_int_equal(files(), 1);
    assert_int_equal(quarry_heap_reset(heap), QUARRY_ERROR_COMBINATION);
    launch(TRACE_SWAP);
    assert_ok(quarry_trace_cancel(trace));
    assert_int_equal(files(), 0);
    assert_ok(quarry_trace_cancel(NULL));
    assert_int_equal(quarry_trace_drain(NULL), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_trace_end(NULL, NULL), QUARRY_ERROR_ARGUMENT);
    launch(TRACE_EMPTY);
    assert_ok(quarry_heap_reset(heap));
    assert_ok(quarry_heap_destroy(heap));
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_malloc_and_free_is_recorded_once),
        cmocka_unit_test(policies_and_debug_mode_are_recorded),
        cmocka_unit_test(mallocs_that_fail_are_recorded),
        cmocka_unit_test(frees_of_aligned_blocks_find_their_malloc),
        cmocka_unit_test(lost_events_are_counted),
        cmocka_unit_test(a_log_is_filled_to_its_last_event_and_no_further),
        cmocka_unit_test(frees_without_a_malloc_are_counted),
        cmocka_unit_test(recording_of_kernels_without_a_log_is_told),
        cmocka_unit_test(misuse_is_refused_and_leaves_no_file),
    };
    target = test_target();
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/trace", folder);
    device.slots = (uint64_t *)test_memory(&target, SLOTS * sizeof *device.slots);
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
