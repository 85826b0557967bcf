/* SPDX-License-Identifier: Apache-2.0 */
/* What many measurements of one thing say. */
#ifndef QUARRY_BENCH_STATISTICS_H
#define QUARRY_BENCH_STATISTICS_H

#include <stdint.h>

/* The median is stable if a confidence interval of at least 95 % for it, between two of the samples, lies
 * within this share on either side. */
#define STATISTICS_STABLE 0.02

struct statistics {
    double median; /* this and the quartiles interpolate between neighbours */
    double q1;
    double q3;
    uint32_t n;
    int stable; /* never with fewer than 8 samples */
};

/* Sorts samples[0 .. n), n at least 1, and summarises them. */
struct statistics statistics_summarise(double *samples, uint32_t n);

#endif
