/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry bench`: malloc and free of each allocator over sizes, free shares and numbers of threads,
 * verified, beside the floors of the same run. */
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Per cell: what is slow must not hold up the rest for minutes. */
#define GPU_BUDGET_S 2.0
#define CPU_BUDGET_S 0.5

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
    const uint32_t alignment =
        (group->least ? group->least : group->bytes) <= 8 ? 8 : (uint32_t)group->heap.alignment;
    /* For a range the share is one of the slots for the largest, of which each block needs two: a block
     * anywhere in a run of free pages spoils at most two.  Full is a heap that has no room for the least. */
    const uint64_t filler = group->least && !group->free_share ? group->least : group->bytes;
    const uint64_t spoiled = group->least ? 2 : 1;
    const double fill_share = group->free_share < TOOL_WHOLE ? 0.5 : 0;
    int must_fill = 1;
    char name[96], share[16];

    snprintf(name, sizeof name, "%s, %" PRIu64 " bytes, %s %% free", group->allocator->name, group->bytes,
             tool_format_share(group->free_share, share));
    for (unsigned i = 0; i < bench->threads.count; i++) {
        const uint64_t threads = bench->threads.values[i];
        enum quarry_status status = QUARRY_OK;
        if (must_fill && !group->allocator->counts_slots) { /* can't be filled to a share, nor emptied */
            if (group->free_share < TOOL_WHOLE || bench->fill) {
                bench->skipped = 1;
                return 0;
            }
            group->slots = UINT64_MAX;
            must_fill = 0;
        }
        if (must_fill) {
            int gave_up = 0;
            status =
                workload_fill(&bench->target, heap, filler, (double)group->free_share / (double)TOOL_WHOLE,
                              bench->fill_budget_s, show_progress, &gave_up);
            if (status == QUARRY_ERROR_MEMORY || gave_up) {
                tool_error(0, "skipped %s: %s; try a smaller --heap", name,
                           gave_up ? "filling the heap takes too long" : "no memory to fill the heap");
                return 0;
            }
            if (status == QUARRY_OK)
                status = quarry_heap_slots(heap, filler, &group->slots);
            if (status != QUARRY_OK)
                return broken(bench, status, name);
            must_fill = 0;
        }
        show_progress(fill_share + (1 - fill_share) * i / bench->threads.count);
        if (group->free_share && !bench->fill &&
            workload_blocks(threads, group->lanes) > group->slots / spoiled) {
            bench->skipped = 1;
            continue;
        }
        struct workload_cell *cell = &group->cells[i];
        const struct workload_shape shape = {group->bytes,  group->least, (uint32_t)threads,
                                             group->lanes,  alignment,    group->free_share == 0,
                                             bench->at_once};
        status = (bench->fill ? workload_fill_up : workload_measure)(&bench->workload, heap, &shape, cell);
        if (status == QUARRY_OK && cell->verified && bench->steps)
            status = workload_count(&bench->workload, heap, &shape, cell);
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

/* The page size for blocks of so many bytes. */
static uint64_t page_for(const struct bench *bench, const struct quarry_allocator_info *allocator,
                         uint64_t bytes)
{
    const uint64_t least = bench->policies.alignment > allocator->min_page_bytes ? bench->policies.alignment
                                                                                 : allocator->min_page_bytes;
    const uint64_t added = bench->debug ? QUARRY_DEBUG_PAGE_BYTES
                           : bench->policies.distribution == QUARRY_DISTRIBUTION_WARP ? least
                                                                                      : 0;
    const uint64_t most = allocator->max_page_bytes - added;
    uint64_t page = (bytes + least - 1) / least * least;
    if (bench->page_bytes)
        return bench->page_bytes;
    return page > most ? most : page;
}

/* All lanes and free shares of one allocator and size, on one heap. */
static int run_heap(struct bench *bench, const struct quarry_allocator_info *allocator, unsigned size)
{
    const uint64_t bytes = bench->sizes.values[size];
    struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = NULL;
    struct group group;
    int result = 0;

    create.target = bench->target;
    create.allocator = allocator->name;
    create.page_bytes = page_for(bench, allocator, bytes);
    create.word_bits = bench->word_bits;
    create.probe_lanes = bench->probe_lanes;
    create.debug = bench->debug;
    options_use_policies(&bench->policies, &create);
    create.low_free = bench->low_free;
    create.full = bench->low_free > 0 ? QUARRY_FULL_INFERRED : QUARRY_FULL_PROVEN;
    if (bench->heap_pages && bench->heap_bytes / create.page_bytes > bench->heap_pages)
        create.pages = bench->heap_pages;
    else
        create.pool_bytes = bench->heap_bytes;

    enum quarry_status status = quarry_heap_create(&heap, &create);
    if (status != QUARRY_OK && status != QUARRY_ERROR_POOL)
        return broken(bench, status, "can't create the heap");
    for (unsigned i = 0; i < bench->free_shares.count * bench->lanes.count && result == 0; i++) {
        memset(&group, 0, sizeof group);
        group.allocator = allocator;
        group.bytes = bytes;
        group.least = bench->least[size];
        group.free_share = bench->free_shares.values[i / bench->lanes.count];
        group.lanes = (uint32_t)bench->lanes.values[i % bench->lanes.count];
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
        bench_print_group(bench, &group);
    }
    if (heap && bench->debug) /* the blocks that filled it are no leak */
        quarry_heap_reset(heap);
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
    const struct workload_shape shape = {
        .bytes = RATE_PAGE_BYTES, .threads = RATE_MALLOCS, .lanes = SIMT_LANES, .alignment = 16};
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
        status = workload_measure(&bench->workload, heap, &shape, &cell);
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
    bench_print_header(bench);
    if (!bench->fill)
        bench_print_floors(bench);
    for (unsigned a = 0; a < bench->allocators.count; a++) {
        struct quarry_allocator_info allocator;
        enum quarry_status status = quarry_allocator_describe((int)bench->allocators.values[a], &allocator);
        if (status != QUARRY_OK)
            return broken(bench, status, "allocator");
        for (unsigned s = 0; s < bench->sizes.count; s++) {
            if (run_heap(bench, &allocator, s) != 0)
                return -1;
        }
    }
    if (bench->table && bench->skipped)
        fputs("\n-: skipped; too few free slots, or blocks larger than the heap gives\n", bench->table);
    if (bench->table && !bench->fill && bench->target.backend == QUARRY_BACKEND_CPU)
        return print_rates(bench);
    return 0;
}

/* The platform's heap gets its size before the first kernel: so large that every cell's fits. */
static enum quarry_status make_room_for_platform(const struct bench *bench)
{
    enum quarry_status status = QUARRY_OK;
    for (unsigned a = 0; a < bench->allocators.count && status == QUARRY_OK; a++) {
        struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
        struct quarry_allocator_info allocator;
        quarry_heap *heap = NULL;
        status = quarry_allocator_describe((int)bench->allocators.values[a], &allocator);
        if (status != QUARRY_OK || allocator.counts_slots)
            continue;
        create.target = bench->target;
        create.allocator = allocator.name;
        create.pool_bytes = bench->heap_bytes;
        status = quarry_heap_create(&heap, &create);
        if (status == QUARRY_OK)
            status = quarry_heap_destroy(heap);
    }
    return status;
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
    int code = bench_options(&bench, argc, argv);
    if (code != TOOL_OK)
        return code;
    bench.groups = bench.allocators.count * bench.sizes.count * bench.lanes.count * bench.free_shares.count;
    progress_bench = &bench;
    code = open_output(&bench);
    if (code != TOOL_OK)
        return code;

    enum quarry_status status = make_room_for_platform(&bench);
    if (status == QUARRY_OK)
        status =
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
