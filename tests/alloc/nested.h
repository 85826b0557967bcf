/* SPDX-License-Identifier: Apache-2.0 */
/* nested: an allocator that stands on another (core/source.h), small enough to see that it is right.  It cuts
 * chunks into blocks of one size, the heap's pages.
 *
 *     pool    | spare | state of chunk 0, 1, ... | the source's sections | chunk 0 | chunk 1 | ...
 *     spare   blocks that are free and not promised to a malloc under way
 *     state   bit 31: the chunk is ours, taken from the source;  bits 0 .. n - 1: block is taken.  0: it is
 *             the source's.  In the last chunk, bits of blocks past the heap's last page are set, too
 *
 * A malloc takes one from spare, or returns NULL if there is none: then every block is taken, or promised to
 * a malloc that is not later than this one.  Then there is a block for it, in a chunk that is ours, or in one
 * that the source has or will have when whoever moves it is done.  It looks until it finds one.
 *
 * A free clears its bit.  Who finds that no bit is left makes the state 0 by a compare-exchange, and gives
 * the chunk back.
 *
 * Order.  free: AND with release; malloc: compare-exchange with acquire.  Who makes the state 0 acquires what
 * all frees of the chunk released, before it gives the chunk back; who takes it from the source publishes
 * the state with release. */
#ifndef QUARRY_TESTS_ALLOC_NESTED_H
#define QUARRY_TESTS_ALLOC_NESTED_H

#include "quarry/alloc/alloc.h"
#include "quarry/alloc/ring.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/source.h"

#define QUARRY_NESTED_CAN                                                                                    \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_WHOLE_PAGES | QUARRY_HAS_PAGES)
#define QUARRY_NESTED_SOURCE ring
#define QUARRY_NESTED_BLOCKS 8u /* of a chunk, unless it would be too large */
#define QUARRY_NESTED_OURS 0x80000000u

struct quarry_nested {
    uint32_t *spare;
    uint32_t *state;
    QUARRY_SOURCE_STRUCT(QUARRY_NESTED_SOURCE) source;
    struct quarry_pages blocks;
    uint32_t each; /* blocks of a chunk */
    uint32_t chunks;
};

/* What the state of a chunk is when it is ours and no block is taken. */
SIMT_FN uint32_t quarry_nested_empty(const struct quarry_nested *h, uint32_t chunk)
{
    uint32_t here = h->blocks.count - chunk * h->each, all = (1u << h->each) - 1u;
    return QUARRY_NESTED_OURS | (here < h->each ? all & ~((1u << here) - 1u) : 0);
}

SIMT_FN void quarry_nested_init(const struct quarry_nested *h, uint64_t thread, uint64_t threads)
{
    QUARRY_SOURCE_INIT(QUARRY_NESTED_SOURCE)(&h->source, thread, threads);
    for (uint64_t i = thread; i < h->chunks; i += threads)
        h->state[i] = 0;
    if (thread == 0)
        *h->spare = h->blocks.count;
}

SIMT_FN void quarry_nested_settle(const struct quarry_nested *h, uint64_t thread, uint64_t threads)
{
    (void)h;
    (void)thread;
    (void)threads;
    QUARRY_SOURCE_SETTLE(QUARRY_NESTED_SOURCE)(&h->source, thread, threads);
}

SIMT_FN int quarry_nested_promise(const struct quarry_nested *h)
{
    uint32_t spare = simt_load_u32(h->spare, relaxed);
    while (spare != 0) {
        uint32_t now = simt_cas_u32(h->spare, spare, spare - 1u, relaxed);
        if (now == spare)
            return 1;
        spare = now;
    }
    return 0;
}

/* Takes a block of a chunk that is ours.  Returns its number, or QUARRY_NO_PAGE. */
SIMT_FN uint32_t quarry_nested_take(const struct quarry_nested *h, uint32_t chunk)
{
    uint32_t seen = simt_load_u32(&h->state[chunk], relaxed);
    while (seen & QUARRY_NESTED_OURS) {
        uint32_t spare = ~seen & ((1u << h->each) - 1u), bit = spare & (0u - spare);
        if (!spare)
            return QUARRY_NO_PAGE;
        uint32_t now = simt_cas_u32(&h->state[chunk], seen, seen | bit, acquire);
        if (now == seen)
            return chunk * h->each + simt_ctz_u32(bit);
        seen = now;
    }
    return QUARRY_NO_PAGE;
}

/* Takes a chunk from the source, and a block of it. */
SIMT_FN uint32_t quarry_nested_extend(const struct quarry_nested *h, struct quarry_context *context)
{
    void *at = QUARRY_SOURCE_TAKE(QUARRY_NESTED_SOURCE)(&h->source, context, h->each * h->blocks.page_bytes);
    if (!at)
        return QUARRY_NO_PAGE;
    uint32_t chunk = quarry_page_index(&h->blocks, at) / h->each;
    /* A chunk has a block.  Pairs with the compare-exchange in quarry_nested_take. */
    simt_store_u32(&h->state[chunk], quarry_nested_empty(h, chunk) | 1u, release);
    return chunk * h->each;
}

/* Progress: waits for lanes that take or give a chunk. */
SIMT_FN void *quarry_nested_malloc(const struct quarry_nested *h, struct quarry_context *context,
                                   uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t first = quarry_random_below(&r, h->chunks), block = QUARRY_NO_PAGE;
    (void)bytes;
    if (!quarry_nested_promise(h))
        return SIMT_NULL;
    while (block == QUARRY_NO_PAGE) {
        for (uint32_t i = 0; i < h->chunks && block == QUARRY_NO_PAGE; i++)
            block = quarry_nested_take(h, (uint32_t)(((uint64_t)first + i) % h->chunks));
        if (block == QUARRY_NO_PAGE)
            block = quarry_nested_extend(h, context);
        if (block == QUARRY_NO_PAGE)
            simt_backoff();
    }
    return quarry_page_address(&h->blocks, block);
}

SIMT_FN void quarry_nested_free(const struct quarry_nested *h, void *block)
{
    uint32_t number = quarry_page_index(&h->blocks, block), chunk = number / h->each;
    uint32_t bit = 1u << number % h->each, empty = quarry_nested_empty(h, chunk);
    simt_assert(simt_load_u32(&h->state[chunk], relaxed) & bit);
    /* pairs with the compare-exchanges here and in quarry_nested_take */
    simt_and_u32(&h->state[chunk], ~bit, release);
    if (simt_load_u32(&h->state[chunk], relaxed) == empty &&
        simt_cas_u32(&h->state[chunk], empty, 0, acquire) == empty)
        QUARRY_SOURCE_GIVE(QUARRY_NESTED_SOURCE)
    (&h->source, quarry_page_address(&h->blocks, chunk * h->each));
    simt_add_u32(h->spare, 1u, relaxed);
}

SIMT_FN enum quarry_place quarry_nested_find(const struct quarry_nested *h, const void *address,
                                             struct quarry_span *span)
{
    struct quarry_span chunk;
    enum quarry_place place = QUARRY_SOURCE_FIND(QUARRY_NESTED_SOURCE)(&h->source, address, &chunk);
    uint32_t block = quarry_page_find(&h->blocks, address, span);
    if (place == QUARRY_PLACE_FOREIGN || block == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    return place == QUARRY_PLACE_LIVE &&
                   simt_load_u32(&h->state[block / h->each], relaxed) >> block % h->each & 1u
               ? QUARRY_PLACE_LIVE
               : QUARRY_PLACE_FREE;
}

SIMT_FN void quarry_nested_census(const struct quarry_nested *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    struct quarry_census chunks = {0, 0, 0, 0, 0, 0, 0};
    uint64_t live = 0, spare = 0, all = (1u << h->each) - 1u;
    QUARRY_SOURCE_CENSUS(QUARRY_NESTED_SOURCE)(&h->source, 1, share, &chunks);
    spare = chunks.slots * h->each;
    sum->faults += chunks.faults;
    sum->odds += chunks.odds;
    for (uint64_t i = share->thread; i < h->chunks; i += share->threads) {
        uint32_t state = simt_load_u32(&h->state[i], relaxed), empty = quarry_nested_empty(h, (uint32_t)i);
        if (state & QUARRY_NESTED_OURS) {
            live += simt_popc_u32(state & ~empty);
            spare += simt_popc_u32(~state & (uint32_t)all);
        } else { /* fewer blocks than a chunk has, in the last */
            spare -= simt_popc_u32(empty & (uint32_t)all);
        }
        sum->faults += state != 0 && ((state & empty) != empty || (state & ~empty & ~(uint32_t)all) != 0);
    }
    if (share->thread == 0)
        sum->faults += simt_load_u32(h->spare, relaxed) > h->blocks.count;
    /* `spare` may be below 0 in one lane; the sum over all is not. */
    sum->live_blocks += live;
    sum->live_bytes += live * h->blocks.page_bytes;
    sum->free_bytes += spare * h->blocks.page_bytes;
    if (spare)
        sum->largest_free = h->blocks.page_bytes;
    if (bytes <= h->blocks.page_bytes)
        sum->slots += spare;
}

#define quarry_nested_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_nested_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_nested *h = (struct quarry_nested *)heap;
    const uint64_t pages = l->pages, page_bytes = l->page_bytes;
    for (h->each = QUARRY_NESTED_BLOCKS; h->each > 1 && h->each * page_bytes > QUARRY_MAX_PAGE_BYTES;)
        h->each /= 2;
    h->chunks = (uint32_t)((pages + h->each - 1) / h->each);
    h->spare = (uint32_t *)quarry_layout_section(l, "spare", sizeof *h->spare, QUARRY_SECTION_ALIGN);
    h->state =
        (uint32_t *)quarry_layout_section(l, "state", h->chunks * sizeof *h->state, QUARRY_SECTION_ALIGN);
    l->pages = h->chunks;
    l->page_bytes = h->each * page_bytes;
    QUARRY_SOURCE_SECTIONS(QUARRY_NESTED_SOURCE)(&h->source, l);
    l->pages = pages;
    l->page_bytes = page_bytes;
    h->blocks = quarry_pages_make(l->places, page_bytes, (uint32_t)pages);
}

SIMT_HOST_FN enum quarry_layout_result quarry_nested_layout(struct quarry_nested *h, struct quarry_layout *l)
{
    return quarry_layout_fit(l, quarry_nested_sections, h);
}
#endif

#endif
