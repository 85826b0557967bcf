/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry groupby`: options, the order of the work, and --stats. */
#include "groupby_engine.h"
#include "groupby_output.h"
#include "options.h"
#include "output.h"
#include "rows.h"
#include "timing.h"
#include "tool.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAGE_BYTES 256u

struct command {
    const char *path;
    int stats;
    struct rows_options input;
    struct heap_options heap;
    struct groupby_options engine;
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
    if (!command->path)
        return tool_refuse("no file given; name one, or - for standard input");
    if (command->input.column_name && !command->input.header)
        return tool_refuse("--column '%s' is a name: add --header, or give a number",
                           command->input.column_name);
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct command *command = (struct command *)state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->input;
        state->child_inputs[1] = &command->heap;
        return 0;
    case 'c':
        return parse_column(command, text);
    case 't':
        return parse_top(command, text);
    case 'r':
        command->output.with_rows = 1;
        return 0;
    case 's':
        command->stats = 1;
        return 0;
    case 'o':
        command->output.path = text;
        return 0;
    case ARGP_KEY_ARG:
        if (command->path)
            return tool_refuse("two files given, '%s' and '%s'; give one", command->path, text);
        command->path = text;
        return 0;
    case ARGP_KEY_END:
        return parse_end(command);
    case ARGP_KEY_ERROR:
        return tool_option_error(state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"column", 'c', "N|NAME", 0, "Group by this column, counted from 1 (default 1); a NAME needs --header",
     0},
    {"top", 't', "K", 0, "Print only the K largest groups, largest first, those of one size by key", 1},
    {"rows", 'r', NULL, 0, "Add each group's row numbers; rows are counted from 1, without the header", 1},
    {"output", 'o', "FILE", 0, "Write there, in one piece or not at all (default: standard output)", 1},
    {"stats", 's', NULL, 0, "Print rows, groups, pages, heap use and times to standard error", 1},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char documentation[] =
    "Groups the rows of a text FILE, plain or gzip, by one column: prints key, tab, count for each distinct "
    "key, in any order.  FILE - is standard input.\v"
    "A line ends at a line feed or at the end of the file; a carriage return before the line feed is "
    "ignored.  A blank line is a row whose only column is empty.  Keys are compared byte by byte; any bytes "
    "will do.\n\n"
    "Exit codes: 0 done, 1 bad data or lack of resources, 2 bad usage.";

static const struct argp_child children[] = {
    {&options_input, 0, NULL, 0}, {&options_heap, 0, NULL, 2}, {NULL, 0, NULL, 0}};
static const struct argp argument_parser = {option_list, parse, "FILE", documentation, children, NULL, NULL};

/* ---- statistics ---- */

static void print_stats(const struct groupby_statistics *statistics, uint64_t rows, uint64_t groups,
                        double read_us, double output_us)
{
    char peak[32];
    char heap[32];
    double passes_us = 0;
    fprintf(stderr, "rows               %llu\n", (unsigned long long)rows);
    fprintf(stderr, "groups             %llu\n", (unsigned long long)groups);
    if (rows) {
        fprintf(stderr, "heap               %s, allocator %s, %llu pages of %llu bytes\n",
                tool_format_bytes(statistics->heap_bytes, heap), statistics->allocator,
                (unsigned long long)statistics->heap_pages, (unsigned long long)statistics->page_bytes);
        fprintf(stderr, "pages allocated    %llu\n", (unsigned long long)statistics->pages_allocated);
        fprintf(stderr, "pages freed        %llu\n", (unsigned long long)statistics->pages_freed);
        fprintf(stderr, "peak heap use      %s in %llu pages\n",
                tool_format_bytes(statistics->peak_pages * statistics->page_bytes, peak),
                (unsigned long long)statistics->peak_pages);
        fprintf(stderr, "hash rounds        %u, passes %u\n", statistics->rounds, statistics->passes);
    }
    fprintf(stderr, "time\n");
    tool_print_time("read", read_us);
    tool_print_time("upload", statistics->upload_us);
    tool_print_time("heap", statistics->heap_us);
    tool_print_time("hash", statistics->hash_us);
    for (unsigned i = 0; i < statistics->passes && i < GROUPBY_PASSES_NOTED; i++) {
        const struct groupby_pass *pass = &statistics->pass[i];
        int rest = i == GROUPBY_PASSES_NOTED - 1 && statistics->passes > GROUPBY_PASSES_NOTED;
        fprintf(stderr, "  pass %-3u%-9s%10.3f ms, %llu rows into %llu new pages\n", i + 1,
                rest ? " and on" : "", pass->microseconds / 1e3, (unsigned long long)pass->rows,
                (unsigned long long)pass->pages);
        passes_us += pass->microseconds;
    }
    tool_print_time("resolve", statistics->resolve_us);
    tool_print_time("output", output_us);
    fprintf(stderr, "mallocs per second %.0f in the passes\n",
            passes_us > 0 ? (double)statistics->pages_allocated * 1e6 / passes_us : 0.0);
}

/* ---- the command ---- */

static int group_file(const struct command *command)
{
    struct rows rows;
    struct groupby_result result;
    struct groupby_statistics statistics;
    double began = timing_now();
    if (rows_read(&rows, command->path, &command->input))
        return TOOL_FAILED;
    double read = timing_now();
    int code = groupby_run(&rows, &command->engine, &result, &statistics);
    double grouped = timing_now();
    if (code == 0)
        code = groupby_output(&rows, &result, &command->output);
    if (code == 0 && command->stats)
        print_stats(&statistics, rows.count, result.groups, 1e6 * (read - began),
                    1e6 * (timing_now() - grouped));
    groupby_free(&result);
    rows_free(&rows);
    return code;
}

int tool_groupby(int argc, char **argv)
{
    struct command command;
    memset(&command, 0, sizeof command);
    command.input.column_option = "--column";
    command.input.column_number = 1;
    command.input.delimiter = '\t';
    command.heap.page_bytes = DEFAULT_PAGE_BYTES;
    static char name[] = "quarry groupby";
    argv[0] = name;
    int code = tool_options(&argument_parser, argc, argv, &command);
    if (code != TOOL_OK)
        return code;
    if (output_check(command.output.path) || tool_target(command.heap.backend, &command.engine.target))
        return TOOL_FAILED;
    command.engine.heap = command.heap;
    command.engine.want_rows = command.output.with_rows;
    command.engine.hash_bits = (unsigned)tool_environment("QUARRY_GROUPBY_HASH_BITS", 64, 64);
    if (command.engine.target.backend == QUARRY_BACKEND_CPU)
        command.engine.target.seed = tool_environment("QUARRY_GROUPBY_SEED", UINT64_MAX, 0);
    return group_file(&command);
}
