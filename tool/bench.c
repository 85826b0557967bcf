/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry bench`: malloc and free of each allocator over sizes, free percentages and numbers of threads,
 * verified, beside the floors of the same run. */
#include "tool.h"

#include "workload.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 32 };

struct list {
    uint64_t values[MAX_LIST];
    unsigned count;
};

#define MAX_BENCH_THREADS (UINT64_C(1) << 30)
#define MAX_BENCH_BYTES (UINT64_C(1) << 40)
#define MAX_RUNS 10000u
#define GPU_HEAP_BYTES (UINT64_C(8) << 30)
#define CPU_HEAP_BYTES (UINT64_C(256) << 20)
/* The CPU's default heap has no more pages than this: filling it for small free percentages is work. */
#define CPU_HEAP_PAGES (UINT64_C(1) << 18)
/* Per cell and per fill: what is slow must not hold up the rest for minutes, unless it was asked for. */
#define GPU_BUDGET_S 2.0
#define CPU_BUDGET_S 0.5
#define FILL_BUDGET_S 3.0
#define ASKED_FILL_BUDGET_S 60.0

struct bench {
    /* options; 0 or empty: not given */
    enum quarry_backend backend;
    struct list allocators; /* numbers */
    struct list threads;
    struct list sizes;
    struct list free_percents;
    uint64_t heap_bytes;
    uint64_t page_bytes;
    uint32_t word_bits;
    uint32_t runs;
    int quick;
    int csv_wanted;
    const char *csv_path; /* NULL: standard output, and no table */

    struct quarry_target target;
    struct quarry_device_info info;
    uint64_t heap_pages; /* 0: as many as heap_bytes hold */
    double fill_budget_s;
    uint32_t warmups;
    struct workload workload;
    struct workload_floor floors[MAX_LIST]; /* one for each of threads */
    FILE *table;                            /* NULL: none */
    FILE *csv;
    unsigned groups; /* allocator x size x free percentage */
    unsigned groups_done;
    int skipped; /* a cell was */
    int code;
};

/* What one pair of rows is about. */
struct group {
    const struct quarry_allocator_info *allocator;
    uint64_t bytes;
    uint32_t free_percent;
    struct quarry_heap_description heap;
    struct workload_cell cells[MAX_LIST];
    enum { CELL_SKIPPED, CELL_DONE } states[MAX_LIST];
};

/* ---- options ---- */

enum { OPTION_WORD = 256, OPTION_RUNS, OPTION_CSV, OPTION_QUICK };

static const struct argp_option options[] = {
    {"backend", 'b', "B", 0, "auto, cuda or cpu (auto: a GPU if there is one)", 0},
    {"allocator", 'a', "NAME,...", 0, "Allocators (all)", 0},
    {"threads", 't', "N,...", 0, "Numbers of threads; each allocates one block", 0},
    {"size", 's', "BYTES,...", 0, "Block sizes", 0},
    {"free", 'f', "PERCENT,...", 0,
     "Share of the heap's slots that are free before, scattered at random (100,10)", 0},
    {"heap", 'H', "SIZE", 0, "Heap size (GPU: 8G; CPU: 256M, and at most 262144 pages)", 0},
    {"page", 'p', "SIZE", 0, "Page size, a multiple of 16 (the block size, rounded up)", 0},
    {"word", OPTION_WORD, "BITS", 0, "Words of bitmap allocators: 32 or 64", 0},
    {"runs", OPTION_RUNS, "N", 0, "Timed runs of each cell (GPU: 15; CPU: 9)", 0},
    {"csv", OPTION_CSV, "FILE", OPTION_ARG_OPTIONAL,
     "Write one line for each cell to FILE, or, without FILE, to standard output instead of the table", 0},
    {"quick", OPTION_QUICK, NULL, 0, "Fewer threads, sizes and runs", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static int add_value(struct list *list, uint64_t value)
{
    if (list->count == MAX_LIST)
        return -1;
    list->values[list->count++] = value;
    return 0;
}

/* Parses a number from least to most.  Returns 0 or TOOL_REFUSED, having said why; so do the next two. */
static int parse_number(uint64_t *value, const char *option, const char *text, uint64_t least, uint64_t most)
{
    if (tool_parse_bytes(text, value) == 0 && *value >= least && *value <= most)
        return 0;
    return tool_refuse("--%s: '%s' is no number from %" PRIu64 " to %" PRIu64, option, text, least, most);
}

/* Parses "a,b,c", each from least to most, into *list. */
static int parse_list(struct list *list, const char *option, char *text, uint64_t least, uint64_t most)
{
    list->count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        uint64_t value;
        if (parse_number(&value, option, item, least, most) != 0)
            return TOOL_REFUSED;
        if (add_value(list, value) != 0)
            return tool_refuse("--%s: more than %d values", option, MAX_LIST);
    }
    return 0;
}

static int parse_allocators(struct list *list, char *text)
{
    list->count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        struct quarry_allocator_info info;
        int i = 0;
        while (quarry_allocator_describe(i, &info) == QUARRY_OK && strcmp(info.name, item) != 0)
            i++;
        if (i >= quarry_allocator_count())
            return tool_refuse("--allocator: no allocator '%s'; `quarry list` shows them", item);
        if (add_value(list, (uint64_t)i) != 0)
            return tool_refuse("--allocator: more than %d names", MAX_LIST);
    }
    return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct bench *bench = state->input;
    uint64_t number;

    switch (key) {
    case 'b':
        if (tool_parse_backend(text, &bench->backend) == 0)
            return 0;
        return tool_refuse("--backend: '%s' is not auto, cuda or cpu", text);
    case 'a':
        return parse_allocators(&bench->allocators, text);
    case 't':
        return parse_list(&bench->threads, "threads", text, 1, MAX_BENCH_THREADS);
    case 's':
        return parse_list(&bench->sizes, "size", text, 1, MAX_BENCH_BYTES);
    case 'f':
        return parse_list(&bench->free_percents, "free", text, 1, 100);
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
        if (parse_number(&number, "word", text, 32, 64) != 0)
            return TOOL_REFUSED;
        bench->word_bits = (uint32_t)number;
        if (number == 32 || number == 64)
            return 0;
        return tool_refuse("--word: %" PRIu64 " is neither 32 nor 64", number);
    case OPTION_RUNS:
        if (parse_number(&number, "runs", text, 1, MAX_RUNS) != 0)
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
    case ARGP_KEY_ARG:
        return tool_refuse("bench takes no argument, but got '%s'", text);
    case ARGP_KEY_ERROR:
        return tool_option_error(state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    NULL,
    NULL,
    NULL};

static void default_list(struct list *list, const uint64_t *values, unsigned count)
{
    if (list->count)
        return;
    for (unsigned i = 0; i < count; i++)
        add_value(list, values[i]);
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
    bench->fill_budget_s = bench->free_percents.count ? ASKED_FILL_BUDGET_S : FILL_BUDGET_S;
    if (bench->quick)
        DEFAULT_LIST(&bench->free_percents, 100);
    else
        DEFAULT_LIST(&bench->free_percents, 100, 10);
    const int all = bench->allocators.count == 0;
    for (int i = 0; all && i < quarry_allocator_count(); i++)
        add_value(&bench->allocators, (uint64_t)i);
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

/* ---- output ---- */

static void print_header(const struct bench *bench)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;
    char heap[32], page[32];

    if (!bench->table)
        return;
    fprintf(bench->table, "quarry %s, %s:%d %s, %u %s", quarry_version(), gpu ? "cuda" : "cpu",
            bench->target.device, bench->info.name, bench->info.multiprocessors,
            gpu ? "multiprocessors" : "cores");
    if (bench->info.clock_khz)
        fprintf(bench->table, ", %u MHz", bench->info.clock_khz / 1000);
    fprintf(bench->table, "\nheap %s", tool_format_bytes(bench->heap_bytes, heap));
    if (bench->heap_pages)
        fprintf(bench->table, " or %" PRIu64 " pages", bench->heap_pages);
    fprintf(bench->table, ", page %s, %u timed runs after %u\n",
            bench->page_bytes ? tool_format_bytes(bench->page_bytes, page) : "as the block", bench->runs,
            bench->warmups);
    fputs("cells: median us, half the quartiles' distance in % of it, ratio to the store floor\n\n",
          bench->table);
    fprintf(bench->table, "%-9s %-6s %7s %4s", "allocator", "op", "bytes", "free");
    for (unsigned i = 0; i < bench->threads.count; i++) {
        char title[40];
        snprintf(title, sizeof title, "%" PRIu64 " thread%s", bench->threads.values[i],
                 bench->threads.values[i] == 1 ? "" : "s");
        fprintf(bench->table, " %20s", title);
    }
    fputc('\n', bench->table);
}

static void print_cell(const struct bench *bench, const struct timing_summary *time, double store)
{
    char ratio[16];
    const double times = time->median / store;
    double spread = time->median > 0 ? 50 * (time->q3 - time->q1) / time->median : 0;
    if (spread > 99)
        spread = 99;
    snprintf(ratio, sizeof ratio, "%.*fx", times < 100 ? 1 : 0, times);
    fprintf(bench->table, " %9.1f ±%2.0f%% %6s", time->median, spread, ratio);
}

static void print_floors(const struct bench *bench)
{
    if (!bench->table)
        return;
    static const char *const names[] = {"empty", "store", "bump"};
    for (unsigned row = 0; row < 3; row++) {
        fprintf(bench->table, "%-9s %-6s %7s %4s", "(floor)", names[row], "", "");
        for (unsigned i = 0; i < bench->threads.count; i++) {
            const struct workload_floor *floor = &bench->floors[i];
            const struct timing_summary *const times[] = {&floor->empty, &floor->store, &floor->bump};
            print_cell(bench, times[row], floor->store.median);
        }
        fputc('\n', bench->table);
    }
    fflush(bench->table);
}

static void print_group(struct bench *bench, const struct group *group)
{
    if (!bench->table)
        return;
    for (int op = 0; op < 2; op++) {
        fprintf(bench->table, "%-9s %-6s %7" PRIu64 " %3u%%", group->allocator->name, op ? "free" : "malloc",
                group->bytes, group->free_percent);
        for (unsigned i = 0; i < bench->threads.count; i++) {
            const struct workload_cell *cell = &group->cells[i];
            if (group->states[i] == CELL_SKIPPED)
                fprintf(bench->table, " %20s", "-");
            else if (!cell->verified)
                fprintf(bench->table, " %20s", "FAILED");
            else
                print_cell(bench, op ? &cell->free : &cell->malloc, bench->floors[i].store.median);
        }
        fputc('\n', bench->table);
    }
    fflush(bench->table);
}

static void print_csv_header(const struct bench *bench)
{
    if (bench->csv)
        fputs("device,backend,allocator,op,threads,bytes,page,free_percent,word_bits,median_us,q1_us,q3_us,n,"
              "nulls,verified,store_floor_us,bump_us,heap_bytes\n",
              bench->csv);
}

static void print_csv_group(const struct bench *bench, const struct group *group)
{
    if (!bench->csv)
        return;
    for (unsigned i = 0; i < bench->threads.count; i++) {
        const struct workload_cell *cell = &group->cells[i];
        for (int op = 0; op < 2 && group->states[i] != CELL_SKIPPED; op++) {
            const struct timing_summary *time = op ? &cell->free : &cell->malloc;
            fputc('"', bench->csv);
            for (const char *c = bench->info.name; *c; c++)
                fprintf(bench->csv, "%s%c", *c == '"' ? "\"" : "", *c);
            fprintf(bench->csv, "\",%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,",
                    bench->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu", group->allocator->name,
                    op ? "free" : "malloc", bench->threads.values[i], group->bytes, group->heap.page_bytes,
                    group->free_percent, group->heap.word_bits);
            if (cell->verified)
                fprintf(bench->csv, "%.3f,%.3f,%.3f,", time->median, time->q1, time->q3);
            else
                fputs(",,,", bench->csv);
            fprintf(bench->csv, "%u,%" PRIu64 ",%d,%.3f,%.3f,%" PRIu64 "\n", time->n, cell->nulls,
                    cell->verified, bench->floors[i].store.median, bench->floors[i].bump.median,
                    group->heap.pool_bytes);
        }
    }
    fflush(bench->csv);
}

/* ---- work ---- */

/* A failure after which nothing on the target can be trusted. */
static int broken(struct bench *bench, enum quarry_status status, const char *what)
{
    const char *detail = quarry_error_detail();
    bench->code = tool_error(TOOL_FAILED, "%s: %s", what, *detail ? detail : quarry_status_string(status));
    return -1;
}

static struct bench *progress_bench;

static void show_progress(double share_of_group)
{
    const struct bench *bench = progress_bench;
    tool_progress("bench", (bench->groups_done + share_of_group) / bench->groups);
}

/* Measures one group on a heap that exists.  Returns 0, or -1 after broken(). */
static int run_group(struct bench *bench, quarry_heap *heap, struct group *group)
{
    const uint32_t alignment = group->bytes <= 8 ? 8 : group->allocator->alignment;
    const double fill_share = group->free_percent < 100 ? 0.5 : 0;
    int must_fill = 1;
    uint64_t slots = 0;
    char name[96];

    snprintf(name, sizeof name, "%s, %" PRIu64 " bytes, %u %% free", group->allocator->name, group->bytes,
             group->free_percent);
    for (unsigned i = 0; i < bench->threads.count; i++) {
        const uint64_t threads = bench->threads.values[i];
        enum quarry_status status = QUARRY_OK;
        if (must_fill) {
            int gave_up = 0;
            status = workload_fill(&bench->workload, heap, group->bytes, group->free_percent,
                                   bench->fill_budget_s, show_progress, &gave_up);
            if (status == QUARRY_ERROR_MEMORY || gave_up) {
                tool_error(0, "skipped %s: %s; try a smaller --heap", name,
                           gave_up ? "filling the heap takes too long" : "no memory to fill the heap");
                return 0;
            }
            if (status == QUARRY_OK)
                status = quarry_heap_slots(heap, group->bytes, &slots);
            if (status != QUARRY_OK)
                return broken(bench, status, name);
            must_fill = 0;
        }
        show_progress(fill_share + (1 - fill_share) * i / bench->threads.count);
        if (threads > slots) {
            bench->skipped = 1;
            continue;
        }
        struct workload_cell *cell = &group->cells[i];
        status = workload_measure(&bench->workload, heap, group->bytes, (uint32_t)threads, alignment, cell);
        if (status != QUARRY_OK)
            return broken(bench, status, name);
        group->states[i] = CELL_DONE;
        if (!cell->verified) {
            bench->code = tool_error(TOOL_FAILED, "%s, %" PRIu64 " threads: %s", name, threads, cell->fault);
            must_fill = 1;
        }
    }
    return 0;
}

/* All free percentages of one allocator and size, on one heap. */
static int run_heap(struct bench *bench, const struct quarry_allocator_info *allocator, uint64_t bytes)
{
    struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = NULL;
    struct group group;
    int result = 0;

    uint64_t page = bench->page_bytes ? bench->page_bytes : (bytes + 15) / 16 * 16;
    if (!bench->page_bytes && page < allocator->min_page_bytes)
        page = allocator->min_page_bytes;
    if (!bench->page_bytes && page > allocator->max_page_bytes)
        page = allocator->max_page_bytes;
    create.target = bench->target;
    create.allocator = allocator->name;
    create.page_bytes = page;
    create.word_bits = bench->word_bits;
    if (bench->heap_pages && bench->heap_bytes / page > bench->heap_pages)
        create.pages = bench->heap_pages;
    else
        create.pool_bytes = bench->heap_bytes;

    enum quarry_status status = quarry_heap_create(&heap, &create);
    if (status != QUARRY_OK && status != QUARRY_ERROR_POOL)
        return broken(bench, status, "can't create the heap");
    for (unsigned i = 0; i < bench->free_percents.count && result == 0; i++) {
        memset(&group, 0, sizeof group);
        group.allocator = allocator;
        group.bytes = bytes;
        group.free_percent = (uint32_t)bench->free_percents.values[i];
        if (heap)
            status = quarry_heap_describe(heap, &group.heap);
        if (heap && status != QUARRY_OK)
            result = broken(bench, status, "can't describe the heap");
        else if (heap && bytes <= group.heap.max_block_bytes)
            result = run_group(bench, heap, &group);
        else
            bench->skipped = 1;
        bench->groups_done++;
        tool_progress_end();
        print_group(bench, &group);
        print_csv_group(bench, &group);
    }
    status = quarry_heap_destroy(heap);
    if (status != QUARRY_OK && result == 0)
        result = broken(bench, status, "can't destroy the heap");
    return result;
}

enum { RATE_LANES = 1 << 20, RATE_PAGES = 1 << 20, RATE_PAGE_BYTES = 64, RATE_MALLOCS = 1 << 18 };

/* What the CPU backend itself can do: launches of lanes with nothing to do, and page allocations of rw in
 * a heap of which they take a quarter. */
static int print_rates(struct bench *bench)
{
    struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = NULL;
    struct workload_floor floor;
    struct workload_cell cell;

    enum quarry_status status = workload_floor(&bench->workload, RATE_LANES, 16, &floor);
    if (status != QUARRY_OK)
        return broken(bench, status, "trivial launch");
    fprintf(bench->table, "\ntrivial lane launches %.2f M/s (%d lanes)\n", RATE_LANES / floor.empty.median,
            RATE_LANES);

    create.target = bench->target;
    create.allocator = "rw";
    create.pages = RATE_PAGES;
    create.page_bytes = RATE_PAGE_BYTES;
    status = quarry_heap_create(&heap, &create);
    if (status == QUARRY_ERROR_ALLOCATOR)
        return 0;
    if (status == QUARRY_OK)
        status = workload_measure(&bench->workload, heap, RATE_PAGE_BYTES, RATE_MALLOCS, 16, &cell);
    int result = 0;
    if (status != QUARRY_OK) {
        result = broken(bench, status, "rw page allocations");
    } else if (!cell.verified) {
        bench->code = tool_error(TOOL_FAILED, "rw page allocations: %s", cell.fault);
    } else {
        fprintf(bench->table, "rw page allocations %.2f M/s, frees %.2f M/s (%d lanes, %d pages)\n",
                RATE_MALLOCS / cell.malloc.median, RATE_MALLOCS / cell.free.median, RATE_MALLOCS, RATE_PAGES);
    }
    quarry_heap_destroy(heap);
    return result;
}

static int run_all(struct bench *bench)
{
    for (unsigned i = 0; i < bench->threads.count; i++) {
        enum quarry_status status =
            workload_floor(&bench->workload, (uint32_t)bench->threads.values[i], 16, &bench->floors[i]);
        if (status != QUARRY_OK)
            return broken(bench, status, "floors");
    }
    print_header(bench);
    print_floors(bench);
    print_csv_header(bench);
    for (unsigned a = 0; a < bench->allocators.count; a++) {
        struct quarry_allocator_info allocator;
        enum quarry_status status = quarry_allocator_describe((int)bench->allocators.values[a], &allocator);
        if (status != QUARRY_OK)
            return broken(bench, status, "allocator");
        for (unsigned s = 0; s < bench->sizes.count; s++) {
            if (run_heap(bench, &allocator, bench->sizes.values[s]) != 0)
                return -1;
        }
    }
    if (bench->table && bench->skipped)
        fputs("\n-: skipped; fewer free slots than threads, or blocks larger than a page\n", bench->table);
    if (bench->table && bench->target.backend == QUARRY_BACKEND_CPU)
        return print_rates(bench);
    return 0;
}

static uint32_t most_threads(const struct bench *bench)
{
    uint64_t most = RATE_LANES;
    for (unsigned i = 0; i < bench->threads.count; i++) {
        if (bench->threads.values[i] > most)
            most = bench->threads.values[i];
    }
    return (uint32_t)most;
}

static int open_output(struct bench *bench)
{
    bench->table = bench->csv_wanted && !bench->csv_path ? NULL : stdout;
    if (bench->csv_wanted)
        bench->csv = bench->csv_path ? fopen(bench->csv_path, "w") : stdout;
    if (bench->csv_wanted && !bench->csv)
        return tool_error(TOOL_FAILED, "%s: can't write: %s", bench->csv_path, strerror(errno));
    return TOOL_OK;
}

static void close_output(struct bench *bench)
{
    if (bench->csv && bench->csv != stdout) {
        const int failed = ferror(bench->csv);
        if (fclose(bench->csv) != 0 || failed)
            bench->code = tool_error(TOOL_FAILED, "%s: can't write", bench->csv_path);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        bench->code = tool_error(TOOL_FAILED, "can't write to standard output");
}

int tool_bench(int argc, char **argv)
{
    static struct bench bench; /* large, and one is enough */
    char name[] = "quarry bench";

    argv[0] = name;
    int code = tool_options(&argp, argc, argv, &bench);
    if (code == TOOL_OK)
        code = tool_target(bench.backend, &bench.target);
    if (code != TOOL_OK)
        return code;
    if (quarry_device_describe(&bench.target, &bench.info) != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    set_defaults(&bench);
    bench.groups = bench.allocators.count * bench.sizes.count * bench.free_percents.count;
    progress_bench = &bench;
    code = open_output(&bench);
    if (code != TOOL_OK)
        return code;

    enum quarry_status status =
        workload_open(&bench.workload, &bench.target, most_threads(&bench), bench.warmups, bench.runs,
                      bench.target.backend == QUARRY_BACKEND_CUDA ? GPU_BUDGET_S : CPU_BUDGET_S);
    if (status != QUARRY_OK) {
        broken(&bench, status, "can't prepare");
    } else {
        run_all(&bench);
        workload_close(&bench.workload);
    }
    tool_progress_end();
    close_output(&bench);
    return bench.code;
}
