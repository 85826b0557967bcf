/* SPDX-License-Identifier: Apache-2.0 */
/* The `quarry` command: picks the subcommand. */
#include "options.h"
#include "tool.h"

#include <argp.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_help(int argc, char **argv);

static error_t parse_help(int key, char *text, struct argp_state *state)
{
    char **command = (char **)state->input;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (*command)
        return tool_refuse("two commands given, '%s' and '%s'; give one", *command, text);
    *command = text;
    return 0;
}

static const struct argp help_argp = {
    NULL, parse_help, "[COMMAND]", "Shows the options of a command, or which commands there are.",
    NULL, NULL,       NULL};

const struct tool_command tool_commands[] = {
    {"groupby", tool_groupby, &tool_groupby_argp, "group the rows of a file by a column and count them"},
    {"join", tool_join, &tool_join_argp, "join the rows of two files that have the same key"},
    {"bench", tool_bench, &tool_bench_argp, "measure every allocator: time, fragmentation, utilisation"},
    {"report", tool_report, &tool_report_argp, "draw the results of bench as a page"},
    {"model", tool_model, &tool_model_argp, "show how many steps theory predicts, beside what is measured"},
    {"replay", tool_replay, &tool_replay_argp, "run a trace of mallocs and frees on any allocator"},
    {"tune", tool_tune, &tool_tune_argp, "rank allocators and options by a trace"},
    {"info", tool_info, &tool_info_argp, "show in words what a heap is composed of"},
    {"list", tool_list, &tool_list_argp, "show allocators, backends and devices"},
    {"help", run_help, &help_argp, "show the options of a command"},
};
const unsigned tool_command_count = sizeof tool_commands / sizeof *tool_commands;

static void print_help(void)
{
    puts("Usage: quarry [--seed=N [--weak]] COMMAND [OPTION...]\n"
         "  or:  quarry help [COMMAND]\n"
         "  or:  quarry --version\n"
         "\n"
         "malloc and free for massively parallel programs, on GPUs and on the CPU.\n"
         "\n"
         "Commands:");
    for (unsigned i = 0; i < tool_command_count; i++)
        printf("  %-9s %s\n", tool_commands[i].name, tool_commands[i].summary);
    puts("\n"
         "Options before the command, for the CPU:\n"
         "      --seed=N    run each launch by this seed, so that it can be repeated\n"
         "      --weak      with a seed: look for races and missing orders, in mode weak\n"
         "\n"
         "`quarry help COMMAND` shows its options.  Exit codes: 0 done, 1 failed, 2 usage.");
}

static void print_version(void)
{
    struct quarry_target cuda = {.backend = QUARRY_BACKEND_CUDA};
    printf("quarry %s (backends: %scpu)\n", quarry_version(),
           quarry_target_resolve(&cuda) == QUARRY_ERROR_BACKEND ? "" : "cuda, ");
}

/* Runs the command argv[0], whose first argument is argv[1]. */
static int run(int argc, char **argv)
{
    static char name[32];
    for (unsigned i = 0; i < tool_command_count; i++) {
        if (strcmp(argv[0], tool_commands[i].name) != 0)
            continue;
        snprintf(name, sizeof name, "quarry %s", argv[0]);
        argv[0] = name;
        return tool_commands[i].run(argc, argv);
    }
    return tool_error(TOOL_USAGE, "unknown command '%s'; `quarry --help` lists the commands", argv[0]);
}

static int run_help(int argc, char **argv)
{
    static char option[] = "--help";
    char *command = NULL;
    const int code = tool_options(&help_argp, argc, argv, &command);
    if (code != TOOL_OK)
        return code;
    if (command)
        return run(2, (char *[]){command, option, NULL});
    print_help();
    return tool_flush();
}

/* For every launch: the library takes both from the environment. */
static int use_environment(const char *seed, int weak)
{
    uint64_t number;
    if (seed && (tool_parse_number(seed, &number) != 0 || number == 0))
        return tool_error(TOOL_USAGE, "--seed '%s': give a number from 1 to 2^64 - 1", seed);
    if ((seed && setenv("QUARRY_SEED", seed, 1) != 0) || (weak && setenv("QUARRY_WEAK", "1", 1) != 0))
        return tool_error(TOOL_FAILED, "the environment: %s", strerror(errno));
    if (weak && !getenv("QUARRY_SEED"))
        return tool_error(TOOL_USAGE, "--weak does nothing without a seed; give --seed, too");
    return TOOL_OK;
}

int main(int argc, char **argv)
{
    enum { KEY_SEED = 256, KEY_WEAK, KEY_COMPLETION };
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {"seed", required_argument, NULL, KEY_SEED},
                                            {"weak", no_argument, NULL, KEY_WEAK},
                                            {"completion", no_argument, NULL, KEY_COMPLETION},
                                            {NULL, 0, NULL, 0}};
    static char help[] = "help";
    const char *seed = NULL;
    int key, weak = 0, word = 1;
    opterr = 0;
    /* Those before the command. */
    for (; (key = getopt_long(argc, argv, "+:hV", options, NULL)) != -1; word = optind) {
        switch (key) {
        case 'h':
            argv[word] = help;
            return run(argc - word, argv + word);
        case 'V':
            if (argc > word + 1)
                return tool_error(TOOL_USAGE, "%s takes no arguments", argv[word]);
            print_version();
            return tool_flush();
        case KEY_COMPLETION:
            return tool_print_completion();
        case KEY_SEED:
            seed = optarg;
            break;
        case KEY_WEAK:
            weak = 1;
            break;
        case ':':
            return tool_error(TOOL_USAGE, "%s: give a number", argv[word]);
        default:
            return tool_error(TOOL_USAGE, "unknown option '%s'; `quarry --help` lists the commands",
                              argv[word]);
        }
    }
    const int code = use_environment(seed, weak);
    if (code != TOOL_OK)
        return code;
    if (optind == argc)
        return tool_error(TOOL_USAGE, "no command given; `quarry --help` lists them");
    return run(argc - optind, argv + optind);
}
