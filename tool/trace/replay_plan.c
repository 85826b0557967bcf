/* SPDX-License-Identifier: Apache-2.0 */
/* Makes batches of a trace; replay_plan.h has the picture. */
#include "trace/replay_plan.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define LAST_THREADS (1u << 16) /* of the batch that frees what is left */
#define NO_BATCH UINT64_MAX

struct planner {
    struct replay_plan *plan;
    const struct quarry_trace_file *trace;
    uint64_t *keys; /* of the batch so far: thread << 32 | event */
    uint64_t key_count;
    uint64_t begun; /* starts of the batch that are there */
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t may_live; /* blocks: those before the batch, and all that it allocates */
    /* Of each block: */
    uint64_t *batch;  /* in which it is allocated */
    uint32_t *thread; /* that does so */
    uint64_t *bytes;  /* 0: not live */
    /* Elements that memory was taken for. */
    uint64_t batch_room;
    uint64_t start_room;
};

static int no_memory(void)
{
    tool_error(TOOL_FAILED, "not enough memory to replay the trace");
    return TOOL_FAILED;
}

/* Makes room for one more element. */
static int grow(void **memory, uint64_t *room, uint64_t used, size_t bytes)
{
    if (used < *room)
        return 0;
    uint64_t more = *room ? 2 * *room : 1024;
    void *larger = realloc(*memory, more * bytes);
    if (!larger)
        return no_memory();
    *memory = larger;
    *room = more;
    return 0;
}

static int begin_batch(struct planner *p)
{
    struct replay_plan *plan = p->plan;
    if (grow((void **)&plan->batches, &p->batch_room, plan->batch_count, sizeof *plan->batches))
        return TOOL_FAILED;
    plan->batches[plan->batch_count].first = plan->start_count;
    plan->batches[plan->batch_count].threads = 0;
    p->begun = 0;
    return 0;
}

/* The next step is of this thread of the batch or a later one; threads between have none. */
static int begin_thread(struct planner *p, uint64_t thread)
{
    struct replay_plan *plan = p->plan;
    for (; p->begun <= thread; p->begun++) {
        if (grow((void **)&plan->starts, &p->start_room, plan->start_count, sizeof *plan->starts))
            return TOOL_FAILED;
        plan->starts[plan->start_count++] = (uint32_t)plan->step_count;
    }
    return 0;
}

static int end_batch(struct planner *p, uint64_t threads)
{
    struct replay_plan *plan = p->plan;
    if (begin_thread(p, threads))
        return TOOL_FAILED;
    plan->batches[plan->batch_count].threads = (uint32_t)threads;
    return 0;
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* Writes the batch of p->keys: warps of the trace become warps one after the other. */
static int close_batch(struct planner *p)
{
    struct replay_plan *plan = p->plan;
    uint64_t warps = 0, warp = NO_BATCH;
    if (p->key_count == 0)
        return 0;
    qsort(p->keys, p->key_count, sizeof *p->keys, compare);
    if (begin_batch(p))
        return TOOL_FAILED;
    for (uint64_t i = 0; i < p->key_count; i++) {
        const uint64_t thread = p->keys[i] >> 32;
        const struct quarry_trace_event *event = &p->trace->events[(uint32_t)p->keys[i]];
        struct replay_step *step = &plan->steps[plan->step_count];
        warps += thread / SIMT_LANES != warp;
        warp = thread / SIMT_LANES;
        if (begin_thread(p, (warps - 1) * SIMT_LANES + thread % SIMT_LANES))
            return TOOL_FAILED;
        step->bytes = p->bytes[event->block];
        step->block = event->block;
        step->is_free = event->kind == QUARRY_TRACE_FREE;
        plan->step_count++;
    }
    p->key_count = 0;
    p->may_live = p->live_blocks;
    if (end_batch(p, warps * SIMT_LANES))
        return TOOL_FAILED;
    if (p->live_bytes > plan->fullest_bytes) {
        plan->fullest_bytes = p->live_bytes;
        plan->fullest = plan->batch_count;
    }
    plan->batch_count++;
    return 0;
}

/* Frees what lives at the end, so that a heap can be used again. */
static int close_plan(struct planner *p)
{
    struct replay_plan *plan = p->plan;
    const uint64_t share = p->live_blocks / LAST_THREADS + 1;
    uint64_t threads = 0, freed = 0;
    if (begin_batch(p))
        return TOOL_FAILED;
    for (uint32_t block = 0; block < plan->blocks; block++) {
        if (p->batch[block] == NO_BATCH)
            continue;
        threads = freed++ / share + 1;
        if (begin_thread(p, threads - 1))
            return TOOL_FAILED;
        const struct replay_step step = {p->bytes[block], block, 1};
        plan->steps[plan->step_count++] = step;
    }
    return end_batch(p, (threads + SIMT_LANES - 1) / SIMT_LANES * SIMT_LANES);
}

static void note_malloc(struct planner *p, const struct quarry_trace_event *event)
{
    struct replay_plan *plan = p->plan;
    p->batch[event->block] = plan->batch_count;
    p->thread[event->block] = event->thread;
    p->bytes[event->block] = event->bytes;
    p->live_bytes += event->bytes;
    p->live_blocks++;
    if (p->live_bytes > plan->peak_bytes) {
        plan->peak_bytes = p->live_bytes;
        plan->peak_blocks = p->live_blocks;
    }
    if (++p->may_live > plan->most_live)
        plan->most_live = p->may_live;
    plan->least = event->bytes < plan->least ? event->bytes : plan->least;
    plan->most = event->bytes > plan->most ? event->bytes : plan->most;
}

static int take_event(struct planner *p, uint64_t number, uint64_t window)
{
    const struct quarry_trace_event *event = &p->trace->events[number];
    const int is_free = event->kind == QUARRY_TRACE_FREE;
    if (event->kind == QUARRY_TRACE_FAILED)
        return 0;
    const int waits =
        is_free && p->batch[event->block] == p->plan->batch_count && p->thread[event->block] != event->thread;
    const int other =
        p->key_count && event->launch != p->trace->events[(uint32_t)p->keys[p->key_count - 1]].launch;
    if ((waits || other || (window && p->key_count == window)) && close_batch(p))
        return TOOL_FAILED;
    p->keys[p->key_count++] = (uint64_t)event->thread << 32 | number;
    if (!is_free) {
        note_malloc(p, event);
    } else {
        p->batch[event->block] = NO_BATCH;
        p->live_bytes -= p->bytes[event->block];
        p->live_blocks--;
    }
    return 0;
}

int replay_plan_make(struct replay_plan *plan, const struct quarry_trace_file *trace, uint64_t window)
{
    const struct quarry_trace_header *header = &trace->header;
    struct planner p;
    int code = 0;
    memset(plan, 0, sizeof *plan);
    memset(&p, 0, sizeof p);
    p.plan = plan;
    p.trace = trace;
    p.keys = (uint64_t *)malloc((header->events + 1) * sizeof *p.keys);
    p.batch = (uint64_t *)calloc(header->blocks + 1, sizeof *p.batch);
    p.thread = (uint32_t *)calloc(header->blocks + 1, sizeof *p.thread);
    p.bytes = (uint64_t *)calloc(header->blocks + 1, sizeof *p.bytes);
    plan->steps = (struct replay_step *)malloc((2 * header->blocks + 1) * sizeof *plan->steps);
    plan->blocks = header->blocks;
    plan->launches = header->launches;
    plan->least = UINT64_MAX;
    if (header->blocks > UINT32_MAX / 2 || !p.keys || !p.batch || !p.thread || !p.bytes || !plan->steps)
        code = no_memory();
    for (uint64_t i = 0; i < header->events && code == 0; i++)
        code = take_event(&p, i, window);
    if (code == 0)
        code = close_batch(&p) || close_plan(&p);
    free(p.keys);
    free(p.batch);
    free(p.thread);
    free(p.bytes);
    return code;
}

void replay_plan_free(struct replay_plan *plan)
{
    free(plan->batches);
    free(plan->starts);
    free(plan->steps);
    memset(plan, 0, sizeof *plan);
}
