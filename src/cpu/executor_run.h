/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a run, and what the executor's files ask of one another.  Only they include this.
 *
 *     executor.c            launches: workers, blocks, stacks
 *     executor_schedule.c   who runs next
 *     executor_lanes.c      what lanes call: collectives, the block barrier, backoff, the clock
 *     executor_stack.c      lanes that run beyond their stacks
 *     executor_deadlock.c   when nothing advances any more, and what a report says
 *     weak.h                mode weak: what lanes read of each other's atomics, and their races
 *
 * A worker (an OS thread) runs blocks; the lanes of a block stay on it, and only it changes their records.
 * Each lane of a warp is in one of the warp's masks:
 *
 *     ready       may run                       active      waits in simt_active for who else arrives
 *     backoff     polls something               collective  waits for the other lanes of its mask
 *     barrier     waits for its block           done        has returned */
#ifndef QUARRY_CPU_EXECUTOR_RUN_H
#define QUARRY_CPU_EXECUTOR_RUN_H

#include "cpu/executor.h"
#include "cpu/fiber.h"
#include "quarry/simt/cpu.h"

#include <pthread.h>
#include <signal.h>

#define FIRST_BAND ((uint64_t)1 << 63)  /* priorities at the start: from here on */
#define CHANGE_BAND ((uint64_t)1 << 62) /* after a change point: from here up to FIRST_BAND */
#define NEVER UINT64_MAX

struct lane {
    struct simt_cpu_lane self; /* first: device code sees only this */
    struct weak_lane *weak;    /* mode weak; else NULL */
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

struct run {
    const struct simt_cpu_launch *launch;
    uint32_t warps; /* of a block */
    uint32_t resident;
    uint32_t stack_bytes; /* of a lane */
    uint32_t next_block;  /* atomic */
    uint32_t stop;        /* atomic: an outcome other than OK is decided */
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
    struct weak *weak;       /* mode weak; else NULL */
    char shared_token;
    pthread_t handle;
};

/* The calling thread's, while it runs lanes. */
extern __thread struct worker *simt_worker __attribute__((tls_model("initial-exec")));

/* ---- small things ---- */

static inline uint64_t random_next(struct worker *w)
{
    uint64_t x = w->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint32_t random_below(struct worker *w, uint32_t n)
{
    return (uint32_t)(((random_next(w) >> 32) * n) >> 32);
}

static inline int deterministic(const struct worker *w)
{
    return w->run->launch->seed != 0;
}

static inline int by_priority(const struct worker *w)
{
    return deterministic(w) && w->run->launch->bug_depth != 0;
}

static inline uint32_t lowest(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

static inline uint32_t bit_of(const struct lane *lane)
{
    return 1u << lane->self.lane;
}

/* ---- executor_schedule.c ---- */

/* Begins the priority strategy: draws its window and the first change point. */
void simt_worker_begin_priorities(struct worker *w);

/* The lane that runs next, which is ready.  NULL: all blocks here are done, or the run is over. */
struct lane *simt_worker_next(struct worker *w);

/* Steps that `next` may make before there is another choice; one more makes it. */
int64_t simt_worker_fuel(struct worker *w, const struct lane *next);

/* Runs somebody else until the caller, a lane, is picked again.  The caller's masks are up to date.  The last
 * lane of a block goes back to the worker, which may start another block on these stacks. */
void simt_worker_yield(struct worker *w, int dying);

/* ---- executor_lanes.c ---- */

/* Opens the barrier if every lane that has not returned is there. */
void simt_block_try_open(struct worker *w, struct block *b);

/* Ends the run for that reason, and leaves the calling lane for good. */
void simt_lane_abandon(struct worker *w, enum simt_cpu_outcome outcome, const char *what, const char *place);

/* ---- executor_stack.c ---- */

#define SIMT_SIGNAL_STACK_BYTES ((size_t)64 << 10)

/* From enter to leave, faults in the guard of a lane's stack end its run.  What signals were before is so again
 * after leave.
 *   memory  SIMT_SIGNAL_STACK_BYTES, the calling thread's own */
void simt_stack_watch_enter(stack_t *before, void *memory);
void simt_stack_watch_leave(const stack_t *before);

/* ---- executor_deadlock.c ---- */

/* A run takes part in the verdict from enter to leave. */
void simt_run_enter(struct run *run);
void simt_run_leave(struct run *run);

/* Decides the run's outcome; the first to come wins. */
void simt_worker_fail(struct worker *w, enum simt_cpu_outcome outcome, const char *what, const char *place);

/* In a deadlock every worker adds who of its lanes waits where. */
void simt_worker_describe(struct worker *w);

/* Ends a round in which every lane of this worker polled or waited.  Returns 1 if the run is stuck. */
int simt_worker_end_round(struct worker *w);

/* Reports a deadlock.  Whoever could run has polled since the last change: that is what it waits for. */
void simt_worker_fail_stuck(struct worker *w);

/* The worker runs no lane any more. */
void simt_worker_finish(struct worker *w);

#endif
