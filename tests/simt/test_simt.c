/* SPDX-License-Identifier: Apache-2.0 */
/* The platform contract of quarry/simt/simt.h: one source of expectations for both backends, and on the CPU
 * for both modes.  The second half is what only the CPU backend promises: reports and replay. */
#include "simt/simt_kernels.h"

#include "common.h"

#include <pthread.h>

#define BLOCKS 6u
#define BLOCK_THREADS 96u
#define THREADS (BLOCKS * BLOCK_THREADS)
#define SEEDS 20u
#define DEPTHS 4u

struct fixture {
    struct quarry_target target;
    struct simt_case device;
    struct simt_seen seen[THREADS];
    uint32_t words[64];
    uint64_t wide[64];
    uint32_t out[THREADS];
};

static struct fixture f;
static struct quarry_target base_target;

static void begin(uint64_t seed)
{
    f.target = base_target;
    f.target.seed = seed;
    f.device.seen = test_memory(&f.target, sizeof f.seen);
    f.device.words = test_memory(&f.target, sizeof f.words);
    f.device.wide = test_memory(&f.target, sizeof f.wide);
    f.device.out = test_memory(&f.target, sizeof f.out);
    f.device.turns = 1;
}

static void set_word(uint32_t index, uint32_t value)
{
    assert_ok(quarry_memory_copy(&f.target, f.device.words + index, &value, sizeof value));
}

static void set_wide(uint32_t index, uint64_t value)
{
    assert_ok(quarry_memory_copy(&f.target, f.device.wide + index, &value, sizeof value));
}

static void fetch(void)
{
    assert_ok(quarry_memory_copy(&f.target, f.seen, f.device.seen, sizeof f.seen));
    assert_ok(quarry_memory_copy(&f.target, f.words, f.device.words, sizeof f.words));
    assert_ok(quarry_memory_copy(&f.target, f.wide, f.device.wide, sizeof f.wide));
    assert_ok(quarry_memory_copy(&f.target, f.out, f.device.out, sizeof f.out));
}

static void run(const struct simt_kernel *kernel, uint32_t blocks, uint32_t threads)
{
    test_run(kernel, &f.target, blocks, threads, threads * (uint32_t)sizeof(uint32_t), &f.device);
    fetch();
}

static void end(void)
{
    test_memory_free(&f.target, f.device.seen, sizeof f.seen);
    test_memory_free(&f.target, f.device.words, sizeof f.words);
    test_memory_free(&f.target, f.device.wide, sizeof f.wide);
    test_memory_free(&f.target, f.device.out, sizeof f.out);
}

/* Fast mode and, on the CPU, several seeds: of a uniform choice of lanes, and then by priority. */
static void in_every_mode(void (*test)(void))
{
    uint64_t seeds = test_on_cuda(&base_target) ? 0 : 2 * SEEDS;
    for (uint64_t seed = 0; seed <= seeds; seed++) {
        begin(seed);
        f.target.bug_depth = seed > SEEDS ? 1 + (uint32_t)seed % DEPTHS : 0;
        test();
        end();
    }
}

/* ---- identity ---- */

static void identity(void)
{
    run(&simt_identity, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        const struct simt_seen *s = &f.seen[t];
        assert_int_equal(s->thread, t);
        assert_int_equal(s->threads, THREADS);
        assert_int_equal(s->block, t / BLOCK_THREADS);
        assert_int_equal(s->blocks, BLOCKS);
        assert_int_equal(s->block_thread, t % BLOCK_THREADS);
        assert_int_equal(s->block_threads, BLOCK_THREADS);
        assert_int_equal(s->warp, t % BLOCK_THREADS / 32);
        assert_int_equal(s->lane, t % 32);
    }
}

static void every_lane_knows_its_place(void **state)
{
    (void)state;
    in_every_mode(identity);
}

/* ---- collectives ---- */

static void expect_collectives(const struct simt_seen *s, uint32_t lane, uint32_t mask)
{
    uint32_t ballot = 0, sum = 0, match = 0, match64 = 0, first = 32, last = 0;
    uint64_t sum64 = 0;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        ballot |= (l % 3 == 0 ? 1u : 0u) << l;
        sum += l + 1;
        sum64 += (uint64_t)l << 32;
        match |= (l / 8 == lane / 8 ? 1u : 0u) << l;
        match64 |= (l / 4 == lane / 4 ? 1u : 0u) << l;
        first = first == 32 ? l : first;
        last = l;
    }
    assert_int_equal(s->ballot, ballot);
    assert_int_equal(s->any, 2);
    assert_int_equal(s->all, 2);
    assert_int_equal(s->shuffle, (lane + 2) % 32 * 10);
    assert_true(s->shuffle64 == (((uint64_t)((lane + 2) % 32) << 40) | 7));
    assert_int_equal(s->match, match);
    assert_int_equal(s->match64, match64);
    assert_int_equal(s->sum, sum);
    assert_true(s->sum64 == sum64);
    assert_int_equal(s->min, first + 5);
    assert_int_equal(s->max, last + 5);
    assert_int_equal(s->bits, mask);
}

static void collectives_full(void)
{
    run(&simt_collectives_full, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++)
        expect_collectives(&f.seen[t], t % 32, SIMT_ALL_LANES);
}

static void collectives_divergent(void)
{
    run(&simt_collectives_divergent, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++)
        expect_collectives(&f.seen[t], t % 32, t % 2 ? SIMT_TEST_ODD : SIMT_TEST_EVEN);
}

static void nested_masks(void)
{
    run(&simt_nested_masks, 1, 32);
    for (uint32_t t = 0; t < 4; t++)
        assert_int_equal(f.out[t], 21 + 21 + 2 + 3);
}

static void collectives_see_the_lanes_of_their_mask(void **state)
{
    (void)state;
    in_every_mode(collectives_full);
    in_every_mode(collectives_divergent);
}

static void a_collective_waits_for_lanes_that_confer_elsewhere(void **state)
{
    (void)state;
    in_every_mode(nested_masks);
}

static void active_groups(void)
{
    run(&simt_active_groups, BLOCKS, 80); /* the last warp has 16 lanes */
    for (uint32_t t = 0; t < BLOCKS * 80; t++) {
        uint32_t group = f.seen[t].ballot, lane = t % 80 % 32, size = 0;
        assert_true(group >> lane & 1);
        for (uint32_t l = 0; l < 32; l++)
            if (group >> l & 1) {
                assert_int_equal(f.seen[t - lane + l].ballot, group);
                size++;
            }
        assert_int_equal(f.seen[t].sum, size);
    }
}

static void active_lanes_agree_on_their_group(void **state)
{
    (void)state;
    in_every_mode(active_groups);
}

/* ---- block ---- */

static void shared_reverse(void)
{
    f.device.turns = 3;
    run(&simt_shared_reverse, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t block = t / BLOCK_THREADS;
        uint32_t other = block * BLOCK_THREADS + BLOCK_THREADS - 1 - t % BLOCK_THREADS;
        assert_int_equal(f.out[t], 3 * other + 0 + 1 + 2);
    }
}

static void barrier_after_exit(void)
{
    run(&simt_barrier_after_exit, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t in_block = t % BLOCK_THREADS;
        assert_int_equal(f.out[t], in_block / 32 % 2 ? 0 : (in_block ^ 1) + 1);
    }
}

static void the_block_shares_memory_across_barriers(void **state)
{
    (void)state;
    in_every_mode(shared_reverse);
}

static void the_barrier_does_not_wait_for_lanes_that_returned(void **state)
{
    (void)state;
    in_every_mode(barrier_after_exit);
}

/* ---- atomics, order, progress ---- */

static void atomics(void)
{
    uint64_t sum = 0, returned = 0, returned64 = 0;
    set_word(3, 0xffffffffu);
    set_word(6, 0xffffffffu);
    set_wide(3, UINT64_MAX);
    set_wide(6, UINT64_MAX);
    f.device.turns = 2;
    run(&simt_atomics, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        sum += t;
        returned += f.out[t];
        returned64 += f.seen[t].sum64;
    }
    assert_int_equal(f.words[0], (uint32_t)(2 * sum));
    assert_int_equal(f.words[1], 0u - 2 * THREADS);
    assert_int_equal(f.words[2], 0xffffffffu);
    assert_int_equal(f.words[3], 0);
    assert_int_equal(f.words[4], 0); /* each bit flipped an even number of times */
    assert_int_equal(f.words[5], THREADS - 1);
    assert_int_equal(f.words[6], 1000000 - (THREADS - 1));
    assert_int_equal(f.words[7], 2 * THREADS);
    assert_true(returned + f.words[8] == sum);
    assert_true(f.wide[0] == (2 * sum << 32) + 2 * THREADS);
    assert_true(f.wide[1] == 0 - (uint64_t)2 * THREADS);
    assert_true(f.wide[2] == UINT64_MAX);
    assert_true(f.wide[3] == 0);
    assert_true(f.wide[4] == 0);
    assert_true(f.wide[5] == (uint64_t)(THREADS - 1) << 32);
    assert_true(f.wide[6] == ((uint64_t)1 << 40) - (THREADS - 1));
    assert_true(f.wide[7] == (uint64_t)2 * THREADS << 33);
    assert_true(returned64 + f.wide[8] == sum << 20);
}

static void atomic_order(void)
{
    run(&simt_atomic_order, BLOCKS, BLOCK_THREADS);
    for (uint32_t pair = 0; pair < THREADS / 2; pair++)
        assert_int_equal(f.seen[pair].max, pair + 78);
}

static void cached_order(void)
{
    run(&simt_cached_order, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = THREADS / 2; t < THREADS; t++) {
        assert_int_equal(f.seen[t].sum, t - THREADS / 2 + 1);
        assert_true(f.seen[t].max == 0 || f.seen[t].max == f.seen[t].sum);
    }
}

static void lane_lock(void)
{
    f.device.turns = 3;
    run(&simt_lane_lock, 2, 64);
    assert_int_equal(f.words[1], 3 * 2 * 64);
}

static void sync_orders(void)
{
    f.device.turns = 5;
    run(&simt_sync_orders, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t expected = 0;
        for (uint32_t turn = 1; turn <= 5; turn++)
            expected += turn * 100 + (t % 32 + turn) % 32;
        assert_int_equal(f.out[t], expected);
    }
}

static void atomics_lose_nothing(void **state)
{
    (void)state;
    in_every_mode(atomics);
}

static void acquire_sees_what_was_released(void **state)
{
    (void)state;
    in_every_mode(atomic_order);
}

static void a_cached_load_sees_what_happened_before(void **state)
{
    (void)state;
    in_every_mode(cached_order);
}

static void each_lane_makes_progress_while_siblings_spin(void **state)
{
    (void)state;
    in_every_mode(lane_lock);
}

static void sync_orders_memory_within_a_warp(void **state)
{
    (void)state;
    in_every_mode(sync_orders);
}

static void bits(void)
{
    run(&simt_bits, 1, 32);
    assert_int_equal(f.out[0], 9);
    assert_int_equal(f.out[1], 11);
    assert_int_equal(f.out[2], 31);
    assert_int_equal(f.out[3], 63);
    assert_int_equal(f.out[4], 3);
    assert_int_equal(f.out[5], 0);
    assert_int_equal(f.out[6], 31);
    assert_int_equal(f.out[7], 0);
    assert_true(f.out[8] == 0xf0f00001u);
    assert_true(f.wide[0] == 3);
    assert_true(f.wide[1] == UINT64_MAX - 1);
}

static void clock_advances(void)
{
    run(&simt_clock_advances, BLOCKS, BLOCK_THREADS);
    for (uint32_t t = 0; t < THREADS; t++)
        assert_int_equal(f.out[t], 1);
}

static void wait_for_time(void)
{
    f.device.turns = f.target.seed ? 20000 : 50000000;
    run(&simt_wait_for_time, 2, 64);
    assert_int_equal(f.out[127], 1);
}

static void waiting_for_time_is_no_deadlock(void **state)
{
    (void)state;
    in_every_mode(wait_for_time);
}

static void busy_siblings(void)
{
    f.device.turns = 10;
    run(&simt_busy_siblings, 1, 128);
    assert_int_equal(f.words[0], 1);
}

static void busy_lanes_do_not_starve_one_that_polls(void **state)
{
    (void)state;
    in_every_mode(busy_siblings);
}

static void bits_and_products(void **state)
{
    (void)state;
    in_every_mode(bits);
}

static void the_clock_does_not_go_back(void **state)
{
    (void)state;
    in_every_mode(clock_advances);
}

/* ---- the CPU backend's reports and replay ---- */

/* Launches, expects `status`, and returns the report. */
static const char *report_of(const struct simt_kernel *kernel, uint32_t blocks, uint32_t threads,
                             enum quarry_status status)
{
    struct quarry_grid grid = {blocks, threads, 0};
    enum quarry_status got = quarry_launch(kernel, &f.target, grid, &f.device);
    const char *report = quarry_error_detail();
    if (got != status)
        fail_msg("expected %s, got %s: %s", quarry_status_string(status), quarry_status_string(got), report);
    return report;
}

static void expect_text(const char *report, const char *text)
{
    if (!strstr(report, text))
        fail_msg("\"%s\" is not in the report:\n%s", text, report);
}

static void a_deadlock_is_reported_with_lanes_places_and_seed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        begin(seed);
        const char *report = report_of(&simt_wait_for_never, 2, 64, QUARRY_ERROR_DEADLOCK);
        expect_text(report, "simt_wait_for_never");
        expect_text(report, "block 0 warp 1 lanes 0x00000008: returned");
        expect_text(report, "block 1 warp 0 lanes 0xfffffff7: backing off at ");
        expect_text(report, "simt_kernels.c:");
        expect_text(report, seed == 2 ? "seed 2" : seed == 1 ? "seed 1" : "fast mode");
        end();
        begin(seed);
        report = report_of(&simt_wait_for_lane, 1, 32, QUARRY_ERROR_DEADLOCK);
        expect_text(report, "lanes 0xfffffdff: in simt_ballot of lanes 0xffffffff at ");
        expect_text(report, "lanes 0x00000200: backing off at ");
        end();
    }
}

static void the_next_launch_after_a_deadlock_works(void **state)
{
    (void)state;
    begin(0);
    report_of(&simt_wait_for_never, BLOCKS, BLOCK_THREADS, QUARRY_ERROR_DEADLOCK);
    run(&simt_identity, BLOCKS, BLOCK_THREADS);
    assert_int_equal(f.seen[THREADS - 1].thread, THREADS - 1);
    end();
}

#define LAUNCHERS 3

static void *launch_long_hold(void *status)
{
    struct quarry_grid grid = {1, 2, 0};
    *(enum quarry_status *)status = quarry_launch(&simt_long_hold, &f.target, grid, &f.device);
    return NULL;
}

/* Lanes wait for a lock that lanes of another launch hold for longer than many rounds take. */
static void launches_that_wait_for_one_another_are_no_deadlock(void **state)
{
    pthread_t threads[LAUNCHERS];
    enum quarry_status statuses[LAUNCHERS];
    (void)state;
    begin(0);
    f.device.turns = 3;
    for (uint32_t i = 0; i < LAUNCHERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_long_hold, &statuses[i]), 0);
    for (uint32_t i = 0; i < LAUNCHERS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < LAUNCHERS; i++)
        assert_int_equal(statuses[i], QUARRY_OK);
    end();
}

static void some_seed_finds_a_lock_order_deadlock(void **state)
{
    uint32_t found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct quarry_grid grid = {1, 32, 0};
        begin(seed);
        f.device.turns = 4;
        enum quarry_status status = quarry_launch(&simt_two_locks, &f.target, grid, &f.device);
        found += status == QUARRY_ERROR_DEADLOCK;
        assert_true(status == QUARRY_OK || status == QUARRY_ERROR_DEADLOCK);
        end();
    }
    assert_true(found > 0);
}

static void misused_collectives_are_reported(void **state)
{
    (void)state;
    begin(0);
    expect_text(report_of(&simt_wrong_mask, 1, 32, QUARRY_ERROR_ASSERT), "does not name its caller");
    expect_text(report_of(&simt_different_collectives, 1, 32, QUARRY_ERROR_ASSERT), "different collectives");
    expect_text(report_of(&simt_collectives_full, 1, 31, QUARRY_ERROR_ASSERT), "never was");
    end();
}

static void a_failed_assertion_names_itself_and_its_lane(void **state)
{
    (void)state;
    begin(5);
    f.device.turns = 70;
    const char *report = report_of(&simt_false_assertion, 1, 96, QUARRY_ERROR_ASSERT);
    expect_text(report, "a.turns != simt_thread()");
    expect_text(report, "block 0 warp 2 lane 6");
    end();
}

static void a_seed_replays_its_interleaving_and_others_differ(void **state)
{
    uint32_t first[THREADS], groups[THREADS], different = 0, partial = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        for (uint32_t again = 0; again < 2; again++) {
            begin(seed);
            f.device.turns = 3;
            run(&simt_trace, 3, 64);
            for (uint32_t t = 0; t < 192; t++) {
                partial += f.seen[t].ballot != SIMT_ALL_LANES;
                if (again)
                    assert_int_equal(f.seen[t].ballot, groups[t]);
                groups[t] = f.seen[t].ballot;
            }
            if (again)
                assert_memory_equal(f.out, first, sizeof first);
            else if (seed > 1)
                different += memcmp(f.out, first, sizeof first) != 0;
            memcpy(first, f.out, sizeof first);
            end();
        }
    }
    assert_int_equal(different, 7);
    assert_true(partial > 0); /* who arrives together varies */
}

static void a_depth_is_part_of_the_interleaving_and_of_the_report(void **state)
{
    uint32_t trace[DEPTHS + 1][THREADS], together = 0, partial = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (uint32_t depth = 0; depth <= DEPTHS; depth++)
            for (uint32_t again = 0; again < 2; again++) {
                begin(seed);
                f.device.turns = 20; /* long enough for change points in every window */
                f.target.bug_depth = depth;
                run(&simt_trace, 1, 16);
                if (again)
                    assert_memory_equal(f.out, trace[depth], sizeof f.out);
                memcpy(trace[depth], f.out, sizeof f.out);
                for (uint32_t t = 0; depth && t < 16; t++)
                    *(f.seen[t].ballot == 0xffffu ? &together : &partial) += 1;
                end();
            }
        assert_memory_not_equal(trace[0], trace[1], sizeof *trace);
    }
    assert_true(together > 0 && partial > 0); /* who arrives together varies */
    assert_memory_not_equal(trace[1], trace[2], sizeof *trace);
    assert_memory_not_equal(trace[2], trace[3], sizeof *trace);
    begin(2);
    f.target.bug_depth = 3;
    const char *report = report_of(&simt_wait_for_never, 2, 64, QUARRY_ERROR_DEADLOCK);
    expect_text(report, "(seed 2, depth 3)");
    expect_text(report, "block 1 warp 0 lanes 0xfffffff7: backing off at ");
    end();
}

int main(void)
{
    const struct CMUnitTest contract[] = {
        cmocka_unit_test(every_lane_knows_its_place),
        cmocka_unit_test(collectives_see_the_lanes_of_their_mask),
        cmocka_unit_test(a_collective_waits_for_lanes_that_confer_elsewhere),
        cmocka_unit_test(active_lanes_agree_on_their_group),
        cmocka_unit_test(the_block_shares_memory_across_barriers),
        cmocka_unit_test(the_barrier_does_not_wait_for_lanes_that_returned),
        cmocka_unit_test(atomics_lose_nothing),
        cmocka_unit_test(acquire_sees_what_was_released),
        cmocka_unit_test(a_cached_load_sees_what_happened_before),
        cmocka_unit_test(each_lane_makes_progress_while_siblings_spin),
        cmocka_unit_test(sync_orders_memory_within_a_warp),
        cmocka_unit_test(bits_and_products),
        cmocka_unit_test(the_clock_does_not_go_back),
        cmocka_unit_test(waiting_for_time_is_no_deadlock),
    };
    const struct CMUnitTest cpu[] = {
        cmocka_unit_test(a_deadlock_is_reported_with_lanes_places_and_seed),
        cmocka_unit_test(the_next_launch_after_a_deadlock_works),
        cmocka_unit_test(busy_lanes_do_not_starve_one_that_polls),
        cmocka_unit_test(launches_that_wait_for_one_another_are_no_deadlock),
        cmocka_unit_test(some_seed_finds_a_lock_order_deadlock),
        cmocka_unit_test(misused_collectives_are_reported),
        cmocka_unit_test(a_failed_assertion_names_itself_and_its_lane),
        cmocka_unit_test(a_seed_replays_its_interleaving_and_others_differ),
        cmocka_unit_test(a_depth_is_part_of_the_interleaving_and_of_the_report),
    };
    base_target = test_target();
    int failed = cmocka_run_group_tests_name("contract", contract, NULL, NULL);
    if (!test_on_cuda(&base_target))
        failed += cmocka_run_group_tests_name("cpu", cpu, NULL, NULL);
    return failed != 0;
}
