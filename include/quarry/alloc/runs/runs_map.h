/* SPDX-License-Identifier: Apache-2.0 */
/* A bitmap of pages whose blocks are runs of consecutive pages: rw_malloc is a way to walk over it.
 *
 *     pool      | sweep | word 0, word 1 ... | flights | page 0 | page 1 | ...
 *     word      of 64 bits for 32 pages:
 *               63        32 31         0
 *              |    end     |   taken    |   taken bit b of word i: page i*32 + b is part of a block
 *               end bit b: and is the last page of its block
 *               Taken bits past the last page are set for ever, their end bits never.
 *     flights   core/flights.h: a flight is a claim
 *
 * A block is nothing but its bits: a free finds how long it is by looking for the next end bit, in words that
 * hold its own pages, and clears both.  That costs 2 bits a page, wherever blocks begin and however many
 * share a word.  A block of up to 32 pages within one word is taken by one atomic, and freed by one.
 *
 * A claim changes each word of its block by a compare-exchange: it finds the block's pages free there, or
 * leaves the word as it is.  If one word fails it clears in the others what it had set, which was clear
 * before.  (The paper sets bits by an OR, which a failed claim must take back in each word, also in those
 * where others' bits are; and a foreign end bit set for a moment would cut a block in two.)
 *
 * Order.  claim: CAS with acquire; free: AND with release.  In between are only atomic read-modify-writes,
 * which keep the release sequence: what the last owner of a page did happens-before the claim.  If another
 * lane gets the block, a simt_sync that both take part in hands that on.  Only a CAS that finds them clear
 * sets bits, only an owner clears its own: a page is never in two blocks.  Who frees has the malloc in his
 * past, so he reads his own end bit as it was set; what others do to the word leaves it alone.  Lanes that
 * free jointly sync before, so that the leader's release is that of all, and after, so that none goes on
 * whose block still looks taken.
 *
 * Full heap.  A claim is a flight (core/flights.h), which ends when it has succeeded or what it set is cleared
 * again.  A group sweeps the words with everybody else who does (core/sweep.h): in the second pass of a turn about
 * runs of n pages there may nowhere be n free pages together.  What gives space back outside of flights are frees,
 * which clear bits.
 *
 * Rejected: a version in each word, which needs half of it; and sums alone, as bits of claims that fail are
 * set for a moment and would make others' NULL wrong.
 *
 * A watched heap (layout.h).  Debug mode and statistics ask at any time which block an address is in, so they
 * must see where blocks begin: behind an end bit or a free page.  Suppose that a block begins with its word.  A
 * claim that is about to fail could set pages of the word below for a moment, without an end bit.  These would
 * seem to be part of that block.  So in a watched heap a claim goes from the block's last word to its first.  What
 * is taken back or freed goes from the first to the last.  Each step is ordered before the next.  So a taken page
 * that is not the last of its block is always followed by a page of its block.
 */
#ifndef QUARRY_ALLOC_RUNS_MAP_H
#define QUARRY_ALLOC_RUNS_MAP_H

#include "quarry/core/flights.h"
#include "quarry/core/layout.h"
#include "quarry/core/pages.h"
#include "quarry/alloc/runs/runs_view.h"
#include "quarry/core/sweep.h"

#define QUARRY_RUNS_MIXED 16u     /* of so many words one with free and taken pages makes a heap split */
#define QUARRY_RUNS_BATCH 8u      /* words that a lane has in flight when it sweeps */
#define QUARRY_RUNS_FREE_BATCH 4u /* and when it frees */
#define QUARRY_RUNS_JOINT 3u   /* of a block's pages, and its end, at most, for a warp to free it jointly */
#define QUARRY_RUNS_PART 2048u /* words of a sweep's part */

struct quarry_runs {
    struct quarry_sweep *sweep;
    uint64_t *words;
    uint64_t *flights;
    struct quarry_pages pages;
    uint32_t word_count;
    uint32_t probes;  /* words that a malloc reads at random in vain before it sweeps or gives up */
    uint32_t parts;   /* of a sweep; 0: none, give up */
    uint32_t ordered; /* of a watched heap (layout.h): claims go from a block's last word to its first */
};

/* What a word holds when nothing is allocated. */
SIMT_FN uint64_t quarry_runs_empty(const struct quarry_runs *h, uint32_t word)
{
    uint32_t first = word * QUARRY_RUNS_BITS;
    uint32_t here = first < h->pages.count ? h->pages.count - first : 0;
    return quarry_runs_bits(here < QUARRY_RUNS_BITS ? here : QUARRY_RUNS_BITS, QUARRY_RUNS_BITS);
}

/* A word, also past the last: full. */
SIMT_FN uint64_t quarry_runs_load(const struct quarry_runs *h, uint32_t word)
{
    return word < h->word_count ? simt_load_u64(&h->words[word], relaxed) : 0xffffffffu;
}

SIMT_FN void quarry_runs_init(const struct quarry_runs *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        quarry_sweep_init(h->sweep);
    for (uint64_t i = thread; i < h->word_count; i += threads)
        h->words[i] = quarry_runs_empty(h, (uint32_t)i);
    for (uint64_t i = thread; i < QUARRY_FLIGHTS; i += threads)
        h->flights[i] = 0;
}

/* ---- claims ---- */

/* The group's leader announces claims of any lane of it; before the first CAS comes a simt_sync(group). */
SIMT_FN void quarry_runs_begin(const struct quarry_runs *h, uint32_t group)
{
    if (h->parts && simt_rank(group) == 0) /* else nobody ever asks */
        quarry_flights_begin(h->flights);
}

/* They have succeeded, or are taken back.  After a simt_sync(group). */
SIMT_FN void quarry_runs_end(const struct quarry_runs *h, uint32_t group)
{
    if (h->parts && simt_rank(group) == 0)
        quarry_flights_end(h->flights);
}

/* Sets `part` in a word that was read as `seen`, unless a page of it is taken by now.  Returns 1 if it
 * did. */
SIMT_FN int quarry_runs_set(uint64_t *word, uint64_t seen, uint64_t part)
{
    while (!((uint32_t)seen & (uint32_t)part)) { /* end bits of free pages are clear */
        /* Order: claim; pairs with frees. */
        uint64_t now = simt_cas_u64(word, seen, seen | part, acquire);
        if (now == seen)
            return 1;
        seen = now;
    }
    return 0;
}

/* What a word keeps when a part of a block leaves it.  All end bits of its pages go: who frees a block twice may
 * find others there by now, and a free page that keeps one could not be taken as a block's last. */
SIMT_FN uint64_t quarry_runs_rest(uint64_t part)
{
    return ~(part | part << 32);
}

SIMT_FN void quarry_runs_clear(const struct quarry_runs *h, uint32_t word, uint64_t part)
{
    /* release: pairs with the CAS of who takes the pages */
    uint64_t before = simt_and_u64(&h->words[word], quarry_runs_rest(part), release);
    QUARRY_ASSERT_LIVE((before & part) == part);
    (void)before;
}

/* The same after a simt_fence(acq_rel); in a watched heap each step is ordered. */
SIMT_FN void quarry_runs_clear_fenced(const struct quarry_runs *h, uint32_t word, uint64_t part)
{
    if (h->ordered)
        quarry_runs_clear(h, word, part);
    else /* the fence pairs with the CAS of who takes the pages */
        simt_and_u64(&h->words[word], quarry_runs_rest(part), fenced);
}

/* ---- claims of runs that a group sees ---- */

/* As quarry_runs_claim by the calling lane alone, from the last word to the first. */
SIMT_FN int quarry_runs_claim_down(const struct quarry_runs *h, uint32_t page, uint32_t pages)
{
    uint32_t first = page / QUARRY_RUNS_BITS, last = (page + pages - 1u) / QUARRY_RUNS_BITS, word = last;
    while (word + 1u > first &&
           quarry_runs_set(&h->words[word], quarry_runs_load(h, word), quarry_runs_part(page, pages, word)))
        word--;
    if (word + 1u == first)
        return 1;
    SIMT_ROLLED
    while (++word <= last)
        quarry_runs_clear(h, word, quarry_runs_part(page, pages, word));
    return 0;
}

/* Sets each lane's part in its word, which it read as `seen`.  Returns `page`, or QUARRY_NO_PAGE, with
 * nothing set, if a word of the caller's block failed. */
SIMT_FN uint32_t quarry_runs_settle(const struct quarry_runs *h, uint32_t group, uint32_t word, uint64_t seen,
                                    uint64_t part, uint32_t page, uint32_t pages)
{
    if (h->ordered)
        return page != QUARRY_NO_PAGE && quarry_runs_claim_down(h, page, pages) ? page : QUARRY_NO_PAGE;
    uint32_t failed = simt_ballot(group, part && !quarry_runs_set(&h->words[word], seen, part));
    uint32_t base = word - simt_rank(group);
    if (!failed)
        return page;
    simt_sync(group); /* what a lane has set before another clears it */
    if (page == QUARRY_NO_PAGE)
        return page;
    uint32_t first = page / QUARRY_RUNS_BITS, end = (page + pages - 1u) / QUARRY_RUNS_BITS + 1u, lost = 0;
    SIMT_ROLLED
    for (uint32_t i = first; i < end; i++)
        lost |= failed >> quarry_lane_of_rank(group, i - base) & 1u;
    SIMT_ROLLED
    for (uint32_t i = first; lost && i < end; i++)
        if (!(failed >> quarry_lane_of_rank(group, i - base) & 1u))
            quarry_runs_clear(h, i, quarry_runs_part(page, pages, i));
    return lost ? QUARRY_NO_PAGE : page;
}

/* One look at as many words as the group has lanes, from `first` on.
 *
 *   pages   that the lane needs, at most 32 for each lane of the group; 0: none
 *   some    set, in every lane alike, to whether there was a run for anybody; others may have been faster
 *
 * Returns the caller's first page, or QUARRY_NO_PAGE.  Scope: group; synced at return. */
SIMT_FN uint32_t quarry_runs_take(const struct quarry_runs *h, uint32_t group, uint32_t first, uint32_t pages,
                                  int *some)
{
    uint32_t word = first + simt_rank(group), page;
    uint64_t seen = quarry_runs_load(h, word), part;
    struct quarry_runs_view v = quarry_runs_look(group, ~(uint32_t)seen);
    uint32_t most = simt_reduce_max_u32(group, pages);
    if (simt_all(group, pages == 0 || pages == most))
        page = quarry_runs_deal(group, &v, word, simt_ballot(group, pages != 0), most, &part);
    else
        page = quarry_runs_pack(group, &v, word, pages, &part);
    *some = simt_any(group, page != QUARRY_NO_PAGE);
    if (*some) {
        quarry_runs_begin(h, group);
        simt_sync(group); /* the announcement before the claims */
        page = quarry_runs_settle(h, group, word, seen, part, page, pages);
        simt_sync(group); /* claims before the end; and what one lane acquired for another is its own */
        quarry_runs_end(h, group);
    }
    return page;
}

/* Where a row of blocks, `pages` in all, may lie that begins at a multiple of `each`, in a group that saw its
 * words from `first` on as `seen`: a warp finds the first words that are empty, as many as that takes, or
 * half as many, and so on; fewer lanes take their words as they are.  Returns the first page; *end: where the
 * row must end. */
SIMT_FN uint32_t quarry_runs_room(uint32_t group, uint32_t first, uint64_t seen, uint32_t each,
                                  uint32_t pages, uint32_t *end)
{
    uint32_t words = simt_popc_u32(group);
    if (group == SIMT_ALL_LANES) {
        uint32_t empty = simt_ballot(group, seen == 0), from;
        uint32_t wanted = (pages + each - 1u + QUARRY_RUNS_BITS - 1u) / QUARRY_RUNS_BITS;
        words = wanted < words ? wanted : words;
        while ((from = quarry_runs_starts(empty, words)) == 0 && words > 1u)
            words /= 2;
        first += from ? simt_ctz_u32(from) : 0;
    }
    *end = (first + words) * QUARRY_RUNS_BITS;
    first *= QUARRY_RUNS_BITS;
    return first + (each - 1u - (first + each - 1u) % each);
}

/* Single pages for the lanes `needs`, lower lanes lower ones, from words that were read as `seen`, from
 * number `first` of `words` on: any that are free.  The claim has been announced.  Returns the caller's page
 * or QUARRY_NO_PAGE.  Scope: group; synced at return. */
SIMT_FN uint32_t quarry_runs_take_pages(uint64_t *words, uint32_t group, uint32_t first, uint64_t seen,
                                        uint32_t needs)
{
    uint32_t spare = ~(uint32_t)seen, page = QUARRY_NO_PAGE, k = simt_rank(needs);
    uint32_t to = quarry_scan_add_u32(group, simt_popc_u32(spare)), from = to - simt_popc_u32(spare);
    uint32_t asked = simt_popc_u32(needs), used = from < asked ? (to < asked ? to : asked) - from : 0;
    uint32_t owner = quarry_scan_find_u32(group, to, k), lane = quarry_lane_of_rank(group, owner);
    uint32_t taken = spare;
    if (used < to - from)
        taken &= quarry_runs_bits(0, quarry_kth_set_u32(spare, used + 1u));
    uint64_t part = taken | (uint64_t)taken << 32; /* each page is a block's last */
    simt_sync(group);                              /* the announcement before the claims */
    uint32_t failed =
        simt_ballot(group, part && !quarry_runs_set(&words[first + simt_rank(group)], seen, part));
    spare = simt_shuffle_u32(group, spare, lane);
    k -= simt_shuffle_u32(group, from, lane);
    if ((needs >> simt_lane() & 1u) && k < simt_popc_u32(spare) && !(failed >> lane & 1u))
        page = (first + owner) * QUARRY_RUNS_BITS + quarry_kth_set_u32(spare, k + 1u);
    simt_sync(group); /* claims before the end; and what one lane acquired for another is its own */
    return page;
}

/* What a look of quarry_runs_take_row saw. */
enum quarry_runs_seen {
    QUARRY_RUNS_FULL,  /* nothing, but elsewhere may be rows: all words but a few are full or empty */
    QUARRY_RUNS_SPLIT, /* free pages, but no row of them, and hardly one elsewhere */
    QUARRY_RUNS_SOME   /* what somebody needs, though others may have been faster */
};

/* As quarry_runs_take with little code, for what a heap with free space sees: a row of blocks finds room, for
 * all lanes that need pages, at most 16 for each lane of the group, or for the first of them.  If there is
 * none and all of them need one page, they get any that are free.  The claim is announced while the words are
 * on their way.
 *
 *   saw   set, in every lane alike: enum quarry_runs_seen */
SIMT_FN uint32_t quarry_runs_take_row(const struct quarry_runs *h, uint32_t group, uint32_t first,
                                      uint32_t pages, enum quarry_runs_seen *saw)
{
    uint32_t word = first + simt_rank(group), page = QUARRY_NO_PAGE;
    uint32_t start, before, all; /* of a row: first page; pages before the caller's; how many */
    uint64_t seen = quarry_runs_load(h, word), part;
    quarry_runs_begin(h, group);
    uint32_t needs = simt_ballot(group, pages != 0);
    int single = simt_all(group, pages <= 1u), fits = pages != 0;
    if (single) {
        uint32_t empty = simt_ballot(group, seen == 0),
                 ones = (uint32_t)quarry_runs_bits(0, simt_popc_u32(needs));
        all = empty ? simt_popc_u32(needs) : 0;
        start = simt_shuffle_u32(group, word, empty ? simt_ctz_u32(empty) : simt_lane()) * QUARRY_RUNS_BITS;
        before = simt_rank(needs);
        part = empty & (0u - empty) & 1u << simt_lane() ? ones | (uint64_t)ones << 32 : 0;
    } else {
        uint32_t each = simt_reduce_max_u32(group, pages), end;
        int alike = simt_all(group, pages == 0 || pages == each);
        before = simt_rank(needs) * each;
        all = simt_popc_u32(needs) * each;
        if (!alike) {
            before = quarry_scan_add_u32(group, pages);
            all = simt_reduce_max_u32(group, before);
            before -= pages;
            each = 1;
        }
        start = quarry_runs_room(group, first, seen, each, all, &end);
        uint32_t room =
            end - start <= SIMT_LANES * QUARRY_RUNS_BITS ? end - start : 0; /* else start is behind end */
        fits = pages && before + pages <= room;
        all = simt_reduce_max_u32(group, fits ? before + pages : 0);
        if (alike)
            part = quarry_runs_row(start, all, each, word);
        else
            part = (uint32_t)quarry_runs_part(start, all, word) |
                   quarry_runs_ends(group, simt_ballot(group, fits), start + before + pages - 1u, word);
    }
    *saw = QUARRY_RUNS_SOME;
    if (all && simt_all(group, !(seen & part))) {
        simt_sync(group); /* the announcement before the claims */
        /* Order: claim; pairs with frees. */
        int failed = part && simt_cas_u64(&h->words[word], seen, seen | part, acquire) != seen;
        page = fits ? start + before : QUARRY_NO_PAGE;
        if (simt_any(group, failed)) {
            if (part && !failed)
                quarry_runs_clear(h, word, part);
            page = QUARRY_NO_PAGE;
        }
        simt_sync(group); /* claims before the end; and what one lane acquired for another is its own */
    } else if (!simt_any(group, (uint32_t)~seen != 0)) {
        *saw = QUARRY_RUNS_FULL;
    } else if (single) {
        page = quarry_runs_take_pages(h->words, group, first, seen, needs);
    } else {
        uint32_t mixed = simt_ballot(group, (uint32_t)seen && (uint32_t)~seen);
        int split = QUARRY_RUNS_MIXED * simt_popc_u32(mixed) > simt_popc_u32(group);
        *saw = split ? QUARRY_RUNS_SPLIT : QUARRY_RUNS_FULL;
    }
    quarry_runs_end(h, group);
    return page;
}

/* ---- one run, of any length ---- */

/* The group takes the run of `pages` pages from `page` on, all of them or none.  Returns 1 in every lane if
 * it did.  Scope: group, reconverged; synced at return: what the last owners did happens-before that. */
SIMT_FN int quarry_runs_claim(const struct quarry_runs *h, uint32_t group, uint32_t page, uint32_t pages)
{
    uint32_t first = page / QUARRY_RUNS_BITS + simt_rank(group), width = simt_popc_u32(group);
    uint32_t end = (page + pages - 1u) / QUARRY_RUNS_BITS + 1u, word = first;
    int claimed;
    quarry_runs_begin(h, group);
    simt_sync(group);
    if (h->ordered) {
        claimed = simt_any(group, simt_rank(group) == 0 && quarry_runs_claim_down(h, page, pages));
    } else {
        while (word < end && quarry_runs_set(&h->words[word], quarry_runs_load(h, word),
                                             quarry_runs_part(page, pages, word)))
            word += width;
        claimed = simt_all(group, word >= end);
        SIMT_ROLLED
        for (uint32_t back = first; !claimed && back < word && back < end; back += width)
            quarry_runs_clear(h, back, quarry_runs_part(page, pages, back));
    }
    simt_sync(group);
    quarry_runs_end(h, group);
    return claimed;
}

/* Are these pages free?  They may be taken by now.  Scope: group. */
SIMT_FN int quarry_runs_are_free(const struct quarry_runs *h, uint32_t group, uint32_t page, uint32_t pages)
{
    uint32_t end = (page + pages - 1u) / QUARRY_RUNS_BITS + 1u, width = simt_popc_u32(group);
    uint64_t taken = 0;
    SIMT_ROLLED
    for (uint32_t word = page / QUARRY_RUNS_BITS + simt_rank(group); word < end && !taken; word += width)
        taken = quarry_runs_load(h, word) & quarry_runs_part(page, pages, word);
    return simt_all(group, !taken);
}

/* The first of `pages` free pages together, of the lowest such run that begins in a word from .. to - 1;
 * QUARRY_NO_PAGE if there is none.  It may have gone by now.  A run that reaches into `from` from below
 * begins before.  Scope: group. */
SIMT_FN uint32_t quarry_runs_find_run(const struct quarry_runs *h, uint32_t group, uint32_t from, uint32_t to,
                                      uint32_t pages)
{
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t open = 0; /* free pages that touch the words to come, of a run that begins in from .. to - 1 */
    int foreign =
        from > 0 && !(quarry_runs_load(h, from - 1u) >> 31 & 1u); /* do they, of one that does not? */
    foreign = simt_any(group, foreign);                           /* lanes may have read different values */
    for (uint32_t at = from; at < h->word_count && (at < to || open); at += width * QUARRY_RUNS_BATCH) {
        uint32_t some = 0;
        for (uint32_t i = 0; i < QUARRY_RUNS_BATCH; i++)
            some |= ~(uint32_t)quarry_runs_load(h, at + i * width + rank);
        if (!simt_any(group, some != 0)) {
            open = 0;
            foreign = 0;
            continue;
        }
        for (uint32_t i = 0; i < QUARRY_RUNS_BATCH; i++) {
            uint32_t base = at + i * width;
            struct quarry_runs_view v = quarry_runs_look(group, ~(uint32_t)quarry_runs_load(h, base + rank));
            uint32_t low = quarry_runs_low(v.spare), high = quarry_runs_high(v.spare);
            uint32_t begins = quarry_runs_starts(v.spare, pages), start = 0;
            int left = low && v.before == QUARRY_RUNS_BITS * rank; /* touches the lower end of all words */
            int found = begins != 0 || high + v.after >= pages;
            if (begins)
                start = simt_ctz_u32(begins);
            else
                start = QUARRY_RUNS_BITS - high;
            if (left && foreign) { /* a later run of the word counts, but not this one */
                uint32_t rest = low == QUARRY_RUNS_BITS ? 0 : v.spare & ~quarry_runs_bits(0, low);
                begins = quarry_runs_starts(rest, pages);
                found = begins != 0 || (rest && high && high + v.after >= pages);
                start = begins ? simt_ctz_u32(begins) : QUARRY_RUNS_BITS - high;
            }
            uint32_t first = (base + rank) * QUARRY_RUNS_BITS + start;
            if (left && !foreign &&
                v.before + low + (low == QUARRY_RUNS_BITS ? v.after : 0) + open >= pages) {
                found = 1;
                first = base * QUARRY_RUNS_BITS - open;
            }
            uint32_t finders = simt_ballot(group, found);
            if (finders) {
                first = simt_shuffle_u32(group, first, simt_ctz_u32(finders));
                return first / QUARRY_RUNS_BITS < to ? first : QUARRY_NO_PAGE;
            }
            uint32_t last = 31u - simt_clz_u32(group);
            uint32_t whole = simt_shuffle_u32(group, left && low == QUARRY_RUNS_BITS, last);
            uint32_t tail = simt_shuffle_u32(group, high + (high == QUARRY_RUNS_BITS ? v.before : 0), last);
            open = foreign && whole ? 0 : tail + (whole ? open : 0);
            foreign = foreign && whole;
            if ((uint64_t)(base + width) * QUARRY_RUNS_BITS >= (uint64_t)to * QUARRY_RUNS_BITS + open)
                return QUARRY_NO_PAGE; /* what begins from here on is not asked for */
        }
    }
    return QUARRY_NO_PAGE;
}

/* Frees the part of a block that lies in the words behind `word`, which has no end bit.  Where its pages
 * aren't taken, or the last word has no end bit either, others free the same block, which they may not: the
 * bits past the last page stay set. */
SIMT_FN void quarry_runs_free_behind(const struct quarry_runs *h, uint32_t word)
{
    for (;;) {
        uint64_t batch[QUARRY_RUNS_FREE_BATCH];
        for (uint32_t i = 0; i < QUARRY_RUNS_FREE_BATCH; i++)
            batch[i] = quarry_runs_load(h, word + 1u + i);
        for (uint32_t i = 0; i < QUARRY_RUNS_FREE_BATCH; i++) {
            uint64_t ends = batch[i] >> 32 << 32;
            word++;
            int live = (batch[i] & 1u) && (ends || word + 1u < h->word_count);
            QUARRY_ASSERT_LIVE(live);
            if (!live)
                return;
            quarry_runs_clear_fenced(h, word, quarry_runs_to_end(0, ends));
            if (ends)
                return;
        }
    }
}

/* May a block begin at this page of a word that was read as `now`?  It is taken, the page before is free or a
 * block's last, and an end follows, in this word or, if there is one, the next. */
SIMT_FN int quarry_runs_begins(const struct quarry_runs *h, uint32_t word, uint32_t bit, uint64_t now)
{
    uint64_t before = bit ? now >> (bit - 1u) : 0;
    return (now >> bit & 1u) && (!(before & 1u) || (before >> 32 & 1u)) &&
           (now >> 32 >> bit || word + 1u < h->word_count);
}

/* Lanes that come together and whose small blocks have their bits in the same word free them at once.  What
 * is no live block is left alone, as far as the word tells.  Progress: waits for nobody else. */
SIMT_FN void quarry_runs_free(const struct quarry_runs *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    uint32_t word = page / QUARRY_RUNS_BITS, from = page % QUARRY_RUNS_BITS;
    uint64_t now = quarry_runs_load(h, word), seen = now & ~(uint64_t)0 << (32u + from);
    int live = page != QUARRY_NO_PAGE && quarry_runs_begins(h, word, from, now);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    if (!seen) {
        simt_fence(acq_rel); /* once for all words: on a GPU each release would wait for the last one */
        quarry_runs_clear_fenced(h, word, quarry_runs_to_end(from, seen));
        quarry_runs_free_behind(h, word);
        return;
    }
    uint64_t part = quarry_runs_to_end(from, seen); /* the usual block */
    if (simt_popc_u64(part) > QUARRY_RUNS_JOINT) {
        quarry_runs_clear(h, word, part);
        return;
    }
    uint32_t group = quarry_group(&h->words[word], QUARRY_SITE_RUNS_FREE);
    uint32_t bits = simt_popc_u64(part);
    uint32_t low = simt_reduce_or_u32(group, (uint32_t)part);
    uint32_t ends = simt_reduce_or_u32(group, (uint32_t)(part >> 32));
    part = (uint64_t)ends << 32 | low;
    QUARRY_ASSERT_LIVE(simt_reduce_add_u32(group, bits) == simt_popc_u64(part)); /* each lane another block */
    (void)bits;
    simt_sync(group); /* all have left their blocks, for the release */
    if (simt_lane() == simt_ctz_u32(group))
        quarry_runs_clear(h, word, part);
    simt_sync(group); /* who goes on, perhaps to malloc, has freed his */
}

/* Cuts the caller's block in two before `page`, which is not its first, or leaves it alone if it ends there.
 * Returns whether there are two.  Order: frees of both read the end bit as it is set here, for who frees has
 * this in his past. */
SIMT_FN int quarry_runs_cut(const struct quarry_runs *h, uint32_t page)
{
    uint64_t *word = &h->words[(page - 1u) / QUARRY_RUNS_BITS];
    uint64_t bit = (uint64_t)1 << (page - 1u) % QUARRY_RUNS_BITS, end = bit << 32;
    uint64_t before = simt_or_u64(word, end, relaxed);
    if (!(before & bit)) /* others have freed the caller's block, which they may not */
        (void)simt_and_u64(word, ~end, relaxed);
    return (before & (bit | end)) == bit;
}

/* The trim of alloc.h: what lies before the user's pages becomes a block of its own, and is freed; likewise
 * what lies behind. */
SIMT_FN void quarry_runs_trim(const struct quarry_runs *h, void *block, void *user, uint64_t bytes)
{
    uint32_t first = quarry_page_index(&h->pages, user);
    uint32_t end = quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1) + 1u;
    if (first > quarry_page_index(&h->pages, block) && quarry_runs_cut(h, first))
        quarry_runs_free(h, block);
    if (quarry_runs_cut(h, end))
        quarry_runs_free(h, quarry_page_address(&h->pages, end));
}

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_runs_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_runs *h = (struct quarry_runs *)heap;
    h->word_count = (uint32_t)((l->pages + QUARRY_RUNS_BITS - 1) / QUARRY_RUNS_BITS);
    h->sweep =
        (struct quarry_sweep *)quarry_layout_section(l, "sweep", sizeof *h->sweep, QUARRY_SECTION_ALIGN);
    h->words =
        (uint64_t *)quarry_layout_section(l, "words", h->word_count * sizeof *h->words, QUARRY_SECTION_ALIGN);
    h->flights = (uint64_t *)quarry_layout_section(l, "flights", QUARRY_FLIGHTS * sizeof *h->flights,
                                                   QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
}
#endif

#endif
