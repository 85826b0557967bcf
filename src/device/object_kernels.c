/* SPDX-License-Identifier: Apache-2.0 */
#include "device/object_kernels.h"

/* The number of the type of a page's objects, if it is one of the snapshot's; else QUARRY_OBJECTS_TYPES. */
SIMT_FN uint32_t type_of(const struct object_snapshot *a, uint32_t kind)
{
    uint32_t number = quarry_objects_typed_bytes(kind) ? quarry_objects_typed_number(&a->objects, kind) : 0;
    return quarry_objects_typed_bytes(kind) && (a->types >> number & 1u) ? number : QUARRY_OBJECTS_TYPES;
}

/* The caller's place among those who count at `count`: lanes that come together make one atomic. */
SIMT_FN uint32_t place(uint32_t *count, uint32_t type)
{
    uint32_t group = simt_match_u32(simt_active(), type), first = 0;
    if (simt_rank(group) == 0)
        first = simt_add_u32(&count[type], simt_popc_u32(group), relaxed);
    return simt_shuffle_u32(group, first, simt_ctz_u32(group)) + simt_rank(group);
}

SIMT_KERNEL(quarry_object_count_kernel, struct object_snapshot, a)
{
    for (uint64_t page = simt_thread(); page < a.objects.pages.count; page += simt_threads()) {
        uint32_t kind = quarry_blocks_kind_of(&a.objects.blocks, (uint32_t)page), type = type_of(&a, kind);
        if (type == QUARRY_OBJECTS_TYPES)
            continue;
        quarry_objects_typed_live(&a.objects)[page] =
            quarry_blocks_all(kind) & ~quarry_blocks_free_slots(&a.objects.blocks, (uint32_t)page, kind);
        (void)place(a.objects.typed->count, type);
    }
}

SIMT_KERNEL(quarry_object_list_kernel, struct object_snapshot, a)
{
    for (uint64_t page = simt_thread(); page < a.objects.pages.count; page += simt_threads()) {
        uint32_t type = type_of(&a, quarry_blocks_kind_of(&a.objects.blocks, (uint32_t)page));
        if (type == QUARRY_OBJECTS_TYPES)
            continue;
        uint32_t at = place(a.objects.typed->placed, type);
        for (uint32_t before = 0; before < type; before++)
            at += a.objects.typed->count[before];
        quarry_objects_typed_list(&a.objects)[at] = (uint32_t)page;
    }
}
