/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a recording (quarry/log.h) under the deterministic scheduler: two and three lanes hand two
 * pages to and fro, and each free stands before the malloc that gets its page.  With the bug planted, a free
 * whose ticket is drawn after the allocator's free, some seed shows a block that is handed out twice. */
#include "common.h"

#include "quarry/trace.h"

#include <unistd.h>

#define SOUND 2000u /* seeds without the bug */
#define BUG 200u    /* with it, at most */

static char path[] = "/tmp/quarry_trace_order_XXXXXX";

#define TURNS 4u

struct order_case {
    struct quarry_handle heap;
    uint32_t late; /* each free is noted when it has been done */
};

/* Each turn a thread mallocs until it gets a block, and frees it. */
SIMT_KERNEL(order_turns, struct order_case, a)
{
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        void *block;
        while (!(block = quarry_malloc(a.heap, 16)))
            simt_backoff();
        if (a.late) { /* what quarry_free does, its first line last */
            quarry_dispatch_free(&a.heap, block);
            quarry_log_note(&a.heap, block, 0);
        } else {
            quarry_free(a.heap, block);
        }
    }
}

/* Events that don't fit to the others. */
static uint64_t run(const char *allocator, uint32_t late, uint64_t seed)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_trace_header header;
    struct order_case device;
    struct quarry_grid grid = {1, 2 + (uint32_t)(seed / 2) % 2, 0};
    quarry_trace *trace;
    quarry_heap *heap;
    memset(&device, 0, sizeof device);
    options.target.backend = QUARRY_BACKEND_CPU;
    options.target.seed = seed;
    options.target.bug_depth = seed % 2 ? 3 : 0;
    options.allocator = allocator;
    options.pages = 1 + seed % 2;
    assert_ok(quarry_heap_create(&heap, &options));
    device.heap = quarry_heap_handle(heap);
    device.late = late;
    assert_ok(quarry_trace_begin(&trace, heap, path, 0));
    assert_ok(quarry_launch(&order_turns, &options.target, grid, &device));
    assert_ok(quarry_trace_end(trace, &header));
    assert_int_equal(header.lost, 0);
    assert_int_equal(header.blocks, TURNS * grid.threads);
    assert_ok(quarry_heap_destroy(heap));
    return header.unmatched;
}

static void a_free_is_before_the_malloc_that_gets_its_block(void **state)
{
    struct quarry_allocator_info info;
    (void)state;
    for (uint64_t seed = 1, counted = 0; seed <= SOUND; seed++, counted = 0) {
        do /* another allocator every fourth seed, all whose blocks are in the pool in turn */
            assert_ok(quarry_allocator_describe(
                (int)((seed / 4 + counted++) % (uint64_t)quarry_allocator_count()), &info));
        while (!info.counts_slots);
        if (run(info.name, 0, seed))
            fail_msg("%s: seed %llu: a free is behind a malloc of its block", info.name,
                     (unsigned long long)seed);
    }
}

static void a_ticket_drawn_after_the_free_is_caught(void **state)
{
    (void)state;
    for (uint64_t from = 1; from <= 1000000; from += 999999) {
        uint64_t tries = 1;
        while (tries <= BUG && !run("rw", 1, from + tries - 1))
            tries++;
        printf("found after %llu seeds\n", (unsigned long long)tries);
        if (tries > BUG)
            fail_msg("not found in %u seeds from %llu on", BUG, (unsigned long long)from);
    }
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_is_before_the_malloc_that_gets_its_block),
        cmocka_unit_test(a_ticket_drawn_after_the_free_is_caught),
    };
    close(mkstemp(path));
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
