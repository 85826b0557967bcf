/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts one column out of a stream of portions.  A line may span any number of portions, so the state of the
 * line is kept between them: which column it is in, and the bytes so far of its key, and of the line if it is
 * wanted, which are already where they belong, at the end of their arrays. */
#include "rows.h"

#include "input.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_NAMES_SHOWN 200 /* bytes of a header that an error message repeats */

struct reader {
    struct rows *rows;
    const struct rows_options *options;
    const char *name; /* of the file, in messages */
    uint64_t line;    /* from 1: the one being read */
    uint64_t column;  /* from 1: where in it */
    uint64_t wanted;
    int open; /* the line has at least one byte */
    int in_header;
    unsigned char *header;
    uint64_t header_bytes, header_room;
    uint64_t key_bytes, key_room;   /* of rows->keys */
    uint64_t line_bytes, line_room; /* of rows->lines */
    uint64_t row_room;              /* of rows->offsets */
    uint64_t line_row_room;         /* of rows->line_offsets */
};

/* Makes room for `bytes` more after `used` in an array of *room bytes; doubling keeps the copying linear.
 * Returns where the array is now, or NULL, and then it is untouched. */
static void *reserve(void *array, uint64_t *room, uint64_t used, uint64_t bytes)
{
    if (array && bytes <= *room - used)
        return array;
    uint64_t larger = *room < 4096 ? 4096 : *room;
    while (larger - used < bytes)
        larger *= 2;
    void *moved = realloc(array, larger);
    if (moved)
        *room = larger;
    return moved;
}

static int out_of_memory(const struct reader *reader)
{
    return tool_error(TOOL_FAILED, "%s:%llu: not enough memory for the rows up to here; use a smaller file",
                      reader->name, (unsigned long long)reader->line);
}

/* Adds bytes to an array of *used. */
static int append(const struct reader *reader, unsigned char **array, uint64_t *used, uint64_t *room,
                  const unsigned char *bytes, uint64_t count)
{
    void *moved = reserve(*array, room, *used, count);
    if (!moved)
        return out_of_memory(reader);
    *array = (unsigned char *)moved;
    memcpy(*array + *used, bytes, count);
    *used += count;
    return 0;
}

static int append_key(struct reader *reader, const unsigned char *bytes, uint64_t count)
{
    return append(reader, &reader->rows->keys, &reader->key_bytes, &reader->key_room, bytes, count);
}

static int append_line(struct reader *reader, const unsigned char *bytes, uint64_t count)
{
    if (!reader->options->lines)
        return 0;
    return append(reader, &reader->rows->lines, &reader->line_bytes, &reader->line_room, bytes, count);
}

static int append_offset(const struct reader *reader, uint64_t **offsets, uint64_t *room, uint64_t value)
{
    void *moved = reserve(*offsets, room, reader->rows->count * sizeof **offsets, sizeof **offsets);
    if (!moved)
        return out_of_memory(reader);
    *offsets = (uint64_t *)moved;
    (*offsets)[reader->rows->count] = value;
    return 0;
}

/* Notes where the next row's key and line begin, which is where the last ones end. */
static int end_offset(struct reader *reader)
{
    struct rows *rows = reader->rows;
    if (append_offset(reader, &rows->offsets, &reader->row_room, reader->key_bytes))
        return TOOL_FAILED;
    return reader->options->lines
               ? append_offset(reader, &rows->line_offsets, &reader->line_row_room, reader->line_bytes)
               : 0;
}

/* Whether the line's last column ends in a carriage return that belongs to the line end. */
static int strips(const struct reader *reader, const unsigned char *begin, uint64_t bytes)
{
    return bytes > 0 && begin[bytes - 1] == '\r' && reader->options->delimiter != '\r';
}

/* The line is complete; `feed` says whether by a line feed. */
static int end_row(struct reader *reader, int feed)
{
    struct rows *rows = reader->rows;
    if (reader->column < reader->wanted)
        return tool_error(TOOL_FAILED,
                          "%s:%llu: too few columns: this row has %llu, and column %llu was asked for; check "
                          "%s and --delimiter",
                          reader->name, (unsigned long long)reader->line, (unsigned long long)reader->column,
                          (unsigned long long)reader->wanted, reader->options->column_option);
    if (rows->count == ROWS_MAX)
        return tool_error(TOOL_FAILED, "%s:%llu: more than %llu rows; split the file", reader->name,
                          (unsigned long long)reader->line, (unsigned long long)ROWS_MAX);
    uint64_t begin = rows->offsets[rows->count];
    if (feed && reader->column == reader->wanted &&
        strips(reader, rows->keys + begin, reader->key_bytes - begin))
        reader->key_bytes--;
    if (feed && reader->options->lines &&
        strips(reader, rows->lines + rows->line_offsets[rows->count],
               reader->line_bytes - rows->line_offsets[rows->count]))
        reader->line_bytes--;
    rows->count++;
    if (end_offset(reader))
        return TOOL_FAILED;
    reader->line++;
    reader->column = 1;
    reader->open = 0;
    return 0;
}

/* Finds the column in the complete header line. */
static int end_header(struct reader *reader, int feed)
{
    const struct rows_options *options = reader->options;
    uint64_t bytes = reader->header_bytes;
    const unsigned char *at = reader->header;
    if (feed && strips(reader, at, bytes))
        bytes--;
    int shown = bytes < ROWS_NAMES_SHOWN ? (int)bytes : ROWS_NAMES_SHOWN;
    const unsigned char *end = at + bytes;
    uint64_t columns = 0;
    uint64_t found = 0;
    for (;;) {
        const unsigned char *stop = at == end ? NULL : memchr(at, options->delimiter, (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        columns++;
        if (options->column_name && length == strlen(options->column_name) &&
            memcmp(at, options->column_name, length) == 0) {
            if (found)
                return tool_error(TOOL_FAILED,
                                  "%s:1: columns %llu and %llu are both named '%s'; give the number",
                                  reader->name, (unsigned long long)found, (unsigned long long)columns,
                                  options->column_name);
            found = columns;
        }
        if (!stop)
            break;
        at = stop + 1;
    }
    for (int i = 0; i < shown; i++) /* bytes that would change a terminal */
        if (reader->header[i] != '\t' && (reader->header[i] < ' ' || reader->header[i] == 0x7f))
            reader->header[i] = '?';
    if (options->column_name && !found)
        return tool_error(TOOL_FAILED, "%s:1: no column is named '%s'; the header is: %.*s", reader->name,
                          options->column_name, shown, (const char *)reader->header);
    if (!options->column_name && columns < reader->wanted)
        return tool_error(TOOL_FAILED, "%s:1: no column %llu: the header has %llu; check %s and --delimiter",
                          reader->name, (unsigned long long)reader->wanted, (unsigned long long)columns,
                          options->column_option);
    if (found)
        reader->wanted = found;
    reader->in_header = 0;
    reader->open = 0;
    reader->line = 2;
    return 0;
}

/* Takes the header's part of a portion; *at moves past it. */
static int take_header(struct reader *reader, const unsigned char **at, const unsigned char *end)
{
    const unsigned char *feed = (const unsigned char *)memchr(*at, '\n', (size_t)(end - *at));
    uint64_t bytes = (uint64_t)((feed ? feed : end) - *at);
    if (append(reader, &reader->header, &reader->header_bytes, &reader->header_room, *at, bytes))
        return TOOL_FAILED;
    *at = feed ? feed + 1 : end;
    return feed ? end_header(reader, 1) : 0;
}

static int take_portion(struct reader *reader, const unsigned char *at, const unsigned char *end)
{
    const unsigned char delimiter = reader->options->delimiter;
    while (at < end) {
        reader->open = 1;
        if (reader->in_header) {
            if (take_header(reader, &at, end))
                return TOOL_FAILED;
            continue;
        }
        const unsigned char *stop = at;
        if (reader->column > reader->wanted) {
            stop = (const unsigned char *)memchr(at, '\n', (size_t)(end - at));
            if (!stop)
                return append_line(reader, at, (uint64_t)(end - at));
        } else {
            while (stop < end && *stop != delimiter && *stop != '\n')
                stop++;
            if (reader->column == reader->wanted && append_key(reader, at, (uint64_t)(stop - at)))
                return TOOL_FAILED;
            if (stop == end)
                return append_line(reader, at, (uint64_t)(end - at));
        }
        /* A delimiter is part of the line. */
        if (append_line(reader, at, (uint64_t)(stop - at) + (*stop != '\n')))
            return TOOL_FAILED;
        if (*stop == '\n') {
            if (end_row(reader, 1))
                return TOOL_FAILED;
        } else {
            reader->column++;
        }
        at = stop + 1;
    }
    return 0;
}

/* The last line may lack its line feed. */
static int end_file(struct reader *reader)
{
    if (reader->in_header) {
        if (reader->open)
            return end_header(reader, 0);
        if (reader->options->column_name)
            return tool_error(TOOL_FAILED, "%s:1: the file is empty: no header names column '%s'",
                              reader->name, reader->options->column_name);
        return 0;
    }
    return reader->open ? end_row(reader, 0) : 0;
}

static int read_stream(struct reader *reader, const char *path)
{
    const char *problem = NULL;
    struct input *input = input_open(path, &problem);
    if (!input)
        return tool_error(TOOL_FAILED, "%s: %s", reader->name, problem);
    int result = end_offset(reader);
    while (result == 0) {
        const unsigned char *bytes = NULL;
        int64_t got = input_next(input, &bytes, &problem);
        if (got < 0)
            result = tool_error(TOOL_FAILED, "%s:%llu: %s", reader->name, (unsigned long long)reader->line,
                                problem);
        if (got <= 0)
            break;
        result = take_portion(reader, bytes, bytes + got);
        double share = input_share(input);
        if (share >= 0)
            tool_progress("reading", share);
    }
    if (result == 0)
        result = end_file(reader);
    tool_progress_end();
    input_close(input);
    return result;
}

int rows_read(struct rows *rows, const char *path, const struct rows_options *options)
{
    memset(rows, 0, sizeof *rows);
    struct reader reader;
    memset(&reader, 0, sizeof reader);
    reader.rows = rows;
    reader.options = options;
    reader.name = strcmp(path, "-") == 0 ? "standard input" : path;
    reader.line = 1;
    reader.column = 1;
    reader.wanted = options->column_number;
    reader.in_header = options->header;
    int result = read_stream(&reader, path);
    free(reader.header);
    if (result)
        rows_free(rows);
    return result;
}

void rows_free(struct rows *rows)
{
    free(rows->keys);
    free(rows->offsets);
    free(rows->lines);
    free(rows->line_offsets);
    memset(rows, 0, sizeof *rows);
}
