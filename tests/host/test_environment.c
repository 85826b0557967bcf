/* SPDX-License-Identifier: Apache-2.0 */
/* The environment switches debug mode and a table of statistics on, and names the default allocator. */
#include "debug_test.h"
#include "objects/zoo.h"

#include <unistd.h>

static char printed[16384];

/* Destroys a heap, and fetches what that prints on stderr. */
static enum quarry_status destroy(quarry_heap *heap)
{
    FILE *file = tmpfile();
    const int before = dup(2);
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), 2);
    enum quarry_status status = quarry_heap_destroy(heap);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = 0;
    fclose(file);
    return status;
}

static enum quarry_status create_with(const char *name, const char *value,
                                      const struct quarry_heap_options *options, quarry_heap **heap)
{
    setenv(name, value, 1);
    enum quarry_status status = quarry_heap_create(heap, options);
    unsetenv(name);
    return status;
}

static struct quarry_heap_options small_heap(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = base_target;
    options.pages = 10;
    return options;
}

static void expect_refused(const char *name, const char *value, const struct quarry_heap_options *options,
                           enum quarry_status status, const char *text)
{
    quarry_heap *heap = NULL;
    const enum quarry_status got = create_with(name, value, options, &heap);
    const char *detail = quarry_error_detail();
    if (got != status || !strstr(detail, text) || strchr(detail, '\n'))
        fail_msg("%s=%s: %s: \"%s\", expected \"%s\" in it", name, value, quarry_status_string(got), detail,
                 text);
    assert_null(heap);
}

static void the_environment_switches_debug_mode_on(void **state)
{
    struct quarry_heap_options options = small_heap();
    struct quarry_heap_description about;
    quarry_heap *heap;
    static const char *const nothing[] = {"", "0"};
    (void)state;
    assert_ok(create_with("QUARRY_DEBUG", "1", &options, &heap));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_int_equal(1, about.debug);
    assert_ok(destroy(heap));
    assert_string_equal("", printed);
    for (int i = 0; i < 2; i++) {
        assert_ok(create_with("QUARRY_DEBUG", nothing[i], &options, &heap));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_int_equal(0, about.debug);
        assert_ok(destroy(heap));
        options.debug = 1; /* the program's own wish stays */
        assert_ok(create_with("QUARRY_DEBUG", nothing[i], &options, &heap));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_int_equal(1, about.debug);
        assert_ok(destroy(heap));
        options.debug = 0;
    }
    expect_refused("QUARRY_DEBUG", "yes", &options, QUARRY_ERROR_ARGUMENT,
                   "the environment variable QUARRY_DEBUG is \"yes\": it must be 1, or 0 for nothing");
    options.distribution = QUARRY_DISTRIBUTION_WARP;
    expect_refused("QUARRY_DEBUG", "1", &options, QUARRY_ERROR_COMBINATION,
                   "with QUARRY_DEBUG=1 in the environment: debug was given");
}

static void the_environment_names_the_default_allocator(void **state)
{
    struct quarry_heap_options options = small_heap();
    struct quarry_heap_description about;
    quarry_heap *heap;
    (void)state;
    assert_ok(create_with("QUARRY_DEFAULT_ALLOCATOR", "crw", &options, &heap));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_string_equal("crw", about.allocator);
    assert_ok(quarry_heap_destroy(heap));
    assert_ok(create_with("QUARRY_DEFAULT_ALLOCATOR", "", &options, &heap));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_string_equal("quarry", about.allocator);
    assert_ok(quarry_heap_destroy(heap));
    expect_refused(
        "QUARRY_DEFAULT_ALLOCATOR", "none-such", &options, QUARRY_ERROR_ALLOCATOR,
        "with QUARRY_DEFAULT_ALLOCATOR=none-such in the environment: there is no allocator \"none-such\"");
    options.allocator = "rw"; /* the program names one */
    assert_ok(create_with("QUARRY_DEFAULT_ALLOCATOR", "none-such", &options, &heap));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_string_equal("rw", about.allocator);
    assert_ok(quarry_heap_destroy(heap));
    options.allocator = NULL;
    options.page_bytes = 0;
    options.schema = &zoo_schema; /* and so does a schema */
    assert_ok(create_with("QUARRY_DEFAULT_ALLOCATOR", "crw", &options, &heap));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_string_equal("objects", about.allocator);
    assert_ok(quarry_heap_destroy(heap));
}

static void the_environment_asks_for_a_table(void **state)
{
    struct quarry_heap_options options = small_heap();
    quarry_heap *heap;
    (void)state;
    options.statistics = 1;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(destroy(heap));
    assert_string_equal("", printed); /* the library is silent, */
    assert_ok(create_with("QUARRY_STATS", "1", &options, &heap));
    assert_ok(destroy(heap)); /* unless it is asked, also if the program counts */
    assert_non_null(strstr(printed, "quarry: heap of "));
    options.statistics = 0;
    options.allocator = "corw";
    options.page_bytes = PAGE_BYTES;
    assert_ok(create_with("QUARRY_STATS", "1", &options, &heap));
    f.target = base_target;
    f.allocator = "corw";
    memset(&f.device, 0, sizeof f.device);
    f.device.heap = quarry_heap_handle(heap);
    f.device.block = test_memory(&f.target, SLOTS * sizeof *f.device.block);
    f.device.bytes = 40;
    run(&debug_malloc, 0, 12, 0);
    f.device.bytes = PAGE_BYTES + 1;
    run(&debug_malloc, 0, 2, 20);
    run(&debug_free, 0, 3, 0);
    assert_ok(destroy(heap));
    char expected[1024], first[128];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(printed, "\n"), printed);
    snprintf(expected, sizeof expected,
             "%s\n"
             "                               blocks                bytes\n"
             "  live now                          7                  448\n"
             "  peak                             10                  640\n"
             "  in total                         10                  640\n"
             "  asked for                   mallocs               failed\n"
             "  to 64 B                          10                    2\n"
             "  refused: larger than any block                         2\n",
             first);
    assert_string_equal(expected, printed);
    expect_refused("QUARRY_STATS", "on", &options, QUARRY_ERROR_ARGUMENT,
                   "the environment variable QUARRY_STATS is \"on\"");

    /* With debug mode it names what was found, and what lives. */
    options.debug = 1;
    assert_ok(create_with("QUARRY_STATS", "1", &options, &heap));
    f.device.heap = quarry_heap_handle(heap);
    f.device.bytes = 40;
    run(&debug_malloc, 0, 2, 0);
    run(&debug_free, 0, 1, 0);
    run(&debug_free, 0, 1, 0);
    assert_int_equal(QUARRY_ERROR_CORRUPT, destroy(heap));
    assert_non_null(strstr(printed, "\n  double free: 1 time, first: 40 bytes at 0x"));
    assert_non_null(strstr(printed, "\n  1 live block, 40 bytes\n"));
    assert_non_null(strstr(printed, "\n  live: 40 bytes at 0x"));

    /* The first 20 of them. */
    options.pages = 30;
    assert_ok(create_with("QUARRY_STATS", "1", &options, &heap));
    f.device.heap = quarry_heap_handle(heap);
    run(&debug_malloc, 0, 30, 0);
    assert_int_equal(QUARRY_ERROR_LEAK, destroy(heap));
    uint32_t lines = 0;
    for (const char *at = strstr(printed, "\n  live: "); at; at = strstr(at + 1, "\n  live: "))
        lines++;
    assert_int_equal(20, lines);
    test_memory_free(&f.target, f.device.block, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_switches_debug_mode_on),
        cmocka_unit_test(the_environment_names_the_default_allocator),
        cmocka_unit_test(the_environment_asks_for_a_table),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL) != 0;
}
