// SPDX-License-Identifier: Apache-2.0
// The other source: kernels, and no host call.
#include <cstdio>
#include <quarry/override.h>

#include "override_unit.h"

__global__ void make(shape **shapes, unsigned n)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n)
        return;
    void *room = malloc(sizeof(shape)); // freed by delete: both are one heap's
    shapes[thread] = room ? new (room) shape(thread, 3) : nullptr;
}

__global__ void check(char **texts, unsigned *good, unsigned n)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n || !texts[thread])
        return;
    atomicAdd(good, texts[thread][thread % 40] == (char)thread);
    free(texts[thread]);
}

void make_shapes(shape **shapes, unsigned n)
{
    make<<<(n + 127) / 128, 128>>>(shapes, n);
}

void free_texts(char **texts, unsigned *good, unsigned n)
{
    check<<<(n + 127) / 128, 128>>>(texts, good, n);
}
