/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of numbers without an end: its slots lie in segments, which are chunks of a store (core/chunks.h).
 *
 * Ouroboros (core/index_queue.h has the source), section 5: the virtualized array, and the virtualized list.
 *
 *     directory   one for each queue, of a power of two entries
 *                 entry   63 ........ 32 | 31 ... 0
 *                         segment number | chunk, or QUARRY_NO_INDEX: none yet
 *                 segment k is in entry k modulo their number.  A list has 64, which are hints
 *     segment     a chunk: 2^shift slots.  Position p is slot p mod 2^shift of segment p >> shift
 *     taken       of each chunk, while it is a segment: how many of its slots are done with (and its hint, see below)
 *     readers     of each chunk: 31   | 30 ... 0
 *                                held | who hold it: the segment itself, and those who look
 *                 held: the chunk is a segment, or was, and has not been returned yet
 *     room        63 .... 32 | 31 .............. 0
 *                 asked for  | slots that are there, and that nobody has reserved; biased, as it falls below 0
 *     tail        array: number of the first segment that is not there for all
 *     next        array: number that the next one who has a segment ready draws
 *     spare       array: so many numbers may be drawn; below 0 for a moment
 *     reach       array: all segments before this number have been retired
 *     head        list: number and chunk of the first segment; QUARRY_NO_INDEX: none, and that number comes next
 *     link        list, of each chunk: 63 .. 57 | 56 ........... 27 | 26 ........................ 0
 *                                      queue    | number of the next | its chunk; open; or closed
 *     count, front, back   as in core/index_queue.h: the same tickets; a ticket is a position
 *
 * A put reserves slots in `room`, draws as many tickets of `back`, stores its numbers, and then adds to `count`.
 * A take claims numbers from `count`, draws as many tickets of `front`, waits until the slots are not empty,
 * reads them, and then adds to `taken`.  So each position has one writer and one reader, and is used once: a put is
 * a store and a take is a load, with no read-modify-write of a slot.
 *
 * Slots are reserved before tickets are drawn.  In the paper every ticket is good, and who has it waits for its
 * segment.  A free must not wait for memory.  So who finds no room does not draw, and must put its number elsewhere.
 * No ticket is ever without a segment: tickets drawn are never more than slots reserved, those never more than slots
 * installed, and segments are installed in the order of their numbers.
 *
 * Who installs.  As in the paper one segment for each 2^shift slots that are asked for, by who asks for the first of
 * them; so many are installed at once.  Not while enough are there.  Who finds no room waits until the slots are there
 * that were asked for before and by it: so those who wait for different segments don't reach for the same one.  After
 * QUARRY_SEGMENTS_PATIENCE looks it takes what there is, and installs one itself; after so many times as many it gives
 * up.  So nobody waits for one who stands still.
 *     install   take a chunk; empty its slots with all lanes; draw a number from `next`; write the chunk into its
 *               entry; publish
 *     publish   look at entries from tail on; move tail over those that are written, by a compare-exchange; then add
 *               all their slots to room
 * A number is drawn by who has a chunk ready, so there will be no gap.  Who writes an entry and then finds a gap before
 * it leaves it: whoever closes the gap publishes both.  Each writes an entry and then reads tail by an addition that is
 * acq_rel, so the last of them sees what all others wrote.
 *
 * An entry holds k until k is retired, and then k + entries, none yet.  A number may only be drawn when its entry is
 * free: `spare` counts those.  Who finds none looks at entries from `reach` on, moves that over those whose segments
 * have been retired, and adds them to `spare`.  So a segment is never written over one that lives: then the queue is
 * full, and who can't install gives the chunk back.
 *
 * Who retires.  Whoever makes `taken` 2^shift: then every position of the segment had its writer and its reader, and
 * both are done.  It goes to the store at once, unless somebody looks at it.  The paper has counters A of puts and B of
 * numbers there; a take waits for its put, so the number of takes tells all.
 *
 * Who looks (quarry_segments_peek) has no position, and the segment may be retired meanwhile.  So it holds it first: it
 * reads the entry, adds to `readers` of the chunk that is named there, and reads the entry again.  If that is the same
 * the chunk stays what it is until it lets go.  For a segment holds its own chunk, from before it has an entry until
 * after it has none.  If the reader's addition comes before the segment lets go, that finds a reader.  If it comes
 * later, it acquires what was done before, so the entry is another one.  (Modulo 2^32 positions between two reads.)
 *     Who lets go as the last one clears `held`, by a compare-exchange, and returns the chunk: one for each segment.
 * Who came too late has added to a chunk that may be anything by now.  That does no harm: without `held` nobody returns
 * it.  If it has become a segment again, the late one is a reader of that, and may even be the last.  So `readers` is
 * never written, only added to, also when a chunk becomes a segment.
 *     Nobody waits.  Who stands still while it looks keeps one chunk, which `segments` counts until it is returned.
 * SRCU (core/srcu.h) needs no word for each chunk, but who retires a segment waits for the readers of all.
 *     tests/models/segments.py goes through all schedules of small cases.
 *
 * The list.  A new segment is written into the link of the last one by a compare-exchange with "open", or, if there is
 * none, into head.  Who finishes a segment moves head over all finished ones at the beginning.  Each lane of its group
 * looks at one, by its hint, and one compare-exchange moves head up to the first that is not finished or has no hint.
 * Who moved it returns their chunks together.  Until head moves they are all there, and those hints are good.  Where
 * others look they go one by one.  If the last of all is finished, its link is closed first, so that nobody links to a
 * segment that goes.  Who finishes a segment that is not the first leaves it: whoever
 * makes it the first looks at its count.  Each of the two changes one word and then reads the other's, both by
 * read-modify-writes that are acq_rel, so one of them sees what the other did.
 *
 * Who looks for a segment begins at head and goes from link to link.  Meanwhile the one on which he stands may go and
 * become something else.  The paper lets it rest, for a time that is guessed.  Here links lie beside the chunks, and
 * each names its queue and the number to which it leads.  While a chunk is segment k of a queue, its link says "that
 * queue, k + 1", and before that it did not.  So who reads anything else begins again, and what he reads is true at any
 * time: where segment k + 1 was, or is.  The one for which he looks is there, as he has a position of it.  (Modulo 2^32
 * positions in one step of one walk.)
 *
 * Walks over many segments take long when many fill at once.  So whoever installs or finds a segment also writes it
 * into the directory, where the next one looks first.  The hint is good if it has the number.  It is removed when the
 * segment is retired, and nobody writes it again: who does so has a position, and stores a number or takes one behind
 * that.  Only who installs has none.  A hint of its that comes late would do no harm, as nobody looks for that number
 * any more, but to readers: they would be led to whatever the chunk is by then.  So where lanes peek `taken` begins at
 * -1, and who installs adds 1 when the hint is written: it is one more who must be done with the segment.
 *
 * Shutting.  A segment whose slots were not all used is not retired, and a full heap lacks its chunk.  `shut`
 * reserves what is left, and puts QUARRY_SEGMENTS_SKIP there.  Who takes that looks elsewhere.  When nothing is left
 * in the queue, and no room, all its segments are retired.  `segments` counts those of all queues.
 *
 * In transit.  Who installs is in transit for the store from the claim of the chunk until the segment is in
 * `segments` and in room; who returns it, from before it subtracts from `segments` until that is done.  So
 * with the store's word the same at two places, none left and none in transit, and no segment in between, there
 * was no chunk anywhere.
 *
 * Wrap.  Positions, and what is asked for, have 32 bits and wrap.  2^shift divides 2^32, so slots and entries go on.
 * An entry's number is told from the next one's modulo 2^(32 - shift): more than entries there are.  Queues begin
 * shortly before the wrap, so that every one passes it.
 *
 * Order.
 * - Emptying a segment happens-before every access to its slots: the store of the entry, or the compare-exchange of the
 *   link, releases, who looks at it acquires.  A hint is written with release by who has acquired.
 * - What was done before a put happens-before what is done after its take: release and acquire of the slot.
 * - Reads of slots happen-before the chunk's next use: additions to `taken` are acq_rel, and a sync comes before.  Who
 *   subtracts from `readers` releases, and who clears `held` acquires.  So do the stores that were read.  Each is a
 *   release, or `fenced`, which on a GPU, too, is before what comes after its read.
 * - An entry's segment is retired before the next one is written there.  Who moves `reach` has seen the entries that
 *   who retires has written, so all that happens after comes behind them.  `reach` is moved by acq_rel, so who adds to
 *   `spare` does so after all segments before were seen; it releases, and who draws acquires.  Of those who have drawn
 *   k numbers one has seen k in `spare`, so it knows that the first k are free.  `next` is acq_rel, so each knows it of
 *   its own number.
 * - Old values do no harm.  The numbers of an entry only grow.  A larger one says that the segment is retired; a
 *   smaller one, or the same, says nothing.
 * - All else is relaxed.  Who has a ticket may look at the entry before it sees it written; it was written before
 *   the ticket was drawn, so it looks again. */
#ifndef QUARRY_CORE_SEGMENTS_H
#define QUARRY_CORE_SEGMENTS_H

#include "quarry/core/index_queue.h"
#include "quarry/core/segments_install.h"
#include "quarry/core/segments_list.h"
#include "quarry/core/segments_shape.h"

/* ---- puts ---- */

/* Reserves up to n slots.
 *   asks   to be counted among what is asked for
 *   word   out: room, before
 * Returns how many.  Never waits. */
SIMT_FN uint32_t quarry_segments_get(const struct quarry_segments *q, uint32_t queue, uint32_t n, int asks,
                                     uint64_t *word)
{
    uint64_t *room = &q->ends[queue].room;
    *word = simt_add_u64(room, (asks ? n * QUARRY_SEGMENTS_ASKED : 0u) - n, relaxed);
    int32_t there = quarry_segments_room(*word);
    uint32_t got = there <= 0 ? 0 : (uint32_t)there < n ? (uint32_t)there : n;
    if (got < n)
        (void)simt_add_u64(room, n - got, relaxed);
    return got;
}

/* Are all slots there that were asked for, up to `until`?  As a hint.  The entry of the last segment comes first: it is
 * not the same for all who wait, and the other word is needed by who installs. */
SIMT_FN int quarry_segments_is_turn(const struct quarry_segments *q, uint32_t queue, uint32_t until)
{
    uint32_t number = (until - 1u) >> q->shift;
    uint64_t entry = simt_load_u64(quarry_segments_entry(q, queue, number), relaxed);
    if (entry == quarry_segments_pair(number, QUARRY_NO_INDEX) ||
        (int32_t)(((uint32_t)(entry >> 32) - number) << q->shift) < 0)
        return 0;
    if (q->list)
        return 1;
    return (int32_t)((simt_load_u32(&q->ends[queue].tail, relaxed) << q->shift) - until) >= 0;
}

/* The leader has not got all that it asked for, or is to install: the rest of quarry_segments_reserve.
 *   until   of the leader: what was asked for, up to this
 *   state   so many it has got << 16 | so many it is to install
 * Returns how many it has then. */
SIMT_FN uint32_t quarry_segments_more(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                      uint32_t n, uint32_t left, uint32_t until, uint32_t state)
{
    uint64_t *room = &q->ends[queue].room;
    uint32_t leader = simt_ctz_u32(group), got = state >> 16, installs = state & 0xffffu;
    for (uint32_t vain = 0;; vain++) {
        int failed = q->base == SIMT_NULL || vain == QUARRY_SEGMENTS_PATIENCE * QUARRY_SEGMENTS_PATIENCE;
        if (simt_rank(group) == 0 && vain % 8u == 0 &&
            quarry_chunks_left(simt_load_u64(&q->store.head->word, relaxed)) <= left)
            failed = 1; /* others have segments in hands, or nobody */
        failed = (int)simt_shuffle_u32(group, (uint32_t)failed, leader);
        for (; installs && !failed; installs--)
            failed = !quarry_segments_install(q, queue, group, 0);
        installs = 0;
        if (simt_rank(group) == 0) {
            /* Those who asked first have what is there; else all would reach for it. */
            uint64_t word;
            if (got < n &&
                (failed || vain >= QUARRY_SEGMENTS_PATIENCE || quarry_segments_is_turn(q, queue, until)) &&
                quarry_segments_room(simt_load_u64(room, relaxed)) > 0)
                got += quarry_segments_get(q, queue, n - got, 0, &word);
            installs = got < n && vain % QUARRY_SEGMENTS_PATIENCE == QUARRY_SEGMENTS_PATIENCE - 1u;
            if (got < n && failed) /* what it asked for is not to be waited for */
                (void)simt_sub_u64(room, (n - got) * QUARRY_SEGMENTS_ASKED, relaxed);
            for (uint32_t i = 0; i <= vain / 4u && got < n && !failed; i++)
                simt_backoff();
        }
        state = simt_shuffle_u32(group, got << 1 | installs, leader);
        got = state >> 1;
        installs = state & 1u;
        if (got == n || failed)
            return got;
    }
}

/* Asks for n slots.
 *   until   out: what was asked for, up to this
 * Returns so many it has got << 16 | so many segments it is to install.  Never waits. */
SIMT_FN uint32_t quarry_segments_ask(const struct quarry_segments *q, uint32_t queue, uint32_t n,
                                     uint32_t *until)
{
    uint64_t word;
    uint32_t got = quarry_segments_get(q, queue, n, 1, &word), asked = (uint32_t)(word >> 32), size = q->size;
    uint32_t begun = (0u - asked) & q->slots, installs = 0;
    int32_t rest = quarry_segments_room(word) - (int32_t)n;
    if (n > begun && rest < (int32_t)size) /* the first of all installs one more, to be ahead */
        installs = 1u + (n - begun - 1u) / size + (asked == q->start);
    *until = asked + n;
    return got << 16 | installs;
}

/* Reserves slots for n numbers of a group, and installs segments if they are short.  For queues at which nobody peeks.
 *   left   so many chunks are to be left in the store
 * Returns as many as it got: fewer only if chunks are short or the directory is full.  The same in all lanes.
 * Then: quarry_segments_tickets, quarry_segments_put for each, a sync, quarry_segments_add; and quarry_segments_spare
 * for slots that it does not use.
 * Scope: group, reconverged.  Never waits for who stands still. */
SIMT_FN uint32_t quarry_segments_reserve(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                         uint32_t n, uint32_t left)
{
    uint32_t leader = simt_ctz_u32(group), state = 0, until = 0;
    if (simt_rank(group) == 0)
        state = quarry_segments_ask(q, queue, n, &until);
    state = simt_shuffle_u32(group, state, leader);
    if (state != n << 16)
        return quarry_segments_more(q, queue, group, n, left, until, state);
    return n;
}

/* The same for queues at which others peek, of slots that can be had without waiting for others.
 *   grows   installs segments if it is the caller's turn
 * Returns as many as it got.  Scope: group, reconverged.  Never waits but for the group. */
SIMT_FN uint32_t quarry_segments_reserve_try(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                             uint32_t n, int grows)
{
    uint32_t leader = simt_ctz_u32(group), state = 0, installed = 0, until;
    if (simt_rank(group) == 0)
        state = quarry_segments_ask(q, queue, n, &until);
    state = simt_shuffle_u32(group, state, leader);
    while (grows && q->base && installed < (state & 0xffffu) && quarry_segments_install(q, queue, group, 1))
        installed++;
    if (state >> 16 == n)
        return n;
    if (simt_rank(group) == 0) {
        uint64_t word;
        state >>= 16;
        if (installed)
            state += quarry_segments_get(q, queue, n - state, 0, &word);
        if (state < n) /* so who comes next asks for the same, and it is his turn */
            (void)simt_sub_u64(&q->ends[queue].room, (n - state) * QUARRY_SEGMENTS_ASKED, relaxed);
    }
    return simt_shuffle_u32(group, state, leader);
}

/* Gives slots back that the caller has reserved. */
SIMT_FN void quarry_segments_spare(const struct quarry_segments *q, uint32_t queue, uint32_t n)
{
    if (n)
        (void)simt_add_u64(&q->ends[queue].room, n - n * QUARRY_SEGMENTS_ASKED, relaxed);
}

/* The slot of a position. */
SIMT_FN uint32_t *quarry_segments_slot(const struct quarry_segments *q, uint32_t queue, uint32_t ticket,
                                       uint32_t *chunk)
{
    *chunk = quarry_segments_chunk(q, queue, ticket >> q->shift);
    return &quarry_segments_slots(q, *chunk)[ticket & q->slots];
}

/* Stores a number at a position that the caller has reserved.
 *   fenced   the caller has fenced what the number is for */
SIMT_FN void quarry_segments_put(const struct quarry_segments *q, uint32_t queue, uint32_t ticket,
                                 uint32_t index, int fenced_)
{
    uint32_t chunk, *slot = quarry_segments_slot(q, queue, ticket, &chunk);
    /* release: pairs with the acquire in quarry_segments_take */
    if (fenced_)
        simt_store_u32(slot, index, fenced);
    else
        simt_store_u32(slot, index, release);
}

/* So many numbers can be had.  One lane says it, after a sync of those who put them. */
SIMT_FN void quarry_segments_add(const struct quarry_segments *q, uint32_t queue, uint32_t n)
{
    struct quarry_index_queue tickets = quarry_segments_tickets(q, queue);
    if (n)
        quarry_index_queue_add(&tickets, n);
}

/* ---- takes ---- */

/* Claims up to n numbers, and draws tickets for them.  One lane calls it.
 *   ticket   out: the first, if there are any
 * Returns how many: the caller's group must read so many.  Never waits. */
SIMT_FN uint32_t quarry_segments_claim(const struct quarry_segments *q, uint32_t queue, uint32_t n,
                                       uint32_t *ticket)
{
    struct quarry_index_queue tickets = quarry_segments_tickets(q, queue);
    uint32_t got = quarry_index_queue_claim_likely(&tickets, n);
    if (got)
        *ticket = quarry_index_queue_front(&tickets, got);
    return got;
}

/* Reads numbers that the group has claimed.
 *   reads    lanes of the group, of which the first `got` read one each, from `ticket` on
 * Returns the caller's: QUARRY_NO_INDEX if it reads none, or if it was QUARRY_SEGMENTS_SKIP.
 * Scope: group, reconverged.  Progress: waits for puts that have a ticket, which wait for nobody. */
SIMT_FN uint32_t quarry_segments_read(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                      uint32_t reads, uint32_t ticket, uint32_t got, int peeks)
{
    uint32_t index = QUARRY_NO_INDEX, chunk = 0, rank = simt_rank(reads), size = q->size;
    int mine = (reads >> simt_lane() & 1u) && rank < got;
    ticket += rank;
    if (mine) {
        uint32_t *slot = quarry_segments_slot(q, queue, ticket, &chunk);
        /* acquire: pairs with the release in quarry_segments_put */
        while ((index = simt_load_u32(slot, acquire)) == QUARRY_NO_INDEX)
            simt_backoff();
        index = index == QUARRY_SEGMENTS_SKIP ? QUARRY_NO_INDEX : index;
    }
    simt_sync(group); /* all have read: only then it is counted */
    uint32_t at = ticket & q->slots;
    int finished = 0;
    if (mine && (rank == 0 || at == 0)) { /* for all lanes with slots of this segment */
        uint32_t n = got - rank < size - at ? got - rank : size - at, lanes = simt_popc_u32(reads) - rank;
        n = n < lanes ? n : lanes;
        /* acq_rel: who retires the segment has all their reads behind it */
        finished = simt_add_u32(&q->taken[chunk], n, acq_rel) + n == size;
        if (finished && !q->list)
            quarry_segments_retire(q, queue, ticket >> q->shift, chunk, peeks);
    }
    if (q->list && simt_any(group, finished))
        quarry_segments_leave(q, queue, group, peeks);
    return index;
}

/* Takes numbers for lanes of a group.
 *   takes   those lanes
 * Returns the caller's: QUARRY_NO_INDEX if there are too few at this moment, or if it was QUARRY_SEGMENTS_SKIP.
 * Scope: group, reconverged.  Progress: as quarry_segments_read. */
SIMT_FN uint32_t quarry_segments_take(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                      uint32_t takes, int peeks)
{
    uint32_t got = 0, ticket = 0, leader = simt_ctz_u32(group);
    if (simt_rank(group) == 0)
        got = quarry_segments_claim(q, queue, simt_popc_u32(takes), &ticket);
    got = simt_shuffle_u32(group, got, leader);
    if (got == 0)
        return QUARRY_NO_INDEX;
    ticket = simt_shuffle_u32(group, ticket, leader);
    return quarry_segments_read(q, queue, group, takes, ticket, got, peeks);
}

/* The calling lane, which need not have a position of it, holds a segment: its chunk stays what it is until
 * quarry_segments_let_go.
 * Returns the chunk, or QUARRY_NO_INDEX: the segment is not there, or it can't be told where.  Never waits. */
SIMT_FN uint32_t quarry_segments_hold(const struct quarry_segments *q, uint32_t queue, uint32_t number)
{
    uint64_t *entry = quarry_segments_entry(q, queue, number);
    /* acquire: pairs with the release in quarry_segments_enter */
    uint64_t pair = simt_load_u64(entry, acquire);
    uint32_t chunk = (uint32_t)pair;
    if ((uint32_t)(pair >> 32) != number || chunk == QUARRY_NO_INDEX)
        return QUARRY_NO_INDEX;
    /* acquire: pairs with the release in quarry_segments_let_go.  So who comes too late sees it in the entry. */
    (void)simt_add_u32(&q->readers[chunk], 1, acquire);
    if (simt_load_u64(entry, relaxed) == pair)
        return chunk;
    quarry_segments_let_go(q, chunk);
    return QUARRY_NO_INDEX;
}

/* Looks at positions, which may be anybody's.  Lanes that look at one segment do so as one reader.
 * Returns what was put at the caller's, as a hint: it may have been taken since.  QUARRY_NO_INDEX: nothing, or it can't
 * be told.  Scope: group, reconverged.  Never waits but for the group. */
SIMT_FN uint32_t quarry_segments_peek(const struct quarry_segments *q, uint32_t queue, uint32_t group,
                                      uint32_t ticket)
{
    uint32_t number = ticket >> q->shift, same = simt_match_u32(group, number);
    uint32_t chunk = QUARRY_NO_INDEX, index = QUARRY_NO_INDEX;
    if (simt_rank(same) == 0)
        chunk = quarry_segments_hold(q, queue, number);
    simt_sync(same); /* what it has acquired all know */
    chunk = simt_shuffle_u32(same, chunk, simt_ctz_u32(same));
    if (chunk == QUARRY_NO_INDEX)
        return index;
    index = simt_load_u32(&quarry_segments_slots(q, chunk)[ticket & q->slots], relaxed);
    simt_sync(same); /* all have read */
    if (simt_rank(same) == 0)
        quarry_segments_let_go(q, chunk);
    return index == QUARRY_SEGMENTS_SKIP ? QUARRY_NO_INDEX : index;
}

/* Is a slot left, or a number there? */
SIMT_FN int quarry_segments_has_some(const struct quarry_segments *q, uint32_t queue)
{
    return (int32_t)simt_load_u32(&q->ends[queue].queue.count, relaxed) > 0 ||
           quarry_segments_room(simt_load_u64(&q->ends[queue].room, relaxed)) > 0;
}

/* ---- looking at a queue that nobody uses ---- */

/* The first segment and its chunk; QUARRY_NO_INDEX: there is none. */
SIMT_FN uint64_t quarry_segments_first(const struct quarry_segments *q, uint32_t queue)
{
    uint32_t number = q->ends[queue].queue.front >> q->shift;
    if (q->list)
        return q->ends[queue].head;
    uint64_t entry = *quarry_segments_entry(q, queue, number);
    return number == q->ends[queue].tail ? quarry_segments_pair(number, QUARRY_NO_INDEX) : entry;
}

/* Likewise the one after another. */
SIMT_FN uint64_t quarry_segments_second(const struct quarry_segments *q, uint32_t queue, uint64_t pair)
{
    uint32_t number = quarry_segments_next(q, (uint32_t)(pair >> 32));
    uint64_t link;
    if (!q->list && number != q->ends[queue].tail)
        return *quarry_segments_entry(q, queue, number);
    if (q->list && quarry_segments_walk(q, queue, &pair, &link))
        return pair;
    return quarry_segments_pair(number, QUARRY_NO_INDEX);
}

/* ---- emptying a queue ---- */

/* Uses up slots that are left.  Whoever takes a number may meet them.
 *   n   at most so many
 * Scope: group, reconverged. */
SIMT_FN void quarry_segments_shut(const struct quarry_segments *q, uint32_t queue, uint32_t group, uint32_t n)
{
    struct quarry_index_queue tickets = quarry_segments_tickets(q, queue);
    uint32_t got = 0, ticket = 0, leader = simt_ctz_u32(group);
    if (simt_rank(group) == 0) {
        uint64_t word = simt_load_u64(&q->ends[queue].room, relaxed);
        if (quarry_segments_room(word) > 0)
            got = quarry_segments_get(q, queue, n, 0, &word);
        if (got) {
            (void)simt_add_u64(&q->ends[queue].room, got * QUARRY_SEGMENTS_ASKED, relaxed);
            ticket = quarry_index_queue_back(&tickets, got);
        }
    }
    got = simt_shuffle_u32(group, got, leader);
    if (got == 0)
        return;
    ticket = simt_shuffle_u32(group, ticket, leader);
    for (uint32_t i = simt_rank(group); i < got; i += simt_popc_u32(group))
        quarry_segments_put(q, queue, ticket + i, QUARRY_SEGMENTS_SKIP, 0);
    simt_sync(group);
    if (simt_rank(group) == 0)
        quarry_segments_add(q, queue, got);
}

#endif
