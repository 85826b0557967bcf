/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/buddy_kernels.h"

SIMT_KERNEL(buddy_start, struct buddy_case, a)
{
    quarry_buddy_init(&a.buddy, simt_thread(), simt_threads());
}

SIMT_FN void buddy_wrong(const struct buddy_case *a, int wrong)
{
    if (wrong)
        (void)simt_add_u32(&a->counts[BUDDY_WRONG], 1, relaxed);
}

/* The block is `who`'s from now on, and was `before`'s. */
SIMT_FN void buddy_hold(const struct buddy_case *a, uint32_t page, uint32_t order, uint32_t before,
                        uint32_t who)
{
    for (uint32_t i = 0; i < 1u << order; i++)
        buddy_wrong(a, simt_exchange_u32(&a->holder[page + i], who, relaxed) != before);
}

SIMT_FN void buddy_check(const struct buddy_case *a, uint32_t page, uint32_t order)
{
    uint32_t found;
    buddy_wrong(a, quarry_buddy_find(&a->buddy, page + (1u << order) - 1u, &found) != QUARRY_BUDDY_TAKEN);
    buddy_wrong(a, found != order || page % (1u << order) != 0);
}

SIMT_KERNEL(buddy_rounds, struct buddy_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t who = simt_thread() + 1u, alone = 1u << simt_lane();
    for (uint32_t i = 0; i < a.rounds; i++) {
        uint32_t order = quarry_random_below(&r, a.orders);
        uint32_t group = a.together ? simt_match_u32(simt_active(), order) : alone;
        uint32_t page = quarry_buddy_take(&a.buddy, &r, group, order);
        if (page == QUARRY_NO_PAGE) {
            (void)simt_add_u32(&a.counts[BUDDY_REFUSED], 1, relaxed);
            continue;
        }
        buddy_hold(&a, page, order, 0, who);
        buddy_check(&a, page, order);
        for (uint32_t k = quarry_random_below(&r, a.hold + 1u); k > 0; k--)
            (void)simt_load_u64(a.buddy.word, relaxed);
        if (a.shrinks && order) {
            uint32_t kept = page + quarry_random_below(&r, 1u << order);
            buddy_hold(&a, page, order, who, 0);
            buddy_hold(&a, kept, 0, 0, who);
            quarry_buddy_shrink(&a.buddy, order, 0, kept);
            page = kept;
            order = 0;
            buddy_check(&a, page, order);
        }
        buddy_hold(&a, page, order, who, 0);
        group = a.together ? simt_active() : alone;
        buddy_wrong(
            &a, !quarry_buddy_give_together(&a.buddy, group, page + quarry_random_below(&r, 1u << order)));
    }
}
