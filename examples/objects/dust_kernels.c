/* SPDX-License-Identifier: Apache-2.0 */
#include "dust.h"

KERNEL(dust_begin, struct dust, d)
{
    for (uint32_t i = simt_thread(); i < d.motes; i += simt_threads()) {
        quarry_object self = new_object(d.backing, mote);
        if (!quarry_object_is_null(self)) {
            *mote_place(self) = 0.0f;
            *mote_speed(self) = speed_of(i);
        }
        d.places[i] = 0.0f;
        d.speeds[i] = speed_of(i);
    }
}

DO_ALL(dust_move, mote, struct dust, d, self)
{
    (void)d;
    *mote_place(self) += *mote_speed(self);
}

KERNEL(dust_loop, struct dust, d)
{
    for (uint32_t i = simt_thread(); i < d.motes; i += simt_threads())
        d.places[i] += d.speeds[i];
}
