/* SPDX-License-Identifier: Apache-2.0 */
/* corw: collaborative random walk over a bitmap.
 *
 * Minh Pham et al., "Dynamic Buffer Management in Massively Parallel Systems: The Power of Randomness",
 * ACM TOPC 2025, section 4.1, Algorithms 3 and 4: each lane of a warp locks and reads a random word of the
 * bitmap, and the free pages that they see go to those lanes that need one, by shuffles.  A lane whose
 * word another has locked gives nothing but still receives.
 *
 *     pool      | sweep | bitmap word 0 ... | lockmap word 0 ... | page 0 | page 1 | ... |
 *     bitmap    words of w = 32 or 64 bits; bit b of word i: page i*w + b is taken.  Bits past the last
 *               page are set for ever.
 *     lockmap   64 bits for 32 bitmap words:
 *               63        32 31         0
 *              | version    | lock bits  |   bit i: word i of the 32 is being handed out
 *               version: how often pages of these words were taken, modulo 2^32
 *
 * What the printed algorithm leaves out, and what happens here:
 * - The word is written back, and the lock released, on every path.  The write is an atomic OR of the bits
 *   that were given away, not a store of the word read: a free that clears another bit meanwhile stays.
 * - Line 10 marks the page that a lane offers before it is known whether anybody takes it; here a bit is
 *   marked only if its page found a taker.
 * - Lines 7, 8 and 16 compare with 32 ones; here masks are as wide as the word.
 * - No lane returns before the pages that it received are marked: it might free one at once, and the mark
 *   that came after would lose the page for ever.
 *
 * Order.  lock: OR with acquire, unlock: ADD with release; so a holder sees the word as the last holder left
 * it, or with fewer bits.  free: AND with release; the holder's load of the word acquires, and the ORs in
 * between are atomic read-modify-writes that keep the release sequence: what the last owner of a page did
 * happens-before that load.  The page may go to another lane: simt_sync at the end hands that on, and puts
 * the OR before anything that the receiver does.  Only a holder sets bits, only an owner clears its own:
 * a page is never given twice.
 *
 * Full heap.  After `probes` words in vain the group sweeps the bitmap, with everybody else who does
 * (core/sweep.h).  A turn has three passes: read all versions; read all words, which must be full; read all
 * versions again, and wait for each lock bit that is set there until it has once been clear.  The sums of the
 * versions must be equal.  Then all pages were taken when the first pass ended.  For suppose that a page was
 * free then, and its word full in the second pass.  That pass then read a take's OR (release; read relaxed,
 * then a fence) that came after the first pass ended.  The take's lock, older than the OR, is visible to
 * the third pass, which thus saw either the lock bit, and waited for the unlock with the new version, or
 * that version itself; and the first pass cannot have seen it.  Versions only grow, so the sums differ (2^32
 * takes of the same 32 words during one turn aside).
 * Rejected: a second counter, of takes that have begun, instead of waiting for lock bits: one more atomic for
 * each page that is given, on the path that matters. */
#ifndef QUARRY_ALLOC_CORW_H
#define QUARRY_ALLOC_CORW_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"
#include "quarry/core/sweep.h"

#define QUARRY_CORW_PROBES 1024u /* words that a group reads at random; at 0.5 % free 1 in 7 has a page */
#define QUARRY_CORW_CHUNK 2u     /* words of a sweep's chunk for each probe, up to QUARRY_CORW_MAX_CHUNK */
#define QUARRY_CORW_MAX_CHUNK 2048u
#define QUARRY_CORW_BATCH 8u              /* words that a lane has in flight */
#define QUARRY_CORW_WIDE_PAGES (1u << 22) /* words of 64 bits from so many pages: docs/alloc/corw.md */
#define QUARRY_CORW_LOCKS 32u             /* lock bits of a lockmap word */
#define QUARRY_CORW_VERSION ((uint64_t)1 << 32)

struct quarry_corw {
    struct quarry_sweep *sweep;
    void *bitmap;
    uint64_t *lockmap;
    struct quarry_pages pages;
    uint32_t words;
    uint32_t word_shift; /* 5 or 6: log2 of the bits of a word */
    uint32_t probes;
    uint32_t chunks; /* of a sweep */
};

/* ---- words of either width: a 32-bit word appears as 64 bits whose upper half is taken ---- */

#define QUARRY_CORW_UPPER 0xffffffff00000000u

SIMT_FN uint64_t quarry_corw_load_relaxed(const struct quarry_corw *h, uint32_t word)
{
    if (h->word_shift == 5)
        return simt_load_u32((uint32_t *)h->bitmap + word, relaxed) | QUARRY_CORW_UPPER;
    return simt_load_u64((uint64_t *)h->bitmap + word, relaxed);
}

SIMT_FN uint64_t quarry_corw_load_acquire(const struct quarry_corw *h, uint32_t word)
{
    if (h->word_shift == 5)
        return simt_load_u32((uint32_t *)h->bitmap + word, acquire) | QUARRY_CORW_UPPER;
    return simt_load_u64((uint64_t *)h->bitmap + word, acquire);
}

SIMT_FN void quarry_corw_or_release(const struct quarry_corw *h, uint32_t word, uint64_t bits)
{
    if (h->word_shift == 5)
        simt_or_u32((uint32_t *)h->bitmap + word, (uint32_t)bits, release);
    else
        simt_or_u64((uint64_t *)h->bitmap + word, bits, release);
}

SIMT_FN void quarry_corw_and_release(const struct quarry_corw *h, uint32_t word, uint64_t bits)
{
    if (h->word_shift == 5)
        simt_and_u32((uint32_t *)h->bitmap + word, (uint32_t)bits, release);
    else
        simt_and_u64((uint64_t *)h->bitmap + word, bits, release);
}

/* What a word holds when nothing is allocated: the bits past the last page. */
SIMT_FN uint64_t quarry_corw_empty(const struct quarry_corw *h, uint32_t word)
{
    uint32_t bits = 1u << h->word_shift;
    uint64_t first = (uint64_t)word << h->word_shift;
    uint64_t here = first < h->pages.count ? h->pages.count - first : 0;
    uint64_t past = here >= bits ? 0 : ~(uint64_t)0 << here;
    return h->word_shift == 5 ? past | QUARRY_CORW_UPPER : past;
}

SIMT_FN uint32_t quarry_corw_lock_words(const struct quarry_corw *h)
{
    return (h->words + QUARRY_CORW_LOCKS - 1) / QUARRY_CORW_LOCKS;
}

SIMT_FN void quarry_corw_init(const struct quarry_corw *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        quarry_sweep_init(h->sweep);
    for (uint64_t i = thread; i < h->words; i += threads) {
        if (h->word_shift == 5)
            ((uint32_t *)h->bitmap)[i] = (uint32_t)quarry_corw_empty(h, (uint32_t)i);
        else
            ((uint64_t *)h->bitmap)[i] = quarry_corw_empty(h, (uint32_t)i);
    }
    for (uint64_t i = thread; i < quarry_corw_lock_words(h); i += threads)
        h->lockmap[i] = 0;
}

/* ---- one word ---- */

/* Locks a word.  Returns 0 if another lane holds it. */
SIMT_FN int quarry_corw_lock(const struct quarry_corw *h, uint32_t word)
{
    uint64_t bit = (uint64_t)1 << (word % QUARRY_CORW_LOCKS);
    /* acquire: pairs with the release in quarry_corw_unlock */
    return !(simt_or_u64(&h->lockmap[word / QUARRY_CORW_LOCKS], bit, acquire) & bit);
}

/* Marks what was given away, and unlocks.  The mark's release pairs with a sweep's fence. */
SIMT_FN void quarry_corw_unlock(const struct quarry_corw *h, uint32_t word, uint64_t given)
{
    uint64_t bit = (uint64_t)1 << (word % QUARRY_CORW_LOCKS);
    if (given)
        quarry_corw_or_release(h, word, given);
    simt_add_u64(&h->lockmap[word / QUARRY_CORW_LOCKS], (given ? QUARRY_CORW_VERSION : 0) - bit, release);
}

/* Each lane of the group with `mine` has found `word`; it locks it and offers the free pages.
 * Sets *page of lanes that had QUARRY_NO_PAGE and now have one.
 * Returns the lanes that still need one. */
SIMT_FN uint32_t quarry_corw_round(const struct quarry_corw *h, uint32_t group, uint32_t needs, int mine,
                                   uint32_t word, uint32_t *page)
{
    int held = mine && quarry_corw_lock(h, word);
    uint64_t spare = held ? ~quarry_corw_load_acquire(h, word) : 0; /* pairs with quarry_corw_free */
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
        quarry_corw_unlock(h, word, given);
    return needs;
}

/* ---- full heap ---- */

enum quarry_corw_kind {
    QUARRY_CORW_VERSIONS,
    QUARRY_CORW_WORDS,
    QUARRY_CORW_SETTLED_VERSIONS,
    QUARRY_CORW_KINDS
};

/* The caller's part of the sum of the chunk's versions.  With `settle`, waits for each lock bit that is set
 * until it has once been clear: the holder's version is then in the sum. */
SIMT_FN uint64_t quarry_corw_versions(const struct quarry_corw *h, uint32_t group, uint32_t chunk, int settle)
{
    uint32_t end = quarry_sweep_cut(quarry_corw_lock_words(h), chunk + 1, h->chunks);
    uint64_t sum = 0;
    for (uint32_t i = quarry_sweep_cut(quarry_corw_lock_words(h), chunk, h->chunks) + simt_rank(group);
         i < end; i += simt_popc_u32(group)) {
        uint64_t word = simt_load_u64(&h->lockmap[i], acquire);
        uint32_t pending = settle ? (uint32_t)word : 0;
        while (pending) {
            simt_backoff();
            word = simt_load_u64(&h->lockmap[i], acquire);
            pending &= (uint32_t)word;
        }
        sum += word / QUARRY_CORW_VERSION;
    }
    simt_sync(group);
    return sum;
}

/* A sweep's chunk.  Its number: the sum of its versions; 0 for the words. */
SIMT_FN uint64_t quarry_corw_chunk(const void *heap, struct quarry_random *r, uint32_t group, uint32_t kind,
                                   uint32_t chunk, uint32_t *page, int *dirty)
{
    const struct quarry_corw *h = (const struct quarry_corw *)heap;
    uint32_t width = simt_popc_u32(group), rank = simt_rank(group);
    uint32_t needs = simt_ballot(group, *page == QUARRY_NO_PAGE);
    uint32_t first = quarry_sweep_cut(h->words, chunk, h->chunks);
    uint32_t count = quarry_sweep_cut(h->words, chunk + 1, h->chunks) - first;
    (void)r;
    if (kind != QUARRY_CORW_WORDS)
        return quarry_corw_versions(h, group, chunk, kind == QUARRY_CORW_SETTLED_VERSIONS);
    for (uint32_t from = 0; from < count && needs; from += width * QUARRY_CORW_BATCH) {
        uint32_t seen = 0; /* batch entries with a free page */
        for (uint32_t i = 0; i < QUARRY_CORW_BATCH; i++) {
            uint32_t at = from + i * width + rank;
            if (at < count && ~quarry_corw_load_relaxed(h, first + at))
                seen |= 1u << i;
        }
        while (needs && simt_any(group, seen != 0)) {
            uint32_t word = first + from + (seen ? simt_ctz_u32(seen) : 0) * width + rank;
            needs = quarry_corw_round(h, group, needs, seen != 0, word, page);
            seen &= seen - 1u;
            *dirty = 1;
        }
    }
    simt_fence(acq_rel); /* pairs with the release of each OR that was read */
    simt_sync(group);    /* and marks before what receivers do; acquires for them */
    return 0;
}

SIMT_FN uint32_t quarry_corw_search(const struct quarry_corw *h, struct quarry_random *r, uint32_t group,
                                    uint32_t page)
{
    struct quarry_sweep_plan plan;
    plan.sweep = h->sweep;
    plan.heap = h;
    plan.chunk = quarry_corw_chunk;
    plan.chunks = h->chunks;
    plan.kinds = QUARRY_CORW_KINDS;
    return quarry_sweep_search(&plan, r, group, page);
}

/* ---- malloc, free ---- */

/* Progress: the walk waits for nobody: a locked word is passed over.  On a heap that seems full, as
 * quarry_sweep_search; its third pass waits for holders of locks, who wait for nobody. */
SIMT_FN void *quarry_corw_malloc(const struct quarry_corw *h, uint64_t bytes)
{
    struct quarry_random r = quarry_random_start();
    uint32_t group = simt_active();
    uint32_t needs = group;
    uint32_t page = QUARRY_NO_PAGE;
    (void)bytes;
    for (uint32_t read = 0; needs && read < h->probes; read += simt_popc_u32(group))
        needs = quarry_corw_round(h, group, needs, 1, quarry_random_below(&r, h->words), &page);
    simt_sync(group); /* marks before what receivers do; acquires for them */
    if (needs)
        page = quarry_corw_search(h, &r, group, page);
    return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->pages, page);
}

SIMT_FN void quarry_corw_free(const struct quarry_corw *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    uint64_t bit = (uint64_t)1 << (page & ((1u << h->word_shift) - 1u));
    simt_assert(quarry_page_is_first_byte(&h->pages, page, block));
    simt_assert(quarry_corw_load_relaxed(h, page >> h->word_shift) & bit);
    quarry_page_poison(block, h->pages.page_bytes, QUARRY_POISON_FREED);
    quarry_corw_and_release(h, page >> h->word_shift, ~bit); /* pairs with the load in quarry_corw_round */
}

SIMT_FN void quarry_corw_census(const struct quarry_corw *h, uint64_t bytes, uint64_t thread,
                                uint64_t threads, struct quarry_census *sum)
{
    uint64_t live = 0, spare = 0;
    for (uint64_t i = thread; i < h->words; i += threads) {
        uint64_t word = quarry_corw_load_relaxed(h, (uint32_t)i);
        uint64_t empty = quarry_corw_empty(h, (uint32_t)i);
        live += simt_popc_u64(word & ~empty);
        spare += simt_popc_u64(~word);
        sum->faults += simt_popc_u64(~word & empty); /* a bit past the last page came free */
    }
    for (uint64_t i = thread; i < quarry_corw_lock_words(h); i += threads)
        sum->faults += simt_popc_u32((uint32_t)h->lockmap[i]); /* a lock that nobody released */
    quarry_census_pages(sum, bytes, live, spare, h->pages.page_bytes);
    if (thread == 0 && (h->sweep->state & 1u))
        sum->faults++;
}

#if SIMT_HAS_HOST
SIMT_HOST_FN uint64_t quarry_corw_bitmap_bytes(uint64_t pages)
{
    return quarry_round_up((pages + 7) / 8, QUARRY_SECTION_ALIGN); /* whole words of either width */
}

/* Sized for words of 32 bits; with words of 64 half of the lockmap stays unused (1/32 bit a page). */
SIMT_HOST_FN uint64_t quarry_corw_map_bytes(uint64_t pages)
{
    uint64_t lock_words = (pages + 32 * QUARRY_CORW_LOCKS - 1) / (32 * QUARRY_CORW_LOCKS);
    return quarry_corw_bitmap_bytes(pages) + lock_words * sizeof(uint64_t);
}

SIMT_HOST_FN enum quarry_layout_result quarry_corw_layout(struct quarry_corw *h, struct quarry_layout *l)
{
    unsigned char *pages = SIMT_NULL;
    uint32_t bits = l->word_bits;
    enum quarry_layout_result result;
    if (bits != 0 && bits != 32 && bits != 64)
        return QUARRY_LAYOUT_WORD_BITS;
    result = quarry_layout_pages(l, sizeof *h->sweep, quarry_corw_map_bytes, &pages);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    if (!bits)
        bits = l->pages < QUARRY_CORW_WIDE_PAGES ? 32 : 64;
    h->sweep = (struct quarry_sweep *)l->base;
    h->bitmap = l->base + QUARRY_SECTION_ALIGN;
    h->lockmap = (uint64_t *)(l->base + QUARRY_SECTION_ALIGN + quarry_corw_bitmap_bytes(l->pages));
    h->pages = quarry_pages_make(pages, l->page_bytes, (uint32_t)l->pages);
    h->word_shift = bits == 32 ? 5 : 6;
    h->words = (uint32_t)((l->pages + bits - 1) / bits);
    h->probes = l->probes ? l->probes : QUARRY_CORW_PROBES;
    h->chunks =
        quarry_layout_chunks(h->words, (uint64_t)h->probes * QUARRY_CORW_CHUNK, QUARRY_CORW_MAX_CHUNK);
    if (!l->probes && h->words < QUARRY_CORW_PROBES / 4)
        h->probes = 4 * h->words;
    l->word_bits = bits;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif

#ifdef QUARRY_ALLOCATOR_ENTRY
QUARRY_ALLOCATOR_ENTRY(corw, "collaborative random walk over a bitmap (Pham et al., Algorithm 3)")
#endif
