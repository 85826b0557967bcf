/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that a heap is full, against an adversary that moves the one hole it has. */
#ifndef QUARRY_TESTS_EXACT_KERNELS_H
#define QUARRY_TESTS_EXACT_KERNELS_H

#include "quarry/device.h"

struct exact_case {
    struct quarry_handle heap;
    int is_rw;       /* else corw, whose bitmap is that of rw-bm and crw too */
    uint32_t *holes; /* numbers of the two pages that are free when the kernel begins */
    uint32_t *wrong; /* proofs that the heap is full, which it never was */
    uint32_t turns;
    uint32_t hold; /* the adversary keeps a page for fewer atomics than this */
};

/* Lane 0 of block 0 proves, over and over; that of block 1 owns one of two pages, frees it and takes the
 * other.  At every instant one of the two is free or the prover's own. */
SIMT_KERNEL_DECLARE(exact_prove);

/* On a full heap, groups of every width must read the same number off the same chunk: else two passes, by
 * whoever comes, never agree and nobody is ever told that the heap is full.  One warp. */
SIMT_KERNEL_DECLARE(exact_numbers);

#endif
