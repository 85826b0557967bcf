/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: their memory, whatever kind it is, and the launches on them. */
#include "host/pool.h"
#include "device/pool_kernels.h"
#include "host/fail.h"
#include "host/machine.h"
#include "quarry/core/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Stands for the sections while there is no memory. */
#define ABSENT_SECTIONS ((unsigned char *)(uintptr_t)QUARRY_MAX_ALIGNMENT)

/* ---- before there is memory ---- */

enum quarry_status quarry_pool_open(struct pool *pool, const struct quarry_target *target)
{
    memset(pool, 0, sizeof *pool);
    return quarry_backend_resolve(target, &pool->target, &pool->ops);
}

static enum quarry_status check_kind(enum quarry_pool kind, const void *buffer, uint64_t bytes)
{
    if ((unsigned int)kind > (unsigned int)QUARRY_POOL_MALLOC)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool %d does not exist: it must be %d to %d", (int)kind,
                           QUARRY_POOL_DEVICE, QUARRY_POOL_MALLOC);
    if (kind != QUARRY_POOL_BUFFER) {
        if (buffer)
            return quarry_fail(QUARRY_ERROR_COMBINATION,
                               "a buffer was given, but the pool is not QUARRY_POOL_BUFFER");
        return QUARRY_OK;
    }
    if (!buffer)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "the pool is QUARRY_POOL_BUFFER, but buffer is NULL");
    if ((uintptr_t)buffer % NATURAL_ALIGNMENT != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "buffer %p is not aligned to %u bytes", buffer,
                           NATURAL_ALIGNMENT);
    if (bytes == 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "pool_bytes is 0: it must say how large the buffer is");
    if (bytes > UINTPTR_MAX - (uintptr_t)buffer)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "pool_bytes is %" PRIu64 ": the buffer at %p can't be so large", bytes, buffer);
    return QUARRY_OK;
}

enum quarry_status quarry_pool_shape(struct pool *pool, enum quarry_pool kind, void *buffer, uint64_t bytes,
                                     uint64_t head_bytes, uint64_t align)
{
    enum quarry_status status = check_kind(kind, buffer, bytes);
    if (status != QUARRY_OK)
        return status;
    pool->kind = kind;
    pool->bytes = bytes;
    pool->head_bytes = head_bytes;
    pool->align = align;
    return kind == QUARRY_POOL_BUFFER ? pool->ops->buffer_map(&pool->target, buffer, bytes, &pool->memory)
                                      : QUARRY_OK;
}

enum quarry_status quarry_pool_default_bytes(struct pool *pool)
{
    struct quarry_device_info device = {0};
    enum quarry_status status = pool->ops->describe(&pool->target, &device);
    if (status != QUARRY_OK)
        return status;
    pool->bytes = device.heap_bytes;
    if (pool->kind == QUARRY_POOL_PINNED) {
        /* Pinned memory is the host's, and a large GPU's share may be more than that has. */
        uint64_t host_bytes = quarry_machine_memory().heap_bytes;
        if (host_bytes < pool->bytes)
            pool->bytes = host_bytes;
    }
    if (pool->bytes == 0)
        return quarry_fail(QUARRY_ERROR_MEMORY,
                           "%s has only %" PRIu64 " bytes available: too few for a heap of default size",
                           device.name, device.available_bytes);
    return QUARRY_OK;
}

/* ---- what lies where ---- */

/* Bytes of the head that lie in the pool. */
static uint64_t head_inside(const struct pool *pool)
{
    return pool->kind == QUARRY_POOL_MALLOC ? 0 : pool->head_bytes;
}

/* Memory that isn't there yet will be aligned to 256, or 16, and at worst lie just behind a multiple of more.
 */
static uint64_t lead(const struct pool *pool)
{
    if (!pool->memory)
        return pool->align - (pool->kind == QUARRY_POOL_MALLOC ? NATURAL_ALIGNMENT : QUARRY_SECTION_ALIGN);
    return (uint64_t)(-((uintptr_t)pool->memory + head_inside(pool))) % pool->align;
}

uint64_t quarry_pool_need(const struct pool *pool, uint64_t section_bytes)
{
    return section_bytes + pool->head_bytes + lead(pool);
}

uint64_t quarry_pool_room(const struct pool *pool)
{
    uint64_t before = lead(pool) + pool->head_bytes;
    return pool->bytes > before ? pool->bytes - before : 0;
}

uint64_t quarry_pool_before_sections(const struct pool *pool)
{
    return lead(pool) + head_inside(pool);
}

unsigned char *quarry_pool_sections(const struct pool *pool)
{
    return pool->memory ? (unsigned char *)pool->memory + quarry_pool_before_sections(pool) : ABSENT_SECTIONS;
}

unsigned char *quarry_pool_head(const struct pool *pool)
{
    return pool->head_apart ? (unsigned char *)pool->head_apart
                            : quarry_pool_sections(pool) - pool->head_bytes;
}

/* ---- memory ---- */

static const struct quarry_grid one_warp = {1, SIMT_LANES, 0};

/* Takes the memory of a POOL_MALLOC, and of its head. */
static enum quarry_status take_malloc(struct pool *pool)
{
    enum quarry_status status =
        pool->ops->memory_create(&pool->target, QUARRY_POOL_DEVICE, pool->head_bytes, &pool->head_apart);
    if (status != QUARRY_OK)
        return status;
    struct pool_malloc argument = {pool->head_apart, pool->bytes - pool->head_bytes};
    status = pool->ops->launch(&quarry_pool_take_kernel, &pool->target, one_warp, &argument);
    if (status == QUARRY_OK)
        status = pool->ops->copy(&pool->target, &pool->memory, pool->head_apart, sizeof pool->memory);
    if (status == QUARRY_OK && !pool->memory)
        status =
            quarry_fail(QUARRY_ERROR_MEMORY,
                        "device malloc has no %" PRIu64 " bytes for the pool: on CUDA the program must set "
                        "cudaLimitMallocHeapSize before a kernel calls malloc",
                        argument.bytes);
    return status;
}

static enum quarry_status give_malloc(const struct pool *pool)
{
    struct pool_malloc argument = {pool->head_apart, 0};
    enum quarry_status status = QUARRY_OK;
    if (pool->memory)
        status = pool->ops->copy(&pool->target, pool->head_apart, &pool->memory, sizeof pool->memory);
    if (pool->memory && status == QUARRY_OK)
        status = pool->ops->launch(&quarry_pool_give_kernel, &pool->target, one_warp, &argument);
    enum quarry_status waited = pool->ops->wait(&pool->target);
    status = status == QUARRY_OK ? waited : status;
    enum quarry_status given = pool->ops->memory_destroy(&pool->target, QUARRY_POOL_DEVICE, pool->head_apart);
    return status == QUARRY_OK ? given : status;
}

enum quarry_status quarry_pool_take(struct pool *pool, uint64_t bytes, uint64_t record_bytes)
{
    enum quarry_status status = QUARRY_OK;
    if (pool->kind == QUARRY_POOL_MALLOC)
        status = take_malloc(pool);
    else if (pool->kind != QUARRY_POOL_BUFFER)
        status = pool->ops->memory_create(&pool->target, pool->kind, bytes, &pool->memory);
    if (status == QUARRY_OK && record_bytes)
        status = pool->ops->memory_create(&pool->target, QUARRY_POOL_PINNED, record_bytes, &pool->record);
    pool->grid = pool->ops->service_grid(&pool->target, bytes);
    return status;
}

enum quarry_status quarry_pool_give(const struct pool *pool)
{
    enum quarry_status status = QUARRY_OK;
    if (pool->head_apart)
        status = give_malloc(pool);
    else if (pool->memory && pool->kind != QUARRY_POOL_BUFFER)
        status = pool->ops->memory_destroy(&pool->target, pool->kind, pool->memory);
    if (pool->record) {
        enum quarry_status other = pool->ops->memory_destroy(&pool->target, QUARRY_POOL_PINNED, pool->record);
        status = status == QUARRY_OK ? other : status;
    }
    return status;
}

enum quarry_status quarry_pool_fail(const struct pool *pool, enum quarry_status status)
{
    /* The detail of what went wrong first is the one to keep, also if this fails too. */
    char first[3584];
    snprintf(first, sizeof first, "%s", quarry_error_detail());
    quarry_pool_give(pool);
    return quarry_fail(status, "%s", first);
}

/* ---- work ---- */

static enum quarry_status check_memory(const struct pool *pool)
{
    return pool->memory ? QUARRY_OK
                        : quarry_fail(QUARRY_ERROR_COMBINATION,
                                      "the heap has no memory: it was made by quarry_heap_draft");
}

enum quarry_status quarry_pool_launch(const struct pool *pool, const struct simt_kernel *kernel,
                                      const void *argument)
{
    enum quarry_status status = check_memory(pool);
    return status != QUARRY_OK ? status : pool->ops->launch(kernel, &pool->target, pool->grid, argument);
}

enum quarry_status quarry_pool_copy(const struct pool *pool, void *to, const void *from, uint64_t bytes)
{
    enum quarry_status status = check_memory(pool);
    return status != QUARRY_OK ? status : pool->ops->copy(&pool->target, to, from, bytes);
}

enum quarry_status quarry_pool_clear(const struct pool *pool, void *memory, uint64_t bytes)
{
    enum quarry_status status = check_memory(pool);
    return status != QUARRY_OK ? status : pool->ops->fill(&pool->target, memory, 0, bytes);
}

enum quarry_status quarry_pool_wait(const struct pool *pool)
{
    enum quarry_status status = check_memory(pool);
    return status != QUARRY_OK ? status : pool->ops->wait(&pool->target);
}
