/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that put numbers into a hierarchical bitmap and take them out. */
#ifndef QUARRY_TESTS_HIERARCHY_KERNELS_H
#define QUARRY_TESTS_HIERARCHY_KERNELS_H

#include "quarry/core/hierarchy.h"
#include "quarry/simt/kernel.h"

enum hierarchy_count {
    HIERARCHY_WRONG,  /* numbers that two lanes had at once; after all: bits that are wrong */
    HIERARCHY_CLAIMS, /* numbers that were claimed */
    HIERARCHY_IN,     /* after all: numbers that are in, one after the other */
    HIERARCHY_FOUND,  /* and those that are found by searches */
    HIERARCHY_COUNTS
};

struct hierarchy_case {
    struct quarry_hierarchy shape;
    uint64_t *words;
    uint32_t *parity; /* of number i: whether it is in; atomic */
    uint32_t *visits; /* how often number i was claimed; no atomic */
    uint32_t *counts; /* HIERARCHY_COUNTS */
    uint32_t full;    /* all are in at first */
    uint32_t rounds;
    uint32_t width; /* of so many numbers, far from each other, each lane toggles any */
    uint32_t hold;  /* atomics while a lane has a number */
};

SIMT_KERNEL_DECLARE(hierarchy_start);
SIMT_KERNEL_DECLARE(hierarchy_toggles);
SIMT_KERNEL_DECLARE(hierarchy_claims);
SIMT_KERNEL_DECLARE(hierarchy_begins); /* all of 4096 numbers are in */
SIMT_KERNEL_DECLARE(hierarchy_look);   /* one lane, after all */

#endif
