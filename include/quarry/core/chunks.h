/* SPDX-License-Identifier: Apache-2.0 */
/* A store of chunks of one size, by number: those that were never used, and those that came back.
 *
 * Ouroboros (core/index_queue.h has the source), section 3.2: chunks that came back are asked for first.
 *
 *     word      63 ... 46 | 45 ..... 19 | 18 ... 0
 *               version   | chunks left | in transit
 *     fresh     number of the next chunk that was never used; stops at the end
 *     returned  a queue with room for all
 *     where     a hint where chunks that become blocks are looked for first; it is seldom changed, so many may read it
 *     map       of 32 chunks: 63 .. 32 | 31 .. 0        Only where runs of chunks are taken (core/chunk_runs.h)
 *                             hinted   | left
 *
 * Who wants chunks first claims them from `word`: it lowers `chunks left`, and is in transit.  If that took it below
 * 0 the claim is for less.  Then it takes numbers, as many as it can get out of the queue, the others from `fresh`.
 * When it has them it leaves the transit, and gives back what was too much.  Who returns chunks puts their
 * numbers into the queue, in transit, and then raises `chunks left` and `version`.
 *
 * A claim finds its numbers: chunks left are never more than numbers in the queue and fresh ones, less those
 * that other claims will take.  Another claim may keep some for a moment: `fresh` overshoots its end and is
 * put back, the queue's count falls below 0 and is put back.  Who finds fewer then gives the rest of its claim
 * back, and asks again.
 *
 * Who wants chunks that become blocks as they are takes numbers first, where the hint says, and claims afterwards: so
 * nobody waits for `word` then.  Until it has claimed, `chunks left` is too much, and others may claim what they won't
 * find; they give it back.
 *
 * Who returns chunks is in transit before anybody can take them, and until they are in `word`.  For who takes one may
 * subtract it from `word` at once: it has acquired the number, or the bit, so its subtraction comes after the
 * beginning of that transit.  So what is left is never more than `word` says while nobody is in transit.
 *
 * With a map it says which chunks have come back and are left: who clears a bit has the chunk.  Numbers in the queue
 * are hints, as runs are taken without them.  Each such chunk has one, which `hinted` says; who has taken a hint
 * clears both bits, by one change, and may find that the chunk has gone.  Who returns a chunk sets both, and puts the
 * number if it was not hinted.  Of a claim that has not got its chunks the rest is given back.
 *
 * NULL is proven by `word` alone.  With no chunk left and nobody in transit, at that place in its modification
 * order, every claim is settled, so the number is exact: there is none.  With somebody in transit the lane
 * looks again; those wait for nobody.
 *
 * A chunk on its way.  Who takes a chunk to make pages of it is in transit until they can be had (end): it may make
 * more than it has promised to anybody.  Who finds that all pages of a chunk are free says so first (begin), and is
 * in transit until it has returned it, or has not (end).  All these raise `version`.  So if `word` is the same at two
 * places of its order, with none left and nobody in transit, there was none in between, and no chunk was on its way
 * from pages to the store or back.  (Modulo 2^18 returns: the price would be a NULL.)
 *
 * Order.  What was done before a return happens-before what is done after the take of that chunk: the queue's; with a
 * map, the bit's, set with release and cleared with acquire.  What was done before the end of a transit happens-before
 * what is done by who finds nobody in transit.  A return changes `word` with release, so who has read that sees the
 * bits of the map (core/chunk_runs.h).  Else `word` and `fresh` are relaxed: frees that happen-before a call have
 * changed `word` before, those of other lanes of the group by the sync before it is read. */
#ifndef QUARRY_CORE_CHUNKS_H
#define QUARRY_CORE_CHUNKS_H

#include "quarry/core/bits.h"
#include "quarry/core/index_queue.h"
#include "quarry/simt/simt.h"

#define QUARRY_CHUNKS_LEFT_SHIFT 19u
#define QUARRY_CHUNKS_LEFT ((uint64_t)1 << QUARRY_CHUNKS_LEFT_SHIFT) /* of word: one chunk */
#define QUARRY_CHUNKS_TRANSIT (QUARRY_CHUNKS_LEFT - 1u)
#define QUARRY_CHUNKS_VERSION ((uint64_t)1 << 46)
/* Chunks of a store, at most: from here on what is left is below 0. */
#define QUARRY_CHUNKS_MOST ((uint32_t)1 << 26)
SIMT_STATIC_ASSERT((uint64_t)QUARRY_CHUNKS_MOST * 2u * QUARRY_CHUNKS_LEFT == QUARRY_CHUNKS_VERSION,
                   "chunks left are between the transit and the version");
SIMT_STATIC_ASSERT(QUARRY_CHUNKS_LEFT *SIMT_LANES <= QUARRY_CHUNKS_MOST,
                   "what all lanes claim too much is told from what is left");

enum quarry_chunks_where {
    QUARRY_CHUNKS_FRESH, /* nothing came back since somebody looked in vain */
    QUARRY_CHUNKS_CAME,  /* something came back */
    QUARRY_CHUNKS_NONE   /* nothing is left: who asks looks at `word` at once */
};

/* What many threads change at once lies 256 bytes apart. */
struct quarry_chunks_head {
    uint64_t word;
    uint64_t unused[31];
    uint32_t fresh;
    uint32_t unused_too[63];
    uint32_t runs; /* chunks that core/chunk_runs.h has begun to look at, from the end on */
    uint32_t unused_as_well[63];
    uint32_t where; /* enum quarry_chunks_where */
    uint32_t unused_besides[63];
    struct quarry_index_queue_ends returned;
};

struct quarry_chunks {
    struct quarry_chunks_head *head;
    struct quarry_index_queue returned;
    uint32_t count;
    uint64_t *map; /* a field for 32 chunks; or NULL */
};

/* Fields of a map. */
SIMT_FN uint32_t quarry_chunks_fields(uint32_t count)
{
    return (count + 31u) / 32u;
}

/* Makes a store of which all chunks are left.  Thread `thread` of `threads` does its share; nothing else runs. */
SIMT_FN void quarry_chunks_init(const struct quarry_chunks *s, uint64_t thread, uint64_t threads)
{
    if (thread == 0) {
        s->head->word = s->count * QUARRY_CHUNKS_LEFT;
        s->head->fresh = 0;
        s->head->runs = 0;
        s->head->where = QUARRY_CHUNKS_FRESH;
    }
    for (uint64_t i = thread; s->map && i < quarry_chunks_fields(s->count); i += threads)
        s->map[i] = 0;
    quarry_index_queue_init(&s->returned, 0, thread, threads);
}

/* Takes the number of a claim out of the queue, and the chunk, unless that has gone: QUARRY_NO_INDEX.  Lanes whose
 * chunks lie together, as they mostly do, change the map by one atomic.  Scope: group, reconverged.  Progress: as
 * quarry_index_queue_take. */
SIMT_FN uint32_t quarry_chunks_hints(const struct quarry_chunks *s, uint32_t group, uint32_t ticket)
{
    uint32_t chunk = quarry_index_queue_take(&s->returned, ticket), leader = simt_ctz_u32(group);
    uint32_t field = chunk / 32u, bits = 1u << chunk % 32u, bit = bits, left = 0;
    if (!s->map)
        return chunk;
    int joint = simt_all(group, field == simt_shuffle_u32(group, field, leader));
    if (joint)
        bits = simt_reduce_or_u32(group, bit);
    if (!joint || simt_rank(group) == 0) /* acquire: pairs with the releases of those who set them */
        left = (uint32_t)simt_and_u64(&s->map[field], ~((uint64_t)bits << 32 | bits), acquire);
    simt_sync(group); /* what the first lane has acquired all know */
    if (joint)
        left = simt_shuffle_u32(group, left, leader);
    if (!(left & bit))
        return QUARRY_NO_INDEX;
    return chunk;
}

/* The same for the calling lane alone. */
SIMT_FN uint32_t quarry_chunks_hint(const struct quarry_chunks *s, uint32_t ticket)
{
    uint32_t chunk = quarry_index_queue_take(&s->returned, ticket);
    uint64_t bit = (uint64_t)1 << chunk % 32u;
    /* acquire: as above */
    if (s->map && !(simt_and_u64(&s->map[chunk / 32u], ~(bit << 32 | bit), acquire) & bit))
        return QUARRY_NO_INDEX;
    return chunk;
}

/* A chunk of each lane of a group is left again; all others.  Returns whether the caller is to put its number.
 * Scope: group, reconverged and synced. */
SIMT_FN int quarry_chunks_leave_all(const struct quarry_chunks *s, uint32_t group, uint32_t chunk)
{
    uint32_t leader = simt_ctz_u32(group), field = chunk / 32u, bits = 1u << chunk % 32u, bit = bits,
             hinted = 0;
    if (!s->map)
        return 1;
    int joint = simt_all(group, field == simt_shuffle_u32(group, field, leader));
    if (joint)
        bits = simt_reduce_or_u32(group, bit);
    if (!joint || simt_rank(group) == 0) /* release: pairs with the acquires of those who clear them */
        hinted = (uint32_t)(simt_or_u64(&s->map[field], (uint64_t)bits << 32 | bits, release) >> 32);
    if (joint)
        hinted = simt_shuffle_u32(group, hinted, leader);
    return (hinted & bit) == 0;
}

/* The calling lane's chunk is left again.  Returns whether the caller is to put its number. */
SIMT_FN int quarry_chunks_leave(const struct quarry_chunks *s, uint32_t chunk)
{
    uint64_t bit = (uint64_t)1 << chunk % 32u;
    /* release: pairs with the acquires of those who clear it */
    return !s->map || (simt_or_u64(&s->map[chunk / 32u], bit << 32 | bit, release) & bit << 32) == 0;
}

/* Chunks that are left, by a value of `word`. */
SIMT_FN uint32_t quarry_chunks_left(uint64_t word)
{
    uint32_t left = (uint32_t)(word >> QUARRY_CHUNKS_LEFT_SHIFT) & (2u * QUARRY_CHUNKS_MOST - 1u);
    return left < QUARRY_CHUNKS_MOST ? left : 0;
}

/* Does that value prove that there is none? */
SIMT_FN int quarry_chunks_is_empty(uint64_t word)
{
    return quarry_chunks_left(word) == 0 && (word & QUARRY_CHUNKS_TRANSIT) == 0;
}

/* Takes up to n numbers that were never used.
 * Returns how many; *first is the first of them. */
SIMT_FN uint32_t quarry_chunks_draw(const struct quarry_chunks *s, uint32_t n, uint32_t *first)
{
    uint32_t *fresh = &s->head->fresh, got;
    *first = simt_add_u32(fresh, n, relaxed);
    got = *first >= s->count ? 0 : s->count - *first < n ? s->count - *first : n;
    if (got < n)
        (void)simt_sub_u32(fresh, n - got, relaxed);
    return got;
}

/* Numbers that a lane has got for its group. */
struct quarry_chunks_grant {
    uint32_t ticket; /* of the queue, for the first `returned` lanes */
    uint32_t first;  /* fresh number, for the next `fresh` */
    uint32_t returned, fresh;
    uint32_t claimed; /* chunks: the lane is in transit; 0: it is not, and has claimed nothing yet */
};

/* Numbers for who has claimed nothing, as many as are found where the hint says; or none.  quarry_chunks_settle must
 * follow.  Never waits. */
SIMT_FN struct quarry_chunks_grant quarry_chunks_first(const struct quarry_chunks *s, uint32_t n)
{
    struct quarry_chunks_grant g = {0, 0, 0, 0, 0};
    uint32_t *hint = &s->head->where, where = simt_load_u32(hint, relaxed);
    if (where == QUARRY_CHUNKS_CAME) {
        g.returned = quarry_index_queue_claim_likely(&s->returned, n);
        if (g.returned) {
            g.ticket = quarry_index_queue_front(&s->returned, g.returned);
            return g;
        }
        where = simt_load_u32(&s->head->fresh, relaxed) < s->count ? QUARRY_CHUNKS_FRESH : QUARRY_CHUNKS_NONE;
        simt_store_u32(hint, where, relaxed);
    }
    if (where == QUARRY_CHUNKS_FRESH) {
        g.fresh = quarry_chunks_draw(s, n, &g.first);
        if (g.fresh == 0)
            simt_store_u32(hint, QUARRY_CHUNKS_CAME, relaxed);
    }
    return g;
}

/* Chunks have come back: the hint says so.
 *   where   what it says: who knows that must not wait for it */
SIMT_FN void quarry_chunks_came(const struct quarry_chunks *s, uint32_t where)
{
    if (where != QUARRY_CHUNKS_CAME)
        simt_store_u32(&s->head->where, QUARRY_CHUNKS_CAME, relaxed);
}

/* Claims up to n chunks.  quarry_chunks_settle must follow. */
SIMT_FN struct quarry_chunks_grant quarry_chunks_claim(const struct quarry_chunks *s, uint32_t n)
{
    struct quarry_chunks_grant g = {0, 0, 0, 0, n};
    uint32_t left = quarry_chunks_left(simt_add_u64(&s->head->word, 1u - n * QUARRY_CHUNKS_LEFT, relaxed));
    uint32_t got = left < n ? left : n;
    g.returned = got ? quarry_index_queue_claim(&s->returned, got) : 0;
    if (g.returned < got && simt_load_u32(&s->head->fresh, relaxed) < s->count)
        g.fresh = quarry_chunks_draw(s, got - g.returned, &g.first);
    g.ticket = g.returned ? quarry_index_queue_front(&s->returned, g.returned) : 0;
    return g;
}

/* Ends a claim, or makes it.
 *   got     chunks that the group has got
 *   stays   the caller stays in transit if it got any */
SIMT_FN void quarry_chunks_settle(const struct quarry_chunks *s, uint32_t claimed, uint32_t got, int stays)
{
    uint32_t leaves = claimed != 0 && !(stays && got);
    if (claimed != got || leaves)
        (void)simt_add_u64(&s->head->word, ((uint64_t)claimed - got) * QUARRY_CHUNKS_LEFT - leaves, relaxed);
}

/* Takes a chunk for each lane of `needs`, a subset of group.
 *   deals  the chunks are for pages: the caller is content with some, which the first lanes of `needs` get.  If it
 *          got any, quarry_chunks_end must follow when their pages can be had
 *   hurry  a word, or NULL: while it is not 0 a group that finds no chunk does not wait for others to prove it
 *   seen   out, in the group's first lane and if a lane got none: the value of `word` that proves it.  In a hurry
 *          somebody may be in transit: quarry_chunks_is_same says no
 * Returns the caller's chunk, or QUARRY_NO_INDEX.  Scope: group, reconverged.  Progress: waits for lanes in
 * transit, which wait for nobody. */
SIMT_FN uint32_t quarry_chunks_take(const struct quarry_chunks *s, uint32_t group, uint32_t needs, int deals,
                                    const uint32_t *hurry, uint64_t *seen)
{
    uint32_t leader = simt_ctz_u32(group), chunk = QUARRY_NO_INDEX, none = 0;
    for (uint32_t vain = 0; needs && !none; vain++) {
        struct quarry_chunks_grant g = {0, 0, 0, 0, 0};
        simt_sync(group); /* what other lanes returned is in what is read now */
        if (simt_rank(group) == 0 && !deals && vain == 0)
            g = quarry_chunks_first(s, simt_popc_u32(needs));
        if (simt_rank(group) == 0 && g.returned + g.fresh == 0) {
            /* A look first: who fails adds to no transit.  acquire: pairs with the release in quarry_chunks_end */
            *seen = simt_load_u64(&s->head->word, acquire);
            if (quarry_chunks_left(*seen) != 0)
                g = quarry_chunks_claim(s, simt_popc_u32(needs));
            else
                none = (uint32_t)(quarry_chunks_is_empty(*seen) || (hurry && simt_load_u32(hurry, relaxed)));
        }
        uint64_t where = simt_shuffle_u64(group, g.ticket | (uint64_t)g.first << 32, leader);
        uint32_t many = simt_shuffle_u32(group, g.returned | g.fresh << 8 | none << 16, leader);
        uint32_t returned = many & 0xffu, fresh = many >> 8 & 0xffu, rank = simt_rank(needs);
        int mine = (needs >> simt_lane() & 1u) != 0, takes = mine && rank < returned;
        uint32_t takers = returned ? simt_ballot(group, takes) : 0;
        if (takes)
            chunk = quarry_chunks_hints(s, takers, (uint32_t)where + rank);
        else if (mine && rank - returned < fresh)
            chunk = (uint32_t)(where >> 32) + rank - returned;
        uint32_t got = needs & simt_ballot(group, chunk != QUARRY_NO_INDEX);
        if (returned)
            simt_sync(group); /* what others acquired, before it is subtracted */
        if (simt_rank(group) == 0) {
            quarry_chunks_settle(s, g.claimed, simt_popc_u32(got), deals);
            if (got == 0 && !none)
                simt_backoff();
        }
        if (deals && s->map && returned) { /* some may have gone: the first lanes of `needs` get the others */
            mine = mine && rank < simt_popc_u32(got);
            uint32_t from =
                simt_shuffle_u32(group, chunk, mine ? quarry_kth_set_u32(got, rank + 1u) : simt_lane());
            chunk = mine ? from : QUARRY_NO_INDEX;
        }
        none = many >> 16 | (deals && got != 0);
        needs &= ~got;
    }
    return chunk;
}

/* Takes one chunk for the calling lane, if one is left.  Then it is in transit: quarry_chunks_end or
 * quarry_chunks_return must follow.  Returns it, or QUARRY_NO_INDEX, which proves nothing.  Never waits. */
SIMT_FN uint32_t quarry_chunks_try(const struct quarry_chunks *s)
{
    if (quarry_chunks_left(simt_load_u64(&s->head->word, relaxed)) == 0)
        return QUARRY_NO_INDEX;
    struct quarry_chunks_grant g = quarry_chunks_claim(s, 1);
    uint32_t chunk = g.returned ? quarry_chunks_hint(s, g.ticket) : g.fresh ? g.first : QUARRY_NO_INDEX;
    quarry_chunks_settle(s, 1, chunk != QUARRY_NO_INDEX, 1);
    return chunk;
}

/* Has `word` been the same since it proved that there is no chunk?  Progress: as quarry_chunks_take. */
SIMT_FN int quarry_chunks_is_same(const struct quarry_chunks *s, uint64_t seen)
{
    uint64_t now;
    /* pairs with the fences in quarry_chunk_leave, quarry_mask_leave, quarry_chunks_return and quarry_chunks_give:
     * whose taking of units or pages was seen is seen in transit, and so is what they returned before */
    simt_fence(acq_rel);
    while (((now = simt_load_u64(&s->head->word, relaxed)) & QUARRY_CHUNKS_TRANSIT) != 0)
        simt_backoff();
    return now == seen;
}

/* A chunk may be on its way to the store: quarry_chunks_return or quarry_chunks_end must follow. */
SIMT_FN void quarry_chunks_begin(const struct quarry_chunks *s)
{
    (void)simt_add_u64(&s->head->word, 1, relaxed);
}

/* It is not; or what was taken for pages is there as pages. */
SIMT_FN void quarry_chunks_end(const struct quarry_chunks *s)
{
    /* release: who finds nobody in transit finds the pages counted */
    (void)simt_add_u64(&s->head->word, QUARRY_CHUNKS_VERSION - 1u, release);
}

/* The calling lane returns a chunk, after quarry_chunks_begin.  Never waits. */
SIMT_FN void quarry_chunks_return(const struct quarry_chunks *s, uint32_t chunk)
{
    if (quarry_chunks_leave(s, chunk)) {
        quarry_index_queue_put(&s->returned, quarry_index_queue_back(&s->returned, 1), chunk);
        quarry_index_queue_add(&s->returned, 1);
    }
    quarry_chunks_came(s, QUARRY_CHUNKS_NONE); /* seldom: no look */
    /* release: who sees it counted sees its bit; pairs with the acquire of who looks for runs (core/chunk_runs.h) */
    (void)simt_add_u64(&s->head->word, QUARRY_CHUNKS_VERSION + QUARRY_CHUNKS_LEFT - 1u, release);
    simt_fence(acq_rel); /* before the caller's next take: pairs with the fence in quarry_chunks_is_same */
}

/* Every lane of the group returns a chunk, which was in use until now; its first lane has called quarry_chunks_begin.
 * Scope: group, reconverged and synced.  Never waits but for the group. */
SIMT_FN void quarry_chunks_give_begun(const struct quarry_chunks *s, uint32_t group, uint32_t chunk)
{
    uint32_t where = QUARRY_CHUNKS_NONE;
    if (simt_rank(group) == 0)
        where = simt_load_u32(&s->head->where, relaxed); /* long before it is needed */
    simt_sync(group); /* in transit before anybody can take them: their bits and numbers are released */
    uint32_t puts = simt_ballot(group, quarry_chunks_leave_all(s, group, chunk)), n = simt_popc_u32(puts),
             ticket = 0;
    if (simt_rank(group) == 0 && n)
        ticket = quarry_index_queue_back(&s->returned, n);
    ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group));
    if (puts >> simt_lane() & 1u)
        quarry_index_queue_put(&s->returned, ticket + simt_rank(puts), chunk);
    simt_sync(group); /* all numbers are in slots */
    if (simt_rank(group) == 0) {
        if (n)
            quarry_index_queue_add(&s->returned, n);
        quarry_chunks_came(s, where);
        /* release: as in quarry_chunks_return */
        (void)simt_add_u64(&s->head->word,
                           QUARRY_CHUNKS_VERSION + simt_popc_u32(group) * QUARRY_CHUNKS_LEFT - 1u, release);
        simt_fence(acq_rel); /* as in quarry_chunks_return; the sync below passes it on */
    }
    simt_sync(group); /* and counted, before any lane asks again */
}

/* The same, not begun. */
SIMT_FN void quarry_chunks_give(const struct quarry_chunks *s, uint32_t group, uint32_t chunk)
{
    if (simt_rank(group) == 0)
        quarry_chunks_begin(s);
    quarry_chunks_give_begun(s, group, chunk);
}

#endif
