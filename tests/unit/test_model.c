/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of tool/model/model.h against values that come another way: the processes that they are
 * about, simulated; the printed sums, summed term by term; the printed density, integrated by GSL; counting
 * by hand.  A simulation's mean may be off by 5 of its standard errors.  The seed is fixed. */
#include "model/model.h"

#include "common.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#define LANES 32u
#define DRAWS 200u /* of random parameters */

static gsl_rng *noise;

static void expect_near(double actual, double expected, double tolerance, const char *what)
{
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("%s: %.9g instead of %.9g (tolerance %.2g)", what, actual, expected, tolerance);
}

static void expect_relative(double actual, double expected, double tolerance, const char *what)
{
    expect_near(actual, expected, tolerance * fabs(expected), what);
}

/* Mean of what was sampled, and its standard error. */
struct sample {
    double n, sum, squares;
};

static void sample_add(struct sample *s, double value)
{
    s->n++;
    s->sum += value;
    s->squares += value * value;
}

static void expect_mean(const struct sample *s, double expected, const char *what)
{
    const double mean = s->sum / s->n, variance = s->squares / s->n - mean * mean;
    expect_near(mean, expected, 5 * sqrt(fmax(variance, 0) / s->n) + 1e-9 * expected, what);
}

static double random_between(double least, double most)
{
    return least + (most - least) * gsl_rng_uniform(noise);
}

/* Spread over decades. */
static double random_decades(double least, double most)
{
    return floor(least * pow(most / least, gsl_rng_uniform(noise)));
}

static struct model random_model(double most)
{
    struct model m = {.total = random_decades(64, most)};
    m.free = random_decades(32, m.total);
    m.threads = random_decades(1, m.free);
    m.word = 1 + (double)gsl_rng_uniform_int(noise, 64);
    m.clusters = random_decades(1, m.free);
    return m;
}

/* ---- queue ---- */

static void a_queue_serves_one_thread_a_step(void **state)
{
    const uint32_t threads = 100;
    const struct model m = {threads, threads, threads, 1, 1};
    struct sample own = {0}, warp = {0};
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        double most = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) {
            const double place = 1 + (double)gsl_rng_uniform_int(noise, threads);
            sample_add(&own, place);
            most = fmax(most, place);
        }
        sample_add(&warp, most);
    }
    expect_mean(&own, model_queue_tas(&m), "TAS");
    expect_mean(&warp, model_queue_was(&m), "WAS");
}

/* N less the sum over k < N of (k / N)^32; and the first terms of its expansion by powers of N. */
static void the_sum_for_a_queue_is_that_of_powers(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 100000; n += 1 + n / 3) {
        const struct model m = {n, n, n, 1, 1};
        double sum = n;
        for (uint32_t k = 0; k < n; k++)
            sum -= pow((double)k / n, LANES);
        expect_relative(model_queue_was(&m), sum, 1e-8, "WAS");
        if (n > 1000)
            expect_near(sum, 32.0 * n / 33 + 0.5 - 8.0 / (3.0 * n), 1e-7, "WAS, expanded");
    }
}

/* ---- random walks ---- */

/* Threads that ask one after the other for a page: steps of each, from probes of `word` pages of which each
 * is free with the probability (A - j) / T. */
static void a_walk_probes_until_it_hits(void **state)
{
    static const struct model rows[] = {
        {1000, 500, 500, 1, 1},
        {1000, 20, 15, 1, 1},
        {4096, 64, 64, 32, 1},
        {100000, 500, 320, 64, 1},
    };
    (void)state;
    for (uint32_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct model *m = &rows[row];
        struct sample own = {0};
        for (uint32_t run = 0; run < 1000000 / m->threads / (m->total / m->free); run++) {
            double steps = 0;
            for (uint32_t j = 0; j < (uint32_t)m->threads; j++)
                do
                    steps++;
                while (gsl_ran_binomial(noise, (m->free - j) / m->total, (unsigned)m->word) == 0);
            sample_add(&own, steps / m->threads);
        }
        expect_mean(&own, m->word > 1 ? model_rw_bm_tas(m) : model_rw_tas(m), "TAS");
    }
}

/* The sum of (5), term by term; and (3), whose logarithm leaves out 1 / 2n of each harmonic number H_n. */
static void a_walk_takes_the_printed_sum(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const struct model m = random_model(1e6);
        double sum = 0;
        for (uint32_t j = 0; j < (uint32_t)m.threads; j++)
            sum += 1 / (1 - pow((m.total - m.free + j) / m.total, m.word));
        expect_relative(model_rw_bm_tas(&m), sum / m.threads, 1e-8, "TAS, bitmap");
        if (m.free > m.threads)
            expect_near(model_rw_tas(&m), m.total / m.threads * log(m.free / (m.free - m.threads)),
                        m.total / m.threads / 2 / (m.free - m.threads), "TAS, logarithm");
    }
}

/* Pages of a real bitmap, free at random, taken one by one: where few are taken, the model's independent
 * pages are near enough, and the bound on WAS holds and is near. */
static void the_model_holds_on_a_bitmap(void **state)
{
    enum { PAGES = 1 << 16, FREE = PAGES / 50, THREADS = 128, RUNS = 200 };
    static uint32_t pages[PAGES];
    static const uint32_t widths[] = {1, 32, 64};
    (void)state;
    for (uint32_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const uint32_t word = widths[w];
        const struct model m = {PAGES, FREE, THREADS, word, 1};
        struct sample own = {0}, warp = {0};
        for (uint32_t run = 0; run < RUNS; run++) {
            for (uint32_t i = 0; i < PAGES; i++)
                pages[i] = i < FREE;
            gsl_ran_shuffle(noise, pages, PAGES, sizeof *pages);
            double most = 0;
            for (uint32_t thread = 0; thread < THREADS; thread++) {
                uint32_t steps = 0;
                for (int found = 0; !found; steps++) {
                    const uint32_t first = (uint32_t)gsl_rng_uniform_int(noise, PAGES / word) * word;
                    for (uint32_t i = first; i < first + word && !found; i++) {
                        found = (int)pages[i];
                        pages[i] = 0;
                    }
                }
                sample_add(&own, steps);
                most = fmax(most, steps);
                if (thread % LANES == LANES - 1) {
                    sample_add(&warp, most);
                    most = 0;
                }
            }
        }
        expect_relative(own.sum / own.n, model_rw_bm_tas(&m), 0.05, "TAS");
        expect_relative(warp.sum / warp.n, model_rw_bm_was(&m), 0.10, "WAS");
    }
}

/* (4) and (6) as printed, summed until nothing is added. */
static double printed_was(const struct model *m, double word)
{
    const double miss = pow((m->total - m->free + m->threads) / m->total, word);
    double sum = 0, power = 1, term;
    do {
        term = 1 - pow(1 - power, LANES);
        sum += term;
        power *= miss;
    } while (term > 1e-12);
    return sum;
}

static void the_slowest_of_a_warp_takes_the_printed_sum(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct model m = random_model(1e4);
        m.threads = floor(m.threads / 2);
        if (m.threads < 1)
            continue;
        expect_relative(model_rw_was(&m), printed_was(&m, 1), 1e-7, "WAS");
        expect_relative(model_rw_bm_was(&m), printed_was(&m, m.word), 1e-7, "WAS, bitmap");
    }
}

static void the_slowest_of_a_warp_is_simulated(void **state)
{
    static const struct model rows[] = {{1000, 500, 100, 1, 1}, {1000, 60, 40, 1, 1}, {9999, 90, 40, 32, 1}};
    (void)state;
    for (uint32_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct model *m = &rows[row];
        struct sample warp = {0};
        for (uint32_t run = 0; run < 20000; run++) {
            double most = 0;
            for (uint32_t lane = 0; lane < LANES; lane++) {
                double steps = 1;
                while (gsl_ran_binomial(noise, (m->free - m->threads) / m->total, (unsigned)m->word) == 0)
                    steps++;
                most = fmax(most, steps);
            }
            sample_add(&warp, most);
        }
        expect_mean(&warp, m->word > 1 ? model_rw_bm_was(m) : model_rw_was(m), "WAS");
    }
}

/* Theorem 1 says that TAS falls by the factor w as the free pages run out.  It leaves out a constant: with
 * U and U' for the walk over pages and over words,
 *     U / w + (w - 1) / 2w  <=  U' <=  U / w + (w - 1) / w,
 * so U' / U tends to 1 / w where U / w grows. */
static void theorem_1_holds_but_for_a_constant(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10 * DRAWS; i++) {
        const struct model m = random_model(1e9);
        const double u = model_rw_tas(&m), bitmap = model_rw_bm_tas(&m), slack = 1e-7 * (u / m.word + 1);
        const double least = (m.word - 1) / (2 * m.word), most = (m.word - 1) / m.word;
        if (!(bitmap >= u / m.word + least - slack && bitmap <= u / m.word + most + slack))
            fail_msg("T %.0f A %.0f N %.0f w %.0f: %.9g, not from %.9g to %.9g", m.total, m.free, m.threads,
                     m.word, bitmap, u / m.word + least, u / m.word + most);
    }
    /* A -> N: all free pages are asked for, and they are an ever smaller share. */
    static const double shares[] = {1e-3, 1e-4, 1e-5, 1e-6};
    for (uint32_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const double share = shares[i];
        const struct model m = {1e9, 1e9 * share, 1e9 * share, 32, 1};
        expect_relative(model_rw_bm_tas(&m), model_rw_tas(&m) / 32, 32 * share, "TAS in the limit");
    }
}

/* Theorem 2: V' = V / w + (w - 1) / 2w for the bounds on WAS as free - threads falls. */
static void theorem_2_holds(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10 * DRAWS; i++) {
        struct model m = random_model(1e9);
        const double w = m.word;
        m.free = m.threads + floor(random_between(1e-6, 0.2) * m.total / w);
        if (m.free == m.threads || m.free > m.total)
            continue;
        expect_relative(model_rw_bm_was(&m), model_rw_was(&m) / w + (w - 1) / (2 * w), 1e-7, "WAS");
    }
    static const double lefts[] = {1e5, 1e4, 1e3, 100, 10, 1};
    for (uint32_t i = 0; i < sizeof lefts / sizeof *lefts; i++) {
        const double left = lefts[i];
        const struct model m = {1e9, 1e6 + left, 1e6, 64, 1};
        expect_relative(model_rw_bm_was(&m), model_rw_was(&m) / 64, left * 1e-7 + 1e-9, "WAS in the limit");
    }
}

/* WAS with the pages that are free at the end is at least that with those that were at the beginning, and TAS
 * lies below both. */
static void was_bounds_from_above(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10 * DRAWS; i++) {
        const struct model m = random_model(1e9);
        struct model one = m;
        one.threads = 1;
        const double slack = 1 - 1e-7;
        assert_true(model_rw_was(&m) >= model_rw_tas(&m) * slack);
        assert_true(model_rw_bm_was(&m) >= model_rw_bm_tas(&m) * slack);
        assert_true(model_rw_was(&m) >= model_rw_was(&one) * slack);
        assert_true(model_rw_bm_was(&m) <= model_rw_was(&m) / slack);
        assert_true(model_crw_tas(&m) <= 1 + model_rw_bm_tas(&m));
        assert_true(model_crw_was(&m) >= model_crw_tas(&m) * slack);
    }
}

/* ---- corw ---- */

/* (10) as printed, and t times it, for GSL. */
struct passage {
    double target, drift, scale;
    int moment;
};

static double density(double t, void *argument)
{
    const struct passage *p = argument;
    const double away = p->target - p->drift * t;
    if (t <= 0)
        return 0;
    return pow(t, p->moment) * p->target / (p->scale * sqrt(2 * M_PI * t * t * t)) *
           exp(-away * away / (2 * p->scale * p->scale * t));
}

static double integrate(struct passage *p)
{
    gsl_integration_workspace *space = gsl_integration_workspace_alloc(1000);
    gsl_function f = {density, p};
    const double mean = p->target / p->drift;
    double result, sum = 0, error;
    gsl_integration_qags(&f, 0, mean, 0, 1e-10, 1000, space, &result, &error);
    sum += result;
    gsl_integration_qags(&f, mean, 20 * mean, 0, 1e-10, 1000, space, &result, &error);
    sum += result;
    gsl_integration_qagiu(&f, 20 * mean, 1e-12, 1e-8, 1000, space, &result, &error);
    gsl_integration_workspace_free(space);
    return sum + result;
}

static void a_warps_rounds_are_the_integral_of_the_printed_density(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct model m = random_model(1e7);
        m.word = i % 2 ? 32 : 64;
        if (m.free == m.threads)
            continue;
        const double p = (m.free - m.threads) / m.total;
        struct passage passage = {LANES, LANES * m.word * p, sqrt(LANES * m.word * p * (1 - p)), 0};
        if (passage.scale == 0)
            continue;
        expect_near(integrate(&passage), 1, 1e-6, "integral of the density");
        passage.moment = 1;
        expect_relative(model_corw_steps(&m), integrate(&passage), 1e-6, "rounds");
    }
}

/* Rounds are whole: a warp that finds a binomial number of pages in each passes 32 after half a round more
 * than (11), as long as that is two or more (docs/design/model.md). */
static void whole_rounds_are_half_a_round_more(void **state)
{
    (void)state;
    for (uint32_t free = 1000; free <= 16000; free += 3000) {
        const struct model m = {1e6 + 1, free + 1, 1, 32, 1};
        const double p = (m.free - m.threads) / m.total;
        struct sample rounds = {0};
        for (uint32_t run = 0; run < 20000; run++) {
            uint32_t found = 0, round = 0;
            for (; found < LANES; round++)
                found += gsl_ran_binomial(noise, p, LANES * 32);
            sample_add(&rounds, round);
        }
        expect_relative(rounds.sum / rounds.n, model_corw_steps(&m) + 0.5, 0.02, "rounds");
    }
}

/* ---- crw ---- */

/* Ways to write `rest` as a sum of `parts` numbers from 0, in order. */
static double compositions(uint32_t rest, uint32_t parts)
{
    if (parts == 0)
        return rest == 0;
    double ways = 0;
    for (uint32_t first = 0; first <= rest; first++)
        ways += compositions(rest - first, parts - 1);
    return ways;
}

static void clusters_are_empty_as_often_as_counted(void **state)
{
    (void)state;
    for (uint32_t free = 1; free <= 9; free++)
        for (uint32_t clusters = 1; clusters <= free && clusters <= 6; clusters++) {
            const struct model m = {100, free, 1, 32, clusters};
            expect_near(model_crw_misses(&m), compositions(free, clusters - 1) / compositions(free, clusters),
                        1e-12, "misses");
        }
}

static void a_cluster_is_tried_first(void **state)
{
    static const struct model rows[] = {
        {10000, 100, 60, 1, 40}, {10000, 100, 60, 32, 100}, {10000, 100, 60, 64, 2}};
    (void)state;
    for (uint32_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct model *m = &rows[row];
        const uint32_t places = (uint32_t)(m->free + m->clusters - 1);
        uint32_t *marks = calloc(places, sizeof *marks);
        struct sample own = {0};
        assert_non_null(marks);
        for (uint32_t run = 0; run < 5000; run++) {
            double steps = 0;
            for (uint32_t j = 0; j < (uint32_t)m->threads; j++) {
                /* stars and bars: the first cluster is empty if a bar comes first */
                steps++;
                for (uint32_t i = 0; i < places; i++)
                    marks[i] = i < m->clusters - 1;
                gsl_ran_choose(noise, marks, 1, marks, places, sizeof *marks);
                if (!marks[0])
                    continue;
                do
                    steps++;
                while (gsl_ran_binomial(noise, (m->free - j) / m->total, (unsigned)m->word) == 0);
            }
            sample_add(&own, steps / m->threads);
        }
        free(marks);
        expect_mean(&own, model_crw_tas(m), "TAS");
    }
}

static void free_pages_at_random_make_so_many_clusters(void **state)
{
    enum { PAGES = 1000 };
    static uint32_t pages[PAGES];
    (void)state;
    for (uint32_t free = 1; free <= PAGES; free += 111) {
        struct sample clusters = {0};
        for (uint32_t run = 0; run < 2000; run++) {
            uint32_t count = 0;
            for (uint32_t i = 0; i < PAGES; i++)
                pages[i] = i < free;
            gsl_ran_shuffle(noise, pages, PAGES, sizeof *pages);
            for (uint32_t i = 0; i < PAGES; i++)
                count += pages[i] && (i == 0 || !pages[i - 1]);
            sample_add(&clusters, count);
        }
        expect_mean(&clusters, model_scattered_clusters(PAGES, free), "clusters");
    }
}

/* ---- full heaps, correlation, ranges ---- */

/* S_L pages have S_L L free ones on average, as many standard deviations as 1 % of a normal law lies beyond;
 * the figure 1076 of section 3.2.3 has its decimals cut off. */
static void none_of_so_many_pages_is_a_case_in_a_hundred(void **state)
{
    (void)state;
    static const double shares[] = {1e-6, 1e-4, 0.002, 0.005, 0.01, 0.1, 0.5, 0.9, 0.999};
    for (uint32_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const double low = shares[i];
        const double pages = model_full_pages(low), deviation = sqrt(pages * low * (1 - low));
        expect_relative(pages * low / deviation, gsl_cdf_ugaussian_Pinv(0.99), 1e-3, "deviations");
    }
    expect_near(model_full_pages(0.005), 1076, 1, "pages at 0.5 %");
}

static void correlation_is_that_of_gsl(void **state)
{
    double x[20], y[20];
    (void)state;
    for (uint32_t n = 2; n <= 20; n++) {
        for (uint32_t i = 0; i < n; i++) {
            x[i] = random_between(-5, 1000);
            y[i] = x[i] * random_between(-1, 3);
        }
        expect_near(model_correlation(x, y, n), gsl_stats_correlation(x, 1, y, 1, n), 1e-9, "correlation");
    }
    assert_true(isnan(model_correlation(x, y, 1)));
    for (uint32_t i = 0; i < 20; i++)
        y[i] = 7;
    assert_true(isnan(model_correlation(x, y, 20)));
}

static void out_of_range_is_nan(void **state)
{
    static double (*const functions[])(const struct model *) = {
        model_queue_tas, model_queue_was,  model_rw_tas,     model_rw_was,  model_rw_bm_tas,
        model_rw_bm_was, model_corw_steps, model_crw_misses, model_crw_tas, model_crw_was,
    };
    static const struct model bad[] = {
        {100, 10, 0, 32, 1},   {100, 10, 11, 32, 1},  {100, 101, 10, 32, 1},
        {100, 10, 10, 0, 1},   {1e16, 10, 10, 32, 1}, {NAN, 10, 10, 32, 1},
        {100, NAN, 10, 32, 1}, {100, 10, NAN, 32, 1}, {100, 10, -1, 32, 1},
    };
    static const struct model one = {1, 1, 1, 1, 1}, large = {0x1p52, 0x1p52, 0x1p52, 64, 1};
    static const struct model clusters[] = {{100, 10, 5, 32, 0}, {100, 10, 5, 32, 11}};
    (void)state;
    for (uint32_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
            if (!isnan(functions[f](&bad[i])))
                fail_msg("function %u, row %u: not NAN", f, i);
        assert_false(isnan(functions[f](&one)));
        assert_false(isnan(functions[f](&large)));
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(isnan(model_crw_misses(&clusters[i])));
        assert_true(isnan(model_crw_tas(&clusters[i])));
    }
    const struct model all = {100, 10, 10, 32, 1};
    assert_true(isinf(model_rw_was(&all)) && isinf(model_rw_bm_was(&all)) && isinf(model_corw_steps(&all)));
    assert_true(isfinite(model_rw_tas(&all)) && isfinite(model_rw_bm_tas(&all)));
    assert_true(isnan(model_full_pages(0)) && isnan(model_full_pages(1)) && isnan(model_full_pages(NAN)));
    assert_true(isnan(model_scattered_clusters(10, 0)) && isnan(model_scattered_clusters(10, 11)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_serves_one_thread_a_step),
        cmocka_unit_test(the_sum_for_a_queue_is_that_of_powers),
        cmocka_unit_test(a_walk_probes_until_it_hits),
        cmocka_unit_test(a_walk_takes_the_printed_sum),
        cmocka_unit_test(the_model_holds_on_a_bitmap),
        cmocka_unit_test(the_slowest_of_a_warp_takes_the_printed_sum),
        cmocka_unit_test(the_slowest_of_a_warp_is_simulated),
        cmocka_unit_test(theorem_1_holds_but_for_a_constant),
        cmocka_unit_test(theorem_2_holds),
        cmocka_unit_test(was_bounds_from_above),
        cmocka_unit_test(a_warps_rounds_are_the_integral_of_the_printed_density),
        cmocka_unit_test(whole_rounds_are_half_a_round_more),
        cmocka_unit_test(clusters_are_empty_as_often_as_counted),
        cmocka_unit_test(a_cluster_is_tried_first),
        cmocka_unit_test(free_pages_at_random_make_so_many_clusters),
        cmocka_unit_test(none_of_so_many_pages_is_a_case_in_a_hundred),
        cmocka_unit_test(correlation_is_that_of_gsl),
        cmocka_unit_test(out_of_range_is_nan),
    };
    noise = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(noise, 42);
    const int failed = cmocka_run_group_tests_name("model", tests, NULL, NULL);
    gsl_rng_free(noise);
    return failed != 0;
}
