/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to group; the contracts are in groupby_table.h. */
#include "groupby/groupby_table.h"

#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of
 * Mathematical Statistics 29(2), 1958.  The logarithm is at least that of 2^-54. */
static double draw_normal(uint64_t *sequence)
{
    const double radius = sqrt(-2 * log(tool_draw(sequence)));
    return radius * cos(2 * acos(-1) * tool_draw(sequence));
}

int groupby_table_make(struct groupby_table *table, const struct groupby_synthetic *synthetic)
{
    uint64_t sequence = tool_mix(synthetic->seed);
    memset(table, 0, sizeof *table);
    table->count = synthetic->rows;
    table->integers = (uint32_t *)malloc((table->count + 1) * sizeof *table->integers);
    if (!table->integers)
        return tool_error(TOOL_FAILED, "not enough memory for the keys of %llu rows",
                          (unsigned long long)table->count);
    for (uint64_t row = 0; row < table->count; row++) {
        table->integers[row] =
            (uint32_t)floor(GROUPBY_MEAN + (double)synthetic->deviation * draw_normal(&sequence) + 0.5);
        if (row % (1 << 20) == 0)
            tool_progress("making", (double)row / (double)table->count);
    }
    tool_progress_end();
    return 0;
}

void groupby_table_free(struct groupby_table *table)
{
    rows_free(&table->rows);
    free(table->integers);
    memset(table, 0, sizeof *table);
}

static const unsigned char *key_of(const struct rows *rows, uint32_t row, uint64_t *bytes)
{
    *bytes = rows->offsets[row + 1] - rows->offsets[row];
    return rows->keys + rows->offsets[row];
}

int groupby_table_compare(const struct groupby_table *table, uint32_t a, uint32_t b)
{
    if (table->integers)
        return (table->integers[a] > table->integers[b]) - (table->integers[a] < table->integers[b]);
    uint64_t bytes_a;
    uint64_t bytes_b;
    const unsigned char *key_a = key_of(&table->rows, a, &bytes_a);
    const unsigned char *key_b = key_of(&table->rows, b, &bytes_b);
    const int order = memcmp(key_a, key_b, bytes_a < bytes_b ? bytes_a : bytes_b);
    return order ? order : (bytes_a > bytes_b) - (bytes_a < bytes_b);
}

void groupby_table_put(struct writer *writer, const struct groupby_table *table, uint32_t row)
{
    uint64_t bytes;
    if (table->integers) {
        writer_number(writer, table->integers[row]);
        return;
    }
    const unsigned char *key = key_of(&table->rows, row, &bytes);
    writer_put(writer, key, bytes);
}
