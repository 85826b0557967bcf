/* SPDX-License-Identifier: Apache-2.0 */
#include "objects/object_kernels.h"

SIMT_FN void wrong(const struct objects_case *a, int is)
{
    if (is)
        (void)simt_add_u32(&a->counts[OBJECTS_WRONG], 1, relaxed);
}

SIMT_FN void count(const struct objects_case *a, enum objects_count what)
{
    (void)simt_add_u32(&a->counts[what], 1, relaxed);
}

SIMT_FN quarry_object create(const struct objects_case *a, uint32_t number)
{
    quarry_object o = quarry_object_null();
    if (number == quarry_number_of_mite)
        o = quarry_object_new(a->heap, mite);
    if (number == quarry_number_of_cat)
        o = quarry_object_new(a->heap, cat);
    if (number == quarry_number_of_horse)
        o = quarry_object_new(a->heap, horse);
    if (number == quarry_number_of_pegasus)
        o = quarry_object_new(a->heap, pegasus);
    count(a, quarry_object_is_null(o) ? OBJECTS_NONE : OBJECTS_CREATED);
    wrong(a, !quarry_object_is_null(o) && quarry_object_type(o) != number);
    return o;
}

/* Writes all fields; and are they as written? */
SIMT_FN void fill_in(quarry_object o, uint64_t stamp)
{
    if (quarry_object_is(o, mite))
        *mite_mark(o) = (unsigned char)stamp;
    if (quarry_object_is(o, animal))
        *animal_stamp(o) = stamp;
    if (quarry_object_is(o, cat))
        for (uint32_t i = 0; i < 3; i++)
            *cat_lives_at(o, i) = (uint32_t)stamp * 3u + i;
    if (quarry_object_is(o, horse)) {
        *horse_rider(o) = o;
        *horse_speed(o) = (double)stamp;
        *horse_hoof(o) = ~stamp;
    }
    if (quarry_object_is(o, pegasus))
        for (uint32_t i = 0; i < 3; i++)
            *pegasus_wing_at(o, i) = stamp * 5u + i;
}

SIMT_FN int is_as_written(quarry_object o, uint64_t stamp)
{
    int is = 1;
    if (quarry_object_is(o, mite))
        is = is && *mite_mark(o) == (unsigned char)stamp;
    if (quarry_object_is(o, animal))
        is = is && *animal_stamp(o) == stamp;
    if (quarry_object_is(o, cat))
        for (uint32_t i = 0; i < 3; i++)
            is = is && *cat_lives_at(o, i) == (uint32_t)stamp * 3u + i;
    if (quarry_object_is(o, horse))
        is = is && quarry_object_is_same(*horse_rider(o), o) && *horse_speed(o) == (double)stamp &&
             *horse_hoof(o) == ~stamp;
    if (quarry_object_is(o, pegasus))
        for (uint32_t i = 0; i < 3; i++)
            is = is && *pegasus_wing_at(o, i) == stamp * 5u + i;
    return is;
}

SIMT_FN uint32_t any_type(uint32_t hash)
{
    uint32_t number = quarry_mix_u32(hash) % 4u;
    return number == 0 ? (uint32_t)quarry_number_of_mite : (uint32_t)quarry_number_of_animal + number;
}

SIMT_KERNEL(objects_rounds, struct objects_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t hash = simt_thread() * 64u + round;
        uint64_t stamp = (uint64_t)hash << 32 | ~hash;
        quarry_object o = create(&a, any_type(hash));
        if (quarry_object_is_null(o))
            continue;
        fill_in(o, stamp);
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.counts[OBJECTS_WRONG], relaxed);
        wrong(&a, !is_as_written(o, stamp));
        quarry_object_delete(a.heap, o);
    }
}

SIMT_KERNEL(objects_fill, struct objects_case, a)
{
    quarry_object o = create(&a, a.number);
    a.kept[simt_thread()] = o;
    if (!quarry_object_is_null(o))
        fill_in(o, simt_thread());
}

SIMT_KERNEL(objects_fill_many, struct objects_case, a)
{
    quarry_object *mine = a.kept + simt_thread() * a.rounds;
    uint32_t made = quarry_object_new_many(a.heap, cat, a.rounds, mine);
    for (uint32_t i = 0; i < made; i++) {
        count(&a, OBJECTS_CREATED);
        wrong(&a, !quarry_object_is(mine[i], cat));
        fill_in(mine[i], simt_thread() * a.rounds + i);
    }
    for (uint32_t i = 0; i < made; i++)
        wrong(&a, !is_as_written(mine[i], simt_thread() * a.rounds + i));
    for (uint32_t i = made; i < a.rounds; i++)
        mine[i] = quarry_object_null();
    if (made < a.rounds)
        count(&a, OBJECTS_NONE);
}

SIMT_KERNEL(objects_mixed, struct objects_case, a)
{
    quarry_object o = create(&a, any_type(simt_thread()));
    a.kept[simt_thread()] = o;
    if (!quarry_object_is_null(o))
        fill_in(o, simt_thread());
}

SIMT_KERNEL(objects_drain, struct objects_case, a)
{
    uint32_t other = simt_threads() - 1u - simt_thread();
    quarry_object o = a.kept[other];
    if (quarry_object_is_null(o))
        return;
    wrong(&a, !is_as_written(o, other));
    quarry_object_delete(a.heap, o);
}

SIMT_KERNEL(objects_gone, struct objects_case, a)
{
    uint32_t warp = (1u << simt_threads()) - 1u;
    quarry_object o = create(&a, quarry_number_of_mite), stays = create(&a, quarry_number_of_mite);
    simt_sync(warp); /* from here on nobody creates one */
    quarry_object_delete(a.heap, o);
    for (quarry_object each = quarry_object_next(a.heap, mite, quarry_object_null());
         !quarry_object_is_null(each); each = quarry_object_next(a.heap, mite, each))
        wrong(&a, quarry_object_is_same(o, each));
    simt_sync(warp); /* so long their block is one of mites */
    quarry_object_delete(a.heap, stays);
}

SIMT_KERNEL(objects_freed, struct objects_case, a)
{
    uint32_t warp = (1u << simt_threads()) - 1u;
    struct quarry_span span;
    void *block = quarry_malloc(a.heap, 16), *stays = quarry_malloc(a.heap, 16);
    simt_sync(warp);
    quarry_free(a.heap, block);
    wrong(&a, stays && quarry_dispatch_find(&a.heap, block, &span) == QUARRY_PLACE_LIVE);
    simt_sync(warp);
    quarry_free(a.heap, stays);
}

SIMT_KERNEL(objects_walk, struct objects_case, a)
{
    uint32_t number = 0;
    if (simt_thread() != 0)
        return;
    struct quarry_object_walk walk = quarry_object_walk_start();
    for (quarry_object o = quarry_object_next(a.heap, animal, quarry_object_null());
         !quarry_object_is_null(o); o = quarry_object_next(a.heap, animal, o)) {
        wrong(&a, !quarry_object_is_same(o, quarry_object_step(a.heap, animal, &walk)));
        wrong(&a, !quarry_object_is(o, animal) || quarry_object_type(o) < number ||
                      a.visits[*animal_stamp(o)]++ != 0 || !is_as_written(o, *animal_stamp(o)));
        number = quarry_object_type(o);
        count(&a, OBJECTS_SEEN);
    }
    wrong(&a, !quarry_object_is_null(quarry_object_step(a.heap, animal, &walk)));
    wrong(&a, !quarry_object_is_null(quarry_object_step(a.heap, animal, &walk)));
}

SIMT_KERNEL(objects_mistakes, struct objects_case, a)
{
    quarry_object o = a.kept[0], forged = o;
    if (simt_thread() != 0)
        return;
    quarry_object_delete(a.heap, quarry_object_null());
    forged.bits = 64; /* no block is there */
    quarry_object_delete(a.heap, forged);
    forged.bits = o.bits + QUARRY_CAPACITY_OF(cat); /* a slot that its block does not have */
    quarry_object_delete(a.heap, forged);
    forged = quarry_object_name((uint32_t)quarry_number_of_horse, QUARRY_CAPACITY_OF(horse),
                                quarry_object_block(o), 0);
    quarry_object_delete(a.heap, forged);
    quarry_object_delete(a.heap, o);
    quarry_object_delete(a.heap, o); /* its block is free */
}

/* Has each byte of a cat, or of a pegasus, that value? */
SIMT_FN int is_all(quarry_object o, uint32_t byte)
{
    const uint64_t word = (uint64_t)byte * 0x0101010101010101u;
    int is = *animal_stamp(o) == word;
    for (uint32_t i = 0; i < 3 && quarry_object_is(o, cat); i++)
        is = is && *cat_lives_at(o, i) == (uint32_t)word;
    if (quarry_object_is(o, pegasus))
        is = is && horse_rider(o)->bits == word && *horse_hoof(o) == word && *pegasus_wing_at(o, 0) == word &&
             *pegasus_wing_at(o, 2) == word;
    return is;
}

SIMT_KERNEL(objects_filled, struct objects_case, a)
{
    if (simt_thread() != 0)
        return;
    quarry_object first = create(&a, (uint32_t)quarry_number_of_cat);
    fill_in(first, 7);
    quarry_object second = create(&a, (uint32_t)quarry_number_of_cat);
    quarry_object other = create(&a, (uint32_t)quarry_number_of_pegasus);
    wrong(&a, !is_all(second, 0xaa) || !is_all(other, 0xaa));
    fill_in(second, 8);
    quarry_object_delete(a.heap, other);
    wrong(&a, !is_all(other, 0x55));
    quarry_object_delete(a.heap, first);
    wrong(&a, !is_all(first, 0x55) || !is_as_written(second, 8));
    fill_in(first, 9);
    quarry_object_delete(a.heap, first); /* no more: nothing is filled */
    wrong(&a, !is_as_written(first, 9) || !is_as_written(second, 8));
    quarry_object_delete(a.heap, second);
}

SIMT_KERNEL(objects_together, struct objects_case, a)
{
    quarry_object_delete(a.heap, a.kept[0]);
}

SIMT_KERNEL(objects_beside, struct objects_case, a)
{
    quarry_object_delete(a.heap, a.kept[simt_thread() ? 1 : a.hold]);
}

SIMT_KERNEL(objects_blocks, struct objects_case, a)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t hash = simt_thread() * 64u + round, words = 1u + quarry_mix_u32(hash) % 16u, bad = 0;
        quarry_object o = create(&a, any_type(hash));
        uint32_t *block = (uint32_t *)quarry_malloc(a.heap, words * sizeof *block);
        for (uint32_t i = 0; block && i < words; i++)
            block[i] = hash + i;
        if (!quarry_object_is_null(o))
            fill_in(o, hash);
        for (uint32_t i = 0; i < a.hold; i++)
            (void)simt_load_u32(&a.counts[OBJECTS_WRONG], relaxed);
        for (uint32_t i = 0; block && i < words; i++)
            bad |= block[i] != hash + i;
        wrong(&a, bad || (!quarry_object_is_null(o) && !is_as_written(o, hash)));
        quarry_free(a.heap, block);
        quarry_object_delete(a.heap, o);
    }
}

SIMT_FN void visit(const struct objects_visit *a, quarry_object self, uint64_t stamp)
{
    count(&a->c, OBJECTS_VISITED);
    if (stamp == OBJECTS_NEW_STAMP)
        wrong(&a->c, 1);
    else
        wrong(&a->c, simt_add_u32(&a->c.visits[stamp], 1, relaxed) != 0);
    for (uint32_t number = 0; a->creates && number < (uint32_t)quarry_schema_type_count; number++)
        if (number != (uint32_t)quarry_number_of_animal) {
            quarry_object o = create(&a->c, number);
            if (!quarry_object_is_null(o))
                fill_in(o, OBJECTS_NEW_STAMP);
        }
    wrong(&a->c, !is_as_written(self, stamp));
    if (a->deletes)
        quarry_object_delete(a->c.heap, self);
}

QUARRY_DO_ALL(objects_visit_animals, animal, struct objects_visit, a, self)
{
    visit(a, self, *animal_stamp(self));
}

QUARRY_DO_ALL(objects_visit_horses, horse, struct objects_visit, a, self)
{
    visit(a, self, *animal_stamp(self));
}

QUARRY_DO_ALL(objects_visit_mites, mite, struct objects_visit, a, self)
{
    count(&a->c, OBJECTS_VISITED);
    if (a->deletes)
        quarry_object_delete(a->c.heap, self);
}
