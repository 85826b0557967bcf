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

/* What replay_check finds.  Zeroed by the host before. */
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
};

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(replay_floor); /* the same steps, but a malloc stores an address and a free loads it */

/* Each allocator's: replay_heap_kernels.c */
struct replay_heap_kernels {
    const struct simt_kernel *run;   /* timed: mallocs and frees */
    const struct simt_kernel *check; /* the same, and each block has a pattern of its own while it lives; NULL
                                        of those for plain heaps, which the others run, too */
};

#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    extern const struct replay_heap_kernels EACH_OF(replay_heap_kernels, id);                                \
    extern const struct replay_heap_kernels EACH_COMPOSED_OF(replay_heap_kernels, id);
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
#endif

#endif
