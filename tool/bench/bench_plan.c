/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults, and the cells of `quarry bench`. */
#include "bench/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GPU_HEAP_BYTES (UINT64_C(8) << 30)
#define CPU_HEAP_BYTES (UINT64_C(256) << 20)
/* The CPU's default heap has no more pages than this: filling it for small free percentages is work. */
#define CPU_HEAP_PAGES (UINT64_C(1) << 18)
/* A heap that gets filled is a small one on the CPU. */
#define CPU_FILL_SHARE 16u
/* Per fill: what is slow must not hold up the rest for minutes, unless it was asked for. */
#define FILL_BUDGET_S 3.0
#define ASKED_FILL_BUDGET_S 60.0
#define WATCHDOG_S 30.0
#define ASKED_FILL_WATCHDOG_S 120.0
/* The fewest of which a median can be stable (statistics.h). */
#define QUICK_RUNS 8
/* Per cell. */
#define GPU_BUDGET_S 1.0
#define CPU_BUDGET_S 0.5

/* ---- defaults ---- */

static void set_rule(struct bench *bench)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;
    struct timing_rule *rule = &bench->rule;
    rule->warmups = gpu ? 3 : 1;
    rule->budget_s = gpu ? GPU_BUDGET_S : CPU_BUDGET_S;
    rule->least = bench->runs ? bench->runs : bench->quick ? QUICK_RUNS : gpu ? 15 : 9;
    rule->most = bench->runs || bench->quick ? rule->least : gpu ? 100 : 50;
}

static void set_defaults(struct bench *bench)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;
    const int filled = bench->axes.free_shares.count != 0;

    set_rule(bench);
    bench->fill_budget_s = filled ? ASKED_FILL_BUDGET_S : FILL_BUDGET_S;
    if (bench->watchdog_s <= 0)
        bench->watchdog_s = filled ? ASKED_FILL_WATCHDOG_S : WATCHDOG_S;
    const int all = bench->allocators.count == 0;
    bench->shows_rates = all && gpu == 0;
    for (int i = 0; all && i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info; /* the platform's own is measured if it is asked for: it is slow */
        if (quarry_allocator_describe(i, &info) == QUARRY_OK && info.counts_slots)
            lists_add(&bench->allocators, (uint64_t)i);
    }
    const int any = bench->tests.count == 0;
    for (unsigned i = 0; any && i < bench_test_count; i++) {
        if (bench->full || !bench_tests[i].not_by_default)
            lists_add(&bench->tests, i);
    }
    bench->heap_given = bench->heap_bytes != 0;
    if (!bench->heap_given) {
        bench->heap_bytes = gpu ? GPU_HEAP_BYTES : CPU_HEAP_BYTES;
        if (bench->heap_bytes > bench->info.heap_bytes)
            bench->heap_bytes = bench->info.heap_bytes;
        bench->heap_pages = gpu ? 0 : CPU_HEAP_PAGES;
    }
}

/* ---- axes ---- */

/* Fewer lanes than all are for steps in which each thread has its own place. */
static int takes_lanes(const struct bench_test *test)
{
    for (unsigned i = 0; i < BENCH_MAX_STEPS; i++) {
        switch (test->steps[i].action) {
        case ACTION_SHUFFLE:
        case ACTION_EXCHANGE:
        case ACTION_PREFIX_SUM:
        case ACTION_PACK:
            return 0;
        default:
            break;
        }
    }
    return test->kind != BENCH_REGISTERS && test->kind != BENCH_INIT;
}

enum { AXIS_THREADS, AXIS_SIZES, AXIS_FREE, AXIS_LANES, AXES };

/* Whether a test takes values of --threads, --size, --free or --lanes. */
static int takes_axis(const struct bench_test *test, unsigned axis)
{
    const int is_full = test->free && strcmp(test->free, "0") == 0;
    if (test->kind == BENCH_REGISTERS)
        return 0;
    switch (axis) {
    case AXIS_THREADS:
        return test->kind != BENCH_INIT && !test->exhausts;
    case AXIS_FREE:
        return !workload_resets(test) && !is_full && !test->exhausts;
    case AXIS_LANES:
        return takes_lanes(test);
    default:
        return 1;
    }
}

/* The test's own axes, but for those that were given and that it takes. */
static int make_axes(const struct bench *bench, const struct bench_test *test, struct axes *axes)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;
    const enum bench_scale scale = bench->quick  ? BENCH_QUICK
                                   : !gpu        ? BENCH_CPU
                                   : bench->full ? BENCH_FULL
                                                 : BENCH_GPU;
    char text[256];
    int error = 0;

    memset(axes, 0, sizeof *axes);
    if (bench->axes.threads.count && takes_axis(test, AXIS_THREADS)) {
        axes->threads = bench->axes.threads;
    } else {
        snprintf(text, sizeof text, "%s", test->threads[scale]);
        error |= lists_parse(&axes->threads, "threads", text, 1, UINT32_MAX);
    }
    if (bench->axes.sizes.bytes.count && takes_axis(test, AXIS_SIZES)) {
        axes->sizes = bench->axes.sizes;
    } else {
        snprintf(text, sizeof text, "%s", test->sizes[scale]);
        error |= bench_parse_sizes(&axes->sizes, text);
    }
    if (bench->axes.free_shares.count && takes_axis(test, AXIS_FREE)) {
        axes->free_shares = bench->axes.free_shares;
    } else {
        snprintf(text, sizeof text, "%s", test->free ? test->free : "100");
        error |= lists_parse_shares(&axes->free_shares, "free", text);
    }
    if (bench->axes.lanes.count && takes_axis(test, AXIS_LANES)) {
        axes->lanes = bench->axes.lanes;
    } else {
        snprintf(text, sizeof text, "%s", test->lanes ? test->lanes : "32");
        error |= lists_parse(&axes->lanes, "lanes", text, 1, SIMT_LANES);
    }
    return error;
}

/* An option that no test or no allocator obeys.  Returns TOOL_OK, or TOOL_USAGE with the sentence printed. */
static int check_ignored(const struct bench *bench)
{
    static const char *const names[AXES] = {"threads", "size", "free", "lanes"};
    const unsigned given[AXES] = {bench->axes.threads.count, bench->axes.sizes.bytes.count,
                                  bench->axes.free_shares.count, bench->axes.lanes.count};
    int taken[AXES] = {0}, timed = 0, infers = 0, pages = bench->policies.distribution;
    for (unsigned t = 0; t < bench->tests.count; t++) {
        const struct bench_test *test = &bench_tests[bench->tests.values[t]];
        timed |= test->kind == BENCH_TIMED;
        for (unsigned axis = 0; axis < AXES; axis++)
            taken[axis] |= takes_axis(test, axis);
    }
    for (unsigned a = 0; a < bench->allocators.count; a++) {
        struct quarry_allocator_info info;
        if (quarry_allocator_describe((int)bench->allocators.values[a], &info) != QUARRY_OK)
            continue;
        infers |= info.infers_full;
        pages |= info.counts_slots;
    }
    for (unsigned axis = 0; axis < AXES; axis++)
        if (given[axis] && !taken[axis])
            return tool_error(TOOL_USAGE, "--%s: none of these tests takes it", names[axis]);
    if (bench->steps && !timed)
        return tool_error(TOOL_USAGE, "--steps: none of these tests counts steps");
    if (bench->low_free > 0 && !infers)
        return tool_error(TOOL_USAGE, "--low-free: none of these allocators infers that the heap is full");
    if (bench->page_bytes && !pages)
        return tool_error(TOOL_USAGE, "--page: none of these allocators has pages");
    return TOOL_OK;
}

/* ---- cells ---- */

/* The page size for blocks of so many bytes; 0: the allocator's default. */
static uint64_t page_for(const struct bench *bench, const struct quarry_allocator_info *allocator,
                         uint64_t bytes)
{
    const uint64_t least =
        bench->policies.alignment > QUARRY_MIN_PAGE_BYTES ? bench->policies.alignment : QUARRY_MIN_PAGE_BYTES;
    const uint64_t added = bench->debug ? QUARRY_DEBUG_PAGE_BYTES
                           : bench->policies.distribution == QUARRY_DISTRIBUTION_WARP ? least
                                                                                      : 0;
    const uint64_t most = QUARRY_MAX_PAGE_BYTES - added;
    uint64_t page = (bytes + least - 1) / least * least;
    if (bench->page_bytes || !allocator->whole_pages)
        return bench->page_bytes;
    return page > most ? most : page;
}

static uint64_t heap_for(const struct bench *bench, const struct bench_test *test)
{
    uint64_t most = (uint64_t)test->heap_mib << 20;
    if (bench->target.backend == QUARRY_BACKEND_CPU)
        most /= CPU_FILL_SHARE;
    return most && !bench->heap_given && most < bench->heap_bytes ? most : bench->heap_bytes;
}

/* Whether there is anything to measure: the platform's allocator can't be filled, emptied or reset, a malloc
 * that traps for want of space returns no NULL, and there is nothing to free after mallocs that failed. */
static int has_results(const struct bench *bench, const struct cell *cell)
{
    const struct bench_test *test = cell->test;
    int mallocs = 0;
    for (unsigned i = 0; i < BENCH_MAX_STEPS; i++)
        mallocs |= test->steps[i].action == ACTION_MALLOC && test->steps[i].op;
    if (!cell->allocator.counts_slots && (workload_resets(test) || cell->free_share < TOOL_WHOLE))
        return 0;
    if (bench->policies.oom == QUARRY_OOM_TRAP &&
        (test->kind == BENCH_FILL || test->kind == BENCH_GROW || test->exhausts || !cell->free_share))
        return 0;
    return cell->free_share || mallocs;
}

static int add_floor(struct bench *bench, uint64_t threads)
{
    for (unsigned i = 0; i < bench->floor_threads.count; i++) {
        if (bench->floor_threads.values[i] == threads)
            return TOOL_OK;
    }
    if (lists_add(&bench->floor_threads, threads) != 0)
        return tool_error(TOOL_USAGE, "--threads: more than %d different numbers in all tests", MAX_LIST);
    return TOOL_OK;
}

static int add_cells(struct bench *bench, const struct bench_test *test, const struct axes *axes,
                     const struct cell *common)
{
    const unsigned count =
        axes->sizes.bytes.count * axes->free_shares.count * axes->lanes.count * axes->threads.count;
    struct cell *cells = realloc(bench->cells, (bench->cell_count + count) * sizeof *cells);
    if (!cells)
        return tool_error(TOOL_FAILED, "no memory for %u cells", bench->cell_count + count);
    bench->cells = cells;
    for (unsigned i = 0; i < count; i++) {
        struct cell cell = *common;
        unsigned rest = i;
        cell.threads = (uint32_t)axes->threads.values[rest % axes->threads.count];
        rest /= axes->threads.count;
        cell.lanes = (uint32_t)axes->lanes.values[rest % axes->lanes.count];
        rest /= axes->lanes.count;
        cell.free_share = axes->free_shares.values[rest % axes->free_shares.count];
        rest /= axes->free_shares.count;
        cell.bytes = axes->sizes.bytes.values[rest];
        cell.least = axes->sizes.least[rest];
        cell.octaves = axes->sizes.octaves[rest];
        cell.heap_bytes = heap_for(bench, test);
        cell.page_bytes = page_for(bench, &cell.allocator, cell.bytes);
        const uint64_t blocks = test->exhausts ? cell.heap_bytes / cell.bytes : 0;
        if (blocks > BENCH_MOST_THREADS && bench->axes.sizes.bytes.count)
            return tool_error(TOOL_USAGE,
                              "--size: test %s has a thread for each of %" PRIu64 " blocks of %" PRIu64
                              " bytes, and may have 2^30: use a larger --size or a smaller --heap",
                              test->name, blocks, cell.bytes);
        if (blocks)
            cell.threads = (uint32_t)blocks;
        if (blocks > BENCH_MOST_THREADS || !has_results(bench, &cell))
            continue;
        const int code = add_floor(bench, cell.threads);
        if (code != TOOL_OK)
            return code;
        bench->cells[bench->cell_count++] = cell;
    }
    return TOOL_OK;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The order of measuring: those of a heap, and of one state of it, are neighbours. */
static int compare_cells(const void *left, const void *right, void *context)
{
    const struct cell *cells = context;
    const struct cell *a = &cells[*(const unsigned *)left], *b = &cells[*(const unsigned *)right];
    int order = compare_numbers(a->number, b->number);
    if (!order)
        order = compare_numbers(a->heap_bytes, b->heap_bytes);
    if (!order)
        order = compare_numbers(a->page_bytes, b->page_bytes);
    if (!order)
        order = compare_numbers(b->free_share, a->free_share);
    if (!order && a->free_share < TOOL_WHOLE)
        order = compare_numbers(a->bytes, b->bytes);
    return order ? order : compare_numbers((uint64_t)(a - cells), (uint64_t)(b - cells));
}

int bench_plan(struct bench *bench)
{
    set_defaults(bench);
    int code = options_check_set(&bench->set, &bench->allocators);
    if (code == TOOL_OK)
        code = check_ignored(bench);
    for (unsigned t = 0; t < bench->tests.count && code == TOOL_OK; t++) {
        const struct bench_test *test = &bench_tests[bench->tests.values[t]];
        struct axes axes;
        if (make_axes(bench, test, &axes) != 0)
            return TOOL_FAILED;
        if (test->kind == BENCH_REGISTERS && bench->target.backend == QUARRY_BACKEND_CPU)
            continue; /* a lane has none of its own */
        for (unsigned a = 0; a < bench->allocators.count && code == TOOL_OK; a++) {
            struct cell common;
            memset(&common, 0, sizeof common);
            common.test = test;
            common.number = (unsigned)bench->allocators.values[a];
            if (quarry_allocator_describe((int)common.number, &common.allocator) != QUARRY_OK)
                return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
            code = add_cells(bench, test, &axes, &common);
        }
    }
    if (code != TOOL_OK)
        return code;
    if (!bench->cell_count)
        return tool_error(
            TOOL_FAILED,
            "these tests measure nothing of these allocators on this backend, with these options");
    bench->order = malloc((bench->cell_count + 1) * sizeof *bench->order);
    if (!bench->order)
        return tool_error(TOOL_FAILED, "no memory for %u cells", bench->cell_count);
    for (unsigned i = 0; i < bench->cell_count; i++)
        bench->order[i] = i;
    qsort_r(bench->order, bench->cell_count, sizeof *bench->order, compare_cells, bench->cells);
    return TOOL_OK;
}
