/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk of allocator `quarry` that moves while somebody looks for space. */
#ifndef QUARRY_TESTS_SLABS_KERNELS_H
#define QUARRY_TESTS_SLABS_KERNELS_H

#include "quarry/device.h"

struct slabs_case {
    struct quarry_handle heap;
    uint32_t *wrong;
    uint64_t bytes; /* that are looked for; of slabs_trails: the smallest size */
    /* Live blocks: of slabs_together and slabs_touches of chunk 0; of slabs_passes its only ones, in two words; of
     * slabs_news: as there. */
    void *last[2];
    uint32_t fence; /* of slabs_borrows: who frees and then takes puts a fence between */
    uint32_t
        threads; /* that close chunk 0 together; 0: one gives back what the first cursor has left; of slabs_words: how many blocks there are; of slabs_classes, slabs_serves
                       * and slabs_trails: how many sizes there are */
    uint32_t full;  /* of slabs_serves: there may be no slot left; and of slabs_recalls and slabs_trails */
    uint32_t lanes; /* of slabs_trails: those that take blocks */
    /* Of slabs_adds; of slabs_recalls: how many blocks were recalled; of slabs_outlives: two numbers. */
    uint64_t *cursor;
    void **
        block; /* of slabs_gathers, slabs_shares, slabs_seeks, slabs_recalls and slabs_changes: one for each thread */
    uint32_t
        rounds; /* of slabs_closes: which case; of slabs_gathers, slabs_shares, slabs_seeks and slabs_changes: which round it is; of slabs_adds, slabs_together, slabs_touches, slabs_borrows, slabs_classes, slabs_serves, slabs_words, slabs_deals and slabs_trails */
};

/* Block 0 does that.  One thread of block 1 looks for space, and must find some. */
SIMT_KERNEL_DECLARE(slabs_moves);

/* Block 1 frees the last two blocks of chunk 0, block 0 closes it, and block 2 wants a block of all its bytes. */
SIMT_KERNEL_DECLARE(slabs_passes);

/* Two lanes free blocks of one word together, and each finds its slot free when it goes on: it counts one, and gets one. */
SIMT_KERNEL_DECLARE(slabs_together);

/* In a full heap: a slot that is freed and taken between the two passes of a sweep makes the second dirty, and nothing else
 * does. */
SIMT_KERNEL_DECLARE(slabs_touches);

/* Groups of some widths read each part of a sweep, about a class, about larger ones, too, and about rows: all get the
 * same number, and see whether something fits. */
SIMT_KERNEL_DECLARE(slabs_numbers);

/* A sweep's second pass reads the words of chunk 0, which has no live slot, after somebody has closed it, or (rounds 1)
 * also bound it again: it sees that.  Rounds 2: the turn is about another class. */
SIMT_KERNEL_DECLARE(slabs_closes);

/* What a warp hears that wants blocks of a.bytes or others, of what it tells itself: of slots of 256 bytes, in the chunk of
 * the first of the last blocks, which has live ones, and in that of the second, which has none; of a chunk; and of a
 * cursor. */
SIMT_KERNEL_DECLARE(slabs_news);

/* A lane of each block has one of the last blocks, frees it and takes another, so often: that of block 1 of 16 bytes, that
 * of block 0 of a.bytes and of 64 in turn, or of 64 if there is none of a.bytes.  Neither gets NULL. */
SIMT_KERNEL_DECLARE(slabs_borrows);

/* The lanes of each warp take two blocks each, of several sizes, and find in them what they wrote; so often. */
SIMT_KERNEL_DECLARE(slabs_classes);

/* Warps of all blocks but the last take what they can of whole words, by hints that say that all is clear, write to it and
 * free it; so often.  The words are those of chunks 0 and 1, in an order of each warp's own.  A lane of the last block
 * takes single slots meanwhile. */
SIMT_KERNEL_DECLARE(slabs_words);

/* A warp whose lanes want blocks of 16 and of 32 bytes in turn gathers them, as if both classes were barren; in the second
 * round it frees what it got. */
SIMT_KERNEL_DECLARE(slabs_gathers);

/* Round 0: each of 32 warps takes a word of 128 bytes, and one of 256.  1: each frees a block of each of all words.  2: it
 * recalls as many.  3: all are freed.  The classes seem barren.  With a.full the last lane
 * frees blocks of the other size than the rest of its warp. */
SIMT_KERNEL_DECLARE(slabs_recalls);

/* All lanes of a warp, or some, deal words that they have seen, so often: each lane that wants a slot has another one,
 * until none are left. */
SIMT_KERNEL_DECLARE(slabs_deals);

/* A warp whose lanes want blocks of 16 and of 64 bytes in turn seeks them, as if both classes were barren; in the second
 * round it frees what it got. */
SIMT_KERNEL_DECLARE(slabs_seeks);

/* A warp whose lanes want blocks of 16 and of 32 bytes in turn, as if the class of 64 bytes served the one, and that of 48
 * the other; in the second round it frees what it got. */
SIMT_KERNEL_DECLARE(slabs_shares);

/* Each thread takes two blocks at a time, fills them, and finds them so before it frees them, so often.  Their sizes are
 * drawn from the first multiples of 16 bytes, as many as a.threads.  None is NULL, unless a.full. */
SIMT_KERNEL_DECLARE(slabs_serves);

/* Each thread frees its block, if it has one, or else takes one of 16 to 512 bytes, which it draws for the round. */
SIMT_KERNEL_DECLARE(slabs_changes);

/* Each thread takes blocks, three at a time, fills them, and finds them so before it frees them; so often.  Their sizes
 * are multiples of the smallest one, one for each warp; with a.full one for each lane.  A few blocks are large.
 * Meanwhile block 0 ends trails of these sizes. */
SIMT_KERNEL_DECLARE(slabs_trails);

/* In a new heap one thread has four numbers of a trail.  It follows the last one.  The trail ends, its cursor gives back
 * what it has, somebody tries to close the chunk, and somebody holds it: after each it follows another number. */
SIMT_KERNEL_DECLARE(slabs_late);

/* The only chunk of a new heap: a lane has it for 16 bytes.  Then lanes that want a.bytes and 16 follow numbers that lead
 * there: the second one has a slot, of a word that nobody has had slots of. */
SIMT_KERNEL_DECLARE(slabs_meets);

/* Two end the trail that has the only chunk: one closes the chunk then, which has a block of a.bytes next.  The other has
 * read the cursor and the chunk's kind before all that, and goes on behind it: one thread is both. */
SIMT_KERNEL_DECLARE(slabs_outlives);

/* Each part of a sweep about the bytes sees nothing that fits. */
SIMT_KERNEL_DECLARE(slabs_full);

/* A lane of each block adds 32 to the cursor so often, and finds nothing there. */
SIMT_KERNEL_DECLARE(slabs_adds);

/* The only chunk, of 128 units: two lanes of block 0 have it at a cursor for 16 bytes, free what they have, and close it.
 * Two of block 1 have it then at one for 32 bytes, and a lane of block 2 takes slots of both words from that, and frees
 * them. */
SIMT_KERNEL_DECLARE(slabs_refills);
SIMT_KERNEL_DECLARE(slabs_rests);

#endif
