/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that `quarry groupby` groups: of a file, or made up. */
#ifndef QUARRY_TOOL_GROUPBY_TABLE_H
#define QUARRY_TOOL_GROUPBY_TABLE_H

#include "output.h"
#include "rows.h"

#define GROUPBY_MEAN 2147483648u         /* of synthetic keys: the middle of 32 bits */
#define GROUPBY_MAX_DEVIATION 134217728u /* 2^27 */

struct groupby_table {
    uint64_t count;
    struct rows rows;   /* empty if the keys are made up */
    uint32_t *integers; /* count keys; NULL: the keys are those of `rows`, as text */
};

struct groupby_synthetic {
    uint64_t rows; /* 0: read a file instead */
    uint64_t seed;
    uint64_t deviation; /* 1 to GROUPBY_MAX_DEVIATION */
};

/* Makes integer keys of a normal distribution with mean GROUPBY_MEAN, rounded.  None leaves 32 bits: they lie
 * within 8.7 deviations, and so have at most 9.2 million values in their first 24 bits.
 * Returns 0, or prints one sentence and returns TOOL_FAILED.  Either way groupby_table_free may follow. */
int groupby_table_make(struct groupby_table *table, const struct groupby_synthetic *synthetic);

void groupby_table_free(struct groupby_table *table);

/* Before, the same or after, as a negative number, 0 or a positive one: by number, or text byte by byte. */
int groupby_table_compare(const struct groupby_table *table, uint32_t a, uint32_t b);

/* Puts a row's key. */
void groupby_table_put(struct writer *writer, const struct groupby_table *table, uint32_t row);

#endif
