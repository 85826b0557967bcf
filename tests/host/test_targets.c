/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes, their texts and details; targets and devices: the promises of quarry/quarry.h, one test each
 * or a few.  No heap is filled. */
#include "heap_test.h"
#include "heap_test_cuda.h"

#include <pthread.h>

/* ---- status ---- */

static void version_is_the_headers(void **state)
{
    char text[64];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", QUARRY_VERSION_MAJOR, QUARRY_VERSION_MINOR, QUARRY_VERSION_PATCH);
    assert_string_equal(text, quarry_version());
#if QUARRY_VERSION < 100 || QUARRY_VERSION >= 1000000
    fail_msg("the preprocessor takes the version for %d", QUARRY_VERSION);
#endif
    assert_int_equal(QUARRY_VERSION / 10000, QUARRY_VERSION_MAJOR);
    assert_int_equal(QUARRY_VERSION / 100 % 100, QUARRY_VERSION_MINOR);
    assert_int_equal(QUARRY_VERSION % 100, QUARRY_VERSION_PATCH);
}

static void every_status_has_its_own_text(void **state)
{
    (void)state;
    for (int i = 0; i < QUARRY_STATUS_COUNT; i++) {
        assert_string_not_equal("unknown status", quarry_status_string((enum quarry_status)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(quarry_status_string((enum quarry_status)j),
                                    quarry_status_string((enum quarry_status)i));
    }
    assert_string_equal("unknown status", quarry_status_string(QUARRY_STATUS_COUNT));
    assert_string_equal("unknown status", quarry_status_string((enum quarry_status) - 1));
}

static void *fail_in_a_thread(void *seen)
{
    snprintf(seen, 64, "[%s]", quarry_error_detail());
    (void)quarry_heap_create(NULL, NULL);
    return (void *)(uintptr_t)(strlen(quarry_error_detail()) > 0);
}

static void detail_belongs_to_the_thread(void **state)
{
    char before[256];
    char seen[64];
    pthread_t thread;
    void *result = NULL;
    (void)state;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_reset(NULL));
    expect_detail("heap is NULL");
    snprintf(before, sizeof before, "%s", quarry_error_detail());
    assert_int_equal(0, pthread_create(&thread, NULL, fail_in_a_thread, seen));
    assert_int_equal(0, pthread_join(thread, &result));
    assert_string_equal("[]", seen);
    assert_non_null(result);
    assert_string_equal(before, quarry_error_detail());
}

/* ---- targets ---- */

static void targets_resolve(void **state)
{
    struct quarry_target target = {.backend = QUARRY_BACKEND_AUTO};
    (void)state;
    assert_ok(quarry_target_resolve(&target));
    assert_int_equal(quarry_device_count(QUARRY_BACKEND_CUDA) > 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU,
                     target.backend);
    assert_int_equal(quarry_device_count(target.backend), quarry_device_count(QUARRY_BACKEND_AUTO));
    assert_int_equal(1, quarry_device_count(QUARRY_BACKEND_CPU));
    assert_int_equal(0, quarry_device_count((enum quarry_backend)77));
    target = base_target;
    assert_ok(quarry_target_resolve(&target));
    assert_int_equal(base_target.backend, target.backend);
}

static void wrong_targets_are_refused_and_unchanged(void **state)
{
    struct quarry_target target = base_target;
    int stream = 0;
    (void)state;
    expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(NULL));
    target.backend = (enum quarry_backend)77;
    expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
    expect_detail("backend 77");
    assert_int_equal(77, target.backend);

    target = base_target;
    target.device = -1;
    expect(QUARRY_ERROR_DEVICE, quarry_target_resolve(&target));
    target.backend = QUARRY_BACKEND_AUTO;
    target.device = quarry_device_count(QUARRY_BACKEND_AUTO);
    expect(QUARRY_ERROR_DEVICE, quarry_target_resolve(&target));
    assert_int_equal(QUARRY_BACKEND_AUTO, target.backend);

    target = base_target;
    if (!test_on_cuda(&base_target)) {
        target.stream = &stream;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("stream");
        target.stream = NULL;
        target.workers = 1000000;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("workers is 1000000");
        target.workers = 0;
        target.resident_blocks = 4097;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("resident_blocks is 4097");
        target.resident_blocks = 0;
        target.stack_bytes = 1000;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("stack_bytes is 1000: it must be 16384 to 1073741824, or 0 for 65536");
    } else {
        target.seed = 7;
        expect(QUARRY_ERROR_ARGUMENT, quarry_target_resolve(&target));
        expect_detail("seed is 7");
    }
}

/* A library without CUDA says BACKEND; one with CUDA, on a machine without a GPU, DEVICE. */
static void cuda_without_a_gpu_is_a_clean_error(void **state)
{
    struct quarry_target target = {.backend = QUARRY_BACKEND_CUDA};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = (quarry_heap *)&target;
    (void)state;
    if (quarry_device_count(QUARRY_BACKEND_CUDA) > 0)
        skip();
    enum quarry_status expected = quarry_target_resolve(&target);
    assert_true(expected == QUARRY_ERROR_BACKEND || expected == QUARRY_ERROR_DEVICE);
    expect_detail(expected == QUARRY_ERROR_DEVICE ? "no usable GPU" : "built without the CUDA backend");
    options.target = target;
    expect(expected, quarry_heap_create(&heap, &options));
    assert_null(heap);
    assert_null(heap_test_left_error());
}

static void device_is_described(void **state)
{
    struct quarry_device_info info;
    struct quarry_target target = base_target;
    (void)state;
    memset(&info, 0xff, sizeof info);
    assert_ok(quarry_device_describe(&target, &info));
    assert_true(strlen(info.name) > 0 && strlen(info.name) < sizeof info.name);
    assert_true(info.total_bytes > 0);
    assert_true(info.available_bytes <= info.total_bytes);
    assert_true(info.heap_bytes <= info.available_bytes);
    assert_true(info.multiprocessors > 0);
    if (!test_on_cuda(&base_target)) {
        assert_true(info.heap_bytes <= info.total_bytes / 4);
        assert_int_equal(0, info.capability);
    } else {
        assert_true(info.capability >= 75);
        assert_true(info.available_bytes - info.heap_bytes >= 512 * MIB);
    }
    expect(QUARRY_ERROR_ARGUMENT, quarry_device_describe(&target, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_the_headers),
        cmocka_unit_test(every_status_has_its_own_text),
        cmocka_unit_test(detail_belongs_to_the_thread),
        cmocka_unit_test(targets_resolve),
        cmocka_unit_test(wrong_targets_are_refused_and_unchanged),
        cmocka_unit_test(cuda_without_a_gpu_is_a_clean_error),
        cmocka_unit_test(device_is_described),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL) != 0;
}
