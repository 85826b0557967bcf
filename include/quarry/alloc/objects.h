/* SPDX-License-Identifier: Apache-2.0 */
/* objects: blocks of slots, whose type is a size class.
 *
 * M. Springer, H. Masuhara, "DynaSOAr: A Parallel Memory Allocator for Object-oriented Programming on GPUs with
 * Efficient Memory Access", ECOOP 2019.  The algorithm, its order, and why NULL is only returned from a full heap:
 * core/blocks.h.  Here: which bytes a slot is, and which slot a byte.
 *
 *     pool   | self | sweep | flights | slots | kinds | maps | page 0 | page 1 | ...
 *     self   a copy of struct quarry_objects
 *     slots, kinds, maps, flights   core/blocks.h; a block is a page
 *     page   slot 0, slot 1, ...; what is behind the last is left unused
 *
 * Types are the classes of core/classes.h, from the smallest of which a page has at most 64: 16, 32 .. 512 and 1024
 * bytes with pages of 1024.  Slots of other classes serve nobody here, but a page whose slots are all free does.
 *
 * A heap with a schema (quarry/schema.h) has more types: those of the schema, behind the classes.  Its pages are the
 * blocks of the schema, and their kinds have the bytes of an object above the type.  quarry/object.h creates and
 * deletes objects; malloc and free leave their pages alone. */
#ifndef QUARRY_ALLOC_OBJECTS_H
#define QUARRY_ALLOC_OBJECTS_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/blocks_take.h"
#include "quarry/core/classes.h"
#include "quarry/core/share.h"

#define QUARRY_OBJECTS_PAGE_BYTES 1024u
#define QUARRY_OBJECTS_DEBUG_UNIT 128u /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_OBJECTS_PART 1024u      /* pages of a sweep's part */
#define QUARRY_OBJECTS_TYPES 64u       /* of a schema, at most */

#define QUARRY_OBJECTS_CAN                                                                                   \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES | QUARRY_HAS_PAGE_PARTS |             \
     QUARRY_HAS_TYPES)

/* What is wrong with a delete: it is of what is no object any more, or of that type, or of the heap. */
enum quarry_objects_wrong_kind {
    QUARRY_OBJECTS_TWICE,
    QUARRY_OBJECTS_MISTYPED,
    QUARRY_OBJECTS_FOREIGN,
    QUARRY_OBJECTS_WRONGS
};

struct quarry_objects_wrong {
    uint64_t count; /* of deletes */
    uint64_t first; /* what the first of them named */
};

/* Where objects of all types have their fields: fields[begin[t]] to fields[begin[t + 1] - 1] are those of type t. */
struct quarry_objects_field {
    uint32_t offset, bytes, elements;
};
struct quarry_objects_fields {
    uint32_t begin[QUARRY_OBJECTS_TYPES + 1u];
    struct quarry_objects_field fields[1]; /* layout.fields, and one */
};

/* Of a snapshot: pages of each type. */
struct quarry_objects_listed {
    uint32_t pages[QUARRY_OBJECTS_TYPES];
};

/* What a heap with a schema has more, in its pool.  Behind it lie the pages of a snapshot, type by type: 64 bits for
 * each, the slots that were live when it was taken; and their numbers. */
struct quarry_objects_typed {
    struct quarry_objects_wrong wrong[QUARRY_OBJECTS_WRONGS];
    struct quarry_objects_listed count[2]; /* snapshots take turns: who counts in one clears the other */
};

struct quarry_objects {
    struct quarry_pages pages; /* first, as a free needs it first */
    struct quarry_classes sizes;
    struct quarry_blocks blocks;
    uint32_t unit;
    uint32_t schema;                            /* code of the schema */
    struct quarry_objects_typed *typed;         /* NULL: there is none */
    const struct quarry_objects_fields *fields; /* in debug mode, which fills them; else NULL */
    struct quarry_objects *self;                /* a copy of this, in the pool */
};

SIMT_FN void quarry_objects_init(const struct quarry_objects *h, uint64_t thread, uint64_t threads)
{
    quarry_blocks_init(&h->blocks, thread, threads);
    if (thread == 0)
        *h->self = *h;
    for (uint32_t i = 0; i < QUARRY_OBJECTS_TYPES && thread == 0 && h->typed; i++)
        h->typed->count[0].pages[i] = h->typed->count[1].pages[i] = 0;
    for (uint32_t i = 0; i < QUARRY_OBJECTS_WRONGS && thread == 0 && h->typed; i++)
        h->typed->wrong[i].count = h->typed->wrong[i].first = 0;
}

/* ---- types of a schema ---- */

/* The kind of pages with objects of a schema's type.
 *   bytes   of an object: below 2^14 */
SIMT_FN uint32_t quarry_objects_typed_kind(const struct quarry_objects *h, uint32_t number, uint32_t capacity,
                                           uint32_t bytes)
{
    return quarry_blocks_kind(h->sizes.whole + 1u + number, capacity) | bytes << QUARRY_BLOCKS_KIND_BITS;
}

/* Bytes of an object of that kind; 0: pages of that kind have blocks of malloc. */
SIMT_FN uint32_t quarry_objects_typed_bytes(uint32_t kind)
{
    return kind >> QUARRY_BLOCKS_KIND_BITS;
}

/* The number of the type that objects of that kind have in the schema. */
SIMT_FN uint32_t quarry_objects_typed_number(const struct quarry_objects *h, uint32_t kind)
{
    return quarry_blocks_type(kind) - (h->sizes.whole + 1u);
}

/* Of a snapshot's pages, the first of a type. */
SIMT_FN uint32_t quarry_objects_typed_first(const struct quarry_objects_listed *count, uint32_t number)
{
    uint32_t first = 0;
    for (uint32_t before = 0; before < number; before++)
        first += count->pages[before];
    return first;
}

/* The slots that were live then, of each of its pages. */
SIMT_FN uint64_t *quarry_objects_typed_live(const struct quarry_objects *h)
{
    return (uint64_t *)(void *)(h->typed + 1);
}

/* Their numbers. */
SIMT_FN uint32_t *quarry_objects_typed_list(const struct quarry_objects *h)
{
    return (uint32_t *)(void *)(quarry_objects_typed_live(h) + h->pages.count);
}

/* ---- malloc and free ---- */

SIMT_FN uint32_t quarry_objects_kind(const struct quarry_objects *h, uint32_t class_)
{
    return quarry_blocks_kind(class_, quarry_class_pages(&h->sizes, class_));
}

/* Out of line in the switch over all allocators, which would have 72 registers with it.  What is given there is the
 * pool's copy: were the address of the handle's struct to go out, a kernel would copy its handle into local memory at
 * every malloc of every allocator. */
#ifdef QUARRY_ALLOCATOR
#define QUARRY_OBJECTS_FN SIMT_FN
#define QUARRY_OBJECTS_GIVEN(h) (h)
#else
#define QUARRY_OBJECTS_FN SIMT_NOINLINE_FN
#define QUARRY_OBJECTS_GIVEN(h) ((const struct quarry_objects *)(h)->self)
#endif

QUARRY_OBJECTS_FN void *quarry_objects_take(const struct quarry_objects *h, uint64_t bytes)
{
    uint32_t class_ = quarry_class_of(&h->sizes, bytes);
    uint32_t group = quarry_group(h->blocks.slots + class_, QUARRY_SITE_OBJECTS_MALLOC);
    uint32_t slot = quarry_blocks_new(&h->blocks, group, quarry_objects_kind(h, class_));
    if (slot == QUARRY_NO_PAGE)
        return SIMT_NULL;
    return (unsigned char *)quarry_page_address(&h->pages, slot / QUARRY_BLOCKS_SLOTS) +
           slot % QUARRY_BLOCKS_SLOTS * quarry_class_bytes(&h->sizes, class_);
}

/* Lanes that come together with one class share pages. */
SIMT_FN void *quarry_objects_malloc(const struct quarry_objects *h, struct quarry_context *context,
                                    uint64_t bytes)
{
    quarry_step(context);
    return quarry_objects_take(QUARRY_OBJECTS_GIVEN(h), bytes);
}

/* Where an address is. */
struct quarry_objects_where {
    uint32_t page; /* or QUARRY_NO_PAGE */
    uint32_t kind; /* of the page; 0: the address is in no slot */
    uint32_t slot;
    uint64_t slots; /* of the page, that are free: read before the kind, so as not to wait twice */
};

SIMT_FN struct quarry_objects_where quarry_objects_locate(const struct quarry_objects *h, const void *address)
{
    struct quarry_objects_where w = {quarry_page_index(&h->pages, address), 0, 0, 0};
    if (w.page != QUARRY_NO_PAGE) {
        const unsigned char *begin = (const unsigned char *)quarry_page_address(&h->pages, w.page);
        w.slots = simt_load_u64(quarry_blocks_slots(&h->blocks, w.page), relaxed);
        w.kind = quarry_blocks_kind_of(&h->blocks, w.page);
        if (quarry_objects_typed_bytes(w.kind))
            w.kind = 0;
        if (w.kind)
            w.slot = quarry_class_page(&h->sizes, quarry_blocks_type(w.kind),
                                       (uint32_t)((const unsigned char *)address - begin));
        if (w.kind && w.slot >= quarry_blocks_capacity(w.kind))
            w.kind = 0;
    }
    return w;
}

SIMT_FN int quarry_objects_is_free(const struct quarry_objects_where *w)
{
    return (int)(w->slots >> w->slot & 1u);
}

/* Is the slot there, and live, or taken for a moment by who looks for another class? */
SIMT_FN int quarry_objects_is_live(const struct quarry_objects_where *w)
{
    return w->kind && !quarry_objects_is_free(w);
}

/* What lanes give together: those of one page. */
struct quarry_objects_gift {
    uint32_t group; /* of those lanes */
    uint64_t slots; /* to its first lane: theirs */
    uint64_t twice; /* to its first lane: those that were free already */
};

/* Gives slots back, of any pages: those of one page together, and pages that are given whole together.
 *   all   the lanes
 *   w     where the caller's slot is: it seems to have it
 * Order: releases; pairs with mallocs.  Scope: all, reconverged. */
SIMT_FN struct quarry_objects_gift quarry_objects_give(const struct quarry_objects *h, uint32_t all,
                                                       const struct quarry_objects_where *w)
{
    const struct quarry_blocks *b = &h->blocks;
    struct quarry_objects_gift gift = {quarry_blocks_group(simt_match_u32(all, w->page)), 0, 0};
    uint64_t mine = (uint64_t)1 << w->slot;
    gift.slots = quarry_share_or_u32(all, gift.group, (uint32_t)mine) |
                 (uint64_t)quarry_share_or_u32(all, gift.group, (uint32_t)(mine >> 32)) << 32;
    int leads = simt_rank(gift.group) == 0;
    int whole = leads && gift.slots == quarry_blocks_all(w->kind) && (w->slots & gift.slots) == 0;
    simt_sync(all); /* what each did, before the first lane's release */
    uint32_t ends = simt_ballot(all, whole);
    if (whole) {
        uint32_t group = simt_match_u32(ends, w->page / QUARRY_HIERARCHY_BITS * QUARRY_BLOCKS_TYPES +
                                                  quarry_blocks_type(w->kind));
        gift.twice = quarry_blocks_end(b, quarry_blocks_group(group), w->page, w->kind) ? 0 : gift.slots;
    } else if (leads) {
        gift.twice = quarry_blocks_give(b, w->page, gift.slots, w->kind);
    }
    simt_sync(all); /* none goes on whose slot still looks taken */
    return gift;
}

/* Progress: lanes of a warp that free together wait for each other, and for nobody else. */
SIMT_FN void quarry_objects_free(const struct quarry_objects *h, void *block)
{
    struct quarry_objects_where w = quarry_objects_locate(h, block);
    int live = quarry_objects_is_live(&w);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    struct quarry_objects_gift gift =
        quarry_objects_give(h, quarry_group(h->blocks.slots, QUARRY_SITE_OBJECTS_FREE), &w);
    QUARRY_ASSERT_LIVE(simt_rank(gift.group) != 0 ||
                       (gift.twice == 0 && simt_popc_u64(gift.slots) == simt_popc_u32(gift.group)));
    (void)gift;
}

SIMT_FN enum quarry_place quarry_objects_find(const struct quarry_objects *h, const void *address,
                                              struct quarry_span *span)
{
    struct quarry_objects_where w = quarry_objects_locate(h, address);
    if (quarry_page_find(&h->pages, address, span) == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (quarry_objects_is_live(&w)) {
        span->bytes = quarry_class_bytes(&h->sizes, quarry_blocks_type(w.kind));
        span->begin += w.slot * span->bytes;
        return QUARRY_PLACE_LIVE;
    }
    span->begin += (uint32_t)((const unsigned char *)address - span->begin) / h->unit * h->unit;
    span->bytes = h->unit;
    return QUARRY_PLACE_FREE;
}

/* Is the copy of the struct another one? */
SIMT_FN int quarry_objects_is_foreign(const struct quarry_objects *h, const struct quarry_objects *self)
{
    return self->self != h->self || self->unit != h->unit || self->pages.base != h->pages.base ||
           self->pages.count != h->pages.count || self->sizes.whole != h->sizes.whole ||
           self->sizes.chunk_bytes != h->sizes.chunk_bytes || self->blocks.slots != h->blocks.slots ||
           self->blocks.kind != h->blocks.kind || self->blocks.maps != h->blocks.maps ||
           self->blocks.sweep != h->blocks.sweep || self->blocks.flights != h->blocks.flights ||
           self->blocks.types != h->blocks.types || self->blocks.parts != h->blocks.parts;
}

/* How often what all pages share contradicts itself, in an idle heap: the calling lane's share. */
SIMT_FN uint32_t quarry_objects_faults(const struct quarry_objects *h,
                                       const struct quarry_census_share *share)
{
    const struct quarry_blocks *b = &h->blocks;
    uint32_t faults = 0, words = b->shape.words;
    for (uint64_t i = share->thread; i < (uint64_t)words * QUARRY_BLOCKS_MAPS(b->types); i += share->threads)
        faults += quarry_hierarchy_faults(&b->shape, b->maps + i / words * words, (uint32_t)(i % words));
    for (uint64_t i = share->thread; i < QUARRY_FLIGHTS; i += share->threads)
        faults += (uint32_t)b->flights[i] != 0;
    if (share->thread == 0)
        faults += (uint32_t)(b->sweep->state & 1u) + (uint32_t)quarry_objects_is_foreign(h, h->self);
    return faults;
}

SIMT_FN void quarry_objects_census(const struct quarry_objects *h, uint64_t bytes,
                                   const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint32_t wanted = quarry_objects_kind(h, quarry_class_of(&h->sizes, bytes));
    for (uint64_t i = share->thread; i < h->pages.count; i += share->threads) {
        uint32_t kind = quarry_blocks_kind_of(&h->blocks, (uint32_t)i);
        if (share->idle)
            sum->faults += quarry_blocks_faults(&h->blocks, (uint32_t)i);
        if (kind == 0) {
            sum->free_bytes += h->sizes.chunk_bytes;
            sum->largest_free = h->sizes.chunk_bytes;
            sum->slots += quarry_blocks_capacity(wanted);
            continue;
        }
        uint32_t spare = simt_popc_u64(quarry_blocks_free_slots(&h->blocks, (uint32_t)i, kind));
        uint32_t live = quarry_blocks_capacity(kind) - spare;
        uint64_t size = quarry_objects_typed_bytes(kind);
        int serves = size == 0; /* mallocs, which get no slots of objects */
        size = size ? size : quarry_class_bytes(&h->sizes, quarry_blocks_type(kind));
        sum->live_blocks += live;
        sum->live_bytes += live * size;
        sum->free_bytes += spare * size;
        if (spare && serves && sum->largest_free < size)
            sum->largest_free = size;
        sum->slots += kind == wanted ? spare : 0;
    }
    if (share->idle)
        sum->faults += quarry_objects_faults(h, share);
}

#define quarry_objects_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_objects_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
/* Bytes behind each page, in front of the next one. */
SIMT_HOST_FN uint64_t quarry_objects_header(const struct quarry_objects *h)
{
    return QUARRY_BLOCKS_HEADERS ? quarry_round_up(QUARRY_BLOCKS_HEADER, h->unit) : 0;
}

SIMT_HOST_FN void quarry_objects_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_objects *h = (struct quarry_objects *)heap;
    struct quarry_blocks *b = &h->blocks;
    uint32_t least = h->unit;
    uint64_t page_bytes = l->page_bytes - quarry_objects_header(h);
    while (page_bytes / least > QUARRY_BLOCKS_SLOTS)
        least *= 2;
    h->sizes = quarry_classes_make((uint32_t)page_bytes, least);
    b->types = h->sizes.whole + 1u + l->types;
    h->schema = l->schema;
    b->shape = quarry_hierarchy_make((uint32_t)l->pages);
    b->parts = quarry_layout_parts(l->pages, QUARRY_OBJECTS_PART, QUARRY_OBJECTS_PART);
    h->self =
        (struct quarry_objects *)quarry_layout_section(l, "self", sizeof *h->self, QUARRY_SECTION_ALIGN);
    b->sweep =
        (struct quarry_sweep *)quarry_layout_section(l, "sweep", sizeof *b->sweep, QUARRY_SECTION_ALIGN);
    b->flights = (uint64_t *)quarry_layout_section(l, "flights", QUARRY_FLIGHTS * sizeof *b->flights,
                                                   QUARRY_SECTION_ALIGN);
#if !QUARRY_BLOCKS_HEADERS /* else they lie behind the pages */
    b->slots =
        (uint64_t *)quarry_layout_section(l, "slots", l->pages * sizeof *b->slots, QUARRY_SECTION_ALIGN);
    b->kind = (uint32_t *)quarry_layout_section(l, "kinds", l->pages * sizeof *b->kind, QUARRY_SECTION_ALIGN);
#endif
    b->maps = (uint64_t *)quarry_layout_section(
        l, "maps", (uint64_t)b->shape.words * QUARRY_BLOCKS_MAPS(b->types) * sizeof *b->maps,
        QUARRY_SECTION_ALIGN);
    h->typed = SIMT_NULL;
    h->fields = SIMT_NULL;
    if (l->fields)
        h->fields = (const struct quarry_objects_fields *)quarry_layout_section(
            l, "fields", sizeof *h->fields + l->fields * sizeof *h->fields->fields, QUARRY_SECTION_ALIGN);
    if (l->types)
        h->typed = (struct quarry_objects_typed *)quarry_layout_section(
            l, "typed", sizeof *h->typed + l->pages * (sizeof(uint64_t) + sizeof(uint32_t)),
            QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
#if QUARRY_BLOCKS_HEADERS
    b->stride = (uint32_t)l->page_bytes;
    b->slots = (uint64_t *)(void *)(h->pages.base + page_bytes);
    b->kind = (uint32_t *)(void *)(b->slots + 1);
#endif
}

SIMT_HOST_FN enum quarry_layout_result quarry_objects_layout(struct quarry_objects *h,
                                                             struct quarry_layout *l)
{
    enum quarry_layout_result result =
        quarry_layout_unit(l, QUARRY_OBJECTS_PAGE_BYTES, QUARRY_OBJECTS_DEBUG_UNIT, &h->unit);
    uint64_t header = quarry_objects_header(h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->page_bytes += header;
    result = quarry_layout_fit_units(l, quarry_objects_sections, h, QUARRY_BLOCKS_MOST, h->unit);
    l->page_bytes -= header;
    l->max_block -= header;
    return result;
}
#endif

#endif
