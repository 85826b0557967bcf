/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of a heap (docs/reference/policies.md), one test each or a few: what they give, and which
 * pairs of options are impossible.  That blocks keep the promises of every allocator under each policy is for
 * tests/alloc/test_composed.c. */
#include "common.h"
#include "heap_test_kernels.h"

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
    options.pool_bytes = 3 * page_bytes + 2 * alignment + 16384;
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
    options.allocator = "rw-malloc"; /* whose pages are smaller by default */
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
    assert_non_null(strstr(text, "\ncreation       quarry, "));
    assert_non_null(strstr(text, ": 12 pages of 65536 bytes, "));
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

    options.allocator = "rw-malloc"; /* which infers */
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
        assert_ok(quarry_heap_create(&heap, &options));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_int_equal(info.whole_pages || info.page_parts, about.max_block_bytes == about.page_bytes);
        assert_ok(quarry_heap_destroy(heap));
        options.alignment = info.max_alignment; /* then a page may be as large as the largest block */
        assert_ok(quarry_heap_create(&heap, &options));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_true(!info.holds_pages || about.pages == 3);
        assert_ok(quarry_heap_destroy(heap));
        options.alignment *= 2;
        assert_true(quarry_heap_create(&heap, &options) != QUARRY_OK);
        assert_true(strcmp(info.name, "corw") != 0 || (info.whole_pages && info.max_alignment == MIB));
    }
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
    };
    target = test_target();
    return cmocka_run_group_tests_name("policies", tests, NULL, NULL) != 0;
}
