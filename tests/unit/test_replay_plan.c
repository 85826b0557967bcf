/* SPDX-License-Identifier: Apache-2.0 */
/* The batches that a trace is replayed in, for random traces: every malloc and free is there once; launches
 * are in their order and so is each thread's work; no thread frees what another allocates in the same batch.
 */
#include "common.h"

#include "tool.h"
#include "trace/replay_plan.h"

#define TRACES 300u
#define MOST 600u /* events of one */
#define THREADS 200u

static struct quarry_trace_event events[MOST];
static struct quarry_trace_file trace;

/* The command's own prints, and brings the benchmark along. */
int tool_error(int code, const char *format, ...)
{
    (void)format;
    return code;
}

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*random >> 33) % below);
}

/* Some traces have many threads a launch, others few; some free much, others little. */
static void make_trace(uint64_t seed)
{
    uint64_t random = seed;
    uint32_t live[MOST], live_count = 0, launch = 0;
    const uint32_t threads = 1 + draw(&random, THREADS), frees = draw(&random, 100);
    memset(&trace, 0, sizeof trace);
    trace.events = events;
    trace.header.events = draw(&random, MOST);
    for (uint64_t i = 0; i < trace.header.events; i++) {
        struct quarry_trace_event *event = &events[i];
        launch += i > 0 && draw(&random, 40) == 0;
        event->launch = launch;
        event->thread = draw(&random, threads);
        event->kind = live_count && draw(&random, 100) < frees ? QUARRY_TRACE_FREE
                      : draw(&random, 20) == 0                 ? QUARRY_TRACE_FAILED
                                                               : QUARRY_TRACE_MALLOC;
        event->bytes = event->kind == QUARRY_TRACE_FREE ? 0 : 1 + draw(&random, 1000);
        event->block = UINT32_MAX;
        trace.header.failed += event->kind == QUARRY_TRACE_FAILED;
        if (event->kind == QUARRY_TRACE_MALLOC) {
            event->block = (uint32_t)trace.header.blocks++;
            live[live_count++] = event->block;
        } else if (event->kind == QUARRY_TRACE_FREE) {
            const uint32_t chosen = draw(&random, live_count);
            event->block = live[chosen];
            live[chosen] = live[--live_count];
        }
    }
    trace.header.launches = trace.header.events ? launch + 1 : 0;
}

/* Where the event is in the plan: of this block and kind. */
struct place {
    int found;
    uint64_t batch;
    uint32_t thread;
    uint32_t step;
};

static struct place places[2][MOST]; /* of each block's malloc and free */

static void find_places(const struct replay_plan *plan)
{
    memset(places, 0, sizeof places);
    for (uint64_t b = 0; b <= plan->batch_count; b++) {
        const struct replay_batch *batch = &plan->batches[b];
        const uint32_t *starts = plan->starts + batch->first;
        assert_int_equal(batch->threads % SIMT_LANES, 0);
        assert_true(batch->first + batch->threads < plan->start_count);
        for (uint32_t thread = 0; thread < batch->threads; thread++)
            for (uint32_t i = starts[thread]; i < starts[thread + 1]; i++) {
                const struct replay_step *step = &plan->steps[i];
                struct place *place = &places[step->is_free][step->block];
                const struct place here = {1, b, thread, i};
                assert_true(i < plan->step_count && step->block < plan->blocks);
                assert_false(place->found);
                *place = here;
            }
    }
}

/* Compares the plan with the trace, event by event. */
static void check(const struct replay_plan *plan, uint64_t window)
{
    static struct place last[THREADS];
    static uint64_t bytes[MOST], in_batch[MOST + 1];
    static uint32_t launches[MOST + 1];
    uint64_t live = 0, peak = 0, done = 0, frees = 0;
    memset(last, 0, sizeof last);
    memset(in_batch, 0, sizeof in_batch);
    find_places(plan);
    for (uint64_t i = 0; i < trace.header.events; i++) {
        const struct quarry_trace_event *event = &events[i];
        const int is_free = event->kind == QUARRY_TRACE_FREE;
        if (event->kind == QUARRY_TRACE_FAILED)
            continue;
        const struct place *here = &places[is_free][event->block], *before = &last[event->thread];
        assert_true(here->found && here->batch < plan->batch_count);
        if (!is_free)
            bytes[event->block] = event->bytes;
        assert_int_equal(plan->steps[here->step].bytes, bytes[event->block]);
        assert_int_equal(here->thread % SIMT_LANES, event->thread % SIMT_LANES);
        /* A batch is of one launch, and no event is in one before that of an event before it. */
        if (in_batch[here->batch]++)
            assert_int_equal(launches[here->batch], event->launch);
        launches[here->batch] = event->launch;
        assert_true(here->batch >= done);
        done = here->batch;
        if (before->found && before->batch == here->batch)
            assert_true(before->thread == here->thread && before->step < here->step);
        if (is_free) {
            const struct place *made = &places[0][event->block];
            assert_true(made->batch < here->batch || made->thread == here->thread);
        }
        last[event->thread] = *here;
        frees += is_free;
        live += is_free ? -bytes[event->block] : bytes[event->block];
        peak = live > peak ? live : peak;
    }
    for (uint64_t b = 0; b < plan->batch_count; b++)
        assert_true(in_batch[b] > 0 && (!window || in_batch[b] <= window));
    assert_int_equal(plan->peak_bytes, peak);
    assert_int_equal(plan->step_count, 2 * trace.header.blocks);
    for (uint64_t block = 0; block < plan->blocks; block++) {
        assert_true(places[1][block].found);
        frees += places[1][block].batch == plan->batch_count;
    }
    assert_int_equal(frees, plan->blocks); /* the rest in the last batch */
}

static void a_plan_keeps_what_a_trace_demands(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        const uint64_t window = seed % 3 ? 0 : 1 + seed % 7;
        struct replay_plan plan;
        make_trace(seed);
        assert_int_equal(replay_plan_make(&plan, &trace, window), 0);
        check(&plan, window);
        replay_plan_free(&plan);
    }
}

/* Eight threads, each of which allocates, and frees what it has: one batch.  What the next one has: a batch
 * more. */
static void a_batch_is_as_long_as_can_be(void **state)
{
    (void)state;
    for (uint32_t other = 0; other < 2; other++) {
        struct replay_plan plan;
        memset(&trace, 0, sizeof trace);
        trace.events = events;
        trace.header.events = 16;
        trace.header.blocks = 8;
        trace.header.launches = 1;
        for (uint32_t i = 0; i < 16; i++) {
            const struct quarry_trace_event event = {0, (i + (i > 7) * other) % 8, i > 7, i % 8,
                                                     i > 7 ? 0 : 16};
            events[i] = event;
        }
        assert_int_equal(replay_plan_make(&plan, &trace, 0), 0);
        assert_int_equal(plan.batch_count, 1 + other);
        replay_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_keeps_what_a_trace_demands),
        cmocka_unit_test(a_batch_is_as_long_as_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
