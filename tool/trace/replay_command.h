/* SPDX-License-Identifier: Apache-2.0 */
/* What `quarry replay` and `quarry tune` share: the trace that they read, and heaps for it. */
#ifndef QUARRY_TOOL_REPLAY_COMMAND_H
#define QUARRY_TOOL_REPLAY_COMMAND_H

#include "options.h"
#include "trace/replay_engine.h"

struct replay_input {
    const char *path; /* NULL: none was given */
    int lossy;
    uint64_t window;
    uint64_t runs; /* times are medians of so many */
};

/* The options and the argument that fill a struct replay_input. */
extern const struct argp replay_input_argp;

struct replay_session {
    struct replay_input input;
    struct method_options heap; /* the part that is about one */
    struct quarry_trace_file trace;
    struct replay_plan plan;
    struct replay replay;
};

/* Reads the command line and the trace, makes its plan, and opens the replay.
 *   session  all zero before
 *   command  what argp's parser fills; session->input and session->heap are parts of it
 *   doing    as in struct replay
 * Returns TOOL_OK, or another exit code with one sentence printed.  Either way replay_finish may follow. */
int replay_start(struct replay_session *session, const struct argp *argp, int argc, char **argv,
                 void *command, const char *doing);
void replay_finish(struct replay_session *session);

/* Completes options whose pool_bytes is 0: room for four times the blocks that can live at one time, each as
 * large as the largest, and 16 MiB at least; but no more than the recording had. */
void replay_choose_heap(const struct replay_session *session, struct quarry_heap_options *options);

/* Prints what the trace is. */
void replay_print_trace(const struct replay_session *session);

/* What the library says about a failure, or what was wrong with a run of the plan, mallocs that failed among it;
 * NULL: nothing. */
const char *replay_fault(enum quarry_status status, const struct replay_plan *plan,
                         const struct replay_result *result, char *text, size_t bytes);

#endif
