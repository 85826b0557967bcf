/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and free once more, in kernels that count: so those with one allocator's code that are timed pay nothing
 * for it.  Compiled for the CPU and for CUDA, once for each allocator that is counted apart, and for all. */
#define QUARRY_COUNT_STEPS
#include "kernels.h"

/* Adds to the tally, once a warp, what its working lanes have. */
SIMT_FN void bench_add(uint32_t group, uint64_t *sum, uint64_t value)
{
    value = simt_reduce_add_u64(group, value);
    if (simt_rank(group) == 0)
        simt_add_u64(sum, value, relaxed);
}

/* The working lanes of the calling lane's warp. */
SIMT_FN uint32_t bench_group(const struct bench_cell *a)
{
    return simt_ballot(SIMT_ALL_LANES, bench_works(a));
}

EACH_KERNEL(bench_count_malloc, struct bench_cell, a)
{
    struct quarry_context context = quarry_context_make(0);
    uint32_t group = bench_group(&a);
    if (!bench_works(&a))
        return;
    uint64_t bytes = bench_size(&a, simt_thread()), begin = simt_clock();
    void *block = quarry_malloc_with(a.heap, &context, bytes);
    uint64_t cycles = simt_clock() - begin;
    a.pointers[simt_thread()] = block;
    simt_sync(group);
    bench_add(group, &a.tally->cycles[0], cycles);
    bench_add(group, &a.tally->steps, context.steps);
    uint32_t most = simt_reduce_max_u32(group, context.steps);
    bench_add(group, &a.tally->warp_steps, simt_rank(group) == 0 ? most : 0);
    bench_add(group, &a.tally->warps, simt_rank(group) == 0);
}

EACH_KERNEL(bench_count_free, struct bench_cell, a)
{
    uint32_t group = bench_group(&a);
    if (!bench_works(&a))
        return;
    void *block = a.pointers[simt_thread()];
    uint64_t begin = simt_clock();
    quarry_free(a.heap, block);
    uint64_t cycles = simt_clock() - begin;
    simt_sync(group);
    bench_add(group, &a.tally->cycles[1], cycles);
}

#if SIMT_C_VIEW
const struct bench_count_kernels EACH_NAME(bench_count_kernels) = {
    &EACH_NAME(bench_count_malloc),
    &EACH_NAME(bench_count_free),
};
#endif
