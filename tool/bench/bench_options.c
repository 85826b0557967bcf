/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `quarry bench`. */
#include "bench/bench.h"

#include <argp.h>
#include <inttypes.h>
#include <string.h>

#define MAX_BENCH_BYTES (UINT64_C(1) << 40)
#define MAX_RUNS 10000u
#define MAX_WATCHDOG_S 86400u

enum {
    OPTION_RUNS = 256,
    OPTION_CSV,
    OPTION_QUICK,
    OPTION_LANES,
    OPTION_LOW_FREE,
    OPTION_STEPS,
    OPTION_TEST,
    OPTION_FULL,
    OPTION_JSON,
    OPTION_WATCHDOG,
    OPTION_COMPARE,
    OPTION_TOLERANCE,
    OPTION_DEBUG,
    OPTION_REPORT
};

static const struct argp_option options[] = {
    {"test", OPTION_TEST, "NAME,...", 0, "Tests, which are listed below (most of them)", 0},
    {"full", OPTION_FULL, NULL, 0, "All tests, and on a GPU more of their axes: takes long", 0},
    {"backend", 'b', "B", 0, "auto, cuda or cpu (auto: a GPU if there is one)", 0},
    {"allocator", 'a', "NAME,...", 0, "Allocators (all but cuda)", 0},
    {"threads", 't', "N,...", 0, "Numbers of threads", 0},
    {"size", 's', "BYTES,...", 0,
     "Block sizes; LEAST-MOST: each thread draws one of these; LEAST~MOST: draws so that every power of two "
     "is as "
     "often",
     0},
    {"free", 'f', "PERCENT,...", 0,
     "Share of the heap's slots that are free before, scattered at random; 0: mallocs that fail", 0},
    {"lanes", OPTION_LANES, "N,...", 0, "Lanes of each warp that work", 0},
    {"heap", 'm', "SIZE", 0,
     "Heap size (GPU: 8G; CPU: 256M, and at most 262144 pages; if it gets filled 256M)", 0},
    {"page", 'p', "SIZE", 0,
     "Page size, a multiple of 16 (the block size, rounded up, where a block is a page; else the "
     "allocator's)",
     0},
    {"low-free", OPTION_LOW_FREE, "PERCENT", 0,
     "Infer that less than this share is free, instead of proving that nothing is", 0},
    {"debug", OPTION_DEBUG, NULL, 0, "Heaps in debug mode", 0},
    {"steps", OPTION_STEPS, NULL, 0,
     "Also count the random probes of a thread (TAS), the most of a warp's (WAS), and a call's clock cycles",
     0},
    {"runs", OPTION_RUNS, "N", 0,
     "Timed runs of each cell (GPU: 15 to 100, CPU: 9 to 50, until the median is stable)", 0},
    {"watchdog", OPTION_WATCHDOG, "SECONDS", 0, "End a cell that takes longer (30; with --free 120)", 0},
    {"csv", OPTION_CSV, "FILE", OPTION_ARG_OPTIONAL,
     "Write one line for each result to FILE, or, without FILE, to standard output instead of the table", 0},
    {"json", OPTION_JSON, "FILE", OPTION_ARG_OPTIONAL, "Write the same as JSON", 0},
    {"report", OPTION_REPORT, "DIR", 0,
     "Write DIR/index.html, drawings of the results, and DIR/results.csv (needs Python 3 with matplotlib)",
     0},
    {"quick", OPTION_QUICK, NULL, 0, "Fewer threads, sizes and runs", 0},
    {"compare", OPTION_COMPARE, NULL, 0, "Show the ratios of two CSV files, A and B, and measure nothing", 1},
    {"tolerance", OPTION_TOLERANCE, "PERCENT", 0, "Exit with 1 if B is worse than A by more than this (10)",
     1},
    {NULL, 0, NULL, 0, NULL, 0},
};

int bench_parse_sizes(struct sizes *sizes, char *text)
{
    sizes->bytes.count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        uint64_t bytes, least = 0;
        const int octaves = strchr(item, '~') != NULL;
        char *first = strpbrk(item, "-~") ? strsep(&item, "-~") : NULL;
        const char *dash = !first ? "" : octaves ? "~" : "-";
        const uint64_t most = octaves ? UINT32_MAX : MAX_BENCH_BYTES;
        if (first && tool_parse_range(&least, "size", first, 1, most) != 0)
            return TOOL_REFUSED;
        if (tool_parse_range(&bytes, "size", item, first ? least : 1, most) != 0)
            return TOOL_REFUSED;
        for (unsigned i = 0; i < sizes->bytes.count; i++) {
            if (sizes->bytes.values[i] == bytes && sizes->least[i] == least && sizes->octaves[i] == octaves)
                return tool_refuse("--size: '%s%s%s' is there twice", first ? first : "", dash, item);
        }
        if (lists_add(&sizes->bytes, bytes) != 0)
            return tool_refuse("--size: more than %d values", MAX_LIST);
        sizes->least[sizes->bytes.count - 1] = least;
        sizes->octaves[sizes->bytes.count - 1] = octaves;
    }
    return 0;
}

static error_t parse_tests(struct bench *bench, char *text)
{
    bench->tests.count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        const struct bench_test *test = bench_test_find(item);
        if (!test)
            return tool_refuse("--test: no test '%s'; `quarry bench --help` lists them", item);
        if (lists_put(&bench->tests, "test", (uint64_t)(test - bench_tests), item) != 0)
            return TOOL_REFUSED;
    }
    return 0;
}

static error_t parse_file(const char **path, const char *option, const char *text)
{
    if (text && !*text)
        return tool_refuse("--%s=: name a file", option);
    *path = text ? text : "";
    return 0;
}

static error_t parse_percent(double *share, const char *option, const char *text)
{
    uint64_t thousandths;
    if (tool_parse_share(text, &thousandths) != 0)
        return tool_refuse("--%s: '%s' is no percentage from 0 to 100 with at most three decimals", option,
                           text);
    *share = (double)thousandths / (double)TOOL_WHOLE;
    return 0;
}

/* What does not go together. */
static error_t finish_options(const struct bench *bench)
{
    const struct policy_options *policies = &bench->policies;
    if (bench->compare && bench->argument_count != 2)
        return tool_refuse("--compare: give two CSV files, A and B");
    if (!bench->compare && bench->argument_count)
        return tool_refuse("bench takes no argument, but got '%s'", bench->arguments[0]);
    if (!bench->compare && bench->tolerance >= 0)
        return tool_refuse("--tolerance is one of --compare");
    if (bench->compare && (bench->measures || policies->alignment || policies->distribution ||
                           policies->oom || bench->set.text))
        return tool_refuse(
            "--compare measures nothing: --tolerance alone goes with it; `quarry report` draws files");
    if (bench->csv && bench->json && *bench->csv && strcmp(bench->csv, bench->json) == 0)
        return tool_refuse("--csv and --json can't both be '%s'", bench->csv);
    if (bench->csv && bench->json && !*bench->csv && !*bench->json)
        return tool_refuse("--csv and --json can't both be on standard output: name a file");
    if (bench->full && (bench->quick || bench->tests.count))
        return tool_refuse("--full is all tests: it takes neither --quick nor --test");
    return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct bench *bench = state->input;
    uint64_t number;

    bench->measures |=
        key > ARGP_KEY_ARG && key <= OPTION_REPORT && key != OPTION_COMPARE && key != OPTION_TOLERANCE;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &bench->policies;
        state->child_inputs[1] = &bench->set;
        return 0;
    case 'b':
        return options_parse_backend(&bench->backend, text);
    case 'a':
        return lists_parse_allocators(&bench->allocators, text);
    case 't':
        return lists_parse(&bench->axes.threads, "threads", text, 1, BENCH_MOST_THREADS);
    case 's':
        return bench_parse_sizes(&bench->axes.sizes, text);
    case 'f':
        return lists_parse_shares(&bench->axes.free_shares, "free", text);
    case OPTION_LANES:
        return lists_parse(&bench->axes.lanes, "lanes", text, 1, SIMT_LANES);
    case OPTION_LOW_FREE:
        if (tool_parse_share(text, &number) != 0 || number == 0 || number == TOOL_WHOLE)
            return tool_refuse(
                "--low-free: '%s' is no percentage between 0 and 100 with at most three decimals", text);
        bench->low_free = (double)number / (double)TOOL_WHOLE;
        return 0;
    case OPTION_DEBUG:
        bench->debug = 1;
        return 0;
    case OPTION_STEPS:
        bench->steps = 1;
        return 0;
    case 'm':
        if (tool_parse_bytes(text, &bench->heap_bytes) == 0 && bench->heap_bytes > 0)
            return 0;
        return tool_refuse("--heap: '%s' is no size like 512M or 8G", text);
    case 'p':
        if (tool_parse_bytes(text, &bench->page_bytes) == 0 && bench->page_bytes >= 16 &&
            bench->page_bytes <= (1u << 20) && bench->page_bytes % 16 == 0)
            return 0;
        return tool_refuse("--page: '%s' is no multiple of 16 from 16 to 1M", text);
    case OPTION_RUNS:
        if (tool_parse_range(&number, "runs", text, 1, MAX_RUNS) != 0)
            return TOOL_REFUSED;
        bench->runs = (uint32_t)number;
        return 0;
    case OPTION_WATCHDOG:
        if (tool_parse_range(&number, "watchdog", text, 1, MAX_WATCHDOG_S) != 0)
            return TOOL_REFUSED;
        bench->watchdog_s = (double)number;
        return 0;
    case OPTION_TEST:
        return parse_tests(bench, text);
    case OPTION_FULL:
        bench->full = 1;
        return 0;
    case OPTION_CSV:
        return parse_file(&bench->csv, "csv", text);
    case OPTION_JSON:
        return parse_file(&bench->json, "json", text);
    case OPTION_REPORT:
        if (!*text)
            return tool_refuse("--report=: name a folder");
        bench->report = text;
        return 0;
    case OPTION_QUICK:
        bench->quick = 1;
        return 0;
    case OPTION_COMPARE:
        bench->compare = 1;
        return 0;
    case OPTION_TOLERANCE:
        return parse_percent(&bench->tolerance, "tolerance", text);
    case ARGP_KEY_ARG:
        if (bench->argument_count < 2)
            bench->arguments[bench->argument_count] = text;
        bench->argument_count++;
        return 0;
    case ARGP_KEY_END:
        return finish_options(bench);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&options_policies, 0, NULL, 0}, {&options_set, 0, NULL, 0}, {NULL, 0, NULL, 0}};

/* Appends the list of tests to what follows the options. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)(uintptr_t)text;
    char *whole = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&whole, &bytes);
    if (!stream)
        return (char *)(uintptr_t)text;
    fputs("Tests:\n", stream);
    for (unsigned i = 0; i < bench_test_count; i++)
        fprintf(stream, "  %-17s  %s\n", bench_tests[i].name, bench_tests[i].what);
    fprintf(stream, "\n%s", text);
    fclose(stream);
    return whole;
}

const struct argp tool_bench_argp = {
    options,
    parse_option,
    "[A.csv B.csv]",
    "Runs tests for every allocator over the axes of each test: numbers of threads, block sizes, shares of "
    "the heap that "
    "are free.  Each cell is first verified in an untimed run.  Lists are separated by commas; numbers take "
    "the suffixes "
    "K, M and G.\v"
    "Floors of the same run, with the same grids: an empty kernel, one that stores a pointer, and a bump "
    "pointer (one atomic add a warp on one counter).  A cell shows the median time in microseconds, half "
    "the distance between the quartiles in percent of it, and its ratio to the store floor.",
    children,
    filter_help,
    NULL};

int bench_options(struct bench *bench, int argc, char **argv)
{
    bench->tolerance = -1;
    return tool_options(&tool_bench_argp, argc, argv, bench);
}
