/* SPDX-License-Identifier: Apache-2.0 */
/* bench/statistics.h against values worked out by hand, and the promise of its interval by simulation. */
#include "statistics.h"

#include "common.h"

#include <math.h>

static uint64_t noise = 1;

/* Uniform from 0 to 1: Knuth's 64-bit linear congruential generator, upper bits. */
static double draw(void)
{
    noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(noise >> 11) / 9007199254740992.0;
}

static void quartiles_interpolate_between_neighbours(void **state)
{
    double one[] = {7}, four[] = {4, 1, 3, 2}, five[] = {50, 10, 40, 20, 30};
    (void)state;
    struct statistics s = statistics_summarise(one, 1);
    assert_true(s.median == 7 && s.q1 == 7 && s.q3 == 7 && s.n == 1);
    s = statistics_summarise(four, 4);
    assert_true(s.median == 2.5 && s.q1 == 1.75 && s.q3 == 3.25 && s.n == 4);
    s = statistics_summarise(five, 5);
    assert_true(s.median == 30 && s.q1 == 20 && s.q3 == 40);
}

/* j = (n - 1.96 sqrt n) / 2: 0.6 for 6, 0.9 for 7, 1.2 for 8, 3.7 for 15, 40.2 for 100. */
static void few_samples_are_never_stable(void **state)
{
    double same[16];
    (void)state;
    for (uint32_t n = 1; n <= 15; n++) {
        for (uint32_t i = 0; i < n; i++)
            same[i] = 5;
        assert_int_equal(statistics_summarise(same, n).stable, n >= 8);
    }
}

/* Of 15 samples the third and the thirteenth count, of which each may be 2 % off. */
static void outliers_beyond_the_interval_do_not_count(void **state)
{
    (void)state;
    for (int third = 0; third < 3; third++) {
        double samples[15];
        for (int i = 0; i < 15; i++)
            samples[i] = 100;
        samples[0] = 1;
        samples[1] = 50;
        samples[13] = 500;
        samples[14] = 900;
        samples[2] = third == 1 ? 97.9 : 98.1;
        samples[12] = third == 2 ? 102.1 : 101.9;
        assert_int_equal(statistics_summarise(samples, 15).stable, third == 0);
    }
}

/* A median that is called stable lies within 2 % of the true one in at least 95 % of all cases.  The times
 * are 1 plus a uniform share, so that some are stable and some not; 20000 trials leave a standard error of
 * about 0.2 %. */
static void a_stable_median_is_near_the_true_one(void **state)
{
    uint32_t stable = 0, near = 0;
    (void)state;
    for (uint32_t trial = 0; trial < 20000; trial++) {
        double samples[30];
        for (uint32_t i = 0; i < 30; i++)
            samples[i] = 1 + 0.1 * draw();
        const struct statistics s = statistics_summarise(samples, 30);
        stable += (uint32_t)s.stable;
        near += s.stable && fabs(s.median / 1.05 - 1) <= STATISTICS_STABLE;
    }
    assert_true(stable > 1000 && stable < 19000);
    assert_true(near > 0.95 * stable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles_interpolate_between_neighbours),
        cmocka_unit_test(few_samples_are_never_stable),
        cmocka_unit_test(outliers_beyond_the_interval_do_not_count),
        cmocka_unit_test(a_stable_median_is_near_the_true_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
