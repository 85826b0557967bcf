/* SPDX-License-Identifier: Apache-2.0 */
/* Typed objects in one file: bodies move, heavy ones lose half of their mass to a star, and those that leave are
 * deleted (docs/guide/objects.md).  On the GPU if nvcc compiled this file, else on the CPU. */
#include "quarry/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))
#define BODIES 1000

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
            *body_pos(s) = *body_pos(self);
            *body_vel(s) = -*body_vel(self);
            *star_twin(s) = self;
            *star_age(s) = 0;
        }
    }
    if (*body_pos(self) > 1.0f)
        quarry_object_delete(a->heap, self);
}

int main(void)
{
    quarry_heap *heap;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = move_all.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    options.pool_bytes = 16 << 20;
    options.allocator = "objects";
    options.schema = &world_schema;
    CHECK(quarry_heap_create(&heap, &options));

    static float positions[BODIES], speeds[BODIES], masses[BODIES];
    for (int i = 0; i < BODIES; i++) {
        positions[i] = (float)i / BODIES;
        speeds[i] = 1.0f;
        masses[i] = (float)(i % 10 + 1);
    }
    CHECK(quarry_object_add(heap, body, BODIES, NULL));
    CHECK(quarry_object_write(heap, body, pos, positions, BODIES));
    CHECK(quarry_object_write(heap, body, vel, speeds, BODIES));
    CHECK(quarry_object_write(heap, body, mass, masses, BODIES));

    struct move arguments = {quarry_heap_handle(heap), 0.1f};
    for (int step = 1; step <= 5; step++) {
        uint64_t all, stars;
        CHECK(quarry_object_do(heap, &move_all, &arguments));
        CHECK(quarry_object_count(heap, body, &all)); /* waits until the do-all has run */
        CHECK(quarry_object_count(heap, star, &stars));
        printf("step %d: %" PRIu64 " bodies, %" PRIu64 " of them stars\n", step, all, stars);
    }
    CHECK(quarry_heap_destroy(heap));
}
