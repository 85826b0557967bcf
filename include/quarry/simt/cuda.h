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

/* ---- atomics ---- */
/* In PTX, as the compiler's built-ins can't be told that an address is global.  A 64-bit one that may be in
 * shared memory has a loop for that case, and waits for the answer although nobody needs it.  (A generic
 * address in global memory is its global address.) */
#define SIMT_CUDA_RMW(T, type, C, name, operation, value_of, order, ORDER)                                   \
    SIMT_FN type simt_##name##_##T##_##order(type *pointer, type value)                                      \
    {                                                                                                        \
        type before;                                                                                         \
        asm volatile("atom." ORDER ".gpu" operation " %0, [%1], %2;"                                         \
                     : "=" C(before)                                                                         \
                     : "l"(pointer), C(value_of value)                                                       \
                     : "memory");                                                                            \
        return before;                                                                                       \
    }
#define SIMT_CUDA_ORDERED(T, type, C, WHERE, BITS, order, ORDER)                                             \
    SIMT_CUDA_RMW(T, type, C, exchange, WHERE ".exch.b" BITS, , order, ORDER)                                \
    SIMT_CUDA_RMW(T, type, C, add, WHERE ".add.u" BITS, , order, ORDER)                                      \
    SIMT_CUDA_RMW(T, type, C, sub, WHERE ".add.u" BITS, (type)0 -, order, ORDER)                             \
    SIMT_CUDA_RMW(T, type, C, and, WHERE ".and.b" BITS, , order, ORDER)                                      \
    SIMT_CUDA_RMW(T, type, C, or, WHERE ".or.b" BITS, , order, ORDER)                                        \
    SIMT_CUDA_RMW(T, type, C, xor, WHERE ".xor.b" BITS, , order, ORDER)                                      \
    SIMT_CUDA_RMW(T, type, C, min, WHERE ".min.u" BITS, , order, ORDER)                                      \
    SIMT_CUDA_RMW(T, type, C, max, WHERE ".max.u" BITS, , order, ORDER)                                      \
    SIMT_FN type simt_cas_##T##_##order(type *pointer, type expected, type desired)                          \
    {                                                                                                        \
        type before;                                                                                         \
        asm volatile("atom." ORDER ".gpu" WHERE ".cas.b" BITS " %0, [%1], %2, %3;"                           \
                     : "=" C(before)                                                                         \
                     : "l"(pointer), C(expected), C(desired)                                                 \
                     : "memory");                                                                            \
        return before;                                                                                       \
    }
#define SIMT_CUDA_LOAD(T, type, C, WHERE, BITS, order, ORDER, SCOPE)                                         \
    SIMT_FN type simt_load_##T##_##order(const type *pointer)                                                \
    {                                                                                                        \
        type value;                                                                                          \
        asm volatile("ld." ORDER "." SCOPE WHERE ".b" BITS " %0, [%1];"                                      \
                     : "=" C(value)                                                                          \
                     : "l"(pointer)                                                                          \
                     : "memory");                                                                            \
        return value;                                                                                        \
    }
#define SIMT_CUDA_STORE(T, type, C, WHERE, BITS, order, ORDER)                                               \
    SIMT_FN void simt_store_##T##_##order(type *pointer, type value)                                         \
    {                                                                                                        \
        asm volatile("st." ORDER ".gpu" WHERE ".b" BITS " [%0], %1;" : : "l"(pointer), C(value) : "memory"); \
    }
#define SIMT_CUDA_ATOMICS(T, type, C, WHERE, BITS)                                                           \
    SIMT_CUDA_LOAD(T, type, C, WHERE, BITS, relaxed, "relaxed", "gpu")                                       \
    SIMT_CUDA_LOAD(T, type, C, WHERE, BITS, cached, "relaxed", "cta")                                        \
    SIMT_CUDA_LOAD(T, type, C, WHERE, BITS, acquire, "acquire", "gpu")                                       \
    SIMT_CUDA_STORE(T, type, C, WHERE, BITS, relaxed, "relaxed")                                             \
    SIMT_CUDA_STORE(T, type, C, WHERE, BITS, release, "release")                                             \
    SIMT_CUDA_STORE(T, type, C, WHERE, BITS, fenced, "relaxed")                                              \
    SIMT_CUDA_ORDERED(T, type, C, WHERE, BITS, relaxed, "relaxed")                                           \
    SIMT_CUDA_ORDERED(T, type, C, WHERE, BITS, acquire, "acquire")                                           \
    SIMT_CUDA_ORDERED(T, type, C, WHERE, BITS, release, "release")                                           \
    SIMT_CUDA_ORDERED(T, type, C, WHERE, BITS, fenced, "relaxed")                                            \
    SIMT_CUDA_ORDERED(T, type, C, WHERE, BITS, acq_rel, "acq_rel")

SIMT_CUDA_ATOMICS(u32, uint32_t, "r", "", "32")
SIMT_CUDA_ATOMICS(u64, uint64_t, "l", ".global", "64")
#undef SIMT_CUDA_ATOMICS
#undef SIMT_CUDA_STORE
#undef SIMT_CUDA_LOAD
#undef SIMT_CUDA_ORDERED
#undef SIMT_CUDA_RMW

SIMT_FN void simt_fence_acq_rel(void)
{
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
}
SIMT_FN void simt_fence_seq_cst(void)
{
    asm volatile("fence.sc.gpu;" : : : "memory");
}

/* ---- waiting, time, bits ---- */
SIMT_FN void *simt_in_global(void *p)
{
#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(p));
#endif
    return p;
}
SIMT_FN void simt_begin_early(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
#define SIMT_CUDA_BACKOFF_NS 64u
SIMT_FN void simt_backoff(void)
{
    __nanosleep(SIMT_CUDA_BACKOFF_NS);
}
SIMT_FN uint64_t simt_clock(void)
{
    return (uint64_t)clock64();
}
SIMT_FN uint32_t simt_opaque_u32(uint32_t x)
{
    asm volatile("" : "+r"(x));
    return x;
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
SIMT_FN float simt_divide_f32(float a, float b)
{
    float ratio; /* __fdividef looks for subnormal numbers first */
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(ratio) : "f"(a), "f"(b));
    return ratio;
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

#define simt_note_block(block, bytes) ((void)0)
#define simt_note_usable(block, bytes) ((void)0)
#define simt_note_plain(memory, bytes) ((void)0)
#define simt_trap(text) (__threadfence_system(), __trap())
#ifdef NDEBUG
#define simt_assert(condition) ((void)0)
#else
#define simt_assert(condition) ((condition) ? (void)0 : __trap())
#endif

#endif
