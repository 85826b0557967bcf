/* SPDX-License-Identifier: Apache-2.0 */
/* Proving together that a heap is full.
 *
 * A malloc may return NULL if at some instant during its call no fitting space was free.  Proving that
 * means reading the whole heap's state, and when every thread fails at once not each may do so.  So those
 * that look for space sweep together: one group of lanes leads a *turn*, cuts the heap into parts, and all
 * groups that wait take parts, and what they find there they keep.  Whoever asked before the turn began
 * shares its verdict.
 *
 *     state   bit 63: scratch, flipped by every registration
 *             bits 62..0: number of turns begun and ended: odd while one runs
 *     full    number of the last turn that found the heap full (0: none)
 *     next    63..32 number of the pass | 31..0 next part of it; closed when that is >= the number of parts
 *     full_size   what that verdict is about
 *     kind, first, size, done, sum, dirty   of the pass that runs; first_sum: of the turn's first
 *
 * A turn consists of one pass of each of the allocator's kinds, in order.  Each part yields a number; a
 * pass, their sum.  Verdict "full": no part was dirty (saw a free page), and the sums of the first and the
 * last pass are equal.  What makes that a proof is the allocator's business.  Where blocks have several sizes
 * a turn is about the size, in pages, that its leader looks for, and its verdict tells those who look for no
 * less.  Sizes from QUARRY_SWEEP_CLASS on are not compared: a verdict about one tells those who look for the
 * same.
 *
 * A group registers: an atomic change of `state`, which yields its goal, the number of the first turn that
 * can begin from now on.  A verdict of a turn >= goal is about an instant after the registration.
 *
 * Order.  Registration (release) and the beginning of a turn (acquire) change `state`, so the turn reads from
 * the registration's release sequence: what happens-before a group's registration, frees by its own lanes
 * above all, happens-before the turn whose verdict it shares.  The leader opens a pass by storing `next`
 * (release); who takes a part changes `next` (acquire) and so has kind and first, and everything read in
 * earlier passes before; who finished one adds to `done` (release), which the leader loads (acquire)
 * before it reads sum and dirty or opens the next pass.  Between passes there is thus a happens-before
 * edge from all reads of the one to all reads of the other.  `full` is stored before the turn ends
 * (release) and loaded after `state` (acquire).  It is 0 while full_size changes, and loaded once more after
 * full_size (release, acquire): so both are of one verdict.
 *
 * Progress.  What one group looks for another may not be able to use: they want other sizes.  So a turn may be dirty
 * although nobody finds anything in it: of what its leader looks for, all is in a part that another group has swept.
 * Lanes of one warp may run in step, and then this could go on for ever.  Therefore a leader's next turn begins with a
 * part that was dirty in its last one, and it sweeps that part itself: it is taken when the turn begins.  If that was
 * the leader's own and gave it nothing, something moved or was taken there: so others have gone on.
 *
 * A straggler may take a part of a later pass than the one that it saw open: it learns which from the
 * value that it got, and kind cannot change before that part is done. */
#ifndef QUARRY_CORE_SWEEP_H
#define QUARRY_CORE_SWEEP_H

#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/simt/simt.h"

#define QUARRY_SWEEP_SCRATCH ((uint64_t)1 << 63)
#define QUARRY_SWEEP_PASS ((uint64_t)1 << 32)
#define QUARRY_SWEEP_CLOSED 0x7fffffffu /* in `next`: no part left, and far from a carry into the pass */
#define QUARRY_SWEEP_CLASS 0x80000000u
#define QUARRY_SWEEP_PATIENCE 32u /* backoffs between two looks, at most */
#define QUARRY_SWEEP_ASKS 16u     /* of so many looks one is for news, on average */

struct quarry_sweep {
    uint64_t state;
    uint64_t full;
    uint32_t full_size;
    uint32_t apart[27]; /* the rest is in another line of the cache: who waits reads it less often */
    uint64_t next;
    uint64_t sum;
    uint64_t first_sum; /* of the turn's first pass */
    uint32_t done;
    uint32_t dirty; /* 1 + the number of a part that was, or 0 */
    uint32_t kind;
    uint32_t first; /* part 0 of a pass is this one of the heap */
    uint32_t size;  /* in pages */
};

/* Sweeps one part: reads items of the heap, and takes free pages for those lanes of the group whose *page is
 * QUARRY_NO_PAGE, until none needs one.
 *   kind    of the pass, from 0
 *   part   0 .. parts - 1
 *   size    that the turn is about; 1 where there is no other
 *   dirty   set to 1, by every lane, if `size` free pages were seen together
 * Returns the caller's share of the part's number.  Scope: group; the caller syncs afterwards. */
typedef uint64_t (*quarry_sweep_part)(const void *heap, struct quarry_random *r, uint32_t group,
                                      uint32_t kind, uint32_t part, uint32_t size, uint32_t *page,
                                      int *dirty);

/* What others have seen in their parts, and did not need: a page for all lanes of the group that fits, as it seems; or
 * `page`, if there is none.  Who waits asks for it now and then, so that not all come at the same time: the first who
 * finds that there is nothing says so to the others.  Scope: group, reconverged.  Order: none; it is a hint, and no
 * proof uses it. */
typedef uint32_t (*quarry_sweep_news)(const void *heap, uint32_t group, uint32_t page);

struct quarry_sweep_plan {
    struct quarry_sweep *sweep;
    const void *heap;
    quarry_sweep_part sweep_part;
    quarry_sweep_news news; /* or NULL */
    uint32_t parts;         /* at least 1 */
    uint32_t kinds;         /* passes of a turn, at least 2 */
    uint32_t size;          /* pages that the calling lane needs together: lanes may differ */
    int in_order; /* the first turn that the group leads begins with part 0, not where the last one stopped */
};

/* Nobody sweeps, and no verdict is known.  One thread, while nothing else runs. */
SIMT_FN void quarry_sweep_init(struct quarry_sweep *s)
{
    s->state = 0;
    s->full = 0;
    s->next = QUARRY_SWEEP_CLOSED;
    s->sum = 0;
    s->first_sum = 0;
    s->done = 0;
    s->dirty = 0;
    s->kind = 0;
    s->first = 0;
    s->size = 0;
    s->full_size = 0;
}

struct quarry_sweep_items {
    uint32_t first;
    uint32_t end; /* behind the last */
};

/* The items of part `part` when `items`, at least 1, are cut into `parts` of one size but for the last ones,
 * which have what is left, or nothing. */
SIMT_FN struct quarry_sweep_items quarry_sweep_cut(uint32_t items, uint32_t part, uint32_t parts)
{
    uint32_t each = (items - 1u) / parts + 1u;
    uint64_t first = (uint64_t)each * part;
    struct quarry_sweep_items of;
    of.first = first < items ? (uint32_t)first : items;
    of.end = items - of.first < each ? items : of.first + each;
    return of;
}

/* Registers the group, and returns its goal to every lane of it. */
SIMT_FN uint64_t quarry_sweep_register(struct quarry_sweep *s, uint32_t group)
{
    uint64_t goal = 0;
    simt_sync(group); /* what any lane did before, not only the leader, is before the registration */
    if (simt_rank(group) == 0) {
        /* Order: the registration; the beginning of a turn reads from its release sequence. */
        uint64_t turn = simt_xor_u64(&s->state, QUARRY_SWEEP_SCRATCH, release) & ~QUARRY_SWEEP_SCRATCH;
        goal = turn + 1u + (turn & 1u);
    }
    return simt_shuffle_u64(group, goal, simt_ctz_u32(group));
}

/* The leader's first lane opens a pass.
 *   taken   so many of its parts are the leader's */
SIMT_FN void quarry_sweep_open(struct quarry_sweep *s, uint32_t kind, uint32_t taken)
{
    uint64_t pass = simt_load_u64(&s->next, relaxed) / QUARRY_SWEEP_PASS + 1u;
    simt_store_u64(&s->sum, 0, relaxed);
    simt_store_u32(&s->done, 0, relaxed);
    simt_store_u32(&s->dirty, 0, relaxed);
    simt_store_u32(&s->kind, kind, relaxed);
    simt_store_u64(&s->next, pass * QUARRY_SWEEP_PASS + taken, release); /* pairs with who takes a part */
}

/* Takes and sweeps one part of the pass that runs.
 *   begins   the group has just begun the turn, and has its part 0
 * Returns 0 if none was left. */
SIMT_FN int quarry_sweep_help(const struct quarry_sweep_plan *plan, struct quarry_random *r, uint32_t group,
                              int begins, uint32_t *page)
{
    struct quarry_sweep *s = plan->sweep;
    uint32_t leader = simt_ctz_u32(group), part = plan->parts, kind = 0, size = 0;
    int dirty = 0;
    if (simt_rank(group) == 0 && (begins || (uint32_t)simt_load_u64(&s->next, relaxed) < plan->parts)) {
        part = 0;
        if (!begins) /* pairs with the release that opened the pass */
            part = (uint32_t)simt_add_u64(&s->next, 1, acquire);
        if (part < plan->parts) {
            kind = simt_load_u32(&s->kind, relaxed);
            size = simt_load_u32(&s->size, relaxed);
            part += simt_load_u32(&s->first, relaxed);
            part -= part >= plan->parts ? plan->parts : 0;
        } else {
            part = plan->parts;
        }
    }
    part = simt_shuffle_u32(group, part, leader);
    kind = simt_shuffle_u32(group, kind, leader);
    size = simt_shuffle_u32(group, size, leader);
    if (part == plan->parts)
        return 0;
    simt_sync(group); /* what the leader acquired, every lane has */
    uint64_t number = plan->sweep_part(plan->heap, r, group, kind, part, size, page, &dirty);
    number = simt_reduce_add_u64(group, number);
    simt_sync(group); /* what lanes read, before `done`; what one acquired for another */
    if (simt_rank(group) == 0) {
        simt_add_u64(&s->sum, number, relaxed);
        if (dirty)
            simt_store_u32(&s->dirty, part + 1u, relaxed);
        simt_add_u32(&s->done, 1, release); /* pairs with the load in quarry_sweep_close */
    }
    return 1;
}

/* The smallest size that a lane of the group still needs. */
SIMT_FN uint32_t quarry_sweep_size(const struct quarry_sweep_plan *plan, uint32_t group, uint32_t page)
{
    return simt_reduce_min_u32(group, page == QUARRY_NO_PAGE ? plan->size : QUARRY_NO_PAGE);
}

/* Does a verdict about one size tell those who look for the other? */
SIMT_FN int quarry_sweep_tells(uint32_t full_size, uint32_t size)
{
    return full_size == size || (full_size < size && !(size & QUARRY_SWEEP_CLASS));
}

/* Is the verdict of a turn from `goal` on, for those who look for `size`, that the heap is full? */
SIMT_FN int quarry_sweep_is_full(const struct quarry_sweep *s, uint64_t goal, uint32_t size)
{
    uint64_t full = simt_load_u64(&s->full, acquire); /* before and after full_size: one verdict's */
    return full >= goal && quarry_sweep_tells(simt_load_u32(&s->full_size, acquire), size) &&
           simt_load_u64(&s->full, relaxed) == full;
}

/* The group begins a turn that it leads, about the smallest size that a lane of it needs, and has its part 0.
 *   again   as quarry_sweep_close has left it, or 0 */
SIMT_FN void quarry_sweep_begin(const struct quarry_sweep_plan *plan, uint32_t group, uint32_t page,
                                uint32_t again)
{
    struct quarry_sweep *s = plan->sweep;
    uint32_t size = quarry_sweep_size(plan, group, page);
    if (simt_rank(group) != 0)
        return;
    if (again || plan->in_order)
        simt_store_u32(&s->first, again ? again - 1u : 0, relaxed);
    simt_store_u32(&s->size, size, relaxed);
    quarry_sweep_open(s, 0, 1u);
}

enum quarry_sweep_verdict { QUARRY_SWEEP_OPEN, QUARRY_SWEEP_FULL, QUARRY_SWEEP_NOT_FULL };

/* Ends the pass of the turn that the group leads, when no part of it is left or none of its lanes needs a
 * page any more.  The next pass is open then, or the turn is at its end with the verdict that is returned.
 *   *again   of the first lane: 1 + the number of a part that was dirty, or 0 */
SIMT_FN enum quarry_sweep_verdict quarry_sweep_close(const struct quarry_sweep_plan *plan, uint32_t group,
                                                     uint32_t page, uint32_t *again)
{
    struct quarry_sweep *s = plan->sweep;
    uint32_t verdict = QUARRY_SWEEP_OPEN;
    int satisfied = !simt_any(group, page == QUARRY_NO_PAGE);
    if (simt_rank(group) == 0) {
        uint64_t next = simt_load_u64(&s->next, relaxed);
        if (satisfied) /* nobody takes a part of it any more */
            next = simt_exchange_u64(&s->next, next | QUARRY_SWEEP_CLOSED, relaxed);
        uint32_t taken = (uint32_t)next < plan->parts ? (uint32_t)next : plan->parts;
        while (simt_load_u32(&s->done, acquire) != taken) /* pairs with quarry_sweep_help */
            simt_backoff();
        uint64_t sum = simt_load_u64(&s->sum, relaxed);
        uint32_t kind = simt_load_u32(&s->kind, relaxed);
        if (kind == 0)
            simt_store_u64(&s->first_sum, sum, relaxed);
        *again = simt_load_u32(&s->dirty, relaxed);
        if (satisfied || *again) {
            uint32_t stop = simt_load_u32(&s->first, relaxed) + taken;
            simt_store_u32(&s->first, stop >= plan->parts ? stop - plan->parts : stop, relaxed);
            verdict = QUARRY_SWEEP_NOT_FULL;
        } else if (kind + 1 < plan->kinds) {
            quarry_sweep_open(s, kind + 1u, 0);
        } else {
            verdict = QUARRY_SWEEP_NOT_FULL;
            if (sum == simt_load_u64(&s->first_sum, relaxed)) {
                verdict = QUARRY_SWEEP_FULL;
                simt_store_u64(&s->full, 0, relaxed);
                /* release, twice: pair with the acquires of quarry_sweep_is_full */
                simt_store_u32(&s->full_size, simt_load_u32(&s->size, relaxed), release);
                simt_store_u64(&s->full, simt_load_u64(&s->state, relaxed) & ~QUARRY_SWEEP_SCRATCH, release);
            }
        }
        if (verdict != QUARRY_SWEEP_OPEN)
            simt_add_u64(&s->state, 1u, release); /* ends the turn; pairs with the load of `state` below */
    }
    return (enum quarry_sweep_verdict)simt_shuffle_u32(group, verdict, simt_ctz_u32(group));
}

/* Looks for pages for the lanes of the group whose `page` is QUARRY_NO_PAGE.
 * Returns the caller's page, and whoever took it has acquired for the caller; or QUARRY_NO_PAGE: then at some
 * instant during the call nothing that it could use was free.  Scope: group, reconverged.
 * Progress: waits for groups that sweep, which wait for nobody else; turns follow one another as long as others
 * free and take pages. */
SIMT_FN uint32_t quarry_sweep_search(const struct quarry_sweep_plan *plan, struct quarry_random *r,
                                     uint32_t group, uint32_t page)
{
    enum { FULL, LEAD, HELP, ASK };
    struct quarry_sweep *s = plan->sweep;
    volatile uint64_t goal = quarry_sweep_register(s, group); /* in memory: registers are the kernel's */
    uint32_t role = HELP, idle = 1, again = 0;
    uint32_t heard = ~0u,
             looks = 0; /* of who asks for news: turns that had ended when it last looked, and its looks */
    while (role == LEAD || simt_any(group, page == QUARRY_NO_PAGE)) {
        int begins = 0;
        if (role != LEAD) {
            uint32_t size = quarry_sweep_size(plan, group, page);
            if (simt_rank(group) == 0) {
                uint64_t state = simt_load_u64(&s->state, acquire); /* before `full` */
                /* Who asks for news looks for a verdict only when a turn has ended: until then there is no other. */
                if ((!plan->news || heard != (uint32_t)(state / 2u)) && quarry_sweep_is_full(s, goal, size))
                    role = FULL;
                else if (plan->news &&
                         quarry_mix_u32(simt_thread() * 0x9e3779b9u + looks) % QUARRY_SWEEP_ASKS == 0)
                    role = ASK;
                else if (!(state & 1u) && simt_cas_u64(&s->state, state, state + 1u, acquire) == state)
                    role = LEAD;
                if (plan->news) {
                    heard = (uint32_t)(state / 2u);
                    looks++;
                }
            }
            role = simt_shuffle_u32(group, role, simt_ctz_u32(group));
            if (role == FULL)
                break;
            if (plan->news && role == ASK) {
                page = plan->news(plan->heap, group, page);
                role = HELP;
                continue;
            }
            begins = role == LEAD;
            if (begins)
                quarry_sweep_begin(plan, group, page, again);
        }
        if (simt_any(group, page == QUARRY_NO_PAGE) && quarry_sweep_help(plan, r, group, begins, &page)) {
            idle = 1;
            continue;
        }
        if (role == LEAD) {
            enum quarry_sweep_verdict verdict = quarry_sweep_close(plan, group, page, &again);
            if (verdict == QUARRY_SWEEP_OPEN)
                continue;
            if (verdict == QUARRY_SWEEP_FULL || !simt_any(group, page == QUARRY_NO_PAGE))
                break;
            /* After a turn of one's own wait, too, and for a random time: a page that others free and take in
             * a steady rhythm could else be missed for as long as the sweep keeps in step. */
            struct quarry_random any = quarry_random_start(); /* *r need not be kept for this */
            role = HELP;
            idle = 1u + simt_shuffle_u32(group, quarry_random_below(&any, QUARRY_SWEEP_PATIENCE),
                                         simt_ctz_u32(group));
        }
        /* Thousands of groups may wait, and what they read, those that sweep must write. */
        for (uint32_t i = 0; i < idle; i++)
            simt_backoff();
        idle = idle < QUARRY_SWEEP_PATIENCE ? 2 * idle : idle;
    }
    simt_sync(group); /* for speed: lanes go on together, also those that need no sweep */
    return page;
}

#endif
