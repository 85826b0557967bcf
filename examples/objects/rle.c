/* SPDX-License-Identifier: Apache-2.0 */
#include "rle.h"
#include "apps.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what is wrong with the file, and ends the program. */
static _Noreturn void refuse(const char *file, const char *why)
{
    fprintf(stderr, "objects: cannot read the pattern %s: %s\n", file, why);
    exit(1);
}

/* Reads what is left of a line. */
static void skip_line(FILE *in)
{
    int c;
    do
        c = getc(in);
    while (c != '\n' && c != EOF);
}

/* The line `x = 3, y = 3, rule = B3/S23`, behind those that begin with #. */
static struct pattern read_head(FILE *in, const char *file)
{
    struct pattern p = {0, 0, NULL};
    char line[1024], rule[64] = "";
    do {
        if (!fgets(line, sizeof line, in))
            refuse(file, "it has no line such as \"x = 3, y = 3, rule = B3/S23\"");
        if (!strchr(line, '\n'))
            skip_line(in);
    } while (line[0] == '#' || line[0] == '\n' || line[0] == '\r');
    const int read =
        sscanf(line, " x = %9" SCNu32 " , y = %9" SCNu32 " , rule = %63s", &p.width, &p.height, rule);
    if (read < 2 || p.width < 1 || p.width > PATTERN_MOST || p.height < 1 || p.height > PATTERN_MOST)
        refuse(file, "it has no line such as \"x = 3, y = 3, rule = B3/S23\"");
    if (read == 3 && strcmp(rule, "B3/S23") != 0 && strcmp(rule, "b3/s23") != 0 && strcmp(rule, "23/3") != 0)
        refuse(file, "its rule is not Conway's, B3/S23");
    p.cells = room((uint64_t)p.width * p.height);
    return p;
}

struct pattern read_pattern(const char *file)
{
    FILE *in = fopen(file, "r");
    if (!in)
        refuse(file, strerror(errno));
    struct pattern p = read_head(in, file);
    uint64_t x = 0, y = 0, count = 0;
    int c;
    while ((c = getc(in)) != '!') {
        if (c == EOF)
            refuse(file, "it has no ! at its end");
        if (isspace(c))
            continue;
        if (isdigit(c)) {
            count = 10 * count + (uint64_t)(c - '0');
            if (count > PATTERN_MOST)
                refuse(file, "a number in it is too large");
            continue;
        }
        count = count ? count : 1;
        if (c == '$') {
            y += count;
            x = 0;
        } else if (c == 'b' || c == 'o') {
            if (x + count > p.width || y >= p.height)
                refuse(file, "it has more cells than its first line says");
            memset(p.cells + y * p.width + x, c == 'o', count);
            x += count;
        } else {
            refuse(file, "it has something else than b, o, $, ! and numbers");
        }
        count = 0;
    }
    fclose(in);
    return p;
}
