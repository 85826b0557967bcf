/* SPDX-License-Identifier: Apache-2.0 */
/* Applications of typed objects: their options. */
#include "apps.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(enum quarry_status status)
{
    if (status == QUARRY_OK)
        return;
    fprintf(stderr, "objects: %s\n", quarry_error_detail());
    exit(1);
}

void *room(uint64_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fputs("objects: no memory for the check\n", stderr);
        exit(1);
    }
    return memory;
}

void *make(const struct quarry_target *target, uint64_t bytes)
{
    void *memory;
    must(quarry_memory_create(target, QUARRY_POOL_DEVICE, bytes, &memory));
    return memory;
}

enum key { WIDTH = 256, HEIGHT, STEPS, PERCENT, SEED, THREADS, EACH, BACKEND, CHECK };

static const struct argp_option options[] = {
    {"backend", BACKEND, "NAME", 0, "cuda or cpu; else the best that is there", 0},
    {"check", CHECK, NULL, 0, "compare each step with a sequential program", 0},
    {"width", WIDTH, "N", 0, "gol: cells in a row, 1 to 65535; 300", 0},
    {"height", HEIGHT, "N", 0, "gol: rows, 1 to 65535; 200", 0},
    {"steps", STEPS, "N", 0, "gol: 0 to 1000000; 100", 0},
    {"alive", PERCENT, "PERCENT", 0, "gol: cells that are alive at first, 0 to 100; 20", 0},
    {"seed", SEED, "N", 0, "gol: decides which; 42", 0},
    {"threads", THREADS, "N", 0, "linux-scalability: 1 to 16777216; 1024", 0},
    {"objects", EACH, "N", 0, "linux-scalability: of each thread, 1 to 1024; 64", 0},
    {0},
};

struct command {
    struct settings settings;
    const char *app;
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
    switch (key) {
    case BACKEND:
        if (strcmp(text, "cuda") != 0 && strcmp(text, "cpu") != 0)
            argp_failure(state, 2, 0, "--backend is \"%s\": it must be cuda or cpu", text);
        s->target.backend = strcmp(text, "cpu") == 0 ? QUARRY_BACKEND_CPU : QUARRY_BACKEND_CUDA;
        return 0;
    case CHECK:
        s->check = 1;
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
    case SEED:
        s->seed = number(state, "seed", text, 0, UINT32_MAX);
        return 0;
    case THREADS:
        s->threads = number(state, "threads", text, 1, 1u << 24);
        return 0;
    case EACH:
        s->each = number(state, "objects", text, 1, 1024);
        return 0;
    case ARGP_KEY_ARG:
        if (c->app)
            argp_failure(state, 2, 0, "there is one application too many: %s", text);
        c->app = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, 2, 0, "which application? gol or linux-scalability");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse, "gol|linux-scalability", "Applications of typed objects in kernels.", NULL,
        NULL,    NULL};
    struct command c = {
        {.width = 300, .height = 200, .steps = 100, .percent = 20, .seed = 42, .threads = 1024, .each = 64},
        NULL};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    if (strcmp(c.app, "gol") != 0 && strcmp(c.app, "linux-scalability") != 0) {
        fprintf(stderr, "objects: there is no application \"%s\": it must be gol or linux-scalability\n",
                c.app);
        return 2;
    }
    must(quarry_target_resolve(&c.settings.target));
    return strcmp(c.app, "gol") == 0 ? gol(&c.settings) : scalability(&c.settings);
}
