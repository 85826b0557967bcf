/* SPDX-License-Identifier: Apache-2.0 */
/* Tables to join; the contracts are in join_tables.h. */
#include "join/join_tables.h"

#include "quarry/core/random.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 60 /* bytes of a key that an error message repeats */

static int no_memory(uint64_t rows)
{
    return tool_error(TOOL_FAILED, "not enough memory for the keys of %llu rows", (unsigned long long)rows);
}

/* ---- files ---- */

/* Decimal digits behind an optional sign.  Returns 0, or -1 if it is something else or does not fit 64 bits
 * with a sign. */
static int parse_integer(const unsigned char *text, uint64_t bytes, uint64_t *number)
{
    int negative = bytes > 0 && text[0] == '-';
    uint64_t at = bytes > 0 && (text[0] == '-' || text[0] == '+');
    uint64_t value = 0;
    if (at == bytes)
        return -1;
    for (; at < bytes; at++) {
        if (text[at] < '0' || text[at] > '9' || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[at] - '0'), &value))
            return -1;
    }
    if (value > (uint64_t)INT64_MAX + (uint64_t)negative)
        return -1;
    *number = negative ? 0 - value : value;
    return 0;
}

static int parse_keys(struct join_table *table, const char *path, const struct rows_options *options)
{
    const struct rows *rows = &table->rows;
    table->integers = (uint64_t *)malloc((rows->count + 1) * sizeof *table->integers);
    if (!table->integers)
        return no_memory(rows->count);
    table->is_narrow = 1;
    for (uint64_t row = 0; row < rows->count; row++) {
        const unsigned char *key = rows->keys + rows->offsets[row];
        uint64_t bytes = rows->offsets[row + 1] - rows->offsets[row];
        if (parse_integer(key, bytes, &table->integers[row]))
            return tool_error(TOOL_FAILED,
                              "%s:%llu: '%.*s' is no integer from -2^63 to 2^63 - 1; leave out --integers to "
                              "compare text",
                              strcmp(path, "-") == 0 ? "standard input" : path,
                              (unsigned long long)row + 1 + (options->header != 0),
                              (int)(bytes < SHOWN ? bytes : SHOWN), (const char *)key);
        if (table->integers[row] > UINT32_MAX)
            table->is_narrow = 0;
    }
    return 0;
}

int join_table_read(struct join_table *table, const char *path, const struct rows_options *options,
                    int integers)
{
    memset(table, 0, sizeof *table);
    if (rows_read(&table->rows, path, options))
        return TOOL_FAILED;
    table->count = table->rows.count;
    return integers ? parse_keys(table, path, options) : 0;
}

/* ---- synthetic ---- */

/* Zipf's law by rejection-inversion: W. Hoermann, G. Derflinger, "Rejection-inversion to generate variates
 * from monotone discrete distributions", ACM TOMACS 6(3), 1996.  A uniform y between the
 * integral's ends, inverted and rounded, gives k.  It counts if y is among the last 1 / k^s of what the
 * integral of 1 / x^s gains from k - 1/2 to k + 1/2; that gain is never less, the function being convex, so
 * each k counts in proportion to 1 / k^s. */
struct zipf {
    double exponent;
    double low; /* of the integral, where the first step begins */
    double high;
    uint64_t most;
};

static double zipf_integral(const struct zipf *zipf, double x)
{
    double power = 1 - zipf->exponent;
    return fabs(power) < 1e-9 ? log(x) : (pow(x, power) - 1) / power;
}

static double zipf_inverse(const struct zipf *zipf, double y)
{
    double power = 1 - zipf->exponent;
    return fabs(power) < 1e-9 ? exp(y) : pow(1 + y * power, 1 / power);
}

static struct zipf zipf_make(double exponent, uint64_t most)
{
    struct zipf zipf = {exponent, 0, 0, most};
    zipf.low = zipf_integral(&zipf, 1.5) - 1;
    zipf.high = zipf_integral(&zipf, (double)most + 0.5);
    return zipf;
}

/* 1 to zipf->most. */
static uint64_t zipf_draw(const struct zipf *zipf, uint64_t *sequence)
{
    for (;;) {
        double y = zipf->low + tool_draw(sequence) * (zipf->high - zipf->low);
        double k = floor(zipf_inverse(zipf, y) + 0.5);
        k = k < 1 ? 1 : k > (double)zipf->most ? (double)zipf->most : k;
        if (y >= zipf_integral(zipf, k + 0.5) - pow(k, -zipf->exponent))
            return (uint64_t)k;
    }
}

static int make_table(struct join_table *table, uint64_t count)
{
    memset(table, 0, sizeof *table);
    table->count = count;
    table->is_narrow = 1;
    table->integers = (uint64_t *)malloc((count + 1) * sizeof *table->integers);
    return table->integers ? 0 : no_memory(count);
}

int join_tables_make(struct join_table *left, struct join_table *right,
                     const struct join_synthetic *synthetic)
{
    const uint64_t count = synthetic->left;
    const uint32_t first = (uint32_t)tool_mix(synthetic->seed);
    uint64_t sequence = tool_mix(~synthetic->seed);
    const struct zipf zipf = zipf_make(synthetic->exponent, count);
    memset(right, 0, sizeof *right);
    if (make_table(left, count) || make_table(right, synthetic->right))
        return TOOL_FAILED;
    /* The mixing is one-to-one. */
    for (uint64_t row = 0; row < count; row++)
        left->integers[row] = quarry_mix_u32(first + (uint32_t)row);
    for (uint64_t row = 0; row < right->count; row++) {
        uint64_t partner = synthetic->distribution == JOIN_ZIPF
                               ? zipf_draw(&zipf, &sequence) - 1
                               : (uint64_t)(tool_draw(&sequence) * (double)count);
        right->integers[row] = left->integers[partner];
        if (row % (1 << 20) == 0)
            tool_progress("making", (double)row / (double)right->count);
    }
    tool_progress_end();
    return 0;
}

void join_table_free(struct join_table *table)
{
    rows_free(&table->rows);
    free(table->integers);
    memset(table, 0, sizeof *table);
}

/* ---- output ---- */

void join_table_put(struct writer *writer, const struct join_table *table, uint32_t row)
{
    const struct rows *rows = &table->rows;
    if (rows->line_offsets) {
        writer_put(writer, rows->lines + rows->line_offsets[row],
                   rows->line_offsets[row + 1] - rows->line_offsets[row]);
    } else {
        writer_number(writer, table->integers[row]);
        writer_put(writer, "\t", 1);
        writer_number(writer, (uint64_t)row + 1);
    }
}
