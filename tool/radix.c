/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of a radix sort; the contracts are in radix.h. */
#include "radix.h"

#include "radix_kernels.h"
#include "tool.h"

#define LEAST_STRETCH 1024u /* words of a warp: fewer, and its counts are as much work as the words */
#define MOST_WARPS 8192u    /* more than a GPU runs at once; a multiple of a block's */

/* How many warps share the words. */
static uint32_t warps_for(uint64_t count)
{
    uint64_t warps = (count + LEAST_STRETCH - 1) / LEAST_STRETCH;
    return (uint32_t)(warps < MOST_WARPS ? warps : MOST_WARPS);
}

uint64_t radix_scratch_bytes(uint64_t count)
{
    return ((uint64_t)warps_for(count) << RADIX_BITS) * sizeof(uint64_t);
}

int radix_sort(struct work *work, uint64_t **words, uint64_t **other, uint64_t count, uint32_t shift,
               uint32_t bits, void *scratch)
{
    const uint32_t passes = (bits + RADIX_BITS - 1) / RADIX_BITS;
    struct radix_pass pass;
    pass.warps = warps_for(count);
    pass.starts = (uint64_t *)scratch;
    pass.count = count;
    pass.shift = shift;
    if (count == 0)
        return 0;
    /* Whole steps of a warp, so that its loads are aligned. */
    pass.stretch = ((count + pass.warps - 1) / pass.warps + SIMT_LANES - 1) / SIMT_LANES * SIMT_LANES;
    for (uint32_t i = 0; i < passes; i++) {
        pass.from = *words;
        pass.to = *other;
        pass.bits = (bits + passes - 1 - i) / passes; /* all digits of nearly one width */
        const uint32_t block_warps = RADIX_BLOCK / SIMT_LANES;
        const uint32_t shared = block_warps << pass.bits;
        struct quarry_grid grid = {(pass.warps + block_warps - 1) / block_warps, RADIX_BLOCK, 0};
        grid.shared_bytes = shared * (uint32_t)sizeof(uint32_t);
        if (work_launch(work, &radix_count, grid, &pass) ||
            work_scan(work, pass.starts, (uint64_t)pass.warps << pass.bits))
            return TOOL_FAILED;
        grid.shared_bytes = shared * (uint32_t)sizeof(uint64_t);
        if (work_launch(work, &radix_move, grid, &pass))
            return TOOL_FAILED;
        pass.shift += pass.bits;
        *words = pass.to;
        *other = (uint64_t *)(uintptr_t)pass.from;
    }
    return 0;
}
