/* SPDX-License-Identifier: Apache-2.0 */
/* 10 240 threads allocate, use and free memory: on the GPU if nvcc compiled this file, else on the CPU. */
#include "quarry/device.h"
#include "quarry/quarry.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))

struct hello {
    struct quarry_handle heap;
    uint32_t *done;
};

SIMT_KERNEL(hello_kernel, struct hello, a)
{
    uint32_t n = 1 + simt_thread() % 50;
    uint32_t *numbers = (uint32_t *)quarry_malloc(a.heap, n * sizeof *numbers);
    for (uint32_t i = 0; numbers && i < n; i++)
        numbers[i] = simt_thread() + i;
    if (numbers && numbers[n - 1] == simt_thread() + n - 1)
        simt_add_u32(a.done, 1, relaxed);
    quarry_free(a.heap, numbers);
}

int main(void)
{
    quarry_heap *heap;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = hello_kernel.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    options.pool_bytes = 16 << 20;
    CHECK(quarry_heap_create(&heap, &options));

    void *done; /* host and kernels both reach managed memory */
    CHECK(quarry_memory_create(&options.target, QUARRY_POOL_MANAGED, sizeof(uint32_t), &done));
    CHECK(quarry_memory_fill(&options.target, done, 0, sizeof(uint32_t)));
    struct hello argument = {quarry_heap_handle(heap), (uint32_t *)done};
    CHECK(quarry_launch(&hello_kernel, &options.target, quarry_grid_for(10240), &argument));
    CHECK(quarry_target_wait(&options.target));
    printf("%u threads allocated, wrote, read and freed a block\n", *(uint32_t *)done);

    CHECK(quarry_memory_destroy(&options.target, QUARRY_POOL_MANAGED, done));
    CHECK(quarry_heap_destroy(heap));
}
