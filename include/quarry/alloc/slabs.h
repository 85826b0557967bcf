/* SPDX-License-Identifier: Apache-2.0 */
/* slabs: chunks of slots of one size, which hints lead to.  One allocator, `quarry`.
 *
 * The pool is cut into chunks.  A chunk that is in use is bound to a size class, and has slots of that size; when none
 * is live it can be bound to another one.  A larger block is a row of chunks.  The pool's map, who may change what, and
 * the orders: alloc/slabs/slabs_map.h.  Why NULL is only returned from a full heap: alloc/slabs/slabs_sweep.h.  Steps
 * 1 and 2 and free are here, 4 at its cheapest in alloc/slabs/slabs_gather.h, the others in alloc/slabs/slabs_more.h.
 *
 *   malloc  of a class, for lanes that come together:
 *           1. A hint: a word that had free slots when this warp, or who had its number before, last saw it.  One OR
 *              takes as many as are wanted.
 *           2. A cursor: one add, for slots of a chunk that nobody has used yet since it was bound.
 *              Behind its first chunk a cursor may have a trail: the add gives numbers on that, and who has some binds
 *              the chunk that they lead to (quarry_slabs_follow).  It ends where mallocs of small sizes go on.
 *           3. The cursor has none left: one group looks at a few kinds, binds a free chunk, and fills it.  If the warp
 *              wants one class, a short function does it in as few steps as can be, once (quarry_slabs_refill).  Of
 *              several classes each has a lane that does this, all at the same time.  From here on all lanes of the
 *              warp look for one class after the other.
 *           4. There seems to be no free chunk.  A warp of one class looks where its last frees left hints
 *              (quarry_slabs_recall_all); of several classes each has a lane that looks at chunks that are known of it
 *              (quarry_slabs_gather), and all look which larger class has slots in many chunks (quarry_slabs_seek).
 *              Then all lanes look at chunks of the class, and at what other warps' hints lead to, and take slots that
 *              were freed.  Then they close a chunk of another class without a live slot.
 *           5. Sweep with all others that get here.  It finds what fits, closes chunks without a live slot, takes from
 *              cursors what they have left, or proves that there is nothing.  A slot of a larger class serves, too.
 *              From then on step 4 of the class that got it takes slots of the larger one first, as after seek, until
 *              there are none, or a chunk for the class itself.
 *   free    Clear the slot's bit.  Lanes whose slots are in one word do it together, and the word becomes the hint of
 *           this warp; each of several words of a class, if that is barren.  Nobody counts, and nobody looks whether
 *           the chunk is empty now.
 *   large   Find a row of free chunks, and claim each; else sweep.
 *
 * docs/reference/alloc/slabs.md has the drawing, and what else was considered. */
#ifndef QUARRY_ALLOC_SLABS_H
#define QUARRY_ALLOC_SLABS_H

#include "quarry/alloc/alloc.h"
#include "quarry/alloc/slabs/slabs_map.h"
#include "quarry/alloc/slabs/slabs_slots.h"
#include "quarry/alloc/slabs/slabs_gather.h"
#include "quarry/alloc/slabs/slabs_more.h"
#include "quarry/alloc/slabs/slabs_census.h"

#define QUARRY_SLABS_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES)

/* Steps 1 and 2.
 *   size    the caller's class; of who wants a row of chunks: h->classes, which has none here
 *   group   lanes of `all` whose size is the same
 *   hint    of the caller's warp and class, and what it held just before
 *   spread  of the class
 *   *left   whether lanes of `all` have none
 *   *asked  of a group's first lane: as quarry_slabs_add, if it has added
 * Returns the caller's block or NULL.  Scope: `all`. */
SIMT_FN void *quarry_slabs_new(const struct quarry_slabs *h, uint32_t all, uint32_t group, uint32_t size,
                               uint64_t *hint, uint64_t seen, uint32_t spread, int *left, uint32_t *asked)
{
    const uint32_t leader = simt_ctz_u32(group), k = simt_rank(group);
    uint32_t bits = 0, id = (uint32_t)(seen >> 32);
    void *block = SIMT_NULL;
    const int whole =
        all == SIMT_ALL_LANES && group == all && size < h->classes && simt_all(all, (uint32_t)seen == ~0u);
    if (whole) { /* a word for a warp: each lane knows its slot */
        if (k == 0) {
            uint32_t clear;
            bits = quarry_slabs_or_once(quarry_slabs_hinted(h, id), ~0u, size, &clear);
            simt_store_u64(hint, (uint64_t)id << 32, relaxed);
        }
        id = simt_shuffle_u32(all, id, 0);
        if (simt_shuffle_u32(all, bits, 0) == ~0u) {
            *left = 0;
            simt_sync(all); /* what the first acquired, each has */
            return quarry_slabs_block(h, quarry_slabs_first(h, id) + simt_lane(), size);
        }
    }
    if (!whole && k == 0 && (uint32_t)seen && size < h->classes) {
        uint32_t clear = (uint32_t)seen, wants = simt_popc_u32(group);
        /* A part of what the warp wants would be a step more if the class is barren: step 4 looks at this, too. */
        if (group != all || simt_popc_u32(clear) >= wants ||
            (spread & (QUARRY_SLABS_BARREN | QUARRY_SLABS_LARGERS)) != QUARRY_SLABS_BARREN) {
            bits = quarry_slabs_or(quarry_slabs_hinted(h, id), &clear, size, wants);
            simt_store_u64(hint, (uint64_t)id << 32 | clear, relaxed);
        }
    }
    id = simt_shuffle_u32(all, id, leader);
    bits = simt_shuffle_u32(all, bits, leader);
    if (k < simt_popc_u32(bits))
        block = quarry_slabs_slot(h, id >> h->word_log,
                                  (id & ((1u << h->word_log) - 1u)) * QUARRY_SLABS_BITS +
                                      quarry_kth_of_run_u32(bits, k + 1u),
                                  size);
    *left = simt_any(all, !block);
    if (*left && simt_any(all, !(spread & QUARRY_SLABS_BARREN))) {
        uint32_t cursor = spread & QUARRY_SLABS_BARREN
                              ? QUARRY_NO_PAGE
                              : quarry_slabs_own_cursor(h, size, quarry_slabs_used(spread));
        uint64_t place = quarry_slabs_draw(h, all, group, cursor, size, block ? 0 : QUARRY_SLABS_NONE, asked);
        if (!block && place != QUARRY_SLABS_NONE)
            block = quarry_slabs_block(h, place, size);
        *left = simt_any(all, !block);
    }
    simt_sync(all); /* what one acquired, each has */
    return block;
}

/* ---- malloc and free ---- */

/* Most of what few mallocs need is out of line, each step a function of its own.  What puts these in order is not:
 * registers that a function keeps over its calls add to those of its callers, and a kernel that keeps values over a
 * malloc would have three more.  In the switch over all allocators the whole malloc is out of line.  What all these get
 * is the pool's copy of the heap's struct: if the address of the handle's went out, a kernel would copy its handle into
 * local memory at every malloc. */
#ifdef QUARRY_ALLOCATOR
#define QUARRY_SLABS_TAKE_FN SIMT_FN
#define QUARRY_SLABS_OF(h) (h)
#else
#define QUARRY_SLABS_TAKE_FN SIMT_NOINLINE_FN
#define QUARRY_SLABS_OF(h) quarry_slabs_copy(h, simt_sm())
#endif

/* Steps 3 to 5 for all lanes of the warp that ask this heap.  First what all classes of a warp do at the same time;
 * then one class after the other, and all lanes look.
 *   size    the caller's class; or, for a large block, h->classes and its chunks
 *   spread, first   as quarry_slabs_recall_all; spread of a large block: whatever
 *   block   what the caller has, or NULL
 * Returns the caller's block. */
SIMT_FN void *quarry_slabs_more_of(const struct quarry_slabs *h, uint32_t all, uint32_t size, uint32_t spread,
                                   uint32_t first, void *block)
{
    block = quarry_slabs_recall_all(h, all, size, spread, first, block);
    if (!simt_any(all, !block))
        return block;
    uint32_t group = simt_match_u32(all, size);
    const int several = simt_any(all, group != all);
    if (several)
        block = quarry_slabs_gather(h, all, size, 1, block);
    uint64_t place = block ? 0 : QUARRY_SLABS_NONE;
    uint32_t wants = simt_ballot(all, !block), before = 0;
    SIMT_ROLLED
    for (uint32_t tries = 0; several && tries < QUARRY_SLABS_FILLS && wants != before; tries++) {
        before = wants;
        place = quarry_slabs_fill_each(h, all, group, size, tries, place);
        wants = simt_ballot(all, place == QUARRY_SLABS_NONE);
    }
    if (!block && place != QUARRY_SLABS_NONE)
        block = quarry_slabs_block(h, place, size);
    simt_sync(all);                       /* what one acquired, each has */
    if (several && simt_any(all, !block)) /* some of its classes may be barren only now */
        block = quarry_slabs_seek(h, all, size, block);
    if (several && simt_any(all, !block))
        block = quarry_slabs_gather(h, all, size, QUARRY_SLABS_GATHERS, block);
    if (!simt_any(all, !block))
        return block;
    struct quarry_slabs_need need;
    need.slabs = h;
    need.group = all;
    need.its_size = size;
    need.its_block = block;
    need.held = 0;
    need.dense = 0;
    need.left = simt_ballot(all, !block);
    SIMT_ROLLED
    while (need.left) {
        uint32_t its = need.left >> simt_lane() & 1u ? need.its_size : ~0u;
        uint32_t next = simt_reduce_min_u32(need.group, its);
        need.class_ = next < need.slabs->classes ? next : need.slabs->classes;
        need.chunks = next - need.class_;
        need.left &= ~simt_ballot(need.group, next == need.its_size);
        need.place = next == need.its_size && !need.its_block ? QUARRY_SLABS_NONE : 0;
        quarry_slabs_look_for(&need);
        simt_sync(need.group); /* what one acquired, each has: also a chunk's kind */
        if (quarry_slabs_still(&need))
            need.left = 0; /* who finds nothing for a size finds nothing for larger ones */
        if (need.its_block || need.class_ + need.chunks != need.its_size || need.place == QUARRY_SLABS_NONE)
            continue;
        /* Whoever has a slot of a chunk reads the chunk's class right, also while it moves. */
        uint32_t class_ = need.class_;
        if (need.wide)
            class_ = quarry_slabs_kind_class(quarry_slabs_kind(need.slabs, (uint32_t)(need.place >> 16)));
        need.its_block = quarry_slabs_block(need.slabs, need.place, class_);
    }
    return need.its_block;
}

/* A block, or NULL.  The loads of step 1 don't wait until lanes know whom they go with: all lanes load what their
 * group's first one needs, which is one place for a class, too. */
QUARRY_SLABS_TAKE_FN void *quarry_slabs_take_block(const struct quarry_slabs *h, uint64_t bytes)
{
    uint32_t size = quarry_slabs_class(h, bytes), spread = QUARRY_SLABS_BARREN, group, all;
    uint64_t *hint = quarry_slabs_hint(h, size, simt_thread() / SIMT_LANES);
    uint64_t seen = simt_load_u64(hint, relaxed);
    void *block;
    uint32_t asked = 0;
    int left;
    if (size < h->classes)
        spread = simt_load_u32(&h->spread[size], cached); /* an old one does no harm */
    all = quarry_group_alike(h->kinds, QUARRY_SITE_SLABS_MALLOC, size, &group);
    if (all == SIMT_ALL_LANES) /* a mask that the compiler knows: another has 5 instructions more */
        block = quarry_slabs_new(h, SIMT_ALL_LANES, group, size, hint, seen, spread, &left, &asked);
    else
        block = quarry_slabs_new(h, all, group, size, hint, seen, spread, &left, &asked);
    if (left) {
        uint64_t place = QUARRY_SLABS_NONE;
        uint32_t first = (uint32_t)(seen >> 32); /* kept over no call: a register less */
        if (simt_any(all, (asked & QUARRY_SLABS_NUMBERS) != 0)) {
            place = quarry_slabs_follow_class(h, all, group, size, spread, asked, first, block);
            first = QUARRY_NO_PAGE;
            spread = 0;
        } else {
            uint32_t wants = simt_ballot(all, !block);
            group = simt_shuffle_u32(all, group, simt_ctz_u32(wants));
            uint32_t its = simt_shuffle_u32(all, spread, simt_ctz_u32(group));
            if ((wants & ~group) == 0 &&
                !(its & QUARRY_SLABS_BARREN)) { /* one class; of large blocks it is */
                asked = simt_shuffle_u32(all, asked, simt_ctz_u32(group));
                place = quarry_slabs_refill_class(h, all, simt_shuffle_u32(all, size, simt_ctz_u32(group)),
                                                  its, asked, wants);
                first = QUARRY_NO_PAGE;
                spread = 0;
            }
        }
        if (!block && place != QUARRY_SLABS_NONE)
            block = quarry_slabs_block(h, place, size);
        if (simt_any(all, !block)) {
            if (size >= h->classes)
                size = h->classes + quarry_page_count(&h->pages, bytes);
            block = quarry_slabs_more_of(quarry_slabs_copy(h, simt_sm()), all, size, spread, first, block);
        }
    }
    return block;
}

/* Progress: steps 1 to 4 wait for nobody, but for a bounded time for who fills a cursor; on a heap that seems full, as
 * quarry_sweep_search. */
SIMT_FN void *quarry_slabs_malloc(const struct quarry_slabs *h, struct quarry_context *context,
                                  uint64_t bytes)
{
    quarry_step(context);
    return quarry_slabs_take_block(QUARRY_SLABS_OF(h), bytes);
}

/* Frees a large block, by any address in it. */
SIMT_FN void quarry_slabs_free_row(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind)
{
    uint32_t first = quarry_slabs_head(h, chunk, &kind), chunks = quarry_slabs_more(kind);
    /* Order: what the caller did, before the chunks are free.  Of two who free the block one does it. */
    int live = chunks != 0 && chunks <= h->pages.count - first && quarry_slabs_hold(h, first, kind, 0);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    SIMT_ROLLED
    for (uint32_t i = chunks; i > 0; i--)
        quarry_slabs_let_go(h, first + i - 1u, QUARRY_SLABS_IS_FREE, 0, 0);
}

/* Frees the slots of all lanes of `all`. */
SIMT_FN void quarry_slabs_give(const struct quarry_slabs *h, uint32_t all, const struct quarry_slabs_where *w)
{
    uint32_t id = quarry_slabs_id(h, quarry_slabs_place(w->page, w->slot)), group = simt_match_u32(all, id);
    uint32_t bits = quarry_share_or_u32(all, group, 1u << w->slot % QUARRY_SLABS_BITS);
    uint32_t class_ = quarry_slabs_kind_class(w->kind), spread = 0;
    uint64_t *hint = quarry_slabs_hint(h, class_, simt_thread() / SIMT_LANES);
    const int several = !simt_all(all, group == all);
    int leads = simt_rank(group) == 0;
    if (several) /* nobody waits for it before the fence; an old one does no harm */
        spread = simt_load_u32(&h->spread[class_], cached);
    simt_sync(all); /* what each did, before the first lane's release */
    if (leads) {
        QUARRY_ASSERT_LIVE(simt_popc_u32(bits) == simt_popc_u32(group));          /* each lane another slot */
        (void)simt_and_u64(quarry_slabs_hinted(h, id), ~(uint64_t)bits, release); /* pairs with takes */
    }
    if (several && simt_any(all, (spread & QUARRY_SLABS_BARREN) != 0)) {
        uint32_t its = simt_ballot(all, leads) & simt_match_u32(all, class_), last = 31u - simt_clz_u32(its);
        uint32_t begin = simt_shuffle_u32(all, id, last);
        if (leads && (spread & QUARRY_SLABS_BARREN) && simt_popc_u32(its) > 1u) {
            simt_store_u64(quarry_slabs_hint_of(h, class_, begin, simt_rank(its)), (uint64_t)id << 32 | bits,
                           relaxed);
            leads = simt_lane() == last;
        }
    }
    if (leads)
        simt_store_u64(hint, (uint64_t)id << 32 | bits, relaxed);
    simt_sync(all); /* none goes on whose slot still looks taken */
}

/* Progress: lanes of a warp that free slots of a word together wait for each other, and for nobody else. */
SIMT_FN void quarry_slabs_free(const struct quarry_slabs *h, void *block)
{
    uint32_t page = quarry_slabs_page(h, block);
    uint64_t kind = page == QUARRY_NO_PAGE ? 0 : simt_load_u64(&h->kinds[page], cached);
    struct quarry_slabs_where w = quarry_slabs_place_of(h, block, page, kind);
    if (w.page != QUARRY_NO_PAGE && quarry_slabs_state(w.kind) == QUARRY_SLABS_IS_LARGE) {
        quarry_slabs_free_row(h, w.page, w.kind);
        return;
    }
    QUARRY_ASSERT_LIVE(quarry_slabs_is_live(h, &w));
    if (!w.is_slot)
        return;
    uint32_t all = quarry_group(h->kinds, QUARRY_SITE_SLABS_FREE);
    if (all == SIMT_ALL_LANES) /* as in quarry_slabs_take_block */
        quarry_slabs_give(h, SIMT_ALL_LANES, &w);
    else
        quarry_slabs_give(h, all, &w);
}

#define quarry_slabs_settle QUARRY_NOTHING_TO_SETTLE

/* Makes two blocks of the caller's row of chunks: the second begins with chunk `at`. */
SIMT_FN void quarry_slabs_cut(const struct quarry_slabs *h, uint32_t first, uint32_t at, uint32_t end)
{
    quarry_slabs_let_go(h, at, QUARRY_SLABS_IS_LARGE, 0, end - at);
    quarry_slabs_let_go(h, first, QUARRY_SLABS_IS_LARGE, 0, at - first);
}

/* The trim of alloc.h: chunks before the user's become a block of their own, and are freed; likewise those behind.  A
 * slot stays as it is. */
SIMT_FN void quarry_slabs_trim(const struct quarry_slabs *h, void *block, void *user, uint64_t bytes)
{
    uint32_t row = quarry_page_index(&h->pages, block), first = quarry_page_index(&h->pages, user);
    uint64_t kind = quarry_slabs_kind(h, row);
    uint32_t last = quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1u);
    uint32_t end = row + quarry_slabs_more(kind);
    if (quarry_slabs_state(kind) != QUARRY_SLABS_IS_LARGE)
        return;
    if (first > row) {
        quarry_slabs_cut(h, row, first, end);
        quarry_slabs_free_row(h, row, quarry_slabs_kind(h, row));
    }
    if (last + 1u < end) {
        quarry_slabs_cut(h, first, last + 1u, end);
        quarry_slabs_free_row(h, last + 1u, quarry_slabs_kind(h, last + 1u));
    }
}

#if SIMT_HAS_HOST
#define QUARRY_SLABS_MOST_BYTES (1u << 18) /* of a chunk, unless the user says so */
#define QUARRY_SLABS_PAGE_BYTES (1u << 16) /* the same where only the number of chunks is known */
#define QUARRY_SLABS_LEAST_BYTES (1u << 10)
#define QUARRY_SLABS_SMALL_BYTES (1u << 14) /* has 64 slots of 256 bytes, those of two warps */
#define QUARRY_SLABS_DEBUG_UNIT 128u        /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_SLABS_COPIES 128u /* of the heap's struct, at most: a multiprocessor's warps read one */
/* A class has at most one cursor for 16 chunks.  In a heap of THIN chunks and more, if they have at most THIN_BYTES, it
 * has one for 32: so .98 of the heap is left for blocks. */
#define QUARRY_SLABS_CURSORS 2048u /* of a class, at most */
#define QUARRY_SLABS_THIN_BYTES (1u << 15)
#define QUARRY_SLABS_THIN 512u
SIMT_STATIC_ASSERT(QUARRY_SLABS_CURSORS <= QUARRY_SLABS_USED + 1u, "a spread has room");
#define QUARRY_SLABS_HINTS (1u << 22) /* hints, at most; and at most about a 256th of the heap's bytes */
#define QUARRY_SLABS_SPARE (1u << 30) /* bytes: of heaps that have fewer a 512th */
#define QUARRY_SLABS_KNOWS 256u /* chunks that are known of a class, at most; and half as many as cursors */

/* The classes of chunks of h->units units: no slot has more than half of them. */
SIMT_HOST_FN void quarry_slabs_set_classes(struct quarry_slabs *h)
{
    uint32_t each = 1u << QUARRY_SLABS_STEPS;
    h->steps = each;
    for (h->stepped = each; 64u * h->stepped < h->units; h->stepped *= 2u)
        h->steps += each;
    h->by = h->steps + (h->units > h->stepped ? h->units / (h->stepped + 1u) : 1u);
    h->classes = h->by - 1u;
    while (h->classes > 0 && h->classes <= h->steps && 2u * QUARRY_SLABS_STEPPED(h->classes - 1u) > h->units)
        h->classes--;
}

/* The chunk for a pool of so many bytes: 2048 chunks or a few less, if that leaves 16 KiB for each, and at least 30. */
SIMT_HOST_FN uint64_t quarry_slabs_chunk_bytes(uint64_t pool)
{
    uint64_t bytes = QUARRY_SLABS_MOST_BYTES;
    while (bytes > QUARRY_SLABS_SMALL_BYTES && bytes > (pool + pool / 8u) / 2048u)
        bytes /= 2u;
    while (bytes > QUARRY_SLABS_LEAST_BYTES && bytes > pool / 30u)
        bytes /= 2u;
    return bytes;
}

/* The greatest power of two up to x and `most`; 1 if x is 0. */
SIMT_HOST_FN uint32_t quarry_slabs_power(uint64_t x, uint32_t most)
{
    uint32_t power = 1;
    while (power < most && 2u * (uint64_t)power <= x)
        power *= 2u;
    return power;
}

SIMT_STATIC_ASSERT(sizeof(struct quarry_slabs) <= QUARRY_SLABS_COPY, "a copy has room");

SIMT_HOST_FN void quarry_slabs_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_slabs *h = (struct quarry_slabs *)heap;
    uint64_t pages = l->pages + l->pages / 16u; /* a power of two, if the pool has as many bytes */
    uint64_t bytes = pages * l->page_bytes, share = bytes < QUARRY_SLABS_SPARE ? 512u : 256u;
    uint64_t thin = pages >= QUARRY_SLABS_THIN && l->page_bytes <= QUARRY_SLABS_THIN_BYTES ? 2u : 1u;
    h->cursors = quarry_slabs_power(pages / (16u * thin), QUARRY_SLABS_CURSORS);
    h->trails = 1;
    while (h->trails < h->cursors && 16u * (uint64_t)h->trails * h->classes <= l->pages)
        h->trails *= 2u;
    h->bound = h->trails * h->classes;
    if (l->pages < QUARRY_SLABS_MANY || h->bound > l->pages / 8u)
        h->bound = 0;
    h->hints = quarry_slabs_power(bytes / share / sizeof *h->hint, QUARRY_SLABS_HINTS);
    for (h->hint_log = 0; h->hints >> h->hint_log > QUARRY_SLABS_HINT_ROW;)
        h->hint_log++;
    h->knows = quarry_slabs_power(pages / (32u * thin), QUARRY_SLABS_KNOWS);
    uint64_t cursors = (uint64_t)h->classes * h->cursors, known = (uint64_t)h->classes * h->knows;
    h->parts = quarry_layout_parts(l->pages + QUARRY_SLABS_ROWS(h), QUARRY_SLABS_PART, QUARRY_SLABS_PART);
    h->copies = quarry_slabs_power(l->pages / (16u * thin), QUARRY_SLABS_COPIES);
    h->self = (unsigned char *)quarry_layout_section(l, "self", h->copies * QUARRY_SLABS_COPY,
                                                     QUARRY_SECTION_ALIGN);
    h->sweep =
        (struct quarry_sweep *)quarry_layout_section(l, "sweep", sizeof *h->sweep, QUARRY_SECTION_ALIGN);
    h->kinds =
        (uint64_t *)quarry_layout_section(l, "kinds", l->pages * sizeof *h->kinds, QUARRY_SECTION_ALIGN);
    h->cursor =
        (uint64_t *)quarry_layout_section(l, "cursors", cursors * sizeof *h->cursor, QUARRY_SECTION_ALIGN);
    h->spread = (uint32_t *)quarry_layout_section(l, "spread", 2u * (h->classes + 1u) * sizeof *h->spread,
                                                  QUARRY_SECTION_ALIGN);
    h->found = h->spread + h->classes + 1u;
    h->hint = (uint64_t *)quarry_layout_section(l, "hints", h->hints * sizeof *h->hint, QUARRY_SECTION_ALIGN);
    h->known = (uint32_t *)quarry_layout_section(l, "known", known * sizeof *h->known, QUARRY_SECTION_ALIGN);
    h->words = (uint64_t *)quarry_layout_section(l, "words", l->pages * h->stride * sizeof *h->words,
                                                 QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
    h->page_log = 0;
    for (uint32_t i = 1; i < 32u; i++)
        if (h->pages.page_bytes == 1u << i)
            h->page_log = i;
}

SIMT_HOST_FN enum quarry_layout_result quarry_slabs_layout(struct quarry_slabs *h, struct quarry_layout *l)
{
    uint64_t standard = l->pages ? QUARRY_SLABS_PAGE_BYTES : quarry_slabs_chunk_bytes(l->bytes);
    uint32_t unit;
    enum quarry_layout_result result = quarry_layout_unit(l, standard, QUARRY_SLABS_DEBUG_UNIT, &unit);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    h->unit_log = 0;
    while (1u << h->unit_log < unit)
        h->unit_log++;
    h->units = (uint32_t)(quarry_round_up(l->page_bytes, unit) >> h->unit_log);
    h->stride = QUARRY_SLABS_WORDS(h->units);
    for (h->word_log = 0; 1u << h->word_log < h->stride;)
        h->word_log++;
    quarry_slabs_set_classes(h);
    uint32_t most = UINT32_MAX >> h->word_log; /* words have numbers of 32 bits */
    result = quarry_layout_fit_units(l, quarry_slabs_sections, h,
                                     most < QUARRY_SLABS_MOST ? most : QUARRY_SLABS_MOST, unit);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->max_block = l->pages * h->pages.page_bytes;
    l->free_reach = l->max_block; /* a free finds the block by any address in it */
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
