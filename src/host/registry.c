/* SPDX-License-Identifier: Apache-2.0 */
/* The allocators that this library has, as alloc/list.def lists them: what they can, and their options. */
#include "host/internal.h"
#include "host/text.h"

#include <inttypes.h>
#include <string.h>

SIMT_STATIC_ASSERT(QUARRY_MAX_HEAP_OPTIONS == QUARRY_MAX_OPTIONS, "host and device speak of the same");

/* The rows of the tables of options, each table with a row of zeros behind its last. */
#define ROW(family, name, standard, least, most, help) {#name, standard, least, most, help},
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, code, options, ...)                              \
    static const struct quarry_option_info options_of_##id[] = {options(ROW){NULL, 0, 0, 0, NULL}};          \
    SIMT_STATIC_ASSERT(sizeof options_of_##id / sizeof *options_of_##id <= QUARRY_MAX_OPTIONS + 1u,          \
                       "QUARRY_MAX_OPTIONS are enough");
#include "quarry/alloc/list.def"
#undef ROW

static const struct {
    const char *name;
    const char *summary;
    const struct quarry_option_info *options;
    uint32_t can;
    uint32_t alignment;
    uint32_t registers;
} allocators[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, code, options, can, alignment, registers,        \
                               summary)                                                                      \
    [QUARRY_NUMBER_##id] = {name, summary, options_of_##id, can, alignment, registers},
#include "quarry/alloc/list.def"
};

static uint32_t option_count(const struct quarry_option_info *options)
{
    uint32_t count = 0;
    while (options[count].name)
        count++;
    return count;
}

int quarry_allocator_count(void)
{
    return QUARRY_ALLOCATOR_NUMBERS;
}

static enum quarry_status check_index(int index)
{
    if (index >= 0 && index < QUARRY_ALLOCATOR_NUMBERS)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_ARGUMENT, "allocator number %d is not in 0 to %d", index,
                       QUARRY_ALLOCATOR_NUMBERS - 1);
}

enum quarry_status quarry_allocator_describe(int index, struct quarry_allocator_info *info)
{
    if (!info)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "info is NULL");
    memset(info, 0, sizeof *info);
    enum quarry_status status = check_index(index);
    if (status != QUARRY_OK)
        return status;
    const uint32_t number = (uint32_t)index + 1;
    const uint32_t can = allocators[number].can;
    info->name = allocators[number].name;
    info->summary = allocators[number].summary;
    info->options = option_count(allocators[number].options);
    info->max_alignment = allocators[number].alignment;
    info->registers = allocators[number].registers;
    info->proves_full = (can & QUARRY_CAN_PROVE_FULL) != 0;
    info->infers_full = (can & QUARRY_CAN_INFER_FULL) != 0;
    info->reuses_space = (can & QUARRY_CAN_REUSE_SPACE) != 0;
    info->defers_frees = (can & QUARRY_CAN_DEFER_FREES) != 0;
    info->counts_slots = (can & QUARRY_HAS_PLATFORM_BLOCKS) == 0;
    info->whole_pages = (can & QUARRY_HAS_WHOLE_PAGES) != 0;
    info->holds_pages = (can & QUARRY_HAS_PAGES) != 0;
    info->page_parts = (can & QUARRY_HAS_PAGE_PARTS) != 0;
    info->sizes_double = (can & QUARRY_HAS_DOUBLING_SIZES) != 0;
    return QUARRY_OK;
}

enum quarry_status quarry_allocator_option(int index, uint32_t option, struct quarry_option_info *info)
{
    if (!info)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "info is NULL");
    memset(info, 0, sizeof *info);
    enum quarry_status status = check_index(index);
    if (status != QUARRY_OK)
        return status;
    const uint32_t number = (uint32_t)index + 1;
    uint32_t count = option_count(allocators[number].options);
    if (option >= count)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "option number %" PRIu32 " of allocator %s is not below %" PRIu32, option,
                           allocators[number].name, count);
    *info = allocators[number].options[option];
    return QUARRY_OK;
}

uint32_t quarry_registry_can(uint32_t number)
{
    return allocators[number].can;
}

enum quarry_status quarry_registry_find(const char *name, uint32_t *number)
{
    char known[512] = "";
    struct text text = {known, sizeof known};
    for (uint32_t i = 1; i <= QUARRY_ALLOCATOR_NUMBERS; i++) {
        if (strcmp(name, allocators[i].name) == 0) {
            *number = i;
            return QUARRY_OK;
        }
        text_add(&text, "%s%s", *known ? ", " : "", allocators[i].name);
    }
    return quarry_fail(QUARRY_ERROR_ALLOCATOR, "there is no allocator \"%.64s\": known are %s", name, known);
}

/* Fails for an option that the allocator does not have. */
static enum quarry_status fail_unknown(uint32_t number, const char *name)
{
    char known[512] = "";
    struct text text = {known, sizeof known};
    const struct quarry_option_info *rows = allocators[number].options;
    for (uint32_t i = 0; rows[i].name; i++)
        text_add(&text, "%s%s", i ? ", " : "", rows[i].name);
    if (!*known)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "allocator %s has no option \"%.64s\": it has none",
                           allocators[number].name, name);
    return quarry_fail(QUARRY_ERROR_ARGUMENT, "allocator %s has no option \"%.64s\": it has %s",
                       allocators[number].name, name, known);
}

static enum quarry_status check_value(const struct quarry_option_info *row, uint64_t value)
{
    if (value == row->standard || (value >= row->least && value <= row->most))
        return QUARRY_OK;
    if (row->standard < row->least || row->standard > row->most)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "option %s is %" PRIu64 ": it must be %" PRIu64 " to %" PRIu64 ", or %" PRIu64
                           " (%s)",
                           row->name, value, row->least, row->most, row->standard, row->help);
    return quarry_fail(QUARRY_ERROR_ARGUMENT,
                       "option %s is %" PRIu64 ": it must be %" PRIu64 " to %" PRIu64 " (%s)", row->name,
                       value, row->least, row->most, row->help);
}

enum quarry_status quarry_registry_options(uint32_t number, const struct quarry_option *set, uint32_t count,
                                           uint64_t *values)
{
    const struct quarry_option_info *rows = allocators[number].options;
    for (uint32_t i = 0; rows[i].name; i++)
        values[i] = rows[i].standard;
    if (count && !set)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "set_count is %" PRIu32 ", but set is NULL", count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = 0;
        if (!set[i].name)
            return quarry_fail(QUARRY_ERROR_ARGUMENT, "option number %" PRIu32 " has no name", i);
        while (rows[row].name && strcmp(rows[row].name, set[i].name) != 0)
            row++;
        if (!rows[row].name)
            return fail_unknown(number, set[i].name);
        for (uint32_t before = 0; before < i; before++)
            if (strcmp(set[before].name, set[i].name) == 0)
                return quarry_fail(QUARRY_ERROR_ARGUMENT, "option %s is given twice", set[i].name);
        enum quarry_status status = check_value(&rows[row], set[i].value);
        if (status != QUARRY_OK)
            return status;
        values[row] = set[i].value;
    }
    return QUARRY_OK;
}

uint32_t quarry_registry_pairs(uint32_t number, const uint64_t *values, struct quarry_option *pairs)
{
    const struct quarry_option_info *rows = allocators[number].options;
    uint32_t count = 0;
    for (; rows[count].name; count++) {
        pairs[count].name = rows[count].name;
        pairs[count].value = values[count];
    }
    return count;
}

void quarry_options_format(const struct quarry_option *options, uint32_t count, char *text, size_t bytes)
{
    struct text out = {text, bytes};
    if (bytes)
        *text = 0;
    for (uint32_t i = 0; i < count; i++)
        text_add(&out, "%s%s=%" PRIu64, i ? " " : "", options[i].name, options[i].value);
}

enum quarry_layout_result quarry_registry_layout(struct quarry_handle *handle, struct quarry_layout *layout)
{
    enum quarry_layout_result result = QUARRY_LAYOUT_POOL;
    switch (handle->allocator) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    case QUARRY_NUMBER_##id:                                                                                 \
        result = quarry_##family##_layout(constants QUARRY_AS(handle, family), layout);                      \
        break;
#include "quarry/alloc/list.def"
    default:
        break;
    }
    handle->max_block = layout->max_block;
    return result;
}
