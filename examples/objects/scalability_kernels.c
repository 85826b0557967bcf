/* SPDX-License-Identifier: Apache-2.0 */
#define BACKING_UNLISTED
#include "scalability.h"

KERNEL(scalability_make, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        a.kept[(uint64_t)i * a.threads + simt_thread()] = new_object(a.backing, thing);
}

KERNEL(scalability_delete, struct things, a)
{
    for (uint32_t i = 0; i < a.each && simt_thread() < a.threads; i++)
        delete_object(a.backing, a.kept[(uint64_t)i * a.threads + simt_thread()]);
}
