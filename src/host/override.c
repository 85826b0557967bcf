/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of a program that include override.h, and the heap that they all get. */
#include "host/backend.h"
#include "host/internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `units` */
static struct quarry_override_unit *units;

void quarry_override_link(struct quarry_override_unit *unit)
{
    pthread_mutex_lock(&lock);
    unit->next = units;
    units = unit;
    pthread_mutex_unlock(&lock);
}

void quarry_override_unlink(struct quarry_override_unit *unit)
{
    pthread_mutex_lock(&lock);
    for (struct quarry_override_unit **at = &units; *at; at = &(*at)->next)
        if (*at == unit) {
            *at = unit->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* Finds each unit's handle on the target, and writes it there if it is to be.  The first walk finds what
 * can't be done before anything is. */
static enum quarry_status walk(const struct backend_ops *ops, const struct quarry_target *target,
                               const struct quarry_handle *handle, int write)
{
    enum quarry_status status = QUARRY_OK;
    for (const struct quarry_override_unit *unit = units; unit && status == QUARRY_OK; unit = unit->next) {
        void *address = NULL;
        if (unit->bytes != sizeof *handle)
            return quarry_fail(
                QUARRY_ERROR_COMBINATION,
                "a source that includes quarry/override.h was compiled for another version of the "
                "library: its handles have %" PRIu64 " bytes, not %zu",
                unit->bytes, sizeof *handle);
        status = quarry_fixed_judge("a source that includes quarry/override.h", "",
                                    handle->counters ? unit->fixed : 0, handle->code);
        if (status == QUARRY_OK)
            status = ops->symbol_address(target, unit->symbol, &address);
        if (status == QUARRY_OK && write)
            status = ops->copy(target, address, handle, sizeof *handle);
    }
    return status;
}

static enum quarry_status reach_all(const quarry_heap *heap, const struct quarry_handle *handle)
{
    struct quarry_heap_description about;
    const struct backend_ops *ops;
    enum quarry_status status = quarry_heap_describe(heap, &about);
    if (status == QUARRY_OK)
        status = quarry_backend_resolve(&about.target, &about.target, &ops);
    if (status != QUARRY_OK)
        return status;
    if (!ops->symbol_address)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "the heap is on the CPU backend: quarry/override.h is for kernels on a GPU");
    pthread_mutex_lock(&lock);
    if (!units)
        status =
            quarry_fail(QUARRY_ERROR_COMBINATION, "no source of this program includes quarry/override.h");
    for (int write = 0; write < 2 && status == QUARRY_OK; write++)
        status = walk(ops, &about.target, handle, write);
    pthread_mutex_unlock(&lock);
    return status;
}

enum quarry_status quarry_override_set(const quarry_heap *heap)
{
    struct quarry_handle handle = quarry_heap_handle(heap);
    return reach_all(heap, &handle);
}

enum quarry_status quarry_override_clear(const quarry_heap *heap)
{
    struct quarry_handle none;
    memset(&none, 0, sizeof none);
    return reach_all(heap, &none);
}
