/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of test_trace.c: trace_work is compiled with QUARRY_TRACE.  One for all, for the compiler takes long for
 * each. */
#ifndef QUARRY_TESTS_TRACE_KERNELS_H
#define QUARRY_TESTS_TRACE_KERNELS_H

#include "quarry/device.h"

#define TRACE_TURNS 4u

enum trace_task {
    TRACE_SWAP,  /* each turn a thread mallocs, puts the block into a slot, and frees what another had put
                    there */
    TRACE_EMPTY, /* frees what is in the slots */
    TRACE_ALIGN  /* threads 0 .. 5: a block at a multiple of 32 << thread, freed */
};

struct trace_case {
    struct quarry_handle heap;
    uint64_t *slots; /* addresses of blocks, or 0 */
    uint32_t slot_count;
    uint32_t threads; /* that do something */
    uint64_t most;    /* bytes of a block */
    uint32_t task;    /* enum trace_task */
};

/* A log without a heap. */
struct trace_note {
    struct quarry_handle heap; /* has counters and nothing else */
};

/* What a thread asks for in a turn: 1 to `most` bytes. */
SIMT_FN uint64_t trace_size(uint64_t most, uint32_t thread, uint32_t turn)
{
    return 1 + (thread * 13u + turn * 7u) % most;
}

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(trace_work);
SIMT_KERNEL_DECLARE(trace_note);   /* thread i notes a malloc of i + 1 bytes at i + 16 */
SIMT_KERNEL_DECLARE(trace_silent); /* each thread mallocs and frees, without QUARRY_TRACE */
#endif

#endif
