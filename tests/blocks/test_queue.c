/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of numbers and the store of chunks: no number is lost or had twice, tickets may wrap, and the store says
 * that it is empty only when it is. */
#include "blocks/queue_kernels.h"
#include "blocks/seeds.h"

static struct quarry_target target;

struct queue_after {
    uint32_t counts[QUEUE_COUNTS];
    struct quarry_index_queue_ends ends;
    struct quarry_chunks_head head;
};

static struct queue_after run(const struct simt_kernel *start, const struct simt_kernel *kernel,
                              struct queue_case c, uint32_t slots, uint32_t blocks, uint32_t threads)
{
    struct quarry_target plain = test_plain(target);
    struct queue_after after;
    uint32_t *slot = test_memory(&plain, sizeof *slot * slots), *left = malloc(sizeof *left * slots);
    uint32_t *visits = malloc(sizeof *visits * c.numbers), all = 0, there = 0;
    assert_non_null(left);
    assert_non_null(visits);
    c.queue.ends = test_memory(&plain, sizeof *c.queue.ends);
    c.queue.slot = slot;
    c.queue.mask = slots - 1;
    c.store.head = test_memory(&plain, sizeof *c.store.head);
    c.store.returned.ends = &c.store.head->returned;
    c.store.returned.slot = slot;
    c.store.returned.mask = slots - 1;
    c.store.count = c.numbers;
    c.holder = test_memory(&plain, sizeof *c.holder * c.numbers);
    c.visits = test_memory(&plain, sizeof *c.visits * c.numbers);
    c.counts = test_memory(&plain, sizeof after.counts);
    test_run(start, &plain, 1, 32, 0, &c);
    test_run(kernel, &target, blocks, threads, 0, &c);
    assert_ok(quarry_memory_copy(&plain, after.counts, c.counts, sizeof after.counts));
    assert_ok(quarry_memory_copy(&plain, &after.ends, c.queue.ends, sizeof after.ends));
    assert_ok(quarry_memory_copy(&plain, &after.head, c.store.head, sizeof after.head));
    assert_ok(quarry_memory_copy(&plain, visits, c.visits, sizeof *visits * c.numbers));
    assert_ok(quarry_memory_copy(&plain, left, slot, sizeof *left * slots));
    for (uint32_t i = 0; i < c.numbers; i++)
        all += visits[i];
    for (uint32_t i = 0; i < slots; i++)
        there += left[i] != QUARRY_NO_INDEX;
    assert_int_equal(after.counts[QUEUE_WRONG], 0);
    assert_int_equal(all, after.counts[QUEUE_TAKEN]);
    assert_int_equal(there, start == &queue_start ? c.numbers : after.head.fresh);
    free(left);
    free(visits);
    test_memory_free(&plain, slot, sizeof *slot * slots);
    test_memory_free(&plain, c.queue.ends, sizeof *c.queue.ends);
    test_memory_free(&plain, c.store.head, sizeof *c.store.head);
    test_memory_free(&plain, c.holder, sizeof *c.holder * c.numbers);
    test_memory_free(&plain, c.visits, sizeof *c.visits * c.numbers);
    test_memory_free(&plain, c.counts, sizeof after.counts);
    return after;
}

/* As many numbers as lanes, so that each claim is granted; tickets begin shortly before they wrap. */
static void rounds(uint64_t seed)
{
    struct queue_case c = {0};
    uint32_t threads = 2 + (uint32_t)(seed % 5), slots = 8;
    c.numbers = threads;
    c.rounds = 2 + (uint32_t)(seed / 5 % 4);
    c.hold = (uint32_t)(seed / 3 % 5);
    c.ticket = (uint32_t)0 - threads - (uint32_t)(seed / 7 % 12);
    struct queue_after after = run(&queue_start, &queue_rounds, c, slots, 1, threads);
    assert_int_equal(after.counts[QUEUE_NONE], 0);
    assert_int_equal(after.ends.count, c.numbers);
    assert_int_equal(after.ends.back, after.ends.front + c.numbers);
    assert_int_equal(after.ends.back, c.ticket + c.numbers + threads * c.rounds);
}

static void tickets_may_wrap(void **state)
{
    (void)state;
    test_for_seeds(&target, rounds, 4000);
}

/* Fewer numbers than lanes, as many slots as numbers, and some are taken out of the middle. */
static void tight(uint64_t seed)
{
    struct queue_case c = {0};
    uint32_t threads = 3 + (uint32_t)(seed % 5), slots = 1u << (seed / 5 % 3);
    c.numbers = slots;
    c.rounds = 2 + (uint32_t)(seed / 5 % 4);
    c.hold = (uint32_t)(seed / 3 % 5);
    c.removes = (uint32_t)(seed / 2 % 3);
    c.ticket = (uint32_t)(seed / 7 % 12) - 6u;
    struct queue_after after = run(&queue_start, &queue_rounds, c, slots, 1, threads);
    assert_int_equal(after.ends.count, c.numbers);
    assert_int_equal(after.ends.back, after.ends.front + c.numbers);
}

static void no_number_is_lost_or_had_twice(void **state)
{
    (void)state;
    test_for_seeds(&target, tight, 4000);
}

/* Tickets of puts that nobody used cost a way around the ring once, and not at each take. */
static void drifts(uint64_t seed)
{
    struct queue_case c = {0};
    c.numbers = 1 + (uint32_t)(seed % 8);
    c.rounds = 4;
    c.hold = (uint32_t)(seed / 8 % 49 + seed / 392 % 3 * (seed % 2 ? 64 : 96));
    c.ticket = 0u - 3u * c.hold;
    struct queue_after after = run(&queue_start, &queue_drifts, c, seed % 2 ? 64 : 256, 1, 1);
    assert_int_equal(after.counts[QUEUE_TAKEN], 2 * c.rounds * c.numbers);
}

static void who_finds_its_number_far_away_moves_front_on(void **state)
{
    (void)state;
    test_for_seeds(&target, drifts, 1200);
}

/* Who looks around sees all slots, and the near ones again and again: a number may come to one behind it. */
static void who_looks_around_comes_back(void **state)
{
    const struct quarry_index_queue queue = {NULL, NULL, 255};
    const uint32_t ticket = 0u - 7u;
    uint32_t seen[256] = {0};
    (void)state;
    for (uint32_t vain = 0; vain < 511 + QUARRY_INDEX_QUEUE_PATIENCE; vain++)
        seen[quarry_index_queue_at(&queue, ticket, vain)]++;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t behind = (ticket - i) & 255u, near = behind < 128 ? 2 * behind : 2 * (256 - behind) - 1;
        uint32_t rounds = 0;
        while (256u >> rounds > near)
            rounds++;
        assert_int_equal(seen[i], rounds + (near == 0 ? QUARRY_INDEX_QUEUE_PATIENCE : 0));
    }
}

/* As many chunks as lanes: never is none left. */
static void enough(uint64_t seed)
{
    struct queue_case c = {0};
    uint32_t threads = 2 + (uint32_t)(seed % 7);
    c.numbers = threads;
    c.rounds = 2 + (uint32_t)(seed / 7 % 4);
    c.hold = (uint32_t)(seed / 3 % 5);
    struct queue_after after = run(&store_start, &store_rounds, c, 8, 1, threads);
    assert_int_equal(after.counts[QUEUE_NONE], 0);
    assert_int_equal(quarry_chunks_left(after.head.word), c.numbers);
    assert_int_equal(after.head.word & QUARRY_CHUNKS_TRANSIT, 0);
}

static void an_empty_store_is_proven(void **state)
{
    (void)state;
    test_for_seeds(&target, enough, 4000);
}

static void scarce(uint64_t seed)
{
    struct queue_case c = {0};
    uint32_t threads = 2 + (uint32_t)(seed % 7);
    c.numbers = 1 + (uint32_t)(seed / 7 % threads);
    c.rounds = 2 + (uint32_t)(seed / 7 % 4);
    c.hold = (uint32_t)(seed / 3 % 5);
    struct queue_after after = run(&store_start, &store_rounds, c, 8, 1, threads);
    assert_int_equal(after.counts[QUEUE_NONE] + after.counts[QUEUE_TAKEN], threads * c.rounds);
    assert_int_equal(quarry_chunks_left(after.head.word), c.numbers);
    assert_int_equal(after.head.word & QUARRY_CHUNKS_TRANSIT, 0);
}

static void no_chunk_is_lost_or_had_twice(void **state)
{
    (void)state;
    test_for_seeds(&target, scarce, 4000);
}

static void many(void **state)
{
    struct queue_case c = {0};
    uint32_t blocks = test_on_cuda(&target) ? 512 : 8;
    (void)state;
    c.rounds = 20;
    c.numbers = blocks * 128;
    for (uint32_t i = 0; i < 2; i++, c.numbers /= 2) {
        c.ticket = 0xfffffff0u;
        (void)run(&queue_start, &queue_rounds, c, blocks * 128, blocks, 128);
        c.ticket = 0;
        struct queue_after after = run(&store_start, &store_rounds, c, blocks * 128, blocks, 128);
        assert_true(i == 1 || after.counts[QUEUE_NONE] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(tickets_may_wrap, &target),
        test_with_seeds(no_number_is_lost_or_had_twice, &target),
        test_with_seeds(who_finds_its_number_far_away_moves_front_on, &target),
        cmocka_unit_test(who_looks_around_comes_back),
        test_with_seeds(an_empty_store_is_proven, &target),
        test_with_seeds(no_chunk_is_lost_or_had_twice, &target),
        cmocka_unit_test(many),
    };
    target = test_target();
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL) != 0;
}
