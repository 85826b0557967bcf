/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of an allocator.
 *
 * Allocator X is the one header alloc/X.h and one line in list.def.  X.h defines
 *
 *   struct quarry_X
 *       Addresses and sizes, copied by value into every kernel; nothing that changes.  What changes
 *       lives in the pool.
 *
 *   enum quarry_layout_result quarry_X_layout(struct quarry_X *x, struct quarry_layout *layout)   [host]
 *       Divides a pool: fills *x and the outputs of *layout.  Touches no pool memory.
 *
 *   void quarry_X_init(const struct quarry_X *x, uint64_t thread, uint64_t threads)
 *       Thread `thread` of `threads` writes its share of an empty heap's structures; nothing else runs.
 *       The pool's content is arbitrary before.
 *
 *   void *quarry_X_malloc(const struct quarry_X *x, uint64_t bytes)
 *       bytes is 1 .. layout->max_block.  Any subset of a warp's lanes, any number of threads, at the
 *       same time as any other malloc or free.  Returns a block, aligned to 16, disjoint from all live
 *       ones, or NULL if no fitting space was free during one whole sweep that no free disturbed.
 *
 *   void quarry_X_free(const struct quarry_X *x, void *block)
 *       block came from quarry_X_malloc of this heap, is live, and its malloc happens-before this call.
 *       What the caller wrote before happens-before what the next owner does.  Never waits.
 *
 *   void quarry_X_census(const struct quarry_X *x, uint64_t bytes, uint64_t thread, uint64_t threads,
 *                        struct quarry_census *sum)
 *       Adds thread's share of an idle heap's census to *sum; `bytes` is what slots are counted for.
 *
 * and ends, after its include guard, with
 *
 *   #ifdef QUARRY_ALLOCATOR_ENTRY
 *   QUARRY_ALLOCATOR_ENTRY(X, "summary in one line")
 *   #endif
 *
 * Callers above (device.h) have already dealt with size 0, sizes over max_block, free(NULL), and count
 * the NULLs.  Allocators never include one another; shared steps are in core/. */
#ifndef QUARRY_ALLOC_ALLOC_H
#define QUARRY_ALLOC_ALLOC_H

#include "quarry/simt/simt.h"

enum quarry_layout_result {
    QUARRY_LAYOUT_OK,
    QUARRY_LAYOUT_PAGE_BYTES, /* page size outside 16 .. 1 MiB or no multiple of 16 */
    QUARRY_LAYOUT_PAGES,      /* more pages than the allocator can number */
    QUARRY_LAYOUT_WORD_BITS,  /* neither 32 nor 64 */
    QUARRY_LAYOUT_POOL        /* the pool can't hold that many pages, or not even one */
};

struct quarry_layout {
    /* in */
    unsigned char *base; /* of the pool, 256-byte aligned */
    uint64_t bytes;      /* of the pool; UINT64_MAX with pages given asks only how much they need */
    uint64_t page_bytes; /* never 0 */
    /* in, and out with the defaults filled in */
    uint64_t pages;     /* 0: as many as fit */
    uint32_t word_bits; /* 0: default; out: 0 if the allocator has no bitmap */
    uint32_t probes;    /* 0: default */
    /* out */
    uint64_t used_bytes; /* what the heap occupies from base */
    uint64_t max_block;  /* largest request in bytes */
};

/* What a walk over an idle heap counts. */
struct quarry_census {
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t free_bytes;
    uint64_t largest_free; /* bytes; combined by maximum, the others by sum */
    uint64_t slots;
    uint64_t faults; /* structures that contradict themselves */
};

/* Adds what a part of a heap of fixed pages counts: `live` and `spare` pages; slots are for `bytes`. */
SIMT_FN void quarry_census_pages(struct quarry_census *sum, uint64_t bytes, uint64_t live, uint64_t spare,
                                 uint64_t page_bytes)
{
    sum->live_blocks += live;
    sum->live_bytes += live * page_bytes;
    sum->free_bytes += spare * page_bytes;
    if (spare)
        sum->largest_free = page_bytes;
    if (bytes && bytes <= page_bytes)
        sum->slots += spare;
}

#define QUARRY_MAX_PROBES (1u << 24)
#define QUARRY_MIN_PAGE_BYTES 16u
#define QUARRY_MAX_PAGE_BYTES (1u << 20)
#define QUARRY_MAX_PAGES 0xffffffc0u /* page numbers are 32 bits, and a round-up to a word must not wrap */
#define QUARRY_SECTION_ALIGN 256u    /* of the sections of a pool */

#if SIMT_HAS_HOST
SIMT_HOST_FN uint64_t quarry_round_up(uint64_t x, uint64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Number of chunks of at most `wish`, and at most `most`, items. */
SIMT_HOST_FN uint32_t quarry_layout_chunks(uint64_t items, uint64_t wish, uint64_t most)
{
    uint64_t each = wish < most ? wish : most;
    return (uint32_t)((items + each - 1) / each);
}

/* Divides a pool for an allocator of fixed pages:  | first | map | page 0 | page 1 | ...
 *   first_bytes   size of the section before the map
 *   map_bytes     size of the map for so many pages; must not shrink as pages grow
 *   pages         receives the address of page 0
 * Fills l->pages, l->used_bytes, l->max_block. */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_pages(struct quarry_layout *l, uint64_t first_bytes,
                                                           uint64_t (*map_bytes)(uint64_t pages),
                                                           unsigned char **pages)
{
    uint64_t low = l->pages, map;
    uint64_t first = quarry_round_up(first_bytes, QUARRY_SECTION_ALIGN);
    if (l->page_bytes < QUARRY_MIN_PAGE_BYTES || l->page_bytes > QUARRY_MAX_PAGE_BYTES ||
        l->page_bytes % QUARRY_MIN_PAGE_BYTES)
        return QUARRY_LAYOUT_PAGE_BYTES;
    if (l->pages > QUARRY_MAX_PAGES)
        return QUARRY_LAYOUT_PAGES;
    if (l->pages == 0) { /* the largest number that fits, by bisection */
        low = 1;
        uint64_t high = QUARRY_MAX_PAGES;
        while (low < high) {
            uint64_t middle = low + (high - low + 1) / 2;
            map = quarry_round_up(map_bytes(middle), QUARRY_SECTION_ALIGN);
            if (first + map + middle * l->page_bytes <= l->bytes)
                low = middle;
            else
                high = middle - 1;
        }
    }
    map = quarry_round_up(map_bytes(low), QUARRY_SECTION_ALIGN);
    l->used_bytes = first + map + low * l->page_bytes;
    if (l->used_bytes > l->bytes)
        return QUARRY_LAYOUT_POOL;
    l->pages = low;
    l->max_block = l->page_bytes;
    *pages = l->base + first + map;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
