/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's table.  Plain C on the runtime API: the kernels themselves are nvcc's business.
 *
 * Every function that needs a device makes it current and gives the caller's back.  Errors that a call
 * returns are taken out of the runtime's last-error slot, so that the caller's own next
 * cudaGetLastError() does not see them; those that break the context stay with it, and come back from
 * every later call. */
#include "host/backend.h"
#include "host/internal.h"
#include "host/machine.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEVICES 64
#define MIN_CAPABILITY 75
#define MAX_BLOCKS 0x7fffffffu              /* grid dimension x */
#define PLAIN_SHARED_BYTES (48u << 10)      /* above, a kernel must be allowed it by name */
#define RESERVE_BYTES ((uint64_t)512 << 20) /* left to everything else by a heap of default size */
#define RESERVE_FRACTION 20u                /* or this part of what is free, if that is more */
#define HEAP_GRANULE ((uint64_t)2 << 20)
#define SERVICE_BLOCK_THREADS 256u
#define SERVICE_BLOCKS_EACH 8u                   /* blocks that one multiprocessor holds */
#define SERVICE_BLOCK_BYTES ((uint64_t)64 << 10) /* of pool, for which one more block is worth its start */

/* ---- devices ---- */

struct device {
    int ordinal; /* CUDA's number: devices that can't run the library's kernels have none here */
    int capability;
    int multiprocessors;
    int clock_khz;
    int shared_bytes; /* largest of a block */
    int has_pools;
    int has_managed;
    int reaches_pageable; /* kernels can use any host memory */
};

/* Filled once: the devices of a process don't change. */
static struct {
    pthread_once_t once;
    int count;
    struct device devices[MAX_DEVICES];
    int found;       /* also those that can't be used */
    const char *why; /* none was found */
} table = {.once = PTHREAD_ONCE_INIT};

static int attribute(enum cudaDeviceAttr name, int ordinal, int *all_known)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, name, ordinal) != cudaSuccess) {
        (void)cudaGetLastError();
        *all_known = 0;
        return 0;
    }
    return value;
}

static void fill_table(void)
{
    cudaError_t error = cudaGetDeviceCount(&table.found);
    table.why = "";
    if (error != cudaSuccess) {
        int version = 0;
        table.found = 0;
        table.why = cudaGetErrorString(error);
        /* Without a driver the runtime says that its version is insufficient. */
        if (cudaDriverGetVersion(&version) == cudaSuccess && version == 0)
            table.why = "no NVIDIA driver";
        (void)cudaGetLastError();
    }
    for (int ordinal = 0; ordinal < table.found && table.count < MAX_DEVICES; ordinal++) {
        struct device device = {.ordinal = ordinal};
        int known = 1;
        int unknown_clock = 1;
        device.capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, ordinal, &known) +
                            attribute(cudaDevAttrComputeCapabilityMinor, ordinal, &known);
        device.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, ordinal, &known);
        device.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal, &known);
        device.has_pools = attribute(cudaDevAttrMemoryPoolsSupported, ordinal, &known);
        device.has_managed = attribute(cudaDevAttrManagedMemory, ordinal, &known);
        device.reaches_pageable = attribute(cudaDevAttrPageableMemoryAccess, ordinal, &known);
        device.clock_khz = attribute(cudaDevAttrClockRate, ordinal, &unknown_clock);
        int prohibited = attribute(cudaDevAttrComputeMode, ordinal, &known) == cudaComputeModeProhibited;
        if (known && !prohibited && device.capability >= MIN_CAPABILITY)
            table.devices[table.count++] = device;
    }
}

static int cuda_device_count(void)
{
    return pthread_once(&table.once, fill_table) == 0 ? table.count : 0;
}

static const struct device *device_of(const struct quarry_target *target)
{
    return &table.devices[target->device];
}

/* ---- errors and the current device ---- */

static enum quarry_status check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return QUARRY_OK;
    (void)cudaGetLastError();
    return quarry_fail(error == cudaErrorMemoryAllocation ? QUARRY_ERROR_MEMORY : QUARRY_ERROR_CUDA,
                       "%s: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

/* The same for the calls that allocate: they fail in several ways when asked for the impossible. */
static enum quarry_status check_memory(cudaError_t error, const char *call, uint64_t bytes)
{
    size_t available = 0;
    size_t total = 0;
    if (error == cudaSuccess)
        return QUARRY_OK;
    (void)cudaGetLastError();
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) {
        (void)cudaGetLastError();
        return check(error, call);
    }
    if (error != cudaErrorMemoryAllocation && bytes <= total)
        return check(error, call);
    return quarry_fail(QUARRY_ERROR_MEMORY,
                       "%s of %" PRIu64 " bytes: %s (the device has %zu bytes, of which %zu are free)", call,
                       bytes, cudaGetErrorString(error), total, available);
}

/* Makes the target's device current; *previous is what leave() goes back to. */
static enum quarry_status enter(const struct quarry_target *target, int *previous)
{
    int ordinal = device_of(target)->ordinal;
    enum quarry_status status = check(cudaGetDevice(previous), "cudaGetDevice");
    if (status == QUARRY_OK && *previous != ordinal)
        status = check(cudaSetDevice(ordinal), "cudaSetDevice");
    return status;
}

/* Passes `status` on: what went wrong before matters more than whether this works. */
static enum quarry_status leave(const struct quarry_target *target, int previous, enum quarry_status status)
{
    if (previous != device_of(target)->ordinal && cudaSetDevice(previous) != cudaSuccess)
        (void)cudaGetLastError();
    return status;
}

static cudaStream_t stream_of(const struct quarry_target *target)
{
    return (cudaStream_t)target->stream;
}

/* ---- targets ---- */

static enum quarry_status cuda_target_check(const struct quarry_target *target)
{
    int count = cuda_device_count();
    if (target->seed != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "seed is %" PRIu64 ": only the CPU backend has a deterministic mode",
                           target->seed);
    if (target->device >= 0 && target->device < count)
        return QUARRY_OK;
    if (table.found == 0)
        return quarry_fail(QUARRY_ERROR_DEVICE, "there is no usable GPU%s%s", *table.why ? ": " : "",
                           table.why);
    return quarry_fail(
        QUARRY_ERROR_DEVICE,
        "device %d does not exist: of %d GPU%s found, %d can be used (compute capability 7.5 or "
        "newer)",
        target->device, table.found, table.found == 1 ? "" : "s", count);
}

/* "580.95.05, CUDA 13.0": the kernel module's version, where Linux shows it, and that of CUDA which it is
 * for. */
static void describe_driver(char *text, size_t size)
{
    char line[256] = "";
    int cuda = 0;
    FILE *file = fopen("/proc/driver/nvidia/version", "re");
    const int known = file && fgets(line, sizeof line, file);
    text[0] = '\0';
    if (file)
        (void)fclose(file);
    /* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ..." */
    for (char *rest = line, *word; known && !text[0] && (word = strsep(&rest, " \t"));) {
        if (*word >= '0' && *word <= '9' && strchr(word, '.'))
            snprintf(text, size, "%.31s, ", word);
    }
    if (cudaDriverGetVersion(&cuda) != cudaSuccess)
        (void)cudaGetLastError();
    snprintf(text + strlen(text), size - strlen(text), "CUDA %d.%d", cuda / 1000, cuda % 1000 / 10);
}

static uint32_t cuda_multiprocessors(const struct quarry_target *target)
{
    return (uint32_t)device_of(target)->multiprocessors;
}

static enum quarry_status cuda_describe(const struct quarry_target *target, struct quarry_device_info *info)
{
    const struct device *device = device_of(target);
    struct cudaDeviceProp properties;
    size_t available = 0;
    size_t total = 0;
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaGetDeviceProperties(&properties, device->ordinal), "cudaGetDeviceProperties");
    if (status == QUARRY_OK)
        status = check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    leave(target, previous, status);
    if (status != QUARRY_OK)
        return status;

    uint64_t reserve = available / RESERVE_FRACTION;
    if (reserve < RESERVE_BYTES)
        reserve = RESERVE_BYTES;
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    info->total_bytes = total;
    info->available_bytes = available;
    info->heap_bytes = available > reserve ? (available - reserve) / HEAP_GRANULE * HEAP_GRANULE : 0;
    info->multiprocessors = cuda_multiprocessors(target);
    info->clock_khz = (uint32_t)device->clock_khz;
    info->capability = (uint32_t)device->capability;
    describe_driver(info->driver, sizeof info->driver);
    return QUARRY_OK;
}

/* ---- memory ---- */

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
    enum quarry_status status = check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    if (status == QUARRY_OK)
        status = check_host_memory("cudaMallocManaged", bytes, available);
    if (status == QUARRY_OK)
        status = check_memory(cudaMallocManaged(out, (size_t)bytes, cudaMemAttachGlobal), "cudaMallocManaged",
                              bytes);
    return status;
}

static enum quarry_status create_pinned(uint64_t bytes, void **out)
{
    void *host = NULL;
    enum quarry_status status = check_host_memory("cudaHostAlloc", bytes, 0);
    if (status == QUARRY_OK)
        status =
            check_memory(cudaHostAlloc(&host, (size_t)bytes, cudaHostAllocMapped | cudaHostAllocPortable),
                         "cudaHostAlloc", bytes);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaHostGetDevicePointer(out, host, 0), "cudaHostGetDevicePointer");
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

static enum quarry_status cuda_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                             uint64_t bytes, void **out)
{
    const struct device *device = device_of(target);
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    switch (pool) {
    case QUARRY_POOL_DEVICE:
        status = check_memory(cudaMalloc(out, (size_t)bytes), "cudaMalloc", bytes);
        break;
    case QUARRY_POOL_STREAM:
        if (device->has_pools)
            status = check_memory(cudaMallocAsync(out, (size_t)bytes, stream_of(target)), "cudaMallocAsync",
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
    return leave(target, previous, status);
}

static enum quarry_status cuda_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                              void *memory)
{
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    switch (pool) {
    case QUARRY_POOL_DEVICE:
    case QUARRY_POOL_MANAGED:
        status = check(cudaFree(memory), "cudaFree");
        break;
    case QUARRY_POOL_STREAM:
        status = check(cudaFreeAsync(memory, stream_of(target)), "cudaFreeAsync");
        break;
    case QUARRY_POOL_PINNED:
        status = check(cudaFreeHost(memory), "cudaFreeHost");
        break;
    case QUARRY_POOL_BUFFER:
    case QUARRY_POOL_MALLOC:
        break;
    }
    return leave(target, previous, status);
}

/* The heap of device malloc has the size of cudaLimitMallocHeapSize, for the whole context, from when the
 * first module that calls device malloc is loaded: with lazy loading, before its first kernel runs.  The
 * limit can't be set after that (CUDA C++ Programming Guide, "Heap Memory Allocation"). */
static enum quarry_status cuda_platform_heap(const struct quarry_target *target, uint64_t bytes)
{
    size_t limit = 0;
    size_t available = 0;
    size_t total = 0;
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize), "cudaDeviceGetLimit");
    if (status == QUARRY_OK && bytes > limit) {
        status = check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
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
    return leave(target, previous, status);
}

/* Checks that kernels on the device reach one byte, and finds its address there. */
static enum quarry_status map_byte(const struct device *device, unsigned char *byte, unsigned char **mapped)
{
    struct cudaPointerAttributes attributes;
    enum quarry_status status =
        check(cudaPointerGetAttributes(&attributes, byte), "cudaPointerGetAttributes");
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

static enum quarry_status cuda_buffer_map(const struct quarry_target *target, void *buffer, uint64_t bytes,
                                          void **mapped)
{
    unsigned char *first = NULL;
    unsigned char *last = NULL;
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = map_byte(device_of(target), buffer, &first);
    if (status == QUARRY_OK)
        status = map_byte(device_of(target), (unsigned char *)buffer + (bytes - 1), &last);
    if (status == QUARRY_OK && (uint64_t)(last - first) != bytes - 1)
        status = quarry_fail(QUARRY_ERROR_ARGUMENT,
                             "the %" PRIu64 " bytes of the buffer at %p are not one piece of memory", bytes,
                             buffer);
    *mapped = first;
    return leave(target, previous, status);
}

static enum quarry_status cuda_copy(const struct quarry_target *target, void *to, const void *from,
                                    uint64_t bytes)
{
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream_of(target)),
                   "cudaMemcpyAsync");
    if (status == QUARRY_OK)
        status = check(cudaStreamSynchronize(stream_of(target)), "cudaStreamSynchronize");
    return leave(target, previous, status);
}

static enum quarry_status cuda_fill(const struct quarry_target *target, void *memory, int byte,
                                    uint64_t bytes)
{
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaMemsetAsync(memory, byte, (size_t)bytes, stream_of(target)), "cudaMemsetAsync");
    return leave(target, previous, status);
}

/* ---- launching ---- */

static enum quarry_status not_for_cuda(const struct simt_kernel *kernel)
{
    return quarry_fail(QUARRY_ERROR_BACKEND, "kernel %s was not compiled for the CUDA backend", kernel->name);
}

static enum quarry_status cuda_kernel_describe(const struct simt_kernel *kernel,
                                               const struct quarry_target *target,
                                               struct quarry_kernel_info *info)
{
    struct cudaFuncAttributes attributes;
    int previous;
    if (!kernel->cuda)
        return not_for_cuda(kernel);
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaFuncGetAttributes(&attributes, *kernel->cuda), "cudaFuncGetAttributes");
    if (status == QUARRY_OK) {
        info->registers = (uint32_t)attributes.numRegs;
        info->local_bytes = (uint32_t)attributes.localSizeBytes;
    }
    return leave(target, previous, status);
}

static enum quarry_status cuda_launch(const struct simt_kernel *kernel, const struct quarry_target *target,
                                      struct quarry_grid grid, const void *argument)
{
    const struct device *device = device_of(target);
    const dim3 blocks = {grid.blocks, 1, 1};
    const dim3 threads = {grid.threads, 1, 1};
    /* cudaLaunchKernel copies the argument; its parameter is not const for want of a better prototype. */
    void *arguments[] = {(void *)(uintptr_t)argument};
    int previous;
    if (!kernel->cuda)
        return not_for_cuda(kernel);
    if (grid.blocks > MAX_BLOCKS)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s: %" PRIu32 " blocks: a CUDA grid has at most %u",
                           kernel->name, grid.blocks, MAX_BLOCKS);
    if (grid.shared_bytes > (uint32_t)device->shared_bytes)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "%s: %" PRIu32 " bytes of block-shared memory: this device has at most %d",
                           kernel->name, grid.shared_bytes, device->shared_bytes);
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    if (grid.shared_bytes > PLAIN_SHARED_BYTES)
        status = check(cudaFuncSetAttribute(*kernel->cuda, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)grid.shared_bytes),
                       "cudaFuncSetAttribute");
    if (status == QUARRY_OK)
        status = check(
            cudaLaunchKernel(*kernel->cuda, blocks, threads, arguments, grid.shared_bytes, stream_of(target)),
            "cudaLaunchKernel");
    return leave(target, previous, status);
}

static enum quarry_status cuda_symbol_address(const struct quarry_target *target, const void *symbol,
                                              void **address)
{
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaGetSymbolAddress(address, symbol), "cudaGetSymbolAddress");
    return leave(target, previous, status);
}

static struct quarry_grid cuda_service_grid(const struct quarry_target *target, uint64_t bytes)
{
    struct quarry_grid grid = {(uint32_t)device_of(target)->multiprocessors * SERVICE_BLOCKS_EACH,
                               SERVICE_BLOCK_THREADS, 0};
    uint64_t useful = bytes / SERVICE_BLOCK_BYTES + 1;
    if (useful < grid.blocks)
        grid.blocks = (uint32_t)useful;
    return grid;
}

static enum quarry_status cuda_wait(const struct quarry_target *target)
{
    int previous;
    enum quarry_status status = enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaStreamSynchronize(stream_of(target)), "cudaStreamSynchronize");
    return leave(target, previous, status);
}

/* ---- timing ---- */

static enum quarry_status cuda_event_create(quarry_event *event)
{
    cudaEvent_t native = NULL;
    int previous;
    enum quarry_status status = enter(&event->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaEventCreate(&native), "cudaEventCreate");
    event->native = native;
    return leave(&event->target, previous, status);
}

static enum quarry_status cuda_event_destroy(quarry_event *event)
{
    int previous;
    enum quarry_status status = enter(&event->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaEventDestroy((cudaEvent_t)event->native), "cudaEventDestroy");
    return leave(&event->target, previous, status);
}

static enum quarry_status cuda_event_record(quarry_event *event)
{
    int previous;
    enum quarry_status status = enter(&event->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaEventRecord((cudaEvent_t)event->native, stream_of(&event->target)), "cudaEventRecord");
    return leave(&event->target, previous, status);
}

static enum quarry_status cuda_event_elapsed(quarry_event *begin, quarry_event *end, double *microseconds)
{
    float milliseconds = 0;
    int previous;
    enum quarry_status status = enter(&begin->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = check(cudaEventSynchronize((cudaEvent_t)begin->native), "cudaEventSynchronize");
    if (status == QUARRY_OK)
        status = check(cudaEventSynchronize((cudaEvent_t)end->native), "cudaEventSynchronize");
    if (status == QUARRY_OK)
        status =
            check(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)begin->native, (cudaEvent_t)end->native),
                  "cudaEventElapsedTime");
    *microseconds = (double)milliseconds * 1000.0;
    return leave(&begin->target, previous, status);
}

const struct backend_ops quarry_backend_cuda = {
    .device_count = cuda_device_count,
    .target_check = cuda_target_check,
    .multiprocessors = cuda_multiprocessors,
    .describe = cuda_describe,
    .memory_create = cuda_memory_create,
    .memory_destroy = cuda_memory_destroy,
    .platform_heap = cuda_platform_heap,
    .buffer_map = cuda_buffer_map,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .launch = cuda_launch,
    .kernel_describe = cuda_kernel_describe,
    .symbol_address = cuda_symbol_address,
    .service_grid = cuda_service_grid,
    .wait = cuda_wait,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_elapsed = cuda_event_elapsed,
};
