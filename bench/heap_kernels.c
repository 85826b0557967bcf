/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry bench` that allocate or free once, for the time.  Compiled for the CPU and for CUDA,
 * once for each allocator. */
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

#if SIMT_C_VIEW
const struct bench_heap_kernels EACH_NAME(bench_heap_kernels) = {
    &EACH_NAME(bench_malloc),
    &EACH_NAME(bench_free),
    &EACH_NAME(bench_at_once),
};
#endif
