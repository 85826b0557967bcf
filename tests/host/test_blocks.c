/* SPDX-License-Identifier: Apache-2.0 */
/* What a user needs to find a bug: live blocks are listed with what is known of them, on every heap; leaks are named
 * whatever else was wrong; a heap with statistics counts what it does; and the environment switches these on.  With
 * all of alloc/list.def and alloc/extra.def, or the ones that QUARRY_TEST_ALLOCATOR names, on the backend that
 * QUARRY_TEST_BACKEND names. */
#include "debug_test.h"
#include "heap_test_cuda.h"
#include "tag_kernels.h"

#include <unistd.h>

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

/* ---- totals ---- */

enum kind { PLAIN, WARP, DEBUG, KINDS };

static void begin_counting(uint64_t pages, uint64_t page_bytes, uint64_t seed, enum kind kind)
{
    f.target = base_target;
    f.target.seed = seed;
    struct quarry_heap_options options = the_options(pages, page_bytes);
    options.debug = kind == DEBUG;
    options.distribution = kind == WARP ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
    options.statistics = 1;
    begin_with(&options);
}

static struct quarry_totals totals(void)
{
    struct quarry_totals t;
    struct quarry_statistics s;
    assert_ok(quarry_heap_totals(f.heap, &t));
    assert_ok(quarry_heap_statistics(f.heap, &s));
    expect_equal(t.live_blocks, s.live_blocks); /* what it counted is what a census finds */
    expect_equal(t.live_bytes, s.live_bytes);
    expect_equal(t.refused_mallocs, s.refused_mallocs);
    expect(t.peak_blocks >= t.live_blocks && t.peak_bytes >= t.live_bytes);
    expect(t.total_blocks >= t.peak_blocks && t.total_bytes >= t.peak_bytes);
    uint64_t failed = 0;
    for (uint32_t i = 0; i < QUARRY_SIZE_CLASSES; i++) {
        expect_equal(t.size_class[i].most_bytes,
                     i == QUARRY_SIZE_CLASSES - 1 ? UINT64_MAX : (uint64_t)16 << i);
        failed += t.size_class[i].failed;
    }
    expect_equal(failed, s.failed_mallocs);
    return t;
}

static uint64_t served(const struct quarry_totals *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < QUARRY_SIZE_CLASSES; i++)
        sum += t->size_class[i].mallocs;
    return sum;
}

static void totals_are_exact_here(void)
{
    for (enum kind kind = PLAIN; kind < KINDS; kind++) {
        begin_counting(100, PAGE_BYTES, 0, kind);
        struct quarry_totals t = totals();
        expect_equal(t.total_blocks, 0);
        f.device.bytes = 40;
        run(&debug_malloc, 0, 30, 0);
        t = totals();
        const uint64_t blocks = t.total_blocks, bytes = t.total_bytes; /* of 30 requests */
        expect(kind == WARP ? blocks <= 30 : blocks == 30);
        expect(bytes >= 30 * 40);
        expect_equal(t.live_blocks, blocks);
        expect_equal(t.peak_blocks, blocks);
        expect_equal(t.peak_bytes, bytes);
        expect_equal(t.size_class[2].mallocs, 30); /* up to 64 bytes */
        expect_equal(served(&t), 30);
        f.device.offset = 0;
        run(&debug_free, 0, 30, 0);
        t = totals();
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        expect_equal(t.peak_blocks, blocks);
        expect_equal(t.peak_bytes, bytes);
        f.device.bytes = 16;
        run(&debug_malloc, 0, 1, 0);
        f.device.bytes = f.about.max_block_bytes + 1;
        run(&debug_malloc, 1, 3, 1);
        t = totals();
        expect_equal(t.live_blocks, 1);
        expect_equal(t.peak_blocks, blocks);
        expect_equal(t.total_blocks, blocks + 1);
        expect_equal(t.size_class[0].mallocs, 1); /* up to 16 */
        expect_equal(t.refused_mallocs, 3);
        assert_ok(quarry_heap_reset(f.heap));
        t = totals();
        expect_equal(t.total_blocks + t.peak_bytes + served(&t) + t.refused_mallocs, 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(totals_are_exact)

/* What an aligned block gives back at once is not counted any more. */
static void trimmed_blocks_are_counted_here(void)
{
    for (enum kind kind = PLAIN; kind < KINDS; kind++) {
        begin_counting(200, 64, 0, kind);
        f.device.bytes = 40;
        f.device.offset = 1024;
        run(&debug_align, 0, 3, 0);
        struct quarry_totals t;
        struct quarry_statistics now;
        assert_ok(quarry_heap_totals(f.heap, &t));
        assert_ok(quarry_heap_statistics(f.heap, &now));
        expect_equal(t.live_blocks, now.live_blocks);
        expect_equal(t.live_bytes, now.live_bytes);
        expect_equal(t.total_bytes, now.live_bytes);
        if (kind == PLAIN && f.about.max_block_bytes >= 1064)
            expect(t.live_blocks == 3 && t.live_bytes == (uint64_t)3 * 64);
        f.device.offset = 0;
        run(&debug_free, 0, 3, 0);
        assert_ok(quarry_heap_totals(f.heap, &t));
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(trimmed_blocks_are_counted)

static void failed_mallocs_are_counted_by_size_here(void)
{
    for (enum kind kind = PLAIN; kind < KINDS; kind++) {
        begin_counting(10, PAGE_BYTES, 0, kind);
        const uint64_t most =
            f.about.page_bytes < f.about.max_block_bytes ? f.about.page_bytes : f.about.max_block_bytes;
        f.device.bytes = most;
        run(&debug_malloc, 0, 500, 0);
        struct quarry_totals t = totals();
        uint32_t i = 0;
        while (((uint64_t)16 << i) < most)
            i++;
        expect(t.size_class[i].mallocs > 0);
        expect(t.size_class[i].failed > 0);
        expect_equal(t.size_class[i].mallocs + t.size_class[i].failed, 500);
        f.device.bytes = 1;
        run(&debug_malloc, 0, 500, 500);
        t = totals();
        expect_equal(t.size_class[0].mallocs + t.size_class[0].failed, 500);
        assert_ok(quarry_heap_reset(f.heap));
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(failed_mallocs_are_counted_by_size)

static void totals_are_right_after_any_run_here(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        const enum kind kind = (enum kind)(seed % KINDS);
        begin_counting(seed % 2 ? 20 : 100, 48, seed, kind);
        f.device.turns = 4;
        f.device.bytes = f.several ? 100 : 40;
        if (kind == DEBUG)
            run(&debug_churn, 0, 96, 0);
        else
            run(&debug_malloc, 0, 96, 0);
        totals();
        if (kind != DEBUG) {
            f.device.offset = 0;
            run(&debug_free, 0, 96, 0);
        }
        const struct quarry_totals t = totals();
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        expect(t.peak_blocks > 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(totals_are_right_after_any_run)

/* Several words of a map each, beside claims that are about to fail. */
static void totals_are_right_of_large_blocks_here(void)
{
    if (f.fixed)
        return;
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        begin_counting(600, 16, seed, PLAIN);
        f.device.turns = 3;
        f.device.bytes = 1000;
        run(&debug_churn, 0, 48, 0);
        const struct quarry_totals t = totals();
        expect_equal(t.live_blocks, 0);
        expect_equal(t.live_bytes, 0);
        expect(t.peak_bytes > 0 && t.peak_bytes <= f.about.pages * f.about.page_bytes);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(totals_are_right_of_large_blocks)

static void totals_are_an_option(void **state)
{
    struct quarry_totals t;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    char text[QUARRY_INFO_TEXT_BYTES];
    (void)state;
    options.target = base_target;
    options.pages = 10;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_totals(heap, &t));
    assert_non_null(strstr(quarry_error_detail(), "options.statistics"));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_totals(heap, NULL));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_totals(NULL, &t));
    assert_null(quarry_heap_handle(heap).policy); /* kernels do nothing more */
    assert_ok(quarry_heap_info(heap, text, sizeof text));
    assert_non_null(strstr(text, "\nstatistics     off\n"));
    assert_ok(quarry_heap_destroy(heap));
    options.statistics = 1;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_info(heap, text, sizeof text));
    assert_non_null(strstr(text, "\nstatistics     on"));
    assert_ok(quarry_heap_destroy(heap));
    options.allocator = "cuda";
    options.pages = 0;
    options.pool_bytes = 1 << 20;
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    assert_non_null(strstr(quarry_error_detail(), "allocator cuda has no statistics"));
}

/* ---- the environment ---- */

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
    assert_string_equal("rw-malloc", about.allocator);
    assert_ok(quarry_heap_destroy(heap));
    expect_refused(
        "QUARRY_DEFAULT_ALLOCATOR", "none-such", &options, QUARRY_ERROR_ALLOCATOR,
        "with QUARRY_DEFAULT_ALLOCATOR=none-such in the environment: there is no allocator \"none-such\"");
    options.allocator = "rw"; /* the program names one */
    assert_ok(create_with("QUARRY_DEFAULT_ALLOCATOR", "none-such", &options, &heap));
    assert_ok(quarry_heap_describe(heap, &about));
    assert_string_equal("rw", about.allocator);
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
        cmocka_unit_test(totals_are_exact),
        cmocka_unit_test(trimmed_blocks_are_counted),
        cmocka_unit_test(failed_mallocs_are_counted_by_size),
        cmocka_unit_test(totals_are_right_after_any_run),
        cmocka_unit_test(totals_are_right_of_large_blocks),
        cmocka_unit_test(totals_are_an_option),
        cmocka_unit_test(the_environment_switches_debug_mode_on),
        cmocka_unit_test(the_environment_names_the_default_allocator),
        cmocka_unit_test(the_environment_asks_for_a_table),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL) != 0;
}
