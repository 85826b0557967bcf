/* SPDX-License-Identifier: Apache-2.0 */
/* Targets, their memory, launches and events: checks arguments, then asks the backend's table. */
#include "host/backend.h"
#include "host/internal.h"
#include "host/recording.h"
#include "host/launches.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCK_THREADS 1024u
#define MAX_LAUNCH_THREADS ((uint64_t)1 << 32) /* thread numbers are 32 bits; this many is one too many */
#define GRID_THREADS 256u
#define MAX_BUG_DEPTH 64u

static const struct backend_ops *cuda_ops(void)
{
#ifdef QUARRY_WITH_CUDA
    return &quarry_backend_cuda;
#else
    return NULL;
#endif
}

/* Table of what `backend` stands for; NULL: not in this library. */
static const struct backend_ops *backend_table(enum quarry_backend backend, enum quarry_backend *which)
{
    const struct backend_ops *cuda = cuda_ops();
    *which = backend;
    if (backend == QUARRY_BACKEND_AUTO)
        *which = cuda && cuda->device_count() > 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    return *which == QUARRY_BACKEND_CUDA ? cuda : &quarry_backend_cpu;
}

static int backend_known(enum quarry_backend backend)
{
    return backend == QUARRY_BACKEND_AUTO || backend == QUARRY_BACKEND_CUDA || backend == QUARRY_BACKEND_CPU;
}

enum quarry_status quarry_backend_resolve(const struct quarry_target *target, struct quarry_target *resolved,
                                          const struct backend_ops **ops)
{
    struct quarry_target chosen = {.backend = QUARRY_BACKEND_AUTO};
    if (target)
        chosen = *target;
    if (!backend_known(chosen.backend))
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "backend %d does not exist: it is auto (%d), cuda (%d) or cpu (%d)",
                           (int)chosen.backend, QUARRY_BACKEND_AUTO, QUARRY_BACKEND_CUDA, QUARRY_BACKEND_CPU);
    const struct backend_ops *table = backend_table(chosen.backend, &chosen.backend);
    if (!table)
        return quarry_fail(QUARRY_ERROR_BACKEND, "this library was built without the CUDA backend");
    enum quarry_status status = table->target_check(&chosen);
    if (status != QUARRY_OK)
        return status;
    if (chosen.bug_depth > MAX_BUG_DEPTH)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "bug_depth is %" PRIu32 ": it must be 0 (any lane runs next, at random) to %u",
                           chosen.bug_depth, MAX_BUG_DEPTH);
    if (chosen.bug_depth && chosen.seed == 0)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "bug_depth is %" PRIu32
                           " but seed is 0: lanes run by priority in deterministic mode "
                           "only, which any other seed selects",
                           chosen.bug_depth);
    if (chosen.weak && chosen.seed == 0)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "weak is set but seed is 0: mode weak needs a seed, from 1 on");
    *resolved = chosen;
    *ops = table;
    return QUARRY_OK;
}

/* ---- targets ---- */

enum quarry_status quarry_target_resolve(struct quarry_target *target)
{
    const struct backend_ops *ops;
    if (!target)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "target is NULL");
    return quarry_backend_resolve(target, target, &ops);
}

int quarry_device_count(enum quarry_backend backend)
{
    enum quarry_backend which;
    const struct backend_ops *ops = backend_known(backend) ? backend_table(backend, &which) : NULL;
    return ops ? ops->device_count() : 0;
}

enum quarry_status quarry_device_describe(const struct quarry_target *target, struct quarry_device_info *info)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    if (!info)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "info is NULL");
    memset(info, 0, sizeof *info);
    enum quarry_status status = quarry_backend_resolve(target, &resolved, &ops);
    return status != QUARRY_OK ? status : ops->describe(&resolved, info);
}

/* ---- memory ---- */

/* Resolves the target, and checks that memory of this pool is the library's to make. */
static enum quarry_status resolve_for_pool(const struct quarry_target *target, enum quarry_pool pool,
                                           struct quarry_target *resolved, const struct backend_ops **ops)
{
    if (pool == QUARRY_POOL_BUFFER)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool is the caller's buffer, which only a heap can use");
    if (pool == QUARRY_POOL_MALLOC)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool is device malloc's, which only a heap can use");
    if ((unsigned int)pool > (unsigned int)QUARRY_POOL_MALLOC)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool %d does not exist: it must be %d to %d", (int)pool,
                           QUARRY_POOL_DEVICE, QUARRY_POOL_PINNED);
    return quarry_backend_resolve(target, resolved, ops);
}

enum quarry_status quarry_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                        uint64_t bytes, void **out)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    if (!out)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    enum quarry_status status = resolve_for_pool(target, pool, &resolved, &ops);
    if (status != QUARRY_OK || bytes == 0)
        return status;
    return ops->memory_create(&resolved, pool, bytes, out);
}

enum quarry_status quarry_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                         void *memory)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    enum quarry_status status = resolve_for_pool(target, pool, &resolved, &ops);
    if (status != QUARRY_OK || !memory)
        return status;
    return ops->memory_destroy(&resolved, pool, memory);
}

enum quarry_status quarry_memory_copy(const struct quarry_target *target, void *to, const void *from,
                                      uint64_t bytes)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    enum quarry_status status = quarry_backend_resolve(target, &resolved, &ops);
    if (status != QUARRY_OK)
        return status;
    if (bytes == 0)
        return ops->wait(&resolved);
    if (!to || !from)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL, with %" PRIu64 " bytes to copy",
                           to ? "from" : "to", bytes);
    return ops->copy(&resolved, to, from, bytes);
}

enum quarry_status quarry_memory_fill(const struct quarry_target *target, void *memory, int byte,
                                      uint64_t bytes)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    enum quarry_status status = quarry_backend_resolve(target, &resolved, &ops);
    if (status != QUARRY_OK || bytes == 0)
        return status;
    if (!memory)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "memory is NULL, with %" PRIu64 " bytes to fill", bytes);
    return ops->fill(&resolved, memory, byte, bytes);
}

/* ---- launching ---- */

enum quarry_status quarry_launch_noted(const struct simt_kernel *kernel, const struct quarry_target *target,
                                       struct quarry_grid grid, const void *argument)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    if (!kernel || !argument)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", kernel ? "argument" : "kernel");
    if (grid.blocks == 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s: a grid needs at least 1 block", kernel->name);
    if (grid.threads == 0 || grid.threads > MAX_BLOCK_THREADS)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s: a block of %" PRIu32 " threads: it must be 1 to %u",
                           kernel->name, grid.threads, MAX_BLOCK_THREADS);
    if ((uint64_t)grid.blocks * grid.threads >= MAX_LAUNCH_THREADS)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "%s: %" PRIu32 " blocks of %" PRIu32
                           " threads: a launch has less than 2^32 threads",
                           kernel->name, grid.blocks, grid.threads);
    enum quarry_status status = quarry_fixed_check(kernel, argument);
    if (status == QUARRY_OK)
        status = quarry_backend_resolve(target, &resolved, &ops);
    if (status == QUARRY_OK)
        quarry_recording_launched(kernel, argument);
    return status != QUARRY_OK ? status : quarry_launches_run(ops, kernel, &resolved, grid, argument);
}

enum quarry_status quarry_launch(const struct simt_kernel *kernel, const struct quarry_target *target,
                                 struct quarry_grid grid, const void *argument)
{
    if (kernel && kernel->note)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "kernel %s is a do-all: quarry_object_do runs it",
                           kernel->name);
    return quarry_launch_noted(kernel, target, grid, argument);
}

enum quarry_status quarry_kernel_describe(const struct simt_kernel *kernel,
                                          const struct quarry_target *target, struct quarry_kernel_info *info)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    if (!kernel || !info)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL", kernel ? "info" : "kernel");
    enum quarry_status status = quarry_backend_resolve(target, &resolved, &ops);
    return status != QUARRY_OK ? status : ops->kernel_describe(kernel, &resolved, info);
}

struct quarry_grid quarry_grid_for(uint64_t threads)
{
    struct quarry_grid grid = {1, GRID_THREADS, 0};
    uint64_t blocks = threads / GRID_THREADS + (threads % GRID_THREADS != 0);
    /* What is too much stays too much, so that the launch says so and does not run too few. */
    if (blocks > 1)
        grid.blocks = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
    return grid;
}

enum quarry_status quarry_target_wait(const struct quarry_target *target)
{
    const struct backend_ops *ops;
    struct quarry_target resolved;
    enum quarry_status status = quarry_backend_resolve(target, &resolved, &ops);
    return status != QUARRY_OK ? status : ops->wait(&resolved);
}

/* ---- timing ---- */

enum quarry_status quarry_event_create(const struct quarry_target *target, quarry_event **out)
{
    if (!out)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    quarry_event *event = calloc(1, sizeof *event);
    if (!event)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for an event");
    enum quarry_status status = quarry_backend_resolve(target, &event->target, &event->ops);
    if (status == QUARRY_OK)
        status = event->ops->event_create(event);
    if (status != QUARRY_OK) {
        free(event);
        return status;
    }
    *out = event;
    return QUARRY_OK;
}

enum quarry_status quarry_event_destroy(quarry_event *event)
{
    if (!event)
        return QUARRY_OK;
    enum quarry_status status = event->ops->event_destroy(event);
    free(event);
    return status;
}

enum quarry_status quarry_event_record(quarry_event *event)
{
    if (!event)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "event is NULL");
    enum quarry_status status = event->ops->event_record(event);
    event->recorded = event->recorded || status == QUARRY_OK;
    return status;
}

enum quarry_status quarry_event_elapsed(quarry_event *begin, quarry_event *end, double *microseconds)
{
    if (!begin || !end || !microseconds)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "%s is NULL",
                           !begin ? "begin"
                           : !end ? "end"
                                  : "microseconds");
    *microseconds = 0;
    if (begin->ops != end->ops || begin->target.device != end->target.device)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "the two events belong to different devices");
    if (!begin->recorded || !end->recorded)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "the %s event was never recorded",
                           begin->recorded ? "end" : "begin");
    return begin->ops->event_elapsed(begin, end, microseconds);
}
