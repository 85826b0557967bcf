/* SPDX-License-Identifier: Apache-2.0 */
/* A store of chunks of one size, by number: those that were never used, and those that came back.
 *
 * Ouroboros (core/index_queue.h has the source), section 3.2: chunks that came back are asked for first.
 *
 *     word      63 ... 46 | 45 ..... 19 | 18 ... 0
 *               version   | chunks left | in transit
 *     fresh     number of the next chunk that was never used; stops at the end
 *     returned  a queue with room for all
 *
 * Who wants chunks first claims them from `word`: it lowers `chunks left`, and is in transit.  If that took it below
 * 0 the claim is for less.  Then it takes numbers, as many as it can get out of the queue, the others from `fresh`.
 * When it has them it leaves the transit, and gives back what was too much.  Who returns chunks puts their
 * numbers into the queue, and then raises `chunks left` and `version`.
 *
 * A claim finds its numbers: chunks left are never more than numbers in the queue and fresh ones, less those
 * that other claims will take.  Another claim may keep some for a moment: `fresh` overshoots its end and is
 * put back, the queue's count falls below 0 and is put back.  Who finds fewer then gives the rest of its claim
 * back, and asks again.
 *
 * Who wants chunks that become blocks as they are, while none has come back, takes fresh numbers first and claims
 * afterwards: mostly nobody waits for `word` then.  Until it has claimed, `chunks left` is too much, and others may
 * claim what they won't find; they give it back.  What is left is never more than `word` says while nobody is in
 * transit.
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
 * Order.  What was done before a return happens-before what is done after the take of that chunk: the queue's.  What
 * was done before the end of a transit happens-before what is done by who finds nobody in transit.  Else
 * `word` and `fresh` are relaxed: frees that happen-before a call have changed `word` before, those of other
 * lanes of the group by the sync before it is read. */
#ifndef QUARRY_CORE_CHUNKS_H
#define QUARRY_CORE_CHUNKS_H

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

/* What many threads change at once lies 256 bytes apart. */
struct quarry_chunks_head {
    uint64_t word;
    uint64_t unused[31];
    uint32_t fresh;
    uint32_t unused_too[63];
    struct quarry_index_queue_ends returned;
};

struct quarry_chunks {
    struct quarry_chunks_head *head;
    struct quarry_index_queue returned;
    uint32_t count;
};

/* Makes a store of which all chunks are left.  Thread `thread` of `threads` does its share; nothing else runs. */
SIMT_FN void quarry_chunks_init(const struct quarry_chunks *s, uint64_t thread, uint64_t threads)
{
    if (thread == 0) {
        s->head->word = s->count * QUARRY_CHUNKS_LEFT;
        s->head->fresh = 0;
    }
    quarry_index_queue_init(&s->returned, 0, thread, threads);
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

/* Takes up to n numbers that were never used.  The caller has seen that there are some.
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

/* The same for who has claimed nothing, if no number has come back: claims as many as it gets.  Never waits. */
SIMT_FN uint32_t quarry_chunks_first(const struct quarry_chunks *s, uint32_t n, uint32_t *first)
{
    /* Both are under way at once. */
    uint32_t fresh = simt_load_u32(&s->head->fresh, relaxed);
    int32_t came = (int32_t)simt_load_u32(&s->returned.ends->count, relaxed);
    uint32_t got = came > 0 || fresh >= s->count ? 0 : quarry_chunks_draw(s, n, first);
    if (got)
        (void)simt_sub_u64(&s->head->word, got * QUARRY_CHUNKS_LEFT, relaxed);
    return got;
}

/* What a lane has claimed for its group. */
struct quarry_chunks_grant {
    uint32_t ticket; /* of the queue, for the first `returned` lanes */
    uint32_t first;  /* fresh number, for the next `fresh` */
    uint32_t returned, fresh;
};

/* Claims up to n chunks.
 *   stays   the caller stays in transit if it got any */
SIMT_FN struct quarry_chunks_grant quarry_chunks_claim(const struct quarry_chunks *s, uint32_t n, int stays)
{
    struct quarry_chunks_grant g = {0, 0, 0, 0};
    uint32_t left = quarry_chunks_left(simt_add_u64(&s->head->word, 1u - n * QUARRY_CHUNKS_LEFT, relaxed));
    uint32_t got = left < n ? left : n;
    g.returned = got ? quarry_index_queue_claim(&s->returned, got) : 0;
    if (g.returned < got && simt_load_u32(&s->head->fresh, relaxed) < s->count)
        g.fresh = quarry_chunks_draw(s, got - g.returned, &g.first);
    g.ticket = g.returned ? quarry_index_queue_front(&s->returned, g.returned) : 0;
    got = g.returned + g.fresh;
    (void)simt_add_u64(&s->head->word, (n - got) * QUARRY_CHUNKS_LEFT - !(stays && got), relaxed);
    return g;
}

/* Takes a chunk for each lane of `needs`, a subset of group.
 *   deals  the chunks are for pages: the caller is content with some, which the first lanes of `needs` get.  If it
 *          got any, quarry_chunks_end must follow when their pages can be had
 *   seen   out, in the group's first lane and if a lane got none: the value of `word` that proves it
 * Returns the caller's chunk, or QUARRY_NO_INDEX.  Scope: group, reconverged.  Progress: waits for lanes in
 * transit, which wait for nobody. */
SIMT_FN uint32_t quarry_chunks_take(const struct quarry_chunks *s, uint32_t group, uint32_t needs, int deals,
                                    uint64_t *seen)
{
    uint32_t leader = simt_ctz_u32(group), chunk = QUARRY_NO_INDEX, none = 0;
    for (uint32_t vain = 0; needs && !none; vain++) {
        struct quarry_chunks_grant g = {0, 0, 0, 0};
        simt_sync(group); /* what other lanes returned is in what is read now */
        if (simt_rank(group) == 0 && !deals && vain == 0)
            g.fresh = quarry_chunks_first(s, simt_popc_u32(needs), &g.first);
        if (simt_rank(group) == 0 && g.fresh == 0) {
            /* A look first: who fails adds to no transit.  acquire: pairs with the release in quarry_chunks_end */
            *seen = simt_load_u64(&s->head->word, acquire);
            if (quarry_chunks_left(*seen) != 0)
                g = quarry_chunks_claim(s, simt_popc_u32(needs), deals);
            else
                none = (uint32_t)quarry_chunks_is_empty(*seen);
            if (!none && g.returned + g.fresh == 0)
                simt_backoff();
        }
        uint64_t where = simt_shuffle_u64(group, g.ticket | (uint64_t)g.first << 32, leader);
        uint32_t many = simt_shuffle_u32(group, g.returned | g.fresh << 8 | none << 16, leader);
        uint32_t returned = many & 0xffu, fresh = many >> 8 & 0xffu, rank = simt_rank(needs);
        if (needs >> simt_lane() & 1u) {
            if (rank < returned)
                chunk = quarry_index_queue_take(&s->returned, (uint32_t)where + rank);
            else if (rank - returned < fresh)
                chunk = (uint32_t)(where >> 32) + rank - returned;
        }
        none = many >> 16 | (deals && returned + fresh != 0);
        needs &= simt_ballot(group, chunk == QUARRY_NO_INDEX);
    }
    return chunk;
}

/* Takes one chunk for the calling lane, if one is left.  Then it is in transit: quarry_chunks_end or
 * quarry_chunks_return must follow.  Returns it, or QUARRY_NO_INDEX, which proves nothing.  Never waits. */
SIMT_FN uint32_t quarry_chunks_try(const struct quarry_chunks *s)
{
    if (quarry_chunks_left(simt_load_u64(&s->head->word, relaxed)) == 0)
        return QUARRY_NO_INDEX;
    struct quarry_chunks_grant g = quarry_chunks_claim(s, 1, 1);
    if (g.returned)
        return quarry_index_queue_take(&s->returned, g.ticket);
    return g.fresh ? g.first : QUARRY_NO_INDEX;
}

/* Has `word` been the same since it proved that there is no chunk?  Progress: as quarry_chunks_take. */
SIMT_FN int quarry_chunks_is_same(const struct quarry_chunks *s, uint64_t seen)
{
    uint64_t now;
    /* pairs with the fences in quarry_mask_leave, quarry_chunks_return and quarry_chunks_give: whose taking of units or
     * pages was seen is seen in transit, and so is what they returned before */
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
    quarry_index_queue_put(&s->returned, quarry_index_queue_back(&s->returned, 1), chunk);
    quarry_index_queue_add(&s->returned, 1);
    (void)simt_add_u64(&s->head->word, QUARRY_CHUNKS_VERSION + QUARRY_CHUNKS_LEFT - 1u, relaxed);
    simt_fence(acq_rel); /* before the caller's next take: pairs with the fence in quarry_chunks_is_same */
}

/* Every lane of the group returns a chunk, which was in use until now.  Scope: group, reconverged and synced.
 * Never waits but for the group. */
SIMT_FN void quarry_chunks_give(const struct quarry_chunks *s, uint32_t group, uint32_t chunk)
{
    uint32_t n = simt_popc_u32(group), ticket = 0;
    if (simt_rank(group) == 0)
        ticket = quarry_index_queue_back(&s->returned, n);
    ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group));
    quarry_index_queue_put(&s->returned, ticket + simt_rank(group), chunk);
    simt_sync(group); /* all numbers are in slots */
    if (simt_rank(group) == 0) {
        quarry_index_queue_add(&s->returned, n);
        (void)simt_add_u64(&s->head->word, QUARRY_CHUNKS_VERSION + n * QUARRY_CHUNKS_LEFT, relaxed);
        simt_fence(acq_rel); /* as in quarry_chunks_return; the sync below passes it on */
    }
    simt_sync(group); /* and counted, before any lane asks again */
}

#endif
