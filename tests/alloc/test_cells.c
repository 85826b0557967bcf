/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that scatter divides into cells: whoever divides them, and wherever their fields are.  test_scatter.c has the
 * programs of many threads. */
#include "alloc/promises.h"

static void choose(void)
{
    f.allocator = "scatter";
    f.fixed = 0;
    f.word_bits = 0;
    plain_options();
}

static void expect_sound(void)
{
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
}

/* A page of 63 cells, by the first n lanes of a warp; then the others have cells until none is left. */
static void any_number_of_lanes_divides_a_page(void **state)
{
    (void)state;
    choose();
    for (uint32_t n = 1; n <= SIMT_LANES; n++) {
        begin(1, 1024, 2 * SIMT_LANES, 0);
        f.block_threads = SIMT_LANES;
        f.device.bytes = 16;
        f.device.lanes = SIMT_ALL_LANES >> (SIMT_LANES - n);
        expect_equal(run(&promise_malloc, SIMT_LANES).blocks, n);
        expect_sound();
        expect_equal(statistics().live_blocks, n);
        f.device.lanes = SIMT_ALL_LANES;
        expect_equal(run(&promise_malloc, 2 * SIMT_LANES).nulls, 1);
        run(&promise_verify, 2 * SIMT_LANES);
        expect_sound();
        run(&promise_free, 2 * SIMT_LANES);
        expect_empty();
        end();
    }
    plain_options();
}

/* In debug mode fields lie beside each other.  A page of few cells, and one of 1024, with 32 fields, by its side. */
static void fields_of_pages_lie_apart(void **state)
{
    (void)state;
    choose();
    f.debug = 1;
    for (uint32_t few = 0; few < 2; few++) { /* which thread's page comes first */
        begin(2, 131072, SIMT_LANES, 0);
        for (uint32_t i = 0; i < 2; i++) {
            f.device.bytes = i == few ? 2000 : 16;
            f.device.lanes = 1u << i;
            expect_equal(run(&promise_malloc, SIMT_LANES).blocks, 1);
            expect_sound();
        }
        expect_equal(statistics().live_blocks, 2);
        f.device.lanes = 3;
        run(&promise_free, SIMT_LANES);
        expect_empty();
        end();
    }
    plain_options();
}

/* 130 cells of 2080 bytes and 20 bytes of fields leave 2076 bytes of the page: 4 too few for 16 more in each cell. */
static void cells_end_where_fields_begin(void **state)
{
    enum { CELLS = 130, PAGE_BYTES = 272496, CELL_BYTES = 2080 };
    (void)state;
    choose();
    begin(1, PAGE_BYTES, CELLS + 1, 0);
    f.device.bytes = CELL_BYTES;
    expect_equal(run(&promise_malloc, CELLS + 1).nulls, 1);
    expect_equal(statistics().live_bytes, CELLS * CELL_BYTES);
    run(&promise_free, CELLS + 1);
    expect_empty();
    end();
}

static void a_cell_is_the_largest_that_is_free(void **state)
{
    (void)state;
    choose();
    begin(1, 4096, SIMT_LANES, 0);
    expect_equal(statistics().largest_free_bytes, 4096);
    f.device.bytes = 1024;
    for (uint32_t n = 1; n <= 4; n++) {
        f.device.lanes = 1u << n;
        expect_equal(run(&promise_malloc, SIMT_LANES).blocks, 1);
        expect_equal(statistics().largest_free_bytes, n < 4 ? 1024 : 0);
        expect_equal(statistics().live_bytes, n * 1024);
    }
    f.device.lanes = SIMT_ALL_LANES;
    run(&promise_free, SIMT_LANES);
    expect_empty();
    end();
}

#define SEEDS 200u /* of the deterministic scheduler */
#define FULL_PAGES 40u
#define FULL_PAGE_BYTES 1024u

static int by_address(const void *one, const void *other)
{
    unsigned char *const *a = one, *const *b = other;
    return *a < *b ? -1 : *a > *b;
}

/* A full heap but for what serves thread 0's request just so.  Thread 1 asks for what nobody can have, and while both
 * sweep it may be the one that reads what thread 0 looks for: it must say so.
 *   filled, freed   bytes of the blocks, and how many neighbours of them are free
 *   mine, other     bytes of either request */
static void sweep_together(uint64_t filled, uint32_t freed, uint64_t mine, uint64_t other)
{
    static unsigned char *block[FULL_PAGES * FULL_PAGE_BYTES / 48], *given[FULL_PAGES * FULL_PAGE_BYTES / 48];
    uint32_t count = FULL_PAGES * (uint32_t)(FULL_PAGE_BYTES / filled);
    choose();
    f.probes = 1;
    set_option("region_pages", 1);
    set_option("access_blocks", 4);
    begin(FULL_PAGES, FULL_PAGE_BYTES, count, 0);
    f.device.bytes = filled;
    expect_equal(run(&promise_malloc, count).nulls, 0);
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof *block * count));
    qsort(block, count, sizeof *block, by_address);
    memset(given, 0, sizeof given);
    for (uint32_t i = 0; i < freed; i++) {
        given[i] = block[count / 2 + i];
        block[count / 2 + i] = NULL;
    }
    assert_ok(quarry_memory_copy(&f.target, f.device.block, given, sizeof *block * count));
    run(&promise_free, count);
    struct promise_two two = {.bytes = {mine, other}, .threads = 2, .select = 1};
    for (int i = 0; i < 2; i++) {
        two.heap[i] = f.device.heap;
        two.pool[i] = f.device.pool;
        two.pool_bytes[i] = f.device.pool_bytes;
    }
    two.block = test_memory(&f.target, sizeof *two.block * 2);
    two.nulls = test_memory(&f.target, sizeof *two.nulls * 2);
    two.wrong = test_memory(&f.target, sizeof *two.wrong);
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        uint32_t nulls[2];
        f.target.seed = seed;
        f.target.bug_depth = seed % 4 == 3 ? 3 : 0;
        assert_ok(quarry_memory_fill(&f.target, two.nulls, 0, sizeof nulls));
        test_run(&promise_two_malloc, &f.target, 1, 2, 0, &two);
        assert_ok(quarry_memory_copy(&f.target, nulls, two.nulls, sizeof nulls));
        expect_equal(nulls[0], 0);
        expect_equal(nulls[1], 1);
        test_run(&promise_two_free, &f.target, 1, 2, 0, &two);
    }
    f.target = base_target;
    test_memory_free(&f.target, two.block, 0);
    test_memory_free(&f.target, two.nulls, 0);
    test_memory_free(&f.target, two.wrong, 0);
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof *block * count));
    run(&promise_free, count);
    expect_empty();
    end();
    plain_options();
}

static void who_helps_a_sweep_tells_what_others_can_use(void **state)
{
    (void)state;
    sweep_together(48, 1, 48, FULL_PAGE_BYTES); /* a cell of 21 */
    sweep_together(FULL_PAGE_BYTES, 3, 3 * FULL_PAGE_BYTES, 4 * FULL_PAGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_lanes_divides_a_page),
        cmocka_unit_test(fields_of_pages_lie_apart),
        cmocka_unit_test(cells_end_where_fields_begin),
        cmocka_unit_test(a_cell_is_the_largest_that_is_free),
        cmocka_unit_test(who_helps_a_sweep_tells_what_others_can_use),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("cells", tests, NULL, NULL) != 0;
}
