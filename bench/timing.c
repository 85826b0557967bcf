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

enum quarry_status timing_open(struct timing *timing, const struct quarry_target *target, uint32_t warmups,
                               uint32_t runs, double budget_s)
{
    struct quarry_device_info info;
    enum quarry_status status = quarry_device_describe(target, &info);
    if (status != QUARRY_OK)
        return status;

    memset(timing, 0, sizeof *timing);
    timing->target = *target;
    timing->warmups = warmups;
    timing->runs = runs;
    timing->budget_s = budget_s;
    if (target->backend == QUARRY_BACKEND_CUDA)
        timing->spin_ticks = (uint64_t)(info.clock_khz ? info.clock_khz : UNKNOWN_CLOCK_KHZ) * SPIN_US / 1000;
    timing->samples = malloc(sizeof(double) * TIMING_MAX_STEPS * runs);
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

/* Sets *late if the host may not have been done before the spin kernel was: the time between the events
 * then holds some of the launch. */
static enum quarry_status queue_step(struct timing *timing, const struct timing_step *step, unsigned i,
                                     int *late)
{
    const struct quarry_grid one = {1, 1, 0};
    const struct bench_spin spin = {timing->spin_ticks};
    const double began = timing_now();
    enum quarry_status status;

    if ((status = quarry_launch(&bench_spin, &timing->target, one, &spin)) != QUARRY_OK ||
        (status = quarry_event_record(timing->begin[i])) != QUARRY_OK ||
        (status = quarry_launch(step->kernel, &timing->target, step->grid, step->argument)) != QUARRY_OK ||
        (status = quarry_event_record(timing->end[i])) != QUARRY_OK)
        return status;
    *late |= timing->spin_ticks && timing_now() - began > SPIN_US * 1e-6;
    return QUARRY_OK;
}

/* One run: a sample of each step.  *late as above. */
static enum quarry_status run_steps(struct timing *timing, const struct timing_step *steps, unsigned count,
                                    double *samples, int *late)
{
    enum quarry_status status = QUARRY_OK;
    *late = 0;
    for (unsigned i = 0; i < count && status == QUARRY_OK; i++)
        status = queue_step(timing, &steps[i], i, late);
    for (unsigned i = 0; i < count && status == QUARRY_OK; i++)
        status = quarry_event_elapsed(timing->begin[i], timing->end[i], &samples[i]);
    return status;
}

enum quarry_status timing_run(struct timing *timing, const struct timing_step *steps, unsigned count,
                              struct timing_summary *summaries)
{
    const double began = timing_now();
    double samples[TIMING_MAX_STEPS];
    uint32_t spare = timing->runs; /* late runs that are taken again; those after count: better than none */
    uint32_t warm = 0;
    uint32_t n = 0;

    while (n < timing->runs && (n < TIMING_MIN_RUNS || timing_now() - began <= timing->budget_s)) {
        int late;
        enum quarry_status status = run_steps(timing, steps, count, samples, &late);
        if (status != QUARRY_OK)
            return status;
        if (warm < timing->warmups) {
            warm++;
        } else if (late && spare) {
            spare--;
        } else {
            for (unsigned i = 0; i < count; i++)
                timing->samples[(size_t)i * timing->runs + n] = samples[i];
            n++;
        }
    }
    for (unsigned i = 0; i < count; i++)
        summaries[i] = timing_summarise(timing->samples + (size_t)i * timing->runs, n);
    return QUARRY_OK;
}

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

struct timing_summary timing_summarise(double *samples, uint32_t n)
{
    qsort(samples, n, sizeof *samples, compare);
    struct timing_summary summary = {quantile(samples, n, 0.5), quantile(samples, n, 0.25),
                                     quantile(samples, n, 0.75), n};
    return summary;
}
