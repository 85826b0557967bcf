/* SPDX-License-Identifier: Apache-2.0 */
/* The types of the paper's structure: 56, 64, 68 and 33 bytes. */
#ifndef QUARRY_TESTS_OBJECTS_STRUCTURE_H
#define QUARRY_TESTS_OBJECTS_STRUCTURE_H

#include "quarry/schema.h"

#define NODE_BASE(FIELD, T)                                                                                  \
    FIELD(T, quarry_object, spring, 5)                                                                       \
    FIELD(T, float, x)                                                                                       \
    FIELD(T, float, y)                                                                                       \
    FIELD(T, int32_t, distance)                                                                              \
    FIELD(T, int32_t, spring_count)
#define ANCHOR(FIELD, T)
#define PULL(FIELD, T) FIELD(T, float, velocity, 2)
#define NODE(FIELD, T) FIELD(T, float, velocity, 2) FIELD(T, float, mass)
#define SPRING(FIELD, T)                                                                                     \
    FIELD(T, quarry_object, end, 2)                                                                          \
    FIELD(T, float, factor)                                                                                  \
    FIELD(T, float, length)                                                                                  \
    FIELD(T, float, force)                                                                                   \
    FIELD(T, float, limit)                                                                                   \
    FIELD(T, char, flag)
#define STRUCTURE(TYPE)                                                                                      \
    TYPE(node_base, object, NODE_BASE, abstract)                                                             \
    TYPE(anchor, node_base, ANCHOR)                                                                          \
    TYPE(pull, anchor, PULL)                                                                                 \
    TYPE(node, node_base, NODE)                                                                              \
    TYPE(spring, object, SPRING)
QUARRY_SCHEMA(structure, STRUCTURE)

#endif
