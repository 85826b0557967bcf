/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel written once.
 *
 *     struct fill { uint32_t *out; uint32_t n; };
 *     SIMT_KERNEL(fill_kernel, struct fill, a)
 *     {
 *         if (simt_thread() < a.n)
 *             a.out[simt_thread()] = simt_lane();
 *     }
 *
 * The C compiler makes the CPU's view of it (fill_kernel_cpu), nvcc the GPU's (fill_kernel_cuda), and
 * `fill_kernel`, a struct simt_kernel, names both for quarry_launch().  A source compiled for one
 * backend only defines `fill_kernel` by itself.  A source compiled for both, in one program, is
 * compiled both times with -DSIMT_DUAL; then the C view defines `fill_kernel`.  A host file that
 * launches a kernel of another file says SIMT_KERNEL_DECLARE(fill_kernel).
 *
 * The argument is one struct, passed by value, at most 4096 bytes.
 *
 * SIMT_KERNEL_NOTED(note, name, type, argument) is a kernel whose record has a note, the address of something static,
 * for those who launch it.  quarry_launch refuses it: it is for functions that know the note, as quarry_object_do.
 * It calls simt_begin_early() first: it may be launched before the kernels in front of it in its stream have ended.
 *
 * SIMT_KERNEL_RESIDENT(name, type, argument, threads, blocks) is for a kernel that waits for memory most of
 * the time: it is launched in blocks of at most `threads` threads, and on a GPU it gets so few registers that
 * a multiprocessor can run `blocks` of them at once, or as many as it has room for.  SIMT_KERNEL_NOTED_RESIDENT
 * has a note, too. */
#ifndef QUARRY_SIMT_KERNEL_H
#define QUARRY_SIMT_KERNEL_H

#include "quarry/simt/types.h"

#if SIMT_HAS_HOST
struct simt_kernel {
    const char *name;
    void (*cpu)(const void *argument); /* runs one lane; NULL: not compiled for the CPU */
    const void *const *cuda;           /* points to the handle for cudaLaunchKernel; NULL: no GPU view */
    uint32_t argument_bytes;
    uint32_t fixed;   /* SIMT_KERNEL_FIXED where the kernel was compiled */
    const void *note; /* what those who made it tell those who launch it; mostly NULL */
};
/* What a kernel is compiled for, a number that those who launch it know; 0: nothing (quarry/fixed.h). */
#ifndef SIMT_KERNEL_FIXED
#define SIMT_KERNEL_FIXED 0
#endif
#define SIMT_KERNEL_DECLARE(name) SIMT_EXTERN_C const struct simt_kernel name
#endif

#ifdef __CUDACC_RTC__
#define SIMT_KERNEL_BOUNDED(bounds, note, name, type, argument)                                              \
    extern "C" __global__ void bounds name(type argument)
#elif SIMT_CUDA
#ifdef SIMT_DUAL
#define SIMT_KERNEL_RECORD(note, name, type)
#else
#define SIMT_KERNEL_RECORD(note, name, type)                                                                 \
    SIMT_KERNEL_DECLARE(name);                                                                               \
    const struct simt_kernel name = {#name, nullptr, &name##_cuda, sizeof(type), SIMT_KERNEL_FIXED, note};
#endif
#define SIMT_KERNEL_BOUNDED(bounds, note, name, type, argument)                                              \
    static __global__ void bounds name##_body(type argument);                                                \
    SIMT_EXTERN_C const void *const name##_cuda;                                                             \
    const void *const name##_cuda = (const void *)name##_body;                                               \
    SIMT_KERNEL_RECORD(note, name, type)                                                                     \
    static __global__ void bounds name##_body(type argument)
#else
#ifdef SIMT_DUAL
#define SIMT_KERNEL_CUDA_DECLARE(name) SIMT_EXTERN_C const void *const name##_cuda;
#define SIMT_KERNEL_CUDA(name) &name##_cuda
#else
#define SIMT_KERNEL_CUDA_DECLARE(name)
#define SIMT_KERNEL_CUDA(name) SIMT_NULL
#endif
#define SIMT_KERNEL_NOTED(note, name, type, argument)                                                        \
    static void name##_body(type argument);                                                                  \
    static void name##_cpu(const void *simt_argument)                                                        \
    {                                                                                                        \
        name##_body(*(const type *)simt_argument);                                                           \
    }                                                                                                        \
    SIMT_KERNEL_CUDA_DECLARE(name)                                                                           \
    SIMT_KERNEL_DECLARE(name);                                                                               \
    const struct simt_kernel name = {#name,        name##_cpu,        SIMT_KERNEL_CUDA(name),                \
                                     sizeof(type), SIMT_KERNEL_FIXED, note};                                 \
    static void name##_body(type argument)
#endif

#if SIMT_CUDA
#define SIMT_KERNEL_NOTED(note, name, type, argument) SIMT_KERNEL_BOUNDED(, note, name, type, argument)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SIMT_KERNEL_AT_ONCE 1024 /* threads of a multiprocessor */
#else
#define SIMT_KERNEL_AT_ONCE 1536
#endif
#define SIMT_KERNEL_NOTED_RESIDENT(note, name, type, argument, threads, blocks)                              \
    SIMT_KERNEL_BOUNDED(__launch_bounds__(threads, (blocks) * (threads) <= SIMT_KERNEL_AT_ONCE               \
                                                       ? (blocks)                                            \
                                                       : SIMT_KERNEL_AT_ONCE / (threads)),                   \
                        note, name, type, argument)
#else
#define SIMT_KERNEL_NOTED_RESIDENT(note, name, type, argument, threads, blocks)                              \
    SIMT_KERNEL_NOTED(note, name, type, argument)
#endif
#define SIMT_KERNEL_RESIDENT(name, type, argument, threads, blocks)                                          \
    SIMT_KERNEL_NOTED_RESIDENT(SIMT_NULL, name, type, argument, threads, blocks)
#define SIMT_KERNEL(name, type, argument) SIMT_KERNEL_NOTED(SIMT_NULL, name, type, argument)

#endif
