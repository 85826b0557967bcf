/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NDEBUG
#define NDEBUG /* what wrong pointers do where nobody asserts anything */
#endif
#include "alloc/misuse_kernels.h"

SIMT_FN void misuse_write(unsigned char *block, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        block[i] = 0x5a;
}

SIMT_KERNEL(misuse_take, struct misuse_case, a)
{
    if (simt_thread() >= a.count)
        return;
    a.block[simt_thread()] = quarry_malloc(a.heap, a.bytes);
    if (a.block[simt_thread()])
        misuse_write((unsigned char *)a.block[simt_thread()], a.bytes);
}

SIMT_KERNEL(misuse_free, struct misuse_case, a)
{
    if (simt_thread() < a.count << a.twice)
        quarry_free(a.heap, a.block[simt_thread() % a.count]);
}

/* Somewhere near the pool, or a block that lived once, or a place inside of one. */
SIMT_FN void *misuse_address(const struct misuse_case *a, struct quarry_random *r)
{
    uint32_t way = quarry_random_below(r, 8);
    unsigned char *block = (unsigned char *)a->block[quarry_random_below(r, a->count)];
    if (way == 0)
        return (void *)((uintptr_t)quarry_random_below(r, 0xffffffffu) << quarry_random_below(r, 32));
    if (way < 3 || !block)
        return a->near + quarry_random_below(r, (uint32_t)a->near_bytes);
    if (way < 5)
        return block + quarry_random_below(r, (uint32_t)a->bytes);
    return block;
}

SIMT_KERNEL(misuse_fuzz, struct misuse_case, a)
{
    struct quarry_random r;
    r.step = 2 * a.program + 1;
    r.state = quarry_mix_u32(a.program + 1);
    if (simt_thread() != 0)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint64_t bytes = 1 + quarry_random_below(&r, (uint32_t)a.bytes);
        if (quarry_random_below(&r, 2)) {
            quarry_free(a.heap, misuse_address(&a, &r));
            continue;
        }
        unsigned char *block = (unsigned char *)quarry_malloc(a.heap, bytes);
        if (!block)
            continue;
        a.block[quarry_random_below(&r, a.count)] = block;
        if (block < a.lowest || block + bytes > a.end)
            simt_add_u32(a.outside, 1, relaxed);
        else
            misuse_write(block, bytes);
    }
}

SIMT_KERNEL(misuse_shrink, struct misuse_case, a)
{
    struct quarry_random r;
    r.step = 2 * simt_thread() + 1;
    r.state = quarry_mix_u32(a.program + 1);
    for (uint32_t turn = 0; turn < a.turns; turn++)
        (void)quarry_realloc(a.heap, a.block[0], 1 + quarry_random_below(&r, (uint32_t)a.bytes));
}

SIMT_KERNEL(misuse_ask, struct misuse_case, a)
{
    if (simt_thread() < a.count)
        a.block[simt_thread()] = (void *)(uintptr_t)quarry_usable_size(a.heap, a.block[simt_thread()]);
}

SIMT_KERNEL(misuse_moved, struct misuse_case, a)
{
    const struct quarry_policy *policy = a.heap.policy;
    if (simt_thread() != 0)
        return;
    void *piece = quarry_malloc(a.heap, 100), *moved = quarry_pieces_move(piece, 64);
    void *block = quarry_pieces_release(piece, policy->places, policy->places_bytes);
    simt_add_u32(a.outside, block != SIMT_NULL, relaxed);
    block = quarry_pieces_release(moved, policy->places, policy->places_bytes);
    simt_add_u32(a.outside, block == SIMT_NULL, relaxed);
    quarry_dispatch_free(&a.heap, block);
}

/* As misuse_stale, of a heap of runs: the pages of the block that is freed twice are by now one block each. */
SIMT_KERNEL(misuse_stale_run, struct misuse_case, a)
{
    const struct quarry_runs *map = &a.heap.as.runs;
    const uint64_t taken = 0x3f, ends = taken << 32, old = quarry_runs_part(0, 6, 0);
    uint64_t *word = &map->words[0];
    if (simt_thread() != 0)
        return;
    uint32_t wrong = 0;
    simt_store_u64(word, taken | ends, relaxed);
    quarry_runs_clear(map, 0, old);
    wrong += simt_load_u64(word, relaxed) != 0;
    simt_store_u64(word, taken | ends, relaxed);
    quarry_runs_clear_fenced(map, 0, old);
    wrong += simt_load_u64(word, relaxed) != 0;

    /* Whatever is left of an end: a free page can be taken, and a block that is gone is not cut. */
    simt_store_u64(word, ends, relaxed);
    wrong += !quarry_runs_set(word, ends, quarry_runs_part(2, 1, 0));
    simt_store_u64(word, 0, relaxed);
    wrong += quarry_runs_cut(map, 3) || simt_load_u64(word, relaxed) != 0;
    simt_store_u64(word, 0, relaxed);
    simt_add_u32(a.outside, wrong, relaxed);
}

SIMT_KERNEL(misuse_stale, struct misuse_case, a)
{
    const struct quarry_scatter_table *table = &a.heap.as.scatter.table;
    uint32_t *field = quarry_scatter_field(table, 0, 0);
    if (simt_thread() != 0 || !quarry_scatter_hold(table, 0))
        return;
    simt_store_u32(field, 0, relaxed);
    quarry_scatter_clear(table, 0, field, 1);
    quarry_scatter_clear(table, 0, (uint32_t *)SIMT_NULL, 1);
    if (quarry_scatter_class_of(simt_load_u64(&table->words[0], relaxed)) != QUARRY_SCATTER_BUSY)
        simt_add_u32(a.outside, 1, relaxed);
    quarry_scatter_let_go(table, 0);

    /* Or when it is empty, after its bytes were a block's content. */
    uint64_t word = simt_load_u64(&table->words[0], relaxed);
    simt_store_u32(field, ~0u, relaxed);
    quarry_scatter_clear(table, 0, field, 3);
    if (simt_load_u64(&table->words[0], relaxed) != word)
        simt_add_u32(a.outside, 1, relaxed);

    /* What a free and a malloc that come before that is mended see of an empty page, and of one of fields. */
    simt_store_u64(&table->words[0], word - 1u, relaxed);
    quarry_free(a.heap, quarry_page_address(&table->pages, 0));
    simt_store_u64(&table->words[0], quarry_scatter_word(word, QUARRY_SCATTER_FLAT + 2u, 0) - 1u, relaxed);
    struct quarry_scatter_request request = {1, QUARRY_SCATTER_MOST, 1};
    if (quarry_scatter_room(&request, simt_load_u64(&table->words[0], relaxed)) != 0)
        simt_add_u32(a.outside, 1, relaxed);
    simt_store_u64(&table->words[0], word, relaxed);
}
