/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry replay` and `quarry tune`; replay_plan.h has what they run. */
#ifndef QUARRY_TOOL_REPLAY_KERNELS_H
#define QUARRY_TOOL_REPLAY_KERNELS_H

#include "each_allocator.h"

struct replay_step {
    uint64_t bytes; /* of the block */
    uint32_t block;
    uint32_t is_free;
};

/* What a check finds.  Zeroed by the host before. */
struct replay_tally {
    uint64_t misaligned; /* blocks */
    uint64_t broken;     /* blocks whose pattern someone else wrote over */
};

/* A batch. */
struct replay_job {
    struct quarry_handle heap;
    const uint32_t *starts; /* thread i does steps starts[i] up to starts[i + 1] */
    const struct replay_step *steps;
    void **blocks; /* of the trace, by their numbers */
    struct replay_tally *tally;
    uint32_t threads;
    uint32_t check; /* each block has a pattern of its own while it lives */
};

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(replay_floor); /* the same steps, but a malloc stores an address and a free loads it */

/* Mallocs and frees: replay_heap_kernels.c.  Those for all heaps look at job.check. */
SIMT_KERNEL_DECLARE(EACH_ANY(replay_run));
#define QUARRY_ALLOCATOR_ENTRY(id, ...) SIMT_KERNEL_DECLARE(EACH_OF(replay_run, id));
#include "quarry/alloc/list.def"
#endif

#endif
