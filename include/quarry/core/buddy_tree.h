/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of core/buddy.h: its words, how they are changed, what they are at first.
 *
 * Four heights are one word: the two children of a node, their four, eight and sixteen.
 *
 *     word        63 ............. 32 | 31 ... 16 | 15 ... 8 | 7 6 | 5 4 | 3 ..... 1 | 0
 *                 nodes 31 ....... 16 | 15 .... 8 | 7 .... 4 |  3  |  2  |  unused   | locked
 *
 * The children of node l of a word are 2 l and 2 l + 1; node 1 is the one above the word, and is in the word above.
 * So siblings are always in one word.  Below each of nodes 16 to 31 there is another word, so words are a tree, too:
 * those below word w are 16 w + 1 to 16 w + 16, and word 0 is the uppermost.  The heights of a word are 4 g to
 * 4 g + 3, and g is the word's group. */
#ifndef QUARRY_CORE_BUDDY_TREE_H
#define QUARRY_CORE_BUDDY_TREE_H

#include "quarry/core/semaphore.h"

#define QUARRY_BUDDY_BUSY 0u
#define QUARRY_BUDDY_PARTIAL 1u
#define QUARRY_BUDDY_AVAILABLE 2u
#define QUARRY_BUDDY_TAKEN 3u
#define QUARRY_BUDDY_LOCKED 1u
#define QUARRY_BUDDY_LEVELS 4u  /* heights of a word */
#define QUARRY_BUDDY_WAYS 16u   /* words below a word */
#define QUARRY_BUDDY_BATCH 2u   /* blocks that a block of the next order is divided into */
#define QUARRY_BUDDY_ORDERS 32u /* at most */
#define QUARRY_BUDDY_NO_ORDER QUARRY_BUDDY_ORDERS
#define QUARRY_BUDDY_RARE 8u /* blocks are rare with more smaller ones than that for each */
/* Supply that a lane has seen, at most and at least: 32 of it fit 32 bits. */
#define QUARRY_BUDDY_MUCH ((int64_t)1 << 25)

#define QUARRY_BUDDY_NODES 0x5555555555555550u /* the lower bits of the states of all nodes */

struct quarry_buddy {
    uint64_t *word; /* of the tree */
    uint32_t words;
    struct quarry_semaphore *units; /* of each order, 0 to top */
    uint32_t pages;                 /* not 0 */
    uint32_t group;                 /* of word 0 */
    uint32_t top;                   /* order of the largest block */
};

/* ---- words ---- */

/* Number of the first word of that group. */
SIMT_FN uint32_t quarry_buddy_base(const struct quarry_buddy *b, uint32_t group)
{
    return 0x11111111u & ((1u << QUARRY_BUDDY_LEVELS * (b->group - group)) - 1u);
}

/* The word of the node of that height with that index, and its number there. */
SIMT_FN uint32_t quarry_buddy_word(const struct quarry_buddy *b, uint32_t height, uint32_t index)
{
    return quarry_buddy_base(b, height / QUARRY_BUDDY_LEVELS) +
           (index >> (QUARRY_BUDDY_LEVELS - height % QUARRY_BUDDY_LEVELS));
}

SIMT_FN uint32_t quarry_buddy_node(uint32_t height, uint32_t index)
{
    uint32_t nodes = QUARRY_BUDDY_WAYS >> height % QUARRY_BUDDY_LEVELS;
    return nodes | (index & (nodes - 1u));
}

/* The word above, and the number there of what is node 1 here. */
SIMT_FN uint32_t quarry_buddy_above(uint32_t w)
{
    return (w - 1u) / QUARRY_BUDDY_WAYS;
}

SIMT_FN uint32_t quarry_buddy_above_node(uint32_t w)
{
    return QUARRY_BUDDY_WAYS | (w - 1u) % QUARRY_BUDDY_WAYS;
}

SIMT_FN uint32_t quarry_buddy_state(uint64_t word, uint32_t node)
{
    return (uint32_t)(word >> 2u * node) & 3u;
}

/* A word in which the node has that state, and all others what they had. */
SIMT_FN uint64_t quarry_buddy_put(uint64_t word, uint32_t node, uint32_t state)
{
    return (word & ~((uint64_t)3 << 2u * node)) | (uint64_t)state << 2u * node;
}

/* What a divided node is, by its children: PARTIAL or BUSY. */
SIMT_FN uint32_t quarry_buddy_derive(uint64_t word, uint32_t node)
{
    uint32_t two = (uint32_t)(word >> 4u * node);
    return (two ^ two >> 1) & 5u ? QUARRY_BUDDY_PARTIAL : QUARRY_BUDDY_BUSY;
}

/* The nodes above `node`, which has changed, follow from their children. */
SIMT_FN uint64_t quarry_buddy_follow(uint64_t word, uint32_t node)
{
    SIMT_ROLLED
    for (node /= 2u; node > 1; node /= 2u)
        word = quarry_buddy_put(word, node, quarry_buddy_derive(word, node));
    return word;
}

/* Gives node 1 of word w, which the caller has locked, the state that follows from the word, and unlocks it.
 * Waits, if a word above has to be locked, too, for lanes that do the same. */
SIMT_FN void quarry_buddy_raise(const struct quarry_buddy *b, uint32_t w, uint32_t state)
{
    for (int locked = 1; locked;) {
        uint32_t lower = w, node = quarry_buddy_above_node(w);
        uint64_t word, next;
        w = quarry_buddy_above(w);
        for (;; simt_backoff()) {
            word = simt_load_u64(&b->word[w], relaxed);
            next = quarry_buddy_follow(quarry_buddy_put(word, node, state), node);
            locked = w != 0 && quarry_buddy_derive(next, 1) != quarry_buddy_derive(word, 1);
            if (locked && (word & QUARRY_BUDDY_LOCKED))
                continue;
            /* acquire: of who has unlocked the word */
            if (simt_cas_u64(&b->word[w], word, next | (uint64_t)locked, acquire) == word)
                break;
        }
        state = quarry_buddy_derive(next, 1);
        (void)simt_sub_u64(&b->word[lower], QUARRY_BUDDY_LOCKED, release); /* pairs with the acquire above */
    }
}

/* Changes word w from `seen` to `next`.
 * Returns whether; if not, the word has changed, or is locked and must not change so.  Waits as
 * quarry_buddy_raise.  Order: acq_rel. */
SIMT_FN int quarry_buddy_change(const struct quarry_buddy *b, uint32_t w, uint64_t seen, uint64_t next)
{
    uint32_t state = quarry_buddy_derive(next, 1);
    int locks = w != 0 && state != quarry_buddy_derive(seen, 1);
    if (locks && (seen & QUARRY_BUDDY_LOCKED))
        return 0;
    /* acq_rel: who makes a block available releases what was done with it, and who takes it acquires that */
    if (simt_cas_u64(&b->word[w], seen, next | (uint64_t)locks, acq_rel) != seen)
        return 0;
    if (locks)
        quarry_buddy_raise(b, w, state);
    return 1;
}

/* A block of height `height` is carved: one block of order `kept` with that index stays of it, and all else of it
 * becomes AVAILABLE.  What stays is divided into TAKEN blocks of order `order`.
 *   word    a word of group `group` that has the block, or that all is a part of the block
 * Returns what the word is then.  Words of lower groups than that of `kept` are not looked at. */
SIMT_FN uint64_t quarry_buddy_carve(uint64_t word, uint32_t group, uint32_t height, uint32_t kept,
                                    uint32_t index, uint32_t order)
{
    uint32_t lowest = group * QUARRY_BUDDY_LEVELS, low = lowest > kept ? lowest : kept;
    uint32_t from =
        height < lowest + QUARRY_BUDDY_LEVELS ? quarry_buddy_node(height, index >> (height - kept)) : 1;
    uint32_t node = quarry_buddy_node(low, index >> (low - kept));
    if (low > kept) {
        word = quarry_buddy_put(word, node, QUARRY_BUDDY_PARTIAL);
    } else if (order == kept) {
        word = quarry_buddy_put(word, node, QUARRY_BUDDY_TAKEN);
    } else {
        word = quarry_buddy_put(word, node, QUARRY_BUDDY_BUSY);
        if (order >= lowest) {
            uint32_t down = kept - order;
            word |= (((uint64_t)1 << (2u << down)) - 1u) << 2u * (node << down);
        }
    }
    SIMT_ROLLED
    for (; node != from; node /= 2u) {
        word = quarry_buddy_put(word, node ^ 1u, QUARRY_BUDDY_AVAILABLE);
        if (node > 3)
            word = quarry_buddy_put(word, node / 2u, QUARRY_BUDDY_PARTIAL);
    }
    return quarry_buddy_follow(word, from);
}

/* The words below the block's own, after that was carved. */
SIMT_FN void quarry_buddy_carve_below(const struct quarry_buddy *b, uint32_t height, uint32_t kept,
                                      uint32_t index, uint32_t order)
{
    uint32_t lowest = kept / QUARRY_BUDDY_LEVELS;
    SIMT_ROLLED
    for (uint32_t group = height / QUARRY_BUDDY_LEVELS; group-- > lowest;) {
        uint32_t above = (group + 1u) * QUARRY_BUDDY_LEVELS;
        uint32_t w = quarry_buddy_base(b, group) + (index >> (above - kept));
        /* release: pairs with the acquire of who takes a block out of this word */
        simt_store_u64(&b->word[w], quarry_buddy_carve(0, group, height, kept, index, order), release);
    }
}

/* ---- making ---- */

/* The group of word w. */
SIMT_FN uint32_t quarry_buddy_group(const struct quarry_buddy *b, uint32_t w)
{
    uint32_t group = b->group;
    while (group != 0 && w >= quarry_buddy_base(b, group - 1u))
        group--;
    return group;
}

/* The height of node `node` of a word of that group, and its index, w being the word's. */
SIMT_FN uint32_t quarry_buddy_height(uint32_t group, uint32_t node)
{
    return group * QUARRY_BUDDY_LEVELS + QUARRY_BUDDY_LEVELS - (31u - simt_clz_u32(node));
}

SIMT_FN uint32_t quarry_buddy_index(const struct quarry_buddy *b, uint32_t group, uint32_t w, uint32_t node)
{
    uint32_t level = 31u - simt_clz_u32(node);
    return (w - quarry_buddy_base(b, group)) << level | (node & ((1u << level) - 1u));
}

/* What a node is in an empty heap: blocks are as large as they can be. */
SIMT_FN uint32_t quarry_buddy_at_first(const struct quarry_buddy *b, uint32_t height, uint32_t index)
{
    uint64_t pages = (uint64_t)1 << height, first = index * pages;
    uint64_t above = first & ~(2u * pages - 1u); /* where the node above begins */
    if (first >= b->pages)
        return QUARRY_BUDDY_BUSY;
    if (first + pages > b->pages)
        return QUARRY_BUDDY_PARTIAL;
    return above + 2u * pages <= b->pages ? QUARRY_BUDDY_BUSY : QUARRY_BUDDY_AVAILABLE;
}

/* Thread `thread` of `threads` writes its share; nothing else runs. */
SIMT_FN void quarry_buddy_init(const struct quarry_buddy *b, uint64_t thread, uint64_t threads)
{
    for (uint64_t i = thread; i < b->words; i += threads) {
        uint32_t w = (uint32_t)i, group = quarry_buddy_group(b, w);
        uint64_t word = 0;
        for (uint32_t node = 2; node < 2 * QUARRY_BUDDY_WAYS; node++)
            word = quarry_buddy_put(word, node,
                                    quarry_buddy_at_first(b, quarry_buddy_height(group, node),
                                                          quarry_buddy_index(b, group, w, node)));
        b->word[i] = word;
    }
    for (uint64_t order = thread; order <= b->top; order += threads)
        quarry_semaphore_init(&b->units[order], b->pages >> order & 1u);
}

/* ---- looking ---- */

/* Finds the block, available or taken, that has this page.
 *   order   out
 * Returns its state; BUSY or PARTIAL: the page is in none, which may be so while others divide and merge. */
SIMT_FN uint32_t quarry_buddy_find(const struct quarry_buddy *b, uint32_t page, uint32_t *order)
{
    uint32_t w = quarry_buddy_word(b, 0, page), node = quarry_buddy_node(0, page), state;
    uint64_t word = simt_load_u64(&b->word[w], relaxed);
    SIMT_ROLLED
    for (*order = 0;; ++*order, node /= 2u) {
        if (node == 1) {
            if (w == 0)
                return QUARRY_BUDDY_BUSY;
            node = quarry_buddy_above_node(w);
            w = quarry_buddy_above(w);
            word = simt_load_u64(&b->word[w], relaxed);
        }
        state = quarry_buddy_state(word, node);
        if (state != QUARRY_BUDDY_BUSY)
            return state;
    }
}

/* Is word w a part of a block, available or taken? */
SIMT_FN int quarry_buddy_is_inside(const struct quarry_buddy *b, uint32_t w)
{
    while (w != 0) {
        uint32_t node = quarry_buddy_above_node(w);
        w = quarry_buddy_above(w);
        for (uint64_t word = simt_load_u64(&b->word[w], relaxed); node > 1; node /= 2u)
            if (quarry_buddy_state(word, node) >= QUARRY_BUDDY_AVAILABLE)
                return 1;
    }
    return 0;
}

/* Is something wrong with word w of a tree that nobody uses? */
SIMT_FN int quarry_buddy_is_wrong(const struct quarry_buddy *b, uint32_t w, uint64_t word)
{
    uint64_t available = word >> 1 & ~word & QUARRY_BUDDY_NODES;
    int wrong = (word & QUARRY_BUDDY_LOCKED) || (available & available >> 2 & 0x1111111111111111u);
    wrong |= word != 0 && quarry_buddy_is_inside(b, w);
    for (uint32_t node = 1; node < QUARRY_BUDDY_WAYS; node++) {
        uint32_t state = quarry_buddy_derive(word, node), bits = 4;
        if (node > 1)
            state = quarry_buddy_state(word, node);
        else if (w != 0)
            state = quarry_buddy_state(simt_load_u64(&b->word[quarry_buddy_above(w)], relaxed),
                                       quarry_buddy_above_node(w));
        if (state < QUARRY_BUDDY_AVAILABLE)
            wrong |= state != quarry_buddy_derive(word, node);
        else
            for (uint32_t below = 2u * node; below < 2u * QUARRY_BUDDY_WAYS; below *= 2u, bits *= 2u)
                wrong |= (word >> 2u * below & (((uint64_t)1 << bits) - 1u)) != 0;
    }
    return wrong;
}

#if SIMT_HAS_HOST
/* Fills in all but the addresses.
 *   pages   1 to 2^31 */
SIMT_HOST_FN void quarry_buddy_size(struct quarry_buddy *b, uint32_t pages)
{
    b->pages = pages;
    b->top = 0;
    while (pages >> b->top > 1)
        b->top++;
    b->group = (b->top + ((uint32_t)1 << b->top < pages)) / QUARRY_BUDDY_LEVELS;
    b->words = (pages - 1u) / QUARRY_BUDDY_WAYS + 1u;
    for (uint32_t group = 0; group < b->group; group++)
        b->words += 1u << QUARRY_BUDDY_LEVELS * group;
}
#endif

#endif
