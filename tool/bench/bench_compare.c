/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry bench --compare A.csv B.csv`: the ratios of what both have. */
#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0.1

enum { MAX_COLUMNS = 128, MAX_KEY = 256 };

/* What makes two results comparable.  Not options of the heap: their effect may be what is looked for. */
static const char *const key_columns[] = {"test",    "op",           "backend", "allocator",
                                          "threads", "bytes_least",  "draw",    "bytes",
                                          "lanes",   "free_percent", "rounds"};
enum { KEYS = sizeof key_columns / sizeof *key_columns };

/* What a value is made of. */
enum { STATUS, MEDIAN, Q1, Q3, ASKED, UTILISATION, RANGE, REGISTERS, VALUES };
static const char *const value_columns[VALUES] = {"status",      "median_us",   "q1_us",       "q3_us",
                                                  "asked_bytes", "utilisation", "range_bytes", "registers"};

struct result {
    char key[MAX_KEY]; /* its columns, separated by spaces */
    unsigned line;
    int ok;
    enum bench_kind kind;
    /* of bench_measures[kind]; NaN: none */
    double value;
    double least; /* quartiles */
    double most;
};

struct results {
    const char *path;
    unsigned line; /* that is read */
    unsigned columns;
    int keys[KEYS]; /* columns */
    int values[VALUES];
    struct result *list;
    size_t count, room;
};

/* Cuts a line of CSV (RFC 4180, without line breaks in quotes) into its values, in place.  Returns how many,
 * or -1 if a quote is wrong. */
static int cut(char *line, char **values)
{
    int count = 0;
    for (char *at = line;;) {
        char *to = at;
        if (count == MAX_COLUMNS)
            return -1;
        values[count++] = to;
        if (*at == '"') {
            for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
                at += *at == '"';
                *to++ = *at;
            }
            if (*at++ != '"' || (*at && *at != ','))
                return -1;
        } else {
            at += strcspn(at, ",");
            to = at;
        }
        const int more = *at == ',';
        *to = '\0';
        if (!more)
            return count;
        at++;
    }
}

static int bad_line(const struct results *results, const char *what, const char *which)
{
    return tool_error(TOOL_FAILED, "%s: line %u: %s%s%s%s", results->path, results->line, what,
                      which ? " '" : "", which ? which : "", which ? "'" : "");
}

static int find_columns(const struct results *results, char *const *names, const char *const *wanted,
                        unsigned count, int *columns)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned at = 0;
        while (at < results->columns && strcmp(names[at], wanted[i]) != 0)
            at++;
        if (at == results->columns)
            return bad_line(results, "there is no column", wanted[i]);
        columns[i] = (int)at;
    }
    return TOOL_OK;
}

static int read_header(struct results *results, char *const *names)
{
    const int code = find_columns(results, names, key_columns, KEYS, results->keys);
    return code == TOOL_OK ? find_columns(results, names, value_columns, VALUES, results->values) : code;
}

/* NaN if it is empty. */
static int read_number(const struct results *results, const char *text, double *number)
{
    char *end;
    *number = *text ? strtod(text, &end) : NAN;
    if (*text && (*end || !isfinite(*number) || *number < 0))
        return bad_line(results, "no number:", text);
    return TOOL_OK;
}

/* Its value and quartiles from the numbers of its line. */
static void set_value(struct result *result, const double *numbers)
{
    const double megabytes = numbers[ASKED] / 1e3; /* of 1000 bytes: over microseconds GB/s */
    result->least = result->most = NAN;
    switch (result->kind) {
    case BENCH_TIMED:
    case BENCH_INIT:
        result->value = numbers[MEDIAN];
        result->least = numbers[Q1];
        result->most = numbers[Q3];
        break;
    case BENCH_WRITE:
        result->value = megabytes / numbers[MEDIAN];
        result->least = megabytes / numbers[Q3];
        result->most = megabytes / numbers[Q1];
        break;
    case BENCH_FILL:
        result->value = numbers[UTILISATION];
        break;
    case BENCH_FRAG:
    case BENCH_GROW:
        result->value = numbers[RANGE];
        break;
    case BENCH_REGISTERS:
        result->value = numbers[REGISTERS];
        break;
    }
    if (!isfinite(result->value))
        result->value = NAN;
}

static int read_row(struct results *results, char *const *values)
{
    if (results->count == results->room) {
        const size_t room = results->room ? 2 * results->room : 256;
        struct result *list = realloc(results->list, room * sizeof *list);
        if (!list)
            return tool_error(TOOL_FAILED, "%s: not enough memory", results->path);
        results->list = list;
        results->room = room;
    }
    struct result *result = &results->list[results->count];
    memset(result, 0, sizeof *result);
    result->line = results->line;
    result->ok = strcmp(values[results->values[STATUS]], "ok") == 0;
    const struct bench_test *test = bench_test_find(values[results->keys[0]]);
    result->kind = test ? test->kind : BENCH_TIMED;
    size_t used = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        const int put =
            snprintf(result->key + used, MAX_KEY - used, "%s%s", i ? " " : "", values[results->keys[i]]);
        if (put < 0 || (used += (size_t)put) >= MAX_KEY)
            return bad_line(results, "too long", NULL);
    }
    double numbers[VALUES];
    for (unsigned i = STATUS + 1; i < VALUES; i++) {
        const int code = read_number(results, values[results->values[i]], &numbers[i]);
        if (code != TOOL_OK)
            return code;
    }
    set_value(result, numbers);
    results->count++;
    return TOOL_OK;
}

static int read_lines(struct results *results, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int code = TOOL_OK;
    while (code == TOOL_OK && (length = getline(&line, &room, file)) >= 0) {
        char *values[MAX_COLUMNS];
        results->line++;
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        const int count = cut(line, values);
        if (count < 0) {
            code = bad_line(results, "a quote is wrong, or there are too many values", NULL);
        } else if (results->line == 1) {
            results->columns = (unsigned)count;
            code = read_header(results, values);
        } else if ((unsigned)count != results->columns) {
            code = tool_error(TOOL_FAILED, "%s: line %u: %d values instead of %u", results->path,
                              results->line, count, results->columns);
        } else {
            code = read_row(results, values);
        }
    }
    free(line);
    if (code == TOOL_OK && !feof(file))
        code = tool_error(TOOL_FAILED, "%s: can't read: %s", results->path, strerror(errno));
    if (code == TOOL_OK && !results->line)
        code = tool_error(TOOL_FAILED, "%s: line 1: the file is empty", results->path);
    return code;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct result *)a)->key, ((const struct result *)b)->key);
}

static int compare_lines(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

/* Results in the order of their keys, each once. */
static int read_file(struct results *results)
{
    FILE *file = fopen(results->path, "re");
    if (!file)
        return tool_error(TOOL_FAILED, "%s: can't read: %s", results->path, strerror(errno));
    int code = read_lines(results, file);
    (void)fclose(file);
    if (code != TOOL_OK || !results->count)
        return code;
    qsort(results->list, results->count, sizeof *results->list, compare_keys);
    for (size_t i = 1; i < results->count && code == TOOL_OK; i++) {
        const struct result *one = &results->list[i - 1], *two = &results->list[i];
        if (strcmp(one->key, two->key) == 0)
            code = tool_error(TOOL_FAILED, "%s: line %u: the same cell as in line %u", results->path,
                              one->line > two->line ? one->line : two->line,
                              one->line > two->line ? two->line : one->line);
    }
    return code;
}

static const struct result *find(const struct results *in, const struct result *like)
{
    return in->count ? bsearch(like, in->list, in->count, sizeof *in->list, compare_keys) : NULL;
}

static int has_common(const struct results *a, const struct results *b)
{
    size_t i = 0;
    while (i < a->count && !find(b, &a->list[i]))
        i++;
    return i < a->count;
}

struct counts {
    unsigned both, worse, better, only_a, only_b, no_value;
};

/* One line; *counts also has whether it is worse. */
static void print_ratio(const struct result *a, const struct result *b, double tolerance,
                        struct counts *counts)
{
    const struct bench_measure *measure = &bench_measures[a->kind];
    const double ratio = a->value > 0 ? b->value / a->value : b->value > 0 ? INFINITY : 1;
    const double cost = measure->more_is_better ? 1 / ratio : ratio;
    const char *verdict = "";
    char spread[32] = "";
    counts->both++;
    if (cost > 1 + tolerance) {
        counts->worse++;
        verdict = "worse";
    } else if (1 / cost > 1 + tolerance) {
        counts->better++;
        verdict = "better";
    }
    const double low = b->least / a->most, high = b->most / a->least;
    if (isfinite(low) && isfinite(high))
        snprintf(spread, sizeof spread, "%.3f-%.3f", low, high);
    printf("%12.6g %12.6g %-4s %7.3f %-13s %-6s %s\n", a->value, b->value, measure->unit, ratio, spread,
           verdict, a->key);
}

static struct counts print_ratios(struct results *a, const struct results *b, double tolerance)
{
    struct counts counts = {0};
    size_t found = 0;
    if (a->count)
        qsort(a->list, a->count, sizeof *a->list, compare_lines);
    printf("%12s %12s %-4s %7s %-13s %-6s ", "A", "B", "", "B/A", "spread", "");
    for (unsigned i = 0; i < KEYS; i++)
        printf("%s%s", key_columns[i], i + 1 < KEYS ? " " : "\n");
    for (size_t i = 0; i < a->count; i++) {
        const struct result *one = &a->list[i];
        const struct result *two = find(b, one);
        found += two != NULL;
        if (!two) {
            counts.only_a++;
        } else if (one->ok && !isnan(one->value) && (!two->ok || isnan(two->value))) {
            counts.both++;
            counts.worse++;
            printf("%12.6g %12s %-4s %7s %-13s %-6s %s\n", one->value, "-", bench_measures[one->kind].unit,
                   "-", "", "worse", one->key);
        } else if (!one->ok || isnan(one->value)) {
            counts.no_value++;
        } else {
            print_ratio(one, two, tolerance, &counts);
        }
    }
    counts.only_b = (unsigned)(b->count - found);
    return counts;
}

int bench_compare(const char *path_a, const char *path_b, double tolerance)
{
    struct results a = {.path = path_a}, b = {.path = path_b};
    int code = read_file(&a);
    if (tolerance < 0)
        tolerance = TOLERANCE;
    if (code == TOOL_OK)
        code = read_file(&b);
    if (code == TOOL_OK && !has_common(&a, &b))
        code = tool_error(TOOL_FAILED, "%s and %s have no result in common", path_a, path_b);
    if (code == TOOL_OK) {
        const struct counts counts = print_ratios(&a, &b, tolerance);
        printf("\n%u results in both: %u worse and %u better by more than %g %%; %u only in A, %u only in B, "
               "%u without a "
               "value in A\n",
               counts.both, counts.worse, counts.better, 100 * tolerance, counts.only_a, counts.only_b,
               counts.no_value);
        code = counts.worse ? TOOL_FAILED : TOOL_OK;
    }
    if (tool_flush() != TOOL_OK)
        code = TOOL_FAILED;
    free(a.list);
    free(b.list);
    return code;
}
