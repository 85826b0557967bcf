/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/slabs_kernels.h"

#include "alloc/stamp.h"

SIMT_KERNEL(slabs_moves, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    if (simt_block() == 1 && simt_lane() == 0) {
        struct quarry_slabs_need need = {0};
        need.slabs = h;
        need.group = 1u;
        need.class_ = quarry_slabs_class(h, a.bytes);
        need.place = QUARRY_SLABS_NONE;
        quarry_slabs_end_trails(&need);
        quarry_slabs_search(&need);
        if (need.page == QUARRY_NO_PAGE)
            (void)simt_add_u32(a.wrong, 1, relaxed);
    } else if (simt_block() == 0 && simt_lane() < a.threads) {
        uint32_t group = (1u << a.threads) - 1u;
        (void)quarry_slabs_close(h, group, 0, simt_shuffle_u64(group, quarry_slabs_kind(h, 0), 0));
    } else if (simt_block() == 0 && simt_lane() == a.threads && a.threads == 0) {
        if (quarry_slabs_is_trail(simt_load_u64(&h->cursor[0], relaxed)))
            quarry_slabs_end_trail(h, 0);
        else
            quarry_slabs_retire(h, 0);
    }
}

SIMT_KERNEL(slabs_passes, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    unsigned char *block = (unsigned char *)SIMT_NULL;
    if (simt_block() == 0 && simt_lane() < 2) {
        uint64_t kind = quarry_slabs_kind(h, 0);
        while (quarry_slabs_state(kind = simt_shuffle_u64(3u, kind, 0)) == QUARRY_SLABS_IS_BOUND) {
            (void)quarry_slabs_close(h, 3u, 0, kind);
            kind = quarry_slabs_kind(h, 0);
        }
    } else if (simt_block() == 1 && simt_lane() < 2) {
        block = (unsigned char *)a.last[simt_lane()];
        for (uint32_t i = 0; i < 16; i++)
            block[i] = 1;
        quarry_free(a.heap, block);
    } else if (simt_block() == 2 && simt_lane() == 0) {
        while (!(block = (unsigned char *)quarry_malloc(a.heap, a.bytes)))
            simt_backoff();
        for (uint32_t i = 0; i < a.bytes; i++)
            block[i] = 2;
        quarry_free(a.heap, block);
    }
}

SIMT_KERNEL(slabs_together, struct slabs_case, a)
{
    if (simt_lane() >= 2)
        return;
    void *block = a.last[simt_lane()];
    for (uint32_t i = 0; i < a.rounds; i++) {
        quarry_free(a.heap, block);
        uint64_t counted = quarry_available_slots(a.heap, a.bytes);
        block = quarry_malloc(a.heap, a.bytes);
        if (counted == 0 || !block)
            (void)simt_add_u32(a.wrong, 1, relaxed);
    }
    quarry_free(a.heap, block);
}

/* The number of a part in a pass, and whether something fits there, or was taken since the first pass. */
SIMT_FN uint64_t slabs_number(const struct slabs_case *a, uint32_t group, uint32_t pass, uint32_t part,
                              uint32_t size, int *dirty)
{
    struct quarry_slabs_need need = {0};
    struct quarry_random unused = {0, 0};
    uint32_t page = QUARRY_NO_PAGE;
    *dirty = 0;
    need.slabs = &a->heap.as.slabs;
    need.group = group;
    need.class_ = need.slabs->classes;
    need.chunks = need.slabs->pages.count + 1u; /* so nothing that is there fits, and all is read */
    return simt_reduce_add_u64(
        group, quarry_slabs_sweep_part(&need, &unused, group, pass, part, size, &page, dirty));
}

/* Is a pass of a turn about a.bytes dirty? */
SIMT_FN int slabs_is_dirty(const struct slabs_case *a, uint32_t pass)
{
    uint32_t size = QUARRY_SWEEP_CLASS | quarry_slabs_class(&a->heap.as.slabs, a->bytes);
    int any = 0, dirty;
    for (uint32_t part = 0; part < a->heap.as.slabs.parts; part++) {
        (void)slabs_number(a, 1u, pass, part, size, &dirty);
        any |= dirty;
    }
    return any;
}

SIMT_KERNEL(slabs_touches, struct slabs_case, a)
{
    void *block = a.last[0];
    if (simt_lane() != 0)
        return;
    for (uint32_t i = 0; i < a.rounds; i++) {
        int before = slabs_is_dirty(&a, 0);
        quarry_free(a.heap, block);
        block = quarry_malloc(a.heap, a.bytes);
        int after = slabs_is_dirty(&a, 1);
        if (!block || before || !after || slabs_is_dirty(&a, 0) || slabs_is_dirty(&a, 1))
            (void)simt_add_u32(a.wrong, 1, relaxed);
    }
    quarry_free(a.heap, block);
    quarry_free(a.heap, a.last[1]);
}

SIMT_KERNEL(slabs_numbers, struct slabs_case, a)
{
    uint32_t class_ = quarry_slabs_class(&a.heap.as.slabs, a.bytes), rows = a.heap.as.slabs.classes;
    const uint32_t about[] = {
        QUARRY_SWEEP_CLASS | class_, class_, rows + 1u, rows + 2u, rows + 3u, rows + 4u};
    int dirty, its;
    for (uint32_t part = 0; part < a.heap.as.slabs.parts; part++)
        for (uint32_t i = 0; i < sizeof about / sizeof *about; i++)
            for (uint32_t width = 1; width < SIMT_LANES; width = 3 * width + 1) {
                uint32_t narrow = (1u << width) - 1u;
                uint64_t wide = slabs_number(&a, SIMT_ALL_LANES, 0, part, about[i], &dirty);
                if (simt_lane() < width &&
                    (slabs_number(&a, narrow, 0, part, about[i], &its) != wide || !its != !dirty))
                    (void)simt_add_u32(a.wrong, 1, relaxed);
                simt_sync(SIMT_ALL_LANES);
            }
}

SIMT_KERNEL(slabs_closes, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    const uint32_t class_ = quarry_slabs_class(h, a.bytes), all = SIMT_ALL_LANES;
    struct quarry_slabs_need need = {0};
    need.slabs = h;
    need.group = all;
    need.class_ = class_;
    need.size = a.rounds == 2 ? class_ + 1u : class_; /* then the turn is not about the chunk's class */
    need.wide = a.rounds == 2 ? 0 : QUARRY_SLABS_ALL;
    need.class_ += a.rounds == 2;
    need.looks = 1; /* the second pass reads the kind, */
    need.own = 0;
    need.saw = simt_lane() == 0 ? QUARRY_SLABS_SAW_WHOLE | class_ * QUARRY_SLABS_SAW_CLASS : 0;
    int closed = quarry_slabs_close(h, all, 0, simt_shuffle_u64(all, quarry_slabs_kind(h, 0), 0));
    if (a.rounds == 1) { /* and has bound it again, */
        if (simt_lane() == 0)
            (void)quarry_slabs_hold(h, 0, quarry_slabs_kind(h, 0), class_);
        quarry_slabs_bind(h, all, 0, class_, quarry_slabs_slots(h, class_));
    }
    quarry_slabs_look_whole(&need); /* before that reads the words */
    if (!closed || (simt_lane() == 0 && !(need.saw & QUARRY_SLABS_SAW_TOUCHED)))
        (void)simt_add_u32(a.wrong, 1, relaxed);
}

/* What the calling warp hears that wants a block of the class, or rows of so many chunks. */
SIMT_FN uint32_t slabs_hear(struct quarry_slabs_need *need, uint32_t class_, uint32_t chunks)
{
    need->class_ = class_;
    need->chunks = chunks;
    simt_sync(SIMT_ALL_LANES); /* what was told */
    uint32_t page = quarry_slabs_news(need, SIMT_ALL_LANES, QUARRY_NO_PAGE);
    simt_sync(SIMT_ALL_LANES);
    return page;
}

SIMT_KERNEL(slabs_news, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    const uint32_t small = quarry_slabs_class(h, a.bytes), large = quarry_slabs_class(h, 256),
                   none = QUARRY_NO_PAGE;
    const uint32_t used = quarry_slabs_page(h, a.last[0]), vacant = quarry_slabs_page(h, a.last[1]);
    struct quarry_slabs_need need = {0};
    uint32_t wrong = 0;
    need.slabs = h;
    need.group = SIMT_ALL_LANES;
    wrong += slabs_hear(&need, small, 0) != none;
    quarry_slabs_publish(&need, large, used);
    wrong += slabs_hear(&need, small, 0) != used || need.of != large;
    wrong += slabs_hear(&need, large, 0) != used || need.of != large;
    wrong += slabs_hear(&need, large + 1u, 0) != none || slabs_hear(&need, small, 1) != none;
    quarry_slabs_publish(&need, large, vacant); /* that can be closed, so it is nothing for smaller ones */
    wrong += slabs_hear(&need, small, 0) != none || slabs_hear(&need, large, 0) != vacant;
    quarry_slabs_publish(&need, h->classes, 3u); /* a chunk is more than larger slots */
    quarry_slabs_publish(&need, large, used);
    wrong += slabs_hear(&need, small, 0) != 3u || need.of != h->classes;
    quarry_slabs_publish(&need, small, h->pages.count); /* a cursor */
    wrong += slabs_hear(&need, small, 0) != h->pages.count || need.of != small;
    /* Who gets nothing there says so; who gets something does not. */
    need.page = h->pages.count;
    need.place = QUARRY_SLABS_NONE;
    quarry_slabs_try(&need);
    need.place = simt_lane() == 7 ? 0 : QUARRY_SLABS_NONE;
    quarry_slabs_tried(&need, QUARRY_SLABS_IS_MOVING);
    wrong += slabs_hear(&need, small, 0) != h->pages.count;
    quarry_slabs_try(&need);
    quarry_slabs_tried(&need, QUARRY_SLABS_IS_MOVING);
    wrong += slabs_hear(&need, small, 0) != 3u;
    if (wrong)
        (void)simt_add_u32(a.wrong, 1, relaxed);
}

SIMT_KERNEL(slabs_borrows, struct slabs_case, a)
{
    uint64_t bytes = simt_block() == 0 ? 64 : 16;
    void *own = a.last[simt_block()];
    for (uint32_t i = 0; i < a.rounds && own && simt_lane() == 0; i++) {
        quarry_free(a.heap, own);
        if (a.fence)
            simt_fence(acq_rel);
        own = simt_block() == 0 && i % 2 == 0 ? quarry_malloc(a.heap, a.bytes) : SIMT_NULL;
        if (!own)
            own = quarry_malloc(a.heap, bytes);
        if (!own)
            (void)simt_add_u32(a.wrong, 1, relaxed);
    }
    if (own && simt_lane() == 0)
        quarry_free(a.heap, own);
}

SIMT_KERNEL(slabs_classes, struct slabs_case, a)
{
    uint32_t bytes = 16u * (1u + simt_lane() % a.threads);
    uint32_t *block[2], stamp = 2u * simt_thread() + 1u;
    for (uint32_t i = 0; i < a.rounds; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            block[k] = (uint32_t *)quarry_malloc(a.heap, bytes);
            if (block[k])
                block[k][0] = block[k][bytes / 4u - 1u] = stamp + k;
        }
        for (uint32_t k = 0; k < 2; k++) {
            if (!block[k] || block[k][0] != stamp + k || block[k][bytes / 4u - 1u] != stamp + k)
                (void)simt_add_u32(a.wrong, 1, relaxed);
            quarry_free(a.heap, block[k]);
        }
    }
}

SIMT_KERNEL(slabs_words, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    const uint32_t class_ = quarry_slabs_class(h, a.bytes), stamp = simt_thread() + 1u;
    uint64_t *hint = quarry_slabs_hint(h, class_, simt_thread() / SIMT_LANES);
    for (uint32_t i = 0; i < a.rounds; i++) {
        uint32_t *block = (uint32_t *)SIMT_NULL, asked = 0, id = quarry_mix_u32(simt_block() + 3u * i);
        id = (id & 1u) << h->word_log | id % h->stride;
        int left;
        simt_sync(SIMT_ALL_LANES);
        if (simt_block() + 1u < a.threads) {
            if (simt_lane() == 0)
                simt_store_u64(hint, (uint64_t)id << 32 | ~0u, relaxed);
            simt_sync(SIMT_ALL_LANES);
            block = (uint32_t *)quarry_slabs_new(h, SIMT_ALL_LANES, SIMT_ALL_LANES, class_, hint,
                                                 simt_load_u64(hint, relaxed), QUARRY_SLABS_BARREN, &left,
                                                 &asked);
        } else if (simt_lane() == 0) {
            block = (uint32_t *)quarry_malloc(a.heap, a.bytes);
        }
        if (!block)
            continue;
        simt_note_block(block, a.bytes);
        *block = stamp;
        if (*block != stamp)
            (void)simt_add_u32(a.wrong, 1, relaxed);
        quarry_free(a.heap, block);
    }
}

SIMT_KERNEL(slabs_gathers, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    uint32_t class_ = quarry_slabs_class(h, 16u + 16u * (simt_lane() & 1u));
    if (a.rounds)
        quarry_free(a.heap, a.block[simt_lane()]);
    else if (simt_lane() < 2u)
        (void)simt_or_u32(&h->spread[class_], QUARRY_SLABS_BARREN, relaxed);
    simt_sync(SIMT_ALL_LANES);
    if (!a.rounds)
        a.block[simt_lane()] =
            quarry_slabs_gather(h, SIMT_ALL_LANES, class_, QUARRY_SLABS_GATHERS, SIMT_NULL);
}

SIMT_KERNEL(slabs_recalls, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    const uint32_t all = SIMT_LANES * QUARRY_SLABS_BITS, warp = simt_thread() / SIMT_LANES;
    for (uint32_t k = 0; k < 2u; k++) {
        uint32_t class_ = quarry_slabs_class(h, 128u << k), across = QUARRY_SLABS_BITS * simt_lane() + warp;
        uint32_t of = a.full && a.rounds == 1 && simt_lane() == SIMT_LANES - 1u ? 1u - k : k;
        void **mine = &a.block[of * all + (a.rounds % 3u ? across : simt_thread())];
        if (a.rounds == 0) {
            *mine = quarry_malloc(a.heap, 128u << k);
            (void)simt_or_u32(&h->spread[class_], QUARRY_SLABS_BARREN, relaxed);
        } else if (a.rounds == 2) {
            uint64_t hint = simt_load_u64(quarry_slabs_hint(h, class_, warp), relaxed);
            uint64_t place =
                quarry_slabs_recall(h, SIMT_ALL_LANES, class_, (uint32_t)(hint >> 32), SIMT_ALL_LANES, 0, 0);
            *mine = place == QUARRY_SLABS_NONE ? SIMT_NULL : quarry_slabs_block(h, place, class_);
            simt_sync(SIMT_ALL_LANES); /* what one acquired, each has */
            if (*mine)
                (void)simt_add_u64(a.cursor, 1, relaxed);
        } else {
            quarry_free(a.heap, *mine);
        }
    }
}

/* Each lane has seen a word, and of about every second one others had a slot first.  Returns whether each slot has one
 * owner, and none is left. */
SIMT_FN int slabs_deals_well(const struct quarry_slabs *h, uint32_t all, uint32_t round)
{
    const uint32_t lane = simt_lane(), drawn = quarry_mix_u32(lane + 1u + SIMT_LANES * round);
    const uint32_t wants = simt_ballot(all, drawn & 1u), asked = simt_popc_u32(wants);
    uint32_t clear = quarry_mix_u32(drawn) & quarry_mix_u32(drawn + 1u), bits = 0;
    clear = round % 4u ? clear & quarry_mix_u32(drawn + 2u) & quarry_mix_u32(drawn + 3u) : clear;
    const uint32_t n = simt_popc_u32(clear), rich = quarry_slabs_richest(all, n, asked);
    const uint32_t sum = simt_reduce_add_u32(all, n), to = quarry_scan_add_u32(all, rich), from = to - rich;
    int well = simt_reduce_add_u32(all, rich) >= (asked < sum ? asked : sum);
    if (rich && from < asked)
        bits = quarry_slabs_lowest(clear, to < asked ? rich : asked - from);
    if (drawn & 2u)
        bits &= bits - 1u;
    const uint64_t place = quarry_slabs_deal_words(h, all, wants, from, to, lane, bits);
    const int got = place != QUARRY_SLABS_NONE;
    uint32_t giver = got ? quarry_slabs_id(h, place) : lane, slot = (uint32_t)place % QUARRY_SLABS_BITS;
    if (giver >= SIMT_LANES || !(all >> giver & 1u)) {
        well = 0;
        giver = lane;
    }
    const uint32_t its = simt_shuffle_u32(all, bits, giver);
    const uint32_t which = got ? giver * QUARRY_SLABS_BITS + slot : ~lane;
    well = well && simt_popc_u32(simt_match_u32(all, which)) == 1u;
    well = well && (!got || ((its >> slot & 1u) && (wants >> lane & 1u)));
    return simt_all(all, well) &&
           simt_popc_u32(simt_ballot(all, got)) == simt_reduce_add_u32(all, simt_popc_u32(bits));
}

SIMT_KERNEL(slabs_deals, struct slabs_case, a)
{
    for (uint32_t i = 0; i < a.rounds; i++) {
        const uint32_t all = i % 2u ? quarry_mix_u32(i) : SIMT_ALL_LANES;
        if ((all >> simt_lane() & 1u) && !slabs_deals_well(&a.heap.as.slabs, all, i))
            (void)simt_add_u32(a.wrong, 1, relaxed);
        simt_sync(SIMT_ALL_LANES);
    }
}

SIMT_KERNEL(slabs_seeks, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    uint32_t class_ = quarry_slabs_class(h, 16u + 48u * (simt_lane() & 1u));
    if (a.rounds)
        quarry_free(a.heap, a.block[simt_lane()]);
    else if (simt_lane() < 2u)
        (void)simt_or_u32(&h->spread[class_], QUARRY_SLABS_BARREN, relaxed);
    simt_sync(SIMT_ALL_LANES);
    if (!a.rounds)
        a.block[simt_lane()] = quarry_slabs_seek(h, SIMT_ALL_LANES, class_, SIMT_NULL);
}

SIMT_KERNEL(slabs_shares, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    uint32_t class_ = quarry_slabs_class(h, 16u + 16u * (simt_lane() & 1u));
    uint32_t larger = quarry_slabs_class(h, 64u - 16u * (simt_lane() & 1u));
    if (a.rounds)
        quarry_free(a.heap, a.block[simt_lane()]);
    else if (simt_lane() < 2u)
        simt_store_u32(&h->spread[class_], QUARRY_SLABS_BARREN | larger << QUARRY_SLABS_LARGER, relaxed);
    simt_sync(SIMT_ALL_LANES);
    if (!a.rounds)
        a.block[simt_lane()] = quarry_slabs_recall_all(
            h, SIMT_ALL_LANES, class_, simt_load_u32(&h->spread[class_], relaxed), 0, SIMT_NULL);
}

SIMT_KERNEL(slabs_serves, struct slabs_case, a)
{
    uint32_t *block[2], words[2], stamp = 2u * simt_thread() + 1u;
    for (uint32_t i = 0; i < a.rounds; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            if (!a.full) /* then all lanes ask together, and so do a walk */
                simt_sync(SIMT_ALL_LANES);
            words[k] = 4u * (1u + (quarry_mix_u32(stamp + k + (i << 20)) >> 16) % a.threads);
            block[k] = (uint32_t *)quarry_malloc(a.heap, 4u * words[k]);
            if (!block[k] && !a.full)
                (void)simt_add_u32(a.wrong, 1, relaxed);
            for (uint32_t w = 0; block[k] && w < words[k]; w++)
                block[k][w] = stamp + k;
        }
        for (uint32_t k = 0; k < 2; k++) {
            for (uint32_t w = 0; block[k] && w < words[k]; w++)
                if (block[k][w] != stamp + k)
                    (void)simt_add_u32(a.wrong, 1, relaxed);
            quarry_free(a.heap, block[k]);
        }
    }
}

SIMT_KERNEL(slabs_changes, struct slabs_case, a)
{
    void **mine = &a.block[simt_thread()];
    uint32_t drawn = quarry_mix_u32(quarry_mix_u32(simt_thread() + 1u) + a.rounds) >> 16;
    if (*mine) {
        quarry_free(a.heap, *mine);
        *mine = SIMT_NULL;
    } else {
        *mine = quarry_malloc(a.heap, 16u + 16u * (drawn % 32u));
        if (!*mine)
            (void)simt_add_u32(a.wrong, 1, relaxed);
    }
}

/* Block 0 ends trails, one after the other. */
SIMT_FN void slabs_ends(const struct slabs_case *a)
{
    const struct quarry_slabs *h = &a->heap.as.slabs;
    struct quarry_random r = quarry_random_start();
    for (uint32_t i = 0; i < a->rounds; i++) {
        for (uint32_t wait = quarry_random_below(&r, 32); wait > 0; wait--)
            simt_backoff();
        uint32_t class_ = quarry_slabs_class(h, a->bytes * (1u + quarry_random_below(&r, a->threads)));
        quarry_slabs_end_trail(h, quarry_slabs_cursor(h, class_, quarry_random_below(&r, h->trails)));
    }
}

SIMT_KERNEL(slabs_trails, struct slabs_case, a)
{
    const uint32_t size = a.full ? simt_lane() : simt_block();
    void *block[3] = {SIMT_NULL, SIMT_NULL, SIMT_NULL};
    uint64_t bytes[3] = {0, 0, 0};
    if (simt_block() == 0) {
        if (simt_lane() == 0)
            slabs_ends(&a);
        return;
    }
    if (!(a.lanes >> simt_lane() & 1u))
        return;
    for (uint32_t i = 0; i < a.rounds + 3u; i++) {
        uint32_t k = i % 3u, stamp = 3u * simt_thread() + k, drawn = quarry_mix_u32(stamp + (i << 20)) >> 16;
        if (block[k]) {
            if (!stamp_is_there(block[k], bytes[k], stamp))
                (void)simt_add_u32(a.wrong, 1, relaxed);
            quarry_free(a.heap, block[k]);
            block[k] = SIMT_NULL;
        }
        if (i >= a.rounds)
            continue;
        bytes[k] = a.bytes * (1u + size % a.threads);
        if (drawn % 32u == 0) /* a large block, of one chunk or of two */
            bytes[k] = (1u + (drawn >> 5 & 1u)) * a.heap.as.slabs.pages.page_bytes;
        block[k] = quarry_malloc(a.heap, bytes[k]);
        if (block[k])
            stamp_write(block[k], bytes[k], stamp);
    }
}

/* The place that a number of the class's first trail leads to, for each lane of `all`. */
SIMT_FN uint64_t slabs_follow(const struct quarry_slabs *h, uint32_t all, uint32_t class_, uint32_t at)
{
    return quarry_slabs_follow(h->kinds + h->bound, h->words + (uint64_t)h->bound * h->stride,
                               h->pages.count - h->bound, h->stride, h->trails, all, class_,
                               quarry_slabs_slots(h, class_), 0, at);
}

SIMT_KERNEL(slabs_late, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    const uint32_t class_ = quarry_slabs_class(h, a.bytes), index = quarry_slabs_cursor(h, class_, 0);
    uint32_t got, at;
    uint64_t place[3];
    if (simt_thread() != 0)
        return;
    (void)quarry_slabs_add(&h->cursor[index], quarry_slabs_slots(h, class_), 4, &got, &at);
    at &= QUARRY_SLABS_NEXT;
    const uint64_t first = slabs_follow(h, 1u, class_, at + 3u) - 3u; /* this binds the chunk */
    const uint32_t chunk = (uint32_t)(first >> 16);
    quarry_slabs_end_trail(h, index);
    quarry_slabs_retire(h, index);
    place[0] = slabs_follow(h, 1u, class_, at);
    (void)quarry_slabs_close(h, 1u, chunk, quarry_slabs_kind(h, chunk));
    place[1] = slabs_follow(h, 1u, class_, at + 1u);
    uint64_t kind = quarry_slabs_kind(h, chunk);
    (void)quarry_slabs_hold(h, chunk, kind, class_);
    place[2] = slabs_follow(h, 1u, class_, at + 2u);
    quarry_slabs_let_go(h, chunk, QUARRY_SLABS_IS_BOUND, class_, quarry_slabs_more(kind));
    for (uint32_t i = 0; i < 3u; i++) {
        if (place[i] != first + i)
            (void)simt_add_u32(a.wrong, 1, relaxed);
    }
    for (uint32_t i = 0; i < 4u; i++)
        quarry_free(a.heap, quarry_slabs_block(h, first + i, class_));
}

SIMT_KERNEL(slabs_meets, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    const uint32_t all = 3u, numbers = QUARRY_SLABS_BITS + 1u;
    const uint32_t class_ = quarry_slabs_class(h, simt_lane() ? 16 : a.bytes);
    const uint32_t slots = quarry_slabs_slots(h, class_);
    uint32_t got, at;
    if (simt_lane() >= 2)
        return;
    (void)quarry_slabs_add(&h->cursor[quarry_slabs_cursor(h, class_, 0)], slots, numbers, &got, &at);
    if (simt_lane() == 1) /* this binds the chunk */
        quarry_free(a.heap, quarry_slabs_block(h, slabs_follow(h, 2u, class_, slots + numbers - 1u), class_));
    simt_sync(all);
    uint64_t place = slabs_follow(h, all, class_, slots + simt_lane());
    if (simt_lane() == 0) {
        if (place != QUARRY_SLABS_NONE)
            (void)simt_add_u32(a.wrong, 1, relaxed);
        return;
    }
    if (place != 1 || !quarry_slabs_is_of(simt_load_u64(h->words, relaxed), class_))
        (void)simt_add_u32(a.wrong, 1, relaxed);
    for (uint32_t i = 0; i < numbers - 1u; i++) {
        place = i == 1 ? place : slabs_follow(h, 2u, class_, slots + i);
        quarry_free(a.heap, quarry_slabs_block(h, quarry_slabs_place(0, i), class_));
    }
}

SIMT_KERNEL(slabs_outlives, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    struct quarry_slabs late = *h;
    void *block = SIMT_NULL;
    if (simt_thread() != 0)
        return;
    late.cursor = &a.cursor[0];
    late.kinds = &a.cursor[1];
    simt_store_u64(late.cursor, simt_load_u64(&h->cursor[0], relaxed), relaxed);
    simt_store_u64(late.kinds, quarry_slabs_kind(h, 0), relaxed);
    quarry_slabs_end_trail(h, 0);
    quarry_slabs_retire(h, 0);
    if (quarry_slabs_close(h, 1u, 0, quarry_slabs_kind(h, 0)))
        block = quarry_malloc(a.heap, a.bytes);
    quarry_slabs_end_trail(&late, 0);
    if (!block)
        (void)simt_add_u32(a.wrong, 1, relaxed);
    quarry_free(a.heap, block);
}

SIMT_KERNEL(slabs_full, struct slabs_case, a)
{
    uint32_t class_ = quarry_slabs_class(&a.heap.as.slabs, a.bytes);
    for (uint32_t part = 0; part < a.heap.as.slabs.parts; part++)
        for (uint32_t wide = 0; wide < 2; wide++) {
            int dirty;
            (void)slabs_number(&a, SIMT_ALL_LANES, 0, part, class_ | (wide ? 0 : QUARRY_SWEEP_CLASS), &dirty);
            if (simt_lane() == 0 && dirty)
                (void)simt_add_u32(a.wrong, 1, relaxed);
        }
}

SIMT_KERNEL(slabs_adds, struct slabs_case, a)
{
    uint32_t got = 0, asked = 0;
    for (uint32_t i = 0; i < a.rounds && simt_lane() == 0; i++) {
        (void)quarry_slabs_add(a.cursor, 64, 32, &got, &asked);
        if (got != 0 ||
            quarry_slabs_next(simt_load_u64(a.cursor, relaxed)) >= QUARRY_SLABS_FAR + 32u * a.threads)
            (void)simt_add_u32(a.wrong, 1, relaxed);
    }
}

/* Two lanes fill the only cursor of a class.  Returns the caller's place, or QUARRY_SLABS_NONE. */
SIMT_FN uint64_t slabs_refill(const struct quarry_slabs *h, uint64_t bytes)
{
    return quarry_slabs_refill_class(h, 3u, quarry_slabs_class(h, bytes), 0, QUARRY_SLABS_PAST, 3u);
}

/* Two lanes give the rest of the class's first cursor back, and close its chunk, 0. */
SIMT_FN void slabs_shut(const struct quarry_slabs *h, uint32_t class_)
{
    uint64_t kind;
    if (simt_lane() == 0)
        quarry_slabs_retire(h, class_);
    do {
        simt_sync(3u);
        kind = simt_shuffle_u64(3u, quarry_slabs_kind(h, 0), 0);
    } while (quarry_slabs_is_bound(kind, class_) && !quarry_slabs_close(h, 3u, 0, kind));
}

SIMT_KERNEL(slabs_refills, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    uint32_t narrow = quarry_slabs_class(h, 16), wide = quarry_slabs_class(h, 32), got = 0, asked = 0;
    if (simt_block() == 0 && simt_lane() < 2) {
        uint64_t place = slabs_refill(h, 16);
        if (place == QUARRY_SLABS_NONE) {
            (void)simt_add_u32(a.wrong, 1, relaxed);
            return;
        }
        quarry_free(a.heap, quarry_slabs_block(h, place, narrow));
        slabs_shut(h, narrow);
    } else if (simt_block() == 1 && simt_lane() < 2) {
        uint64_t place = QUARRY_SLABS_NONE;
        do {
            simt_backoff();
            uint64_t kind = quarry_slabs_kind(h, 0);
            if (simt_any(3u, kind != QUARRY_SLABS_FRESH &&
                                 quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE)) { /* it was closed */
                (void)simt_add_u32(a.wrong, 0,
                                   relaxed); /* in mode weak it has not waited, and may see what is old */
                place = slabs_refill(h, 32);
            }
        } while (simt_any(3u, place == QUARRY_SLABS_NONE));
        quarry_free(a.heap, quarry_slabs_block(h, place, wide));
    } else if (simt_block() == 2 && simt_lane() == 0) {
        while (got == 0) {
            simt_backoff();
            if (quarry_slabs_next(simt_load_u64(&h->cursor[wide], relaxed)) < 64u)
                (void)quarry_slabs_add(&h->cursor[wide], 64u, 40u, &got, &asked);
        }
        while (got--)
            quarry_free(a.heap, quarry_slabs_block(h, quarry_slabs_place(0, asked + got), wide));
    }
}

/* One block writes to narrow slots, and closes their chunk.  The next fills a cursor with it, and gives its rest back at
 * once.  The third takes one of these slots by its word, and writes to it. */
SIMT_KERNEL(slabs_rests, struct slabs_case, a)
{
    const struct quarry_slabs *h = &a.heap.as.slabs;
    uint32_t narrow = quarry_slabs_class(h, 16), wide = quarry_slabs_class(h, 32), got = 0, asked = 0;
    uint64_t place = QUARRY_SLABS_NONE, kind;
    if (simt_block() == 0 && simt_lane() < 2) {
        place = slabs_refill(h, 16);
        if (simt_lane() == 0)
            (void)quarry_slabs_add(&h->cursor[narrow], 128u, 32u, &got, &asked);
        while (got--) {
            unsigned char *block =
                (unsigned char *)quarry_slabs_block(h, quarry_slabs_place(0, asked + got), narrow);
            *block = 1;
            quarry_free(a.heap, block);
        }
        quarry_free(a.heap, quarry_slabs_block(h, place, narrow));
        slabs_shut(h, narrow);
    } else if (simt_block() == 1 && simt_lane() < 2) {
        do {
            simt_backoff();
            kind = quarry_slabs_kind(h, 0);
            (void)simt_add_u32(a.wrong, 0, relaxed); /* as in slabs_refills */
            if (simt_any(3u, kind != QUARRY_SLABS_FRESH && quarry_slabs_state(kind) == QUARRY_SLABS_IS_FREE))
                place = slabs_refill(h, 32);
        } while (simt_any(3u, place == QUARRY_SLABS_NONE));
        if (simt_lane() == 0)
            quarry_slabs_retire(h, wide);
        simt_sync(3u);
        quarry_free(a.heap, quarry_slabs_block(h, place, wide));
    } else if (simt_block() == 2 && simt_lane() == 0) {
        uint32_t bits = 0;
        do {
            simt_backoff();
            uint64_t seen = simt_load_u64(h->words, relaxed);
            bits = quarry_slabs_take(h->words, &seen, wide, 1);
        } while (bits == 0);
        unsigned char *block = (unsigned char *)quarry_slabs_slot(h, 0, simt_ctz_u32(bits), wide);
        simt_note_block(block, 32);
        *block = 2;
        quarry_free(a.heap, block);
    }
}
