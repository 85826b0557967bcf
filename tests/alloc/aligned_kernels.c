/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/aligned_kernels.h"
#include "alloc/stamp.h"

SIMT_FN void aligned_expect(const struct aligned_case *a, enum aligned_fault fault, int right,
                            uint64_t alignment, uint64_t bytes)
{
    struct aligned_record *record = &a->fault[fault];
    if (!right && simt_add_u64(&record->count, 1, relaxed) == 0) {
        record->alignment = alignment;
        record->bytes = bytes;
    }
}

/* Takes a block and writes all of it, as far as its owner may. */
SIMT_FN struct aligned_own aligned_get(const struct aligned_case *a, uint32_t owner, uint64_t alignment,
                                       uint64_t bytes)
{
    struct aligned_own own;
    own.block = (unsigned char *)quarry_aligned_alloc(a->heap, alignment, bytes);
    own.bytes = bytes;
    if (!own.block)
        return own;
    aligned_expect(a, ALIGNED_CROOKED, (uintptr_t)own.block % (alignment < 16 ? 16 : alignment) == 0,
                   alignment, bytes);
    if (a->sized) {
        own.bytes = quarry_usable_size(a->heap, own.block);
        aligned_expect(a, ALIGNED_SHORT, a->heap.debug ? own.bytes == bytes : own.bytes >= bytes, alignment,
                       bytes);
    }
    stamp_write(own.block, own.bytes, owner);
    return own;
}

SIMT_FN void aligned_put(const struct aligned_case *a, uint32_t owner, struct aligned_own *own)
{
    int right = !own->block || stamp_is_there(own->block, own->bytes, owner);
    aligned_expect(a, ALIGNED_TORN, right, 0, own->bytes);
    quarry_free(a->heap, own->block);
    own->block = (unsigned char *)SIMT_NULL;
}

/* Around the edges: `step` counts up to a dozen sizes for each alignment. */
SIMT_FN uint64_t aligned_size(const struct aligned_case *a, uint64_t more, uint32_t step)
{
    uint64_t largest = a->heap.max_block > more ? a->heap.max_block - more : 1;
    switch (step) {
    case 0:
    case 1:
    case 2:
    case 3:
        return ((uint64_t)1 << 4 * step) + step; /* 1, 17, 258, 4099 */
    case 4:
    case 5:
    case 6:
        return a->page_bytes + step - 5u;
    case 7:
        return 64;
    case 8:
        return 3 * a->page_bytes;
    case 9:
        return largest / 2 + 1;
    default:
        return largest + step - 10u; /* one too large, for whatever is aligned to more than all blocks are */
    }
}

SIMT_KERNEL(aligned_each, struct aligned_case, a)
{
    if (simt_thread() != 0)
        return;
    for (uint32_t log2 = 0; log2 <= ALIGNED_MOST_LOG2; log2++)
        for (uint32_t step = 0; step < 12; step++) {
            uint64_t alignment = (uint64_t)1 << log2;
            uint64_t more = alignment > a.heap.alignment ? alignment - a.heap.alignment : 0;
            uint64_t bytes = aligned_size(&a, more, step);
            int can = bytes + more <= a.heap.max_block && (more == 0 || a.reaches);
            struct aligned_own own = aligned_get(&a, step, alignment, bytes);
            int may_not = a.keeps && bytes + more > a.page_bytes;
            aligned_expect(&a, ALIGNED_NULL, own.block || !can || may_not, alignment, bytes);
            aligned_expect(&a, ALIGNED_GIVEN, !own.block || can, alignment, bytes);
            aligned_put(&a, step, &own);
        }
}

SIMT_KERNEL(aligned_shrink, struct aligned_case, a)
{
    if (simt_thread() != 0)
        return;
    for (uint64_t i = 1; i <= 16; i++) {
        uint64_t bytes = a.heap.max_block / 16 * i;
        if (bytes == 0 || i == 16)
            bytes = a.heap.max_block;
        struct aligned_own own = aligned_get(&a, 0, 16, bytes);
        aligned_expect(&a, ALIGNED_NULL, own.block != SIMT_NULL, 16, bytes);
        for (uint64_t less = own.bytes; own.block && less > 0; less = less / 2) {
            void *same = quarry_realloc(a.heap, own.block, less);
            aligned_expect(&a, ALIGNED_MOVED, same == own.block, 16, less);
            own.bytes = less;
        }
        aligned_put(&a, 0, &own);
    }
}

SIMT_KERNEL(aligned_take, struct aligned_case, a)
{
    if (simt_thread() == 0)
        a.own[0] = aligned_get(&a, 0, a.alignment, a.bytes);
}

SIMT_KERNEL(aligned_fill, struct aligned_case, a)
{
    uint32_t n = 0;
    if (simt_thread() != 0)
        return;
    for (uint32_t kind = 0; kind <= 2; kind++) { /* then pages, and where a part of one can be free, halves */
        uint64_t bytes = kind ? a.page_bytes >> (kind - 1u) : a.bytes;
        do
            a.own[n] = aligned_get(&a, n / ALIGNED_HELD, kind ? 16 : a.alignment, bytes);
        while (a.own[n].block && ++n < a.count);
    }
}

SIMT_KERNEL(aligned_play, struct aligned_case, a)
{
    struct quarry_random r;
    uint32_t thread = simt_thread();
    r.step = thread * 2 + 1;
    r.state = quarry_mix_u32(a.program ^ thread);
    if (thread >= a.threads)
        return;
    for (uint32_t turn = 0; turn < a.turns; turn++) {
        struct aligned_own *own = &a.own[thread * ALIGNED_HELD + quarry_random_below(&r, ALIGNED_HELD)];
        uint64_t alignment = (uint64_t)1 << quarry_random_below(&r, ALIGNED_MOST_LOG2 + 1u);
        uint64_t bytes = 1 + quarry_random_below(&r, (uint32_t)a.most);
        if (own->block)
            aligned_put(&a, thread, own);
        else
            *own = aligned_get(&a, thread, alignment, bytes);
    }
}

SIMT_KERNEL(aligned_give, struct aligned_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    uint32_t owner = a.threads - 1 - simt_thread();
    for (uint32_t i = 0; i < ALIGNED_HELD; i++)
        aligned_put(&a, owner, &a.own[owner * ALIGNED_HELD + i]);
}
