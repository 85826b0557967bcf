/* SPDX-License-Identifier: Apache-2.0 */
#include "fixed_kernels.h"

SIMT_FN void fixed_keep(const struct fixed_test *a, enum fixed_call call, void *block)
{
    if (block)
        simt_add_u64(&a->got[call], 1, relaxed);
    quarry_free(a->heap, block);
}

SIMT_FN void fixed_all(const struct fixed_test *a)
{
    struct quarry_context context = quarry_context_start();
    fixed_keep(a, FIXED_MALLOC, quarry_malloc(a->heap, 32));
    fixed_keep(a, FIXED_MALLOC_WITH, quarry_malloc_with(a->heap, &context, 32));
    fixed_keep(a, FIXED_ALIGNED_16, quarry_aligned_alloc(a->heap, 16, 32));
    fixed_keep(a, FIXED_ALIGNED_4096, quarry_aligned_alloc(a->heap, 4096, 32));
    fixed_keep(a, FIXED_CALLOC, quarry_calloc(a->heap, 4, 8));
    fixed_keep(a, FIXED_REALLOC, quarry_realloc(a->heap, SIMT_NULL, 32));
    if (quarry_available_slots(a->heap, 32) != 0)
        simt_add_u64(&a->got[FIXED_SLOTS], 1, relaxed);
    if (simt_thread() != 0)
        return;
    if (quarry_usable_size(a->heap, a->block) != 0)
        simt_add_u64(&a->got[FIXED_USABLE], 1, relaxed);
    void *moved = quarry_realloc(a->heap, a->block, 24);
    if (moved)
        simt_add_u64(&a->got[FIXED_MOVED], 1, relaxed);
    quarry_free(a->heap, moved ? moved : a->block);
}

SIMT_KERNEL(fixed_calls, struct fixed_test, a)
{
    fixed_all(&a);
}

SIMT_KERNEL(fixed_hidden_calls, struct fixed_hidden, a)
{
    fixed_all(a.test);
}

SIMT_KERNEL(fixed_pair_calls, struct fixed_pair, a)
{
    (void)a;
}

SIMT_KERNEL(fixed_hidden_free, struct fixed_hidden, a)
{
    if (simt_thread() == 0)
        quarry_free(a.test->heap, a.test->block);
}
