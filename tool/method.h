/* SPDX-License-Identifier: Apache-2.0 */
/* What groupby and join do alike around their work: both run in pages from a heap, or in two passes. */
#ifndef QUARRY_TOOL_METHOD_H
#define QUARRY_TOOL_METHOD_H

#include "options.h"
#include "quarry/quarry.h"
#include "work.h"

struct method_task {
    struct quarry_target target; /* resolved */
    struct method_options method;
    struct result_options result;
    unsigned hash_bits; /* that are kept of a hash: tests make keys collide */
};

/* Reads the command line, looks at the file of --output, and resolves the target.
 *   command    what argp's parser fills; the task is a part of it
 *   name       "GROUPBY": of the environment's QUARRY_GROUPBY_HASH_BITS and, on the CPU, QUARRY_GROUPBY_SEED
 *   hash_bits  of a whole hash
 * Returns TOOL_OK, or another exit code with one sentence printed. */
int method_start(struct method_task *task, const struct argp *argp, int argc, char **argv, void *command,
                 const char *name, unsigned hash_bits);

/* Lines of --stats: the method's name; the heap; how often the work was done, and the times before it. */
void method_print_name(const struct method_task *task);
void method_print_heap(const struct work_heap *heap);
void method_print_times(const struct method_task *task, double read_us, double upload_us, double heap_us);

#endif
