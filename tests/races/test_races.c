/* SPDX-License-Identifier: Apache-2.0 */
/* What the race finder must find: each bug of race_kernels.c within a stated number of seeds, by each
 * strategy of the deterministic scheduler that can; the seed replays it; and the same structure without the
 * bug is clean. */
#include "races/race_kernels.h"

#include "common.h"

#define DEPTH 3u      /* of the priority strategy */
#define SOUND 300u    /* seeds for each structure without its bug */
#define OTHER 1000000 /* where the second search for a bug begins */

/* Seeds that it may take: at least four times the worst of 200 searches, one after the other.  In those 200
 * it took on average, uniform and priority: 1 and 4, 6 and 20, 1 and 1, 1 and 2, 10 and 8, 7 and 16; the
 * stack 159, and uniform found it 8 times in 100 000 seeds; ScatterAlloc's page 56 and 45, 706 and 731, 41
 * and
 * 46.  So priority pays where events must come in one
 * order with long stretches between; bugs that need two steps of two lanes in any order are rather for
 * uniform. */
static const struct bug {
    const char *name;
    const struct simt_kernel *kernel;
    uint32_t threads;
    uint64_t uniform; /* 0: not looked for */
    uint64_t priority;
    const char *report; /* what the launch says; NULL: it ends, and the kernel has seen something wrong */
} bugs[] = {
    {"a lost update", &race_count, 8, 20, 70, NULL},
    {"a lost free", &race_bitmap, 8, 120, 470, NULL},
    {"a ballot with a lane missing", &race_tickets, 32, 8, 15, NULL},
    {"a mask taken too early", &race_early_mask, 8, 16, 44, "a lane that has returned"},
    {"a deadlock of two locks", &race_locks, 2, 200, 200, "deadlock"},
    {"a page with two owners", &race_flags, 4, 170, 400, NULL},
    {"a stack whose head counts no changes", &race_stack, 4, 0, 3100, NULL},
    {"a size of blocks that is looked at too early", &race_page_look, 3, 1300, 1000, NULL},
    {"a size of blocks that changes under who enters", &race_page_reset, 3, 18000, 15000, NULL},
    {"a page that nobody was the last to leave", &race_page_last, 3, 850, 900, NULL},
};

static struct quarry_target target;
static struct race_case device;

struct outcome {
    enum quarry_status status;
    uint32_t wrong;
    char report[512];
};

static struct outcome run(const struct bug *bug, uint32_t broken, uint32_t depth, uint64_t seed)
{
    struct outcome o;
    struct quarry_grid grid = {1, bug->threads, 0};
    memset(&o, 0, sizeof o);
    target.seed = seed;
    target.bug_depth = depth;
    device.broken = broken;
    assert_ok(quarry_memory_fill(&target, device.words, 0, RACE_WORDS * sizeof *device.words));
    assert_ok(quarry_memory_fill(&target, device.owner, 0, RACE_WORDS * sizeof *device.owner));
    assert_ok(quarry_memory_fill(&target, device.head, 0, sizeof *device.head));
    assert_ok(quarry_memory_fill(&target, device.wrong, 0, sizeof *device.wrong));
    o.status = quarry_launch(bug->kernel, &target, grid, &device);
    if (o.status != QUARRY_OK)
        snprintf(o.report, sizeof o.report, "%s", quarry_error_detail());
    assert_ok(quarry_memory_copy(&target, &o.wrong, device.wrong, sizeof o.wrong));
    return o;
}

/* Looks for the bug from a seed on; the same seed must then replay it. */
static void find(const struct bug *bug, uint32_t depth, uint64_t from, uint64_t most)
{
    for (uint64_t seed = from; seed < from + most; seed++) {
        char name[64];
        const unsigned long long tries = seed - from + 1;
        struct outcome found = run(bug, 1, depth, seed), again;
        if (found.status == QUARRY_OK && found.wrong == 0)
            continue;
        printf("%s: seed %llu, depth %u, after %llu: %s\n", bug->name, (unsigned long long)seed, depth, tries,
               found.wrong ? "wrong result" : found.report);
        if (bug->report) {
            snprintf(name, sizeof name, depth ? "(seed %llu, depth %u)" : "(seed %llu)",
                     (unsigned long long)seed, depth);
            assert_non_null(strstr(found.report, bug->report));
            assert_non_null(strstr(found.report, name));
        } else {
            assert_int_equal(found.status, QUARRY_OK);
        }
        for (uint32_t i = 0; i < 3; i++) {
            again = run(bug, 1, depth, seed);
            assert_int_equal(again.status, found.status);
            assert_int_equal(again.wrong, found.wrong);
            assert_string_equal(again.report, found.report);
        }
        return;
    }
    fail_msg("%s: not found within %llu seeds from %llu, depth %u", bug->name, (unsigned long long)most,
             (unsigned long long)from, depth);
}

static void each_bug_is_found_and_its_seed_replays_it(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        for (uint64_t from = 1; from <= OTHER; from += OTHER - 1) {
            if (bugs[i].uniform)
                find(&bugs[i], 0, from, bugs[i].uniform);
            find(&bugs[i], DEPTH, from, bugs[i].priority);
        }
}

static void without_the_bug_nothing_is_found(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        for (uint32_t depth = 0; depth <= DEPTH; depth += DEPTH)
            for (uint64_t seed = 1; seed <= SOUND; seed++) {
                struct outcome o = run(&bugs[i], 0, depth, seed);
                if (o.status != QUARRY_OK || o.wrong)
                    fail_msg("%s: found without the bug: seed %llu, depth %u: %s", bugs[i].name,
                             (unsigned long long)seed, depth, o.report);
            }
}

/* Two lanes poll for each other's progress, over and over: who comes first in the order must not starve the
 * other, whatever the depth. */
static void who_polls_starves_nobody(void **state)
{
    static const struct bug handover = {"handover", &race_handover, 2, 0, 0, NULL};
    (void)state;
    for (uint32_t depth = 1; depth <= 64; depth++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct outcome o = run(&handover, RACE_SOUND, depth, seed);
            assert_int_equal(o.status, QUARRY_OK);
            assert_int_equal(o.wrong, 0);
        }
}

static void wrong_depths_are_refused(void **state)
{
    struct quarry_target wrong = target;
    (void)state;
    wrong.seed = 1;
    wrong.bug_depth = 65;
    assert_int_equal(quarry_target_resolve(&wrong), QUARRY_ERROR_ARGUMENT);
    assert_non_null(strstr(quarry_error_detail(), "bug_depth is 65"));
    wrong.seed = 0;
    wrong.bug_depth = 1;
    assert_int_equal(quarry_target_resolve(&wrong), QUARRY_ERROR_COMBINATION);
    assert_non_null(strstr(quarry_error_detail(), "seed is 0"));
    wrong.seed = 1;
    wrong.bug_depth = 64;
    assert_ok(quarry_target_resolve(&wrong));
}

/* QUARRY_SEED is the seed of launches that have none. */
static void the_environment_gives_a_seed_and_wrong_words_are_refused(void **state)
{
    static const struct bug count = {"a lost update", &race_count, 8, 0, 0, NULL};
    static const char *const wrong[] = {"", "x", "1x", "-1", " 1", "18446744073709551616"};
    uint32_t lost[40];
    (void)state;
    for (uint32_t seed = 0; seed < 40; seed++)
        lost[seed] = run(&count, 1, 0, seed + 1).wrong;
    for (uint32_t seed = 0; seed < 40; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%u", seed + 1);
        assert_int_equal(setenv("QUARRY_SEED", text, 1), 0);
        assert_int_equal(run(&count, 1, 0, 0).wrong, lost[seed]);
        assert_int_equal(run(&count, 1, 0, 1).wrong, lost[0]); /* the target's own comes first */
    }
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(setenv("QUARRY_SEED", wrong[i], 1), 0);
        assert_int_equal(run(&count, 1, 0, 0).status, QUARRY_ERROR_ARGUMENT);
        assert_non_null(strstr(quarry_error_detail(), "QUARRY_SEED"));
    }
    assert_int_equal(unsetenv("QUARRY_SEED"), 0);
    assert_int_equal(setenv("QUARRY_WEAK", "2", 1), 0);
    assert_int_equal(run(&count, 1, 0, 1).status, QUARRY_ERROR_ARGUMENT);
    assert_int_equal(unsetenv("QUARRY_WEAK"), 0);
}

#ifndef SIMT_CPU_WEAK
static void mode_weak_is_refused_by_a_library_without_it(void **state)
{
    static const struct bug count = {"a lost update", &race_count, 8, 0, 0, NULL};
    struct quarry_target weak = target;
    (void)state;
    weak.seed = 1;
    weak.bug_depth = 0;
    weak.weak = 1;
    assert_int_equal(quarry_target_resolve(&weak), QUARRY_ERROR_BACKEND);
    assert_non_null(strstr(quarry_error_detail(), "-DQUARRY_SANITIZE=weak"));
    assert_int_equal(setenv("QUARRY_WEAK", "1", 1), 0);
    assert_int_equal(run(&count, 0, 0, 1).status, QUARRY_ERROR_BACKEND);
    assert_int_equal(setenv("QUARRY_WEAK", "0", 1), 0);
    assert_int_equal(run(&count, 0, 0, 1).status, QUARRY_OK);
    assert_int_equal(unsetenv("QUARRY_WEAK"), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bug_is_found_and_its_seed_replays_it),
        cmocka_unit_test(without_the_bug_nothing_is_found),
        cmocka_unit_test(who_polls_starves_nobody),
        cmocka_unit_test(wrong_depths_are_refused),
        cmocka_unit_test(the_environment_gives_a_seed_and_wrong_words_are_refused),
#ifndef SIMT_CPU_WEAK
        cmocka_unit_test(mode_weak_is_refused_by_a_library_without_it),
#endif
    };
    target.backend = QUARRY_BACKEND_CPU;
    device.words = test_memory(&target, RACE_WORDS * sizeof *device.words);
    device.owner = test_memory(&target, RACE_WORDS * sizeof *device.owner);
    device.head = test_memory(&target, sizeof *device.head);
    device.wrong = test_memory(&target, sizeof *device.wrong);
    device.data = test_memory(&target, sizeof *device.data);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
