/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/promises.h"

#ifdef QUARRY_DISTRIBUTION /* the policies, too */
struct fixture f = {.alignment = QUARRY_ALIGNMENT,
                    .distribution = (enum quarry_distribution)QUARRY_FIXED_DISTRIBUTION};
#else
struct fixture f;
#endif
#define MOST_PAGES_FOR_FEW 65536u /* few lanes take long to count more */

const char *naming(void)
{
    static char text[512];
    snprintf(
        text, sizeof text,
        "%s, %u-bit words, %llu pages, probes %u of %u lanes, low_free %g, alignment %llu, %s, seed %llu%s",
        f.allocator, f.word_bits, (unsigned long long)f.about.pages, f.probes, f.probe_lanes, f.low_free,
        (unsigned long long)f.alignment, f.distribution ? "warp" : "no distribution",
        (unsigned long long)f.target.seed, f.note ? f.note : "");
    return text;
}

struct quarry_heap_options options_of_fixture(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    static struct test_set set;
    set = f.set;
    test_set(&set, f.allocator, "word_bits", f.word_bits);
    if (!(f.low_free > 0)) /* else they follow from that */
        test_set(&set, f.allocator, "probes", f.probes);
    test_set(&set, f.allocator, "probe_lanes", f.probe_lanes);
    options.set = set.pairs;
    options.set_count = set.count;
    options.target = f.target;
    options.allocator = f.allocator;
    options.full = f.low_free > 0 ? QUARRY_FULL_INFERRED : QUARRY_FULL_PROVEN;
    options.low_free = f.low_free;
    options.debug = f.debug;
    options.statistics = f.statistics;
    options.alignment = f.alignment;
    options.distribution = f.distribution;
    return options;
}

void begin(uint64_t pages, uint64_t page_bytes, uint32_t most_threads, uint64_t seed)
{
    struct quarry_heap_options options;
    f.target = base_target;
    f.target.seed = seed;
    options = options_of_fixture();
    options.pages = pages;
    options.page_bytes = page_bytes;
    assert_ok(quarry_heap_create(&f.heap, &options));
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    f.grains = f.no_grains ? 1 : f.about.pool_bytes / PROMISE_GRAIN + 1;
    f.empty_slots = !f.counted ? 0 : f.fixed ? pages : slots(1);
    f.blocks = 0;
    memset(&f.device, 0, sizeof f.device);
    f.device.heap = quarry_heap_handle(f.heap);
    f.device.result = test_memory(&f.target, sizeof *f.device.result);
    f.device.block = test_memory(&f.target, sizeof(void *) * most_threads);
    f.device.box = test_memory(&f.target, sizeof(uint64_t) * (most_threads + 2));
    f.device.grain = test_memory(&f.target, sizeof(struct promise_grain) * f.grains);
    f.device.pool = f.about.pool_base;
    f.device.pool_bytes = f.about.pool_bytes;
    f.device.page_bytes = page_bytes;
    f.device.stride = page_bytes + (f.distribution ? f.about.alignment : 0);
    f.device.alignment = f.about.alignment;
    f.device.bytes = page_bytes;
    f.device.lanes = SIMT_ALL_LANES;
    f.device.turns = 1;
    f.device.held = 1;
}

void end(void)
{
    uint64_t visits = 0;
    size_t bytes = sizeof(struct promise_grain) * (size_t)f.grains;
    struct promise_grain *grain = malloc(bytes);
    assert_non_null(grain);
    assert_ok(quarry_memory_copy(&f.target, grain, f.device.grain, bytes));
    for (uint64_t i = 0; i < f.grains; i++)
        visits += grain[i].visits;
    free(grain);
    expect_equal(visits, f.blocks);
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    assert_ok(quarry_heap_destroy(f.heap));
    test_memory_free(&f.target, f.device.result, 0);
    test_memory_free(&f.target, f.device.block, 0);
    test_memory_free(&f.target, f.device.box, 0);
    test_memory_free(&f.target, f.device.grain, 0);
}

void start(const struct simt_kernel *kernel, const struct quarry_target *target, uint32_t threads,
           const struct promise_case *argument)
{
    uint32_t block = argument->lanes == 1 || threads < 64 ? 32 : threads < 256 ? 64 : 256;
    if (f.block_threads)
        block = f.block_threads;
    struct quarry_grid grid = {(threads + block - 1) / block, block, 0};
    struct promise_case given = *argument;
    given.threads = threads;
    if (quarry_launch(kernel, target, grid, &given) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
}

struct promise_result judge(void)
{
    struct promise_result result;
    if (quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    assert_ok(quarry_memory_copy(&f.target, &result, f.device.result, sizeof result));
    expect_equal(result.overlaps, 0);
    expect_equal(result.misaligned, 0);
    expect_equal(result.outside, 0);
    expect_equal(result.torn, 0);
    f.blocks += result.blocks;
    return result;
}

struct promise_result run(const struct simt_kernel *kernel, uint32_t threads)
{
    assert_ok(quarry_memory_fill(&f.target, f.device.result, 0, sizeof(struct promise_result)));
    start(kernel, &f.target, threads, &f.device);
    return judge();
}

uint32_t run_blocks(const struct simt_kernel *kernel, uint32_t blocks, const void *argument,
                    const uint32_t *wrong)
{
    struct quarry_grid grid = {blocks, SIMT_LANES, 0};
    uint32_t count;
    f.target.workers = f.target.backend == QUARRY_BACKEND_CPU ? blocks : 0;
    if (quarry_launch(kernel, &f.target, grid, argument) != QUARRY_OK ||
        quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s, depth %u: %s", naming(), f.target.bug_depth, quarry_error_detail());
    assert_ok(quarry_memory_copy(&f.target, &count, wrong, sizeof count));
    return count;
}

uint32_t run_programs(uint32_t threads, uint32_t held, uint32_t boxes, uint64_t bytes, uint64_t seed)
{
    f.device.held = held;
    f.device.boxes = boxes;
    f.device.bytes = bytes < f.about.max_block_bytes ? bytes : f.about.max_block_bytes;
    f.device.program = (uint32_t)seed;
    f.device.turns = seed ? 10 : 60;
    uint32_t nulls = run(&promise_play, threads).nulls;
    expect_equal(statistics().failed_mallocs, nulls);
    expect_empty();
    return nulls;
}

uint64_t largest_page(void)
{
    uint64_t alignment = f.alignment ? f.alignment : 16;
    return ((uint64_t)1 << 20) - (f.distribution ? alignment : 0);
}

struct quarry_statistics statistics(void)
{
    struct quarry_statistics s;
    assert_ok(quarry_heap_statistics(f.heap, &s));
    return s;
}

uint64_t slots(uint64_t bytes)
{
    struct promise_slots asked = {.lanes = {SIMT_ALL_LANES, 1u << 5, 0x00802080u}, .bytes = bytes};
    uint64_t n, got[PROMISE_SLOTS];
    assert_ok(quarry_heap_slots(f.heap, bytes, &n));
    asked.heap = quarry_heap_handle(f.heap);
    asked.slots = test_memory(&f.target, sizeof got);
    if (f.about.pages > MOST_PAGES_FOR_FEW)
        asked.lanes[1] = asked.lanes[2] = 0;
    test_run(&promise_slots, &f.target, 1, PROMISE_SLOTS, 0, &asked);
    assert_ok(quarry_memory_copy(&f.target, got, asked.slots, sizeof got));
    test_memory_free(&f.target, asked.slots, sizeof got);
    for (uint32_t i = 0; i < PROMISE_SLOTS; i++)
        if (asked.lanes[i / SIMT_LANES] >> i % SIMT_LANES & 1u)
            expect_equal(got[i], n);
    return n;
}

void expect_empty(void)
{
    if (!f.counted)
        return;
    struct quarry_statistics s = statistics();
    expect_equal(s.live_blocks, 0);
    expect_equal(s.live_bytes, 0);
    if (!f.can.reuses_space) /* what was freed may be of use for blocks of its size only */
        return;
    if (f.fixed || !f.debug)
        expect_equal(s.capacity_bytes, f.about.pages * f.about.page_bytes);
    else /* debug mode's bytes are as many for a block of several pages as for one of one */
        expect(s.capacity_bytes >= f.about.pages * f.about.page_bytes);
    if (f.can.holds_pages)
        expect_equal(slots(f.about.page_bytes), f.about.pages);
    expect_equal(slots(1), f.empty_slots);
}

void set_option(const char *name, uint64_t value)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f.set.count; i++)
        if (strcmp(f.set.pairs[i].name, name) != 0)
            f.set.pairs[kept++] = f.set.pairs[i];
    f.set.count = kept;
    test_set(&f.set, f.allocator, name, value);
}

void plain_options(void)
{
    f.probes = 0;
    f.probe_lanes = 0;
    f.low_free = 0;
    f.debug = 0;
    f.statistics = 0;
    memset(&f.set, 0, sizeof f.set);
    if (test_is_of(f.allocator, "ualloc")) { /* else only large heaps have them */
        set_option("spans", 1);
        set_option("span_pages", 8);
    }
    f.block_threads = 0;
    f.no_grains = 0;
    f.note = NULL;
    base_target.bug_depth = 0;
}

struct quarry_heap_description describe_default(void)
{
    struct quarry_heap_description about;
    quarry_heap *heap;
    f.target = base_target;
    struct quarry_heap_options options = options_of_fixture();
    options.pages = 2;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_ok(quarry_heap_destroy(heap));
    return about;
}

enum whom { COUNTED, PROVING, EVERY };

static void for_allocators(void (*test)(void), enum whom whom)
{
    static const uint32_t widths[] = {32, 64};
    int tested = 0, left_out = 0;
    const char *distribution = getenv("QUARRY_TEST_DISTRIBUTION");
    if (distribution && strcmp(distribution, "warp") == 0)
        f.distribution = QUARRY_DISTRIBUTION_WARP;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        assert_ok(quarry_allocator_describe(i, &info));
        if (!is_chosen(info.name))
            continue;
        if (whom == PROVING && !info.proves_full) {
            left_out = 1;
            continue;
        }
        if (whom != EVERY &&
            !info.counts_slots) { /* blocks outside the pool, a fullness that nobody proves */
            left_out = 1;
            continue;
        }
        f.allocator = info.name;
        f.can = info;
        f.counted = info.counts_slots;
        f.word_bits = 0;
        plain_options();
        struct quarry_heap_description about = describe_default();
        uint32_t kinds = described(&about, "word_bits") ? 2 : 1;
        f.fixed = info.whole_pages;
        f.several = !info.whole_pages && !info.page_parts;
        for (uint32_t w = 0; w < kinds; w++) {
            f.word_bits = kinds == 2 ? widths[w] : 0;
            plain_options();
            test();
            tested = 1;
        }
    }
    if (!tested && left_out)
        skip();
    if (!tested)
        fail_msg("no allocator \"%s\" here", getenv("QUARRY_TEST_ALLOCATOR"));
}

void for_each_allocator(void (*test)(void))
{
    for_allocators(test, COUNTED);
}

void for_each_proof(void (*test)(void))
{
    for_allocators(test, PROVING);
}

void for_every_allocator(void (*test)(void))
{
    for_allocators(test, EVERY);
}
