/* SPDX-License-Identifier: Apache-2.0 */
#include "device/object_kernels.h"

SIMT_KERNEL(quarry_object_list_kernel, struct object_snapshot, a)
{
    const struct quarry_blocks *b = &a.objects.blocks;
    const uint32_t kind = quarry_objects_typed_kind(&a.objects, a.number, a.capacity, 0);
    const uint64_t *words = quarry_blocks_allocated(b, kind) + b->shape.leaves;
    struct quarry_objects_listed *count = &a.objects.typed->count[a.turn];
    const uint32_t first = quarry_objects_typed_first(count, a.number);
    if (simt_thread() < QUARRY_OBJECTS_TYPES)
        a.objects.typed->count[1u - a.turn].pages[simt_thread()] = 0;
    for (uint32_t w = simt_thread() / SIMT_LANES; w < b->shape.words - b->shape.leaves;
         w += simt_threads() / SIMT_LANES) {
        uint64_t word = 0; /* one for all lanes, also if somebody uses the heap who may not */
        uint32_t at = 0;
        if (simt_lane() == 0)
            word = simt_load_u64(&words[w], relaxed);
        word = simt_shuffle_u64(SIMT_ALL_LANES, word, 0);
        if (word == 0)
            continue;
        uint64_t live[QUARRY_HIERARCHY_BITS / SIMT_LANES] = {0};
        for (uint32_t i = 0, page = w * QUARRY_HIERARCHY_BITS + simt_lane();
             i < QUARRY_HIERARCHY_BITS / SIMT_LANES; i++, page += SIMT_LANES)
            if (word >> page % QUARRY_HIERARCHY_BITS & 1u)
                live[i] = quarry_blocks_all(kind) & ~quarry_blocks_free_slots(b, page, kind);
        if (simt_lane() == 0) /* while the slots come */
            at = first + simt_add_u32(&count->pages[a.number], simt_popc_u64(word), relaxed);
        at = simt_shuffle_u32(SIMT_ALL_LANES, at, 0);
        for (uint32_t i = 0, bit = simt_lane(); bit < QUARRY_HIERARCHY_BITS; i++, bit += SIMT_LANES) {
            uint32_t place = at + simt_popc_u64(word & (((uint64_t)1 << bit) - 1u));
            if ((word >> bit & 1u) && place < a.objects.pages.count) {
                quarry_objects_typed_list(&a.objects)[place] = w * QUARRY_HIERARCHY_BITS + bit;
                quarry_objects_typed_live(&a.objects)[place] = live[i];
            }
        }
    }
}

/* As quarry_object_mark of a checked build, which this is not: the heap may be one's. */
SIMT_FN void mark(const struct object_crowd *a, quarry_object o, uint32_t mark)
{
    uint64_t page_bytes = a->heap.as.objects.pages.page_bytes;
    if (a->marks != 0)
        quarry_object_block(o)[page_bytes - a->marks + quarry_object_slot(o)] = (unsigned char)mark;
}

SIMT_KERNEL(quarry_object_add_kernel, struct object_crowd, a)
{
    for (uint64_t i = simt_thread(); i < a.count; i += simt_threads()) {
        quarry_object o = quarry_object_null();
        if (simt_load_u32(a.lacks, relaxed) == 0)
            o = quarry_object_create(a.heap, a.type);
        a.objects[i] = o;
        if (quarry_object_is_null(o)) {
            simt_store_u32(a.lacks, 1, relaxed);
            continue;
        }
        quarry_object_fill(a.fields, o, 0);
        mark(&a, o, a.type.number + 1u);
    }
}

SIMT_KERNEL(quarry_object_remove_kernel, struct object_crowd, a)
{
    for (uint64_t i = simt_thread(); i < a.count; i += simt_threads()) {
        if (!quarry_object_is_null(a.objects[i]))
            mark(&a, a.objects[i], 0);
        quarry_object_delete(a.heap, a.objects[i]);
    }
}
