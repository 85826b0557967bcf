/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/hierarchy_kernels.h"
#include "quarry/core/random.h"

SIMT_KERNEL(hierarchy_start, struct hierarchy_case, a)
{
    quarry_hierarchy_init(&a.shape, a.words, (int)a.full, simt_thread(), simt_threads());
    for (uint32_t i = simt_thread(); i < a.shape.count; i += simt_threads())
        a.parity[i] = a.full;
}

SIMT_KERNEL(hierarchy_toggles, struct hierarchy_case, a)
{
    uint32_t apart = (a.shape.count - 1u) / a.width + 1u;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t number = quarry_mix_u32(simt_thread() * 64u + round) % a.width * apart % a.shape.count;
        quarry_hierarchy_toggle(&a.shape, a.words, number);
        (void)simt_xor_u32(&a.parity[number], 1, relaxed);
    }
}

SIMT_FN void wrong(const struct hierarchy_case *a, int is)
{
    if (is)
        (void)simt_add_u32(&a->counts[HIERARCHY_WRONG], 1, relaxed);
}

/* All are in at first. */
SIMT_KERNEL(hierarchy_claims, struct hierarchy_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t hash = quarry_mix_u32(simt_thread() * 64u + round);
        uint32_t number = quarry_hierarchy_find(&a.shape, a.words, round % 2 ? hash : 0);
        if (number == QUARRY_NO_NUMBER)
            continue;
        wrong(&a, number >= a.shape.count);
        if (!quarry_hierarchy_claim(&a.shape, a.words, number))
            continue;
        (void)simt_add_u32(&a.counts[HIERARCHY_CLAIMS], 1, relaxed);
        wrong(&a, simt_exchange_u32(&a.parity[number], 0, relaxed) != 1);
        a.visits[number]++;
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.parity[number], relaxed);
        simt_store_u32(&a.parity[number], 1, relaxed);
        quarry_hierarchy_put(&a.shape, a.words, number);
    }
}

/* Where a lane's search begins, as the switches say. */
SIMT_FN uint32_t hierarchy_begin(uint32_t hash, uint32_t turn)
{
    if (QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_NONE)
        return 0;
    if (QUARRY_HIERARCHY_ROTATION == QUARRY_ROTATION_ORIGINAL)
        return QUARRY_HIERARCHY_FLAT ? turn : turn * 64u + turn;
    return hash >> 20;
}

SIMT_KERNEL(hierarchy_begins, struct hierarchy_case, a)
{
    uint32_t hash = quarry_mix_u32(simt_thread()), begin = hierarchy_begin(hash, simt_block() + simt_warp());
    wrong(&a, quarry_hierarchy_find(&a.shape, a.words, hash) != begin);
}

SIMT_KERNEL(hierarchy_look, struct hierarchy_case, a)
{
    uint32_t expected = 0;
    if (simt_thread() != 0)
        return;
    for (uint32_t w = 0; w < a.shape.words; w++)
        wrong(&a, quarry_hierarchy_faults(&a.shape, a.words, w) != 0);
    for (uint32_t i = 0; i < a.shape.count; i++) {
        wrong(&a, (uint32_t)quarry_hierarchy_has(&a.shape, a.words, i) != a.parity[i]);
        expected += a.parity[i];
    }
    for (uint32_t i = 0; (i = quarry_hierarchy_next(&a.shape, a.words, i)) != QUARRY_NO_NUMBER; i++) {
        wrong(&a, a.parity[i] != 1);
        (void)simt_add_u32(&a.counts[HIERARCHY_IN], 1, relaxed);
    }
    wrong(&a, a.counts[HIERARCHY_IN] != expected);
    for (uint32_t i = 0; i < a.shape.count; i += i / 64u + 1u) { /* all of small ones, some of large ones */
        uint32_t first = i / QUARRY_HIERARCHY_BITS * QUARRY_HIERARCHY_BITS, turn = 0;
        while (turn < QUARRY_HIERARCHY_BITS && (first + (i + turn) % QUARRY_HIERARCHY_BITS >= a.shape.count ||
                                                a.parity[first + (i + turn) % QUARRY_HIERARCHY_BITS] == 0))
            turn++;
        wrong(&a, quarry_hierarchy_beside(&a.shape, a.words, i) !=
                      (turn < QUARRY_HIERARCHY_BITS ? first + (i + turn) % QUARRY_HIERARCHY_BITS
                                                    : QUARRY_NO_NUMBER));
    }
    for (uint32_t i = 0; i < expected; i++) { /* and none of them twice */
        uint32_t number = quarry_hierarchy_find(&a.shape, a.words, quarry_mix_u32(i));
        if (number == QUARRY_NO_NUMBER || a.parity[number] != 1 ||
            !quarry_hierarchy_claim(&a.shape, a.words, number))
            break;
        a.parity[number] = 0;
        (void)simt_add_u32(&a.counts[HIERARCHY_FOUND], 1, relaxed);
    }
    wrong(&a, quarry_hierarchy_find(&a.shape, a.words, 0) != QUARRY_NO_NUMBER);
    wrong(&a, quarry_hierarchy_next(&a.shape, a.words, 0) != QUARRY_NO_NUMBER);
    for (uint32_t w = 0; w < a.shape.words; w++)
        wrong(&a, a.words[w] != 0);
}
