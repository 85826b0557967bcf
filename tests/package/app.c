/* SPDX-License-Identifier: Apache-2.0 */
/* A C program outside of Quarry's own build, host and kernel in one source.  `app cpu` and `app cuda` say
 * where it runs; without an argument, on the best that is there.  Exits with 77 where it can't. */
#include <quarry/device.h>
#include <quarry/quarry.h>

#include <stdio.h>
#include <string.h>

#define THREADS 1000u

struct job {
    struct quarry_handle heap;
    uint32_t *good;
};

SIMT_KERNEL(job_kernel, struct job, a)
{
    uint32_t *block = simt_thread() < THREADS ? (uint32_t *)quarry_malloc(a.heap, 40) : SIMT_NULL;
    if (block) {
        block[9] = simt_thread();
        simt_add_u32(a.good, block[9] == simt_thread(), relaxed);
    }
    quarry_free(a.heap, block);
}

/* A program has one main(): where this source is compiled for both backends, the C compiler makes it. */
#if !(SIMT_CUDA && defined SIMT_DUAL)
static int failed(const char *what)
{
    printf("%s: %s\n", what, quarry_error_detail());
    return 1;
}

int main(int argc, char **argv)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    if (argc > 1)
        options.target.backend = strcmp(argv[1], "cuda") == 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    if (quarry_target_resolve(&options.target) != QUARRY_OK) {
        puts(quarry_error_detail());
        return 77;
    }
    quarry_heap *heap;
    void *good;
    options.pool_bytes = 1 << 20;
#ifdef QUARRY_ALLOCATOR /* as common.sh has it compiled */
    options.allocator = "ring";
#endif
    if (quarry_heap_create(&heap, &options) != QUARRY_OK ||
        quarry_memory_create(&options.target, QUARRY_POOL_DEVICE, sizeof(uint32_t), &good) != QUARRY_OK ||
        quarry_memory_fill(&options.target, good, 0, sizeof(uint32_t)) != QUARRY_OK)
        return failed("memory");
    struct job job = {quarry_heap_handle(heap), (uint32_t *)good};
    uint32_t count = 0;
    if (quarry_launch(&job_kernel, &options.target, quarry_grid_for(THREADS), &job) != QUARRY_OK ||
        quarry_memory_copy(&options.target, &count, good, sizeof count) != QUARRY_OK)
        return failed("kernel");
    const char *backend = options.target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu";
    printf("%s: %u of %u blocks\n", backend, count, THREADS);
    if (quarry_memory_destroy(&options.target, QUARRY_POOL_DEVICE, good) != QUARRY_OK ||
        quarry_heap_destroy(heap) != QUARRY_OK)
        return failed("end");
    return count != THREADS;
}
#endif
