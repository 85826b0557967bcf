/* SPDX-License-Identifier: Apache-2.0 */
/* Races: two lanes access the same byte, one of them writes, at most one of them by an atomic, and neither
 * access happens-before the other.  The accesses of a cell that a later one may race with are kept, however
 * many they are: what happens-before a write to the same bytes can't be in a race that the write is not in. */
#include "cpu/weak_run.h"

#include <stdio.h>
#include <string.h>

#define REPORT_BYTES 2304u
#define PLACE_BYTES 320u

static void name_lane(const struct weak *weak, uint32_t lane, uint32_t epoch, char *text, size_t bytes)
{
    const struct weak_lane *who = &weak->lane[lane];
    const struct simt_cpu_lane *self = &who->lane->self;
    if (epoch >= who->first_epoch)
        snprintf(text, bytes, "block %u warp %u lane %u", self->block, self->warp, self->lane);
    else
        snprintf(text, bytes, "a lane of a block that has ended");
}

/* Which order is missing, as far as one can tell from what `me` loaded last. */
static void explain(const struct weak_lane *me, const struct weak_access *other, char *text, size_t bytes)
{
    char store[PLACE_BYTES], load[PLACE_BYTES];
    uint32_t kept = me->heard_count < WEAK_HEARD ? me->heard_count : WEAK_HEARD;
    for (uint32_t i = 1; i <= kept; i++) {
        const struct weak_heard *heard = &me->heard[(me->heard_count - i) % WEAK_HEARD];
        if (heard->lane != other->lane || heard->epoch < other->epoch)
            continue;
        weak_place_text(heard->store, store, sizeof store);
        weak_place_text(heard->load, load, sizeof load);
        snprintf(text, bytes,
                 "the second loaded at %s what the first stored at %s, but the %s: %s is missing", load,
                 store, heard->carried >= other->epoch ? "load acquires nothing" : "store releases nothing",
                 heard->carried >= other->epoch ? "an acquire, or a fence after the load"
                                                : "a release, or a fence before the store");
        return;
    }
    snprintf(text, bytes,
             "the second has loaded nothing that the first stored since: a flag with release and "
             "acquire, a simt_sync or a barrier of both is missing");
}

static void report(struct weak_lane *me, const struct weak_access *other, int other_is_atomic,
                   enum weak_kind other_kind, uintptr_t address, int is_atomic, enum weak_kind kind,
                   uintptr_t place)
{
    static const char *const did[] = {"read", "wrote"}, *const does[] = {"reads", "writes"};
    char text[REPORT_BYTES], why[REPORT_BYTES / 2], mine[64], others[64], my_place[PLACE_BYTES],
        other_place[PLACE_BYTES];
    name_lane(me->weak, me->index, me->clock[me->index], mine, sizeof mine);
    name_lane(me->weak, other->lane, other->epoch, others, sizeof others);
    weak_place_text(place, my_place, sizeof my_place);
    weak_place_text(other->place, other_place, sizeof other_place);
    explain(me, other, why, sizeof why);
    snprintf(text, sizeof text,
             "race: %s %s%s at %s what %s %s%s at %s, and nothing orders the two; %s; address %p", mine,
             does[kind], is_atomic ? " by an atomic" : "", my_place, others, did[other_kind],
             other_is_atomic ? " by an atomic" : "", other_place, why, (void *)address);
    simt_lane_abandon(me->weak->worker, SIMT_CPU_RACE, text, NULL);
}

/* The access is no race, but wrong all the same. */
static void check_block(struct weak_lane *me, uintptr_t address, uint64_t bytes, enum weak_kind kind,
                        uintptr_t place)
{
    char text[REPORT_BYTES], mine[64], my_place[PLACE_BYTES];
    const char *fault = weak_block_fault(address, bytes, kind, place);
    if (!fault)
        return;
    name_lane(me->weak, me->index, me->clock[me->index], mine, sizeof mine);
    weak_place_text(place, my_place, sizeof my_place);
    snprintf(text, sizeof text, "%s %s at %s %s; address %p", mine, kind == WEAK_READ ? "reads" : "writes",
             my_place, fault, (void *)address);
    simt_lane_abandon(me->weak->worker, SIMT_CPU_RACE, text, NULL);
}

/* ---- a cell's accesses ---- */

static const struct weak_access *plain_race(const struct weak_lane *me, const struct weak_accesses *a,
                                            uint32_t bytes)
{
    for (uint32_t i = 0; i < a->count; i++)
        if ((a->all[i].bytes & bytes) && !weak_is_before(me, a->all[i].lane, a->all[i].epoch))
            return &a->all[i];
    return NULL;
}

static const struct weak_access *atomic_race(const struct weak_lane *me, const struct weak_cell *cell,
                                             enum weak_kind kind, uint32_t bytes)
{
    const struct weak_access *a = cell->atomics[kind];
    for (uint32_t i = 0; a && i < 2 * me->weak->lanes; i++)
        if ((a[i].bytes & bytes) && !weak_is_before(me, a[i].lane, a[i].epoch) &&
            !(kind == WEAK_WRITE && weak_is_read_fenced(me, cell->past, a[i].lane, i % 2)))
            return &a[i];
    return NULL;
}

static void note(struct weak *weak, struct weak_accesses *a, const struct weak_access *access)
{
    if (a->count == a->room) {
        uint32_t room = a->room ? 2 * a->room : 2;
        struct weak_access *all = weak_take(weak, room * sizeof *all);
        if (a->count)
            memcpy(all, a->all, a->count * sizeof *all);
        a->all = all;
        a->room = room;
    }
    a->all[a->count++] = *access;
}

/* Takes the bytes from accesses that happened-before the lane's. */
static void supersede(const struct weak_lane *me, struct weak_accesses *a, uint32_t bytes)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        struct weak_access *old = &a->all[i];
        if (weak_is_before(me, old->lane, old->epoch))
            old->bytes &= ~bytes;
        if (old->bytes)
            a->all[kept++] = *old;
    }
    a->count = kept;
}

static int is_noted(const struct weak_accesses *a, const struct weak_access *access)
{
    if (a->count == 0)
        return 0;
    const struct weak_access *last = &a->all[a->count - 1];
    return last->lane == access->lane && last->epoch == access->epoch && !(access->bytes & ~last->bytes);
}

static void plain(struct weak_lane *me, uintptr_t address, uint32_t bytes, enum weak_kind kind,
                  uintptr_t place)
{
    struct weak_cell *cell = weak_cell_of(me->weak, address);
    struct weak_access access = {me->index, me->clock[me->index], place, bytes};
    const struct weak_access *other;
    if (is_noted(&cell->plain[kind], &access) && (kind == WEAK_READ || cell->plain[WEAK_READ].count == 0) &&
        !cell->past)
        return;
    for (enum weak_kind k = kind == WEAK_READ ? WEAK_WRITE : WEAK_READ; k <= WEAK_WRITE; k++) {
        if ((other = plain_race(me, &cell->plain[k], bytes)))
            report(me, other, 0, k, address, 0, kind, place);
        if ((other = atomic_race(me, cell, k, bytes)))
            report(me, other, 1, k, address, 0, kind, place);
    }
    supersede(me, &cell->plain[WEAK_READ], bytes);
    if (kind == WEAK_WRITE)
        supersede(me, &cell->plain[WEAK_WRITE], bytes);
    note(me->weak, &cell->plain[kind], &access);
    if (kind == WEAK_WRITE && cell->past)
        for (uint32_t h = 0; h < 2; h++)
            if (bytes >> (4 * h) & 0xfu) {
                cell->past->written |= 1u << h;
                cell->past->writer[h] = (struct weak_half){me->index, access.epoch, place, NULL};
            }
}

void weak_plain(struct weak_lane *me, uintptr_t address, uint64_t bytes, enum weak_kind kind, uintptr_t place)
{
    const struct fiber *fiber = me->lane->fiber;
    if (address - (uintptr_t)fiber->stack_low < fiber->stack_bytes) /* its own: nobody else's business */
        return;
    if (address - (uintptr_t)me->lane < sizeof *me->lane ||
        address - (uintptr_t)&simt_cpu < sizeof simt_cpu) /* the executor's */
        return;
    check_block(me, address, bytes, kind, place);
    for (uintptr_t end = address + bytes; address < end;) {
        uintptr_t next = address / 8 * 8 + 8;
        uintptr_t until = next < end ? next : end;
        uint32_t mask = (1u << (until - address)) - 1u;
        plain(me, address, mask << address % 8, kind, place);
        address = until;
    }
}

void weak_atomic(struct weak_lane *me, struct weak_cell *cell, uintptr_t address, uint32_t halves,
                 enum weak_kind kind, uintptr_t place)
{
    uint32_t bytes = (halves & 1u ? 0x0fu : 0) | (halves & 2u ? 0xf0u : 0);
    check_block(me, halves == 3 ? address : address / 4 * 4, halves == 3 ? 8 : 4, kind, place);
    const struct weak_access *other = plain_race(me, &cell->plain[WEAK_WRITE], bytes);
    if (other)
        report(me, other, 0, WEAK_WRITE, address, 1, kind, place);
    if (kind == WEAK_WRITE && (other = plain_race(me, &cell->plain[WEAK_READ], bytes)))
        report(me, other, 0, WEAK_READ, address, 1, kind, place);
    if (!cell->atomics[kind])
        cell->atomics[kind] = weak_take(me->weak, 2 * me->weak->lanes * sizeof *cell->atomics[kind]);
    for (uint32_t h = 0; h < 2; h++)
        if (halves >> h & 1u)
            cell->atomics[kind][2 * me->index + h] =
                (struct weak_access){me->index, me->clock[me->index], place, h ? 0xf0u : 0x0fu};
}
