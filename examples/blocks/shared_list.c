/* SPDX-License-Identifier: Apache-2.0 */
/* A list that many read while some change it: each warp's first lane moves elements to the front, and gives them
 * a new value meanwhile.  No reader may see an element of which only a part is new.
 *
 * Readers never wait.  A writer reuses an element when a barrier says that nobody stands on it any more.  On the
 * GPU if nvcc compiled this file, else on the CPU. */
#include "quarry/core/list.h"
#include "quarry/core/srcu.h"
#include "quarry/quarry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))
#define ELEMENTS 64u
#define ROUNDS 4u

struct element {
    struct quarry_link link; /* the readers' */
    struct quarry_srcu_callback callback;
    uint32_t value;
    uint32_t inverse; /* ~value */
};

struct shared {
    struct quarry_srcu srcu;
    struct quarry_mutex mutex; /* of writers */
    struct quarry_link list;
    struct element elements[ELEMENTS];
    uint32_t read;  /* elements */
    uint32_t torn;  /* of these, with a part of another value */
    uint32_t moved; /* elements */
};

struct job {
    struct shared *shared;
};

SIMT_FN void set(struct element *element, uint32_t value)
{
    element->value = value;
    element->inverse = ~value;
}

SIMT_KERNEL(list_init, struct job, a)
{
    quarry_list_init(&a.shared->list);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        set(&a.shared->elements[i], i);
        quarry_list_insert(&a.shared->list, &a.shared->elements[i].link);
    }
}

/* All lanes of the warp walk the list, in one read section. */
SIMT_FN void look(struct shared *s)
{
    uint32_t group = simt_active(), read = 0, torn = 0;
    uint32_t section = quarry_srcu_enter(&s->srcu, group);
    for (struct quarry_link *link = quarry_list_next(&s->list); link != &s->list;
         link = quarry_list_next(link)) {
        struct element *element = (struct element *)(void *)link; /* its first member */
        read++;
        torn += element->value != ~element->inverse;
    }
    quarry_srcu_leave(&s->srcu, group, section);
    simt_add_u32(&s->read, read, relaxed);
    simt_add_u32(&s->torn, torn, relaxed);
}

/* Takes the last element out, and puts those back whose time has come: perhaps others' too, perhaps none. */
SIMT_FN void move_last(struct shared *s)
{
    uint32_t self = 1u << simt_lane();
    struct quarry_link *last = SIMT_NULL;
    quarry_mutex_lock(&s->mutex, self);
    if (s->list.back != &s->list) {
        last = s->list.back;
        quarry_list_remove(last);
    }
    quarry_mutex_unlock(&s->mutex, self);
    if (!last)
        return;
    quarry_srcu_queue(&s->srcu, &((struct element *)(void *)last)->callback);
    struct quarry_srcu_callback *callback = quarry_srcu_barrier_or_delegate(&s->srcu);
    while (callback) {
        struct quarry_srcu_callback *next = callback->next;
        struct element *element =
            (struct element *)(void *)((unsigned char *)callback - offsetof(struct element, callback));
        set(element, element->value + ELEMENTS);
        quarry_mutex_lock(&s->mutex, self);
        quarry_list_insert(&s->list, &element->link);
        quarry_mutex_unlock(&s->mutex, self);
        simt_add_u32(&s->moved, 1, relaxed);
        callback = next;
    }
}

SIMT_KERNEL(list_work, struct job, a)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        look(a.shared);
        if (simt_lane() == 0)
            move_last(a.shared);
    }
}

int main(void)
{
    struct quarry_target target;
    const struct quarry_grid one = {1, 1, 0};
    void *memory; /* host and kernels both reach managed memory */
    uint32_t there = 0;
    memset(&target, 0, sizeof target);
    target.backend = list_work.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    CHECK(quarry_memory_create(&target, QUARRY_POOL_MANAGED, sizeof(struct shared), &memory));
    CHECK(quarry_memory_fill(&target, memory, 0, sizeof(struct shared)));
    struct job argument = {(struct shared *)memory};
    CHECK(quarry_launch(&list_init, &target, one, &argument));
    CHECK(quarry_launch(&list_work, &target, quarry_grid_for(2048), &argument));
    CHECK(quarry_target_wait(&target));
    struct shared *s = argument.shared;
    for (uint64_t link = s->list.next; link != (uint64_t)(uintptr_t)&s->list; there++)
        link = ((struct quarry_link *)(uintptr_t)link)->next;
    printf("%u elements read, %u torn; %u moved, %u in the list\n", s->read, s->torn, s->moved, there);
    int right = s->torn == 0 && there == ELEMENTS;
    CHECK(quarry_memory_destroy(&target, QUARRY_POOL_MANAGED, memory));
    return !right;
}
