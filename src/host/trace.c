/* SPDX-License-Identifier: Apache-2.0 */
/* Records a heap: empties the log, turns addresses into the numbers of blocks, writes the file. */
#include "quarry/trace.h"

#include "host/internal.h"
#include "host/recording.h"
#include "host/trace_file.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_EVENTS 65536u /* copied from the target at once */

struct quarry_trace {
    quarry_heap *heap;
    struct quarry_target target;
    struct trace_writer *writer;
    struct quarry_log *log; /* on the target */
    struct quarry_log start;
    struct quarry_log_event *events; /* COPY_EVENTS */
    void *live;                      /* tree of struct live */
    enum quarry_status failed;       /* of a drain; the recording is of no use then */
    struct quarry_trace_header header;
    struct recording recording;
};

/* A live block. */
struct live {
    uint64_t begin;
    uint64_t end;
    uint32_t block;
};

/* Blocks that live at the same time don't overlap: what does is one block, or an address inside. */
static int compare(const void *one, const void *other)
{
    const struct live *a = (const struct live *)one, *b = (const struct live *)other;
    return a->end <= b->begin ? -1 : a->begin >= b->end;
}

static enum quarry_status put(quarry_trace *trace, uint32_t thread, enum quarry_trace_kind kind,
                              uint32_t block, uint64_t bytes)
{
    struct quarry_trace_header *header = &trace->header;
    const struct quarry_trace_event event = {(uint32_t)header->launches, thread, (uint32_t)kind, block,
                                             bytes};
    if (header->events == UINT32_MAX)
        return quarry_fail(QUARRY_ERROR_FILE, "a trace has at most %" PRIu32 " events", UINT32_MAX);
    header->events++;
    return quarry_trace_writer_put(trace->writer, &event);
}

/* The block that has the address is live no more. */
static enum quarry_status put_free(quarry_trace *trace, uint32_t thread, const struct live *key)
{
    struct live **found = (struct live **)tfind(key, &trace->live, compare);
    if (!found) {
        trace->header.unmatched++;
        return QUARRY_OK;
    }
    struct live *block = *found;
    tdelete(key, &trace->live, compare);
    enum quarry_status status = put(trace, thread, QUARRY_TRACE_FREE, block->block, 0);
    free(block);
    return status;
}

static enum quarry_status put_malloc(quarry_trace *trace, uint32_t thread, const struct live *block)
{
    enum quarry_status status = QUARRY_OK;
    struct live *kept = (struct live *)malloc(sizeof *kept);
    while (status == QUARRY_OK && tfind(block, &trace->live, compare)) {
        trace->header.unmatched++;
        status = put_free(trace, thread, block);
    }
    if (status == QUARRY_OK)
        status = put(trace, thread, QUARRY_TRACE_MALLOC, (uint32_t)trace->header.blocks,
                     block->end - block->begin);
    if (kept)
        *kept = *block;
    if (status == QUARRY_OK && (!kept || !tsearch(kept, &trace->live, compare)))
        status = quarry_fail(QUARRY_ERROR_MEMORY, "there is no memory for what a trace knows of live blocks");
    if (status != QUARRY_OK) {
        free(kept);
        return status;
    }
    kept->block = (uint32_t)trace->header.blocks++;
    return QUARRY_OK;
}

static enum quarry_status take(quarry_trace *trace, const struct quarry_log_event *event)
{
    struct live block = {event->block, event->block + event->bytes, 0};
    if (event->bytes == 0) {
        block.end++; /* an address is a block of one byte */
        return put_free(trace, event->thread, &block);
    }
    if (event->block)
        return put_malloc(trace, event->thread, &block);
    trace->header.failed++;
    return put(trace, event->thread, QUARRY_TRACE_FAILED, UINT32_MAX, event->bytes);
}

static enum quarry_status drain(quarry_trace *trace)
{
    const uint64_t room = trace->start.room, none = 0;
    const uint64_t events = trace->header.events;
    uint64_t tickets = 0;
    enum quarry_status status =
        quarry_memory_copy(&trace->target, &tickets, &trace->log->tickets, sizeof tickets);
    const uint64_t count = tickets < room ? tickets : room;
    trace->header.lost += tickets - count;
    for (uint64_t first = 0; first < count && status == QUARRY_OK; first += COPY_EVENTS) {
        const uint64_t some = count - first < COPY_EVENTS ? count - first : COPY_EVENTS;
        status = quarry_memory_copy(&trace->target, trace->events, trace->start.events + first,
                                    some * sizeof *trace->events);
        for (uint64_t i = 0; i < some && status == QUARRY_OK; i++)
            status = take(trace, &trace->events[i]);
    }
    if (status == QUARRY_OK)
        status = quarry_memory_copy(&trace->target, &trace->log->tickets, &none, sizeof none);
    trace->header.launches += trace->header.events > events;
    return status;
}

enum quarry_status quarry_trace_drain(quarry_trace *trace)
{
    if (!trace)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "trace is NULL");
    if (trace->failed != QUARRY_OK)
        return quarry_fail(trace->failed, "the recording has failed before");
    trace->failed = drain(trace);
    return trace->failed;
}

/* Frees all that there is. */
static enum quarry_status release(quarry_trace *trace)
{
    quarry_recording_end(&trace->recording);
    enum quarry_status status = quarry_memory_destroy(&trace->target, QUARRY_POOL_DEVICE, trace->log);
    tdestroy(trace->live, free);
    free(trace->events);
    free(trace);
    return status;
}

static void fill_header(struct quarry_trace_header *header, const struct quarry_heap_description *heap,
                        const struct quarry_device_info *device)
{
    header->pool_bytes = heap->pool_bytes;
    header->page_bytes = heap->page_bytes;
    header->alignment = heap->alignment;
    header->full = heap->full;
    header->low_free = heap->low_free;
    header->distribution = heap->distribution;
    header->oom = heap->oom;
    header->oom_tries = heap->oom_tries;
    header->backend = heap->target.backend;
    quarry_options_format(heap->options, heap->option_count, header->options, sizeof header->options);
    snprintf(header->allocator, sizeof header->allocator, "%s", heap->allocator);
    snprintf(header->device, sizeof header->device, "%.*s", (int)sizeof header->device - 1, device->name);
}

/* Makes the log: its head and the events behind it. */
static enum quarry_status create_log(quarry_trace *trace, uint64_t room)
{
    const uint64_t head = QUARRY_SECTION_ALIGN;
    void *memory = NULL;
    if (room > (UINT64_MAX - head) / sizeof(struct quarry_log_event))
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "room is %" PRIu64 ": there is no log of so many events",
                           room);
    enum quarry_status status = quarry_memory_create(&trace->target, QUARRY_POOL_DEVICE,
                                                     head + room * sizeof(struct quarry_log_event), &memory);
    if (status != QUARRY_OK)
        return status;
    trace->log = (struct quarry_log *)memory;
    trace->start.room = room;
    trace->start.events = (struct quarry_log_event *)(void *)((unsigned char *)memory + head);
    return quarry_memory_copy(&trace->target, trace->log, &trace->start, sizeof trace->start);
}

static enum quarry_status begin(quarry_trace *trace, const char *path, uint64_t room)
{
    struct quarry_heap_description heap;
    struct quarry_device_info device;
    enum quarry_status status = quarry_heap_describe(trace->heap, &heap);
    trace->target = heap.target;
    if (status == QUARRY_OK)
        status = quarry_device_describe(&trace->target, &device);
    if (status != QUARRY_OK)
        return status;
    fill_header(&trace->header, &heap, &device);
    status = create_log(trace, room);
    if (status == QUARRY_OK)
        status = quarry_trace_writer_open(&trace->writer, path);
    if (status == QUARRY_OK)
        status = quarry_heap_record(trace->heap, trace->log);
    if (status != QUARRY_OK && trace->writer)
        quarry_trace_writer_close(trace->writer, NULL);
    return status;
}

enum quarry_status quarry_trace_begin(quarry_trace **out, quarry_heap *heap, const char *path, uint64_t room)
{
    if (!out || !heap || !path)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", !out ? "out" : !heap ? "heap" : "path");
    *out = NULL;
    quarry_trace *trace = (quarry_trace *)calloc(1, sizeof *trace);
    if (trace)
        trace->events = (struct quarry_log_event *)malloc(COPY_EVENTS * sizeof *trace->events);
    if (!trace || !trace->events) {
        free(trace);
        return quarry_fail(QUARRY_ERROR_MEMORY, "there is no memory to record a trace");
    }
    trace->heap = heap;
    enum quarry_status status = begin(trace, path, room ? room : QUARRY_TRACE_ROOM);
    if (status == QUARRY_OK) {
        quarry_recording_begin(&trace->recording, quarry_heap_handle(trace->heap).counters);
        *out = trace;
        return QUARRY_OK;
    }
    char first[1024]; /* what went wrong first is the sentence to keep */
    snprintf(first, sizeof first, "%s", quarry_error_detail());
    release(trace);
    return quarry_fail(status, "%s", first);
}

/* Fails if nothing was logged, though a kernel that logs nothing got the heap. */
static enum quarry_status check_logged(const quarry_trace *trace)
{
    const struct quarry_trace_header *found = &trace->header;
    if (!trace->recording.unlogged || found->events || found->lost || found->unmatched)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_COMBINATION,
                       "no malloc or free was recorded: kernel %s, which got the heap, was compiled without "
                       "-DQUARRY_TRACE",
                       trace->recording.unlogged);
}

enum quarry_status quarry_trace_end(quarry_trace *trace, struct quarry_trace_header *header)
{
    if (!trace)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "trace is NULL");
    enum quarry_status status = quarry_trace_drain(trace);
    if (status == QUARRY_OK)
        status = check_logged(trace);
    enum quarry_status other = quarry_heap_record(trace->heap, NULL);
    status = status == QUARRY_OK ? other : status;
    other = quarry_trace_writer_close(trace->writer, status == QUARRY_OK ? &trace->header : NULL);
    status = status == QUARRY_OK ? other : status;
    if (header)
        *header = trace->header;
    other = release(trace);
    return status == QUARRY_OK ? other : status;
}

enum quarry_status quarry_trace_cancel(quarry_trace *trace)
{
    if (!trace)
        return QUARRY_OK;
    enum quarry_status status = quarry_heap_record(trace->heap, NULL);
    quarry_trace_writer_close(trace->writer, NULL);
    enum quarry_status other = release(trace);
    return status == QUARRY_OK ? other : status;
}
