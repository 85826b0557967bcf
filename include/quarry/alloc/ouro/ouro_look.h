/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a heap of alloc/ouro.h: what an address belongs to, what is free, and what is wrong. */
#ifndef QUARRY_ALLOC_OURO_LOOK_H
#define QUARRY_ALLOC_OURO_LOOK_H

#include "quarry/alloc/ouro/ouro_heap.h"

SIMT_FN enum quarry_place quarry_ouro_find(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                           const struct quarry_ouro *h, const void *address,
                                           struct quarry_span *span)
{
    struct quarry_ouro_where w = quarry_ouro_locate(h, address);
    (void)backing;
    if (quarry_page_find(&h->chunks, address, span) == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    uint32_t first = w.chunk, class_ = w.class_ <= h->sizes.whole ? ~0u : quarry_ouro_run_of(h, &first);
    if (class_ != ~0u) {
        span->begin = (unsigned char *)quarry_page_address(&h->chunks, first);
        span->bytes = quarry_class_span(&h->sizes, class_);
        return QUARRY_PLACE_LIVE;
    }
    if (w.class_ <= h->sizes.whole &&
        (quarry_ouro_live(payload, h, w.chunk, w.class_, w.page / 32u * 32u) >> w.page % 32u & 1u)) {
        span->bytes = quarry_class_bytes(&h->sizes, w.class_);
        span->begin += w.page * span->bytes;
        return QUARRY_PLACE_LIVE;
    }
    span->begin += (uint32_t)((const unsigned char *)address - span->begin) / h->unit * h->unit;
    span->bytes = h->unit;
    return QUARRY_PLACE_FREE;
}

/* How often the chunks of a block of several contradict its class, in an idle heap.
 *   class_   of its first chunk; of a whole one or less there is nothing to say */
SIMT_FN uint32_t quarry_ouro_run_faults(const struct quarry_ouro *h, uint32_t chunk, uint32_t class_)
{
    uint32_t n = class_ > h->sizes.whole ? class_ - h->sizes.whole + 1u : 1u, faults = 0;
    for (uint32_t i = 1; i < n; i++)
        faults += chunk + i >= h->chunks.count ||
                  quarry_chunk_class(h->table.word[chunk + i]) != QUARRY_OURO_INSIDE;
    return faults;
}

/* How often the structures of a chunk contradict themselves, in an idle heap.  Payload C. */
SIMT_FN uint32_t quarry_ouro_mask_faults(const struct quarry_ouro *h, uint32_t chunk)
{
    uint64_t word = h->table.word[chunk];
    uint32_t class_ = quarry_chunk_class(word) - 1u, free_pages = 0;
    if (quarry_chunk_class(word) == QUARRY_OURO_INSIDE)
        return quarry_mask_count(word) != 0 || quarry_ouro_run_of(h, &chunk) == ~0u;
    if (class_ >= h->sizes.whole + h->sizes.most)
        return (quarry_mask_count(word) != 0) + (class_ != ~0u);
    for (uint32_t page = 0; page < quarry_class_pages(&h->sizes, class_); page += 32u)
        free_pages -= simt_popc_u32(quarry_ouro_live(QUARRY_OURO_CHUNKS, h, chunk, class_, page));
    free_pages += quarry_class_pages(&h->sizes, class_);
    if (class_ >= h->sizes.whole)
        return quarry_ouro_run_faults(h, chunk, class_) + (free_pages != 0) + (quarry_mask_count(word) != 0);
    return (quarry_mask_count(word) != (int32_t)free_pages) +
           (free_pages != 0 && !(word & (quarry_mask_queued(class_) | QUARRY_MASK_STRAY)));
}

/* Likewise of an entry of a chunk.
 *   bit   of the chunk's word: there is one in that queue */
SIMT_FN uint32_t quarry_ouro_entry_faults(const struct quarry_ouro *h, uint64_t bit, uint32_t chunk)
{
    if (chunk == QUARRY_NO_INDEX)
        return 0;
    return chunk >= h->chunks.count || !(h->table.word[chunk] & bit);
}

/* How often the structures of a chunk contradict themselves, in an idle heap. */
SIMT_FN uint32_t quarry_ouro_faults(const struct quarry_ouro *h, uint32_t chunk)
{
    const struct quarry_chunk_table *t = &h->table;
    uint64_t word = t->word[chunk];
    uint32_t class_ = quarry_chunk_class(word) - 1u, count = quarry_chunk_count(word), bits = 0, faults = 0;
    uint32_t most = h->sizes.whole + h->sizes.most, first = chunk;
    uint32_t pages = class_ < h->sizes.whole ? quarry_class_pages(&h->sizes, class_) : 0; /* that have bits */
    int inside = quarry_chunk_class(word) == QUARRY_OURO_INSIDE;
    for (uint32_t field = 0; field < t->fields; field++) {
        uint32_t live = *quarry_chunk_field(t, h->live, chunk, field * 32u);
        uint32_t parked = *quarry_chunk_field(t, t->parked, chunk, field * 32u), here = 0;
        if (pages > field * 32u)
            here = pages - field * 32u < 32u ? (1u << (pages - field * 32u)) - 1u : ~0u;
        faults += (live & parked) != 0 || ((live | parked) & ~here) != 0;
        bits += simt_popc_u32(parked);
    }
    return faults + (count != bits) + (quarry_chunk_marked(word) != 0) +
           (word / QUARRY_CHUNK_QUEUED != (count != 0)) +
           (class_ < most ? quarry_ouro_run_faults(h, chunk, class_) : 0) +
           (inside ? quarry_ouro_run_of(h, &first) == ~0u : class_ != ~0u && class_ >= most);
}

/* Likewise of a slot of the queue of a class. */
SIMT_FN uint32_t quarry_ouro_slot_faults(const struct quarry_ouro *h, uint32_t class_, uint32_t index)
{
    uint32_t chunk = index >> h->table.page_bits, page = index & ((1u << h->table.page_bits) - 1u);
    if (index == QUARRY_NO_INDEX)
        return 0;
    if (chunk >= h->chunks.count || quarry_chunk_class(h->table.word[chunk]) != class_ + 1u ||
        page >= quarry_class_pages(&h->sizes, class_))
        return 1;
    uint32_t taken = *quarry_chunk_field(&h->table, h->live, chunk, page) |
                     *quarry_chunk_field(&h->table, h->table.parked, chunk, page);
    return taken >> page % 32u & 1u;
}

/* Likewise of a queue in segments.  Returns how many it has. */
SIMT_FN uint32_t quarry_ouro_segment_faults(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                            uint32_t class_, const struct quarry_census_share *share,
                                            struct quarry_census *sum)
{
    const struct quarry_segments *q = &h->segments;
    const struct quarry_segments_ends *ends = &q->ends[class_];
    uint32_t front = ends->queue.front, back = ends->queue.back, size = q->size, segments = 0;
    uint32_t at = front - front % size; /* the first position of a segment */
    for (uint64_t pair = quarry_segments_first(q, class_); (uint32_t)pair != QUARRY_NO_INDEX;
         segments++, at += size) {
        if ((uint32_t)(pair >> 32) != at >> q->shift || (uint32_t)pair >= h->chunks.count ||
            segments > h->chunks.count) {
            sum->faults += share->thread == 0;
            break;
        }
        sum->faults +=
            q->readers && share->thread == 0 && q->readers[(uint32_t)pair] != QUARRY_SEGMENTS_HELD + 1u;
        const uint32_t *slot = quarry_segments_slots(q, (uint32_t)pair);
        for (uint64_t i = share->thread; i < size; i += share->threads) {
            uint32_t index = slot[i], ticket = at + (uint32_t)i;
            if ((int32_t)(ticket - back) >= 0)
                sum->faults += index != QUARRY_NO_INDEX;
            else if ((int32_t)(ticket - front) >= 0 && index != QUARRY_SEGMENTS_SKIP)
                sum->faults += index == QUARRY_NO_INDEX ||
                               (payload == QUARRY_OURO_CHUNKS
                                    ? quarry_ouro_entry_faults(h, quarry_mask_queued(class_), index)
                                    : quarry_ouro_slot_faults(h, class_, index));
        }
        pair = quarry_segments_second(q, class_, pair);
    }
    if (share->thread == 0)
        sum->faults +=
            ends->queue.count != back - front || quarry_segments_room(ends->room) != (int32_t)(at - back);
    return segments;
}

/* Is the copy of the struct another one? */
SIMT_FN int quarry_ouro_is_foreign(const struct quarry_ouro *h, const struct quarry_ouro *self)
{
    return self->self != h->self || self->chunks.base != h->chunks.base ||
           self->chunks.count != h->chunks.count || self->table.word != h->table.word ||
           self->table.parked != h->table.parked || self->masks != h->masks || self->tokens != h->tokens ||
           self->segments.ends != h->segments.ends || self->segments.taken != h->segments.taken;
}

/* Likewise of what all chunks share. */
SIMT_FN uint32_t quarry_ouro_shared_faults(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                           const struct quarry_ouro *h,
                                           const struct quarry_census_share *share, struct quarry_census *sum)
{
    int chunks = payload == QUARRY_OURO_CHUNKS, arrays = backing == QUARRY_OURO_STANDARD;
    uint64_t slots = !arrays ? 0 : chunks ? h->token_slots : h->queue_slots;
    const uint32_t *late = h->tokens, *others = h->tokens + h->token_slots;
    uint32_t faults = 0, segments = 0;
    for (uint64_t i = share->thread; chunks && i < h->token_slots; i += share->threads) {
        faults += quarry_ouro_entry_faults(h, QUARRY_MASK_LATE, late[i]);
        faults += arrays ? 0 : quarry_ouro_entry_faults(h, QUARRY_MASK_STRAY, others[i]);
    }
    for (uint32_t k = 0; k < h->sizes.whole; k++) {
        for (uint64_t i = share->thread; i < slots; i += share->threads)
            faults += chunks ? quarry_ouro_entry_faults(h, quarry_mask_queued(k), others[k * slots + i])
                             : quarry_ouro_slot_faults(h, k, h->queue[k * slots + i]);
        if (!arrays)
            segments += quarry_ouro_segment_faults(payload, h, k, share, sum);
        const struct quarry_semaphore *units = quarry_ouro_units(payload, h, k);
        if (share->thread == 0)
            faults += quarry_semaphore_there(units->units) < 0 || !quarry_semaphore_is_idle(units);
    }
    if (share->thread == 0)
        faults += quarry_ouro_is_foreign(h, h->self) ||
                  (h->segments.store.head->word & QUARRY_CHUNKS_TRANSIT) != 0 ||
                  quarry_chunks_left(h->segments.store.head->word) > h->chunks.count ||
                  h->segments.store.head->fresh > h->chunks.count ||
                  (!arrays && *h->segments.segments != segments);
    return faults;
}

/* Is a chunk free, or has it pages that malloc can bring together? */
SIMT_FN int quarry_ouro_is_spare(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                 uint32_t chunk)
{
    uint32_t class_ = quarry_chunk_class(simt_load_u64(&h->table.word[chunk], relaxed)) - 1u, live = 0;
    if (class_ == ~0u || payload == QUARRY_OURO_PAGES || class_ >= h->sizes.whole)
        return class_ == ~0u;
    for (uint32_t page = 0; page < quarry_class_pages(&h->sizes, class_); page += 32u)
        live |= quarry_ouro_live(payload, h, chunk, class_, page);
    return live == 0;
}

/* How many spare chunks lie together from this one on, up to the largest block that can begin there. */
SIMT_FN uint32_t quarry_ouro_spare(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                   uint32_t chunk)
{
    uint32_t most = h->sizes.most, n = 0;
    most = chunk && 1u << simt_ctz_u32(chunk) < most ? 1u << simt_ctz_u32(chunk) : most;
    while (n < most && chunk + n < h->chunks.count && quarry_ouro_is_spare(payload, h, chunk + n))
        n++;
    return n;
}

SIMT_FN void quarry_ouro_census(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                const struct quarry_ouro *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint32_t chunks = bytes > h->sizes.chunk_bytes ? quarry_page_count(&h->chunks, bytes) : 0, size;
    uint32_t wanted = chunks ? h->sizes.whole + chunks - 1u : quarry_class_of(&h->sizes, bytes);
    for (uint64_t i = share->thread; i < h->chunks.count; i += share->threads) {
        uint32_t chunk = (uint32_t)i, live = 0, pages = 0;
        uint64_t word = simt_load_u64(&h->table.word[chunk], relaxed);
        uint32_t class_ = quarry_chunk_class(word) - 1u;
        if (share->idle)
            sum->faults += payload == QUARRY_OURO_CHUNKS ? quarry_ouro_mask_faults(h, chunk)
                                                         : quarry_ouro_faults(h, chunk);
        if (quarry_chunk_class(word) == QUARRY_OURO_INSIDE)
            continue;
        if (class_ < h->sizes.whole + h->sizes.most)
            pages = quarry_class_pages(&h->sizes, class_);
        for (uint32_t page = 0; page < pages; page += 32u)
            live += simt_popc_u32(quarry_ouro_live(payload, h, chunk, class_, page));
        if (pages == 0 || (payload == QUARRY_OURO_CHUNKS && live == 0)) { /* C: malloc recalls it */
            uint32_t many = h->sizes.most < 2 ? 1 : quarry_ouro_spare(payload, h, chunk);
            sum->free_bytes += h->sizes.chunk_bytes;
            if (sum->largest_free < (uint64_t)many * h->sizes.chunk_bytes)
                sum->largest_free = (uint64_t)many * h->sizes.chunk_bytes;
            sum->slots += chunks == 0 ? quarry_class_pages(&h->sizes, wanted)
                                      : many >= chunks && chunk % (1u << quarry_run_order(chunks)) == 0;
            continue;
        }
        size = quarry_class_span(&h->sizes, class_);
        sum->live_blocks += live;
        sum->live_bytes += (uint64_t)live * size;
        sum->free_bytes += (uint64_t)(pages - live) * size;
        if (live < pages && sum->largest_free < size)
            sum->largest_free = size;
        sum->slots += class_ == wanted ? pages - live : 0;
    }
    const uint64_t *map = h->segments.store.map;
    for (uint64_t i = share->thread; share->idle && map && i < quarry_chunks_fields(h->chunks.count);
         i += share->threads) {
        for (uint32_t left = (uint32_t)map[i]; left; left &= left - 1u) {
            uint64_t chunk = i * 32u + simt_ctz_u32(left);
            sum->faults += chunk >= h->chunks.count || quarry_chunk_class(h->table.word[chunk]) != 0 ||
                           !(map[i] >> 32 >> simt_ctz_u32(left) & 1u);
            sum->odds += quarry_census_key(0);
        }
    }
    if (share->idle && map && share->thread == 0)
        sum->odds -= quarry_census_key(0) * (quarry_chunks_left(h->segments.store.head->word) -
                                             (h->chunks.count - h->segments.store.head->fresh));
    if (share->idle)
        sum->faults += quarry_ouro_shared_faults(backing, payload, h, share, sum);
}

#endif
