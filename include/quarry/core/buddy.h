/* SPDX-License-Identifier: Apache-2.0 */
/* A buddy system of pages: a static binary tree, and a bulk semaphore for each order.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.1.  A node
 * of height h stands for a block of 2^h pages, a block of order h.  A node is
 *
 *     BUSY        no page of it is to be had here, and it is no block: part of a larger one, or full
 *     PARTIAL     it is divided, and some block below it is available
 *     AVAILABLE   a free block
 *     TAKEN       a block that somebody has
 *
 * Where a node is AVAILABLE or TAKEN all below it are BUSY, and no two children of a node are ever AVAILABLE.
 * The paper has no TAKEN.  But a free does not know the order of its block, and a BUSY node may be a block or
 * two full halves.  So find and give walk up from the page to the first node that is no BUSY one.
 *
 * Four heights are one word: core/buddy_tree.h.  Nodes that reach past the last page are never AVAILABLE or TAKEN.
 * Units of semaphore h are AVAILABLE nodes of height h that nobody has a claim to.
 *
 * take(n)   Lanes of a warp that ask for one order do it together.  They look at all semaphores at once, and choose
 *           the largest blocks that several of them can share and that are there, but for those that are rare among
 *           smaller ones: a PARTIAL node does not tell of which order the block below it is.  A leader gets units that
 *           are free.  Where none are, one has to be made: it gets a unit of that order or of the next that has one, by
 *           quarry_semaphore_ask and poll: so it goes up only if nobody below makes what it needs, and
 *           waits for others that do.  If less is there and expected than reserved, it joins a search.
 *           A lane with a unit of order m looks for an AVAILABLE node of height m, down
 *           through PARTIAL nodes; in each word a hash of the lane says in which order it looks at them.  There is
 *           one, or there will be one soon.  One compare-exchange takes it, and divides it: then it is PARTIAL and one
 *           half of it AVAILABLE, and so on down to the block that is kept.
 * search    A heap that is full is asked by many at once, and a refusal needs a way up and down through all orders.  So
 *           of those who find no supply one at a time goes it, and the others wait with nothing in hand.  A
 *           search that began after they came, and was refused, is theirs, too.
 *           Others may have asked when there was something, and wait for what is promised to them, or promise more.  In
 *           a heap that has become full all of this fails, but one after the other.  So who is refused at the highest
 *           order sets a hint: until a block is divided again who waits gives up what it has asked for, but for the one
 *           who searches, and looks again; and what is expected is no supply.
 * give(x)   Blocks that lanes of a group give back at once are taken out of the tree word by word: one lane does it for
 *           all whose blocks are in its word.  Buddies that are both given become one block at once.  If the
 *           buddy is AVAILABLE, and a unit of that order free, the lane takes both and has a block of the next order;
 *           lanes whose blocks are of one order get these units together.
 *           What is left becomes AVAILABLE by one compare-exchange, and is signalled: for all lanes by one of them.
 *
 * Who turns a word from one with an AVAILABLE or PARTIAL child of its node 1 to one without, or back, must change that
 * node, too, in the word above.  The compare-exchange that does it locks the word.  It is unlocked when the word
 * above is changed, which may have to be locked in turn.  So changes of one node reach the word above in their order.
 * Meanwhile others may change the word, if node 1 stays what it is then.  At most two words are locked by a
 * lane, the lower one first.  Nothing else waits for a lock with one held, so there is no circle.
 *
 * Dividing needs no lock: the node was AVAILABLE and is PARTIAL, which is the same for all above.  Words below it
 * are written after that, and nobody changes them before: nothing in them is AVAILABLE.
 *
 * Two buddies that are freed at once.  Both states are in one word.  So the second to change it sees that its
 * buddy is AVAILABLE, and does not become AVAILABLE beside it.  If no unit is free it looks again: the buddy's signal
 * is on its way, or who has a claim to the unit.
 *
 * A merging lane owns all below the node, and below a node that has no AVAILABLE child nobody changes anything.  A
 * node that a lane owns may stand there as BUSY or PARTIAL: what is above it agrees with that.  A word of which a
 * lane has got both children is left all BUSY, and unlocked: so nobody changes node 1 but the lane.
 *
 * Nobody waits with a unit that it has not searched a node for: who merges may wait for just that node.  Nobody
 * waits for others with a node AVAILABLE and not signalled: lanes of a group that give blocks look, signal what
 * has become AVAILABLE, and only then wait.  Waiting for a lock is no such wait: who has one waits for locks only.
 *
 * Order.  A node becomes AVAILABLE by a release of its word, and is taken by an acquire of that.  Who merges acquires
 * the word, and releases that in which the block becomes AVAILABLE.  Locks acquire, and are given up by a release.  A
 * lane that changes a word for others of its group, or goes on with what another one has merged, stands between two
 * syncs of the group.  So what was done to a page before give happens-before what its next owner does.  The same
 * holds for the words below a block.  Loads on the way down are relaxed: what they saw is tried by a
 * compare-exchange.
 *
 * NULL is exact: then, at some instant during the call, no block of that order or a larger one was AVAILABLE, but
 * for those that others have claims to.  For a refusal needs for each order an instant at which less units
 * were there and expected than reserved.  These instants differ, but no block gets past them:
 *   - down: who divides has announced all units that come of it, at all lower orders, before it got the block; but
 *     for a block that it wants as it is, of which nothing comes;
 *   - up: who merges announces the unit of the next order before it takes that of the lower one, and a unit that
 *     comes to nothing is put back before its announcement is withdrawn.  A lane that goes up reserves a unit at each
 *     order and keeps it reserved until it comes down again.  So a merge below it finds no unit that is
 *     free, or had taken it before the lane went on, which then sees the announcement.
 *   - past it: the lane may be covered at an order while it is further up.  Then what is there beside can be merged,
 *     and who asks later gets what is left, so that the lane finds nothing on its way down.  So it is refused only if
 *     to none of these semaphores anything has come since it promised there.  Else it asks again.
 * For that waiters must promise whole batches, also if batches fail: quarry_semaphore_withdraw.  And the changes
 * of two semaphores must be seen in their order: between them stand fences.  What a look saw decides only which way
 * a lane goes, never that it is refused.
 *
 * A refusal of a search holds for who waits for it: core/semaphore.h.  Who waits holds no unit and no lock.  A refusal
 * is about a single block.  That a larger block is refused, which several lanes would have shared, ends nothing: they
 * ask for smaller ones. */
#ifndef QUARRY_CORE_BUDDY_H
#define QUARRY_CORE_BUDDY_H

#include "quarry/core/buddy_take.h"
#include "quarry/core/buddy_tree.h"
#include "quarry/core/pages.h"

/* ---- giving ---- */

/* Sets of nodes of a word: bit l for node l. */
#define QUARRY_BUDDY_FIRST 0x55555554u /* of each two siblings */
#define QUARRY_BUDDY_ABOVE 2u          /* node 1 */

/* The fields of the states of such nodes, all bits. */
SIMT_FN uint64_t quarry_buddy_fields(uint32_t nodes)
{
    uint64_t x = nodes;
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    x = (x | x << 2) & 0x3333333333333333u;
    x = (x | x << 1) & 0x5555555555555555u;
    return x | x << 1;
}

/* The nodes above those of a set of first siblings. */
SIMT_FN uint32_t quarry_buddy_parents(uint32_t first)
{
    first = (first | first >> 1) & 0x33333333u;
    first = (first | first >> 2) & 0x0f0f0f0fu;
    first = (first | first >> 4) & 0x00ff00ffu;
    return (first | first >> 8) & 0x0000ffffu;
}

/* The nodes below one. */
SIMT_FN uint32_t quarry_buddy_below(uint32_t node)
{
    uint32_t below = 0;
    SIMT_ROLLED
    for (uint32_t nodes = 2; node < QUARRY_BUDDY_WAYS; nodes *= 2u) {
        node *= 2u;
        below |= ((1u << nodes) - 1u) << node;
    }
    return below;
}

/* What a lane gives back of one word, for all lanes of its group whose blocks are there. */
struct quarry_buddy_given {
    uint32_t w, group;
    uint32_t taken;     /* blocks that are TAKEN */
    uint32_t owned;     /* blocks that came of merging */
    uint32_t announced; /* of these: they are expected as units */
    uint32_t units;     /* AVAILABLE, and not signalled: eight bits for each height of the word */
    uint32_t expected;  /* of these, that were announced */
};

/* The units of the order of a node. */
SIMT_FN struct quarry_semaphore *quarry_buddy_units(const struct quarry_buddy *b,
                                                    const struct quarry_buddy_given *g, uint32_t node)
{
    return &b->units[quarry_buddy_height(g->group, node)];
}

/* Blocks that the lane has, each as large as it can be. */
SIMT_FN uint32_t quarry_buddy_fold(const struct quarry_buddy *b, struct quarry_buddy_given *g)
{
    uint32_t blocks = g->taken | g->owned, both, lost;
    while ((both = blocks & blocks >> 1 & QUARRY_BUDDY_FIRST) != 0)
        blocks = (blocks & ~(both | both << 1)) | quarry_buddy_parents(both);
    /* A unit that is announced comes as a part of a larger one: that is announced first. */
    for (lost = g->announced & ~blocks; lost; lost &= lost - 1u) {
        uint32_t node = simt_ctz_u32(lost), up = node;
        while (up > 1 && !(blocks >> up & 1u))
            up /= 2u;
        if (blocks & ~g->announced & 1u << up)
            quarry_semaphore_announce(quarry_buddy_units(b, g, up), 1);
        simt_fence(acq_rel); /* pairs with that of quarry_buddy_unit, on its way up */
        quarry_semaphore_retract(quarry_buddy_units(b, g, node), 1);
        g->announced = (g->announced & ~(1u << node)) | (blocks & 1u << up);
    }
    return blocks;
}

/* The lane has all of the word, which is all BUSY: it goes on with the word above. */
SIMT_FN void quarry_buddy_climb(struct quarry_buddy_given *g)
{
    uint32_t node = quarry_buddy_above_node(g->w);
    g->w = quarry_buddy_above(g->w);
    g->group++;
    g->taken = 0;
    g->owned = 1u << node;
    g->announced = g->announced & QUARRY_BUDDY_ABOVE ? 1u << node : 0;
}

/* Takes `node`, which was AVAILABLE, and whose buddy the lane has; the caller has a unit of its order.
 * Returns whether: then the lane has the node above. */
SIMT_FN int quarry_buddy_join(const struct quarry_buddy *b, struct quarry_buddy_given *g, uint32_t node)
{
    uint32_t below = quarry_buddy_below(node / 2u);
    uint64_t taken = quarry_buddy_fields(g->taken); /* still, but for frees that came twice */
    for (;;) {
        uint64_t word = simt_load_u64(&b->word[g->w], relaxed);
        if (quarry_buddy_state(word, node) != QUARRY_BUDDY_AVAILABLE || (taken & ~word))
            return 0;
        if (node < 4 && (word & QUARRY_BUDDY_LOCKED)) {
            simt_backoff(); /* who has locked it changes node 1 */
            continue;
        }
        if (simt_cas_u64(&b->word[g->w], word, word & ~quarry_buddy_fields(below), acquire) == word)
            break;
    }
    g->taken &= ~below;
    g->owned = (g->owned & ~below) | 1u << node / 2u;
    g->announced = (g->announced & ~below) | 1u << node / 2u;
    if (node < 4)
        quarry_buddy_climb(g);
    return 1;
}

/* quarry_buddy_join for all lanes of the group, as far as units are free: those of one order get theirs together.
 * Returns whether the lane's node was taken. */
SIMT_FN int quarry_buddy_merge(const struct quarry_buddy *b, uint32_t group, struct quarry_buddy_given *g,
                               uint32_t node)
{
    uint32_t order = quarry_buddy_height(g->group, node), asked = 0, got = 0;
    uint32_t same = group & (group - 1u) ? simt_match_u32(group, order) : group;
    int expected = (int)(g->announced >> (node ^ 1u) & 1u), merged = 0;
    struct quarry_semaphore *units = &b->units[order];
    if (simt_rank(same) == 0)
        asked = quarry_semaphore_part(quarry_semaphore_free(simt_load_u64(&units->balance, relaxed)),
                                      simt_popc_u32(same));
    if (asked) {
        quarry_semaphore_announce(units + 1, asked);
        simt_fence(acq_rel); /* pairs with that of quarry_buddy_unit, on its way up */
        for (got = asked; got && !quarry_semaphore_try(units, got);)
            got /= 2u;
    }
    uint32_t served = simt_shuffle_u32(same, got, simt_ctz_u32(same));
    if (simt_rank(same) < served)
        merged = quarry_buddy_join(b, g, node);
    uint32_t joined = simt_popc_u32(simt_ballot(same, merged));
    uint32_t retracted = simt_popc_u32(simt_ballot(same, merged & expected));
    if (asked == 0)
        return merged;
    if (retracted)
        quarry_semaphore_retract(units, retracted);
    if (got > joined) {
        quarry_semaphore_signal(units, got - joined);
        simt_fence(acq_rel); /* pairs with that of quarry_buddy_unit, on its way down */
    }
    if (asked > joined)
        quarry_semaphore_retract(units + 1, asked - joined);
    return merged;
}

/* Makes blocks AVAILABLE.
 *   word    what the word was when they could become so
 *   ready   the blocks
 * Returns whether.  Waits for locks only. */
SIMT_FN int quarry_buddy_free_up(const struct quarry_buddy *b, struct quarry_buddy_given *g, uint64_t word,
                                 uint32_t ready)
{
    uint64_t next = word;
    for (uint32_t rest = ready; rest; rest &= rest - 1u) {
        uint32_t node = simt_ctz_u32(rest);
        next &= ~quarry_buddy_fields(quarry_buddy_below(node));
        next = quarry_buddy_follow(quarry_buddy_put(next, node, QUARRY_BUDDY_AVAILABLE), node);
    }
    if (!quarry_buddy_change(b, g->w, word, next))
        return 0;
    for (uint32_t rest = ready; rest; rest &= rest - 1u) {
        uint32_t node = simt_ctz_u32(rest), unit = 1u << 8u * quarry_buddy_height(0, node);
        g->units += unit;
        g->expected += g->announced >> node & 1u ? unit : 0;
        ready |= quarry_buddy_below(node);
    }
    g->taken &= ~ready;
    g->owned &= ~ready;
    g->announced &= ~ready;
    return 1;
}

/* One step: takes a buddy that is AVAILABLE, or, if it gets none, makes those blocks AVAILABLE whose buddies are not.
 * A block does not wait for another one of the group: who has a claim to its buddy may wait for that.
 *   *g   the lane's blocks, if it has some; none are left in the end
 * Returns 0 if the lane has blocks and nothing could be done.  Waits for locks only. */
SIMT_FN int quarry_buddy_give_step(const struct quarry_buddy *b, uint32_t group, struct quarry_buddy_given *g)
{
    uint64_t word = 0;
    uint32_t blocks = 0, ready, free = 0; /* free: buddies of blocks, AVAILABLE */
    int done = 0;
    if (g->taken | g->owned) {
        word = simt_load_u64(&b->word[g->w], relaxed);
        QUARRY_ASSERT_LIVE((quarry_buddy_fields(g->taken) & ~word) == 0);
        if (quarry_buddy_fields(g->taken) & ~word) /* frees that came twice */
            for (uint32_t rest = g->taken; rest; rest &= rest - 1u)
                if (quarry_buddy_state(word, simt_ctz_u32(rest)) != QUARRY_BUDDY_TAKEN)
                    g->taken &= ~(rest & (0u - rest));
        blocks = quarry_buddy_fold(b, g);
    }
    ready = blocks;
    if (blocks == QUARRY_BUDDY_ABOVE) {
        ready = 0;
        /* Order: merges.  What was done to both halves is before what the lane releases above. */
        done = !(word & QUARRY_BUDDY_LOCKED) && simt_cas_u64(&b->word[g->w], word, 0, acquire) == word;
        if (done)
            quarry_buddy_climb(g);
    } else {
        uint32_t rest = (blocks & QUARRY_BUDDY_FIRST) << 1 | (blocks >> 1 & QUARRY_BUDDY_FIRST);
        for (; rest; rest &= rest - 1u)
            if (quarry_buddy_state(word, simt_ctz_u32(rest)) == QUARRY_BUDDY_AVAILABLE)
                free |= rest & (0u - rest);
        ready &= ~((free & QUARRY_BUDDY_FIRST) << 1 | (free >> 1 & QUARRY_BUDDY_FIRST));
    }
    for (uint32_t some; (some = simt_ballot(group, free != 0)) != 0; free &= free - 1u)
        if (free && quarry_buddy_merge(b, some, g, simt_ctz_u32(free))) {
            done = 1; /* nobody waits for the node */
            free = 0;
        }
    if (!done && ready)
        return quarry_buddy_free_up(b, g, word, ready);
    return done || blocks == 0;
}

/* Signals what lanes of the group have made AVAILABLE. */
SIMT_FN void quarry_buddy_signal(const struct quarry_buddy *b, uint32_t group,
                                 const struct quarry_buddy_given *g)
{
    simt_sync(group); /* the lane that signals them, and the one that goes on with them, know all nodes */
    for (uint32_t rest = simt_ballot(group, g->units != 0); rest;) {
        uint32_t words = simt_shuffle_u32(group, g->group, simt_ctz_u32(rest));
        uint32_t order = words * QUARRY_BUDDY_LEVELS, mine = g->units && g->group == words;
        uint32_t units = simt_reduce_add_u32(group, mine ? g->units : 0);
        uint32_t expected = simt_reduce_add_u32(group, mine ? g->expected : 0);
        rest &= ~simt_ballot(group, mine);
        if (simt_rank(group) == 0)
            for (; units; units >>= 8, expected >>= 8, order++)
                if (units & 255u)
                    quarry_semaphore_add(&b->units[order], units & 255u, 0, expected & 255u);
    }
}

/* Gives back the block that has this page, for each lane of the group.
 *   page   or QUARRY_NO_PAGE
 * Returns whether there was one.
 * Progress: waits for lanes that change words above, and for who has a claim to a buddy.  Order: release. */
SIMT_FN int quarry_buddy_give_together(const struct quarry_buddy *b, uint32_t group, uint32_t page)
{
    struct quarry_buddy_given g = {0, 0, 0, 0, 0, 0, 0};
    uint32_t order = 0, index;
    int has = page != QUARRY_NO_PAGE && quarry_buddy_find(b, page, &order) == QUARRY_BUDDY_TAKEN;
    index = has ? page >> order : 0;
    /* A block that two lanes give is one's. */
    has = (simt_rank(simt_match_u64(group, (uint64_t)has << 63 | (uint64_t)index << 8 | order)) == 0) & has;
    if (has) {
        g.w = quarry_buddy_word(b, order, index);
        g.group = order / QUARRY_BUDDY_LEVELS;
        g.taken = 1u << quarry_buddy_node(order, index);
    }
    simt_sync(group); /* what lanes did to their blocks, before one gives them back */
    while (simt_any(group, (g.taken | g.owned) != 0)) {
        uint32_t same = simt_match_u32(group, g.taken | g.owned ? g.w : ~0u); /* one for all of a word */
        g.taken = simt_reduce_or_u32(same, g.taken);
        g.owned = simt_reduce_or_u32(same, g.owned);
        g.announced = simt_reduce_or_u32(same, g.announced);
        g.units = g.expected = 0;
        if (simt_rank(same) != 0)
            g.taken = g.owned = g.announced = 0;
        int moved = quarry_buddy_give_step(b, group, &g);
        quarry_buddy_signal(b, group, &g);
        if (!moved)
            simt_backoff();
    }
    simt_sync(group); /* all is signalled before a lane asks again */
    return has;
}

/* The same for one lane. */
SIMT_FN int quarry_buddy_give(const struct quarry_buddy *b, uint32_t page)
{
    return quarry_buddy_give_together(b, 1u << simt_lane(), page);
}

/* Gives back of a block that the caller has all but a part, which is a block then.
 *   height   the block's order
 *   kept     the part's, at most that; index: the part begins at page index << kept
 * Progress: waits for lanes that change words above.  Order: release. */
SIMT_FN void quarry_buddy_shrink(const struct quarry_buddy *b, uint32_t height, uint32_t kept, uint32_t index)
{
    uint32_t w = quarry_buddy_word(b, height, index >> (height - kept));
    for (;; simt_backoff()) {
        uint64_t word = simt_load_u64(&b->word[w], relaxed);
        uint32_t group = height / QUARRY_BUDDY_LEVELS;
        if (quarry_buddy_change(b, w, word, quarry_buddy_carve(word, group, height, kept, index, kept)))
            break;
    }
    quarry_buddy_carve_below(b, height, kept, index, kept);
    while (height-- > kept)
        quarry_semaphore_signal(&b->units[height], 1);
}

/* Halves the block that the caller has as long as one half has pages `first` to `last`, and gives back the others.
 * Progress: as quarry_buddy_shrink. */
SIMT_FN void quarry_buddy_keep(const struct quarry_buddy *b, uint32_t first, uint32_t last)
{
    uint32_t apart = first ^ last, kept = apart ? 32u - simt_clz_u32(apart) : 0, order;
    if (quarry_buddy_find(b, first, &order) == QUARRY_BUDDY_TAKEN && kept < order)
        quarry_buddy_shrink(b, order, kept, first >> kept);
}

/* ---- looking ---- */

/* Blocks of that order while others take and give: units that are there or expected, from that order on.  A merge
 * announces its unit before it takes those below, so nothing is missed.  What is counted twice meanwhile is cut off.
 * Returns the caller's share.  Scope: group. */
SIMT_FN uint64_t quarry_buddy_slots(const struct quarry_buddy *b, uint32_t order, uint32_t group)
{
    uint64_t slots = 0;
    for (uint32_t k = order; simt_rank(group) == 0 && k <= b->top; k++) {
        slots += quarry_semaphore_coming(&b->units[k]) << (k - order);
        simt_fence(acq_rel); /* pairs with that of quarry_buddy_merge */
    }
    return slots < b->pages >> order ? slots : b->pages >> order;
}

#endif
