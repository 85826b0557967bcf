/* SPDX-License-Identifier: Apache-2.0 */
#include "nbody.h"

#include <math.h>

/* From -1 to 1. */
SIMT_FN float drawn(const struct space *s, uint32_t number, uint32_t turn)
{
    return (float)(draw(s->seed, number, turn) >> 8) / 8388608.0f - 1.0f;
}

KERNEL(nbody_begin, struct space, s)
{
    for (uint32_t i = simt_thread(); i < s.bodies; i += simt_threads()) {
        quarry_object self = new_object(s.backing, body);
        if (quarry_object_is_null(self))
            return;
        for (uint32_t d = 0; d < 2; d++) {
            *body_position_at(self, d) = drawn(&s, i, d);
            *body_velocity_at(self, d) = 0.0005f * drawn(&s, i, 2 + d);
            *body_force_at(self, d) = 0.0f;
        }
        *body_mass(self) = 750.0f + 250.0f * drawn(&s, i, 4);
    }
}

DO_ALL(nbody_pull, body, struct space, s, self)
{
    const float x = *body_position_at(self, 0), y = *body_position_at(self, 1), mass = *body_mass(self);
    float force_x = 0.0f, force_y = 0.0f;
    EACH_OBJECT(s->backing, body, o)
    {
        const float dx = *body_position_at(o, 0) - x, dy = *body_position_at(o, 1) - y;
        const float square = dx * dx + dy * dy;
        if (square == 0.0f) /* itself */
            continue;
        const float force = GRAVITY * mass * *body_mass(o) / ((square + SOFTENING) * sqrtf(square));
        force_x += force * dx;
        force_y += force * dy;
    }
    *body_force_at(self, 0) = force_x;
    *body_force_at(self, 1) = force_y;
}

DO_ALL(nbody_move, body, struct space, s, self)
{
    (void)s;
    for (uint32_t d = 0; d < 2; d++) {
        *body_velocity_at(self, d) += *body_force_at(self, d) * TIME_STEP / *body_mass(self);
        *body_position_at(self, d) += *body_velocity_at(self, d) * TIME_STEP;
        if (*body_position_at(self, d) < -1.0f || *body_position_at(self, d) > 1.0f)
            *body_velocity_at(self, d) = -*body_velocity_at(self, d);
    }
}
