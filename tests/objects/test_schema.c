/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of typed objects: the numbers that the slides name; fields of all slots of a block that lie in it and do not
 * overlap; what a name of an object says; which type derives from which. */
#include "common.h"
#include "objects/test_schema.h"
#include "objects/wator.h"

SIMT_STATIC_ASSERT(QUARRY_SCHEMA_BLOCK_BYTES == 4352, "as the slides say");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(cell) == 93 && QUARRY_CAPACITY_OF(cell) == 46, "");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(fish) == 68 && QUARRY_CAPACITY_OF(fish) == 64, "");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(shark) == 72 && QUARRY_CAPACITY_OF(shark) == 60, "");
SIMT_STATIC_ASSERT(QUARRY_OFFSET_OF(agent, random) == 16 && QUARRY_OFFSET_OF(shark, energy) == 64 &&
                       QUARRY_OFFSET_OF(shark, egg_timer) == 68,
                   "");

#define BLOCK_MOST_BYTES 8192u

/* Every byte of a block belongs to one field of one slot at most.  The rows of a type begin with those of its base. */
static void claim(const struct quarry_schema *schema, int number, uint32_t capacity, unsigned char *owners)
{
    if (number < 0)
        return;
    const struct quarry_schema_type *type = &schema->types[number];
    claim(schema, type->base, capacity, owners);
    for (uint32_t f = 0; f < type->field_count; f++) {
        const struct quarry_schema_field *field = &type->fields[f];
        for (uint32_t i = 0; i < capacity * field->elements; i++)
            for (uint32_t byte = 0; byte < field->bytes; byte++) {
                uint32_t at = capacity * field->offset + i * field->bytes + byte;
                assert_true(at < schema->block_bytes);
                assert_int_equal(owners[at]++, 0);
            }
    }
}

static void fields_lie_in_the_block_and_apart(void **state)
{
    const struct quarry_schema *schemas[] = {&wator_schema, structure, crowd};
    (void)state;
    for (size_t s = 0; s < sizeof schemas / sizeof *schemas; s++)
        for (uint32_t t = 0; t < schemas[s]->type_count; t++) {
            unsigned char owners[BLOCK_MOST_BYTES] = {0};
            const struct quarry_schema_type *type = &schemas[s]->types[t];
            uint32_t owned = 0;
            assert_true(schemas[s]->block_bytes <= BLOCK_MOST_BYTES);
            if (type->is_abstract)
                continue;
            assert_true(type->capacity >= 1 && type->capacity <= 64);
            claim(schemas[s], (int)t, type->capacity, owners);
            for (uint32_t i = 0; i < BLOCK_MOST_BYTES; i++)
                owned += owners[i];
            assert_true(owned <= type->bytes * type->capacity);
            assert_true(owned > (type->bytes - 8) * type->capacity); /* but for gaps before own fields */
        }
}

static void the_host_sees_the_schema(void **state)
{
    const struct quarry_schema_type *shark_row = &wator_schema.types[quarry_number_of_shark];
    (void)state;
    assert_string_equal(wator_schema.name, "wator");
    assert_int_equal(wator_schema.type_count, 4);
    assert_int_equal(wator_schema.block_bytes, 4352);
    assert_string_equal(shark_row->name, "shark");
    assert_int_equal(shark_row->base, quarry_number_of_agent);
    assert_int_equal(wator_schema.types[quarry_number_of_agent].base, -1);
    assert_true(wator_schema.types[quarry_number_of_agent].is_abstract);
    assert_false(shark_row->is_abstract);
    assert_int_equal(shark_row->field_count, 2);
    assert_string_equal(shark_row->fields[1].name, "egg_timer");
    assert_string_equal(shark_row->fields[1].type, "uint32_t");
    assert_int_equal(shark_row->fields[1].offset, 68);
    assert_int_equal(wator_schema.types[quarry_number_of_cell].fields[0].elements, 4);
    assert_int_equal(structure->types[1].bytes, structure->types[0].bytes); /* no field of its own */
    assert_int_equal(wator_schema.code, (uint32_t)quarry_schema_code);
    assert_int_not_equal(wator_schema.code, structure->code);
}

static void a_name_says_type_capacity_block_and_slot(void **state)
{
    const uint64_t blocks[] = {64, 4352, ((uint64_t)1 << 48) - 64};
    (void)state;
    for (size_t b = 0; b < 3; b++)
        for (uint32_t slot = 0; slot < 64; slot += 21) {
            void *block = (void *)(uintptr_t)blocks[b];
            quarry_object o = quarry_object_name(63, 64, block, slot);
            assert_false(quarry_object_is_null(o));
            assert_int_equal(quarry_object_type(o), 63);
            assert_int_equal(quarry_object_capacity(o), 64);
            assert_ptr_equal(quarry_object_block(o), block);
            assert_int_equal(quarry_object_slot(o), slot);
            assert_true(quarry_object_is_same(o, o));
            assert_false(quarry_object_is_same(o, quarry_object_name(62, 64, block, slot)));
            assert_false(quarry_object_is_same(o, quarry_object_name(63, 64, block, slot ^ 1)));
        }
    assert_true(quarry_object_is_null(quarry_object_null()));
    assert_int_equal(sizeof(quarry_object), 8);
}

static quarry_object name(int number, uint32_t capacity, uint32_t slot)
{
    return quarry_object_name((uint32_t)number, capacity, (void *)(uintptr_t)4352, slot);
}

static void derived_types_are_what_they_derive_from(void **state)
{
    quarry_object s = name(quarry_number_of_shark, QUARRY_CAPACITY_OF(shark), 3), last = name(63, 64, 0);
    (void)state;
    assert_true(quarry_object_is(s, shark) && quarry_object_is(s, agent));
    assert_false(quarry_object_is(s, fish) || quarry_object_is(s, cell));
    assert_false(quarry_object_is(quarry_object_null(), cell));
    assert_true(quarry_object_is_same(quarry_object_cast(s, agent), s));
    assert_true(quarry_object_is_null(quarry_object_cast(s, fish)));
    assert_true(crowd_last_is_last(last) && crowd_last_is_first(last));
    assert_false(crowd_last_is_last(name(62, 64, 0)));
    assert_true(crowd_last_is_first(name(62, 64, 0)));
}

/* Of the derived type, whose blocks have another capacity. */
static void accessors_of_a_base_serve_derived_types(void **state)
{
    quarry_object s = name(quarry_number_of_shark, 60, 3), f = name(quarry_number_of_fish, 64, 63);
    (void)state;
    assert_ptr_equal(agent_next_cell(s), (void *)(uintptr_t)(4352 + 60 * 8 + 3 * 8));
    assert_ptr_equal(agent_next_cell(f), (void *)(uintptr_t)(4352 + 64 * 8 + 63 * 8));
    assert_ptr_equal(agent_random_at(s, 5), (void *)(uintptr_t)(4352 + 60 * (16 + 5 * 8) + 3 * 8));
    assert_ptr_equal(agent_random(s), agent_random_at(s, 0));
    assert_ptr_equal(shark_energy(s), (void *)(uintptr_t)(4352 + 60 * 64 + 3 * 4));
    assert_ptr_equal(fish_egg_timer(f), (void *)(uintptr_t)(4352 + 64 * 64 + 63 * 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_lie_in_the_block_and_apart),
        cmocka_unit_test(the_host_sees_the_schema),
        cmocka_unit_test(a_name_says_type_capacity_block_and_slot),
        cmocka_unit_test(derived_types_are_what_they_derive_from),
        cmocka_unit_test(accessors_of_a_base_serve_derived_types),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL) != 0;
}
