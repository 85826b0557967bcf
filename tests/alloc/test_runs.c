/* SPDX-License-Identifier: Apache-2.0 */
/* What rw-malloc reads off its bitmap, beside loops over all pages: the first run of free pages that is long enough, by
 * groups of every width; slots, statistics and the largest free block; the block that a page is in.  And what it takes
 * of one that the test has written. */
#include "alloc/runs_kernels.h"

#include "common.h"

#define PAGE_BYTES 16u
#define MOST_PAGES 40000u
#define QUESTIONS 60u

static struct quarry_target base_target;
static uint64_t noise = 7;

static struct {
    quarry_heap *heap;
    uint32_t pages, words;
    unsigned char *map;         /* in the pool */
    uint32_t first[MOST_PAGES]; /* of the page's block or free run */
    uint32_t end[MOST_PAGES];   /* behind it */
    int live[MOST_PAGES];
    uint64_t word[MOST_PAGES / 32 + 1];
} f;

static uint32_t below(uint32_t n)
{
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((noise >> 32) * n >> 32);
}

static struct quarry_heap_options plain_options(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = base_target;
    options.allocator = "rw-malloc";
    options.page_bytes = PAGE_BYTES;
    return options;
}

static void begin(struct quarry_heap_options options, uint32_t pages)
{
    struct quarry_heap_description about;
    struct quarry_heap_section map[QUARRY_HEAP_SECTIONS];
    options.pages = pages;
    assert_ok(quarry_heap_create(&f.heap, &options));
    assert_ok(quarry_heap_describe(f.heap, &about));
    f.pages = pages;
    f.words = (pages + 31) / 32;
    f.map = NULL;
    for (uint32_t i = quarry_heap_map(f.heap, map, QUARRY_HEAP_SECTIONS); i > 0; i--)
        if (strcmp(map[i - 1].name, "words") == 0)
            f.map = (unsigned char *)about.pool_base + map[i - 1].offset;
    assert_non_null(f.map);
}

static void end(void)
{
    assert_ok(quarry_heap_reset(f.heap));
    assert_ok(quarry_heap_check(f.heap));
    assert_ok(quarry_heap_destroy(f.heap));
}

/* Blocks and free runs, one behind the other, of up to `longest` pages.
 *   busy   of 4 things behind a block so many are blocks, too
 *   round  blocks end at multiples of so many pages */
static void fill(uint32_t longest, uint32_t busy, uint32_t round)
{
    int was_free = 0;
    memset(f.word, 0, sizeof f.word);
    for (uint32_t page = 0; page < f.pages;) {
        uint32_t length = 1 + below(below(8) == 0 ? longest : longest < 40 ? longest : 40);
        int live = was_free || below(4) < busy;
        uint32_t behind = live ? (page + length + round - 1) / round * round : page + length;
        behind = behind < f.pages ? behind : f.pages;
        for (uint32_t i = page; i < behind; i++) {
            f.first[i] = page;
            f.end[i] = behind;
            f.live[i] = live;
            f.word[i / 32] |= live ? (uint64_t)1 << i % 32 : 0;
        }
        if (live)
            f.word[(behind - 1) / 32] |= (uint64_t)1 << (32 + (behind - 1) % 32);
        was_free = !live;
        page = behind;
    }
    for (uint32_t page = f.pages; page < f.words * 32; page++)
        f.word[page / 32] |= (uint64_t)1 << page % 32;
    assert_ok(quarry_memory_copy(&base_target, f.map, f.word, f.words * sizeof *f.word));
    assert_ok(quarry_heap_check(f.heap));
}

static uint32_t slow_find_run(const struct runs_question *q)
{
    for (uint32_t page = q->from * 32; page < q->to * 32 && page < f.pages; page++)
        if (!f.live[page] && f.first[page] == page && f.end[page] - page >= q->pages)
            return page;
    return QUARRY_NO_PAGE;
}

static void ask(void)
{
    struct runs_question question[QUESTIONS];
    struct runs_case a;
    memset(&a, 0, sizeof a);
    memset(question, 0, sizeof question);
    a.heap = quarry_heap_handle(f.heap);
    a.question = (struct runs_question *)test_memory(&base_target, sizeof question);
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        struct runs_question *q = &question[i];
        uint32_t page = below(f.pages);
        q->from = below(f.words);
        q->to = i % 4 ? f.words : q->from + 1 + below(f.words - q->from);
        q->from = i % 3 ? q->from : 0;
        q->width = i % 2 ? 32 : 1 + below(32);
        /* Often there is a run of just so many pages, or of one fewer. */
        q->pages = i % 5 ? f.end[page] - f.first[page] + below(2) : 1 + below(f.pages);
        /* From 8 full words of each lane on, one page more than there are behind them. */
        uint32_t behind = f.end[page];
        if (f.live[page] && behind < f.pages && behind - f.first[page] >= 512 && behind % 32 == 0) {
            q->width = 1 + below(2);
            q->from = behind / 32 - 8 * q->width;
            q->to = f.words;
            q->pages = f.end[behind] - behind + 1;
        }
    }
    assert_ok(quarry_memory_copy(&base_target, a.question, question, sizeof question));
    test_run(&runs_ask, &base_target, QUESTIONS, SIMT_LANES, 0, &a);
    assert_ok(quarry_memory_copy(&base_target, question, a.question, sizeof question));
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        const struct runs_question *q = &question[i];
        if (q->unlike || q->answer != slow_find_run(q))
            fail_msg("%u pages: words %u to %u, %u pages together, %u lanes: page %u, not %u; %u lanes say "
                     "otherwise",
                     f.pages, q->from, q->to, q->pages, q->width, q->answer, slow_find_run(q), q->unlike);
    }
    test_memory_free(&base_target, a.question, 0);
}

/* The host's census, and those of so many warps. */
static void count(void)
{
    static const uint32_t warps[] = {1, 2, 7, 32, 99};
    struct quarry_statistics s;
    struct quarry_census expected = {0, 0, 0, 0, 0, 0, 0}, sum;
    struct runs_case a;
    memset(&a, 0, sizeof a);
    a.heap = quarry_heap_handle(f.heap);
    a.sum = (struct quarry_census *)test_memory(&base_target, sizeof sum);
    for (uint32_t page = 0; page < f.pages; page = f.end[page]) {
        uint64_t bytes = (uint64_t)(f.end[page] - page) * PAGE_BYTES;
        expected.live_blocks += f.live[page] != 0;
        expected.live_bytes += f.live[page] ? bytes : 0;
        expected.free_bytes += f.live[page] ? 0 : bytes;
        if (!f.live[page] && bytes > expected.largest_free)
            expected.largest_free = bytes;
    }
    assert_ok(quarry_heap_statistics(f.heap, &s));
    assert_int_equal(s.live_blocks, expected.live_blocks);
    assert_int_equal(s.live_bytes, expected.live_bytes);
    assert_int_equal(s.largest_free_bytes, expected.largest_free);
    for (uint32_t pages = 1, i = 0; pages <= f.pages; pages = pages * 3 + 1, i++) {
        uint64_t slots = 0;
        a.bytes = (uint64_t)pages * PAGE_BYTES;
        expected.slots = 0;
        for (uint32_t page = 0; page < f.pages; page = f.end[page])
            expected.slots += f.live[page] ? 0 : (f.end[page] - page) / pages;
        assert_ok(quarry_heap_slots(f.heap, a.bytes, &slots));
        assert_int_equal(slots, expected.slots);
        assert_ok(quarry_memory_fill(&base_target, a.sum, 0, sizeof sum));
        test_run(&runs_count, &base_target, warps[i % 5], SIMT_LANES, 0, &a);
        assert_ok(quarry_memory_copy(&base_target, &sum, a.sum, sizeof sum));
        assert_memory_equal(&sum, &expected, sizeof sum);
    }
    test_memory_free(&base_target, a.sum, 0);
}

/* The place that each page says; those of the last block may go on no further than the pages. */
static void locate(void)
{
    static struct runs_place place[MOST_PAGES];
    const uint64_t last = f.word[f.words - 1] & 0xffffffff; /* without ends: the last block has none */
    struct runs_case a;
    memset(&a, 0, sizeof a);
    a.heap = quarry_heap_handle(f.heap);
    a.pages = f.pages;
    a.place = (struct runs_place *)test_memory(&base_target, sizeof *place * f.pages);
    for (uint32_t broken = 0; broken < 2; broken++) {
        if (broken)
            assert_ok(
                quarry_memory_copy(&base_target, f.map + (f.words - 1) * sizeof last, &last, sizeof last));
        test_run(&runs_locate, &base_target, 4, 256, 0, &a);
        assert_ok(quarry_memory_copy(&base_target, place, a.place, sizeof *place * f.pages));
        for (uint32_t page = 0; page < f.pages; page++) {
            uint32_t first = f.live[page] ? f.first[page] : page,
                     behind = f.live[page] ? f.end[page] : page + 1;
            assert_int_equal(place[page].place, f.live[page] ? QUARRY_PLACE_LIVE : QUARRY_PLACE_FREE);
            assert_true(place[page].begin + place[page].bytes <= (uint64_t)f.pages * PAGE_BYTES);
            if (broken && page >= (f.words - 1) * 32)
                continue;
            if (broken && behind > (f.words - 1) * 32)
                continue;
            assert_int_equal(place[page].begin, (uint64_t)first * PAGE_BYTES);
            assert_int_equal(place[page].bytes, (uint64_t)(behind - first) * PAGE_BYTES);
        }
    }
    test_memory_free(&base_target, a.place, 0);
}

static void on_all_maps(void (*test)(void))
{
    static const uint32_t pages[] = {1, 31, 70, 1024, 5003, MOST_PAGES};
    const uint32_t maps = getenv("QUARRY_TEST_THREADS") ? 4 : 6; /* sanitizers are slow */
    for (uint32_t i = 0; i < maps; i++) {
        begin(plain_options(), pages[i]);
        for (uint32_t k = 0; k < 4; k++) {
            fill(k % 2 ? 40 : pages[i] / 2 + 1, k, 1);
            test();
        }
        for (uint32_t k = 0; k < 4; k++) {
            fill(600, 0, 32); /* so that many words are full up to a run's first */
            test();
        }
        end();
    }
}

static void the_first_run_that_is_long_enough_is_found(void **state)
{
    (void)state;
    on_all_maps(ask);
}

static void blocks_and_room_are_counted(void **state)
{
    (void)state;
    on_all_maps(count);
}

static void a_page_knows_its_block(void **state)
{
    (void)state;
    on_all_maps(locate);
}

/* ---- mallocs ---- */

/* A warp's lanes ask for so many pages each, 0: not at all.  first[]: where their blocks begin. */
static void ask_for(const uint32_t *pages, uint32_t *first)
{
    struct runs_case a;
    memset(&a, 0, sizeof a);
    a.heap = quarry_heap_handle(f.heap);
    a.asked = (uint32_t *)test_memory(&base_target, sizeof *pages * SIMT_LANES);
    a.first = (uint32_t *)test_memory(&base_target, sizeof *first * SIMT_LANES);
    assert_ok(quarry_memory_copy(&base_target, a.asked, pages, sizeof *pages * SIMT_LANES));
    test_run(&runs_malloc, &base_target, 1, SIMT_LANES, 0, &a);
    assert_ok(quarry_memory_copy(&base_target, first, a.first, sizeof *first * SIMT_LANES));
    assert_ok(quarry_heap_check(f.heap));
    test_memory_free(&base_target, a.asked, 0);
    test_memory_free(&base_target, a.first, 0);
}

static struct quarry_statistics statistics(void)
{
    struct quarry_statistics s;
    assert_ok(quarry_heap_statistics(f.heap, &s));
    return s;
}

/* All words are `word` but for free pages from .. end - 1. */
static void write_words(uint64_t word, uint32_t from, uint32_t free_pages)
{
    for (uint32_t i = 0; i < f.words; i++)
        f.word[i] = word;
    for (uint32_t page = from; page < from + free_pages; page++)
        f.word[page / 32] &= ~((uint64_t)1 << page % 32 | (uint64_t)1 << (32 + page % 32));
    assert_ok(quarry_memory_copy(&base_target, f.map, f.word, f.words * sizeof *f.word));
    assert_ok(quarry_heap_check(f.heap));
}

/* Of an empty heap, of one that is watched, and of one with a block in each word, where no row has room. */
static void each_lane_gets_the_pages_that_it_asked_for(void **state)
{
    (void)state;
    enum { EMPTY, WATCHED, SPLIT };
    for (int way = EMPTY; way <= SPLIT; way++)
        for (uint32_t large = 2; large <= 16; large++) {
            struct quarry_heap_options options = plain_options();
            uint32_t asked[SIMT_LANES], first[SIMT_LANES], sum = 0;
            options.statistics = way == WATCHED;
            begin(options, 4096);
            if (way == SPLIT)
                write_words((uint64_t)1 << 34 | 1u << 2, 0, 0);
            uint64_t before = statistics().live_bytes;
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                sum += asked[lane] = lane % 3 == 2 ? 0 : lane % 3 ? large : 1;
            ask_for(asked, first);
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                assert_int_equal(asked[lane] == 0, first[lane] == QUARRY_NO_PAGE);
            assert_int_equal(statistics().live_bytes, before + (uint64_t)sum * PAGE_BYTES);
            end();
        }
}

/* Each word has a block, so that no look finds room for a row, and nothing is that long. */
static void who_gets_nothing_takes_nothing(void **state)
{
    (void)state;
    for (uint32_t pages = 32; pages <= 48; pages++) {
        uint32_t asked[SIMT_LANES], first[SIMT_LANES];
        begin(plain_options(), 2048);
        write_words((uint64_t)1 << 34 | 1u << 2, 0, 0);
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
            asked[lane] = pages;
        ask_for(asked, first);
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
            assert_int_equal(first[lane], QUARRY_NO_PAGE);
        assert_int_equal(statistics().live_blocks, f.words);
        assert_int_equal(statistics().live_bytes, (uint64_t)f.words * PAGE_BYTES);
        end();
    }
}

/* In a heap that infers how full it is a block larger than a look is found all the same, by one lane or a warp. */
static void a_large_block_is_found_without_a_sweep(void **state)
{
    static const struct {
        uint32_t lanes, pages, hole, from; /* free pages, and the first */
    } cases[] = {{1, 40, 40, 1003}, {1, 17, 18, 65}, {3, 100, 120, 8000}, {SIMT_LANES, 600, 640, 5555}};
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quarry_heap_options options = plain_options();
        uint32_t asked[SIMT_LANES] = {0}, first[SIMT_LANES], got = 0;
        options.full = QUARRY_FULL_INFERRED;
        options.low_free = 0.1;
        begin(options, 8192);
        write_words(~(uint64_t)0, cases[i].from, cases[i].hole);
        for (uint32_t lane = 0; lane < cases[i].lanes; lane++)
            asked[lane] = cases[i].pages;
        uint64_t before = statistics().live_blocks;
        for (int again = 0; again < 2; again++) {
            ask_for(asked, first);
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                if (first[lane] != QUARRY_NO_PAGE) {
                    assert_in_range(first[lane], cases[i].from,
                                    cases[i].from + cases[i].hole - cases[i].pages);
                    got++;
                }
        }
        assert_int_equal(got, 1);
        assert_int_equal(statistics().live_blocks, before + 1);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_run_that_is_long_enough_is_found),
        cmocka_unit_test(blocks_and_room_are_counted),
        cmocka_unit_test(a_page_knows_its_block),
        cmocka_unit_test(each_lane_gets_the_pages_that_it_asked_for),
        cmocka_unit_test(who_gets_nothing_takes_nothing),
        cmocka_unit_test(a_large_block_is_found_without_a_sweep),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("runs", tests, NULL, NULL) != 0;
}
