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

int heap_test_capture(void *stream)
{
    return cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
}

int heap_test_replay(void *stream, int times)
{
    cudaGraph_t graph;
    cudaGraphExec_t runs = NULL;
    if (cudaStreamEndCapture((cudaStream_t)stream, &graph) != cudaSuccess)
        return 0;
    int good = cudaGraphInstantiateWithFlags(&runs, graph, 0) == cudaSuccess;
    for (int i = 0; i < times && good; i++)
        good = cudaGraphLaunch(runs, (cudaStream_t)stream) == cudaSuccess;
    good = good && cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess;
    if (runs)
        (void)cudaGraphExecDestroy(runs);
    (void)cudaGraphDestroy(graph);
    return good;
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

int heap_test_capture(void *stream)
{
    (void)stream;
    return 0;
}

int heap_test_replay(void *stream, int times)
{
    (void)stream;
    (void)times;
    return 0;
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
