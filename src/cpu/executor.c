/* SPDX-License-Identifier: Apache-2.0 */
/* The warp executor.
 *
 * A worker (an OS thread) runs blocks; the lanes of a block stay on it.  There is no scheduler fiber: a
 * lane that can't go on picks its successor itself and switches to it.  Each lane of a warp is in one of
 * the warp's masks:
 *
 *     ready       may run                       active      waits in simt_active for who else arrives
 *     backoff     polls something               collective  waits for the other lanes of its mask
 *     barrier     waits for its block           done        has returned
 *
 * Fast mode runs a warp's ready lanes in order until none is left, and only then lets the lanes in
 * simt_active go, grouped by place: the lanes of a warp converge as they do on a GPU.  When nothing in
 * the block is ready, the polling lanes get another turn: one *round*.
 *
 * Deterministic mode keeps several blocks in one thread and may switch lanes at every *step*: an atomic,
 * a fence, a collective or a backoff.  A lane in simt_active is released with a random part of those that
 * wait at the same place.  Who runs next is decided by one of two strategies:
 *
 *   uniform   any lane of any block, for a random number of steps
 *   priority  the lane that comes first in an order, which bug_depth - 1 random change points in every
 *             window of steps upset (see "priorities" below)
 *
 * Deadlock.  A round without a successful atomic change anywhere brings the next round to the same
 * state, unless a lane counts its own turns; so nothing is reported before STALLED_ROUNDS of them.  Lanes
 * may wait for lanes of another worker, and of another launch that runs at the same time.  So each worker
 * records the `epoch` (bumped by every worker after every round with changes) at which it stalled, and the
 * verdict needs every worker of every launch to have stalled at the present one: all have polled in vain
 * since the last change.  A worker that the system left without a core for a while holds an old epoch and
 * so delays the verdict, as does a launch that computes. */
#include "cpu/executor.h"

#include "cpu/fiber.h"
#include "quarry/simt/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STALLED_ROUNDS_FAST 10000u
#define STALLED_ROUNDS_DETERMINISTIC 200u
#define FAST_FUEL (1 << 16)
#define FAST_PATIENCE 4096u /* switches after which who polls gets a turn though others are ready */
#define DEFAULT_RESIDENT 8u
#define FIRST_BAND ((uint64_t)1 << 63)  /* priorities at the start: from here on */
#define CHANGE_BAND ((uint64_t)1 << 62) /* after a change point: from here up to FIRST_BAND */
#define LEASE_STEPS 1024u               /* steps after which a lane that never backs off is put last */
#define WINDOW_BITS 8u                  /* a window is 2^0 .. 2^7 steps for each resident lane */
#define STALLED_SLEEP_NS 20000
#define NEVER UINT64_MAX
#define NEVER_RAN 2u

__thread struct simt_cpu_state simt_cpu __attribute__((tls_model("initial-exec")));

struct lane {
    struct simt_cpu_lane self; /* first: device code sees only this */
    struct fiber *fiber;
    struct block *block;
    struct warp *warp;
    const char *place; /* where it waits */
    enum simt_cpu_op op;
    uint32_t mask;
    uint32_t source;
    uint64_t value;
    uint64_t result;
    uint64_t priority; /* priority strategy: the highest runs; a lane that backs off has a low one... */
    uint64_t regained; /* ...and this again when its turn has come */
    uint64_t spent;    /* steps since it was last put last */
};

struct warp {
    uint32_t exists, ready, backoff, active, collective, barrier, done;
    uint32_t last;    /* fast mode: lane that ran last */
    uint32_t polled;  /* deterministic mode: has backed off in this round */
    uint32_t patient; /* priority strategy: of the lanes in active, those that wait for ready ones */
    struct lane *lanes;
};

struct block {
    uint32_t index;
    uint32_t live; /* lanes that have not returned; 0: this place is free */
    uint32_t at_barrier;
    struct warp *warps;
    struct lane *lanes;
    void *shared;
};

/* Everything that outlives a launch: stacks are costly to make. */
struct crew {
    struct crew *next;
    struct fiber *stacks;
    uint32_t stack_count;
};

struct run {
    const struct simt_cpu_launch *launch;
    uint32_t warps; /* of a block */
    uint32_t resident;
    uint32_t next_block; /* atomic */
    uint32_t stop;       /* atomic: an outcome other than OK is decided */
    uint32_t worker_count;
    struct worker *workers;
    struct run *next; /* of the runs under way */
    pthread_mutex_t report_lock;
    enum simt_cpu_outcome outcome;
    char *report;
    size_t report_bytes;
    char begin_token, end_token; /* ThreadSanitizer: launch before lanes, lanes before the return */
};

struct worker {
    struct run *run;
    struct fiber thread;
    struct crew *crew;
    struct block *blocks;
    struct lane *current;
    uint32_t index;
    uint32_t warp_cursor; /* fast mode: the warp that runs */
    uint32_t patience;    /* fast mode: switches since who polls had a turn */
    uint64_t round_changes;
    uint32_t stalled_rounds;
    uint64_t round_epoch;   /* epoch_now when the stalled rounds began */
    uint64_t stalled_epoch; /* atomic; NEVER: has not stalled */
    uint32_t finished;      /* atomic; 1, or NEVER_RAN */
    uint64_t random;
    struct warp **choice[2]; /* deterministic mode: resident * warps places for next_deterministic */
    uint64_t steps;          /* deterministic mode: the virtual clock, but for its origin */
    uint64_t clock_origin;   /* made of the seed: who draws random numbers from the clock draws others */
    int64_t granted;         /* priority strategy: fuel that the current lane got */
    uint64_t change_step;    /* the next change point; NEVER: there is none */
    uint64_t window_end;     /* step at which the present window ends */
    uint32_t window;         /* its steps */
    uint32_t changes;        /* change points in it after the next */
    uint64_t last;           /* lowest priority given so far */
    uint32_t patient_of_8;   /* so many of 8 lanes that come to simt_active are patient */
    char shared_token;
    pthread_t handle;
};

static __thread struct worker *this_worker;

static pthread_mutex_t runs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct run *runs;   /* under way */
static uint64_t epoch_now; /* atomic */

/* ---- small things ---- */

static uint64_t random_next(struct worker *w)
{
    uint64_t x = w->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint32_t random_below(struct worker *w, uint32_t n)
{
    return (uint32_t)(((random_next(w) >> 32) * n) >> 32);
}

static int deterministic(const struct worker *w)
{
    return w->run->launch->seed != 0;
}

static int by_priority(const struct worker *w)
{
    return deterministic(w) && w->run->launch->bug_depth != 0;
}

static uint32_t lowest(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

static uint32_t bit_of(const struct lane *lane)
{
    return 1u << lane->self.lane;
}

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

/* Decides the run's outcome; the first to come wins. */
static void fail(struct worker *w, enum simt_cpu_outcome outcome, const char *what, const char *place)
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

/* In a deadlock every worker adds who of its lanes waits where. */
static void describe_lanes(struct worker *w)
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

/* Ends a round in which every lane of this worker polled or waited.  Returns 1 if the run is stuck. */
static int end_round(struct worker *w)
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

/* Reports a deadlock.  Whoever could run has polled since the last change: that is what it waits for. */
static void fail_stuck(struct worker *w)
{
    for (uint32_t i = 0; i < w->run->resident; i++)
        for (uint32_t k = 0; w->blocks[i].live && k < w->run->warps; k++) {
            struct warp *wp = &w->blocks[i].warps[k];
            wp->backoff |= wp->ready;
            wp->ready = 0;
        }
    fail(w, SIMT_CPU_DEADLOCK, "deadlock: nothing advances any more", NULL);
}

/* ---- priorities ----
 *
 * S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte: A Randomized Scheduler with Probabilistic
 * Guarantees of Finding Bugs, ASPLOS 2010 (PCT).  The lanes start in a random order; the first that can run
 * runs; at change points the running lane drops behind.  A bug that shows whenever d events come in one
 * order (its depth) needs d - 1 change points at the right steps, out of few that can be right: the lanes
 * in between run long and undisturbed, which a uniform choice makes exponentially rare.
 *
 * Departures, for programs that spin and runs of unknown length:
 *   - The paper draws its d - 1 change points from the k steps of the whole run.  Here they are drawn anew in
 *     every window of steps, whose size is a power of two for each lane, drawn with the seed: one of them
 *     fits, and a run that is longer than its window is many tries.
 *   - A lane that backs off is put last, behind all that can run, until its turn has come again; and so is
 *     one that has run for LEASE_STEPS without: it may be waiting for another to stop it.
 *   - A lane in simt_active would always leave it alone: nobody before it can run.  So some are patient and
 *     wait until no lane of their warp is ready. */

/* Draws the next change point: the first of those that this window, or else the next, still has. */
static void next_change(struct worker *w)
{
    uint64_t from = w->steps + 1;
    if (w->changes == 0 || from >= w->window_end) {
        from = w->window_end > from ? w->window_end : from;
        w->window_end = from + w->window;
        w->changes = w->run->launch->bug_depth - 1;
    }
    w->change_step = NEVER;
    for (uint32_t i = 0; i < w->changes; i++) {
        uint64_t step = from + random_below(w, (uint32_t)(w->window_end - from));
        w->change_step = step < w->change_step ? step : w->change_step;
    }
    w->changes -= w->changes != 0;
}

static void priorities_begin(struct worker *w)
{
    w->last = CHANGE_BAND;
    w->patient_of_8 = random_below(w, 3) * 4; /* none, half or all of them */
    w->window = (w->run->resident * w->run->launch->threads) << random_below(w, WINDOW_BITS);
    next_change(w);
}

/* Books the steps that the current lane has made, and moves it back in the order if it is time to. */
static void priorities_settle(struct worker *w, struct lane *me)
{
    uint64_t made = (uint64_t)(w->granted - simt_cpu.fuel);
    w->steps += made;
    me->spent += made;
    if (me->spent >= LEASE_STEPS) {
        me->priority = me->regained = --w->last;
        me->spent = 0;
        me->warp->patient = 0; /* who waits for it to arrive has waited long enough */
    } else if (w->steps >= w->change_step) {
        me->regained = CHANGE_BAND | random_next(w) >> 2;
        if (!(me->warp->backoff & bit_of(me))) /* else it stays last until its turn has come */
            me->priority = me->regained;
    }
    if (w->steps >= w->change_step)
        next_change(w);
}

/* The first in the order that can run, of the first `count` warps of choice[0]. */
static struct lane *priorities_first(const struct worker *w, uint32_t count)
{
    struct lane *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct warp *wp = w->choice[0][i];
        uint32_t lanes = wp->ready | wp->backoff | wp->active;
        if (wp->ready)
            lanes &= ~(wp->active & wp->patient);
        for (; lanes; lanes &= lanes - 1) {
            struct lane *lane = &wp->lanes[lowest(lanes)];
            if (!first || lane->priority > first->priority)
                first = lane;
        }
    }
    if (!first)
        abort(); /* each of these warps has a lane that can run */
    first->priority = first->regained;
    return first;
}

/* How many more steps `next` may make: up to the change point or the end of its lease. */
static int64_t priorities_grant(struct worker *w, const struct lane *next)
{
    uint64_t change = w->change_step - w->steps, lease = LEASE_STEPS - next->spent;
    w->granted = (int64_t)(change < lease ? change : lease) - 1;
    return w->granted;
}

/* ---- who runs next ---- */

/* Lets the lanes of `group` leave simt_active with each other's names. */
static void release_active(struct warp *wp, uint32_t group)
{
    for (uint32_t rest = group; rest; rest &= rest - 1)
        wp->lanes[lowest(rest)].result = group;
    wp->active &= ~group;
    wp->ready |= group;
}

static uint32_t same_place(const struct warp *wp, uint32_t lanes, const char *place)
{
    uint32_t same = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        if (wp->lanes[lowest(rest)].place == place)
            same |= rest & -rest;
    return same;
}

/* The ready lane of the warp that comes after the one that ran last. */
static struct lane *next_in_warp(struct warp *wp)
{
    uint32_t after = wp->ready & ~((2u << wp->last) - 1u);
    wp->last = lowest(after ? after : wp->ready);
    return &wp->lanes[wp->last];
}

/* Those who poll may run again.  Returns 0 if there are none. */
static uint32_t wake_polling(const struct worker *w, struct block *b)
{
    uint32_t polling = 0;
    for (uint32_t i = 0; i < w->run->warps; i++) {
        struct warp *wp = &b->warps[i];
        polling |= wp->backoff;
        wp->ready |= wp->backoff;
        wp->backoff = 0;
    }
    return polling;
}

/* NULL: the block is done, or the run is over. */
static struct lane *next_fast(struct worker *w)
{
    struct block *b = &w->blocks[0];
    if (++w->patience == FAST_PATIENCE) {
        w->patience = 0;
        wake_polling(w, b);
        if (++w->warp_cursor == w->run->warps)
            w->warp_cursor = 0;
    }
    for (;;) {
        for (uint32_t i = 0; i < w->run->warps; i++) {
            struct warp *wp = &b->warps[w->warp_cursor];
            if (!wp->ready && wp->active)
                for (uint32_t rest = wp->active; rest; rest = wp->active)
                    release_active(wp, same_place(wp, rest, wp->lanes[lowest(rest)].place));
            if (wp->ready)
                return next_in_warp(wp);
            if (++w->warp_cursor == w->run->warps)
                w->warp_cursor = 0;
        }
        if (!b->live || __atomic_load_n(&w->run->stop, __ATOMIC_ACQUIRE))
            return NULL;
        w->patience = 0;
        if (!wake_polling(w, b) || end_round(w)) {
            fail_stuck(w);
            return NULL;
        }
    }
}

/* Lanes of the warp that may be picked; with `fresh` only those that have not polled in this round. */
static uint32_t candidates_of(const struct warp *wp, int fresh)
{
    uint32_t lanes = wp->ready | wp->backoff;
    return (fresh ? lanes & ~wp->polled : lanes) | wp->active;
}

/* A random one of the set bits, of which there is at least one. */
static uint32_t random_bit(struct worker *w, uint32_t lanes)
{
    uint32_t skip = random_below(w, (uint32_t)__builtin_popcount(lanes));
    while (skip--)
        lanes &= lanes - 1;
    return lanes & -lanes;
}

/* A random lane of a random warp of choice.  Three times in four, who only polls is left out while others can
 * run: else most steps would be polling. */
static struct lane *random_lane(struct worker *w, const uint32_t found[2])
{
    int fresh = found[1] && random_below(w, 4);
    struct warp *wp = w->choice[fresh][random_below(w, found[fresh])];
    return &wp->lanes[lowest(random_bit(w, candidates_of(wp, fresh)))];
}

/* NULL: all resident blocks are done, or the run is over. */
static struct lane *next_deterministic(struct worker *w)
{
    struct run *run = w->run;
    uint32_t found[2] = {0, 0}; /* warps with candidates: any, fresh */
    if (__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE))
        return NULL;
    uint32_t live = 0;
    for (uint32_t i = 0; i < run->resident; i++) {
        struct block *b = &w->blocks[i];
        live += b->live;
        for (uint32_t k = 0; b->live && k < run->warps; k++)
            for (int fresh = 0; fresh < 2; fresh++)
                if (candidates_of(&b->warps[k], fresh))
                    w->choice[fresh][found[fresh]++] = &b->warps[k];
    }
    if (!live)
        return NULL;
    int stuck = !found[0];
    if (!found[1] && !stuck) {
        for (uint32_t i = 0; i < run->resident; i++)
            for (uint32_t k = 0; w->blocks[i].live && k < run->warps; k++)
                w->blocks[i].warps[k].polled = 0;
        stuck = end_round(w);
    }
    if (stuck) {
        fail_stuck(w);
        return NULL;
    }
    struct lane *lane = by_priority(w) ? priorities_first(w, found[0]) : random_lane(w, found);
    struct warp *wp = lane->warp;
    uint32_t bit = bit_of(lane);
    if (wp->active & bit) {
        uint32_t together = same_place(wp, wp->active, lane->place);
        if (random_below(w, 4)) /* one time in four all of them, else any part */
            together &= (uint32_t)random_next(w) | bit;
        release_active(wp, together);
    }
    wp->backoff &= ~bit;
    wp->ready |= bit;
    return lane;
}

static struct lane *next_lane(struct worker *w)
{
    return deterministic(w) ? next_deterministic(w) : next_fast(w);
}

/* Steps that `next` may make before there is another choice; one more makes it. */
static int64_t fuel_for(struct worker *w, const struct lane *next)
{
    if (!deterministic(w))
        return FAST_FUEL;
    if (by_priority(w))
        return next ? priorities_grant(w, next) : 0;
    uint64_t r = random_next(w);
    return (int64_t)(r & 3 ? (r >> 2) & 3 : (r >> 2) & 63);
}

/* Runs somebody else until the caller is picked again.  The caller's masks are up to date.  The last lane
 * of a block goes back to the worker, which may start another block on these stacks. */
static void yield_lane(struct worker *w, int dying)
{
    struct lane *me = w->current;
    if (by_priority(w))
        priorities_settle(w, me);
    else
        w->steps++;
    struct lane *next = dying && !me->block->live ? NULL : next_lane(w);
    simt_cpu.fuel = fuel_for(w, next);
    if (next == me && !dying)
        return;
    w->current = next;
    simt_cpu.self = next ? &next->self : NULL;
    simt_fiber_switch(me->fiber, next ? next->fiber : &w->thread, dying);
}

/* ---- what lanes call ---- */

void simt_cpu_preempt(void)
{
    struct worker *w = this_worker;
    if (!simt_cpu.self) { /* device code called by the host outside any kernel */
        simt_cpu.fuel = INT64_MAX;
        return;
    }
    w->patience = FAST_PATIENCE - 1; /* it has run long: everybody's turn */
    yield_lane(w, 0);
}

static void abandon(struct worker *w, enum simt_cpu_outcome outcome, const char *what, const char *place)
{
    fail(w, outcome, what, place);
    struct lane *me = w->current;
    w->current = NULL;
    simt_cpu.self = NULL;
    simt_fiber_switch(me->fiber, &w->thread, 1);
}

void simt_cpu_assert_failed(const char *condition, const char *place)
{
    char what[256];
    if (!simt_cpu.self)
        abort();
    snprintf(what, sizeof what, "assertion failed: %s", condition);
    abandon(this_worker, SIMT_CPU_ASSERT, what, place);
    abort(); /* who is abandoned is not switched to again */
}

static uint64_t combine(enum simt_cpu_op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case SIMT_CPU_ADD:
        return a + b;
    case SIMT_CPU_MIN:
        return a < b ? a : b;
    case SIMT_CPU_MAX:
        return a > b ? a : b;
    default:
        return a | b;
    }
}

/* Gives every lane of `mask` its result. */
static void complete(struct warp *wp, enum simt_cpu_op op, uint32_t mask)
{
    struct lane *lanes = wp->lanes;
    uint64_t total = 0;
    if (op == SIMT_CPU_BALLOT) {
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            total |= lanes[lowest(rest)].value << lowest(rest);
    } else if (op != SIMT_CPU_SHUFFLE && op != SIMT_CPU_MATCH && op != SIMT_CPU_SYNC) {
        total = lanes[lowest(mask)].value;
        for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1)
            total = combine(op, total, lanes[lowest(rest)].value);
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        struct lane *l = &lanes[lowest(rest)];
        if (op == SIMT_CPU_SHUFFLE) {
            uint32_t source = l->source & (SIMT_LANES - 1);
            /* The contract promises nothing for a source outside: a value that is easy to see. */
            l->result = mask >> source & 1 ? lanes[source].value : 0xbadbadbadbadbadbu;
        } else if (op == SIMT_CPU_MATCH) {
            uint32_t same = 0;
            for (uint32_t other = mask; other; other &= other - 1)
                if (lanes[lowest(other)].value == l->value)
                    same |= other & -other;
            l->result = same;
        } else {
            l->result = total;
        }
    }
    wp->collective &= ~mask;
    wp->ready |= mask;
}

uint64_t simt_cpu_collective(enum simt_cpu_op op, uint32_t mask, uint64_t value, uint32_t source,
                             const char *place)
{
    simt_cpu_point();
    struct worker *w = this_worker;
    struct lane *me = w->current;
    struct warp *wp = me->warp;
    uint32_t bit = bit_of(me);
    if (!(mask & bit))
        abandon(w, SIMT_CPU_ASSERT, "a collective's mask does not name its caller", place);
    if (mask & (wp->done | ~wp->exists))
        abandon(w, SIMT_CPU_ASSERT, "a collective's mask names a lane that has returned or never was", place);
    me->op = op;
    me->mask = mask;
    me->value = value;
    me->source = source;
    me->place = place;
    if (op == SIMT_CPU_SYNC)
        simt_fiber_tsan_release(wp);
    wp->collective |= bit;
    wp->ready &= ~bit;
    if ((wp->collective & mask) == mask) {
        uint32_t agreed = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (wp->lanes[lowest(rest)].mask == mask)
                agreed |= rest & -rest;
        if (agreed == mask) {
            for (uint32_t rest = mask; rest; rest &= rest - 1) {
                const struct lane *l = &wp->lanes[lowest(rest)];
                if (l->op != op || (l->place != place && strcmp(l->place, place) != 0))
                    abandon(w, SIMT_CPU_ASSERT, "lanes of one mask meet in different collectives", place);
            }
            complete(wp, op, mask);
        }
    }
    if ((wp->collective & bit) || by_priority(w)) /* who waited for the caller may come before it */
        yield_lane(w, 0);
    if (op == SIMT_CPU_SYNC)
        simt_fiber_tsan_acquire(wp);
    return me->result;
}

uint32_t simt_cpu_active(const char *place)
{
    simt_cpu_point();
    struct worker *w = this_worker;
    struct lane *me = w->current;
    struct warp *wp = me->warp;
    me->place = place;
    wp->ready &= ~bit_of(me);
    wp->active |= bit_of(me);
    if (by_priority(w) && random_below(w, 8) < w->patient_of_8)
        wp->patient |= bit_of(me);
    else
        wp->patient &= ~bit_of(me);
    yield_lane(w, 0);
    return (uint32_t)me->result;
}

/* Opens the barrier if every lane that has not returned is there. */
static void try_open_barrier(struct worker *w, struct block *b)
{
    if (!b->live || b->at_barrier != b->live)
        return;
    b->at_barrier = 0;
    for (uint32_t k = 0; k < w->run->warps; k++) {
        b->warps[k].ready |= b->warps[k].barrier;
        b->warps[k].barrier = 0;
    }
}

void simt_cpu_barrier(const char *place)
{
    simt_cpu_point();
    struct worker *w = this_worker;
    struct lane *me = w->current;
    struct block *b = me->block;
    struct warp *wp = me->warp;
    me->place = place;
    simt_fiber_tsan_release(b);
    wp->ready &= ~bit_of(me);
    wp->barrier |= bit_of(me);
    b->at_barrier++;
    try_open_barrier(w, b);
    if ((wp->barrier & bit_of(me)) || by_priority(w))
        yield_lane(w, 0);
    simt_fiber_tsan_acquire(b);
}

void simt_cpu_backoff(const char *place)
{
    struct worker *w = this_worker;
    struct lane *me = w->current;
    struct warp *wp = me->warp;
    me->place = place;
    wp->ready &= ~bit_of(me);
    wp->backoff |= bit_of(me);
    wp->polled |= bit_of(me);
    if (by_priority(w)) {
        me->priority = --w->last;
        me->spent = 0;
        simt_cpu.fuel--; /* a backoff is a step too: time passes for who waits for it */
    }
    yield_lane(w, 0);
}

uint64_t simt_cpu_clock(void)
{
    struct worker *w = this_worker;
    simt_cpu_changed(1); /* a loop that waits for the time to pass is no deadlock */
    if (w && deterministic(w))
        return w->steps + w->clock_origin;
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

void simt_cpu_fence_annotate(void)
{
    static char token;
    simt_fiber_tsan_acquire(&token);
    simt_fiber_tsan_release(&token);
}

/* ---- lanes, blocks, workers ---- */

static void lane_main(void)
{
    struct worker *w = this_worker;
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
    try_open_barrier(w, b);
    yield_lane(w, 1);
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
    for (uint32_t k = 0; k < run->warps; k++) {
        uint32_t here = launch->threads - k * SIMT_LANES;
        uint32_t exists = here >= SIMT_LANES ? SIMT_ALL_LANES : (1u << here) - 1u;
        b->warps[k] = (struct warp){
            .exists = exists, .ready = exists, .last = SIMT_LANES - 1, .lanes = b->lanes + k * SIMT_LANES};
    }
    for (uint32_t i = 0; i < launch->threads; i++) {
        struct lane *lane = &b->lanes[i];
        struct fiber *fiber = &w->crew->stacks[slot * launch->threads + i];
        lane->self = (struct simt_cpu_lane){i % SIMT_LANES, i / SIMT_LANES, i,        launch->threads,
                                            b->index,       launch->blocks, w->index, b->shared};
        lane->fiber = fiber;
        lane->block = b;
        lane->warp = &b->warps[i / SIMT_LANES];
        lane->place = NULL;
        if (by_priority(w))
            lane->priority = lane->regained = FIRST_BAND | random_next(w) >> 1;
        lane->spent = 0;
        simt_fiber_prepare(fiber, lane_main, i);
    }
}

static pthread_mutex_t crews_lock = PTHREAD_MUTEX_INITIALIZER;
static struct crew *idle_crews;

/* A crew with at least `count` stacks, or NULL. */
static struct crew *crew_take(uint32_t count)
{
    pthread_mutex_lock(&crews_lock);
    struct crew *crew = idle_crews;
    if (crew)
        idle_crews = crew->next;
    pthread_mutex_unlock(&crews_lock);
    if (!crew)
        crew = calloc(1, sizeof *crew);
    if (crew && crew->stack_count < count) {
        simt_fiber_stacks_destroy(crew->stacks, crew->stack_count);
        crew->stacks = NULL;
        crew->stack_count = 0;
        if (simt_fiber_stacks_create(&crew->stacks, count) == 0)
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
    w->crew = crew_take(launch->threads * run->resident);
    w->choice[0] = calloc((size_t)run->resident * run->warps * 2, sizeof **w->choice);
    if (!w->blocks || !w->crew || !w->choice[0])
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
}

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    struct run *run = w->run;
    struct simt_cpu_state saved = simt_cpu;
    struct worker *saved_worker = this_worker;
    this_worker = w;
    simt_cpu = (struct simt_cpu_state){NULL, 0, 0};
    simt_fiber_adopt_thread(&w->thread);
    simt_fiber_tsan_release(
        &run->begin_token); /* this thread's own memory, its TLS above all, before its lanes */
    while (!__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
        for (uint32_t i = 0; i < run->resident; i++)
            if (!w->blocks[i].live)
                start_block(w, &w->blocks[i]);
        struct lane *first = next_lane(w);
        if (!first)
            break;
        w->current = first;
        simt_cpu.self = &first->self;
        simt_cpu.fuel = deterministic(w) && !by_priority(w) ? 0 : fuel_for(w, first);
        simt_fiber_switch(&w->thread, first->fiber, 0);
        w->current = NULL;
    }
    if (__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
        describe_lanes(w);
        for (uint32_t i = 0; i < w->crew->stack_count; i++)
            simt_fiber_tsan_release_for(&w->crew->stacks[i], &w->thread, &run->end_token);
    }
    __atomic_fetch_add(&epoch_now, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&w->finished, 1, __ATOMIC_RELEASE);
    this_worker = saved_worker;
    simt_cpu = saved;
    return NULL;
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
    if (launch->seed) {
        run.resident = launch->resident_blocks ? launch->resident_blocks : DEFAULT_RESIDENT;
        if (run.resident > launch->blocks)
            run.resident = launch->blocks;
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
            priorities_begin(w);
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
    pthread_mutex_lock(&runs_lock);
    run.next = runs;
    runs = &run;
    pthread_mutex_unlock(&runs_lock);
    for (int i = 1; i < prepared; i++)
        if (pthread_create(&run.workers[i].handle, NULL, worker_main, &run.workers[i]) != 0)
            __atomic_store_n(&run.workers[i].finished, NEVER_RAN, __ATOMIC_RELEASE);
    if (prepared)
        worker_main(&run.workers[0]);
    for (int i = 1; i < prepared; i++)
        if (__atomic_load_n(&run.workers[i].finished, __ATOMIC_ACQUIRE) != NEVER_RAN)
            pthread_join(run.workers[i].handle, NULL);
    pthread_mutex_lock(&runs_lock);
    struct run **link = &runs;
    while (*link != &run)
        link = &(*link)->next;
    *link = run.next;
    pthread_mutex_unlock(&runs_lock);
    simt_fiber_tsan_acquire(&run.end_token);
    for (int i = 0; i < prepared; i++)
        worker_release(&run.workers[i], run.outcome != SIMT_CPU_OK);
    pthread_mutex_destroy(&run.report_lock);
    free(run.workers);
    return run.outcome;
}
