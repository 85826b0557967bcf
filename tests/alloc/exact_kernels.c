/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/exact_kernels.h"

/* Families, of some of which this test knows the inside. */
enum exact_family {
#define QUARRY_FAMILY_ENTRY(family) EXACT_##family,
#include "quarry/alloc/list.def"
    EXACT_FAMILIES
};

/* No switch: the cases of a family's allocators would be alike. */
SIMT_FN enum exact_family exact_family(const struct exact_case *a)
{
#define QUARRY_ALLOCATOR_ENTRY(id, name, family, ...)                                                        \
    if (a->heap.allocator == QUARRY_NUMBER_##id)                                                             \
        return EXACT_##family;
#include "quarry/alloc/list.def"
    return EXACT_FAMILIES;
}

/* The bitmap of the allocators that have one; else NULL. */
SIMT_FN const struct quarry_bitmap *exact_bitmap(const struct exact_case *a)
{
    return exact_family(a) == EXACT_walk ? &a->heap.as.walk.map : SIMT_NULL;
}

SIMT_FN void exact_hold(const struct exact_case *a, struct quarry_random *r)
{
    uint32_t n = quarry_random_below(r, a->hold + 1);
    for (uint32_t i = 0; i < n; i++)
        (void)simt_load_u32(a->over, relaxed);
}

/* A malloc without a past: crw's would go on where the page was last. */
SIMT_FN void *exact_ask(const struct exact_case *a)
{
    struct quarry_context context = quarry_context_start();
    return quarry_malloc_with(a->heap, &context, a->bytes);
}

/* ---- move ---- */

SIMT_FN int exact_is_over(const struct exact_case *a)
{
    return simt_load_u32(a->over, relaxed) == a->askers;
}

/* Takes up to `want` free pages of the hole's word at once.  It marks them as the unlock does, and stalls
 * before that: a proof must wait for it.  Returns how many. */
SIMT_FN uint32_t exact_take_bits(const struct exact_case *a, struct quarry_random *r,
                                 const struct quarry_bitmap *map, uint32_t hole, uint32_t want, void **block)
{
    uint32_t word = hole >> map->word_shift, got = 0;
    uint64_t given = 0;
    if (!quarry_bitmap_lock(map, word))
        return 0;
    for (uint64_t spare = ~quarry_bitmap_load_acquire(map, word); spare && got < want; spare &= spare - 1) {
        given |= spare & (0 - spare);
        block[got++] = quarry_page_address(&map->pages, (word << map->word_shift) + simt_ctz_u64(spare));
    }
    quarry_bitmap_or(map, word, given);
    exact_hold(a, r);
    quarry_bitmap_unlock(map, word, given);
    return got;
}

/* Takes a block in the page, or from it on. */
SIMT_FN uint32_t exact_take_scatter(const struct exact_case *a, struct quarry_random *r, uint32_t page,
                                    void **block)
{
    const struct quarry_scatter *h = &a->heap.as.scatter;
    struct quarry_scatter_request q = quarry_scatter_ask(&h->table, a->mover_bytes);
    exact_hold(a, r);
    if (q.pages > 1) {
        *block = quarry_page_address(&h->table.pages, page);
        return quarry_scatter_take_pages(h, page, q.pages) ? 1 : 0;
    }
    uint64_t word = simt_load_u64(&h->table.words[page], relaxed);
    uint64_t next = 0;
    struct quarry_scatter_taken t =
        quarry_scatter_take(&h->table, &q, page, word, quarry_scatter_room(&q, word) != 0, &next);
    quarry_scatter_divide(&h->table, 1u << simt_lane(), 1u << simt_lane(), page, q.most, next);
    if (quarry_scatter_taken_count(&t))
        *block = quarry_scatter_cell(&h->table, page, &t, 0);
    return quarry_scatter_taken_count(&t);
}

/* Takes up to `want` free pages of the hole's word, each by a look of either kind.  Returns how many. */
SIMT_FN uint32_t exact_take_runs(const struct exact_case *a, struct quarry_random *r, uint32_t hole,
                                 uint32_t want, void **block)
{
    const struct quarry_runs *map = &a->heap.as.runs;
    uint32_t group = 1u << simt_lane(), word = hole / QUARRY_RUNS_BITS, got = 0, page;
    enum quarry_runs_seen saw;
    int some;
    do {
        page = quarry_random_below(r, 2) ? quarry_runs_take_row(map, group, word, 1, &saw)
                                         : quarry_runs_take(map, group, word, 1, &some);
        if (page != QUARRY_NO_PAGE)
            block[got++] = quarry_page_address(&map->pages, page);
    } while (page != QUARRY_NO_PAGE && got < want);
    return got;
}

/* Takes up to `want` pages of the hole, or, of an allocator that is not known here, any.  Returns how many.
 */
SIMT_FN uint32_t exact_take(const struct exact_case *a, struct quarry_random *r, uint32_t hole, uint32_t want,
                            void **block)
{
    const struct quarry_bitmap *map = exact_bitmap(a);
    const struct quarry_rw *rw = &a->heap.as.rw;
    const enum exact_family family = exact_family(a);
    uint32_t got = 0;
    if (map)
        return exact_take_bits(a, r, map, hole, want, block);
    if (family == EXACT_runs)
        return exact_take_runs(a, r, hole, want, block);
    if (family == EXACT_scatter && a->mover_bytes)
        return exact_take_scatter(a, r, hole, block);
    if (family == EXACT_rw) {
        for (uint32_t page = hole; page < hole + a->pages && got < want; page++)
            if (quarry_rw_take(rw, r, page))
                block[got++] = quarry_page_address(&rw->pages, page);
        return got;
    }
    block[0] = exact_ask(a);
    if (!block[0])
        simt_add_u32(a->wrong, 1, relaxed);
    return block[0] ? 1 : 0;
}

SIMT_FN void exact_mover(const struct exact_case *a, struct quarry_random *r)
{
    void *block[EXACT_MOST_PAGES];
    for (uint32_t at = 0; !exact_is_over(a); at ^= 1u) {
        uint32_t got = exact_take(a, r, a->hole[at], a->pages, block);
        while (got < a->pages) { /* a prover has one of the hole's */
            simt_backoff();
            at ^= 1u;
            got += exact_take(a, r, a->hole[at], a->pages - got, block + got);
        }
        exact_hold(a, r);
        while (got)
            quarry_free(a->heap, block[--got]);
    }
}

/* The same with one page at a time, by two lanes: who takes it is not the one that announces the claim. */
SIMT_FN void exact_mover_pair(const struct exact_case *a, struct quarry_random *r)
{
    const struct quarry_runs *map = &a->heap.as.runs;
    const uint32_t group = 3;
    uint32_t at = 0, page = QUARRY_NO_PAGE;
    int some;
    while (!simt_any(group, exact_is_over(a))) {
        if (page != QUARRY_NO_PAGE)
            quarry_free(a->heap, quarry_page_address(&map->pages, page));
        for (;;) {
            page = quarry_runs_take(map, group, a->hole[at] / QUARRY_RUNS_BITS, simt_lane(), &some);
            at ^= 1u;
            if (simt_any(group, page != QUARRY_NO_PAGE))
                break;
            simt_backoff(); /* a prover has the hole's */
        }
        exact_hold(a, r);
    }
    if (page != QUARRY_NO_PAGE)
        quarry_free(a->heap, quarry_page_address(&map->pages, page));
}

SIMT_FN void exact_locker(const struct exact_case *a, struct quarry_random *r)
{
    const struct quarry_bitmap *map = exact_bitmap(a);
    while (map && !exact_is_over(a)) {
        uint32_t word = a->hole[quarry_random_below(r, 2)] >> map->word_shift;
        if (quarry_bitmap_lock(map, word)) {
            exact_hold(a, r);
            quarry_bitmap_unlock(map, word, 0);
        }
        exact_hold(a, r);
        simt_backoff();
    }
}

SIMT_FN void exact_prover(const struct exact_case *a)
{
    for (uint32_t turn = 0; turn < a->turns; turn++) {
        void *block = exact_ask(a);
        if (!block)
            simt_add_u32(a->wrong, 1, relaxed);
        quarry_free(a->heap, block);
    }
    simt_add_u32(a->over, 1, relaxed);
}

SIMT_KERNEL(exact_move, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    int pair = a.together && exact_family(&a) == EXACT_runs;
    if (simt_lane() >= (simt_block() == 2 && a.together ? a.askers : simt_block() == 0 && pair ? 2u : 1u))
        return;
    if (simt_block() == 0 && pair)
        exact_mover_pair(&a, &r);
    else if (simt_block() == 0)
        exact_mover(&a, &r);
    else if (simt_block() == 1)
        exact_locker(&a, &r);
    else
        exact_prover(&a);
}

/* ---- fail ---- */

SIMT_FN void exact_claimant(const struct exact_case *a, struct quarry_random *r)
{
    const struct quarry_runs *map = &a->heap.as.runs;
    int scatter = exact_family(a) == EXACT_scatter;
    uint32_t group = a->together ? 3u : 1u;
    while (!simt_any(group, exact_is_over(a))) {
        if (scatter ? quarry_scatter_take_pages(&a->heap.as.scatter, a->hole[0], 2)
                    : quarry_runs_claim(map, group, a->hole[0] - a->together, 2))
            simt_add_u32(a->wrong, 1, relaxed);
        exact_hold(a, r); /* a proof waits for claims: leave it time */
        simt_backoff();
    }
}

SIMT_KERNEL(exact_fail, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    if (simt_lane() > (simt_block() == 0 ? a.together : 0))
        return;
    if (simt_block() == 0)
        exact_claimant(&a, &r);
    else
        exact_prover(&a);
}

/* ---- regain ---- */

/* The page that an asker got: by the end of the call in which it did, it is in the box. */
SIMT_FN void *exact_fetch(const struct exact_case *a)
{
    for (uint32_t i = 0; i < a->askers; i++) {
        uint32_t before = simt_add_u32(&a->asked[i], 0, acquire);
        while (simt_load_u32(&a->asked[i], acquire) == before) /* pairs with the release in exact_asker */
            simt_backoff();
    }
    return (void *)(uintptr_t)simt_exchange_u64(a->box, 0, acquire);
}

SIMT_FN void exact_owner(const struct exact_case *a, struct quarry_random *r)
{
    void *block = *a->block;
    for (uint32_t turn = 0; turn < a->turns && block; turn++) {
        exact_hold(a, r);
        quarry_free(a->heap, block);
        block = exact_ask(a);
        if (!block)
            block = exact_fetch(a);
    }
    if (!block)
        simt_add_u32(a->wrong, 1, relaxed);
    *a->block = block;
    simt_store_u32(a->over, 1, relaxed);
}

SIMT_FN void exact_asker(const struct exact_case *a, uint32_t number)
{
    while (!simt_load_u32(a->over, relaxed)) {
        void *block = exact_ask(a);
        if (block)
            simt_exchange_u64(a->box, (uint64_t)(uintptr_t)block, release); /* pairs with exact_fetch */
        simt_add_u32(&a->asked[number], 1, release);
        simt_backoff();
    }
}

SIMT_KERNEL(exact_regain, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t number = a.together ? a.askers - simt_lane() : simt_block();
    if (simt_lane() > (a.together ? a.askers : 0))
        return;
    if (number == 0)
        exact_owner(&a, &r);
    else
        exact_asker(&a, number - 1u);
}

/* ---- swap ---- */

SIMT_KERNEL(exact_swap, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    if (simt_lane() >= a.askers)
        return;
    void **own = a.block + simt_block() * a.askers + simt_lane(), *block = *own;
    for (uint32_t turn = 0; turn < a.turns && block; turn++) {
        exact_hold(&a, &r);
        quarry_free(a.heap, block);
        block = exact_ask(&a);
    }
    if (!block)
        simt_add_u32(a.wrong, 1, relaxed);
    *own = block;
}

SIMT_KERNEL(exact_count, struct exact_case, a)
{
    int owner = simt_lane() + 1u == a.askers;
    if (simt_lane() >= a.askers)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        if (owner)
            quarry_free(a.heap, *a.block);
        uint64_t slots = quarry_available_slots(a.heap, a.bytes);
        if (owner) {
            *a.block = exact_ask(&a);
            if (slots == 0)
                simt_add_u32(a.wrong, 1, relaxed);
        }
    }
}

SIMT_KERNEL(exact_count_all, struct exact_case, a)
{
    if (simt_lane() >= a.askers)
        return;
    quarry_free(a.heap, a.block[simt_lane()]);
    if (quarry_available_slots(a.heap, a.bytes) == 0)
        simt_add_u32(a.wrong, 1, relaxed);
    simt_sync((1u << a.askers) - 1u);
    a.block[simt_lane()] = exact_ask(&a);
    if (!a.block[simt_lane()])
        simt_add_u32(a.wrong, 1, relaxed);
}

SIMT_KERNEL(exact_halves, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint64_t bytes = a.bytes * (simt_block() == 0 ? 1 : a.pages);
    for (uint32_t turn = 0; turn < a.turns && simt_lane() == 0; turn++) {
        void *block = quarry_malloc(a.heap, bytes);
        if (!block)
            simt_add_u32(a.wrong, 1, relaxed);
        exact_hold(&a, &r);
        quarry_free(a.heap, block);
    }
}

/* ---- all ---- */

SIMT_KERNEL(exact_all, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    if (simt_lane() != 0)
        return;
    if (simt_block() == 0) {
        void *block = SIMT_NULL;
        for (uint32_t turn = 0; turn < a.pages && !block; turn++) {
            exact_hold(&a, &r);
            block = quarry_malloc(a.heap, a.mover_bytes);
        }
        if (block)
            simt_store_u32(&a.asked[0], 1, relaxed);
        quarry_free(a.heap, block);
        return;
    }
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        void *block = quarry_malloc(a.heap, a.bytes);
        if (!block)
            simt_add_u32(&a.asked[1], 1, relaxed);
        exact_hold(&a, &r);
        quarry_free(a.heap, block);
    }
}

/* ---- join ---- */

SIMT_KERNEL(exact_join, struct exact_case, a)
{
    struct quarry_random r = quarry_random_start();
    if (simt_lane() != 0)
        return;
    exact_hold(&a, &r);
    for (uint32_t i = 0; i < 2 && simt_block() == 0; i++)
        quarry_free(a.heap, a.block[i]);
    void *block = quarry_malloc(a.heap, a.bytes);
    if (!block)
        simt_add_u32(a.wrong, 1, relaxed);
    a.block[2 + simt_block()] = block;
}

SIMT_KERNEL(exact_part, struct exact_case, a)
{
    if (simt_thread() != 0)
        return;
    quarry_free(a.heap, a.block[2]);
    quarry_free(a.heap, a.block[3]);
    for (uint32_t i = 0; i < 4; i++) { /* in the order of their addresses */
        void *chunk = quarry_malloc(a.heap, a.bytes / 2);
        uint32_t at = i;
        for (; at > 0 && (unsigned char *)a.block[at - 1] > (unsigned char *)chunk; at--)
            a.block[at] = a.block[at - 1];
        a.block[at] = chunk;
        if (!chunk)
            simt_add_u32(a.wrong, 1, relaxed);
    }
    for (uint32_t i = 2; i < 4; i++) {
        void *chunk = a.block[i - 2u * a.together]; /* the lower two, or the others */
        a.block[i - 2u * a.together] = a.block[i];
        a.block[i] = SIMT_NULL;
        quarry_free(a.heap, chunk);
    }
}

/* ---- numbers ---- */

SIMT_FN uint32_t exact_parts(const struct exact_case *a)
{
    const struct quarry_bitmap *map = exact_bitmap(a);
    return map ? map->parts : exact_family(a) == EXACT_rw ? a->heap.as.rw.parts : 0;
}

SIMT_FN uint64_t exact_number(const struct exact_case *a, uint32_t group, uint32_t kind, uint32_t part)
{
    const struct quarry_bitmap *map = exact_bitmap(a);
    struct quarry_random r = quarry_random_start();
    uint32_t page = QUARRY_NO_PAGE;
    int dirty = 0;
    uint64_t number = map ? quarry_bitmap_sweep_part(map, &r, group, kind, part, 1, &page, &dirty)
                          : quarry_rw_sweep_part(&a->heap.as.rw, &r, group, kind, part, 1, &page, &dirty);
    if (dirty)
        simt_add_u32(a->wrong, 1, relaxed);
    return simt_reduce_add_u64(group, number);
}

SIMT_KERNEL(exact_numbers, struct exact_case, a)
{
    uint32_t parts = exact_parts(&a);
    for (uint32_t width = 1; width < SIMT_LANES; width++) {
        uint32_t narrow = (1u << width) - 1u;
        for (uint32_t part = 0; part < parts; part++)
            for (uint32_t kind = 0; kind < 2; kind++) {
                uint64_t wide = exact_number(&a, SIMT_ALL_LANES, kind, part);
                if (simt_lane() < width && exact_number(&a, narrow, kind, part) != wide)
                    simt_add_u32(a.wrong, 1, relaxed);
                simt_sync(SIMT_ALL_LANES);
            }
    }
}

SIMT_KERNEL(exact_dirty, struct exact_case, a)
{
    const struct quarry_bitmap *map = exact_bitmap(&a);
    const struct quarry_pages *pages = map ? &map->pages : &a.heap.as.rw.pages;
    struct quarry_random r = quarry_random_start();
    uint32_t page = simt_lane() == 0 ? QUARRY_NO_PAGE : 0, told = 0;
    if (simt_lane() == 0)
        quarry_free(a.heap, *a.block);
    simt_sync(SIMT_ALL_LANES);
    for (uint32_t part = 0; part < exact_parts(&a); part++) {
        int dirty = 0;
        if (map)
            (void)quarry_bitmap_sweep_part(map, &r, SIMT_ALL_LANES, QUARRY_BITMAP_WORDS, part, 1, &page,
                                           &dirty);
        else
            (void)quarry_rw_sweep_part(&a.heap.as.rw, &r, SIMT_ALL_LANES, 0, part, 1, &page, &dirty);
        simt_sync(SIMT_ALL_LANES);
        told += dirty != 0;
    }
    if (told != 1 || page == QUARRY_NO_PAGE)
        simt_add_u32(a.wrong, 1, relaxed);
    if (simt_lane() == 0)
        *a.block = quarry_page_address(pages, page);
}

/* ---- count ---- */

/* Reads by changing nothing: so it sees the newest, whatever the memory model. */
SIMT_FN void exact_watch(const struct exact_case *a)
{
    const struct quarry_ring *h = &a->heap.as.ring;
    while (!exact_is_over(a)) {
        uint64_t counted = quarry_ring_spare(simt_add_u64(&h->head->spare, 0, relaxed)), numbers = 0;
        for (uint32_t i = 0; i <= h->mask; i++)
            numbers += simt_or_u32(&h->slot[i], 0, relaxed) != QUARRY_NO_PAGE;
        if (numbers < counted)
            simt_add_u32(a->wrong, 1, relaxed);
        simt_backoff();
    }
}

SIMT_KERNEL(exact_counted, struct exact_case, a)
{
    if (simt_block() != 0) {
        quarry_free(a.heap, a.block[simt_thread() - SIMT_LANES]);
        simt_add_u32(a.over, 1, relaxed);
    } else if (simt_lane() == 0) {
        exact_watch(&a);
    }
}
