/* SPDX-License-Identifier: Apache-2.0 */
/* What goes where in a pool. */
#include "host/heap_plan.h"
#include "host/internal.h"
#include "quarry/schema.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define SECTION_BYTES(type)                                                                                  \
    ((sizeof(type) + QUARRY_SECTION_ALIGN - 1) / QUARRY_SECTION_ALIGN * QUARRY_SECTION_ALIGN)

SIMT_STATIC_ASSERT(QUARRY_DEBUG_PAGE_BYTES == QUARRY_DEBUG_OVERHEAD, "host and device speak of the same");
SIMT_STATIC_ASSERT(offsetof(struct quarry_handle, as) ==
                       offsetof(struct quarry_handle, max_block) + sizeof(uint64_t),
                   "what a malloc reads first lies together");

uint64_t quarry_heap_policy_offset(void)
{
    return HEAP_HEADER_BYTES;
}

uint64_t quarry_heap_debug_offset(void)
{
    return HEAP_HEADER_BYTES + SECTION_BYTES(struct quarry_policy);
}

uint64_t quarry_heap_tally_offset(const struct quarry_heap_options *options)
{
    return quarry_heap_debug_offset() +
           (quarry_heap_debugs_blocks(options) ? SECTION_BYTES(struct quarry_debug) : 0);
}

uint64_t quarry_heap_head_bytes(const struct quarry_heap_options *options)
{
    int composed = quarry_heap_debugs_blocks(options) || options->statistics ||
                   options->alignment > NATURAL_ALIGNMENT ||
                   options->distribution != QUARRY_DISTRIBUTION_NONE || options->oom != QUARRY_OOM_NULL;
    return (composed ? quarry_heap_tally_offset(options) : HEAP_HEADER_BYTES) +
           (options->statistics ? SECTION_BYTES(struct quarry_tally) : 0);
}

uint64_t quarry_heap_section_align(const struct quarry_heap_options *options)
{
    uint64_t bits = (options->page_bytes + quarry_heap_block_overhead(options)) | QUARRY_PAGE_ALIGN;
    uint64_t align = options->page_bytes ? bits & (0 - bits) : QUARRY_SECTION_ALIGN;
    align = align > QUARRY_SECTION_ALIGN ? align : QUARRY_SECTION_ALIGN;
    return align > options->alignment ? align : options->alignment;
}

/* What divides the addresses of all blocks: the power of two in where the first begins, behind `lead` bytes
 * of its own, and in the distance from one to the next. */
static uint32_t block_alignment(const struct quarry_layout *layout, uint64_t lead)
{
    uint64_t bits = ((uint64_t)(uintptr_t)layout->places + lead) | layout->unit | layout->page_align;
    uint32_t alignment = (uint32_t)(bits & (0 - bits));
    return layout->unit && alignment > QUARRY_PAGE_UNIT ? alignment : QUARRY_PAGE_UNIT;
}

/* Lays out `bytes` bytes (UINT64_MAX: as many as pages need) of the pool's sections.
 *   page_bytes   0: the allocator chooses */
static enum quarry_layout_result lay_out(const struct pool *pool, const struct quarry_heap_options *options,
                                         uint64_t page_bytes, uint64_t bytes, uint64_t pages,
                                         struct quarry_handle *handle, struct quarry_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->base = quarry_pool_sections(pool);
    layout->page_align = quarry_heap_section_align(options);
    layout->multiprocessors = pool->ops->multiprocessors(&pool->target);
    layout->bytes = bytes;
    layout->overhead = quarry_heap_block_overhead(options);
    layout->debug = quarry_heap_debugs_blocks(options);
    layout->watched = layout->debug || options->statistics;
    layout->alignment = options->alignment;
    layout->page_bytes = page_bytes;
    /* A size that no page can have stays one, whatever is added. */
    if (page_bytes && page_bytes <= QUARRY_MAX_PAGE_BYTES)
        layout->page_bytes += layout->overhead;
    layout->pages = pages;
    layout->types = options->schema ? options->schema->type_count : 0;
    layout->schema = options->schema ? options->schema->code : 0;
    for (uint32_t i = 0; i < layout->types && options->debug; i++)
        layout->fields += quarry_objects_fields_of(options->schema, i, NULL);
    layout->low_free = quarry_registry_can(handle->allocator) & QUARRY_CAN_INFER_FULL ? options->low_free : 0;
    (void)quarry_registry_options(handle->allocator, options->set, options->set_count, layout->option);
    enum quarry_layout_result result = quarry_registry_layout(handle, layout);
    if (result == QUARRY_LAYOUT_OK && options->alignment > NATURAL_ALIGNMENT &&
        !quarry_layout_is_aligned(layout))
        return QUARRY_LAYOUT_ALIGNMENT;
    handle->alignment = block_alignment(layout, layout->debug ? QUARRY_DEBUG_HEADER_BYTES : 0);
    handle->free_reach = layout->free_reach;
    if (options->distribution == QUARRY_DISTRIBUTION_WARP) { /* a piece begins wherever its header ends */
        handle->alignment = (uint32_t)options->alignment;
        handle->free_reach = UINT64_MAX;
    }
    if (result == QUARRY_LAYOUT_OK)
        handle->max_block -= handle->max_block % options->alignment + quarry_heap_block_overhead(options);
    return result;
}

/* Turns what a layout found wrong into a status and a sentence. */
static enum quarry_status fail_layout(enum quarry_layout_result result, const struct pool *pool,
                                      const struct quarry_heap_options *options, uint32_t allocator,
                                      const struct quarry_layout *layout)
{
    struct quarry_allocator_info info;
    struct quarry_option_info option;
    struct quarry_layout needed;
    struct quarry_handle scratch = {0};
    uint64_t pages = options->pages ? options->pages : 1, page_bytes = options->page_bytes;
    quarry_allocator_describe(quarry_registry_index(allocator), &info);
    scratch.allocator = allocator;
    switch (result) {
    case QUARRY_LAYOUT_OK:
        return QUARRY_OK;
    case QUARRY_LAYOUT_PAGE_BYTES:
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "page_bytes is %" PRIu64 ": allocator %s takes multiples of %u from %u to %u",
                           options->page_bytes, info.name, QUARRY_MIN_PAGE_BYTES, QUARRY_MIN_PAGE_BYTES,
                           QUARRY_MAX_PAGE_BYTES);
    case QUARRY_LAYOUT_PAGES:
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "pages is %" PRIu64 ": allocator %s takes 1 to %" PRIu64
                           ", or 0 for as many as the pool holds",
                           options->pages, info.name, layout->most_pages);
    case QUARRY_LAYOUT_OPTION:
        quarry_allocator_option(quarry_registry_index(allocator), layout->wrong_option, &option);
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "option %s is %" PRIu64 ": %s", option.name,
                           layout->option[layout->wrong_option], layout->wrong_because);
    case QUARRY_LAYOUT_LOW_FREE:
        return quarry_fail(
            QUARRY_ERROR_ARGUMENT,
            "low_free is %g: to infer so low a share takes more than the %u probes that allocator "
            "%s makes at most",
            options->low_free, QUARRY_MAX_PROBES, info.name);
    case QUARRY_LAYOUT_ALIGNMENT:
        if (options->page_bytes % options->alignment != 0)
            return quarry_fail(QUARRY_ERROR_COMBINATION,
                               "page_bytes is %" PRIu64 ", which is no multiple of the alignment of %" PRIu64
                               ": not every page of allocator %s would begin at one",
                               options->page_bytes, options->alignment, info.name);
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "alignment is %" PRIu64
                           ", but allocator %s can't align its blocks to more than %" PRIu64,
                           options->alignment, info.name, info.max_alignment);
    case QUARRY_LAYOUT_POOL:
        break;
    }
    /* An allocator may choose pages by the pool's size, which a layout of a number of pages doesn't know. */
    if (options->pages == 0 && page_bytes == 0 && layout->page_bytes > layout->overhead)
        page_bytes = layout->page_bytes - layout->overhead;
    if (lay_out(pool, options, page_bytes, UINT64_MAX, pages, &scratch, &needed) != QUARRY_LAYOUT_OK)
        return quarry_fail(QUARRY_ERROR_POOL, "a pool of %" PRIu64 " bytes is too small for allocator %s",
                           pool->bytes, info.name);
    return quarry_fail(QUARRY_ERROR_POOL,
                       "a pool of %" PRIu64 " bytes is too small: %" PRIu64 " page%s of %" PRIu64
                       " bytes need%s at least %" PRIu64 " with allocator %s, metadata included",
                       pool->bytes, pages, pages == 1 ? "" : "s", needed.page_bytes - needed.overhead,
                       pages == 1 ? "s" : "", quarry_pool_need(pool, needed.used_bytes), info.name);
}

enum quarry_status quarry_heap_plan(struct pool *pool, const struct quarry_heap_options *options,
                                    struct quarry_handle *handle, struct quarry_layout *layout)
{
    enum quarry_status status = QUARRY_OK;
    if (pool->bytes == 0 && options->pages == 0) {
        status = quarry_pool_default_bytes(pool);
    } else if (pool->bytes == 0) {
        enum quarry_layout_result result =
            lay_out(pool, options, options->page_bytes, UINT64_MAX, options->pages, handle, layout);
        pool->bytes = quarry_pool_need(pool, layout->used_bytes);
        status = fail_layout(result, pool, options, handle->allocator, layout);
    }
    if (status != QUARRY_OK)
        return status;
    enum quarry_layout_result result =
        lay_out(pool, options, options->page_bytes, quarry_pool_room(pool), options->pages, handle, layout);
    return fail_layout(result, pool, options, handle->allocator, layout);
}
