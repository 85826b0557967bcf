/* SPDX-License-Identifier: Apache-2.0 */
/* Exact mode from the inside: a proof of fullness must fail as long as the heap has a hole, however it moves.
 *
 * The heap is filled but for two pages in different words; an adversary owns one of these, frees it and at
 * once takes the other, again and again. */
#include "alloc/exact_kernels.h"
#include "alloc/promise_kernels.h"

#include "common.h"

static struct quarry_target base_target;

#define PAGES 256u

/* Case `i` in the scheduler with that seed; seed 0: fast mode or a GPU. */
static void prove(const char *allocator, uint32_t word_bits, uint32_t i, uint64_t seed)
{
    static const uint32_t holds[] = {0, 2, 5, 10, 20, 40, 80, 160};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_heap_description about;
    struct promise_case fill = {0};
    struct exact_case exact = {0};
    struct quarry_target target = base_target;
    quarry_heap *heap;
    uint64_t slots, record_bytes;
    uint32_t distance = 64u << (i % 2), wrong;
    uint32_t holes[3] = {i % 64, i % 64 + distance, 0};
    void *blocks[PAGES];
    target.seed = seed;
    options.target = target;
    options.allocator = allocator;
    options.word_bits = word_bits;
    options.pages = PAGES;
    options.page_bytes = 16;
    options.probes = i % 4 ? 1 : 0; /* 1: several chunks */
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    record_bytes = sizeof(struct promise_page) * (about.pool_bytes / 16 + 1);
    fill.heap = quarry_heap_handle(heap);
    fill.result = test_memory(&target, sizeof *fill.result);
    fill.block = test_memory(&target, sizeof blocks);
    fill.page = test_memory(&target, record_bytes);
    fill.pool = about.pool_base;
    fill.pool_bytes = about.pool_bytes;
    fill.page_bytes = fill.bytes = 16;
    fill.threads = PAGES;
    fill.lanes = SIMT_ALL_LANES;
    test_run(&promise_malloc, &target, PAGES / 64, 64, 0, &fill);
    assert_ok(quarry_memory_copy(&target, blocks, fill.block, sizeof blocks));
    unsigned char *first = blocks[0];
    for (uint32_t p = 1; p < PAGES; p++)
        first = (unsigned char *)blocks[p] < first ? blocks[p] : first;
    for (uint32_t p = 0; p < PAGES; p++) {
        uint32_t page = (uint32_t)(((unsigned char *)blocks[p] - first) / 16);
        if (page != holes[0] && page != holes[1])
            blocks[p] = NULL;
    }
    assert_ok(quarry_memory_copy(&target, fill.block, blocks, sizeof blocks));
    test_run(&promise_free, &target, PAGES / 64, 64, 0, &fill);
    assert_ok(quarry_heap_slots(heap, 16, &slots));
    assert_int_equal(slots, 2);

    exact.heap = fill.heap;
    exact.holes = test_memory(&target, sizeof holes);
    assert_ok(quarry_memory_copy(&target, exact.holes, holes, sizeof holes));
    exact.wrong = test_memory(&target, sizeof wrong);
    exact.turns = seed ? 20 : getenv("QUARRY_TEST_THREADS") ? 50 : 1000;
    exact.hold = holds[i / 2 % 8];
    exact.is_rw = strcmp(allocator, "rw") == 0;
    test_run(&exact_prove, &target, 2, 32, 0, &exact);
    assert_ok(quarry_memory_copy(&target, &wrong, exact.wrong, sizeof wrong));
    if (wrong)
        fail_msg("%s, %u-bit words, case %u, seed %llu: %u times found full", allocator, word_bits, i,
                 (unsigned long long)seed, wrong);
    assert_ok(quarry_heap_check(heap));
    assert_ok(quarry_heap_slots(heap, 16, &slots));
    assert_int_equal(slots, 2);
    assert_ok(quarry_heap_destroy(heap));
    test_memory_free(&target, fill.result, sizeof *fill.result);
    test_memory_free(&target, fill.block, sizeof blocks);
    test_memory_free(&target, fill.page, record_bytes);
    test_memory_free(&target, exact.holes, sizeof holes);
    test_memory_free(&target, exact.wrong, sizeof wrong);
}

static void a_heap_with_a_hole_is_never_proven_full(void **state)
{
    const char *text = getenv("QUARRY_TEST_SEEDS");
    uint32_t cases = test_on_cuda(&base_target) ? (getenv("QUARRY_TEST_THREADS") ? 4 : 100)
                                                : 10 * (text ? (uint32_t)strtoul(text, NULL, 10) : 60);
    (void)state;
    for (uint32_t i = 0; i < cases; i++) {
        uint64_t seed = test_on_cuda(&base_target) || i < 8 ? 0 : i; /* 8 in fast mode */
        prove("rw", 0, i, seed);
        prove("corw", 32, i, seed);
        prove("corw", 64, i, seed);
    }
}

static void numbers(const char *allocator, uint32_t word_bits, uint32_t pages, uint32_t probes)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct exact_case exact = {0};
    struct promise_case fill = {0};
    struct quarry_heap_description about;
    quarry_heap *heap;
    uint32_t wrong;
    options.target = base_target;
    options.allocator = allocator;
    options.word_bits = word_bits;
    options.pages = pages;
    options.page_bytes = 16;
    options.probes = probes;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    fill.heap = exact.heap = quarry_heap_handle(heap);
    fill.result = test_memory(&base_target, sizeof *fill.result);
    fill.block = test_memory(&base_target, sizeof(void *) * pages);
    fill.page = test_memory(&base_target, sizeof(struct promise_page) * (about.pool_bytes / 16 + 1));
    fill.pool = about.pool_base;
    fill.pool_bytes = about.pool_bytes;
    fill.page_bytes = fill.bytes = 16;
    fill.threads = pages;
    fill.lanes = SIMT_ALL_LANES;
    test_run(&promise_malloc, &base_target, (pages + 63) / 64, 64, 0, &fill);
    exact.is_rw = strcmp(allocator, "rw") == 0;
    exact.wrong = test_memory(&base_target, sizeof wrong);
    test_run(&exact_numbers, &base_target, 1, 32, 0, &exact);
    assert_ok(quarry_memory_copy(&base_target, &wrong, exact.wrong, sizeof wrong));
    assert_int_equal(wrong, 0);
    assert_ok(quarry_heap_destroy(heap));
    test_memory_free(&base_target, fill.result, sizeof *fill.result);
    test_memory_free(&base_target, fill.block, sizeof(void *) * pages);
    test_memory_free(&base_target, fill.page, sizeof(struct promise_page) * (about.pool_bytes / 16 + 1));
    test_memory_free(&base_target, exact.wrong, sizeof wrong);
}

static void a_chunks_number_does_not_depend_on_who_reads_it(void **state)
{
    (void)state;
    for (uint32_t pages = 1; pages < 3000; pages = pages * 3 + 1)
        for (uint32_t probes = 0; probes < 2; probes++) {
            numbers("rw", 0, pages, probes);
            numbers("corw", 32, pages, probes);
            numbers("corw", 64, pages, probes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_with_a_hole_is_never_proven_full),
        cmocka_unit_test(a_chunks_number_does_not_depend_on_who_reads_it),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL) != 0;
}
