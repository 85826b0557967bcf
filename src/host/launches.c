/* SPDX-License-Identifier: Apache-2.0 */
#include "host/launches.h"
#include "device/heap_kernels.h"
#include "host/fail.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of a device with heaps in debug mode. */
struct word {
    struct word *next;
    enum quarry_backend backend;
    int device;
    uint32_t heaps;
    uint32_t *at; /* on the device */
};

static uint32_t last_number; /* atomic; of the process's latest launch */
static uint32_t watched;     /* atomic; words there are: without any, a launch costs one addition */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct word *words;
static const char **names; /* of the kernels of launches since name_first; grows while there are words */
static uint32_t name_first, name_count, name_room;

static struct word **find(const struct quarry_target *target)
{
    struct word **at = &words;
    while (*at && ((*at)->backend != target->backend || (*at)->device != target->device))
        at = &(*at)->next;
    return at;
}

/* Queues a write of the device's word, if it has one.  On the CPU it does not depend on the target's seed. */
static enum quarry_status write_word(const struct backend_ops *ops, const struct quarry_target *target,
                                     uint32_t number)
{
    static const struct quarry_grid one_warp = {1, SIMT_LANES, 0};
    struct quarry_target plain = {0};
    const struct word *word = *find(target);
    if (!word)
        return QUARRY_OK;
    plain.backend = target->backend;
    plain.device = target->device;
    plain.stream = target->stream;
    plain.workers = plain.backend == QUARRY_BACKEND_CPU;
    const struct launch_number argument = {word->at, number};
    return ops->launch(&quarry_launch_number_kernel, &plain, one_warp, &argument);
}

static enum quarry_status make_word(const struct quarry_target *target, const struct backend_ops *ops,
                                    struct word **out)
{
    struct word *word = (struct word *)calloc(1, sizeof *word);
    void *memory = NULL;
    if (!word)
        return quarry_fail(QUARRY_ERROR_MEMORY, "no host memory for a heap in debug mode");
    enum quarry_status status = ops->memory_create(target, QUARRY_POOL_DEVICE, sizeof *word->at, &memory);
    if (status == QUARRY_OK)
        status = ops->fill(target, memory, 0, sizeof *word->at);
    if (status == QUARRY_OK)
        status = ops->wait(target); /* other streams write it, too */
    if (status != QUARRY_OK) {
        if (memory)
            ops->memory_destroy(target, QUARRY_POOL_DEVICE, memory);
        free(word);
        return status;
    }
    word->backend = target->backend;
    word->device = target->device;
    word->at = (uint32_t *)memory;
    *out = word;
    return QUARRY_OK;
}

enum quarry_status quarry_launches_enter(const struct quarry_target *target, const struct backend_ops *ops,
                                         const uint32_t **word)
{
    enum quarry_status status = QUARRY_OK;
    pthread_mutex_lock(&lock);
    struct word **at = find(target);
    if (!*at) {
        status = make_word(target, ops, at);
        if (status == QUARRY_OK)
            __atomic_fetch_add(&watched, 1, __ATOMIC_RELAXED);
    }
    if (status == QUARRY_OK) {
        (*at)->heaps++;
        *word = (*at)->at;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void quarry_launches_leave(const struct quarry_target *target, const struct backend_ops *ops)
{
    pthread_mutex_lock(&lock);
    struct word **at = find(target), *word = *at;
    if (word && --word->heaps == 0) {
        *at = word->next;
        __atomic_fetch_sub(&watched, 1, __ATOMIC_RELAXED);
        ops->memory_destroy(target, QUARRY_POOL_DEVICE, word->at); /* CUDA: waits for the device */
        free(word);
    }
    if (!words) {
        free(names);
        names = NULL;
        name_first = name_count = name_room = 0;
    }
    pthread_mutex_unlock(&lock);
}

/* Remembers the name of a launch's kernel; if there is no memory for that, it forgets it. */
static void keep_name(uint32_t number, const char *name)
{
    if (!names)
        name_first = number;
    const uint32_t i = number - name_first;
    if (!names || i >= name_room) {
        const uint32_t room = i < 512 ? 1024 : i + i / 2;
        const char **more = i < UINT32_MAX / 2 ? (const char **)realloc(names, room * sizeof *names) : NULL;
        if (!more)
            return;
        memset(more + name_room, 0, (room - name_room) * sizeof *names);
        names = more;
        name_room = room;
    }
    names[i] = name;
    name_count = i >= name_count ? i + 1 : name_count;
}

enum quarry_status quarry_launches_run(const struct backend_ops *ops, const struct simt_kernel *kernel,
                                       const struct quarry_target *target, struct quarry_grid grid,
                                       const void *argument)
{
    const uint32_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&watched, __ATOMIC_RELAXED) == 0)
        return ops->launch(kernel, target, grid, argument);
    pthread_mutex_lock(&lock);
    if (words)
        keep_name(number, kernel->name);
    enum quarry_status status = write_word(ops, target, number);
    pthread_mutex_unlock(&lock);
    if (status != QUARRY_OK)
        return status;
    status = ops->launch(kernel, target, grid, argument); /* not under the lock: on the CPU it runs here */
    pthread_mutex_lock(&lock);
    enum quarry_status after = write_word(ops, target, 0);
    pthread_mutex_unlock(&lock);
    return status == QUARRY_OK ? after : status;
}

const char *quarry_launches_kernel(uint32_t number)
{
    const char *name = NULL;
    pthread_mutex_lock(&lock);
    if (number - name_first < name_count)
        name = names[number - name_first];
    pthread_mutex_unlock(&lock);
    return name ? name : "";
}
