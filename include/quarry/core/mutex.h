/* SPDX-License-Identifier: Apache-2.0 */
/* The collective mutex: lanes of a warp, or a whole block, are in the critical section together.
 *
 * Isaac Gelado, Michael Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 4.2.2.  One
 * lane, the leader, acquires for all.  So a group that has one thing to do together does it in one critical
 * section, where a mutex for each lane would need as many as there are lanes.
 *
 * Order.  lock: the leader's compare-exchange acquires what the last unlock released, and the sync after it
 * passes that on to the group.  unlock: the sync before the leader's store passes on to the leader what the
 * group did, and the store releases it.
 *
 * Progress.  A lane waits for the group that has the mutex, and for lanes of its own group.  Lanes of one warp
 * in two groups are no danger: each lane makes progress by itself (simt.h). */
#ifndef QUARRY_CORE_MUTEX_H
#define QUARRY_CORE_MUTEX_H

#include "quarry/simt/simt.h"

/* Free when it is 0: memory that is all zeros has a mutex that nobody holds. */
struct quarry_mutex {
    uint32_t held; /* 1: by a group */
};

/* The leader's part of lock. */
SIMT_FN void quarry_mutex_acquire(struct quarry_mutex *m)
{
    /* acquire: pairs with the release in quarry_mutex_release */
    while (simt_load_u32(&m->held, relaxed) != 0 || simt_cas_u32(&m->held, 0, 1, acquire) != 0)
        simt_backoff();
}

/* The leader's part of unlock. */
SIMT_FN void quarry_mutex_release(struct quarry_mutex *m)
{
    simt_assert(simt_load_u32(&m->held, relaxed) != 0);
    /* release: pairs with the acquire in quarry_mutex_acquire */
    simt_store_u32(&m->held, 0, release);
}

/* Locks for a group.
 *   group   the caller and lanes of its warp, which all call this; none of them holds the mutex */
SIMT_FN void quarry_mutex_lock(struct quarry_mutex *m, uint32_t group)
{
    if (simt_rank(group) == 0)
        quarry_mutex_acquire(m);
    simt_sync(group);
}

/* Unlocks.
 *   group   as in lock; all call this.  The mutex is free when the last of them has */
SIMT_FN void quarry_mutex_unlock(struct quarry_mutex *m, uint32_t group)
{
    simt_sync(group);
    if (simt_rank(group) == 0)
        quarry_mutex_release(m);
}

/* Locks for a block.  All threads of the block call this, also its first. */
SIMT_FN void quarry_mutex_lock_block(struct quarry_mutex *m)
{
    if (simt_block_thread() == 0)
        quarry_mutex_acquire(m);
    simt_block_barrier();
}

/* Unlocks, for a block; all its threads call this. */
SIMT_FN void quarry_mutex_unlock_block(struct quarry_mutex *m)
{
    simt_block_barrier();
    if (simt_block_thread() == 0)
        quarry_mutex_release(m);
}

#endif
