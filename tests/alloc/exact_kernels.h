/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that a heap is full, against those who move the few free pages that it has. */
#ifndef QUARRY_TESTS_EXACT_KERNELS_H
#define QUARRY_TESTS_EXACT_KERNELS_H

#include "quarry/device.h"

#define EXACT_MOST_PAGES 3u

struct exact_case {
    struct quarry_handle heap;
    uint32_t *wrong;   /* NULLs though a page was free; numbers that differ */
    uint32_t *over;    /* move, fail: provers that are done; regain: 1 when the owner is */
    uint32_t hole[2];  /* move, fail: numbers of the first pages of the two holes */
    uint32_t pages;    /* move: of a hole, at most EXACT_MOST_PAGES; all: how often it asks */
    uint32_t askers;   /* move: provers, at most `pages`; regain, all: those who ask beside the first */
    uint32_t together; /* move: provers are lanes of one warp; regain: so are askers and the owner */
    uint32_t turns;
    uint32_t hold;        /* a page, or a lock, is kept for at most so many atomics */
    void **block;         /* regain: the owner's, before and after; count: those to free; join: see there */
    uint64_t bytes;       /* of a malloc */
    uint64_t mover_bytes; /* scatter: of the mover's blocks, one to a hole; holes are numbers of pages then */
    uint64_t *box;        /* regain: where who got the owner's page puts it */
    uint32_t *asked;      /* regain: how often each asker has asked; all: see there */
};

/* Only the two holes are free, `pages` pages each.  The mover takes one hole, frees it and at once takes the
 * other; each prover takes a page and frees it.  Whenever a prover asks, a page is free: of 2 * pages the
 * mover has at most `pages`, and the other provers pages - 1.
 *
 * Blocks, of which lane 0 works: 0 the mover; 1 who locks words of the bitmap and takes nothing; then the
 * provers, or one block of which as many lanes work, and rw-malloc's mover is two lanes.  A mover that knows no way to take a named page takes any, and is a prover too. */
SIMT_KERNEL_DECLARE(exact_move);

/* Only page hole[0] is free.  Block 0 claims it together with the next one, over and over and in vain, as one
 * does who saw both free: for a moment it is marked, but it is nobody's.  The prover, block 1, takes a page
 * and frees it.  Together: rw-malloc's claim is of the page before and that one, by two lanes. */
SIMT_KERNEL_DECLARE(exact_fail);

/* The owner, block 0, has the only page that is ever free.  It frees that page and at once asks for one.  It
 * must get it, unless an asker, of the other blocks, did.  Together: block 0 alone, where the owner has the
 * highest number of those that work. */
SIMT_KERNEL_DECLARE(exact_regain);

/* The first `askers` lanes of each warp have a page each, and no other is ever free.  Each frees its page and at once
 * asks for one, which it must get: it has none itself, and each of the others one at most. */
SIMT_KERNEL_DECLARE(exact_swap);

/* The same of one lane of a warp, which asks how many pages are free before it asks for one, together with the warp's
 * first lanes, `askers` in all: its own is. */
SIMT_KERNEL_DECLARE(exact_count);

/* `askers` lanes of a warp free a block each, and ask how many are free, each when it comes to that: its own is.
 * Then each gets one. */
SIMT_KERNEL_DECLARE(exact_count_all);

/* On an empty heap of 4, 8 or more pages thread 0 of block 0 takes one page and frees it, over and over, and thread 0 of
 * block 1 a block of `pages` pages, half of the heap.  Whenever either asks there is one: the other has dirtied one half
 * at most.  So blocks that are divided and joined meanwhile are no reason for NULL. */
SIMT_KERNEL_DECLARE(exact_halves);

/* ouro, on an empty heap.  Thread 0 of block 0 asks for all its chunks, mover_bytes, `pages` times; asked[0] is set if
 * it got them.  Thread 0 of each other block takes a block of `bytes` and frees it, over and over; asked[1] counts
 * their NULLs.  Unless the first got all chunks, there is room for theirs whenever they ask. */
SIMT_KERNEL_DECLARE(exact_all);

/* ouro.  Of a heap's chunks two that lie together are free, and two others that do are block[0] and block[1].  Thread 0
 * of block 0 frees these, one by one, and at once asks for two together; thread 0 of block 1 asks for two, too.  There
 * are two for each, whenever it asks: what they get becomes block[2] and block[3]. */
SIMT_KERNEL_DECLARE(exact_join);

/* Makes what that begins with: frees block[2] and block[3], takes the four free chunks, and frees two of them. */
SIMT_KERNEL_DECLARE(exact_part);

/* On a full heap, groups of every width must read the same number off the same part: else two passes, by
 * whoever comes, never agree and nobody is ever told that the heap is full.  One warp. */
SIMT_KERNEL_DECLARE(exact_numbers);

/* On a full heap, of which lane 0 frees a page: who sweeps the part with that page takes it for lane 0, and tells all
 * lanes that there was one.  One warp. */
SIMT_KERNEL_DECLARE(exact_dirty);

/* ring, on a full heap: blocks 1 .. askers / 32 free `askers` pages, and block 0 sees that never more of them are
 * counted than lie in slots: else a malloc would wait for a free. */
SIMT_KERNEL_DECLARE(exact_counted);

#endif
