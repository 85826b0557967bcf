/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose blocks have tags. */
#ifndef QUARRY_TESTS_TAG_KERNELS_H
#define QUARRY_TESTS_TAG_KERNELS_H

#include "quarry/device.h"

enum tag_way { TAG_WORD, TAG_LONG, TAG_HERE, TAG_CHANGED, TAG_NONE, TAG_WAYS };

/* One of the calls that QUARRY_TAGS makes macros of. */
enum tag_call { TAG_MALLOC, TAG_MALLOC_WITH, TAG_CALLOC, TAG_ALIGNED, TAG_REALLOC, TAG_CALLS };

struct tag_case {
    struct quarry_handle heap;
    unsigned char **block;
    uint64_t bytes;
};

SIMT_KERNEL_DECLARE(tag_given);  /* block[i] = malloc(bytes) with a tag of way i, by thread i */
SIMT_KERNEL_DECLARE(tag_places); /* block[i] = call i, by thread i, on line TAG_FIRST_LINE + i of its file */

#define TAG_FIRST_LINE 14u
#define TAG_HERE_LINE 38u

#endif
