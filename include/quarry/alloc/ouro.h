/* SPDX-License-Identifier: Apache-2.0 */
/* ouro-p-s, ouro-p-va, ouro-p-vl, ouro-c-s: queues of free pages, or of chunks with free pages, one for each size, that
 * grow by chunks.
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
 *     class    a bulk semaphore, whose units are the free pages of the class; the ends of its two queues
 *     queue    of a class: free pages of it.  tokens: chunks with parked pages of it (core/chunk_pages.h)
 *     page     index: chunk << page_bits | page
 *     live     a bit for each page: it is a block.  C has none: what is not `parked` is a block, or about to be one
 *     word     of a chunk: its class, and more (core/chunk_pages.h, core/chunk_masks.h)
 *
 * With the payload C all free pages are parked, and many take of one chunk at once: core/chunk_masks.h has
 * the algorithm and its argument.  `tokens` are its queues there, and the last one is of late chunks.  What follows is
 * of P, but for the last class and the full heap.
 *
 * A heap's page (option page_bytes) is a chunk here.  Sizes: core/classes.h.  The last class has whole chunks, which
 * the store (core/chunks.h) gives and takes back itself.  For the others:
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
 * parked, too.  So a free needs no memory.  A malloc that was refused while there were segments brings their chunks
 * back (drain), and asks again: it takes all pages out of all queues and parks them, and uses up the places that are
 * left.  A segment's chunk has class 0, as those in the store: whoever counts takes it as free, for it can be had.
 * Slots are reserved before chunks are taken for pages, while little is live in registers; what is too much is given
 * back.  A malloc that has drained asks for no new segments: they would take what it brought back.
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
 * That the places of two words are one instant is true of the order in which a GPU does them, and of a lane that
 * has acquired what others did before (docs/design/full-heap.md).  Pages of other classes serve nobody here.  But C
 * gives chunks back whose pages are all free: before (1) it has recalled the late ones. */
#ifndef QUARRY_ALLOC_OURO_H
#define QUARRY_ALLOC_OURO_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/chunk_masks.h"
#include "quarry/core/chunk_pages.h"
#include "quarry/core/chunks.h"
#include "quarry/core/classes.h"
#include "quarry/core/index_queue.h"
#include "quarry/core/segments.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"

enum quarry_ouro_backing { QUARRY_OURO_STANDARD, QUARRY_OURO_ARRAY, QUARRY_OURO_LIST };
enum quarry_ouro_payload { QUARRY_OURO_PAGES, QUARRY_OURO_CHUNKS };

#define QUARRY_OURO_PAGE_BYTES 8192u /* of a chunk: the paper's */
#define QUARRY_OURO_DEBUG_UNIT 128u  /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_OURO_QUEUE_SHARE 16u  /* all queues have at most this part of the chunks' bytes */
#define QUARRY_OURO_QUEUE_LEAST 32u  /* slots */
#define QUARRY_OURO_UNPROVEN 0x80000000u
#define QUARRY_OURO_AGAIN QUARRY_SEGMENTS_SKIP /* no page: there are segments, so ask again after a drain */

#define QUARRY_OURO_PAGES_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_HAS_PAGES | QUARRY_HAS_PAGE_PARTS)
#define QUARRY_OURO_CHUNKS_CAN (QUARRY_OURO_PAGES_CAN | QUARRY_CAN_REUSE_SPACE)
#define QUARRY_OURO_OPTIONS(ROW)                                                                             \
    ROW(ouro, queue_slots, 0, 1, 1u << 22,                                                                   \
        "slots of each size's queue, to a power of two; 0: all queues take up to 1/16 of the heap")
enum quarry_ouro_option { QUARRY_OURO_OPTIONS(QUARRY_OPTION_INDEX) };

struct quarry_ouro_class {
    struct quarry_semaphore units;
    struct quarry_index_queue_ends queue, tokens;
};

struct quarry_ouro {
    struct quarry_pages chunks; /* first, as a free needs it first */
    struct quarry_classes sizes;
    struct quarry_chunk_table table;
    uint32_t *live; /* as many fields as table.parked */
    struct quarry_ouro_class *class_;
    struct quarry_mask_class *masks;   /* C: instead of class_ */
    uint32_t *queue, *tokens;          /* slots of all classes */
    uint32_t queue_slots, token_slots; /* of each class; of C: a queue has token_slots */
    uint32_t unit;
    struct quarry_segments
        segments; /* its store is of all; else VA, VL.  Debug mode, which watches chunks, has none */
    enum quarry_ouro_backing backing; /* for quarry_ouro_sections */
    enum quarry_ouro_payload payload;
};

SIMT_FN struct quarry_index_queue quarry_ouro_queue(const struct quarry_ouro *h, uint32_t class_)
{
    struct quarry_index_queue q = {&h->class_[class_].queue, h->queue + (uint64_t)class_ * h->queue_slots,
                                   h->queue_slots - 1u};
    return q;
}

SIMT_FN struct quarry_chunk_pages quarry_ouro_parking(const struct quarry_ouro *h, uint32_t class_)
{
    struct quarry_chunk_pages p = {
        &h->table,
        &h->segments.store,
        &h->class_[class_].units,
        {&h->class_[class_].tokens, h->tokens + (uint64_t)class_ * h->token_slots, h->token_slots - 1u},
        quarry_class_pages(&h->sizes, class_)};
    return p;
}

SIMT_FN struct quarry_chunk_masks quarry_ouro_masks(const struct quarry_ouro *h)
{
    uint32_t *late = h->tokens + (uint64_t)h->sizes.whole * h->token_slots;
    struct quarry_chunk_masks m = {&h->table,
                                   &h->segments.store,
                                   &h->sizes,
                                   h->masks,
                                   h->tokens,
                                   h->token_slots,
                                   {&h->masks[h->sizes.whole].queue, late, h->token_slots - 1u}};
    return m;
}

SIMT_FN struct quarry_semaphore *quarry_ouro_units(enum quarry_ouro_payload payload,
                                                   const struct quarry_ouro *h, uint32_t class_)
{
    return payload == QUARRY_OURO_CHUNKS ? &h->masks[class_].units : &h->class_[class_].units;
}

SIMT_FN void quarry_ouro_init(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                              const struct quarry_ouro *h, uint64_t thread, uint64_t threads)
{
    quarry_chunks_init(&h->segments.store, thread, threads);
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        quarry_chunk_masks_init(&masks, thread, threads);
        return;
    }
    if (backing != QUARRY_OURO_STANDARD && thread == 0)
        *h->segments.segments = 0;
    for (uint64_t i = thread; backing == QUARRY_OURO_LIST && h->segments.base && i < h->chunks.count;
         i += threads)
        h->segments.link[i] = 0;
    quarry_chunk_table_init(&h->table, h->chunks.count, thread, threads);
    for (uint64_t i = thread; i < (uint64_t)h->chunks.count * h->table.fields; i += threads)
        h->live[i] = 0;
    for (uint32_t k = 0; k < h->sizes.whole; k++) {
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, k);
        if (thread == 0)
            quarry_semaphore_init(&h->class_[k].units, 0);
        if (backing == QUARRY_OURO_STANDARD) {
            struct quarry_index_queue queue = quarry_ouro_queue(h, k);
            quarry_index_queue_init(&queue, 0, thread, threads);
        } else {
            quarry_segments_init(&h->segments, k, thread, threads);
        }
        quarry_index_queue_init(&parking.tokens, 0, thread, threads);
    }
}

/* ---- malloc ---- */

/* Takes free pages for lanes of the group that have a unit each.
 *   has   those lanes, not none
 * Returns the caller's index, or QUARRY_NO_INDEX if it is not among them.  Scope: group, reconverged.
 * Progress: waits for lanes between a signal and a count (core/chunk_pages.h). */
SIMT_FN uint32_t quarry_ouro_take_ring(const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                       uint32_t has)
{
    struct quarry_index_queue queue = quarry_ouro_queue(h, class_);
    uint32_t ticket = 0, index = QUARRY_NO_INDEX;
    if (simt_rank(group) == 0)
        ticket = quarry_index_queue_front(&queue, simt_popc_u32(has));
    ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group)) + simt_rank(has);
    for (uint32_t vain = 0;; vain++) {
        int looks = (has >> simt_lane() & 1u) && index == QUARRY_NO_INDEX;
        if (looks)
            index =
                quarry_index_queue_take_try(&queue, quarry_index_queue_at(&queue, ticket, vain), vain == 0);
        uint32_t left = simt_ballot(group, looks && index == QUARRY_NO_INDEX);
        if (left == 0)
            return index;
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, class_);
        uint32_t parked = quarry_chunk_take(&parking, group, left);
        if (left >> simt_lane() & 1u)
            index = parked;
        if (!simt_any(group, looks && index == QUARRY_NO_INDEX))
            return index;
        quarry_index_queue_rest(vain);
    }
}

/* The same of a queue in segments. */
SIMT_FN uint32_t quarry_ouro_take_segments(const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                           uint32_t has)
{
    uint32_t index = QUARRY_NO_INDEX;
    for (uint32_t left = has;; simt_backoff()) {
        uint32_t took = quarry_segments_take(&h->segments, class_, group, left);
        index = left >> simt_lane() & 1u ? took : index;
        left = simt_ballot(group, (left >> simt_lane() & 1u) && index == QUARRY_NO_INDEX);
        if (left == 0)
            return index;
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, class_);
        took = quarry_chunk_take(&parking, group, left);
        index = left >> simt_lane() & 1u ? took : index;
        left = simt_ballot(group, (left >> simt_lane() & 1u) && index == QUARRY_NO_INDEX);
        if (left == 0)
            return index;
    }
}

SIMT_FN uint32_t quarry_ouro_take(enum quarry_ouro_backing backing, const struct quarry_ouro *h,
                                  uint32_t class_, uint32_t group, uint32_t has)
{
    return backing == QUARRY_OURO_STANDARD ? quarry_ouro_take_ring(h, class_, group, has)
                                           : quarry_ouro_take_segments(h, class_, group, has);
}

SIMT_FN uint32_t quarry_ouro_find_pages(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                        const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                        uint32_t has)
{
    if (payload == QUARRY_OURO_PAGES)
        return quarry_ouro_take(backing, h, class_, group, has);
    struct quarry_chunk_masks masks = quarry_ouro_masks(h);
    return quarry_mask_take(&masks, class_, group, has);
}

/* What the first lane of a group knows of its malloc. */
struct quarry_ouro_ask {
    uint32_t got;      /* units that it has and no page yet */
    uint32_t owed;     /* units that the semaphore owes it */
    uint32_t promised; /* units that it has promised to make */
};

/* Pages of a group that are to be put into the queue. */
struct quarry_ouro_lot {
    uint32_t ticket; /* of the first */
    uint32_t got;    /* VA, VL: so many have a slot; the others are to be parked */
};

/* Tickets for pages of a group.
 *   got   so many have a slot, that is reserved; S: so many there are */
SIMT_FN struct quarry_ouro_lot quarry_ouro_tickets(enum quarry_ouro_backing backing,
                                                   const struct quarry_ouro *h, uint32_t class_,
                                                   uint32_t group, uint32_t got)
{
    struct quarry_index_queue queue = backing == QUARRY_OURO_STANDARD
                                          ? quarry_ouro_queue(h, class_)
                                          : quarry_segments_tickets(&h->segments, class_);
    struct quarry_ouro_lot lot = {0, got};
    if (simt_rank(group) == 0)
        lot.ticket = quarry_index_queue_back(&queue, got);
    lot.ticket = simt_shuffle_u32(group, lot.ticket, simt_ctz_u32(group));
    return lot;
}

/* The calling lane puts a free page into the queue, or marks it as parked: if there is no place for it.
 *   place   number of the page among those of the lot
 * Returns whether it is parked: after the signal it must be counted. */
SIMT_FN int quarry_ouro_put(enum quarry_ouro_backing backing, const struct quarry_ouro *h, uint32_t class_,
                            struct quarry_ouro_lot lot, uint32_t place, uint32_t chunk, uint32_t page,
                            int fenced)
{
    uint32_t index = chunk << h->table.page_bits | page;
    if (backing == QUARRY_OURO_STANDARD) {
        struct quarry_index_queue queue = quarry_ouro_queue(h, class_);
        if (quarry_index_queue_put_try(&queue, (lot.ticket + place) & queue.mask, index))
            return 0;
    } else if (place < lot.got) {
        quarry_segments_put(&h->segments, class_, lot.ticket + place, index, fenced);
        return 0;
    }
    struct quarry_chunk_pages parking = quarry_ouro_parking(h, class_);
    quarry_chunk_mark(&parking, chunk, page);
    return 1;
}

/* All pages of a lot are in the queue: the first lane says so, before they are signalled. */
SIMT_FN void quarry_ouro_are_put(enum quarry_ouro_backing backing, const struct quarry_ouro *h,
                                 uint32_t class_, struct quarry_ouro_lot lot)
{
    if (backing != QUARRY_OURO_STANDARD) {
        quarry_segments_add(&h->segments, class_, lot.got);
    }
}

/* Puts the pages of new chunks into the queue.
 *   chunk   of the first `made` lanes: a new chunk
 *   kept    the first so many pages are not put
 *   slots   VA, VL: so many are reserved
 * They are not signalled.  Returns with those marked that found no place: to be counted after the signal. */
SIMT_FN void quarry_ouro_put_new(enum quarry_ouro_backing backing, const struct quarry_ouro *h,
                                 uint32_t class_, uint32_t group, uint32_t chunk, uint32_t made,
                                 uint32_t kept, uint32_t slots)
{
    uint32_t rank = simt_rank(group), width = simt_popc_u32(group);
    uint32_t each = quarry_class_pages(&h->sizes, class_), pages = made * each;
    if (rank < made) /* `queued` may go on from an earlier life */
        (void)simt_add_u64(&h->table.word[chunk], (class_ + 1u) * QUARRY_CHUNK_CLASS, relaxed);
    uint32_t got = backing == QUARRY_OURO_STANDARD || slots > pages - kept ? pages - kept : slots;
    struct quarry_ouro_lot lot = quarry_ouro_tickets(backing, h, class_, group, got);
    simt_sync(group); /* the chunks have their class before their pages are put */
    if (backing != QUARRY_OURO_STANDARD) {
        if (rank == 0)
            quarry_segments_spare(&h->segments, class_, slots - got);
        simt_fence(acq_rel);
    }
    for (uint32_t n = kept; n < pages; n += width) {
        uint32_t mine = n + rank;
        uint32_t from =
            simt_shuffle_u32(group, chunk, quarry_lane_of_rank(group, mine < pages ? mine / each : 0));
        if (mine < pages && quarry_ouro_put(backing, h, class_, lot, mine - kept, from, mine % each, 1))
            (void)simt_add_u64(&h->table.word[from], QUARRY_CHUNK_MARKED, relaxed);
    }
    simt_sync(group); /* all pages are in the queue, or marked */
    if (rank == 0)
        quarry_ouro_are_put(backing, h, class_, lot);
}

/* Deals the pages of new chunks: to lanes of the group, and to whoever takes them.
 *   chunk   of the first `made` lanes: a new chunk
 *   slots   VA, VL: so many are reserved in the queue
 * Else as quarry_ouro_grow. */
SIMT_FN void quarry_ouro_deal(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                              const struct quarry_ouro *h, uint32_t class_, uint32_t group, uint32_t needs,
                              uint32_t chunk, uint32_t made, uint32_t slots, struct quarry_ouro_ask *a,
                              uint32_t *index)
{
    struct quarry_semaphore *units = quarry_ouro_units(payload, h, class_);
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group);
    uint32_t each = quarry_class_pages(&h->sizes, class_), pages = made * each;
    uint32_t got = simt_shuffle_u32(group, a->got, leader), owed = simt_shuffle_u32(group, a->owed, leader);
    uint32_t kept = owed < pages ? owed : pages;
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        quarry_mask_deal(&masks, class_, group, chunk, made, kept);
    } else {
        quarry_ouro_put_new(backing, h, class_, group, chunk, made, kept, slots);
    }
    uint32_t order = simt_rank(needs) - got; /* those before have units, and find pages elsewhere */
    int keeps = (needs >> simt_lane() & 1u) && order < kept;
    uint32_t from = simt_shuffle_u32(group, chunk, quarry_lane_of_rank(group, keeps ? order / each : 0));
    if (keeps)
        *index = from << h->table.page_bits | order % each;
    if (rank == 0) {
        quarry_semaphore_produced(units, &a->owed, pages, &a->promised);
        quarry_chunks_end(&h->segments.store);
    }
    simt_sync(group); /* and signalled */
    if (payload == QUARRY_OURO_PAGES && rank < made) {
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, class_);
        quarry_chunk_enter_new(&parking, chunk);
    }
}

/* As quarry_chunks_take. */
SIMT_FN uint32_t quarry_ouro_chunks(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                    uint32_t group, uint32_t needs, int deals, uint64_t *seen)
{
    if (payload == QUARRY_OURO_PAGES)
        return quarry_chunks_take(&h->segments.store, group, needs, deals, seen);
    struct quarry_chunk_masks masks = quarry_ouro_masks(h);
    return quarry_mask_chunks(&masks, group, needs, deals, seen);
}

/* Before NULL: brings the chunks of all segments back, by parking all pages that are in queues.
 * Scope: group, reconverged.  Progress: waits for lanes in the middle of a put, which wait for nobody. */
SIMT_FN void quarry_ouro_drain(const struct quarry_ouro *h, uint32_t group)
{
    uint32_t leader = simt_ctz_u32(group), some = 0;
    if (simt_rank(group) == 0)
        quarry_chunks_begin(&h->segments.store); /* pages in hands are chunks on their way */
    for (uint32_t k = 0; k < h->sizes.whole;) {
        if (simt_rank(group) == 0)
            some = (uint32_t)quarry_segments_has_some(&h->segments, k);
        if (!simt_shuffle_u32(group, some, leader)) {
            k++;
            continue;
        }
        quarry_segments_shut(&h->segments, k, group);
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, k);
        uint32_t index = quarry_segments_take(&h->segments, k, group, group);
        uint32_t parks = simt_ballot(group, index != QUARRY_NO_INDEX), chunk = index >> h->table.page_bits;
        if (index != QUARRY_NO_INDEX)
            quarry_chunk_mark(&parking, chunk, index & ((1u << h->table.page_bits) - 1u));
        simt_sync(group);
        if (parks)
            quarry_chunk_enter(&parking, group, parks, chunk);
        simt_sync(group);
    }
    if (simt_rank(group) == 0) {
        quarry_chunks_end(&h->segments.store);
        simt_backoff(); /* segments that are left wait for others */
    }
    simt_sync(group);
}

/* Makes of what was promised as much as it gets chunks for at once.
 *   needs   lanes of the group without a page
 *   reserves   VA, VL: there may be new segments for it
 *   a       the first lane's, with its `promised` in all, which is not 0; then less is promised
 *   index   in, out: the caller's page
 * Returns how many of `needs` are refused: the last ones; with QUARRY_OURO_UNPROVEN, as there are segments.
 * Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_grow(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                  const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                  uint32_t needs, int reserves, struct quarry_ouro_ask *a, uint32_t *index)
{
    struct quarry_semaphore *units = quarry_ouro_units(payload, h, class_);
    uint32_t rank = simt_rank(group), each = quarry_class_pages(&h->sizes, class_), refused = 0;
    uint32_t wanted = (a->promised + each - 1u) / each, slots = 0;
    uint64_t seen = 0;
    if (backing != QUARRY_OURO_STANDARD && reserves) {
        uint32_t pages = wanted * each, kept = a->owed < pages ? a->owed : pages;
        pages -= simt_shuffle_u32(group, kept, simt_ctz_u32(group));
        if (pages)
            slots = quarry_segments_reserve(&h->segments, class_, group, pages, wanted);
    }
    uint32_t chunk = quarry_ouro_chunks(payload, h, group, simt_ballot(group, rank < wanted), 1, &seen);
    uint32_t made =
        simt_popc_u32(simt_ballot(group, chunk != QUARRY_NO_INDEX)); /* the first so many lanes have one */
    if (made)
        quarry_ouro_deal(backing, payload, h, class_, group, needs, chunk, made, slots, a, index);
    if (rank == 0 && made == 0) {
        if (backing != QUARRY_OURO_STANDARD)
            quarry_segments_spare(&h->segments, class_, slots);
        /* before it is refused, while the store's word says that no chunk comes or goes */
        int some = backing != QUARRY_OURO_STANDARD && quarry_segments_any(h->segments.segments);
        refused = quarry_semaphore_failed(units, &a->owed, a->promised, &a->promised);
        if (some) {
            refused = refused ? refused | QUARRY_OURO_UNPROVEN : 0;
        } else if (refused && !quarry_chunks_is_same(&h->segments.store, seen)) { /* no proof: ask again */
            uint32_t got = quarry_semaphore_ask(units, refused);
            a->got += got;
            a->owed += refused - got;
            refused = 0;
        }
    }
    return simt_shuffle_u32(group, refused, simt_ctz_u32(group));
}

/* A page for each lane of the group, or QUARRY_NO_INDEX.  Scope: group, reconverged.
 * Progress: as the semaphore, which waits for lanes that make batches; those wait for nobody. */
SIMT_FN uint32_t quarry_ouro_pages(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                   const struct quarry_ouro *h, struct quarry_context *context,
                                   uint32_t class_, uint32_t group, int reserves)
{
    struct quarry_semaphore *units = quarry_ouro_units(payload, h, class_);
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), needs = group, index = QUARRY_NO_INDEX;
    struct quarry_ouro_ask a = {0, 0, 0};
    volatile uint32_t kept; /* as in quarry_ouro_malloc */
    if (backing != QUARRY_OURO_STANDARD)
        kept = class_;
    if (rank == 0) {
        a.got = quarry_semaphore_ask(units, simt_popc_u32(group));
        a.owed = simt_popc_u32(group) - a.got;
    }
    for (;;) {
        if (backing != QUARRY_OURO_STANDARD) {
            class_ = kept;
            units = quarry_ouro_units(payload, h, class_);
        }
        uint32_t got = simt_shuffle_u32(group, a.got, leader);
        quarry_step(context);
        if (got) {
            uint32_t has = simt_ballot(group, (needs >> simt_lane() & 1u) && simt_rank(needs) < got);
            uint32_t page = quarry_ouro_find_pages(backing, payload, h, class_, group, has);
            index = has >> simt_lane() & 1u ? page : index;
            needs &= ~has;
            a.got = 0;
        }
        if (needs == 0)
            return index;
        if (rank == 0) {
            uint32_t owed = a.owed;
            a.promised = quarry_semaphore_wait(units, &a.owed, quarry_class_pages(&h->sizes, class_));
            a.got = owed - a.owed;
        }
        while ((a.promised = simt_shuffle_u32(group, a.promised, leader)) != 0) {
            if (backing != QUARRY_OURO_STANDARD)
                class_ = kept;
            uint32_t refused =
                quarry_ouro_grow(backing, payload, h, class_, group, needs, reserves, &a, &index);
            needs = simt_ballot(group, (needs >> simt_lane() & 1u) && index == QUARRY_NO_INDEX);
            uint32_t left = simt_popc_u32(needs) - (refused & ~QUARRY_OURO_UNPROVEN);
            if ((refused & QUARRY_OURO_UNPROVEN) && (needs >> simt_lane() & 1u) && simt_rank(needs) >= left)
                index = QUARRY_OURO_AGAIN;
            needs = simt_ballot(group, (needs >> simt_lane() & 1u) && simt_rank(needs) < left);
        }
    }
}

/* The calling lane's page becomes a block, or no block any more, if it was what it should have been before.  Of C:
 * only a whole chunk, as all others change with the count.
 * Returns whether it was. */
SIMT_FN int quarry_ouro_mark(enum quarry_ouro_payload payload, const struct quarry_ouro *h, uint32_t chunk,
                             uint32_t page, int live)
{
    int sets = payload == QUARRY_OURO_CHUNKS ? !live : live;
    uint32_t *fields = payload == QUARRY_OURO_CHUNKS ? h->table.parked : h->live, bit = 1u << page % 32u;
    uint32_t *field = quarry_chunk_field(&h->table, fields, chunk, page);
    uint32_t before = sets ? simt_or_u32(field, bit, relaxed) : simt_and_u32(field, ~bit, relaxed);
    return sets != ((before & bit) != 0);
}

/* A whole chunk for each lane of the group, or QUARRY_NO_INDEX, or QUARRY_OURO_AGAIN.  Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_whole(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                   const struct quarry_ouro *h, uint32_t group)
{
    uint64_t seen = 0;
    uint32_t chunk = quarry_ouro_chunks(payload, h, group, group, 0, &seen), proven = 0;
    if (backing == QUARRY_OURO_STANDARD || !simt_any(group, chunk == QUARRY_NO_INDEX))
        return chunk;
    if (simt_rank(group) == 0)
        proven =
            !quarry_segments_any(h->segments.segments) && quarry_chunks_is_same(&h->segments.store, seen);
    proven = simt_shuffle_u32(group, proven, simt_ctz_u32(group));
    return chunk == QUARRY_NO_INDEX && !proven ? QUARRY_OURO_AGAIN : chunk;
}

SIMT_FN void *quarry_ouro_malloc(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                 const struct quarry_ouro *h, struct quarry_context *context, uint64_t bytes)
{
    uint32_t class_ = quarry_class_of(&h->sizes, bytes), chunk, page = 0;
    uint32_t group = quarry_group(quarry_ouro_units(payload, h, class_), QUARRY_SITE_OURO_MALLOC);
    uint32_t index;
    volatile uint32_t kept; /* in memory: else what depends on it is computed once, and lives in registers */
    if (backing != QUARRY_OURO_STANDARD)
        kept = class_;
    for (int reserves = 1;; reserves = 0) { /* a segment must not take what it has drained */
        if (backing != QUARRY_OURO_STANDARD)
            class_ = kept;
        if (class_ == h->sizes.whole) {
            quarry_step(context);
            index = quarry_ouro_whole(backing, payload, h, group);
        } else {
            index = quarry_ouro_pages(backing, payload, h, context, class_, group, reserves);
        }
        if (backing == QUARRY_OURO_STANDARD)
            break;
        group = simt_ballot(group, index == QUARRY_OURO_AGAIN);
        if (index != QUARRY_OURO_AGAIN)
            break;
        quarry_ouro_drain(h, group);
    }
    if (index == QUARRY_NO_INDEX)
        return SIMT_NULL;
    chunk = index;
    if (class_ == h->sizes.whole) {
        (void)simt_add_u64(&h->table.word[chunk], (class_ + 1u) * QUARRY_CHUNK_CLASS, relaxed);
    } else {
        chunk = index >> h->table.page_bits;
        page = index & ((1u << h->table.page_bits) - 1u);
    }
    if (payload == QUARRY_OURO_PAGES || class_ == h->sizes.whole)
        (void)quarry_ouro_mark(payload, h, chunk, page, 1);
    return (unsigned char *)quarry_page_address(&h->chunks, chunk) +
           (uint64_t)page * quarry_class_bytes(&h->sizes, class_);
}

/* ---- free ---- */

/* Where an address is. */
struct quarry_ouro_where {
    uint32_t chunk;  /* or QUARRY_NO_PAGE */
    uint32_t class_; /* more than sizes.whole: the chunk has none */
    uint32_t page;   /* as quarry_class_page */
};

SIMT_FN struct quarry_ouro_where quarry_ouro_locate(const struct quarry_ouro *h, const void *address)
{
    struct quarry_ouro_where w = {quarry_page_index(&h->chunks, address), ~0u, 0};
    if (w.chunk != QUARRY_NO_PAGE) {
        const unsigned char *begin = (const unsigned char *)quarry_page_address(&h->chunks, w.chunk);
        w.class_ = quarry_chunk_class(simt_load_u64(&h->table.word[w.chunk], relaxed)) - 1u;
        if (w.class_ <= h->sizes.whole)
            w.page =
                quarry_class_page(&h->sizes, w.class_, (uint32_t)((const unsigned char *)address - begin));
        if (w.class_ > h->sizes.whole || w.page >= quarry_class_pages(&h->sizes, w.class_))
            w.class_ = ~0u;
    }
    return w;
}

/* Progress: lanes of a warp that free together wait for each other, and for nobody else. */
SIMT_FN void quarry_ouro_free(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                              const struct quarry_ouro *h, void *block)
{
    struct quarry_ouro_where w = quarry_ouro_locate(h, block);
    uint32_t group, n, parks;
    int live = w.class_ <= h->sizes.whole;
    if (live && (payload == QUARRY_OURO_PAGES || w.class_ == h->sizes.whole))
        live = quarry_ouro_mark(payload, h, w.chunk, w.page, 0);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    group = quarry_group(quarry_ouro_units(payload, h, w.class_), QUARRY_SITE_OURO_FREE);
    n = simt_popc_u32(group);
    if (w.class_ == h->sizes.whole) {
        (void)simt_sub_u64(&h->table.word[w.chunk], (w.class_ + 1u) * QUARRY_CHUNK_CLASS, relaxed);
        quarry_chunks_give(&h->segments.store, group, w.chunk);
        return;
    }
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        quarry_mask_free(&masks, w.class_, group, w.chunk, w.page);
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

/* ---- looking ---- */

/* Bits of the live pages among 32 of a chunk.
 *   class_   of the chunk, sizes.whole at most
 *   page     the first of them */
SIMT_FN uint32_t quarry_ouro_live(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                  uint32_t chunk, uint32_t class_, uint32_t page)
{
    uint32_t pages = quarry_class_pages(&h->sizes, class_), here = 0;
    if (pages > page)
        here = pages - page < 32u ? (1u << (pages - page)) - 1u : ~0u;
    if (payload == QUARRY_OURO_CHUNKS)
        return here & ~simt_load_u32(quarry_chunk_field(&h->table, h->table.parked, chunk, page), relaxed);
    return here & simt_load_u32(quarry_chunk_field(&h->table, h->live, chunk, page), relaxed);
}

SIMT_FN enum quarry_place quarry_ouro_find(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                           const struct quarry_ouro *h, const void *address,
                                           struct quarry_span *span)
{
    struct quarry_ouro_where w = quarry_ouro_locate(h, address);
    (void)backing;
    if (quarry_page_find(&h->chunks, address, span) == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (w.class_ <= h->sizes.whole &&
        (quarry_ouro_live(payload, h, w.chunk, w.class_, w.page / 32u * 32u) >> w.page % 32u & 1u)) {
        span->bytes = quarry_class_bytes(&h->sizes, w.class_);
        span->begin += w.page * span->bytes;
        return QUARRY_PLACE_LIVE;
    }
    span->begin += (uint32_t)((const unsigned char *)address - span->begin) / h->unit * h->unit;
    span->bytes = h->unit;
    return QUARRY_PLACE_FREE;
}

/* How often the structures of a chunk contradict themselves, in an idle heap.  Payload C. */
SIMT_FN uint32_t quarry_ouro_mask_faults(const struct quarry_ouro *h, uint32_t chunk)
{
    uint64_t word = h->table.word[chunk];
    uint32_t class_ = quarry_chunk_class(word) - 1u, free_pages = 0;
    if (class_ == ~0u || class_ > h->sizes.whole)
        return (quarry_mask_count(word) != 0) + (class_ != ~0u);
    for (uint32_t page = 0; page < quarry_class_pages(&h->sizes, class_); page += 32u)
        free_pages -= simt_popc_u32(quarry_ouro_live(QUARRY_OURO_CHUNKS, h, chunk, class_, page));
    free_pages += quarry_class_pages(&h->sizes, class_);
    if (class_ == h->sizes.whole)
        return (free_pages != 0) + (quarry_mask_count(word) != 0);
    return (quarry_mask_count(word) != (int32_t)free_pages) +
           (free_pages != 0 && !(word & quarry_mask_queued(class_)));
}

/* Likewise of an entry in the queue of a class, or in the last queue. */
SIMT_FN uint32_t quarry_ouro_entry_faults(const struct quarry_ouro *h, uint32_t class_, uint32_t chunk)
{
    uint64_t bit = class_ == h->sizes.whole ? QUARRY_MASK_LATE : quarry_mask_queued(class_);
    if (chunk == QUARRY_NO_INDEX)
        return 0;
    return chunk >= h->chunks.count || !(h->table.word[chunk] & bit);
}

/* How often the structures of a chunk contradict themselves, in an idle heap. */
SIMT_FN uint32_t quarry_ouro_faults(const struct quarry_ouro *h, uint32_t chunk)
{
    const struct quarry_chunk_table *t = &h->table;
    uint64_t word = t->word[chunk];
    uint32_t class_ = quarry_chunk_class(word) - 1u, count = quarry_chunk_count(word), bits = 0, faults = 0;
    uint32_t pages = class_ <= h->sizes.whole ? quarry_class_pages(&h->sizes, class_) : 0;
    for (uint32_t field = 0; field < t->fields; field++) {
        uint32_t live = *quarry_chunk_field(t, h->live, chunk, field * 32u);
        uint32_t parked = *quarry_chunk_field(t, t->parked, chunk, field * 32u), here = 0;
        if (pages > field * 32u)
            here = pages - field * 32u < 32u ? (1u << (pages - field * 32u)) - 1u : ~0u;
        faults += (live & parked) != 0 || ((live | parked) & ~here) != 0;
        bits += simt_popc_u32(parked);
    }
    return faults + (count != bits) + (quarry_chunk_marked(word) != 0) +
           (word / QUARRY_CHUNK_QUEUED != (count != 0)) + (class_ != ~0u && class_ > h->sizes.whole);
}

/* Likewise of a slot of the queue of a class. */
SIMT_FN uint32_t quarry_ouro_slot_faults(const struct quarry_ouro *h, uint32_t class_, uint32_t index)
{
    uint32_t chunk = index >> h->table.page_bits, page = index & ((1u << h->table.page_bits) - 1u);
    if (index == QUARRY_NO_INDEX)
        return 0;
    if (chunk >= h->chunks.count || quarry_chunk_class(h->table.word[chunk]) != class_ + 1u ||
        page >= quarry_class_pages(&h->sizes, class_))
        return 1;
    uint32_t taken = *quarry_chunk_field(&h->table, h->live, chunk, page) |
                     *quarry_chunk_field(&h->table, h->table.parked, chunk, page);
    return taken >> page % 32u & 1u;
}

/* Likewise of a queue in segments.  Returns how many it has. */
SIMT_FN uint32_t quarry_ouro_segment_faults(const struct quarry_ouro *h, uint32_t class_,
                                            const struct quarry_census_share *share,
                                            struct quarry_census *sum)
{
    const struct quarry_segments *q = &h->segments;
    const struct quarry_segments_ends *ends = &q->ends[class_];
    uint32_t front = ends->queue.front, back = ends->queue.back, size = q->size, segments = 0;
    uint32_t at = front - front % size; /* the first position of a segment */
    for (uint64_t pair = quarry_segments_first(q, class_); (uint32_t)pair != QUARRY_NO_INDEX;
         segments++, at += size) {
        if ((uint32_t)(pair >> 32) != at >> q->shift || (uint32_t)pair >= h->chunks.count ||
            segments > h->chunks.count) {
            sum->faults += share->thread == 0;
            break;
        }
        const uint32_t *slot = quarry_segments_slots(q, (uint32_t)pair);
        for (uint64_t i = share->thread; i < size; i += share->threads) {
            uint32_t index = slot[i], ticket = at + (uint32_t)i;
            if ((int32_t)(ticket - back) >= 0)
                sum->faults += index != QUARRY_NO_INDEX;
            else if ((int32_t)(ticket - front) >= 0 && index != QUARRY_SEGMENTS_SKIP)
                sum->faults += index == QUARRY_NO_INDEX || quarry_ouro_slot_faults(h, class_, index);
        }
        pair = quarry_segments_second(q, class_, pair);
    }
    if (share->thread == 0)
        sum->faults +=
            ends->queue.count != back - front || quarry_segments_room(ends->room) != (int32_t)(at - back);
    return segments;
}

/* Likewise of what all chunks share. */
SIMT_FN uint32_t quarry_ouro_shared_faults(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                           const struct quarry_ouro *h,
                                           const struct quarry_census_share *share, struct quarry_census *sum)
{
    int chunks = payload == QUARRY_OURO_CHUNKS;
    uint64_t slots = chunks ? h->token_slots : backing == QUARRY_OURO_STANDARD ? h->queue_slots : 0;
    uint32_t faults = 0, segments = 0;
    for (uint32_t k = 0; k < h->sizes.whole + (chunks ? 1u : 0u); k++) {
        for (uint64_t i = share->thread; i < slots; i += share->threads)
            faults += chunks ? quarry_ouro_entry_faults(h, k, h->tokens[k * slots + i])
                             : quarry_ouro_slot_faults(h, k, h->queue[k * slots + i]);
        if (backing != QUARRY_OURO_STANDARD)
            segments += quarry_ouro_segment_faults(h, k, share, sum);
        const struct quarry_semaphore *units = quarry_ouro_units(payload, h, k);
        if (share->thread == 0 && k < h->sizes.whole)
            faults += (int64_t)units->units < 0 || units->balance != units->units * QUARRY_SEMAPHORE_UNIT;
    }
    if (share->thread == 0)
        faults += (h->segments.store.head->word & QUARRY_CHUNKS_TRANSIT) != 0 ||
                  quarry_chunks_left(h->segments.store.head->word) > h->chunks.count ||
                  h->segments.store.head->fresh > h->chunks.count ||
                  (backing != QUARRY_OURO_STANDARD && *h->segments.segments != segments);
    return faults;
}

SIMT_FN void quarry_ouro_census(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                const struct quarry_ouro *h, uint64_t bytes,
                                const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint32_t wanted = bytes ? quarry_class_of(&h->sizes, bytes) : 0, size;
    for (uint64_t i = share->thread; i < h->chunks.count; i += share->threads) {
        uint32_t chunk = (uint32_t)i, live = 0, pages = 0;
        uint32_t class_ = quarry_chunk_class(simt_load_u64(&h->table.word[chunk], relaxed)) - 1u;
        if (share->idle)
            sum->faults += payload == QUARRY_OURO_CHUNKS ? quarry_ouro_mask_faults(h, chunk)
                                                         : quarry_ouro_faults(h, chunk);
        if (class_ <= h->sizes.whole)
            pages = quarry_class_pages(&h->sizes, class_);
        for (uint32_t page = 0; page < pages; page += 32u)
            live += simt_popc_u32(quarry_ouro_live(payload, h, chunk, class_, page));
        if (pages == 0 || (payload == QUARRY_OURO_CHUNKS && live == 0)) { /* C: malloc recalls it */
            sum->free_bytes += h->sizes.chunk_bytes;
            sum->largest_free = h->sizes.chunk_bytes;
            sum->slots += bytes ? quarry_class_pages(&h->sizes, wanted) : 0;
            continue;
        }
        size = quarry_class_bytes(&h->sizes, class_);
        sum->live_blocks += live;
        sum->live_bytes += (uint64_t)live * size;
        sum->free_bytes += (uint64_t)(pages - live) * size;
        if (live < pages && sum->largest_free < size)
            sum->largest_free = size;
        sum->slots += bytes && class_ == wanted ? pages - live : 0;
    }
    if (share->idle)
        sum->faults += quarry_ouro_shared_faults(backing, payload, h, share, sum);
}

#define quarry_ouro_settle QUARRY_NOTHING_TO_SETTLE
#define quarry_ouro_trim QUARRY_NOTHING_TO_TRIM

#if SIMT_HAS_HOST
/* Sections by the sizes that chunks of this kind have at most; so they don't shrink as pages grow. */
SIMT_HOST_FN void quarry_ouro_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_ouro *h = (struct quarry_ouro *)heap;
    uint32_t least = h->unit, page_bits = 0;
    while (l->page_bytes / least > QUARRY_CHUNK_PAGES_MOST)
        least *= 2;
    h->sizes = quarry_classes_make((uint32_t)l->page_bytes, least);
    uint32_t classes = h->sizes.whole;
    uint32_t fields = (quarry_classes_most_pages(&h->sizes) + 31u) / 32u;
    int pages = h->payload == QUARRY_OURO_PAGES;
    uint64_t slots = pages ? l->option[QUARRY_OPTION_ouro_queue_slots] : 0;
    uint64_t all = slots ? slots : l->pages * quarry_classes_most_pages(&h->sizes);
    uint32_t shift = 2, entries = h->backing == QUARRY_OURO_LIST && !l->debug ? QUARRY_SEGMENTS_HINTS : 2;
    while (8u << shift <= l->page_bytes)
        shift++;
    while (h->backing == QUARRY_OURO_ARRAY && !l->debug && entries < all >> shift &&
           entries << shift < 1u << 30)
        entries *= 2;
    if (slots) {
        h->queue_slots = (uint32_t)quarry_round_up_to_power(slots);
    } else {
        slots =
            l->pages * l->page_bytes / QUARRY_OURO_QUEUE_SHARE / sizeof *h->queue / (classes ? classes : 1u);
        h->queue_slots = QUARRY_OURO_QUEUE_LEAST;
        while (2u * (uint64_t)h->queue_slots <= slots && h->queue_slots < 1u << 30)
            h->queue_slots *= 2u;
    }
    h->token_slots = (uint32_t)quarry_round_up_to_power(l->pages);
    /* With more pages than an index can name the smallest ones are larger. */
    while (l->pages << page_bits < QUARRY_NO_INDEX && 1u << page_bits < quarry_classes_most_pages(&h->sizes))
        page_bits++;
    if (l->pages << page_bits >= QUARRY_NO_INDEX)
        page_bits--;
    while (quarry_classes_most_pages(&h->sizes) > 1u << page_bits)
        h->sizes = quarry_classes_make((uint32_t)l->page_bytes, least *= 2);
    h->table.page_bits = page_bits;
    h->table.fields = fields;
    h->segments.store.count = (uint32_t)l->pages;
    h->segments.store.returned.mask = h->token_slots - 1u;
    h->segments.store.head = (struct quarry_chunks_head *)quarry_layout_section(
        l, "store", sizeof *h->segments.store.head, QUARRY_SECTION_ALIGN);
    h->segments.store.returned.ends = &h->segments.store.head->returned;
    if (pages)
        h->class_ = (struct quarry_ouro_class *)quarry_layout_section(
            l, "classes", classes * sizeof *h->class_, QUARRY_SECTION_ALIGN);
    else
        h->masks = (struct quarry_mask_class *)quarry_layout_section(
            l, "classes", (classes + 1u) * sizeof *h->masks, QUARRY_SECTION_ALIGN);
    h->table.word =
        (uint64_t *)quarry_layout_section(l, "words", l->pages * sizeof *h->table.word, QUARRY_SECTION_ALIGN);
    if (pages) {
        h->table.place = (uint32_t *)quarry_layout_section(l, "places", l->pages * sizeof *h->table.place,
                                                           QUARRY_SECTION_ALIGN);
        h->live = (uint32_t *)quarry_layout_section(l, "live", l->pages * fields * sizeof *h->live,
                                                    QUARRY_SECTION_ALIGN);
    }
    h->table.parked = (uint32_t *)quarry_layout_section(
        l, "parked", l->pages * fields * sizeof *h->table.parked, QUARRY_SECTION_ALIGN);
    h->segments.store.returned.slot = (uint32_t *)quarry_layout_section(
        l, "returned", (uint64_t)h->token_slots * sizeof *h->tokens, QUARRY_SECTION_ALIGN);
    h->tokens = (uint32_t *)quarry_layout_section(
        l, "tokens", (uint64_t)h->token_slots * (classes + (pages ? 0 : 1u)) * sizeof *h->tokens,
        QUARRY_SECTION_ALIGN);
    if (h->backing != QUARRY_OURO_STANDARD) {
        struct quarry_segments *q = &h->segments;
        q->ends = (struct quarry_segments_ends *)quarry_layout_section(
            l, "directory", classes * (sizeof *q->ends + (uint64_t)entries * sizeof *q->directory),
            QUARRY_SECTION_ALIGN);
        q->directory = (uint64_t *)(void *)(q->ends + classes);
        q->list = h->backing == QUARRY_OURO_LIST;
        if (q->list && !l->debug)
            q->link = (uint64_t *)quarry_layout_section(l, "links", l->pages * sizeof *q->link,
                                                        QUARRY_SECTION_ALIGN);
        q->taken = (uint32_t *)quarry_layout_section(l, "taken", (l->pages + 1u) * sizeof *q->taken,
                                                     QUARRY_SECTION_ALIGN);
        q->segments = q->taken + l->pages;
        quarry_segments_shape(q, shift, entries);
    } else if (pages)
        h->queue = (uint32_t *)quarry_layout_section(
            l, "queues", (uint64_t)h->queue_slots * classes * sizeof *h->queue, QUARRY_SECTION_ALIGN);
    h->chunks = quarry_layout_pages(l);
    h->segments.base = l->debug ? SIMT_NULL : h->chunks.base;
    h->segments.stride = h->chunks.page_bytes;
}

SIMT_HOST_FN enum quarry_layout_result quarry_ouro_layout(enum quarry_ouro_backing backing,
                                                          enum quarry_ouro_payload payload,
                                                          struct quarry_ouro *h, struct quarry_layout *l)
{
    enum quarry_layout_result result =
        quarry_layout_unit(l, QUARRY_OURO_PAGE_BYTES, QUARRY_OURO_DEBUG_UNIT, &h->unit);
    h->backing = backing;
    h->payload = payload;
    if (result != QUARRY_LAYOUT_OK)
        return result;
    return quarry_layout_fit_units(l, quarry_ouro_sections, h, QUARRY_CHUNKS_MOST - 1u, h->unit);
}
#endif

#endif
