/* SPDX-License-Identifier: Apache-2.0 */
/* A page that is divided into cells of one size: its word and its fields (the map: alloc/scatter.h).
 *
 * Cells.  The class of a page is how many cells it has; they are as large as that allows.  Up to 32 are in
 * the word itself.  More, up to 1024, are in fields of 32 at the page's end.  In debug mode, which needs what is free
 * to be left alone, fields are elsewhere.
 *
 * To enter a page of fields a lane counts first and then sets bits.  To leave it clears the bit first and then
 * uncounts.  So whoever has counted finds a clear one, and a page whose count is 0 has no bits and nobody in it
 * (core/bits.h).  A lane that counts n cells
 * where c were counted sets the bits from c to c + n - 1, all with one fetch-or, or two: in a page that
 * nobody has freed of these are clear.  For each that was set already another is looked for.  Count and class
 * are in one word, so nobody enters a page whose class is no longer what he saw.  (mallocMC's later rule is
 * to enter the page before looking at its cell size; the original looked first.)
 *
 * A word says all of a page but which cells of its fields are live, so a compare-exchange that finds the
 * same word again is right; the two counters of versions are for the sweep alone.
 *
 * Order.  Every change of a word is a compare-exchange or a fetch-and, -sub; only BUSY pages,
 * which are one thread's alone, are stored to.  A free clears its bit with release, uncounts
 * with release.  Lanes that free jointly sync before, so that the leader's releases are those of all, and
 * after, so that none goes on whose cell still looks taken.  A malloc takes cells with acquire, the word's
 * as well as the field's: what it reads is in the release sequence of each free of a cell there.  If the
 * page was empty in between, then of each free's uncounting (or clearing in the word), for that change of the
 * word was before the reset, which continues their release sequences.  A malloc that makes an empty page one
 * of fields holds it BUSY while it clears them, or lets its group clear them and syncs, and publishes it with
 * release.  Whoever counts there later acquires that.  He counts for several lanes, and some of them set bits
 * themselves: they sync with him before. */
#ifndef QUARRY_ALLOC_SCATTER_PAGE_H
#define QUARRY_ALLOC_SCATTER_PAGE_H

#include "quarry/core/bits.h"
#include "quarry/core/layout.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"
#include "quarry/simt/simt.h"

#define QUARRY_SCATTER_FLAT 32u        /* cells of a page without fields, at most */
#define QUARRY_SCATTER_MOST 1024u      /* and with */
#define QUARRY_SCATTER_FIELDS 32u      /* of a page, at most */
#define QUARRY_SCATTER_DEBUG_UNIT 128u /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_SCATTER_JOINT 8u        /* cells of a page, at least, for a warp to free them jointly */

#define QUARRY_SCATTER_EMPTY 0u /* classes */
#define QUARRY_SCATTER_BUSY 2045u
#define QUARRY_SCATTER_INNER 2046u
#define QUARRY_SCATTER_MULTI 2047u

#define QUARRY_SCATTER_CLASS_SHIFT 32
#define QUARRY_SCATTER_GENERATION ((uint64_t)1 << 43)
#define QUARRY_SCATTER_GENERATION_MASK ((uint64_t)0x3ff << 43)
#define QUARRY_SCATTER_TAKE ((uint64_t)1 << 53)
#define QUARRY_SCATTER_TAKES_MASK ((uint64_t)0x7ff << 53)
#define QUARRY_SCATTER_VERSIONS (QUARRY_SCATTER_TAKES_MASK | QUARRY_SCATTER_GENERATION_MASK)

struct quarry_scatter_table {
    uint32_t page_bytes; /* a multiple of `unit` */
    uint32_t unit;       /* bytes, 16, the alignment or 64, powers of two: cells are multiples of it */
    uint32_t in_page;    /* are the fields in the page? */
    uint32_t waste;      /* a request may get a cell so many times its size */
    uint32_t reset;      /* is a page whose last cell is freed empty again? */
    uint64_t *words;
    struct quarry_pages pages;
    unsigned char *fields; /* end of those of page 0 */
    uint64_t field_stride; /* bytes from page to page */
};

/* Which pages a request can use. */
struct quarry_scatter_request {
    uint32_t pages;       /* that it needs */
    uint32_t most, least; /* classes, if that is 1; most: what it makes of an empty page */
};

/* Cells that a lane took of a page, in two words to be handed to other lanes. */
struct quarry_scatter_taken {
    uint32_t what; /* the page's class << 16 | the first << 6 | how many, at most 32 */
    uint32_t low; /* a page of up to 32: a bit for each, and the first is 0; more: they are consecutive, but a
                   * bit is set for each that was taken already, and for which another is to be found */
};

/* ---- sizes ---- */

SIMT_FN uint32_t quarry_scatter_field_count(uint32_t class_)
{
    return (class_ + 31u) / 32u;
}

/* Bytes of a cell. */
SIMT_FN uint32_t quarry_scatter_cell_bytes(const struct quarry_scatter_table *h, uint32_t class_)
{
    uint32_t room = h->page_bytes;
    if (class_ > QUARRY_SCATTER_FLAT && h->in_page)
        room -= quarry_scatter_field_count(class_) * 4u;
    return quarry_divide_u32(room, class_) & (0u - h->unit);
}

/* How many cells of `size`, a multiple of the unit up to a page, a page has. */
SIMT_FN uint32_t quarry_scatter_class(const struct quarry_scatter_table *h, uint32_t size)
{
    uint32_t n = quarry_divide_u32(h->page_bytes, size);
    n = n < QUARRY_SCATTER_MOST ? n : QUARRY_SCATTER_MOST;
    while (n > QUARRY_SCATTER_FLAT && h->in_page &&
           n * size + quarry_scatter_field_count(n) * 4u > h->page_bytes)
        n--; /* fields have at most 128 bytes */
    return n;
}

SIMT_FN struct quarry_scatter_request quarry_scatter_ask(const struct quarry_scatter_table *h, uint64_t bytes)
{
    struct quarry_scatter_request q;
    q.pages = 1;
    q.most = 1;
    q.least = 1;
    if (bytes > h->page_bytes) {
        q.pages = quarry_page_count(&h->pages, bytes);
    } else {
        uint32_t size = ((uint32_t)bytes + h->unit - 1) & (0u - h->unit);
        /* A page of n cells wastes too much unless page_bytes / n < waste * size + unit. */
        uint64_t wide = (uint64_t)size * h->waste + h->unit;
        q.most = quarry_scatter_class(h, size);
        q.least = wide > h->page_bytes ? 1 : quarry_divide_u32(h->page_bytes, (uint32_t)wide) + 1;
        q.least = q.least < q.most ? q.least : q.most;
    }
    return q;
}

/* How many pages a whole warp fills, up to the next power of two; 0: less than one. */
SIMT_FN uint32_t quarry_scatter_fills(const struct quarry_scatter_request *q)
{
    return q->most <= SIMT_LANES ? SIMT_LANES >> (31u - simt_clz_u32(q->most)) : 0;
}

/* ---- words ---- */

SIMT_FN uint32_t quarry_scatter_class_of(uint64_t word)
{
    return (uint32_t)(word >> QUARRY_SCATTER_CLASS_SHIFT) & 0x7ffu;
}

SIMT_FN int quarry_scatter_is_empty(uint64_t word)
{
    return quarry_scatter_class_of(word) == QUARRY_SCATTER_EMPTY;
}

/* The same page as another class. */
SIMT_FN uint64_t quarry_scatter_word(uint64_t word, uint32_t class_, uint32_t low)
{
    return (word & QUARRY_SCATTER_VERSIONS) | (uint64_t)class_ << QUARRY_SCATTER_CLASS_SHIFT | low;
}

SIMT_FN uint64_t quarry_scatter_next_generation(uint64_t word)
{
    uint64_t next = (word + QUARRY_SCATTER_GENERATION) & QUARRY_SCATTER_GENERATION_MASK;
    return (word & ~QUARRY_SCATTER_GENERATION_MASK) | next;
}

/* Cells of a page up to 32 that are free. */
SIMT_FN uint32_t quarry_scatter_spare(uint32_t class_, uint32_t low)
{
    return ~low & (~0u >> (QUARRY_SCATTER_FLAT - class_));
}

/* How many cells a page has for a request of less than two pages. */
SIMT_FN uint32_t quarry_scatter_room(const struct quarry_scatter_request *q, uint64_t word)
{
    uint32_t class_ = quarry_scatter_class_of(word);
    if (class_ == QUARRY_SCATTER_EMPTY)
        return q->most;
    if (class_ < q->least || class_ > q->most)
        return 0;
    if (class_ <= QUARRY_SCATTER_FLAT)
        return simt_popc_u32(quarry_scatter_spare(class_, (uint32_t)word));
    /* Of more than there are cells for a moment: quarry_scatter_clear. */
    return (uint32_t)word < class_ ? class_ - (uint32_t)word : 0;
}

/* Are the page's cells larger than the request would make them? */
SIMT_FN int quarry_scatter_is_wasteful(const struct quarry_scatter_request *q, uint64_t word)
{
    return !quarry_scatter_is_empty(word) && quarry_scatter_class_of(word) != q->most;
}

/* What a sweep sums up: see alloc/scatter.h. */
SIMT_FN uint64_t quarry_scatter_number(const struct quarry_scatter_request *q, uint32_t page, uint64_t word)
{
    uint32_t class_ = quarry_scatter_class_of(word);
    if (q->pages > 1 || class_ < q->least || class_ > q->most)
        word &= ~QUARRY_SCATTER_TAKES_MASK;
    return quarry_mix_u32((uint32_t)(word >> 32) + page * 0x9e3779b9u);
}

/* Waits until the page is not BUSY.  Returns its word. */
SIMT_FN uint64_t quarry_scatter_await(const struct quarry_scatter_table *h, uint32_t page, uint64_t word)
{
    while (quarry_scatter_class_of(word) == QUARRY_SCATTER_BUSY) {
        simt_backoff();
        word = simt_load_u64(&h->words[page], relaxed);
    }
    return word;
}

/* ---- fields ---- */

SIMT_FN uint32_t *quarry_scatter_field(const struct quarry_scatter_table *h, uint32_t page, uint32_t i)
{
    return (uint32_t *)(void *)(h->fields + page * h->field_stride) - 1 - i;
}

/* What field i holds when no cell lives: bits past the last cell are set. */
SIMT_FN uint32_t quarry_scatter_field_value(uint32_t class_, uint32_t i)
{
    uint32_t past = class_ - 32u * i;
    return past < 32u ? ~0u << past : 0;
}

/* Sets the bits of `count` cells that have been counted, from `first` on.  Returns a bit for each that was
 * set already: it is another's. */
SIMT_FN uint32_t quarry_scatter_mark(const struct quarry_scatter_table *h, uint32_t page, uint32_t first,
                                     uint32_t count)
{
    uint32_t *field = quarry_scatter_field(h, page, first / 32u), bits = ~0u >> (32u - count);
    uint32_t low = bits << first % 32u, high = first % 32u ? bits >> (32u - first % 32u) : 0;
    uint32_t before = (low & ~quarry_bits_take(field, low)) >> first % 32u;
    if (high)
        before |= (high & ~quarry_bits_take(field - 1, high)) << (32u - first % 32u);
    return before;
}

/* Sets the bit of a cell that has been counted, the next that is free behind `near`, which is taken: lanes
 * that look at one field at once begin at different places.  Returns the cell. */
SIMT_FN uint32_t quarry_scatter_mark_any(const struct quarry_scatter_table *h, uint32_t page, uint32_t class_,
                                         uint32_t near)
{
    uint32_t i = near / 32u, fields = quarry_scatter_field_count(class_);
    for (;;) {
        uint32_t *field = quarry_scatter_field(h, page, i);
        uint32_t spare = ~simt_load_u32(field, relaxed), behind = spare & ~0u << near % 32u, bit;
        if (!spare) {
            i = i + 1 < fields ? i + 1 : 0;
            continue;
        }
        bit = simt_ctz_u32(behind ? behind : spare);
        if (quarry_bits_take(field, 1u << bit))
            return 32u * i + bit;
    }
}

/* ---- taking ---- */

SIMT_FN uint32_t quarry_scatter_taken_class(const struct quarry_scatter_taken *t)
{
    return t->what >> 16;
}

SIMT_FN uint32_t quarry_scatter_taken_count(const struct quarry_scatter_taken *t)
{
    return t->what & 0x3fu;
}

/* The lane of that rank in the group looked at page first + rank, and holds it BUSY if its `next` is not 0:
 * to make it a page of fields with that word, its first cells live.  The group writes the fields.
 *   all      lanes that call together
 *   group    those of them with the caller's first and class_
 *   class_   of the pages that the group holds
 * Scope: all; synced at return. */
SIMT_FN void quarry_scatter_divide(const struct quarry_scatter_table *h, uint32_t all, uint32_t group,
                                   uint32_t first, uint32_t class_, uint64_t next)
{
    uint32_t busy = simt_ballot(all, next != 0);
    if (busy) {
        uint32_t rank = simt_rank(group), width = simt_popc_u32(group), live = (uint32_t)next;
        uint32_t fields = quarry_scatter_field_count(class_);
        simt_sync(all); /* what those who hold pages acquired: fields lie where freed blocks lay */
        for (uint32_t rest = busy & group; rest; rest &= rest - 1u) {
            uint32_t page = first + simt_popc_u32(group & ((rest & (0u - rest)) - 1u));
            SIMT_ROLLED
            for (uint32_t i = rank + 1; i < fields; i += width)
                simt_store_u32(quarry_scatter_field(h, page, i), quarry_scatter_field_value(class_, i),
                               relaxed);
        }
        if (next) /* a warp takes no more than a field has */
            simt_store_u32(quarry_scatter_field(h, first + rank, 0), live < 32u ? (1u << live) - 1u : ~0u,
                           relaxed);
        simt_sync(all); /* for the release */
        if (next)
            simt_store_u64(&h->words[first + rank], next, release); /* pairs with the acquire of who counts */
    }
    simt_sync(all); /* who gets a cell, and may free it, must not find the page BUSY */
}

SIMT_FN uint32_t quarry_scatter_taken_first(const struct quarry_scatter_taken *t)
{
    return t->what >> 6 & 0x3ffu;
}

/* Takes up to `want` cells of the page, whose word was `word`, with room for that many.  Progress: a
 * compare-exchange fails because another's succeeded.
 *   *next   for quarry_scatter_divide, if the page is BUSY now; else untouched */
SIMT_FN struct quarry_scatter_taken quarry_scatter_take(const struct quarry_scatter_table *h,
                                                        const struct quarry_scatter_request *q, uint32_t page,
                                                        uint64_t word, uint32_t want, uint64_t *next)
{
    struct quarry_scatter_taken t = {0, 0};
    uint32_t count = want;
    while (count) {
        uint32_t low = (uint32_t)word, room;
        int was_empty = quarry_scatter_is_empty(word);
        uint32_t class_ = was_empty ? q->most : quarry_scatter_class_of(word);
        int flat = class_ <= QUARRY_SCATTER_FLAT, divides = was_empty && !flat;
        if (flat) {
            uint32_t spare = quarry_scatter_spare(class_, low);
            t.low = spare & (~0u >> (31u - quarry_kth_of_run_u32(spare, count)));
        }
        t.what = class_ << 16 | (flat ? 0 : low << 6) | count;
        uint64_t taken =
            quarry_scatter_word(word + QUARRY_SCATTER_TAKE, class_, flat ? low | t.low : low + count);
        if (was_empty)
            taken = quarry_scatter_next_generation(taken);
        uint64_t held = divides ? quarry_scatter_word(word, QUARRY_SCATTER_BUSY, 0) : taken;
        uint64_t seen = simt_cas_u64(&h->words[page], word, held, acquire); /* pairs with give_back */
        if (seen == word) {
            if (divides)
                *next = taken;
            else if (!flat)
                t.low = quarry_scatter_mark(h, page, quarry_scatter_taken_first(&t), count);
            break;
        }
        word = seen;
        t.what = t.low = 0;
        room = quarry_scatter_room(q, word);
        count = want < room ? want : room;
    }
    return t;
}

/* The cell number `order` of those that *t says. */
SIMT_FN unsigned char *quarry_scatter_cell(const struct quarry_scatter_table *h, uint32_t page,
                                           const struct quarry_scatter_taken *t, uint32_t order)
{
    uint32_t class_ = quarry_scatter_taken_class(t), cell = quarry_scatter_taken_first(t) + order;
    if (class_ <= QUARRY_SCATTER_FLAT)
        cell = quarry_kth_of_run_u32(t->low, order + 1);
    else if (t->low >> order & 1u)
        cell = quarry_scatter_mark_any(h, page, class_, cell);
    return (unsigned char *)quarry_page_address(&h->pages, page) +
           (uint64_t)cell * quarry_scatter_cell_bytes(h, class_);
}

/* Makes an empty page BUSY and the caller's.  Returns 0 if it is not empty. */
SIMT_FN int quarry_scatter_hold(const struct quarry_scatter_table *h, uint32_t page)
{
    uint64_t word = simt_load_u64(&h->words[page], relaxed);
    uint64_t busy = quarry_scatter_word(word, QUARRY_SCATTER_BUSY, 0);
    return quarry_scatter_is_empty(word) &&
           simt_cas_u64(&h->words[page], word, busy, acquire) == word; /* pairs with give_back */
}

/* Makes such a page empty again. */
SIMT_FN void quarry_scatter_let_go(const struct quarry_scatter_table *h, uint32_t page)
{
    uint64_t word = simt_load_u64(&h->words[page], relaxed);
    /* release: pairs with the acquire of who takes the page next, by quarry_scatter_hold or otherwise */
    simt_store_u64(&h->words[page], quarry_scatter_word(word, QUARRY_SCATTER_EMPTY, 0), release);
}

/* Makes such a page, or one of the caller's block, page i of a block of n. */
SIMT_FN void quarry_scatter_make_multi(const struct quarry_scatter_table *h, uint32_t page, uint32_t i,
                                       uint32_t n)
{
    uint64_t word = quarry_scatter_next_generation(simt_load_u64(&h->words[page], relaxed));
    word = i ? quarry_scatter_word(word, QUARRY_SCATTER_INNER, i)
             : quarry_scatter_word(word, QUARRY_SCATTER_MULTI, n);
    simt_store_u64(&h->words[page], word, relaxed);
}

/* ---- giving back ---- */

/* Makes a page that has no live cell any more empty, unless somebody entered it meanwhile. */
SIMT_FN void quarry_scatter_reset(const struct quarry_scatter_table *h, uint32_t page, uint64_t word)
{
    if (h->reset)
        simt_cas_u64(&h->words[page], word, quarry_scatter_word(word, QUARRY_SCATTER_EMPTY, 0), relaxed);
}

/* Frees the cells of those bits of a field, or, if that is NULL, of the page's word. */
SIMT_FN void quarry_scatter_clear(const struct quarry_scatter_table *h, uint32_t page, uint32_t *field,
                                  uint32_t bits)
{
    uint64_t word;
    if (field) {
        uint32_t given = quarry_bits_give(field, bits), count = simt_popc_u32(given);
        QUARRY_ASSERT_LIVE(given == bits); /* all, unless some were freed before */
        if (count == 0) /* freed before: the page may be another's by now, who holds it BUSY */
            return;
        word = simt_sub_u64(&h->words[page], count, release); /* pairs with quarry_scatter_take */
        if ((uint32_t)word < count) { /* likewise: what looked like a field was a block's content */
            (void)simt_add_u64(&h->words[page], count, relaxed);
            return;
        }
        word -= count;
    } else {
        word = simt_and_u64(&h->words[page], ~(uint64_t)bits, release); /* likewise */
        QUARRY_ASSERT_LIVE(((uint32_t)word & bits) == bits);
        if (!((uint32_t)word & bits)) /* likewise */
            return;
        word &= ~(uint64_t)bits;
    }
    if ((uint32_t)word == 0)
        quarry_scatter_reset(h, page, word);
}

/* Lanes that come together and whose cells have their bits in the same word or field give them back at once,
 * where a page has many.  Progress: waits for nobody else. */
SIMT_FN void quarry_scatter_give_back(const struct quarry_scatter_table *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    uint64_t word = page == QUARRY_NO_PAGE ? 0 : simt_load_u64(&h->words[page], relaxed);
    uint32_t class_ = quarry_scatter_class_of(word);
    if (class_ == QUARRY_SCATTER_MULTI) {
        if ((uint32_t)word > h->pages.count - page) /* for a moment, in quarry_scatter_clear */
            return;
        simt_fence(acq_rel); /* pairs with the acquire of those who take the pages */
        for (uint32_t i = (uint32_t)word; i > 0; i--)
            simt_and_u64(&h->words[page + i - 1], QUARRY_SCATTER_VERSIONS, fenced);
        return;
    }
    QUARRY_ASSERT_LIVE(class_ - 1u < QUARRY_SCATTER_MOST);
    if (class_ - 1u >= QUARRY_SCATTER_MOST) /* no block begins in the page */
        return;
    uint32_t offset =
        (uint32_t)((unsigned char *)block - (unsigned char *)quarry_page_address(&h->pages, page));
    uint32_t cell = quarry_divide_u32(offset, quarry_scatter_cell_bytes(h, class_));
    QUARRY_ASSERT_LIVE(cell < class_);
    if (cell >= class_)
        return;
    uint32_t *field = class_ <= QUARRY_SCATTER_FLAT ? SIMT_NULL : quarry_scatter_field(h, page, cell / 32u);
    uint32_t bits = 1u << cell % 32u;
    if (class_ < QUARRY_SCATTER_JOINT) {
        quarry_scatter_clear(h, page, field, bits);
        return;
    }
    uint32_t group = quarry_group(field ? (const void *)field : &h->words[page], QUARRY_SITE_SCATTER_FREE);
    bits = simt_reduce_or_u32(group, bits);
    QUARRY_ASSERT_LIVE(simt_popc_u32(bits) == simt_popc_u32(group));
    simt_sync(group); /* all have left their cells, for the releases */
    if (simt_lane() == simt_ctz_u32(group))
        quarry_scatter_clear(h, page, field, bits);
    simt_sync(group); /* who goes on, perhaps to malloc, has freed his */
}

/* The trim of alloc.h.  A cell stays as it is.  Of several pages those that stay get new words first: nobody
 * else changes the words of a live block.  One page that is left is a page of one cell. */
SIMT_FN void quarry_scatter_keep(const struct quarry_scatter_table *h, void *block, void *user,
                                 uint64_t bytes)
{
    uint32_t page = quarry_page_index(&h->pages, block), first = quarry_page_index(&h->pages, user);
    uint32_t end = quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1) + 1u;
    uint64_t word = simt_load_u64(&h->words[page], relaxed);
    uint32_t behind = page + (uint32_t)word;
    if (quarry_scatter_class_of(word) != QUARRY_SCATTER_MULTI || (first == page && end == behind))
        return;
    SIMT_ROLLED
    for (uint32_t i = end - first; i > 0; i--)
        quarry_scatter_make_multi(h, first + i - 1u, i - 1u, end - first);
    if (end - first == 1u)
        simt_store_u64(&h->words[first], quarry_scatter_word(simt_load_u64(&h->words[first], relaxed), 1, 1),
                       relaxed);
    simt_fence(acq_rel); /* pairs with the acquire of those who take the pages */
    SIMT_ROLLED
    for (uint32_t i = page; i < behind; i++)
        if (i < first || i >= end)
            simt_and_u64(&h->words[i], QUARRY_SCATTER_VERSIONS, fenced);
}

/* ---- looking ---- */

/* The find of alloc.h. */
SIMT_FN enum quarry_place quarry_scatter_find_cell(const struct quarry_scatter_table *h, const void *address,
                                                   struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span);
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    uint64_t word = simt_load_u64(&h->words[page], relaxed);
    uint32_t class_ = quarry_scatter_class_of(word), low = (uint32_t)word;
    uint32_t offset = (uint32_t)((const unsigned char *)address - span->begin);
    if (class_ == QUARRY_SCATTER_INNER && low <= page) {
        page -= low;
        word = simt_load_u64(&h->words[page], relaxed);
        if (quarry_scatter_class_of(word) == QUARRY_SCATTER_MULTI && (uint32_t)word > low) {
            span->begin = (unsigned char *)quarry_page_address(&h->pages, page);
            span->bytes = (uint32_t)word * h->pages.page_bytes;
            return QUARRY_PLACE_LIVE;
        }
    }
    if (class_ == QUARRY_SCATTER_MULTI) {
        span->bytes = low * h->pages.page_bytes;
        return QUARRY_PLACE_LIVE;
    }
    if (class_ - 1u < QUARRY_SCATTER_MOST) {
        uint32_t bytes = quarry_scatter_cell_bytes(h, class_), cell = quarry_divide_u32(offset, bytes);
        if (class_ > QUARRY_SCATTER_FLAT && cell < class_)
            low = simt_load_u32(quarry_scatter_field(h, page, cell / 32u), relaxed);
        if (cell < class_ && (low >> cell % 32u & 1u)) {
            span->begin += (uint64_t)cell * bytes;
            span->bytes = bytes;
            return QUARRY_PLACE_LIVE;
        }
    }
    span->begin += offset & (0u - h->unit);
    span->bytes = h->unit;
    return QUARRY_PLACE_FREE;
}

/* Adds to *sum what lives on a page that is not empty, and what is free there for the class that it has. */
SIMT_FN void quarry_scatter_count(const struct quarry_scatter_table *h, uint64_t word,
                                  struct quarry_census *sum)
{
    uint32_t class_ = quarry_scatter_class_of(word), low = (uint32_t)word;
    if (class_ == QUARRY_SCATTER_MULTI) {
        sum->live_blocks++;
        sum->live_bytes += low * h->pages.page_bytes;
    }
    if (class_ > QUARRY_SCATTER_MOST)
        return;
    uint32_t live = class_ <= QUARRY_SCATTER_FLAT ? simt_popc_u32(low) : low;
    uint64_t bytes = quarry_scatter_cell_bytes(h, class_);
    sum->live_blocks += live;
    sum->live_bytes += live * bytes;
    sum->free_bytes += (class_ - live) * bytes;
    if (live < class_ && sum->largest_free < bytes)
        sum->largest_free = bytes;
}

/* How often the structures of a page contradict themselves, in an idle heap. */
SIMT_FN uint32_t quarry_scatter_faults(const struct quarry_scatter_table *h, uint32_t page)
{
    uint64_t word = h->words[page];
    uint32_t class_ = quarry_scatter_class_of(word), low = (uint32_t)word, live = 0;
    if (class_ == QUARRY_SCATTER_EMPTY)
        return low != 0;
    if (class_ == QUARRY_SCATTER_MULTI)
        return low < 2 || low > h->pages.count - page ||
               quarry_scatter_class_of(h->words[page + low - 1]) != QUARRY_SCATTER_INNER;
    if (class_ == QUARRY_SCATTER_INNER)
        return low > page || quarry_scatter_class_of(h->words[page - low]) != QUARRY_SCATTER_MULTI ||
               (uint32_t)h->words[page - low] <= low;
    if (class_ > quarry_scatter_class(h, h->unit))
        return 1;
    if (class_ <= QUARRY_SCATTER_FLAT)
        return (h->reset && low == 0) || (low & ~(~0u >> (QUARRY_SCATTER_FLAT - class_))) != 0;
    for (uint32_t i = 0; i < quarry_scatter_field_count(class_); i++) {
        uint32_t past = quarry_scatter_field_value(class_, i), field = *quarry_scatter_field(h, page, i);
        live += simt_popc_u32(field & ~past);
        if (past & ~field)
            return 1;
    }
    return live != low || (h->reset && low == 0);
}

#endif
