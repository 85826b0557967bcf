/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that take slots of several types and give them back. */
#ifndef QUARRY_TESTS_SLOTS_KERNELS_H
#define QUARRY_TESTS_SLOTS_KERNELS_H

#include "quarry/core/blocks_take.h"
#include "quarry/simt/kernel.h"

#define SLOTS_TYPES 3u

enum slots_count {
    SLOTS_WRONG, /* slots that two lanes had at once, or of another type; after all: bits that are wrong */
    SLOTS_TAKEN,
    SLOTS_NONE, /* takes in vain */
    SLOTS_COUNTS
};

struct slots_case {
    struct quarry_blocks blocks;
    uint32_t capacity[SLOTS_TYPES];
    uint32_t *holder; /* of slot number i: 0 or 1; atomic */
    uint32_t *visits; /* how often it was had; no atomic */
    uint32_t *kept;   /* of each thread, by slots_fill and slots_kept */
    uint32_t *counts; /* SLOTS_COUNTS */
    uint32_t rounds;
    uint32_t hold;     /* atomics while a lane has a slot */
    uint32_t together; /* lanes take together */
    uint32_t types;    /* of slots_rounds: so many of them */
    uint32_t keeps;    /* lanes keep what they take in the last of slots_rounds */
    uint32_t seeks;    /* the first lane looks for a proof at once, unless it gets a slot */
    uint32_t type;     /* of slots_fill */
    uint32_t *is_kept; /* slots_kept: the second lane has its slot; atomic */
};

SIMT_KERNEL_DECLARE(slots_start);
SIMT_KERNEL_DECLARE(slots_rounds);
SIMT_KERNEL_DECLARE(
    slots_kept); /* the second lane keeps a slot, the first looks for one beside it, others use another type */
/* Two lanes, and two blocks of one slot: one uses both, and tells the other, but by no order of memory.  Then it claims
 * both blocks again, and the other makes one of them. */
SIMT_KERNEL_DECLARE(slots_again);
/* Two lanes of two warps, and a block: one has all of it, and tells the other, but by no order of memory.  That one gives it whole, as
 * if it had it, and then uses it. */
SIMT_KERNEL_DECLARE(slots_foreign);
SIMT_KERNEL_DECLARE(slots_twice); /* slots are given twice, while others take them and give them */
SIMT_KERNEL_DECLARE(slots_fill);  /* each lane takes one slot of a type */
SIMT_KERNEL_DECLARE(slots_many);  /* full warps: all lanes of each take one together, `rounds` times */
SIMT_KERNEL_DECLARE(slots_drain); /* each gives back what another took */
/* One lane: who takes all slots of the only block has them, though one was given when the block was free. */
SIMT_KERNEL_DECLARE(slots_free);
/* One lane, and one block: who looks for another type in a sweep about type 1 has not read all of the part. */
SIMT_KERNEL_DECLARE(slots_part);
SIMT_KERNEL_DECLARE(slots_look); /* one lane: when all slots are given back, or some are kept */

#endif
