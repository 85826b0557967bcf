/* SPDX-License-Identifier: Apache-2.0 */
/* Frees of what is no live block, for every allocator: with assertions they are told, without they neither
 * write outside the heap nor hang, and what no free may touch stays as it was.  The heap's pool lies between
 * two guards, whose bytes are looked at.  QUARRY_TEST_SEEDS: seeds of the deterministic scheduler, and of
 * the fuzzing (default 20). */
#include "alloc/misuse_kernels.h"
#include "alloc/promises.h"

#define SEEDS 20u
#define GUARD_BYTES 16384u
#define GUARD_BYTE 0xc3
#define PAGES 90u
#define PAGE_BYTES 1024u
#define THREADS 64u
#define FUZZ_TURNS 400u

static struct misuse_case a;
static unsigned char *memory; /* guard, pool, guard */
static uint64_t memory_bytes;

static enum quarry_status launch(const struct simt_kernel *kernel, uint32_t threads)
{
    struct quarry_grid grid = {(threads + 31) / 32, 32, 0};
    enum quarry_status status = quarry_launch(kernel, &f.target, grid, &a);
    return status == QUARRY_OK ? quarry_target_wait(&f.target) : status;
}

static void expect_ok(const struct simt_kernel *kernel, uint32_t threads)
{
    if (launch(kernel, threads) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
}

static void begin_misuse(uint64_t seed)
{
    struct quarry_heap_options options;
    f.target = base_target;
    f.target.seed = seed;
    options = options_of_fixture();
    options.pages = PAGES;
    options.page_bytes = PAGE_BYTES;
    assert_ok(quarry_heap_create(&f.heap, &options)); /* how large is it? */
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    assert_ok(quarry_heap_destroy(f.heap));
    memory_bytes = f.about.pool_bytes + 2 * GUARD_BYTES;
    memory = test_memory(&f.target, memory_bytes);
    assert_ok(quarry_memory_fill(&f.target, memory, GUARD_BYTE, memory_bytes));
    options.pool = QUARRY_POOL_BUFFER;
    options.buffer = memory + GUARD_BYTES;
    options.pool_bytes = f.about.pool_bytes;
    assert_ok(quarry_heap_create(&f.heap, &options));
    assert_ok(quarry_heap_describe(f.heap, &f.about));
    memset(&a, 0, sizeof a);
    a.heap = quarry_heap_handle(f.heap);
    a.block = test_memory(&f.target, sizeof *a.block * 2 * PAGES);
    a.outside = test_memory(&f.target, sizeof *a.outside);
    a.bytes = PAGE_BYTES;
    a.count = THREADS;
}

static void expect_guards(void)
{
    unsigned char *now = malloc(memory_bytes);
    assert_non_null(now);
    assert_ok(quarry_memory_copy(&f.target, now, memory, memory_bytes));
    for (uint64_t i = 0; i < memory_bytes; i++)
        if ((i < GUARD_BYTES || i >= memory_bytes - GUARD_BYTES) && now[i] != GUARD_BYTE)
            fail_msg("%s: byte %lld of the pool's %llu was written", naming(),
                     (long long)i - (long long)GUARD_BYTES, (unsigned long long)f.about.pool_bytes);
    free(now);
}

static void end_misuse(void)
{
    expect_guards();
    assert_ok(quarry_heap_destroy(f.heap));
    test_memory_free(&f.target, memory, 0);
    test_memory_free(&f.target, a.block, 0);
    test_memory_free(&f.target, a.outside, 0);
}

/* Can all pages be had when blocks of so many bytes were freed? */
static int serves_pages(uint64_t bytes)
{
    return f.can.reuses_space || (bytes == PAGE_BYTES && !f.distribution); /* warps ask for all their lanes */
}

/* Nothing lives, nothing contradicts itself, and all pages can be had. */
static void expect_whole(void)
{
    uint64_t fits;
    if (quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    expect_equal(statistics().live_blocks, 0);
    assert_ok(quarry_heap_slots(f.heap, PAGE_BYTES, &fits));
    if (serves_pages(a.bytes))
        expect_equal(fits, PAGES);
}

/* Takes a block of each page, which all must be there, and notes where they lie. */
static void fill(void)
{
    static unsigned char *block[PAGES];
    struct misuse_case rightful = a;
    a.count = PAGES;
    a.bytes = PAGE_BYTES;
    expect_ok(&misuse_take, PAGES);
    a = rightful;
    assert_ok(quarry_memory_copy(&f.target, block, a.block, sizeof block));
    a.lowest = memory + memory_bytes;
    a.end = memory;
    for (uint32_t i = 0; i < PAGES; i++) {
        expect(block[i] != NULL);
        a.lowest = block[i] < a.lowest ? block[i] : a.lowest;
        a.end = block[i] + PAGE_BYTES > a.end ? block[i] + PAGE_BYTES : a.end;
    }
}

/* Blocks of less than a page, of one, and of several. */
static const uint64_t *sizes(uint32_t *count)
{
    static const uint64_t any[] = {PAGE_BYTES, 16, 40, 3 * PAGE_BYTES, 40 * PAGE_BYTES};
    *count = f.fixed ? 1 : f.several ? sizeof any / sizeof *any : 3;
    return any;
}

static void put(const void *address, uint32_t at)
{
    assert_ok(quarry_memory_copy(&f.target, a.block + at, &address, sizeof address));
}

/* Addresses that are no block's, of the memory around the heap and of nowhere. */
static uint32_t put_foreign(void)
{
    unsigned char *pool = f.about.pool_base, *end = pool + f.about.pool_bytes;
    unsigned char *const address[] = {
        pool,
        pool + 16,
        pool - 16,
        pool - PAGE_BYTES,
        pool - GUARD_BYTES + 16,
        end,
        end + 16,
        end + PAGE_BYTES,
        end + GUARD_BYTES - 32,
        (unsigned char *)(uintptr_t)8,
        (unsigned char *)(uintptr_t)16,
        (unsigned char *)(uintptr_t)4096,
        (unsigned char *)(((uintptr_t)1 << 47) - 16),
        (unsigned char *)(((uintptr_t)1 << 56) - 16),
        (unsigned char *)((uintptr_t)pool + ((uintptr_t)PAGE_BYTES << 32)),
        (unsigned char *)((uintptr_t)pool - ((uintptr_t)PAGE_BYTES << 32)),
    };
    for (uint32_t i = 0; i < sizeof address / sizeof *address; i++)
        put(address[i], PAGES + i);
    return sizeof address / sizeof *address;
}

/* ---- without assertions ---- */

/* Live blocks, foreign addresses, and blocks that are free already. */
static void bounded(uint64_t bytes, uint64_t seed)
{
    begin_misuse(seed);
    a.count = bytes > 10 * PAGE_BYTES ? 2 : bytes > PAGE_BYTES ? 16 : THREADS;
    a.bytes = bytes;
    expect_ok(&misuse_take, a.count);
    struct misuse_case rightful = a;
    a.count = 1;
    expect_ok(&misuse_free, 1);
    struct quarry_statistics before = statistics();
    expect_ok(&misuse_free, 1);
    expect_equal(statistics().live_bytes, before.live_bytes);
    a.count = put_foreign();
    a.block += PAGES;
    expect_ok(&misuse_free, a.count);
    expect_guards();
    expect_equal(statistics().live_bytes, before.live_bytes);
    a = rightful;
    expect_ok(&misuse_free, a.count); /* the first for the third time */
    expect_whole();
    expect_ok(&misuse_free, a.count);
    expect_whole();
    if (serves_pages(bytes))
        fill();
    end_misuse();
}

/* Blocks that two threads free at the same time, of one warp or of two. */
static void raced(uint64_t bytes, uint64_t seed)
{
    begin_misuse(seed);
    a.count = bytes > 10 * PAGE_BYTES ? 1 : seed % 2 ? 16 : 32;
    a.bytes = bytes;
    a.twice = 1;
    expect_ok(&misuse_take, a.count);
    expect_ok(&misuse_free, 2 * a.count);
    if (f.distribution == QUARRY_DISTRIBUTION_NONE)
        expect_whole();
    assert_ok(quarry_heap_reset(f.heap));
    expect_whole();
    end_misuse();
}

static void fuzzed(uint64_t bytes, uint64_t seed)
{
    uint32_t outside;
    begin_misuse(0);
    fill();
    assert_ok(quarry_heap_reset(f.heap));
    a.near = memory;
    a.near_bytes = memory_bytes;
    a.bytes = bytes;
    a.program = (uint32_t)seed;
    a.turns = FUZZ_TURNS;
    expect_ok(&misuse_fuzz, 1);
    assert_ok(quarry_memory_copy(&f.target, &outside, a.outside, sizeof outside));
    expect_equal(outside, 0);
    /* A pointer into a block of several pages may free its end: the program's loss, not the heap's.  Of slabs one may
     * free a slot that a cursor has yet to hand out: docs/reference/alloc/slabs.md says so. */
    if (f.distribution == QUARRY_DISTRIBUTION_NONE && bytes <= PAGE_BYTES &&
        !test_is_of(f.allocator, "slabs") && quarry_heap_check(f.heap) != QUARRY_OK)
        fail_msg("%s: %s", naming(), quarry_error_detail());
    assert_ok(quarry_heap_reset(f.heap));
    expect_whole();
    end_misuse();
}

static void without_assertions(void)
{
    uint32_t count;
    const uint64_t *bytes = sizes(&count);
    for (uint32_t warp = 0; warp <= 1; warp++) {
        f.distribution = warp ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
        for (uint32_t i = 0; i < count; i++)
            for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
                bounded(bytes[i], seed);
                raced(bytes[i], seed);
                fuzzed(bytes[i], seed);
            }
    }
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

static void a_wrong_free_writes_nothing_outside(void **state)
{
    (void)state;
    for_each_allocator(without_assertions);
}

/* What an aligned piece begins behind is no piece any more. */
static void moved(void)
{
    uint32_t outside;
    f.distribution = QUARRY_DISTRIBUTION_WARP;
    begin_misuse(0);
    expect_ok(&misuse_moved, 1);
    assert_ok(quarry_memory_copy(&f.target, &outside, a.outside, sizeof outside));
    expect_equal(outside, 0);
    expect_whole();
    end_misuse();
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

static void a_piece_that_was_moved_is_free_once(void **state)
{
    (void)state;
    for_each_allocator(moved);
}

/* In debug mode a block ends where its size says, also if others change that. */
static void shrunk(void)
{
    f.debug = 1;
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        begin_misuse(seed);
        a.count = 1;
        expect_ok(&misuse_take, 1);
        a.turns = 20;
        a.program = (uint32_t)seed;
        expect_ok(&misuse_shrink, THREADS);
        assert_ok(quarry_heap_reset(f.heap));
        end_misuse();
    }
    f.debug = 0;
}

static void a_block_that_several_threads_shrink_stays_inside(void **state)
{
    (void)state;
    for_each_allocator(shrunk);
}

/* The second of two frees that race may come when the page is another's, who is to divide it. */
static void stale(void)
{
    uint32_t outside;
    const int runs = test_is_of(f.allocator, "runs");
    if (!runs && !test_is_of(f.allocator, "scatter"))
        return;
    begin_misuse(0);
    expect_ok(runs ? &misuse_stale_run : &misuse_stale, 1);
    assert_ok(quarry_memory_copy(&f.target, &outside, a.outside, sizeof outside));
    expect_equal(outside, 0);
    expect_whole();
    end_misuse();
}

static void a_late_double_free_leaves_a_page_to_its_holder(void **state)
{
    (void)state;
    for_each_allocator(stale);
}

/* ---- words that contradict each other ---- */

/* Begins a heap of pages without debug mode, and returns its words of 64 bits, if it has such; *pages: where pages begin. */
static uint64_t *begin_words(const char *allocator, unsigned char **pages)
{
    struct quarry_heap_section map[QUARRY_HEAP_SECTIONS];
    uint64_t *words = NULL;
    f.allocator = allocator;
    plain_options();
    begin_misuse(0);
    for (uint32_t i = quarry_heap_map(f.heap, map, QUARRY_HEAP_SECTIONS); i > 0; i--) {
        unsigned char *at = (unsigned char *)f.about.pool_base + map[i - 1].offset;
        if (strcmp(map[i - 1].name, "words") == 0)
            words = (uint64_t *)(void *)at;
        if (strcmp(map[i - 1].name, "pages") == 0)
            *pages = at;
    }
    assert_non_null(*pages);
    a.count = 1;
    return words;
}

static uint64_t word_of(const uint64_t *words, uint32_t i)
{
    uint64_t word;
    assert_ok(quarry_memory_copy(&f.target, &word, words + i, sizeof word));
    return word;
}

static void write_word(uint64_t *words, uint32_t i, uint64_t word)
{
    assert_ok(quarry_memory_copy(&f.target, words + i, &word, sizeof word));
}

static uint64_t usable(const unsigned char *address)
{
    void *bytes;
    put(address, 0);
    expect_ok(&misuse_ask, 1);
    assert_ok(quarry_memory_copy(&f.target, &bytes, a.block, sizeof bytes));
    return (uintptr_t)bytes;
}

/* The last word of a bitmap of runs has a page of the block that is freed, but not its end; or none of it; or all. */
static void a_block_without_an_end_leaves_the_last_word_alone(void **state)
{
    static const struct {
        uint32_t page;
        uint64_t word[2]; /* before, which pages 40 to 63 are in, and the last one */
        uint64_t after;   /* what is left of the first of them */
    } cases[] = {{40, {0xffffff00, 0xffffffff}, 0},
                 {40, {0xffffff00, 0xfffffffe}, 0},
                 {64, {0x7fffff00, 0xffffffff}, 0x7fffff00}};
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char *pages = NULL;
        uint64_t *words = begin_words("rw-malloc", &pages);
        write_word(words, 1, cases[i].word[0]);
        write_word(words, 2, cases[i].word[1]);
        put(pages + (uint64_t)cases[i].page * PAGE_BYTES, 0);
        expect_ok(&misuse_free, 1);
        expect_equal(word_of(words, 1), cases[i].after);
        expect_equal(word_of(words, 2), cases[i].word[1]);
        assert_ok(quarry_heap_reset(f.heap));
        end_misuse();
    }
}

#define SCATTER(class_, low) ((uint64_t)(class_) << QUARRY_SCATTER_CLASS_SHIFT | (low))

/* What a page of scatter says of the block that it is in counts only as far as the block's first page agrees. */
static void a_page_is_in_no_block_that_does_not_know_it(void **state)
{
    unsigned char *pages = NULL;
    uint64_t *words;
    (void)state;
    words = begin_words("scatter", &pages);
    write_word(words, 2, SCATTER(QUARRY_SCATTER_MULTI, 2));
    write_word(words, 3, SCATTER(QUARRY_SCATTER_INNER, 1));
    write_word(words, 4, SCATTER(QUARRY_SCATTER_INNER, 2)); /* behind its last page */
    write_word(words, 5, SCATTER(QUARRY_SCATTER_INNER, 6)); /* of a block before page 0 */
    write_word(words, 6, SCATTER(QUARRY_SCATTER_INNER, 5)); /* of an empty page */
    expect_equal(usable(pages + 2u * PAGE_BYTES), 2u * PAGE_BYTES);
    expect_equal(usable(pages + 3u * PAGE_BYTES), PAGE_BYTES);
    for (uint32_t page = 4; page <= 7; page++)
        expect_equal(usable(pages + page * PAGE_BYTES + 16), 0);
    put(pages + 2u * PAGE_BYTES, 0);
    expect_ok(&misuse_free, 1);
    expect_equal(word_of(words, 4), SCATTER(QUARRY_SCATTER_INNER, 2));
    assert_ok(quarry_heap_reset(f.heap));
    end_misuse();
}

/* ---- with assertions ---- */

static void expect_told(const char *what)
{
    uint32_t threads = a.count << a.twice;
    if (launch(&misuse_assert, threads) != QUARRY_ERROR_ASSERT ||
        !strstr(quarry_error_detail(), "a block that is freed is live"))
        fail_msg("%s, %s: not told: %s", naming(), what, quarry_error_detail());
}

static void told(uint64_t bytes)
{
    begin_misuse(0);
    a.count = 1;
    a.bytes = bytes;
    expect_ok(&misuse_take, 1);
    expect_ok(&misuse_free, 1);
    expect_told("a block that is free already");
    uint32_t foreign = put_foreign();
    for (uint32_t i = 0; i < foreign; i++) {
        struct misuse_case rightful = a;
        a.block += PAGES + i;
        expect_told("an address that is no block's");
        a = rightful;
    }
    assert_ok(quarry_heap_reset(f.heap));
    expect_ok(&misuse_take, 1);
    a.twice = 1;
    expect_told("a block that two lanes free");
    end_misuse();
}

/* Frees what is no block, but lies in a page that has one: so many bytes behind where that begins. */
static void beside_a_block(const char *allocator, uint32_t offset, int with_assertions)
{
    unsigned char *pages = NULL, *block;
    (void)begin_words(allocator, &pages);
    a.bytes = 16;
    expect_ok(&misuse_take, 1);
    assert_ok(quarry_memory_copy(&f.target, &block, a.block, sizeof block));
    put(block - (block - pages) % PAGE_BYTES + offset, 0);
    if (with_assertions) {
        expect_told("an address beside a block");
        assert_ok(quarry_heap_reset(f.heap));
    } else {
        expect_ok(&misuse_free, 1);
        expect_equal(statistics().live_blocks, 1);
        put(block, 0);
        expect_ok(&misuse_free, 1);
        expect_whole();
    }
    end_misuse();
}

/* Behind 63 cells of 16 bytes a page of scatter has its fields, and a chunk of ualloc begins with heads. */
static void what_lies_beside_a_block_is_none(void **state)
{
    (void)state;
    for (int told = 0; told < (test_on_cuda(&base_target) ? 1 : 2); told++) {
        beside_a_block("scatter", 63u * 16u, told);
        beside_a_block("ualloc", 0, told);
    }
}

/* Two lanes free one block, whichever of them comes first and however far the other is then. */
static void two_frees_that_race_are_told(void **state)
{
    static const uint64_t bytes[] = {16, PAGE_BYTES / 4, 4 * PAGE_BYTES};
    (void)state;
    if (test_on_cuda(&base_target))
        skip();
    for (uint64_t seed = 1; seed <= seeds(SEEDS) + 10; seed++)
        for (uint32_t i = 0; i < 5; i++) {
            f.allocator =
                i < 3 ? "rw-malloc" : "scatter"; /* of scatter no block of several pages: no word says it */
            plain_options();
            begin_misuse(seed);
            a.count = 1;
            a.bytes = bytes[i % 3];
            expect_ok(&misuse_take, 1);
            a.twice = 1;
            expect_told("a block that two lanes free");
            end_misuse();
        }
}

/* A block of a warp's pieces that says that more live in it than a warp has lanes. */
static void a_count_of_pieces_that_can_not_be_is_told(void **state)
{
    const uint32_t left = SIMT_LANES + 1;
    unsigned char *block;
    (void)state;
    f.distribution = QUARRY_DISTRIBUTION_WARP;
    for (int told = 0; told < (test_on_cuda(&base_target) ? 1 : 2); told++) {
        f.allocator = "rw-malloc";
        plain_options();
        begin_misuse(0);
        a.count = 1;
        a.bytes = 16;
        expect_ok(&misuse_take, 1);
        assert_ok(quarry_memory_copy(&f.target, &block, a.block, sizeof block));
        assert_ok(quarry_memory_copy(&f.target, block - QUARRY_PIECE_HEADER_BYTES, &left, sizeof left));
        if (told)
            expect_told("a block with 33 pieces");
        else
            expect_ok(&misuse_free, 1);
        expect_equal(statistics().live_blocks, 1);
        assert_ok(quarry_heap_reset(f.heap));
        end_misuse();
    }
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

static void with_assertions(void)
{
    uint32_t count;
    const uint64_t *bytes = sizes(&count);
    for (uint32_t warp = 0; warp <= 1; warp++) {
        f.distribution = warp ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
        for (uint32_t i = 0; i < count; i++)
            told(bytes[i]);
    }
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

static void a_wrong_free_is_told(void **state)
{
    (void)state;
    if (test_on_cuda(&base_target))
        skip(); /* a trap takes the process's context with it */
    for_each_allocator(with_assertions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_free_writes_nothing_outside),
        cmocka_unit_test(a_piece_that_was_moved_is_free_once),
        cmocka_unit_test(a_block_that_several_threads_shrink_stays_inside),
        cmocka_unit_test(a_late_double_free_leaves_a_page_to_its_holder),
        cmocka_unit_test(a_block_without_an_end_leaves_the_last_word_alone),
        cmocka_unit_test(a_page_is_in_no_block_that_does_not_know_it),
        cmocka_unit_test(what_lies_beside_a_block_is_none),
        cmocka_unit_test(two_frees_that_race_are_told),
        cmocka_unit_test(a_count_of_pieces_that_can_not_be_is_told),
        cmocka_unit_test(a_wrong_free_is_told),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL) != 0;
}
