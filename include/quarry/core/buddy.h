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
 * two full halves.  So find and free walk up from the page to the first node that is no BUSY one.
 *
 *     word[i]     7 ..... 5 | 4 ..... 3 | 2 ..... 1 | 0
 *                 unused      child 1     child 0     locked
 *
 * The children of node i are 2 i and 2 i + 1; the root is node 1, and child 1 of word 0.  Nodes of height 0 have
 * no word.  Nodes that reach past the last page are never AVAILABLE.  Units of semaphore h are AVAILABLE nodes of
 * height h that nobody has a claim to.
 *
 * take(n)   gets a unit of order n, or of the next order that has one, by quarry_semaphore_ask and poll: so a
 *           lane goes up only if nobody below makes what it needs, and waits for others that do.  With a unit of
 *           order m it looks for an AVAILABLE node of height m, down through PARTIAL nodes; at each a hash of the
 *           lane says which side comes first.  There is one, or there will be one soon.  It takes it by one
 *           compare-exchange.  If m is n the node becomes TAKEN, else BUSY, and is divided: at each height halves
 *           that are needed go on down, the others become AVAILABLE and are signalled.
 *           Lanes of a warp that ask for one order do it together.  One of them asks for as many units as they need,
 *           one order higher for half as many, and so on; units are searched for by as many lanes.
 * give(x)   If x's buddy is AVAILABLE, and a unit of that order free, takes both: now it has a block of the
 *           next order, and goes on with that.  Else x becomes AVAILABLE, and is signalled.
 *
 * Who turns a node's children from none that is AVAILABLE or PARTIAL to some, or back, must change the node, too, in
 * its parent's word.  The same compare-exchange that changes the children locks the word.  It is unlocked when the
 * parent's word is changed, which may have to be locked in turn.  So changes of one node reach its parent in their
 * order.  At most two words are locked by a lane, the lower one first.  Nothing else waits for a lock with one held, so
 * there is no circle.
 *
 * Two buddies that are freed at once.  Both states are in one word.  So the second to change it sees that its
 * buddy is AVAILABLE, and does not become AVAILABLE beside it.  If no unit is free it looks again: the buddy's signal
 * is on its way, or who has a claim to the unit.
 *
 * A dividing or a merging lane owns all below the node, and below a node that has no AVAILABLE child nobody
 * changes anything.  So dividing it writes the word without a look.  If a half is left over it writes it locked, and
 * unlocks it when the node has become PARTIAL in the word above: a lane that has seen an old AVAILABLE there, and takes
 * it, would else tell the node above before the node is what it tells.  Merging leaves the node PARTIAL, until
 * it is AVAILABLE or part of the next.
 *
 * Nobody waits with a unit that it has not searched a node for: who merges may wait for just that node.
 *
 * Order.  Every change of a word is acq_rel, or a release by who owns both children.  A node becomes AVAILABLE by a
 * release of its parent's word and is taken by an acquire of that; merging acquires both children, and releases
 * the parent.  So what was done to a page before give happens-before what its next owner does.  Loads on the way
 * down are relaxed: what they saw is tried by a compare-exchange.
 *
 * NULL is exact: then, at some instant during the call, no block of that order or a larger one was AVAILABLE, but
 * for those that others have claims to.  For a refusal needs for each order an instant at which less units
 * were there and expected than reserved.  These instants differ, but no block gets past them:
 *   - down: who divides has announced all units that come of it, at all lower orders, before it got the block;
 *   - up: who merges announces the unit of the next order before it takes that of the lower one, and a unit that
 *     comes to nothing is put back before its announcement is withdrawn.  A lane that goes up reserves a unit at each
 *     order and keeps it reserved until it comes down again.  So a merge below it finds no unit that is
 *     free, or had taken it before the lane went on, which then sees the announcement.
 * For that waiters must promise whole batches, also if batches fail: quarry_semaphore_withdraw.  And the changes
 * of two semaphores must be seen in their order: between them stand fences. */
#ifndef QUARRY_CORE_BUDDY_H
#define QUARRY_CORE_BUDDY_H

#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"

#define QUARRY_BUDDY_BUSY 0u
#define QUARRY_BUDDY_PARTIAL 1u
#define QUARRY_BUDDY_AVAILABLE 2u
#define QUARRY_BUDDY_TAKEN 3u
#define QUARRY_BUDDY_LOCKED 1u
#define QUARRY_BUDDY_BATCH 2u   /* blocks that a block of the next order is divided into */
#define QUARRY_BUDDY_ORDERS 32u /* at most */

struct quarry_buddy {
    uint32_t *word;                 /* 2^height */
    struct quarry_semaphore *units; /* of each order, 0 to top */
    uint32_t pages;                 /* not 0 */
    uint32_t height;                /* of the root */
    uint32_t top;                   /* order of the largest block */
};

/* ---- words ---- */

/* State of child 0 or 1. */
SIMT_FN uint32_t quarry_buddy_child(uint32_t word, uint32_t child)
{
    return word >> (1u + 2u * (child & 1u)) & 3u;
}

/* A word whose child has another state. */
SIMT_FN uint32_t quarry_buddy_with(uint32_t word, uint32_t child, uint32_t state)
{
    uint32_t at = 1u + 2u * (child & 1u);
    return (word & ~(3u << at)) | state << at;
}

/* What a divided node is, by its children: PARTIAL or BUSY. */
SIMT_FN uint32_t quarry_buddy_derive(uint32_t word)
{
    uint32_t a = quarry_buddy_child(word, 0), b = quarry_buddy_child(word, 1);
    int some = a == QUARRY_BUDDY_PARTIAL || a == QUARRY_BUDDY_AVAILABLE || b == QUARRY_BUDDY_PARTIAL ||
               b == QUARRY_BUDDY_AVAILABLE;
    return some ? QUARRY_BUDDY_PARTIAL : QUARRY_BUDDY_BUSY;
}

/* Number of the node of that height with that index, and back. */
SIMT_FN uint32_t quarry_buddy_node(const struct quarry_buddy *b, uint32_t height, uint32_t index)
{
    return (1u << (b->height - height)) + index;
}

SIMT_FN uint32_t quarry_buddy_first_page(const struct quarry_buddy *b, uint32_t node, uint32_t height)
{
    return (node << height) - (1u << b->height);
}

/* Gives node `at`, whose word the caller has locked, the state that follows from its children, and unlocks it.
 * Waits, if the node's parent has to change, too, for lanes that do the same. */
SIMT_FN void quarry_buddy_raise(const struct quarry_buddy *b, uint32_t at, uint32_t state)
{
    for (int locked = 1; locked;) {
        uint32_t lower = at, word, next;
        at = lower >> 1;
        for (;; simt_backoff()) {
            word = simt_load_u32(&b->word[at], relaxed);
            if (word & QUARRY_BUDDY_LOCKED)
                continue;
            next = quarry_buddy_with(word, lower, state);
            locked = at != 0 && quarry_buddy_derive(next) != quarry_buddy_derive(word);
            if (simt_cas_u32(&b->word[at], word, next | (uint32_t)locked, acq_rel) == word)
                break;
        }
        state = quarry_buddy_derive(next);
        (void)simt_sub_u32(&b->word[lower], QUARRY_BUDDY_LOCKED, release);
    }
}

/* Changes the state of a node whose word was `seen`, unlocked.
 * Returns whether; if not, the word has changed.  Waits as quarry_buddy_raise.  Order: acq_rel. */
SIMT_FN int quarry_buddy_change(const struct quarry_buddy *b, uint32_t node, uint32_t seen, uint32_t state)
{
    uint32_t at = node >> 1, next = quarry_buddy_with(seen, node, state), derived = quarry_buddy_derive(next);
    int locks = at != 0 && derived != quarry_buddy_derive(seen);
    if (simt_cas_u32(&b->word[at], seen, next | (uint32_t)locks, acq_rel) != seen)
        return 0;
    if (locks)
        quarry_buddy_raise(b, at, derived);
    return 1;
}

/* ---- making ---- */

/* What a node is in an empty heap: blocks are as large as they can be. */
SIMT_FN uint32_t quarry_buddy_at_first(const struct quarry_buddy *b, uint32_t node)
{
    uint32_t height = b->height - (31u - simt_clz_u32(node));
    uint64_t first = quarry_buddy_first_page(b, node, height), pages = (uint64_t)1 << height;
    uint64_t above = first & ~(2u * pages - 1u); /* where the parent begins */
    if (first >= b->pages)
        return QUARRY_BUDDY_BUSY;
    if (first + pages > b->pages)
        return QUARRY_BUDDY_PARTIAL;
    return height < b->height && above + 2u * pages <= b->pages ? QUARRY_BUDDY_BUSY : QUARRY_BUDDY_AVAILABLE;
}

/* Thread `thread` of `threads` writes its share; nothing else runs. */
SIMT_FN void quarry_buddy_init(const struct quarry_buddy *b, uint64_t thread, uint64_t threads)
{
    uint64_t words = (uint64_t)1 << b->height;
    for (uint64_t i = thread; i < words; i += threads) {
        uint32_t word = quarry_buddy_with(0, 1, quarry_buddy_at_first(b, 2u * (uint32_t)i + 1u));
        b->word[i] = i == 0 ? word : quarry_buddy_with(word, 0, quarry_buddy_at_first(b, 2u * (uint32_t)i));
    }
    for (uint64_t order = thread; order <= b->top; order += threads)
        quarry_semaphore_init(&b->units[order], b->pages >> order & 1u);
}

/* ---- taking ---- */

#define QUARRY_BUDDY_NO_NODE 0u

/* Finds an AVAILABLE node of that height and makes it `state`.  The caller has a unit of that order, so there is
 * one; others take theirs meanwhile, so it may be another one from one look to the next.  At each node on the way
 * down a hash of the lane says which side comes first.
 * Returns the node.  Order: acquire. */
SIMT_FN uint32_t quarry_buddy_claim(const struct quarry_buddy *b, struct quarry_random *r, uint32_t height,
                                    uint32_t state)
{
    uint32_t nodes = 1u << (b->height - height), sides = quarry_random_next(r) & (nodes - 1u);
    uint32_t at = 0, h = b->height; /* `at` counts the nodes in the order in which they are looked at */
    for (;;) {
        uint32_t node = (nodes | (at ^ sides)) >> (h - height);
        uint32_t word = simt_load_u32(&b->word[node >> 1], relaxed), is = quarry_buddy_child(word, node);
        if (h > height && is == QUARRY_BUDDY_PARTIAL) {
            h--;
            continue;
        }
        if (h == height && is == QUARRY_BUDDY_AVAILABLE) {
            if (!(word & QUARRY_BUDDY_LOCKED) && quarry_buddy_change(b, node, word, state))
                return node;
            simt_backoff();
            continue; /* looks again */
        }
        at = ((at >> (h - height)) + 1u) << (h - height); /* past all that is below */
        if (at < nodes) {
            h = height + simt_ctz_u32(at); /* what is above has been seen */
        } else {
            at = 0;
            h = b->height;
            simt_backoff();
        }
    }
}

/* Lanes that take blocks of one order together. */
struct quarry_buddy_party {
    uint32_t group, leader;
    uint32_t order;  /* of the blocks that they want */
    uint32_t height; /* where the leader asks now */
    uint32_t node;   /* the lane's own, or QUARRY_BUDDY_NO_NODE */
    uint32_t at;     /* its height */
    /* The leader's accounts, for each order */
    uint8_t owed[QUARRY_BUDDY_ORDERS];     /* units that it is owed */
    uint8_t promised[QUARRY_BUDDY_ORDERS]; /* that it has promised to make of blocks of the next order */
};

#define QUARRY_BUDDY_NO_MORE 63u /* instead of units, of which a warp gets 32 at most */

/* The leader's next step at p->height: asks one order higher for what it has promised here, or gives that up at the
 * highest, or waits for what it is owed here.
 * Returns how many units of order p->height it got, or QUARRY_BUDDY_NO_MORE: it is owed none. */
SIMT_FN uint32_t quarry_buddy_step(const struct quarry_buddy *b, struct quarry_buddy_party *p)
{
    uint32_t h = p->height, owed = p->owed[h], promised = p->promised[h], units = 0;
    if (promised && h < b->top) {
        simt_fence(acq_rel); /* what this order's semaphore said comes before what the next one says */
        p->height = ++h;
        owed = promised / QUARRY_BUDDY_BATCH;
        units = quarry_semaphore_ask(&b->units[h], owed);
        owed -= units;
        promised = 0;
    } else if (promised) {
        quarry_semaphore_withdraw(&b->units[h], &owed, promised, &promised);
    } else if (owed) {
        /* Never waits with a unit in hand: who merges may wait for the node that it stands for. */
        while ((promised = quarry_semaphore_poll(&b->units[h], &owed, QUARRY_BUDDY_BATCH)) == 0 &&
               owed == p->owed[h])
            simt_backoff();
        units = p->owed[h] - owed;
    } else {
        return QUARRY_BUDDY_NO_MORE;
    }
    p->owed[h] = (uint8_t)owed;
    p->promised[h] = (uint8_t)promised;
    return units;
}

/* Divides the nodes of height p->height that lanes have, and goes down to the next order.  Their halves go to lanes
 * that have none; one is left over if an odd number is owed.  What could not be made the leader gives up. */
SIMT_FN void quarry_buddy_divide(const struct quarry_buddy *b, struct quarry_buddy_party *p)
{
    uint32_t h = p->height - 1u;
    int has = p->node != QUARRY_BUDDY_NO_NODE && p->at == p->height;
    uint32_t holders = simt_ballot(p->group, has),
             empty = simt_ballot(p->group, p->node == QUARRY_BUDDY_NO_NODE);
    uint32_t made = QUARRY_BUDDY_BATCH * simt_popc_u32(holders);
    uint32_t kept = simt_lane() == p->leader && p->owed[h] < made ? p->owed[h] : made;
    kept = simt_shuffle_u32(p->group, kept, p->leader);
    uint32_t mine = h > p->order ? QUARRY_BUDDY_BUSY : QUARRY_BUDDY_TAKEN;
    int gives = has && 2u * simt_rank(holders) + 1u < kept;
    uint32_t givers = simt_ballot(p->group, gives);
    if (has) {
        uint32_t halves = quarry_buddy_with(0, 0, mine);
        halves = quarry_buddy_with(halves, 1, gives ? mine : QUARRY_BUDDY_AVAILABLE);
        /* Locked, if one is left over. */
        simt_store_u32(&b->word[p->node], halves | (uint32_t)!gives, release);
        if (!gives)
            quarry_buddy_raise(b, p->node, QUARRY_BUDDY_PARTIAL);
        p->node *= 2u;
        p->at = h;
    }
    uint32_t half = quarry_share_u32(p->group, givers, empty, p->node + 1u);
    if (quarry_share_takes(givers, empty)) {
        p->node = half;
        p->at = h;
    }
    /* Halves are in the tree before they are signalled, and what givers acquired holds for all. */
    simt_sync(p->group);
    p->height = h;
    if (simt_lane() != p->leader)
        return;
    uint32_t owed = p->owed[h], promised = p->promised[h];
    if (made)
        quarry_semaphore_produced(&b->units[h], &owed, made, &promised);
    if (promised) {
        simt_fence(acq_rel); /* what the higher order's semaphore said comes before what this one does */
        quarry_semaphore_withdraw(&b->units[h], &owed, promised, &promised);
    }
    p->owed[h] = (uint8_t)owed;
    p->promised[h] = (uint8_t)promised;
}

/* Takes a block of 2^order pages for each lane of the group.
 *   order   0 to b->top, the same for all
 * Returns the first page of the lane's block, a multiple of 2^order, or QUARRY_NO_PAGE.
 * Progress: waits for lanes that divide, merge or signal; none of them waits for memory but at a higher order, and at
 * the highest nobody does.  Order: acquire. */
SIMT_FN uint32_t quarry_buddy_take(const struct quarry_buddy *b, struct quarry_random *r, uint32_t group,
                                   uint32_t order)
{
    struct quarry_buddy_party p;
    uint32_t units = 0;
    p.group = group;
    p.leader = simt_ctz_u32(group);
    p.order = p.height = order;
    p.node = QUARRY_BUDDY_NO_NODE;
    p.at = order;
    if (simt_lane() == p.leader) {
        uint32_t wanted = simt_popc_u32(group);
        units = quarry_semaphore_ask(&b->units[order], wanted);
        p.owed[order] = (uint8_t)(wanted - units);
        p.promised[order] = 0;
    }
    for (;;) {
        uint32_t said = simt_shuffle_u32(group, units | p.height << 6, p.leader);
        units = said & 63u;
        p.height = said >> 6;
        if (units == QUARRY_BUDDY_NO_MORE) {
            if (p.height == order)
                break;
            quarry_buddy_divide(b, &p);
        } else if (units) {
            simt_sync(group); /* what the leader acquired holds for all */
            uint32_t empty = simt_ballot(group, p.node == QUARRY_BUDDY_NO_NODE);
            if (p.node == QUARRY_BUDDY_NO_NODE && simt_rank(empty) < units) {
                uint32_t state = p.height > order ? QUARRY_BUDDY_BUSY : QUARRY_BUDDY_TAKEN;
                p.node = quarry_buddy_claim(b, r, p.height, state);
                p.at = p.height;
            }
        }
        if (simt_lane() == p.leader)
            units = quarry_buddy_step(b, &p);
    }
    return p.node == QUARRY_BUDDY_NO_NODE ? QUARRY_NO_PAGE : quarry_buddy_first_page(b, p.node, order);
}

/* ---- looking and giving ---- */

/* Finds the block, available or taken, that has this page.
 *   order   out
 * Returns the node; *word is its word, in which the node's state is.  0: the page is in none, which may be so while
 * others divide and merge. */
SIMT_FN uint32_t quarry_buddy_find(const struct quarry_buddy *b, uint32_t page, uint32_t *order,
                                   uint32_t *word)
{
    uint32_t node = quarry_buddy_node(b, 0, page);
    for (*order = 0; node; node /= 2u, ++*order) {
        *word = simt_load_u32(&b->word[node >> 1], relaxed);
        uint32_t state = quarry_buddy_child(*word, node);
        if (state == QUARRY_BUDDY_AVAILABLE || state == QUARRY_BUDDY_TAKEN)
            return node;
        if (state == QUARRY_BUDDY_PARTIAL)
            return 0;
    }
    return 0;
}

/* Is something wrong with word i of a tree that nobody uses? */
SIMT_FN int quarry_buddy_is_wrong(const struct quarry_buddy *b, uint32_t i, uint32_t word)
{
    uint32_t empty = 0; /* both children BUSY */
    int wrong = (word & QUARRY_BUDDY_LOCKED) != 0;
    wrong |= quarry_buddy_child(word, 0) == QUARRY_BUDDY_AVAILABLE &&
             quarry_buddy_child(word, 1) == QUARRY_BUDDY_AVAILABLE;
    if (i != 0) {
        uint32_t state = quarry_buddy_child(simt_load_u32(&b->word[i >> 1], relaxed), i);
        if (state == QUARRY_BUDDY_AVAILABLE || state == QUARRY_BUDDY_TAKEN)
            wrong |= word != empty;
        else
            wrong |= state != quarry_buddy_derive(word);
    }
    return wrong;
}

/* Gives back the block that has this page.
 * Returns whether there was one.
 * Progress: waits for lanes that change the words above, and for who has a claim to a buddy.  Order: release. */
SIMT_FN int quarry_buddy_give(const struct quarry_buddy *b, uint32_t page)
{
    uint32_t order, word, node = quarry_buddy_find(b, page, &order, &word);
    uint32_t mine = QUARRY_BUDDY_TAKEN, announced = 0; /* units of this order that the caller has announced */
    if (node == 0)
        return 0;
    for (;; word = simt_load_u32(&b->word[node >> 1], relaxed)) {
        if (quarry_buddy_child(word, node) != mine)
            return 0; /* a free that came twice */
        if (!(word & QUARRY_BUDDY_LOCKED) && quarry_buddy_child(word, node ^ 1u) != QUARRY_BUDDY_AVAILABLE) {
            if (!quarry_buddy_change(b, node, word, QUARRY_BUDDY_AVAILABLE))
                continue;
            quarry_semaphore_add(&b->units[order], 1, 0, announced);
            return 1;
        }
        uint64_t balance = simt_load_u64(&b->units[order].balance, relaxed);
        if (!(word & QUARRY_BUDDY_LOCKED) && quarry_semaphore_free(balance) > 0) {
            quarry_semaphore_announce(&b->units[order + 1u], 1);
            simt_fence(acq_rel); /* pairs with that of quarry_buddy_take, on its way up */
            if (quarry_semaphore_try(&b->units[order], 1)) {
                /* Both BUSY, and nobody waits for it. */
                if (simt_cas_u32(&b->word[node >> 1], word, 0, acq_rel) == word) {
                    if (announced)
                        quarry_semaphore_retract(&b->units[order], 1);
                    announced = 1;
                    mine = QUARRY_BUDDY_PARTIAL; /* so it was, and all above knows it as that */
                    node /= 2u;
                    order++;
                    continue;
                }
                quarry_semaphore_signal(&b->units[order], 1);
                simt_fence(acq_rel); /* pairs with that of quarry_buddy_take, on its way down */
            }
            quarry_semaphore_retract(&b->units[order + 1u], 1);
        }
        simt_backoff();
    }
}

#endif
