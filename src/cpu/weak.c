/* SPDX-License-Identifier: Apache-2.0 */
/* The memory model of mode weak: docs/design/weak-memory.md.
 *
 * Each cell keeps its latest stores in their modification order.
 * Each store carries a view: what an acquire of it joins.  A load may read any kept store that is not older
 * than
 *   - the newest one that happens-before the load, and
 *   - the newest one that was read by anything that happens-before the load, the lane's own loads first.
 * Which one, the seed decides.  A store comes behind one that its lane might load, mostly the newest, but never
 * between a read-modify-write and the store that it read.  A read-modify-write reads what it comes behind, and
 * carries, besides its own view, that of the store it read: the release sequence goes on. */
#include "cpu/weak_run.h"

#include <string.h>

uint64_t weak_random(struct weak *weak)
{
    uint64_t x = weak->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* ---- clocks and views ---- */

static void join(struct weak *weak, uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < weak->lanes; i++)
        into[i] = into[i] > from[i] ? into[i] : from[i];
}

static struct weak_view *view_of(struct weak *weak, const uint32_t *clock)
{
    struct weak_view *view = weak->spare_views;
    if (view)
        memcpy(&weak->spare_views, view->clock, sizeof weak->spare_views);
    else
        view = weak_take(weak, sizeof *view + weak->lanes * sizeof *clock + sizeof view);
    view->references = 1;
    memcpy(view->clock, clock, weak->lanes * sizeof *clock);
    return view;
}

static struct weak_view *view_keep(struct weak_view *view)
{
    if (view)
        view->references++;
    return view;
}

static void view_drop(struct weak *weak, struct weak_view *view)
{
    if (!view || --view->references)
        return;
    memcpy(view->clock, &weak->spare_views, sizeof weak->spare_views); /* the list of those that nobody has */
    weak->spare_views = view;
}

/* Both; `a` is given up, `b` is not. */
static struct weak_view *view_join(struct weak *weak, struct weak_view *a, struct weak_view *b)
{
    if (!b || a == b)
        return a;
    if (!a)
        return view_keep(b);
    struct weak_view *both = a;
    if (a->references > 1) {
        both = view_of(weak, a->clock);
        view_drop(weak, a);
    }
    join(weak, both->clock, b->clock);
    return both;
}

/* ---- the past of a cell ---- */

static int acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST ||
           order == __ATOMIC_CONSUME;
}

static int releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void forget_oldest(struct weak *weak, struct weak_past *past)
{
    uint32_t kept = 0;
    for (uint32_t h = 0; h < 2; h++)
        view_drop(weak, past->store[0].half[h].view);
    memmove(past->store, past->store + 1, (WEAK_KEPT - 1) * sizeof *past->store);
    past->count--;
    past->first++;
    for (uint32_t i = 0; i < past->reader_count; i++)
        if (past->readers[i].number > past->first)
            past->readers[kept++] = past->readers[i];
    past->reader_count = kept;
}

/* A store of these halves comes behind store[at].  Those that come behind it, but for what they wrote
 * themselves, have what it wrote. */
static void insert(struct weak *weak, struct weak_past *past, uint32_t at, uint32_t halves, int changes,
                   uint64_t value, const struct weak_half *half)
{
    if (past->count == WEAK_KEPT) {
        forget_oldest(weak, past);
        at--;
    }
    struct weak_store *store = &past->store[at + 1];
    memmove(store + 1, store, (past->count - at - 1) * sizeof *store);
    past->count++;
    for (uint32_t i = 0; i < past->reader_count; i++)
        past->readers[i].number += past->readers[i].number > past->first + at;
    *store = store[-1];
    store->halves = halves;
    store->changes = changes;
    view_keep(store->half[0].view);
    view_keep(store->half[1].view);
    for (uint32_t h = 0; h < 2; h++) {
        uint64_t mask = (uint64_t)0xffffffffu << (32 * h);
        if (!(halves >> h & 1u))
            continue;
        for (struct weak_store *next = store; next < past->store + past->count; next++) {
            if (next != store && (next->halves >> h & 1u))
                break;
            view_drop(weak, next->half[h].view);
            next->half[h] = *half;
            view_keep(half->view);
            next->value = (next->value & ~mask) | (value & mask);
        }
    }
}

/* The past of the cell at this address, with what others than atomics wrote there. */
static struct weak_past *past_of(struct weak *weak, struct weak_cell *cell, uintptr_t address)
{
    uint64_t now = __atomic_load_n((const uint64_t *)(address / 8 * 8), __ATOMIC_RELAXED);
    struct weak_past *past = cell->past;
    if (!past) {
        past = cell->past = weak_take(weak, sizeof *past);
        past->count = 1;
        past->store[0].value = now;
        past->store[0].halves = 3;
        for (uint32_t h = 0; h < 2; h++) {
            past->store[0].half[h].lane = WEAK_NOBODY;
            past->writer[h].lane = WEAK_NOBODY;
        }
        return past;
    }
    uint64_t changed = now ^ past->store[past->count - 1].value;
    uint32_t halves = past->written | ((uint32_t)changed != 0) | (uint32_t)(changed >> 32 != 0) << 1;
    for (uint32_t h = 0; h < 2; h++)
        if (halves >> h & 1u) {
            insert(weak, past, past->count - 1, 1u << h, 0, now, &past->writer[h]);
            past->writer[h].lane = WEAK_NOBODY;
        }
    past->written = 0;
    return past;
}

/* The oldest store, counted from the oldest kept, of which the lane may read these halves. */
static uint32_t oldest_for(const struct weak_lane *me, const struct weak_past *past, uint32_t halves)
{
    uint32_t oldest = past->count - 1;
    for (; oldest > 0; oldest--) {
        const struct weak_store *store = &past->store[oldest];
        uint32_t wrote = store->halves & halves;
        if (((wrote & 1u) && weak_is_before(me, store->half[0].lane, store->half[0].epoch)) ||
            ((wrote & 2u) && weak_is_before(me, store->half[1].lane, store->half[1].epoch)))
            break;
    }
    for (uint32_t i = 0; i < past->reader_count; i++) {
        const struct weak_reader *reader = &past->readers[i];
        if ((halves >> reader->half & 1u) && reader->number - past->first > oldest &&
            weak_is_before(me, reader->lane, reader->epoch))
            oldest = reader->number - past->first;
    }
    return oldest;
}

int weak_is_read_fenced(const struct weak_lane *me, const struct weak_past *past, uint32_t lane,
                        uint32_t half)
{
    uint32_t known = oldest_for(me, past, 1u << half), at = past->count;
    while (at-- > 0)
        if ((past->store[at].halves >> half & 1u) && past->store[at].half[half].lane == lane)
            return past->store[at].half[half].view && at <= known;
    return known > 0; /* it is older than all that are kept */
}

/* The lane has read half `half` of store[at].  If who wrote that happens-before the read, or it is the oldest,
 * this says nothing new to anybody. */
static void note_reader(struct weak_lane *me, struct weak_past *past, uint32_t at, uint32_t half)
{
    while (at > 0 && !(past->store[at].halves >> half & 1u))
        at--;
    if (at == 0 || weak_is_before(me, past->store[at].half[half].lane, past->store[at].half[half].epoch))
        return;
    uint32_t number = past->first + at;
    for (uint32_t i = 0; i < past->reader_count; i++) {
        const struct weak_reader *reader = &past->readers[i];
        if (reader->lane == me->index && reader->half == half && reader->number == number &&
            reader->epoch >= me->first_epoch)
            return;
    }
    if (past->reader_count == past->reader_room) {
        uint32_t room = past->reader_room ? 2 * past->reader_room : 8;
        struct weak_reader *readers = weak_take(me->weak, room * sizeof *readers);
        if (past->reader_count)
            memcpy(readers, past->readers, past->reader_count * sizeof *readers);
        past->readers = readers;
        past->reader_room = room;
    }
    past->readers[past->reader_count++] = (struct weak_reader){me->index, me->clock[me->index], half, number};
}

/* The lane reads these halves of a store. */
static void receive(struct weak_lane *me, struct weak_past *past, uint32_t at, uint32_t halves, int order,
                    uintptr_t place)
{
    const struct weak_store *store = &past->store[at];
    const struct weak_view *last = NULL;
    for (uint32_t h = 0; h < 2; h++) {
        const struct weak_view *view = store->half[h].view;
        if (!(halves >> h & 1u))
            continue;
        note_reader(me, past, at, h);
        if (store->half[h].lane != me->index && store->half[h].lane != WEAK_NOBODY)
            me->heard[me->heard_count++ % WEAK_HEARD] =
                (struct weak_heard){store->half[h].lane, store->half[h].epoch,
                                    view ? view->clock[store->half[h].lane] : 0, store->half[h].place, place};
        if (view && view != last)
            join(me->weak, acquires(order) ? me->clock : me->pending, view->clock);
        last = view;
    }
}

/* What a store of the lane carries by itself. */
static struct weak_view *release(struct weak_lane *me, int order)
{
    if (!releases(order))
        return view_keep(me->fence);
    struct weak_view *view = view_of(me->weak, me->clock);
    me->clock[me->index]++;
    return view;
}

/* Makes a store of the calling lane, behind store[at]. */
static void send(struct weak_lane *me, struct weak_past *past, uint32_t at, uint32_t halves, uint64_t value,
                 int order, int changes, uintptr_t place)
{
    struct weak *weak = me->weak;
    uint32_t epoch = me->clock[me->index];
    me->waited = 0;
    struct weak_view *view = release(me, order);
    for (uint32_t h = 0; changes && h < 2; h++)
        if (halves >> h & 1u)
            view = view_join(weak, view, past->store[at].half[h].view);
    const struct weak_half half = {me->index, epoch, place, view};
    insert(weak, past, at, halves, changes, value, &half);
    view_drop(weak, view);
}

/* ---- atomics ---- */

struct where {
    uint32_t shift; /* bits of the cell below the word */
    uint32_t halves;
    uint64_t mask; /* of the word's bits, at bit 0 */
};

static struct where where_of(uintptr_t address, uint32_t bytes)
{
    struct where at;
    at.shift = (uint32_t)(address % 8) * 8;
    at.halves = bytes == 8 ? 3u : 1u << (address % 8 / 4);
    at.mask = ~(uint64_t)0 >> (64u - 8u * bytes);
    return at;
}

static uint64_t part_of(struct where at, uint64_t value)
{
    return value >> at.shift & at.mask;
}

static uint64_t with_part(struct where at, uint64_t cell, uint64_t value)
{
    return (cell & ~(at.mask << at.shift)) | (value & at.mask) << at.shift;
}

/* Memory has the newest store. */
static void write_memory(uintptr_t address, const struct weak_past *past)
{
    __atomic_store_n((uint64_t *)(address / 8 * 8), past->store[past->count - 1].value, __ATOMIC_RELAXED);
}

/* One of the stores that the lane may read. */
static uint32_t choose(struct weak_lane *me, const struct weak_past *past, uint32_t halves)
{
    uint32_t newest = past->count - 1;
    if (newest == 0 || me->waited >= WEAK_PATIENCE)
        return newest;
    uint32_t oldest = oldest_for(me, past, halves);
    if (oldest == newest)
        return newest;
    uint64_t random = weak_random(me->weak);
    if ((random & 7u) >= me->weak->stale_of_8)
        return newest;
    return oldest + (uint32_t)(((random >> 32) * (newest - oldest + 1)) >> 32);
}

/* May a store of these halves come behind store[at]?  Not between a read-modify-write and what it read. */
static int is_gap(const struct weak_past *past, uint32_t at, uint32_t halves)
{
    for (uint32_t h = 0; h < 2; h++)
        for (uint32_t i = at + 1; (halves >> h & 1u) && i < past->count; i++)
            if (past->store[i].halves >> h & 1u) {
                if (past->store[i].changes)
                    return 0;
                break;
            }
    return at > 0 || past->count < WEAK_KEPT; /* else there is no room */
}

/* Behind which store that of the lane comes: mostly the newest. */
static uint32_t choose_gap(struct weak_lane *me, const struct weak_past *past, uint32_t halves)
{
    uint32_t at = choose(me, past, halves);
    return is_gap(past, at, halves) ? at : past->count - 1;
}

uint64_t weak_load(struct weak_lane *me, uintptr_t address, uint32_t bytes, int order, uintptr_t place)
{
    struct where at = where_of(address, bytes);
    struct weak_cell *cell = weak_cell_of(me->weak, address);
    weak_atomic(me, cell, address, at.halves, WEAK_READ, place);
    struct weak_past *past = past_of(me->weak, cell, address);
    uint32_t chosen = choose(me, past, at.halves);
    uint64_t value = part_of(at, past->store[chosen].value);
    receive(me, past, chosen, at.halves, order, place);
    return value;
}

void weak_store(struct weak_lane *me, uintptr_t address, uint32_t bytes, uint64_t value, int order,
                uintptr_t place)
{
    struct where at = where_of(address, bytes);
    struct weak_cell *cell = weak_cell_of(me->weak, address);
    weak_atomic(me, cell, address, at.halves, WEAK_WRITE, place);
    struct weak_past *past = past_of(me->weak, cell, address);
    uint32_t chosen = choose_gap(me, past, at.halves);
    uint64_t after = with_part(at, past->store[chosen].value, value);
    send(me, past, chosen, at.halves, after, order, 0, place);
    write_memory(address, past);
}

static uint64_t changed(enum weak_rmw what, uint64_t before, uint64_t value)
{
    switch (what) {
    case WEAK_ADD:
        return before + value;
    case WEAK_SUB:
        return before - value;
    case WEAK_AND:
        return before & value;
    case WEAK_OR:
        return before | value;
    case WEAK_XOR:
        return before ^ value;
    case WEAK_NAND:
        return ~(before & value);
    case WEAK_EXCHANGE:
        break;
    }
    return value;
}

uint64_t weak_change(struct weak_lane *me, uintptr_t address, uint32_t bytes, enum weak_rmw what,
                     uint64_t value, int order, uintptr_t place)
{
    struct where at = where_of(address, bytes);
    struct weak_cell *cell = weak_cell_of(me->weak, address);
    weak_atomic(me, cell, address, at.halves, WEAK_WRITE, place);
    struct weak_past *past = past_of(me->weak, cell, address);
    uint32_t chosen = choose_gap(me, past, at.halves);
    uint64_t whole = past->store[chosen].value, before = part_of(at, whole);
    uint64_t after = with_part(at, whole, changed(what, before, value));
    receive(me, past, chosen, at.halves, order, place);
    send(me, past, chosen, at.halves, after, order, 1, place);
    write_memory(address, past);
    return before;
}

/* One that fails is a load, and may read something old. */
uint64_t weak_compare_exchange(struct weak_lane *me, uintptr_t address, uint32_t bytes, uint64_t expected,
                               uint64_t desired, int order, int failure, uintptr_t place)
{
    struct where at = where_of(address, bytes);
    struct weak_cell *cell = weak_cell_of(me->weak, address);
    struct weak_past *past = past_of(me->weak, cell, address);
    uint32_t chosen = choose(me, past, at.halves);
    if (part_of(at, past->store[chosen].value) == (expected & at.mask) && !is_gap(past, chosen, at.halves))
        chosen = past->count - 1;
    uint64_t whole = past->store[chosen].value, before = part_of(at, whole);
    if (before != (expected & at.mask)) {
        weak_atomic(me, cell, address, at.halves, WEAK_READ, place);
        receive(me, past, chosen, at.halves, failure, place);
        return before;
    }
    weak_atomic(me, cell, address, at.halves, WEAK_WRITE, place);
    uint64_t after = with_part(at, whole, desired);
    receive(me, past, chosen, at.halves, order, place);
    send(me, past, chosen, at.halves, after, order, 1, place);
    write_memory(address, past);
    return before;
}

void weak_fence(struct weak_lane *me, int order)
{
    struct weak *weak = me->weak;
    if (acquires(order))
        join(weak, me->clock, me->pending);
    if (order == __ATOMIC_SEQ_CST) {
        join(weak, me->clock, weak->seq_cst);
        memcpy(weak->seq_cst, me->clock, weak->lanes * sizeof *me->clock);
    }
    if (releases(order)) {
        view_drop(weak, me->fence);
        me->fence = view_of(weak, me->clock);
        me->clock[me->index]++;
    }
}

/* ---- lanes that meet ---- */

void simt_weak_start(struct weak *weak, uint32_t index, struct lane *lane)
{
    struct weak_lane *me = &weak->lane[index];
    uint32_t epoch = me->clock[index] + 1;
    memset(me->clock, 0, (size_t)2 * weak->lanes * sizeof *me->clock); /* and me->pending */
    me->clock[index] = me->first_epoch = epoch;
    me->lane = lane;
    me->waited = 0;
    me->heard_count = 0;
    view_drop(weak, me->fence);
    me->fence = NULL;
    lane->weak = me;
}

void simt_weak_meet(const struct lane *lane)
{
    struct weak_lane *me = lane->weak;
    if (!me)
        return;
    struct weak *weak = me->weak;
    if (weak->met_count == 0)
        memset(weak->meeting, 0, weak->lanes * sizeof *weak->meeting);
    weak->met[weak->met_count++] = me;
    join(weak, weak->meeting, me->clock);
}

void simt_weak_part(struct weak *weak)
{
    if (!weak)
        return;
    for (uint32_t i = 0; i < weak->met_count; i++) {
        struct weak_lane *me = weak->met[i];
        memcpy(me->clock, weak->meeting, weak->lanes * sizeof *me->clock);
        me->clock[me->index]++;
    }
    weak->met_count = 0;
}

void simt_weak_wait(const struct lane *lane)
{
    if (lane->weak)
        lane->weak->waited++;
}
