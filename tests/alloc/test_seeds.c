/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of tiny heaps under extreme contention, one for each seed of the deterministic scheduler.
 *
 * The seed decides everything: the width of the words, one of a few scenarios, how many pages, blocks and
 * lanes, the options, what each thread does, and how the lanes interleave.  A failure names the seed, and
 *
 *     QUARRY_TEST_ALLOCATOR=rw QUARRY_TEST_SEED=123 test_seeds
 *
 * does that very run again.  QUARRY_TEST_SEEDS says how many (5000), beginning with 1, or with that one if both are
 * said.  On a GPU the seed decides all but the interleaving. */
#include "alloc/promises.h"

#define SEEDS 5000u
#define SEEDS_GPU 3000u
#define MOST_PAGES 80u

static uint64_t noise;

static uint32_t draw(uint32_t below)
{
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((noise >> 33) % below);
}

/* How many of the threads take part. */
static uint32_t participants(uint32_t threads)
{
    uint32_t block = f.block_threads, n = 0;
    for (uint32_t t = 0; t < threads; t++)
        n += f.device.lanes >> t % block % SIMT_LANES & 1u;
    return n;
}

/* 1 to 3 warps, whole or not, in as many blocks or in one; some lanes of each. */
static uint32_t draw_threads(uint32_t *lanes)
{
    static const uint32_t masks[] = {SIMT_ALL_LANES, SIMT_ALL_LANES, 1u,     3u,
                                     0x80000001u,    0x01010101u,    0xfffeu};
    static const uint32_t blocks[] = {32, 32, 64, 96, 33, 5, 1};
    f.block_threads = blocks[draw(sizeof blocks / sizeof *blocks)];
    *lanes = f.block_threads < 32 ? SIMT_ALL_LANES : masks[draw(sizeof masks / sizeof *masks)];
    return f.block_threads * (1 + draw(f.block_threads < 64 ? 3 : 1));
}

static void draw_options(const struct quarry_heap_description *about)
{
    static const uint32_t probes[] = {0, 0, 1, 2, 5};
    f.probes = probes[draw(5)];
    if (described(about, "probe_lanes") && draw(2))
        f.probe_lanes = 1 + draw(SIMT_LANES);
}

enum scenario { TIGHT, SCARCE, ONCE, HOLE, EDGE, INFERRED, CHURN, SCENARIOS, SIZES = SCENARIOS };
static const char *const scenario_names[] = {"tight", "scarce",   "once",  "hole",
                                             "edge",  "inferred", "churn", "sizes"};

/* What each scenario leaves to be seen: everything is free, and as many failed as got NULL. */
static void finish(uint64_t nulls)
{
    struct quarry_statistics s = statistics();
    expect_equal(s.failed_mallocs, nulls);
    expect_equal(s.live_blocks, 0);
    expect_equal(s.capacity_bytes, f.about.pages * f.about.page_bytes);
    end();
}

/* Everybody asks once.  Then others free. */
static void once(uint32_t pages, uint32_t threads, uint32_t lanes, uint64_t seed)
{
    begin(pages, 16, threads, seed);
    f.device.lanes = lanes;
    uint32_t n = participants(threads);
    uint32_t nulls = run(&promise_malloc, threads).nulls;
    expect_equal(nulls, n > pages ? n - pages : 0);
    run(&promise_verify, threads);
    run(&promise_free, threads);
    finish(nulls);
}

/* Most pages are taken and stay so; the others move among as many threads. */
static void hole(uint32_t threads, uint32_t lanes, uint64_t seed)
{
    f.device.lanes = lanes;
    uint32_t n = participants(threads), taken = 30 + draw(MOST_PAGES - 30), block = f.block_threads;
    begin(taken + n, 16, taken > threads ? taken : threads, seed);
    f.block_threads = 0;
    expect_equal(run(&promise_malloc, taken).nulls, 0);
    f.block_threads = block;
    struct promise_case fixed = f.device;
    f.device.first = taken;
    f.device.lanes = lanes;
    f.device.turns = 4 + draw(8);
    f.device.program = draw(1u << 30);
    expect_equal(run(&promise_play, threads).nulls, 0);
    f.device = fixed;
    f.block_threads = 0;
    run(&promise_verify, taken);
    run(&promise_free, taken);
    finish(0);
}

/* Full but for one page in 32, that is one in each word or two; each of those has its thread, in a warp of
 * its own, which holds it most of the time.  So nearly always just one page is free, and it moves: hard to
 * find, and easily taken for none. */
static void edge(uint64_t seed)
{
    static const uint32_t holds[] = {0, 1, 3, 10, 30, 100, 300};
    uint32_t pages = 64u << draw(2);
    f.probes = 1;
    f.block_threads = 0;
    begin(pages, 16, pages, seed);
    expect_equal(run(&promise_malloc, pages).nulls, 0);
    f.device.turns = 32;
    run(&promise_thin, pages);
    uint32_t spare = (uint32_t)slots(16);
    f.device.lanes = 1;
    f.device.turns = 5 + draw(20);
    f.device.hold = holds[draw(7)];
    f.device.first = pages;
    f.block_threads = SIMT_LANES;
    expect_equal(run(&promise_churn, spare * SIMT_LANES).nulls, 0);
    f.device.lanes = SIMT_ALL_LANES;
    f.device.first = 0;
    f.block_threads = 0;
    run(&promise_verify, pages);
    run(&promise_free, pages);
    finish(0);
}

/* Each thread its own program, or the same over and over. */
static void play(const struct simt_kernel *kernel, uint32_t pages, uint32_t threads, uint32_t lanes,
                 uint64_t seed)
{
    uint32_t held = 1 + draw(kernel == &promise_play ? 3 : 1);
    uint32_t boxes = kernel == &promise_play ? draw(3) : 0;
    f.device.lanes = lanes;
    uint32_t most = participants(threads) * held + boxes;
    begin(pages ? pages : most, 32, threads, seed);
    f.device.lanes = lanes;
    f.device.held = held;
    f.device.boxes = boxes;
    f.device.bytes = kernel == &promise_play ? 1 + draw(32) : 32;
    f.device.turns = 3 + draw(6);
    f.device.hold = draw(6);
    f.device.kept = draw(3);
    f.device.program = draw(1u << 30);
    uint32_t nulls = run(kernel, threads).nulls;
    if (f.about.pages >= most && f.low_free == 0 && (f.can.reuses_space || kernel != &promise_play))
        expect_equal(nulls, 0);
    finish(nulls);
}

/* Blocks of up to 6 pages, in a heap that may be too small for them. */
static void sizes(uint32_t threads, uint32_t lanes, uint64_t seed)
{
    begin(1 + draw(60), 32, threads, seed);
    uint64_t most = f.about.max_block_bytes;
    f.device.lanes = lanes;
    f.device.held = 1 + draw(PROMISE_HELD);
    f.device.boxes = draw(3);
    f.device.bytes = 1 + draw(6 * 32 < most ? 6 * 32 : (uint32_t)most);
    f.device.turns = 3 + draw(10);
    f.device.kept = draw(3);
    f.device.program = draw(1u << 30);
    finish(run(&promise_play, threads).nulls);
}

static void one_seed(const struct quarry_heap_description *about, uint64_t seed)
{
    static const double low_free[] = {0.05, 0.2, 0.5, 0.9};
    static char note[192];
    uint32_t width, lanes, threads;
    noise = seed;
    (void)draw(2);
    width = draw(2) ? 64 : 32;
    if (f.word_bits && f.word_bits != width)
        return;
    plain_options();
    /* Of SIZES as many as of three others. */
    enum scenario scenario = (enum scenario)draw(f.fixed ? SCENARIOS : SCENARIOS + 3);
    if (scenario > SIZES)
        scenario = SIZES;
    /* Every other seed runs by uniform random choice, the others by priority. */
    uint64_t scheduled = test_on_cuda(&base_target) ? 0 : seed;
    base_target.bug_depth = scheduled == 0 || scheduled % 2 ? 0 : 2 + (uint32_t)(scheduled / 2 % 3);
    snprintf(note, sizeof note,
             ", depth %u, %s; again: QUARRY_TEST_ALLOCATOR=%s QUARRY_TEST_SEED=%llu test_seeds",
             base_target.bug_depth, scenario_names[scenario], f.allocator, (unsigned long long)seed);
    f.note = note;
    threads = draw_threads(&lanes);
    draw_options(about);
    switch (scenario) {
    case TIGHT:
        play(&promise_play, 0, threads, lanes, scheduled);
        break;
    case CHURN:
        play(&promise_churn, 0, threads, lanes, scheduled);
        break;
    case ONCE:
        once(1 + draw(40), threads, lanes, scheduled);
        break;
    case HOLE:
        hole(threads, lanes, scheduled);
        break;
    case EDGE:
        edge(scheduled);
        break;
    case SIZES:
        sizes(threads, lanes, scheduled);
        break;
    case INFERRED:
        f.probes = 0;
        f.low_free = low_free[draw(4)];
        play(&promise_play, 1 + draw(40), threads, lanes, scheduled);
        break;
    default:
        play(&promise_play, 1 + draw(40), threads, lanes, scheduled);
    }
}

static void every_seed(void)
{
    struct quarry_heap_description about = describe_default();
    const char *one = getenv("QUARRY_TEST_SEED");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t count = one && !getenv("QUARRY_TEST_SEEDS") ? 1 : seeds(SEEDS);
    if (test_on_cuda(&base_target) && !one)
        count = getenv("QUARRY_TEST_THREADS") ? SEEDS_GPU / 10 : SEEDS_GPU;
    for (uint64_t seed = first; seed < first + count; seed++)
        one_seed(&about, seed);
}

static void every_seed_keeps_the_promises(void **state)
{
    (void)state;
    for_each_allocator(every_seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seed_keeps_the_promises),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("seeds", tests, NULL, NULL) != 0;
}
