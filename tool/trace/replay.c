/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry replay`: runs a trace on a heap. */
#include "tool.h"
#include "trace/replay_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct command {
    struct replay_session session;
    struct policy_options policies;
    int check;
};

/* ---- options ---- */

enum { KEY_CHECK = 512 }; /* apart from those of replay_input_argp */

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct command *command = (struct command *)state->input;
    (void)text;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &command->session.input;
        state->child_inputs[1] = &command->session.heap;
        state->child_inputs[2] = &command->policies;
        return 0;
    case KEY_CHECK:
        command->check = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_list[] = {
    {"check", KEY_CHECK, NULL, 0, "Fill each block in a first run, and look at it before it is freed", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char documentation[] =
    "Runs the mallocs and frees of a trace again: their time, and what they take of a heap.  TRACE - is "
    "standard input.\v"
    "What is not given is that of the recording: allocator and, with its allocator, page.  The heap has "
    "room for four times what can live at one time, but is no larger than the recording's.  "
    "docs/guide/traces.md "
    "says what a replay keeps of the program.";

static const struct argp_child children[] = {{&replay_input_argp, 0, NULL, 0},
                                             {&options_heap, 0, NULL, 0},
                                             {&options_policies, 0, NULL, 0},
                                             {NULL, 0, NULL, 0}};
const struct argp tool_replay_argp = {option_list, parse, "TRACE", documentation, children, NULL, NULL};

/* ---- the command ---- */

/* Allocator and page are the recording's unless given.  Pages of another allocator have its default size, or,
 * if each is a block, that of the largest. */
static void fill_options(const struct command *command, struct quarry_heap_options *options)
{
    const struct quarry_trace_header *header = &command->session.trace.header;
    struct quarry_allocator_info info;
    options_use_heap(&command->session.heap, options);
    options_use_policies(&command->policies, options);
    if (!options->allocator)
        options->allocator = header->allocator;
    if (options->page_bytes == 0 && options_find_allocator(options->allocator, &info) >= 0) {
        if (strcmp(info.name, header->allocator) == 0)
            options->page_bytes = header->page_bytes;
        else if (info.whole_pages)
            options->page_bytes = quarry_round_up(command->session.plan.most, QUARRY_MIN_PAGE_BYTES);
    }
    replay_choose_heap(&command->session, options);
}

static void print_result(const struct replay_plan *plan, const struct replay_result *result,
                         const struct statistics *floor, int check)
{
    const struct quarry_heap_description *heap = &result->heap;
    char bytes[32], asked[32];
    printf("heap          %s, allocator %s, %" PRIu64 " pages of %" PRIu64 " bytes\n",
           tool_format_bytes(heap->pool_bytes, bytes), heap->allocator, heap->pages, heap->page_bytes);
    if (heap->option_count) {
        char pairs[QUARRY_OPTIONS_TEXT_BYTES];
        quarry_options_format(heap->options, heap->option_count, pairs, sizeof pairs);
        printf("options       %s\n", pairs);
    }
    if (result->occupied)
        printf("occupied      %s by blocks of %s, at the end of the fullest batch\n",
               tool_format_bytes(result->occupied, bytes), tool_format_bytes(plan->fullest_bytes, asked));
    if (plan->peak_bytes <= heap->pool_bytes)
        printf("utilisation   %.1f %%, the peak's share of the heap\n",
               100 * (double)plan->peak_bytes / (double)heap->pool_bytes);
    else
        puts("utilisation   none: the peak is more than the heap, so here not all of it lived at one time");
    if (check)
        puts("checked       every block: none misaligned or overwritten");
    printf("time          %.3f ms (quartiles %.3f and %.3f, n %u)\n", result->time.median / 1e3,
           result->time.q1 / 1e3, result->time.q3 / 1e3, result->time.n);
    printf("floor         %.3f ms, the same without malloc and free\n", floor->median / 1e3);
}

static int replay(struct command *command)
{
    struct replay_session *session = &command->session;
    struct replay *replay = &session->replay;
    const unsigned runs = (unsigned)session->input.runs;
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct replay_result result;
    struct statistics floor;
    char text[512], bytes[32];
    fill_options(command, &options);
    if (command->session.heap.page_bytes && options_check_page(&options) != TOOL_OK)
        return TOOL_USAGE;
    replay->to = 1;
    enum quarry_status status = replay_measure(replay, &options, runs, command->check, &result);
    const char *fault = replay_fault(status, &session->plan, &result, text, sizeof text);
    replay->from = 1;
    if (!fault) {
        status = replay_measure_floor(replay, runs, &floor);
        fault = replay_fault(status, &session->plan, &result, text, sizeof text);
    }
    tool_progress_end();
    if (fault && (result.failed || result.refused))
        return tool_error(TOOL_FAILED,
                          "%s, in a heap of %s: this is not what the program did; use a larger --%s", fault,
                          tool_format_bytes(result.heap.pool_bytes, bytes), result.refused ? "page" : "heap");
    if (fault)
        return tool_error(tool_heap_code(status), "%s", fault);
    replay_print_trace(session);
    print_result(&session->plan, &result, &floor, command->check);
    return tool_flush();
}

int tool_replay(int argc, char **argv)
{
    struct command command;
    memset(&command, 0, sizeof command);
    int code = replay_start(&command.session, &tool_replay_argp, argc, argv, &command, "replaying");
    if (code == TOOL_OK)
        code = replay(&command);
    replay_finish(&command.session);
    return code;
}
