/* SPDX-License-Identifier: Apache-2.0 */
/* The warp executor: runs a kernel's lanes as fibers.  Knows nothing of heaps. */
#ifndef QUARRY_CPU_EXECUTOR_H
#define QUARRY_CPU_EXECUTOR_H

#include <stddef.h>
#include <stdint.h>

enum simt_cpu_outcome {
    SIMT_CPU_OK,
    SIMT_CPU_DEADLOCK, /* nothing advanced any more; the report says who waits where */
    SIMT_CPU_ASSERT, /* simt_assert failed, a collective was misused or a stack was too small; see the report */
    SIMT_CPU_RACE,   /* mode weak: a data race; the report says whose, and where */
    SIMT_CPU_MEMORY /* no memory for stacks, shared memory or threads */
};

struct simt_cpu_launch {
    const char *name;                     /* of the kernel, for the report */
    void (*kernel)(const void *argument); /* one lane */
    const void *argument;
    uint32_t blocks;  /* at least 1; blocks * threads < 2^32 */
    uint32_t threads; /* of a block: 1..1024 */
    uint32_t shared_bytes;
    uint64_t seed;            /* 0: fast mode; else deterministic with this seed */
    uint32_t workers;         /* fast mode: OS threads; 0: one for each core */
    uint32_t resident_blocks; /* deterministic mode: blocks interleaved at once; 0: 8 */
    uint32_t stack_bytes;     /* of a lane; 0: 64 KiB */
    uint32_t bug_depth;       /* deterministic mode: 0 uniform choice of lanes; else by priority, 1..64 */
    int weak;                 /* deterministic mode, in a library that simt_cpu_has_weak(): mode weak */
};

/* Runs all lanes to their end, or to the point where the outcome is not OK: then lanes are abandoned
 * where they stand and a text is written to report.  Any number of threads may call at the same time. */
enum simt_cpu_outcome simt_cpu_run(const struct simt_cpu_launch *launch, char *report, size_t report_bytes);

/* Was this library built for mode weak? */
int simt_cpu_has_weak(void);

/* Cores that this process may run on, at least 1. */
uint32_t simt_cpu_cores(void);

#endif
