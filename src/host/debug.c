/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap in debug mode recorded, in words. */
#include "host/internal.h"
#include "host/text.h"

#include <inttypes.h>

#define LINE_BYTES 256

static const char *kind_name(uint32_t kind)
{
    static const char *const names[QUARRY_DEBUG_KINDS] = {
        [QUARRY_DEBUG_DOUBLE_FREE] = "double free",
        [QUARRY_DEBUG_FOREIGN_FREE] = "free of a foreign pointer",
        [QUARRY_DEBUG_INTERIOR_FREE] = "free of an interior pointer",
        [QUARRY_DEBUG_OVERFLOW] = "write past the end",
        [QUARRY_DEBUG_UNDERFLOW] = "write before the start",
        [QUARRY_DEBUG_USE_AFTER_FREE] = "write after free",
    };
    return names[kind];
}

/* "64 bytes at 0x1230", or "0x1230" of a pointer that belongs to no block. */
static void add_block(struct text *text, const struct quarry_debug_record *r)
{
    if (!r->block)
        text_add(text, "0x%" PRIx64, r->address);
    else if (r->bytes)
        text_add(text, "%" PRIu64 " byte%s at 0x%" PRIx64, r->bytes, r->bytes == 1 ? "" : "s", r->block);
    else
        text_add(text, "a block at 0x%" PRIx64, r->block);
}

/* One kind's line, without its end. */
static void add_record(struct text *text, const struct quarry_debug *debug, uint32_t kind)
{
    const struct quarry_debug_record *r = &debug->record[kind];
    int freed = kind == QUARRY_DEBUG_USE_AFTER_FREE;
    int written = freed || kind == QUARRY_DEBUG_OVERFLOW || kind == QUARRY_DEBUG_UNDERFLOW;
    text_add(text, "%s: %" PRIu64 " time%s, first: ", kind_name(kind), r->count, r->count == 1 ? "" : "s");
    if (written || kind == QUARRY_DEBUG_INTERIOR_FREE)
        text_add(text, "byte %" PRId64 " of ", (int64_t)(r->address - r->block));
    add_block(text, r);
    if (r->thread != QUARRY_DEBUG_NOBODY)
        text_add(text, "%s by thread %" PRIu32,
                 freed     ? ", freed"
                 : written ? ", seen at its free"
                           : "",
                 r->thread);
    else if (!freed)
        text_add(text, ", seen by a check");
    if (r->by != QUARRY_DEBUG_NOBODY)
        text_add(text, " (allocated by thread %" PRIu32 ")", r->by);
}

void quarry_debug_report(const struct quarry_debug *debug, char *memory, size_t bytes)
{
    struct text text = {memory, bytes};
    for (uint32_t kind = 0; kind < QUARRY_DEBUG_KINDS; kind++) {
        if (debug->record[kind].count == 0)
            continue;
        add_record(&text, debug, kind);
        text_add(&text, "\n");
    }
    if (debug->census.blocks)
        text_add(&text, "%" PRIu64 " live block%s, %" PRIu64 " byte%s\n", debug->census.blocks,
                 debug->census.blocks == 1 ? "" : "s", debug->census.bytes,
                 debug->census.bytes == 1 ? "" : "s");
}

enum quarry_status quarry_debug_judge(const struct quarry_debug *debug)
{
    char line[LINE_BYTES] = "";
    struct text text = {line, sizeof line};
    uint32_t more = 0;
    for (uint32_t kind = 0; kind < QUARRY_DEBUG_KINDS; kind++) {
        if (debug->record[kind].count == 0)
            continue;
        if (text.at == line)
            add_record(&text, debug, kind);
        else
            more++;
    }
    if (text.at == line)
        return QUARRY_OK;
    if (more)
        return quarry_fail(QUARRY_ERROR_CORRUPT,
                           "%s; and errors of %" PRIu32
                           " other kind%s, which quarry_heap_debug_report names before the heap is destroyed",
                           line, more, more == 1 ? "" : "s");
    return quarry_fail(QUARRY_ERROR_CORRUPT, "%s", line);
}

enum quarry_status quarry_debug_leak(const struct quarry_debug *debug)
{
    const struct quarry_debug_census *census = &debug->census;
    uint64_t listed = census->listed < QUARRY_DEBUG_LISTED ? census->listed : QUARRY_DEBUG_LISTED;
    char list[LINE_BYTES * QUARRY_DEBUG_LISTED] = "";
    struct text text = {list, sizeof list};
    if (census->blocks == 0)
        return QUARRY_OK;
    for (uint64_t i = 0; i < listed; i++) {
        struct quarry_debug_record r = {0};
        r.block = census->list[i].block;
        r.bytes = census->list[i].bytes;
        text_add(&text, "%s", i ? "; " : "");
        add_block(&text, &r);
        if (census->list[i].by != QUARRY_DEBUG_NOBODY)
            text_add(&text, ", allocated by thread %" PRIu64, census->list[i].by);
    }
    if (census->blocks > listed)
        text_add(&text, "; and %" PRIu64 " more", census->blocks - listed);
    return quarry_fail(QUARRY_ERROR_LEAK,
                       "%" PRIu64 " block%s of %" PRIu64
                       " byte%s %s still live when the heap was destroyed: %s",
                       census->blocks, census->blocks == 1 ? "" : "s", census->bytes,
                       census->bytes == 1 ? "" : "s", census->blocks == 1 ? "was" : "were", list);
}
