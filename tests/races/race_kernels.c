/* SPDX-License-Identifier: Apache-2.0 */
#include "races/race_kernels.h"

#define RACE_TURNS 3u
#define RACE_USE 400u /* atomics for which race_stack looks at a page */

SIMT_FN void race_expect(const struct race_case *a, int holds)
{
    if (!holds)
        simt_add_u32(a->wrong, 1, relaxed);
}

/* The caller says that it holds the page, and then that it does no more. */
SIMT_FN void race_hold(const struct race_case *a, uint32_t page)
{
    race_expect(a, simt_exchange_u32(&a->owner[page], simt_thread() + 1, relaxed) == 0);
}

SIMT_FN void race_let_go(const struct race_case *a, uint32_t page)
{
    race_expect(a, simt_exchange_u32(&a->owner[page], 0, relaxed) == simt_thread() + 1);
}

/* A counter.  Broken: an update is lost between a load and a store. */
SIMT_KERNEL(race_count, struct race_case, a)
{
    if (a.broken)
        simt_store_u32(&a.words[0], simt_load_u32(&a.words[0], relaxed) + 1, relaxed);
    else
        simt_add_u32(&a.words[0], 1, relaxed);
    simt_block_barrier();
    if (simt_thread() == 0)
        race_expect(&a, simt_load_u32(&a.words[0], relaxed) == simt_threads());
}

/* A word of a bitmap; each thread has one page, thread 0 takes it while the others free theirs.  Broken: the
 * taker stores what it had read, so that a bit that was cleared meanwhile comes back: a page is lost. */
SIMT_KERNEL(race_bitmap, struct race_case, a)
{
    uint32_t mine = 1u << simt_thread();
    if (simt_thread() != 0)
        simt_or_u32(&a.words[0], mine, relaxed);
    simt_block_barrier();
    if (simt_thread() != 0) {
        simt_and_u32(&a.words[0], ~mine, release);
    } else {
        for (;;) {
            uint32_t before = simt_load_u32(&a.words[0], relaxed);
            if (a.broken) {
                simt_store_u32(&a.words[0], before | mine, relaxed);
                break;
            }
            if (simt_cas_u32(&a.words[0], before, before | mine, acquire) == before)
                break;
            simt_backoff();
        }
    }
    simt_block_barrier();
    if (simt_thread() == 0)
        race_expect(&a, simt_load_u32(&a.words[0], relaxed) == mine);
}

/* Lanes that need a number get one from a counter, which the lowest lane of the group advances for all.
 * Broken: the votes are cut to as many lanes as the group has, as if those were the lowest.  That is right
 * while all lanes arrive together, which they do in fast mode; else a lane goes without. */
SIMT_KERNEL(race_tickets, struct race_case, a)
{
    uint32_t lane = simt_lane();
    uint32_t need = lane % 2 == 0;
    uint32_t group = simt_active();
    uint32_t needs = simt_ballot(group, need);
    uint32_t first = 0;
    if (a.broken)
        needs &= group == SIMT_ALL_LANES ? group : (1u << simt_popc_u32(group)) - 1u;
    if (lane == simt_ctz_u32(group))
        first = simt_add_u32(&a.words[0], simt_popc_u32(needs), relaxed);
    first = simt_shuffle_u32(group, first, simt_ctz_u32(group));
    if (needs >> lane & 1u)
        simt_store_u32(&a.owner[first + simt_rank(needs)], lane + 1, relaxed);
    simt_block_barrier();
    if (need) {
        uint32_t served = 0;
        for (uint32_t i = 0; i < SIMT_LANES; i++)
            served += simt_load_u32(&a.owner[i], relaxed) == lane + 1;
        race_expect(&a, served == 1);
    }
}

/* One lane wins and returns; the others count themselves.  Broken: the mask was taken before, so it may name
 * the winner. */
SIMT_KERNEL(race_early_mask, struct race_case, a)
{
    uint32_t group = simt_active();
    if (simt_exchange_u32(&a.words[0], 1, relaxed) == 0)
        return;
    if (!a.broken)
        group = simt_active();
    race_expect(&a, simt_reduce_add_u32(group, 1) == simt_popc_u32(group));
}

/* Two locks.  Broken: odd threads take them in the other order. */
SIMT_KERNEL(race_locks, struct race_case, a)
{
    uint32_t first = a.broken ? simt_thread() & 1u : 0;
    while (simt_exchange_u32(&a.words[first], 1, acquire)) /* pairs with the stores below */
        simt_backoff();
    while (simt_exchange_u32(&a.words[1 - first], 1, acquire))
        simt_backoff();
    race_hold(&a, 0);
    race_let_go(&a, 0);
    simt_store_u32(&a.words[1 - first], 0, release);
    simt_store_u32(&a.words[first], 0, release);
}

/* One flag for each page; there is one page more than threads.  Broken: the flag is looked at, then set: a
 * page has two owners. */
SIMT_KERNEL(race_flags, struct race_case, a)
{
    for (uint32_t turn = 0; turn < RACE_TURNS; turn++) {
        uint32_t page = 0;
        for (;;) {
            if (simt_load_u32(&a.words[page], relaxed) == 0) {
                if (a.broken) {
                    simt_store_u32(&a.words[page], 1, relaxed);
                    break;
                }
                if (simt_cas_u32(&a.words[page], 0, 1, acquire) == 0)
                    break;
            }
            page = page == simt_threads() ? 0 : page + 1;
            simt_backoff();
        }
        race_hold(&a, page);
        race_let_go(&a, page);
        simt_store_u32(&a.words[page], 0, release);
    }
}

/* ---- a stack of free pages ----
 *
 * head is a count of the changes << 32 | page + 1; words[page] is the next page + 1; 0 ends it. */

SIMT_FN void race_look(const struct race_case *a, uint32_t page)
{
    for (uint32_t i = 0; i < RACE_USE; i++)
        (void)simt_load_u32(&a->owner[page], relaxed);
}

/* Looks at the page before it is taken, for what a real stack would choose it by. */
SIMT_FN uint32_t race_pop(const struct race_case *a)
{
    uint64_t before = simt_load_u64(a->head, acquire);
    for (;;) {
        uint32_t page = (uint32_t)before - 1;
        uint32_t next = simt_load_u32(&a->words[page], relaxed);
        uint64_t count = a->broken ? 0 : (before >> 32) + 1;
        race_look(a, page);
        uint64_t seen = simt_cas_u64(a->head, before, count << 32 | next, acq_rel);
        if (seen == before)
            return page;
        before = seen;
    }
}

SIMT_FN void race_push(const struct race_case *a, uint32_t page)
{
    uint64_t before = simt_load_u64(a->head, relaxed);
    for (;;) {
        uint64_t count = a->broken ? 0 : (before >> 32) + 1;
        simt_store_u32(&a->words[page], (uint32_t)before, relaxed);
        uint64_t seen = simt_cas_u64(a->head, before, count << 32 | (page + 1), acq_rel);
        if (seen == before)
            return;
        before = seen;
    }
}

/* Each thread takes two pages, uses them, frees the first, uses the second and frees it.  Broken: head counts
 * no changes, so a compare-exchange takes it for unchanged when its page was taken and freed again ("ABA").
 * A page gets two owners if a thread reads head and its next page; another then takes both, uses them and
 * frees the first; and the first thread goes on before the other frees the second.  Three events in order,
 * with long stretches between them. */
SIMT_KERNEL(race_stack, struct race_case, a)
{
    if (simt_thread() == 0) {
        for (uint32_t page = 0; page < RACE_STACK_PAGES; page++)
            race_push(&a, page);
    }
    simt_block_barrier();
    uint32_t one = race_pop(&a);
    race_hold(&a, one);
    uint32_t two = race_pop(&a);
    race_hold(&a, two);
    race_look(&a, one);
    race_look(&a, two);
    race_let_go(&a, one);
    race_push(&a, one);
    race_look(&a, two);
    race_let_go(&a, two);
    race_push(&a, two);
}

/* A page of blocks as ScatterAlloc has it, in three words: the size of its blocks, how many lanes are in it,
 * and a bit for each block.  Four cells: four blocks of 1, or two of 2; who has a block holds its cells.
 *
 * mallocMC's rule: enter first, then look at the size; leave last.  The last to leave makes the page empty,
 * for any size, while it keeps others out. */
enum race_page_bug {
    RACE_PAGE_SOUND,
    RACE_PAGE_LOOK,  /* looks at the size, and then enters: it may have changed */
    RACE_PAGE_RESET, /* keeps nobody out: the size changes under those who enter */
    RACE_PAGE_LAST   /* looks who is there before it leaves: of two who leave at once nobody is the last */
};
enum { RACE_PAGE_SIZE, RACE_PAGE_COUNT, RACE_PAGE_BITS };
#define RACE_PAGE_CELLS 4u
#define RACE_PAGE_CLOSED 0x10000u /* in the count */

SIMT_FN int race_page_fits(const struct race_case *a, uint32_t size)
{
    uint32_t before = simt_cas_u32(&a->words[RACE_PAGE_SIZE], 0, size, relaxed);
    return before == 0 || before == size;
}

SIMT_FN void race_page_leave(const struct race_case *a, enum race_page_bug bug)
{
    uint32_t *count = &a->words[RACE_PAGE_COUNT];
    uint32_t before = simt_load_u32(count, relaxed);
    if (bug == RACE_PAGE_LAST)
        simt_sub_u32(count, 1, relaxed);
    else
        before = simt_sub_u32(count, 1, relaxed);
    if (before != 1)
        return;
    if (bug == RACE_PAGE_RESET) {
        simt_store_u32(&a->words[RACE_PAGE_SIZE], 0, relaxed);
    } else if (simt_cas_u32(count, 0, RACE_PAGE_CLOSED, relaxed) == 0) {
        simt_store_u32(&a->words[RACE_PAGE_SIZE], 0, relaxed);
        simt_sub_u32(count, RACE_PAGE_CLOSED, relaxed);
    }
}

/* Enters the page.  Returns 0 if it is closed, full, or of another size. */
SIMT_FN int race_page_enter(const struct race_case *a, uint32_t size, enum race_page_bug bug)
{
    if (bug == RACE_PAGE_LOOK && !race_page_fits(a, size))
        return 0;
    if (simt_add_u32(&a->words[RACE_PAGE_COUNT], 1, relaxed) < RACE_PAGE_CELLS / size &&
        (bug == RACE_PAGE_LOOK || race_page_fits(a, size)))
        return 1;
    race_page_leave(a, bug);
    return 0;
}

SIMT_FN void race_page(const struct race_case *a, enum race_page_bug bug)
{
    uint32_t *bits = &a->words[RACE_PAGE_BITS];
    for (uint32_t turn = 0; turn < RACE_TURNS; turn++) {
        uint32_t size = 1 + (simt_thread() + turn) % 2, block = 0;
        if (!race_page_enter(a, size, bug))
            continue;
        while (simt_or_u32(bits, 1u << block, relaxed) >> block & 1u)
            block = block + 1 < RACE_PAGE_CELLS / size ? block + 1 : 0;
        for (uint32_t i = 0; i < size; i++)
            race_hold(a, block * size + i);
        for (uint32_t i = 0; i < size; i++)
            race_let_go(a, block * size + i);
        simt_and_u32(bits, ~(1u << block), relaxed);
        race_page_leave(a, bug);
    }
    simt_block_barrier();
    if (simt_thread() == 0) /* empty, and lost for no size */
        race_expect(a, simt_load_u32(&a->words[RACE_PAGE_SIZE], relaxed) == 0);
}

SIMT_KERNEL(race_page_look, struct race_case, a)
{
    race_page(&a, a.broken ? RACE_PAGE_LOOK : RACE_PAGE_SOUND);
}

SIMT_KERNEL(race_page_reset, struct race_case, a)
{
    race_page(&a, a.broken ? RACE_PAGE_RESET : RACE_PAGE_SOUND);
}

SIMT_KERNEL(race_page_last, struct race_case, a)
{
    race_page(&a, a.broken ? RACE_PAGE_LAST : RACE_PAGE_SOUND);
}

/* Thread 0 hands plain data to thread 1 by a flag.  Broken: the flag is written, or read, without an order.
 * In the deterministic scheduler memory is sequentially consistent, so nothing ever goes wrong there. */
SIMT_KERNEL(race_handover, struct race_case, a)
{
    if (simt_thread() == 0) {
        *a.data = 1;
        if (a.broken == RACE_NO_RELEASE)
            simt_store_u32(&a.words[0], 1, relaxed);
        else
            simt_store_u32(&a.words[0], 1, release);
    } else {
        for (;;) {
            uint32_t there = a.broken == RACE_NO_ACQUIRE ? simt_load_u32(&a.words[0], relaxed)
                                                         : simt_load_u32(&a.words[0], acquire);
            if (there)
                break;
            simt_backoff();
        }
        race_expect(&a, *a.data == 1);
    }
}
