/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap is composed of, in words. */
#include "host/heap.h"
#include "host/internal.h"
#include "host/text.h"

#include <inttypes.h>
#include <string.h>

/* info: of the heap's allocator. */
static const char *pool_words(const struct quarry_heap_description *about,
                              const struct quarry_allocator_info *info)
{
    static const char *const cuda[] = {
        [QUARRY_POOL_DEVICE] = "device memory, from cudaMalloc",
        [QUARRY_POOL_STREAM] = "device memory, from cudaMallocAsync",
        [QUARRY_POOL_MANAGED] = "managed memory, from cudaMallocManaged",
        [QUARRY_POOL_PINNED] = "pinned host memory, from cudaHostAlloc",
        [QUARRY_POOL_BUFFER] = "a buffer of the program",
        [QUARRY_POOL_MALLOC] = "device memory, from device malloc",
    };
    if (!info->counts_slots)
        return about->target.backend == QUARRY_BACKEND_CUDA ? "the CUDA toolkit's device heap"
                                                            : "the C library's heap";
    if (about->pool == QUARRY_POOL_BUFFER)
        return "a buffer of the program";
    if (about->target.backend == QUARRY_BACKEND_CUDA)
        return cuda[about->pool];
    return about->pool == QUARRY_POOL_MALLOC ? "host memory, from malloc" : "host memory";
}

static void add_creation(struct text *text, const struct quarry_heap_description *about,
                         const struct quarry_allocator_info *info)
{
    text_add(text, "creation       %s, %s: ", info->name, info->summary);
    if (info->counts_slots)
        text_add(text, "%" PRIu64 " pages of %" PRIu64 " bytes%s", about->pages, about->page_bytes,
                 info->whole_pages ? "" : ", ");
    if (!info->whole_pages)
        text_add(text, "blocks of up to %" PRIu64, about->max_block_bytes);
    text_add(text, "\n");
}

static void add_oom(struct text *text, const struct quarry_heap_description *about,
                    const struct quarry_allocator_info *info)
{
    text_add(text, "out of memory  ");
    switch (about->oom) {
    case QUARRY_OOM_NULL:
        text_add(text, "null: a malloc returns NULL");
        break;
    case QUARRY_OOM_WAIT:
        text_add(text, "wait: a malloc tries %" PRIu32 " time%s more and then returns NULL", about->oom_tries,
                 about->oom_tries == 1 ? "" : "s");
        break;
    case QUARRY_OOM_TRAP:
        text_add(text, "trap: a malloc ends the kernel");
        break;
    case QUARRY_OOM_CALL:
        text_add(text, "hook: a malloc calls the kernel's function, which says whether to try again");
        break;
    }
    if (about->full == QUARRY_FULL_INFERRED)
        text_add(text, "; full means, by probes in vain, that less than %g %% is free\n",
                 100 * about->low_free);
    else if (info->proves_full)
        text_add(text, "; full means that nothing was free\n");
    else
        text_add(text, "; the allocator's page says what full means\n");
}

enum quarry_status quarry_heap_info(const quarry_heap *heap, char *text, size_t bytes)
{
    struct quarry_heap_description about;
    struct quarry_allocator_info info = {0};
    struct text out = {text, bytes};
    if (!heap || (!text && bytes))
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "text" : "heap");
    enum quarry_status status = quarry_heap_describe(heap, &about);
    if (status != QUARRY_OK)
        return status;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        if (strcmp(info.name, about.allocator) == 0)
            break;
    text_add(&out, "reserve pool   %" PRIu64 " bytes of %s\n", about.pool_bytes, pool_words(&about, &info));
    text_add(&out, "alignment      %s: blocks begin at multiples of %" PRIu64 " bytes\n",
             about.alignment > 16 ? "shrink" : "natural", about.alignment);
    add_creation(&out, &about, &info);
    if (about.option_count) {
        char pairs[QUARRY_OPTIONS_TEXT_BYTES];
        quarry_options_format(about.options, about.option_count, pairs, sizeof pairs);
        text_add(&out, "options        %s\n", pairs);
    }
    text_add(&out, "distribution   %s\n",
             about.distribution == QUARRY_DISTRIBUTION_WARP
                 ? "warp: lanes that ask together share a block of at most a page"
                 : "none: each request goes to the allocator as it is");
    add_oom(&out, &about, &info);
    text_add(&out, "debug mode     %s\n", about.debug ? "on: each malloc and free is checked" : "off");
    text_add(&out, "statistics     %s\n", about.statistics ? "on: each malloc and free is counted" : "off");
    return QUARRY_OK;
}
