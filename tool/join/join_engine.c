/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of the radix hash join: memory, stages, checks.  join_kernels.h has the method. */
#include "join/join_engine.h"

#include "join/join_kernels.h"
#include "timing.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define PARTITION_TUPLES 1024u /* build tuples, on average: few partitions have more than JOIN_BUILD */
#define MAX_PARTITION_BITS 22u
/* Blocks of a probe for each multiprocessor, which runs 3 at once: each thread ends with a page that is not
 * full, which counts as long as pages are few. */
#define FEW_BLOCKS 8u
#define MANY_BLOCKS 16u
#define MANY_ROWS (16u << 20) /* of both tables */

static const struct join_heap_kernels *const heap_kernels[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, ...) [QUARRY_NUMBER_##id] = &EACH_OF(join_heap_kernels, id),
#include "quarry/alloc/list.def"
};

enum buffer {
    KEYS_LEFT, /* bytes, or integers; the right table's buffers follow one later each */
    KEYS_RIGHT,
    OFFSETS_LEFT,
    OFFSETS_RIGHT,
    TUPLES_LEFT,
    TUPLES_RIGHT,
    SPARE_LEFT, /* tuples are sorted from one to the other */
    SPARE_RIGHT,
    STARTS_LEFT,
    STARTS_RIGHT,
    ITEM_STARTS,
    ITEMS,
    COUNTS,
    HEADS,
    STATE,
    MATCHES,
    STRANGERS,
    BUFFERS
};

struct engine {
    const struct join_table *tables[2]; /* left, right */
    const struct method_task *task;
    int want_matches;
    struct join_statistics *statistics;
    struct work work;
    const struct join_heap_kernels *kernels; /* the heap's allocator's */
    quarry_event *marks[JOIN_STAGES + 1]; /* a stage ends at its mark; the last is where the first begins */
    void *memory[BUFFERS];
    struct join_job job;
    struct quarry_grid probe_grid;
    uint32_t max_blocks; /* of a probe */
    uint64_t items_room;
    uint64_t array_room; /* matches that the two-pass join may have */
    uint64_t matches;    /* of this run */
    int skew_checked;
};

static const char MEMORY_FOR[] = "memory for the tables";

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t bits_of(uint64_t most)
{
    return most ? 64 - (uint32_t)__builtin_clzll(most) : 0;
}

static int launch(struct engine *engine, const struct simt_kernel *kernel, uint64_t threads)
{
    return work_launch_over(&engine->work, kernel, threads, &engine->job);
}

static int launch_probe(struct engine *engine, const struct simt_kernel *kernel)
{
    return work_launch(&engine->work, kernel, engine->probe_grid, &engine->job);
}

/* ---- set-up ---- */

static int upload_keys(struct engine *engine, int right, struct join_keys *keys)
{
    const struct join_table *table = engine->tables[right];
    void **bytes = &engine->memory[KEYS_LEFT + right];
    void **offsets = &engine->memory[OFFSETS_LEFT + right];
    memset(keys, 0, sizeof *keys);
    if (table->integers) {
        const uint64_t size = table->count * sizeof *table->integers;
        if (work_create(&engine->work, size, bytes, MEMORY_FOR) ||
            work_copy(&engine->work, *bytes, table->integers, size))
            return TOOL_FAILED;
        keys->integers = (const uint64_t *)*bytes;
        return 0;
    }
    if (work_upload_keys(&engine->work, &table->rows, bytes, offsets))
        return TOOL_FAILED;
    keys->text.bytes = (const uint64_t *)*bytes;
    keys->text.offsets = (const uint64_t *)*offsets;
    return 0;
}

static int create_side(struct engine *engine, int right, struct join_side *side)
{
    const uint64_t rows = engine->tables[right]->count;
    side->rows = rows;
    if (upload_keys(engine, right, &side->keys) ||
        work_create(&engine->work, rows * sizeof(uint64_t), &engine->memory[TUPLES_LEFT + right],
                    MEMORY_FOR) ||
        work_create(&engine->work, rows * sizeof(uint64_t), &engine->memory[SPARE_LEFT + right],
                    MEMORY_FOR) ||
        work_create(&engine->work, (engine->job.partitions + (uint64_t)1) * sizeof(uint32_t),
                    &engine->memory[STARTS_LEFT + right], MEMORY_FOR))
        return TOOL_FAILED;
    side->starts = (uint32_t *)engine->memory[STARTS_LEFT + right];
    return 0;
}

static int create_items(struct engine *engine, uint64_t count)
{
    if (count <= engine->items_room)
        return 0;
    work_destroy(&engine->work, &engine->memory[ITEMS]);
    engine->items_room = 0;
    if (work_create(&engine->work, count * sizeof(struct join_item), &engine->memory[ITEMS], MEMORY_FOR))
        return TOOL_FAILED;
    engine->items_room = count;
    engine->job.items = (struct join_item *)engine->memory[ITEMS];
    return 0;
}

static int create_buffers(struct engine *engine)
{
    struct join_job *job = &engine->job;
    struct work *work = &engine->work;
    struct quarry_device_info info;
    const uint64_t left = engine->tables[0]->count;
    const uint64_t right = engine->tables[1]->count;
    job->build_is_right = right < left;
    job->one_to_one = engine->tables[0]->is_narrow && engine->tables[1]->is_narrow &&
                      engine->task->hash_bits == JOIN_HASH_BITS;
    const uint64_t build = smaller(left, right);
    const uint64_t probe = left + right - build;
    job->partition_bits = (uint32_t)smaller(bits_of((build - 1) / PARTITION_TUPLES), MAX_PARTITION_BITS);
    job->partitions = 1u << job->partition_bits;
    const double began = timing_now();
    if (work_check(quarry_device_describe(&work->target, &info), "describing the device") ||
        create_side(engine, 0, job->build_is_right ? &job->probe : &job->build) ||
        create_side(engine, 1, job->build_is_right ? &job->build : &job->probe))
        return TOOL_FAILED;
    engine->statistics->upload_us = 1e6 * (timing_now() - began);
    engine->max_blocks = info.multiprocessors * (left + right < MANY_ROWS ? FEW_BLOCKS : MANY_BLOCKS);
    engine->array_room = info.heap_bytes / sizeof(uint64_t);
    const uint64_t threads = (uint64_t)engine->max_blocks * JOIN_BLOCK;
    /* As many items as there are if no partition has more than JOIN_BUILD build tuples. */
    if (work_create(work, (job->partitions + (uint64_t)1) * sizeof(uint64_t), &engine->memory[ITEM_STARTS],
                    MEMORY_FOR) ||
        create_items(engine, job->partitions + probe / JOIN_PROBE) ||
        work_create(work, (threads + 1) * sizeof(uint64_t), &engine->memory[COUNTS], MEMORY_FOR) ||
        work_create(work, threads * sizeof(uint64_t), &engine->memory[HEADS], MEMORY_FOR) ||
        work_create(work, sizeof(struct join_state), &engine->memory[STATE], MEMORY_FOR) ||
        work_zero(work, engine->memory[COUNTS], (threads + 1) * sizeof(uint64_t)))
        return TOOL_FAILED;
    job->item_starts = (uint64_t *)engine->memory[ITEM_STARTS];
    job->counts = (uint64_t *)engine->memory[COUNTS];
    job->heads = (uint64_t *)engine->memory[HEADS];
    job->state = (struct join_state *)engine->memory[STATE];
    return 0;
}

/* ---- the heap ---- */

static uint64_t pages_least(const struct engine *engine)
{
    return (engine->matches + engine->job.capacity - 1) / engine->job.capacity;
}

/* Each thread's last page may have room left, but holds a match. */
static uint64_t pages_enough(const struct engine *engine)
{
    const uint64_t threads = smaller(engine->job.item_count, engine->max_blocks) * JOIN_BLOCK;
    return smaller(engine->matches, pages_least(engine) + threads);
}

/* Says what the heap lacks for engine->matches. */
static int too_small(const struct engine *engine)
{
    const struct work_heap *heap = &engine->statistics->heap;
    char have[32];
    return tool_error(
        TOOL_FAILED,
        "the heap is too small: it has %s, that is %llu pages of %llu bytes, %llu of them taken "
        "beforehand, and %llu matches take at least %llu; use --heap %lluK, which is certainly enough",
        tool_format_bytes(heap->bytes, have), (unsigned long long)heap->pages,
        (unsigned long long)heap->page_bytes, (unsigned long long)heap->prefilled,
        (unsigned long long)engine->matches, (unsigned long long)pages_least(engine),
        (unsigned long long)work_heap_kib(heap, &engine->task->method, pages_enough(engine)));
}

/* The heap takes half of what is left by default: the matches of its pages must find room beside it. */
static int create_heap(struct engine *engine)
{
    const struct method_options *wanted = &engine->task->method;
    struct work_heap *heap = &engine->statistics->heap;
    char have[32];
    if (work_create_heap(&engine->work, wanted, 1, heap))
        return TOOL_FAILED;
    if (!heap->allocator)
        return tool_error(
            TOOL_FAILED,
            "the heap is too small: %s have no room for a page of %llu bytes; use a larger --heap",
            tool_format_bytes(heap->bytes, have), (unsigned long long)heap->page_bytes);
    engine->job.heap = quarry_heap_handle(engine->work.heap);
    engine->kernels = wanted->trace || each_is_composed(&engine->job.heap)
                          ? &EACH_ANY(join_heap_kernels)
                          : heap_kernels[engine->job.heap.allocator];
    engine->job.page_bytes = wanted->page_bytes;
    engine->job.capacity = (uint32_t)(wanted->page_bytes / sizeof(uint64_t) - 1);
    return work_begin_trace(&engine->work, wanted);
}

/* ---- stages ---- */

static int mark(struct engine *engine, enum join_stage stage)
{
    return work_check(quarry_event_record(engine->marks[stage]), "timing");
}

static int read_state(struct engine *engine, struct join_state *state)
{
    return work_copy(&engine->work, state, engine->job.state, sizeof *state);
}

/* Tuples of one table, in the order of their partitions. */
static int hash_side(struct engine *engine, int right, const struct join_side *side)
{
    struct join_hash hash;
    memset(&hash, 0, sizeof hash);
    hash.keys = side->keys;
    hash.tuples = (uint64_t *)engine->memory[TUPLES_LEFT + right];
    hash.rows = side->rows;
    hash.seeds[0] = tool_mix(0);
    hash.seeds[1] = tool_mix(1);
    hash.hash_mask = UINT32_MAX << (JOIN_HASH_BITS - engine->task->hash_bits);
    hash.one_to_one = engine->job.one_to_one;
    return work_launch_over(&engine->work, &join_hash, side->rows, &hash);
}

static int partition_side(struct engine *engine, int right, struct join_side *side)
{
    uint64_t *words = (uint64_t *)engine->memory[TUPLES_LEFT + right];
    uint64_t *other = (uint64_t *)engine->memory[SPARE_LEFT + right];
    int code = work_sort(&engine->work, &words, &other, side->rows, 64 - engine->job.partition_bits,
                         engine->job.partition_bits);
    side->tuples = words;
    return code;
}

static int partition(struct engine *engine)
{
    struct join_job *job = &engine->job;
    struct join_side *left = job->build_is_right ? &job->probe : &job->build;
    struct join_side *right = job->build_is_right ? &job->build : &job->probe;
    if (hash_side(engine, 0, left) || hash_side(engine, 1, right) || mark(engine, JOIN_STAGE_HASH) ||
        partition_side(engine, 0, left) || partition_side(engine, 1, right) ||
        mark(engine, JOIN_STAGE_PARTITION))
        return TOOL_FAILED;
    return 0;
}

/* Counts the matches, with the build side's tuples sorted further. */
static int count(struct engine *engine)
{
    struct join_job *job = &engine->job;
    struct work *work = &engine->work;
    const int build = job->build_is_right;
    uint64_t *words = (uint64_t *)engine->memory[TUPLES_LEFT + build];
    uint64_t *other = (uint64_t *)engine->memory[SPARE_LEFT + build];
    struct join_state state;
    if (words != job->build.tuples) {
        other = words;
        words = (uint64_t *)engine->memory[SPARE_LEFT + build];
    }
    if (work_sort(work, &words, &other, job->build.rows, 64 - JOIN_HASH_BITS, JOIN_HASH_BITS) ||
        work_create(work, (job->build.rows + 1) * sizeof(uint64_t), &engine->memory[STRANGERS], MEMORY_FOR))
        return TOOL_FAILED;
    job->build.tuples = words;
    job->strangers = (uint64_t *)engine->memory[STRANGERS];
    if (work_zero(work, job->state, sizeof state) ||
        launch(engine, &join_find_strangers, job->build.rows + 1) ||
        work_scan(work, job->strangers, job->build.rows + 1) ||
        launch(engine, &join_tally, job->probe.rows) || read_state(engine, &state))
        return TOOL_FAILED;
    work_destroy(work, &engine->memory[STRANGERS]);
    engine->matches = state.matches;
    return 0;
}

/* For matches that have no room: that is an answer if only their number is wanted. */
static int leave_counted(struct engine *engine)
{
    char bytes[32];
    engine->statistics->only_counted = !engine->want_matches;
    if (engine->statistics->only_counted)
        return 0;
    if (!engine->task->method.two_pass)
        return too_small(engine);
    return tool_error(
        TOOL_FAILED, "there are %llu matches, which take %s, and memory has room for %llu; use --count",
        (unsigned long long)engine->matches, tool_format_bytes(engine->matches * sizeof(uint64_t), bytes),
        (unsigned long long)engine->array_room);
}

/* Where many rows have one key there may be far more matches than can be written: before the first probe they
 * are counted.  What tells is a partition whose build tuples are several items'. */
static int check_skew(struct engine *engine)
{
    const struct join_statistics *statistics = engine->statistics;
    if (engine->skew_checked ||
        engine->job.item_count <= engine->job.partitions + engine->job.probe.rows / JOIN_PROBE)
        return 0;
    engine->skew_checked = 1;
    if (count(engine))
        return TOOL_FAILED;
    int fits = engine->task->method.two_pass
                   ? engine->matches <= engine->array_room
                   : pages_least(engine) <= statistics->heap.pages - statistics->heap.prefilled;
    return fits ? 0 : leave_counted(engine);
}

static int plan(struct engine *engine)
{
    struct join_job *job = &engine->job;
    if (launch(engine, &join_bounds, job->partitions + (uint64_t)1) ||
        work_scan(&engine->work, job->item_starts, job->partitions + (uint64_t)1) ||
        work_copy(&engine->work, &job->item_count, job->item_starts + job->partitions,
                  sizeof job->item_count) ||
        check_skew(engine))
        return TOOL_FAILED;
    if (engine->statistics->only_counted)
        return 0;
    if (create_items(engine, job->item_count))
        return TOOL_FAILED;
    engine->probe_grid.blocks =
        (uint32_t)smaller(job->item_count + (job->item_count == 0), engine->max_blocks);
    engine->probe_grid.threads = JOIN_BLOCK;
    engine->probe_grid.shared_bytes = sizeof(struct join_hash_table);
    job->threads = engine->probe_grid.blocks * JOIN_BLOCK;
    if (job->item_count && launch(engine, &join_plan, job->item_count))
        return TOOL_FAILED;
    return mark(engine, JOIN_STAGE_PLAN);
}

/* Turns the threads' numbers of matches into their prefix sums, and reads the last. */
static int sum_counts(struct engine *engine)
{
    const struct join_job *job = &engine->job;
    if (work_scan(&engine->work, job->counts, job->threads + (uint64_t)1) ||
        work_copy(&engine->work, &engine->matches, job->counts + job->threads, sizeof engine->matches))
        return TOOL_FAILED;
    return 0;
}

static int create_matches(struct engine *engine)
{
    if (work_create(&engine->work, engine->matches * sizeof(uint64_t), &engine->memory[MATCHES],
                    "memory for the matches"))
        return TOOL_FAILED;
    engine->job.matches = (uint64_t *)engine->memory[MATCHES];
    return 0;
}

static int probe_paged(struct engine *engine)
{
    struct join_statistics *statistics = engine->statistics;
    struct join_state state;
    if (work_zero(&engine->work, engine->job.state, sizeof state) ||
        launch_probe(engine, engine->kernels->collect) || mark(engine, JOIN_STAGE_PROBE) ||
        read_state(engine, &state))
        return TOOL_FAILED;
    engine->matches = state.matches;
    statistics->pages = state.pages;
    if (!state.failed)
        return 0;
    if (count(engine))
        return TOOL_FAILED;
    const uint64_t pages = statistics->heap.prefilled + pages_enough(engine);
    return pages > statistics->heap.pages ? leave_counted(engine) : work_no_page(&statistics->heap, pages);
}

static int probe_twice(struct engine *engine)
{
    struct join_state state;
    if (work_zero(&engine->work, engine->job.state, sizeof state) || launch_probe(engine, &join_count) ||
        mark(engine, JOIN_STAGE_FIRST_PROBE) || sum_counts(engine) || mark(engine, JOIN_STAGE_PREFIX_SUM) ||
        create_matches(engine) || mark(engine, JOIN_STAGE_ARRAY) || launch_probe(engine, &join_write) ||
        mark(engine, JOIN_STAGE_SECOND_PROBE) || read_state(engine, &state))
        return TOOL_FAILED;
    return state.broken ? tool_internal_error("two probes found different matches") : 0;
}

/* Empties the heap but for what was prefilled, after it has copied the matches to one array if they are
 * wanted. */
static int gather(struct engine *engine, int wanted)
{
    const uint64_t matches = engine->matches;
    uint64_t live;
    engine->job.matches = NULL;
    if (sum_counts(engine))
        return TOOL_FAILED;
    if (engine->matches != matches)
        return tool_internal_error("the threads' matches do not add up");
    if ((wanted && create_matches(engine)) || launch(engine, engine->kernels->gather, engine->job.threads) ||
        work_live_blocks(&engine->work, &live))
        return TOOL_FAILED;
    if (live != engine->statistics->heap.prefilled)
        return tool_internal_error("pages of the heap are still in use at the end");
    return 0;
}

/* ---- runs ---- */

static int note_times(struct engine *engine)
{
    const int paged = !engine->task->method.two_pass;
    double *us = engine->statistics->us;
    quarry_event *before = engine->marks[JOIN_STAGES];
    for (unsigned stage = 0; stage < JOIN_STAGES; stage++) {
        if (paged ? stage > JOIN_STAGE_PROBE : stage == JOIN_STAGE_PROBE)
            continue;
        if (work_check(quarry_event_elapsed(before, engine->marks[stage], &us[stage]), "timing"))
            return TOOL_FAILED;
        us[JOIN_STAGES] += us[stage];
        before = engine->marks[stage];
    }
    return 0;
}

static int run_once(void *context, unsigned run)
{
    struct engine *engine = (struct engine *)context;
    const struct method_options *method = &engine->task->method;
    const int wanted = engine->want_matches && run + 1 == method->runs;
    if (engine->statistics->only_counted)
        return 0;
    tool_progress("joining", (double)run / method->runs);
    work_destroy(&engine->work, &engine->memory[MATCHES]);
    if (work_check(quarry_event_record(engine->marks[JOIN_STAGES]), "timing") || partition(engine) ||
        plan(engine))
        return TOOL_FAILED;
    if (!engine->statistics->only_counted && (method->two_pass ? probe_twice(engine) : probe_paged(engine)))
        return TOOL_FAILED;
    if (engine->statistics->only_counted)
        return 0;
    if (note_times(engine))
        return TOOL_FAILED;
    const double joined = timing_now();
    if (!method->two_pass && gather(engine, wanted))
        return TOOL_FAILED;
    engine->statistics->gather_us = 1e6 * (timing_now() - joined);
    return 0;
}

/* Orders the matches and copies them to the host.  The heap has gone, so that there is room. */
static int fetch(struct engine *engine, struct join_result *result)
{
    struct work *work = &engine->work;
    uint64_t *words = (uint64_t *)engine->memory[MATCHES];
    void *spare = NULL;
    const double began = timing_now();
    result->matches = (uint64_t *)malloc((result->count + 1) * sizeof *result->matches);
    if (!result->matches)
        return tool_error(TOOL_FAILED, "not enough memory for %llu matches",
                          (unsigned long long)result->count);
    int code = work_create(work, result->count * sizeof *words, &spare, "memory to order the matches");
    uint64_t *other = (uint64_t *)spare;
    if (code == 0)
        code = work_sort(work, &words, &other, result->count, 0, bits_of(engine->tables[1]->count - 1));
    if (code == 0)
        code = work_sort(work, &words, &other, result->count, 32, bits_of(engine->tables[0]->count - 1));
    if (code == 0)
        code = work_copy(work, result->matches, words, result->count * sizeof *words);
    work_destroy(work, &spare);
    engine->statistics->gather_us += 1e6 * (timing_now() - began);
    return code;
}

static int open_engine(struct engine *engine)
{
    const struct method_task *task = engine->task;
    if (work_open(&engine->work, &task->target, engine->memory, BUFFERS))
        return TOOL_FAILED;
    for (unsigned i = 0; i <= JOIN_STAGES; i++)
        if (work_check(quarry_event_create(&task->target, &engine->marks[i]), "timing"))
            return TOOL_FAILED;
    return create_buffers(engine) || (!task->method.two_pass && create_heap(engine));
}

static void close_engine(struct engine *engine)
{
    tool_progress_end();
    for (unsigned i = 0; i <= JOIN_STAGES; i++)
        quarry_event_destroy(engine->marks[i]);
    work_close(&engine->work);
}

static int work_through(struct engine *engine, struct join_result *result)
{
    struct join_statistics *statistics = engine->statistics;
    const struct method_options *method = &engine->task->method;
    if (open_engine(engine) || work_repeat(statistics->us, JOIN_TIMES, method->runs, run_once, engine))
        return TOOL_FAILED;
    statistics->partitions = engine->job.partitions;
    statistics->items = engine->job.item_count;
    result->count = engine->matches;
    if (work_end_trace(&engine->work, method))
        return TOOL_FAILED;
    work_destroy_heap(&engine->work);
    return engine->want_matches && result->count ? fetch(engine, result) : 0;
}

int join_run(const struct join_table *left, const struct join_table *right, const struct method_task *task,
             int want_matches, struct join_result *result, struct join_statistics *statistics)
{
    memset(result, 0, sizeof *result);
    memset(statistics, 0, sizeof *statistics);
    if (left->count == 0 || right->count == 0)
        return work_no_trace(&task->method);
    struct engine engine;
    memset(&engine, 0, sizeof engine);
    engine.tables[0] = left;
    engine.tables[1] = right;
    engine.task = task;
    engine.want_matches = want_matches;
    engine.statistics = statistics;
    int code = work_through(&engine, result);
    close_engine(&engine);
    if (code)
        join_free(result);
    return code;
}

void join_free(struct join_result *result)
{
    free(result->matches);
    memset(result, 0, sizeof *result);
}
