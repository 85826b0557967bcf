/* SPDX-License-Identifier: Apache-2.0 */
/* One cell of `quarry bench`: its heap, what fills it, and its measurement. */
#include "bench/bench.h"

#include <inttypes.h>
#include <string.h>

#define SET_FAULT(result, ...) snprintf((result)->fault, sizeof(result)->fault, __VA_ARGS__)

/* The library refused. */
static void refuse(struct cell *cell, enum quarry_status status, const char *what)
{
    const char *detail = quarry_error_detail();
    cell->result.status = CELL_ERROR;
    cell->result.fatal = tool_heap_code(status) == TOOL_USAGE;
    SET_FAULT(&cell->result, "%s: %s", what, *detail ? detail : quarry_status_string(status));
}

static void skip(struct cell *cell, const char *why)
{
    cell->result.status = CELL_SKIPPED;
    SET_FAULT(&cell->result, "%s", why);
}

void bench_heap_options(const struct bench *bench, const struct cell *cell,
                        struct quarry_heap_options *create)
{
    const uint64_t page = cell->page_bytes ? cell->page_bytes : 256; /* of most allocators, as a default */
    const struct quarry_heap_options plain = QUARRY_HEAP_OPTIONS_INIT;
    static struct quarry_option set[QUARRY_MAX_HEAP_OPTIONS];
    *create = plain;
    create->target = bench->target;
    create->allocator = cell->allocator.name;
    create->page_bytes = cell->page_bytes;
    create->debug = bench->debug;
    options_use_policies(&bench->policies, create);
    options_use_set(&bench->set, set, create);
    create->low_free = bench->low_free;
    create->full = bench->low_free > 0 ? QUARRY_FULL_INFERRED : QUARRY_FULL_PROVEN;
    const int limited = bench->heap_pages && cell->heap_bytes / page > bench->heap_pages;
    if (limited && cell->page_bytes)
        create->pages = bench->heap_pages;
    else
        create->pool_bytes = limited ? bench->heap_pages * page : cell->heap_bytes;
}

static enum quarry_status destroy_heap(struct cell_state *state)
{
    const enum quarry_status status = quarry_heap_destroy(state->heap);
    state->heap = NULL;
    state->of = NULL;
    state->filled = NULL;
    return status == QUARRY_ERROR_LEAK ? QUARRY_OK : status; /* the blocks that filled it are none */
}

/* So many bytes are those of the heap's pages, and metadata comes on top. */
static enum quarry_status use_pages(uint64_t bytes, struct quarry_heap_options *create)
{
    struct quarry_heap_description about;
    quarry_heap *heap = NULL;
    create->pool_bytes = 0;
    create->pages = 1;
    enum quarry_status status = quarry_heap_create(&heap, create);
    if (status == QUARRY_OK)
        status = quarry_heap_describe(heap, &about);
    if (status == QUARRY_OK)
        create->pages = bytes / about.page_bytes;
    const enum quarry_status destroyed = quarry_heap_destroy(heap);
    return status == QUARRY_OK ? destroyed : status;
}

/* Makes the cell's heap unless it is there.  Returns 0, or -1 with the cell's result. */
static int have_heap(const struct bench *bench, struct cell_state *state, struct cell *cell)
{
    const struct cell *of = state->of;
    struct quarry_heap_options create;
    enum quarry_status status = QUARRY_OK;
    if (!of || of->heap_bytes != cell->heap_bytes || of->page_bytes != cell->page_bytes ||
        of->test->exhausts != cell->test->exhausts) {
        status = destroy_heap(state);
        bench_heap_options(bench, cell, &create);
        if (status == QUARRY_OK && cell->test->exhausts && cell->allocator.counts_slots)
            status = use_pages(cell->heap_bytes, &create);
        if (status == QUARRY_OK)
            status = quarry_heap_create(&state->heap, &create);
        state->of = cell;
    }
    if (!state->heap && (status == QUARRY_OK || status == QUARRY_ERROR_POOL)) {
        skip(cell, ""); /* too small for one page */
        return -1;
    }
    if (status == QUARRY_OK)
        status = quarry_heap_describe(state->heap, &cell->result.heap);
    if (status != QUARRY_OK)
        refuse(cell, status, "can't create the heap");
    else if (cell->bytes > cell->result.heap.max_block_bytes)
        skip(cell, "");
    else
        return 0;
    return -1;
}

/* Brings the heap into the cell's state.  Returns 0, or -1 with the cell's result. */
static int have_state(const struct bench *bench, struct cell_state *state, struct cell *cell)
{
    /* For a range the share is one of the slots for the largest.  Full is a heap that has no room for the
     * least. */
    const uint64_t filler = cell->least && !cell->free_share ? cell->least : cell->bytes;
    const struct cell *filled = state->filled;
    const int empty = cell->free_share == TOOL_WHOLE;
    enum quarry_status status = QUARRY_OK;
    int gave_up = 0;

    if (!cell->allocator.counts_slots) {
        state->slots = UINT64_MAX;
    } else if (!filled || filled->free_share != cell->free_share ||
               (!empty && filled->bytes != cell->bytes)) {
        state->filled = NULL;
        status =
            workload_fill(&bench->target, state->heap, filler, (double)cell->free_share / (double)TOOL_WHOLE,
                          bench->fill_budget_s, NULL, &gave_up);
    }
    if (status == QUARRY_ERROR_MEMORY || gave_up) {
        skip(cell, gave_up ? "filling the heap takes too long" : "no memory to fill the heap");
        return -1;
    }
    if (status == QUARRY_OK && cell->allocator.counts_slots)
        status = quarry_heap_slots(state->heap, filler, &state->slots);
    if (status != QUARRY_OK) {
        refuse(cell, status, "can't fill the heap");
        return -1;
    }
    state->filled = cell;
    cell->result.slots = state->slots;
    return 0;
}

/* Of a range each block needs two slots for the largest: a block anywhere in a run of free pages spoils at
 * most two. */
static int fits(const struct cell *cell)
{
    const uint64_t blocks = workload_blocks(cell->threads, cell->lanes);
    const uint64_t live = cell->test->live ? cell->test->live : 1;
    if (!cell->free_share || cell->test->exhausts || cell->test->kind == BENCH_FILL ||
        cell->test->kind == BENCH_REGISTERS)
        return 1;
    return blocks * live <= cell->result.slots / (cell->least ? 2 : 1);
}

enum { CREATIONS = 7 };

/* The time of making heaps, by the host's clock, in front of the other results; the last one stays. */
static enum quarry_status time_creation(const struct bench *bench, struct cell_state *state,
                                        struct workload_cell *measured)
{
    double samples[CREATIONS];
    struct quarry_heap_options create;
    enum quarry_status status = QUARRY_OK;
    bench_heap_options(bench, state->of, &create);
    for (int i = 0; i < CREATIONS && status == QUARRY_OK; i++) {
        status = quarry_heap_destroy(state->heap);
        state->heap = NULL;
        const double began = timing_now();
        if (status == QUARRY_OK)
            status = quarry_heap_create(&state->heap, &create);
        if (status == QUARRY_OK)
            status = quarry_target_wait(&bench->target);
        samples[i] = (timing_now() - began) * 1e6;
    }
    if (status != QUARRY_OK)
        return status;
    memmove(measured->ops + 1, measured->ops, measured->count * sizeof *measured->ops);
    memset(measured->ops, 0, sizeof *measured->ops);
    measured->ops[0].name = "create";
    measured->ops[0].time = statistics_summarise(samples, CREATIONS);
    measured->count++;
    return status;
}

void bench_run_cell(const struct bench *bench, struct cell_state *state, struct cell *cell)
{
    struct cell_result *result = &cell->result;
    struct workload_cell *measured = &result->measured;
    const uint64_t least = cell->least ? cell->least : cell->bytes;

    memset(result, 0, sizeof *result);
    if (have_heap(bench, state, cell) != 0 || have_state(bench, state, cell) != 0)
        return;
    if (!fits(cell)) {
        skip(cell, "");
        return;
    }
    const struct workload_shape shape = {.bytes = cell->bytes,
                                         .least = cell->least,
                                         .octaves = cell->octaves,
                                         .threads = cell->threads,
                                         .lanes = cell->lanes,
                                         .alignment = least <= 8 ? 8 : (uint32_t)result->heap.alignment,
                                         .full = cell->free_share == 0};
    enum quarry_status status = workload_measure(&state->workload, state->heap, cell->test, &shape, measured);
    if (status == QUARRY_OK && measured->verified && bench->steps && cell->test->kind == BENCH_TIMED)
        status = workload_count(&state->workload, state->heap, &shape, measured);
    if (status == QUARRY_OK && measured->verified && cell->test->kind == BENCH_INIT)
        status = time_creation(bench, state, measured);
    if (workload_resets(cell->test) || !measured->verified)
        state->filled = NULL;
    if (status == QUARRY_ERROR_MEMORY) {
        skip(cell, "no memory beside the heap");
        return;
    }
    if (status != QUARRY_OK) {
        measured->verified = 0;
        refuse(cell, status, "can't measure");
        return;
    }
    result->status = measured->verified ? CELL_OK : CELL_FAILED;
    SET_FAULT(result, "%s", measured->fault);
}

void bench_close_cells(struct cell_state *state)
{
    destroy_heap(state);
}

/* ---- the CPU backend itself ---- */

enum { RATE_LANES = 1 << 20, RATE_PAGES = 1 << 20, RATE_PAGE_BYTES = 64, RATE_MALLOCS = 1 << 18 };

enum quarry_status bench_measure_rates(const struct bench *bench, struct workload *workload, double *rates)
{
    struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = NULL;
    const struct workload_shape shape = {
        .bytes = RATE_PAGE_BYTES, .threads = RATE_MALLOCS, .lanes = SIMT_LANES, .alignment = 16};
    const struct bench_test *const tests[] = {bench_test_find("alloc"), bench_test_find("free")};
    struct workload_floor floor;

    enum quarry_status status = workload_floor(workload, RATE_LANES, 16, &floor);
    if (status != QUARRY_OK)
        return status;
    rates[0] = RATE_LANES / floor.empty.median;

    create.target = bench->target;
    create.allocator = "rw";
    create.pages = RATE_PAGES;
    create.page_bytes = RATE_PAGE_BYTES;
    status = quarry_heap_create(&heap, &create);
    for (int i = 0; i < 2 && status == QUARRY_OK; i++) {
        struct workload_cell cell;
        status = workload_measure(workload, heap, tests[i], &shape, &cell);
        if (status == QUARRY_OK && cell.verified)
            rates[i + 1] = RATE_MALLOCS / cell.ops[0].time.median;
    }
    quarry_heap_destroy(heap);
    return status;
}
