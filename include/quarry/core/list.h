/* SPDX-License-Identifier: Apache-2.0 */
/* An intrusive doubly linked list that is read while it is changed.
 *
 * One writer at a time changes it: with a mutex held, say.  Readers follow `next` in read sections of
 * quarry_srcu.  The list is a ring through a link of its own, which is no element.
 *
 * An element that is removed keeps its `next`: a reader that stands on it goes on from there.  Its memory may be
 * reused after a barrier, and it may be inserted again then; or at once, but only at the front: then a reader that
 * stands on it begins anew.
 *
 * Order.  insert: what the writer wrote to the element happens-before what a reader does that finds it.  The store
 * that links it has release, and the load that follows the link has acquire.  remove: a
 * reader whose section begins after the barrier does not find the element (srcu.h).  One that began before may
 * find it or not, and whatever it follows from there leads to the end of the list: an element that was behind
 * the removed one is still linked, or was removed later and keeps its own `next`. */
#ifndef QUARRY_CORE_LIST_H
#define QUARRY_CORE_LIST_H

#include "quarry/simt/simt.h"

struct quarry_link {
    uint64_t next;            /* address of a link; atomic */
    struct quarry_link *back; /* only writers look at it */
};

/* The link behind that one.  A reader's and a writer's. */
SIMT_FN struct quarry_link *quarry_list_next(const struct quarry_link *link)
{
    /* acquire: pairs with the release in quarry_list_insert */
    return (struct quarry_link *)(uintptr_t)simt_load_u64(&link->next, acquire);
}

/* Makes an empty list: its next is itself.  One thread, before any other uses it. */
SIMT_FN void quarry_list_init(struct quarry_link *list)
{
    list->next = (uint64_t)(uintptr_t)list;
    list->back = list;
}

/* Makes a link of an element that was in no list so far.  Its owner's. */
SIMT_FN void quarry_list_make(struct quarry_link *element)
{
    simt_store_u64(&element->next, 0, relaxed);
}

/* Has it been in no list since quarry_list_make?  Its owner's. */
SIMT_FN int quarry_list_is_new(const struct quarry_link *element)
{
    return simt_load_u64(&element->next, relaxed) == 0;
}

/* Inserts an element behind another one, or at the front.
 *   at        an element of the list, or the list itself
 *   element   in no list; no reader stands on it
 * A writer's. */
SIMT_FN void quarry_list_insert(struct quarry_link *at, struct quarry_link *element)
{
    struct quarry_link *next = quarry_list_next(at);
    simt_assert(next->back == at); /* at is in the list */
    /* release: for readers that stand on the element since it was in the list before */
    simt_store_u64(&element->next, (uint64_t)(uintptr_t)next, release);
    element->back = at;
    next->back = element;
    /* release: pairs with the acquire in quarry_list_next */
    simt_store_u64(&at->next, (uint64_t)(uintptr_t)element, release);
}

/* Removes an element.  Reuse it after a barrier.  A writer's. */
SIMT_FN void quarry_list_remove(struct quarry_link *element)
{
    struct quarry_link *next = quarry_list_next(element), *back = element->back;
    simt_assert(next->back == element && back->next == (uint64_t)(uintptr_t)element); /* it is in the list */
    next->back = back;
    /* release: readers that get to `next` this way find it complete */
    simt_store_u64(&back->next, (uint64_t)(uintptr_t)next, release);
}

#endif
