/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap of slabs (alloc/slabs/slabs_map.h) holds: which block an address is in, and a heap's census. */
#ifndef QUARRY_ALLOC_SLABS_CENSUS_H
#define QUARRY_ALLOC_SLABS_CENSUS_H

#include "quarry/alloc/slabs/slabs_map.h"

/* Where an address is. */
struct quarry_slabs_where {
    uint64_t kind;    /* of its chunk */
    uint32_t page;    /* its chunk, or QUARRY_NO_PAGE */
    uint32_t slot;    /* its slot, if */
    uint32_t is_slot; /* it is in one, of a chunk that is bound, or that moves and was or will be */
};

/* Of an address in chunk `page`, or in none, whose kind is known. */
SIMT_FN struct quarry_slabs_where quarry_slabs_place_of(const struct quarry_slabs *h, const void *address,
                                                        uint32_t page, uint64_t kind)
{
    struct quarry_slabs_where w = {kind, page, 0, 0};
    enum quarry_slabs_state state = quarry_slabs_state(kind);
    uint32_t class_ = quarry_slabs_kind_class(kind);
    if ((state == QUARRY_SLABS_IS_BOUND || state == QUARRY_SLABS_IS_MOVING) && class_ < h->classes) {
        const unsigned char *begin = (const unsigned char *)quarry_page_address(&h->pages, page);
        uint32_t unit = (uint32_t)((const unsigned char *)address - begin) >> h->unit_log;
        uint32_t units = quarry_slabs_units(h, class_);
        w.slot = quarry_divide_u32(unit, units);
        w.is_slot = (w.slot + 1u) * units <= h->units;
    }
    return w;
}

SIMT_FN struct quarry_slabs_where quarry_slabs_locate(const struct quarry_slabs *h, const void *address)
{
    uint32_t page = quarry_page_index(&h->pages, address);
    return quarry_slabs_place_of(h, address, page, page == QUARRY_NO_PAGE ? 0 : quarry_slabs_kind(h, page));
}

/* Is the slot live? */
SIMT_FN int quarry_slabs_is_live(const struct quarry_slabs *h, const struct quarry_slabs_where *w)
{
    if (!w->is_slot)
        return 0;
    uint64_t word = simt_load_u64(quarry_slabs_word(h, quarry_slabs_place(w->page, w->slot)), relaxed);
    return (word >> w->slot % QUARRY_SLABS_BITS & 1u) && w->slot < quarry_slabs_rest(h, w->page, w->kind);
}

/* The first chunk of the large block that chunk `chunk` is a part of.
 *   *kind   of that; then of the first */
SIMT_FN uint32_t quarry_slabs_head(const struct quarry_slabs *h, uint32_t chunk, uint64_t *kind)
{
    while (chunk > 0 && quarry_slabs_more(*kind) == 0 && quarry_slabs_state(*kind) == QUARRY_SLABS_IS_LARGE)
        *kind = quarry_slabs_kind(h, --chunk);
    return chunk;
}

SIMT_FN enum quarry_place quarry_slabs_find(const struct quarry_slabs *h, const void *address,
                                            struct quarry_span *span)
{
    struct quarry_slabs_where w = quarry_slabs_locate(h, address);
    if (quarry_page_find(&h->pages, address, span) == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (quarry_slabs_state(w.kind) == QUARRY_SLABS_IS_LARGE) {
        uint32_t first = quarry_slabs_head(h, w.page, &w.kind);
        if (quarry_slabs_state(w.kind) == QUARRY_SLABS_IS_LARGE &&
            first + quarry_slabs_more(w.kind) > w.page) {
            span->begin = (unsigned char *)quarry_page_address(&h->pages, first);
            span->bytes = quarry_slabs_more(w.kind) * h->pages.page_bytes;
            return QUARRY_PLACE_LIVE;
        }
    }
    uint32_t unit = (uint32_t)((const unsigned char *)address - span->begin) >> h->unit_log;
    uint32_t units = 1;
    int live = quarry_slabs_is_live(h, &w);
    if (live) {
        units = quarry_slabs_units(h, quarry_slabs_kind_class(w.kind));
        unit = w.slot * units;
    }
    span->begin += (uint64_t)unit << h->unit_log;
    span->bytes = (uint64_t)units << h->unit_log;
    return live ? QUARRY_PLACE_LIVE : QUARRY_PLACE_FREE;
}

/* Live slots of a chunk that was seen bound.
 *   *faults   how often its words contradict its kind: added to */
SIMT_FN uint32_t quarry_slabs_count(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind,
                                    uint64_t *faults)
{
    uint32_t class_ = quarry_slabs_kind_class(kind), rest = quarry_slabs_rest(h, chunk, kind), live = 0;
    uint32_t slots = quarry_slabs_slots(h, class_);
    const int trail = quarry_slabs_more(kind) >> QUARRY_SLABS_OWNER != 0;
    const uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    for (uint32_t i = 0; i < quarry_slabs_words(slots); i++) {
        uint64_t seen = simt_load_u64(&word[i], relaxed);
        live += simt_popc_u32((uint32_t)seen & ~quarry_slabs_from(i, rest));
        /* Of a trail's chunk words have no class until somebody has slots of them. */
        *faults += !quarry_slabs_is_of(seen, class_) && (seen != ~0u || !trail);
        *faults += (~(uint32_t)seen & quarry_slabs_from(i, slots)) != 0;
    }
    return live;
}

/* Is a chunk free, or without a live slot? */
SIMT_FN int quarry_slabs_is_vacant(const struct quarry_slabs *h, uint32_t chunk)
{
    uint64_t kind = quarry_slabs_kind(h, chunk), unused = 0;
    if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND && quarry_slabs_kind_class(kind) < h->classes)
        return quarry_slabs_count(h, chunk, kind, &unused) == 0;
    return quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE;
}

/* A row of vacant chunks of an idle heap, from one on, that the chunk before does not belong to.
 *   chunks   that the blocks have for which slots are counted; 0: no large ones */
SIMT_FN void quarry_slabs_count_row(const struct quarry_slabs *h, uint32_t chunk, uint32_t chunks,
                                    struct quarry_census *sum)
{
    uint32_t end = chunk + 1u;
    while (end < h->pages.count && quarry_slabs_is_vacant(h, end))
        end++;
    uint64_t bytes = (end - chunk) * h->pages.page_bytes;
    sum->slots += chunks ? (end - chunk) / chunks : 0;
    sum->largest_free = sum->largest_free < bytes ? bytes : sum->largest_free;
}

/* How many rows of so many vacant chunks there are, while others malloc and free.  Each chunk is looked at once: if
 * rows were told by the chunk before them, and that became vacant meanwhile, one would be missed.
 * Returns all to the first lane of share->group, and 0 to the others. */
SIMT_FN uint64_t quarry_slabs_rows(const struct quarry_slabs *h, const struct quarry_census_share *share,
                                   uint32_t chunks)
{
    uint32_t width = simt_popc_u32(share->group), run = 0;
    uint64_t rows = 0;
    for (uint32_t base = 0; base < h->pages.count; base += width) {
        uint32_t i = base + simt_rank(share->group);
        uint32_t vacant = simt_ballot(share->group, i < h->pages.count && quarry_slabs_is_vacant(h, i));
        for (uint32_t k = 0; k < width; k++) {
            run = vacant >> quarry_lane_of_rank(share->group, k) & 1u ? run + 1u : 0;
            rows += run == chunks;
            run = run == chunks ? 0 : run;
        }
    }
    return simt_rank(share->group) == 0 ? rows : 0;
}

/* A chunk that is bound, and not vacant. */
SIMT_FN void quarry_slabs_count_bound(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind,
                                      uint32_t wanted, struct quarry_census *sum)
{
    uint64_t unused = 0;
    uint32_t class_ = quarry_slabs_kind_class(kind), live = quarry_slabs_count(h, chunk, kind, &unused);
    uint32_t spare = quarry_slabs_slots(h, class_) - live;
    uint64_t size = (uint64_t)quarry_slabs_units(h, class_) << h->unit_log;
    sum->live_blocks += live;
    sum->live_bytes += live * size;
    sum->free_bytes += spare * size;
    if (spare && sum->largest_free < size)
        sum->largest_free = size;
    sum->slots += class_ >= wanted ? spare : 0; /* a slot serves smaller blocks, too */
}

/* Does a large block go on in a chunk? */
SIMT_FN int quarry_slabs_is_part(const struct quarry_slabs *h, uint32_t chunk)
{
    uint64_t kind = chunk < h->pages.count ? quarry_slabs_kind(h, chunk) : 0;
    return quarry_slabs_state(kind) == QUARRY_SLABS_IS_LARGE && quarry_slabs_more(kind) == 0;
}

/* What an idle chunk's kind can't be, alone or beside its words. */
SIMT_FN uint32_t quarry_slabs_kind_faults(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind)
{
    uint32_t more = quarry_slabs_more(kind);
    uint64_t faults = 0;
    switch (quarry_slabs_state(kind)) {
    case QUARRY_SLABS_IS_FREE:
        return more != 0 && kind != QUARRY_SLABS_FRESH;
    case QUARRY_SLABS_IS_BOUND:
        (void)quarry_slabs_count(h, chunk, kind, &faults);
        return faults != 0 || (more && quarry_slabs_owner(kind) >= h->cursors);
    case QUARRY_SLABS_IS_LARGE:
        for (uint32_t i = 1; i < more && chunk + i < h->pages.count; i++)
            if (!quarry_slabs_is_part(h, chunk + i))
                return 1;
        /* Blocks have all their parts, and no part follows that is none's. */
        if (more == 0)
            return chunk == 0 ||
                   quarry_slabs_state(quarry_slabs_kind(h, chunk - 1u)) != QUARRY_SLABS_IS_LARGE;
        return more > h->pages.count - chunk || quarry_slabs_is_part(h, chunk + more);
    default:
        return 1; /* nobody moves it */
    }
}

/* How often what all chunks share contradicts itself, in an idle heap: the calling lane's share. */
SIMT_FN uint32_t quarry_slabs_faults(const struct quarry_slabs *h, const struct quarry_census_share *share)
{
    uint32_t faults = share->thread == 0 && (h->sweep->state & 1u);
    for (uint64_t i = share->thread; i < h->copies; i += share->threads)
        faults += quarry_slabs_copy(h, (uint32_t)i)->words != h->words;
    for (uint64_t i = share->thread; i < (uint64_t)h->classes * h->cursors; i += share->threads) {
        uint64_t now = simt_load_u64(&h->cursor[i], relaxed);
        uint32_t number = quarry_slabs_cursor_number(h, (uint32_t)i),
                 class_ = (uint32_t)i - number * h->classes;
        uint32_t chunk = quarry_slabs_chunk(now);
        faults += (now & QUARRY_SLABS_BUSY) != 0;
        faults += quarry_slabs_next(now) < QUARRY_SLABS_PAST &&
                  number >= quarry_slabs_reach(simt_load_u32(&h->spread[class_], relaxed));
        if (quarry_slabs_next(now) < quarry_slabs_slots(h, class_)) { /* its chunk has it */
            uint64_t kind = chunk < h->pages.count ? quarry_slabs_kind(h, chunk) : 0;
            faults += !quarry_slabs_is_bound(kind, class_) || quarry_slabs_owner(kind) != number;
        }
    }
    return faults;
}

SIMT_FN void quarry_slabs_census(const struct quarry_slabs *h, uint64_t bytes,
                                 const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint32_t wanted = quarry_slabs_class(h, bytes);
    uint32_t chunks = wanted >= h->classes ? quarry_page_count(&h->pages, bytes) : 0;
    if (chunks && !share->idle) {
        sum->slots += quarry_slabs_rows(h, share, chunks);
        return;
    }
    for (uint64_t i = share->thread; i < h->pages.count; i += share->threads) {
        uint32_t chunk = (uint32_t)i;
        uint64_t kind = quarry_slabs_kind(h, chunk);
        enum quarry_slabs_state state = quarry_slabs_state(kind);
        if (state == QUARRY_SLABS_IS_BOUND && quarry_slabs_kind_class(kind) >= h->classes) {
            sum->faults++;
            continue;
        }
        if (share->idle)
            sum->faults += quarry_slabs_kind_faults(h, chunk, kind);
        if (quarry_slabs_is_vacant(h, chunk)) {
            sum->free_bytes += h->pages.page_bytes;
            sum->slots += wanted < h->classes ? quarry_slabs_slots(h, wanted) : 0;
            if (share->idle && (chunk == 0 || !quarry_slabs_is_vacant(h, chunk - 1u)))
                quarry_slabs_count_row(h, chunk, chunks, sum);
        } else if (state == QUARRY_SLABS_IS_BOUND) {
            quarry_slabs_count_bound(h, chunk, kind, wanted, sum);
        } else if (state == QUARRY_SLABS_IS_LARGE) {
            sum->live_blocks += quarry_slabs_more(kind) != 0;
            sum->live_bytes += h->pages.page_bytes;
        }
    }
    if (share->idle)
        sum->faults += quarry_slabs_faults(h, share);
}

#endif
