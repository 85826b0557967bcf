/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps of malloc and free: an allocator in a pool, with its structures made and counted by kernels.
 *
 * Options are checked in full, by laying out a pool that isn't there yet, before any memory is taken:
 * a layout depends on the pool's size but not on its address. */
#include "host/heap.h"
#include "host/internal.h"
#include "host/launches.h"
#include "quarry/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

enum quarry_status quarry_heap_settle(const quarry_heap *heap)
{
    const struct heap_settle argument = {heap->handle};
    if (!(quarry_registry_can(heap->handle.allocator) & (QUARRY_CAN_DEFER_FREES | QUARRY_CAN_KEEP_SPACE)))
        return QUARRY_OK;
    return quarry_pool_launch(&heap->pool, &quarry_heap_settle_kernel, &argument);
}

uint64_t quarry_heap_units(const quarry_heap *heap)
{
    const struct quarry_layout *layout = &heap->layout;
    return layout->unit ? (uint64_t)(layout->base + layout->used_bytes - layout->places) / layout->unit : 0;
}

/* Walks over the blocks of a heap in debug mode. */
static enum quarry_status walk(quarry_heap *heap, enum heap_debug_task task)
{
    struct heap_debug argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.places = heap->layout.places;
    argument.unit = heap->layout.unit;
    argument.units = quarry_heap_units(heap);
    argument.launch = heap->launch;
    argument.task = (uint32_t)task;
    enum quarry_status status = QUARRY_OK;
    if (task != HEAP_DEBUG_TAGS)
        status =
            quarry_pool_clear(&heap->pool, &heap->handle.debug->census, sizeof heap->handle.debug->census);
    return status == QUARRY_OK ? quarry_pool_launch(&heap->pool, &quarry_heap_debug_kernel, &argument)
                               : status;
}

static enum quarry_status start(quarry_heap *heap)
{
    struct heap_init argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.header = heap->header;
    argument.policy = heap->policy;
    enum quarry_status status = quarry_pool_launch(&heap->pool, &quarry_heap_init_kernel, &argument);
    if (status == QUARRY_OK && heap->policy.trap)
        status = quarry_pool_clear(&heap->pool, heap->policy.trap, sizeof *heap->policy.trap);
    if (status == QUARRY_OK && heap->policy.tally)
        status = quarry_pool_clear(&heap->pool, heap->policy.tally, sizeof *heap->policy.tally);
    if (status == QUARRY_OK && heap->handle.debug)
        status = walk(heap, HEAP_DEBUG_START);
    return status;
}

static int has_platform_blocks(const quarry_heap *heap)
{
    return (quarry_registry_can(heap->handle.allocator) & QUARRY_HAS_PLATFORM_BLOCKS) != 0;
}

/* For an allocator whose blocks are the platform's. */
static enum quarry_status check_platform(const quarry_heap *heap, const struct quarry_heap_options *options)
{
    if (options->debug)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "allocator %s has no debug mode: nobody can find its blocks", options->allocator);
    if (options->statistics)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "allocator %s has no statistics: nobody can tell the size of its blocks",
                           options->allocator);
    if (heap->pool.kind != QUARRY_POOL_DEVICE)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "allocator %s takes its memory from the platform: pool must be QUARRY_POOL_DEVICE",
                           options->allocator);
    return QUARRY_OK;
}

enum quarry_status quarry_heap_check_counts(const quarry_heap *heap, const char *what)
{
    struct quarry_allocator_info info;
    if (!has_platform_blocks(heap))
        return QUARRY_OK;
    quarry_allocator_describe(quarry_registry_index(heap->handle.allocator), &info);
    return quarry_fail(QUARRY_ERROR_COMBINATION, "allocator %s %s: nobody counts its blocks", info.name,
                       what);
}

/* Completes the handle of a heap whose pool is laid out.  Blocks that are whole pages need no request to be
 * rounded up to the alignment, so that without any other policy there is none. */
static void compose(quarry_heap *heap, const struct quarry_heap_options *options)
{
    unsigned char *head = (unsigned char *)heap->header;
    const struct quarry_layout *layout = &heap->layout;
    int whole_pages = layout->unit == layout->page_bytes && layout->max_block == layout->page_bytes;
    uint64_t combined = layout->max_block < layout->page_bytes ? layout->max_block : layout->page_bytes;
    heap->schema = options->schema;
    heap->overhead = quarry_heap_block_overhead(options);
    heap->handle.counters = &heap->header->counters;
    heap->handle.shrink = (uint32_t)options->alignment;
    heap->handle.distribution = (uint32_t)options->distribution;
    heap->handle.oom = (uint32_t)options->oom;
    if (quarry_heap_debugs_blocks(options) || options->statistics ||
        options->distribution != QUARRY_DISTRIBUTION_NONE || options->oom != QUARRY_OOM_NULL ||
        (options->alignment > NATURAL_ALIGNMENT && !whole_pages))
        heap->handle.policy = (struct quarry_policy *)(void *)(head + quarry_heap_policy_offset());
    if (quarry_heap_debugs_blocks(options))
        heap->handle.debug = (struct quarry_debug *)(void *)(head + quarry_heap_debug_offset());
    heap->handle.code = quarry_fixed_code(&heap->handle, options->statistics);
    if (options->statistics)
        heap->policy.tally = (struct quarry_tally *)(void *)(head + quarry_heap_tally_offset(options));
    heap->policy.heap = heap->handle;
    heap->policy.overhead = heap->overhead;
    heap->policy.combined = (uint32_t)combined;
    heap->policy.oom_tries = options->oom_tries;
    heap->policy.trap = (struct quarry_trap *)heap->pool.record;
    heap->policy.places = has_platform_blocks(heap) ? NULL : layout->places;
    heap->policy.places_bytes = has_platform_blocks(heap)
                                    ? UINT64_MAX
                                    : (uint64_t)(layout->base + layout->used_bytes - layout->places);
}

/* All that is done before there is memory. */
static enum quarry_status draft(quarry_heap *heap, const struct quarry_heap_options *options)
{
    struct pool *pool = &heap->pool;
    enum quarry_status status = quarry_pool_open(pool, &options->target);
    if (status == QUARRY_OK)
        status = quarry_registry_find(options->allocator, &heap->handle.allocator);
    if (status == QUARRY_OK)
        status = quarry_heap_options_check(options, heap->handle.allocator);
    if (status == QUARRY_OK)
        status = quarry_pool_shape(pool, options->pool, options->buffer, options->pool_bytes,
                                   quarry_heap_head_bytes(options), quarry_heap_section_align(options));
    if (status == QUARRY_OK)
        status = quarry_heap_plan(pool, options, &heap->handle, &heap->layout);
    if (status == QUARRY_OK && has_platform_blocks(heap))
        status = check_platform(heap, options);
    return status;
}

/* The name of an object has an address of 48 bits. */
static enum quarry_status check_names(const struct quarry_layout *layout,
                                      const struct quarry_heap_options *options)
{
    const uint64_t end = (uint64_t)(uintptr_t)layout->base + layout->used_bytes;
    if (!options->schema || end <= (uint64_t)1 << QUARRY_OBJECT_ADDRESS_BITS)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_COMBINATION,
                       "the pool ends at 0x%" PRIx64 ", but typed objects lie below 2^%u", end,
                       QUARRY_OBJECT_ADDRESS_BITS);
}

static enum quarry_status create(quarry_heap *heap, const struct quarry_heap_options *options)
{
    struct pool *pool = &heap->pool;
    enum quarry_status status = draft(heap, options);
    if (status == QUARRY_OK && has_platform_blocks(heap))
        status = pool->ops->platform_heap(&pool->target, heap->layout.used_bytes);
    if (status != QUARRY_OK)
        return status;

    status = quarry_pool_take(pool, has_platform_blocks(heap) ? quarry_pool_need(pool, 0) : pool->bytes,
                              options->oom == QUARRY_OOM_TRAP ? sizeof *heap->policy.trap : 0);
    if (status == QUARRY_OK)
        status = quarry_heap_plan(pool, options, &heap->handle, &heap->layout);
    if (status == QUARRY_OK)
        status = check_names(&heap->layout, options);
    if (status != QUARRY_OK)
        return quarry_pool_fail(pool, status);
    heap->header = (struct heap_header *)(void *)quarry_pool_head(pool);
    compose(heap, options);
    if (heap->handle.debug)
        status = quarry_launches_enter(&pool->target, pool->ops, &heap->launch);
    if (status == QUARRY_OK)
        status = start(heap);
    if (status == QUARRY_OK)
        status = quarry_objects_begin(heap);
    if (status == QUARRY_OK)
        return status;
    status = quarry_pool_fail(pool, status);
    if (heap->launch)
        quarry_launches_leave(&pool->target, pool->ops);
    return status;
}

/* Fails, and says that the options are not what the program wrote. */
static enum quarry_status fail_with(const struct heap_environment *environment, enum quarry_status status)
{
    char first[3584];
    if (!*environment->says)
        return status;
    snprintf(first, sizeof first, "%s", quarry_error_detail());
    return quarry_fail(status, "with %s in the environment: %s", environment->says, first);
}

static enum quarry_status create_draft(quarry_heap *heap, const struct quarry_heap_options *options)
{
    enum quarry_status status = draft(heap, options);
    if (status != QUARRY_OK)
        return status;
    heap->pool.memory = NULL; /* a buffer of the caller's is left alone */
    heap->header = (struct heap_header *)(void *)quarry_pool_head(&heap->pool);
    compose(heap, options);
    return QUARRY_OK;
}

static enum quarry_status make(quarry_heap **out, const struct quarry_heap_options *options,
                               enum quarry_status (*how)(quarry_heap *, const struct quarry_heap_options *))
{
    struct quarry_heap_options full;
    struct heap_environment environment;
    if (!out)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    enum quarry_status status = quarry_heap_options_read(options, &full, &environment);
    if (status != QUARRY_OK)
        return status;
    quarry_heap *heap = calloc(1, sizeof *heap);
    if (!heap)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a heap's record");
    heap->prints = environment.prints;
    status = how(heap, &full);
    if (status != QUARRY_OK) {
        free(heap);
        return fail_with(&environment, status);
    }
    *out = heap;
    return QUARRY_OK;
}

enum quarry_status quarry_heap_create(quarry_heap **out, const struct quarry_heap_options *options)
{
    return make(out, options, create);
}

enum quarry_status quarry_heap_draft(quarry_heap **out, const struct quarry_heap_options *options)
{
    return make(out, options, create_draft);
}

/* Walks over the blocks of an idle heap in debug mode, and fetches what that counted and all records. */
static enum quarry_status inspect(quarry_heap *heap, enum heap_debug_task task, struct quarry_debug *debug)
{
    enum quarry_status status = quarry_heap_settle(heap);
    if (status == QUARRY_OK)
        status = walk(heap, task);
    if (status == QUARRY_OK)
        status = walk(heap, HEAP_DEBUG_TAGS);
    if (status == QUARRY_OK)
        status = quarry_pool_copy(&heap->pool, debug, heap->handle.debug, sizeof *debug);
    return status;
}

/* COMBINATION with a sentence if a kernel that is compiled for other heaps used one. */
static enum quarry_status judge_misfit(uint32_t code, const struct quarry_counters *counters)
{
    return quarry_fixed_judge("a kernel", "", counters->misfit, code);
}

/* Waits, and fetches the counters, but not from a caller's buffer, which may be gone already. */
static enum quarry_status last_counters(const quarry_heap *heap, struct quarry_counters *counters)
{
    memset(counters, 0, sizeof *counters);
    if (heap->pool.kind == QUARRY_POOL_BUFFER)
        return quarry_pool_wait(&heap->pool);
    return quarry_pool_copy(&heap->pool, counters, &heap->header->counters, sizeof *counters);
}

enum quarry_status quarry_heap_destroy(quarry_heap *heap)
{
    struct quarry_debug debug;
    struct quarry_counters counters;
    char leaks[QUARRY_DEBUG_LEAKS_BYTES] = "";
    if (!heap)
        return QUARRY_OK;
    if (!heap->pool.memory) { /* a draft */
        free(heap);
        return QUARRY_OK;
    }
    memset(&debug, 0, sizeof debug);
    enum quarry_status status = last_counters(heap, &counters);
    /* Lanes that a trap ended in the middle of a malloc have damaged nothing. */
    const int trapped = heap->policy.trap && heap->policy.trap->count != 0;
    if (status == QUARRY_OK && heap->handle.debug)
        status = inspect(heap, trapped ? HEAP_DEBUG_COUNT : HEAP_DEBUG_CHECK, &debug);
    if (status == QUARRY_OK && heap->handle.debug)
        quarry_debug_leaks(heap, &debug, leaks);
    if (status == QUARRY_OK && heap->prints)
        quarry_totals_print(heap);
    const enum quarry_status objects =
        status == QUARRY_OK && quarry_heap_debugs_objects(heap) ? quarry_objects_end(heap) : QUARRY_OK;
    enum quarry_status given_back = quarry_pool_give(&heap->pool);
    const uint32_t code = heap->handle.code;
    status = status == QUARRY_OK ? given_back : status;
    if (status == QUARRY_OK)
        status =
            heap->schema ? objects : quarry_debug_judge(&debug, leaks); /* while names of kernels are known */
    if (status == QUARRY_OK || status == QUARRY_ERROR_LEAK) {
        enum quarry_status misfit = judge_misfit(code, &counters); /* it explains the leaks */
        status = misfit == QUARRY_OK ? status : misfit;
    }
    if (heap->launch)
        quarry_launches_leave(&heap->pool.target, heap->pool.ops);
    free(heap);
    return status;
}

enum quarry_status quarry_heap_reset(quarry_heap *heap)
{
    if (!heap)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "heap is NULL");
    if (heap->recorded)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap is being recorded: end the trace before the heap is reset");
    enum quarry_status status = quarry_heap_check_counts(heap, "can't be reset");
    heap->resets += status == QUARRY_OK;
    return status == QUARRY_OK ? start(heap) : status;
}

enum quarry_status quarry_heap_record(quarry_heap *heap, struct quarry_log *log)
{
    if (log && heap->recorded)
        return quarry_fail(QUARRY_ERROR_COMBINATION, "the heap is being recorded already");
    enum quarry_status status = quarry_pool_copy(&heap->pool, &heap->header->counters.log, &log, sizeof log);
    heap->recorded = log && status == QUARRY_OK;
    return status;
}

struct quarry_handle quarry_heap_handle(const quarry_heap *heap)
{
    struct quarry_handle none;
    memset(&none, 0, sizeof none);
    return heap && heap->pool.memory ? heap->handle : none;
}

enum quarry_status quarry_heap_describe(const quarry_heap *heap, struct quarry_heap_description *description)
{
    struct quarry_allocator_info info;
    if (!heap || !description)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "description" : "heap");
    memset(description, 0, sizeof *description);
    quarry_allocator_describe(quarry_registry_index(heap->handle.allocator), &info);
    description->allocator = info.name;
    description->target = heap->pool.target;
    description->pool = heap->pool.kind;
    description->pool_base = heap->pool.memory;
    description->pool_bytes = heap->pool.bytes;
    description->page_bytes = heap->layout.page_bytes - heap->overhead;
    description->pages = heap->layout.pages;
    description->max_block_bytes = heap->handle.max_block;
    description->full = heap->layout.low_free > 0 ? QUARRY_FULL_INFERRED : QUARRY_FULL_PROVEN;
    description->low_free = heap->layout.low_free;
    description->debug = heap->handle.debug != NULL || quarry_heap_debugs_objects(heap);
    description->statistics = heap->policy.tally != NULL;
    description->alignment = heap->handle.shrink;
    description->distribution = (enum quarry_distribution)heap->handle.distribution;
    description->oom = (enum quarry_oom)heap->handle.oom;
    description->oom_tries = heap->policy.oom_tries;
    description->option_count =
        quarry_registry_pairs(heap->handle.allocator, heap->layout.option, description->options);
    return QUARRY_OK;
}

SIMT_STATIC_ASSERT(1 + QUARRY_MAX_SECTIONS <= QUARRY_HEAP_SECTIONS, "the head, and the allocator's");

uint32_t quarry_heap_map(const quarry_heap *heap, struct quarry_heap_section *sections, uint32_t most)
{
    struct quarry_heap_section all[QUARRY_HEAP_SECTIONS];
    uint32_t count = 0;
    if (!heap || has_platform_blocks(heap))
        return 0;
    const uint64_t begin = quarry_pool_before_sections(&heap->pool);
    if (heap->pool.kind != QUARRY_POOL_MALLOC) {
        const struct quarry_heap_section head = {"head", begin - heap->pool.head_bytes,
                                                 heap->pool.head_bytes};
        all[count++] = head;
    }
    for (uint32_t i = 0; i < heap->layout.section_count; i++) {
        const struct quarry_section *section = &heap->layout.section[i];
        const struct quarry_heap_section next = {section->name, begin + section->begin, section->bytes};
        all[count++] = next;
    }
    if (sections)
        memcpy(sections, all, sizeof *all * (count < most ? count : most));
    return count;
}

/* ---- counting ---- */

/* Walks the idle heap, counting slots for requests of `bytes` (1 to max_block), and fetches the header. */
static enum quarry_status count(quarry_heap *heap, uint64_t bytes, struct heap_header *header)
{
    struct heap_census argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.header = heap->header;
    argument.bytes = heap->handle.policy ? quarry_request_alone(&heap->policy, bytes) : bytes;
    enum quarry_status status = quarry_heap_settle(heap);
    if (status == QUARRY_OK)
        status = quarry_pool_clear(&heap->pool, &heap->header->census, sizeof heap->header->census);
    if (status == QUARRY_OK)
        status = quarry_pool_launch(&heap->pool, &quarry_heap_census_kernel, &argument);
    if (status == QUARRY_OK)
        status = quarry_pool_copy(&heap->pool, header, heap->header, sizeof *header);
    return status;
}

enum quarry_status quarry_heap_statistics(quarry_heap *heap, struct quarry_statistics *statistics)
{
    struct heap_header header;
    if (!heap || !statistics)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "statistics" : "heap");
    memset(statistics, 0, sizeof *statistics);
    uint64_t most = heap->handle.max_block;
    enum quarry_status status = count(heap, heap->layout.page_bytes - heap->overhead, &header);
    if (status != QUARRY_OK)
        return status;
    const struct quarry_census *census = &header.census;
    uint64_t largest = census->largest_free - census->largest_free % heap->handle.shrink;
    largest = largest > heap->overhead ? largest - heap->overhead : 0;
    statistics->live_blocks = census->live_blocks;
    statistics->live_bytes = census->live_bytes - census->live_blocks * heap->overhead;
    /* What is free is as many blocks of a page. */
    statistics->capacity_bytes = statistics->live_bytes + census->free_bytes - census->slots * heap->overhead;
    statistics->largest_free_bytes = largest < most ? largest : most;
    statistics->failed_mallocs = header.counters.failed;
    statistics->refused_mallocs = header.counters.refused;
    statistics->last_failed_bytes = header.counters.last_bytes;
    statistics->utilisation = (double)statistics->live_bytes / (double)heap->pool.bytes;
    return judge_misfit(heap->handle.code, &header.counters);
}

enum quarry_status quarry_heap_slots(quarry_heap *heap, uint64_t bytes, uint64_t *slots)
{
    struct heap_header header;
    if (!heap || !slots)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "slots" : "heap");
    *slots = 0;
    enum quarry_status status = quarry_heap_check_counts(heap, "has no slots");
    if (status != QUARRY_OK)
        return status;
    if (bytes == 0 || bytes > heap->handle.max_block)
        return quarry_pool_wait(&heap->pool);
    status = count(heap, bytes, &header);
    if (status == QUARRY_OK)
        *slots = header.census.slots;
    return status;
}

enum quarry_status quarry_heap_check(quarry_heap *heap)
{
    struct heap_header header;
    if (!heap)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "heap is NULL");
    enum quarry_status status = count(heap, 1, &header); /* fails if a CUDA context was lost */
    if (heap->policy.trap && heap->policy.trap->count != 0)
        return quarry_fail(QUARRY_ERROR_POOL,
                           "the heap was full, and %" PRIu64 " malloc%s trapped, one of %" PRIu64 " bytes",
                           heap->policy.trap->count, heap->policy.trap->count == 1 ? "" : "s",
                           heap->policy.trap->bytes);
    uint64_t faults = status == QUARRY_OK ? header.census.faults + (header.census.odds != 0) : 0;
    if (faults)
        status =
            quarry_fail(QUARRY_ERROR_CORRUPT,
                        "the heap's structures contradict themselves in %" PRIu64
                        " place%s: most likely memory outside a live block was written, or a kernel ended "
                        "in the middle of a malloc or free",
                        faults, faults == 1 ? "" : "s");
    if (status == QUARRY_OK && heap->handle.debug) {
        struct quarry_debug debug;
        status = inspect(heap, HEAP_DEBUG_CHECK, &debug);
        if (status == QUARRY_OK)
            status = quarry_debug_judge(&debug, "");
    }
    if (status == QUARRY_OK)
        status = quarry_objects_judge(heap);
    return status == QUARRY_OK ? judge_misfit(heap->handle.code, &header.counters) : status;
}

enum quarry_status quarry_heap_debug_report(quarry_heap *heap, char *text, size_t bytes)
{
    struct quarry_debug debug;
    if (!heap || (!text && bytes))
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "text" : "heap");
    if (bytes)
        *text = 0;
    if (quarry_heap_debugs_objects(heap))
        return quarry_objects_report(heap, text, bytes);
    if (!heap->handle.debug)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap has nothing to report: it was created without options.debug");
    enum quarry_status status = inspect(heap, HEAP_DEBUG_COUNT, &debug);
    if (status == QUARRY_OK)
        quarry_debug_report(&debug, text, bytes);
    return status;
}
