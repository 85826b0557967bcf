/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are compiled for one allocator, so that they don't have the registers that another needs.
 *
 * cmake/QuarryEachAllocator.cmake compiles such a source several times: with all allocators' code, out of
 * line, and the switch that picks the heap's own; and once for each allocator that has kernels of its own, with
 * QUARRY_ALLOCATOR defined.  The source puts a suffix behind its names, which is the allocator's identifier, or
 * `any`:
 *
 *     EACH_KERNEL(fill, struct fill, a) { ... }                    // fill_any, fill_corw, fill_scatter, ...
 *     #if SIMT_C_VIEW
 *     const struct fill_kernels EACH_NAME(fill_kernels) = {&EACH_NAME(fill)};
 *     #endif
 *
 * The host picks one of these by the heap's allocator, a number of handle.h: EACH_OF(fill_kernels, id) is the
 * one for an entry of list.def, for plain heaps.  An allocator without kernels of its own, and every one in a
 * program that is built without any, has EACH_ANY(fill_kernels) there.  Those are for all heaps: with
 * policies, in debug mode, and plain.  EACH_COUNTED_OF is EACH_OF for kernels that count, which fewer have.
 *
 * All such sources of a program are included in one file, so their other names differ, too.  In the one of all
 * allocators steps are counted (core/context.h), for count_kernels.c is its first source. */
#ifndef QUARRY_BENCH_EACH_ALLOCATOR_H
#define QUARRY_BENCH_EACH_ALLOCATOR_H

#if !defined(QUARRY_ALLOCATOR) && !defined(QUARRY_OUT_OF_LINE)
#define QUARRY_OUT_OF_LINE 1
#endif
#include "quarry/device.h"

#ifndef QUARRY_ALLOCATOR
#define EACH_SUFFIX any
#else
#define EACH_SUFFIX QUARRY_ALLOCATOR
#endif
#define EACH_PASTE_(name, suffix) name##_##suffix
#define EACH_PASTE(name, suffix) EACH_PASTE_(name, suffix)
#define EACH_NAME(name) EACH_PASTE(name, EACH_SUFFIX)

#ifdef QUARRY_EACH_ALLOCATOR
#define EACH_OF(name, id) EACH_PASTE(name, EACH_SUFFIX_OF_##id)
#define EACH_COUNTED_OF(name, id) EACH_PASTE(name, EACH_COUNTED_SUFFIX_OF_##id)
#else
#define EACH_OF(name, id) name##_any
#define EACH_COUNTED_OF(name, id) name##_any
#endif
#define EACH_ANY(name) name##_any

#if SIMT_HAS_HOST
/* Whether a heap is for the kernels of all allocators only.  Pages that are aligned need no policy, but
 * kernels for plain heaps are compiled for an alignment of 16. */
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
