/* SPDX-License-Identifier: Apache-2.0 */
#include "scalability.h"
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An object, and who made it. */
struct made {
    quarry_object object;
    uint32_t thread;
};

static int by_place(const void *one, const void *other)
{
    uint64_t a = ((const struct made *)one)->object.bits, b = ((const struct made *)other)->object.bits;
    return a < b ? -1 : a > b;
}

/* All objects, in the order of memory.  The caller frees it. */
static struct made *list(const struct settings *s, const struct things *things, uint64_t count)
{
    quarry_object *kept = room(count * sizeof *kept);
    struct made *made = room(count * sizeof *made);
    must(quarry_memory_copy(&s->target, kept, things->kept, count * sizeof *kept));
    for (uint64_t i = 0; i < count; i++) {
        made[i].object = kept[i];
        made[i].thread = (uint32_t)(i % s->threads);
    }
    free(kept);
    qsort(made, count, sizeof *made, by_place);
    return made;
}

/* How many objects are none, or are there twice. */
static uint64_t faults(const struct made *made, uint64_t count)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        wrong += quarry_object_is_null(made[i].object) ||
                 (i && quarry_object_is_same(made[i].object, made[i - 1].object));
    return wrong;
}

/* Draws memory: a pixel for each slot, as bright as the number of the thread is great. */
#define SIDE 1024u
static void draw_memory(const struct settings *s, const struct made *made, uint64_t count)
{
    const uint32_t width = count < SIDE ? (uint32_t)count : SIDE;
    const uint32_t height = (uint32_t)((count + width - 1u) / width);
    unsigned char *pixels = room((uint64_t)width * height), colours[256][3];
    for (int i = 0; i < 256; i++)
        memset(colours[i], i, 3);
    for (uint64_t i = 0; i < count; i++)
        pixels[i] = (unsigned char)((uint64_t)made[i].thread * 255u / s->threads);
    draw_picture(s->picture, width, height, pixels, (const unsigned char(*)[3])colours, 256);
    free(pixels);
}

int scalability(const struct settings *s)
{
    const uint64_t count = (uint64_t)s->threads * s->each;
    const uint64_t most[] = {[quarry_number_of_thing] = count};
    const uint64_t pages =
        (count + QUARRY_CAPACITY_OF(thing) - 1) / QUARRY_CAPACITY_OF(thing); /* every slot, once */
    struct objects o = make_objects(s, &scalability_schema, most, pages);
    uint64_t wrong = 0;
    struct things things = {o.backing, make(&s->target, count * sizeof *things.kept), s->threads, s->each};
    struct stopwatch watch = start(&s->target);
    launch(&o, VIEWS(scalability_make), s->threads, &things);
    const double make_time = stop(watch);
    if (s->check || s->picture) {
        struct made *all = list(s, &things, count);
        wrong = faults(all, count);
        if (s->picture)
            draw_memory(s, all, count);
        free(all);
    }
    const uint64_t made = living(&o);
    watch = start(&s->target);
    launch(&o, VIEWS(scalability_delete), s->threads, &things);
    const double delete_time = stop(watch);
    const uint64_t left = living(&o);
    wrong += (uint64_t)was_full(&o);
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
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, things.kept));
    free_objects(&o);
    return wrong != 0;
}
