/* SPDX-License-Identifier: Apache-2.0 */
/* What the host machine lets this process use. */
#ifndef QUARRY_HOST_MACHINE_H
#define QUARRY_HOST_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct quarry_machine_memory {
    uint64_t total_bytes;     /* physical memory, or the smallest limit of a cgroup above this process */
    uint64_t available_bytes; /* free now, page cache that can be dropped counted in */
    uint64_t heap_bytes;      /* sensible for one heap: a quarter of the total, and no more than available */
};

/* Any thread.  Reads a few small files of /proc and /sys: not for inner loops. */
struct quarry_machine_memory quarry_machine_memory(void);

/* The processor's model, "CPU" if it has no name; always terminated. */
void quarry_machine_name(char *name, size_t bytes);

/* Highest clock in kHz; 0: unknown. */
uint32_t quarry_machine_clock_khz(void);

#endif
