/* SPDX-License-Identifier: Apache-2.0 */
#define QUARRY_FLIGHTS 2u
#include "blocks/slots_kernels.h"

SIMT_KERNEL(slots_start, struct slots_case, a)
{
    quarry_blocks_init(&a.blocks, simt_thread(), simt_threads());
}

SIMT_FN void wrong(const struct slots_case *a, int is)
{
    if (is)
        (void)simt_add_u32(&a->counts[SLOTS_WRONG], 1, relaxed);
}

/* Looks for a proof before anything else. */
SIMT_FN uint32_t seek(const struct slots_case *a, uint32_t group, uint32_t kind)
{
    uint32_t seen;
    while ((seen = quarry_blocks_search(&a->blocks, group, kind)) != QUARRY_NO_BLOCK) {
        struct quarry_blocks_lot lot = quarry_blocks_take(&a->blocks, kind, 1, 0, seen);
        if (lot.slots != 0)
            return quarry_blocks_share(lot.slots, lot.block, 0);
    }
    return QUARRY_NO_PAGE;
}

/* The lanes that come with that number, or the caller alone. */
SIMT_FN uint32_t together(const struct slots_case *a, uint32_t number)
{
    return a->together ? simt_match_u32(simt_active(), number) : 1u << simt_lane();
}

/* Looks at a slot that the caller has got, or at QUARRY_NO_PAGE.  Returns it, or QUARRY_NO_PAGE if it is wrong. */
SIMT_FN uint32_t took(const struct slots_case *a, uint32_t slot, uint32_t type)
{
    uint32_t kind = quarry_blocks_kind(type, a->capacity[type]);
    if (slot == QUARRY_NO_PAGE) {
        (void)simt_add_u32(&a->counts[SLOTS_NONE], 1, relaxed);
        return slot;
    }
    uint32_t block = slot / QUARRY_BLOCKS_SLOTS;
    if (block >= a->blocks.shape.count || slot % QUARRY_BLOCKS_SLOTS >= a->capacity[type]) {
        wrong(a, 1);
        return QUARRY_NO_PAGE;
    }
    (void)simt_add_u32(&a->counts[SLOTS_TAKEN], 1, relaxed);
    wrong(a, simt_exchange_u32(&a->holder[slot], 1, relaxed) != 0);
    wrong(a, quarry_blocks_kind_of(&a->blocks, block) != kind);
    a->visits[slot]++;
    return slot;
}

/* Takes a slot, or QUARRY_NO_PAGE. */
SIMT_FN uint32_t take(const struct slots_case *a, uint32_t type)
{
    int seeks = a->seeks && simt_thread() == 0;
    uint32_t group = together(a, seeks ? SLOTS_TYPES : type);
    uint32_t kind = quarry_blocks_kind(type, a->capacity[type]);
    return took(a, seeks ? seek(a, group, kind) : quarry_blocks_new(&a->blocks, group, kind), type);
}

/* Every other thread gives a block of one slot whole. */
SIMT_FN void give(const struct slots_case *a, uint32_t slot)
{
    uint32_t block = slot / QUARRY_BLOCKS_SLOTS;
    uint32_t kind = quarry_blocks_kind_of(&a->blocks, block), type = quarry_blocks_type(kind);
    a->visits[slot]++;
    simt_store_u32(&a->holder[slot], 0, relaxed);
    if (quarry_blocks_capacity(kind) == 1 && (simt_thread() ^ slot / QUARRY_BLOCKS_SLOTS) & 1u) {
        uint32_t group = together(a, (block / QUARRY_HIERARCHY_BITS + 1u) * 64u + type);
        wrong(a, !quarry_blocks_end(&a->blocks, group, block, kind));
        simt_sync(group); /* the first lane puts all into the bitmap: none goes on before */
    } else {
        wrong(a, quarry_blocks_give(&a->blocks, block, (uint64_t)1 << slot % QUARRY_BLOCKS_SLOTS, kind) != 0);
    }
}

SIMT_KERNEL(slots_rounds, struct slots_case, a)
{
    if (a.keeps)
        a.kept[simt_thread()] = QUARRY_NO_PAGE;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t type = quarry_mix_u32(simt_thread() * 64u + round) % a.types, slot = take(&a, type);
        if (slot == QUARRY_NO_PAGE)
            continue;
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.holder[slot], relaxed);
        if (a.keeps && round + 1 == a.rounds)
            a.kept[simt_thread()] = slot;
        else
            give(&a, slot);
    }
}

SIMT_KERNEL(slots_kept, struct slots_case, a)
{
    uint32_t thread = simt_thread(), type = thread >= 2;
    a.kept[thread] = QUARRY_NO_PAGE;
    while (thread == 0 && simt_load_u32(a.is_kept, acquire) == 0)
        simt_backoff();
    for (uint32_t round = 0; round < a.rounds || (thread == 1 && a.kept[1] == QUARRY_NO_PAGE); round++) {
        uint32_t slot = take(&a, type);
        if (slot == QUARRY_NO_PAGE)
            wrong(&a, thread == 0);
        else if (thread == 1)
            a.kept[1] = slot;
        else
            give(&a, slot);
        if (a.kept[thread] != QUARRY_NO_PAGE)
            break;
    }
    if (thread == 1)
        simt_store_u32(a.is_kept, 1, release);
}

SIMT_KERNEL(slots_again, struct slots_case, a)
{
    const uint32_t both = 3u;
    if (simt_thread() == 0) {
        uint32_t first = take(&a, 0), second = take(&a, 0);
        if (first != QUARRY_NO_PAGE)
            give(&a, first);
        if (second != QUARRY_NO_PAGE)
            give(&a, second);
        simt_store_u32(a.is_kept, 1, relaxed);
    }
    while (simt_load_u32(a.is_kept, relaxed) == 0)
        simt_backoff();
    (void)simt_ballot(both, 1); /* they come together, which orders nothing */
    uint32_t slot = took(&a, quarry_blocks_new(&a.blocks, both, quarry_blocks_kind(0, a.capacity[0])), 0);
    wrong(&a, slot == QUARRY_NO_PAGE);
    if (slot != QUARRY_NO_PAGE)
        give(&a, slot);
}

SIMT_KERNEL(slots_foreign, struct slots_case, a)
{
    uint32_t kind = quarry_blocks_kind(1, a.capacity[1]);
    if (simt_block_thread() != 0)
        return;
    if (simt_block() == 0) {
        for (uint32_t i = 0; i < a.capacity[1]; i++)
            (void)quarry_blocks_new(&a.blocks, 1u, kind);
        simt_store_u32(a.is_kept, 1, relaxed);
        return;
    }
    while (simt_load_u32(a.is_kept, relaxed) == 0 || quarry_blocks_kind_of(&a.blocks, 0) == 0)
        simt_backoff();
    (void)quarry_blocks_end(&a.blocks, 1u, 0, quarry_blocks_kind(0, a.capacity[0]));
    uint32_t slot = take(&a, 1);
    wrong(&a, slot == QUARRY_NO_PAGE);
    if (slot != QUARRY_NO_PAGE)
        give(&a, slot);
}

/* Gives a slot that seems taken, also if another gives it, too. */
SIMT_FN void give_twice(const struct slots_case *a, uint32_t slot)
{
    uint32_t block = slot / QUARRY_BLOCKS_SLOTS, i = slot % QUARRY_BLOCKS_SLOTS;
    uint32_t kind = quarry_blocks_kind_of(&a->blocks, block);
    if (kind == 0 || i >= quarry_blocks_capacity(kind) ||
        (quarry_blocks_free_slots(&a->blocks, block, kind) >> i & 1u))
        return;
    for (uint32_t late = 0; late < 8u * a->hold; late++)
        (void)simt_load_u32(&a->holder[slot], relaxed);
    if (quarry_blocks_capacity(kind) == 1 && (simt_thread() ^ block) & 1u)
        (void)quarry_blocks_end(&a->blocks, 1u << simt_lane(), block, kind);
    else
        (void)quarry_blocks_give(&a->blocks, block, (uint64_t)1 << i, kind);
}

SIMT_KERNEL(slots_twice, struct slots_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t hash = quarry_mix_u32(simt_thread() * 64u + round), type = hash % a.types;
        uint32_t slot =
            quarry_blocks_new(&a.blocks, together(&a, type), quarry_blocks_kind(type, a.capacity[type]));
        simt_store_u32(&a.kept[simt_thread()], slot, relaxed);
        uint32_t other = simt_load_u32(&a.kept[hash / 64u % simt_threads()], relaxed);
        if (other != QUARRY_NO_PAGE && hash & 32u)
            give_twice(&a, other);
        if (slot != QUARRY_NO_PAGE) {
            wrong(&a, slot % QUARRY_BLOCKS_SLOTS >= a.capacity[type]);
            give_twice(&a, slot);
        }
    }
}

SIMT_KERNEL(slots_fill, struct slots_case, a)
{
    a.kept[simt_thread()] = take(&a, a.type);
}

SIMT_KERNEL(slots_many, struct slots_case, a)
{
    const uint32_t all = ~(uint32_t)0;
    for (uint32_t i = 0; i < a.rounds; i++) {
        simt_sync(all);
        uint32_t slot = quarry_blocks_new(&a.blocks, all, quarry_blocks_kind(a.type, a.capacity[a.type]));
        a.kept[i * simt_threads() + simt_thread()] = took(&a, slot, a.type);
    }
}

SIMT_KERNEL(slots_drain, struct slots_case, a)
{
    uint32_t slot = a.kept[simt_threads() - 1u - simt_thread()];
    if (slot != QUARRY_NO_PAGE)
        give(&a, slot);
}

SIMT_KERNEL(slots_part, struct slots_case, a)
{
    uint32_t page = QUARRY_NO_BLOCK, kind = quarry_blocks_kind(0, a.capacity[0]);
    uint64_t slots = quarry_blocks_claim(&a.blocks, 0, kind, 1);
    struct quarry_blocks_need need;
    int dirty = 0;
    need.blocks = &a.blocks;
    need.kind = kind;
    (void)quarry_blocks_sweep_part(&need, SIMT_NULL, 1u, QUARRY_FLIGHTS_SPACE, 0, QUARRY_SWEEP_CLASS | 1u,
                                   &page, &dirty);
    wrong(&a, page != 0 || !dirty);
    (void)quarry_blocks_give(&a.blocks, 0, slots, kind);
}

SIMT_KERNEL(slots_free, struct slots_case, a)
{
    uint32_t kind = quarry_blocks_kind(0, a.capacity[0]);
    (void)quarry_blocks_give(&a.blocks, 0, 1, 0);
    uint64_t slots = quarry_blocks_claim(&a.blocks, 0, kind, a.capacity[0]);
    wrong(&a, slots != quarry_blocks_all(kind) || *quarry_blocks_slots(&a.blocks, 0) != 0);
    (void)quarry_blocks_give(&a.blocks, 0, slots, kind);
}

SIMT_KERNEL(slots_look, struct slots_case, a)
{
    uint32_t maps = QUARRY_BLOCKS_MAPS(a.blocks.types);
    if (simt_thread() != 0)
        return;
    for (uint32_t i = 0; i < a.blocks.shape.count; i++)
        wrong(&a, quarry_blocks_faults(&a.blocks, i) != 0 ||
                      (!a.keeps && *quarry_blocks_word(&a.blocks, i) != 0));
    for (uint32_t map = 0; map < maps; map++)
        for (uint32_t w = 0; w < a.blocks.shape.words; w++)
            wrong(&a, quarry_hierarchy_faults(&a.blocks.shape,
                                              a.blocks.maps + (uint64_t)map * a.blocks.shape.words, w) != 0);
    for (uint32_t i = 0; i < QUARRY_FLIGHTS; i++)
        wrong(&a, (uint32_t)a.blocks.flights[i] != 0);
}
