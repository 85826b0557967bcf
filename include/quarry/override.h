/* SPDX-License-Identifier: Apache-2.0 */
/* malloc, free, new and delete in device code become Quarry's, in each source of CUDA C++ that includes this
 * file after its other headers.  docs/guide/drop-in.md is for users.
 *
 *     #include <quarry/override.h>
 *     ...
 *     quarry_override_set(heap);        // on the host, once, for all sources of the program
 *     kernel<<<blocks, threads>>>();    // p = malloc(40); free(p); q = new point; delete q;
 *
 * How.  nvcc compiles a source once for the host and once for each GPU.  All that is replaced is replaced in
 * the passes for GPUs only, so that the host's code, operator new and std::malloc among it, is what it was.
 *
 * - Each source has the heap's handle in __constant__ memory of its own, with relocatable device code and
 *   without it.  An object with static storage links its address into a list of the library, which
 *   quarry_override_set walks over.
 * - The toolkit declares new and delete as functions that a program may replace, so they are defined here;
 *   inline, so that with relocatable device code one definition remains.
 * - malloc, free and __nv_aligned_device_malloc are built into the compiler.  Nothing but a macro gets before
 *   them. */
#ifndef QUARRY_OVERRIDE_H
#define QUARRY_OVERRIDE_H

#ifndef __CUDACC__
#error "quarry/override.h is for CUDA C++: nvcc compiles it"
#endif

#include "quarry/device.h"
#include "quarry/quarry.h"

#include <cstdlib>
#include <new>

static __constant__ struct quarry_handle quarry_override_handle;

/* One object in each source: there before main(), and before what a shared library does when it is loaded.
 * What differs between sources is an argument, for all may share one constructor. */
struct quarry_override_registrar {
    struct quarry_override_unit unit;

    quarry_override_registrar(const struct quarry_handle *handle, uint32_t fixed)
        : unit{nullptr, handle, sizeof *handle, fixed}
    {
        quarry_override_link(&unit);
    }
    ~quarry_override_registrar()
    {
        quarry_override_unlink(&unit);
    }
};
static quarry_override_registrar quarry_override_here(&quarry_override_handle, QUARRY_FIXED);

#ifdef __CUDA_ARCH__
/* Out of line: a source has the allocators' code once, not at each call.  As long as there is no heap the handle is
 * all zero, and a malloc gives NULL. */
static __device__ __noinline__ __attribute__((unused)) void *quarry_override_get(size_t bytes)
{
    return quarry_malloc(quarry_override_handle, bytes);
}

static __device__ __noinline__ __attribute__((unused)) void *quarry_override_get_aligned(size_t bytes,
                                                                                         size_t alignment)
{
    return quarry_aligned_alloc(quarry_override_handle, alignment, bytes);
}

static __device__ __noinline__ __attribute__((unused)) void quarry_override_put(void *block)
{
    quarry_free(quarry_override_handle, block);
}

/* Also parsed in host functions, whose code of this pass is thrown away: hence for both. */
static inline __host__ __device__ void *quarry_override_malloc(size_t bytes)
{
    return quarry_override_get(bytes);
}

static inline __host__ __device__ void quarry_override_free(void *block)
{
    quarry_override_put(block);
}

namespace std {
using ::quarry_override_free;
using ::quarry_override_malloc;
} // namespace std

/* A call with several arguments is one of another function of that name, such as thrust::free(policy, block): it
 * stays, because a macro's own name is not replaced again in what it becomes.  But commas of template arguments
 * part a macro's arguments, too.  So the compiler counts once more, in the type of an object that takes the
 * first argument by `=`, which binds weakest, and gives it back. */
template <class... Argument> struct quarry_override_other {
    static_assert(sizeof...(Argument) > 1, "put the argument of malloc or free into parentheses of its own");
    template <class First> __host__ __device__ First &&operator=(First &&first) const
    {
        return static_cast<First &&>(first);
    }
};
template <class... Argument> quarry_override_other<Argument...> quarry_override_count(Argument &&...);
#define QUARRY_OVERRIDE_ONE(name, argument) quarry_override_##name(argument)
#define QUARRY_OVERRIDE_MORE(name, ...) name(decltype(quarry_override_count(__VA_ARGS__)){} = __VA_ARGS__)
#define QUARRY_OVERRIDE_SIXTH(a, b, c, d, e, sixth, ...) sixth
#define malloc(...)                                                                                          \
    QUARRY_OVERRIDE_SIXTH(__VA_ARGS__, QUARRY_OVERRIDE_MORE, QUARRY_OVERRIDE_MORE, QUARRY_OVERRIDE_MORE,     \
                          QUARRY_OVERRIDE_MORE, QUARRY_OVERRIDE_ONE, )                                       \
    (malloc, __VA_ARGS__)
#define free(...)                                                                                            \
    QUARRY_OVERRIDE_SIXTH(__VA_ARGS__, QUARRY_OVERRIDE_MORE, QUARRY_OVERRIDE_MORE, QUARRY_OVERRIDE_MORE,     \
                          QUARRY_OVERRIDE_MORE, QUARRY_OVERRIDE_ONE, )                                       \
    (free, __VA_ARGS__)
#define __nv_aligned_device_malloc(bytes, alignment) quarry_override_get_aligned(bytes, alignment)

#pragma nv_diagnostic push
#pragma nv_diag_suppress 2620 /* an inline operator new is not standard C++ */
inline __device__ void *operator new(size_t bytes)
{
    return quarry_override_get(bytes);
}
inline __device__ void *operator new[](size_t bytes)
{
    return quarry_override_get(bytes);
}
inline __device__ void operator delete(void *block) noexcept
{
    quarry_override_put(block);
}
inline __device__ void operator delete[](void *block) noexcept
{
    quarry_override_put(block);
}
inline __device__ void operator delete(void *block, size_t) noexcept
{
    quarry_override_put(block);
}
inline __device__ void operator delete[](void *block, size_t) noexcept
{
    quarry_override_put(block);
}
#ifdef __cpp_aligned_new
inline __device__ void *operator new(size_t bytes, std::align_val_t alignment)
{
    return quarry_override_get_aligned(bytes, (size_t)alignment);
}
inline __device__ void *operator new[](size_t bytes, std::align_val_t alignment)
{
    return quarry_override_get_aligned(bytes, (size_t)alignment);
}
inline __device__ void operator delete(void *block, std::align_val_t) noexcept
{
    quarry_override_put(block);
}
inline __device__ void operator delete[](void *block, std::align_val_t) noexcept
{
    quarry_override_put(block);
}
inline __device__ void operator delete(void *block, size_t, std::align_val_t) noexcept
{
    quarry_override_put(block);
}
inline __device__ void operator delete[](void *block, size_t, std::align_val_t) noexcept
{
    quarry_override_put(block);
}
#endif
#pragma nv_diagnostic pop
#endif

#endif
