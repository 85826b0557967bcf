/* SPDX-License-Identifier: Apache-2.0 */
#include "wator.h"

/* Puts an agent into a cell. */
SIMT_FN void put(quarry_object agent, quarry_object cell)
{
    *agent_cell(agent) = cell;
    *cell_agent(cell) = agent;
}

/* A new agent in a cell; an empty cell if the heap is full. */
SIMT_FN void put_fish(const struct sea *s, quarry_object cell, uint32_t egg_timer)
{
    quarry_object o = new_object(s->backing, fish);
    *cell_agent(cell) = o;
    if (quarry_object_is_null(o))
        return;
    *agent_egg_timer(o) = egg_timer;
    put(o, cell);
}

SIMT_FN void put_shark(const struct sea *s, quarry_object cell, uint32_t egg_timer)
{
    quarry_object o = new_object(s->backing, shark);
    *cell_agent(cell) = o;
    if (quarry_object_is_null(o))
        return;
    *agent_egg_timer(o) = egg_timer;
    *shark_energy(o) = ENERGY;
    put(o, cell);
}

KERNEL(wator_begin, struct sea, s)
{
    for (uint32_t i = simt_thread(); i < s.width * s.height; i += simt_threads()) {
        uint64_t state = state_at_first(i, s.seed);
        uint32_t egg_timer = (uint32_t)state >> 2;
        quarry_object self = new_object(s.backing, cell);
        s.cells[i] = self;
        if (quarry_object_is_null(self))
            continue;
        *cell_number(self) = i;
        *cell_agent(self) = quarry_object_null();
        if (state % 4u == FISH_STATE)
            put_fish(&s, self, egg_timer);
        if (state % 4u == SHARK_STATE)
            put_shark(&s, self, egg_timer);
    }
}

DO_ALL(wator_join, cell, struct sea, s, self)
{
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        *cell_neighbour_at(self, d) = s->cells[beside(*cell_number(self), d, s->width, s->height)];
}

DO_ALL(wator_clear, cell, struct sea, s, self)
{
    (void)s;
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        *cell_request_at(self, d) = 0;
}

/* Asks one of the cells in these directions, if there are any.  Who gets no answer stays. */
SIMT_FN void ask(const struct sea *s, quarry_object self, uint32_t which)
{
    quarry_object cell = *agent_cell(self);
    *agent_next_cell(self) = cell;
    if (which == 0)
        return;
    uint32_t d = one_of(which, draw(s->seed, *cell_number(cell), s->turn));
    *cell_request_at(*cell_neighbour_at(cell, d), OPPOSITE(d)) = 1;
}

DO_ALL(wator_fish_ask, fish, struct sea, s, self)
{
    uint32_t empty = 0;
    for (uint32_t d = 0; d < DIRECTIONS; d++) {
        quarry_object agent = *cell_agent(*cell_neighbour_at(*agent_cell(self), d));
        empty |= (uint32_t)quarry_object_is_null(agent) << d;
    }
    ++*agent_egg_timer(self);
    ask(s, self, empty);
}

DO_ALL(wator_shark_ask, shark, struct sea, s, self)
{
    uint32_t empty = 0, with_fish = 0;
    for (uint32_t d = 0; d < DIRECTIONS; d++) {
        quarry_object agent = *cell_agent(*cell_neighbour_at(*agent_cell(self), d));
        empty |= (uint32_t)quarry_object_is_null(agent) << d;
        with_fish |= (uint32_t)quarry_object_is(agent, fish) << d;
    }
    ++*agent_egg_timer(self);
    --*shark_energy(self);
    if (*shark_energy(self) == 0) /* who dies asks for nothing */
        ask(s, self, 0);
    else
        ask(s, self, with_fish ? with_fish : empty);
}

DO_ALL(wator_choose, cell, struct sea, s, self)
{
    uint32_t which = 0;
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        which |= (uint32_t)*cell_request_at(self, d) << d;
    if (which == 0)
        return;
    uint32_t d = one_of(which, draw(s->seed, *cell_number(self), s->turn));
    *agent_next_cell(*cell_agent(*cell_neighbour_at(self, d))) = self;
}

/* Is it time for a new agent behind one that moves? */
SIMT_FN int breeds(quarry_object self)
{
    if (*agent_egg_timer(self) <= EGG_TIMER)
        return 0;
    *agent_egg_timer(self) = 0;
    return 1;
}

DO_ALL(wator_fish_move, fish, struct sea, s, self)
{
    quarry_object from = *agent_cell(self), to = *agent_next_cell(self);
    if (quarry_object_is_same(from, to))
        return;
    *cell_agent(from) = quarry_object_null();
    if (breeds(self))
        put_fish(s, from, 0);
    put(self, to);
}

DO_ALL(wator_shark_move, shark, struct sea, s, self)
{
    quarry_object from = *agent_cell(self), to = *agent_next_cell(self);
    if (*shark_energy(self) == 0) {
        *cell_agent(from) = quarry_object_null();
        delete_object(s->backing, self);
        return;
    }
    if (quarry_object_is_same(from, to))
        return;
    quarry_object prey = *cell_agent(to); /* a fish, or none: only one shark got this cell */
    if (!quarry_object_is_null(prey)) {
        *shark_energy(self) += FOOD;
        delete_object(s->backing, prey);
    }
    *cell_agent(from) = quarry_object_null();
    if (breeds(self))
        put_shark(s, from, 0);
    put(self, to);
}

DO_ALL(wator_look, cell, struct sea, s, self)
{
    quarry_object agent = *cell_agent(self);
    uint64_t state = 0;
    if (quarry_object_is(agent, fish))
        state = state_of(FISH_STATE, *agent_egg_timer(agent), 0);
    if (quarry_object_is(agent, shark))
        state = state_of(SHARK_STATE, *agent_egg_timer(agent), *shark_energy(agent));
    s->states[*cell_number(self)] = state;
}
