/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of an allocator.
 *
 * Allocator X is the one header alloc/X.h and one line in list.def.  X is an identifier; users say its name,
 * which may have hyphens instead of underscores.  X.h defines
 *
 *   struct quarry_X
 *       Addresses and sizes, copied by value into every kernel; nothing that changes.  What changes
 *       lives in the pool.
 *
 *   enum quarry_layout_result quarry_X_layout(struct quarry_X *x, struct quarry_layout *layout)   [host]
 *       Divides a pool: fills *x and the outputs of *layout.  Touches no pool memory.  A page is what the
 *       options page_bytes and pages speak of: an empty heap has room for `pages` blocks of page_bytes.
 *       Allocators of fixed pages have max_block == page_bytes; others up to the whole heap.
 *
 *   void quarry_X_init(const struct quarry_X *x, uint64_t thread, uint64_t threads)
 *       Thread `thread` of `threads` writes its share of an empty heap's structures; nothing else runs.
 *       The pool's content is arbitrary before.
 *
 *   void *quarry_X_malloc(const struct quarry_X *x, struct quarry_context *context, uint64_t bytes)
 *       bytes is 1 .. layout->max_block.  Any subset of a warp's lanes, any number of threads, at the
 *       same time as any other malloc or free.  Returns a block, aligned to 16, disjoint from all live
 *       ones, or NULL if no fitting space was free during one whole sweep that no free disturbed (with
 *       layout->low_free: if so many probes in vain speak for less than that share being free).
 *       *context is the calling lane's own (core/context.h); quarry_step(context) with each probe.
 *
 *   void quarry_X_free(const struct quarry_X *x, void *block)
 *       block came from quarry_X_malloc of this heap, is live, and its malloc happens-before this call.
 *       It may be any address less than layout->free_reach bytes behind that (quarry_aligned_alloc).
 *       What the caller wrote before happens-before what the next owner does.  Never waits.
 *
 *   enum quarry_place quarry_X_find(const struct quarry_X *x, const void *address,
 *                                   struct quarry_span *span)
 *       Which block that is handed out, or could be as it is, contains `address`, which may be any: FREE or
 *       LIVE with that block in *span, or FOREIGN.  A block that others allocate or free meanwhile may be
 *       either.  A block begins at a multiple of layout->unit bytes after layout->places, and has a multiple
 *       of them; of free space the answer is one unit.  So the blocks and free units of an idle heap are
 *       those u for which *span begins at places + u * unit.  For heaps in debug mode, which rely on the
 *       allocator to leave the bytes of what is free alone.
 *
 *   void quarry_X_census(const struct quarry_X *x, uint64_t bytes, const struct quarry_walk *walk,
 *                        struct quarry_census *sum)
 *       Adds the calling lane's share of the heap's census to *sum; `bytes` is what slots are counted for.
 *       Scope: walk->group, reconverged.  Unless walk->idle others may malloc and free meanwhile: what they
 *       change is read by atomics, and nothing of the blocks is.
 *
 * and ends, after its include guard, with
 *
 *   #ifdef QUARRY_ALLOCATOR_ENTRY
 *   QUARRY_ALLOCATOR_ENTRY(X, "name", "summary in one line")
 *   #endif
 *
 * Callers above (device.h) have already dealt with size 0, sizes over max_block, free(NULL), and count
 * the NULLs.  Allocators never include one another; shared steps are in core/. */
#ifndef QUARRY_ALLOC_ALLOC_H
#define QUARRY_ALLOC_ALLOC_H

#include "quarry/core/context.h"
#include "quarry/core/layout.h"
#include "quarry/simt/simt.h"

#endif
