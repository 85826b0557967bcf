/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's side of this example and its kernels share. */
#ifndef PARTICLES_H
#define PARTICLES_H

#include "quarry/device.h"

#define CELL (1u << 16) /* side of a cell, in units of position */
#define FRAME_BYTES 8192u
#define FRAME_PARTICLES 255u

enum species { ATOM, ION, ELECTRON, SPECIES };

/* Lists of a cell: one for each species, and one of those that leave it in this step. */
enum { LEAVING = SPECIES, LISTS };

struct particle {
    uint32_t id;       /* 0 .. 2 * atoms - 1 */
    uint32_t electron; /* atom: the id of the electron that it holds */
    uint32_t species;
    uint32_t energy;
    uint32_t x, y;
    int32_t vx, vy; /* in a step; less than a cell */
};

struct frame {
    struct frame *next;
    uint64_t unused[3];
    struct particle particle[FRAME_PARTICLES];
};
SIMT_STATIC_ASSERT(sizeof(struct frame) == FRAME_BYTES, "a frame has the size of PIConGPU's");

/* A stack of particles: the top frame has `fill` of them, all others are full.  Empty: no top, and no room.
 */
struct list {
    struct frame *top;
    uint32_t fill;
};

/* What a step leaves to the host. */
struct tally {
    uint64_t population[SPECIES];
    uint64_t frames;
    uint64_t energy;
    uint64_t wrong; /* particles in the wrong list, ids that are not there just once */
    uint64_t lost;  /* particles for which there was no frame */
    /* Of the frames, those of each list; with APART. */
    uint64_t frames_of[LISTS];
};

/* Argument of all kernels.  Without APART they take the beginning of it. */
struct simulation {
    struct quarry_handle heap;
    struct list *list; /* LISTS for each cell */
    struct tally *tally;
    uint32_t *seen; /* how often each id was; all 0 between two checks */
    uint32_t side;  /* the world has side * side cells, and its edges meet */
    uint32_t atoms; /* at the beginning */
    uint32_t step;  /* from 1 */
    uint32_t steps;
    uint32_t forget; /* discard: the first of each cell's lists to be emptied */
#ifdef APART
    struct quarry_handle ring[LISTS]; /* of each list; instead of the heap */
#endif
};

#endif
