/* SPDX-License-Identifier: Apache-2.0 */
/* Typed objects: their types, their layout, and what names one.  (M. Springer, H. Masuhara, "DynaSOAr: A Parallel
 * Memory Allocator for Object-oriented Programming on GPUs with Efficient Memory Access", ECOOP 2019: slides, written
 * from the text.)  What creates and deletes them: quarry/object.h.
 *
 *     #define BODY(FIELD, T) FIELD(T, float, pos) FIELD(T, float, vel) FIELD(T, float, mass)
 *     #define STAR(FIELD, T) FIELD(T, quarry_object, twin) FIELD(T, uint32_t, age)
 *     #define WORLD(TYPE) TYPE(body, object, BODY) TYPE(star, body, STAR)
 *     QUARRY_SCHEMA(world, WORLD)
 *
 *   FIELD(T, type, name)          a field.  FIELD(T, type, name, n): n elements
 *   TYPE(name, base, FIELDS)      a type.  It has the fields of its base, which stands before it; `object` has none.
 *                                 TYPE(name, base, FIELDS, abstract): no object has it, but others derive from it
 *   QUARRY_SCHEMA(name, TYPES)    up to 64 types, one schema in a source.  Defines name_schema for the host, and for
 *                                 every field type *T_field(self): where the object has it; for element i
 *                                 type *T_field_at(self, i)
 *
 * Layout.  Memory is divided into blocks of D bytes.  A block has objects of one type, at most 64, and each field of
 * all of them together:
 *
 *     block   | field 0 of slots 0 .. N-1 | field 1 of slots 0 .. N-1 | ...
 *
 * An object has s bytes: the fields that it inherits, and, from a multiple of 8 on, its own, one behind the other.  So
 * those that are aligned to more stand first, which is checked.  D is the least, over the types of objects, of 64 s.
 * A block of a type has N = min(64, D / s) slots.  Field f of slot i lies at N * offset_f + i * size_f; a field of n
 * elements is n fields.  As offset_f does not depend on the type of the object, a base's accessors serve all types that
 * derive from it, once N is known.
 *
 *     quarry_object   63     56 55    48 47               6 5      0
 *                    |  type   |    N   |  block / 64      |  slot  |      0: none
 *
 * All of it is known at compile time: QUARRY_BYTES_OF(type), QUARRY_CAPACITY_OF(type), QUARRY_OFFSET_OF(type, field),
 * QUARRY_SCHEMA_BLOCK_BYTES. */
#ifndef QUARRY_SCHEMA_H
#define QUARRY_SCHEMA_H

#include "quarry/simt/simt.h"

#define QUARRY_SCHEMA_TYPES 64u
#define QUARRY_SCHEMA_SLOTS 64u
#define QUARRY_OBJECT_MOST_BYTES 16368u /* so that a block has less than 1 MiB, and a kind has room for it */
#define QUARRY_OBJECT_ADDRESS_BITS 48u  /* pools end below 2^48 */

/* ---- what names an object ---- */

/* An object, or none: all zero.  Any thread of any kernel may keep it and pass it on. */
typedef struct quarry_object {
    uint64_t bits;
} quarry_object;

/* A type, as kernels know it: constants that the compiler folds.  From quarry_type_of_T(). */
struct quarry_type {
    uint32_t number; /* in its schema */
    uint32_t bytes;  /* s */
    uint32_t capacity;
    uint32_t schema;  /* a number that other schemas do not have, most likely */
    uint64_t derived; /* a bit for it and for each type that derives from it */
};

SIMT_FN quarry_object quarry_object_null(void)
{
    quarry_object none = {0};
    return none;
}

SIMT_FN int quarry_object_is_null(quarry_object o)
{
    return o.bits == 0;
}

SIMT_FN int quarry_object_is_same(quarry_object a, quarry_object b)
{
    return a.bits == b.bits;
}

/* The number of its type in the schema, in the order in which it names them: compare it with quarry_number_of_T. */
SIMT_FN uint32_t quarry_object_type(quarry_object o)
{
    return (uint32_t)(o.bits >> 56);
}

SIMT_FN uint32_t quarry_object_capacity(quarry_object o)
{
    return (uint32_t)(o.bits >> QUARRY_OBJECT_ADDRESS_BITS) & 0xffu;
}

SIMT_FN uint32_t quarry_object_slot(quarry_object o)
{
    return (uint32_t)o.bits & (QUARRY_SCHEMA_SLOTS - 1u);
}

SIMT_FN unsigned char *quarry_object_block(quarry_object o)
{
    uint64_t mask = ((uint64_t)1 << QUARRY_OBJECT_ADDRESS_BITS) - QUARRY_SCHEMA_SLOTS;
    return (unsigned char *)(uintptr_t)(o.bits & mask);
}

/* Names slot `slot` of a block.
 *   block   a multiple of 64, below 2^48 */
SIMT_FN quarry_object quarry_object_name(uint32_t type, uint32_t capacity, const void *block, uint32_t slot)
{
    quarry_object o;
    o.bits = (uint64_t)type << 56 | (uint64_t)capacity << QUARRY_OBJECT_ADDRESS_BITS |
             (uint64_t)(uintptr_t)block | slot;
    return o;
}

/* Has the object this type, or one that derives from it?  No object: no. */
SIMT_FN int quarry_object_is_of(quarry_object o, struct quarry_type type)
{
    return o.bits != 0 && (type.derived >> (quarry_object_type(o) & 63u) & 1u);
}
#define quarry_object_is(o, type) quarry_object_is_of(o, quarry_type_of_##type())

/* The object, if it is of this type or of one that derives from it; else none. */
SIMT_FN quarry_object quarry_object_cast_to(quarry_object o, struct quarry_type type)
{
    return quarry_object_is_of(o, type) ? o : quarry_object_null();
}
#define quarry_object_cast(o, type) quarry_object_cast_to(o, quarry_type_of_##type())

#ifdef QUARRY_CHECK
/* Checked build: behind the slots a block has a mark for each, type + 1 while an object is there, else 0.  Traps unless
 * there is an object that has the fields of the type.
 *   derived, block_bytes   of the type, and of its schema's blocks without marks */
SIMT_NOINLINE_FN void quarry_object_look(quarry_object o, uint64_t derived, uint32_t block_bytes)
{
    if (o.bits == 0)
        simt_trap("a field of no object was used");
    if (quarry_object_type(o) >= QUARRY_SCHEMA_TYPES || quarry_object_slot(o) >= quarry_object_capacity(o))
        simt_trap("a field was used of what names no object");
    if (!(derived >> quarry_object_type(o) & 1u))
        simt_trap("a field was used that objects of this type do not have");
    if (quarry_object_block(o)[block_bytes + quarry_object_slot(o)] != quarry_object_type(o) + 1u)
        simt_trap("a field was used of an object that is deleted");
}
#define QUARRY_SCHEMA_MARKS QUARRY_SCHEMA_SLOTS
#else
#define QUARRY_SCHEMA_MARKS 0u
#define quarry_object_look(o, derived, block_bytes) ((void)0)
#endif

/* Where an object has an element of a field: for accessors.
 *   derived   of the field's type: debug builds assert that the object is of it
 *   offset    of the element */
SIMT_FN void *quarry_object_field(quarry_object o, uint64_t derived, uint32_t offset, uint32_t size)
{
    simt_assert(o.bits != 0 && "an object whose field is used is there");
    simt_assert((derived >> (quarry_object_type(o) & 63u) & 1u) && "an object has the fields of its type");
    (void)derived;
    return simt_in_global(quarry_object_block(o) + (uint64_t)quarry_object_capacity(o) * offset +
                          (uint64_t)quarry_object_slot(o) * size);
}

/* ---- what the host knows of a schema ---- */

#if SIMT_HAS_HOST
struct quarry_schema_field {
    const char *name;
    const char *type;
    uint32_t offset;
    uint32_t bytes; /* of an element */
    uint32_t elements;
};

struct quarry_schema_type {
    const char *name;
    int base; /* its number; -1: none */
    uint32_t bytes;
    uint32_t capacity; /* of an abstract type: without meaning */
    uint32_t is_abstract;
    uint32_t field_count; /* of its own */
    const struct quarry_schema_field *fields;
};

/* A schema: name_schema.  Constant. */
struct quarry_schema {
    const char *name;
    uint32_t block_bytes;
    uint32_t code; /* as struct quarry_type has it */
    uint32_t type_count;
    const struct quarry_schema_type *types;
};
#endif

/* ---- constants ---- */

/* Sizes are the sizes of structs, one more so that none is empty. */
struct quarry_bytes_of_object {
    char bytes[1];
};
enum { quarry_number_of_object = -1 };
#define QUARRY_BYTES_OF(type) ((uint32_t)sizeof(struct quarry_bytes_of_##type) - 1u)
#define QUARRY_CAPACITY_OF(type) ((uint32_t)sizeof(struct quarry_capacity_of_##type))
#define QUARRY_OFFSET_OF(type, field)                                                                        \
    ((uint32_t) __builtin_offsetof(struct quarry_fields_of_##type, field) - QUARRY_SCHEMA_BEFORE)
#define QUARRY_SCHEMA_BLOCK_BYTES                                                                            \
    (QUARRY_SCHEMA_SLOTS * (QUARRY_OBJECT_MOST_BYTES + 2u - (uint32_t)sizeof(union quarry_schema_least)))

/* ---- how QUARRY_SCHEMA works: a pass over all types for each thing that it defines ---- */

#define QUARRY_SCHEMA_BEFORE 8u /* bytes in front of the fields, so that no array is empty */
#define QUARRY_SCHEMA_UP(bytes) (((bytes) + 7u) / 8u * 8u)
#define QUARRY_SCHEMA_UNUSED __attribute__((unused))

/* Arguments that may be missing get their defaults. */
#define QUARRY_SCHEMA_NUMBER(...) QUARRY_SCHEMA_NUMBER_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_LAYOUT(...) QUARRY_SCHEMA_LAYOUT_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_LEAST(...) QUARRY_SCHEMA_LEAST_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_CAPACITY(...) QUARRY_SCHEMA_CAPACITY_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_CODE(...) QUARRY_SCHEMA_CODE_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_CODE_OF(type, ...) QUARRY_SCHEMA_CODE_OF_(type, __VA_ARGS__, 1, )
#define QUARRY_SCHEMA_LINE(...) QUARRY_SCHEMA_LINE_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_DERIVED(...) QUARRY_SCHEMA_DERIVED_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_TYPE(...) QUARRY_SCHEMA_TYPE_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_TABLE(...) QUARRY_SCHEMA_TABLE_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_ROW(...) QUARRY_SCHEMA_ROW_(__VA_ARGS__, concrete, )
#define QUARRY_SCHEMA_MEMBER(type, ...) QUARRY_SCHEMA_MEMBER_(type, __VA_ARGS__, 1, )
#define QUARRY_SCHEMA_ACCESS(type, ...) QUARRY_SCHEMA_ACCESS_(type, __VA_ARGS__, 1, )
#define QUARRY_SCHEMA_FIELD(type, ...) QUARRY_SCHEMA_FIELD_(type, __VA_ARGS__, 1, )
#define QUARRY_SCHEMA_CONCRETE_concrete 1
#define QUARRY_SCHEMA_CONCRETE_abstract 0

#define QUARRY_SCHEMA_NUMBER_(type, ...) quarry_number_of_##type,

/* A struct of all that an object has, in characters, so that it has no gaps but the one in front of its own fields. */
#define QUARRY_SCHEMA_MEMBER_(type, kind, name, elements, ...) char name[sizeof(kind) * (elements)];
#define QUARRY_SCHEMA_LAYOUT_(type, base, FIELDS, ...)                                                       \
    struct quarry_fields_of_##type {                                                                         \
        char quarry_before[QUARRY_SCHEMA_BEFORE + QUARRY_SCHEMA_UP(QUARRY_BYTES_OF(base))];                  \
        FIELDS(QUARRY_SCHEMA_MEMBER, type)                                                                   \
        char quarry_end;                                                                                     \
    };                                                                                                       \
    struct quarry_bytes_of_##type {                                                                          \
        char bytes[1u + (QUARRY_OFFSET_OF(type, quarry_end) == QUARRY_SCHEMA_UP(QUARRY_BYTES_OF(base))       \
                             ? QUARRY_BYTES_OF(base)                                                         \
                             : QUARRY_OFFSET_OF(type, quarry_end))];                                         \
    };                                                                                                       \
    SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(type) <= QUARRY_OBJECT_MOST_BYTES,                                    \
                       "an object of type " #type " has at most 16368 bytes");

/* The least of all, as the greatest of what is left to the most, and one; an abstract type has none of that. */
#define QUARRY_SCHEMA_LEAST_(type, base, FIELDS, kind, ...)                                                  \
    char type[1u +                                                                                           \
              (QUARRY_SCHEMA_CONCRETE_##kind ? QUARRY_OBJECT_MOST_BYTES + 1u - QUARRY_BYTES_OF(type) : 0u)];

#define QUARRY_SCHEMA_FIT(type) (QUARRY_SCHEMA_BLOCK_BYTES / (QUARRY_BYTES_OF(type) + !QUARRY_BYTES_OF(type)))
#define QUARRY_SCHEMA_CAPACITY_(type, base, FIELDS, kind, ...)                                               \
    SIMT_STATIC_ASSERT(!QUARRY_SCHEMA_CONCRETE_##kind || QUARRY_BYTES_OF(type) > 0,                          \
                       "objects of type " #type " have at least one field");                                 \
    SIMT_STATIC_ASSERT(!QUARRY_SCHEMA_CONCRETE_##kind || QUARRY_BYTES_OF(type) <= QUARRY_SCHEMA_BLOCK_BYTES, \
                       "an object of type " #type " has at most 64 times the bytes of the smallest");        \
    struct quarry_capacity_of_##type {                                                                       \
        char slots[QUARRY_SCHEMA_CONCRETE_##kind && QUARRY_SCHEMA_FIT(type) < QUARRY_SCHEMA_SLOTS            \
                       ? QUARRY_SCHEMA_FIT(type)                                                             \
                       : QUARRY_SCHEMA_SLOTS];                                                               \
    };

#define QUARRY_SCHEMA_CODE_(type, base, FIELDS, kind, ...)                                                   \
    +((QUARRY_BYTES_OF(type) * 128u + QUARRY_CAPACITY_OF(type) * 2u + QUARRY_SCHEMA_CONCRETE_##kind) *       \
      (0x9e3779b1u * (2u * (uint32_t)quarry_number_of_##type + 1u) ^ (uint32_t)quarry_number_of_##base))     \
        FIELDS(QUARRY_SCHEMA_CODE_OF, type)

/* Fields differ by their sizes, and by the lengths of their names: the compiler knows no more of a text. */
#define QUARRY_SCHEMA_CODE_OF_(type, kind, name, elements, ...)                                              \
    +(((uint32_t)sizeof(kind) * 64u + (uint32_t)sizeof #name) * 64u + (uint32_t)sizeof #kind) *              \
        (0x85ebca6bu * (2u * QUARRY_OFFSET_OF(type, name) + 1u) ^ (uint32_t)quarry_number_of_##type)

/* The types that a type derives from, and itself, as bits; and with them those that derive from it. */
#define QUARRY_SCHEMA_LINE_(type, base, ...)                                                                 \
    QUARRY_SCHEMA_UNUSED SIMT_FN uint64_t quarry_line_of_##type(void)                                        \
    {                                                                                                        \
        return quarry_line_of_##base() | (uint64_t)1 << quarry_number_of_##type;                             \
    }
SIMT_FN uint64_t quarry_line_of_object(void)
{
    return 0;
}
#define QUARRY_SCHEMA_DERIVED_(type, ...)                                                                    \
    derived |= (quarry_line_of_##type() >> number & 1u) << quarry_number_of_##type;

/* What kernels know of a type, and its accessors. */
#define QUARRY_SCHEMA_ACCESS_(type, kind, name, elements, ...)                                               \
    SIMT_STATIC_ASSERT(QUARRY_OFFSET_OF(type, name) % SIMT_ALIGNOF(kind) == 0,                               \
                       "field " #name " of type " #type                                                      \
                       " must stand before fields that are aligned to less");                                \
    SIMT_STATIC_ASSERT(SIMT_ALIGNOF(kind) <= QUARRY_SCHEMA_SLOTS,                                            \
                       "field " #name " of type " #type " is aligned to at most 64 bytes, as blocks are");   \
    QUARRY_SCHEMA_UNUSED SIMT_FN kind *type##_##name##_at(quarry_object self, uint32_t element)              \
    {                                                                                                        \
        const uint32_t bytes = (uint32_t)sizeof(kind);                                                       \
        simt_assert(element < (elements) && "a field has as many elements as its type says");                \
        quarry_object_look(self, quarry_type_of_##type().derived, QUARRY_SCHEMA_BLOCK_BYTES);                \
        return (kind *)quarry_object_field(self, quarry_type_of_##type().derived,                            \
                                           QUARRY_OFFSET_OF(type, name) + bytes * element, bytes);           \
    }                                                                                                        \
    QUARRY_SCHEMA_UNUSED SIMT_FN kind *type##_##name(quarry_object self)                                     \
    {                                                                                                        \
        return type##_##name##_at(self, 0);                                                                  \
    }
/* An abstract type has no such function, so no object can be created of it. */
#define QUARRY_SCHEMA_NEW_abstract(type)
#define QUARRY_SCHEMA_NEW_concrete(type)                                                                     \
    QUARRY_SCHEMA_UNUSED SIMT_FN struct quarry_type quarry_concrete_type_of_##type(void)                     \
    {                                                                                                        \
        return quarry_type_of_##type();                                                                      \
    }
#define QUARRY_SCHEMA_TYPE_(type, base, FIELDS, kind, ...)                                                   \
    QUARRY_SCHEMA_UNUSED SIMT_FN struct quarry_type quarry_type_of_##type(void)                              \
    {                                                                                                        \
        struct quarry_type t;                                                                                \
        t.number = (uint32_t)quarry_number_of_##type;                                                        \
        t.bytes = QUARRY_BYTES_OF(type);                                                                     \
        t.capacity = QUARRY_CAPACITY_OF(type);                                                               \
        t.schema = (uint32_t)quarry_schema_code;                                                             \
        t.derived = quarry_schema_derived(quarry_number_of_##type);                                          \
        return t;                                                                                            \
    }                                                                                                        \
    QUARRY_SCHEMA_NEW_##kind(type) FIELDS(QUARRY_SCHEMA_ACCESS, type)

/* What the host knows. */
#if SIMT_HAS_HOST
#define QUARRY_SCHEMA_FIELD_(type, kind, name, elements, ...)                                                \
    {#name, #kind, QUARRY_OFFSET_OF(type, name), (uint32_t)sizeof(kind), elements},
#define QUARRY_SCHEMA_TABLE_(type, base, FIELDS, ...)                                                        \
    static const struct quarry_schema_field quarry_table_of_##type[] = {                                     \
        FIELDS(QUARRY_SCHEMA_FIELD, type){SIMT_NULL, SIMT_NULL, 0, 0, 0}};
#define QUARRY_SCHEMA_ROW_(type, base, FIELDS, kind, ...)                                                    \
    {#type,                                                                                                  \
     (int)quarry_number_of_##base,                                                                           \
     QUARRY_BYTES_OF(type),                                                                                  \
     QUARRY_CAPACITY_OF(type),                                                                               \
     !QUARRY_SCHEMA_CONCRETE_##kind,                                                                         \
     (uint32_t)(sizeof quarry_table_of_##type / sizeof *quarry_table_of_##type) - 1u,                        \
     quarry_table_of_##type},
#define QUARRY_SCHEMA_HOST(schema, TYPES)                                                                    \
    TYPES(QUARRY_SCHEMA_TABLE)                                                                               \
    static const struct quarry_schema_type quarry_table_of_types[] = {TYPES(QUARRY_SCHEMA_ROW)};             \
    QUARRY_SCHEMA_UNUSED static const struct quarry_schema schema##_schema = {                               \
        #schema, QUARRY_SCHEMA_BLOCK_BYTES + QUARRY_SCHEMA_MARKS, (uint32_t)quarry_schema_code,              \
        (uint32_t)quarry_schema_type_count, quarry_table_of_types};
#else
#define QUARRY_SCHEMA_HOST(schema, TYPES)
#endif

#define QUARRY_SCHEMA(schema, TYPES)                                                                         \
    enum quarry_schema_number { TYPES(QUARRY_SCHEMA_NUMBER) quarry_schema_type_count };                      \
    SIMT_STATIC_ASSERT((uint32_t)quarry_schema_type_count <= QUARRY_SCHEMA_TYPES,                            \
                       "schema " #schema " has at most 64 types");                                           \
    TYPES(QUARRY_SCHEMA_LAYOUT)                                                                              \
    union quarry_schema_least {                                                                              \
        char quarry_none[1];                                                                                 \
        TYPES(QUARRY_SCHEMA_LEAST)                                                                           \
    };                                                                                                       \
    SIMT_STATIC_ASSERT(sizeof(union quarry_schema_least) > 1u,                                               \
                       "schema " #schema " has a type that is not abstract");                                \
    TYPES(QUARRY_SCHEMA_CAPACITY)                                                                            \
    enum quarry_schema_codes {                                                                               \
        quarry_schema_code =                                                                                 \
            (int)(((uint32_t)(TYPES(QUARRY_SCHEMA_CODE)) + QUARRY_SCHEMA_MARKS) & 0x7fffffffu)               \
    };                                                                                                       \
    TYPES(QUARRY_SCHEMA_LINE)                                                                                \
    QUARRY_SCHEMA_UNUSED SIMT_FN uint64_t quarry_schema_derived(int number)                                  \
    {                                                                                                        \
        uint64_t derived = 0;                                                                                \
        TYPES(QUARRY_SCHEMA_DERIVED)                                                                         \
        return derived;                                                                                      \
    }                                                                                                        \
    TYPES(QUARRY_SCHEMA_TYPE)                                                                                \
    QUARRY_SCHEMA_HOST(schema, TYPES)

#endif
