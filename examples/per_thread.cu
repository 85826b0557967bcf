// SPDX-License-Identifier: Apache-2.0
// Device malloc by each thread: every thread has a block of its own, of a size of its own, and frees it.
// The kernel is what it would be with the toolkit's malloc; only the include and quarry_override_set are new.
#include "quarry/override.h"

#include <cstdio>

__global__ void squares(unsigned *failed)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned n = 1 + thread % 20;
    unsigned *numbers = (unsigned *)malloc(n * sizeof *numbers);
    if (!numbers) {
        atomicAdd(failed, 1);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        numbers[i] = thread + i * i;
    for (unsigned i = 0; i < n; i++)
        if (numbers[i] != thread + i * i)
            atomicAdd(failed, 1);
    free(numbers);
}

int main()
{
    quarry_target target = {};
    target.backend = QUARRY_BACKEND_CUDA;
    if (quarry_target_resolve(&target) != QUARRY_OK) {
        printf("%s\n", quarry_error_detail());
        return 77;
    }
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = target;
    options.pool_bytes = 64 << 20;
    quarry_heap *heap;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK || quarry_override_set(heap) != QUARRY_OK) {
        printf("%s\n", quarry_error_detail());
        return 1;
    }
    unsigned *failed, wrong = 1;
    cudaMalloc(&failed, sizeof *failed);
    cudaMemset(failed, 0, sizeof *failed);
    squares<<<400, 256>>>(failed);
    cudaMemcpy(&wrong, failed, sizeof wrong, cudaMemcpyDeviceToHost);
    cudaFree(failed);
    printf("102400 threads allocated and freed, %u failed\n", wrong);
    quarry_override_clear(heap);
    return quarry_heap_destroy(heap) != QUARRY_OK || wrong != 0;
}
