/* SPDX-License-Identifier: Apache-2.0 */
/* When nothing advances any more, and what a report says.
 *
 * A round without a successful atomic change anywhere brings the next round to the same
 * state, unless a lane counts its own turns; so nothing is reported before STALLED_ROUNDS of them.  Lanes
 * may wait for lanes of another worker, and of another launch that runs at the same time.  So each worker
 * records the `epoch` (bumped by every worker after every round with changes) at which it stalled, and the
 * verdict needs every worker of every launch to have stalled at the present one: all have polled in vain
 * since the last change.  A worker that the system left without a core for a while holds an old epoch and
 * so delays the verdict, as does a launch that computes. */
#include "cpu/executor_run.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STALLED_ROUNDS_FAST 10000u
#define STALLED_ROUNDS_DETERMINISTIC 200u
#define STALLED_SLEEP_NS 20000

static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct run *runs;   /* under way */
static uint64_t epoch_now; /* atomic */

/* ---- reports ---- */

struct text {
    char *at;
    size_t left;
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->at, t->left, format, arguments);
    va_end(arguments);
    if (n > 0) {
        size_t written = (size_t)n < t->left ? (size_t)n : (t->left ? t->left - 1 : 0);
        t->at += written;
        t->left -= written;
    }
}

static const char *op_name(enum simt_cpu_op op)
{
    static const char *const names[] = {"ballot",     "shuffle",    "match",     "reduce_add",
                                        "reduce_min", "reduce_max", "reduce_or", "sync"};
    return names[op];
}

/* One line for each set of lanes of a warp that wait for the same thing at the same place. */
static void describe_warp(struct text *t, const struct block *b, uint32_t index)
{
    const struct warp *wp = &b->warps[index];
    uint32_t left = wp->exists & ~wp->done;
    if (wp->done && left)
        say(t, "\n  block %u warp %u lanes 0x%08x: returned", b->index, index, wp->done);
    while (left) {
        const struct lane *first = &wp->lanes[lowest(left)];
        uint32_t bit = bit_of(first);
        uint32_t state = wp->collective & bit ? wp->collective
                         : wp->barrier & bit  ? wp->barrier
                         : wp->backoff & bit  ? wp->backoff
                         : wp->active & bit   ? wp->active
                                              : wp->ready;
        uint32_t same = 0;
        for (uint32_t rest = left & state; rest; rest &= rest - 1) {
            const struct lane *l = &wp->lanes[lowest(rest)];
            if (l->place == first->place && (state != wp->collective || l->mask == first->mask))
                same |= bit_of(l);
        }
        say(t, "\n  block %u warp %u lanes 0x%08x: ", b->index, index, same);
        if (wp->collective & bit)
            say(t, "in simt_%s of lanes 0x%08x at %s", op_name(first->op), first->mask, first->place);
        else if (wp->barrier & bit)
            say(t, "at the block barrier at %s", first->place);
        else if (wp->backoff & bit)
            say(t, "backing off at %s", first->place);
        else
            say(t, "running");
        left &= ~same;
    }
}

void simt_worker_fail(struct worker *w, enum simt_cpu_outcome outcome, const char *what, const char *place)
{
    struct run *run = w->run;
    pthread_mutex_lock(&run->report_lock);
    if (run->outcome == SIMT_CPU_OK) {
        struct text t = {run->report, run->report_bytes};
        run->outcome = outcome;
        say(&t, "kernel %s: %s%s%s", run->launch->name, what, place ? " at " : "", place ? place : "");
        if (outcome == SIMT_CPU_ASSERT)
            say(&t, ", block %u warp %u lane %u", w->current->self.block, w->current->self.warp,
                w->current->self.lane);
        if (by_priority(w))
            say(&t, " (seed %llu, depth %u)", (unsigned long long)run->launch->seed, run->launch->bug_depth);
        else if (deterministic(w))
            say(&t, " (seed %llu)", (unsigned long long)run->launch->seed);
        else
            say(&t, " (fast mode: a seed makes an interleaving that can be replayed)");
    }
    pthread_mutex_unlock(&run->report_lock);
    __atomic_store_n(&run->stop, 1, __ATOMIC_RELEASE);
}

void simt_worker_describe(struct worker *w)
{
    struct run *run = w->run;
    pthread_mutex_lock(&run->report_lock);
    size_t used = strlen(run->report);
    struct text t = {run->report + used, run->report_bytes - used};
    for (uint32_t i = 0; i < run->resident && run->outcome == SIMT_CPU_DEADLOCK; i++)
        for (uint32_t k = 0; w->blocks[i].live && k < run->warps; k++)
            describe_warp(&t, &w->blocks[i], k);
    pthread_mutex_unlock(&run->report_lock);
}

/* ---- deadlock ---- */

void simt_run_enter(struct run *run)
{
    pthread_mutex_lock(&runs_lock);
    run->next = runs;
    runs = run;
    pthread_mutex_unlock(&runs_lock);
}

void simt_run_leave(struct run *run)
{
    pthread_mutex_lock(&runs_lock);
    struct run **link = &runs;
    while (*link != run)
        link = &(*link)->next;
    *link = run->next;
    pthread_mutex_unlock(&runs_lock);
}

void simt_worker_finish(struct worker *w)
{
    __atomic_fetch_add(&epoch_now, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&w->finished, 1, __ATOMIC_RELEASE);
}

/* Every worker of every run under way that is not finished stalled at `epoch`, and that is still the
 * present one.  The epoch is read last: who finishes bumps it before it says so. */
static int all_stalled(uint64_t epoch)
{
    int stalled = 1;
    pthread_mutex_lock(&runs_lock);
    for (struct run *run = runs; run; run = run->next)
        for (uint32_t i = 0; i < run->worker_count; i++) {
            struct worker *other = &run->workers[i];
            if (!__atomic_load_n(&other->finished, __ATOMIC_ACQUIRE) &&
                __atomic_load_n(&other->stalled_epoch, __ATOMIC_ACQUIRE) != epoch)
                stalled = 0;
        }
    pthread_mutex_unlock(&runs_lock);
    return stalled && __atomic_load_n(&epoch_now, __ATOMIC_ACQUIRE) == epoch;
}

int simt_worker_end_round(struct worker *w)
{
    uint32_t limit = deterministic(w) ? STALLED_ROUNDS_DETERMINISTIC : STALLED_ROUNDS_FAST;
    if (simt_cpu.changes != w->round_changes) {
        w->round_changes = simt_cpu.changes;
        w->stalled_rounds = 0;
        __atomic_fetch_add(&epoch_now, 1, __ATOMIC_ACQ_REL);
        return 0;
    }
    uint64_t epoch = __atomic_load_n(&epoch_now, __ATOMIC_ACQUIRE);
    if (epoch != w->round_epoch) { /* this round may have begun before the change: count from the next */
        w->round_epoch = epoch;
        w->stalled_rounds = 0;
        sched_yield();
        return 0;
    }
    if (++w->stalled_rounds % 16 == 15)
        sched_yield();
    if (w->stalled_rounds < limit)
        return 0;
    __atomic_store_n(&w->stalled_epoch, epoch, __ATOMIC_RELEASE);
    if (all_stalled(epoch))
        return 1;
    nanosleep(&(struct timespec){0, STALLED_SLEEP_NS}, NULL); /* others have the next move */
    return 0;
}

void simt_worker_fail_stuck(struct worker *w)
{
    for (uint32_t i = 0; i < w->run->resident; i++)
        for (uint32_t k = 0; w->blocks[i].live && k < w->run->warps; k++) {
            struct warp *wp = &w->blocks[i].warps[k];
            wp->backoff |= wp->ready;
            wp->ready = 0;
        }
    simt_worker_fail(w, SIMT_CPU_DEADLOCK, "deadlock: nothing advances any more", NULL);
}
