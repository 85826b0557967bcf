/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/promises_sizes.h"
#include "alloc/promises.h"

#define SEEDS 60u
#define PAGE_BYTES 64u

/* Each thread its own program, with blocks of 1 byte to `most` pages.  With `room` no malloc may fail. */
static void play(uint32_t threads, uint32_t most, uint32_t room, uint32_t pages, uint64_t seed)
{
    begin(pages, PAGE_BYTES, threads, seed);
    f.device.kept = (uint32_t)seed % 3;
    uint32_t nulls = run_programs(threads, 2, 3, (uint64_t)most * PAGE_BYTES, seed);
    if (room && f.can.reuses_space)
        expect_equal(nulls, 0);
    end();
}

/* As many pages as `blocks` blocks of up to `most` pages can need, wherever they lie.  They occupy
 * blocks * most, and before and behind each of them a run of most - 1 may be free and too short; with as many
 * again and one more there is always one that is long enough.  Then four times that: who looks for a run sees
 * others move. */
static uint32_t enough(uint32_t blocks, uint32_t most)
{
    return 4 * (blocks * most + (blocks + 1) * (most - 1) + 1);
}

static void plays(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 2; seed++) {
        uint32_t threads = seed % 2 ? 33 : 64, most = 1 + (uint32_t)seed % 5;
        play(threads, most, 1, enough(2 * threads + 3, most), seed);
        play(threads, most, 0, 5 + 10 * ((uint32_t)seed % 7), seed);
    }
    if (test_on_cuda(&base_target)) {
        uint32_t threads = capped(1u << 14);
        play(threads, 4, 1, enough(2 * threads + 3, 4), 0);
        play(threads, 4, 0, threads, 0);
    }
}

void blocks_of_all_sizes_are_disjoint(void **state)
{
    (void)state;
    for_each_allocator(plays);
}

/* ---- slots ---- */

/* Fills the heap with blocks of one size, frees 31 of 32, and fills it again.  Blocks of more than a page may
 * have left gaps, and frees may join them: then slots are an upper bound of what is got, and the blocks freed
 * a lower bound of slots. */
static void fill_with(uint64_t bytes, uint32_t pages, uint64_t seed)
{
    begin(pages, PAGE_BYTES, 45 + pages * (PAGE_BYTES / 16), seed);
    uint64_t empty = slots(bytes), before = empty;
    uint32_t threads = 45 + (uint32_t)empty;
    int exact = bytes <= PAGE_BYTES;
    expect((empty > 0) == (bytes <= f.about.max_block_bytes));
    f.device.bytes = bytes;
    f.device.turns = SIMT_LANES;
    for (uint32_t again = 0; again < 3 && empty; again++) {
        uint64_t live = again ? statistics().live_blocks : 0;
        uint64_t got = run(&promise_malloc, threads).blocks;
        expect((got > 0) == (before > 0) && got <= before && (got == before || !exact));
        expect_equal(slots(bytes), 0);
        struct quarry_statistics s = statistics();
        expect_equal(s.live_blocks, live + got);
        expect(s.live_bytes >= (live + got) * bytes && s.live_bytes <= pages * PAGE_BYTES);
        expect(s.largest_free_bytes < bytes);
        run(&promise_verify, threads);
        run(&promise_sieve, threads);
        uint64_t freed = live + got - statistics().live_blocks;
        before = slots(bytes);
        expect(freed > 0 ||
               live + got <= (threads + SIMT_LANES - 1) / SIMT_LANES); /* all may have been kept */
        expect(before >= freed && (before == freed || !exact));
        assert_ok(quarry_heap_check(f.heap));
    }
    if (empty)
        run(&promise_free, threads);
    expect_equal(slots(bytes), empty);
    expect_empty();
    end();
}

static void fills(void)
{
    static const uint64_t sizes[] = {1,
                                     16,
                                     17,
                                     PAGE_BYTES / 2,
                                     PAGE_BYTES - 1,
                                     PAGE_BYTES,
                                     PAGE_BYTES + 1,
                                     3 * PAGE_BYTES,
                                     7 * PAGE_BYTES - 5,
                                     40 * PAGE_BYTES};
    if (f.distribution) /* several requests may share a slot */
        return;
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 20; seed++)
        for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            fill_with(sizes[i], 39, seed);
            fill_with(sizes[i], seed ? 101 : 2000, seed);
        }
}

void slots_are_right_for_every_size(void **state)
{
    (void)state;
    for_each_allocator(fills);
}

/* Fills the heap with blocks of one size, frees them all, and asks for another size: an allocator whose line
 * says that freed space serves any size has room for as many as in a new heap, and gives them. */
static void refill(uint64_t first, uint64_t second, uint64_t seed)
{
    begin(39, PAGE_BYTES, 39 * (PAGE_BYTES / 16) + 45, seed);
    const uint64_t fits = slots(second);
    f.device.bytes = first;
    uint64_t got = run(&promise_malloc, (uint32_t)slots(first) + 45).blocks;
    expect(got > 0);
    run(&promise_free, (uint32_t)got + 45);
    expect(slots(second) <= fits);
    if (f.can.reuses_space) {
        expect_equal(slots(second), fits);
        f.device.bytes = second;
        uint64_t again = run(&promise_malloc, (uint32_t)fits + 45).blocks;
        expect(second <= PAGE_BYTES ? again == fits : again > 0);
        run(&promise_free, (uint32_t)fits + 45);
    }
    expect_empty();
    end();
}

static void refills(void)
{
    static const uint64_t sizes[] = {16, 100, PAGE_BYTES / 2, PAGE_BYTES, 3 * PAGE_BYTES};
    if (f.distribution) /* several requests may share a slot */
        return;
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 30; seed++)
        for (uint32_t i = 0; i < 5; i++)
            for (uint32_t k = 0; k < 5; k++)
                if (f.several || (sizes[i] <= PAGE_BYTES && sizes[k] <= PAGE_BYTES))
                    refill(sizes[i], sizes[k], seed);
}

void freed_space_serves_other_sizes(void **state)
{
    (void)state;
    for_each_allocator(refills);
}

/* Among the blocks of so many threads one thread asks for as much as there is, and for a byte more. */
static void largest_of(uint32_t pages, uint32_t threads, uint64_t seed)
{
    begin(pages, PAGE_BYTES, threads + 1, seed);
    expect_equal(statistics().largest_free_bytes, f.about.max_block_bytes);
    run(&promise_malloc, threads);
    f.device.turns = 2 + (uint32_t)seed % 5;
    run(&promise_thin, threads);
    uint64_t most = statistics().largest_free_bytes;
    struct promise_case all = f.device;
    f.device.block += threads;
    f.device.first = threads;
    f.device.bytes = most + 1;
    expect_equal(run(&promise_malloc, 1).nulls, 1);
    f.device.bytes = most;
    expect_equal(run(&promise_malloc, 1).nulls, 0);
    run(&promise_verify, 1);
    run(&promise_free, 1);
    f.device = all;
    run(&promise_verify, threads);
    run(&promise_free, threads);
    expect_empty();
    end();
}

static void largest(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 10; seed++)
        largest_of(50 + (uint32_t)seed, 50 + (uint32_t)seed, seed);
    largest_of(300000, 4, 0); /* runs that many warps of a census see a part of */
}

void the_largest_free_block_can_be_had(void **state)
{
    (void)state;
    for_each_allocator(largest);
}
