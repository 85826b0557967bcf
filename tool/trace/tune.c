/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry tune`: which allocator, with which options, a trace runs best on. */
#include "tool.h"
#include "trace/replay_command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CANDIDATES (4u * MAX_LIST) /* two sizes of page, two distributions */
#define PRECISION 64u                  /* the least heap is found to a 64th */
#define BUDGET_MS 1000u                /* of the runs of a candidate */

enum objective { OBJECTIVE_TIME, OBJECTIVE_MEMORY, OBJECTIVE_PRODUCT };
static const char *const meanings[] = {"the time in that heap", "the least heap in which no malloc fails",
                                       "the time times the least heap"};

struct candidate {
    struct quarry_heap_options options; /* page_bytes 0: the allocator's default */
    int usable;
    char fault[256];
    uint64_t page_bytes;
    struct statistics time;
    uint64_t least_heap; /* 0: not looked for */
    double score;        /* less is better */
};

struct tuner {
    struct replay_session session;
    enum objective objective;
    struct candidate candidates[MAX_CANDIDATES];
    unsigned count;
};

/* ---- options ---- */

enum { KEY_OBJECTIVE = 512 };

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct tuner *tuner = (struct tuner *)state->input;
    int word;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &tuner->session.input;
        state->child_inputs[1] = &tuner->session.heap;
        return 0;
    case KEY_OBJECTIVE:
        tuner->objective = (enum objective)(word = options_parse_word("objective", text));
        return word < 0 ? TOOL_REFUSED : 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"objective", KEY_OBJECTIVE, "WHAT", 0,
     "time in that heap, memory: the least heap in which no malloc fails, or product of both (default: time)",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char documentation[] =
    "Runs a trace on every allocator and option that suits it, and ranks them.  TRACE - is standard input.\v"
    "The heap has room for four times what can live at one time, but is no larger than the recording's, "
    "unless --heap is given.  docs/guide/traces.md says what is tried.  Interrupted, it ranks what it "
    "has.";

static const struct argp_child children[] = {
    {&replay_input_argp, 0, NULL, 0}, {&options_place, 0, NULL, 0}, {NULL, 0, NULL, 0}};
const struct argp tool_tune_argp = {option_list, parse, "TRACE", documentation, children, NULL, NULL};

/* ---- candidates ---- */

static void add(struct tuner *tuner, const char *allocator, uint64_t page_bytes, uint64_t heap_bytes)
{
    for (unsigned warp = 0; warp < 2 && tuner->count < MAX_CANDIDATES; warp++) {
        const struct quarry_heap_options initial = QUARRY_HEAP_OPTIONS_INIT;
        struct candidate *candidate = &tuner->candidates[tuner->count++];
        memset(candidate, 0, sizeof *candidate);
        candidate->options = initial;
        candidate->options.allocator = allocator;
        candidate->options.pool_bytes = heap_bytes;
        candidate->options.page_bytes = page_bytes;
        candidate->options.distribution = warp ? QUARRY_DISTRIBUTION_WARP : QUARRY_DISTRIBUTION_NONE;
    }
}

/* Where a block is a page: pages that just hold the largest block, and the next power of two.  Else the
 * default, and pages of the smallest block. */
static int add_all(struct tuner *tuner, uint64_t heap_bytes)
{
    struct list allocators = {{0}, 0};
    const uint64_t least = quarry_round_up(tuner->session.plan.least, QUARRY_MIN_PAGE_BYTES);
    const uint64_t most = quarry_round_up(tuner->session.plan.most, QUARRY_MIN_PAGE_BYTES);
    struct quarry_allocator_info info;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        uint64_t power = 16;
        if (!info.counts_slots || lists_add(&allocators, (uint64_t)i) != 0)
            continue;
        while (power < most && power <= UINT64_MAX / 2)
            power *= 2;
        const uint64_t first = info.whole_pages ? most : 0, second = info.whole_pages ? power : least;
        add(tuner, info.name, first, heap_bytes);
        if (second != first && second <= QUARRY_MAX_PAGE_BYTES)
            add(tuner, info.name, second, heap_bytes);
    }
    return options_check_set(&tuner->session.heap.set, &allocators);
}

/* ---- measuring ---- */

/* The signal that came; 0: none. */
static volatile sig_atomic_t stopped_by;

/* What runs is waited for.  The next signal does not wait. */
static void stop(int number)
{
    stopped_by = number;
    tool_handle_signals(SIG_DFL);
}

static enum quarry_status run(struct tuner *tuner, const struct candidate *candidate, uint64_t heap_bytes,
                              unsigned runs, struct replay_result *result)
{
    struct quarry_heap_options options = candidate->options;
    struct quarry_option set[QUARRY_MAX_HEAP_OPTIONS];
    options.pool_bytes = heap_bytes;
    options_use_set(&tuner->session.heap.set, set, &options);
    return replay_measure(&tuner->session.replay, &options, runs, 0, result);
}

/* Whether no malloc fails in a heap of that size. */
static int fits(struct tuner *tuner, const struct candidate *candidate, uint64_t bytes)
{
    struct replay_result result;
    return run(tuner, candidate, bytes, 0, &result) == QUARRY_OK && !result.failed && !result.refused;
}

/* By bisection between the peak, in which nothing fits, and a heap in which all does. */
static uint64_t find_least(struct tuner *tuner, const struct candidate *candidate)
{
    uint64_t low = tuner->session.plan.peak_bytes, high = candidate->options.pool_bytes;
    while (!stopped_by && high > low && high - low > high / PRECISION + 16) {
        const uint64_t middle = low + (high - low) / 2;
        if (fits(tuner, candidate, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void measure(struct tuner *tuner, struct candidate *candidate)
{
    struct replay_result result;
    enum quarry_status status =
        run(tuner, candidate, candidate->options.pool_bytes, (unsigned)tuner->session.input.runs, &result);
    candidate->page_bytes = result.heap.page_bytes;
    if (replay_fault(status, &tuner->session.plan, &result, candidate->fault, sizeof candidate->fault))
        return;
    candidate->usable = 1;
    candidate->time = result.time;
    candidate->score = tuner->objective == OBJECTIVE_MEMORY ? 1 : result.time.median;
    if (tuner->objective != OBJECTIVE_TIME) {
        candidate->least_heap = find_least(tuner, candidate);
        candidate->score *= (double)candidate->least_heap;
    }
}

/* Is the page of candidate `number` the allocator's default, with which one before it was measured? */
static int is_repeated(const struct tuner *tuner, unsigned number)
{
    const struct candidate *c = &tuner->candidates[number];
    for (unsigned i = 0; i < number; i++) {
        const struct candidate *d = &tuner->candidates[i];
        if (d->page_bytes == c->options.page_bytes && d->options.distribution == c->options.distribution &&
            strcmp(d->options.allocator, c->options.allocator) == 0)
            return 1;
    }
    return 0;
}

/* Measures candidates until a signal comes; tuner->count is then how many are done. */
static void measure_all(struct tuner *tuner)
{
    unsigned all = tuner->count, done = 0;
    tool_handle_signals(stop);
    while (done < all) {
        if (is_repeated(tuner, done)) {
            tuner->candidates[done] = tuner->candidates[--all];
            continue;
        }
        tuner->session.replay.from = (double)done / all;
        tuner->session.replay.to = (done + 1.0) / all;
        measure(tuner, &tuner->candidates[done]);
        if (stopped_by)
            break;
        done++;
    }
    tool_handle_signals(SIG_DFL);
    tool_progress_end();
    tuner->count = done;
    if (stopped_by)
        tool_error(TOOL_FAILED, "interrupted: %u of %u candidates are missing", all - done, all);
}

static int compare(const void *one, const void *other)
{
    const struct candidate *a = (const struct candidate *)one, *b = (const struct candidate *)other;
    if (a->usable != b->usable)
        return b->usable - a->usable;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->time.median > b->time.median) - (a->time.median < b->time.median);
}

/* ---- output ---- */

static const char *page_text(const struct candidate *candidate, char *text, size_t bytes)
{
    snprintf(text, bytes, "%" PRIu64,
             candidate->page_bytes ? candidate->page_bytes : candidate->options.page_bytes);
    return text;
}

static void print_table(const struct tuner *tuner, const struct statistics *floor)
{
    char page[32], bytes[32];
    printf("\n%4s  %-10s %7s  %-10s %10s %4s %8s", "rank", "allocator", "page", "distribute", "time ms", "n",
           "x floor");
    puts(tuner->objective == OBJECTIVE_TIME ? "" : "   least heap  utilisation");
    for (unsigned i = 0; i < tuner->count; i++) {
        const struct candidate *c = &tuner->candidates[i];
        const char *warp = options_words("distribute")[c->options.distribution];
        page_text(c, page, sizeof page);
        if (!c->usable) {
            printf("   -  %-10s %7s  %-10s %s\n", c->options.allocator, page, warp, c->fault);
            continue;
        }
        printf("%4u  %-10s %7s  %-10s %10.3f %4u %8.2f", i + 1, c->options.allocator, page, warp,
               c->time.median / 1e3, c->time.n, c->time.median / floor->median);
        if (c->least_heap)
            printf(" %12s %10.1f %%", tool_format_bytes(c->least_heap, bytes),
                   100 * (double)tuner->session.plan.peak_bytes / (double)c->least_heap);
        putchar('\n');
    }
}

/* The best, as options of the command, as a program's options, and as macros of its kernels. */
static void print_paste(const struct tuner *tuner)
{
    const struct candidate *best = &tuner->candidates[0];
    const uint64_t heap = tuner->objective == OBJECTIVE_TIME ? best->options.pool_bytes : best->least_heap;
    struct quarry_heap_options options = best->options;
    struct quarry_option set[QUARRY_MAX_HEAP_OPTIONS];
    const int warp = best->options.distribution == QUARRY_DISTRIBUTION_WARP;
    char id[32];
    snprintf(id, sizeof id, "%s", best->options.allocator);
    for (char *at = id; (at = strchr(at, '-')) != NULL;)
        *at = '_';
    options_use_set(&tuner->session.heap.set, set, &options);
    printf("\nquarry replay    --allocator %s --heap %" PRIu64 " --page %" PRIu64 " --distribute %s",
           best->options.allocator, heap, best->page_bytes, warp ? "warp" : "none");
    for (uint32_t i = 0; i < options.set_count; i++)
        printf("%s%s=%" PRIu64, i ? "," : " --set ", set[i].name, set[i].value);
    putchar('\n');
    printf("kernels          -DQUARRY_ALLOCATOR=%s -DQUARRY_DISTRIBUTION=%s\n", id, warp ? "warp" : "none");
    printf("host             struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;\n"
           "                 options.allocator = \"%s\";\n"
           "                 options.pool_bytes = %" PRIu64 ";\n"
           "                 options.page_bytes = %" PRIu64 ";\n",
           best->options.allocator, heap, best->page_bytes);
    if (warp)
        puts("                 options.distribution = QUARRY_DISTRIBUTION_WARP;");
    if (options.set_count)
        printf("                 const struct quarry_option set[] = {");
    for (uint32_t i = 0; i < options.set_count; i++)
        printf("%s{\"%s\", %" PRIu64 "}", i ? ", " : "", set[i].name, set[i].value);
    if (options.set_count)
        printf("};\n"
               "                 options.set = set;\n"
               "                 options.set_count = %" PRIu32 ";\n",
               options.set_count);
}

/* ---- the command ---- */

static int tune(struct tuner *tuner)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct statistics floor;
    char bytes[32];
    options.pool_bytes = tuner->session.heap.heap_bytes;
    replay_choose_heap(&tuner->session, &options);
    const uint64_t heap = options.pool_bytes;
    tuner->session.replay.budget_s =
        (double)tool_environment("QUARRY_TUNE_BUDGET_MS", BUDGET_MS, BUDGET_MS) / 1e3;
    const int code = add_all(tuner, heap);
    if (code != TOOL_OK)
        return code;
    if (replay_measure_floor(&tuner->session.replay, (unsigned)tuner->session.input.runs, &floor) !=
        QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    measure_all(tuner);
    qsort(tuner->candidates, tuner->count, sizeof *tuner->candidates, compare);
    const int found = tuner->count && tuner->candidates[0].usable;
    if (!found && stopped_by)
        return TOOL_OK;
    if (!found)
        return tool_error(
            TOOL_FAILED, "no allocator runs the trace in a heap of %s; use a larger --heap (the first: %s)",
            tool_format_bytes(heap, bytes), tuner->count ? tuner->candidates[0].fault : "there is none");
    replay_print_trace(&tuner->session);
    printf("heap          %s\n", tool_format_bytes(heap, bytes));
    printf("floor         %.3f ms, the same without malloc and free\n", floor.median / 1e3);
    printf("objective     %s: %s\n", options_words("objective")[tuner->objective],
           meanings[tuner->objective]);
    print_table(tuner, &floor);
    print_paste(tuner);
    return tool_flush();
}

int tool_tune(int argc, char **argv)
{
    static struct tuner tuner;
    struct replay_session *session = &tuner.session;
    int code = replay_start(session, &tool_tune_argp, argc, argv, &tuner, "tuning");
    if (code == TOOL_OK && session->plan.blocks == 0)
        code = tool_error(TOOL_FAILED, "%s: there is no malloc in it", session->input.path);
    if (code == TOOL_OK)
        code = tune(&tuner);
    replay_finish(session);
    if (stopped_by)
        raise(stopped_by); /* so that a shell's loop ends, too */
    return code;
}
