// SPDX-License-Identifier: Apache-2.0
// The host's operator new, replaced by the program: it stays the program's.
#include <cstdlib>
#include <new>

extern unsigned host_news;
unsigned host_news;

void *operator new(std::size_t bytes)
{
    host_news++;
    void *block = std::malloc(bytes);
    return block ? block : throw std::bad_alloc();
}
void operator delete(void *block) noexcept
{
    std::free(block);
}
void operator delete(void *block, std::size_t) noexcept
{
    std::free(block);
}
