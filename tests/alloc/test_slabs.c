/* SPDX-License-Identifier: Apache-2.0 */
/* What the suite for all allocators does not ask of `quarry`, whose tiny pages have hardly any slots: chunks of many
 * slots and of several words, cursors, chunks that change their class, and sweeps; in slabs_trails.c, rows of chunks
 * that nobody has had; and, in slabs_reuse.c, whom a slot serves next.  On the CPU with QUARRY_TEST_SEEDS seeds for each
 * case (default 60). */
#include "alloc/slabs_common.h"
#include "alloc/slabs_reuse.h"
#include "alloc/slabs_trails.h"

/* ---- sizes ---- */

static void sizes_of(uint32_t units, uint32_t unit_log)
{
    struct quarry_slabs h = {.units = units, .unit_log = unit_log};
    uint32_t before = 0;
    quarry_slabs_set_classes(&h);
    assert_true(h.classes < 255); /* a word has one more */
    for (uint32_t u = 1; u <= units; u++)
        for (uint32_t less = 0; less < 2; less++) {
            uint32_t class_ = quarry_slabs_class(&h, ((uint64_t)u << unit_log) - less), has;
            assert_true(class_ >= before);
            before = class_;
            if (2u * u > units) {
                assert_true(class_ >= h.classes);
                continue;
            }
            has = quarry_slabs_units(&h, class_);
            assert_true(class_ < h.classes && has >= u && 2u * has <= units);
            assert_true(class_ == 0 || quarry_slabs_units(&h, class_ - 1u) < u);
            assert_int_equal(quarry_slabs_slots(&h, class_), units / has);
            /* At most a 33rd of a slot is unused, or no more slots fit. */
            assert_true(33u * (has - u) < has || units / has == units / u);
            assert_true(8u * (has - u) < has || 8u * u > units);
        }
    assert_true(quarry_slabs_class(&h, ((uint64_t)units << unit_log) + 1u) >= h.classes);
    assert_true(quarry_slabs_class(&h, (uint64_t)1 << 40) >= h.classes);
}

static void at_most_an_eighth_of_a_slot_is_unused(void **state)
{
    (void)state;
    for (uint32_t units = 1; units <= 65536; units = units < 300 ? units + 1u : units * 2u - units / 3u)
        sizes_of(units, 4u + units % 5u);
    for (uint32_t units = 1024; units <= 65536; units *= 2)
        sizes_of(units, 4), sizes_of(units - 1u, 4);
}

/* A word's rows of slots. */
static void words_know_their_slots(void **state)
{
    (void)state;
    assert_int_equal(quarry_slabs_from(0, 0), ~0u);
    assert_int_equal(quarry_slabs_from(0, 31), 1u << 31);
    assert_int_equal(quarry_slabs_from(0, 32), 0);
    assert_int_equal(quarry_slabs_from(1, 32), ~0u);
    assert_int_equal(quarry_slabs_from(1, 35), ~7u);
    assert_int_equal(quarry_slabs_lowest(0xf0f0u, 1), 0x10u);
    assert_int_equal(quarry_slabs_lowest(0xf0f0u, 6), 0x30f0u);
    assert_int_equal(quarry_slabs_lowest(~0u, 31), ~0u >> 1);
    assert_int_equal(quarry_slabs_lowest(~0u, 32), ~0u);
    assert_int_equal(quarry_slabs_lowest(7u, 9), 7u);
    assert_int_equal(quarry_slabs_of(7, 5) >> 56, 8);
    assert_int_equal(quarry_slabs_next_kind((uint64_t)6 << 34 | 5, QUARRY_SLABS_IS_BOUND, 3, 1) >> 34, 7);
    assert_int_equal(quarry_slabs_of(7, 5) & ~((uint64_t)0xff << 56), 5);
}

/* A cursor that nobody fills is set back before it overflows. */
static void far(void)
{
    uint64_t cursor =
        (uint64_t)5 << QUARRY_SLABS_LIFE | (uint64_t)9 << QUARRY_SLABS_CHUNK | (QUARRY_SLABS_FAR - 40u);
    uint32_t got = 1, asked = 0;
    for (uint32_t i = 0; i < 3; i++) {
        (void)quarry_slabs_add(&cursor, 64, 32, &got, &asked);
        assert_int_equal(got, 0);
    }
    assert_int_equal(quarry_slabs_next(cursor), QUARRY_SLABS_PAST);
    assert_int_equal(quarry_slabs_chunk(cursor), 9);
    assert_int_equal(cursor >> QUARRY_SLABS_LIFE, 5);
    cursor = QUARRY_SLABS_PAST & 0;
    assert_int_equal(quarry_slabs_add(&cursor, 20, 32, &got, &asked), 0);
    assert_int_equal(got, 20);
}

static void a_cursor_past_its_end_gives_nothing(void **state)
{
    (void)state;
    far();
}

/* ---- chunks that change their class ---- */

/* As many chunks as blocks can live at once, so a chunk is always free, or empty, or has a slot: no NULL. */
static void rooms(void)
{
    static const uint32_t most[] = {16, 32, 200, CHUNK / 2, CHUNK, 2 * CHUNK};
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 4; seed++) {
        uint32_t threads = seed == 0  ? 256
                           : seed % 2 ? 33
                                      : 40,
                 lanes = seed % 4 < 2 ? ~0u : 0x01010101u, n = 0;
        uint64_t bytes = most[seed % 6];
        for (uint32_t t = 0; t < threads; t++)
            n += lanes >> t % SIMT_LANES & 1u;
        choose_schedule(seed);
        /* A row of two chunks needs two neighbours: of three chunks for each block some are. */
        begin(bytes > CHUNK ? 3u * n + 1u : n, CHUNK, threads, seed);
        f.device.lanes = lanes;
        f.device.bytes = bytes;
        f.device.program = (uint32_t)seed;
        f.device.turns = seed ? 8 : 200;
        f.device.held = 1;
        expect_equal(run(&promise_play, threads).nulls, 0);
        expect_empty();
        end();
    }
    base_target.bug_depth = 0;
}

static void null_never_comes_while_a_chunk_is_empty(void **state)
{
    (void)state;
    for_each_proof(rooms);
}

/* Few chunks, and many who want them: every class, and rows.  Nothing may be lost. */
static void tight(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 4; seed++) {
        choose_schedule(seed);
        begin(1 + seed % 3, (uint64_t)CHUNK << seed % 2, 96, seed);
        f.device.bytes = (uint64_t)CHUNK >> seed % 4;
        f.device.program = (uint32_t)seed;
        f.device.turns = seed ? 6 : 200;
        f.device.held = 2;
        f.device.boxes = (uint32_t)seed % 3;
        run(&promise_play, seed % 5 ? 40 : 96);
        expect_empty();
        end();
    }
    base_target.bug_depth = 0;
}

static void a_heap_that_is_too_small_loses_nothing(void **state)
{
    (void)state;
    for_each_proof(tight);
}

/* The only chunk goes from one class to free, or from a cursor or a trail to all, while somebody looks for that. */
static void moves(void)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 20; seed++) {
        struct slabs_case a = {0};
        uint32_t blocks = seed / 6 % 2 ? CHUNK / 16 : 20; /* all that the cursor has, or some */
        a.threads = blocks == CHUNK / 16 ? 2 : 0;
        a.bytes = a.threads ? 32 : 16;
        one_chunk(blocks, seed / 12 % 2 == 0);
        if (a.threads)
            run(&promise_free, blocks);
        launch_case(&slabs_moves, &a, 2, seed);
        if (!a.threads)
            run(&promise_free, blocks);
        expect_empty();
        end();
    }
}

static void a_chunk_that_moves_is_not_missed(void **state)
{
    (void)state;
    for_each_proof(moves);
}

/* Takes two blocks, of slots 5 and `other`, from those of a full chunk, and makes them the case's. */
static void pick(struct slabs_case *a, uint32_t other)
{
    static void *block[CHUNK / 16];
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
    a->last[0] = block[5];
    a->last[1] = block[other];
    block[5] = block[other] = NULL;
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
}

/* A chunk's last blocks are freed, two lanes find it empty, and somebody else has it next. */
static void passes(void)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 10; seed++) {
        struct slabs_case a = {0};
        one_chunk(CHUNK / 16, 0);
        pick(&a, 40);
        run(&promise_free, CHUNK / 16);
        a.bytes = CHUNK;
        launch_case(&slabs_passes, &a, 3, seed);
        expect_empty();
        end();
    }
}

static void who_has_a_chunk_next_knows_what_was_done_to_it(void **state)
{
    (void)state;
    for_each_proof(passes);
}

/* One chunk in three blocks' hands, one after the other: nothing is left of it, and nothing is broken. */
static void hand_on(const struct simt_kernel *kernel)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 20; seed++) {
        struct slabs_case a = {0};
        plain_options();
        begin(1, 2 * CHUNK, 1, 0);
        end_trails();
        launch_case(kernel, &a, 3, seed);
        if (quarry_heap_check(f.heap) != QUARRY_OK)
            fail_msg("%s, seed %llu: %s", naming(), (unsigned long long)seed, quarry_error_detail());
        expect_empty();
        end();
    }
}

/* A chunk that a cursor has, and then one of another class: its words are the other class's, and what is freed is free. */
static void refills(void)
{
    hand_on(&slabs_refills);
}

static void what_a_refill_writes_is_there_before_its_slots(void **state)
{
    (void)state;
    for_each_proof(refills);
}

static void rests(void)
{
    hand_on(&slabs_rests);
}

static void what_a_cursor_gives_back_carries_what_was_done_before(void **state)
{
    (void)state;
    for_each_proof(rests);
}

/* A full chunk, of which two lanes free blocks of one word together: a free is over when its slot is free. */
static void together(void)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS); seed++) {
        struct slabs_case a = {0};
        one_chunk(CHUNK / 16, 0);
        pick(&a, 6);
        a.bytes = 16;
        a.rounds = 2;
        launch_case(&slabs_together, &a, 1, seed);
        run(&promise_free, CHUNK / 16);
        expect_empty();
        end();
    }
}

static void who_frees_with_others_has_freed(void **state)
{
    (void)state;
    for_each_proof(together);
}

/* A full chunk.  One of its slots is freed and taken between the passes of a sweep. */
static void touches(void)
{
    struct slabs_case a = {0};
    one_chunk(CHUNK / 16, 0);
    pick(&a, 40);
    a.bytes = 16;
    a.rounds = 3;
    launch_case(&slabs_touches, &a, 1, 0);
    run(&promise_free, CHUNK / 16);
    expect_empty();
    end();
}

static void a_sweep_sees_what_was_taken_between_its_passes(void **state)
{
    (void)state;
    for_each_proof(touches);
}

/* A chunk without a live block moves after a sweep has read its kind. */
static void closes(void)
{
    for (uint32_t rounds = 0; rounds < 3; rounds++) {
        struct slabs_case a = {0};
        one_chunk(CHUNK / 16, 0);
        run(&promise_free, CHUNK / 16);
        expect_empty();
        a.bytes = 16;
        a.rounds = rounds;
        launch_case(&slabs_closes, &a, 1, 0);
        assert_ok(quarry_heap_reset(f.heap));
        end();
    }
}

static void a_sweep_sees_a_chunk_that_moves_after_it_has_read_its_kind(void **state)
{
    (void)state;
    for_each_proof(closes);
}

/* Two chunks of slots of 256 bytes, of which one has a live block. */
static void hears(void)
{
    enum { BYTES = 256, EACH = 16, ALL = 2 * EACH };
    unsigned char *block[ALL];
    struct slabs_case a = {0};
    plain_options();
    begin(4, EACH * BYTES, ALL, 0);
    f.device.bytes = BYTES;
    expect_equal(run(&promise_malloc, ALL).nulls, 0);
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
    const unsigned char *base = f.device.heap.as.slabs.pages.base;
    uint64_t chunk = (uint64_t)(block[0] - base) / (EACH * BYTES);
    a.last[0] = block[0];
    for (uint32_t i = 0; i < ALL; i++) {
        uint64_t offset = (uint64_t)(block[i] - base);
        if (offset / (EACH * BYTES) == chunk && offset % (EACH * BYTES) == 0)
            a.last[0] = block[i]; /* in the chunk's first word */
        if (offset / (EACH * BYTES) != chunk)
            a.last[1] = block[i];
    }
    for (uint32_t i = 0; i < ALL; i++)
        block[i] = block[i] == a.last[0] ? NULL : block[i];
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
    run(&promise_free, ALL);
    a.bytes = 16;
    launch_case(&slabs_news, &a, 1, 0);
    memset(block, 0, sizeof block);
    block[0] = a.last[0];
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
    run(&promise_free, ALL);
    expect_empty();
    end();
}

static void who_waits_hears_what_others_have_found(void **state)
{
    (void)state;
    for_each_proof(hears);
}

/* However many lanes ask for slots of a cursor that has none, and whatever comes between: `next` stays in its bits. */
static void asks(uint64_t seed)
{
    const uint64_t start = (uint64_t)9 << QUARRY_SLABS_CHUNK | (QUARRY_SLABS_FAR - 32u);
    struct slabs_case a = {0};
    a.threads = 2 + (uint32_t)(seed % 3);
    a.rounds = 12;
    a.cursor = test_memory(&f.target, sizeof *a.cursor);
    assert_ok(quarry_memory_copy(&f.target, a.cursor, &start, sizeof start));
    launch_case(&slabs_adds, &a, a.threads, seed);
    test_memory_free(&f.target, a.cursor, 0);
}

static void adds(void)
{
    one_chunk(CHUNK / 16, 0);
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 10; seed++)
        asks(seed);
    end();
}

static void a_cursor_never_overflows(void **state)
{
    (void)state;
    for_each_proof(adds);
}

/* Each chunk that a cursor gets begins another life, so that who saw the last one does not take it for this. */
static void lives(void)
{
    const uint32_t all =
        4 * SIMT_LANES; /* slots of a chunk: who needs half of them takes it without a cursor */
    const uint32_t bytes = 16, chunk = all * bytes;
    uint64_t cursor;
    plain_options();
    begin(4, chunk, 4 * all, 0);
    end_trails();
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    const uint64_t *mine = &h->cursor[quarry_slabs_class(h, bytes)];
    f.device.bytes = bytes;
    expect_equal(run(&promise_malloc, 1).nulls, 0); /* one lane fills a cursor, too */
    assert_ok(quarry_memory_copy(&f.target, &cursor, mine, sizeof cursor));
    expect_equal(cursor >> QUARRY_SLABS_LIFE, 1);
    for (uint32_t life = 1; life <= 4; life++) {
        expect_equal(run(&promise_malloc, life * all).nulls, 0);
        assert_ok(quarry_memory_copy(&f.target, &cursor, mine, sizeof cursor));
        expect_equal(cursor >> QUARRY_SLABS_LIFE, life);
    }
    run(&promise_free, 4 * all);
    expect_equal(statistics().largest_free_bytes, 4 * chunk);
    end();
}

static void a_cursor_begins_another_life_with_each_chunk(void **state)
{
    (void)state;
    for_each_proof(lives);
}

/* What a cursor has left, of a chunk that can't become empty, is of no use to another class: a sweep leaves it there. */
static void leaves(void)
{
    uint64_t cursor, fits;
    one_chunk(20, 0);
    f.device.bytes = 32;
    expect_equal(run(&promise_malloc, 21).nulls, 1);
    assert_ok(quarry_memory_copy(&f.target, &cursor, f.device.heap.as.slabs.cursor, sizeof cursor));
    expect_equal(quarry_slabs_next(cursor), 20);
    /* Slots of its own class are there, of another size none. */
    assert_ok(quarry_heap_slots(f.heap, 16, &fits));
    expect_equal(fits, CHUNK / 16 - 20);
    assert_ok(quarry_heap_slots(f.heap, 32, &fits));
    expect_equal(fits, 0);
    expect_equal(statistics().largest_free_bytes, 16);
    run(&promise_free, 20);
    end();
}

static void a_cursor_of_a_chunk_that_lives_stays(void **state)
{
    (void)state;
    for_each_proof(leaves);
}

/* A program frees, by wrong pointers, also slots that a cursor has yet to hand out, and another class gets the chunk.  What
 * the cursor seems to have then is for nobody.  A sweep that believed it would not end: it could neither take it nor give
 * it back. */
static void closed(void)
{
    const uint64_t nothing = QUARRY_SLABS_PAST;
    uint64_t empty[2];
    struct slabs_case a = {0};
    one_chunk(20, 0);
    run(&promise_free, 20);
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    for (uint32_t i = 0; i < 2; i++)
        empty[i] = quarry_slabs_of(quarry_slabs_class(h, 16), 0);
    assert_ok(quarry_memory_copy(&f.target, h->words, empty, sizeof empty));
    f.device.bytes = 64;
    expect_equal(run(&promise_malloc, CHUNK / 64).nulls, 0);
    for (a.bytes = 16; a.bytes <= 256; a.bytes += 16)
        launch_case(&slabs_full, &a, 1, 0);
    f.device.bytes = 256;
    expect_equal(run(&promise_malloc, CHUNK / 64 + 1).nulls, 1);
    run(&promise_free, CHUNK / 64 + 1);
    assert_ok(
        quarry_memory_copy(&f.target, h->cursor, &nothing, sizeof nothing)); /* which a check would tell */
    end();
}

static void a_cursor_whose_chunk_was_closed_has_nothing(void **state)
{
    (void)state;
    for_each_proof(closed);
}

/* What `quarry_slabs_look` says of a slot that was taken between the passes, in word `taken` of two. */
static uint32_t touched_of(struct quarry_slabs_need *need, uint64_t words[2], uint32_t taken)
{
    uint32_t saw = 0;
    for (need->looks = 0; need->looks < 2; need->looks++) {
        saw = quarry_slabs_look(need, 0, 0);
        if (saw & QUARRY_SLABS_SAW_WHOLE)
            saw = quarry_slabs_saw_words(
                need, 1,
                quarry_slabs_read_words(words, 2, ~0u, 1, need->looks,
                                        QUARRY_SLABS_WORD_CLEAR | QUARRY_SLABS_WORD_HELD));
        saw &= need->looks || !(saw & QUARRY_SLABS_SAW_VACANT) ? QUARRY_SLABS_SAW_TOUCHED : 0;
        assert_true(need->looks || !saw);
        words[taken] |= need->looks ? 0 : QUARRY_SLABS_TOUCHED;
    }
    return saw;
}

/* Who sweeps for a class knows of each slot that was taken in words of its chunks, and of larger ones if it looks there;
 * of others up to the first word that has a live slot.  What was taken before the first pass does not matter.  (Who sees
 * a free slot beside a live one reads no more: the turn is dirty.) */
static void a_sweep_knows_the_words_that_it_relies_on(void **state)
{
    const struct {
        uint32_t size;
        int turns;       /* it is about class 1 */
        uint32_t class_; /* that the group wants */
    } about[] = {{QUARRY_SWEEP_CLASS | 1, 1, 5},
                 {QUARRY_SWEEP_CLASS, 0, 5},
                 {0, 1, 5},
                 {1, 1, 5},
                 {2, 0, 5},
                 {2, 0, 1}};
    uint64_t kind = 1u << 2 | QUARRY_SLABS_IS_BOUND, words[2];
    struct quarry_slabs h = {.units = 128, .unit_log = 4, .stride = 4, .kinds = &kind, .words = words};
    struct quarry_slabs_need need = {.slabs = &h};
    (void)state;
    quarry_slabs_set_classes(&h);
    for (uint32_t live = 0; live < 2; live++)
        for (uint32_t i = 0; i < sizeof about / sizeof *about; i++)
            for (uint32_t taken = 0; taken < 2; taken++) {
                words[0] = quarry_slabs_of(1, live ? ~0u : 0) | QUARRY_SLABS_TOUCHED;
                words[1] = quarry_slabs_of(1, 0) | QUARRY_SLABS_TOUCHED;
                need.size = about[i].size;
                need.class_ = about[i].class_;
                assert_int_equal(touched_of(&need, words, taken) != 0, taken == 0 || about[i].turns || !live);
            }
    /* Likewise of a cursor's chunk: 40 slots are handed out. */
    for (uint32_t live = 0; live < 3; live++)
        for (uint32_t taken = 0; taken < 2; taken++) {
            uint32_t used = 0;
            words[0] = quarry_slabs_of(1, live == 1) | QUARRY_SLABS_TOUCHED;
            words[1] = quarry_slabs_of(1, live == 2) | QUARRY_SLABS_TOUCHED;
            for (need.looks = 0; need.looks < 2; need.looks++) {
                used = quarry_slabs_is_used(&need, 1, 40);
                assert_int_equal(used & 1u, live != 0);
                assert_true(need.looks || used < 2);
                words[taken] |= need.looks ? 0 : QUARRY_SLABS_TOUCHED;
            }
            assert_int_equal(used > 1u, live == taken + 1);
        }
}

/* Of four chunks one is full, one has a live block in its second word of eight, and two have none.  Or all are full, but
 * that this block of one is free. */
static void numbers_of(int full)
{
    enum { CHUNKS = 12, BYTES = 4 * CHUNK, EACH = BYTES / 16 };
    static unsigned char *block[CHUNKS * EACH];
    struct slabs_case a = {0};
    plain_options();
    begin(CHUNKS, BYTES, CHUNKS * EACH, 0);
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, CHUNKS * EACH).nulls, 0);
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
    for (uint32_t i = 0; i < CHUNKS * EACH; i++) {
        uint64_t offset = (uint64_t)(block[i] - (unsigned char *)f.device.heap.as.slabs.pages.base);
        uint64_t chunk = offset / BYTES % 4, slot = offset % BYTES / 16;
        const int one = chunk == 1 && slot == 40;
        if (full ? !one : chunk == 0 || one)
            block[i] = NULL;
    }
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
    run(&promise_free, CHUNKS * EACH);
    a.bytes = 16;
    launch_case(&slabs_numbers, &a, 1, 0);
    end();
}

static void numbers(void)
{
    numbers_of(0);
    numbers_of(1);
}

static void what_a_part_has_does_not_depend_on_who_reads_it(void **state)
{
    (void)state;
    for_each_proof(numbers);
}

/* ---- slots ---- */

/* Who wants to close a chunk of four words closes some, and then finds a live slot: all is as before.  It seems to have
 * none, as its first and last word have none. */
static void opens(void)
{
    enum { ALL = 128 };
    static unsigned char *block[ALL];
    unsigned char *live = NULL;
    plain_options();
    begin(1, 16 * ALL, ALL + 1, 0);
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, ALL).nulls, 0);
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
    for (uint32_t i = 0; i < ALL; i++)
        if (block[i] == (unsigned char *)f.device.heap.as.slabs.pages.base + 75 * 16) {
            live = block[i];
            block[i] = NULL;
        }
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
    run(&promise_free, ALL);
    memset(block, 0, sizeof block);
    block[0] = live;
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
    f.device.bytes = 32;
    expect_equal(run(&promise_malloc, 2).nulls, 1);
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, ALL + 1).nulls, 1);
    run(&promise_free, ALL + 1);
    expect_empty();
    end();
}

static void a_chunk_that_can_not_be_closed_is_as_before(void **state)
{
    (void)state;
    for_each_proof(opens);
}

/* What the page says of small heaps: how large their chunks are, and what part is left for blocks of 16 bytes. */
static void small_heap_of(uint64_t bytes, uint64_t page_bytes, uint32_t percent)
{
    plain_options();
    struct quarry_heap_options options = options_of_fixture();
    options.target = base_target;
    options.pool_bytes = bytes;
    assert_ok(quarry_heap_create(&f.heap, &options));
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    expect_equal(f.about.page_bytes, page_bytes);
    uint64_t fits;
    assert_ok(quarry_heap_slots(f.heap, 16, &fits));
    expect(fits * 16 >= bytes * percent / 100);
    assert_ok(quarry_heap_destroy(f.heap));
}

static void small_heap(void)
{
    assert_int_equal(quarry_slabs_chunk_bytes(1u << 30), QUARRY_SLABS_MOST_BYTES);
    assert_int_equal(quarry_slabs_chunk_bytes(1u << 10), QUARRY_SLABS_LEAST_BYTES);
    assert_int_equal(quarry_slabs_power(7, 512), 4);
    assert_int_equal(quarry_slabs_power(8, 512), 8);
    assert_int_equal(quarry_slabs_power(1000, 512), 512);
    assert_int_equal(quarry_slabs_power(5000, 512), 512);
    small_heap_of(1u << 20, 16384, 95);
    small_heap_of(8u << 20, 16384, 98);
    small_heap_of(16u << 20, 16384, 98);
    small_heap_of(64u << 20, 32768, 98);
}

static void a_small_heap_has_small_chunks(void **state)
{
    (void)state;
    for_each_proof(small_heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_an_eighth_of_a_slot_is_unused),
        cmocka_unit_test(words_know_their_slots),
        cmocka_unit_test(a_cursor_past_its_end_gives_nothing),
        cmocka_unit_test(null_never_comes_while_a_chunk_is_empty),
        cmocka_unit_test(a_heap_that_is_too_small_loses_nothing),
        cmocka_unit_test(a_chunk_that_moves_is_not_missed),
        cmocka_unit_test(who_has_a_chunk_next_knows_what_was_done_to_it),
        cmocka_unit_test(what_a_refill_writes_is_there_before_its_slots),
        cmocka_unit_test(what_a_cursor_gives_back_carries_what_was_done_before),
        cmocka_unit_test(who_frees_with_others_has_freed),
        cmocka_unit_test(a_sweep_sees_what_was_taken_between_its_passes),
        cmocka_unit_test(a_cursor_never_overflows),
        cmocka_unit_test(a_cursor_begins_another_life_with_each_chunk),
        cmocka_unit_test(a_sweep_knows_the_words_that_it_relies_on),
        cmocka_unit_test(a_sweep_sees_a_chunk_that_moves_after_it_has_read_its_kind),
        cmocka_unit_test(who_waits_hears_what_others_have_found),
        cmocka_unit_test(what_a_part_has_does_not_depend_on_who_reads_it),
        cmocka_unit_test(a_cursor_of_a_chunk_that_lives_stays),
        cmocka_unit_test(a_cursor_whose_chunk_was_closed_has_nothing),
        cmocka_unit_test(a_trail_has_whole_chunks),
        cmocka_unit_test(first_blocks_are_on_trails),
        cmocka_unit_test(numbers_of_a_trail_are_one_warps),
        cmocka_unit_test(a_number_leads_to_its_slot_however_late),
        cmocka_unit_test(words_of_a_trail_have_a_class_before_their_slots_are_freed),
        cmocka_unit_test(who_ends_a_trail_late_leaves_other_classes_alone),
        cmocka_unit_test(a_gather_takes_no_numbers_of_a_trail),
        cmocka_unit_test(a_chunk_that_can_not_be_closed_is_as_before),
        cmocka_unit_test(a_slot_serves_smaller_blocks_when_nothing_else_is_free),
        cmocka_unit_test(null_never_comes_of_a_larger_slot_that_moves),
        cmocka_unit_test(lanes_of_several_classes_have_slots_of_their_own),
        cmocka_unit_test(a_warp_gathers_slots_of_several_classes),
        cmocka_unit_test(a_warp_recalls_what_it_freed_of_many_words),
        cmocka_unit_test(each_lane_has_a_slot_of_words_that_all_have_seen),
        cmocka_unit_test(a_warp_seeks_the_class_that_most_chunks_have),
        cmocka_unit_test(a_warp_that_sees_a_chunk_to_close_seeks_no_larger_class),
        cmocka_unit_test(lanes_of_a_warp_have_slots_of_several_larger_classes),
        cmocka_unit_test(a_larger_class_serves_until_there_are_chunks),
        cmocka_unit_test(an_empty_heap_has_all_small_slots_after_a_larger_class_served),
        cmocka_unit_test(a_walk_finds_slots_of_a_larger_class),
        cmocka_unit_test(blocks_in_larger_slots_are_their_owners_alone),
        cmocka_unit_test(a_warp_has_a_word_as_far_as_others_have_not),
        cmocka_unit_test(warps_take_words_of_which_others_take_slots),
        cmocka_unit_test(sizes_that_change_keep_to_their_chunks),
        cmocka_unit_test(each_warp_has_hints_of_its_own),
        cmocka_unit_test(every_slot_can_be_had_in_each_class),
        cmocka_unit_test(a_small_heap_has_small_chunks),
    };
    base_target = test_target();
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    if (!getenv("QUARRY_TEST_ALLOCATOR"))
        setenv("QUARRY_TEST_ALLOCATOR", "quarry", 1);
    return cmocka_run_group_tests_name("slabs", tests, NULL, NULL) != 0;
}
