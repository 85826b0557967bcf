/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are compiled for some heaps, with heaps that fit and with others; and handles of zeros.
 *
 * The build makes several of this test, with QUARRY_ALLOCATOR, with fixed policies, with both and with
 * neither (tests/CMakeLists.txt).  For each of many heaps the test knows from the macros whether it fits.  If
 * it does not, a launch that sees the handle says so in one sentence.  One that does not see it runs: its
 * mallocs give NULL, its frees do nothing, and whatever the host asks next says that sentence. */
#include "common.h"
#include "fixed_kernels.h"
#include "heap_test_kernels.h"

#define THREADS 48 /* a warp and a half */

static struct quarry_target target;

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef QUARRY_ALLOCATOR
static const char fixed_allocator[] = TEXT(QUARRY_ALLOCATOR); /* an identifier */
#else
static const char fixed_allocator[] = "";
#endif

static int has_policies(void)
{
#ifdef QUARRY_FIXED_POLICIES
    return 1;
#else
    return 0;
#endif
}

static struct quarry_heap_options the_options(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = target;
    options.pool_bytes = (uint64_t)1 << 20;
    options.page_bytes = 256;
    return options;
}

/* ---- the sentence ---- */

/* Requires it in the error detail: its parts on both sides, and one line. */
static void expect_sentence(const char *who, const struct quarry_heap_description *about)
{
    char wanted[256];
    const char *detail = quarry_error_detail();
    snprintf(wanted, sizeof wanted, "%s was compiled for ", who);
    if (strstr(detail, wanted) != detail || !strstr(detail, ", the heap has ") || strchr(detail, '\n'))
        fail_msg("%s: %s", about->allocator, detail);
#ifdef QUARRY_ALLOCATOR
    struct quarry_allocator_info info;
    assert_ok(quarry_allocator_describe(QUARRY_FIXED_ALLOCATOR - 1, &info));
    const int same = strcmp(info.name, about->allocator) == 0;
    snprintf(wanted, sizeof wanted, "compiled for allocator %s", info.name);
    assert_int_equal(!same, strstr(detail, wanted) != NULL);
    snprintf(wanted, sizeof wanted, "the heap has allocator %s", about->allocator);
    assert_int_equal(!same, strstr(detail, wanted) != NULL);
#else
    assert_null(strstr(detail, "allocator"));
#endif
#ifdef QUARRY_FIXED_POLICIES
    static const char *const ooms[] = {"oom null", "oom wait", "oom trap", "oom hook"};
    const int other_oom = about->oom != (enum quarry_oom)QUARRY_FIXED_OOM;
    assert_int_equal(other_oom, strstr(detail, ooms[QUARRY_FIXED_OOM]) != NULL);
    assert_int_equal(other_oom, strstr(detail, ooms[about->oom]) != NULL);
    assert_int_equal(about->debug, strstr(detail, "no debug mode, the heap") != NULL);
    assert_int_equal(about->statistics, strstr(detail, "no statistics, the heap") != NULL);
    assert_int_equal(about->alignment != QUARRY_ALIGNMENT,
                     strstr(detail, "alignment " TEXT(QUARRY_ALIGNMENT)) != NULL);
    assert_int_equal(about->distribution != (enum quarry_distribution)QUARRY_FIXED_DISTRIBUTION,
                     strstr(detail, "distribution none") && strstr(detail, "distribution warp"));
#endif
}

/* ---- heaps ---- */

/* Is the kernel compiled for it? */
static int fits(const struct quarry_heap_description *about)
{
#ifdef QUARRY_ALLOCATOR
    struct quarry_allocator_info info;
    assert_ok(quarry_allocator_describe(QUARRY_FIXED_ALLOCATOR - 1, &info));
    if (strcmp(info.name, about->allocator) != 0)
        return 0;
#endif
#ifdef QUARRY_FIXED_POLICIES
    return about->alignment == QUARRY_ALIGNMENT && !about->debug && !about->statistics &&
           about->distribution == (enum quarry_distribution)QUARRY_FIXED_DISTRIBUTION &&
           about->oom == (enum quarry_oom)QUARRY_FIXED_OOM;
#else
    (void)about;
    return 1;
#endif
}

/* A heap that the kernel is compiled for. */
static quarry_heap *fitting_heap(void)
{
    struct quarry_heap_options options = the_options();
    struct quarry_allocator_info info = {0};
    quarry_heap *heap;
#ifdef QUARRY_ALLOCATOR
    assert_ok(quarry_allocator_describe(QUARRY_FIXED_ALLOCATOR - 1, &info));
#endif
    options.allocator = info.name;
#ifdef QUARRY_FIXED_POLICIES
    options.alignment = QUARRY_ALIGNMENT;
    options.distribution = (enum quarry_distribution)QUARRY_FIXED_DISTRIBUTION;
    options.oom = (enum quarry_oom)QUARRY_FIXED_OOM;
#endif
    assert_ok(quarry_heap_create(&heap, &options));
    return heap;
}

/* A live block of the heap, by a kernel for all heaps. */
static void *a_block(quarry_heap *heap)
{
    struct heap_test argument = {quarry_heap_handle(heap), NULL, 32, 1, 0, 1, NULL};
    void *block = NULL;
    argument.blocks = test_memory(&target, sizeof block);
    test_run(&heap_test_malloc, &target, 1, 32, 0, &argument);
    assert_ok(quarry_memory_copy(&target, &block, argument.blocks, sizeof block));
    test_memory_free(&target, argument.blocks, 0);
    assert_non_null(block);
    return block;
}

static void free_block(quarry_heap *heap, void *block)
{
    struct heap_test argument = {quarry_heap_handle(heap), NULL, 32, 1, 0, 1, NULL};
    argument.blocks = test_memory(&target, sizeof block);
    assert_ok(quarry_memory_copy(&target, argument.blocks, &block, sizeof block));
    test_run(&heap_test_free, &target, 1, 32, 0, &argument);
    test_memory_free(&target, argument.blocks, 0);
}

/* Runs a kernel that has the handle in memory, and makes some calls. */
static void run_hidden(const struct simt_kernel *kernel, struct quarry_handle handle, void *block,
                       uint64_t *got)
{
    struct fixed_test test = {handle, block, NULL};
    struct fixed_hidden hidden;
    struct fixed_test *memory = test_memory(&target, sizeof test);
    test.got = test_memory(&target, FIXED_CALLS * sizeof *got);
    assert_ok(quarry_memory_copy(&target, memory, &test, sizeof test));
    hidden.test = memory;
    test_run(kernel, &target, 1, THREADS, 0, &hidden);
    assert_ok(quarry_memory_copy(&target, got, test.got, FIXED_CALLS * sizeof *got));
    test_memory_free(&target, test.got, 0);
    test_memory_free(&target, memory, 0);
}

static void expect_nothing(const uint64_t *got, const char *name)
{
    for (int i = 0; i < FIXED_CALLS; i++)
        if (got[i] != 0)
            fail_msg("%s: call %d gave something %llu times", name, i, (unsigned long long)got[i]);
}

/* All calls. */
static void call_hidden(struct quarry_handle handle, void *block, uint64_t *got)
{
    run_hidden(&fixed_hidden_calls, handle, block, got);
}

/* The launch refuses the heap, and does not run. */
static void launch_with_other(quarry_heap *heap, const struct quarry_heap_description *about, void *block)
{
    struct fixed_test test = {quarry_heap_handle(heap), block, NULL};
    struct quarry_grid grid = {1, THREADS, 0};
    uint64_t got[FIXED_CALLS];
    test.got = test_memory(&target, sizeof got);
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_launch(&fixed_calls, &target, grid, &test));
    expect_sentence("kernel fixed_calls", about);
    assert_ok(quarry_memory_copy(&target, got, test.got, sizeof got));
    expect_nothing(got, about->allocator);
    test_memory_free(&target, test.got, 0);

    /* Wherever in the argument the heap is, and whatever else is there. */
    quarry_heap *fitting = fitting_heap();
    struct fixed_pair pair = {1, quarry_heap_handle(fitting), quarry_heap_handle(heap)};
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_launch(&fixed_pair_calls, &target, grid, &pair));
    expect_sentence("kernel fixed_pair_calls", about);
    pair.second = pair.first;
    assert_ok(quarry_launch(&fixed_pair_calls, &target, grid, &pair));
    assert_ok(quarry_target_wait(&target));
    assert_ok(quarry_heap_destroy(fitting));
}

static void use_other(quarry_heap *heap, const struct quarry_heap_description *about, int counted)
{
    struct quarry_statistics statistics;
    uint64_t got[FIXED_CALLS];
    void *block = a_block(heap);
    launch_with_other(heap, about, block);
    assert_ok(quarry_heap_check(heap)); /* nothing ran */
    call_hidden(quarry_heap_handle(heap), block, got);
    expect_nothing(got, about->allocator);
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_statistics(heap, &statistics));
    expect_sentence("a kernel", about);
    assert_int_equal(counted, statistics.live_blocks);
    assert_int_equal(0, statistics.failed_mallocs);
    assert_int_equal(0, statistics.refused_mallocs);
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_check(heap));
    expect_sentence("a kernel", about);
    free_block(heap, block); /* which was left alone */
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_destroy(heap));
    expect_sentence("a kernel", about);
}

static void use_own(quarry_heap *heap, const struct quarry_heap_description *about, int counted)
{
    struct fixed_test test = {quarry_heap_handle(heap), a_block(heap), NULL};
    struct quarry_statistics statistics;
    uint64_t got[FIXED_CALLS];
    test.got = test_memory(&target, sizeof got);
    test_run(&fixed_calls, &target, 1, THREADS, 0, &test);
    assert_ok(quarry_memory_copy(&target, got, test.got, sizeof got));
    for (int i = 0; i < FIXED_MUST; i++)
        if (got[i] == 0 && (counted || i != FIXED_USABLE))
            fail_msg("%s: call %d gave nothing", about->allocator, i);
    test_memory_free(&target, test.got, 0);
    call_hidden(quarry_heap_handle(heap), a_block(heap), got);
    assert_int_equal(THREADS, got[FIXED_MALLOC]);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(0, statistics.live_blocks);
    assert_ok(quarry_heap_check(heap));
    assert_ok(quarry_heap_destroy(heap));
}

/* Makes a heap with the options and uses it; returns whether it fits. */
static int use(const struct quarry_heap_options *options)
{
    struct quarry_allocator_info info;
    struct quarry_heap_description about;
    quarry_heap *heap;
    int counted = 1;
    enum quarry_status status = quarry_heap_create(&heap, options);
    if (status == QUARRY_ERROR_COMBINATION) /* what the allocator can't */
        return 0;
    assert_ok(status);
    assert_ok(quarry_heap_describe(heap, &about));
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        if (strcmp(info.name, about.allocator) == 0)
            counted = info.counts_slots;
    if (fits(&about)) {
        use_own(heap, &about, counted);
        return 1;
    }
    use_other(heap, &about, counted);
    return 0;
}

static void each_heap_fits_or_is_told(void **state)
{
    struct quarry_allocator_info info;
    int fit = 0, all = 0;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        struct quarry_heap_options options = the_options();
        options.allocator = info.name;
        for (int kind = 0; kind < 7; kind++, all++) {
            options.debug = kind == 1;
            options.statistics = kind == 6;
            options.alignment = kind == 2 || kind == 3 ? 64 : 16;
            options.distribution = kind == 3 ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
            options.oom = kind == 4 ? QUARRY_OOM_WAIT : kind == 5 ? QUARRY_OOM_TRAP : QUARRY_OOM_NULL;
            fit += use(&options);
        }
    }
    assert_true(fit >= 1); /* else the test has seen one side only */
    if (*fixed_allocator || has_policies())
        assert_true(fit < all / 2);
}

/* What was told is forgotten with all else. */
static void a_reset_forgets(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_heap_description about;
    uint64_t got[FIXED_CALLS];
    quarry_heap *heap;
    (void)state;
    options.allocator = strcmp(fixed_allocator, "rw") == 0 ? "ring" : "rw";
    options.oom = QUARRY_OOM_WAIT;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    call_hidden(quarry_heap_handle(heap), a_block(heap), got);
    assert_int_equal(fits(&about) ? QUARRY_OK : QUARRY_ERROR_COMBINATION, quarry_heap_check(heap));
    assert_ok(quarry_heap_reset(heap));
    assert_ok(quarry_heap_check(heap));
    run_hidden(&fixed_hidden_free, quarry_heap_handle(heap), a_block(heap), got); /* a free is told, too */
    assert_int_equal(fits(&about) ? QUARRY_OK : QUARRY_ERROR_COMBINATION, quarry_heap_check(heap));
    assert_ok(quarry_heap_reset(heap));
    assert_ok(quarry_heap_destroy(heap));
}

/* No heap: a handle of zeros. */
static void no_heap_gives_nothing(void **state)
{
    struct fixed_test test = {quarry_heap_handle(NULL), NULL, NULL};
    uint64_t got[FIXED_CALLS];
    (void)state;
    test.block = test_memory(&target, 256);
    test.got = test_memory(&target, sizeof got);
    test_run(&fixed_calls, &target, 1, THREADS, 0, &test);
    assert_ok(quarry_memory_copy(&target, got, test.got, sizeof got));
    expect_nothing(got, "no heap");
    call_hidden(test.heap, test.block, got);
    expect_nothing(got, "no heap, hidden");
    test_memory_free(&target, test.block, 0);
    test_memory_free(&target, test.got, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_heap_fits_or_is_told),
        cmocka_unit_test(a_reset_forgets),
        cmocka_unit_test(no_heap_gives_nothing),
    };
    target = test_target();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
