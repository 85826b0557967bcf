/* SPDX-License-Identifier: Apache-2.0 */
/* Reads plain and gzip files.  Two bytes decide which.
 *
 * zlib's gzread would read both as well, but it drops whatever follows the first gzip member that it
 * can't read: a damaged second member would give a shorter file and a wrong count.  So the members are
 * walked here, and after one only another, or zeros up to the end (tape padding, as gzip allows), may
 * come. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define INPUT_PORTION (1u << 20) /* bytes, of either buffer */
#define GZIP_WINDOW (15 + 16)    /* inflateInit2: the largest window, gzip framing */
#define GZIP_MAGIC_0 0x1f
#define GZIP_MAGIC_1 0x8b

enum input_kind { INPUT_PLAIN, INPUT_GZIP };

struct input {
    int descriptor;
    enum input_kind kind;
    int between;   /* gzip: a member has ended, no other has begun */
    int padding;   /* gzip: zeros after the last member have begun */
    uint64_t size; /* bytes of the file; 0: unknown */
    uint64_t taken;
    uint64_t held; /* plain: bytes in raw that are still to be handed out */
    z_stream zlib;
    unsigned char *raw;      /* as read */
    unsigned char *inflated; /* gzip only */
};

/* Reads once, past interruptions. */
static int64_t read_some(struct input *input, unsigned char *to, size_t bytes, const char **problem)
{
    ssize_t got;
    do {
        got = read(input->descriptor, to, bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        *problem = errno == EISDIR ? "is a directory; name a file" : strerror(errno);
    else
        input->taken += (uint64_t)got;
    return got;
}

/* Fills the start of raw, so that the kind can be told: a pipe may give single bytes. */
static int look(struct input *input, const char **problem)
{
    while (input->held < 2) {
        int64_t got = read_some(input, input->raw + input->held, INPUT_PORTION - input->held, problem);
        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        input->held += (uint64_t)got;
    }
    if (input->raw[0] != GZIP_MAGIC_0 || input->raw[1] != GZIP_MAGIC_1)
        return 0;
    input->inflated = (unsigned char *)malloc(INPUT_PORTION);
    if (!input->inflated || inflateInit2(&input->zlib, GZIP_WINDOW) != Z_OK) {
        *problem = strerror(ENOMEM);
        return -1;
    }
    input->kind = INPUT_GZIP;
    input->zlib.next_in = input->raw;
    input->zlib.avail_in = (uInt)input->held;
    return 0;
}

struct input *input_open(const char *path, const char **problem)
{
    struct input *input = (struct input *)calloc(1, sizeof *input);
    if (!input) {
        *problem = strerror(ENOMEM);
        return NULL;
    }
    input->raw = (unsigned char *)malloc(INPUT_PORTION);
    input->descriptor = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (!input->raw) {
        *problem = strerror(ENOMEM);
    } else if (input->descriptor < 0 || fstat(input->descriptor, &status) != 0) {
        *problem = errno == ENOENT ? "no such file" : strerror(errno);
    } else {
        if (S_ISREG(status.st_mode) && status.st_size > 0)
            input->size = (uint64_t)status.st_size;
        if (look(input, problem) == 0)
            return input;
    }
    input_close(input);
    return NULL;
}

/* Between members: decides what the next byte begins.  Returns 1 if a member does, 0 to look again. */
static int next_member(struct input *input, const char **problem)
{
    unsigned char byte = *input->zlib.next_in;
    if (byte == 0) {
        input->padding = 1;
        input->zlib.next_in++;
        input->zlib.avail_in--;
        return 0;
    }
    if (input->padding || byte != GZIP_MAGIC_0 || inflateReset(&input->zlib) != Z_OK) {
        *problem = "something that is not gzip follows the gzip data; decompress the file and use that";
        return -1;
    }
    input->between = 0;
    return 1;
}

static int64_t next_inflated(struct input *input, const unsigned char **bytes, const char **problem)
{
    z_stream *zlib = &input->zlib;
    *bytes = input->inflated;
    for (;;) {
        if (zlib->avail_in == 0) {
            int64_t got = read_some(input, input->raw, INPUT_PORTION, problem);
            if (got < 0)
                return -1;
            if (got == 0) {
                if (input->between)
                    return 0;
                *problem = "the gzip data ends too early: the file is truncated; get a complete copy";
                return -1;
            }
            zlib->next_in = input->raw;
            zlib->avail_in = (uInt)got;
        }
        if (input->between) {
            int begins = next_member(input, problem);
            if (begins < 0)
                return -1;
            if (begins == 0)
                continue;
        }
        zlib->next_out = input->inflated;
        zlib->avail_out = INPUT_PORTION;
        int result = inflate(zlib, Z_NO_FLUSH);
        if (result == Z_STREAM_END) {
            input->between = 1;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            *problem = "the gzip data is damaged; get a complete copy of the file";
            return -1;
        }
        if (zlib->avail_out != INPUT_PORTION)
            return (int64_t)(INPUT_PORTION - zlib->avail_out);
    }
}

int64_t input_next(struct input *input, const unsigned char **bytes, const char **problem)
{
    if (input->kind == INPUT_GZIP)
        return next_inflated(input, bytes, problem);
    int64_t got = (int64_t)input->held;
    if (got == 0)
        got = read_some(input, input->raw, INPUT_PORTION, problem);
    input->held = 0;
    *bytes = input->raw;
    return got;
}

double input_share(const struct input *input)
{
    if (input->size == 0)
        return -1.0;
    return input->taken >= input->size ? 1.0 : (double)input->taken / (double)input->size;
}

void input_close(struct input *input)
{
    if (!input)
        return;
    if (input->kind == INPUT_GZIP)
        inflateEnd(&input->zlib);
    if (input->descriptor > STDIN_FILENO)
        close(input->descriptor);
    free(input->inflated);
    free(input->raw);
    free(input);
}
