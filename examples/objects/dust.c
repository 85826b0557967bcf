/* SPDX-License-Identifier: Apache-2.0 */
#include "dust.h"
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Has each mote of each speed moved that often? */
static int is_right(struct objects *o, uint32_t motes, uint32_t moves)
{
    float *places = room(motes * sizeof *places);
    uint64_t of_speed[7] = {0}, wrong = 0;
    wrong += read_field(o, "mote", "speed", places, motes) != motes;
    for (uint32_t i = 0; i < motes; i++)
        of_speed[(int)places[i] % 7]++;
    wrong += read_field(o, "mote", "place", places, motes) != motes;
    for (uint32_t i = 0; i < motes; i++) {
        const float speed = places[i] / (float)moves;
        wrong += speed != (float)(int)speed || of_speed[(int)speed % 7]-- == 0;
    }
    free(places);
    return wrong == 0;
}

/* The time of a do-all, or of the loop, in microseconds: not of a first one. */
static double per_step(const struct settings *s, struct objects *o, const struct simt_kernel *loop,
                       const struct dust *all)
{
    double time = 0;
    for (int timed = 0; timed < 2; timed++) {
        const uint32_t times = timed ? s->steps : 1;
        const struct stopwatch watch = start(&s->target);
        for (uint32_t i = 0; i < times; i++)
            if (loop)
                must(quarry_launch(loop, &s->target, quarry_grid_for(all->motes), all));
            else
                do_all(o, VIEWS(dust_move), all);
        const double all_times = stop(watch);
        time = times ? all_times / times : 0;
    }
    return time;
}

int dust(const struct settings *s)
{
    const uint32_t motes = s->bodies;
    const uint64_t most[] = {[quarry_number_of_mote] = motes};
    struct objects o = make_objects(s, &motes_schema, most, motes / QUARRY_CAPACITY_OF(mote) + 1);
    struct dust all = {o.backing, make(&s->target, motes * sizeof(float)),
                       make(&s->target, motes * sizeof(float)), motes};
    int wrong = 0;
    launch(&o, VIEWS(dust_begin), motes < 65536 ? motes : 65536, &all);
    const struct simt_kernel *loop = VIEWS(dust_loop)[s->backing];
    const double loop_time = per_step(s, &o, loop, &all), time = per_step(s, &o, NULL, &all);
    stay(&o, "mote"); /* from here on backing objects looks no more for what there is */
    const double stayed_time = per_step(s, &o, NULL, &all);
    wrong |= was_full(&o);
    if (s->check && !is_right(&o, motes, 2 * (s->steps + 1))) {
        puts("objects: dust is wrong: not every mote has moved as often as it must");
        wrong = 1;
    }
    if (!wrong)
        printf("dust: %" PRIu32 " objects, %" PRIu32
               " times; %.1f us, %.1f with one snapshot, a loop over arrays %.1f us: %.2f times, "
               "%.1f us more%s\n",
               motes, s->steps, time, stayed_time, loop_time, loop_time > 0 ? time / loop_time : 0,
               time - loop_time, s->check ? "; each was visited each time" : "");
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, all.places));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, all.speeds));
    free_objects(&o);
    return wrong;
}
