// SPDX-License-Identifier: Apache-2.0
// Device malloc by each block of threads: the first thread allocates a buffer that all threads of its block
// fill and read, and frees it when they are done.
#include "quarry/override.h"

#include <cstdio>

__global__ void reverse(const unsigned *input, unsigned *output)
{
    __shared__ unsigned *buffer;
    if (threadIdx.x == 0)
        buffer = (unsigned *)malloc(blockDim.x * sizeof *buffer);
    __syncthreads();
    if (!buffer)
        return;
    unsigned first = blockIdx.x * blockDim.x;
    buffer[threadIdx.x] = input[first + threadIdx.x];
    __syncthreads();
    output[first + threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
        free(buffer);
}

static unsigned input[1000 * 128], output[1000 * 128];

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
    options.pool_bytes = 16 << 20;
    quarry_heap *heap;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK || quarry_override_set(heap) != QUARRY_OK) {
        printf("%s\n", quarry_error_detail());
        return 1;
    }
    unsigned *from, *to, wrong = 0;
    for (unsigned i = 0; i < 1000 * 128; i++)
        input[i] = i * i;
    cudaMalloc(&from, sizeof input);
    cudaMalloc(&to, sizeof output);
    cudaMemcpy(from, input, sizeof input, cudaMemcpyHostToDevice);
    cudaMemset(to, 0, sizeof output);
    reverse<<<1000, 128>>>(from, to);
    cudaMemcpy(output, to, sizeof output, cudaMemcpyDeviceToHost);
    for (unsigned i = 0; i < 1000 * 128; i++)
        wrong += output[i] != input[i / 128 * 128 + 127 - i % 128];
    cudaFree(from);
    cudaFree(to);
    printf("1000 blocks reversed 128 numbers each, %u wrong\n", wrong);
    quarry_override_clear(heap);
    return quarry_heap_destroy(heap) != QUARRY_OK || wrong != 0;
}
