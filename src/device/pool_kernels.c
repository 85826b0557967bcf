/* SPDX-License-Identifier: Apache-2.0 */
#include "device/pool_kernels.h"

SIMT_KERNEL(quarry_pool_take_kernel, struct pool_malloc, a)
{
    if (simt_thread() == 0)
        *a.pool = simt_malloc(a.bytes);
}

SIMT_KERNEL(quarry_pool_give_kernel, struct pool_malloc, a)
{
    if (simt_thread() == 0)
        simt_free(*a.pool);
}
