/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/windows_kernels.h"

#include "quarry/core/random.h"

SIMT_KERNEL(windows_start, struct windows_case, a)
{
    quarry_chunks_init(&a.store, simt_thread(), simt_threads());
}

/* A run for each lane of the group, or one chunk.  A proof that there is none is wrong, and ends the wait. */
SIMT_FN uint32_t windows_take(const struct windows_case *a, uint32_t group, uint32_t n)
{
    uint32_t at = QUARRY_NO_INDEX, needs = group, leader = simt_ctz_u32(group), proven;
    do {
        uint64_t seen = 0;
        if (simt_rank(group) == 0) /* acquire: pairs with the release in quarry_chunks_end */
            seen = simt_load_u64(&a->store.head->word, acquire);
        simt_sync(group);
        uint32_t got = n > 1 ? quarry_run_take(&a->store, group, needs, n)
                             : quarry_chunks_take(&a->store, group, needs, 0, SIMT_NULL, &seen);
        at = needs >> simt_lane() & 1u ? got : at;
        needs = simt_ballot(group, at == QUARRY_NO_INDEX);
        proven = needs && simt_rank(group) == 0 && quarry_chunks_is_same(&a->store, seen);
        if (proven)
            simt_add_u32(&a->counts[WINDOWS_NULLS], 1, relaxed);
        proven = simt_shuffle_u32(group, proven, leader);
    } while (needs && !proven);
    return at;
}

SIMT_FN void windows_use(const struct windows_case *a, uint32_t at, uint32_t n)
{
    if (at >= a->store.count || n > a->store.count - at || at % (1u << quarry_run_order(n))) {
        simt_add_u32(&a->counts[WINDOWS_WRONG], 1, relaxed);
        return;
    }
    uint32_t step = a->thin && n > 1 ? n - 1u : 1u;
    for (uint32_t i = at; i < at + n; i += step)
        if (simt_exchange_u32(&a->holder[i], 1, relaxed) != 0)
            simt_add_u32(&a->counts[WINDOWS_WRONG], 1, relaxed);
    for (uint32_t i = at; i < at + n; i++)
        a->visits[i]++;
    for (uint32_t i = at; i < at + n; i += step)
        simt_store_u32(&a->holder[i], 0, relaxed);
}

/* Gives back a run, or one chunk: each lane of `has` for itself, or all together. */
SIMT_FN void windows_give(const struct windows_case *a, uint32_t has, uint32_t at, uint32_t n, uint32_t alone)
{
    if (n > 1) {
        quarry_run_give(&a->store, at, n, n);
    } else if (alone) {
        quarry_chunks_begin(&a->store);
        quarry_chunks_return(&a->store, at);
    } else {
        simt_sync(has);
        quarry_chunks_give(&a->store, has, at);
    }
}

SIMT_KERNEL(windows_rounds, struct windows_case, a)
{
    if (simt_lane() >= a.lanes)
        return;
    uint32_t group = (1u << a.lanes) - 1u;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t some = simt_mulhi_u32(quarry_mix_u32(a.program ^ simt_block() << 24 ^ round), a.most - 1u);
        uint32_t n = a.singles && simt_block() % 2 && round % a.singles == 0 ? 1u : 2u + some;
        uint32_t at = windows_take(&a, group, n), has = simt_ballot(group, at != QUARRY_NO_INDEX);
        if (at != QUARRY_NO_INDEX) {
            windows_use(&a, at, n);
            windows_give(&a, has, at, n, round % 2);
        }
    }
}

/* Chunks that are free for sure: nobody has them, and what is being returned was not returned yet. */
SIMT_FN uint32_t windows_free(const struct windows_case *a)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->store.count; i++)
        n += simt_load_u32(&a->holder[i], acquire) == WINDOWS_FREE;
    return n;
}

SIMT_FN void windows_state(const struct windows_case *a, uint32_t at, uint32_t n, uint32_t state)
{
    for (uint32_t i = at; i < at + n; i++)
        simt_store_u32(&a->holder[i], state, relaxed);
}

SIMT_KERNEL(windows_beside, struct windows_case, a)
{
    if (simt_lane() >= a.lanes)
        return;
    uint32_t group = (1u << a.lanes) - 1u, begun = 0, left = 0;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint64_t seen = 0;
        uint32_t some = simt_mulhi_u32(quarry_mix_u32(a.program ^ simt_block() << 24 ^ round), a.most);
        uint32_t n = 1u + some, at, alone = 0;
        simt_sync(group);
        if (simt_rank(group) == 0) { /* who sees what a take has changed sees it begun */
            begun = simt_add_u32(&a.counts[WINDOWS_BEGUN], 1, acq_rel) + 1u;
            simt_fence(acq_rel);
            alone = simt_load_u32(&a.counts[WINDOWS_DONE], acquire) + 1u == begun &&
                    simt_add_u32(&a.counts[WINDOWS_BEGUN], 0, acq_rel) == begun;
            left = windows_free(&a);
        }
        simt_sync(group);
        at = n == 1 ? quarry_chunks_take(&a.store, group, group, 0, SIMT_NULL, &seen)
                    : quarry_run_take(&a.store, group, group, n);
        uint32_t has = simt_ballot(group, at != QUARRY_NO_INDEX);
        if (at != QUARRY_NO_INDEX)
            windows_state(&a, at, n, WINDOWS_HAD);
        simt_sync(group);
        if (simt_rank(group) == 0) {
            simt_fence(acq_rel);
            if (n == 1 && has != group && alone && left >= a.lanes &&
                simt_add_u32(&a.counts[WINDOWS_BEGUN], 0, acq_rel) == begun)
                simt_add_u32(&a.counts[WINDOWS_NULLS], 1,
                             relaxed); /* what was free has been so all the time */
            simt_add_u32(&a.counts[WINDOWS_DONE], 1, acq_rel);
        }
        if (at == QUARRY_NO_INDEX)
            continue;
        uint32_t returning = WINDOWS_RETURNING + round * simt_threads() + simt_thread(); /* nobody else's */
        windows_state(&a, at, n, returning);
        windows_give(&a, has, at, n, round % 2);
        for (uint32_t i = at; i < at + n; i++) /* unless others have it by now */
            (void)simt_cas_u32(&a.holder[i], returning, WINDOWS_FREE, release);
    }
}
