/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `quarry bench`. */
#include "bench.h"

#include <argp.h>
#include <inttypes.h>
#include <string.h>

#define MAX_BENCH_THREADS (UINT64_C(1) << 30)
#define MAX_BENCH_BYTES (UINT64_C(1) << 40)
#define MAX_RUNS 10000u
#define GPU_HEAP_BYTES (UINT64_C(8) << 30)
#define CPU_HEAP_BYTES (UINT64_C(256) << 20)
/* The CPU's default heap has no more pages than this: filling it for small free percentages is work. */
#define CPU_HEAP_PAGES (UINT64_C(1) << 18)
/* Per fill: what is slow must not hold up the rest for minutes, unless it was asked for. */
#define FILL_BUDGET_S 3.0
#define ASKED_FILL_BUDGET_S 60.0

enum {
    OPTION_WORD = 256,
    OPTION_RUNS,
    OPTION_CSV,
    OPTION_QUICK,
    OPTION_LANES,
    OPTION_PROBE_LANES,
    OPTION_LOW_FREE,
    OPTION_STEPS,
    OPTION_AT_ONCE,
    OPTION_FILL,
    OPTION_DEBUG
};

static const struct argp_option options[] = {
    {"backend", 'b', "B", 0, "auto, cuda or cpu (auto: a GPU if there is one)", 0},
    {"allocator", 'a', "NAME,...", 0, "Allocators (all)", 0},
    {"threads", 't', "N,...", 0, "Numbers of threads; each allocates one block", 0},
    {"size", 's', "BYTES,...", 0, "Block sizes; LEAST-MOST: each thread draws one of these", 0},
    {"free", 'f', "PERCENT,...", 0,
     "Share of the heap's slots that are free before, scattered at random (100,10); 0: mallocs that fail", 0},
    {"lanes", OPTION_LANES, "N,...", 0, "Lanes of each warp that allocate (32)", 0},
    {"heap", 'H', "SIZE", 0, "Heap size (GPU: 8G; CPU: 256M, and at most 262144 pages)", 0},
    {"page", 'p', "SIZE", 0, "Page size, a multiple of 16 (the block size, rounded up)", 0},
    {"word", OPTION_WORD, "BITS", 0, "Words of bitmap allocators: 32 or 64", 0},
    {"probe-lanes", OPTION_PROBE_LANES, "N", 0, "Lanes of a warp that probe (corw)", 0},
    {"low-free", OPTION_LOW_FREE, "PERCENT", 0,
     "Infer that less than this share is free, instead of proving that nothing is", 0},
    {"debug", OPTION_DEBUG, NULL, 0, "Heaps in debug mode", 0},
    {"steps", OPTION_STEPS, NULL, 0,
     "Also count the random probes of a thread (TAS), the most of a warp's (WAS), and a call's clock cycles",
     0},
    {"at-once", OPTION_AT_ONCE, NULL, 0, "Time one kernel, in which each thread frees its block at once", 0},
    {"fill", OPTION_FILL, NULL, 0,
     "Instead of timing let each thread allocate until it gets NULL, and show what share of the heap's bytes "
     "was asked for, and the blocks",
     0},
    {"runs", OPTION_RUNS, "N", 0, "Timed runs of each cell (GPU: 15; CPU: 9)", 0},
    {"csv", OPTION_CSV, "FILE", OPTION_ARG_OPTIONAL,
     "Write one line for each cell to FILE, or, without FILE, to standard output instead of the table", 0},
    {"quick", OPTION_QUICK, NULL, 0, "Fewer threads, sizes and runs", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Numbers and ranges. */
static error_t parse_sizes(struct bench *bench, char *text)
{
    bench->sizes.count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        uint64_t bytes, least = 0;
        char *first = strchr(item, '-') ? strsep(&item, "-") : NULL;
        if (first && tool_parse_range(&least, "size", first, 1, MAX_BENCH_BYTES) != 0)
            return TOOL_REFUSED;
        if (tool_parse_range(&bytes, "size", item, first ? least : 1, MAX_BENCH_BYTES) != 0)
            return TOOL_REFUSED;
        if (lists_add(&bench->sizes, bytes) != 0)
            return tool_refuse("--size: more than %d values", MAX_LIST);
        bench->least[bench->sizes.count - 1] = least;
    }
    return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct bench *bench = state->input;
    uint64_t number;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &bench->policies;
        return 0;
    case 'b':
        if (tool_parse_backend(text, &bench->backend) == 0)
            return 0;
        return tool_refuse("--backend: '%s' is not auto, cuda or cpu", text);
    case 'a':
        return lists_parse_allocators(&bench->allocators, text);
    case 't':
        return lists_parse(&bench->threads, "threads", text, 1, MAX_BENCH_THREADS);
    case 's':
        return parse_sizes(bench, text);
    case 'f':
        return lists_parse_shares(&bench->free_shares, "free", text);
    case OPTION_LANES:
        return lists_parse(&bench->lanes, "lanes", text, 1, SIMT_LANES);
    case OPTION_PROBE_LANES:
        if (tool_parse_range(&number, "probe-lanes", text, 1, SIMT_LANES) != 0)
            return TOOL_REFUSED;
        bench->probe_lanes = (uint32_t)number;
        return 0;
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
    case OPTION_AT_ONCE:
        bench->at_once = 1;
        return 0;
    case OPTION_FILL:
        bench->fill = 1;
        return 0;
    case 'H':
        if (tool_parse_bytes(text, &bench->heap_bytes) == 0 && bench->heap_bytes > 0)
            return 0;
        return tool_refuse("--heap: '%s' is no size like 512M or 8G", text);
    case 'p':
        if (tool_parse_bytes(text, &bench->page_bytes) == 0 && bench->page_bytes >= 16 &&
            bench->page_bytes <= (1u << 20) && bench->page_bytes % 16 == 0)
            return 0;
        return tool_refuse("--page: '%s' is no multiple of 16 from 16 to 1M", text);
    case OPTION_WORD:
        if (tool_parse_range(&number, "word", text, 32, 64) != 0)
            return TOOL_REFUSED;
        bench->word_bits = (uint32_t)number;
        if (number == 32 || number == 64)
            return 0;
        return tool_refuse("--word: %" PRIu64 " is neither 32 nor 64", number);
    case OPTION_RUNS:
        if (tool_parse_range(&number, "runs", text, 1, MAX_RUNS) != 0)
            return TOOL_REFUSED;
        bench->runs = (uint32_t)number;
        return 0;
    case OPTION_CSV:
        bench->csv_wanted = 1;
        bench->csv_path = text;
        return 0;
    case OPTION_QUICK:
        bench->quick = 1;
        return 0;
    case ARGP_KEY_END:
        if (bench->at_once && bench->steps)
            return tool_refuse("--at-once counts no --steps");
        if (bench->fill &&
            (bench->at_once || bench->steps || bench->free_shares.count || bench->policies.oom))
            return tool_refuse("--fill takes none of --free, --at-once, --steps and --oom");
        return 0;
    case ARGP_KEY_ARG:
        return tool_refuse("bench takes no argument, but got '%s'", text);
    case ARGP_KEY_ERROR:
        return tool_option_error(state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&options_policies, 0, NULL, 0}, {NULL, 0, NULL, 0}};

static const struct argp argp = {
    options,
    parse_option,
    NULL,
    "Times a kernel in which every thread allocates one block, and one that frees them, for every "
    "allocator, size, free percentage and number of threads.  Each cell is first verified in an untimed "
    "run.  Lists are separated by commas; numbers take the suffixes K, M and G.\v"
    "Floors of the same run, with the same grids: an empty kernel, one that stores a pointer, and a bump "
    "pointer (one atomic add a warp on one counter).  A cell shows the median time in microseconds, half "
    "the distance between the quartiles in percent of it, and its ratio to the store floor.",
    children,
    NULL,
    NULL};

static void default_list(struct list *list, const uint64_t *values, unsigned count)
{
    if (list->count)
        return;
    for (unsigned i = 0; i < count; i++)
        lists_add(list, values[i]);
}
#define DEFAULT_LIST(list, ...)                                                                              \
    default_list(list, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void set_defaults(struct bench *bench)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;

    if (gpu && bench->quick) {
        DEFAULT_LIST(&bench->threads, 1024, 131072);
        DEFAULT_LIST(&bench->sizes, 16, 1024);
    } else if (gpu) {
        DEFAULT_LIST(&bench->threads, 1, 1024, 16384, 131072, 1048576);
        DEFAULT_LIST(&bench->sizes, 16, 64, 256, 1024, 4096, 8192);
    } else if (bench->quick) {
        DEFAULT_LIST(&bench->threads, 256, 4096);
        DEFAULT_LIST(&bench->sizes, 16, 1024);
    } else {
        DEFAULT_LIST(&bench->threads, 1024, 16384, 131072);
        DEFAULT_LIST(&bench->sizes, 16, 256, 4096);
    }
    bench->fill_budget_s = bench->free_shares.count ? ASKED_FILL_BUDGET_S : FILL_BUDGET_S;
    if (bench->quick || bench->fill)
        DEFAULT_LIST(&bench->free_shares, TOOL_WHOLE);
    else
        DEFAULT_LIST(&bench->free_shares, TOOL_WHOLE, TOOL_WHOLE / 10);
    DEFAULT_LIST(&bench->lanes, SIMT_LANES);
    const int all = bench->allocators.count == 0;
    for (int i = 0; all && i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info; /* the platform's own is measured if it is asked for: it is slow */
        if (quarry_allocator_describe(i, &info) == QUARRY_OK && info.counts_slots)
            lists_add(&bench->allocators, (uint64_t)i);
    }
    if (!bench->runs)
        bench->runs = bench->quick ? 5 : gpu ? 15 : 9;
    bench->warmups = gpu ? 3 : 1;
    if (!bench->heap_bytes) {
        bench->heap_bytes = gpu ? GPU_HEAP_BYTES : CPU_HEAP_BYTES;
        if (bench->heap_bytes > bench->info.heap_bytes)
            bench->heap_bytes = bench->info.heap_bytes;
        bench->heap_pages = gpu ? 0 : CPU_HEAP_PAGES;
    }
}

int bench_options(struct bench *bench, int argc, char **argv)
{
    int code = tool_options(&argp, argc, argv, bench);
    if (code == TOOL_OK)
        code = tool_target(bench->backend, &bench->target);
    if (code != TOOL_OK)
        return code;
    if (quarry_device_describe(&bench->target, &bench->info) != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    set_defaults(bench);
    return TOOL_OK;
}
