/* SPDX-License-Identifier: Apache-2.0 */
/* The warp executor: launches.  There is no scheduler fiber: a lane that can't go on picks its successor
 * itself and switches to it. */
#include "cpu/weak.h"

#include <sched.h>
#include <stdlib.h>

#define DEFAULT_RESIDENT 8u
#define DEFAULT_STACK_BYTES (64u << 10)
#define NEVER_RAN 2u

__thread struct simt_cpu_state simt_cpu __attribute__((tls_model("initial-exec")));
__thread struct worker *simt_worker;

/* Everything that outlives a launch: stacks are costly to make. */
struct crew {
    struct crew *next;
    struct fiber *stacks;
    uint32_t stack_count;
    uint32_t stack_bytes;
    unsigned char signals[SIMT_SIGNAL_STACK_BYTES]; /* the stack of the worker's signal handlers */
};

static void lane_main(void)
{
    struct worker *w = simt_worker;
    struct run *run = w->run;
    simt_fiber_tsan_acquire(&run->begin_token);
    if (run->launch->shared_bytes)
        simt_fiber_tsan_acquire(&w->shared_token);
    run->launch->kernel(run->launch->argument);
    if (run->launch->shared_bytes)
        simt_fiber_tsan_release(&w->shared_token);
    simt_fiber_tsan_release(&run->end_token);
    struct lane *me = w->current;
    struct block *b = me->block;
    struct warp *wp = me->warp;
    wp->ready &= ~bit_of(me);
    wp->done |= bit_of(me);
    b->live--;
    simt_cpu.changes++;
    simt_block_try_open(w, b);
    simt_worker_yield(w, 1);
}

/* Fills a free place with the next block, if there is one. */
static void start_block(struct worker *w, struct block *b)
{
    struct run *run = w->run;
    const struct simt_cpu_launch *launch = run->launch;
    uint32_t slot = (uint32_t)(b - w->blocks);
    if (__atomic_load_n(&run->next_block, __ATOMIC_RELAXED) >= launch->blocks)
        return;
    b->index = __atomic_fetch_add(&run->next_block, 1, __ATOMIC_RELAXED);
    if (b->index >= launch->blocks)
        return;
    b->live = launch->threads;
    b->at_barrier = 0;
    simt_weak_forget(w->weak, b->shared, launch->shared_bytes);
    for (uint32_t k = 0; k < run->warps; k++) {
        uint32_t here = launch->threads - k * SIMT_LANES;
        uint32_t exists = here >= SIMT_LANES ? SIMT_ALL_LANES : (1u << here) - 1u;
        b->warps[k] = (struct warp){
            .exists = exists, .ready = exists, .last = SIMT_LANES - 1, .lanes = b->lanes + k * SIMT_LANES};
    }
    /* One worker runs all blocks of deterministic mode: there blocks stand for multiprocessors. */
    uint32_t sm = deterministic(w) ? b->index : w->index;
    for (uint32_t i = 0; i < launch->threads; i++) {
        struct lane *lane = &b->lanes[i];
        struct fiber *fiber = &w->crew->stacks[slot * launch->threads + i];
        lane->self = (struct simt_cpu_lane){i % SIMT_LANES, i / SIMT_LANES, i,  launch->threads,
                                            b->index,       launch->blocks, sm, b->shared};
        lane->fiber = fiber;
        lane->block = b;
        lane->warp = &b->warps[i / SIMT_LANES];
        lane->place = NULL;
        if (by_priority(w))
            lane->priority = lane->regained = FIRST_BAND | random_next(w) >> 1;
        lane->spent = 0;
        if (w->weak)
            simt_weak_start(w->weak, slot * launch->threads + i, lane);
        simt_fiber_prepare(fiber, lane_main, i);
    }
}

static pthread_mutex_t crews_lock = PTHREAD_MUTEX_INITIALIZER;
static struct crew *idle_crews;

/* A crew with at least `count` stacks of `bytes` bytes, or NULL. */
static struct crew *crew_take(uint32_t count, uint32_t bytes)
{
    pthread_mutex_lock(&crews_lock);
    struct crew *crew = idle_crews;
    if (crew)
        idle_crews = crew->next;
    pthread_mutex_unlock(&crews_lock);
    if (!crew)
        crew = calloc(1, sizeof *crew);
    if (crew && (crew->stack_count < count || crew->stack_bytes != bytes)) {
        simt_fiber_stacks_destroy(crew->stacks, crew->stack_count);
        crew->stacks = NULL;
        crew->stack_count = 0;
        crew->stack_bytes = bytes;
        if (simt_fiber_stacks_create(&crew->stacks, count, bytes) == 0)
            crew->stack_count = count;
    }
    if (crew && !crew->stacks) {
        free(crew);
        return NULL;
    }
    return crew;
}

/* Stacks on which lanes were abandoned hold frames that a sanitizer believes alive: not kept. */
static void crew_give(struct crew *crew, int abandoned)
{
    if (!crew)
        return;
    if (abandoned) {
        simt_fiber_stacks_destroy(crew->stacks, crew->stack_count);
        free(crew);
        return;
    }
    pthread_mutex_lock(&crews_lock);
    crew->next = idle_crews;
    idle_crews = crew;
    pthread_mutex_unlock(&crews_lock);
}

/* Gives the worker its records and stacks.  Returns 0, or -1 without memory. */
static int worker_prepare(struct worker *w)
{
    struct run *run = w->run;
    const struct simt_cpu_launch *launch = run->launch;
    w->blocks = calloc(run->resident, sizeof *w->blocks);
    w->crew = crew_take(launch->threads * run->resident, run->stack_bytes);
    w->choice[0] = calloc((size_t)run->resident * run->warps * 2, sizeof **w->choice);
    if (launch->weak)
        w->weak = simt_weak_begin(w, run->resident * launch->threads, launch->seed);
    if (!w->blocks || !w->crew || !w->choice[0] || (launch->weak && !w->weak))
        return -1;
    w->choice[1] = w->choice[0] + (size_t)run->resident * run->warps;
    for (uint32_t i = 0; i < run->resident; i++) {
        struct block *b = &w->blocks[i];
        size_t shared = ((size_t)launch->shared_bytes + 63) / 64 * 64;
        b->warps = calloc(run->warps, sizeof *b->warps);
        b->lanes = calloc((size_t)run->warps * SIMT_LANES, sizeof *b->lanes);
        b->shared = shared ? aligned_alloc(64, shared) : NULL;
        if (!b->warps || !b->lanes || (shared && !b->shared))
            return -1;
    }
    return 0;
}

static void worker_release(struct worker *w, int abandoned)
{
    for (uint32_t i = 0; w->blocks && i < w->run->resident; i++) {
        free(w->blocks[i].warps);
        free(w->blocks[i].lanes);
        free(w->blocks[i].shared);
    }
    free(w->blocks);
    free(w->choice[0]);
    crew_give(w->crew, abandoned);
    simt_weak_end(w->weak);
}

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    struct run *run = w->run;
    struct simt_cpu_state saved = simt_cpu;
    struct worker *saved_worker = simt_worker;
    stack_t saved_signals;
    simt_worker = w;
    simt_cpu = (struct simt_cpu_state){NULL, 0, 0};
    simt_fiber_adopt_thread(&w->thread);
    simt_stack_watch_enter(&saved_signals, w->crew->signals);
    simt_fiber_tsan_release(
        &run->begin_token); /* this thread's own memory, its TLS above all, before its lanes */
    while (!__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
        for (uint32_t i = 0; i < run->resident; i++)
            if (!w->blocks[i].live)
                start_block(w, &w->blocks[i]);
        struct lane *first = simt_worker_next(w);
        if (!first)
            break;
        w->current = first;
        simt_cpu.self = &first->self;
        simt_cpu.fuel = deterministic(w) && !by_priority(w) ? 0 : simt_worker_fuel(w, first);
        simt_fiber_switch(&w->thread, first->fiber, 0);
        w->current = NULL;
    }
    if (__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
        simt_worker_describe(w);
        for (uint32_t i = 0; i < w->crew->stack_count; i++)
            simt_fiber_tsan_release_for(&w->crew->stacks[i], &w->thread, &run->end_token);
    }
    simt_worker_finish(w);
    simt_stack_watch_leave(&saved_signals);
    simt_worker = saved_worker;
    simt_cpu = saved;
    return NULL;
}

int simt_cpu_has_weak(void)
{
    return SIMT_WEAK_BUILD;
}

uint32_t simt_cpu_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    return 1;
}

enum simt_cpu_outcome simt_cpu_run(const struct simt_cpu_launch *launch, char *report, size_t report_bytes)
{
    struct run run = {.launch = launch, .report = report, .report_bytes = report_bytes};
    uint32_t workers = 1;
    run.warps = (launch->threads + SIMT_LANES - 1) / SIMT_LANES;
    run.resident = 1;
    run.stack_bytes = launch->stack_bytes ? launch->stack_bytes : DEFAULT_STACK_BYTES;
    if (launch->seed) {
        run.resident = launch->resident_blocks ? launch->resident_blocks : DEFAULT_RESIDENT;
        if (run.resident > launch->blocks)
            run.resident = launch->blocks;
        if (launch->weak && run.resident * launch->threads > WEAK_MOST_LANES)
            run.resident = WEAK_MOST_LANES / launch->threads;
    } else {
        workers = launch->workers ? launch->workers : simt_cpu_cores();
        if (workers > launch->blocks)
            workers = launch->blocks;
    }
    report[0] = '\0';
    run.workers = calloc(workers, sizeof *run.workers);
    if (!run.workers)
        return SIMT_CPU_MEMORY;
    pthread_mutex_init(&run.report_lock, NULL);

    int prepared = 0;
    for (; prepared < (int)workers; prepared++) {
        struct worker *w = &run.workers[prepared];
        w->run = &run;
        w->index = (uint32_t)prepared;
        w->random = launch->seed;
        w->clock_origin = random_next(w) >> 1;
        w->stalled_epoch = NEVER;
        w->round_epoch = NEVER;
        if (by_priority(w))
            simt_worker_begin_priorities(w);
        if (worker_prepare(w) != 0) {
            worker_release(w, 0);
            break;
        }
    }
    /* Fewer workers than wished for do the same work; none is an error. */
    run.worker_count = (uint32_t)prepared;
    if (prepared == 0)
        run.outcome = SIMT_CPU_MEMORY;
    simt_fiber_tsan_release(&run.begin_token);
    simt_run_enter(&run);
    for (int i = 1; i < prepared; i++)
        if (pthread_create(&run.workers[i].handle, NULL, worker_main, &run.workers[i]) != 0)
            __atomic_store_n(&run.workers[i].finished, NEVER_RAN, __ATOMIC_RELEASE);
    if (prepared)
        worker_main(&run.workers[0]);
    for (int i = 1; i < prepared; i++)
        if (__atomic_load_n(&run.workers[i].finished, __ATOMIC_ACQUIRE) != NEVER_RAN)
            pthread_join(run.workers[i].handle, NULL);
    simt_run_leave(&run);
    simt_fiber_tsan_acquire(&run.end_token);
    for (int i = 0; i < prepared; i++)
        worker_release(&run.workers[i], run.outcome != SIMT_CPU_OK);
    pthread_mutex_destroy(&run.report_lock);
    free(run.workers);
    return run.outcome;
}
