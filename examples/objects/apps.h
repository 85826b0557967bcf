/* SPDX-License-Identifier: Apache-2.0 */
/* What the applications share: options, draws, time, pictures, and ending with a sentence. */
#ifndef APPS_H
#define APPS_H

#include "quarry/quarry.h"

enum backing_number { OBJECTS, AOS, SOA }; /* backing.h */

struct settings {
    struct quarry_target target;
    enum backing_number backing;
    const char *allocator;  /* of aos */
    uint32_t width, height; /* gol, wa-tor: cells */
    uint32_t steps;
    uint32_t percent;    /* gol: of the cells, alive at first */
    const char *pattern; /* gol: a file with those that are alive at first; NULL: some at random */
    uint32_t copies;     /* of the pattern, side by side, and one above the other */
    uint32_t bodies;     /* nbody, dust */
    uint32_t seed;
    uint32_t threads;    /* linux-scalability */
    uint32_t each;       /* objects that a thread makes, at most 1024 */
    uint32_t rounds;     /* linux-scalability: all are made and deleted so often */
    int fragmentation;   /* gol, wa-tor: after each step the share of slots that is empty */
    int check;           /* beside a sequential program, or object by object */
    const char *picture; /* the file that gets one of what is there at the end; NULL: none */
};

/* Each prints its result, and returns an exit code: 0, or 1 if something was wrong. */
int gol(const struct settings *settings);
int wator(const struct settings *settings);
int nbody(const struct settings *settings);
int scalability(const struct settings *settings);
int dust(const struct settings *settings);

/* Prints the sentence of the last failure and ends the program, if the status is one. */
void must(enum quarry_status status);

/* Zeroed memory of the host.  Ends the program if there is none. */
void *room(uint64_t bytes);

/* Memory of the target. */
void *make(const struct quarry_target *target, uint64_t bytes);

/* The time that work on the target takes, in microseconds, from start to stop. */
struct stopwatch {
    quarry_event *begin, *end;
};
struct stopwatch start(const struct quarry_target *target);
double stop(struct stopwatch watch);

/* Were pictures compiled in? */
int has_pictures(void);

/* Writes a picture as PNG.  Ends the program if that fails.
 *   pixels    row by row: indices into colours
 *   colours   `count` of them, at most 256: red, green, blue */
void draw_picture(const char *file, uint32_t width, uint32_t height, const unsigned char *pixels,
                  const unsigned char (*colours)[3], uint32_t count);

#endif
