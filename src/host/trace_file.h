/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a trace: 512 bytes of header and a zlib stream (RFC 1950) of events of 24 bytes; all numbers
 * little-endian.
 *
 *       0    8  "\211QTRACE\n"                 88    8  low_free, IEEE 754
 *       8    4  version                        96    4  full
 *      12    4  CRC-32 of bytes 16 to 511     100    4  distribution
 *      16    8  events                        104    4  oom
 *      24    8  blocks                        108    4  oom_tries
 *      32    8  failed                        112    4  backend
 *      40    8  launches                      116   12  0
 *      48    8  lost                          128   32  allocator, filled up with 0
 *      56    8  unmatched                     160   64  device, filled up with 0
 *      64    8  pool_bytes                    224  288  options, filled up with 0
 *      72    8  page_bytes                    512       the events
 *      80    8  alignment
 *                                             An event: launch 4, thread 4, kind 4, block 4, bytes 8
 */
#ifndef QUARRY_HOST_TRACE_FILE_H
#define QUARRY_HOST_TRACE_FILE_H

#include "quarry/trace.h"

#define TRACE_HEADER_BYTES 512u
#define TRACE_EVENT_BYTES 24u

/* A file under way, beside the one that it will replace. */
struct trace_writer;

/* FILE, with a sentence, if there can be no such file. */
enum quarry_status quarry_trace_writer_open(struct trace_writer **out, const char *path);

enum quarry_status quarry_trace_writer_put(struct trace_writer *writer,
                                           const struct quarry_trace_event *event);

/* Finishes the file and gives it its name; or, with NULL, drops it.  Frees the writer. */
enum quarry_status quarry_trace_writer_close(struct trace_writer *writer,
                                             const struct quarry_trace_header *header);

#endif
