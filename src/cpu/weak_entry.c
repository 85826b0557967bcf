/* SPDX-License-Identifier: Apache-2.0 */
/* What code compiled with -fsanitize=thread calls, by gcc or clang: here in the place of the sanitizer's own
 * runtime.  Calls of no lane, and of launches in other modes, are plain accesses. */
#include "cpu/weak_run.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the compiler chose the names. */
#pragma GCC visibility push(default) /* what libquarry.so exports */

#define HERE ((uintptr_t)__builtin_return_address(0))
#define NOTHING(name, ...)                                                                                   \
    void name(__VA_ARGS__);                                                                                  \
    void name(__VA_ARGS__)

NOTHING(__tsan_init, void)
{
}
NOTHING(__tsan_func_entry, void *caller)
{
    (void)caller;
}
NOTHING(__tsan_func_exit, void)
{
}

/* ---- accesses without an atomic ---- */

static void plain(const void *address, uint64_t bytes, enum weak_kind kind, uintptr_t from)
{
    struct weak_lane *me = weak_self();
    if (me)
        weak_plain(me, (uintptr_t)address, bytes, kind, from);
    else if (kind == WEAK_WRITE)
        simt_weak_written(address, bytes);
}

#define PLAIN(name, bytes, kind)                                                                             \
    void name(const void *address);                                                                          \
    void name(const void *address)                                                                           \
    {                                                                                                        \
        plain(address, bytes, kind, HERE);                                                                   \
    }
#define PLAIN_RANGE(name, kind)                                                                              \
    void name(const void *address, unsigned long bytes);                                                     \
    void name(const void *address, unsigned long bytes)                                                      \
    {                                                                                                        \
        plain(address, bytes, kind, HERE);                                                                   \
    }
#define PLAIN_SIZE(bytes)                                                                                    \
    PLAIN(__tsan_read##bytes, bytes, WEAK_READ)                                                              \
    PLAIN(__tsan_write##bytes, bytes, WEAK_WRITE)                                                            \
    PLAIN(__tsan_unaligned_read##bytes, bytes, WEAK_READ)                                                    \
    PLAIN(__tsan_unaligned_write##bytes, bytes, WEAK_WRITE)
PLAIN_SIZE(1)
PLAIN_SIZE(2)
PLAIN_SIZE(4)
PLAIN_SIZE(8)
PLAIN_SIZE(16)
PLAIN(__tsan_vptr_read, sizeof(void *), WEAK_READ)
PLAIN_RANGE(__tsan_read_range, WEAK_READ)
PLAIN_RANGE(__tsan_write_range, WEAK_WRITE)

void __tsan_vptr_update(const void *address, const void *value);
void __tsan_vptr_update(const void *address, const void *value)
{
    (void)value;
    plain(address, sizeof(void *), WEAK_WRITE, HERE);
}

/* ---- atomics ---- */

/* C11's seq_cst accesses, which the platform's contract does not have: as strong as a fence before each. */
static struct weak_lane *self_before(int order)
{
    struct weak_lane *me = weak_self();
    if (me && order == __ATOMIC_SEQ_CST)
        weak_fence(me, order);
    return me;
}

#define CHANGE(type, bits, name, what, builtin)                                                              \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order);                        \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order)                         \
    {                                                                                                        \
        struct weak_lane *me = self_before(order);                                                           \
        if (!me)                                                                                             \
            return builtin(address, value, __ATOMIC_SEQ_CST);                                                \
        return (type)weak_change(me, (uintptr_t)address, sizeof(type), what, value, order, HERE);            \
    }
#define ATOMICS(type, bits)                                                                                  \
    type __tsan_atomic##bits##_load(const volatile type *address, int order);                                \
    type __tsan_atomic##bits##_load(const volatile type *address, int order)                                 \
    {                                                                                                        \
        struct weak_lane *me = self_before(order);                                                           \
        if (!me)                                                                                             \
            return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                               \
        return (type)weak_load(me, (uintptr_t)address, sizeof(type), order, HERE);                           \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order);                         \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order)                          \
    {                                                                                                        \
        struct weak_lane *me = self_before(order);                                                           \
        if (me)                                                                                              \
            weak_store(me, (uintptr_t)address, sizeof(type), value, order, HERE);                            \
        else                                                                                                 \
            __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                              \
    }                                                                                                        \
    CHANGE(type, bits, exchange, WEAK_EXCHANGE, __atomic_exchange_n)                                         \
    CHANGE(type, bits, fetch_add, WEAK_ADD, __atomic_fetch_add)                                              \
    CHANGE(type, bits, fetch_sub, WEAK_SUB, __atomic_fetch_sub)                                              \
    CHANGE(type, bits, fetch_and, WEAK_AND, __atomic_fetch_and)                                              \
    CHANGE(type, bits, fetch_or, WEAK_OR, __atomic_fetch_or)                                                 \
    CHANGE(type, bits, fetch_xor, WEAK_XOR, __atomic_fetch_xor)                                              \
    CHANGE(type, bits, fetch_nand, WEAK_NAND, __atomic_fetch_nand)                                           \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected, type desired,     \
                                                    int order, int failure);                                 \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected, type desired,     \
                                                    int order, int failure)                                  \
    {                                                                                                        \
        struct weak_lane *me = self_before(order);                                                           \
        if (me)                                                                                              \
            return (type)weak_compare_exchange(me, (uintptr_t)address, sizeof(type), expected, desired,      \
                                               order, failure, HERE);                                        \
        __atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
        return expected;                                                                                     \
    }                                                                                                        \
    COMPARE_EXCHANGE(type, bits, strong)                                                                     \
    COMPARE_EXCHANGE(type, bits, weak)
#define COMPARE_EXCHANGE(type, bits, name)                                                                   \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type desired,  \
                                                      int order, int failure);                               \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type desired,  \
                                                      int order, int failure)                                \
    {                                                                                                        \
        struct weak_lane *me = self_before(order);                                                           \
        if (!me)                                                                                             \
            return __atomic_compare_exchange_n(address, expected, desired, 0, __ATOMIC_SEQ_CST,              \
                                               __ATOMIC_SEQ_CST);                                            \
        type before = (type)weak_compare_exchange(me, (uintptr_t)address, sizeof(type), *expected, desired,  \
                                                  order, failure, HERE);                                     \
        int same = before == *expected;                                                                      \
        *expected = before;                                                                                  \
        return same;                                                                                         \
    }
ATOMICS(uint8_t, 8)
ATOMICS(uint16_t, 16)
ATOMICS(uint32_t, 32)
ATOMICS(uint64_t, 64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    struct weak_lane *me = weak_self();
    if (me)
        weak_fence(me, order);
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

NOTHING(__tsan_atomic_signal_fence, int order)
{
    (void)order;
}

#pragma GCC visibility pop
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- memory of the platform's allocator ---- */

void simt_cpu_forget(const void *memory, uint64_t bytes)
{
    struct weak_lane *me = weak_self();
    if (me)
        simt_weak_forget(me->weak, memory, bytes);
}
