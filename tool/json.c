/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

void json_print(json_t *value, FILE *file)
{
    if (!value || json_dumpf(value, file, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0)
        fputs("null", file);
    fputc('\n', file);
    json_decref(value);
}
