/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that take a pool from the platform's allocator, and give it back. */
#ifndef QUARRY_DEVICE_POOL_KERNELS_H
#define QUARRY_DEVICE_POOL_KERNELS_H

#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

/* One thread does it. */
struct pool_malloc {
    void **pool; /* where its address goes, NULL if there is none; or lies */
    uint64_t bytes;
};

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(quarry_pool_take_kernel);
SIMT_KERNEL_DECLARE(quarry_pool_give_kernel);
#endif

#endif
