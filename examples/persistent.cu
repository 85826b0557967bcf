// SPDX-License-Identifier: Apache-2.0
// Device memory that persists between kernels: one allocates, others use it, the last frees; C++ objects live
// on by new and delete.  Between two kernels the host copies a block with cudaMemcpy, which the toolkit's
// device malloc doesn't allow.
#include "quarry/override.h"

#include <cstdio>

#define LISTS 1000

struct node {
    unsigned value;
    node *next;

    __device__ node(unsigned number, node *rest) : value(number), next(rest)
    {
    }
};

__device__ node *lists[LISTS];

__global__ void prepend(unsigned value)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < LISTS)
        lists[i] = new node(value + i, lists[i]);
}

__global__ void destroy(unsigned *nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i < LISTS && lists[i]) {
        node *rest = lists[i]->next;
        delete lists[i];
        lists[i] = rest;
        atomicAdd(nodes, 1);
    }
}

static node *heads[LISTS];

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
    options.pool_bytes = 1 << 20;
    quarry_heap *heap;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK || quarry_override_set(heap) != QUARRY_OK) {
        printf("%s\n", quarry_error_detail());
        return 1;
    }
    for (unsigned value = 0; value < 5000; value += 1000)
        prepend<<<8, 128>>>(value);
    alignas(node) unsigned char copy[sizeof(node)];
    unsigned wrong = 0, *nodes, count = 0;
    cudaMemcpyFromSymbol(heads, lists, sizeof heads);
    for (unsigned i = 0; i < LISTS; i++) {
        node *at = (node *)copy;
        cudaMemcpy(copy, heads[i], sizeof copy, cudaMemcpyDeviceToHost);
        wrong += at->value != 4000 + i || !at->next;
    }
    cudaMalloc(&nodes, sizeof *nodes);
    cudaMemset(nodes, 0, sizeof *nodes);
    destroy<<<8, 128>>>(nodes);
    cudaMemcpy(&count, nodes, sizeof count, cudaMemcpyDeviceToHost);
    cudaFree(nodes);
    quarry_statistics statistics;
    if (quarry_heap_statistics(heap, &statistics) != QUARRY_OK)
        return 1;
    printf("%u nodes in %d lists, %u wrong heads, %llu left\n", count, LISTS, wrong,
           (unsigned long long)statistics.live_blocks);
    quarry_override_clear(heap);
    return quarry_heap_destroy(heap) != QUARRY_OK || wrong != 0 || count != 5 * LISTS ||
           statistics.live_blocks != 0;
}
