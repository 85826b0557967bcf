/* SPDX-License-Identifier: Apache-2.0 */
/* Conway's game of life by objects, after DynaSOAr's application (Springer and Masuhara, ECOOP 2019).  A cell of
 * the world is an object that may have an agent: it is alive, or it is a candidate, a dead cell beside one that is
 * alive. */
#ifndef GOL_H
#define GOL_H

#include "backing.h"

#define CELL(FIELD, T) FIELD(T, quarry_object, agent)
#define AGENT(FIELD, T) FIELD(T, uint32_t, cell) FIELD(T, unsigned char, action)
#define ALIVE(FIELD, T) FIELD(T, unsigned char, is_new)
#define CANDIDATE(FIELD, T)
#define GOL(TYPE)                                                                                            \
    TYPE(cell, object, CELL)                                                                                 \
    TYPE(agent, object, AGENT, abstract)                                                                     \
    TYPE(alive, agent, ALIVE)                                                                                \
    TYPE(candidate, agent, CANDIDATE)
QUARRY_SCHEMA(gol, GOL)

enum action { NOTHING, SPAWN, VANISH, DIE };

struct world {
    struct backing backing;
    quarry_object *cells; /* row by row */
    uint32_t width, height;
    const uint32_t *first; /* cells that are alive at first */
    uint32_t first_count;
    uint32_t *seen; /* cells in which agents are alive, for the host; of --check */
    uint32_t *counter;
};

VIEWS_DECLARE(gol_begin);      /* makes cells, and agents that are alive */
VIEWS_DECLARE(gol_place);      /* do-alls: cells get their places in the order in which they lie in memory */
VIEWS_DECLARE(gol_settle);     /* and so do agents */
VIEWS_DECLARE(gol_candidates); /* candidates decide */
VIEWS_DECLARE(gol_lives);      /* those that are alive decide */
VIEWS_DECLARE(gol_spawn);      /* candidates do it */
VIEWS_DECLARE(gol_look);       /* those that are alive tell their cells */
VIEWS_DECLARE(gol_die);        /* those that are alive do it; new ones put candidates around */

#endif
