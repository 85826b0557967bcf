/* SPDX-License-Identifier: Apache-2.0 */
/* A collective critical section: the lanes of a warp append to a log together, under one lock.
 *
 * With a mutex for each lane a warp would lock 32 times.  The log's length is a plain number: only who is in the
 * critical section touches it.  On the GPU if nvcc compiled this file, else on the CPU. */
#include "quarry/core/mutex.h"
#include "quarry/quarry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : (puts(quarry_error_detail()), exit(1)))
#define THREADS 4096u

struct log {
    struct quarry_mutex mutex;
    uint32_t length;
    uint32_t sections;
    uint32_t entry[THREADS];
};

struct job {
    struct log *log;
};

SIMT_KERNEL(log_append, struct job, a)
{
    uint32_t group = simt_active(); /* lanes that arrive here together */
    quarry_mutex_lock(&a.log->mutex, group);
    a.log->entry[a.log->length + simt_rank(group)] = simt_thread();
    simt_sync(group); /* all have read the length */
    if (simt_rank(group) == 0) {
        a.log->length += simt_popc_u32(group);
        a.log->sections++;
    }
    quarry_mutex_unlock(&a.log->mutex, group);
}

int main(void)
{
    struct quarry_target target;
    static unsigned char seen[THREADS];
    uint32_t different = 0;
    void *memory; /* host and kernels both reach managed memory */
    memset(&target, 0, sizeof target);
    target.backend = log_append.cuda ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
    CHECK(quarry_memory_create(&target, QUARRY_POOL_MANAGED, sizeof(struct log), &memory));
    CHECK(quarry_memory_fill(&target, memory, 0, sizeof(struct log))); /* all zeros is a free mutex */
    struct job argument = {(struct log *)memory};
    CHECK(quarry_launch(&log_append, &target, quarry_grid_for(THREADS), &argument));
    CHECK(quarry_target_wait(&target));
    for (uint32_t i = 0; i < argument.log->length && i < THREADS; i++)
        different += !seen[argument.log->entry[i] % THREADS]++;
    printf("%u entries, %u different ones, in %u critical sections\n", argument.log->length, different,
           argument.log->sections);
    int right = argument.log->length == THREADS && different == THREADS;
    CHECK(quarry_memory_destroy(&target, QUARRY_POOL_MANAGED, memory));
    return !right;
}
