/* SPDX-License-Identifier: Apache-2.0 */
/* take of core/buddy.h, which has the argument: lanes look for supply, get units of semaphores, and then nodes. */
#ifndef QUARRY_CORE_BUDDY_TAKE_H
#define QUARRY_CORE_BUDDY_TAKE_H

#include "quarry/core/buddy_tree.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"

/* Moves field i of 16 fields of two bits to i ^ by, by < 16. */
SIMT_FN uint32_t quarry_buddy_exchange(uint32_t fields, uint32_t by)
{
    if (by & 8u)
        fields = fields << 16 | fields >> 16;
    if (by & 4u)
        fields = (fields & 0x00ff00ffu) << 8 | (fields >> 8 & 0x00ff00ffu);
    if (by & 2u)
        fields = (fields & 0x0f0f0f0fu) << 4 | (fields >> 4 & 0x0f0f0f0fu);
    if (by & 1u)
        fields = (fields & 0x33333333u) << 2 | (fields >> 2 & 0x33333333u);
    return fields;
}

/* Finds an AVAILABLE node of that height, and carves it.  The caller has a unit of that order, so there is
 * one; others take theirs meanwhile, so it may be another one from one look to the next.
 *   kept, order   as quarry_buddy_carve
 * Returns the index of what stays.  Order: acquire. */
SIMT_FN uint32_t quarry_buddy_claim(const struct quarry_buddy *b, struct quarry_random *r, uint32_t height,
                                    uint32_t kept, uint32_t order)
{
    uint32_t lowest = height / QUARRY_BUDDY_LEVELS, group = b->group;
    uint32_t all = ~0u >> (32u - (group + 1u) * QUARRY_BUDDY_LEVELS + height); /* indices of that height */
    uint32_t sides = quarry_random_next(r) & all;
    uint32_t at = 0; /* counts them in the order in which they are looked at */
    for (;;) {
        uint32_t level = group == lowest ? height % QUARRY_BUDDY_LEVELS : 0;
        uint32_t bits = QUARRY_BUDDY_LEVELS - level, nodes = 1u << bits;
        uint32_t shift = group * QUARRY_BUDDY_LEVELS + level - height; /* of the word's part of `at` */
        uint32_t w = quarry_buddy_base(b, group) + ((at ^ sides) >> shift >> bits);
        uint64_t word = simt_load_u64(&b->word[w], relaxed);
        uint32_t state = (uint32_t)(word >> 2u * nodes) & (~0u >> (32u - 2u * nodes));
        uint32_t part = at >> shift & (nodes - 1u);
        uint32_t found = (group == lowest ? state >> 1 & ~state : state & ~(state >> 1)) & 0x55555555u;
        found = quarry_buddy_exchange(found, sides >> shift & (nodes - 1u)) & ~0u << 2u * part;
        if (found == 0) {
            at = ((at >> shift >> bits) + 1u) << bits << shift & all; /* past all that is below the word */
            group = at ? (height + simt_ctz_u32(at)) / QUARRY_BUDDY_LEVELS : b->group;
            if (at == 0)
                simt_backoff();
            continue;
        }
        found = simt_ctz_u32(found) / 2u;
        if (found != part)
            at = ((at >> shift) - part + found) << shift;
        if (group > lowest) {
            group--;
            continue;
        }
        uint32_t index = (at ^ sides) << (height - kept);
        if (quarry_buddy_change(b, w, word, quarry_buddy_carve(word, group, height, kept, index, order))) {
            quarry_buddy_carve_below(b, height, kept, index, order);
            return index;
        }
        simt_backoff(); /* and looks again */
    }
}

#define QUARRY_BUDDY_AGAIN (QUARRY_BUDDY_NO_ORDER + QUARRY_SEMAPHORE_AGAIN)
#define QUARRY_BUDDY_SEARCH (QUARRY_BUDDY_NO_ORDER + QUARRY_SEMAPHORE_SEARCH)
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_REFUSED == 0, "who is refused has no order");

/* Was the last who asked for more than was there refused?  A hint: then units that are expected mostly don't come.  All
 * who look read it, so it is beside the top order's units: at those of pages it would wait for all who change these. */
SIMT_FN int quarry_buddy_seems_full(const struct quarry_buddy *b)
{
    return simt_load_u64(&b->units[b->top].full, relaxed) != 0;
}

SIMT_FN void quarry_buddy_seem(const struct quarry_buddy *b, uint64_t full)
{
    uint64_t *hint = &b->units[b->top].full;
    if (simt_load_u64(hint, relaxed) != full)
        simt_store_u64(hint, full, relaxed);
}

/* Gets a unit of that order, or of a higher one; of those between it has promised two, and is owed one.
 *   stays   does the caller wait for others, too, where the heap seems full?
 * Returns the unit's order, or QUARRY_BUDDY_NO_ORDER, or QUARRY_BUDDY_AGAIN: nothing is promised or owed. */
SIMT_FN uint32_t quarry_buddy_unit(const struct quarry_buddy *b, uint32_t order, int stays)
{
    uint32_t h = order, owed = 1u - quarry_semaphore_ask(&b->units[h], 1), promised, seen;
    /* What has come to orders that have refused the caller, less what it had seen there before.  It is volatile:
     * in a register it costs the switch over all allocators seven. */
    volatile uint32_t since = 0;
    for (;;) {
        for (promised = 0; owed && !promised;) {
            promised = quarry_semaphore_look(&b->units[h], &owed, QUARRY_BUDDY_BATCH, &seen);
            if (promised)
                since = since - seen; /* C++20 has no -= of what is volatile */
            if (owed == 0 || promised)
                break;
            if (!stays && quarry_buddy_seems_full(b)) {
                for (quarry_semaphore_leave(&b->units[h], 1, 0); h > order;)
                    quarry_semaphore_leave(&b->units[--h], 1, QUARRY_BUDDY_BATCH);
                return QUARRY_BUDDY_AGAIN;
            }
            simt_backoff();
        }
        if (owed == 0) {
            if (h > order)
                quarry_buddy_seem(b, 0);
            return h;
        }
        if (h < b->top) {
            simt_fence(acq_rel); /* what this order's semaphore said comes before what the next one says */
            h++;
            owed = 1u - quarry_semaphore_ask(&b->units[h], 1);
            continue;
        }
        quarry_buddy_seem(b, 1);
        SIMT_ROLLED
        for (;;) {
            uint32_t refused = quarry_semaphore_withdraw(&b->units[h], &owed, QUARRY_BUDDY_BATCH, &promised);
            since = since + quarry_semaphore_since(&b->units[h], 0);
            if (!refused) /* it promises anew there */
                break;
            if (h == order)
                return since % QUARRY_SEMAPHORE_CHANGES ? QUARRY_BUDDY_AGAIN : QUARRY_BUDDY_NO_ORDER;
            simt_fence(acq_rel); /* likewise, on the way down */
            h--;
            owed = 1;
            promised = QUARRY_BUDDY_BATCH;
        }
    }
}

/* Lanes that see no supply: one of them searches at a time, by quarry_buddy_unit.
 *   *since   as in quarry_semaphore_search
 * Returns QUARRY_BUDDY_SEARCH: the caller is to search, and to say the result to quarry_buddy_searched.
 * QUARRY_BUDDY_NO_ORDER: it is refused.  QUARRY_BUDDY_AGAIN: it is to look again. */
SIMT_FN uint32_t quarry_buddy_search(struct quarry_semaphore *units, uint64_t *since)
{
    return QUARRY_BUDDY_NO_ORDER + quarry_semaphore_search(units, since);
}

/* The caller's search has ended.
 *   found   what quarry_buddy_unit has returned */
SIMT_FN void quarry_buddy_searched(struct quarry_semaphore *units, uint32_t found)
{
    quarry_semaphore_searched(units, found == QUARRY_BUDDY_NO_ORDER);
}

/* What lanes that take together do next. */
struct quarry_buddy_plan {
    uint32_t order; /* of the blocks that they look for */
    uint32_t units; /* of that order, that may be free */
    int plenty;     /* there are larger blocks to make them from */
    int scarce;     /* there seem to be neither */
};

/* The group's sum of the supply that each lane has seen. */
SIMT_FN int32_t quarry_buddy_sum(uint32_t group, int64_t supply)
{
    supply = supply < QUARRY_BUDDY_MUCH ? supply : QUARRY_BUDDY_MUCH;
    supply = supply > -QUARRY_BUDDY_MUCH ? supply : -QUARRY_BUDDY_MUCH;
    return (int32_t)simt_reduce_add_u32(group, (uint32_t)supply);
}

/* Blocks as large as `lanes` lanes can use, if there are enough, or nothing to make them from; and if they are not rare
 * among smaller ones: these are hard to find.  At most of order `most`. */
SIMT_FN struct quarry_buddy_plan quarry_buddy_look(const struct quarry_buddy *b, uint32_t group,
                                                   uint32_t lanes, uint32_t order, uint32_t most)
{
    struct quarry_buddy_plan plan = {order, 0, 0, 0};
    uint32_t size = simt_popc_u32(group), count = 0, smaller = 0;
    uint32_t largest = order + 31u - simt_clz_u32(lanes);
    int64_t supply = 0, large = 0; /* blocks of `order` that are there or expected, and not reserved */
    largest = largest < most ? largest : most;
    for (uint32_t h = order + simt_rank(group); h <= b->top && (size > 1 || supply <= 0); h += size) {
        uint64_t balance = simt_load_u64(&b->units[h].balance, relaxed);
        int full = quarry_buddy_seems_full(b); /* here, as so both loads are under way at once */
        int64_t units = full ? quarry_semaphore_free(balance) : -quarry_semaphore_uncovered(balance);
        int64_t blocks = units * ((int64_t)1 << (h - order));
        supply += blocks;
        large += h >= largest ? blocks : 0;
        if (h <= largest)
            count = quarry_semaphore_part(quarry_semaphore_free(balance), 1u << 24);
    }
    if (size == 1) {
        plan.scarce = supply <= 0;
        return plan;
    }
    plan.plenty = quarry_buddy_sum(group, large) >> (largest - order) > 0;
    SIMT_ROLLED
    for (uint32_t h = order, rest = group; h <= largest; h++, rest &= rest - 1u) {
        uint32_t units = simt_shuffle_u32(group, count, simt_ctz_u32(rest)), wanted = lanes >> (h - order);
        if (units >= (plan.plenty ? wanted : 1u) && smaller <= QUARRY_BUDDY_RARE * units) {
            plan.order = h;
            plan.units = wanted;
        }
        smaller += units;
    }
    if (plan.units == 0 && plan.plenty)
        plan.order = largest;
    else if (plan.units == 0)
        plan.scarce = quarry_buddy_sum(group, supply) <= 0;
    return plan;
}

/* Takes a block of 2^order pages for each lane of the group.
 *   order   0 to b->top, the same for all
 * Returns the first page of the lane's block, a multiple of 2^order, or QUARRY_NO_PAGE.
 * Progress: waits for lanes that divide, merge or signal; none of them waits for memory but at a higher order, and at
 * the highest nobody does.  Order: acquire. */
SIMT_FN uint32_t quarry_buddy_take(const struct quarry_buddy *b, struct quarry_random *r, uint32_t group,
                                   uint32_t order)
{
    uint32_t page = QUARRY_NO_PAGE, most = b->top, leader = simt_ctz_u32(group);
    uint64_t since = 0;
    for (uint32_t needs = group; needs; needs = simt_ballot(group, page == QUARRY_NO_PAGE)) {
        struct quarry_buddy_plan plan = quarry_buddy_look(b, group, simt_popc_u32(needs), order, most);
        uint32_t height = plan.order, each = plan.order - order, said = 0; /* each unit is for 2^each lanes */
        if (simt_lane() == leader) {
            int makes = plan.units == 0 || plan.plenty; /* it waits for a unit rather than looks again */
            struct quarry_semaphore *units = &b->units[height];
            while (plan.units && !quarry_semaphore_try(units, plan.units))
                plan.units /= 2u;
            if (plan.units == 0) {
                uint32_t found = plan.scarce ? quarry_buddy_search(units, &since)
                                 : makes     ? QUARRY_BUDDY_SEARCH
                                             : QUARRY_BUDDY_AGAIN;
                if (found == QUARRY_BUDDY_SEARCH) {
                    found = quarry_buddy_unit(b, height, plan.scarce);
                    if (plan.scarce)
                        quarry_buddy_searched(units, found);
                    since = 0; /* what the leader had a claim to itself may have been refused to others */
                }
                height = found;
                plan.units = height < QUARRY_BUDDY_NO_ORDER;
            }
            said = plan.units | height << 8;
        }
        said = simt_shuffle_u32(group, said, leader);
        plan.units = said & 255u;
        height = said >> 8;
        if (height == QUARRY_BUDDY_AGAIN)
            continue;
        if (plan.units == 0 && each == 0)
            break;
        if (plan.units == 0) {
            most = plan.order - 1u;
            continue;
        }
        simt_sync(group); /* what the leader acquired holds for all */
        uint32_t rank = simt_rank(needs), first = rank >> each << each, index = 0;
        int served = (needs >> simt_lane() & 1u) && rank < plan.units << each;
        if (served && rank == first)
            index = quarry_buddy_claim(b, r, height, plan.order, order);
        index = simt_shuffle_u32(group, index, served ? quarry_lane_of_rank(needs, first) : simt_lane());
        simt_sync(group); /* what the claim acquired holds for those who get a part of it */
        if (served) {
            uint32_t nodes = QUARRY_BUDDY_WAYS >> order % QUARRY_BUDDY_LEVELS;
            index = (index << each) + (rank - first);
            page = index << order;
            /* A lower word is all TAKEN. */
            if (plan.order / QUARRY_BUDDY_LEVELS > order / QUARRY_BUDDY_LEVELS && index % nodes == 0)
                simt_store_u64(&b->word[quarry_buddy_word(b, order, index)],
                               (((uint64_t)1 << 2u * nodes) - 1u) << 2u * nodes, relaxed);
        }
        simt_sync(group); /* nodes are in the tree before they are signalled or given back */
        if (simt_lane() == leader)
            while (height-- > plan.order)
                quarry_semaphore_add(&b->units[height], QUARRY_BUDDY_BATCH, 1, QUARRY_BUDDY_BATCH);
    }
    return page;
}

#endif
