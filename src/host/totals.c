/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap has counted: as a struct, and as a table. */
#include "host/heap.h"
#include "host/internal.h"
#include "host/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_PRINTED 20u
#define TABLE_BYTES 32768u /* holds any table, with the report and the blocks of debug mode */

SIMT_STATIC_ASSERT(QUARRY_SIZE_CLASSES == QUARRY_TALLY_CLASSES, "host and device speak of the same");

enum quarry_status quarry_heap_totals(quarry_heap *heap, struct quarry_totals *totals)
{
    struct quarry_tally tally;
    struct quarry_counters counters;
    if (!heap || !totals)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", heap ? "totals" : "heap");
    memset(totals, 0, sizeof *totals);
    if (!heap->policy.tally)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap counts nothing: it was created without options.statistics");
    enum quarry_status status = quarry_pool_copy(&heap->pool, &tally, heap->policy.tally, sizeof tally);
    if (status == QUARRY_OK)
        status = quarry_pool_copy(&heap->pool, &counters, heap->handle.counters, sizeof counters);
    if (status != QUARRY_OK)
        return status;
    totals->live_blocks = tally.live_blocks;
    totals->live_bytes = tally.live_bytes;
    totals->peak_blocks = tally.peak_blocks;
    totals->peak_bytes = tally.peak_bytes;
    totals->total_blocks = tally.total_blocks;
    totals->total_bytes = tally.total_bytes;
    totals->refused_mallocs = counters.refused;
    for (uint32_t i = 0; i < QUARRY_SIZE_CLASSES; i++) {
        struct quarry_size_class *class = &totals->size_class[i];
        class->most_bytes = i + 1 < QUARRY_SIZE_CLASSES ? (uint64_t)QUARRY_TALLY_LEAST << i : UINT64_MAX;
        class->mallocs = tally.mallocs[i];
        class->failed = tally.failed[i];
    }
    return QUARRY_OK;
}

static void add_classes(struct text *text, const struct quarry_totals *totals)
{
    text_add(text, "  %-14s %20s %20s\n", "asked for", "mallocs", "failed");
    for (uint32_t i = 0; i < QUARRY_SIZE_CLASSES; i++) {
        const struct quarry_size_class *class = &totals->size_class[i];
        char size[32] = "more";
        if (class->mallocs == 0 && class->failed == 0)
            continue;
        if (class->most_bytes != UINT64_MAX)
            snprintf(size, sizeof size, "to %" PRIu64 " B", class->most_bytes);
        text_add(text, "  %-14s %20" PRIu64 " %20" PRIu64 "\n", size, class->mallocs, class->failed);
    }
    if (totals->refused_mallocs)
        text_add(text, "  refused: larger than any block %25" PRIu64 "\n", totals->refused_mallocs);
}

struct blocks {
    struct text *text;
    uint32_t printed;
};

static int add_block(const struct quarry_block *block, void *user)
{
    struct blocks *blocks = (struct blocks *)user;
    text_add(blocks->text, "  live: ");
    quarry_debug_add_block(blocks->text, block);
    text_add(blocks->text, "\n");
    return ++blocks->printed == BLOCKS_PRINTED;
}

/* What debug mode knows; of live blocks as far as there is memory for a list. */
static void add_debug(struct text *text, quarry_heap *heap)
{
    char report[QUARRY_DEBUG_TEXT_BYTES];
    char *rest = NULL;
    struct blocks blocks = {text, 0};
    if (quarry_heap_debug_report(heap, report, sizeof report) != QUARRY_OK)
        return;
    for (char *line = strtok_r(report, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        text_add(text, "  %s\n", line);
    quarry_heap_each(heap, add_block, &blocks);
}

void quarry_totals_print(quarry_heap *heap)
{
    struct quarry_totals totals;
    struct quarry_heap_description about;
    char *memory = (char *)malloc(TABLE_BYTES);
    struct text text = {memory, TABLE_BYTES};
    if (!memory)
        return;
    enum quarry_status status = quarry_heap_totals(heap, &totals);
    if (status == QUARRY_OK)
        status = quarry_heap_describe(heap, &about);
    if (status == QUARRY_OK) {
        text_add(&text, "quarry: heap of %" PRIu64 " bytes, allocator %s\n", about.pool_bytes,
                 about.allocator);
        text_add(&text, "  %-14s %20s %20s\n", "", "blocks", "bytes");
        text_add(&text, "  %-14s %20" PRIu64 " %20" PRIu64 "\n", "live now", totals.live_blocks,
                 totals.live_bytes);
        text_add(&text, "  %-14s %20" PRIu64 " %20" PRIu64 "\n", "peak", totals.peak_blocks,
                 totals.peak_bytes);
        text_add(&text, "  %-14s %20" PRIu64 " %20" PRIu64 "\n", "in total", totals.total_blocks,
                 totals.total_bytes);
        add_classes(&text, &totals);
        if (heap->handle.debug)
            add_debug(&text, heap);
    }
    if (status == QUARRY_OK)
        fputs(memory, stderr); /* at once, so that tables of several threads do not mix */
    free(memory);
}
