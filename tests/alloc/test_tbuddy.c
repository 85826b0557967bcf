/* SPDX-License-Identifier: Apache-2.0 */
/* tbuddy: each order has as many units as free blocks, a lock is seen, and the tree takes no more than its page says. */
#include "common.h"

#include "quarry/core/buddy.h"
#include "quarry/quarry.h"

static struct quarry_target target;
static struct quarry_heap_description about;
static struct quarry_heap_section units, tree;

static quarry_heap *begin(uint64_t pages, uint64_t page_bytes)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_heap_section sections[QUARRY_HEAP_SECTIONS];
    quarry_heap *heap;
    options.target = target;
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
    assert_ok(quarry_memory_copy(&target, &word, address, sizeof word));
    word += value;
    assert_ok(quarry_memory_copy(&target, address, &word, sizeof word));
}

/* Both words of the semaphore agree, and the tree has another number of blocks. */
static void a_wrong_count_is_seen(void **state)
{
    (void)state;
    for (uint64_t pages = 1; pages < 3000; pages = pages * 3 + 1) {
        quarry_heap *heap = begin(pages, 64);
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
    quarry_heap *heap = begin(500, 64);
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
        quarry_heap *heap = begin(pages, 16);
        assert_in_range(tree.bytes, pages / 2, pages * 8 / 5 + 16);
        assert_ok(quarry_heap_destroy(heap));
    }
}

int main(void)
{
    target = test_target();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_count_is_seen),
        cmocka_unit_test(a_lock_is_seen),
        cmocka_unit_test(a_page_has_few_bytes_of_the_tree),
    };
    return cmocka_run_group_tests_name("tbuddy", tests, NULL, NULL) != 0;
}
