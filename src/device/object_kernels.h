/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of the objects of some types: for each page of theirs, which slots are live; and their pages, type by
 * type. */
#ifndef QUARRY_DEVICE_OBJECT_KERNELS_H
#define QUARRY_DEVICE_OBJECT_KERNELS_H

#include "quarry/alloc/objects.h"
#include "quarry/simt/kernel.h"

struct object_snapshot {
    struct quarry_objects objects;
    uint64_t types; /* of the schema, as bits */
};

#if SIMT_HAS_HOST
/* Notes which slots are live, and counts pages, from counts of 0 on.  Any grid; nothing else uses the heap. */
SIMT_KERNEL_DECLARE(quarry_object_count_kernel);

/* Then lists them. */
SIMT_KERNEL_DECLARE(quarry_object_list_kernel);
#endif

#endif
