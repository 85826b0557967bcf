/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, the CSV and the JSON of `quarry bench`. */
#include "bench/bench.h"
#include "bench/report.h"
#include "build.h"
#include "json.h"
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tables ---- */

enum { MOST_SIDE_BY_SIDE = 6, TITLE_WIDTH = 25, CELL_WIDTH = 21 };

/* Rows of a table: the cells of one test, allocator, size, share and number of lanes, one for each number of
 * threads. */
struct table {
    const struct bench *bench;
    FILE *file;
    const struct bench_test *test;
    const struct cell *cells; /* of the test, those of a row are neighbours */
    unsigned count;
    int op_width;
    struct list threads;
};

static int same_row(const struct cell *a, const struct cell *b)
{
    return a->test == b->test && a->number == b->number && a->bytes == b->bytes && a->least == b->least &&
           a->octaves == b->octaves && a->free_share == b->free_share && a->lanes == b->lanes;
}

/* The page of a cell's heap; 0: no cell of the allocator has one. */
static uint64_t page_of(const struct bench *bench, uint64_t allocator)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < bench->cell_count && !bytes; i++)
        if (bench->cells[i].number == allocator)
            bytes = bench->cells[i].result.heap.page_bytes;
    return bytes;
}

/* ", page as the block, of scatter 4 KiB" */
static void print_page(const struct bench *bench, FILE *file)
{
    const char *before = ", page ";
    char page[32];
    if (bench->page_bytes) {
        fprintf(file, "%s%s", before, tool_format_bytes(bench->page_bytes, page));
        return;
    }
    for (unsigned own = 0; own < 2; own++)
        for (unsigned i = 0; i < bench->allocators.count; i++) {
            struct quarry_allocator_info info;
            const uint64_t bytes = page_of(bench, bench->allocators.values[i]);
            if (quarry_allocator_describe((int)bench->allocators.values[i], &info) != QUARRY_OK || !bytes ||
                !info.counts_slots || info.whole_pages == (int)own)
                continue;
            if (own)
                fprintf(file, "%sof %s %s", before, info.name, tool_format_bytes(bytes, page));
            else
                fprintf(file, "%sas the block", before);
            before = ", ";
            if (!own)
                break;
        }
}

static void print_header(const struct bench *bench, FILE *file)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;
    const struct timing_rule *rule = &bench->rule;
    char heap[32];

    fprintf(file, "quarry %s, %s:%d %s, %u %s", quarry_version(), gpu ? "cuda" : "cpu", bench->target.device,
            bench->info.name, bench->info.multiprocessors, gpu ? "multiprocessors" : "cores");
    if (bench->clock_mhz > 0)
        fprintf(file, ", %.0f MHz", bench->clock_mhz);
    else if (bench->info.clock_khz)
        fprintf(file, ", %u MHz", bench->info.clock_khz / 1000);
    if (*bench->info.driver)
        fprintf(file, ", driver %s", bench->info.driver);
    fprintf(file, "\ncommit %s, %s\n", build_commit, build_compiler);
    fprintf(file, "heap %s", tool_format_bytes(bench->heap_bytes, heap));
    if (bench->heap_pages)
        fprintf(file, " or %" PRIu64 " pages", bench->heap_pages);
    print_page(bench, file);
    if (bench->policies.alignment || bench->policies.distribution || bench->policies.oom)
        fprintf(file, ", alignment %" PRIu64 ", distribution %s, out of memory %s",
                bench->policies.alignment ? bench->policies.alignment : 16,
                options_words("distribute")[bench->policies.distribution],
                options_words("oom")[bench->policies.oom]);
    if (bench->set.text)
        fprintf(file, ", set %s", bench->set.text);
    fprintf(file, "%s\n", bench->debug ? ", debug mode" : "");
    fprintf(file, "method: each cell verified in an untimed run; %u warm-up%s; ", rule->warmups,
            rule->warmups == 1 ? "" : "s");
    if (rule->most > rule->least)
        fprintf(
            file,
            "%u to %u runs until a 95 %% confidence interval of the median is within %g %% on either side, ",
            rule->least, rule->most, 100 * STATISTICS_STABLE);
    else
        fprintf(file, "%u runs, ", rule->least);
    fprintf(file, "at most %g s\n", rule->budget_s);
    fputs(
        gpu ? "times: of single kernels between two events, their launch hidden behind a kernel that spins\n"
            : "times: " TOOL_CPU_TIMES "\n",
        file);
    fputs("cells: median us, half the quartiles' distance in % of it (!: not stable), ratio to the store "
          "floor\n",
          file);
    if (bench->steps)
        fputs("steps: random probes of a thread (TAS), the most of a warp's threads (WAS), without sweeps; "
              "cycles: of a "
              "call\n",
              file);
}

static void print_row_title(const struct table *table, const struct cell *cell, const struct workload_op *op,
                            const char *name)
{
    char share[16], title[48], bytes[48] = "";
    if (cell->least)
        snprintf(bytes, sizeof bytes, "%" PRIu64 "%c", cell->least, cell->octaves ? '~' : '-');
    snprintf(bytes + strlen(bytes), sizeof bytes - strlen(bytes), "%" PRIu64, cell->bytes);
    snprintf(title, sizeof title, "%s", name);
    if (cell->test->kind == BENCH_FRAG || cell->test->kind == BENCH_GROW)
        snprintf(title + strlen(title), sizeof title - strlen(title), "+%u", op->rounds);
    if (cell->lanes != SIMT_LANES)
        snprintf(title + strlen(title), sizeof title - strlen(title), "/%u", cell->lanes);
    fprintf(table->file, "%-9s %-*s %8s %4s%%", cell->allocator.name, table->op_width, title, bytes,
            tool_format_share(cell->free_share, share));
}

/* What a time is, and a word behind it. */
static void print_timed(const struct table *table, const struct statistics *time, double value,
                        const char *word)
{
    double spread = time->median > 0 ? 50 * (time->q3 - time->q1) / time->median : 0;
    if (spread > 99)
        spread = 99;
    fprintf(table->file, " %9.*f ±%2.0f%%%c%6s", value < 1 ? 3 : 1, value, spread, time->stable ? ' ' : '!',
            word);
}

static void print_time(const struct table *table, const struct statistics *time, double store)
{
    char ratio[16];
    const double times = time->median / store;
    snprintf(ratio, sizeof ratio, "%.*fx", times < 100 ? 1 : 0, times);
    print_timed(table, time, time->median, ratio);
}

static void print_result(const struct table *table, const struct cell *cell, const struct workload_op *op)
{
    char text[48], bytes[32];
    switch (cell->result.status == CELL_OK ? cell->test->kind : BENCH_TIMED) {
    case BENCH_WRITE: /* bytes a microsecond are megabytes a second */
        print_timed(table, &op->time, (double)op->asked_bytes / op->time.median / 1e3,
                    bench_measures[BENCH_WRITE].unit);
        return;
    case BENCH_FILL:
        snprintf(text, sizeof text, "%.2f%% %10" PRIu64,
                 100 * (double)op->asked_bytes / (double)cell->result.heap.pool_bytes, op->blocks);
        break;
    case BENCH_FRAG:
    case BENCH_GROW:
        snprintf(text, sizeof text, "%s %.2fx", tool_format_bytes(op->range_bytes, bytes),
                 (double)op->range_bytes / (double)op->asked_bytes);
        break;
    case BENCH_REGISTERS:
        snprintf(text, sizeof text, "%u, %u B", op->registers, op->local_bytes);
        break;
    default:
        if (cell->result.status == CELL_OK) {
            print_time(table, &op->time, bench_floor(table->bench, cell)->store.median);
            return;
        }
        snprintf(text, sizeof text, "%s", bench_status_words[cell->result.status]);
        for (char *c = text; *c; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        break;
    }
    fprintf(table->file, " %20s", cell->result.status == CELL_SKIPPED ? "-" : text);
}

/* The row's cell with so many threads, or NULL. */
static const struct cell *find_cell(const struct table *table, const struct cell *first, uint64_t threads)
{
    const struct cell *end = table->cells + table->count;
    for (const struct cell *cell = first; cell < end && same_row(cell, first); cell++) {
        if (cell->threads == threads)
            return cell;
    }
    return NULL;
}

enum row_kind { ROW_RESULT, ROW_STEPS, ROW_CYCLES };

/* One row of numbers of threads from `from` up to `to`; `about` is the op of a cell in it. */
static void print_row(const struct table *table, const struct cell *first, const struct workload_op *about,
                      unsigned index, enum row_kind kind, unsigned from, unsigned to)
{
    const char *name = about->name ? about->name : "-"; /* all are skipped */
    print_row_title(table, first, about, kind == ROW_STEPS ? "steps" : kind == ROW_CYCLES ? "cycles" : name);
    for (unsigned t = from; t < to; t++) {
        const struct cell *cell = find_cell(table, first, table->threads.values[t]);
        const int there = cell && cell->result.status != CELL_SKIPPED;
        struct workload_op op;
        if (there)
            bench_op(cell, index, &op);
        if (!there || (kind != ROW_RESULT && cell->result.status != CELL_OK))
            fprintf(table->file, " %20s", "-");
        else if (kind == ROW_STEPS)
            fprintf(table->file, " %9.2f %10.2f", op.tas, op.was);
        else if (kind == ROW_CYCLES)
            fprintf(table->file, " %20.0f", op.cycles);
        else
            print_result(table, cell, &op);
    }
    fputc('\n', table->file);
}

static void print_rows(const struct table *table, unsigned from, unsigned to)
{
    for (unsigned i = 0; i < table->count; i++) {
        const struct cell *first = &table->cells[i];
        if (i && same_row(first, first - 1))
            continue;
        const struct cell *known = first; /* the first one with results, if there is one */
        for (const struct cell *cell = first; cell < table->cells + table->count && same_row(cell, first);
             cell++) {
            if (bench_op_count(known) == 0 ||
                (known->result.status != CELL_OK && cell->result.status == CELL_OK))
                known = cell;
        }
        const unsigned ops = bench_op_count(known) ? bench_op_count(known) : 1;
        for (unsigned op = 0; op < ops; op++) {
            struct workload_op about;
            bench_op(known, op, &about);
            print_row(table, first, &about, op, ROW_RESULT, from, to);
            if (about.tas > 0)
                print_row(table, first, &about, op, ROW_STEPS, from, to);
            if (about.cycles > 0)
                print_row(table, first, &about, op, ROW_CYCLES, from, to);
        }
    }
}

static void print_floors(const struct table *table, unsigned from, unsigned to)
{
    static const char *const names[] = {"empty", "store", "bump"};
    for (unsigned row = 0; row < 3; row++) {
        fprintf(table->file, "%-9s %-*s %8s %5s", "(floor)", table->op_width, names[row], "", "");
        for (unsigned t = from; t < to; t++) {
            const struct cell threads = {.threads = (uint32_t)table->threads.values[t]};
            const struct workload_floor *floor = bench_floor(table->bench, &threads);
            const struct statistics *const times[] = {&floor->empty, &floor->store, &floor->bump};
            print_time(table, times[row], floor->store.median);
        }
        fputc('\n', table->file);
    }
}

static void print_table(struct table *table)
{
    for (unsigned i = 0; i < BENCH_MAX_STEPS; i++) {
        const char *op = table->test->steps[i].op;
        if (op && (int)strlen(op) + 3 > table->op_width)
            table->op_width = (int)strlen(op) + 3; /* with the lanes */
    }
    for (unsigned i = 0; i < table->count; i++) {
        unsigned t = 0;
        while (t < table->threads.count && table->threads.values[t] != table->cells[i].threads)
            t++;
        if (t == table->threads.count)
            lists_add(&table->threads, table->cells[i].threads);
    }
    const int room = tool_terminal_columns(STDOUT_FILENO) - TITLE_WIDTH - table->op_width;
    const unsigned fit = room < 2 * CELL_WIDTH ? 1 : (unsigned)(room / CELL_WIDTH);
    const unsigned most = fit < MOST_SIDE_BY_SIDE ? fit : MOST_SIDE_BY_SIDE;
    fprintf(table->file, "\n%s: %s%s\n", table->test->name, table->test->what,
            table->test->kind == BENCH_WRITE ? "; 10^9 bytes a second by the median time" : "");
    for (unsigned from = 0; from < table->threads.count; from += most) {
        const unsigned to = from + most < table->threads.count ? from + most : table->threads.count;
        fprintf(table->file, "%-9s %-*s %8s %5s", "allocator", table->op_width, "op", "bytes", "free");
        for (unsigned t = from; t < to; t++) {
            char title[40];
            snprintf(title, sizeof title, "%" PRIu64 " thread%s", table->threads.values[t],
                     table->threads.values[t] == 1 ? "" : "s");
            fprintf(table->file, " %20s", title);
        }
        fputc('\n', table->file);
        if (table->test->kind == BENCH_TIMED)
            print_floors(table, from, to);
        print_rows(table, from, to);
    }
}

static void print_tables(const struct bench *bench, FILE *file)
{
    int skipped = 0, direct = 0, by_switch = 0;
    print_header(bench, file);
    for (unsigned i = 0; i < bench->cell_count;) {
        struct table table = {
            .bench = bench, .file = file, .test = bench->cells[i].test, .cells = &bench->cells[i]};
        for (; i < bench->cell_count && bench->cells[i].test == table.test; i++) {
            const struct cell_result *result = &bench->cells[i].result;
            skipped |= result->status == CELL_SKIPPED;
            direct |= result->status == CELL_OK && result->measured.direct;
            by_switch |= result->status == CELL_OK && !result->measured.direct;
            table.count++;
        }
        print_table(&table);
    }
    if (skipped)
        fputs("\n-: skipped; too few free slots, or blocks larger than the heap gives\n", file);
    if (direct && by_switch)
        fputs("\nsome of these ran in slower kernels, with all allocators' code: column `calls` of --csv\n"
              "says which; configure with -DQUARRY_DIRECT_ALLOCATORS=all to compare them with the others\n",
              file);
    if (bench->rates[0] > 0)
        fprintf(file, "\ntrivial lane launches %.2f M/s\n", bench->rates[0]);
    if (bench->rates[1] > 0)
        fprintf(file, "rw page allocations %.2f M/s, frees %.2f M/s\n", bench->rates[1], bench->rates[2]);
}

/* ---- CSV ---- */

/* A line break would be a line of the file. */
static char one_line(char c)
{
    return (char)(c == '\n' ? ' ' : c);
}

static void print_value(FILE *file, const struct column *column, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NONE:
        break;
    case VALUE_NUMBER:
        fprintf(file, "%" PRIu64, value->number);
        break;
    case VALUE_REAL:
        fprintf(file, column->format, value->real);
        break;
    case VALUE_TEXT:
        if (!column->quoted) {
            fputs(value->text, file);
            break;
        }
        fputc('"', file);
        for (const char *c = value->text; *c; c++)
            fprintf(file, "%s%c", *c == '"' ? "\"" : "", one_line(*c));
        fputc('"', file);
        break;
    }
}

static void print_csv(const struct bench *bench, FILE *file)
{
    for (unsigned c = 0; c < bench_column_count; c++)
        fprintf(file, "%s%s", c ? "," : "", bench_columns[c].name);
    fputc('\n', file);
    for (unsigned i = 0; i < bench->cell_count; i++) {
        const struct cell *cell = &bench->cells[i];
        for (unsigned o = 0; o < bench_op_count(cell); o++) {
            struct workload_op op;
            bench_op(cell, o, &op);
            for (unsigned c = 0; c < bench_column_count; c++) {
                struct value value = {0};
                bench_columns[c].get(bench, cell, &op, &value);
                if (c)
                    fputc(',', file);
                print_value(file, &bench_columns[c], &value);
            }
            fputc('\n', file);
        }
    }
}

/* ---- JSON ---- */

#define MICROSECONDS "%.3f" /* as columns have them */

/* The number that the CSV has. */
static json_t *make_real(const char *format, double value)
{
    char text[400];
    snprintf(text, sizeof text, format, value);
    return json_real(strtod(text, NULL));
}

static json_t *make_text(const char *given)
{
    char *text = strdup(given);
    for (char *c = text; c && *c; c++)
        *c = one_line(*c);
    json_t *json = text ? json_string(text) : NULL;
    free(text);
    return json ? json : json_null(); /* no UTF-8 */
}

/* As the CSV has it; where that has nothing, null. */
static json_t *make_value(const struct column *column, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NUMBER:
        return json_integer((json_int_t)value->number);
    case VALUE_REAL:
        return make_real(column->format, value->real);
    case VALUE_TEXT:
        return make_text(value->text);
    case VALUE_NONE:
        break;
    }
    return json_null();
}

static json_t *make_result(const struct bench *bench, const struct cell *cell, const struct workload_op *op)
{
    json_t *result = json_object();
    for (unsigned c = 0; c < bench_column_count; c++) {
        struct value value = {0};
        bench_columns[c].get(bench, cell, op, &value);
        json_object_set_new(result, bench_columns[c].name, make_value(&bench_columns[c], &value));
    }
    return result;
}

static json_t *make_floors(const struct bench *bench)
{
    json_t *floors = json_array();
    for (unsigned i = 0; i < bench->floor_threads.count; i++) {
        const struct workload_floor *floor = &bench->floors[i];
        json_array_append_new(floors, json_pack("{s:I, s:o, s:o, s:o}", "threads",
                                                (json_int_t)bench->floor_threads.values[i], "empty_us",
                                                make_real(MICROSECONDS, floor->empty.median), "store_us",
                                                make_real(MICROSECONDS, floor->store.median), "bump_us",
                                                make_real(MICROSECONDS, floor->bump.median)));
    }
    return floors;
}

static void print_json(const struct bench *bench, FILE *file)
{
    json_t *results = json_array();
    for (unsigned i = 0; i < bench->cell_count; i++) {
        for (unsigned o = 0; o < bench_op_count(&bench->cells[i]); o++) {
            struct workload_op op;
            bench_op(&bench->cells[i], o, &op);
            json_array_append_new(results, make_result(bench, &bench->cells[i], &op));
        }
    }
    json_t *whole =
        json_pack("{s:s, s:{s:i, s:i, s:i, s:f, s:f}, s:o, s:o}", "version", quarry_version(), "method",
                  "warmups", (int)bench->rule.warmups, "least_runs", (int)bench->rule.least, "most_runs",
                  (int)bench->rule.most, "budget_s", bench->rule.budget_s, "stable_within", STATISTICS_STABLE,
                  "floors", make_floors(bench), "results", results);
    json_print(whole, file);
}

/* ---- where to ---- */

typedef void print_function(const struct bench *bench, FILE *file);

struct printed {
    char *text;
    size_t bytes;
};

static int fill(struct writer *writer, const void *context)
{
    const struct printed *printed = context;
    writer_put(writer, printed->text, printed->bytes);
    return TOOL_OK;
}

/* Into a file, or to standard output if the path is empty. */
static int write_one(const struct bench *bench, print_function *print, const char *path)
{
    struct printed printed = {0};
    FILE *stream = open_memstream(&printed.text, &printed.bytes);
    if (!stream)
        return tool_error(TOOL_FAILED, "not enough memory to write");
    print(bench, stream);
    const int failed = ferror(stream);
    if (fclose(stream) != 0 || failed) {
        free(printed.text);
        return tool_error(TOOL_FAILED, "not enough memory to write");
    }
    const int code = output_write(*path ? path : NULL, fill, &printed);
    free(printed.text);
    return code;
}

int bench_check_outputs(const struct bench *bench)
{
    int code = bench->csv && *bench->csv ? output_check(bench->csv) : TOOL_OK;
    if (code == TOOL_OK && bench->json && *bench->json)
        code = output_check(bench->json);
    if (code == TOOL_OK && bench->report)
        code = report_check(bench->report);
    return code;
}

static int write_report(const struct bench *bench)
{
    static const char name[] = "/results.csv";
    const size_t bytes = strlen(bench->report) + sizeof name;
    if (mkdir(bench->report, 0777) != 0 && errno != EEXIST)
        return tool_error(TOOL_FAILED, "%s: can't make the folder: %s", bench->report, strerror(errno));
    char *path = malloc(bytes);
    if (!path)
        return tool_error(TOOL_FAILED, "no memory for a name");
    snprintf(path, bytes, "%s%s", bench->report, name);
    int code = write_one(bench, print_csv, path);
    if (code == TOOL_OK) {
        const char *const files[] = {path};
        code = report_write(bench->report, files, 1);
    }
    free(path);
    return code;
}

int bench_has_table(const struct bench *bench)
{
    return !(bench->csv && !*bench->csv) && !(bench->json && !*bench->json);
}

int bench_write_outputs(const struct bench *bench)
{
    print_function *last = print_tables;
    int code = TOOL_OK;
    if (bench->csv && !*bench->csv)
        last = print_csv;
    else if (bench->csv)
        code |= write_one(bench, print_csv, bench->csv);
    if (bench->json && !*bench->json)
        last = print_json;
    else if (bench->json)
        code |= write_one(bench, print_json, bench->json);
    if (bench->report)
        code |= write_report(bench);
    return code | write_one(bench, last, "");
}
