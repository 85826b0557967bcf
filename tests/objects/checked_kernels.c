/* SPDX-License-Identifier: Apache-2.0 */
#include "objects/checked_kernels.h"

SIMT_KERNEL(checked_use, struct checked_case, a)
{
    if (simt_thread() != 0)
        return;
    quarry_object cat = quarry_object_new(a.heap, cat), horse = quarry_object_new(a.heap, horse);
    quarry_object other = quarry_object_new(a.heap, cat);
    *animal_stamp(cat) = 1;
    *animal_stamp(horse) = 2;
    *horse_hoof(horse) = 3;
    *animal_stamp(other) = 4;
    if (a.use == CHECKED_NULL)
        *animal_stamp(quarry_object_null()) = 5;
    if (a.use == CHECKED_MISTYPED)
        *horse_hoof(cat) = 5;
    quarry_object forged = cat;
    forged.bits += a.use == CHECKED_SLOT ? QUARRY_CAPACITY_OF(cat) : (uint64_t)64 << 56;
    if (a.use == CHECKED_TYPE || a.use == CHECKED_SLOT)
        *cat_lives_at(forged, 1) = 5;
    if (a.use == CHECKED_DELETED || a.use == CHECKED_REPLACED)
        quarry_object_delete(a.heap, cat);
    if (a.use == CHECKED_REPLACED) { /* by objects of another type in its place */
        quarry_object_delete(a.heap, other);
        quarry_object_delete(a.heap, horse);
        for (quarry_object o = horse; !quarry_object_is_null(o);)
            o = quarry_object_new(a.heap, mite);
    }
    if (a.use == CHECKED_DELETED || a.use == CHECKED_REPLACED)
        *cat_lives_at(cat, 1) = 5;
    if (!quarry_object_is_null(a.given))
        *animal_stamp(other) += *animal_stamp(a.given);
    *a.result = *animal_stamp(cat) + *animal_stamp(horse) + *horse_hoof(horse) + *animal_stamp(other);
    quarry_object_delete(a.heap, cat);
    quarry_object_delete(a.heap, horse);
    quarry_object_delete(a.heap, other);
}
