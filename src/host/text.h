/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is put together in memory of a given size. */
#ifndef QUARRY_HOST_TEXT_H
#define QUARRY_HOST_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Text that is cut where its memory ends. */
struct text {
    char *at;
    size_t bytes; /* left, the 0 byte included */
};

__attribute__((format(printf, 2, 3))) static inline void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    if (text->bytes == 0)
        return;
    va_start(arguments, format);
    int length = vsnprintf(text->at, text->bytes, format, arguments);
    va_end(arguments);
    size_t written = length < 0 ? 0 : (size_t)length;
    if (written >= text->bytes)
        written = text->bytes - 1;
    text->at += written;
    text->bytes -= written;
}

#endif
