/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks whose free pages stay in them: what is on its way is not missed, and no page is had by two. */
#include "blocks/masks_kernels.h"
#include "blocks/seeds.h"

static struct quarry_target target;

static void run(const struct simt_kernel *start, const struct simt_kernel *kernel, uint32_t pages,
                uint32_t blocks, uint32_t threads)
{
    struct masks_case c = {0};
    struct quarry_target plain = test_plain(target);
    struct masks_memory *memory = test_memory(&plain, sizeof *memory);
    uint32_t wrong;
    c.memory = memory;
    c.sizes = quarry_classes_make(16 * pages, 16);
    c.table.word = memory->word;
    c.table.parked = memory->parked;
    c.table.fields = (pages + 31) / 32;
    c.table.page_bits = 6;
    c.store.head = &memory->head;
    c.store.returned.ends = &memory->head.returned;
    c.store.returned.slot = memory->returned;
    c.store.returned.mask = MASKS_CHUNKS - 1;
    c.store.count = MASKS_CHUNKS;
    test_run(start, &plain, 1, 1, 0, &c);
    target.workers = test_on_cuda(&target) ? 0 : 2; /* blocks wait for each other */
    test_run(kernel, &target, blocks, threads, 0, &c);
    assert_ok(quarry_memory_copy(&plain, &wrong, &memory->wrong, sizeof wrong));
    assert_int_equal(wrong, 0);
    test_memory_free(&plain, memory, sizeof *memory);
}

static void recall(uint64_t seed)
{
    (void)seed;
    run(&masks_units, &masks_recall, 2, 2, 1);
}

static void a_chunk_that_is_recalled_is_not_missed(void **state)
{
    (void)state;
    test_for_seeds(&target, recall, 2000);
}

static void want(uint64_t seed)
{
    (void)seed;
    run(&masks_both, &masks_want, 2, 1, 2);
}

static void a_chunk_is_recalled_for_who_still_needs_one(void **state)
{
    (void)state;
    test_for_seeds(&target, want, 100);
}

static void refuse(uint64_t seed)
{
    (void)seed;
    run(&masks_late, &masks_refuse, 2, 2, 1);
}

static void who_is_refused_knows_what_was_made(void **state)
{
    (void)state;
    test_for_seeds(&target, refuse, 2000);
}

static void free_all(uint64_t seed)
{
    (void)seed;
    run(&masks_had, &masks_free, 2, 1, 2);
}

static void what_lanes_have_freed_they_can_have(void **state)
{
    (void)state;
    test_for_seeds(&target, free_all, 2000);
}

static void stray(uint64_t seed)
{
    (void)seed;
    run(&masks_had, &masks_stray, MASKS_PAGES, 1, 1);
}

static void a_page_of_a_class_that_is_no_more_is_not_counted(void **state)
{
    (void)state;
    test_for_seeds(&target, stray, 1);
}

static void look(uint64_t seed)
{
    (void)seed;
    run(&masks_had, &masks_look, MASKS_PAGES, 1, 1);
}

static void who_looks_at_a_full_array_sees_all_of_it(void **state)
{
    (void)state;
    test_for_seeds(&target, look, 1);
}

static void no_late_chunk_is_none(void **state)
{
    (void)state;
    run(&masks_had, &masks_none, MASKS_PAGES, 1, 1);
}

static void no_page_behind_the_last_is_had(void **state)
{
    (void)state;
    for (uint32_t pages = 34; pages <= MASKS_PAGES; pages++)
        run(&masks_had, &masks_win, pages, 1, 1);
}

static void deal(uint64_t seed)
{
    (void)seed;
    run(&masks_new, &masks_deal, MASKS_PAGES, 2, 2);
}

static void a_page_that_is_dealt_is_had_once(void **state)
{
    (void)state;
    test_for_seeds(&target, deal, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(a_chunk_that_is_recalled_is_not_missed, &target),
        test_with_seeds(a_chunk_is_recalled_for_who_still_needs_one, &target),
        test_with_seeds(who_is_refused_knows_what_was_made, &target),
        test_with_seeds(what_lanes_have_freed_they_can_have, &target),
        test_with_seeds(a_page_of_a_class_that_is_no_more_is_not_counted, &target),
        test_with_seeds(who_looks_at_a_full_array_sees_all_of_it, &target),
        cmocka_unit_test(no_late_chunk_is_none),
        cmocka_unit_test(no_page_behind_the_last_is_had),
        test_with_seeds(a_page_that_is_dealt_is_had_once, &target),
    };
    target = test_target();
    return cmocka_run_group_tests_name("masks", tests, NULL, NULL) != 0;
}
