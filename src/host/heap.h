/* SPDX-License-Identifier: Apache-2.0 */
/* A heap on the host, for the files that look into one. */
#ifndef QUARRY_HOST_HEAP_H
#define QUARRY_HOST_HEAP_H

#include "device/heap_kernels.h"
#include "host/heap_plan.h"
#include "host/pool.h"

struct quarry_heap {
    struct pool pool;
    struct heap_header *header; /* the pool's head */
    struct quarry_handle handle;
    struct quarry_policy policy; /* the head's, if the handle has one */
    struct quarry_layout layout;
    const struct quarry_schema *schema; /* NULL: no typed objects */
    uint64_t overhead;                  /* bytes of a block that are not the user's */
    const uint32_t *launch;             /* debug mode: of quarry_launches_enter */
    uint64_t resets;                    /* so far, for snapshots of objects */
    uint32_t turn;                      /* of the next do-all: 0 or 1 */
    int recorded;                       /* the pool's counters name a log */
    int prints;                         /* a table when it is destroyed */
};

/* ---- heap.c ---- */

/* Finishes what frees have put off, before the host asks anything of the idle heap. */
enum quarry_status quarry_heap_settle(const quarry_heap *heap);

/* How many units the heap's blocks lie in; 0 if they are the platform's. */
uint64_t quarry_heap_units(const quarry_heap *heap);

/* Fails for an allocator whose blocks are the platform's.
 *   what  that it can't, to stand behind "allocator NAME" */
enum quarry_status quarry_heap_check_counts(const quarry_heap *heap, const char *what);

/* Are typed objects watched for mistakes: in debug mode? */
static inline int quarry_heap_debugs_objects(const quarry_heap *heap)
{
    return heap->schema && heap->handle.as.objects.fields;
}

/* ---- objects.c ---- */

/* Counts the objects of each type, and blocks of malloc beside them, in an idle heap with a schema.
 *   live   QUARRY_OBJECTS_TYPES counts */
enum quarry_status quarry_objects_tally(const quarry_heap *heap, uint64_t *live, uint64_t *blocks);

/* ---- objects_debug.c ---- */

/* In debug mode: tells kernels where objects have their fields. */
enum quarry_status quarry_objects_begin(const quarry_heap *heap);

/* CORRUPT with a sentence if deletes of typed objects were mistakes. */
enum quarry_status quarry_objects_judge(const quarry_heap *heap);

/* The same, or LEAK with a sentence if there are still objects. */
enum quarry_status quarry_objects_end(const quarry_heap *heap);

/* What these two would say, as lines of text: `out` has room for `bytes`. */
enum quarry_status quarry_objects_report(const quarry_heap *heap, char *out, size_t bytes);

/* ---- totals.c ---- */

/* Prints what an idle heap has counted on stderr, and what debug mode knows. */
void quarry_totals_print(quarry_heap *heap);

#endif
