/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use every byte that quarry_usable_size tells of. */
#ifndef QUARRY_TESTS_PIECES_KERNELS_H
#define QUARRY_TESTS_PIECES_KERNELS_H

#include "quarry/device.h"

/* What a thread has. */
struct pieces_own {
    unsigned char *block;
    uint64_t bytes; /* that it asked for */
    uint64_t usable;
};

struct pieces_case {
    struct quarry_handle heap;
    struct pieces_own *own; /* one for each thread */
    uint32_t *torn;         /* counts blocks that are not what their owner wrote */
    uint32_t *moved;        /* counts reallocs that did not stay where there was room */
    uint32_t threads;       /* that take part */
    uint32_t most;          /* bytes of a request */
    uint32_t program;       /* number of the random program; even: all ask for `most` */
};

SIMT_KERNEL_DECLARE(pieces_take); /* each thread asks for a block, and how much of it is usable */
SIMT_KERNEL_DECLARE(pieces_use);  /* makes each as large as it may be, in place, and writes all of it */
SIMT_KERNEL_DECLARE(pieces_give); /* reads all of it and frees it */

#endif
