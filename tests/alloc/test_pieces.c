/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of a warp's block (core/pieces.h) ends before the header of the next, whatever the sizes and the
 * alignment, for every allocator: what quarry_usable_size says is the owner's, all of it.  And where there is no room
 * for a block of all lanes each has its own.
 * QUARRY_TEST_SEEDS: seeds of the deterministic scheduler (default 1). */
#include "alloc/pieces_kernels.h"
#include "alloc/promises.h"

#define SEEDS 1u
#define THREADS 96u
#define MOST_ALIGNMENT 4096u

static struct pieces_case a;

static void launch(const struct simt_kernel *kernel)
{
    struct quarry_grid grid = {THREADS / 32, 32, 0};
    if (quarry_launch(kernel, &f.target, grid, &a) != QUARRY_OK || quarry_target_wait(&f.target) != QUARRY_OK)
        fail_msg("%s, up to %u bytes: %s", naming(), a.most, quarry_error_detail());
}

static int by_address(const void *left, const void *right)
{
    const struct pieces_own *l = left, *r = right;
    return l->block < r->block ? -1 : l->block > r->block;
}

/* No piece may reach into the 16 bytes before another, which are its header. */
static void expect_apart(void)
{
    static struct pieces_own own[THREADS];
    assert_ok(quarry_memory_copy(&f.target, own, a.own, sizeof own));
    qsort(own, THREADS, sizeof *own, by_address);
    for (uint32_t i = 0; i < THREADS; i++) {
        const unsigned char *end = own[i].block + own[i].usable;
        expect(own[i].block && own[i].usable >= own[i].bytes);
        if (i + 1 < THREADS && end + QUARRY_PIECE_HEADER_BYTES > own[i + 1].block)
            fail_msg("%s: of %llu bytes %llu are usable, but the next piece is %llu further on", naming(),
                     (unsigned long long)own[i].bytes, (unsigned long long)own[i].usable,
                     (unsigned long long)(own[i + 1].block - own[i].block));
    }
}

static void expect_none(const uint32_t *count, const char *of_what)
{
    uint32_t n;
    assert_ok(quarry_memory_copy(&f.target, &n, count, sizeof n));
    if (n)
        fail_msg("%s, up to %u bytes: %u %s", naming(), a.most, n, of_what);
}

static void use(uint64_t page_bytes, uint32_t most, uint32_t program, uint64_t seed)
{
    begin(THREADS, page_bytes, THREADS, seed);
    memset(&a, 0, sizeof a);
    a.heap = f.device.heap;
    a.own = test_memory(&f.target, sizeof *a.own * THREADS);
    a.torn = test_memory(&f.target, sizeof *a.torn);
    a.moved = test_memory(&f.target, sizeof *a.moved);
    a.threads = THREADS;
    a.most = most;
    a.program = program;
    launch(&pieces_take);
    expect_apart();
    launch(&pieces_use);
    launch(&pieces_give);
    expect_none(a.torn, "blocks are not what their owner wrote");
    expect_none(a.moved, "blocks moved that had room");
    test_memory_free(&f.target, a.own, 0);
    test_memory_free(&f.target, a.torn, 0);
    test_memory_free(&f.target, a.moved, 0);
    expect_empty();
    end();
}

static void usable(void)
{
    static const uint32_t sizes[] = {1, 15, 16, 17, 100, 112, 113, 120, 128, 200, 250};
    f.distribution = QUARRY_DISTRIBUTION_WARP;
    for (f.alignment = 16; f.alignment <= MOST_ALIGNMENT; f.alignment *= 2) {
        uint32_t alignment = (uint32_t)f.alignment, around[] = {alignment - 16, alignment - 15, alignment};
        uint64_t page_bytes = 8 * (alignment > 128 ? alignment : 128);
        /* Sanitizers are slow: there every other alignment has a seed, and the others the fast mode. */
        const int slow =
            getenv("QUARRY_TEST_THREADS") && !test_on_cuda(&base_target); /* which has no seeds */
        const uint64_t last = slow ? f.alignment / 16 % 3 == 2 : seeds(SEEDS);
        for (uint64_t seed = slow ? last : 0; seed <= last; seed++) {
            for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                use(page_bytes, sizes[i], (uint32_t)seed, seed);
            for (uint32_t i = 0; i < sizeof around / sizeof *around; i++)
                if (around[i])
                    use(page_bytes, around[i], (uint32_t)seed, seed);
            use(page_bytes, (uint32_t)page_bytes, 1, seed);
        }
    }
    f.alignment = 0;
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

/* The last piece of a block ends where that ends: no header follows. */
static void the_last_piece_has_all_that_is_left(void **state)
{
    struct pieces_own own[2];
    (void)state;
    f.allocator = "rw-malloc";
    plain_options();
    f.distribution = QUARRY_DISTRIBUTION_WARP;
    f.alignment = 64;
    begin(THREADS, 256, THREADS, 0);
    memset(&a, 0, sizeof a);
    a.heap = f.device.heap;
    a.own = test_memory(&f.target, sizeof own);
    a.threads = 2;
    a.most = 10;
    launch(&pieces_take);
    assert_ok(quarry_memory_copy(&f.target, own, a.own, sizeof own));
    int last = own[1].block > own[0].block;
    expect_equal(own[!last].usable, 64 - QUARRY_PIECE_HEADER_BYTES);
    expect_equal(own[last].usable, 64);
    test_memory_free(&f.target, a.own, 0);
    assert_ok(quarry_heap_reset(f.heap));
    end();
    f.alignment = 0;
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

/* The only page has cells of the size of one lane's block: there is room for each of them, and for no other. */
static void who_can_not_have_a_piece_has_a_block(void **state)
{
    (void)state;
    if (test_on_cuda(&base_target))
        skip(); /* the allocator's seeds are the CPU's */
    f.allocator = "scatter";
    f.fixed = 0;
    plain_options();
    f.distribution = QUARRY_DISTRIBUTION_WARP;
    f.block_threads = SIMT_LANES;
    for (uint64_t seed = 0; seed <= 20; seed++) {
        begin(1, 1024, SIMT_LANES, seed); /* 32 cells of 16 bytes and the header of a piece */
        f.device.bytes = 16;
        f.device.lanes = 1;
        expect_equal(run(&promise_malloc, SIMT_LANES).blocks, 1);
        f.device.lanes = SIMT_ALL_LANES;
        expect_equal(run(&promise_malloc, SIMT_LANES).nulls, 0);
        expect_equal(statistics().live_blocks, SIMT_LANES);
        run(&promise_verify, SIMT_LANES);
        run(&promise_free, SIMT_LANES);
        expect_empty();
        end();
    }
    plain_options();
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

static void all_that_is_usable_is_the_owners(void **state)
{
    (void)state;
    for_each_allocator(usable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_usable_is_the_owners),
        cmocka_unit_test(the_last_piece_has_all_that_is_left),
        cmocka_unit_test(who_can_not_have_a_piece_has_a_block),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("pieces", tests, NULL, NULL) != 0;
}
