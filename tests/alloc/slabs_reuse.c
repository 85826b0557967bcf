/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/slabs_reuse.h"

#include "alloc/slabs_common.h"

static uint64_t slots_of(uint64_t bytes)
{
    uint64_t fits;
    assert_ok(quarry_heap_slots(f.heap, bytes, &fits));
    return fits;
}

/* One chunk with so many blocks of 64 bytes, of 16, some of which are freed again: what is free serves smaller blocks,
 * and no larger ones. */
static void larger_of(uint32_t blocks, uint32_t freed)
{
    const uint32_t all = CHUNK / 64, fit = all - blocks + freed;
    plain_options();
    begin(1, CHUNK, CHUNK / 16, 0);
    f.device.bytes = 64;
    expect_equal(run(&promise_malloc, blocks).nulls, 0);
    if (freed)
        run(&promise_free, freed);
    expect_equal(slots_of(16), fit);
    expect_equal(slots_of(80), 0);
    f.device.bytes = 80;
    expect_equal(run(&promise_malloc, blocks + 1).nulls, freed + 1);
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, all + 3).nulls, 3);
    expect_equal(slots_of(16), 0);
    run(&promise_free, all + 3);
    expect_equal(slots_of(16), CHUNK / 16);
    end();
}

static void larger(void)
{
    larger_of(14, 0);         /* a cursor has them */
    larger_of(14, 3);         /* it has some */
    larger_of(CHUNK / 64, 3); /* it has none */
}

void a_slot_serves_smaller_blocks_when_nothing_else_is_free(void **state)
{
    (void)state;
    for_each_proof(larger);
}

/* Two chunks of two words, of 64 bytes and of 64 or 80.  The last slot of each is free, or taken by one of two threads,
 * which have one each at most.  So a slot that serves 64 bytes and less is free at every instant.  In mode weak each puts
 * a fence between its free and its malloc: without one that is the open case of docs/design/full-heap.md. */
static void borrows(void)
{
    enum { ALL = 2 * 64, EACH = 64 * 64 };
    static unsigned char *block[ALL];
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 4; seed++) {
        struct slabs_case a = {0};
        uint32_t other = seed % 4 < 2 ? 64 : 80, all = 64 + EACH / other;
        plain_options();
        begin(2, EACH, ALL, 0);
        for (uint32_t n = 0; n < all; n += 16) { /* few at a time: who needs half a chunk takes another one */
            f.device.bytes = n < 64 ? 64 : other;
            expect_equal(run(&promise_malloc, n + 16 < all ? n + 16 : all).nulls, 0);
        }
        assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
        for (uint32_t i = 0; i < all; i++) {
            uint64_t offset = (uint64_t)(block[i] - (unsigned char *)f.device.heap.as.slabs.pages.base);
            uint32_t size = i < 64 ? 64 : other;
            if (offset % EACH + 2 * size > EACH) {
                a.last[i < 64] = block[i];
                block[i] = NULL;
            }
        }
        assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
        a.bytes = other;
        a.rounds = 6;
        a.fence = getenv("QUARRY_WEAK") != NULL;
        launch_case(&slabs_borrows, &a, 2, seed);
        run(&promise_free, all);
        expect_empty();
        end();
    }
}

void null_never_comes_of_a_larger_slot_that_moves(void **state)
{
    (void)state;
    for_each_proof(borrows);
}

/* Clears all hints of the heap. */
static void forget_hints(void)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    static const uint64_t none[1024];
    assert_in_range(h->hints, 1, 1024);
    assert_ok(quarry_memory_copy(&f.target, h->hint, none, h->hints * sizeof *none));
}

/* As many threads as slots, each of which holds at most one: then all slots are taken, by one class after another.
 *
 * A hint that the class before has left leads into a chunk of that class, and who goes there has a slot by mistake, for
 * a moment.  Meanwhile the chunk can't be closed, so NULL may come although each thread would have a slot:
 * docs/reference/alloc/slabs.md.  So where such hints are kept that is not judged. */
static void churns(void)
{
    static const uint64_t bytes[] = {16, 48, 16, 100, 31, 512};
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 2; seed++) {
        choose_schedule(seed);
        begin(1 + seed % 2, CHUNK, 1u << 8, seed);
        for (uint32_t i = 0; i < 3; i++) {
            f.device.bytes = bytes[(seed + i) % 6];
            uint32_t threads = (uint32_t)slots(f.device.bytes);
            expect_equal(threads, (1 + seed % 2) * (CHUNK / quarry_round_up(f.device.bytes, 16)));
            f.device.turns = seed ? 3 : 100;
            f.device.hold = (uint32_t)(seed % 4) * 3;
            const int keeps = i > 0 && seed / 2 % 4 == 3;
            if (!keeps)
                forget_hints();
            const uint64_t nulls = run(&promise_churn, threads).nulls;
            if (!keeps)
                expect_equal(nulls, 0);
            expect_empty();
            expect_equal(run(&promise_malloc, threads).nulls, 0);
            expect_equal(slots(f.device.bytes), 0);
            run(&promise_verify, threads);
            run(&promise_free, threads);
            expect_empty();
        }
        end();
    }
    base_target.bug_depth = 0;
}

void every_slot_can_be_had_in_each_class(void **state)
{
    (void)state;
    for_each_proof(churns);
}

/* Warps whose lanes want several classes, of a heap that has chunks for some of them, or for none. */
static void classes(void)
{
    static const uint32_t counts[] = {40, 480, 40, 1100};
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 2; seed++) {
        struct slabs_case a = {0};
        char note[40];
        plain_options();
        snprintf(note, sizeof note, ", seed %llu", (unsigned long long)seed);
        f.note = note;
        begin(counts[seed % 4], CHUNK, SIMT_LANES, 0);
        if (seed / 4 % 2 && f.device.heap.as.slabs.bound == 0) /* else trails have slots for a while */
            end_trails();
        a.threads = seed % 3 ? 4 : 7;
        a.rounds = 2;
        launch_case(&slabs_classes, &a, seed % 8 == 1 || seed % 8 == 3 ? 8 : 3, seed);
        expect_empty();
        end();
        f.note = NULL;
    }
}

void lanes_of_several_classes_have_slots_of_their_own(void **state)
{
    (void)state;
    for_each_proof(classes);
}

/* One chunk of 16 bytes and one of 32, in which nothing lives.  A warp gathers 16 blocks of each.  If the chunk that is
 * known of 16 bytes is that of 32, nothing is taken of it for these; a gather may find the other.
 *   blocks   so many of each have lived: a few, so that cursors have the rest, or all that fit */
static void gathers_of(const uint32_t blocks[2], int known)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    struct slabs_case a = {0};
    uint64_t kinds[2];
    void *got[SIMT_LANES];
    uint32_t n = 0;
    plain_options();
    begin(2, CHUNK, CHUNK / 16, 0);
    end_trails();
    for (uint32_t k = 0; k < 2; k++) {
        f.device.bytes = 16 << k;
        expect_equal(run(&promise_malloc, blocks[k]).nulls, 0);
        run(&promise_free, blocks[k]);
    }
    assert_int_equal(h->knows, 1);
    assert_ok(quarry_memory_copy(&f.target, kinds, h->kinds, sizeof kinds));
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t class_ = quarry_slabs_class(h, 16 << k);
        uint32_t chunk = !quarry_slabs_is_bound(kinds[0], known ? class_ : quarry_slabs_class(h, 32));
        assert_ok(quarry_memory_copy(&f.target, &h->known[class_], &chunk, sizeof chunk));
    }
    a.block = test_memory(&f.target, sizeof got);
    launch_case(&slabs_gathers, &a, 1, 0);
    assert_ok(quarry_memory_copy(&f.target, got, a.block, sizeof got));
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        expect(got[i] || (i % 2 == 0 && !known));
        if (!got[i])
            continue;
        n++;
        uint64_t kind = kinds[quarry_page_index(&h->pages, got[i])];
        expect(quarry_slabs_is_bound(kind, quarry_slabs_class(h, 16 << i % 2)));
        for (uint32_t k = 0; k < i; k++)
            expect(got[i] != got[k]);
    }
    expect_equal(statistics().live_blocks, n);
    a.rounds = 1;
    launch_case(&slabs_gathers, &a, 1, 0);
    test_memory_free(&f.target, a.block, 0);
    expect_empty();
    end();
}

static void gathers(void)
{
    const uint32_t few[2] = {20, 8}, all[2] = {CHUNK / 16, CHUNK / 32};
    gathers_of(few, 1);
    gathers_of(all, 1);
    gathers_of(all, 0);
}

void a_warp_gathers_slots_of_several_classes(void **state)
{
    (void)state;
    for_each_proof(gathers);
}

/* Warps free slots of many words of two classes, and their hints lead to most of them.  The hints of the one class must not
 * be those of the other.
 *   mixed   a lane frees slots of the other class than its warp */
static void recalls_of(int mixed)
{
    const uint32_t blocks = 2 * SIMT_LANES * QUARRY_SLABS_BITS;
    struct slabs_case a = {0};
    uint64_t got;
    plain_options();
    begin(256, 1u << 18, 1, 0);
    a.full = (uint32_t)mixed;
    a.block = test_memory(&f.target, blocks * sizeof *a.block);
    a.cursor = test_memory(&f.target, sizeof *a.cursor);
    for (a.rounds = 0; a.rounds < 4; a.rounds++)
        launch_case(&slabs_recalls, &a, QUARRY_SLABS_BITS, 0);
    assert_ok(quarry_memory_copy(&f.target, &got, a.cursor, sizeof got));
    expect(got >= blocks * 3 / 4);
    test_memory_free(&f.target, a.block, 0);
    test_memory_free(&f.target, a.cursor, 0);
    expect_empty();
    end();
}

static void recalls(void)
{
    recalls_of(0);
    recalls_of(1);
}

void a_warp_recalls_what_it_freed_of_many_words(void **state)
{
    (void)state;
    for_each_proof(recalls);
}

static void deals(void)
{
    struct slabs_case a = {0};
    plain_options();
    begin(1, CHUNK, 1, 0);
    a.rounds = 64;
    launch_case(&slabs_deals, &a, 1, 0);
    end();
}

void each_lane_has_a_slot_of_words_that_all_have_seen(void **state)
{
    (void)state;
    for_each_proof(deals);
}

/* Classes whose blocks have to be slots of larger classes.
 *   also   NULL; or classes, of which only these remain that had no chunk yet */
static uint32_t classes_that_are_served(unsigned char *also)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    uint32_t spread[256], n = 0;
    assert_in_range(h->classes, 1, 255);
    assert_ok(quarry_memory_copy(&f.target, spread, h->spread, h->classes * sizeof *spread));
    for (uint32_t i = 0; also && i < h->pages.count; i++) {
        uint64_t kind;
        assert_ok(quarry_memory_copy(&f.target, &kind, &h->kinds[i], sizeof kind));
        if (quarry_slabs_state(kind) == QUARRY_SLABS_IS_BOUND)
            also[quarry_slabs_kind_class(kind)] = 0;
    }
    for (uint32_t i = 0; i < h->classes; i++) {
        const int is = quarry_slabs_larger(spread[i]) && (!also || also[i]);
        n += is != 0;
        if (also)
            also[i] = (unsigned char)is;
    }
    return n;
}

/* Frees blocks that live, of `each` bytes: all of every `whole`th chunk, if not 0, and in the others every `part`th slot, from the
 * second on.  Writes what is left to `kept`, NULL for the others. */
static void free_some(unsigned char **kept, uint32_t blocks, uint32_t each, uint32_t whole, uint32_t part)
{
    const struct quarry_pages *pages = &f.device.heap.as.slabs.pages;
    unsigned char **freed = calloc(blocks, sizeof *freed);
    assert_non_null(freed);
    assert_ok(quarry_memory_copy(&f.target, kept, f.device.block, blocks * sizeof *kept));
    for (uint32_t i = 0; i < blocks; i++) {
        if (!kept[i])
            continue;
        uint64_t offset = (uint64_t)(kept[i] - (unsigned char *)pages->base);
        if ((whole && offset / pages->page_bytes % whole == 0) ||
            offset % pages->page_bytes / each % part == 1) {
            freed[i] = kept[i];
            kept[i] = NULL;
        }
    }
    assert_ok(quarry_memory_copy(&f.target, f.device.block, freed, blocks * sizeof *kept));
    run(&promise_free, blocks);
    free(freed);
}

/* All chunks have slots of 48 bytes, of which every second one is free.  A warp has these for smaller blocks, and for no
 * larger ones.  If every `whole`th chunk has no live slot, it has none: such a chunk can be closed. */
static void seeks(uint32_t whole)
{
    enum { CHUNKS = 32, BYTES = 48, EACH = CHUNK / BYTES, ALL = CHUNKS * EACH };
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    static unsigned char *kept[ALL];
    struct slabs_case a = {0};
    unsigned char *got[SIMT_LANES];
    uint32_t n = 0;
    plain_options();
    begin(CHUNKS, CHUNK, ALL, 0);
    f.device.bytes = BYTES;
    expect_equal(run(&promise_malloc, ALL).nulls, 0);
    free_some(kept, ALL, BYTES, whole, 2);
    a.block = test_memory(&f.target, sizeof got);
    launch_case(&slabs_seeks, &a, 1, 0);
    assert_ok(quarry_memory_copy(&f.target, got, a.block, sizeof got));
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        if (!got[i])
            continue;
        n++;
        uint64_t offset = (uint64_t)(got[i] - (unsigned char *)h->pages.base);
        expect_equal(i % 2, 0);
        expect_equal(offset % CHUNK % BYTES, 0);
        expect_equal(offset % CHUNK / BYTES % 2, 1);
        for (uint32_t k = 0; k < i; k++)
            expect(got[i] != got[k]);
    }
    expect(whole ? n == 0 : n >= SIMT_LANES / 4);
    expect_equal(classes_that_are_served(NULL), whole == 0);
    a.rounds = 1;
    launch_case(&slabs_seeks, &a, 1, 0);
    test_memory_free(&f.target, a.block, 0);
    assert_ok(quarry_memory_copy(&f.target, f.device.block, kept, sizeof kept));
    run(&promise_free, ALL);
    expect_empty();
    end();
}

void a_warp_seeks_the_class_that_most_chunks_have(void **state)
{
    (void)state;
    seeks(0);
}

void a_warp_that_sees_a_chunk_to_close_seeks_no_larger_class(void **state)
{
    (void)state;
    seeks(2);
}

/* Chunks of 48 bytes and of 64, in which one block each lives.  Each serves half of a warp's lanes. */
static void shares(void)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    struct slabs_case a = {0};
    uint64_t kinds[2];
    void *got[SIMT_LANES], *kept[2], *none = NULL;
    plain_options();
    begin(2, 2 * CHUNK, 2 * CHUNK / 16, 0);
    for (uint32_t k = 0; k < 2; k++) {
        f.device.bytes = 64 - 16 * k;
        uint32_t all = 2 * CHUNK / (64 - 16 * k);
        expect_equal(run(&promise_malloc, all).nulls, 0);
        f.device.turns = all; /* but for thread 0 */
        run(&promise_sieve, all);
        assert_ok(quarry_memory_copy(&f.target, &kept[k], f.device.block, sizeof kept[k]));
        assert_ok(
            quarry_memory_copy(&f.target, f.device.block, &none, sizeof none)); /* it is to have another */
    }
    assert_ok(quarry_memory_copy(&f.target, kinds, h->kinds, sizeof kinds));
    a.block = test_memory(&f.target, sizeof got);
    launch_case(&slabs_shares, &a, 1, 0);
    assert_ok(quarry_memory_copy(&f.target, got, a.block, sizeof got));
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        uint32_t bytes = 64 - 16 * (i % 2), page = quarry_page_index(&h->pages, got[i]);
        expect(got[i]);
        expect(quarry_slabs_is_bound(kinds[page], quarry_slabs_class(h, bytes)));
        expect_equal(((unsigned char *)got[i] - h->pages.base) % (2 * CHUNK) % bytes, 0);
        for (uint32_t k = 0; k < i; k++)
            expect(got[i] != got[k]);
    }
    a.rounds = 1;
    launch_case(&slabs_shares, &a, 1, 0);
    test_memory_free(&f.target, a.block, 0);
    assert_ok(quarry_memory_copy(&f.target, f.device.block, kept, sizeof kept));
    run(&promise_free, 2);
    expect_empty();
    end();
}

void lanes_of_a_warp_have_slots_of_several_larger_classes(void **state)
{
    (void)state;
    for_each_proof(shares);
}

/* Turns of sweeps that there have been. */
static uint64_t turns(void)
{
    uint64_t state;
    assert_ok(quarry_memory_copy(&f.target, &state, &f.device.heap.as.slabs.sweep->state, sizeof state));
    return state & ~QUARRY_SWEEP_SCRATCH;
}

/* All chunks have slots of 256 bytes, half of which are free, some in each.  Smaller blocks, of one size or of eight, have
 * these: after each of their classes has learned so from a sweep, without one.  Then all blocks of every second chunk are
 * freed.  The others still have slots that are free, but each class gets to have chunks of its own. */
static void serves(void)
{
    enum { CHUNKS = 32, BYTES = 256, EACH = 16, ALL = CHUNKS * EACH };
    static unsigned char *kept[ALL + 1];
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        struct slabs_case a = {0};
        unsigned char served[256];
        char note[40];
        plain_options();
        snprintf(note, sizeof note, ", seed %llu", (unsigned long long)seed);
        f.note = note;
        begin(CHUNKS, EACH * BYTES, ALL + 1, 0);
        f.device.bytes = BYTES;
        expect_equal(run(&promise_malloc, ALL + 1).nulls, 1);
        f.device.turns = 2;
        run(&promise_sieve, ALL + 1);
        a.threads = seed % 2 ? 8 : 1;
        a.rounds = 8;
        launch_case(&slabs_serves, &a, 2, seed);
        expect_equal(classes_that_are_served(NULL), a.threads);
        const uint64_t before = turns();
        for (uint32_t again = 0; again < 3; again++)
            launch_case(&slabs_serves, &a, 2, seed ? seed + 1000 * (again + 1) : 0);
        /* In a schedule lanes may come one by one.  Such a lane looks at few words: then it may have to sweep. */
        expect(turns() - before <= (seed ? 8 : 0));
        expect_equal(classes_that_are_served(NULL), a.threads);
        run(&promise_verify, ALL + 1);
        free_some(kept, ALL + 1, BYTES, 2, EACH);
        memset(served, 1, sizeof served);
        for (uint32_t tries = 0; classes_that_are_served(served); tries++) {
            expect(tries < 200);
            launch_case(&slabs_serves, &a, 2, seed ? seed + tries : 0);
        }
        assert_ok(quarry_memory_copy(&f.target, f.device.block, kept, sizeof kept));
        run(&promise_verify, ALL + 1);
        run(&promise_free, ALL + 1);
        expect_empty();
        end();
        f.note = NULL;
    }
}

void a_larger_class_serves_until_there_are_chunks(void **state)
{
    (void)state;
    for_each_proof(serves);
}

/* A larger class serves small blocks, and then everything is freed.  As many small ones can be had as are said to fit:
 * no slot of a larger class is taken of a chunk in which nothing lives. */
static void empties(void)
{
    for (uint32_t pages = 1; pages <= 64; pages *= 4) {
        plain_options();
        begin(pages, 4096, pages * 256, 0);
        f.device.bytes = 2048;
        expect_equal(run(&promise_malloc, 2 * pages).nulls, 0);
        run(&promise_free, 1);
        f.device.bytes = 16;
        expect_equal(run(&promise_malloc, 1).nulls, 0);
        expect(classes_that_are_served(NULL) != 0);
        run(&promise_free, 2 * pages);
        expect_empty();
        uint64_t fits;
        assert_ok(quarry_heap_slots(f.heap, 16, &fits));
        expect_equal(fits, pages * 256);
        expect_equal(run(&promise_malloc, (uint32_t)fits).nulls, 0);
        run(&promise_free, (uint32_t)fits);
        end();
    }
}

void an_empty_heap_has_all_small_slots_after_a_larger_class_served(void **state)
{
    (void)state;
    for_each_proof(empties);
}

/* An eighth of the slots of a heap of many chunks is free, and nothing leads there.  So few of a warp's guesses find some,
 * and a walk finds the others, without a sweep.  Small blocks that have these don't touch what lives beside them. */
static void walks(void)
{
    enum { CHUNKS = 512, BYTES = 256, ALL = CHUNKS * CHUNK / BYTES };
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    struct slabs_case a = {0};
    uint64_t before = 0;
    plain_options();
    begin(CHUNKS, CHUNK, ALL + 1, 0);
    end_trails(); /* so what is free lies all over the heap */
    f.device.bytes = BYTES;
    expect_equal(run(&promise_malloc, ALL + 1).nulls, 1);
    f.device.turns = ALL; /* all of these lanes free theirs, but for thread 0: so some are free everywhere */
    f.device.lanes = 0x01010101u;
    run(&promise_sieve, ALL);
    f.device.lanes = SIMT_ALL_LANES;
    a.threads = a.rounds = 1;
    for (uint32_t again = 0; again < 20;
         again++) { /* without a seed: else lanes may come one by one, and walk alone */
        uint32_t *known = calloc(h->knows, sizeof *known);
        assert_non_null(known);
        forget_hints();
        assert_ok(quarry_memory_copy(&f.target, &h->known[quarry_slabs_class(h, BYTES) * h->knows], known,
                                     h->knows * sizeof *known));
        free(known);
        launch_case(&slabs_serves, &a, 1, 0);
        before = again == 0 ? turns() : before;
        run(&promise_verify, ALL + 1);
    }
    expect_equal(turns(), before);
    run(&promise_free, ALL + 1);
    expect_empty();
    end();
}

void a_walk_finds_slots_of_a_larger_class(void **state)
{
    (void)state;
    for_each_proof(walks);
}

/* Chunks of two sizes of slots, of which some are free, and hardly more than are asked for.  Blocks of up to the larger
 * size hold what was written there, and so do those that have lived before. */
static void full(void)
{
    enum { CHUNKS = 12, BYTES = 256, EACH = 16, ALL = CHUNKS * EACH, THREADS = ALL + ALL / 4 + 1 };
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 2; seed++) {
        struct slabs_case a = {0};
        plain_options();
        begin(CHUNKS, EACH * BYTES, THREADS, 0);
        f.device.bytes = 128;
        run(&promise_malloc, ALL / 2);
        f.device.bytes = BYTES;
        run(&promise_malloc, THREADS);
        f.device.turns = 2 + (uint32_t)seed % 3;
        run(&promise_sieve, THREADS);
        a.threads = 1 + seed % 4 * 5;
        a.rounds = 4;
        a.full = 1;
        launch_case(&slabs_serves, &a, 4, seed);
        run(&promise_verify, THREADS);
        launch_case(&slabs_serves, &a, 3, seed ? seed + 1000 : 0);
        run(&promise_verify, THREADS);
        run(&promise_free, THREADS);
        expect_empty();
        end();
    }
}

void blocks_in_larger_slots_are_their_owners_alone(void **state)
{
    (void)state;
    for_each_proof(full);
}

/* A warp's hint names a whole clear word, of which others have the first slots meanwhile.  The warp has the rest of the
 * word, and what it lacks elsewhere.  If it has the whole word, the hint names none any more. */
static void whole_of(uint32_t taken)
{
    enum { ALL = 128 };
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    static void *block[ALL];
    void *others[SIMT_LANES] = {NULL};
    uint64_t hint = ~0u, word;
    plain_options();
    begin(2, 16 * ALL, ALL, 0);
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, ALL).nulls, 0);
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
    const uint32_t page = quarry_page_index(&h->pages, block[0]);
    unsigned char *first = h->pages.base + page * h->pages.page_bytes;
    for (uint32_t i = 0, n = 0; i < ALL; i++) {
        if ((uint64_t)((unsigned char *)block[i] - first) / 16 < taken) {
            others[n++] = block[i];
            block[i] = NULL;
        }
    }
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
    run(&promise_free, ALL);
    hint |= (uint64_t)quarry_slabs_id(h, quarry_slabs_place(page, 0)) << 32;
    assert_int_equal(h->hints, 1);
    assert_ok(quarry_memory_copy(&f.target, h->hint, &hint, sizeof hint));
    expect_equal(run(&promise_malloc, SIMT_LANES).nulls, 0);
    assert_ok(
        quarry_memory_copy(&f.target, &word, quarry_slabs_hinted(h, (uint32_t)(hint >> 32)), sizeof word));
    expect_equal((uint32_t)word, ~0u);
    assert_ok(quarry_memory_copy(&f.target, &hint, h->hint, sizeof hint));
    expect(taken || !(uint32_t)hint);
    assert_ok(quarry_memory_copy(&f.target, f.device.block + SIMT_LANES, others, sizeof others));
    run(&promise_free, 2 * SIMT_LANES);
    expect_empty();
    end();
}

static void whole(void)
{
    for (uint32_t taken = 0; taken <= SIMT_LANES; taken += 8)
        whole_of(taken);
}

void a_warp_has_a_word_as_far_as_others_have_not(void **state)
{
    (void)state;
    for_each_proof(whole);
}

/* Warps that take whole words of the same two chunks at the same time, one of which is of their class. */
static void words(void)
{
    enum { ALL = 128 };
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 4; seed++) {
        struct slabs_case a = {0};
        plain_options();
        begin(2, 16 * ALL, ALL, 0);
        for (uint32_t k = 0; k < 2; k++) {
            f.device.bytes = 16 << k;
            expect_equal(run(&promise_malloc, ALL >> k).nulls, 0);
            run(&promise_free, ALL >> k);
        }
        expect_equal(chunks_that_are(QUARRY_SLABS_IS_BOUND), 2);
        a.bytes = 16;
        a.rounds = 8;
        a.threads = 3;
        launch_case(&slabs_words, &a, a.threads, seed);
        expect_empty();
        end();
    }
}

void warps_take_words_of_which_others_take_slots(void **state)
{
    (void)state;
    for_each_proof(words);
}

/* Chunks that are in use. */
static uint32_t chunks_in_use(void)
{
    return (uint32_t)f.about.pages - chunks_that_are(QUARRY_SLABS_IS_FREE);
}

/* Threads take blocks of sizes that change each round, and free all.  After some rounds each warp has had each size.  Then
 * hints lead to what was freed, and hardly any chunk is bound. */
static void changes(void)
{
    enum { THREADS = 2048, ROUNDS = 30 };
    struct slabs_case a = {0};
    uint32_t before = 0;
    plain_options();
    begin(2048, 1u << 14, 1, 0);
    a.block = test_memory(&f.target, THREADS * sizeof *a.block);
    for (a.rounds = 0; a.rounds < 2 * ROUNDS; a.rounds++) {
        before = a.rounds == ROUNDS ? chunks_in_use() : before;
        launch_case(&slabs_changes, &a, THREADS / 32, 0);
        launch_case(&slabs_changes, &a, THREADS / 32, 0);
    }
    expect(chunks_in_use() <= before + before / 8);
    test_memory_free(&f.target, a.block, 0);
    expect_empty();
    end();
}

void sizes_that_change_keep_to_their_chunks(void **state)
{
    (void)state;
    for_each_proof(changes);
}

/* Warps as many as hints, of one size: each has another hint.  Those of a warp for 16 sizes lie in one line. */
static void hints(void)
{
    static const uint64_t chunks[] = {4, 64, 1024, 16384};
    for (uint32_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        plain_options();
        begin(chunks[k], CHUNK, 1, 0);
        const struct quarry_slabs *h = &f.device.heap.as.slabs;
        unsigned char *had = calloc(h->hints, 1);
        assert_non_null(had);
        for (uint32_t turn = 1; turn <= 2; turn++)
            for (uint32_t warp = 0; warp < h->hints; warp++)
                had[quarry_slabs_hint(h, turn * 13u % h->classes, warp) - h->hint] += 1u;
        for (uint32_t i = 0; i < h->hints; i++)
            expect_equal(had[i], 2);
        for (uint32_t i = 0; h->hints >= 16 && i < 16 && i < h->classes; i++)
            expect_equal((quarry_slabs_hint(h, i, 5) - h->hint) / 16, 5 % (h->hints / 16));
        free(had);
        end();
    }
}

void each_warp_has_hints_of_its_own(void **state)
{
    (void)state;
    for_each_proof(hints);
}
