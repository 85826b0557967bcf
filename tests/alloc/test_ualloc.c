/* SPDX-License-Identifier: Apache-2.0 */
/* What the suite for all allocators does not ask of ualloc, whose tiny pages can't be divided: bins and their tails,
 * chunks, arenas, and what becomes of them when all blocks are free.  On the CPU with QUARRY_TEST_SEEDS seeds for each
 * case (default 60). */
#include "alloc/promises.h"

#include <signal.h>
#include <unistd.h>

#define SEEDS 60u
#define PAGE 512u /* bytes of a bin; with chunks of four three bins, and their tails in the first page */
#define GRAIN 8u  /* of a page: the smallest block that a bin may have */
#define MOST_PAGES 128u
#define MOST_PAGE 8192u
#define BESIDE_WARPS 9u
#define BESIDE_TURNS 200u /* that others go on, for one malloc: four times what it takes at most */

/* With QUARRY_TEST_PATIENCE=SECONDS a schedule that takes longer, or that ends in a bad address, is told with its seed: a
 * planted bug may make lanes wait for ever, or lead them anywhere. */
static char at_signal[80];
static size_t at_signal_bytes;

static void tell_seed(int number)
{
    (void)number;
    _exit(write(STDERR_FILENO, at_signal, at_signal_bytes) > 0);
}

static void watch(uint64_t seed)
{
    const char *patience = getenv("QUARRY_TEST_PATIENCE");
    if (!patience)
        return;
    at_signal_bytes =
        (size_t)snprintf(at_signal, sizeof at_signal, "%s, a schedule that does not end well, seed %llu\n",
                         f.allocator, (unsigned long long)seed);
    signal(SIGALRM, tell_seed);
    signal(SIGSEGV, tell_seed); /* in place of cmocka's */
    signal(SIGBUS, tell_seed);
    alarm((unsigned)strtoul(patience, NULL, 10));
}

static void choose(uint64_t seed)
{
    watch(seed);
    plain_options();
    set_option("arenas", 1 + seed / 2 % 3);
    set_option("spans", seed % 4 == 1 ? 2 : 1);
    set_option("span_pages", 1u << seed / 4 % 5);
    base_target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 3) : 0;
}

/* ---- where blocks lie ---- */

/* Each byte of a block leads back to it, and to no other; no block has a head's byte or begins a page. */
static void bins_of(uint64_t page_bytes, uint32_t chunk_log, uint32_t unit)
{
    static unsigned char taken[MOST_PAGES * MOST_PAGE / GRAIN];
    struct quarry_bin_shape s = quarry_bin_shape_make(page_bytes, chunk_log, unit);
    uint32_t pages = 1u << chunk_log;
    for (uint32_t k = 0; k < s.classes; k++) {
        uint64_t size = (uint64_t)1 << (s.least_log + k), blocks = 0;
        memset(taken, 0, sizeof taken);
        assert_true(quarry_bin_blocks(&s, k) >= 2);
        for (uint32_t page = pages + s.heads; page < 2 * pages; page++)
            for (uint32_t i = 0; i < quarry_bin_blocks(&s, k); i++, blocks++) {
                uint64_t begin = quarry_bin_offset(&s, page, k, i);
                assert_true(begin % page_bytes >= s.head_bytes && begin % page_bytes + size <= page_bytes);
                assert_true(begin >= pages * page_bytes && begin < 2 * pages * page_bytes);
                assert_int_equal(begin % unit, 0);
                for (uint64_t at = begin; at < begin + size; at += GRAIN) {
                    uint32_t of = (uint32_t)(at / page_bytes),
                             offset = (uint32_t)(at % page_bytes) + GRAIN - 1u;
                    assert_int_equal(taken[at / GRAIN - pages * page_bytes / GRAIN]++, 0);
                    quarry_bin_locate(&s, &of, &offset);
                    assert_int_equal(of, page);
                    assert_int_equal(quarry_bin_index(&s, k, offset), i);
                }
            }
        for (uint64_t at = pages * page_bytes; at < 2 * pages * page_bytes; at += GRAIN) {
            uint32_t of = (uint32_t)(at / page_bytes), offset = (uint32_t)(at % page_bytes);
            quarry_bin_locate(&s, &of, &offset);
            int found = offset != QUARRY_BIN_NOTHING && quarry_bin_index(&s, k, offset) != QUARRY_BIN_NOTHING;
            assert_int_equal(found, taken[at / GRAIN - pages * page_bytes / GRAIN]);
        }
        assert_int_equal(blocks, (uint64_t)quarry_bin_blocks(&s, k) * quarry_bin_count(&s));
    }
}

static void each_byte_is_of_one_block(void **state)
{
    static const uint64_t page_bytes[] = {16, 48, 128, 240, 256, 272, 512, 1000, 1008, 4096, 4208, 8192};
    (void)state;
    for (uint32_t i = 0; i < sizeof page_bytes / sizeof *page_bytes; i++)
        for (uint32_t log = 0; log <= QUARRY_BIN_CHUNK_LOG_MOST; log++)
            for (uint32_t unit = GRAIN; unit <= 256; unit *= 2)
                if (page_bytes[i] % unit == 0)
                    bins_of(page_bytes[i], log, unit);
    bins_of(65552, 2, 16);
}

/* The paper's: 64 pages of 4096 bytes, two of them for heads and tails. */
static void default_sizes(void)
{
    static const uint32_t blocks[] = {256, 128, 64, 32, 15, 7, 3};
    plain_options();
    begin(1, 0, 1, 0);
    assert_int_equal(f.about.page_bytes, 64 * 4096);
    for (uint32_t k = 0; k < 7; k++)
        expect_equal(slots((uint64_t)16 << k), 62 * blocks[k]);
    expect_equal(slots(1025), 64);
    expect_equal(slots(8192), 32);
    end();
}

static void chunks_are_divided_as_in_the_paper(void **state)
{
    (void)state;
    for_each_proof(default_sizes);
}

/* Bytes of live blocks over those of the pool, when every thread has got NULL: at least 99 % of what the paper's sizes
 * allow. */
static void utilisation(uint64_t bytes, double layout)
{
    const uint32_t chunks = 16, threads = 1024;
    begin(chunks, 0, (uint32_t)((chunks + 1) * 64 * 4096 / bytes), 0);
    f.device.bytes = bytes;
    f.device.count = (uint32_t)(f.about.pool_bytes / bytes);
    uint64_t nulls = run(&promise_stride_malloc, threads).nulls, got = f.device.count - nulls;
    double used = (double)(got * bytes) / (double)f.about.pool_bytes;
    if (used < .99 * layout || used > layout)
        fail_msg("%s: blocks of %llu bytes take %.4f of the pool, not %.3f", naming(),
                 (unsigned long long)bytes, used, layout);
    expect_equal(slots(bytes), 0);
    run(&promise_stride_verify, threads);
    run(&promise_stride_free, threads);
    expect_empty();
    end();
}

static void utilisations(void)
{
    static const double of_large[] = {62 * 15 * 256 / 262144., 62 * 7 * 512 / 262144.,
                                      62 * 3 * 1024 / 262144., .5, 1};
    plain_options();
    set_option("arenas", 2);
    for (uint32_t spans = 1; spans <= 2; spans++) {
        set_option("spans", spans);
        for (uint64_t bytes = 16; bytes <= 128; bytes *= 2)
            utilisation(bytes, 62 / 64.);
        for (uint32_t i = 0; i < 5; i++)
            utilisation((uint64_t)256 << i, of_large[i]);
    }
}

static void a_full_heap_holds_what_the_layout_says(void **state)
{
    (void)state;
    for_each_proof(utilisations);
}

/* ---- what arenas keep ---- */

/* Spans of the heap: that began, and that are under way. */
static void expect_spans(uint64_t began, uint64_t under_way)
{
    struct quarry_heap_section sections[QUARRY_HEAP_SECTIONS];
    struct quarry_spans spans;
    uint32_t i = quarry_heap_map(f.heap, sections, QUARRY_HEAP_SECTIONS);
    while (i-- > 0 && strcmp(sections[i].name, "spans") != 0)
        ;
    assert_ok(quarry_memory_copy(&f.target, &spans, (unsigned char *)f.about.pool_base + sections[i].offset,
                                 sizeof spans));
    expect_equal(spans.flights, began * QUARRY_ARENAS_SPAN + under_way);
}

static void keep(uint32_t chunks)
{
    plain_options();
    set_option("arenas", 1);
    set_option("spans", 1);
    set_option("span_pages", 2);
    begin(chunks, (uint64_t)PAGE * 64, 1u << 12, 0);
}

/* Two threads of two warps malloc, one after the other: the second one has its block of what the first one keeps. */
static void second_mallocs(void)
{
    keep(8);
    f.device.lanes = 1;
    for (uint32_t pages = 0; pages < 2; pages++) {
        f.device.bytes = pages ? PAGE : 128;
        for (uint32_t warps = 1; warps <= 2; warps++) {
            expect_equal(run(&promise_malloc, warps * SIMT_LANES).nulls, 0);
            expect_spans(1 + pages, pages && warps == 2 ? 1 : 1 + pages); /* of two pages none is left */
        }
        run(&promise_verify, 2 * SIMT_LANES);
        run(&promise_free, 2 * SIMT_LANES);
    }
    end();
}

static void what_is_kept_open_is_used(void **state)
{
    (void)state;
    for_each_proof(second_mallocs);
}

/* More arenas than have spans of pages: those of the others are somebody's, too, and are found when they are closed. */
static void many_arenas(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) / 20; seed++) {
        choose(seed);
        set_option("arenas", QUARRY_ARENAS_PLACES * 2 + 1);
        set_option("spans", 1);
        set_option("span_pages", 2);
        begin(QUARRY_ARENAS_PLACES * 4, (uint64_t)PAGE * 4, 1u << 12, seed);
        f.device.lanes = 1;
        f.device.bytes = PAGE;
        expect_equal(run(&promise_malloc, QUARRY_ARENAS_PLACES * 4 * SIMT_LANES).nulls, 0);
        run(&promise_verify, QUARRY_ARENAS_PLACES * 4 * SIMT_LANES);
        run(&promise_free, QUARRY_ARENAS_PLACES * 4 * SIMT_LANES);
        expect_empty();
        end();
    }
}

static void what_many_arenas_keep_is_closed(void **state)
{
    (void)state;
    for_each_proof(many_arenas);
}

/* Whatever part of the only chunk was taken as a span, who wants blocks of another size gets all other bins of it. */
static void rests(void)
{
    const uint32_t bins = 48, blocks = 4, smaller = 8;
    for (uint32_t n = 1; n <= bins * blocks; n++) {
        keep(1);
        f.device.bytes = 128;
        expect_equal(slots(128), bins * blocks);
        expect_equal(run(&promise_malloc, n).nulls, 0);
        expect_spans(1, n < bins * blocks);
        f.device.bytes = 64;
        uint32_t rest = (bins - (n + blocks - 1) / blocks) * smaller;
        expect_equal(run(&promise_malloc, n + rest + 1).nulls, 1);
        expect_equal(slots(64), 0);
        expect_equal(slots(128), (blocks - n % blocks) % blocks);
        run(&promise_verify, n + rest + 1);
        run(&promise_free, n + rest + 1);
        expect_empty();
        end();
    }
}

static void what_is_left_of_a_span_is_free_when_it_is_closed(void **state)
{
    (void)state;
    for_each_proof(rests);
}

/* ---- what becomes of it ---- */

/* Blocks as `bytes`, as many as there is room for: as many as threads, each of which holds at most one. */
static void churn(uint32_t chunks, uint64_t bytes, uint32_t more, uint64_t seed)
{
    begin(chunks, (uint64_t)PAGE * 4 << seed % 2, 1u << 12, seed);
    uint32_t threads = (uint32_t)slots(bytes);
    f.device.bytes = bytes;
    f.device.turns = seed ? 4 : 100;
    f.device.hold = (uint32_t)(seed % 4) * 3;
    expect(threads > 0);
    if (more == 0)
        expect_equal(run(&promise_churn, threads).nulls, 0);
    else
        run(&promise_churn, threads + more);
    expect_empty();
    expect_equal(run(&promise_malloc, threads).nulls, 0);
    expect_equal(slots(bytes), 0);
    run(&promise_verify, threads);
    run(&promise_free, threads);
    expect_empty();
    end();
}

static void churns(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        choose(seed);
        churn(1 + (uint32_t)(seed / 4 % 5), 128u >> seed % 3, 0, seed);
    }
}

static void null_never_comes_while_a_small_block_is_free(void **state)
{
    (void)state;
    for_each_proof(churns);
}

static void crowds(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 3; seed++) {
        choose(seed);
        churn(1 + (uint32_t)(seed / 4 % 2), 128u >> seed % 2, 1 + (uint32_t)(seed % 40), seed);
    }
}

static void a_full_heap_of_bins_loses_nothing(void **state)
{
    (void)state;
    for_each_proof(crowds);
}

/* More ask than there is: as many get a block as there are.  Then some are freed, and others ask. */
static void fills(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 3; seed++) {
        uint32_t more = (uint32_t)(seed % 70);
        choose(seed);
        begin(2 + (uint32_t)(seed / 5 % 3), (uint64_t)PAGE * 4 << seed % 2, 1u << 12, seed);
        f.device.bytes = 128u >> seed % 4;
        uint32_t blocks = (uint32_t)slots(f.device.bytes), threads = blocks + more;
        for (uint32_t again = 0; again < 3; again++) {
            expect_equal(run(&promise_malloc, threads).nulls, more);
            expect_equal(slots(f.device.bytes), 0);
            run(&promise_verify, threads);
            f.device.turns = 2 + again;
            run(&promise_sieve, threads);
            expect_equal(run(&promise_malloc, threads).nulls, more);
            run(&promise_free, threads);
            expect_empty();
        }
        end();
    }
}

static void a_heap_of_bins_fills_to_its_last_block(void **state)
{
    (void)state;
    for_each_proof(fills);
}

/* Each thread its own program, with all sizes at once, on heaps that may be too small for them.  Some have room for
 * spans of pages, but not for one of each order in each arena. */
static void plays(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 5; seed++) {
        uint32_t threads = seed % 2 ? 33 : 64, room = seed % 7 < 2;
        choose(seed);
        if (room)
            set_option("span_pages", 4u << seed / 7 % 2);
        begin(1 + seed % 10 + (room ? 4 : 0), (uint64_t)PAGE * 4 << seed % 2, threads, seed);
        run_programs(threads, 1 + (uint32_t)(seed % PROMISE_HELD), (uint32_t)(seed % 3),
                     room            ? 4 * PAGE
                     : seed % 5 == 0 ? 2 * PAGE
                                     : 128,
                     seed);
        end();
    }
}

static void sizes_may_be_mixed_in_a_heap_that_is_too_small(void **state)
{
    (void)state;
    for_each_proof(plays);
}

/* Few lanes of many warps want bins of all classes at once, so several of them make chunks.  Who makes one may be
 * overtaken by others before it has a bin. */
static void makers(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        choose(seed);
        set_option("arenas", 1);
        begin(8, (uint64_t)PAGE * 4, 1u << 12, seed);
        f.device.lanes = 15;
        f.device.held = 1;
        f.device.bytes = 128;
        f.device.program = (uint32_t)seed;
        f.device.turns = seed ? 1 + (uint32_t)(seed % 2) : 50;
        run(&promise_play, 16 * SIMT_LANES);
        expect_empty();
        end();
    }
}

static void a_chunk_goes_back_whoever_took_its_bins(void **state)
{
    (void)state;
    for_each_proof(makers);
}

/* Blocks of all sizes are freed again, and arenas keep chunks.  Nobody asks the heap for anything between, which would
 * close them: so who wants the memory for other sizes must. */
static void opens(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 5; seed++) {
        uint32_t chunks = 2 + (uint32_t)(seed / 5 % 9) + (uint32_t)(seed % 6 / 4 * 8),
                 threads = seed % 3 ? 7 : 64;
        uint64_t large = (uint64_t)PAGE * 4;
        choose(seed);
        set_option("spans", 1);
        begin(chunks, large, 1u << 12, seed);
        f.device.turns = 1;
        for (uint32_t again = 0; again < 2; again++) {
            /* After one size nobody lacks a chunk yet, and nobody has closed anything. */
            for (f.device.bytes = 16; f.device.bytes <= (seed % 7 ? 4 * PAGE : 16); f.device.bytes *= 2)
                run(&promise_churn, threads);
            /* Who asks at the same time as others may be refused what others have freed by halves. */
            f.device.bytes = again ? large : 128;
            uint32_t wanted = again ? chunks : chunks * 3 * 4;
            expect_equal(run(&promise_malloc, wanted).nulls, 0);
            expect_equal(slots(16), 0);
            run(&promise_verify, wanted);
            run(&promise_free, wanted);
        }
        expect_empty();
        end();
    }
}

static void what_is_kept_open_serves_all_sizes(void **state)
{
    (void)state;
    for_each_proof(opens);
}

/* Few lanes of each warp, so that many arenas want chunks, and as many threads as there are blocks.  What is open in
 * one arena is to be had in all. */
static void openers(uint32_t chunks, uint64_t most_bytes)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        choose(seed);
        set_option("spans", 1);
        set_option("arenas", 2 + seed % 3);
        begin(chunks + (uint32_t)(seed / 3 % 3), (uint64_t)PAGE * 4, 1u << 12, seed);
        f.device.bytes = 128u << seed / 7 % 5;
        if (f.device.bytes > most_bytes)
            f.device.bytes = most_bytes;
        f.device.lanes = 7;
        f.device.turns = 1 + (uint32_t)(seed % 3);
        f.device.hold = (uint32_t)(seed % 4) * 3;
        uint32_t warps = (uint32_t)slots(f.device.bytes) / 3;
        expect_equal(run(&promise_churn, warps * SIMT_LANES).nulls, 0);
        expect_empty();
        end();
    }
}

static void few_openers(void)
{
    openers(1, 128);
}

static void null_never_comes_while_a_block_is_kept_open(void **state)
{
    (void)state;
    for_each_proof(few_openers);
}

/* The same where there is room for spans of pages, and of chunks. */
static void page_openers(void)
{
    openers(6, (uint64_t)PAGE * 4);
}

static void null_never_comes_while_pages_are_kept_open(void **state)
{
    (void)state;
    for_each_proof(page_openers);
}

/* A page is taken, so nothing of the top order is there for who asks for it.  Others take and free small blocks, or
 * pages, and keep opening what has some.  The one gets its NULL though, and the others get what they want. */
static void beside(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 2; seed++) {
        uint32_t pages = 128u << seed % 2;
        choose(seed);
        set_option("spans", 1);
        set_option("arenas", 2 + seed % 3);
        set_option("span_pages", 2u << seed / 3 % 2);
        begin(pages / 4, (uint64_t)PAGE * 4, 1u << 12, seed);
        f.device.bytes = PAGE;
        expect_equal(run(&promise_malloc, 1).nulls, 0);
        f.device.bytes = f.about.max_block_bytes;
        f.device.count = seed % 5 ? PAGE << seed % 2 : 128;
        f.device.lanes = (2u << seed % 4) - 1u;
        f.device.turns = BESIDE_TURNS;
        struct promise_result result = run(&promise_beside, BESIDE_WARPS * SIMT_LANES);
        expect_equal(result.answered, 1);
        if (seed && !test_on_cuda(&base_target)) /* else the one may not have begun when others are done */
            expect_equal(result.late, 0);
        expect_equal(result.nulls, 1);
        f.device.lanes = SIMT_ALL_LANES;
        run(&promise_free, 1);
        expect_empty();
        end();
    }
}

static void who_must_be_refused_is_while_others_malloc(void **state)
{
    (void)state;
    for_each_proof(beside);
}

/* All blocks are taken.  Their owners free them and ask again, while others ask once.  When somebody gets NULL all are
 * taken, and from then on each free is followed by an ask; so in the end all are taken again, and as many have got NULL
 * as there are more threads than blocks. */
static void renewals(void)
{
    for (uint64_t seed = 0; seed <= seeds(SEEDS) * 10; seed++) {
        uint32_t more = 1 + (uint32_t)(seed % 40);
        choose(seed);
        begin(1 + seed / 3 % 3, (uint64_t)PAGE * 4, 1u << 12, seed);
        f.device.bytes = seed % 5 ? 128u >> seed % 2 : PAGE;
        uint32_t blocks = (uint32_t)slots(f.device.bytes);
        expect_equal(run(&promise_malloc, blocks).nulls, 0);
        f.device.turns = 1 + (uint32_t)(seed / 2 % 4);
        f.device.hold = (uint32_t)(seed % 4) * 5;
        expect_equal(run(&promise_renew, blocks + more).nulls, more);
        expect_equal(slots(f.device.bytes), 0);
        run(&promise_verify, blocks + more);
        run(&promise_free, blocks + more);
        expect_empty();
        end();
    }
}

static void as_many_are_refused_as_there_is_too_little_for(void **state)
{
    (void)state;
    for_each_proof(renewals);
}

/* Few threads in warps of their own, and hardly more pages: buddies are joined and divided all the time, and somebody
 * is on its way up while what it wants comes free below, and is joined and taken by others. */
static void tights(void)
{
    for (uint64_t seed = 1; seed <= seeds(SEEDS) * 20; seed++) {
        uint32_t warps = 2 + (uint32_t)(seed % 3);
        choose(seed);
        set_option("spans", 2);
        begin(warps + seed / 3 % 3, PAGE, 1u << 12, seed);
        f.device.bytes = PAGE;
        f.device.lanes = 1;
        f.device.turns = 2 + (uint32_t)(seed / 9 % 4);
        f.device.hold = (uint32_t)(seed / 2 % 3);
        expect_equal(run(&promise_churn, warps * SIMT_LANES).nulls, 0);
        expect_empty();
        end();
    }
}

static void null_never_comes_while_pages_are_joined_and_divided(void **state)
{
    (void)state;
    for_each_proof(tights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_of_one_block),
        cmocka_unit_test(chunks_are_divided_as_in_the_paper),
        cmocka_unit_test(a_full_heap_holds_what_the_layout_says),
        cmocka_unit_test(what_is_kept_open_is_used),
        cmocka_unit_test(what_many_arenas_keep_is_closed),
        cmocka_unit_test(what_is_left_of_a_span_is_free_when_it_is_closed),
        cmocka_unit_test(null_never_comes_while_a_small_block_is_free),
        cmocka_unit_test(a_full_heap_of_bins_loses_nothing),
        cmocka_unit_test(a_heap_of_bins_fills_to_its_last_block),
        cmocka_unit_test(sizes_may_be_mixed_in_a_heap_that_is_too_small),
        cmocka_unit_test(a_chunk_goes_back_whoever_took_its_bins),
        cmocka_unit_test(what_is_kept_open_serves_all_sizes),
        cmocka_unit_test(null_never_comes_while_a_block_is_kept_open),
        cmocka_unit_test(null_never_comes_while_pages_are_kept_open),
        cmocka_unit_test(who_must_be_refused_is_while_others_malloc),
        cmocka_unit_test(as_many_are_refused_as_there_is_too_little_for),
        cmocka_unit_test(null_never_comes_while_pages_are_joined_and_divided),
    };
    base_target = test_target();
    if (!getenv("QUARRY_TEST_ALLOCATOR"))
        setenv("QUARRY_TEST_ALLOCATOR", "ualloc", 1);
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("ualloc", tests, NULL, NULL) != 0;
}
