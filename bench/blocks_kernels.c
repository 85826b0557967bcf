/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks_kernels.h"

SIMT_FN uint64_t *blocks_word(const struct blocks_case *a, uint32_t which)
{
    return &a->words[which].word;
}

/* Links the elements and fills the semaphore; any number of threads. */
SIMT_KERNEL(blocks_start, struct blocks_case, a)
{
    uint32_t self = simt_thread(), every = a.element_count ? a.threads / a.element_count : 0;
    for (uint32_t i = self; i < BLOCKS_WORDS; i += simt_threads())
        *blocks_word(&a, i) = 0;
    for (uint32_t i = self; i < a.element_count; i += simt_threads()) {
        struct quarry_link *next = i + 1 < a.element_count ? &a.elements[i + 1].link : a.list;
        a.elements[i].link.next = (uint64_t)(uintptr_t)next;
        a.elements[i].link.back = i ? &a.elements[i - 1].link : a.list;
        a.elements[i].tag = i * every;
    }
    if (self == 0) {
        quarry_semaphore_init(a.semaphore, a.units);
        *a.srcu = (struct quarry_srcu){0};
        a.mutex->held = 0;
        quarry_list_init(a.list);
        if (a.element_count) {
            a.list->next = (uint64_t)(uintptr_t)&a.elements[0].link;
            a.list->back = &a.elements[a.element_count - 1].link;
        }
    }
}

/* Lanes of the warp that work; 0 for one that does not. */
SIMT_FN uint32_t blocks_group(const struct blocks_case *a)
{
    int works = simt_thread() < a->threads;
    uint32_t group = simt_ballot(SIMT_ALL_LANES, works);
    return works ? group : 0;
}

/* What lane 0 of the group does for all, and how each lane writes what it got: the same in all kernels. */
#define BLOCKS_WARP_KERNEL(name, get)                                                                        \
    SIMT_KERNEL(name, struct blocks_case, a)                                                                 \
    {                                                                                                        \
        uint32_t group = blocks_group(&a), n = simt_popc_u32(group), got = 0;                                \
        if (!group)                                                                                          \
            return;                                                                                          \
        for (uint32_t round = 0; round < a.rounds; round++)                                                  \
            if (simt_rank(group) == 0)                                                                       \
                got += get(&a, n);                                                                           \
        a.out[simt_thread()] = simt_shuffle_u32(group, got, simt_ctz_u32(group)) + simt_rank(group);         \
    }

/* ---- figure 5 ---- */

SIMT_FN void blocks_make_batch(const struct blocks_case *a)
{
    (void)simt_add_u64(blocks_word(a, BLOCKS_MADE), a->batch, relaxed);
}

SIMT_FN uint32_t blocks_get(const struct blocks_case *a, uint32_t n)
{
    uint32_t owed = n - quarry_semaphore_ask(a->semaphore, n);
    while (owed)
        for (uint32_t promised = quarry_semaphore_wait(a->semaphore, &owed, a->batch); promised;) {
            blocks_make_batch(a);
            quarry_semaphore_produced(a->semaphore, &owed, a->batch, &promised);
        }
    return n;
}

SIMT_KERNEL(blocks_bulk, struct blocks_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    (void)blocks_get(&a, 1);
    a.out[simt_thread()] = 1;
}

BLOCKS_WARP_KERNEL(blocks_bulk_warp, blocks_get)

/* Algorithm 1.  The poll ends where R > C + E, not where they are equal, and what follows it is one step with
 * the end of the reservation.  Returns whether the caller must make a batch, of which it keeps n. */
SIMT_FN int blocks_paper_wait(uint64_t *word, uint32_t n, uint32_t batch)
{
    uint64_t now = simt_load_u64(word, relaxed), reserved = 0;
    for (;;) {
        uint64_t c = now / BLOCKS_PAPER_C, e = now / BLOCKS_PAPER_E % BLOCKS_PAPER_E,
                 r = now % BLOCKS_PAPER_E;
        uint64_t after = now - reserved * BLOCKS_PAPER_R;
        int grow = c + e + reserved < r + n, take = !grow && c >= n;
        if (grow) {
            after += (batch - n) * BLOCKS_PAPER_E;
        } else if (take) {
            after -= n * BLOCKS_PAPER_C;
        } else if (reserved == 0) {
            after += n * BLOCKS_PAPER_R;
        } else {
            simt_backoff();
            now = simt_load_u64(word, relaxed);
            continue;
        }
        /* acquire: pairs with the release in blocks_paper_signal */
        uint64_t before = simt_cas_u64(word, now, after, acquire);
        if (before != now) {
            now = before;
            continue;
        }
        if (grow || take)
            return grow;
        reserved = n;
        now = after;
    }
}

/* Algorithm 2. */
SIMT_FN void blocks_paper_signal(uint64_t *word, uint32_t n, uint32_t kept)
{
    uint64_t now = simt_load_u64(word, relaxed), before;
    for (;;) {
        /* release: pairs with the acquire in blocks_paper_wait */
        before = simt_cas_u64(word, now, now + n * BLOCKS_PAPER_C - kept * BLOCKS_PAPER_E, release);
        if (before == now)
            return;
        now = before;
    }
}

SIMT_FN uint32_t blocks_paper_get(const struct blocks_case *a, uint32_t n)
{
    uint64_t *word = blocks_word(a, BLOCKS_UNITS);
    if (blocks_paper_wait(word, n, a->batch)) {
        blocks_make_batch(a);
        blocks_paper_signal(word, a->batch - n, a->batch - n);
    }
    return n;
}

SIMT_KERNEL(blocks_paper, struct blocks_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    (void)blocks_paper_get(&a, 1);
    a.out[simt_thread()] = 1;
}

BLOCKS_WARP_KERNEL(blocks_paper_warp, blocks_paper_get)

/* Section 3.2: who finds 0 writes -1 and makes a batch; who finds -1 waits. */
SIMT_KERNEL(blocks_counting, struct blocks_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    uint64_t *word = blocks_word(&a, BLOCKS_UNITS), now = simt_load_u64(word, relaxed);
    for (;;) {
        if ((int64_t)now < 0) {
            simt_backoff();
            now = simt_load_u64(word, relaxed);
            continue;
        }
        /* acquire: pairs with the release below */
        uint64_t before = simt_cas_u64(word, now, now - 1u, acquire);
        if (before == now)
            break;
        now = before;
    }
    if (now == 0) {
        blocks_make_batch(&a);
        /* release: pairs with the acquire above; of the batch the caller has one, for -1 was there */
        (void)simt_add_u64(word, a.batch, release);
    }
    a.out[simt_thread()] = 1;
}

/* ---- one word ---- */

SIMT_KERNEL(blocks_bump, struct blocks_case, a)
{
    if (simt_thread() < a.threads)
        a.out[simt_thread()] = (uint32_t)simt_add_u64(blocks_word(&a, BLOCKS_UNITS), 1, relaxed);
}

SIMT_FN uint32_t blocks_bump_once(const struct blocks_case *a, uint32_t n)
{
    return (uint32_t)simt_add_u64(blocks_word(a, BLOCKS_UNITS), n, relaxed);
}

SIMT_FN uint32_t blocks_ask_once(const struct blocks_case *a, uint32_t n)
{
    return quarry_semaphore_ask(a->semaphore, n);
}

SIMT_FN uint32_t blocks_ask_relaxed_once(const struct blocks_case *a, uint32_t n)
{
    uint64_t before = simt_sub_u64(&a->semaphore->units, n, relaxed);
    (void)simt_sub_u64(&a->semaphore->balance, n * QUARRY_SEMAPHORE_UNIT, relaxed);
    return quarry_semaphore_part(quarry_semaphore_there(before), n);
}

SIMT_FN uint32_t blocks_try_once(const struct blocks_case *a, uint32_t n)
{
    return quarry_semaphore_try(a->semaphore, n) ? n : 0;
}

BLOCKS_WARP_KERNEL(blocks_bump_warp, blocks_bump_once)
BLOCKS_WARP_KERNEL(blocks_ask_warp, blocks_ask_once)
BLOCKS_WARP_KERNEL(blocks_ask_relaxed_warp, blocks_ask_relaxed_once)
BLOCKS_WARP_KERNEL(blocks_try_warp, blocks_try_once)

SIMT_KERNEL(blocks_ask, struct blocks_case, a)
{
    if (simt_thread() < a.threads)
        a.out[simt_thread()] = blocks_ask_once(&a, 1);
}

SIMT_FN uint32_t blocks_pair_bump(const struct blocks_case *a, uint32_t n)
{
    uint32_t got = blocks_bump_once(a, n);
    return got + (uint32_t)simt_sub_u64(blocks_word(a, BLOCKS_UNITS), n, relaxed);
}

SIMT_FN uint32_t blocks_pair(const struct blocks_case *a, uint32_t n)
{
    uint32_t got = blocks_ask_once(a, n);
    quarry_semaphore_signal(a->semaphore, n);
    return got;
}

BLOCKS_WARP_KERNEL(blocks_pair_bump_warp, blocks_pair_bump)
BLOCKS_WARP_KERNEL(blocks_pair_warp, blocks_pair)

SIMT_KERNEL(blocks_section_warp, struct blocks_case, a)
{
    uint32_t group = blocks_group(&a), sections = 0;
    if (!group)
        return;
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t section = quarry_srcu_enter(a.srcu, group);
        sections += 1 + section;
        quarry_srcu_leave(a.srcu, group, section);
    }
    a.out[simt_thread()] = sections;
}

/* ---- figure 6 ---- */

SIMT_FN struct blocks_element *blocks_find(const struct blocks_case *a, uint32_t tag)
{
    for (struct quarry_link *link = quarry_list_next(a->list); link != a->list;
         link = quarry_list_next(link)) {
        struct blocks_element *element = (struct blocks_element *)(void *)link; /* its first member */
        if (element->tag == tag)
            return element;
    }
    return SIMT_NULL;
}

/* Each thread looks for its number among the tags.  Those of a warp who found theirs remove them in one
 * critical section; each calls a barrier. */
SIMT_FN void blocks_remove(const struct blocks_case *a, int delegates)
{
    uint32_t group = blocks_group(a);
    if (!group)
        return;
    uint32_t section = quarry_srcu_enter(a->srcu, group);
    struct blocks_element *element = blocks_find(a, simt_thread());
    quarry_srcu_leave(a->srcu, group, section);
    uint32_t removers = simt_ballot(group, element != SIMT_NULL), callbacks = 0;
    if (!element)
        return;
    quarry_mutex_lock(a->mutex, removers);
    for (uint32_t turn = 0; turn < simt_popc_u32(removers); turn++) {
        if (simt_rank(removers) == turn)
            quarry_list_remove(&element->link);
        simt_sync(removers);
    }
    quarry_mutex_unlock(a->mutex, removers);
    quarry_srcu_queue(a->srcu, &element->callback);
    struct quarry_srcu_callback *callback =
        delegates ? quarry_srcu_barrier_or_delegate(a->srcu) : quarry_srcu_barrier(a->srcu);
    for (; callback; callback = callback->next)
        callbacks++;
    if (callbacks)
        (void)simt_add_u64(blocks_word(a, BLOCKS_CALLBACKS), callbacks, relaxed);
    (void)simt_add_u64(blocks_word(a, BLOCKS_REMOVED), 1, relaxed);
}

SIMT_KERNEL(blocks_remove_classical, struct blocks_case, a)
{
    blocks_remove(&a, 0);
}

SIMT_KERNEL(blocks_remove_delegating, struct blocks_case, a)
{
    blocks_remove(&a, 1);
}
