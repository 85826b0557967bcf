/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering, formatting and safe writing of the groups. */
#include "groupby_output.h"

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

#define NUMBER_BYTES 24         /* a 64-bit number in decimal, and its separator */
#define BUFFER_BYTES (1u << 20) /* of a writer */

/* ---- a buffered writer that remembers the first error ---- */

struct writer {
    int descriptor;
    int error; /* errno of the first failure; 0: none */
    size_t used;
    unsigned char *buffer;
};

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

static void writer_put(struct writer *writer, const unsigned char *bytes, size_t count)
{
    if (count == 0) /* bytes may be NULL */
        return;
    if (count > BUFFER_BYTES - writer->used)
        writer_flush(writer);
    if (count > BUFFER_BYTES) {
        write_all(writer, bytes, count);
        return;
    }
    memcpy(writer->buffer + writer->used, bytes, count);
    writer->used += count;
}

static void writer_number(struct writer *writer, char before, uint64_t number)
{
    unsigned char text[NUMBER_BYTES];
    size_t at = sizeof text;
    do {
        text[--at] = (unsigned char)('0' + number % 10);
        number /= 10;
    } while (number);
    text[--at] = (unsigned char)before;
    writer_put(writer, text + at, sizeof text - at);
}

/* ---- order ---- */

struct ordering {
    const struct rows *rows;
    const struct groupby_result *result;
};

static const unsigned char *group_key(const struct ordering *ordering, uint32_t group, uint64_t *bytes)
{
    uint32_t row = ordering->result->group_rows[group];
    uint64_t begin = ordering->rows->offsets[row];
    *bytes = ordering->rows->offsets[row + 1] - begin;
    return ordering->rows->keys + begin;
}

static int compare_groups(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = (const struct ordering *)context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    const uint32_t *counts = ordering->result->group_counts;
    if (counts[a] != counts[b])
        return counts[a] > counts[b] ? -1 : 1;
    uint64_t bytes_a;
    uint64_t bytes_b;
    const unsigned char *key_a = group_key(ordering, a, &bytes_a);
    const unsigned char *key_b = group_key(ordering, b, &bytes_b);
    int order = memcmp(key_a, key_b, bytes_a < bytes_b ? bytes_a : bytes_b);
    if (order)
        return order;
    return (bytes_a > bytes_b) - (bytes_a < bytes_b);
}

/* The groups in the order of --top, or NULL without memory. */
static uint32_t *order_groups(const struct ordering *ordering)
{
    uint64_t groups = ordering->result->groups;
    uint32_t *order = (uint32_t *)malloc((groups + 1) * sizeof *order);
    if (!order)
        return NULL;
    for (uint64_t group = 0; group < groups; group++)
        order[group] = (uint32_t)group;
    qsort_r(order, groups, sizeof *order, compare_groups, (void *)(uintptr_t)ordering);
    return order;
}

/* Counting sort: the rows of group g, ascending, are sorted[starts[g]] up to sorted[starts[g + 1]]. */
static int sort_rows(const struct rows *rows, const struct groupby_result *result, uint64_t **starts,
                     uint32_t **sorted)
{
    uint64_t groups = result->groups;
    uint64_t *next = (uint64_t *)calloc(groups + 2, sizeof *next);
    *sorted = (uint32_t *)calloc(rows->count + 1, sizeof **sorted);
    *starts = next;
    if (!next || !*sorted)
        return -1;
    /* next[g + 1] is where group g's next row goes, and in the end where group g + 1 begins. */
    for (uint64_t group = 0; group + 1 < groups; group++)
        next[group + 2] = next[group + 1] + result->group_counts[group];
    for (uint64_t row = 0; row < rows->count; row++)
        (*sorted)[next[result->group_of_row[row] + 1]++] = (uint32_t)row;
    return 0;
}

/* ---- lines ---- */

static int write_lines(struct writer *writer, const struct rows *rows, const struct groupby_result *result,
                       const struct output_options *options)
{
    struct ordering ordering = {rows, result};
    uint32_t *order = NULL;
    uint64_t *starts = NULL;
    uint32_t *sorted = NULL;
    int ready = (!options->top || (order = order_groups(&ordering)) != NULL) &&
                (!options->with_rows || sort_rows(rows, result, &starts, &sorted) == 0);
    uint64_t lines = options->top && options->top < result->groups ? options->top : result->groups;
    for (uint64_t line = 0; ready && line < lines && !writer->error; line++) {
        uint32_t group = order ? order[line] : (uint32_t)line;
        uint64_t bytes;
        const unsigned char *key = group_key(&ordering, group, &bytes);
        writer_put(writer, key, bytes);
        writer_number(writer, '\t', result->group_counts[group]);
        for (uint64_t i = 0; options->with_rows && i < result->group_counts[group]; i++)
            writer_number(writer, i ? ',' : '\t', (uint64_t)sorted[starts[group] + i] + 1);
        writer_put(writer, (const unsigned char *)"\n", 1);
        if (line % 65536 == 0)
            tool_progress("writing", (double)line / (double)lines);
    }
    writer_flush(writer);
    tool_progress_end();
    free(order);
    free(starts);
    free(sorted);
    return ready ? 0 : tool_error(TOOL_FAILED, "not enough memory to order the groups");
}

static int write_to(int descriptor, const char *name, const struct rows *rows,
                    const struct groupby_result *result, const struct output_options *options)
{
    unsigned char *buffer = (unsigned char *)malloc(BUFFER_BYTES);
    if (!buffer)
        return tool_error(TOOL_FAILED, "not enough memory to write the groups");
    struct writer writer = {descriptor, 0, 0, buffer};
    int code = write_lines(&writer, rows, result, options);
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

static int write_beside(const char *target, const struct stat *status, const struct rows *rows,
                        const struct groupby_result *result, const struct output_options *options)
{
    int descriptor = create_unfinished(target, final_mode(status));
    if (descriptor < 0)
        return fail_file(options->path, "create a file beside it");
    int code = write_to(descriptor, options->path, rows, result, options);
    if (close(descriptor) != 0 && code == 0)
        code = fail_file(options->path, "write");
    if (code == 0 && finish(target) != 0)
        code = fail_file(options->path, "rename the finished file");
    if (code)
        drop_unfinished();
    return code;
}

static int write_directly(const char *target, const struct rows *rows, const struct groupby_result *result,
                          const struct output_options *options)
{
    int descriptor = open(target, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail_file(options->path, "open");
    int code = write_to(descriptor, options->path, rows, result, options);
    if (close(descriptor) != 0 && code == 0)
        code = fail_file(options->path, "write");
    return code;
}

int output_check(const struct output_options *options)
{
    struct stat status;
    if (!options->path)
        return 0;
    if (!*options->path)
        return tool_error(TOOL_USAGE, "--output '': name a file");
    char *target = real_target(options->path, &status);
    if (!target)
        return fail_file(options->path, "be written");
    int code = 0;
    if (S_ISDIR(status.st_mode)) {
        code = tool_error(TOOL_FAILED, "%s: is a directory; name a file", options->path);
    } else if (status.st_mode && access(target, W_OK) != 0) {
        code = fail_file(options->path, "write");
    } else if (!status.st_mode || S_ISREG(status.st_mode)) {
        char *slash = strrchr(target, '/');
        if (slash)
            slash[slash == target] = '\0';
        if (access(slash ? target : ".", W_OK | X_OK) != 0)
            code = fail_file(options->path, "create a file in its directory");
    }
    free(target);
    return code;
}

int output_write(const struct rows *rows, const struct groupby_result *result,
                 const struct output_options *options)
{
    struct stat status;
    if (!options->path)
        return write_to(STDOUT_FILENO, "standard output", rows, result, options);
    char *target = real_target(options->path, &status);
    if (!target)
        return fail_file(options->path, "be written");
    int code;
    if (status.st_mode && !S_ISREG(status.st_mode))
        code = write_directly(target, rows, result, options);
    else
        code = write_beside(target, &status, rows, result, options);
    free(target);
    return code;
}
