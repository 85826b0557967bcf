/* SPDX-License-Identifier: Apache-2.0 */
#include "scalability.h"

SIMT_KERNEL(scalability_make, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        a.kept[(uint64_t)i * a.threads + simt_thread()] = quarry_object_new(a.heap, thing);
}

SIMT_KERNEL(scalability_delete, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        quarry_object_delete(a.heap, a.kept[(uint64_t)i * a.threads + simt_thread()]);
}
