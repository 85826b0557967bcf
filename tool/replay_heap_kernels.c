/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of `quarry replay` that allocates and frees.  Compiled for the CPU and for CUDA, once for each
 * allocator.
 *
 * Order.  A thread frees what it has allocated itself or what a kernel before has: no atomic is needed for
 * the addresses. */
#include "kernels.h"
#include "replay_kernels.h"

/* The pattern: 8-byte words key + w, and of the bytes left over the top ones of the key.  Two overlapping
 * blocks differ in the key wherever they meet, whatever their distance. */
SIMT_FN void replay_write(const struct replay_step *step, void *block)
{
    uint64_t *words = (uint64_t *)block;
    const uint64_t key = bench_mix(step->block), count = step->bytes / 8;
    for (uint64_t w = 0; w < count; w++)
        words[w] = key + w;
    unsigned char *rest = (unsigned char *)(words + count);
    for (uint32_t b = 0; b < step->bytes % 8; b++)
        rest[b] = (unsigned char)(key >> (56 - 8 * b));
}

SIMT_FN int replay_is_broken(const struct replay_step *step, const void *block)
{
    const uint64_t *words = (const uint64_t *)block;
    const uint64_t key = bench_mix(step->block), count = step->bytes / 8;
    int broken = 0;
    for (uint64_t w = 0; w < count; w++)
        broken |= words[w] != key + w;
    const unsigned char *rest = (const unsigned char *)(words + count);
    for (uint32_t b = 0; b < step->bytes % 8; b++)
        broken |= rest[b] != (unsigned char)(key >> (56 - 8 * b));
    return broken;
}

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
    if (REPLAY_CHECKS(a) && block && replay_is_aligned(a, block) && replay_is_broken(step, block))
        simt_add_u64(&a->tally->broken, 1, relaxed);
    quarry_free(a->heap, block);
}

SIMT_FN void *replay_malloc(const struct replay_job *a, const struct replay_step *step)
{
    void *block = quarry_malloc(a->heap, step->bytes);
    if (REPLAY_CHECKS(a) && block) {
        if (replay_is_aligned(a, block))
            replay_write(step, block);
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
