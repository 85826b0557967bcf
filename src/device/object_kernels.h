/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of the objects of some types: their pages, type by type, and which slots of each are live. */
#ifndef QUARRY_DEVICE_OBJECT_KERNELS_H
#define QUARRY_DEVICE_OBJECT_KERNELS_H

#include "quarry/alloc/objects.h"
#include "quarry/simt/kernel.h"

struct object_snapshot {
    struct quarry_objects objects;
    uint32_t number; /* of the type, in the schema */
    uint32_t capacity;
    uint32_t turn; /* counts in count[turn] */
};

#if SIMT_HAS_HOST
/* Lists the pages of a type behind those of the types before it, from a count of 0 on, and clears the other count.
 * Reads one bit a page, of a bitmap that says in an idle heap which pages have the type, and the words of those pages.
 * A grid of whole warps; nothing else uses the heap. */
SIMT_KERNEL_DECLARE(quarry_object_list_kernel);
#endif

#endif
