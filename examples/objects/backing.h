/* SPDX-License-Identifier: Apache-2.0 */
/* Where an application has its objects: its backing.  An application has one source for three of them, and its kernels
 * are compiled once for each, with BACKING defined as
 *
 *   objects   a heap of typed objects (quarry/object.h): blocks, each with arrays of 64 objects' fields
 *   aos       array of structs: a struct for each object, which an allocator gives
 *   soa       structure of arrays: for each field of each type one array, with an element for each object that there
 *             can be
 *
 * Accessors, quarry_object_is and so on are those of quarry/schema.h in all of them.  What differs has own names:
 *
 *   KERNEL(name, argument_type, a)                  SIMT_KERNEL
 *   DO_ALL(name, type, argument_type, a, self)      QUARRY_DO_ALL
 *   new_object(a->backing, type)                    quarry_object_new
 *   delete_object(a->backing, o)                    quarry_object_delete
 *   EACH_OBJECT(a->backing, type, o) { ... }        a loop over all objects, by quarry_object_step
 *
 * The argument of a kernel has a member `backing`.  The host names the three views of a kernel together: VIEWS(name).
 *
 * aos and soa have a table for each type, whose places are its objects: so a do-all finds them.  In aos a place has
 * the address of a struct, and the number of the place is behind the struct's fields; in soa it is an element of the
 * arrays.  An object's name (quarry_object) has its type in front, as always, and then
 *
 *   aos   | address, 56 bits |
 *   soa   | log2 of the places, 8 bits | address of the arrays, and place, 48 bits | (one has 0s for the other)
 *
 * Places that are given back are taken again in later launches only.  So a do-all does not visit what it creates. */
#ifndef BACKING_H
#define BACKING_H

#include "quarry/object.h"

/* Of a type's objects, in aos and soa. */
struct table {
    uint32_t *born;       /* of each place: the turn in which its object came; 0: there is none */
    unsigned char **at;   /* aos: of each place */
    unsigned char *first; /* soa: the arrays, one behind the other; a multiple of `most` */
    uint32_t *ring;       /* places that were given back, `most` at most */
    uint32_t most;        /* places, a power of two */
    uint32_t bytes;       /* aos: of a struct, without its place */
    uint64_t taken;       /* so many were taken out of the ring, or are new if it had not so many */
    uint64_t given;       /* so many were put into it */
    uint64_t ready;       /* given in earlier turns */
    uint32_t used;        /* places that were ever taken in earlier turns */
    uint64_t failed;      /* there was no place */
};

struct tables {
    uint32_t turn; /* of launches, from 1 on */
    struct table of[QUARRY_SCHEMA_TYPES];
};

/* What kernels know of it. */
struct backing {
    struct quarry_handle heap; /* of objects and aos */
    struct tables *tables;     /* of aos and soa */
};

#define NO_PLACE 0xffffffffu

#ifdef BACKING
#define BACKING_objects 0
#define BACKING_aos 1
#define BACKING_soa 2
#define BACKING_PASTE_(a, b) a##b
#define BACKING_PASTE(a, b) BACKING_PASTE_(a, b)
#define BACKING_NUMBER BACKING_PASTE(BACKING_, BACKING)

#define KERNEL(name, argument_type, a) KERNEL_(name, BACKING, argument_type, a)
#define KERNEL_(name, backing, argument_type, a) KERNEL__(name, backing, argument_type, a)
#define KERNEL__(name, backing, argument_type, a) SIMT_KERNEL(name##_##backing, argument_type, a)

#if BACKING_NUMBER == 0
#define DO_ALL(name, type, argument_type, a, self) DO_ALL_(name, BACKING, type, argument_type, a, self)
#define DO_ALL_(name, backing, type, argument_type, a, self)                                                 \
    DO_ALL__(name, backing, type, argument_type, a, self)
#define DO_ALL__(name, backing, type, argument_type, a, self)                                                \
    QUARRY_DO_ALL(name##_##backing, type, argument_type, a, self)
#define new_object(backing, type) quarry_object_new((backing).heap, type)
#define delete_object(backing, o) quarry_object_delete((backing).heap, o)
#define EACH_OBJECT(backing, type, o)                                                                        \
    for (struct quarry_object_walk o##_walk = quarry_object_walk_start(); o##_walk.number != NO_PLACE;       \
         o##_walk.number = NO_PLACE)                                                                         \
        for (quarry_object o;                                                                                \
             !quarry_object_is_null(o = quarry_object_step((backing).heap, type, &o##_walk));)

#else
/* The object of a place. */
SIMT_FN quarry_object table_object(const struct table *t, uint32_t type, uint32_t place)
{
    quarry_object o;
    o.bits = (uint64_t)type << 56;
#if BACKING_NUMBER == 1
    o.bits |= (uint64_t)(uintptr_t)t->at[place];
#else
    o.bits |= (uint64_t)simt_ctz_u32(t->most) << QUARRY_OBJECT_ADDRESS_BITS;
    o.bits |= (uint64_t)(uintptr_t)t->first | place;
#endif
    return o;
}

/* Where an object has an element of a field: the schema's accessors call it. */
SIMT_FN void *backing_field(quarry_object o, uint32_t offset, uint32_t size)
{
#if BACKING_NUMBER == 1
    (void)size;
    return (unsigned char *)(uintptr_t)(o.bits & (((uint64_t)1 << 56) - 1u)) + offset;
#else
    uint32_t bits = (uint32_t)(o.bits >> QUARRY_OBJECT_ADDRESS_BITS) & 0xffu;
    uint64_t address = o.bits & (((uint64_t)1 << QUARRY_OBJECT_ADDRESS_BITS) - 1u);
    uint64_t place = address & (((uint64_t)1 << bits) - 1u);
    return (unsigned char *)(uintptr_t)(address - place) + ((uint64_t)offset << bits) + place * size;
#endif
}
#define quarry_object_field(o, derived, offset, size) backing_field(o, offset, size)

/* A place for an object; NO_PLACE if all are taken.  Lanes that come together take them by one atomic. */
SIMT_FN uint32_t table_take(struct table *t)
{
    uint32_t group = simt_match_u64(simt_active(), (uint64_t)(uintptr_t)&t->taken);
    uint64_t turn = 0;
    if (simt_rank(group) == 0)
        turn = simt_add_u64(&t->taken, simt_popc_u32(group), relaxed);
    turn = simt_shuffle_u64(group, turn, simt_ctz_u32(group)) + simt_rank(group);
    if (turn < t->ready)
        return t->ring[turn & (t->most - 1u)];
    turn += t->used - t->ready;
    return turn < t->most ? (uint32_t)turn : NO_PLACE;
}

/* Gives it back. */
SIMT_FN void table_give(struct table *t, uint32_t place)
{
    uint32_t group = simt_match_u64(simt_active(), (uint64_t)(uintptr_t)&t->given);
    uint64_t turn = 0;
    if (simt_rank(group) == 0)
        turn = simt_add_u64(&t->given, simt_popc_u32(group), relaxed);
    turn = simt_shuffle_u64(group, turn, simt_ctz_u32(group)) + simt_rank(group);
    t->ring[turn & (t->most - 1u)] = place;
}

#if BACKING_NUMBER == 1 &&                                                                                   \
    defined(BACKING_UNLISTED) /* kernels that keep their objects' names, and have no do-alls */
SIMT_FN quarry_object backing_new(const struct backing *b, struct quarry_type type)
{
    quarry_object o = {(uint64_t)(uintptr_t)quarry_malloc(b->heap, type.bytes)};
    o.bits |= o.bits ? (uint64_t)type.number << 56 : 0;
    return o;
}

SIMT_FN void backing_delete(const struct backing *b, quarry_object o)
{
    quarry_free(b->heap, backing_field(o, 0, 0));
}
#else
SIMT_FN quarry_object backing_new(const struct backing *b, struct quarry_type type)
{
    struct table *t = &b->tables->of[type.number];
    uint32_t place = table_take(t);
    if (place == NO_PLACE)
        return quarry_object_null();
#if BACKING_NUMBER == 1
    unsigned char *block = (unsigned char *)quarry_malloc(b->heap, t->bytes + sizeof place);
    if (!block) {
        table_give(t, place);
        return quarry_object_null();
    }
    *(uint32_t *)(block + t->bytes) = place;
    t->at[place] = block;
#endif
    simt_store_u32(&t->born[place], b->tables->turn, relaxed);
    return table_object(t, type.number, place);
}

SIMT_FN void backing_delete(const struct backing *b, quarry_object o)
{
    struct table *t = &b->tables->of[quarry_object_type(o)];
    if (quarry_object_is_null(o))
        return;
#if BACKING_NUMBER == 1
    unsigned char *block = (unsigned char *)backing_field(o, 0, 0);
    uint32_t place = *(uint32_t *)(block + t->bytes);
    quarry_free(b->heap, block);
#else
    uint32_t place = (uint32_t)o.bits & (t->most - 1u);
#endif
    simt_store_u32(&t->born[place], 0, relaxed);
    table_give(t, place);
}
#endif
#define new_object(backing, type) backing_new(&(backing), quarry_concrete_type_of_##type())
#define delete_object(backing, o) backing_delete(&(backing), o)

/* The object of a place, if it was there when the turn began. */
SIMT_FN quarry_object table_old(const struct backing *b, uint32_t type, uint32_t place)
{
    const struct table *t = &b->tables->of[type];
    uint32_t born = simt_load_u32(&t->born[place], relaxed);
    return born == 0 || born == b->tables->turn ? quarry_object_null() : table_object(t, type, place);
}

#define DO_ALL(name, type, argument_type, a, self)                                                           \
    SIMT_FN void name##_method(const argument_type *argument, quarry_object self);                           \
    KERNEL(name, argument_type, argument)                                                                    \
    {                                                                                                        \
        const struct backing *b = &argument.backing;                                                         \
        for (uint64_t types = quarry_type_of_##type().derived; types != 0; types &= types - 1u) {            \
            uint32_t number = simt_ctz_u64(types), used = b->tables->of[number].used;                        \
            for (uint32_t place = simt_thread(); place < used; place += simt_threads()) {                    \
                quarry_object self = table_old(b, number, place);                                            \
                if (!quarry_object_is_null(self))                                                            \
                    name##_method(&argument, self);                                                          \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    SIMT_FN void name##_method(const argument_type *a, quarry_object self)

/* Of a type that no other derives from.  While none was ever deleted, a loop over the array looks at nothing else. */
SIMT_FN quarry_object table_each(const struct backing *b, uint32_t type, uint32_t place)
{
    const struct table *t = &b->tables->of[type];
    return t->given == 0 ? table_object(t, type, place) : table_old(b, type, place);
}
#define EACH_OBJECT(backing, type, o)                                                                        \
    for (uint32_t o##_place = 0; o##_place < (backing).tables->of[quarry_number_of_##type].used;             \
         o##_place++)                                                                                        \
        for (quarry_object o = table_each(&(backing), quarry_number_of_##type, o##_place);                   \
             !quarry_object_is_null(o); o = quarry_object_null())
#endif
#endif

/* ---- kernels of all tables ---- */

struct turn {
    struct tables *tables;
};
SIMT_KERNEL_DECLARE(backing_turn); /* a thread for each type: the next turn begins */

/* Copies an element of a field of each place's struct. */
struct gather {
    const uint32_t *born;
    unsigned char **at;
    uint32_t count;
    uint32_t offset;
    uint32_t bytes;
    unsigned char *values;
};
SIMT_KERNEL_DECLARE(backing_gather);

/* ---- on the host ---- */

#if SIMT_HAS_HOST
#include "apps.h"

/* The views of a kernel, one for each backing. */
#define VIEWS_DECLARE(name)                                                                                  \
    SIMT_KERNEL_DECLARE(name##_objects);                                                                     \
    SIMT_KERNEL_DECLARE(name##_aos);                                                                         \
    SIMT_KERNEL_DECLARE(name##_soa)
#define VIEWS(name)                                                                                          \
    (const struct simt_kernel *const[])                                                                      \
    {                                                                                                        \
        &name##_objects, &name##_aos, &name##_soa                                                            \
    }

/* The objects of an application. */
struct objects {
    const struct settings *settings;
    const struct quarry_schema *schema;
    struct backing backing;            /* for arguments of kernels */
    quarry_heap *heap;                 /* soa: NULL */
    quarry_snapshot *snapshot;         /* objects: of all, if none comes or goes */
    struct tables *tables;             /* the host's copy; objects: NULL */
    void *memory[QUARRY_SCHEMA_TYPES]; /* of each type's table */
};

/* None yet.  Ends the program with a sentence if there is no room for so many.
 *   most    of each type: so many objects can there be at a time, with those that the same launch deletes
 *   pages   of a heap of typed objects */
struct objects make_objects(const struct settings *settings, const struct quarry_schema *schema,
                            const uint64_t *most, uint64_t pages);
void free_objects(struct objects *o);

/* Runs a kernel, or a do-all.
 *   views      VIEWS(name)
 *   argument   whose `backing` is that of o */
void launch(struct objects *o, const struct simt_kernel *const *views, uint64_t threads,
            const void *argument);
void do_all(struct objects *o, const struct simt_kernel *const *views, const void *argument);

/* From now on no object comes or goes. */
void stay(struct objects *o, const char *type);

/* How many there are of a type that no other derives from. */
uint64_t count(struct objects *o, const char *type);

/* How many there are of all types. */
uint64_t living(struct objects *o);

/* Copies a field of all objects of such a type, of `most` at most.  Returns how many there are. */
uint64_t read_field(struct objects *o, const char *type, const char *field, void *values, uint64_t most);

/* Tells which share of the slots of blocks of these types is empty, after that step.  Of backing objects. */
void tell_fragmentation(struct objects *o, uint32_t step, const char *type);

/* Was there ever no room for one?  Says it, and whether the heap has a fault. */
int was_full(struct objects *o);
#endif

#endif
