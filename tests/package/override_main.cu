// SPDX-License-Identifier: Apache-2.0
// A program of two sources whose device malloc, free, new and delete are Quarry's; this one has the host
// call. What override_unit.cu allocated is read and freed here, and the other way round.  Exits with 77
// without a GPU.
#include "override_unit.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#ifndef WITHOUT_THRUST // whose headers take most of the time of compiling this
#include <thrust/execution_policy.h>
#include <thrust/memory.h>
#endif

// Functions of these names with several arguments stay what they are, as Thrust's do.
namespace another {
struct tag {};
template <class T> T *malloc(tag, size_t n)
{
    return static_cast<T *>(::malloc(n * sizeof(T)));
}
inline void free(tag, void *block)
{
    ::free(block);
}
} // namespace another
struct arena {
    void *malloc(size_t, int stream)
    {
        return stream == 3 ? this : nullptr;
    }
    int free(void *block, int stream)
    {
        return block == this && stream == 3;
    }
};

#include <quarry/override.h>
#include <vector> // behind it on purpose: headers that follow still compile

#define THREADS 1000u

__global__ void take_over(shape **shapes, unsigned *good, unsigned n)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n || !shapes[thread])
        return;
    atomicAdd(good, shapes[thread]->area() == thread * 3);
    delete shapes[thread];
    char *text = (char *)malloc(thread % 40 + 1);
    shapes[thread] = (shape *)text;
    if (text)
        text[thread % 40] = (char)thread;
    struct alignas(128) line { // more than all blocks of the heap have
        char bytes[64];
    };
    line *lines = new line[1];
    lines->bytes[63] = 1;
    if ((size_t)lines % 128)
        atomicAdd(good, n);
    delete[] lines;
}

static int others()
{
#ifndef WITHOUT_THRUST
    thrust::host_system_tag tag;
    auto room = thrust::malloc(tag, 16);
    thrust::free(tag, room);
    thrust::free(thrust::host_system_tag(), thrust::malloc<int>(tag, 4));
#endif
    another::free(another::tag(), another::malloc<int>(another::tag(), 4));
    arena own;
    return own.free(own.malloc(sizeof(int) * 4, 3), 3);
}

static int failed(const char *what)
{
    printf("%s: %s, %s\n", what, quarry_error_detail(), cudaGetErrorString(cudaGetLastError()));
    return 1;
}

int main()
{
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = QUARRY_BACKEND_CUDA;
    if (quarry_target_resolve(&options.target) != QUARRY_OK) {
        puts(quarry_error_detail());
        return 77;
    }
    quarry_heap *heap;
    options.pool_bytes = 4 << 20;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK)
        return failed("heap");
    shape **shapes;
    unsigned *counts, count[2] = {0, 0};
    if (cudaMalloc(&shapes, THREADS * sizeof *shapes) != cudaSuccess ||
        cudaMalloc(&counts, sizeof count) != cudaSuccess ||
        cudaMemset(counts, 0, sizeof count) != cudaSuccess ||
        cudaMemset(shapes, 0, THREADS * sizeof *shapes) != cudaSuccess)
        return failed("memory");
    // Without a heap NULL, and no harm.
    make_shapes(shapes, THREADS);
    take_over<<<4, 256>>>(shapes, counts, THREADS);
    if (cudaMemcpy(count, counts, sizeof count, cudaMemcpyDeviceToHost) != cudaSuccess || count[0] != 0)
        return failed("without a heap");
#ifdef QUARRY_ALLOCATOR
    quarry_heap *other;
    options.allocator = "ring";
    if (quarry_heap_create(&other, &options) != QUARRY_OK ||
        quarry_override_set(other) != QUARRY_ERROR_COMBINATION ||
        !strstr(quarry_error_detail(), "compiled for allocator quarry, the heap has allocator ring") ||
        quarry_heap_destroy(other) != QUARRY_OK)
        return failed("a heap that the sources are not compiled for");
#endif
    if (quarry_override_set(heap) != QUARRY_OK)
        return failed("set");
    make_shapes(shapes, THREADS);
    take_over<<<4, 256>>>(shapes, counts, THREADS);
    free_texts((char **)shapes, counts + 1, THREADS);
    quarry_statistics statistics;
    if (cudaMemcpy(count, counts, sizeof count, cudaMemcpyDeviceToHost) != cudaSuccess ||
        quarry_heap_statistics(heap, &statistics) != QUARRY_OK)
        return failed("kernels");
    if (count[1] != THREADS || statistics.live_blocks != 0 || statistics.failed_mallocs != 0) {
        printf("%u texts, %llu blocks left\n", count[1], (unsigned long long)statistics.live_blocks);
        return 1;
    }
    unsigned before = host_news;
    std::vector<int> numbers(100);
    auto one = std::make_unique<int>(3);
    std::free(std::malloc(*one));
    if (host_news < before + 2)
        return failed("the host's operator new is another");
    if (!others())
        return failed("other functions named malloc and free");
    printf("cuda: %u of %u blocks\n", count[0], THREADS);
    if (quarry_override_clear(heap) != QUARRY_OK || quarry_heap_destroy(heap) != QUARRY_OK)
        return failed("end");
    return count[0] != THREADS;
}
