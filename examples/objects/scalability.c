/* SPDX-License-Identifier: Apache-2.0 */
#include "scalability.h"
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (63ull << 18) /* objects that the heap of DynaSOAr's program has room for */

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

static int by_size(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static double median(double *times, uint32_t count)
{
    qsort(times, count, sizeof *times, by_size);
    return times[count / 2];
}

static double timed(struct objects *o, const struct simt_kernel *const *views, const struct things *things)
{
    const struct stopwatch watch = start(&o->settings->target);
    launch(o, views, things->threads, things);
    return stop(watch);
}

int scalability(const struct settings *s)
{
    const uint64_t count = (uint64_t)s->threads * s->each;
    const uint64_t most[] = {[quarry_number_of_thing] = count};
    const uint64_t pages = (count + QUARRY_CAPACITY_OF(thing) - 1) / QUARRY_CAPACITY_OF(thing);
    const int is_full = s->check || s->picture; /* a heap that they fill: every slot is used */
    const uint64_t usual = ROOM / QUARRY_CAPACITY_OF(thing), spare = 2 * pages > usual ? 2 * pages : usual;
    struct objects o = make_objects(s, &scalability_schema, most, is_full ? pages : spare);
    uint64_t wrong = 0, made = 0, left = 0;
    struct things things = {o.backing, make(&s->target, count * sizeof *things.kept),
                            make(&s->target, sizeof *things.faults), s->threads, s->each};
    double *times = room(3 * (uint64_t)s->rounds * sizeof *times);
    double *make_times = times, *delete_times = times + s->rounds, *store_times = delete_times + s->rounds;
    must(quarry_memory_fill(&s->target, things.faults, 0, sizeof *things.faults));
    for (uint32_t round = 0; round < s->rounds && wrong == 0; round++) {
        store_times[round] = timed(&o, VIEWS(scalability_store), &things);
        make_times[round] = timed(&o, VIEWS(scalability_make), &things);
        if (s->check) {
            launch(&o, VIEWS(scalability_mark), things.threads, &things);
            launch(&o, VIEWS(scalability_compare), things.threads, &things);
            must(quarry_memory_copy(&s->target, &wrong, things.faults, sizeof wrong));
        }
        if (s->picture && round == 0) {
            struct made *all = list(s, &things, count);
            draw_memory(s, all, count);
            free(all);
        }
        made = living(&o);
        delete_times[round] = timed(&o, VIEWS(scalability_delete), &things);
        left = living(&o);
        wrong += (made != count) + (left != 0);
    }
    if (wrong == 0)
        wrong = (uint64_t)was_full(&o);
    if (wrong)
        printf("objects: linux-scalability is wrong: %" PRIu64 " of %" PRIu64 " objects, %" PRIu64
               " left, %" PRIu64 " faults\n",
               made, count, left, wrong);
    else
        printf("linux-scalability: %" PRIu32 " threads x %" PRIu32
               " objects of 64 bytes; made in %.1f us, deleted in %.1f; a store for each %.1f us%s\n",
               s->threads, s->each, median(make_times, s->rounds), median(delete_times, s->rounds),
               median(store_times, s->rounds), s->check ? "; every slot once" : "");
    free(times);
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, things.kept));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, things.faults));
    free_objects(&o);
    return wrong != 0;
}
