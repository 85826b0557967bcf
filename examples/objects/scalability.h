/* SPDX-License-Identifier: Apache-2.0 */
/* linux-scalability: each thread makes objects of 64 bytes in one kernel, and deletes them in the next. */
#ifndef SCALABILITY_H
#define SCALABILITY_H

#include "backing.h"

#define THING_NUMBERS 8u
#define THING(FIELD, T) FIELD(T, double, number, THING_NUMBERS)
#define SCALABILITY(TYPE) TYPE(thing, object, THING)
QUARRY_SCHEMA(scalability, SCALABILITY)

struct things {
    struct backing backing;
    quarry_object *kept; /* each thread's first, then each one's second, ... */
    uint64_t *faults;    /* objects that are none, or that have the number of another */
    uint32_t threads;
    uint32_t each;
};

/* What is measured against: a word for each object is stored, and none is made. */
VIEWS_DECLARE(scalability_store);
VIEWS_DECLARE(scalability_make);
/* Each object gets numbers of its own; and has them still, so it is there once. */
VIEWS_DECLARE(scalability_mark);
VIEWS_DECLARE(scalability_compare);
VIEWS_DECLARE(scalability_delete);

#endif
