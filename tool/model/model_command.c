/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry model`: the steps that theory predicts (model.h), beside those that the benchmark counts. */
#include "lists.h"
#include "model/model.h"
#include "options.h"
#include "tool.h"

#include "quarry/device.h"
#include "workload.h"

#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS (UINT64_C(1) << 30)
#define MAX_RUNS 10000u
#define PAGE_BYTES 256u
#define FILL_BUDGET_S 60.0
#define GPU_BUDGET_S 2.0 /* of the timed runs of a setting, as in quarry bench */
#define CPU_BUDGET_S 0.5

/* Of one allocator in one setting.  What there is none of is NAN. */
struct row {
    const char *allocator;
    struct model model;
    double predicted[2]; /* TAS, WAS */
    double measured[2];
    double us; /* median */
};

struct command {
    /* options; 0 or empty: not given */
    enum quarry_backend backend;
    struct list allocators; /* numbers */
    struct list free;
    struct list threads;
    struct list low_free; /* thousandths of a percent */
    uint64_t total;
    uint64_t word_bits;
    uint64_t clusters;
    uint64_t runs;
    int measure;
    int measure_only; /* an option that means nothing without --measure was given */
    int table_only;   /* likewise without a table */
    int csv_wanted;
    const char *csv_path; /* NULL: standard output, and no table */

    struct quarry_target target; /* what follows: only to measure */
    struct quarry_device_info info;
    struct workload workload;
    unsigned fills; /* heaps to fill, and filled: for the progress bar */
    unsigned fills_done;

    FILE *table; /* NULL: none */
    FILE *csv;
    struct row *rows;
    unsigned count;
    int code;
};

/* ---- options ---- */

enum { OPTION_WORD = 256, OPTION_CLUSTERS, OPTION_LOW_FREE, OPTION_MEASURE, OPTION_RUNS, OPTION_CSV };

static const struct argp_option options[] = {
    {"total", 'T', "PAGES", 0, "Pages of the heap (1000000)", 0},
    {"free", 'f', "PAGES,...", 0, "Free pages before, at random places (half, a tenth, a hundredth of all)",
     0},
    {"threads", 't', "N,...", 0, "Numbers of threads; each asks for one page (1000,5000)", 0},
    {"allocator", 'a', "NAME,...", 0, "Allocators (all)", 0},
    {"word-bits", OPTION_WORD, "BITS", 0, "Words of bitmap allocators: 32 or 64 (32)", 0},
    {"clusters", OPTION_CLUSTERS, "M", 0,
     "Runs of free pages, for crw (as many as are to be expected at random)", 0},
    {"low-free", OPTION_LOW_FREE, "PERCENT,...", 0, "Shares of free pages below which a heap is full (0.5)",
     0},
    {"measure", OPTION_MEASURE, NULL, 0, "Also measure, and correlate the steps with time", 0},
    {"backend", 'b', "B", 0, "Where to measure: auto, cuda or cpu (auto: a GPU if there is one)", 0},
    {"runs", OPTION_RUNS, "N", 0, "Timed runs of each setting (GPU: 15; CPU: 9)", 0},
    {"csv", OPTION_CSV, "FILE", OPTION_ARG_OPTIONAL,
     "Write one line for each setting to FILE, or, without FILE, to standard output instead of the table", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static int parse_low_free(struct list *list, char *text)
{
    if (lists_parse_shares(list, "low-free", text) != 0)
        return TOOL_REFUSED;
    for (unsigned i = 0; i < list->count; i++) {
        if (list->values[i] == 0 || list->values[i] == TOOL_WHOLE)
            return tool_refuse("--low-free: a share must lie between 0 and 100 %%");
    }
    return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct command *c = state->input;

    c->measure_only |= key == 'b' || key == OPTION_RUNS;
    c->table_only |= key == OPTION_LOW_FREE;
    switch (key) {
    case 'T':
        return tool_parse_range(&c->total, "total", text, 1, QUARRY_MAX_PAGES);
    case 'f':
        return lists_parse(&c->free, "free", text, 1, QUARRY_MAX_PAGES);
    case 't':
        return lists_parse(&c->threads, "threads", text, 1, MAX_THREADS);
    case 'a':
        return lists_parse_allocators(&c->allocators, text);
    case OPTION_WORD:
        if (tool_parse_range(&c->word_bits, "word-bits", text, 32, 64) != 0)
            return TOOL_REFUSED;
        if (c->word_bits == 32 || c->word_bits == 64)
            return 0;
        return tool_refuse("--word-bits: %s is neither 32 nor 64", text);
    case OPTION_CLUSTERS:
        return tool_parse_range(&c->clusters, "clusters", text, 1, QUARRY_MAX_PAGES);
    case OPTION_LOW_FREE:
        return parse_low_free(&c->low_free, text);
    case OPTION_MEASURE:
        c->measure = 1;
        return 0;
    case 'b':
        return options_parse_backend(&c->backend, text);
    case OPTION_RUNS:
        return tool_parse_range(&c->runs, "runs", text, 1, MAX_RUNS);
    case OPTION_CSV:
        if (text && !*text)
            return tool_refuse("--csv '': name a file");
        c->csv_wanted = 1;
        c->csv_path = text;
        return 0;
    case ARGP_KEY_END:
        if (c->measure_only && !c->measure)
            return tool_refuse("--backend and --runs need --measure");
        if (c->table_only && c->csv_wanted && !c->csv_path)
            return tool_refuse("--low-free is about the table, which --csv without a file replaces");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tool_model_argp = {
    options,
    parse_option,
    NULL,
    "Shows how many steps a malloc takes by the theory of the random walks: those of a thread (TAS) and the "
    "most of a warp's threads (WAS).  Lists are separated by commas; numbers take the suffixes K, M and G.\v"
    "WAS of rw, rw-bm and crw is an upper bound.  The heap to measure has as many free pages as asked for "
    "but "
    "for a few, since each is chosen at random; the table shows how many, and its predictions are for that "
    "number.  Allocators walk there until they find a page, and all 32 lanes of corw probe, as in the paper.",
    NULL,
    NULL,
    NULL};

static uint64_t most(const struct list *list)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < list->count; i++)
        value = list->values[i] > value ? list->values[i] : value;
    return value;
}

static int has_allocator(const struct command *c, const char *name)
{
    struct quarry_allocator_info info;
    const int number = options_find_allocator(name, &info);
    for (unsigned i = 0; i < c->allocators.count; i++)
        if (c->allocators.values[i] == (uint64_t)number)
            return 1;
    return 0;
}

static int read_options(struct command *c, int argc, char **argv)
{
    int code = tool_options(&tool_model_argp, argc, argv, c);
    if (code != TOOL_OK)
        return code;
    const uint64_t divisors[] = {2, 10, 100};
    if (!c->total)
        c->total = 1000000;
    for (unsigned i = 0, given = c->free.count; !given && i < 3; i++)
        lists_add(&c->free, c->total / divisors[i] ? c->total / divisors[i] : 1);
    if (!c->threads.count) {
        lists_add(&c->threads, 1000);
        lists_add(&c->threads, 5000);
    }
    if (!c->low_free.count)
        lists_add(&c->low_free, TOOL_WHOLE / 200);
    for (int i = 0, given = c->allocators.count != 0; !given && i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        if (quarry_allocator_describe(i, &info) == QUARRY_OK && info.counts_slots)
            lists_add(&c->allocators, (uint64_t)i);
    }
    if (c->word_bits && !has_allocator(c, "rw-bm") && !has_allocator(c, "crw") && !has_allocator(c, "corw"))
        return tool_error(TOOL_USAGE,
                          "--word-bits is about allocators rw-bm, crw and corw, and none of them is "
                          "among --allocator");
    if (!c->word_bits)
        c->word_bits = 32;
    if (c->clusters && !has_allocator(c, "crw"))
        return tool_error(TOOL_USAGE, "--clusters is about allocator crw, which is not among --allocator");
    if (most(&c->free) > c->total)
        return tool_error(TOOL_USAGE, "--free: %" PRIu64 " pages are more than the %" PRIu64 " of --total",
                          most(&c->free), c->total);
    if (c->clusters > most(&c->free))
        return tool_error(TOOL_USAGE, "--clusters: %" PRIu64 " are more than the %" PRIu64 " free pages",
                          c->clusters, most(&c->free));
    for (unsigned i = 0; i < c->threads.count; i++) {
        if (c->threads.values[i] <= most(&c->free))
            return TOOL_OK;
    }
    return tool_error(TOOL_USAGE, "--threads: more threads than the %" PRIu64 " free pages", most(&c->free));
}

/* ---- theory ---- */

static const struct theory {
    const char *allocator;
    double (*steps[2])(const struct model *); /* TAS, WAS */
} theories[] = {
    {"queue", {model_queue_tas, model_queue_was}},  {"rw", {model_rw_tas, model_rw_was}},
    {"rw-bm", {model_rw_bm_tas, model_rw_bm_was}},  {"crw", {model_crw_tas, model_crw_was}},
    {"corw", {model_corw_steps, model_corw_steps}},
};

/* A new row with what theory says; nothing is measured yet. */
static struct row *predict(struct command *c, const char *allocator, double total, double free,
                           double threads)
{
    struct row *row = &c->rows[c->count++];
    const double clusters = c->clusters ? (double)c->clusters : model_scattered_clusters(total, free);
    *row = (struct row){.allocator = allocator,
                        .model = {total, free, threads, (double)c->word_bits, clusters},
                        .predicted = {NAN, NAN},
                        .measured = {NAN, NAN},
                        .us = NAN};
    for (unsigned i = 0; i < sizeof theories / sizeof *theories; i++) {
        for (int s = 0; s < 2 && strcmp(theories[i].allocator, allocator) == 0; s++)
            row->predicted[s] = theories[i].steps[s](&row->model);
    }
    return row;
}

/* ---- output ---- */

static const char *backend_name(const struct command *c)
{
    return c->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu";
}

static void print_header(const struct command *c)
{
    char share[16];
    if (c->csv)
        fputs(
            "device,backend,allocator,total,free,threads,word_bits,clusters,tas_predicted,was_predicted,tas,"
            "was,median_us\n",
            c->csv);
    if (!c->table)
        return;
    if (c->measure)
        fprintf(c->table, "quarry %s, %s:%d %s\n", quarry_version(), backend_name(c), c->target.device,
                c->info.name);
    fprintf(c->table, "%" PRIu64 " pages, words of %" PRIu64 " bits\n", c->total, c->word_bits);
    for (unsigned i = 0; i < c->low_free.count; i++)
        fprintf(c->table, "full: %.0f pages in vain speak, with 99 %% confidence, for less than %s %% free\n",
                ceil(model_full_pages((double)c->low_free.values[i] / (double)TOOL_WHOLE)),
                tool_format_share(c->low_free.values[i], share));
    fprintf(c->table, "\n%-9s %10s %10s  %11s", "allocator", "free", "threads", "TAS");
    if (c->measure)
        fprintf(c->table, " %11s %7s", "measured", "diff");
    fprintf(c->table, "  %11s", "WAS");
    if (c->measure)
        fprintf(c->table, " %11s %7s  %11s", "measured", "diff", "us");
    fputc('\n', c->table);
}

static void print_number(FILE *file, int width, double value)
{
    if (isnan(value))
        fprintf(file, " %*s", width, "-");
    else
        fprintf(file, " %*.2f", width, value);
}

static void print_table_row(const struct command *c, const struct row *row)
{
    fprintf(c->table, "%-9s %10.0f %10.0f", row->allocator, row->model.free, row->model.threads);
    for (int s = 0; s < 2; s++) {
        fputc(' ', c->table);
        print_number(c->table, 11, row->predicted[s]);
        if (!c->measure)
            continue;
        print_number(c->table, 11, row->measured[s]);
        const double diff = 100 * (row->measured[s] / row->predicted[s] - 1);
        if (isnan(diff) || isinf(row->predicted[s]))
            fprintf(c->table, " %7s", "-");
        else
            fprintf(c->table, " %+6.1f%%", diff);
    }
    if (c->measure) {
        fputc(' ', c->table);
        print_number(c->table, 11, row->us);
    }
    fputc('\n', c->table);
    fflush(c->table);
}

static void print_csv_row(const struct command *c, const struct row *row)
{
    const double values[] = {row->predicted[0], row->predicted[1], row->measured[0], row->measured[1],
                             row->us};
    fputc('"', c->csv);
    for (const char *name = c->info.name; *name; name++)
        fprintf(c->csv, "%s%c", *name == '"' ? "\"" : "", *name);
    fprintf(c->csv, "\",%s,%s,%.0f,%.0f,%.0f,%.0f,%.6g", c->measure ? backend_name(c) : "", row->allocator,
            row->model.total, row->model.free, row->model.threads, row->model.word, row->model.clusters);
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        fputc(',', c->csv);
        if (!isnan(values[i]))
            fprintf(c->csv, "%.6g", values[i]);
    }
    fputc('\n', c->csv);
    fflush(c->csv);
}

static void print_row(const struct command *c, const struct row *row)
{
    tool_progress_end();
    if (c->table)
        print_table_row(c, row);
    if (c->csv)
        print_csv_row(c, row);
}

/* Of TAS and WAS with time, over all measured settings of one allocator (NULL: of all). */
static void print_correlation(const struct command *c, const char *allocator, double *numbers)
{
    double *const steps[2] = {numbers, numbers + c->count}, *const us = numbers + 2 * c->count;
    unsigned n = 0;
    for (unsigned i = 0; i < c->count; i++) {
        const struct row *row = &c->rows[i];
        if (isnan(row->us) || (allocator && strcmp(allocator, row->allocator) != 0))
            continue;
        steps[0][n] = row->measured[0];
        steps[1][n] = row->measured[1];
        us[n++] = row->us;
    }
    fprintf(c->table, "%-9s %10u", allocator ? allocator : "all", n);
    for (int s = 0; s < 2; s++) {
        const double r = model_correlation(steps[s], us, n);
        if (isnan(r))
            fprintf(c->table, " %11s", "-");
        else
            fprintf(c->table, " %11.4f", r);
    }
    fputc('\n', c->table);
}

static int print_correlations(struct command *c)
{
    double *numbers = calloc(c->count, 3 * sizeof *numbers);
    if (!numbers)
        return tool_error(TOOL_FAILED, "no memory for the correlations");
    fprintf(c->table, "\ncorrelation with time\n%-9s %10s %11s %11s\n", "allocator", "settings", "TAS",
            "WAS");
    for (unsigned i = 1; i < c->count; i++) {
        if (strcmp(c->rows[i].allocator, c->rows[i - 1].allocator) != 0)
            print_correlation(c, c->rows[i].allocator, numbers);
    }
    if (c->allocators.count > 1)
        print_correlation(c, NULL, numbers);
    free(numbers);
    return TOOL_OK;
}

/* ---- measuring ---- */

/* A failure after which nothing on the target can be trusted. */
static int broken(struct command *c, enum quarry_status status, const char *what)
{
    const char *detail = quarry_error_detail();
    c->code = tool_error(TOOL_FAILED, "%s: %s", what, *detail ? detail : quarry_status_string(status));
    return -1;
}

static struct command *progress_command;

static void show_progress(double share_of_fill)
{
    tool_progress("model", (progress_command->fills_done + share_of_fill) / progress_command->fills);
}

static int measure_row(struct command *c, quarry_heap *heap, uint32_t alignment, struct row *row)
{
    const struct workload_shape shape = {.bytes = PAGE_BYTES,
                                         .threads = (uint32_t)row->model.threads,
                                         .lanes = SIMT_LANES,
                                         .alignment = alignment};
    struct workload_cell cell;
    enum quarry_status status = workload_measure(&c->workload, heap, bench_test_find("alloc"), &shape, &cell);
    if (status == QUARRY_OK && cell.verified)
        status = workload_count(&c->workload, heap, &shape, &cell);
    if (status != QUARRY_OK)
        return broken(c, status, row->allocator);
    if (!cell.verified) {
        c->code =
            tool_error(TOOL_FAILED, "%s, %.0f threads: %s", row->allocator, row->model.threads, cell.fault);
        return -1;
    }
    row->measured[0] = cell.ops[0].tas;
    row->measured[1] = cell.ops[0].was;
    row->us = cell.ops[0].time.median;
    return 0;
}

/* All numbers of threads on a heap with about so many free pages; heap NULL: predictions alone. */
static int run_free(struct command *c, const struct quarry_allocator_info *allocator, quarry_heap *heap,
                    uint64_t free)
{
    uint64_t slots = free;
    int measured = heap != NULL;
    if (heap) {
        int gave_up = 0;
        enum quarry_status status =
            workload_fill(&c->target, heap, PAGE_BYTES, (double)free / (double)c->total, FILL_BUDGET_S,
                          show_progress, &gave_up);
        if (status == QUARRY_ERROR_MEMORY || gave_up) {
            tool_error(0, "%s, %" PRIu64 " free pages: not measured: %s", allocator->name, free,
                       gave_up ? "filling the heap takes too long" : "no memory to fill the heap");
            measured = 0;
        } else if (status == QUARRY_OK) {
            status = quarry_heap_slots(heap, PAGE_BYTES, &slots);
        }
        if (status != QUARRY_OK && measured)
            return broken(c, status, allocator->name);
        c->fills_done++;
    }
    for (unsigned i = 0; i < c->threads.count; i++) {
        const uint64_t threads = c->threads.values[i];
        struct row *row = predict(c, allocator->name, (double)c->total, (double)slots, (double)threads);
        if (measured && threads <= slots && measure_row(c, heap, 16, row) != 0)
            return -1;
        print_row(c, row);
    }
    return 0;
}

/* A heap to measure on; NULL if nothing is measured. */
static int create_heap(struct command *c, const char *allocator, quarry_heap **heap)
{
    struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
    *heap = NULL;
    if (!c->measure)
        return 0;
    create.target = c->target;
    create.allocator = allocator;
    create.page_bytes = PAGE_BYTES;
    create.pages = c->total;
    const struct set_options wanted = {
        NULL, {{"probes", QUARRY_MAX_PROBES}, {"word_bits", c->word_bits}, {"probe_lanes", SIMT_LANES}}, 3};
    struct quarry_option set[QUARRY_MAX_HEAP_OPTIONS];
    options_use_set(&wanted, set, &create);
    enum quarry_status status = quarry_heap_create(heap, &create);
    return status == QUARRY_OK ? 0 : broken(c, status, "can't create the heap");
}

/* Before anything is written: is there memory for heaps of that size? */
static int try_heap(struct command *c)
{
    quarry_heap *heap;
    if (create_heap(c, "corw", &heap) != 0)
        return -1;
    enum quarry_status status = heap ? quarry_heap_destroy(heap) : QUARRY_OK;
    return status == QUARRY_OK ? 0 : broken(c, status, "can't destroy the heap");
}

static int run_allocator(struct command *c, const struct quarry_allocator_info *allocator)
{
    quarry_heap *heap = NULL;
    enum quarry_status status = QUARRY_OK;
    int result = 0;
    if (create_heap(c, allocator->name, &heap) != 0)
        return -1;
    for (unsigned i = 0; i < c->free.count && result == 0; i++)
        result = run_free(c, allocator, heap, c->free.values[i]);
    if (heap)
        status = quarry_heap_destroy(heap);
    if (status == QUARRY_ERROR_LEAK) /* the blocks that filled it are none */
        status = QUARRY_OK;
    if (status != QUARRY_OK && result == 0)
        result = broken(c, status, "can't destroy the heap");
    return result;
}

static int run_all(struct command *c)
{
    print_header(c);
    for (unsigned i = 0; i < c->threads.count; i++) {
        const double threads = (double)c->threads.values[i];
        print_row(c, predict(c, "queue", threads, threads, threads));
    }
    for (unsigned i = 0; i < c->allocators.count; i++) {
        struct quarry_allocator_info allocator;
        enum quarry_status status = quarry_allocator_describe((int)c->allocators.values[i], &allocator);
        if (status != QUARRY_OK)
            return broken(c, status, "allocator");
        if (run_allocator(c, &allocator) != 0)
            return -1;
    }
    if (c->table && c->measure)
        c->code = print_correlations(c);
    return 0;
}

/* ---- the command ---- */

static int open_output(struct command *c)
{
    c->table = c->csv_wanted && !c->csv_path ? NULL : stdout;
    if (c->csv_wanted)
        c->csv = c->csv_path ? fopen(c->csv_path, "w") : stdout;
    if (c->csv_wanted && !c->csv)
        return tool_error(TOOL_FAILED, "%s: can't write: %s", c->csv_path, strerror(errno));
    return TOOL_OK;
}

static void close_output(struct command *c)
{
    if (c->csv && c->csv != stdout) {
        const int failed = ferror(c->csv);
        if (fclose(c->csv) != 0 || failed)
            c->code = tool_error(TOOL_FAILED, "%s: can't write", c->csv_path);
    }
    if (tool_flush() != TOOL_OK)
        c->code = TOOL_FAILED;
}

static int open_workload(struct command *c)
{
    int code = tool_target(c->backend, &c->target);
    if (code != TOOL_OK)
        return code;
    const int gpu = c->target.backend == QUARRY_BACKEND_CUDA;
    if (!c->runs)
        c->runs = gpu ? 15 : 9;
    c->fills = c->allocators.count * c->free.count;
    const struct timing_rule rule = {gpu ? 3 : 1, (uint32_t)c->runs, (uint32_t)c->runs,
                                     gpu ? GPU_BUDGET_S : CPU_BUDGET_S};
    enum quarry_status status = quarry_device_describe(&c->target, &c->info);
    if (status == QUARRY_OK)
        status = workload_open(&c->workload, &c->target, (uint32_t)most(&c->threads), &rule);
    if (status != QUARRY_OK)
        broken(c, status, "can't prepare");
    return c->code;
}

int tool_model(int argc, char **argv)
{
    struct command c = {0};
    int code = read_options(&c, argc, argv);
    if (code == TOOL_OK && c.measure)
        code = open_workload(&c);
    if (code != TOOL_OK)
        return code;
    progress_command = &c;
    c.rows = calloc((size_t)(c.allocators.count * c.free.count + 1) * c.threads.count, sizeof *c.rows);
    if (!c.rows)
        c.code = tool_error(TOOL_FAILED, "no memory for the table");
    else if (try_heap(&c) == 0)
        c.code = open_output(&c);
    if (c.code == TOOL_OK)
        run_all(&c);
    tool_progress_end();
    close_output(&c);
    if (c.measure)
        workload_close(&c.workload);
    free(c.rows);
    return c.code;
}
