// SPDX-License-Identifier: Apache-2.0
// A C++ program outside of Quarry's own build, with its kernel in kernel.c.  Run as app.c.
#include "kernel.h"

#include <quarry/quarry.h>

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>

SIMT_KERNEL_DECLARE(job_kernel);

static void check(quarry_status status)
{
    if (status != QUARRY_OK)
        throw std::runtime_error(quarry_error_detail());
}

int main(int argc, char **argv)
{
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    if (argc > 1)
        options.target.backend = std::string(argv[1]) == "cuda" ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    if (quarry_target_resolve(&options.target) != QUARRY_OK) {
        std::cout << quarry_error_detail() << '\n';
        return 77;
    }
    try {
        quarry_heap *heap;
        void *good;
        std::uint32_t count = 0;
        options.pool_bytes = 1 << 20;
        options.allocator = JOB_ALLOCATOR;
        check(quarry_heap_create(&heap, &options));
        check(quarry_memory_create(&options.target, QUARRY_POOL_DEVICE, sizeof count, &good));
        check(quarry_memory_fill(&options.target, good, 0, sizeof count));
        job argument = {quarry_heap_handle(heap), static_cast<std::uint32_t *>(good)};
        check(quarry_launch(&job_kernel, &options.target, quarry_grid_for(JOB_THREADS), &argument));
        check(quarry_memory_copy(&options.target, &count, good, sizeof count));
        check(quarry_memory_destroy(&options.target, QUARRY_POOL_DEVICE, good));
        check(quarry_heap_destroy(heap));
        std::cout << (options.target.backend == QUARRY_BACKEND_CUDA ? "cuda: " : "cpu: ") << count << " of "
                  << JOB_THREADS << " blocks\n";
        return count != JOB_THREADS;
    } catch (const std::exception &error) {
        std::cout << error.what() << '\n';
        return 1;
    }
}
