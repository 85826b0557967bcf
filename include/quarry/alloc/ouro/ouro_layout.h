/* SPDX-License-Identifier: Apache-2.0 */
/* How a heap of alloc/ouro.h lies in its pool. */
#ifndef QUARRY_ALLOC_OURO_LAYOUT_H
#define QUARRY_ALLOC_OURO_LAYOUT_H

#include "quarry/alloc/ouro/ouro_heap.h"

#if SIMT_HAS_HOST
/* Sections by the sizes that chunks of this kind have at most; so they don't shrink as pages grow. */
SIMT_HOST_FN void quarry_ouro_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_ouro *h = (struct quarry_ouro *)heap;
    uint32_t least = h->unit, page_bits = 0;
    while (l->page_bytes / least > QUARRY_CHUNK_PAGES_MOST)
        least *= 2;
    h->sizes = quarry_classes_make((uint32_t)l->page_bytes, least);
    h->sizes.most = h->most;
    uint32_t classes = h->sizes.whole;
    uint32_t fields = (quarry_classes_most_pages(&h->sizes) + 31u) / 32u;
    int pages = h->payload == QUARRY_OURO_PAGES;
    uint64_t slots = pages ? l->option[QUARRY_OPTION_ouro_queue_slots] : 0;
    uint64_t all = slots ? slots : pages ? l->pages * quarry_classes_most_pages(&h->sizes) : l->pages;
    uint32_t shift = 2, entries = h->backing == QUARRY_OURO_LIST && !l->debug ? QUARRY_SEGMENTS_HINTS : 2;
    while (8u << shift <= l->page_bytes)
        shift++;
    while (h->backing == QUARRY_OURO_ARRAY && !l->debug && entries < all >> shift &&
           entries << shift < 1u << 30)
        entries *= 2;
    if (slots) {
        h->queue_slots = (uint32_t)quarry_round_up_to_power(slots);
    } else {
        slots =
            l->pages * l->page_bytes / QUARRY_OURO_QUEUE_SHARE / sizeof *h->queue / (classes ? classes : 1u);
        h->queue_slots = QUARRY_OURO_QUEUE_LEAST;
        while (2u * (uint64_t)h->queue_slots <= slots && h->queue_slots < 1u << 30)
            h->queue_slots *= 2u;
    }
    h->token_slots = (uint32_t)quarry_round_up_to_power(l->pages);
    /* C: of late chunks, and of each class or, where segments are those, of strays. */
    uint32_t queues = pages ? classes : h->backing == QUARRY_OURO_STANDARD ? classes + 1u : 2u;
    /* With more pages than an index can name the smallest ones are larger. */
    while (l->pages << page_bits < QUARRY_NO_INDEX && 1u << page_bits < quarry_classes_most_pages(&h->sizes))
        page_bits++;
    if (l->pages << page_bits >= QUARRY_NO_INDEX)
        page_bits--;
    while (quarry_classes_most_pages(&h->sizes) > 1u << page_bits)
        h->sizes = quarry_classes_make((uint32_t)l->page_bytes, least *= 2);
    h->sizes.most = h->most;
    h->table.page_bits = page_bits;
    h->table.fields = fields;
    h->segments.store.count = (uint32_t)l->pages;
    h->segments.store.returned.mask = h->token_slots - 1u;
    h->segments.store.head = (struct quarry_chunks_head *)quarry_layout_section(
        l, "store", sizeof *h->segments.store.head, QUARRY_SECTION_ALIGN);
    h->segments.store.returned.ends = &h->segments.store.head->returned;
    h->self = (struct quarry_ouro *)quarry_layout_section(l, "self", sizeof *h->self, QUARRY_SECTION_ALIGN);
    h->segments.store.map =
        h->most < 2 ? SIMT_NULL
                    : (uint64_t *)quarry_layout_section(l, "map", (l->pages + 31u) / 32u * sizeof(uint64_t),
                                                        QUARRY_SECTION_ALIGN);
    if (pages)
        h->class_ = (struct quarry_ouro_class *)quarry_layout_section(
            l, "classes", classes * sizeof *h->class_, QUARRY_SECTION_ALIGN);
    else {
        h->masks = (struct quarry_mask_class *)quarry_layout_section(
            l, "classes", classes * sizeof *h->masks + sizeof *h->mask_ends, QUARRY_SECTION_ALIGN);
        h->mask_ends = (struct quarry_mask_ends *)(void *)(h->masks + classes);
    }
    h->table.word =
        (uint64_t *)quarry_layout_section(l, "words", l->pages * sizeof *h->table.word, QUARRY_SECTION_ALIGN);
    if (pages) {
        h->table.place = (uint32_t *)quarry_layout_section(l, "places", l->pages * sizeof *h->table.place,
                                                           QUARRY_SECTION_ALIGN);
        h->live = (uint32_t *)quarry_layout_section(l, "live", l->pages * fields * sizeof *h->live,
                                                    QUARRY_SECTION_ALIGN);
    }
    h->table.parked = (uint32_t *)quarry_layout_section(
        l, "parked", l->pages * fields * sizeof *h->table.parked, QUARRY_SECTION_ALIGN);
    h->segments.store.returned.slot = (uint32_t *)quarry_layout_section(
        l, "returned", (uint64_t)h->token_slots * sizeof *h->tokens, QUARRY_SECTION_ALIGN);
    h->tokens = (uint32_t *)quarry_layout_section(
        l, "tokens", (uint64_t)h->token_slots * queues * sizeof *h->tokens, QUARRY_SECTION_ALIGN);
    if (h->backing != QUARRY_OURO_STANDARD) {
        struct quarry_segments *q = &h->segments;
        q->ends = (struct quarry_segments_ends *)quarry_layout_section(
            l, "directory", classes * (sizeof *q->ends + (uint64_t)entries * sizeof *q->directory),
            QUARRY_SECTION_ALIGN);
        q->directory = (uint64_t *)(void *)(q->ends + classes);
        q->list = h->backing == QUARRY_OURO_LIST;
        uint64_t used = l->debug ? 0 : l->pages; /* chunks that may be segments */
        if (q->list)
            q->link =
                (uint64_t *)quarry_layout_section(l, "links", used * sizeof *q->link, QUARRY_SECTION_ALIGN);
        q->taken = (uint32_t *)quarry_layout_section(
            l, "taken", ((pages ? 1u : 2u) * used + 1u) * sizeof *q->taken, QUARRY_SECTION_ALIGN);
        q->segments = q->taken + used;
        q->readers = pages ? SIMT_NULL : q->segments + 1;
        quarry_segments_shape(q, shift, entries);
    } else if (pages)
        h->queue = (uint32_t *)quarry_layout_section(
            l, "queues", (uint64_t)h->queue_slots * classes * sizeof *h->queue, QUARRY_SECTION_ALIGN);
    h->chunks = quarry_layout_pages(l);
    h->segments.base = l->debug ? SIMT_NULL : h->chunks.base;
    h->segments.stride = h->chunks.page_bytes;
}

SIMT_HOST_FN enum quarry_layout_result quarry_ouro_layout(enum quarry_ouro_backing backing,
                                                          enum quarry_ouro_payload payload,
                                                          struct quarry_ouro *h, struct quarry_layout *l)
{
    enum quarry_layout_result result =
        quarry_layout_unit(l, QUARRY_OURO_PAGE_BYTES, QUARRY_OURO_DEBUG_UNIT, &h->unit);
    uint64_t largest = l->option[payload == QUARRY_OURO_PAGES ? (unsigned)QUARRY_OPTION_ouro_largest
                                                              : (unsigned)QUARRY_OPTION_ouro_c_largest];
    h->backing = backing;
    h->payload = payload;
    if (result != QUARRY_LAYOUT_OK)
        return result;
    uint64_t chunk = quarry_round_up(l->page_bytes, h->unit),
             most = largest ? (largest + l->overhead + chunk - 1) / chunk : QUARRY_MAX_PAGE_BYTES / chunk;
    h->most = most < 1 ? 1 : most < QUARRY_RUN_MOST ? (uint32_t)most : QUARRY_RUN_MOST;
    result = quarry_layout_fit_units(l, quarry_ouro_sections, h, QUARRY_CHUNKS_MOST - 1u, h->unit);
    h->most = h->most < l->pages ? h->most : (uint32_t)l->pages;
    h->sizes.most = h->most;
    l->max_block *= h->most;
    return result;
}
#endif

#endif
