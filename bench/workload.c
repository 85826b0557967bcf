/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include "kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of plain heaps, and of those with policies. */
static const struct {
    const struct bench_heap_kernels *heap[2];
    const struct bench_count_kernels *count[2];
} kernels_of[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    {{&EACH_OF(bench_heap_kernels, id), &EACH_COMPOSED_OF(bench_heap_kernels, id)},                          \
     {&EACH_OF(bench_count_kernels, id), &EACH_COMPOSED_OF(bench_count_kernels, id)}},
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
};

static const struct bench_heap_kernels *heap_kernels(const struct quarry_handle *heap)
{
    return kernels_of[heap->allocator].heap[heap->policy != NULL];
}

/* scratch: the tally and the counter lie in different 256-byte lines. */
enum { SCRATCH_COUNTER = 256, SCRATCH_BYTES = 512 };

enum quarry_status workload_open(struct workload *workload, const struct quarry_target *target,
                                 uint32_t max_threads, uint32_t warmups, uint32_t runs, double budget_s)
{
    memset(workload, 0, sizeof *workload);
    workload->target = *target;
    workload->max_threads = max_threads;
    enum quarry_status status = timing_open(&workload->timing, target, warmups, runs, budget_s);
    if (status != QUARRY_OK)
        return status;
    void *pointers = NULL;
    status = quarry_memory_create(target, QUARRY_POOL_DEVICE, sizeof(void *) * max_threads, &pointers);
    workload->pointers = pointers;
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
    if (workload->scratch)
        quarry_memory_destroy(target, QUARRY_POOL_DEVICE, workload->scratch);
    timing_close(&workload->timing);
    memset(workload, 0, sizeof *workload);
}

static struct bench_cell cell_argument(const struct workload *workload, const quarry_heap *heap,
                                       const struct workload_shape *shape)
{
    struct bench_cell cell;
    memset(&cell, 0, sizeof cell);
    if (heap)
        cell.heap = quarry_heap_handle(heap);
    cell.pointers = workload->pointers;
    cell.bytes = shape->bytes;
    cell.least = shape->least;
    cell.threads = shape->threads;
    cell.lanes = shape->lanes;
    cell.alignment = shape->alignment;
    cell.counter = (uint64_t *)(void *)((char *)workload->scratch + SCRATCH_COUNTER);
    cell.tally = workload->scratch;
    return cell;
}

enum quarry_status workload_floor(struct workload *workload, uint32_t threads, uint64_t bytes,
                                  struct workload_floor *floor)
{
    const struct workload_shape shape = {.bytes = bytes, .threads = threads, .lanes = SIMT_LANES};
    const struct bench_cell cell = cell_argument(workload, NULL, &shape);
    const struct quarry_grid grid = quarry_grid_for(threads);
    const struct timing_step empty = {&bench_empty, grid, &cell};
    const struct timing_step store = {&bench_store, grid, &cell};
    const struct timing_step bump = {&bench_bump, grid, &cell};

    enum quarry_status status = timing_run(&workload->timing, &empty, 1, &floor->empty);
    if (status == QUARRY_OK)
        status = timing_run(&workload->timing, &store, 1, &floor->store);
    if (status == QUARRY_OK)
        status = timing_run(&workload->timing, &bump, 1, &floor->bump);
    return status;
}

/* A chunk is short enough for the clock to be looked at often, and long enough to keep a GPU busy. */
enum { FILL_TRIES = 10000, FILL_CHUNKS = 64, FILL_MIN_CHUNK = 1 << 16, FILL_MAX_THREADS = 1 << 20 };

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
    const struct bench_heap_kernels *const kernels = heap_kernels(&hold.heap);
    hold.held = held;
    hold.bytes = bytes;
    hold.free_share =
        (uint32_t)((free_share * (double)slots - (double)(slots - count)) / (double)count * 4294967296.0);
    uint64_t chunk = count / FILL_CHUNKS + 1;
    if (chunk < FILL_MIN_CHUNK)
        chunk = FILL_MIN_CHUNK;
    const struct quarry_grid grid = quarry_grid_for(chunk < FILL_MAX_THREADS ? chunk : FILL_MAX_THREADS);
    for (uint64_t first = 0; first < count && status == QUARRY_OK; first += chunk) {
        progress((double)first / (double)count);
        hold.first = first;
        hold.last = count - first < chunk ? count : first + chunk;
        status = quarry_launch(kernels->hold, target, grid, &hold);
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
        status = quarry_launch(kernels->hold, target, grid, &hold);
        *gave_up = again >= FILL_TRIES || timing_now() - began > budget_s;
    }
    if (status == QUARRY_OK && !*gave_up) {
        hold.first = 0;
        hold.last = count;
        status = quarry_launch(kernels->thin, target, grid, &hold);
        if (status == QUARRY_OK)
            status = quarry_target_wait(target);
    }
    const enum quarry_status destroyed = quarry_memory_destroy(target, QUARRY_POOL_DEVICE, held);
    return status != QUARRY_OK ? status : destroyed;
}

/* Says in cell->fault what is wrong with an idle heap, or leaves it empty.
 *   mallocs  that succeeded, of the live_blocks; pieces of one block are several */
static enum quarry_status inspect(quarry_heap *heap, uint64_t live_blocks, uint64_t mallocs,
                                  uint64_t failed_mallocs, const char *when, struct workload_cell *cell)
{
    struct quarry_statistics now;
    struct quarry_heap_description about;
    enum quarry_status status = quarry_heap_statistics(heap, &now);
    if (status == QUARRY_OK)
        status = quarry_heap_describe(heap, &about);
    if (status != QUARRY_OK)
        return status;
    const int pieces = mallocs > 1 && about.distribution == QUARRY_DISTRIBUTION_WARP;
    if (cell->counted && (now.live_blocks > live_blocks || (now.live_blocks < live_blocks && !pieces)))
        snprintf(cell->fault, sizeof cell->fault, "%" PRIu64 " blocks live %s instead of %" PRIu64,
                 now.live_blocks, when, live_blocks);
    else if (now.failed_mallocs + now.refused_mallocs != failed_mallocs)
        snprintf(cell->fault, sizeof cell->fault, "%" PRIu64 " mallocs returned NULL %s",
                 now.failed_mallocs + now.refused_mallocs - failed_mallocs, when);
    status = quarry_heap_check(heap);
    if (status == QUARRY_ERROR_CORRUPT) {
        snprintf(cell->fault, sizeof cell->fault, "heap corrupt %s: %.100s", when, quarry_error_detail());
        status = QUARRY_OK;
    }
    return status;
}

uint64_t workload_blocks(uint64_t threads, uint32_t lanes)
{
    const uint64_t rest = threads % SIMT_LANES;
    return threads / SIMT_LANES * lanes + (rest < lanes ? rest : lanes);
}

enum quarry_status workload_measure(struct workload *workload, quarry_heap *heap,
                                    const struct workload_shape *shape, struct workload_cell *cell)
{
    const struct quarry_target *target = &workload->target;
    const struct bench_cell argument = cell_argument(workload, heap, shape);
    const struct quarry_grid grid = quarry_grid_for(shape->threads);
    const struct bench_heap_kernels *const kernels = heap_kernels(&argument.heap);
    const struct simt_kernel *const untimed[3] = {kernels->malloc, &bench_write, &bench_check};
    const struct timing_step steps[2] = {
        {shape->at_once ? kernels->at_once : kernels->malloc, grid, &argument},
        {kernels->free, grid, &argument}};
    const uint64_t blocks = workload_blocks(shape->threads, shape->lanes);
    struct quarry_heap_description about;
    struct quarry_statistics before;
    struct bench_tally tally;

    memset(cell, 0, sizeof *cell);
    enum quarry_status status = quarry_heap_describe(heap, &about);
    if (status == QUARRY_OK)
        status = quarry_heap_statistics(heap, &before);
    if (status != QUARRY_OK)
        return status;
    cell->counted = before.capacity_bytes != 0;
    status = quarry_memory_fill(target, workload->scratch, 0, sizeof tally);
    for (int i = 0; i < 3 && status == QUARRY_OK; i++)
        status = quarry_launch(untimed[i], target, grid, &argument);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &tally, workload->scratch, sizeof tally);
    if (status != QUARRY_OK)
        return status;
    cell->nulls = tally.nulls;

    uint64_t nulls = before.failed_mallocs + before.refused_mallocs + tally.nulls;
    status = inspect(heap, before.live_blocks + blocks - tally.nulls, blocks - tally.nulls, nulls,
                     "after malloc", cell);
    /* A heap that infers how full it is may say NULL when little is free. */
    const int inferred = about.full == QUARRY_FULL_INFERRED && !shape->full;
    if ((!inferred && tally.nulls != (shape->full ? blocks : 0)) || tally.misaligned || tally.broken)
        snprintf(cell->fault, sizeof cell->fault,
                 "%" PRIu64 " NULL, %" PRIu64 " misaligned, %" PRIu64 " overwritten of %" PRIu64 " blocks",
                 tally.nulls, tally.misaligned, tally.broken, blocks);
    if (status == QUARRY_OK && !*cell->fault) {
        status = quarry_launch(kernels->free, target, grid, &argument);
        if (status == QUARRY_OK)
            status = inspect(heap, before.live_blocks, 0, nulls, "after free", cell);
    }
    if (status != QUARRY_OK || *cell->fault)
        return status;

    struct timing_summary summaries[2] = {{0}};
    status = timing_run(&workload->timing, steps, shape->at_once ? 1 : 2, summaries);
    if (shape->full || inferred) { /* how many runs there were, and so NULLs, is the timing's business */
        struct quarry_statistics now;
        if (status == QUARRY_OK)
            status = quarry_heap_statistics(heap, &now);
        nulls = status == QUARRY_OK ? now.failed_mallocs + now.refused_mallocs : 0;
    }
    if (status == QUARRY_OK)
        status = inspect(heap, before.live_blocks, 0, nulls, "after the timed runs", cell);
    if (status != QUARRY_OK || *cell->fault)
        return status;
    cell->verified = 1;
    cell->malloc = summaries[0];
    cell->free = summaries[1];
    return QUARRY_OK;
}

enum quarry_status workload_fill_up(struct workload *workload, quarry_heap *heap,
                                    const struct workload_shape *shape, struct workload_cell *cell)
{
    const struct quarry_target *target = &workload->target;
    const struct bench_cell argument = cell_argument(workload, heap, shape);
    struct quarry_statistics before;
    struct bench_tally tally;

    memset(cell, 0, sizeof *cell);
    cell->counted = 1;
    enum quarry_status status = quarry_heap_reset(heap);
    if (status == QUARRY_OK)
        status = quarry_heap_statistics(heap, &before);
    if (status == QUARRY_OK)
        status = quarry_memory_fill(target, workload->scratch, 0, sizeof tally);
    if (status == QUARRY_OK)
        status = quarry_launch(heap_kernels(&argument.heap)->fill, target, quarry_grid_for(shape->threads),
                               &argument);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &tally, workload->scratch, sizeof tally);
    if (status != QUARRY_OK)
        return status;
    cell->blocks = tally.filled[0];
    cell->bytes = tally.filled[1];
    cell->nulls = workload_blocks(shape->threads, shape->lanes);
    status =
        inspect(heap, cell->blocks, cell->blocks,
                before.failed_mallocs + before.refused_mallocs + cell->nulls, "when the heap was full", cell);
    cell->verified = status == QUARRY_OK && !*cell->fault;
    return status;
}

enum { COUNTED_RUNS = 5 };

enum quarry_status workload_count(struct workload *workload, quarry_heap *heap,
                                  const struct workload_shape *shape, struct workload_cell *cell)
{
    const struct quarry_target *target = &workload->target;
    const struct bench_cell argument = cell_argument(workload, heap, shape);
    const struct bench_count_kernels *const kernels =
        kernels_of[argument.heap.allocator].count[argument.heap.policy != NULL];
    const struct quarry_grid grid = quarry_grid_for(shape->threads);
    const double calls = (double)workload_blocks(shape->threads, shape->lanes) * COUNTED_RUNS;
    struct bench_tally tally;

    enum quarry_status status = quarry_memory_fill(target, workload->scratch, 0, sizeof tally);
    for (int i = 0; i < 2 * COUNTED_RUNS && status == QUARRY_OK; i++)
        status = quarry_launch(i % 2 ? kernels->free : kernels->malloc, target, grid, &argument);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &tally, workload->scratch, sizeof tally);
    if (status != QUARRY_OK)
        return status;
    cell->tas = (double)tally.steps / calls;
    cell->was = (double)tally.warp_steps / (double)tally.warps;
    cell->malloc_cycles = (double)tally.cycles[0] / calls;
    cell->free_cycles = (double)tally.cycles[1] / calls;
    return QUARRY_OK;
}
