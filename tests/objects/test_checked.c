/* SPDX-License-Identifier: Apache-2.0 */
/* A checked build: a use of an object that is not there, or has no such field, ends the kernel with a sentence. */
#include "blocks/seeds.h"
#include "common.h"
#include "objects/checked_kernels.h"

static struct quarry_target target;

static enum quarry_status use(const struct quarry_schema *schema, enum checked_use how, uint64_t *result)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_target plain = test_plain(target);
    struct quarry_grid grid = {1, 1, 0};
    quarry_heap *heap;
    options.target = target;
    options.schema = schema;
    options.pages = 2;
    assert_ok(quarry_heap_create(&heap, &options));
    struct checked_case c = {quarry_heap_handle(heap), how, test_memory(&plain, sizeof *result), {0}};
    if (how == CHECKED_RIGHT && schema == &zoo_schema)
        assert_ok(quarry_object_add(heap, cat, 1, &c.given));
    enum quarry_status status = quarry_launch(&checked_use, &target, grid, &c);
    if (status == QUARRY_OK)
        status = quarry_target_wait(&target);
    if (status == QUARRY_OK) {
        assert_ok(quarry_memory_copy(&plain, result, c.result, sizeof *result));
        assert_ok(quarry_heap_check(heap));
    }
    test_memory_free(&plain, c.result, 0);
    char why[256];
    snprintf(why, sizeof why, "%s", quarry_error_detail());
    (void)quarry_heap_destroy(heap);
    if (status != QUARRY_OK &&
        !strstr(why, how >= CHECKED_TYPE       ? "a field was used of what names no object"
                     : how <= CHECKED_NULL     ? "a field of no object was used"
                     : how == CHECKED_MISTYPED ? "a field was used that objects of this type do not have"
                                               : "a field was used of an object that is deleted"))
        fail_msg("%s", why);
    return status;
}

static void right_uses_are_let_alone(void **state)
{
    uint64_t result = 0;
    (void)state;
    assert_int_equal(zoo_schema.block_bytes, QUARRY_SCHEMA_BLOCK_BYTES + 64u);
    assert_ok(use(&zoo_schema, CHECKED_RIGHT, &result));
    assert_int_equal(result, 1 + 2 + 3 + 4);
}

static void wrong_uses_end_the_kernel(void **state)
{
    uint64_t result;
    (void)state;
    if (test_on_cuda(&target))
        skip(); /* the device's context would be lost */
    assert_int_equal(use(&zoo_schema, CHECKED_NULL, &result), QUARRY_ERROR_ASSERT);
    assert_int_equal(use(&zoo_schema, CHECKED_MISTYPED, &result), QUARRY_ERROR_ASSERT);
    assert_int_equal(use(&zoo_schema, CHECKED_DELETED, &result), QUARRY_ERROR_ASSERT);
    assert_int_equal(use(&zoo_schema, CHECKED_REPLACED, &result), QUARRY_ERROR_ASSERT);
    assert_int_equal(use(&zoo_schema, CHECKED_TYPE, &result), QUARRY_ERROR_ASSERT);
    assert_int_equal(use(&zoo_schema, CHECKED_SLOT, &result), QUARRY_ERROR_ASSERT);
    /* A heap made without QUARRY_CHECK gives no objects, for which its blocks have no marks. */
    assert_int_equal(use(unchecked_zoo, CHECKED_RIGHT, &result), QUARRY_ERROR_ASSERT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_uses_are_let_alone),
        cmocka_unit_test(wrong_uses_end_the_kernel),
    };
    target = test_target();
    return cmocka_run_group_tests_name("checked", tests, NULL, NULL) != 0;
}
