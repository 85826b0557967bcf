/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a radix sort.  Compiled for the CPU and for CUDA; radix_kernels.h has the method. */
#include "radix_kernels.h"

SIMT_FN uint32_t radix_warp(void)
{
    return simt_thread() / SIMT_LANES;
}

SIMT_FN uint32_t digit_of(const struct radix_pass *pass, uint64_t word)
{
    return (uint32_t)(word >> pass->shift) & ((1u << pass->bits) - 1u);
}

SIMT_FN uint64_t stretch_end(const struct radix_pass *pass)
{
    uint64_t end = (radix_warp() + (uint64_t)1) * pass->stretch;
    return end < pass->count ? end : pass->count;
}

SIMT_KERNEL(radix_count, struct radix_pass, a)
{
    uint32_t digits = 1u << a.bits;
    uint32_t *counts = (uint32_t *)simt_shared() + simt_warp() * digits;
    if (radix_warp() >= a.warps)
        return;
    for (uint32_t d = simt_lane(); d < digits; d += SIMT_LANES)
        counts[d] = 0;
    simt_sync(SIMT_ALL_LANES);
    uint64_t end = stretch_end(&a);
    for (uint64_t i = radix_warp() * a.stretch + simt_lane(); i < end; i += SIMT_LANES)
        simt_add_u32(&counts[digit_of(&a, a.from[i])], 1, relaxed);
    simt_sync(SIMT_ALL_LANES);
    for (uint32_t d = simt_lane(); d < digits; d += SIMT_LANES)
        a.starts[(uint64_t)d * a.warps + radix_warp()] = counts[d];
}

SIMT_KERNEL(radix_move, struct radix_pass, a)
{
    uint32_t digits = 1u << a.bits;
    uint32_t lane = simt_lane();
    uint64_t *next = (uint64_t *)simt_shared() + simt_warp() * digits;
    if (radix_warp() >= a.warps)
        return;
    for (uint32_t d = lane; d < digits; d += SIMT_LANES)
        next[d] = a.starts[(uint64_t)d * a.warps + radix_warp()];
    simt_sync(SIMT_ALL_LANES);
    uint64_t end = stretch_end(&a);
    for (uint64_t i = radix_warp() * a.stretch; i < end; i += SIMT_LANES) {
        int here = i + lane < end;
        uint32_t present = end - i < SIMT_LANES ? (1u << (end - i)) - 1u : SIMT_ALL_LANES;
        uint32_t digit = 0;
        uint32_t peers = 0;
        if (here) {
            uint64_t word = a.from[i + lane];
            digit = digit_of(&a, word);
            peers = simt_match_u32(present, digit);
            a.to[next[digit] + simt_rank(peers)] = word;
        }
        /* All have read their digit's entry before it moves on, and it has moved before it is read again. */
        simt_sync(SIMT_ALL_LANES);
        if (here && simt_rank(peers) == 0)
            next[digit] += simt_popc_u32(peers);
        simt_sync(SIMT_ALL_LANES);
    }
}
