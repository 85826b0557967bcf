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

/* The pattern is made of 8-byte words, word w of block i being key(i) + w, and the bytes left over.  Two
 * overlapping blocks differ in the key wherever they meet, whatever their distance. */
SIMT_KERNEL(bench_write, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (!bench_works(&a) || !a.pointers[i] || (uintptr_t)a.pointers[i] % a.alignment != 0)
        return;
    uint64_t *words = (uint64_t *)a.pointers[i];
    uint64_t key = bench_mix(i);
    uint64_t bytes = bench_size(&a, i), count = bytes / 8;
    for (uint64_t w = 0; w < count; w++)
        words[w] = key + w;
    unsigned char *rest = (unsigned char *)(words + count);
    for (uint32_t b = 0; b < bytes % 8; b++)
        rest[b] = (unsigned char)(key >> (56 - 8 * b));
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
    uint64_t key = bench_mix(i);
    uint64_t bytes = bench_size(&a, i), count = bytes / 8;
    int broken = 0;
    for (uint64_t w = 0; w < count; w++)
        broken |= words[w] != key + w;
    const unsigned char *rest = (const unsigned char *)(words + count);
    for (uint32_t b = 0; b < bytes % 8; b++)
        broken |= rest[b] != (unsigned char)(key >> (56 - 8 * b));
    if (broken)
        simt_add_u64(&a.tally->broken, 1, relaxed);
}
