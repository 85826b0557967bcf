/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a warp's block (core/pieces.h), and blocks under an alignment, for every allocator: requests so
 * small that most are combined, which in the suite of the promises, run with QUARRY_TEST_DISTRIBUTION=warp,
 * few are. */
#include "alloc/promises.h"

#define SEEDS 60u
#define PIECE_BYTES 16u
#define PIECES 20u

/* One page has room for all pieces of a warp, and each of them keeps the page. */
static void last_piece(void)
{
    static const uint64_t kept[] = {0, 1, 13, PIECES - 1};
    f.distribution = QUARRY_DISTRIBUTION_WARP;
    for (uint32_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        void *block[PIECES], *none[PIECES] = {NULL};
        begin(3, 2 * PIECE_BYTES * PIECES, PIECES, 0);
        f.device.bytes = PIECE_BYTES;
        expect_equal(run(&promise_malloc, PIECES).nulls, 0);
        expect_equal(statistics().live_blocks,
                     1); /* lanes of a warp that begins together, on either backend */
        run(&promise_verify, PIECES);
        assert_ok(quarry_memory_copy(&f.target, block, f.device.block, sizeof block));
        none[kept[i]] = block[kept[i]];
        block[kept[i]] = NULL;
        assert_ok(quarry_memory_copy(&f.target, f.device.block, block, sizeof block));
        run(&promise_free, PIECES);
        expect_equal(statistics().live_blocks, 1);
        expect(slots(1) < f.empty_slots && (!f.fixed || slots(1) == f.empty_slots - 1));
        assert_ok(quarry_memory_copy(&f.target, f.device.block, none, sizeof none));
        run(&promise_verify, PIECES);
        run(&promise_free, PIECES);
        expect_empty();
        end();
    }
}

static void space_returns_with_the_last_piece(void **state)
{
    (void)state;
    for_each_allocator(last_piece);
}

/* Each thread its own program, with sizes of which several, or one, or none together fit into a page, and
 * with pages for all blocks if none were combined. */
static void play(uint64_t page_bytes, uint64_t bytes, uint32_t threads, uint64_t seed)
{
    begin(threads * 3 + 2, page_bytes, threads, seed);
    f.device.bytes = bytes;
    f.device.held = 3;
    f.device.boxes = 2;
    f.device.kept = (uint32_t)seed % 3;
    f.device.program = (uint32_t)seed;
    f.device.turns = seed ? 12 : 60;
    expect_equal(run(&promise_play, threads).nulls, 0);
    expect_empty();
    end();
}

/* All ask at once, of a heap that has pages for few; then others free, in another order, while more ask. */
static void scarce(uint64_t page_bytes, uint64_t bytes, uint32_t threads, uint64_t seed)
{
    begin(1 + (uint32_t)seed % 5, page_bytes, threads, seed);
    f.device.bytes = bytes;
    f.device.turns = seed ? 4 : 50;
    f.device.hold = (uint32_t)(seed % 3) * 4;
    uint64_t nulls = run(&promise_churn, threads).nulls;
    expect_empty();
    struct promise_result result = run(&promise_malloc, threads);
    expect(result.blocks >= (f.about.pages < threads ? f.about.pages : threads));
    expect_equal(statistics().failed_mallocs, nulls + result.nulls);
    run(&promise_verify, threads);
    f.device.shift = 7;
    if (result.nulls == 0) {
        run(&promise_adopt, threads); /* to another warp */
        run(&promise_verify, threads);
    }
    run(&promise_free, threads);
    expect_empty();
    end();
}

/* Who frees a piece is not who asked for it, and does so while others ask. */
static void handover(uint64_t page_bytes, uint64_t bytes, uint64_t seed)
{
    begin(3 * 64, page_bytes, 128, seed);
    f.device.bytes = bytes;
    f.device.turns = seed ? 4 : 100;
    expect_equal(run(&promise_handover, 128).nulls, 0);
    expect_empty();
    end();
}

static void composed(void)
{
    static const uint64_t alignments[] = {16, 16, 128, 32};
    for (uint64_t seed = 0; seed <= seeds(SEEDS); seed++) {
        f.alignment = alignments[seed % 4];
        f.distribution = seed % 8 < 6 ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
        uint64_t page_bytes = 128 << seed % 4;
        play(page_bytes, seed % 5 ? page_bytes / 4 : page_bytes, seed % 2 ? 33 : 96, seed);
        scarce(page_bytes, page_bytes / (1 + seed % 11), 96, seed);
        handover(page_bytes, 1 + page_bytes / 9, seed);
    }
    if (test_on_cuda(&base_target)) {
        f.distribution = QUARRY_DISTRIBUTION_WARP;
        for (f.alignment = 16; f.alignment <= 256; f.alignment *= 16) {
            play(4096, 200, capped(1u << 14), 0);
            scarce(1024, 16, capped(1u << 16), 0);
            scarce(256, 100, capped(1u << 16), 0);
        }
    }
    f.alignment = 0;
    f.distribution = QUARRY_DISTRIBUTION_NONE;
}

static void pieces_keep_the_promises(void **state)
{
    (void)state;
    for_each_allocator(composed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(space_returns_with_the_last_piece),
        cmocka_unit_test(pieces_keep_the_promises),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("composed", tests, NULL, NULL) != 0;
}
