/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel is compiled for, and how that is compared with the heap that it gets.
 *
 * The macros QUARRY_ALLOCATOR (dispatch.h), and QUARRY_ALIGNMENT, QUARRY_DISTRIBUTION and QUARRY_OOM
 * (policy.h) fix at compile time what a kernel otherwise reads from the heap.  A heap that is anything else
 * does not fit the kernel.  A code of 32 bits says both what a heap is and what a kernel is compiled for:
 *
 *     bits  0..16   alignment / 16; 0: a kernel that has the policies of any heap
 *          17..18   enum quarry_distribution_number
 *          19..20   enum quarry_oom_number
 *          21       statistics, and
 *          22       debug mode, which no kernel with fixed policies has
 *          23..30   enum quarry_allocator_number; 0: a kernel that has the allocator of any heap
 *          31       QUARRY_KERNEL_LOGS, in a kernel's record only
 *
 * The host compares before it launches, where it sees the heap (quarry_launch, quarry_override_set); and each
 * call in a kernel compares: that is the same in all lanes, and costs no register.  Where nothing is fixed,
 * nothing is compared.  A heap that does not fit is left alone: a malloc returns NULL, a free does nothing,
 * and the heap's counters have the kernel's code, which the host makes a sentence of.  A handle of zeros fits
 * no such kernel, and has no counters. */
#ifndef QUARRY_FIXED_H
#define QUARRY_FIXED_H

#include "quarry/handle.h"
#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

#define QUARRY_CODE_DISTRIBUTION 17
#define QUARRY_CODE_OOM 19
#define QUARRY_CODE_STATISTICS 21
#define QUARRY_CODE_DEBUG 22
#define QUARRY_CODE_ALLOCATOR 23
#define QUARRY_CODE_POLICIES_MASK ((1u << QUARRY_CODE_ALLOCATOR) - 1u)
#define QUARRY_CODE_ALLOCATOR_MASK (0xffu << QUARRY_CODE_ALLOCATOR)

/* statistics and debug are 0 or 1 */
#define QUARRY_CODE(allocator, alignment, distribution, oom, statistics, debug)                              \
    ((uint32_t)(alignment) / 16u | (uint32_t)(distribution) << QUARRY_CODE_DISTRIBUTION |                    \
     (uint32_t)(oom) << QUARRY_CODE_OOM | (uint32_t)(statistics) << QUARRY_CODE_STATISTICS |                 \
     (uint32_t)(debug) << QUARRY_CODE_DEBUG | (uint32_t)(allocator) << QUARRY_CODE_ALLOCATOR)

/* The part of a heap's code that a kernel's has. */
#define QUARRY_CODE_MASK(fixed)                                                                              \
    (((fixed)&QUARRY_CODE_POLICIES_MASK ? QUARRY_CODE_POLICIES_MASK : 0u) |                                  \
     ((fixed)&QUARRY_CODE_ALLOCATOR_MASK ? QUARRY_CODE_ALLOCATOR_MASK : 0u))

SIMT_STATIC_ASSERT(QUARRY_ALLOCATOR_NUMBERS <= 255, "an allocator's number has 8 bits");

#define QUARRY_FIXED_PASTE_(a, b) a##b
#define QUARRY_FIXED_PASTE(a, b) QUARRY_FIXED_PASTE_(a, b)

#ifdef QUARRY_ALLOCATOR
#define QUARRY_FIXED_ALLOCATOR QUARRY_FIXED_PASTE(QUARRY_NUMBER_, QUARRY_ALLOCATOR)
#else
#define QUARRY_FIXED_ALLOCATOR 0
#endif

#if defined(QUARRY_ALIGNMENT) || defined(QUARRY_DISTRIBUTION) || defined(QUARRY_OOM)
#ifndef QUARRY_ALIGNMENT
#define QUARRY_ALIGNMENT 16
#endif
#ifndef QUARRY_DISTRIBUTION
#define QUARRY_DISTRIBUTION none
#endif
#ifndef QUARRY_OOM
#define QUARRY_OOM null
#endif
SIMT_STATIC_ASSERT(QUARRY_ALIGNMENT >= 16 && QUARRY_ALIGNMENT <= 1 << 20 &&
                       ((QUARRY_ALIGNMENT) & ((QUARRY_ALIGNMENT)-1)) == 0,
                   "QUARRY_ALIGNMENT is a power of two from 16 to 1 MiB");
#define QUARRY_FIXED_POLICIES 1
#define QUARRY_FIXED_DISTRIBUTION QUARRY_FIXED_PASTE(QUARRY_DISTRIBUTION_NUMBER_, QUARRY_DISTRIBUTION)
#define QUARRY_FIXED_OOM QUARRY_FIXED_PASTE(QUARRY_OOM_NUMBER_, QUARRY_OOM)
#define QUARRY_FIXED                                                                                         \
    QUARRY_CODE(QUARRY_FIXED_ALLOCATOR, QUARRY_ALIGNMENT, QUARRY_FIXED_DISTRIBUTION, QUARRY_FIXED_OOM, 0, 0)
#else
#define QUARRY_FIXED QUARRY_CODE(QUARRY_FIXED_ALLOCATOR, 0, 0, 0, 0, 0)
#endif

/* Every kernel's record has it (kernel.h), and whether the kernel logs, which is no matter of what fits. */
#undef SIMT_KERNEL_FIXED
#ifdef QUARRY_TRACE
#define SIMT_KERNEL_FIXED (QUARRY_FIXED | QUARRY_KERNEL_LOGS)
#else
#define SIMT_KERNEL_FIXED QUARRY_FIXED
#endif

/* Is the kernel compiled for this heap? */
SIMT_FN int quarry_fits(const struct quarry_handle *heap)
{
    return (heap->code & QUARRY_CODE_MASK(QUARRY_FIXED)) == QUARRY_FIXED;
}

/* The same; if it is not, the heap's counters have word of it. */
SIMT_FN int quarry_fits_or_tell(const struct quarry_handle *heap)
{
    if (quarry_fits(heap))
        return 1;
    if (heap->counters)
        simt_store_u32(&heap->counters->misfit, QUARRY_FIXED, relaxed);
    return 0;
}

#endif
