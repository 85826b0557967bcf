/* SPDX-License-Identifier: Apache-2.0 */
/* Times kernels by the events of a target's stream.
 *
 * A run queues, for each of its steps, in one stream and without waiting in between:
 *
 *     spin kernel | begin event | the step's kernel | end event
 *
 * While the spin kernel runs the host queues the rest, so the time between the events is the kernel's,
 * without the latency of its launch.  On the CPU backend a launch has run when the call returns; the same
 * sequence then measures host time, with a spin of 0. */
#ifndef QUARRY_BENCH_TIMING_H
#define QUARRY_BENCH_TIMING_H

#include "quarry/quarry.h"

enum { TIMING_MAX_STEPS = 2 };

struct timing {
    struct quarry_target target;
    uint64_t spin_ticks;
    uint32_t warmups;
    uint32_t runs;
    double budget_s; /* a measurement that has taken longer stops early, but not under TIMING_MIN_RUNS */
    quarry_event *begin[TIMING_MAX_STEPS];
    quarry_event *end[TIMING_MAX_STEPS];
    double *samples; /* runs for each step */
};
enum { TIMING_MIN_RUNS = 3 };

struct timing_step {
    const struct simt_kernel *kernel;
    struct quarry_grid grid;
    const void *argument;
};

struct timing_summary {
    double median; /* us; this and the quartiles interpolate between neighbours */
    double q1;
    double q3;
    uint32_t n;
};

/* Fills *timing and brings a GPU's clock up.  On an error nothing is left behind; otherwise timing_close
 * frees what it made. */
enum quarry_status timing_open(struct timing *timing, const struct quarry_target *target, uint32_t warmups,
                               uint32_t runs, double budget_s);
void timing_close(struct timing *timing);

/* Runs all steps in order, warmups + runs times, and again where the host was too slow to hide a launch.
 *   count      1 .. TIMING_MAX_STEPS
 *   summaries  one for each step */
enum quarry_status timing_run(struct timing *timing, const struct timing_step *steps, unsigned count,
                              struct timing_summary *summaries);

/* Sorts samples[0 .. n), n at least 1, and summarises them. */
struct timing_summary timing_summarise(double *samples, uint32_t n);

/* Seconds of a clock that only moves forward. */
double timing_now(void);

#endif
