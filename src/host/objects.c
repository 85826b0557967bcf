/* SPDX-License-Identifier: Apache-2.0 */
/* Typed objects of a heap, as the host asks for them: do-alls, counts, fields. */
#include "device/object_kernels.h"
#include "host/heap.h"
#include "host/internal.h"
#include "host/text.h"
#include "quarry/object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* The number of the heap's type of that name. */
static enum quarry_status find_type(const quarry_heap *heap, const char *name, uint32_t *number)
{
    const struct quarry_schema *schema = heap->schema;
    if (!schema)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap has no typed objects: it was created without options.schema");
    for (*number = 0; *number < schema->type_count; (*number)++)
        if (strcmp(schema->types[*number].name, name) == 0)
            return QUARRY_OK;
    if (strcmp(name, "object") == 0)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "object is what types derive from, and no type itself: name a type of schema %s",
                           schema->name);
    return quarry_fail(QUARRY_ERROR_COMBINATION, "schema %s of the heap has no type %.64s", schema->name,
                       name);
}

/* Derives one type from the other, or is it that? */
static int derives(const struct quarry_schema *schema, int number, uint32_t from)
{
    while (number >= 0 && (uint32_t)number != from)
        number = schema->types[number].base;
    return number >= 0;
}

/* A type and those that derive from it, without the abstract ones, as bits. */
static uint64_t concrete(const struct quarry_schema *schema, uint32_t number)
{
    uint64_t types = 0;
    for (uint32_t i = 0; i < schema->type_count; i++)
        if (!schema->types[i].is_abstract && derives(schema, (int)i, number))
            types |= (uint64_t)1 << i;
    return types;
}

/* ---- do-all ---- */

#define INTERLEAVED 4u /* warps of a do-all in deterministic mode */

static enum quarry_status take_snapshot(const quarry_heap *heap, const struct quarry_objects *objects,
                                        uint64_t types, uint32_t turn)
{
    enum quarry_status status = QUARRY_OK;
    for (uint32_t i = 0; i < heap->schema->type_count && status == QUARRY_OK; i++)
        if (types >> i & 1u) {
            struct object_snapshot snapshot = {*objects, i, heap->schema->types[i].capacity, turn};
            status = quarry_pool_launch(&heap->pool, &quarry_object_list_kernel, &snapshot);
        }
    return status;
}

/* A grid with a thread for each object of a type that the heap has room for; on a GPU at most as many as run at once,
 * on the CPU a warp for each worker, or some to be interleaved. */
static struct quarry_grid do_grid(const struct pool *pool, uint64_t objects)
{
    struct quarry_grid grid = pool->ops->service_grid(&pool->target, UINT64_MAX);
    if (grid.threads > QUARRY_DO_THREADS)
        grid.threads = QUARRY_DO_THREADS;
    const uint64_t useful = (objects - 1) / grid.threads + 1;
    if (pool->target.backend == QUARRY_BACKEND_CPU && pool->target.seed)
        grid.blocks = INTERLEAVED;
    grid.blocks = useful < grid.blocks ? (uint32_t)useful : grid.blocks;
    return grid;
}

/* The types that a do-all is about, as bits. */
static enum quarry_status find_types(const quarry_heap *heap, const struct simt_kernel *method,
                                     uint64_t *types)
{
    const struct quarry_do_note *note = (const struct quarry_do_note *)method->note;
    uint32_t number;
    if (!note)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "kernel %s is no do-all: QUARRY_DO_ALL makes one",
                           method->name);
    enum quarry_status status = find_type(heap, note->type, &number);
    if (status == QUARRY_OK && heap->schema->code != note->schema)
        status = quarry_fail(QUARRY_ERROR_COMBINATION,
                             "do-all %s was compiled with another schema than %s of the heap, or only one of "
                             "the two with QUARRY_CHECK",
                             method->name, heap->schema->name);
    if (status == QUARRY_OK)
        *types = concrete(heap->schema, number);
    return status;
}

/* Runs a do-all for the objects of these types in a snapshot.
 *   objects   the heap's, with `typed` of the snapshot
 *   turn      in which that was taken */
static enum quarry_status run(const quarry_heap *heap, const struct quarry_objects *objects, uint64_t types,
                              uint32_t turn, const struct simt_kernel *method, const void *argument)
{
    const struct quarry_do_note *note = (const struct quarry_do_note *)method->note;
    enum quarry_status status = QUARRY_OK;
    unsigned char *call = (unsigned char *)calloc(1, method->argument_bytes);
    if (!call)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for the argument of %s", method->name);
    struct quarry_do_work work = {&objects->typed->count[turn],
                                  quarry_objects_typed_list(objects),
                                  quarry_objects_typed_live(objects),
                                  objects->pages.base,
                                  (uint32_t)objects->pages.page_bytes,
                                  0,
                                  0,
                                  objects->pages.count};
    memcpy(call + note->at, argument, note->bytes);
    for (uint32_t i = 0; i < heap->schema->type_count && status == QUARRY_OK; i++)
        if (types >> i & 1u) {
            work.type = i;
            work.capacity = heap->schema->types[i].capacity;
            memcpy(call, &work, sizeof work);
            status = quarry_launch_noted(method, &heap->pool.target,
                                         do_grid(&heap->pool, (uint64_t)objects->pages.count * work.capacity),
                                         call);
        }
    free(call);
    return status;
}

enum quarry_status quarry_object_do(quarry_heap *heap, const struct simt_kernel *method, const void *argument)
{
    return quarry_objects_do(heap, method, argument, 0);
}

/* Is what is queued now only recorded, for a CUDA graph? */
static int is_capturing(const quarry_heap *heap)
{
    const struct pool *pool = &heap->pool;
    return pool->ops->is_capturing && pool->ops->is_capturing(&pool->target);
}

/* Nothing is counted in either turn. */
static enum quarry_status clear_counts(const quarry_heap *heap)
{
    const struct quarry_objects_typed *typed = heap->handle.as.objects.typed;
    return quarry_pool_clear(&heap->pool, (void *)(uintptr_t)typed->count, sizeof typed->count);
}

enum quarry_status quarry_objects_do(quarry_heap *heap, const struct simt_kernel *method,
                                     const void *argument, size_t bytes)
{
    uint64_t types;
    if (!heap || !method || !argument)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL",
                           !heap     ? "heap"
                           : !method ? "method"
                                     : "argument");
    enum quarry_status status = find_types(heap, method, &types);
    if (status != QUARRY_OK)
        return status;
    const struct quarry_do_note *note = (const struct quarry_do_note *)method->note;
    if (bytes && bytes != note->bytes)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "the argument has %zu bytes, but that of do-all %s has %" PRIu32, bytes,
                           method->name, note->bytes);
    struct quarry_objects *objects = &heap->handle.as.objects;
    const uint32_t turn = heap->turn;
    const int captures = is_capturing(heap);
    if (captures) /* it runs at any time, and again and again: it takes no turn, and clears what it counts itself */
        status = clear_counts(heap);
    if (status == QUARRY_OK)
        status = take_snapshot(heap, objects, types, turn);
    if (status != QUARRY_OK) { /* it may have counted */
        (void)clear_counts(heap);
        return status;
    }
    if (!captures)
        heap->turn = types ? 1 - turn : turn;
    status = run(heap, objects, types, turn, method, argument);
    return captures && status == QUARRY_OK ? clear_counts(heap) : status;
}

/* ---- snapshots that stay ---- */

struct quarry_snapshot {
    const quarry_heap *heap;
    struct quarry_target target;   /* the heap's, which may be gone before the snapshot */
    uint64_t resets;               /* of the heap, so far */
    struct quarry_objects objects; /* the heap's, but `typed`, which is the snapshot's own */
    uint64_t types;
};

/* Gives the memory of a snapshot back, once the target's stream does not use it any more. */
static enum quarry_status give_back(const struct quarry_target *target, void *memory)
{
    enum quarry_status status = quarry_target_wait(target);
    enum quarry_status given = quarry_memory_destroy(target, QUARRY_POOL_DEVICE, memory);
    return status == QUARRY_OK ? given : status;
}

enum quarry_status quarry_objects_snapshot(quarry_heap *heap, const char *type, quarry_snapshot **out)
{
    uint32_t number;
    if (out)
        *out = NULL;
    if (!heap || !type || !out)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", !heap ? "heap" : !type ? "type" : "out");
    enum quarry_status status = find_type(heap, type, &number);
    if (status != QUARRY_OK)
        return status;
    quarry_snapshot *snapshot = (quarry_snapshot *)calloc(1, sizeof *snapshot);
    if (!snapshot)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a snapshot");
    snapshot->heap = heap;
    snapshot->target = heap->pool.target;
    snapshot->resets = heap->resets;
    snapshot->objects = heap->handle.as.objects;
    snapshot->types = concrete(heap->schema, number);
    const uint64_t pages = snapshot->objects.pages.count;
    void *memory = NULL;
    status = quarry_memory_create(
        &heap->pool.target, QUARRY_POOL_DEVICE,
        sizeof *snapshot->objects.typed + pages * (sizeof(uint64_t) + sizeof(uint32_t)), &memory);
    if (status == QUARRY_OK) {
        snapshot->objects.typed = (struct quarry_objects_typed *)memory;
        status = quarry_pool_clear(&heap->pool, memory, sizeof *snapshot->objects.typed);
    }
    if (status == QUARRY_OK)
        status = take_snapshot(heap, &snapshot->objects, snapshot->types, 0);
    if (status == QUARRY_OK) {
        *out = snapshot;
        return QUARRY_OK;
    }
    if (memory)
        (void)give_back(&heap->pool.target, memory);
    free(snapshot);
    return status;
}

enum quarry_status quarry_snapshot_do(const quarry_snapshot *snapshot, const struct simt_kernel *method,
                                      const void *argument)
{
    uint64_t types;
    if (!snapshot || !method || !argument)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL",
                           !snapshot ? "snapshot"
                           : !method ? "method"
                                     : "argument");
    if (snapshot->resets != snapshot->heap->resets)
        return quarry_fail(QUARRY_ERROR_COMBINATION, "the heap was reset after the snapshot was taken");
    enum quarry_status status = find_types(snapshot->heap, method, &types);
    if (status == QUARRY_OK && (types & ~snapshot->types))
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "do-all %s is about types that the snapshot does not have", method->name);
    return status == QUARRY_OK ? run(snapshot->heap, &snapshot->objects, types, 0, method, argument) : status;
}

enum quarry_status quarry_snapshot_destroy(quarry_snapshot *snapshot)
{
    if (!snapshot)
        return QUARRY_OK;
    enum quarry_status status = give_back(&snapshot->target, snapshot->objects.typed);
    free(snapshot);
    return status;
}

/* ---- looking from outside ---- */

/* The words of all pages of a heap. */
struct words {
    uint32_t *kind; /* as quarry_blocks_kind_of has it */
    uint64_t *slots;
};

static void forget(struct words *words)
{
    free(words->kind);
    free(words->slots);
}

/* Fetches them.  After a failure there is nothing to forget. */
static enum quarry_status fetch(const quarry_heap *heap, struct words *words)
{
    const struct quarry_objects *objects = &heap->handle.as.objects;
    size_t pages = objects->pages.count;
    words->kind = (uint32_t *)malloc(pages * sizeof *words->kind);
    words->slots = (uint64_t *)malloc(pages * sizeof *words->slots);
    enum quarry_status status = QUARRY_OK;
    if (!words->kind || !words->slots)
        status = quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for the words of %zu pages", pages);
    const size_t step = QUARRY_BLOCKS_HEADERS ? 1 : pages;
    for (size_t i = 0; i < pages && status == QUARRY_OK; i += step) {
        status =
            quarry_pool_copy(&heap->pool, words->kind + i, quarry_blocks_word(&objects->blocks, (uint32_t)i),
                             step * sizeof *words->kind);
        if (status == QUARRY_OK)
            status = quarry_pool_copy(&heap->pool, words->slots + i,
                                      quarry_blocks_slots(&objects->blocks, (uint32_t)i),
                                      step * sizeof *words->slots);
    }
    if (status != QUARRY_OK)
        forget(words);
    for (size_t i = 0; i < pages && status == QUARRY_OK; i++)
        words->kind[i] &= ~QUARRY_BLOCKS_IS_ON;
    return status;
}

/* The live objects of a page, if they are of that type; else 0. */
static uint64_t live_of(const struct quarry_objects *objects, const struct words *words, uint32_t page,
                        uint32_t number)
{
    uint32_t kind = words->kind[page];
    if (!quarry_objects_typed_bytes(kind) || quarry_objects_typed_number(objects, kind) != number)
        return 0;
    return quarry_blocks_all(kind) & ~words->slots[page];
}

/* Counts live objects, and the slots of the pages that they lie in. */
static enum quarry_status count_slots(const quarry_heap *heap, const char *type, uint64_t *live,
                                      uint64_t *slots)
{
    uint32_t number;
    struct words words;
    *live = *slots = 0;
    enum quarry_status status = find_type(heap, type, &number);
    if (status == QUARRY_OK)
        status = fetch(heap, &words);
    if (status != QUARRY_OK)
        return status;
    const uint64_t types = concrete(heap->schema, number);
    const struct quarry_objects *objects = &heap->handle.as.objects;
    for (uint32_t i = 0; i < heap->schema->type_count; i++)
        for (uint32_t page = 0; page < objects->pages.count && (types >> i & 1u); page++) {
            const uint64_t in_page = live_of(objects, &words, page, i);
            *live += simt_popc_u64(in_page);
            *slots += in_page ? heap->schema->types[i].capacity : 0;
        }
    forget(&words);
    return QUARRY_OK;
}

enum quarry_status quarry_objects_count(quarry_heap *heap, const char *type, uint64_t *count)
{
    uint64_t slots;
    if (!heap || !type || !count)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", !heap ? "heap" : !type ? "type" : "count");
    return count_slots(heap, type, count, &slots);
}

enum quarry_status quarry_objects_slots(quarry_heap *heap, const char *type, uint64_t *slots)
{
    uint64_t live;
    if (!heap || !type || !slots)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", !heap ? "heap" : !type ? "type" : "slots");
    return count_slots(heap, type, &live, slots);
}

enum quarry_status quarry_objects_tally(const quarry_heap *heap, uint64_t *live, uint64_t *blocks)
{
    const struct quarry_objects *objects = &heap->handle.as.objects;
    struct words words;
    enum quarry_status status = fetch(heap, &words);
    if (status != QUARRY_OK)
        return status;
    memset(live, 0, QUARRY_OBJECTS_TYPES * sizeof *live);
    *blocks = 0;
    for (uint32_t page = 0; page < objects->pages.count; page++) {
        const uint32_t kind = words.kind[page];
        uint64_t *count = blocks;
        if (kind != 0 && quarry_objects_typed_bytes(kind))
            count = &live[quarry_objects_typed_number(objects, kind)];
        if (kind != 0)
            *count += simt_popc_u64(quarry_blocks_all(kind) & ~words.slots[page]);
    }
    forget(&words);
    return QUARRY_OK;
}

/* The field of that name that objects of a type have. */
static enum quarry_status find_field(const struct quarry_schema *schema, uint32_t number, const char *name,
                                     const struct quarry_schema_field **field)
{
    for (int type = (int)number; type >= 0; type = schema->types[type].base)
        for (uint32_t i = 0; i < schema->types[type].field_count; i++) {
            *field = &schema->types[type].fields[i];
            if (strcmp((*field)->name, name) == 0)
                return QUARRY_OK;
        }
    return quarry_fail(QUARRY_ERROR_ARGUMENT, "type %s of schema %s has no field %.64s",
                       schema->types[number].name, schema->name, name);
}

/* What is read of a field, or written into it. */
struct moving {
    quarry_heap *heap;
    const struct quarry_schema_field *field;
    unsigned char *values; /* of objects, one behind the other */
    uint64_t room;         /* for so many */
    int writes;
    uint64_t count; /* objects so far */
    unsigned char *page;
};

/* Copies the values of one page's objects. */
static enum quarry_status move_page(struct moving *m, uint32_t page, uint32_t kind, uint64_t live)
{
    const struct quarry_objects *objects = &m->heap->handle.as.objects;
    const size_t slots = quarry_blocks_capacity(kind), bytes = m->field->bytes, elements = m->field->elements;
    const size_t value = bytes * elements;
    unsigned char *at =
        (unsigned char *)quarry_page_address(&objects->pages, page) + slots * m->field->offset;
    const int moves = m->count < m->room;
    enum quarry_status status = QUARRY_OK;
    if (moves && !(m->writes && live == quarry_blocks_all(kind)))
        status = quarry_pool_copy(&m->heap->pool, m->page, at, slots * value);
    for (; live && status == QUARRY_OK; live &= live - 1u, m->count++)
        for (size_t e = 0; e < elements && m->count < m->room; e++) {
            unsigned char *outside = m->values + m->count * value + e * bytes;
            unsigned char *inside = m->page + (e * slots + simt_ctz_u64(live)) * bytes;
            memcpy(m->writes ? inside : outside, m->writes ? outside : inside, bytes);
        }
    if (moves && m->writes && status == QUARRY_OK)
        status = quarry_pool_copy(&m->heap->pool, at, m->page, slots * value);
    return status;
}

/* Copies a field of all objects of a type.  m has the heap, the values, their room, and whether to write.
 *   bytes   of a value */
static enum quarry_status move_field(struct moving *m, const char *type, const char *field, size_t bytes)
{
    uint32_t number;
    uint64_t all = 0;
    struct words words;
    quarry_heap *heap = m->heap;
    enum quarry_status status = find_type(heap, type, &number);
    if (status == QUARRY_OK)
        status = find_field(heap->schema, number, field, &m->field);
    if (status != QUARRY_OK)
        return status;
    if (bytes != (size_t)m->field->bytes * m->field->elements)
        return quarry_fail(
            QUARRY_ERROR_ARGUMENT,
            "a value has %zu bytes, but field %s of type %s has %" PRIu32 " element%s of %" PRIu32 " bytes",
            bytes, field, type, m->field->elements, m->field->elements == 1 ? "" : "s", m->field->bytes);
    m->page = (unsigned char *)malloc(heap->schema->block_bytes);
    if (!m->page)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a page");
    status = fetch(heap, &words);
    if (status != QUARRY_OK) {
        free(m->page);
        return status;
    }
    const uint64_t types = concrete(heap->schema, number);
    const struct quarry_objects *objects = &heap->handle.as.objects;
    for (uint32_t i = 0; i < heap->schema->type_count; i++)
        for (uint32_t page = 0; page < objects->pages.count && (types >> i & 1u); page++)
            all += simt_popc_u64(live_of(objects, &words, page, i));
    if (m->writes && all != m->room)
        status = quarry_fail(QUARRY_ERROR_ARGUMENT,
                             "type %s has %" PRIu64 " objects, but the number of values is %" PRIu64, type,
                             all, m->room);
    for (uint32_t i = 0; i < heap->schema->type_count; i++)
        for (uint32_t page = 0; page < objects->pages.count && (types >> i & 1u) && status == QUARRY_OK;
             page++) {
            uint64_t live = live_of(objects, &words, page, i);
            if (live)
                status = move_page(m, page, words.kind[page], live);
        }
    forget(&words);
    free(m->page);
    return status;
}

static enum quarry_status check_moving(const quarry_heap *heap, const char *type, const char *field,
                                       const void *values, uint64_t room)
{
    if (!heap || !type || !field || (!values && room))
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL",
                           !heap    ? "heap"
                           : !type  ? "type"
                           : !field ? "field"
                                    : "values");
    return QUARRY_OK;
}

enum quarry_status quarry_objects_read(quarry_heap *heap, const char *type, const char *field, void *values,
                                       uint64_t room, size_t bytes, uint64_t *count)
{
    struct moving m = {heap, NULL, (unsigned char *)values, room, 0, 0, NULL};
    if (!count)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "count is NULL");
    *count = 0;
    enum quarry_status status = check_moving(heap, type, field, values, room);
    if (status == QUARRY_OK)
        status = move_field(&m, type, field, bytes);
    *count = m.count;
    return status;
}

enum quarry_status quarry_objects_write(quarry_heap *heap, const char *type, const char *field,
                                        const void *values, uint64_t count, size_t bytes)
{
    struct moving m = {heap, NULL, (unsigned char *)(uintptr_t)values, count, 1, 0, NULL};
    enum quarry_status status = check_moving(heap, type, field, values, count);
    return status == QUARRY_OK ? move_field(&m, type, field, bytes) : status;
}

/* ---- creating ---- */

static int compare_objects(const void *a, const void *b)
{
    const uint64_t x = ((const quarry_object *)a)->bits, y = ((const quarry_object *)b)->bits;
    return (x > y) - (x < y);
}

/* Bytes behind the slots of a block, which are a checked build's. */
static uint32_t mark_bytes(const struct quarry_schema *schema)
{
    uint32_t least = QUARRY_OBJECT_MOST_BYTES;
    for (uint32_t i = 0; i < schema->type_count; i++)
        if (!schema->types[i].is_abstract && schema->types[i].bytes < least)
            least = schema->types[i].bytes;
    return schema->block_bytes - QUARRY_SCHEMA_SLOTS * least;
}

/* The kernels' argument: its table and its place for names lie in the target's memory, which the caller gives back. */
static enum quarry_status prepare(const quarry_heap *heap, uint32_t number, uint64_t count,
                                  struct object_crowd *crowd, void **memory)
{
    const struct quarry_schema *schema = heap->schema;
    const uint32_t fields = quarry_objects_fields_of(schema, number, NULL);
    const size_t table_bytes =
        sizeof(struct quarry_objects_fields) + fields * sizeof(struct quarry_objects_field);
    const size_t head = sizeof(uint64_t) + (table_bytes + 7) / 8 * 8;
    *memory = NULL;
    unsigned char *begin = (unsigned char *)calloc(1, head);
    if (!begin)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for the fields of type %s",
                           schema->types[number].name);
    struct quarry_objects_fields *table = (struct quarry_objects_fields *)(void *)(begin + sizeof(uint64_t));
    table->begin[number + 1] = quarry_objects_fields_of(schema, number, table->fields);
    enum quarry_status status = quarry_memory_create(&heap->pool.target, QUARRY_POOL_DEVICE,
                                                     head + count * sizeof(quarry_object), memory);
    if (status == QUARRY_OK)
        status = quarry_pool_copy(&heap->pool, *memory, begin, head);
    free(begin);
    crowd->heap = heap->handle;
    crowd->type.number = number;
    crowd->type.bytes = schema->types[number].bytes;
    crowd->type.capacity = schema->types[number].capacity;
    crowd->type.schema = schema->code;
    crowd->type.derived = (uint64_t)1 << number;
    crowd->lacks = (uint32_t *)*memory;
    crowd->fields =
        (const struct quarry_objects_fields *)(const void *)((unsigned char *)*memory + sizeof(uint64_t));
    crowd->objects = (quarry_object *)(void *)((unsigned char *)*memory + head);
    crowd->count = count;
    crowd->marks = mark_bytes(schema);
    return status;
}

enum quarry_status quarry_objects_add(quarry_heap *heap, const char *type, uint64_t count,
                                      quarry_object *objects)
{
    uint32_t number, lacks = 0;
    struct object_crowd crowd;
    void *memory;
    if (!heap || !type)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", !heap ? "heap" : "type");
    enum quarry_status status = find_type(heap, type, &number);
    if (status != QUARRY_OK)
        return status;
    if (heap->schema->types[number].is_abstract)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "type %s of schema %s is abstract: no object has it", type,
                           heap->schema->name);
    const uint64_t most =
        (uint64_t)heap->handle.as.objects.pages.count * heap->schema->types[number].capacity;
    lacks = count > most;
    if (!lacks && count) {
        status = prepare(heap, number, count, &crowd, &memory);
        if (status == QUARRY_OK)
            status = quarry_pool_launch(&heap->pool, &quarry_object_add_kernel, &crowd);
        if (status == QUARRY_OK)
            status = quarry_pool_copy(&heap->pool, &lacks, crowd.lacks, sizeof lacks);
        if (status == QUARRY_OK && lacks)
            status = quarry_pool_launch(&heap->pool, &quarry_object_remove_kernel, &crowd);
        else if (status == QUARRY_OK && objects)
            status = quarry_pool_copy(&heap->pool, objects, crowd.objects, count * sizeof *objects);
        enum quarry_status given = memory ? give_back(&heap->pool.target, memory) : QUARRY_OK;
        status = status == QUARRY_OK ? given : status;
    }
    if (status == QUARRY_OK && lacks)
        return quarry_fail(QUARRY_ERROR_POOL,
                           "the heap has no room for %" PRIu64 " more objects of type %s: none was created",
                           count, type);
    if (status == QUARRY_OK && objects)
        qsort(objects, count, sizeof *objects, compare_objects);
    return status;
}

/* ---- describing ---- */

static void add_object(struct text *text, const struct quarry_schema *schema, quarry_object o)
{
    const uint32_t number = quarry_object_type(o);
    if (quarry_object_is_null(o))
        text_add(text, "none");
    else
        text_add(text, "%s %p/%" PRIu32, number < schema->type_count ? schema->types[number].name : "unknown",
                 (void *)quarry_object_block(o), quarry_object_slot(o));
}

/* A value of a field: by the name of its type, for there is nothing else to know it by. */
static void add_value(struct text *text, const struct quarry_schema *schema,
                      const struct quarry_schema_field *field, const unsigned char *value)
{
    static const char *const with_sign[] = {"int8_t", "int16_t", "int32_t", "int64_t",
                                            "short",  "int",     "long"};
    static const char *const without[] = {"uint8_t",        "uint16_t",     "uint32_t", "uint64_t",
                                          "unsigned short", "unsigned int", "unsigned", "unsigned long",
                                          "unsigned char",  "char"};
    uint64_t bits = 0;
    if (strcmp(field->type, "float") == 0) {
        float number;
        memcpy(&number, value, sizeof number);
        text_add(text, "%g", (double)number);
        return;
    }
    if (strcmp(field->type, "double") == 0) {
        double number;
        memcpy(&number, value, sizeof number);
        text_add(text, "%g", number);
        return;
    }
    if (field->bytes <= sizeof bits)
        memcpy(&bits, value, field->bytes); /* the machines of both backends have the lowest byte first */
    if (strcmp(field->type, "quarry_object") == 0) {
        const quarry_object o = {bits};
        add_object(text, schema, o);
        return;
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(field->type, without[i]) == 0) {
            text_add(text, "%" PRIu64, bits);
            return;
        }
    for (size_t i = 0; i < sizeof with_sign / sizeof *with_sign; i++)
        if (strcmp(field->type, with_sign[i]) == 0) {
            const uint32_t above = 64u - 8u * field->bytes;
            text_add(text, "%" PRId64, (int64_t)(bits << above) >> above);
            return;
        }
    text_add(text, "0x");
    for (uint32_t i = field->bytes; i > 0; i--)
        text_add(text, "%02x", (unsigned int)value[i - 1]);
}

/* The fields of the object in a slot, those of its base first.
 *   page   a copy of its block */
static void add_fields(struct text *text, const struct quarry_schema *schema, int number,
                       const unsigned char *page, uint32_t capacity, uint32_t slot)
{
    if (number < 0)
        return;
    const struct quarry_schema_type *type = &schema->types[number];
    add_fields(text, schema, type->base, page, capacity, slot);
    for (uint32_t f = 0; f < type->field_count; f++) {
        const struct quarry_schema_field *field = &type->fields[f];
        const size_t first = (size_t)capacity * field->offset;
        for (uint32_t e = 0; e < field->elements; e++) {
            text_add(text, e ? "," : " %s=", field->name);
            add_value(text, schema, field, page + first + ((size_t)e * capacity + slot) * field->bytes);
        }
    }
}

/* Describes the objects of one page.  Returns whether to go on. */
static int dump_page(const quarry_heap *heap, const unsigned char *page, uint32_t number, uint32_t index,
                     uint64_t live, int (*line)(const char *text, void *user), void *user)
{
    const struct quarry_schema *schema = heap->schema;
    const uint32_t capacity = schema->types[number].capacity;
    char memory[QUARRY_OBJECT_TEXT_BYTES];
    for (; live; live &= live - 1u) {
        struct text text = {memory, sizeof memory};
        const uint32_t slot = simt_ctz_u64(live);
        *memory = 0;
        add_object(&text, schema,
                   quarry_object_name(number, capacity,
                                      quarry_page_address(&heap->handle.as.objects.pages, index), slot));
        add_fields(&text, schema, (int)number, page, capacity, slot);
        if (line(memory, user))
            return 0;
    }
    return 1;
}

enum quarry_status quarry_objects_dump(quarry_heap *heap, const char *type,
                                       int (*line)(const char *text, void *user), void *user)
{
    uint32_t number;
    struct words words;
    if (!heap || !type || !line)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", !heap ? "heap" : !type ? "type" : "line");
    enum quarry_status status = find_type(heap, type, &number);
    if (status != QUARRY_OK)
        return status;
    unsigned char *page = (unsigned char *)malloc(heap->schema->block_bytes);
    if (!page)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a page");
    status = fetch(heap, &words);
    if (status != QUARRY_OK) {
        free(page);
        return status;
    }
    const uint64_t types = concrete(heap->schema, number);
    const struct quarry_objects *objects = &heap->handle.as.objects;
    int goes_on = 1;
    for (uint32_t i = 0; i < heap->schema->type_count; i++)
        for (uint32_t at = 0; at < objects->pages.count && (types >> i & 1u) && goes_on; at++) {
            const uint64_t live = live_of(objects, &words, at, i);
            if (live)
                status = quarry_pool_copy(&heap->pool, page, quarry_page_address(&objects->pages, at),
                                          heap->schema->block_bytes);
            goes_on = status == QUARRY_OK && (!live || dump_page(heap, page, i, at, live, line, user));
        }
    forget(&words);
    free(page);
    return status;
}
