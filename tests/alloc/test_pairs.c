/* SPDX-License-Identifier: Apache-2.0 */
/* All pairs of calls of the device API in one warp: some of its lanes make one, the others the other, on
 * heaps that are full and on heaps that aren't, plain, in debug mode and with QUARRY_DISTRIBUTION_WARP. Lanes
 * that arrive together but go on differently must not wait for each other.
 *
 * The seed decides which lanes make which call, and how they interleave.  A failure names it, and
 *
 *     QUARRY_TEST_ALLOCATOR=rw QUARRY_TEST_SEED=123 test_pairs
 *
 * does that very run again.  QUARRY_TEST_SEEDS says how many (default 1), beginning with 1; 0, which comes
 * first, is the fast mode.  On a GPU the seed decides all but the interleaving. */
#include "alloc/pairs_kernels.h"
#include "alloc/promises.h"

#define SEEDS 1u
#define SEEDS_GPU 4u
#define THREADS 64u
#define BYTES 64u

static const char *const call_names[PAIRS_CALLS] = {"malloc",          "malloc_with",   "malloc of too much",
                                                    "calloc",          "aligned_alloc", "realloc to more",
                                                    "realloc to less", "free",          "usable_size",
                                                    "available_slots"};

static struct pairs_case a;

static void launch(const struct simt_kernel *kernel)
{
    struct quarry_grid grid = {1, THREADS, 0};
    if (quarry_launch(kernel, &f.target, grid, &a) != QUARRY_OK || quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
}

static void pair(uint32_t first, uint32_t second)
{
    struct pairs_result result;
    a.call[0] = first;
    a.call[1] = second;
    assert_ok(quarry_heap_reset(f.heap));
    assert_ok(quarry_memory_fill(&f.target, a.result, 0, sizeof result));
    launch(&pairs_fill);
    launch(&pairs_play);
    launch(&pairs_clear);
    assert_ok(quarry_memory_copy(&f.target, &result, a.result, sizeof result));
    expect_equal(result.unfilled, 0);
    expect_equal(result.torn, 0);
    expect_equal(result.misjudged, 0);
    struct quarry_statistics s = statistics();
    expect_equal(s.failed_mallocs + s.refused_mallocs, result.nulls);
    expect_equal(s.live_blocks, 0);
}

/* On a heap with so many pages for each block that the threads begin with. */
static void pairs(uint32_t pages_each, uint64_t seed)
{
    static char note[192];
    uint64_t scheduled = test_on_cuda(&base_target) ? 0 : seed;
    /* Every other seed runs by uniform random choice, the others by priority. */
    base_target.bug_depth = scheduled == 0 || scheduled % 2 ? 0 : 2 + (uint32_t)(scheduled / 2 % 3);
    begin((uint64_t)pages_each * THREADS * PAIRS_TURNS, BYTES, 1, scheduled);
    f.note = note;
    memset(&a, 0, sizeof a);
    a.heap = f.device.heap;
    a.result = test_memory(&f.target, sizeof *a.result);
    a.block = test_memory(&f.target, sizeof *a.block * THREADS * PAIRS_TURNS);
    a.got = test_memory(&f.target, sizeof *a.got * THREADS * PAIRS_TURNS);
    a.bytes = BYTES;
    a.grown = f.fixed ? BYTES : 2 * BYTES;
    a.most_slots = f.empty_slots > f.about.pages ? f.empty_slots : f.about.pages;
    a.program = (uint32_t)seed * 1000;
    for (uint32_t first = 0; first < PAIRS_CALLS; first++)
        for (uint32_t second = 0; second <= first; second++) {
            snprintf(note, sizeof note, ", debug %d, depth %u: %s beside %s; again: QUARRY_TEST_SEED=%llu",
                     f.debug, base_target.bug_depth, call_names[first], call_names[second],
                     (unsigned long long)seed);
            pair(first, second);
        }
    test_memory_free(&f.target, a.result, 0);
    test_memory_free(&f.target, a.block, 0);
    test_memory_free(&f.target, a.got, 0);
    end();
}

static void every_seed(void)
{
    const char *one = getenv("QUARRY_TEST_SEED");
    uint64_t first = one ? strtoull(one, NULL, 10) : 0;
    uint64_t last = one ? first : test_on_cuda(&base_target) ? SEEDS_GPU : seeds(SEEDS);
    enum quarry_distribution distribution = f.distribution;
    for (uint64_t seed = first; seed <= last; seed++)
        for (uint32_t kind = 0; kind < 3; kind++) {
            f.debug = kind == 1;
            f.distribution = kind == 2 ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
            pairs(1, seed);
            pairs(3, seed);
        }
    f.debug = 0;
    f.distribution = distribution;
}

static void any_two_calls_may_meet_in_a_warp(void **state)
{
    (void)state;
    for_each_allocator(every_seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_two_calls_may_meet_in_a_warp)};
    base_target = test_target();
    return cmocka_run_group_tests_name("pairs", tests, NULL, NULL) != 0;
}
