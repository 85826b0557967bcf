/* SPDX-License-Identifier: Apache-2.0 */
/* A file, plain or gzip, as a stream of portions.  Knows nothing of rows. */
#ifndef QUARRY_TOOL_INPUT_H
#define QUARRY_TOOL_INPUT_H

#include <stdint.h>

struct input;

/* Opens a file for reading; "-" is standard input.
 *   problem  receives what went wrong, without the file's name; it stays valid
 * Returns NULL after an error. */
struct input *input_open(const char *path, const char **problem);

/* The next portion.
 *   bytes    receives the portion; valid until the next call
 *   problem  as above; a gzip stream that ends early, is damaged, or is followed by anything but more
 *            gzip and zeros is a problem, never a shorter file
 * Returns its length, 0 at the end, -1 after an error. */
int64_t input_next(struct input *input, const unsigned char **bytes, const char **problem);

/* Share of the file that has been read, 0 to 1; -1 if its size is unknown (a pipe). */
double input_share(const struct input *input);

/* NULL is a no-op. */
void input_close(struct input *input);

#endif
