/* SPDX-License-Identifier: Apache-2.0 */
/* What theory says of the number of steps that a malloc takes.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025; the numbers in brackets are its equations.  docs/design/model.md derives them and says where
 * they end.  TAS is the expected number of steps of a thread, WAS the expectation of the most that one of the
 * 32 threads of a warp makes.
 *
 * All functions are pure.  Each returns NAN unless 1 <= threads <= free <= total <= 2^52, and what else it
 * states; and INFINITY where its formula divides by zero: those with free - threads do at free = threads. */
#ifndef QUARRY_TOOL_MODEL_H
#define QUARRY_TOOL_MODEL_H

/* Whole numbers.  The paper's T, A, N, w and M. */
struct model {
    double total;    /* pages */
    double free;     /* of them, before the first thread */
    double threads;  /* each asks for one page; in full warps */
    double word;     /* pages that a probe of a bitmap sees, at least 1; rw and the queue ignore it */
    double clusters; /* runs of neighbouring free pages, 1 .. free; crw alone looks at it */
};

/* A queue that serves one thread a step: (1), and (2), with the sum where the paper cuts a series. */
double model_queue_tas(const struct model *m);
double model_queue_was(const struct model *m);

/* A random walk over pages: the sum before the logarithm of (3); (4), an upper bound. */
double model_rw_tas(const struct model *m);
double model_rw_was(const struct model *m);

/* A random walk over words of a bitmap: (5); (6), an upper bound. */
double model_rw_bm_tas(const struct model *m);
double model_rw_bm_was(const struct model *m);

/* Collaborative random walk: (11), the rounds of a warp; TAS and WAS are the same. */
double model_corw_steps(const struct model *m);

/* Clustered random walk over a bitmap.  (13), the probability that the page after a thread's last one is in
 * use; (14) with (5) in the place of (3); and 1 + (6), an upper bound. */
double model_crw_misses(const struct model *m);
double model_crw_tas(const struct model *m);
double model_crw_was(const struct model *m);

/* How many clusters are to be expected if the free pages lie at random. */
double model_scattered_clusters(double total, double free);

/* S_L of section 3.2.3: after so many pages in vain less than the share low_free is free, with 99 %
 * confidence.  NAN unless 0 < low_free < 1. */
double model_full_pages(double low_free);

/* Pearson's correlation of x[0 .. n) and y[0 .. n).  NAN if n < 2 or one of them is constant. */
double model_correlation(const double *x, const double *y, unsigned n);

#endif
