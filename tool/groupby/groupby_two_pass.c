/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of the two-pass group-by: memory, passes, checks. */
#include "groupby/groupby_two_pass.h"

#include "groupby/groupby_two_pass_kernels.h"
#include "timing.h"
#include "tool.h"

#include <string.h>

enum buffer { KEYS, ROWS_EVEN, ROWS_ODD, BUCKET_OF_ROW, GROUP_ROWS, GROUP_COUNTS, PLACES, NUMBERS, BUFFERS };

struct engine {
    const struct groupby_table *table;
    struct groupby_statistics *statistics;
    struct work work;
    void *memory[BUFFERS];
    uint64_t children_room; /* of PLACES and NUMBERS */
    uint64_t groups;
    struct two_pass_job job;
};

static int create_buffer(struct engine *engine, enum buffer which, uint64_t bytes)
{
    return work_create(&engine->work, bytes, &engine->memory[which], "memory for the rows and their groups");
}

static int launch(struct engine *engine, const struct simt_kernel *kernel, uint64_t threads)
{
    return work_launch_over(&engine->work, kernel, threads, &engine->job);
}

/* ---- set-up ---- */

static int create_buffers(struct engine *engine)
{
    const struct groupby_table *table = engine->table;
    struct two_pass_job *job = &engine->job;
    const uint64_t bytes = table->count * sizeof(uint32_t);
    const double began = timing_now();
    if (create_buffer(engine, KEYS, bytes) ||
        work_copy(&engine->work, engine->memory[KEYS], table->integers, bytes))
        return TOOL_FAILED;
    engine->statistics->upload_us = 1e6 * (timing_now() - began);
    for (int which = ROWS_EVEN; which <= GROUP_COUNTS; which++)
        if (create_buffer(engine, (enum buffer)which, bytes))
            return TOOL_FAILED;
    job->integers = (const uint32_t *)engine->memory[KEYS];
    job->rows = table->count;
    job->bucket_of_row = (uint32_t *)engine->memory[BUCKET_OF_ROW];
    job->group_rows = (uint32_t *)engine->memory[GROUP_ROWS];
    job->group_counts = (uint32_t *)engine->memory[GROUP_COUNTS];
    return 0;
}

static int create_children(struct engine *engine, uint64_t children)
{
    struct two_pass_job *job = &engine->job;
    job->children = children;
    if (children <= engine->children_room)
        return 0;
    work_destroy(&engine->work, &engine->memory[PLACES]);
    work_destroy(&engine->work, &engine->memory[NUMBERS]);
    engine->children_room = 0;
    if (create_buffer(engine, PLACES, children * sizeof(uint64_t)) ||
        create_buffer(engine, NUMBERS, (children + 1) * sizeof(uint64_t)))
        return TOOL_FAILED;
    engine->children_room = children;
    engine->statistics->table_bytes = (2 * children + 1) * sizeof(uint64_t);
    job->places = (uint64_t *)engine->memory[PLACES];
    job->numbers = (uint64_t *)engine->memory[NUMBERS];
    return 0;
}

/* ---- the passes ---- */

/* Splits `buckets` buckets, which become as many as the last of the prefix sums says. */
static int run_pass(struct engine *engine, uint32_t pass, uint64_t *buckets)
{
    struct two_pass_job *job = &engine->job;
    struct work *work = &engine->work;
    double *us = engine->statistics->us;
    double count_us = 0;
    double sum_us = 0;
    double write_us = 0;
    job->shift = GROUPBY_INTEGER_BITS - (pass + 1) * GROUPBY_PASS_BITS;
    job->from = pass ? job->to : NULL;
    job->to = (uint32_t *)engine->memory[pass % 2 ? ROWS_ODD : ROWS_EVEN];
    if (create_children(engine, *buckets << GROUPBY_PASS_BITS) ||
        work_zero(work, job->places, job->children * sizeof *job->places) || work_begin(work) ||
        launch(engine, &two_pass_count, job->rows) || work_end(work, "counting", &count_us) ||
        work_begin(work) || launch(engine, &two_pass_number, job->children + 1) ||
        work_scan(work, job->numbers, job->children + 1) || work_scan(work, job->places, job->children) ||
        work_end(work, "prefix sums", &sum_us) ||
        work_copy(work, buckets, job->numbers + job->children, sizeof *buckets) || work_begin(work) ||
        launch(engine, &two_pass_write, job->rows) || work_end(work, "writing", &write_us))
        return TOOL_FAILED;
    us[GROUPBY_TIME_PASS + pass] = count_us + sum_us + write_us;
    us[GROUPBY_TIME_COUNT] += count_us;
    us[GROUPBY_TIME_PREFIX_SUM] += sum_us;
    us[GROUPBY_TIME_WRITE] += write_us;
    return 0;
}

static int run_once(void *context, unsigned run)
{
    (void)run;
    struct engine *engine = (struct engine *)context;
    const uint64_t rows = engine->table->count;
    const double began = timing_now();
    double *us = engine->statistics->us;
    uint64_t buckets = 1;
    if (work_zero(&engine->work, engine->job.bucket_of_row, rows * sizeof(uint32_t)))
        return TOOL_FAILED;
    for (uint32_t pass = 0; pass < GROUPBY_INTEGER_PASSES; pass++)
        if (run_pass(engine, pass, &buckets))
            return TOOL_FAILED;
    if (buckets > rows)
        return tool_internal_error("there are more groups than rows");
    if (work_begin(&engine->work) || launch(engine, &two_pass_groups, engine->job.children) ||
        work_end(&engine->work, "finding the groups", &us[GROUPBY_TIME_RESOLVE]))
        return TOOL_FAILED;
    engine->groups = buckets;
    us[GROUPBY_TIME_ALL] = 1e6 * (timing_now() - began);
    return 0;
}

static int work_through(struct engine *engine, const struct method_task *task, int want_rows,
                        struct groupby_result *result)
{
    const struct two_pass_job *job = &engine->job;
    if (work_open(&engine->work, &task->target, engine->memory, BUFFERS) || create_buffers(engine) ||
        work_repeat(engine->statistics->us, GROUPBY_TIMES, task->method.runs, run_once, engine))
        return TOOL_FAILED;
    engine->statistics->passes = GROUPBY_INTEGER_PASSES;
    for (unsigned pass = 0; pass < GROUPBY_INTEGER_PASSES; pass++)
        engine->statistics->pass[pass].rows = job->rows;
    return groupby_fetch(&engine->work, result, engine->groups, job->group_rows, job->group_counts,
                         want_rows ? job->bucket_of_row : NULL, job->rows);
}

int groupby_run_two_pass(const struct groupby_table *table, const struct method_task *task, int want_rows,
                         struct groupby_result *result, struct groupby_statistics *statistics)
{
    memset(result, 0, sizeof *result);
    memset(statistics, 0, sizeof *statistics);
    struct engine engine;
    memset(&engine, 0, sizeof engine);
    engine.table = table;
    engine.statistics = statistics;
    int code = work_through(&engine, task, want_rows, result);
    work_close(&engine.work);
    if (code)
        groupby_free(result);
    return code;
}
