/* SPDX-License-Identifier: Apache-2.0 */
/* plain: an allocator small enough to see that it is right, and variants of it with one bug each, to show
 * that the suite finds such bugs: whatever test fails for a variant and not for plain, fails for the bug.
 *
 *     pool   | spare | used[0] used[1] ... used[n-1] | page 0 | page 1 | ... | page n-1 |
 *     spare  pages that are free and not promised to a malloc under way
 *     used   32 bits: 0 free, 1 taken, 2 (QUARRY_PLAIN_PUT_OFF) freed, but not yet settled
 *
 * A malloc takes one from spare, or returns NULL if there is none: then every page is taken, or promised to a
 * malloc that is not later than this one.  Then there is a page for it, and it looks until it finds one.
 *
 * LAZY.  A free writes QUARRY_PLAIN_PUT_OFF to used[p] and counts that in put_off; settle makes it 0.  A
 * malloc takes one from spare, else from put_off, else returns NULL: no free adds to spare, so that was still
 * 0 when put_off was.  It looks for a page of the kind that it has its promise from.
 *
 * Order.  free: used[p] = 0 with release; malloc: compare-exchange 0 -> 1 with acquire.  spare is relaxed:
 * who has its promise before the page's 0 is visible waits for that. */
#ifndef QUARRY_TESTS_ALLOC_PLAIN_H
#define QUARRY_TESTS_ALLOC_PLAIN_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"

#define QUARRY_PLAIN_CAN                                                                                     \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_WHOLE_PAGES | QUARRY_HAS_PAGES)

enum quarry_plain_bug {
    QUARRY_PLAIN_SOUND,
    QUARRY_PLAIN_TWICE,     /* takes a page by a load and a store: two threads may */
    QUARRY_PLAIN_LEAKY,     /* a free that meets another change of spare does not count */
    QUARRY_PLAIN_EARLY,     /* NULL if another malloc or free came between */
    QUARRY_PLAIN_NARROW,    /* pages overlap by 16 bytes */
    QUARRY_PLAIN_CROOKED,   /* pages begin 8 bytes too late */
    QUARRY_PLAIN_FORGETFUL, /* reset leaves spare as it is */
    QUARRY_PLAIN_RIGID,     /* waits for lanes that don't call */
    QUARRY_PLAIN_VAGUE,     /* counts blocks as if the last page were never taken */
    QUARRY_PLAIN_UNORDERED, /* free is relaxed: for ThreadSanitizer to see */
    QUARRY_PLAIN_STUCK,     /* malloc never returns if pages have QUARRY_PLAIN_STUCK_BYTES */
    QUARRY_PLAIN_LAZY       /* no bug: free puts off its work */
};

#define QUARRY_PLAIN_STUCK_BYTES 336u
#define QUARRY_PLAIN_PUT_OFF 2u
#define QUARRY_PLAIN_WRITTEN ((uint64_t)0x51ab5c0de5ca1ab1) /* a pool that a forgetful init has seen */

struct quarry_plain_map {
    uint64_t written;
    uint32_t spare;
    uint32_t put_off;
};

struct quarry_plain {
    struct quarry_plain_map *map;
    uint32_t *used;
    struct quarry_pages pages;
};

SIMT_FN void quarry_plain_init(enum quarry_plain_bug bug, const struct quarry_plain *h, uint64_t thread,
                               uint64_t threads)
{
    for (uint64_t p = thread; p < h->pages.count; p += threads)
        h->used[p] = 0;
    if (thread != 0 || (bug == QUARRY_PLAIN_FORGETFUL && h->map->written == QUARRY_PLAIN_WRITTEN))
        return;
    h->map->written = QUARRY_PLAIN_WRITTEN;
    h->map->spare = h->pages.count;
    h->map->put_off = 0;
}

SIMT_FN void quarry_plain_settle(enum quarry_plain_bug bug, const struct quarry_plain *h, uint64_t thread,
                                 uint64_t threads)
{
    uint32_t settled = 0;
    for (uint64_t p = thread; bug == QUARRY_PLAIN_LAZY && p < h->pages.count; p += threads)
        if (h->used[p] == QUARRY_PLAIN_PUT_OFF) {
            h->used[p] = 0;
            settled++;
        }
    if (settled) {
        simt_add_u32(&h->map->spare, settled, relaxed);
        simt_sub_u32(&h->map->put_off, settled, relaxed);
    }
}

/* Takes a promise from a count of pages. */
SIMT_FN int quarry_plain_promise(uint32_t *count, enum quarry_plain_bug bug)
{
    for (;;) {
        uint32_t spare = simt_load_u32(count, acquire); /* LAZY: put_off is read after that */
        if (spare == 0)
            return 0;
        if (simt_cas_u32(count, spare, spare - 1, relaxed) == spare)
            return 1;
        if (bug == QUARRY_PLAIN_EARLY)
            return 0;
    }
}

/* Takes a page that is `as`, 0 or QUARRY_PLAIN_PUT_OFF. */
SIMT_FN int quarry_plain_take(const struct quarry_plain *h, uint32_t page, uint32_t as,
                              enum quarry_plain_bug bug)
{
    if (bug != QUARRY_PLAIN_TWICE)
        return simt_cas_u32(&h->used[page], as, 1, acquire) == as; /* pairs with the release of free */
    if (simt_load_u32(&h->used[page], acquire) != 0)
        return 0;
    simt_backoff(); /* others come between, on the CPU for sure */
    simt_store_u32(&h->used[page], 1, relaxed);
    return 1;
}

SIMT_FN void *quarry_plain_malloc(enum quarry_plain_bug bug, const struct quarry_plain *h,
                                  struct quarry_context *context, uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t page = quarry_random_below(&r, h->pages.count), as = 0;
    (void)context;
    (void)bytes;
    while (bug == QUARRY_PLAIN_STUCK && h->pages.page_bytes == QUARRY_PLAIN_STUCK_BYTES && simt_clock() != 1)
        simt_backoff(); /* a look at the clock, so that no deadlock is reported */
    if (bug == QUARRY_PLAIN_RIGID)
        simt_sync(SIMT_ALL_LANES);
    if (!quarry_plain_promise(&h->map->spare, bug)) {
        as = QUARRY_PLAIN_PUT_OFF;
        if (bug != QUARRY_PLAIN_LAZY || !quarry_plain_promise(&h->map->put_off, bug))
            return SIMT_NULL;
    }
    while (!quarry_plain_take(h, page, as, bug)) {
        page = page + 1 < h->pages.count ? page + 1 : 0;
        if (page == 0)
            simt_backoff();
    }
    return quarry_page_address(&h->pages, page);
}

SIMT_FN void quarry_plain_free(enum quarry_plain_bug bug, const struct quarry_plain *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    if (bug == QUARRY_PLAIN_LAZY) {
        simt_store_u32(&h->used[page], QUARRY_PLAIN_PUT_OFF, release); /* pairs with quarry_plain_take */
        simt_add_u32(&h->map->put_off, 1, relaxed);
        return;
    }
    if (bug == QUARRY_PLAIN_UNORDERED)
        simt_store_u32(&h->used[page], 0, relaxed);
    else
        simt_store_u32(&h->used[page], 0, release); /* pairs with quarry_plain_take */
    if (bug == QUARRY_PLAIN_LEAKY) {
        uint32_t spare = simt_load_u32(&h->map->spare, relaxed);
        (void)simt_cas_u32(&h->map->spare, spare, spare + 1, relaxed);
    } else {
        simt_add_u32(&h->map->spare, 1, relaxed);
    }
}

SIMT_FN enum quarry_place quarry_plain_find(enum quarry_plain_bug bug, const struct quarry_plain *h,
                                            const void *address, struct quarry_span *span)
{
    (void)bug;
    uint32_t page = quarry_page_find(&h->pages, address, span);
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    return simt_load_u32(&h->used[page], relaxed) != 0 ? QUARRY_PLACE_LIVE : QUARRY_PLACE_FREE;
}

SIMT_FN void quarry_plain_census(enum quarry_plain_bug bug, const struct quarry_plain *h, uint64_t bytes,
                                 const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint64_t live = 0, spare = 0, page_bytes = h->pages.page_bytes;
    for (uint64_t p = share->thread; p < h->pages.count; p += share->threads) {
        int taken = simt_load_u32(&h->used[p], relaxed) != 0 &&
                    !(bug == QUARRY_PLAIN_VAGUE && p + 1 == h->pages.count);
        live += taken;
        spare += !taken;
        sum->faults += share->idle && simt_load_u32(&h->used[p], relaxed) > 1;
    }
    quarry_census_pages(sum, bytes, live, spare, page_bytes);
    if (share->thread == 0)
        sum->faults += simt_load_u32(&h->map->spare, relaxed) > h->pages.count ||
                       (share->idle && simt_load_u32(&h->map->put_off, relaxed) != 0);
}

#define quarry_plain_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_plain_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_plain *h = (struct quarry_plain *)heap;
    h->map = (struct quarry_plain_map *)quarry_layout_section(l, "map", sizeof *h->map, QUARRY_SECTION_ALIGN);
    h->used = (uint32_t *)quarry_layout_section(l, "used", l->pages * sizeof *h->used, QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result quarry_plain_layout(enum quarry_plain_bug bug, struct quarry_plain *h,
                                                           struct quarry_layout *l)
{
    enum quarry_layout_result result = quarry_layout_fit(l, quarry_plain_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    if (bug == QUARRY_PLAIN_NARROW && l->page_bytes > QUARRY_PAGE_UNIT)
        h->pages = quarry_pages_make(l->places, l->page_bytes - QUARRY_PAGE_UNIT, (uint32_t)l->pages);
    if (bug == QUARRY_PLAIN_CROOKED)
        h->pages.base += 8;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
