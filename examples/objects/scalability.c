/* SPDX-License-Identifier: Apache-2.0 */
#include "scalability.h"
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_name(const void *one, const void *other)
{
    uint64_t a = ((const quarry_object *)one)->bits, b = ((const quarry_object *)other)->bits;
    return a < b ? -1 : a > b;
}

/* How many objects are none, or are there twice. */
static uint64_t faults(const struct settings *s, const struct things *things, uint64_t count)
{
    uint64_t wrong = 0;
    quarry_object *names = room(count * sizeof *names);
    must(quarry_memory_copy(&s->target, names, things->kept, count * sizeof *names));
    qsort(names, count, sizeof *names, by_name);
    for (uint64_t i = 0; i < count; i++)
        wrong += quarry_object_is_null(names[i]) || (i && quarry_object_is_same(names[i], names[i - 1]));
    free(names);
    return wrong;
}

int scalability(const struct settings *s)
{
    const uint64_t count = (uint64_t)s->threads * s->each;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    quarry_event *event[3];
    double make_time, delete_time;
    uint64_t made, left, wrong = 0;
    options.target = s->target;
    options.schema = &scalability_schema;
    options.pages =
        (count + QUARRY_CAPACITY_OF(thing) - 1) / QUARRY_CAPACITY_OF(thing); /* every slot, once */
    must(quarry_heap_create(&heap, &options));
    struct things things = {quarry_heap_handle(heap), make(&s->target, count * sizeof *things.kept),
                            s->threads, s->each};
    for (int i = 0; i < 3; i++)
        must(quarry_event_create(&s->target, &event[i]));
    must(quarry_event_record(event[0]));
    must(quarry_launch(&scalability_make, &s->target, quarry_grid_for(s->threads), &things));
    must(quarry_event_record(event[1]));
    if (s->check)
        wrong = faults(s, &things, count);
    must(quarry_object_count(heap, thing, &made));
    must(quarry_event_elapsed(event[0], event[1], &make_time));
    must(quarry_event_record(event[1]));
    must(quarry_launch(&scalability_delete, &s->target, quarry_grid_for(s->threads), &things));
    must(quarry_event_record(event[2]));
    must(quarry_event_elapsed(event[1], event[2], &delete_time));
    must(quarry_object_count(heap, thing, &left));
    must(quarry_heap_check(heap));
    wrong += (made != count) + (left != 0);
    if (wrong)
        printf("objects: linux-scalability is wrong: %" PRIu64 " of %" PRIu64 " objects, %" PRIu64
               " left, %" PRIu64 " faults\n",
               made, count, left, wrong);
    else
        printf("linux-scalability: %" PRIu32 " threads x %" PRIu32
               " objects of 64 bytes; made in %.1f us, deleted in %.1f"
               "%s\n",
               s->threads, s->each, make_time, delete_time, s->check ? "; every slot once" : "");
    for (int i = 0; i < 3; i++)
        must(quarry_event_destroy(event[i]));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, things.kept));
    must(quarry_heap_destroy(heap));
    return wrong != 0;
}
