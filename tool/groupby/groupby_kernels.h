/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry groupby`, and the structures that they share with the host.
 *
 * A row is known by its number, 32 bits; its key is looked up.  Rows are gathered in pages from the heap,
 * pages in chains, chains in buckets:
 *
 *     table (one entry for each chain)             pages, from quarry_malloc
 *     +------+-----------+------ - -               +-------+--------+----------+-----+-----+- - -
 *     | tail | first row | level, ...  bucket 0    | count | bucket | previous | row | row |
 *     |  ----|-----------|----------------------->+-------+--------+-----|----+-----+-----+- - -
 *     | tail |           |             stripe 1                          +--> the chain's page before
 *     | ...  |           |             ...
 *     | tail | first row | level, ...  bucket 1
 *     +------+-----------+------ - -
 *
 * One pass splits the buckets by the next bits of the hash, most significant first:
 *
 *     scatter   appends each row to its bucket; every page made is also entered in a directory
 *     decide    finishes the buckets that need no more splitting, gives the others a place in the next table
 *     resolve   compares bytes, counts groups, frees the pages of finished buckets
 *     scatter   of the next pass: a warp takes a page of the directory, appends its rows to the children
 *               and frees it
 *
 * A bucket that gets most of the rows would have one chain, whose pages follow one another at the pace of a
 * malloc.  So a bucket has room for several chains, its stripes.  It begins with one; a lane that finds its
 * chain without a page to write to doubles the number, while each has at least GROUPBY_STRIPE_PAGES full
 * pages.  Which one a warp appends to is told by its number.
 *
 * A bucket is finished if all its rows have one hash, or if it has one page, whose rows a warp sorts by
 * hash where they lie.  Any other has f >= 1 full pages and becomes at most 4 f buckets, and at most 256.
 * That bounds what a pass takes, whatever the keys: groupby_bounds.h has the arithmetic.
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

#include "each_allocator.h"
#include "keys.h"

#define GROUPBY_HASH_BITS 64u
#define GROUPBY_INTEGER_BITS 32u
#define GROUPBY_PASS_BITS 8u /* k of the paper: what one pass looks at, at most */
#define GROUPBY_INTEGER_PASSES (GROUPBY_INTEGER_BITS / GROUPBY_PASS_BITS)
#define GROUPBY_FIRST_BUCKETS (1u << GROUPBY_PASS_BITS)

/* Head of a page; `capacity` row numbers follow.  count is how many tickets were drawn: it may be more
 * than the capacity, and then the page is full. */
struct groupby_page {
    uint32_t count;
    uint32_t bucket;   /* its first entry's number in the table */
    uint64_t previous; /* address of the chain's page before this one; 0: none */
};
SIMT_STATIC_ASSERT(sizeof(struct groupby_page) == 16, "rows begin 16 bytes into a page");

/* What bucket.tail holds; anything else is the address of a page. */
#define GROUPBY_EMPTY 0u    /* no page yet */
#define GROUPBY_CREATING 1u /* a lane makes the first page */
#define GROUPBY_FAILED 2u   /* the heap gave no page: rows are lost, the run has failed */

/* Full pages that a bucket has for each of its stripes, at least, unless it has one stripe. */
#define GROUPBY_STRIPE_PAGES 2u

/* An entry of the table.  All entries of a bucket have a tail; the rest is in its first. */
struct groupby_bucket {
    uint64_t tail;
    uint32_t first_row;        /* stands for the bucket: is there a row with another hash? */
    uint32_t full;             /* full pages that have a successor */
    uint32_t level;            /* 2^level stripes are in use */
    uint32_t mixed;            /* some row's hash is not that of first_row */
    uint8_t used;              /* bits of the hash that lead here */
    uint8_t child_bits;        /* set by decide; 0: finished */
    uint8_t child_stripe_bits; /* each child has 2^this entries */
    uint8_t reserved;
    uint32_t leads_to; /* splits: the first child's first entry; finished and not mixed: its group */
};
SIMT_STATIC_ASSERT(sizeof(struct groupby_bucket) == 32, "an entry is one sector of a GPU's memory");

/* The highest set bit of x, as an index; x is not 0. */
SIMT_FN uint32_t highest(uint32_t x)
{
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return simt_popc_u32(x) - 1;
}

/* Each child of a bucket with so many full pages may have 2^this stripes.  With 256 children that makes 8 to
 * 16 entries a page, for one child may get all rows. */
SIMT_FN uint32_t groupby_stripe_bits(uint32_t full)
{
    return full >= 1u << (GROUPBY_PASS_BITS - 4) ? highest(full) + 4 - GROUPBY_PASS_BITS : 0;
}

/* What kernels count.  The host reads it after each step. */
struct groupby_state {
    uint64_t counted;  /* rows that have found their group */
    uint64_t freed;    /* pages */
    uint32_t broken;   /* what can't happen has: rows of one hash count as mixed */
    uint32_t pages;    /* made in this pass: length of its directory */
    uint32_t children; /* entries of the next pass's table */
    uint32_t groups;
    uint32_t collided;     /* rows listed for another round */
    uint32_t reserved[24]; /* what lanes look at stays out of the line that others count in */
    uint32_t failed;       /* the heap gave no page */
};

/* The argument of every kernel.  Arrays lie in target memory. */
struct groupby_job {
    struct quarry_handle heap;
    struct keys keys;
    const uint32_t *integers; /* NULL: keys are text */
    uint64_t *hashes;         /* of each row; text */
    const uint32_t *list;     /* rows of this round; NULL: all */
    uint64_t rows;            /* of this round */
    uint64_t seeds[2];
    uint64_t hash_mask;
    uint64_t page_bytes;
    uint32_t capacity;          /* rows of a page */
    uint32_t first_stripe_bits; /* each bucket of the first pass has 2^this entries */
    uint32_t entries;           /* of `table` */
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
SIMT_KERNEL_DECLARE(groupby_hash);   /* lanes over rows: hashes[row]; text */
SIMT_KERNEL_DECLARE(groupby_decide); /* lanes over `table` */

/* Each allocator's: groupby_heap_kernels.c */
struct groupby_heap_kernels {
    const struct simt_kernel *scatter_rows;  /* warps over 32 rows: first pass, into `children` */
    const struct simt_kernel *scatter_pages; /* warps over `directory`, into `children` */
    const struct simt_kernel *resolve;       /* warps over `directory`; text */
    const struct simt_kernel *count;         /* lanes over `directory`; integers, after the last pass */
};

#define QUARRY_ALLOCATOR_ENTRY(id, ...)                                                                      \
    extern const struct groupby_heap_kernels EACH_OF(groupby_heap_kernels, id);
#include "quarry/alloc/list.def"
extern const struct groupby_heap_kernels
    EACH_ANY(groupby_heap_kernels); /* for recorded and composed heaps, too */
#endif

#endif
