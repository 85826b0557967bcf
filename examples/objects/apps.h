/* SPDX-License-Identifier: Apache-2.0 */
/* What the applications share: options, and ending with a sentence. */
#ifndef APPS_H
#define APPS_H

#include "quarry/quarry.h"

struct settings {
    struct quarry_target target;
    uint32_t width, height; /* gol: cells */
    uint32_t steps;
    uint32_t percent; /* gol: of the cells, alive at first */
    uint32_t seed;
    uint32_t threads; /* linux-scalability */
    uint32_t each;    /* objects that a thread makes, at most 1024 */
    int check;        /* beside a sequential program, or object by object */
};

/* Each prints its result, and returns an exit code: 0, or 1 if something was wrong. */
int gol(const struct settings *settings);
int scalability(const struct settings *settings);

/* Prints the sentence of the last failure and ends the program, if the status is one. */
void must(enum quarry_status status);

/* Zeroed memory of the host.  Ends the program if there is none. */
void *room(uint64_t bytes);

/* Memory of the target. */
void *make(const struct quarry_target *target, uint64_t bytes);

#endif
