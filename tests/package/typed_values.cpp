// SPDX-License-Identifier: Apache-2.0
// A source of the program in typed.cpp that gets its errors as values, whatever the other one chose.
#ifndef QUARRY_EXPECTED
#define QUARRY_EXPECTED
#endif
#include <quarry/quarry.hpp>

bool told_by_value(const quarry_target &target);
bool told_by_value(const quarry_target &target)
{
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = target;
    options.allocator = "none";
    auto none = quarry::heap::create(options);
    options.allocator = "corw";
    options.pool_bytes = 1 << 20;
    auto heap = quarry::heap::create(options);
    if (none || none.error().status() != QUARRY_ERROR_ALLOCATOR || !heap)
        return false;
    const auto statistics = heap->statistics();
    return statistics && statistics->live_blocks == 0 && (*statistics).live_bytes == 0 && heap->close();
}
