/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry groupby --method two-pass`: what the paged group-by is compared with, as Pham et al.
 * (section 6.2) describe it.  No heap: each pass is run twice.
 *
 *     from      [ rows of bucket 0 | rows of bucket 1 | ... ]       numbers of rows; bucket by bucket
 *
 *     count     how many rows each child gets, 256 children a bucket
 *     number    children that have rows are buckets of the next pass
 *               (the host makes prefix sums of both)
 *     write     each row to its place
 *
 *     to        [ child 0 | child 1 | ...                   ]
 *
 * The paper's counts are one for each possible key in the last pass, 2^32; here they are those of buckets
 * that have rows. */
#ifndef QUARRY_TOOL_GROUPBY_TWO_PASS_KERNELS_H
#define QUARRY_TOOL_GROUPBY_TWO_PASS_KERNELS_H

#include "groupby/groupby_kernels.h"

/* The argument of every kernel.  Arrays lie in target memory. */
struct two_pass_job {
    const uint32_t *integers; /* the keys */
    uint64_t rows;
    uint32_t shift;       /* this pass: bits shift up to shift + GROUPBY_PASS_BITS of a key */
    const uint32_t *from; /* NULL: row i is number i */
    uint32_t *to;
    uint32_t *bucket_of_row; /* before write: of this pass; after: of the next */
    uint64_t children;       /* 2^GROUPBY_PASS_BITS for each bucket */
    uint64_t *places;        /* of each child: its rows; by their prefix sums: where its first row goes; after
                                write: where its last row's successor would */
    uint64_t *numbers; /* of each child, and one more: 1 if it has rows; by their prefix sums: its number */
    uint32_t *group_rows;   /* of each group: a row that has its key */
    uint32_t *group_counts; /* of each group: its rows */
};

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(two_pass_count);  /* warps over 32 rows: places, zero before */
SIMT_KERNEL_DECLARE(two_pass_number); /* lanes over children: numbers */
SIMT_KERNEL_DECLARE(two_pass_write);  /* warps over 32 rows: to, bucket_of_row; places and numbers are sums */
SIMT_KERNEL_DECLARE(two_pass_groups); /* lanes over children, after the last pass: group_rows, group_counts */
#endif

#endif
