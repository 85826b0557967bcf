/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry groupby`, and the structures that they share with the host.
 *
 * A row is known by its number, 32 bits; its key bytes and its 64-bit hash are looked up.  Rows are
 * gathered in pages from the heap, pages in buckets:
 *
 *     table (one header for each bucket)           pages, from quarry_malloc
 *     +------+------------+------- - -
 *     | tail | first hash | mixed, ...             +-------+--------+----------+-----+-----+- - -
 *     |  ----|------------|--------------------->  | count | bucket | previous | row | row |
 *     +------+------------+------- - -             +-------+--------+-----|----+-----+-----+- - -
 *     | 0    |            |                                               +--> the bucket's page before
 *     +------+- - -
 *
 * One pass splits the buckets by the next bits of the hash, most significant first:
 *
 *     scatter   appends each row to its bucket; every page made is also entered in a directory
 *     decide    finishes the buckets that need no more splitting, gives the others a place in the next table
 *     resolve   compares bytes, counts groups, frees the pages of finished buckets
 *     scatter   of the next pass: a warp takes a page of the directory, appends its rows to the children
 *               and frees it
 *
 * A bucket is finished if all its rows have one hash, or if it has one page, whose rows a warp sorts by
 * hash where they lie.  Any other of p pages becomes at most 4 (p - 1) buckets, and at most 256.  That
 * bounds what a pass takes, whatever the keys: groupby_bounds.h has the arithmetic.
 *
 * Integer keys are their own hash, in its upper half, and are distributed as Pham et al. (section 6.2 and
 * appendix C) do it: every bucket is split by 8 bits in each of four passes, until it is one key.  What that
 * takes depends on the keys; a pass's table is allocated when its buckets are known.
 *
 * Rows that have their group's hash and other bytes (a collision of 64 bits) are listed; the host runs
 * the passes again on them with another hash.  A round makes progress because the row that stands for a
 * group equals itself. */
#ifndef QUARRY_TOOL_GROUPBY_KERNELS_H
#define QUARRY_TOOL_GROUPBY_KERNELS_H

#include "keys.h"
#include "quarry/device.h"

#define GROUPBY_HASH_BITS 64u
#define GROUPBY_INTEGER_BITS 32u
#define GROUPBY_PASS_BITS 8u /* k of the paper: what one pass looks at, at most */
#define GROUPBY_INTEGER_PASSES (GROUPBY_INTEGER_BITS / GROUPBY_PASS_BITS)
#define GROUPBY_FIRST_BUCKETS (1u << GROUPBY_PASS_BITS)

/* Head of a page; `capacity` row numbers follow.  count is how many tickets were drawn: it may be more
 * than the capacity, and then the page is full. */
struct groupby_page {
    uint32_t count;
    uint32_t bucket;   /* number in its table */
    uint64_t previous; /* address of the bucket's page before this one; 0: none */
};
SIMT_STATIC_ASSERT(sizeof(struct groupby_page) == 16, "rows begin 16 bytes into a page");

/* What bucket.tail holds; anything else is the address of a page. */
#define GROUPBY_EMPTY 0u    /* no page yet */
#define GROUPBY_CREATING 1u /* a lane makes the first page */
#define GROUPBY_FAILED 2u   /* the heap gave no page: rows are lost, the run has failed */

struct groupby_bucket {
    uint64_t tail;
    uint64_t hash; /* of the first row */
    uint32_t first_row;
    uint32_t pages;
    uint32_t mixed;      /* some row's hash is not `hash` */
    uint32_t used;       /* bits of the hash that lead here */
    uint32_t child_bits; /* set by decide; 0: finished */
    uint32_t child;      /* splits: number of the first child */
    uint32_t group;      /* finished and not mixed: its group */
    uint32_t reserved;
};

/* What kernels count.  The host reads it after each step. */
struct groupby_state {
    uint64_t live;       /* pages, now */
    uint64_t peak;       /* most that `live` has been */
    uint64_t split_rows; /* of this pass, in buckets that go on */
    uint64_t counted;    /* rows that have found their group */
    uint32_t failed;     /* the heap gave no page */
    uint32_t broken;     /* what can't happen has: rows of one hash count as mixed */
    uint32_t pages;      /* made in this pass: length of its directory */
    uint32_t children;   /* buckets of the next pass */
    uint32_t groups;
    uint32_t collided; /* rows listed for another round */
};

/* The argument of every kernel.  Arrays lie in target memory. */
struct groupby_job {
    struct quarry_handle heap;
    struct keys keys;
    const uint32_t *integers; /* NULL: keys are text */
    uint64_t *hashes;         /* of each row */
    const uint32_t *list;     /* rows of this round; NULL: all */
    uint64_t rows;            /* of this round */
    uint64_t seeds[2];
    uint64_t hash_mask;
    uint64_t page_bytes;
    uint32_t capacity; /* rows of a page */
    uint32_t buckets;  /* of `table` */
    struct groupby_bucket *table;
    struct groupby_bucket *children; /* next pass's table, all zero before its scatter */
    uint64_t *directory;             /* pages of this pass; 0: already freed */
    uint64_t *child_directory;
    uint32_t directory_pages;
    struct groupby_state *state;
    uint32_t *group_rows;   /* of each group: the row that stands for it */
    uint32_t *group_counts; /* of each group, zero before */
    uint32_t *group_of_row; /* NULL: not wanted */
    uint32_t *collided;     /* rows for another round */
};

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(groupby_hash);          /* lanes over rows: hashes[row] */
SIMT_KERNEL_DECLARE(groupby_scatter_rows);  /* warps over 32 rows: first pass, into `children` */
SIMT_KERNEL_DECLARE(groupby_decide);        /* lanes over `table` */
SIMT_KERNEL_DECLARE(groupby_resolve);       /* warps over `directory` */
SIMT_KERNEL_DECLARE(groupby_scatter_pages); /* warps over `directory`, into `children` */
#endif

#endif
