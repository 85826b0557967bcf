/* SPDX-License-Identifier: Apache-2.0 */
#include "lists.h"

#include "options.h"
#include "quarry/handle.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SIMT_STATIC_ASSERT((int)QUARRY_ALLOCATOR_NUMBERS <= (int)MAX_LIST, "a list has room for all allocators");

int lists_add(struct list *list, uint64_t value)
{
    if (list->count == MAX_LIST)
        return -1;
    list->values[list->count++] = value;
    return 0;
}

int lists_put(struct list *list, const char *option, uint64_t value, const char *item)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (list->values[i] == value)
            return tool_refuse("--%s: '%s' is there twice", option, item);
    }
    if (lists_add(list, value) != 0)
        return tool_refuse("--%s: more than %d values", option, MAX_LIST);
    return 0;
}

int tool_parse_range(uint64_t *value, const char *option, const char *text, uint64_t least, uint64_t most)
{
    if (tool_parse_bytes(text, value) == 0 && *value >= least && *value <= most)
        return 0;
    return tool_refuse("--%s: '%s' is no number from %" PRIu64 " to %" PRIu64, option, text, least, most);
}

int lists_parse(struct list *list, const char *option, char *text, uint64_t least, uint64_t most)
{
    list->count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        uint64_t value;
        if (tool_parse_range(&value, option, item, least, most) != 0)
            return TOOL_REFUSED;
        if (lists_put(list, option, value, item) != 0)
            return TOOL_REFUSED;
    }
    return 0;
}

int tool_parse_share(const char *text, uint64_t *share)
{
    char *end;
    unsigned long whole = strtoul(text, &end, 10);
    uint64_t rest = 0, unit = 100;
    if (end == text || *text < '0' || *text > '9' || whole > 100)
        return -1;
    if (*end == '.') {
        for (end++; *end >= '0' && *end <= '9' && unit; end++, unit /= 10)
            rest += (uint64_t)(*end - '0') * unit;
        if (end[-1] == '.')
            return -1;
    }
    *share = whole * 1000 + rest;
    return *end || *share > TOOL_WHOLE ? -1 : 0;
}

int lists_parse_shares(struct list *list, const char *option, char *text)
{
    list->count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        uint64_t share;
        if (tool_parse_share(item, &share) != 0)
            return tool_refuse("--%s: '%s' is no percentage from 0 to 100 with at most three decimals",
                               option, item);
        if (lists_put(list, option, share, item) != 0)
            return TOOL_REFUSED;
    }
    return 0;
}

int lists_parse_allocators(struct list *list, char *text)
{
    list->count = 0;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        struct quarry_allocator_info info;
        const int i = options_find_allocator(item, &info);
        if (i < 0)
            return tool_refuse("--allocator: no allocator '%s'; `quarry list` shows them", item);
        if (lists_put(list, "allocator", (uint64_t)i, item) != 0)
            return TOOL_REFUSED;
    }
    return 0;
}

char *tool_format_share(uint64_t share, char *text)
{
    snprintf(text, 16, "%.6g", (double)share / 1000);
    return text;
}
