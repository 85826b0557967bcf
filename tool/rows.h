/* SPDX-License-Identifier: Apache-2.0 */
/* One column of a text file, in memory, and the whole lines if they are wanted. */
#ifndef QUARRY_TOOL_ROWS_H
#define QUARRY_TOOL_ROWS_H

#include <stdint.h>

#define ROWS_MAX 0xffffffc0u /* row numbers are 32 bits, and the last few are left for rounding up */

/* Key of row r (from 0): keys[offsets[r]] up to keys[offsets[r + 1]], any bytes, possibly none; its line, as
 * the file has it but for the line end, likewise. */
struct rows {
    unsigned char *keys;
    uint64_t *offsets; /* count + 1 */
    unsigned char *lines;
    uint64_t *line_offsets; /* NULL unless wanted */
    uint64_t count;
};

struct rows_options {
    const char *column_option; /* such as "--column", for messages */
    const char *column_name;   /* NULL: column_number says which; else `header` is set */
    uint64_t column_number;    /* from 1 */
    unsigned char delimiter;   /* anything but a line feed */
    int header;                /* the first line names the columns and is no row */
    int lines;                 /* keep them */
    int described;             /* an option about files was given */
};

/* Reads the column of a plain or gzip file; "-" is standard input.
 *
 * A line ends at a line feed or, the last one, at the end of the file; a carriage return just before the
 * line feed is no part of it (unless it is the delimiter).  A blank line is a row whose only column is
 * empty.  An empty file has no rows.
 *
 * Returns 0, or prints one sentence, with file and line, and returns TOOL_FAILED; then *rows is empty.
 * Either way rows_free may follow. */
int rows_read(struct rows *rows, const char *path, const struct rows_options *options);

void rows_free(struct rows *rows);

#endif
