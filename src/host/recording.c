/* SPDX-License-Identifier: Apache-2.0 */
#include "host/recording.h"

#include "quarry/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all that run, and their `unlogged` */
static struct recording *running;
static atomic_uint running_count; /* most programs record nothing, and launch without the lock */

void quarry_recording_launched(const struct simt_kernel *kernel, const void *argument)
{
    if ((kernel->fixed & QUARRY_KERNEL_LOGS) || !atomic_load_explicit(&running_count, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    for (struct recording *each = running; each; each = each->next)
        if (memmem(argument, kernel->argument_bytes, &each->counters, sizeof each->counters))
            each->unlogged = kernel->name;
    pthread_mutex_unlock(&lock);
}

void quarry_recording_begin(struct recording *recording, const void *counters)
{
    recording->counters = counters;
    pthread_mutex_lock(&lock);
    recording->next = running;
    running = recording;
    atomic_fetch_add(&running_count, 1);
    pthread_mutex_unlock(&lock);
}

void quarry_recording_end(struct recording *recording)
{
    pthread_mutex_lock(&lock);
    for (struct recording **at = &running; *at; at = &(*at)->next)
        if (*at == recording) {
            *at = recording->next;
            atomic_fetch_sub(&running_count, 1);
            break;
        }
    pthread_mutex_unlock(&lock);
}
