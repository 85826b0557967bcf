/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry replay`: runs a trace on a heap. */
#include "lists.h"
#include "tool.h"
#include "trace/replay_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct command {
    struct replay_input input;
    struct method_options heap; /* the part that is about one */
    struct policy_options policies;
    int check;
};

/* ---- the trace ---- */

int replay_open_input(const struct replay_input *input, struct quarry_trace_file *trace,
                      struct replay_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    if (quarry_trace_read(trace, input->path) != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    const struct quarry_trace_header *header = &trace->header;
    if ((header->lost || header->unmatched) && !input->lossy)
        return tool_error(TOOL_FAILED,
                          "%s: %" PRIu64 " events were lost and %" PRIu64
                          " do not match, so this is not what the program did; --lossy replays it anyway",
                          input->path, header->lost, header->unmatched);
    return replay_plan_make(plan, trace, input->window);
}

void replay_close_input(struct quarry_trace_file *trace, struct replay_plan *plan)
{
    quarry_trace_free(trace);
    replay_plan_free(plan);
}

/* A block of 16 bytes takes 64 with rw-malloc and up to 112 with the toolkit's malloc. */
#define LEAST_BLOCK 128u
#define LEAST_HEAP (UINT64_C(16) << 20)

void replay_choose_heap(const struct quarry_trace_header *header, const struct replay_plan *plan,
                        struct quarry_heap_options *options)
{
    const uint64_t alignment = options->alignment ? options->alignment : QUARRY_MIN_PAGE_BYTES;
    uint64_t block = plan->most > options->page_bytes ? plan->most : options->page_bytes, bytes;
    if (options->pool_bytes)
        return;
    block = quarry_round_up(block > LEAST_BLOCK ? block : LEAST_BLOCK, alignment);
    if (__builtin_mul_overflow(REPLAY_ROOM * plan->most_live, block, &bytes))
        bytes = UINT64_MAX;
    bytes = bytes > LEAST_HEAP ? bytes : LEAST_HEAP;
    options->pool_bytes = bytes < header->pool_bytes ? bytes : header->pool_bytes;
}

void replay_print_trace(const struct replay_input *input, const struct quarry_trace_file *trace,
                        const struct replay_plan *plan)
{
    const struct quarry_trace_header *header = &trace->header;
    char bytes[32];
    printf("trace         %s: allocator %s on %s (%s), heap of %s\n", input->path, header->allocator,
           header->backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu", header->device,
           tool_format_bytes(header->pool_bytes, bytes));
    printf("events        %" PRIu64 ": %" PRIu64 " mallocs, %" PRIu64 " frees; %" PRIu64
           " mallocs failed and are left out\n",
           header->events, header->blocks, header->events - header->blocks - header->failed, header->failed);
    if (header->lost || header->unmatched)
        printf("incomplete    %" PRIu64 " events lost, %" PRIu64 " unmatched\n", header->lost,
               header->unmatched);
    printf("batches       %" PRIu64 " of %" PRIu64 " launches\n", plan->batch_count, header->launches);
    printf("peak          %s in %" PRIu64 " blocks\n", tool_format_bytes(plan->peak_bytes, bytes),
           plan->peak_blocks);
}

const char *replay_fault(enum quarry_status status, const struct replay_result *result, char *text,
                         size_t bytes)
{
    const char *detail = quarry_error_detail();
    if (status != QUARRY_OK)
        snprintf(text, bytes, "%s", *detail ? detail : quarry_status_string(status));
    else if (result->tally.misaligned || result->tally.broken)
        snprintf(text, bytes, "%" PRIu64 " blocks are misaligned and %" PRIu64 " were overwritten",
                 result->tally.misaligned, result->tally.broken);
    else if (result->left)
        snprintf(text, bytes, "%" PRIu64 " blocks live when all are freed", result->left);
    else
        return NULL;
    return text;
}

/* ---- options ---- */

enum { KEY_LOSSY = 256, KEY_WINDOW, KEY_RUNS, KEY_CHECK };

static error_t parse_input(int key, char *text, struct argp_state *state)
{
    struct replay_input *input = (struct replay_input *)state->input;
    switch (key) {
    case KEY_LOSSY:
        input->lossy = 1;
        return 0;
    case KEY_WINDOW:
        return tool_parse_range(&input->window, "window", text, 1, UINT32_MAX);
    case KEY_RUNS:
        return tool_parse_range(&input->runs, "runs", text, 1, REPLAY_MAX_RUNS);
    case ARGP_KEY_ARG:
        if (input->path)
            return tool_refuse("two traces given, '%s' and '%s'; give one", input->path, text);
        input->path = text;
        return 0;
    case ARGP_KEY_END:
        return input->path ? 0 : tool_refuse("no trace given");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option input_list[] = {
    {"runs", KEY_RUNS, "N", 0, "Times are medians of N runs (default: 5)", 0},
    {"window", KEY_WINDOW, "N", 0, "Run at most N events at the same time (default: those of a launch)", 0},
    {"lossy", KEY_LOSSY, NULL, 0, "Take a trace that lacks events", 0},
    {NULL, 0, NULL, 0, NULL, 0}};
const struct argp replay_input_argp = {input_list, parse_input, NULL, NULL, NULL, NULL, NULL};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct command *command = (struct command *)state->input;
    (void)text;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->input;
        state->child_inputs[1] = &command->heap;
        state->child_inputs[2] = &command->policies;
        return 0;
    case KEY_CHECK:
        command->check = 1;
        return 0;
    case ARGP_KEY_ERROR:
        return tool_option_error(state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"check", KEY_CHECK, NULL, 0, "Fill each block in a first run, and look at it before it is freed", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char documentation[] =
    "Runs the mallocs and frees of a trace again: their time, and what they take of a heap.\v"
    "What is not given is that of the recording: allocator and, with its allocator, page.  The heap has "
    "room for four times what can live at one time, but is no larger than the recording's.  "
    "docs/guide/traces.md "
    "says what a replay keeps of the program.\n\n"
    "Exit codes: 0 done, 1 bad data or lack of resources, 2 bad usage.";

static const struct argp_child children[] = {{&replay_input_argp, 0, NULL, 0},
                                             {&options_heap, 0, NULL, 0},
                                             {&options_policies, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
static const struct argp argument_parser = {option_list, parse, "TRACE", documentation, children, NULL, NULL};

/* ---- the command ---- */

/* Allocator and page are the recording's unless given.  Pages of another allocator have its default size, or,
 * if each is a block, that of the largest. */
static void fill_options(const struct command *command, const struct quarry_trace_header *header,
                         const struct replay_plan *plan, struct quarry_heap_options *options)
{
    const char *name = command->heap.allocator ? command->heap.allocator : header->allocator;
    struct quarry_allocator_info info;
    options->allocator = name;
    options->pool_bytes = command->heap.heap_bytes;
    options->page_bytes = command->heap.page_bytes;
    options_use_policies(&command->policies, options);
    for (int i = 0; options->page_bytes == 0 && quarry_allocator_describe(i, &info) == QUARRY_OK; i++) {
        if (strcmp(info.name, name) != 0)
            continue;
        if (strcmp(name, header->allocator) == 0)
            options->page_bytes = header->page_bytes;
        else if (info.whole_pages)
            options->page_bytes = quarry_round_up(plan->most, QUARRY_MIN_PAGE_BYTES);
        break;
    }
    replay_choose_heap(header, plan, options);
}

static void print_result(const struct replay_plan *plan, const struct replay_result *result,
                         const struct statistics *floor, int check)
{
    const struct quarry_heap_description *heap = &result->heap;
    char bytes[32], asked[32];
    printf("heap          %s, allocator %s, %" PRIu64 " pages of %" PRIu64 " bytes\n",
           tool_format_bytes(heap->pool_bytes, bytes), heap->allocator, heap->pages, heap->page_bytes);
    printf("failures      %" PRIu64 " for want of space, %" PRIu64 " refused\n", result->failed,
           result->refused);
    if (result->occupied)
        printf("occupied      %s by blocks of %s, at the end of the fullest batch\n",
               tool_format_bytes(result->occupied, bytes), tool_format_bytes(plan->fullest_bytes, asked));
    printf("utilisation   %.1f %%, the peak's share of the heap\n",
           100 * (double)plan->peak_bytes / (double)heap->pool_bytes);
    if (check)
        puts("checked       every block: none misaligned or overwritten");
    printf("time          %.3f ms (quartiles %.3f and %.3f, n %u)\n", result->time.median / 1e3,
           result->time.q1 / 1e3, result->time.q3 / 1e3, result->time.n);
    printf("floor         %.3f ms, the same without malloc and free\n", floor->median / 1e3);
}

static int replay(const struct command *command, const struct quarry_target *target,
                  const struct quarry_trace_file *trace, const struct replay_plan *plan)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct replay_result result;
    struct statistics floor;
    struct replay replay;
    char text[512];
    const unsigned runs = (unsigned)command->input.runs;
    fill_options(command, &trace->header, plan, &options);
    enum quarry_status status = replay_open(&replay, target, plan, "replaying");
    if (status != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    replay.to = 1;
    status = replay_measure(&replay, &options, runs, command->check, &result);
    const char *fault = replay_fault(status, &result, text, sizeof text);
    replay.from = 1;
    if (!fault) {
        status = replay_measure_floor(&replay, runs, &floor);
        fault = replay_fault(status, &result, text, sizeof text);
    }
    tool_progress_end();
    replay_close(&replay);
    if (fault)
        return tool_error(status == QUARRY_ERROR_COMBINATION || status == QUARRY_ERROR_ARGUMENT ||
                                  status == QUARRY_ERROR_ALLOCATOR
                              ? TOOL_USAGE
                              : TOOL_FAILED,
                          "%s", fault);
    replay_print_trace(&command->input, trace, plan);
    print_result(plan, &result, &floor, command->check);
    return tool_flush();
}

int tool_replay(int argc, char **argv)
{
    struct command command;
    struct quarry_target target;
    struct quarry_trace_file trace;
    struct replay_plan plan;
    memset(&command, 0, sizeof command);
    command.input.runs = REPLAY_RUNS;
    int code = tool_options(&argument_parser, argc, argv, &command);
    if (code != TOOL_OK)
        return code;
    code = replay_open_input(&command.input, &trace, &plan);
    if (code == 0 && tool_target(command.heap.backend, &target))
        code = TOOL_FAILED;
    if (code == 0)
        code = replay(&command, &target, &trace, &plan);
    replay_close_input(&trace, &plan);
    return code;
}
