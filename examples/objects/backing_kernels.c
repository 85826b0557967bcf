/* SPDX-License-Identifier: Apache-2.0 */
#include "backing.h"

SIMT_KERNEL(backing_turn, struct turn, a)
{
    struct table *t = &a.tables->of[simt_thread() % QUARRY_SCHEMA_TYPES];
    if (simt_thread() == 0)
        a.tables->turn++;
    if (simt_thread() >= QUARRY_SCHEMA_TYPES)
        return;
    if (t->taken > t->ready) { /* some are new */
        uint64_t used = t->used + (t->taken - t->ready);
        t->failed += used > t->most ? used - t->most : 0;
        t->used = used < t->most ? (uint32_t)used : t->most;
        t->taken = t->ready;
    }
    t->ready = t->given;
}

SIMT_KERNEL(backing_gather, struct gather, a)
{
    for (uint32_t i = simt_thread(); i < a.count; i += simt_threads())
        for (uint32_t b = 0; b < a.bytes && a.born[i]; b++)
            a.values[(uint64_t)i * a.bytes + b] = a.at[i][a.offset + b];
}
