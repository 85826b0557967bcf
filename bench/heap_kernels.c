/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry bench` that allocate and free.  Compiled for the CPU and for CUDA, once for each
 * allocator. */
#include "kernels.h"

EACH_KERNEL(bench_malloc, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (bench_works(&a))
        a.pointers[i] = quarry_malloc(a.heap, bench_size(&a, i));
}

EACH_KERNEL(bench_free, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (bench_works(&a))
        quarry_free(a.heap, a.pointers[i]);
}

EACH_KERNEL(bench_at_once, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (bench_works(&a)) {
        a.pointers[i] = quarry_malloc(a.heap, bench_size(&a, i));
        quarry_free(a.heap, a.pointers[i]);
    }
}

EACH_KERNEL(bench_fill, struct bench_cell, a)
{
    if (!bench_works(&a))
        return;
    uint64_t blocks = 0, sum = 0, misaligned = 0;
    void *last = SIMT_NULL;
    for (uint64_t i = simt_thread();; i += a.threads) {
        uint64_t bytes = bench_size(&a, i);
        void *block = quarry_malloc(a.heap, bytes);
        if (!block)
            break;
        if ((uintptr_t)block % a.alignment != 0)
            misaligned++;
        else if (bench_put_link(block, i, bytes, last))
            last = block;
        blocks++;
        sum += bytes;
    }
    a.pointers[simt_thread()] = last;
    ((uint64_t *)(void *)a.others)[simt_thread()] = misaligned ? 0 : blocks;
    simt_add_u64(&a.tally->misaligned, misaligned, relaxed);
    simt_add_u64(&a.tally->filled[0], blocks, relaxed);
    simt_add_u64(&a.tally->filled[1], sum, relaxed);
}

EACH_KERNEL(bench_hold, struct bench_hold, a)
{
    for (uint64_t i = a.first + simt_thread(); i < a.last; i += simt_threads())
        if (!a.held[i])
            a.held[i] = quarry_malloc(a.heap, a.bytes);
}

EACH_KERNEL(bench_thin, struct bench_hold, a)
{
    for (uint64_t i = a.first + simt_thread(); i < a.last; i += simt_threads()) {
        if ((uint32_t)(bench_mix(i) >> 32) < a.free_share)
            quarry_free(a.heap, a.held[i]);
    }
}

#if SIMT_C_VIEW
const struct bench_heap_kernels EACH_NAME(bench_heap_kernels) = {
    &EACH_NAME(bench_malloc), &EACH_NAME(bench_free), &EACH_NAME(bench_at_once),
    &EACH_NAME(bench_fill),   &EACH_NAME(bench_hold), &EACH_NAME(bench_thin),
};
#endif
