/* SPDX-License-Identifier: Apache-2.0 */
#define BACKING_UNLISTED
#include "scalability.h"

/* Where a thread keeps its i-th object. */
SIMT_FN uint64_t keep(const struct things *a, uint32_t i)
{
    return (uint64_t)i * a->threads + simt_thread();
}

KERNEL(scalability_store, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        a.kept[keep(&a, i)].bits = i + 1u;
}

KERNEL(scalability_make, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        a.kept[keep(&a, i)] = new_object(a.backing, thing);
}

KERNEL(scalability_mark, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        if (!quarry_object_is_null(a.kept[keep(&a, i)]))
            for (uint32_t e = 0; e < THING_NUMBERS; e++)
                *thing_number_at(a.kept[keep(&a, i)], e) = (double)(keep(&a, i) * THING_NUMBERS + e);
}

KERNEL(scalability_compare, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++) {
        int is_wrong = quarry_object_is_null(a.kept[keep(&a, i)]);
        for (uint32_t e = 0; e < THING_NUMBERS && !is_wrong; e++)
            is_wrong = *thing_number_at(a.kept[keep(&a, i)], e) != (double)(keep(&a, i) * THING_NUMBERS + e);
        if (is_wrong)
            (void)simt_add_u64(a.faults, 1, relaxed);
    }
}

KERNEL(scalability_delete, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        delete_object(a.backing, a.kept[keep(&a, i)]);
}
