/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of the programs beside the command have in common.  Exit codes: 0 done, 1 failed, 2 usage. */
#ifndef QUARRY_BENCH_ARGUMENTS_H
#define QUARRY_BENCH_ARGUMENTS_H

#include "quarry/quarry.h"

#include <getopt.h>

enum { ARGUMENTS_OK, ARGUMENTS_FAILED, ARGUMENTS_USAGE };
#define ARGUMENTS_MAX_LIST 64u

/* Prints the program's name and one sentence to stderr; returns code. */
int arguments_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decimal digits only.  Returns 0 if text is no number from least to most. */
uint32_t arguments_number(const char *text, uint32_t least, uint32_t most);

/* "A,B" into list, which has room for ARGUMENTS_MAX_LIST.  Returns how many, or 0 if something is no number
 * from 1 to most, or they are too many. */
uint32_t arguments_list(const char *text, uint32_t most, uint32_t *list);

/* "A,B" of names[0 .. count), count at most 32.  Returns a bit for each that is there, or 0 if there is one of
 * no such name. */
unsigned arguments_names(const char *text, const char *const *names, uint32_t count);

/* auto, cuda or cpu.  Returns USAGE and says so if it is another. */
int arguments_backend(const char *text, enum quarry_backend *backend);

/* Reads a program's command line, which has options only.
 *   list     its options; --help has the value ARGUMENTS_HELP, and -h is the same
 *   help     what --help prints
 *   option   is given each option's value of `list`, its text, and `options`.  Returns OK, or what is wrong with
 *            the text, of which it has told the user
 * Returns -1: go on.  Else the program's exit code. */
int arguments_parse(int argc, char **argv, const struct option *list, const char *help,
                    int (*option)(int key, const char *text, void *options), void *options);
#define ARGUMENTS_HELP 'h'

#endif
