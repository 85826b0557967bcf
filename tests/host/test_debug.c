/* SPDX-License-Identifier: Apache-2.0 */
/* Debug mode: each kind of error is found and described, and nothing is found where nothing is wrong; with
 * all of alloc/list.def, or the one of it or of alloc/extra.def that QUARRY_TEST_ALLOCATOR names, and each
 * width of word, on the backend that QUARRY_TEST_BACKEND names.  Clean runs take QUARRY_TEST_SEEDS seeds of
 * the CPU's deterministic scheduler (default 30). */
#include "debug_kernels.h"

#include "common.h"

#include <inttypes.h>

#define DIRECT_TEXT_(name) #name
#define DIRECT_TEXT(name) DIRECT_TEXT_(name)
#ifdef QUARRY_ALLOCATOR
#define DIRECT DIRECT_TEXT(QUARRY_ALLOCATOR)
#else
#define DIRECT ""
#endif

#define SLOTS (1u << 15)
#define PAGE_BYTES 64u

/* Those of the library: without what tests add. */
#undef QUARRY_EXTRA_ALLOCATORS
static const char *const listed[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary) name,
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
};

struct fixture {
    const char *allocator;
    int fixed; /* a block is a page: else it may be smaller or larger */
    uint32_t word_bits;
    enum quarry_full full;
    struct quarry_target target;
    quarry_heap *heap;
    struct quarry_heap_description about;
    struct debug_case device;
    char text[QUARRY_DEBUG_TEXT_BYTES];
};

static struct fixture f;
static struct quarry_target base_target;

#define expect(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail_msg("%s, %u-bit words, seed %llu: %s; report: %s", f.allocator, f.word_bits,                \
                     (unsigned long long)f.target.seed, #condition, f.text);                                 \
    } while (0)
#define expect_equal(a, b)                                                                                   \
    do {                                                                                                     \
        unsigned long long expect_a = (a), expect_b = (b);                                                   \
        if (expect_a != expect_b)                                                                            \
            fail_msg("%s, %u-bit words, seed %llu: %s is %llu, expected %s = %llu", f.allocator,             \
                     f.word_bits, (unsigned long long)f.target.seed, #a, expect_a, #b, expect_b);            \
    } while (0)

/* ---- a heap, and what is done with it ---- */

static struct quarry_heap_options the_options(uint64_t pages, uint64_t page_bytes)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = f.target;
    options.allocator = f.allocator;
    options.word_bits = f.word_bits;
    options.full = f.full;
    options.pages = pages;
    options.page_bytes = page_bytes;
    options.debug = 1;
    return options;
}

static void begin_with(const struct quarry_heap_options *options)
{
    assert_ok(quarry_heap_create(&f.heap, options));
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    memset(&f.device, 0, sizeof f.device);
    f.device.heap = quarry_heap_handle(f.heap);
    f.device.block = test_memory(&f.target, SLOTS * sizeof *f.device.block);
    f.device.faults = test_memory(&f.target, sizeof *f.device.faults);
    f.device.bytes = options->page_bytes;
    f.text[0] = 0;
}

static void begin(uint64_t pages, uint64_t page_bytes, uint64_t seed)
{
    f.target = base_target;
    f.target.seed = seed;
    struct quarry_heap_options options = the_options(pages, page_bytes);
    begin_with(&options);
}

/* Destroys the heap, which gives `expected`. */
static void end(enum quarry_status expected)
{
    enum quarry_status status = quarry_heap_destroy(f.heap);
    if (status != expected)
        fail_msg("%s: destroy gave %s: %s", f.allocator, quarry_status_string(status), quarry_error_detail());
    test_memory_free(&f.target, f.device.block, 0);
    test_memory_free(&f.target, f.device.faults, 0);
}

static void run(const struct simt_kernel *kernel, uint32_t thread, uint32_t threads, uint32_t slot)
{
    uint32_t all = thread + threads;
    uint32_t each = all < 256 ? (all + 31) / 32 * 32 : 256;
    f.device.thread = thread;
    f.device.threads = threads;
    f.device.slot = slot;
    struct quarry_grid grid = {(all + each - 1) / each, each, 0};
    enum quarry_status status = quarry_launch(kernel, &f.target, grid, &f.device);
    if (status == QUARRY_OK)
        status = quarry_target_wait(&f.target);
    if (status != QUARRY_OK)
        fail_msg("%s, %u-bit words, seed %llu: %s", f.allocator, f.word_bits,
                 (unsigned long long)f.target.seed, quarry_error_detail());
}

/* Thread `thread` allocates block `slot`.  Returns its address. */
static uint64_t allocate(uint32_t thread, uint32_t slot, uint64_t bytes)
{
    uint64_t address;
    f.device.bytes = bytes;
    run(&debug_malloc, thread, 1, slot);
    assert_ok(quarry_memory_copy(&f.target, &address, f.device.block + slot, sizeof address));
    expect(address != 0);
    return address;
}

static void release(uint32_t thread, uint32_t slot, int64_t offset)
{
    f.device.offset = offset;
    run(&debug_free, thread, 1, slot);
}

static void overwrite(uint32_t slot, int64_t offset)
{
    f.device.offset = offset;
    run(&debug_write, 0, 1, slot);
}

static void place(uint32_t slot, uint64_t address)
{
    assert_ok(quarry_memory_copy(&f.target, f.device.block + slot, &address, sizeof address));
}

static const char *report(void)
{
    assert_ok(quarry_heap_debug_report(f.heap, f.text, sizeof f.text));
    return f.text;
}

/* The report is exactly this. */
__attribute__((format(printf, 1, 2))) static void expect_report(const char *format, ...)
{
    char expected[QUARRY_DEBUG_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    if (strcmp(expected, report()) != 0)
        fail_msg("%s, %u-bit words: the report is\n%sexpected\n%s", f.allocator, f.word_bits, f.text,
                 expected);
}

/* CORRUPT, with `text` in a detail that is one sentence. */
static void expect_corrupt(const char *text)
{
    expect(quarry_heap_check(f.heap) == QUARRY_ERROR_CORRUPT);
    const char *detail = quarry_error_detail();
    if (!strstr(detail, text) || strchr(detail, '\n') || detail[strlen(detail) - 1] == '.')
        fail_msg("the detail is \"%s\", expected \"%s\" in it", detail, text);
}

static void expect_clean(void)
{
    expect_report("%s", "");
    assert_ok(quarry_heap_check(f.heap));
    expect_report("%s", "");
}

static uint64_t live(void)
{
    struct quarry_statistics s;
    assert_ok(quarry_heap_statistics(f.heap, &s));
    return s.live_blocks;
}

static uint64_t slots(uint64_t bytes)
{
    uint64_t n;
    assert_ok(quarry_heap_slots(f.heap, bytes, &n));
    return n;
}

/* The heap goes on as if nothing had been: it fills to its last page and empties. */
static void expect_sane(uint32_t pages)
{
    expect_equal(live(), 0);
    f.device.bytes = PAGE_BYTES;
    f.device.offset = 0;
    run(&debug_malloc, 0, pages, 0);
    expect_equal(live(), pages);
    run(&debug_mark, 0, pages, 0);
    run(&debug_free, 0, pages, 0);
    expect_equal(live(), 0);
    expect_equal(slots(PAGE_BYTES), pages);
}

static int is_direct(const char *name)
{
    const char *direct = DIRECT;
    while (*name && (*name == *direct || (*name == '-' && *direct == '_')))
        name++, direct++;
    return !*name && !*direct;
}

static int is_chosen(const char *name)
{
    const char *asked = getenv("QUARRY_TEST_ALLOCATOR");
    if (*DIRECT && !is_direct(name))
        return 0;
    for (size_t i = 0; i < sizeof listed / sizeof *listed && !asked; i++)
        if (strcmp(name, listed[i]) == 0)
            return 1;
    return asked && strcmp(asked, name) == 0;
}

static void for_each_allocator(void (*test)(void))
{
    int tested = 0;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        assert_ok(quarry_allocator_describe(i, &info));
        if (!is_chosen(info.name))
            continue;
        tested = 1;
        if (!info.counts_slots) /* has no debug mode */
            continue;
        f.allocator = info.name;
        for (uint32_t width = 32; width <= 64; width += 32) {
            f.word_bits = width;
            f.full = QUARRY_FULL_PROVEN;
            begin(2, PAGE_BYTES, 0);
            end(QUARRY_OK);
            f.fixed = f.about.max_block_bytes == f.about.page_bytes;
            if (!f.about.word_bits && width == 64)
                continue;
            test();
        }
    }
    assert_true(tested);
}
#define FOR_EACH_ALLOCATOR(name)                                                                             \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        (void)state;                                                                                         \
        for_each_allocator(name##_here);                                                                     \
    }

static uint64_t seeds(void)
{
    const char *text = getenv("QUARRY_TEST_SEEDS");
    if (test_on_cuda(&base_target))
        return 0;
    return text ? strtoull(text, NULL, 10) : 30;
}

static uint32_t capped(uint32_t threads)
{
    const char *text = getenv("QUARRY_TEST_THREADS");
    uint32_t most = text ? (uint32_t)strtoul(text, NULL, 10) : threads;
    return threads < most ? threads : most;
}

/* ---- nothing is wrong ---- */

static void clean(uint64_t pages, uint64_t page_bytes, uint32_t threads, uint32_t turns, uint64_t seed)
{
    uint32_t faults = 1;
    begin(pages, page_bytes, seed);
    expect_clean();
    f.device.turns = turns;
    run(&debug_churn, 0, threads, 0);
    assert_ok(quarry_memory_copy(&f.target, &faults, f.device.faults, sizeof faults));
    expect_equal(faults, 0);
    expect_clean();
    expect_equal(live(), 0);
    end(QUARRY_OK);
}

static void clean_runs_report_nothing_here(void)
{
    static const uint64_t page_bytes[] = {16, 48, 256};
    for (uint64_t seed = 0; seed <= seeds(); seed++)
        clean(seed % 2 ? 20 : 100, page_bytes[seed % 3], 96, 4, seed);
    clean(capped(5000), 80, capped(SLOTS), 5, 0); /* more threads than pages */
    clean(3, (1u << 20) - QUARRY_DEBUG_PAGE_BYTES, 64, 1, 0);
    f.full = QUARRY_FULL_INFERRED;
    for (uint64_t seed = 0; seed <= seeds() / 5; seed++)
        clean(50, 32, 96, 3, seed);
}
FOR_EACH_ALLOCATOR(clean_runs_report_nothing)

static void null_and_refused_are_no_errors_here(void)
{
    begin(2, PAGE_BYTES, 0);
    place(0, 0);
    release(1, 0, 0);
    f.device.bytes = f.about.max_block_bytes + 1;
    run(&debug_malloc, 0, 10, 0);
    f.device.bytes = 0;
    run(&debug_malloc, 0, 10, 0);
    f.device.bytes = PAGE_BYTES;
    run(&debug_malloc, 0, 10, 0);
    run(&debug_mark, 0, 10, 0);
    expect_report("2 live blocks, 128 bytes\n");
    f.device.offset = 0;
    run(&debug_free, 0, 10, 0);
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(null_and_refused_are_no_errors)

/* ---- bad frees ---- */

static void double_free_is_recorded_here(void)
{
    begin(40, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, 33);
    release(7, 0, 0);
    release(17, 0, 0);
    release(18, 0, 0);
    release(19, 0, 0);
    expect_report("double free: 3 times, first: 33 bytes at 0x%" PRIx64
                  " by thread 17 (allocated by thread 4)\n",
                  address);
    expect_corrupt("double free: 3 times");
    expect_sane(40);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(double_free_is_recorded)

static void one_of_racing_frees_wins_here(void)
{
    for (uint64_t seed = 0; seed <= seeds(); seed++) {
        uint32_t threads = seed % 2 ? 32 : 160;
        begin(40, PAGE_BYTES, seed);
        uint64_t address = allocate(4, 0, 48);
        char line[128];
        run(&debug_race, 0, threads, 0);
        snprintf(line, sizeof line,
                 "double free: %" PRIu32 " times, first: 48 bytes at 0x%" PRIx64 " by thread ", threads - 1,
                 address);
        expect(strncmp(report(), line, strlen(line)) == 0);
        expect(strcmp(strchr(f.text, '('), "(allocated by thread 4)\n") == 0);
        expect_sane(40);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(one_of_racing_frees_wins)

static void foreign(uint64_t address)
{
    place(0, address);
    release(9, 0, 0);
    expect_report("free of a foreign pointer: 1 time, first: 0x%" PRIx64 " by thread 9\n", address);
    expect_sane(3);
    assert_ok(quarry_heap_reset(f.heap));
    expect_clean();
}

static void foreign_pointers_are_recorded_here(void)
{
    quarry_heap *other;
    uint64_t on_stack = 0;
    begin(3, PAGE_BYTES, 0);
    uint64_t pool = (uint64_t)(uintptr_t)f.about.pool_base;
    struct quarry_heap_options options = the_options(3, PAGE_BYTES);
    assert_ok(quarry_heap_create(&other, &options));
    struct debug_case elsewhere = f.device;
    elsewhere.heap = quarry_heap_handle(other);
    elsewhere.bytes = PAGE_BYTES;
    elsewhere.slot = 0;
    elsewhere.thread = 0;
    elsewhere.threads = 1;
    test_run(&debug_malloc, &f.target, 1, 32, 0, &elsewhere);
    uint64_t others;
    assert_ok(quarry_memory_copy(&f.target, &others, f.device.block, sizeof others));
    foreign((uint64_t)(uintptr_t)&on_stack);
    foreign(others);
    foreign(pool);
    foreign(pool + f.about.pool_bytes);
    foreign(1);
    foreign(UINT64_MAX);
    foreign(UINT64_MAX - 15);
    place(0, others);
    test_run(&debug_free, &f.target, 1, 32, 0, &elsewhere);
    assert_ok(quarry_heap_check(other));
    assert_ok(quarry_heap_destroy(other));
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(foreign_pointers_are_recorded)

/* What no malloc has returned since the heap was reset is as foreign, although a block begins there. */
static void pointers_from_before_a_reset_are_foreign_here(void)
{
    begin(1, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, 20);
    assert_ok(quarry_heap_reset(f.heap));
    expect_clean();
    release(5, 0, 0);
    expect_report("free of a foreign pointer: 1 time, first: a block at 0x%" PRIx64 " by thread 5\n",
                  address);
    expect_sane(1);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(pointers_from_before_a_reset_are_foreign)

static void interior_pointers_are_recorded_here(void)
{
    static const int64_t offsets[] = {1, 16, 63, 64, 79, -1, -16, -32};
    begin(3, PAGE_BYTES, 0);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        if (!f.fixed && offsets[i] >= 40 + 16)
            continue; /* perhaps another block's */
        uint64_t address = allocate(4, 0, 40);
        release(8, 0, offsets[i]);
        expect_report("free of an interior pointer: 1 time, first: byte %" PRId64 " of 40 bytes at 0x%" PRIx64
                      " by thread 8 (allocated by thread 4)\n1 live block, 40 bytes\n",
                      offsets[i], address);
        release(8, 0, 0);
        expect_sane(3);
        assert_ok(quarry_heap_reset(f.heap));
    }
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(interior_pointers_are_recorded)

/* ---- bad writes ---- */

static void writes_past_the_end_are_recorded_here(void)
{
    static const uint64_t sizes[] = {1, 7, 8, 15, 16, 17, 63, PAGE_BYTES};
    static const uint64_t beyond[] = {0, 1, 6, 7, 8, 9, 15, PAGE_BYTES + 16};
    begin(3, PAGE_BYTES, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
            uint64_t last = (f.fixed ? PAGE_BYTES : sizes[i]) + 15; /* of the redzone */
            uint64_t at = sizes[i] + beyond[k] < last ? sizes[i] + beyond[k] : last;
            for (int checked = 0; checked < 2; checked++) {
                uint64_t address = allocate(4, 0, sizes[i]);
                overwrite(0, (int64_t)at);
                if (checked) {
                    expect_corrupt("write past the end: 1 time");
                    expect_corrupt("write past the end: 1 time"); /* and not twice */
                }
                release(6, 0, 0);
                expect_report("write past the end: 1 time, first: byte %" PRIu64 " of %" PRIu64
                              " byte%s at 0x%" PRIx64 ", seen %s (allocated by thread 4)\n",
                              at, sizes[i], sizes[i] == 1 ? "" : "s", address,
                              checked ? "by a check" : "at its free by thread 6");
                expect_sane(3);
                assert_ok(quarry_heap_reset(f.heap));
            }
        }
    }
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(writes_past_the_end_are_recorded)

/* Of a header that is hit the size and thread may be lost. */
static void writes_before_the_start_are_recorded_here(void)
{
    begin(3, PAGE_BYTES, 0);
    for (int64_t at = -1; at >= -32; at--) {
        for (int checked = 0; checked < 2; checked++) {
            uint64_t address = allocate(4, 0, 24);
            overwrite(0, at);
            if (checked) {
                expect_corrupt("write before the start: 1 time");
                expect_corrupt("write before the start: 1 time");
            }
            release(6, 0, 0);
            if (at >= -8)
                expect_report("write before the start: 1 time, first: byte %" PRId64
                              " of 24 bytes at 0x%" PRIx64 ", seen %s (allocated by thread 4)\n",
                              at, address, checked ? "by a check" : "at its free by thread 6");
            expect(strstr(report(), "write before the start: 1 time, first: byte -") == f.text);
            expect(strchr(f.text, '\n')[1] == 0);
            expect_sane(3);
            assert_ok(quarry_heap_reset(f.heap));
        }
    }
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(writes_before_the_start_are_recorded)

static void writes_after_free_are_recorded_here(void)
{
    static const int64_t offsets[] = {0, 1, 23, 24, 63, 64, 79, -1, -8};
    begin(1, PAGE_BYTES, 0);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        if (!f.fixed && offsets[i] >= 32)
            continue; /* perhaps not in the first unit */
        for (int checked = 0; checked < 2; checked++) {
            uint64_t address = allocate(4, 0, 24);
            release(6, 0, 0);
            overwrite(0, offsets[i]);
            expect_report("%s", "");
            if (checked) {
                expect_corrupt("write after free: 1 time");
                expect_corrupt("write after free: 1 time");
            }
            expect(allocate(5, 0, 64) == address);
            release(5, 0, 0);
            expect_report("write after free: 1 time, first: byte %" PRId64 " of 24 bytes at 0x%" PRIx64
                          ", freed by thread 6 (allocated by thread 4)\n",
                          offsets[i], address);
            expect_sane(1);
            assert_ok(quarry_heap_reset(f.heap));
        }
    }
    for (int64_t at = -9; at >= -32; at--) { /* the header: noticed, if not by name */
        allocate(4, 0, 24);
        release(6, 0, 0);
        overwrite(0, at);
        allocate(5, 0, 64);
        release(5, 0, 0);
        expect(strstr(report(), "write after free: 1 time, first: byte -") == f.text);
        expect(strchr(f.text, '\n')[1] == 0);
        expect_sane(1);
        assert_ok(quarry_heap_reset(f.heap));
    }
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(writes_after_free_are_recorded)

static void writes_to_blocks_never_allocated_are_recorded_here(void)
{
    begin(1, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, 24);
    assert_ok(quarry_heap_reset(f.heap));
    overwrite(0, 20);
    expect_corrupt("write after free");
    expect_report("write after free: 1 time, first: byte 20 of a block at 0x%" PRIx64 "\n", address);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(writes_to_blocks_never_allocated_are_recorded)

/* Two threads, two blocks, all kinds: the first of each stays, whatever follows. */
static void kinds_are_recorded_side_by_side_here(void)
{
    begin(4, PAGE_BYTES, 0);
    uint64_t a = allocate(1, 0, 10);
    uint64_t b = allocate(2, 1, 20);
    overwrite(0, 10);
    overwrite(1, 21);
    overwrite(1, -1);
    release(3, 0, 0);
    release(4, 1, 0);
    release(5, 1, 0);
    release(6, 0, 0);
    release(7, 1, 4);
    release(8, 1, 1 << 20);
    expect_report("double free: 2 times, first: 20 bytes at 0x%" PRIx64
                  " by thread 5 (allocated by thread 2)\n"
                  "free of a foreign pointer: 1 time, first: 0x%" PRIx64 " by thread 8\n"
                  "free of an interior pointer: 1 time, first: byte 4 of 20 bytes at 0x%" PRIx64
                  " by thread 7 (allocated by thread 2)\n"
                  "write past the end: 2 times, first: byte 10 of 10 bytes at 0x%" PRIx64
                  ", seen at its free by thread 3 (allocated by thread 1)\n"
                  "write before the start: 1 time, first: byte -1 of 20 bytes at 0x%" PRIx64
                  ", seen at its free by thread 4 (allocated by thread 2)\n",
                  b, b + (1 << 20), b, a, b);
    expect_corrupt("and errors of 4 other kinds");
    expect_sane(4);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(kinds_are_recorded_side_by_side)

/* ---- blocks of several units ---- */

#define LARGE_BYTES ((uint64_t)3 * PAGE_BYTES)

/* Every byte that a large block had is watched after its free, whoever looks: a check, small blocks that are
 * made of it, or another large one. */
static void freed_parts_of_large_blocks_are_watched_here(void)
{
    enum { SMALL, LARGE, CHECKED, WAYS };
    if (f.fixed)
        return;
    for (uint64_t at = 0; at < LARGE_BYTES; at++)
        for (int way = 0; way < WAYS; way++) {
            begin(3, PAGE_BYTES, 0);
            allocate(4, 0, LARGE_BYTES);
            release(6, 0, 0);
            expect_clean();
            overwrite(0, (int64_t)at);
            if (way == CHECKED) {
                expect_corrupt("write after free: 1 time");
                expect_corrupt("write after free: 1 time");
            }
            f.device.bytes = way == LARGE ? LARGE_BYTES : PAGE_BYTES;
            f.device.offset = 0;
            run(&debug_malloc, 0, 3, 0);
            expect_equal(live(), way == LARGE ? 1 : 3);
            run(&debug_free, 0, 3, 0);
            expect(strstr(report(), "write after free: 1 time, first: byte ") == f.text);
            expect(strchr(f.text, '\n')[1] == 0);
            end(QUARRY_OK);
        }
}
FOR_EACH_ALLOCATOR(freed_parts_of_large_blocks_are_watched)

static void errors_in_large_blocks_are_recorded_here(void)
{
    if (f.fixed)
        return;
    begin(6, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, LARGE_BYTES);
    allocate(5, 1, 1);
    expect_equal(live(), 2);
    release(8, 0, (int64_t)LARGE_BYTES - 1);
    overwrite(0, (int64_t)LARGE_BYTES);
    release(6, 0, 0);
    release(9, 0, 0);
    expect_report("double free: 1 time, first: 192 bytes at 0x%" PRIx64
                  " by thread 9 (allocated by thread 4)\n"
                  "free of an interior pointer: 1 time, first: byte 191 of 192 bytes at 0x%" PRIx64
                  " by thread 8 (allocated by thread 4)\n"
                  "write past the end: 1 time, first: byte 192 of 192 bytes at 0x%" PRIx64
                  ", seen at its free by thread 6 (allocated by thread 4)\n1 live block, 1 byte\n",
                  address, address, address);
    release(5, 1, 0);
    assert_ok(quarry_heap_reset(f.heap));
    expect_clean();
    expect_sane(6);
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(errors_in_large_blocks_are_recorded)

/* Of all sizes up to that of several pages, so that what is free is divided anew all the time. */
static void clean_runs_of_all_sizes_report_nothing_here(void)
{
    if (f.fixed)
        return;
    for (uint64_t seed = 0; seed <= seeds(); seed++) {
        uint32_t faults = 1, threads = seed || !test_on_cuda(&base_target) ? 96 : capped(5000);
        begin(seed % 2 ? 40 : threads, 48, seed);
        f.device.turns = seed ? 4 : 50;
        f.device.bytes = 48 * (1 + seed % 6);
        run(&debug_churn, 0, threads, 0);
        assert_ok(quarry_memory_copy(&f.target, &faults, f.device.faults, sizeof faults));
        expect_equal(faults, 0);
        expect_clean();
        expect_equal(live(), 0);
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(clean_runs_of_all_sizes_report_nothing)

/* ---- leaks ---- */

static void leaks_are_told_at_the_end_here(void)
{
    char expected[256];
    begin(50, PAGE_BYTES, 0);
    uint64_t address = allocate(4, 0, 33);
    end(QUARRY_ERROR_LEAK);
    snprintf(expected, sizeof expected,
             "1 block of 33 bytes was still live when the heap was destroyed: 33 bytes at 0x%" PRIx64
             ", allocated by thread 4",
             address);
    assert_string_equal(expected, quarry_error_detail());

    begin(50, PAGE_BYTES, 0);
    f.device.bytes = 48;
    run(&debug_malloc, 3, 41, 0);
    f.device.offset = 0;
    run(&debug_free, 0, 31, 0);
    expect_report("10 live blocks, 480 bytes\n");
    assert_ok(quarry_heap_check(f.heap));
    end(QUARRY_ERROR_LEAK);
    const char *detail = quarry_error_detail();
    expect(strstr(detail, "10 blocks of 480 bytes were still live") == detail);
    expect(strstr(detail, "48 bytes at 0x") != NULL);
    expect(strstr(detail, "allocated by thread ") != NULL);
    expect(strstr(detail, "; and 6 more") != NULL);
}
FOR_EACH_ALLOCATOR(leaks_are_told_at_the_end)

static void many_leaks_are_counted_here(void)
{
    uint32_t threads = capped(SLOTS);
    char expected[64];
    begin(threads, 16, 0);
    f.device.bytes = 3;
    run(&debug_malloc, 0, threads, 0);
    snprintf(expected, sizeof expected, "%u live blocks, %u bytes\n", threads, 3 * threads);
    expect_report("%s", expected);
    end(QUARRY_ERROR_LEAK);
}
FOR_EACH_ALLOCATOR(many_leaks_are_counted)

/* ---- the host's side ---- */

/* A heap in debug mode has the numbers of one that is not; only its pool is larger. */
static void numbers_are_those_of_a_plain_heap_here(void)
{
    struct quarry_statistics s[2];
    struct quarry_heap_description about[2];
    for (int debug = 0; debug < 2; debug++) {
        f.target = base_target;
        struct quarry_heap_options options = the_options(100, PAGE_BYTES);
        options.debug = debug;
        begin_with(&options);
        f.device.bytes = f.fixed ? 20 : PAGE_BYTES;
        run(&debug_malloc, 0, 30, 0);
        assert_ok(quarry_heap_statistics(f.heap, &s[debug]));
        about[debug] = f.about;
        expect_equal(f.about.debug, debug);
        expect(slots(1) >= 70 && (slots(1) == 70 || !f.fixed));
        expect_equal(slots(PAGE_BYTES), 70);
        expect_equal(slots(f.about.max_block_bytes + 1), 0);
        f.device.offset = 0;
        run(&debug_free, 0, 30, 0);
        end(QUARRY_OK);
    }
    expect_equal(s[1].live_blocks, s[0].live_blocks);
    expect_equal(about[1].page_bytes, about[0].page_bytes);
    if (f.fixed) { /* else units may be larger, and so are blocks, by the room of several pages' overhead */
        expect_equal(s[1].live_bytes, s[0].live_bytes);
        expect_equal(s[1].capacity_bytes, s[0].capacity_bytes);
        expect_equal(s[1].largest_free_bytes, s[0].largest_free_bytes);
        expect_equal(about[1].max_block_bytes, about[0].max_block_bytes);
    } else {
        expect(s[1].live_bytes >= s[0].live_bytes);
        expect(s[1].capacity_bytes >= s[0].capacity_bytes);
        expect(s[1].largest_free_bytes >= s[0].largest_free_bytes);
        expect(about[1].max_block_bytes >= about[0].max_block_bytes);
    }
    expect_equal(about[1].pages, about[0].pages);
    expect(about[1].pool_bytes >= about[0].pool_bytes + 100 * QUARRY_DEBUG_PAGE_BYTES);

    f.target = base_target; /* the same pool holds fewer pages */
    struct quarry_heap_options options = the_options(0, PAGE_BYTES);
    options.pool_bytes = 1 << 20;
    begin_with(&options);
    expect(f.about.pages < (1 << 20) / (PAGE_BYTES + QUARRY_DEBUG_PAGE_BYTES));
    expect(f.about.pages > (1 << 20) / (PAGE_BYTES + QUARRY_DEBUG_PAGE_BYTES) * (f.fixed ? 9 : 8) / 10);
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(numbers_are_those_of_a_plain_heap)

static void a_callers_buffer_is_kept_to_here(void)
{
    const uint64_t bytes = 40000;
    unsigned char *host = malloc(bytes + 64);
    assert_non_null(host);
    f.target = base_target;
    unsigned char *buffer = test_memory(&f.target, bytes + 64);
    assert_ok(quarry_memory_fill(&f.target, buffer, 0x5a, bytes + 64));
    struct quarry_heap_options options = the_options(0, PAGE_BYTES);
    options.pool = QUARRY_POOL_BUFFER;
    options.buffer = buffer + 16;
    options.pool_bytes = bytes;
    begin_with(&options);
    expect_sane((uint32_t)f.about.pages);
    expect_clean();
    uint64_t address = allocate(1, 0, 5);
    release(2, 0, 0);
    release(2, 0, 0);
    expect_report("double free: 1 time, first: 5 bytes at 0x%" PRIx64
                  " by thread 2 (allocated by thread 1)\n",
                  address);
    end(QUARRY_OK);
    assert_ok(quarry_memory_copy(&f.target, host, buffer, bytes + 64));
    for (uint32_t i = 0; i < 16; i++)
        expect_equal(host[i], 0x5a);
    for (uint32_t i = 16; i < 64; i++)
        expect_equal(host[bytes + i], 0x5a);
    test_memory_free(&f.target, buffer, bytes + 64);
    free(host);
}
FOR_EACH_ALLOCATOR(a_callers_buffer_is_kept_to)

static void every_kind_of_pool_works_here(void)
{
    for (int pool = QUARRY_POOL_DEVICE; pool < QUARRY_POOL_BUFFER; pool++) {
        f.target = base_target;
        struct quarry_heap_options options = the_options(20, PAGE_BYTES);
        quarry_heap *heap;
        options.pool = (enum quarry_pool)pool;
        enum quarry_status status = quarry_heap_create(&heap, &options);
        if (status == QUARRY_ERROR_COMBINATION && test_on_cuda(&f.target))
            continue;
        assert_ok(status);
        assert_ok(quarry_heap_destroy(heap));
        begin_with(&options);
        uint64_t address = allocate(1, 0, 5);
        overwrite(0, 5);
        release(2, 0, 0);
        expect_report("write past the end: 1 time, first: byte 5 of 5 bytes at 0x%" PRIx64
                      ", seen at its free by thread 2 (allocated by thread 1)\n",
                      address);
        assert_ok(quarry_heap_reset(f.heap));
        expect_sane(20);
        expect_clean();
        end(QUARRY_OK);
    }
}
FOR_EACH_ALLOCATOR(every_kind_of_pool_works)

static void reports_are_cut_to_fit(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 10, 60, 4000};
    char whole[QUARRY_DEBUG_TEXT_BYTES];
    char text[4096];
    (void)state;
    if (*DIRECT)
        skip();
    f.allocator = "corw";
    f.word_bits = 0;
    f.full = QUARRY_FULL_PROVEN;
    begin(10, PAGE_BYTES, 0);
    allocate(1, 0, 5);
    overwrite(0, 5);
    allocate(1, 1, 5);
    release(2, 0, 0);
    release(2, 0, 0);
    snprintf(whole, sizeof whole, "%s", report());
    expect(strlen(whole) > 200);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t length = strlen(whole) < sizes[i] ? strlen(whole) : sizes[i] - 1;
        memset(text, '#', sizeof text);
        assert_ok(quarry_heap_debug_report(f.heap, text, sizes[i]));
        if (sizes[i]) {
            assert_int_equal(length, strlen(text));
            assert_memory_equal(whole, text, length);
        }
        for (size_t k = sizes[i]; k < sizeof text; k++)
            assert_int_equal('#', text[k]);
    }
    assert_ok(quarry_heap_debug_report(f.heap, NULL, 0));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_debug_report(f.heap, NULL, 10));
    assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_debug_report(NULL, text, 10));
    end(QUARRY_ERROR_LEAK);
}

static void options_are_checked(void **state)
{
    quarry_heap *heap;
    char text[100] = "before";
    (void)state;
    f.allocator = NULL;
    f.word_bits = 0;
    f.full = QUARRY_FULL_PROVEN;
    f.target = base_target;
    struct quarry_heap_options options = the_options(10, 1 << 20);
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    assert_non_null(strstr(quarry_error_detail(), "at most 1048528"));
    assert_null(heap);
    options.page_bytes = (1 << 20) - QUARRY_DEBUG_PAGE_BYTES + 16;
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_create(&heap, &options));
    static const uint64_t wrong[] = {
        8, 15, 100, (1 << 20) + 16, UINT64_MAX - 15, UINT64_MAX - 31, UINT64_MAX - 47};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.page_bytes = wrong[i];
        assert_int_equal(QUARRY_ERROR_ARGUMENT, quarry_heap_create(&heap, &options));
        assert_non_null(strstr(quarry_error_detail(), "page_bytes is"));
    }
    options.page_bytes = PAGE_BYTES;
    options.pages = 1;
    assert_ok(quarry_heap_create(&heap, &options));
    struct quarry_heap_description about;
    assert_ok(quarry_heap_describe(heap, &about));
    assert_ok(quarry_heap_destroy(heap));
    options.pool_bytes = about.pool_bytes - 1; /* said exactly */
    assert_int_equal(QUARRY_ERROR_POOL, quarry_heap_create(&heap, &options));
    char needed[64];
    snprintf(needed, sizeof needed, "at least %" PRIu64, about.pool_bytes);
    assert_non_null(strstr(quarry_error_detail(), needed));

    options.pool_bytes = 0;
    options.debug = 0;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_int_equal(QUARRY_ERROR_COMBINATION, quarry_heap_debug_report(heap, text, sizeof text));
    assert_non_null(strstr(quarry_error_detail(), "options.debug"));
    assert_int_equal(0, text[0]);
    assert_ok(quarry_heap_destroy(heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_runs_report_nothing),
        cmocka_unit_test(null_and_refused_are_no_errors),
        cmocka_unit_test(double_free_is_recorded),
        cmocka_unit_test(one_of_racing_frees_wins),
        cmocka_unit_test(foreign_pointers_are_recorded),
        cmocka_unit_test(pointers_from_before_a_reset_are_foreign),
        cmocka_unit_test(interior_pointers_are_recorded),
        cmocka_unit_test(writes_past_the_end_are_recorded),
        cmocka_unit_test(writes_before_the_start_are_recorded),
        cmocka_unit_test(writes_after_free_are_recorded),
        cmocka_unit_test(writes_to_blocks_never_allocated_are_recorded),
        cmocka_unit_test(kinds_are_recorded_side_by_side),
        cmocka_unit_test(freed_parts_of_large_blocks_are_watched),
        cmocka_unit_test(errors_in_large_blocks_are_recorded),
        cmocka_unit_test(clean_runs_of_all_sizes_report_nothing),
        cmocka_unit_test(leaks_are_told_at_the_end),
        cmocka_unit_test(many_leaks_are_counted),
        cmocka_unit_test(numbers_are_those_of_a_plain_heap),
        cmocka_unit_test(a_callers_buffer_is_kept_to),
        cmocka_unit_test(every_kind_of_pool_works),
        cmocka_unit_test(reports_are_cut_to_fit),
        cmocka_unit_test(options_are_checked),
    };
    base_target = test_target();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
