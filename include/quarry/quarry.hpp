// SPDX-License-Identifier: Apache-2.0
// Quarry for C++17, on the host and in kernels.  docs/guide/cpp.md is for users.
//
//     auto heap = quarry::heap::create(options);            // destroyed with its object
//     ... heap.handle() ...                                 // what kernels take
//     point *p = quarry::make<point>(a.heap, 3, 4);         // in a kernel: malloc and the constructor
//     quarry::destroy(a.heap, p);                           // the destructor and free
//
// A thin layer over quarry.h and device.h.  It adds owners, types and a way to report errors; structs, enums
// and what a call promises are those of the C function that each comment names.
//
// Errors.  What can fail returns quarry::answer<T>.  That is T itself, and a failure throws quarry::error.  With
// QUARRY_EXPECTED defined before the include, and without exceptions in the compiler (-fno-exceptions), it is
// quarry::expected<T>, and nothing throws.  Sources of both kinds may be in one program.
//
// Destructors report nothing.  quarry::heap::close says what quarry_heap_destroy says.
#ifndef QUARRY_QUARRY_HPP
#define QUARRY_QUARRY_HPP

#include "quarry/device.h"
#include "quarry/quarry.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_expected
#include <expected>
#endif
#ifdef __cpp_exceptions
#include <memory_resource>
#elif !defined QUARRY_EXPECTED
#define QUARRY_EXPECTED
#endif

namespace quarry {

// ---- errors ----

// Why a call failed: its status, and as what() the sentence that quarry_error_detail had for it.
class error : public std::runtime_error {
  public:
    // Of the calling thread's last failure.
    explicit error(quarry_status status) : std::runtime_error(quarry_error_detail()), status_(status)
    {
    }
    quarry_status status() const noexcept
    {
        return status_;
    }

  private:
    quarry_status status_;
};

#ifdef __cpp_lib_expected
template <class T> using expected = std::expected<T, error>;
using unexpected = std::unexpected<error>;
#else
using unexpected = error;

// A value or an error: the part of std::expected that needs no exceptions.
template <class T> class expected {
  public:
    expected(T value) : is_(std::move(value))
    {
    }
    expected(quarry::error why) : is_(std::move(why))
    {
    }
    bool has_value() const noexcept
    {
        return is_.index() == 0;
    }
    explicit operator bool() const noexcept
    {
        return has_value();
    }
    // Only if there is a value.
    T &operator*() noexcept
    {
        return *std::get_if<0>(&is_);
    }
    const T &operator*() const noexcept
    {
        return *std::get_if<0>(&is_);
    }
    T *operator->() noexcept
    {
        return std::get_if<0>(&is_);
    }
    const T *operator->() const noexcept
    {
        return std::get_if<0>(&is_);
    }
    // Only if there is none.
    const quarry::error &error() const noexcept
    {
        return *std::get_if<1>(&is_);
    }

  private:
    std::variant<T, quarry::error> is_;
};

template <> class [[nodiscard]] expected<void> {
  public:
    expected() = default;
    expected(quarry::error why) : why_(std::move(why))
    {
    }
    bool has_value() const noexcept
    {
        return !why_;
    }
    explicit operator bool() const noexcept
    {
        return has_value();
    }
    const quarry::error &error() const noexcept
    {
        return *why_;
    }

  private:
    std::optional<quarry::error> why_;
};
#endif

// What depends on the choice has another name for the linker.
#ifdef QUARRY_EXPECTED
inline namespace expecting {
template <class T> using answer = expected<T>;

template <class T> [[nodiscard]] answer<T> finish(quarry_status status, T &&value)
{
    if (status != QUARRY_OK)
        return unexpected(error(status));
    return std::forward<T>(value);
}
[[nodiscard]] inline answer<void> finish(quarry_status status)
{
    if (status != QUARRY_OK)
        return unexpected(error(status));
    return {};
}
#else
inline namespace throwing {
template <class T> using answer = T;

template <class T> T finish(quarry_status status, T &&value)
{
    if (status != QUARRY_OK)
        throw error(status);
    return std::forward<T>(value);
}
inline void finish(quarry_status status)
{
    if (status != QUARRY_OK)
        throw error(status);
}
#endif

// ---- host ----

// Where work happens: quarry_target, resolved, and the calls that need no more.  It owns nothing: a stream stays the
// caller's.
struct target : quarry_target {
    // As quarry_target_resolve.
    static answer<target> create(quarry_target wish = {})
    {
        quarry_status status = quarry_target_resolve(&wish);
        return finish(status, target(wish));
    }
    static answer<target> create(quarry_backend backend)
    {
        quarry_target wish = {};
        wish.backend = backend;
        return create(wish);
    }

    // As quarry_launch.  Argument: the struct that the kernel was defined with.
    template <class Argument>
    answer<void> launch(const simt_kernel &kernel, quarry_grid grid, const Argument &argument) const
    {
        static_assert(std::is_trivially_copyable_v<Argument>, "a kernel's argument is copied byte by byte");
        return finish(quarry_launch(&kernel, this, grid, &argument));
    }
    answer<void> wait() const
    {
        return finish(quarry_target_wait(this));
    }
    // As quarry_memory_copy and _fill.
    answer<void> copy(void *to, const void *from, std::uint64_t bytes) const
    {
        return finish(quarry_memory_copy(this, to, from, bytes));
    }
    answer<void> fill(void *memory, int byte, std::uint64_t bytes) const
    {
        return finish(quarry_memory_fill(this, memory, byte, bytes));
    }
    // As quarry_device_describe.
    answer<quarry_device_info> describe() const
    {
        quarry_device_info info;
        quarry_status status = quarry_device_describe(this, &info);
        return finish(status, std::move(info));
    }

  private:
    explicit target(const quarry_target &resolved) : quarry_target(resolved)
    {
    }
};

// Memory of a target that its object owns: quarry_memory_create.
class memory {
  public:
    static answer<memory> create(const quarry_target &where, quarry_pool pool, std::uint64_t bytes)
    {
        void *made;
        quarry_status status = quarry_memory_create(&where, pool, bytes, &made);
        return finish(status, memory(made, giver{where, pool}));
    }
    // Its address on the target; NULL if it was moved from, or has 0 bytes.
    template <class T = void> T *get() const noexcept
    {
        return static_cast<T *>(memory_.get());
    }

  private:
    struct giver {
        quarry_target where;
        quarry_pool pool;
        void operator()(void *made) const noexcept
        {
            quarry_memory_destroy(&where, pool, made);
        }
    };
    memory(void *made, const giver &by) : memory_(made, by)
    {
    }
    std::unique_ptr<void, giver> memory_;
};

// A heap that its object owns.  It can be moved; then the old object has none, and may only be destroyed or
// assigned to.
class heap {
  public:
    // As quarry_heap_create.
    static answer<heap> create(const quarry_heap_options &options = QUARRY_HEAP_OPTIONS_INIT)
    {
        return create(options, nullptr);
    }

    // The pool is the caller's: options.pool_bytes from a resource, to which they go back after the heap is destroyed.
    //   resource  has allocate(bytes, alignment) and deallocate(memory, bytes, alignment), as std::pmr's have;
    //             outlives the heap.  Kernels must reach its memory.  What it throws goes to the caller.
    template <class Resource>
    static answer<heap> create_in(Resource &resource, quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT)
    {
        std::size_t bytes = options.pool_bytes;
        auto give = [&resource, bytes](void *pool) { resource.deallocate(pool, bytes, pool_alignment); };
        pool_owner pool(bytes ? resource.allocate(bytes, pool_alignment) : nullptr, give);
        options.pool = QUARRY_POOL_BUFFER;
        options.buffer = pool.get();
        return create(options, std::move(pool));
    }

    // Destroys it now, as quarry_heap_destroy, and says what that found.
    answer<void> close()
    {
        quarry_status status = quarry_heap_destroy(heap_.release());
        heap_.get_deleter().pool.reset();
        return finish(status);
    }

    // What kernels take.
    quarry_handle handle() const noexcept
    {
        return quarry_heap_handle(get());
    }
    // For functions of quarry.h that are not here.
    quarry_heap *get() const noexcept
    {
        return heap_.get();
    }

    // As quarry_heap_reset, _check, _statistics, _slots and _describe.
    answer<void> reset()
    {
        return finish(quarry_heap_reset(get()));
    }
    answer<void> check()
    {
        return finish(quarry_heap_check(get()));
    }
    answer<quarry_statistics> statistics()
    {
        quarry_statistics now;
        quarry_status status = quarry_heap_statistics(get(), &now);
        return finish(status, std::move(now));
    }
    answer<std::uint64_t> slots(std::uint64_t bytes)
    {
        std::uint64_t fit = 0;
        quarry_status status = quarry_heap_slots(get(), bytes, &fit);
        return finish(status, std::move(fit));
    }
    answer<quarry_heap_description> describe() const
    {
        quarry_heap_description description;
        quarry_status status = quarry_heap_describe(get(), &description);
        return finish(status, std::move(description));
    }

  private:
    using pool_owner = std::unique_ptr<void, std::function<void(void *)>>;
    static constexpr std::size_t pool_alignment = 256; // as that of quarry_memory_create

    // With the pool inside, which so outlives the heap, also when another one is assigned.
    struct destroyer {
        pool_owner pool;
        void operator()(quarry_heap *made) const noexcept
        {
            quarry_heap_destroy(made);
        }
    };

    static answer<heap> create(const quarry_heap_options &options, pool_owner pool)
    {
        quarry_heap *made;
        quarry_status status = quarry_heap_create(&made, &options);
        return finish(status, heap(made, std::move(pool)));
    }
    heap(quarry_heap *made, pool_owner pool) : heap_(made, destroyer{std::move(pool)})
    {
    }

    std::unique_ptr<quarry_heap, destroyer> heap_;
};
} // namespace expecting or throwing

#ifdef __cpp_exceptions
// Memory of a target for containers and other resources: std::pmr's view of quarry_memory_create.  Containers of
// the host need a pool that the host reaches: MANAGED, PINNED, or any on the CPU backend.  Of the other pools it is
// what heap::create_in and resources of device memory take.  Each allocation is the platform's, so put a pool
// such as std::pmr::monotonic_buffer_resource before it.  Blocks of a heap are none of this: only kernels get them.
// Throws std::bad_alloc.  Alignments up to 256.
class memory_resource : public std::pmr::memory_resource {
  public:
    memory_resource(const quarry_target &where, quarry_pool pool) noexcept : where_(where), pool_(pool)
    {
    }

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void *made = nullptr;
        if (alignment > 256 || quarry_memory_create(&where_, pool_, bytes ? bytes : 1, &made) != QUARRY_OK)
            throw std::bad_alloc();
        return made;
    }
    void do_deallocate(void *made, std::size_t, std::size_t) override
    {
        quarry_memory_destroy(&where_, pool_, made);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }

    quarry_target where_;
    quarry_pool pool_;
};
#endif

// ---- kernels ----

#ifdef QUARRY_TAGS
// A text with T's name, as the compiler writes it.
template <class T> SIMT_FN const char *tag()
{
    return __PRETTY_FUNCTION__;
}
#endif

// Room for `count` objects of T, without their constructors; nullptr as from quarry_malloc, and then counted as
// failed or refused.  quarry_free gives it back.  With QUARRY_TAGS its tag (quarry/tag.h) names T.
template <class T> SIMT_FN T *room(quarry_handle heap, std::size_t count)
{
    std::size_t bytes = count <= ~std::size_t{0} / sizeof(T) ? count * sizeof(T) : ~std::size_t{0};
    void *block;
    if constexpr (alignof(T) <= 16)
        block = (quarry_malloc)(heap, bytes); // in parentheses: not the macro, which would name this line
    else
        block = (quarry_aligned_alloc)(heap, alignof(T), bytes);
#ifdef QUARRY_TAGS
    quarry_tag(heap, block, tag<T>());
#endif
    return static_cast<T *>(block);
}

// An object of T in the heap, made of these arguments: T(arguments...), or T{arguments...} for a struct without
// constructors.  nullptr as from quarry_malloc; then no constructor ran.
template <class T, class... A> SIMT_FN T *make(quarry_handle heap, A &&...arguments)
{
    static_assert(!std::is_array_v<T>, "make_array makes arrays");
    T *block = room<T>(heap, 1);
    if (!block)
        return nullptr;
    if constexpr (std::is_constructible_v<T, A &&...>)
        return ::new (static_cast<void *>(block)) T(static_cast<A &&>(arguments)...);
    else
        return ::new (static_cast<void *>(block)) T{static_cast<A &&>(arguments)...};
}

// `count` objects of T in a row, each T(): numbers are 0.  nullptr as from quarry_malloc, also for 0.
template <class T> SIMT_FN T *make_array(quarry_handle heap, std::size_t count)
{
    T *block = room<T>(heap, count);
    for (std::size_t i = 0; block && i < count; i++)
        ::new (static_cast<void *>(block + i)) T();
    return block;
}

// The end of what make_array made; `count` is the same.  nullptr is a no-op.
template <class T> SIMT_FN void destroy_array(quarry_handle heap, T *block, std::size_t count)
{
    if constexpr (!std::is_trivially_destructible_v<T>)
        for (std::size_t i = count; block && i > 0; i--)
            block[i - 1].~T();
    quarry_free(heap, const_cast<std::remove_cv_t<T> *>(block));
}

// The end of what make made, of the same T: a pointer to a base need not point to the block.  nullptr is a no-op.
template <class T> SIMT_FN void destroy(quarry_handle heap, T *object)
{
    destroy_array(heap, object, 1);
}

} // namespace quarry

#endif
