/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that uses objects, rightly or not. */
#ifndef QUARRY_TESTS_OBJECTS_CHECKED_KERNELS_H
#define QUARRY_TESTS_OBJECTS_CHECKED_KERNELS_H

#include "objects/zoo.h"
#include "quarry/object.h"

enum checked_use {
    CHECKED_RIGHT,
    CHECKED_NULL,
    CHECKED_MISTYPED,
    CHECKED_DELETED,
    CHECKED_REPLACED,
    CHECKED_TYPE,
    CHECKED_SLOT
};

struct checked_case {
    struct quarry_handle heap;
    enum checked_use use;
    uint64_t *result;
    quarry_object given; /* a cat that the host has created, or none */
};

SIMT_KERNEL_DECLARE(checked_use);

extern const struct quarry_schema *const unchecked_zoo; /* unchecked.c */

#endif
