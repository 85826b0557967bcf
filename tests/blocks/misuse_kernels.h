/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the building blocks that their contracts exclude, and that debug builds tell. */
#ifndef QUARRY_TESTS_BLOCKS_MISUSE_KERNELS_H
#define QUARRY_TESTS_BLOCKS_MISUSE_KERNELS_H

#include "quarry/core/list.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/srcu.h"
#include "quarry/simt/kernel.h"

enum block_misuse {
    MISUSE_NONE,
    MISUSE_TOO_MANY_UNITS,
    MISUSE_ASKS_TOO_MUCH,
    MISUSE_NO_BATCH,
    MISUSE_LARGE_BATCH,
    MISUSE_LEAVES_TWICE,
    MISUSE_UNLOCKS_TWICE,
    MISUSE_REMOVES_TWICE,
    MISUSE_INSERTS_BESIDE_REMOVED,
    MISUSES
};

struct block_misuse_blocks {
    struct quarry_semaphore semaphore;
    struct quarry_srcu srcu;
    struct quarry_mutex mutex;
    struct quarry_link list;
    struct quarry_link element[3];
};

struct block_misuse_case {
    struct block_misuse_blocks *blocks; /* zeros */
    enum block_misuse what;
};

SIMT_KERNEL_DECLARE(block_misuse); /* one thread */

#endif
