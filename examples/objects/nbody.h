/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that attract each other, after DynaSOAr's application (Springer and Masuhara, ECOOP 2019): in each step
 * each one goes over all others. */
#ifndef NBODY_H
#define NBODY_H

#include "backing.h"
#include "draw.h"

#define BODY(FIELD, T)                                                                                       \
    FIELD(T, float, position, 2)                                                                             \
    FIELD(T, float, velocity, 2)                                                                             \
    FIELD(T, float, force, 2)                                                                                \
    FIELD(T, float, mass)
#define NBODY(TYPE) TYPE(body, object, BODY)
QUARRY_SCHEMA(nbody, NBODY)

#define GRAVITY 6.673e-11f
#define SOFTENING 0.05f /* added to the square of each distance */
#define TIME_STEP 0.02f

struct space {
    struct backing backing;
    uint32_t bodies;
    uint32_t seed;
};

VIEWS_DECLARE(nbody_begin); /* a thread for each body */
VIEWS_DECLARE(nbody_pull);  /* do-alls: the force of all others */
VIEWS_DECLARE(nbody_move);

#endif
