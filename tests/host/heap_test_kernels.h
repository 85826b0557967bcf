/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the tests of heaps (heap_test.h). */
#ifndef QUARRY_TESTS_HEAP_TEST_KERNELS_H
#define QUARRY_TESTS_HEAP_TEST_KERNELS_H

#include "quarry/device.h"

struct heap_test {
    struct quarry_handle heap;
    unsigned char **blocks; /* one for each thread below count */
    uint64_t bytes;         /* of each block, at least 4 */
    uint32_t count;
    uint32_t mark;  /* added to the thread number that is written into each block */
    uint32_t every; /* heap_test_free: the threads that this divides */
    uint32_t *faults;
};

#if SIMT_HAS_HOST
/* Each thread mallocs, writes its number to both ends of the block, and stores its address. */
SIMT_KERNEL_DECLARE(heap_test_malloc);
/* Counts in *faults the blocks that don't hold their thread's number any more. */
SIMT_KERNEL_DECLARE(heap_test_verify);
/* Frees blocks and stores NULL in their place. */
SIMT_KERNEL_DECLARE(heap_test_free);
/* Counts in *faults what goes wrong with `bytes` bytes of block-shared memory. */
SIMT_KERNEL_DECLARE(heap_test_shared);
/* Fails an assertion; never ends.  For the CPU backend, which survives both. */
SIMT_KERNEL_DECLARE(heap_test_assert);
SIMT_KERNEL_DECLARE(heap_test_hang);
#endif

#endif
