/* SPDX-License-Identifier: Apache-2.0 */
/* tbuddy: each order has as many units as free blocks, a lock is seen, the tree takes no more than its page says, and
 * the blocks of any size fill the heap and become again what it was. */
#include "alloc/promises.h"

static struct quarry_heap_description about;
static struct quarry_heap_section units, tree;

static quarry_heap *make(uint64_t pages, uint64_t page_bytes)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_heap_section sections[QUARRY_HEAP_SECTIONS];
    quarry_heap *heap;
    options.target = base_target;
    options.allocator = "tbuddy";
    options.pages = pages;
    options.page_bytes = page_bytes;
    options.pool_bytes = 0;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    for (uint32_t i = quarry_heap_map(heap, sections, QUARRY_HEAP_SECTIONS); i-- > 0;) {
        if (strcmp(sections[i].name, "units") == 0)
            units = sections[i];
        if (strcmp(sections[i].name, "tree") == 0)
            tree = sections[i];
    }
    return heap;
}

/* Adds to a word of the pool. */
static void add(uint64_t offset, uint64_t value)
{
    uint64_t word;
    unsigned char *address = (unsigned char *)about.pool_base + offset;
    assert_ok(quarry_memory_copy(&base_target, &word, address, sizeof word));
    word += value;
    assert_ok(quarry_memory_copy(&base_target, address, &word, sizeof word));
}

/* Both words of the semaphore agree, and the tree has another number of blocks. */
static void a_wrong_count_is_seen(void **state)
{
    (void)state;
    for (uint64_t pages = 1; pages < 3000; pages = pages * 3 + 1) {
        quarry_heap *heap = make(pages, 64);
        for (uint64_t at = 0; at < units.bytes; at += sizeof(struct quarry_semaphore))
            for (int more = 0; more < 2; more++) {
                const uint64_t one = more ? 1 : (uint64_t)-1;
                const uint64_t there = units.offset + at + offsetof(struct quarry_semaphore, units);
                const uint64_t balance = units.offset + at + offsetof(struct quarry_semaphore, balance);
                add(there, one);
                add(balance, one * QUARRY_SEMAPHORE_UNIT);
                assert_int_equal(quarry_heap_check(heap), QUARRY_ERROR_CORRUPT);
                add(there, (uint64_t)0 - one);
                assert_int_equal(quarry_heap_check(heap), QUARRY_ERROR_CORRUPT); /* the words differ */
                add(balance, (uint64_t)0 - one * QUARRY_SEMAPHORE_UNIT);
                add(balance, 1); /* a unit is expected */
                assert_int_equal(quarry_heap_check(heap), QUARRY_ERROR_CORRUPT);
                add(balance, (uint64_t)-1);
                assert_ok(quarry_heap_check(heap));
            }
        assert_ok(quarry_heap_destroy(heap));
    }
}

static void a_lock_is_seen(void **state)
{
    (void)state;
    quarry_heap *heap = make(500, 64);
    for (uint64_t at = 0; at + 8 <= tree.bytes; at += 8) {
        add(tree.offset + at, QUARRY_BUDDY_LOCKED);
        assert_int_equal(quarry_heap_check(heap), QUARRY_ERROR_CORRUPT);
        add(tree.offset + at, (uint64_t)0 - QUARRY_BUDDY_LOCKED);
    }
    assert_ok(quarry_heap_check(heap));
    assert_ok(quarry_heap_destroy(heap));
}

static void a_page_has_few_bytes_of_the_tree(void **state)
{
    (void)state;
    for (uint64_t pages = 1; pages < 300000; pages = pages * 5 / 4 + 1) {
        quarry_heap *heap = make(pages, 16);
        assert_in_range(tree.bytes, pages / 2, pages * 8 / 5 + 16);
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* As many threads as blocks fill the heap without a NULL.  When they have freed them, in an order that the schedule
 * tells, the heap is one block again. */
static void fill_and_empty(uint32_t pages, uint64_t page_bytes, uint64_t seed)
{
    for (uint32_t order = 0; pages >> order; order++) {
        uint32_t threads = pages >> order;
        begin(pages, page_bytes, threads, seed);
        f.device.bytes = page_bytes << order;
        for (uint32_t again = 0; again < 2; again++) {
            expect_equal(run(&promise_malloc, threads).nulls, 0);
            expect_equal(slots(1), 0);
            run(&promise_verify, threads);
            run(&promise_free, threads);
            expect_empty();
            expect_equal(slots(f.about.max_block_bytes), 1);
        }
        expect_equal(f.about.max_block_bytes, pages * page_bytes);
        end();
    }
}

static void each_order(void)
{
    uint32_t pages = 2048;
    while (pages > capped(pages)) /* sanitizers are slow */
        pages /= 2;
    fill_and_empty(pages, 4096, 0);
    for (uint64_t seed = 1; !test_on_cuda(&base_target) && seed <= 40; seed++) { /* schedules are the CPU's */
        plain_options();
        base_target.bug_depth = seed % 2 ? 0 : 3;
        fill_and_empty(64, 16, seed);
    }
}

static void blocks_of_any_size_fill_the_heap_and_become_one_again(void **state)
{
    (void)state;
    for_each_proof(each_order);
}

int main(void)
{
    base_target = test_target();
    if (!getenv("QUARRY_TEST_ALLOCATOR"))
        setenv("QUARRY_TEST_ALLOCATOR", "tbuddy", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_count_is_seen),
        cmocka_unit_test(a_lock_is_seen),
        cmocka_unit_test(a_page_has_few_bytes_of_the_tree),
        cmocka_unit_test(blocks_of_any_size_fill_the_heap_and_become_one_again),
    };
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("tbuddy", tests, NULL, NULL) != 0;
}
