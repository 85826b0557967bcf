/* SPDX-License-Identifier: Apache-2.0 */
/* The records of mode weak, which its files share.
 *
 * A *clock* has a number for each lane: the latest of its steps that happened-before.  A lane's own number, its
 * epoch, goes up when it releases something, so that what it does later is told from what it released.
 * A *cell* is an aligned word of 64 bits that was accessed in this launch.  Its two halves are locations of
 * their own; what writes both is one store to both. */
#ifndef QUARRY_CPU_WEAK_RUN_H
#define QUARRY_CPU_WEAK_RUN_H

#include "cpu/weak.h"

#define WEAK_KEPT 16u /* latest stores of a cell; who is later than they are can't be read any more */
#define WEAK_NOBODY UINT32_MAX /* a lane: who was before the launch, or is outside of it */

/* A lane that has backed off so often since its last store reads the newest of all: a loop that waits for
 * another lane ends, however seldom it looks. */
#define WEAK_PATIENCE 16u

/* A clock that a store carries, or a release fence leaves behind. */
struct weak_view {
    uint32_t references;
    uint32_t clock[];
};

/* Who stored a half's value, and what it carries: NULL is nothing. */
struct weak_half {
    uint32_t lane, epoch;
    uintptr_t place;
    struct weak_view *view;
};

struct weak_store {
    uint64_t value;  /* of the cell, after it */
    uint32_t halves; /* bits 0 and 1: which it wrote; the others are as they were */
    int changes;     /* it is a read-modify-write */
    struct weak_half half[2];
};

/* Lane read half `half` of store number `number`, for the first time, when its epoch was this. */
struct weak_reader {
    uint32_t lane, epoch, half, number;
};

/* The past of a cell that atomics access, in their modification order. */
struct weak_past {
    uint32_t first; /* number of store[0] */
    uint32_t count;
    struct weak_store store[WEAK_KEPT];
    uint32_t written;           /* halves that were written without an atomic since the latest store... */
    struct weak_half writer[2]; /* ...and by whom */
    uint32_t reader_count, reader_room;
    struct weak_reader *readers;
};

/* A lane's latest access of some kind to some bytes. */
struct weak_access {
    uint32_t lane, epoch;
    uintptr_t place;
    uint32_t bytes; /* a bit for each */
};

struct weak_accesses {
    uint32_t count, room;
    struct weak_access *all;
};

enum weak_kind { WEAK_READ, WEAK_WRITE };

struct weak_cell {
    struct weak_past *past;         /* NULL: no atomic yet */
    struct weak_accesses plain[2];  /* by enum weak_kind */
    struct weak_access *atomics[2]; /* likewise: 2 for each lane, of the cell's halves; NULL: none yet */
};

/* For reports: the lane loaded what another stored. */
struct weak_heard {
    uint32_t lane, epoch; /* of the store */
    uint32_t carried;     /* so far the store released what its lane had done */
    uintptr_t store, load;
};
#define WEAK_HEARD 16u /* latest that a lane knows */

struct weak_lane {
    struct weak_heard heard[WEAK_HEARD];
    uint32_t heard_count;
    struct weak *weak;
    const struct lane *lane;
    uint32_t index;
    uint32_t waited;      /* backoffs since its last store */
    uint32_t first_epoch; /* of the lane that is in this place now */
    uint32_t *clock;
    uint32_t *pending;       /* what an acquire fence joins */
    struct weak_view *fence; /* of the last release fence; NULL: there was none */
};

struct weak_slot {
    uintptr_t key;
    uint64_t launch;
    struct weak_cell *cell;
};

struct weak_buffer;

struct weak {
    struct weak *next; /* of those that no launch uses */
    struct worker *worker;
    uint32_t lanes;
    struct weak_lane *lane;
    uint32_t *clocks;  /* two for each lane, that of all who meet, and that of seq_cst fences */
    size_t clock_room; /* numbers there */
    uint32_t *meeting, *seq_cst;
    struct weak_lane **met; /* who meets */
    uint32_t met_count;
    uint64_t random;
    uint32_t stale_of_8; /* so many of 8 loads may read something old */
    uint64_t launch;     /* tells this launch's slots from older ones */
    struct weak_slot *slots;
    uint32_t slot_bits, slots_used;
    struct weak_view *spare_views;
    struct weak_buffer *buffers, *buffer; /* memory that lasts for a launch: all, and the present one */
    size_t buffer_used;
};

/* The calling lane's record; NULL: no lane calls, or not in mode weak. */
static inline struct weak_lane *weak_self(void)
{
    const struct lane *lane = (const struct lane *)(const void *)simt_cpu.self;
    return lane ? lane->weak : NULL;
}

/* Did that happen before what the lane does now? */
static inline int weak_is_before(const struct weak_lane *me, uint32_t lane, uint32_t epoch)
{
    return lane != WEAK_NOBODY && me->clock[lane] >= epoch;
}

/* ---- weak_launch.c ---- */

void *weak_take(struct weak *weak, size_t bytes); /* zeroed memory, until the launch ends */
/* The cell of the word at this address: a new one if there is none, or NULL. */
struct weak_cell *weak_cell_of(struct weak *weak, uintptr_t address);
struct weak_cell *weak_cell_if_any(const struct weak *weak, uintptr_t address);

/* ---- weak.c ---- */

uint64_t weak_random(struct weak *weak); /* the next number of the launch's seed */

enum weak_rmw { WEAK_EXCHANGE, WEAK_ADD, WEAK_SUB, WEAK_AND, WEAK_OR, WEAK_XOR, WEAK_NAND };

/* Atomics of the calling lane on a naturally aligned word of 1, 2, 4 or 8 bytes; orders are __ATOMIC_... */
uint64_t weak_load(struct weak_lane *me, uintptr_t address, uint32_t bytes, int order, uintptr_t place);
void weak_store(struct weak_lane *me, uintptr_t address, uint32_t bytes, uint64_t value, int order,
                uintptr_t place);
uint64_t weak_change(struct weak_lane *me, uintptr_t address, uint32_t bytes, enum weak_rmw what,
                     uint64_t value, int order, uintptr_t place);
uint64_t weak_compare_exchange(struct weak_lane *me, uintptr_t address, uint32_t bytes, uint64_t expected,
                               uint64_t desired, int order, int failure, uintptr_t place);
void weak_fence(struct weak_lane *me, int order);
/* Did the lane's latest store to this half rely on a fence, and was it, or a later one, read by what happens-before
 * what `me` does now?  PTX orders it then before that, C11 only what was before the fence. */
int weak_is_read_fenced(const struct weak_lane *me, const struct weak_past *past, uint32_t lane,
                        uint32_t half);

/* ---- weak_races.c ---- */

/* The lane accesses this memory without an atomic.  Does not return if that is a race. */
void weak_plain(struct weak_lane *me, uintptr_t address, uint64_t bytes, enum weak_kind kind,
                uintptr_t place);
/* The same of an atomic of some of the cell's halves. */
void weak_atomic(struct weak_lane *me, struct weak_cell *cell, uintptr_t address, uint32_t halves,
                 enum weak_kind kind, uintptr_t place);

/* ---- weak_blocks.c ---- */

/* What is wrong with an access to this memory, "a block that was freed"; NULL: nothing. */
const char *weak_block_fault(uintptr_t address, uint64_t bytes, enum weak_kind kind, uintptr_t place);

/* ---- weak_place.c ---- */

/* Writes "file:line (function)" of the call that returns to `place`, as it stands in the caller of simt.h's
 * functions. */
void weak_place_text(uintptr_t place, char *text, size_t bytes);

#endif
