/* SPDX-License-Identifier: Apache-2.0 */
/* What a user needs to find a bug: live blocks are listed with what is known of them, on every heap, and leaks are
 * named whatever else was wrong.  With all of alloc/list.def and alloc/extra.def, or the ones that QUARRY_TEST_ALLOCATOR
 * names, on the backend that QUARRY_TEST_BACKEND names. */
#include "debug_test.h"
#include "heap_test_cuda.h"
#include "tag_kernels.h"

#define MOST 70000u

/* ---- the list of blocks ---- */

struct seen {
    uint32_t count;
    uint32_t most; /* end after so many */
    uint64_t bytes;
    uint64_t last;
    struct quarry_block block[16]; /* the first of them, */
    char tag[16][128];             /* and their tags, */
    char kernel[16][64];           /* and kernels */
};
static struct seen seen;

static int see(const struct quarry_block *block, void *user)
{
    struct seen *s = (struct seen *)user;
    expect((uint64_t)(uintptr_t)block->address > s->last); /* in order, each once */
    s->last = (uint64_t)(uintptr_t)block->address;
    s->bytes += block->bytes;
    if (s->count < 16) {
        s->block[s->count] = *block;
        snprintf(s->tag[s->count], sizeof s->tag[0], "%s", block->tag);
        snprintf(s->kernel[s->count], sizeof s->kernel[0], "%s", block->kernel);
    }
    s->count++;
    return s->count == s->most;
}

static void list(void)
{
    memset(&seen, 0, sizeof seen);
    assert_ok(quarry_heap_each(f.heap, see, &seen));
}

static int by_address(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

struct expected {
    const uint64_t *address; /* in order */
    uint64_t count;
    uint64_t next;
    uint64_t slack; /* bytes that a block may begin before the user's */
};

static int compare(const struct quarry_block *block, void *user)
{
    struct expected *e = (struct expected *)user;
    expect(e->next < e->count);
    const uint64_t begin = (uint64_t)(uintptr_t)block->address, address = e->address[e->next++];
    expect(begin == address);
    expect(block->bytes >= f.device.bytes);
    return 0;
}

/* The list is just the blocks of these slots. */
static void expect_listed(uint32_t slot, uint32_t count)
{
    uint64_t *address = (uint64_t *)calloc(count + 1u, sizeof *address);
    struct expected e = {address, count, 0, 0};
    assert_non_null(address);
    assert_ok(quarry_memory_copy(&f.target, address, f.device.block + slot, count * sizeof *address));
    qsort(address, count, sizeof *address, by_address);
    assert_ok(quarry_heap_each(f.heap, compare, &e));
    expect_equal(e.next, count);
    free(address);
}

static void begin_plain(uint64_t pages, uint64_t page_bytes, int debug)
{
    f.target = base_target;
    struct quarry_heap_options options = the_options(pages, page_bytes);
    options.debug = debug;
    begin_with(&options);
}

static void live_blocks_are_listed_here(void)
{
    for (int debug = 0; debug < 2; debug++) {
        struct quarry_statistics s;
        begin_plain(300, PAGE_BYTES, debug);
        list();
        expect_equal(seen.count, 0);
        run(&debug_malloc, 0, 200, 0);
        expect_listed(0, 200);
        f.device.offset = 0;
        run(&debug_free, 0, 120, 0);
        expect_listed(120, 80);
        assert_ok(quarry_heap_statistics(f.heap, &s));
        list();
        expect_equal(seen.count, s.live_blocks);
        if (!debug)
            expect_equal(seen.bytes, s.live_bytes);
        else
            expect_equal(seen.bytes, 80 * PAGE_BYTES);
        seen.count = 0;
        seen.last = 0;
        seen.most = 7; /* the visitor ends it */
        assert_ok(quarry_heap_each(f.heap, see, &seen));
        expect_equal(seen.count, 7);
        run(&debug_free, 120, 80, 120);
        list();
        expect_equal(seen.count, 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(live_blocks_are_listed)

/* More than are listed at once. */
static void many_blocks_are_listed_here(void)
{
    const uint32_t threads = capped(MOST) < SLOTS ? capped(MOST) : SLOTS;
    begin_plain(MOST, 16, 0);
    f.device.bytes = 3;
    run(&debug_malloc, 0, threads, 0);
    expect_listed(0, threads);
    run(&debug_malloc, 0, threads, 0); /* over two lists: what lived is leaked */
    list();
    expect_equal(seen.count, 2 * threads);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(many_blocks_are_listed)

static void large_blocks_are_listed_once_here(void)
{
    if (!f.several)
        return;
    for (int debug = 0; debug < 2; debug++) {
        begin_plain(40, PAGE_BYTES, debug);
        f.device.bytes = 3 * (uint64_t)PAGE_BYTES;
        run(&debug_malloc, 0, 5, 0);
        expect_listed(0, 5);
        f.device.offset = 0;
        run(&debug_free, 0, 5, 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(large_blocks_are_listed_once)

static void a_list_needs_blocks_that_can_be_found(void **state)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    (void)state;
    options.target = base_target;
    options.allocator = "cuda";
    options.pool_bytes = 1 << 20;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_each(heap, see, &seen));
    assert_non_null(strstr(quarry_error_detail(), "allocator cuda can't list its blocks"));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_each(heap, NULL, &seen));
    assert_ok(quarry_heap_destroy(heap));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_each(NULL, see, &seen));
}

/* ---- what debug mode knows of a block ---- */

static uint32_t launch_of(const struct simt_kernel *kernel, uint32_t thread, uint32_t slot)
{
    f.device.bytes = 20;
    run(kernel, thread, 1, slot);
    list();
    return seen.block[seen.count - 1].launch;
}

static void threads_and_launches_are_known_here(void)
{
    begin(1000, PAGE_BYTES, 0);
    f.device.bytes = 20;
    run(&debug_malloc, 3, 2, 0);
    list();
    expect_equal(seen.count, 2);
    expect_equal(seen.block[0].thread + seen.block[1].thread, 3 + 4);
    expect(seen.block[0].launch != 0);
    expect_equal(seen.block[0].launch, seen.block[1].launch);
    expect_equal(seen.block[0].bytes, 20);
    expect(strcmp(seen.kernel[0], "debug_malloc") == 0);
    expect(strcmp(seen.tag[0], "") == 0);
    const uint32_t first = seen.block[0].launch;
    f.device.offset = 0;
    run(&debug_free, 3, 2, 0);
    expect_equal(launch_of(&debug_malloc, 5, 0), first + 2); /* launches of the library itself do not count */
    run(&debug_free, 5, 1, 0);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(threads_and_launches_are_known)

/* Names of all launches are kept, however many there are while the heap lives. */
static void kernels_of_many_launches_are_known(void **state)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    (void)state;
    f.target = options.target = base_target;
    options.pages = 40;
    options.debug = 1;
    f.allocator = "rw-malloc";
    memset(&f.device, 0, sizeof f.device);
    assert_ok(quarry_heap_create(&heap, &options));
    f.heap = heap;
    f.device.heap = quarry_heap_handle(heap);
    f.device.block = test_memory(&f.target, SLOTS * sizeof *f.device.block);
    f.device.bytes = 8;
    run(&debug_malloc, 0, 1, 0);
    for (uint32_t i = 1; i < 2500; i++)
        run(&debug_mark, 0, 1, 0);
    run(&debug_malloc, 0, 1, 1);
    list();
    expect_equal(seen.count, 2);
    const int64_t apart = (int64_t)seen.block[0].launch - seen.block[1].launch;
    expect(apart == 2500 || apart == -2500);
    expect(strcmp(seen.kernel[0], "debug_malloc") == 0);
    expect(strcmp(seen.kernel[1], "debug_malloc") == 0);
    assert_int_equal(QUARRY_ERROR_LEAK, quarry_heap_destroy(heap));
    test_memory_free(&f.target, f.device.block, 0);
}

/* Only a GPU runs kernels that the program launches itself. */
static void plain_launches_have_no_number_here(void)
{
    if (!test_on_cuda(&base_target))
        return;
    begin(40, PAGE_BYTES, 0);
    run(&debug_malloc, 3, 1, 0);
    f.device.thread = 5;
    f.device.slot = 1;
    expect(heap_test_plain_launch(&debug_malloc, &f.device));
    list();
    expect_equal(seen.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        expect_equal(seen.block[i].launch != 0, seen.block[i].thread == 3);
        expect(strcmp(seen.kernel[i], seen.block[i].thread == 3 ? "debug_malloc" : "") == 0);
    }
    f.device.offset = 0;
    run(&debug_free, 3, 1, 0);
    run(&debug_free, 5, 1, 1);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(plain_launches_have_no_number)

/* As a user sees them, launches and all. */
static void texts_name_launches_and_tags_here(void)
{
    char expected[1024], text[QUARRY_DEBUG_TEXT_BYTES];
    uint64_t address;
    begin(40, PAGE_BYTES, 0);
    struct tag_case a = {f.device.heap, f.device.block, 33};
    test_run(&tag_given, &f.target, 1, 1, 0, &a); /* thread 0 alone */
    assert_ok(quarry_memory_copy(&f.target, &address, f.device.block, sizeof address));
    list();
    const uint32_t first = seen.block[0].launch;
    release(7, 0, 0);
    release(17, 0, 0);
    assert_ok(quarry_heap_debug_report(f.heap, text, sizeof text));
    snprintf(expected, sizeof expected,
             "double free: 1 time, first: 33 bytes at 0x%" PRIx64 " by thread 17 in launch %" PRIu32
             ", debug_free (allocated by thread 0 in launch %" PRIu32 ", tag_given, tag queue)\n",
             address, first + 2, first);
    if (strcmp(text, expected) != 0)
        fail_msg("the report is\n%sexpected\n%s", text, expected);
    allocate(5, 1, 20);
    end(QUARRY_ERROR_CORRUPT);
    const char *detail = quarry_error_detail(); /* names both */
    expect(strstr(detail, "double free: 1 time") == detail);
    snprintf(expected, sizeof expected, ", allocated by thread 5 in launch %" PRIu32 ", debug_malloc",
             first + 3);
    const char *leak = strstr(
        detail, "; and 1 block of 20 bytes was still live when the heap was destroyed: 20 bytes at 0x");
    expect(leak != NULL);
    expect(leak && strcmp(leak + strlen(leak) - strlen(expected), expected) == 0);
}
FOR_EACH_ALLOCATOR(texts_name_launches_and_tags)

/* A check that finds nothing leaves free blocks' tags alone. */
static void freed_blocks_keep_their_tags_here(void)
{
    begin(40, PAGE_BYTES, 0);
    struct tag_case a = {f.device.heap, f.device.block, 33};
    test_run(&tag_given, &f.target, 1, 1, 0, &a); /* "queue" */
    release(0, 0, 0);
    assert_ok(quarry_heap_check(f.heap));
    overwrite(0, 5);
    expect(quarry_heap_check(f.heap) == QUARRY_ERROR_CORRUPT);
    expect(strstr(report(), "write after free: 1 time") == f.text);
    expect(strstr(f.text, ", tag queue)") != NULL);
    end(QUARRY_ERROR_CORRUPT);
}
FOR_EACH_ALLOCATOR(freed_blocks_keep_their_tags)

/* Tags of the list, by the thread that allocated the block. */
static const char *tag_of(uint32_t thread)
{
    for (uint32_t i = 0; i < seen.count; i++)
        if (seen.block[i].thread == thread)
            return seen.tag[i];
    return "(not listed)";
}

static void expect_tag(uint32_t thread, const char *expected)
{
    if (strcmp(tag_of(thread), expected) != 0)
        fail_msg("%s: thread %u has tag \"%s\", expected \"%s\"", f.allocator, thread, tag_of(thread),
                 expected);
}

static void expect_place(uint32_t thread, uint32_t line)
{
    char expected[64];
    const char *tag = tag_of(thread);
    snprintf(expected, sizeof expected, "tag_kernels.c:%" PRIu32, line);
    if (strlen(tag) < strlen(expected) || strcmp(tag + strlen(tag) - strlen(expected), expected) != 0)
        fail_msg("%s: thread %u has tag \"%s\", expected \"%s\"", f.allocator, thread, tag, expected);
}

static void tags_are_kept_here(void)
{
    begin(40, PAGE_BYTES, 0);
    struct tag_case a = {f.device.heap, f.device.block, 33};
    test_run(&tag_given, &f.target, 1, 32, 0, &a);
    list();
    expect_equal(seen.count, TAG_WAYS);
    expect_tag(TAG_WORD, "queue");
    expect_tag(TAG_LONG, "789012345678901234567890123456789012345678901234567890123456789");
    expect_place(TAG_HERE, TAG_HERE_LINE);
    expect_tag(TAG_CHANGED, "second");
    expect_tag(TAG_NONE, "");
    expect_equal(seen.bytes, 33 * TAG_WAYS);
    assert_ok(quarry_heap_check(f.heap)); /* which leaves tags alone */
    list();
    expect_tag(TAG_WORD, "queue");
    f.device.offset = 0;
    run(&debug_free, 0, TAG_WAYS, 0);
    test_run(&tag_places, &f.target, 1, 32, 0, &a);
    list();
    expect_equal(seen.count, TAG_CALLS);
    for (uint32_t call = 0; call < TAG_CALLS; call++)
        expect_place(call, TAG_FIRST_LINE + call);
    run(&debug_free, 0, TAG_CALLS, 0);
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(tags_are_kept)

/* Tags do nothing elsewhere. */
static void a_plain_heap_has_no_tags_here(void)
{
    begin_plain(40, PAGE_BYTES, 0);
    struct tag_case a = {f.device.heap, f.device.block, 33};
    test_run(&tag_given, &f.target, 1, 32, 0, &a);
    list();
    expect_equal(seen.count, TAG_WAYS);
    for (uint32_t i = 0; i < TAG_WAYS; i++) {
        expect_equal(seen.block[i].thread, QUARRY_NO_THREAD);
        expect_equal(seen.block[i].launch, 0);
        expect(strcmp(seen.tag[i], "") == 0);
        expect(strcmp(seen.kernel[i], "") == 0);
    }
    f.device.offset = 0;
    run(&debug_free, 0, TAG_WAYS, 0);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(a_plain_heap_has_no_tags)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_blocks_are_listed),
        cmocka_unit_test(many_blocks_are_listed),
        cmocka_unit_test(large_blocks_are_listed_once),
        cmocka_unit_test(a_list_needs_blocks_that_can_be_found),
        cmocka_unit_test(threads_and_launches_are_known),
        cmocka_unit_test(kernels_of_many_launches_are_known),
        cmocka_unit_test(plain_launches_have_no_number),
        cmocka_unit_test(texts_name_launches_and_tags),
        cmocka_unit_test(freed_blocks_keep_their_tags),
        cmocka_unit_test(tags_are_kept),
        cmocka_unit_test(a_plain_heap_has_no_tags),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL) != 0;
}
