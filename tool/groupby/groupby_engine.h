/* SPDX-License-Identifier: Apache-2.0 */
/* Groups rows by their keys on a target: the host's side of groupby_kernels.h. */
#ifndef QUARRY_TOOL_GROUPBY_ENGINE_H
#define QUARRY_TOOL_GROUPBY_ENGINE_H

#include "groupby/groupby_table.h"
#include "method.h"
#include "quarry/quarry.h"
#include "work.h"

#define GROUPBY_PASSES_NOTED 16u /* passes that are told apart; the last sums up the rest */

/* All but the last: kernels and prefix sums, by the target's events. */
enum groupby_time {
    GROUPBY_TIME_HASH,                                              /* paged, text */
    GROUPBY_TIME_PASS,                                              /* and one for each further pass */
    GROUPBY_TIME_DECIDE = GROUPBY_TIME_PASS + GROUPBY_PASSES_NOTED, /* paged */
    GROUPBY_TIME_RESOLVE,                                           /* paged; two-pass: of the last places */
    GROUPBY_TIME_COUNT,                                             /* this and the next two: two-pass */
    GROUPBY_TIME_PREFIX_SUM,
    GROUPBY_TIME_WRITE,
    GROUPBY_TIME_ALL, /* host's clock: all these and what is between them */
    GROUPBY_TIMES
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
    uint64_t pages; /* allocated; paged */
};

/* Of the last run, but for the times. */
struct groupby_statistics {
    struct work_heap heap; /* paged */
    uint64_t table_bytes;  /* two-pass: of counts, places and numbers of the largest pass */
    uint64_t pages_allocated;
    uint64_t pages_freed;
    uint64_t peak_pages; /* at most so many lived at any time: what a pass empties and what it makes */
    unsigned rounds;     /* 1, and one more each time that hashes collided */
    unsigned passes;     /* of all rounds */
    struct groupby_pass pass[GROUPBY_PASSES_NOTED];
    double upload_us;         /* host's clock */
    double us[GROUPBY_TIMES]; /* median over the runs */
};

/* Groups the rows in pages.
 *   task       a heap of 0 bytes: integer keys take half of what the library would, text all
 *   want_rows  fill group_of_row
 * Returns 0, or prints one sentence and returns TOOL_FAILED; then *result is empty.  Either way
 * groupby_free may follow.  Counts are right or there are none: their sum, and every page's free, are
 * checked. */
int groupby_run(const struct groupby_table *table, const struct method_task *task, int want_rows,
                struct groupby_result *result, struct groupby_statistics *statistics);

/* For the methods: copies the groups from the target, and compares their sum with the rows.
 *   group_of_row  NULL: not wanted
 * Errors as above. */
int groupby_fetch(struct work *work, struct groupby_result *result, uint64_t groups,
                  const uint32_t *group_rows, const uint32_t *group_counts, const uint32_t *group_of_row,
                  uint64_t rows);

void groupby_free(struct groupby_result *result);

#endif
