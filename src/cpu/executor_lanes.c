/* SPDX-License-Identifier: Apache-2.0 */
/* What lanes call: collectives, the block barrier, backoff, the clock. */
#include "cpu/weak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void simt_lane_abandon(struct worker *w, enum simt_cpu_outcome outcome, const char *what, const char *place)
{
    simt_worker_fail(w, outcome, what, place);
    struct lane *me = w->current;
    w->current = NULL;
    simt_cpu.self = NULL;
    simt_fiber_switch(me->fiber, &w->thread, 1);
    abort(); /* who is abandoned is not switched to again */
}

void simt_cpu_assert_failed(const char *condition, const char *place)
{
    char what[256];
    if (!simt_cpu.self)
        abort();
    snprintf(what, sizeof what, "assertion failed: %s", condition);
    simt_lane_abandon(simt_worker, SIMT_CPU_ASSERT, what, place);
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
        if (op == SIMT_CPU_SYNC)
            simt_weak_meet(l);
    }
    wp->collective &= ~mask;
    wp->ready |= mask;
}

uint64_t simt_cpu_collective(enum simt_cpu_op op, uint32_t mask, uint64_t value, uint32_t source,
                             const char *place)
{
    simt_cpu_point();
    struct worker *w = simt_worker;
    struct lane *me = w->current;
    struct warp *wp = me->warp;
    uint32_t bit = bit_of(me);
    if (!(mask & bit))
        simt_lane_abandon(w, SIMT_CPU_ASSERT, "a collective's mask does not name its caller", place);
    if (mask & (wp->done | ~wp->exists))
        simt_lane_abandon(w, SIMT_CPU_ASSERT,
                          "a collective's mask names a lane that has returned or never was", place);
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
                    simt_lane_abandon(w, SIMT_CPU_ASSERT, "lanes of one mask meet in different collectives",
                                      place);
            }
            complete(wp, op, mask);
            simt_weak_part(w->weak);
        }
    }
    if ((wp->collective & bit) || by_priority(w)) /* who waited for the caller may come before it */
        simt_worker_yield(w, 0);
    if (op == SIMT_CPU_SYNC)
        simt_fiber_tsan_acquire(wp);
    return me->result;
}

uint32_t simt_cpu_active(const char *place)
{
    simt_cpu_point();
    struct worker *w = simt_worker;
    struct lane *me = w->current;
    struct warp *wp = me->warp;
    me->place = place;
    wp->ready &= ~bit_of(me);
    wp->active |= bit_of(me);
    if (by_priority(w) && random_below(w, 8) < w->patient_of_8)
        wp->patient |= bit_of(me);
    else
        wp->patient &= ~bit_of(me);
    simt_worker_yield(w, 0);
    return (uint32_t)me->result;
}

void simt_block_try_open(struct worker *w, struct block *b)
{
    if (!b->live || b->at_barrier != b->live)
        return;
    b->at_barrier = 0;
    for (uint32_t k = 0; k < w->run->warps; k++) {
        for (uint32_t rest = w->weak ? b->warps[k].barrier : 0; rest; rest &= rest - 1)
            simt_weak_meet(&b->warps[k].lanes[lowest(rest)]);
        b->warps[k].ready |= b->warps[k].barrier;
        b->warps[k].barrier = 0;
    }
    simt_weak_part(w->weak);
}

void simt_cpu_barrier(const char *place)
{
    simt_cpu_point();
    struct worker *w = simt_worker;
    struct lane *me = w->current;
    struct block *b = me->block;
    struct warp *wp = me->warp;
    me->place = place;
    simt_fiber_tsan_release(b);
    wp->ready &= ~bit_of(me);
    wp->barrier |= bit_of(me);
    b->at_barrier++;
    simt_block_try_open(w, b);
    if ((wp->barrier & bit_of(me)) || by_priority(w))
        simt_worker_yield(w, 0);
    simt_fiber_tsan_acquire(b);
}

void simt_cpu_backoff(const char *place)
{
    struct worker *w = simt_worker;
    struct lane *me = w->current;
    struct warp *wp = me->warp;
    me->place = place;
    wp->ready &= ~bit_of(me);
    wp->backoff |= bit_of(me);
    wp->polled |= bit_of(me);
    simt_weak_wait(me);
    if (by_priority(w)) {
        me->priority = --w->last;
        me->spent = 0;
        simt_cpu.fuel--; /* a backoff is a step too: time passes for who waits for it */
    }
    simt_worker_yield(w, 0);
}

uint64_t simt_cpu_clock(void)
{
    struct worker *w = simt_worker;
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
