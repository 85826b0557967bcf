/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend does for the host's side: one table each.
 *
 * Callers (target.c, pool.c) have checked the arguments before: targets are resolved and passed
 * target_check, pointers are not NULL, byte counts not 0, pools in range.  Each function that fails has
 * set the error detail. */
#ifndef QUARRY_HOST_BACKEND_H
#define QUARRY_HOST_BACKEND_H

#include "quarry/quarry.h"

struct backend_ops {
    int (*device_count)(void);

    /* The target's device exists, and nothing in it contradicts this backend. */
    enum quarry_status (*target_check)(const struct quarry_target *target);

    /* Multiprocessors of the device; CPU: cores. */
    uint32_t (*multiprocessors)(const struct quarry_target *target);

    enum quarry_status (*describe)(const struct quarry_target *target, struct quarry_device_info *info);

    /* Memory as quarry_memory_create promises it; never of POOL_BUFFER or POOL_MALLOC. */
    enum quarry_status (*memory_create)(const struct quarry_target *target, enum quarry_pool pool,
                                        uint64_t bytes, void **out);
    enum quarry_status (*memory_destroy)(const struct quarry_target *target, enum quarry_pool pool,
                                         void *memory);

    /* Makes sure that the platform's own allocator can hold so many bytes. */
    enum quarry_status (*platform_heap)(const struct quarry_target *target, uint64_t bytes);

    /* The address at which kernels reach a caller's buffer; ARGUMENT if they can't. */
    enum quarry_status (*buffer_map)(const struct quarry_target *target, void *buffer, uint64_t bytes,
                                     void **mapped);

    enum quarry_status (*copy)(const struct quarry_target *target, void *to, const void *from,
                               uint64_t bytes);
    enum quarry_status (*fill)(const struct quarry_target *target, void *memory, int byte, uint64_t bytes);

    enum quarry_status (*launch)(const struct simt_kernel *kernel, const struct quarry_target *target,
                                 struct quarry_grid grid, const void *argument);

    /* Does the target's stream only record what is queued, for a graph that runs it later, any number of times?  NULL:
     * no. */
    int (*is_capturing)(const struct quarry_target *target);

    enum quarry_status (*kernel_describe)(const struct simt_kernel *kernel,
                                          const struct quarry_target *target,
                                          struct quarry_kernel_info *info);

    /* Where a variable of device code, named as for cudaGetSymbolAddress, lies on the device.  NULL on the
     * CPU backend, which has no such variables. */
    enum quarry_status (*symbol_address)(const struct quarry_target *target, const void *symbol,
                                         void **address);

    /* The grid in which the library's own kernels walk structures that describe `bytes` of pool. */
    struct quarry_grid (*service_grid)(const struct quarry_target *target, uint64_t bytes);

    enum quarry_status (*wait)(const struct quarry_target *target);

    enum quarry_status (*event_create)(quarry_event *event);
    enum quarry_status (*event_destroy)(quarry_event *event);
    enum quarry_status (*event_record)(quarry_event *event);
    /* Both have been recorded, on one backend and device. */
    enum quarry_status (*event_elapsed)(quarry_event *begin, quarry_event *end, double *microseconds);
};

struct quarry_event {
    const struct backend_ops *ops;
    struct quarry_target target;
    void *native;         /* CUDA: the cudaEvent_t */
    uint64_t nanoseconds; /* CPU: the time */
    int recorded;
};

extern const struct backend_ops quarry_backend_cpu;
#ifdef QUARRY_WITH_CUDA
extern const struct backend_ops quarry_backend_cuda;
#endif

/* Resolves *target (NULL: all zero) into *resolved and returns its backend's table in *ops. */
enum quarry_status quarry_backend_resolve(const struct quarry_target *target, struct quarry_target *resolved,
                                          const struct backend_ops **ops);

#endif
