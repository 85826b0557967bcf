/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of a heap (docs/policies.md), one test each or a few: what they give, and which pairs of
 * options are impossible.  That blocks keep the promises of every allocator under each policy is for
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
};

static void impossible_options_are_named(void **state)
{
    static const struct refused refused[] = {
        {"alignment is 8:", QUARRY_ERROR_ARGUMENT, 0, 8, 0, 0},
        {"alignment is 48: it must be a power of two from 16 to 1048576", QUARRY_ERROR_ARGUMENT, 0, 48, 0, 0},
        {"alignment is 2097152:", QUARRY_ERROR_ARGUMENT, 0, 2 * MIB, 0, 0},
        {"alignment is 9223372036854775808:", QUARRY_ERROR_ARGUMENT, 0, (uint64_t)1 << 63, 0, 0},
        {"page_bytes is 48, which is no multiple of the alignment of 32", QUARRY_ERROR_COMBINATION, 48, 32, 0,
         0},
        {"page_bytes is 64, which is no multiple of the alignment of 128", QUARRY_ERROR_COMBINATION, 64, 128,
         0, 0},
        {"alignment is 32, but debug mode", QUARRY_ERROR_COMBINATION, 0, 32, 1, 0},
        {"distribution 2 does not exist", QUARRY_ERROR_ARGUMENT, 0, 0, 0, 2},
        {"debug was given", QUARRY_ERROR_COMBINATION, 0, 0, 1, QUARRY_DISTRIBUTION_WARP},
        {"leaves no room for the 16 bytes that QUARRY_DISTRIBUTION_WARP adds: it must be at most 1048560",
         QUARRY_ERROR_COMBINATION, MIB, 0, 0, QUARRY_DISTRIBUTION_WARP},
        {"leaves no room for the 1024 bytes", QUARRY_ERROR_COMBINATION, MIB, 1024, 0,
         QUARRY_DISTRIBUTION_WARP},
        {"page_bytes is 1040, which is no multiple", QUARRY_ERROR_COMBINATION, 1040, 1024, 0,
         QUARRY_DISTRIBUTION_WARP},
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

/* In a pool of the library's and in buffers that begin anywhere. */
static void align_in_pools(const char *allocator, uint64_t alignment, uint64_t page_bytes)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap;
    options.allocator = allocator;
    options.alignment = alignment;
    options.page_bytes = page_bytes;
    options.pages = 3;
    assert_ok(quarry_heap_create(&heap, &options));
    fill_aligned(heap, page_bytes, alignment);
    fill_aligned(heap, page_bytes - 15, alignment);
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
}

static void blocks_begin_at_multiples_of_the_alignment(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint64_t alignment = 16; alignment <= MIB; alignment *= 4)
            for (uint64_t pages = 1; pages <= 3 && pages * alignment <= MIB; pages += 2)
                align_in_pools(info.name, alignment, pages * alignment);
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
    assert_int_equal(256, about.page_bytes);
    assert_int_equal(16, about.alignment);
    assert_ok(quarry_heap_destroy(heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_options_are_named),
        cmocka_unit_test(blocks_begin_at_multiples_of_the_alignment),
        cmocka_unit_test(page_of_default_size_is_as_large_as_the_alignment),
    };
    target = test_target();
    return cmocka_run_group_tests_name("policies", tests, NULL, NULL) != 0;
}
