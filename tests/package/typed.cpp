// SPDX-License-Identifier: Apache-2.0
// What quarry.hpp promises, compiled once for each way of reporting errors.  Run as app.c; each of the 1000 blocks is
// one thread whose typed objects were right.
#include <quarry/quarry.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#ifdef __cpp_exceptions
#include <vector>
#endif

#define THREADS 1000u
#define POOL_BYTES (UINT64_C(4) << 20) // on a GPU the objects of all threads live at once

bool told_by_value(const quarry_target &target); // typed_values.cpp

// ---- kernels ----

struct alignas(64) counted {
    std::uint32_t *live;
    std::uint32_t value;

    SIMT_DEVICE counted(std::uint32_t *count, std::uint32_t number) : live(count), value(number)
    {
        simt_add_u32(live, 1, relaxed);
    }
    SIMT_DEVICE ~counted()
    {
        simt_sub_u32(live, 1, relaxed);
    }
};

struct plain { // without constructors
    std::uint32_t a;
    const std::uint32_t &b;
};

struct placed { // with an operator new of its own
    std::uint32_t thread;
    static void *operator new(std::size_t);
};

struct element {
    std::uint32_t one = 1, zero;
    SIMT_DEVICE element() : zero(0)
    {
    }
    SIMT_DEVICE ~element()
    {
        simt_sub_u32(&zero, 1, relaxed);
    }
};

struct job {
    quarry_handle heap;
    std::uint32_t *good, *live;
    counted **kept;
};

SIMT_KERNEL(make_kernel, job, a)
{
    std::uint32_t thread = simt_thread();
    if (thread >= THREADS)
        return;
    counted *object = a.kept[thread] = quarry::make<counted>(a.heap, a.live, thread);
    plain *pair = quarry::make<plain>(a.heap, thread, *a.live);
    std::uint32_t n = 1 + thread % 7;
    std::uint64_t *zeros = quarry::make_array<std::uint64_t>(a.heap, n);
    element *elements = quarry::make_array<element>(a.heap, n);
    placed *own = quarry::make<placed>(a.heap, thread);
    const placed *owns = quarry::make_array<placed>(a.heap, n);
    bool good = object && pair && zeros && elements && own && owns && own->thread == thread;
    if (good) {
        good = reinterpret_cast<std::uintptr_t>(object) % alignof(counted) == 0 && object->value == thread &&
               pair->a == thread && &pair->b == a.live;
        for (std::uint32_t i = 0; i < n; i++)
            good = good && zeros[i] == 0 && elements[i].one == 1 && elements[i].zero == 0;
    }
    good = good && !quarry::make_array<counted *>(a.heap, ~std::size_t{0} / 4) &&
           !quarry::make_array<int>(a.heap, 0);
    quarry::destroy(a.heap, pair);
    quarry::destroy(a.heap, static_cast<const placed *>(own));
    quarry::destroy_array(a.heap, owns, n);
    quarry::destroy_array(a.heap, zeros, n);
    quarry::destroy_array(a.heap, elements, n);
    quarry::destroy(a.heap, static_cast<counted *>(nullptr));
    simt_add_u32(a.good, good, relaxed);
}

SIMT_KERNEL(destroy_kernel, job, a)
{
    if (simt_thread() < THREADS)
        quarry::destroy(a.heap, a.kept[simt_thread()]);
}

// ---- host ----

static void require(bool condition, const char *what)
{
    if (!condition) {
        std::printf("%s (%s)\n", what, quarry_error_detail());
        std::exit(1);
    }
}

// got: the value of an answer.  tell: the status of a call.
#ifdef QUARRY_EXPECTED
template <class T> static T got(quarry::expected<T> answer)
{
    require(answer.has_value(), "an error");
    if constexpr (!std::is_void_v<T>)
        return std::move(*answer);
}
template <class Call> static quarry_status tell(Call call)
{
    auto answer = call();
    if (answer)
        return QUARRY_OK;
    require(answer.error().what() == std::string(quarry_error_detail()), "an error has another text");
    return answer.error().status();
}
#define GOT(call) got(call)
#else
#define GOT(call) (call)
template <class Call> static quarry_status tell(Call call)
{
    try {
        (void)call();
    } catch (const quarry::error &error) {
        require(error.what() == std::string(quarry_error_detail()), "an error has another text");
        return error.status();
    }
    return QUARRY_OK;
}
#endif

// The caller's memory, counted.
struct source {
    quarry::target target;
    int taken = 0, given = 0;

    void *allocate(std::size_t bytes, std::size_t alignment)
    {
        void *memory = nullptr;
        require(quarry_memory_create(&target, QUARRY_POOL_DEVICE, bytes, &memory) == QUARRY_OK &&
                    alignment <= 256,
                "no memory");
        taken++;
        return memory;
    }
    void deallocate(void *memory, std::size_t bytes, std::size_t)
    {
        require(bytes == POOL_BYTES &&
                    quarry_memory_destroy(&target, QUARRY_POOL_DEVICE, memory) == QUARRY_OK,
                "another pool came back");
        given++;
    }
};

static void pools(const quarry::target &target, quarry_heap_options options)
{
    source mine = {target};
    {
        quarry::heap first = GOT(quarry::heap::create_in(mine, options));
        quarry_heap_description about = GOT(first.describe());
        require(about.pool == QUARRY_POOL_BUFFER && about.pool_bytes == options.pool_bytes, "another pool");
        quarry::heap second = GOT(quarry::heap::create_in(mine, options));
        first = std::move(second);
        require(mine.taken == 2 && mine.given == 1, "an assignment leaves the pool");
        GOT(first.check());
    }
    require(mine.given == 2, "a heap keeps its pool");
    options.allocator = "none";
    require(tell([&] { return quarry::heap::create_in(mine, options); }) == QUARRY_ERROR_ALLOCATOR,
            "no error");
    require(mine.taken == 3 && mine.given == 3, "no heap, and the pool is gone");

#ifdef __cpp_exceptions
    quarry::memory_resource managed(target, QUARRY_POOL_MANAGED);
    std::pmr::vector<std::uint32_t> numbers({1, 2, 3}, &managed);
    std::uint32_t copy = 0;
    GOT(target.copy(&copy, &numbers[2], sizeof copy));
    require(copy == 3, "a container's memory is not the target's");
    bool refused = false;
    try {
        (void)managed.allocate(16, 512);
    } catch (const std::bad_alloc &) {
        refused = true;
    }
    require(refused, "an alignment of 512");
    options.allocator = nullptr;
    quarry::memory_resource device(target, QUARRY_POOL_DEVICE);
    GOT(GOT(quarry::heap::create_in(device, options)).close());
#endif
}

int main(int, char **argv)
{
    quarry_target wish = {};
    wish.backend = std::strcmp(argv[1], "cuda") == 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    if (tell([&] { return quarry::target::create(wish); }) != QUARRY_OK) {
        std::puts(quarry_error_detail());
        return 77;
    }
    quarry::target target = GOT(quarry::target::create(wish));
    wish.device = -1;
    require(tell([&] { return quarry::target::create(wish); }) == QUARRY_ERROR_DEVICE, "no error");
    require(told_by_value(target), "no error by value");

    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = target;
    options.pool_bytes = POOL_BYTES;
    pools(target, options);

    options.debug = 1;
    options.page_bytes = 256;
    quarry::heap heap = GOT(quarry::heap::create(options));
    const std::uint64_t bytes = 2 * sizeof(std::uint32_t);
    quarry::memory counts = GOT(quarry::memory::create(target, QUARRY_POOL_MANAGED, bytes));
    quarry::memory kept =
        GOT(quarry::memory::create(target, QUARRY_POOL_DEVICE, THREADS * sizeof(counted *)));
    GOT(target.fill(counts.get(), 0, bytes));
    std::uint32_t *count = counts.get<std::uint32_t>();
    job argument = {heap.handle(), count, count + 1, kept.get<counted *>()};
    GOT(target.launch(make_kernel, quarry_grid_for(THREADS), argument));
    GOT(target.wait());
    require(count[1] == THREADS && GOT(heap.statistics()).live_blocks == THREADS, "objects are missing");
    require(GOT(heap.slots(64)) > 0, "no slots");
    GOT(target.launch(destroy_kernel, quarry_grid_for(THREADS), argument));
    GOT(target.wait());
    require(count[1] == 0 && GOT(heap.statistics()).live_blocks == 0, "objects are left");
    GOT(heap.reset());
    GOT(target.launch(make_kernel, quarry_grid_for(THREADS), argument));
    require(tell([&] { return heap.close(); }) == QUARRY_ERROR_LEAK, "a leak is not told");
#ifdef QUARRY_TAGS
    require(std::strstr(quarry_error_detail(), "counted]"), "a leak doesn't name the type");
#endif
    require(!heap.get(), "closed, and still there");
    std::printf("%s: %u of %u blocks\n", argv[1], count[0] / 2, THREADS);
    return count[0] != 2 * THREADS;
}
