/* SPDX-License-Identifier: Apache-2.0 */
/* What CSV and JSON have of one result; docs/benchmarks.md says what each column means. */
#include "bench.h"
#include "build.h"

#include <string.h>

const char *const bench_status_words[] = {"skipped", "ok", "failed", "error", "hung", "crashed"};

static void number(struct value *value, uint64_t given)
{
    value->kind = VALUE_NUMBER;
    value->number = given;
}

static void real(struct value *value, double given)
{
    value->kind = VALUE_REAL;
    value->real = given;
}

static void text(struct value *value, const char *given)
{
    value->kind = VALUE_TEXT;
    value->text = given;
}

/* MHz; 0: unknown. */
static double clock_of(const struct bench *bench)
{
    return bench->clock_mhz > 0 ? bench->clock_mhz : bench->info.clock_khz / 1e3;
}

unsigned bench_op_count(const struct cell *cell)
{
    unsigned count = 0;
    if (cell->result.status == CELL_SKIPPED)
        return 0;
    if (cell->result.measured.count)
        return cell->result.measured.count;
    for (unsigned i = 0; i < BENCH_MAX_STEPS; i++)
        count += cell->test->steps[i].op != NULL &&
                 (cell->free_share || cell->test->steps[i].action == ACTION_MALLOC);
    return count;
}

void bench_op(const struct cell *cell, unsigned index, struct workload_op *op)
{
    memset(op, 0, sizeof *op);
    if (index < cell->result.measured.count) {
        *op = cell->result.measured.ops[index];
        if (cell->result.status == CELL_OK)
            return;
        memset(&op->time, 0, sizeof op->time);
        op->blocks = op->asked_bytes = op->range_bytes = 0;
        return;
    }
    for (unsigned i = 0, k = 0; i < BENCH_MAX_STEPS; i++) {
        const struct bench_step *step = &cell->test->steps[i];
        if (!step->op || (!cell->free_share && step->action != ACTION_MALLOC))
            continue;
        if (k++ == index)
            op->name = step->op;
    }
}

const struct workload_floor *bench_floor(const struct bench *bench, const struct cell *cell)
{
    unsigned i = 0;
    while (i + 1 < bench->floor_threads.count && bench->floor_threads.values[i] != cell->threads)
        i++;
    return &bench->floors[i];
}

/* One function for each column; clang-format would spread them over hundreds of lines. */
/* clang-format off */
#define GET(name, ...)                                                                                              \
    static void get_##name(const struct bench *bench, const struct cell *cell, const struct workload_op *op,        \
                           struct value *value)                                                                     \
    {                                                                                                               \
        (void)bench, (void)cell, (void)op;                                                                          \
        __VA_ARGS__                                                                                                 \
    }
GET(device, text(value, bench->info.name);)
GET(backend, text(value, bench->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu");)
GET(allocator, text(value, cell->allocator.name);)
GET(op, text(value, op->name);)
GET(threads, number(value, cell->threads);)
GET(bytes, number(value, cell->bytes);)
GET(page, number(value, cell->result.heap.page_bytes);)
GET(free_percent, real(value, (double)cell->free_share / 1000);)
GET(word_bits, number(value, cell->result.heap.word_bits);)
GET(median_us, if (op->time.n) real(value, op->time.median);)
GET(q1_us, if (op->time.n) real(value, op->time.q1);)
GET(q3_us, if (op->time.n) real(value, op->time.q3);)
GET(n, number(value, op->time.n);)
GET(nulls, number(value, cell->result.measured.nulls);)
GET(verified, number(value, cell->result.status == CELL_OK);)
GET(store_floor_us, real(value, bench_floor(bench, cell)->store.median);)
GET(bump_us, real(value, bench_floor(bench, cell)->bump.median);)
GET(heap_bytes, number(value, cell->result.heap.pool_bytes);)
GET(lanes, number(value, cell->lanes);)
GET(probe_lanes, number(value, cell->result.heap.probe_lanes);)
GET(low_free_percent, real(value, 100 * cell->result.heap.low_free);)
GET(debug, number(value, (uint64_t)bench->debug);)
GET(tas, if (op->tas > 0) real(value, op->tas);)
GET(was, if (op->was > 0) real(value, op->was);)
GET(cycles, if (op->cycles > 0) real(value, op->cycles);)
GET(alignment, number(value, cell->result.heap.alignment);)
GET(distribution, text(value, options_distributions[bench->policies.distribution]);)
GET(oom, text(value, options_ooms[bench->policies.oom]);)
GET(free_slots, if (cell->result.slots != UINT64_MAX) number(value, cell->result.slots);)
GET(bytes_least, number(value, cell->least ? cell->least : cell->bytes);)
GET(blocks, if (op->blocks) number(value, op->blocks);)
GET(utilisation, if (op->blocks && cell->test->kind == BENCH_FILL) real(value, (double)op->asked_bytes / (double)cell->result.heap.pool_bytes);)
GET(test, text(value, cell->test->name);)
GET(status, text(value, bench_status_words[cell->result.status]);)
GET(draw, text(value, cell->octaves ? "octaves" : cell->least ? "uniform" : "one");)
GET(rounds, number(value, op->rounds);)
GET(range_bytes, if (op->range_bytes) number(value, op->range_bytes);)
GET(asked_bytes, if (op->asked_bytes) number(value, op->asked_bytes);)
GET(registers, if (cell->test->kind == BENCH_REGISTERS) number(value, op->registers);)
GET(local_bytes, if (cell->test->kind == BENCH_REGISTERS) number(value, op->local_bytes);)
GET(stable, if (op->time.n) number(value, (uint64_t)op->time.stable);)
GET(clock_mhz, if (clock_of(bench) > 0) real(value, clock_of(bench));)
GET(driver, text(value, bench->info.driver);)
GET(compiler, text(value, build_compiler);)
GET(commit, text(value, build_commit);)
GET(fault, text(value, cell->result.fault);)
GET(command, text(value, bench->command);)
/* clang-format on */

#define COLUMN(name, quoted, format)                                                                         \
    {                                                                                                        \
#name, quoted, format, get_##name                                                                    \
    }
const struct column bench_columns[] = {
    COLUMN(device, 1, NULL),
    COLUMN(backend, 0, NULL),
    COLUMN(allocator, 0, NULL),
    COLUMN(op, 0, NULL),
    COLUMN(threads, 0, NULL),
    COLUMN(bytes, 0, NULL),
    COLUMN(page, 0, NULL),
    COLUMN(free_percent, 0, "%.6g"),
    COLUMN(word_bits, 0, NULL),
    COLUMN(median_us, 0, "%.3f"),
    COLUMN(q1_us, 0, "%.3f"),
    COLUMN(q3_us, 0, "%.3f"),
    COLUMN(n, 0, NULL),
    COLUMN(nulls, 0, NULL),
    COLUMN(verified, 0, NULL),
    COLUMN(store_floor_us, 0, "%.3f"),
    COLUMN(bump_us, 0, "%.3f"),
    COLUMN(heap_bytes, 0, NULL),
    COLUMN(lanes, 0, NULL),
    COLUMN(probe_lanes, 0, NULL),
    COLUMN(low_free_percent, 0, "%g"),
    COLUMN(debug, 0, NULL),
    COLUMN(tas, 0, "%.4f"),
    COLUMN(was, 0, "%.4f"),
    COLUMN(cycles, 0, "%.1f"),
    COLUMN(alignment, 0, NULL),
    COLUMN(distribution, 0, NULL),
    COLUMN(oom, 0, NULL),
    COLUMN(free_slots, 0, NULL),
    COLUMN(bytes_least, 0, NULL),
    COLUMN(blocks, 0, NULL),
    COLUMN(utilisation, 0, "%.6f"),
    COLUMN(test, 0, NULL),
    COLUMN(status, 0, NULL),
    COLUMN(draw, 0, NULL),
    COLUMN(rounds, 0, NULL),
    COLUMN(range_bytes, 0, NULL),
    COLUMN(asked_bytes, 0, NULL),
    COLUMN(registers, 0, NULL),
    COLUMN(local_bytes, 0, NULL),
    COLUMN(stable, 0, NULL),
    COLUMN(clock_mhz, 0, "%.0f"),
    COLUMN(driver, 1, NULL),
    COLUMN(compiler, 1, NULL),
    COLUMN(commit, 0, NULL),
    COLUMN(fault, 1, NULL),
    COLUMN(command, 1, NULL),
};
const unsigned bench_column_count = sizeof bench_columns / sizeof *bench_columns;
