/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands share; the contracts are in tool.h. */
#include "tool.h"

#include "options.h"
#include "timing.h"

#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* strtod is not used: it would round integers over 2^53 and accept "inf", "0x10" and "1e3". */
int tool_parse_bytes(const char *text, uint64_t *bytes)
{
    uint64_t whole = 0;
    double fraction = 0, place = 0.1;
    const char *at = text;

    if (*at < '0' || *at > '9')
        return -1;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(whole, UINT64_C(10), &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
            return -1;
    }
    if (*at == '.') {
        at++;
        if (*at < '0' || *at > '9')
            return -1;
        for (; *at >= '0' && *at <= '9'; at++, place /= 10)
            fraction += place * (*at - '0');
    }

    static const char prefixes[] = "KkMmGgTt";
    unsigned shift = 0;
    const char *prefix = *at ? strchr(prefixes, *at) : NULL;
    if (prefix) {
        shift = 10 * (unsigned)((prefix - prefixes) / 2 + 1);
        at++;
    }
    if (prefix && at[0] == 'i' && at[1] == 'B')
        at += 2;
    else if (*at == 'B')
        at++;
    if (*at != '\0')
        return -1;

    if (shift == 0 && fraction > 0)
        return -1;
    const uint64_t unit = UINT64_C(1) << shift;
    uint64_t value;
    if (__builtin_mul_overflow(whole, unit, &value) ||
        __builtin_add_overflow(value, (uint64_t)(fraction * (double)unit + 0.5), &value) || value > INT64_MAX)
        return -1;
    *bytes = value;
    return 0;
}

char *tool_format_bytes(uint64_t bytes, char *text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    /* 1023.95 would be printed as "1024.0". */
    while (unit + 1 < sizeof units / sizeof *units && value >= (unit ? 1023.95 : 1024.0)) {
        value /= 1024;
        unit++;
    }
    int length = snprintf(text, 24, "%.1f", value);
    if (length >= 2 && text[length - 1] == '0')
        length -= 2;
    snprintf(text + length, 8, " %s", units[unit]);
    return text;
}

uint64_t tool_mix(uint64_t number)
{
    number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

double tool_draw(uint64_t *sequence)
{
    return ((double)(tool_mix((*sequence)++) >> 11) + 0.5) / 9007199254740992.0;
}

/* A sentence of the library as the end of one of ours: without its full stop. */
static const char *detail(enum quarry_status status, char *text, size_t size)
{
    const char *words = quarry_error_detail();
    snprintf(text, size, "%s", *words ? words : quarry_status_string(status));
    size_t length = strlen(text);
    if (length && text[length - 1] == '.')
        text[length - 1] = '\0';
    return text;
}

int tool_target(enum quarry_backend backend, struct quarry_target *target)
{
    static int told;
    char words[512];

    memset(target, 0, sizeof *target);
    target->backend = backend;
    enum quarry_status status = quarry_target_resolve(target);
    if (status != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", detail(status, words, sizeof words));
    if (backend == QUARRY_BACKEND_AUTO && target->backend == QUARRY_BACKEND_CPU && !told) {
        struct quarry_target probe = {.backend = QUARRY_BACKEND_CUDA};
        status = quarry_target_resolve(&probe);
        if (status == QUARRY_ERROR_DEVICE || status == QUARRY_ERROR_CUDA) {
            told = 1;
            tool_error(TOOL_OK, "using the CPU: %s", detail(status, words, sizeof words));
        }
    }
    return TOOL_OK;
}

static void hide_progress(void);

static void print_sentence(const char *format, va_list arguments)
{
    hide_progress();
    fflush(stdout);
    fputs("quarry: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int tool_error(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_sentence(format, arguments);
    va_end(arguments);
    return code;
}

int tool_heap_code(enum quarry_status status)
{
    switch (status) {
    case QUARRY_ERROR_ARGUMENT:
    case QUARRY_ERROR_COMBINATION:
    case QUARRY_ERROR_ALLOCATOR:
        return TOOL_USAGE;
    default:
        return TOOL_FAILED;
    }
}

int tool_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TOOL_OK;
    return tool_error(TOOL_FAILED, "can't write to standard output");
}

int tool_internal_error(const char *what)
{
    return tool_error(TOOL_FAILED, "internal error: %s; nothing was written; please report this", what);
}

/* ---- options ---- */

enum { KEY_USAGE = 4096 }; /* apart from the commands' own */

/* The word at which argp stopped; it lives in argv. */
static const char *stopped_at;

static void note_word(const struct argp_state *state)
{
    /* `next` is past a word that argp is done with, and still at a cluster of short options that it is not.
     */
    int last = state->next - 1;
    if (last < 1 || (state->argv[last][0] != '-' && state->next < state->argc))
        last = state->next;
    stopped_at = last < state->argc ? state->argv[last] : "";
}

int tool_refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_sentence(format, arguments);
    va_end(arguments);
    return TOOL_REFUSED;
}

static const struct argp_option common_list[] = {{"help", 'h', NULL, 0, "Show this help", -1},
                                                 {NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1},
                                                 {"usage", KEY_USAGE, NULL, 0, "Show the options alone", -1},
                                                 {NULL, 0, NULL, 0, NULL, 0}};

/* What all commands do alike; the parser of one is the only child. */
static error_t parse_common(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->input;
        return 0;
    case 'h':
    case '?':
    case KEY_USAGE:
        argp_help(state->root_argp, stdout, key == KEY_USAGE ? ARGP_HELP_USAGE : ARGP_HELP_STD_HELP,
                  state->argv[0]);
        if (key != KEY_USAGE)
            puts("\nExit codes: 0 done, 1 bad data or lack of resources, 2 bad usage.");
        exit(tool_flush());
    case ARGP_KEY_ARG:
        return state->root_argp->children->argp->args_doc
                   ? ARGP_ERR_UNKNOWN
                   : tool_refuse("'%s': `%s` takes no arguments", text, state->argv[0]);
    case ARGP_KEY_ERROR:
        note_word(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Whether the command takes options of allocators. */
static int takes_set(const struct argp *argp)
{
    for (const struct argp_option *option = argp->options; option && option->name; option++)
        if (strcmp(option->name, "set") == 0)
            return 1;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        if (takes_set(child->argp))
            return 1;
    return 0;
}

/* Left to itself argp reports in two lines. */
int tool_options(const struct argp *argp, int argc, char **argv, void *input)
{
    const struct argp_child children[] = {{argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
    const struct argp whole = {common_list, parse_common, NULL, NULL, children, NULL, NULL};
    error_t error = argp_parse(&whole, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
    if (error == 0)
        return TOOL_OK;
    if (error == TOOL_REFUSED)
        return TOOL_USAGE;
    if (error != EINVAL)
        return tool_error(TOOL_FAILED, "reading the options: %s", strerror(error));
    return tool_error(
        TOOL_USAGE, "'%s': no such option, or a value is missing or too many; `%s --help` shows all%s",
        stopped_at, argv[0], takes_set(argp) ? "; options of allocators are pairs of --set" : "");
}

void tool_handle_signals(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            action.sa_handler = handler;
            action.sa_flags = SA_RESTART;
            sigaction(numbers[i], &action, NULL);
        }
    }
}

void tool_print_time(const char *what, double microseconds)
{
    fprintf(stderr, "  %-17s%10.3f ms\n", what, microseconds / 1e3);
}

int tool_terminal_columns(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : INT_MAX;
}

#define PROGRESS_AFTER_US 500000
#define PROGRESS_EVERY_US 100000
#define PROGRESS_CELLS 30
#define TIME_LEFT_AFTER_S 10

/* One bar at a time, drawn by the main thread. */
static struct {
    int running; /* since `began` */
    int shown;
    double began;
    double next; /* when it is drawn, at the earliest */
} progress;

/* Microseconds from the beginning of the work, or from one drawing, to the next. */
static double progress_us(uint64_t otherwise)
{
    return (double)tool_environment("QUARRY_PROGRESS_US", UINT64_MAX, otherwise);
}

void tool_progress(const char *what, double share)
{
    const double now = timing_now();
    if (!progress.running) {
        progress.running = 1;
        progress.began = now;
        progress.next = now + progress_us(PROGRESS_AFTER_US) / 1e6;
    }
    if (now < progress.next || !isatty(STDERR_FILENO))
        return;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    /* Around the bar, "what [] 100%, 100:00 left", and one column for the cursor: a line that wraps can't be
     * overwritten. */
    const int room = tool_terminal_columns(STDERR_FILENO) - (int)strlen(what) - 23;
    const int cells = room < 0 ? 0 : room < PROGRESS_CELLS ? room : PROGRESS_CELLS;
    const int full = (int)(share * cells);
    char bar[PROGRESS_CELLS + 1];
    for (int i = 0; i < cells; i++)
        bar[i] = i < full ? '#' : '.';
    bar[cells] = '\0';
    /* As if the rest took as long as what is done; a tenth is too little to tell. */
    char left[32] = "";
    const double seconds = share > 0 ? (now - progress.began) * (1 - share) / share : 0;
    if (share > 0.1 || now - progress.began > TIME_LEFT_AFTER_S)
        snprintf(left, sizeof left, ", %d:%02d left", (int)(seconds / 60), (int)seconds % 60);
    fprintf(stderr, "\r%s [%s] %3d%%%s\033[K", what, bar, (int)(share * 100), share > 0 ? left : "");
    progress.next = now + progress_us(PROGRESS_EVERY_US) / 1e6;
    progress.shown = 1;
}

static void hide_progress(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = 0;
}

void tool_progress_end(void)
{
    hide_progress();
    progress.running = 0;
}
