/* SPDX-License-Identifier: Apache-2.0 */
/* Bins: pages that are divided into blocks of one size, in chunks of pages.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.2.  This
 * file knows where the blocks of a bin lie, and takes and gives them.  Who makes bins, lists and retires them
 * is core/arenas.h.
 *
 *     chunk   | page 0 | ... | page heads - 1 | bin | bin | ... | bin |          2^chunk_log pages
 *     page    | head: of the chunk, or unused | tail | tail | ... |              of the first `heads`
 *     bin     | head | block 0 | block 1 | ...                                   its last blocks lie in its tail
 *
 * A head has QUARRY_BIN_HEAD bytes, and so has a tail.  A bin of small blocks goes on in its tail, so that it
 * has as many blocks as a page without a head.  Blocks larger than a tail don't use it.  Tail t is that of bin
 * heads + t; there are at least as many as bins.  No block begins where a page begins.
 *
 *     word    31 ......... 13 | 12 ..... 3 | 2 ........ 0
 *             claims          | count      | flags
 *     used    a bit for each block: somebody has it; and for those that the bin has not
 *
 * A chunk's head is that of a bin, too: its blocks are the chunk's bins, block i is page heads + i, and its class is
 * the number of classes.
 *
 * Two stages: the bits are counted ones (core/bits.h).  Who takes blocks claims them first, lowers the count, and then
 * finds as many clear bits.  Who gives a block clears its bit first and then counts.
 *
 * A claim is an addition to `claims`, for in a loop of compare-exchanges one lane wins in each round trip.  It gets
 * what of the count earlier claims leave.  A second addition withdraws it, and lowers the count by what it got.  In
 * between others may find less than there is; they look elsewhere or again.  Unless a claim is withdrawn, a bin is not
 * retired.  The second addition happens-before the blocks are given back, so the count is never more than the blocks.
 *
 *     LISTED     the bin is in the list of its class; changes under the list's mutex
 *     LISTING    the lane that has set the flag is about to list the bin
 *     RETIRING   the lane that has set the flag decides whether the bin, whose blocks are all free, is retired
 *
 * Many give blocks of a bin at once, but who adds to the count must set flags, and so needs a compare-exchange.
 * Therefore blocks are added to `given` first.  Who finds 0 there takes what is there, by an exchange, and counts it.
 * Who finds more leaves its blocks to that lane, and does not touch the bin any more.  So as long as `given` is not 0
 * one lane is about to empty it.  Nothing that was given is counted twice, or is missing when all blocks are counted.
 *
 * Flags and count are one word.  So who adds to the count sets at that instant the flags that say what it has to do
 * then, and who unlists the bin knows that nobody had added.
 *
 * Who gives blocks keeps the bin from being retired until they are counted, for not all are counted before.  Who has
 * counted some touches the bin after that only if it has set a flag.
 *
 * Order.  A block goes from owner to owner by its bit.  Adding to `given` releases, emptying it acquires, and adding to
 * the count releases: so who retires the bin, and acquires, knows what was done to all blocks.  Lowering it is relaxed:
 * who does not see the bits clear yet looks again. */
#ifndef QUARRY_CORE_BIN_H
#define QUARRY_CORE_BIN_H

#include "quarry/core/bits.h"
#include "quarry/core/list.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"
#include "quarry/core/srcu.h"
#include "quarry/simt/simt.h"

#define QUARRY_BIN_HEAD 128u /* bytes; also of a tail */
#define QUARRY_BIN_BLOCKS_MOST 512u
#define QUARRY_BIN_WORDS (QUARRY_BIN_BLOCKS_MOST / 32u)
#define QUARRY_BIN_CHUNK_LOG_MOST 7u /* at most QUARRY_BIN_BLOCKS_MOST bins */

#define QUARRY_BIN_LISTED 1u
#define QUARRY_BIN_LISTING 2u
#define QUARRY_BIN_RETIRING 4u
#define QUARRY_BIN_ONE 8u        /* block, in `word` */
#define QUARRY_BIN_CLAIM 0x2000u /* of a block, in `word` */
#define QUARRY_BIN_NOTHING 0xffffffffu

struct quarry_bin {
    struct quarry_link link; /* in the list of its class.  First: a link is the address of its bin */
    struct quarry_srcu_callback callback;
    uint32_t page; /* its number */
    uint32_t word;
    uint32_t class_;
    uint32_t arena;                  /* whose list has it */
    uint32_t used[QUARRY_BIN_WORDS]; /* only the words that its blocks have: quarry_bin_words */
    uint32_t given;                  /* blocks that are free, and which somebody is about to count */
};
SIMT_STATIC_ASSERT(sizeof(struct quarry_bin) <= QUARRY_BIN_HEAD, "a bin's head fits");
SIMT_STATIC_ASSERT(QUARRY_BIN_BLOCKS_MOST < QUARRY_BIN_CLAIM / QUARRY_BIN_ONE, "a count fits its field");
SIMT_STATIC_ASSERT(QUARRY_SEMAPHORE_LANES <= ~0u / QUARRY_BIN_CLAIM + 1u,
                   "a claim of each lane fits the field");

/* How chunks are divided. */
struct quarry_bin_shape {
    uint64_t page_bytes;
    uint32_t head_bytes; /* where the first block of a bin begins: at least QUARRY_BIN_HEAD */
    uint32_t chunk_log;  /* a chunk has 2^chunk_log pages */
    uint32_t heads;      /* of them are no bins */
    uint32_t tails;      /* that one of these has */
    uint32_t least_log;  /* class 0 has blocks of 2^least_log bytes, each next one twice as many */
    uint32_t classes;    /* 0: pages are too small */
};

/* ---- shape ---- */

SIMT_FN uint32_t quarry_bin_chunk_pages(const struct quarry_bin_shape *s)
{
    return 1u << s->chunk_log;
}

/* Bins of a chunk. */
SIMT_FN uint32_t quarry_bin_count(const struct quarry_bin_shape *s)
{
    return quarry_bin_chunk_pages(s) - s->heads;
}

/* Bytes of the largest blocks of bins; 0: there are none. */
SIMT_FN uint32_t quarry_bin_most_bytes(const struct quarry_bin_shape *s)
{
    return s->classes ? 1u << (s->least_log + s->classes - 1u) : 0;
}

/* The class of blocks that have so many bytes: 1 to quarry_bin_most_bytes. */
SIMT_FN uint32_t quarry_bin_class(const struct quarry_bin_shape *s, uint64_t bytes)
{
    uint32_t more = (uint32_t)(bytes - 1u) >> s->least_log;
    return more ? 32u - simt_clz_u32(more) : 0;
}

/* Blocks of 2^size_log bytes in a bin's own page and its tail.  A macro, as the host wants to know, too. */
#define QUARRY_BIN_FIT(s, size_log)                                                                          \
    ((uint32_t)(((s)->page_bytes - (s)->head_bytes) >> (size_log)) + (QUARRY_BIN_HEAD >> (size_log)))

/* Blocks of 2^size_log bytes in a bin's own page. */
SIMT_FN uint32_t quarry_bin_inside(const struct quarry_bin_shape *s, uint32_t size_log)
{
    return (uint32_t)(s->page_bytes - s->head_bytes) >> size_log;
}

/* Blocks of a bin of that class; of class s->classes the bins of a chunk. */
SIMT_FN uint32_t quarry_bin_blocks(const struct quarry_bin_shape *s, uint32_t class_)
{
    uint32_t size_log = s->least_log + class_;
    uint32_t blocks = class_ < s->classes ? QUARRY_BIN_FIT(s, size_log) : quarry_bin_count(s);
    return blocks < QUARRY_BIN_BLOCKS_MOST ? blocks : QUARRY_BIN_BLOCKS_MOST;
}

/* Where block `index` of a bin begins: bytes behind the first page. */
SIMT_FN uint64_t quarry_bin_offset(const struct quarry_bin_shape *s, uint32_t page, uint32_t class_,
                                   uint32_t index)
{
    uint32_t size_log = s->least_log + class_, inside = quarry_bin_inside(s, size_log);
    uint32_t number = page & (quarry_bin_chunk_pages(s) - 1u), at = index;
    uint64_t place = s->head_bytes;
    if (index >= inside) {
        uint32_t tail = number - s->heads, of = tail / s->tails;
        place += (tail - of * s->tails) * QUARRY_BIN_HEAD;
        page = page - number + of;
        at = index - inside;
    }
    return page * s->page_bytes + place + ((uint64_t)at << size_log);
}

/* The bin to which a byte of a chunk belongs.
 *   page     in: where the byte is; out: the bin's
 *   offset   in: of the byte in its page; out: in the bin, as if that had its tail behind its page's blocks; or
 *            QUARRY_BIN_NOTHING: the byte is no block's */
SIMT_FN void quarry_bin_locate(const struct quarry_bin_shape *s, uint32_t *page, uint32_t *offset)
{
    uint32_t number = *page & (quarry_bin_chunk_pages(s) - 1u), in = *offset - s->head_bytes;
    if (*offset < s->head_bytes) {
        *offset = QUARRY_BIN_NOTHING;
    } else if (number >= s->heads) {
        *offset = in;
    } else {
        uint32_t slot = in / QUARRY_BIN_HEAD, tail = number * s->tails + slot;
        if (slot >= s->tails || tail >= quarry_bin_count(s)) {
            *offset = QUARRY_BIN_NOTHING;
            return;
        }
        *page += s->heads + tail - number;
        *offset = (uint32_t)s->page_bytes - s->head_bytes + in % QUARRY_BIN_HEAD;
    }
}

/* The block with that byte, offset as from quarry_bin_locate, of a bin of that class, or QUARRY_BIN_NOTHING. */
SIMT_FN uint32_t quarry_bin_index(const struct quarry_bin_shape *s, uint32_t class_, uint32_t offset)
{
    uint32_t size_log = s->least_log + class_, inside = quarry_bin_inside(s, size_log), index;
    uint32_t in_page = (uint32_t)s->page_bytes - s->head_bytes;
    if (offset < in_page)
        index = offset >> size_log < inside ? offset >> size_log : QUARRY_BIN_NOTHING;
    else
        index = inside + ((offset - in_page) >> size_log);
    return index < quarry_bin_blocks(s, class_) ? index : QUARRY_BIN_NOTHING;
}

/* ---- heads ---- */

/* The bin that has the callback. */
SIMT_FN struct quarry_bin *quarry_bin_of(struct quarry_srcu_callback *callback)
{
    return (struct quarry_bin *)(void *)((unsigned char *)callback - sizeof(struct quarry_link));
}

/* Words of bits that so many blocks have. */
SIMT_FN uint32_t quarry_bin_words(uint32_t blocks)
{
    return (blocks + 31u) / 32u;
}

/* Its count. */
SIMT_FN uint32_t quarry_bin_free(uint32_t word)
{
    return word % QUARRY_BIN_CLAIM / QUARRY_BIN_ONE;
}

/* Of the count, what claims leave. */
SIMT_FN uint32_t quarry_bin_unclaimed(uint32_t word)
{
    uint32_t count = quarry_bin_free(word), claims = word / QUARRY_BIN_CLAIM;
    return count > claims ? count - claims : 0;
}

/* The bits of word i of a set that stand for numbers below n. */
SIMT_FN uint32_t quarry_bin_below(uint32_t n, uint32_t i)
{
    uint32_t bits = n > 32u * i ? n - 32u * i : 0;
    return bits >= 32u ? ~0u : (1u << bits) - 1u;
}

/* Makes a bin whose first `kept` blocks are somebody's.  Nobody knows of it. */
SIMT_FN void quarry_bin_make(struct quarry_bin *bin, uint32_t page, uint32_t class_, uint32_t arena,
                             uint32_t blocks, uint32_t kept)
{
    quarry_list_make(&bin->link);
    /* Atomic: find and census may look. */
    simt_store_u32(&bin->page, page, relaxed);
    simt_store_u32(&bin->class_, class_, relaxed);
    simt_store_u32(&bin->arena, arena, relaxed);
    /* A bin of large blocks has one word.  Each store counts: a span makes 62 bins at once, in lines of their own. */
    SIMT_ROLLED
    for (uint32_t i = 0; i < quarry_bin_words(blocks); i++) {
        uint32_t missing = ~quarry_bin_below(blocks, i);
        simt_store_u32(&bin->used[i], quarry_bin_below(kept, i) | missing, relaxed);
    }
    simt_store_u32(&bin->word, (blocks - kept) * QUARRY_BIN_ONE | (blocks > kept ? QUARRY_BIN_LISTED : 0),
                   relaxed);
    simt_store_u32(&bin->given, 0, relaxed);
}

/* Lowers the count by up to n.
 *   left    out: what was unclaimed before, if it was lowered
 *   after   out: the word then
 * Returns by how many.  A reader of the bin's list calls it, which waits for nobody. */
SIMT_FN uint32_t quarry_bin_lower(struct quarry_bin *bin, uint32_t n, uint32_t *left, uint32_t *after)
{
    if (quarry_bin_unclaimed(simt_load_u32(&bin->word, relaxed)) == 0)
        return 0;
    uint32_t spare = quarry_bin_unclaimed(simt_add_u32(&bin->word, n * QUARRY_BIN_CLAIM, relaxed));
    uint32_t got = n < spare ? n : spare, less = n * QUARRY_BIN_CLAIM + got * QUARRY_BIN_ONE;
    *after = simt_sub_u32(&bin->word, less, relaxed) - less;
    *left = spare;
    return got;
}

/* *n blocks more are free; their bits are clear.
 *   n        out: how many the caller has counted: 0, if somebody else does it, or more, for others
 *   blocks   that the bin has
 * Returns the flags that the caller has set: LISTING: it must list the bin; RETIRING: it must decide, after that.
 * With none it must not touch the bin any more.  Order: release. */
SIMT_FN uint32_t quarry_bin_raise(struct quarry_bin *bin, uint32_t *n, uint32_t blocks)
{
    simt_fence(acq_rel); /* pairs with the fence below, of who counts these blocks */
    if (simt_add_u32(&bin->given, *n, fenced) != 0) {
        *n = 0;
        return 0;
    }
    uint32_t word = simt_load_u32(&bin->word, relaxed);
    *n = simt_exchange_u32(&bin->given, 0, relaxed);
    /* Once, and not with each try.  It acquires what all who have added did before the fence above, and the count
     * then releases that; pairs with the acquire in quarry_arenas_retire_try.  Who retires the bin may have all its
     * units from elsewhere, before those who have added signal theirs. */
    simt_fence(acq_rel);
    for (;;) {
        uint32_t next = word + *n * QUARRY_BIN_ONE, seen;
        if (!(word & QUARRY_BIN_LISTED))
            next |= QUARRY_BIN_LISTING;
        if (quarry_bin_free(next) == blocks)
            next |= QUARRY_BIN_RETIRING;
        seen = simt_cas_u32(&bin->word, word, next, fenced);
        if (seen == word)
            return next & ~word & (QUARRY_BIN_LISTING | QUARRY_BIN_RETIRING);
        word = seen;
    }
}

/* ---- bits ---- */

/* The lowest n set bits of x, or all. */
SIMT_FN uint32_t quarry_bin_lowest(uint32_t x, uint32_t n)
{
    return simt_popc_u32(x) <= n ? x : x & ((2u << quarry_kth_set_u32(x, n)) - 1u);
}

/* Finds blocks for lanes that have lowered the count by as many.  The lanes look at a word each, and one with a word
 * that has enough takes bits for all.
 *   words    of `used` that the bin's blocks have
 *   start    the block at which to look first, the same for all; of the same word, those from it on come first
 *   takers   lanes of the group, not none
 * Returns the caller's block, if it is a taker.  Scope: group, reconverged.  Order: the block was acquired by a lane of
 * the group: sync before it is used. */
SIMT_FN uint32_t quarry_bin_take(struct quarry_bin *bin, uint32_t words, uint32_t start, uint32_t group,
                                 uint32_t takers)
{
    uint32_t size = simt_popc_u32(group), index = 0, seen = 0, at = start / 32u, ahead = ~0u << start % 32u;
    while (takers) {
        uint32_t rank = simt_rank(group), i = at + rank < words ? at + rank : at + rank - words, got = 0;
        uint32_t clear = rank < words ? ~simt_load_u32(&bin->used[i], relaxed) : 0, n = simt_popc_u32(takers);
        uint32_t some = simt_ballot(group, clear != 0),
                 enough = simt_ballot(group, simt_popc_u32(clear) >= n);
        at = at + size < words ? at + size : 0;
        seen += size;
        if (some) {
            uint32_t taker = simt_ctz_u32(enough ? enough : some);
            if (simt_lane() == taker) {
                uint32_t pick = quarry_bin_lowest(clear & ahead ? clear & ahead : clear, n);
                got = quarry_bits_take(&bin->used[i], pick);
            }
            got = simt_shuffle_u32(group, got, taker);
            i = simt_shuffle_u32(group, i, taker);
        }
        int takes = (takers >> simt_lane() & 1u) && simt_rank(takers) < simt_popc_u32(got);
        if (takes)
            index = i * 32u + quarry_kth_of_run_u32(got, simt_rank(takers) + 1u);
        takers &= ~simt_ballot(group, takes);
        if (takers && seen >= words) {
            seen = 0;
            simt_backoff(); /* who clears bits has not counted them before */
        }
    }
    return index;
}

/* Clears a block's bit.
 * Returns whether it was set: else the block is not live.  Order: release. */
SIMT_FN int quarry_bin_give(struct quarry_bin *bin, uint32_t index)
{
    return quarry_bits_give(&bin->used[index / 32u], 1u << index % 32u) != 0;
}

#if SIMT_HAS_HOST
/* Divides chunks.  No classes: such pages can't be divided.
 *   unit   of blocks: a power of two, at least 8; where they begin and how long they are are multiples of it */
SIMT_HOST_FN struct quarry_bin_shape quarry_bin_shape_make(uint64_t page_bytes, uint32_t chunk_log,
                                                           uint32_t unit)
{
    struct quarry_bin_shape s = {page_bytes, QUARRY_BIN_HEAD, chunk_log, 1, 1, 0, 0};
    if (unit > s.head_bytes)
        s.head_bytes = unit;
    while (1u << s.least_log < unit)
        s.least_log++;
    if (page_bytes < (uint64_t)s.head_bytes + QUARRY_BIN_HEAD)
        return s;
    s.tails = (uint32_t)(page_bytes - s.head_bytes) / QUARRY_BIN_HEAD;
    while (s.heads * s.tails + s.heads < 1u << chunk_log)
        s.heads++;
    if (s.heads == 1u << chunk_log)
        return s;
    while (s.least_log + s.classes < 31u && QUARRY_BIN_FIT(&s, s.least_log + s.classes) >= 2u)
        s.classes++;
    return s;
}
#endif

#endif
