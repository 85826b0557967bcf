/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_errors.h"
#include "debug_test.h"

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
    end(QUARRY_ERROR_CORRUPT);
}
FOR_EACH_ALLOCATOR(double_free_is_recorded)

static void one_of_racing_frees_wins_here(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
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
        end(QUARRY_ERROR_CORRUPT);
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
    end(QUARRY_ERROR_CORRUPT);
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

/* Of a header that is hit the size and thread are lost. */
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
            else
                expect_report(
                    "write before the start: 1 time, first: byte -%d of a block at 0x%" PRIx64 ", seen %s\n",
                    -at > 44 ? 48 : 44, address, checked ? "by a check" : "at its free by thread 6");
            expect_sane(3);
            assert_ok(quarry_heap_reset(f.heap));
        }
    }
    expect_clean();
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(writes_before_the_start_are_recorded)

/* A live block whose header is sound, but was written by nobody: as if it were free, or had been freed by somebody. */
static void headers_that_were_forged_are_no_blocks_here(void)
{
    begin(3, PAGE_BYTES, 0);
    for (uint32_t freed = 0; freed < 2; freed++) {
        uint64_t address = allocate(4, 0, 24);
        f.device.state = freed ? QUARRY_DEBUG_FREED : QUARRY_DEBUG_LIVE;
        f.device.by = freed ? QUARRY_DEBUG_NOBODY : 4;
        f.device.freed_by = 3;
        run(&debug_forge, 0, 1, 0);
        release(6, 0, 0);
        if (freed)
            expect_report("double free: 1 time, first: 24 bytes at 0x%" PRIx64
                          " by thread 6\n1 live block, 0 bytes\n",
                          address);
        else
            expect_report("write before the start: 1 time, first: byte -44 of a block at 0x%" PRIx64
                          ", seen at its free by thread 6\n",
                          address);
        assert_ok(quarry_heap_reset(f.heap));
        expect_sane(3);
    }
    end(QUARRY_OK);
}
FOR_EACH_ALLOCATOR(headers_that_were_forged_are_no_blocks)

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
        expect_report_begins("write after free: 1 time, first: byte -");
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
    end(QUARRY_ERROR_CORRUPT);
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
    expect_corrupt("; and errors of 4 other kinds, which quarry_heap_debug_report names before");
    expect_sane(4);
    end(QUARRY_ERROR_CORRUPT);
}
FOR_EACH_ALLOCATOR(kinds_are_recorded_side_by_side)
