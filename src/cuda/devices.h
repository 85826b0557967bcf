/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CUDA backend share: its devices, the current one, and CUDA's errors as statuses.
 *
 * Every function that needs a device makes it current and gives the caller's back.  Errors that a call
 * returns are taken out of the runtime's last-error slot, so that the caller's own next
 * cudaGetLastError() does not see them; those that break the context stay with it, and come back from
 * every later call. */
#ifndef QUARRY_CUDA_DEVICES_H
#define QUARRY_CUDA_DEVICES_H

#include "host/backend.h"
#include "host/fail.h"

#include <cuda_runtime_api.h>

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

/* ---- backend.c ---- */

const struct device *quarry_cudart_device_of(const struct quarry_target *target);

static inline cudaStream_t quarry_cudart_stream_of(const struct quarry_target *target)
{
    return (cudaStream_t)target->stream;
}

/* What a call of the runtime has returned, as a status with a sentence. */
enum quarry_status quarry_cudart_check(cudaError_t error, const char *call);

/* The same for the calls that allocate `bytes`: they fail in several ways when asked for the impossible. */
enum quarry_status quarry_cudart_check_memory(cudaError_t error, const char *call, uint64_t bytes);

/* Makes the target's device current; *previous is what quarry_cudart_leave() goes back to. */
enum quarry_status quarry_cudart_enter(const struct quarry_target *target, int *previous);

/* Passes `status` on: what went wrong before matters more than whether this works. */
enum quarry_status quarry_cudart_leave(const struct quarry_target *target, int previous,
                                       enum quarry_status status);

/* ---- memory.c: the calls of struct backend_ops that make, free, copy and fill memory ---- */

enum quarry_status quarry_cudart_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                               uint64_t bytes, void **out);
enum quarry_status quarry_cudart_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                                void *memory);
enum quarry_status quarry_cudart_platform_heap(const struct quarry_target *target, uint64_t bytes);
enum quarry_status quarry_cudart_buffer_map(const struct quarry_target *target, void *buffer, uint64_t bytes,
                                            void **mapped);
enum quarry_status quarry_cudart_copy(const struct quarry_target *target, void *to, const void *from,
                                      uint64_t bytes);
enum quarry_status quarry_cudart_fill(const struct quarry_target *target, void *memory, int byte,
                                      uint64_t bytes);

#endif
