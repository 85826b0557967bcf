/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_test_cuda.h"

#include "quarry/simt/kernel.h"

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

int heap_test_plain_launch(const struct simt_kernel *kernel, void *argument)
{
    const dim3 blocks = {1, 1, 1}, threads = {32, 1, 1};
    return cudaLaunchKernel(*kernel->cuda, blocks, threads, &argument, 0, NULL) == cudaSuccess &&
           cudaDeviceSynchronize() == cudaSuccess;
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

int heap_test_plain_launch(const struct simt_kernel *kernel, void *argument)
{
    (void)kernel;
    (void)argument;
    return 0;
}

const char *heap_test_left_error(void)
{
    return NULL;
}
#endif
