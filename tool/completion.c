/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry --completion`: the tables of completion.sh, made of those of the options.  The build runs it; users need
 * not know it. */
#include "options.h"
#include "tests.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

/* What to do with an option of a command. */
typedef void visit_option(const struct argp_option *option, const char *command);

static void each_option(const struct argp *argp, visit_option *visit, const char *command)
{
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
        if (o->name)
            visit(o, command);
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        each_option(child->argp, visit, command);
}

static void print_name(const struct argp_option *option, const char *command)
{
    (void)command;
    if (!option->arg || (option->flags & OPTION_ARG_OPTIONAL))
        printf(" --%s", option->name);
    if (option->arg)
        printf(" --%s=", option->name);
}

static void print_allocators(void)
{
    struct quarry_allocator_info info;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        printf(" %s", info.name);
}

/* Options of allocators; one that several have is there several times. */
static void print_set(void)
{
    struct quarry_allocator_info info;
    struct quarry_option_info option;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        for (uint32_t k = 0; k < info.options; k++)
            if (quarry_allocator_option(i, k, &option) == QUARRY_OK)
                printf(" %s=", option.name);
}

static void print_tests(void)
{
    for (unsigned i = 0; i < bench_test_count; i++)
        printf(" %s", bench_tests[i].name);
}

/* The values that an option may have, if they are words; of a list behind a comma. */
static void print_values(const struct argp_option *option, const char *command)
{
    static const struct {
        const char *option;
        void (*print)(void);
    } others[] = {{"allocator", print_allocators}, {"set", print_set}, {"test", print_tests}};
    const char *const *words = options_words(option->name);
    void (*print)(void) = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].option, option->name) == 0)
            print = others[i].print;
    if (!words && !print)
        return;
    printf("_quarry_values['%s --%s']='%s", command, option->name, strchr(option->arg, ',') ? "," : "");
    for (; words && *words; words++)
        printf(" %s", *words);
    if (print)
        print();
    puts("'");
    if (option->key < 256)
        printf("_quarry_values['%s -%c']=${_quarry_values['%s --%s']}\n", command, option->key, command,
               option->name);
}

int tool_print_completion(void)
{
    puts("# shellcheck shell=bash disable=SC2034 # used below\n"
         "declare -gA _quarry_options=() _quarry_values=()");
    for (unsigned i = 0; i < tool_command_count; i++) {
        const struct tool_command *command = &tool_commands[i];
        printf("_quarry_options[%s]='--help --usage", command->name);
        each_option(command->argp, print_name, command->name);
        puts("'");
        each_option(command->argp, print_values, command->name);
    }
    return tool_flush();
}
