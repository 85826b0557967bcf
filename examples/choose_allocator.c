/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel, three compositions of a heap: which allocator, and what is done beside it
 * (docs/reference/policies.md).
 *
 * At run time the options of a heap say it, and the kernel takes any heap:
 *
 *     cc -Iinclude examples/choose_allocator.c $(cat build/link.flags) -o choose && ./choose
 *
 * At compile time the kernel is made for one of them, and pays for nothing else:
 *
 *     cc -DFIXED=1 -Iinclude examples/choose_allocator.c $(cat build/link.flags) -o choose && ./choose
 *
 * For a GPU, nvcc -x cu -std=c++17 -arch=native in the place of cc. */
#ifdef FIXED
#if FIXED == 0
#define QUARRY_ALLOCATOR rw
#elif FIXED == 1
#define QUARRY_ALLOCATOR corw
#define QUARRY_ALIGNMENT 128
#define QUARRY_DISTRIBUTION warp
#elif FIXED == 2
#define QUARRY_ALLOCATOR rw_malloc
#define QUARRY_OOM wait
#endif
#ifndef QUARRY_OOM
#define QUARRY_OOM null /* what is not named is the default, and nothing is looked up in the heap */
#endif
#endif

#include "quarry/device.h"
#include "quarry/quarry.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))
#define THREADS 10240u

struct choose {
    struct quarry_handle heap;
    uint32_t *sum;
};

/* Each thread holds as many numbers as its lane says. */
SIMT_KERNEL(choose_kernel, struct choose, a)
{
    uint32_t n = 1 + simt_lane(), sum = 0;
    uint32_t *numbers = (uint32_t *)quarry_malloc(a.heap, n * sizeof *numbers);
    for (uint32_t i = 0; numbers && i < n; i++)
        numbers[i] = 1;
    for (uint32_t i = 0; numbers && i < n; i++)
        sum += numbers[i];
    simt_add_u32(a.sum, sum, relaxed);
    quarry_free(a.heap, numbers);
}

static struct quarry_heap_options composition(int number)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = choose_kernel.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    options.pool_bytes = 64 << 20;
    if (number == 0) { /* the simplest: a page for each block */
        options.allocator = "rw";
    } else if (number == 1) { /* lanes share pages, and no two blocks a cache line */
        options.allocator = "corw";
        options.page_bytes = 8192;
        options.alignment = 128;
        options.distribution = QUARRY_DISTRIBUTION_WARP;
    } else { /* blocks of any size, in a heap too small for all threads at once */
        options.allocator = "rw-malloc";
        options.page_bytes = 16;
        options.pool_bytes = 256 << 10;
        options.oom = QUARRY_OOM_WAIT;
    }
    return options;
}

static void run(int number)
{
    char text[QUARRY_INFO_TEXT_BYTES];
    struct quarry_heap_options options = composition(number);
    quarry_heap *heap;
    void *sum; /* host and kernels both reach managed memory */
    CHECK(quarry_heap_create(&heap, &options));
    CHECK(quarry_heap_info(heap, text, sizeof text));
    CHECK(quarry_memory_create(&options.target, QUARRY_POOL_MANAGED, sizeof(uint32_t), &sum));
    CHECK(quarry_memory_fill(&options.target, sum, 0, sizeof(uint32_t)));
    struct choose argument = {quarry_heap_handle(heap), (uint32_t *)sum};
    CHECK(quarry_launch(&choose_kernel, &options.target, quarry_grid_for(THREADS), &argument));
    CHECK(quarry_target_wait(&options.target));
    printf("%s%u of %u numbers were held\n\n", text, *(uint32_t *)sum, THREADS / SIMT_LANES * 33 * 16);
    if (*(uint32_t *)sum != THREADS / SIMT_LANES * 33 * 16)
        exit(1);
    CHECK(quarry_memory_destroy(&options.target, QUARRY_POOL_MANAGED, sum));
    CHECK(quarry_heap_destroy(heap));
}

int main(void)
{
#ifdef FIXED
    run(FIXED);
#else
    for (int number = 0; number < 3; number++)
        run(number);
#endif
}
