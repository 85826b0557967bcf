/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's table: host memory, and kernels on the warp executor.
 *
 * Pools from LARGE_BYTES on are mapped rather than taken from the C heap: pages that no block ever
 * touches then cost nothing, whatever malloc implementation is linked in.  Smaller ones stay with
 * malloc, whose debugging aids see them. */
#include "cpu/executor.h"
#include "host/backend.h"
#include "host/internal.h"
#include "host/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ALIGNMENT 256u
#define LARGE_BYTES ((uint64_t)1 << 20)
#define MAX_WORKERS 4096u
#define REPORT_BYTES 3584u
#define SERVICE_BYTES ((uint64_t)1 << 20) /* of pool, for which one more worker is worth waking */

static int cpu_device_count(void)
{
    return 1;
}

static enum quarry_status cpu_target_check(const struct quarry_target *target)
{
    if (target->device != 0)
        return quarry_fail(QUARRY_ERROR_DEVICE, "device %d does not exist: the CPU is the one device 0",
                           target->device);
    if (target->stream)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "stream must be NULL on the CPU backend");
    if (target->workers > MAX_WORKERS)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "workers is %" PRIu32 ": it must be 0 (one for each core) to %u", target->workers,
                           MAX_WORKERS);
    return QUARRY_OK;
}

static enum quarry_status cpu_describe(const struct quarry_target *target, struct quarry_device_info *info)
{
    struct machine_memory memory = machine_memory();
    (void)target;
    machine_name(info->name, sizeof info->name);
    info->total_bytes = memory.total_bytes;
    info->available_bytes = memory.available_bytes;
    info->heap_bytes = memory.heap_bytes;
    info->multiprocessors = simt_cpu_cores();
    info->clock_khz = machine_clock_khz();
    info->capability = 0;
    return QUARRY_OK;
}

static enum quarry_status cpu_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                            uint64_t bytes, void **out)
{
    (void)target;
    (void)pool;
    if (bytes < LARGE_BYTES) {
        uint64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        *out = aligned_alloc(ALIGNMENT, (size_t)rounded);
        if (!*out)
            return quarry_fail(QUARRY_ERROR_MEMORY, "the host has no %" PRIu64 " bytes of memory left",
                               bytes);
        return QUARRY_OK;
    }
    /* A mapping may succeed for memory that isn't there, and the process is killed when it is used. */
    uint64_t available = machine_memory().available_bytes;
    if (bytes > available)
        return quarry_fail(QUARRY_ERROR_MEMORY,
                           "%" PRIu64 " bytes were asked for, but only %" PRIu64
                           " bytes of host memory are available",
                           bytes, available);
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return quarry_fail(QUARRY_ERROR_MEMORY, "mapping %" PRIu64 " bytes of host memory failed: %s", bytes,
                           strerror(errno));
    *out = memory;
    return QUARRY_OK;
}

static enum quarry_status cpu_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                             void *memory, uint64_t bytes)
{
    (void)target;
    (void)pool;
    if (bytes < LARGE_BYTES)
        free(memory);
    else if (munmap(memory, (size_t)bytes) != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "%p and %" PRIu64 " bytes are not what quarry_memory_create returned: %s", memory,
                           bytes, strerror(errno));
    return QUARRY_OK;
}

static enum quarry_status cpu_buffer_map(const struct quarry_target *target, void *buffer, uint64_t bytes,
                                         void **mapped)
{
    (void)target;
    (void)bytes;
    *mapped = buffer;
    return QUARRY_OK;
}

static enum quarry_status cpu_copy(const struct quarry_target *target, void *to, const void *from,
                                   uint64_t bytes)
{
    (void)target;
    memcpy(to, from, (size_t)bytes);
    return QUARRY_OK;
}

static enum quarry_status cpu_fill(const struct quarry_target *target, void *memory, int byte, uint64_t bytes)
{
    (void)target;
    memset(memory, byte, (size_t)bytes);
    return QUARRY_OK;
}

static enum quarry_status cpu_launch(const struct simt_kernel *kernel, const struct quarry_target *target,
                                     struct quarry_grid grid, const void *argument)
{
    char report[REPORT_BYTES] = "";
    struct simt_cpu_launch launch = {0};
    if (!kernel->cpu)
        return quarry_fail(QUARRY_ERROR_BACKEND, "kernel %s was not compiled for the CPU backend",
                           kernel->name);
    launch.name = kernel->name;
    launch.kernel = kernel->cpu;
    launch.argument = argument;
    launch.blocks = grid.blocks;
    launch.threads = grid.threads;
    launch.shared_bytes = grid.shared_bytes;
    launch.seed = target->seed;
    launch.workers = target->workers;
    launch.resident_blocks = target->resident_blocks;
    switch (simt_cpu_run(&launch, report, sizeof report)) {
    case SIMT_CPU_OK:
        return QUARRY_OK;
    case SIMT_CPU_DEADLOCK:
        return quarry_fail(QUARRY_ERROR_DEADLOCK, "%s", report);
    case SIMT_CPU_ASSERT:
        return quarry_fail(QUARRY_ERROR_ASSERT, "%s", report);
    case SIMT_CPU_MEMORY:
        break;
    }
    return quarry_fail(QUARRY_ERROR_MEMORY, "%s", report);
}

static struct quarry_grid cpu_service_grid(const struct quarry_target *target, uint64_t bytes)
{
    struct quarry_grid grid = {1, SIMT_LANES, 0};
    uint64_t useful = bytes / SERVICE_BYTES + 1;
    uint32_t workers = target->workers ? target->workers : simt_cpu_cores();
    if (target->seed == 0)
        grid.blocks = workers < useful ? workers : (uint32_t)useful;
    return grid;
}

static enum quarry_status cpu_wait(const struct quarry_target *target)
{
    (void)target; /* launches have run when they return */
    return QUARRY_OK;
}

static enum quarry_status cpu_event_create(quarry_event *event)
{
    (void)event;
    return QUARRY_OK;
}

static enum quarry_status cpu_event_destroy(quarry_event *event)
{
    (void)event;
    return QUARRY_OK;
}

static enum quarry_status cpu_event_record(quarry_event *event)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return QUARRY_OK;
}

static enum quarry_status cpu_event_elapsed(quarry_event *begin, quarry_event *end, double *microseconds)
{
    *microseconds = (double)(int64_t)(end->nanoseconds - begin->nanoseconds) / 1000.0;
    return QUARRY_OK;
}

const struct backend_ops quarry_backend_cpu = {
    .name = "cpu",
    .device_count = cpu_device_count,
    .target_check = cpu_target_check,
    .describe = cpu_describe,
    .memory_create = cpu_memory_create,
    .memory_destroy = cpu_memory_destroy,
    .buffer_map = cpu_buffer_map,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .launch = cpu_launch,
    .service_grid = cpu_service_grid,
    .wait = cpu_wait,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_elapsed = cpu_event_elapsed,
};
