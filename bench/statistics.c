/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t n, double share)
{
    const double at = share * (n - 1);
    const uint32_t below = (uint32_t)at;
    const uint32_t above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* The samples of ranks j and n + 1 - j, j = (n - 1.96 sqrt n) / 2 rounded down, have the median between them
 * with a probability of at least 95 %, by the normal approximation of the binomial distribution (for example
 * Conover, Practical Nonparametric Statistics, 3.2). */
static int is_stable(const double *sorted, uint32_t n, double median)
{
    const double rank = floor((n - 1.96 * sqrt(n)) / 2);
    if (rank < 1)
        return 0;
    const uint32_t j = (uint32_t)rank;
    return sorted[n - j] <= median * (1 + STATISTICS_STABLE) &&
           sorted[j - 1] >= median * (1 - STATISTICS_STABLE);
}

struct statistics statistics_summarise(double *samples, uint32_t n)
{
    qsort(samples, n, sizeof *samples, compare);
    struct statistics summary = {quantile(samples, n, 0.5), quantile(samples, n, 0.25),
                                 quantile(samples, n, 0.75), n, 0};
    summary.stable = is_stable(samples, n, summary.median);
    return summary;
}
