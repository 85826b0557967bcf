/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for what alloc/test_ouro.c asks of the ouro family alone. */
#ifndef QUARRY_TESTS_OURO_KERNELS_H
#define QUARRY_TESTS_OURO_KERNELS_H

#include "alloc/promise_kernels.h"

/* Each thread takes a block, frees it and takes another one at once: so blocks move while others look.  Every other
 * block has `bytes`, the rest any size up to that.  result->nulls counts NULLs. */
SIMT_KERNEL_DECLARE(ouro_move);

#endif
