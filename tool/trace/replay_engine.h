/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the plan of a trace on heaps of one target.  Functions return the library's status, with its sentence,
 * so that a caller may go on with another heap. */
#ifndef QUARRY_TOOL_REPLAY_ENGINE_H
#define QUARRY_TOOL_REPLAY_ENGINE_H

#include "statistics.h"
#include "timing.h"
#include "trace/replay_plan.h"

#define REPLAY_MAX_RUNS 1000u

struct replay {
    const struct replay_plan *plan;
    struct quarry_target target;
    uint64_t ticks_per_ms; /* of simt_clock, for bench_spin; 0: launches need not be hidden */
    const char *doing;     /* in front of the progress bar, which a measurement moves */
    double from;           /* shares, 0 .. 1 */
    double to;
    double budget_s; /* once they have taken longer, no more runs are timed */
    quarry_event *begin;
    quarry_event *end;
    void *starts;
    void *steps;
    void *blocks;
    void *tally;
};

struct replay_result {
    struct quarry_heap_description heap;
    uint64_t failed;   /* mallocs of the first run: for want of space */
    uint64_t refused;  /* of requests larger than any block */
    uint64_t occupied; /* bytes that blocks occupy at the end of the fullest batch; 0: nobody counts them */
    uint64_t left;     /* blocks that live when all are freed: the allocator's fault */
    struct replay_tally tally;
    struct statistics time; /* of all batches, from the first's begin to the last's end; n 0: not timed */
};

/* Copies the plan to the target.  Nothing is left behind after an error; otherwise replay_close frees it.
 * Until the caller sets them the bar stays at 0 and the budget is infinite.
 *   doing  as in struct replay */
enum quarry_status replay_open(struct replay *replay, const struct quarry_target *target,
                               const struct replay_plan *plan, const char *doing);
void replay_close(struct replay *replay);

/* Runs the plan once with statistics, and then `runs` times, at least once and as often as the budget allows,
 * for the time, each time from an empty heap; not if mallocs of the first run failed: that is another program.
 *   options  of a heap that is made for it; its target is set here
 *   runs     0 .. REPLAY_MAX_RUNS
 *   check    each block has its pattern in the first run */
enum quarry_status replay_measure(struct replay *replay, const struct quarry_heap_options *options,
                                  unsigned runs, int check, struct replay_result *result);

/* The time of the same kernels without malloc and free. */
enum quarry_status replay_measure_floor(struct replay *replay, unsigned runs, struct statistics *time);

#endif
