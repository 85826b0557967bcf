/* SPDX-License-Identifier: Apache-2.0 */
/* Wa-tor by objects, after DynaSOAr's application (Springer and Masuhara, ECOOP 2019): fish and sharks in a sea of
 * cells that has no edge.  A cell is an object that may have one agent. */
#ifndef WATOR_H
#define WATOR_H

#include "backing.h"
#include "draw.h"

#define CELL(FIELD, T)                                                                                       \
    FIELD(T, quarry_object, neighbour, 4)                                                                    \
    FIELD(T, quarry_object, agent)                                                                           \
    FIELD(T, uint32_t, number)                                                                               \
    FIELD(T, unsigned char, request, 4)
#define AGENT(FIELD, T)                                                                                      \
    FIELD(T, quarry_object, cell)                                                                            \
    FIELD(T, quarry_object, next_cell)                                                                       \
    FIELD(T, uint32_t, egg_timer)
#define FISH(FIELD, T)
#define SHARK(FIELD, T) FIELD(T, uint32_t, energy)
#define WATOR(TYPE)                                                                                          \
    TYPE(cell, object, CELL)                                                                                 \
    TYPE(agent, object, AGENT, abstract)                                                                     \
    TYPE(fish, agent, FISH)                                                                                  \
    TYPE(shark, agent, SHARK)
QUARRY_SCHEMA(wator, WATOR)

enum { LEFT, RIGHT, UP, DOWN, DIRECTIONS };
#define OPPOSITE(direction) ((direction) ^ 1u)

#define EGG_TIMER 4u /* who moves with a greater one leaves a new agent behind */
#define ENERGY 2u    /* of a new shark: with more, sharks eat all fish and then starve */
#define FOOD 4u      /* energy of a fish for who eats it */

struct sea {
    struct backing backing;
    quarry_object *cells; /* row by row */
    uint64_t *states;     /* of all cells, for the host */
    uint32_t width, height;
    uint32_t seed;
    uint32_t turn; /* of draws: 0 at first, and another one in each do-all that draws */
};

VIEWS_DECLARE(wator_begin);  /* a thread for each cell: makes it, and its agent */
VIEWS_DECLARE(wator_join);   /* do-alls: cells get their neighbours */
VIEWS_DECLARE(wator_clear);  /* cells forget all requests */
VIEWS_DECLARE(wator_choose); /* cells choose one that asked */
VIEWS_DECLARE(wator_fish_ask);
VIEWS_DECLARE(wator_fish_move);
VIEWS_DECLARE(wator_shark_ask);
VIEWS_DECLARE(wator_shark_move);
VIEWS_DECLARE(wator_look); /* cells write their states */

/* The state of a cell: what lives there, its egg timer, and a shark's energy. */
enum { WATER_STATE, FISH_STATE, SHARK_STATE };
SIMT_FN uint64_t state_of(uint64_t life, uint32_t egg_timer, uint32_t energy)
{
    return life | (uint64_t)egg_timer << 2 | (uint64_t)energy << 32;
}

/* Of a cell at first: a quarter of them has fish, a quarter sharks. */
SIMT_FN uint64_t state_at_first(uint32_t cell, uint32_t seed)
{
    uint32_t drawn = draw(seed, cell, 0), timer = (drawn >> 8) % 4u;
    return drawn % 4u == 0   ? state_of(FISH_STATE, timer, 0)
           : drawn % 4u == 1 ? state_of(SHARK_STATE, timer, ENERGY)
                             : state_of(WATER_STATE, 0, 0);
}

/* One of the directions that are set as bits in `which`, which is not 0. */
SIMT_FN uint32_t one_of(uint32_t which, uint32_t drawn)
{
    for (uint32_t skip = drawn % simt_popc_u32(which); skip > 0; skip--)
        which &= which - 1u;
    return simt_ctz_u32(which);
}

/* The number of the cell in that direction. */
SIMT_FN uint32_t beside(uint32_t cell, uint32_t direction, uint32_t width, uint32_t height)
{
    uint32_t x = cell % width, y = cell / width;
    if (direction == LEFT)
        x = x ? x - 1u : width - 1u;
    if (direction == RIGHT)
        x = x + 1u < width ? x + 1u : 0u;
    if (direction == UP)
        y = y ? y - 1u : height - 1u;
    if (direction == DOWN)
        y = y + 1u < height ? y + 1u : 0u;
    return y * width + x;
}

#endif
