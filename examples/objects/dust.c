/* SPDX-License-Identifier: Apache-2.0 */
#include "dust.h"
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Has each mote of each speed moved as often as it must? */
static int is_right(struct objects *o, const struct settings *s, uint32_t motes)
{
    float *places = room(motes * sizeof *places);
    uint64_t of_speed[7] = {0}, wrong = 0;
    wrong += read_field(o, "mote", "speed", places, motes) != motes;
    for (uint32_t i = 0; i < motes; i++)
        of_speed[(int)places[i] % 7]++;
    wrong += read_field(o, "mote", "place", places, motes) != motes;
    for (uint32_t i = 0; i < motes; i++) {
        const float speed = places[i] / (float)(s->steps + 1);
        wrong += speed != (float)(int)speed || of_speed[(int)speed % 7]-- == 0;
    }
    free(places);
    return wrong == 0;
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
    struct stopwatch watch;
    double time = 0, loop_time = 0;
    for (int timed = 0; timed < 2; timed++) { /* neither time is of a first run */
        const uint32_t times = timed ? s->steps : 1;
        watch = start(&s->target);
        for (uint32_t i = 0; i < times; i++)
            must(quarry_launch(loop, &s->target, quarry_grid_for(motes), &all));
        loop_time = stop(watch) / (times ? times : 1);
        watch = start(&s->target);
        for (uint32_t i = 0; i < times; i++)
            do_all(&o, VIEWS(dust_move), &all);
        time = stop(watch) / (times ? times : 1);
    }
    wrong |= was_full(&o);
    if (s->check && !is_right(&o, s, motes)) {
        puts("objects: dust is wrong: not every mote has moved as often as it must");
        wrong = 1;
    }
    if (!wrong)
        printf("dust: %" PRIu32 " objects, %" PRIu32
               " times; %.1f us, a loop over arrays %.1f us: %.2f times, %.1f us more%s\n",
               motes, s->steps, time, loop_time, loop_time > 0 ? time / loop_time : 0, time - loop_time,
               s->check ? "; each was visited each time" : "");
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, all.places));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, all.speeds));
    free_objects(&o);
    return wrong;
}
