/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NDEBUG
#define NDEBUG /* a wrong free does no harm: an assertion would end it */
#endif
#include "blocks/masks_kernels.h"

SIMT_FN struct quarry_chunk_masks masks_of(const struct masks_case *a)
{
    struct masks_memory *memory = a->memory;
    struct quarry_chunk_masks m = {&a->table,
                                   &a->store,
                                   &a->sizes,
                                   memory->class_,
                                   memory->slot,
                                   MASKS_CHUNKS,
                                   {&memory->late, memory->late_slot, MASKS_CHUNKS - 1u},
                                   {SIMT_NULL, SIMT_NULL, 0}};
    return m;
}

SIMT_FN void masks_wrong(const struct masks_case *a, int wrong)
{
    if (wrong)
        (void)simt_add_u32(&a->memory->wrong, 1, relaxed);
}

/* A chunk for the calling lane. */
SIMT_FN uint32_t masks_chunk(const struct quarry_chunk_masks *m, uint64_t *seen)
{
    uint32_t group = 1u << simt_lane();
    return quarry_mask_chunks(m, group, group, 0, seen);
}

/* Nobody has returned a chunk.  The calling lane makes chunk 0 one of class 0, of which somebody has `kept` pages. */
SIMT_FN void masks_begin(const struct masks_case *a, const struct quarry_chunk_masks *m, uint32_t kept)
{
    quarry_chunks_init(m->store, 0, 1);
    quarry_chunk_masks_init(m, SIMT_NULL, 0, 1);
    a->memory->head.word = 0;
    a->memory->head.fresh = MASKS_CHUNKS;
    quarry_mask_deal(m, SIMT_NULL, 0, 1u << simt_lane(), 0, 1, kept);
}

SIMT_KERNEL(masks_late, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    masks_begin(&a, &m, 0);
    quarry_mask_leave(&m, 0, 0);
}

SIMT_FN void masks_units_come(const struct masks_case *a, const struct quarry_chunk_masks *m)
{
    masks_begin(a, m, 0);
    quarry_mask_leave(m, 0, 0);
    quarry_semaphore_signal(&m->class_[0].units, quarry_class_pages(&a->sizes, 0));
}

SIMT_KERNEL(masks_units, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    masks_units_come(&a, &m);
}

SIMT_KERNEL(masks_both, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    masks_units_come(&a, &m);
    quarry_chunks_begin(m.store);
    quarry_chunks_return(m.store, 1);
}

SIMT_KERNEL(masks_had, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    masks_begin(&a, &m, quarry_class_pages(&a.sizes, 0));
}

SIMT_KERNEL(masks_new, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint32_t pages = quarry_class_pages(&a.sizes, 0);
    masks_begin(&a, &m, 0);
    quarry_semaphore_signal(&m.class_[0].units, pages);
    quarry_mask_leave(&m, 0, 0);
    (void)quarry_chunks_try(m.store); /* it is in transit, for who makes pages of it */
    quarry_mask_deal(&m, SIMT_NULL, 0, 1u << simt_lane(), 1, 1, pages - 1u);
    quarry_semaphore_signal(&m.class_[0].units, 1);
}

SIMT_KERNEL(masks_recall, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint64_t seen = 0;
    if (simt_block() == 0)
        (void)quarry_mask_recall(&m);
    else
        masks_wrong(&a, masks_chunk(&m, &seen) == QUARRY_NO_INDEX);
}

SIMT_KERNEL(masks_want, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint64_t seen = 0;
    masks_wrong(&a, quarry_mask_chunks(&m, 3u, 3u, 0, &seen) == QUARRY_NO_INDEX);
}

SIMT_KERNEL(masks_refuse, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    if (simt_block() == 0) {
        quarry_chunks_begin(m.store);
        a.memory->made = 1;
        quarry_chunks_end(m.store);
        return;
    }
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t seen = 0;
        masks_wrong(&a, masks_chunk(&m, &seen) != QUARRY_NO_INDEX);
        /* A recall puts the chunk into the queue again, and ends two transits; at first it was put once, in one. */
        if (seen / QUARRY_CHUNKS_VERSION == 2u * simt_load_u32(&m.late.ends->back, relaxed))
            masks_wrong(&a, a.memory->made != 1);
    }
}

SIMT_KERNEL(masks_free, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint64_t seen = 0;
    quarry_mask_free(&m, SIMT_NULL, 0, 3u, 0, simt_lane());
    if (simt_lane() == 1)
        masks_wrong(&a, masks_chunk(&m, &seen) == QUARRY_NO_INDEX);
}

SIMT_KERNEL(masks_stray, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    quarry_mask_free(&m, SIMT_NULL, 1, 1u, 0, 3);
    uint64_t word = simt_load_u64(&m.table->word[0], relaxed);
    masks_wrong(&a, quarry_mask_count(word) != 0 || quarry_chunk_class(word) != 1);
    for (uint32_t k = 0; k < 2; k++)
        masks_wrong(&a, quarry_semaphore_there(simt_load_u64(&m.class_[k].units.units, relaxed)) != 0);
}

SIMT_KERNEL(masks_look, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    struct quarry_index_queue queue = quarry_mask_queue(&m, 1);
    uint32_t seen = 0, n = 1;
    for (uint32_t i = 0; i < MASKS_CHUNKS; i++)
        quarry_mask_put_array(&queue, i);
    for (uint32_t vain = 0; vain < 400; vain += 2)
        seen |= 1u << quarry_index_queue_peek(&queue, quarry_mask_look(&queue, vain, &n) & queue.mask);
    masks_wrong(&a, seen != (1u << MASKS_CHUNKS) - 1u || n != 0);
}

/* Pages for the calling lane, as long as there are units. */
SIMT_FN void masks_take(const struct masks_case *a, const struct quarry_chunk_masks *m, uint32_t most)
{
    uint32_t group = 1u << simt_lane();
    while (most-- > 0 && quarry_semaphore_try(&m->class_[0].units, 1)) {
        uint32_t index = quarry_mask_take(m, SIMT_NULL, 0, group, group);
        masks_wrong(a, simt_exchange_u32(&a->memory->holders[index], 1, relaxed) != 0);
    }
}

SIMT_KERNEL(masks_none, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint64_t before = a.memory->head.word;
    masks_wrong(&a, quarry_mask_recall(&m) || a.memory->head.word != before);
}

/* Frees of what is no page set bits behind the last one. */
SIMT_KERNEL(masks_win, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint32_t pages = quarry_class_pages(&a.sizes, 0), here = pages - 32u;
    a.memory->parked[1] = ~0u;
    masks_wrong(&a, quarry_mask_win(&m, 0, 1, 2, pages) != 3u);
    masks_wrong(&a, quarry_mask_win(&m, 0, 1, 32, pages) != (here < 32u ? (1u << here) - 1u : ~0u) - 3u);
    masks_wrong(&a, quarry_mask_win(&m, 0, 1, 32, pages) != 0);
}

SIMT_KERNEL(masks_deal, struct masks_case, a)
{
    struct quarry_chunk_masks m = masks_of(&a);
    uint32_t group = 3u, pages = quarry_class_pages(&a.sizes, 0);
    if (simt_block() == 1) { /* two lanes, whose first looks are at different chunks */
        masks_take(&a, &m, 1);
        return;
    }
    quarry_mask_deal(&m, SIMT_NULL, 0, group, 0, 1, 1);
    if (simt_lane() == 0) {
        (void)simt_exchange_u32(&a.memory->holders[0], 1, relaxed);
        quarry_semaphore_signal(&m.class_[0].units, pages - 1u);
        quarry_chunks_end(m.store);
        masks_take(&a, &m, pages - 1u);
    }
}
