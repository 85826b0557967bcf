/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of several chunks of alloc/ouro.h, for all of the family.  Out of line: so a kernel that asks for small blocks
 * has none of the registers.
 *
 *     word    of the first chunk: its class says how many there are.  Of the others: QUARRY_OURO_INSIDE
 *             A block is live while its first chunk has that class, as with a whole one
 *
 * malloc   looks for a run (core/chunk_runs.h).  If there is none it brings back what may become one: late chunks (C),
 *          segments (VA, VL).  Then it looks again
 * NULL     in that look each window had a chunk that was not left; the store's word was the same before and after, with
 *          nobody in transit, and no queue had a segment
 * trim     of a block the chunks before and behind the user's bytes are left again, and the first one is another */
#ifndef QUARRY_ALLOC_OURO_RUNS_H
#define QUARRY_ALLOC_OURO_RUNS_H

#include "quarry/alloc/ouro/ouro_heap.h"
#include "quarry/alloc/ouro/ouro_pages.h"

/* The chunks that late pages and segments keep come back.  Progress: as quarry_ouro_drain. */
SIMT_NOINLINE_FN void quarry_ouro_gather(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                         const struct quarry_ouro *h)
{
    uint32_t group = quarry_group(h, QUARRY_SITE_OURO_GATHER), some = 0;
    if (payload == QUARRY_OURO_CHUNKS) {
        struct quarry_chunk_masks masks = quarry_ouro_masks(h);
        if (simt_rank(group) == 0)
            (void)quarry_mask_recall(&masks);
    }
    if (backing == QUARRY_OURO_STANDARD)
        return;
    if (simt_rank(group) == 0)
        some = (uint32_t)quarry_segments_any(h->segments.segments);
    if (!simt_shuffle_u32(group, some, simt_ctz_u32(group)))
        return;
    if (payload == QUARRY_OURO_CHUNKS)
        quarry_ouro_drain(QUARRY_OURO_CHUNKS, h, group);
    else
        quarry_ouro_drain(QUARRY_OURO_PAGES, h, group);
}

/* Is `seen` the proof that there is no run?  A look in vain came after it was read. */
SIMT_FN int quarry_ouro_has_no_run(enum quarry_ouro_backing backing, const struct quarry_ouro *h,
                                   uint64_t seen)
{
    if (seen & QUARRY_CHUNKS_TRANSIT)
        return 0;
    if (backing != QUARRY_OURO_STANDARD && quarry_segments_any(h->segments.segments))
        return 0;
    return quarry_chunks_is_same(&h->segments.store, seen);
}

/* n chunks from `at` on get an addition to their class, by what it is to be and has been. */
SIMT_FN void quarry_ouro_stamp(const struct quarry_ouro *h, uint32_t at, uint32_t n, uint32_t code,
                               uint32_t before)
{
    for (uint32_t i = 0; i < n; i++)
        (void)simt_add_u64(&h->table.word[at + i], ((uint64_t)code - before) * QUARRY_CHUNK_CLASS, relaxed);
}

/* A block of several chunks: one look.
 *   bytes      more than a chunk's, at most the largest block's
 *   gathered   quarry_ouro_gather has just been called
 * Returns QUARRY_NO_INDEX: there is none; QUARRY_OURO_AGAIN: gather, and ask again; else its first chunk.  */
SIMT_NOINLINE_FN uint32_t quarry_ouro_run(enum quarry_ouro_backing backing, const struct quarry_ouro *h,
                                          uint64_t bytes, int gathered)
{
    const struct quarry_chunks *store = &h->segments.store;
    uint32_t n = quarry_page_count(&h->chunks, bytes);
    uint32_t group = quarry_group(h->table.word + n, QUARRY_SITE_OURO_RUN), proven = 0;
    uint64_t seen = 0;
    if (simt_rank(group) == 0) /* acquire: pairs with the release in quarry_chunks_end */
        seen = simt_load_u64(&store->head->word, acquire);
    simt_sync(group); /* what has come back is seen by all */
    uint32_t run = quarry_run_take(store, group, group, n);
    if (simt_any(group, run == QUARRY_NO_INDEX) && simt_rank(group) == 0) {
        proven = gathered && quarry_ouro_has_no_run(backing, h, seen);
        if (gathered && !proven)
            simt_backoff();
    }
    proven = simt_shuffle_u32(group, proven, simt_ctz_u32(group));
    if (run == QUARRY_NO_INDEX)
        return proven ? QUARRY_NO_INDEX : QUARRY_OURO_AGAIN;
    quarry_ouro_stamp(h, run, 1, h->sizes.whole + n, 0);
    quarry_ouro_stamp(h, run + 1u, n - 1u, QUARRY_OURO_INSIDE, 0);
    return run;
}

/* Two calls, none in the other: a kernel has the registers of one.  Where both constants are the same in all calls, as
 * in a kernel for one allocator, the compiler leaves out what is of others. */
SIMT_FN void *quarry_ouro_malloc_run(enum quarry_ouro_backing backing, enum quarry_ouro_payload payload,
                                     const struct quarry_ouro *h, uint64_t bytes)
{
    uint32_t run;
    for (int again = 0; (run = quarry_ouro_run(backing, h, bytes, again)) == QUARRY_OURO_AGAIN; again = 1)
        if (backing != QUARRY_OURO_STANDARD || payload != QUARRY_OURO_PAGES) /* else nothing keeps chunks */
            quarry_ouro_gather(backing, payload, h);
    return run == QUARRY_NO_INDEX ? SIMT_NULL : quarry_page_address(&h->chunks, run);
}

/* The class of the block of several chunks that begins in this one, or ~0. */
SIMT_FN uint32_t quarry_ouro_run_class(const struct quarry_ouro *h, uint32_t chunk)
{
    uint32_t first = chunk, class_ = chunk == QUARRY_NO_PAGE ? ~0u : quarry_ouro_run_of(h, &first);
    return first == chunk ? class_ : ~0u;
}

/* Of an address that is in no chunk with pages. */
SIMT_NOINLINE_FN void quarry_ouro_free_run(const struct quarry_ouro *h, void *block)
{
    uint32_t chunk = quarry_page_index(&h->chunks, block), class_ = quarry_ouro_run_class(h, chunk);
    int live = class_ != ~0u && quarry_ouro_unmark(h, chunk, class_);
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return;
    uint32_t n = class_ - h->sizes.whole + 1u;
    quarry_ouro_stamp(h, chunk + 1u, n - 1u, 0, QUARRY_OURO_INSIDE);
    quarry_run_give(&h->segments.store, chunk, n, n);
}

SIMT_NOINLINE_FN void quarry_ouro_trim_run(const struct quarry_ouro *h, void *block, void *user,
                                           uint64_t bytes)
{
    uint32_t at = quarry_page_index(&h->chunks, block), class_ = quarry_ouro_run_class(h, at);
    if (class_ == ~0u)
        return;
    uint32_t n = class_ - h->sizes.whole + 1u, first = quarry_page_index(&h->chunks, user),
             last = quarry_page_index(&h->chunks, (unsigned char *)user + bytes - 1u);
    if (last - first + 1u == n)
        return;
    uint32_t front = first - at, back = at + n - 1u - last, code = h->sizes.whole + 1u + last - first;
    quarry_ouro_stamp(h, first, 1, code, front ? QUARRY_OURO_INSIDE : class_ + 1u);
    if (front) {
        quarry_ouro_stamp(h, at, 1, 0, class_ + 1u);
        quarry_ouro_stamp(h, at + 1u, front - 1u, 0, QUARRY_OURO_INSIDE);
        quarry_run_give(&h->segments.store, at, front, front);
    }
    if (back) {
        quarry_ouro_stamp(h, last + 1u, back, 0, QUARRY_OURO_INSIDE);
        quarry_run_give(&h->segments.store, last + 1u, back, back);
    }
}

#endif
