// SPDX-License-Identifier: Apache-2.0
// A CUDA program outside of Quarry's own build: a __global__ function of its own that allocates.
// Exits with 77 where there is no GPU.
#define QUARRY_ALLOCATOR quarry // the default: nvcc takes long for all of them
#include <quarry/device.h>
#include <quarry/quarry.h>

#include <cstdio>

__global__ void fill(quarry_handle heap, unsigned *good, unsigned n)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *block = thread < n ? static_cast<unsigned *>(quarry_malloc(heap, 40)) : nullptr;
    if (block) {
        block[9] = thread;
        atomicAdd(good, block[9] == thread);
    }
    quarry_free(heap, block);
}

int main()
{
    const unsigned n = 1000;
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = QUARRY_BACKEND_CUDA;
    options.pool_bytes = 1 << 20;
    quarry_heap *heap;
    if (quarry_status status = quarry_heap_create(&heap, &options); status != QUARRY_OK) {
        std::puts(quarry_error_detail());
        return status == QUARRY_ERROR_DEVICE ? 77 : 1;
    }
    unsigned *good, count = 0;
    cudaMalloc(&good, sizeof *good);
    cudaMemset(good, 0, sizeof *good);
    fill<<<(n + 255) / 256, 256>>>(quarry_heap_handle(heap), good, n);
    cudaError_t error = cudaMemcpy(&count, good, sizeof count, cudaMemcpyDeviceToHost);
    cudaFree(good);
    quarry_heap_destroy(heap);
    std::printf("cuda: %u of %u blocks%s%s\n", count, n, error ? ": " : "",
                error ? cudaGetErrorString(error) : "");
    return error != cudaSuccess || count != n;
}
