/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks whose free pages stay in them (core/chunk_masks.h), at the instants that their orders are about. */
#ifndef QUARRY_TESTS_BLOCKS_MASKS_KERNELS_H
#define QUARRY_TESTS_BLOCKS_MASKS_KERNELS_H

#include "quarry/core/chunk_masks.h"
#include "quarry/simt/kernel.h"

#define MASKS_CHUNKS 2u
#define MASKS_PAGES 64u /* of a chunk, at most: two fields */

/* What all lanes share. */
struct masks_memory {
    struct quarry_chunks_head head;
    struct quarry_index_queue_ends late;
    struct quarry_mask_class class_[8];
    uint64_t word[MASKS_CHUNKS];
    uint32_t parked[MASKS_CHUNKS * MASKS_PAGES / 32u];
    uint32_t slot[8 * MASKS_CHUNKS], late_slot[MASKS_CHUNKS], returned[MASKS_CHUNKS];
    uint32_t holders[MASKS_CHUNKS * MASKS_PAGES]; /* of each page */
    uint32_t made;                                /* no atomic */
    uint32_t wrong;
};

struct masks_case {
    struct masks_memory *memory;
    struct quarry_chunk_table table;
    struct quarry_chunks store;
    struct quarry_classes sizes; /* class 0: all pages of a chunk */
};

/* One thread: no chunk is left.  Chunk 0 is whole, and was found to be so when its units were not there. */
SIMT_KERNEL_DECLARE(masks_late);
SIMT_KERNEL_DECLARE(masks_units); /* the same, and then its units came */
SIMT_KERNEL_DECLARE(masks_both);  /* likewise, and chunk 1 is left */
SIMT_KERNEL_DECLARE(masks_had);   /* somebody has all pages of chunk 0 */
SIMT_KERNEL_DECLARE(masks_new); /* chunk 0 is new, and was something else before.  Chunk 1 has a free page */

SIMT_KERNEL_DECLARE(
    masks_recall);               /* of masks_units: while a block recalls the chunk the other one wants it */
SIMT_KERNEL_DECLARE(masks_want); /* of masks_both: two lanes want a chunk */
SIMT_KERNEL_DECLARE(masks_refuse); /* of masks_late: who is refused knows what was done in transit */
SIMT_KERNEL_DECLARE(masks_free); /* of masks_had: two lanes free all pages, and one of them wants the chunk */
SIMT_KERNEL_DECLARE(
    masks_stray); /* of masks_had: a free of what was a page when the chunk had another class */
SIMT_KERNEL_DECLARE(masks_look); /* of masks_had: one lane looks at an array that is full */
SIMT_KERNEL_DECLARE(
    masks_none); /* of masks_had: there is no late chunk, and no transit says that there may be */
SIMT_KERNEL_DECLARE(masks_win);  /* of masks_had: no bit is won that is no page's */
SIMT_KERNEL_DECLARE(masks_deal); /* of masks_new: a page of it is taken while two lanes deal it */

#endif
