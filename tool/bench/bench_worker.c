/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that measure, and their watchdog.
 *
 * A kernel that never ends, or that ruins the device's context, takes its process with it and no more.  This
 * process forks before anything of it has used the device, and never does so itself: a CUDA context does not
 * survive a fork.  What a child finds out comes through a pipe in messages of one size, each written at once.
 * One child finds the target, one measures the floors; those for cells say when each one begins, and its
 * result.  The cells of one allocator share a child until one of them goes wrong; the next child goes on
 * behind it.
 *
 * A signal that asks for the end, from the terminal to all of these processes, is this one's to obey: it ends
 * the child and keeps the cells that are done. */
#include "bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum message_kind { MESSAGE_TARGET, MESSAGE_FLOOR, MESSAGE_RATES, MESSAGE_BEGIN, MESSAGE_RESULT };

struct message {
    enum message_kind kind;
    unsigned index; /* of the floor, or of the cell in the order of measuring */
    union {
        struct {
            struct quarry_target target;
            struct quarry_device_info info;
        } found;
        struct workload_floor floor;
        struct {
            double clock_mhz;
            double rates[3];
        } machine;
        struct cell_result result;
    } as;
};
_Static_assert(sizeof(struct message) <= PIPE_BUF, "a message is written at once");

/* Runs in the child; its value is the exit code. */
typedef int child_body(struct bench *bench, unsigned first, int pipe);

struct child {
    pid_t pid;
    int pipe;
};

enum listen_result { LISTEN_MESSAGE, LISTEN_END, LISTEN_TIMEOUT, LISTEN_STOPPED };

/* The signal that came; 0: none. */
static volatile sig_atomic_t stopped_by;

static void stop(int number)
{
    stopped_by = number;
}

static int start_child(struct bench *bench, child_body *body, unsigned first, struct child *child)
{
    int ends[2];
    if (pipe(ends) != 0)
        return tool_error(TOOL_FAILED, "can't make a pipe: %s", strerror(errno));
    fflush(NULL);
    child->pid = fork();
    if (child->pid < 0) {
        const int error = errno;
        close(ends[0]);
        close(ends[1]);
        return tool_error(TOOL_FAILED, "can't make a process: %s", strerror(error));
    }
    if (child->pid == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        tool_handle_signals(SIG_IGN);
        _exit(body(bench, first, ends[1]));
    }
    close(ends[1]);
    child->pipe = ends[0];
    return TOOL_OK;
}

/* Ends it if it has not ended, and returns what waitpid says. */
static int end_child(struct child *child, int force)
{
    int status = 0;
    if (force)
        kill(child->pid, SIGKILL);
    close(child->pipe);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* Between two looks no more time counts: what is over, both processes were stopped, by Ctrl-Z say. */
#define LOOK_S 0.5

/* The next message, within so many seconds; `tick` is called now and then. */
static enum listen_result listen_to(const struct child *child, double seconds, void (*tick)(void),
                                    struct message *message)
{
    double left = seconds, last = timing_now();
    size_t got = 0;
    while (got < sizeof *message) {
        struct pollfd ready = {child->pipe, POLLIN, 0};
        const double now = timing_now();
        left -= now - last < LOOK_S ? now - last : LOOK_S;
        last = now;
        if (stopped_by)
            return LISTEN_STOPPED;
        if (left <= 0)
            return LISTEN_TIMEOUT;
        if (tick)
            tick();
        if (poll(&ready, 1, left < 0.2 ? (int)(left * 1000) + 1 : 200) <= 0)
            continue;
        const ssize_t count = read(child->pipe, (char *)message + got, sizeof *message - got);
        if (count == 0 || (count < 0 && errno != EINTR))
            return LISTEN_END;
        got += count > 0 ? (size_t)count : 0;
    }
    return LISTEN_MESSAGE;
}

static void say(int pipe, const struct message *message)
{
    if (write(pipe, message, sizeof *message) != sizeof *message)
        _exit(TOOL_FAILED); /* nobody listens any more */
}

static int fail(enum quarry_status status, const char *what)
{
    const char *detail = quarry_error_detail();
    return tool_error(tool_heap_code(status), "%s: %s", what,
                      *detail ? detail : quarry_status_string(status));
}

/* ---- target ---- */

/* For what needs no allocator. */
#define DEVICE_S 120.0

static int find_target(struct bench *bench, unsigned first, int pipe)
{
    struct message message = {.kind = MESSAGE_TARGET};
    (void)first;
    const int code = tool_target(bench->backend, &message.as.found.target);
    if (code != TOOL_OK)
        return code;
    const enum quarry_status status =
        quarry_device_describe(&message.as.found.target, &message.as.found.info);
    if (status != QUARRY_OK)
        return fail(status, "can't describe the device");
    say(pipe, &message);
    return TOOL_OK;
}

/* What becomes of a child that is not for cells. */
static int finish_child(struct child *child, enum listen_result last, const char *what)
{
    const int status = end_child(child, last == LISTEN_TIMEOUT || last == LISTEN_STOPPED);
    if (last == LISTEN_STOPPED)
        return TOOL_OK;
    if (last == LISTEN_TIMEOUT)
        return tool_error(TOOL_FAILED, "%s: it takes too long", what);
    if (WIFSIGNALED(status))
        return tool_error(TOOL_FAILED, "%s: its process died: %s", what, strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status);
}

int bench_find_target(struct bench *bench)
{
    struct child child = {0, -1};
    struct message message;
    int code = start_child(bench, find_target, 0, &child);
    if (code != TOOL_OK)
        return code;
    const enum listen_result result = listen_to(&child, DEVICE_S, NULL, &message);
    if (result == LISTEN_MESSAGE) {
        bench->target = message.as.found.target;
        bench->info = message.as.found.info;
    }
    code = finish_child(&child, result, "looking for the device");
    if (code == TOOL_OK && result != LISTEN_MESSAGE)
        code = tool_error(TOOL_FAILED, "looking for the device: no answer");
    return code;
}

/* ---- floors ---- */

static uint32_t most_threads(const struct bench *bench)
{
    uint64_t most = UINT64_C(1) << 20; /* those of the CPU's rates */
    for (unsigned i = 0; i < bench->floor_threads.count; i++) {
        if (bench->floor_threads.values[i] > most)
            most = bench->floor_threads.values[i];
    }
    return (uint32_t)most;
}

static int measure_floors(struct bench *bench, unsigned first, int pipe)
{
    struct workload workload;
    struct message message = {.kind = MESSAGE_RATES};
    enum quarry_status status = workload_open(&workload, &bench->target, most_threads(bench), &bench->rule);
    (void)first;
    if (status == QUARRY_OK)
        status = timing_clock(&workload.timing, &message.as.machine.clock_mhz);
    if (status == QUARRY_OK && bench->shows_rates && bench_has_table(bench))
        status = bench_measure_rates(bench, &workload, message.as.machine.rates);
    if (status != QUARRY_OK)
        return fail(status, "can't prepare");
    say(pipe, &message);
    for (unsigned i = 0; i < bench->floor_threads.count; i++) {
        memset(&message, 0, sizeof message);
        message.kind = MESSAGE_FLOOR;
        message.index = i;
        status = workload_floor(&workload, (uint32_t)bench->floor_threads.values[i], 16, &message.as.floor);
        if (status != QUARRY_OK)
            return fail(status, "floors");
        say(pipe, &message);
    }
    workload_close(&workload);
    return TOOL_OK;
}

static int get_floors(struct bench *bench)
{
    struct child child = {0, -1};
    struct message message;
    enum listen_result result;
    /* A floor is three kernels, each with its budget; what is beyond that is for the watchdog, as in a cell. */
    const double floor_s = bench->watchdog_s + 3 * bench->rule.budget_s;
    unsigned next = 0;
    int ready = 0;
    int code = start_child(bench, measure_floors, 0, &child);
    if (code != TOOL_OK)
        return code;
    while ((result = listen_to(&child, ready ? floor_s : DEVICE_S, NULL, &message)) == LISTEN_MESSAGE) {
        ready = 1;
        if (message.kind == MESSAGE_FLOOR) {
            bench->floors[message.index] = message.as.floor;
            next = message.index + 1;
        } else {
            bench->clock_mhz = message.as.machine.clock_mhz;
            memcpy(bench->rates, message.as.machine.rates, sizeof bench->rates);
        }
    }
    if (!ready || result != LISTEN_TIMEOUT)
        return finish_child(&child, result, "floors");
    end_child(&child, 1);
    return tool_error(TOOL_FAILED,
                      "%" PRIu64 " threads that only store a pointer take longer than %g s (--watchdog): "
                      "use fewer --threads",
                      bench->floor_threads.values[next], bench->watchdog_s);
}

/* ---- cells ---- */

static enum quarry_status scan(void *context, uint64_t *values, uint64_t count)
{
    return work_scan(context, values, count) == 0 ? QUARRY_OK : QUARRY_ERROR_CUDA;
}

/* The platform's heap gets its size before the first kernel that uses it: so large that every cell's fits. */
static enum quarry_status make_room_for_platform(const struct bench *bench, const struct cell *cell)
{
    struct quarry_heap_options create;
    quarry_heap *heap = NULL;
    if (cell->allocator.counts_slots)
        return QUARRY_OK;
    bench_heap_options(bench, cell, &create);
    create.pool_bytes = bench->heap_bytes;
    create.pages = 0;
    const enum quarry_status status = quarry_heap_create(&heap, &create);
    return status == QUARRY_OK ? quarry_heap_destroy(heap) : status;
}

/* Those of the allocator of the first one, until one is refused. */
static int measure_cells(struct bench *bench, unsigned first, int pipe)
{
    const unsigned number = bench->cells[bench->order[first]].number;
    struct cell_state state;
    struct work work;

    memset(&state, 0, sizeof state);
    memset(&work, 0, sizeof work);
    work.target = bench->target;
    enum quarry_status status = make_room_for_platform(bench, &bench->cells[bench->order[first]]);
    if (status == QUARRY_OK)
        status = workload_open(&state.workload, &bench->target, most_threads(bench), &bench->rule);
    if (status != QUARRY_OK)
        return fail(status, "can't prepare");
    state.workload.scan = scan;
    state.workload.scan_context = &work;
    for (unsigned i = first; i < bench->cell_count; i++) {
        struct cell *cell = &bench->cells[bench->order[i]];
        struct message message;
        if (cell->number != number)
            break;
        memset(&message, 0, sizeof message);
        message.kind = MESSAGE_BEGIN;
        message.index = i;
        say(pipe, &message);
        bench_run_cell(bench, &state, cell);
        message.kind = MESSAGE_RESULT;
        message.as.result = cell->result;
        say(pipe, &message);
        if (cell->result.status == CELL_ERROR)
            return TOOL_OK; /* who knows what state the device is in */
    }
    bench_close_cells(&state);
    workload_close(&state.workload);
    work_close(&work);
    return TOOL_OK;
}

static struct bench *progress_bench;
static unsigned progress_done;

static void show_progress(void)
{
    tool_progress("bench", (double)progress_done / progress_bench->cell_count);
}

static void report(struct bench *bench, const struct cell *cell)
{
    char share[16], least[24] = "";
    if (!*cell->result.fault)
        return;
    if (cell->least)
        snprintf(least, sizeof least, "%" PRIu64 "%c", cell->least, cell->octaves ? '~' : '-');
    const int skipped = cell->result.status == CELL_SKIPPED;
    const int code = tool_error(TOOL_FAILED, "%s%s, %s, %s%" PRIu64 " bytes, %s %% free, %u threads: %s%s",
                                skipped ? "skipped " : "", cell->test->name, cell->allocator.name, least,
                                cell->bytes, tool_format_share(cell->free_share, share), cell->threads,
                                cell->result.fault, skipped ? "; try a smaller --heap" : "");
    if (!skipped)
        bench->code = code;
}

/* What a child says that measures the cells from *next on; sets *next to the first one that is not done.
 * Returns TOOL_OK, or an exit code with the sentence printed if it is no use to go on. */
static int follow_cells(struct bench *bench, struct child *child, unsigned *next)
{
    struct message message;
    enum listen_result result;
    const unsigned first = *next;
    int begun = 0;

    while ((result = listen_to(child, begun ? bench->watchdog_s : DEVICE_S, show_progress, &message)) ==
           LISTEN_MESSAGE) {
        begun = message.kind == MESSAGE_BEGIN;
        if (begun)
            continue;
        struct cell *cell = &bench->cells[bench->order[message.index]];
        cell->result = message.as.result;
        *next = message.index + 1;
        progress_done = *next;
        report(bench, cell);
        if (cell->result.fatal) {
            result = LISTEN_TIMEOUT;
            break;
        }
    }
    const int status = end_child(child, result != LISTEN_END);
    if (result == LISTEN_STOPPED)
        return TOOL_OK;
    if (!begun && result == LISTEN_END && *next > first)
        return TOOL_OK;
    if (!begun && result == LISTEN_END && WIFEXITED(status) && WEXITSTATUS(status))
        return WEXITSTATUS(status);
    if (!begun && *next > first) /* refused for good, which was said */
        return TOOL_USAGE;
    if (!begun)
        return tool_error(TOOL_FAILED, "a process that measures gives no answer");
    struct cell *cell = &bench->cells[bench->order[*next]];
    cell->result.status = result == LISTEN_TIMEOUT ? CELL_HUNG : CELL_CRASHED;
    if (result == LISTEN_TIMEOUT)
        snprintf(cell->result.fault, sizeof cell->result.fault, "ended after %g s", bench->watchdog_s);
    else if (WIFSIGNALED(status))
        snprintf(cell->result.fault, sizeof cell->result.fault, "its process died: %s",
                 strsignal(WTERMSIG(status)));
    else
        snprintf(cell->result.fault, sizeof cell->result.fault, "its process ended with %d",
                 WEXITSTATUS(status));
    report(bench, cell);
    progress_done = ++*next;
    return TOOL_OK;
}

/* Leaves the cells up to order[done], in their order. */
static void keep_cells(struct bench *bench, unsigned done)
{
    unsigned kept = 0;
    for (unsigned i = done; i < bench->cell_count; i++)
        bench->cells[bench->order[i]].test = NULL;
    for (unsigned i = 0; i < bench->cell_count; i++) {
        if (bench->cells[i].test)
            bench->cells[kept++] = bench->cells[i];
    }
    bench->cell_count = kept;
}

int bench_measure(struct bench *bench)
{
    unsigned next = 0;
    tool_handle_signals(stop);
    int code = get_floors(bench);
    progress_bench = bench;
    while (next < bench->cell_count && code == TOOL_OK && !stopped_by) {
        struct child child = {0, -1};
        code = start_child(bench, measure_cells, next, &child);
        if (code == TOOL_OK)
            code = follow_cells(bench, &child, &next);
    }
    tool_progress_end();
    tool_handle_signals(SIG_DFL);
    bench->signal = next < bench->cell_count ? stopped_by : 0; /* else it came too late */
    if (code == TOOL_OK && bench->signal) {
        tool_error(TOOL_FAILED, "interrupted: %u of %u cells are missing", bench->cell_count - next,
                   bench->cell_count);
        keep_cells(bench, next);
    }
    return code;
}
