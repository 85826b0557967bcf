/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `quarry groupby` found. */
#ifndef QUARRY_TOOL_GROUPBY_OUTPUT_H
#define QUARRY_TOOL_GROUPBY_OUTPUT_H

#include "groupby/groupby_engine.h"
#include "groupby/groupby_table.h"

struct groupby_output_options {
    uint64_t top; /* only so many groups, the largest first, those of one size by key; 0: all, in any order */
    int count;    /* only the number of groups */
    int with_rows; /* add the row numbers, from 1, ascending; the result has group_of_row */
};

/* Writes a line for each group, as output_write does: key, tab, count and, if wanted, tab, row numbers with
 * commas.
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
int groupby_output(const struct groupby_table *table, const struct groupby_result *result,
                   const struct groupby_output_options *options, const char *path);

/* Writes each row's key, a line each, in the same way. */
int groupby_output_keys(const struct groupby_table *table, const char *path);

#endif
