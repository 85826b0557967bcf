/* SPDX-License-Identifier: Apache-2.0 */
/* Going over the live blocks of a heap: kernels list those of some units at a time, in memory of the target. */
#include "host/heap.h"
#include "host/internal.h"
#include "host/launches.h"

#include <stdlib.h>
#include <string.h>

#define LIST_BLOCKS 32768u

struct list {
    uint64_t room;            /* blocks */
    unsigned char *on_target; /* their number, and behind it at ON_TARGET_HEAD the blocks */
    struct heap_block *block; /* a copy */
};
#define ON_TARGET_HEAD QUARRY_SECTION_ALIGN

static int by_address(const void *one, const void *other)
{
    const struct heap_block *a = (const struct heap_block *)one, *b = (const struct heap_block *)other;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Lists the blocks that begin in units first .. end - 1. */
static enum quarry_status fetch(const quarry_heap *heap, const struct list *list, uint64_t first,
                                uint64_t end, uint64_t *count)
{
    struct heap_each argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = heap->handle;
    argument.places = heap->layout.places;
    argument.unit = heap->layout.unit;
    argument.first = first;
    argument.end = end;
    argument.count = (uint64_t *)(void *)list->on_target;
    argument.block = (struct heap_block *)(void *)(list->on_target + ON_TARGET_HEAD);
    enum quarry_status status = quarry_pool_clear(&heap->pool, argument.count, sizeof *argument.count);
    if (status == QUARRY_OK)
        status = quarry_pool_launch(&heap->pool, &quarry_heap_each_kernel, &argument);
    if (status == QUARRY_OK)
        status = quarry_pool_copy(&heap->pool, count, argument.count, sizeof *count);
    if (status == QUARRY_OK && *count)
        status = quarry_pool_copy(&heap->pool, list->block, argument.block, *count * sizeof *list->block);
    if (status == QUARRY_OK)
        qsort(list->block, (size_t)*count, sizeof *list->block, by_address);
    return status;
}

static int visit_one(const struct heap_block *from,
                     int (*visit)(const struct quarry_block *block, void *user), void *user)
{
    const int known = from->by.thread != QUARRY_DEBUG_NOBODY;
    const struct quarry_block block = {(void *)(uintptr_t)from->address,
                                       from->bytes,
                                       from->by.thread,
                                       known ? from->by.launch : 0,
                                       known ? quarry_launches_kernel(from->by.launch) : "",
                                       from->tag};
    return visit(&block, user);
}

static enum quarry_status each(const quarry_heap *heap, const struct list *list,
                               int (*visit)(const struct quarry_block *block, void *user), void *user)
{
    const uint64_t units = quarry_heap_units(heap);
    for (uint64_t first = 0; first < units; first += list->room) {
        uint64_t count = 0;
        enum quarry_status status =
            fetch(heap, list, first, units - first < list->room ? units : first + list->room, &count);
        if (status != QUARRY_OK)
            return status;
        for (uint64_t i = 0; i < count; i++)
            if (visit_one(&list->block[i], visit, user))
                return QUARRY_OK;
    }
    return QUARRY_OK;
}

SIMT_STATIC_ASSERT(QUARRY_NO_THREAD == QUARRY_DEBUG_NOBODY, "host and device speak of the same");

enum quarry_status quarry_heap_each(quarry_heap *heap,
                                    int (*visit)(const struct quarry_block *block, void *user), void *user)
{
    struct list list = {0};
    void *memory = NULL;
    if (!heap || !visit)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "visit" : "heap");
    enum quarry_status status = quarry_heap_check_counts(heap, "can't list its blocks");
    if (status == QUARRY_OK)
        status = quarry_heap_settle(heap);
    if (status != QUARRY_OK)
        return status;
    const struct pool *pool = &heap->pool;
    list.room = quarry_heap_units(heap) < LIST_BLOCKS ? quarry_heap_units(heap) : LIST_BLOCKS;
    list.block = (struct heap_block *)malloc((size_t)list.room * sizeof *list.block);
    if (!list.block)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a list of blocks");
    status = pool->ops->memory_create(&pool->target, QUARRY_POOL_DEVICE,
                                      ON_TARGET_HEAD + list.room * sizeof *list.block, &memory);
    list.on_target = (unsigned char *)memory;
    if (status == QUARRY_OK) {
        status = each(heap, &list, visit, user);
        enum quarry_status given = pool->ops->memory_destroy(&pool->target, QUARRY_POOL_DEVICE, memory);
        status = status == QUARRY_OK ? given : status;
    }
    free(list.block);
    return status;
}
