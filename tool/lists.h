/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that take several, separated by commas.  The parsers return 0, or TOOL_REFUSED with the
 * sentence printed; `option` is the name that the sentence begins with, without its dashes. */
#ifndef QUARRY_TOOL_LISTS_H
#define QUARRY_TOOL_LISTS_H

#include <stdint.h>

enum { MAX_LIST = 128 }; /* all allocators fit: lists.c */

struct list {
    uint64_t values[MAX_LIST];
    unsigned count;
};

/* Shares are in thousandths of a percent. */
#define TOOL_WHOLE UINT64_C(100000)

/* Appends a value.  Returns 0, or -1 if the list is full. */
int lists_add(struct list *list, uint64_t value);

/* A number from least to most, with the suffixes of tool_parse_bytes. */
int tool_parse_range(uint64_t *value, const char *option, const char *text, uint64_t least, uint64_t most);

/* The same for the value of `item` in --option.  Returns 0, or TOOL_REFUSED with the sentence printed, also
 * if the value is there before. */
int lists_put(struct list *list, const char *option, uint64_t value, const char *item);

/* "a,b,c" into *list, which is emptied before; text is cut up, and no value may be there twice.  Numbers from
 * least to most; shares; and names of allocators, as their numbers. */
int lists_parse(struct list *list, const char *option, char *text, uint64_t least, uint64_t most);
int lists_parse_shares(struct list *list, const char *option, char *text);
int lists_parse_allocators(struct list *list, char *text);

/* A percentage of at most 100 with up to three decimals.  Returns 0 or -1, and prints nothing. */
int tool_parse_share(const char *text, uint64_t *share);

/* A share as a person writes it, "0.5", into text[at least 16]; returns text. */
char *tool_format_share(uint64_t share, char *text);

#endif
