/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/standard_kernels.h"
#include "alloc/stamp.h"

SIMT_FN void standard_expect(const struct standard_case *a, enum standard_fault fault, int right)
{
    if (!right)
        simt_add_u32(&a->faults[fault], 1, relaxed);
}

SIMT_FN void standard_size(const struct standard_case *a, const void *block, uint64_t bytes)
{
    uint64_t usable = quarry_usable_size(a->heap, block);
    standard_expect(a, STANDARD_SHORT,
                    !a->sized       ? usable == 0
                    : a->heap.debug ? usable == bytes
                                    : usable >= bytes);
}

/* A new block of `bytes`, in one of three ways. */
SIMT_FN unsigned char *standard_get(const struct standard_case *a, struct quarry_random *r, uint64_t bytes)
{
    uint64_t alignment = 1;
    unsigned char *block;
    int zero = 1;
    switch (quarry_random_below(r, 3)) {
    case 0:
        block = (unsigned char *)quarry_calloc(a->heap, bytes, 1);
        for (uint64_t i = 0; block && i < bytes; i++)
            zero &= block[i] == 0;
        standard_expect(a, STANDARD_NOT_ZERO, zero);
        break;
    case 1:
        block = (unsigned char *)quarry_realloc(a->heap, SIMT_NULL, bytes);
        break;
    default:
        alignment <<= quarry_random_below(r, a->aligned + 1);
        block = (unsigned char *)quarry_aligned_alloc(a->heap, alignment, bytes);
    }
    standard_expect(a, STANDARD_NULL, block != SIMT_NULL);
    standard_expect(a, STANDARD_CROOKED, (uintptr_t)block % (alignment < 16 ? 16 : alignment) == 0);
    return block;
}

SIMT_KERNEL(standard_play, struct standard_case, a)
{
    struct quarry_random r;
    unsigned char *block = (unsigned char *)SIMT_NULL;
    uint64_t bytes = 0;
    r.step = simt_thread() * 2 + 1;
    r.state = quarry_mix_u32(a.program ^ simt_thread());
    if (simt_thread() >= a.threads)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        uint64_t next = 1 + quarry_random_below(&r, (uint32_t)a.most);
        if (a.sized && simt_thread() < SIMT_LANES && quarry_random_below(&r, 4) == 0)
            standard_expect(&a, STANDARD_SLOTS, quarry_available_slots(a.heap, a.page_bytes) <= a.most_slots);
        if (!block) {
            bytes = next;
            block = standard_get(&a, &r, bytes);
            if (block)
                stamp_write(block, bytes, simt_thread());
            continue;
        }
        standard_expect(&a, STANDARD_TORN, stamp_is_there(block, bytes, simt_thread()));
        standard_size(&a, block, bytes);
        if (quarry_random_below(&r, 2)) {
            unsigned char *moved = (unsigned char *)quarry_realloc(a.heap, block, next);
            standard_expect(&a, a.sized ? STANDARD_NULL : STANDARD_GIVEN, (moved != SIMT_NULL) == a.sized);
            if (!moved)
                continue;
            standard_expect(&a, STANDARD_TORN,
                            stamp_is_there(moved, next < bytes ? next : bytes, simt_thread()));
            block = moved;
            bytes = next;
            stamp_write(block, bytes, simt_thread());
        } else {
            if (next % 2)
                standard_expect(&a, STANDARD_GIVEN, !quarry_realloc(a.heap, block, 0));
            else
                quarry_free(a.heap, block);
            block = (unsigned char *)SIMT_NULL;
        }
    }
    if (block)
        standard_expect(&a, STANDARD_TORN, stamp_is_there(block, bytes, simt_thread()));
    quarry_free(a.heap, block);
}

SIMT_KERNEL(standard_slots, struct standard_case, a)
{
    for (uint32_t turn = 0; turn < simt_block_threads(); turn++) {
        simt_block_barrier();
        if (turn != simt_block_thread())
            continue;
        uint64_t before = quarry_available_slots(a.heap, a.page_bytes);
        void *block = quarry_malloc(a.heap, a.page_bytes);
        uint64_t during = quarry_available_slots(a.heap, a.page_bytes);
        quarry_free(a.heap, block);
        uint64_t after = quarry_available_slots(a.heap, a.page_bytes);
        standard_expect(&a, STANDARD_NULL, block != SIMT_NULL);
        standard_expect(&a, STANDARD_SLOTS, before == a.pages && during + 1 == before && after == before);
    }
}

/* 10 of the 17 are refused, and the last of each kind is not even counted. */
SIMT_KERNEL(standard_odd, struct standard_case, a)
{
    const uint64_t half = (uint64_t)1 << 33;
    struct quarry_handle heap = a.heap;
    unsigned char *block = (unsigned char *)SIMT_NULL;
    int given = 0;
    switch (simt_thread()) {
    case 0:
        given = quarry_calloc(heap, half, half) != SIMT_NULL;
        break;
    case 1:
        given = quarry_calloc(heap, ~(size_t)0, 3) != SIMT_NULL;
        break;
    case 2:
        given = quarry_calloc(heap, 3, ~(size_t)0 / 3 + 2) != SIMT_NULL; /* 5, were it not for the overflow */
        break;
    case 3:
        given = quarry_aligned_alloc(heap, 0, 8) != SIMT_NULL;
        break;
    case 4:
        given = quarry_aligned_alloc(heap, 24, 8) != SIMT_NULL;
        break;
    case 5:
        given = quarry_aligned_alloc(heap, (size_t)1 << 63, 8) != SIMT_NULL;
        break;
    case 6:
        given = quarry_aligned_alloc(heap, 16, heap.max_block + 1) != SIMT_NULL;
        break;
    case 7:
        given = quarry_aligned_alloc(heap, 16, ~(size_t)0) != SIMT_NULL;
        break;
    case 8:
        given = quarry_realloc(heap, SIMT_NULL, heap.max_block + 1) != SIMT_NULL;
        break;
    case 9: /* refused, and the block is as it was */
        block = (unsigned char *)quarry_malloc(heap, 40);
        if (block)
            stamp_write(block, 40, simt_thread());
        standard_expect(&a, STANDARD_NULL, block != SIMT_NULL);
        given = a.sized && quarry_realloc(heap, block, heap.max_block + 1) != SIMT_NULL;
        if (!a.sized)
            given = quarry_malloc(heap, heap.max_block + 1) != SIMT_NULL;
        if (block)
            standard_expect(&a, STANDARD_TORN, stamp_is_there(block, 40, simt_thread()));
        quarry_free(heap, block);
        break;
    case 10: /* from here on nothing is counted */
        given = quarry_calloc(heap, 0, 8) != SIMT_NULL;
        break;
    case 11:
        given = quarry_calloc(heap, 8, 0) != SIMT_NULL;
        break;
    case 12:
        given = quarry_aligned_alloc(heap, 64, 0) != SIMT_NULL;
        break;
    case 13:
        given = quarry_realloc(heap, SIMT_NULL, 0) != SIMT_NULL;
        break;
    case 14:
        given = quarry_usable_size(heap, SIMT_NULL) != 0;
        break;
    case 15:
        standard_expect(&a, STANDARD_SLOTS,
                        quarry_available_slots(heap, 0) == 0 &&
                            quarry_available_slots(heap, heap.max_block + 1) == 0 &&
                            (quarry_available_slots(heap, 16) == QUARRY_SLOTS_UNKNOWN) == !a.sized);
        break;
    case 16: /* the largest block that can be */
        block = (unsigned char *)quarry_aligned_alloc(heap, 16, a.most);
        standard_expect(&a, STANDARD_NULL, block != SIMT_NULL);
        quarry_free(heap, block);
        break;
    default:
        break;
    }
    standard_expect(&a, STANDARD_GIVEN, !given);
}

SIMT_KERNEL(standard_spoil, struct standard_case, a)
{
    if (simt_thread() != 0)
        return;
    unsigned char *block = (unsigned char *)quarry_aligned_alloc(a.heap, (size_t)1 << a.aligned, 40);
    standard_expect(&a, STANDARD_NULL, block != SIMT_NULL);
    if (!block)
        return;
    standard_expect(&a, STANDARD_CROOKED, ((uintptr_t)block & (((uintptr_t)1 << a.aligned) - 1)) == 0);
    for (uint32_t i = 0; i <= 40; i++)
        block[i] = 1;
    quarry_free(a.heap, block);
    quarry_free(a.heap, block);
}

/* Is the address said to be part of this? */
SIMT_FN int standard_is_in(const struct standard_case *a, const unsigned char *address,
                           enum quarry_place place, const struct quarry_span *span)
{
    struct quarry_span found = {(unsigned char *)SIMT_NULL, 0};
    return quarry_dispatch_find(&a->heap, address, &found) == place && found.begin == span->begin &&
           found.bytes == span->bytes;
}

SIMT_KERNEL(standard_tile, struct standard_case, a)
{
    const struct quarry_span nothing = {(unsigned char *)SIMT_NULL, 0};
    const unsigned char *at = a.places, *end = a.places + a.places_bytes;
    uint64_t blocks = 0, bytes = 0, unit = 0;
    if (simt_thread() != 0)
        return;
    while (at < end) {
        struct quarry_span span = nothing;
        enum quarry_place place = quarry_dispatch_find(&a.heap, at, &span);
        standard_expect(&a, STANDARD_PLACE,
                        place != QUARRY_PLACE_FOREIGN && span.begin == at && span.bytes != 0);
        if (place == QUARRY_PLACE_FOREIGN || span.bytes == 0)
            return;
        blocks += place == QUARRY_PLACE_LIVE;
        bytes += place == QUARRY_PLACE_LIVE ? span.bytes : 0;
        if (place == QUARRY_PLACE_FREE) {
            unit = unit ? unit : span.bytes;
            standard_expect(&a, STANDARD_PLACE, span.bytes == unit);
        }
        standard_expect(&a, STANDARD_PLACE, standard_is_in(&a, at + 1, place, &span));
        standard_expect(&a, STANDARD_PLACE, standard_is_in(&a, at + span.bytes / 2, place, &span));
        standard_expect(&a, STANDARD_PLACE, standard_is_in(&a, at + span.bytes - 1, place, &span));
        at += span.bytes;
    }
    standard_expect(&a, STANDARD_PLACE, at == end && blocks == a.live_blocks && bytes == a.live_bytes);
    standard_expect(&a, STANDARD_PLACE, standard_is_in(&a, a.places - 1, QUARRY_PLACE_FOREIGN, &nothing));
    standard_expect(&a, STANDARD_PLACE, standard_is_in(&a, end, QUARRY_PLACE_FOREIGN, &nothing));
}
