/* SPDX-License-Identifier: Apache-2.0 */
/* The contracts are in model.h, the derivations in docs/design/model.md. */
#include "model/model.h"

#include "quarry/device.h"

#include <math.h>

#define MAX_TOTAL 0x1p52 /* a double holds every whole number up to twice that */

static int is_valid(const struct model *m)
{
    return m->threads >= 1 && m->threads <= m->free && m->free <= m->total && m->total <= MAX_TOTAL &&
           m->word >= 1;
}

/* The probability that one of `word` pages is free, if each is with the probability free / total. */
static double hit(double free, double total, double word)
{
    return -expm1(word * log1p(-free / total));
}

/* Sums 1 / hit (or hit, if not `inverse`) over free = first, first + 1 .. last.  Both change little where
 * free changes little in proportion, so terms are taken together in blocks of up to 1 / BLOCKS of it, with
 * the value of their middle: a relative error below 1 / (12 BLOCKS^2) in at most about 30 BLOCKS steps. */
static double sum_hits(double first, double last, double total, double word, int inverse)
{
    enum { BLOCKS = 4096 };
    double sum = 0;
    for (double at = first; at <= last;) {
        const double count = fmin(floor(at / BLOCKS) + 1, last - at + 1);
        const double p = hit(at + (count - 1) / 2, total, word);
        sum += inverse ? count / p : count * p;
        at += count;
    }
    return sum;
}

/* The expected maximum of SIMT_LANES geometric variables, each of which ends a step with probability p:
 * sum over k >= 0 of 1 - (1 - (1 - p)^k)^SIMT_LANES.  After one step k of n are left with probability
 * C(n, k) (1 - p)^k p^(n - k), so
 *     E_n = 1 + sum over k = 1 .. n of that times E_k,
 * which is solved for E_n.  All terms are positive, and their number does not grow as p falls. */
static double slowest_lane(double p)
{
    double expected[SIMT_LANES + 1];
    if (p <= 0)
        return INFINITY;
    for (unsigned n = 1; n <= SIMT_LANES; n++) {
        double sum = 1, choose = 1;
        for (unsigned k = n - 1; k >= 1; k--) {
            choose = choose * (k + 1) / (n - k);
            sum += choose * pow(1 - p, k) * pow(p, n - k) * expected[k];
        }
        expected[n] = sum / -expm1(n * log1p(-p));
    }
    return expected[SIMT_LANES];
}

static double walk_tas(const struct model *m, double word)
{
    return is_valid(m) ? sum_hits(m->free - m->threads + 1, m->free, m->total, word, 1) / m->threads : NAN;
}

static double walk_was(const struct model *m, double word)
{
    return is_valid(m) ? slowest_lane(hit(m->free - m->threads, m->total, word)) : NAN;
}

double model_queue_tas(const struct model *m)
{
    return is_valid(m) ? (m->threads + 1) / 2 : NAN;
}

/* The sum over k = 0 .. N - 1 of 1 - (k / N)^32, from its other end: k = N - free. */
double model_queue_was(const struct model *m)
{
    return is_valid(m) ? sum_hits(1, m->threads, m->threads, SIMT_LANES, 0) : NAN;
}

double model_rw_tas(const struct model *m)
{
    return walk_tas(m, 1);
}

double model_rw_was(const struct model *m)
{
    return walk_was(m, 1);
}

double model_rw_bm_tas(const struct model *m)
{
    return walk_tas(m, m->word);
}

double model_rw_bm_was(const struct model *m)
{
    return walk_was(m, m->word);
}

/* The mean of the inverse Gaussian distribution (10): target over drift, 32 / (32 w (A - N) / T). */
double model_corw_steps(const struct model *m)
{
    return is_valid(m) ? m->total / (m->word * (m->free - m->threads)) : NAN;
}

double model_crw_misses(const struct model *m)
{
    return is_valid(m) && m->clusters >= 1 && m->clusters <= m->free
               ? (m->clusters - 1) / (m->free + m->clusters - 1)
               : NAN;
}

double model_crw_tas(const struct model *m)
{
    return 1 + model_crw_misses(m) * model_rw_bm_tas(m);
}

double model_crw_was(const struct model *m)
{
    return 1 + model_rw_bm_was(m);
}

/* A page begins a cluster if it is the first, or the page before is in use. */
double model_scattered_clusters(double total, double free)
{
    return free >= 1 && free <= total && total <= MAX_TOTAL ? free * (total - free + 1) / total : NAN;
}

double model_full_pages(double low_free)
{
    return low_free > 0 && low_free < 1 ? quarry_layout_full_pages(low_free) : NAN;
}

/* About x[0] and y[0], so that what is constant has a variance of exactly 0. */
double model_correlation(const double *x, const double *y, unsigned n)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (unsigned i = 0; i < n; i++) {
        mean_x += (x[i] - x[0]) / n;
        mean_y += (y[i] - y[0]) / n;
    }
    for (unsigned i = 0; i < n; i++) {
        const double dx = x[i] - x[0] - mean_x, dy = y[i] - y[0] - mean_y;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}
