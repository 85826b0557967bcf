/* SPDX-License-Identifier: Apache-2.0 */
/* linux-scalability: each thread makes objects of 64 bytes in one kernel, and deletes them in the next. */
#ifndef SCALABILITY_H
#define SCALABILITY_H

#include "backing.h"

#define THING(FIELD, T) FIELD(T, double, number, 8)
#define SCALABILITY(TYPE) TYPE(thing, object, THING)
QUARRY_SCHEMA(scalability, SCALABILITY)

struct things {
    struct backing backing;
    quarry_object *kept; /* each thread's first, then each one's second, ... */
    uint32_t threads;
    uint32_t each;
};

VIEWS_DECLARE(scalability_make);
VIEWS_DECLARE(scalability_delete);

#endif
