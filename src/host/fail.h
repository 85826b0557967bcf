/* SPDX-License-Identifier: Apache-2.0 */
/* Failing with a sentence. */
#ifndef QUARRY_HOST_FAIL_H
#define QUARRY_HOST_FAIL_H

#include "quarry/quarry.h"

/* Sets the calling thread's error detail (quarry_error_detail) to one sentence; longer ones are cut.
 * An argument may be the present detail, so that a caller can say what it was doing. */
void quarry_detail_set(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

static inline enum quarry_status quarry_status_same(enum quarry_status status)
{
    return status;
}

/* quarry_fail(status, format, ...): sets the detail and returns `status`, in sight of static analysers. */
#define quarry_fail(status, ...) (quarry_detail_set(__VA_ARGS__), quarry_status_same(status))

#endif
