/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's result goes: standard output, or a file that appears complete or not at all. */
#ifndef QUARRY_TOOL_OUTPUT_H
#define QUARRY_TOOL_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

/* Collects bytes and remembers the first failure; after one, what is put is dropped. */
struct writer {
    int descriptor;
    int error; /* errno of the first failure; 0: none */
    size_t used;
    unsigned char *buffer;
};

/* bytes may be NULL if count is 0. */
void writer_put(struct writer *writer, const void *bytes, size_t count);

/* A number in decimal. */
void writer_number(struct writer *writer, uint64_t number);

/* Puts the whole result into the writer; may stop early once writer->error is set.  What can fail otherwise
 * fails before the first byte.
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
typedef int output_fill(struct writer *writer, const void *context);

/* Fails now if output_write would certainly fail to create its file, which saves the work before it.
 *   path  NULL: standard output
 * Returns 0, or prints one sentence and returns TOOL_FAILED or TOOL_USAGE. */
int output_check(const char *path);

/* Writes what `fill` puts.  A file appears under its name when it is complete, or not at all: it is written
 * beside it and renamed (a path that is no regular file, such as a device, is written directly).
 *   path  NULL: standard output
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
int output_write(const char *path, output_fill *fill, const void *context);

#endif
