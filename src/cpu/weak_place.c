/* SPDX-License-Identifier: Apache-2.0 */
/* From a return address to a line of source, by libbacktrace, which comes with gcc. */
#include "cpu/weak_run.h"

#include <backtrace.h>
#include <stdio.h>
#include <string.h>

struct found {
    char *text;
    size_t bytes;
    int done;
};

/* Frames come from the innermost to the outermost; those of the platform's own header are no news. */
static int frame(void *argument, uintptr_t pc, const char *file, int line, const char *function)
{
    struct found *found = argument;
    (void)pc;
    if (!file)
        return 0;
    snprintf(found->text, found->bytes, "%s:%d (%s)", file, line, function ? function : "?");
    return strstr(file, "quarry/simt/cpu.h") == NULL;
}

static void failed(void *argument, const char *message, int number)
{
    (void)argument, (void)message, (void)number;
}

void weak_place_text(uintptr_t place, char *text, size_t bytes)
{
    static struct backtrace_state *state;
    struct found found = {text, bytes, 0};
    snprintf(text, bytes, "%p", (void *)place);
    if (!state)
        state = backtrace_create_state(NULL, 1, failed, NULL);
    if (state)
        backtrace_pcinfo(state, place - 1, frame, failed, &found);
}
