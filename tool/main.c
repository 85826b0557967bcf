/* SPDX-License-Identifier: Apache-2.0 */
/* The `quarry` command: picks the subcommand. */
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"groupby", tool_groupby, "group the rows of a file by a column and count them"},
    {"join", tool_join, "join the rows of two files that have the same key"},
    {"bench", tool_bench, "measure every allocator: time, fragmentation, utilisation"},
    {"report", tool_report, "draw the results of bench as a page"},
    {"model", tool_model, "show how many steps theory predicts, beside what is measured"},
    {"replay", tool_replay, "run a trace of mallocs and frees on any allocator"},
    {"tune", tool_tune, "rank allocators and options by a trace"},
    {"info", tool_info, "show in words what a heap is composed of"},
    {"list", tool_list, "show allocators, backends and devices"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("Usage: quarry COMMAND [OPTION...]\n"
         "       quarry --help | --version\n"
         "\n"
         "malloc and free for massively parallel programs, on GPUs and on the CPU.\n"
         "\n"
         "Commands:");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    puts("\n"
         "`quarry COMMAND --help` shows a command's options.  Exit codes: 0 done, 1 failed, 2 usage.");
}

static void print_version(void)
{
    struct quarry_target cuda = {.backend = QUARRY_BACKEND_CUDA};
    printf("quarry %s (backends: %scpu)\n", quarry_version(),
           quarry_target_resolve(&cuda) == QUARRY_ERROR_BACKEND ? "" : "cuda, ");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return tool_error(TOOL_USAGE, "no command given; `quarry --help` lists them");
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "--version") == 0 ||
        strcmp(word, "-V") == 0) {
        if (argc > 2)
            return tool_error(TOOL_USAGE, "%s takes no arguments", word);
        if (word[1] == 'h' || word[2] == 'h')
            print_help();
        else
            print_version();
        return tool_flush();
    }
    for (int i = 0; i < COMMANDS; i++) {
        static char name[32];
        if (strcmp(word, commands[i].name) != 0)
            continue;
        snprintf(name, sizeof name, "quarry %s", word);
        argv[1] = name;
        return commands[i].run(argc - 1, argv + 1);
    }
    return tool_error(TOOL_USAGE, "unknown %s '%s'; `quarry --help` lists the commands",
                      word[0] == '-' ? "option" : "command", word);
}
