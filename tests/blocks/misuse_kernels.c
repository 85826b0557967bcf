/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG /* debug builds assert what is said of arguments */
#include "blocks/misuse_kernels.h"

SIMT_FN void misuse_semaphore(struct quarry_semaphore *s, enum block_misuse what)
{
    uint32_t owed = 1;
    quarry_semaphore_init(s, QUARRY_SEMAPHORE_UNITS_MOST + (what == MISUSE_TOO_MANY_UNITS));
    (void)quarry_semaphore_ask(s, QUARRY_SEMAPHORE_ASK_MOST + (what == MISUSE_ASKS_TOO_MUCH));
    (void)quarry_semaphore_wait(s, &owed,
                                what == MISUSE_NO_BATCH      ? 0
                                : what == MISUSE_LARGE_BATCH ? QUARRY_SEMAPHORE_PROMISE_MOST + 1
                                                             : QUARRY_SEMAPHORE_PROMISE_MOST);
}

SIMT_FN void misuse_list(struct block_misuse_blocks *b, enum block_misuse what)
{
    quarry_list_init(&b->list);
    quarry_list_insert(&b->list, &b->element[0]);
    quarry_list_insert(&b->element[0], &b->element[1]);
    quarry_list_remove(&b->element[0]);
    if (what == MISUSE_REMOVES_TWICE)
        quarry_list_remove(&b->element[0]);
    quarry_list_insert(&b->element[what == MISUSE_INSERTS_BESIDE_REMOVED ? 0 : 1], &b->element[2]);
    quarry_list_remove(&b->element[2]);
    quarry_list_remove(&b->element[1]);
}

SIMT_KERNEL(block_misuse, struct block_misuse_case, a)
{
    const uint32_t self = 1;
    misuse_semaphore(&a.blocks->semaphore, a.what);
    uint32_t section = quarry_srcu_enter(&a.blocks->srcu, self);
    quarry_srcu_leave(&a.blocks->srcu, self, section);
    if (a.what == MISUSE_LEAVES_TWICE)
        quarry_srcu_leave(&a.blocks->srcu, self, section);
    quarry_mutex_lock(&a.blocks->mutex, self);
    quarry_mutex_unlock(&a.blocks->mutex, self);
    if (a.what == MISUSE_UNLOCKS_TWICE)
        quarry_mutex_unlock(&a.blocks->mutex, self);
    misuse_list(a.blocks, a.what);
}
