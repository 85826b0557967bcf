/* SPDX-License-Identifier: Apache-2.0 */
#include "device/object_kernels.h"

/* A warp lists the pages of so many words at a time.  One atomic for each word took longer than all the rest. */
#define WORDS 4u
#define PARTS (WORDS * QUARRY_HIERARCHY_BITS / SIMT_LANES) /* a bit for each lane */

/* With a note it may be launched early, as the do-all behind it. */
QUARRY_SCHEMA_UNUSED static const char list_note = 0;
SIMT_KERNEL_NOTED(&list_note, quarry_object_list_kernel, struct object_snapshot, a)
{
    simt_begin_early();
    const struct quarry_blocks *b = &a.objects.blocks;
    const uint32_t kind = quarry_objects_typed_kind(&a.objects, a.number, a.capacity, 0);
    const uint64_t *words = quarry_blocks_allocated(b, kind) + b->shape.leaves;
    const uint32_t all = b->shape.words - b->shape.leaves;
    struct quarry_objects_listed *count = &a.objects.typed->count[a.turn];
    const uint32_t first = quarry_objects_typed_first(count, a.number);
    if (simt_thread() < QUARRY_OBJECTS_TYPES)
        a.objects.typed->count[1u - a.turn].pages[simt_thread()] = 0;
    for (uint32_t w = simt_thread() / SIMT_LANES * WORDS; w < all; w += simt_threads() / SIMT_LANES * WORDS) {
        uint64_t mine = 0; /* read once for all lanes, also if somebody uses the heap who may not */
        uint64_t live[PARTS] = {0};
        uint32_t at = 0;
        if (simt_lane() < WORDS && w + simt_lane() < all)
            mine = simt_load_u64(&words[w + simt_lane()], relaxed);
        const uint32_t pages = simt_reduce_add_u32(SIMT_ALL_LANES, simt_popc_u64(mine));
        if (pages == 0)
            continue;
        for (uint32_t part = 0; part < PARTS; part++) {
            const uint32_t page = w * QUARRY_HIERARCHY_BITS + part * SIMT_LANES + simt_lane();
            const uint64_t word =
                simt_shuffle_u64(SIMT_ALL_LANES, mine, part * SIMT_LANES / QUARRY_HIERARCHY_BITS);
            if (word & quarry_hierarchy_own(page))
                live[part] = quarry_blocks_all(kind) & ~quarry_blocks_free_slots(b, page, kind);
        }
        if (simt_lane() == 0) /* while the slots come */
            at = first + simt_add_u32(&count->pages[a.number], pages, relaxed);
        at = simt_shuffle_u32(SIMT_ALL_LANES, at, 0);
        for (uint32_t part = 0; part < PARTS; part++) {
            const uint32_t page = w * QUARRY_HIERARCHY_BITS + part * SIMT_LANES + simt_lane();
            const uint64_t word =
                simt_shuffle_u64(SIMT_ALL_LANES, mine, part * SIMT_LANES / QUARRY_HIERARCHY_BITS);
            const uint32_t place = at + simt_popc_u64(word & (quarry_hierarchy_own(page) - 1u));
            if ((word & quarry_hierarchy_own(page)) && place < a.objects.pages.count) {
                quarry_objects_typed_list(&a.objects)[place] = page;
                quarry_objects_typed_live(&a.objects)[place] = live[part];
            }
            if ((part + 1u) * SIMT_LANES % QUARRY_HIERARCHY_BITS == 0)
                at += simt_popc_u64(word);
        }
    }
}

/* As quarry_object_mark of a checked build, which this is not: the heap may be one's. */
SIMT_FN void mark(const struct object_crowd *a, quarry_object o, uint32_t mark)
{
    uint64_t page_bytes = a->heap.as.objects.sizes.chunk_bytes;
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
