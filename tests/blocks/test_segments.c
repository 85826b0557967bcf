/* SPDX-License-Identifier: Apache-2.0 */
/* Queues in segments: no number is lost or had twice, no segment is used by anybody else, positions wrap, and an empty
 * queue gives all its chunks back. */
#include "blocks/segments_kernels.h"
#include "blocks/seeds.h"

static struct quarry_target target;

struct segments_after {
    uint32_t counts[SEGMENTS_COUNTS];
    struct quarry_chunks_head head;
    uint32_t segments;
};

/* Runs the case with so many chunks of so many slots, and looks at what is left.
 *   entries   of each directory */
static struct segments_after run(struct segments_case c, uint32_t chunks, uint32_t shift, uint32_t entries,
                                 uint32_t blocks, uint32_t threads)
{
    struct quarry_target plain = target;
    struct segments_after after;
    struct quarry_chunks *store = &c.queues.store;
    uint32_t numbers = c.numbers * SEGMENTS_QUEUES, all = blocks * threads, ring = 1, had = 0, kept = 0;
    uint32_t *visits = malloc(sizeof *visits * numbers), *keeps = malloc(sizeof *keeps * all);
    assert_non_null(visits);
    assert_non_null(keeps);
    plain.seed = 0;
    plain.bug_depth = 0;
    while (ring < chunks)
        ring *= 2;
    c.threads = all;
    store->head = test_memory(&plain, sizeof *store->head);
    store->returned.ends = &store->head->returned;
    store->returned.slot = test_memory(&plain, sizeof(uint32_t) * ring);
    store->returned.mask = ring - 1;
    store->count = chunks;
    c.holder = test_memory(&plain, sizeof *c.holder * numbers);
    c.visits = test_memory(&plain, sizeof *c.visits * numbers);
    c.kept = test_memory(&plain, sizeof *c.kept * all);
    c.counts = test_memory(&plain, sizeof after.counts);
    struct quarry_segments *q = &c.queues;
    q->link = test_memory(&plain, sizeof *q->link * chunks);
    q->taken = test_memory(&plain, sizeof *q->taken * chunks);
    q->readers = test_memory(&plain, sizeof *q->readers * chunks);
    q->segments = test_memory(&plain, sizeof *q->segments);
    q->base = test_memory(&plain, (size_t)chunks << (shift + 2));
    q->stride = (uint64_t)4 << shift;
    quarry_segments_shape(q, shift, entries);
    q->ends = test_memory(&plain, sizeof *q->ends * SEGMENTS_QUEUES);
    q->directory = test_memory(&plain, sizeof *q->directory * entries * SEGMENTS_QUEUES);
    test_run(&segments_start, &plain, 1, 32, 0, &c);
    const struct simt_kernel *kernel = c.proves   ? &segments_proof
                                       : c.draws  ? &segments_draws
                                       : c.stalls ? &segments_stall
                                       : c.gap    ? &segments_gap
                                                  : &segments_rounds;
    test_run(kernel, &target, blocks, threads, 0, &c);
    assert_ok(quarry_memory_copy(&plain, keeps, c.kept, sizeof *keeps * all));
    for (uint32_t i = 0; i < all; i++)
        kept += keeps[i] != QUARRY_NO_INDEX;
    assert_ok(quarry_memory_copy(&plain, after.counts, c.counts, sizeof after.counts));
    had = after.counts[SEGMENTS_TAKEN];
    test_run(&segments_empty, &plain, 1, 32, 0, &c);
    assert_ok(quarry_memory_copy(&plain, after.counts, c.counts, sizeof after.counts));
    assert_ok(quarry_memory_copy(&plain, &after.head, store->head, sizeof after.head));
    assert_ok(quarry_memory_copy(&plain, &after.segments, q->segments, sizeof after.segments));
    assert_ok(quarry_memory_copy(&plain, visits, c.visits, sizeof *visits * numbers));
    assert_int_equal(after.counts[SEGMENTS_WRONG], 0);
    assert_int_equal(kept + after.counts[SEGMENTS_TAKEN] - had, numbers < all ? numbers : all);
    for (uint32_t i = 0, sum = 0; i < numbers; i++) {
        sum += visits[i];
        assert_true(i + 1 < numbers || sum == after.counts[SEGMENTS_TAKEN]);
    }
    assert_int_equal(after.segments, 0);
    assert_int_equal(quarry_chunks_left(after.head.word), chunks);
    assert_int_equal(after.head.word & QUARRY_CHUNKS_TRANSIT, 0);
    free(visits);
    free(keeps);
    test_memory_free(&plain, q->ends, 0);
    test_memory_free(&plain, q->directory, 0);
    test_memory_free(&plain, q->link, 0);
    test_memory_free(&plain, q->taken, 0);
    test_memory_free(&plain, q->readers, 0);
    test_memory_free(&plain, q->segments, 0);
    test_memory_free(&plain, q->base, 0);
    test_memory_free(&plain, store->head, 0);
    test_memory_free(&plain, store->returned.slot, 0);
    test_memory_free(&plain, c.holder, 0);
    test_memory_free(&plain, c.visits, 0);
    test_memory_free(&plain, c.kept, 0);
    test_memory_free(&plain, c.counts, 0);
    return after;
}

static struct segments_case small(uint64_t seed)
{
    struct segments_case c = {0};
    c.rounds = 4 + (uint32_t)(seed / 5 % 23);
    c.hold = (uint32_t)(seed / 3 % 4);
    c.queues.list = (uint32_t)(seed / 2 % 2);
    c.peeks = (uint32_t)(seed / 3 % 3);
    return c;
}

/* Chunks for all: no put is in vain.  Segments of 4 or 8 slots come and go; the fifth begins at position 0. */
static void enough(uint64_t seed)
{
    struct segments_case c = small(seed);
    uint32_t threads = 3 + (uint32_t)(seed % 9);
    c.numbers = (threads + 1) / 2;
    c.chunks = (uint32_t)(seed / 2 % 3);
    struct segments_after after = run(c, 200, 2 + (uint32_t)(seed / 4 % 2), 64, 1, threads);
    if (c.peeks == 0) /* else puts don't wait for slots that others bring */
        assert_int_equal(after.counts[SEGMENTS_FULL], 0);
}

static void segments_come_and_go(void **state)
{
    (void)state;
    test_for_seeds(&target, enough, 3000);
}

/* Few chunks, directories that are full, slots that are used up, and chunks in the hands of others. */
static void scarce(uint64_t seed)
{
    struct segments_case c = small(seed);
    uint32_t threads = 3 + (uint32_t)(seed % 9);
    c.numbers = 1 + (uint32_t)(seed / 9 % threads) / 2;
    c.shuts = (uint32_t)(seed / 2 % 4);
    c.chunks = (uint32_t)(seed / 8 % 3);
    (void)run(c, 1 + (uint32_t)(seed / 11 % 5), 1 + (uint32_t)(seed / 7 % 2), 2, 1, threads);
}

static void a_full_heap_and_a_full_directory_lose_nothing(void **state)
{
    (void)state;
    test_for_seeds(&target, scarce, 3000);
}

/* Arrays whose directories are full most of the time, while there are chunks for all. */
static void narrow(uint64_t seed)
{
    struct segments_case c = small(seed);
    uint32_t threads = 3 + (uint32_t)(seed % 9), blocks = 1 + (uint32_t)(seed / 2 % 3);
    c.numbers = (1 + (uint32_t)(seed / 9 % 2)) * threads * blocks / 4;
    c.shuts = (uint32_t)(seed / 5 % 3);
    c.queues.list = 0;
    (void)run(c, 100, 1 + (uint32_t)(seed / 7 % 2), 2, blocks, threads);
}

static void a_number_is_drawn_when_its_entry_is_free(void **state)
{
    (void)state;
    test_for_seeds(&target, narrow, 3000);
}

/* Others' segments go while one that knows nothing of them draws the number that comes next in their entry. */
static void draws(uint64_t seed)
{
    struct segments_case c = {0};
    c.draws = 1 + (uint32_t)(seed / 24 % 2);
    c.numbers = 1;
    c.rounds = 1 + (uint32_t)(seed / 2 % 3);
    (void)run(c, 8, 1, 2, 3 + (uint32_t)(seed / 6 % 4), c.draws);
}

static void who_draws_a_number_knows_that_its_entry_is_free(void **state)
{
    (void)state;
    test_for_seeds(&target, draws, 3000);
}

/* Lists whose directories have one entry, so that most look for their segments, while few chunks turn over fast. */
static void walks(uint64_t seed)
{
    struct segments_case c = small(seed);
    uint32_t threads = 4 + (uint32_t)(seed % 9);
    c.numbers = 1 + threads / 3;
    c.rounds = 20 + (uint32_t)(seed / 9 % 30);
    c.shuts = 1 + (uint32_t)(seed / 2 % 3);
    c.queues.list = 1;
    (void)run(c, 2 + (uint32_t)(seed / 11 % 5), 2, 1, 1, threads);
}

static void who_walks_over_a_list_meets_no_other_segment(void **state)
{
    (void)state;
    test_for_seeds(&target, walks, 3000);
}

/* Lists of tiny segments that go before who made them has left a hint.  Then nobody may be led by it to a chunk of
 * somebody else. */
static void hints(uint64_t seed)
{
    struct segments_case c = small(seed);
    uint32_t threads = 4 + (uint32_t)(seed % 6);
    c.numbers = 1 + threads / 4;
    c.rounds = 20 + (uint32_t)(seed / 9 % 30);
    c.shuts = 1 + (uint32_t)(seed / 2 % 3);
    c.chunks = c.peeks = 1 + (uint32_t)(seed / 4 % 2);
    c.queues.list = 1;
    (void)run(c, 1 + (uint32_t)(seed / 11 % 4), 1, 2, 1 + (uint32_t)(seed / 3 % 2), threads);
}

static void no_hint_outlives_its_segment(void **state)
{
    (void)state;
    test_for_seeds(&target, hints, 3000);
}

static void proofs(uint64_t seed)
{
    struct segments_case c = small(seed);
    c.numbers = 1;
    c.rounds = 20 + (uint32_t)(seed / 9 % 30);
    c.proves = 1;
    (void)run(c, 1, 1, 2, 2, 1);
}

static void a_segment_that_goes_is_a_chunk_or_in_transit(void **state)
{
    (void)state;
    test_for_seeds(&target, proofs, 3000);
}

static void many(void **state)
{
    struct segments_case c = {0};
    uint32_t blocks = test_on_cuda(&target) ? 512 : 8;
    (void)state;
    c.rounds = 40;
    c.numbers = blocks * 64;
    for (uint32_t i = 0; i < 8; i++) {
        c.shuts = i % 2 * 5;
        c.chunks = i / 2 % 2 * 3;
        c.queues.list = i / 4;
        c.peeks = i % 3;
        (void)run(c, blocks * 8, i % 2 ? 6 : 4, i % 2 ? 4 : 1024, blocks, 128);
    }
}

/* Who looks has no position.  100 segments are retired meanwhile, and the one that it looks at stays what it is. */
static void a_reader_may_stand_still(void **state)
{
    struct segments_case c = {0};
    (void)state;
    c.stalls = c.peeks = 1;
    c.rounds = 102;
    c.numbers = 8;
    for (c.queues.list = 0; c.queues.list < 2; c.queues.list++)
        (void)run(c, 5, 2, 4, 1, 1);
}

/* No put waits for somebody else: it has looked for room long enough when it has installed 16 segments. */
static void a_put_gives_up_where_another_stands_still(void **state)
{
    struct segments_case c = {0};
    (void)state;
    c.gap = 1;
    c.numbers = 1;
    (void)run(c, 64, 2, 64, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(segments_come_and_go, &target),
        test_with_seeds(a_full_heap_and_a_full_directory_lose_nothing, &target),
        test_with_seeds(a_number_is_drawn_when_its_entry_is_free, &target),
        test_with_seeds(who_draws_a_number_knows_that_its_entry_is_free, &target),
        test_with_seeds(who_walks_over_a_list_meets_no_other_segment, &target),
        test_with_seeds(no_hint_outlives_its_segment, &target),
        test_with_seeds(a_segment_that_goes_is_a_chunk_or_in_transit, &target),
        cmocka_unit_test(a_reader_may_stand_still),
        cmocka_unit_test(a_put_gives_up_where_another_stands_still),
        cmocka_unit_test(many),
    };
    target = test_target();
    return cmocka_run_group_tests_name("segments", tests, NULL, NULL) != 0;
}
