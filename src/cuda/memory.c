/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of CUDA: for pools and buffers of heaps, and the heap of device malloc. */
#include "cuda/devices.h"
#include "host/machine.h"

#include <inttypes.h>

/* Host memory that is not there gets a process killed rather than a call refused. */
static enum quarry_status check_host_memory(const char *call, uint64_t bytes, uint64_t device_bytes)
{
    uint64_t available = quarry_machine_memory().available_bytes;
    if (bytes <= device_bytes || bytes - device_bytes <= available)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_MEMORY,
                       "%s of %" PRIu64 " bytes: only %" PRIu64 " bytes of host memory%s are available", call,
                       bytes, available, device_bytes ? " beside the device's" : "");
}

static enum quarry_status create_managed(const struct device *device, uint64_t bytes, void **out)
{
    size_t available = 0;
    size_t total = 0;
    if (!device->has_managed)
        return quarry_fail(QUARRY_ERROR_COMBINATION, "this device has no managed memory: use another pool");
    enum quarry_status status = quarry_cudart_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    if (status == QUARRY_OK)
        status = check_host_memory("cudaMallocManaged", bytes, available);
    if (status == QUARRY_OK)
        status = quarry_cudart_check_memory(cudaMallocManaged(out, (size_t)bytes, cudaMemAttachGlobal),
                                            "cudaMallocManaged", bytes);
    return status;
}

static enum quarry_status create_pinned(uint64_t bytes, void **out)
{
    void *host = NULL;
    enum quarry_status status = check_host_memory("cudaHostAlloc", bytes, 0);
    if (status == QUARRY_OK)
        status = quarry_cudart_check_memory(
            cudaHostAlloc(&host, (size_t)bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc",
            bytes);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaHostGetDevicePointer(out, host, 0), "cudaHostGetDevicePointer");
    /* With unified addressing, which every 64-bit platform has, both addresses are one, and the caller's
     * pointer is the one to free.  Without it this library could not tell them apart later. */
    if (status == QUARRY_OK && *out != host)
        status = quarry_fail(QUARRY_ERROR_COMBINATION,
                             "this device does not share the host's addresses: use another pool than pinned");
    if (status != QUARRY_OK) {
        (void)cudaFreeHost(host);
        *out = NULL;
    }
    return status;
}

enum quarry_status quarry_cudart_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                               uint64_t bytes, void **out)
{
    const struct device *device = quarry_cudart_device_of(target);
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    switch (pool) {
    case QUARRY_POOL_DEVICE:
        status = quarry_cudart_check_memory(cudaMalloc(out, (size_t)bytes), "cudaMalloc", bytes);
        break;
    case QUARRY_POOL_STREAM:
        if (device->has_pools)
            status = quarry_cudart_check_memory(
                cudaMallocAsync(out, (size_t)bytes, quarry_cudart_stream_of(target)), "cudaMallocAsync",
                bytes);
        else
            status = quarry_fail(QUARRY_ERROR_COMBINATION,
                                 "this device has no stream-ordered memory pools: use another pool");
        break;
    case QUARRY_POOL_MANAGED:
        status = create_managed(device, bytes, out);
        break;
    case QUARRY_POOL_PINNED:
        status = create_pinned(bytes, out);
        break;
    case QUARRY_POOL_BUFFER:
    case QUARRY_POOL_MALLOC:
        status = quarry_fail(QUARRY_ERROR_ARGUMENT, "this memory is not the runtime's to make");
        break;
    }
    if (status != QUARRY_OK)
        *out = NULL;
    return quarry_cudart_leave(target, previous, status);
}

enum quarry_status quarry_cudart_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                                void *memory)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    switch (pool) {
    case QUARRY_POOL_DEVICE:
    case QUARRY_POOL_MANAGED:
        status = quarry_cudart_check(cudaFree(memory), "cudaFree");
        break;
    case QUARRY_POOL_STREAM:
        status = quarry_cudart_check(cudaFreeAsync(memory, quarry_cudart_stream_of(target)), "cudaFreeAsync");
        break;
    case QUARRY_POOL_PINNED:
        status = quarry_cudart_check(cudaFreeHost(memory), "cudaFreeHost");
        break;
    case QUARRY_POOL_BUFFER:
    case QUARRY_POOL_MALLOC:
        break;
    }
    return quarry_cudart_leave(target, previous, status);
}

/* The heap of device malloc has the size of cudaLimitMallocHeapSize, for the whole context, from when the
 * first module that calls device malloc is loaded: with lazy loading, before its first kernel runs.  The
 * limit can't be set after that (CUDA C++ Programming Guide, "Heap Memory Allocation"). */
enum quarry_status quarry_cudart_platform_heap(const struct quarry_target *target, uint64_t bytes)
{
    size_t limit = 0;
    size_t available = 0;
    size_t total = 0;
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize), "cudaDeviceGetLimit");
    if (status == QUARRY_OK && bytes > limit) {
        status = quarry_cudart_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
        if (status == QUARRY_OK && bytes > available)
            status = quarry_fail(QUARRY_ERROR_MEMORY,
                                 "a heap of %" PRIu64
                                 " bytes for device malloc: the device has %zu bytes, of which %zu are free",
                                 bytes, total, available);
        if (status == QUARRY_OK &&
            cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)bytes) != cudaSuccess) {
            (void)cudaGetLastError();
            status =
                quarry_fail(QUARRY_ERROR_POOL,
                            "the heap of device malloc has %zu bytes and can't grow to %" PRIu64
                            " any more: a kernel that calls it has been loaded; make the largest heap of "
                            "allocator cuda before any kernel runs",
                            limit, bytes);
        }
    }
    return quarry_cudart_leave(target, previous, status);
}

/* Checks that kernels on the device reach one byte, and finds its address there. */
static enum quarry_status map_byte(const struct device *device, unsigned char *byte, unsigned char **mapped)
{
    struct cudaPointerAttributes attributes;
    enum quarry_status status =
        quarry_cudart_check(cudaPointerGetAttributes(&attributes, byte), "cudaPointerGetAttributes");
    if (status != QUARRY_OK)
        return status;
    *mapped = attributes.devicePointer;
    if (attributes.type == cudaMemoryTypeUnregistered) {
        *mapped = byte;
        if (!device->reaches_pageable)
            return quarry_fail(QUARRY_ERROR_ARGUMENT,
                               "buffer: %p is host memory that this device can't reach: register it with "
                               "cudaHostRegister, or take it from CUDA",
                               (void *)byte);
    } else if (attributes.type == cudaMemoryTypeDevice && attributes.device != device->ordinal) {
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "buffer: %p is memory of CUDA device %d, but the heap's is CUDA device %d",
                           (void *)byte, attributes.device, device->ordinal);
    } else if (!attributes.devicePointer) {
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "buffer: %p is host memory that is not mapped for this device", (void *)byte);
    }
    return QUARRY_OK;
}

enum quarry_status quarry_cudart_buffer_map(const struct quarry_target *target, void *buffer, uint64_t bytes,
                                            void **mapped)
{
    unsigned char *first = NULL;
    unsigned char *last = NULL;
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = map_byte(quarry_cudart_device_of(target), buffer, &first);
    if (status == QUARRY_OK)
        status = map_byte(quarry_cudart_device_of(target), (unsigned char *)buffer + (bytes - 1), &last);
    if (status == QUARRY_OK && (uint64_t)(last - first) != bytes - 1)
        status = quarry_fail(QUARRY_ERROR_ARGUMENT,
                             "the %" PRIu64 " bytes of the buffer at %p are not one piece of memory", bytes,
                             buffer);
    *mapped = first;
    return quarry_cudart_leave(target, previous, status);
}

enum quarry_status quarry_cudart_copy(const struct quarry_target *target, void *to, const void *from,
                                      uint64_t bytes)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, quarry_cudart_stream_of(target)),
        "cudaMemcpyAsync");
    if (status == QUARRY_OK)
        status = quarry_cudart_check(cudaStreamSynchronize(quarry_cudart_stream_of(target)),
                                     "cudaStreamSynchronize");
    return quarry_cudart_leave(target, previous, status);
}

enum quarry_status quarry_cudart_fill(const struct quarry_target *target, void *memory, int byte,
                                      uint64_t bytes)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(
        cudaMemsetAsync(memory, byte, (size_t)bytes, quarry_cudart_stream_of(target)), "cudaMemsetAsync");
    return quarry_cudart_leave(target, previous, status);
}
