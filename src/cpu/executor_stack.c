/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that run beyond their stacks.
 *
 * Below a lane's stack lies a guard, in which every access faults (fiber.h).  The handler of that signal runs
 * on a stack of the worker's, as the lane's has no room.  If the address is in the running lane's guard it
 * ends the run as a failed assertion does: it leaves the lane, and itself, for the worker's own stack, and is
 * never returned to.  The signal is not blocked meanwhile (SA_NODEFER), so nothing is to be undone.
 *
 * The lane was stopped anywhere.  That harms nothing of the executor's: lanes of a run that has ended are left
 * where they are.  It may have held a lock of the C library's: inside printf, say.
 *
 * Any other fault goes to the handler that was there before, or, if there was none, happens again without one.
 *
 * ThreadSanitizer counts who is in a handler, and would wait for the one that is left: there is none then. */
#include "cpu/executor_run.h"

#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards watchers, and who handles the signal */
static uint32_t watchers;
static struct sigaction previous;

static void pass_on(int signal, siginfo_t *info, void *context)
{
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    } else {
        struct sigaction none;
        memset(&none, 0, sizeof none);
        none.sa_handler = SIG_DFL;
        sigaction(signal, &none, NULL);
        if (info->si_code <= 0) /* somebody sent it: it will not come again by itself */
            raise(signal);
    }
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct worker *w = simt_worker;
    if (w && w->current && simt_fiber_is_beyond(w->current->fiber, info->si_addr)) {
        char what[128];
        snprintf(what, sizeof what, "a lane ran beyond its stack of %u bytes (the target's stack_bytes)",
                 w->run->stack_bytes);
        simt_lane_abandon(w, SIMT_CPU_ASSERT, what, NULL);
    }
    pass_on(signal, info, context);
}

void simt_stack_watch_enter(stack_t *before, void *memory)
{
    stack_t stack;
    struct sigaction action;
    if (SIMT_CPU_TSAN)
        return;
    memset(before, 0, sizeof *before);
    before->ss_flags = SS_DISABLE;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = memory;
    stack.ss_size = SIMT_SIGNAL_STACK_BYTES;
    sigaltstack(&stack, before);
    pthread_mutex_lock(&lock);
    if (watchers++ == 0) {
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(SIGSEGV, &action, &previous);
    }
    pthread_mutex_unlock(&lock);
}

void simt_stack_watch_leave(const stack_t *before)
{
    struct sigaction present;
    if (SIMT_CPU_TSAN)
        return;
    pthread_mutex_lock(&lock);
    if (--watchers == 0 && sigaction(SIGSEGV, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) &&
        present.sa_sigaction == on_fault) /* else the program has set another meanwhile */
        sigaction(SIGSEGV, &previous, NULL);
    pthread_mutex_unlock(&lock);
    sigaltstack(before, NULL);
}
