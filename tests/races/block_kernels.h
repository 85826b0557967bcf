/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of a block that are wrong though they race with nobody: of a block of 16 bytes, or, the last two, of all that
 * there is of one. */
#ifndef QUARRY_TESTS_BLOCK_KERNELS_H
#define QUARRY_TESTS_BLOCK_KERNELS_H

#include "quarry/device.h"
#include "quarry/simt/kernel.h"

enum block_misuse {
    BLOCK_SOUND,
    BLOCK_LEAVE, /* not wrong: frees nothing */
    BLOCK_READ_UNWRITTEN,
    BLOCK_READ_FREED,
    BLOCK_WRITE_FREED,
    BLOCK_ADD_FREED, /* by an atomic */
    BLOCK_READ_UNWRITTEN_END,
    BLOCK_WRITE_FREED_END
};

struct block_case {
    struct quarry_handle heap;
    uint32_t *sum;
    enum block_misuse misuse;
};

SIMT_KERNEL_DECLARE(block_misuse);

#endif
