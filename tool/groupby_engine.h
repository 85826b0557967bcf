/* SPDX-License-Identifier: Apache-2.0 */
/* Groups rows by their keys on a target: the host's side of groupby_kernels.h. */
#ifndef QUARRY_TOOL_GROUPBY_ENGINE_H
#define QUARRY_TOOL_GROUPBY_ENGINE_H

#include "options.h"
#include "quarry/quarry.h"
#include "rows.h"

#define GROUPBY_PASSES_NOTED 16u /* passes that the statistics tell apart; the last sums up the rest */

struct groupby_options {
    struct quarry_target target; /* resolved */
    struct heap_options heap;
    int want_rows;      /* fill group_of_row */
    unsigned hash_bits; /* of the hash that are kept, 1 to 64: tests make keys collide */
};

/* Host memory, from malloc. */
struct groupby_result {
    uint64_t groups;
    uint32_t *group_rows;   /* of each group: a row that has its key */
    uint32_t *group_counts; /* of each group: its rows */
    uint32_t *group_of_row; /* NULL unless wanted */
};

struct groupby_pass {
    uint64_t rows;  /* distributed */
    uint64_t pages; /* allocated */
    double microseconds;
};

struct groupby_statistics {
    const char *allocator;
    uint64_t heap_bytes; /* the pool */
    uint64_t page_bytes;
    uint64_t heap_pages;
    uint64_t pages_allocated;
    uint64_t pages_freed;
    uint64_t peak_pages; /* most that were allocated and not yet given to free, at any time */
    unsigned rounds;     /* 1, and one more each time that hashes collided */
    unsigned passes;     /* of all rounds */
    struct groupby_pass pass[GROUPBY_PASSES_NOTED];
    double upload_us; /* host's clock */
    double heap_us;   /* host's clock */
    double hash_us;   /* this and the next: kernels, by the target's events */
    double resolve_us;
};

/* Groups the rows.
 * Returns 0, or prints one sentence and returns TOOL_FAILED; then *result is empty.  Either way
 * groupby_free may follow.  Counts are right or there are none: their sum, and every page's free, are
 * checked. */
int groupby_run(const struct rows *rows, const struct groupby_options *options, struct groupby_result *result,
                struct groupby_statistics *statistics);

void groupby_free(struct groupby_result *result);

#endif
