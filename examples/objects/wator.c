/* SPDX-License-Identifier: Apache-2.0 */
#include "wator.h"
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sequential program ---- */

struct oracle {
    const struct settings *settings;
    uint64_t *states;
    uint32_t *next;         /* of who lives in a cell: where it goes */
    unsigned char *request; /* of a cell: bits of the directions from which one asks */
    uint32_t turn;
};

/* The cells beside one.  `beside` would divide for each. */
struct sides {
    uint32_t cell[DIRECTIONS];
};

static struct sides sides_of(const struct settings *s, uint32_t x, uint32_t y)
{
    const uint32_t row = y * s->width, cell = row + x;
    return (struct sides){{
        [LEFT] = x ? cell - 1 : cell + s->width - 1,
        [RIGHT] = x + 1 < s->width ? cell + 1 : row,
        [UP] = y ? cell - s->width : (s->height - 1) * s->width + x,
        [DOWN] = y + 1 < s->height ? cell + s->width : x,
    }};
}

static uint32_t life(uint64_t state)
{
    return (uint32_t)state % 4u;
}

static uint32_t timer(uint64_t state)
{
    return (uint32_t)state >> 2;
}

static uint32_t energy(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

/* All of one life grow older, and ask. */
static void ask(struct oracle *o, uint32_t who, uint32_t x, uint32_t y)
{
    const uint32_t i = y * o->settings->width + x;
    uint32_t empty = 0, with_fish = 0;
    o->next[i] = i;
    if (life(o->states[i]) != who)
        return;
    o->states[i] = state_of(who, timer(o->states[i]) + 1, energy(o->states[i]) - (who == SHARK_STATE));
    const struct sides sides = sides_of(o->settings, x, y);
    for (uint32_t d = 0; d < DIRECTIONS; d++) {
        empty |= (uint32_t)(life(o->states[sides.cell[d]]) == WATER_STATE) << d;
        with_fish |= (uint32_t)(life(o->states[sides.cell[d]]) == FISH_STATE) << d;
    }
    uint32_t which = empty;
    if (who == SHARK_STATE && with_fish)
        which = with_fish;
    if (who == SHARK_STATE && energy(o->states[i]) == 0)
        which = 0;
    if (which) {
        uint32_t d = one_of(which, draw(o->settings->seed, i, o->turn));
        o->request[sides.cell[d]] |= 1u << OPPOSITE(d);
    }
}

/* Then cells choose. */
static void choose(struct oracle *o, uint32_t x, uint32_t y)
{
    const uint32_t i = y * o->settings->width + x, which = o->request[i];
    o->request[i] = 0;
    if (which)
        o->next[sides_of(o->settings, x, y).cell[one_of(which, draw(o->settings->seed, i, o->turn))]] = i;
}

static void decide(struct oracle *o, uint32_t who)
{
    const uint32_t width = o->settings->width, height = o->settings->height;
    o->turn++;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            ask(o, who, x, y);
    o->turn++;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            choose(o, x, y);
}

/* They do it.  Where one goes nobody of its life is, so nobody does it twice. */
static void act(struct oracle *o, uint32_t who)
{
    const uint32_t cells = o->settings->width * o->settings->height;
    for (uint32_t i = 0; i < cells; i++) {
        uint64_t state = o->states[i];
        uint32_t to = o->next[i];
        if (life(state) != who)
            continue;
        if (who == SHARK_STATE && energy(state) == 0)
            o->states[i] = 0;
        else if (to != i) {
            const int eats = life(o->states[to]) == FISH_STATE, breeds = timer(state) > EGG_TIMER;
            o->states[to] = state_of(who, breeds ? 0 : timer(state), energy(state) + (eats ? FOOD : 0));
            o->states[i] = breeds ? state_of(who, 0, who == SHARK_STATE ? ENERGY : 0) : 0;
            o->next[to] = to;
        }
    }
}

static struct oracle make_oracle(const struct settings *s)
{
    const uint32_t cells = s->width * s->height;
    struct oracle o = {s, room(cells * sizeof *o.states), room(cells * sizeof *o.next),
                       room(cells * sizeof *o.request), 0};
    for (uint32_t i = 0; i < cells; i++)
        o.states[i] = state_at_first(i, s->seed);
    return o;
}

/* ---- the objects ---- */

static void step(struct objects *o, struct sea *sea)
{
    do_all(o, VIEWS(wator_clear), sea);
    sea->turn++;
    do_all(o, VIEWS(wator_fish_ask), sea);
    sea->turn++;
    do_all(o, VIEWS(wator_choose), sea);
    do_all(o, VIEWS(wator_fish_move), sea);
    do_all(o, VIEWS(wator_clear), sea);
    sea->turn++;
    do_all(o, VIEWS(wator_shark_ask), sea);
    sea->turn++;
    do_all(o, VIEWS(wator_choose), sea);
    do_all(o, VIEWS(wator_shark_move), sea);
}

/* Copies the states of all cells. */
static void look(struct objects *o, const struct settings *s, const struct sea *sea, uint64_t *states)
{
    do_all(o, VIEWS(wator_look), sea);
    must(
        quarry_memory_copy(&s->target, states, sea->states, (uint64_t)s->width * s->height * sizeof *states));
}

/* Is each cell as it must be, and is no agent elsewhere? */
static int is_right(struct objects *o, const struct settings *s, const uint64_t *states,
                    const uint64_t *right)
{
    const uint32_t cells = s->width * s->height;
    const uint64_t agents = count(o, "fish") + count(o, "shark");
    uint64_t living = 0;
    for (uint32_t i = 0; i < cells; i++)
        living += right[i] != 0;
    return living == agents && memcmp(states, right, cells * sizeof *states) == 0;
}

static void draw_sea(const struct settings *s, const uint64_t *states)
{
    static const unsigned char colours[][3] = {{8, 24, 88}, {90, 210, 90}, {230, 60, 50}};
    const uint32_t cells = s->width * s->height;
    unsigned char *pixels = room(cells);
    for (uint32_t i = 0; i < cells; i++)
        pixels[i] = (unsigned char)life(states[i]);
    draw_picture(s->picture, s->width, s->height, pixels, colours, 3);
    free(pixels);
}

int wator(const struct settings *s)
{
    const uint32_t cells = s->width * s->height;
    /* All cells, and an agent for each.  Who dies and who is born are there together. */
    const uint64_t most[] = {
        [quarry_number_of_cell] = cells,
        [quarry_number_of_fish] = 2 * (uint64_t)cells,
        [quarry_number_of_shark] = 2 * (uint64_t)cells,
    };
    /* Blocks of fish and of sharks may be half empty. */
    const uint64_t pages = cells / QUARRY_CAPACITY_OF(cell) + 2 * (cells / QUARRY_CAPACITY_OF(shark)) + 1024;
    struct objects o = make_objects(s, &wator_schema, most, pages);
    int wrong = 0;
    struct sea sea = {o.backing,
                      make(&s->target, (uint64_t)cells * sizeof *sea.cells),
                      make(&s->target, (uint64_t)cells * sizeof *sea.states),
                      s->width,
                      s->height,
                      s->seed,
                      0};
    launch(&o, VIEWS(wator_begin), cells < 65536 ? cells : 65536, &sea);
    do_all(&o, VIEWS(wator_join), &sea);

    struct oracle oracle = {0};
    uint64_t *states = room(cells * sizeof *states);
    if (s->check)
        oracle = make_oracle(s);
    struct stopwatch watch = start(&s->target);
    for (uint32_t i = 0; i < s->steps && !wrong; i++) {
        step(&o, &sea);
        if (s->fragmentation)
            tell_fragmentation(&o, i + 1, "agent");
        if (!s->check)
            continue;
        decide(&oracle, FISH_STATE);
        act(&oracle, FISH_STATE);
        decide(&oracle, SHARK_STATE);
        act(&oracle, SHARK_STATE);
        look(&o, s, &sea, states);
        if (!is_right(&o, s, states, oracle.states)) {
            printf("objects: wa-tor is wrong after step %" PRIu32 "\n", i + 1);
            wrong = 1;
        }
    }
    const double microseconds = stop(watch);
    const uint64_t fishes = count(&o, "fish"), sharks = count(&o, "shark");
    wrong |= was_full(&o);
    if (!wrong)
        printf("wa-tor: %" PRIu32 " x %" PRIu32 ", after %" PRIu32 " steps %" PRIu64 " fish and %" PRIu64
               " sharks; %.1f us a step%s\n",
               s->width, s->height, s->steps, fishes, sharks, s->steps ? microseconds / s->steps : 0,
               s->check ? ", checks included; every step is right" : "");
    if (s->picture) {
        look(&o, s, &sea, states);
        draw_sea(s, states);
    }
    free(states);
    free(oracle.states);
    free(oracle.next);
    free(oracle.request);
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, sea.states));
    must(quarry_memory_destroy(&s->target, QUARRY_POOL_DEVICE, sea.cells));
    free_objects(&o);
    return wrong;
}
