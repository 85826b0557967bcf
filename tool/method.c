/* SPDX-License-Identifier: Apache-2.0 */
/* What groupby and join do alike; the contracts are in method.h. */
#include "method.h"

#include "output.h"
#include "tool.h"

#include <stdio.h>

static uint64_t environment(const char *command, const char *what, uint64_t most, uint64_t otherwise)
{
    char name[64];
    snprintf(name, sizeof name, "QUARRY_%s_%s", command, what);
    return tool_environment(name, most, otherwise);
}

int method_start(struct method_task *task, const struct argp *argp, int argc, char **argv, void *command,
                 const char *name, unsigned hash_bits)
{
    int code = tool_options(argp, argc, argv, command);
    if (code == TOOL_OK)
        code = output_check(task->result.path);
    if (code == TOOL_OK)
        code = tool_target(task->method.backend, &task->target);
    if (code != TOOL_OK)
        return code;
    task->hash_bits = (unsigned)environment(name, "HASH_BITS", hash_bits, hash_bits);
    if (task->target.backend == QUARRY_BACKEND_CPU)
        task->target.seed = environment(name, "SEED", UINT64_MAX, 0);
    return TOOL_OK;
}

void method_print_name(const struct method_task *task)
{
    fprintf(stderr, "method             %s\n", task->method.two_pass ? "two-pass" : "paged");
}

void method_print_heap(const struct work_heap *heap)
{
    char bytes[32];
    fprintf(stderr, "heap               %s, allocator %s, %llu pages of %llu bytes\n",
            tool_format_bytes(heap->bytes, bytes), heap->allocator, (unsigned long long)heap->pages,
            (unsigned long long)heap->page_bytes);
}

void method_print_times(const struct method_task *task, double read_us, double upload_us, double heap_us)
{
    const unsigned runs = task->method.runs;
    fprintf(stderr, "time, median of %u run%s\n", runs, runs == 1 ? "" : "s");
    tool_print_time("read", read_us);
    tool_print_time("upload", upload_us);
    if (!task->method.two_pass)
        tool_print_time("heap", heap_us);
}
