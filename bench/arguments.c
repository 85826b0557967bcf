/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int arguments_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return code;
}

uint32_t arguments_number(const char *text, uint32_t least, uint32_t most)
{
    uint64_t number = 0;
    if (!*text || strlen(text) > 10 || text[strspn(text, "0123456789")] != '\0')
        return 0;
    number = strtoull(text, NULL, 10);
    return number >= least && number <= most ? (uint32_t)number : 0;
}

uint32_t arguments_list(const char *text, uint32_t most, uint32_t *list)
{
    char number[16];
    uint32_t count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (length >= sizeof number || count == ARGUMENTS_MAX_LIST)
            return 0;
        memcpy(number, text, length);
        number[length] = '\0';
        list[count] = arguments_number(number, 1, most);
        if (!list[count++])
            return 0;
        if (!text[length])
            return count;
        text += length + 1;
    }
}

unsigned arguments_names(const char *text, const char *const *names, uint32_t count)
{
    unsigned chosen = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint32_t i = 0;
        while (i < count && (strlen(names[i]) != length || strncmp(names[i], text, length) != 0))
            i++;
        if (i == count)
            return 0;
        chosen |= 1u << i;
        if (!text[length])
            return chosen;
        text += length + 1;
    }
}

int arguments_backend(const char *text, enum quarry_backend *backend)
{
    static const char *const names[] = {"auto", "cuda", "cpu"}; /* by the library's numbers */
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *backend = (enum quarry_backend)i;
            return ARGUMENTS_OK;
        }
    return arguments_fail(ARGUMENTS_USAGE, "--backend '%s': give auto, cuda or cpu", text);
}

int arguments_parse(int argc, char **argv, const struct option *list, const char *help,
                    int (*option)(int key, const char *text, void *options), void *options)
{
    const char *name = program_invocation_short_name;
    opterr = 0;
    for (int key; (key = getopt_long(argc, argv, "h", list, NULL)) != -1;) {
        if (key == '?')
            return arguments_fail(ARGUMENTS_USAGE,
                                  "'%s': no such option, or its value is missing; %s --help shows all",
                                  argv[optind - 1], name);
        if (key == ARGUMENTS_HELP) {
            fputs(help, stdout);
            return fflush(stdout) ? ARGUMENTS_FAILED : ARGUMENTS_OK;
        }
        int code = option(key, optarg, options);
        if (code != ARGUMENTS_OK)
            return code;
    }
    if (optind < argc)
        return arguments_fail(ARGUMENTS_USAGE,
                              "'%s': there are no arguments, only options; %s --help shows them",
                              argv[optind], name);
    return -1;
}
