/* SPDX-License-Identifier: Apache-2.0 */
/* The platform contract: everything that device code may ask of the machine.
 *
 * Exactly one implementation is included below: cuda.h (a GPU, sm_75 or newer) or cpu.h (the warp
 * executor of src/cpu).  Code above this room never asks which.  tests/simt states the same
 * expectations for both.
 *
 * Identity (of the calling lane; launches have less than 2^32 threads)
 *   uint32_t simt_lane()            0..31
 *   uint32_t simt_warp()            warp within its block
 *   uint32_t simt_thread()          thread within the whole launch: block * block size + index in block
 *   uint32_t simt_threads()         threads of the launch
 *   uint32_t simt_block_thread()    thread within its block
 *   uint32_t simt_block_threads()   threads of a block
 *   uint32_t simt_block()           block within the launch
 *   uint32_t simt_blocks()          blocks of the launch
 *   uint32_t simt_sm()              multiprocessor that runs the lane now; a hint (CPU: worker; deterministic: block)
 *
 * Collectives: every lane named in `mask` calls the same one, at the same place, with the same mask,
 * and the mask names the caller.  A lane that has returned must not be named.  They exchange values;
 * only simt_sync (and the block barrier) also orders memory.
 *   uint32_t simt_ballot(mask, predicate)           lanes of mask whose predicate is not 0
 *   int      simt_any(mask, predicate), simt_all(mask, predicate)
 *   uint32_t simt_shuffle_u32(mask, value, source)  value of lane source & 31, which must be in mask;
 *   uint64_t simt_shuffle_u64(mask, value, source)  a source outside mask gives an unspecified value
 *   uint32_t simt_match_u32(mask, value)            lanes of mask with the caller's value
 *   uint32_t simt_match_u64(mask, value)
 *   uint32_t simt_reduce_add_u32(mask, value)       and _min_u32, _max_u32, _or_u32; _add_u64
 *   void     simt_sync(mask)                        the lanes meet; what each did before happens-before
 *                                                   what any of them does after
 *   uint32_t simt_active()                          the caller and lanes of its warp that arrive here
 *                                                   together.  No promise which: a lane may be alone.
 *                                                   All lanes named get the same mask.  Take it once,
 *                                                   name it, pass it.
 * Block
 *   void  simt_block_barrier()      all threads of the block that have not returned; orders memory
 *   void *simt_shared()             block-shared memory, 16-byte aligned, of the size given at launch;
 *                                   not initialised
 *
 * Atomics: device scope, on naturally aligned words, T = u32 or u64; words of 64 bits are in global memory:
 * neither in a block's shared memory nor variables of a lane.  Where nobody uses the value before, a GPU
 * does not wait for it.  `order` is one of the bare words relaxed, acquire, release, acq_rel, and, for what
 * writes, fenced: a release that relies on a simt_fence(acq_rel) of the caller between it and what it
 * releases.  Several may rely on one.
 *   T    simt_load_T(pointer, order)                relaxed, acquire, and cached: as relaxed, but a GPU may answer
 *                                                   from the multiprocessor's own cache.  What is read is not older
 *                                                   than what happens-before the load, but may stay old until the
 *                                                   lane acquires something: no loop waits for it.  It may be mixed,
 *                                                   byte by byte, of values that lanes of other blocks store meanwhile
 *   void simt_store_T(pointer, value, order)        relaxed, release
 *   T    simt_exchange_T, simt_add_T, simt_sub_T, simt_and_T, simt_or_T, simt_xor_T, simt_min_T,
 *        simt_max_T (pointer, value, order)         return the value before
 *   T    simt_cas_T(pointer, expected, desired, order)   returns the value before; it was swapped if that
 *                                                   equals expected; a failure orders as acquire if order
 *                                                   acquires, else relaxed
 *   void simt_fence(order)                          acq_rel, seq_cst
 *
 * Waiting
 *   void simt_backoff()             the only legal body of a spin loop.  The loop waits for an atomic that
 *                                   another lane changes, or for simt_clock().  The CPU backend reports a
 *                                   deadlock when all lanes have backed off thousands of times (10000; in
 *                                   deterministic mode 200) without an atomic change or a look at the clock
 *   void *simt_in_global(p)         p, of which the compiler then knows that it is in the memory that all blocks
 *                                   share, and not on a stack: it need not look where it is at each use
 *   void simt_begin_early()         first in a kernel with a note, by all threads: waits until what was queued
 *                                   before it in its stream has ended, and sees what that did
 *   Every lane of every resident block makes progress on its own; at least as many blocks are resident
 *   as the CPU backend has workers.  No code relies on lanes moving in step.
 *
 * Time and bits
 *   uint64_t simt_clock()           ticks up within a block; unit unspecified; virtual in deterministic mode
 *   uint32_t simt_popc_u32(x), simt_popc_u64(x)     set bits
 *   uint32_t simt_ctz_u32(x), simt_ctz_u64(x)       index of the lowest set bit; x is not 0
 *   uint32_t simt_clz_u32(x)                        zeros above the highest set bit; x is not 0
 *   uint32_t simt_mulhi_u32(a, b)                   upper half of the product
 *   uint64_t simt_mulhi_u64(a, b)
 *   float simt_divide_f32(a, b)                     a / b within 2 units of the last place; b from 1 to 2^126
 *   uint32_t simt_opaque_u32(x)                     x, which the compiler does not know.  In a loop: what follows
 *                                                   from it is computed where it is used, not kept in registers
 *
 * Failing
 *   simt_trap(text)                 CPU: the kernel ends, and its launch returns ASSERT with the text.  CUDA:
 *                                   the device's context is lost; the host sees what the caller wrote before
 *                                   to memory that is the host's
 *   simt_assert(condition)          kept in debug builds of both backends (NDEBUG removes it)
 *
 * Memory of the platform's own allocator, aligned to 16: the CUDA toolkit's device malloc, the C library's
 *   void *simt_malloc(uint64_t bytes)               NULL if there is none
 *   void  simt_free(void *block)
 *
 * For mode weak of the CPU backend, which finds uses of what was freed or never written; else nothing
 *   void  simt_note_block(const void *block, uint64_t bytes)   a heap gives this block out; 0 bytes: takes it
 *                                                   back.  NULL is a no-op
 *   void  simt_note_usable(const void *block, uint64_t bytes)  the owner of a block was told that so many are its
 *   void  simt_note_plain(const void *memory, uint64_t bytes)  no block lies there, and users may do as they like
 */
#ifndef QUARRY_SIMT_SIMT_H
#define QUARRY_SIMT_SIMT_H

#include "quarry/simt/types.h"

#if SIMT_CUDA
#include "quarry/simt/cuda.h"
#else
#include "quarry/simt/cpu.h"
#endif

#define simt_load_u32(pointer, order) simt_load_u32_##order(pointer)
#define simt_load_u64(pointer, order) simt_load_u64_##order(pointer)
#define simt_store_u32(pointer, value, order) simt_store_u32_##order(pointer, value)
#define simt_store_u64(pointer, value, order) simt_store_u64_##order(pointer, value)
#define simt_exchange_u32(pointer, value, order) simt_exchange_u32_##order(pointer, value)
#define simt_exchange_u64(pointer, value, order) simt_exchange_u64_##order(pointer, value)
#define simt_cas_u32(pointer, expected, desired, order) simt_cas_u32_##order(pointer, expected, desired)
#define simt_cas_u64(pointer, expected, desired, order) simt_cas_u64_##order(pointer, expected, desired)
#define simt_add_u32(pointer, value, order) simt_add_u32_##order(pointer, value)
#define simt_add_u64(pointer, value, order) simt_add_u64_##order(pointer, value)
#define simt_sub_u32(pointer, value, order) simt_sub_u32_##order(pointer, value)
#define simt_sub_u64(pointer, value, order) simt_sub_u64_##order(pointer, value)
#define simt_and_u32(pointer, value, order) simt_and_u32_##order(pointer, value)
#define simt_and_u64(pointer, value, order) simt_and_u64_##order(pointer, value)
#define simt_or_u32(pointer, value, order) simt_or_u32_##order(pointer, value)
#define simt_or_u64(pointer, value, order) simt_or_u64_##order(pointer, value)
#define simt_xor_u32(pointer, value, order) simt_xor_u32_##order(pointer, value)
#define simt_xor_u64(pointer, value, order) simt_xor_u64_##order(pointer, value)
#define simt_min_u32(pointer, value, order) simt_min_u32_##order(pointer, value)
#define simt_min_u64(pointer, value, order) simt_min_u64_##order(pointer, value)
#define simt_max_u32(pointer, value, order) simt_max_u32_##order(pointer, value)
#define simt_max_u64(pointer, value, order) simt_max_u64_##order(pointer, value)
#define simt_fence(order) simt_fence_##order()

/* The lanes below the caller, as a mask. */
SIMT_FN uint32_t simt_lanes_below(void)
{
    return (1u << simt_lane()) - 1u;
}

/* How many lanes of `mask` are below the caller: its rank, if it is one of them. */
SIMT_FN uint32_t simt_rank(uint32_t mask)
{
    return simt_popc_u32(mask & simt_lanes_below());
}

#endif
