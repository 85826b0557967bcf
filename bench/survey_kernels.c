/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of `quarry bench` in which threads allocate more than once, or use what they allocate.  Compiled
 * for the CPU and for CUDA, once for each allocator. */
#include "kernels.h"

enum { KEPT = 4 }; /* blocks of a thread of bench_churn, a divisor of the rounds */

/* A block in use has a word in it that tells its address, and a freed one has not: whoever gets a block that
 * another has, too, finds that out when it frees it. */
SIMT_FN void bench_stamp(void *block, uint64_t bytes)
{
    if (bytes >= sizeof(uint32_t))
        *(uint32_t *)block = (uint32_t)bench_mix((uint64_t)(uintptr_t)block);
}

/* Frees it, and returns whether the word was there.  What is stored depends on what was loaded: if a store follows a
 * load of the same line that is still on its way, a GPU takes four times as long for all accesses. */
SIMT_FN int bench_free_stamped(const struct bench_cell *a, void *block)
{
    uint32_t left = 0;
    if ((a->least ? a->least : a->bytes) >= sizeof(uint32_t)) {
        left = *(uint32_t *)block ^ (uint32_t)bench_mix((uint64_t)(uintptr_t)block);
        *(uint32_t *)block = left;
    }
    quarry_free(a->heap, block);
    return left == 0;
}

SIMT_FN void bench_report(const struct bench_cell *a, uint32_t nulls, uint32_t broken)
{
    if (nulls)
        simt_add_u64(&a->tally->nulls, nulls, relaxed);
    if (broken)
        simt_add_u64(&a->tally->broken, broken, relaxed);
}

/* With at most 64 registers, so that 131,072 threads are on an H100 at once; likewise the next. */
EACH_KERNEL_RESIDENT(bench_churn, struct bench_cell, a, 256, 4)
{
    struct quarry_context context = quarry_context_start();
    void *kept[KEPT];
    uint32_t nulls = 0, broken = 0;
    if (!bench_works(&a))
        return;
    for (uint32_t k = 0; k < KEPT; k++)
        kept[k] = SIMT_NULL;
    for (uint32_t round = 0; round <= a.rounds; round += KEPT) {
        for (uint32_t k = 0; k < KEPT; k++) {
            if (kept[k])
                broken += !bench_free_stamped(&a, kept[k]);
            if (round == a.rounds)
                continue;
            uint64_t bytes = bench_size(&a, (uint64_t)simt_thread() * a.rounds + round + k);
            kept[k] = quarry_malloc_with(a.heap, &context, bytes);
            if (kept[k])
                bench_stamp(kept[k], bytes);
            else
                nulls++;
        }
    }
    bench_report(&a, nulls, broken);
}

/* Order: the exchange releases the word in the new block, and acquires that in the old one. */
EACH_KERNEL_RESIDENT(bench_exchange, struct bench_cell, a, 256, 4)
{
    struct quarry_context context = quarry_context_start();
    uint32_t nulls = 0, broken = 0;
    if (!bench_works(&a))
        return;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint64_t i = (uint64_t)simt_thread() * a.rounds + round, bytes = bench_size(&a, i);
        void *block = quarry_malloc_with(a.heap, &context, bytes);
        if (!block) {
            nulls++;
            continue;
        }
        bench_stamp(block, bytes);
        uint32_t place = simt_mulhi_u32((uint32_t)(bench_mix(i) >> 32), a.threads);
        uint64_t *slot = (uint64_t *)(void *)&a.pointers[place];
        void *old = (void *)(uintptr_t)simt_exchange_u64(slot, (uint64_t)(uintptr_t)block, acq_rel);
        if (old)
            broken += !bench_free_stamped(&a, old);
    }
    bench_report(&a, nulls, broken);
}

EACH_KERNEL(bench_produce, struct bench_cell, a)
{
    uint32_t i = simt_thread();
    if (!bench_works(&a))
        return;
    uint64_t bytes = bench_size(&a, i);
    void *block = quarry_malloc(a.heap, bytes);
    a.pointers[i] = block;
    if (block)
        bench_put_pattern(block, i, bytes);
}

#if SIMT_C_VIEW
const struct bench_survey_kernels EACH_NAME(bench_survey_kernels) = {
    &EACH_NAME(bench_churn),
    &EACH_NAME(bench_exchange),
    &EACH_NAME(bench_produce),
};
#endif
