/* SPDX-License-Identifier: Apache-2.0 */
/* A program with two bugs, and what debug mode says of them (docs/guide/debugging.md). */
#define QUARRY_TAGS 1 /* blocks know the line that allocated them */
#include "quarry/device.h"
#include "quarry/quarry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))

struct work {
    struct quarry_handle heap;
    void **slot;
};

SIMT_KERNEL(produce, struct work, a)
{
    a.slot[simt_thread()] = quarry_malloc(a.heap, 24);
}

SIMT_KERNEL(consume, struct work, a)
{
    quarry_free(a.heap, a.slot[simt_thread() / 2 * 2]); /* wrong: even slots twice, odd ones never */
}

static int print_block(const struct quarry_block *block, void *user)
{
    (void)user;
    printf("live: %" PRIu64 " bytes at %p, thread %" PRIu32 " of launch %" PRIu32 " (%s), %s\n", block->bytes,
           block->address, block->thread, block->launch, block->kernel, block->tag);
    return 0; /* go on */
}

int main(void)
{
    quarry_heap *heap;
    char text[QUARRY_DEBUG_TEXT_BYTES];
    void *slot;
    const struct quarry_grid grid = {1, 8, 0};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = produce.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    options.pool_bytes = 1 << 20;
    options.debug = 1;
    CHECK(quarry_heap_create(&heap, &options));
    CHECK(quarry_memory_create(&options.target, QUARRY_POOL_DEVICE, 8 * sizeof(void *), &slot));

    struct work argument = {quarry_heap_handle(heap), (void **)slot};
    CHECK(quarry_launch(&produce, &options.target, grid, &argument));
    CHECK(quarry_launch(&consume, &options.target, grid, &argument));
    CHECK(quarry_target_wait(&options.target));

    CHECK(quarry_heap_debug_report(heap, text, sizeof text));
    fputs(text, stdout);
    CHECK(quarry_heap_each(heap, print_block, NULL));
    CHECK(quarry_memory_destroy(&options.target, QUARRY_POOL_DEVICE, slot));
    if (quarry_heap_destroy(heap) != QUARRY_OK)
        printf("destroy: %s\n", quarry_error_detail());
}
