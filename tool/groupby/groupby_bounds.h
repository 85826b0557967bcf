/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a radix group-by takes, whatever the keys.
 *
 * R rows, c rows in a page, W = floor(R / c):
 *   - A bucket with f full pages that have a successor has at most max(1, f / 2) chains, each of which ends
 *     with one page more.  The sum of all f is at most W.  A bucket that is split has f >= 1, so the split
 *     buckets have at most 2 W pages.  Each gets at most 4 f children, in at most 16 f entries of the table:
 *     together 4 W and 16 W.
 *   - Rows in C buckets take at most W + W / 2 + C pages.  The first pass has 256 buckets: 1.5 W + 256.  A
 *     later one has 4 W: 5.5 W pages, besides the 2 W that it empties; finished buckets are gone by then.
 *   - Each page holds a row, and a row is in at most two pages.
 * So at most min(2 R, max(1.5 W + 256, 7.5 W)) pages live at any time.
 *
 * Integer keys are split to the last bit, of which only the last point holds: 2 R. */
#ifndef QUARRY_TOOL_GROUPBY_BOUNDS_H
#define QUARRY_TOOL_GROUPBY_BOUNDS_H

#include "groupby/groupby_kernels.h"

static inline uint64_t bounds_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t bounds_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Pages that the rows fill if none is left partly empty: no heap with fewer will do. */
static inline uint64_t bounds_pages_least(uint64_t rows, uint32_t capacity)
{
    return (rows + capacity - 1) / capacity;
}

/* Pages with which the heap is certainly large enough. */
static inline uint64_t bounds_pages_enough(uint64_t rows, uint32_t capacity, int integers)
{
    uint64_t whole = rows / capacity;
    if (integers)
        return 2 * rows;
    return bounds_smaller(2 * rows, bounds_larger(2 * whole + GROUPBY_FIRST_BUCKETS, 8 * whole));
}

/* Pages that one pass makes at most: the length of its directory. */
static inline uint64_t bounds_pages_of_pass(uint64_t rows, uint32_t capacity, int integers)
{
    uint64_t whole = rows / capacity;
    if (integers)
        return rows;
    return bounds_smaller(rows, bounds_larger(2 * whole + GROUPBY_FIRST_BUCKETS, 6 * whole));
}

/* Entries of the table of one pass at most, if keys are text; and of the first. */
static inline uint64_t bounds_entries_of_pass(uint64_t rows, uint32_t capacity)
{
    return bounds_larger(GROUPBY_FIRST_BUCKETS, 16 * (rows / capacity));
}

#endif
