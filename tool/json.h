/* SPDX-License-Identifier: Apache-2.0 */
/* How the commands write JSON, which jansson makes. */
#ifndef QUARRY_TOOL_JSON_H
#define QUARRY_TOOL_JSON_H

#include <jansson.h>
#include <stdio.h>

/* Prints a value, and releases it; NULL, for want of memory, as null. */
void json_print(json_t *value, FILE *file);

#endif
