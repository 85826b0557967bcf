/* SPDX-License-Identifier: Apache-2.0 */
/* first-fit: an allocator of blocks of several pages, small enough to see that it is right, and copies of it
 * with one bug each, to show that the suite finds such bugs of blocks of several units.
 *
 *     pool    | lock, hint | pages of block 0 | ... | page 0 | page 1 | ... | page n-1 |
 *     state   32 bits a page: 0 free; n: a block of n pages begins here; QUARRY_FIRST_FIT_INNER: it goes on
 *     hint    no page before this one is free
 *
 * Malloc takes the first run of free pages that is long enough.  Everything happens under the lock, frees
 * too, so NULL means that nothing fitted while it was held.
 *
 * Order.  lock: compare-exchange with acquire; unlock: store with release.  States are atomics for the sake
 * of find, which takes no lock. */
#ifndef QUARRY_TESTS_ALLOC_FIRST_FIT_H
#define QUARRY_TESTS_ALLOC_FIRST_FIT_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/pages.h"

#define QUARRY_FIRST_FIT_INNER 0xffffffffu

#define QUARRY_FIRST_FIT_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES)

enum quarry_first_fit_bug {
    QUARRY_FIRST_FIT_SOUND,
    QUARRY_FIRST_FIT_OVERLAP, /* a block's last page may be somebody else's */
    QUARRY_FIRST_FIT_FORGET,  /* free forgets the last page of several */
    QUARRY_FIRST_FIT_SPLIT,   /* find takes a block's last page for a block of its own */
    QUARRY_FIRST_FIT_VAGUE    /* slots count pages, not blocks */
};

struct quarry_first_fit_head {
    uint32_t lock;
    uint32_t hint;
};

struct quarry_first_fit {
    struct quarry_first_fit_head *head;
    uint32_t *state;
    struct quarry_pages pages;
};

SIMT_FN void quarry_first_fit_init(enum quarry_first_fit_bug bug, const struct quarry_first_fit *h,
                                   uint64_t thread, uint64_t threads)
{
    (void)bug;
    for (uint64_t p = thread; p < h->pages.count; p += threads)
        h->state[p] = 0;
    if (thread == 0) {
        h->head->lock = 0;
        h->head->hint = 0;
    }
}

SIMT_FN uint32_t quarry_first_fit_state(const struct quarry_first_fit *h, uint32_t page)
{
    return simt_load_u32(&h->state[page], relaxed);
}

SIMT_FN void quarry_first_fit_mark(const struct quarry_first_fit *h, uint32_t page, uint32_t state)
{
    simt_store_u32(&h->state[page], state, relaxed);
}

SIMT_FN void quarry_first_fit_lock(const struct quarry_first_fit *h)
{
    while (simt_cas_u32(&h->head->lock, 0, 1, acquire) != 0) /* pairs with quarry_first_fit_unlock */
        simt_backoff();
}

SIMT_FN void quarry_first_fit_unlock(const struct quarry_first_fit *h)
{
    simt_store_u32(&h->head->lock, 0, release);
}

/* How many pages from `page` on are free, up to `most`. */
SIMT_FN uint32_t quarry_first_fit_length(const struct quarry_first_fit *h, uint32_t page, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && page + n < h->pages.count && quarry_first_fit_state(h, page + n) == 0)
        n++;
    return n;
}

SIMT_FN uint32_t quarry_first_fit_pages(const struct quarry_first_fit *h, uint64_t bytes)
{
    return (uint32_t)((bytes + h->pages.page_bytes - 1) / h->pages.page_bytes);
}

SIMT_FN void *quarry_first_fit_malloc(enum quarry_first_fit_bug bug, const struct quarry_first_fit *h,
                                      struct quarry_context *context, uint64_t bytes)
{
    uint32_t n = quarry_first_fit_pages(h, bytes), page, length = 0;
    uint32_t wants = bug == QUARRY_FIRST_FIT_OVERLAP && n > 1 ? n - 1 : n;
    (void)context;
    quarry_first_fit_lock(h);
    uint32_t *hint = &h->head->hint;
    while (*hint < h->pages.count && quarry_first_fit_state(h, *hint) != 0)
        (*hint)++;
    for (page = *hint; page < h->pages.count; page += length + 1) {
        length = quarry_first_fit_length(h, page, wants);
        if (length == wants && page + n <= h->pages.count)
            break;
    }
    if (page < h->pages.count) {
        quarry_first_fit_mark(h, page, n);
        for (uint32_t i = 1; i < n; i++)
            quarry_first_fit_mark(h, page + i, QUARRY_FIRST_FIT_INNER);
    }
    quarry_first_fit_unlock(h);
    return page < h->pages.count ? quarry_page_address(&h->pages, page) : SIMT_NULL;
}

SIMT_FN void quarry_first_fit_free(enum quarry_first_fit_bug bug, const struct quarry_first_fit *h,
                                   void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    quarry_first_fit_lock(h);
    uint32_t n = quarry_first_fit_state(h, page);
    simt_assert(page < h->pages.count);
    simt_assert(n - 1 < QUARRY_FIRST_FIT_INNER - 1);
    if (bug == QUARRY_FIRST_FIT_FORGET && n > 1)
        n--;
    n = n < h->pages.count - page ? n : h->pages.count - page; /* blocks that overlap destroy it */
    for (uint32_t i = 0; i < n; i++)
        quarry_first_fit_mark(h, page + i, 0);
    if (page < h->head->hint)
        h->head->hint = page;
    quarry_first_fit_unlock(h);
}

SIMT_FN void quarry_first_fit_trim(enum quarry_first_fit_bug bug, const struct quarry_first_fit *h,
                                   void *block, void *user, uint64_t bytes)
{
    uint32_t page = quarry_page_index(&h->pages, block), first = quarry_page_index(&h->pages, user);
    uint32_t end = quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1) + 1u;
    (void)bug;
    quarry_first_fit_lock(h);
    uint32_t behind = page + quarry_first_fit_state(h, page);
    for (uint32_t i = page; i < behind; i++)
        if (i < first || i >= end)
            quarry_first_fit_mark(h, i, 0);
    quarry_first_fit_mark(h, first, end - first);
    if (page < first && page < h->head->hint)
        h->head->hint = page;
    if (end < behind && end < h->head->hint)
        h->head->hint = end;
    quarry_first_fit_unlock(h);
}

SIMT_FN enum quarry_place quarry_first_fit_find(enum quarry_first_fit_bug bug,
                                                const struct quarry_first_fit *h, const void *address,
                                                struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span), first = page, n;
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    while (first > 0 && quarry_first_fit_state(h, first) == QUARRY_FIRST_FIT_INNER)
        first--;
    n = quarry_first_fit_state(h, first);
    if (n == 0 || n == QUARRY_FIRST_FIT_INNER || page - first >= n) /* a block under way is free */
        return QUARRY_PLACE_FREE;
    if (bug == QUARRY_FIRST_FIT_SPLIT && page > first)
        return QUARRY_PLACE_LIVE;
    span->begin = (unsigned char *)quarry_page_address(&h->pages, first);
    span->bytes = n * h->pages.page_bytes;
    return QUARRY_PLACE_LIVE;
}

SIMT_FN void quarry_first_fit_census(enum quarry_first_fit_bug bug, const struct quarry_first_fit *h,
                                     uint64_t bytes, const struct quarry_census_share *share,
                                     struct quarry_census *sum)
{
    uint32_t wants = quarry_first_fit_pages(h, bytes);
    for (uint64_t p = share->thread; p < h->pages.count; p += share->threads) {
        uint32_t page = (uint32_t)p, n = simt_load_u32(&h->state[page], relaxed),
                 before = page ? simt_load_u32(&h->state[page - 1], relaxed) : 1;
        if (n == QUARRY_FIRST_FIT_INNER) {
            sum->faults += before == 0;
        } else if (n != 0) {
            sum->live_blocks++;
            sum->live_bytes += n * h->pages.page_bytes;
            sum->faults += n > h->pages.count - page;
            for (uint32_t i = 1; i < n && page + i < h->pages.count; i++)
                sum->faults += simt_load_u32(&h->state[page + i], relaxed) != QUARRY_FIRST_FIT_INNER;
        } else {
            sum->free_bytes += h->pages.page_bytes;
            if (bug == QUARRY_FIRST_FIT_VAGUE)
                sum->slots++;
            if (before == 0)
                continue; /* counted with the run's first */
            uint32_t length = quarry_first_fit_length(h, page, h->pages.count);
            uint64_t run = length * h->pages.page_bytes;
            sum->slots += bug == QUARRY_FIRST_FIT_VAGUE ? 0 : length / wants;
            sum->largest_free = sum->largest_free > run ? sum->largest_free : run;
        }
    }
    if (share->thread == 0 && share->idle)
        sum->faults += h->head->lock != 0 || h->head->hint > h->pages.count;
}

#define quarry_first_fit_settle QUARRY_NOTHING_TO_SETTLE

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_first_fit_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_first_fit *h = (struct quarry_first_fit *)heap;
    h->head = (struct quarry_first_fit_head *)quarry_layout_section(l, "lock", sizeof *h->head,
                                                                    QUARRY_SECTION_ALIGN);
    h->state =
        (uint32_t *)quarry_layout_section(l, "state", l->pages * sizeof *h->state, QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}

SIMT_HOST_FN enum quarry_layout_result
quarry_first_fit_layout(enum quarry_first_fit_bug bug, struct quarry_first_fit *h, struct quarry_layout *l)
{
    (void)bug;
    enum quarry_layout_result result = quarry_layout_page_bytes(l, 64);
    if (result == QUARRY_LAYOUT_OK)
        result = quarry_layout_fit(l, quarry_first_fit_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->max_block = l->pages * l->page_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
