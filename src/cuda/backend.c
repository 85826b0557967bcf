/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's table.  Plain C on the runtime API: the kernels themselves are nvcc's business. */
#include "cuda/devices.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEVICES 64
#define MIN_CAPABILITY 75
#define EARLY_CAPABILITY 90                 /* and above: kernels can wait for those in front of them */
#define MAX_BLOCKS 0x7fffffffu              /* grid dimension x */
#define PLAIN_SHARED_BYTES (48u << 10)      /* above, a kernel must be allowed it by name */
#define RESERVE_BYTES ((uint64_t)512 << 20) /* left to everything else by a heap of default size */
#define RESERVE_FRACTION 20u                /* or this part of what is free, if that is more */
#define HEAP_GRANULE ((uint64_t)2 << 20)
#define SERVICE_BLOCK_THREADS 256u
#define SERVICE_BLOCKS_EACH 8u                   /* blocks that one multiprocessor holds */
#define SERVICE_BLOCK_BYTES ((uint64_t)64 << 10) /* of pool, for which one more block is worth its start */

/* ---- devices ---- */

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

const struct device *quarry_cudart_device_of(const struct quarry_target *target)
{
    return &table.devices[target->device];
}

/* ---- errors and the current device ---- */

enum quarry_status quarry_cudart_check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return QUARRY_OK;
    (void)cudaGetLastError();
    return quarry_fail(error == cudaErrorMemoryAllocation ? QUARRY_ERROR_MEMORY : QUARRY_ERROR_CUDA,
                       "%s: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

enum quarry_status quarry_cudart_check_memory(cudaError_t error, const char *call, uint64_t bytes)
{
    size_t available = 0;
    size_t total = 0;
    if (error == cudaSuccess)
        return QUARRY_OK;
    (void)cudaGetLastError();
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) {
        (void)cudaGetLastError();
        return quarry_cudart_check(error, call);
    }
    if (error != cudaErrorMemoryAllocation && bytes <= total)
        return quarry_cudart_check(error, call);
    return quarry_fail(QUARRY_ERROR_MEMORY,
                       "%s of %" PRIu64 " bytes: %s (the device has %zu bytes, of which %zu are free)", call,
                       bytes, cudaGetErrorString(error), total, available);
}

enum quarry_status quarry_cudart_enter(const struct quarry_target *target, int *previous)
{
    int ordinal = quarry_cudart_device_of(target)->ordinal;
    enum quarry_status status = quarry_cudart_check(cudaGetDevice(previous), "cudaGetDevice");
    if (status == QUARRY_OK && *previous != ordinal)
        status = quarry_cudart_check(cudaSetDevice(ordinal), "cudaSetDevice");
    return status;
}

enum quarry_status quarry_cudart_leave(const struct quarry_target *target, int previous,
                                       enum quarry_status status)
{
    if (previous != quarry_cudart_device_of(target)->ordinal && cudaSetDevice(previous) != cudaSuccess)
        (void)cudaGetLastError();
    return status;
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
    return (uint32_t)quarry_cudart_device_of(target)->multiprocessors;
}

static enum quarry_status cuda_describe(const struct quarry_target *target, struct quarry_device_info *info)
{
    const struct device *device = quarry_cudart_device_of(target);
    struct cudaDeviceProp properties;
    size_t available = 0;
    size_t total = 0;
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status =
        quarry_cudart_check(cudaGetDeviceProperties(&properties, device->ordinal), "cudaGetDeviceProperties");
    if (status == QUARRY_OK)
        status = quarry_cudart_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    quarry_cudart_leave(target, previous, status);
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
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaFuncGetAttributes(&attributes, *kernel->cuda), "cudaFuncGetAttributes");
    if (status == QUARRY_OK) {
        info->registers = (uint32_t)attributes.numRegs;
        info->local_bytes = (uint32_t)attributes.localSizeBytes;
    }
    return quarry_cudart_leave(target, previous, status);
}

static int cuda_is_capturing(const struct quarry_target *target)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    int previous, is;
    if (quarry_cudart_enter(target, &previous) != QUARRY_OK)
        return 0;
    is = cudaStreamIsCapturing(quarry_cudart_stream_of(target), &capture) == cudaSuccess &&
         capture != cudaStreamCaptureStatusNone;
    (void)quarry_cudart_leave(target, previous, QUARRY_OK);
    return is;
}

/* May a kernel be launched before those in front of it have ended?  If it waits for them itself: so says its note, and
 * it was compiled for a chip that can (simt_begin_early), not translated for this one from code for an older one. */
static int begins_early(const struct simt_kernel *kernel, const struct quarry_target *target)
{
    struct cudaFuncAttributes attributes;
    enum cudaStreamCaptureStatus capture;
    if (!kernel->note || quarry_cudart_device_of(target)->capability < EARLY_CAPABILITY)
        return 0;
    if (cudaFuncGetAttributes(&attributes, *kernel->cuda) != cudaSuccess ||
        cudaStreamIsCapturing(quarry_cudart_stream_of(target), &capture) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return attributes.ptxVersion >= EARLY_CAPABILITY && capture == cudaStreamCaptureStatusNone;
}

static enum quarry_status cuda_launch(const struct simt_kernel *kernel, const struct quarry_target *target,
                                      struct quarry_grid grid, const void *argument)
{
    const struct device *device = quarry_cudart_device_of(target);
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
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    if (grid.shared_bytes > PLAIN_SHARED_BYTES)
        status = quarry_cudart_check(cudaFuncSetAttribute(*kernel->cuda,
                                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                          (int)grid.shared_bytes),
                                     "cudaFuncSetAttribute");
    if (status == QUARRY_OK && begins_early(kernel, target)) {
        cudaLaunchAttribute early = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                     .val.programmaticStreamSerializationAllowed = 1};
        const cudaLaunchConfig_t config = {
            blocks, threads, grid.shared_bytes, quarry_cudart_stream_of(target), &early, 1};
        status = quarry_cudart_check(cudaLaunchKernelExC(&config, *kernel->cuda, arguments),
                                     "cudaLaunchKernelExC");
    } else if (status == QUARRY_OK) {
        status = quarry_cudart_check(cudaLaunchKernel(*kernel->cuda, blocks, threads, arguments,
                                                      grid.shared_bytes, quarry_cudart_stream_of(target)),
                                     "cudaLaunchKernel");
    }
    return quarry_cudart_leave(target, previous, status);
}

static enum quarry_status cuda_symbol_address(const struct quarry_target *target, const void *symbol,
                                              void **address)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaGetSymbolAddress(address, symbol), "cudaGetSymbolAddress");
    return quarry_cudart_leave(target, previous, status);
}

static struct quarry_grid cuda_service_grid(const struct quarry_target *target, uint64_t bytes)
{
    struct quarry_grid grid = {(uint32_t)quarry_cudart_device_of(target)->multiprocessors *
                                   SERVICE_BLOCKS_EACH,
                               SERVICE_BLOCK_THREADS, 0};
    uint64_t useful = bytes / SERVICE_BLOCK_BYTES + 1;
    if (useful < grid.blocks)
        grid.blocks = (uint32_t)useful;
    return grid;
}

static enum quarry_status cuda_wait(const struct quarry_target *target)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(target, &previous);
    if (status != QUARRY_OK)
        return status;
    status =
        quarry_cudart_check(cudaStreamSynchronize(quarry_cudart_stream_of(target)), "cudaStreamSynchronize");
    return quarry_cudart_leave(target, previous, status);
}

/* ---- timing ---- */

static enum quarry_status cuda_event_create(quarry_event *event)
{
    cudaEvent_t native = NULL;
    int previous;
    enum quarry_status status = quarry_cudart_enter(&event->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaEventCreate(&native), "cudaEventCreate");
    event->native = native;
    return quarry_cudart_leave(&event->target, previous, status);
}

static enum quarry_status cuda_event_destroy(quarry_event *event)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(&event->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaEventDestroy((cudaEvent_t)event->native), "cudaEventDestroy");
    return quarry_cudart_leave(&event->target, previous, status);
}

static enum quarry_status cuda_event_record(quarry_event *event)
{
    int previous;
    enum quarry_status status = quarry_cudart_enter(&event->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(
        cudaEventRecord((cudaEvent_t)event->native, quarry_cudart_stream_of(&event->target)),
        "cudaEventRecord");
    return quarry_cudart_leave(&event->target, previous, status);
}

static enum quarry_status cuda_event_elapsed(quarry_event *begin, quarry_event *end, double *microseconds)
{
    float milliseconds = 0;
    int previous;
    enum quarry_status status = quarry_cudart_enter(&begin->target, &previous);
    if (status != QUARRY_OK)
        return status;
    status = quarry_cudart_check(cudaEventSynchronize((cudaEvent_t)begin->native), "cudaEventSynchronize");
    if (status == QUARRY_OK)
        status = quarry_cudart_check(cudaEventSynchronize((cudaEvent_t)end->native), "cudaEventSynchronize");
    if (status == QUARRY_OK)
        status = quarry_cudart_check(
            cudaEventElapsedTime(&milliseconds, (cudaEvent_t)begin->native, (cudaEvent_t)end->native),
            "cudaEventElapsedTime");
    *microseconds = (double)milliseconds * 1000.0;
    return quarry_cudart_leave(&begin->target, previous, status);
}

const struct backend_ops quarry_backend_cuda = {
    .device_count = cuda_device_count,
    .target_check = cuda_target_check,
    .multiprocessors = cuda_multiprocessors,
    .describe = cuda_describe,
    .memory_create = quarry_cudart_memory_create,
    .memory_destroy = quarry_cudart_memory_destroy,
    .platform_heap = quarry_cudart_platform_heap,
    .buffer_map = quarry_cudart_buffer_map,
    .copy = quarry_cudart_copy,
    .fill = quarry_cudart_fill,
    .launch = cuda_launch,
    .is_capturing = cuda_is_capturing,
    .kernel_describe = cuda_kernel_describe,
    .symbol_address = cuda_symbol_address,
    .service_grid = cuda_service_grid,
    .wait = cuda_wait,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_elapsed = cuda_event_elapsed,
};
