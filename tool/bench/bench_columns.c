/* SPDX-License-Identifier: Apache-2.0 */
/* What CSV and JSON have of one result; docs/reference/benchmarks.md says what each column means. */
#include "bench/bench.h"
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

/* The options of the heap's allocator, all of them, until the next call. */
static const char *options_of(const struct cell *cell)
{
    static char pairs[QUARRY_OPTIONS_TEXT_BYTES];
    quarry_options_format(cell->result.heap.options, cell->result.heap.option_count, pairs, sizeof pairs);
    return pairs;
}

/* COLUMN(name, whether it is quoted, format of a real number, statement that gets the value).  clang-format
 * would spread them over hundreds of lines. */
/* clang-format off */
#define COLUMNS                                                                                             \
    COLUMN(device, 1, NULL, text(value, bench->info.name);)                                                 \
    COLUMN(backend, 0, NULL, text(value, bench->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu");)   \
    COLUMN(allocator, 0, NULL, text(value, cell->allocator.name);)                                          \
    COLUMN(op, 0, NULL, text(value, op->name);)                                                             \
    COLUMN(threads, 0, NULL, number(value, cell->threads);)                                                 \
    COLUMN(bytes, 0, NULL, number(value, cell->bytes);)                                                     \
    COLUMN(page, 0, NULL, number(value, cell->result.heap.page_bytes);)                                     \
    COLUMN(free_percent, 0, "%.6g", real(value, (double)cell->free_share / 1000);)                          \
    COLUMN(median_us, 0, "%.3f", if (op->time.n) real(value, op->time.median);)                             \
    COLUMN(q1_us, 0, "%.3f", if (op->time.n) real(value, op->time.q1);)                                     \
    COLUMN(q3_us, 0, "%.3f", if (op->time.n) real(value, op->time.q3);)                                     \
    COLUMN(n, 0, NULL, number(value, op->time.n);)                                                          \
    COLUMN(nulls, 0, NULL, number(value, cell->result.measured.nulls);)                                     \
    COLUMN(verified, 0, NULL, number(value, cell->result.status == CELL_OK);)                               \
    COLUMN(store_floor_us, 0, "%.3f", real(value, bench_floor(bench, cell)->store.median);)                 \
    COLUMN(bump_us, 0, "%.3f", real(value, bench_floor(bench, cell)->bump.median);)                         \
    COLUMN(heap_bytes, 0, NULL, number(value, cell->result.heap.pool_bytes);)                               \
    COLUMN(lanes, 0, NULL, number(value, cell->lanes);)                                                     \
    COLUMN(options, 0, NULL, text(value, options_of(cell));)                                                \
    COLUMN(low_free_percent, 0, "%g", real(value, 100 * cell->result.heap.low_free);)                       \
    COLUMN(debug, 0, NULL, number(value, (uint64_t)bench->debug);)                                          \
    COLUMN(tas, 0, "%.4f", if (op->tas > 0) real(value, op->tas);)                                          \
    COLUMN(was, 0, "%.4f", if (op->was > 0) real(value, op->was);)                                          \
    COLUMN(cycles, 0, "%.1f", if (op->cycles > 0) real(value, op->cycles);)                                 \
    COLUMN(alignment, 0, NULL, number(value, cell->result.heap.alignment);)                                 \
    COLUMN(distribution, 0, NULL, text(value, options_words("distribute")[bench->policies.distribution]);)        \
    COLUMN(oom, 0, NULL, text(value, options_words("oom")[bench->policies.oom]);)                                   \
    COLUMN(free_slots, 0, NULL, if (cell->result.slots != UINT64_MAX) number(value, cell->result.slots);)   \
    COLUMN(bytes_least, 0, NULL, number(value, cell->least ? cell->least : cell->bytes);)                   \
    COLUMN(blocks, 0, NULL, if (op->blocks) number(value, op->blocks);)                                     \
    COLUMN(utilisation, 0, "%.6f", if (op->blocks && cell->test->kind == BENCH_FILL)                        \
           real(value, (double)op->asked_bytes / (double)cell->result.heap.pool_bytes);)                    \
    COLUMN(test, 0, NULL, text(value, cell->test->name);)                                                   \
    COLUMN(status, 0, NULL, text(value, bench_status_words[cell->result.status]);)                          \
    COLUMN(draw, 0, NULL, text(value, cell->octaves ? "octaves" : cell->least ? "uniform" : "one");)        \
    COLUMN(rounds, 0, NULL, number(value, op->rounds);)                                                     \
    COLUMN(range_bytes, 0, NULL, if (op->range_bytes) number(value, op->range_bytes);)                      \
    COLUMN(asked_bytes, 0, NULL, if (op->asked_bytes) number(value, op->asked_bytes);)                      \
    COLUMN(registers, 0, NULL, if (cell->test->kind == BENCH_REGISTERS) number(value, op->registers);)      \
    COLUMN(local_bytes, 0, NULL, if (cell->test->kind == BENCH_REGISTERS) number(value, op->local_bytes);)  \
    COLUMN(stable, 0, NULL, if (op->time.n) number(value, (uint64_t)op->time.stable);)                      \
    COLUMN(clock_mhz, 0, "%.0f", if (clock_of(bench) > 0) real(value, clock_of(bench));)                    \
    COLUMN(driver, 1, NULL, text(value, bench->info.driver);)                                               \
    COLUMN(compiler, 1, NULL, text(value, build_compiler);)                                                 \
    COLUMN(commit, 0, NULL, text(value, build_commit);)                                                     \
    COLUMN(fault, 1, NULL, text(value, cell->result.fault);)                                                \
    COLUMN(command, 1, NULL, text(value, bench->command);)                                                  \
    COLUMN(calls, 0, NULL, if (op->time.n) text(value, cell->result.measured.direct ? "direct" : "switch");)
/* clang-format on */

#define COLUMN(name, quoted, format, ...)                                                                    \
    static void get_##name(const struct bench *bench, const struct cell *cell, const struct workload_op *op, \
                           struct value *value)                                                              \
    {                                                                                                        \
        (void)bench, (void)cell, (void)op;                                                                   \
        __VA_ARGS__                                                                                          \
    }
COLUMNS
#undef COLUMN

#define COLUMN(name, quoted, format, ...) {#name, quoted, format, get_##name},
const struct column bench_columns[] = {COLUMNS};
const unsigned bench_column_count = sizeof bench_columns / sizeof *bench_columns;
