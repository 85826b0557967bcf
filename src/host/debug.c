/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap in debug mode recorded, in words. */
#include "host/internal.h"
#include "host/launches.h"
#include "host/text.h"

#include <inttypes.h>

#define LINE_BYTES 512
#define LEAKS_NAMED 4u

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

/* " thread 4 in launch 2, fill". */
static void add_who(struct text *text, uint32_t thread, uint32_t launch, const char *kernel)
{
    text_add(text, " thread %" PRIu32, thread);
    if (launch)
        text_add(text, " in launch %" PRIu32 "%s%.63s", launch, *kernel ? ", " : "", kernel);
}

static void add_tag(struct text *text, const char *tag)
{
    if (*tag)
        text_add(text, ", tag %.63s", tag);
}

void quarry_debug_add_block(struct text *text, const struct quarry_block *block)
{
    struct quarry_debug_record r = {0};
    r.block = (uint64_t)(uintptr_t)block->address;
    r.bytes = block->bytes;
    add_block(text, &r);
    if (block->thread != QUARRY_NO_THREAD) {
        text_add(text, ", allocated by");
        add_who(text, block->thread, block->launch, block->kernel);
    }
    add_tag(text, block->tag);
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
    if (r->who.thread != QUARRY_DEBUG_NOBODY) {
        text_add(text, "%s by", freed ? ", freed" : written ? ", seen at its free" : "");
        add_who(text, r->who.thread, r->who.launch, quarry_launches_kernel(r->who.launch));
    } else if (!freed) {
        text_add(text, ", seen by a check");
    }
    if (r->by.thread != QUARRY_DEBUG_NOBODY) {
        text_add(text, " (allocated by");
        add_who(text, r->by.thread, r->by.launch, quarry_launches_kernel(r->by.launch));
        add_tag(text, debug->text[kind]);
        text_add(text, ")");
    }
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

enum quarry_status quarry_debug_judge(const struct quarry_debug *debug, const char *leaks)
{
    char line[LINE_BYTES] = "";
    struct text text = {line, sizeof line};
    char others[128] = "";
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
        return *leaks ? quarry_fail(QUARRY_ERROR_LEAK, "%s", leaks) : QUARRY_OK;
    if (more)
        snprintf(others, sizeof others,
                 "; and errors of %" PRIu32
                 " other kind%s, which quarry_heap_debug_report names before the heap is destroyed",
                 more, more == 1 ? "" : "s");
    return quarry_fail(QUARRY_ERROR_CORRUPT, "%s%s%s%s", line, others, *leaks ? "; and " : "", leaks);
}

struct leaks {
    struct text text;
    uint64_t named;
};

static int name_leak(const struct quarry_block *block, void *user)
{
    struct leaks *leaks = (struct leaks *)user;
    text_add(&leaks->text, "%s", leaks->named ? "; " : ": ");
    quarry_debug_add_block(&leaks->text, block);
    return ++leaks->named == LEAKS_NAMED;
}

void quarry_debug_leaks(quarry_heap *heap, const struct quarry_debug *debug, char *text)
{
    const struct quarry_debug_census *census = &debug->census;
    struct leaks leaks = {{text, QUARRY_DEBUG_LEAKS_BYTES}, 0};
    *text = 0;
    if (census->blocks == 0)
        return;
    text_add(&leaks.text,
             "%" PRIu64 " block%s of %" PRIu64 " byte%s %s still live when the heap was destroyed",
             census->blocks, census->blocks == 1 ? "" : "s", census->bytes, census->bytes == 1 ? "" : "s",
             census->blocks == 1 ? "was" : "were");
    quarry_heap_each(heap, name_leak, &leaks);
    if (leaks.named && census->blocks > leaks.named)
        text_add(&leaks.text, "; and %" PRIu64 " more", census->blocks - leaks.named);
}
