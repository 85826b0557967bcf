/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels, compiled once for each allocator: -DQUARRY_ALLOCATOR=ring makes ring_move and so on;
 * once for recording: -DQUARRY_TRACE beside it makes traced_move; and once for a ring of each species' own:
 * -DAPART beside it makes apart_move.
 *
 * A warp has one cell and its lists, so lists need no atomics; all lanes of it call each function together.
 */
#include "particles.h"

#ifdef QUARRY_TRACE
#define KERNEL(name) KERNEL_OF(traced, name)
#elif defined APART
#define KERNEL(name) KERNEL_OF(apart, name)
#else
#define KERNEL(name) KERNEL_OF(QUARRY_ALLOCATOR, name)
#endif
#define KERNEL_OF(allocator, name) KERNEL_NAMED(allocator, name)
#define KERNEL_NAMED(allocator, name) SIMT_KERNEL(allocator##_##name, struct simulation, a)

#define CAPTURE 32u /* an ion captures an electron of its cell in one of so many steps */
#define IONISE 4u   /* an atom that the pulse hits loses its electron, in one of so many */
#define PULSE 4u    /* the pulse is so many times narrower than the world */

/* ---- frames and lists: all of what is allocated and freed ---- */

/* The heap that list number i of every cell has its frames from. */
SIMT_FN struct quarry_handle heap_of(const struct simulation *a, uint32_t i)
{
#ifdef APART
    return a->ring[i];
#else
    (void)i;
    return a->heap;
#endif
}

/* Puts an empty frame on top of the list, which is number i of its cell here and below.  Returns 0 if there
 * is none. */
SIMT_FN int grow(const struct simulation *a, struct list *l, uint32_t i)
{
    struct frame *top = (struct frame *)SIMT_NULL;
    if (simt_lane() == 0) {
        top = (struct frame *)quarry_malloc(heap_of(a, i), sizeof *top);
        if (top)
            top->next = l->top;
    }
    top = (struct frame *)(uintptr_t)simt_shuffle_u64(SIMT_ALL_LANES, (uint64_t)(uintptr_t)top, 0);
    simt_sync(SIMT_ALL_LANES); /* all lanes come after lane 0's malloc, and so after the frame's last owner */
    if (!top)
        return 0;
    l->top = top;
    l->fill = 0;
    return 1;
}

/* Frees the top frame. */
SIMT_FN void shrink(const struct simulation *a, struct list *l, uint32_t i)
{
    struct frame *top = l->top;
    l->top = top->next;
    l->fill = FRAME_PARTICLES;
    simt_sync(SIMT_ALL_LANES); /* all lanes have read what they want of it */
    if (simt_lane() == 0)
        quarry_free(heap_of(a, i), top);
}

SIMT_FN int in(uint32_t lanes)
{
    return (lanes >> simt_lane() & 1u) != 0;
}

/* Puts the particles of these lanes into the list. */
SIMT_FN void push(const struct simulation *a, struct list *l, uint32_t i, uint32_t lanes,
                  const struct particle *p)
{
    while (lanes) {
        if (l->fill == FRAME_PARTICLES && !grow(a, l, i)) {
            if (simt_lane() == 0)
                simt_add_u64(&a->tally->lost, simt_popc_u32(lanes), relaxed);
            return;
        }
        int fits = in(lanes) && l->fill + simt_rank(lanes) < FRAME_PARTICLES;
        if (fits)
            l->top->particle[l->fill + simt_rank(lanes)] = *p;
        uint32_t done = simt_ballot(SIMT_ALL_LANES, fits);
        l->fill += simt_popc_u32(done);
        lanes &= ~done;
    }
}

/* Takes a particle out of the list for each of these lanes, as far as the top frame has them.
 * Returns the lanes that have got one; 0 only if the list is empty. */
SIMT_FN uint32_t pop(const struct simulation *a, struct list *l, uint32_t i, uint32_t lanes,
                     struct particle *p)
{
    if (!lanes || !l->top)
        return 0;
    int gets = in(lanes) && simt_rank(lanes) < l->fill;
    if (gets)
        *p = l->top->particle[l->fill - 1 - simt_rank(lanes)];
    lanes = simt_ballot(SIMT_ALL_LANES, gets);
    l->fill -= simt_popc_u32(lanes);
    if (l->fill == 0)
        shrink(a, l, i);
    return lanes;
}

SIMT_FN struct list empty(void)
{
    struct list l = {(struct frame *)SIMT_NULL, FRAME_PARTICLES};
    return l;
}

SIMT_FN uint32_t my_cell(void)
{
    return simt_thread() / SIMT_LANES;
}

SIMT_FN uint32_t cells(const struct simulation *a)
{
    return a->side * a->side;
}

SIMT_FN struct list *list_of(const struct simulation *a, uint32_t cell, uint32_t i)
{
    return &a->list[cell * LISTS + i];
}

SIMT_FN void store(const struct simulation *a, uint32_t i, struct list l)
{
    simt_sync(SIMT_ALL_LANES); /* all lanes have read the list that was there */
    if (simt_lane() == 0)
        *list_of(a, my_cell(), i) = l;
}

/* ---- particles ---- */

/* A random number that depends on nothing but the particle, the step, and what it is for. */
SIMT_FN uint32_t draw(const struct simulation *a, uint32_t id, uint32_t what)
{
    uint32_t x = id * 0x9e3779b1u ^ a->step * 0x85ebca77u ^ what * 0xc2b2ae3du;
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    x = (x ^ x >> 12) * 0x297a2d39u;
    return x ^ x >> 15;
}

SIMT_FN int32_t draw_speed(const struct simulation *a, uint32_t id, uint32_t what, uint32_t most)
{
    return (int32_t)(draw(a, id, what) % (2 * most)) - (int32_t)most;
}

SIMT_FN uint32_t cell_of(const struct simulation *a, const struct particle *p)
{
    return p->y / CELL * a->side + p->x / CELL;
}

/* The pulse runs once through the world, in the first half of the steps. */
SIMT_FN int pulse_hits(const struct simulation *a, const struct particle *p)
{
    uint64_t world = (uint64_t)a->side * CELL, front = world * 2 * a->step / a->steps;
    return p->x <= front && p->x + world / PULSE > front && draw(a, p->id, 1) % IONISE == 0;
}

/* Parts an atom into an ion and its electron, which flies on with the pulse. */
SIMT_FN void ionise(const struct simulation *a, struct particle *atom, struct particle *electron)
{
    *electron = *atom;
    electron->id = atom->electron;
    electron->species = ELECTRON;
    electron->energy = atom->energy / 2;
    electron->vx = draw_speed(a, atom->id, 7, CELL / 2) + (int32_t)CELL / 4;
    electron->vy = draw_speed(a, atom->id, 8, CELL / 2);
    atom->species = ION;
    atom->energy -= electron->energy;
}

/* Moves the particles of these lanes, and puts each into its list. */
SIMT_FN void move(const struct simulation *a, struct list *lists, uint32_t lanes, struct particle *p)
{
    uint32_t world = a->side * CELL, list = LISTS;
    if (in(lanes)) {
        p->x = (p->x + world + (uint32_t)p->vx) % world;
        p->y = (p->y + world + (uint32_t)p->vy) % world;
        list = cell_of(a, p) == my_cell() ? p->species : (uint32_t)LEAVING;
    }
    for (uint32_t i = 0; i < LISTS; i++)
        push(a, &lists[i], i, simt_ballot(SIMT_ALL_LANES, list == i), p);
}

/* ---- kernels: one warp for each cell ---- */

/* Atom number i begins in cell i modulo their number, and holds electron atoms + i. */
KERNEL(create)
{
    struct list atoms = empty();
    if (my_cell() >= cells(&a))
        return;
    for (uint32_t first = my_cell(); first < a.atoms; first += cells(&a) * SIMT_LANES) {
        uint32_t id = first + cells(&a) * simt_lane();
        struct particle p;
        p.id = id;
        p.electron = a.atoms + id;
        p.species = ATOM;
        p.energy = 1000;
        p.x = my_cell() % a.side * CELL + draw(&a, id, 2) % CELL;
        p.y = my_cell() / a.side * CELL + draw(&a, id, 3) % CELL;
        p.vx = draw_speed(&a, id, 4, CELL / 16);
        p.vy = draw_speed(&a, id, 5, CELL / 16);
        push(&a, &atoms, ATOM, simt_ballot(SIMT_ALL_LANES, id < a.atoms), &p);
    }
    for (uint32_t i = 0; i < LISTS; i++)
        store(&a, i, i == ATOM ? atoms : empty());
}

/* Takes the cell's lists apart and makes new ones.  Ions capture electrons, which are absorbed; ions come
 * first, while all electrons are there.  Atoms that the pulse hits become ions, and electrons appear. */
KERNEL(move)
{
    const uint32_t order[SPECIES] = {ION, ELECTRON, ATOM};
    struct list old[SPECIES], lists[LISTS];
    struct particle p = {0, 0, 0, 0, 0, 0, 0, 0}, electron = p;
    uint32_t lanes;
    if (my_cell() >= cells(&a))
        return;
    for (uint32_t i = 0; i < LISTS; i++)
        lists[i] = empty();
    for (uint32_t i = 0; i < SPECIES; i++)
        old[i] = *list_of(&a, my_cell(), i);
    for (uint32_t turn = 0; turn < SPECIES; turn++) {
        uint32_t species = order[turn];
        while ((lanes = pop(&a, &old[species], species, SIMT_ALL_LANES, &p)) != 0) {
            int captures = in(lanes) && species == ION && draw(&a, p.id, 6) % CAPTURE == 0;
            int is_hit = in(lanes) && species == ATOM && pulse_hits(&a, &p);
            uint32_t got =
                pop(&a, &old[ELECTRON], ELECTRON, simt_ballot(SIMT_ALL_LANES, captures), &electron);
            if (in(got)) {
                p.species = ATOM;
                p.electron = electron.id;
                p.energy += electron.energy;
            }
            if (is_hit)
                ionise(&a, &p, &electron);
            move(&a, lists, lanes, &p);
            move(&a, lists, simt_ballot(SIMT_ALL_LANES, is_hit), &electron);
        }
    }
    for (uint32_t i = 0; i < LISTS; i++)
        store(&a, i, lists[i]);
}

/* Takes those of the neighbours' leaving particles that are in this cell now.  They stay where they are, too:
 * nobody changes a list that others read. */
KERNEL(arrive)
{
    struct list lists[SPECIES];
    if (my_cell() >= cells(&a))
        return;
    for (uint32_t i = 0; i < SPECIES; i++)
        lists[i] = *list_of(&a, my_cell(), i);
    for (uint32_t at = 0; at < 9; at++) {
        uint32_t x = (my_cell() % a.side + a.side + at % 3 - 1) % a.side;
        uint32_t y = (my_cell() / a.side + a.side + at / 3 - 1) % a.side;
        struct list from = *list_of(&a, y * a.side + x, LEAVING);
        for (; from.top; from.top = from.top->next, from.fill = FRAME_PARTICLES)
            for (uint32_t n = 0; n < from.fill; n += SIMT_LANES) {
                struct particle p = {0, 0, SPECIES, 0, 0, 0, 0, 0};
                if (n + simt_lane() < from.fill)
                    p = from.top->particle[n + simt_lane()];
                int mine = cell_of(&a, &p) == my_cell();
                for (uint32_t i = 0; i < SPECIES; i++)
                    push(&a, &lists[i], i, simt_ballot(SIMT_ALL_LANES, mine && p.species == i), &p);
            }
    }
    for (uint32_t i = 0; i < SPECIES; i++)
        store(&a, i, lists[i]);
}

/* Empties the cell's lists from number `forget` on. */
KERNEL(discard)
{
    if (my_cell() >= cells(&a))
        return;
    for (uint32_t i = a.forget; i < LISTS; i++) {
        struct list l = *list_of(&a, my_cell(), i);
        while (l.top)
            shrink(&a, &l, i);
        store(&a, i, l);
    }
}

/* ---- checks ---- */

SIMT_FN void add(uint64_t *sum, uint64_t value)
{
    value = simt_reduce_add_u64(SIMT_ALL_LANES, value);
    if (simt_lane() == 0)
        simt_add_u64(sum, value, relaxed);
}

/* Counts the cell's particles and frames, and in `seen` every id: an atom's electron is there, too. */
KERNEL(count)
{
    uint64_t energy = 0, wrong = 0;
    if (my_cell() >= cells(&a))
        return;
    for (uint32_t i = 0; i < LISTS; i++) {
        uint64_t population = 0, frames = 0;
        struct list l = *list_of(&a, my_cell(), i);
        for (; l.top; l.top = l.top->next, l.fill = FRAME_PARTICLES) {
            frames += simt_lane() == 0;
            for (uint32_t n = simt_lane(); n < l.fill; n += SIMT_LANES) {
                const struct particle *p = &l.top->particle[n];
                population++;
                energy += p->energy;
                if (p->species != i || cell_of(&a, p) != my_cell() || p->id >= 2 * a.atoms ||
                    (i == ATOM && p->electron >= 2 * a.atoms)) {
                    wrong++;
                    continue;
                }
                simt_add_u32(&a.seen[p->id], 1, relaxed);
                if (i == ATOM)
                    simt_add_u32(&a.seen[p->electron], 1, relaxed);
            }
        }
        add(&a.tally->frames, frames);
#ifdef APART
        add(&a.tally->frames_of[i], frames);
#endif
        if (i < SPECIES)
            add(&a.tally->population[i], population);
    }
    add(&a.tally->energy, energy);
    add(&a.tally->wrong, wrong);
}

/* Each id must have been seen once.  One thread for each. */
KERNEL(judge)
{
    uint32_t id = simt_thread();
    if (id >= 2 * a.atoms)
        return;
    if (a.seen[id] != 1)
        simt_add_u64(&a.tally->wrong, 1, relaxed);
    a.seen[id] = 0;
}
