/* SPDX-License-Identifier: Apache-2.0 */
/* Thread 0 allocates a message, writes it, and tells thread 1 where it is; thread 1 reads and frees it.  The
 * address goes through a word that both use by atomics.  It has to be stored with release and loaded with
 * acquire: else thread 1 may see the address before the message.  This program stores it relaxed, unless it is
 * compiled with -DFIXED.
 *
 * It prints the right sum, 120, nearly always.  Mode weak of the CPU backend finds the bug at the first try:
 * docs/design/race-finder.md. */
#include "quarry/device.h"
#include "quarry/quarry.h"

#include <stdio.h>

#define NUMBERS 16u

struct mail {
    struct quarry_handle heap;
    uint64_t *address; /* of the message; 0: not yet */
    uint32_t *sum;
};

SIMT_FN void mail_send(const struct mail *a)
{
    uint32_t *message = (uint32_t *)quarry_malloc(a->heap, NUMBERS * sizeof *message);
    for (uint32_t i = 0; message && i < NUMBERS; i++)
        message[i] = i;
#ifdef FIXED
    simt_store_u64(a->address, (uint64_t)(uintptr_t)message, release); /* pairs with mail_receive */
#else
    simt_store_u64(a->address, (uint64_t)(uintptr_t)message, relaxed); /* the bug */
#endif
}

SIMT_FN void mail_receive(const struct mail *a)
{
    uint64_t address;
    while ((address = simt_load_u64(a->address, acquire)) == 0)
        simt_backoff();
    const uint32_t *message = (const uint32_t *)(uintptr_t)address;
    for (uint32_t i = 0; i < NUMBERS; i++)
        *a->sum += message[i];
    quarry_free(a->heap, (void *)(uintptr_t)address);
}

SIMT_KERNEL(mail_kernel, struct mail, a)
{
    if (simt_thread() == 0)
        mail_send(&a);
    else if (simt_thread() == 1)
        mail_receive(&a);
}

#if SIMT_C_VIEW
int main(void)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = NULL;
    void *memory = NULL;
    struct quarry_grid grid = {1, 32, 0};
    int failed = 1;
    options.target.backend = QUARRY_BACKEND_CPU;
    options.pool_bytes = 1u << 20;
    if (quarry_heap_create(&heap, &options) == QUARRY_OK &&
        quarry_memory_create(&options.target, QUARRY_POOL_DEVICE, 16, &memory) == QUARRY_OK) {
        struct mail a = {quarry_heap_handle(heap), (uint64_t *)memory, (uint32_t *)memory + 2};
        failed = quarry_memory_fill(&options.target, memory, 0, 16) != QUARRY_OK ||
                 quarry_launch(&mail_kernel, &options.target, grid, &a) != QUARRY_OK;
        if (!failed)
            printf("%u\n", *a.sum);
    }
    if (failed)
        fprintf(stderr, "order_bug: %s\n", quarry_error_detail());
    (void)quarry_memory_destroy(&options.target, QUARRY_POOL_DEVICE, memory);
    (void)quarry_heap_destroy(heap);
    return failed;
}
#endif
