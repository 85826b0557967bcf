/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-width types and the few keywords that differ between C11 and CUDA C++.
 * NVRTC has no libc headers, so there the names are declared here, as CUDA's headers do it for NVRTC: a
 * kernel may include both. */
#ifndef QUARRY_SIMT_TYPES_H
#define QUARRY_SIMT_TYPES_H

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
#define SIMT_STATIC_ASSERT(condition, text) static_assert(condition, text)
#define SIMT_ALIGNAS(bytes) alignas(bytes)
#define SIMT_ALIGNOF(type) alignof(type)
#define SIMT_EXTERN_C extern "C"
#define SIMT_NULL nullptr
#else
#define SIMT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define SIMT_ALIGNAS(bytes) _Alignas(bytes)
#define SIMT_ALIGNOF(type) _Alignof(type)
#define SIMT_EXTERN_C extern
#define SIMT_NULL ((void *)0)
#endif

/* Which of the two views of a device source is being compiled. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SIMT_CUDA 1
#else
#define SIMT_CUDA 0
#endif
/* 1 in the C compiler's view, which of a source that is compiled for both has what the host needs once. */
#define SIMT_C_VIEW (!SIMT_CUDA)

/* SIMT_FN: a function that lanes call; SIMT_DEVICE: a member function, in C++.  SIMT_NOINLINE_FN: one whose
 * code and registers callers don't pay for until they call it; addresses and numbers are what to pass, as a
 * struct would go through the stack.  SIMT_HOST_FN: one that only the host calls; headers hide those from
 * NVRTC behind SIMT_HAS_HOST. */
#if SIMT_CUDA
#define SIMT_DEVICE __device__
#define SIMT_NOINLINE_FN static __device__ __noinline__ __attribute__((unused))
#else
#define SIMT_DEVICE
#define SIMT_NOINLINE_FN static __attribute__((noinline, unused))
#endif
#define SIMT_FN static inline SIMT_DEVICE
#define SIMT_HOST_FN static inline
#ifdef __CUDACC_RTC__
#define SIMT_HAS_HOST 0
#else
#define SIMT_HAS_HOST 1
#endif

/* In front of a loop that is not worth unrolling: each copy of its body costs the kernel code and registers.
 */
#if SIMT_CUDA
#define SIMT_ROLLED _Pragma("unroll 1")
#else
#define SIMT_ROLLED
#endif

/* 8 bytes of memory whose owner wrote it as whatever type it is. */
typedef uint64_t __attribute__((may_alias)) simt_raw;

#define SIMT_LANES 32u             /* lanes of a warp, on both backends */
#define SIMT_ALL_LANES 0xffffffffu /* the mask that names all of them */

#endif
