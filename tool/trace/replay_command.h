/* SPDX-License-Identifier: Apache-2.0 */
/* What `quarry replay` and `quarry tune` share: the trace that they read, and heaps for it. */
#ifndef QUARRY_TOOL_REPLAY_COMMAND_H
#define QUARRY_TOOL_REPLAY_COMMAND_H

#include "options.h"
#include "trace/replay_engine.h"

#define REPLAY_RUNS 5u /* unless --runs is given */
#define REPLAY_ROOM 4u /* a heap that is a quarter full: a random walk takes 4/3 probes there */

struct replay_input {
    const char *path; /* NULL: none was given */
    int lossy;
    uint64_t window;
    uint64_t runs; /* of which times are medians */
};

/* The options and the argument that fill a struct replay_input. */
extern const struct argp replay_input_argp;

/* Reads the trace and makes its plan.  Returns 0, or prints one sentence and returns TOOL_FAILED.  Either way
 * replay_close_input may follow. */
int replay_open_input(const struct replay_input *input, struct quarry_trace_file *trace,
                      struct replay_plan *plan);
void replay_close_input(struct quarry_trace_file *trace, struct replay_plan *plan);

/* Completes options whose pool_bytes is 0: room for REPLAY_ROOM times the blocks that can live at one time,
 * each as large as the largest, and 16 MiB at least; but no more than the recording had. */
void replay_choose_heap(const struct quarry_trace_header *header, const struct replay_plan *plan,
                        struct quarry_heap_options *options);

/* Prints what the trace is. */
void replay_print_trace(const struct replay_input *input, const struct quarry_trace_file *trace,
                        const struct replay_plan *plan);

/* What the library says about a failure, or what was wrong with a run; NULL: nothing. */
const char *replay_fault(enum quarry_status status, const struct replay_result *result, char *text,
                         size_t bytes);

#endif
