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

SIMT_KERNEL(exact_prove_rw, struct exact_case, a)
{
    const struct quarry_rw *h = &a.heap.as.rw;
    struct quarry_random r = quarry_random_start();
    uint32_t page = QUARRY_NO_PAGE, at = 0;
    if (simt_lane() != 0)
        return;
    if (simt_block() == 0) {
        for (uint32_t turn = 0; turn < a.turns; turn++) {
            page = quarry_rw_search(h, &r);
            exact_judge(&a, page == QUARRY_NO_PAGE);
            if (page != QUARRY_NO_PAGE)
                quarry_rw_free(h, quarry_page_address(&h->pages, page));
        }
        simt_store_u32(&a.holes[2], 1, relaxed);
        return;
    }
    while (!exact_over(&a)) {
        while (!quarry_rw_take(h, &r, a.holes[at])) {
            at ^= 1u;
            simt_backoff();
        }
        exact_hold(&a, &r);
        quarry_rw_free(h, quarry_page_address(&h->pages, a.holes[at]));
        at ^= 1u;
    }
}

SIMT_KERNEL(exact_prove_corw, struct exact_case, a)
{
    const struct quarry_corw *h = &a.heap.as.corw;
    struct quarry_random r = quarry_random_start();
    uint32_t page = QUARRY_NO_PAGE, at = 0;
    if (simt_lane() != 0)
        return;
    if (simt_block() == 0) {
        for (uint32_t turn = 0; turn < a.turns; turn++) {
            page = quarry_corw_search(h, &r, simt_active(), QUARRY_NO_PAGE);
            exact_judge(&a, page == QUARRY_NO_PAGE);
            if (page != QUARRY_NO_PAGE)
                quarry_corw_free(h, quarry_page_address(&h->pages, page));
        }
        simt_store_u32(&a.holes[2], 1, relaxed);
        return;
    }
    while (!exact_over(&a)) {
        page = QUARRY_NO_PAGE;
        while (quarry_corw_round(h, 1u, 1u, 1, a.holes[at] >> h->word_shift, &page)) {
            at ^= 1u;
            simt_backoff();
        }
        exact_hold(&a, &r);
        quarry_corw_free(h, quarry_page_address(&h->pages, page));
        at ^= 1u;
    }
}

SIMT_FN uint64_t exact_number(const struct exact_case *a, uint32_t group, uint32_t kind, uint32_t chunk)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = QUARRY_NO_PAGE;
    int dirty = 0;
    uint64_t part = a->is_rw ? quarry_rw_chunk(&a->heap.as.rw, &r, group, kind, chunk, &page, &dirty)
                             : quarry_corw_chunk(&a->heap.as.corw, &r, group, kind, chunk, &page, &dirty);
    if (dirty)
        simt_add_u32(a->wrong, 1, relaxed);
    return simt_reduce_add_u64(group, part);
}

SIMT_KERNEL(exact_numbers, struct exact_case, a)
{
    uint32_t chunks = a.is_rw ? a.heap.as.rw.chunks : a.heap.as.corw.chunks;
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
