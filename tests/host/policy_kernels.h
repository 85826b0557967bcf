/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of test_oom.c. */
#ifndef QUARRY_TESTS_POLICY_KERNELS_H
#define QUARRY_TESTS_POLICY_KERNELS_H

#include "quarry/device.h"

struct policy_test {
    struct quarry_handle heap;
    void **blocks; /* one for each thread below count */
    uint64_t bytes;
    uint32_t count;
    uint32_t hold;     /* exchange: atomics done before a block is freed */
    uint32_t give_up;  /* hook: after so many tries */
    uint32_t *nulls;   /* mallocs that failed */
    uint32_t *called;  /* hook: how often */
    uint32_t *wrong;   /* hook: with other arguments than it should have been */
    uint32_t *arrived; /* exchange: threads that are about to ask */
};

#if SIMT_HAS_HOST
/* Each thread mallocs and stores the address. */
SIMT_KERNEL_DECLARE(policy_malloc);
/* As policy_malloc, twice, for the same place. */
SIMT_KERNEL_DECLARE(policy_insist);
/* Counts a request of `bytes` bytes that was served in the totals at `blocks`. */
SIMT_KERNEL_DECLARE(policy_tally);
/* Even threads wait until all odd ones are about to ask, and free theirs; the odd ones ask and free. */
SIMT_KERNEL_DECLARE(policy_exchange);
/* Makes `blocks`, of which each thread below count has one, the store that the hook frees from, one for each
 * call. */
SIMT_KERNEL_DECLARE(policy_store);
/* policy_malloc, compiled for corw and an alignment of 64 and nothing else: policy_fixed_kernels.c. */
SIMT_KERNEL_DECLARE(policy_fixed_malloc);
#endif

#endif
