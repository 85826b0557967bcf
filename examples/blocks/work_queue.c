/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded work queue: half of the warps put items into 64 slots, the other half take them out.
 *
 * In two stages (docs/reference/blocks.md).  A semaphore counts the slots that are empty, and another those that
 * are full: who got a unit knows that there is such a slot, and then looks for it.  On the GPU if nvcc compiled
 * this file, else on the CPU. */
#include "quarry/core/semaphore.h"
#include "quarry/quarry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))
#define SLOTS 64u
#define BLOCKS 32u
#define THREADS 128u
#define ROUNDS 8u

enum { EMPTY, WRITING, FULL, READING };

struct queue {
    struct quarry_semaphore empty;
    struct quarry_semaphore full;
    uint32_t state[SLOTS];
    uint32_t item[SLOTS];
    uint64_t sum; /* of the items that were taken out */
};

struct job {
    struct queue *queue;
};

SIMT_KERNEL(queue_init, struct job, a)
{
    quarry_semaphore_init(&a.queue->empty, SLOTS);
    quarry_semaphore_init(&a.queue->full, 0);
    for (uint32_t i = 0; i < SLOTS; i++)
        a.queue->state[i] = EMPTY;
    a.queue->sum = 0;
}

/* One unit, for which others signal.  Nobody makes batches here, so there is no quarry_semaphore_wait. */
SIMT_FN void take_unit(struct quarry_semaphore *s)
{
    for (uint32_t owed = 1 - quarry_semaphore_ask(s, 1); owed; owed -= quarry_semaphore_collect(s, owed))
        simt_backoff();
}

/* A slot in state `from`, which is in state `to` now.  There is one: the caller has a unit of it. */
SIMT_FN uint32_t find_slot(struct queue *q, uint32_t from, uint32_t to)
{
    uint32_t i = simt_thread() % SLOTS;
    while (simt_cas_u32(&q->state[i], from, to, acquire) != from)
        i = (i + 1) % SLOTS;
    return i;
}

SIMT_FN void put(struct queue *q, uint32_t item)
{
    take_unit(&q->empty);
    uint32_t i = find_slot(q, EMPTY, WRITING);
    q->item[i] = item;
    simt_store_u32(&q->state[i], FULL, release); /* pairs with the acquire in find_slot */
    quarry_semaphore_signal(&q->full, 1);
}

SIMT_FN uint32_t take(struct queue *q)
{
    take_unit(&q->full);
    uint32_t i = find_slot(q, FULL, READING), item = q->item[i];
    simt_store_u32(&q->state[i], EMPTY, release); /* pairs with the acquire in find_slot */
    quarry_semaphore_signal(&q->empty, 1);
    return item;
}

/* Each block puts as many items as it takes, so blocks that have not begun yet are not missed. */
SIMT_KERNEL(queue_work, struct job, a)
{
    uint32_t puts = simt_warp() % 2 == 0;
    for (uint32_t round = 0; round < ROUNDS; round++)
        if (puts)
            put(a.queue, simt_thread());
        else
            simt_add_u64(&a.queue->sum, take(a.queue), relaxed);
}

int main(void)
{
    struct quarry_target target;
    const struct quarry_grid one = {1, 1, 0}, all = {BLOCKS, THREADS, 0};
    void *memory; /* host and kernels both reach managed memory */
    uint64_t expected = 0;
    memset(&target, 0, sizeof target);
    target.backend = queue_work.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    CHECK(quarry_memory_create(&target, QUARRY_POOL_MANAGED, sizeof(struct queue), &memory));
    struct job argument = {(struct queue *)memory};
    CHECK(quarry_launch(&queue_init, &target, one, &argument));
    CHECK(quarry_launch(&queue_work, &target, all, &argument));
    CHECK(quarry_target_wait(&target));
    for (uint32_t thread = 0; thread < BLOCKS * THREADS; thread++)
        expected += thread % THREADS / 32 % 2 == 0 ? ROUNDS * (uint64_t)thread : 0;
    int right = argument.queue->sum == expected;
    printf("%u items went through %u slots, %s\n", BLOCKS * THREADS / 2 * ROUNDS, SLOTS,
           right ? "each once" : "and something is WRONG");
    CHECK(quarry_memory_destroy(&target, QUARRY_POOL_MANAGED, memory));
    return !right;
}
