/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include "kernels.h"

#include <string.h>

const struct bench_kernels *bench_kernels_of(const struct quarry_handle *heap)
{
    static const struct bench_kernels any = {&EACH_ANY(bench_heap_kernels), &EACH_ANY(bench_survey_kernels),
                                             &EACH_ANY(bench_count_kernels)};
    static const struct bench_kernels plain[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, ...)                                                                      \
    {&EACH_OF(bench_heap_kernels, id), &EACH_OF(bench_survey_kernels, id),                                   \
     &EACH_COUNTED_OF(bench_count_kernels, id)},
#include "quarry/alloc/list.def"
    };
    return each_is_composed(heap) ? &any : &plain[heap->allocator - 1]; /* numbers begin at 1 */
}

int bench_is_direct(const struct bench_kernels *kernels)
{
    return kernels->heap != &EACH_ANY(bench_heap_kernels);
}

/* scratch: the tally and the counter lie in different 256-byte lines. */
enum { SCRATCH_COUNTER = 256, SCRATCH_BYTES = 512 };

enum quarry_status workload_open(struct workload *workload, const struct quarry_target *target,
                                 uint32_t max_threads, const struct timing_rule *rule)
{
    memset(workload, 0, sizeof *workload);
    workload->target = *target;
    workload->max_threads = max_threads;
    enum quarry_status status = timing_open(&workload->timing, target, rule);
    if (status != QUARRY_OK)
        return status;
    void *pointers = NULL;
    status = quarry_memory_create(target, QUARRY_POOL_DEVICE, sizeof(void *) * max_threads, &pointers);
    workload->pointers = pointers;
    void *others = NULL;
    if (status == QUARRY_OK)
        status = quarry_memory_create(target, QUARRY_POOL_DEVICE, sizeof(void *) * max_threads, &others);
    workload->others = others;
    if (status == QUARRY_OK)
        status = quarry_memory_create(target, QUARRY_POOL_DEVICE, SCRATCH_BYTES, &workload->scratch);
    if (status == QUARRY_OK)
        status = quarry_memory_fill(target, workload->scratch, 0, SCRATCH_BYTES);
    if (status != QUARRY_OK)
        workload_close(workload);
    return status;
}

void workload_close(struct workload *workload)
{
    const struct quarry_target *target = &workload->target;
    if (workload->pointers)
        quarry_memory_destroy(target, QUARRY_POOL_DEVICE, workload->pointers);
    if (workload->others)
        quarry_memory_destroy(target, QUARRY_POOL_DEVICE, workload->others);
    if (workload->scratch)
        quarry_memory_destroy(target, QUARRY_POOL_DEVICE, workload->scratch);
    timing_close(&workload->timing);
    memset(workload, 0, sizeof *workload);
}

void workload_argument(const struct workload *workload, const quarry_heap *heap,
                       const struct workload_shape *shape, struct bench_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    if (heap)
        cell->heap = quarry_heap_handle(heap);
    cell->pointers = workload->pointers;
    cell->others = workload->others;
    cell->bytes = shape->bytes;
    cell->least = shape->least;
    cell->octaves = (uint32_t)shape->octaves;
    cell->threads = shape->threads;
    cell->lanes = shape->lanes;
    cell->alignment = shape->alignment;
    cell->counter = (uint64_t *)(void *)((char *)workload->scratch + SCRATCH_COUNTER);
    cell->tally = workload->scratch;
}

enum quarry_status workload_floor(struct workload *workload, uint32_t threads, uint64_t bytes,
                                  struct workload_floor *floor)
{
    const struct workload_shape shape = {.bytes = bytes, .threads = threads, .lanes = SIMT_LANES};
    struct bench_cell cell;
    const struct quarry_grid grid = quarry_grid_for(threads);
    const struct timing_step empty = {.kernel = &bench_empty, .grid = grid, .argument = &cell};
    const struct timing_step store = {.kernel = &bench_store, .grid = grid, .argument = &cell};
    const struct timing_step bump = {.kernel = &bench_bump, .grid = grid, .argument = &cell};

    workload_argument(workload, NULL, &shape, &cell);

    enum quarry_status status = timing_run(&workload->timing, &empty, 1, &floor->empty);
    if (status == QUARRY_OK)
        status = timing_run(&workload->timing, &store, 1, &floor->store);
    if (status == QUARRY_OK)
        status = timing_run(&workload->timing, &bump, 1, &floor->bump);
    return status;
}

/* A slice is short enough for the clock to be looked at often, and long enough to keep a GPU busy. */
enum { FILL_TRIES = 10000, FILL_SLICES = 64, FILL_MIN_SLICE = 1 << 16, FILL_MAX_THREADS = 1 << 20 };

enum quarry_status workload_fill(const struct quarry_target *target, quarry_heap *heap, uint64_t bytes,
                                 double free_share, double budget_s, void (*progress)(double share),
                                 int *gave_up)
{
    const double began = timing_now();
    uint64_t slots = 0;
    void *held = NULL;

    *gave_up = 0;
    enum quarry_status status = quarry_heap_reset(heap);
    if (status == QUARRY_OK)
        status = quarry_heap_slots(heap, bytes, &slots);
    if (status != QUARRY_OK || free_share >= 1 || slots == 0)
        return status;
    const uint64_t count = slots - (uint64_t)((double)slots * free_share / 32);
    status = quarry_memory_create(target, QUARRY_POOL_DEVICE, count * sizeof(void *), &held);
    if (status != QUARRY_OK)
        return status;

    status = quarry_memory_fill(target, held, 0, count * sizeof(void *));
    struct bench_hold hold;
    memset(&hold, 0, sizeof hold);
    hold.heap = quarry_heap_handle(heap);
    hold.held = held;
    hold.bytes = bytes;
    hold.free_share =
        (uint32_t)((free_share * (double)slots - (double)(slots - count)) / (double)count * 4294967296.0);
    uint64_t slice = count / FILL_SLICES + 1;
    if (slice < FILL_MIN_SLICE)
        slice = FILL_MIN_SLICE;
    const struct quarry_grid grid = quarry_grid_for(slice < FILL_MAX_THREADS ? slice : FILL_MAX_THREADS);
    for (uint64_t first = 0; first < count && status == QUARRY_OK; first += slice) {
        if (progress)
            progress((double)first / (double)count);
        hold.first = first;
        hold.last = count - first < slice ? count : first + slice;
        status = quarry_launch(&bench_hold, target, grid, &hold);
        if (status == QUARRY_OK)
            status = quarry_target_wait(target);
        if (timing_now() - began > budget_s && hold.last < count) {
            *gave_up = 1;
            break;
        }
    }
    /* Where fullness is inferred, the last pages take many tries. */
    for (uint32_t again = 0; free_share <= 0 && status == QUARRY_OK && !*gave_up; again++) {
        status = quarry_heap_slots(heap, bytes, &slots);
        if (status != QUARRY_OK || slots == 0)
            break;
        hold.first = 0;
        hold.last = count;
        status = quarry_launch(&bench_hold, target, grid, &hold);
        *gave_up = again >= FILL_TRIES || timing_now() - began > budget_s;
    }
    if (status == QUARRY_OK && !*gave_up) {
        hold.first = 0;
        hold.last = count;
        status = quarry_launch(&bench_thin, target, grid, &hold);
        if (status == QUARRY_OK)
            status = quarry_target_wait(target);
    }
    const enum quarry_status destroyed = quarry_memory_destroy(target, QUARRY_POOL_DEVICE, held);
    return status != QUARRY_OK ? status : destroyed;
}

uint64_t workload_blocks(uint64_t threads, uint32_t lanes)
{
    const uint64_t rest = threads % SIMT_LANES;
    return threads / SIMT_LANES * lanes + (rest < lanes ? rest : lanes);
}
