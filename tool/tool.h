/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands of `quarry` share.  Exit codes: 0 done, 1 data or resources, 2 usage. */
#ifndef QUARRY_TOOL_H
#define QUARRY_TOOL_H

#include "quarry/quarry.h"

#include <errno.h>

enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

struct argp;

/* Subcommands, in the order of the help. */
struct tool_command {
    const char *name;
    int (*run)(int argc,
               char **argv); /* argv[0] is what a user calls, "quarry list"; returns the exit code */
    const struct argp *argp; /* its options */
    const char *summary;
};
extern const struct tool_command tool_commands[];
extern const unsigned tool_command_count;

int tool_groupby(int argc, char **argv);
int tool_join(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_report(int argc, char **argv);
int tool_model(int argc, char **argv);
int tool_replay(int argc, char **argv);
int tool_tune(int argc, char **argv);
int tool_list(int argc, char **argv);
int tool_info(int argc, char **argv);
extern const struct argp tool_groupby_argp, tool_join_argp, tool_bench_argp, tool_report_argp,
    tool_model_argp, tool_replay_argp, tool_tune_argp, tool_list_argp, tool_info_argp;

/* Prints the tables for completion.sh.  Returns an exit code. */
int tool_print_completion(void);

/* "4096", "64K", "1.5G" (K, M, G, T: powers of 1024, an optional trailing "iB" or "B") to bytes.
 * Returns 0, or -1 if text is no such size or is 2^63 and more, which JSON has no number for. */
int tool_parse_bytes(const char *text, uint64_t *bytes);

/* Bytes as a person writes them ("1.5 GiB"), into text[at least 32]; returns text. */
char *tool_format_bytes(uint64_t bytes, char *text);

/* Spreads a number over 64 bits: numbers from 0 on give a sequence that looks random (SplitMix64). */
uint64_t tool_mix(uint64_t number);

/* Uniform between 0 and 1, both excluded: the next of a sequence, which begins with any number. */
double tool_draw(uint64_t *sequence);

/* Resolves the backend for a command; where AUTO finds a CUDA toolkit's library but no usable GPU, says so
 * once on stderr.  Returns 0, or prints one sentence and returns TOOL_FAILED. */
int tool_target(enum quarry_backend backend, struct quarry_target *target);

/* Prints "quarry: <sentence>\n" to stderr and returns `code`. */
int tool_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit code if a heap can't be made: TOOL_USAGE if that is the fault of its options, else TOOL_FAILED. */
int tool_heap_code(enum quarry_status status);

/* Writes what standard output holds back.  Returns TOOL_OK, or prints one sentence and returns TOOL_FAILED.
 */
int tool_flush(void);

/* What can't happen has.  Prints the sentence about it and returns TOOL_FAILED; nothing may be written then.
 */
int tool_internal_error(const char *what);

/* Options.  tool_options parses a command line with argp, and whatever is wrong with it is one sentence:
 *   argp  a command's.  Without args_doc it takes no arguments.
 *   argv  as a subcommand has it
 * Returns TOOL_OK, or TOOL_USAGE with the sentence printed; --help and --usage print and exit.
 * The parser of argp calls tool_refuse for a value that it does not take; that prints the sentence and returns
 * TOOL_REFUSED, which the parser returns. */
enum { TOOL_REFUSED = ECANCELED };
int tool_options(const struct argp *argp, int argc, char **argv, void *input);
int tool_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Gives the signals that ask for the end to a handler, but for those that the caller ignores, such as SIGHUP
 * under nohup.  A handler may call it. */
void tool_handle_signals(void (*handler)(int));

/* What a command that prints times of the CPU backend says of them. */
#define TOOL_CPU_TIMES "by the host's clock; they say how an algorithm behaves, not how fast a GPU is"

/* A line of --stats. */
void tool_print_time(const char *what, double microseconds);

/* Columns of the terminal behind a descriptor; of what is none, or does not say, INT_MAX. */
int tool_terminal_columns(int descriptor);

/* A progress bar with the time left, on stderr: shown only if stderr is a terminal and the work takes over
 * half a second.  share is 0..1; tool_progress_end clears the line.  Tests set QUARRY_PROGRESS_US: with 1, every
 * call draws. */
void tool_progress(const char *what, double share);
void tool_progress_end(void);

#endif
