/* SPDX-License-Identifier: Apache-2.0 */
#include "gol.h"

/* The agent of a cell, which others may change meanwhile. */
SIMT_FN uint64_t *agent_of(const struct world *w, uint32_t cell)
{
    return &cell_agent(w->cells[cell])->bits;
}

SIMT_FN void put(const struct world *w, uint32_t cell, quarry_object agent)
{
    simt_store_u64(agent_of(w, cell), agent.bits, release);
}

/* An agent for a cell; none if the heap is full. */
SIMT_FN quarry_object make_alive(const struct world *w, uint32_t cell)
{
    quarry_object o = new_object(w->backing, alive);
    if (!quarry_object_is_null(o)) {
        *agent_cell(o) = cell;
        *agent_action(o) = NOTHING;
        *alive_is_new(o) = 1;
    }
    return o;
}

SIMT_FN quarry_object make_candidate(const struct world *w, uint32_t cell)
{
    quarry_object o = new_object(w->backing, candidate);
    if (!quarry_object_is_null(o)) {
        *agent_cell(o) = cell;
        *agent_action(o) = NOTHING;
    }
    return o;
}

/* The neighbour of a cell in one of 8 directions, if it is in the world; else the cell. */
SIMT_FN uint32_t neighbour(const struct world *w, uint32_t cell, uint32_t direction)
{
    uint32_t place = direction < 4 ? direction : direction + 1; /* of 3 x 3, without the middle */
    uint32_t x = cell % w->width + place % 3 - 1, y = cell / w->width + place / 3 - 1;
    return x < w->width && y < w->height ? y * w->width + x : cell;
}

SIMT_FN uint32_t neighbours_alive(const struct world *w, uint32_t cell)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t other = neighbour(w, cell, i);
        quarry_object agent = {other == cell ? 0 : simt_load_u64(agent_of(w, other), relaxed)};
        count += quarry_object_is(agent, alive);
    }
    return count;
}

/* The counter's next number.  Lanes that come together get theirs by one atomic. */
SIMT_FN uint32_t count_on(const struct world *w)
{
    uint32_t group = simt_match_u64(simt_active(), (uint64_t)(uintptr_t)w->counter), number = 0;
    if (simt_rank(group) == 0)
        number = simt_add_u32(w->counter, simt_popc_u32(group), relaxed);
    return simt_shuffle_u32(group, number, simt_ctz_u32(group)) + simt_rank(group);
}

KERNEL(gol_begin, struct world, w)
{
    for (uint32_t i = simt_thread(); i < w.width * w.height; i += simt_threads()) {
        quarry_object o = new_object(w.backing, cell);
        if (!quarry_object_is_null(o))
            *cell_agent(o) = quarry_object_null();
        w.cells[i] = quarry_object_null();
    }
    for (uint32_t i = simt_thread(); i < w.first_count; i += simt_threads())
        (void)make_alive(&w, 0);
}

DO_ALL(gol_place, cell, struct world, w, self)
{
    w->cells[count_on(w)] = self;
}

DO_ALL(gol_settle, alive, struct world, w, self)
{
    *agent_cell(self) = w->first[count_on(w)];
    if (!quarry_object_is_null(w->cells[*agent_cell(self)]))
        put(w, *agent_cell(self), self);
}

DO_ALL(gol_candidates, candidate, struct world, w, self)
{
    uint32_t count = neighbours_alive(w, *agent_cell(self));
    *agent_action(self) = count == 3 ? SPAWN : count == 0 ? VANISH : NOTHING;
}

DO_ALL(gol_lives, alive, struct world, w, self)
{
    uint32_t count = neighbours_alive(w, *agent_cell(self));
    *agent_action(self) = count == 2 || count == 3 ? NOTHING : DIE;
}

DO_ALL(gol_spawn, candidate, struct world, w, self)
{
    if (*agent_action(self) == NOTHING)
        return;
    put(w, *agent_cell(self),
        *agent_action(self) == SPAWN ? make_alive(w, *agent_cell(self)) : quarry_object_null());
    delete_object(w->backing, self);
}

DO_ALL(gol_die, alive, struct world, w, self)
{
    if (*agent_action(self) == DIE) {
        put(w, *agent_cell(self), make_candidate(w, *agent_cell(self)));
        delete_object(w->backing, self);
        return;
    }
    for (uint32_t i = 0; i < 8 && *alive_is_new(self); i++) {
        uint32_t other = neighbour(w, *agent_cell(self), i);
        if (simt_load_u64(agent_of(w, other), relaxed) != 0)
            continue;
        quarry_object o = make_candidate(w, other);
        if (simt_cas_u64(agent_of(w, other), 0, o.bits, release) != 0) /* another was faster */
            delete_object(w->backing, o);
    }
    *alive_is_new(self) = 0;
}

DO_ALL(gol_look, alive, struct world, w, self)
{
    uint32_t place = count_on(w);
    if (place < w->width * w->height)
        w->seen[place] = *agent_cell(self);
}
