/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `quarry groupby` found. */
#ifndef QUARRY_TOOL_GROUPBY_OUTPUT_H
#define QUARRY_TOOL_GROUPBY_OUTPUT_H

#include "groupby_engine.h"
#include "rows.h"

struct output_options {
    const char *path; /* NULL: standard output */
    uint64_t top; /* only so many groups, the largest first, those of one size by key; 0: all, in any order */
    int with_rows; /* add the row numbers, from 1, ascending; the result has group_of_row */
};

/* Fails now if output_write would certainly fail to create its file, which saves the work before it.
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
int output_check(const struct output_options *options);

/* Writes a line for each group: key, tab, count and, if wanted, tab, row numbers with commas.
 * A file appears under its name when it is complete, or not at all: it is written beside it and renamed
 * (a path that is no regular file, such as a device, is written directly).
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
int output_write(const struct rows *rows, const struct groupby_result *result,
                 const struct output_options *options);

#endif
