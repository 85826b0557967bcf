/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two tables on a target: the host's side of join_kernels.h. */
#ifndef QUARRY_TOOL_JOIN_ENGINE_H
#define QUARRY_TOOL_JOIN_ENGINE_H

#include "join/join_tables.h"
#include "method.h"
#include "quarry/quarry.h"

struct join_result {
    uint64_t count;
    uint64_t *matches; /* (left row << 32 | right row), in ascending order; NULL unless wanted; from malloc */
};

enum join_stage {
    JOIN_STAGE_HASH,
    JOIN_STAGE_PARTITION,
    JOIN_STAGE_PLAN,
    JOIN_STAGE_PROBE,       /* paged */
    JOIN_STAGE_FIRST_PROBE, /* this and the next three: two-pass */
    JOIN_STAGE_PREFIX_SUM,
    JOIN_STAGE_ARRAY,
    JOIN_STAGE_SECOND_PROBE,
    JOIN_STAGES,
    JOIN_TIMES = JOIN_STAGES + 1 /* of the stages, and of all together */
};

struct join_statistics {
    int only_counted; /* the matches had no room, and were not wanted: there are no times of a probe */
    uint32_t partitions;
    uint64_t items;
    struct work_heap heap; /* paged */
    uint64_t pages;        /* allocated by one run; paged */
    double upload_us;
    double us[JOIN_TIMES]; /* median over the runs, on the target's clock, with what the host does between */
    double gather_us;      /* last run: copies the pages to one array, frees them; orders and fetches */
};

/* Joins the tables.
 *   task          a heap of 0 bytes: half of what the library would take
 *   want_matches  else they are found and written on the target if they have room there, but not fetched
 * Returns 0, or prints one sentence and returns TOOL_FAILED; then *result is empty.  Either way join_free may
 * follow.  Matches are right or there are none: their number, and every page's free, are checked. */
int join_run(const struct join_table *left, const struct join_table *right, const struct method_task *task,
             int want_matches, struct join_result *result, struct join_statistics *statistics);

void join_free(struct join_result *result);

#endif
