/* SPDX-License-Identifier: Apache-2.0 */
/* Typed objects: no two overlap, each is of the type that was asked for, a heap fills to its last slot with any type, a
 * do-all visits what was there and nothing else, and once, and wrong deletes are told. */
#include "blocks/seeds.h"
#include "common.h"
#include "host/heap_test_cuda.h"
#include "objects/object_kernels.h"
#include "objects/test_schema.h"

#include <inttypes.h>

#define STAMPS 4096u

static struct quarry_target target;
static int debug; /* are heaps in debug mode? */

struct fixture {
    quarry_heap *heap;
    struct objects_case c;
};

static struct fixture begin(uint64_t pages)
{
    struct fixture f;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_target plain = test_plain(target);
    memset(&f, 0, sizeof f);
    options.target = target;
    options.schema = &zoo_schema;
    options.pages = pages;
    options.debug = debug;
    assert_ok(quarry_heap_create(&f.heap, &options));
    f.c.heap = quarry_heap_handle(f.heap);
    f.c.counts = test_memory(&plain, sizeof *f.c.counts * OBJECTS_COUNTS);
    f.c.visits = test_memory(&plain, sizeof *f.c.visits * STAMPS);
    f.c.kept = test_memory(&plain, sizeof *f.c.kept * STAMPS);
    return f;
}

static uint32_t count_of(const struct fixture *f, enum objects_count what)
{
    struct quarry_target plain = test_plain(target);
    uint32_t counts[OBJECTS_COUNTS];
    assert_ok(quarry_memory_copy(&plain, counts, f->c.counts, sizeof counts));
    return counts[what];
}

/* Frees what is not the heap. */
static void forget(const struct fixture *f)
{
    struct quarry_target plain = test_plain(target);
    test_memory_free(&plain, f->c.counts, 0);
    test_memory_free(&plain, f->c.visits, 0);
    test_memory_free(&plain, f->c.kept, 0);
}

static void end(struct fixture *f)
{
    assert_int_equal(count_of(f, OBJECTS_WRONG), 0);
    assert_ok(quarry_heap_check(f->heap));
    if (debug) /* or what lives is told */
        assert_ok(quarry_heap_reset(f->heap));
    assert_ok(quarry_heap_destroy(f->heap));
    forget(f);
}

static uint64_t live(const struct fixture *f, int number)
{
    uint64_t count = 0;
    assert_ok(quarry_objects_count(f->heap, zoo_schema.types[number].name, &count));
    return count;
}

static uint64_t slots_of(const struct fixture *f, int number)
{
    uint64_t count = 0;
    assert_ok(quarry_objects_slots(f->heap, zoo_schema.types[number].name, &count));
    return count;
}

/* ---- one object ---- */

static void scarce(uint64_t seed)
{
    struct fixture f = begin(1 + seed / 11 % 3);
    f.c.rounds = 1 + (uint32_t)(seed / 2 % 6);
    f.c.hold = (uint32_t)(seed / 3 % 3);
    test_run(&objects_rounds, &target, 1, 2 + (uint32_t)(seed / 7 % 6), 0, &f.c);
    assert_int_equal(live(&f, quarry_number_of_mite) + live(&f, quarry_number_of_animal), 0);
    end(&f);
}

static void objects_are_apart_and_of_their_type(void **state)
{
    (void)state;
    test_for_seeds(&target, scarce, 3000);
}

static void gone(uint64_t seed)
{
    struct fixture f = begin(1);
    test_run(&objects_gone, &target, 1, 2 + (uint32_t)(seed / 2 % 6), 0, &f.c);
    assert_int_equal(count_of(&f, OBJECTS_NONE), 0);
    test_run(&objects_freed, &target, 1, 2, 0, &f.c);
    end(&f);
}

static void what_lanes_delete_or_free_together_is_gone_for_each(void **state)
{
    (void)state;
    test_for_seeds(&target, gone, 200);
}

static void many_threads_create_and_delete(void **state)
{
    uint32_t blocks = test_on_cuda(&target) ? 128 : 8;
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct fixture f = begin(i ? blocks * 128 : blocks * 4);
        f.c.rounds = 20;
        test_run(&objects_rounds, &target, blocks, 128, 0, &f.c);
        assert_int_equal(count_of(&f, OBJECTS_CREATED) + count_of(&f, OBJECTS_NONE),
                         blocks * 128 * f.c.rounds);
        if (i)
            assert_int_equal(count_of(&f, OBJECTS_NONE), 0);
        end(&f);
    }
}

/* A slot of a page of objects is none for malloc. */
static void free_bytes_of_objects_are_not_for_malloc(void **state)
{
    struct quarry_statistics statistics;
    struct fixture f = begin(1);
    (void)state;
    f.c.number = (uint32_t)quarry_number_of_horse; /* two in a page */
    test_run(&objects_fill, &target, 1, 1, 0, &f.c);
    assert_ok(quarry_heap_statistics(f.heap, &statistics));
    assert_int_equal(statistics.largest_free_bytes, 0);
    assert_int_equal(slots_of(&f, quarry_number_of_horse),
                     QUARRY_CAPACITY_OF(horse)); /* of which one is used */
    assert_int_equal(slots_of(&f, quarry_number_of_animal), QUARRY_CAPACITY_OF(horse));
    test_run(&objects_drain, &target, 1, 1, 0, &f.c);
    end(&f);
}

/* With each type after the other, and one more thread than there is room for. */
static void fill(uint64_t seed)
{
    uint32_t pages = 1 + (uint32_t)(seed / 11 % 3), failed = 0;
    struct fixture f = begin(pages);
    for (int number = 0; number < (int)zoo_schema.type_count; number++) {
        uint32_t slots = pages * zoo_schema.types[number].capacity, before = count_of(&f, OBJECTS_CREATED);
        struct quarry_statistics statistics;
        f.c.number = (uint32_t)number;
        if (zoo_schema.types[number].is_abstract)
            continue;
        test_run(&objects_fill, &target, 1, slots + 1, 0, &f.c);
        assert_int_equal(count_of(&f, OBJECTS_CREATED) - before, slots);
        assert_int_equal(live(&f, number), slots);
        assert_int_equal(slots_of(&f, number), slots);
        assert_ok(quarry_heap_statistics(f.heap, &statistics));
        assert_int_equal(statistics.live_blocks, slots);
        assert_int_equal(statistics.live_bytes, slots * zoo_schema.types[number].bytes);
        assert_int_equal(statistics.failed_mallocs, ++failed);
        assert_int_equal(statistics.last_failed_bytes, zoo_schema.types[number].bytes);
        test_run(&objects_drain, &target, 1, slots + 1, 0, &f.c);
        assert_int_equal(live(&f, number), 0);
        assert_int_equal(slots_of(&f, number), 0);
    }
    end(&f);
}

static void a_heap_fills_to_its_last_slot_with_any_type(void **state)
{
    (void)state;
    test_for_seeds(&target, fill, 200);
}

/* What a pool of so many bytes has for fields of 64 bytes, beside all that is no field: of the types of `structure`, and
 * the blocks of 2112 bytes that these need, 33 of 64 bytes in each. */
static void most_of_a_pool_is_fields(void **state)
{
    (void)state;
    for (int shift = 20; shift <= 24; shift += 2) {
        struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        struct quarry_heap_description about;
        const struct quarry_schema_type *pull = &structure->types[2];
        quarry_heap *heap;
        uint64_t live;
        options.target = target;
        options.schema = structure;
        options.pool_bytes = (uint64_t)1 << shift;
        assert_string_equal(pull->name, "pull");
        assert_int_equal(pull->bytes, 64);
        assert_ok(quarry_heap_create(&heap, &options));
        assert_ok(quarry_heap_describe(heap, &about));
        assert_int_equal(about.pool_bytes, options.pool_bytes);
        const uint64_t most = about.pages * pull->capacity;
        assert_int_equal(quarry_objects_add(heap, "pull", most + 1, NULL), QUARRY_ERROR_POOL);
        assert_ok(quarry_objects_add(heap, "pull", most, NULL));
        assert_ok(quarry_objects_count(heap, "pull", &live));
        print_message("%.4f of %" PRIu64 " bytes\n", (double)(live * pull->bytes) / (double)about.pool_bytes,
                      about.pool_bytes);
        assert_true(100 * live * pull->bytes >= 97 * about.pool_bytes);
        assert_ok(quarry_heap_destroy(heap));
    }
}

/* Each thread asks for several at once, and there may be too few. */
static void fill_many(uint64_t seed)
{
    const uint32_t pages = 1 + (uint32_t)(seed / 3 % 5), slots = pages * QUARRY_CAPACITY_OF(cat);
    const uint32_t threads = 1 + (uint32_t)(seed / 2 % 7);
    struct quarry_statistics statistics;
    struct fixture f = begin(pages);
    f.c.rounds = 1 + (uint32_t)(seed / 5 % 90);
    const uint32_t wanted = threads * f.c.rounds, all = wanted < slots ? wanted : slots;
    test_run(&objects_fill_many, &target, 1, threads, 0, &f.c);
    assert_int_equal(count_of(&f, OBJECTS_CREATED), all);
    assert_int_equal(live(&f, quarry_number_of_cat), all);
    assert_ok(quarry_heap_statistics(f.heap, &statistics));
    assert_int_equal(statistics.failed_mallocs, count_of(&f, OBJECTS_NONE));
    assert_true((statistics.failed_mallocs != 0) == (wanted > slots));
    test_run(&objects_drain, &target, 1, wanted, 0, &f.c);
    assert_int_equal(live(&f, quarry_number_of_cat), 0);
    end(&f);
}

static void one_call_creates_many(void **state)
{
    (void)state;
    test_for_seeds(&target, fill_many, 300);
}

/* A sweep serves some at a time, and thousands may come at once. */
static uint32_t sweeps, fills;
static void fill_exactly(uint64_t seed)
{
    struct quarry_target plain = test_plain(target);
    struct quarry_sweep sweep;
    const uint32_t pages = test_on_cuda(&target) ? 48 : 12, slots = pages * QUARRY_CAPACITY_OF(cat);
    struct fixture f = begin(pages);
    (void)seed;
    f.c.number = (uint32_t)quarry_number_of_cat;
    test_run(&objects_fill, &target, 1, slots, 0, &f.c);
    assert_int_equal(live(&f, quarry_number_of_cat), slots);
    assert_ok(quarry_memory_copy(&plain, &sweep, f.c.heap.as.objects.blocks.sweep, sizeof sweep));
    fills++;
    sweeps += (uint32_t)(sweep.state & ~QUARRY_SWEEP_SCRATCH) / 2u; /* turns */
    test_run(&objects_drain, &target, 1, slots, 0, &f.c);
    end(&f);
}

static void a_heap_that_becomes_just_full_is_not_swept(void **state)
{
    (void)state;
    sweeps = fills = 0;
    test_for_seeds(&target, fill_exactly, 60);
    print_message("%" PRIu32 " sweeps, %" PRIu32 " heaps\n", sweeps, fills);
    assert_in_range(sweeps, 0, fills / 10 + 2);
}

static void beside(uint64_t seed)
{
    struct fixture f = begin(1 + seed / 11 % 4);
    f.c.rounds = 1 + (uint32_t)(seed / 2 % 4);
    f.c.hold = (uint32_t)(seed / 3 % 3);
    test_run(&objects_blocks, &target, 1, 2 + (uint32_t)(seed / 7 % 6), 0, &f.c);
    end(&f);
}

static void blocks_of_malloc_lie_beside_objects(void **state)
{
    (void)state;
    test_for_seeds(&target, beside, 1000);
}

/* ---- all of them ---- */

static void run_visit(const struct fixture *f, const struct simt_kernel *method, uint32_t creates,
                      uint32_t deletes)
{
    struct objects_visit argument = {f->c, creates, deletes};
    assert_ok(quarry_object_do(f->heap, method, &argument));
    assert_ok(quarry_target_wait(&target));
}

static void visits(uint64_t seed)
{
    uint32_t threads = 1 + (uint32_t)(seed / 2 % 40), deletes = (uint32_t)(seed / 3 % 2);
    uint32_t creates = (uint32_t)(seed / 5 % 2);
    struct fixture f = begin(test_on_cuda(&target) ? 600 : 4 * threads + 10);
    test_run(&objects_mixed, &target, 1, threads, 0, &f.c);
    uint64_t animals = live(&f, quarry_number_of_animal), mites = live(&f, quarry_number_of_mite);
    assert_int_equal(animals + mites, threads);
    run_visit(&f, &objects_visit_animals, creates, deletes);
    assert_int_equal(count_of(&f, OBJECTS_VISITED), animals);
    assert_int_equal(count_of(&f, OBJECTS_NONE), 0);
    assert_int_equal(live(&f, quarry_number_of_animal), (deletes ? 0 : animals) + 3 * creates * animals);
    assert_int_equal(live(&f, quarry_number_of_mite), mites + creates * animals);
    run_visit(&f, &objects_visit_mites, 0, 1);
    assert_int_equal(count_of(&f, OBJECTS_VISITED), animals + mites + creates * animals);
    assert_int_equal(live(&f, quarry_number_of_mite), 0);
    end(&f);
}

static void a_do_all_visits_what_was_there_once(void **state)
{
    (void)state;
    test_for_seeds(&target, visits, 500);
}

/* Each thread has several turns, in pages whose slots do not divide the number of threads. */
static void turns(uint64_t seed)
{
    const uint32_t threads = 200 + (uint32_t)(seed % 300);
    struct fixture f = begin(threads);
    f.c.number = (uint32_t)(seed % 2 ? quarry_number_of_cat : quarry_number_of_horse);
    test_run(&objects_fill, &target, 1, threads, 0, &f.c);
    run_visit(&f, &objects_visit_animals, 0, (uint32_t)(seed / 2 % 2));
    assert_int_equal(count_of(&f, OBJECTS_VISITED), threads);
    assert_ok(quarry_heap_reset(f.heap));
    end(&f);
}

static void a_thread_of_a_do_all_visits_several(void **state)
{
    (void)state;
    test_for_seeds(&target, turns, 40);
}

static void a_do_all_is_of_its_type_and_what_derives_from_it(void **state)
{
    struct fixture f = begin(400);
    (void)state;
    test_run(&objects_mixed, &target, 2, 128, 0, &f.c);
    uint64_t horses = live(&f, quarry_number_of_horse), animals = live(&f, quarry_number_of_animal);
    assert_true(live(&f, quarry_number_of_pegasus) > 0 && live(&f, quarry_number_of_pegasus) < horses);
    assert_int_equal(live(&f, quarry_number_of_cat), animals - horses);
    run_visit(&f, &objects_visit_horses, 0, 1);
    assert_int_equal(count_of(&f, OBJECTS_VISITED), horses);
    assert_int_equal(live(&f, quarry_number_of_horse), 0);
    assert_int_equal(live(&f, quarry_number_of_animal), animals - horses);
    assert_int_equal(count_of(&f, OBJECTS_WRONG), 0);
    end(&f);
}

/* Nothing of a do-all is left for a later one; also after a reset. */
static void do_alls_follow_one_another(void **state)
{
    struct quarry_target plain = test_plain(target);
    struct fixture f = begin(400);
    uint32_t visited = 0;
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        if (i % 4 == 0) {
            assert_ok(quarry_heap_reset(f.heap));
            test_run(&objects_mixed, &target, 1, 96 + i, 0, &f.c);
        }
        assert_ok(quarry_memory_fill(&plain, f.c.visits, 0, sizeof *f.c.visits * STAMPS));
        run_visit(&f, i % 3 ? &objects_visit_animals : &objects_visit_mites, 0, 0);
        visited += (uint32_t)live(&f, i % 3 ? quarry_number_of_animal : quarry_number_of_mite);
        assert_int_equal(count_of(&f, OBJECTS_VISITED), visited);
    }
    end(&f);
}

/* A do-all in a CUDA graph visits what is there each time; and the do-alls before, between and behind are right. */
static void a_do_all_can_be_in_a_graph(void **state)
{
    const struct quarry_target usual = target;
    uint32_t times[STAMPS];
    void *stream = heap_test_stream_create();
    uint64_t visited = 0;
    (void)state;
    if (!test_on_cuda(&target) || !stream)
        skip();
    target.stream = stream;
    struct quarry_target plain = test_plain(target); /* of that stream, too: what it clears is read there */
    struct fixture f = begin(600);
    struct objects_visit argument = {f.c, 0, 0};
    test_run(&objects_mixed, &target, 1, 64, 0, &f.c);
    const uint64_t animals = live(&f, quarry_number_of_animal);
    for (int round = 0; round < 2; round++) { /* in each turn */
        run_visit(&f, &objects_visit_animals, 0, 0);
        assert_true(heap_test_capture(stream));
        assert_ok(quarry_object_do(f.heap, &objects_visit_animals, &argument));
        assert_true(heap_test_replay(stream, round ? 0 : 3)); /* once it never runs */
        run_visit(&f, &objects_visit_animals, 0, 0);
        visited += animals * (round ? 2 : 5);
        assert_int_equal(count_of(&f, OBJECTS_VISITED), visited);
        run_visit(&f, &objects_visit_animals, 0, 0);
        visited += animals;
        assert_int_equal(count_of(&f, OBJECTS_VISITED), visited);
    }
    assert_ok(quarry_memory_copy(&plain, times, f.c.visits, sizeof times));
    for (uint32_t i = 0; i < STAMPS; i++)
        assert_true(times[i] == 0 || times[i] == visited / animals);
    assert_int_equal(count_of(&f, OBJECTS_WRONG), visited - animals); /* all but the first visit of each */
    assert_ok(quarry_memory_fill(&plain, f.c.counts, 0, OBJECTS_COUNTS * sizeof *f.c.counts));
    end(&f);
    target = usual;
    heap_test_stream_destroy(stream);
}

/* A snapshot serves several do-alls, also of types that derive, and does not see what comes later. */
static void a_snapshot_serves_several_do_alls(void **state)
{
    struct fixture f = begin(800);
    struct objects_visit argument = {f.c, 0, 0};
    struct quarry_target plain = test_plain(target);
    quarry_snapshot *snapshot;
    (void)state;
    test_run(&objects_mixed, &target, 2, 128, 0, &f.c);
    uint64_t animals = live(&f, quarry_number_of_animal), horses = live(&f, quarry_number_of_horse);
    assert_ok(quarry_object_snapshot(f.heap, animal, &snapshot));
    test_run(&objects_mixed, &target, 2, 128, 0,
             &f.c);                            /* with the same stamps: a second visit would be wrong */
    run_visit(&f, &objects_visit_mites, 0, 0); /* a snapshot of another type */
    uint64_t visited = live(&f, quarry_number_of_mite);
    for (int i = 0; i < 3; i++) {
        assert_ok(quarry_memory_fill(&plain, f.c.visits, 0, STAMPS * sizeof *f.c.visits));
        assert_ok(
            quarry_snapshot_do(snapshot, i == 1 ? &objects_visit_horses : &objects_visit_animals, &argument));
        assert_ok(quarry_target_wait(&target));
        visited += i == 1 ? horses : animals;
        assert_int_equal(count_of(&f, OBJECTS_VISITED), visited);
    }
    assert_int_equal(quarry_snapshot_do(snapshot, &objects_visit_mites, &argument), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(),
                        "do-all objects_visit_mites is about types that the snapshot does not have");
    assert_ok(quarry_heap_reset(f.heap));
    assert_int_equal(quarry_snapshot_do(snapshot, &objects_visit_animals, &argument),
                     QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(), "the heap was reset after the snapshot was taken");
    assert_ok(quarry_snapshot_destroy(snapshot));
    assert_ok(quarry_snapshot_destroy(NULL));
    assert_int_equal(quarry_objects_snapshot(f.heap, "dog", &snapshot), QUARRY_ERROR_COMBINATION);
    assert_null(snapshot);
    end(&f);
}

static void a_snapshot_goes_after_its_heap(void **state)
{
    struct fixture f = begin(8);
    quarry_snapshot *snapshot;
    (void)state;
    assert_ok(quarry_object_snapshot(f.heap, animal, &snapshot));
    end(&f);
    assert_ok(quarry_snapshot_destroy(snapshot));
}

static void what_a_snapshot_lacks_is_told(void **state)
{
    struct fixture f = begin(8);
    uint64_t argument = 0;
    quarry_snapshot *snapshot = (quarry_snapshot *)&argument;
    (void)state;
    assert_int_equal(quarry_objects_snapshot(f.heap, "cat", NULL), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "out is NULL");
    assert_int_equal(quarry_objects_snapshot(NULL, "cat", &snapshot), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "heap is NULL");
    assert_null(snapshot);
    assert_int_equal(quarry_objects_snapshot(f.heap, NULL, &snapshot), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "type is NULL");
    assert_int_equal(quarry_snapshot_do(NULL, &objects_visit_mites, &argument), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "snapshot is NULL");
    assert_ok(quarry_object_snapshot(f.heap, mite, &snapshot));
    assert_int_equal(quarry_snapshot_do(snapshot, NULL, &argument), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "method is NULL");
    assert_int_equal(quarry_snapshot_do(snapshot, &objects_visit_mites, NULL), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "argument is NULL");
    assert_ok(quarry_snapshot_destroy(snapshot));
    end(&f);
}

static void next_goes_over_all_of_a_type(void **state)
{
    struct fixture f = begin(400);
    (void)state;
    test_run(&objects_walk, &target, 1, 1, 0, &f.c);
    assert_int_equal(count_of(&f, OBJECTS_SEEN), 0);
    test_run(&objects_mixed, &target, 2, 128, 0, &f.c);
    test_run(&objects_walk, &target, 1, 1, 0, &f.c);
    assert_int_equal(count_of(&f, OBJECTS_SEEN), live(&f, quarry_number_of_animal));
    end(&f);
}

static void the_host_reads_a_field(void **state)
{
    struct fixture f = begin(400);
    uint64_t stamps[300], again[10], count;
    struct {
        uint64_t element[3];
    } wings[300];
    unsigned char seen[256] = {0};
    uint32_t wrong_size[4];
    (void)state;
    test_run(&objects_mixed, &target, 2, 128, 0, &f.c);
    assert_ok(quarry_object_read(f.heap, animal, stamp, stamps, 300, &count));
    assert_int_equal(count, live(&f, quarry_number_of_animal));
    for (uint64_t i = 0; i < count; i++) {
        assert_true(stamps[i] < 256);
        assert_int_equal(seen[stamps[i]]++, 0);
    }
    again[9] = 77;
    assert_ok(
        quarry_object_read(f.heap, animal, stamp, again, 9, &count)); /* no more than there is room for */
    assert_int_equal(count, live(&f, quarry_number_of_animal));
    assert_memory_equal(again, stamps, 9 * sizeof *again);
    assert_int_equal(again[9], 77);
    assert_ok(quarry_object_read(f.heap, pegasus, wing, wings, 300, &count));
    assert_int_equal(count, live(&f, quarry_number_of_pegasus));
    assert_ok(quarry_object_read(f.heap, pegasus, stamp, stamps, 300, &count)); /* inherited */
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t e = 0; e < 3; e++)
            assert_int_equal(wings[i].element[e], stamps[i] * 5 + e);
    assert_int_equal(quarry_object_read(f.heap, animal, wing, wings, 1, &count), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "type animal of schema zoo has no field wing");
    assert_int_equal(quarry_object_read(f.heap, animal, stamp, wrong_size, 1, &count), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(),
                        "a value has 4 bytes, but field stamp of type animal has 1 element of 8 bytes");
    assert_int_equal(quarry_object_read(f.heap, dog, stamp, stamps, 1, &count), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(), "schema zoo of the heap has no type dog");
    assert_int_equal(quarry_object_count(f.heap, object, &count), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(),
                        "object is what types derive from, and no type itself: name a type of schema zoo");
    end(&f);
}

/* What is written is read again, in the same place; and one call creates all or none. */
static void throng(uint64_t seed)
{
    const uint32_t pages = 3 + (uint32_t)(seed / 3 % 20), count = pages * QUARRY_CAPACITY_OF(cat) - seed % 4;
    struct cat_lives {
        uint32_t element[3];
    } lives[80], again[80];
    quarry_object cats[80], more[80];
    uint64_t found, stamps[80];
    struct quarry_statistics statistics;
    struct fixture f = begin(pages);
    assert_ok(quarry_object_add(f.heap, cat, 0, NULL));
    f.c.number = (uint32_t)quarry_number_of_cat; /* so that memory is not fresh */
    test_run(&objects_fill, &target, 1, count, 0, &f.c);
    test_run(&objects_drain, &target, 1, count, 0, &f.c);
    assert_ok(quarry_object_add(f.heap, cat, count, cats));
    assert_ok(quarry_object_read(f.heap, cat, lives, lives, 80, &found));
    assert_int_equal(found, count);
    assert_ok(quarry_object_read(f.heap, animal, stamp, stamps, 80, &found));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(i == 0 || cats[i - 1].bits < cats[i].bits);
        assert_true(quarry_object_type(cats[i]) == quarry_number_of_cat && stamps[i] == 0);
        for (uint32_t e = 0; e < 3; e++) {
            assert_int_equal(lives[i].element[e], 0);
            lives[i].element[e] = i * 3 + e;
        }
        stamps[i] = i;
    }
    assert_ok(quarry_object_write(f.heap, cat, lives, lives, count));
    assert_ok(quarry_object_write(f.heap, animal, stamp, stamps, count));
    assert_ok(quarry_object_read(f.heap, cat, lives, again, 80, &found));
    assert_memory_equal(lives, again, count * sizeof *lives);
    struct quarry_target plain = test_plain(target);
    assert_ok(quarry_memory_copy(&plain, f.c.kept, cats, count * sizeof *cats));
    assert_int_equal(quarry_object_write(f.heap, animal, stamp, stamps, count - 1), QUARRY_ERROR_ARGUMENT);
    if (seed % 4 == 3) { /* 3 slots are free: for one cat less */
        const uint64_t before = count;
        assert_int_equal(quarry_object_add(f.heap, cat, 4, more), QUARRY_ERROR_POOL);
        assert_string_equal(quarry_error_detail(),
                            "the heap has no room for 4 more objects of type cat: none was created");
        assert_int_equal(live(&f, quarry_number_of_cat), before);
        assert_ok(quarry_heap_statistics(f.heap, &statistics));
        assert_true(statistics.failed_mallocs > 0);
        assert_ok(
            quarry_object_read(f.heap, cat, lives, again, 80, &found)); /* the others are as they were */
        assert_memory_equal(lives, again, count * sizeof *lives);
    }
    test_run(&objects_drain, &target, 1, count, 0, &f.c); /* each is as the host has written it */
    assert_int_equal(live(&f, quarry_number_of_cat), 0);
    end(&f);
}

static void the_host_creates_and_writes(void **state)
{
    struct fixture f;
    uint64_t stamp = 7, wrong_size[1] = {0}, stamps[2] = {1, 2};
    quarry_object cats[3];
    (void)state;
    test_for_seeds(&target, throng, 100);
    debug = 1;
    throng(3);
    f = begin(1);
    struct quarry_target plain = test_plain(target);
    assert_ok(quarry_object_add(f.heap, cat, 3, cats));
    assert_ok(quarry_memory_copy(&plain, f.c.kept, cats, sizeof cats));
    test_run(&objects_together, &target, 1, 1, 0, &f.c); /* deletes the first */
    assert_ok(quarry_object_write(f.heap, cat, stamp, stamps, 2));
    assert_ok(quarry_memory_copy(&plain, &stamp, quarry_object_block(cats[0]), sizeof stamp));
    assert_int_equal(stamp, 0x5555555555555555u); /* what is no object is not written */
    assert_ok(quarry_heap_reset(f.heap));
    end(&f);
    debug = 0;
    f = begin(2);
    assert_int_equal(quarry_object_add(f.heap, animal, 1, NULL), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "type animal of schema zoo is abstract: no object has it");
    assert_int_equal(quarry_object_add(f.heap, dog, 1, NULL), QUARRY_ERROR_COMBINATION);
    assert_int_equal(quarry_objects_add(NULL, "cat", 1, NULL), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_object_add(f.heap, horse, UINT64_MAX, NULL), QUARRY_ERROR_POOL);
    assert_int_equal(quarry_object_write(f.heap, horse, stamp, &stamp, 1), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "type horse has 0 objects, but the number of values is 1");
    assert_ok(quarry_object_add(f.heap, horse, 1, NULL));
    assert_int_equal(quarry_object_write(f.heap, horse, wing, wrong_size, 1), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_objects_write(f.heap, "horse", "stamp", NULL, 1, 8), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "values is NULL");
    assert_ok(quarry_object_write(f.heap, horse, stamp, &stamp, 1));
    assert_ok(quarry_heap_reset(f.heap));
    end(&f);
}

#define LINES_BYTES 1024u
static int note_line(const char *text, void *user)
{
    char *lines = user;
    size_t length = strlen(lines);
    snprintf(lines + length, LINES_BYTES - length, "%s\n", text);
    return strstr(text, "cat") != NULL; /* nothing behind the first cat */
}

static void the_host_describes_objects(void **state)
{
    struct fixture f = begin(4);
    char lines[LINES_BYTES] = "", right[LINES_BYTES];
    quarry_object kept[2];
    struct quarry_target plain = test_plain(target);
    (void)state;
    f.c.number = (uint32_t)quarry_number_of_horse;
    test_run(&objects_fill, &target, 1, 2, 0, &f.c);
    assert_ok(quarry_memory_copy(&plain, kept, f.c.kept, sizeof kept));
    assert_ok(quarry_object_dump(f.heap, animal, note_line, lines));
    for (int i = 0; i < 2; i++) {
        void *block = quarry_object_block(kept[i]);
        unsigned int slot = quarry_object_slot(kept[i]);
        snprintf(right, sizeof right, "horse %p/%u stamp=%d rider=horse %p/%u speed=%d hoof=%llu\n", block,
                 slot, i, block, slot, i, ~(unsigned long long)i);
        if (!strstr(lines, right))
            fail_msg("%s is not in %s", right, lines);
    }
    assert_int_equal(strlen(lines) / 2, strlen(right)); /* but for addresses the lines are as long */
    test_run(&objects_drain, &target, 1, 2, 0, &f.c);
    f.c.number = (uint32_t)quarry_number_of_cat;
    test_run(&objects_fill, &target, 1, 2, 0, &f.c);
    *lines = 0;
    assert_ok(quarry_object_dump(f.heap, cat, note_line, lines));
    if (!strstr(lines, " lives=0,1,2\n") && !strstr(lines, " lives=3,4,5\n"))
        fail_msg("%s", lines);
    assert_null(strstr(strchr(lines, '\n') + 1, "cat")); /* it has ended */
    end(&f);
}

/* ---- mistakes ---- */

/* Which lanes of a warp delete one object at once is the schedule's.  Of one in a block where another lives each delete
 * but the first is told.  Where none does the block may end between a delete's look and what it does, unseen. */
static void together(uint64_t seed)
{
    uint32_t threads = 2 + (uint32_t)(seed % 5), others = (uint32_t)(seed / 5 % 2);
    struct fixture f = begin(2 - others);
    char sentence[96];
    f.c.number = (uint32_t)quarry_number_of_mite;
    test_run(&objects_fill, &target, 1, 1 + others, 0, &f.c);
    test_run(&objects_together, &target, 1, threads, 0, &f.c);
    assert_int_equal(live(&f, quarry_number_of_mite), others);
    snprintf(sentence, sizeof sentence, "objects were deleted wrongly: %u twice (first: mite, ", threads - 1);
    enum quarry_status status = quarry_heap_check(f.heap);
    if (others && status == QUARRY_OK)
        fail_msg("not %s", sentence);
    if (status != QUARRY_OK &&
        (!strstr(quarry_error_detail(), others ? sentence : "objects were deleted wrongly: ") ||
         (others && strstr(quarry_error_detail(), "), "))))
        fail_msg("%s: %s", sentence, quarry_error_detail());
    assert_ok(quarry_heap_reset(f.heap));
    assert_int_equal(live(&f, quarry_number_of_mite), 0);
    end(&f);
}

/* The report names the object that was deleted twice: beside lanes that delete another one rightly. */
static void named(uint64_t seed)
{
    struct quarry_target plain = test_plain(target);
    struct fixture f = begin(1);
    quarry_object kept[4];
    char sentence[96];
    f.c.number = (uint32_t)quarry_number_of_mite;
    test_run(&objects_fill, &target, 1, 4, 0, &f.c); /* the last one stays, and so does the block */
    assert_ok(quarry_memory_copy(&plain, kept, f.c.kept, sizeof kept));
    test_run(&objects_beside, &target, 1, 2 + (uint32_t)(seed % 4), 0, &f.c);
    f.c.hold = 2;
    test_run(&objects_beside, &target, 1, 2, 0, &f.c);
    assert_int_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    snprintf(sentence, sizeof sentence, "deleted wrongly: %u twice (first: mite, slot %u of",
             1 + (unsigned int)(seed % 4), quarry_object_slot(kept[1]));
    if (!strstr(quarry_error_detail(), sentence))
        fail_msg("not %s: %s", sentence, quarry_error_detail());
    assert_ok(quarry_heap_reset(f.heap));
    end(&f);
}

static void wrong_deletes_are_told(void **state)
{
    struct fixture f = begin(4);
    (void)state;
    f.c.number = (uint32_t)quarry_number_of_cat;
    test_run(&objects_fill, &target, 1, 1, 0, &f.c);
    test_run(&objects_mistakes, &target, 1, 1, 0, &f.c);
    assert_int_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    if (!strstr(quarry_error_detail(), "objects were deleted wrongly: 1 twice (first: ") ||
        !strstr(quarry_error_detail(), "), 1 of another type or since replaced (first: ") ||
        !strstr(quarry_error_detail(), "), 2 of no object of this heap (first: "))
        fail_msg("%s", quarry_error_detail());
    assert_int_equal(live(&f, quarry_number_of_animal), 0);
    assert_ok(quarry_heap_reset(f.heap));
    end(&f);
    test_for_seeds(&target, together, 300);
    test_for_seeds(&target, named, 300);
}

/* ---- debug mode ---- */

static void debug_mode_changes_nothing_else(void **state)
{
    (void)state;
    debug = 1;
    test_for_seeds(&target, scarce, 300);
    test_for_seeds(&target, fill, 20);
    test_for_seeds(&target, beside, 100);
    test_for_seeds(&target, visits, 50);
    debug = 0; /* who deletes one object together also fills it together, which is a race */
}

static void debug_mode_fills_fields(void **state)
{
    struct fixture f;
    (void)state;
    debug = 1;
    f = begin(4);
    test_run(&objects_filled, &target, 1, 1, 0, &f.c);
    assert_int_equal(quarry_heap_check(f.heap), QUARRY_ERROR_CORRUPT);
    if (!strstr(quarry_error_detail(), "objects were deleted wrongly: 1 twice (first: cat, slot ") ||
        strstr(quarry_error_detail(), "), "))
        fail_msg("%s", quarry_error_detail());
    assert_ok(quarry_heap_reset(f.heap));
    end(&f);
    debug = 0;
}

static void debug_mode_tells_what_is_never_deleted(void **state)
{
    struct quarry_heap_description about;
    char report[512];
    struct fixture f;
    (void)state;
    debug = 1;
    f = begin(20);
    assert_ok(quarry_heap_describe(f.heap, &about));
    assert_int_equal(about.debug, 1);
    assert_ok(quarry_heap_debug_report(f.heap, report, sizeof report));
    assert_string_equal(report, "");
    f.c.number = (uint32_t)quarry_number_of_pegasus;
    test_run(&objects_fill, &target, 1, 1, 0, &f.c);
    assert_ok(quarry_heap_debug_report(f.heap, report, sizeof report));
    assert_string_equal(report, "1 object is still live: 1 pegasus\n");
    f.c.number = (uint32_t)quarry_number_of_mite;
    test_run(&objects_fill, &target, 1, 2, 0, &f.c);
    f.c.number = (uint32_t)quarry_number_of_cat;
    test_run(&objects_fill, &target, 1, 5, 0, &f.c);
    assert_ok(quarry_heap_check(f.heap)); /* that is no mistake yet */
    assert_int_equal(quarry_heap_destroy(f.heap), QUARRY_ERROR_LEAK);
    assert_string_equal(quarry_error_detail(), "8 objects are still live: 2 mite, 5 cat, 1 pegasus");
    forget(&f);
    f = begin(20);
    f.c.number = (uint32_t)quarry_number_of_cat;
    test_run(&objects_fill, &target, 1, 2, 0, &f.c);
    test_run(&objects_together, &target, 1, 1, 0, &f.c);
    test_run(&objects_together, &target, 1, 1, 0, &f.c);
    assert_int_equal(quarry_heap_destroy(f.heap), QUARRY_ERROR_CORRUPT);
    if (!strstr(quarry_error_detail(), "; and 1 object is still live: 1 cat"))
        fail_msg("%s", quarry_error_detail());
    forget(&f);
    debug = 0;
}

static void what_can_not_be_is_refused(void **state)
{
    static const struct simt_kernel foreign = {"foreign", NULL, NULL, 8, 0, NULL};
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    struct fixture f = begin(1);
    uint64_t count, argument = 0;
    (void)state;
    assert_int_equal(quarry_object_do(f.heap, &foreign, &argument), QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(), "kernel foreign is no do-all: QUARRY_DO_ALL makes one");
    assert_int_equal(quarry_object_do(f.heap, NULL, &argument), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_launch(&objects_visit_animals, &target, quarry_grid_for(1), &f.c),
                     QUARRY_ERROR_ARGUMENT);
    assert_string_equal(quarry_error_detail(),
                        "kernel objects_visit_animals is a do-all: quarry_object_do runs it");
    end(&f);
    options.target = target;
    options.pages = 4;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_int_equal(quarry_object_do(heap, &objects_visit_animals, &argument), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(),
                        "the heap has no typed objects: it was created without options.schema");
    assert_int_equal(quarry_object_count(heap, cat, &count), QUARRY_ERROR_COMBINATION);
    assert_int_equal(quarry_object_slots(heap, cat, &count), QUARRY_ERROR_COMBINATION);
    assert_ok(quarry_heap_destroy(heap));
    options.schema = &zoo_schema;
    options.allocator = "rw-malloc";
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    options.allocator = NULL;
    options.page_bytes = 128;
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(),
                        "page_bytes is 128, but blocks of schema zoo have 64 bytes: leave page_bytes 0");
    options.page_bytes = 0;
    options.statistics = 1;
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(),
                        "schema zoo was given, and statistics, which typed objects do not have");
    options.statistics = 0;
    options.alignment = 64;
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    options.alignment = 0;
    options.distribution = QUARRY_DISTRIBUTION_WARP;
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    options.distribution = QUARRY_DISTRIBUTION_NONE;
    options.pool = QUARRY_POOL_MALLOC;
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    assert_string_equal(quarry_error_detail(),
                        "schema zoo was given, and QUARRY_POOL_MALLOC, which typed objects do not have");
    if (test_on_cuda(&target))
        return;
    options.pool = QUARRY_POOL_BUFFER; /* nobody touches it */
    options.buffer = (void *)(uintptr_t)(((uint64_t)1 << QUARRY_OBJECT_ADDRESS_BITS) - 65536u);
    options.pool_bytes = 65536u + 64u;
    options.pages = 0;
    assert_int_equal(quarry_heap_create(&heap, &options), QUARRY_ERROR_COMBINATION);
    assert_non_null(strstr(quarry_error_detail(), ", but typed objects lie below 2^48"));
}

/* In a heap without a schema, or of another one, there are no objects. */
static void another_heap_has_none(void **state)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_schema other = zoo_schema;
    struct fixture f = begin(1);
    quarry_heap *heaps[2];
    (void)state;
    options.target = target;
    options.pages = 4;
    options.allocator = "objects";
    assert_ok(quarry_heap_create(&heaps[0], &options));
    other.code++;
    options.schema = &other;
    assert_ok(quarry_heap_create(&heaps[1], &options));
    for (uint32_t i = 0; i < 2; i++) {
        struct objects_case c = f.c;
        c.heap = quarry_heap_handle(heaps[i]);
        test_run(&objects_mixed, &target, 1, 8, 0, &c);
        assert_int_equal(count_of(&f, OBJECTS_CREATED), 0);
        assert_int_equal(count_of(&f, OBJECTS_NONE), 8 * (i + 1));
        test_run(&objects_walk, &target, 1, 1, 0, &c);
        assert_int_equal(count_of(&f, OBJECTS_SEEN), 0);
        struct objects_visit argument = {c, 0, 0};
        assert_int_equal(quarry_object_do(heaps[i], &objects_visit_animals, &argument),
                         QUARRY_ERROR_COMBINATION);
        if (i == 1 && !strstr(quarry_error_detail(), "another schema than zoo of the heap"))
            fail_msg("%s", quarry_error_detail());
        assert_ok(quarry_heap_destroy(heaps[i]));
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_seeds(objects_are_apart_and_of_their_type, &target),
        test_with_seeds(what_lanes_delete_or_free_together_is_gone_for_each, &target),
        cmocka_unit_test(many_threads_create_and_delete),
        test_with_seeds(one_call_creates_many, &target),
        test_with_seeds(a_heap_that_becomes_just_full_is_not_swept, &target),
        test_with_seeds(a_heap_fills_to_its_last_slot_with_any_type, &target),
        cmocka_unit_test(free_bytes_of_objects_are_not_for_malloc),
        cmocka_unit_test(most_of_a_pool_is_fields),
        test_with_seeds(blocks_of_malloc_lie_beside_objects, &target),
        test_with_seeds(a_do_all_visits_what_was_there_once, &target),
        test_with_seeds(a_thread_of_a_do_all_visits_several, &target),
        cmocka_unit_test(a_do_all_is_of_its_type_and_what_derives_from_it),
        cmocka_unit_test(do_alls_follow_one_another),
        cmocka_unit_test(a_do_all_can_be_in_a_graph),
        cmocka_unit_test(a_snapshot_serves_several_do_alls),
        cmocka_unit_test(a_snapshot_goes_after_its_heap),
        cmocka_unit_test(what_a_snapshot_lacks_is_told),
        cmocka_unit_test(next_goes_over_all_of_a_type),
        cmocka_unit_test(the_host_reads_a_field),
        test_with_seeds(the_host_creates_and_writes, &target),
        cmocka_unit_test(the_host_describes_objects),
        test_with_seeds(wrong_deletes_are_told, &target),
        test_with_seeds(debug_mode_changes_nothing_else, &target),
        cmocka_unit_test(debug_mode_fills_fields),
        cmocka_unit_test(debug_mode_tells_what_is_never_deleted),
        cmocka_unit_test(what_can_not_be_is_refused),
        cmocka_unit_test(another_heap_has_none),
    };
    target = test_target();
    cmocka_set_test_filter(getenv("QUARRY_TEST_ONLY")); /* of this name; * and ? as in a shell */
    return cmocka_run_group_tests_name("objects", tests, NULL, NULL) != 0;
}
