/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps: a pool, laid out, with its structures made and counted by kernels on its target.
 *
 * Options are checked in full, by laying out a pool that isn't there yet, before any memory is taken:
 * a layout depends on the pool's size but not on its address. */
#include "device/heap_kernels.h"
#include "host/backend.h"
#include "host/internal.h"
#include "host/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ALLOCATOR "corw"
#define DEFAULT_LOW_FREE 0.005
#define NATURAL_ALIGNMENT 16u
#define DEFAULT_OOM_TRIES 1000u
#define MAX_OOM_TRIES (1u << 24)
#define BUFFER_ALIGNMENT 16u
#define MAX_SCATTER 4096u /* region_pages, waste_factor */
#define SECTION_BYTES(type)                                                                                  \
    ((sizeof(type) + QUARRY_SECTION_ALIGN - 1) / QUARRY_SECTION_ALIGN * QUARRY_SECTION_ALIGN)
#define MAX_OPTIONS_BYTES 4096u /* an options struct said to be larger is one that nobody initialised */

/* Stands for the allocator's sections while there is no pool: aligned like them, and not NULL, on which
 * addresses may not be computed. */
#define ABSENT_SECTIONS ((unsigned char *)(uintptr_t)QUARRY_MAX_ALIGNMENT)

struct quarry_heap {
    const struct backend_ops *ops;
    struct quarry_target target;
    enum quarry_pool pool;
    void *memory;        /* the pool, as the backend or the caller gave it */
    uint64_t pool_bytes; /* of it, and of `head` */
    void *head;          /* POOL_MALLOC: the head, which the host must reach; else NULL: it is in the pool */
    struct heap_header *header;
    struct quarry_handle handle;
    struct quarry_policy policy; /* the pool's, if the handle has one */
    struct quarry_layout layout;
    struct quarry_grid grid; /* of the library's kernels on this heap */
    uint64_t overhead;       /* bytes of a block that are not the user's */
    int recorded;            /* the pool's counters name a log */
};
SIMT_STATIC_ASSERT(QUARRY_DEBUG_PAGE_BYTES == QUARRY_DEBUG_OVERHEAD, "host and device speak of the same");
SIMT_STATIC_ASSERT((int)QUARRY_DISTRIBUTION_WARP == (int)QUARRY_DISTRIBUTION_NUMBER_warp &&
                       (int)QUARRY_OOM_WAIT == (int)QUARRY_OOM_NUMBER_wait &&
                       (int)QUARRY_OOM_TRAP == (int)QUARRY_OOM_NUMBER_trap &&
                       (int)QUARRY_OOM_CALL == (int)QUARRY_OOM_NUMBER_hook,
                   "host and device speak of the same");

/* ---- options ---- */

/* Fills *full from the caller's struct, which may be an older, shorter or a newer, longer one. */
static enum quarry_status read_options(const struct quarry_heap_options *options,
                                       struct quarry_heap_options *full)
{
    const struct quarry_heap_options initial = QUARRY_HEAP_OPTIONS_INIT;
    *full = initial;
    if (!options)
        return QUARRY_OK;
    size_t given = options->struct_bytes;
    if (given < sizeof options->struct_bytes || given > MAX_OPTIONS_BYTES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "options.struct_bytes is %zu: initialise options with QUARRY_HEAP_OPTIONS_INIT",
                           given);
    /* Every default is 0, so a short struct's missing tail keeps the initialiser's. */
    memcpy(full, options, given < sizeof *full ? given : sizeof *full);
    for (size_t i = sizeof *full; i < given; i++)
        if (((const unsigned char *)options)[i] != 0)
            return quarry_fail(QUARRY_ERROR_ARGUMENT,
                               "options has %zu bytes and sets some after the %zu that this library knows: "
                               "the program was compiled for a newer one",
                               given, sizeof *full);
    full->struct_bytes = sizeof *full;
    return QUARRY_OK;
}

/* Bytes of a block that are not the user's, if it has one piece. */
static uint64_t block_overhead(const struct quarry_heap_options *options)
{
    if (options->debug)
        return QUARRY_DEBUG_OVERHEAD;
    return options->distribution == QUARRY_DISTRIBUTION_WARP
               ? quarry_pieces_alone(0, (uint32_t)options->alignment)
               : 0;
}

static enum quarry_status fail_word_bits(const struct quarry_heap_options *options)
{
    return quarry_fail(QUARRY_ERROR_ARGUMENT,
                       "word_bits is %" PRIu32 ": it must be 32 or 64, or 0 for the faster",
                       options->word_bits);
}

/* Checks each policy, and which of them exclude one another or the page size. */
static enum quarry_status check_policies(const struct quarry_heap_options *options)
{
    if (options->alignment < NATURAL_ALIGNMENT || options->alignment > QUARRY_MAX_ALIGNMENT ||
        (options->alignment & (options->alignment - 1)) != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "alignment is %" PRIu64 ": it must be a power of two from %u to %u, or 0 for %u",
                           options->alignment, NATURAL_ALIGNMENT, QUARRY_MAX_ALIGNMENT, NATURAL_ALIGNMENT);
    if (options->debug && options->alignment > NATURAL_ALIGNMENT)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "alignment is %" PRIu64 ", but debug mode, which writes in front of every block, "
                           "leaves them aligned to %u only",
                           options->alignment, NATURAL_ALIGNMENT);
    if ((unsigned int)options->distribution > (unsigned int)QUARRY_DISTRIBUTION_WARP)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "distribution %d does not exist: it must be %d or %d",
                           (int)options->distribution, QUARRY_DISTRIBUTION_NONE, QUARRY_DISTRIBUTION_WARP);
    if ((unsigned int)options->oom > (unsigned int)QUARRY_OOM_CALL)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "oom %d does not exist: it must be %d to %d",
                           (int)options->oom, QUARRY_OOM_NULL, QUARRY_OOM_CALL);
    if (options->oom_tries > MAX_OOM_TRIES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "oom_tries is %" PRIu32 ": it must be at most %u, or 0 for %u", options->oom_tries,
                           MAX_OOM_TRIES, DEFAULT_OOM_TRIES);
    if (options->oom_tries && options->oom != QUARRY_OOM_WAIT)
        return quarry_fail(QUARRY_ERROR_COMBINATION, "oom_tries was given, but oom is not QUARRY_OOM_WAIT");
    if (options->debug && options->distribution != QUARRY_DISTRIBUTION_NONE)
        return quarry_fail(
            QUARRY_ERROR_COMBINATION,
            "debug was given, but debug mode knows the allocator's blocks and not the pieces of "
            "QUARRY_DISTRIBUTION_WARP");
    if (options->page_bytes <= QUARRY_MAX_PAGE_BYTES &&
        options->page_bytes > QUARRY_MAX_PAGE_BYTES - block_overhead(options))
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "page_bytes is %" PRIu64 ", which leaves no room for the %" PRIu64
                           " bytes that %s adds: it must be at most %" PRIu64,
                           options->page_bytes, block_overhead(options),
                           options->debug ? "debug mode" : "QUARRY_DISTRIBUTION_WARP",
                           QUARRY_MAX_PAGE_BYTES - block_overhead(options));
    return QUARRY_OK;
}

/* Checks what no layout looks at: the word size, which allocators without a bitmap ignore, and the pool
 * against the options that belong to one kind of it. */
static enum quarry_status check_options(const struct quarry_heap_options *options)
{
    if (options->word_bits != 0 && options->word_bits != 32 && options->word_bits != 64)
        return fail_word_bits(options);
    if (options->probes > QUARRY_MAX_PROBES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "probes is %" PRIu32 ": it must be at most %u, or 0 for the default",
                           options->probes, QUARRY_MAX_PROBES);
    if (options->probe_lanes > SIMT_LANES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "probe_lanes is %" PRIu32 ": it must be 1 to %u, or 0 for the default",
                           options->probe_lanes, SIMT_LANES);
    if (options->scatter.region_pages > MAX_SCATTER || options->scatter.waste_factor > MAX_SCATTER)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "scatter.region_pages is %" PRIu32 " and scatter.waste_factor %" PRIu32
                           ": each must be at most %u, or 0 for the default",
                           options->scatter.region_pages, options->scatter.waste_factor, MAX_SCATTER);
    if ((unsigned int)options->full > (unsigned int)QUARRY_FULL_INFERRED)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "full %d does not exist: it must be %d or %d",
                           (int)options->full, QUARRY_FULL_PROVEN, QUARRY_FULL_INFERRED);
    if (!(options->low_free >= 0 && options->low_free < 1))
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "low_free is %g: it must be a share between 0 and 1, or 0 for %g",
                           options->low_free, DEFAULT_LOW_FREE);
    if (options->full == QUARRY_FULL_PROVEN && options->low_free > 0)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "low_free was given, but full is not QUARRY_FULL_INFERRED");
    if (options->full == QUARRY_FULL_INFERRED && options->probes)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "probes was given, but with QUARRY_FULL_INFERRED they follow from low_free");
    if ((unsigned int)options->pool > (unsigned int)QUARRY_POOL_MALLOC)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool %d does not exist: it must be %d to %d",
                           (int)options->pool, QUARRY_POOL_DEVICE, QUARRY_POOL_MALLOC);
    if (options->pool != QUARRY_POOL_BUFFER) {
        if (options->buffer)
            return quarry_fail(QUARRY_ERROR_COMBINATION,
                               "a buffer was given, but the pool is not QUARRY_POOL_BUFFER");
        return QUARRY_OK;
    }
    if (!options->buffer)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "the pool is QUARRY_POOL_BUFFER, but buffer is NULL");
    if ((uintptr_t)options->buffer % BUFFER_ALIGNMENT != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "buffer %p is not aligned to %u bytes", options->buffer,
                           BUFFER_ALIGNMENT);
    if (options->pool_bytes == 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool_bytes is 0: it must say how large the buffer is");
    if (options->pool_bytes > UINTPTR_MAX - (uintptr_t)options->buffer)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "pool_bytes is %" PRIu64 ": the buffer at %p can't be so large",
                           options->pool_bytes, options->buffer);
    return QUARRY_OK;
}

/* ---- layout ---- */

/* Bytes from the header to the allocator's sections; room for policies that may turn out to be none, too. */
static uint64_t head_bytes(const struct quarry_heap_options *options)
{
    int composed = options->debug || options->alignment > NATURAL_ALIGNMENT ||
                   options->distribution != QUARRY_DISTRIBUTION_NONE || options->oom != QUARRY_OOM_NULL;
    return HEAP_HEADER_BYTES + (composed ? SECTION_BYTES(struct quarry_policy) : 0) +
           (options->debug ? SECTION_BYTES(struct quarry_debug) : 0);
}

/* What divides the addresses of all blocks: the power of two in where the first begins, behind `lead` bytes
 * of its own, and in the distance from one to the next. */
static uint32_t block_alignment(const struct quarry_layout *layout, uint64_t lead)
{
    uint64_t bits = ((uint64_t)(uintptr_t)layout->places + lead) | layout->unit | QUARRY_SECTION_ALIGN;
    uint32_t alignment = (uint32_t)(bits & (0 - bits));
    return layout->unit && alignment > QUARRY_PAGE_UNIT ? alignment : QUARRY_PAGE_UNIT;
}

/* What the sections are aligned to. */
static uint64_t section_align(const struct quarry_heap_options *options)
{
    return options->alignment > QUARRY_SECTION_ALIGN ? options->alignment : QUARRY_SECTION_ALIGN;
}

/* Bytes before the pool's header, with which the sections behind it are aligned. */
static uint64_t pool_lead(const struct quarry_heap_options *options, const void *memory)
{
    uint64_t head = options->pool == QUARRY_POOL_MALLOC ? 0 : head_bytes(options);
    return (uint64_t)(-((uintptr_t)memory + head)) % section_align(options);
}

/* Lays out `bytes` bytes (UINT64_MAX: as many as pages need) from `sections` on. */
static enum quarry_layout_result lay_out(const struct quarry_heap_options *options, unsigned char *sections,
                                         uint64_t bytes, uint64_t pages, struct quarry_handle *handle,
                                         struct quarry_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    layout->base = sections;
    layout->bytes = bytes;
    layout->overhead = block_overhead(options);
    layout->debug = options->debug != 0;
    layout->alignment = options->alignment;
    layout->page_bytes = options->page_bytes;
    /* A size that no page can have stays one, whatever is added. */
    if (options->page_bytes && options->page_bytes <= QUARRY_MAX_PAGE_BYTES)
        layout->page_bytes += layout->overhead;
    layout->pages = pages;
    layout->word_bits = options->word_bits;
    layout->probes = options->probes;
    layout->probe_lanes = options->probe_lanes;
    layout->low_free = options->low_free;
    layout->chunks.access_blocks = options->scatter.access_blocks;
    layout->chunks.region_pages = options->scatter.region_pages;
    layout->chunks.waste_factor = options->scatter.waste_factor;
    layout->chunks.hash_size = options->scatter.hash_size;
    layout->chunks.hash_sm = options->scatter.hash_sm;
    layout->chunks.hash_warp = options->scatter.hash_warp;
    layout->chunks.hash_pages = options->scatter.hash_pages;
    layout->chunks.keep_pages = options->scatter.keep_pages;
    layout->chunks.serial = options->scatter.serial;
    enum quarry_layout_result result = quarry_registry_layout(handle, layout);
    if (result == QUARRY_LAYOUT_OK && options->alignment > NATURAL_ALIGNMENT &&
        !quarry_layout_is_aligned(layout))
        return QUARRY_LAYOUT_ALIGNMENT;
    handle->alignment = block_alignment(layout, options->debug ? QUARRY_DEBUG_HEADER_BYTES : 0);
    handle->free_reach = layout->free_reach;
    if (options->distribution ==
        QUARRY_DISTRIBUTION_WARP) { /* where a piece begins is where its header ends */
        handle->alignment = (uint32_t)options->alignment;
        handle->free_reach = 0;
    }
    if (result == QUARRY_LAYOUT_OK)
        handle->max_block -= handle->max_block % options->alignment + block_overhead(options);
    return result;
}

/* Turns what a layout found wrong into a status and a sentence. */
static enum quarry_status fail_layout(enum quarry_layout_result result,
                                      const struct quarry_heap_options *options, uint64_t lead,
                                      uint32_t allocator)
{
    struct quarry_allocator_info info;
    struct quarry_layout needed;
    struct quarry_handle scratch = {0};
    uint64_t pages = options->pages ? options->pages : 1;
    quarry_allocator_describe((int)allocator, &info);
    scratch.allocator = allocator;
    switch (result) {
    case QUARRY_LAYOUT_OK:
        return QUARRY_OK;
    case QUARRY_LAYOUT_PAGE_BYTES:
        return quarry_fail(
            QUARRY_ERROR_ARGUMENT,
            "page_bytes is %" PRIu64 ": allocator %s takes multiples of %u from %" PRIu64 " to %" PRIu64,
            options->page_bytes, info.name, QUARRY_MIN_PAGE_BYTES, info.min_page_bytes, info.max_page_bytes);
    case QUARRY_LAYOUT_PAGES:
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "pages is %" PRIu64 ": allocator %s takes 1 to %" PRIu64
                           ", or 0 for as many as the pool holds",
                           options->pages, info.name, (uint64_t)QUARRY_MAX_PAGES);
    case QUARRY_LAYOUT_WORD_BITS:
        return fail_word_bits(options);
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
                           ", but allocator %s can't align its blocks to more than %u",
                           options->alignment, info.name, info.alignment);
    case QUARRY_LAYOUT_POOL:
        break;
    }
    if (lay_out(options, ABSENT_SECTIONS, UINT64_MAX, pages, &scratch, &needed) != QUARRY_LAYOUT_OK)
        return quarry_fail(QUARRY_ERROR_POOL, "a pool of %" PRIu64 " bytes is too small for allocator %s",
                           options->pool_bytes, info.name);
    return quarry_fail(QUARRY_ERROR_POOL,
                       "a pool of %" PRIu64 " bytes is too small: %" PRIu64 " page%s of %" PRIu64
                       " bytes need%s at least %" PRIu64 " with allocator %s, metadata included",
                       options->pool_bytes, pages, pages == 1 ? "" : "s", needed.page_bytes - needed.overhead,
                       pages == 1 ? "s" : "", needed.used_bytes + head_bytes(options) + lead, info.name);
}

/* Completes options->pool_bytes, and checks with it every option that a layout looks at. */
static enum quarry_status plan_pool(const struct backend_ops *ops, struct quarry_heap_options *options,
                                    uint64_t lead, struct quarry_handle *handle)
{
    struct quarry_layout layout;
    enum quarry_layout_result result;
    if (options->pool_bytes == 0 && options->pages != 0) {
        result = lay_out(options, ABSENT_SECTIONS, UINT64_MAX, options->pages, handle, &layout);
        if (result != QUARRY_LAYOUT_OK)
            return fail_layout(result, options, lead, handle->allocator);
        options->pool_bytes = layout.used_bytes + head_bytes(options) + lead;
    }
    if (options->pool_bytes == 0) {
        struct quarry_device_info device = {0};
        enum quarry_status status = ops->describe(&options->target, &device);
        if (status != QUARRY_OK)
            return status;
        options->pool_bytes = device.heap_bytes;
        if (options->pool == QUARRY_POOL_PINNED) {
            /* Pinned memory is the host's, and a large GPU's share may be more than that has. */
            uint64_t host_bytes = quarry_machine_memory().heap_bytes;
            if (host_bytes < options->pool_bytes)
                options->pool_bytes = host_bytes;
        }
        if (options->pool_bytes == 0)
            return quarry_fail(QUARRY_ERROR_MEMORY,
                               "%s has only %" PRIu64 " bytes available: too few for a heap of default size",
                               device.name, device.available_bytes);
    }
    uint64_t head = lead + head_bytes(options);
    uint64_t rest = options->pool_bytes > head ? options->pool_bytes - head : 0;
    result = lay_out(options, ABSENT_SECTIONS, rest, options->pages, handle, &layout);
    return fail_layout(result, options, lead, handle->allocator);
}

/* ---- creation ---- */

/* Walks over the blocks of a heap in debug mode. */
static enum quarry_status walk(quarry_heap *heap, enum heap_debug_task task)
{
    struct heap_debug argument;
    const struct quarry_layout *layout = &heap->layout;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.places = layout->places;
    argument.unit = layout->unit;
    if (layout->unit)
        argument.units = (uint64_t)(layout->base + layout->used_bytes - layout->places) / layout->unit;
    argument.task = (uint32_t)task;
    enum quarry_status status =
        heap->ops->fill(&heap->target, &heap->handle.debug->census, 0, sizeof heap->handle.debug->census);
    if (status == QUARRY_OK)
        status = heap->ops->launch(&quarry_heap_debug_kernel, &heap->target, heap->grid, &argument);
    return status;
}

static enum quarry_status start(quarry_heap *heap)
{
    struct heap_init argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.header = heap->header;
    argument.policy = heap->policy;
    enum quarry_status status =
        heap->ops->launch(&quarry_heap_init_kernel, &heap->target, heap->grid, &argument);
    if (status == QUARRY_OK && heap->policy.trap)
        status = heap->ops->fill(&heap->target, heap->policy.trap, 0, sizeof *heap->policy.trap);
    if (status == QUARRY_OK && heap->handle.debug)
        status = walk(heap, HEAP_DEBUG_START);
    return status;
}

/* For an allocator whose blocks are the platform's. */
static enum quarry_status use_platform(quarry_heap *heap, const struct quarry_heap_options *options)
{
    if (options->debug)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "allocator %s has no debug mode: nobody can find its blocks", options->allocator);
    if (heap->pool != QUARRY_POOL_DEVICE)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "allocator %s takes its memory from the platform: pool must be QUARRY_POOL_DEVICE",
                           options->allocator);
    return heap->ops->platform_heap(&heap->target, heap->layout.platform_bytes);
}

/* Fails for such an allocator. */
static enum quarry_status check_counts(const quarry_heap *heap, const char *what)
{
    struct quarry_allocator_info info;
    if (heap->layout.platform_bytes == 0)
        return QUARRY_OK;
    quarry_allocator_describe((int)heap->handle.allocator, &info);
    return quarry_fail(QUARRY_ERROR_COMBINATION, "allocator %s %s: nobody counts its blocks", info.name,
                       what);
}

/* Completes the handle of a heap whose pool is laid out.  Blocks that are whole pages need no request to be
 * rounded up to the alignment, so that without any other policy there is none. */
static void compose(quarry_heap *heap, const struct quarry_heap_options *options)
{
    unsigned char *next = (unsigned char *)heap->header + HEAP_HEADER_BYTES;
    const struct quarry_layout *layout = &heap->layout;
    int whole_pages = layout->unit == layout->page_bytes && layout->max_block == layout->page_bytes;
    uint64_t combined = layout->max_block < layout->page_bytes ? layout->max_block : layout->page_bytes;
    heap->overhead = block_overhead(options);
    heap->handle.counters = &heap->header->counters;
    heap->handle.shrink = (uint32_t)options->alignment;
    heap->handle.distribution = (uint32_t)options->distribution;
    heap->handle.oom = (uint32_t)options->oom;
    if (options->debug || options->distribution != QUARRY_DISTRIBUTION_NONE ||
        options->oom != QUARRY_OOM_NULL || (options->alignment > NATURAL_ALIGNMENT && !whole_pages))
        heap->handle.policy = (struct quarry_policy *)(void *)next;
    if (options->debug)
        heap->handle.debug = (struct quarry_debug *)(void *)(next + SECTION_BYTES(struct quarry_policy));
    heap->policy.heap = heap->handle;
    heap->policy.combined = (uint32_t)combined;
    if (options->oom == QUARRY_OOM_WAIT)
        heap->policy.oom_tries = options->oom_tries ? options->oom_tries : DEFAULT_OOM_TRIES;
}

/* Takes the pool of a POOL_MALLOC, and memory for its head. */
static enum quarry_status take_pool(quarry_heap *heap, uint64_t head)
{
    const struct quarry_grid one = {1, SIMT_LANES, 0};
    enum quarry_status status =
        heap->ops->memory_create(&heap->target, QUARRY_POOL_DEVICE, head, &heap->head);
    if (status != QUARRY_OK)
        return status;
    struct heap_malloc argument = {heap->head, heap->pool_bytes - head};
    status = heap->ops->launch(&quarry_heap_take_kernel, &heap->target, one, &argument);
    if (status == QUARRY_OK)
        status = heap->ops->copy(&heap->target, &heap->memory, heap->head, sizeof heap->memory);
    if (status == QUARRY_OK && !heap->memory)
        status =
            quarry_fail(QUARRY_ERROR_MEMORY,
                        "device malloc has no %" PRIu64 " bytes for the pool: on CUDA the program must set "
                        "cudaLimitMallocHeapSize before a kernel calls malloc",
                        argument.bytes);
    return status;
}

static enum quarry_status give_pool(const quarry_heap *heap)
{
    const struct quarry_grid one = {1, SIMT_LANES, 0};
    struct heap_malloc argument = {heap->head, 0};
    enum quarry_status status = QUARRY_OK;
    if (heap->memory)
        status = heap->ops->copy(&heap->target, heap->head, &heap->memory, sizeof heap->memory);
    if (heap->memory && status == QUARRY_OK)
        status = heap->ops->launch(&quarry_heap_give_kernel, &heap->target, one, &argument);
    enum quarry_status waited = heap->ops->wait(&heap->target);
    status = status == QUARRY_OK ? waited : status;
    enum quarry_status given_back = heap->ops->memory_destroy(&heap->target, QUARRY_POOL_DEVICE, heap->head);
    return status == QUARRY_OK ? given_back : status;
}

/* Gives back what the heap has.  Its record stays. */
static enum quarry_status release(const quarry_heap *heap)
{
    enum quarry_status status = QUARRY_OK;
    if (heap->head)
        status = give_pool(heap);
    else if (heap->memory && heap->pool != QUARRY_POOL_BUFFER)
        status = heap->ops->memory_destroy(&heap->target, heap->pool, heap->memory);
    if (heap->policy.trap) {
        enum quarry_status other =
            heap->ops->memory_destroy(&heap->target, QUARRY_POOL_PINNED, heap->policy.trap);
        status = status == QUARRY_OK ? other : status;
    }
    return status;
}

/* Gives back what a heap has that can't be created for `status`, and returns that. */
static enum quarry_status fail_create(const quarry_heap *heap, enum quarry_status status)
{
    /* The detail of what went wrong first is the one to keep, also if this fails too. */
    char first[3584];
    snprintf(first, sizeof first, "%s", quarry_error_detail());
    release(heap);
    return quarry_fail(status, "%s", first);
}

static enum quarry_status create(quarry_heap *heap, struct quarry_heap_options *options)
{
    enum quarry_status status = quarry_backend_resolve(&options->target, &options->target, &heap->ops);
    if (status == QUARRY_OK)
        status = quarry_registry_find(options->allocator, &heap->handle.allocator);
    if (status == QUARRY_OK)
        status = check_options(options);
    if (status == QUARRY_OK)
        status = check_policies(options);
    if (status != QUARRY_OK)
        return status;

    /* Memory that isn't there yet will be aligned to 256, or 16, and at worst just behind a multiple of more.
     */
    uint64_t lead = section_align(options) -
                    (options->pool == QUARRY_POOL_MALLOC ? BUFFER_ALIGNMENT : QUARRY_SECTION_ALIGN);
    heap->target = options->target;
    heap->pool = options->pool;
    if (heap->pool == QUARRY_POOL_BUFFER) {
        status = heap->ops->buffer_map(&heap->target, options->buffer, options->pool_bytes, &heap->memory);
        if (status != QUARRY_OK)
            return status;
        lead = pool_lead(options, heap->memory);
    }
    status = plan_pool(heap->ops, options, lead, &heap->handle);
    if (status != QUARRY_OK)
        return status;
    heap->pool_bytes = options->pool_bytes;
    uint64_t head = head_bytes(options), rest = heap->pool_bytes - lead - head;
    uint64_t memory_bytes = heap->pool_bytes;
    lay_out(options, ABSENT_SECTIONS, rest, options->pages, &heap->handle, &heap->layout);
    if (heap->layout.platform_bytes) {
        status = use_platform(heap, options);
        if (status != QUARRY_OK)
            return status;
        memory_bytes = lead + head;
    }
    if (heap->pool == QUARRY_POOL_MALLOC)
        status = take_pool(heap, head);
    else if (heap->pool != QUARRY_POOL_BUFFER)
        status = heap->ops->memory_create(&heap->target, heap->pool, memory_bytes, &heap->memory);
    if (status != QUARRY_OK)
        return fail_create(heap, status);
    lead = pool_lead(options, heap->memory);
    if (options->oom == QUARRY_OOM_TRAP) {
        void *trap = NULL;
        status =
            heap->ops->memory_create(&heap->target, QUARRY_POOL_PINNED, sizeof *heap->policy.trap, &trap);
        heap->policy.trap = trap;
    }

    unsigned char *begin = (unsigned char *)heap->memory + lead;
    enum quarry_layout_result result =
        lay_out(options, heap->head ? begin : begin + head,
                heap->layout.platform_bytes ? rest : heap->pool_bytes - lead - head, options->pages,
                &heap->handle, &heap->layout);
    heap->header = (struct heap_header *)(heap->head ? heap->head : (void *)begin);
    compose(heap, options);
    heap->grid = heap->ops->service_grid(&heap->target, memory_bytes);
    if (status == QUARRY_OK)
        status = fail_layout(result, options, lead, heap->handle.allocator);
    if (status == QUARRY_OK)
        status = start(heap);
    return status == QUARRY_OK ? status : fail_create(heap, status);
}

enum quarry_status quarry_heap_create(quarry_heap **out, const struct quarry_heap_options *options)
{
    struct quarry_heap_options full;
    if (!out)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    enum quarry_status status = read_options(options, &full);
    if (status != QUARRY_OK)
        return status;
    if (!full.allocator)
        full.allocator = DEFAULT_ALLOCATOR;
    if (full.alignment == 0)
        full.alignment = NATURAL_ALIGNMENT;
    if (full.full == QUARRY_FULL_INFERRED && full.low_free == 0) /* anything else is checked with the rest */
        full.low_free = DEFAULT_LOW_FREE;

    quarry_heap *heap = calloc(1, sizeof *heap);
    if (!heap)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a heap's record");
    status = create(heap, &full);
    if (status != QUARRY_OK) {
        free(heap);
        return status;
    }
    *out = heap;
    return QUARRY_OK;
}

/* Walks over the blocks of an idle heap in debug mode, and fetches what that counted and all records. */
static enum quarry_status inspect(quarry_heap *heap, enum heap_debug_task task, struct quarry_debug *debug)
{
    enum quarry_status status = walk(heap, task);
    if (status == QUARRY_OK)
        status = heap->ops->copy(&heap->target, debug, heap->handle.debug, sizeof *debug);
    return status;
}

enum quarry_status quarry_heap_destroy(quarry_heap *heap)
{
    struct quarry_debug debug;
    if (!heap)
        return QUARRY_OK;
    memset(&debug, 0, sizeof debug);
    enum quarry_status status = heap->ops->wait(&heap->target);
    if (status == QUARRY_OK && heap->handle.debug)
        status = inspect(heap, HEAP_DEBUG_COUNT, &debug);
    enum quarry_status given_back = release(heap);
    status = status == QUARRY_OK ? given_back : status;
    free(heap);
    return status == QUARRY_OK ? quarry_debug_leak(&debug) : status;
}

enum quarry_status quarry_heap_reset(quarry_heap *heap)
{
    if (!heap)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "heap is NULL");
    if (heap->recorded)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap is being recorded: end the trace before the heap is reset");
    enum quarry_status status = check_counts(heap, "can't be reset");
    return status == QUARRY_OK ? start(heap) : status;
}

enum quarry_status quarry_heap_record(quarry_heap *heap, struct quarry_log *log)
{
    if (log && heap->recorded)
        return quarry_fail(QUARRY_ERROR_COMBINATION, "the heap is being recorded already");
    heap->recorded = log != NULL;
    return heap->ops->copy(&heap->target, &heap->header->counters.log, &log, sizeof log);
}

struct quarry_handle quarry_heap_handle(const quarry_heap *heap)
{
    struct quarry_handle none;
    memset(&none, 0, sizeof none);
    return heap ? heap->handle : none;
}

enum quarry_status quarry_heap_describe(const quarry_heap *heap, struct quarry_heap_description *description)
{
    struct quarry_allocator_info info;
    if (!heap || !description)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "description" : "heap");
    memset(description, 0, sizeof *description);
    quarry_allocator_describe((int)heap->handle.allocator, &info);
    description->allocator = info.name;
    description->target = heap->target;
    description->pool = heap->pool;
    description->pool_base = heap->memory;
    description->pool_bytes = heap->pool_bytes;
    description->page_bytes = heap->layout.page_bytes - heap->overhead;
    description->pages = heap->layout.pages;
    description->max_block_bytes = heap->handle.max_block;
    description->word_bits = heap->layout.word_bits;
    description->probes = heap->layout.probes;
    description->probe_lanes = heap->layout.probe_lanes;
    description->full = heap->layout.low_free > 0 ? QUARRY_FULL_INFERRED : QUARRY_FULL_PROVEN;
    description->low_free = heap->layout.low_free;
    description->debug = heap->handle.debug != NULL;
    description->alignment = heap->handle.shrink;
    description->distribution = (enum quarry_distribution)heap->handle.distribution;
    description->oom = (enum quarry_oom)heap->handle.oom;
    description->oom_tries = heap->policy.oom_tries;
    return QUARRY_OK;
}

/* ---- counting ---- */

/* Walks the idle heap, counting slots for requests of `bytes` (1 to max_block), and fetches the header. */
static enum quarry_status count(quarry_heap *heap, uint64_t bytes, struct heap_header *header)
{
    struct heap_census argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.header = heap->header;
    argument.bytes = quarry_request_alone(&heap->policy, bytes);
    enum quarry_status status =
        heap->ops->fill(&heap->target, &heap->header->census, 0, sizeof heap->header->census);
    if (status == QUARRY_OK)
        status = heap->ops->launch(&quarry_heap_census_kernel, &heap->target, heap->grid, &argument);
    if (status == QUARRY_OK)
        status = heap->ops->copy(&heap->target, header, heap->header, sizeof *header);
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
    statistics->utilisation = (double)statistics->live_bytes / (double)heap->pool_bytes;
    return QUARRY_OK;
}

enum quarry_status quarry_heap_slots(quarry_heap *heap, uint64_t bytes, uint64_t *slots)
{
    struct heap_header header;
    if (!heap || !slots)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "slots" : "heap");
    *slots = 0;
    enum quarry_status status = check_counts(heap, "has no slots");
    if (status != QUARRY_OK)
        return status;
    if (bytes == 0 || bytes > heap->handle.max_block)
        return heap->ops->wait(&heap->target);
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
    if (status == QUARRY_OK && header.census.faults != 0)
        status =
            quarry_fail(QUARRY_ERROR_CORRUPT,
                        "the heap's structures contradict themselves in %" PRIu64
                        " place%s: most likely memory outside a live block was written, or a kernel ended "
                        "in the middle of a malloc or free",
                        header.census.faults, header.census.faults == 1 ? "" : "s");
    if (status == QUARRY_OK && heap->handle.debug) {
        struct quarry_debug debug;
        status = inspect(heap, HEAP_DEBUG_CHECK, &debug);
        if (status == QUARRY_OK)
            status = quarry_debug_judge(&debug);
    }
    return status;
}

enum quarry_status quarry_heap_debug_report(quarry_heap *heap, char *text, size_t bytes)
{
    struct quarry_debug debug;
    if (!heap || (!text && bytes))
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "text" : "heap");
    if (bytes)
        *text = 0;
    if (!heap->handle.debug)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap has nothing to report: it was created without options.debug");
    enum quarry_status status = inspect(heap, HEAP_DEBUG_COUNT, &debug);
    if (status == QUARRY_OK)
        quarry_debug_report(&debug, text, bytes);
    return status;
}
