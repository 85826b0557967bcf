/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators by name, and the options of a heap: what they mean, which are refused, and with what sentence.
 */
#include "heap_test.h"
#include "heap_test_cuda.h"

/* ---- allocators ---- */

static void allocators_are_listed(void **state)
{
    struct quarry_allocator_info info;
    struct quarry_allocator_info other;
    int has_default = 0;
    (void)state;
    assert_true(quarry_allocator_count() >= 2);
    for (int i = 0; i < quarry_allocator_count(); i++) {
        assert_ok(quarry_allocator_describe(i, &info));
        assert_true(strlen(info.name) > 0 && strlen(info.summary) > 0);
        assert_true(info.max_alignment >= 16);
        has_default |= strcmp(info.name, "quarry") == 0;
        for (int j = 0; j < i; j++) {
            assert_ok(quarry_allocator_describe(j, &other));
            assert_string_not_equal(other.name, info.name);
        }
    }
    assert_true(has_default);
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_describe(-1, &info));
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_describe(quarry_allocator_count(), &info));
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_describe(0, NULL));
}

/* An allocator whose blocks are the platform's has a heap all the same, and says what that can't do. */
static void blocks_of_the_platform_are_not_counted(void **state)
{
    struct quarry_allocator_info info;
    struct quarry_statistics statistics;
    uint64_t slots;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_heap_options options = the_options();
        quarry_heap *heap;
        assert_ok(quarry_allocator_describe(i, &info));
        if (info.counts_slots)
            continue;
        options.allocator = info.name;
        options.pool_bytes = 1 << 20;
        heap = create(&options);
        assert_true(quarry_heap_handle(heap).max_block > 1 << 19);
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_slots(heap, 16, &slots));
        expect_detail(info.name);
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_reset(heap));
        expect_detail("can't be reset");
        assert_ok(quarry_heap_statistics(heap, &statistics));
        assert_int_equal(0, statistics.live_blocks);
        assert_int_equal(0, statistics.capacity_bytes);
        assert_ok(quarry_heap_check(heap));
        assert_ok(quarry_heap_destroy(heap));
        options.debug = 1;
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
        expect_detail("has no debug mode");
        options.debug = 0;
        options.pool = QUARRY_POOL_MANAGED;
        expect(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
        expect_detail("QUARRY_POOL_DEVICE");
        options.pool = QUARRY_POOL_DEVICE;
        options.pool_bytes = (uint64_t)1 << 60;
        expect(QUARRY_ERROR_MEMORY, quarry_heap_create(&heap, &options));
        options.pool_bytes = 0;
        options.pages = 10;
        options.page_bytes = 20;
        expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
    }
}

/* With a heap on a GPU, and sources that ask for it: tests/package/override.sh. */
static void a_heap_for_device_malloc_needs_sources_that_ask(void **state)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap = create(&options);
    (void)state;
    expect(QUARRY_ERROR_COMBINATION, quarry_override_set(heap));
    expect_detail("override.h");
    expect(QUARRY_ERROR_COMBINATION, quarry_override_clear(heap));
    assert_ok(quarry_heap_destroy(heap));
    expect(QUARRY_ERROR_ARGUMENT, quarry_override_set(NULL));
}

static void unknown_allocator_names_the_known(void **state)
{
    struct quarry_heap_options options = the_options();
    struct quarry_allocator_info info;
    quarry_heap *heap;
    char names[512] = "";
    (void)state;
    options.allocator = "no-such";
    for (int i = 0; i < quarry_allocator_count(); i++) {
        assert_ok(quarry_allocator_describe(i, &info));
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, info.name, sizeof names - strlen(names) - 1);
    }
    expect(QUARRY_ERROR_ALLOCATOR, quarry_heap_create(&heap, &options));
    expect_detail("\"no-such\"");
    expect_detail(names);
}

/* ---- options ---- */

static void no_options_are_all_defaults(void **state)
{
    struct quarry_heap_description description;
    quarry_heap *heap = create(NULL);
    (void)state;
    assert_ok(quarry_heap_describe(heap, &description));
    assert_string_equal("quarry", description.allocator);
    assert_int_equal(QUARRY_POOL_DEVICE, description.pool);
    assert_true(description.target.backend != QUARRY_BACKEND_AUTO);
    assert_true(description.pool_bytes >= 2 * MIB);
    if (description.pool_bytes > 512 * MIB)
        assert_int_equal(256 * 1024, description.page_bytes);
    assert_true(description.pages > description.pool_bytes / description.page_bytes * 9 / 10);
    assert_true(description.pages * description.page_bytes < description.pool_bytes);
    assert_ok(quarry_heap_check(heap));
    assert_ok(quarry_heap_destroy(heap));
}

static void unsaid_size_is_the_devices(void **state)
{
    struct quarry_device_info info;
    struct quarry_heap_description description;
    struct quarry_heap_options options = the_options();
    (void)state;
    assert_ok(quarry_device_describe(&options.target, &info));
    quarry_heap *heap = create(&options);
    assert_ok(quarry_heap_describe(heap, &description));
    /* What is available may have changed in between. */
    assert_true(description.pool_bytes > info.heap_bytes / 10 * 9);
    assert_true(description.pool_bytes < info.heap_bytes / 10 * 11);
    assert_ok(quarry_heap_destroy(heap));
}

struct wrong_option {
    const char *text; /* in the sentence */
    enum quarry_status status;
    enum quarry_pool pool;
    uint64_t pool_bytes;
    uint64_t page_bytes;
    uint64_t pages;
    uint64_t probes;
};

/* Does the allocator refuse so many pages?  Then the sentence says how many it takes, and it does. */
static int takes_fewer(const struct quarry_heap_options *wrong)
{
    struct quarry_heap_options options = *wrong;
    quarry_heap *heap;
    if (quarry_heap_create(&heap, &options) != QUARRY_ERROR_ARGUMENT)
        return 0;
    const char *most = strstr(quarry_error_detail(), " takes 1 to ");
    assert_non_null(most);
    options.pages = strtoull(most + strlen(" takes 1 to "), NULL, 10);
    assert_true(options.pages < wrong->pages);
    options.pool_bytes = 0;
    assert_ok(quarry_heap_draft(&heap, &options));
    assert_ok(quarry_heap_destroy(heap));
    options.pages++;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_draft(&heap, &options));
    return 1;
}

static void wrong_options_are_named(void **state)
{
    static const struct wrong_option wrong[] = {
        {"page_bytes is 8:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 8, 0, 0},
        {"from 16 to 1048576", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 24, 0, 0},
        {"page_bytes is 1048592:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, 0, MIB + 16, 10, 0},
        {"page_bytes is 18446744073709551600:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB,
         UINT64_MAX - 15, 0, 0},
        {"pages is 4294967233:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, 0, 16, (1ull << 32) - 63, 0},
        {"pages is 18446744073709551615:", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 0, UINT64_MAX, 0},
        {"probes", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_DEVICE, MIB, 0, 0, (1u << 24) + 1u},
        {"pool 6 does not exist", QUARRY_ERROR_ARGUMENT, (enum quarry_pool)6, MIB, 0, 0, 0},
        {"buffer is NULL", QUARRY_ERROR_ARGUMENT, QUARRY_POOL_BUFFER, MIB, 0, 0, 0},
        {"a pool of 1048576 bytes is too small: 4097 pages of 256 bytes", QUARRY_ERROR_POOL,
         QUARRY_POOL_DEVICE, MIB, 256, 4097, 0},
        {"a pool of 1 bytes is too small: 1 page of ", QUARRY_ERROR_POOL, QUARRY_POOL_DEVICE, 1, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_DEVICE, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_STREAM, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_MANAGED, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_PINNED, 1ull << 60, 0, 0, 0},
        {"device malloc has no", QUARRY_ERROR_MEMORY, QUARRY_POOL_MALLOC, 1ull << 60, 0, 0, 0},
        {"", QUARRY_ERROR_MEMORY, QUARRY_POOL_DEVICE, 0, MIB, (1ull << 32) - 64, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct quarry_allocator_info info;
        for (int a = 0; a < quarry_allocator_count(); a++) {
            struct quarry_heap_options options = the_options();
            quarry_heap *heap = (quarry_heap *)&options;
            assert_ok(quarry_allocator_describe(a, &info));
            if (!info.counts_slots) /* most options mean nothing to it */
                continue;
            options.allocator = info.name;
            options.pool = wrong[i].pool;
            options.pool_bytes = wrong[i].pool_bytes;
            options.page_bytes = wrong[i].page_bytes;
            options.pages = wrong[i].pages;
            const struct quarry_option probes = {"probes", wrong[i].probes};
            options.set = &probes;
            options.set_count = wrong[i].probes != 0;
            if (wrong[i].pages > 1u << 31 && takes_fewer(&options))
                continue;
            expect(wrong[i].status, quarry_heap_create(&heap, &options));
            expect_detail(wrong[i].text);
            assert_null(heap);
            assert_null(heap_test_left_error());
        }
    }
}

static void options_that_exclude_one_another(void **state)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap = NULL;
    (void)state;
    options.pool_bytes = MIB;
    options.buffer = &options;
    expect(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    expect_detail("buffer was given");
}

static void options_struct_may_be_shorter_or_longer(void **state)
{
    struct {
        struct quarry_heap_options options;
        uint64_t later[4];
    } longer;
    struct quarry_heap_description description;
    quarry_heap *heap = NULL;
    (void)state;
    memset(&longer, 0, sizeof longer);
    longer.options = the_options();
    longer.options.pool_bytes = MIB;
    longer.options.page_bytes = 512;
    longer.options.pages = 99; /* beyond what the shorter struct has */
    longer.options.oom = (enum quarry_oom)77;

    longer.options.struct_bytes = offsetof(struct quarry_heap_options, pages);
    assert_ok(quarry_heap_create(&heap, &longer.options));
    assert_ok(quarry_heap_describe(heap, &description));
    assert_int_equal(512, description.page_bytes);
    assert_true(description.pages > 1000);
    assert_ok(quarry_heap_destroy(heap));

    longer.options.oom = QUARRY_OOM_NULL;
    longer.options.struct_bytes = sizeof longer;
    assert_ok(quarry_heap_create(&heap, &longer.options));
    assert_ok(quarry_heap_destroy(heap));
    longer.later[3] = (uint64_t)1 << 56; /* the last byte */
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &longer.options));
    expect_detail("newer");
    longer.options.struct_bytes = 0;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &longer.options));
    expect_detail("QUARRY_HEAP_OPTIONS_INIT");
    longer.options.struct_bytes = SIZE_MAX;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &longer.options));
}

/* What a program had that was compiled when the struct ended with its pages: later versions may only add to
 * the end, so that the library still reads it. */
static void a_program_of_an_older_version_works(void **state)
{
    struct {
        size_t struct_bytes;
        struct quarry_target target;
        const char *allocator;
        const struct quarry_option *set;
        uint32_t set_count;
        int debug;
        enum quarry_pool pool;
        void *buffer;
        uint64_t pool_bytes;
        uint64_t page_bytes;
        uint64_t pages;
        unsigned char behind[64]; /* of no option: the library must not read it */
    } older;
    const struct quarry_option probes = {"probes", 7};
    struct quarry_heap_description description;
    quarry_heap *heap = NULL;
    (void)state;
    memset(&older, 0, sizeof older);
    memset(older.behind, 0xff, sizeof older.behind);
    older.struct_bytes = (size_t)((unsigned char *)older.behind - (unsigned char *)&older);
    older.target = base_target;
    older.allocator = "rw-bm";
    older.set = &probes;
    older.set_count = 1;
    older.page_bytes = 512;
    older.pages = 33;
    assert_int_equal(offsetof(struct quarry_heap_options, full), older.struct_bytes);
    assert_ok(quarry_heap_create(&heap, (const struct quarry_heap_options *)(const void *)&older));
    assert_ok(quarry_heap_describe(heap, &description));
    assert_string_equal("rw-bm", description.allocator);
    assert_int_equal(33, description.pages);
    assert_int_equal(512, description.page_bytes);
    assert_int_equal(7, described(&description, "probes"));
    assert_ok(quarry_heap_destroy(heap));
}

static void expect_set(enum quarry_status status, const char *allocator, const struct quarry_option *set,
                       uint32_t count, const char *text)
{
    struct quarry_heap_options options = the_options();
    quarry_heap *heap = NULL;
    options.allocator = allocator;
    options.pages = 100;
    options.set = set;
    options.set_count = count;
    assert_int_equal(status, quarry_heap_create(&heap, &options));
    if (status == QUARRY_OK)
        assert_ok(quarry_heap_destroy(heap));
    else
        expect_detail(text);
}

static void options_of_allocators_are_checked(void **state)
{
    const struct quarry_option unknown = {"probse", 1}, lanes = {"probe_lanes", 16}, bits = {"word_bits", 48},
                               nameless = {NULL, 1}, none = {"region_pages", 0};
    const struct quarry_option twice[] = {{"probes", 1}, {"probes", 1}};
    const struct quarry_option good[] = {{"probe_lanes", 1}, {"word_bits", 0}, {"probes", 0}};
    (void)state;
    expect_set(QUARRY_ERROR_ARGUMENT, "rw", &unknown, 1, "rw has no option \"probse\": it has probes");
    expect_set(QUARRY_ERROR_ARGUMENT, "cuda", &unknown, 1, "it has none");
    expect_set(QUARRY_ERROR_ARGUMENT, "rw-bm", &lanes, 1,
               "rw-bm has no option \"probe_lanes\": it has probes, word_bits");
    expect_set(QUARRY_OK, "corw", &lanes, 1, "");
    expect_set(QUARRY_ERROR_ARGUMENT, "corw", &bits, 1, "word_bits is 48: it must be 32 or 64");
    expect_set(QUARRY_ERROR_ARGUMENT, "corw", &nameless, 1, "option number 0 has no name");
    expect_set(QUARRY_ERROR_ARGUMENT, "scatter", &none, 1, "region_pages is 0: it must be 1 to 4096");
    expect_set(QUARRY_ERROR_ARGUMENT, "rw", twice, 2, "probes is given twice");
    expect_set(QUARRY_ERROR_ARGUMENT, "rw", NULL, 1, "set is NULL");
    expect_set(QUARRY_OK, "corw", good, 3, "");
}

/* Each option of each allocator: its standard is taken, the ends of its range are, and described; what lies
 * beyond is not. */
static void every_option_has_its_range(void **state)
{
    struct quarry_allocator_info info;
    struct quarry_option_info row;
    (void)state;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_option(i, info.options, &row));
        for (uint32_t k = 0; k < info.options; k++) {
            assert_ok(quarry_allocator_option(i, k, &row));
            assert_true(strlen(row.name) > 0 && strlen(row.help) > 0 && row.least <= row.most);
            const uint64_t fits[] = {row.standard, row.least, row.most};
            for (uint32_t v = 0; v < 3; v++) {
                const struct quarry_option option = {row.name, fits[v]};
                expect_set(QUARRY_OK, info.name, &option, 1, "");
            }
            const struct quarry_option above = {row.name, row.most + 1};
            expect_set(QUARRY_ERROR_ARGUMENT, info.name, &above, 1, row.name);
            const struct quarry_option below = {row.name, row.least - 1};
            if (row.least && row.standard != row.least - 1)
                expect_set(QUARRY_ERROR_ARGUMENT, info.name, &below, 1, row.name);
        }
    }
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_option(-1, 0, &row));
    expect(QUARRY_ERROR_ARGUMENT, quarry_allocator_option(0, 0, NULL));
}

static struct quarry_handle handle_with(const char *allocator, const struct quarry_option *set,
                                        uint32_t count)
{
    struct quarry_heap_options options = the_options();
    options.allocator = allocator;
    options.pages = 100;
    options.set = set;
    options.set_count = count;
    quarry_heap *heap = create(&options);
    struct quarry_handle handle = quarry_heap_handle(heap); /* outlives the heap here: only its numbers */
    assert_ok(quarry_heap_destroy(heap));
    return handle;
}

/* What kernels read is what was given, each in its place. */
static void options_reach_the_kernels(void **state)
{
    const struct quarry_option walk[] = {{"probes", 7}, {"word_bits", 64}, {"probe_lanes", 3}};
    const struct quarry_option scatter[] = {{"probes", 2},     {"region_pages", 3}, {"waste_factor", 4},
                                            {"hash_size", 5},  {"hash_sm", 6},      {"hash_warp", 7},
                                            {"hash_pages", 8}, {"keep_pages", 1},   {"serial", 1}};
    (void)state;
    struct quarry_handle heap = handle_with("corw", walk, 3);
    assert_int_equal(7, heap.as.walk.map.probes);
    assert_int_equal(6, heap.as.walk.map.word_shift);
    assert_int_equal(3, heap.as.walk.probe_lanes);
    assert_int_equal(7, handle_with("rw-malloc", walk, 1).as.runs.probes);
    assert_int_equal(7, handle_with("rw", walk, 1).as.rw.probes);
    heap = handle_with("scatter", scatter, sizeof scatter / sizeof *scatter);
    assert_int_equal(2, heap.as.scatter.probes);
    assert_int_equal(3, heap.as.scatter.region);
    assert_int_equal(4, heap.as.scatter.table.waste);
    assert_int_equal(5, heap.as.scatter.factor_size);
    assert_int_equal(6, heap.as.scatter.factor_sm);
    assert_int_equal(7, heap.as.scatter.factor_warp);
    assert_int_equal(8, heap.as.scatter.factor_pages);
    assert_int_equal(0, heap.as.scatter.table.reset);
    assert_int_equal(1, heap.as.scatter.serial);
}

/* Some have no use for what is inferred. */
static void proof_is_told_where_it_is_given(void **state)
{
    (void)state;
    struct quarry_allocator_info info;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        struct quarry_heap_options options = the_options();
        struct quarry_heap_description about;
        int proves = !info.infers_full;
        options.allocator = info.name;
        options.full = QUARRY_FULL_INFERRED;
        options.low_free = 0.1;
        options.pool_bytes = MIB;
        quarry_heap *heap = create(&options);
        assert_ok(quarry_heap_describe(heap, &about));
        assert_int_equal(about.full, proves ? QUARRY_FULL_PROVEN : QUARRY_FULL_INFERRED);
        assert_true(about.low_free == (proves ? 0 : 0.1));
        assert_ok(quarry_heap_destroy(heap));
    }
}

static void null_arguments_are_refused(void **state)
{
    quarry_heap *heap = create_pages(10);
    struct quarry_statistics statistics;
    struct quarry_heap_description description;
    uint64_t slots;
    (void)state;
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_create(NULL, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_reset(NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_check(NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_describe(NULL, &description));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_describe(heap, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_statistics(NULL, &statistics));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_statistics(heap, NULL));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_slots(NULL, 16, &slots));
    expect(QUARRY_ERROR_ARGUMENT, quarry_heap_slots(heap, 16, NULL));
    assert_ok(quarry_heap_destroy(NULL));
    assert_ok(quarry_heap_destroy(heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocators_are_listed),
        cmocka_unit_test(blocks_of_the_platform_are_not_counted),
        cmocka_unit_test(a_heap_for_device_malloc_needs_sources_that_ask),
        cmocka_unit_test(unknown_allocator_names_the_known),
        cmocka_unit_test(no_options_are_all_defaults),
        cmocka_unit_test(unsaid_size_is_the_devices),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(options_that_exclude_one_another),
        cmocka_unit_test(options_struct_may_be_shorter_or_longer),
        cmocka_unit_test(a_program_of_an_older_version_works),
        cmocka_unit_test(options_of_allocators_are_checked),
        cmocka_unit_test(every_option_has_its_range),
        cmocka_unit_test(options_reach_the_kernels),
        cmocka_unit_test(proof_is_told_where_it_is_given),
        cmocka_unit_test(null_arguments_are_refused),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("heap_options", tests, NULL, NULL) != 0;
}
