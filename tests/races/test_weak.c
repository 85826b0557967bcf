/* SPDX-License-Identifier: Apache-2.0 */
/* Mode weak of the CPU backend: programs whose outcomes are known (litmus tests), races, and what a report says.
 *
 * A program is a line of text, one thread after the other, parted by |, their steps by blanks:
 *
 *     x=1 x=1.rel       a store; x, y and z are words of 32 bits in cells of 64 bits of their own
 *     x x.acq           a load
 *     x+1 x+1.ar x~1    an addition, an exchange; .fnc is simt.h's order fenced
 *     F.ar F.sc         a fence            S V B   simt_sync, a ballot, the block barrier
 *     x:=1 x:           a store and a load that are no atomics
 *     ?x ?x.acq         loads until it is not 0           L L.acq  exchanges z until it was 0: takes a lock
 *     h X               the other half of the cell of x, and the whole of it; b c: bytes of x
 *
 * Its outcome is the digits that were read, thread after thread; a cell has two, the upper half first. */
#include "races/block_kernels.h"
#include "races/litmus_kernels.h"
#include "races/race_kernels.h"

#include "common.h"

#define SEEDS 3000u
#define RACE_SEEDS 60u
#define OUTCOME_BYTES 24u

static struct quarry_target target;
static struct litmus device;

static const char *const order_names[] = {"", ".acq", ".rel", ".ar", ".fnc", ".sc"};

static void parse_step(const char *word, struct litmus_step *step)
{
    const char *dot = strchr(word, '.'), *names = "xyzhXbc", *name;
    memset(step, 0, sizeof *step);
    step->value = 1;
    for (uint8_t i = 0; dot && i < sizeof order_names / sizeof *order_names; i++)
        if (strcmp(dot, order_names[i]) == 0)
            step->order = i;
    switch (*word) {
    case 'F':
        step->kind = LITMUS_FENCE;
        return;
    case 'S':
        step->kind = LITMUS_SYNC;
        return;
    case 'V':
        step->kind = LITMUS_BALLOT;
        return;
    case 'B':
        step->kind = LITMUS_BARRIER;
        return;
    case 'L':
        step->kind = LITMUS_TAKE;
        step->cell = 2;
        return;
    default:
        break;
    }
    int await = *word == '?';
    name = strchr(names, word[await]);
    assert_non_null(name);
    step->cell = *name == 'y' ? 1 : *name == 'z' ? 2 : 0;
    step->part = *name == 'h' ? 1 : *name == 'X' ? 2 : *name == 'b' ? 4 : *name == 'c' ? 5 : 0;
    word += await + 1;
    step->kind = await                         ? LITMUS_AWAIT
                 : *word == '='                ? LITMUS_STORE
                 : *word == '+'                ? LITMUS_ADD
                 : *word == '~'                ? LITMUS_EXCHANGE
                 : strncmp(word, ":=", 2) == 0 ? LITMUS_PLAIN_STORE
                 : *word == ':'                ? LITMUS_PLAIN_LOAD
                                               : LITMUS_LOAD;
    word += strspn(word, ":=+~");
    if (*word >= '0' && *word <= '9')
        step->value = (uint32_t)(*word - '0');
}

/* Returns how many threads the program has. */
static uint32_t parse(const char *program)
{
    char text[256], *rest;
    uint32_t thread = 0, step = 0;
    memset(device.step, 0, sizeof device.step);
    snprintf(text, sizeof text, "%s", program);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "|") == 0) {
            thread++;
            step = 0;
            continue;
        }
        assert_true(thread < LITMUS_THREADS && step < LITMUS_STEPS);
        parse_step(word, &device.step[thread][step++]);
    }
    return thread + 1;
}

static int reads(const struct litmus_step *step)
{
    return step->kind == LITMUS_LOAD || step->kind == LITMUS_ADD || step->kind == LITMUS_EXCHANGE ||
           step->kind == LITMUS_PLAIN_LOAD;
}

/* Runs the program once.  The threads are lanes of a warp, or else, of every second seed, of a block each. */
static enum quarry_status run(uint32_t threads, int apart, uint64_t seed, uint32_t depth, char *outcome)
{
    struct quarry_grid grid = {apart ? threads : 1, apart ? 1 : threads, 0};
    target.seed = seed;
    target.bug_depth = depth;
    memset(device.cell, 0, 3 * sizeof *device.cell);
    enum quarry_status status = quarry_launch(&litmus_run, &target, grid, &device);
    for (uint32_t i = 0; i < threads * LITMUS_STEPS; i++) {
        const struct litmus_step *step = &device.step[i / LITMUS_STEPS][i % LITMUS_STEPS];
        if (step->kind == LITMUS_END)
            i |= LITMUS_STEPS - 1;
        if (reads(step) && step->part == 2)
            *outcome++ = (char)('0' + (device.result[i] >> 32));
        if (reads(step))
            *outcome++ = (char)('0' + (uint32_t)device.result[i]);
    }
    *outcome = '\0';
    return status;
}

/* ---- outcomes ---- */

/* `seen` must be seen.  Of the others none may be that is in `never`; NULL: none at all. */
static const struct outcomes {
    const char *program, *seen, *never;
} outcomes[] = {
    /* Store buffering.  Only seq_cst fences in both threads forbid that both read 0. */
    {"x=1 y | y=1 x", "00 01 10 11", NULL},
    {"x=1.rel y.acq | y=1.rel x.acq", "00 01 10 11", NULL},
    {"x~1.ar y.acq | y~1.ar x.acq", "0000 0001 0100 0101", NULL},
    {"x=1 F.ar y | y=1 F.ar x", "00 01 10 11", NULL},
    {"x=1 F.sc y | y=1 F.ar x", "00 01 10 11", NULL},
    {"x=1 F.sc y | y=1 F.sc x", "01 10 11", NULL},
    {"x=1 | x F.sc y | y=1 F.sc x", "000 001 010 011 101 110 111", NULL}, /* 100: a cycle of the fences */
    {"x=1 | x F.ar y | y=1 F.ar x", "100", ""},

    /* Message passing: 10 is the flag without the message.  Every order of the writer and of the reader. */
    {"x=1 y=1 | y x", "00 01 10 11", NULL},
    {"x=1 y=1 | y.acq x", "00 01 10 11", NULL},
    {"x=1 y=1 | y F.ar x", "00 01 10 11", NULL},
    {"x=1 y=1.rel | y x", "00 01 10 11", NULL},
    {"x=1 y=1.rel | y.acq x", "00 01 11", NULL},
    {"x=1 y=1.rel | y F.ar x", "00 01 11", NULL},
    {"x=1 F.ar y=1 | y x", "00 01 10 11", NULL},
    {"x=1 F.ar y=1 | y.acq x", "00 01 11", NULL},
    {"x=1 F.ar y=1 | y F.ar x", "00 01 11", NULL},
    {"x=1 F.sc y=1 | y F.sc x", "00 01 11", NULL},
    {"x=1 y=1 F.ar | y.acq x", "00 01 10 11", NULL},    /* the fence comes too late */
    {"x=1 F.ar y=1 | F.ar y x", "00 01 10 11", NULL},   /* too early */
    {"x=1.rel y=1 | y.acq x.acq", "00 01 10 11", NULL}, /* the release of another word */
    {"x=1 y+1.rel | y+0.acq x", "000 001 011", NULL},
    {"x=1 y+1 | y+0.acq x", "000 001 010 011", NULL},
    {"x=1 y+1.rel | y+0 x", "000 001 010 011", NULL},
    {"x=1 F.ar y+1.fnc | y.acq x", "000 001 011", NULL},
    {"x=1 y+1.fnc | y.acq x", "000 001 010 011", NULL}, /* fenced, without the fence */

    /* Load buffering: C11 and PTX allow 11.  Here a lane goes in the order of its program. */
    {"x y=1 | y x=1", "00 01 10", NULL},

    /* Messages through a third thread. */
    {"x=1 | x y=1.rel | y.acq x", "000 001 010 011 100 101 111", NULL},
    {"x=1 | x y=1 | y x", "110", ""},
    {"x=1 y=1.rel | y.acq z=1.rel | z.acq x", "111 010", "110"},
    {"x=1 y=1.rel | y z=1.rel | z.acq x", "111 110", ""},
    {"x=1 F.ar y=1 | y F.ar z=1 | z F.ar x", "111 010", "110"},

    /* Independent reads of independent writes: 1010, two readers see two writes in different orders. */
    {"x=1 | y=1 | x.acq y.acq | y.acq x.acq", "1010 1111 0000", ""},
    {"x=1 | y=1 | x F.ar y | y F.ar x", "1010 1111", ""},
    {"x=1 | y=1 | x F.sc y | y F.sc x", "1110 1011 1111", "1010"},

    /* Release sequences: read-modify-writes go on with them, stores end them, of whatever thread (C++20). */
    {"x=1 y=1.rel | y+2 | y.acq x", "131 020 000", "130 110 010"},
    {"x=1 F.ar y=1 | y+2 | y.acq x", "131 020", "130 110 010"},
    {"x=1 y=1.rel | z=1 y+2.rel | y.acq x z", "1311 0201", "1300 0200 1301 1310"},
    {"x=1 y=1.rel | y=2 | y.acq x", "20 21 11", "10"},
    {"x=1 y=1.rel y=2 | y.acq x", "20 21 11", "10"},

    /* Coherence of one word. */
    {"x=1 x=2 | x x", "00 01 02 11 12 22", NULL},
    {"x=1 | x=2 | x x | x x", "1212 2121 1111 2222", "1221 2112"},
    {"x=1 x | x=2", "1 2", NULL},
    {"x x=1 x | x=2", "01 02 21", NULL},
    {"x=1 x=2 B x | B", "2", NULL},
    {"x+1 | x+1", "01 10", NULL},
    {"x+1 | x=2 x", "02 22 23", NULL},

    /* 2+2W: 11, and both first stores come last. */
    {"x=1 y=2 B x y | y=1 x=2 B", "11 12 21 22", NULL},
    {"x=1 F.ar y=2 B x y | y=1 F.ar x=2 B", "11 12 21 22", NULL},
    {"x=1 F.sc y=2 B x y | y=1 F.sc x=2 B", "12 21 22", NULL},
    /* A read-modify-write before a store that nothing orders before it: the flag was seen, the change is lost. */
    {"x=4 y=1 B | y x+1 B x", "004 045 104 145", NULL},
    {"x=4 y=1.rel B | y.acq x+1 B x", "004 045 145", NULL},

    /* Meetings: all but a sync and the barrier order nothing. */
    {"x=1 S | S x", "1", NULL},
    {"x=1 B | B x", "1", NULL},
    {"x=1 V | V x", "0 1", NULL},

    /* Halves and wholes of a word. */
    {"x=1 | h=1 | X", "00 01 10 11", NULL},
    {"x=1 X | h=1", "01 11", NULL},
    {"X=1 | x X", "000 011 111", NULL},
    {"x=1 h=1 | h x", "00 01 10 11", NULL},
    {"x=1 h=1.rel | h.acq x", "00 01 11", NULL},
    {"y=1 X=1.rel | h.acq y", "00 01 11", NULL},
    {"y=1 x=1.rel | X.acq y", "000 001 011", NULL},
    {"y=1 x=1.rel | X+2 | X.acq y", "01231 00220", "01230"},
};

static int is_in(const char *list, const char *outcome)
{
    size_t length = strlen(outcome);
    for (const char *at = strstr(list, outcome); at; at = strstr(at + 1, outcome))
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return 1;
    return 0;
}

static void only_what_is_allowed_is_seen_and_all_of_it(void **state)
{
    char all[1024], outcome[OUTCOME_BYTES], wanted[256], *rest;
    (void)state;
    for (uint32_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        const struct outcomes *o = &outcomes[i];
        uint32_t threads = parse(o->program);
        int apart = !strpbrk(o->program, "SVB");
        all[0] = '\0';
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            assert_ok(run(threads, apart && seed % 2, seed, seed % 4 / 2 * 3, outcome));
            if (o->never ? is_in(o->never, outcome) : !is_in(o->seen, outcome))
                fail_msg("%s: %s, which may not be, seed %llu", o->program, outcome,
                         (unsigned long long)seed);
            if (!is_in(all, outcome))
                snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", outcome);
        }
        snprintf(wanted, sizeof wanted, "%s", o->seen);
        for (char *word = strtok_r(wanted, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            if (!is_in(all, word))
                fail_msg("%s: %s was never seen, only %s", o->program, word, all);
    }
}

/* ---- races ---- */

static const struct race {
    const char *program;
    int is_one;
} races[] = {
    {"x:=1 y=1.rel | ?y.acq x:", 0},
    {"x:=1 y=1 | ?y.acq x:", 1},
    {"x:=1 y=1.rel | ?y x:", 1},
    {"x:=1 F.ar y=1 | ?y F.ar x:", 0},
    {"x:=1 F.ar y=1 | ?y.acq x:", 0},
    {"x:=1 F.ar y=1 | ?y x:", 1},
    {"x:=1 y=1 | ?y F.ar x:", 1},
    {"x:=1 F.ar y+1.fnc | ?y.acq x:", 0},
    {"x:=1 y+1.fnc | ?y.acq x:", 1},
    {"x=1.rel | ?x.acq x:=1", 0},
    {"x=1 | ?x.acq x:=1", 1},
    {"F.ar x+1.fnc | ?x.acq x:=1", 0},
    {"F.ar x+1.fnc | ?x.acq x:", 0},
    {"F.ar x+1.fnc | ?x x:=1", 0}, /* it has read what it writes over */
    {"F.ar x+1.fnc | x.acq x:=1", 1},
    {"F.ar x+1.fnc y=1 | ?y.acq x:=1", 1},
    {"F.ar x+1.fnc | ?x.acq y=1.rel | ?y.acq x:=1", 0},
    {"F.ar x+1.fnc | ?x.acq y=1 | ?y.acq x:=1", 1},
    {"x:=1 y=1.rel | ?y.acq z=1.rel | ?z.acq x:", 0},
    {"x:=1 y=1.rel | ?y z=1.rel | ?z.acq x:", 1},
    {"x: y=1.rel | ?y.acq x:=1", 0},
    {"x: y=1 | ?y.acq x:=1", 1}, /* the write could come before the read */
    {"L.acq x:=1 z=0.rel | L.acq x:=1 z=0.rel", 0},
    {"L.acq x:=1 z=0 | L.acq x:=1 z=0", 1},
    {"L x:=1 z=0.rel | L x:=1 z=0.rel", 1},
    {"L.acq x:=1 z=0.rel | L.acq x: z=0 | L.acq x:=1 z=0.rel", 1},
    {"x:=1 S | S x:", 0},
    {"x:=1 B | B x:", 0},
    {"x:=1 V | V x:", 1},
    {"x:=1 F.sc | F.sc x:", 1},
    {"x: | x:", 0},
    {"x:=1 | x:=1", 1},
    {"x:=1 | x", 1},
    {"x: | x", 0},
    {"x: | x=1", 1},
    {"x:=1 | h:=1", 0},
    {"x:=1 | X", 1},
    {"b:=1 | c:=1", 0},
    {"b:=1 | x:", 1},
};

static void races_are_found_and_nothing_else(void **state)
{
    char outcome[OUTCOME_BYTES];
    (void)state;
    for (uint32_t i = 0; i < sizeof races / sizeof *races; i++) {
        uint32_t threads = parse(races[i].program), found = 0;
        int apart = !strpbrk(races[i].program, "SVB");
        for (uint64_t seed = 1; seed <= RACE_SEEDS; seed++) {
            enum quarry_status status = run(threads, apart && seed % 2, seed, seed % 4 / 2 * 3, outcome);
            if (status != QUARRY_OK && (status != QUARRY_ERROR_RACE || !races[i].is_one))
                fail_msg("%s: %s", races[i].program, quarry_error_detail());
            found += status == QUARRY_ERROR_RACE;
        }
        if (races[i].is_one && !found)
            fail_msg("%s: no race was found with %u seeds", races[i].program, RACE_SEEDS);
    }
}

/* ---- reports ---- */

static enum quarry_status hand_over(enum race_order broken, uint64_t seed, uint32_t *wrong)
{
    static uint32_t words[RACE_WORDS], data;
    struct race_case a = {.words = words, .wrong = wrong, .data = &data, .broken = broken};
    struct quarry_grid grid = {2, 1, 0};
    words[0] = data = *wrong = 0;
    target.seed = seed;
    target.bug_depth = 0;
    return quarry_launch(&race_handover, &target, grid, &a);
}

static void a_report_says_who_where_and_why_and_its_seed_replays_it(void **state)
{
    static const char *const why[] = {"", "releases nothing: a release", "acquires nothing: an acquire"};
    (void)state;
    for (enum race_order broken = RACE_SOUND; broken <= RACE_NO_ACQUIRE; broken++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            char report[2048];
            uint32_t wrong;
            enum quarry_status status = hand_over(broken, seed, &wrong);
            assert_int_equal(status, broken == RACE_SOUND ? QUARRY_OK : QUARRY_ERROR_RACE);
            assert_int_equal(wrong, 0);
            if (broken == RACE_SOUND)
                continue;
            snprintf(report, sizeof report, "%s", quarry_error_detail());
            if (seed == 1)
                printf("%s\n", report);
            assert_non_null(strstr(report, "kernel race_handover: race: block 1 warp 0 lane 0 reads at "));
            assert_non_null(strstr(report, "what block 0 warp 0 lane 0 wrote at "));
            assert_non_null(strstr(report, "race_kernels.c:"));
            assert_non_null(strstr(report, "(race_handover_body)"));
            assert_non_null(strstr(report, why[broken]));
            assert_non_null(strstr(report, "(seed "));
            assert_int_equal(hand_over(broken, seed, &wrong), QUARRY_ERROR_RACE);
            assert_string_equal(report, quarry_error_detail());
        }
}

/* Over and over in one small heap, so that what one launch freed the next gets. */
static void blocks_are_written_before_they_are_read_and_left_alone_when_freed(void **state)
{
    static const char *const found[] = {NULL,         NULL,         "reads at ", "reads at ",
                                        "writes at ", "writes at ", "reads at ", "writes at "};
    static uint32_t sum;
    struct quarry_grid grid = {1, 1, 0};
    int allocators = quarry_allocator_count();
    (void)state;
    for (int i = 0; i < allocators; i++) {
        struct quarry_allocator_info info;
        struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
        struct block_case a = {.sum = &sum};
        quarry_heap *heap;
        assert_ok(quarry_allocator_describe(i, &info));
        if (!info.counts_slots) /* the C library's blocks: not known here */
            continue;
        target.seed = (uint64_t)i + 1;
        options.target = target;
        options.allocator = info.name;
        options.page_bytes = 256;
        options.pages = 64;
        assert_ok(quarry_heap_create(&heap, &options));
        a.heap = quarry_heap_handle(heap);
        for (uint32_t turn = 0; turn < 20; turn++)
            for (a.misuse = BLOCK_SOUND; a.misuse <= BLOCK_WRITE_FREED_END; a.misuse++) {
                enum quarry_status status = quarry_launch(&block_misuse, &target, grid, &a);
                const char *report = quarry_error_detail();
                assert_int_equal(status, found[a.misuse] ? QUARRY_ERROR_RACE : QUARRY_OK);
                if (!found[a.misuse])
                    continue;
                if (i == 0 && turn == 0)
                    printf("%s\n", report);
                assert_non_null(strstr(report, found[a.misuse]));
                assert_non_null(strstr(report, "block_kernels.c:"));
                int unwritten = a.misuse == BLOCK_READ_UNWRITTEN || a.misuse == BLOCK_READ_UNWRITTEN_END;
                assert_non_null(strstr(report, unwritten ? "nobody has written" : "that was freed"));
            }
        assert_ok(quarry_heap_reset(heap));
        assert_ok(quarry_heap_destroy(heap));
    }
}

static void without_a_seed_it_is_refused(void **state)
{
    struct quarry_target wrong = target;
    (void)state;
    wrong.seed = 0;
    wrong.bug_depth = 0;
    assert_int_equal(quarry_target_resolve(&wrong), QUARRY_ERROR_COMBINATION);
    assert_non_null(strstr(quarry_error_detail(), "mode weak needs a seed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_allowed_is_seen_and_all_of_it),
        cmocka_unit_test(races_are_found_and_nothing_else),
        cmocka_unit_test(a_report_says_who_where_and_why_and_its_seed_replays_it),
        cmocka_unit_test(blocks_are_written_before_they_are_read_and_left_alone_when_freed),
        cmocka_unit_test(without_a_seed_it_is_refused),
    };
    target.backend = QUARRY_BACKEND_CPU;
    target.seed = 1;
    target.weak = 1;
    device.cell = test_memory(&target, 3 * sizeof *device.cell);
    device.result = test_memory(&target, sizeof(uint64_t) * LITMUS_THREADS * LITMUS_STEPS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
