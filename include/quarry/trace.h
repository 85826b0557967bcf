/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: what the mallocs and frees of a heap were, in a file that `quarry replay` and `quarry tune` run
 * again on any allocator.  docs/guide/traces.md is for users, and has the format.
 *
 * Recording.  Kernels that are compiled with QUARRY_TRACE log their calls; the host says when.
 *
 *     quarry_trace *trace;
 *     quarry_trace_begin(&trace, heap, "program.trace", 0);
 *     ...launch...
 *     quarry_trace_drain(trace);           // after each launch: the log has room again
 *     ...
 *     quarry_trace_end(trace, NULL);       // the file is there, whole
 *
 * Reading.  quarry_trace_read checks all that it reads: what it returns is a trace that can happen.
 *
 * Threads: as for heaps (quarry.h); a recording is part of its heap. */
#ifndef QUARRY_TRACE_H
#define QUARRY_TRACE_H

#include "quarry/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what libquarry.so exports */

#define QUARRY_TRACE_VERSION 2u      /* of the files that are written and read */
#define QUARRY_TRACE_ROOM (1u << 20) /* events of a log of default size, 24 MiB */

/* What was recorded. */
struct quarry_trace_header {
    uint64_t events;
    uint64_t blocks;   /* mallocs that gave one */
    uint64_t failed;   /* mallocs that gave NULL */
    uint64_t launches; /* drains that found events */
    uint64_t lost;     /* events that found the log full, and are not in the trace */

    /* Frees whose malloc is not in the trace; they are left out.  And mallocs of memory whose free is not in
     * the trace; a free is put before them. */
    uint64_t unmatched;

    uint64_t pool_bytes;
    uint64_t page_bytes;
    uint64_t alignment;
    double low_free; /* from here on as struct quarry_heap_description has them */
    enum quarry_full full;
    enum quarry_distribution distribution;
    enum quarry_oom oom;
    uint32_t oom_tries;
    enum quarry_backend backend;
    char allocator[32];
    char device[64];   /* cut if it is longer */
    char options[288]; /* "probes=1024 word_bits=32": the allocator's, all of them; cut likewise */
};

/* What an event was; FAILED is a malloc that gave NULL. */
enum quarry_trace_kind { QUARRY_TRACE_MALLOC = 0, QUARRY_TRACE_FREE = 1, QUARRY_TRACE_FAILED = 2 };

/* In the order of the log: of two events of one block the one that came first is first. */
struct quarry_trace_event {
    uint32_t launch; /* from 0; never less than in the event before */
    uint32_t thread; /* of that launch */
    uint32_t kind;   /* enum quarry_trace_kind */
    uint32_t block;  /* the n-th malloc that gave a block, from 0; FAILED: UINT32_MAX */
    uint64_t bytes;  /* FREE: 0; else at least 1 */
};

/* ---- recording ---- */

/* A recording under way. */
typedef struct quarry_trace quarry_trace;

/* Begins to record a heap, from the next launch on: its blocks that live already belong to no trace.
 *   path  the file; it appears when the recording ends
 *   room  events that the log has room for between two drains, 24 bytes each in the target's memory; 0:
 *         QUARRY_TRACE_ROOM
 * COMBINATION if the heap is being recorded already, FILE if the file can't be written.  Waits for the
 * target's stream.  Nothing is left behind after an error. */
enum quarry_status quarry_trace_begin(quarry_trace **out, quarry_heap *heap, const char *path, uint64_t room);

/* Empties the log into the file.  What one drain finds is one launch of the trace.  Waits for the target's
 * stream; no kernel of another stream may use the heap. */
enum quarry_status quarry_trace_drain(quarry_trace *trace);

/* Drains, finishes the file and ends the recording, which must be before the heap is destroyed.
 *   header  receives what was recorded; may be NULL
 * COMBINATION if no malloc or free was recorded, and quarry_launch launched a kernel that was compiled without
 * QUARRY_TRACE and has the heap's handle in its argument; other launches it does not see.  An error of this or
 * an earlier drain leaves no file. */
enum quarry_status quarry_trace_end(quarry_trace *trace, struct quarry_trace_header *header);

/* Ends the recording and leaves no file.  NULL is a no-op. */
enum quarry_status quarry_trace_cancel(quarry_trace *trace);

/* ---- reading ---- */

/* A trace that was read. */
struct quarry_trace_file {
    struct quarry_trace_header header;
    struct quarry_trace_event *events; /* header.events of them, from malloc; NULL if there are none */
};

/* Reads a trace; path "-": from standard input.  FILE with a sentence that names the offset if the file is
 * damaged; MEMORY if it is too large.  After an error *file is all zero. */
enum quarry_status quarry_trace_read(struct quarry_trace_file *file, const char *path);

/* The same of a file that is in memory. */
enum quarry_status quarry_trace_parse(struct quarry_trace_file *file, const void *bytes, size_t size);

/* Frees the events.  *file may be all zero, and is so afterwards.  NULL is a no-op. */
void quarry_trace_free(struct quarry_trace_file *file);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
