/* SPDX-License-Identifier: Apache-2.0 */
#include "races/block_kernels.h"

/* One lane does it.  A sound use: writes what it reads, also through a pointer to the middle of the block. */
SIMT_KERNEL(block_misuse, struct block_case, a)
{
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
