/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry bench` that make the state of a heap: nobody times them, so one of each, with all
 * allocators' code, is enough.  Compiled for the CPU and for CUDA. */
#include "kernels.h"

SIMT_KERNEL(bench_fill, struct bench_cell, a)
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

SIMT_KERNEL(bench_hold, struct bench_hold, a)
{
    for (uint64_t i = a.first + simt_thread(); i < a.last; i += simt_threads())
        if (!a.held[i])
            a.held[i] = quarry_malloc(a.heap, a.bytes);
}

SIMT_KERNEL(bench_thin, struct bench_hold, a)
{
    for (uint64_t i = a.first + simt_thread(); i < a.last; i += simt_threads()) {
        if ((uint32_t)(bench_mix(i) >> 32) < a.free_share)
            quarry_free(a.heap, a.held[i]);
    }
}

SIMT_KERNEL(bench_thin_half, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (bench_works(&a) && bench_mix((uint64_t)a.rounds << 32 | i) >> 63) {
        quarry_free(a.heap, a.pointers[i]);
        a.pointers[i] = SIMT_NULL;
    }
}

SIMT_KERNEL(bench_renew, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (bench_works(&a) && !a.pointers[i])
        a.pointers[i] = quarry_malloc(a.heap, bench_size(&a, i));
}
