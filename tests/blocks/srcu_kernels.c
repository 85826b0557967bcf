/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/srcu_kernels.h"

SIMT_KERNEL(srcu_start, struct srcu_case, a)
{
    if (simt_thread() != 0)
        return;
    quarry_list_init(a.list);
    a.element[a.element_count].state = SRCU_REUSED; /* where nobody may come */
    a.srcu->readers = (uint64_t)a.epoch << QUARRY_SRCU_EPOCH_SHIFT;
    for (uint32_t i = 0; i < a.element_count; i++) {
        a.element[i].tag = i;
        a.element[i].state = SRCU_LISTED;
        quarry_list_insert(a.list, &a.element[i].link);
    }
}

SIMT_FN struct srcu_element *element_of(struct quarry_link *link)
{
    return (struct srcu_element *)(void *)link; /* its first member */
}

SIMT_FN struct srcu_element *element_of_callback(struct quarry_srcu_callback *callback)
{
    return (struct srcu_element *)(void *)((unsigned char *)callback - sizeof(struct quarry_link));
}

/* Looks for a tag.  A reader's. */
SIMT_FN struct srcu_element *find(const struct srcu_case *a, uint32_t tag)
{
    for (struct quarry_link *link = quarry_list_next(a->list); link != a->list;
         link = quarry_list_next(link)) {
        struct srcu_element *element = element_of(link);
        uint32_t found = simt_load_u32(&element->tag, relaxed);
        if (simt_load_u32(&element->state, relaxed) == SRCU_REUSED || element->uses[0] != element->uses[1]) {
            simt_add_u32(&a->counts[SRCU_WRONG], 1, relaxed);
            return SIMT_NULL;
        }
        if (found == tag)
            return element;
    }
    return SIMT_NULL;
}

SIMT_FN void reuse(const struct srcu_case *a, struct srcu_element *element)
{
    uint32_t self = 1u << simt_lane();
    simt_store_u32(&element->state, SRCU_REUSED, relaxed);
    element->uses[0]++;
    element->uses[1]++;
    if (!a->again)
        return;
    /* no reader follows it */
    simt_store_u64(&element->link.next, (uint64_t)(uintptr_t)&a->element[a->element_count].link, relaxed);
    quarry_mutex_lock(a->mutex, self);
    simt_store_u32(&element->state, SRCU_LISTED, relaxed);
    quarry_list_insert(element->tag % 2 ? a->list : a->list->back, &element->link); /* at one of its ends */
    quarry_mutex_unlock(a->mutex, self);
}

SIMT_FN void remove_tag(const struct srcu_case *a, uint32_t tag)
{
    uint32_t self = 1u << simt_lane();
    uint32_t section = quarry_srcu_enter(a->srcu, self);
    struct srcu_element *element = find(a, tag);
    quarry_srcu_leave(a->srcu, self, section);
    if (!element)
        return;
    quarry_mutex_lock(a->mutex, self);
    quarry_list_remove(&element->link);
    simt_store_u32(&element->state, SRCU_REMOVED, relaxed);
    quarry_mutex_unlock(a->mutex, self);
    simt_add_u32(&a->counts[SRCU_REMOVALS], 1, relaxed);
    quarry_srcu_queue(a->srcu, &element->callback);
    struct quarry_srcu_callback *callback = a->delegates && (a->delegates > 1 || tag % 2)
                                                ? quarry_srcu_barrier_or_delegate(a->srcu)
                                                : quarry_srcu_barrier(a->srcu);
    while (callback) {
        struct quarry_srcu_callback *next = callback->next;
        simt_add_u32(&a->counts[SRCU_CALLBACKS], 1, relaxed);
        reuse(a, element_of_callback(callback));
        callback = next;
    }
}

/* Thread t removes the element with tag t, if it finds it, and looks for others.  Odd ones nest a section. */
SIMT_KERNEL(srcu_rounds, struct srcu_case, a)
{
    uint32_t thread = simt_thread();
    for (uint32_t round = 0; round < a.rounds; round++) {
        remove_tag(&a, thread);
        uint32_t group = simt_active();
        uint32_t section = quarry_srcu_enter(a.srcu, group);
        if (thread % 2) {
            uint32_t self = 1u << simt_lane(), inner = quarry_srcu_enter(a.srcu, self);
            quarry_srcu_leave(a.srcu, self, inner);
        }
        struct srcu_element *other = find(&a, (thread + 1) % a.element_count);
        uint32_t uses = other ? other->uses[0] : 0;
        (void)find(&a, a.element_count);     /* the whole list */
        if (other && other->uses[0] != uses) /* the reader stood on it meanwhile */
            simt_add_u32(&a.counts[SRCU_WRONG], 1, relaxed);
        quarry_srcu_leave(a.srcu, group, section);
    }
}

/* Thread 0 holds the mutex until all others have left their callbacks to one of them. */
SIMT_KERNEL(srcu_delegate, struct srcu_case, a)
{
    uint32_t thread = simt_thread();
    if (thread == 0) {
        quarry_mutex_acquire(&a.srcu->mutex);
        simt_store_u64(a.plain, 1, relaxed);
        while (simt_load_u32(&a.counts[SRCU_GROUPS], relaxed) + 2 != simt_threads())
            simt_backoff();
        quarry_mutex_release(&a.srcu->mutex);
        return;
    }
    while (simt_load_u64(a.plain, relaxed) == 0)
        simt_backoff();
    simt_add_u32(&a.counts[SRCU_REMOVALS], 1, relaxed);
    quarry_srcu_queue(a.srcu, &a.element[thread].callback);
    struct quarry_srcu_callback *callback = quarry_srcu_barrier_or_delegate(a.srcu);
    if (!callback)
        simt_add_u32(&a.counts[SRCU_GROUPS], 1, relaxed);
    for (; callback; callback = callback->next)
        simt_add_u32(&a.counts[SRCU_CALLBACKS], 1, relaxed);
}

/* Thread 1 ends an epoch.  Thread 0, a reader of it, goes on to read in the next one, and leaves that when the barrier
 * has returned, or does not for long. */
SIMT_KERNEL(srcu_late, struct srcu_case, a)
{
    uint32_t self = 1u << simt_lane();
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (simt_thread() == 0) {
            uint32_t first = quarry_srcu_enter(a.srcu, self);
            uint64_t epoch = simt_load_u64(&a.srcu->readers, relaxed) >> QUARRY_SRCU_EPOCH_SHIFT;
            simt_store_u64(a.plain, 2 * round + 1, relaxed);
            while (simt_load_u64(&a.srcu->readers, relaxed) >> QUARRY_SRCU_EPOCH_SHIFT == epoch)
                simt_backoff();
            uint32_t late = quarry_srcu_enter(a.srcu, self), looks = 0;
            quarry_srcu_leave(a.srcu, self, first);
            while (simt_load_u64(a.plain, relaxed) == 2 * round + 1 && looks++ < SRCU_PATIENCE)
                simt_backoff();
            if (simt_load_u64(a.plain, relaxed) == 2 * round + 2)
                simt_add_u32(&a.counts[SRCU_GROUPS], 1, relaxed);
            quarry_srcu_leave(a.srcu, self, late);
        } else {
            while (simt_load_u64(a.plain, relaxed) == 2 * round)
                simt_backoff();
            (void)quarry_srcu_barrier(a.srcu);
            simt_store_u64(a.plain, 2 * round + 2, relaxed);
        }
        simt_block_barrier();
    }
}

/* Adds 1 as one who is alone may: what another adds meanwhile is lost. */
SIMT_FN void add_alone(uint64_t *number)
{
    simt_store_u64(number, simt_load_u64(number, relaxed) + 1, relaxed);
}

/* Each group's last lane adds, and the first does not. */
SIMT_KERNEL(mutex_rounds, struct srcu_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t group = simt_active();
        quarry_mutex_lock(a.mutex, group);
        if (group >> simt_lane() == 1u)
            add_alone(a.plain);
        quarry_mutex_unlock(a.mutex, group);
        if (simt_rank(group) == 0)
            simt_add_u32(&a.counts[SRCU_GROUPS], 1, relaxed);
    }
}

/* The leader, and one who is not: first and last of all in the critical section. */
SIMT_KERNEL(mutex_rounds_block, struct srcu_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        quarry_mutex_lock_block(a.mutex);
        for (uint32_t turn = 0; turn < MUTEX_TURNS; turn++) {
            if (turn != 0)
                simt_block_barrier();
            if (simt_block_thread() == (turn % 2 ? 0 : simt_block_threads() - 1))
                add_alone(a.plain);
        }
        quarry_mutex_unlock_block(a.mutex);
    }
}
