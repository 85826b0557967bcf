/* SPDX-License-Identifier: Apache-2.0 */
/* Typed objects in a heap: kernels create and delete them, and one call runs a function for all of a type.
 * The types, their fields and accessors: quarry/schema.h.  A page to read: docs/guide/objects.md.
 *
 *     struct move { struct quarry_handle heap; float dt; };
 *     QUARRY_DO_ALL(move_all, body, struct move, a, self)     // bodies, and what derives from them
 *     {
 *         *body_pos(self) += *body_vel(self) * a->dt;
 *         if (*body_pos(self) > 1.0f)
 *             quarry_object_delete(a->heap, self);
 *     }
 *
 *     options.schema = &world_schema;
 *     quarry_heap_create(&heap, &options);
 *     quarry_object_do(heap, &move_all, &arguments);
 *
 * The algorithm is core/blocks.h: a page is a block of the schema, and a slot an object.  malloc works on the same
 * heap, for blocks of up to a page: a page has objects of one type, or blocks of one size. */
#ifndef QUARRY_OBJECT_H
#define QUARRY_OBJECT_H

#include "quarry/alloc/objects.h"
#include "quarry/device.h"
#include "quarry/schema.h"
#if SIMT_HAS_HOST
#include "quarry/quarry.h"
#endif

SIMT_STATIC_ASSERT(QUARRY_OBJECTS_TYPES == QUARRY_SCHEMA_TYPES &&
                       QUARRY_BLOCKS_SLOTS == QUARRY_SCHEMA_SLOTS &&
                       QUARRY_OBJECT_MOST_BYTES >> (32u - QUARRY_BLOCKS_KIND_BITS) == 0,
                   "a heap holds any schema");

/* ---- in kernels: one object ---- */

/* Has the heap a schema? */
SIMT_FN int quarry_objects_are_in(const struct quarry_handle *heap)
{
    return heap->allocator == QUARRY_NUMBER_objects && heap->as.objects.typed != SIMT_NULL;
}

/* Debug mode: fills all fields of an object with a byte. */
#define QUARRY_OBJECT_FRESH 0xaau
#define QUARRY_OBJECT_POISON 0x55u
SIMT_NOINLINE_FN void quarry_object_fill(const struct quarry_objects_fields *table, quarry_object o,
                                         uint32_t byte)
{
    uint32_t number = quarry_object_type(o), capacity = quarry_object_capacity(o);
    for (uint32_t i = table->begin[number]; i < table->begin[number + 1u]; i++) {
        const struct quarry_objects_field *f = &table->fields[i];
        unsigned char *first = quarry_object_block(o) + (uint64_t)capacity * f->offset +
                               (uint64_t)quarry_object_slot(o) * f->bytes;
        for (uint32_t e = 0; e < f->elements; e++)
            for (uint32_t b = 0; b < f->bytes; b++)
                first[(uint64_t)e * capacity * f->bytes + b] = (unsigned char)byte;
    }
}

/* Checked build: marks an object's slot, for quarry_object_look. */
SIMT_FN void quarry_object_mark(const struct quarry_objects *h, quarry_object o, uint32_t mark)
{
#ifdef QUARRY_CHECK
    quarry_object_block(o)[h->sizes.chunk_bytes - QUARRY_SCHEMA_MARKS + quarry_object_slot(o)] =
        (unsigned char)mark;
#else
    (void)h, (void)o, (void)mark;
#endif
}

/* Creates an object; its fields have any value: in debug mode all bytes are 0xaa, and 0x55 after the delete.
 *   heap   of the type's schema
 *   type   by its name, as the schema has it; not an abstract one, which the compiler refuses
 * Returns none if the heap is full, as NULL of allocator objects (alloc/objects.h), which counts as a failed malloc;
 * or if the heap has another schema or none, which counts as nothing.
 * Scope: a lane.  Lanes that come together get neighbours.  Threads: at the same time as any other call here, and
 * malloc and free.  Progress: waits only before it says that the heap is full. */
#define quarry_object_new(heap, type) quarry_object_create(heap, quarry_concrete_type_of_##type())

/* The object of a slot that the caller has taken. */
SIMT_FN quarry_object quarry_object_begin(const struct quarry_objects *h, struct quarry_type type,
                                          uint32_t block, uint32_t slot)
{
    unsigned char *page = (unsigned char *)quarry_page_address(&h->pages, block);
    simt_note_plain(page, h->sizes.chunk_bytes); /* which has had blocks of malloc, maybe */
    quarry_object o = quarry_object_name(type.number, type.capacity, page, slot);
    if (h->fields)
        quarry_object_fill(h->fields, o, QUARRY_OBJECT_FRESH);
    quarry_object_mark(h, o, type.number + 1u);
    return o;
}

SIMT_FN quarry_object quarry_object_create(struct quarry_handle heap, struct quarry_type type)
{
    const struct quarry_objects *h = &heap.as.objects;
    if (!quarry_objects_are_in(&heap) || h->schema != type.schema)
        return quarry_object_null();
    uint32_t kind = quarry_objects_typed_kind(h, type.number, type.capacity, type.bytes);
    uint32_t group = quarry_group(quarry_blocks_active(&h->blocks, kind), QUARRY_SITE_OBJECT_NEW);
    uint32_t slot = quarry_blocks_new(&h->blocks, group, kind);
    if (slot == QUARRY_NO_PAGE) {
        quarry_null_count(&heap.counters->failed, &heap.counters->last_bytes, type.bytes);
        return quarry_object_null();
    }
    return quarry_object_begin(h, type, slot / QUARRY_BLOCKS_SLOTS, slot % QUARRY_BLOCKS_SLOTS);
}

/* Creates n objects of one type, in few blocks: an atomic for each block, and two that announce it.
 *   objects   receives them; room for n
 * Returns how many: less than n if the heap has no room for one more, as quarry_object_new, which counts as one failed
 * malloc.  Scope: a lane, whatever the others do.  Else as quarry_object_new. */
#define quarry_object_new_many(heap, type, n, objects)                                                       \
    quarry_object_create_many(heap, quarry_concrete_type_of_##type(), n, objects)

SIMT_FN uint32_t quarry_object_create_many(struct quarry_handle heap, struct quarry_type type, uint32_t n,
                                           quarry_object *objects)
{
    const struct quarry_objects *h = &heap.as.objects;
    uint32_t made = 0, seen = QUARRY_NO_BLOCK, self = 1u << simt_lane();
    if (!quarry_objects_are_in(&heap) || h->schema != type.schema)
        return 0;
    uint32_t kind = quarry_objects_typed_kind(h, type.number, type.capacity, type.bytes);
    struct quarry_random r = quarry_random_start();
    while (made < n) {
        struct quarry_blocks_lot lot =
            quarry_blocks_take(&h->blocks, kind, n - made, quarry_random_next(&r), seen);
        seen = QUARRY_NO_BLOCK;
        for (; lot.slots != 0; lot.slots &= lot.slots - 1u)
            objects[made++] = quarry_object_begin(h, type, lot.block, simt_ctz_u64(lot.slots));
        if (lot.block == QUARRY_NO_BLOCK)
            seen = quarry_blocks_search(&h->blocks, self, kind);
        if (lot.block == QUARRY_NO_BLOCK && seen == QUARRY_NO_BLOCK) {
            quarry_null_count(&heap.counters->failed, &heap.counters->last_bytes, type.bytes);
            break;
        }
    }
    return made;
}

/* Notes deletes that are mistakes. */
SIMT_NOINLINE_FN void quarry_object_note(struct quarry_objects_wrong *wrong, uint64_t times, uint64_t bits)
{
    (void)simt_add_u64(&wrong->count, times, relaxed);
    (void)simt_cas_u64(&wrong->first, 0, bits, relaxed);
}

/* What counts a delete of the object as a mistake; NULL if its block has objects of its type.
 *   w   set to where it is, unless it is foreign */
SIMT_FN struct quarry_objects_wrong *quarry_object_wrong(const struct quarry_objects *h, quarry_object o,
                                                         struct quarry_objects_where *w)
{
    w->page = quarry_page_index(&h->pages, quarry_object_block(o));
    w->slot = quarry_object_slot(o);
    if (w->page == QUARRY_NO_PAGE || quarry_page_address(&h->pages, w->page) != quarry_object_block(o) ||
        w->slot >= quarry_object_capacity(o))
        return &h->typed->wrong[QUARRY_OBJECTS_FOREIGN];
    w->slots = simt_load_u64(quarry_blocks_slots(&h->blocks, w->page), relaxed);
    w->kind = quarry_blocks_kind_of(&h->blocks, w->page);
    if (w->kind == 0)
        return &h->typed->wrong[QUARRY_OBJECTS_TWICE];
    if (!quarry_objects_typed_bytes(w->kind) ||
        quarry_objects_typed_number(h, w->kind) != quarry_object_type(o) ||
        quarry_blocks_capacity(w->kind) != quarry_object_capacity(o))
        return &h->typed->wrong[QUARRY_OBJECTS_MISTYPED];
    return SIMT_NULL; /* that its slot is free already the delete's OR tells, which then changes nothing */
}

/* Deletes an object.
 *   o   live, of this heap, created by any thread of any kernel, and its creation happens-before this call; none is a
 *       no-op.  Anything else is a mistake: it is recorded, as far as it is seen, for quarry_heap_check, and leads to
 *       no write outside of the heap; at worst another object is deleted
 * Scope, threads: as quarry_object_new.  Waits for nobody but lanes of its warp.
 * Order: what was done to the object before happens-before what is done to the next one there. */
SIMT_FN void quarry_object_delete(struct quarry_handle heap, quarry_object o)
{
    const struct quarry_objects *h = &heap.as.objects;
    struct quarry_objects_where w = {0, 0, 0, 0};
    if (!quarry_objects_are_in(&heap) || quarry_object_is_null(o))
        return;
    struct quarry_objects_wrong *wrong = quarry_object_wrong(h, o, &w);
    if (!wrong && h->fields && quarry_objects_is_free(&w))
        wrong = &h->typed->wrong[QUARRY_OBJECTS_TWICE]; /* of that slot nothing may be filled */
    if (wrong) {
        quarry_object_note(wrong, 1, o.bits);
        return;
    }
    if (h->fields)
        quarry_object_fill(h->fields, o, QUARRY_OBJECT_POISON);
    quarry_object_mark(h, o, 0);
    uint32_t all = quarry_group(h->blocks.slots, QUARRY_SITE_OBJECT_DELETE);
    struct quarry_objects_gift gift = quarry_objects_give(h, all, &w);
    wrong = &h->typed->wrong[QUARRY_OBJECTS_TWICE];
    int repeats = simt_popc_u32(gift.group) != simt_popc_u64(gift.slots); /* the first lane knows */
    if (simt_shuffle_u32(all, (uint32_t)repeats, simt_ctz_u32(gift.group))) {
        /* some lanes have the same object: all but the first err */
        if (simt_rank(simt_match_u32(gift.group, w.slot)) != 0)
            quarry_object_note(wrong, 1, o.bits);
    }
    if (gift.twice != 0) /* slots that were free, maybe of other lanes */
        quarry_object_note(wrong, simt_popc_u64(gift.twice), o.bits - w.slot + simt_ctz_u64(gift.twice));
}

/* ---- in kernels: all objects, one after the other ---- */

/* Where a walk over all objects of a type is.  It begins as quarry_object_walk_start(). */
struct quarry_object_walk {
    uint64_t live;       /* of the block where it is, those to come */
    quarry_object first; /* names that block's slot 0 */
    uint32_t number;     /* of the type */
    uint32_t block;      /* the next one to look at */
};

SIMT_FN struct quarry_object_walk quarry_object_walk_start(void)
{
    struct quarry_object_walk w = {0, {0}, 0, 0};
    return w;
}

/* Goes on to the next block with objects.  Returns 0 if there is none.
 *   from   the first slot of w->block to look at */
SIMT_FN int quarry_object_walk_on(const struct quarry_objects *h, struct quarry_type type,
                                  struct quarry_object_walk *w, uint32_t from)
{
    const struct quarry_blocks *b = &h->blocks;
    for (; w->number < b->types - (h->sizes.whole + 1u); w->number++, w->block = 0, from = 0) {
        if (!(type.derived >> w->number & 1u))
            continue;
        uint32_t map = quarry_objects_typed_kind(h, w->number, 1, 0);
        for (;; from = 0) {
            if (from == 0)
                w->block = quarry_hierarchy_next(&b->shape, quarry_blocks_allocated(b, map), w->block);
            if (w->block >= b->shape.count)
                break;
            uint32_t block = w->block++, kind = quarry_blocks_kind_of(b, block);
            if (kind == 0 || quarry_blocks_type(kind) != quarry_blocks_type(map) ||
                from >= QUARRY_BLOCKS_SLOTS)
                continue;
            w->live = quarry_blocks_all(kind) & ~quarry_blocks_free_slots(b, block, kind);
            w->live &= ~(uint64_t)0 << from;
            w->first = quarry_object_name(w->number, quarry_blocks_capacity(kind),
                                          quarry_page_address(&h->pages, block), 0);
            if (w->live != 0)
                return 1;
        }
    }
    return 0;
}

/* The next object of a walk, in an order of the heap's own, of a type or of one that derives from it.
 *   type   by its name; the same in all calls about the walk
 *   walk   of the calling lane
 * Returns none behind the last.  Looks at the heap once for all objects of a block.  So: exact while nobody creates or
 * deletes objects of these types; else it may miss some, or give one that is deleted. */
#define quarry_object_step(heap, type, walk) quarry_object_stepped(heap, quarry_type_of_##type(), walk)

SIMT_FN quarry_object quarry_object_stepped(struct quarry_handle heap, struct quarry_type type,
                                            struct quarry_object_walk *walk)
{
    const struct quarry_objects *h = &heap.as.objects;
    quarry_object o = quarry_object_null();
    if (walk->live == 0 && (!quarry_objects_are_in(&heap) || h->schema != type.schema ||
                            !quarry_object_walk_on(h, type, walk, 0)))
        return o;
    o.bits = walk->first.bits | simt_ctz_u64(walk->live);
    walk->live &= walk->live - 1u;
    return o;
}

/* The object behind `o`, in the same order.
 *   type   by its name
 *   o      none: gives the first one.  Else an object of the type that this call gave; it may be deleted by now
 * Returns none behind the last.  As exact as quarry_object_step, which is faster; it looks at the heap each time. */
#define quarry_object_next(heap, type, o) quarry_object_after(heap, quarry_type_of_##type(), o)

SIMT_FN quarry_object quarry_object_after(struct quarry_handle heap, struct quarry_type type, quarry_object o)
{
    const struct quarry_objects *h = &heap.as.objects;
    struct quarry_object_walk w = quarry_object_walk_start();
    uint32_t from = 0;
    if (!quarry_objects_are_in(&heap) || h->schema != type.schema)
        return quarry_object_null();
    if (!quarry_object_is_null(o)) {
        w.number = quarry_object_type(o);
        w.block = quarry_page_index(&h->pages, quarry_object_block(o));
        from = quarry_object_slot(o) + 1u;
    }
    if (!quarry_object_walk_on(h, type, &w, from))
        return quarry_object_null();
    o.bits = w.first.bits | simt_ctz_u64(w.live);
    return o;
}

/* ---- in kernels: all objects at once ---- */

/* What a do-all's kernel gets, in front of its arguments: the objects of one type in a snapshot. */
struct quarry_do_work {
    const struct quarry_objects_listed *of;
    const uint32_t *list; /* pages of the snapshot, type by type */
    const uint64_t *live; /* of each of them */
    unsigned char *pages;
    uint32_t page_bytes;
    uint32_t type;
    uint32_t capacity;
    uint32_t count; /* of the heap's pages: the list has room for them */
};

/* What the kernel's record has as its note. */
struct quarry_do_note {
    const char *type;
    uint32_t schema; /* as struct quarry_type has it */
    uint32_t at;     /* where its arguments lie */
    uint32_t bytes;
};

/* Where a thread of a do-all is.  There is a turn for each slot: turn t is slot t % N of the type's page t / N.  Thread
 * t of T has turns t, t + T, and so on.  It walks over them by adding: a division would take longer than a small
 * method. */
struct quarry_do_walk {
    uint32_t at; /* of its turn, in the list */
    uint32_t slot;
    uint32_t end; /* of the type's pages in the list */
    uint32_t at_step, slot_step;
    uint32_t page; /* of its turn: what the list has there */
    uint64_t live;
};

/* Reads what the list has of the thread's turn; it may be none of the type.  So the first one's number is not waited
 * for together with how many there are. */
SIMT_FN void quarry_do_look(const struct quarry_do_work *work, struct quarry_do_walk *w)
{
    if (w->at < work->count) {
        w->page = work->list[w->at];
        w->live = work->live[w->at];
    }
}

SIMT_FN struct quarry_do_walk quarry_do_start(const struct quarry_do_work *work)
{
    struct quarry_do_walk w = {0, 0, 0, 0, 0, 0, 0};
    w.at = quarry_objects_typed_first(work->of, work->type);
    w.end = w.at + work->of->pages[work->type];
    if (w.end > work->count) /* who created objects meanwhile has made more pages than there are */
        w.end = work->count;
    w.at += simt_thread() / work->capacity;
    w.slot = simt_thread() % work->capacity;
    w.at_step = simt_threads() / work->capacity;
    w.slot_step = simt_threads() % work->capacity;
    quarry_do_look(work, &w);
    return w;
}

/* The object of the thread's turn; none if that slot was free in the snapshot, or if the thread has no turn any more.
 * Goes on to the next turn, and reads what the list has of that: it comes while the method waits for the object's
 * fields.  Else a thread would wait twice for each object. */
SIMT_FN quarry_object quarry_do_next(const struct quarry_do_work *work, struct quarry_do_walk *w)
{
    quarry_object self = quarry_object_null();
    if (w->at < w->end && (w->live >> w->slot & 1u))
        self = quarry_object_name(work->type, work->capacity,
                                  work->pages + (uint64_t)w->page * work->page_bytes, w->slot);
    w->at += w->at_step;
    w->slot += w->slot_step;
    if (w->slot >= work->capacity) {
        w->slot -= work->capacity;
        w->at++;
    }
    quarry_do_look(work, w);
    return self;
}

/* A do-all is launched in blocks of so many threads, and mostly waits: for fields, for what it creates and deletes.  So
 * on a GPU it gets so few registers that 5 blocks run at once on a multiprocessor, 48 a thread; gol is 4 % faster so
 * than with 64 (docs/reference/alloc/objects.md).  A source whose functions compute much, and whose values do not fit,
 * defines QUARRY_DO_RESIDENT before it includes this: 1 to 6. */
#define QUARRY_DO_THREADS 256
#ifndef QUARRY_DO_RESIDENT
#define QUARRY_DO_RESIDENT 5
#endif

/* Defines a function that quarry_object_do runs once for each object, which one thread visits.
 *   name             of the do-all, which is a kernel, but not for quarry_launch; other files declare it by
 *                    SIMT_KERNEL_DECLARE(name)
 *   type             the objects are of this type, or of one that derives from it
 *   argument_type    a struct
 *   argument, self   names for a pointer to a const one, and for the object
 * The body may create any objects, which are not visited; delete `self`; and delete, once, objects of types that are
 * not visited.  It may not delete other objects of these types, nor read what another thread may delete meanwhile.
 * It may not use collectives of all lanes: some lanes may have no object.
 * A warp's threads wait for each other before they begin their next objects: else those that have little to do run
 * ahead, and what the others create and delete together comes one by one. */
#define QUARRY_DO_ALL(name, type, argument_type, argument, self)                                             \
    struct name##_call {                                                                                     \
        struct quarry_do_work work;                                                                          \
        argument_type arguments;                                                                             \
    };                                                                                                       \
    SIMT_FN void name##_method(const argument_type *argument, quarry_object self);                           \
    QUARRY_SCHEMA_UNUSED static const struct quarry_do_note name##_note = {                                  \
        #type, (uint32_t)quarry_schema_code, (uint32_t) __builtin_offsetof(struct name##_call, arguments),   \
        (uint32_t)sizeof(argument_type)};                                                                    \
    SIMT_KERNEL_NOTED_RESIDENT(&name##_note, name, struct name##_call, call, QUARRY_DO_THREADS,              \
                               QUARRY_DO_RESIDENT)                                                           \
    {                                                                                                        \
        simt_begin_early();                                                                                  \
        struct quarry_do_walk walk = quarry_do_start(&call.work);                                            \
        while (simt_any(SIMT_ALL_LANES, walk.at < walk.end)) {                                               \
            quarry_object self = quarry_do_next(&call.work, &walk);                                          \
            if (!quarry_object_is_null(self))                                                                \
                name##_method(&call.arguments, self);                                                        \
        }                                                                                                    \
    }                                                                                                        \
    SIMT_FN void name##_method(const argument_type *argument, quarry_object self)

/* ---- on the host ---- */
/* Threads: calls on one heap one after the other, as for all functions of quarry/quarry.h. */

#if SIMT_HAS_HOST
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Runs a do-all for all objects of its type, and of types that derive from it: one snapshot of them all, then a launch
 * for each type, in the order of the schema.  Queued in the target's stream; on the CPU it has run when this returns.
 * While the snapshot is taken no kernel of another stream uses the heap.  If the stream is being captured for a CUDA
 * graph, the graph does all of it each time that it runs, with the objects of that time; no other do-all of the heap
 * runs meanwhile.
 *   method     of QUARRY_DO_ALL
 *   argument   of its argument's type; copied before this returns
 * COMBINATION if the heap has no schema, or another one than the do-all's source.  Else as quarry_launch. */
enum quarry_status quarry_object_do(quarry_heap *heap, const struct simt_kernel *method,
                                    const void *argument);

/* The same; ARGUMENT also if the argument has another size than that of the do-all.
 *   bytes   of the argument; 0: not compared */
enum quarry_status quarry_objects_do(quarry_heap *heap, const struct simt_kernel *method,
                                     const void *argument, size_t bytes);

/* A snapshot of all objects of a type, and of those that derive from it, for several do-alls: each sees the objects
 * that were there when it was taken.  Between it and its last do-all none of them is deleted; others may be created.
 * The heap stays until then, and is not reset. */
typedef struct quarry_snapshot quarry_snapshot;

/* Takes one, in the order of the target's stream, while no kernel of another stream uses the heap.  It has 12 bytes for
 * each page of the heap.
 *   type   its name
 *   out    receives it; NULL after an error
 * COMBINATION as above.  MEMORY if there is too little. */
#define quarry_object_snapshot(heap, type, out) quarry_objects_snapshot(heap, #type, out)
enum quarry_status quarry_objects_snapshot(quarry_heap *heap, const char *type, quarry_snapshot **out);

/* Runs a do-all as quarry_object_do, for the objects of a snapshot.
 *   method   about a type of the snapshot, or about one that derives from it
 * COMBINATION also if it is about other types, or if the heap was reset since. */
enum quarry_status quarry_snapshot_do(const quarry_snapshot *snapshot, const struct simt_kernel *method,
                                      const void *argument);

/* Gives its memory back, also after the heap is destroyed.  NULL is a no-op.  Waits for the target's stream. */
enum quarry_status quarry_snapshot_destroy(quarry_snapshot *snapshot);

/* Counts the live objects of a type, and of those that derive from it, in an idle heap.
 *   type   its name
 * COMBINATION as above.  Waits for the target's stream. */
#define quarry_object_count(heap, type, count) quarry_objects_count(heap, #type, count)
enum quarry_status quarry_objects_count(quarry_heap *heap, const char *type, uint64_t *count);

/* Counts the slots of all blocks in which such objects lie: live objects / slots is how well the blocks are filled.
 * Else as quarry_object_count. */
#define quarry_object_slots(heap, type, slots) quarry_objects_slots(heap, #type, slots)
enum quarry_status quarry_objects_slots(quarry_heap *heap, const char *type, uint64_t *slots);

/* Copies a field of all live objects of a type, and of those that derive from it, out of an idle heap, in the order of
 * quarry_object_next.
 *   type, field   names.  The type is the field's, or derives from it
 *   values        receives them, one object behind the other, with all elements of the field
 *   room          so many at most; the others are only counted
 *   bytes         of a value
 *   count         receives how many objects there are
 * ARGUMENT if there is no such field, or its values have another size.  COMBINATION as above.  MEMORY if the host has
 * too little.  Waits for the target's stream. */
#define quarry_object_read(heap, type, field, values, room, count)                                           \
    quarry_objects_read(heap, #type, #field, values, room, sizeof *(values), count)
enum quarry_status quarry_objects_read(quarry_heap *heap, const char *type, const char *field, void *values,
                                       uint64_t room, size_t bytes, uint64_t *count);

/* Writes a field of all live objects of a type, and of those that derive from it, in an idle heap: the i-th object in
 * the order of quarry_object_next gets the i-th value.  So what quarry_object_read gave can be written back, and
 * several fields of one object have the same place in their arrays, while nobody creates or deletes such objects.
 *   values   with all elements of the field
 *   count    of values
 *   bytes    of a value
 * ARGUMENT as quarry_object_read, or if there are more or fewer objects than values: then nothing is written.
 * COMBINATION and MEMORY as above.  Waits for the target's stream, for each block once or twice. */
#define quarry_object_write(heap, type, field, values, count)                                                \
    quarry_objects_write(heap, #type, #field, values, count, sizeof *(values))
enum quarry_status quarry_objects_write(quarry_heap *heap, const char *type, const char *field,
                                        const void *values, uint64_t count, size_t bytes);

/* Creates many objects of a type.  All bytes of their fields are 0, also in debug mode.
 *   type      its name; not an abstract one
 *   count     how many
 *   objects   receives their names, in the order of quarry_object_next: so if these are the only objects of the type,
 *             the i-th gets the i-th value of quarry_object_write.  Or NULL
 * POOL if the heap has no room for all: then none is there, but mallocs that failed are counted.  ARGUMENT if the type
 * is abstract.  COMBINATION as above.  MEMORY if the target has no 8 bytes for each of them meanwhile.  Waits for the
 * target's stream.  Kernels of other streams may use the heap, and for a moment find it fuller. */
#define quarry_object_add(heap, type, count, objects) quarry_objects_add(heap, #type, count, objects)
enum quarry_status quarry_objects_add(quarry_heap *heap, const char *type, uint64_t count,
                                      quarry_object *objects);

/* Describes the live objects of a type, and of those that derive from it, in an idle heap: a line of text each, in the
 * order of quarry_object_next.  A line is the object's type, its block and slot, and all its fields:
 *     star 0x7f20c0/3 pos=0.5 vel=1 mass=2 twin=body 0x7f2000/0 age=7
 * Fields of numbers and of objects are told; of other types their bytes in hexadecimal.
 *   line   gets the text, which is there during the call, and `user`.  Returns 0 to go on, anything else to end.  May
 *          call nothing on the heap
 *   user   may be NULL
 * COMBINATION and MEMORY as above.  Waits for the target's stream. */
#define quarry_object_dump(heap, type, line, user) quarry_objects_dump(heap, #type, line, user)
enum quarry_status quarry_objects_dump(quarry_heap *heap, const char *type,
                                       int (*line)(const char *text, void *user), void *user);
#define QUARRY_OBJECT_TEXT_BYTES 4096u /* of a line, at most: what is longer is cut */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif

#endif
