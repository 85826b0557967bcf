/* SPDX-License-Identifier: Apache-2.0 */
/* What `quarry replay` and `quarry tune` share; the contracts are in replay_command.h. */
#include "trace/replay_command.h"

#include "lists.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_RUNS 5u /* unless --runs is given */
#define ROOM 4u         /* a heap that is a quarter full: a random walk takes 4/3 probes there */

/* ---- options ---- */

enum { KEY_LOSSY = 256, KEY_WINDOW, KEY_RUNS };

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
        if (input->path && !*input->path)
            return tool_refuse("'' is no trace");
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

/* ---- the trace ---- */

static int read_trace(struct replay_session *session)
{
    const struct replay_input *input = &session->input;
    const struct quarry_trace_header *header = &session->trace.header;
    if (quarry_trace_read(&session->trace, input->path) != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    if ((header->lost || header->unmatched) && !input->lossy)
        return tool_error(TOOL_FAILED,
                          "%s: %" PRIu64 " events were lost and %" PRIu64
                          " do not match, so this is not what the program did; --lossy replays it anyway",
                          input->path, header->lost, header->unmatched);
    return replay_plan_make(&session->plan, &session->trace, input->window);
}

int replay_start(struct replay_session *session, const struct argp *argp, int argc, char **argv,
                 void *command, const char *doing)
{
    struct quarry_target target;
    session->input.runs = DEFAULT_RUNS;
    int code = tool_options(argp, argc, argv, command);
    if (code == TOOL_OK)
        code = read_trace(session);
    if (code == TOOL_OK)
        code = tool_target(session->heap.backend, &target);
    if (code == TOOL_OK && replay_open(&session->replay, &target, &session->plan, doing) != QUARRY_OK)
        code = tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    return code;
}

void replay_finish(struct replay_session *session)
{
    replay_close(&session->replay);
    quarry_trace_free(&session->trace);
    replay_plan_free(&session->plan);
}

/* A block of 16 bytes takes 64 with rw-malloc and up to 112 with the toolkit's malloc. */
#define LEAST_BLOCK 128u
#define LEAST_HEAP (UINT64_C(16) << 20)

void replay_choose_heap(const struct replay_session *session, struct quarry_heap_options *options)
{
    const struct quarry_trace_header *header = &session->trace.header;
    const struct replay_plan *plan = &session->plan;
    const uint64_t alignment = options->alignment ? options->alignment : QUARRY_MIN_PAGE_BYTES;
    uint64_t block = plan->most > options->page_bytes ? plan->most : options->page_bytes, bytes;
    if (options->pool_bytes)
        return;
    block = quarry_round_up(block > LEAST_BLOCK ? block : LEAST_BLOCK, alignment);
    if (__builtin_mul_overflow(ROOM * plan->most_live, block, &bytes))
        bytes = UINT64_MAX;
    bytes = bytes > LEAST_HEAP ? bytes : LEAST_HEAP;
    options->pool_bytes = bytes < header->pool_bytes ? bytes : header->pool_bytes;
}

void replay_print_trace(const struct replay_session *session)
{
    const struct quarry_trace_header *header = &session->trace.header;
    const struct replay_plan *plan = &session->plan;
    char bytes[32];
    printf("trace         %s: allocator %s on %s (%s), heap of %s\n", session->input.path, header->allocator,
           header->backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu", header->device,
           tool_format_bytes(header->pool_bytes, bytes));
    if (*header->options)
        printf("its options   %s\n", header->options);
    printf("events        %" PRIu64 ": %" PRIu64 " mallocs, %" PRIu64 " frees; %" PRIu64
           " mallocs failed and are left out\n",
           header->events, header->blocks, header->events - header->blocks - header->failed, header->failed);
    if (header->lost || header->unmatched)
        printf("incomplete    %" PRIu64 " events lost, %" PRIu64 " unmatched\n", header->lost,
               header->unmatched);
    printf("batches       %" PRIu64 " of %" PRIu64 " launches\n", plan->batch_count, header->launches);
    printf("peak          %s in %" PRIu64 " blocks\n", tool_format_bytes(plan->peak_bytes, bytes),
           plan->peak_blocks);
    if (session->replay.target.backend == QUARRY_BACKEND_CPU)
        puts("times         " TOOL_CPU_TIMES);
}

const char *replay_fault(enum quarry_status status, const struct replay_plan *plan,
                         const struct replay_result *result, char *text, size_t bytes)
{
    const char *detail = quarry_error_detail();
    if (status != QUARRY_OK)
        snprintf(text, bytes, "%s", *detail ? detail : quarry_status_string(status));
    else if (result->tally.misaligned || result->tally.broken)
        snprintf(text, bytes, "%" PRIu64 " blocks are misaligned and %" PRIu64 " were overwritten",
                 result->tally.misaligned, result->tally.broken);
    else if (result->failed || result->refused)
        snprintf(text, bytes,
                 "%" PRIu64 " of %" PRIu64 " mallocs failed, %" PRIu64 " of them as larger than any block",
                 result->failed + result->refused, plan->blocks, result->refused);
    else if (result->left)
        snprintf(text, bytes, "%" PRIu64 " blocks live when all are freed", result->left);
    else
        return NULL;
    return text;
}
