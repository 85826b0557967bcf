/* SPDX-License-Identifier: Apache-2.0 */
/* Applications of typed objects: their options. */
#include "apps.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const backings[] = {"objects", "aos", "soa"};

enum key {
    WIDTH = 256,
    HEIGHT,
    STEPS,
    PERCENT,
    PATTERN,
    COPIES,
    BODIES,
    SEED,
    THREADS,
    EACH,
    ROUNDS,
    BACKEND,
    BACKING,
    ALLOCATOR,
    CHECK,
    FRAGMENTATION,
    PICTURE
};

#define IS(key) (1u << ((key)-WIDTH))
static const struct {
    const char *name;
    int (*run)(const struct settings *settings);
    uint32_t takes; /* of the options that not all have */
} apps[] = {
    {"gol", gol,
     IS(WIDTH) | IS(HEIGHT) | IS(STEPS) | IS(PERCENT) | IS(PATTERN) | IS(COPIES) | IS(SEED) |
         IS(FRAGMENTATION) | IS(PICTURE)},
    {"wa-tor", wator, IS(WIDTH) | IS(HEIGHT) | IS(STEPS) | IS(SEED) | IS(FRAGMENTATION) | IS(PICTURE)},
    {"nbody", nbody, IS(BODIES) | IS(STEPS) | IS(SEED) | IS(PICTURE)},
    {"linux-scalability", scalability, IS(THREADS) | IS(EACH) | IS(ROUNDS) | IS(PICTURE)},
    {"dust", dust, IS(BODIES) | IS(STEPS)},
};
#define APPS "gol, wa-tor, nbody, linux-scalability or dust"
#define APP_COUNT (sizeof apps / sizeof *apps)
#define FOR_ALL (IS(BACKEND) | IS(BACKING) | IS(ALLOCATOR) | IS(CHECK))

static const struct argp_option options[] = {
    {"backend", BACKEND, "NAME", 0, "cuda or cpu; else the best that is there", 0},
    {"backing", BACKING, "NAME", 0, "where the objects are: objects, aos or soa; objects", 0},
    {"allocator", ALLOCATOR, "NAME", 0, "of aos, if it was compiled for that one or for any; " AOS_ALLOCATOR,
     0},
    {"check", CHECK, NULL, 0, "compare each step with a sequential program", 0},
    {"fragmentation", FRAGMENTATION, NULL, 0,
     "gol, wa-tor: tell after each step which share of the slots is empty", 0},
    {"picture", PICTURE, "FILE", 0, "all but dust: draw what is there at the end, as PNG", 0},
    {"width", WIDTH, "N", 0, "gol, wa-tor: cells in a row, 1 to 65535; 300", 0},
    {"height", HEIGHT, "N", 0, "gol, wa-tor: rows, 1 to 65535; 200", 0},
    {"steps", STEPS, "N", 0, "all but linux-scalability: 0 to 1000000; 100", 0},
    {"alive", PERCENT, "PERCENT", 0, "gol: cells that are alive at first, 0 to 100; 20", 0},
    {"pattern", PATTERN, "FILE", 0, "gol: begin with this one, a file of golly (RLE), and not at random", 0},
    {"copies", COPIES, "N", 0, "gol: N x N copies of the pattern, 1 to 100; 1", 0},
    {"bodies", BODIES, "N", 0, "nbody, dust: 1 to 16777216; 500", 0},
    {"seed", SEED, "N", 0, "gol, wa-tor, nbody: of all that is random; 42", 0},
    {"threads", THREADS, "N", 0, "linux-scalability: 1 to 16777216; 1024", 0},
    {"objects", EACH, "N", 0, "linux-scalability: of each thread, 1 to 1024; 64", 0},
    {"rounds", ROUNDS, "N", 0, "linux-scalability: 1 to 1000000, the times are medians; 1", 0},
    {0},
};

struct command {
    struct settings settings;
    const char *app;
    uint32_t given; /* options, by IS() */
};

static uint32_t number(struct argp_state *state, const char *name, const char *text, uint32_t least,
                       uint32_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        argp_failure(state, 2, 0, "--%s is \"%s\": it must be a number from %u to %u", name, text, least,
                     most);
    return (uint32_t)value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct command *c = state->input;
    struct settings *s = &c->settings;
    if (key >= WIDTH && key <= PICTURE)
        c->given |= IS(key);
    switch (key) {
    case BACKEND:
        if (strcmp(text, "cuda") != 0 && strcmp(text, "cpu") != 0)
            argp_failure(state, 2, 0, "--backend is \"%s\": it must be cuda or cpu", text);
        s->target.backend = strcmp(text, "cpu") == 0 ? QUARRY_BACKEND_CPU : QUARRY_BACKEND_CUDA;
        return 0;
    case BACKING:
        s->backing = OBJECTS;
        while (s->backing <= SOA && strcmp(text, backings[s->backing]) != 0)
            s->backing++;
        if (s->backing > SOA)
            argp_failure(state, 2, 0, "--backing is \"%s\": it must be objects, aos or soa", text);
        return 0;
    case ALLOCATOR:
        s->allocator = text;
        return 0;
    case CHECK:
        s->check = 1;
        return 0;
    case FRAGMENTATION:
        s->fragmentation = 1;
        return 0;
    case PICTURE:
        if (!has_pictures())
            argp_failure(state, 2, 0, "--picture: this program was built without libpng");
        s->picture = text;
        return 0;
    case WIDTH:
        s->width = number(state, "width", text, 1, 65535);
        return 0;
    case HEIGHT:
        s->height = number(state, "height", text, 1, 65535);
        return 0;
    case STEPS:
        s->steps = number(state, "steps", text, 0, 1000000);
        return 0;
    case PERCENT:
        s->percent = number(state, "alive", text, 0, 100);
        return 0;
    case PATTERN:
        s->pattern = text;
        return 0;
    case COPIES:
        s->copies = number(state, "copies", text, 1, 100);
        return 0;
    case BODIES:
        s->bodies = number(state, "bodies", text, 1, 1u << 24);
        return 0;
    case SEED:
        s->seed = number(state, "seed", text, 0, UINT32_MAX);
        return 0;
    case THREADS:
        s->threads = number(state, "threads", text, 1, 1u << 24);
        return 0;
    case EACH:
        s->each = number(state, "objects", text, 1, 1024);
        return 0;
    case ROUNDS:
        s->rounds = number(state, "rounds", text, 1, 1000000);
        return 0;
    case ARGP_KEY_ARG:
        if (c->app)
            argp_failure(state, 2, 0, "there is one application too many: %s", text);
        c->app = text;
        return 0;
    case ARGP_KEY_END:
        if (s->fragmentation && s->backing != OBJECTS)
            argp_failure(state, 2, 0, "--fragmentation is for --backing objects");
        if (s->copies && !s->pattern)
            argp_failure(state, 2, 0, "--copies is for --pattern");
        if (!s->copies)
            s->copies = 1;
        if (s->allocator && s->backing != AOS)
            argp_failure(state, 2, 0, "--allocator is for --backing aos");
        if (!s->allocator)
            s->allocator = AOS_ALLOCATOR;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, 2, 0, "which application? " APPS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse, "APPLICATION", "Applications of typed objects in kernels: " APPS ".",
        NULL,    NULL,  NULL};
    struct command c = {.settings = {.width = 300,
                                     .height = 200,
                                     .steps = 100,
                                     .percent = 20,
                                     .bodies = 500,
                                     .seed = 42,
                                     .threads = 1024,
                                     .each = 64,
                                     .rounds = 1}};
    size_t app = 0;
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    while (app < APP_COUNT && strcmp(c.app, apps[app].name) != 0)
        app++;
    if (app == APP_COUNT) {
        fprintf(stderr, "objects: there is no application \"%s\": it must be " APPS "\n", c.app);
        return 2;
    }
    for (const struct argp_option *o = options; o->name; o++)
        if (c.given & IS(o->key) & ~(apps[app].takes | FOR_ALL)) {
            fprintf(stderr, "objects: --%s is not for %s\n", o->name, c.app);
            return 2;
        }
    must(quarry_target_resolve(&c.settings.target));
    return apps[app].run(&c.settings);
}
