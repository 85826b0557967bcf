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
    }
    switch (a.heap.allocator) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    case QUARRY_NUMBER_##id:                                                                                 \
        quarry_##id##_init(&a.heap.as.id, thread, threads);                                                  \
        break;
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
    default:
        break;
    }
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
    struct quarry_census share = {0, 0, 0, 0, 0, 0};
    struct quarry_census *total = &a.header->census;
    uint64_t thread = simt_thread();
    uint64_t threads = simt_threads();
    switch (a.heap.allocator) {
#define QUARRY_ALLOCATOR_ENTRY(id, name, summary)                                                            \
    case QUARRY_NUMBER_##id:                                                                                 \
        quarry_##id##_census(&a.heap.as.id, a.bytes, thread, threads, &share);                               \
        break;
#include "quarry/alloc/list.def"
#undef QUARRY_ALLOCATOR_ENTRY
    default:
        break;
    }
    warp_add_to(&total->live_blocks, share.live_blocks);
    warp_add_to(&total->live_bytes, share.live_bytes);
    warp_add_to(&total->free_bytes, share.free_bytes);
    warp_add_to(&total->slots, share.slots);
    warp_add_to(&total->faults, share.faults);
    uint64_t largest = warp_max(share.largest_free);
    if (simt_lane() == 0)
        simt_max_u64(&total->largest_free, largest, relaxed);
}
