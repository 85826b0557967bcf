/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two tables on a target: the host's side of join_kernels.h. */
#ifndef QUARRY_TOOL_JOIN_ENGINE_H
#define QUARRY_TOOL_JOIN_ENGINE_H

#include "join/join_tables.h"
#include "options.h"
#include "quarry/quarry.h"

struct join_options {
    struct quarry_target target;  /* resolved */
    struct method_options method; /* a heap of 0 bytes: half of what the library would take */
    int want_matches;   /* else they are found and written on the target if they have room there, but not
                           fetched */
    unsigned hash_bits; /* of the hash that are kept, 1 to 32: tests make keys collide */
};

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
    JOIN_STAGES
};

struct join_statistics {
    int only_counted; /* the matches had no room, and were not wanted: there are no times of a probe */
    uint32_t partitions;
    uint64_t items;
    const char *allocator; /* this and the next six: paged */
    uint64_t heap_bytes;
    uint64_t page_bytes;
    uint64_t heap_pages;
    uint64_t prefilled; /* pages */
    uint64_t pages;     /* allocated by one run */
    double heap_us;
    double upload_us;
    double stage_us[JOIN_STAGES]; /* median over the runs, on the target's clock, with what the host does
                                     between */
    double join_us;               /* the same, of all stages together */
    double gather_us; /* last run: copies the pages to one array, frees them; orders and fetches */
};

/* Joins the tables.
 * Returns 0, or prints one sentence and returns TOOL_FAILED; then *result is empty.  Either way join_free may
 * follow.  Matches are right or there are none: their number, and every page's free, are checked. */
int join_run(const struct join_table *left, const struct join_table *right,
             const struct join_options *options, struct join_result *result,
             struct join_statistics *statistics);

void join_free(struct join_result *result);

#endif
