/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes with typed objects: wrong deletes of any heap; and, in debug mode, what was never deleted. */
#include "host/heap.h"
#include "host/internal.h"
#include "host/text.h"
#include "quarry/object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a sentence about all types of a schema. */
#define SENTENCE_BYTES 4096u

uint32_t quarry_objects_fields_of(const struct quarry_schema *schema, uint32_t number,
                                  struct quarry_objects_field *fields)
{
    uint32_t count = 0;
    for (int type = (int)number; type >= 0; type = schema->types[type].base)
        for (uint32_t i = 0; i < schema->types[type].field_count; i++, count++) {
            const struct quarry_schema_field *field = &schema->types[type].fields[i];
            if (fields) {
                fields[count].offset = field->offset;
                fields[count].bytes = field->bytes;
                fields[count].elements = field->elements;
            }
        }
    return count;
}

enum quarry_status quarry_objects_begin(const quarry_heap *heap)
{
    const struct quarry_objects *objects = &heap->handle.as.objects;
    if (!heap->schema || !objects->fields)
        return QUARRY_OK;
    const size_t bytes = sizeof *objects->fields + heap->layout.fields * sizeof *objects->fields->fields;
    struct quarry_objects_fields *table = (struct quarry_objects_fields *)calloc(1, bytes);
    if (!table)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for the fields of schema %s",
                           heap->schema->name);
    for (uint32_t i = 0; i < heap->schema->type_count; i++)
        table->begin[i + 1] =
            table->begin[i] + quarry_objects_fields_of(heap->schema, i, &table->fields[table->begin[i]]);
    enum quarry_status status =
        quarry_pool_copy(&heap->pool, (void *)(uintptr_t)objects->fields, table, bytes);
    free(table);
    return status;
}

/* Says which deletes were mistakes; nothing if none was. */
static enum quarry_status add_wrongs(const quarry_heap *heap, struct text *text)
{
    static const char *const what[QUARRY_OBJECTS_WRONGS] = {"twice", "of another type or since replaced",
                                                            "of no object of this heap"};
    struct quarry_objects_typed typed;
    const char *before = "objects were deleted wrongly: ";
    enum quarry_status status =
        quarry_pool_copy(&heap->pool, &typed, heap->handle.as.objects.typed, sizeof typed);
    for (int i = 0; i < QUARRY_OBJECTS_WRONGS && status == QUARRY_OK; i++) {
        const quarry_object first = {typed.wrong[i].first};
        const uint32_t number = quarry_object_type(first);
        if (typed.wrong[i].count) {
            text_add(text, "%s%" PRIu64 " %s (first: %s, slot %" PRIu32 " of the block at %p)", before,
                     typed.wrong[i].count, what[i],
                     number < heap->schema->type_count ? heap->schema->types[number].name : "unknown type",
                     quarry_object_slot(first), (void *)quarry_object_block(first));
            before = ", ";
        }
    }
    return status;
}

/* Says how many objects of each type are live, and blocks of malloc; nothing if none is. */
static enum quarry_status add_live(const quarry_heap *heap, struct text *text)
{
    uint64_t live[QUARRY_OBJECTS_TYPES], blocks, all = 0;
    enum quarry_status status = quarry_objects_tally(heap, live, &blocks);
    if (status != QUARRY_OK)
        return status;
    for (uint32_t i = 0; i < heap->schema->type_count; i++)
        all += live[i];
    if (all)
        text_add(text, "%" PRIu64 " object%s still live:", all, all == 1 ? " is" : "s are");
    const char *more = " ";
    for (uint32_t i = 0; i < heap->schema->type_count && all; i++)
        if (live[i]) {
            text_add(text, "%s%" PRIu64 " %s", more, live[i], heap->schema->types[i].name);
            more = ", ";
        }
    if (blocks)
        text_add(text, "%s%" PRIu64 " block%s of malloc", all ? "; and " : "still live: ", blocks,
                 blocks == 1 ? "" : "s");
    return QUARRY_OK;
}

enum quarry_status quarry_objects_judge(const quarry_heap *heap)
{
    char wrongs[SENTENCE_BYTES] = "";
    struct text text = {wrongs, sizeof wrongs};
    if (!heap->schema)
        return QUARRY_OK;
    enum quarry_status status = add_wrongs(heap, &text);
    return status == QUARRY_OK && *wrongs ? quarry_fail(QUARRY_ERROR_CORRUPT, "%s", wrongs) : status;
}

enum quarry_status quarry_objects_end(const quarry_heap *heap)
{
    char live[SENTENCE_BYTES] = "", wrongs[SENTENCE_BYTES] = "";
    struct text live_text = {live, sizeof live}, wrong_text = {wrongs, sizeof wrongs};
    enum quarry_status status = add_wrongs(heap, &wrong_text);
    if (status == QUARRY_OK)
        status = add_live(heap, &live_text);
    if (status != QUARRY_OK || (!*wrongs && !*live))
        return status;
    return quarry_fail(*wrongs ? QUARRY_ERROR_CORRUPT : QUARRY_ERROR_LEAK, "%s%s%s", wrongs,
                       *wrongs && *live ? "; and " : "", live);
}

enum quarry_status quarry_objects_report(const quarry_heap *heap, char *out, size_t bytes)
{
    struct text text = {out, bytes};
    const char *begin = text.at;
    enum quarry_status status = add_wrongs(heap, &text);
    if (status == QUARRY_OK && text.at != begin)
        text_add(&text, "\n");
    begin = text.at;
    if (status == QUARRY_OK)
        status = add_live(heap, &text);
    if (status == QUARRY_OK && text.at != begin)
        text_add(&text, "\n");
    return status;
}
