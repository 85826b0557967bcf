/* SPDX-License-Identifier: Apache-2.0 */
/* aligned_alloc, calloc, realloc and usable_size keep C's promises, for every allocator, in debug mode and
 * without. QUARRY_TEST_SEEDS: seeds of the deterministic scheduler (default 40). */
#include "alloc/promises.h"
#include "alloc/standard_kernels.h"

#define SEEDS 40u
#define ODD_REFUSED 10u
#define ODD_BYTES 512u
#define PLATFORM_BYTES ((uint64_t)256 << 20)

static struct standard_case a;

static uint32_t log2_of(uint64_t power)
{
    uint32_t n = 0;
    while (power >>= 1)
        n++;
    return n;
}

static void begin_standard(uint64_t pages, uint64_t page_bytes, uint64_t seed)
{
    begin(pages, page_bytes, 32, seed);
    memset(&a, 0, sizeof a);
    a.heap = f.device.heap;
    a.faults = test_memory(&f.target, sizeof(uint32_t) * STANDARD_FAULTS);
    a.sized = (uint32_t)f.counted;
    a.most_slots = (uint32_t)pages;
    a.pages = (uint32_t)pages;
    a.page_bytes = page_bytes;
}

static void expect_no_fault(void)
{
    static const char *const names[] = {"a NULL too many", "an alignment", "not all zero", "content",
                                        "a usable size",   "no NULL",      "slots",        "a place"};
    uint32_t faults[STANDARD_FAULTS];
    assert_ok(quarry_memory_copy(&f.target, faults, a.faults, sizeof faults));
    for (uint32_t i = 0; i < STANDARD_FAULTS; i++)
        if (faults[i])
            fail_msg("%s, debug %d: %u times wrong: %s", naming(), f.debug, faults[i], names[i]);
}

static void end_standard(void)
{
    expect_no_fault();
    test_memory_free(&f.target, a.faults, 0);
    expect_empty();
    end();
}

static void launch(const struct simt_kernel *kernel, uint32_t threads)
{
    uint32_t block = threads < 256 ? 32 : 256;
    struct quarry_grid grid = {(threads + block - 1) / block, block, 0};
    if (quarry_launch(kernel, &f.target, grid, &a) != QUARRY_OK || quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s, debug %d: %s", naming(), f.debug, quarry_error_detail());
}

/* A page for each of the two blocks that a thread has while it is in realloc. */
static void play(uint32_t threads, uint64_t page_bytes, uint32_t turns, uint64_t seed)
{
    begin_standard(2 * threads, page_bytes, seed);
    uint64_t largest = seed % 2 || !f.counted ? a.heap.alignment : f.device.page_bytes / 2;
    a.aligned = log2_of(largest);
    a.most = page_bytes - (largest > a.heap.alignment ? ((uint64_t)1 << a.aligned) - a.heap.alignment : 0);
    a.threads = threads;
    a.turns = turns;
    a.program = (uint32_t)seed + 1;
    launch(&standard_play, threads);
    expect_equal(statistics().failed_mallocs, 0);
    end_standard();
}

static void aligned_programs(void)
{
    f.alignment = 128;
    for (uint64_t seed = 0; f.can.max_alignment >= f.alignment && seed <= seeds(SEEDS) / 4; seed++)
        play(seed % 3 ? 33 : 64, seed % 2 ? 1024 : 128, 8, seed);
    f.alignment = 0;
}

static void programs(void)
{
    aligned_programs();
    static const uint64_t page_bytes[] = {1024, 496, 4096, 80};
    for (f.debug = 0; f.debug <= f.counted; f.debug++) {
        for (uint64_t seed = 1; seed <= seeds(SEEDS); seed++)
            play(seed % 3 ? 33 : 64, page_bytes[seed % 4], 8, seed);
        for (uint32_t i = 0; i < 4; i++)
            play(test_on_cuda(&base_target) ? capped(1u << 14) : 500, page_bytes[i], 30, 0);
    }
}

static void blocks_are_aligned_zeroed_and_keep_their_content(void **state)
{
    (void)state;
    for_every_allocator(programs);
}

static void counts(void)
{
    for (f.debug = 0; f.debug <= 1; f.debug++)
        for (uint64_t seed = 0; seed <= seeds(SEEDS); seed += SEEDS / 4) {
            begin_standard(50, 512, seed);
            struct quarry_grid grid = {1, 64, 0};
            assert_ok(quarry_launch(&standard_slots, &f.target, grid, &a));
            end_standard();
        }
}

static void a_thread_sees_the_slots_that_it_takes_and_frees(void **state)
{
    (void)state;
    for_each_allocator(counts);
}

static void odd(void)
{
    for (f.debug = 0; f.debug <= f.counted; f.debug++) {
        begin_standard(64, ODD_BYTES, 0);
        a.most = ODD_BYTES;
        launch(&standard_odd, STANDARD_ODD);
        expect_equal(statistics().refused_mallocs, ODD_REFUSED);
        expect_equal(statistics().failed_mallocs, 0);
        end_standard();
    }
}

static void what_cannot_be_given_is_null_and_counted(void **state)
{
    (void)state;
    for_every_allocator(odd);
}

/* Debug mode knows an aligned block by an address inside of the allocator's. */
static void spoiled(void)
{
    char report[QUARRY_DEBUG_TEXT_BYTES];
    for (uint32_t aligned = 0; aligned <= 9; aligned++) {
        f.debug = 1;
        begin_standard(8, 1024, !test_on_cuda(&base_target));
        a.aligned = aligned;
        launch(&standard_spoil, 32);
        expect_no_fault();
        expect_equal(statistics().live_blocks, 0);
        assert_ok(quarry_heap_debug_report(f.heap, report, sizeof report));
        if (!strstr(report, "write past the end: 1 time, first: byte ") || !strstr(report, " free"))
            fail_msg("%s, alignment 2^%u: \"%s\"", naming(), aligned, report);
        expect_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
        assert_ok(quarry_heap_reset(f.heap));
        end_standard();
    }
}

static void debug_mode_sees_writes_behind_an_aligned_block(void **state)
{
    (void)state;
    for_each_allocator(spoiled);
}

/* Every second of 24 blocks lives. */
static void tile(uint64_t page_bytes, uint64_t bytes)
{
    static struct quarry_heap_section map[QUARRY_HEAP_SECTIONS];
    begin_standard(75, page_bytes, 0);
    if (bytes > f.about.max_block_bytes) {
        end_standard();
        return;
    }
    f.device.bytes = bytes;
    expect_equal(run(&promise_malloc, 24).nulls, 0);
    f.device.turns = 2;
    run(&promise_sieve, 24);
    for (uint32_t i = quarry_heap_map(f.heap, map, QUARRY_HEAP_SECTIONS); i > 0; i--)
        if (strcmp(map[i - 1].name, "pages") == 0) {
            a.places = (unsigned char *)f.about.pool_base + map[i - 1].offset;
            a.places_bytes = map[i - 1].bytes;
        }
    expect(a.places);
    a.live_blocks = statistics().live_blocks;
    a.live_bytes = statistics().live_bytes;
    expect_equal(a.live_blocks, 12);
    launch(&standard_tile, 32);
    run(&promise_free, 24);
    end_standard();
}

static void tiles(void)
{
    static const uint64_t page_bytes[] = {64, 1024, 4096};
    for (uint32_t i = 0; i < 3; i++)
        for (uint64_t bytes = 16; bytes <= 3 * page_bytes[i]; bytes = bytes * 2 + 16)
            if (!f.fixed || bytes <= page_bytes[i])
                tile(page_bytes[i], bytes);
}

static void each_address_is_part_of_one_block_or_free_unit(void **state)
{
    (void)state;
    for_each_allocator(tiles);
}

/* A GPU's device malloc has the heap that is made for it before its first kernel. */
static void make_room_for_the_platform(void)
{
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        struct quarry_allocator_info info;
        quarry_heap *heap;
        if (quarry_allocator_describe(i, &info) != QUARRY_OK || info.counts_slots)
            continue;
        options.target = base_target;
        options.allocator = info.name;
        options.pool_bytes = PLATFORM_BYTES;
        if (quarry_heap_create(&heap, &options) == QUARRY_OK)
            quarry_heap_destroy(heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_keep_their_content),
        cmocka_unit_test(a_thread_sees_the_slots_that_it_takes_and_frees),
        cmocka_unit_test(what_cannot_be_given_is_null_and_counted),
        cmocka_unit_test(debug_mode_sees_writes_behind_an_aligned_block),
        cmocka_unit_test(each_address_is_part_of_one_block_or_free_unit),
    };
    base_target = test_target();
    make_room_for_the_platform();
    return cmocka_run_group_tests_name("standard", tests, NULL, NULL) != 0;
}
