/* SPDX-License-Identifier: Apache-2.0 */
/* ualloc: small blocks in bins, bins in chunks, chunks and large blocks of a buddy system.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.2.  The
 * algorithm, its order and why NULL is exact: core/arenas.h, core/arenas_take.h and core/spans.h.
 *
 *     pool    | self | arenas | spans | supply | units | tree | chunks | heads (debug mode) | page 0 | page 1 | ...
 *     self    a copy of struct quarry_arenas
 *     arenas  four for each multiprocessor
 *     spans   of all chunks that arenas keep: core/spans.h
 *     supply  bulk semaphores of the classes of small blocks, and of bins
 *     units, tree   of the buddy system
 *     chunks  a bit for each 2^chunk_log pages: they are a chunk
 *     heads   of pages; without debug mode they are in the pages
 *
 * What the options call a page is a chunk here.
 *
 * malloc of a small block is the spans', and, if these have nothing, the arenas'; of a larger one it is the buddy
 * system's.  free: the bit of its chunk tells which.
 *
 * NULL for a larger block: no block of its order was in the buddy system.  Memory that others are about to free
 * may still be a bin's. */
#ifndef QUARRY_ALLOC_UALLOC_H
#define QUARRY_ALLOC_UALLOC_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/arenas.h"
#include "quarry/core/arenas_take.h"
#include "quarry/core/buddy.h"
#include "quarry/core/pages.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"
#include "quarry/core/spans.h"

#define QUARRY_UALLOC_CAN                                                                                    \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_CAN_KEEP_SPACE | QUARRY_HAS_PAGES |             \
     QUARRY_HAS_DOUBLING_SIZES)
#define QUARRY_UALLOC_PAGE_BYTES                                                                             \
    262144u /* of a chunk, by default: 64 pages of 4096 bytes, as the paper's figure */
#define QUARRY_UALLOC_LEAST_PAGE 512u /* bytes that are worth a head */
#define QUARRY_UALLOC_MAX_PAGES (1u << 31)
#define QUARRY_UALLOC_SPARE 8u     /* an arena keeps a chunk of a class, if the heap has so many for each */
#define QUARRY_UALLOC_SPAN_PART 8u /* of the heap: spans of blocks of one order */
/* Bytes of the smallest block, 16 or 8.  8 is for a figure of the paper alone: such blocks are aligned to 8 bytes,
 * and all allocators promise 16. */
#ifndef QUARRY_UALLOC_LEAST
#define QUARRY_UALLOC_LEAST 16u
#endif
#define QUARRY_UALLOC_DEBUG_UNIT 128u /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_UALLOC_OPTIONS(ROW)                                                                           \
    ROW(ualloc, chunk_pages, 64, 1, 1u << QUARRY_BIN_CHUNK_LOG_MOST,                                         \
        "pages that a chunk is divided into, down to a power of two and to 512 bytes each; 1: no bins")      \
    ROW(ualloc, arenas, 0, 1, 4096, "arenas; 0: four for each multiprocessor")                               \
    ROW(ualloc, spans, 0, 1, 2,                                                                              \
        "1: an arena keeps a chunk for each size; 2: none; 0: as 1 if the heap has 8 chunks for each "       \
        "arena, else 2")                                                                                     \
    ROW(ualloc, span_pages, 0, 1, 1u << 26,                                                                  \
        "pages of a span of blocks of pages, down to a power of two; 1: there is none; 0: an eighth of the " \
        "heap for all of one order")
enum quarry_ualloc_option { QUARRY_UALLOC_OPTIONS(QUARRY_OPTION_INDEX) };

struct quarry_ualloc {
    struct quarry_arenas arenas;
    uint32_t unit;
};

SIMT_FN void quarry_ualloc_init(const struct quarry_ualloc *h, uint64_t thread, uint64_t threads)
{
    quarry_arenas_init(&h->arenas, thread, threads);
}

/* Progress: as quarry_spans_malloc and quarry_buddy_take. */
SIMT_FN void *quarry_ualloc_malloc(const struct quarry_ualloc *h, struct quarry_context *context,
                                   uint64_t bytes)
{
    const struct quarry_arenas *x = &h->arenas;
    int small = bytes <= quarry_bin_most_bytes(&x->shape);
    uint32_t kind = small ? quarry_bin_class(&x->shape, bytes) : quarry_page_order(&x->pages, bytes);
    const struct quarry_semaphore *units = small ? &x->supply[kind] : &x->buddy.units[kind];
    uint32_t group = quarry_group(units, QUARRY_SITE_UALLOC_MALLOC);
    quarry_step(context);
    return quarry_spans_malloc(x->self, group, small ? kind : QUARRY_ARENAS_CLASSES + kind);
}

/* Progress: as quarry_arenas_free and quarry_buddy_give_together. */
SIMT_FN void quarry_ualloc_free(const struct quarry_ualloc *h, void *block)
{
    const struct quarry_arenas *x = &h->arenas;
    uint32_t page = quarry_page_index(&x->pages, block);
    const int small = page != QUARRY_NO_PAGE && quarry_arenas_is_chunk(x, page);
    int live =
        small ? quarry_arenas_free(x, page, block)
              : quarry_buddy_give_together(&x->buddy, quarry_group(x->self, QUARRY_SITE_UALLOC_FREE), page);
    QUARRY_ASSERT_LIVE(live);
    (void)live;
}

/* Gives back of a large block what quarry_buddy_keep does; of a bin's nothing. */
SIMT_FN void quarry_ualloc_trim(const struct quarry_ualloc *h, void *block, void *user, uint64_t bytes)
{
    const struct quarry_arenas *x = &h->arenas;
    uint32_t first = quarry_page_index(&x->pages, user);
    (void)block;
    if (!quarry_arenas_is_chunk(x, first))
        quarry_buddy_keep(&x->buddy, first, quarry_page_index(&x->pages, (unsigned char *)user + bytes - 1u));
}

/* ---- looking ---- */

SIMT_FN enum quarry_place quarry_ualloc_find(const struct quarry_ualloc *h, const void *address,
                                             struct quarry_span *span)
{
    const struct quarry_arenas *x = &h->arenas;
    uint32_t page = quarry_page_find(&x->pages, address, span), order;
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (quarry_arenas_is_chunk(x, page)) {
        struct quarry_arenas_where w = quarry_arenas_locate(x, page, address);
        if (w.page != QUARRY_NO_PAGE) {
            struct quarry_bin *bin = quarry_arenas_bin(x, w.page);
            uint32_t class_ = simt_load_u32(&bin->class_, relaxed);
            if (class_ < x->shape.classes &&
                (simt_load_u32(&bin->used[w.index / 32u], relaxed) >> w.index % 32u & 1u)) {
                span->begin = (unsigned char *)quarry_arenas_address(x, w.page, class_, w.index);
                span->bytes = (uint64_t)1 << (x->shape.least_log + class_);
                return QUARRY_PLACE_LIVE;
            }
        }
    } else {
        if (quarry_buddy_find(&x->buddy, page, &order) == QUARRY_BUDDY_TAKEN) {
            span->begin = (unsigned char *)quarry_page_address(&x->pages, page >> order << order);
            span->bytes = x->pages.page_bytes << order;
            return QUARRY_PLACE_LIVE;
        }
    }
    span->begin += (uint32_t)((const unsigned char *)address - span->begin) / h->unit * h->unit;
    span->bytes = h->unit;
    return QUARRY_PLACE_FREE;
}

/* What the units of supply[k] are counted by: other numbers than those of orders. */
SIMT_FN uint64_t quarry_ualloc_key(uint32_t k)
{
    return quarry_census_key(QUARRY_BUDDY_ORDERS + k);
}

/* And what list[k] of an arena has to spare. */
SIMT_FN uint64_t quarry_ualloc_list_key(uint32_t arena, uint32_t k)
{
    return quarry_ualloc_key((arena + 1u) * (QUARRY_ARENAS_CLASSES + 1u) + k);
}

/* What spans are counted by. */
SIMT_FN uint64_t quarry_ualloc_span_key(void)
{
    return quarry_ualloc_key(QUARRY_ARENAS_CLASSES + 1u);
}

/* Counts a node of the tree. */
SIMT_FN void quarry_ualloc_count_node(const struct quarry_arenas *x, uint32_t state, uint32_t height,
                                      uint32_t index, uint64_t bytes, struct quarry_census *sum)
{
    const struct quarry_bin_shape *s = &x->shape;
    uint64_t size = x->pages.page_bytes << height;
    if (state == QUARRY_BUDDY_TAKEN &&
        !(height == s->chunk_log && quarry_arenas_is_chunk(x, index << height))) {
        sum->live_blocks++;
        sum->live_bytes += size;
    }
    if (state != QUARRY_BUDDY_AVAILABLE)
        return;
    sum->free_bytes += size;
    sum->largest_free = size > sum->largest_free ? size : sum->largest_free;
    sum->odds += quarry_census_key(height);
    if (bytes > x->pages.page_bytes << x->buddy.top)
        return;
    if (bytes > quarry_bin_most_bytes(s))
        sum->slots += bytes <= size ? (uint64_t)1 << (height - quarry_page_order(&x->pages, bytes)) : 0;
    else if (height >= s->chunk_log)
        sum->slots += ((uint64_t)quarry_bin_count(s) << (height - s->chunk_log)) *
                      quarry_bin_blocks(s, quarry_bin_class(s, bytes));
}

/* May a link of a list be that one: the list itself, or a bin that says it is in there? */
SIMT_FN int quarry_ualloc_is_listed(const struct quarry_arenas *x, const struct quarry_link *link,
                                    uint32_t arena, uint32_t class_)
{
    uint64_t offset = (uint64_t)(uintptr_t)link - (uint64_t)(uintptr_t)x->heads;
    if (link == &quarry_arenas_list(x, arena, class_)->first)
        return 1;
    if (offset % x->head_stride != 0 || offset / x->head_stride >= x->pages.count ||
        !quarry_arenas_is_chunk(x, (uint32_t)(offset / x->head_stride)))
        return 0;
    const struct quarry_bin *bin = (const struct quarry_bin *)(const void *)link;
    return (simt_load_u32(&bin->word, relaxed) & QUARRY_BIN_LISTED) && bin->arena == arena &&
           bin->class_ == class_;
}

/* Does what a link of a list leads to say that it is in that list, too, and does it lead back?  If all do, no bin that
 * was removed, or never inserted, says that it is in a list. */
SIMT_FN int quarry_ualloc_is_linked(const struct quarry_arenas *x, const struct quarry_link *link,
                                    uint32_t arena, uint32_t class_)
{
    const struct quarry_link *next = quarry_list_next(link);
    return quarry_ualloc_is_listed(x, next, arena, class_) && next->back == link;
}

/* Counts a page of a chunk. */
SIMT_FN void quarry_ualloc_count_page(const struct quarry_arenas *x, uint32_t page, uint64_t bytes,
                                      struct quarry_census *sum)
{
    const struct quarry_bin_shape *s = &x->shape;
    uint32_t wanted = bytes <= quarry_bin_most_bytes(s) ? quarry_bin_class(s, bytes) : s->classes;
    uint32_t number = page & (quarry_bin_chunk_pages(s) - 1u);
    if (number != 0 && number < s->heads)
        return;
    if (number != 0 && quarry_arenas_is_spare(x, page)) {
        sum->free_bytes += s->page_bytes - s->head_bytes;
        sum->slots += wanted < s->classes ? quarry_bin_blocks(s, wanted) : 0;
        if (sum->largest_free < quarry_bin_most_bytes(s))
            sum->largest_free = quarry_bin_most_bytes(s);
        return;
    }
    struct quarry_bin *bin = quarry_arenas_bin(x, page);
    uint32_t class_ = simt_load_u32(&bin->class_, relaxed), word = simt_load_u32(&bin->word, relaxed);
    if (number == 0 ? class_ != s->classes : class_ >= s->classes) {
        sum->faults++;
        return;
    }
    uint32_t blocks = quarry_bin_blocks(s, class_), clear = 0;
    for (uint32_t i = 0; i < quarry_bin_words(blocks); i++)
        clear += simt_popc_u32(~simt_load_u32(&bin->used[i], relaxed));
    clear = clear < blocks ? clear : blocks;
    /* What is all free would be retired. */
    sum->faults += quarry_bin_free(word) != clear || (word & (QUARRY_BIN_RETIRING | QUARRY_BIN_LISTING)) ||
                   clear == blocks || (clear != 0 && !(word & QUARRY_BIN_LISTED)) || bin->page != page ||
                   bin->arena >= x->count || word / QUARRY_BIN_CLAIM != 0 || bin->given != 0;
    sum->faults += (word & QUARRY_BIN_LISTED) && bin->arena < x->count &&
                   !quarry_ualloc_is_linked(x, &bin->link, bin->arena, class_);
    sum->odds += clear * (quarry_ualloc_key(class_) + quarry_ualloc_list_key(bin->arena, class_));
    if (number == 0)
        return;
    uint64_t size = (uint64_t)1 << (s->least_log + class_);
    sum->live_blocks += blocks - clear;
    sum->live_bytes += (blocks - clear) * size;
    sum->free_bytes += clear * size;
    if (clear && sum->largest_free < size)
        sum->largest_free = size;
    sum->slots += class_ == wanted ? clear : 0;
}

/* Is the copy of the struct another one? */
SIMT_FN int quarry_ualloc_is_foreign(const struct quarry_arenas *x, const struct quarry_arenas *self)
{
    return self->self != x->self || self->arena != x->arena || self->supply != x->supply ||
           self->chunk != x->chunk || self->heads != x->heads || self->head_stride != x->head_stride ||
           self->pages.base != x->pages.base || self->pages.count != x->pages.count ||
           self->spans != x->spans || self->open != x->open || self->count != x->count ||
           self->places != x->places || self->orders != x->orders || self->span_log != x->span_log ||
           self->buddy.word != x->buddy.word || self->buddy.units != x->buddy.units ||
           self->shape.chunk_log != x->shape.chunk_log || self->shape.classes != x->shape.classes;
}

/* Counts a span, if there is one: some of its blocks are left then.  Of a class they begin in a bin of it, and pages
 * are no block. */
SIMT_FN void quarry_ualloc_count_span(const struct quarry_arenas *x, uint32_t arena, uint32_t kind,
                                      struct quarry_census *sum)
{
    uint64_t word = simt_load_u64(&x->arena[arena].span[kind], relaxed), page = word / QUARRY_ARENAS_SPAN;
    uint32_t at = (uint32_t)word, log = kind < x->shape.classes ? x->shape.chunk_log : x->span_log, order;
    sum->faults += at >= QUARRY_SPANS_OPENING;
    if (at >= quarry_spans_blocks(x, kind))
        return;
    sum->odds += quarry_ualloc_span_key();
    if (page % ((uint64_t)1 << log) != 0 || page + ((uint64_t)1 << log) > x->pages.count) {
        sum->faults++;
    } else if (kind < x->shape.classes) {
        page += x->shape.heads + at / quarry_bin_blocks(&x->shape, kind);
        sum->faults += !quarry_arenas_is_chunk(x, (uint32_t)page) ||
                       simt_load_u32(&quarry_arenas_bin(x, (uint32_t)page)->class_, relaxed) != kind;
    } else {
        page += (uint64_t)at << (kind - QUARRY_ARENAS_CLASSES);
        sum->faults += quarry_buddy_find(&x->buddy, (uint32_t)page, &order) >= QUARRY_BUDDY_AVAILABLE;
    }
}

/* How often the structures of an arena that nobody uses contradict themselves. */
SIMT_FN uint32_t quarry_ualloc_arena_faults(const struct quarry_arenas *x, uint32_t arena)
{
    const struct quarry_arena *a = &x->arena[arena];
    uint64_t readers = a->readers.readers;
    uint32_t faults = (quarry_srcu_count(readers, 0) | quarry_srcu_count(readers, 1)) != 0;
    faults += a->readers.queue != 0;
    faults += (a->readers.waiting | a->readers.mutex.held) != 0;
    for (uint32_t k = 0; k <= x->shape.classes; k++)
        faults += a->list[k].mutex.held != 0 || !quarry_ualloc_is_linked(x, &a->list[k].first, arena, k);
    return faults;
}

/* quarry_spans_close_all as a closer, out of line. */
SIMT_NOINLINE_FN void quarry_ualloc_close(const struct quarry_arenas *x, uint32_t group)
{
    quarry_spans_count_closer(x, group, 1);
    quarry_spans_close_all(x, group);
    quarry_spans_count_closer(x, group, ~(uint64_t)0);
}

/* Slots while others malloc and free, as quarry_buddy_slots, from the blocks of bins on.  Spans are closed before.
 * Scope: share->group. */
SIMT_FN uint64_t quarry_ualloc_slots(const struct quarry_arenas *x, uint64_t bytes, uint32_t group)
{
    const struct quarry_bin_shape *s = &x->shape;
    quarry_ualloc_close(x->self, group);
    if (bytes > quarry_bin_most_bytes(s))
        return quarry_buddy_slots(&x->buddy, quarry_page_order(&x->pages, bytes), group);
    uint32_t class_ = quarry_bin_class(s, bytes), blocks = quarry_bin_blocks(s, class_);
    uint64_t chunk = (uint64_t)quarry_bin_count(s) * blocks, slots = 0;
    if (simt_rank(group) == 0) {
        slots = quarry_semaphore_coming(&x->supply[class_]);
        simt_fence(acq_rel); /* pairs with that of quarry_arenas_retire_try */
        slots += quarry_semaphore_coming(quarry_arenas_bins(x)) * blocks;
        simt_fence(acq_rel); /* pairs with that of quarry_arenas_retire_chunk */
    }
    slots += quarry_buddy_slots(&x->buddy, s->chunk_log, group) * chunk;
    uint64_t most = (x->pages.count >> s->chunk_log) * chunk;
    return slots < most ? slots : most;
}

/* The census of an idle heap, whether spans are under way or not. */
SIMT_FN void quarry_ualloc_survey(const struct quarry_ualloc *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    const struct quarry_arenas *x = &h->arenas;
    const struct quarry_buddy *b = &x->buddy;
    for (uint64_t i = share->thread; i < b->words; i += share->threads) {
        uint32_t w = (uint32_t)i, group = quarry_buddy_group(b, w);
        uint64_t word = simt_load_u64(&b->word[w], relaxed);
        for (uint32_t node = 2; node < 2 * QUARRY_BUDDY_WAYS; node++)
            quarry_ualloc_count_node(x, quarry_buddy_state(word, node), quarry_buddy_height(group, node),
                                     quarry_buddy_index(b, group, w, node), bytes, sum);
        sum->faults += quarry_buddy_is_wrong(b, w, word) != 0;
    }
    for (uint64_t i = share->thread; x->shape.classes && i < x->pages.count; i += share->threads)
        if (quarry_arenas_is_chunk(x, (uint32_t)i))
            quarry_ualloc_count_page(x, (uint32_t)i, bytes, sum);
    if (share->thread == 0) {
        sum->faults += (uint32_t)quarry_ualloc_is_foreign(x, x->self);
        sum->odds -= (uint32_t)simt_load_u64(&x->spans->flights, relaxed) * quarry_ualloc_span_key();
    }
    for (uint64_t i = share->thread; i <= b->top; i += share->threads) {
        sum->odds -= (uint64_t)quarry_semaphore_there(simt_load_u64(&b->units[i].units, relaxed)) *
                     quarry_census_key((uint32_t)i);
        sum->faults += !quarry_semaphore_is_idle(&b->units[i]);
    }
    for (uint64_t i = share->thread; i <= x->shape.classes; i += share->threads) {
        sum->odds -= (uint64_t)quarry_semaphore_there(simt_load_u64(&x->supply[i].units, relaxed)) *
                     quarry_ualloc_key((uint32_t)i);
        sum->faults += !quarry_semaphore_is_idle(&x->supply[i]);
    }
    for (uint64_t i = share->thread; i < x->count; i += share->threads) {
        sum->faults += quarry_ualloc_arena_faults(x, (uint32_t)i);
        for (uint32_t k = 0; k <= x->shape.classes; k++)
            sum->odds -=
                simt_load_u64(&x->arena[i].list[k].spare, relaxed) * quarry_ualloc_list_key((uint32_t)i, k);
        for (uint32_t k = 0; k < QUARRY_ARENAS_CLASSES + QUARRY_ARENAS_ORDERS; k++)
            quarry_ualloc_count_span(x, (uint32_t)i, k, sum);
    }
}

SIMT_FN void quarry_ualloc_census(const struct quarry_ualloc *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    const struct quarry_spans *s = h->arenas.spans;
    if (!share->idle) {
        sum->slots += quarry_ualloc_slots(&h->arenas, bytes, share->group);
        return;
    }
    quarry_ualloc_survey(h, bytes, share, sum);
    if (share->thread == 0) /* else quarry_ualloc_settle has found that something is wrong */
        sum->faults += (uint32_t)simt_load_u64(&s->flights, relaxed) != 0 ||
                       (simt_load_u64(&s->arrived, relaxed) | simt_load_u64(&s->closers, relaxed)) != 0;
}

/* Closes all spans.  Who closes one waits for others, and follows what a corrupt heap would lead anywhere.  So
 * each thread checks its share first, and the last of them closes all, if nothing is wrong. */
SIMT_FN void quarry_ualloc_settle(const struct quarry_ualloc *h, uint64_t thread, uint64_t threads)
{
    const struct quarry_arenas *x = &h->arenas;
    struct quarry_spans *s = x->spans;
    struct quarry_census sum = {0, 0, 0, 0, 0, 0, 0};
    struct quarry_census_share share = {1u << simt_lane(), 1u, thread, threads};
    /* The last one changes nothing before all have looked. */
    if ((uint32_t)simt_load_u64(&s->flights, relaxed) == 0)
        return;
    quarry_ualloc_survey(h, 1, &share, &sum);
    (void)simt_add_u64(&s->faults, sum.faults, relaxed);
    (void)simt_add_u64(&s->odds, sum.odds, relaxed);
    /* release and acquire: the last knows what all have found */
    if (simt_add_u64(&s->arrived, 1u, acq_rel) + 1u != threads)
        return;
    int sound = simt_exchange_u64(&s->faults, 0, relaxed) == 0;
    sound &= simt_exchange_u64(&s->odds, 0, relaxed) == 0;
    simt_store_u64(&s->arrived, 0, relaxed);
    if (sound)
        quarry_ualloc_close(x->self, share.group);
}

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_ualloc_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_arenas *x = (struct quarry_arenas *)heap;
    struct quarry_buddy *b = &x->buddy;
    uint64_t arenas = l->option[QUARRY_OPTION_ualloc_arenas], pages = l->pages << x->shape.chunk_log;
    if (arenas == 0)
        arenas = (uint64_t)l->multiprocessors * QUARRY_ARENAS_EACH;
    x->count = (uint32_t)(arenas < l->pages ? arenas : l->pages);
    if (x->count == 0 || x->shape.classes == 0)
        x->count = 1;
    uint64_t spans = l->option[QUARRY_OPTION_ualloc_spans];
    /* Debug mode writes into all that is free, and would not know a span's blocks. */
    x->open = !l->debug && x->shape.classes != 0 &&
              (spans == 1 || (spans == 0 && l->pages >= (uint64_t)QUARRY_UALLOC_SPARE * x->count));
    quarry_buddy_size(b, (uint32_t)pages);
    x->places = x->count < QUARRY_ARENAS_PLACES ? x->count : QUARRY_ARENAS_PLACES;
    uint64_t wanted = l->option[QUARRY_OPTION_ualloc_span_pages];
    if (wanted == 0)
        wanted = pages / (QUARRY_UALLOC_SPAN_PART * x->places);
    x->span_log = 0;
    while (x->span_log < b->top && wanted >> x->span_log > 1)
        x->span_log++;
    x->orders = x->shape.chunk_log < x->span_log ? x->shape.chunk_log + 1u : x->span_log;
    if (!x->open)
        x->orders = 0;
    x->self = (struct quarry_arenas *)quarry_layout_section(l, "self", sizeof *x->self, QUARRY_SECTION_ALIGN);
    x->arena = (struct quarry_arena *)quarry_layout_section(l, "arenas", x->count * sizeof *x->arena,
                                                            QUARRY_SECTION_ALIGN);
    x->spans =
        (struct quarry_spans *)quarry_layout_section(l, "spans", sizeof *x->spans, QUARRY_SECTION_ALIGN);
    x->supply = (struct quarry_semaphore *)quarry_layout_section(
        l, "supply", (x->shape.classes + 1u) * sizeof *x->supply, QUARRY_SECTION_ALIGN);
    b->units = (struct quarry_semaphore *)quarry_layout_section(l, "units", (b->top + 1u) * sizeof *b->units,
                                                                QUARRY_SECTION_ALIGN);
    b->word = (uint64_t *)quarry_layout_section(l, "tree", sizeof *b->word * b->words, QUARRY_SECTION_ALIGN);
    x->chunk = (uint32_t *)quarry_layout_section(l, "chunks", (l->pages / 32u + 1u) * sizeof *x->chunk,
                                                 QUARRY_SECTION_ALIGN);
    int aside = l->debug && x->shape.classes; /* debug mode writes into all that is free */
    x->heads = (unsigned char *)quarry_layout_section(l, "heads", aside ? pages * QUARRY_BIN_HEAD : 0,
                                                      QUARRY_SECTION_ALIGN);
    x->pages = quarry_layout_pages(l);
    x->pages = quarry_pages_make(x->pages.base, x->shape.page_bytes, (uint32_t)pages);
    x->head_stride = aside ? QUARRY_BIN_HEAD : x->shape.page_bytes;
    if (!aside)
        x->heads = x->pages.base;
}

SIMT_HOST_FN enum quarry_layout_result quarry_ualloc_layout(struct quarry_ualloc *h, struct quarry_layout *l)
{
    struct quarry_arenas *x = &h->arenas;
    enum quarry_layout_result result =
        quarry_layout_unit(l, QUARRY_UALLOC_PAGE_BYTES, QUARRY_UALLOC_DEBUG_UNIT, &h->unit);
    uint64_t page_bytes = l->page_bytes, wanted = l->option[QUARRY_OPTION_ualloc_chunk_pages];
    uint32_t log = 0;
    if (result != QUARRY_LAYOUT_OK)
        return result;
    while (2u << log <= wanted && page_bytes >> (log + 1u) >= QUARRY_UALLOC_LEAST_PAGE &&
           (l->debug || page_bytes % ((uint64_t)h->unit << (log + 1u)) == 0))
        log++;
    l->page_bytes = quarry_round_up(page_bytes, (uint64_t)h->unit << log);
    x->shape = quarry_bin_shape_make(l->page_bytes >> log, log,
                                     h->unit > QUARRY_PAGE_UNIT ? h->unit : QUARRY_UALLOC_LEAST);
    result = quarry_layout_fit_most(l, quarry_ualloc_sections, x, QUARRY_UALLOC_MAX_PAGES >> log);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->option[QUARRY_OPTION_ualloc_chunk_pages] = (uint64_t)1 << log;
    l->option[QUARRY_OPTION_ualloc_arenas] = x->count;
    l->option[QUARRY_OPTION_ualloc_spans] = x->open ? 1 : 2;
    l->option[QUARRY_OPTION_ualloc_span_pages] = x->orders ? (uint64_t)1 << x->span_log : 1;
    l->unit = h->unit;
    l->max_block = x->shape.page_bytes << x->buddy.top;
    l->free_reach = l->max_block; /* a free finds the block by any address in it */
    l->page_bytes = page_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
