/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of traces under libFuzzer: no input may crash it, leak, or pass without fitting together.
 *
 * An input is a file; or, since no mutation gets past a checksum and a packer, what is put into one: if its
 * first byte is not that of a trace, the 496 bytes of header behind the checksum and then events, which are
 * signed and packed here. */
#include "quarry/trace.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define HEADER 512u
#define BODY 16u
#define MOST 16384u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What every trace that was read promises. */
static void look(const struct quarry_trace_file *file)
{
    uint64_t blocks = 0, frees = 0, failed = 0;
    for (uint64_t i = 0; i < file->header.events; i++) {
        const struct quarry_trace_event *event = &file->events[i];
        blocks += event->kind == QUARRY_TRACE_MALLOC;
        frees += event->kind == QUARRY_TRACE_FREE;
        failed += event->kind == QUARRY_TRACE_FAILED;
        if (event->kind == QUARRY_TRACE_FREE && event->block >= blocks)
            abort();
    }
    if (blocks != file->header.blocks || failed != file->header.failed || frees > blocks ||
        blocks + frees + failed != file->header.events)
        abort();
}

static void parse(const uint8_t *bytes, size_t size)
{
    struct quarry_trace_file file;
    if (quarry_trace_parse(&file, bytes, size) == QUARRY_OK)
        look(&file);
    else if (file.events || !*quarry_error_detail())
        abort();
    quarry_trace_free(&file);
}

static void wrap(const uint8_t *bytes, size_t size)
{
    static uint8_t file[HEADER + MOST + 64];
    const size_t body = HEADER - BODY;
    const size_t events = size > body ? size - body : 0;
    uLongf packed = sizeof file - HEADER;
    if (events > MOST)
        return;
    memset(file, 0, HEADER);
    memcpy(file, "\211QTRACE\n\2", 9);
    memcpy(file + BODY, bytes, size < body ? size : body);
    const uint32_t checksum = (uint32_t)crc32(0, file + BODY, (uInt)body);
    for (unsigned i = 0; i < 4; i++)
        file[12 + i] = (uint8_t)(checksum >> (8 * i));
    if (compress2(file + HEADER, &packed, bytes + (events ? body : 0), events, 0) == Z_OK)
        parse(file, HEADER + packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    parse(bytes, size);
    if (size && bytes[0] != 0x89)
        wrap(bytes, size);
    return 0;
}
