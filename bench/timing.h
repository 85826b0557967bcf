/* SPDX-License-Identifier: Apache-2.0 */
/* Times kernels by the events of a target's stream.
 *
 * A run queues its steps in one stream and without waiting in between; for one that is timed:
 *
 *     spin kernel | begin event | the step's kernel | end event
 *
 * While the spin kernel runs the host queues the rest, so the time between the events is the kernel's,
 * without the latency of its launch.  On the CPU backend a launch has run when the call returns; the same
 * sequence then measures host time, with a spin of 0.
 *
 * Runs are repeated until the median of every timed step is stable (statistics.h). */
#ifndef QUARRY_BENCH_TIMING_H
#define QUARRY_BENCH_TIMING_H

#include "statistics.h"

#include "quarry/quarry.h"

enum { TIMING_MAX_STEPS = 6 };

struct timing_rule {
    uint32_t warmups;
    uint32_t least;  /* runs, at least 1 */
    uint32_t most;   /* `least` or more: it ends here, stable or not */
    double budget_s; /* a measurement that has taken longer stops early, but not under TIMING_MIN_RUNS */
};
enum { TIMING_MIN_RUNS = 3 };

struct timing {
    struct quarry_target target;
    struct timing_rule rule;
    uint64_t spin_ticks;
    quarry_event *begin[TIMING_MAX_STEPS];
    quarry_event *end[TIMING_MAX_STEPS];
    double *samples; /* rule.most for each step, and as many to sort them */
};

struct timing_step {
    const struct simt_kernel *kernel; /* NULL: `queue` queues the step's work in the target's stream */
    struct quarry_grid grid;
    int untimed;
    const void *argument;
    enum quarry_status (*queue)(void *context);
    void *context;
};

/* Fills *timing and brings a GPU's clock up.  On an error nothing is left behind; otherwise timing_close
 * frees what it made. */
enum quarry_status timing_open(struct timing *timing, const struct quarry_target *target,
                               const struct timing_rule *rule);
void timing_close(struct timing *timing);

/* Runs all steps in order, as often as the rule says, and again where the host was too slow to hide a launch.
 *   count      1 .. TIMING_MAX_STEPS
 *   summaries  one for each step; those of untimed ones are left as they are */
enum quarry_status timing_run(struct timing *timing, const struct timing_step *steps, unsigned count,
                              struct statistics *summaries);

/* Runs one step, once, timed. */
enum quarry_status timing_once(struct timing *timing, const struct timing_step *step, double *us);

/* Runs one step, once, untimed.  Does not wait. */
enum quarry_status timing_queue(const struct timing *timing, const struct timing_step *step);

/* MHz of the clock that simt_clock() counts, under load: a GPU's; 0 on the CPU. */
enum quarry_status timing_clock(struct timing *timing, double *megahertz);

/* Seconds of a clock that only moves forward. */
double timing_now(void);

#endif
