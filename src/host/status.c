/* SPDX-License-Identifier: Apache-2.0 */
/* Version, status texts, and each thread's error detail. */
#include "host/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Long enough for the warp executor's report of a deadlock, which names many lanes. */
#define DETAIL_BYTES 4096

static _Thread_local char detail[DETAIL_BYTES];

#define VERSION_TEXT_(x) #x
#define VERSION_TEXT(x) VERSION_TEXT_(x)

const char *quarry_version(void)
{
    return VERSION_TEXT(QUARRY_VERSION_MAJOR) "." VERSION_TEXT(QUARRY_VERSION_MINOR) "." VERSION_TEXT(
        QUARRY_VERSION_PATCH);
}

const char *quarry_status_string(enum quarry_status status)
{
    switch (status) {
    case QUARRY_OK:
        return "success";
    case QUARRY_ERROR_ARGUMENT:
        return "argument out of range";
    case QUARRY_ERROR_ALLOCATOR:
        return "unknown allocator";
    case QUARRY_ERROR_COMBINATION:
        return "options exclude one another";
    case QUARRY_ERROR_POOL:
        return "pool too small";
    case QUARRY_ERROR_MEMORY:
        return "out of memory";
    case QUARRY_ERROR_BACKEND:
        return "backend not available";
    case QUARRY_ERROR_DEVICE:
        return "no such device";
    case QUARRY_ERROR_CUDA:
        return "CUDA call failed";
    case QUARRY_ERROR_DEADLOCK:
        return "kernel stood still";
    case QUARRY_ERROR_ASSERT:
        return "device assertion failed";
    case QUARRY_ERROR_CORRUPT:
        return "heap is corrupt";
    case QUARRY_ERROR_LEAK:
        return "blocks were never freed";
    case QUARRY_ERROR_FILE:
        return "file not usable";
    case QUARRY_ERROR_RACE:
        return "kernel has a race";
    case QUARRY_STATUS_COUNT:
        break;
    }
    return "unknown status";
}

const char *quarry_error_detail(void)
{
    return detail;
}

void quarry_detail_set(const char *format, ...)
{
    char text[DETAIL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(detail, text, strlen(text) + 1);
}
