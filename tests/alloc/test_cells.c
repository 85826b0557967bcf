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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_lanes_divides_a_page),
        cmocka_unit_test(fields_of_pages_lie_apart),
        cmocka_unit_test(cells_end_where_fields_begin),
        cmocka_unit_test(a_cell_is_the_largest_that_is_free),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("cells", tests, NULL, NULL) != 0;
}
