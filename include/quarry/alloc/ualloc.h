/* SPDX-License-Identifier: Apache-2.0 */
/* ualloc: small blocks in bins, bins in chunks, chunks and large blocks of a buddy system.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.2.  What
 * bins and chunks look like: core/bin.h.  The buddy system: core/buddy.h.  docs/reference/alloc/ualloc.md says
 * where the paper is silent, and what is done here.
 *
 *     pool    | self | arenas | supply | units | tree | chunks | heads (debug mode only) | page 0 | page 1 | ...
 *     self    a copy of the struct, so that functions that are not inlined get one address
 *     arena   one for each multiprocessor: lists of bins, one for each class; the list of chunks with free bins;
 *             and the readers of these
 *     supply  bulk semaphores: of each class, whose units are free blocks in bins of all arenas; and the last, whose
 *             units are free bins in all chunks
 *     units, tree   of the buddy system
 *     chunks  a bit for each 2^chunk_log pages: they are a chunk
 *     heads   of pages; else they are in the pages
 *
 * What the options call a page is a chunk here.
 *
 * Semaphores are the whole heap's, for a malloc is to fail only when no arena has anything.  Arenas only say
 * where a lane looks first for what a semaphore has granted it.
 *
 * malloc of a small block.  Lanes of a warp that want blocks of one class ask its semaphore together.
 *   - For units that they get they look through the bins of an arena's list, their own's first: lower a bin's
 *     count, take as many clear bits, and unlist the bin if the count is 0 then.
 *   - GROW: if more is reserved than there and expected, their leader promises a bin's blocks.  It asks for a
 *     bin, keeps the blocks that it is owed, lists the bin in its own arena, and signals the others.
 *   - A bin: a unit of the semaphore of bins, and then a bit in a chunk of an arena's list.  GROW: a chunk from
 *     the buddy system, which goes into the list of the lane's own arena; all bins but one are signalled.
 * Larger blocks are the buddy system's.
 *
 * free.  The bit of its chunk tells a block of a bin from one of the buddy system.  Lanes whose blocks are of
 * one bin work together: clear the bits, raise the count, list the bin if it was not, and only then signal.
 * They are readers of the bin's arena meanwhile: with its bits clear the bin may be retired.
 *
 * Retiring a bin.  Who finds that all its blocks are free sets RETIRING, and decides: takes all the units of
 * the bin, if they are free, then the bin by a compare-exchange of its word.  If a count was lowered meanwhile
 * it puts the units back.  It waits while units of others are on their way.  While RETIRING is set nobody else
 * retires the bin, so its head stays what it is outside of read sections, too.  Then it unlists the bin, and
 * leaves it as a callback to a barrier of the arena's readers; who runs that gives the bin to its chunk.
 *
 * Retiring a chunk.  The same: who gives the last bin takes all the units of the chunk, then the chunk under
 * the mutex of its list, and gives it to the buddy system.  Nobody else looks at the chunk's head but under
 * that mutex, or to free a block that is live.
 *
 * Nothing is lost.  Each signalled block is in a bin that is listed, or is being listed by somebody who signals
 * afterwards; so who got a unit finds a block in the end, and likewise for bins.  A bin that is made or retired
 * is promised, or announced, to the semaphore where it arrives.
 *
 * Nobody waits for ever.  Waits for units go up only: blocks, bins, orders of the buddy system.  Who retires
 * waits only while it holds neither units nor an announcement: for lanes that got units and look for what they
 * stand for, for lanes between a count and its signal, and for lanes that make what they are owed; and these
 * wait further up.  Who has announced a bin waits for readers, and readers wait for mutexes only.  With a mutex
 * held nobody waits.
 *
 * NULL is exact: at some instant during the call no block of the class was free, no bin, and no chunk in the
 * buddy system, but for those that others had a claim to.  The argument is that of core/buddy.h.  A lane
 * reserves a unit at its class, then at the bins, then at the orders of a chunk and more, and gives them up in
 * the opposite order; at each there is an instant at which less units were there and expected than reserved.
 * Whoever moves memory down has promised what it makes of it before it gets it. Whoever moves memory up
 * announces it above before it takes units below, which it can't where somebody has reserved them, and puts
 * back what comes to nothing before it withdraws the announcement.  Fences stand between.
 *
 * NULL for a larger block: no block of its order was in the buddy system.  Memory that others are about to free
 * may still be a bin's.
 *
 * Order.  A block goes from owner to owner by its bit (core/bin.h).  A bin is made after its chunk's mutex was
 * held, or the chunk acquired from the buddy system, and found by readers through its list's release.  It is
 * retired by a compare-exchange that acquires what all who raised the count released; barrier and mutex pass
 * that on. */
#ifndef QUARRY_ALLOC_UALLOC_H
#define QUARRY_ALLOC_UALLOC_H

#include "quarry/alloc/alloc.h"
#include "quarry/core/bin.h"
#include "quarry/core/buddy.h"
#include "quarry/core/list.h"
#include "quarry/core/mutex.h"
#include "quarry/core/pages.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"
#include "quarry/core/srcu.h"

#define QUARRY_UALLOC_CAN                                                                                    \
    (QUARRY_CAN_PROVE_FULL | QUARRY_CAN_REUSE_SPACE | QUARRY_HAS_PAGES | QUARRY_HAS_POWERS)
#define QUARRY_UALLOC_PAGE_BYTES                                                                             \
    262144u /* of a chunk, by default: 64 pages of 4096 bytes, as the paper's figure */
#define QUARRY_UALLOC_LEAST_PAGE 512u /* bytes that are worth a head */
#define QUARRY_UALLOC_MAX_PAGES (1u << 31)
#define QUARRY_UALLOC_DEBUG_UNIT 128u /* with what debug mode adds, and 16 bytes: layout.h */
#define QUARRY_UALLOC_CLASSES 16u     /* 16 bytes to less than half of the largest page */
#define QUARRY_UALLOC_OPTIONS(ROW)                                                                           \
    ROW(ualloc, chunk_pages, 64, 1, 1u << QUARRY_BIN_CHUNK_LOG_MOST,                                         \
        "pages that a chunk is divided into, down to a power of two and to 512 bytes each; 1: no bins")      \
    ROW(ualloc, arenas, 0, 1, 4096, "arenas; 0: one for each multiprocessor")
enum quarry_ualloc_option { QUARRY_UALLOC_OPTIONS(QUARRY_OPTION_INDEX) };

/* Bins of a class that may have free blocks. */
struct quarry_ualloc_list {
    struct quarry_link bins;
    struct quarry_mutex mutex;
};

struct quarry_ualloc_arena {
    struct quarry_srcu readers; /* of the lists of bins */
    struct quarry_link chunks;  /* with free bins; looked at under the mutex */
    struct quarry_mutex mutex;
    SIMT_ALIGNAS(256) struct quarry_ualloc_list list[QUARRY_UALLOC_CLASSES];
};

struct quarry_ualloc {
    struct quarry_pages pages;
    struct quarry_bin_shape shape;
    struct quarry_buddy buddy;
    struct quarry_ualloc *self;
    struct quarry_ualloc_arena *arena;
    struct quarry_semaphore *supply; /* of the classes; then of bins */
    uint32_t *chunk;
    unsigned char *heads;
    uint64_t head_stride;
    uint32_t arenas, unit;
};

/* ---- parts ---- */

SIMT_FN void *quarry_ualloc_head(const struct quarry_ualloc *h, uint32_t page)
{
    return h->heads + page * h->head_stride;
}

SIMT_FN struct quarry_bin *quarry_ualloc_bin(const struct quarry_ualloc *h, uint32_t page)
{
    return (struct quarry_bin *)quarry_ualloc_head(h, page);
}

/* The first page of the chunk that has the page. */
SIMT_FN uint32_t quarry_ualloc_first(const struct quarry_ualloc *h, uint32_t page)
{
    return page >> h->shape.chunk_log << h->shape.chunk_log;
}

SIMT_FN struct quarry_bin_chunk *quarry_ualloc_chunk(const struct quarry_ualloc *h, uint32_t page)
{
    return (struct quarry_bin_chunk *)quarry_ualloc_head(h, quarry_ualloc_first(h, page));
}

/* Does the page belong to a chunk? */
SIMT_FN int quarry_ualloc_is_chunk(const struct quarry_ualloc *h, uint32_t page)
{
    uint32_t number = page >> h->shape.chunk_log;
    return (int)(simt_load_u32(&h->chunk[number / 32u], relaxed) >> number % 32u & 1u);
}

/* Is a page of a chunk a free bin? */
SIMT_FN int quarry_ualloc_is_spare(const struct quarry_ualloc *h, uint32_t page)
{
    uint32_t number = page & (quarry_bin_chunk_pages(&h->shape) - 1u);
    uint64_t spare = simt_load_u64(&quarry_ualloc_chunk(h, page)->spare[number / 64u], relaxed);
    return (int)(spare >> number % 64u & 1u);
}

SIMT_FN struct quarry_semaphore *quarry_ualloc_bins(const struct quarry_ualloc *h)
{
    return &h->supply[h->shape.classes];
}

SIMT_FN struct quarry_ualloc_list *quarry_ualloc_list_of(const struct quarry_ualloc *h,
                                                         const struct quarry_bin *bin)
{
    return &h->arena[bin->arena].list[bin->class_];
}

/* The order of blocks of pages that hold so many bytes, 1 to max_block. */
SIMT_FN uint32_t quarry_ualloc_order(const struct quarry_ualloc *h, uint64_t bytes)
{
    uint32_t pages = quarry_page_count(&h->pages, bytes);
    return pages == 1 ? 0 : 32u - simt_clz_u32(pages - 1u);
}

SIMT_FN void quarry_ualloc_init(const struct quarry_ualloc *h, uint64_t thread, uint64_t threads)
{
    quarry_buddy_init(&h->buddy, thread, threads);
    for (uint64_t i = thread; i <= h->shape.classes; i += threads)
        quarry_semaphore_init(&h->supply[i], 0);
    for (uint64_t i = thread; i <= h->pages.count >> h->shape.chunk_log >> 5; i += threads)
        h->chunk[i] = 0;
    for (uint64_t i = thread; i < h->arenas; i += threads) {
        struct quarry_ualloc_arena *a = &h->arena[i];
        a->readers.readers = a->readers.queue = 0;
        a->readers.waiting = a->readers.mutex.held = a->mutex.held = 0;
        quarry_list_init(&a->chunks);
        for (uint32_t k = 0; k < h->shape.classes; k++) {
            quarry_list_init(&a->list[k].bins);
            a->list[k].mutex.held = 0;
        }
    }
    if (thread == 0)
        *h->self = *h;
}

/* ---- lists of bins ---- */

/* Lists a bin that has free blocks.  A reader of the list calls it. */
SIMT_FN void quarry_ualloc_enlist(const struct quarry_ualloc *h, struct quarry_bin *bin)
{
    struct quarry_ualloc_list *list = quarry_ualloc_list_of(h, bin);
    quarry_mutex_acquire(&list->mutex);
    uint32_t word = simt_load_u32(&bin->word, relaxed);
    if (quarry_bin_free(word) != 0 && !(word & QUARRY_BIN_LISTED)) {
        /* At the front: a reader that stands on it, since it was in the list before, begins anew. */
        quarry_list_insert(&list->bins, &bin->link);
        /* release: who raises the count next, and finds it listed, signals a bin that can be found */
        (void)simt_or_u32(&bin->word, QUARRY_BIN_LISTED, release);
    }
    quarry_mutex_release(&list->mutex);
}

/* Unlists a bin if it has no free block.  A reader of the list calls it. */
SIMT_FN void quarry_ualloc_unlist(const struct quarry_ualloc *h, struct quarry_bin *bin)
{
    struct quarry_ualloc_list *list = quarry_ualloc_list_of(h, bin);
    quarry_mutex_acquire(&list->mutex);
    uint32_t word = simt_load_u32(&bin->word, relaxed);
    /* If somebody has raised the count since, it is left listed: he has seen that it is. */
    if (quarry_bin_free(word) == 0 && (word & QUARRY_BIN_LISTED) &&
        simt_cas_u32(&bin->word, word, word & ~QUARRY_BIN_LISTED, relaxed) == word)
        quarry_list_remove(&bin->link);
    quarry_mutex_release(&list->mutex);
}

/* ---- retiring ---- */

/* All bins of a chunk, as bits of spare[i]. */
SIMT_FN uint64_t quarry_ualloc_all(const struct quarry_ualloc *h, uint32_t i)
{
    uint32_t pages = quarry_bin_chunk_pages(&h->shape), heads = h->shape.heads;
    uint64_t below = pages > 64u * i + 63u ? ~(uint64_t)0 : ((uint64_t)1 << (pages & 63u)) - 1u;
    uint64_t not_bins = heads > 64u * i + 63u ? ~(uint64_t)0
                        : heads > 64u * i     ? ((uint64_t)1 << (heads & 63u)) - 1u
                                              : 0;
    return pages > 64u * i ? below & ~not_bins : 0;
}

SIMT_FN int quarry_ualloc_is_empty(const struct quarry_ualloc *h, const struct quarry_bin_chunk *chunk)
{
    return simt_load_u64(&chunk->spare[0], relaxed) == quarry_ualloc_all(h, 0) &&
           simt_load_u64(&chunk->spare[1], relaxed) == quarry_ualloc_all(h, 1);
}

/* Gives a chunk back if all its bins are free when their units are.  The caller has set `retiring`. */
SIMT_FN void quarry_ualloc_retire_chunk(const struct quarry_ualloc *h, uint32_t first)
{
    struct quarry_bin_chunk *chunk = quarry_ualloc_chunk(h, first);
    struct quarry_ualloc_arena *a = &h->arena[chunk->arena];
    struct quarry_semaphore *bins = quarry_ualloc_bins(h), *above = &h->buddy.units[h->shape.chunk_log];
    uint32_t n = quarry_bin_count(&h->shape), number = first >> h->shape.chunk_log;
    for (;; simt_backoff()) {
        int announced = quarry_semaphore_free(simt_load_u64(&bins->balance, relaxed)) >= (int64_t)n,
            taken = 0;
        if (announced) {
            quarry_semaphore_announce(above, 1);
            simt_fence(acq_rel); /* pairs with that of who refuses, on its way up */
            taken = quarry_semaphore_try(bins, n);
        }
        quarry_mutex_acquire(&a->mutex);
        int empty = quarry_ualloc_is_empty(h, chunk);
        if (empty && taken) {
            quarry_list_remove(&chunk->link);
            (void)simt_and_u32(&h->chunk[number / 32u], ~(1u << number % 32u), relaxed);
        } else if (!empty) {
            chunk->retiring = 0;
        }
        quarry_mutex_release(&a->mutex);
        if (empty && taken)
            (void)quarry_buddy_give(&h->buddy, first);
        else if (taken)
            quarry_semaphore_signal(bins, n);
        if (announced) {
            simt_fence(acq_rel); /* pairs with that of who refuses, on its way down */
            quarry_semaphore_retract(above, 1);
        }
        if (taken || !empty)
            return;
    }
}

/* Gives a bin to its chunk.  Its unit has been announced; no reader knows it. */
SIMT_FN void quarry_ualloc_give_bin(const struct quarry_ualloc *h, uint32_t page)
{
    struct quarry_bin_chunk *chunk = quarry_ualloc_chunk(h, page);
    struct quarry_ualloc_arena *a = &h->arena[chunk->arena];
    uint32_t number = page & (quarry_bin_chunk_pages(&h->shape) - 1u);
    uint64_t *spare = &chunk->spare[number / 64u];
    quarry_mutex_acquire(&a->mutex);
    if ((chunk->spare[0] | chunk->spare[1]) == 0)
        quarry_list_insert(&a->chunks, &chunk->link);
    simt_store_u64(spare, *spare | (uint64_t)1 << number % 64u, relaxed);
    int retires = !chunk->retiring && quarry_ualloc_is_empty(h, chunk);
    if (retires)
        chunk->retiring = 1;
    quarry_mutex_release(&a->mutex);
    quarry_semaphore_add(quarry_ualloc_bins(h), 1, 0, 1);
    if (retires)
        quarry_ualloc_retire_chunk(h, quarry_ualloc_first(h, page));
}

/* Takes a bin whose blocks are all free out of use, or finds that some are not.  The caller has set RETIRING.
 * Returns whether it is retired. */
SIMT_FN int quarry_ualloc_retire_try(const struct quarry_ualloc *h, struct quarry_bin *bin)
{
    struct quarry_semaphore *units = &h->supply[bin->class_], *bins = quarry_ualloc_bins(h);
    uint32_t blocks = quarry_bin_blocks(&h->shape, bin->class_);
    uint32_t full = blocks * QUARRY_BIN_ONE | QUARRY_BIN_LISTED | QUARRY_BIN_RETIRING;
    for (;; simt_backoff()) {
        uint32_t word = simt_load_u32(&bin->word, relaxed);
        if (quarry_bin_free(word) != blocks) {
            /* release: pairs with the acquire of who sets it next, after whom the head may be reused */
            if (simt_cas_u32(&bin->word, word, word & ~QUARRY_BIN_RETIRING, release) == word)
                return 0;
            continue;
        }
        if (word != full || quarry_semaphore_free(simt_load_u64(&units->balance, relaxed)) < (int64_t)blocks)
            continue; /* somebody is about to list it, or has a claim to a unit */
        quarry_semaphore_announce(bins, 1);
        simt_fence(acq_rel); /* pairs with that of who refuses, on its way up */
        if (quarry_semaphore_try(units, blocks)) {
            /* acq_rel: pairs with quarry_bin_raise; no flag stays, and no block is free */
            if (simt_cas_u32(&bin->word, full, 0, acq_rel) == full)
                return 1;
            quarry_semaphore_signal(units, blocks);
            simt_fence(acq_rel); /* pairs with that of who refuses, on its way down */
        }
        quarry_semaphore_retract(bins, 1);
    }
}

/* Retires a bin, if that can be.  A lane calls it, outside of read sections. */
SIMT_NOINLINE_FN void quarry_ualloc_retire(const struct quarry_ualloc *h, struct quarry_bin *bin)
{
    if (!quarry_ualloc_retire_try(h, bin))
        return;
    struct quarry_srcu *readers = &h->arena[bin->arena].readers;
    struct quarry_ualloc_list *list = quarry_ualloc_list_of(h, bin);
    quarry_mutex_acquire(&list->mutex);
    quarry_list_remove(&bin->link);
    quarry_mutex_release(&list->mutex);
    quarry_srcu_queue(readers, &bin->callback);
    struct quarry_srcu_callback *due = quarry_srcu_barrier_or_delegate(readers);
    while (due) {
        struct quarry_srcu_callback *next = due->next;
        bin = (struct quarry_bin *)(void *)((unsigned char *)due - sizeof(struct quarry_link));
        quarry_ualloc_give_bin(h, bin->page);
        due = next;
    }
}

/* ---- malloc ---- */

/* Takes a free bin.  The caller has a unit of the semaphore of bins, so there is one.
 * Returns its page. */
SIMT_FN uint32_t quarry_ualloc_find_bin(const struct quarry_ualloc *h, uint32_t own)
{
    for (uint32_t i = own;;) {
        struct quarry_ualloc_arena *a = &h->arena[i];
        if (quarry_list_next(&a->chunks) != &a->chunks) {
            uint32_t page = QUARRY_NO_PAGE;
            quarry_mutex_acquire(&a->mutex);
            struct quarry_link *link = quarry_list_next(&a->chunks);
            if (link != &a->chunks) {
                struct quarry_bin_chunk *chunk = (struct quarry_bin_chunk *)(void *)link;
                uint32_t half = chunk->spare[0] == 0, bit = simt_ctz_u64(chunk->spare[half]);
                simt_store_u64(&chunk->spare[half], chunk->spare[half] & (chunk->spare[half] - 1u), relaxed);
                if ((chunk->spare[0] | chunk->spare[1]) == 0)
                    quarry_list_remove(link);
                page = (uint32_t)((uint64_t)((unsigned char *)link - h->heads) / h->head_stride) +
                       64u * half + bit;
            }
            quarry_mutex_release(&a->mutex);
            if (page != QUARRY_NO_PAGE)
                return page;
        }
        i = i + 1u < h->arenas ? i + 1u : 0;
        if (i == own)
            simt_backoff();
    }
}

/* Makes pages a chunk of the caller's arena, but for one bin, which the caller keeps.
 * Returns that. */
SIMT_FN uint32_t quarry_ualloc_make_chunk(const struct quarry_ualloc *h, uint32_t own, uint32_t first)
{
    struct quarry_bin_chunk *chunk = quarry_ualloc_chunk(h, first);
    struct quarry_ualloc_arena *a = &h->arena[own];
    uint32_t bit = h->shape.heads, number = first >> h->shape.chunk_log;
    chunk->arena = own;
    chunk->retiring = 0;
    for (uint32_t i = 0; i < 2; i++)
        simt_store_u64(&chunk->spare[i],
                       quarry_ualloc_all(h, i) & ~(bit / 64u == i ? (uint64_t)1 << bit % 64u : 0), relaxed);
    (void)simt_or_u32(&h->chunk[number / 32u], 1u << number % 32u, relaxed);
    if (quarry_bin_count(&h->shape) > 1u) {
        quarry_mutex_acquire(&a->mutex);
        quarry_list_insert(&a->chunks, &chunk->link);
        quarry_mutex_release(&a->mutex);
    }
    return first + bit;
}

/* What a group knows of its malloc of small blocks.  Volatile, as is what it lives in: registers are the kernel's. */
struct quarry_ualloc_ask {
    uint32_t class_;
    uint32_t needs; /* lanes that have no block yet, and were not refused one */
    void *block;    /* the caller's */
    /* The leader's account */
    uint32_t owed, promised;           /* of the class: the semaphore owes it, and it has promised to make */
    uint32_t owed_bins, promised_bins; /* likewise of bins */
};

SIMT_FN void *quarry_ualloc_address(const struct quarry_ualloc *h, uint32_t page, uint32_t class_,
                                    uint32_t index)
{
    return h->pages.base + quarry_bin_offset(&h->shape, page, class_, index);
}

/* Finds blocks for the first n lanes that need one, which have a unit each.  Scope: group, reconverged. */
SIMT_FN void quarry_ualloc_search(const struct quarry_ualloc *h, volatile struct quarry_ualloc_ask *a,
                                  uint32_t group, uint32_t n)
{
    uint32_t class_ = a->class_, needs = a->needs;
    uint32_t has = simt_ballot(group, (needs >> simt_lane() & 1u) && simt_rank(needs) < n);
    uint32_t leader = simt_ctz_u32(group), words = (quarry_bin_blocks(&h->shape, class_) + 31u) / 32u;
    uint32_t at = simt_sm() % h->arenas;
    a->needs = needs & ~has;
    for (;; simt_backoff()) {
        /* Past arenas that have none. */
        for (uint32_t i = 1; simt_rank(group) == 0 && i < h->arenas; i++) {
            const struct quarry_link *bins = &h->arena[at].list[class_].bins;
            if (quarry_list_next(bins) != bins)
                break;
            at = at + 1u < h->arenas ? at + 1u : 0;
        }
        at = simt_shuffle_u32(group, at, leader);
        struct quarry_ualloc_list *list = &h->arena[at].list[class_];
        struct quarry_srcu *readers = &h->arena[at].readers;
        uint32_t section = quarry_srcu_enter(readers, group), got = 1;
        while (has && got) {
            struct quarry_bin *bin = SIMT_NULL;
            uint32_t after = 0;
            got = 0;
            if (simt_rank(group) == 0) {
                struct quarry_link *link = quarry_list_next(&list->bins);
                for (; link != &list->bins && got == 0; link = quarry_list_next(link)) {
                    bin = (struct quarry_bin *)(void *)link;
                    got = quarry_bin_lower(bin, simt_popc_u32(has), &after);
                    if (got)
                        break;
                }
                if (got && quarry_bin_free(after) == 0 && (after & QUARRY_BIN_LISTED))
                    quarry_ualloc_unlist(h, bin);
            }
            got = simt_shuffle_u32(group, got, leader);
            if (got == 0)
                break;
            uint32_t page = simt_rank(group) == 0 ? bin->page : 0;
            page = simt_shuffle_u32(group, page, leader);
            uint32_t takers = simt_ballot(group, (has >> simt_lane() & 1u) && simt_rank(has) < got);
            uint32_t index = quarry_bin_take(quarry_ualloc_bin(h, page), words, group, takers);
            if (takers >> simt_lane() & 1u)
                a->block = quarry_ualloc_address(h, page, class_, index);
            has &= ~takers;
        }
        quarry_srcu_leave(readers, group, section); /* and what the leader acquired holds for all */
        if (has == 0)
            return;
        at = at + 1u < h->arenas ? at + 1u : 0;
    }
}

/* The leader makes a bin of a page, or tells that it got none, if the page is QUARRY_NO_PAGE.
 *   kept      out: its first so many blocks are the group's
 *   refused   out: lanes that get none */
SIMT_FN void quarry_ualloc_make_bin(const struct quarry_ualloc *h, volatile struct quarry_ualloc_ask *a,
                                    uint32_t page, uint32_t *kept, uint32_t *refused)
{
    uint32_t class_ = a->class_, own = simt_sm() % h->arenas, blocks = quarry_bin_blocks(&h->shape, class_);
    uint32_t owed = a->owed, promised = a->promised;
    if (page != QUARRY_NO_PAGE) {
        struct quarry_bin *bin = quarry_ualloc_bin(h, page);
        struct quarry_ualloc_list *list = &h->arena[own].list[class_];
        *kept = owed < blocks ? owed : blocks;
        quarry_bin_make(bin, page, class_, own, blocks, *kept);
        if (*kept < blocks) {
            quarry_mutex_acquire(&list->mutex);
            quarry_list_insert(&list->bins, &bin->link);
            quarry_mutex_release(&list->mutex);
        }
        quarry_semaphore_produced(&h->supply[class_], &owed, blocks, &promised);
    } else {
        simt_fence(acq_rel); /* what the semaphore of bins said comes before what this one says */
        *refused = quarry_semaphore_withdraw(&h->supply[class_], &owed, promised, &promised);
    }
    a->owed = owed;
    a->promised = promised;
}

/* A bin for the group, or none: gives its first blocks to lanes, or refuses some.  Scope: group, reconverged. */
SIMT_FN void quarry_ualloc_deal(const struct quarry_ualloc *h, volatile struct quarry_ualloc_ask *a,
                                uint32_t group, uint32_t page)
{
    uint32_t leader = simt_ctz_u32(group), needs = a->needs, rank = simt_rank(needs), kept = 0, refused = 0;
    if (simt_rank(group) == 0)
        quarry_ualloc_make_bin(h, a, page, &kept, &refused);
    simt_sync(group); /* what the leader acquired and made is there for all */
    page = simt_shuffle_u32(group, page, leader);
    kept = simt_shuffle_u32(group, kept, leader);
    refused = simt_shuffle_u32(group, refused, leader);
    int mine = (needs >> simt_lane() & 1u) != 0;
    if (mine && rank < kept)
        a->block = quarry_ualloc_address(h, page, a->class_, rank);
    a->needs = simt_ballot(group, mine && rank >= kept && rank < simt_popc_u32(needs) - refused);
}

/* The leader asks for a bin.
 *   page   out: it
 * Returns 0: a chunk is to be taken first. */
SIMT_FN int quarry_ualloc_ask_bin(const struct quarry_ualloc *h, volatile struct quarry_ualloc_ask *a,
                                  uint32_t *page)
{
    struct quarry_semaphore *bins = quarry_ualloc_bins(h);
    uint32_t owed = a->owed_bins, promised = 0;
    if (owed == 0) {
        simt_fence(acq_rel); /* what the class's semaphore said comes before what this one says */
        owed = 1u - quarry_semaphore_ask(bins, 1);
    }
    if (owed)
        promised = quarry_semaphore_wait(bins, &owed, quarry_bin_count(&h->shape));
    a->owed_bins = owed;
    a->promised_bins = promised;
    simt_fence(acq_rel); /* what this semaphore said comes before what the next one says */
    if (promised)
        return 0;
    *page = quarry_ualloc_find_bin(h, simt_sm() % h->arenas);
    return 1;
}

/* The leader has a chunk, or, if `first` is QUARRY_NO_PAGE, gets none.
 *   page   out: a bin; untouched: it gets none
 * Returns 0: it is owed one all the same. */
SIMT_FN int quarry_ualloc_got_chunk(const struct quarry_ualloc *h, volatile struct quarry_ualloc_ask *a,
                                    uint32_t first, uint32_t *page)
{
    struct quarry_semaphore *bins = quarry_ualloc_bins(h);
    uint32_t owed = a->owed_bins, promised = a->promised_bins;
    if (first != QUARRY_NO_PAGE) {
        *page = quarry_ualloc_make_chunk(h, simt_sm() % h->arenas, first);
        quarry_semaphore_produced(bins, &owed, promised, &promised);
    } else {
        simt_fence(acq_rel); /* what the buddy system said comes before what this semaphore says */
        (void)quarry_semaphore_withdraw(bins, &owed, promised, &promised);
    }
    a->owed_bins = owed;
    return owed == 0;
}

/* Gets blocks for the lanes of a group, as far as there are units or bins.
 * Returns whether the leader is to take a chunk; if not, all have a block or NULL.  Scope: group, reconverged.
 * Progress: waits for lanes that make what it needs. */
SIMT_FN int quarry_ualloc_advance(const struct quarry_ualloc *h, volatile struct quarry_ualloc_ask *a,
                                  uint32_t group)
{
    uint32_t leader = simt_ctz_u32(group);
    for (;;) {
        uint32_t got = 0, page = QUARRY_NO_PAGE;
        int has_bin = 0;
        if (simt_rank(group) == 0) {
            if (a->promised == 0 && a->owed) {
                uint32_t owed = a->owed;
                a->promised = quarry_semaphore_wait(&h->supply[a->class_], &owed,
                                                    quarry_bin_blocks(&h->shape, a->class_));
                got = a->owed - owed;
                a->owed = owed;
            }
            if (got == 0 && a->promised)
                has_bin = quarry_ualloc_ask_bin(h, a, &page);
        }
        /* 0: all is done; 64: a chunk; 65: a bin; else units, which are to be searched for at once */
        uint32_t said = got ? got : has_bin ? 65u : a->promised ? 64u : 0;
        said = simt_shuffle_u32(group, said, leader);
        if (said == 64u || said == 0)
            return said != 0;
        if (said == 65u)
            quarry_ualloc_deal(h, a, group, page);
        else
            quarry_ualloc_search(h, a, group, said);
    }
}

/* Serves lanes that want blocks of a class, or of an order.  Out of line: the switch over all allocators would have
 * its registers.  Scope: group, reconverged. */
SIMT_NOINLINE_FN void *quarry_ualloc_serve(const struct quarry_ualloc *h, uint32_t group, int small,
                                           uint32_t kind)
{
    uint32_t party = group, order = kind, leader = simt_ctz_u32(group);
    volatile struct quarry_ualloc_ask a;
    if (small) {
        uint32_t got = 0;
        a.class_ = kind;
        a.needs = group;
        a.block = SIMT_NULL;
        a.owed = a.promised = a.owed_bins = a.promised_bins = 0;
        if (simt_rank(group) == 0) {
            got = quarry_semaphore_ask(&h->supply[kind], simt_popc_u32(group));
            a.owed = simt_popc_u32(group) - got;
        }
        got = simt_shuffle_u32(group, got, leader);
        if (got)
            quarry_ualloc_search(h, &a, group, got);
        if (!quarry_ualloc_advance(h, &a, group))
            return a.block;
        party = 1u << leader;
        order = h->shape.chunk_log;
    }
    for (;;) { /* the only place that takes pages */
        uint32_t page = QUARRY_NO_PAGE, bin = QUARRY_NO_PAGE;
        int goes_on = 1;
        if (party >> simt_lane() & 1u) {
            struct quarry_random r = quarry_random_start();
            page = quarry_buddy_take(&h->buddy, &r, party, order);
        }
        if (!small)
            return page == QUARRY_NO_PAGE ? SIMT_NULL : quarry_page_address(&h->pages, page);
        if (simt_rank(group) == 0)
            goes_on = quarry_ualloc_got_chunk(h, &a, page, &bin);
        if (simt_shuffle_u32(group, (uint32_t)goes_on, leader))
            quarry_ualloc_deal(h, &a, group, bin);
        if (!quarry_ualloc_advance(h, &a, group))
            return a.block;
    }
}

SIMT_FN void *quarry_ualloc_malloc(const struct quarry_ualloc *h, struct quarry_context *context,
                                   uint64_t bytes)
{
    int small = bytes <= quarry_bin_most_bytes(&h->shape);
    uint32_t kind = small ? quarry_bin_class(&h->shape, bytes) : quarry_ualloc_order(h, bytes);
    struct quarry_semaphore *units = small ? &h->supply[kind] : &h->buddy.units[kind];
    uint32_t group = quarry_group(units, QUARRY_SITE_UALLOC_MALLOC);
    quarry_step(context);
    return quarry_ualloc_serve(h->self, group, small, kind);
}

/* ---- free ---- */

/* The block of a bin that has an address. */
struct quarry_ualloc_where {
    uint32_t page;  /* the bin, or QUARRY_NO_PAGE */
    uint32_t index; /* of the block */
};

/* Looks for an address of a page that is in a chunk. */
SIMT_FN struct quarry_ualloc_where quarry_ualloc_locate(const struct quarry_ualloc *h, uint32_t page,
                                                        const void *address)
{
    struct quarry_ualloc_where w = {page, QUARRY_BIN_NOTHING};
    uint32_t offset = (uint32_t)((const unsigned char *)address -
                                 (const unsigned char *)quarry_page_address(&h->pages, page));
    quarry_bin_locate(&h->shape, &w.page, &offset);
    if (offset != QUARRY_BIN_NOTHING && !quarry_ualloc_is_spare(h, w.page)) {
        uint32_t class_ = simt_load_u32(&quarry_ualloc_bin(h, w.page)->class_, relaxed);
        if (class_ < h->shape.classes)
            w.index = quarry_bin_index(&h->shape, class_, offset);
    }
    if (w.index == QUARRY_BIN_NOTHING)
        w.page = QUARRY_NO_PAGE;
    return w;
}

/* n blocks of a bin have been given; their bits are clear.  The leader calls it, as a reader.
 * Returns whether the caller is to retire the bin. */
SIMT_FN int quarry_ualloc_given(const struct quarry_ualloc *h, struct quarry_bin *bin, uint32_t n)
{
    uint32_t class_ = bin->class_, blocks = quarry_bin_blocks(&h->shape, class_);
    uint32_t word = quarry_bin_raise(bin, n);
    int retires = 0;
    if (!(word & QUARRY_BIN_LISTED))
        quarry_ualloc_enlist(h, bin);
    word = simt_load_u32(&bin->word, relaxed);
    while (quarry_bin_free(word) == blocks && !(word & QUARRY_BIN_RETIRING) && !retires) {
        uint32_t seen = simt_cas_u32(&bin->word, word, word | QUARRY_BIN_RETIRING, acquire);
        retires = seen == word;
        word = seen;
    }
    quarry_semaphore_signal(&h->supply[class_], n); /* when it can be found, and not before */
    return retires;
}

SIMT_FN void quarry_ualloc_free(const struct quarry_ualloc *h, void *block)
{
    uint32_t page = quarry_page_index(&h->pages, block);
    struct quarry_ualloc_where w = {QUARRY_NO_PAGE, 0};
    if (page == QUARRY_NO_PAGE || h->shape.classes == 0 || !quarry_ualloc_is_chunk(h, page)) {
        int live = page != QUARRY_NO_PAGE && quarry_buddy_give(&h->buddy, page);
        QUARRY_ASSERT_LIVE(live);
        (void)live;
        return;
    }
    w = quarry_ualloc_locate(h, page, block);
    QUARRY_ASSERT_LIVE(w.page != QUARRY_NO_PAGE);
    if (w.page == QUARRY_NO_PAGE)
        return;
    struct quarry_bin *bin = quarry_ualloc_bin(h, w.page);
    uint32_t group = quarry_group(bin, QUARRY_SITE_UALLOC_FREE);
    uint32_t arena = simt_load_u32(&bin->arena, relaxed);
    struct quarry_srcu *readers = &h->arena[arena < h->arenas ? arena : 0].readers;
    uint32_t section = quarry_srcu_enter(readers, group);
    int live = quarry_bin_give(bin, w.index), retires = 0;
    QUARRY_ASSERT_LIVE(live);
    uint32_t n = simt_popc_u32(simt_ballot(group, live));
    simt_sync(group); /* all bits are clear */
    if (simt_rank(group) == 0 && n)
        retires = quarry_ualloc_given(h, bin, n);
    quarry_srcu_leave(readers, group, section); /* and signalled, before any lane asks again */
    if (retires)
        quarry_ualloc_retire(h->self, bin);
}

/* Gives back of a large block what quarry_buddy_keep does; of a bin's nothing. */
SIMT_FN void quarry_ualloc_trim(const struct quarry_ualloc *h, void *block, void *user, uint64_t bytes)
{
    uint32_t first = quarry_page_index(&h->pages, user);
    (void)block;
    if (h->shape.classes == 0 || !quarry_ualloc_is_chunk(h, first))
        quarry_buddy_keep(&h->buddy, first, quarry_page_index(&h->pages, (unsigned char *)user + bytes - 1u));
}

/* ---- looking ---- */

SIMT_FN enum quarry_place quarry_ualloc_find(const struct quarry_ualloc *h, const void *address,
                                             struct quarry_span *span)
{
    uint32_t page = quarry_page_find(&h->pages, address, span), order;
    if (page == QUARRY_NO_PAGE)
        return QUARRY_PLACE_FOREIGN;
    if (h->shape.classes && quarry_ualloc_is_chunk(h, page)) {
        struct quarry_ualloc_where w = quarry_ualloc_locate(h, page, address);
        if (w.page != QUARRY_NO_PAGE) {
            struct quarry_bin *bin = quarry_ualloc_bin(h, w.page);
            uint32_t class_ = simt_load_u32(&bin->class_, relaxed);
            if (class_ < h->shape.classes &&
                (simt_load_u32(&bin->used[w.index / 32u], relaxed) >> w.index % 32u & 1u)) {
                span->begin = (unsigned char *)quarry_ualloc_address(h, w.page, class_, w.index);
                span->bytes = (uint64_t)1 << (h->shape.least_log + class_);
                return QUARRY_PLACE_LIVE;
            }
        }
    } else {
        if (quarry_buddy_find(&h->buddy, page, &order) == QUARRY_BUDDY_TAKEN) {
            span->begin = (unsigned char *)quarry_page_address(&h->pages, page >> order << order);
            span->bytes = h->pages.page_bytes << order;
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

/* Counts a node of the tree. */
SIMT_FN void quarry_ualloc_count_node(const struct quarry_ualloc *h, uint32_t state, uint32_t height,
                                      uint32_t index, uint64_t bytes, struct quarry_census *sum)
{
    const struct quarry_bin_shape *s = &h->shape;
    uint64_t size = h->pages.page_bytes << height;
    if (state == QUARRY_BUDDY_TAKEN &&
        !(s->classes && height == s->chunk_log && quarry_ualloc_is_chunk(h, index << height))) {
        sum->live_blocks++;
        sum->live_bytes += size;
    }
    if (state != QUARRY_BUDDY_AVAILABLE)
        return;
    sum->free_bytes += size;
    sum->largest_free = size > sum->largest_free ? size : sum->largest_free;
    sum->odds += quarry_census_key(height);
    if (bytes == 0 || bytes > h->pages.page_bytes << h->buddy.top)
        return;
    if (bytes > quarry_bin_most_bytes(s))
        sum->slots += bytes <= size ? (uint64_t)1 << (height - quarry_ualloc_order(h, bytes)) : 0;
    else if (height >= s->chunk_log)
        sum->slots += ((uint64_t)quarry_bin_count(s) << (height - s->chunk_log)) *
                      quarry_bin_blocks(s, quarry_bin_class(s, bytes));
}

/* Counts a page of a chunk. */
SIMT_FN void quarry_ualloc_count_page(const struct quarry_ualloc *h, uint32_t page, uint64_t bytes,
                                      struct quarry_census *sum)
{
    const struct quarry_bin_shape *s = &h->shape;
    uint32_t wanted = bytes && bytes <= quarry_bin_most_bytes(s) ? quarry_bin_class(s, bytes) : s->classes;
    uint32_t live = 0;
    if ((page & (quarry_bin_chunk_pages(s) - 1u)) < s->heads)
        return;
    if (quarry_ualloc_is_spare(h, page)) {
        sum->free_bytes += s->page_bytes - s->head_bytes;
        sum->odds += quarry_ualloc_key(s->classes);
        sum->slots += wanted < s->classes ? quarry_bin_blocks(s, wanted) : 0;
        if (sum->largest_free < quarry_bin_most_bytes(s))
            sum->largest_free = quarry_bin_most_bytes(s);
        return;
    }
    struct quarry_bin *bin = quarry_ualloc_bin(h, page);
    uint32_t class_ = simt_load_u32(&bin->class_, relaxed), word = simt_load_u32(&bin->word, relaxed);
    if (class_ >= s->classes) {
        sum->faults++;
        return;
    }
    uint32_t blocks = quarry_bin_blocks(s, class_), clear = 0;
    uint64_t size = (uint64_t)1 << (s->least_log + class_);
    for (uint32_t i = 0; i < QUARRY_BIN_WORDS; i++)
        clear += simt_popc_u32(~simt_load_u32(&bin->used[i], relaxed));
    clear = clear < blocks ? clear : blocks;
    live = blocks - clear;
    /* A bin that is all free would be retired. */
    sum->faults += quarry_bin_free(word) != clear || (word & QUARRY_BIN_RETIRING) || clear == blocks ||
                   (clear != 0 && !(word & QUARRY_BIN_LISTED)) || bin->page != page ||
                   bin->arena >= h->arenas;
    sum->odds += clear * quarry_ualloc_key(class_);
    sum->live_blocks += live;
    sum->live_bytes += live * size;
    sum->free_bytes += clear * size;
    if (clear && sum->largest_free < size)
        sum->largest_free = size;
    sum->slots += class_ == wanted ? clear : 0;
}

/* Is the copy of the struct another one? */
SIMT_FN int quarry_ualloc_is_foreign(const struct quarry_ualloc *h, const struct quarry_ualloc *self)
{
    return self->self != h->self || self->arena != h->arena || self->supply != h->supply ||
           self->chunk != h->chunk || self->heads != h->heads || self->head_stride != h->head_stride ||
           self->pages.base != h->pages.base || self->pages.count != h->pages.count ||
           self->buddy.word != h->buddy.word || self->buddy.units != h->buddy.units ||
           self->shape.chunk_log != h->shape.chunk_log || self->shape.classes != h->shape.classes;
}

/* How often the structures of an arena that nobody uses contradict themselves. */
SIMT_FN uint32_t quarry_ualloc_arena_faults(const struct quarry_ualloc *h,
                                            const struct quarry_ualloc_arena *a)
{
    uint64_t readers = a->readers.readers;
    uint32_t faults = (quarry_srcu_count(readers, 0) | quarry_srcu_count(readers, 1)) != 0;
    faults += a->readers.queue != 0;
    faults += (a->readers.waiting | a->readers.mutex.held | a->mutex.held) != 0;
    for (uint32_t k = 0; k < h->shape.classes; k++)
        faults += a->list[k].mutex.held != 0;
    return faults;
}

/* Slots while others malloc and free, as quarry_buddy_slots, from the blocks of bins on.
 * Scope: share->group. */
SIMT_FN uint64_t quarry_ualloc_slots(const struct quarry_ualloc *h, uint64_t bytes, uint32_t group)
{
    const struct quarry_bin_shape *s = &h->shape;
    if (bytes > quarry_bin_most_bytes(s))
        return quarry_buddy_slots(&h->buddy, quarry_ualloc_order(h, bytes), group);
    uint32_t class_ = quarry_bin_class(s, bytes), blocks = quarry_bin_blocks(s, class_);
    uint64_t chunk = (uint64_t)quarry_bin_count(s) * blocks, slots = 0;
    if (simt_rank(group) == 0) {
        slots = quarry_semaphore_coming(&h->supply[class_]);
        simt_fence(acq_rel); /* pairs with that of quarry_ualloc_retire_try */
        slots += quarry_semaphore_coming(quarry_ualloc_bins(h)) * blocks;
        simt_fence(acq_rel); /* pairs with that of quarry_ualloc_retire_chunk */
    }
    slots += quarry_buddy_slots(&h->buddy, s->chunk_log, group) * chunk;
    uint64_t most = (h->pages.count >> s->chunk_log) * chunk;
    return slots < most ? slots : most;
}

SIMT_FN void quarry_ualloc_census(const struct quarry_ualloc *h, uint64_t bytes,
                                  const struct quarry_census_share *share, struct quarry_census *sum)
{
    const struct quarry_buddy *b = &h->buddy;
    if (!share->idle) {
        sum->slots += quarry_ualloc_slots(h, bytes, share->group);
        return;
    }
    for (uint64_t i = share->thread; i < b->words; i += share->threads) {
        uint32_t w = (uint32_t)i, group = quarry_buddy_group(b, w);
        uint64_t word = simt_load_u64(&b->word[w], relaxed);
        for (uint32_t node = 2; node < 2 * QUARRY_BUDDY_WAYS; node++)
            quarry_ualloc_count_node(h, quarry_buddy_state(word, node), quarry_buddy_height(group, node),
                                     quarry_buddy_index(b, group, w, node), bytes, sum);
        sum->faults += quarry_buddy_is_wrong(b, w, word) != 0;
    }
    for (uint64_t i = share->thread; h->shape.classes && i < h->pages.count; i += share->threads)
        if (quarry_ualloc_is_chunk(h, (uint32_t)i))
            quarry_ualloc_count_page(h, (uint32_t)i, bytes, sum);
    if (share->thread == 0)
        sum->faults += (uint32_t)quarry_ualloc_is_foreign(h, h->self);
    for (uint64_t i = share->thread; i <= b->top; i += share->threads) {
        sum->odds -= simt_load_u64(&b->units[i].units, relaxed) * quarry_census_key((uint32_t)i);
        sum->faults += !quarry_semaphore_is_idle(&b->units[i]);
    }
    for (uint64_t i = share->thread; i <= h->shape.classes; i += share->threads) {
        sum->odds -= simt_load_u64(&h->supply[i].units, relaxed) * quarry_ualloc_key((uint32_t)i);
        sum->faults += !quarry_semaphore_is_idle(&h->supply[i]);
    }
    for (uint64_t i = share->thread; i < h->arenas; i += share->threads)
        sum->faults += quarry_ualloc_arena_faults(h, &h->arena[i]);
}

#define quarry_ualloc_settle QUARRY_NOTHING_TO_SETTLE

#if SIMT_HAS_HOST
SIMT_HOST_FN void quarry_ualloc_sections(void *heap, struct quarry_layout *l)
{
    struct quarry_ualloc *h = (struct quarry_ualloc *)heap;
    struct quarry_buddy *b = &h->buddy;
    uint64_t arenas = l->option[QUARRY_OPTION_ualloc_arenas], pages = l->pages << h->shape.chunk_log;
    if (arenas == 0)
        arenas = l->multiprocessors;
    h->arenas = (uint32_t)(arenas < l->pages ? arenas : l->pages);
    if (h->arenas == 0 || h->shape.classes == 0)
        h->arenas = 1;
    quarry_buddy_size(b, (uint32_t)pages);
    h->self = (struct quarry_ualloc *)quarry_layout_section(l, "self", sizeof *h->self, QUARRY_SECTION_ALIGN);
    h->arena = (struct quarry_ualloc_arena *)quarry_layout_section(l, "arenas", h->arenas * sizeof *h->arena,
                                                                   QUARRY_SECTION_ALIGN);
    h->supply = (struct quarry_semaphore *)quarry_layout_section(
        l, "supply", (h->shape.classes + 1u) * sizeof *h->supply, QUARRY_SECTION_ALIGN);
    b->units = (struct quarry_semaphore *)quarry_layout_section(l, "units", (b->top + 1u) * sizeof *b->units,
                                                                QUARRY_SECTION_ALIGN);
    b->word = (uint64_t *)quarry_layout_section(l, "tree", sizeof *b->word * b->words, QUARRY_SECTION_ALIGN);
    h->chunk = (uint32_t *)quarry_layout_section(l, "chunks", (l->pages / 32u + 1u) * sizeof *h->chunk,
                                                 QUARRY_SECTION_ALIGN);
    int aside = l->debug && h->shape.classes; /* debug mode writes into all that is free */
    h->heads = (unsigned char *)quarry_layout_section(l, "heads", aside ? pages * QUARRY_BIN_HEAD : 0,
                                                      QUARRY_SECTION_ALIGN);
    h->pages = quarry_layout_pages(l);
    h->pages = quarry_pages_make(h->pages.base, h->shape.page_bytes, (uint32_t)pages);
    h->head_stride = aside ? QUARRY_BIN_HEAD : h->shape.page_bytes;
    if (!aside)
        h->heads = h->pages.base;
    if (pages > QUARRY_UALLOC_MAX_PAGES)
        l->used_bytes = UINT64_MAX;
}

SIMT_HOST_FN enum quarry_layout_result quarry_ualloc_layout(struct quarry_ualloc *h, struct quarry_layout *l)
{
    uint32_t unit = l->alignment > QUARRY_PAGE_UNIT ? (uint32_t)l->alignment : QUARRY_PAGE_UNIT;
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_UALLOC_PAGE_BYTES);
    uint64_t page_bytes = l->page_bytes, wanted = l->option[QUARRY_OPTION_ualloc_chunk_pages];
    uint32_t log = 0;
    if (result != QUARRY_LAYOUT_OK)
        return result;
    if (page_bytes % unit != 0)
        return QUARRY_LAYOUT_ALIGNMENT;
    h->unit = l->debug && unit < QUARRY_UALLOC_DEBUG_UNIT ? QUARRY_UALLOC_DEBUG_UNIT : unit;
    while (2u << log <= wanted && page_bytes >> (log + 1u) >= QUARRY_UALLOC_LEAST_PAGE &&
           (l->debug || page_bytes % ((uint64_t)h->unit << (log + 1u)) == 0))
        log++;
    if (l->pages > QUARRY_UALLOC_MAX_PAGES >> log) {
        l->most_pages = QUARRY_UALLOC_MAX_PAGES >> log;
        return QUARRY_LAYOUT_PAGES;
    }
    l->page_bytes = quarry_round_up(page_bytes, (uint64_t)h->unit << log);
    h->shape = quarry_bin_shape_make(l->page_bytes >> log, log, h->unit);
    result = quarry_layout_fit(l, quarry_ualloc_sections, h);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->option[QUARRY_OPTION_ualloc_chunk_pages] = quarry_bin_chunk_pages(&h->shape);
    l->option[QUARRY_OPTION_ualloc_arenas] = h->arenas;
    l->unit = h->unit;
    l->max_block = h->shape.page_bytes << h->buddy.top;
    l->free_reach = l->max_block; /* a free finds the block by any address in it */
    l->page_bytes = page_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
