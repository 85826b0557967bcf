/* SPDX-License-Identifier: Apache-2.0 */
#include "backing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

#define TABLE_MOST ((uint64_t)1 << 31) /* places have numbers of 32 bits */

static uint32_t table_places(uint64_t most)
{
    uint32_t places = 64; /* so that all arrays are aligned */
    while (places < most)
        places *= 2;
    return places;
}

/* The number of a type. */
static uint32_t type_of(const struct objects *o, const char *name)
{
    uint32_t number = 0;
    while (strcmp(o->schema->types[number].name, name) != 0)
        number++;
    return number;
}

static struct table make_table(struct objects *o, uint32_t number, uint64_t most)
{
    const struct quarry_target *target = &o->settings->target;
    const struct quarry_schema_type *type = &o->schema->types[number];
    struct table t = {.most = table_places(most), .bytes = (type->bytes + 3u) / 4u * 4u};
    const uint64_t words = (uint64_t)t.most * sizeof *t.born;
    unsigned char *at = make(target, t.most * (sizeof *t.born + sizeof *t.ring + sizeof *t.at + type->bytes));
    o->memory[number] = at;
    if (o->settings->backing == SOA) {
        t.first = at + (t.most - (uintptr_t)at % t.most) % t.most;
        at = t.first + (uint64_t)t.most * type->bytes;
    } else {
        t.at = (unsigned char **)at;
        at += t.most * sizeof *t.at;
    }
    t.born = (uint32_t *)at;
    t.ring = (uint32_t *)(at + words);
    must(quarry_memory_fill(target, t.born, 0, words));
    return t;
}

/* Begins a turn, and fetches the tables if they are to be looked at. */
static void turn(struct objects *o, int look)
{
    const struct turn argument = {o->backing.tables};
    must(quarry_launch(&backing_turn, &o->settings->target, quarry_grid_for(QUARRY_SCHEMA_TYPES), &argument));
    if (look)
        must(quarry_memory_copy(&o->settings->target, o->tables, o->backing.tables, sizeof *o->tables));
}

/* ---- all backings ---- */

/* Ends the program if there are more than a heap or a table has numbers for. */
static void must_fit(uint64_t wanted, uint64_t most, const char *what)
{
    if (wanted <= most)
        return;
    fprintf(stderr, "objects: so many objects need %" PRIu64 " %s, but there can be at most %" PRIu64 "\n",
            wanted, what, most);
    exit(1);
}

struct objects make_objects(const struct settings *s, const struct quarry_schema *schema,
                            const uint64_t *most, uint64_t pages)
{
    struct objects o = {.settings = s, .schema = schema};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target = s->target;
    if (s->backing == OBJECTS) {
        must_fit(pages, QUARRY_BLOCKS_MOST, "blocks in the heap");
        options.schema = schema;
        options.pages = pages;
    } else {
        o.tables = room(sizeof *o.tables);
        o.tables->turn = 1;
        for (uint32_t i = 0; i < schema->type_count; i++)
            if (!schema->types[i].is_abstract) {
                must_fit(most[i], TABLE_MOST, "places in a table");
                o.tables->of[i] = make_table(&o, i, most[i]);
                options.pool_bytes += most[i] * (schema->types[i].bytes + 64u);
            }
        options.pool_bytes = 2 * options.pool_bytes + (1 << 20);
        if (options.pool_bytes < pages * schema->block_bytes) /* no less than typed objects have */
            options.pool_bytes = pages * schema->block_bytes;
        o.backing.tables = make(&s->target, sizeof *o.tables);
        must(quarry_memory_copy(&s->target, o.backing.tables, o.tables, sizeof *o.tables));
        options.allocator = s->allocator;
    }
    if (s->backing == SOA)
        return o;
    must(quarry_heap_create(&o.heap, &options));
    o.backing.heap = quarry_heap_handle(o.heap);
    return o;
}

void free_objects(struct objects *o)
{
    const struct quarry_target *target = &o->settings->target;
    must(quarry_snapshot_destroy(o->snapshot));
    must(quarry_target_wait(target));
    for (uint32_t i = 0; i < QUARRY_SCHEMA_TYPES; i++)
        must(quarry_memory_destroy(target, QUARRY_POOL_DEVICE, o->memory[i]));
    must(quarry_memory_destroy(target, QUARRY_POOL_DEVICE, o->backing.tables));
    must(quarry_heap_destroy(o->heap));
    free(o->tables);
}

void launch(struct objects *o, const struct simt_kernel *const *views, uint64_t threads, const void *argument)
{
    if (o->tables)
        turn(o, 0);
    must(
        quarry_launch(views[o->settings->backing], &o->settings->target, quarry_grid_for(threads), argument));
}

void do_all(struct objects *o, const struct simt_kernel *const *views, const void *argument)
{
    const struct simt_kernel *kernel = views[o->settings->backing];
    if (o->tables) /* as many threads as a large GPU runs at once; on the CPU some */
        launch(o, views, o->settings->target.backend == QUARRY_BACKEND_CPU ? 1024 : 1 << 18, argument);
    else if (o->snapshot)
        must(quarry_snapshot_do(o->snapshot, kernel, argument));
    else
        must(quarry_object_do(o->heap, kernel, argument));
}

void stay(struct objects *o, const char *type)
{
    if (o->settings->backing == OBJECTS)
        must(quarry_objects_snapshot(o->heap, type, &o->snapshot));
}

/* The turns of a table's places; the caller frees them. */
static uint32_t *fetch_born(const struct objects *o, const struct table *t)
{
    uint32_t *born = room(t->used * sizeof *born + 1);
    must(quarry_memory_copy(&o->settings->target, born, t->born, t->used * sizeof *born));
    return born;
}

uint64_t count(struct objects *o, const char *type)
{
    uint64_t found = 0;
    if (!o->tables) {
        must(quarry_objects_count(o->heap, type, &found));
        return found;
    }
    turn(o, 1);
    const struct table *t = &o->tables->of[type_of(o, type)];
    uint32_t *born = fetch_born(o, t);
    for (uint32_t place = 0; place < t->used; place++)
        found += born[place] != 0;
    free(born);
    return found;
}

uint64_t living(struct objects *o)
{
    struct quarry_statistics statistics;
    uint64_t found = 0;
    if (o->heap) {
        must(quarry_heap_statistics(o->heap, &statistics));
        return statistics.live_blocks;
    }
    for (uint32_t i = 0; i < o->schema->type_count; i++)
        if (!o->schema->types[i].is_abstract)
            found += count(o, o->schema->types[i].name);
    return found;
}

/* The field of that name that objects of a type have. */
static const struct quarry_schema_field *field_of(const struct objects *o, uint32_t number, const char *name)
{
    const struct quarry_schema_type *type = &o->schema->types[number];
    for (uint32_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0)
            return &type->fields[i];
    return field_of(o, (uint32_t)type->base, name);
}

uint64_t read_field(struct objects *o, const char *type, const char *field, void *values, uint64_t most)
{
    const struct quarry_target *target = &o->settings->target;
    const struct quarry_schema_field *f = field_of(o, type_of(o, type), field);
    const uint64_t bytes = (uint64_t)f->bytes * f->elements;
    uint64_t found = 0;
    if (!o->tables) {
        must(quarry_objects_read(o->heap, type, field, values, most, bytes, &found));
        return found;
    }
    turn(o, 1);
    const struct table *t = &o->tables->of[type_of(o, type)];
    const uint64_t all_bytes = (uint64_t)t->used * f->bytes;
    uint32_t *born = fetch_born(o, t);
    unsigned char *all = room(all_bytes + 1), *gathered = make(target, all_bytes + 1);
    for (uint32_t e = 0; e < f->elements; e++) {
        const uint32_t offset = f->offset + e * f->bytes;
        const struct gather argument = {t->born, t->at, t->used, offset, f->bytes, gathered};
        if (t->at)
            must(quarry_launch(&backing_gather, target, quarry_grid_for(1024), &argument));
        must(quarry_memory_copy(target, all, t->at ? gathered : t->first + (uint64_t)offset * t->most,
                                all_bytes));
        found = 0;
        for (uint32_t place = 0; place < t->used; place++)
            if (born[place] && found++ < most)
                memcpy((unsigned char *)values + (found - 1) * bytes + (uint64_t)e * f->bytes,
                       all + (uint64_t)place * f->bytes, f->bytes);
    }
    must(quarry_memory_destroy(target, QUARRY_POOL_DEVICE, gathered));
    free(all);
    free(born);
    return found;
}

void tell_fragmentation(struct objects *o, uint32_t step, const char *type)
{
    uint64_t live, slots;
    must(quarry_objects_count(o->heap, type, &live));
    must(quarry_objects_slots(o->heap, type, &slots));
    printf("after step %" PRIu32 ": %" PRIu64 " of %" PRIu64 " slots are used, %.3f are empty\n", step, live,
           slots, slots ? 1.0 - (double)live / (double)slots : 0);
}

int was_full(struct objects *o)
{
    uint64_t failed = 0;
    if (o->heap) {
        struct quarry_statistics statistics;
        must(quarry_heap_check(o->heap));
        must(quarry_heap_statistics(o->heap, &statistics));
        failed = statistics.failed_mallocs;
    }
    if (o->tables) {
        turn(o, 1);
        for (uint32_t i = 0; i < o->schema->type_count; i++)
            failed += o->tables->of[i].failed;
    }
    if (failed)
        printf("objects: there was no room %" PRIu64 " times\n", failed);
    return failed != 0;
}
