/* SPDX-License-Identifier: Apache-2.0 */
/* A bitmap of pages whose words are locked to take pages: rw_bm, crw and corw are ways to walk over it.
 *
 *     pool      | sweep | bitmap | lockmap | the allocator's own | page 0 | page 1 | ...
 *     bitmap    words of w = 32 or 64 bits; bit b of word i: page i*w + b is taken.
 *               Bits past the last page are set for ever.
 *     lockmap   64 bits for 32 bitmap words:
 *               63        32 31         0
 *              | version    | lock bits  |   bit i: word i of the 32 is being handed out
 *               version: how often pages of these words were taken, modulo 2^32
 *
 * A malloc locks the word of its first probe without a look.  Later it does not lock a word that looks full.
 * (The paper locks each word.  For a full word that is two atomics for nothing.  On a full heap everybody does
 * so, on few words.)  A malloc that takes pages of a word locks it, reads it, marks what it gives away by an
 * atomic OR, and unlocks, on every path.  It does not store the word that it read: that would undo a free
 * which clears another bit meanwhile.
 *
 * Order.  lock: OR with acquire, unlock: ADD with release; so a holder sees the word as the last holder left
 * it, or with fewer bits.  (Who gave nothing away unlocks relaxed: its ADD is part of the release sequence of
 * the unlock before.)  free: AND with release; the holder's load of the word acquires, and the ORs in between
 * are atomic read-modify-writes that keep the release sequence: what the last owner of a page did
 * happens-before that load.  If the page goes to another lane, a simt_sync that both take part in hands that
 * on, and puts the OR before anything that the receiver does.  Only a holder sets bits, only an owner clears
 * its own: a page is never given twice.
 *
 * Full heap.  A group sweeps the bitmap, with everybody else who does (core/sweep.h).  A turn has three
 * passes: read all versions; read all words, which must be full; read all versions again, each by a
 * read-modify-write that changes nothing (ADD of 0, release), and wait for each lock bit that is set there
 * until it has once been clear. The sums of the versions must be equal.  Then all pages were taken when the
 * first pass ended.  For suppose that a page was free then, and its word full in the second pass: that pass
 * read a take's OR from after the first pass. The take's lock cannot follow the third pass's ADD in the
 * modification order of the lockmap word, for then it would synchronise with that ADD, the take's OR would
 * happen after the second pass, and nobody reads what is yet to be written.  So the ADD saw the lock: either
 * the lock bit, and then the pass waited for the unlock with the new version, or that version itself; and the
 * first pass (acquire) cannot have seen it.  Versions only grow, so the sums differ (2^32 takes of the same
 * 32 words during one turn aside). Rejected: a second counter, of takes that have begun, instead of waiting
 * for lock bits: one more atomic for each page that is given, on the path that matters.  Rejected: an OR with
 * release, with which the third pass could do with loads: on a GPU each release waits for a fence, and this
 * would be the second in each take. */
#ifndef QUARRY_ALLOC_WALK_BITMAP_H
#define QUARRY_ALLOC_WALK_BITMAP_H

#include "quarry/core/context.h"
#include "quarry/core/layout.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"
#include "quarry/core/sweep.h"

#define QUARRY_BITMAP_PART 2u /* words of a sweep's part for each probe, up to QUARRY_BITMAP_MAX_PART */
#define QUARRY_BITMAP_MAX_PART 2048u
#define QUARRY_BITMAP_BATCH 8u /* words that a lane has in flight */
#define QUARRY_BITMAP_WIDE_PAGES                                                                             \
    (1u << 22)                  /* words of 64 bits from so many pages: docs/reference/alloc/walk.md */
#define QUARRY_BITMAP_LOCKS 32u /* lock bits of a lockmap word */
#define QUARRY_BITMAP_VERSION ((uint64_t)1 << 32)

struct quarry_bitmap {
    struct quarry_sweep *sweep;
    void *words;
    uint64_t *lockmap;
    struct quarry_pages pages;
    uint32_t word_count;
    uint32_t word_shift; /* 5 or 6: log2 of the bits of a word */
    uint32_t probes;     /* words that a malloc reads at random in vain before it sweeps or gives up */
    uint32_t parts;      /* of a sweep; 0: none, give up */
};

/* ---- words of either width: a 32-bit word appears as 64 bits whose upper half is taken ---- */

#define QUARRY_BITMAP_UPPER 0xffffffff00000000u

SIMT_FN uint64_t quarry_bitmap_load_relaxed(const struct quarry_bitmap *h, uint32_t word)
{
    if (h->word_shift == 5)
        return simt_load_u32((uint32_t *)h->words + word, relaxed) | QUARRY_BITMAP_UPPER;
    return simt_load_u64((uint64_t *)h->words + word, relaxed);
}

SIMT_FN uint64_t quarry_bitmap_load_acquire(const struct quarry_bitmap *h, uint32_t word)
{
    if (h->word_shift == 5)
        return simt_load_u32((uint32_t *)h->words + word, acquire) | QUARRY_BITMAP_UPPER; /* Order: a free */
    return simt_load_u64((uint64_t *)h->words + word, acquire);                           /* Order: a free */
}

SIMT_FN void quarry_bitmap_or(const struct quarry_bitmap *h, uint32_t word, uint64_t bits)
{
    if (h->word_shift == 5)
        simt_or_u32((uint32_t *)h->words + word, (uint32_t)bits, relaxed);
    else
        simt_or_u64((uint64_t *)h->words + word, bits, relaxed); /* in a free's release sequence */
}

SIMT_FN void quarry_bitmap_and_release(const struct quarry_bitmap *h, uint32_t word, uint64_t bits)
{
    if (h->word_shift == 5)
        simt_and_u32((uint32_t *)h->words + word, (uint32_t)bits, release); /* Order: free */
    else
        simt_and_u64((uint64_t *)h->words + word, bits, release); /* Order: free */
}

/* What a word holds when nothing is allocated: the bits past the last page. */
SIMT_FN uint64_t quarry_bitmap_empty(const struct quarry_bitmap *h, uint32_t word)
{
    uint32_t bits = 1u << h->word_shift;
    uint64_t first = (uint64_t)word << h->word_shift;
    uint64_t here = first < h->pages.count ? h->pages.count - first : 0;
    uint64_t past = here >= bits ? 0 : ~(uint64_t)0 << here;
    return h->word_shift == 5 ? past | QUARRY_BITMAP_UPPER : past;
}

SIMT_FN uint32_t quarry_bitmap_lock_words(const struct quarry_bitmap *h)
{
    return (h->word_count + QUARRY_BITMAP_LOCKS - 1) / QUARRY_BITMAP_LOCKS;
}

SIMT_FN void quarry_bitmap_init(const struct quarry_bitmap *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        quarry_sweep_init(h->sweep);
    for (uint64_t i = thread; i < h->word_count; i += threads) {
        if (h->word_shift == 5)
            ((uint32_t *)h->words)[i] = (uint32_t)quarry_bitmap_empty(h, (uint32_t)i);
        else
            ((uint64_t *)h->words)[i] = quarry_bitmap_empty(h, (uint32_t)i);
    }
    for (uint64_t i = thread; i < quarry_bitmap_lock_words(h); i += threads)
        h->lockmap[i] = 0;
}

/* ---- one word ---- */

/* Locks a word.  Returns 0 if another lane holds it. */
SIMT_FN int quarry_bitmap_lock(const struct quarry_bitmap *h, uint32_t word)
{
    uint64_t bit = (uint64_t)1 << (word % QUARRY_BITMAP_LOCKS);
    /* acquire: pairs with the release in quarry_bitmap_unlock */
    return !(simt_or_u64(&h->lockmap[word / QUARRY_BITMAP_LOCKS], bit, acquire) & bit);
}

/* Marks what was given away, and unlocks. */
SIMT_FN void quarry_bitmap_unlock(const struct quarry_bitmap *h, uint32_t word, uint64_t given)
{
    uint64_t bit = (uint64_t)1 << (word % QUARRY_BITMAP_LOCKS);
    uint64_t *lock = &h->lockmap[word / QUARRY_BITMAP_LOCKS];
    if (given) {
        quarry_bitmap_or(h, word, given);
        simt_add_u64(lock, QUARRY_BITMAP_VERSION - bit, release); /* pairs with quarry_bitmap_lock */
    } else {
        simt_sub_u64(lock, bit, relaxed); /* Order: gave nothing away */
    }
}

/* Is it worth locking a word?  Always if it is the first that a malloc probes: on a heap with free space a
 * look would only take time.  Else if a page in it looks free. */
SIMT_FN int quarry_bitmap_is_worth(const struct quarry_bitmap *h, uint32_t word, int first)
{
    return first || ~quarry_bitmap_load_relaxed(h, word) != 0;
}

/* The calling lane takes a page of `word` for itself.
 *   first    as above
 *   locked   set to 1 if another lane holds the word, which then gives nothing; else to 0
 * Returns QUARRY_NO_PAGE if it got none. */
SIMT_FN uint32_t quarry_bitmap_take(const struct quarry_bitmap *h, uint32_t word, int first, int *locked)
{
    *locked = 0;
    if (!quarry_bitmap_is_worth(h, word, first))
        return QUARRY_NO_PAGE;
    *locked = !quarry_bitmap_lock(h, word);
    if (*locked)
        return QUARRY_NO_PAGE;
    uint64_t spare = ~quarry_bitmap_load_acquire(h, word); /* pairs with quarry_bitmap_free */
    quarry_bitmap_unlock(h, word, spare & (0 - spare));
    return spare ? (word << h->word_shift) + simt_ctz_u64(spare) : QUARRY_NO_PAGE;
}

/* Each lane of the group with `held` has locked `word`, offers its free pages, and unlocks it.
 * Sets *page of lanes that had QUARRY_NO_PAGE and now have one; the marks are not yet ordered before what
 * they do: see above.
 *
 *   needs   lanes of the group that need a page
 *
 * Returns those that still need one. */
SIMT_FN uint32_t quarry_bitmap_deal(const struct quarry_bitmap *h, uint32_t group, uint32_t needs, int held,
                                    uint32_t word, uint32_t *page)
{
    uint64_t spare = held ? ~quarry_bitmap_load_acquire(h, word) : 0; /* pairs with quarry_bitmap_free */
    uint64_t given = 0;
    uint32_t has = simt_ballot(group, spare != 0);
    while (needs && has) {
        uint64_t bit = spare & (0 - spare);
        uint32_t gift = (word << h->word_shift) + (spare ? simt_ctz_u64(spare) : 0);
        gift = quarry_share_u32(group, has, needs, gift);
        if (quarry_share_takes(has, needs))
            *page = gift;
        if (quarry_share_gives(has, needs)) {
            given |= bit;
            spare ^= bit;
        }
        needs = simt_ballot(group, *page == QUARRY_NO_PAGE);
        has = simt_ballot(group, spare != 0);
    }
    if (held)
        quarry_bitmap_unlock(h, word, given);
    return needs;
}

/* How many words the lanes of the group read in a round, counted for a malloc that infers how full the heap
 * is: a word that another lane has locked says nothing about that.  Waits a little if there was none, which
 * is when others make progress. */
SIMT_FN uint32_t quarry_bitmap_count_read(uint32_t group, int read)
{
    uint32_t count = simt_popc_u32(simt_ballot(group, read));
    if (count == 0)
        simt_backoff();
    return count;
}

/* The calling lane walks alone: a page, or QUARRY_NO_PAGE after h->probes words.
 *   first   is the walk's first probe that of the malloc? */
SIMT_FN uint32_t quarry_bitmap_walk(const struct quarry_bitmap *h, struct quarry_random *r,
                                    struct quarry_context *context, int first)
{
    for (uint32_t read = 0; read < h->probes; first = 0) {
        int locked;
        quarry_step(context);
        uint32_t page = quarry_bitmap_take(h, quarry_random_below(r, h->word_count), first, &locked);
        if (page != QUARRY_NO_PAGE)
            return page;
        read += h->parts || !locked;
        if (!h->parts && locked) /* says nothing about how full the heap is, and others make progress */
            simt_backoff();
    }
    return QUARRY_NO_PAGE;
}

/* ---- full heap ---- */

enum quarry_bitmap_kind {
    QUARRY_BITMAP_VERSIONS,
    QUARRY_BITMAP_WORDS,
    QUARRY_BITMAP_SETTLED_VERSIONS,
    QUARRY_BITMAP_KINDS
};

/* The caller's share of the sum of the part's versions.  With `settle`, waits for each lock bit that is set
 * until it has once been clear: the holder's version is then in the sum. */
SIMT_FN uint64_t quarry_bitmap_versions(const struct quarry_bitmap *h, uint32_t group, uint32_t part,
                                        int settle)
{
    struct quarry_sweep_items of = quarry_sweep_cut(quarry_bitmap_lock_words(h), part, h->parts);
    uint64_t sum = 0;
    for (uint32_t i = of.first + simt_rank(group); i < of.end; i += simt_popc_u32(group)) {
        /* Full heap: the third pass changes nothing and so orders itself; the first only reads. */
        uint64_t word =
            settle ? simt_add_u64(&h->lockmap[i], 0, release) : simt_load_u64(&h->lockmap[i], acquire);
        uint32_t pending = settle ? (uint32_t)word : 0;
        while (pending) {
            simt_backoff();
            word = simt_load_u64(&h->lockmap[i], relaxed);
            pending &= (uint32_t)word;
        }
        sum += word / QUARRY_BITMAP_VERSION;
    }
    return sum;
}

/* A sweep's part.  Its number: the sum of its versions; 0 for the words. */
SIMT_FN uint64_t quarry_bitmap_sweep_part(const void *heap, struct quarry_random *r, uint32_t group,
                                          uint32_t kind, uint32_t part, uint32_t size, uint32_t *page,
                                          int *dirty)
{
    const struct quarry_bitmap *h = (const struct quarry_bitmap *)heap;
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t needs = simt_ballot(group, *page == QUARRY_NO_PAGE);
    struct quarry_sweep_items of = quarry_sweep_cut(h->word_count, part, h->parts);
    uint32_t first = of.first, count = of.end - first;
    (void)r;
    (void)size;
    if (kind != QUARRY_BITMAP_WORDS)
        return quarry_bitmap_versions(h, group, part, kind == QUARRY_BITMAP_SETTLED_VERSIONS);
    for (uint32_t from = 0; from < count && needs; from += width * QUARRY_BITMAP_BATCH) {
        uint32_t seen = 0; /* batch entries with a free page */
        for (uint32_t i = 0; i < QUARRY_BITMAP_BATCH; i++) {
            uint32_t at = from + i * width + rank;
            if (at < count && ~quarry_bitmap_load_relaxed(h, first + at))
                seen |= 1u << i;
        }
        while (needs && simt_any(group, seen != 0)) {
            uint32_t word = first + from + (seen ? simt_ctz_u32(seen) : 0) * width + rank;
            int held = seen != 0 && quarry_bitmap_lock(h, word);
            needs = quarry_bitmap_deal(h, group, needs, held, word, page);
            seen &= seen - 1u;
            *dirty = 1;
        }
    }
    return 0;
}

/* For the lanes of the group whose walk ended in vain: `page` is QUARRY_NO_PAGE.  Returns the caller's page,
 * or QUARRY_NO_PAGE, if the heap was full at some instant or its fullness is to be inferred.
 * Scope: group; reconverged at return. */
SIMT_FN uint32_t quarry_bitmap_search(const struct quarry_bitmap *h, struct quarry_random *r, uint32_t group,
                                      uint32_t page)
{
    struct quarry_sweep_plan plan;
    if (h->parts == 0)
        return page;
    plan.sweep = h->sweep;
    plan.heap = h;
    plan.sweep_part = quarry_bitmap_sweep_part;
    plan.parts = h->parts;
    plan.kinds = QUARRY_BITMAP_KINDS;
    plan.size = 1;
    plan.news = SIMT_NULL;
    plan.in_order = 0;
    return quarry_sweep_search(&plan, r, group, page);
}

/* Progress: waits for nobody. */
SIMT_FN void quarry_bitmap_free(const struct quarry_bitmap *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    uint64_t bit = (uint64_t)1 << (page & ((1u << h->word_shift) - 1u));
    QUARRY_ASSERT_LIVE(page != QUARRY_NO_PAGE && quarry_bitmap_load_relaxed(h, page >> h->word_shift) & bit);
    if (page == QUARRY_NO_PAGE)
        return;
    quarry_bitmap_and_release(h, page >> h->word_shift, ~bit); /* pairs with the loads of those who take */
}

SIMT_FN enum quarry_place quarry_bitmap_find(const struct quarry_bitmap *h, const void *address,
                                             struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span);
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    return quarry_bitmap_load_relaxed(h, page >> h->word_shift) >> (page & ((1u << h->word_shift) - 1u)) & 1u
               ? QUARRY_PLACE_LIVE
               : QUARRY_PLACE_FREE;
}

SIMT_FN void quarry_bitmap_census(const struct quarry_bitmap *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    uint64_t live = 0, spare = 0;
    for (uint64_t i = share->thread; i < h->word_count; i += share->threads) {
        uint64_t word = quarry_bitmap_load_relaxed(h, (uint32_t)i);
        uint64_t empty = quarry_bitmap_empty(h, (uint32_t)i);
        live += simt_popc_u64(word & ~empty);
        spare += simt_popc_u64(~word);
        sum->faults += simt_popc_u64(~word & empty); /* a bit past the last page came free */
    }
    for (uint64_t i = share->thread; i < quarry_bitmap_lock_words(h); i += share->threads)
        sum->faults +=
            simt_popc_u32((uint32_t)simt_load_u64(&h->lockmap[i], relaxed)); /* a lock that nobody released */
    quarry_census_pages(sum, bytes, live, spare, h->pages.page_bytes);
    if (share->thread == 0 && (simt_load_u64(&h->sweep->state, relaxed) & 1u))
        sum->faults++;
}

#if SIMT_HAS_HOST
/* Names the sections before the allocator's own and the pages.  The lockmap is sized for words of 32 bits;
 * with words of 64 half of it stays unused (1/32 bit a page). */
SIMT_HOST_FN void quarry_bitmap_sections(struct quarry_bitmap *h, struct quarry_layout *l)
{
    uint64_t lock_words = (l->pages + 32 * QUARRY_BITMAP_LOCKS - 1) / (32 * QUARRY_BITMAP_LOCKS);
    h->sweep =
        (struct quarry_sweep *)quarry_layout_section(l, "sweep", sizeof *h->sweep, QUARRY_SECTION_ALIGN);
    h->words = quarry_layout_section(l, "bitmap", quarry_round_up((l->pages + 7) / 8, sizeof(uint64_t)),
                                     QUARRY_SECTION_ALIGN); /* whole words of either width */
    h->lockmap = (uint64_t *)quarry_layout_section(l, "lockmap", lock_words * sizeof *h->lockmap,
                                                   QUARRY_SECTION_ALIGN);
}

/* Fills *h, whose allocator's sections are placed.
 *   bits        of a word, 32 or 64, or 0: the faster; receives which
 *   probes      words read at random in vain before a sweep, or 0; receives how many
 *   standard    their default */
SIMT_HOST_FN enum quarry_layout_result quarry_bitmap_layout(struct quarry_bitmap *h, struct quarry_layout *l,
                                                            uint64_t *bits, uint64_t *probes,
                                                            uint32_t standard)
{
    if (!*bits)
        *bits = l->pages < QUARRY_BITMAP_WIDE_PAGES ? 32 : 64;
    h->word_shift = *bits == 32 ? 5 : 6;
    h->word_count = (uint32_t)((l->pages + *bits - 1) / *bits);
    enum quarry_layout_result result =
        quarry_layout_probes(l, probes, (uint32_t)*bits, standard, h->word_count);
    h->probes = (uint32_t)*probes;
    h->parts = l->low_free > 0
                   ? 0
                   : quarry_layout_parts(h->word_count, *probes * QUARRY_BITMAP_PART, QUARRY_BITMAP_MAX_PART);
    return result;
}
#endif

#endif
