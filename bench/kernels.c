/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry bench` that need no heap.  Compiled for the CPU and for CUDA. */
#include "kernels.h"

SIMT_KERNEL(bench_spin, struct bench_spin, a)
{
    if (simt_thread() == 0) {
        uint64_t begin = simt_clock();
        while (simt_clock() - begin < a.ticks)
            simt_backoff();
    }
}

SIMT_KERNEL(bench_empty, struct bench_cell, a)
{
    (void)a;
}

SIMT_KERNEL(bench_store, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (i < a.threads)
        a.pointers[i] = (void *)(a.pointers + i);
}

/* Adds no bounds check, and its pointers are never followed: it is the floor of allocators that hand out
 * memory through one counter, not an allocator. */
SIMT_KERNEL(bench_bump, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (i < a.threads) {
        uint32_t group = simt_active();
        uint64_t first = 0;
        uint32_t leader = simt_ctz_u32(group);
        if (simt_lane() == leader)
            first = simt_add_u64(a.counter, simt_popc_u32(group) * a.bytes, relaxed);
        first = simt_shuffle_u64(group, first, leader);
        a.pointers[i] = (void *)(uintptr_t)(first + simt_rank(group) * a.bytes);
    }
}

SIMT_KERNEL(bench_write, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (bench_works(&a) && a.pointers[i] && (uintptr_t)a.pointers[i] % a.alignment == 0)
        bench_put_pattern(a.pointers[i], i, bench_size(&a, i));
}

SIMT_KERNEL(bench_check, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (!bench_works(&a))
        return;
    const uint64_t *words = (const uint64_t *)a.pointers[i];
    if (!words) {
        simt_add_u64(&a.tally->nulls, 1, relaxed);
        return;
    }
    if ((uintptr_t)words % a.alignment != 0) {
        simt_add_u64(&a.tally->misaligned, 1, relaxed);
        return;
    }
    if (!bench_has_pattern(words, i, bench_size(&a, i)))
        simt_add_u64(&a.tally->broken, 1, relaxed);
}

SIMT_KERNEL(bench_check_fill, struct bench_cell, a)
{
    if (!bench_works(&a))
        return;
    const void *block = a.pointers[simt_thread()];
    for (uint64_t n = ((uint64_t *)(void *)a.others)[simt_thread()]; n-- && block;) {
        uint64_t i = simt_thread() + n * a.threads, bytes = bench_size(&a, i);
        if (bytes < BENCH_LINK)
            continue;
        if (!bench_has_link(block, i, bytes, &block)) {
            simt_add_u64(&a.tally->broken, 1, relaxed);
            return;
        }
    }
}

/* i to i * step mod threads, with a step near threads over the golden ratio and prime to it. */
SIMT_KERNEL(bench_shuffle, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (i < a.threads)
        a.others[(uint64_t)i * a.step % a.threads] = a.pointers[i];
}

SIMT_KERNEL(bench_range, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (!bench_works(&a))
        return;
    if (!a.pointers[i]) {
        simt_add_u64(&a.tally->nulls, 1, relaxed);
        return;
    }
    uint64_t begin = (uint64_t)(uintptr_t)a.pointers[i];
    simt_max_u64(&a.tally->low, ~begin, relaxed);
    simt_max_u64(&a.tally->high, begin + bench_size(&a, i), relaxed);
}

SIMT_KERNEL(bench_keep, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (!bench_works(&a) || !a.pointers[i])
        return;
    uint64_t bytes = bench_size(&a, i);
    simt_add_u64(&a.tally->filled[0], 1, relaxed);
    simt_add_u64(&a.tally->filled[1], bytes, relaxed);
    if ((uintptr_t)a.pointers[i] % a.alignment != 0)
        simt_add_u64(&a.tally->misaligned, 1, relaxed);
    else if (bench_put_link(a.pointers[i], i, bytes, a.others[i]))
        a.others[i] = a.pointers[i];
}

/* All blocks of a chain have one number and one size. */
SIMT_KERNEL(bench_check_kept, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (!bench_works(&a))
        return;
    uint64_t bytes = bench_size(&a, i), blocks = 0;
    for (const void *block = a.others[i]; block && blocks <= a.rounds; blocks++) {
        if (!bench_has_link(block, i, bytes, &block)) {
            simt_add_u64(&a.tally->broken, 1, relaxed);
            return;
        }
    }
    simt_add_u64(&a.tally->steps, blocks, relaxed);
}

SIMT_FN uint64_t bench_packed_size(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

SIMT_KERNEL(bench_pack, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (i < a.threads)
        a.others[i] = a.packed + i * bench_packed_size(a.bytes);
}

SIMT_KERNEL(bench_pack_size, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (i < a.threads)
        ((uint64_t *)(void *)a.others)[i] = bench_packed_size(bench_size(&a, i));
}

SIMT_KERNEL(bench_pack_write, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (i >= a.threads)
        return;
    void *place = a.packed + ((uint64_t *)(void *)a.others)[i];
    a.others[i] = place;
    bench_put_pattern(place, i, bench_size(&a, i));
}
