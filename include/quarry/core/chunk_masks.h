/* SPDX-License-Identifier: Apache-2.0 */
/* Free pages that stay in their chunks, where many take of one chunk at once: a bit for each page, a count for each
 * chunk, and for each size class a queue of chunks that have some.
 *
 * After Ouroboros (core/index_queue.h has the source), section 4.2, algorithms 4 and 5.
 *
 *     word    63 ... 40 | 39 ... 24 | 23 ..... 16 | 15   | 14    | 13 ... 0      of a chunk
 *             count     |           | class + 1   | late | stray | queued
 *     count   free pages that have a bit and that nobody has claimed; below 0 for a moment
 *     class   0: none.  The chunk is in the store, or on its way from it or to it
 *     queued  bit k: the queue of class k has an *entry* of the chunk, or one lane has that in its hands
 *     late    the same, of the queue of chunks that were whole and could not go to the store
 *     stray   the same, of the queue of entries that found no slot
 *     parked  a bit for each page: it is free, and here
 *
 *     free    sets the bits, adds to count, then signals the units
 *     take    has units.  Looks at entries of the queue of its class, subtracts what it needs from the count of
 *             a chunk that has some, and adds back what it did not get.  Then it wins as many bits
 *     whole   who adds to count and makes it all of the chunk's pages, takes their units from the semaphore.  If it
 *             gets them it makes count 0 and the class none, by one compare-exchange, and returns the chunk
 *
 * An entry is a hint.  It says nothing that the word does not say better: a subtraction tells class and count of that
 * very instant.  If the chunk is now of another class the count was not the caller's business, and it adds back what
 * it has subtracted.  So a chunk that is recycled between look and subtraction does no harm, and no generation is
 * needed. Most entries are looked at where they are.  An entry may stay when the chunk goes to the store, and serve it
 * again should it come back to this class.  Who takes an entry out puts it back, unless the word says that there is
 * nothing: then it clears the bit, by a compare-exchange of that very word.
 *
 * A chunk with pages has an entry.  Whoever adds to count and takes it from 0 or less to more than 0 sets the bit
 * `queued`, and puts the entry if that was clear.  All additions do so: a free, a new chunk, and one that undoes a
 * subtraction.  So a free that comes between a subtraction and its undoing, and sees no 0, is not missed: the undoing
 * crosses 0.  The bit is cleared only while count is 0 or less, or the class another one.
 *
 * No page is lost or given twice.  A subtraction has got what count had above 0.  Bits are set before they are
 * counted, and won after they were claimed, so there are at least as many as counted and claimed: who has claimed some
 * finds them.  A bit is won by an AND.
 *
 * Who gives a chunk to the store.  When count is all of its pages, nobody has claimed one, nobody has subtracted in
 * error, and nobody has a page.  Whoever has made it so takes as many units as it has pages.  All units of a class are
 * worth the same, so it does not matter whose they are; there are never more units than pages counted. The
 * compare-exchange fails if somebody claims a page meanwhile, or subtracts in error.  Then the units are signalled
 * again, once.  The chunk will be whole again by an addition, and who makes that tries again.
 *
 * If units are short the chunk stays, and is *late*: others have reserved them, or have counted pages and not
 * signalled them yet.  Those who have reserved some may take other pages, and then nobody would look at this chunk
 * again.  So whoever has signalled units, and who finds the store empty, recalls the late chunks: each that is still
 * whole is tried again.
 *
 * While somebody tries, and while it recalls, units or chunks are in its hands that nobody sees.  All this is in
 * transit for the store (core/chunks.h): who would be refused meanwhile looks again.
 *
 * So nobody recalls in vain, over and over.  Those who have reserved the pages may be just about to ask for chunks, and
 * wait for a proof before they look for pages again; with others always in transit they would never get it.  Who
 * recalls looks first: if it sees as many entries as there are, all whole, and of none as many units free as it has
 * pages, it leaves them.  That is what the semaphore would say.  A look that another disturbs may take one entry for
 * two: but that other is in transit, or was, so the store's word is not the same at the end of a proof.
 *
 * Where to look.  The queue is dense: entries leave at its front only.  The first look is at a random place, so that
 * warps which come together take of many chunks, and leave all entries there.  Who finds too little there takes
 * entries out at the front, as many as it needs, and at each further time twice as many.  So entries of no use are
 * gone soon.
 *
 * A take ends.  There are never more units granted, and not served, than pages counted or about to be.  Who has looked
 * everywhere looks again; each time it was unlucky another got on.  (Not so with strays, below: lanes of two classes
 * can take out each other's, over and over.  But looks are at random places, so that ends.)  Waits are for lanes that
 * have an entry in their hands, or are about to put one.
 *
 * Queues in segments (core/segments.h).  A put may find no slot, as there is no chunk for a segment.  A free must not
 * fail, so the entry becomes a *stray*: it goes into one array for all classes, with room for all chunks.  So a chunk
 * with pages has an entry in the queue of its class, or among the strays, or in the hands of one lane, and one of the
 * two bits says so.  Whoever looks for pages looks at strays each other time.  It takes some out, and puts them into
 * the queue of the class that the chunk has by then, if there is a slot now.  An entry changes its bit by one
 * compare-exchange of the word: if a lane set one bit and then cleared the other, somebody who sees both could rely on
 * the one that goes.  (tests/models/segments.py goes through all schedules of small cases.)  Entries are looked
 * at where they are by quarry_segments_peek.  To bring segments back all entries are made strays.
 *
 * Order.  A page: its bit is set with release and won with acquire.  A chunk: pages are counted with release; a claim
 * acquires, and so does the compare-exchange that gives the chunk away.  All changes of a word are read-modify-writes,
 * so each continues the release sequences before it.  A claim comes after all that the chunk was in earlier lives.
 * Entries are relaxed.  A late chunk was put before the transit in which that was done has ended (release), and is
 * looked for after the store's word was read (acquire). */
#ifndef QUARRY_CORE_CHUNK_MASKS_H
#define QUARRY_CORE_CHUNK_MASKS_H

#include "quarry/core/chunk_pages.h"
#include "quarry/core/chunks.h"
#include "quarry/core/classes.h"
#include "quarry/core/index_queue.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/segments.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"
#include "quarry/simt/simt.h"

#define QUARRY_MASK_PAGE ((uint64_t)1 << 40) /* of word: a page that is counted */
#define QUARRY_MASK_LATE ((uint64_t)1 << 15)
#define QUARRY_MASK_STRAY ((uint64_t)1 << 14)
#define QUARRY_MASK_CLASSES_MOST 14u
SIMT_STATIC_ASSERT(QUARRY_CHUNK_PAGES_MOST <= 1u << QUARRY_MASK_CLASSES_MOST,
                   "each class has a bit of a word");
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_LANES + QUARRY_CHUNK_PAGES_MOST <= (uint64_t)1 << 23,
                   "count has room for what all lanes subtract in error");

struct quarry_mask_class {
    struct quarry_semaphore units; /* free pages of the class */
    struct quarry_index_queue_ends queue;
};

/* What the queues of a heap's chunks have besides those of the classes. */
struct quarry_mask_ends {
    struct quarry_index_queue_ends late, stray;
};

/* All chunks, as a group of lanes uses them. */
struct quarry_chunk_masks {
    const struct quarry_chunk_table *table; /* without `place` */
    const struct quarry_chunks *store;
    const struct quarry_classes *sizes;
    struct quarry_mask_class *class_; /* as many as sizes.whole */
    uint32_t *slot;                   /* of the queue of class k: `slots` of them from k * slots on */
    uint32_t slots;                   /* a power of two; as many as chunks, or more */
    struct quarry_index_queue late;   /* with as many slots */
    struct quarry_index_queue stray;  /* likewise; where queues lie in segments only */
};

/* Pages that are counted, by a value of `word`. */
SIMT_FN int32_t quarry_mask_count(uint64_t word)
{
    return (int32_t)((int64_t)word >> 40);
}

/* The bit of `word` that says: the queue of this class has an entry of the chunk. */
SIMT_FN uint64_t quarry_mask_queued(uint32_t class_)
{
    return (uint64_t)1 << class_;
}

/* Pages that one who has a unit of this class could claim, by a value of `word`. */
SIMT_FN uint32_t quarry_mask_here(uint64_t word, uint32_t class_)
{
    int32_t count = quarry_mask_count(word);
    return quarry_chunk_class(word) == class_ + 1u && count > 0 ? (uint32_t)count : 0;
}

/* The queue of a class, not that of late chunks. */
SIMT_FN struct quarry_index_queue quarry_mask_queue(const struct quarry_chunk_masks *m, uint32_t class_)
{
    struct quarry_index_queue q = {&m->class_[class_].queue, m->slot + (uint64_t)class_ * m->slots,
                                   m->slots - 1u};
    return q;
}

/* No chunk has a class.  Thread `thread` of `threads` does its share; nothing else runs. */
SIMT_FN void quarry_chunk_masks_init(const struct quarry_chunk_masks *m,
                                     const struct quarry_segments *segments, uint64_t thread,
                                     uint64_t threads)
{
    for (uint64_t i = thread; i < m->store->count; i += threads)
        m->table->word[i] = 0;
    for (uint64_t i = thread; i < (uint64_t)m->store->count * m->table->fields; i += threads)
        m->table->parked[i] = 0;
    for (uint32_t k = 0; k < m->sizes->whole; k++) {
        struct quarry_index_queue queue = quarry_mask_queue(m, k);
        if (thread == 0)
            quarry_semaphore_init(&m->class_[k].units, 0);
        if (segments)
            quarry_segments_init(segments, k, thread, threads);
        else
            quarry_index_queue_init(&queue, 0, thread, threads);
    }
    quarry_index_queue_init(&m->late, 0, thread, threads);
    if (segments)
        quarry_index_queue_init(&m->stray, 0, thread, threads);
}

/* ---- entries ---- */

/* Puts an entry into an array.  Never waits: there is one of each chunk. */
SIMT_FN void quarry_mask_put_array(const struct quarry_index_queue *queue, uint32_t chunk)
{
    quarry_index_queue_put(queue, quarry_index_queue_back(queue, 1), chunk);
    quarry_index_queue_add(queue, 1);
}

/* The caller has an entry of a class in its hands, for which there is no slot: it becomes a stray, unless it is of no
 * use.  Never waits. */
SIMT_FN void quarry_mask_stray(const struct quarry_chunk_masks *m, uint32_t class_, uint32_t chunk)
{
    uint64_t *word = &m->table->word[chunk], now = simt_load_u64(word, relaxed);
    for (;;) { /* by one change: between two somebody might rely on the bit that is to be cleared */
        uint64_t then =
            (now & ~quarry_mask_queued(class_)) | (quarry_mask_here(now, class_) ? QUARRY_MASK_STRAY : 0);
        uint64_t before = simt_cas_u64(word, now, then, relaxed);
        if (before == now) {
            if (then & ~now & QUARRY_MASK_STRAY)
                quarry_mask_put_array(&m->stray, chunk);
            return;
        }
        now = before;
    }
}

/* Puts entries that lanes of a group have in their hands: quarry_mask_enter and others have told them so.
 *   segments   here and in what calls this: where the queues of classes lie; NULL, a constant: they are arrays
 *   puts       bits of classes, as in `word`: the queue of each gets an entry of the caller's chunk.  0: none
 *   grows      queues in segments get new ones if they need them; else an entry that finds no slot is a stray
 * Scope: group, reconverged.  Never waits but for the group. */
SIMT_FN void quarry_mask_put(const struct quarry_chunk_masks *m, const struct quarry_segments *segments,
                             uint32_t group, uint32_t puts, uint32_t chunk, int grows)
{
    for (uint32_t some; (some = simt_ballot(group, puts != 0)) != 0;) {
        uint32_t class_ = simt_shuffle_u32(group, puts ? simt_ctz_u32(puts) : 0, simt_ctz_u32(some));
        int mine = (int)(puts >> class_ & 1u);
        uint32_t these = simt_ballot(group, mine), got = simt_popc_u32(these), ticket = 0;
        struct quarry_index_queue queue =
            segments ? quarry_segments_tickets(segments, class_) : quarry_mask_queue(m, class_);
        if (segments)
            got = quarry_segments_reserve_try(segments, class_, group, got, grows);
        if (got && simt_rank(group) == 0)
            ticket = quarry_index_queue_back(&queue, got);
        ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group)) + simt_rank(these);
        if (mine && !segments)
            quarry_index_queue_put(&queue, ticket, chunk);
        else if (mine && simt_rank(these) < got)
            quarry_segments_put(segments, class_, ticket, chunk, 0);
        else if (mine)
            quarry_mask_stray(m, class_, chunk);
        simt_sync(group); /* all are put */
        if (got && simt_rank(group) == 0)
            quarry_index_queue_add(&queue, got);
        puts &= ~(1u << class_);
    }
}

/* The caller has taken an entry out, and must put it back, unless it is of no use.
 * Returns the bit of its class; else 0. */
SIMT_FN uint32_t quarry_mask_keep(const struct quarry_chunk_masks *m, uint32_t class_, uint32_t chunk)
{
    uint64_t *word = &m->table->word[chunk], now = simt_load_u64(word, relaxed);
    while (!quarry_mask_here(now, class_)) {
        uint64_t before = simt_cas_u64(word, now, now & ~quarry_mask_queued(class_), relaxed);
        if (before == now)
            return 0;
        now = before;
    }
    return (uint32_t)quarry_mask_queued(class_);
}

/* The same of a stray: it goes into the queue of the class that the chunk has now. */
SIMT_FN uint32_t quarry_mask_keep_stray(const struct quarry_chunk_masks *m, uint32_t chunk)
{
    uint64_t *word = &m->table->word[chunk], now = simt_load_u64(word, relaxed), before, queued;
    for (;; now = before) {
        uint32_t its = quarry_chunk_class(now) - 1u;
        queued = its < m->sizes->whole && quarry_mask_here(now, its) ? quarry_mask_queued(its) & ~now : 0;
        before = simt_cas_u64(word, now, (now & ~QUARRY_MASK_STRAY) | queued, relaxed);
        if (before == now)
            return (uint32_t)queued;
    }
}

/* ---- whole chunks ---- */

/* A chunk that was found whole goes to the store, unless somebody needs a page of its class.  Waits for lanes in the
 * middle of a call of the semaphore only. */
SIMT_FN void quarry_mask_leave(const struct quarry_chunk_masks *m, uint32_t chunk, uint32_t class_)
{
    struct quarry_semaphore *units = &m->class_[class_].units;
    uint64_t *word = &m->table->word[chunk];
    uint32_t pages = quarry_class_pages(m->sizes, class_);
    quarry_chunks_begin(m->store);
    /* The chunk is in transit before its units are taken: pairs with the fence in quarry_chunks_is_same. */
    simt_fence(acq_rel);
    if (!quarry_semaphore_try(units, pages)) {
        if (!(simt_or_u64(word, QUARRY_MASK_LATE, relaxed) & QUARRY_MASK_LATE)) {
            quarry_index_queue_put(&m->late, quarry_index_queue_back(&m->late, 1), chunk);
            quarry_index_queue_add(&m->late, 1);
        }
        quarry_chunks_end(m->store);
        return;
    }
    uint64_t now = simt_load_u64(word, relaxed);
    while (quarry_mask_here(now, class_) == pages) {
        /* acquire: pairs with the releases of those who counted its pages */
        uint64_t before = simt_cas_u64(
            word, now, now - pages * QUARRY_MASK_PAGE - (class_ + 1u) * QUARRY_CHUNK_CLASS, acquire);
        if (before == now) {
            quarry_chunks_return(m->store, chunk);
            return;
        }
        now = before;
    }
    quarry_semaphore_signal(units, pages);
    quarry_chunks_end(m->store);
}

/* A chunk's count was 0 or less, and is more now: the queue is to have an entry.
 *   word   its value then
 * Returns the bit of its class if the caller has that entry in its hands now; else 0. */
SIMT_FN uint32_t quarry_mask_enter(const struct quarry_chunk_masks *m, uint32_t class_, uint32_t chunk,
                                   uint64_t word)
{
    uint64_t queued = quarry_mask_queued(class_);
    if (word & (queued | QUARRY_MASK_STRAY)) /* an array has no strays */
        return 0;
    return (uint32_t)(~simt_or_u64(&m->table->word[chunk], queued, relaxed) & queued);
}

/* Is a chunk whole, by a value of its word?
 *   class_   of it then */
SIMT_FN int quarry_mask_is_whole(const struct quarry_chunk_masks *m, uint64_t word, uint32_t class_)
{
    return class_ < m->sizes->whole && quarry_mask_here(word, class_) == quarry_class_pages(m->sizes, class_);
}

/* Adds pages to the count of a chunk.  Never waits.
 *   puts   out: as that of quarry_mask_put
 * Returns its word. */
SIMT_FN uint64_t quarry_mask_add(const struct quarry_chunk_masks *m, uint32_t chunk, uint32_t n,
                                 uint32_t *puts)
{
    /* release: pairs with the acquires of claims, and in quarry_mask_leave */
    uint64_t word =
        simt_add_u64(&m->table->word[chunk], n * QUARRY_MASK_PAGE, release) + n * QUARRY_MASK_PAGE;
    uint32_t class_ = quarry_chunk_class(word) - 1u, here = quarry_mask_here(word, class_);
    *puts = class_ < m->sizes->whole && here - 1u < n ? quarry_mask_enter(m, class_, chunk, word) : 0;
    return word;
}

/* Are all late chunks whole, and their pages reserved by others?  Then it is in vain to try them.  If this is not sure:
 * no.
 *   late   so many there are, or more */
SIMT_FN int quarry_mask_is_in_vain(const struct quarry_chunk_masks *m, uint32_t late)
{
    uint32_t front = simt_load_u32(&m->late.ends->front, relaxed);
    for (uint32_t i = 0; i < late; i++) {
        uint32_t chunk = quarry_index_queue_peek(&m->late, (front + i) & m->late.mask);
        if (chunk == QUARRY_NO_INDEX)
            return 0;
        uint64_t word = simt_load_u64(&m->table->word[chunk], relaxed);
        uint32_t class_ = quarry_chunk_class(word) - 1u;
        if (!quarry_mask_is_whole(m, word, class_) ||
            quarry_semaphore_free(simt_load_u64(&m->class_[class_].units.balance, relaxed)) >=
                (int64_t)quarry_class_pages(m->sizes, class_))
            return 0;
    }
    return 1;
}

/* Tries the late chunks again.
 * Returns whether there were any that were not reserved by others. */
SIMT_FN int quarry_mask_recall(const struct quarry_chunk_masks *m)
{
    /* acquire: pairs with the fence below.  Who sees that others have some in their hands sees them in transit. */
    int32_t late = (int32_t)simt_load_u32(&m->late.ends->count, acquire);
    if (late <= 0 || quarry_mask_is_in_vain(m, (uint32_t)late))
        return 0;
    quarry_chunks_begin(m->store);
    simt_fence(acq_rel); /* the chunks are in transit before they are claimed: pairs with the acquire above */
    for (; late > 0 && quarry_index_queue_claim(&m->late, 1); late--) {
        uint32_t chunk = quarry_index_queue_take(&m->late, quarry_index_queue_front(&m->late, 1));
        uint64_t word = simt_and_u64(&m->table->word[chunk], ~QUARRY_MASK_LATE, relaxed);
        uint32_t class_ = quarry_chunk_class(word) - 1u;
        if (quarry_mask_is_whole(m, word, class_))
            quarry_mask_leave(m, chunk, class_);
    }
    quarry_chunks_end(m->store);
    return 1;
}

/* Takes chunks out of the store, late ones if there are no others.  As quarry_chunks_take. */
SIMT_FN uint32_t quarry_mask_chunks(const struct quarry_chunk_masks *m, uint32_t group, uint32_t needs,
                                    int deals, uint64_t *seen)
{
    uint32_t chunk = QUARRY_NO_INDEX;
    for (;;) {
        uint32_t got = quarry_chunks_take(m->store, group, needs, deals, SIMT_NULL, seen), again = 0;
        uint32_t some = simt_ballot(group, got != QUARRY_NO_INDEX);
        chunk = some >> simt_lane() & 1u ? got : chunk;
        needs &= ~some;
        if (needs == 0 || (deals && some))
            return chunk;
        if (simt_rank(group) == 0) {
            if (quarry_mask_recall(m)) {
                /* acquire: pairs with the release in quarry_chunks_end */
                *seen = simt_load_u64(&m->store->head->word, acquire);
                again = !quarry_chunks_is_empty(*seen);
            } else if (!deals) { /* else the caller asks that, later */
                again = !quarry_chunks_is_same(m->store, *seen);
            }
        }
        if (!simt_shuffle_u32(group, again, simt_ctz_u32(group)))
            return chunk;
    }
}

/* ---- take ---- */

/* Claims up to n pages of a chunk.
 *   count   out: pages that were counted before
 *   puts    out, if it gets less: as that of quarry_mask_put
 * Returns how many. */
SIMT_FN uint32_t quarry_mask_claim(const struct quarry_chunk_masks *m, uint32_t class_, uint32_t chunk,
                                   uint32_t n, uint32_t *count, uint32_t *puts)
{
    uint64_t *word = &m->table->word[chunk];
    /* acquire: pairs with the releases of those who counted its pages */
    *count = quarry_mask_here(simt_sub_u64(word, n * QUARRY_MASK_PAGE, acquire), class_);
    uint32_t got = *count < n ? *count : n;
    if (got < n) {
        uint64_t now = quarry_mask_add(m, chunk, n - got, puts);
        uint32_t its = quarry_chunk_class(now) - 1u;
        if (quarry_mask_is_whole(m, now, its))
            quarry_mask_leave(m, chunk, its);
    }
    return got;
}

/* Wins bits of a field, up to n of those that it has.
 *   pages   of the chunk: wrong frees may have set other bits */
SIMT_FN uint32_t quarry_mask_win(const struct quarry_chunk_masks *m, uint32_t chunk, uint32_t field,
                                 uint32_t n, uint32_t pages)
{
    uint32_t *bits = quarry_chunk_field(m->table, m->table->parked, chunk, field * 32u);
    uint32_t here = pages - field * 32u, some = simt_load_u32(bits, relaxed);
    some &= here < 32u ? (1u << here) - 1u : ~0u;
    uint32_t last = some ? quarry_kth_set_u32(some, n) : 32u;
    some &= last < 31u ? (2u << last) - 1u : ~0u;
    /* acquire: pairs with the release in quarry_mask_free */
    return some ? simt_and_u32(bits, ~some, acquire) & some : 0;
}

/* Wins the bits that lanes of the group have claimed, and hands them out.
 *   got     pages of `chunk` that the caller has claimed
 *   count   pages of it that were counted before: those with the highest numbers are tried first, so that groups
 *           which claim of a new chunk win bits of different fields
 *   left    lanes that need a page: as many as were claimed, or more
 *   index   in, out: the caller's page
 * Returns those that need one still. */
SIMT_FN uint32_t quarry_mask_share(const struct quarry_chunk_masks *m, uint32_t group, uint32_t class_,
                                   uint32_t chunk, uint32_t got, uint32_t count, uint32_t left,
                                   uint32_t *index)
{
    uint32_t field = got ? (count - 1u) / 32u : 0;
    while (simt_any(group, got != 0)) {
        uint32_t won = got ? quarry_mask_win(m, chunk, field, got, quarry_class_pages(m->sizes, class_)) : 0,
                 n = simt_popc_u32(won);
        uint32_t sum = quarry_scan_add_u32(group, n), order = simt_rank(left);
        uint32_t from = quarry_lane_of_rank(group, quarry_scan_find_u32(group, sum, order));
        uint32_t all = simt_shuffle_u32(group, sum, 31u - simt_clz_u32(group));
        uint32_t bits = simt_shuffle_u32(group, won, from), before = simt_shuffle_u32(group, sum - n, from);
        uint32_t page = simt_shuffle_u32(group, chunk << m->table->page_bits | field * 32u, from);
        if ((left >> simt_lane() & 1u) && order < all)
            *index = page + quarry_kth_set_u32(bits, order - before + 1u);
        left &= simt_ballot(group, (left >> simt_lane() & 1u) && order >= all);
        got -= n;
        if (got) { /* those that it has claimed are in other fields, or were set since */
            if (field == 0) {
                field = (quarry_class_pages(m->sizes, class_) + 31u) / 32u;
                simt_backoff();
            }
            field--;
        }
    }
    return left;
}

/* Entries for a group that has looked `vain` times, by its first lane.
 *   n    in: how many it could use; out: how many it takes out.  0: all lanes look at one, and leave it there
 * Returns the ticket of the first. */
SIMT_FN uint32_t quarry_mask_look(const struct quarry_index_queue *q, uint32_t vain, uint32_t *n)
{
    if (vain % 2u) {
        *n = quarry_index_queue_claim(q, *n);
        return *n ? quarry_index_queue_front(q, *n) : 0;
    }
    uint32_t front = simt_load_u32(&q->ends->front, relaxed);
    uint32_t span = simt_load_u32(&q->ends->back, relaxed) - front;
    *n = 0;
    return front + simt_mulhi_u32(quarry_mix_u32(simt_thread() ^ front ^ vain << 24),
                                  span - 1u <= q->mask ? span : 0);
}

/* Entries of an array for a group that has looked `vain` times.
 *   n   as in quarry_mask_look
 * Returns the caller's, or QUARRY_NO_INDEX.  Scope: group, reconverged. */
SIMT_FN uint32_t quarry_mask_entry(const struct quarry_index_queue *q, uint32_t group, uint32_t vain,
                                   uint32_t n)
{
    uint32_t rank = simt_rank(group), leader = simt_ctz_u32(group);
    uint32_t at = rank == 0 ? quarry_mask_look(q, vain, &n) : 0;
    at = simt_shuffle_u32(group, at, leader) + rank;
    n = simt_shuffle_u32(group, n, leader);
    if (vain % 2u == 0)
        return quarry_index_queue_peek(q, at & q->mask);
    return rank < n ? quarry_index_queue_take(q, at) : QUARRY_NO_INDEX;
}

/* The same of a queue in segments. */
SIMT_FN uint32_t quarry_mask_entry_segment(const struct quarry_chunk_masks *m,
                                           const struct quarry_segments *segments, uint32_t class_,
                                           uint32_t group, uint32_t vain, uint32_t n)
{
    struct quarry_index_queue queue = {&segments->ends[class_].queue, SIMT_NULL, m->slots - 1u};
    uint32_t rank = simt_rank(group), leader = simt_ctz_u32(group);
    /* A look first: who finds nothing changes nothing. */
    int some = rank == 0 && (int32_t)simt_load_u32(&queue.ends->count, relaxed) > 0;
    if (!simt_shuffle_u32(group, (uint32_t)some, leader))
        return QUARRY_NO_INDEX;
    if (vain % 2u)
        return quarry_segments_take(segments, class_, group, simt_ballot(group, rank < n), 1);
    uint32_t at = rank == 0 ? quarry_mask_look(&queue, vain, &n) : 0;
    return quarry_segments_peek(segments, class_, group, simt_shuffle_u32(group, at, leader) + rank);
}

/* Takes free pages for lanes of the group that have a unit each.
 *   has   those lanes, not none
 * Returns the caller's index, or QUARRY_NO_INDEX if it is not among them.  Scope: group, reconverged.
 * Progress: see above; waits for lanes that wait for nobody. */
SIMT_FN uint32_t quarry_mask_take(const struct quarry_chunk_masks *m, const struct quarry_segments *segments,
                                  uint32_t class_, uint32_t group, uint32_t has)
{
    struct quarry_index_queue array = segments ? m->stray : quarry_mask_queue(m, class_);
    uint32_t index = QUARRY_NO_INDEX, each = quarry_class_pages(m->sizes, class_);
    for (uint32_t vain = 0;; vain++) {
        uint32_t wanted = simt_popc_u32(has),
                 n = (wanted + each - 1u) / each << (vain < 10u ? vain / 2u : 5u);
        n = n < simt_popc_u32(group) ? n : simt_popc_u32(group);
        int strays = segments && vain / 2u % 2u;
        uint32_t chunk, here = 0, got = 0, puts = 0;
        if (segments && !strays)
            chunk = quarry_mask_entry_segment(m, segments, class_, group, vain, n);
        else
            chunk = quarry_mask_entry(&array, group, vain, n);
        if (chunk != QUARRY_NO_INDEX)
            here = quarry_mask_here(simt_load_u64(&m->table->word[chunk], relaxed), class_);
        uint32_t before = quarry_scan_add_u32(group, here) - here;
        if (here && before < wanted)
            got = quarry_mask_claim(m, class_, chunk, wanted - before < here ? wanted - before : here, &here,
                                    &puts);
        if (vain % 2u && chunk != QUARRY_NO_INDEX)
            puts |= strays ? quarry_mask_keep_stray(m, chunk) : quarry_mask_keep(m, class_, chunk);
        has = quarry_mask_share(m, group, class_, chunk, got, here, has, &index);
        quarry_mask_put(m, segments, group, puts, chunk, 1);
        if (has == 0)
            break;
        if (vain % 2u)
            simt_backoff();
    }
    simt_sync(group); /* what the pages' last owners did, all know */
    return index;
}

/* ---- free ---- */

/* The caller's page is free.  Of those that are free already nothing is counted.
 * Scope: group, reconverged; pages of one class.  Never waits for pages. */
SIMT_FN void quarry_mask_free(const struct quarry_chunk_masks *m, const struct quarry_segments *segments,
                              uint32_t class_, uint32_t group, uint32_t chunk, uint32_t page)
{
    uint32_t same = simt_match_u32(group, chunk * m->table->fields + page / 32u), n = 0;
    uint32_t bits = simt_reduce_or_u32(same, 1u << page % 32u);
    simt_sync(group); /* one lane releases what all did */
    if (simt_rank(same) == 0) {
        /* release: pairs with the acquire in quarry_mask_win */
        uint32_t before =
            simt_or_u32(quarry_chunk_field(m->table, m->table->parked, chunk, page), bits, release);
        n = simt_popc_u32(bits & ~before);
        QUARRY_ASSERT_LIVE(n == simt_popc_u32(same));
    }
    same = simt_match_u32(group, chunk);
    n = simt_reduce_add_u32(same, n);
    simt_sync(group); /* all bits are set */
    uint64_t word = 0;
    uint32_t puts = 0;
    n = simt_rank(same) == 0 ? n : 0;
    if (n) {
        word = quarry_mask_add(m, chunk, n, &puts);
        if (quarry_chunk_class(word) !=
            class_ + 1u) { /* it was no block: the chunk has become something else */
            QUARRY_ASSERT_LIVE(0);
            (void)simt_sub_u64(&m->table->word[chunk], n * QUARRY_MASK_PAGE, relaxed);
            n = 0;
        }
    }
    quarry_mask_put(m, segments, group, puts, chunk, 0);
    n = simt_reduce_add_u32(group, n);
    simt_sync(group); /* and counted */
    if (simt_rank(group) == 0 && n) {
        quarry_semaphore_signal(&m->class_[class_].units, n);
        (void)quarry_mask_recall(m);
    }
    simt_sync(group); /* and signalled, before any lane asks again */
    if (quarry_mask_is_whole(m, word, class_))
        quarry_mask_leave(m, chunk, class_);
    simt_sync(group);
}

/* ---- new chunks ---- */

/* The pages of new chunks are free, but for the first ones of the first.
 *   chunk   of the first `made` lanes: a new chunk
 *   kept    pages that somebody has, at least one of each chunk
 * They are not signalled.  Scope: group, reconverged.  Never waits. */
SIMT_FN void quarry_mask_deal(const struct quarry_chunk_masks *m, const struct quarry_segments *segments,
                              uint32_t class_, uint32_t group, uint32_t chunk, uint32_t made, uint32_t kept)
{
    uint32_t each = quarry_class_pages(m->sizes, class_), rank = simt_rank(group),
             width = simt_popc_u32(group);
    uint32_t fields = (each + 31u) / 32u;
    for (uint32_t n = 0; n < made * fields; n += width) {
        uint32_t mine = n + rank, whose = mine < made * fields ? mine / fields : 0;
        uint32_t of = simt_shuffle_u32(group, chunk, quarry_lane_of_rank(group, whose));
        uint32_t first = mine % fields * 32u,
                 taken = kept > whose * each + first ? kept - whose * each - first : 0;
        uint32_t bits = each - first < 32u ? (1u << (each - first)) - 1u : ~0u;
        bits = taken < 32u ? bits & ~0u << taken : 0;
        if (mine < made * fields)
            simt_store_u32(quarry_chunk_field(m->table, m->table->parked, of, first), bits, relaxed);
    }
    simt_sync(group); /* all bits are set */
    uint32_t puts = 0;
    if (rank < made) {
        uint32_t taken = kept > rank * each ? kept - rank * each : 0, free_ = taken < each ? each - taken : 0;
        uint64_t more = free_ * QUARRY_MASK_PAGE + (class_ + 1u) * QUARRY_CHUNK_CLASS;
        /* release: pairs with the acquires of claims */
        more += simt_add_u64(&m->table->word[chunk], more, release);
        if (quarry_mask_count(more) > 0)
            puts = quarry_mask_enter(m, class_, chunk, more);
    }
    quarry_mask_put(m, segments, group, puts, chunk, 0);
    simt_sync(group); /* and counted */
}

#endif
