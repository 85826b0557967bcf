/* SPDX-License-Identifier: Apache-2.0 */
/* CUB for C; the contracts are in cub.h. */
#include "cub.h"

/* Types that CUB's headers take long for, and nobody here sorts or adds. */
#define CCCL_DISABLE_FP16_SUPPORT
#define CCCL_DISABLE_BF16_SUPPORT

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

/* The library numbers devices its own way, so the memory tells which it is. */
static cudaError_t use_device_of(const void *memory)
{
    struct cudaPointerAttributes attributes;
    cudaError_t error = cudaPointerGetAttributes(&attributes, memory);
    return error == cudaSuccess ? cudaSetDevice(attributes.device) : error;
}

static const char *sentence(cudaError_t error)
{
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

const char *cub_scan_u64(void *temporary, size_t *bytes, uint64_t *values, uint64_t count, void *stream)
{
    cudaError_t error = use_device_of(values);
    if (error == cudaSuccess)
        error = cub::DeviceScan::ExclusiveSum(temporary, *bytes, values, values, (int64_t)count,
                                              (cudaStream_t)stream);
    return sentence(error);
}

const char *cub_sort_u64(void *temporary, size_t *bytes, uint64_t **words, uint64_t **other, uint64_t count,
                         uint32_t shift, uint32_t bits, void *stream)
{
    cub::DoubleBuffer<uint64_t> both(*words, *other);
    cudaError_t error = use_device_of(*words);
    if (error == cudaSuccess)
        error = cub::DeviceRadixSort::SortKeys(temporary, *bytes, both, (int64_t)count, (int)shift,
                                               (int)(shift + bits), (cudaStream_t)stream);
    if (error == cudaSuccess && temporary) {
        *words = both.Current();
        *other = both.Alternate();
    }
    return sentence(error);
}
