/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/slabs_trails.h"

#include "alloc/slabs_common.h"

/* A trail ends with a whole chunk: of each chunk all numbers lead somewhere, or none does. */
void a_trail_has_whole_chunks(void **state)
{
    static const uint32_t slots[] = {2, 3, 21, 64, 513, 5461, 10922, 16384, 21845, 65535};
    (void)state;
    for (uint32_t i = 0; i < sizeof slots / sizeof *slots; i++)
        for (uint32_t number = 1; number <= QUARRY_SLABS_END / slots[i] + 1u && number < 9000; number++) {
            struct quarry_slabs_step first =
                quarry_slabs_step_of(1u << 20, 4, 7, slots[i], 3, number * slots[i]);
            struct quarry_slabs_step last =
                quarry_slabs_step_of(1u << 20, 4, 7, slots[i], 3, (number + 1u) * slots[i] - 1u);
            assert_int_equal(first.chunk, last.chunk);
            assert_int_equal(first.more, last.more);
            assert_int_equal(first.slot, 0);
            assert_int_equal(last.slot, slots[i] - 1u);
        }
}

/* The first block of each class of a new heap is in a chunk of its own: a cursor's, if there are many chunks, else the
 * first one of a trail.  All chunks serve any other size as well, when the blocks are free. */
static void trails_of(uint32_t count)
{
    plain_options();
    begin(count, CHUNK, CHUNK, 0);
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    const uint32_t bound = count < QUARRY_SLABS_MANY ? 0 : h->trails * h->classes;
    expect_equal(h->bound, bound);
    expect_equal(chunks_that_are(QUARRY_SLABS_IS_BOUND), bound);
    expect_equal(statistics().largest_free_bytes, (uint64_t)count * CHUNK);
    for (uint32_t class_ = 0; class_ < h->classes; class_++) {
        uint32_t units = quarry_slabs_units(h, class_), slots = quarry_divide_u32(h->units, units);
        struct quarry_slabs_step step =
            quarry_slabs_step_of(count - bound, h->trails, class_, slots, 0, slots);
        uint64_t cursor, kind;
        f.device.bytes = (uint64_t)units << h->unit_log;
        expect_equal(run(&promise_malloc, 1).nulls, 0);
        assert_ok(quarry_memory_copy(&f.target, &cursor, &h->cursor[class_], sizeof cursor));
        assert_ok(quarry_memory_copy(&f.target, &kind, &h->kinds[bound + step.chunk], sizeof kind));
        expect_equal(quarry_slabs_is_trail(cursor), 1);
        expect_equal(quarry_slabs_next(cursor), bound ? 1 : slots + 1u);
        expect_equal(quarry_slabs_is_step(kind, class_, step.more), !bound);
        expect_equal(chunks_that_are(QUARRY_SLABS_IS_BOUND), bound ? bound : class_ + 1u);
        run(&promise_free, 1);
    }
    f.device.bytes = 16; /* more than its cursors' chunks have */
    expect_equal(run(&promise_malloc, CHUNK).nulls, 0);
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    run(&promise_free, CHUNK);
    f.device.bytes = (uint64_t)count * CHUNK;
    expect_equal(run(&promise_malloc, 1).nulls, 0);
    run(&promise_free, 1);
    expect_empty();
    end();
}

static void trails(void)
{
    trails_of(QUARRY_SLABS_MANY - 1u);
    trails_of(QUARRY_SLABS_MANY);
    trails_of(2 * QUARRY_SLABS_MANY);
}

void first_blocks_are_on_trails(void **state)
{
    (void)state;
    for_each_proof(trails);
}

/* Heaps of few chunks, and one whose cursors have chunks before their trails.  Some have one trail for each size, and
 * chunks of several words; the others have several trails, and chunks of eight slots. */
static const struct {
    uint32_t count, units, unit;
} trail_heaps[] = {{5, 64, 16}, {12, 64, 16}, {6, 128, 16}, {40, 64, 16},
                   {9, 8, 64},  {64, 8, 64},  {128, 8, 64}, {1024, 8, 64}};

/* All of the heap can be had, in so many blocks of that size, and nothing else. */
static void expect_all(uint64_t bytes, uint32_t blocks)
{
    f.device.bytes = bytes;
    expect_equal(run(&promise_malloc, blocks).nulls, 0);
    expect_equal(slots(bytes), 0);
    run(&promise_verify, blocks);
    run(&promise_free, blocks);
    expect_empty();
}

/* Warps of two sizes or three take numbers of trails that meet each other, and large blocks.  Trails end while others
 * have numbers.  Some do so twice: the second time most trails have ended. */
static void numbered(void)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 4; seed++) {
        const uint32_t n = seed % 64 == 0 ? 7 : (uint32_t)(seed % 7), count = trail_heaps[n].count;
        const uint32_t all = count * trail_heaps[n].units;
        struct slabs_case a = {0};
        char note[40];
        plain_options();
        snprintf(note, sizeof note, ", seed %llu", (unsigned long long)seed);
        f.note = note;
        f.alignment = trail_heaps[n].unit;
        begin(count, (uint64_t)trail_heaps[n].units * trail_heaps[n].unit, all, 0);
        f.alignment = 0;
        a.bytes = trail_heaps[n].unit;
        a.threads = 2 + (uint32_t)(seed / 7 % 2);
        a.full = seed / 14 % 3 == 0;
        a.lanes = seed / 7 % 5 == 0 ? 0x11111111u : seed / 7 % 5 == 1 ? 0x0fffff0fu : SIMT_ALL_LANES;
        a.rounds = 6;
        for (uint32_t again = 0; again < 1 + seed % 2; again++) {
            launch_case(&slabs_trails, &a, n == 7 ? 9 : 5, seed + 100000 * again);
            expect_empty();
        }
        if (quarry_heap_check(f.heap) != QUARRY_OK)
            fail_msg("%s: %s", naming(), quarry_error_detail());
        expect_all(f.about.page_bytes, count); /* first: until then slots of larger sizes may serve */
        expect_all(a.bytes, all);
        end();
        f.note = NULL;
    }
}

void numbers_of_a_trail_are_one_warps(void **state)
{
    (void)state;
    for_each_proof(numbered);
}

/* Nothing lives, and no chunk contradicts itself. */
static void expect_sound(void)
{
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    expect_empty();
}

static void late(void)
{
    struct slabs_case a = {.bytes = 16};
    plain_options();
    begin(2, CHUNK, 1, 0);
    launch_case(&slabs_late, &a, 1, 0);
    expect_sound();
    end();
}

void a_number_leads_to_its_slot_however_late(void **state)
{
    (void)state;
    for_each_proof(late);
}

/* Slots of words that nobody has had before: of a warp's numbers, some of which are in the first word of a chunk and some
 * in the second one; and of the second word of a chunk whose trail has ended. */
static void untouched(void)
{
    enum { LARGE = 2 * CHUNK, BYTES = 48 };
    struct slabs_case a = {0};
    plain_options();
    begin(4, LARGE, 3 * SIMT_LANES, 0);
    f.device.bytes = BYTES; /* 42 slots */
    expect_equal(run(&promise_malloc, 3 * SIMT_LANES).nulls, 0);
    run(&promise_free, 3 * SIMT_LANES);
    expect_sound();
    end();
    one_chunk(20, 1);
    launch_case(&slabs_moves, &a, 1, 0);
    expect_equal(run(&promise_malloc, CHUNK / 16).nulls, 0);
    run(&promise_free, CHUNK / 16);
    expect_sound();
    end();
    begin(1, CHUNK, 1, 0);
    a.bytes = 48;
    launch_case(&slabs_meets, &a, 1, 0);
    expect_sound();
    end();
}

void words_of_a_trail_have_a_class_before_their_slots_are_freed(void **state)
{
    (void)state;
    for_each_proof(untouched);
}

/* Two end a trail, and one is late: the chunk that he has read to be the trail's is of another class, and stays so. */
static void outlived(void)
{
    struct slabs_case a = {.bytes = 32};
    one_chunk(1, 1);
    run(&promise_free, 1);
    a.cursor = test_memory(&f.target, 2 * sizeof *a.cursor);
    launch_case(&slabs_outlives, &a, 1, 0);
    test_memory_free(&f.target, a.cursor, 0);
    expect_sound();
    expect_all(16, CHUNK / 16);
    end();
}

void who_ends_a_trail_late_leaves_other_classes_alone(void **state)
{
    (void)state;
    for_each_proof(outlived);
}

/* A cursor that has a trail, and fewer slots than are wanted, gives a gather none: it would also give numbers, and as
 * nobody followed these, their slots would be lost. */
static void gathers(void)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    struct slabs_case a = {0};
    uint32_t spread;
    plain_options();
    begin(QUARRY_SLABS_MANY, CHUNK, SIMT_LANES, 0);
    expect(h->bound);
    f.device.bytes = 32;
    uint32_t *at = &h->spread[quarry_slabs_class(h, 32)];
    expect_equal(run(&promise_malloc, CHUNK / 32 - 8).nulls, 0);
    a.block = test_memory(&f.target, SIMT_LANES * sizeof *a.block);
    assert_ok(quarry_memory_copy(&f.target, &spread, at, sizeof spread));
    launch_case(&slabs_gathers, &a, 1, 0);
    assert_ok(quarry_memory_copy(&f.target, at, &spread, sizeof spread)); /* no longer barren */
    expect_equal(run(&promise_malloc, SIMT_LANES).nulls, 0);
    run(&promise_free, SIMT_LANES);
    a.rounds = 1;
    launch_case(&slabs_gathers, &a, 1, 0);
    test_memory_free(&f.target, a.block, 0);
    expect_empty();
    end();
}

void a_gather_takes_no_numbers_of_a_trail(void **state)
{
    (void)state;
    for_each_proof(gathers);
}
