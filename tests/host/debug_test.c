/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_test.h"

struct fixture f;

struct quarry_heap_options the_options(uint64_t pages, uint64_t page_bytes)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = f.target;
    options.allocator = f.allocator;
    static struct test_set set; /* which *options points into until the next call */
    memset(&set, 0, sizeof set);
    test_set(&set, f.allocator, "word_bits", f.word_bits);
    options.set = set.pairs;
    options.set_count = set.count;
    options.full = f.full;
    options.pages = pages;
    options.page_bytes = page_bytes;
    options.debug = 1;
    return options;
}

void begin_with(const struct quarry_heap_options *options)
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

void begin(uint64_t pages, uint64_t page_bytes, uint64_t seed)
{
    f.target = base_target;
    f.target.seed = seed;
    struct quarry_heap_options options = the_options(pages, page_bytes);
    begin_with(&options);
}

void end(enum quarry_status expected)
{
    enum quarry_status status = quarry_heap_destroy(f.heap);
    if (status != expected)
        fail_msg("%s: destroy gave %s: %s", f.allocator, quarry_status_string(status), quarry_error_detail());
    test_memory_free(&f.target, f.device.block, 0);
    test_memory_free(&f.target, f.device.faults, 0);
}

void run(const struct simt_kernel *kernel, uint32_t thread, uint32_t threads, uint32_t slot)
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

uint64_t allocate(uint32_t thread, uint32_t slot, uint64_t bytes)
{
    uint64_t address;
    f.device.bytes = bytes;
    run(&debug_malloc, thread, 1, slot);
    assert_ok(quarry_memory_copy(&f.target, &address, f.device.block + slot, sizeof address));
    expect(address != 0);
    return address;
}

void release(uint32_t thread, uint32_t slot, int64_t offset)
{
    f.device.offset = offset;
    run(&debug_free, thread, 1, slot);
}

void overwrite(uint32_t slot, int64_t offset)
{
    f.device.offset = offset;
    run(&debug_write, 0, 1, slot);
}

void place(uint32_t slot, uint64_t address)
{
    assert_ok(quarry_memory_copy(&f.target, f.device.block + slot, &address, sizeof address));
}

/* test_debug_blocks.c tests what a text says of launches.  Here it is left out: " in launch 12, debug_free". */
void leave_out_launches(char *text)
{
    static const char words[] = " in launch ";
    for (char *at = strstr(text, words); at; at = strstr(at, words)) {
        char *end = at + strlen(words);
        end += strspn(end, "0123456789");
        end += strspn(end, ", ");
        end += strspn(end, "abcdefghijklmnopqrstuvwxyz_");
        memmove(at, end, strlen(end) + 1);
    }
}

const char *report(void)
{
    assert_ok(quarry_heap_debug_report(f.heap, f.text, sizeof f.text));
    leave_out_launches(f.text);
    return f.text;
}

void expect_report(const char *format, ...)
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

void expect_report_begins(const char *text)
{
    expect(strstr(report(), text) == f.text);
    expect(strchr(f.text, '\n')[1] == 0);
}

void expect_corrupt(const char *text)
{
    expect(quarry_heap_check(f.heap) == QUARRY_ERROR_CORRUPT);
    const char *detail = quarry_error_detail();
    if (!strstr(detail, text) || strchr(detail, '\n') || detail[strlen(detail) - 1] == '.')
        fail_msg("the detail is \"%s\", expected \"%s\" in it", detail, text);
}

void expect_clean(void)
{
    expect_report("%s", "");
    assert_ok(quarry_heap_check(f.heap));
    expect_report("%s", "");
}

uint64_t live(void)
{
    struct quarry_statistics s;
    assert_ok(quarry_heap_statistics(f.heap, &s));
    return s.live_blocks;
}

uint64_t slots(uint64_t bytes)
{
    uint64_t n;
    assert_ok(quarry_heap_slots(f.heap, bytes, &n));
    return n;
}

void expect_sane(uint32_t pages)
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

void for_each_allocator(void (*test)(void))
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
            f.fixed = info.whole_pages;
            f.several = !info.whole_pages && !info.page_parts;
            if (!described(&f.about, "word_bits") && width == 64)
                continue;
            test();
        }
    }
    assert_true(tested);
}
