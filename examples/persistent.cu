// SPDX-License-Identifier: Apache-2.0
// Device memory that persists between kernels: one kernel allocates a buffer for each block of threads, the
// next ones use it, the last frees it.  Before that the host copies a buffer with cudaMemcpy, which the
// toolkit's device malloc doesn't allow.
#include "quarry/override.h"

#include <cstdio>

#define BLOCKS 1000
#define THREADS 128

__device__ unsigned *buffers[BLOCKS]; // NULL: there was no room

__global__ void allocate()
{
    if (threadIdx.x == 0)
        buffers[blockIdx.x] = (unsigned *)malloc(blockDim.x * sizeof(unsigned));
    __syncthreads();
    if (buffers[blockIdx.x])
        buffers[blockIdx.x][threadIdx.x] = blockIdx.x;
}

__global__ void use()
{
    unsigned *buffer = buffers[blockIdx.x];
    if (buffer)
        buffer[threadIdx.x] += threadIdx.x;
}

__global__ void release()
{
    if (threadIdx.x == 0)
        free(buffers[blockIdx.x]);
}

static unsigned *copied[BLOCKS], numbers[THREADS];

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
    options.pool_bytes = 4 << 20;
    quarry_heap *heap;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK || quarry_override_set(heap) != QUARRY_OK) {
        printf("%s\n", quarry_error_detail());
        return 1;
    }
    allocate<<<BLOCKS, THREADS>>>();
    for (unsigned i = 0; i < 3; i++)
        use<<<BLOCKS, THREADS>>>();
    unsigned wrong = 0;
    cudaMemcpyFromSymbol(copied, buffers, sizeof copied);
    for (unsigned i = 0; i < BLOCKS; i++) {
        cudaMemcpy(numbers, copied[i], sizeof numbers, cudaMemcpyDeviceToHost);
        for (unsigned k = 0; k < THREADS; k++)
            wrong += numbers[k] != i + 3 * k;
    }
    release<<<BLOCKS, THREADS>>>();
    quarry_statistics statistics;
    if (quarry_heap_statistics(heap, &statistics) != QUARRY_OK)
        return 1;
    printf("%d blocks used their buffers in four kernels, %u numbers wrong, %llu buffers left\n", BLOCKS,
           wrong, (unsigned long long)statistics.live_blocks);
    quarry_override_clear(heap);
    return quarry_heap_destroy(heap) != QUARRY_OK || wrong != 0 || statistics.live_blocks != 0;
}
