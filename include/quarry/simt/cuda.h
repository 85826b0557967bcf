/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of simt.h on a CUDA device, sm_75 or newer.  Included by simt.h only. */
#ifndef QUARRY_SIMT_CUDA_H
#define QUARRY_SIMT_CUDA_H

#include "quarry/simt/types.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
#error "quarry needs compute capability 7.5 or newer"
#endif

/* ---- identity ---- */
SIMT_FN uint32_t simt_lane(void)
{
    uint32_t lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
SIMT_FN uint32_t simt_block_thread(void)
{
    return threadIdx.x;
}
SIMT_FN uint32_t simt_block_threads(void)
{
    return blockDim.x;
}
SIMT_FN uint32_t simt_block(void)
{
    return blockIdx.x;
}
SIMT_FN uint32_t simt_blocks(void)
{
    return gridDim.x;
}
SIMT_FN uint32_t simt_warp(void)
{
    return threadIdx.x / SIMT_LANES;
}
SIMT_FN uint32_t simt_thread(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}
SIMT_FN uint32_t simt_threads(void)
{
    return gridDim.x * blockDim.x;
}
SIMT_FN uint32_t simt_sm(void)
{
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* ---- collectives ---- */
SIMT_FN uint32_t simt_ballot(uint32_t mask, int predicate)
{
    return __ballot_sync(mask, predicate);
}
SIMT_FN int simt_any(uint32_t mask, int predicate)
{
    return __any_sync(mask, predicate);
}
SIMT_FN int simt_all(uint32_t mask, int predicate)
{
    return __all_sync(mask, predicate);
}
SIMT_FN uint32_t simt_shuffle_u32(uint32_t mask, uint32_t value, uint32_t source)
{
    return __shfl_sync(mask, value, (int)source);
}
SIMT_FN uint64_t simt_shuffle_u64(uint32_t mask, uint64_t value, uint32_t source)
{
    return (uint64_t)__shfl_sync(mask, (unsigned long long)value, (int)source);
}
SIMT_FN uint32_t simt_match_u32(uint32_t mask, uint32_t value)
{
    return __match_any_sync(mask, value);
}
SIMT_FN uint32_t simt_match_u64(uint32_t mask, uint64_t value)
{
    return __match_any_sync(mask, (unsigned long long)value);
}
SIMT_FN void simt_sync(uint32_t mask)
{
    __syncwarp(mask);
}

/* The compiler takes a bare __activemask() for one value of the warp and then checks no more that lanes which
 * run together have the same mask.  They need not: two groups that come here one after the other may be
 * made to run together later, and on an H200 votes of one then counted lanes of the other.  A mask that
 * depends on the lane is checked at each collective; the caller's own bit is set anyway. */
SIMT_FN uint32_t simt_active(void)
{
    return __activemask() | 1u << simt_lane();
}

/* sm_75 has no redux instruction, and no chip one for 64-bit sums: every lane walks the mask. */
#define SIMT_CUDA_REDUCE_LOOP(type, shuffle, combine)                                                        \
    type total = shuffle(mask, value, (uint32_t)__ffs((int)mask) - 1u);                                      \
    for (uint32_t rest = mask & (mask - 1u); rest; rest &= rest - 1u) {                                      \
        type other = shuffle(mask, value, (uint32_t)__ffs((int)rest) - 1u);                                  \
        total = combine;                                                                                     \
    }                                                                                                        \
    return total

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define SIMT_CUDA_REDUCE(name, intrinsic, combine)                                                           \
    SIMT_FN uint32_t name(uint32_t mask, uint32_t value)                                                     \
    {                                                                                                        \
        return intrinsic(mask, value);                                                                       \
    }
#else
#define SIMT_CUDA_REDUCE(name, intrinsic, combine)                                                           \
    SIMT_FN uint32_t name(uint32_t mask, uint32_t value)                                                     \
    {                                                                                                        \
        SIMT_CUDA_REDUCE_LOOP(uint32_t, simt_shuffle_u32, combine);                                          \
    }
#endif
SIMT_CUDA_REDUCE(simt_reduce_add_u32, __reduce_add_sync, total + other)
SIMT_CUDA_REDUCE(simt_reduce_min_u32, __reduce_min_sync, total < other ? total : other)
SIMT_CUDA_REDUCE(simt_reduce_max_u32, __reduce_max_sync, total > other ? total : other)
SIMT_CUDA_REDUCE(simt_reduce_or_u32, __reduce_or_sync, total | other)
SIMT_FN uint64_t simt_reduce_add_u64(uint32_t mask, uint64_t value)
{
    SIMT_CUDA_REDUCE_LOOP(uint64_t, simt_shuffle_u64, total + other);
}
#undef SIMT_CUDA_REDUCE
#undef SIMT_CUDA_REDUCE_LOOP

/* ---- block ---- */
SIMT_FN void simt_block_barrier(void)
{
    __syncthreads();
}
SIMT_FN void *simt_shared(void)
{
    extern __shared__ __align__(16) unsigned char simt_cuda_shared[];
    return simt_cuda_shared;
}

/* ---- atomics: the compiler's built-ins want the order as a literal, so one function each ---- */
#define SIMT_CUDA_RMW(T, type, name, builtin, order, ORDER)                                                  \
    SIMT_FN type simt_##name##_##T##_##order(type *pointer, type value)                                      \
    {                                                                                                        \
        return builtin(pointer, value, ORDER, __NV_THREAD_SCOPE_DEVICE);                                     \
    }
#define SIMT_CUDA_ORDERED(T, type, order, ORDER, FAILED)                                                     \
    SIMT_CUDA_RMW(T, type, exchange, __nv_atomic_exchange_n, order, ORDER)                                   \
    SIMT_CUDA_RMW(T, type, add, __nv_atomic_fetch_add, order, ORDER)                                         \
    SIMT_CUDA_RMW(T, type, sub, __nv_atomic_fetch_sub, order, ORDER)                                         \
    SIMT_CUDA_RMW(T, type, and, __nv_atomic_fetch_and, order, ORDER)                                         \
    SIMT_CUDA_RMW(T, type, or, __nv_atomic_fetch_or, order, ORDER)                                           \
    SIMT_CUDA_RMW(T, type, xor, __nv_atomic_fetch_xor, order, ORDER)                                         \
    SIMT_CUDA_RMW(T, type, min, __nv_atomic_fetch_min, order, ORDER)                                         \
    SIMT_CUDA_RMW(T, type, max, __nv_atomic_fetch_max, order, ORDER)                                         \
    SIMT_FN type simt_cas_##T##_##order(type *pointer, type expected, type desired)                          \
    {                                                                                                        \
        __nv_atomic_compare_exchange_n(pointer, &expected, desired, false, ORDER, FAILED,                    \
                                       __NV_THREAD_SCOPE_DEVICE);                                            \
        return expected;                                                                                     \
    }
#define SIMT_CUDA_ATOMICS(T, type)                                                                           \
    SIMT_FN type simt_load_##T##_relaxed(const type *pointer)                                                \
    {                                                                                                        \
        return __nv_atomic_load_n((type *)pointer, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);           \
    }                                                                                                        \
    SIMT_FN type simt_load_##T##_acquire(const type *pointer)                                                \
    {                                                                                                        \
        return __nv_atomic_load_n((type *)pointer, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);           \
    }                                                                                                        \
    SIMT_FN void simt_store_##T##_relaxed(type *pointer, type value)                                         \
    {                                                                                                        \
        __nv_atomic_store_n(pointer, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);                  \
    }                                                                                                        \
    SIMT_FN void simt_store_##T##_release(type *pointer, type value)                                         \
    {                                                                                                        \
        __nv_atomic_store_n(pointer, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);                  \
    }                                                                                                        \
    SIMT_CUDA_ORDERED(T, type, relaxed, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED)                            \
    SIMT_CUDA_ORDERED(T, type, acquire, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_ACQUIRE)                            \
    SIMT_CUDA_ORDERED(T, type, release, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED)                            \
    SIMT_CUDA_ORDERED(T, type, fenced, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED)                             \
    SIMT_CUDA_ORDERED(T, type, acq_rel, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE)

SIMT_CUDA_ATOMICS(u32, uint32_t)
SIMT_CUDA_ATOMICS(u64, uint64_t)
#undef SIMT_CUDA_ATOMICS
#undef SIMT_CUDA_ORDERED
#undef SIMT_CUDA_RMW

SIMT_FN void simt_fence_acq_rel(void)
{
    __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
}
SIMT_FN void simt_fence_seq_cst(void)
{
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
}

/* ---- waiting, time, bits ---- */
#define SIMT_CUDA_BACKOFF_NS 64u
SIMT_FN void simt_backoff(void)
{
    __nanosleep(SIMT_CUDA_BACKOFF_NS);
}
SIMT_FN uint64_t simt_clock(void)
{
    return (uint64_t)clock64();
}
SIMT_FN uint32_t simt_popc_u32(uint32_t x)
{
    return (uint32_t)__popc(x);
}
SIMT_FN uint32_t simt_popc_u64(uint64_t x)
{
    return (uint32_t)__popcll(x);
}
SIMT_FN uint32_t simt_ctz_u32(uint32_t x)
{
    return (uint32_t)__ffs((int)x) - 1u;
}
SIMT_FN uint32_t simt_ctz_u64(uint64_t x)
{
    return (uint32_t)__ffsll((long long)x) - 1u;
}
SIMT_FN uint32_t simt_clz_u32(uint32_t x)
{
    return (uint32_t)__clz((int)x);
}
SIMT_FN uint32_t simt_mulhi_u32(uint32_t a, uint32_t b)
{
    return __umulhi(a, b);
}
SIMT_FN uint64_t simt_mulhi_u64(uint64_t a, uint64_t b)
{
    return __umul64hi(a, b);
}

/* ---- the platform's own allocator ---- */
SIMT_FN void *simt_malloc(uint64_t bytes)
{
    return malloc(bytes);
}
SIMT_FN void simt_free(void *block)
{
    free(block);
}

#define simt_trap(text) (__threadfence_system(), __trap())
#ifdef NDEBUG
#define simt_assert(condition) ((void)0)
#else
#define simt_assert(condition) ((condition) ? (void)0 : __trap())
#endif

#endif
