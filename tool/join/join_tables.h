/* SPDX-License-Identifier: Apache-2.0 */
/* The two tables of `quarry join`: read from files, or made up. */
#ifndef QUARRY_TOOL_JOIN_TABLES_H
#define QUARRY_TOOL_JOIN_TABLES_H

#include "output.h"
#include "rows.h"

struct join_table {
    uint64_t count;     /* rows */
    struct rows rows;   /* empty if the table is made up */
    uint64_t *integers; /* count keys; NULL: the keys are those of `rows`, as text */
    int is_narrow;      /* integers below 2^32 */
};

enum join_distribution { JOIN_UNIFORM, JOIN_ZIPF };

struct join_synthetic {
    uint64_t left; /* rows, at most ROWS_MAX; 0: read files instead */
    uint64_t right;
    uint64_t seed;
    enum join_distribution distribution;
    double exponent; /* of Zipf's law, 0 to 10 */
};

/* Reads a table.
 *   integers  the keys are decimal integers from -2^63 to 2^63 - 1, and compared as such
 * Returns 0, or prints one sentence and returns TOOL_FAILED.  Either way join_table_free may follow. */
int join_table_read(struct join_table *table, const char *path, const struct rows_options *options,
                    int integers);

/* Makes tables of random 32-bit keys.  All keys of the left one are different; each row of the right one has
 * the key of a left row, and so exactly one partner: drawn uniformly, or the k-th left row with a probability
 * proportional to 1 / k^exponent.  Errors as above. */
int join_tables_make(struct join_table *left, struct join_table *right,
                     const struct join_synthetic *synthetic);

void join_table_free(struct join_table *table);

/* Puts a row without a line end: the line of the file; of a table that is made up, key, tab, row number
 * from 1. The rows were read with their lines. */
void join_table_put(struct writer *writer, const struct join_table *table, uint32_t row);

#endif
