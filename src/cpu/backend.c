/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU backend's table: host memory, and kernels on the warp executor.
 *
 * Pools from LARGE_BYTES on are mapped rather than taken from the C heap: pages that no block ever
 * touches then cost nothing, whatever malloc implementation is linked in.  Smaller ones stay with
 * malloc, whose debugging aids see them.  Which it was, and how much, stands in a header before the
 * memory, so that giving it back needs no more than its address.
 *
 *     | header, 256 bytes | memory ...
 */
#include "cpu/weak.h"
#include "host/backend.h"
#include "host/internal.h"
#include "host/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ALIGNMENT 256u /* of memory, and the size of the header before it */
#define MAX_RESIDENT 4096u
#define MAX_SHARED_BYTES (227u << 10) /* of a block on the largest GPUs: what runs here fits there */
#define LARGE_BYTES ((uint64_t)1 << 20)
#define MAX_WORKERS 4096u
#define MIN_STACK_BYTES (16u << 10)
#define MAX_STACK_BYTES (1u << 30)
#define REPORT_BYTES 3584u
#define SERVICE_BYTES ((uint64_t)1 << 20) /* of pool, for which one more worker is worth waking */

#define MEMORY_TAG ((uint64_t)0x9d5c3a7be2f1486d) /* in every header, until the memory is given back */

struct memory_header {
    uint64_t tag;
    uint64_t mapped_bytes; /* with the header; 0: malloc's */
};
_Static_assert(sizeof(struct memory_header) <= ALIGNMENT, "the header fits before the memory");

static int cpu_device_count(void)
{
    return 1;
}

static enum quarry_status not_built_for_weak(const char *asked)
{
    return quarry_fail(QUARRY_ERROR_BACKEND,
                       "%s, but this library was built without mode weak: configure it with "
                       "-DQUARRY_SANITIZE=weak",
                       asked);
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
    if (target->resident_blocks > MAX_RESIDENT)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "resident_blocks is %" PRIu32 ": it must be 0 (8 of them) to %u",
                           target->resident_blocks, MAX_RESIDENT);
    if (target->stack_bytes &&
        (target->stack_bytes < MIN_STACK_BYTES || target->stack_bytes > MAX_STACK_BYTES))
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "stack_bytes is %" PRIu32 ": it must be %u to %u, or 0 for 65536",
                           target->stack_bytes, MIN_STACK_BYTES, MAX_STACK_BYTES);
    if (target->weak && !simt_cpu_has_weak())
        return not_built_for_weak("weak is set");
    return QUARRY_OK;
}

static uint32_t cpu_multiprocessors(const struct quarry_target *target)
{
    (void)target;
    return simt_cpu_cores();
}

static enum quarry_status cpu_describe(const struct quarry_target *target, struct quarry_device_info *info)
{
    struct quarry_machine_memory memory = quarry_machine_memory();
    quarry_machine_name(info->name, sizeof info->name);
    info->total_bytes = memory.total_bytes;
    info->available_bytes = memory.available_bytes;
    info->heap_bytes = memory.heap_bytes;
    info->multiprocessors = cpu_multiprocessors(target);
    info->clock_khz = quarry_machine_clock_khz();
    info->capability = 0;
    info->driver[0] = '\0';
    return QUARRY_OK;
}

static enum quarry_status cpu_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                            uint64_t bytes, void **out)
{
    struct memory_header *header;
    uint64_t mapped_bytes = 0;
    (void)target;
    (void)pool;
    if (bytes < LARGE_BYTES) {
        uint64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        header = aligned_alloc(ALIGNMENT, (size_t)(ALIGNMENT + rounded));
        if (!header)
            return quarry_fail(QUARRY_ERROR_MEMORY, "the host has no %" PRIu64 " bytes of memory left",
                               bytes);
    } else {
        /* A mapping may succeed for memory that isn't there, and the process is killed when it is used. */
        uint64_t available = quarry_machine_memory().available_bytes;
        if (bytes > available)
            return quarry_fail(QUARRY_ERROR_MEMORY,
                               "%" PRIu64 " bytes were asked for, but only %" PRIu64
                               " bytes of host memory are available",
                               bytes, available);
        mapped_bytes = ALIGNMENT + bytes;
        header = mmap(NULL, (size_t)mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (header == MAP_FAILED)
            return quarry_fail(QUARRY_ERROR_MEMORY, "mapping %" PRIu64 " bytes of host memory failed: %s",
                               bytes, strerror(errno));
    }
    header->tag = MEMORY_TAG;
    header->mapped_bytes = mapped_bytes;
    *out = (unsigned char *)header + ALIGNMENT;
    simt_weak_region(*out, bytes);
    return QUARRY_OK;
}

static enum quarry_status cpu_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                             void *memory)
{
    (void)target;
    (void)pool;
    if ((uintptr_t)memory % ALIGNMENT != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%p is not what quarry_memory_create returned", memory);
    struct memory_header *header = (struct memory_header *)(void *)((unsigned char *)memory - ALIGNMENT);
    if (header->tag != MEMORY_TAG)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "%p is not what quarry_memory_create returned, or memory before it was written",
                           memory);
    header->tag = 0;
    simt_weak_region_end(memory);
    if (header->mapped_bytes == 0)
        free(header);
    else if (munmap(header, (size_t)header->mapped_bytes) != 0)
        return quarry_fail(QUARRY_ERROR_MEMORY, "unmapping the memory at %p failed: %s", memory,
                           strerror(errno));
    return QUARRY_OK;
}

static enum quarry_status cpu_platform_heap(const struct quarry_target *target, uint64_t bytes)
{
    uint64_t available = quarry_machine_memory().available_bytes;
    (void)target;
    if (bytes <= available)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_MEMORY,
                       "a heap of %" PRIu64 " bytes: only %" PRIu64 " bytes of host memory are available",
                       bytes, available);
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
    simt_weak_written(to, bytes);
    return QUARRY_OK;
}

static enum quarry_status cpu_fill(const struct quarry_target *target, void *memory, int byte, uint64_t bytes)
{
    (void)target;
    memset(memory, byte, (size_t)bytes);
    simt_weak_written(memory, bytes);
    return QUARRY_OK;
}

static enum quarry_status not_for_cpu(const struct simt_kernel *kernel)
{
    return quarry_fail(QUARRY_ERROR_BACKEND, "kernel %s was not compiled for the CPU backend", kernel->name);
}

static enum quarry_status cpu_kernel_describe(const struct simt_kernel *kernel,
                                              const struct quarry_target *target,
                                              struct quarry_kernel_info *info)
{
    const struct quarry_kernel_info none = {0, 0};
    (void)target;
    if (!kernel->cpu)
        return not_for_cpu(kernel);
    *info = none;
    return QUARRY_OK;
}

/* What the environment says of every launch, so that a program need not be changed: QUARRY_SEED is the seed of
 * launches without one, QUARRY_WEAK=1 makes those with a seed launches in mode weak. */
static enum quarry_status launch_environment(struct simt_cpu_launch *launch)
{
    const char *seed = getenv("QUARRY_SEED"), *weak = getenv("QUARRY_WEAK");
    char *end;
    if (seed && launch->seed == 0) {
        errno = 0;
        launch->seed = strtoull(seed, &end, 10);
        if (*seed < '0' || *seed > '9' || *end || errno)
            return quarry_fail(QUARRY_ERROR_ARGUMENT,
                               "QUARRY_SEED is \"%s\": it must be a number from 0 to 2^64 - 1", seed);
    }
    if (!weak || strcmp(weak, "0") == 0)
        return QUARRY_OK;
    if (strcmp(weak, "1") != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "QUARRY_WEAK is \"%s\": it must be 0 or 1", weak);
    if (!simt_cpu_has_weak())
        return not_built_for_weak("QUARRY_WEAK is 1");
    launch->weak = launch->seed != 0;
    return QUARRY_OK;
}

static enum quarry_status cpu_launch(const struct simt_kernel *kernel, const struct quarry_target *target,
                                     struct quarry_grid grid, const void *argument)
{
    char report[REPORT_BYTES] = "";
    struct simt_cpu_launch launch = {0};
    if (!kernel->cpu)
        return not_for_cpu(kernel);
    if (grid.shared_bytes > MAX_SHARED_BYTES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "%s: %" PRIu32 " bytes of block-shared memory: the CPU backend has at most %u",
                           kernel->name, grid.shared_bytes, MAX_SHARED_BYTES);
    launch.name = kernel->name;
    launch.kernel = kernel->cpu;
    launch.argument = argument;
    launch.blocks = grid.blocks;
    launch.threads = grid.threads;
    launch.shared_bytes = grid.shared_bytes;
    launch.seed = target->seed;
    launch.workers = target->workers;
    launch.resident_blocks = target->resident_blocks;
    launch.stack_bytes = target->stack_bytes;
    launch.bug_depth = target->bug_depth;
    launch.weak = target->weak;
    enum quarry_status status = launch_environment(&launch);
    if (status != QUARRY_OK)
        return status;
    switch (simt_cpu_run(&launch, report, sizeof report)) {
    case SIMT_CPU_OK:
        return QUARRY_OK;
    case SIMT_CPU_DEADLOCK:
        return quarry_fail(QUARRY_ERROR_DEADLOCK, "%s", report);
    case SIMT_CPU_ASSERT:
        return quarry_fail(QUARRY_ERROR_ASSERT, "%s", report);
    case SIMT_CPU_RACE:
        return quarry_fail(QUARRY_ERROR_RACE, "%s", report);
    case SIMT_CPU_MEMORY:
        break;
    }
    return quarry_fail(QUARRY_ERROR_MEMORY,
                       "%s: the host has no memory for the stacks and the shared memory of blocks of %" PRIu32
                       " threads",
                       kernel->name, grid.threads);
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
    .device_count = cpu_device_count,
    .target_check = cpu_target_check,
    .multiprocessors = cpu_multiprocessors,
    .describe = cpu_describe,
    .memory_create = cpu_memory_create,
    .memory_destroy = cpu_memory_destroy,
    .platform_heap = cpu_platform_heap,
    .buffer_map = cpu_buffer_map,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .launch = cpu_launch,
    .kernel_describe = cpu_kernel_describe,
    .service_grid = cpu_service_grid,
    .wait = cpu_wait,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_elapsed = cpu_event_elapsed,
};
