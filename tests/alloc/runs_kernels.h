/* SPDX-License-Identifier: Apache-2.0 */
/* What rw-malloc reads off a bitmap that the host has written. */
#ifndef QUARRY_TESTS_RUNS_KERNELS_H
#define QUARRY_TESTS_RUNS_KERNELS_H

#include "quarry/device.h"

struct runs_question {
    uint32_t from, to, pages; /* quarry_runs_find_run's */
    uint32_t width;           /* lanes that ask together, 1 to 32 */
    uint32_t answer;
    uint32_t unlike; /* lanes that got another one */
};

struct runs_place {
    uint64_t begin, bytes; /* of the span, after the first page */
    uint32_t place;
};

struct runs_case {
    struct quarry_handle heap;
    struct runs_question *question; /* one for each block */
    struct runs_place *place;       /* one for each page */
    uint32_t pages;
    uint64_t bytes;            /* what slots are counted for */
    struct quarry_census *sum; /* the census of all warps */
    uint32_t *asked;           /* pages, by each lane; 0: none */
    uint32_t *first;           /* of its block, or QUARRY_NO_PAGE */
};

SIMT_KERNEL_DECLARE(runs_ask);    /* blocks of a warp: question after question */
SIMT_KERNEL_DECLARE(runs_locate); /* page after page */
SIMT_KERNEL_DECLARE(runs_malloc); /* one warp */
SIMT_KERNEL_DECLARE(runs_count);  /* adds up a census, with any number of warps */

#endif
