/* SPDX-License-Identifier: Apache-2.0 */
#include "gol.h"
#include "apps.h"
#include "draw.h"
#include "rle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sequential program: the next state of a world of bytes. */
static void next(const struct settings *s, const unsigned char *now, unsigned char *then)
{
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            uint32_t count = 0;
            for (uint32_t v = y ? y - 1 : 0; v <= y + 1 && v < s->height; v++)
                for (uint32_t u = x ? x - 1 : 0; u <= x + 1 && u < s->width; u++)
                    count += now[v * s->width + u];
            uint32_t self = now[y * s->width + x];
            then[y * s->width + x] = count == 3 || (self && count == 4); /* it has counted itself */
        }
}

/* Are just the right cells alive?
 *   places   room for all cells
 *   seen     the same: which cells an agent was found for */
static int is_right(struct objects *o, const struct settings *s, const unsigned char *right, uint32_t *places,
                    unsigned char *seen)
{
    const uint64_t cells = (uint64_t)s->width * s->height;
    const uint64_t count = read_field(o, "alive", "cell", places, cells);
    uint64_t alive = 0;
    for (uint64_t i = 0; i < cells; i++)
        alive += right[i];
    memset(seen, 0, cells);
    for (uint64_t i = 0; i < count && i < cells; i++)
        if (places[i] >= cells || !right[places[i]] || seen[places[i]]++)
            return 0; /* no agent is there, or a second one */
    return count == alive;
}

/* Who is alive at first: some at random, or copies of a pattern side by side.
 *   state   of all cells, 0 */
static void begin(const struct settings *s, unsigned char *state)
{
    const uint64_t cells = (uint64_t)s->width * s->height;
    if (!s->pattern) {
        for (uint64_t i = 0; i < cells; i++)
            state[i] = draw(s->seed, (uint32_t)i, 0) % 100u < s->percent;
        return;
    }
    struct pattern p = read_pattern(s->pattern);
    const uint32_t wide = s->width / s->copies,
                   high = s->height / s->copies; /* of a copy, with what is around */
    if (p.width > wide || p.height > high) {
        fprintf(stderr,
                "objects: %" PRIu32 " x %" PRIu32 " copies of the pattern need --width %" PRIu64
                " and --height %" PRIu64 " at least\n",
                s->copies, s->copies, (uint64_t)s->copies * p.width, (uint64_t)s->copies * p.height);
        exit(1);
    }
    for (uint32_t row = 0; row < s->copies; row++)
        for (uint32_t column = 0; column < s->copies; column++)
            for (uint32_t y = 0; y < p.height; y++)
                memcpy(state + ((uint64_t)row * high + y) * s->width + (uint64_t)column * wide,
                       p.cells + (uint64_t)y * p.width, p.width);
    free(p.cells);
}

static void step(struct objects *o, const struct world *world)
{
    do_all(o, VIEWS(gol_candidates), world);
    do_all(o, VIEWS(gol_lives), world);
    do_all(o, VIEWS(gol_spawn), world);
    do_all(o, VIEWS(gol_die), world);
}

/* Draws those that are alive.
 *   pixels, places   room for all cells */
static void draw_world(struct objects *o, const struct settings *s, unsigned char *pixels, uint32_t *places)
{
    static const unsigned char colours[][3] = {{255, 255, 255}, {0, 0, 0}};
    const uint64_t cells = (uint64_t)s->width * s->height;
    const uint64_t count = read_field(o, "alive", "cell", places, cells);
    memset(pixels, 0, cells);
    for (uint64_t i = 0; i < count && i < cells; i++)
        if (places[i] < cells)
            pixels[places[i]] = 1;
    draw_picture(s->picture, s->width, s->height, pixels, colours, 2);
}

int gol(const struct settings *s)
{
    const uint32_t cells = s->width * s->height;
    /* All cells, and an agent for each; while one dies both are there. */
    const uint64_t most[] = {
        [quarry_number_of_cell] = cells,
        [quarry_number_of_alive] = 2 * (uint64_t)cells,
        [quarry_number_of_candidate] = 2 * (uint64_t)cells,
    };
    const uint64_t pages = cells / QUARRY_CAPACITY_OF(cell) + 2 * (cells / QUARRY_CAPACITY_OF(alive)) + 1024;
    unsigned char *state = room(2 * (uint64_t)cells);
    begin(s, state);
    struct objects o = make_objects(s, &gol_schema, most, pages);
    int wrong = 0;
    unsigned char *first_state = make(&s->target, cells);
    must(quarry_memory_copy(&s->target, first_state, state, cells));
    struct world world = {o.backing, make(&s->target, (uint64_t)cells * sizeof *world.cells), s->width,
                          s->height, first_state};
    launch(&o, VIEWS(gol_begin), cells < 65536 ? cells : 65536, &world);
    const uint64_t first = count(&o, "alive");
    do_all(&o, VIEWS(gol_die), &world); /* all are new: the first candidates */

    uint32_t *places = room(sizeof *places * (uint64_t)cells);
    struct stopwatch watch = start(&s->target);
    for (uint32_t i = 0; i < s->steps && !wrong; i++) {
        step(&o, &world);
        if (s->fragmentation)
            tell_fragmentation(&o, i + 1, "agent");
        if (!s->check)
            continue;
        next(s, state, state + cells);
        memcpy(state, state + cells, cells);
        if (!is_right(&o, s, state, places, state + cells)) {
            printf("objects: gol is wrong after step %" PRIu32 "\n", i + 1);
            wrong = 1;
        }
    }
    const double microseconds = stop(watch);
    const uint64_t last = count(&o, "alive");
    wrong |= was_full(&o);
    if (!wrong)
        printf("gol: %" PRIu32 " x %" PRIu32 ", %" PRIu64 " alive, after %" PRIu32 " steps %" PRIu64
               "; %.1f us a step%s\n",
               s->width, s->height, first, s->steps, last, s->steps ? microseconds / s->steps : 0,
               s->check ? ", checks included; every step is right" : "");
    if (s->picture)
        draw_world(&o, s, state, places);
    free(state);
    free(places);
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, world.cells));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, first_state));
    free_objects(&o);
    return wrong;
}
