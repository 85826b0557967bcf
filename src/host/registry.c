/* SPDX-License-Identifier: Apache-2.0 */
/* The allocators that this library has, as alloc/list.def lists them. */
#include "host/internal.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_ALIGNMENT 16u /* alloc.h promises it of every allocator */

static const struct {
    const char *name;
    const char *summary;
} allocators[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, summary) {name, summary},
#include "quarry/alloc/list.def"
};

/* What an allocator says by the layout of a pool that isn't there. */
static void find_capabilities(uint32_t number, struct quarry_allocator_info *info)
{
    struct quarry_handle handle = {0};
    struct quarry_layout layout = {0};
    handle.allocator = number;
    for (info->max_alignment = QUARRY_MAX_ALIGNMENT; info->max_alignment > BLOCK_ALIGNMENT;
         info->max_alignment /= 2) {
        memset(&layout, 0, sizeof layout);
        layout.base = (unsigned char *)(uintptr_t)QUARRY_MAX_ALIGNMENT;
        layout.bytes = UINT64_MAX;
        layout.pages = 2;
        layout.probes = 1; /* any number */
        layout.alignment = info->max_alignment;
        if (quarry_registry_layout(&handle, &layout) == QUARRY_LAYOUT_OK && quarry_layout_is_aligned(&layout))
            break;
    }
    info->whole_pages = layout.max_block == layout.page_bytes;
    info->counts_slots = layout.platform_bytes == 0;
}

int quarry_allocator_count(void)
{
    return QUARRY_ALLOCATOR_NUMBERS;
}

enum quarry_status quarry_allocator_describe(int index, struct quarry_allocator_info *info)
{
    if (!info)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "info is NULL");
    memset(info, 0, sizeof *info);
    if (index < 0 || index >= QUARRY_ALLOCATOR_NUMBERS)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "allocator number %d is not in 0 to %d", index,
                           QUARRY_ALLOCATOR_NUMBERS - 1);
    info->name = allocators[index].name;
    info->summary = allocators[index].summary;
    info->min_page_bytes = QUARRY_MIN_PAGE_BYTES;
    info->max_page_bytes = QUARRY_MAX_PAGE_BYTES;
    info->alignment = BLOCK_ALIGNMENT;
    info->frees_individually = 1;
    find_capabilities((uint32_t)index, info);
    return QUARRY_OK;
}

enum quarry_status quarry_registry_find(const char *name, uint32_t *number)
{
    char known[512] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < QUARRY_ALLOCATOR_NUMBERS; i++) {
        if (strcmp(name, allocators[i].name) == 0) {
            *number = i;
            return QUARRY_OK;
        }
        int written =
            snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", allocators[i].name);
        if (written > 0 && (size_t)written < sizeof known - length)
            length += (size_t)written;
    }
    return quarry_fail(QUARRY_ERROR_ALLOCATOR, "there is no allocator \"%.64s\": known are %s", name, known);
}

enum quarry_layout_result quarry_registry_layout(struct quarry_handle *handle, struct quarry_layout *layout)
{
    enum quarry_layout_result result = QUARRY_LAYOUT_POOL;
    switch (handle->allocator) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, constants, ...)                                             \
    case QUARRY_NUMBER_##id:                                                                                 \
        result = quarry_##family##_layout(constants & handle->as.family, layout);                            \
        break;
#include "quarry/alloc/list.def"
    default:
        break;
    }
    handle->max_block = layout->max_block;
    return result;
}
