/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/slabs_common.h"

void choose_schedule(uint64_t seed)
{
    plain_options();
    base_target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 3) : 0;
}

void launch_case(const struct simt_kernel *kernel, struct slabs_case *a, uint32_t blocks, uint64_t seed)
{
    a->heap = f.device.heap;
    a->wrong = test_memory(&f.target, sizeof *a->wrong);
    f.target.seed = seed;
    f.target.bug_depth = seed % 3 == 2 ? 2 + (uint32_t)(seed / 3 % 2) : 0;
    expect_equal(run_blocks(kernel, blocks, a, a->wrong), 0);
    f.target = base_target;
    test_memory_free(&f.target, a->wrong, 0);
}

void end_trails(void)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    const uint32_t ended = 1;
    uint64_t cursors = (uint64_t)h->classes * h->cursors, *past = malloc(cursors * sizeof *past);
    assert_non_null(past);
    for (uint64_t i = 0; i < cursors; i++)
        past[i] = QUARRY_SLABS_PAST;
    assert_ok(quarry_memory_copy(&f.target, h->cursor, past, cursors * sizeof *past));
    assert_ok(quarry_memory_copy(&f.target, &h->spread[h->classes], &ended, sizeof ended));
    free(past);
}

uint32_t chunks_that_are(enum quarry_slabs_state kind)
{
    const struct quarry_slabs *h = &f.device.heap.as.slabs;
    uint64_t *kinds = malloc(h->pages.count * sizeof *kinds);
    uint32_t n = 0;
    assert_non_null(kinds);
    assert_ok(quarry_memory_copy(&f.target, kinds, h->kinds, h->pages.count * sizeof *kinds));
    for (uint32_t i = 0; i < h->pages.count; i++)
        n += quarry_slabs_state(kinds[i]) == kind;
    free(kinds);
    return n;
}

void one_chunk(uint32_t blocks, int trails)
{
    plain_options();
    begin(1, CHUNK, CHUNK / 16, 0);
    if (!trails)
        end_trails();
    f.device.bytes = 16;
    expect_equal(run(&promise_malloc, blocks).nulls, 0);
}
