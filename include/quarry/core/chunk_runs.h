/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of consecutive chunks of a store that has a map (core/chunks.h).
 *
 * Ouroboros has an instance of its own for each larger size, whose chunks never serve another.  Here a run is any
 * chunks that are left and lie together, and what comes back serves all.
 *
 *     order    of a run of n chunks: the least k with 2^k >= n.  It begins at a multiple of 2^k: in a *window*
 *     field    of the map: 32 chunks, so 32 >> k windows; or a window has several fields
 *
 * Take.  While there are fresh numbers a group takes as many as it needs, by one addition, and those that are in front
 * of the first window, or behind a run, come back at once.  Then it looks at 32 fields, or windows, at a time, from a
 * place on that it draws by one addition: so groups that come together look at different ones.  A lane that sees a run
 * takes it by a compare-exchange of the field.  Of several fields it takes one after the other, and gives all back if
 * one has gone.  Then the chunks are subtracted from `word`: until then it says too much, which others find out
 * (core/chunks.h).  Who has fresh numbers in its hands, or fields of a run that may yet come back, is in transit.
 *
 * Hints of the chunks stay where they are.  Who takes one finds that the chunk has gone.
 *
 * Who has seen that no number is fresh, has then looked at all windows, and found in each a chunk that was not left,
 * knows: if `word` is the same before and after, with nobody in transit, at its second place there was no run.  For
 * until then bits were only cleared: whoever sets one counts it in `word` then, or is still about to, so it comes
 * afterwards.  `word` is read with acquire before the look, and a return changes it with release: so the look sees the
 * bits of all returns that `word` counts.  A lane looks again at a window whose run it saw and did not get.
 *
 * Order.  Bits are set with release and cleared with acquire; changes of a field are read-modify-writes, so each
 * continues the release sequences before it.  Looks are relaxed. */
#ifndef QUARRY_CORE_CHUNK_RUNS_H
#define QUARRY_CORE_CHUNK_RUNS_H

#include "quarry/core/chunks.h"
#include "quarry/core/share.h"
#include "quarry/simt/simt.h"

#define QUARRY_RUN_MOST 128u /* chunks */

/* The order of a run of n chunks. */
SIMT_FN uint32_t quarry_run_order(uint32_t n)
{
    return n > 1 ? 32u - simt_clz_u32(n - 1u) : 0;
}

/* Of a run of n chunks from `at` on: those in one field.
 *   done   so many are in fields before
 *   n      in: all; out: chunks in this field */
SIMT_FN uint32_t quarry_run_bits(uint32_t at, uint32_t done, uint32_t *n)
{
    uint32_t shift = (at + done) % 32u;
    *n = *n - done < 32u - shift ? *n - done : 32u - shift;
    return (*n < 32u ? (1u << *n) - 1u : ~0u) << shift;
}

/* Where in a field of chunks runs begin: one bit for each.
 *   n   chunks of a run, at most 32 */
SIMT_FN uint32_t quarry_run_begins(uint32_t left, uint32_t n, uint32_t order)
{
    for (uint32_t have = 1; have < n;) { /* bit i: chunks i to i + have - 1 */
        uint32_t step = have < n - have ? have : n - have;
        left &= left >> step;
        have += step;
    }
    return order < 5u ? left & ~0u / ((1u << (1u << order)) - 1u) : left & 1u;
}

/* Chunks of a run are left again.
 *   counted   they were subtracted from `word`: n; or 0, and the caller is in transit
 * Never waits. */
SIMT_FN void quarry_run_give(const struct quarry_chunks *s, uint32_t at, uint32_t n, uint32_t counted)
{
    if (counted)
        quarry_chunks_begin(s); /* before anybody can take one */
    for (uint32_t done = 0, here = n; done < n; done += here, here = n) {
        uint32_t bits = quarry_run_bits(at, done, &here), field = (at + done) / 32u;
        /* release: pairs with the acquires of those who clear them */
        uint64_t before = simt_or_u64(&s->map[field], (uint64_t)bits << 32 | bits, release);
        uint32_t puts = bits & ~(uint32_t)(before >> 32), many = simt_popc_u32(puts);
        if (many == 0)
            continue;
        for (uint32_t ticket = quarry_index_queue_back(&s->returned, many); puts; puts &= puts - 1u)
            quarry_index_queue_put(&s->returned, ticket++, field * 32u + simt_ctz_u32(puts));
        quarry_index_queue_add(&s->returned, many);
    }
    quarry_chunks_came(s, QUARRY_CHUNKS_NONE);
    /* release: who sees them counted sees their bits; pairs with the acquire of who looks for a proof */
    uint64_t change = QUARRY_CHUNKS_VERSION + counted * QUARRY_CHUNKS_LEFT - (counted != 0);
    (void)simt_add_u64(&s->head->word, change, release);
    simt_fence(acq_rel); /* before the caller's next take: pairs with the fence in quarry_chunks_is_same */
}

/* Takes the run from `at` on, if all of its chunks are left.  They are not subtracted from `word`.  Lock-free. */
SIMT_FN int quarry_run_try(const struct quarry_chunks *s, uint32_t at, uint32_t n)
{
    const int several = n > 32u; /* fields */
    uint32_t done = 0, here = n;
    int has = 1;
    if (several) {
        quarry_chunks_begin(s);
        /* In transit before a field is taken: pairs with the fence in quarry_chunks_is_same. */
        simt_fence(acq_rel);
    }
    for (; has && done < n; done += has ? here : 0, here = n) {
        uint32_t bits = quarry_run_bits(at, done, &here);
        uint64_t *field = &s->map[(at + done) / 32u], now = simt_load_u64(field, relaxed), before = ~now;
        while (((uint32_t)now & bits) == bits && before != now) {
            /* acquire: pairs with the releases of those who set them */
            before = simt_cas_u64(field, now, now & ~(uint64_t)bits, acquire);
            if (before != now) {
                now = before;
                before = ~now;
            }
        }
        has = before == now;
    }
    if (!has && done)
        quarry_run_give(s, at, done, 0);
    if (several)
        quarry_chunks_end(s);
    return has;
}

/* Where the calling lane's window, or field, number `unit` has a run; or QUARRY_NO_INDEX.  Relaxed: a hint. */
SIMT_FN uint32_t quarry_run_look(const struct quarry_chunks *s, uint32_t unit, uint32_t n, uint32_t order)
{
    uint32_t at = unit << (order < 5u ? 5u : order), begins = 1;
    if (order <= 5u) {
        begins = quarry_run_begins((uint32_t)simt_load_u64(&s->map[unit], relaxed), n, order);
        return begins ? at + 31u - simt_clz_u32(begins) : QUARRY_NO_INDEX;
    }
    for (uint32_t done = 0, here = n; done < n; done += here, here = n) {
        uint32_t bits = quarry_run_bits(at, done, &here), field = (at + done) / 32u;
        if (field >= quarry_chunks_fields(s->count) ||
            ((uint32_t)simt_load_u64(&s->map[field], relaxed) & bits) != bits)
            return QUARRY_NO_INDEX;
    }
    return at;
}

/* Takes runs of fresh numbers for lanes of `needs`, a subset of group.  Returns as quarry_run_take; QUARRY_NO_INDEX
 * proves nothing.  Scope: group, reconverged.  Never waits. */
SIMT_FN uint32_t quarry_run_fresh(const struct quarry_chunks *s, uint32_t group, uint32_t needs, uint32_t n)
{
    uint32_t window = 1u << quarry_run_order(n), leader = simt_ctz_u32(group), first = 0, end = 0;
    if (simt_rank(group) == 0) {
        quarry_chunks_begin(s);
        simt_fence(
            acq_rel); /* in transit before they are drawn: pairs with the fence in quarry_chunks_is_same */
        first = simt_load_u32(&s->head->fresh, relaxed);
        uint32_t wanted = ((0u - first) & (window - 1u)) + simt_popc_u32(needs) * window;
        end = first < s->count ? quarry_chunks_draw(s, wanted, &first) : 0;
        end += first;
    }
    first = simt_shuffle_u32(group, first, leader);
    end = simt_shuffle_u32(group, end, leader);
    simt_sync(group); /* in transit before others give what is behind their runs */
    uint32_t begin = (first + window - 1u) & ~(window - 1u), rank = simt_rank(needs);
    uint32_t at = begin + rank * window, last = simt_popc_u32(needs) - 1u, to = at + window;
    int mine = (needs >> simt_lane() & 1u) != 0, gets = mine && at + n <= end;
    uint32_t rest = gets ? at + n : at;
    to = to < end && rank != last ? to : end;
    if (mine && rest < to) /* behind its run */
        quarry_run_give(s, rest, to - rest, 0);
    begin = begin < end ? begin : end;
    if (simt_rank(group) == 0 && first < begin) /* before the first window */
        quarry_run_give(s, first, begin - first, 0);
    uint32_t got = simt_popc_u32(simt_ballot(group, gets));
    simt_sync(group); /* what comes back has come back, and quarry_run_give has released it */
    if (simt_rank(group) == 0)
        (void)simt_add_u64(&s->head->word,
                           QUARRY_CHUNKS_VERSION - 1u - (uint64_t)got * n * QUARRY_CHUNKS_LEFT, relaxed);
    return gets ? at : QUARRY_NO_INDEX;
}

/* Takes a run of n chunks for each lane of `needs`, a subset of group.
 *   n   2 to QUARRY_RUN_MOST, the same in all lanes
 * Returns where it begins, or QUARRY_NO_INDEX: the group has seen that no number is fresh, and then a chunk that was
 * not left in each window.
 * Scope: group, reconverged.  Lock-free. */
SIMT_FN uint32_t quarry_run_take(const struct quarry_chunks *s, uint32_t group, uint32_t needs, uint32_t n)
{
    uint32_t order = quarry_run_order(n), log = order < 5u ? 5u : order, rank = simt_rank(group);
    uint32_t units = (s->count + (1u << log) - 1u) >> log, width = simt_popc_u32(group),
             run = QUARRY_NO_INDEX;
    uint32_t leader = simt_ctz_u32(group), from = 0;
    while (needs) {
        uint32_t fresh = simt_load_u32(&s->head->fresh, relaxed) < s->count, at;
        if (!simt_shuffle_u32(group, fresh, leader))
            break;
        at = quarry_run_fresh(s, group, needs, n);
        run = needs >> simt_lane() & 1u ? at : run;
        needs &= simt_ballot(group, run == QUARRY_NO_INDEX);
    }
    if (rank == 0 && needs)
        from = simt_add_u32(&s->head->runs, simt_popc_u32(needs) << order, relaxed) >> log;
    from = simt_shuffle_u32(group, from, leader) % units;
    for (uint32_t i = 0; i < units && needs;) {
        uint32_t mine = i + rank, at = QUARRY_NO_INDEX,
                 unit = from + mine < units ? from + mine : from + mine - units;
        if (mine < units)
            at = quarry_run_look(s, units - 1u - unit, n, order);
        uint32_t some = simt_ballot(group, at != QUARRY_NO_INDEX);
        int won = at != QUARRY_NO_INDEX && simt_rank(some) < simt_popc_u32(needs) && quarry_run_try(s, at, n);
        uint32_t got = simt_ballot(group, won), order_ = simt_rank(needs);
        if (got)
            simt_sync(group); /* what others acquired, before it is subtracted */
        if (rank == 0 && got)
            (void)simt_sub_u64(&s->head->word, (uint64_t)simt_popc_u32(got) * n * QUARRY_CHUNKS_LEFT,
                               relaxed);
        int gets = (needs >> simt_lane() & 1u) && order_ < simt_popc_u32(got);
        at = simt_shuffle_u32(group, at, gets ? quarry_kth_set_u32(got, order_ + 1u) : simt_lane());
        run = gets ? at : run;
        needs &= ~simt_ballot(group, gets);
        i += some ? 0 : width; /* else these fields may have more */
    }
    simt_sync(group); /* what was acquired all know */
    return run;
}

#endif
