/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory, as Linux reports it.
 *
 * In a container the machine's memory says little: a process that passes its cgroup's limit is killed.
 * The limit that counts is the smallest on the way from the process's own cgroup to the root of the
 * mount.  /proc/self/cgroup names the way there, in version 2 as "0::/path", in version 1 as
 * "4:memory:/path"; where a container sees only its own part of the hierarchy, the first steps may not
 * exist under the mount and are passed over, and the limit is found at its root. */
#include "host/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES 4352
#define HEAP_GRANULE ((uint64_t)2 << 20)

/* The names under which one version of cgroups keeps its numbers. */
struct cgroup_files {
    const char *mount;
    const char *limit;
    const char *used;
    const char *droppable; /* field of memory.stat: cached file pages, dropped before anything is killed */
};

static const struct cgroup_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                              "memory.usage_in_bytes", "total_inactive_file"};
static const struct cgroup_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                              "inactive_file"};
static const struct cgroup_files version_2_hybrid = {"/sys/fs/cgroup/unified", "memory.max", "memory.current",
                                                     "inactive_file"};

static uint64_t minimum(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The file's number; UINT64_MAX without such a file or number ("max"). */
static uint64_t read_number(const char *directory, const char *file)
{
    char path[PATH_BYTES + 64];
    uint64_t number = UINT64_MAX;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return UINT64_MAX;
    if (fscanf(stream, "%" SCNu64, &number) != 1)
        number = UINT64_MAX;
    fclose(stream);
    return number;
}

/* The number after `key`, a line's first word; `otherwise` without it. */
static uint64_t read_field(const char *path, const char *key, uint64_t otherwise)
{
    char line[256];
    size_t length = strlen(key);
    uint64_t number = otherwise;
    FILE *stream = fopen(path, "re");
    if (!stream)
        return otherwise;
    while (fgets(line, sizeof line, stream)) {
        if (strncmp(line, key, length) == 0 && (line[length] == ' ' || line[length] == ':')) {
            if (sscanf(line + length + 1, "%" SCNu64, &number) != 1)
                number = otherwise;
            break;
        }
    }
    fclose(stream);
    return number;
}

/* Narrows *memory by one cgroup's limit, if it has one. */
static void apply_cgroup(const struct cgroup_files *files, const char *directory,
                         struct quarry_machine_memory *memory)
{
    char path[PATH_BYTES + 64];
    uint64_t limit = read_number(directory, files->limit);
    /* Version 1 says "none" by a number near 2^63: more than any machine has. */
    if (limit >= (uint64_t)1 << 62)
        return;
    memory->total_bytes = minimum(memory->total_bytes, limit);
    uint64_t used = read_number(directory, files->used);
    if (used == UINT64_MAX)
        used = 0;
    snprintf(path, sizeof path, "%s/memory.stat", directory);
    used -= minimum(used, read_field(path, files->droppable, 0));
    memory->available_bytes = minimum(memory->available_bytes, limit - minimum(limit, used));
}

/* Applies the cgroup `group` ("/a/b") and its parents up to the mount. */
static void walk_cgroups(const struct cgroup_files *files, const char *group,
                         struct quarry_machine_memory *memory)
{
    char directory[PATH_BYTES];
    size_t root = strlen(files->mount);
    int length = snprintf(directory, sizeof directory, "%s%s", files->mount, group);
    if (length < 0 || (size_t)length >= sizeof directory)
        return;
    for (;;) {
        apply_cgroup(files, directory, memory);
        char *step = strrchr(directory + root, '/');
        if (!step)
            return;
        *step = '\0';
    }
}

/* Whether the comma-separated list of controllers has "memory". */
static int lists_memory(const char *controllers)
{
    for (const char *word = controllers; word; word = strchr(word, ',')) {
        word += *word == ',';
        size_t length = strcspn(word, ",");
        if (length == strlen("memory") && strncmp(word, "memory", length) == 0)
            return 1;
    }
    return 0;
}

static void apply_cgroups(struct quarry_machine_memory *memory)
{
    char line[LINE_BYTES];
    FILE *stream = fopen("/proc/self/cgroup", "re");
    if (!stream)
        return;
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        controllers++;
        *group++ = '\0';
        if (controllers[0] == '\0') {
            walk_cgroups(&version_2, group, memory);
            walk_cgroups(&version_2_hybrid, group, memory);
        } else if (lists_memory(controllers)) {
            walk_cgroups(&version_1, group, memory);
        }
    }
    fclose(stream);
}

struct quarry_machine_memory quarry_machine_memory(void)
{
    struct quarry_machine_memory memory;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    memory.total_bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
    uint64_t kibibytes = read_field("/proc/meminfo", "MemAvailable", UINT64_MAX);
    memory.available_bytes =
        kibibytes == UINT64_MAX ? memory.total_bytes : minimum(kibibytes * 1024, memory.total_bytes);
    apply_cgroups(&memory);
    memory.available_bytes = minimum(memory.available_bytes, memory.total_bytes);
    memory.heap_bytes = minimum(memory.total_bytes / 4, memory.available_bytes) / HEAP_GRANULE * HEAP_GRANULE;
    return memory;
}

void quarry_machine_name(char *name, size_t bytes)
{
    char line[512];
    snprintf(name, bytes, "CPU");
    FILE *stream = fopen("/proc/cpuinfo", "re");
    if (!stream)
        return;
    while (fgets(line, sizeof line, stream)) {
        if (strncmp(line, "model name", strlen("model name")) != 0)
            continue;
        char *text = strchr(line, ':');
        if (text) {
            text += 1 + strspn(text + 1, " \t");
            text[strcspn(text, "\n")] = '\0';
            if (*text)
                snprintf(name, bytes, "%s", text);
        }
        break;
    }
    fclose(stream);
}

uint32_t quarry_machine_clock_khz(void)
{
    uint64_t khz = read_number("/sys/devices/system/cpu/cpu0/cpufreq", "cpuinfo_max_freq");
    return khz > UINT32_MAX ? 0 : (uint32_t)khz;
}
