/* SPDX-License-Identifier: Apache-2.0 */
/* What the C tests share: which backend to test, and memory on it.  Fails through cmocka. */
#ifndef QUARRY_TESTS_COMMON_H
#define QUARRY_TESTS_COMMON_H

#include "quarry/device.h"
#include "quarry/quarry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST_SKIPPED 77

/* The target named by QUARRY_TEST_BACKEND (cpu unless set); exits with 77 if it can't be used here, with 2 if
 * there is none of that name. */
static inline struct quarry_target test_target(void)
{
    const char *name = getenv("QUARRY_TEST_BACKEND");
    struct quarry_target target = {0};
    if (name && strcmp(name, "cuda") != 0 && strcmp(name, "cpu") != 0) {
        fprintf(stderr, "QUARRY_TEST_BACKEND is \"%s\": it must be cpu or cuda\n", name);
        exit(2);
    }
    target.backend = name && strcmp(name, "cuda") == 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    if (quarry_target_resolve(&target) != QUARRY_OK) {
        printf("skipped: %s\n", quarry_error_detail());
        exit(TEST_SKIPPED);
    }
    return target;
}

static inline int test_on_cuda(const struct quarry_target *target)
{
    return target->backend == QUARRY_BACKEND_CUDA;
}

#define assert_ok(call)                                                                                      \
    do {                                                                                                     \
        enum quarry_status assert_status = (call);                                                           \
        if (assert_status != QUARRY_OK)                                                                      \
            fail_msg("%s: %s: %s", #call, quarry_status_string(assert_status), quarry_error_detail());       \
    } while (0)

/* The value that a heap's option has; 0: its allocator has none of that name. */
static inline uint64_t described(const struct quarry_heap_description *about, const char *name)
{
    for (uint32_t i = 0; i < about->option_count; i++)
        if (strcmp(about->options[i].name, name) == 0)
            return about->options[i].value;
    return 0;
}

/* Is the allocator one of that family (alloc/list.def)? */
static inline int test_is_of(const char *allocator, const char *family)
{
    static const struct {
        const char *name;
        const char *family;
    } entries[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, ...) {name, #family},
#include "quarry/alloc/list.def"
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(allocator, entries[i].name) == 0)
            return strcmp(family, entries[i].family) == 0;
    return 0;
}

/* Bits of a word of the heap's bitmap; 0: it has none. */
static inline uint32_t described_bits(const struct quarry_heap_description *about)
{
    return test_is_of(about->allocator, "runs") ? QUARRY_RUNS_BITS : (uint32_t)described(about, "word_bits");
}

/* Does the allocator have such an option? */
static inline int test_has_option(const char *allocator, const char *name)
{
    struct quarry_allocator_info info;
    struct quarry_option_info option;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint32_t k = 0; strcmp(info.name, allocator) == 0 && k < info.options; k++)
            if (quarry_allocator_option(i, k, &option) == QUARRY_OK && strcmp(option.name, name) == 0)
                return 1;
    return 0;
}

/* Options for one heap after the other.  A value of 0 is none. */
struct test_set {
    struct quarry_option pairs[QUARRY_MAX_HEAP_OPTIONS];
    uint32_t count;
};

/* Sets one, if the allocator has it. */
static inline void test_set(struct test_set *set, const char *allocator, const char *name, uint64_t value)
{
    if (value == 0 || !test_has_option(allocator, name))
        return;
    set->pairs[set->count].name = name;
    set->pairs[set->count++].value = value;
}

/* Zeroed memory of the target. */
static inline void *test_memory(const struct quarry_target *target, uint64_t bytes)
{
    void *memory = NULL;
    assert_ok(quarry_memory_create(target, QUARRY_POOL_DEVICE, bytes, &memory));
    assert_ok(quarry_memory_fill(target, memory, 0, bytes));
    return memory;
}

static inline void test_memory_free(const struct quarry_target *target, void *memory, uint64_t bytes)
{
    (void)bytes;
    assert_ok(quarry_memory_destroy(target, QUARRY_POOL_DEVICE, memory));
}

static inline void test_run(const struct simt_kernel *kernel, const struct quarry_target *target,
                            uint32_t blocks, uint32_t threads, uint32_t shared_bytes, const void *argument)
{
    struct quarry_grid grid = {blocks, threads, shared_bytes};
    assert_ok(quarry_launch(kernel, target, grid, argument));
    assert_ok(quarry_target_wait(target));
}

#endif
