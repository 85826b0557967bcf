/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: a chunk that an arena keeps for each class, of whose blocks its lanes get some by an addition.
 *
 *     span    63 ...... 32 | 31 ............ 0
 *             first page   | blocks that are gone     from NO_SPAN on: there is none; from OPENING on: it is being made
 *
 * Each arena has a word for each class.  Who makes a span takes a chunk from the buddy system, as anybody who wants so
 * many pages, makes all of its bins, and keeps them with all of their blocks: for bins, chunk and semaphores
 * (core/arenas.h) all of these are somebody's.  Then it writes the word.  Block i is block i % blocks of bin
 * i / blocks.  Lanes of a warp that want n blocks add n, and have those from the number on that they found there.
 * Blocks past the last are nobody's: who finds that some are gets the others, and makes the next span, or waits for who
 * does, or asks the semaphores.  A block that is freed goes the way of all blocks.  So a chunk that a span has used up
 * is a chunk as others.
 *
 * Is it worth it?  No span begins where the arena has blocks of the class to spare, or many bins; nor in a heap that
 * lacks chunks, until one has come back.
 *
 * Closing.  What is left of a span can be given back: a compare-exchange of the word takes it, blocks of a bin that
 * was begun are freed, and bins that were not are freed as blocks of their chunk.  That is done before anybody is
 * refused, before anybody asks a heap that lacks chunks, and by settle.
 *
 * NULL is exact.  A span is a flight, as core/flights.h has them: it begins before its chunk is taken, and ends when
 * its last block is taken or has been given back.  Who is refused has read before it asked, by an acquire, that no
 * span is under way, and how many have begun.  Spans that had ended had released that, so what they gave back was
 * there for who asked.  If after the refusal, by an addition of 0 that releases, as many have begun, then whoever
 * begins one later acquires that, and takes its chunk after the refusal.  So from the first look to the second no
 * span had anything, and the argument of core/arenas_take.h, or of core/buddy.h, holds.  Else it sets `shut`, so that
 * soon no others begin; closes all spans, waits until none is under way, and asks again.  It asks again only because
 * somebody has had a span meanwhile.  (2^32 spans that begin during one ask aside.)
 *
 * Nobody waits for ever.  Who waits for a span to be made or closed holds no units, announcements, locks or read
 * sections.  Who makes one waits in the buddy system only.  Who closes one waits as a free does.
 *
 * Order.  The store of the word releases the heads of chunk and bins, and what was acquired with the chunk.  All
 * changes of the word until the next store are read-modify-writes, so each addition, which acquires, reads of that
 * release sequence.  An addition that comes late, to a word that says none, gets nothing, and the next store forgets
 * it.  Who closes acquires likewise. */
#ifndef QUARRY_CORE_SPANS_H
#define QUARRY_CORE_SPANS_H

#include "quarry/core/arenas_take.h"

#define QUARRY_SPANS_OPENING ((uint64_t)3 << 30)
#define QUARRY_SPANS_MAKE (SIMT_LANES + 1u) /* in place of a number of blocks */
#define QUARRY_SPANS_CHUNKS 2u /* an arena that has the bins of so many chunks to spare begins no span */
SIMT_STATIC_ASSERT((QUARRY_BIN_BLOCKS_MOST << QUARRY_BIN_CHUNK_LOG_MOST) + QUARRY_SEMAPHORE_LANES <
                       QUARRY_ARENAS_NO_SPAN / 2,
                   "additions that come late change nothing but the count");

/* What a group does. */
enum quarry_spans_step {
    QUARRY_SPANS_BEGINS,
    QUARRY_SPANS_TAKES, /* blocks of its arena's span */
    QUARRY_SPANS_MAKES, /* a span; its leader takes the chunk */
    QUARRY_SPANS_ASKS,  /* for blocks of bins: quarry_arenas_go_on */
    QUARRY_SPANS_ASKED  /* or has been asking for blocks of pages */
};

/* What a group knows of its malloc.  Volatile, as struct quarry_arenas_ask is. */
struct quarry_spans_need {
    struct quarry_arenas_ask ask; /* its class is the kind: a class, or QUARRY_ARENAS_CLASSES and an order */
    uint32_t group;
    uint32_t step;
    uint32_t takers; /* lanes that are to take pages */
    uint32_t page;   /* what the lane has taken, or QUARRY_NO_PAGE */
    uint32_t before; /* spans that had begun before the group asked; or one less, if some were under way */
};

/* Blocks of a span. */
SIMT_FN uint32_t quarry_spans_blocks(const struct quarry_arenas *h, uint32_t class_)
{
    return quarry_bin_blocks(&h->shape, class_) * quarry_bin_count(&h->shape);
}

/* Ends a span.  release: pairs with the acquires in quarry_spans_close_all and quarry_spans_ask */
SIMT_FN void quarry_spans_end(const struct quarry_arenas *h)
{
    (void)simt_sub_u64(&h->spans->flights, 1u, release);
}

/* ---- taking ---- */

/* May the arena begin a span?  All of it is for thrift only. */
SIMT_FN int quarry_spans_may_begin(const struct quarry_arenas *h, uint32_t arena, uint32_t class_)
{
    const struct quarry_arena_list *list = h->arena[arena].list;
    return simt_load_u64(&h->spans->shut, relaxed) == 0 &&
           (int64_t)simt_load_u64(&list[class_].spare, relaxed) <= 0 &&
           (int64_t)simt_load_u64(&list[h->shape.classes].spare, relaxed) <
               (int64_t)(QUARRY_SPANS_CHUNKS * quarry_bin_count(&h->shape));
}

/* The leader has a chunk for a span, or, if `page` is QUARRY_NO_PAGE, gets none.  It has set OPENING.
 * Returns whether the span is to be made; else the word says that there is none. */
SIMT_FN int quarry_spans_got(const struct quarry_arenas *h, uint32_t arena, uint32_t class_, uint32_t page)
{
    if (page == QUARRY_NO_PAGE) {
        simt_store_u64(&h->spans->shut, 1u, relaxed);
        simt_store_u64(&h->arena[arena].span[class_], QUARRY_ARENAS_NO_SPAN, relaxed);
        quarry_spans_end(h);
        return 0;
    }
    quarry_arenas_make_chunk(h, arena, page, quarry_bin_count(&h->shape));
    return 1;
}

/* The leader looks for n blocks of an arena's span.
 *   at   out: the span, and the number of the first block
 * Returns how many it got.  0: the arena has none.  QUARRY_SPANS_MAKE: the leader is to take a chunk for a span. */
SIMT_FN uint32_t quarry_spans_next(const struct quarry_arenas *h, uint32_t arena, uint32_t class_, uint32_t n,
                                   uint64_t *at)
{
    uint64_t *span = &h->arena[arena].span[class_];
    uint32_t total = quarry_spans_blocks(h, class_);
    for (;;) {
        uint64_t word = simt_load_u64(span, relaxed);
        if ((uint32_t)word < total) {
            *at = simt_add_u64(span, n, acquire); /* pairs with the release in quarry_spans_make */
            uint32_t got = quarry_semaphore_part((int64_t)total - (uint32_t)*at, n);
            if (got && (uint32_t)*at + n >= total)
                quarry_spans_end(h);
            if (got)
                return got;
        } else if ((uint32_t)word >= QUARRY_SPANS_OPENING) {
            simt_backoff();
        } else if (!quarry_spans_may_begin(h, arena, class_)) {
            return 0;
        } else if (simt_cas_u64(span, word, QUARRY_SPANS_OPENING, relaxed) == word) {
            /* acquire: pairs with the release in quarry_spans_is_proof; the chunk is taken after that */
            (void)simt_add_u64(&h->spans->flights, QUARRY_ARENAS_SPAN + 1u, acquire);
            return QUARRY_SPANS_MAKE;
        }
    }
}

/* Makes the bins of a span, and then the word.
 *   at    in the word, but for the blocks that are gone
 *   got   of its blocks, that the group keeps
 * Scope: group, reconverged. */
SIMT_FN void quarry_spans_make(const struct quarry_arenas *h, uint32_t group, uint32_t arena, uint32_t class_,
                               uint64_t at, uint32_t got)
{
    uint32_t bins = quarry_bin_count(&h->shape), blocks = quarry_bin_blocks(&h->shape, class_);
    simt_sync(group); /* what the leader acquired with the chunk holds for all */
    SIMT_ROLLED
    for (uint32_t i = simt_rank(group); i < bins; i += simt_popc_u32(group)) {
        uint32_t page = (uint32_t)(at / QUARRY_ARENAS_SPAN) + h->shape.heads + i;
        quarry_bin_make(quarry_arenas_bin(h, page), page, class_, arena, blocks, blocks);
    }
    simt_sync(group); /* bins are made */
    if (simt_rank(group) != 0)
        return;
    /* release: pairs with the acquires in quarry_spans_next and quarry_spans_take_rest */
    simt_store_u64(&h->arena[arena].span[class_], at + got, release);
    if (got == bins * blocks)
        quarry_spans_end(h);
}

/* Gives lanes of a group blocks of their arena's span, or of the next; as many as there are.
 *   makes   did the last call say that the leader is to take a chunk?
 *   page    then, which it has taken
 * Returns whether the leader is to take a chunk.
 * Scope: group, reconverged.  Progress: waits for who makes the span.  Order: acquire, for the whole group. */
SIMT_FN int quarry_spans_take(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                              uint32_t group, int makes, uint32_t page)
{
    uint32_t class_ = a->class_, own = quarry_arenas_own(h), leader = simt_ctz_u32(group), needs;
    for (; (needs = a->needs) != 0; makes = 0) {
        uint32_t n = simt_popc_u32(needs), got = 0;
        uint64_t at = page * QUARRY_ARENAS_SPAN;
        if (simt_lane() == leader)
            got = makes ? (uint32_t)quarry_spans_got(h, own, class_, page)
                        : quarry_spans_next(h, own, class_, n, &at);
        got = simt_shuffle_u32(group, got, leader);
        at = simt_shuffle_u64(group, at, leader);
        if (got == 0 || got == QUARRY_SPANS_MAKE)
            return got != 0;
        if (makes) {
            uint32_t total = quarry_spans_blocks(h, class_);
            got = n < total ? n : total;
            quarry_spans_make(h, group, own, class_, at, got);
        }
        simt_sync(group); /* what the leader acquired holds for all */
        uint32_t i = simt_rank(needs), blocks = quarry_bin_blocks(&h->shape, class_);
        int served = (needs >> simt_lane() & 1u) && i < got;
        i += (uint32_t)at;
        if (served)
            a->block = quarry_arenas_address(
                h, (uint32_t)(at / QUARRY_ARENAS_SPAN) + h->shape.heads + i / blocks, class_, i % blocks);
        a->needs = needs & ~simt_ballot(group, served);
    }
    return 0;
}

/* ---- closing ---- */

/* Gives back blocks of a span: all that are left.
 *   word   of the span */
SIMT_FN void quarry_spans_give(const struct quarry_arenas *h, uint32_t class_, uint64_t word)
{
    uint32_t first = (uint32_t)(word / QUARRY_ARENAS_SPAN), at = (uint32_t)word;
    uint32_t blocks = quarry_bin_blocks(&h->shape, class_), bins = quarry_bin_count(&h->shape);
    uint32_t begun = at / blocks, in = at % blocks, whole = begun + (in != 0);
    struct quarry_bin *bin = quarry_arenas_bin(h, first + h->shape.heads + begun);
    struct quarry_bin *chunk = quarry_arenas_bin(h, first);
    SIMT_ROLLED
    for (uint32_t i = in / 32u; in && i * 32u < blocks; i++) {
        uint32_t left = quarry_bin_below(blocks, i) & ~quarry_bin_below(in, i);
        /* release: pairs with the acquire in quarry_bin_take */
        (void)simt_and_u32(&bin->used[i], ~left, release);
    }
    bin = in ? quarry_arenas_given(h, bin, blocks - in, 0) : SIMT_NULL;
    SIMT_ROLLED
    for (uint32_t i = whole / 32u; i * 32u < bins; i++) {
        uint32_t left = quarry_bin_below(bins, i) & ~quarry_bin_below(whole, i);
        (void)simt_and_u32(&chunk->used[i], ~left, release); /* likewise */
    }
    chunk = whole < bins ? quarry_arenas_given(h, chunk, bins - whole, 0) : SIMT_NULL;
    simt_assert(!bin || !chunk); /* a chunk that lacks the bin is not all free */
    if (bin || chunk)
        quarry_arenas_retire_all(h, bin ? bin : chunk);
}

/* Takes what is left of a span.
 *   word   out: of the span
 * Returns whether there was something. */
SIMT_FN int quarry_spans_take_rest(const struct quarry_arenas *h, uint32_t arena, uint32_t class_,
                                   uint64_t *word)
{
    uint64_t *span = &h->arena[arena].span[class_], seen = simt_load_u64(span, relaxed);
    uint32_t total = class_ < h->shape.classes ? quarry_spans_blocks(h, class_) : 0;
    do {
        *word = seen;
        if ((uint32_t)seen >= total)
            return 0;
        /* acquire: pairs with the release in quarry_spans_make */
        seen = simt_cas_u64(span, seen, seen - (uint32_t)seen + total, acquire);
    } while (seen != *word);
    return 1;
}

/* Closes all spans, and waits until none is under way.  Each lane of the group looks at some of them.
 *   h   the copy in the pool
 * Scope: group, reconverged.  The caller holds nothing.  Order: acquire, for the whole group. */
SIMT_FN void quarry_spans_close_all(const struct quarry_arenas *h, uint32_t group)
{
    uint32_t spans = h->count * QUARRY_ARENAS_CLASSES, i = simt_rank(group);
    /* acquire: pairs with the release in quarry_spans_end */
    while (simt_any(group, (uint32_t)simt_load_u64(&h->spans->flights, acquire) != 0)) {
        uint64_t word = 0;
        int found = 0;
        SIMT_ROLLED
        for (; i < spans && !found; i += simt_popc_u32(group)) {
            uint32_t class_ = i % QUARRY_ARENAS_CLASSES;
            found = quarry_spans_take_rest(h, i / QUARRY_ARENAS_CLASSES, class_, &word);
            if (found) {
                quarry_spans_give(h, class_, word);
                quarry_spans_end(h); /* and not before: who wants a larger block does not see bins */
            }
        }
        if (!simt_any(group, found)) {
            i = simt_rank(group);
            simt_backoff();
        }
    }
}

/* ---- asking ---- */

/* Lanes are about to ask.  In a heap that lacks chunks they close all spans before: what they want is in one, or
 * nowhere.  Scope: group, reconverged. */
SIMT_FN void quarry_spans_ask(const struct quarry_arenas *h, volatile struct quarry_spans_need *n,
                              uint32_t group)
{
    if (h->open) {
        if (simt_any(group, simt_load_u64(&h->spans->shut, relaxed) != 0))
            quarry_spans_close_all(h, group);
        /* Full heap, acquire: spans that had ended before had given back what they had. */
        uint64_t flights = simt_load_u64(&h->spans->flights, acquire);
        n->before = (uint32_t)(flights / QUARRY_ARENAS_SPAN) - ((uint32_t)flights != 0);
        simt_sync(group); /* whichever lane asks */
    }
    n->step = QUARRY_SPANS_ASKS;
    if (n->ask.class_ < QUARRY_ARENAS_CLASSES) {
        quarry_arenas_start(&n->ask);
    } else {
        n->takers = n->ask.needs;
        n->step = QUARRY_SPANS_ASKED;
    }
}

/* Lanes have asked, and some got nothing.
 * Returns whether these are refused: no span had anything meanwhile.  Scope: group, reconverged. */
SIMT_FN int quarry_spans_is_proof(const struct quarry_arenas *h, uint32_t group, uint32_t before)
{
    int proof = !h->open;
    simt_sync(group); /* who was refused, and then the addition */
    if (h->open && simt_rank(group) == 0) {
        /* Full heap, release: whoever begins a span after this addition takes its chunk after the refusal. */
        proof = simt_add_u64(&h->spans->flights, 0, release) / QUARRY_ARENAS_SPAN == before;
        if (!proof)
            simt_store_u64(&h->spans->shut, 1u, relaxed);
    }
    return simt_any(group, proof);
}

/* Goes on until all lanes of a group have a block or NULL, or it is to ask for blocks of bins, or some are to take
 * pages: n->step and n->takers.
 * Returns whether that is so.  Scope: group, reconverged. */
SIMT_NOINLINE_FN int quarry_spans_go_on(const struct quarry_arenas *h, volatile struct quarry_spans_need *n)
{
    uint32_t group = n->group, step = n->step;
    n->takers = group & (0u - group);
    if (step == QUARRY_SPANS_ASKS)
        return 1;
    if (step == QUARRY_SPANS_TAKES || step == QUARRY_SPANS_MAKES) {
        n->step = QUARRY_SPANS_MAKES;
        if (quarry_spans_take(h, &n->ask, group, step == QUARRY_SPANS_MAKES, n->page))
            return 1;
    } else if (step == QUARRY_SPANS_ASKED) {
        if (n->ask.class_ >= QUARRY_ARENAS_CLASSES && n->page != QUARRY_NO_PAGE)
            n->ask.block = quarry_page_address(&h->pages, n->page);
        n->ask.needs = simt_ballot(group, n->ask.block == SIMT_NULL);
        if (n->ask.needs && quarry_spans_is_proof(h, group, n->before))
            n->ask.needs = 0;
    }
    n->page = QUARRY_NO_PAGE;
    if (n->ask.needs == 0)
        return 0;
    quarry_spans_ask(h, n, group);
    return 1;
}

/* A block for each lane of the group, or NULL.  What it calls is out of line and does not call: then each comes on top
 * of few registers.
 *   h      the copy in the pool
 *   kind   a class, or QUARRY_ARENAS_CLASSES and the order of a block of pages
 * Scope: group, reconverged.  Progress: waits for lanes that make what it needs. */
SIMT_FN void *quarry_spans_malloc(const struct quarry_arenas *h, uint32_t group, uint32_t kind)
{
    volatile struct quarry_spans_need n;
    n.ask.class_ = kind;
    n.ask.needs = group;
    n.ask.block = SIMT_NULL;
    n.group = group;
    n.page = QUARRY_NO_PAGE;
    n.step = h->open && kind < QUARRY_ARENAS_CLASSES ? QUARRY_SPANS_TAKES : QUARRY_SPANS_BEGINS;
    while (quarry_spans_go_on(h, &n)) {
        if (n.step == QUARRY_SPANS_ASKS && !quarry_arenas_go_on(h, &n.ask, n.group, n.page)) {
            n.step = QUARRY_SPANS_ASKED;
            n.takers = 0;
        }
        n.page = QUARRY_NO_PAGE;
        if (n.takers >> simt_lane() & 1u)
            n.page = quarry_arenas_take_pages(h, n.takers,
                                              n.ask.class_ < QUARRY_ARENAS_CLASSES
                                                  ? h->shape.chunk_log
                                                  : n.ask.class_ - QUARRY_ARENAS_CLASSES);
    }
    return n.ask.block;
}

#endif
