/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap of alloc/ouro.h is made of: its sizes, its queues, and its chunks as the building blocks see them. */
#ifndef QUARRY_ALLOC_OURO_HEAP_H
#define QUARRY_ALLOC_OURO_HEAP_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/chunk_masks.h"
#include "quarry/core/chunk_pages.h"
#include "quarry/core/chunk_runs.h"
#include "quarry/core/chunks.h"
#include "quarry/core/classes.h"
#include "quarry/core/index_queue.h"
#include "quarry/core/segments.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"

enum quarry_ouro_backing { QUARRY_OURO_STANDARD, QUARRY_OURO_ARRAY, QUARRY_OURO_LIST };
enum quarry_ouro_payload { QUARRY_OURO_PAGES, QUARRY_OURO_CHUNKS };

#define QUARRY_OURO_PAGE_BYTES 8192u /* of a chunk: the paper's */
#define QUARRY_OURO_DEBUG_UNIT 128u  /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_OURO_QUEUE_SHARE 16u  /* all queues have at most this part of the chunks' bytes */
#define QUARRY_OURO_QUEUE_LEAST 32u  /* slots */
#define QUARRY_OURO_PORTION 4u       /* pages of each lane that are put with tickets drawn at once */
#define QUARRY_OURO_WAIT 32u         /* looks at the slot of a ticket */
#define QUARRY_OURO_NEAR 512u        /* looks behind a ticket until one looks before the queue's back, too */
#define QUARRY_OURO_DRAIN 32u        /* slots for each lane of who drains, at a time */
#define QUARRY_OURO_PATIENCE 8u      /* looks at segments that others are to leave */
#define QUARRY_OURO_UNPROVEN 0x80000000u
#define QUARRY_OURO_INSIDE 0xffu               /* class + 1 of the chunks of a block behind its first one */
#define QUARRY_OURO_AGAIN QUARRY_SEGMENTS_SKIP /* no page: there are segments, so ask again after a drain */

#define QUARRY_OURO_PAGES_CAN (QUARRY_CAN_PROVE_FULL | QUARRY_HAS_PAGES)
#define QUARRY_OURO_CHUNKS_CAN (QUARRY_OURO_PAGES_CAN | QUARRY_CAN_REUSE_SPACE)
#define QUARRY_OURO_OPTIONS(ROW)                                                                             \
    ROW(ouro, queue_slots, 0, 1, 1u << 22,                                                                   \
        "slots of each size's queue, to a power of two; 0: all queues take up to 1/16 of the heap")          \
    QUARRY_OURO_LARGEST(ROW, ouro)
#define QUARRY_OURO_CHUNKS_OPTIONS(ROW) QUARRY_OURO_LARGEST(ROW, ouro_c)
#define QUARRY_OURO_LARGEST(ROW, family)                                                                     \
    ROW(family, largest, 0, 1, QUARRY_RUN_MOST *QUARRY_MAX_PAGE_BYTES,                                       \
        "bytes of the largest block, rounded up to chunks, 128 of them at most; 0: 1 MiB")
enum quarry_ouro_option { QUARRY_OURO_OPTIONS(QUARRY_OPTION_INDEX) };
enum quarry_ouro_c_option { QUARRY_OURO_CHUNKS_OPTIONS(QUARRY_OPTION_INDEX) };

struct quarry_ouro_class {
    struct quarry_semaphore units;
    struct quarry_index_queue_ends queue, tokens;
};

struct quarry_ouro {
    struct quarry_pages chunks; /* first, as a free needs it first */
    struct quarry_classes sizes;
    struct quarry_chunk_table table;
    uint32_t *live; /* as many fields as table.parked */
    struct quarry_ouro_class *class_;
    struct quarry_mask_class *masks; /* C: instead of class_ */
    struct quarry_mask_ends *mask_ends;
    uint32_t *queue, *tokens; /* slots of all classes; C: tokens of late chunks, and then of others */
    uint32_t queue_slots, token_slots; /* of each class; of C: a queue has token_slots */
    uint32_t unit, most;               /* sizes.most */
    struct quarry_segments
        segments; /* its store is of all; else VA, VL.  Debug mode, which watches chunks, has none */
    struct quarry_ouro *self;         /* a copy of this, for functions that are not inlined */
    enum quarry_ouro_backing backing; /* for quarry_ouro_sections */
    enum quarry_ouro_payload payload;
};

SIMT_FN struct quarry_index_queue quarry_ouro_queue(const struct quarry_ouro *h, uint32_t class_)
{
    struct quarry_index_queue q = {&h->class_[class_].queue, h->queue + (uint64_t)class_ * h->queue_slots,
                                   h->queue_slots - 1u};
    return q;
}

SIMT_FN struct quarry_chunk_pages quarry_ouro_parking(const struct quarry_ouro *h, uint32_t class_)
{
    struct quarry_chunk_pages p = {
        &h->table,
        &h->segments.store,
        &h->class_[class_].units,
        {&h->class_[class_].tokens, h->tokens + (uint64_t)class_ * h->token_slots, h->token_slots - 1u},
        quarry_class_pages(&h->sizes, class_)};
    return p;
}

SIMT_FN struct quarry_chunk_masks quarry_ouro_masks(const struct quarry_ouro *h)
{
    uint32_t mask = h->token_slots - 1u, *others = h->tokens + h->token_slots;
    struct quarry_chunk_masks m = {&h->table,
                                   &h->segments.store,
                                   &h->sizes,
                                   h->masks,
                                   others,
                                   h->token_slots,
                                   {&h->mask_ends->late, h->tokens, mask},
                                   {&h->mask_ends->stray, others, mask}};
    return m;
}

/* Where queues of chunks lie, if in segments; else NULL. */
SIMT_FN const struct quarry_segments *quarry_ouro_entries(enum quarry_ouro_backing backing,
                                                          const struct quarry_ouro *h)
{
    return backing == QUARRY_OURO_STANDARD ? SIMT_NULL : &h->segments;
}

SIMT_FN struct quarry_semaphore *quarry_ouro_units(enum quarry_ouro_payload payload,
                                                   const struct quarry_ouro *h, uint32_t class_)
{
    return payload == QUARRY_OURO_CHUNKS ? &h->masks[class_].units : &h->class_[class_].units;
}

SIMT_FN void quarry_ouro_init(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                              const struct quarry_ouro *h, uint64_t thread, uint64_t threads)
{
    if (thread == 0)
        *h->self = *h;
    quarry_chunks_init(&h->segments.store, thread, threads);
    if (backing != QUARRY_OURO_STANDARD)
        quarry_segments_init_all(&h->segments, thread, threads);
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        quarry_chunk_masks_init(&masks, quarry_ouro_entries(backing, h), thread, threads);
        return;
    }
    quarry_chunk_table_init(&h->table, h->chunks.count, thread, threads);
    for (uint64_t i = thread; i < (uint64_t)h->chunks.count * h->table.fields; i += threads)
        h->live[i] = 0;
    for (uint32_t k = 0; k < h->sizes.whole; k++) {
        struct quarry_chunk_pages parking = quarry_ouro_parking(h, k);
        if (thread == 0)
            quarry_semaphore_init(&h->class_[k].units, 0);
        if (backing == QUARRY_OURO_STANDARD) {
            struct quarry_index_queue queue = quarry_ouro_queue(h, k);
            quarry_index_queue_init(&queue, 0, thread, threads);
        } else {
            quarry_segments_init(&h->segments, k, thread, threads);
        }
        quarry_index_queue_init(&parking.tokens, 0, thread, threads);
    }
}

/* The calling lane's page becomes a block, or no block any more, if it was what it should have been before.  Payload P,
 * and no whole chunk.
 * Returns whether it was. */
SIMT_FN int quarry_ouro_mark(const struct quarry_ouro *h, uint32_t chunk, uint32_t page, int live)
{
    uint32_t *field = quarry_chunk_field(&h->table, h->live, chunk, page), bit = 1u << page % 32u;
    uint32_t before = live ? simt_or_u32(field, bit, relaxed) : simt_and_u32(field, ~bit, relaxed);
    return live != ((before & bit) != 0);
}

/* The same of a page of each lane of a group.  They are mostly neighbours, and then it is one atomic.
 * Returns whether the caller's was what it should have been; of one that becomes a block no particular value.
 * Scope: group, reconverged.  All marks come before what any lane does afterwards. */
SIMT_FN int quarry_ouro_mark_all(const struct quarry_ouro *h, uint32_t group, uint32_t chunk, uint32_t page,
                                 int live)
{
    uint32_t *field = quarry_chunk_field(&h->table, h->live, chunk, page);
    uint32_t bit = 1u << page % 32u, leader = simt_ctz_u32(group),
             number = chunk * h->table.fields + page / 32u;
    int joint = simt_all(group, number == simt_shuffle_u32(group, number, leader)), was = 1;
    uint32_t bits = joint ? simt_reduce_or_u32(group, bit) : bit, before = 0;
    joint = joint && simt_popc_u32(bits) == simt_popc_u32(group); /* else two free one block */
    if (!joint)
        was = quarry_ouro_mark(h, chunk, page, live);
    else if (simt_rank(group) == 0)
        before = live ? simt_or_u32(field, bits, relaxed) : simt_and_u32(field, ~bits, relaxed);
    simt_sync(group);
    if (joint && !live)
        was = (simt_shuffle_u32(group, before, leader) & bit) != 0;
    return was;
}

/* A whole chunk, or the first one of several, is no block any more, if it was one: its class alone says that.  A bit
 * for each would be in another cache line for each.
 *   class_   what it should have been
 * Returns whether it was. */
SIMT_FN int quarry_ouro_unmark(const struct quarry_ouro *h, uint32_t chunk, uint32_t class_)
{
    uint64_t *word = &h->table.word[chunk], now = simt_load_u64(word, relaxed), before;
    for (; quarry_chunk_class(now) == class_ + 1u;
         now = before) { /* `queued` and `count` may change meanwhile */
        before = simt_cas_u64(word, now, now - (class_ + 1u) * QUARRY_CHUNK_CLASS, relaxed);
        if (before == now)
            return 1;
    }
    return 0;
}

/* Where an address is. */
struct quarry_ouro_where {
    uint32_t chunk;  /* or QUARRY_NO_PAGE */
    uint32_t class_; /* more than sizes.whole: the chunk has none */
    uint32_t page;   /* as quarry_class_page */
};

SIMT_FN struct quarry_ouro_where quarry_ouro_locate(const struct quarry_ouro *h, const void *address)
{
    struct quarry_ouro_where w = {quarry_page_index(&h->chunks, address), ~0u, 0};
    if (w.chunk != QUARRY_NO_PAGE) {
        const unsigned char *begin = (const unsigned char *)quarry_page_address(&h->chunks, w.chunk);
        w.class_ = quarry_chunk_class(simt_load_u64(&h->table.word[w.chunk], relaxed)) - 1u;
        if (w.class_ <= h->sizes.whole)
            w.page =
                quarry_class_page(&h->sizes, w.class_, (uint32_t)((const unsigned char *)address - begin));
        if (w.class_ > h->sizes.whole || w.page >= quarry_class_pages(&h->sizes, w.class_))
            w.class_ = ~0u;
    }
    return w;
}

/* Class and first chunk of the block of several chunks that has this one, if it has one.
 *   at   in: the chunk; out: the block's first one
 * Returns the class, or ~0. */
SIMT_FN uint32_t quarry_ouro_run_of(const struct quarry_ouro *h, uint32_t *at)
{
    uint32_t chunk = *at, most = h->sizes.most, class_;
    while ((class_ = quarry_chunk_class(simt_load_u64(&h->table.word[*at], relaxed))) == QUARRY_OURO_INSIDE &&
           *at != 0 && chunk - *at + 1u < most)
        (*at)--;
    class_ -= 1u;
    return class_ - h->sizes.whole - 1u < most - 1u && chunk - *at <= class_ - h->sizes.whole ? class_ : ~0u;
}

/* Bits of the live pages among 32 of a chunk.
 *   class_   of the chunk; of a block of several chunks: that of its first
 *   page     the first of them */
SIMT_FN uint32_t quarry_ouro_live(enum quarry_ouro_payload payload, const struct quarry_ouro *h,
                                  uint32_t chunk, uint32_t class_, uint32_t page)
{
    uint32_t pages = quarry_class_pages(&h->sizes, class_), here = 0;
    if (pages > page)
        here = pages - page < 32u ? (1u << (pages - page)) - 1u : ~0u;
    if (class_ >= h->sizes.whole)
        return here;
    if (payload == QUARRY_OURO_CHUNKS)
        return here & ~simt_load_u32(quarry_chunk_field(&h->table, h->table.parked, chunk, page), relaxed);
    return here & simt_load_u32(quarry_chunk_field(&h->table, h->live, chunk, page), relaxed);
}

#endif
