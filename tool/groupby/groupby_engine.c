/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of the radix group-by: memory, passes, checks.  groupby_kernels.h has the method,
 * groupby_bounds.h what it takes: tables and directories are allocated for the worst case, before the heap,
 * which by default takes the rest of the memory. */
#include "groupby/groupby_engine.h"

#include "groupby/groupby_bounds.h"
#include "groupby/groupby_kernels.h"
#include "timing.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct groupby_heap_kernels *const heap_kernels[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, ...) [QUARRY_NUMBER_##id] = &EACH_OF(groupby_heap_kernels, id),
#include "quarry/alloc/list.def"
};

enum buffer {
    KEYS,
    OFFSETS,
    HASHES,
    GROUP_ROWS,
    GROUP_COUNTS,
    GROUP_OF_ROW,
    LIST_EVEN, /* rows that collided in rounds 0, 2, ... */
    LIST_ODD,
    TABLE_EVEN,
    TABLE_ODD,
    DIRECTORY_EVEN,
    DIRECTORY_ODD,
    STATE,
    BUFFERS
};

struct engine {
    const struct groupby_table *table;
    const struct method_task *task;
    int want_rows;
    struct groupby_statistics *statistics;
    struct work work;
    const struct groupby_heap_kernels *kernels; /* the heap's allocator's */
    void *memory[BUFFERS];
    uint64_t table_room[2]; /* entries, of TABLE_EVEN and TABLE_ODD */
    uint64_t live;          /* pages */
    quarry_event *decided;
    struct groupby_job job;
    struct groupby_state state; /* as last read */
};

/* ---- the target's memory and kernels ---- */

static int create_buffer(struct engine *engine, enum buffer which, uint64_t bytes)
{
    return work_create(&engine->work, bytes, &engine->memory[which], "memory for the rows and their groups");
}

static int launch(struct engine *engine, const struct simt_kernel *kernel, uint64_t threads)
{
    return work_launch_over(&engine->work, kernel, threads, &engine->job);
}

/* Launches, waits, and adds the kernel's time to *microseconds. */
static int run(struct engine *engine, const struct simt_kernel *kernel, uint64_t threads,
               double *microseconds)
{
    return work_begin(&engine->work) || launch(engine, kernel, threads) ||
           work_end(&engine->work, kernel->name, microseconds);
}

static int record(quarry_event *event)
{
    return work_check(quarry_event_record(event), "timing");
}

static int add_elapsed(quarry_event *begin, quarry_event *end, double *microseconds)
{
    double taken = 0;
    int code = work_check(quarry_event_elapsed(begin, end, &taken), "timing");
    *microseconds += taken;
    return code;
}

static int read_state(struct engine *engine)
{
    return work_copy(&engine->work, &engine->state, engine->memory[STATE], sizeof engine->state);
}

static int write_state(struct engine *engine)
{
    return work_copy(&engine->work, engine->memory[STATE], &engine->state, sizeof engine->state);
}

/* ---- too small heaps ---- */

static uint64_t pages_enough(const struct engine *engine)
{
    return bounds_pages_enough(engine->table->count, engine->job.capacity, engine->table->integers != NULL);
}

/* Says what the heap lacks. */
static int too_small(const struct engine *engine, const char *what)
{
    const struct work_heap *heap = &engine->statistics->heap;
    uint64_t rows = engine->table->count;
    char have[32];
    char least[32];
    char taken[64] = "";
    if (heap->prefilled)
        snprintf(taken, sizeof taken, ", %llu of them taken beforehand", (unsigned long long)heap->prefilled);
    return tool_error(
        TOOL_FAILED,
        "%s: it has %s, that is %llu pages of %llu bytes%s, and %llu rows take at least %s in "
        "pages; use --heap %lluK, which is certainly enough",
        what, tool_format_bytes(heap->bytes, have), (unsigned long long)heap->pages,
        (unsigned long long)heap->page_bytes, taken, (unsigned long long)rows,
        tool_format_bytes(bounds_pages_least(rows, engine->job.capacity) * heap->page_bytes, least),
        (unsigned long long)work_heap_kib(heap, &engine->task->method, pages_enough(engine)));
}

/* A malloc in a pass returned NULL. */
static int no_page(const struct engine *engine)
{
    const struct work_heap *heap = &engine->statistics->heap;
    const uint64_t enough = heap->prefilled + pages_enough(engine);
    if (heap->pages < enough)
        return too_small(engine, "the heap is too small and filled up");
    return work_no_page(heap, enough);
}

/* ---- set-up ---- */

static int upload(struct engine *engine)
{
    const struct groupby_table *table = engine->table;
    double began = timing_now();
    if (table->integers) {
        uint64_t bytes = table->count * sizeof *table->integers;
        if (create_buffer(engine, KEYS, bytes) ||
            work_copy(&engine->work, engine->memory[KEYS], table->integers, bytes))
            return TOOL_FAILED;
        engine->job.integers = (const uint32_t *)engine->memory[KEYS];
    } else if (work_upload_keys(&engine->work, &table->rows, &engine->memory[KEYS],
                                &engine->memory[OFFSETS])) {
        return TOOL_FAILED;
    }
    engine->job.keys.bytes = (const uint64_t *)engine->memory[KEYS];
    engine->job.keys.offsets = (const uint64_t *)engine->memory[OFFSETS];
    engine->statistics->upload_us = 1e6 * (timing_now() - began);
    return 0;
}

static int create_buffers(struct engine *engine)
{
    struct groupby_job *job = &engine->job;
    int integers = engine->table->integers != NULL;
    uint64_t rows = engine->table->count;
    uint64_t entries = bounds_entries_of_pass(rows, engine->job.capacity);
    uint64_t table_bytes = entries * sizeof(struct groupby_bucket);
    uint64_t directory_bytes = bounds_pages_of_pass(rows, engine->job.capacity, integers) * sizeof(uint64_t);
    if (create_buffer(engine, HASHES, integers ? 0 : rows * sizeof(uint64_t)) ||
        create_buffer(engine, GROUP_ROWS, rows * sizeof(uint32_t)) ||
        create_buffer(engine, GROUP_COUNTS, rows * sizeof(uint32_t)) ||
        create_buffer(engine, GROUP_OF_ROW, engine->want_rows ? rows * sizeof(uint32_t) : 0) ||
        create_buffer(engine, LIST_EVEN, rows * sizeof(uint32_t)) ||
        create_buffer(engine, TABLE_EVEN, table_bytes) || create_buffer(engine, TABLE_ODD, table_bytes) ||
        create_buffer(engine, DIRECTORY_EVEN, directory_bytes) ||
        create_buffer(engine, DIRECTORY_ODD, directory_bytes) ||
        create_buffer(engine, STATE, sizeof(struct groupby_state)))
        return TOOL_FAILED;
    engine->table_room[0] = entries;
    engine->table_room[1] = entries;
    job->hashes = (uint64_t *)engine->memory[HASHES];
    job->group_rows = (uint32_t *)engine->memory[GROUP_ROWS];
    job->group_counts = (uint32_t *)engine->memory[GROUP_COUNTS];
    job->group_of_row = (uint32_t *)engine->memory[GROUP_OF_ROW];
    job->table = (struct groupby_bucket *)engine->memory[TABLE_EVEN];
    job->children = (struct groupby_bucket *)engine->memory[TABLE_ODD];
    job->directory = (uint64_t *)engine->memory[DIRECTORY_EVEN];
    job->child_directory = (uint64_t *)engine->memory[DIRECTORY_ODD];
    job->state = (struct groupby_state *)engine->memory[STATE];
    return 0;
}

/* Integer keys leave half of what is left by default: their tables grow beside the heap. */
static int create_heap(struct engine *engine)
{
    const struct method_options *wanted = &engine->task->method;
    struct work_heap *heap = &engine->statistics->heap;
    if (work_create_heap(&engine->work, wanted, engine->table->integers != NULL, heap))
        return TOOL_FAILED;
    if (heap->pages < heap->prefilled + bounds_pages_least(engine->table->count, engine->job.capacity))
        return too_small(engine, "the heap is too small");
    engine->job.heap = quarry_heap_handle(engine->work.heap);
    engine->kernels = wanted->trace || each_is_composed(&engine->job.heap)
                          ? &EACH_ANY(groupby_heap_kernels)
                          : heap_kernels[engine->job.heap.allocator];
    return work_begin_trace(&engine->work, wanted);
}

/* ---- the passes ---- */

/* Makes room for a table. */
static int create_children(struct engine *engine, uint64_t entries)
{
    struct groupby_job *job = &engine->job;
    int odd = job->children == engine->memory[TABLE_ODD];
    enum buffer which = odd ? TABLE_ODD : TABLE_EVEN;
    if (entries <= engine->table_room[odd])
        return 0;
    work_destroy(&engine->work, &engine->memory[which]);
    engine->table_room[odd] = 0;
    if (create_buffer(engine, which, entries * sizeof *job->children))
        return TOOL_FAILED;
    engine->table_room[odd] = entries;
    job->children = (struct groupby_bucket *)engine->memory[which];
    return 0;
}

static void note_pages(struct engine *engine)
{
    struct groupby_statistics *statistics = engine->statistics;
    statistics->pages_freed = engine->state.freed;
    engine->live = statistics->pages_allocated - engine->state.freed;
}

/* The children become the table. */
static void descend(struct groupby_job *job, uint32_t entries)
{
    struct groupby_bucket *table = job->table;
    uint64_t *directory = job->directory;
    job->table = job->children;
    job->directory = job->child_directory;
    job->children = table;
    job->child_directory = directory;
    job->entries = entries;
}

/* Distributes `rows` rows into children, whose table has so many entries, and decides what is next for them.
 */
static int scatter(struct engine *engine, const struct simt_kernel *kernel, uint64_t threads, uint64_t rows,
                   uint32_t entries)
{
    struct groupby_job *job = &engine->job;
    struct work *work = &engine->work;
    struct groupby_statistics *statistics = engine->statistics;
    uint32_t noted =
        statistics->passes < GROUPBY_PASSES_NOTED ? statistics->passes : GROUPBY_PASSES_NOTED - 1;
    struct groupby_pass *pass = &statistics->pass[noted];
    engine->state.pages = 0;
    engine->state.children = 0;
    if (create_children(engine, entries) || work_zero(work, job->children, entries * sizeof *job->children) ||
        write_state(engine) || work_begin(work) || launch(engine, kernel, threads) || record(work->end))
        return TOOL_FAILED;
    descend(job, entries);
    if (launch(engine, &groupby_decide, entries) || record(engine->decided) || read_state(engine) ||
        add_elapsed(work->begin, work->end, &statistics->us[GROUPBY_TIME_PASS + noted]) ||
        add_elapsed(work->end, engine->decided, &statistics->us[GROUPBY_TIME_DECIDE]))
        return TOOL_FAILED;
    job->directory_pages = engine->state.pages;
    statistics->passes++;
    statistics->pages_allocated += engine->state.pages;
    statistics->peak_pages = bounds_larger(statistics->peak_pages, engine->live + engine->state.pages);
    note_pages(engine);
    pass->rows += rows;
    pass->pages += engine->state.pages;
    if (engine->state.broken)
        return tool_internal_error("rows of one hash were taken for several");
    return engine->state.failed ? no_page(engine) : 0;
}

/* Counts the groups that are finished after a pass.  Integers are finished after the last. */
static int resolve(struct engine *engine)
{
    const struct groupby_job *job = &engine->job;
    const uint64_t pages = job->directory_pages;
    double *microseconds = &engine->statistics->us[GROUPBY_TIME_RESOLVE];
    if (job->integers && engine->state.children)
        return 0;
    if ((job->integers ? run(engine, engine->kernels->count, pages, microseconds)
                       : run(engine, engine->kernels->resolve, pages * SIMT_LANES, microseconds)) ||
        read_state(engine))
        return TOOL_FAILED;
    note_pages(engine);
    tool_progress("grouping", (double)engine->state.counted / (double)engine->table->count);
    return 0;
}

/* Groups job.rows rows; those that collide are in job.collided afterwards. */
static int run_round(struct engine *engine)
{
    struct groupby_job *job = &engine->job;
    job->seeds[0] = tool_mix(2 * (uint64_t)engine->statistics->rounds);
    job->seeds[1] = tool_mix(2 * (uint64_t)engine->statistics->rounds + 1);
    engine->statistics->rounds++;
    engine->state.collided = 0;
    job->first_stripe_bits = groupby_stripe_bits((uint32_t)(job->rows / job->capacity));
    if ((!job->integers &&
         run(engine, &groupby_hash, job->rows, &engine->statistics->us[GROUPBY_TIME_HASH])) ||
        scatter(engine, engine->kernels->scatter_rows, job->rows, job->rows,
                GROUPBY_FIRST_BUCKETS << job->first_stripe_bits) ||
        resolve(engine))
        return TOOL_FAILED;
    while (engine->state.children) {
        uint64_t left = engine->table->count - engine->state.counted - engine->state.collided;
        if (scatter(engine, engine->kernels->scatter_pages, (uint64_t)job->directory_pages * SIMT_LANES, left,
                    engine->state.children) ||
            resolve(engine))
            return TOOL_FAILED;
    }
    return 0;
}

/* Rounds until no row is left over.  The second list exists only once it is needed, which with a hash of
 * 64 bits is next to never. */
static int run_rounds(struct engine *engine)
{
    struct groupby_job *job = &engine->job;
    enum buffer next = LIST_EVEN;
    job->list = NULL;
    job->rows = engine->table->count;
    for (;;) {
        job->collided = (uint32_t *)engine->memory[next];
        if (run_round(engine))
            return TOOL_FAILED;
        uint64_t left = engine->state.collided;
        if (left == 0)
            return 0;
        if (left >= job->rows)
            return tool_internal_error("no row has found its group");
        job->list = job->collided;
        job->rows = left;
        next = next == LIST_EVEN ? LIST_ODD : LIST_EVEN;
        if (!engine->memory[next] && create_buffer(engine, next, left * sizeof(uint32_t)))
            return TOOL_FAILED;
    }
}

static int run_once(void *context, unsigned run)
{
    (void)run;
    struct engine *engine = (struct engine *)context;
    struct groupby_statistics *statistics = engine->statistics;
    const double began = timing_now();
    uint64_t live;
    statistics->rounds = 0;
    statistics->passes = 0;
    statistics->pages_allocated = 0;
    statistics->pages_freed = 0;
    statistics->peak_pages = 0;
    engine->live = 0;
    memset(statistics->pass, 0, sizeof statistics->pass);
    memset(&engine->state, 0, sizeof engine->state);
    if (work_zero(&engine->work, engine->job.group_counts, engine->table->count * sizeof(uint32_t)) ||
        run_rounds(engine))
        return TOOL_FAILED;
    statistics->us[GROUPBY_TIME_ALL] = 1e6 * (timing_now() - began);
    if (engine->state.counted != engine->table->count)
        return tool_internal_error("the groups do not add up to the rows");
    if (work_live_blocks(&engine->work, &live))
        return TOOL_FAILED;
    if (live != statistics->heap.prefilled || engine->live != 0)
        return tool_internal_error("pages of the heap are still in use at the end");
    return 0;
}

/* ---- the end ---- */

static int fetch(struct work *work, uint32_t **out, const uint32_t *from, uint64_t count)
{
    *out = (uint32_t *)malloc(count * sizeof **out);
    if (!*out)
        return tool_error(TOOL_FAILED, "not enough memory for %llu groups", (unsigned long long)count);
    return work_copy(work, *out, from, count * sizeof **out);
}

/* A count that can't be trusted is never shown. */
int groupby_fetch(struct work *work, struct groupby_result *result, uint64_t groups,
                  const uint32_t *group_rows, const uint32_t *group_counts, const uint32_t *group_of_row,
                  uint64_t rows)
{
    uint64_t sum = 0;
    if (groups > rows)
        return tool_internal_error("there are more groups than rows");
    result->groups = groups;
    if (fetch(work, &result->group_rows, group_rows, groups) ||
        fetch(work, &result->group_counts, group_counts, groups) ||
        (group_of_row && fetch(work, &result->group_of_row, group_of_row, rows)))
        return TOOL_FAILED;
    for (uint64_t group = 0; group < groups; group++)
        sum += result->group_counts[group];
    return sum == rows ? 0 : tool_internal_error("the groups do not add up to the rows");
}

static int work_through(struct engine *engine, struct groupby_result *result)
{
    const struct method_task *task = engine->task;
    const struct groupby_job *job = &engine->job;
    if (work_open(&engine->work, &task->target, engine->memory, BUFFERS) ||
        work_check(quarry_event_create(&task->target, &engine->decided), "timing") || upload(engine) ||
        create_buffers(engine) || create_heap(engine) ||
        work_repeat(engine->statistics->us, GROUPBY_TIMES, task->method.runs, run_once, engine) ||
        work_end_trace(&engine->work, &task->method))
        return TOOL_FAILED;
    return groupby_fetch(&engine->work, result, engine->state.groups, job->group_rows, job->group_counts,
                         engine->want_rows ? job->group_of_row : NULL, engine->table->count);
}

int groupby_run(const struct groupby_table *table, const struct method_task *task, int want_rows,
                struct groupby_result *result, struct groupby_statistics *statistics)
{
    const uint64_t page_bytes = task->method.page_bytes;
    memset(result, 0, sizeof *result);
    memset(statistics, 0, sizeof *statistics);
    if (table->count == 0)
        return work_no_trace(&task->method);
    struct engine engine;
    memset(&engine, 0, sizeof engine);
    engine.table = table;
    engine.task = task;
    engine.want_rows = want_rows;
    engine.statistics = statistics;
    engine.job.page_bytes = page_bytes;
    engine.job.capacity = (uint32_t)((page_bytes - sizeof(struct groupby_page)) / sizeof(uint32_t));
    engine.job.hash_mask = ~UINT64_C(0) << (GROUPBY_HASH_BITS - task->hash_bits);
    int code = work_through(&engine, result);
    tool_progress_end();
    quarry_event_destroy(engine.decided);
    work_close(&engine.work);
    if (code)
        groupby_free(result);
    return code;
}

void groupby_free(struct groupby_result *result)
{
    free(result->group_rows);
    free(result->group_counts);
    free(result->group_of_row);
    memset(result, 0, sizeof *result);
}
