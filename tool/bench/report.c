/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry report`: runs report.py. */
#include "bench/report.h"

#include "tests.h"
#include "tool.h"

#include <argp.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern const unsigned char report_script[]; /* made of report.py by CMakeLists.txt */

/* Python's -c looks for modules in the current folder, too. */
static const char run_script[] = "import sys; sys.path = [p for p in sys.path if p]; exec(sys.argv.pop(1))";
static const char find_matplotlib[] =
    "import sys, importlib.util as u; sys.exit(not u.find_spec('matplotlib'))";

/* Returns the exit code; 127 if there is no such program, or it was ended. */
static int run(const char *python, const char *const *arguments, int quiet)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return 127;
    int error =
        quiet ? posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) : 0;
    if (error == 0)
        error = posix_spawnp(&pid, python, &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return 127;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return 127;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/* NULL with the sentence printed if there is none. */
static const char *find_python(void)
{
    static const char *const known[] = {"python3", "/usr/bin/python3"};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        const char *const arguments[] = {known[i], "-c", find_matplotlib, NULL};
        if (run(known[i], arguments, 1) == 0)
            return known[i];
    }
    tool_error(TOOL_FAILED, "a report is drawn by Python 3 with matplotlib, and there is none: install "
                            "python3-matplotlib");
    return NULL;
}

/* Runs the script with what it is to say of each test, and the names of the allocators. */
static int run_report(const char *option, const char *folder, const char *const *files, unsigned count)
{
    enum { BEFORE = 5, AFTER = 3 };
    const char *python = find_python();
    if (!python)
        return TOOL_FAILED;
    const unsigned allocators = (unsigned)quarry_allocator_count();
    const char **arguments =
        calloc(BEFORE + 4 * bench_test_count + 2 * allocators + AFTER + count, sizeof *arguments);
    if (!arguments)
        return tool_error(TOOL_FAILED, "no memory for the names of %u files", count);
    unsigned n = 0;
    arguments[n++] = python;
    arguments[n++] = "-c";
    arguments[n++] = run_script;
    arguments[n++] = (const char *)report_script;
    if (option)
        arguments[n++] = option;
    for (unsigned i = 0; i < bench_test_count; i++) {
        arguments[n++] = "--test";
        arguments[n++] = bench_tests[i].name;
        arguments[n++] = bench_measures[bench_tests[i].kind].name;
        arguments[n++] = bench_tests[i].what;
    }
    for (unsigned i = 0; i < allocators; i++) {
        struct quarry_allocator_info info;
        if (quarry_allocator_describe((int)i, &info) != QUARRY_OK)
            continue;
        arguments[n++] = "--allocator";
        arguments[n++] = info.name;
    }
    arguments[n++] = "--";
    arguments[n++] = folder;
    for (unsigned i = 0; i < count; i++)
        arguments[n++] = files[i];
    const int ended = run(python, arguments, 0);
    free(arguments);
    if (ended == 127)
        return tool_error(TOOL_FAILED, "%s can't be run, or was ended", python);
    return ended == 0 ? TOOL_OK : TOOL_FAILED;
}

int report_check(const char *folder)
{
    return run_report("--check", folder, NULL, 0);
}

int report_write(const char *folder, const char *const *files, unsigned count)
{
    return run_report(NULL, folder, files, count);
}

/* ---- command line ---- */

struct report {
    const char *folder;
    const char **files;
    unsigned count;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct report *report = state->input;
    switch (key) {
    case 'o':
        if (!*text)
            return tool_refuse("--output '': name a folder");
        report->folder = text;
        return 0;
    case ARGP_KEY_ARG:
        report->files[report->count++] = text;
        return 0;
    case ARGP_KEY_END:
        if (!report->folder)
            return tool_refuse("report: name a folder with --output");
        return report->count ? 0 : tool_refuse("report: name a CSV file of `quarry bench`");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "Write DIR/index.html, in one piece or not at all", 0},
    {NULL, 0, NULL, 0, NULL, 0}};
const struct argp tool_report_argp = {
    options,
    parse,
    "FILE.csv...",
    "Draws results of `quarry bench --csv=FILE` as one HTML page, which needs no network: times over threads "
    "and sizes, utilisation, and the ratio of each allocator to the best.  Needs Python 3 with matplotlib.  "
    "Several files: of the same device, and no result twice.",
    NULL,
    NULL,
    NULL};

int tool_report(int argc, char **argv)
{
    struct report report = {.files = calloc((size_t)argc + 1, sizeof *report.files)};

    if (!report.files)
        return tool_error(TOOL_FAILED, "no memory for %d names", argc);
    int code = tool_options(&tool_report_argp, argc, argv, &report);
    if (code == TOOL_OK)
        code = report_write(report.folder, report.files, report.count);
    free(report.files);
    return code;
}
