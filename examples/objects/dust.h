/* SPDX-License-Identifier: Apache-2.0 */
/* What a do-all costs beside a loop over arrays: objects that move at their own speed. */
#ifndef DUST_H
#define DUST_H

#include "backing.h"

#define MOTE(FIELD, T) FIELD(T, float, place) FIELD(T, float, speed)
#define MOTES(TYPE) TYPE(mote, object, MOTE)
QUARRY_SCHEMA(motes, MOTES)

struct dust {
    struct backing backing;
    float *places, *speeds; /* arrays of as many numbers as there are motes */
    uint32_t motes;
};

VIEWS_DECLARE(dust_begin); /* makes all motes */
VIEWS_DECLARE(dust_move);  /* a do-all */
VIEWS_DECLARE(dust_loop);  /* the same with the arrays; a thread for each number */

/* A small whole number, so that sums are exact. */
SIMT_FN float speed_of(uint32_t mote)
{
    return (float)(mote % 7u);
}

#endif
