/* SPDX-License-Identifier: Apache-2.0 */
/* Free pages of one size class that are kept in their chunks: a bit for each, and a queue of the chunks.
 *
 * After Ouroboros (core/index_queue.h has the source), section 4.2 and algorithm 5.
 *
 *     word    63 ... 48 | 47 ... 24 | 23 ..... 16 | 15 ... 0     of a chunk
 *             queued    | marked    | class + 1   | count
 *     class   0: none.  The chunk is in the store, or on its way from it or to it
 *     count   free pages that have a bit and that nobody has claimed
 *     marked  pages of a new chunk that have a bit and are to be counted by who makes it
 *     queued  how often the chunk's number was put into the queue, less how often it was taken out
 *     parked  a bit for each page: it is free, and here
 *     place   slot of the queue in which the chunk's number was put last
 *
 * A chunk whose count is not 0 has one *token*: its number, in the queue of its class or with one lane.
 *
 *     park    sets the bits, signals the units, then adds to count.  Who adds to 0 makes the token
 *     take    takes a token out, subtracts from count what it needs, up to all, and puts the token back if
 *             something is left.  Then those who got a part search bits until each has won one
 *     whole   count is all of the chunk's pages.  Who finds that, and the token in the queue, takes that out; or
 *             holds it.  It takes the pages' units from the class's semaphore.  If it gets them, the chunk goes
 *             to the store
 *
 * In the paper a malloc looks at the front chunk and leaves it there; whoever takes the last page removes it, and
 * may not be the one who sees that a free came between.  Here nobody claims without the token.  So a look is never at a
 * chunk that has become something else, an entry of the queue is never stale, and no generation is needed.
 *
 * No page is lost or given twice.  There are at least as many bits as pages counted and claimed: bits are set before
 * they are counted, and won after they were claimed.  A bit is won by an AND.  There is a token exactly
 * while count is not 0: only its holder lowers count, and learns by the same subtraction whether that made it 0.
 *
 * Who sees a whole chunk.  All changes of count and queued are additions to one word.  A park that makes the count
 * whole finds the token in the queue (queued is 1), or somebody has it: that one will find the count whole when it
 * puts the token back, which adds to `queued`.  The units may be promised to others: then the chunk stays here, and
 * is looked at again when somebody took of it and it gets whole again.
 *
 * The units are those of the pages.  They are signalled before the pages are counted, so who finds the chunk whole
 * takes units that are there for its pages, not for those of others.  The price: who has a unit may have to wait for
 * a lane between signal and count.
 *
 * While the holder tries, units are missing that nobody gets.  A malloc that is refused meanwhile would be so in
 * error; therefore all this is in transit for the store (core/chunks.h), and it looks again.  A fence stands between
 * the beginning of that transit and the units: so who is refused as these units are missing, and fences before its
 * last look at the store's word (quarry_chunks_is_same), finds the transit there, or what came of it.  Without, both
 * are relaxed, and it could find the word as it was before.
 *
 * Order.  Bits are set with release and won with acquire: what the page's last owner did happens-before what the
 * next one does.  park adds to count with release, and who makes the chunk whole acquires.  A token is put with
 * release and taken with acquire (the queue's).  A sync passes that on to the lanes that win bits: so they come after
 * all that the chunk was in earlier lives. */
#ifndef QUARRY_CORE_CHUNK_PAGES_H
#define QUARRY_CORE_CHUNK_PAGES_H

#include "quarry/core/chunks.h"
#include "quarry/core/index_queue.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"
#include "quarry/simt/simt.h"

#define QUARRY_CHUNK_QUEUED ((uint64_t)1 << 48)
#define QUARRY_CHUNK_MARKED ((uint64_t)1 << 24)
#define QUARRY_CHUNK_CLASS ((uint64_t)1 << 16)
#define QUARRY_CHUNK_PAGES_MOST 512u /* of a chunk */

/* Of all chunks, whatever their class. */
struct quarry_chunk_table {
    uint64_t *word;
    uint32_t *place;
    uint32_t *parked;   /* `fields` fields of 32 bits for each chunk */
    uint32_t fields;    /* as many as the smallest pages need */
    uint32_t page_bits; /* an index is chunk << page_bits | page */
};

/* Of one class, as a group of lanes uses it. */
struct quarry_chunk_pages {
    const struct quarry_chunk_table *table;
    const struct quarry_chunks *store;
    struct quarry_semaphore *units;
    struct quarry_index_queue tokens; /* with room for all chunks */
    uint32_t pages;                   /* of a chunk: at least 2 */
};

/* Free pages that are counted, by a value of `word`. */
SIMT_FN uint32_t quarry_chunk_count(uint64_t word)
{
    return (uint32_t)word & 0xffffu;
}

/* Pages of a new chunk that have a bit and are still to be counted. */
SIMT_FN uint32_t quarry_chunk_marked(uint64_t word)
{
    return (uint32_t)(word / QUARRY_CHUNK_MARKED) & 0xffffffu;
}

/* Class of a chunk, plus 1; 0: none. */
SIMT_FN uint32_t quarry_chunk_class(uint64_t word)
{
    return (uint32_t)(word >> 16) & 0xffu;
}

/* No chunk has a class.  Thread `thread` of `threads` does its share; nothing else runs. */
SIMT_FN void quarry_chunk_table_init(const struct quarry_chunk_table *t, uint32_t chunks, uint64_t thread,
                                     uint64_t threads)
{
    for (uint64_t i = thread; i < chunks; i += threads) {
        t->word[i] = 0;
        t->place[i] = 0;
    }
    for (uint64_t i = thread; i < (uint64_t)chunks * t->fields; i += threads)
        t->parked[i] = 0;
}

/* The field with the bit of a page. */
SIMT_FN uint32_t *quarry_chunk_field(const struct quarry_chunk_table *t, uint32_t *fields, uint32_t chunk,
                                     uint32_t page)
{
    return fields + (uint64_t)chunk * t->fields + page / 32u;
}

/* The holder of a chunk's token gives the whole chunk to the store, if nobody needs its pages.
 * Returns whether it did.  Never waits. */
SIMT_FN int quarry_chunk_leave(const struct quarry_chunk_pages *p, uint32_t chunk)
{
    const struct quarry_chunk_table *t = p->table;
    quarry_chunks_begin(p->store);
    /* In transit before units are taken: pairs with the fence in quarry_chunks_is_same. */
    simt_fence(acq_rel);
    if (!quarry_semaphore_try(p->units, p->pages)) {
        quarry_chunks_end(p->store);
        return 0;
    }
    for (uint32_t page = 0; page < p->pages; page += 32u)
        simt_store_u32(quarry_chunk_field(t, t->parked, chunk, page), 0, relaxed);
    uint64_t word = simt_load_u64(&t->word[chunk], relaxed);
    /* A subtraction: of a token that was put and is not said to be queued yet, `queued` goes on to count. */
    (void)simt_sub_u64(&t->word[chunk], p->pages + quarry_chunk_class(word) * QUARRY_CHUNK_CLASS, relaxed);
    quarry_chunks_return(p->store, chunk);
    return 1;
}

/* Takes a chunk's token out of the queue, if it is there.
 *   at      where it was put
 *   whole   out: is the chunk whole, now that nobody else takes of it?
 * Returns whether the caller holds it.  Never waits. */
SIMT_FN int quarry_chunk_hold(const struct quarry_chunk_pages *p, uint32_t at, uint32_t chunk, int *whole)
{
    if (!quarry_index_queue_remove(&p->tokens, at, chunk))
        return 0;
    /* acquire: what others freed.  No release: its token, or the chunk, goes on by one */
    uint64_t word = simt_sub_u64(&p->table->word[chunk], QUARRY_CHUNK_QUEUED, acquire);
    *whole = quarry_chunk_count(word) == p->pages;
    return 1;
}

/* The holder of a token puts it into the queue.
 *   at   out: where
 * Returns the chunk's word.  Never waits. */
SIMT_FN uint64_t quarry_chunk_place(const struct quarry_chunk_pages *p, uint32_t chunk, uint32_t *at)
{
    const struct quarry_chunk_table *t = p->table;
    uint32_t ticket = quarry_index_queue_back(&p->tokens, 1);
    for (uint32_t vain = 0;; vain++) {
        *at = quarry_index_queue_at(&p->tokens, ticket, vain);
        simt_store_u32(&t->place[chunk], *at, relaxed);
        if (quarry_index_queue_put_try(&p->tokens, *at, chunk))
            break;
        quarry_index_queue_rest(vain, QUARRY_INDEX_QUEUE_PATIENCE);
    }
    quarry_index_queue_add(&p->tokens, 1);
    /* release: `place`, and what was done to pages.  Who is to give them away acquires, in quarry_chunk_hold */
    return simt_add_u64(&t->word[chunk], QUARRY_CHUNK_QUEUED, release) + QUARRY_CHUNK_QUEUED;
}

/* The holder of a token puts it into the queue, or, if the chunk is whole, gives that to the store.
 *   whole   is it?
 * Never waits. */
SIMT_FN void quarry_chunk_put(const struct quarry_chunk_pages *p, uint32_t chunk, int whole)
{
    for (;;) {
        uint32_t at;
        if (whole && quarry_chunk_leave(p, chunk))
            return;
        uint64_t word = quarry_chunk_place(p, chunk, &at);
        if (whole || quarry_chunk_count(word) != p->pages || word / QUARRY_CHUNK_QUEUED != 1)
            return;
        /* It has become whole meanwhile, and whoever made it so found no token. */
        if (!quarry_chunk_hold(p, at, chunk, &whole))
            return;
    }
}

/* The calling lane's page is free: the first half of parking it.  Then comes the signal, and then the other half. */
SIMT_FN void quarry_chunk_mark(const struct quarry_chunk_pages *p, uint32_t chunk, uint32_t page)
{
    const struct quarry_chunk_table *t = p->table;
    /* release: pairs with the acquire in quarry_chunk_win */
    (void)simt_or_u32(quarry_chunk_field(t, t->parked, chunk, page), 1u << page % 32u, release);
}

/* Counts pages whose bits are set and whose units are signalled.
 *   parks   lanes of the group that have marked one each, of `chunk`; not none
 * Scope: group, reconverged and synced since they were marked.  Never waits but for the group. */
SIMT_FN void quarry_chunk_enter(const struct quarry_chunk_pages *p, uint32_t group, uint32_t parks,
                                uint32_t chunk)
{
    const struct quarry_chunk_table *t = p->table;
    int mine = (parks >> simt_lane() & 1u) != 0;
    uint32_t same = simt_match_u32(group, mine ? chunk : QUARRY_NO_INDEX), n = simt_popc_u32(same);
    if (!mine || simt_rank(same) != 0)
        return;
    /* release, acquire: who makes the chunk whole gives away what all others freed */
    uint64_t before = simt_add_u64(&t->word[chunk], n, acq_rel);
    int whole = quarry_chunk_count(before) + n == p->pages;
    if (quarry_chunk_count(before) == 0 ||
        (whole && before / QUARRY_CHUNK_QUEUED == 1 &&
         quarry_chunk_hold(p, simt_load_u32(&t->place[chunk], relaxed), chunk, &whole)))
        quarry_chunk_put(p, chunk, whole);
}

/* The calling lane has made a chunk, and counts those of its pages that are marked, if any.  Should they be all, the
 * chunk stays: who made it needs some.  Never waits. */
SIMT_FN void quarry_chunk_enter_new(const struct quarry_chunk_pages *p, uint32_t chunk)
{
    uint64_t *word = &p->table->word[chunk];
    uint32_t n = quarry_chunk_marked(simt_load_u64(word, relaxed)), at;
    /* acq_rel: as in quarry_chunk_enter */
    if (n != 0 && quarry_chunk_count(simt_add_u64(word, n - n * QUARRY_CHUNK_MARKED, acq_rel)) == 0)
        (void)quarry_chunk_place(p, chunk, &at);
}

/* Wins a bit of a chunk, of which the caller has claimed one.  Returns the page. */
SIMT_FN uint32_t quarry_chunk_win(const struct quarry_chunk_pages *p, uint32_t chunk)
{
    const struct quarry_chunk_table *t = p->table;
    uint32_t fields = (p->pages + 31u) / 32u;
    for (uint32_t i = simt_lane() % fields;;) {
        uint32_t *field = quarry_chunk_field(t, t->parked, chunk, i * 32u),
                 bits = simt_load_u32(field, relaxed);
        while (bits) {
            uint32_t bit = bits & (0u - bits);
            bits = simt_and_u32(field, ~bit, acquire); /* pairs with the release in quarry_chunk_mark */
            if (bits & bit)
                return i * 32u + simt_ctz_u32(bit);
        }
        i = i + 1 < fields ? i + 1 : 0;
        if (i == 0)
            simt_backoff(); /* others have won bits that they had claimed; each has left one */
    }
}

/* Takes parked pages for lanes of `needs`, a subset of group, each of which has a unit.
 * Returns the caller's index, or QUARRY_NO_INDEX: there were too few tokens in the queue at this moment.
 * Scope: group, reconverged.  Progress: waits for nobody who stands still. */
SIMT_FN uint32_t quarry_chunk_take(const struct quarry_chunk_pages *p, uint32_t group, uint32_t needs)
{
    const struct quarry_chunk_table *t = p->table;
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), wanted = simt_popc_u32(needs);
    uint32_t tokens = 0, ticket = 0, chunk = QUARRY_NO_INDEX, here = 0, mine = 0;
    if (rank == 0)
        tokens = quarry_index_queue_claim(&p->tokens, (wanted + p->pages - 1u) / p->pages);
    tokens = simt_shuffle_u32(group, tokens, leader);
    if (tokens == 0)
        return QUARRY_NO_INDEX;
    if (rank == 0)
        ticket = quarry_index_queue_front(&p->tokens, tokens);
    ticket = simt_shuffle_u32(group, ticket, leader) + rank;
    if (rank < tokens) {
        chunk = quarry_index_queue_take(&p->tokens, ticket);
        here = quarry_chunk_count(simt_sub_u64(&t->word[chunk], QUARRY_CHUNK_QUEUED, relaxed));
    }
    uint32_t sum = quarry_scan_add_u32(group, here), before = sum - here;
    if (before < wanted)
        mine = wanted - before < here ? wanted - before : here;
    /* A lane's chunk is not whole, nor will it be before a page of it was won: `mine` is not 0, as all chunks before
     * it have less than is wanted. */
    if (rank < tokens && quarry_chunk_count(simt_sub_u64(&t->word[chunk], mine, relaxed)) != mine)
        (void)quarry_chunk_place(p, chunk, &ticket);
    uint32_t order = simt_rank(needs), giver = quarry_scan_find_u32(group, sum, order);
    uint32_t all = simt_shuffle_u32(group, sum, quarry_lane_of_rank(group, simt_popc_u32(group) - 1u));
    chunk = simt_shuffle_u32(group, chunk, quarry_lane_of_rank(group, giver));
    simt_sync(
        group); /* what the chunk was before its token was put, all know: else a lane might win an old bit */
    if (!(needs >> simt_lane() & 1u) || order >= all)
        return QUARRY_NO_INDEX;
    return chunk << t->page_bits | quarry_chunk_win(p, chunk);
}

#endif
