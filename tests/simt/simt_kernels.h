/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that state the platform contract; each lane writes what it saw for the host to judge. */
#ifndef QUARRY_TESTS_SIMT_KERNELS_H
#define QUARRY_TESTS_SIMT_KERNELS_H

#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

struct simt_seen {
    uint32_t lane, warp, thread, threads, block_thread, block_threads, block, blocks;
    uint32_t ballot, any, all, shuffle, match, match64, sum, min, max, bits;
    uint64_t shuffle64, sum64;
};

struct simt_case {
    struct simt_seen *seen; /* one for each thread */
    uint32_t *words;        /* 64, zeroed */
    uint64_t *wide;         /* 64, zeroed */
    uint32_t *out;          /* one for each thread, zeroed */
    uint32_t turns;
};

#define SIMT_TEST_ODD 0xaaaaaaaau
#define SIMT_TEST_EVEN 0x55555555u

SIMT_KERNEL_DECLARE(simt_identity);
SIMT_KERNEL_DECLARE(simt_collectives_full);
SIMT_KERNEL_DECLARE(simt_collectives_divergent);
SIMT_KERNEL_DECLARE(simt_nested_masks);
SIMT_KERNEL_DECLARE(simt_active_groups);
SIMT_KERNEL_DECLARE(simt_shared_reverse);
SIMT_KERNEL_DECLARE(simt_barrier_after_exit);
SIMT_KERNEL_DECLARE(simt_atomics);
SIMT_KERNEL_DECLARE(simt_atomic_order);
SIMT_KERNEL_DECLARE(simt_cached_order);
SIMT_KERNEL_DECLARE(simt_lane_lock);
SIMT_KERNEL_DECLARE(simt_sync_orders);
SIMT_KERNEL_DECLARE(simt_bits);
SIMT_KERNEL_DECLARE(simt_clock_advances);
SIMT_KERNEL_DECLARE(simt_wait_for_time);
SIMT_KERNEL_DECLARE(simt_busy_siblings);
SIMT_KERNEL_DECLARE(simt_trace);
SIMT_KERNEL_DECLARE(simt_long_hold);
SIMT_KERNEL_DECLARE(simt_wait_for_never);
SIMT_KERNEL_DECLARE(simt_wait_for_lane);
SIMT_KERNEL_DECLARE(simt_two_locks);
SIMT_KERNEL_DECLARE(simt_wrong_mask);
SIMT_KERNEL_DECLARE(simt_different_collectives);
SIMT_KERNEL_DECLARE(simt_false_assertion);

#endif
