/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/ouro_kernels.h"

SIMT_KERNEL(ouro_move, struct promise_case, a)
{
    struct quarry_random r;
    r.step = simt_thread() * 2 + 1;
    r.state = quarry_mix_u32(a.program ^ simt_thread());
    if (simt_thread() >= a.threads || !(a.lanes >> simt_lane() & 1u))
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint32_t all = quarry_random_below(&r, 2), some = 1 + quarry_random_below(&r, (uint32_t)a.bytes);
        void *block = quarry_malloc(a.heap, all ? a.bytes : some);
        if (!block)
            simt_add_u32(&a.result->nulls, 1, relaxed);
        quarry_free(a.heap, block);
    }
}
