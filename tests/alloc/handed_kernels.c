/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/handed_kernels.h"

SIMT_FN void wrong(const struct handed_case *a, int is)
{
    if (is)
        (void)simt_add_u32(a->wrong, 1, relaxed);
}

SIMT_KERNEL(handed_turns, struct handed_case, a)
{
    int greedy = simt_block() != 1;
    uint64_t bytes = greedy ? a.large : a.bytes;
    unsigned char mine = (unsigned char)(simt_thread() + 1u);
    for (uint32_t i = 0; i < a.turns && simt_lane() < (greedy ? a.greedy : a.threads); i++) {
        unsigned char *block;
        while (!(block = (unsigned char *)quarry_malloc(a.heap, bytes)))
            simt_backoff();
        for (uint64_t k = 0; k < bytes; k += 16)
            block[k] = mine;
        for (uint64_t k = 0; k < bytes; k += 16)
            wrong(&a, block[k] != mine);
        quarry_free(a.heap, block);
    }
}

SIMT_KERNEL(handed_counted, struct handed_case, a)
{
    if (simt_block() > 0 && simt_lane() < a.threads)
        quarry_free(a.heap, a.block[(simt_block() - 1u) * a.threads + simt_lane()]);
    for (uint32_t i = 0; simt_block() == 0 && simt_lane() == 0 && i < a.turns; i++)
        wrong(&a, quarry_ualloc_slots(&a.heap.as.ualloc.arenas, a.bytes, 1u) < a.least);
}

SIMT_FN void write_to(void *block, uint64_t bytes)
{
    for (uint64_t k = 0; block && k < bytes; k += 16)
        ((unsigned char *)block)[k] = (unsigned char)simt_thread();
}

/* quarry_arenas_free of a block that is live, and after its count a wait. */
SIMT_FN void free_slowly(const struct handed_case *a, void *block)
{
    const struct quarry_arenas *h = &a->heap.as.ualloc.arenas;
    struct quarry_arenas_where w = quarry_arenas_locate(h, quarry_page_index(&h->pages, block), block);
    struct quarry_bin *bin = quarry_arenas_bin(h, w.page);
    uint32_t class_ = bin->class_, arena = bin->arena, n = 1;
    (void)quarry_bin_give(bin, w.index);
    uint32_t flags = quarry_bin_raise(bin, &n, quarry_bin_blocks(&h->shape, class_));
    while (n == 0 && simt_load_u32(a->ready, relaxed) == 0)
        simt_backoff();
    (void)simt_add_u64(&quarry_arenas_list(h, arena, class_)->spare, n, relaxed);
    if (flags & QUARRY_BIN_LISTING)
        quarry_arenas_enlist(h, bin);
    quarry_semaphore_signal(&h->supply[class_], 1);
    if (flags & QUARRY_BIN_RETIRING)
        quarry_arenas_retire(h->self, bin);
}

SIMT_KERNEL(handed_emptied, struct handed_case, a)
{
    if (simt_lane() != 0)
        return;
    write_to(a.block[simt_block()], a.bytes);
    if (simt_block() != 0) {
        free_slowly(&a, a.block[simt_block()]);
        return;
    }
    quarry_free(a.heap, a.block[0]);
    for (uint32_t i = 0; i < a.turns; i++) {
        a.taken[i] = quarry_malloc(a.heap, a.large);
        write_to(a.taken[i], a.large);
    }
    simt_store_u32(a.ready, 1, relaxed);
}
