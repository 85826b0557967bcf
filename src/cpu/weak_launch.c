/* SPDX-License-Identifier: Apache-2.0 */
/* A launch in mode weak: its memory, which lasts until it ends, and its table of cells.  Both are kept for the next
 * launch. */
#include "cpu/weak_run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT_BITS 12u
#define BUFFER_BYTES ((size_t)256 << 10)

/* ---- memory of a launch ---- */

struct weak_buffer {
    struct weak_buffer *next;
    size_t bytes;
    _Alignas(16) unsigned char memory[];
};

/* Out of memory there is nothing to go on with, and the lane that asks is in the middle of an access. */
static void *or_abort(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

void *weak_take(struct weak *weak, size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    while (weak->buffer && weak->buffer_used + bytes > weak->buffer->bytes && weak->buffer->next) {
        weak->buffer = weak->buffer->next;
        weak->buffer_used = 0;
    }
    if (!weak->buffer || weak->buffer_used + bytes > weak->buffer->bytes) {
        size_t size = bytes > BUFFER_BYTES ? bytes : BUFFER_BYTES;
        struct weak_buffer *made = or_abort(malloc(sizeof *made + size));
        made->next = NULL;
        made->bytes = size;
        if (weak->buffer)
            weak->buffer->next = made;
        else
            weak->buffers = made;
        weak->buffer = made;
        weak->buffer_used = 0;
    }
    void *memory = weak->buffer->memory + weak->buffer_used;
    weak->buffer_used += bytes;
    return memset(memory, 0, bytes);
}

/* ---- cells ---- */

static struct weak_slot *slot_of(const struct weak *weak, uintptr_t key)
{
    uint32_t mask = (1u << weak->slot_bits) - 1u;
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> (64u - weak->slot_bits));
    while (weak->slots[at].launch == weak->launch && weak->slots[at].key != key)
        at = (at + 1u) & mask;
    return &weak->slots[at];
}

static void more_slots(struct weak *weak)
{
    struct weak_slot *old = weak->slots;
    uint32_t count = 1u << weak->slot_bits;
    weak->slot_bits++;
    weak->slots = or_abort(calloc((size_t)2 * count, sizeof *old));
    for (uint32_t i = 0; i < count; i++)
        if (old[i].launch == weak->launch)
            *slot_of(weak, old[i].key) = old[i];
    free(old);
}

struct weak_cell *weak_cell_if_any(const struct weak *weak, uintptr_t address)
{
    const struct weak_slot *slot = slot_of(weak, address / 8);
    return slot->launch == weak->launch ? slot->cell : NULL;
}

struct weak_cell *weak_cell_of(struct weak *weak, uintptr_t address)
{
    struct weak_slot *slot = slot_of(weak, address / 8);
    if (slot->launch == weak->launch)
        return slot->cell;
    if (++weak->slots_used > 1u << (weak->slot_bits - 1u)) {
        more_slots(weak);
        slot = slot_of(weak, address / 8);
    }
    slot->key = address / 8;
    slot->launch = weak->launch;
    return slot->cell = weak_take(weak, sizeof *slot->cell);
}

/* ---- launches ---- */

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct weak *idle;

struct weak *simt_weak_begin(struct worker *w, uint32_t lanes, uint64_t seed)
{
    pthread_mutex_lock(&idle_lock);
    struct weak *weak = idle;
    if (weak)
        idle = weak->next;
    pthread_mutex_unlock(&idle_lock);
    if (!weak) {
        weak = calloc(1, sizeof *weak);
        if (!weak)
            return NULL;
        weak->slot_bits = FIRST_SLOT_BITS;
        weak->slots = calloc((size_t)1 << FIRST_SLOT_BITS, sizeof *weak->slots);
    }
    size_t numbers = (size_t)lanes * (2 * (size_t)lanes + 2);
    if (numbers > weak->clock_room) {
        free(weak->clocks);
        weak->clocks = malloc(numbers * sizeof *weak->clocks);
        weak->clock_room = weak->clocks ? numbers : 0;
    }
    weak->worker = w;
    weak->launch++;
    weak->slots_used = 0;
    weak->lanes = lanes;
    weak->random = seed * 0x9e3779b97f4a7c15u;
    weak->stale_of_8 = 1u + 3u * (uint32_t)(weak_random(weak) % 3u); /* 1, 4 or 7 */
    weak->met_count = 0;
    weak->spare_views = NULL;
    weak->buffer = weak->buffers;
    weak->buffer_used = 0;
    if (!weak->slots || !weak->clocks) {
        simt_weak_end(weak);
        return NULL;
    }
    memset(weak->clocks, 0, numbers * sizeof *weak->clocks);
    weak->meeting = weak->clocks + (size_t)lanes * 2 * lanes;
    weak->seq_cst = weak->meeting + lanes;
    weak->lane = weak_take(weak, lanes * sizeof *weak->lane);
    weak->met = weak_take(weak, lanes * sizeof(struct weak_lane *));
    for (uint32_t i = 0; i < lanes; i++) {
        weak->lane[i].weak = weak;
        weak->lane[i].index = i;
        weak->lane[i].clock = weak->clocks + (size_t)2 * i * lanes;
        weak->lane[i].pending = weak->lane[i].clock + lanes;
    }
    return weak;
}

void simt_weak_end(struct weak *weak)
{
    if (!weak)
        return;
    pthread_mutex_lock(&idle_lock);
    weak->next = idle;
    idle = weak;
    pthread_mutex_unlock(&idle_lock);
}

void simt_weak_forget(struct weak *weak, const void *memory, uint64_t bytes)
{
    static const struct weak_cell none;
    uintptr_t from = (uintptr_t)memory / 8 * 8, to = (uintptr_t)memory + bytes;
    for (; weak && from < to; from += 8) {
        struct weak_cell *cell = weak_cell_if_any(weak, from);
        if (cell)
            *cell = none;
    }
}
