/* SPDX-License-Identifier: Apache-2.0 */
/* One cell: its steps as launches, the run that is verified, and the timed ones. */
#include "kernels.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PACKED_ALIGNMENT = 16 };

/* One cell while it is measured. */
struct run {
    struct workload *workload;
    quarry_heap *heap;
    const struct bench_test *test;
    const struct workload_shape *shape;
    const struct bench_kernels *kernels;
    struct workload_cell *cell;
    struct quarry_grid grid;
    struct bench_cell blocks; /* the kernels' argument */
    struct bench_cell others; /* the same for others[] */
    uint64_t count;           /* threads that work */
    uint64_t asked_bytes;     /* of all their blocks */
    int inferred;             /* the heap may say NULL though a little is free */
    /* before the steps, or since the last reset */
    uint64_t live;
    uint64_t nulls;
};

/* ---- steps ---- */

static enum quarry_status queue_reset(void *context)
{
    return quarry_heap_reset(((struct run *)context)->heap);
}

static enum quarry_status queue_draw(void *context)
{
    ((struct run *)context)->blocks.drawn += (uint64_t)1 << 32;
    return QUARRY_OK;
}

static enum quarry_status queue_clear(void *context)
{
    const struct run *run = context;
    return quarry_memory_fill(&run->workload->target, run->blocks.pointers, 0,
                              sizeof(void *) * run->shape->threads);
}

static enum quarry_status queue_prefix_sum(void *context)
{
    const struct run *run = context;
    const struct quarry_target *target = &run->workload->target;
    enum quarry_status status = quarry_launch(&bench_pack_size, target, run->grid, &run->blocks);
    if (status == QUARRY_OK)
        status = run->workload->scan(run->workload->scan_context, (uint64_t *)(void *)run->blocks.others,
                                     run->shape->threads);
    if (status == QUARRY_OK)
        status = quarry_launch(&bench_pack_write, target, run->grid, &run->blocks);
    return status;
}

static struct timing_step make_step(struct run *run, enum bench_action action)
{
    const struct bench_kernels *kernels = run->kernels;
    struct timing_step step = {.grid = run->grid, .argument = &run->blocks, .context = run};
    switch (action) {
    case ACTION_END:
        break;
    case ACTION_MALLOC:
        step.kernel = kernels->heap->malloc;
        break;
    case ACTION_FREE_OTHERS:
        step.argument = &run->others;
        /* fallthrough */
    case ACTION_FREE:
        step.kernel = kernels->heap->free;
        break;
    case ACTION_AT_ONCE:
        step.kernel = kernels->heap->at_once;
        break;
    case ACTION_RESET:
        step.queue = queue_reset;
        break;
    case ACTION_DRAW:
        step.queue = queue_draw;
        break;
    case ACTION_CLEAR:
        step.queue = queue_clear;
        break;
    case ACTION_SHUFFLE:
        step.kernel = &bench_shuffle;
        break;
    case ACTION_CHURN:
        step.kernel = kernels->survey->churn;
        break;
    case ACTION_EXCHANGE:
        step.kernel = kernels->survey->exchange;
        break;
    case ACTION_PRODUCE:
        step.kernel = kernels->survey->produce;
        break;
    case ACTION_PREFIX_SUM:
        step.queue = queue_prefix_sum;
        break;
    case ACTION_WRITE_OTHERS:
        step.argument = &run->others;
        /* fallthrough */
    case ACTION_WRITE:
        step.kernel = &bench_write;
        break;
    case ACTION_PACK:
        step.kernel = &bench_pack;
        break;
    }
    return step;
}

/* ---- verification ---- */

#define FAULT(run, ...) snprintf((run)->cell->fault, sizeof(run)->cell->fault, __VA_ARGS__)

static enum quarry_status read_tally(const struct run *run, struct bench_tally *tally)
{
    return quarry_memory_copy(&run->workload->target, tally, run->workload->scratch, sizeof *tally);
}

static enum quarry_status clear_tally(const struct run *run)
{
    return quarry_memory_fill(&run->workload->target, run->workload->scratch, 0, sizeof(struct bench_tally));
}

static enum quarry_status launch(const struct run *run, const struct simt_kernel *kernel,
                                 const struct bench_cell *argument)
{
    return quarry_launch(kernel, &run->workload->target, run->grid, argument);
}

/* Takes the heap's counters as what was before. */
static enum quarry_status take_statistics(struct run *run)
{
    struct quarry_statistics now;
    enum quarry_status status = quarry_heap_statistics(run->heap, &now);
    if (status == QUARRY_OK) {
        run->live = now.live_blocks;
        run->nulls = now.failed_mallocs + now.refused_mallocs;
        run->cell->counted = now.capacity_bytes != 0;
    }
    return status;
}

/* Says in the cell's fault what is wrong with an idle heap in which `blocks` more than before live; pieces of
 * one block are several. */
static enum quarry_status inspect(const struct run *run, uint64_t blocks, const char *when)
{
    struct quarry_statistics now;
    struct quarry_heap_description about;
    enum quarry_status status = quarry_heap_statistics(run->heap, &now);
    if (status == QUARRY_OK)
        status = quarry_heap_describe(run->heap, &about);
    if (status != QUARRY_OK)
        return status;
    const int pieces = blocks > 1 && about.distribution == QUARRY_DISTRIBUTION_WARP;
    const uint64_t live = run->live + blocks;
    if (run->cell->counted && (now.live_blocks > live || (now.live_blocks < live && !pieces)))
        FAULT(run, "%" PRIu64 " blocks live %s instead of %" PRIu64, now.live_blocks, when, live);
    else if (now.failed_mallocs + now.refused_mallocs != run->nulls)
        FAULT(run, "%" PRIu64 " mallocs returned NULL %s",
              now.failed_mallocs + now.refused_mallocs - run->nulls, when);
    status = quarry_heap_check(run->heap);
    if (status == QUARRY_ERROR_CORRUPT) {
        FAULT(run, "heap corrupt %s: %.100s", when, quarry_error_detail());
        status = QUARRY_OK;
    }
    return status;
}

/* Says what the tally has of `blocks` blocks, of which *nulls were not had. */
static enum quarry_status judge_tally(struct run *run, uint64_t blocks, uint64_t *nulls)
{
    struct bench_tally tally;
    enum quarry_status status = read_tally(run, &tally);
    if (status != QUARRY_OK)
        return status;
    *nulls = tally.nulls;
    run->cell->nulls += tally.nulls;
    run->nulls += tally.nulls;
    const int expected =
        run->inferred || run->test->exhausts || tally.nulls == (run->shape->full ? blocks : 0);
    if (!expected || tally.misaligned || tally.broken)
        FAULT(run, "%" PRIu64 " NULL, %" PRIu64 " misaligned, %" PRIu64 " overwritten of %" PRIu64 " blocks",
              tally.nulls, tally.misaligned, tally.broken, blocks);
    return QUARRY_OK;
}

/* Reads the blocks' patterns. */
static enum quarry_status check_blocks(struct run *run, const struct bench_cell *argument, uint64_t *nulls)
{
    enum quarry_status status = clear_tally(run);
    if (status == QUARRY_OK)
        status = launch(run, &bench_check, argument);
    return status == QUARRY_OK ? judge_tally(run, run->count, nulls) : status;
}

static enum quarry_status verify_step(struct run *run, enum bench_action action);

static enum quarry_status check_step(struct run *run, enum bench_action action)
{
    const uint64_t calls = run->count * (run->test->rounds ? run->test->rounds : 1);
    enum quarry_status status = QUARRY_OK;
    uint64_t nulls = 0;

    switch (action) {
    case ACTION_MALLOC:
        status = launch(run, &bench_write, &run->blocks);
        /* fallthrough */
    case ACTION_PRODUCE:
        if (status == QUARRY_OK)
            status = check_blocks(run, &run->blocks, &nulls);
        return status == QUARRY_OK ? inspect(run, run->count - nulls, "after malloc") : status;
    case ACTION_CHURN:
    case ACTION_EXCHANGE:
        status = judge_tally(run, calls, &nulls);
        return status == QUARRY_OK && action == ACTION_CHURN ? inspect(run, 0, "after churn") : status;
    case ACTION_FREE:
    case ACTION_FREE_OTHERS:
        return inspect(run, 0, "after free");
    case ACTION_AT_ONCE:
        status = inspect(run, 0, "after malloc and free");
        if (status == QUARRY_OK)
            status = verify_step(run, ACTION_MALLOC);
        return status == QUARRY_OK && !*run->cell->fault ? verify_step(run, ACTION_FREE) : status;
    case ACTION_RESET:
        return take_statistics(run);
    case ACTION_WRITE:
        return check_blocks(run, &run->blocks, &nulls);
    case ACTION_WRITE_OTHERS:
    case ACTION_PREFIX_SUM:
        return check_blocks(run, &run->others, &nulls);
    case ACTION_END:
    case ACTION_DRAW:
    case ACTION_CLEAR:
    case ACTION_SHUFFLE:
    case ACTION_PACK:
        break;
    }
    return QUARRY_OK;
}

static enum quarry_status verify_step(struct run *run, enum bench_action action)
{
    const struct timing_step step = make_step(run, action);
    enum quarry_status status = clear_tally(run);
    if (status == QUARRY_OK)
        status = timing_queue(&run->workload->timing, &step);
    return status == QUARRY_OK ? check_step(run, action) : status;
}

/* ---- the kinds of tests ---- */

static unsigned step_count(const struct bench_test *test)
{
    unsigned count = 0;
    while (count < BENCH_MAX_STEPS && test->steps[count].action != ACTION_END)
        count++;
    return count;
}

static struct workload_op *add_op(struct run *run, const struct bench_step *step)
{
    struct workload_op *op = &run->cell->ops[run->cell->count++];
    op->name = step->op;
    op->action = step->action;
    op->rounds = run->test->rounds;
    return op;
}

static enum quarry_status time_steps(struct run *run)
{
    const struct bench_step *steps = run->test->steps;
    const unsigned count = step_count(run->test);
    struct timing_step timed[BENCH_MAX_STEPS];
    struct statistics summaries[BENCH_MAX_STEPS] = {{0}};
    struct quarry_statistics now;

    for (unsigned i = 0; i < count; i++) {
        timed[i] = make_step(run, steps[i].action);
        timed[i].untimed = !steps[i].op;
    }
    struct timing timing = run->workload->timing;
    if (timing.rule.warmups < run->test->warmups)
        timing.rule.warmups = run->test->warmups;
    enum quarry_status status = timing_run(&timing, timed, count, summaries);
    /* How many runs there were, and so NULLs, is the timing's business. */
    if (status == QUARRY_OK && (run->shape->full || run->inferred || run->test->exhausts)) {
        status = quarry_heap_statistics(run->heap, &now);
        run->nulls = now.failed_mallocs + now.refused_mallocs;
    }
    if (status == QUARRY_OK)
        status = inspect(run, 0, "after the timed runs");
    for (unsigned i = 0; i < count && status == QUARRY_OK; i++) {
        /* There is nothing to free after mallocs that failed. */
        if (!steps[i].op || (run->shape->full && steps[i].action != ACTION_MALLOC))
            continue;
        struct workload_op *op = add_op(run, &steps[i]);
        op->time = summaries[i];
        op->asked_bytes = run->test->kind == BENCH_WRITE ? run->asked_bytes : 0;
    }
    return status;
}

static enum quarry_status measure_steps(struct run *run)
{
    const unsigned count = step_count(run->test);
    enum quarry_status status = QUARRY_OK;
    for (unsigned i = 0; i < count && status == QUARRY_OK && !*run->cell->fault; i++)
        status = verify_step(run, run->test->steps[i].action);
    if (run->test->rounds) { /* kernels that keep their blocks to themselves: what these are like */
        if (status == QUARRY_OK && !*run->cell->fault)
            status = verify_step(run, ACTION_MALLOC);
        if (status == QUARRY_OK && !*run->cell->fault)
            status = verify_step(run, ACTION_FREE);
    }
    if (status == QUARRY_OK && !*run->cell->fault)
        status = time_steps(run);
    return status;
}

static enum quarry_status measure_fill(struct run *run)
{
    struct bench_tally tally;
    enum quarry_status status = clear_tally(run);
    if (status == QUARRY_OK)
        status = launch(run, &bench_fill, &run->blocks);
    if (status == QUARRY_OK)
        status = launch(run, &bench_check_fill, &run->blocks);
    if (status == QUARRY_OK)
        status = read_tally(run, &tally);
    if (status != QUARRY_OK)
        return status;
    struct workload_op *op = add_op(run, &run->test->steps[0]);
    op->blocks = tally.filled[0];
    op->asked_bytes = tally.filled[1];
    run->cell->nulls = run->count;
    run->nulls += run->count;
    if (tally.misaligned || tally.broken)
        FAULT(run, "%" PRIu64 " blocks misaligned, and %" PRIu64 " threads with one overwritten",
              tally.misaligned, tally.broken);
    return *run->cell->fault ? QUARRY_OK : inspect(run, op->blocks, "when the heap was full");
}

static enum quarry_status measure_range(struct run *run, uint32_t rounds)
{
    struct bench_tally tally;
    enum quarry_status status = clear_tally(run);
    if (status == QUARRY_OK)
        status = launch(run, &bench_range, &run->blocks);
    if (status == QUARRY_OK)
        status = read_tally(run, &tally);
    if (status != QUARRY_OK)
        return status;
    struct workload_op *op = add_op(run, &run->test->steps[0]);
    op->blocks = run->count;
    op->asked_bytes = run->asked_bytes;
    op->range_bytes = tally.high - ~tally.low;
    op->rounds = rounds;
    return QUARRY_OK;
}

static enum quarry_status measure_frag(struct run *run)
{
    static const uint32_t after[] = {0, 1, 4, 16};
    uint64_t nulls = 0;
    enum quarry_status status = verify_step(run, ACTION_MALLOC);
    for (unsigned i = 0; i < sizeof after / sizeof *after && status == QUARRY_OK && !*run->cell->fault; i++) {
        for (; run->blocks.rounds < after[i] && status == QUARRY_OK; run->blocks.rounds++) {
            status = launch(run, &bench_thin_half, &run->blocks);
            if (status == QUARRY_OK)
                status = launch(run, &bench_renew, &run->blocks);
        }
        if (status == QUARRY_OK)
            status = launch(run, &bench_write, &run->blocks);
        if (status == QUARRY_OK)
            status = check_blocks(run, &run->blocks, &nulls);
        if (status == QUARRY_OK)
            status = measure_range(run, after[i]);
    }
    return status == QUARRY_OK && !*run->cell->fault ? inspect(run, run->count, "after the rounds") : status;
}

/* Whether the blocks that stay are as they were left: then all of them are in the chains. */
static enum quarry_status check_growth(struct run *run, uint64_t kept)
{
    struct bench_tally tally;
    enum quarry_status status = clear_tally(run);
    if (status == QUARRY_OK)
        status = launch(run, &bench_check_kept, &run->blocks);
    if (status == QUARRY_OK)
        status = read_tally(run, &tally);
    if (status != QUARRY_OK)
        return status;
    if (tally.broken || (bench_size(&run->blocks, 0) >= BENCH_LINK && tally.steps != kept))
        FAULT(run, "%" PRIu64 " threads with a block overwritten, %" PRIu64 " of %" PRIu64 " blocks found",
              tally.broken, tally.steps, kept);
    return *run->cell->fault ? QUARRY_OK : inspect(run, kept, "when the heap was full");
}

enum {
    GROWTH_PARTS =
        BENCH_MAX_OPS - 2, /* results when so many parts of the heap are full, after round 1 and the last */
    GROWTH_ROUNDS = 63     /* a time is the median of the last rounds, of so many at most */
};

/* In each round all threads allocate, and half of these blocks are freed.  The others stay, as chains.  The round in
 * which a malloc fails is the last one. */
static enum quarry_status measure_growth(struct run *run)
{
    const struct timing_step malloc_step = make_step(run, ACTION_MALLOC);
    struct bench_tally tally = {0};
    double times[GROWTH_ROUNDS], sorted[GROWTH_ROUNDS];
    uint64_t slots = 0;
    uint32_t part = 0, timed = 0;
    enum quarry_status status = quarry_heap_slots(run->heap, run->shape->bytes, &slots);
    if (status == QUARRY_OK)
        status = clear_tally(run);
    if (status == QUARRY_OK)
        status = quarry_memory_fill(&run->workload->target, run->blocks.others, 0,
                                    sizeof(void *) * run->shape->threads);
    while (status == QUARRY_OK && !tally.nulls) {
        status = timing_once(&run->workload->timing, &malloc_step, &times[timed++ % GROWTH_ROUNDS]);
        if (status == QUARRY_OK)
            status = launch(run, &bench_range, &run->blocks);
        if (status == QUARRY_OK)
            status = read_tally(run, &tally);
        run->blocks.rounds++;
        if (status == QUARRY_OK && !tally.nulls)
            status = launch(run, &bench_thin_half, &run->blocks);
        if (status == QUARRY_OK)
            status = launch(run, &bench_keep, &run->blocks);
        if (!tally.nulls && tally.filled[0] * GROWTH_PARTS < part * slots)
            continue;
        part = (uint32_t)(tally.filled[0] * GROWTH_PARTS / (slots ? slots : 1)) + 1;
        const uint32_t n = timed < GROWTH_ROUNDS ? timed : GROWTH_ROUNDS;
        memcpy(sorted, times, n * sizeof *sorted);
        struct workload_op *op = add_op(run, &run->test->steps[0]);
        op->time = statistics_summarise(sorted, n);
        op->blocks = tally.filled[0] + run->count - tally.nulls;
        op->asked_bytes = tally.filled[1] + run->asked_bytes / run->count * (run->count - tally.nulls);
        op->range_bytes = tally.high - ~tally.low;
        op->rounds = run->blocks.rounds;
        timed = 0;
    }
    if (status == QUARRY_OK)
        status = read_tally(run, &tally);
    run->cell->nulls = tally.nulls;
    run->nulls += tally.nulls;
    if (status == QUARRY_OK && tally.misaligned)
        FAULT(run, "%" PRIu64 " blocks misaligned", tally.misaligned);
    return status == QUARRY_OK && !*run->cell->fault ? check_growth(run, tally.filled[0]) : status;
}

static enum quarry_status measure_registers(struct run *run)
{
    enum quarry_status status = QUARRY_OK;
    for (unsigned i = 0; i < step_count(run->test) && status == QUARRY_OK; i++) {
        struct quarry_kernel_info info;
        const struct timing_step step = make_step(run, run->test->steps[i].action);
        status = quarry_kernel_describe(step.kernel, &run->workload->target, &info);
        if (status != QUARRY_OK)
            break;
        struct workload_op *op = add_op(run, &run->test->steps[i]);
        op->registers = info.registers;
        op->local_bytes = info.local_bytes;
    }
    return status;
}

int workload_resets(const struct bench_test *test)
{
    return test->kind == BENCH_FILL || test->kind == BENCH_FRAG || test->kind == BENCH_GROW ||
           test->kind == BENCH_INIT || test->steps[0].action == ACTION_RESET;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Near threads over the golden ratio, and prime to it: 1 for a thread alone. */
static uint32_t shuffle_step(uint32_t threads)
{
    uint32_t step = (uint32_t)(threads / 1.6180339887498949);
    while (step > 1 && divisor(threads, step) != 1)
        step--;
    return step ? step : 1;
}

/* Memory behind others[], if a step wants it. */
static enum quarry_status create_packed(struct run *run)
{
    uint64_t bytes = 0;
    void *packed = NULL;
    for (unsigned i = 0; i < step_count(run->test); i++) {
        if (run->test->steps[i].action == ACTION_PACK)
            bytes = run->shape->threads * (run->shape->bytes + 15);
        else if (run->test->steps[i].action == ACTION_PREFIX_SUM)
            bytes = run->asked_bytes + run->shape->threads * (uint64_t)15;
    }
    enum quarry_status status =
        quarry_memory_create(&run->workload->target, QUARRY_POOL_DEVICE, bytes, &packed);
    run->blocks.packed = packed;
    return status;
}

static enum quarry_status begin(struct run *run)
{
    struct quarry_heap_description about;
    enum quarry_status status = quarry_heap_describe(run->heap, &about);
    if (status != QUARRY_OK)
        return status;
    run->inferred = about.full == QUARRY_FULL_INFERRED && !run->shape->full;
    run->grid = quarry_grid_for(run->shape->threads);
    run->count = workload_blocks(run->shape->threads, run->shape->lanes);
    workload_argument(run->workload, run->heap, run->shape, &run->blocks);
    run->kernels = bench_kernels_of(&run->blocks.heap);
    run->cell->direct = bench_is_direct(run->kernels);
    run->blocks.rounds = run->test->rounds;
    run->blocks.step = shuffle_step(run->shape->threads);
    for (uint32_t i = 0; i < run->shape->threads; i++) {
        if (i % SIMT_LANES < run->shape->lanes)
            run->asked_bytes += bench_size(&run->blocks, i);
    }
    status = create_packed(run);
    run->others = run->blocks;
    run->others.pointers = run->blocks.others;
    run->others.alignment = PACKED_ALIGNMENT;
    if (status == QUARRY_OK && workload_resets(run->test))
        status = quarry_heap_reset(run->heap);
    if (status == QUARRY_OK)
        status = take_statistics(run);
    return status;
}

enum quarry_status workload_measure(struct workload *workload, quarry_heap *heap,
                                    const struct bench_test *test, const struct workload_shape *shape,
                                    struct workload_cell *cell)
{
    struct run run = {.workload = workload, .heap = heap, .test = test, .shape = shape, .cell = cell};

    memset(cell, 0, sizeof *cell);
    enum quarry_status status = begin(&run);
    if (status == QUARRY_OK) {
        switch (test->kind) {
        case BENCH_TIMED:
        case BENCH_WRITE:
        case BENCH_INIT:
            status = measure_steps(&run);
            break;
        case BENCH_FILL:
            status = measure_fill(&run);
            break;
        case BENCH_FRAG:
            status = measure_frag(&run);
            break;
        case BENCH_GROW:
            status = measure_growth(&run);
            break;
        case BENCH_REGISTERS:
            status = measure_registers(&run);
            break;
        }
    }
    quarry_memory_destroy(&workload->target, QUARRY_POOL_DEVICE, run.blocks.packed);
    cell->verified = status == QUARRY_OK && !*cell->fault;
    return status;
}

enum { COUNTED_RUNS = 5 };

enum quarry_status workload_count(struct workload *workload, quarry_heap *heap,
                                  const struct workload_shape *shape, struct workload_cell *cell)
{
    const struct quarry_target *target = &workload->target;
    const struct quarry_grid grid = quarry_grid_for(shape->threads);
    const double calls = (double)workload_blocks(shape->threads, shape->lanes) * COUNTED_RUNS;
    struct bench_cell argument;
    struct bench_tally tally;

    workload_argument(workload, heap, shape, &argument);
    const struct bench_count_kernels *const kernels = bench_kernels_of(&argument.heap)->count;
    enum quarry_status status = quarry_memory_fill(target, workload->scratch, 0, sizeof tally);
    for (int i = 0; i < 2 * COUNTED_RUNS && status == QUARRY_OK; i++)
        status = quarry_launch(i % 2 ? kernels->free : kernels->malloc, target, grid, &argument);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &tally, workload->scratch, sizeof tally);
    for (unsigned i = 0; i < cell->count && status == QUARRY_OK; i++) {
        struct workload_op *op = &cell->ops[i];
        if (op->action == ACTION_MALLOC) {
            op->tas = (double)tally.steps / calls;
            op->was = (double)tally.warp_steps / (double)tally.warps;
            op->cycles = (double)tally.cycles[0] / calls;
        } else if (op->action == ACTION_FREE) {
            op->cycles = (double)tally.cycles[1] / calls;
        }
    }
    return status;
}
