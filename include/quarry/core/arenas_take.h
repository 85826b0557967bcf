/* SPDX-License-Identifier: Apache-2.0 */
/* How blocks are taken out of arenas (core/arenas.h).
 *
 * malloc.  Lanes of a warp that want blocks of one class ask its semaphore together.
 *   - For units that they get they choose an arena whose list has something to spare, their own's first, and claim
 *     it.  They look through the list's bins: lower a bin's count, take as many clear bits, and unlist the bin if the
 *     count is 0 then.  Where blocks lie scattered, lanes look in arenas of their own.
 *   - GROW: if more is reserved than there and expected, their leader promises the blocks of some bins.  It asks for
 *     so many bins.  Lanes make one each, keep the blocks that the group is owed, list the bin that has more in their
 *     own arena, and signal the others.
 *   - Bins: units of the semaphore of bins, and then a chunk of an arena's list, as above.  GROW: a chunk from the
 *     buddy system.  The leader keeps the bins that it is owed; a chunk that has more goes into the list of its own
 *     arena, and the others are signalled.
 *
 * A leader has promised less than a bin more than it is owed.  So of each bin that it makes it keeps a block, and
 * only of the last less than all; and it keeps a bin of each chunk.  No bin is listed that nobody has a block of,
 * and no chunk that nobody has a bin of.  So each has a last free, which retires it.
 *
 * A full heap.  Lanes that wait for what others have promised would learn one after the other that there is nothing.
 * So it is as in the buddy system: once that seems full who waits gives up what it has asked for, and if there seems
 * to be nothing for its class one group of lanes at a time asks.  The others wait with nothing in hand, and a refusal
 * of an ask that began after they came is theirs, too.
 *
 * NULL is exact: at some instant during the call no block of the class was free, no bin, and no chunk in the buddy
 * system, but for those that others had a claim to.  The argument is that of core/buddy.h, also that a refusal holds
 * only if nothing has come to class and bins since the leader promised there.  A lane reserves a unit at its class,
 * then at the bins, then at the orders of a chunk and more, and gives them up in the opposite order; at each there is
 * an instant at which less units were there and expected than reserved.  Whoever moves memory down has promised what
 * it makes of it before it gets it.  Whoever moves memory up announces it above before it takes units below, which it
 * can't where somebody has reserved them, and puts back what comes to nothing before it withdraws the announcement.
 * Fences stand between. */
#ifndef QUARRY_CORE_ARENAS_TAKE_H
#define QUARRY_CORE_ARENAS_TAKE_H

#include "quarry/core/arenas.h"

/* From an arena to the next that is looked at: so lanes that look for what few arenas have, side by side, don't all
 * come to the first of these. */
#define QUARRY_ARENAS_STEP 61u
/* A bin that had blocks for so small a part of the lanes tells that others don't have many either. */
#define QUARRY_ARENAS_FEW 8u

/* quarry_buddy_take.  Out of line, as is what malloc and the last free of a bin run: the switch over all allocators
 * would have their registers. */
SIMT_NOINLINE_FN uint32_t quarry_arenas_take_pages(const struct quarry_arenas *h, uint32_t group,
                                                   uint32_t order)
{
    struct quarry_random r = quarry_random_start();
    return quarry_buddy_take(&h->buddy, &r, group, order);
}

/* What a group knows of its malloc.  Volatile: it lives in memory, and not in registers that a kernel would have. */
struct quarry_arenas_ask {
    uint32_t class_;
    uint32_t needs; /* lanes that have no block yet, and were not refused one */
    void *block;    /* the caller's */
    /* The leader's account: what semaphores owe it, and it has promised to make.  Blocks that it has promised are those
     * of the bins that it is owed, and asks for. */
    uint32_t owed, promised;           /* blocks */
    uint32_t owed_bins, promised_bins; /* bins */
    uint32_t kept;     /* the first page of bins that the leader has kept of a chunk, or QUARRY_NO_PAGE */
    uint32_t searches; /* is it the one who searches? */
    uint32_t seen, seen_bins; /* quarry_semaphore_since */
};

/* What a group does next, in the lowest bits; above them, how many of it. */
enum quarry_arenas_step {
    QUARRY_ARENAS_DONE,  /* all have a block or NULL */
    QUARRY_ARENAS_CHUNK, /* takes a chunk */
    QUARRY_ARENAS_BINS,  /* has units of bins */
    QUARRY_ARENAS_UNITS, /* has units of blocks */
    QUARRY_ARENAS_NONE,  /* lanes are refused */
    QUARRY_ARENAS_AGAIN, /* asks again: it has given up all that it has asked for */
    QUARRY_ARENAS_STEPS = 8
};

/* An arena whose list seems to have enough, or at least something; or, if none has, any.
 *   at      where to look first, but for the caller's own arena
 *   wanted  what is enough
 *   which   0: the first that is found; else lanes with different ones get different arenas, if there are several
 * Scope: group, reconverged. */
SIMT_FN uint32_t quarry_arenas_look(const struct quarry_arenas *h, uint32_t group, uint32_t at,
                                    uint32_t class_, uint32_t wanted, uint32_t which)
{
    uint32_t rank = simt_rank(group), own = quarry_arenas_own(h);
    uint32_t step = h->count % QUARRY_ARENAS_STEP ? QUARRY_ARENAS_STEP : 1u;
    at = simt_shuffle_u32(group, at, simt_ctz_u32(group));
    SIMT_ROLLED
    for (uint32_t i = 0; i <= h->count; i += simt_popc_u32(group)) {
        uint32_t arena = i + rank == 0 ? own : (at + (i + rank) * step) % h->count;
        int64_t spare = (int64_t)simt_load_u64(&quarry_arenas_list(h, arena, class_)->spare, relaxed);
        uint32_t lists = simt_ballot(group, spare >= (int64_t)wanted);
        if (lists == 0)
            lists = simt_ballot(group, spare > 0);
        if (lists) {
            uint32_t lane = quarry_kth_set_u32(lists, which % simt_popc_u32(lists) + 1u);
            return simt_shuffle_u32(group, arena, lane);
        }
    }
    return at;
}

/* The leader claims up to n of what a list has to spare, so that others don't come for it, too.
 * Returns how much it may find. */
SIMT_FN uint32_t quarry_arenas_claim(struct quarry_arena_list *list, uint32_t n)
{
    uint32_t got = quarry_semaphore_part((int64_t)simt_sub_u64(&list->spare, n, relaxed), n);
    if (got < n)
        (void)simt_add_u64(&list->spare, n - got, relaxed);
    return got;
}

/* The leader lowers the count of a bin of a list by up to n, as a reader, and unlists the bin if need be.
 *   page   out: the bin
 *   left   out: what was left of its count before
 * Returns by how many. */
SIMT_FN uint32_t quarry_arenas_lower(const struct quarry_arenas *h, struct quarry_arena_list *list,
                                     uint32_t n, uint32_t *page, uint32_t *left)
{
    struct quarry_link *link = quarry_list_next(&list->first);
    SIMT_ROLLED
    for (; link != &list->first; link = quarry_list_next(link)) {
        struct quarry_bin *bin = (struct quarry_bin *)(void *)link;
        uint32_t after = 0, got = quarry_bin_lower(bin, n, left, &after);
        if (got == 0)
            continue;
        if (quarry_bin_free(after) == 0 && (after & QUARRY_BIN_LISTED))
            quarry_arenas_unlist(h, bin);
        *page = bin->page;
        return got;
    }
    return 0;
}

/* Finds what lanes have a unit of each: a block of a class; or, if it is shape.classes, a bin.  Mostly a bin has enough
 * for many of them, so they look together.  If it had not, blocks lie scattered, and they spread over the arenas.
 *   has   the lanes
 * Returns the caller's, if it is one: the page of its bin, or its chunk's, in the upper half, and the number of the
 * block or the bin.  Scope: group, reconverged.  Order: acquire, for the whole group. */
SIMT_FN uint64_t quarry_arenas_search(const struct quarry_arenas *h, uint32_t group, uint32_t has,
                                      uint32_t class_)
{
    uint32_t blocks = quarry_bin_blocks(&h->shape, class_), which = 0;
    int scattered = 0;
    uint64_t found = 0;
    struct quarry_random r = quarry_random_start();
    while (has) {
        uint32_t at = quarry_arenas_look(h, group, quarry_random_below(&r, h->count), class_,
                                         which ? 1u : simt_popc_u32(has), which);
        uint32_t looks = has >> simt_lane() & 1u, same = simt_match_u32(group, looks ? at : QUARRY_NO_PAGE),
                 got = 0;
        struct quarry_arena_list *list = quarry_arenas_list(h, at, class_);
        uint32_t spare = looks && simt_rank(same) == 0 ? quarry_arenas_claim(list, simt_popc_u32(same)) : 0;
        if (looks && simt_shuffle_u32(same, spare, simt_ctz_u32(same))) {
            struct quarry_srcu *readers = &h->arena[at].readers;
            uint32_t section = quarry_srcu_enter(readers, same), page = 0, left = 0;
            if (simt_rank(same) == 0) {
                got = quarry_arenas_lower(h, list, spare, &page, &left);
                if (got < spare)
                    (void)simt_add_u64(&list->spare, spare - got, relaxed);
            }
            got = simt_shuffle_u32(same, got, simt_ctz_u32(same));
            page = simt_shuffle_u32(same, page, simt_ctz_u32(same));
            if (got) {
                uint32_t takers = quarry_bin_lowest(same, got);
                uint32_t start = blocks - simt_shuffle_u32(same, left, simt_ctz_u32(same));
                uint32_t index = quarry_bin_take(quarry_arenas_bin(h, page), quarry_bin_words(blocks), start,
                                                 same, takers);
                got = takers >> simt_lane() & 1u;
                if (got)
                    found = (uint64_t)page << 32 | index;
            }
            quarry_srcu_leave(readers, same, section); /* which syncs: what a leader acquired holds for all */
        }
        uint32_t served = simt_ballot(group, got != 0);
        scattered |= served && (simt_popc_u32(served) - 1u) * QUARRY_ARENAS_FEW < simt_popc_u32(has);
        has &= ~served;
        which = scattered ? simt_rank(has) : 0;
        if (served == 0)
            simt_backoff();
    }
    return found;
}

/* Lanes make a bin each, and give the first blocks of all to lanes that need one; the others they signal.
 *   n      lanes that do it: the first of the group
 *   page   the caller's bin, if it is one
 * Scope: group, reconverged. */
SIMT_FN void quarry_arenas_make_bins(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                                     uint32_t group, uint32_t n, uint32_t page)
{
    uint32_t leader = simt_ctz_u32(group), rank = simt_rank(group), class_ = a->class_;
    uint32_t blocks = quarry_bin_blocks(&h->shape, class_), owed = a->owed;
    uint32_t kept = simt_shuffle_u32(group, n * blocks < owed ? n * blocks : owed, leader);
    if (rank < n) {
        simt_assert(kept > rank * blocks);
        uint32_t mine = kept - rank * blocks < blocks ? kept - rank * blocks : blocks,
                 own = quarry_arenas_own(h);
        struct quarry_bin *bin = quarry_arenas_bin(h, page);
        quarry_bin_make(bin, page, class_, own, blocks, mine);
        if (mine < blocks) { /* the last */
            struct quarry_arena_list *list = quarry_arenas_list(h, own, class_);
            quarry_mutex_acquire(&list->mutex);
            quarry_list_insert(&list->first, &bin->link);
            quarry_mutex_release(&list->mutex);
            (void)simt_add_u64(&list->spare, blocks - mine, relaxed);
        }
    }
    simt_sync(group); /* bins are made */
    if (rank == 0) {
        uint32_t promised = a->promised;
        quarry_semaphore_produced(&h->supply[class_], &owed, n * blocks, &promised);
        a->owed = owed;
        a->promised = promised;
    }
    uint32_t place = simt_rank(a->needs);
    int served = (a->needs >> simt_lane() & 1u) && place < kept;
    page = simt_shuffle_u32(group, page, served ? quarry_lane_of_rank(group, place / blocks) : simt_lane());
    if (served)
        a->block = quarry_arenas_address(h, page, class_, place % blocks);
    a->needs = a->needs & ~simt_ballot(group, served);
}

/* Lanes of the group have units of blocks, or of bins, and get the blocks.
 *   n      units: the first lanes have one each; of blocks, the first of those that need one
 *   bins   are they bins?
 * Scope: group, reconverged. */
SIMT_FN void quarry_arenas_use(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                               uint32_t group, uint32_t n, int bins)
{
    uint32_t from = bins ? group : a->needs, class_ = bins ? h->shape.classes : a->class_;
    uint32_t has = simt_ballot(group, (from >> simt_lane() & 1u) && simt_rank(from) < n);
    uint32_t first = simt_shuffle_u32(group, a->kept, simt_ctz_u32(group));
    if (first != QUARRY_NO_PAGE) { /* bins of the group's own chunk */
        a->kept = QUARRY_NO_PAGE;
        simt_sync(group); /* what the leader acquired holds for all */
        quarry_arenas_make_bins(h, a, group, n, first + simt_rank(group));
        return;
    }
    uint64_t found = quarry_arenas_search(h, group, has, class_);
    uint32_t page = (uint32_t)(found >> 32), index = (uint32_t)found;
    if (bins) {
        quarry_arenas_make_bins(h, a, group, n, page + h->shape.heads + index);
        return;
    }
    if (has >> simt_lane() & 1u)
        a->block = quarry_arenas_address(h, page, class_, index);
    a->needs = from & ~has;
}

/* Waits until some of what the caller is owed has come, or it has promised batches; or, but for who searches, until the
 * heap seems full.
 * Returns how many have come; *owed is what it is still owed.  Progress: as quarry_semaphore_wait. */
SIMT_FN uint32_t quarry_arenas_wait(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                                    struct quarry_semaphore *s, uint32_t batch, volatile uint32_t *owed,
                                    volatile uint32_t *promised, volatile uint32_t *seen)
{
    uint32_t before = *owed, after = before, parts, changes;
    for (;; simt_backoff()) {
        parts = quarry_semaphore_look(s, &after, batch, &changes);
        if (parts || after != before || (!a->searches && quarry_buddy_seems_full(&h->buddy)))
            break;
    }
    *owed = after;
    *promised = parts;
    *seen = changes;
    return before - after;
}

/* Does a heap that seems full have nothing for a class that somebody could have? */
SIMT_FN int quarry_arenas_is_scarce(const struct quarry_arenas *h, uint32_t class_)
{
    const struct quarry_buddy *b = &h->buddy;
    if (!quarry_buddy_seems_full(b) ||
        quarry_semaphore_free(simt_load_u64(&h->supply[class_].balance, relaxed)) > 0 ||
        quarry_semaphore_free(simt_load_u64(&quarry_arenas_bins(h)->balance, relaxed)) > 0)
        return 0;
    SIMT_ROLLED
    for (uint32_t k = h->shape.chunk_log; k <= b->top; k++)
        if (quarry_semaphore_free(simt_load_u64(&b->units[k].balance, relaxed)) > 0)
            return 0;
    return 1;
}

/* The leader's search, if it was one, has ended.
 *   refused   how many blocks it did not get */
SIMT_FN void quarry_arenas_searched(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                                    uint32_t refused)
{
    if (!a->searches)
        return;
    if (!refused)
        quarry_buddy_seem(&h->buddy, 0);
    quarry_buddy_searched(&h->supply[a->class_], refused ? QUARRY_BUDDY_NO_ORDER : 0);
    a->searches = 0;
}

/* The leader says what the group does next. */
SIMT_FN uint32_t quarry_arenas_next(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a)
{
    struct quarry_semaphore *units = &h->supply[a->class_], *bins = quarry_arenas_bins(h);
    uint32_t blocks = quarry_bin_blocks(&h->shape, a->class_), got = 0;
    if (a->promised == 0) {
        if (a->owed == 0) {
            quarry_arenas_searched(h, a, 0);
            return QUARRY_ARENAS_DONE;
        }
        got = quarry_arenas_wait(h, a, units, blocks, &a->owed, &a->promised, &a->seen);
        if (got)
            return got * QUARRY_ARENAS_STEPS | QUARRY_ARENAS_UNITS;
        if (a->promised == 0) {
            quarry_semaphore_leave(units, a->owed, 0);
            return QUARRY_ARENAS_AGAIN;
        }
    }
    if (a->owed_bins == 0) {
        uint32_t n = a->promised / blocks;
        simt_fence(acq_rel); /* what the class's semaphore said comes before what this one says */
        got = quarry_semaphore_ask(bins, n);
        a->owed_bins = n - got;
    }
    if (got == 0 && a->promised_bins == 0)
        got = quarry_arenas_wait(h, a, bins, quarry_bin_count(&h->shape), &a->owed_bins, &a->promised_bins,
                                 &a->seen_bins);
    if (got)
        return got * QUARRY_ARENAS_STEPS | QUARRY_ARENAS_BINS;
    if (a->promised_bins == 0) {
        quarry_semaphore_leave(bins, a->owed_bins, 0);
        quarry_semaphore_leave(units, a->owed, a->promised);
        a->owed_bins = 0;
        a->promised = 0;
        return QUARRY_ARENAS_AGAIN;
    }
    simt_fence(acq_rel); /* what this semaphore said comes before what the next one says */
    return QUARRY_ARENAS_CHUNK;
}

/* Makes pages a chunk of the caller's arena.
 *   kept   of its bins, the first: they are the caller's */
SIMT_FN void quarry_arenas_make_chunk(const struct quarry_arenas *h, uint32_t own, uint32_t first,
                                      uint32_t kept)
{
    struct quarry_bin *chunk = quarry_arenas_bin(h, first);
    struct quarry_arena_list *list = quarry_arenas_list(h, own, h->shape.classes);
    uint32_t number = first >> h->shape.chunk_log;
    quarry_bin_make(chunk, first, h->shape.classes, own, quarry_bin_count(&h->shape), kept);
    (void)simt_or_u32(&h->chunk[number / 32u], 1u << number % 32u, relaxed);
    if (kept == quarry_bin_count(&h->shape))
        return;
    quarry_mutex_acquire(&list->mutex);
    quarry_list_insert(&list->first, &chunk->link);
    quarry_mutex_release(&list->mutex);
    (void)simt_add_u64(&list->spare, quarry_bin_count(&h->shape) - kept, relaxed);
}

/* The leader has a chunk, or, if `first` is QUARRY_NO_PAGE, gets none.
 * Returns what the group does next. */
SIMT_FN uint32_t quarry_arenas_got_chunk(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                                         uint32_t first)
{
    struct quarry_semaphore *bins = quarry_arenas_bins(h);
    uint32_t owed = a->owed_bins, promised = a->promised_bins, count = quarry_bin_count(&h->shape);
    uint32_t kept = owed < count ? owed : count, gone = 0, refused = 0;
    if (first != QUARRY_NO_PAGE) {
        simt_assert(kept != 0 && kept <= SIMT_LANES);
        quarry_arenas_make_chunk(h, quarry_arenas_own(h), first, kept);
        quarry_semaphore_produced(bins, &owed, count, &promised);
        a->kept = first + h->shape.heads;
    } else {
        simt_fence(acq_rel); /* what the buddy system said comes before what this semaphore says */
        gone = quarry_semaphore_withdraw(bins, &owed, promised, &promised);
    }
    a->owed_bins = owed;
    a->promised_bins = promised;
    if (first != QUARRY_NO_PAGE)
        return kept * QUARRY_ARENAS_STEPS | QUARRY_ARENAS_BINS;
    if (gone) {
        uint32_t blocks = quarry_bin_blocks(&h->shape, a->class_), part = gone * blocks;
        uint32_t left = a->promised - part;
        uint32_t stays = left ? left - blocks + 1u : 0; /* for bins that may still come */
        uint32_t given_up = a->owed - stays;
        simt_fence(acq_rel); /* what the semaphore of bins said comes before what this one says */
        refused = quarry_semaphore_withdraw(&h->supply[a->class_], &given_up, part, &part);
        a->owed = stays + given_up;
        a->promised = left;
    }
    if (refused && (quarry_semaphore_since(&h->supply[a->class_], a->seen) |
                    quarry_semaphore_since(bins, a->seen_bins)) != 0) {
        gone = quarry_semaphore_ask(&h->supply[a->class_], refused); /* something has come since: again */
        a->owed = a->owed + refused - gone;
        return gone * QUARRY_ARENAS_STEPS | (uint32_t)(gone ? QUARRY_ARENAS_UNITS : QUARRY_ARENAS_NONE);
    }
    if (refused)
        quarry_arenas_searched(h, a, refused);
    return refused * QUARRY_ARENAS_STEPS | QUARRY_ARENAS_NONE;
}

/* The leader asks for blocks.  Of those who find nothing in a heap that seems full one at a time does so.
 * Returns what the group does next. */
SIMT_FN uint32_t quarry_arenas_begin(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a)
{
    struct quarry_semaphore *units = &h->supply[a->class_];
    uint64_t since = 0;
    uint32_t said = QUARRY_BUDDY_AGAIN, owed = a->owed, got;
    while (said == QUARRY_BUDDY_AGAIN && quarry_arenas_is_scarce(h, a->class_))
        said = quarry_buddy_search(units, &since);
    a->searches = said == QUARRY_BUDDY_SEARCH;
    if (said == QUARRY_BUDDY_NO_ORDER) {
        a->owed = 0;
        return owed * QUARRY_ARENAS_STEPS | QUARRY_ARENAS_NONE;
    }
    got = quarry_semaphore_ask(units, owed);
    a->owed = a->owed - got;
    return got ? got * QUARRY_ARENAS_STEPS | QUARRY_ARENAS_UNITS : quarry_arenas_next(h, a);
}

/* Gets blocks for the lanes of a group, until all have one or NULL, or a chunk is to be taken.
 *   first   the chunk, if one was to be taken, or QUARRY_NO_PAGE: there is none
 * Returns whether a chunk is to be taken.  Scope: group, reconverged. */
SIMT_NOINLINE_FN int quarry_arenas_go_on(const struct quarry_arenas *h, volatile struct quarry_arenas_ask *a,
                                         uint32_t group, uint32_t first)
{
    uint32_t said = 0;
    if (simt_rank(group) == 0)
        said = a->promised_bins ? quarry_arenas_got_chunk(h, a, first) : quarry_arenas_begin(h, a);
    for (;;) {
        said = simt_shuffle_u32(group, said, simt_ctz_u32(group));
        uint32_t n = said / QUARRY_ARENAS_STEPS, step = said % QUARRY_ARENAS_STEPS, needs = a->needs;
        if (step == QUARRY_ARENAS_UNITS || step == QUARRY_ARENAS_BINS)
            quarry_arenas_use(h, a, group, n, step == QUARRY_ARENAS_BINS);
        else if (step == QUARRY_ARENAS_NONE)
            a->needs = simt_ballot(group, (needs >> simt_lane() & 1u) &&
                                              simt_rank(needs) + n < simt_popc_u32(needs));
        else if (step != QUARRY_ARENAS_AGAIN)
            return step == QUARRY_ARENAS_CHUNK;
        if (simt_rank(group) == 0)
            said = step == QUARRY_ARENAS_AGAIN ? quarry_arenas_begin(h, a) : quarry_arenas_next(h, a);
    }
}

/* Lanes that need blocks, a->needs, are to get them, or NULL, as the semaphores say: by quarry_arenas_go_on. */
SIMT_FN void quarry_arenas_start(volatile struct quarry_arenas_ask *a)
{
    a->owed = simt_popc_u32(a->needs);
    a->promised = 0;
    a->owed_bins = 0;
    a->promised_bins = 0;
    a->kept = QUARRY_NO_PAGE;
    a->searches = 0;
}

#endif
