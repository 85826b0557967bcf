/* SPDX-License-Identifier: Apache-2.0 */
/* ouro-p-s, ouro-p-va, ouro-p-vl, ouro-c-s, ouro-c-va, ouro-c-vl: queues of free pages, or of chunks with free pages,
 * one for each size, that grow by chunks.
 *
 * M. Winter, D. Mlakar, M. Parger, M. Steinberger, "Ouroboros: Virtualized Queues for Dynamic Memory Management on
 * GPUs", ICS 2020.  Two constants tell the family's allocators apart:
 *
 *     payload   P: the queues have pages.  C: they have chunks with free pages
 *     backing   S: a queue is an array of a fixed length
 *               VA: its slots lie in segments, which are chunks, and an array says where (core/segments.h)
 *               VL: the same, and the segments are a list
 *
 *     pool     | store | class 0, 1, ... | words | places | parked | live | returned | tokens | queues | chunk 0 | ...
 *     self     behind the store: a copy of the heap's struct, for functions that are not inlined
 *     class    a bulk semaphore, whose units are the free pages of the class; the ends of its two queues
 *     queue    of a class: free pages of it.  tokens: chunks with parked pages of it (core/chunk_pages.h)
 *     page     index: chunk << page_bits | page
 *     live     a bit for each page: it is a block; not of whole chunks, whose word says it.  C has none: what is not
 *              `parked` is a block, or about to be one
 *     word     of a chunk: its class, and more (core/chunk_pages.h, core/chunk_masks.h)
 *
 * With the payload C all free pages are parked, and many take of one chunk at once: core/chunk_masks.h has
 * the algorithm and its argument.  `tokens` are its queues there: the first one is of late chunks, the others are those
 * of the classes or, where these lie in segments, one of strays.  What follows is of P, but for the last class, the way
 * segments come back, and the full heap.
 *
 * A heap's page (option page_bytes) is a chunk here.  Sizes: core/classes.h.  Larger blocks: ouro/ouro_runs.h.  The
 * last class has whole chunks, which the store (core/chunks.h) gives and takes back itself.  For the others:
 *
 *     malloc   asks the semaphore for as many pages as lanes of the warp want one of this class; draws as many
 *              tickets, and takes the pages out of the queue.  Who is to make a batch takes a chunk from the
 *              store, keeps what its own lanes need, puts the other pages into the queue, and then signals
 *     free     draws tickets, puts the pages into the queue, then signals.  Where a slot is not empty the queue
 *              is full, or somebody stands still: the page is parked in its chunk.  So a free never fails or waits
 *     parked   who finds no page at its ticket looks whether some are parked.  A chunk that is parked whole goes
 *              back to the store
 *
 * VA and VL.  A put finds no place if the store has no chunk for a segment, or an array is full: then the page is
 * parked, too; of C, the entry of its chunk is a stray.  So a free needs no memory.  A malloc that was refused while
 * there were segments brings their chunks back (drain), and asks again: it takes all pages out of all queues and parks
 * them, or makes all entries strays, and uses up the places that are left.  A segment's chunk has class 0, as those in
 * the store: whoever counts takes it as free, for it can be had.  Slots are reserved before chunks are taken for
 * pages, while little is live in registers; what is too much is given back.  A malloc of P that has drained asks for
 * no new segments: they would take what it brought back.
 *
 * Nothing is lost.  A unit is signalled when its page is in the queue, or marked as parked; so who has a unit finds
 * a page in the end (core/index_queue.h, core/chunk_pages.h).
 *
 * A page keeps its size: a chunk serves one class until all of its pages are parked.  The paper's limit, too.
 *
 * Order.  A page goes from its last owner to the next one by a slot of the queue (release, acquire), by its bit
 * among the parked (the same), or with its chunk through the store (the same).  `live` is relaxed: it is changed
 * between a take and the next put.  A chunk's class is written before its pages are put, and changed when none is
 * live or in the queue.
 *
 * Full heap.  NULL for a whole chunk: the store's word proves it.  NULL for a page: (1) at one place of the order of
 * the store's word no chunk is left, none on its way.  (2) The semaphore refuses: at one place of the order of
 * `balance` more pages are reserved than there, and expected from others.  That counts parked ones.  (3) The
 * store's word is still what it was, so at (2) there was no chunk either, and nobody made pages of one.  If it is
 * not, the lane asks again.  VA, VL: between (1) and (3) it has seen that no queue has a segment, so no chunk was one
 * at (2): segments are counted while somebody is in transit.  Who drains is in transit, too, as long as it has pages in
 * hands that may make a chunk whole.
 * That the places of two words are one instant: who returns a chunk fences before its next take, and who asks
 * between (2) and (3).  So if the refusal counts that take, (3) sees the return (docs/design/full-heap.md).  Pages
 * of other classes serve nobody here.  But C gives chunks back whose pages are all free: before (1) it has recalled
 * the late ones.
 *
 * Many who ask in a full heap of VA or VL.  A proof needs an instant with nobody in transit and no segment.  Where
 * thousands ask, each must keep out of the others' proofs:
 *   - who finds nothing to drain is in no transit
 *   - who finds no chunk while there are segments can't prove NULL anyway.  It waits for no transit then, and gives
 *     the slots back that it has reserved: while it has them their segment can't go.  What it saw is no proof, as
 *     somebody was in transit; should the segments be gone when it looks for them, (3) tells that
 *   - P: of those of one class who must ask again one group at a time does, and a refusal of it holds for those who
 *     waited (core/semaphore.h).  They have given up all they asked for.  The refusal is by (1) to (3), after a drain,
 *     and all of that lies within the search; `balance` refused what the searcher wanted besides what it had got.  So
 *     at (2) no page of the class was there that nobody had reserved, and no chunk: for whoever asks.  Of C few come
 *     here, as their entries need few segments.  For whole chunks there is no search: who asks for them in vain
 *     changes no word */
#ifndef QUARRY_ALLOC_OURO_H
#define QUARRY_ALLOC_OURO_H

#include "quarry/alloc/ouro/ouro_heap.h"
#include "quarry/alloc/ouro/ouro_layout.h"
#include "quarry/alloc/ouro/ouro_look.h"
#include "quarry/alloc/ouro/ouro_pages.h"
#include "quarry/alloc/ouro/ouro_runs.h"

SIMT_FN void *quarry_ouro_malloc_here(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                      const struct quarry_ouro *h, struct quarry_context *context,
                                      uint64_t bytes)
{
    uint32_t class_ = quarry_class_of(&h->sizes, bytes), chunk, page = 0;
    uint32_t group = quarry_group(quarry_ouro_units(payload, h, class_), QUARRY_SITE_OURO_MALLOC);
    uint32_t index;
    for (enum quarry_ouro_asks ask = QUARRY_OURO_FIRST;;) {
        class_ = simt_opaque_u32(class_);
        if (class_ == h->sizes.whole) {
            quarry_step(context);
            index = quarry_ouro_whole(backing, payload, h, group);
        } else {
            index = quarry_ouro_pages(backing, payload, h, context, class_, group, ask);
        }
        if (backing == QUARRY_OURO_STANDARD)
            break;
        uint32_t refused = simt_ballot(group, index == QUARRY_NO_INDEX);
        uint32_t again = simt_ballot(group, index == QUARRY_OURO_AGAIN);
        if (ask == QUARRY_OURO_SEARCH && simt_rank(group) == 0)
            quarry_semaphore_searched(quarry_ouro_units(payload, h, class_), refused != 0);
        if (index != QUARRY_OURO_AGAIN) {
            group &= ~again;
            break;
        }
        group = again;
        uint32_t said = quarry_ouro_again(payload, h, class_, group);
        if (said == QUARRY_SEMAPHORE_REFUSED) {
            index = QUARRY_NO_INDEX;
            break;
        }
        ask = said == QUARRY_SEMAPHORE_SEARCH ? QUARRY_OURO_SEARCH : QUARRY_OURO_ANEW;
    }
    if (payload == QUARRY_OURO_PAGES)
        group = simt_ballot(group, index != QUARRY_NO_INDEX);
    if (index == QUARRY_NO_INDEX)
        return SIMT_NULL;
    chunk = index;
    if (class_ == h->sizes.whole) {
        (void)simt_add_u64(&h->table.word[chunk], (class_ + 1u) * QUARRY_CHUNK_CLASS, relaxed);
    } else {
        chunk = index >> h->table.page_bits;
        page = index & ((1u << h->table.page_bits) - 1u);
    }
    if (payload == QUARRY_OURO_PAGES && class_ != h->sizes.whole)
        (void)quarry_ouro_mark_all(h, group, chunk, page, 1);
    return (unsigned char *)quarry_page_address(&h->chunks, chunk) +
           (uint64_t)page * quarry_class_bytes(&h->sizes, class_);
}

/* C is out of line in the switch over all allocators, which would have 80 registers with it.  It gets the pool's copy:
 * were the address of the handle's struct to go out, a kernel would copy its handle into local memory at every malloc
 * of every allocator.  So would the address of a context; so nothing is out of line where steps are counted. */
#if defined(QUARRY_ALLOCATOR) || defined(QUARRY_COUNT_STEPS)
#define QUARRY_OURO_IS_FAR(payload) 0
#else
#define QUARRY_OURO_IS_FAR(payload) ((payload) == QUARRY_OURO_CHUNKS)
#endif

SIMT_NOINLINE_FN void *quarry_ouro_malloc_array(const struct quarry_ouro *h, uint64_t bytes)
{
    struct quarry_context context = quarry_context_make(0);
    return quarry_ouro_malloc_here(QUARRY_OURO_STANDARD, QUARRY_OURO_CHUNKS, h, &context, bytes);
}

SIMT_NOINLINE_FN void *quarry_ouro_malloc_segments(const struct quarry_ouro *h, uint64_t bytes)
{
    struct quarry_context context = quarry_context_make(0);
    return quarry_ouro_malloc_here(QUARRY_OURO_ARRAY, QUARRY_OURO_CHUNKS, h, &context, bytes);
}

SIMT_FN void *quarry_ouro_malloc(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                 const struct quarry_ouro *h, struct quarry_context *context, uint64_t bytes)
{
    if (bytes > h->sizes.chunk_bytes)
        return quarry_ouro_malloc_run(backing, payload, h->self, bytes);
    if (!QUARRY_OURO_IS_FAR(payload))
        return quarry_ouro_malloc_here(backing, payload, h, context, bytes);
    if (backing == QUARRY_OURO_STANDARD)
        return quarry_ouro_malloc_array(h->self, bytes);
    return quarry_ouro_malloc_segments(h->self, bytes);
}

/* ---- free ---- */

/* Progress: lanes of a warp that free together wait for each other, and for nobody else. */
SIMT_FN void quarry_ouro_free_here(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                   const struct quarry_ouro *h, void *block)
{
    struct quarry_ouro_where w = quarry_ouro_locate(h, block);
    uint32_t group, n, parks;
    int live = w.class_ <= h->sizes.whole;
    if (!live && h->sizes.most > 1) {
        quarry_ouro_free_run(h->self, block);
        return;
    }
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    group = quarry_group(quarry_ouro_units(payload, h, w.class_), QUARRY_SITE_OURO_FREE);
    if (w.class_ == h->sizes.whole)
        live = quarry_ouro_unmark(h, w.chunk, w.class_);
    else if (payload == QUARRY_OURO_PAGES)
        live = quarry_ouro_mark_all(h, group, w.chunk, w.page, 0);
    group = simt_ballot(group, live);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    n = simt_popc_u32(group);
    if (w.class_ == h->sizes.whole) {
        quarry_chunks_give(&h->segments.store, group, w.chunk);
        return;
    }
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        quarry_mask_free(&masks, quarry_ouro_entries(backing, h), w.class_, group, w.chunk, w.page);
        return;
    }
    uint32_t got = n;
    if (backing != QUARRY_OURO_STANDARD)
        got = quarry_segments_reserve(&h->segments, w.class_, group, n, 0);
    struct quarry_ouro_lot lot = quarry_ouro_tickets(backing, h, w.class_, group, got);
    parks =
        simt_ballot(group, quarry_ouro_put(backing, h, w.class_, lot, simt_rank(group), w.chunk, w.page, 0));
    simt_sync(group); /* all pages are in the queue, or marked */
    if (simt_rank(group) == 0) {
        quarry_ouro_are_put(backing, h, w.class_, lot);
        quarry_semaphore_signal(&h->class_[w.class_].units, n);
    }
    simt_sync(group); /* and signalled, before any lane asks again */
    if (parks) {
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, w.class_);
        quarry_chunk_enter(&parking, group, parks, w.chunk);
    }
}

SIMT_NOINLINE_FN void quarry_ouro_free_segments(const struct quarry_ouro *h, void *block)
{
    quarry_ouro_free_here(QUARRY_OURO_ARRAY, QUARRY_OURO_CHUNKS, h, block);
}

SIMT_FN void quarry_ouro_free(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                              const struct quarry_ouro *h, void *block)
{
    if (QUARRY_OURO_IS_FAR(payload) && backing != QUARRY_OURO_STANDARD)
        quarry_ouro_free_segments(h->self, block);
    else
        quarry_ouro_free_here(backing, payload, h, block);
}

#define quarry_ouro_settle QUARRY_NOTHING_TO_SETTLE

SIMT_FN void quarry_ouro_trim(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                              const struct quarry_ouro *h, void *block, void *user, uint64_t bytes)
{
    (void)backing;
    (void)payload;
    if (h->sizes.most > 1)
        quarry_ouro_trim_run(h->self, block, user, bytes);
}

#endif
