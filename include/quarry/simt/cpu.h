/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of simt.h on the CPU: lanes are fibers of the warp executor in src/cpu/executor.c.
 * Included by simt.h only.
 *
 * Every atomic, fence and collective is a scheduling point.  `fuel` counts how many a lane may still
 * pass before the executor decides who runs next: a large number in fast mode, where it only keeps a
 * loop that forgot simt_backoff() from starving its siblings, and a random one, often 0, in
 * deterministic mode.  `changes` counts successful atomic changes: a round in which it stands still
 * while every lane waits is a round without progress. */
#ifndef QUARRY_SIMT_CPU_H
#define QUARRY_SIMT_CPU_H

#include "quarry/simt/types.h"

/* What a lane may know of itself.  The executor's own record of the lane begins with it. */
struct simt_cpu_lane {
    uint32_t lane;
    uint32_t warp;
    uint32_t block_thread;
    uint32_t block_threads;
    uint32_t block;
    uint32_t blocks;
    uint32_t worker;
    void *shared;
};

struct simt_cpu_state {
    struct simt_cpu_lane *self;
    int64_t fuel;
    uint64_t changes;
};

enum simt_cpu_op {
    SIMT_CPU_BALLOT,
    SIMT_CPU_SHUFFLE,
    SIMT_CPU_MATCH,
    SIMT_CPU_ADD,
    SIMT_CPU_MIN,
    SIMT_CPU_MAX,
    SIMT_CPU_OR,
    SIMT_CPU_SYNC
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what libquarry.so exports */
extern __thread struct simt_cpu_state simt_cpu __attribute__((tls_model("initial-exec")));

/* Calls of a lane into the executor.  preempt: its fuel is spent.  place: where the call stands in the kernel, for
 * reports. */
void simt_cpu_preempt(void);
uint64_t simt_cpu_collective(enum simt_cpu_op op, uint32_t mask, uint64_t value, uint32_t source,
                             const char *place);
uint32_t simt_cpu_active(const char *place);
void simt_cpu_barrier(const char *place);
void simt_cpu_backoff(const char *place);
uint64_t simt_cpu_clock(void);
void simt_cpu_assert_failed(const char *condition, const char *place) __attribute__((noreturn));
void simt_cpu_fence_annotate(void);
#ifdef SIMT_CPU_WEAK
void simt_cpu_forget(const void *memory, uint64_t bytes);
void simt_cpu_note_block(const void *block, uint64_t bytes);
void simt_cpu_note_usable(const void *block, uint64_t bytes);
void simt_cpu_note_plain(const void *memory, uint64_t bytes);
#endif
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#define SIMT_CPU_TEXT_(x) #x
#define SIMT_CPU_TEXT(x) SIMT_CPU_TEXT_(x)
#define SIMT_CPU_PLACE __FILE__ ":" SIMT_CPU_TEXT(__LINE__)

/* ---- identity ---- */
SIMT_FN uint32_t simt_lane(void)
{
    return simt_cpu.self->lane;
}
SIMT_FN uint32_t simt_warp(void)
{
    return simt_cpu.self->warp;
}
SIMT_FN uint32_t simt_block_thread(void)
{
    return simt_cpu.self->block_thread;
}
SIMT_FN uint32_t simt_block_threads(void)
{
    return simt_cpu.self->block_threads;
}
SIMT_FN uint32_t simt_block(void)
{
    return simt_cpu.self->block;
}
SIMT_FN uint32_t simt_blocks(void)
{
    return simt_cpu.self->blocks;
}
SIMT_FN uint32_t simt_thread(void)
{
    return simt_cpu.self->block * simt_cpu.self->block_threads + simt_cpu.self->block_thread;
}
SIMT_FN uint32_t simt_threads(void)
{
    return simt_cpu.self->blocks * simt_cpu.self->block_threads;
}
SIMT_FN uint32_t simt_sm(void)
{
    return simt_cpu.self->worker;
}

/* ---- collectives: macros only to take the place along ---- */
#define SIMT_CPU_VALUE_COLLECTIVE(name, type, op)                                                            \
    SIMT_FN type simt_cpu_##name(uint32_t mask, type value, const char *place)                               \
    {                                                                                                        \
        return (type)simt_cpu_collective(op, mask, value, 0, place);                                         \
    }
#define SIMT_CPU_SHUFFLE_COLLECTIVE(name, type)                                                              \
    SIMT_FN type simt_cpu_##name(uint32_t mask, type value, uint32_t source, const char *place)              \
    {                                                                                                        \
        return (type)simt_cpu_collective(SIMT_CPU_SHUFFLE, mask, value, source, place);                      \
    }
SIMT_CPU_VALUE_COLLECTIVE(ballot, uint32_t, SIMT_CPU_BALLOT)
SIMT_CPU_SHUFFLE_COLLECTIVE(shuffle_u32, uint32_t)
SIMT_CPU_SHUFFLE_COLLECTIVE(shuffle_u64, uint64_t)
SIMT_CPU_VALUE_COLLECTIVE(reduce_add_u32, uint32_t, SIMT_CPU_ADD)
SIMT_CPU_VALUE_COLLECTIVE(reduce_add_u64, uint64_t, SIMT_CPU_ADD)
SIMT_CPU_VALUE_COLLECTIVE(reduce_min_u32, uint32_t, SIMT_CPU_MIN)
SIMT_CPU_VALUE_COLLECTIVE(reduce_max_u32, uint32_t, SIMT_CPU_MAX)
SIMT_CPU_VALUE_COLLECTIVE(reduce_or_u32, uint32_t, SIMT_CPU_OR)
SIMT_FN uint32_t simt_cpu_match(uint32_t mask, uint64_t value, const char *place)
{
    return (uint32_t)simt_cpu_collective(SIMT_CPU_MATCH, mask, value, 0, place);
}
#undef SIMT_CPU_VALUE_COLLECTIVE
#undef SIMT_CPU_SHUFFLE_COLLECTIVE

#define simt_ballot(mask, predicate) simt_cpu_ballot(mask, (predicate) != 0, SIMT_CPU_PLACE)
#define simt_any(mask, predicate) (simt_ballot(mask, predicate) != 0)
#define simt_all(mask, predicate) (simt_ballot(mask, !(predicate)) == 0)
#define simt_shuffle_u32(mask, value, source) simt_cpu_shuffle_u32(mask, value, source, SIMT_CPU_PLACE)
#define simt_shuffle_u64(mask, value, source) simt_cpu_shuffle_u64(mask, value, source, SIMT_CPU_PLACE)
#define simt_match_u32(mask, value) simt_cpu_match(mask, (uint32_t)(value), SIMT_CPU_PLACE)
#define simt_match_u64(mask, value) simt_cpu_match(mask, value, SIMT_CPU_PLACE)
#define simt_reduce_add_u32(mask, value) simt_cpu_reduce_add_u32(mask, value, SIMT_CPU_PLACE)
#define simt_reduce_add_u64(mask, value) simt_cpu_reduce_add_u64(mask, value, SIMT_CPU_PLACE)
#define simt_reduce_min_u32(mask, value) simt_cpu_reduce_min_u32(mask, value, SIMT_CPU_PLACE)
#define simt_reduce_max_u32(mask, value) simt_cpu_reduce_max_u32(mask, value, SIMT_CPU_PLACE)
#define simt_reduce_or_u32(mask, value) simt_cpu_reduce_or_u32(mask, value, SIMT_CPU_PLACE)
#define simt_sync(mask) ((void)simt_cpu_collective(SIMT_CPU_SYNC, mask, 0, 0, SIMT_CPU_PLACE))
#define simt_active() simt_cpu_active(SIMT_CPU_PLACE)

/* ---- block ---- */
#define simt_block_barrier() simt_cpu_barrier(SIMT_CPU_PLACE)
SIMT_FN void *simt_shared(void)
{
    return simt_cpu.self->shared;
}

/* ---- atomics ---- */
#ifdef __SANITIZE_THREAD__
#define SIMT_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMT_CPU_TSAN 1
#endif
#endif
#ifndef SIMT_CPU_TSAN
#define SIMT_CPU_TSAN 0
#endif
/* simt_cpu is one worker's, whichever of its lanes runs: ThreadSanitizer would see lanes race for it. */
#if SIMT_CPU_TSAN
#define SIMT_CPU_OWN __attribute__((no_sanitize("thread")))
#else
#define SIMT_CPU_OWN
#endif

SIMT_CPU_OWN SIMT_FN void simt_cpu_changed(int changed)
{
    simt_cpu.changes += changed != 0;
}

SIMT_CPU_OWN SIMT_FN void simt_cpu_point(void)
{
    if (__builtin_expect(--simt_cpu.fuel < 0, 0))
        simt_cpu_preempt();
}

#define SIMT_CPU_RMW(T, type, name, builtin, after, order, ORDER)                                            \
    SIMT_FN type simt_##name##_##T##_##order(type *pointer, type value)                                      \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        type before = builtin(pointer, value, ORDER);                                                        \
        simt_cpu_changed((after) != before);                                                                 \
        return before;                                                                                       \
    }
/* GCC has no fetch_min: a compare-exchange loop, which is still one change at one instant. */
#define SIMT_CPU_MINMAX(T, type, name, less, order, ORDER)                                                   \
    SIMT_FN type simt_##name##_##T##_##order(type *pointer, type value)                                      \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        type before = __atomic_load_n(pointer, __ATOMIC_RELAXED);                                            \
        type after;                                                                                          \
        do {                                                                                                 \
            after = value less before ? value : before;                                                      \
        } while (!__atomic_compare_exchange_n(pointer, &before, after, 0, ORDER, __ATOMIC_RELAXED));         \
        simt_cpu_changed(after != before);                                                                   \
        return before;                                                                                       \
    }
#define SIMT_CPU_ORDERED(T, type, order, ORDER, FAILED)                                                      \
    SIMT_CPU_RMW(T, type, exchange, __atomic_exchange_n, value, order, ORDER)                                \
    SIMT_CPU_RMW(T, type, add, __atomic_fetch_add, before + value, order, ORDER)                             \
    SIMT_CPU_RMW(T, type, sub, __atomic_fetch_sub, before - value, order, ORDER)                             \
    SIMT_CPU_RMW(T, type, and, __atomic_fetch_and, before &value, order, ORDER)                              \
    SIMT_CPU_RMW(T, type, or, __atomic_fetch_or, before | value, order, ORDER)                               \
    SIMT_CPU_RMW(T, type, xor, __atomic_fetch_xor, before ^ value, order, ORDER)                             \
    SIMT_CPU_MINMAX(T, type, min, <, order, ORDER)                                                           \
    SIMT_CPU_MINMAX(T, type, max, >, order, ORDER)                                                           \
    SIMT_FN type simt_cas_##T##_##order(type *pointer, type expected, type desired)                          \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        type before = expected;                                                                              \
        if (__atomic_compare_exchange_n(pointer, &before, desired, 0, ORDER, FAILED))                        \
            simt_cpu_changed(desired != expected);                                                           \
        return before;                                                                                       \
    }
#define SIMT_CPU_ATOMICS(T, type)                                                                            \
    SIMT_FN type simt_load_##T##_relaxed(const type *pointer)                                                \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        return __atomic_load_n(pointer, __ATOMIC_RELAXED);                                                   \
    }                                                                                                        \
    SIMT_FN type simt_load_##T##_cached(const type *pointer)                                                 \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        return __atomic_load_n(pointer, __ATOMIC_RELAXED);                                                   \
    }                                                                                                        \
    SIMT_FN type simt_load_##T##_acquire(const type *pointer)                                                \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        return __atomic_load_n(pointer, __ATOMIC_ACQUIRE);                                                   \
    }                                                                                                        \
    SIMT_FN void simt_store_##T##_relaxed(type *pointer, type value)                                         \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        __atomic_store_n(pointer, value, __ATOMIC_RELAXED);                                                  \
        simt_cpu_changed(1);                                                                                 \
    }                                                                                                        \
    SIMT_FN void simt_store_##T##_release(type *pointer, type value)                                         \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        __atomic_store_n(pointer, value, __ATOMIC_RELEASE);                                                  \
        simt_cpu_changed(1);                                                                                 \
    }                                                                                                        \
    SIMT_FN void simt_store_##T##_fenced(type *pointer, type value)                                          \
    {                                                                                                        \
        simt_cpu_point();                                                                                    \
        __atomic_store_n(pointer, value, SIMT_CPU_FENCED);                                                   \
        simt_cpu_changed(1);                                                                                 \
    }                                                                                                        \
    SIMT_CPU_ORDERED(T, type, relaxed, __ATOMIC_RELAXED, __ATOMIC_RELAXED)                                   \
    SIMT_CPU_ORDERED(T, type, acquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)                                   \
    SIMT_CPU_ORDERED(T, type, release, __ATOMIC_RELEASE, __ATOMIC_RELAXED)                                   \
    SIMT_CPU_ORDERED(T, type, fenced, SIMT_CPU_FENCED, __ATOMIC_RELAXED)                                     \
    SIMT_CPU_ORDERED(T, type, acq_rel, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* ThreadSanitizer does not understand fences: there each is an acquire and a release of one token, and what
 * relies on one is a release by itself.  Mode weak understands them. */
#ifdef SIMT_CPU_WEAK
#define SIMT_CPU_FENCED __ATOMIC_RELAXED
#else
#define SIMT_CPU_FENCED __ATOMIC_RELEASE
#endif

SIMT_CPU_ATOMICS(u32, uint32_t)
SIMT_CPU_ATOMICS(u64, uint64_t)
#undef SIMT_CPU_ATOMICS
#undef SIMT_CPU_ORDERED
#undef SIMT_CPU_MINMAX
#undef SIMT_CPU_RMW

SIMT_FN void simt_fence_acq_rel(void)
{
    simt_cpu_point();
#if SIMT_CPU_TSAN && !defined(SIMT_CPU_WEAK)
    simt_cpu_fence_annotate();
#else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}
SIMT_FN void simt_fence_seq_cst(void)
{
    simt_cpu_point();
#if SIMT_CPU_TSAN && !defined(SIMT_CPU_WEAK)
    simt_cpu_fence_annotate();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* ---- waiting, time, bits ---- */
SIMT_FN void *simt_in_global(void *p)
{
    return p;
}
SIMT_FN void simt_begin_early(void)
{
}
#define simt_backoff() simt_cpu_backoff(SIMT_CPU_PLACE)
SIMT_FN uint64_t simt_clock(void)
{
    return simt_cpu_clock();
}
SIMT_FN uint32_t simt_opaque_u32(uint32_t x)
{
    return x;
}
SIMT_FN uint32_t simt_popc_u32(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}
SIMT_FN uint32_t simt_popc_u64(uint64_t x)
{
    return (uint32_t)__builtin_popcountll(x);
}
SIMT_FN uint32_t simt_ctz_u32(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}
SIMT_FN uint32_t simt_ctz_u64(uint64_t x)
{
    return (uint32_t)__builtin_ctzll(x);
}
SIMT_FN uint32_t simt_clz_u32(uint32_t x)
{
    return (uint32_t)__builtin_clz(x);
}
SIMT_FN uint32_t simt_mulhi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}
SIMT_FN uint64_t simt_mulhi_u64(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)a * b) >> 64);
}
SIMT_FN float simt_divide_f32(float a, float b)
{
    return a / b;
}

/* ---- the platform's own allocator ---- */
SIMT_FN void *simt_malloc(uint64_t bytes)
{
    simt_cpu_point();
    simt_cpu_changed(1);
    void *block = __builtin_malloc(bytes);
#ifdef SIMT_CPU_WEAK
    simt_cpu_forget(block, block ? bytes : 0); /* the C library orders a block's owners */
#endif
    return block;
}
SIMT_FN void simt_free(void *block)
{
    simt_cpu_point();
    simt_cpu_changed(1);
    __builtin_free(block);
}

#ifdef SIMT_CPU_WEAK
#define simt_note_block(block, bytes) simt_cpu_note_block(block, bytes)
#define simt_note_usable(block, bytes) simt_cpu_note_usable(block, bytes)
#define simt_note_plain(memory, bytes) simt_cpu_note_plain(memory, bytes)
#else
#define simt_note_block(block, bytes) ((void)0)
#define simt_note_usable(block, bytes) ((void)0)
#define simt_note_plain(memory, bytes) ((void)0)
#endif

#define simt_trap(text) simt_cpu_assert_failed(text, SIMT_CPU_PLACE)
#ifdef NDEBUG
#define simt_assert(condition) ((void)0)
#else
#define simt_assert(condition) ((condition) ? (void)0 : simt_cpu_assert_failed(#condition, SIMT_CPU_PLACE))
#endif

#endif
