/* SPDX-License-Identifier: Apache-2.0 */
/* Options that commands share; the contracts are in options.h. */
#include "options.h"

#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_parse_number(const char *text, uint64_t *number)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return -1;
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno ? -1 : 0;
}

int tool_parse_column(const char *text, struct rows_options *options)
{
    options->column_name = NULL;
    if (tool_parse_number(text, &options->column_number) == 0 && options->column_number > 0)
        return 0;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] == '\0')
        return -1;
    options->column_name = text;
    return 0;
}

uint64_t tool_environment(const char *name, uint64_t most, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t number;
    return text && tool_parse_number(text, &number) == 0 && number >= 1 && number <= most ? number
                                                                                          : otherwise;
}

/* ---- files ---- */

static error_t parse_delimiter(struct rows_options *options, const char *text)
{
    if (strlen(text) == 1 && text[0] != '\n') {
        options->delimiter = (unsigned char)text[0];
    } else if (strcmp(text, "\\t") == 0) {
        options->delimiter = '\t';
    } else if (strcmp(text, "\\0") == 0) {
        options->delimiter = '\0';
    } else {
        return tool_refuse("--delimiter '%s': give one byte that is no line feed, or \\t, or \\0", text);
    }
    return 0;
}

static error_t parse_input(int key, char *text, struct argp_state *state)
{
    struct rows_options *options = (struct rows_options *)state->input;
    switch (key) {
    case 'd':
        return parse_delimiter(options, text);
    case 'H':
        options->header = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option input_list[] = {
    {"delimiter", 'd', "C", 0, "The byte between columns; \\t and \\0 are understood (default: tab)", 0},
    {"header", 'H', NULL, 0, "The first line names the columns and is no row", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_input = {input_list, parse_input, NULL, NULL, NULL, NULL, NULL};

/* ---- heaps ---- */

static error_t parse_backend(struct heap_options *options, const char *text)
{
    if (tool_parse_backend(text, &options->backend) == 0)
        return 0;
    return tool_refuse("--backend '%s': give auto, cuda or cpu", text);
}

static error_t parse_allocator(struct heap_options *options, const char *text)
{
    char names[256] = "";
    struct quarry_allocator_info info;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        if (strcmp(info.name, text) == 0) {
            options->allocator = text;
            return 0;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", info.name);
    }
    return tool_refuse("--allocator '%s': there is none of that name; there are %s", text, names);
}

static error_t parse_size(const char *option, const char *text, uint64_t *bytes)
{
    if (tool_parse_bytes(text, bytes) == 0 && *bytes > 0)
        return 0;
    return tool_refuse("%s '%s': give a size such as 4096, 64K or 1.5G", option, text);
}

static error_t parse_page(struct heap_options *options, const char *text)
{
    uint64_t *bytes = &options->page_bytes;
    error_t error = parse_size("--page", text, bytes);
    if (error)
        return error;
    if (*bytes >= OPTIONS_MIN_PAGE_BYTES && *bytes <= (1u << 20) && *bytes % 16 == 0)
        return 0;
    return tool_refuse("--page '%s': give a multiple of 16 from %u to 1M", text, OPTIONS_MIN_PAGE_BYTES);
}

static error_t parse_heap(int key, char *text, struct argp_state *state)
{
    struct heap_options *options = (struct heap_options *)state->input;
    switch (key) {
    case 'b':
        return parse_backend(options, text);
    case 'a':
        return parse_allocator(options, text);
    case 'm':
        return parse_size("--heap", text, &options->heap_bytes);
    case 'p':
        return parse_page(options, text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option heap_list[] = {
    {"backend", 'b', "NAME", 0, "auto, cuda or cpu (default: auto, a GPU if there is one)", 0},
    {"allocator", 'a', "NAME", 0, "Where pages come from; `quarry list` names them (default: corw)", 0},
    {"heap", 'm', "SIZE", 0, "Size of the heap, such as 64M (default: by what the device has)", 0},
    {"page", 'p', "SIZE", 0, "Size of a page, a multiple of 16 from 32 to 1M (default: 256)", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_heap = {heap_list, parse_heap, NULL, NULL, NULL, NULL, NULL};
