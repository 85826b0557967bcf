// SPDX-License-Identifier: Apache-2.0
// Compiled, never run: the public headers in C++17 with all warnings, and what a user does with them there.
#include "quarry/core/list.h"
#include "quarry/core/mutex.h"
#include "quarry/core/semaphore.h"
#include "quarry/core/srcu.h"
#include "quarry/device.h"
#include "quarry/object.h"
#include "quarry/quarry.h"
#include "quarry/quarry.hpp"
#include "quarry/trace.h"

#include <cstdint>

struct job {
    quarry_handle heap;
    std::uint32_t *done;
};

SIMT_KERNEL(kernel, job, a)
{
    void *block = quarry_malloc(a.heap, 100);
    if (block)
        simt_add_u32(a.done, 1, relaxed);
    quarry_free(a.heap, block);
}

// As the guide has it.
#define BODY(FIELD, T) FIELD(T, float, pos) FIELD(T, float, vel) FIELD(T, float, mass)
#define STAR(FIELD, T) FIELD(T, quarry_object, twin) FIELD(T, uint32_t, age)
#define WORLD(TYPE) TYPE(body, object, BODY) TYPE(star, body, STAR)
QUARRY_SCHEMA(world, WORLD)

struct move {
    struct quarry_handle heap;
    float dt;
};

QUARRY_DO_ALL(move_all, body, struct move, a, self) /* bodies and stars */
{
    *body_pos(self) += *body_vel(self) * a->dt;
    if (*body_mass(self) > 9.0f) {
        quarry_object s = quarry_object_new(a->heap, star);
        if (!quarry_object_is_null(s)) { /* none: the heap is full */
            *body_mass(s) = *body_mass(self) /= 2;
            *star_twin(s) = self;
            *star_age(s) = 0;
        }
    }
    if (*body_pos(self) > 1.0f)
        quarry_object_delete(a->heap, self);
}

int main()
{
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap = nullptr;
    options.target.backend = QUARRY_BACKEND_CPU;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK)
        return 1;
    std::uint32_t done = 0;
    job argument = {quarry_heap_handle(heap), &done};
    quarry_launch(&kernel, &options.target, quarry_grid_for(100), &argument);
    quarry_statistics statistics;
    quarry_heap_statistics(heap, &statistics);
    if (quarry_heap_destroy(heap) != QUARRY_OK)
        return 1;
    options.schema = &world_schema;
    if (quarry_heap_create(&heap, &options) != QUARRY_OK)
        return 1;
    move arguments = {quarry_heap_handle(heap), 0.1f};
    float values[10];
    std::uint64_t count = 0;
    quarry_object_add(heap, body, 0, nullptr);
    quarry_object_do(heap, &move_all, &arguments);
    quarry_object_read(heap, body, pos, values, 10, &count);
    quarry_object_write(heap, body, pos, values, count);
    quarry_object_count(heap, star, &count);
    return quarry_heap_destroy(heap) != QUARRY_OK || done != 100;
}
