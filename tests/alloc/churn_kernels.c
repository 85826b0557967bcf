/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/churn_kernels.h"
#include "alloc/stamp.h"

SIMT_FN uint32_t churn_bytes(const struct churn_case *a, struct quarry_random *r)
{
    if (a->least == a->most || quarry_random_below(r, CHURN_SHARES) < a->whole)
        return a->most;
    uint32_t powers = 32u - simt_clz_u32(a->most / a->least);
    uint32_t top = a->most >> quarry_random_below(r, powers);
    uint32_t bytes = top - quarry_random_below(r, top - top / 2u);
    return bytes < a->least ? a->least : bytes;
}

SIMT_FN int churn_is_torn(const struct churn_block *b)
{
    return !stamp_is_there(b->address, b->bytes, b->stamp);
}

/* A block, unless there would be too much. */
SIMT_FN void churn_take(const struct churn_case *a, struct churn_block *b, struct churn_result *sum)
{
    /* Order: acquires what others freed before they said so. */
    uint64_t before = simt_add_u64(a->live, b->bytes, acquire);
    if (before + b->bytes <= a->limit) {
        b->address = quarry_malloc(a->heap, b->bytes);
        sum->taken += b->address != SIMT_NULL;
        if (!b->address) {
            sum->nulls++;
            (void)simt_min_u32(&a->result->least, b->bytes, relaxed);
        }
    }
    if (!b->address) {
        (void)simt_sub_u64(a->live, b->bytes, relaxed);
        return;
    }
    uint64_t offset = (uint64_t)((unsigned char *)b->address - a->pool);
    if ((uintptr_t)b->address % 16u || offset > a->pool_bytes || a->pool_bytes - offset < b->bytes)
        sum->strange++;
    else
        stamp_write(b->address, b->bytes, b->stamp);
}

SIMT_FN void churn_free(const struct churn_case *a, struct churn_block *b, struct churn_result *sum)
{
    sum->torn += (uint32_t)churn_is_torn(b);
    sum->freed++;
    quarry_free(a->heap, b->address);
    b->address = SIMT_NULL;
    (void)simt_sub_u64(a->live, b->bytes, release); /* pairs with churn_take */
}

SIMT_FN void churn_tell(const struct churn_case *a, const struct churn_result *sum)
{
    (void)simt_add_u64(&a->result->taken, sum->taken, relaxed);
    (void)simt_add_u64(&a->result->freed, sum->freed, relaxed);
    if (sum->nulls)
        (void)simt_add_u32(&a->result->nulls, sum->nulls, relaxed);
    if (sum->torn)
        (void)simt_add_u32(&a->result->torn, sum->torn, relaxed);
    if (sum->strange)
        (void)simt_add_u32(&a->result->strange, sum->strange, relaxed);
}

SIMT_FN struct churn_block *churn_own(const struct churn_case *a, uint32_t i)
{
    return &a->block[(uint64_t)i * a->threads + (simt_thread() + a->shift) % a->threads];
}

SIMT_KERNEL(churn_play, struct churn_case, a)
{
    struct churn_result sum = {0, 0, 0, 0, 0, 0};
    struct quarry_random r;
    r.step = simt_thread() * 2u + 1u;
    r.state = quarry_mix_u32(a.program ^ quarry_mix_u32(simt_thread()));
    if (simt_thread() >= a.threads)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint32_t i = a.frees && a.takes ? quarry_random_below(&r, a.held) : turn;
        uint32_t bytes = churn_bytes(&a, &r);
        struct churn_block b = *churn_own(&a, i);
        if (b.address && a.frees && quarry_random_below(&r, CHURN_SHARES) >= a.keeps)
            churn_free(&a, &b, &sum);
        if (!b.address && a.takes) {
            b.bytes = bytes;
            b.stamp = a.stamp + turn * a.threads + simt_thread();
            churn_take(&a, &b, &sum);
        }
        *churn_own(&a, i) = b;
        if (sum.nulls && !a.frees) /* there will be no more */
            break;
    }
    churn_tell(&a, &sum);
}

SIMT_KERNEL(churn_verify, struct churn_case, a)
{
    struct churn_result sum = {0, 0, 0, 0, 0, 0};
    if (simt_thread() >= a.threads)
        return;
    for (uint32_t i = 0; i < a.held; i++) {
        struct churn_block b = *churn_own(&a, i);
        sum.torn += b.address ? (uint32_t)churn_is_torn(&b) : 0u;
    }
    churn_tell(&a, &sum);
}
