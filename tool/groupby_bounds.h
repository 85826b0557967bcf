/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a radix group-by takes, whatever the keys.
 *
 * R rows, c rows in a page, W = floor(R / c):
 *   - All pages of a bucket but its last are full.  A bucket that is split has p >= 2 pages, so the sum of
 *     all (p - 1) is at most W: the split buckets have at most 2 W pages and, since each gets at most
 *     4 (p - 1), at most 4 W children.
 *   - Rows in C buckets fill at most W + C pages.  The first pass has 256 buckets: W + 256 pages.  A later
 *     one has 4 W: 5 W pages, besides the 2 W that it empties; finished buckets are gone by then.
 *   - Each page holds a row, and a row is in at most two pages.
 * So at most min(2 R, max(W + 256, 7 W)) pages live at any time.
 *
 * Integer keys are split to the last bit, of which only the last point holds: 2 R. */
#ifndef QUARRY_TOOL_GROUPBY_BOUNDS_H
#define QUARRY_TOOL_GROUPBY_BOUNDS_H

#include "groupby_kernels.h"

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
    return bounds_smaller(2 * rows, bounds_larger(whole + GROUPBY_FIRST_BUCKETS, 7 * whole));
}

/* Pages that one pass makes at most: the length of its directory. */
static inline uint64_t bounds_pages_of_pass(uint64_t rows, uint32_t capacity, int integers)
{
    uint64_t whole = rows / capacity;
    if (integers)
        return rows;
    return bounds_smaller(rows, bounds_larger(whole + GROUPBY_FIRST_BUCKETS, 5 * whole));
}

/* Buckets of one pass at most, if keys are text: the length of its table. */
static inline uint64_t bounds_buckets_of_pass(uint64_t rows, uint32_t capacity)
{
    return bounds_larger(GROUPBY_FIRST_BUCKETS, 4 * (rows / capacity));
}

#endif
