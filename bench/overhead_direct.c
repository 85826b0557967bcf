/* SPDX-License-Identifier: Apache-2.0 */
/* scatter behind quarry_malloc, all policies fixed to their defaults: what the thesis calls mallocMC. */
#define QUARRY_ALLOCATOR scatter
#define QUARRY_OOM null
#include "overhead_kernels.h"

OVERHEAD_KERNELS(direct)
