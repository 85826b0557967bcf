/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_test_kernels.h"

SIMT_KERNEL(heap_test_malloc, struct heap_test, a)
{
    uint32_t thread = simt_thread();
    if (thread >= a.count)
        return;
    unsigned char *block = (unsigned char *)quarry_malloc(a.heap, a.bytes);
    if (block) {
        *(uint32_t *)(void *)(block + (a.bytes < 4 ? 0 : (a.bytes - 4) / 4 * 4)) = thread + a.mark;
        *(uint32_t *)(void *)block = thread + a.mark;
    }
    a.blocks[thread] = block;
}

SIMT_KERNEL(heap_test_verify, struct heap_test, a)
{
    uint32_t thread = simt_thread();
    if (thread >= a.count || !a.blocks[thread])
        return;
    unsigned char *block = a.blocks[thread];
    if (*(uint32_t *)(void *)block != thread + a.mark ||
        *(uint32_t *)(void *)(block + (a.bytes < 4 ? 0 : (a.bytes - 4) / 4 * 4)) != thread + a.mark ||
        (uintptr_t)block % 16 != 0)
        simt_add_u32(a.faults, 1, relaxed);
}

SIMT_KERNEL(heap_test_free, struct heap_test, a)
{
    uint32_t thread = simt_thread();
    if (thread >= a.count || thread % a.every != 0)
        return;
    quarry_free(a.heap, a.blocks[thread]);
    a.blocks[thread] = (unsigned char *)SIMT_NULL;
}

SIMT_KERNEL(heap_test_shared, struct heap_test, a)
{
    uint32_t *words = (uint32_t *)simt_shared();
    uint32_t count = (uint32_t)(a.bytes / 4);
    for (uint32_t i = simt_block_thread(); i < count; i += simt_block_threads())
        words[i] = i + simt_block();
    simt_block_barrier();
    for (uint32_t i = simt_block_thread(); i < count; i += simt_block_threads())
        if (words[count - 1 - i] != count - 1 - i + simt_block())
            simt_add_u32(a.faults, 1, relaxed);
}

SIMT_KERNEL(heap_test_hang, struct heap_test, a)
{
    while (simt_load_u32(a.faults, relaxed) != 0xdeadu)
        simt_backoff();
}
