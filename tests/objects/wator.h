/* SPDX-License-Identifier: Apache-2.0 */
/* The types of the paper's wa-tor: 93, 68 and 72 bytes. */
#ifndef QUARRY_TESTS_OBJECTS_WATOR_H
#define QUARRY_TESTS_OBJECTS_WATOR_H

#include "quarry/schema.h"

#define CELL(FIELD, T)                                                                                       \
    FIELD(T, quarry_object, neighbour, 4)                                                                    \
    FIELD(T, quarry_object, agent)                                                                           \
    FIELD(T, uint64_t, random, 6)                                                                            \
    FIELD(T, unsigned char, request, 5)
#define AGENT(FIELD, T)                                                                                      \
    FIELD(T, quarry_object, cell)                                                                            \
    FIELD(T, quarry_object, next_cell)                                                                       \
    FIELD(T, uint64_t, random, 6)
#define FISH(FIELD, T) FIELD(T, uint32_t, egg_timer)
#define SHARK(FIELD, T) FIELD(T, uint32_t, energy) FIELD(T, uint32_t, egg_timer)
#define WATOR(TYPE)                                                                                          \
    TYPE(cell, object, CELL)                                                                                 \
    TYPE(agent, object, AGENT, abstract)                                                                     \
    TYPE(fish, agent, FISH)                                                                                  \
    TYPE(shark, agent, SHARK)
QUARRY_SCHEMA(wator, WATOR)

#endif
