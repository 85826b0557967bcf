/* SPDX-License-Identifier: Apache-2.0 */
/* take of core/blocks.h, which has the argument: lanes look for a block that has room, or make one, get slots of it,
 * and prove that nothing is left. */
#ifndef QUARRY_CORE_BLOCKS_TAKE_H
#define QUARRY_CORE_BLOCKS_TAKE_H

#include "quarry/core/bits.h"
#include "quarry/core/blocks.h"
#include "quarry/core/random.h"
#include "quarry/core/sweep.h"

#ifndef QUARRY_BLOCKS_TRIES
#define QUARRY_BLOCKS_TRIES 5u /* searches for an active block, before those for a free one */
#endif
#define QUARRY_BLOCKS_OWN_PLACE (QUARRY_NO_BLOCK - 1u)
/* Of a block that another has claimed, and not made yet.  In a burst that takes some microseconds, as all change few
 * words of the bitmaps.  With 6 polls so many gave up that 1.49 times the blocks needed were made; with 40 1.00. */
#define QUARRY_BLOCKS_POLLS 40u
#define QUARRY_BLOCKS_ROUNDS 5u /* of 8 looks for a block, before a sweep */

/* ---- slots of a block ---- */

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
    if (rest != 0) {
        simt_store_u64(quarry_blocks_slots(b, block), rest, release);
        kind |= QUARRY_BLOCKS_IS_ON;
    } else {
        simt_store_u64(quarry_blocks_slots(b, block), 0, relaxed);
    }
    if (own != 0)
        before = quarry_hierarchy_flip(&b->shape, allocated, block, own);
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

/* Makes blocks of that kind for lanes that need more than one, if no block seems to have room: step 1.
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
 *   seen   where to look first: a block that seemed to have room, or to be free; or QUARRY_NO_BLOCK; or
 *          QUARRY_BLOCKS_OWN_PLACE: the hash is the warp's own (quarry_blocks_near)
 * Returns at least one slot; or none, after some tries, which proves nothing.  Waits for nobody: when there seems to be
 * nothing it pauses some times and looks again.  For who come at once claim all free blocks, and then others find
 * neither these nor, yet, the slots that are left there.  A sweep's turn serves few of them, and takes longer. */
SIMT_FN struct quarry_blocks_lot quarry_blocks_take(const struct quarry_blocks *b, uint32_t kind, uint32_t n,
                                                    uint32_t hash, uint32_t seen)
{
    struct quarry_blocks_lot lot = {0, seen == QUARRY_BLOCKS_OWN_PLACE ? QUARRY_NO_BLOCK : seen};
    uint64_t *active = quarry_blocks_active(b, kind), *spare = quarry_blocks_free_map(b), word;
    /* Who takes much of a new block wastes little by it, and tries in vain take longer than a claim.  A quarter is not
     * much: in gol on the CPU three quarters of the slots stayed free then.  (A GPU showed no difference.) */
    int much = 2u * n >= quarry_blocks_capacity(kind);
    uint32_t tries = much ? 1u : QUARRY_BLOCKS_TRIES;
    uint32_t tried = seen == QUARRY_BLOCKS_OWN_PLACE ? ~(uint32_t)0 : 0;
    SIMT_ROLLED
    for (uint32_t i = 0; i < QUARRY_BLOCKS_ROUNDS * 8u && lot.slots == 0; i++) {
        int own = tried == ~(uint32_t)0; /* the first look is at the warp's own place */
        int fresh = !own && tried >= tries;
        int far = 0; /* no block near the warp's own place is free */
        uint64_t left = 0;
        if (lot.block != QUARRY_NO_BLOCK) {
            fresh = quarry_hierarchy_has(&b->shape, spare, lot.block);
            quarry_flights_begin(b->flights);
        } else {
            struct quarry_hierarchy_hint hint = quarry_hierarchy_peek(&b->shape, active, hash);
            struct quarry_hierarchy_hint other = quarry_hierarchy_peek(&b->shape, spare, hash);
            quarry_flights_begin(b->flights);
            /* Who takes much looks first only near its warp's own place for one with room, while there are free ones:
             * elsewhere such blocks are others', and to get there two more words are read.  And if the block just there
             * is free it takes that: so two warps that begin there meet, and take from nobody else. */
            if (QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_HASHED && much && own && other.top != 0) {
                hint.top = hint.near;
                fresh = (other.near & quarry_hierarchy_own(simt_mulhi_u32(hash, b->shape.count))) != 0;
                far = other.near == 0;
            }
            if (!fresh)
                lot.block = quarry_hierarchy_find_by(&b->shape, active, hash, hint, &word);
            if (lot.block == QUARRY_NO_BLOCK) {
                fresh = 1;
                lot.block = quarry_hierarchy_find_by(&b->shape, spare, hash, other, &word);
                /* Who comes there again finds the rest of what it made there, as near its place.  Else a warp that
                 * has used up its place would leave a part of each block. */
                if (far && lot.block != QUARRY_NO_BLOCK) {
                    uint32_t beside = quarry_hierarchy_beside(&b->shape, active, lot.block);
                    fresh = beside == QUARRY_NO_BLOCK;
                    lot.block = fresh ? lot.block : beside;
                }
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
    plan.news = SIMT_NULL;
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
    uint32_t slot = QUARRY_NO_PAGE, seen = QUARRY_BLOCKS_OWN_PLACE, needs = group;
    if (simt_popc_u32(group) > quarry_blocks_capacity(kind)) {
        slot = quarry_blocks_new_several(b, group, kind);
        needs = simt_ballot(group, slot == QUARRY_NO_PAGE);
        if (slot != QUARRY_NO_PAGE)
            return slot;
    }
    /* As many lanes as a block has slots share a leader, so that nobody waits for one block after the other. */
    group = simt_match_u32(needs, quarry_divide_u32(simt_rank(needs), quarry_blocks_capacity(kind)));
    needs = group;
    /* Who takes less than half of a block looks anywhere: a warp that comes again and again for few slots has soon used
     * up what has room near one place, and so has the other warp that begins there. */
    uint32_t hash = quarry_random_start().state;
    if (2u * simt_popc_u32(needs) >= quarry_blocks_capacity(kind))
        hash = quarry_blocks_near(kind, simt_popc_u32(needs));
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

#endif
