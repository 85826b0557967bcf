/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of slots: memory in which all blocks have one size, and each has slots of one type at a time.  (M. Springer,
 * H. Masuhara, "DynaSOAr: A Parallel Memory Allocator for Object-oriented Programming on GPUs with Efficient Memory
 * Access", ECOOP 2019: slides, written from the text.)  Knows no fields, and no memory of the slots.
 *
 *     slots[b]   64 bits: bit i is set if slot i of block b is free.  Bits from the capacity N on say nothing, nor do
 *                those of a free block: they are 0, unless slots were given twice
 *     kind[b]    its type and capacity, and whether it is on, that is in `active`; or 0, if the block is free
 *     maps       hierarchical bitmaps (core/hierarchy.h), numbers are blocks:
 *                | free | allocated of type 0 | active of type 0 | allocated of type 1 | ... |
 *                active: has a free slot
 *     flights    core/flights.h
 *
 * The word `slots` decides, and `free`, whose bits only their owners set.  The other bitmaps are hints that lag.
 *
 *   take    n slots of a type, for lanes that come together (core/blocks_take.h):
 *           1. Find a block in `active`.  After some tries, or if there is none, claim one of `free`: write all its
 *              slots but those that one takes oneself, toggle `allocated`, write its kind, toggle `active`, and look.
 *              Two warps that come at once, each for half of a block, look in one place.  Who loses a free block to
 *              the other takes of it.
 *              Who wants half of a block or more claims the block just there first, if it is free.
 *              Who wants that much, and finds no free block near its place, looks beside the one that it is about to
 *              claim: there is the rest of what it claimed before.
 *              Lanes that need several blocks, when no block is in `active`, claim bits of one word of `free` by
 *              one AND, and toggle them by one XOR; each block is then made by a lane.  It is as if these lanes
 *              had claimed one after the other.
 *           2. AND the chosen bits out of `slots`.  Those that were set are got.  Again while lanes want and there
 *              are any.
 *           3. Only now read the kind.  Is it another one, give the slots back, drop them, and start over.
 *   give    OR the slots in.  Are they all, go on with E.
 *   look    Read `slots`, then the kind.
 *           Z   Some are free and the block is not on, or none is and it is: change that in the kind by a compare-and-
 *               exchange, toggle `active` of the type that it had, and look again.
 *           E   All are free: steal, exchange `slots` with 0.  Was it still all of them the block looks full, so nobody
 *               can enter: forget the kind, toggle `allocated`, and `active` if it was on, and put the block into
 *               `free`.  Else give back what was stolen, by an OR, and look again.
 *           The kind is 0: nothing.
 *   Who has made some free of none, or none of some, or all, looks.  Who has changed the kind looks, too, at the kind
 *   that it has left there: who changes that later looks itself.
 *   end     Who has all slots of a block needs no OR, and steals nothing: it forgets the kind by an exchange, as in E,
 *           and goes on as there.  Lanes that end blocks of one word toggle them by one XOR each.  No flight: the slots
 *           are in nobody's reach before the block is in `free`.
 *
 * Why it holds.
 *   Pins.  Who has a slot, got or stolen, pins the block's life: `slots` can't become all N before it is given back, so
 *   nobody unmakes the block, and its type stays.  So who takes reads the type after it got slots, and a thief after it
 *   has stolen.
 *   Two hands.  A bit leaves `slots` by one read-modify-write that finds it set, so one lane has it.  It comes back
 *   from who has it.  The claim's store overwrites 0: the block was claimed, so it had been stolen entirely, and who
 *   finds 0 changes nothing.
 *   Bitmaps.  The type and whether the block is on are one word, and who changes it toggles the bitmap of the type that
 *   is there.  So when all toggles have arrived a block's bit in `active` says whether it is on (core/hierarchy.h), in
 *   whichever order they came.  `allocated` likewise.
 *   On.  Who has changed the kind reads `slots` after that, by a read-modify-write.  Who has changed `slots` between
 *   none and some reads the kind after that.  So of the last two changes the later is by one who has seen both, and
 *   nobody ends a look that finds that they disagree.
 *   No block is lost.  Who makes `slots` all N looks.  If that finds another value somebody has changed it since; the
 *   last who makes it all N finds it so, or finds 0, and then a thief has all of it and looks again.
 *   Nobody waits.  A try in vain is due to another's take, give or look.
 *
 * Slots that are given twice.  Who gives a slot that it does not have may come at any time: when another has it, when
 * the block is free, or has another type.  Then another's slot is free.  Else one such give makes nothing wrong:
 *   - What a give has read of the type only tells it to look.  It looks, too, if the free slots are those from 0 on:
 *     they may be all of another type.
 *   - The bitmap that changes is the one of the type that the kind has at that moment.  Of two thieves one finds one.
 *   - A claim overwrites bits that say nothing while the block has no kind.  So nobody can take them for slots that are
 *     all free, and end the block before it has begun.
 * One thing is left: two such gives that have read the type of a former life, which had more slots, and come in the
 * next one.  If the first sets a bit from N on, which says nothing but stays, the second takes it for a free slot, and
 * does not look.  Then the block may have free slots and not be on, or all free and not be put into `free`, until those
 * who have its other slots have given all of them.  Proofs still see its slots; quarry_blocks_faults counts it.  To
 * look at each give would mend it, and cost each a load that waits.
 * (In the paper who changes `slots` toggles `active`, of a type that was read before.  If that is wrong once, the
 * bitmap is wrong for ever.)
 * tests/models/blocks.py goes through all schedules of small cases, with slots that are given twice at any time.
 *
 * Order.  give: OR, release; take: AND, acquire, and so is the exchange of a thief.  Between a claim's store and the
 * block's end there are only read-modify-writes of `slots`, which keep the release sequences.  So what was done to
 * a slot before it was given happens-before what is done by who takes it next, or by who unmakes the block.  Put and
 * claim of a block carry that on to its next life (core/hierarchy.h).  A take's and a thief's reads of the kind come
 * after what they acquire, so they see no former life's; and before their ORs, which release, so they see no next
 * life's.  (0, of a block that is not published yet, is no type: they give back.)
 *     A look reads `slots` first, acquire, and by an OR of 0, acq_rel, after each change of the kind.  Who took the
 * last slots has read them so by its own AND, and the kind after that.  Of the last changes, of the kind by X and of
 * `slots` by M, either X's OR comes after M's, and X sees it.  Or M's change comes after X's OR in a release sequence,
 * and what M reads of the kind after its own acquire is X's.  No claim's store comes between: the kind is written after
 * it, release, and X's change acquires that.
 *
 *     Who forgets a kind acquires it, and so the claim's store: if slots were given twice it may be of a life that the
 * caller knows nothing of.  Else the next claim's store might come before that one, and its slots were lost.
 *
 * Compile-time switches, for comparisons, with those of core/hierarchy.h.  All code that uses a heap has the same.
 *
 *     QUARRY_BLOCKS_TRIES     searches for an active block before one for a free one; 5
 *     QUARRY_BLOCKS_ALONE     1: lanes that come together take and give one by one
 *     QUARRY_BLOCKS_HEADERS   1: slots and kind of a block are beside it, in a header of 64 bytes, as in the paper
 *
 * Nothing left.  Space may be in transit: a block that is claimed and not yet published, slots that were got of another
 * type, slots that were stolen.  All that lies in flights, and in flights only slots are taken.  So a sweep's turn
 * about a type is one of core/flights.h: its second pass looks for a bit of `free` at level 0, and for a block of the
 * type that has a free slot.  Between the last slot's OR and rule E a block is on its way, unannounced: as far as
 * that goes it is freed by rule E, in the same call. */
#ifndef QUARRY_CORE_BLOCKS_H
#define QUARRY_CORE_BLOCKS_H

#include "quarry/core/flights.h"
#include "quarry/core/hierarchy.h"
#include "quarry/simt/simt.h"

#define QUARRY_BLOCKS_SLOTS 64u /* of a block, at most */
#define QUARRY_BLOCKS_TYPES 128u
#define QUARRY_BLOCKS_MOST ((1u << 26) - 1u) /* blocks: a slot has a number of 32 bits, not QUARRY_NO_PAGE */
#define QUARRY_BLOCKS_MAPS(types) (1u + 2u * (types)) /* of shape.words words each */
#define QUARRY_BLOCKS_IS_KIND 0x10000u
#define QUARRY_BLOCKS_IS_ON 0x20000u
#define QUARRY_BLOCKS_KIND_BITS 18u /* those above are the owner's, and part of what makes two kinds differ */
#ifndef QUARRY_BLOCKS_ALONE
#define QUARRY_BLOCKS_ALONE 0
#endif
#ifndef QUARRY_BLOCKS_HEADERS
#define QUARRY_BLOCKS_HEADERS 0
#endif
#define QUARRY_BLOCKS_HEADER 64u /* bytes, with QUARRY_BLOCKS_HEADERS */
#define QUARRY_NO_BLOCK QUARRY_NO_NUMBER

SIMT_STATIC_ASSERT(QUARRY_BLOCKS_MOST <= QUARRY_NO_NUMBER / QUARRY_BLOCKS_SLOTS,
                   "no slot has the number of none");

struct quarry_blocks {
    uint64_t *slots;
    uint64_t *maps;
    uint32_t *kind;
    uint64_t *flights;
    struct quarry_sweep *sweep;
    struct quarry_hierarchy shape; /* of a bitmap: shape.count blocks */
    uint32_t types;
    uint32_t parts; /* of a sweep */
#if QUARRY_BLOCKS_HEADERS
    uint32_t stride; /* from a block's header to the next one's; `slots` and `kind` are those of the first */
#endif
};

/* ---- kinds ---- */

/* A type and the slots of its blocks, together, as `kind` has them: not 0.
 *   type       below QUARRY_BLOCKS_TYPES
 *   capacity   1 to QUARRY_BLOCKS_SLOTS */
SIMT_FN uint32_t quarry_blocks_kind(uint32_t type, uint32_t capacity)
{
    return QUARRY_BLOCKS_IS_KIND | (QUARRY_BLOCKS_SLOTS - capacity) << 8 | type;
}

SIMT_FN uint32_t quarry_blocks_type(uint32_t kind)
{
    return kind & 0xffu;
}

SIMT_FN uint32_t quarry_blocks_capacity(uint32_t kind)
{
    return QUARRY_BLOCKS_SLOTS - (kind >> 8 & 0xffu);
}

/* All slots of a block of that kind; of none: all bits. */
SIMT_FN uint64_t quarry_blocks_all(uint32_t kind)
{
    return ~(uint64_t)0 >> (kind >> 8 & 0xffu);
}

/* Where a block's words are. */
SIMT_FN uint64_t *quarry_blocks_slots(const struct quarry_blocks *b, uint32_t block)
{
#if QUARRY_BLOCKS_HEADERS
    return (uint64_t *)(void *)((unsigned char *)b->slots + (uint64_t)block * b->stride);
#else
    return &b->slots[block];
#endif
}

SIMT_FN uint32_t *quarry_blocks_word(const struct quarry_blocks *b, uint32_t block)
{
#if QUARRY_BLOCKS_HEADERS
    return (uint32_t *)(void *)((unsigned char *)b->kind + (uint64_t)block * b->stride);
#else
    return &b->kind[block];
#endif
}

/* A block's kind, as quarry_blocks_kind makes them; or 0, if it is free. */
SIMT_FN uint32_t quarry_blocks_kind_of(const struct quarry_blocks *b, uint32_t block)
{
    return simt_load_u32(quarry_blocks_word(b, block), relaxed) & ~QUARRY_BLOCKS_IS_ON;
}

SIMT_FN uint64_t *quarry_blocks_free_map(const struct quarry_blocks *b)
{
    return b->maps;
}

SIMT_FN uint64_t *quarry_blocks_allocated(const struct quarry_blocks *b, uint32_t kind)
{
    return b->maps + (uint64_t)b->shape.words * (1u + 2u * quarry_blocks_type(kind));
}

SIMT_FN uint64_t *quarry_blocks_active(const struct quarry_blocks *b, uint32_t kind)
{
    return b->maps + (uint64_t)b->shape.words * (2u + 2u * quarry_blocks_type(kind));
}

/* Thread `thread` of `threads` writes its share of blocks that are all free. */
SIMT_FN void quarry_blocks_init(const struct quarry_blocks *b, uint64_t thread, uint64_t threads)
{
    uint64_t maps = (uint64_t)b->shape.words * QUARRY_BLOCKS_MAPS(b->types);
    if (thread == 0)
        quarry_sweep_init(b->sweep);
    for (uint64_t i = thread; i < QUARRY_FLIGHTS; i += threads)
        b->flights[i] = 0;
    for (uint64_t i = thread; i < b->shape.count; i += threads) {
        *quarry_blocks_slots(b, (uint32_t)i) = 0;
        *quarry_blocks_word(b, (uint32_t)i) = 0;
    }
    for (uint64_t i = thread; i < maps; i += threads)
        b->maps[i] = i < b->shape.words ? quarry_hierarchy_full(&b->shape, (uint32_t)i) : 0;
}

/* Of lanes that come together, those that go together. */
SIMT_FN uint32_t quarry_blocks_group(uint32_t group)
{
    return QUARRY_BLOCKS_ALONE ? 1u << simt_lane() : group;
}

/* ---- giving ---- */

/* Ends a block that the caller has all slots of, and whose kind it has exchanged for 0: it was `kind`. */
SIMT_FN void quarry_blocks_ended(const struct quarry_blocks *b, uint32_t block, uint32_t kind)
{
    if (kind & QUARRY_BLOCKS_IS_ON)
        quarry_hierarchy_toggle(&b->shape, quarry_blocks_active(b, kind), block);
    quarry_hierarchy_toggle(&b->shape, quarry_blocks_allocated(b, kind), block);
    quarry_hierarchy_put(&b->shape, quarry_blocks_free_map(b), block);
}

/* Rule E.  Returns whether the block ended, by this or before; else look again. */
SIMT_FN int quarry_blocks_unmake(const struct quarry_blocks *b, uint32_t block)
{
    quarry_flights_begin(b->flights);
    /* Order: acquires what was done to the slots. */
    uint64_t stolen = simt_exchange_u64(quarry_blocks_slots(b, block), 0, acquire);
    uint32_t kind = simt_load_u32(quarry_blocks_word(b, block), relaxed);
    uint64_t all = quarry_blocks_all(kind);
    int ends = kind != 0 && (stolen & all) == all;
    if (ends) {
        kind = simt_exchange_u32(quarry_blocks_word(b, block), 0, acquire); /* Order: as of an end */
        if (kind != 0)                                                      /* else slots were given twice */
            quarry_blocks_ended(b, block, kind);
    } else if (stolen != 0) {
        /* Order: the kind was read before; pairs with the thief that unmakes the block. */
        (void)simt_or_u64(quarry_blocks_slots(b, block), stolen, release);
    }
    quarry_flights_end(b->flights);
    return ends;
}

/* Makes a block's slots and its kind agree.  Waits for nobody.
 *   slots   as the caller has read them by an acquire: after it has changed them between none, some and all, or by that
 *           change; or after it has changed the kind, by a read-modify-write, acq_rel
 *   kind    its word: as the caller has read it after that; or as the caller has left it.  Who has changed it since
 *           looks, too */
SIMT_FN void quarry_blocks_agree(const struct quarry_blocks *b, uint32_t block, uint64_t slots, uint32_t kind)
{
    while (kind != 0) {
        uint64_t all = quarry_blocks_all(kind);
        int known = 0;
        if ((slots & all) == all) {
            if (quarry_blocks_unmake(b, block))
                break;
        } else if (((slots & all) != 0) == ((kind & QUARRY_BLOCKS_IS_ON) != 0)) {
            break;
        } else if (simt_cas_u32(quarry_blocks_word(b, block), kind, kind ^ QUARRY_BLOCKS_IS_ON, acquire) ==
                   kind) {
            quarry_hierarchy_toggle(&b->shape, quarry_blocks_active(b, kind), block);
            known = 1;
        }
        slots = simt_or_u64(quarry_blocks_slots(b, block), 0, acq_rel);
        kind = known ? kind ^ QUARRY_BLOCKS_IS_ON : simt_load_u32(quarry_blocks_word(b, block), relaxed);
    }
}

/* Gives back slots that the caller has.
 *   kind   of the block: read while the caller had the slots
 * Returns those that were free before: given twice.  Order: releases; pairs with takes. */
SIMT_FN uint64_t quarry_blocks_give(const struct quarry_blocks *b, uint32_t block, uint64_t slots,
                                    uint32_t kind)
{
    uint64_t before = simt_or_u64(quarry_blocks_slots(b, block), slots, release), now = before | slots;
    uint64_t all = quarry_blocks_all(kind);
    int empty = kind != 0 && (now & all) == all, ended = empty && quarry_blocks_unmake(b, block);
    if (!ended && (empty || (before & all) == 0 || (now & (now + 1u)) == 0)) {
        /* Order: as of any look.  Read again, as who gives the others may come at the same time. */
        now = empty ? simt_or_u64(quarry_blocks_slots(b, block), 0, acq_rel)
                    : simt_load_u64(quarry_blocks_slots(b, block), acquire);
        quarry_blocks_agree(b, block, now, simt_load_u32(quarry_blocks_word(b, block), relaxed));
    }
    return before & slots;
}

/* Gives back blocks of which the callers have all slots: as if each had given them, and unmade its block.  No slot
 * becomes free before its block is, so nothing is stolen, and nothing in transit.
 *   group   of lanes with other blocks, of one word of level 0, and of one kind
 * Returns whether the caller's block had that kind still; else it was given twice, and something else may be free.
 * The first lane puts all blocks into `free`: the caller syncs the group before its lanes go on.
 * Order: releases; pairs with claims.  Scope: group, reconverged. */
SIMT_FN int quarry_blocks_end(const struct quarry_blocks *b, uint32_t group, uint32_t block, uint32_t kind)
{
    /* Order: pairs with who made the block.  If slots were given twice the caller may know nothing of that one, and
     * the next claim's store of the slots must come after that one's. */
    uint32_t found = simt_exchange_u32(quarry_blocks_word(b, block), 0, acquire);
    int is = (found & ~QUARRY_BLOCKS_IS_ON) == kind;
    uint64_t bit = quarry_hierarchy_own(block), *allocated = quarry_blocks_allocated(b, kind);
    if (found != 0 && !is) /* given twice: it is another's */
        quarry_blocks_ended(b, block, found);
    else if (found & QUARRY_BLOCKS_IS_ON)
        quarry_hierarchy_toggle(&b->shape, quarry_blocks_active(b, found), block);
    bit = is ? bit : 0;
    uint64_t bits = simt_reduce_or_u32(group, (uint32_t)bit) |
                    (uint64_t)simt_reduce_or_u32(group, (uint32_t)(bit >> 32)) << 32;
    simt_sync(group); /* what each did, before the first lane's release */
    if (simt_rank(group) == 0 && bits != 0) {
        uint64_t before = quarry_hierarchy_flip(&b->shape, allocated, block, bits);
        quarry_hierarchy_put_some(&b->shape, quarry_blocks_free_map(b), block, bits);
        quarry_hierarchy_flipped(&b->shape, allocated, block, bits, before);
    }
    return is;
}

/* ---- looking ---- */

/* The free slots of a block of that kind. */
SIMT_FN uint64_t quarry_blocks_free_slots(const struct quarry_blocks *b, uint32_t block, uint32_t kind)
{
    return simt_load_u64(quarry_blocks_slots(b, block), relaxed) & quarry_blocks_all(kind);
}

/* How often an idle block contradicts its bitmaps, and itself.  What is above level 0 is quarry_hierarchy_faults'. */
SIMT_FN uint32_t quarry_blocks_faults(const struct quarry_blocks *b, uint32_t block)
{
    uint32_t kind = quarry_blocks_kind_of(b, block), faults = 0;
    uint64_t slots = quarry_blocks_free_slots(b, block, kind);
    faults += kind != 0 && slots == quarry_blocks_all(kind);
    faults += quarry_hierarchy_has(&b->shape, quarry_blocks_free_map(b), block) != (kind == 0);
    for (uint32_t type = 0; type < b->types; type++) {
        int is = kind != 0 && quarry_blocks_type(kind) == type;
        faults += quarry_hierarchy_has(&b->shape, quarry_blocks_allocated(b, type), block) != is;
        faults += quarry_hierarchy_has(&b->shape, quarry_blocks_active(b, type), block) != (is && slots != 0);
    }
    return faults;
}

#endif
