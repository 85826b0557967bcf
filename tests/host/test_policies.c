/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of a heap (docs/reference/policies.md), one test each or a few: what they give, and which
 * pairs of options are impossible.  That blocks keep the promises of every allocator under each policy is for
 * tests/alloc/test_composed.c. */
#include "common.h"
#include "heap_test_kernels.h"
#include "policy_kernels.h"

#define MIB ((uint64_t)1 << 20)

static struct quarry_target target;

static struct quarry_heap_options the_options(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = target;
    return options;
}

/* ---- pairs that are impossible ---- */

struct refused {
    const char *text; /* in the sentence */
    enum quarry_status status;
    uint64_t page_bytes;
    uint64_t alignment;
    int debug;
    int distribution;
    int oom;
    uint32_t oom_tries;
};

static void impossible_options_are_named(void **state)
{
    static const struct refused refused[] = {
        {"alignment is 8:", QUARRY_ERROR_ARGUMENT, 0, 8, 0, 0, 0, 0},
        {"alignment is 48: it must be a power of two from 16 to 1048576", QUARRY_ERROR_ARGUMENT, 0, 48, 0, 0,
         0, 0},
        {"alignment is 2097152:", QUARRY_ERROR_ARGUMENT, 0, 2 * MIB, 0, 0, 0, 0},
        {"alignment is 9223372036854775808:", QUARRY_ERROR_ARGUMENT, 0, (uint64_t)1 << 63, 0, 0, 0, 0},
        {"page_bytes is 48, which is no multiple of the alignment of 32", QUARRY_ERROR_COMBINATION, 48, 32, 0,
         0, 0, 0},
        {"page_bytes is 64, which is no multiple of the alignment of 128", QUARRY_ERROR_COMBINATION, 64, 128,
         0, 0, 0, 0},
        {"alignment is 32, but debug mode", QUARRY_ERROR_COMBINATION, 0, 32, 1, 0, 0, 0},
        {"distribution 2 does not exist", QUARRY_ERROR_ARGUMENT, 0, 0, 0, 2, 0, 0},
        {"debug was given", QUARRY_ERROR_COMBINATION, 0, 0, 1, QUARRY_DISTRIBUTION_WARP, 0, 0},
        {"leaves no room for the 16 bytes that QUARRY_DISTRIBUTION_WARP adds: it must be at most 1048560",
         QUARRY_ERROR_COMBINATION, MIB, 0, 0, QUARRY_DISTRIBUTION_WARP, 0, 0},
        {"leaves no room for the 1024 bytes", QUARRY_ERROR_COMBINATION, MIB, 1024, 0,
         QUARRY_DISTRIBUTION_WARP, 0, 0},
        {"page_bytes is 1040, which is no multiple", QUARRY_ERROR_COMBINATION, 1040, 1024, 0,
         QUARRY_DISTRIBUTION_WARP, 0, 0},
        {"oom 4 does not exist", QUARRY_ERROR_ARGUMENT, 0, 0, 0, 0, 4, 0},
        {"oom_tries is 16777217: it must be at most 16777216", QUARRY_ERROR_ARGUMENT, 0, 0, 0, 0,
         QUARRY_OOM_WAIT, (1u << 24) + 1},
        {"oom_tries was given", QUARRY_ERROR_COMBINATION, 0, 0, 0, 0, QUARRY_OOM_TRAP, 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct quarry_heap_options options = the_options();
        quarry_heap *heap = (quarry_heap *)&options;
        options.pool_bytes = 4 * MIB;
        options.page_bytes = refused[i].page_bytes;
        options.alignment = refused[i].alignment;
        options.debug = refused[i].debug;
        options.distribution = (enum quarry_distribution)refused[i].distribution;
        options.oom = (enum quarry_oom)refused[i].oom;
        options.oom_tries = refused[i].oom_tries;
        enum quarry_status status = quarry_heap_create(&heap, &options);
        if (status != refused[i].status || !strstr(quarry_error_detail(), refused[i].text) ||
            strchr(quarry_error_detail(), '\n'))
            fail_msg("%s: %s (%s)", refused[i].text, quarry_status_string(status), quarry_error_detail());
        assert_null(heap);
    }
}

/* ---- alignment ---- */

/* Fills the heap with blocks of `bytes`, all of them aligned and each there once. */
static void fill_aligned(quarry_heap *heap, uint64_t bytes, uint64_t alignment)
{
    struct quarry_heap_description about;
    assert_ok(quarry_heap_describe(heap, &about));
    assert_int_equal(alignment, about.alignment);
    uint32_t count = (uint32_t)about.pages + 3;
    struct heap_test argument = {quarry_heap_handle(heap), NULL, bytes, count, 7, 1, NULL};
    unsigned char **blocks = malloc(count * sizeof *blocks);
    uint32_t got = 0, faults = 1;
    assert_non_null(blocks);
    argument.blocks = test_memory(&target, count * sizeof *blocks);
    argument.faults = test_memory(&target, sizeof faults);
    test_run(&heap_test_malloc, &target, (count + 31) / 32, 32, 0, &argument);
    test_run(&heap_test_verify, &target, (count + 31) / 32, 32, 0, &argument);
    assert_ok(quarry_memory_copy(&target, blocks, argument.blocks, count * sizeof *blocks));
    assert_ok(quarry_memory_copy(&target, &faults, argument.faults, sizeof faults));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = (uintptr_t)blocks[i] - (uintptr_t)about.pool_base;
        got += blocks[i] != NULL;
        if (blocks[i] && ((uintptr_t)blocks[i] % alignment != 0 || offset + bytes > about.pool_bytes))
            fail_msg("%s: block %p of %llu bytes, alignment %llu", about.allocator, (void *)blocks[i],
                     (unsigned long long)bytes, (unsigned long long)alignment);
    }
    assert_int_equal(0, faults);
    assert_true(got >= about.pages); /* blocks smaller than a page may be more */
    test_run(&heap_test_free, &target, (count + 31) / 32, 32, 0, &argument);
    assert_ok(quarry_heap_check(heap));
    test_memory_free(&target, argument.blocks, 0);
    test_memory_free(&target, argument.faults, 0);
    free(blocks);
}

/* In a pool of the library's and in buffers that begin anywhere.  Returns 0 for an allocator that can't. */
static int align_in_pools(const char *allocator, uint64_t alignment, uint64_t page_bytes)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap;
    options.allocator = allocator;
    options.alignment = alignment;
    options.pages = 3;
    options.page_bytes = page_bytes + 16; /* no multiple */
    if (alignment > 16 && options.page_bytes <= MIB)
        assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    options.page_bytes = page_bytes;
    enum quarry_status status = quarry_heap_create(&heap, &options);
    if (status == QUARRY_ERROR_COMBINATION && strstr(quarry_error_detail(), "can't align"))
        return 0;
    assert_ok(status);
    fill_aligned(heap, page_bytes, alignment);
    fill_aligned(heap, page_bytes - 15, alignment);
    assert_ok(quarry_heap_destroy(heap));

    options.pool = QUARRY_POOL_MALLOC; /* aligned to 16 */
    assert_ok(quarry_heap_create(&heap, &options));
    fill_aligned(heap, page_bytes, alignment);
    assert_ok(quarry_heap_destroy(heap));

    options.pages = 0;
    options.pool = QUARRY_POOL_BUFFER;
    options.pool_bytes = 3 * page_bytes + 2 * alignment + 8192;
    unsigned char *memory = test_memory(&target, options.pool_bytes + alignment);
    for (uint64_t shift = 16; shift < alignment; shift *= 2) {
        options.buffer = memory + shift;
        assert_ok(quarry_heap_create(&heap, &options));
        fill_aligned(heap, page_bytes, alignment);
        assert_ok(quarry_heap_destroy(heap));
    }
    test_memory_free(&target, memory, 0);
    return 1;
}

static void blocks_begin_at_multiples_of_the_alignment(void **state)
{
    struct quarry_allocator_info info;
    int can = 0; /* allocators that align to the largest */
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint64_t alignment = 16; info.counts_slots && alignment <= MIB; alignment *= 4)
            for (uint64_t pages = 1; pages <= 3 && pages * alignment <= MIB; pages += 2)
                can += align_in_pools(info.name, alignment, pages * alignment) && alignment == MIB;
    assert_true(can >= 7);
}

static void page_of_default_size_is_as_large_as_the_alignment(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_heap_description about;
    quarry_heap *heap;
    (void)state;
    options.pages = 3;
    options.alignment = 4096;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_int_equal(4096, about.page_bytes);
    assert_int_equal(4096, about.alignment);
    assert_ok(quarry_heap_destroy(heap));
    options.alignment = 0;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_int_equal(64, about.page_bytes);
    assert_int_equal(16, about.alignment);
    assert_ok(quarry_heap_destroy(heap));
}

/* ---- in words ---- */

static void info_has_a_line_for_each_policy(void **state)
{
    struct quarry_heap_options options = the_options();
    char text[QUARRY_INFO_TEXT_BYTES], cut[40];
    quarry_heap *heap;
    (void)state;
    options.pages = 12;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_info(heap, text, sizeof text));
    assert_non_null(strstr(text, "reserve pool   "));
    assert_non_null(strstr(text, test_on_cuda(&target) ? "from cudaMalloc\n" : "of host memory\n"));
    assert_non_null(strstr(text, "\nalignment      natural: blocks begin at multiples of 16 bytes\n"));
    assert_non_null(strstr(text, "\ncreation       rw-malloc, "));
    assert_non_null(strstr(text, ": 12 pages of 64 bytes, "));
    assert_non_null(strstr(text, "\ndistribution   none: "));
    assert_non_null(
        strstr(text, "\nout of memory  null: a malloc returns NULL; full means that nothing was free"));
    assert_non_null(strstr(text, "\ndebug mode     off\n"));
    memset(cut, '#', sizeof cut);
    assert_ok(quarry_heap_info(heap, cut, sizeof cut - 1));
    assert_int_equal(sizeof cut - 2, strlen(cut));
    assert_int_equal('#', cut[sizeof cut - 1]);
    assert_ok(quarry_heap_info(heap, NULL, 0));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_info(heap, NULL, 1));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_info(NULL, text, sizeof text));
    assert_ok(quarry_heap_destroy(heap));

    options.alignment = 128;
    options.page_bytes = 1024;
    options.distribution = QUARRY_DISTRIBUTION_WARP;
    options.oom = QUARRY_OOM_WAIT;
    options.oom_tries = 1;
    options.full = QUARRY_FULL_INFERRED;
    options.low_free = 0.02;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_info(heap, text, sizeof text));
    assert_non_null(strstr(text, "\nalignment      shrink: blocks begin at multiples of 128 bytes\n"));
    assert_non_null(strstr(text, ": 12 pages of 1024 bytes"));
    assert_non_null(strstr(text, "\ndistribution   warp: "));
    assert_non_null(strstr(text, "\nout of memory  wait: a malloc tries 1 time more"));
    assert_non_null(strstr(text, "that less than 2 % is free\n"));
    assert_true(strlen(text) + 1 < sizeof text);
    assert_ok(quarry_heap_destroy(heap));
}

/* Every option of the allocator is told, with what the heap took, and the text fits. */
static void info_says_what_options_the_heap_took(void **state)
{
    static const struct quarry_option most[] = {
        {"access_blocks", 64}, {"region_pages", 4096}, {"waste_factor", 4096}, {"hash_size", ~0u},
        {"hash_sm", ~0u},      {"hash_warp", ~0u},     {"hash_pages", ~0u},    {"keep_pages", 1},
        {"serial", 1},         {"probes", 1u << 24}};
    struct quarry_heap_options options = the_options();
    struct quarry_heap_description about;
    char text[QUARRY_INFO_TEXT_BYTES];
    quarry_heap *heap;
    (void)state;
    for (int i = 0; i < 3; i++) {
        options.allocator = i < 2 ? "scatter" : "ring";
        options.pages = 9000;
        options.set = i == 1 ? most : NULL;
        options.set_count = i == 1 ? sizeof most / sizeof *most : 0;
        if (i > 0) {
            options.distribution = QUARRY_DISTRIBUTION_WARP;
            options.oom = QUARRY_OOM_WAIT;
            options.oom_tries = 1u << 24;
        }
        assert_ok(quarry_heap_create(&heap, &options));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_ok(quarry_heap_info(heap, text, sizeof text));
        assert_true(strlen(text) + 1 < sizeof text);
        if (i == 0) {
            assert_non_null(strstr(text, "\noptions        probes=16 access_blocks=8 region_pages=16 "
                                         "waste_factor=2 hash_size=38183 hash_sm=17497 hash_warp=1 "
                                         "hash_pages=1 keep_pages=0 serial=0\n"));
            assert_int_equal(8, described(&about, "access_blocks"));
            assert_int_equal(10, about.option_count);
        } else if (i == 1) {
            for (size_t k = 0; k < sizeof most / sizeof *most; k++)
                assert_int_equal(most[k].value, described(&about, most[k].name));
            assert_non_null(strstr(text, " keep_pages=1 serial=1\n"));
        } else {
            assert_int_equal(0, about.option_count);
            assert_null(strstr(text, "\noptions"));
        }
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* What an allocator's line says, its heaps show. */
static void allocators_say_what_they_can(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description about;
        quarry_heap *heap;
        options.allocator = info.name;
        options.pages = 3;
        options.alignment = info.max_alignment;
        assert_ok(quarry_heap_create(&heap, &options));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_int_equal(info.whole_pages || info.page_parts, about.max_block_bytes == about.page_bytes);
        assert_true(!info.holds_pages || about.pages == 3);
        assert_ok(quarry_heap_destroy(heap));
        options.alignment *= 2;
        assert_true(quarry_heap_create(&heap, &options) != QUARRY_OK);
        assert_true(strcmp(info.name, "corw") != 0 || (info.whole_pages && info.max_alignment == MIB));
    }
}

/* ---- out of memory ---- */

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
    struct quarry_heap_options options = the_options();
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
        cmocka_unit_test(impossible_options_are_named),
        cmocka_unit_test(blocks_begin_at_multiples_of_the_alignment),
        cmocka_unit_test(page_of_default_size_is_as_large_as_the_alignment),
        cmocka_unit_test(info_has_a_line_for_each_policy),
        cmocka_unit_test(info_says_what_options_the_heap_took),
        cmocka_unit_test(allocators_say_what_they_can),
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
    return cmocka_run_group_tests_name("policies", tests, NULL, NULL) != 0;
}
