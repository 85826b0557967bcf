/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/exact_kernels.h"

/* holes[2] says that the prover is done. */
SIMT_FN int exact_over(const struct exact_case *a)
{
    return simt_load_u32(&a->holes[2], relaxed) != 0;
}

SIMT_FN void exact_hold(const struct exact_case *a, struct quarry_random *r)
{
    uint32_t n = quarry_random_below(r, a->hold + 1);
    for (uint32_t i = 0; i < n; i++)
        (void)exact_over(a);
}

SIMT_FN void exact_judge(const struct exact_case *a, int full)
{
    if (full)
        simt_add_u32(a->wrong, 1, relaxed);
}

/* The same steps of rw and of the bitmap of the others. */
SIMT_FN uint32_t exact_search(const struct exact_case *a, struct quarry_random *r)
{
    if (a->is_rw)
        return quarry_rw_search(&a->heap.as.rw, r);
    return quarry_bitmap_search(&a->heap.as.corw.map, r, simt_active(), QUARRY_NO_PAGE);
}

/* Takes the hole, which is the only free page of its word.  Returns 0 if it was not free. */
SIMT_FN int exact_take(const struct exact_case *a, struct quarry_random *r, uint32_t hole)
{
    const struct quarry_bitmap *map = &a->heap.as.corw.map;
    int locked;
    if (a->is_rw)
        return quarry_rw_take(&a->heap.as.rw, r, hole);
    return quarry_bitmap_take(map, hole >> map->word_shift, 1, &locked) == hole;
}

SIMT_FN void exact_free(const struct exact_case *a, uint32_t page)
{
    if (a->is_rw)
        quarry_rw_free(&a->heap.as.rw, quarry_page_address(&a->heap.as.rw.pages, page));
    else
        quarry_bitmap_free(&a->heap.as.corw.map, quarry_page_address(&a->heap.as.corw.map.pages, page));
}

SIMT_KERNEL(exact_prove, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t at = 0;
    if (simt_lane() != 0)
        return;
    if (simt_block() == 0) {
        for (uint32_t turn = 0; turn < a.turns; turn++) {
            uint32_t page = exact_search(&a, &r);
            exact_judge(&a, page == QUARRY_NO_PAGE);
            if (page != QUARRY_NO_PAGE)
                exact_free(&a, page);
        }
        simt_store_u32(&a.holes[2], 1, relaxed);
        return;
    }
    while (!exact_over(&a)) {
        while (!exact_take(&a, &r, a.holes[at])) {
            at ^= 1u;
            simt_backoff();
        }
        exact_hold(&a, &r);
        exact_free(&a, a.holes[at]);
        at ^= 1u;
    }
}

SIMT_FN uint64_t exact_number(const struct exact_case *a, uint32_t group, uint32_t kind, uint32_t chunk)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = QUARRY_NO_PAGE;
    int dirty = 0;
    uint64_t part = a->is_rw
                        ? quarry_rw_chunk(&a->heap.as.rw, &r, group, kind, chunk, &page, &dirty)
                        : quarry_bitmap_chunk(&a->heap.as.corw.map, &r, group, kind, chunk, &page, &dirty);
    if (dirty)
        simt_add_u32(a->wrong, 1, relaxed);
    return simt_reduce_add_u64(group, part);
}

SIMT_KERNEL(exact_numbers, struct exact_case, a)
{
    uint32_t chunks = a.is_rw ? a.heap.as.rw.chunks : a.heap.as.corw.map.chunks;
    for (uint32_t width = 1; width < SIMT_LANES; width++) {
        uint32_t narrow = (1u << width) - 1u;
        for (uint32_t chunk = 0; chunk < chunks; chunk++)
            for (uint32_t kind = 0; kind < 2; kind++) {
                uint64_t wide = exact_number(&a, SIMT_ALL_LANES, kind, chunk);
                if (simt_lane() < width && exact_number(&a, narrow, kind, chunk) != wide)
                    simt_add_u32(a.wrong, 1, relaxed);
                simt_sync(SIMT_ALL_LANES);
            }
    }
}
