/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry groupby`: options, the order of the work, and --stats. */
#include "groupby/groupby_engine.h"
#include "groupby/groupby_output.h"
#include "groupby/groupby_table.h"
#include "groupby/groupby_two_pass.h"
#include "lists.h"
#include "method.h"
#include "timing.h"
#include "tool.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEVIATION (1u << 20)

struct command {
    const char *path;
    int keys;           /* print them, and do not group */
    int synthetic_only; /* an option that means nothing without --synthetic was given */
    struct rows_options input;
    struct groupby_synthetic synthetic;
    struct method_task task;
    struct groupby_output_options output;
};

/* ---- options ---- */

static error_t parse_column(struct command *command, const char *text)
{
    if (tool_parse_column(text, &command->input) == 0)
        return 0;
    return tool_refuse("--column '%s': give a number from 1 on, or with --header a name", text);
}

static error_t parse_top(struct command *command, const char *text)
{
    if (tool_parse_number(text, &command->output.top) == 0 && command->output.top > 0)
        return 0;
    return tool_refuse("--top '%s': give a number from 1 on", text);
}

static error_t parse_end(struct command *command)
{
    const struct groupby_output_options *output = &command->output;
    if (output->count && (output->top || output->with_rows))
        return tool_refuse("--top and --rows are about groups: --count prints only their number");
    if (command->synthetic.rows) {
        if (command->path)
            return tool_refuse("--synthetic needs no file, but '%s' is given", command->path);
        if (command->input.described)
            return tool_refuse("--column, --delimiter and --header are about files: --synthetic reads none");
        if (command->keys && (output->count || output->top || output->with_rows ||
                              command->task.result.stats || command->task.method.given))
            return tool_refuse("--keys groups nothing: only --deviation, --seed and --output go with it");
        return 0;
    }
    if (command->synthetic_only)
        return tool_refuse("--deviation, --seed and --keys need --synthetic");
    if (command->task.method.two_pass)
        return tool_refuse("--method two-pass is for integers: it needs --synthetic");
    if (!command->path)
        return tool_refuse("no file given; name one, or - for standard input");
    if (!*command->path)
        return tool_refuse("'' is no file");
    if (command->input.column_name && !command->input.header)
        return tool_refuse("--column '%s' is a name: add --header, or give a number",
                           command->input.column_name);
    return 0;
}

enum {
    KEY_SYNTHETIC = 256,
    KEY_DEVIATION,
    KEY_SEED,
    KEY_KEYS,
};

static error_t parse_synthetic_key(struct command *command, int key, const char *text)
{
    struct groupby_synthetic *synthetic = &command->synthetic;
    command->synthetic_only |= key != KEY_SYNTHETIC;
    switch (key) {
    case KEY_SYNTHETIC:
        return tool_parse_range(&synthetic->rows, "synthetic", text, 1, ROWS_MAX);
    case KEY_DEVIATION:
        return tool_parse_range(&synthetic->deviation, "deviation", text, 1, GROUPBY_MAX_DEVIATION);
    case KEY_SEED:
        return tool_parse_range(&synthetic->seed, "seed", text, 0, UINT64_MAX);
    default:
        command->keys = 1;
        return 0;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct command *command = (struct command *)state->input;
    command->input.described |= key == 'c';
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->input;
        state->child_inputs[1] = &command->task.result;
        state->child_inputs[2] = &command->task.method;
        return 0;
    case 'c':
        return parse_column(command, text);
    case 'k':
        return parse_top(command, text);
    case 'r':
        command->output.with_rows = 1;
        return 0;
    case 'n':
        command->output.count = 1;
        return 0;
    case KEY_SYNTHETIC:
    case KEY_DEVIATION:
    case KEY_SEED:
    case KEY_KEYS:
        return parse_synthetic_key(command, key, text);
    case ARGP_KEY_ARG:
        if (command->path)
            return tool_refuse("two files given, '%s' and '%s'; give one", command->path, text);
        command->path = text;
        return 0;
    case ARGP_KEY_END:
        return parse_end(command);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"column", 'c', "N|NAME", 0, "Group by this column, counted from 1 (default 1); a NAME needs --header",
     0},
    {"top", 'k', "K", 0, "Print only the K largest groups, largest first, those of one size by key", 1},
    {"rows", 'r', NULL, 0, "Add each group's row numbers; rows are counted from 1, without the header", 1},
    {"count", 'n', NULL, 0, "Print only the number of groups", 1},
    {"synthetic", KEY_SYNTHETIC, "N", 0,
     "Group N made-up keys and no file: normally distributed integers of 32 bits, 8 bits in each of four "
     "passes",
     3},
    {"deviation", KEY_DEVIATION, "D", 0, "Their standard deviation (default: 1M); their mean is 2G", 3},
    {"seed", KEY_SEED, "N", 0, "Another seed makes other keys (default: 0)", 3},
    {"keys", KEY_KEYS, NULL, 0, "Only print them, one a line", 3},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char documentation[] =
    "Groups the rows of a text FILE, plain or gzip, by one column: prints key, tab, count for each distinct "
    "key, in any order.  FILE - is standard input.\v"
    "A line ends at a line feed or at the end of the file; a carriage return before the line feed is "
    "ignored.  A blank line is a row whose only column is empty.  Keys are compared byte by byte; any bytes "
    "will do.";

static const struct argp_child children[] = {{&options_input, 0, NULL, 0},
                                             {&options_result, 0, NULL, 0},
                                             {&options_method, 0, NULL, 2},
                                             {NULL, 0, NULL, 0}};
const struct argp tool_groupby_argp = {option_list, parse, "FILE", documentation, children, NULL, NULL};

/* ---- statistics ---- */

static void print_heap(const struct groupby_statistics *statistics)
{
    const struct work_heap *heap = &statistics->heap;
    char bytes[32];
    method_print_heap(heap);
    if (heap->prefilled)
        fprintf(stderr, "pages prefilled    %llu\n", (unsigned long long)heap->prefilled);
    fprintf(stderr, "pages allocated    %llu\n", (unsigned long long)statistics->pages_allocated);
    fprintf(stderr, "pages freed        %llu\n", (unsigned long long)statistics->pages_freed);
    fprintf(stderr, "peak heap use      %s in %llu pages\n",
            tool_format_bytes(statistics->peak_pages * heap->page_bytes, bytes),
            (unsigned long long)statistics->peak_pages);
    fprintf(stderr, "hash rounds        %u, passes %u\n", statistics->rounds, statistics->passes);
}

/* Returns the time of all. */
static double print_passes(const struct groupby_statistics *statistics)
{
    double passes_us = 0;
    for (unsigned i = 0; i < statistics->passes && i < GROUPBY_PASSES_NOTED; i++) {
        const struct groupby_pass *pass = &statistics->pass[i];
        const double us = statistics->us[GROUPBY_TIME_PASS + i];
        int rest = i == GROUPBY_PASSES_NOTED - 1 && statistics->passes > GROUPBY_PASSES_NOTED;
        fprintf(stderr, "  pass %-3u%-9s%10.3f ms, %llu rows", i + 1, rest ? " and on" : "", us / 1e3,
                (unsigned long long)pass->rows);
        if (statistics->heap.allocator)
            fprintf(stderr, " into %llu new pages", (unsigned long long)pass->pages);
        fputc('\n', stderr);
        passes_us += us;
    }
    return passes_us;
}

static void print_stats(const struct command *command, const struct groupby_statistics *statistics,
                        uint64_t rows, uint64_t groups, double read_us, double output_us)
{
    const int paged = !command->task.method.two_pass;
    const double *us = statistics->us;
    char bytes[32];
    fprintf(stderr, "rows               %llu\n", (unsigned long long)rows);
    fprintf(stderr, "groups             %llu\n", (unsigned long long)groups);
    method_print_name(&command->task);
    if (statistics->heap.allocator)
        print_heap(statistics);
    if (!paged)
        fprintf(stderr, "counts             %s\n", tool_format_bytes(statistics->table_bytes, bytes));
    method_print_times(&command->task, read_us, statistics->upload_us, statistics->heap.us);
    if (!command->synthetic.rows)
        tool_print_time("hash", us[GROUPBY_TIME_HASH]);
    const double passes_us = print_passes(statistics);
    tool_print_time("passes", passes_us);
    if (!paged) {
        tool_print_time("  counting", us[GROUPBY_TIME_COUNT]);
        tool_print_time("  prefix sums", us[GROUPBY_TIME_PREFIX_SUM]);
        tool_print_time("  writing", us[GROUPBY_TIME_WRITE]);
    } else {
        tool_print_time("decide", us[GROUPBY_TIME_DECIDE]);
    }
    tool_print_time("resolve", us[GROUPBY_TIME_RESOLVE]);
    tool_print_time("group, all these", us[GROUPBY_TIME_ALL]);
    tool_print_time("output", output_us);
    if (statistics->heap.allocator)
        fprintf(stderr, "mallocs per second %.0f in the passes\n",
                passes_us > 0 ? (double)statistics->pages_allocated * 1e6 / passes_us : 0.0);
}

/* ---- the command ---- */

static int read_table(const struct command *command, struct groupby_table *table)
{
    if (command->synthetic.rows)
        return groupby_table_make(table, &command->synthetic);
    if (rows_read(&table->rows, command->path, &command->input))
        return TOOL_FAILED;
    table->count = table->rows.count;
    return 0;
}

static int group(const struct command *command)
{
    struct groupby_table table = {0};
    struct groupby_result result = {0};
    struct groupby_statistics statistics;
    double began = timing_now();
    int code = read_table(command, &table);
    double read = timing_now();
    if (code == 0 && command->keys) {
        code = groupby_output_keys(&table, command->task.result.path);
        groupby_table_free(&table);
        return code;
    }
    if (code == 0)
        code = (command->task.method.two_pass ? groupby_run_two_pass : groupby_run)(
            &table, &command->task, command->output.with_rows, &result, &statistics);
    double grouped = timing_now();
    if (code == 0)
        code = groupby_output(&table, &result, &command->output, command->task.result.path);
    if (code == 0 && command->task.result.stats)
        print_stats(command, &statistics, table.count, result.groups, 1e6 * (read - began),
                    1e6 * (timing_now() - grouped));
    groupby_free(&result);
    groupby_table_free(&table);
    return code;
}

int tool_groupby(int argc, char **argv)
{
    struct command command;
    memset(&command, 0, sizeof command);
    command.input.column_option = "--column";
    command.input.column_number = 1;
    command.input.delimiter = '\t';
    command.synthetic.deviation = DEFAULT_DEVIATION;
    const int code = method_start(&command.task, &tool_groupby_argp, argc, argv, &command, "GROUPBY", 64);
    return code == TOOL_OK ? group(&command) : code;
}
