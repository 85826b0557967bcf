/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: small blocks in bins, bins in chunks, and chunks from a buddy system.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.2.  What
 * bins and chunks look like: core/bin.h.  The buddy system: core/buddy.h.  docs/reference/alloc/ualloc.md says
 * where the paper is silent, and what is done here.
 *
 *     arena   lists of bins, one for each class; a list of chunks with free bins; and the readers of all these
 *     supply  bulk semaphores: of each class, whose units are free blocks in bins of all arenas; and the last, whose
 *             units are free bins in all chunks
 *     chunk   a bit for each 2^chunk_log pages: they are a chunk
 *
 * Semaphores are the whole heap's, for a malloc is to fail only when no arena has anything.  Arenas only say
 * where a lane looks first for what a semaphore has granted it.
 *
 * A list also says how many blocks its bins have free.  That number changes a little before or after the bins do.  It
 * says which arena to look at, and nothing else.
 *
 * malloc: core/arenas_take.h.
 *
 * free.  Lanes whose blocks are of one bin work together: clear the bits, raise the count, list the bin if it was
 * not, and then signal.  If another one is about to raise the count it does so for them, and they only signal.  They
 * need not be readers: until the count is raised the bin can't be retired, and after that they touch it only if a flag
 * is theirs.  One lane lists a bin, and one decides about it: who has set the flag.
 * Others that give blocks of the bin meanwhile don't wait.
 *
 * Retiring a bin.  Who gives the last block that was not free sets RETIRING, and decides: takes all the units of
 * the bin, if they are free, then the bin by a compare-exchange of its word.  If a count was lowered meanwhile
 * it puts the units back.  It waits while somebody lists the bin, and while units of others are on their way.  While
 * RETIRING is set nobody else retires the bin, so its head stays what it is outside of read sections, too.  Then it
 * unlists the bin, and leaves it as a callback to a barrier of the arena's readers; who runs that gives the bin to
 * its chunk.  A bin whose blocks its maker's group has kept, all of them, was never in a list.  If all are given back
 * at once, too, nobody else knows the bin, and it needs none of this.
 *
 * Chunks.  A chunk is a bin whose blocks are bins: they are taken, given and retired by the same functions.  Who has
 * retired a bin frees it as a block of its chunk, and who runs the callback of a chunk gives it to the buddy system.
 *
 * Nothing is lost.  Each signalled block is in a bin that is listed, or is being counted or listed by somebody who
 * waits for a mutex only; so who got a unit finds a block in the end, and likewise for bins.  A bin that is made or
 * retired is promised, or announced, to the semaphore where it arrives.
 *
 * Nobody waits for ever.  Waits for units go up only: blocks, bins, orders of the buddy system.  Nobody waits for
 * units while it has some that it has not looked for.  Who decides waits only while it holds neither units nor an
 * announcement, of no other bin either: for lanes that got units and look for what they stand for, for lanes between
 * a count and its signal, and for lanes that make what they are owed; and these wait further up.  Who has announced
 * a bin waits for readers, and readers wait for mutexes only.  With a mutex held nobody waits.
 *
 * Order.  A block goes from owner to owner by its bit (core/bin.h), and so does a bin.  Readers find what a bin's
 * maker wrote through its list's release.  It is retired by a compare-exchange that acquires what all who raised the
 * count released; barrier and mutex pass that on. */
#ifndef QUARRY_CORE_ARENAS_H
#define QUARRY_CORE_ARENAS_H

#include "quarry/core/bin.h"
#include "quarry/core/buddy.h"
#include "quarry/core/list.h"
#include "quarry/core/mutex.h"
#include "quarry/core/pages.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/share.h"
#include "quarry/core/srcu.h"

#define QUARRY_ARENAS_CLASSES 16u /* 16 bytes to less than half of the largest page */
/* Arenas of a multiprocessor, by default.  All of its warps come at once, and who changes a list, or waits for its
 * readers, does so after the others. */
#define QUARRY_ARENAS_EACH 4u
#define QUARRY_ARENAS_ORDERS                                                                                 \
    (QUARRY_BIN_CHUNK_LOG_MOST + 1u) /* of blocks of pages that spans have, at most */
#define QUARRY_ARENAS_PLACES 16u     /* arenas that have spans of pages, at most */
#define QUARRY_ARENAS_NO_SPAN ((uint64_t)1 << 31)
#define QUARRY_ARENAS_SPAN ((uint64_t)1 << 32) /* the first page, in a span; a span that began, in flights */

struct quarry_arena_list {
    struct quarry_link first;
    struct quarry_mutex mutex;
    uint64_t spare; /* free blocks of its bins less claims to them, with a sign; a hint */
};

struct quarry_arena {
    struct quarry_srcu readers; /* of the lists */
    unsigned char unused[256u - sizeof(struct quarry_srcu)];
    /* Of each class, its bins that may have free blocks; then, of chunks that may have free bins. */
    SIMT_ALIGNAS(256) struct quarry_arena_list list[QUARRY_ARENAS_CLASSES + 1u];
    /* Of each class, and in the first `places` arenas of each of the first orders: core/spans.h. */
    uint64_t span[QUARRY_ARENAS_CLASSES + QUARRY_ARENAS_ORDERS];
};
SIMT_STATIC_ASSERT(sizeof(struct quarry_arena) == 1024, "spans fit behind the lists");

/* Of all spans: core/spans.h. */
struct quarry_spans {
    uint64_t flights; /* 63..32: spans that ever began, modulo 2^32; 31..0: that are under way */
    uint64_t unused[15];
    uint64_t shut; /* a hint: not 0: none begin until a chunk has been given back */
    /* Of threads that settle: what they have found, and how many have. */
    uint64_t faults, odds, arrived;
    uint64_t closers; /* a hint: groups that close all spans, and want none to begin meanwhile */
    uint64_t unused_more[11];
};

struct quarry_arenas {
    struct quarry_pages pages;
    struct quarry_bin_shape shape;
    struct quarry_buddy buddy;
    struct quarry_arenas *self; /* a copy of this: functions that are not inlined get its address */
    struct quarry_arena *arena;
    struct quarry_semaphore *supply; /* of the classes; then of bins */
    uint32_t *chunk;
    unsigned char *heads; /* of pages */
    uint64_t head_stride;
    struct quarry_spans *spans;
    uint32_t count;    /* of arenas */
    uint32_t open;     /* have they spans? */
    uint32_t places;   /* arenas that have spans of pages, too: the first so many */
    uint32_t orders;   /* of blocks that these have: 0 to orders - 1 */
    uint32_t span_log; /* order of what each is made of */
};

/* ---- parts ---- */

SIMT_FN void *quarry_arenas_head(const struct quarry_arenas *h, uint32_t page)
{
    return h->heads + page * h->head_stride;
}

SIMT_FN struct quarry_bin *quarry_arenas_bin(const struct quarry_arenas *h, uint32_t page)
{
    return (struct quarry_bin *)quarry_arenas_head(h, page);
}

/* The chunk that has the page. */
SIMT_FN struct quarry_bin *quarry_arenas_chunk(const struct quarry_arenas *h, uint32_t page)
{
    return quarry_arenas_bin(h, page >> h->shape.chunk_log << h->shape.chunk_log);
}

/* Does the page belong to a chunk? */
SIMT_FN int quarry_arenas_is_chunk(const struct quarry_arenas *h, uint32_t page)
{
    uint32_t number = page >> h->shape.chunk_log;
    return h->shape.classes && (simt_load_u32(&h->chunk[number / 32u], relaxed) >> number % 32u & 1u);
}

/* Is a page of a chunk, behind its heads, a free bin? */
SIMT_FN int quarry_arenas_is_spare(const struct quarry_arenas *h, uint32_t page)
{
    uint32_t number = (page & (quarry_bin_chunk_pages(&h->shape) - 1u)) - h->shape.heads;
    uint32_t used = simt_load_u32(&quarry_arenas_chunk(h, page)->used[number / 32u], relaxed);
    return (int)(~used >> number % 32u & 1u);
}

SIMT_FN struct quarry_semaphore *quarry_arenas_bins(const struct quarry_arenas *h)
{
    return &h->supply[h->shape.classes];
}

/* The semaphore of what is above bins of a class: the bins', and above chunks that of the buddy system. */
SIMT_FN struct quarry_semaphore *quarry_arenas_above(const struct quarry_arenas *h, uint32_t class_)
{
    return class_ < h->shape.classes ? quarry_arenas_bins(h) : &h->buddy.units[h->shape.chunk_log];
}

/* A list of an arena: of bins of that class, or, if it is shape.classes, of chunks. */
SIMT_FN struct quarry_arena_list *quarry_arenas_list(const struct quarry_arenas *h, uint32_t arena,
                                                     uint32_t class_)
{
    return &h->arena[arena].list[class_];
}

/* The caller's arena. */
SIMT_FN uint32_t quarry_arenas_own(const struct quarry_arenas *h)
{
    return (simt_sm() * QUARRY_ARENAS_EACH + simt_warp() % QUARRY_ARENAS_EACH) % h->count;
}

SIMT_FN void *quarry_arenas_address(const struct quarry_arenas *h, uint32_t page, uint32_t class_,
                                    uint32_t index)
{
    return h->pages.base + quarry_bin_offset(&h->shape, page, class_, index);
}

SIMT_FN void quarry_arenas_init(const struct quarry_arenas *h, uint64_t thread, uint64_t threads)
{
    quarry_buddy_init(&h->buddy, thread, threads);
    for (uint64_t i = thread; i <= h->shape.classes; i += threads)
        quarry_semaphore_init(&h->supply[i], 0);
    for (uint64_t i = thread; i <= h->pages.count >> h->shape.chunk_log >> 5; i += threads)
        h->chunk[i] = 0;
    for (uint64_t i = thread; i < h->count; i += threads) {
        struct quarry_arena *a = &h->arena[i];
        a->readers.readers = a->readers.queue = 0;
        a->readers.waiting = a->readers.mutex.held = 0;
        for (uint32_t k = 0; k <= h->shape.classes; k++) {
            quarry_list_init(&a->list[k].first);
            a->list[k].mutex.held = 0;
            a->list[k].spare = 0;
        }
        for (uint32_t k = 0; k < QUARRY_ARENAS_CLASSES + QUARRY_ARENAS_ORDERS; k++)
            a->span[k] = QUARRY_ARENAS_NO_SPAN;
    }
    if (thread == 0) {
        h->spans->flights = h->spans->faults = h->spans->odds = h->spans->arrived = 0;
        h->spans->shut = h->spans->closers = 0;
        *h->self = *h;
    }
}

/* ---- lists of bins ---- */

/* Lists a bin, if it still has free blocks.  The caller has set LISTING. */
SIMT_FN void quarry_arenas_enlist(const struct quarry_arenas *h, struct quarry_bin *bin)
{
    struct quarry_arena_list *list = quarry_arenas_list(h, bin->arena, bin->class_);
    quarry_mutex_acquire(&list->mutex);
    uint32_t word = simt_load_u32(&bin->word, relaxed), next, seen;
    for (;; word = seen) {
        next = word & ~QUARRY_BIN_LISTING;
        if (quarry_bin_free(word) != 0)
            next |= QUARRY_BIN_LISTED;
        seen = simt_cas_u32(&bin->word, word, next, relaxed);
        if (seen == word)
            break;
    }
    if (next & QUARRY_BIN_LISTED)
        /* At the front: a reader that stands on it, since it was in the list before, begins anew. */
        quarry_list_insert(&list->first, &bin->link);
    quarry_mutex_release(&list->mutex);
}

/* Unlists a bin if it has no free block.  A reader of the list calls it. */
SIMT_FN void quarry_arenas_unlist(const struct quarry_arenas *h, struct quarry_bin *bin)
{
    struct quarry_arena_list *list = quarry_arenas_list(h, bin->arena, bin->class_);
    quarry_mutex_acquire(&list->mutex);
    uint32_t word = simt_load_u32(&bin->word, relaxed), seen;
    /* If somebody has raised the count since, it is left listed: he has seen that it is. */
    for (; quarry_bin_free(word) == 0 && (word & QUARRY_BIN_LISTED); word = seen) {
        seen = simt_cas_u32(&bin->word, word, word & ~QUARRY_BIN_LISTED, relaxed);
        if (seen == word) {
            quarry_list_remove(&bin->link);
            break;
        }
    }
    quarry_mutex_release(&list->mutex);
}

/* ---- giving ---- */

/* Clears a bin's bit in its chunk.
 * Returns the chunk. */
SIMT_FN struct quarry_bin *quarry_arenas_give_bit(const struct quarry_arenas *h, uint32_t page)
{
    struct quarry_bin *chunk = quarry_arenas_chunk(h, page);
    (void)quarry_bin_give(chunk, page - chunk->page - h->shape.heads);
    return chunk;
}

/* n blocks of a bin have been given; their bits are clear.  If they are all blocks of a bin that was never listed,
 * nobody else knows the bin, and it goes to its chunk at once.
 *   expected   of them, that were announced
 * Returns what the caller is to retire: the bin or its chunk; or NULL. */
SIMT_FN struct quarry_bin *quarry_arenas_given(const struct quarry_arenas *h, struct quarry_bin *bin,
                                               uint32_t n, uint32_t expected)
{
    uint32_t class_ = bin->class_, blocks = quarry_bin_blocks(&h->shape, class_);
    if (n == blocks && class_ < h->shape.classes && quarry_list_is_new(&bin->link)) {
        simt_assert(simt_load_u32(&bin->word, relaxed) == 0);
        bin = quarry_arenas_give_bit(h, bin->page);
        class_ = h->shape.classes;
        blocks = quarry_bin_count(&h->shape);
        n = 1;
    }
    struct quarry_arena_list *list = quarry_arenas_list(h, bin->arena, class_);
    uint32_t counted = n, flags = quarry_bin_raise(bin, &counted, blocks);
    if (counted)
        (void)simt_add_u64(&list->spare, counted, relaxed);
    if (flags & QUARRY_BIN_LISTING)
        quarry_arenas_enlist(h, bin);
    quarry_semaphore_add(&h->supply[class_], n, 0, expected);
    if (!(flags & QUARRY_BIN_RETIRING))
        return SIMT_NULL;
    /* acquire: pairs with the release of who decided before, in quarry_arenas_retire_try, and read the callback */
    (void)simt_load_u32(&bin->word, acquire);
    return bin;
}

/* Gives what has been retired to where it came from: a bin to its chunk, a chunk to the buddy system.  Its unit there
 * has been announced; no reader knows it.
 * Returns the chunk, if the caller is to retire that now; else NULL. */
SIMT_FN struct quarry_bin *quarry_arenas_give_back(const struct quarry_arenas *h, struct quarry_bin *bin)
{
    uint32_t page = bin->page, number = page >> h->shape.chunk_log;
    if (bin->class_ < h->shape.classes)
        return quarry_arenas_given(h, quarry_arenas_give_bit(h, page), 1, 1);
    (void)simt_and_u32(&h->chunk[number / 32u], ~(1u << number % 32u), relaxed);
    (void)quarry_buddy_give(&h->buddy, page);
    simt_fence(acq_rel); /* pairs with that of who refuses, on its way down */
    quarry_semaphore_retract(&h->buddy.units[h->shape.chunk_log], 1);
    if (simt_load_u64(&h->spans->shut, relaxed))
        simt_store_u64(&h->spans->shut, 0, relaxed);
    return SIMT_NULL;
}

/* ---- retiring ---- */

/* Takes a bin whose blocks are all free out of use, or finds that some are not.  The caller has set RETIRING.
 * Returns whether it is retired: then its unit is announced to where it goes. */
SIMT_FN int quarry_arenas_retire_try(const struct quarry_arenas *h, struct quarry_bin *bin)
{
    struct quarry_semaphore *units = &h->supply[bin->class_], *above = quarry_arenas_above(h, bin->class_);
    uint32_t blocks = quarry_bin_blocks(&h->shape, bin->class_);
    uint32_t full = blocks * QUARRY_BIN_ONE | QUARRY_BIN_LISTED | QUARRY_BIN_RETIRING;
    for (;; simt_backoff()) {
        uint32_t word = simt_load_u32(&bin->word, relaxed);
        if (quarry_bin_free(word) != blocks) {
            /* release: pairs with the acquire of who sets it next, in quarry_arenas_given */
            if (simt_cas_u32(&bin->word, word, word & ~QUARRY_BIN_RETIRING, release) == word)
                return 0;
            continue;
        }
        if (word != full || quarry_semaphore_free(simt_load_u64(&units->balance, relaxed)) < (int64_t)blocks)
            continue; /* somebody is about to list it, or to signal, or has a claim to a unit */
        quarry_semaphore_announce(above, 1);
        simt_fence(acq_rel); /* pairs with that of who refuses, on its way up */
        if (quarry_semaphore_try(units, blocks)) {
            /* acquire: pairs with quarry_bin_raise; no flag stays, and no block is free */
            if (simt_cas_u32(&bin->word, full, 0, acquire) == full) {
                (void)simt_sub_u64(&quarry_arenas_list(h, bin->arena, bin->class_)->spare, blocks, relaxed);
                return 1;
            }
            quarry_semaphore_signal(units, blocks);
            simt_fence(acq_rel); /* pairs with that of who refuses, on its way down */
        }
        quarry_semaphore_retract(above, 1);
    }
}

/* Retires a bin, if that can be, and the chunks that have no other.  The caller has set RETIRING.  A lane calls it,
 * outside of read sections. */
SIMT_FN void quarry_arenas_retire_all(const struct quarry_arenas *h, struct quarry_bin *bin)
{
    bin->callback.next = SIMT_NULL;
    for (struct quarry_srcu_callback *next = &bin->callback, *due; next;) {
        bin = quarry_bin_of(next);
        next = next->next;
        if (!quarry_arenas_retire_try(h, bin))
            continue;
        struct quarry_srcu *readers = &h->arena[bin->arena].readers;
        struct quarry_arena_list *list = quarry_arenas_list(h, bin->arena, bin->class_);
        quarry_mutex_acquire(&list->mutex);
        quarry_list_remove(&bin->link);
        quarry_mutex_release(&list->mutex);
        quarry_srcu_queue(readers, &bin->callback);
        for (due = quarry_srcu_barrier_or_delegate(readers); due;) {
            bin = quarry_bin_of(due);
            due = due->next;
            bin = quarry_arenas_give_back(h, bin);
            if (bin) {
                bin->callback.next = next;
                next = &bin->callback;
            }
        }
    }
}

/* The same, out of line. */
SIMT_NOINLINE_FN void quarry_arenas_retire(const struct quarry_arenas *h, struct quarry_bin *bin)
{
    quarry_arenas_retire_all(h, bin);
}

/* ---- free ---- */

/* The block of a bin that has an address. */
struct quarry_arenas_where {
    uint32_t page;  /* the bin, or QUARRY_NO_PAGE */
    uint32_t index; /* of the block */
};

/* Is that block one of its arena's span that nobody has got yet?  Who has got a block has changed the span before, so
 * he does not see an older one. */
SIMT_FN int quarry_arenas_is_kept(const struct quarry_arenas *h, struct quarry_arenas_where w,
                                  uint32_t class_, uint32_t arena)
{
    uint32_t log = h->shape.chunk_log, first = w.page >> log << log;
    uint64_t word = arena < h->count ? simt_load_u64(&h->arena[arena].span[class_], relaxed) : 0;
    uint32_t number = (w.page - first - h->shape.heads) * quarry_bin_blocks(&h->shape, class_) + w.index;
    return arena < h->count && word / QUARRY_ARENAS_SPAN == first && number >= (uint32_t)word;
}

/* Looks for an address of a page that is in a chunk. */
SIMT_FN struct quarry_arenas_where quarry_arenas_locate(const struct quarry_arenas *h, uint32_t page,
                                                        const void *address)
{
    struct quarry_arenas_where w = {page, QUARRY_BIN_NOTHING};
    uint32_t offset = (uint32_t)((const unsigned char *)address -
                                 (const unsigned char *)quarry_page_address(&h->pages, page));
    quarry_bin_locate(&h->shape, &w.page, &offset);
    if (offset != QUARRY_BIN_NOTHING) {
        /* Three loads at once.  If the page is no bin the first two tell nothing. */
        const struct quarry_bin *bin = quarry_arenas_bin(h, w.page);
        uint32_t class_ = simt_load_u32(&bin->class_, relaxed), arena = simt_load_u32(&bin->arena, relaxed);
        if (!quarry_arenas_is_spare(h, w.page) && class_ < h->shape.classes)
            w.index = quarry_bin_index(&h->shape, class_, offset);
        if (w.index != QUARRY_BIN_NOTHING && h->open && quarry_arenas_is_kept(h, w, class_, arena))
            w.index = QUARRY_BIN_NOTHING;
    }
    if (w.index == QUARRY_BIN_NOTHING)
        w.page = QUARRY_NO_PAGE;
    return w;
}

/* Frees the block of a bin that has that address.
 *   page   the address's, which is in a chunk
 * Returns whether there was one.  Progress: the last block of a bin waits for who has a claim to one. */
SIMT_FN int quarry_arenas_free(const struct quarry_arenas *h, uint32_t page, const void *address)
{
    struct quarry_arenas_where w = quarry_arenas_locate(h, page, address);
    if (w.page == QUARRY_NO_PAGE)
        return 0;
    struct quarry_bin *bin = quarry_arenas_bin(h, w.page);
    uint32_t group = quarry_group(bin, QUARRY_SITE_ARENAS_FREE);
    int live = quarry_bin_give(bin, w.index);
    uint32_t n = simt_popc_u32(simt_ballot(group, live));
    simt_sync(group); /* all bits are clear */
    bin = simt_rank(group) == 0 && n ? quarry_arenas_given(h, bin, n, 0) : SIMT_NULL;
    simt_sync(group); /* and signalled, before any lane asks again */
    if (bin)
        quarry_arenas_retire(h->self, bin);
    return live;
}

#endif
