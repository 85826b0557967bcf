/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of `quarry replay` that allocates and frees.  Compiled for the CPU and for CUDA, once for each
 * allocator.
 *
 * Order.  A thread frees what it has allocated itself or what a kernel before has: no atomic is needed for
 * the addresses. */
#include "kernels.h"
#include "trace/replay_kernels.h"

#ifdef QUARRY_OOM /* what is for plain heaps only is for the time */
#define REPLAY_CHECKS(job) 0
#else
#define REPLAY_CHECKS(job) ((job)->check)
#endif

/* Blocks that are not are left alone: what is behind them may not be the heap's. */
SIMT_FN int replay_is_aligned(const struct replay_job *a, const void *block)
{
    return (uintptr_t)block % a->heap.shrink == 0;
}

SIMT_FN void replay_free(const struct replay_job *a, const struct replay_step *step, void *block)
{
    if (REPLAY_CHECKS(a) && block && replay_is_aligned(a, block) &&
        !bench_has_pattern(block, step->block, step->bytes))
        simt_add_u64(&a->tally->broken, 1, relaxed);
    quarry_free(a->heap, block);
}

SIMT_FN void *replay_malloc(const struct replay_job *a, const struct replay_step *step)
{
    void *block = quarry_malloc(a->heap, step->bytes);
    if (REPLAY_CHECKS(a) && block) {
        if (replay_is_aligned(a, block))
            bench_put_pattern(block, step->block, step->bytes);
        else
            simt_add_u64(&a->tally->misaligned, 1, relaxed);
    }
    return block;
}

EACH_KERNEL(replay_run, struct replay_job, a)
{
    uint32_t i = simt_thread();
    if (i >= a.threads)
        return;
    for (uint32_t at = a.starts[i]; at < a.starts[i + 1]; at++) {
        const struct replay_step step = a.steps[at];
        if (step.is_free)
            replay_free(&a, &step, a.blocks[step.block]);
        else
            a.blocks[step.block] = replay_malloc(&a, &step);
    }
}
