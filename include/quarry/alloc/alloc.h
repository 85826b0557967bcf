/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of an allocator.
 *
 * A family F is one header alloc/F.h, with private headers in alloc/F/ if it needs any, one struct, and its
 * lines in list.def.  An allocator is a line of that list:
 *
 *   QUARRY_ALLOCATOR_ENTRY(identifier, "name", family, constants, code, options, can, alignment,
 *                          registers, "summary")                             (all on one line of text)
 *
 *     identifier   what QUARRY_ALLOCATOR is defined as; "name" is what users say
 *     constants    what tells it from the family's other allocators: QUARRY_NO_CONSTANT, or a
 *                  QUARRY_CONSTANT(value) for each.  The family's functions take them as their first
 *                  arguments.  They are known to the compiler, which folds them.
 *     code         QUARRY_OWN_CODE, or QUARRY_CODE_OF_NEXT: malloc and free of the next line serve this one,
 *                  too.  Both are of one family, and what differs is read from the heap.  So kernels with all
 *                  allocators' code have it once.
 *     options      its table of options (core/options.h), or QUARRY_NO_OPTIONS
 *     can          what it can and what it is: enum quarry_capability, or-ed
 *     alignment    the largest alignment that its blocks can have, in bytes
 *     registers    budget of a kernel that only mallocs or frees, on a GPU: a test holds it to that
 *     summary      one line
 *
 * alloc/F.h defines, with the constants in front of the arguments if there are any:
 *
 *   struct quarry_F
 *       Addresses and sizes, copied by value into every kernel; nothing that changes.  What changes
 *       lives in the pool.
 *
 *   enum quarry_layout_result quarry_F_layout(struct quarry_F *x, struct quarry_layout *layout)   [host]
 *       Divides a pool into named sections (quarry_layout_fit): fills *x and the outputs of *layout.  Touches
 *       no pool memory.  A page is what the options page_bytes and pages speak of.
 *
 *   void quarry_F_init(const struct quarry_F *x, uint64_t thread, uint64_t threads)
 *       Thread `thread` of `threads` writes its share of an empty heap's structures; nothing else runs.
 *       The pool's content is arbitrary before.
 *
 *   void *quarry_F_malloc(const struct quarry_F *x, struct quarry_context *context, uint64_t bytes)
 *       bytes is 1 .. layout->max_block.  Any subset of a warp's lanes, any number of threads, at the
 *       same time as any other malloc or free.  Returns a block, aligned to 16, disjoint from all live
 *       ones, or NULL if no fitting space was free during one whole sweep that no free disturbed.  With
 *       layout->low_free it returns NULL after so many probes in vain that less than that share is free, with
 *       high confidence.  An allocator that can't prove or infer fullness returns NULL as its page says.
 *       *context is the calling lane's own (core/context.h); quarry_step(context) with each probe.
 *
 *   void quarry_F_free(const struct quarry_F *x, void *block)
 *       block came from quarry_F_malloc of this heap, is live, and its malloc happens-before this call.  An
 *       address inside the block is good, too, less than layout->free_reach bytes behind its first
 *       (quarry_aligned_alloc).
 *       What the caller wrote before happens-before what the next owner does.  Never waits for memory.  Most
 *       families wait for nobody; tbuddy and ualloc wait for bounded sections of others, and ualloc for
 *       mallocs that have a claim to a unit, which wait for no free.
 *       A debug build asserts that the block is live, as far as the heap's structures tell.  In any build
 *       `block` may be an address of no live block: then nothing is written outside these structures, and
 *       the call ends.
 *
 *   void quarry_F_trim(const struct quarry_F *x, void *block, void *user, uint64_t bytes)
 *       block came from quarry_F_malloc, is live and the caller's.  Gives back of it, as quarry_F_free would,
 *       pages that have none of the `bytes` bytes from `user` on, which lie in the block.  The block then
 *       begins less than layout->free_reach bytes before `user`.  Waits as quarry_F_free.  A family whose
 *       blocks have no more than a page has
 *           #define quarry_F_trim QUARRY_NOTHING_TO_TRIM
 *
 *   void quarry_F_settle(const struct quarry_F *x, uint64_t thread, uint64_t threads)
 *       Thread `thread` of `threads` finishes its share of what frees have put off, and gives back what mallocs
 *       keep for others; nothing else runs.  The library calls it before whatever the host asks of an idle heap;
 *       then find and census are exact.
 *       Before that call, they may take a block that was freed, or is kept, for a live one.  Malloc may not: it
 *       finds such space before it returns NULL.  The heap may be corrupt.  A family that does neither has
 *           #define quarry_F_settle QUARRY_NOTHING_TO_SETTLE
 *
 *   enum quarry_place quarry_F_find(const struct quarry_F *x, const void *address,
 *                                   struct quarry_span *span)
 *       Finds the live block or free unit that contains `address`, which may be any: LIVE or FREE, and
 *       *span is that block or unit; or FOREIGN, and *span is left alone.  A block that others allocate or
 *       free meanwhile may be either.  While others malloc and free, the end of the caller's own block is
 *       right; its beginning is right only if layout->watched.  A block begins at a multiple of layout->unit bytes
 *       after layout->places, and is a multiple of them long; free space is found one unit at a time.  So the
 *       blocks and free units of an idle heap are those u for which *span begins at places + u * unit.
 *       Debug mode relies on the allocator to leave the bytes of free units alone.
 *
 *   void quarry_F_census(const struct quarry_F *x, uint64_t bytes, const struct quarry_census_share *share,
 *                        struct quarry_census *sum)
 *       Adds the calling lane's share of the heap's census to *sum; `bytes`, at least 1, is what slots are
 *       counted for.
 *       Scope: share->group, reconverged.  Unless share->idle others may malloc and free meanwhile.  Then what
 *       they change is read by atomics, the blocks are not read, and only sum->slots is asked for.
 *
 * Callers above have already dealt with size 0, sizes over max_block, free(NULL), and count the NULLs.
 * Families never include one another; steps that two share are in core/. */
#ifndef QUARRY_ALLOC_ALLOC_H
#define QUARRY_ALLOC_ALLOC_H

#include "quarry/core/context.h"
#include "quarry/core/layout.h"
#include "quarry/simt/simt.h"

enum quarry_capability {
    /* NULL means: at some instant during the call nothing that fits was free. */
    QUARRY_CAN_PROVE_FULL = 1,

    /* It obeys layout->low_free. */
    QUARRY_CAN_INFER_FULL = 2,

    /* Space of freed blocks serves requests of any other size that the heap takes. */
    QUARRY_CAN_REUSE_SPACE = 4,

    /* A free may put off work: quarry_F_settle. */
    QUARRY_CAN_DEFER_FREES = 8,

    /* Blocks are the platform's: the pool stays empty, and nobody finds or counts a block.  The platform must
     * be able to hold layout->used_bytes. */
    QUARRY_HAS_PLATFORM_BLOCKS = 16,

    /* A block is a page: max_block == page_bytes. */
    QUARRY_HAS_WHOLE_PAGES = 32,

    /* An empty heap has room for `pages` blocks of page_bytes. */
    QUARRY_HAS_PAGES = 64,

    /* A block is a page or a part of one: max_block is page_bytes. */
    QUARRY_HAS_PAGE_PARTS = 128,

    /* A block has 2^n pages, and begins at a multiple of so many behind the first page; n may be below 0. */
    QUARRY_HAS_DOUBLING_SIZES = 256,

    /* It can have a schema: typed objects (quarry/object.h). */
    QUARRY_HAS_TYPES = 512,

    /* Mallocs may keep space for those to come: quarry_F_settle. */
    QUARRY_CAN_KEEP_SPACE = 1024
};

#define QUARRY_NOTHING_TO_SETTLE(...) ((void)0)
#define QUARRY_NOTHING_TO_TRIM(...) ((void)0)

#define QUARRY_CONSTANT(value) value, /* in front of the other arguments */
#define QUARRY_NO_CONSTANT

/* What stands behind a line's case in the switches of malloc and free (dispatch.h). */
#define QUARRY_OWN_CODE(...) __VA_ARGS__
#define QUARRY_CODE_OF_NEXT(...)

#endif
