/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that create, use and delete objects of several types. */
#ifndef QUARRY_TESTS_OBJECTS_OBJECT_KERNELS_H
#define QUARRY_TESTS_OBJECTS_OBJECT_KERNELS_H

#include "objects/zoo.h"
#include "quarry/object.h"

enum objects_count {
    OBJECTS_WRONG,   /* an object that is not as its creator left it */
    OBJECTS_CREATED, /* and how often none was */
    OBJECTS_NONE,
    OBJECTS_VISITED, /* by a do-all */
    OBJECTS_SEEN,    /* by quarry_object_next */
    OBJECTS_COUNTS
};

struct objects_case {
    struct quarry_handle heap;
    uint32_t *counts;    /* OBJECTS_COUNTS */
    uint32_t *visits;    /* of each stamp */
    quarry_object *kept; /* of each thread */
    uint32_t rounds;
    uint32_t hold; /* atomics while a lane has an object */
    uint32_t
        number; /* of the type of objects_fill; or of all that objects_mixed creates, if it is not abstract */
};

SIMT_KERNEL_DECLARE(objects_rounds);
SIMT_KERNEL_DECLARE(objects_fill);      /* each thread creates one object */
SIMT_KERNEL_DECLARE(objects_fill_many); /* each thread `rounds` cats by one call */
SIMT_KERNEL_DECLARE(objects_mixed);     /* each thread one of some type, whose stamp is its number */
SIMT_KERNEL_DECLARE(objects_drain);     /* and deletes what another created */
SIMT_KERNEL_DECLARE(objects_gone);      /* a warp: who has deleted its mite meets it no more */
SIMT_KERNEL_DECLARE(objects_freed);     /* the same of blocks of malloc */
SIMT_KERNEL_DECLARE(objects_walk);      /* one thread goes over all animals */
SIMT_KERNEL_DECLARE(objects_mistakes);  /* of deletes: of an object of kept[0], a cat, and of no object */
SIMT_KERNEL_DECLARE(objects_together);  /* all threads delete kept[0] */
SIMT_KERNEL_DECLARE(objects_beside);    /* thread 0 deletes kept[hold], the others kept[1] */
SIMT_KERNEL_DECLARE(objects_filled);    /* debug mode: one thread looks at what is filled */
SIMT_KERNEL_DECLARE(objects_blocks);    /* blocks of malloc beside objects */

/* Do-alls. */
struct objects_visit {
    struct objects_case c;
    uint32_t creates; /* each visit creates an object of each type, which must not be visited */
    uint32_t deletes;
};
SIMT_KERNEL_DECLARE(objects_visit_animals);
SIMT_KERNEL_DECLARE(objects_visit_horses);
SIMT_KERNEL_DECLARE(objects_visit_mites);

#define OBJECTS_NEW_STAMP 0xffffffffu /* of what a visit creates */

#endif
