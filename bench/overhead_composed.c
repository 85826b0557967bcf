/* SPDX-License-Identifier: Apache-2.0 */
/* scatter with a policy of each kind that is not the default. */
#include "quarry/handle.h"

/* Nothing that could be freed. */
SIMT_FN int overhead_give_up(struct quarry_handle heap, size_t bytes, uint32_t tries)
{
    (void)heap;
    (void)bytes;
    (void)tries;
    return 0;
}

#define QUARRY_ALLOCATOR scatter
#define QUARRY_ALIGNMENT 128
#define QUARRY_DISTRIBUTION warp
#define QUARRY_OOM hook
#define QUARRY_OOM_HOOK overhead_give_up
#include "overhead_kernels.h"

OVERHEAD_KERNELS(composed)
