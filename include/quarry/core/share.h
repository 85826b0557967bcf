/* SPDX-License-Identifier: Apache-2.0 */
/* Which lanes work together; and lanes that found something give it to lanes that need it (Pham et al.,
 * section 4.1, lines 12 to 14 of Algorithm 3).
 *
 * A shuffle lets a lane read from another, so the receiver must know its giver: the k-th lane that needs
 * takes from the k-th lane that has.  With fewer needs than gifts the last gifts stay with their givers;
 * the other way round the last needs stay. */
#ifndef QUARRY_CORE_SHARE_H
#define QUARRY_CORE_SHARE_H

#include "quarry/core/bits.h"
#include "quarry/simt/simt.h"

/* All calls of quarry_group: each has a name of its own here (tests/house/sites.sh).  Lanes that come from
 * different calls go on differently, so they must never be one group, even if they arrive together. */
enum quarry_site {
    QUARRY_SITE_NULL_COUNT,
    QUARRY_SITE_SLOTS,
    QUARRY_SITE_PIECES_COLLECT,
    QUARRY_SITE_PIECES_RELEASE,
    QUARRY_SITE_RW_MALLOC,
    QUARRY_SITE_WALK_SEARCH,
    QUARRY_SITE_WALK_TOGETHER,
    QUARRY_SITE_RUNS_MALLOC,
    QUARRY_SITE_RUNS_FREE,
    QUARRY_SITE_SCATTER_MALLOC,
    QUARRY_SITE_SCATTER_FREE,
    QUARRY_SITE_RING_MALLOC,
    QUARRY_SITE_RING_FREE,
    QUARRY_SITE_TBUDDY_MALLOC,
    QUARRY_SITE_TBUDDY_FREE,
    QUARRY_SITE_UALLOC_MALLOC,
    QUARRY_SITE_UALLOC_FREE,
    QUARRY_SITE_ARENAS_FREE,
    QUARRY_SITE_OURO_MALLOC,
    QUARRY_SITE_OURO_FREE,
    QUARRY_SITE_OURO_RUN,
    QUARRY_SITE_OURO_GATHER,
    QUARRY_SITE_OBJECTS_MALLOC,
    QUARRY_SITE_OBJECTS_FREE,
    QUARRY_SITE_OBJECT_NEW,
    QUARRY_SITE_OBJECT_DELETE,
    QUARRY_SITE_SLABS_MALLOC,
    QUARRY_SITE_SLABS_FREE,
    QUARRY_SITES
};
#define QUARRY_ADDRESS_BITS 56u /* of user space, at most: 57-bit addresses whose highest bit is 0 */
SIMT_STATIC_ASSERT(QUARRY_SITES <= 1u << (64u - QUARRY_ADDRESS_BITS), "a site fits above an address");

/* The caller and lanes of its warp that arrive at this site together, for the same thing.  As simt_active, no
 * promise which.
 *   address  of that: of the heap's part that they use, say, for lanes may call with different heaps at once
 *   site     the call's own: a constant, which costs nothing above the address */
SIMT_FN uint32_t quarry_group(const void *address, enum quarry_site site)
{
    uint64_t key = (uint64_t)(uintptr_t)address;
    simt_assert(key >> QUARRY_ADDRESS_BITS == 0);
    return simt_match_u64(simt_active(), key | (uint64_t)site << QUARRY_ADDRESS_BITS);
}

/* The same; and in *alike those of these lanes that have the same x.  Neither match waits for the other.  As
 * `alike` is of all lanes that are active: these must be at this place. */
SIMT_FN uint32_t quarry_group_alike(const void *address, enum quarry_site site, uint32_t x, uint32_t *alike)
{
    uint64_t key = (uint64_t)(uintptr_t)address | (uint64_t)site << QUARRY_ADDRESS_BITS;
    uint32_t active = simt_active(), same, all;
    simt_assert((uint64_t)(uintptr_t)address >> QUARRY_ADDRESS_BITS == 0);
    if (active == SIMT_ALL_LANES) { /* a mask that the compiler knows: it need not be looked at by each */
        same = simt_match_u32(SIMT_ALL_LANES, x);
        all = simt_match_u64(SIMT_ALL_LANES, key);
    } else {
        same = simt_match_u32(active, x);
        all = simt_match_u64(active, key);
    }
    *alike = same & all;
    return all;
}

/* Is the caller's gift taken?  has, needs: masks of lanes. */
SIMT_FN int quarry_share_gives(uint32_t has, uint32_t needs)
{
    return (has >> simt_lane() & 1u) && simt_rank(has) < simt_popc_u32(needs);
}

/* Is the caller's need served? */
SIMT_FN int quarry_share_takes(uint32_t has, uint32_t needs)
{
    return (needs >> simt_lane() & 1u) && simt_rank(needs) < simt_popc_u32(has);
}

/* Hands the gifts over.  All lanes of group call it; has and needs are subsets of group.
 * Returns what the caller received, if quarry_share_takes(has, needs); else no particular value.
 * Orders no memory: a receiver that relies on what its giver acquired needs a simt_sync(group). */
SIMT_FN uint32_t quarry_share_u32(uint32_t group, uint32_t has, uint32_t needs, uint32_t gift)
{
    uint32_t giver = simt_lane();
    if (quarry_share_takes(has, needs))
        giver = quarry_kth_set_u32(has, simt_rank(needs) + 1u);
    return simt_shuffle_u32(group, gift, giver);
}

/* The lane whose rank in group that is; a rank past the last gives no lane of it. */
SIMT_FN uint32_t quarry_lane_of_rank(uint32_t group, uint32_t rank)
{
    return group == SIMT_ALL_LANES ? rank : quarry_kth_set_u32(group, rank + 1u);
}

/* Sum of the values of the caller and all lanes of lower rank.  All lanes of group call it. */
SIMT_FN uint32_t quarry_scan_add_u32(uint32_t group, uint32_t value)
{
    uint32_t rank = simt_rank(group);
    SIMT_ROLLED
    for (uint32_t distance = 1; distance < SIMT_LANES; distance *= 2) {
        int add = rank >= distance;
        uint32_t other =
            simt_shuffle_u32(group, value, add ? quarry_lane_of_rank(group, rank - distance) : simt_lane());
        value += add ? other : 0;
    }
    return value;
}

/* The lowest rank whose sum is above k, or, if there is none, the last rank.
 *   sum   the caller's result of quarry_scan_add_u32
 * All lanes of group call it, each with a k of its own. */
SIMT_FN uint32_t quarry_scan_find_u32(uint32_t group, uint32_t sum, uint32_t k)
{
    uint32_t last = simt_popc_u32(group) - 1u, rank = 0;
    SIMT_ROLLED
    for (uint32_t step = SIMT_LANES / 2; step; step /= 2) {
        uint32_t probe = rank + step - 1u < last ? rank + step - 1u : last;
        if (simt_shuffle_u32(group, sum, quarry_lane_of_rank(group, probe)) <= k)
            rank += step;
    }
    return rank < last ? rank : last;
}

/* ORs the bits of lanes of a group.
 *   group   lanes of `all`; other lanes of `all` have other groups, and all of these are done side by side
 * Returns to the group's first lane the bits of all; to others, of some.  Scope: all lanes of `all`, reconverged.
 * Orders no memory. */
SIMT_FN uint32_t quarry_share_or_u32(uint32_t all, uint32_t group, uint32_t bits)
{
    if (simt_all(all, group == all))
        return simt_reduce_or_u32(all, bits);
    /* Each lane has the bits of those from itself to before `next`, which has the bits of as many. */
    uint32_t behind = group & (~1u << simt_lane()), none = SIMT_LANES,
             next = behind ? simt_ctz_u32(behind) : none;
    SIMT_ROLLED
    while (simt_any(all, next != none)) {
        uint32_t from = next != none ? next : simt_lane();
        bits |= simt_shuffle_u32(all, bits, from);
        uint32_t far = simt_shuffle_u32(all, next, from);
        next = next != none ? far : none;
    }
    return bits;
}

#endif
