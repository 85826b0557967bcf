/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are compiled once for each allocator, so that none has the registers that another needs.
 *
 * quarry_add_kernel_for_each_allocator (cmake/QuarryEachAllocator.cmake) compiles a source so, with
 * QUARRY_ALLOCATOR defined.  Such a source has the allocator's name behind its own ones:
 *
 *     EACH_KERNEL(fill, struct fill, a) { ... }                    // fill_corw, fill_scatter, ...
 *     #if SIMT_C_VIEW
 *     const struct fill_kernels EACH_NAME(fill_kernels) = {&EACH_NAME(fill)};
 *     #endif
 *
 * The host picks one of these by the heap's allocator, a number of handle.h; EACH_OF(fill_kernels, id) is the
 * one for an entry of list.def.  It is for plain heaps.  EACH_COMPOSED_OF is that for heaps with policies or
 * in debug mode, if the source is compiled for these, too.  Where it is compiled once only, without
 * QUARRY_ALLOCATOR, the name behind is `any`, and that is for all heaps.  A source that is compiled once more
 * for recording plain heaps (quarry_add_traced_kernel) has `traced` there: EACH_TRACED(fill_kernels), for all
 * allocators. */
#ifndef QUARRY_BENCH_EACH_ALLOCATOR_H
#define QUARRY_BENCH_EACH_ALLOCATOR_H

#include "quarry/device.h"

#ifdef QUARRY_EACH_ALLOCATOR
#define EACH_OF(name, id) name##_##id
#define EACH_COMPOSED_OF(name, id) name##_##id##_composed
#define EACH_TRACED(name) name##_traced
#else
#define EACH_OF(name, id) name##_any
#define EACH_COMPOSED_OF(name, id) name##_any
#define EACH_TRACED(name) name##_any /* which record nothing */
#endif

#ifdef EACH_SUFFIX /* of a file that is made by QuarryEachAllocator.cmake */
#elif !defined(QUARRY_ALLOCATOR)
#define EACH_SUFFIX any
#else
#define EACH_SUFFIX QUARRY_ALLOCATOR
#endif
#define EACH_PASTE_(name, suffix) name##_##suffix
#define EACH_PASTE(name, suffix) EACH_PASTE_(name, suffix)
#define EACH_NAME(name) EACH_PASTE(name, EACH_SUFFIX)

#if SIMT_HAS_HOST
/* Whether a heap is for the composed kernels.  Pages that are aligned need no policy, but kernels for plain
 * heaps are compiled for an alignment of 16. */
static inline int each_is_composed(const struct quarry_handle *heap)
{
    return heap->policy != SIMT_NULL || heap->shrink > 16;
}
#endif

#define EACH_KERNEL_(name, type, argument) SIMT_KERNEL(name, type, argument)
#define EACH_KERNEL(name, type, argument) EACH_KERNEL_(EACH_NAME(name), type, argument)
#define EACH_KERNEL_RESIDENT_(name, type, argument, threads, blocks)                                         \
    SIMT_KERNEL_RESIDENT(name, type, argument, threads, blocks)
#define EACH_KERNEL_RESIDENT(name, type, argument, threads, blocks)                                          \
    EACH_KERNEL_RESIDENT_(EACH_NAME(name), type, argument, threads, blocks)

#endif
