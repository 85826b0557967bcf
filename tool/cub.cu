/* SPDX-License-Identifier: Apache-2.0 */
/* CUB for C; the contracts are in cub.h. */
#include "cub.h"

#include <cub/device/device_scan.cuh>

const char *cub_scan_u64(void *temporary, size_t *bytes, uint64_t *values, uint64_t count, void *stream)
{
    /* The library numbers devices its own way, so the memory tells which it is. */
    struct cudaPointerAttributes attributes;
    cudaError_t error = cudaPointerGetAttributes(&attributes, values);
    if (error == cudaSuccess)
        error = cudaSetDevice(attributes.device);
    if (error == cudaSuccess)
        error = cub::DeviceScan::ExclusiveSum(temporary, *bytes, values, values, (int64_t)count,
                                              (cudaStream_t)stream);
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}
