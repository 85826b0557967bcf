// SPDX-License-Identifier: Apache-2.0
// 10 240 threads have a stack each, of objects on a heap: on the GPU if nvcc compiled this file, else on the CPU.
#include "quarry/quarry.hpp"

#include <cstdio>

struct node {
    std::uint32_t value;
    node *below;
};

class stack {
  public:
    SIMT_DEVICE explicit stack(quarry_handle heap) : heap_(heap), top_(nullptr)
    {
    }
    SIMT_DEVICE ~stack()
    {
        while (top_)
            pop();
    }
    SIMT_DEVICE bool push(std::uint32_t value)
    {
        node *above = quarry::make<node>(heap_, value, top_);
        if (above)
            top_ = above;
        return above;
    }
    SIMT_DEVICE std::uint32_t pop()
    {
        node *gone = top_;
        std::uint32_t value = gone->value;
        top_ = gone->below;
        quarry::destroy(heap_, gone);
        return value;
    }

  private:
    quarry_handle heap_;
    node *top_;
};

struct work {
    quarry_handle heap;
    std::uint32_t *done;
};

SIMT_KERNEL(stacks_kernel, work, a)
{
    stack numbers(a.heap);
    std::uint32_t n = 1 + simt_thread() % 20, pushed = 0;
    while (pushed < n && numbers.push(pushed))
        pushed++;
    if (pushed == n && numbers.pop() == n - 1)
        simt_add_u32(a.done, 1, relaxed);
} // what is still in the stack is destroyed with it

int main()
{
    try {
        auto target = quarry::target::create(stacks_kernel.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU);
        quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        options.target = target;
        options.pool_bytes = 64 << 20;
        auto heap = quarry::heap::create(options);

        // Host and kernels both reach managed memory.
        auto done = quarry::memory::create(target, QUARRY_POOL_MANAGED, sizeof(std::uint32_t));
        target.fill(done.get(), 0, sizeof(std::uint32_t));
        target.launch(stacks_kernel, quarry_grid_for(10240), work{heap.handle(), done.get<std::uint32_t>()});
        target.wait();
        std::printf("%u threads filled a stack, and %llu blocks are left\n", *done.get<std::uint32_t>(),
                    static_cast<unsigned long long>(heap.statistics().live_blocks));
    } catch (const quarry::error &error) {
        std::printf("%s\n", error.what());
        return error.status() == QUARRY_ERROR_DEVICE ? 77 : 1;
    }
}
