/* SPDX-License-Identifier: Apache-2.0 */
/* scatter by itself: what the thesis calls ScatterAlloc. */
#define QUARRY_ALLOCATOR scatter
#define OVERHEAD_BARE
#include "overhead_kernels.h"

OVERHEAD_KERNELS(bare)
