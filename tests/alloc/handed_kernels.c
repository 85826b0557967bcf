/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/handed_kernels.h"

SIMT_FN void wrong(const struct handed_case *a, int is)
{
    if (is)
        (void)simt_add_u32(a->wrong, 1, relaxed);
}

SIMT_KERNEL(handed_turns, struct handed_case, a)
{
    int greedy = simt_block() != 1;
    uint64_t bytes = greedy ? a.large : a.bytes;
    unsigned char mine = (unsigned char)(simt_thread() + 1u);
    for (uint32_t i = 0; i < a.turns && simt_lane() < (greedy ? a.greedy : a.threads); i++) {
        unsigned char *block;
        while (!(block = (unsigned char *)quarry_malloc(a.heap, bytes)))
            simt_backoff();
        for (uint64_t k = 0; k < bytes; k += 16)
            block[k] = mine;
        for (uint64_t k = 0; k < bytes; k += 16)
            wrong(&a, block[k] != mine);
        quarry_free(a.heap, block);
    }
}

SIMT_KERNEL(handed_counted, struct handed_case, a)
{
    if (simt_block() > 0 && simt_lane() < a.threads)
        quarry_free(a.heap, a.block[(simt_block() - 1u) * a.threads + simt_lane()]);
    for (uint32_t i = 0; simt_block() == 0 && simt_lane() == 0 && i < a.turns; i++)
        wrong(&a, quarry_ualloc_slots(&a.heap.as.ualloc.arenas, a.bytes, 1u) < a.least);
}
