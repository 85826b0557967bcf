/* SPDX-License-Identifier: Apache-2.0 */
/* Free pages of alloc/ouro.h: how lanes that have units find theirs, how new chunks are divided, and what is done
 * before NULL. */
#ifndef QUARRY_ALLOC_OURO_PAGES_H
#define QUARRY_ALLOC_OURO_PAGES_H

#include "quarry/alloc/ouro/ouro_heap.h"

/* Where lanes look whose own slots are empty: all lanes of the group look at these and at slots behind them, in rounds
 * that go twice as far each time, and share what they see.  A number there is one that its taker has not waited for, or
 * whose put was late; one before them has a taker to come, which would have to look for another.  Of who has seen none
 * for long the tickets of puts and takes may lie far apart.  So it also looks at the newest numbers, just before back.
 *   ticket   of the group's first lane: the first of those that were drawn,
 *   drawn    and how many these are
 *   left     lanes that need a page
 *   n        so many times they have
 * Returns a slot in which there was a number, or QUARRY_NO_INDEX.  Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_seen(const struct quarry_index_queue *queue, uint32_t group, uint32_t left,
                                  uint32_t ticket, uint32_t drawn, uint32_t n)
{
    uint32_t width = simt_popc_u32(group), from = ticket + drawn,
             late = n < QUARRY_OURO_NEAR ? 0 : n - QUARRY_OURO_NEAR;
    if (late % 2u)
        from = simt_load_u32(&queue->ends->back, relaxed);
    n = late % 2u ? late / 2u : n - (late + 1u) / 2u;
    uint32_t first =
        simt_shuffle_u32(group, from, simt_ctz_u32(group)) - 1u - quarry_index_queue_round(n + 1u) * width;
    uint32_t seen = quarry_index_queue_peek(queue, (first - simt_rank(group)) & queue->mask);
    seen = simt_ballot(group, seen != QUARRY_NO_INDEX);
    if (simt_rank(left) >= simt_popc_u32(seen))
        return QUARRY_NO_INDEX;
    return (first - simt_popc_u32(group & ((1u << quarry_kth_set_u32(seen, simt_rank(left) + 1u)) - 1u))) &
           queue->mask;
}

/* Takes free pages for lanes of the group that have a unit each.
 *   has   those lanes, not none
 * Returns the caller's index, or QUARRY_NO_INDEX if it is not among them.  Scope: group, reconverged.
 * Progress: waits for lanes between a signal and a count (core/chunk_pages.h). */
SIMT_FN uint32_t quarry_ouro_take_ring(const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                       uint32_t has)
{
    struct quarry_index_queue queue = quarry_ouro_queue(h, class_);
    uint32_t index = QUARRY_NO_INDEX, ticket = 0, left = has;
    if (simt_rank(group) == 0)
        ticket = quarry_index_queue_front(&queue, simt_popc_u32(has));
    ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group)) + simt_rank(has);
    for (uint32_t vain = 0;; vain++) {
        uint32_t at = ticket & queue.mask;
        int around = vain >= QUARRY_OURO_WAIT && vain % 2u == 0; /* its own slot may still be late */
        if (around)
            at = quarry_ouro_seen(&queue, group, left, ticket, simt_popc_u32(has),
                                  (vain - QUARRY_OURO_WAIT) / 2u);
        if ((left >> simt_lane() & 1u) && at != QUARRY_NO_INDEX)
            index = quarry_index_queue_take_try(&queue, at, vain == 0);
        uint32_t found = left;
        left = simt_ballot(group, (left >> simt_lane() & 1u) && index == QUARRY_NO_INDEX);
        found &= ~left;
        if (around &&
            simt_any(group, (found >> simt_lane() & 1u) && quarry_index_queue_apart(&queue, at, ticket)) &&
            simt_rank(group) == 0)
            (void)quarry_index_queue_align(&queue, ticket);
        if (left == 0)
            return index;
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, class_);
        uint32_t parked = quarry_chunk_take(&parking, group, left);
        if (left >> simt_lane() & 1u)
            index = parked;
        left = simt_ballot(group, (left >> simt_lane() & 1u) && index == QUARRY_NO_INDEX);
        if (left == 0)
            return index;
        quarry_index_queue_rest(vain, QUARRY_OURO_WAIT);
    }
}

/* The same of a queue in segments. */
SIMT_FN uint32_t quarry_ouro_take_segments(const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                           uint32_t has)
{
    uint32_t index = QUARRY_NO_INDEX;
    for (uint32_t left = has;; simt_backoff()) {
        uint32_t took = quarry_segments_take(&h->segments, class_, group, left, 0);
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
    return quarry_mask_take(&masks, quarry_ouro_entries(backing, h), class_, group, has);
}

/* How a group of VA or VL asks. */
enum quarry_ouro_asks {
    QUARRY_OURO_FIRST, /* there may be new segments for it, and it waits for no proof */
    QUARRY_OURO_ANEW,  /* no new segments: they would take what it has drained */
    QUARRY_OURO_SEARCH /* nor these; and it waits for a proof, for all of its class who wait */
};

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
        uint32_t at = (lot.ticket + place) & queue.mask;
        if (fenced ? quarry_index_queue_put_fenced(&queue, at, index)
                   : quarry_index_queue_put_try(&queue, at, index))
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
 * They are not signalled.  Returns with those marked that found no place: to be counted after the signal.
 *   S: tickets are drawn as they are used.  Were they drawn for all pages at once, the slots of many chunks would be
 * empty for as long as these take, and who takes what others have put would look for it slot by slot. */
SIMT_FN void quarry_ouro_put_new(enum quarry_ouro_backing backing, const struct quarry_ouro *h,
                                 uint32_t class_, uint32_t group, uint32_t chunk, uint32_t made,
                                 uint32_t kept, uint32_t slots)
{
    uint32_t rank = simt_rank(group), width = simt_popc_u32(group);
    uint32_t each = quarry_class_pages(&h->sizes, class_), pages = made * each;
    if (rank < made) /* `queued` may go on from an earlier life */
        (void)simt_add_u64(&h->table.word[chunk], (class_ + 1u) * QUARRY_CHUNK_CLASS, relaxed);
    uint32_t got = backing == QUARRY_OURO_STANDARD || slots > pages - kept ? pages - kept : slots;
    struct quarry_ouro_lot lot = {0, got};
    if (backing != QUARRY_OURO_STANDARD)
        lot = quarry_ouro_tickets(backing, h, class_, group, got);
    simt_sync(group); /* the chunks have their class before their pages are put */
    if (backing != QUARRY_OURO_STANDARD && rank == 0)
        quarry_segments_spare(&h->segments, class_, slots - got);
    simt_fence(acq_rel); /* the pages are put now: pairs with the acquire of who takes one */
    uint32_t whose = (kept + rank) / each, page = (kept + rank) % each;
    uint32_t chunks_on = width / each, pages_on = width % each; /* no division for each page */
    for (uint32_t place = rank, last = pages - kept; place - rank < last; place += width) {
        int mine = place < last;
        if (backing == QUARRY_OURO_STANDARD && (place - rank) % (width * QUARRY_OURO_PORTION) == 0) {
            uint32_t left = last - (place - rank), n = width * QUARRY_OURO_PORTION;
            lot = quarry_ouro_tickets(backing, h, class_, group, left < n ? left : n);
            lot.ticket -= place - rank;
        }
        uint32_t from = simt_shuffle_u32(group, chunk, quarry_lane_of_rank(group, mine ? whose : 0));
        if (mine && quarry_ouro_put(backing, h, class_, lot, place, from, page, 1))
            (void)simt_add_u64(&h->table.word[from], QUARRY_CHUNK_MARKED, relaxed);
        uint32_t more = page + pages_on, over = more >= each;
        whose += chunks_on + over;
        page = over ? more - each : more;
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
        quarry_mask_deal(&masks, quarry_ouro_entries(backing, h), class_, group, chunk, made, kept);
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

/* As quarry_chunks_take.
 *   hurries   P: the caller does not wait for a proof while there are segments */
SIMT_FN uint32_t quarry_ouro_chunks(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                    uint32_t group, uint32_t needs, int deals, int hurries, uint64_t *seen)
{
    if (payload == QUARRY_OURO_PAGES)
        return quarry_chunks_take(&h->segments.store, group, needs, deals,
                                  hurries ? h->segments.segments : SIMT_NULL, seen);
    struct quarry_chunk_masks masks = quarry_ouro_masks(h);
    return quarry_mask_chunks(&masks, group, needs, deals, seen);
}

/* A group has taken what lies in queues of a class: pages, which are parked, or entries of chunks, which become strays.
 *   index   the caller's, or QUARRY_NO_INDEX
 * Scope: group, reconverged. */
SIMT_FN void quarry_ouro_lay_apart(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                   uint32_t class_, uint32_t group, uint32_t index)
{
    uint32_t some = simt_ballot(group, index != QUARRY_NO_INDEX), chunk = index >> h->table.page_bits;
    if (some == 0)
        return;
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        if (index != QUARRY_NO_INDEX)
            quarry_mask_stray(&masks, class_, index);
    } else {
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, class_);
        if (index != QUARRY_NO_INDEX)
            quarry_chunk_mark(&parking, chunk, index & ((1u << h->table.page_bits) - 1u));
        simt_sync(group);
        quarry_chunk_enter(&parking, group, some, chunk);
    }
    simt_sync(group);
}

/* Are there segments?  Scope: group, reconverged. */
SIMT_FN int quarry_ouro_has_segments(const struct quarry_ouro *h, uint32_t group)
{
    uint32_t any = simt_rank(group) == 0 && quarry_segments_any(h->segments.segments);
    return (int)simt_shuffle_u32(group, any, simt_ctz_u32(group));
}

/* Before NULL: brings the chunks of all segments back, by laying apart all that is in queues.  Who finds nothing in
 * them is in no transit: many do, and each would keep the others from a proof.
 * Scope: group, reconverged.  Progress: waits for lanes in the middle of a put, which wait for nobody. */
SIMT_FN void quarry_ouro_drain(enum quarry_ouro_payload payload, const struct quarry_ouro *h, uint32_t group)
{
    const struct quarry_segments *q = &h->segments;
    uint32_t leader = simt_ctz_u32(group), width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t begun = 0;
    for (uint32_t k = 0; k < h->sizes.whole;) {
        uint32_t some = 0, got = 0, ticket = 0;
        if (rank == 0 && quarry_segments_has_some(q, k)) {
            if (!begun)
                quarry_chunks_begin(&q->store); /* pages in hands are chunks on their way */
            some = begun = 1;
        }
        if (!simt_shuffle_u32(group, some, leader)) {
            k++;
            continue;
        }
        quarry_segments_shut(q, k, group, width * QUARRY_OURO_DRAIN);
        if (rank == 0)
            got = quarry_segments_claim(q, k, width * QUARRY_OURO_DRAIN, &ticket);
        got = simt_shuffle_u32(group, got, leader);
        ticket = simt_shuffle_u32(group, ticket, leader);
        for (uint32_t i = 0; i < got; i += width) {
            uint32_t index =
                quarry_segments_read(q, k, group, group, ticket + i, got - i, payload == QUARRY_OURO_CHUNKS);
            quarry_ouro_lay_apart(payload, h, k, group, index);
        }
    }
    if (rank == 0 && begun)
        quarry_chunks_end(&q->store);
    simt_sync(group);
}

/* Waits until a group whose class has nothing, and that holds nothing, may ask again.
 * Returns as quarry_semaphore_search; QUARRY_SEMAPHORE_AGAIN: there may be something.  Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_turn(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                  uint32_t class_, uint32_t group)
{
    struct quarry_semaphore *units = quarry_ouro_units(payload, h, class_);
    uint32_t said = QUARRY_SEMAPHORE_AGAIN;
    uint64_t since = 0;
    if (simt_rank(group) == 0)
        do {
            said = quarry_semaphore_search(units, &since);
        } while (said == QUARRY_SEMAPHORE_AGAIN && quarry_semaphore_coming(units) == 0 &&
                 quarry_chunks_left(simt_load_u64(&h->segments.store.head->word, relaxed)) == 0);
    return simt_shuffle_u32(group, said, simt_ctz_u32(group));
}

/* A group was told to ask again, as there were segments, and holds nothing.  It brings these back, and then waits for
 * its turn: but not for one of whole chunks, as who asks for these changes no word in vain.
 * Returns as quarry_ouro_turn; of C only QUARRY_SEMAPHORE_AGAIN.  Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_again(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                   uint32_t class_, uint32_t group)
{
    uint32_t said = QUARRY_SEMAPHORE_AGAIN;
    for (uint32_t looks = 0; looks < QUARRY_OURO_PATIENCE; looks++) {
        quarry_ouro_drain(payload, h, group);
        if (payload == QUARRY_OURO_PAGES && looks == 0 && class_ != h->sizes.whole)
            said = quarry_ouro_turn(payload, h, class_, group);
        if (said == QUARRY_SEMAPHORE_REFUSED || !quarry_ouro_has_segments(h, group))
            break;
        simt_backoff(); /* what is left waits for others */
    }
    return said;
}

/* Makes of what was promised as much as it gets chunks for at once.
 *   needs   lanes of the group without a page
 *   ask     VA, VL: of what kind it is
 *   a       the first lane's, with its `promised` in all, which is not 0; then less is promised
 *   index   in, out: the caller's page
 * Returns how many of `needs` are refused: the last ones; with QUARRY_OURO_UNPROVEN, as there are segments.
 * Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_grow(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                  const struct quarry_ouro *h, uint32_t class_, uint32_t group,
                                  uint32_t needs, enum quarry_ouro_asks ask, struct quarry_ouro_ask *a,
                                  uint32_t *index)
{
    struct quarry_semaphore *units = quarry_ouro_units(payload, h, class_);
    uint32_t rank = simt_rank(group), each = quarry_class_pages(&h->sizes, class_), refused = 0;
    uint32_t wanted = (a->promised + each - 1u) / each, slots = 0;
    uint64_t seen = 0;
    if (backing != QUARRY_OURO_STANDARD && payload == QUARRY_OURO_PAGES && ask == QUARRY_OURO_FIRST) {
        uint32_t pages = wanted * each, kept = a->owed < pages ? a->owed : pages;
        pages -= simt_shuffle_u32(group, kept, simt_ctz_u32(group));
        if (pages)
            slots = quarry_segments_reserve(&h->segments, class_, group, pages, wanted);
    }
    uint32_t chunk = quarry_ouro_chunks(payload, h, group, simt_ballot(group, rank < wanted), 1,
                                        backing != QUARRY_OURO_STANDARD && ask != QUARRY_OURO_SEARCH, &seen);
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
                                   uint32_t class_, uint32_t group, enum quarry_ouro_asks ask)
{
    struct quarry_semaphore *units = quarry_ouro_units(payload, h, class_);
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), needs = group, index = QUARRY_NO_INDEX;
    struct quarry_ouro_ask a = {0, 0, 0};
    if (rank == 0) {
        a.got = quarry_semaphore_ask(units, simt_popc_u32(group));
        a.owed = simt_popc_u32(group) - a.got;
    }
    for (;;) {
        class_ = simt_opaque_u32(class_);
        units = quarry_ouro_units(payload, h, class_);
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
            class_ = simt_opaque_u32(class_);
            uint32_t refused = quarry_ouro_grow(backing, payload, h, class_, group, needs, ask, &a, &index);
            needs = simt_ballot(group, (needs >> simt_lane() & 1u) && index == QUARRY_NO_INDEX);
            uint32_t left = simt_popc_u32(needs) - (refused & ~QUARRY_OURO_UNPROVEN);
            if ((refused & QUARRY_OURO_UNPROVEN) && (needs >> simt_lane() & 1u) && simt_rank(needs) >= left)
                index = QUARRY_OURO_AGAIN;
            needs = simt_ballot(group, (needs >> simt_lane() & 1u) && simt_rank(needs) < left);
        }
    }
}

/* A whole chunk for each lane of the group, or QUARRY_NO_INDEX, or QUARRY_OURO_AGAIN.  Scope: group, reconverged. */
SIMT_FN uint32_t quarry_ouro_whole(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                   const struct quarry_ouro *h, uint32_t group)
{
    uint64_t seen = 0;
    uint32_t chunk = quarry_ouro_chunks(payload, h, group, group, 0, 0, &seen), proven = 0;
    if (backing == QUARRY_OURO_STANDARD || !simt_any(group, chunk == QUARRY_NO_INDEX))
        return chunk;
    if (simt_rank(group) == 0)
        proven =
            !quarry_segments_any(h->segments.segments) && quarry_chunks_is_same(&h->segments.store, seen);
    proven = simt_shuffle_u32(group, proven, simt_ctz_u32(group));
    return chunk == QUARRY_NO_INDEX && !proven ? QUARRY_OURO_AGAIN : chunk;
}

#endif
