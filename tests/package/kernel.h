/* SPDX-License-Identifier: Apache-2.0 */
/* What app.cpp and its kernel share. */
#ifndef KERNEL_H
#define KERNEL_H

#include <quarry/device.h>

#define JOB_ALLOCATOR "ring" // of kernel.c

#ifndef JOB_THREADS
#define JOB_THREADS 1000u
#endif

struct job {
    struct quarry_handle heap;
    uint32_t *good;
};

#endif
