/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan; the contracts are in replay_engine.h. */
#include "trace/replay_engine.h"

#include "kernels.h"
#include "tool.h"

#include <math.h>
#include <string.h>

/* Of plain heaps. */
static const struct simt_kernel *const kernels[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, ...) [QUARRY_NUMBER_##id] = &EACH_OF(replay_run, id),
#include "quarry/alloc/list.def"
};

static const struct simt_kernel *kernel_for(const struct quarry_handle *heap, int check)
{
    return check || each_is_composed(heap) ? &EACH_ANY(replay_run) : kernels[heap->allocator];
}

/* Launches take the host about 3 us each, and a stream holds about a thousand. */
#define LAUNCH_US 6u
#define MAX_LAUNCHES_AHEAD 1000u

static enum quarry_status upload(struct replay *replay, void **to, const void *from, uint64_t bytes)
{
    enum quarry_status status =
        quarry_memory_create(&replay->target, QUARRY_POOL_DEVICE, bytes ? bytes : 1, to);
    if (status == QUARRY_OK && from)
        status = quarry_memory_copy(&replay->target, *to, from, bytes);
    return status;
}

enum quarry_status replay_open(struct replay *replay, const struct quarry_target *target,
                               const struct replay_plan *plan, const char *doing)
{
    struct quarry_device_info info;
    memset(replay, 0, sizeof *replay);
    replay->doing = doing;
    replay->budget_s = HUGE_VAL;
    replay->plan = plan;
    replay->target = *target;
    enum quarry_status status = quarry_device_describe(target, &info);
    if (status == QUARRY_OK && target->backend == QUARRY_BACKEND_CUDA)
        replay->ticks_per_ms = info.clock_khz;
    if (status == QUARRY_OK)
        status = quarry_event_create(target, &replay->begin);
    if (status == QUARRY_OK)
        status = quarry_event_create(target, &replay->end);
    if (status == QUARRY_OK)
        status = upload(replay, &replay->starts, plan->starts, plan->start_count * sizeof *plan->starts);
    if (status == QUARRY_OK)
        status = upload(replay, &replay->steps, plan->steps, plan->step_count * sizeof *plan->steps);
    if (status == QUARRY_OK)
        status = upload(replay, &replay->blocks, NULL, plan->blocks * sizeof(void *));
    if (status == QUARRY_OK)
        status = upload(replay, &replay->tally, NULL, sizeof(struct replay_tally));
    if (status != QUARRY_OK)
        replay_close(replay);
    return status;
}

void replay_close(struct replay *replay)
{
    void *const memory[] = {replay->starts, replay->steps, replay->blocks, replay->tally};
    for (unsigned i = 0; i < sizeof memory / sizeof *memory; i++)
        quarry_memory_destroy(&replay->target, QUARRY_POOL_DEVICE, memory[i]);
    quarry_event_destroy(replay->begin);
    quarry_event_destroy(replay->end);
    memset(replay, 0, sizeof *replay);
}

static enum quarry_status run_batch(const struct replay *replay, const struct simt_kernel *kernel,
                                    const struct quarry_handle *heap, uint64_t number, int check)
{
    const struct replay_batch *batch = &replay->plan->batches[number];
    struct replay_job job;
    if (batch->threads == 0)
        return QUARRY_OK;
    memset(&job, 0, sizeof job);
    job.heap = *heap;
    job.starts = (const uint32_t *)replay->starts + batch->first;
    job.steps = (const struct replay_step *)replay->steps;
    job.blocks = (void **)replay->blocks;
    job.tally = (struct replay_tally *)replay->tally;
    job.threads = batch->threads;
    job.check = (uint32_t)check;
    return quarry_launch(kernel, &replay->target, quarry_grid_for(batch->threads), &job);
}

/* A run without its last batch, timed while launches are hidden behind a kernel that spins. */
static enum quarry_status time_once(const struct replay *replay, const struct simt_kernel *kernel,
                                    const struct quarry_handle *heap, double *microseconds)
{
    const uint64_t batches = replay->plan->batch_count;
    const uint64_t ahead = batches < MAX_LAUNCHES_AHEAD ? batches : MAX_LAUNCHES_AHEAD;
    const struct quarry_grid one = {1, 1, 0};
    const struct bench_spin spin = {replay->ticks_per_ms * (ahead + 5) * LAUNCH_US / 1000};
    enum quarry_status status = QUARRY_OK;
    if (spin.ticks)
        status = quarry_launch(&bench_spin, &replay->target, one, &spin);
    if (status == QUARRY_OK)
        status = quarry_event_record(replay->begin);
    for (uint64_t i = 0; i < batches && status == QUARRY_OK; i++)
        status = run_batch(replay, kernel, heap, i, 0);
    if (status == QUARRY_OK)
        status = quarry_event_record(replay->end);
    if (status == QUARRY_OK)
        status = run_batch(replay, kernel, heap, batches, 0);
    return status == QUARRY_OK ? quarry_event_elapsed(replay->begin, replay->end, microseconds) : status;
}

static enum quarry_status time_runs(const struct replay *replay, const struct simt_kernel *kernel,
                                    const struct quarry_handle *heap, unsigned runs, struct statistics *time)
{
    double samples[REPLAY_MAX_RUNS];
    const double began = timing_now();
    unsigned n = 0;
    enum quarry_status status = QUARRY_OK;
    memset(time, 0, sizeof *time);
    while (n < runs && status == QUARRY_OK && (n == 0 || timing_now() - began <= replay->budget_s)) {
        tool_progress(replay->doing, replay->from + (replay->to - replay->from) * n / runs);
        status = time_once(replay, kernel, heap, &samples[n++]);
    }
    if (status == QUARRY_OK && n)
        *time = statistics_summarise(samples, n);
    return status;
}

/* The first run: warms up, counts and checks. */
static enum quarry_status look_once(const struct replay *replay, quarry_heap *heap, int check,
                                    struct replay_result *result)
{
    const struct quarry_handle handle = quarry_heap_handle(heap);
    const struct simt_kernel *kernel = kernel_for(&handle, check);
    struct quarry_statistics statistics;
    enum quarry_status status =
        quarry_memory_fill(&replay->target, replay->tally, 0, sizeof(struct replay_tally));
    for (uint64_t i = 0; i <= replay->plan->batch_count && status == QUARRY_OK; i++) {
        status = run_batch(replay, kernel, &handle, i, check);
        if (status == QUARRY_OK && i == replay->plan->fullest) {
            status = quarry_heap_statistics(heap, &statistics);
            result->occupied = statistics.live_bytes;
        }
    }
    if (status == QUARRY_OK)
        status = quarry_heap_statistics(heap, &statistics);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(&replay->target, &result->tally, replay->tally, sizeof result->tally);
    if (status != QUARRY_OK)
        return status;
    result->failed = statistics.failed_mallocs;
    result->refused = statistics.refused_mallocs;
    result->left = statistics.live_blocks;
    return quarry_heap_check(heap);
}

enum quarry_status replay_measure(struct replay *replay, const struct quarry_heap_options *options,
                                  unsigned runs, int check, struct replay_result *result)
{
    struct quarry_heap_options wanted = *options;
    quarry_heap *heap;
    memset(result, 0, sizeof *result);
    wanted.target = replay->target;
    tool_progress(replay->doing, replay->from);
    enum quarry_status status = quarry_heap_create(&heap, &wanted);
    if (status == QUARRY_OK)
        status = quarry_heap_describe(heap, &result->heap);
    if (status == QUARRY_OK)
        status = look_once(replay, heap, check, result);
    if (status == QUARRY_OK && !result->failed && !result->refused) {
        const struct quarry_handle handle = quarry_heap_handle(heap);
        status = time_runs(replay, kernel_for(&handle, 0), &handle, runs, &result->time);
    }
    if (status == QUARRY_OK)
        return quarry_heap_destroy(heap);
    quarry_heap_destroy(heap); /* the sentence is about what went wrong first */
    return status;
}

enum quarry_status replay_measure_floor(struct replay *replay, unsigned runs, struct statistics *time)
{
    struct quarry_handle none;
    double warm_up;
    memset(&none, 0, sizeof none);
    enum quarry_status status = time_once(replay, &replay_floor, &none, &warm_up);
    return status == QUARRY_OK ? time_runs(replay, &replay_floor, &none, runs, time) : status;
}
