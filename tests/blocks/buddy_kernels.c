/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/buddy_kernels.h"

#include "quarry/core/buddy.h"

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
    for (uint32_t i = 0; i < 1u << order; i++) {
        buddy_wrong(a, simt_exchange_u32(&a->holder[page + i], who, relaxed) != before);
        a->visits[page + i]++; /* plain: what one owner does happens-before what the next one does */
    }
}

SIMT_FN void buddy_check(const struct buddy_case *a, uint32_t page, uint32_t order)
{
    uint32_t found;
    buddy_wrong(a, quarry_buddy_find(&a->buddy, page + (1u << order) - 1u, &found) != QUARRY_BUDDY_TAKEN);
    buddy_wrong(a, found != order || (page & ((1u << order) - 1u)) != 0);
}

SIMT_KERNEL(buddy_rounds, struct buddy_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t who = simt_thread() + 1u, alone = 1u << simt_lane();
    for (uint32_t i = 0; i < a.rounds; i++) {
        uint32_t order = a.least + quarry_random_below(&r, a.orders);
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

/* ---- one order at a time ---- */

SIMT_KERNEL(buddy_some, struct buddy_case, a)
{
    struct quarry_random r = quarry_random_start();
    if (simt_thread() != 0)
        return;
    quarry_buddy_init(&a.buddy, 0, 1);
    for (uint32_t i = 0; i < a.buddy.pages >> a.size; i++)
        (void)quarry_buddy_take(&a.buddy, &r, 1u, a.size);
    for (uint32_t i = 0; i < a.buddy.pages >> a.size; i++)
        if (a.free >> i & 1u)
            buddy_wrong(&a, !quarry_buddy_give(&a.buddy, i << a.size));
}

/* The lanes of block 0 give their pages, which all merge with others.  Who counts meanwhile never sees less than was
 * free before. */
SIMT_KERNEL(buddy_counted, struct buddy_case, a)
{
    uint32_t lane = simt_lane(), alone = 1u << lane;
    if (simt_block() == 0)
        (void)quarry_buddy_give_together(&a.buddy, a.together ? simt_active() : alone, 2 * lane);
    else if (lane == 0)
        for (uint32_t i = 0; i < a.rounds; i++)
            buddy_wrong(&a, quarry_buddy_slots(&a.buddy, 0, alone) < a.buddy.pages / 2);
}

/* Two lanes give the last page of a word each.  One goes on with both words' blocks, and block 1 gets all. */
SIMT_KERNEL(buddy_joined, struct buddy_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page;
    if (simt_block() == 0) {
        (void)quarry_buddy_give_together(&a.buddy, simt_active(), simt_lane() * QUARRY_BUDDY_WAYS);
    } else if (simt_lane() == 0) {
        while ((page = quarry_buddy_take(&a.buddy, &r, 1u, a.buddy.top)) == QUARRY_NO_PAGE)
            simt_backoff();
        buddy_check(&a, page, a.buddy.top);
    }
}

/* Block 2 has the unit of the last page.  Then it finds a page of the block that block 0 gives and block 1 divides,
 * maybe: nothing but the words of the tree tells it of block 0. */
SIMT_KERNEL(buddy_divided, struct buddy_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = 0, order = simt_block() == 0 ? 5 : 0;
    if (simt_lane() != 0)
        return;
    if (simt_block() == 1) {
        while (quarry_semaphore_there(simt_load_u64(&a.buddy.units[0].units, relaxed)) != 0)
            simt_backoff();
        while ((page = quarry_buddy_take(&a.buddy, &r, 1u, 0)) == QUARRY_NO_PAGE)
            simt_backoff();
    } else if (simt_block() == 2) {
        buddy_wrong(&a, !quarry_semaphore_try(&a.buddy.units[0], 1));
        while (quarry_buddy_state(simt_load_u64(&a.buddy.word[0], relaxed), quarry_buddy_node(5, 0)) !=
               QUARRY_BUDDY_PARTIAL)
            simt_backoff();
        page = quarry_buddy_claim(&a.buddy, &r, 0, 0, 0);
    }
    buddy_hold(&a, page, order, 0, 1);
    buddy_hold(&a, page, order, 1, 0);
    if (order)
        buddy_wrong(&a, !quarry_buddy_give(&a.buddy, page));
}

/* A search of order 0 goes on, and is refused: block 0 plays it.  The other comes later, and a page is free. */
SIMT_KERNEL(buddy_early, struct buddy_case, a)
{
    struct quarry_semaphore *units = &a.buddy.units[0];
    uint64_t since = 0;
    if (simt_block() == 0) {
        for (uint32_t k = 0; k < a.hold; k++)
            (void)simt_load_u64(a.buddy.word, relaxed);
        quarry_buddy_searched(units, QUARRY_BUDDY_NO_ORDER);
        return;
    }
    uint32_t said = quarry_buddy_search(units, &since);
    buddy_wrong(&a, said == QUARRY_BUDDY_NO_ORDER);
    if (said == QUARRY_BUDDY_SEARCH) { /* the other has ended, and this one finds something */
        quarry_buddy_searched(units, 0);
        buddy_wrong(&a, simt_load_u64(&units->refused, relaxed) != 3);
    }
}
