/* SPDX-License-Identifier: Apache-2.0 */
/* What a malloc does when nothing is free (docs/reference/policies.md): NULL, a wait with a limit, a hook or a trap, and
 * what is counted. */
#include "common.h"
#include "heap_test_kernels.h"
#include "policy_kernels.h"

static struct quarry_target target;

#define PAGES 40u
#define BYTES 200u

enum { NULLS, CALLED, WRONG, ARRIVED, COUNTERS };

/* A heap with `pages` pages, and a kernel's argument for `threads` threads. */
struct full {
    quarry_heap *heap;
    struct quarry_target target;
    struct policy_test argument;
};

static struct full full_create(const struct quarry_heap_options *options, uint32_t threads)
{
    struct full full;
    memset(&full, 0, sizeof full);
    assert_ok(quarry_heap_create(&full.heap, options));
    full.target = options->target;
    full.argument.heap = quarry_heap_handle(full.heap);
    full.argument.bytes = BYTES;
    full.argument.count = threads;
    full.argument.blocks = test_memory(&target, threads * sizeof(void *));
    full.argument.nulls = test_memory(&target, COUNTERS * sizeof(uint32_t));
    full.argument.called = full.argument.nulls + CALLED;
    full.argument.wrong = full.argument.nulls + WRONG;
    full.argument.arrived = full.argument.nulls + ARRIVED;
    return full;
}

static enum quarry_status full_run(struct full *full, const struct simt_kernel *kernel)
{
    struct quarry_grid grid = {(full->argument.count + 63) / 64, 64, 0};
    enum quarry_status status = quarry_launch(kernel, &full->target, grid, &full->argument);
    return status == QUARRY_OK ? quarry_target_wait(&full->target) : status;
}

static uint32_t full_counter(const struct full *full, uint32_t which)
{
    uint32_t value;
    assert_ok(quarry_memory_copy(&target, &value, full->argument.nulls + which, sizeof value));
    return value;
}

/* Expects so many blocks to live and mallocs to have failed. */
static void full_expect(const struct full *full, uint64_t live, uint64_t failed)
{
    struct quarry_statistics statistics;
    assert_ok(quarry_heap_statistics(full->heap, &statistics));
    assert_int_equal(live, statistics.live_blocks);
    assert_int_equal(failed, statistics.failed_mallocs);
    assert_int_equal(failed, full_counter(full, NULLS));
    assert_int_equal(failed ? full->argument.bytes : 0, statistics.last_failed_bytes);
    assert_ok(quarry_heap_check(full->heap));
}

static void full_destroy(struct full *full)
{
    assert_ok(quarry_heap_destroy(full->heap));
    test_memory_free(&target, full->argument.blocks, 0);
    test_memory_free(&target, full->argument.nulls, 0);
}

static struct quarry_heap_options oom_options(const char *allocator, enum quarry_oom oom, uint64_t seed)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = target;
    options.target.seed = test_on_cuda(&target) ? 0 : seed;
    options.allocator = allocator;
    options.page_bytes = 256; /* with room for one block */
    options.pages = PAGES;
    options.oom = oom;
    return options;
}

/* Half of those who hold the heap's pages free theirs when the other half asks for more: nobody gets NULL. */
static void malloc_waits_until_others_free(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint64_t seed = 0; info.counts_slots && seed < 40; seed++) {
            struct quarry_heap_options options = oom_options(info.name, QUARRY_OOM_WAIT, seed);
            options.oom_tries = 1u << 24;
            options.distribution = seed % 2 ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
            struct full full = full_create(&options, PAGES);
            full.argument.hold = (uint32_t)(seed % 4) * 50;
            assert_ok(full_run(&full, &policy_malloc));
            full_expect(&full, PAGES, 0);
            assert_ok(full_run(&full, &policy_exchange));
            full_expect(&full, PAGES / 2, 0);
            full_destroy(&full);
        }
}

/* Nobody frees: the wait ends all the same, and each malloc that failed is counted once. */
static void waiting_has_a_limit(void **state)
{
    static const uint32_t tries[] = {1, 3, 0};
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct quarry_heap_options options = oom_options("corw", QUARRY_OOM_WAIT, seed);
        struct quarry_heap_description about;
        options.oom_tries = tries[seed % 3];
        options.distribution = seed % 2 ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
        struct full full = full_create(&options, PAGES + 7);
        assert_ok(quarry_heap_describe(full.heap, &about));
        assert_int_equal(QUARRY_OOM_WAIT, about.oom);
        assert_int_equal(options.oom_tries ? options.oom_tries : 1000, about.oom_tries);
        assert_ok(full_run(&full, &policy_malloc));
        full_expect(&full, PAGES, 7);
        full_destroy(&full);
    }
}

/* The hook frees what it has, one block for each call, and gives up in the end. */
static void hook_decides_what_happens(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint64_t seed = 0; info.counts_slots && seed < 20; seed++) {
            struct quarry_heap_options options = oom_options(info.name, QUARRY_OOM_CALL, seed);
            options.debug = seed % 4 == 3;
            struct full full = full_create(&options, PAGES);
            void **second = test_memory(&target, PAGES * sizeof(void *));
            void **first = full.argument.blocks;
            full.argument.give_up = 1000;
            assert_ok(full_run(&full, &policy_store));
            assert_ok(full_run(&full, &policy_malloc));
            assert_int_equal(0, full_counter(&full, CALLED));
            full.argument.blocks = second; /* all that is freed is had again */
            assert_ok(full_run(&full, &policy_malloc));
            full_expect(&full, PAGES, 0);
            assert_true(full_counter(&full, CALLED) >= PAGES);
            assert_int_equal(0, full_counter(&full, WRONG));

            uint32_t called = full_counter(&full, CALLED), more = 9;
            full.argument.give_up = 4; /* and nothing is left to free */
            assert_ok(full_run(&full, &policy_store));
            full.argument.count = more;
            full.argument.blocks = first;
            assert_ok(full_run(&full, &policy_malloc));
            full_expect(&full, PAGES, more);
            assert_int_equal(called + 4 * more, full_counter(&full, CALLED));
            assert_int_equal(0, full_counter(&full, WRONG));
            test_memory_free(&target, second, 0);
            if (options.debug) /* what lives is no leak */
                assert_ok(quarry_heap_reset(full.heap));
            full_destroy(&full);
        }
}

/* Each malloc of a thread counts its tries from 1 on. */
static void tries_are_counted_for_each_malloc(void **state)
{
    struct quarry_heap_options options = oom_options("rw", QUARRY_OOM_CALL, 0);
    (void)state;
    struct full full = full_create(&options, PAGES);
    void **blocks = full.argument.blocks;
    assert_ok(full_run(&full, &policy_malloc));
    full.argument.give_up = 3;
    full.argument.blocks = test_memory(&target, PAGES * sizeof(void *)); /* the hook has nothing to free */
    assert_ok(full_run(&full, &policy_store));
    full.argument.count = 9;
    assert_ok(full_run(&full, &policy_insist));
    assert_int_equal(2 * 9, full_counter(&full, NULLS));
    assert_int_equal(2 * 9 * 3, full_counter(&full, CALLED));
    assert_int_equal(0, full_counter(&full, WRONG));
    test_memory_free(&target, blocks, 0);
    full_destroy(&full);
}

/* Also those that no heap here is large enough for. */
static void requests_of_any_size_have_a_class(void **state)
{
    const uint64_t gib = (uint64_t)1 << 30;
    const uint64_t bytes[] = {1, 16, 17, 32, 16 * gib, 16 * gib + 1, 32 * gib, 32 * gib + 1, ~(uint64_t)0};
    static const uint32_t classes[] = {0, 0, 1, 1, 30, 31, 31, 31, 31};
    struct quarry_tally tally;
    struct policy_test argument;
    (void)state;
    memset(&argument, 0, sizeof argument);
    argument.blocks = test_memory(&target, sizeof tally);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        argument.bytes = bytes[i];
        assert_ok(quarry_memory_fill(&target, argument.blocks, 0, sizeof tally));
        test_run(&policy_tally, &target, 1, 32, 0, &argument);
        assert_ok(quarry_memory_copy(&target, &tally, argument.blocks, sizeof tally));
        for (uint32_t k = 0; k < QUARRY_TALLY_CLASSES; k++)
            assert_int_equal(k == classes[i], tally.mallocs[k]);
    }
    test_memory_free(&target, argument.blocks, 0);
}

/* A heap of pages that are aligned has no policies in its pool for kernels that are compiled for it. */
static void fixed_alignment_needs_nothing_of_the_heap(void **state)
{
    struct quarry_heap_options options = oom_options("corw", QUARRY_OOM_NULL, 0);
    (void)state;
    options.alignment = 64;
    struct full full = full_create(&options, PAGES + 5);
    assert_null(full.argument.heap.policy);
    assert_ok(full_run(&full, &policy_fixed_malloc));
    full_expect(&full, PAGES, 5);
    full_destroy(&full);
}

/* A kernel that was compiled without a hook. */
static void without_a_hook_null_is_returned(void **state)
{
    struct quarry_heap_options options = oom_options("rw", QUARRY_OOM_CALL, 0);
    struct quarry_statistics statistics;
    quarry_heap *heap;
    (void)state;
    assert_ok(quarry_heap_create(&heap, &options));
    struct heap_test argument = {quarry_heap_handle(heap), NULL, BYTES, PAGES + 5, 0, 1, NULL};
    argument.blocks = test_memory(&target, (PAGES + 5) * sizeof *argument.blocks);
    test_run(&heap_test_malloc, &target, 2, 32, 0, &argument);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(5, statistics.failed_mallocs);
    test_memory_free(&target, argument.blocks, 0);
    assert_ok(quarry_heap_destroy(heap));
}

/* The trap is reported by the launch or what waits for it, and recorded in the heap.  On CUDA nothing else
 * works afterwards, and the heap still knows. */
static void trap(void)
{
    struct quarry_heap_options options = oom_options("corw", QUARRY_OOM_TRAP, 0);
    struct full full = full_create(&options, PAGES);
    assert_ok(full_run(&full, &policy_malloc));
    full_expect(&full, PAGES, 0);
    enum quarry_status status = full_run(&full, &policy_malloc);
    assert_int_equal(test_on_cuda(&target) ? QUARRY_ERROR_CUDA : QUARRY_ERROR_ASSERT, status);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(QUARRY_ERROR_POOL, quarry_heap_check(full.heap));
        if (!strstr(quarry_error_detail(), "the heap was full") ||
            !strstr(quarry_error_detail(), "200 bytes"))
            fail_msg("%s", quarry_error_detail());
    }
    if (test_on_cuda(&target))
        return;
    assert_ok(quarry_heap_reset(full.heap));
    full_expect(&full, 0, 0);
    assert_ok(full_run(&full, &policy_malloc));
    full_expect(&full, PAGES, 0);
    full_destroy(&full);
}

/* Mallocs that the trap ended half way look like damage, of which the end of a heap in debug mode must not
 * tell. */
static void a_trap_is_no_damage(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    if (test_on_cuda(&target))
        skip();
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint64_t seed = 1; info.counts_slots && seed < 40; seed++) {
            struct quarry_heap_options options = oom_options(info.name, QUARRY_OOM_TRAP, seed);
            options.debug = 1;
            struct full full = full_create(&options, 3 * PAGES);
            assert_int_equal(QUARRY_ERROR_ASSERT, full_run(&full, &policy_malloc));
            assert_int_equal(QUARRY_ERROR_LEAK, quarry_heap_destroy(full.heap));
            test_memory_free(&target, full.argument.blocks, 0);
            test_memory_free(&target, full.argument.nulls, 0);
        }
}

/* In a process of its own, which loses its context. */
static void traps_are_recorded(void **state)
{
    (void)state;
    if (test_on_cuda(&target) && getenv("QUARRY_TEST_THREADS")) /* a sanitizer, to which it is an error */
        skip();
    if (test_on_cuda(&target))
        assert_int_equal(0, system("QUARRY_TEST_TRAP=1 exec /proc/$PPID/exe"));
    else
        trap();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malloc_waits_until_others_free),
        cmocka_unit_test(waiting_has_a_limit),
        cmocka_unit_test(hook_decides_what_happens),
        cmocka_unit_test(tries_are_counted_for_each_malloc),
        cmocka_unit_test(requests_of_any_size_have_a_class),
        cmocka_unit_test(fixed_alignment_needs_nothing_of_the_heap),
        cmocka_unit_test(without_a_hook_null_is_returned),
        cmocka_unit_test(traps_are_recorded),
        cmocka_unit_test(a_trap_is_no_damage),
    };
    target = test_target();
    if (getenv("QUARRY_TEST_TRAP")) {
        trap();
        return 0;
    }
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL) != 0;
}
