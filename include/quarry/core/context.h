/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread may remember from one malloc to the next, in its registers.  Most allocators don't look at
 * it. */
#ifndef QUARRY_CORE_CONTEXT_H
#define QUARRY_CORE_CONTEXT_H

#include "quarry/simt/simt.h"

#define QUARRY_CONTEXT_START (~(uint64_t)0)

struct quarry_context {
    uint64_t own;   /* whatever the allocator of the one heap makes of it; at first QUARRY_CONTEXT_START */
    uint32_t kept;  /* 0: made for a single call and forgotten after it */
    uint32_t steps; /* probes of all mallocs with it, if compiled with QUARRY_COUNT_STEPS; else 0 */
};

/* Remembers nothing so far.
 *   kept  1: for several calls; 0: for one */
SIMT_FN struct quarry_context quarry_context_make(uint32_t kept)
{
    struct quarry_context c;
    c.own = QUARRY_CONTEXT_START;
    c.kept = kept;
    c.steps = 0;
    return c;
}

/* Counts a probe.  Kernels that don't want to know are compiled without. */
SIMT_FN void quarry_step(struct quarry_context *context)
{
#ifdef QUARRY_COUNT_STEPS
    context->steps++;
#else
    (void)context;
#endif
}

#endif
