/* SPDX-License-Identifier: Apache-2.0 */
/* Exact mode, for every allocator: NULL is no answer while a page is free, wherever that page moves to.
 *
 * QUARRY_TEST_SEEDS: seeds for each heap. */
#include "alloc/exact_kernels.h"
#include "alloc/promises.h"

#define MOST_PAGES (33u * 64u)
#define HEAPS 12u
#define MOVE_SEEDS 20u
#define FAIL_SEEDS 300u
#define REGAIN_SEEDS 100u
#define SWAP_SEEDS 100u
#define HALVES_SEEDS 1000u
#define TURNS 40u
#define FAST 2u /* cases without a seed */

/* Case `i` of a heap: FAST in fast mode, or on a GPU, where there are no others; then seeds, one of four by
 * priorities. */
static void choose_schedule(uint32_t i)
{
    f.target.seed = i < FAST ? 0 : i;
    f.target.bug_depth = f.target.seed % 4 == 3 ? 2 + i / 4 % 4 : 0;
}

static uint32_t count_cases(uint32_t unless_set)
{
    return FAST + (uint32_t)seeds(unless_set);
}

static void prove(const struct simt_kernel *kernel, uint32_t blocks, struct exact_case *a)
{
    assert_ok(quarry_memory_fill(&f.target, a->over, 0, sizeof *a->over));
    uint32_t wrong = run_blocks(kernel, blocks, a, a->wrong);
    if (wrong)
        fail_msg("%s, depth %u, holes %u and %u of %u pages, %u askers%s, hold %u: %u times wrong", naming(),
                 f.target.bug_depth, a->hole[0], a->hole[1], a->pages, a->askers,
                 a->together ? " of one warp" : "", a->hold, wrong);
}

/* A heap filled with so many blocks.  With `probes` of 1 most mallocs sweep, in many parts. */
static void begin_filled(uint32_t pages, uint64_t page_bytes, uint64_t bytes, uint32_t probes,
                         struct exact_case *a)
{
    uint32_t blocks = pages * (uint32_t)(page_bytes / bytes);
    plain_options();
    f.probes = probes;
    begin(pages, page_bytes, blocks, 0);
    f.device.bytes = bytes;
    expect_equal(run(&promise_malloc, blocks).nulls, 0);
    memset(a, 0, sizeof *a);
    a->turns = getenv("QUARRY_TEST_THREADS") ? TURNS / 8 : TURNS; /* sanitizers are slow */
    a->heap = f.device.heap;
    a->bytes = 16;
    a->wrong = test_memory(&f.target, sizeof *a->wrong);
    a->over = test_memory(&f.target, sizeof *a->over);
}

static void begin_full(uint32_t pages, uint32_t probes, struct exact_case *a)
{
    begin_filled(pages, 16, 16, probes, a);
}

/* A heap of ouro with so many chunks of 16 bytes, of which none is new any more, and `threads` blocks of `bytes`. */
static void begin_runs(uint32_t chunks, uint64_t bytes, uint32_t threads, struct exact_case *a)
{
    plain_options();
    set_option("largest", 16 * 128);
    begin(chunks, 16, chunks, 0);
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, chunks).nulls, 0);
    run(&promise_free, chunks);
    f.device.bytes = bytes;
    if (threads)
        expect_equal(run(&promise_malloc, threads).nulls, 0);
    memset(a, 0, sizeof *a);
    a->turns = getenv("QUARRY_TEST_THREADS") ? TURNS / 8 : TURNS;
    a->heap = f.device.heap;
    a->bytes = bytes;
    a->wrong = test_memory(&f.target, sizeof *a->wrong);
    a->over = test_memory(&f.target, sizeof *a->over);
}

static void end_exact(const struct exact_case *a, uint64_t free_pages)
{
    f.target = base_target;
    expect_equal(slots(16), free_pages);
    test_memory_free(&f.target, a->wrong, 0);
    test_memory_free(&f.target, a->over, 0);
    end();
}

/* Frees those of the blocks that are in the `bytes` bytes from the beginning of either hole on.  Numbers of
 * pages are relative to the lowest block. */
static void open_holes(uint32_t blocks, uint64_t bytes, const struct exact_case *a)
{
    static unsigned char *block[MOST_PAGES];
    assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof *block * blocks));
    unsigned char *first = block[0];
    for (uint32_t i = 1; i < blocks; i++)
        first = block[i] < first ? block[i] : first;
    for (uint32_t i = 0; i < blocks; i++) {
        uint64_t offset = (uint64_t)(block[i] - first), page_bytes = f.device.page_bytes;
        if (offset - a->hole[0] * page_bytes >= bytes && offset - a->hole[1] * page_bytes >= bytes)
            block[i] = NULL;
    }
    assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof *block * blocks));
    run(&promise_free, blocks);
}

/* What rw and scatter don't promise (docs/design/full-heap.md): mode weak comes to it wherever pages move. */
static int may_miss_a_page_that_moves(void)
{
    return getenv("QUARRY_WEAK") && (test_is_of(f.allocator, "rw") || test_is_of(f.allocator, "scatter"));
}

/* Bitmaps of 33 words, so that the last is under a lock of its own lockmap word. */
static void moving_holes(void)
{
    static const uint32_t holds[] = {0, 3, 10, 30, 100, 300};
    static const uint32_t probes[] = {1, 20, 6};
    uint32_t words = f.word_bits ? 33 : 3, bits = f.word_bits ? f.word_bits : 32, pages = words * bits - 5;
    const uint32_t pairs[][2] = {
        {words - 1, words - 2}, {0, words - 1}, {words - 2, 0}, {words / 2, words - 1}};
    if (may_miss_a_page_that_moves())
        return;
    for (uint32_t h = 0; h < HEAPS; h++) {
        struct exact_case a;
        uint32_t cases = count_cases(MOVE_SEEDS);
        begin_full(pages, probes[h % 3], &a);
        a.pages = 1 + h / 4;
        for (uint32_t i = 0; i < 2; i++)
            a.hole[i] = pairs[h % 4][i] * bits + h * 17 % (bits - 8);
        open_holes(pages, 16 * a.pages, &a);
        expect_equal(slots(16), 2 * a.pages);
        for (uint32_t i = 0; i < cases; i++) {
            choose_schedule(i);
            a.together = (i / 8 + h) % 2;
            a.askers = a.together ? a.pages : 1 + (i / 4 + h) % 2 % a.pages;
            a.hold = holds[(i + h) % 6];
            prove(&exact_move, a.together ? 3 : 2 + a.askers, &a);
        }
        end_exact(&a, 2 * a.pages);
    }
}

static void null_never_comes_of_a_free_page_that_moves(void **state)
{
    (void)state;
    for_each_proof(moving_holes);
}

/* Pages of scatter, of 64 bytes: a cell, a page or two pages move among blocks of one size. */
static void moving_cells(void)
{
    static const struct {
        uint64_t filled, hole, mover, prover;
    } sizes[] = {
        {16, 16, 16, 16},   /* a cell of four: `takes` */
        {64, 64, 64, 16},   /* a page that the prover can't use while it is taken: `generation` */
        {64, 128, 128, 64}, /* both pages of a hole */
        {64, 128, 64, 128}, /* one page of a hole, of which the prover needs both */
    };
    static const uint32_t holds[] = {0, 3, 10, 30, 100, 300}, pages = 40;
    if (!test_is_of(f.allocator, "scatter") || may_miss_a_page_that_moves())
        return;
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint32_t h = 0; h < HEAPS; h++) {
            struct exact_case a;
            uint32_t cases = count_cases(MOVE_SEEDS);
            begin_filled(pages, 64, sizes[s].filled, 1 + h % 3, &a);
            a.bytes = sizes[s].prover;
            a.mover_bytes = sizes[s].mover;
            a.pages = 1;
            a.askers = 1;
            a.hole[0] = h;
            a.hole[1] = pages - 2 - 2 * h;
            open_holes(pages * (64 / (uint32_t)sizes[s].filled), sizes[s].hole, &a);
            uint64_t before = slots(16);
            for (uint32_t i = 0; i < cases; i++) {
                choose_schedule(i);
                a.hold = holds[(i + h) % 6];
                prove(&exact_move, 3, &a);
            }
            end_exact(&a, before);
        }
}

static void null_never_comes_of_a_free_cell_that_moves(void **state)
{
    (void)state;
    for_each_proof(moving_cells);
}

/* The page is the last of a word, so that rw-malloc's claim changes two words; or, together, the first.  By
 * priorities a claim may stand still for a whole sweep; by uniform choice claims come and go during one. */
static void claims_in_vain_of(uint32_t together)
{
    const uint32_t pages = 4 * 32;
    uint32_t cases = count_cases(FAIL_SEEDS);
    struct exact_case a;
    begin_full(pages, 1, &a);
    a.turns /= 8;
    a.pages = 1;
    a.askers = 1;
    a.together = together;
    a.hole[0] = a.hole[1] = 2 * 32 - 1 + together;
    open_holes(pages, 16, &a);
    for (uint32_t i = 0; i < cases; i++) {
        f.target.seed = i < FAST ? 0 : i;
        f.target.bug_depth = i < FAST || i % 2 ? 0 : 2 + i / 2 % 4;
        a.hold = 300u >> i / 2 % 8;
        prove(&exact_fail, 2, &a);
    }
    end_exact(&a, 1);
}

static void claims_in_vain(void)
{
    if (test_is_of(f.allocator, "runs") || test_is_of(f.allocator, "scatter"))
        claims_in_vain_of(0);
    if (test_is_of(f.allocator, "runs"))
        claims_in_vain_of(1);
}

static void null_never_comes_of_a_claim_that_fails(void **state)
{
    (void)state;
    for_each_proof(claims_in_vain);
}

/* The owner's page is another in each case. */
static void owner_and_askers(void)
{
    uint32_t pages = 4 * 64, cases = count_cases(REGAIN_SEEDS);
    struct exact_case a;
    begin_full(pages, 1, &a);
    a.box = test_memory(&f.target, sizeof *a.box);
    a.asked = test_memory(&f.target, sizeof *a.asked * 3);
    for (uint32_t i = 0; i < cases; i++) {
        choose_schedule(i);
        a.block = f.device.block + i % pages;
        a.askers = 1 + i / 4 % 3;
        a.together = i / 12 % 2;
        a.hold = 1u << (i / 2) % 9;
        prove(&exact_regain, a.together ? 1 : 1 + a.askers, &a);
    }
    test_memory_free(&base_target, a.box, 0);
    test_memory_free(&base_target, a.asked, 0);
    end_exact(&a, 0);
}

static void null_never_comes_of_a_page_that_the_caller_has_freed(void **state)
{
    (void)state;
    for_each_proof(owner_and_askers);
}

/* A block for each lane, of pages with `cells` blocks of 16 bytes, of which scatter's lanes free several at once; or of
 * `chunks` chunks of ouro. */
static void swap(uint32_t cells, uint32_t chunks)
{
    static const uint32_t holds[] = {0, 0, 3, 30};
    uint32_t blocks = 2 * 32, cases = count_cases(SWAP_SEEDS);
    struct exact_case a;
    if (chunks == 1)
        begin_filled(blocks / cells, 16 * (uint64_t)cells, 16, 1, &a);
    else
        begin_runs(blocks * chunks, 16 * (uint64_t)chunks, blocks, &a);
    a.block = f.device.block;
    a.turns /= 4;
    for (uint32_t i = 0; i < cases; i++) {
        choose_schedule(i);
        a.askers = 1u << (i / 4) % 5;
        a.hold = holds[(i + i / 4) % 4];
        prove(&exact_swap, 1 + i / 2 % 2, &a);
    }
    end_exact(&a, 0);
}

static void counts(void)
{
    uint32_t pages = 2 * 64, cases = count_cases(SWAP_SEEDS);
    struct exact_case a;
    if (f.can.defers_frees) /* a count may miss what was put off */
        return;
    begin_full(pages, 1, &a);
    a.turns /= 4;
    for (uint32_t i = 0; i < cases; i++) {
        choose_schedule(i);
        a.block = f.device.block + i % (pages - 8);
        a.askers = 2 + i / 4 % 4;
        prove(&exact_count, 1, &a);
        prove(&exact_count_all, 1, &a);
    }
    end_exact(&a, 0);
}

static void a_count_has_what_the_caller_has_freed(void **state)
{
    (void)state;
    for_each_proof(counts);
}

static void halves(void)
{
    static const uint32_t holds[] = {0, 1, 3, 10};
    uint32_t cases = count_cases(HALVES_SEEDS);
    struct exact_case a;
    if (f.can.whole_pages || f.can.page_parts ||
        test_is_of(f.allocator, "scatter")) /* scatter divides no run between access blocks */
        return;
    for (uint32_t pages = 4; pages <= 16; pages *= 2) {
        plain_options();
        begin(pages, 16, pages, 0);
        memset(&a, 0, sizeof a);
        a.turns = 8;
        a.heap = f.device.heap;
        a.bytes = 16;
        a.pages = pages / 2;
        a.wrong = test_memory(&f.target, sizeof *a.wrong);
        a.over = test_memory(&f.target, sizeof *a.over);
        for (uint32_t i = 0; i < cases; i++) {
            choose_schedule(i);
            a.hold = holds[i / 4 % 4];
            prove(&exact_halves, 2, &a);
        }
        end_exact(&a, pages);
    }
}

static void null_never_comes_of_blocks_that_are_divided_and_joined(void **state)
{
    (void)state;
    for_each_proof(halves);
}

/* A block of several fields of chunks is taken field by field, and given back if one has gone: what it held meanwhile
 * was nobody's. */
static void all_of_a_heap(void)
{
    static const uint32_t chunks[] = {34, 66, 34, 128};
    uint32_t cases = count_cases(HALVES_SEEDS);
    struct exact_case a;
    if (!test_is_of(f.allocator, "ouro"))
        return;
    for (uint32_t h = 0; h < 4; h++) {
        begin_runs(chunks[h], 32, 0, &a);
        a.turns = 8;
        a.mover_bytes = 16 * (uint64_t)chunks[h];
        a.asked = test_memory(&f.target, 2 * sizeof *a.asked);
        for (uint32_t i = 0; i < cases; i++) {
            uint32_t asked[2];
            choose_schedule(i);
            a.askers = 2 + h / 2;
            a.pages = 1 + i / 2 % 3;
            a.hold = 1u << i / 4 % 8;
            assert_ok(quarry_memory_fill(&f.target, a.asked, 0, sizeof asked));
            prove(&exact_all, 1 + a.askers, &a);
            assert_ok(quarry_memory_copy(&f.target, asked, a.asked, sizeof asked));
            if (asked[1] && !asked[0])
                fail_msg("%s, depth %u, %u chunks: %u times NULL though two together were free", naming(),
                         f.target.bug_depth, chunks[h], asked[1]);
        }
        test_memory_free(&base_target, a.asked, 0);
        end_exact(&a, chunks[h]);
    }
}

static void null_never_comes_of_a_long_run_that_could_not_be_had(void **state)
{
    (void)state;
    for_each_proof(all_of_a_heap);
}

/* The two holes are of different fields of the map of chunks. */
static void chunks_that_come_together(void)
{
    const uint32_t chunks = 3 * 32;
    uint32_t cases = count_cases(HALVES_SEEDS);
    struct exact_case a;
    if (!test_is_of(f.allocator, "ouro"))
        return;
    begin_runs(chunks, 16, chunks, &a);
    a.bytes = 32;
    a.hole[0] = 10;
    a.hole[1] = 70;
    open_holes(chunks, 32, &a);
    a.block = test_memory(&f.target, 4 * sizeof *a.block);
    for (uint32_t i = 0; i < cases; i++) {
        f.target = base_target;
        a.together = i % 2;
        prove(&exact_part, 1, &a);
        choose_schedule(i);
        a.hold = 1u << i / 4 % 8;
        prove(&exact_join, 2, &a);
    }
    f.target = base_target;
    test_memory_free(&base_target, a.block, 0);
    end_exact(&a, 0);
}

static void null_never_comes_of_chunks_that_come_together(void **state)
{
    (void)state;
    for_each_proof(chunks_that_come_together);
}

static void swaps(void)
{
    swap(1, 1);
    if (test_is_of(f.allocator, "scatter"))
        swap(16, 1);
    if (test_is_of(f.allocator, "ouro"))
        swap(1, 2);
}

static void null_never_comes_where_each_has_freed_what_it_had(void **state)
{
    (void)state;
    for_each_proof(swaps);
}

/* Groups of one warp that a GPU makes run together must not count each other's lanes: a page would find two
 * takers or none.  It took 1 of 20 launches to show (simt_active in simt/cuda.h). */
static void fills(void)
{
    for (uint32_t i = test_on_cuda(&base_target) ? 100 : 1; i > 0; i--) {
        struct exact_case a;
        begin_full(256, i % 2, &a);
        end_exact(&a, 0);
    }
}

static void every_page_finds_one_taker(void **state)
{
    (void)state;
    for_each_proof(fills);
}

static void numbers(void)
{
    for (uint32_t pages = 1; pages < 3000; pages = pages * 3 + 1)
        for (uint32_t probes = 0; probes < 2; probes++) {
            struct exact_case a;
            begin_full(pages, probes, &a);
            prove(&exact_numbers, 1, &a);
            end_exact(&a, 0);
        }
}

static void a_parts_number_does_not_depend_on_who_reads_it(void **state)
{
    (void)state;
    for_each_proof(numbers);
}

static void free_page_in_a_part(void)
{
    const uint32_t pages = 3000;
    if (!test_is_of(f.allocator, "rw") && !test_is_of(f.allocator, "walk"))
        return;
    for (uint32_t i = 0; i < 20; i++) {
        struct exact_case a;
        begin_full(pages, 1, &a);
        a.block = f.device.block + i * 151;
        prove(&exact_dirty, 1, &a);
        end_exact(&a, 0);
    }
}

static void a_part_tells_of_a_free_page_though_it_was_taken(void **state)
{
    (void)state;
    for_each_proof(free_page_in_a_part);
}

/* The family's promise that a malloc waits for nobody while there are unclaimed pages. */
static void numbers_in_slots(void)
{
    const uint32_t pages = 2 * SIMT_LANES;
    if (!test_is_of(f.allocator, "ring"))
        return;
    for (uint64_t seed = 1; seed <= seeds(REGAIN_SEEDS / 10); seed++) {
        struct exact_case a;
        begin_full(pages, 0, &a);
        f.target.seed = seed;
        a.block = f.device.block;
        a.askers = pages;
        prove(&exact_counted, 1 + pages / SIMT_LANES, &a);
        end_exact(&a, pages);
    }
}

static void pages_are_counted_when_their_numbers_are_in_slots(void **state)
{
    (void)state;
    for_each_proof(numbers_in_slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_never_comes_of_a_free_page_that_moves),
        cmocka_unit_test(null_never_comes_of_a_free_cell_that_moves),
        cmocka_unit_test(null_never_comes_of_a_claim_that_fails),
        cmocka_unit_test(null_never_comes_of_a_page_that_the_caller_has_freed),
        cmocka_unit_test(null_never_comes_where_each_has_freed_what_it_had),
        cmocka_unit_test(null_never_comes_of_blocks_that_are_divided_and_joined),
        cmocka_unit_test(null_never_comes_of_a_long_run_that_could_not_be_had),
        cmocka_unit_test(null_never_comes_of_chunks_that_come_together),
        cmocka_unit_test(a_count_has_what_the_caller_has_freed),
        cmocka_unit_test(every_page_finds_one_taker),
        cmocka_unit_test(a_parts_number_does_not_depend_on_who_reads_it),
        cmocka_unit_test(a_part_tells_of_a_free_page_though_it_was_taken),
        cmocka_unit_test(pages_are_counted_when_their_numbers_are_in_slots),
    };
    base_target = test_target();
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL) != 0;
}
