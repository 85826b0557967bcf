/* SPDX-License-Identifier: Apache-2.0 */
/* Tags: a heap in debug mode can tell of each block what the program says it is, or where it was allocated.
 * Included by device.h.
 *
 *     node = (struct node *)quarry_tag(heap, quarry_malloc(heap, sizeof *node), "queue");
 *     node = (struct node *)quarry_tag(heap, quarry_malloc(heap, sizeof *node), QUARRY_HERE);
 *
 * With QUARRY_TAGS defined before device.h, every call of quarry_malloc, quarry_malloc_with, quarry_calloc,
 * quarry_aligned_alloc and quarry_realloc tags its block with QUARRY_HERE: these names are macros then. */
#ifndef QUARRY_TAG_H
#define QUARRY_TAG_H

#include "quarry/allocate.h"
#include "quarry/debug.h"
#include "quarry/handle.h"
#include "quarry/policy.h"
#include "quarry/simt/simt.h"
#include "quarry/standard.h"

#define QUARRY_TAG_TEXT_(x) #x
#define QUARRY_TAG_TEXT(x) QUARRY_TAG_TEXT_(x)
/* The place in the source, as "file.cu:12". */
#define QUARRY_HERE __FILE__ ":" QUARRY_TAG_TEXT(__LINE__)

/* Gives a block a tag, or another one.  On a heap that is not in debug mode it does nothing.
 *   block  the caller's, live, from this heap; NULL does nothing
 *   tag    a text that stays where it is as long as the heap lives: a literal does, while its module is loaded.
 *          The host is shown its last 63 characters.  NULL: none
 * Returns block.
 * Scope, threads: a lane; as quarry_malloc, but nobody else may free or tag the block meanwhile. */
SIMT_FN void *quarry_tag(struct quarry_handle heap, void *block, const char *tag)
{
    (void)heap; /* where policies are fixed */
    (void)tag;
    if (block && QUARRY_DEBUG_OF(heap))
        quarry_debug_tag(QUARRY_DEBUG_OF(heap), block, tag);
    return block;
}

#ifdef QUARRY_TAGS
/* What the macros below make of the calls in a kernel: the same calls, and a tag on the block that they return. */
SIMT_FN void *quarry_tagged_malloc(struct quarry_handle heap, size_t bytes, const char *tag)
{
    return quarry_tag(heap, quarry_malloc(heap, bytes), tag);
}

SIMT_FN void *quarry_tagged_malloc_with(struct quarry_handle heap, struct quarry_context *context,
                                        size_t bytes, const char *tag)
{
    return quarry_tag(heap, quarry_malloc_with(heap, context, bytes), tag);
}

SIMT_FN void *quarry_tagged_calloc(struct quarry_handle heap, size_t count, size_t size, const char *tag)
{
    return quarry_tag(heap, quarry_calloc(heap, count, size), tag);
}

SIMT_FN void *quarry_tagged_aligned_alloc(struct quarry_handle heap, size_t alignment, size_t bytes,
                                          const char *tag)
{
    return quarry_tag(heap, quarry_aligned_alloc(heap, alignment, bytes), tag);
}

SIMT_FN void *quarry_tagged_realloc(struct quarry_handle heap, void *block, size_t bytes, const char *tag)
{
    return quarry_tag(heap, quarry_realloc(heap, block, bytes), tag);
}

#define quarry_malloc(heap, bytes) quarry_tagged_malloc(heap, bytes, QUARRY_HERE)
#define quarry_malloc_with(heap, context, bytes) quarry_tagged_malloc_with(heap, context, bytes, QUARRY_HERE)
#define quarry_calloc(heap, count, size) quarry_tagged_calloc(heap, count, size, QUARRY_HERE)
#define quarry_aligned_alloc(heap, alignment, bytes)                                                         \
    quarry_tagged_aligned_alloc(heap, alignment, bytes, QUARRY_HERE)
#define quarry_realloc(heap, block, bytes) quarry_tagged_realloc(heap, block, bytes, QUARRY_HERE)
#endif

#endif
