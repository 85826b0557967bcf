/* SPDX-License-Identifier: Apache-2.0 */
/* Memory outside of heaps, launches and events; and what a heap leaves behind: nothing. */
#include "heap_test.h"
#include "heap_test_cuda.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer's runtime takes address space of its own, and does not survive being refused it. */
#if defined(__has_feature)
#define TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* ---- memory ---- */

static void memory_is_made_copied_filled(void **state)
{
    static const uint64_t sizes[] = {1, 100, 4096, 3 * MIB + 5};
    struct quarry_target target = base_target;
    (void)state;
    for (int pool = QUARRY_POOL_DEVICE; pool < QUARRY_POOL_BUFFER; pool++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t bytes = sizes[i];
            unsigned char *memory = NULL;
            unsigned char *host = malloc(bytes);
            assert_non_null(host);
            enum quarry_status status =
                quarry_memory_create(&target, (enum quarry_pool)pool, bytes, (void **)&memory);
            if (status == QUARRY_ERROR_COMBINATION && test_on_cuda(&base_target)) {
                free(host);
                continue;
            }
            assert_ok(status);
            assert_int_equal(0, (uintptr_t)memory % 256);
            assert_ok(quarry_memory_fill(&target, memory, 0x5A, bytes));
            host[bytes - 1] = 0x77;
            assert_ok(quarry_memory_copy(&target, memory + bytes - 1, host + bytes - 1, 1));
            memset(host, 0, bytes);
            assert_ok(quarry_memory_copy(&target, host, memory, bytes));
            assert_int_equal(0x77, host[bytes - 1]);
            for (uint64_t b = 0; b + 1 < bytes; b++)
                if (host[b] != 0x5A)
                    fail();
            assert_ok(quarry_memory_destroy(&target, (enum quarry_pool)pool, memory));
            free(host);
        }
    }
}

/* Small and large memory alike: what create did not return, and memory whose header was written. */
static void cpu_knows_its_memory_again(void **state)
{
    static const uint64_t sizes[] = {100, 3 * MIB};
    struct quarry_target target = base_target;
    (void)state;
    if (test_on_cuda(&base_target))
        skip();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *memory = NULL;
        uint64_t tag;
        assert_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, sizes[i], (void **)&memory));
        memset(memory, 0, sizes[i]);
        expect(QUARRY_ERROR_ARGUMENT, quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory + 16));
        memcpy(&tag, memory - 256, sizeof tag);
        memset(memory - 256, 0, sizeof tag);
        expect(QUARRY_ERROR_ARGUMENT, quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
        expect_detail("memory before it was written");
        memcpy(memory - 256, &tag, sizeof tag);
        assert_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory));
    }
}

static void impossible_memory_is_refused(void **state)
{
    struct quarry_target target = base_target;
    struct quarry_device_info info;
    void *memory = &target;
    (void)state;
    assert_ok(quarry_memory_create(&target, QUARRY_POOL_DEVICE, 0, &memory));
    assert_null(memory);
    assert_ok(quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, NULL));
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
    assert_ok(quarry_device_describe(&target, &info));
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
    assert_ok(quarry_memory_copy(&target, NULL, NULL, 0));
    assert_ok(quarry_memory_fill(&target, NULL, 0, 0));
    assert_ok(quarry_target_wait(&target));
}

static void wrong_launches_are_refused(void **state)
{
    static const struct simt_kernel nowhere = {"nowhere", NULL, NULL, sizeof(struct heap_test), 0, NULL};
    struct quarry_target target = base_target;
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
    assert_ok(quarry_kernel_describe(&heap_test_free, &target, &info));
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
        assert_ok(quarry_launch(&heap_test_shared, &work.target, grid, &work.argument));
        assert_ok(quarry_memory_copy(&work.target, &faults, work.argument.faults, sizeof faults));
        assert_int_equal(0, faults);
    }
    struct quarry_grid excessive = {1, 32, (227u << 10) + 1};
    expect(QUARRY_ERROR_ARGUMENT, quarry_launch(&heap_test_shared, &work.target, excessive, &work.argument));
    expect_detail("block-shared");
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

static void cpu_reports_broken_kernels(void **state)
{
    quarry_heap *heap = create_pages(10);
    struct work work = work_create(heap, 40, 16);
    (void)state;
    if (!test_on_cuda(&base_target)) {
        expect(QUARRY_ERROR_ASSERT,
               quarry_launch(&heap_test_assert, &work.target, quarry_grid_for(40), &work.argument));
        assert_non_null(strstr(quarry_error_detail(), "heap_test_assert.c"));
        expect(QUARRY_ERROR_DEADLOCK,
               quarry_launch(&heap_test_hang, &work.target, quarry_grid_for(40), &work.argument));
        assert_non_null(strstr(quarry_error_detail(), "heap_test_kernels.c"));
        fill_and_empty(heap); /* the heap, and the executor, still work */
    }
    work_destroy(&work);
    assert_ok(quarry_heap_destroy(heap));
}

/* Kernels of the CPU's only: nvcc does not see this file. */
struct deep {
    enum { DEEP_BY_STEPS, DEEP_AT_ONCE, DEEP_ELSEWHERE } how;
    uint32_t bytes; /* of stack, by steps */
    uint32_t *sum;
};

/* Out of line and with a use behind the call, so that each call has a frame. */
SIMT_NOINLINE_FN uint32_t descend(uint32_t bytes)
{
    volatile unsigned char frame[256];
    uint32_t below = 0;
    frame[0] = 1;
    if (bytes > sizeof frame)
        below = descend(bytes - (uint32_t)sizeof frame);
    return below + frame[0];
}

/* Touches the lowest of 48 KiB, and no other before.  Stacks are four times as large with a sanitizer. */
SIMT_NOINLINE_FN uint32_t leap(void)
{
    volatile unsigned char frame[(TEST_SANITIZED ? 160 : 48) << 10];
    frame[0] = 1;
    return frame[0];
}

/* The last lane goes down its stack, or writes where nothing is. */
SIMT_KERNEL(deep_kernel, struct deep, a)
{
    if (simt_thread() != simt_threads() - 1)
        return;
    if (a.how == DEEP_BY_STEPS)
        *a.sum = descend(a.bytes);
    else if (a.how == DEEP_AT_ONCE)
        *a.sum = leap();
    else
        *(volatile uint32_t *)a.sum = 1;
}

SIMT_KERNEL(idle_kernel, struct deep, a)
{
    (void)a;
}

/* What a lane does that goes beyond its stack ends its run, whatever the mode, and no other. */
static void cpu_reports_lanes_beyond_their_stacks(void **state)
{
    struct quarry_target target = base_target;
    struct quarry_grid grid = {3, 70, 0};
    uint32_t sum = 0;
    struct deep deep = {DEEP_BY_STEPS, 0, &sum};
    struct sigaction before, after;
    stack_t stack, stack_after;
    (void)state;
    assert_int_equal(0, sigaction(SIGSEGV, NULL, &before));
    assert_int_equal(0, sigaltstack(NULL, &stack));
    quarry_heap *heap = create_pages(10); /* the first launch behind these */
    for (int i = 0; i < 20 && !test_on_cuda(&base_target);
         i++) { /* guards are given back, as a process has not more than some 10 000 */
        static const struct quarry_grid many = {1, 1024, 0};
        target.stack_bytes = (uint32_t)(16 + i) << 10;
        assert_ok(quarry_launch(&idle_kernel, &target, many, &deep));
    }
    for (int round = 0; round < 6 && !test_on_cuda(&base_target) && !SIMT_CPU_TSAN && !TEST_SANITIZED;
         round++) {
        const uint32_t bytes = round % 2 == 0 ? 0 : 32 << 10; /* the stack */
        target.seed = round < 3 ? 0 : (uint64_t)round;
        target.stack_bytes = bytes;
        deep.how = round == 1 ? DEEP_AT_ONCE : DEEP_BY_STEPS;
        deep.bytes = 1 << 20;
        expect(QUARRY_ERROR_ASSERT, quarry_launch(&deep_kernel, &target, grid, &deep));
        expect_detail("kernel deep_kernel: a lane ran beyond its stack of");
        expect_detail(bytes ? "32768 bytes" : "65536 bytes");
        expect_detail("stack_bytes");
        expect_detail("block 2 warp 2 lane 5");
        deep.how = DEEP_BY_STEPS;
        target.stack_bytes = 4 << 20;
        assert_ok(quarry_launch(&deep_kernel, &target, grid, &deep));
        target.stack_bytes = bytes;
        deep.bytes = 8 << 10;
        assert_ok(quarry_launch(&deep_kernel, &target, grid, &deep));
        fill_and_empty(heap);
    }
    assert_int_equal(0, sigaction(SIGSEGV, NULL, &after));
    assert_int_equal(0, sigaltstack(NULL, &stack_after));
    assert_true(before.sa_handler == after.sa_handler && before.sa_flags == after.sa_flags);
    assert_true(stack.ss_sp == stack_after.ss_sp && stack.ss_flags == stack_after.ss_flags);
    assert_ok(quarry_heap_destroy(heap));
}

static void exit_with_7(int signal)
{
    (void)signal;
    _exit(7);
}

/* A fault elsewhere is the program's: its handler gets it, or the signal ends the process. */
static void cpu_leaves_other_faults_alone(void **state)
{
    struct quarry_grid grid = {3, 70, 0};
    const struct deep deep = {DEEP_ELSEWHERE, 0, (uint32_t *)(uintptr_t)64};
    (void)state;
    for (int handled = 0; handled < 2 && !test_on_cuda(&base_target) && !SIMT_CPU_TSAN && !TEST_SANITIZED;
         handled++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            signal(SIGSEGV, handled ? exit_with_7 : SIG_DFL);
            alarm(60);
            quarry_launch(&deep_kernel, &base_target, grid, &deep);
            _exit(1);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        if (handled)
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        else
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
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
    if (test_on_cuda(&base_target) || TEST_SANITIZED)
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
    assert_ok(quarry_heap_destroy(heap));
}

static void events_take_time(void **state)
{
    struct quarry_target target = base_target;
    quarry_event *begin = NULL;
    quarry_event *end = NULL;
    double microseconds = -1;
    quarry_heap *heap = create_pages(PAGES);
    (void)state;
    assert_ok(quarry_event_create(&target, &begin));
    assert_ok(quarry_event_create(&target, &end));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(begin, end, &microseconds));
    expect_detail("begin event was never recorded");
    assert_ok(quarry_event_record(begin));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(begin, end, &microseconds));
    expect_detail("end event was never recorded");
    fill_and_empty(heap);
    assert_ok(quarry_event_record(end));
    assert_ok(quarry_event_elapsed(begin, end, &microseconds));
    assert_true(microseconds > 0 && microseconds < 1e9);
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(NULL, end, &microseconds));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_elapsed(begin, end, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_record(NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_create(&target, NULL));
    target.backend = (enum quarry_backend)77;
    quarry_event *none = end;
    expect(QUARRY_ERROR_ARGUMENT, quarry_event_create(&target, &none));
    assert_null(none);
    assert_ok(quarry_event_destroy(NULL));
    assert_ok(quarry_event_destroy(begin));
    assert_ok(quarry_event_destroy(end));
    assert_ok(quarry_heap_destroy(heap));
}

static void nothing_stays_behind(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_device_info before;
    struct quarry_device_info after;
    (void)state;
    options.pool_bytes = 256 * MIB;
    assert_ok(quarry_heap_destroy(create(&options)));
    assert_ok(quarry_device_describe(&options.target, &before));
    uint64_t space = address_space();
    for (int i = 0; i < 4; i++)
        assert_ok(quarry_heap_destroy(create(&options)));
    assert_ok(quarry_device_describe(&options.target, &after));
    if (test_on_cuda(&base_target))
        assert_true(after.available_bytes + 256 * MIB > before.available_bytes);
    else
        assert_true(address_space() < space + 256 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_made_copied_filled),
        cmocka_unit_test(cpu_knows_its_memory_again),
        cmocka_unit_test(impossible_memory_is_refused),
        cmocka_unit_test(wrong_launches_are_refused),
        cmocka_unit_test(grids_cover_their_threads),
        cmocka_unit_test(blocks_share_memory),
        cmocka_unit_test(cpu_reports_broken_kernels),
        cmocka_unit_test(cpu_reports_lanes_beyond_their_stacks),
        cmocka_unit_test(cpu_leaves_other_faults_alone),
        cmocka_unit_test(cpu_without_room_for_stacks_says_so),
        cmocka_unit_test(events_take_time),
        cmocka_unit_test(nothing_stays_behind),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL) != 0;
}
