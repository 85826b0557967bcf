/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG /* assertions are part of the contract tested here */
#include "simt/simt_kernels.h"

SIMT_KERNEL(simt_identity, struct simt_case, a)
{
    struct simt_seen *s = &a.seen[simt_thread()];
    s->lane = simt_lane();
    s->warp = simt_warp();
    s->thread = simt_thread();
    s->threads = simt_threads();
    s->block_thread = simt_block_thread();
    s->block_threads = simt_block_threads();
    s->block = simt_block();
    s->blocks = simt_blocks();
}

/* Every collective, over the lanes of mask. */
SIMT_FN void simt_see_all(struct simt_seen *s, uint32_t mask)
{
    uint32_t lane = simt_lane();
    uint32_t first = simt_ctz_u32(mask);
    s->ballot = simt_ballot(mask, lane % 3 == 0);
    s->any = (uint32_t)simt_any(mask, lane == first) * 2 + (uint32_t)simt_any(mask, lane > 31);
    s->all = (uint32_t)simt_all(mask, lane < 32) * 2 + (uint32_t)simt_all(mask, lane != first);
    s->shuffle = simt_shuffle_u32(mask, lane * 10, (lane + 2) % 32);
    s->shuffle64 = simt_shuffle_u64(mask, ((uint64_t)lane << 40) | 7, (lane + 2) % 32 + 32);
    s->match = simt_match_u32(mask, lane / 8);
    s->match64 = simt_match_u64(mask, (uint64_t)(lane / 4) << 33);
    s->sum = simt_reduce_add_u32(mask, lane + 1);
    s->sum64 = simt_reduce_add_u64(mask, (uint64_t)lane << 32);
    s->min = simt_reduce_min_u32(mask, lane + 5);
    s->max = simt_reduce_max_u32(mask, lane + 5);
    s->bits = simt_reduce_or_u32(mask, 1u << lane);
}

SIMT_KERNEL(simt_collectives_full, struct simt_case, a)
{
    simt_see_all(&a.seen[simt_thread()], SIMT_ALL_LANES);
}

SIMT_KERNEL(simt_collectives_divergent, struct simt_case, a)
{
    if (simt_lane() & 1)
        simt_see_all(&a.seen[simt_thread()], SIMT_TEST_ODD);
    else
        simt_see_all(&a.seen[simt_thread()], SIMT_TEST_EVEN);
}

/* Lanes 0 and 1 confer on the side, then meet lanes 2 and 3, which have waited. */
SIMT_KERNEL(simt_nested_masks, struct simt_case, a)
{
    uint32_t lane = simt_lane();
    uint32_t value = lane;
    if (lane > 3)
        return;
    if (lane < 2)
        value = simt_reduce_add_u32(0x3u, lane + 10);
    a.out[simt_thread()] = simt_reduce_add_u32(0xfu, value);
}

/* Each lane writes the group that it was in; lanes come by two ways. */
SIMT_KERNEL(simt_active_groups, struct simt_case, a)
{
    uint32_t group;
    if (simt_lane() < 12)
        group = simt_active();
    else
        group = simt_active();
    a.seen[simt_thread()].ballot = group;
    a.seen[simt_thread()].sum = simt_reduce_add_u32(group, 1);
}

SIMT_KERNEL(simt_shared_reverse, struct simt_case, a)
{
    uint32_t *shared = (uint32_t *)simt_shared();
    uint32_t n = simt_block_threads();
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        shared[simt_block_thread()] = simt_thread() + turn;
        simt_block_barrier();
        a.out[simt_thread()] += shared[n - 1 - simt_block_thread()];
        simt_block_barrier();
    }
}

/* Half of the lanes return; the barrier is for the rest. */
SIMT_KERNEL(simt_barrier_after_exit, struct simt_case, a)
{
    uint32_t *shared = (uint32_t *)simt_shared();
    if (simt_warp() & 1)
        return;
    shared[simt_block_thread()] = simt_block_thread();
    simt_block_barrier();
    a.out[simt_thread()] = shared[simt_block_thread() ^ 1u] + 1;
}

SIMT_KERNEL(simt_atomics, struct simt_case, a)
{
    uint32_t t = simt_thread();
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        simt_add_u32(&a.words[0], t, relaxed);
        simt_sub_u32(&a.words[1], 1, acq_rel);
        simt_xor_u32(&a.words[4], 1u << (t % 32), relaxed);
        simt_add_u64(&a.wide[0], ((uint64_t)t << 32) + 1, relaxed);
        simt_sub_u64(&a.wide[1], 1, release);
        simt_xor_u64(&a.wide[4], (uint64_t)1 << (t % 64), acquire);
        for (;;) {
            uint32_t before = simt_load_u32(&a.words[7], relaxed);
            if (simt_cas_u32(&a.words[7], before, before + 1, acq_rel) == before)
                break;
            simt_backoff();
        }
        for (;;) {
            uint64_t before = simt_load_u64(&a.wide[7], relaxed);
            if (simt_cas_u64(&a.wide[7], before, before + ((uint64_t)1 << 33), acq_rel) == before)
                break;
            simt_backoff();
        }
    }
    simt_or_u32(&a.words[2], 1u << (t % 32), release);
    simt_and_u32(&a.words[3], ~(1u << (t % 32)), relaxed);
    simt_max_u32(&a.words[5], t, relaxed);
    simt_min_u32(&a.words[6], 1000000 - t, relaxed);
    simt_or_u64(&a.wide[2], (uint64_t)1 << (t % 64), release);
    simt_and_u64(&a.wide[3], ~((uint64_t)1 << (t % 64)), relaxed);
    simt_max_u64(&a.wide[5], (uint64_t)t << 32, relaxed);
    simt_min_u64(&a.wide[6], ((uint64_t)1 << 40) - t, relaxed);
    /* Each number handed round once: the sum of what came back, and what stays, is the sum of all. */
    a.out[t] = simt_exchange_u32(&a.words[8], t, acq_rel);
    a.seen[t].sum64 = simt_exchange_u64(&a.wide[8], (uint64_t)t << 20, acq_rel);
}

/* Even threads publish a plain word, odd ones wait for it: by release and acquire, or by fences. */
SIMT_KERNEL(simt_atomic_order, struct simt_case, a)
{
    uint32_t t = simt_thread(), pair = t / 2;
    if (t % 2 == 0) {
        a.seen[pair].sum = pair + 77;
        if (pair % 2)
            simt_store_u32(&a.out[pair], 1, release);
        else {
            simt_fence(acq_rel);
            if (pair % 4)
                simt_store_u32(&a.out[pair], 1, fenced);
            else
                (void)simt_exchange_u32(&a.out[pair], 1, fenced);
        }
    } else {
        if (pair % 2) {
            while (simt_load_u32(&a.out[pair], acquire) == 0)
                simt_backoff();
        } else {
            while (simt_load_u32(&a.out[pair], relaxed) == 0)
                simt_backoff();
            simt_fence(acq_rel);
        }
        a.seen[pair].max = a.seen[pair].sum + 1;
    }
}

/* Threads of the first half publish a word, those of the second wait for it, and load it cached, which they have before. */
SIMT_KERNEL(simt_cached_order, struct simt_case, a)
{
    uint32_t t = simt_thread(), half = simt_threads() / 2;
    if (t < half) {
        simt_store_u32(&a.out[t], t + 1, relaxed);
        simt_store_u32(&a.out[t + half], 1, release);
    } else {
        a.seen[t].max = simt_load_u32(&a.out[t - half], cached);
        while (simt_load_u32(&a.out[t], acquire) == 0)
            simt_backoff();
        a.seen[t].sum = simt_load_u32(&a.out[t - half], cached);
    }
}

/* Lanes of one warp take turns with a lock: each makes progress while its siblings spin. */
SIMT_KERNEL(simt_lane_lock, struct simt_case, a)
{
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        while (simt_exchange_u32(&a.words[0], 1, acquire))
            simt_backoff();
        a.words[1] += 1; /* plain: the lock protects it */
        simt_store_u32(&a.words[0], 0, release);
    }
}

SIMT_KERNEL(simt_sync_orders, struct simt_case, a)
{
    uint32_t t = simt_thread();
    uint32_t warp_first = t - simt_lane();
    for (uint32_t turn = 1; turn <= a.turns; turn++) {
        a.seen[t].sum = turn * 100 + simt_lane();
        simt_sync(SIMT_ALL_LANES);
        a.out[t] += a.seen[warp_first + (simt_lane() + turn) % 32].sum;
        simt_sync(SIMT_ALL_LANES);
    }
}

SIMT_KERNEL(simt_bits, struct simt_case, a)
{
    simt_begin_early(); /* as any other kernel may: then it has nothing to wait for */
    if (simt_thread() != 0)
        return;
    a.out[0] = simt_popc_u32(0xf0f00001u);
    a.out[1] = simt_popc_u64(0xf0f0000100000003u);
    a.out[2] = simt_ctz_u32(0x80000000u);
    a.out[3] = simt_ctz_u64((uint64_t)1 << 63);
    a.out[4] = simt_mulhi_u32(0x80000000u, 6);
    a.wide[0] = simt_mulhi_u64((uint64_t)1 << 63, 6);
    a.wide[1] = simt_mulhi_u64(~(uint64_t)0, ~(uint64_t)0);
    a.out[5] = simt_ctz_u32(1);
    a.out[6] = simt_clz_u32(1);
    a.out[7] = simt_clz_u32(0xffffffffu);
    a.out[8] = simt_opaque_u32(0xf0f00001u);
}

SIMT_KERNEL(simt_clock_advances, struct simt_case, a)
{
    uint64_t before = simt_clock();
    for (uint32_t i = 0; i < 100; i++)
        simt_add_u32(&a.words[0], 1, relaxed);
    a.out[simt_thread()] = simt_clock() >= before;
}

/* Waits for time to pass: no lane changes anything meanwhile. */
SIMT_KERNEL(simt_wait_for_time, struct simt_case, a)
{
    uint64_t begin = simt_clock();
    while (simt_clock() - begin < a.turns)
        simt_backoff();
    a.out[simt_thread()] = 1;
}

/* Lane 0 polls; the others work, and never back off, until it is done. */
SIMT_KERNEL(simt_busy_siblings, struct simt_case, a)
{
    if (simt_thread() == 0) {
        for (uint32_t i = 0; i < a.turns; i++)
            simt_backoff();
        simt_store_u32(&a.words[0], 1, relaxed);
    } else if (simt_block_thread() < simt_block_threads() / 2) {
        while (simt_load_u32(&a.words[0], relaxed) == 0)
            simt_add_u32(&a.words[1], 1, relaxed);
    } else if (simt_lane() >= 16) {
        while (simt_reduce_add_u32(0xffff0000u, simt_load_u32(&a.words[0], relaxed)) == 0)
            simt_add_u32(&a.words[1], 1, relaxed);
    }
}

/* ---- the CPU backend's own promises ---- */

/* Writes the order in which threads pass. */
SIMT_KERNEL(simt_trace, struct simt_case, a)
{
    for (uint32_t turn = 0; turn < a.turns; turn++)
        a.out[simt_add_u32(&a.words[0], 1, relaxed)] = simt_thread();
    a.seen[simt_thread()].ballot = simt_active();
}

/* Holds the lock for some 10 ms without changing anything. */
SIMT_KERNEL(simt_long_hold, struct simt_case, a)
{
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        while (simt_exchange_u32(&a.words[0], 1, acquire))
            simt_backoff();
        uint64_t begin = simt_clock();
        while (simt_clock() - begin < 20000000)
            a.out[simt_thread()]++;
        simt_store_u32(&a.words[0], 0, release);
    }
}

SIMT_KERNEL(simt_wait_for_never, struct simt_case, a)
{
    if (simt_lane() == 3)
        return;
    while (simt_load_u32(&a.words[0], acquire) == 0)
        simt_backoff();
}

/* Lane 9 has returned when the others wait for it in a collective. */
SIMT_KERNEL(simt_wait_for_lane, struct simt_case, a)
{
    if (simt_lane() == 9)
        while (simt_load_u32(&a.words[0], acquire) == 0)
            simt_backoff();
    a.out[simt_thread()] = simt_ballot(SIMT_ALL_LANES, 1);
}

/* Even lanes take lock 0 then 1, odd ones 1 then 0. */
SIMT_KERNEL(simt_two_locks, struct simt_case, a)
{
    uint32_t first = simt_lane() & 1;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        while (simt_exchange_u32(&a.words[first], 1, acquire))
            simt_backoff();
        while (simt_exchange_u32(&a.words[1 - first], 1, acquire))
            simt_backoff();
        simt_store_u32(&a.words[1 - first], 0, release);
        simt_store_u32(&a.words[first], 0, release);
    }
}

SIMT_KERNEL(simt_wrong_mask, struct simt_case, a)
{
    a.out[simt_thread()] = simt_ballot(SIMT_ALL_LANES & ~1u, 1);
}

SIMT_KERNEL(simt_different_collectives, struct simt_case, a)
{
    if (simt_lane() & 1)
        a.out[simt_thread()] = simt_ballot(SIMT_ALL_LANES, 1);
    else
        simt_sync(SIMT_ALL_LANES);
}

SIMT_KERNEL(simt_false_assertion, struct simt_case, a)
{
    simt_assert(a.turns != simt_thread());
}
