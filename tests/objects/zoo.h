/* SPDX-License-Identifier: Apache-2.0 */
/* Types whose blocks of 64 bytes have few slots: 64, 3, 2 and 1. */
#ifndef QUARRY_TESTS_OBJECTS_ZOO_H
#define QUARRY_TESTS_OBJECTS_ZOO_H

#include "quarry/schema.h"

#define MITE(FIELD, T) FIELD(T, unsigned char, mark)
#define ANIMAL(FIELD, T) FIELD(T, uint64_t, stamp)
#define CAT(FIELD, T) FIELD(T, uint32_t, lives, 3)
#define HORSE(FIELD, T) FIELD(T, quarry_object, rider) FIELD(T, double, speed) FIELD(T, uint64_t, hoof)
#define PEGASUS(FIELD, T) FIELD(T, uint64_t, wing, 3)
#define ZOO(TYPE)                                                                                            \
    TYPE(mite, object, MITE)                                                                                 \
    TYPE(animal, object, ANIMAL, abstract)                                                                   \
    TYPE(cat, animal, CAT)                                                                                   \
    TYPE(horse, animal, HORSE)                                                                               \
    TYPE(pegasus, horse, PEGASUS)
QUARRY_SCHEMA(zoo, ZOO)

SIMT_STATIC_ASSERT(QUARRY_SCHEMA_BLOCK_BYTES == 64 && QUARRY_CAPACITY_OF(mite) == 64 &&
                       QUARRY_CAPACITY_OF(cat) == 3 && QUARRY_CAPACITY_OF(horse) == 2 &&
                       QUARRY_CAPACITY_OF(pegasus) == 1,
                   "blocks have few slots");

#endif
