/* SPDX-License-Identifier: Apache-2.0 */
/* Which heaps are being recorded.  Every launch asks, and programs that record nothing link nothing more than this. */
#ifndef QUARRY_HOST_RECORDING_H
#define QUARRY_HOST_RECORDING_H

#include "quarry/simt/kernel.h"

struct recording {
    const void *counters;   /* the heap's, which each handle of it has */
    const char *unlogged;   /* a kernel that got the heap and logs nothing; NULL: none */
    struct recording *next; /* of those that run */
};

/* From now on launches with a handle of that heap are looked at. */
void quarry_recording_begin(struct recording *recording, const void *counters);
/* No more; one that did not begin is left alone. */
void quarry_recording_end(struct recording *recording);

/* A kernel is launched: a recording remembers one that gets its heap and logs nothing.  Any thread. */
void quarry_recording_launched(const struct simt_kernel *kernel, const void *argument);

#endif
