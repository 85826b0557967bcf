/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that use aligned_alloc, calloc, realloc and usable_size, and judge what they get. */
#ifndef QUARRY_TESTS_STANDARD_KERNELS_H
#define QUARRY_TESTS_STANDARD_KERNELS_H

#include "quarry/device.h"

#define STANDARD_ODD 17u /* requests of standard_odd, one a lane */

/* What can be wrong. */
enum standard_fault {
    STANDARD_NULL,    /* NULL though there was space */
    STANDARD_CROOKED, /* not at a multiple of the alignment */
    STANDARD_NOT_ZERO,
    STANDARD_TORN,  /* content changed by others, or lost by realloc */
    STANDARD_SHORT, /* usable_size is less than what was asked for, or not that in debug mode */
    STANDARD_GIVEN, /* a block where NULL is right */
    STANDARD_SLOTS, /* a number of slots */
    STANDARD_PLACE, /* what an address is said to be part of */
    STANDARD_FAULTS
};

struct standard_case {
    struct quarry_handle heap;
    uint32_t *faults; /* STANDARD_FAULTS counts */
    uint64_t page_bytes;
    uint64_t most;    /* bytes of a request, alignment included */
    uint32_t aligned; /* log2 of the largest alignment */
    uint32_t sized;   /* usable_size answers */
    uint32_t threads; /* that take part */
    uint32_t turns;
    uint32_t pages;        /* of the heap */
    uint32_t most_slots;   /* of a page each, while others malloc and free */
    uint32_t program;      /* number of the random program */
    void *block;           /* spoil: receives it */
    unsigned char *places; /* tile: where the pages begin, */
    uint64_t places_bytes; /* how many bytes they have, */
    uint64_t live_blocks;  /* and what lives there */
    uint64_t live_bytes;
};

SIMT_KERNEL_DECLARE(standard_play); /* each thread its own program, with at most two blocks at once */
SIMT_KERNEL_DECLARE(
    standard_slots); /* each thread, one after the other, counts slots as it allocates and frees */
SIMT_KERNEL_DECLARE(standard_odd);   /* lane i makes the i-th odd request; in the end nothing lives */
SIMT_KERNEL_DECLARE(standard_spoil); /* one thread: writes behind an aligned block and frees it; twice */
/* One thread asks of all addresses what they are part of: live blocks and free units, one behind the other. */
SIMT_KERNEL_DECLARE(standard_tile);

#endif
