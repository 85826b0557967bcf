/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the files of traces; trace_file.h has the format. */
#include "host/trace_file.h"

#include "host/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_EVENTS 2048u /* packed or unpacked at once */
#define BUFFER_BYTES (BUFFER_EVENTS * TRACE_EVENT_BYTES)

static const unsigned char magic[8] = {0x89, 'Q', 'T', 'R', 'A', 'C', 'E', '\n'};

/* Where the fields of a header lie. */
enum {
    AT_VERSION = 8,
    AT_CHECKSUM = 12,
    AT_EVENTS = 16,
    AT_BLOCKS = 24,
    AT_FAILED = 32,
    AT_LAUNCHES = 40,
    AT_LOST = 48,
    AT_UNMATCHED = 56,
    AT_POOL_BYTES = 64,
    AT_PAGE_BYTES = 72,
    AT_ALIGNMENT = 80,
    AT_LOW_FREE = 88,
    AT_FULL = 96,
    AT_DISTRIBUTION = 100,
    AT_OOM = 104,
    AT_OOM_TRIES = 108,
    AT_BACKEND = 112,
    AT_ALLOCATOR = 128,
    AT_DEVICE = 160,
    AT_OPTIONS = 224
};

/* ---- numbers ---- */

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_u64(const unsigned char *from)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static uint32_t get_u32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static uint32_t checksum(const unsigned char *header)
{
    return (uint32_t)crc32(0, header + AT_EVENTS, TRACE_HEADER_BYTES - AT_EVENTS);
}

/* ---- writing ---- */

struct trace_writer {
    FILE *file;
    z_stream stream;
    size_t used;
    unsigned char events[BUFFER_BYTES]; /* not yet packed */
    unsigned char packed[BUFFER_BYTES];
    char path[PATH_MAX];
    char unfinished[PATH_MAX];
};

static enum quarry_status fail_file(const char *path, const char *what)
{
    return quarry_fail(QUARRY_ERROR_FILE, "%s: can't %s: %s", path, what, strerror(errno));
}

/* The new file is as readable as one that is opened and written as usual. */
static void set_mode(int descriptor)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, 0666 & ~mask); /* a file system without modes: it is as private as can be */
}

static enum quarry_status open_file(struct trace_writer *w, const char *path)
{
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return quarry_fail(QUARRY_ERROR_FILE, "%s: not a regular file: a trace must be one", path);
    if (snprintf(w->path, sizeof w->path, "%s", path) >= (int)sizeof w->path ||
        snprintf(w->unfinished, sizeof w->unfinished, "%s.XXXXXX", path) >= (int)sizeof w->unfinished)
        return quarry_fail(QUARRY_ERROR_FILE, "the trace's path is too long");
    int descriptor = mkstemp(w->unfinished);
    if (descriptor < 0)
        return fail_file(path, "write");
    set_mode(descriptor);
    w->file = fdopen(descriptor, "wb");
    if (w->file)
        return QUARRY_OK;
    enum quarry_status status = fail_file(path, "write");
    close(descriptor);
    unlink(w->unfinished);
    return status;
}

enum quarry_status quarry_trace_writer_open(struct trace_writer **out, const char *path)
{
    static const unsigned char header[TRACE_HEADER_BYTES];
    struct trace_writer *w = (struct trace_writer *)calloc(1, sizeof *w);
    *out = NULL;
    if (!w || deflateInit(&w->stream, Z_DEFAULT_COMPRESSION) != Z_OK) {
        free(w);
        return quarry_fail(QUARRY_ERROR_MEMORY, "there is no memory to write a trace");
    }
    enum quarry_status status = open_file(w, path);
    if (status != QUARRY_OK) {
        deflateEnd(&w->stream);
        free(w);
        return status;
    }
    *out = w;
    if (fwrite(header, sizeof header, 1, w->file) == 1)
        return QUARRY_OK;
    status = fail_file(path, "write");
    quarry_trace_writer_close(w, NULL);
    *out = NULL;
    return status;
}

/* Packs what has been put. */
static enum quarry_status pack(struct trace_writer *w, int flush)
{
    w->stream.next_in = w->events;
    w->stream.avail_in = (uInt)w->used;
    w->used = 0;
    do {
        w->stream.next_out = w->packed;
        w->stream.avail_out = sizeof w->packed;
        (void)deflate(&w->stream, flush); /* its only errors are those of its caller */
        size_t packed = sizeof w->packed - w->stream.avail_out;
        if (packed && fwrite(w->packed, packed, 1, w->file) != 1)
            return fail_file(w->path, "write");
    } while (w->stream.avail_out == 0);
    return QUARRY_OK;
}

enum quarry_status quarry_trace_writer_put(struct trace_writer *w, const struct quarry_trace_event *event)
{
    unsigned char *at = w->events + w->used;
    put(at, event->launch, 4);
    put(at + 4, event->thread, 4);
    put(at + 8, event->kind, 4);
    put(at + 12, event->block, 4);
    put(at + 16, event->bytes, 8);
    w->used += TRACE_EVENT_BYTES;
    return w->used == sizeof w->events ? pack(w, Z_NO_FLUSH) : QUARRY_OK;
}

static void encode_header(unsigned char *to, const struct quarry_trace_header *header)
{
    uint64_t low_free;
    memcpy(&low_free, &header->low_free, sizeof low_free);
    memset(to, 0, TRACE_HEADER_BYTES);
    memcpy(to, magic, sizeof magic);
    put(to + AT_VERSION, QUARRY_TRACE_VERSION, 4);
    put(to + AT_EVENTS, header->events, 8);
    put(to + AT_BLOCKS, header->blocks, 8);
    put(to + AT_FAILED, header->failed, 8);
    put(to + AT_LAUNCHES, header->launches, 8);
    put(to + AT_LOST, header->lost, 8);
    put(to + AT_UNMATCHED, header->unmatched, 8);
    put(to + AT_POOL_BYTES, header->pool_bytes, 8);
    put(to + AT_PAGE_BYTES, header->page_bytes, 8);
    put(to + AT_ALIGNMENT, header->alignment, 8);
    put(to + AT_FULL, (uint64_t)header->full, 4);
    put(to + AT_LOW_FREE, low_free, 8);
    put(to + AT_DISTRIBUTION, (uint64_t)header->distribution, 4);
    put(to + AT_OOM, (uint64_t)header->oom, 4);
    put(to + AT_OOM_TRIES, header->oom_tries, 4);
    put(to + AT_BACKEND, (uint64_t)header->backend, 4);
    memcpy(to + AT_ALLOCATOR, header->allocator, strnlen(header->allocator, sizeof header->allocator - 1));
    memcpy(to + AT_DEVICE, header->device, strnlen(header->device, sizeof header->device - 1));
    memcpy(to + AT_OPTIONS, header->options, strnlen(header->options, sizeof header->options - 1));
    put(to + AT_CHECKSUM, checksum(to), 4);
}

static enum quarry_status finish(struct trace_writer *w, const struct quarry_trace_header *header)
{
    unsigned char bytes[TRACE_HEADER_BYTES];
    encode_header(bytes, header);
    enum quarry_status status = pack(w, Z_FINISH);
    if (status != QUARRY_OK)
        return status;
    if (fseek(w->file, 0, SEEK_SET) != 0 || fwrite(bytes, sizeof bytes, 1, w->file) != 1 ||
        fflush(w->file) != 0 || rename(w->unfinished, w->path) != 0)
        return fail_file(w->path, "write");
    return QUARRY_OK;
}

enum quarry_status quarry_trace_writer_close(struct trace_writer *w, const struct quarry_trace_header *header)
{
    enum quarry_status status = header ? finish(w, header) : QUARRY_OK;
    deflateEnd(&w->stream);
    fclose(w->file);
    if (!header || status != QUARRY_OK)
        unlink(w->unfinished);
    free(w);
    return status;
}

/* ---- reading ---- */

/* A parse under way. */
struct reader {
    struct quarry_trace_file *file;
    unsigned char *live; /* of each block so far */
    uint64_t events;
    uint64_t blocks;
    uint64_t failed;
    uint64_t
        events_room; /* events and blocks that memory was taken for: never by what the header says alone */
    uint64_t blocks_room;
};

/* Copies a text that must end before its field does, and has no control characters: it will be printed. */
static enum quarry_status get_text(char *to, const unsigned char *header, unsigned at, unsigned bytes)
{
    if (header[at + bytes - 1] != 0)
        return quarry_fail(QUARRY_ERROR_FILE, "byte %u: a text of %u bytes does not end", at, bytes);
    for (unsigned i = at; header[i] != 0; i++)
        if (header[i] < ' ' || header[i] == 0x7f)
            return quarry_fail(QUARRY_ERROR_FILE, "byte %u: a text has a control character", i);
    memcpy(to, header + at, bytes);
    return QUARRY_OK;
}

/* A field that is one of the numbers from `least` to `most`. */
static enum quarry_status check_range(const unsigned char *header, unsigned at, const char *name,
                                      uint32_t least, uint32_t most)
{
    uint32_t value = get_u32(header + at);
    if (value >= least && value <= most)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_FILE, "byte %u: %s is %" PRIu32 ", and must be %" PRIu32 " to %" PRIu32,
                       at, name, value, least, most);
}

static enum quarry_status decode_header(struct quarry_trace_header *header, const unsigned char *from)
{
    uint64_t low_free = get_u64(from + AT_LOW_FREE);
    enum quarry_status status = check_range(from, AT_FULL, "full", 0, QUARRY_FULL_INFERRED);
    if (status == QUARRY_OK)
        status = check_range(from, AT_DISTRIBUTION, "distribution", 0, QUARRY_DISTRIBUTION_WARP);
    if (status == QUARRY_OK)
        status = check_range(from, AT_OOM, "oom", 0, QUARRY_OOM_CALL);
    if (status == QUARRY_OK)
        status = check_range(from, AT_BACKEND, "backend", QUARRY_BACKEND_CUDA, QUARRY_BACKEND_CPU);
    if (status == QUARRY_OK)
        status = get_text(header->allocator, from, AT_ALLOCATOR, sizeof header->allocator);
    if (status == QUARRY_OK)
        status = get_text(header->device, from, AT_DEVICE, sizeof header->device);
    if (status == QUARRY_OK)
        status = get_text(header->options, from, AT_OPTIONS, sizeof header->options);
    for (unsigned at = AT_BACKEND + 4; at < AT_ALLOCATOR && status == QUARRY_OK; at++)
        if (from[at] != 0)
            status = quarry_fail(QUARRY_ERROR_FILE, "byte %u: it must be 0", at);
    header->events = get_u64(from + AT_EVENTS);
    header->blocks = get_u64(from + AT_BLOCKS);
    header->failed = get_u64(from + AT_FAILED);
    header->launches = get_u64(from + AT_LAUNCHES);
    header->lost = get_u64(from + AT_LOST);
    header->unmatched = get_u64(from + AT_UNMATCHED);
    header->pool_bytes = get_u64(from + AT_POOL_BYTES);
    header->page_bytes = get_u64(from + AT_PAGE_BYTES);
    header->alignment = get_u64(from + AT_ALIGNMENT);
    header->full = (enum quarry_full)get_u32(from + AT_FULL);
    memcpy(&header->low_free, &low_free, sizeof low_free);
    header->distribution = (enum quarry_distribution)get_u32(from + AT_DISTRIBUTION);
    header->oom = (enum quarry_oom)get_u32(from + AT_OOM);
    header->oom_tries = get_u32(from + AT_OOM_TRIES);
    header->backend = (enum quarry_backend)get_u32(from + AT_BACKEND);
    if (status == QUARRY_OK && header->events > UINT32_MAX)
        status = quarry_fail(QUARRY_ERROR_FILE, "byte %u: a trace has at most %" PRIu32 " events", AT_EVENTS,
                             UINT32_MAX);
    return status;
}

static enum quarry_status parse_header(struct quarry_trace_header *header, const unsigned char *bytes,
                                       size_t size)
{
    if (size > 0 && memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) != 0)
        return quarry_fail(QUARRY_ERROR_FILE, "byte 0: this is no trace of Quarry");
    if (size >= AT_VERSION + 4 && get_u32(bytes + AT_VERSION) != QUARRY_TRACE_VERSION)
        return quarry_fail(QUARRY_ERROR_FILE,
                           "byte %u: the trace has version %" PRIu32 ", and this Quarry reads %u", AT_VERSION,
                           get_u32(bytes + AT_VERSION), QUARRY_TRACE_VERSION);
    if (size < TRACE_HEADER_BYTES)
        return quarry_fail(QUARRY_ERROR_FILE, "byte %zu: the file ends in its header of %u bytes", size,
                           TRACE_HEADER_BYTES);
    if (get_u32(bytes + AT_CHECKSUM) != checksum(bytes))
        return quarry_fail(QUARRY_ERROR_FILE,
                           "byte %u: the header is damaged: its checksum is %08" PRIx32
                           ", and not %08" PRIx32,
                           AT_CHECKSUM, checksum(bytes), get_u32(bytes + AT_CHECKSUM));
    return decode_header(header, bytes);
}

/* Makes room for one more element; memory doubles as it fills up. */
static int grow(void **memory, uint64_t *room, uint64_t used, size_t bytes)
{
    if (used < *room)
        return 1;
    uint64_t more = *room ? 2 * *room : BUFFER_EVENTS;
    void *larger = realloc(*memory, more * bytes);
    if (!larger)
        return 0;
    *memory = larger;
    *room = more;
    return 1;
}

static enum quarry_status fail_event(const struct reader *r, const char *what)
{
    return quarry_fail(QUARRY_ERROR_FILE, "byte %" PRIu64 " of the events as unpacked: event %" PRIu64 " %s",
                       r->events * TRACE_EVENT_BYTES, r->events, what);
}

static enum quarry_status check_event(struct reader *r, const struct quarry_trace_event *event)
{
    const struct quarry_trace_header *header = &r->file->header;
    const uint32_t before = r->events ? r->file->events[r->events - 1].launch : 0;
    if (r->events == header->events)
        return fail_event(r, "is one more than the header says");
    if (event->launch < before || event->launch >= header->launches)
        return fail_event(r, "is of a launch that is past or does not exist");
    if (event->kind > QUARRY_TRACE_FAILED)
        return fail_event(r, "is neither a malloc nor a free");
    if ((event->bytes == 0) != (event->kind == QUARRY_TRACE_FREE))
        return fail_event(r, event->bytes ? "is a free of a given size" : "is a malloc of 0 bytes");
    if (event->kind == QUARRY_TRACE_MALLOC && event->block != r->blocks)
        return fail_event(r, "is a malloc of a block that is not the next");
    if (event->kind == QUARRY_TRACE_FREE && (event->block >= r->blocks || !r->live[event->block]))
        return fail_event(r, "is a free of a block that is not live");
    if (event->kind == QUARRY_TRACE_FAILED && event->block != UINT32_MAX)
        return fail_event(r, "is a malloc that failed and has a block");
    return QUARRY_OK;
}

static enum quarry_status take_event(struct reader *r, const unsigned char *from)
{
    const struct quarry_trace_event event = {get_u32(from), get_u32(from + 4), get_u32(from + 8),
                                             get_u32(from + 12), get_u64(from + 16)};
    enum quarry_status status = check_event(r, &event);
    if (status != QUARRY_OK)
        return status;
    if (!grow((void **)&r->file->events, &r->events_room, r->events, sizeof event) ||
        !grow((void **)&r->live, &r->blocks_room, r->blocks, sizeof *r->live))
        return quarry_fail(QUARRY_ERROR_MEMORY, "there is no memory for the %" PRIu64 " events of the trace",
                           r->file->header.events);
    r->file->events[r->events++] = event;
    if (event.kind == QUARRY_TRACE_MALLOC)
        r->live[r->blocks++] = 1;
    else if (event.kind == QUARRY_TRACE_FREE)
        r->live[event.block] = 0;
    else
        r->failed++;
    return QUARRY_OK;
}

/* After the last event. */
static enum quarry_status check_counts(const struct reader *r)
{
    const struct quarry_trace_header *header = &r->file->header;
    const uint64_t launches = r->events ? r->file->events[r->events - 1].launch + UINT64_C(1) : 0;
    const struct {
        unsigned at;
        const char *name;
        uint64_t said;
        uint64_t found;
    } counts[] = {{AT_EVENTS, "events", header->events, r->events},
                  {AT_BLOCKS, "blocks", header->blocks, r->blocks},
                  {AT_FAILED, "mallocs that failed", header->failed, r->failed},
                  {AT_LAUNCHES, "launches", header->launches, launches}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].said != counts[i].found)
            return quarry_fail(QUARRY_ERROR_FILE,
                               "byte %u: the header says %" PRIu64 " %s, and the trace has %" PRIu64,
                               counts[i].at, counts[i].said, counts[i].name, counts[i].found);
    return QUARRY_OK;
}

static enum quarry_status unpack(struct reader *r, z_stream *stream, size_t size)
{
    unsigned char events[BUFFER_BYTES];
    size_t used = 0; /* the beginning of an event that has not ended */
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        stream->next_out = events + used;
        stream->avail_out = (uInt)(sizeof events - used);
        result = inflate(stream, Z_NO_FLUSH);
        const size_t at = size - stream->avail_in;
        if (result == Z_BUF_ERROR)
            return quarry_fail(QUARRY_ERROR_FILE, "byte %zu: the file ends in its compressed events", at);
        if (result != Z_OK && result != Z_STREAM_END)
            return quarry_fail(result == Z_MEM_ERROR ? QUARRY_ERROR_MEMORY : QUARRY_ERROR_FILE,
                               "byte %zu: the compressed events are damaged (%s)", at,
                               stream->msg ? stream->msg : "no such stream");
        const size_t end = sizeof events - stream->avail_out;
        for (used = 0; end - used >= TRACE_EVENT_BYTES; used += TRACE_EVENT_BYTES) {
            enum quarry_status status = take_event(r, events + used);
            if (status != QUARRY_OK)
                return status;
        }
        memmove(events, events + used, end - used);
        used = end - used;
    }
    if (used)
        return fail_event(r, "is cut off");
    if (stream->avail_in)
        return quarry_fail(QUARRY_ERROR_FILE, "byte %zu: %u bytes follow the end of the events",
                           size - stream->avail_in, stream->avail_in);
    return check_counts(r);
}

enum quarry_status quarry_trace_parse(struct quarry_trace_file *file, const void *bytes, size_t size)
{
    if (!file || (!bytes && size))
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", file ? "bytes" : "file");
    struct reader reader = {file, NULL, 0, 0, 0, 0, 0};
    z_stream stream;
    memset(file, 0, sizeof *file);
    memset(&stream, 0, sizeof stream);
    enum quarry_status status = parse_header(&file->header, (const unsigned char *)bytes, size);
    if (status == QUARRY_OK && size > UINT_MAX)
        status = quarry_fail(QUARRY_ERROR_FILE, "byte %u: a trace's file has less than 4 GiB", UINT_MAX);
    if (status == QUARRY_OK && inflateInit(&stream) != Z_OK)
        status = quarry_fail(QUARRY_ERROR_MEMORY, "there is no memory to read a trace");
    if (status == QUARRY_OK) {
        stream.next_in = (unsigned char *)(uintptr_t)bytes + TRACE_HEADER_BYTES; /* which zlib only reads */
        stream.avail_in = (uInt)(size - TRACE_HEADER_BYTES);
        status = unpack(&reader, &stream, size);
        inflateEnd(&stream);
    }
    free(reader.live);
    if (status != QUARRY_OK)
        quarry_trace_free(file);
    return status;
}

/* May so many bytes be the beginning of a trace?  A pipe that has something else may never end. */
static int begins_trace(const unsigned char *bytes, size_t size)
{
    return size <= UINT_MAX && (size < sizeof magic || memcmp(bytes, magic, sizeof magic) == 0);
}

/* Reads all of a file, NULL: of standard input, into memory from malloc, or as much as shows that it is no trace.
 * Returns 0, or an error number. */
static int read_all(const char *path, unsigned char **bytes, size_t *size)
{
    FILE *file = path ? fopen(path, "rb") : stdin;
    size_t room = 0;
    int error = 0;
    if (!file)
        return errno;
    while (!error && begins_trace(*bytes, *size)) {
        if (*size == room) {
            unsigned char *larger = (unsigned char *)realloc(*bytes, room = room ? 2 * room : 1u << 16);
            error = larger ? 0 : ENOMEM;
            *bytes = larger ? larger : *bytes;
            continue;
        }
        errno = 0;
        size_t got = fread(*bytes + *size, 1, room - *size, file);
        *size += got;
        if (got == 0) {
            error = ferror(file) ? errno : 0;
            break;
        }
    }
    if (path)
        fclose(file);
    return error;
}

enum quarry_status quarry_trace_read(struct quarry_trace_file *file, const char *path)
{
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!file || !path)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", file ? "path" : "file");
    memset(file, 0, sizeof *file);
    const int is_input = strcmp(path, "-") == 0;
    const int error = read_all(is_input ? NULL : path, &bytes, &size);
    enum quarry_status status;
    if (is_input)
        path = "standard input";
    if (error) {
        status = quarry_fail(QUARRY_ERROR_FILE, "%s: can't read: %s", path, strerror(error));
    } else {
        status = quarry_trace_parse(file, bytes, size);
        if (status != QUARRY_OK)
            status = quarry_fail(status, "%s: %s", path, quarry_error_detail());
    }
    free(bytes);
    return status;
}

void quarry_trace_free(struct quarry_trace_file *file)
{
    if (!file)
        return;
    free(file->events);
    memset(file, 0, sizeof *file);
}
