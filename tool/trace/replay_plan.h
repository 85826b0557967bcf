/* SPDX-License-Identifier: Apache-2.0 */
/* What of a trace is run again, and in what order: kernels one after the other, batches, whose threads each
 * do some of its mallocs and frees.
 *
 *     events      | m0 m1 f0 m2 | f1 m3 f2 f3 | m4 ...             in the order of the trace
 *     batches     |   launch 0  |  launch 1   |                    or shorter
 *     threads     w0: lanes 0 .. 31 | w1: ...                      warps that have events, with their lanes
 *     starts      of each thread: where its steps begin
 *     steps       | m0 f0 | m1 m2 | ...                            of each thread in its order
 *
 * A batch is as many events of one launch as follow one another without a thread freeing what another one
 * allocates in the same batch: then no thread has to wait for another, on whatever device. */
#ifndef QUARRY_TOOL_REPLAY_PLAN_H
#define QUARRY_TOOL_REPLAY_PLAN_H

#include "quarry/trace.h"
#include "trace/replay_kernels.h"

struct replay_batch {
    uint64_t first;   /* of its starts: it has threads + 1 */
    uint32_t threads; /* a multiple of 32 */
};

struct replay_plan {
    uint64_t batch_count;
    struct replay_batch *batches; /* one more, the last: it frees what the trace leaves live */
    uint64_t start_count;
    uint32_t *starts; /* numbers of steps */
    uint64_t step_count;
    struct replay_step *steps;
    uint64_t blocks;
    uint64_t most_live; /* of them at one time, in whatever order the threads of a batch run */
    uint64_t launches;
    uint64_t fullest; /* the batch with the most bytes live at its end, and how many were asked for then */
    uint64_t fullest_bytes;
    /* In the order of the trace: */
    uint64_t peak_bytes; /* asked for by blocks that live at one time, at most; and how many these were */
    uint64_t peak_blocks;
    uint64_t least; /* bytes of one malloc */
    uint64_t most;
};

/* Makes a plan.  Mallocs that gave NULL are left out.
 *   window  events of a batch, at most; 0: any number
 * Returns 0, or prints one sentence and returns TOOL_FAILED.  Either way replay_plan_free may follow. */
int replay_plan_make(struct replay_plan *plan, const struct quarry_trace_file *trace, uint64_t window);

void replay_plan_free(struct replay_plan *plan);

#endif
