/* SPDX-License-Identifier: Apache-2.0 */
/* The building blocks of quarry/core, each against a slow and obvious version of itself. */
#include "unit/core_kernels.h"

#include "common.h"

#define WORDS 512u
#define SEEDS 200u

static struct quarry_target base_target;
static uint64_t noise = 42;

static uint32_t random_word(void)
{
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(noise >> 32);
}

static void to_device(void *device, const void *host, uint64_t bytes)
{
    assert_ok(quarry_memory_copy(&base_target, device, host, bytes));
}

static void from_device(void *host, const void *device, uint64_t bytes)
{
    assert_ok(quarry_memory_copy(&base_target, host, device, bytes));
}

static uint32_t slow_kth_set(uint32_t x, uint32_t k)
{
    for (uint32_t i = 0; i < 32; i++)
        if (x >> i & 1 && --k == 0)
            return i;
    return 32;
}

static void kth_set_finds_every_bit(void **state)
{
    static uint32_t in[WORDS], out[WORDS * 33];
    struct core_case c = {0};
    (void)state;
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = i < 32   ? 1u << i
                : i < 64 ? 0xffffffffu << (i - 32)
                : i < 96 ? 0xffffffffu >> (i - 64) & 0x7ffffff0u
                         : random_word() & random_word();
    c.in = test_memory(&base_target, sizeof in);
    c.out = test_memory(&base_target, sizeof out);
    c.n = WORDS;
    to_device(c.in, in, sizeof in);
    test_run(&core_kth_set, &base_target, WORDS / 256, 256, 0, &c);
    from_device(out, c.out, sizeof out);
    for (uint32_t i = 0; i < WORDS; i++)
        for (uint32_t k = 1; k <= 33; k++)
            assert_int_equal(out[i * 33 + k - 1], slow_kth_set(in[i], k));
    test_memory_free(&base_target, c.in, sizeof in);
    test_memory_free(&base_target, c.out, sizeof out);
}

static void division_is_exact(void **state)
{
    static uint32_t out[WORDS];
    struct core_case c = {0};
    (void)state;
    c.n = WORDS;
    c.out = test_memory(&base_target, sizeof out);
    test_run(&core_divide, &base_target, WORDS / 256, 256, 0, &c);
    from_device(out, c.out, sizeof out);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(out[i], 0);
    test_memory_free(&base_target, c.out, sizeof out);
}

static void remainders_are_exact_and_mixed_numbers_differ(void **state)
{
    static uint32_t in[WORDS], out[WORDS];
    static uint64_t inverse[WORDS];
    struct core_case c = {0};
    (void)state;
    for (uint32_t i = 0; i < WORDS; i++) {
        in[i] = i < 64 ? i + 1 : i < 96 ? ~0u >> (i - 64) : random_word() >> i % 32 | 1u;
        inverse[i] = quarry_inverse_u32(in[i]);
    }
    c.n = WORDS;
    c.in = test_memory(&base_target, sizeof in);
    c.wide = test_memory(&base_target, sizeof inverse);
    c.out = test_memory(&base_target, sizeof out);
    to_device(c.in, in, sizeof in);
    to_device(c.wide, inverse, sizeof inverse);
    for (int mix = 0; mix < 2; mix++) {
        test_run(mix ? &core_mix : &core_modulo, &base_target, WORDS / 256, 256, 0, &c);
        from_device(out, c.out, sizeof out);
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(out[i], 0);
    }
    test_memory_free(&base_target, c.in, sizeof in);
    test_memory_free(&base_target, c.wide, sizeof inverse);
    test_memory_free(&base_target, c.out, sizeof out);
}

static void the_kth_giver_serves_the_kth_needy_lane(void **state)
{
    static uint32_t in[2 * 64], out[64 * 32];
    struct core_case c = {0};
    (void)state;
    for (uint32_t i = 0; i < 128; i++)
        in[i] = i < 2 ? 0xffffffffu : i < 4 ? i - 2 : random_word() & (i % 3 ? random_word() : ~0u);
    c.in = test_memory(&base_target, sizeof in);
    c.out = test_memory(&base_target, sizeof out);
    to_device(c.in, in, sizeof in);
    test_run(&core_share, &base_target, 64, 32, 0, &c);
    from_device(out, c.out, sizeof out);
    for (uint32_t pair = 0; pair < 64; pair++) {
        uint32_t has = in[2 * pair], needs = in[2 * pair + 1], served = 0, expected[32] = {0};
        for (uint32_t lane = 0; lane < 32; lane++)
            if (needs >> lane & 1 && slow_kth_set(has, served + 1) < 32) {
                uint32_t giver = slow_kth_set(has, ++served);
                expected[lane] += 1000 + giver;
                expected[giver] += 1u << 16;
            }
        for (uint32_t lane = 0; lane < 32; lane++)
            assert_int_equal(out[pair * 32 + lane], expected[lane]);
    }
    test_memory_free(&base_target, c.in, sizeof in);
    test_memory_free(&base_target, c.out, sizeof out);
}

static void page_numbers_survive_the_division(void **state)
{
    static uint32_t in[WORDS], out[WORDS];
    struct core_case c = {0};
    (void)state;
    c.in = test_memory(&base_target, sizeof in);
    c.out = test_memory(&base_target, sizeof out);
    c.n = WORDS;
    for (uint32_t turn = 0; turn < 600; turn++) {
        uint64_t most = turn % 3 ? 0xffffff00u : 1000;
        uint64_t bytes = turn < 100 ? 16 * (turn + 1) : 16 * (uint64_t)(1 + random_word() % 65536);
        if (turn == 300)
            bytes = 1u << 20;
        if (turn == 301)
            bytes = (1u << 20) - 16;
        if (most > ((uint64_t)1 << 50) / bytes) /* the division is exact in pools below 2^51 bytes */
            most = ((uint64_t)1 << 50) / bytes;
        uint32_t count = (uint32_t)most;
        c.pages = quarry_pages_make((unsigned char *)4096, bytes, count);
        for (uint32_t i = 0; i < WORDS; i++)
            in[i] = i < 2 ? i : i == 2 ? count - 1 : random_word() % count;
        to_device(c.in, in, sizeof in);
        test_run(&core_page_index, &base_target, WORDS / 256, 256, 0, &c);
        from_device(out, c.out, sizeof out);
        for (uint32_t i = 0; i < WORDS; i++)
            if (out[i])
                fail_msg("page %u of %llu bytes", in[i], (unsigned long long)bytes);
    }
    test_memory_free(&base_target, c.in, sizeof in);
    test_memory_free(&base_target, c.out, sizeof out);
}

/* One word for each bit, where that page alone is free, and a full one. */
static void a_word_is_worth_locking_for_any_free_page(void **state)
{
    (void)state;
    for (uint32_t shift = 5; shift <= 6; shift++) {
        uint32_t bits = 1u << shift, narrow[33], out[65];
        uint64_t wide[65];
        struct core_case c = {0};
        for (uint32_t i = 0; i <= bits; i++) {
            wide[i] = i < bits ? ~((uint64_t)1 << i) : ~(uint64_t)0;
            narrow[i % 33] = (uint32_t)wide[i];
        }
        c.wide = test_memory(&base_target, sizeof wide);
        c.out = test_memory(&base_target, sizeof out);
        c.map.words = c.wide;
        c.map.word_shift = shift;
        c.map.word_count = c.n = bits + 1;
        to_device(c.wide, shift == 5 ? (const void *)narrow : wide, (bits + 1) * (bits / 8));
        test_run(&core_is_worth, &base_target, 3, 32, 0, &c);
        from_device(out, c.out, sizeof out);
        for (uint32_t i = 0; i <= bits; i++)
            assert_int_equal(out[i], i < bits ? 3 : 2);
        test_memory_free(&base_target, c.wide, sizeof wide);
        test_memory_free(&base_target, c.out, sizeof out);
    }
}

/* 2^21 draws into 64 buckets: chi square has 63 degrees of freedom; 130 is exceeded once in a million. */
static void random_numbers_are_uniform_across_threads_and_draws(void **state)
{
    static uint32_t out[CORE_BUCKETS];
    static const uint32_t draws[] = {1, 8, 64};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct core_case c = {0};
        uint32_t threads = (1u << 21) / draws[i] / 16;
        double mean = (double)threads * draws[i] / CORE_BUCKETS, chi = 0;
        c.out = test_memory(&base_target, sizeof out);
        c.n = draws[i];
        test_run(&core_random, &base_target, threads / 256, 256, 0, &c);
        from_device(out, c.out, sizeof out);
        for (uint32_t b = 0; b < CORE_BUCKETS; b++)
            chi += (out[b] - mean) * (out[b] - mean) / mean;
        if (chi > 130)
            fail_msg("%u draws a thread: chi square %.1f", draws[i], chi);
        test_memory_free(&base_target, c.out, sizeof out);
    }
}

/* Of rw-malloc, and as long as there are two words or more for each warp. */
static void warps_begin_at_words_of_their_own(void **state)
{
    static const uint32_t warps[] = {1, 2, 3, 31, 32, 33, 100, 128, 200};
    static uint32_t out[200];
    static unsigned char seen[200 * 50];
    (void)state;
    for (uint32_t i = 0; i < sizeof warps / sizeof *warps; i++)
        for (uint32_t each = 2; each <= 50; each += 3) {
            struct core_case c = {0};
            c.n = warps[i] * each - (each > 2 ? i : 0);
            c.out = test_memory(&base_target, sizeof out);
            test_run(&core_start, &base_target, warps[i], 32, 0, &c);
            from_device(out, c.out, sizeof out);
            memset(seen, 0, sizeof seen);
            for (uint32_t w = 0; w < warps[i] && c.n > 32; w++) /* a whole look sees them all otherwise */
                if (out[w] >= c.n || seen[out[w]]++)
                    fail_msg("%u warps, %u words: warp %u begins at %u", warps[i], c.n, w, out[w]);
            test_memory_free(&base_target, c.out, sizeof out);
        }
}

static void a_shared_verdict_is_about_an_instant_after_the_question(void **state)
{
    uint32_t threads = 96, out[3];
    (void)state;
    for (uint64_t seed = 0; seed <= (test_on_cuda(&base_target) ? 0 : SEEDS); seed++) {
        struct quarry_target target = base_target;
        struct core_case c = {0};
        struct quarry_sweep empty = {0};
        target.seed = seed;
        c.in = test_memory(&target, sizeof(uint32_t) * threads);
        c.wide = test_memory(&target, sizeof(uint64_t) * threads * CORE_SIZES);
        c.out = test_memory(&target, sizeof out);
        c.sweep = test_memory(&target, sizeof *c.sweep);
        empty.next = QUARRY_SWEEP_CLOSED;
        to_device(c.sweep, &empty, sizeof empty);
        c.n = threads;
        c.turns = seed ? 4 : 200;
        test_run(&core_sweep, &target, threads / 32, 32, 0, &c);
        from_device(out, c.out, sizeof out);
        if (out[0] || out[1])
            fail_msg("seed %llu: %u wrong verdicts, %u pages", (unsigned long long)seed, out[0], out[1]);
        if (out[2] % threads) /* every pass of every turn reads everything once */
            fail_msg("seed %llu: %u reads of %u words", (unsigned long long)seed, out[2], threads);
        test_memory_free(&target, c.in, sizeof(uint32_t) * threads);
        test_memory_free(&target, c.wide, sizeof(uint64_t) * threads * CORE_SIZES);
        test_memory_free(&target, c.out, sizeof out);
        test_memory_free(&target, c.sweep, sizeof *c.sweep);
    }
}

/* Else two lanes of a warp that run in step can lead turns for ever, and each has what the other looks for. */
static void a_leader_sweeps_itself_what_was_dirty_in_its_last_turn(void **state)
{
    (void)state;
    for (uint32_t in_order = 0; in_order < 2; in_order++) {
        uint32_t out[2] = {0};
        struct quarry_sweep empty = {0};
        struct core_case c = {0};
        c.n = in_order;
        c.out = test_memory(&base_target, sizeof out);
        c.sweep = test_memory(&base_target, sizeof *c.sweep);
        empty.next = QUARRY_SWEEP_CLOSED;
        to_device(c.sweep, &empty, sizeof empty);
        to_device(c.out, out, sizeof out);
        test_run(&core_thief, &base_target, 1, 1, 0, &c);
        from_device(out, c.out, sizeof out);
        assert_int_equal(out[0], 2);
        assert_int_equal(out[1], CORE_PARTS - 1u);
        test_memory_free(&base_target, c.out, sizeof out);
        test_memory_free(&base_target, c.sweep, sizeof *c.sweep);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kth_set_finds_every_bit),
        cmocka_unit_test(division_is_exact),
        cmocka_unit_test(remainders_are_exact_and_mixed_numbers_differ),
        cmocka_unit_test(the_kth_giver_serves_the_kth_needy_lane),
        cmocka_unit_test(page_numbers_survive_the_division),
        cmocka_unit_test(a_word_is_worth_locking_for_any_free_page),
        cmocka_unit_test(random_numbers_are_uniform_across_threads_and_draws),
        cmocka_unit_test(warps_begin_at_words_of_their_own),
        cmocka_unit_test(a_shared_verdict_is_about_an_instant_after_the_question),
        cmocka_unit_test(a_leader_sweeps_itself_what_was_dirty_in_its_last_turn),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("core", tests, NULL, NULL) != 0;
}
