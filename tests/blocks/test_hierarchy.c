/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchical bitmaps: when all toggles have arrived each bit of each level is right, and no number is claimed twice. */
#include "blocks/hierarchy_kernels.h"
#include "blocks/seeds.h"

static struct quarry_target target;

/* Runs the kernel, and looks at what is left.  Returns the numbers that are in then. */
static uint32_t run(struct hierarchy_case c, uint32_t count, const struct simt_kernel *kernel,
                    uint32_t blocks, uint32_t threads)
{
    struct quarry_target plain = test_plain(target);
    uint32_t counts[HIERARCHY_COUNTS];
    c.shape = quarry_hierarchy_make(count);
    c.words = test_memory(&plain, sizeof *c.words * c.shape.words);
    c.parity = test_memory(&plain, sizeof *c.parity * count);
    c.visits = test_memory(&plain, sizeof *c.visits * count);
    c.counts = test_memory(&plain, sizeof counts);
    test_run(&hierarchy_start, &plain, 1, 32, 0, &c);
    if (kernel)
        test_run(kernel, &target, blocks, threads, 0, &c);
    test_run(&hierarchy_look, &plain, 1, 1, 0, &c);
    assert_ok(quarry_memory_copy(&plain, counts, c.counts, sizeof counts));
    assert_int_equal(counts[HIERARCHY_WRONG], 0);
    assert_int_equal(counts[HIERARCHY_IN], counts[HIERARCHY_FOUND]);
    if (kernel == &hierarchy_claims) {
        uint32_t *visits = malloc(sizeof *visits * count), sum = 0;
        assert_non_null(visits);
        assert_ok(quarry_memory_copy(&plain, visits, c.visits, sizeof *visits * count));
        for (uint32_t i = 0; i < count; i++)
            sum += visits[i];
        assert_int_equal(sum, counts[HIERARCHY_CLAIMS]);
        free(visits);
    }
    test_memory_free(&plain, c.words, 0);
    test_memory_free(&plain, c.parity, 0);
    test_memory_free(&plain, c.visits, 0);
    test_memory_free(&plain, c.counts, 0);
    return counts[HIERARCHY_IN];
}

/* The ends of words and of levels. */
static const uint32_t sizes[] = {1, 2, 63, 64, 65, 128, 130, 4095, 4096, 4097, 4161, 8200};
#define SIZES (sizeof sizes / sizeof *sizes)

static void all_are_found_one_after_the_other(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SIZES; i++) {
        struct hierarchy_case c = {0};
        assert_int_equal(run(c, sizes[i], NULL, 0, 0), 0);
        c.full = 1;
        assert_int_equal(run(c, sizes[i], NULL, 0, 0), sizes[i]);
    }
}

static void a_search_begins_where_the_switches_say(void **state)
{
    struct hierarchy_case c = {.full = 1};
    (void)state;
    assert_int_equal(run(c, 4096, &hierarchy_begins, 4, 64), 4096);
}

static void toggles(uint64_t seed)
{
    struct hierarchy_case c = {0};
    c.rounds = 1 + (uint32_t)(seed % 7);
    c.width = 1 + (uint32_t)(seed / 7 % 5);
    c.full = (uint32_t)(seed / 2 % 2);
    (void)run(c, seed % 16 ? sizes[seed / 16 % 7] : 4161, &hierarchy_toggles, 1,
              2 + (uint32_t)(seed / 3 % 5));
}

static void bits_are_right_when_all_toggles_have_arrived(void **state)
{
    (void)state;
    test_for_seeds(&target, toggles, 20000);
}

static void claims(uint64_t seed)
{
    static const uint32_t few[] = {1, 2, 3, 65, 66, 130};
    struct hierarchy_case c = {0};
    c.rounds = 1 + (uint32_t)(seed % 7);
    c.hold = (uint32_t)(seed / 7 % 3);
    c.full = 1;
    uint32_t count = few[seed / 2 % 6];
    assert_int_equal(run(c, count, &hierarchy_claims, 1, 2 + (uint32_t)(seed / 3 % 5)), count);
}

static void no_number_is_claimed_twice(void **state)
{
    (void)state;
    test_for_seeds(&target, claims, 20000);
}

static void many(void **state)
{
    struct hierarchy_case c = {0};
    uint32_t blocks = test_on_cuda(&target) ? 256 : 8;
    (void)state;
    c.rounds = 60;
    c.full = 1;
    assert_int_equal(run(c, 5000, &hierarchy_claims, blocks, 128), 5000);
    for (c.width = 1; c.width < 5000; c.width *= 7)
        (void)run(c, 5000, &hierarchy_toggles, blocks, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_found_one_after_the_other),
        cmocka_unit_test(a_search_begins_where_the_switches_say),
        test_with_seeds(bits_are_right_when_all_toggles_have_arrived, &target),
        test_with_seeds(no_number_is_claimed_twice, &target),
        cmocka_unit_test(many),
    };
    target = test_target();
    return cmocka_run_group_tests_name("hierarchy", tests, NULL, NULL) != 0;
}
