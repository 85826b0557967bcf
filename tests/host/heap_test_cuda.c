/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_test_cuda.h"

#include <stddef.h>

#ifdef QUARRY_WITH_CUDA
#include <cuda_runtime_api.h>

void *heap_test_stream_create(void)
{
    cudaStream_t stream = NULL;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? (void *)stream : NULL;
}

void heap_test_stream_destroy(void *stream)
{
    (void)cudaStreamDestroy((cudaStream_t)stream);
}

const char *heap_test_left_error(void)
{
    cudaError_t error = cudaPeekAtLastError();
    /* Without a driver or GPU the runtime answers every call so, this one too. */
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice)
        return NULL;
    return error == cudaSuccess ? NULL : cudaGetErrorName(error);
}
#else
void *heap_test_stream_create(void)
{
    return NULL;
}

void heap_test_stream_destroy(void *stream)
{
    (void)stream;
}

const char *heap_test_left_error(void)
{
    return NULL;
}
#endif
