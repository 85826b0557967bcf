/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include "kernels.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Longer than the host needs to queue two events and two launches (about 10 us); a longer spin changes no
 * result. */
#define SPIN_US 30u
#define UNKNOWN_CLOCK_KHZ 2000000u
#define WARM_S 0.2
#define CLOCK_SPINS 100u /* so many times as long: the kernel's start and end don't count */

double timing_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* An idle GPU's clock takes a while to rise; without this the first measurements, the floors, would be too
 * slow and every ratio to them too good. */
static enum quarry_status warm_up(struct timing *timing)
{
    const struct quarry_grid one = {1, 1, 0};
    const struct bench_spin spin = {timing->spin_ticks};
    enum quarry_status status = QUARRY_OK;
    for (double began = timing_now();
         timing->spin_ticks && status == QUARRY_OK && timing_now() - began < WARM_S;) {
        status = quarry_launch(&bench_spin, &timing->target, one, &spin);
        if (status == QUARRY_OK)
            status = quarry_target_wait(&timing->target);
    }
    return status;
}

enum quarry_status timing_open(struct timing *timing, const struct quarry_target *target,
                               const struct timing_rule *rule)
{
    struct quarry_device_info info;
    enum quarry_status status = quarry_device_describe(target, &info);
    if (status != QUARRY_OK)
        return status;

    memset(timing, 0, sizeof *timing);
    timing->target = *target;
    timing->rule = *rule;
    if (target->backend == QUARRY_BACKEND_CUDA)
        timing->spin_ticks = (uint64_t)(info.clock_khz ? info.clock_khz : UNKNOWN_CLOCK_KHZ) * SPIN_US / 1000;
    timing->samples = malloc(sizeof(double) * (TIMING_MAX_STEPS + 1) * rule->most);
    if (!timing->samples)
        return QUARRY_ERROR_MEMORY;
    for (unsigned i = 0; i < TIMING_MAX_STEPS && status == QUARRY_OK; i++) {
        status = quarry_event_create(target, &timing->begin[i]);
        if (status == QUARRY_OK)
            status = quarry_event_create(target, &timing->end[i]);
    }
    if (status == QUARRY_OK)
        status = warm_up(timing);
    if (status != QUARRY_OK)
        timing_close(timing);
    return status;
}

void timing_close(struct timing *timing)
{
    for (unsigned i = 0; i < TIMING_MAX_STEPS; i++) {
        if (timing->begin[i])
            quarry_event_destroy(timing->begin[i]);
        if (timing->end[i])
            quarry_event_destroy(timing->end[i]);
    }
    free(timing->samples);
    memset(timing, 0, sizeof *timing);
}

enum quarry_status timing_queue(const struct timing *timing, const struct timing_step *step)
{
    return step->kernel ? quarry_launch(step->kernel, &timing->target, step->grid, step->argument)
                        : step->queue(step->context);
}

/* Sets *late if the host may not have been done before the spin kernel was: the time between the events
 * then holds some of the launch. */
static enum quarry_status queue_timed(struct timing *timing, const struct timing_step *step, unsigned i,
                                      int *late)
{
    const struct quarry_grid one = {1, 1, 0};
    const struct bench_spin spin = {timing->spin_ticks};
    const double began = timing_now();
    enum quarry_status status;

    if ((status = quarry_launch(&bench_spin, &timing->target, one, &spin)) != QUARRY_OK ||
        (status = quarry_event_record(timing->begin[i])) != QUARRY_OK ||
        (status = timing_queue(timing, step)) != QUARRY_OK ||
        (status = quarry_event_record(timing->end[i])) != QUARRY_OK)
        return status;
    *late |= timing->spin_ticks && timing_now() - began > SPIN_US * 1e-6;
    return QUARRY_OK;
}

/* One run: a sample of each timed step.  *late as above. */
static enum quarry_status run_steps(struct timing *timing, const struct timing_step *steps, unsigned count,
                                    double *samples, int *late)
{
    enum quarry_status status = QUARRY_OK;
    *late = 0;
    for (unsigned i = 0; i < count && status == QUARRY_OK; i++)
        status = steps[i].untimed ? timing_queue(timing, &steps[i]) : queue_timed(timing, &steps[i], i, late);
    for (unsigned i = 0; i < count && status == QUARRY_OK; i++) {
        if (!steps[i].untimed)
            status = quarry_event_elapsed(timing->begin[i], timing->end[i], &samples[i]);
    }
    return status;
}

enum quarry_status timing_once(struct timing *timing, const struct timing_step *step, double *us)
{
    int late;
    return run_steps(timing, step, 1, us, &late);
}

/* Summarises what step i has so far, whose samples stay in their order. */
static struct statistics summarise_step(const struct timing *timing, unsigned i, uint32_t n)
{
    double *sorted = timing->samples + (size_t)TIMING_MAX_STEPS * timing->rule.most;
    memcpy(sorted, timing->samples + (size_t)i * timing->rule.most, n * sizeof *sorted);
    return statistics_summarise(sorted, n);
}

/* More runs than this between two looks at the samples would be runs too many. */
enum { LOOK_EVERY = 5 };

enum quarry_status timing_run(struct timing *timing, const struct timing_step *steps, unsigned count,
                              struct statistics *summaries)
{
    const struct timing_rule *rule = &timing->rule;
    const double began = timing_now();
    double samples[TIMING_MAX_STEPS] = {0};
    uint32_t spare = rule->most; /* late runs that are taken again; those after count: better than none */
    uint32_t warm = 0;
    uint32_t n = 0;
    int stable = 0;

    while (n < rule->most && !stable && (n < TIMING_MIN_RUNS || timing_now() - began <= rule->budget_s)) {
        int late;
        enum quarry_status status = run_steps(timing, steps, count, samples, &late);
        if (status != QUARRY_OK)
            return status;
        if (warm < rule->warmups) {
            warm++;
            continue;
        }
        if (late && spare) {
            spare--;
            continue;
        }
        for (unsigned i = 0; i < count; i++)
            timing->samples[(size_t)i * rule->most + n] = samples[i];
        n++;
        if (n < rule->least || (n - rule->least) % LOOK_EVERY)
            continue;
        stable = 1;
        for (unsigned i = 0; i < count; i++)
            stable &= steps[i].untimed || summarise_step(timing, i, n).stable;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!steps[i].untimed)
            summaries[i] = summarise_step(timing, i, n);
    }
    return QUARRY_OK;
}

enum quarry_status timing_clock(struct timing *timing, double *megahertz)
{
    const struct quarry_grid one = {1, 1, 0};
    const struct bench_spin spin = {timing->spin_ticks * CLOCK_SPINS};
    const struct timing_step step = {.kernel = &bench_spin, .grid = one, .argument = &spin};
    struct statistics time = {0};

    *megahertz = 0;
    if (!timing->spin_ticks)
        return QUARRY_OK;
    enum quarry_status status = timing_run(timing, &step, 1, &time);
    if (status == QUARRY_OK)
        *megahertz = (double)spin.ticks / time.median;
    return status;
}
