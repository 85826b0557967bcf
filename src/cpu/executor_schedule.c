/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs next.
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
 *             window of steps upset (see "priorities" below) */
#include "cpu/executor_run.h"

#include <stdlib.h>

#define FAST_FUEL (1 << 16)
#define FAST_PATIENCE 4096u /* switches after which who polls gets a turn though others are ready */
#define LEASE_STEPS 1021u   /* steps after which a lane that never backs off is put last; a prime */
#define WINDOW_BITS 8u      /* a window is 2^0 .. 2^7 steps for each resident lane */

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
 *     one that has run for LEASE_STEPS without: it may be waiting for another to stop it.  The number is a
 *     prime, so that a lane in a loop stops at each place of it in turn: one that always stopped with a lock
 *     held would let those who wait for the lock wait for ever.
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

void simt_worker_begin_priorities(struct worker *w)
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
        if (!wake_polling(w, b) || simt_worker_end_round(w)) {
            simt_worker_fail_stuck(w);
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
        stuck = simt_worker_end_round(w);
    }
    if (stuck) {
        simt_worker_fail_stuck(w);
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

struct lane *simt_worker_next(struct worker *w)
{
    return deterministic(w) ? next_deterministic(w) : next_fast(w);
}

int64_t simt_worker_fuel(struct worker *w, const struct lane *next)
{
    if (!deterministic(w))
        return FAST_FUEL;
    if (by_priority(w))
        return next ? priorities_grant(w, next) : 0;
    uint64_t r = random_next(w);
    return (int64_t)(r & 3 ? (r >> 2) & 3 : (r >> 2) & 63);
}

void simt_worker_yield(struct worker *w, int dying)
{
    struct lane *me = w->current;
    if (by_priority(w))
        priorities_settle(w, me);
    else
        w->steps++;
    struct lane *next = dying && !me->block->live ? NULL : simt_worker_next(w);
    simt_cpu.fuel = simt_worker_fuel(w, next);
    if (next == me && !dying)
        return;
    w->current = next;
    simt_cpu.self = next ? &next->self : NULL;
    simt_fiber_switch(me->fiber, next ? next->fiber : &w->thread, dying);
}

void simt_cpu_preempt(void)
{
    struct worker *w = simt_worker;
    if (!simt_cpu.self) { /* device code called by the host outside any kernel */
        simt_cpu.fuel = INT64_MAX;
        return;
    }
    w->patience = FAST_PATIENCE - 1; /* it has run long: everybody's turn */
    simt_worker_yield(w, 0);
}
