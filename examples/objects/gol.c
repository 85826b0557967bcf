/* SPDX-License-Identifier: Apache-2.0 */
#include "gol.h"
#include "apps.h"
#include "draw.h"
#include "rle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sequential program ---- */

/* It looks only at cells that are alive and at those around them, for a large world is almost empty.  So it keeps
 * a list of those that are alive, and a sum for each cell, which is 0 between two steps. */
struct oracle {
    const struct settings *settings;
    uint32_t *alive; /* the cells that are alive, `count` of them */
    uint32_t *after; /* those after the step */
    uint64_t count;
    unsigned char *sums;
    uint64_t
        *bits; /* one for each cell, for comparisons: agents come in any order, and these fit into a cache */
};

#define SELF 16u /* what a cell that is alive adds to its own sum; 1 to those of the 8 cells around it */

/* A square of 3 x 3 cells, without those outside of the world. */
struct square {
    uint32_t left, right, top, bottom; /* right and bottom: the first one behind */
};

static struct square around(const struct settings *s, uint32_t cell)
{
    const uint32_t x = cell % s->width, y = cell / s->width;
    return (struct square){x ? x - 1 : 0, x + 2 < s->width ? x + 2 : s->width, y ? y - 1 : 0,
                           y + 2 < s->height ? y + 2 : s->height};
}

static uint64_t bit_of(uint32_t cell)
{
    return (uint64_t)1 << cell % 64;
}

static struct oracle make_oracle(const struct settings *s, const uint32_t *alive, uint64_t count)
{
    const uint64_t cells = (uint64_t)s->width * s->height;
    struct oracle o = {.settings = s,
                       .alive = room(cells * sizeof *o.alive),
                       .after = room(cells * sizeof *o.after),
                       .count = count,
                       .sums = room(cells),
                       .bits = room((cells / 64 + 1) * sizeof *o.bits)};
    memcpy(o.alive, alive, count * sizeof *alive);
    return o;
}

static void next(struct oracle *o)
{
    const struct settings *s = o->settings;
    uint64_t count = 0;
    for (uint64_t i = 0; i < o->count; i++) {
        const struct square q = around(s, o->alive[i]);
        for (uint32_t y = q.top; y < q.bottom; y++)
            for (uint32_t x = q.left; x < q.right; x++)
                o->sums[y * s->width + x]++;
        o->sums[o->alive[i]] += SELF - 1u;
    }
    for (uint64_t i = 0; i < o->count; i++) {
        const struct square q = around(s, o->alive[i]);
        for (uint32_t y = q.top; y < q.bottom; y++)
            for (uint32_t x = q.left; x < q.right; x++) {
                const uint32_t cell = y * s->width + x, sum = o->sums[cell];
                o->sums[cell] = 0; /* who comes here again finds nothing */
                if (sum == 3 || sum == SELF + 2 || sum == SELF + 3)
                    o->after[count++] = cell;
            }
    }
    uint32_t *swap = o->alive;
    o->alive = o->after;
    o->after = swap;
    o->count = count;
}

/* ---- the objects ---- */

/* Who is alive at first: some at random, or copies of a pattern side by side.
 *   alive   receives their cells; room for all
 * Returns how many there are. */
static uint32_t begin(const struct settings *s, uint32_t *alive)
{
    const uint32_t cells = s->width * s->height;
    uint32_t count = 0;
    if (!s->pattern) {
        for (uint32_t i = 0; i < cells; i++)
            if (draw(s->seed, i, 0) % 100u < s->percent)
                alive[count++] = i;
        return count;
    }
    struct pattern p = read_pattern(s->pattern);
    const uint32_t wide = s->width / s->copies,
                   high = s->height / s->copies; /* of a copy, with what is around */
    if (p.width > wide || p.height > high) {
        fprintf(stderr,
                "objects: %" PRIu32 " x %" PRIu32 " copies of the pattern need --width %" PRIu64
                " and --height %" PRIu64 " at least\n",
                s->copies, s->copies, (uint64_t)s->copies * p.width, (uint64_t)s->copies * p.height);
        free(p.cells);
        exit(1);
    }
    for (uint32_t row = 0; row < s->copies; row++)
        for (uint32_t column = 0; column < s->copies; column++)
            for (uint32_t y = 0; y < p.height; y++)
                for (uint32_t x = 0; x < p.width; x++)
                    if (p.cells[y * p.width + x])
                        alive[count++] = (row * high + y) * s->width + column * wide + x;
    free(p.cells);
    return count;
}

static void step(struct objects *o, const struct world *world)
{
    do_all(o, VIEWS(gol_candidates), world);
    do_all(o, VIEWS(gol_lives), world);
    do_all(o, VIEWS(gol_spawn), world);
    do_all(o, VIEWS(gol_die), world);
}

static void clear_counter(const struct objects *o, const struct world *world)
{
    const uint32_t none = 0;
    must(quarry_memory_copy(&o->settings->target, world->counter, &none, sizeof none));
}

/* Are just the right cells alive?
 *   places   room for all cells */
static int is_right(struct objects *o, const struct world *world, struct oracle *oracle, uint32_t *places)
{
    const struct settings *s = o->settings;
    uint32_t found = 0;
    int right = 1;
    clear_counter(o, world);
    do_all(o, VIEWS(gol_look), world);
    must(quarry_memory_copy(&s->target, &found, world->counter, sizeof found));
    if (found != oracle->count)
        return 0;
    must(quarry_memory_copy(&s->target, places, world->seen, found * sizeof *places));
    for (uint32_t i = 0; i < found; i++)
        oracle->bits[oracle->alive[i] / 64] |= bit_of(oracle->alive[i]);
    for (uint32_t i = 0; i < found; i++) {
        right =
            right && (oracle->bits[places[i] / 64] & bit_of(places[i])); /* else nobody, or a second one */
        oracle->bits[places[i] / 64] &= ~bit_of(places[i]);
    }
    return right;
}

/* Draws those that are alive.
 *   places   room for all cells */
static void draw_world(struct objects *o, const struct settings *s, uint32_t *places)
{
    static const unsigned char colours[][3] = {{255, 255, 255}, {0, 0, 0}};
    const uint64_t cells = (uint64_t)s->width * s->height;
    const uint64_t count = read_field(o, "alive", "cell", places, cells);
    unsigned char *pixels = room(cells);
    for (uint64_t i = 0; i < count && i < cells; i++)
        if (places[i] < cells)
            pixels[places[i]] = 1;
    draw_picture(s->picture, s->width, s->height, pixels, colours, 2);
    free(pixels);
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
    struct objects o = make_objects(s, &gol_schema, most, pages);
    uint32_t *places = room(sizeof *places * (uint64_t)cells);
    const uint32_t first = begin(s, places);
    int wrong = 0;
    uint32_t *alive = make(&s->target, sizeof *alive * ((uint64_t)first + 1));
    must(quarry_memory_copy(&s->target, alive, places, sizeof *alive * (uint64_t)first));
    struct world world = {.backing = o.backing,
                          .cells = make(&s->target, (uint64_t)cells * sizeof *world.cells),
                          .width = s->width,
                          .height = s->height,
                          .first = alive,
                          .first_count = first,
                          .counter = make(&s->target, sizeof *world.counter)};
    clear_counter(&o, &world);
    launch(&o, VIEWS(gol_begin), cells < 65536 ? cells : 65536, &world);
    do_all(&o, VIEWS(gol_place), &world);
    clear_counter(&o, &world);
    do_all(&o, VIEWS(gol_settle), &world);
    do_all(&o, VIEWS(gol_die), &world); /* all are new: the first candidates */

    struct oracle oracle = {0};
    if (s->check) {
        oracle = make_oracle(s, places, first);
        world.seen = make(&s->target, sizeof *world.seen * (uint64_t)cells);
    }
    struct stopwatch watch = start(&s->target);
    for (uint32_t i = 0; i < s->steps && !wrong; i++) {
        step(&o, &world);
        if (s->fragmentation)
            tell_fragmentation(&o, i + 1, "agent");
        if (!s->check)
            continue;
        next(&oracle);
        if (!is_right(&o, &world, &oracle, places)) {
            printf("objects: gol is wrong after step %" PRIu32 "\n", i + 1);
            wrong = 1;
        }
    }
    const double microseconds = stop(watch);
    const uint64_t last = count(&o, "alive");
    if (s->check && !wrong && last != oracle.count) {
        printf("objects: gol: the host finds another number of agents than a do-all\n");
        wrong = 1;
    }
    wrong |= was_full(&o);
    if (!wrong)
        printf("gol: %" PRIu32 " x %" PRIu32 ", %" PRIu32 " alive, after %" PRIu32 " steps %" PRIu64
               "; %.1f us a step%s\n",
               s->width, s->height, first, s->steps, last, s->steps ? microseconds / s->steps : 0,
               s->check ? ", checks included; every step is right" : "");
    if (s->picture)
        draw_world(&o, s, places);
    free(places);
    free(oracle.alive);
    free(oracle.after);
    free(oracle.sums);
    free(oracle.bits);
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, world.cells));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, alive));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, world.seen));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, world.counter));
    free_objects(&o);
    return wrong;
}
