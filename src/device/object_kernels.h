/* SPDX-License-Identifier: Apache-2.0 */
/* What the host asks of typed objects: a snapshot of the objects of some types, which is their pages, type by type, and
 * which slots of each are live; and many objects at once. */
#ifndef QUARRY_DEVICE_OBJECT_KERNELS_H
#define QUARRY_DEVICE_OBJECT_KERNELS_H

#include "quarry/object.h"
#include "quarry/simt/kernel.h"

struct object_snapshot {
    struct quarry_objects objects;
    uint32_t number; /* of the type, in the schema */
    uint32_t capacity;
    uint32_t turn; /* counts in count[turn] */
};

/* Objects of one type. */
struct object_crowd {
    struct quarry_handle heap;
    struct quarry_type type;
    const struct quarry_objects_fields *fields; /* of that type */
    quarry_object *objects;
    uint64_t count;
    uint32_t *lacks; /* set to 1 if the heap has no room for all */
    uint32_t marks;  /* bytes behind a page's slots, which tell a checked build where objects are; or 0 */
};

#if SIMT_HAS_HOST
/* Lists the pages of a type behind those of the types before it, from a count of 0 on, and clears the other count.
 * Reads one bit a page, of a bitmap that says in an idle heap which pages have the type, and the words of those pages.
 * A grid of whole warps; nothing else uses the heap. */
SIMT_KERNEL_DECLARE(quarry_object_list_kernel);

/* Creates `count` objects, whose fields are all zero, and writes their names; or some, and none behind them. */
SIMT_KERNEL_DECLARE(quarry_object_add_kernel);
/* Deletes them. */
SIMT_KERNEL_DECLARE(quarry_object_remove_kernel);
#endif

#endif
