/* SPDX-License-Identifier: Apache-2.0 */
/* A source of chunks: what an allocator of two stages stands on.
 *
 * The upper stage takes large chunks from the source, cuts them into blocks, and gives a chunk back when all
 * its blocks are free: slabs over a buddy allocator, queues whose segments are chunks, superblocks from an
 * allocator of runs.  The source is chosen at compile time, by its name: a family S is a source if its
 * functions, which are those of alloc/alloc.h, keep what is said here.
 *
 *     struct quarry_S
 *         A member of the upper stage's struct.
 *
 *     void quarry_S_sections(void *s, struct quarry_layout *l)                                        [host]
 *         Names the source's sections, the chunks' last, for l->pages chunks of l->page_bytes, and fills *s.
 *         Nothing else of the family's layout is called.  Called by the upper stage's function of that
 *         kind, which counts in blocks and sets both numbers for the call.  l->places is then where the
 *         chunks begin; a chunk begins a multiple of l->page_bytes behind it.
 *
 *     init, settle
 *         Called by the upper stage's, with the same threads.
 *
 *     QUARRY_SOURCE_TAKE(S)   quarry_S_malloc
 *         Takes a chunk of at least so many bytes; NULL: at some instant during the call there was none.
 *         That is no proof that the upper stage is full: a block may have become free in a chunk that it
 *         has.  Any lanes may call, also one for its group.
 *         context: the upper stage's own, if that leaves context->own alone, else a new one.
 *
 *     QUARRY_SOURCE_GIVE(S)   quarry_S_free
 *         Gives a chunk back, by its first address.  What any lane did to the chunk must happen-before the
 *         call; then it happens-before the use of whoever takes the chunk next.
 *
 *     QUARRY_SOURCE_FIND(S)   quarry_S_find
 *         Which chunk an address is in, and whether it is taken.
 *
 *     QUARRY_SOURCE_CENSUS(S)   quarry_S_census
 *         Counts chunks.  Into a sum of its own: a chunk that is taken is no live block.
 *
 * A source keeps nothing of its own in the chunks.  So what the upper stage notes of a chunk can lie in a
 * section of its own, by the chunk's number, and debug mode can write into free blocks.
 *
 * If S has constants they come first, as in every call of it: QUARRY_SOURCE_TAKE(S)(constant, &h->source,
 * ...)
 */
#ifndef QUARRY_CORE_SOURCE_H
#define QUARRY_CORE_SOURCE_H

#define QUARRY_SOURCE_PASTE_(source, what) quarry_##source##_##what
#define QUARRY_SOURCE_PASTE(source, what) QUARRY_SOURCE_PASTE_(source, what)

#define QUARRY_SOURCE_STRUCT(source) struct QUARRY_SOURCE_PASTE_STRUCT(source)
#define QUARRY_SOURCE_PASTE_STRUCT_(source) quarry_##source
#define QUARRY_SOURCE_PASTE_STRUCT(source) QUARRY_SOURCE_PASTE_STRUCT_(source)
#define QUARRY_SOURCE_SECTIONS(source) QUARRY_SOURCE_PASTE(source, sections)
#define QUARRY_SOURCE_INIT(source) QUARRY_SOURCE_PASTE(source, init)
#define QUARRY_SOURCE_SETTLE(source) QUARRY_SOURCE_PASTE(source, settle)
#define QUARRY_SOURCE_TAKE(source) QUARRY_SOURCE_PASTE(source, malloc)
#define QUARRY_SOURCE_GIVE(source) QUARRY_SOURCE_PASTE(source, free)
#define QUARRY_SOURCE_FIND(source) QUARRY_SOURCE_PASTE(source, find)
#define QUARRY_SOURCE_CENSUS(source) QUARRY_SOURCE_PASTE(source, census)

#endif
