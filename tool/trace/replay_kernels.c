/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of `quarry replay` that needs no heap.  Compiled for the CPU and for CUDA. */
#include "trace/replay_kernels.h"

SIMT_KERNEL(replay_floor, struct replay_job, a)
{
    uint32_t i = simt_thread();
    if (i >= a.threads)
        return;
    for (uint32_t at = a.starts[i]; at < a.starts[i + 1]; at++) {
        const struct replay_step step = a.steps[at];
        void **place = &a.blocks[step.block];
        if (!step.is_free)
            *place = (void *)place;
        else if (*place == SIMT_NULL)
            simt_store_u64(&a.tally->broken, 1, relaxed);
    }
}
