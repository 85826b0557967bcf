/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA toolkit's malloc; on the CPU the C library's. */
#define QUARRY_ALLOCATOR cuda
#define QUARRY_OOM null
#include "overhead_kernels.h"

OVERHEAD_KERNELS(cuda)
