/* SPDX-License-Identifier: Apache-2.0 */
#include "races/block_kernels.h"

/* All that there is of a block, where smaller ones began and ended before. */
SIMT_FN void block_use_all(const struct block_case *a, int misuses)
{
    for (uint64_t alignment = 16; alignment <= 128; alignment *= 2)
        for (uint64_t bytes = 16; bytes <= 64; bytes += 24) {
            void *small[8];
            for (uint32_t i = 0; i < 8; i++)
                small[i] = quarry_malloc(a->heap, 16);
            for (uint32_t i = 0; i < 8; i++)
                quarry_free(a->heap, small[i]);
            unsigned char *block = (unsigned char *)quarry_aligned_alloc(a->heap, alignment, bytes);
            uint64_t usable = quarry_usable_size(a->heap, block);
            if (usable == 0)
                continue;
            for (uint64_t i = 0; i + 1 < usable; i++)
                block[i] = 1;
            if (!misuses || a->misuse != BLOCK_READ_UNWRITTEN_END)
                block[usable - 1] = 1;
            *a->sum = block[usable - 1];
            quarry_free(a->heap, block);
            if (misuses && a->misuse == BLOCK_WRITE_FREED_END)
                block[usable - 1] = 1;
        }
}

/* One lane does it.  A sound use: writes what it reads, also through a pointer to the middle of the block. */
SIMT_KERNEL(block_misuse, struct block_case, a)
{
    block_use_all(&a, a.misuse >= BLOCK_READ_UNWRITTEN_END);
    uint32_t *block = (uint32_t *)quarry_malloc(a.heap, 4 * sizeof *block);
    if (!block)
        return;
    block[0] = 1;
    if (a.misuse != BLOCK_READ_UNWRITTEN)
        block[1] = 1;
    *a.sum = block[0] + block[1];
    if (a.misuse == BLOCK_LEAVE)
        return;
    quarry_free(a.heap, block);
    if (a.misuse == BLOCK_READ_FREED)
        *a.sum += block[0];
    if (a.misuse == BLOCK_WRITE_FREED)
        block[3] = 1;
    if (a.misuse == BLOCK_ADD_FREED)
        simt_add_u32(&block[3], 1, relaxed);
}
