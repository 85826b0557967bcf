/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering and formatting of the groups. */
#include "groupby/groupby_output.h"

#include "output.h"
#include "tool.h"

#include <stdlib.h>

/* ---- order ---- */

struct ordering {
    const struct groupby_table *table;
    const struct groupby_result *result;
    const struct groupby_output_options *options;
};

static int compare_groups(const void *left, const void *right, void *context)
{
    const struct ordering *ordering = (const struct ordering *)context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    const uint32_t *counts = ordering->result->group_counts;
    if (counts[a] != counts[b])
        return counts[a] > counts[b] ? -1 : 1;
    const uint32_t *rows = ordering->result->group_rows;
    return groupby_table_compare(ordering->table, rows[a], rows[b]);
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
static int sort_rows(const struct groupby_table *table, const struct groupby_result *result,
                     uint64_t **starts, uint32_t **sorted)
{
    uint64_t groups = result->groups;
    uint64_t *next = (uint64_t *)calloc(groups + 2, sizeof *next);
    *sorted = (uint32_t *)calloc(table->count + 1, sizeof **sorted);
    *starts = next;
    if (!next || !*sorted)
        return -1;
    /* next[g + 1] is where group g's next row goes, and in the end where group g + 1 begins. */
    for (uint64_t group = 0; group + 1 < groups; group++)
        next[group + 2] = next[group + 1] + result->group_counts[group];
    for (uint64_t row = 0; row < table->count; row++)
        (*sorted)[next[result->group_of_row[row] + 1]++] = (uint32_t)row;
    return 0;
}

/* ---- lines ---- */

static int write_lines(struct writer *writer, const void *context)
{
    const struct ordering *ordering = (const struct ordering *)context;
    const struct groupby_result *result = ordering->result;
    const struct groupby_output_options *options = ordering->options;
    uint32_t *order = NULL;
    uint64_t *starts = NULL;
    if (options->count) {
        writer_number(writer, result->groups);
        writer_put(writer, "\n", 1);
        return 0;
    }
    uint32_t *sorted = NULL;
    int ready = (!options->top || (order = order_groups(ordering)) != NULL) &&
                (!options->with_rows || sort_rows(ordering->table, result, &starts, &sorted) == 0);
    uint64_t lines = options->top && options->top < result->groups ? options->top : result->groups;
    for (uint64_t line = 0; ready && line < lines && !writer->error; line++) {
        uint32_t group = order ? order[line] : (uint32_t)line;
        groupby_table_put(writer, ordering->table, result->group_rows[group]);
        writer_put(writer, "\t", 1);
        writer_number(writer, result->group_counts[group]);
        for (uint64_t i = 0; options->with_rows && i < result->group_counts[group]; i++) {
            writer_put(writer, i ? "," : "\t", 1);
            writer_number(writer, (uint64_t)sorted[starts[group] + i] + 1);
        }
        writer_put(writer, "\n", 1);
        if (line % 65536 == 0)
            tool_progress("writing", (double)line / (double)lines);
    }
    free(order);
    free(starts);
    free(sorted);
    return ready ? 0 : tool_error(TOOL_FAILED, "not enough memory to order the groups");
}

static int write_keys(struct writer *writer, const void *context)
{
    const struct groupby_table *table = (const struct groupby_table *)context;
    for (uint64_t row = 0; row < table->count && !writer->error; row++) {
        groupby_table_put(writer, table, (uint32_t)row);
        writer_put(writer, "\n", 1);
    }
    return 0;
}

int groupby_output_keys(const struct groupby_table *table, const char *path)
{
    return output_write(path, write_keys, table);
}

int groupby_output(const struct groupby_table *table, const struct groupby_result *result,
                   const struct groupby_output_options *options, const char *path)
{
    const struct ordering ordering = {table, result, options};
    return output_write(path, write_lines, &ordering);
}
