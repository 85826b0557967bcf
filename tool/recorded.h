/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and free of the queries' kernels.  Those with all allocators' code, which are not for the time, log what they
 * do with a recorded heap.  QUARRY_TRACE would have the benchmarks' kernels log as well, which are in one file with
 * these, and before them.  For sources of each_allocator.h. */
#ifndef QUARRY_TOOL_RECORDED_H
#define QUARRY_TOOL_RECORDED_H

#include "each_allocator.h"
#include "quarry/log.h"

#ifdef QUARRY_ALLOCATOR
#define RECORDED_NOTE(heap, block, bytes) (void)0
#else
#undef SIMT_KERNEL_FIXED
#define SIMT_KERNEL_FIXED (QUARRY_FIXED | QUARRY_KERNEL_LOGS)
#define RECORDED_NOTE(heap, block, bytes) quarry_log_note(heap, block, bytes)
#endif

/* bytes: at least 1 */
SIMT_FN void *recorded_malloc(struct quarry_handle heap, uint64_t bytes)
{
    void *block = quarry_malloc(heap, bytes);
    RECORDED_NOTE(&heap, block, bytes); /* after the allocator's malloc: log.h has the argument */
    return block;
}

/* block: not NULL */
SIMT_FN void recorded_free(struct quarry_handle heap, void *block)
{
    RECORDED_NOTE(&heap, block, 0); /* before the allocator's free */
    quarry_free(heap, block);
}

#endif
