/* SPDX-License-Identifier: Apache-2.0 */
#include "device/heap_kernels.h"

SIMT_KERNEL(quarry_heap_init_kernel, struct heap_init, a)
{
    uint64_t thread = simt_thread();
    uint64_t threads = simt_threads();
    if (thread == 0) {
        a.header->counters.failed = 0;
        a.header->counters.refused = 0;
        a.header->counters.last_bytes = 0;
        a.header->counters.misfit = 0;
        a.header->counters.log = (struct quarry_log *)SIMT_NULL;
        if (a.heap.policy)
            *a.heap.policy = a.policy;
    }
    quarry_dispatch_init(&a.heap, thread, threads);
}

SIMT_KERNEL(quarry_heap_settle_kernel, struct heap_settle, a)
{
    quarry_dispatch_settle(&a.heap, simt_thread(), simt_threads());
}

SIMT_FN uint64_t warp_max(uint64_t value)
{
    for (uint32_t distance = SIMT_LANES / 2; distance > 0; distance /= 2) {
        uint64_t other = simt_shuffle_u64(SIMT_ALL_LANES, value, simt_lane() ^ distance);
        value = other > value ? other : value;
    }
    return value;
}

SIMT_FN void warp_add_to(uint64_t *sum, uint64_t value)
{
    uint64_t warp_sum = simt_reduce_add_u64(SIMT_ALL_LANES, value);
    if (simt_lane() == 0 && warp_sum != 0)
        simt_add_u64(sum, warp_sum, relaxed);
}

/* The results are relaxed: the end of the launch orders them before the host's read. */
SIMT_KERNEL(quarry_heap_census_kernel, struct heap_census, a)
{
    struct quarry_census sum = {0, 0, 0, 0, 0, 0, 0};
    struct quarry_census *total = &a.header->census;
    struct quarry_census_share share = {SIMT_ALL_LANES, 1, simt_thread(), simt_threads()};
    quarry_dispatch_census(&a.heap, a.bytes, &share, &sum);
    warp_add_to(&total->live_blocks, sum.live_blocks);
    warp_add_to(&total->live_bytes, sum.live_bytes);
    warp_add_to(&total->free_bytes, sum.free_bytes);
    warp_add_to(&total->slots, sum.slots);
    warp_add_to(&total->faults, sum.faults);
    warp_add_to(&total->odds, sum.odds);
    uint64_t largest = warp_max(sum.largest_free);
    if (simt_lane() == 0)
        simt_max_u64(&total->largest_free, largest, relaxed);
}

/* An overwritten header is mended to that of a block as large as can be, so that it is noted once. */
SIMT_FN void check_live(struct quarry_debug *debug, const struct quarry_debug_block *b)
{
    uint64_t bytes = b->trusted ? b->bytes : b->room - QUARRY_DEBUG_MIN_REDZONE;
    quarry_debug_note_live(debug, b, quarry_debug_nobody());
    quarry_debug_fill(b->user + bytes, b->room - bytes, QUARRY_DEBUG_REDZONE);
    quarry_debug_write(b->begin, QUARRY_DEBUG_LIVE, bytes, b->by, quarry_debug_nobody(), b->tag);
}

SIMT_FN void check_free(struct quarry_debug *debug, unsigned char *begin)
{
    struct quarry_debug_block b = quarry_debug_note_free(debug, begin);
    quarry_debug_write_free(begin, debug->unit, b.bytes, b.by, b.freed_by, b.tag);
}

SIMT_FN struct quarry_debug_block read_live(const struct quarry_span *span)
{
    uint32_t state = ((struct quarry_debug_header *)(void *)span->begin)->state;
    return quarry_debug_read(span, QUARRY_DEBUG_LIVE, state == QUARRY_DEBUG_LIVE);
}

SIMT_KERNEL(quarry_heap_debug_kernel, struct heap_debug, a)
{
    struct quarry_debug *debug = a.heap.debug;
    uint64_t blocks = 0, bytes = 0;
    if (a.task == HEAP_DEBUG_START && simt_thread() == 0) {
        debug->heap = a.heap;
        debug->unit = a.unit;
        debug->launch = a.launch;
        for (uint32_t kind = 0; kind < QUARRY_DEBUG_KINDS; kind++)
            debug->record[kind].count = 0;
    }
    if (a.task == HEAP_DEBUG_TAGS) {
        for (uint32_t kind = simt_thread(); kind < QUARRY_DEBUG_KINDS; kind += simt_threads())
            quarry_debug_read_tag(debug->record[kind].count ? debug->record[kind].tag : 0, debug->text[kind]);
        return;
    }
    for (uint64_t i = simt_thread(); i < a.units; i += simt_threads()) {
        unsigned char *begin = a.places + i * a.unit;
        struct quarry_span span;
        enum quarry_place place = quarry_dispatch_find(&a.heap, begin, &span);
        if (place == QUARRY_PLACE_FOREIGN || span.begin != begin)
            continue;
        if (a.task == HEAP_DEBUG_START) {
            quarry_debug_write_free(begin, a.unit, 0, quarry_debug_nobody(), quarry_debug_nobody(), 0);
        } else if (place == QUARRY_PLACE_LIVE) {
            struct quarry_debug_block b = read_live(&span);
            blocks++;
            bytes += b.bytes;
            if (a.task == HEAP_DEBUG_CHECK)
                check_live(debug, &b);
        } else if (a.task == HEAP_DEBUG_CHECK) {
            check_free(debug, begin);
        }
    }
    warp_add_to(&debug->census.blocks, blocks);
    warp_add_to(&debug->census.bytes, bytes);
}

SIMT_KERNEL(quarry_heap_each_kernel, struct heap_each, a)
{
    for (uint64_t i = a.first + simt_thread(); i < a.end; i += simt_threads()) {
        unsigned char *begin = a.places + i * a.unit;
        struct quarry_span span;
        if (quarry_dispatch_find(&a.heap, begin, &span) != QUARRY_PLACE_LIVE || span.begin != begin)
            continue;
        struct heap_block *block = a.block + simt_add_u64(a.count, 1, relaxed);
        block->address = (uint64_t)(uintptr_t)begin;
        block->bytes = span.bytes;
        block->by = quarry_debug_nobody();
        block->tag[0] = 0;
        if (a.heap.debug) {
            struct quarry_debug_block b = read_live(&span);
            block->address = (uint64_t)(uintptr_t)b.user;
            block->bytes = b.bytes;
            block->by = b.by;
            quarry_debug_read_tag(b.tag, block->tag);
        }
    }
}

SIMT_KERNEL(quarry_launch_number_kernel, struct launch_number, a)
{
    if (simt_thread() == 0)
        simt_store_u32(a.at, a.number, relaxed);
}
