/* SPDX-License-Identifier: Apache-2.0 */
/* Quarry: dynamic memory for massively parallel programs.  What a kernel includes.
 *
 *     SIMT_KERNEL(work, struct work, a)       // or a plain CUDA __global__ function
 *     {
 *         int *p = (int *)quarry_malloc(a.heap, 40);
 *         if (p) { ...; quarry_free(a.heap, p); }
 *     }
 *
 * With QUARRY_ALLOCATOR defined before (say -DQUARRY_ALLOCATOR=corw, or rw_bm for rw-bm: the identifier) the
 * calls go straight to that allocator, which costs the fewest registers; every heap passed in must then be of
 * it.  Without it one switch, uniform in a kernel, picks the heap's own.  QUARRY_ALIGNMENT,
 * QUARRY_DISTRIBUTION and QUARRY_OOM fix the heap's policies likewise (policy.h).  A heap that is not as they
 * say is left alone: mallocs give NULL, frees do nothing, and the host is told (fixed.h).  With
 * QUARRY_OUT_OF_LINE defined the allocators' code is in each kernel once, however many calls it has: quicker to
 * compile, slower to run.  With QUARRY_TRACE each malloc and free of a recorded heap is logged
 * (docs/guide/traces.md).  With QUARRY_TAGS blocks of a heap in debug mode know the place in the source that
 * they come from (tag.h).
 *
 * Debug builds (without NDEBUG) assert what is said here of arguments.  A heap in debug mode records what
 * goes against it, in every build (docs/guide/debugging.md).
 *
 * A handle of all zeros, quarry_heap_handle(NULL), is of no heap: a malloc gives NULL, a free does nothing. */
#ifndef QUARRY_DEVICE_H
#define QUARRY_DEVICE_H

#include "quarry/allocate.h" /* quarry_malloc, quarry_malloc_with, quarry_free */
#include "quarry/handle.h"   /* struct quarry_handle */
#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"
#include "quarry/standard.h" /* quarry_aligned_alloc, _calloc, _realloc, _usable_size, _available_slots */
#include "quarry/tag.h"      /* quarry_tag, QUARRY_HERE; last: it may make macros of some of these */

#endif
