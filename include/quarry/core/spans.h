/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: memory of which lanes get blocks of one kind by an addition.
 *
 *     span    63 ...... 32 | 31 ............ 0
 *             first page   | blocks that are gone     from NO_SPAN on: there is none; from OPENING on: it is being made
 *
 * A kind is a class of blocks of bins, or an order of blocks of pages that is at most a chunk's.  Each arena has a
 * word for each class, whose span is a chunk.  The first arenas, the places, have a word for each such order, too,
 * for themselves and others, whose span is a block of 2^span_log pages.  Who makes a span takes these from the buddy
 * system, as anybody who wants so many pages.
 *   - Of a class: it makes all bins of the chunk, and keeps them with all of their blocks: for bins, chunk and
 *     semaphores (core/arenas.h) all of these are somebody's.  Block i is block i % blocks of bin i / blocks.  The
 *     chunk is a block of a span of chunks, if there is one or can be one.
 *   - Of pages: it makes the node of the tree BUSY, as all below are: like the node of a block that is divided and
 *     full.
 * Then it writes the word.  Lanes of a warp that want n blocks add n, and have those from the number on that they
 * found there.  Blocks past the last are nobody's: who finds that some are gets the others, and makes the next span,
 * or waits for who does, or asks the semaphores.  Who has got blocks of pages makes their nodes TAKEN.  A block that
 * is freed goes the way of all blocks.  So a chunk that a span has used up is a chunk as others, and pages are
 * pages.
 *
 * Is it worth it?  No span of a class begins where the arena has more blocks of the class to spare than a bin and a
 * warp have, or many bins; nor in a heap that lacks chunks, until one has come back.  (With fewer none would begin for
 * long: of the bin where a span has got to, what was given back is listed, and can't be retired before the span goes
 * on.)  None of pages begins where the buddy system has as many such blocks as the spans of all places, or where few
 * blocks are left that spans are made of.
 *
 * Closing.  What is left of a span can be given back: a compare-exchange of the word takes it.  Of a class, blocks
 * of a bin that was begun are freed, and bins that were not are freed as blocks of their chunk.  Of pages, the rest
 * is a few blocks that are each as large as can be: TAKEN, and then given.  That is done before anybody is refused,
 * before anybody asks a heap that lacks chunks, and by settle.
 *
 * Nodes.  BUSY and TAKEN are the same for all nodes above.  So who makes one TAKEN that was BUSY, or the other way
 * round, needs no lock, and changes its word by an OR or an AND: who is about to change that word by a
 * compare-exchange tries again.  No search comes to pages of a span that nobody has got, as nothing of them is
 * PARTIAL or AVAILABLE; no merge has them, as they are nobody's; no free finds a block there, as none is TAKEN.  Who
 * has all nodes of a word, and writes it without looking, has no such pages in it.
 *
 * NULL is exact.  A span is a flight, as core/flights.h has them: it begins before its pages are taken, also if
 * these are of another span, and ends when its last block is taken or has been given back.  Who is refused has read
 * before it asked, by an acquire, that no span is under way, and how many have begun.  Spans that had ended had
 * released that, so what they gave back was there for who asked.  If after the refusal, by an addition of 0 that
 * releases, as many have begun, then whoever begins one later acquires that, and takes its pages after the refusal.
 * So from the first look to the second no span had anything, and the argument of core/arenas_take.h, or of
 * core/buddy.h, holds.  Else it is a closer until it has a block or NULL, and none begin while there are closers.  It
 * closes all spans, waits until none is under way, and asks again.  Only who looked for closers before can still
 * begin one.  So it neither waits nor asks again for long, whatever others malloc meanwhile.  (2^32 spans that begin
 * during one ask aside.)
 *
 * Nobody waits for ever.  Who waits for a span to be made or closed holds no units, announcements, locks or read
 * sections.  Who makes one of a class may wait for who makes one of chunks; who makes one of pages waits in the
 * buddy system only.  Who closes one waits as a free does.
 *
 * Order.  The store of the word releases the heads of chunk and bins, and what was acquired with the pages.  All
 * changes of the word until the next store are read-modify-writes, so each addition, which acquires, reads of that
 * release sequence.  An addition that comes late, to a word that says none, gets nothing, and the next store forgets
 * it.  Who closes acquires likewise.  Changes of nodes are relaxed: who has got a block knows by the addition that
 * its node was BUSY and that the words below are; and who gives it has its address from the lane that made it TAKEN,
 * or by a sync from another lane of its group.  */
#ifndef QUARRY_CORE_SPANS_H
#define QUARRY_CORE_SPANS_H

#include "quarry/core/arenas_take.h"

#define QUARRY_SPANS_OPENING ((uint64_t)3 << 30)
#define QUARRY_SPANS_MAKE (SIMT_LANES + 1u) /* in place of a number of blocks: pages are to be taken */
#define QUARRY_SPANS_NEW (SIMT_LANES + 2u)  /* likewise: the group is to make a span */
#define QUARRY_SPANS_NOTHING 0xffffffffu    /* no kind */
#define QUARRY_SPANS_CHUNKS 2u /* an arena that has the bins of so many chunks to spare begins no span */
#define QUARRY_SPANS_PLENTY                                                                                  \
    2u /* spans of pages that the heap has room for, for each place, where one begins */
SIMT_STATIC_ASSERT((QUARRY_BIN_BLOCKS_MOST << QUARRY_BIN_CHUNK_LOG_MOST) + QUARRY_SEMAPHORE_LANES <
                       QUARRY_ARENAS_NO_SPAN / 2,
                   "additions that come late change nothing but the count");

/* What a group does. */
enum quarry_spans_step {
    QUARRY_SPANS_BEGINS,
    QUARRY_SPANS_TAKES, /* blocks of a span; or its leader is to take pages for one */
    QUARRY_SPANS_ASKS,  /* for blocks of bins: quarry_arenas_go_on */
    QUARRY_SPANS_ASKED  /* or has been asking for blocks of pages */
};

/* What a group knows of its malloc.  Volatile, as struct quarry_arenas_ask is. */
struct quarry_spans_need {
    struct quarry_arenas_ask ask; /* its class is the kind: a class, or QUARRY_ARENAS_CLASSES and an order */
    uint32_t group;
    uint32_t takers; /* lanes that are to take pages */
    uint32_t made;   /* the leader's: the kind of span that they are for, or QUARRY_SPANS_NOTHING */
    uint32_t page;   /* what the lane has taken, or QUARRY_NO_PAGE */
    uint32_t before; /* spans that had begun before the group asked; or one less, if some were under way */
    uint8_t step;
    uint8_t order;  /* of the pages that are to be taken */
    uint8_t closes; /* is the group a closer? */
};

/* Blocks of a span of that kind; 0: there are no such spans. */
SIMT_FN uint32_t quarry_spans_blocks(const struct quarry_arenas *h, uint32_t kind)
{
    if (kind < h->shape.classes)
        return quarry_bin_blocks(&h->shape, kind) * quarry_bin_count(&h->shape);
    kind -= QUARRY_ARENAS_CLASSES; /* of a class that there is not: more than any order */
    return kind < h->orders ? 1u << (h->span_log - kind) : 0;
}

/* The span that the caller looks at. */
SIMT_FN uint64_t *quarry_spans_own(const struct quarry_arenas *h, uint32_t kind)
{
    uint32_t arena = quarry_arenas_own(h);
    if (kind >= QUARRY_ARENAS_CLASSES)
        arena %= h->places;
    return &h->arena[arena].span[kind];
}

/* Ends a span.  release: pairs with the acquires in quarry_spans_close_all and quarry_spans_ask */
SIMT_FN void quarry_spans_end(const struct quarry_arenas *h)
{
    (void)simt_sub_u64(&h->spans->flights, 1u, release);
}

/* ---- taking ---- */

/* May a span of blocks of pages begin: are few such blocks there, and many that spans are made of? */
SIMT_FN int quarry_spans_are_due(const struct quarry_arenas *h, uint32_t order)
{
    const struct quarry_semaphore *units = h->buddy.units;
    int64_t blocks = (int64_t)h->places << (h->span_log - order), large = 0;
    SIMT_ROLLED
    for (uint32_t k = h->buddy.top; k >= h->span_log && large < QUARRY_SPANS_PLENTY * h->places; k--)
        large -= quarry_semaphore_uncovered(simt_load_u64(&units[k].balance, relaxed)) *
                 ((int64_t)1 << (k - h->span_log));
    if (large < QUARRY_SPANS_PLENTY * h->places ||
        quarry_semaphore_free(simt_load_u64(&units[order].balance, relaxed)) >= blocks)
        return 0;
    if (simt_load_u64(&h->spans->shut, relaxed))
        simt_store_u64(&h->spans->shut, 0, relaxed);
    return 1;
}

/* May a span begin?  All of it is for thrift only. */
SIMT_FN int quarry_spans_may_begin(const struct quarry_arenas *h, uint32_t kind)
{
    const struct quarry_arena_list *list = h->arena[quarry_arenas_own(h)].list;
    if (kind >= QUARRY_ARENAS_CLASSES)
        return simt_load_u64(&h->spans->closers, relaxed) == 0 &&
               quarry_spans_are_due(h, kind - QUARRY_ARENAS_CLASSES);
    /* All are under way at once. */
    uint64_t never = simt_load_u64(&h->spans->closers, relaxed) | simt_load_u64(&h->spans->shut, relaxed);
    int64_t spare = (int64_t)simt_load_u64(&list[kind].spare, relaxed);
    int64_t bins = (int64_t)simt_load_u64(&list[h->shape.classes].spare, relaxed);
    return never == 0 && spare < (int64_t)quarry_bin_blocks(&h->shape, kind) + SIMT_LANES &&
           bins < (int64_t)(QUARRY_SPANS_CHUNKS * quarry_bin_count(&h->shape));
}

/* A leader looks for n blocks of a span.
 *   at   out: the span, and the number of the first block
 * Returns how many it got.  0: there is none.  QUARRY_SPANS_MAKE: the leader is to make it. */
SIMT_FN uint32_t quarry_spans_next(const struct quarry_arenas *h, uint32_t kind, uint32_t n, uint64_t *at)
{
    uint64_t *span = quarry_spans_own(h, kind);
    uint32_t total = quarry_spans_blocks(h, kind);
    for (;;) {
        uint64_t word = simt_load_u64(span, relaxed);
        if ((uint32_t)word < total) {
            *at = simt_add_u64(span, n, acquire); /* pairs with the releases of who makes a span */
            uint32_t got = quarry_semaphore_part((int64_t)total - (uint32_t)*at, n);
            if (got && (uint32_t)*at + n >= total)
                quarry_spans_end(h);
            if (got)
                return got;
        } else if ((uint32_t)word >= QUARRY_SPANS_OPENING) {
            simt_backoff();
        } else if (!quarry_spans_may_begin(h, kind)) {
            return 0;
        } else if (simt_cas_u64(span, word, QUARRY_SPANS_OPENING, relaxed) == word) {
            /* acquire: pairs with the release in quarry_spans_is_proof; the pages are taken after that */
            (void)simt_add_u64(&h->spans->flights, QUARRY_ARENAS_SPAN + 1u, acquire);
            return QUARRY_SPANS_MAKE;
        }
    }
}

/* Lanes of a group have got blocks of pages: these are TAKEN now.
 *   has   has the caller? */
SIMT_FN void quarry_spans_mark(const struct quarry_arenas *h, uint32_t group, int has, uint32_t order,
                               uint32_t page)
{
    const struct quarry_buddy *b = &h->buddy;
    uint32_t w = has ? quarry_buddy_word(b, order, page >> order) : ~0u;
    uint32_t same = simt_match_u32(group, w);
    uint32_t nodes = simt_reduce_or_u32(same, has ? 1u << quarry_buddy_node(order, page >> order) : 0);
    if (has && simt_rank(same) == 0)
        (void)simt_or_u64(&b->word[w], quarry_buddy_fields(nodes), relaxed);
}

/* Writes the word of a span of pages.  None of them is TAKEN, so nobody can free them.
 *   got   of its blocks, that the caller keeps */
SIMT_FN void quarry_spans_make_pages(const struct quarry_arenas *h, uint32_t kind, uint32_t page,
                                     uint32_t got)
{
    const struct quarry_buddy *b = &h->buddy;
    uint32_t index = page >> h->span_log, node = quarry_buddy_node(h->span_log, index);
    (void)simt_and_u64(&b->word[quarry_buddy_word(b, h->span_log, index)], ~quarry_buddy_fields(1u << node),
                       relaxed);
    /* release: pairs with the acquires in quarry_spans_next and quarry_spans_take_rest */
    simt_store_u64(quarry_spans_own(h, kind), page * QUARRY_ARENAS_SPAN + got, release);
    if (got == quarry_spans_blocks(h, kind))
        quarry_spans_end(h);
}

/* Makes the bins of a span, and then the word.
 *   at    in the word, but for the blocks that are gone
 *   got   of its blocks, that the group keeps
 * Scope: group, reconverged. */
SIMT_FN void quarry_spans_make_bins(const struct quarry_arenas *h, uint32_t group, uint32_t class_,
                                    uint64_t at, uint32_t got)
{
    uint32_t bins = quarry_bin_count(&h->shape), blocks = quarry_bin_blocks(&h->shape, class_);
    simt_sync(group); /* what the leader acquired with the chunk holds for all */
    SIMT_ROLLED
    for (uint32_t i = simt_rank(group); i < bins; i += simt_popc_u32(group)) {
        uint32_t page = (uint32_t)(at / QUARRY_ARENAS_SPAN) + h->shape.heads + i;
        quarry_bin_make(quarry_arenas_bin(h, page), page, class_, quarry_arenas_own(h), blocks, blocks);
    }
    simt_sync(group); /* bins are made */
    if (simt_rank(group) != 0)
        return;
    /* release: pairs with the acquires in quarry_spans_next and quarry_spans_take_rest */
    simt_store_u64(quarry_spans_own(h, class_), at + got, release);
    if (got == bins * blocks)
        quarry_spans_end(h);
}

/* The leader has no pages for a span.  It has set OPENING. */
SIMT_FN void quarry_spans_lack(const struct quarry_arenas *h, uint32_t kind)
{
    if (kind < QUARRY_ARENAS_CLASSES)
        simt_store_u64(&h->spans->shut, 1u, relaxed);
    simt_store_u64(quarry_spans_own(h, kind), QUARRY_ARENAS_NO_SPAN, relaxed);
    quarry_spans_end(h);
}

/* The leader looks for blocks for the group.  If it is to make a span of a class, it looks for a chunk in a span of
 * chunks, which it may have to make before.
 *   wanted   of them
 *   at       out: the span, and the number of the first block
 * Returns how many it got.  0: there is no span.  QUARRY_SPANS_NEW: the group is to make one.  QUARRY_SPANS_MAKE: the
 * leader is to take pages, and to come back with them. */
SIMT_FN uint32_t quarry_spans_lead(const struct quarry_arenas *h, volatile struct quarry_spans_need *n,
                                   uint32_t kind, uint32_t wanted, uint64_t *at)
{
    uint32_t made = n->made, page = n->page, got = 0;
    if (made == QUARRY_SPANS_NOTHING) {
        got = quarry_spans_next(h, kind, wanted, at);
        if (got != QUARRY_SPANS_MAKE)
            return got;
    }
    uint32_t log = h->shape.chunk_log, chunks = QUARRY_ARENAS_CLASSES + log;
    n->order = (uint8_t)h->span_log;
    n->made = kind;
    if (made == QUARRY_SPANS_NOTHING) {
        page = QUARRY_NO_PAGE;
        if (kind >= QUARRY_ARENAS_CLASSES)
            return QUARRY_SPANS_MAKE;
        got = log < h->orders ? quarry_spans_next(h, chunks, 1, at) : 0;
        if (got == QUARRY_SPANS_MAKE) {
            n->made = chunks;
            return QUARRY_SPANS_MAKE;
        }
        if (got == 1)
            page = (uint32_t)(*at / QUARRY_ARENAS_SPAN) + ((uint32_t)*at << log);
    } else if (page == QUARRY_NO_PAGE) {
        quarry_spans_lack(h, made);
        if (made == kind) {
            n->made = QUARRY_SPANS_NOTHING;
            return 0;
        }
    } else if (made != kind) {
        quarry_spans_make_pages(h, chunks, page, 1);
        got = 1;
    }
    if (kind < QUARRY_ARENAS_CLASSES) {
        n->order = (uint8_t)log;
        if (page == QUARRY_NO_PAGE)
            return QUARRY_SPANS_MAKE;
        if (got)
            quarry_spans_mark(h, 1u << simt_lane(), 1, log, page);
        quarry_arenas_make_chunk(h, quarry_arenas_own(h), page, quarry_bin_count(&h->shape));
    }
    n->made = QUARRY_SPANS_NOTHING;
    *at = page * QUARRY_ARENAS_SPAN;
    return QUARRY_SPANS_NEW;
}

/* Gives lanes of a group blocks of a span, or of the next; as many as there are.
 * Returns whether the leader is to take pages, and to come back with them.
 * Scope: group, reconverged.  Progress: waits for who makes the span.  Order: acquire, for the whole group. */
SIMT_FN int quarry_spans_take(const struct quarry_arenas *h, volatile struct quarry_spans_need *n)
{
    volatile struct quarry_arenas_ask *a = &n->ask;
    uint32_t group = n->group, kind = a->class_, leader = simt_ctz_u32(group), needs;
    while ((needs = a->needs) != 0) {
        uint32_t wanted = simt_popc_u32(needs), got = 0;
        uint64_t at = 0;
        if (simt_lane() == leader)
            got = quarry_spans_lead(h, n, kind, wanted, &at);
        got = simt_shuffle_u32(group, got, leader);
        at = simt_shuffle_u64(group, at, leader);
        if (got == 0 || got == QUARRY_SPANS_MAKE)
            return got != 0;
        if (got == QUARRY_SPANS_NEW) {
            uint32_t total = quarry_spans_blocks(h, kind);
            got = wanted < total ? wanted : total;
            if (kind < QUARRY_ARENAS_CLASSES)
                quarry_spans_make_bins(h, group, kind, at, got);
            else if (simt_lane() == leader)
                quarry_spans_make_pages(h, kind, (uint32_t)(at / QUARRY_ARENAS_SPAN), got);
        }
        simt_sync(group); /* what the leader acquired holds for all */
        uint32_t i = simt_rank(needs), first = (uint32_t)(at / QUARRY_ARENAS_SPAN);
        int served = (needs >> simt_lane() & 1u) && i < got;
        i += (uint32_t)at;
        if (kind < QUARRY_ARENAS_CLASSES) {
            uint32_t blocks = quarry_bin_blocks(&h->shape, kind);
            if (served)
                a->block = quarry_arenas_address(h, first + h->shape.heads + i / blocks, kind, i % blocks);
        } else {
            uint32_t order = kind - QUARRY_ARENAS_CLASSES, page = first + (i << order);
            quarry_spans_mark(h, group, served, order, page);
            if (served)
                a->block = quarry_page_address(&h->pages, page);
            simt_sync(group); /* blocks are TAKEN, whoever frees them */
        }
        a->needs = needs & ~simt_ballot(group, served);
    }
    return 0;
}

/* ---- closing ---- */

/* The group is a closer from now on, or no longer: no span begins while there is one.
 *   change   1, or 1 less than 0
 * Scope: group, reconverged. */
SIMT_FN void quarry_spans_count_closer(const struct quarry_arenas *h, uint32_t group, uint64_t change)
{
    if (simt_rank(group) == 0)
        (void)simt_add_u64(&h->spans->closers, change, relaxed);
}

/* Gives back pages of a span: all that are left, in blocks as large as can be.
 *   word   of the span */
SIMT_FN void quarry_spans_give_pages(const struct quarry_arenas *h, uint32_t kind, uint64_t word)
{
    uint32_t first = (uint32_t)(word / QUARRY_ARENAS_SPAN), order = kind - QUARRY_ARENAS_CLASSES, log;
    SIMT_ROLLED
    for (uint32_t at = (uint32_t)word << order; at >> h->span_log == 0; at += 1u << log) {
        log = simt_ctz_u32(at); /* of a span some blocks are gone */
        quarry_spans_mark(h, 1u << simt_lane(), 1, log, first + at);
        (void)quarry_buddy_give(&h->buddy, first + at);
    }
}

/* Gives back blocks of a span of a class: all that are left.
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
        (void)quarry_bits_give(&bin->used[i], left);
    }
    bin = in ? quarry_arenas_given(h, bin, blocks - in, 0) : SIMT_NULL;
    SIMT_ROLLED
    for (uint32_t i = whole / 32u; i * 32u < bins; i++) {
        uint32_t left = quarry_bin_below(bins, i) & ~quarry_bin_below(whole, i);
        (void)quarry_bits_give(&chunk->used[i], left);
    }
    chunk = whole < bins ? quarry_arenas_given(h, chunk, bins - whole, 0) : SIMT_NULL;
    simt_assert(!bin || !chunk); /* a chunk that lacks the bin is not all free */
    if (bin || chunk)
        quarry_arenas_retire_all(h, bin ? bin : chunk);
}

/* Takes what is left of a span.
 *   word   out: of the span
 * Returns whether there was something. */
SIMT_FN int quarry_spans_take_rest(uint64_t *span, uint32_t total, uint64_t *word)
{
    uint64_t seen = simt_load_u64(span, relaxed);
    do {
        *word = seen;
        if ((uint32_t)seen >= total)
            return 0;
        /* acquire: pairs with the releases of who makes a span */
        seen = simt_cas_u64(span, seen, seen - (uint32_t)seen + total, acquire);
    } while (seen != *word);
    return 1;
}

/* Closes all spans, and waits until none is under way.  Each lane of the group looks at some of them.
 *   h   the copy in the pool
 * Scope: group, reconverged.  The caller holds nothing.  Order: acquire, for the whole group. */
SIMT_FN void quarry_spans_close_all(const struct quarry_arenas *h, uint32_t group)
{
    const uint32_t classes = QUARRY_ARENAS_CLASSES, of_classes = h->count * classes;
    uint32_t spans = of_classes + h->places * QUARRY_ARENAS_ORDERS, i = simt_rank(group);
    /* acquire: pairs with the release in quarry_spans_end */
    while (simt_any(group, (uint32_t)simt_load_u64(&h->spans->flights, acquire) != 0)) {
        uint64_t word = 0;
        int found = 0;
        SIMT_ROLLED
        for (; i < spans && !found; i += simt_popc_u32(group)) {
            uint32_t arena = i / classes, kind = i % classes;
            if (i >= of_classes) {
                arena = (i - of_classes) / QUARRY_ARENAS_ORDERS;
                kind = classes + (i - of_classes) % QUARRY_ARENAS_ORDERS;
            }
            found = quarry_spans_take_rest(&h->arena[arena].span[kind], quarry_spans_blocks(h, kind), &word);
            if (found) {
                if (kind < classes)
                    quarry_spans_give(h, kind, word);
                else
                    quarry_spans_give_pages(h, kind, word);
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
        if (n->closes || simt_any(group, simt_load_u64(&h->spans->shut, relaxed) != 0))
            quarry_spans_close_all(h, group);
        /* Full heap, acquire: spans that had ended before had given back what they had. */
        uint64_t flights = simt_load_u64(&h->spans->flights, acquire);
        n->before = (uint32_t)(flights / QUARRY_ARENAS_SPAN) - ((uint32_t)flights != 0);
        simt_sync(group); /* whichever lane asks */
    }
    n->step = QUARRY_SPANS_ASKS;
    n->order = (uint8_t)h->shape.chunk_log;
    if (n->ask.class_ < QUARRY_ARENAS_CLASSES) {
        quarry_arenas_start(&n->ask);
    } else {
        n->takers = n->ask.needs;
        n->order = (uint8_t)(n->ask.class_ - QUARRY_ARENAS_CLASSES);
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
    if (step == QUARRY_SPANS_TAKES) {
        if (quarry_spans_take(h, n))
            return 1;
    } else if (step == QUARRY_SPANS_ASKED) {
        if (n->ask.class_ >= QUARRY_ARENAS_CLASSES && n->page != QUARRY_NO_PAGE)
            n->ask.block = quarry_page_address(&h->pages, n->page);
        n->ask.needs = simt_ballot(group, n->ask.block == SIMT_NULL);
        if (n->ask.needs && quarry_spans_is_proof(h, group, n->before))
            n->ask.needs = 0;
        else if (n->ask.needs && !n->closes) {
            quarry_spans_count_closer(h, group, 1);
            n->closes = 1;
        }
    }
    n->page = QUARRY_NO_PAGE;
    if (n->ask.needs == 0) {
        if (n->closes)
            quarry_spans_count_closer(h, group, ~(uint64_t)0);
        return 0;
    }
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
    n.made = QUARRY_SPANS_NOTHING;
    n.closes = 0;
    n.step = h->open && (kind < QUARRY_ARENAS_CLASSES || kind - QUARRY_ARENAS_CLASSES < h->orders)
                 ? QUARRY_SPANS_TAKES
                 : QUARRY_SPANS_BEGINS;
    while (quarry_spans_go_on(h, &n)) {
        if (n.step == QUARRY_SPANS_ASKS && !quarry_arenas_go_on(h, &n.ask, n.group, n.page)) {
            n.step = QUARRY_SPANS_ASKED;
            n.takers = 0;
        }
        n.page = QUARRY_NO_PAGE;
        if (n.takers >> simt_lane() & 1u)
            n.page = quarry_arenas_take_pages(h, n.takers, n.order);
    }
    return n.ask.block;
}

#endif
