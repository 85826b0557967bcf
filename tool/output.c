/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered and safe writing of a command's result; the contracts are in output.h. */
#include "output.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_BYTES 20         /* a 64-bit number in decimal */
#define BUFFER_BYTES (1u << 20) /* of a writer */

/* ---- writer ---- */

static void write_all(struct writer *writer, const unsigned char *bytes, size_t count)
{
    while (count > 0 && !writer->error) {
        ssize_t put = write(writer->descriptor, bytes, count);
        if (put > 0) {
            bytes += put;
            count -= (size_t)put;
        } else if (put < 0 && errno != EINTR) {
            writer->error = errno;
        }
    }
}

static void writer_flush(struct writer *writer)
{
    write_all(writer, writer->buffer, writer->used);
    writer->used = 0;
}

void writer_put(struct writer *writer, const void *bytes, size_t count)
{
    if (count == 0) /* bytes may be NULL */
        return;
    if (count > BUFFER_BYTES - writer->used)
        writer_flush(writer);
    if (count > BUFFER_BYTES) {
        write_all(writer, (const unsigned char *)bytes, count);
        return;
    }
    memcpy(writer->buffer + writer->used, bytes, count);
    writer->used += count;
}

void writer_number(struct writer *writer, uint64_t number)
{
    unsigned char text[NUMBER_BYTES];
    size_t at = sizeof text;
    do {
        text[--at] = (unsigned char)('0' + number % 10);
        number /= 10;
    } while (number);
    writer_put(writer, text + at, sizeof text - at);
}

static int write_to(int descriptor, const char *name, output_fill *fill, const void *context)
{
    unsigned char *buffer = (unsigned char *)malloc(BUFFER_BYTES);
    if (!buffer)
        return tool_error(TOOL_FAILED, "not enough memory to write");
    struct writer writer = {descriptor, 0, 0, buffer};
    int code = fill(&writer, context);
    if (code == 0)
        writer_flush(&writer);
    tool_progress_end();
    free(buffer);
    if (code == 0 && writer.error)
        code = tool_error(TOOL_FAILED, "%s: can't write: %s", name, strerror(writer.error));
    return code;
}

/* ---- files ---- */

/* The unfinished file, for the signal handler; empty: none.  It changes only while the signals are
 * blocked. */
static char unfinished[PATH_MAX];
static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

static void remove_unfinished(int number)
{
    if (unfinished[0])
        unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number);
}

static void block_signals(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++)
        sigaddset(&set, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* Signals that the caller ignores, such as SIGHUP under nohup, stay ignored. */
static void handle_signals(void)
{
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
        struct sigaction action;
        if (sigaction(ending_signals[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            action.sa_handler = remove_unfinished;
            sigaction(ending_signals[i], &action, NULL);
        }
    }
}

/* Where a path really leads, so that a symbolic link stays one.
 *   status  of what is there; st_mode 0: nothing
 * Returns memory from malloc, or NULL with errno set. */
static char *real_target(const char *path, struct stat *status)
{
    memset(status, 0, sizeof *status);
    if (stat(path, status) == 0)
        return realpath(path, NULL);
    struct stat link;
    if (errno != ENOENT)
        return NULL;
    if (lstat(path, &link) == 0) {
        errno = ENOENT; /* a link to nothing */
        return NULL;
    }
    return strdup(path);
}

static int fail_file(const char *path, const char *what)
{
    return tool_error(TOOL_FAILED, "%s: can't %s: %s", path, what, strerror(errno));
}

/* The mode that the file would have if it were opened and written as usual. */
static mode_t final_mode(const struct stat *before)
{
    if (before->st_mode)
        return before->st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int create_unfinished(const char *target, mode_t mode)
{
    sigset_t before;
    if (snprintf(unfinished, sizeof unfinished, "%s.XXXXXX", target) >= (int)sizeof unfinished) {
        unfinished[0] = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }
    handle_signals();
    block_signals(&before);
    int descriptor = mkostemp(unfinished, O_CLOEXEC);
    if (descriptor < 0)
        unfinished[0] = '\0';
    else if (fchmod(descriptor, mode) != 0)
        errno = 0; /* a file system without modes: the file is still as private as can be */
    sigprocmask(SIG_SETMASK, &before, NULL);
    return descriptor;
}

static void drop_unfinished(void)
{
    sigset_t before;
    block_signals(&before);
    unlink(unfinished);
    unfinished[0] = '\0';
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Renames, so that the name leads to the old content or to all of the new. */
static int finish(const char *target)
{
    sigset_t before;
    block_signals(&before);
    int result = rename(unfinished, target);
    if (result == 0)
        unfinished[0] = '\0';
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

static int write_beside(const char *path, const char *target, const struct stat *status, output_fill *fill,
                        const void *context)
{
    int descriptor = create_unfinished(target, final_mode(status));
    if (descriptor < 0)
        return fail_file(path, "create a file beside it");
    int code = write_to(descriptor, path, fill, context);
    if (close(descriptor) != 0 && code == 0)
        code = fail_file(path, "write");
    if (code == 0 && finish(target) != 0)
        code = fail_file(path, "rename the finished file");
    if (code)
        drop_unfinished();
    return code;
}

static int write_directly(const char *path, const char *target, output_fill *fill, const void *context)
{
    int descriptor = open(target, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail_file(path, "open");
    int code = write_to(descriptor, path, fill, context);
    if (close(descriptor) != 0 && code == 0)
        code = fail_file(path, "write");
    return code;
}

int output_check(const char *path)
{
    struct stat status;
    if (!path)
        return 0;
    if (!*path)
        return tool_error(TOOL_USAGE, "--output '': name a file");
    char *target = real_target(path, &status);
    if (!target)
        return fail_file(path, "be written");
    int code = 0;
    if (S_ISDIR(status.st_mode)) {
        code = tool_error(TOOL_FAILED, "%s: is a directory; name a file", path);
    } else if (status.st_mode && access(target, W_OK) != 0) {
        code = fail_file(path, "write");
    } else if (!status.st_mode || S_ISREG(status.st_mode)) {
        char *slash = strrchr(target, '/');
        if (slash)
            slash[slash == target] = '\0';
        if (access(slash ? target : ".", W_OK | X_OK) != 0)
            code = fail_file(path, "create a file in its directory");
    }
    free(target);
    return code;
}

int output_write(const char *path, output_fill *fill, const void *context)
{
    struct stat status;
    if (!path)
        return write_to(STDOUT_FILENO, "standard output", fill, context);
    char *target = real_target(path, &status);
    if (!target)
        return fail_file(path, "be written");
    int code;
    if (status.st_mode && !S_ISREG(status.st_mode))
        code = write_directly(path, target, fill, context);
    else
        code = write_beside(path, target, &status, fill, context);
    free(target);
    return code;
}
