// SPDX-License-Identifier: Apache-2.0
// Compiled, never run: the public headers in C++17 with all warnings, and what a user does with them there.
#include "quarry/core/list.h"
#include "quarry/core/mutex.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/srcu.h"
#include "quarry/device.h"
#include "quarry/quarry.h"
#include "quarry/quarry.hpp"
#include "quarry/trace.h"

#include <cstdint>

struct job {
    quarry_handle heap;
    std::uint32_t *done;
};

SIMT_KERNEL(kernel, job, a)
{
    void *block = quarry_malloc(a.heap, 100);
    if (block)
        simt_add_u32(a.done, 1, relaxed);
    quarry_free(a.heap, block);
}

int main()
{
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = nullptr;
    options.target.backend = QUARRY_BACKEND_CPU;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK)
        return 1;
    std::uint32_t done = 0;
    job argument = {quarry_heap_handle(heap), &done};
    quarry_launch(&kernel, &options.target, quarry_grid_for(100), &argument);
    quarry_statistics statistics;
    quarry_heap_statistics(heap, &statistics);
    return quarry_heap_destroy(heap) != QUARRY_OK || done != 100;
}
