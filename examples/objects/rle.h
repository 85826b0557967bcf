/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of Conway's game of life, as files of golly and others have them: run-length encoded. */
#ifndef RLE_H
#define RLE_H

#include <stdint.h>

#define PATTERN_MOST 65535u /* cells in a row, and rows */

struct pattern {
    uint32_t width, height;
    unsigned char *cells; /* row by row: 1 is alive; the caller frees it */
};

/* Ends the program with a sentence if there is no such file, or it is no pattern. */
struct pattern read_pattern(const char *file);

#endif
