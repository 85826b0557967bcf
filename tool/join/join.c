/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry join`: options, the order of the work, output, and --stats. */
#include "join/join_engine.h"
#include "join/join_tables.h"
#include "lists.h"
#include "method.h"
#include "output.h"
#include "timing.h"
#include "tool.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXPONENT 10.0

struct command {
    const char *paths[2];
    int count;
    int integers;
    int file_only;              /* an option that means nothing with --synthetic was given */
    int synthetic_only;         /* an option that means nothing without --synthetic was given */
    int zipf_only;              /* likewise of --distribution zipf */
    struct rows_options shared; /* of both files */
    struct rows_options input[2];
    struct join_synthetic synthetic;
    struct method_task task;
};

/* ---- options ---- */

/* LEFT=RIGHT; text is cut in two. */
static error_t parse_on(struct command *command, char *text)
{
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    if (equals && tool_parse_column(text, &command->input[0]) == 0 &&
        tool_parse_column(equals + 1, &command->input[1]) == 0)
        return 0;
    if (equals)
        *equals = '=';
    return tool_refuse(
        "--on '%s': give LEFT=RIGHT, each a column's number from 1 on, or with --header its name", text);
}

/* A number of rows; K, M and G are powers of 1024. */
static int parse_rows(const char *text, uint64_t *rows)
{
    return tool_parse_bytes(text, rows) == 0 && *rows >= 1 && *rows <= ROWS_MAX ? 0 : -1;
}

static error_t parse_synthetic(struct join_synthetic *synthetic, char *text)
{
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '\0';
    int wrong = parse_rows(text, &synthetic->left);
    synthetic->right = synthetic->left;
    if (comma) {
        wrong |= parse_rows(comma + 1, &synthetic->right);
        *comma = ',';
    }
    if (!wrong)
        return 0;
    return tool_refuse(
        "--synthetic '%s': give the rows of both tables, or LEFT,RIGHT, each from 1 to %u, such as "
        "64K",
        text, ROWS_MAX);
}

static error_t parse_exponent(struct join_synthetic *synthetic, const char *text)
{
    char *end = NULL;
    if (text[0] && text[strspn(text, "0123456789.")] == '\0')
        synthetic->exponent = strtod(text, &end);
    if (end && *end == '\0' && synthetic->exponent <= MAX_EXPONENT)
        return 0;
    return tool_refuse("--exponent '%s': give a number from 0 to %.0f", text, MAX_EXPONENT);
}

static error_t parse_file(struct command *command, const char *text)
{
    if (command->paths[1])
        return tool_refuse("three files given, '%s', '%s' and '%s'; give two", command->paths[0],
                           command->paths[1], text);
    if (!*text)
        return tool_refuse("'' is no file");
    command->paths[command->paths[0] != NULL] = text;
    return 0;
}

static error_t check_inputs(struct command *command)
{
    for (int right = 0; right < 2; right++) {
        struct rows_options *input = &command->input[right];
        input->column_option = "--on";
        input->delimiter = command->shared.delimiter;
        input->header = command->shared.header;
        input->lines = !command->count;
        if (input->column_name && !input->header)
            return tool_refuse("--on: column '%s' is a name: add --header, or give a number",
                               input->column_name);
    }
    return 0;
}

static error_t parse_end(struct command *command)
{
    if (command->synthetic.left) {
        if (command->paths[0])
            return tool_refuse("--synthetic needs no files, but '%s' is given", command->paths[0]);
        if (command->file_only || command->shared.described)
            return tool_refuse(
                "--on, --integers, --delimiter and --header are about files: --synthetic reads none");
        if (command->zipf_only && command->synthetic.distribution != JOIN_ZIPF)
            return tool_refuse("--exponent needs --distribution zipf");
        return 0;
    }
    if (command->synthetic_only)
        return tool_refuse("--distribution, --exponent and --seed need --synthetic");
    if (!command->paths[1])
        return tool_refuse("%s file given; name two, one of which may be - for standard input",
                           command->paths[0] ? "only one" : "no");
    if (strcmp(command->paths[0], "-") == 0 && strcmp(command->paths[1], "-") == 0)
        return tool_refuse("both files are standard input; name one of them");
    return check_inputs(command);
}

enum {
    KEY_SYNTHETIC = 256,
    KEY_DISTRIBUTION,
    KEY_EXPONENT,
    KEY_SEED,
};

static error_t parse_synthetic_key(struct command *command, int key, char *text)
{
    int word;
    command->synthetic_only |= key != KEY_SYNTHETIC;
    command->zipf_only |= key == KEY_EXPONENT;
    switch (key) {
    case KEY_SYNTHETIC:
        return parse_synthetic(&command->synthetic, text);
    case KEY_DISTRIBUTION:
        command->synthetic.distribution =
            (enum join_distribution)(word = options_parse_word("distribution", text));
        return word < 0 ? TOOL_REFUSED : 0;
    case KEY_EXPONENT:
        return parse_exponent(&command->synthetic, text);
    default:
        return tool_parse_range(&command->synthetic.seed, "seed", text, 0, UINT64_MAX);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct command *command = (struct command *)state->input;
    command->file_only |= key == 'j' || key == 'i';
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->shared;
        state->child_inputs[1] = &command->task.result;
        state->child_inputs[2] = &command->task.method;
        return 0;
    case 'j':
        return parse_on(command, text);
    case 'i':
        command->integers = 1;
        return 0;
    case 'n':
        command->count = 1;
        return 0;
    case KEY_SYNTHETIC:
    case KEY_DISTRIBUTION:
    case KEY_EXPONENT:
    case KEY_SEED:
        return parse_synthetic_key(command, key, text);
    case ARGP_KEY_ARG:
        return parse_file(command, text);
    case ARGP_KEY_END:
        return parse_end(command);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"on", 'j', "L=R", 0,
     "Join rows whose column L in LEFT is column R in RIGHT: numbers from 1, or, with --header, names "
     "(default: "
     "1=1)",
     0},
    {"integers", 'i', NULL, 0, "Keys are decimal integers of 64 bits: 7, +7 and 007 are equal", 0},
    {"count", 'n', NULL, 0, "Print only the number of lines", 1},
    {"synthetic", KEY_SYNTHETIC, "N[,M]", 0,
     "Join made-up tables of N and M rows (default: N) and no files; each row of the second has one partner",
     3},
    {"distribution", KEY_DISTRIBUTION, "NAME", 0,
     "How often a partner is chosen: uniform or zipf (default: uniform)", 3},
    {"exponent", KEY_EXPONENT, "S", 0, "zipf: the k-th row is chosen with probability 1 / k^S (default: 1)",
     3},
    {"seed", KEY_SEED, "N", 0, "Another seed makes other tables (default: 0)", 3},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char documentation[] =
    "Joins two text files, plain or gzip, by one column of each: prints, for each pair of rows with the same "
    "key, "
    "the left row, tab, the right row, ordered by left row, then right row.  A FILE - is standard input.\v"
    "A line ends at a line feed or at the end of the file; a carriage return before the line feed is "
    "ignored.  --delimiter and --header are for both files.  Keys are compared byte by byte; any bytes "
    "will do.";

static const struct argp_child children[] = {{&options_input, 0, NULL, 0},
                                             {&options_result, 0, NULL, 0},
                                             {&options_method, 0, NULL, 2},
                                             {NULL, 0, NULL, 0}};
const struct argp tool_join_argp = {option_list, parse, "LEFT RIGHT", documentation, children, NULL, NULL};

/* ---- output ---- */

struct joined {
    const struct join_table *left;
    const struct join_table *right;
    const struct join_result *result;
    int count;
};

static int write_lines(struct writer *writer, const void *context)
{
    const struct joined *joined = (const struct joined *)context;
    const struct join_result *result = joined->result;
    if (joined->count) {
        writer_number(writer, result->count);
        writer_put(writer, "\n", 1);
        return 0;
    }
    for (uint64_t i = 0; i < result->count && !writer->error; i++) {
        join_table_put(writer, joined->left, (uint32_t)(result->matches[i] >> 32));
        writer_put(writer, "\t", 1);
        join_table_put(writer, joined->right, (uint32_t)result->matches[i]);
        writer_put(writer, "\n", 1);
        if (i % 65536 == 0)
            tool_progress("writing", (double)i / (double)result->count);
    }
    return 0;
}

/* ---- statistics ---- */

static void print_heap(const struct join_statistics *statistics)
{
    char bytes[32];
    method_print_heap(&statistics->heap);
    fprintf(stderr, "pages prefilled    %llu\n", (unsigned long long)statistics->heap.prefilled);
    fprintf(stderr, "pages allocated    %llu, %s\n", (unsigned long long)statistics->pages,
            tool_format_bytes(statistics->pages * statistics->heap.page_bytes, bytes));
}

static void print_stats(const struct command *command, const struct joined *joined,
                        const struct join_statistics *statistics, double read_us, double output_us)
{
    static const char *const names[JOIN_STAGES] = {"hash",        "partition",  "plan",  "probe",
                                                   "first probe", "prefix sum", "array", "second probe"};
    const int paged = !command->task.method.two_pass;
    fprintf(stderr, "rows               %llu left, %llu right\n", (unsigned long long)joined->left->count,
            (unsigned long long)joined->right->count);
    fprintf(stderr, "matches            %llu\n", (unsigned long long)joined->result->count);
    method_print_name(&command->task);
    fprintf(stderr, "partitions         %u, items %llu\n", statistics->partitions,
            (unsigned long long)statistics->items);
    if (statistics->heap.allocator)
        print_heap(statistics);
    if (statistics->only_counted) {
        fprintf(stderr, "only counted       there is no room for the matches\n");
        return;
    }
    method_print_times(&command->task, read_us, statistics->upload_us, statistics->heap.us);
    for (int stage = 0; stage < JOIN_STAGES; stage++)
        if (stage < JOIN_STAGE_PROBE || (stage == JOIN_STAGE_PROBE) == paged)
            tool_print_time(names[stage], statistics->us[stage]);
    tool_print_time("join, all these", statistics->us[JOIN_STAGES]);
    tool_print_time("gather, order", statistics->gather_us);
    tool_print_time("output", output_us);
}

/* ---- the command ---- */

static int read_tables(const struct command *command, struct join_table *left, struct join_table *right)
{
    if (command->synthetic.left)
        return join_tables_make(left, right, &command->synthetic);
    if (join_table_read(left, command->paths[0], &command->input[0], command->integers) ||
        join_table_read(right, command->paths[1], &command->input[1], command->integers))
        return TOOL_FAILED;
    return 0;
}

static int join_tables(const struct command *command)
{
    struct join_table left = {0};
    struct join_table right = {0};
    struct join_result result = {0};
    struct join_statistics statistics;
    const struct joined joined = {&left, &right, &result, command->count};
    const double began = timing_now();
    int code = read_tables(command, &left, &right);
    const double read = timing_now();
    if (code == 0)
        code = join_run(&left, &right, &command->task, !command->count, &result, &statistics);
    const double finished = timing_now();
    if (code == 0 && command->synthetic.left && result.count != right.count)
        code = tool_internal_error("rows of synthetic tables have not one partner each");
    if (code == 0)
        code = output_write(command->task.result.path, write_lines, &joined);
    if (code == 0 && command->task.result.stats)
        print_stats(command, &joined, &statistics, 1e6 * (read - began), 1e6 * (timing_now() - finished));
    join_free(&result);
    join_table_free(&left);
    join_table_free(&right);
    return code;
}

int tool_join(int argc, char **argv)
{
    struct command command;
    memset(&command, 0, sizeof command);
    command.input[0].column_number = 1;
    command.input[1].column_number = 1;
    command.shared.delimiter = '\t';
    command.synthetic.exponent = 1;
    const int code = method_start(&command.task, &tool_join_argp, argc, argv, &command, "JOIN", 32);
    return code == TOOL_OK ? join_tables(&command) : code;
}
