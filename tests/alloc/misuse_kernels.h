/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that free what they may not. */
#ifndef QUARRY_TESTS_MISUSE_KERNELS_H
#define QUARRY_TESTS_MISUSE_KERNELS_H

#include "quarry/device.h"

struct misuse_case {
    struct quarry_handle heap;
    void **block;   /* one for each thread */
    uint64_t bytes; /* of a malloc; fuzz: the most */
    uint32_t count; /* of blocks */
    uint32_t twice; /* free: thread t frees block t % count */
    uint32_t program;
    uint32_t turns;
    unsigned char *lowest, *end; /* fuzz: where blocks may lie */
    unsigned char *near;         /* fuzz: addresses that are freed lie from here on, */
    uint64_t near_bytes;         /* in so many bytes */
    uint32_t *outside;           /* fuzz: counts blocks that don't lie there */
};

/* Compiled without assertions. */
SIMT_KERNEL_DECLARE(misuse_take); /* block t = malloc, which is written whole */
SIMT_KERNEL_DECLARE(misuse_free); /* frees it, whatever it is, and leaves the pointer as it is */
SIMT_KERNEL_DECLARE(misuse_fuzz); /* one thread allocates, writes, and frees anything at all */
SIMT_KERNEL_DECLARE(
    misuse_moved); /* a piece of a warp's block that begins later is freed where it began before */
SIMT_KERNEL_DECLARE(misuse_shrink); /* all threads change the size of block 0, again and again */
/* One thread holds a page of a scatter heap while cells of it are freed that are free already.  They must leave
 * it alone: else *outside is not 0. */
SIMT_KERNEL_DECLARE(misuse_stale);
SIMT_KERNEL_DECLARE(misuse_stale_run); /* likewise, with pages of a heap of runs */
SIMT_KERNEL_DECLARE(misuse_ask);       /* block t = how much of it is usable */
/* With them. */
SIMT_KERNEL_DECLARE(misuse_assert); /* as misuse_free */

#endif
