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
 *   take    n slots of a type, for lanes that come together:
 *           1. Find a block in `active`.  After some tries, or if there is none, claim one of `free`: write all its
 *              slots but those that one takes oneself, toggle `allocated`, write its kind, toggle `active`, and look.
 *              Two warps that come at once look in one place.  Who loses a free block to the other takes of it.
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
 * the block is free, or has another type.  Then another's slot is free.  Nothing else goes wrong:
 *   - What a give has read of the type only tells it to look.  It looks, too, if the free slots are those from 0 on:
 *     they may be all of another type.
 *   - The bitmap that changes is the one of the type that the kind has at that moment.  Of two thieves one finds one.
 *   - A claim overwrites bits that say nothing while the block has no kind.  So nobody can take them for slots that are
 *     all free, and end the block before it has begun.
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

#include "quarry/core/bits.h"
#include "quarry/core/flights.h"
#include "quarry/core/hierarchy.h"
#include "quarry/core/random.h"
#include "quarry/core/sweep.h"
#include "quarry/simt/simt.h"

#define QUARRY_BLOCKS_SLOTS 64u /* of a block, at most */
#define QUARRY_BLOCKS_TYPES 128u
#define QUARRY_BLOCKS_MOST ((1u << 26) - 1u) /* blocks: a slot has a number of 32 bits, not QUARRY_NO_PAGE */
#define QUARRY_BLOCKS_MAPS(types) (1u + 2u * (types)) /* of shape.words words each */
#define QUARRY_BLOCKS_IS_KIND 0x10000u
#define QUARRY_BLOCKS_IS_ON 0x20000u
#define QUARRY_BLOCKS_KIND_BITS 18u /* those above are the owner's, and part of what makes two kinds differ */
#ifndef QUARRY_BLOCKS_TRIES
#define QUARRY_BLOCKS_TRIES 5u /* searches for an active block, before those for a free one */
#endif
#define QUARRY_BLOCKS_POLLS 6u /* of a block that another has claimed, and not made yet */
#ifndef QUARRY_BLOCKS_ALONE
#define QUARRY_BLOCKS_ALONE 0
#endif
#ifndef QUARRY_BLOCKS_HEADERS
#define QUARRY_BLOCKS_HEADERS 0
#endif
#define QUARRY_BLOCKS_HEADER 64u /* bytes, with QUARRY_BLOCKS_HEADERS */
#define QUARRY_BLOCKS_ROUNDS 5u  /* of 8 looks for a block, before a sweep */
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
    uint64_t own = quarry_hierarchy_own(block), *active = quarry_blocks_active(b, kind), was_active = 0;
    uint64_t *allocated = quarry_blocks_allocated(b, kind);
    if (kind & QUARRY_BLOCKS_IS_ON)
        was_active = quarry_hierarchy_flip(&b->shape, active, block, own);
    uint64_t was_allocated = quarry_hierarchy_flip(&b->shape, allocated, block, own);
    quarry_hierarchy_put(&b->shape, quarry_blocks_free_map(b), block);
    quarry_hierarchy_flipped(&b->shape, allocated, block, own, was_allocated);
    if (kind & QUARRY_BLOCKS_IS_ON)
        quarry_hierarchy_flipped(&b->shape, active, block, own, was_active);
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
        kind = simt_exchange_u32(quarry_blocks_word(b, block), 0, relaxed);
        if (kind & QUARRY_BLOCKS_IS_ON)
            quarry_hierarchy_toggle(&b->shape, quarry_blocks_active(b, kind), block);
        if (kind != 0) { /* else slots were given twice */
            uint64_t *allocated = quarry_blocks_allocated(b, kind);
            uint64_t own = quarry_hierarchy_own(block);
            uint64_t before = quarry_hierarchy_flip(&b->shape, allocated, block, own);
            quarry_hierarchy_put(&b->shape, quarry_blocks_free_map(b), block);
            quarry_hierarchy_flipped(&b->shape, allocated, block, own, before);
        }
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
 * Order: releases; pairs with claims.  Scope: group, reconverged. */
SIMT_FN int quarry_blocks_end(const struct quarry_blocks *b, uint32_t group, uint32_t block, uint32_t kind)
{
    uint32_t found = simt_exchange_u32(quarry_blocks_word(b, block), 0, relaxed);
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

/* ---- taking ---- */

/* n of the slots in a word, or all if there are fewer: from bit `turn` (0 .. 63) on, around. */
SIMT_FN uint64_t quarry_blocks_choose(uint64_t word, uint32_t n, uint32_t turn)
{
    uint64_t turned = word >> turn | word << (-turn & 63u);
    if (n >= simt_popc_u64(word))
        return word;
    turned &= ~(uint64_t)0 >> (63u - quarry_kth_set_u64(turned, n));
    return turned << turn | turned >> (-turn & 63u);
}

/* The slot of the lane with that rank among those that share: 64 block + its number; QUARRY_NO_PAGE: there are
 * fewer. */
SIMT_FN uint32_t quarry_blocks_share(uint64_t slots, uint32_t block, uint32_t rank)
{
    if (rank >= simt_popc_u64(slots))
        return QUARRY_NO_PAGE;
    return block * QUARRY_BLOCKS_SLOTS + quarry_kth_set_u64(slots, rank + 1u);
}

/* Takes up to n slots of a block that seems to be of that kind, in a flight.  Returns them, or 0.
 *   left   its free slots, as they seem to be */
SIMT_FN uint64_t quarry_blocks_take_from(const struct quarry_blocks *b, uint32_t block, uint32_t kind,
                                         uint32_t n, uint32_t turn, uint64_t left)
{
    uint64_t all = quarry_blocks_all(kind), got = 0;
    left &= all;
    while (left != 0 && simt_popc_u64(got) < n) {
        uint64_t chosen = quarry_blocks_choose(left, n - simt_popc_u64(got), turn);
        /* Order: pairs with gives, and with the claim's exchange. */
        left = simt_and_u64(quarry_blocks_slots(b, block), ~chosen, acquire) & all;
        got |= left & chosen;
        left &= ~chosen;
    }
    if (got != 0) {
        uint32_t found = simt_load_u32(quarry_blocks_word(b, block), relaxed);
        for (uint32_t i = 0; i < QUARRY_BLOCKS_POLLS && found == 0; i++) /* it is being made */
            found = simt_load_u32(quarry_blocks_word(b, block), relaxed);
        if ((found & ~QUARRY_BLOCKS_IS_ON) != kind) {
            /* Order: the kind was read before; pairs with takes and with thieves.  Acquires for the look. */
            left = simt_or_u64(quarry_blocks_slots(b, block), got, acq_rel) | got;
            got = 0;
            found = simt_load_u32(quarry_blocks_word(b, block), relaxed);
        }
        if (got == 0 || left == 0) /* then `left` is all that the AND left */
            quarry_blocks_agree(b, block, left, found);
    }
    return got;
}

/* Makes a block of that kind of one that the caller has claimed.
 *   n     slots of it that the caller takes, or all
 *   own   bits for `allocated` of the word that has the block, toggled meanwhile; or 0 */
SIMT_FN void quarry_blocks_make(const struct quarry_blocks *b, uint32_t block, uint32_t kind, uint32_t n,
                                uint64_t own)
{
    uint64_t all = quarry_blocks_all(kind), *allocated = quarry_blocks_allocated(b, kind), before = 0;
    uint64_t rest = n < quarry_blocks_capacity(kind) ? all << n & all : 0;
    /* Order: what was done to the slots in the block's former life; pairs with takes.  Nobody takes of none. */
    if (rest != 0)
        simt_store_u64(quarry_blocks_slots(b, block), rest, release);
    else
        simt_store_u64(quarry_blocks_slots(b, block), 0, relaxed);
    if (own != 0)
        before = quarry_hierarchy_flip(&b->shape, allocated, block, own);
    if (rest != 0)
        kind |= QUARRY_BLOCKS_IS_ON;
    /* Order: the slots; pairs with who turns the block on or off. */
    simt_store_u32(quarry_blocks_word(b, block), kind, release);
    if (kind & QUARRY_BLOCKS_IS_ON)
        quarry_hierarchy_toggle(&b->shape, quarry_blocks_active(b, kind), block);
    if (own != 0)
        quarry_hierarchy_flipped(&b->shape, allocated, block, own, before);
    /* Order: as of any look. */
    quarry_blocks_agree(b, block, simt_or_u64(quarry_blocks_slots(b, block), 0, acq_rel), kind);
}

/* Makes a block of that kind of one that seems to be free, in a flight.  Returns up to n slots of it, or 0. */
SIMT_FN uint64_t quarry_blocks_claim(const struct quarry_blocks *b, uint32_t block, uint32_t kind, uint32_t n)
{
    uint64_t all = quarry_blocks_all(kind);
    if (!quarry_hierarchy_claim(&b->shape, quarry_blocks_free_map(b), block))
        return 0;
    quarry_blocks_make(b, block, kind, n, quarry_hierarchy_own(block));
    return n < quarry_blocks_capacity(kind) ? ~(~(uint64_t)0 << n) : all;
}

/* Where a search begins: two warps that can share a block begin at one place, so that in a burst the second finds what
 * the first has just claimed.
 *   n   slots that each wants */
SIMT_FN uint32_t quarry_blocks_near(uint32_t kind, uint32_t n)
{
    uint32_t each = quarry_blocks_capacity(kind) >= 2u * n ? 2u : 1u;
    return simt_thread() / SIMT_LANES / each * 0x9e3779b1u;
}

/* Makes blocks of that kind for lanes that need more than one: if no block seems to have room, the first lane claims
 * blocks of one word of `free`, and puts them into `allocated`, by one atomic each.  Then the first lane of each block
 * makes it, all at the same time.  It is as if each of these had claimed its own, one after the other.
 *   kind   the same of all
 * Returns a slot for the calling lane, or QUARRY_NO_PAGE: that lane looks elsewhere.
 * Scope: group, reconverged. */
SIMT_FN uint32_t quarry_blocks_new_several(const struct quarry_blocks *b, uint32_t group, uint32_t kind)
{
    uint32_t capacity = quarry_blocks_capacity(kind), lanes = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t turn = quarry_divide_u32(rank, capacity), near = 0, slot = QUARRY_NO_PAGE;
    uint64_t claimed = 0;
    if (rank == 0) {
        uint32_t hash = quarry_blocks_near(kind, lanes);
        struct quarry_hierarchy_hint full =
            quarry_hierarchy_peek(&b->shape, quarry_blocks_active(b, kind), hash);
        struct quarry_hierarchy_hint hint = quarry_hierarchy_peek(&b->shape, quarry_blocks_free_map(b), hash);
        quarry_flights_begin(b->flights); /* of all: they meet before they take, and before it ends */
        if (QUARRY_HIERARCHY_FLAT ? quarry_hierarchy_is_empty(&b->shape, quarry_blocks_active(b, kind))
                                  : full.top == 0) {
            uint64_t word;
            near = quarry_hierarchy_find_by(&b->shape, quarry_blocks_free_map(b), hash, hint, &word);
            if (near != QUARRY_NO_BLOCK)
                claimed = quarry_hierarchy_claim_some(
                    &b->shape, quarry_blocks_free_map(b), near,
                    quarry_blocks_choose(word, quarry_divide_u32(lanes - 1u, capacity) + 1u,
                                         near % QUARRY_HIERARCHY_BITS));
        }
        if (claimed == 0)
            quarry_flights_end(b->flights);
    }
    claimed = simt_shuffle_u64(group, claimed, simt_ctz_u32(group));
    if (claimed == 0)
        return QUARRY_NO_PAGE;
    near = simt_shuffle_u32(group, near, simt_ctz_u32(group));
    simt_sync(group); /* what the first lane acquired, each has */
    if (turn < simt_popc_u64(claimed)) {
        uint32_t block =
            near / QUARRY_HIERARCHY_BITS * QUARRY_HIERARCHY_BITS + quarry_kth_set_u64(claimed, turn + 1u);
        slot = block * QUARRY_BLOCKS_SLOTS + rank - turn * capacity;
        if (rank == turn * capacity)
            quarry_blocks_make(b, block, kind, lanes - rank, rank == 0 ? claimed : 0);
    }
    simt_sync(group); /* all are made */
    if (rank == 0)
        quarry_flights_end(b->flights);
    return slot;
}

/* Slots of one block. */
struct quarry_blocks_lot {
    uint64_t slots; /* 0: none */
    uint32_t block;
};

/* Takes up to n slots of one block of that kind, for the calling lane.
 *   n      at least 1
 *   hash   any number; lanes with other numbers look elsewhere
 *   seen   where to look first: a block that seemed to have room, or to be free; or QUARRY_NO_BLOCK
 * Returns at least one slot; or none, after some tries, which proves nothing.  Waits for nobody: when there seems to be
 * nothing it pauses some times and looks again.  For who come at once claim all free blocks, and then others find
 * neither these nor, yet, the slots that are left there.  A sweep's turn serves few of them, and takes longer. */
SIMT_FN struct quarry_blocks_lot quarry_blocks_take(const struct quarry_blocks *b, uint32_t kind, uint32_t n,
                                                    uint32_t hash, uint32_t seen)
{
    struct quarry_blocks_lot lot = {0, seen};
    uint64_t *active = quarry_blocks_active(b, kind), *spare = quarry_blocks_free_map(b), word;
    /* Who takes much of a new block wastes little by it, and tries in vain take longer than a claim. */
    uint32_t tries = 4u * n >= quarry_blocks_capacity(kind) ? 1u : QUARRY_BLOCKS_TRIES, tried = 0;
    SIMT_ROLLED
    for (uint32_t i = 0; i < QUARRY_BLOCKS_ROUNDS * 8u && lot.slots == 0; i++) {
        int fresh = tried >= tries;
        uint64_t left = 0;
        if (lot.block != QUARRY_NO_BLOCK) {
            fresh = quarry_hierarchy_has(&b->shape, spare, lot.block);
            quarry_flights_begin(b->flights);
        } else {
            struct quarry_hierarchy_hint hint = quarry_hierarchy_peek(&b->shape, active, hash);
            struct quarry_hierarchy_hint other = quarry_hierarchy_peek(&b->shape, spare, hash);
            quarry_flights_begin(b->flights);
            if (!fresh)
                lot.block = quarry_hierarchy_find_by(&b->shape, active, hash, hint, &word);
            if (lot.block == QUARRY_NO_BLOCK) {
                fresh = 1;
                lot.block = quarry_hierarchy_find_by(&b->shape, spare, hash, other, &word);
            }
        }
        if (lot.block != QUARRY_NO_BLOCK && fresh)
            lot.slots = quarry_blocks_claim(b, lot.block, kind, n);
        if (lot.block != QUARRY_NO_BLOCK && lot.slots == 0) {
            /* Who loses a free block to another, of its kind maybe, takes of what is left there. */
            for (uint32_t polls = fresh ? QUARRY_BLOCKS_POLLS : 1u; polls > 0 && left == 0; polls--)
                left = simt_load_u64(quarry_blocks_slots(b, lot.block), relaxed);
            lot.slots = quarry_blocks_take_from(b, lot.block, kind, n, quarry_hierarchy_turn(hash), left);
        }
        quarry_flights_end(b->flights);
        if (lot.block == QUARRY_NO_BLOCK) { /* none, or a hint was wrong */
            for (uint32_t pause = 1u << i / 8u; pause > 0; pause--)
                simt_backoff();
            i |= 7u;
            tried = tries + 2u;
        }
        if (lot.slots == 0)
            lot.block = QUARRY_NO_BLOCK;
        tried = tried == tries + 2u ? 0 : tried + 1u;
        hash = quarry_mix_u32(hash + simt_thread() + 1u);
    }
    return lot;
}

/* ---- nothing left ---- */

/* What a group of lanes looks for: all the same. */
struct quarry_blocks_need {
    const struct quarry_blocks *blocks;
    uint32_t kind;
};

/* A sweep's part: its `page` is a block that seems to have room or to be free.  Nothing is taken here. */
SIMT_FN uint64_t quarry_blocks_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                          uint32_t pass, uint32_t part, uint32_t size, uint32_t *page,
                                          int *dirty)
{
    const struct quarry_blocks_need *need = (const struct quarry_blocks_need *)heap;
    const struct quarry_blocks *b = need->blocks;
    struct quarry_sweep_items of = quarry_sweep_cut(b->shape.count, part, b->parts);
    uint32_t first = of.first, fits = 0;
    (void)r;
    if (pass != QUARRY_FLIGHTS_SPACE)
        return quarry_flights_begun(b->flights, group, part, b->parts, pass);
    for (; first < of.end && fits == 0; first += simt_popc_u32(group)) {
        uint32_t mine = first + simt_rank(group), type = QUARRY_BLOCKS_TYPES;
        int is_free = mine < of.end && quarry_hierarchy_has(&b->shape, quarry_blocks_free_map(b), mine);
        uint64_t slots = mine < of.end && !is_free ? simt_load_u64(quarry_blocks_slots(b, mine), relaxed) : 0;
        if (slots != 0) {
            uint32_t kind = simt_load_u32(quarry_blocks_word(b, mine), relaxed);
            type = slots & quarry_blocks_all(kind) ? quarry_blocks_type(kind) : QUARRY_BLOCKS_TYPES;
        }
        if (simt_any(group, is_free || type == (size & ~QUARRY_SWEEP_CLASS)))
            *dirty = 1;
        fits = simt_ballot(group, is_free || type == quarry_blocks_type(need->kind));
        if (fits != 0) {
            *dirty = 1; /* also if the turn is about another type, for the rest is not read */
            *page = first + simt_popc_u32(group & ((1u << simt_ctz_u32(fits)) - 1u));
        }
    }
    return 0;
}

/* Looks for a block that has a slot of the kind, or is free.
 *   kind   the same of all lanes of the group
 * Returns one that seemed so, to all of them; or QUARRY_NO_BLOCK: then at some instant during the call there was none.
 * Scope: group, reconverged.  Progress: as quarry_sweep_search. */
SIMT_FN uint32_t quarry_blocks_search(const struct quarry_blocks *b, uint32_t group, uint32_t kind)
{
    struct quarry_blocks_need need;
    struct quarry_sweep_plan plan;
    struct quarry_random unused = {0, 0};
    need.blocks = b;
    need.kind = kind;
    plan.sweep = b->sweep;
    plan.heap = &need;
    plan.sweep_part = quarry_blocks_sweep_part;
    plan.parts = b->parts;
    plan.kinds = QUARRY_FLIGHTS_PASSES;
    plan.size = QUARRY_SWEEP_CLASS | quarry_blocks_type(kind);
    plan.in_order = 0;
    return quarry_sweep_search(&plan, &unused, group, QUARRY_NO_BLOCK);
}

/* A slot for each lane of the group: 64 block + its number in the block.  Lanes of a group get slots of few blocks, in
 * the order of their ranks.
 *   kind   the same of all
 * Returns QUARRY_NO_PAGE if at some instant during the call no slot of the kind was free, and no block.
 * Scope: group, reconverged.  Progress: waits only before it says that there is none (quarry_sweep_search). */
SIMT_FN uint32_t quarry_blocks_new(const struct quarry_blocks *b, uint32_t group, uint32_t kind)
{
    group = quarry_blocks_group(group);
    uint32_t slot = QUARRY_NO_PAGE, seen = QUARRY_NO_BLOCK, needs = group;
    if (simt_popc_u32(group) > quarry_blocks_capacity(kind)) {
        slot = quarry_blocks_new_several(b, group, kind);
        needs = simt_ballot(group, slot == QUARRY_NO_PAGE);
        if (slot != QUARRY_NO_PAGE)
            return slot;
    }
    /* As many lanes as a block has slots share a leader, so that nobody waits for one block after the other. */
    group = simt_match_u32(needs, quarry_divide_u32(simt_rank(needs), quarry_blocks_capacity(kind)));
    needs = group;
    uint32_t hash = quarry_blocks_near(kind, simt_popc_u32(needs));
    SIMT_ROLLED
    while (needs != 0) {
        struct quarry_blocks_lot lot = {0, QUARRY_NO_BLOCK};
        if (simt_rank(group) == 0) {
            lot = quarry_blocks_take(b, kind, simt_popc_u32(needs), hash, seen);
            hash = quarry_random_start().state;
        }
        lot.slots = simt_shuffle_u64(group, lot.slots, simt_ctz_u32(group));
        lot.block = simt_shuffle_u32(group, lot.block, simt_ctz_u32(group));
        seen = QUARRY_NO_BLOCK;
        if (lot.slots != 0) {
            if (slot == QUARRY_NO_PAGE)
                slot = quarry_blocks_share(lot.slots, lot.block, simt_rank(needs));
            needs = simt_ballot(group, slot == QUARRY_NO_PAGE);
        } else {
            seen = quarry_blocks_search(b, group, kind);
            if (seen == QUARRY_NO_BLOCK)
                break;
        }
    }
    simt_sync(group); /* what the leader acquired, each has */
    return slot;
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
